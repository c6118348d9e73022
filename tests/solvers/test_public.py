"""The loop on games in public form, against the loop on their sequence forms, and against linear programs."""

import pickle
from copy import copy, deepcopy
from itertools import combinations

import numpy as np
import pytest
from clocks import ctrl_c_once, needs_ctrl_c
from effort import either, thorough
from public_games import RandomPublicGame

from treeplex import (
    CFR,
    DCFR,
    CFRPlus,
    Checkpoint,
    Game,
    Nash,
    PCFRPlus,
    Profile,
    SequenceForm,
    Strategy,
    load_game,
    solve,
)
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Betting
from treeplex.models.games.holdem.cards import DECKS
from treeplex.seqform.card_payoff import CardPayoff
from treeplex.seqform.errors import GameTooLargeError, InvalidStrategyError, UnknownMethodError
from treeplex.seqform.factored import FactoredPayoff
from treeplex.seqform.public_form import PublicForm
from treeplex.seqform.public_payoff import Leaves
from treeplex.seqform.public_profile import PublicProfile
from treeplex.solvers.kept_solves import outcome_of, saved_outcome
from treeplex.solvers.outcome import Options
from treeplex.solvers.public import driver
from treeplex.solvers.public.kernel import PublicKernel
from treeplex.solvers.public.layout import PublicLayout

GAMES = ["kuhn:cards=7", "leduc", "leduc:ranks=6,suits=1", "liars_dice:sides=3"]
METHODS = [CFR(), CFRPlus(), DCFR(), PCFRPlus()]


def played(kernel, arrays, node):
    """Return what regrets, or sums, say of the behaviour at a node."""
    return kernel.layout.behaviour([np.maximum(one, 0.0) for one in arrays], node)


def compared(form, method, iterations):
    """Run both loops; return the largest difference of what is played, and of what is averaged."""
    kernel = PublicKernel(form, np.float64)
    rule = method.local_rule
    state = kernel.initial_state(bool(rule.prediction))
    kernel.run(state, rule, iterations)
    sequence = form.sequence_form()
    known = Game.from_sequence_form(sequence)
    last = type(method)(iterate="last")
    plans = [
        solve(Nash(known), last, tol=0, max_iterations=count).profile.plans if count else Profile.uniform(known).plans
        for count in range(iterations + 1)
    ]
    now = PublicProfile(form, lambda node: played(kernel, state.play, node)).to_profile(sequence)
    averages = PublicProfile(form, lambda node: kernel.behaviour(state, node)).to_profile(sequence)
    off = [np.abs(one.plan - plan).max() for one, plan in zip(now, plans[-1], strict=True)]
    for player in (0, 1):
        # Those that the other player answers: player 0's from the second on, player 1's from the first.
        counted = range(1, iterations + 1) if player == 0 else range(iterations)
        mean = sum((count + 1) ** rule.averaging * plans[count][player] for count in counted)
        treeplex = sequence.treeplexes[player]
        off.append(np.abs(averages[player].plan - treeplex.plan(treeplex.behaviour(mean))).max())
    return max(off)


def check_evaluation(form):
    """Hold what random averages are worth to the loop against what the public profile says."""
    kernel = PublicKernel(form, np.float64)
    state, generator = kernel.initial_state(), np.random.default_rng(4)
    for sums in state.sums:
        sums[:] = generator.random(len(sums))
    known = PublicProfile(form, lambda node: kernel.behaviour(state, node))
    for player, best in enumerate(known.best_response_values):
        for node, values in kernel.values(state, player).items():
            assert values == pytest.approx(known.counterfactual_values(player, node), abs=1e-12)
        assert kernel.evaluate(state, player, best=False) == pytest.approx(known.value(player), abs=1e-12)
        assert kernel.evaluate(state, player, best=True) == pytest.approx(best, abs=1e-12)


# With three cards CFR+ and DCFR come to ties, which round-off breaks.
CASES = [("kuhn", CFR()), ("kuhn", PCFRPlus()), *((name, method) for name in GAMES for method in METHODS)]


@pytest.mark.parametrize(("name", "method"), CASES, ids=lambda one: one if isinstance(one, str) else one.name)
def test_iterates_are_those_of_the_sequence_form(name, method):
    assert compared(PublicForm.from_rules(load_game(name).rules), method, 7) < 1e-12


@pytest.mark.parametrize("seed", range(either(20, 200)))
def test_iterates_on_random_games_are_those_of_the_sequence_form(seed):
    form = PublicForm.from_rules(RandomPublicGame(seed, ties=False))
    if len(form.decisions):
        assert compared(form, METHODS[seed % 4], 5) < 1e-12


@pytest.mark.parametrize("seed", range(either(20, 200)))
def test_bounds_on_random_games_are_those_of_the_sequence_form(seed):
    game = Game.from_public_form(PublicForm.from_rules(RandomPublicGame(seed)))
    solution = solve(Nash(game), "dcfr", tol=0, max_iterations=40)
    proven = Nash(Game.from_sequence_form(game.sequence_form)).certify(Profile(list(solution.profile)))
    for name in ("lower", "upper", "exploitability", "objective"):
        assert getattr(solution.certificate, name) == pytest.approx(getattr(proven, name), abs=1e-11)
    exact = solve(Nash(game), "highs")
    assert solution.lower - 1e-9 <= exact.value <= solution.upper + 1e-9


def test_leaves_of_several_kinds_pay_their_sum_and_others_nothing():
    """A fold, two different showdowns and a matrix, at one board; the last leaf pays nothing."""
    generator = np.random.default_rng(8)
    pairs = np.array(list(combinations(range(6), 2)))
    hands = [pairs[generator.choice(len(pairs), count, replace=False)] for count in (5, 7)]
    everyone = [np.arange(len(one)) for one in hands]
    units = [
        CardPayoff(hands, everyone),
        *(CardPayoff(hands, everyone, [generator.integers(0, 4, len(one)) for one in hands]) for _ in range(2)),
        FactoredPayoff(generator.normal(size=(5, 7)), np.eye(7)),
    ]
    nodes = [[3, 4], [5, 6], [5, 7], [4, 7, 7]]
    leaves = [Leaves(np.array(at), generator.normal(size=len(at)), one) for at, one in zip(nodes, units, strict=True)]
    players, parents = [0, 1, 1, -2, -2, -2, -2, -2, -2], [-1, 0, 0, 1, 1, 1, 2, 2, 2]
    states = [[f"{seat}{number}" for number in range(count)] for seat, count in (("a", 5), ("b", 7))]
    form = PublicForm(players, parents, list("rabcdefgh"), states, leaves)
    check_evaluation(form)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 17, 25, 40])
def test_leaves_that_share_a_matrix_are_paid_side_by_side(count):
    """So many leaves of one matrix, as many of another, one of both, and one that pays nothing."""
    generator = np.random.default_rng(count)
    first, second = (FactoredPayoff(generator.normal(size=(5, 7)), np.eye(7)) for _ in range(2))
    nodes = 3 + generator.permutation(2 * count + 2)
    leaves = [
        Leaves(at, generator.normal(size=len(at)), payoff)
        for at, payoff in ((nodes[: count + 1], first), (nodes[count : 2 * count + 1], second))
    ]
    players = [0, 1, 1, *[-2] * (2 * count + 2)]
    parents = [-1, 0, 0, *[1] * (count + 1), *[2] * (count + 1)]
    states = [[f"{seat}{number}" for number in range(size)] for seat, size in (("a", 5), ("b", 7))]
    form = PublicForm(players, parents, [str(node) for node in range(len(players))], states, leaves)
    check_evaluation(form)
    # Both matrices, their sum and nothing, from both sides.
    assert PublicLayout(form).arrays(np.float64).matrices.size == 2 * 4 * 5 * 7


@thorough
def test_leduc_is_solved():
    game = Game.from_public_form(PublicForm.from_rules(load_game("leduc").rules))
    solution = solve(Nash(game), "pcfr+", tol=1e-4)
    assert solution.status.is_success
    assert solution.value == pytest.approx(-0.085606424078, abs=1e-4)


# Hold'em


def spot(board, ranges=("AA, KQs, T9s:0.5", "QQ, JTs, 87s"), **how):
    pytest.importorskip("phevaluator")
    return HoldemSpot(board, list(ranges), 100, 150, Betting("75%", "a"), **how)


@pytest.fixture(scope="module")
def turn():
    return spot("Ts9d6hQc")


@pytest.mark.parametrize("board", ["Ts9d6hQc2s", "AsKdQdJd3c"])
def test_rivers_agree_with_linear_programs(board):
    game = spot(board, ("AA-TT, AK, KQs, T9s:0.5", "QQ-99, JTs, 87s, A5s-A2s")).game
    solution = solve(Nash(game), DCFR(), tol=1e-3)
    exact = solve(Nash(game), "highs")
    assert solution.lower <= exact.value + 1e-9
    assert exact.value <= solution.upper + 1e-9
    assert solution.upper - solution.lower <= 2.1e-3
    certificate = Nash(Game.from_sequence_form(game.sequence_form)).certify(Profile(list(solution.profile)))
    assert certificate.lower == pytest.approx(solution.lower, abs=1e-9)
    assert certificate.upper == pytest.approx(solution.upper, abs=1e-9)
    public = solution.profile.public
    assert (-public.best_response_values[1], public.best_response_values[0]) == pytest.approx(
        (solution.lower, solution.upper), abs=1e-9
    )


@pytest.mark.parametrize("board", ["Ts9d6hQc2s", "Ts9d6hQc"])
def test_payoffs_and_best_responses_are_those_of_the_public_profile(board):
    check_evaluation(spot(board).public_form)


def test_turns_agree_with_the_certificate_of_the_public_profile(turn):
    solution = solve(Nash(turn.game), DCFR(precision="single"), tol=0.05)
    public = solution.profile.public
    assert solution.status.is_success
    assert public.exploitability == pytest.approx(solution.exploitability, abs=1e-9)
    assert public.value(0) == pytest.approx(solution.value, abs=1e-9)


@pytest.mark.parametrize(("board", "boards"), [("AsKs7s2s", 1 + 9 + 13), ("TsTh6d2c", 1 + 12 + 24), ("Ts9s6d2c", 49)])
def test_what_is_alike_is_walked_once(board, boards):
    """Suits that the board holds alike: three of them, and two; in the last one no two are."""
    found = spot(board, ("AA, KQs, 76", "QQ, JTs, 87s"))
    form = found.public_form
    kernel = PublicKernel(form, np.float64)
    assert len(kernel.layout.boards) == boards
    solution = solve(Nash(found.game), DCFR(), tol=0.05)
    public = solution.profile.public
    assert public.exploitability == pytest.approx(solution.exploitability, abs=1e-9)
    assert public.value(0) == pytest.approx(solution.value, abs=1e-9)
    # The same with every board walked by itself.
    plain = copy(form)
    plain.symmetries = ()
    each = solve(Nash(Game.from_public_form(plain)), DCFR(), tol=0.05)
    assert len(PublicKernel(plain).layout.boards) == 49
    assert each.value == pytest.approx(solution.value, abs=0.1)
    for symmetry in form.symmetries:
        for node in form.decisions[:: len(form.decisions) // 40]:
            player, image = form.players[node], int(symmetry.boards[form.boards[node]])
            alike = np.flatnonzero(form.boards == image)[np.flatnonzero(form.boards == form.boards[node]) == node]
            there = public.behaviour(int(alike[0]))[:, symmetry.states[player]]
            present = form.present[form.boards[node]][player]
            assert there[:, present] == pytest.approx(public.behaviour(int(node))[:, present], abs=1e-12)


def test_any_number_of_threads_finds_the_same_to_the_bit(turn):
    found = []
    for threads in (1, 2, 3):
        kernel = PublicKernel(turn.public_form, np.float32, threads=threads)
        state = kernel.initial_state()
        kernel.run(state, DCFR().local_rule, 12)
        found.append([*state.regrets, *state.sums, [kernel.evaluate(state, player, best=True) for player in (0, 1)]])
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            assert np.array_equal(one, other)


@needs_ctrl_c
@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_leaves_no_iteration_half_done(turn, threads):
    kernel = PublicKernel(turn.public_form, np.float32, threads=threads)
    rule, state, whole = DCFR().local_rule, kernel.initial_state(), kernel.initial_state()
    kernel.run(state, rule, 3)
    count = 20 if threads == 1 else 1_000_000  # one thread is asked for so few at a time that Python sees the signal
    with pytest.raises(KeyboardInterrupt), ctrl_c_once(lambda: state.clock[0] > 3, 0.05):
        [kernel.run(state, rule, count) for _ in range(1_000_000)]
    done = int(state.clock[0])
    assert 3 < done < 3 + 1_000_000
    kernel.run(whole, rule, done)
    assert all(np.array_equal(one, other) for one, other in zip(state.regrets, whole.regrets, strict=True))


def test_runs_in_parts_are_the_run_in_one(turn, tmp_path):
    whole = solve(Nash(turn.game), DCFR(), tol=0, max_iterations=30)
    part = solve(Nash(turn.game), DCFR(), tol=0, max_iterations=13)
    again = solve(Nash(turn.game), DCFR(), tol=0, max_iterations=17, start=part)
    assert again.iterations == 30
    assert (again.lower, again.upper) == (whole.lower, whole.upper)
    path = tmp_path / "run.npz"
    solve(Nash(turn.game), DCFR(), tol=0, max_iterations=13, checkpoint=path)
    resumed = solve(Nash(turn.game), DCFR(), tol=0, max_iterations=30, checkpoint=Checkpoint(path, resume=True))
    assert (resumed.lower, resumed.upper, resumed.iterations) == (whole.lower, whole.upper, 30)


def test_what_is_no_number_of_threads_is_refused(turn, monkeypatch):
    for text in ("two", "0", "-1", "1.5"):
        monkeypatch.setenv("TREEPLEX_THREADS", text)
        with pytest.raises(UnknownMethodError, match="expected a whole number of at least 1"):
            PublicKernel(turn.public_form)


def test_a_state_beyond_the_memory_budget_is_refused(turn, monkeypatch):
    """In double precision it takes twice as much as in single, which the size of the spot counts."""
    kernels = [PublicKernel(turn.public_form, number) for number in (np.float32, np.float64)]
    monkeypatch.setenv("TREEPLEX_MEMORY", str(12 * sum(kernels[0].layout.sizes)))
    kernels[0].initial_state()
    with pytest.raises(GameTooLargeError, match="the regrets and averages in this precision would take about"):
        kernels[1].initial_state()


def test_parts_of_something_are_kept_with_their_strategies():
    outcome = driver.run(DCFR(), Nash(spot("Ts9d6hQc2s").game), Options(0.01, 0.0, 500, np.inf))
    again = outcome_of(saved_outcome(outcome))
    for plan, known in zip(again.plans, outcome.proof[0].plans, strict=True):
        assert np.array_equal(plan, known)


def test_solutions_are_stored_and_read_back(turn):
    solution = solve(Nash(turn.game), DCFR(precision="single"), tol=0, max_iterations=5)
    read = pickle.loads(pickle.dumps(solution))  # noqa: S301
    assert read.lower == solution.lower
    node = int(turn.public_form.decisions[3])
    assert np.array_equal(read.profile.public.behaviour(node), solution.profile.public.behaviour(node))
    again = solve(read.problem, read.method, tol=0, max_iterations=5, start=read)
    assert again.iterations == 10


def test_a_run_is_resumed_with_a_tolerance_that_needs_more_precision(turn, tmp_path):
    path = tmp_path / "run.npz"
    coarse = solve(Nash(turn.game), DCFR(precision="auto"), tol=1.0, max_iterations=500, checkpoint=path)
    fine = {"tol": 1e-6, "max_iterations": coarse.iterations + 20}
    finer = solve(Nash(turn.game), DCFR(precision="auto"), checkpoint=Checkpoint(path, resume=True), **fine)
    assert [one.dtype for one in (coarse.state.arrays.sums[0], finer.state.arrays.sums[0])] == ["float32", "float64"]
    assert finer.iterations == coarse.iterations + 20
    assert finer.exploitability < coarse.exploitability


def test_solutions_found_by_several_threads_are_copied(turn):
    kernel = PublicKernel(turn.public_form, np.float32, threads=2)
    state = kernel.initial_state()
    kernel.run(state, DCFR().local_rule, 2)
    node = int(turn.public_form.decisions[3])
    for other in (pickle.loads(pickle.dumps(kernel)), deepcopy(kernel)):  # noqa: S301
        assert np.array_equal(other.behaviour(state, node), kernel.behaviour(state, node))
        assert other.evaluate(state, 0, best=True) == kernel.evaluate(state, 0, best=True)


def test_starts_of_other_games_are_refused_and_those_of_other_methods_are_played():
    river = spot("Ts9d6hQc2s").game
    begun = solve(Nash(river), DCFR(), tol=0, max_iterations=200)
    with pytest.raises(InvalidStrategyError, match="another game"):
        solve(Nash(spot("Ts9d6hQcKs").game), DCFR(), tol=0, max_iterations=1, start=begun)
    fresh, warm = (solve(Nash(river), CFRPlus(), tol=0, max_iterations=3, start=start) for start in (None, begun))
    assert warm.exploitability < fresh.exploitability


def test_what_the_loop_does_not_serve_goes_by_the_sequence_form():
    game = spot("Ts9d6hQc2s").game
    assert "sequence_form" not in vars(game)
    solve(Nash(game), DCFR(updates="simultaneous"), tol=0, max_iterations=2)
    assert "sequence_form" in vars(game)


def test_a_flop_of_sixteen_cards_is_the_linear_program_s(monkeypatch):
    """Jacks to aces alone: the flop is dealt on to 156 boards, and the payoffs are written out as a matrix."""
    monkeypatch.setitem(DECKS, "full", range(36, 52))
    spot = HoldemSpot("JsQhKd", ["AcKc, AhAd, QsQd", "AsQs, KhKs, JcJd"], 100, 150, Betting("a", {}))
    form = spot.public_form
    assert len(form.present) == 1 + 13 + 13 * 12
    sequence = spot.game.sequence_form
    matrix = Game("matrix", sequence_form=SequenceForm(sequence.treeplexes, payoff_matrices=(sequence.A, -sequence.A)))
    exact = solve(Nash(matrix), "highs")
    solution = solve(Nash(spot.game), "dcfr:precision=double", tol=1e-3)
    assert solution.lower - 1e-9 <= exact.value <= solution.upper + 1e-9
    proven = Nash(matrix).certify(Profile([Strategy(matrix, one.player, one.behaviour) for one in solution.profile]))
    for name in ("lower", "upper", "exploitability", "objective"):
        assert getattr(solution.certificate, name) == pytest.approx(getattr(proven, name), abs=1e-9)
