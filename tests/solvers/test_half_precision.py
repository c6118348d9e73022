"""Regrets and averages kept in 16 bits by the loop on games in public form."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from effort import either, few
from public_games import RandomPublicGame

from treeplex import CFR, DCFR, CFRPlus, Checkpoint, ConstrainedNash, Game, Nash, PCFRPlus, Profile, load_game, solve
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.problems import EpsilonNash
from treeplex.seqform.errors import GameTooLargeError, UnknownMethodError
from treeplex.seqform.public_form import PublicForm
from treeplex.solvers.checkpoint import fill
from treeplex.solvers.public.kernel import PublicKernel
from treeplex.solvers.public.storage import converted, named

METHODS = [CFR, CFRPlus, DCFR, PCFRPlus]
HALF = DCFR(precision="half")


def spot(board, ranges=("AA, KQs, T9s:0.5", "QQ, JTs, 87s")):
    return HoldemSpot(board, list(ranges), 100, 150, Betting("75%", "a"))


def in_public_form(rules):
    return Game.from_public_form(PublicForm.from_rules(rules))


@pytest.fixture(scope="module")
def turn():
    return spot("Ts9d6hQc")


@few
@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
@pytest.mark.parametrize("name", ["kuhn:cards=7", "leduc", "leduc:ranks=6,suits=1", "liars_dice:sides=3"])
def test_small_games_are_solved_nearly_as_well_as_in_single_precision(name, method):
    game = in_public_form(load_game(name).rules)
    half, single = (
        solve(Nash(game), method(precision=each), tol=0, max_iterations=1000) for each in ("half", "single")
    )
    largest = game.sequence_form.payoff_scale
    assert half.exploitability <= 1.1 * single.exploitability + 1e-4 * largest
    proven = Nash(Game.from_sequence_form(game.sequence_form)).certify(Profile(list(half.profile)))
    for bound in ("lower", "upper", "exploitability", "objective"):
        assert getattr(half.certificate, bound) == pytest.approx(getattr(proven, bound), abs=1e-11)


@pytest.mark.parametrize("seed", range(either(8, 100)))
def test_certificates_on_random_games_hold(seed):
    game = in_public_form(RandomPublicGame(seed))
    solution = solve(Nash(game), METHODS[seed % 4](precision="half"), tol=0, max_iterations=100)
    exact = solve(Nash(game), "highs")
    assert solution.lower - 1e-9 <= exact.value <= solution.upper + 1e-9


@pytest.mark.parametrize("board", ["Ts9d6hQc2s", "AsKs7s2s"])
def test_spots_are_solved_and_certified_in_double_precision(board):
    """On the turn three suits are alike: what is walked once has to play the same wherever it stands for others."""
    game = spot(board).game
    solution = solve(Nash(game), HALF, tol=0.05)
    public = solution.profile.public
    assert solution.status.is_success
    assert public.exploitability == pytest.approx(solution.exploitability, abs=1e-9)
    assert public.value(0) == pytest.approx(solution.value, abs=1e-9)


def test_spots_with_a_rake_are_solved():
    game = replace(spot("Ts9d6hQc2s"), rake="5%", rake_cap=10).game
    half, single = (solve(EpsilonNash(game), DCFR(precision=each), tol=0.05) for each in ("half", "single"))
    assert half.status.is_success
    assert half.value == pytest.approx(single.value, abs=0.2)


def test_what_is_alike_stays_alike():
    form = spot("AsKs7s2s").public_form
    kernel = PublicKernel(form, np.uint16)
    state = kernel.initial_state()
    kernel.run(state, HALF.local_rule, 50)
    root = [symmetry for symmetry in form.symmetries if symmetry.boards[0] == 0]
    assert root
    for node in form.decisions[form.boards[form.decisions] == 0]:
        behaviour = kernel.behaviour(state, int(node))
        for symmetry in root:
            assert np.array_equal(behaviour[:, symmetry.states[form.players[node]]], behaviour)


def test_any_number_of_threads_finds_the_same_to_the_bit(turn):
    found = []
    for threads in (1, 2, 3):
        kernel = PublicKernel(turn.public_form, np.uint16, threads=threads)
        state = kernel.initial_state()
        kernel.run(state, HALF.local_rule, 12)
        values = [kernel.evaluate(state, player, best=True) for player in (0, 1)]
        found.append([*named(state).values(), values])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one, other)


@pytest.mark.parametrize("method", [HALF, PCFRPlus(precision="half")], ids=lambda one: one.name)
def test_runs_in_parts_are_the_run_in_one(turn, tmp_path, method):
    problem = Nash(turn.game)
    whole = solve(problem, method, tol=0, max_iterations=30)
    part = solve(problem, method, tol=0, max_iterations=13)
    again = solve(problem, method, tol=0, max_iterations=17, start=part)
    path = tmp_path / "run.npz"
    solve(problem, method, tol=0, max_iterations=13, checkpoint=path)
    resumed = solve(problem, method, tol=0, max_iterations=30, checkpoint=Checkpoint(path, resume=True))
    known = named(whole.state.arrays)
    for other in (again, resumed):
        assert all(np.array_equal(known[name], array) for name, array in named(other.state.arrays).items())
        assert (other.lower, other.upper, other.iterations) == (whole.lower, whole.upper, 30)
    read, node = pickle.loads(pickle.dumps(whole)), int(turn.public_form.decisions[3])  # noqa: S301
    assert np.array_equal(read.profile.public.behaviour(node), whole.profile.public.behaviour(node))
    assert solve(problem, read.method, tol=0, max_iterations=1, start=read).iterations == 31


def test_a_state_takes_half_of_single_precision(turn):
    half, single = (PublicKernel(turn.public_form, number) for number in (np.uint16, np.float32))
    for predicting in (False, True):
        arrays = named(half.initial_state(predicting))
        assert sum(arrays.pop(name).nbytes for name in ("clock", "calls")) < 100
        assert sum(array.nbytes for array in arrays.values()) == half.taken(predicting)
        assert half.taken(predicting) < 0.54 * single.taken(predicting)


@pytest.mark.parametrize("method", [HALF, PCFRPlus(precision="half")], ids=lambda one: one.name)
def test_states_of_other_precisions_are_converted(turn, method):
    kernels = [PublicKernel(turn.public_form, number) for number in (np.uint16, np.float32, np.float64)]
    predicting, node = bool(method.local_rule.prediction), int(turn.public_form.decisions[3])
    for kernel in kernels:
        state = kernel.initial_state(predicting)
        kernel.run(state, method.local_rule, 20)
        for other in kernels:
            found = other.initial_state(predicting)
            fill(named(found), converted(other.layout, named(state), found))
            if other is kernel:
                assert all(np.array_equal(array, named(state)[name]) for name, array in named(found).items())
            assert other.behaviour(found, node) == pytest.approx(kernel.behaviour(state, node), abs=1e-4)
            for player in (0, 1):
                best = kernel.evaluate(state, player, best=True)
                assert other.evaluate(found, player, best=True) == pytest.approx(best, abs=1e-2)
            # Through 16 bits or not, regrets are those that there were, to eight bits.
            back = kernel.initial_state(predicting)
            fill(named(back), converted(kernel.layout, named(found), back))
            for one, two in zip(wide(back.play), wide(state.play), strict=True):
                np.testing.assert_allclose(one, two, rtol=2.0**-8, atol=1e-30)


def wide(arrays):
    """Return regrets as floats, whatever they are kept in."""
    return [(one.astype(np.uint32) << 16).view(np.float32) if one.dtype == np.uint16 else one for one in arrays]


def test_auto_takes_16_bits_where_single_precision_does_not_fit_and_says_so(turn, monkeypatch, tmp_path):
    method, problem = DCFR(precision="auto"), Nash(turn.game)
    path, limits = tmp_path / "run.npz", {"tol": 0.02, "max_iterations": 40}
    plain = solve(problem, method, **limits)
    assert plain.state.arrays.scales is None
    assert "16 bits" not in plain.message
    monkeypatch.setenv("TREEPLEX_MEMORY", str(6 * sum(PublicKernel(turn.public_form).layout.sizes)))
    short = solve(problem, method, checkpoint=path, **limits)
    assert short.state.arrays.sums[0].dtype == np.uint16
    assert short.message.endswith("kept in 16 bits, because they do not fit in memory in single precision")
    monkeypatch.delenv("TREEPLEX_MEMORY")
    limits["max_iterations"] = 60
    resumed = solve(problem, method, checkpoint=Checkpoint(path, resume=True), **limits)
    begun = solve(problem, method, start=short, tol=0.02, max_iterations=20)
    for other in (resumed, begun):
        assert other.state.arrays.scales is None
        assert other.iterations == 60
        assert other.exploitability < short.exploitability
    assert resumed.exploitability == begun.exploitability


def test_what_does_not_fit_is_told_of_16_bits(turn, monkeypatch):
    monkeypatch.setenv("TREEPLEX_MEMORY", str(6 * sum(PublicKernel(turn.public_form).layout.sizes)))
    with pytest.raises(
        GameTooLargeError, match=r"; solve in 16 bits \(precision=half\), choose smaller parameters, or"
    ):
        solve(Nash(turn.game), DCFR(precision="single"), tol=0, max_iterations=1)
    solve(Nash(turn.game), HALF, tol=0, max_iterations=1)
    monkeypatch.setenv("TREEPLEX_MEMORY", str(3 * sum(PublicKernel(turn.public_form).layout.sizes)))
    with pytest.raises(GameTooLargeError, match=r"the budget is .*; choose smaller parameters"):
        PublicKernel(turn.public_form, np.uint16).initial_state()


def test_other_loops_refuse_16_bits():
    river, leduc = spot("Ts9d6hQc2s").game, load_game("leduc")
    locked = replace(spot("Ts9d6hQc2s"), locks=('ip at "all-in": call 40%',))
    for problem, method in (
        (Nash(leduc), HALF),
        (ConstrainedNash(locked.game, locked.constraints), HALF),
        (Nash(river), DCFR(updates="simultaneous", precision="half")),
        (Nash(river), CFR(iterate="last", precision="half")),
    ):
        with pytest.raises(
            UnknownMethodError, match=r"got precision='half' for .*, expected single or double: half precision"
        ):
            solve(problem, method, tol=0, max_iterations=1)
