"""Tests of the loop on games that are cut into a trunk and parts."""

import os
import re
import signal
import sys
from dataclasses import replace
from functools import cache, partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import either, thorough
from toy_parts import processes

from treeplex import Nash, Profile, load_game, solve
from treeplex.models.games.holdem import FlopsGame, HoldemSpot, Preflop
from treeplex.models.games.holdem.cards import CARDS, HANDS
from treeplex.models.games.holdem.flops_solved import SolvedFlops
from treeplex.models.games.holdem.showdown import alive, fold_payoff, showdown_payoff
from treeplex.models.games.holdem.spot_tree import SpotTree
from treeplex.seqform.errors import (
    CheckpointError,
    GameTooLargeError,
    InvalidOptionError,
    InvalidStrategyError,
    UnsupportedProblemError,
)
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.public_form import Boards, PublicForm
from treeplex.seqform.public_payoff import Leaves
from treeplex.seqform.rules import CHANCE, TERMINAL
from treeplex.solvers import Checkpoint
from treeplex.solvers.dispatch import options_of
from treeplex.solvers.methods import DCFR, PCFRPlus
from treeplex.solvers.other_parts import with_other_parts
from treeplex.solvers.public.cut_loop import CutStepper, playing
from treeplex.solvers.public.exits import PlayedPart
from treeplex.solvers.public.kernel import PublicKernel

ONLY_FLOP = {"bet": "100%", "raise": "a", "turn": {"bet": ""}, "river": {"bet": ""}}


@cache
def small(num_flops: int = 1, bb_ante: int = 0, limps: bool = False) -> FlopsGame:
    """Return a game of few hands on flops of trips, each of which stands for four."""
    return FlopsGame(
        ["AsAhAd:4", "6s6h6d:4"][:num_flops],
        Preflop(stack=4 + bb_ante, raises=1, bb_ante=bb_ante),
        bets=ONLY_FLOP,
        ranges=["KK, T9s", "QQ, J9s"],
        openings=[2],
        limps=limps,
        deck="short",
    )


def images(board: str) -> set[tuple[int, ...]]:
    """Return all flops that exchanges of suits make of a flop."""
    cards = [CARDS.index(board[place : place + 2]) for place in (0, 2, 4)]
    return {tuple(sorted(4 * (card // 4) + suits[card % 4] for card in cards)) for suits in permutations(range(4))}


def whole(game: FlopsGame) -> PublicForm:
    """Return a game as one public form: hands instead of classes before the flop, and every flop of each class."""
    states, before, names = game._betting
    sb, bb = (np.flatnonzero(one.weights) for one in game.ranges_by_seat)
    dealt = (HANDS >= 16).all(axis=1)
    hands = sb[dealt[sb]], bb[dealt[bb]]
    flops = [flop for one in game.boards for flop in sorted(images(one.board))]
    met = [np.array([[not set(HANDS[g]) & set(HANDS[h]) for h in hands[1]] for g in hands[0]])] * len(flops)
    met = [one * np.outer(alive(flop, hands[0]), alive(flop, hands[1])) for one, flop in zip(met, flops, strict=True)]
    total = float(sum(one.sum() for one in met))
    players, parents, actions = [state.mover for state in states], list(before), list(names)
    boards, numbers = [0] * len(players), {(): 0}
    folds = [node for node, state in enumerate(states) if state.folded >= 0]
    for node in folds:
        players[node] = TERMINAL
    matrix = FactoredPayoff(sum(met) / total, np.eye(len(hands[1])))
    leaves = [Leaves(np.array(folds), np.array([float(game.rules.payoff(states[node])) for node in folds]), matrix)]
    for place, node in enumerate(game.exits):
        players[node] = CHANCE
        split = float(game.rules.payoff(states[node], 0))
        for flop in flops:
            spot: Any = game.spot(place, "".join(CARDS[card] for card in flop))
            spot = HoldemSpot(spot.board, spot.ranges, spot.pot, spot.stack, spot.betting, deck="short")
            tree, begin = SpotTree(spot), len(players)
            players += [1 - player if player >= 0 else player for player in tree.players]
            parents += [node, *(begin + parent for parent in tree.parents[1:])]
            actions += [str(flop), *tree.actions[1:]]
            known = [numbers.setdefault(board, len(numbers)) for board in sorted(tree.numbers, key=tree.numbers.get)]
            boards += [known[number] for number in tree.boards]
            for (board, is_fold), (nodes, amounts) in tree.leaves.items():
                unit = fold_payoff(board, hands) if is_fold else showdown_payoff(board, hands, "short")
                paid = np.array(amounts) * (-1 if is_fold else 1) / game.chips / total
                leaves.append(Leaves(begin + np.array(nodes), paid, unit))
            if split:
                for board, (nodes, chances) in tree.chances.items():
                    leaves.append(
                        Leaves(begin + np.array(nodes), split * np.array(chances) / total, fold_payoff(board, hands))
                    )
    present = [[np.flatnonzero(alive(board, held)) for held in hands] for board in numbers]
    return PublicForm(
        players, parents, actions, [held.tolist() for held in hands], leaves, boards=Boards(boards, present)
    )


class Here:
    """All parts in this process."""

    def __init__(self, game: FlopsGame, number: Any, method: Any) -> None:
        predicting = bool(method.local_rule.prediction)
        made = partial(PlayedPart, num_exits=len(game.exits), number=number, rule=method.local_rule)
        self.parts = [made(part, predicting=predicting) for part in game.parts]

    def call(self, name: str, arguments: Any) -> list[Any]:
        return [part.call(name, one) for part, one in zip(self.parts, arguments, strict=True)]


def check_iterates(method: Any, game: FlopsGame) -> None:
    loop = CutStepper(method, Nash(game.game), np.float64, Here(game, np.float64, method))
    kernel = PublicKernel(whole(game), np.float64, threads=1)
    state = kernel.initial_state(bool(method.local_rule.prediction))
    for count in (1, 4, 20):
        loop.step(count)
        kernel.run(state, method.local_rule, count)
        for player in (0, 1):
            for best in (False, True):
                assert loop.evaluate(player, best) == pytest.approx(kernel.evaluate(state, player, best), abs=1e-10)
    assert loop.check() < 0.1


@thorough
def test_iterates_are_those_of_the_whole_game() -> None:
    check_iterates(DCFR(), small())


@pytest.mark.slow
@pytest.mark.parametrize("bb_ante", [0, 1])
@pytest.mark.parametrize("method", [DCFR(), PCFRPlus()], ids=lambda method: method.name)
def test_iterates_of_more_flops_and_lines_are_those_of_the_whole_game(method: Any, bb_ante: int) -> None:
    check_iterates(method, small(2, bb_ante, limps=True))


def test_a_solution_is_certified_in_any_precision() -> None:
    values = []
    for precision in either(("half",), ("half", "single")):
        solution = solve(Nash(small().game), DCFR(precision=precision), tol=2e-3)
        assert solution.exploitability <= 2e-3
        assert solution.lower <= solution.upper
        values.append((solution.lower, solution.upper))
    assert max(low for low, _ in values) <= min(high for _, high in values)


def test_a_run_is_resumed_where_it_stopped(tmp_path: Path) -> None:
    problem, path = Nash(small().game), tmp_path / "run.ckpt"
    at_once = solve(problem, "dcfr", tol=0.0, max_iterations=30)
    solve(problem, "dcfr", tol=0.0, max_iterations=11, checkpoint=path)
    resumed = solve(problem, "dcfr", tol=0.0, max_iterations=30, checkpoint=Checkpoint(path, resume=True))
    assert resumed.iterations == at_once.iterations == 30
    assert resumed.certificate == at_once.certificate


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_run_continues_on_another_cluster_with_another_number_of_workers(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    pytest.importorskip("ray")
    problem, path = Nash(small(2).game), tmp_path / "run.ckpt"
    at_once = solve(problem, "dcfr", tol=0.0, max_iterations=30)
    for on, until in (("dask://local:2", 8), ("ray://local:1", 16), ("local:2", 23), ("local:1", 30)):
        kept = Checkpoint(path, every=0.0, resume=True)
        found = solve(problem, "dcfr", tol=0.0, max_iterations=until, checkpoint=kept, on=on)
    assert found.certificate == at_once.certificate
    assert len(list(tmp_path.glob("run.ckpt.parts/*/*"))) == 4


def test_a_damaged_part_says_how_to_continue_from_the_state_before(tmp_path: Path) -> None:
    problem, path = Nash(small().game), tmp_path / "run.ckpt"
    at_once = solve(problem, "dcfr", tol=0.0, max_iterations=12)
    kept = Checkpoint(path, every=0.0, resume=True)
    solve(problem, "dcfr", tol=0.0, max_iterations=11, checkpoint=kept)
    newest = max(tmp_path.glob("run.ckpt.parts/*/part-*"), key=lambda file: int(file.stem.split("-")[-1]))
    os.truncate(newest, 1000)
    with pytest.raises(CheckpointError, match=f"{newest.name} is missing or damaged.* rename .*previous to run.ckpt$"):
        solve(problem, "dcfr", tol=0.0, max_iterations=12, checkpoint=kept)
    Path(f"{path}.previous").replace(path)
    assert solve(problem, "dcfr", tol=0.0, max_iterations=12, checkpoint=kept).certificate == at_once.certificate


WRONG = r"AsAhAd: the players' payoffs sum to .*expected 0"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found, call: found * (1.0 + 0.01 * call[0] * (call[1] is False)), WRONG),  # the certificate is wrong
        (lambda found, call: [][int(call[1])] if call[1] == 12 else found, "list index out of range"),  # a mistake
        (lambda found, call: np.zeros(2**50) if call[1] == 12 else found, "12 iterations, but nothing is proven"),
        (lambda found, call: np.full_like(found, np.nan) if call[1] == 12 else found, "returned NaN or infinity"),
    ],
    ids=["wrong", "mistake", "memory", "nan"],
)
def test_a_failure_leaves_the_strategies_before_the_cuts(
    call: Any, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Unless the program has a mistake, which is raised; the last checkpoint is kept in any case."""
    game, path, real = small().game, tmp_path / "run.ckpt", PlayedPart.call
    monkeypatch.setattr(PlayedPart, "call", lambda part, name, given: call(real(part, name, given), given))

    def run() -> Any:
        return solve(Nash(game), "dcfr", tol=0.0, max_iterations=20, checkpoint=Checkpoint(path, every=0.0))

    if "range" in message:
        with pytest.raises(IndexError, match=message):
            run()
    else:
        found = run()
        assert found.status == "uncertified"
        assert re.search(message, found.message)
        assert (found.lower, found.upper, found.exploitability) == (-4.0, 4.0, 4.0)
        assert np.isnan(found.value)
        assert found.iterations == (20 if message == WRONG else 12)
        assert "value " not in str(found)
        first = SolvedFlops(small(), found.profile).at("")
        assert first.frequencies["fold"] < 1.0
        assert np.isnan(first.evs[0]).all()
    monkeypatch.undo()
    resumed = solve(Nash(game), "dcfr", tol=0.0, max_iterations=20, checkpoint=Checkpoint(path, resume=True))
    assert resumed.certificate == solve(Nash(game), "dcfr", tol=0.0, max_iterations=20).certificate


def test_a_trunk_is_measured_with_parts(tmp_path: Path) -> None:
    game = small()
    solution = solve(Nash(game.game), "dcfr", tol=0.0, max_iterations=100)
    solution.profile.save(tmp_path / "trunk.npz")
    read = Profile.load(tmp_path / "trunk.npz", small().game)
    # On its own flop the trunk loses what the solve left to learn.
    own = with_other_parts(read, game.game, tol=0.005)
    assert own.status == "converged"
    assert own.least <= solution.exploitability
    assert own.exploitability < solution.exploitability + 0.005
    # On another one it loses more.
    path, other = tmp_path / "run.ckpt", replace(game, flops=["6s6h6d"], bets=None).game
    more = with_other_parts(solution, other, tol=0.0, max_iterations=20)
    assert 0.07 < more.least <= more.exploitability < 0.1
    with_other_parts(read, other, tol=0.0, max_iterations=9, checkpoint=path)
    again = with_other_parts(read, other, tol=0.0, max_iterations=20, checkpoint=Checkpoint(path, resume=True))
    assert (again.bounds, again.iterations) == (more.bounds, (20, 20))
    with pytest.raises(InvalidStrategyError, match="whose trunk is not that of"):
        with_other_parts(solution, small(limps=True).game)
    with pytest.raises(UnsupportedProblemError, match="not cut into a trunk and parts"):
        with_other_parts(solution, load_game("kuhn"))
    with pytest.raises(UnsupportedProblemError, match="es-mccfr does not learn in the parts"):
        with_other_parts(solution, other, "es-mccfr")


def test_the_trunk_alone_is_worth_nothing() -> None:
    game = small().game
    solution = solve(Nash(game), "dcfr", tol=0.0, max_iterations=2)
    for wrong in (
        lambda: Nash(game).certify(solution.profile),
        lambda: solve(Nash(game), "highs"),
        lambda: solution.problem.game.public_form.leaves_among(np.array([0])),
    ):
        with pytest.raises(UnsupportedProblemError, match="the payoffs after the cuts of this game are in its parts"):
            wrong()
    with pytest.raises(InvalidOptionError, match="kuhn is not cut into parts"):
        solve(Nash(load_game("kuhn")), "dcfr", on="local:2")


def test_parts_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEPLEX_MEMORY", "2MB")
    with pytest.raises(GameTooLargeError, match="solve in 16 bits"):
        solve(Nash(small().game), DCFR(precision="single"))


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("on", ["local:2", "dask://local:2", "ray://local:2"])
def test_killed_workers_change_no_bit_of_a_solution(on: str) -> None:
    pytest.importorskip({"local": "treeplex", "dask": "distributed"}.get(on.split(":", maxsplit=1)[0], "ray"))
    method, problem, rng = DCFR(), Nash(small(2).game), np.random.default_rng(7)
    kills = set(rng.choice(np.arange(1, 30), 3, replace=False).tolist())
    found = []
    for where in ("local:1", on):
        options = options_of(method, problem, tol=0.0, max_iterations=30, on=where)
        with playing(method, problem, options, np.float32) as loop:
            for done in range(30):
                if where == on and done in kills:
                    workers = processes(loop.pool)
                    os.kill(workers[int(rng.integers(len(workers)))], signal.SIGKILL)
                loop.step(1)
            loop.check()
            found.append((loop.best_responses, loop.evaluate(0, best=False), loop.pool.traffic.lost))
    assert found[0][:2] == found[1][:2]
    assert found[1][2] == 3
