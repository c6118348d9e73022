"""Nash equilibria: games and methods against reference values, statuses, warm starts, errors and what is reported."""

import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from clocks import ctrl_c_once, needs_ctrl_c
from effort import few

import treeplex
from treeplex import (
    CFR,
    CVXPY,
    DCFR,
    BestResponse,
    CFRPlus,
    Game,
    HiGHS,
    InvalidOptionError,
    InvalidStrategyError,
    Nash,
    PCFRPlus,
    Profile,
    SequenceForm,
    SolverError,
    Status,
    Strategy,
    UnknownMethodError,
    UnsupportedProblemError,
    expected_payoffs,
    exploitability,
    load_game,
    nash_conv,
    solve,
)
from treeplex.models.problems import Feature
from treeplex.solvers import find_method, method_names
from treeplex.solvers.methods import Method
from treeplex.solvers.outcome import Outcome

# What the certificates have to prove, in payoff units; payoffs are 1 to 13.
EXACT = 1e-9  # simplex, and interior point with crossover: a vertex
INTERIOR = 1e-7  # interior point without crossover, and cvxpy
FIRST_ORDER = 1e-4  # PDLP
ITERATIVE = 1e-4
ROUND_OFF = 1e-12

# Values to player 0 and how many of their digits are known.
VALUES = {
    "kuhn": (-1 / 18, EXACT),
    "leduc": (-0.0856064240780, EXACT),
    "leduc:merge_suits=true": (-0.0856064240780, EXACT),
    "liars_dice": (1 / 16, EXACT),
    "liars_dice:wild=false": (-1 / 8, EXACT),
    "goofspiel": (0.0, EXACT),
    "goofspiel:order=random,cards=3": (0.0, EXACT),
    "matching_pennies": (0.0, EXACT),
    "rps": (0.0, EXACT),
    "rps:rock=0.1,paper=1/3": (0.0, EXACT),
    "repeated_rps": (0.0, EXACT),
    "depth_limited_figure_2": (-4 / 3, EXACT),
    "coin": (0.0, EXACT),
    "depth_limited_figure_10": (1 / 2, EXACT),
    "gadget_trap_1": (0.0, EXACT),
    "gadget_trap_2": (0.0, EXACT),
}
MORE_VALUES = {
    "leduc:ranks=6": (-0.1045436, 5e-8),
    "leduc:suits=4,merge_suits=true": (-0.1057839, 5e-8),
    "goofspiel:cards=5": (0.0, 1e-8),
}

HIGHS_TOLERANCES = {
    "highs": INTERIOR,
    "highs-simplex": EXACT,
    "highs-ipm": INTERIOR,
    "highs-ipm-crossover": EXACT,
    "highs-pdlp": FIRST_ORDER,
}


def check(solution, game, value, tolerance, digits=EXACT):
    """Hold a solution to a tolerance on its certificate, which is computed once more from the strategies."""
    assert solution.status.is_success
    assert solution.exploitability <= tolerance
    assert exploitability(game, solution.profile) == pytest.approx(solution.exploitability, abs=ROUND_OFF)
    assert solution.gap == pytest.approx(2 * solution.exploitability, abs=ROUND_OFF)
    assert solution.lower - digits <= value <= solution.upper + digits
    assert solution.value == pytest.approx(value, abs=solution.gap + digits)
    assert solution.value == pytest.approx(expected_payoffs(game, solution.profile)[0], abs=ROUND_OFF)
    assert solution.objective == solution.value
    assert solution.violation == 0.0
    for strategy in solution.profile:
        assert strategy.treeplex.residual(strategy.plan) <= 1e-12


# Games × methods


@few
@pytest.mark.parametrize("spec", VALUES)
def test_exact_values(spec):
    game = load_game(spec)
    value, digits = VALUES[spec]
    check(solve(Nash(game), "highs-simplex"), game, value, EXACT, digits)


@pytest.mark.slow
@pytest.mark.parametrize("spec", MORE_VALUES)
def test_exact_values_of_larger_games(spec):
    game = load_game(spec)
    value, digits = MORE_VALUES[spec]
    check(solve(Nash(game)), game, value, INTERIOR, digits)


@pytest.mark.parametrize("method", HIGHS_TOLERANCES)
@pytest.mark.parametrize("spec", ["kuhn", "leduc:merge_suits=true", "rps:rock=0.1,paper=1/3"])
def test_every_algorithm_of_highs(spec, method):
    game = load_game(spec)
    tolerance = HIGHS_TOLERANCES[method]
    solution = solve(Nash(game), method, tol=tolerance)
    check(solution, game, VALUES[spec][0], tolerance)
    assert solution.status is Status.OPTIMAL
    assert solution.method.name == method
    assert len(solution.history) == 0


@pytest.mark.parametrize("method", ["highs-ipm", "highs-ipm-crossover"])
def test_interior_points_on_leduc(method):
    game = load_game("leduc")
    check(solve(Nash(game), method, tol=HIGHS_TOLERANCES[method]), game, VALUES["leduc"][0], HIGHS_TOLERANCES[method])


def test_highs_chooses_by_size(monkeypatch):
    game = load_game("kuhn")
    simplex = solve(Nash(game), "highs-simplex")
    assert solve(Nash(game), "highs").iterations == simplex.iterations
    monkeypatch.setattr(HiGHS, "large", 25)
    interior = solve(Nash(game), "highs", tol=INTERIOR)
    assert interior.iterations == solve(Nash(game), "highs-ipm", tol=INTERIOR).iterations
    np.testing.assert_array_equal(interior.profile[0].plan, solve(Nash(game), "highs-ipm").profile[0].plan)


@few
@pytest.mark.parametrize("method", ["cfr", "cfr+", "dcfr", "pcfr+"])
@pytest.mark.parametrize(
    "spec", ["kuhn", "leduc:merge_suits=true", "rps:rock=0.1,paper=1/3", "liars_dice", "goofspiel"]
)
def test_iterative_methods(spec, method):
    game = load_game(spec)
    tolerance = 1e-3 if method == "cfr" else ITERATIVE
    solution = solve(Nash(game), method, tol=tolerance, max_iterations=200_000)
    check(solution, game, VALUES[spec][0], tolerance)
    assert solution.status is Status.CONVERGED
    history = solution.history
    assert history.iterations[-1] == solution.iterations
    assert (np.diff(history.iterations) > 0).all()
    assert (np.diff(history.seconds) >= 0).all()
    assert history.exploitability[-1] == pytest.approx(solution.exploitability, abs=ROUND_OFF)
    assert (history.exploitability[:-1] > tolerance * (1 - 1e-9)).all()


@pytest.mark.parametrize(
    "method", [CFR(updates="simultaneous"), CFRPlus(updates="simultaneous"), PCFRPlus(iterate="last")]
)
def test_variants(method):
    game = load_game("kuhn")
    tolerance = 2e-3
    check(solve(Nash(game), method, tol=tolerance, max_iterations=300_000), game, -1 / 18, tolerance)


def test_a_game_without_decisions():
    import networkx as nx

    graph = nx.DiGraph()
    graph.add_node("end", payoffs=(2, -2))
    game = Game.from_tree(graph)
    for method in method_names():
        problem = Nash(game)
        if not problem.needs <= find_method(method).serves:  # such a game has no steps
            continue
        solution = solve(problem, method, tol=1e-6)
        assert (solution.value, solution.lower, solution.upper) == pytest.approx((2, 2, 2), abs=1e-9)
        assert solution.status.is_success


def test_games_given_as_matrices():
    form = load_game("kuhn").sequence_form
    game = Game.from_sequence_form(SequenceForm.from_matrices(form.E, form.e, form.F, form.f, form.A))
    for method, tolerance in (("highs", EXACT), ("cfr+", ITERATIVE)):
        check(solve(Nash(game), method, tol=tolerance), game, -1 / 18, tolerance)
    pennies = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, -1], [-1, 1]]))
    solution = solve(Nash(pennies))
    check(solution, pennies, 1 / 3, EXACT)
    assert [solution.profile[i].plan[1] for i in (0, 1)] == pytest.approx([1 / 3, 1 / 3])


def test_stakes_do_not_matter():
    """The same game in other units: tolerances that are not given scale with the payoffs, and so does the value."""
    form = load_game("kuhn").sequence_form
    for scale in (1e-9, 1e-3, 1e4, 1e9):
        game = Game.from_sequence_form(SequenceForm.from_matrices(form.E, form.e, form.F, form.f, form.A * scale))
        for method in ("highs-simplex", "cfr+"):
            solution = solve(Nash(game), method)
            assert solution.status.is_success
            default = find_method(method).default_tolerance
            assert solution.tolerance == pytest.approx(default * scale / 3, rel=1e-9, abs=0.0)
            assert solution.lower <= -scale / 18 * (1 - 1e-8)
            assert solution.upper >= -scale / 18 * (1 + 1e-8)


# Exact formulations


@pytest.mark.parametrize("spec", ["kuhn", "leduc:merge_suits=true", "matching_pennies", "rps:rock=0.1,paper=1/3"])
@pytest.mark.parametrize("solver", ["HIGHS", "CLARABEL"])
def test_both_formulations_have_the_same_optimum(spec, solver):
    game = load_game(spec)
    direct = solve(Nash(game), "highs-simplex")
    through = solve(Nash(game), CVXPY(solver=solver), tol=INTERIOR)
    check(through, game, VALUES[spec][0], INTERIOR)
    assert through.value == pytest.approx(direct.value, abs=INTERIOR)
    program = Nash(game).to_cvxpy()
    assert program.solve(solver=solver) == pytest.approx(direct.value, abs=INTERIOR)
    assert any(variable is game.plan(0) for variable in program.variables())


def test_the_linear_program_is_documented_blocks():
    game = load_game("kuhn")
    form = game.sequence_form
    program = Nash(game).linear_program()
    assert program.shape == (7 + 13, 13 + 7)
    assert program.maximise
    plan, values = program.columns["plan"], program.columns["values"]
    rows, response = program.rows["plan"], program.rows["response"]
    matrix = program.matrix.toarray()
    np.testing.assert_array_equal(matrix[rows, plan], form.E.toarray())
    np.testing.assert_array_equal(matrix[rows, values], 0.0)
    unit = np.abs(form.A.data).mean()
    np.testing.assert_allclose(unit * matrix[response, plan], -form.A.toarray().T, rtol=1e-15)
    np.testing.assert_array_equal(matrix[response, values], form.F.toarray().T)
    np.testing.assert_array_equal(program.row_lower[rows], form.e)
    np.testing.assert_array_equal(program.row_upper[rows], form.e)
    assert (program.row_upper[response] == 0.0).all()
    assert np.isneginf(program.row_lower[response]).all()
    assert (program.column_lower[plan] == 0.0).all()
    assert np.isneginf(program.column_lower[values]).all()
    assert np.isposinf(program.column_upper).all()
    np.testing.assert_array_equal(program.objective[values], unit * form.f)
    assert not program.objective[plan].any()


def test_the_linear_program_solved_by_scipy():
    from scipy.optimize import linprog

    program = Nash(load_game("leduc:merge_suits=true")).linear_program()
    equal = program.row_lower == program.row_upper
    rows = program.matrix.tocsr()
    solved = linprog(
        -program.objective,
        A_ub=rows[~equal],
        b_ub=program.row_upper[~equal],
        A_eq=rows[equal],
        b_eq=program.row_upper[equal],
        bounds=np.stack([program.column_lower, program.column_upper], axis=1),
    )
    assert -solved.fun == pytest.approx(VALUES["leduc"][0], abs=1e-8)


# Golden trajectory


def test_golden_trajectory_of_cfr_on_leduc():
    """OpenSpiel's CFRSolver, alternating updates; NashConv / 2 after so many updates."""
    problem = Nash(load_game("leduc"))
    # The trajectory magnifies round-off: in 200-bit arithmetic 1,000 updates give .01181797, and other orders of the
    # same sums in double precision .011815 to .011827. Ours are the same on every machine; an order that is as right
    # may need a wider tolerance at the end, not before.
    golden = [(0, 2.373611, 1e-6), (1, 2.373611, 1e-6), (100, 0.0957164, 1e-6), (101, 0.0939493, 1e-6)]
    golden += [(500, 0.0215072, 2e-5 * 0.0215072), (1000, 0.0118178, 2e-5 * 0.0118178)]
    solution = None
    for updates, value, tolerance in golden:
        done = 0 if solution is None else solution.iterations
        solution = solve(problem, "cfr", tol=0, max_iterations=updates - done, start=solution)
        assert solution.iterations == updates
        assert solution.exploitability == pytest.approx(value, abs=tolerance)


def test_other_orders_of_updates_are_other_algorithms():
    problem = Nash(load_game("leduc"))
    simultaneous = solve(problem, CFR(updates="simultaneous"), tol=0, max_iterations=100)
    assert simultaneous.exploitability == pytest.approx(0.173034, abs=1e-6)
    for updates, nash_conv_ in ((10, 1.8540), (34, 0.6746)):
        solution = solve(problem, CFR(updates="simultaneous"), tol=0, max_iterations=updates)
        assert nash_conv(problem.game, solution.profile) == pytest.approx(nash_conv_, abs=5e-5)


# Statuses


def test_exactly_as_many_iterations_as_asked_for():
    problem = Nash(load_game("kuhn"))
    for count in (0, 1, 2, 31, 32, 33, 1000):
        solution = solve(problem, "cfr", tol=0, max_iterations=count)
        assert (solution.iterations, solution.status) == (count, Status.ITERATION_LIMIT)
        assert solution.message == "all requested iterations have been run"
    assert solve(problem, "cfr", max_iterations=3).message == Status.ITERATION_LIMIT.advice
    assert solve(problem, "cfr", tol=0, max_iterations=7.0).iterations == 7
    assert solve(problem, "cfr", tol=1e-2, max_iterations=math.inf).status is Status.CONVERGED


def test_no_iterations_give_the_start():
    problem = Nash(load_game("kuhn"))
    solution = solve(problem, "cfr", tol=0, max_iterations=0)
    np.testing.assert_allclose(solution.profile[0].plan, Profile.uniform(problem.game)[0].plan, atol=1e-15)
    assert solution.history.iterations.tolist() == [0]
    assert solution.exploitability == pytest.approx(0.916667 / 2, abs=1e-6)


@pytest.mark.parametrize("method", ["cfr", PCFRPlus(iterate="last")])
def test_the_history_ends_with_the_strategies_that_are_returned(method):
    problem = Nash(load_game("leduc"))
    solution = None
    for count in (0, 1, 7, 50):
        solution = solve(problem, method, tol=0, max_iterations=count, start=solution)
        assert solution.history.iterations[-1] == solution.iterations
        assert solution.history.exploitability[-1] == pytest.approx(solution.exploitability, abs=ROUND_OFF)
        assert (np.diff(solution.history.iterations) > 0).all()


def test_with_a_tolerance_of_zero_even_an_equilibrium_is_no_reason_to_stop():
    solution = solve(Nash(load_game("matching_pennies")), "cfr", tol=0, max_iterations=50)
    assert solution.exploitability == 0.0
    assert (solution.iterations, solution.status) == (50, Status.ITERATION_LIMIT)


def test_a_limit_that_comes_with_the_proof_is_convergence():
    solution = solve(Nash(load_game("matching_pennies")), "cfr", tol=1e-3, max_iterations=0)
    assert solution.status is Status.CONVERGED


def test_a_tolerance_is_met_at_the_first_check_that_meets_it():
    problem = Nash(load_game("kuhn"))
    solution = solve(problem, "cfr+", tol=1e-3)
    again = solve(problem, "cfr+", tol=solution.exploitability, max_iterations=10**6)
    assert again.status is Status.CONVERGED
    assert again.exploitability <= solution.exploitability


@pytest.mark.parametrize("method", ["cfr", "highs-simplex", "highs-ipm", "cvxpy"])
def test_time_limits(method):
    game = load_game("leduc")
    assert game.sequence_form.num_players == 2  # built before the limit begins
    solution = solve(Nash(game), method, tol=1e-9, time_limit=0.0)
    assert solution.status is Status.TIME_LIMIT
    assert not solution.status.is_success
    assert solution.lower <= VALUES["leduc"][0] <= solution.upper
    assert solution.message.startswith(Status.TIME_LIMIT.advice)
    if method.startswith("highs"):
        assert solution.message.endswith("did not find any strategies, so the solution is uniform play")


def test_a_time_limit_is_kept(clock):
    game = load_game("leduc")
    solve(Nash(game), "cfr", max_iterations=1)  # builds the game and compiles
    solution = solve(Nash(game), "cfr", tol=0, time_limit=20)
    assert 18 < solution.seconds < 22
    assert solution.status is Status.TIME_LIMIT
    assert solution.iterations > 10


@pytest.mark.parametrize("method", ["highs-simplex", "highs-ipm", "highs-ipm-crossover", "highs-pdlp"])
@pytest.mark.parametrize("limit", [0, 3])
def test_iteration_limits_of_highs(method, limit):
    solution = solve(Nash(load_game("leduc")), method, max_iterations=limit)
    assert solution.status is Status.ITERATION_LIMIT
    assert solution.iterations <= limit
    assert solution.lower <= VALUES["leduc"][0] <= solution.upper


@pytest.mark.parametrize(
    ("spec", "method", "tolerance"),
    [
        ("leduc", "highs-pdlp", 1e-13),
        ("kuhn", CVXPY(solver="SCS"), 1e-12),
    ],
)
def test_what_cannot_be_proven_is_uncertified(spec, method, tolerance):
    solution = solve(Nash(load_game(spec)), method, tol=tolerance)
    assert solution.exploitability > tolerance
    assert solution.status is Status.UNCERTIFIED
    assert not solution.status.is_success
    assert f"(proven {solution.exploitability:.3g}, requested {tolerance:.3g}; " in solution.message
    assert "\n" not in solution.message


def test_exact_methods_are_not_asked_for_more_than_arithmetic_can_give():
    for spec in ("kuhn", "leduc"):
        solution = solve(Nash(load_game(spec)), "highs-simplex", tol=0)
        assert solution.status is Status.OPTIMAL
        assert solution.exploitability < 1e-14


def test_a_solver_that_lies_is_found_out():
    """A method that calls uniform play optimal, and one whose plans are no plans."""

    class Liar(Method):
        name = "liar"
        serves = frozenset({Feature.PROGRAM})
        default_tolerance = 1e-6
        default_iterations = 1

        def __init__(self, plans, stopped=Status.OPTIMAL):
            self.plans, self.stopped = plans, stopped

        def backend(self, problem, options):
            return Outcome(self.plans, self.stopped, "the liar says optimal", 1, 0.0, 0.0)

    game = load_game("kuhn")
    problem = Nash(game)
    uniform = Profile.uniform(game).plans
    for stopped in (Status.OPTIMAL, Status.CONVERGED):
        solution = solve(problem, Liar(uniform, stopped))
        assert solution.status is Status.UNCERTIFIED
        assert solution.exploitability == pytest.approx(0.458333, abs=1e-6)
        assert solution.message.endswith("(proven 0.458, requested 2e-06; the liar says optimal)")
    assert solve(problem, Liar([-np.ones(13)] * 2)).status is Status.UNCERTIFIED
    for plan in (np.full(13, np.nan), np.where(np.arange(13) == 12, np.inf, uniform[1])):
        with pytest.raises(SolverError, match="liar returned numbers that are not finite for player 1: the liar says"):
            solve(problem, Liar([uniform[0], plan]))
    with pytest.raises(InvalidStrategyError, match=r"shape \(12,\), expected \(13,\)"):
        solve(problem, Liar([uniform[0], np.ones(12)]))
    with pytest.raises(SolverError, match="liar found no strategies: the liar says optimal"):
        solve(problem, Liar(None))
    good = solve(problem, "highs-simplex").profile.plans
    assert solve(problem, Liar(good)).status is Status.OPTIMAL
    assert solve(problem, Liar(good, Status.TIME_LIMIT)).status is Status.CONVERGED
    assert solve(problem, Liar(good, Status.INTERRUPTED)).status is Status.INTERRUPTED


def test_callbacks_stop():
    seen = []

    def stop(progress):
        seen.append(progress)
        return len(seen) == 3

    solution = solve(Nash(load_game("leduc")), "cfr", tol=0, max_iterations=10**6, callback=stop)
    assert solution.status is Status.INTERRUPTED
    assert solution.message == Status.INTERRUPTED.advice
    assert len(seen) == 3
    assert [one.iterations for one in seen] == sorted({one.iterations for one in seen})
    assert seen[-1].iterations == solution.iterations
    assert seen[0].exploitability > 0
    assert (seen[0].tolerance, seen[0].max_iterations) == (0.0, 10**6)
    assert [one.seconds for one in seen] == sorted(one.seconds for one in seen)
    assert solution.exploitability < 2.0


def test_callbacks_may_answer_as_numpy_does():
    solution = solve(Nash(load_game("leduc")), "cfr", tol=0, max_iterations=10**6, callback=lambda progress: np.True_)
    assert solution.status is Status.INTERRUPTED
    for answer in (None, False, np.False_):
        solution = solve(
            Nash(load_game("kuhn")), "cfr", tol=0, max_iterations=100, callback=lambda progress, a=answer: a
        )
        assert solution.iterations == 100


def test_a_keyboard_interrupt_returns_the_best_so_far():
    def interrupt(progress):
        if progress.iterations > 40:
            raise KeyboardInterrupt

    game = load_game("leduc")
    solution = solve(Nash(game), "cfr", tol=0, max_iterations=10**6, progress=interrupt)
    assert solution.status is Status.INTERRUPTED
    assert 40 < solution.iterations < 10**6
    assert exploitability(game, solution.profile) == pytest.approx(solution.exploitability, abs=ROUND_OFF)
    straight = solve(Nash(game), "cfr", tol=0, max_iterations=solution.iterations)
    np.testing.assert_array_equal(solution.profile[0].plan, straight.profile[0].plan)
    more = solve(Nash(game), "cfr", tol=0, max_iterations=5, start=solution)
    assert more.iterations == solution.iterations + 5


def test_errors_in_listeners_are_not_swallowed():
    def fail(progress):
        raise RuntimeError("mine")

    for listener in ({"progress": fail}, {"callback": fail}):
        with pytest.raises(RuntimeError, match="mine"):
            solve(Nash(load_game("leduc")), "cfr", tol=0, max_iterations=1000, **listener)


def test_listeners_change_nothing():
    problem = Nash(load_game("leduc"))
    plain = solve(problem, "cfr", tol=0, max_iterations=200)
    heard = solve(problem, "cfr", tol=0, max_iterations=200, progress=lambda progress: None)
    np.testing.assert_array_equal(plain.profile[1].plan, heard.profile[1].plan)


# Warm starts


@pytest.mark.parametrize(
    "method", ["cfr", "cfr+", "dcfr", "pcfr+", CFRPlus(iterate="last"), DCFR(updates="simultaneous")]
)
@pytest.mark.parametrize("spec", ["kuhn", "leduc", "kuhn:players=3"])
def test_resuming_is_the_same_as_not_stopping(spec, method):
    problem = Nash(load_game(spec))
    straight = solve(problem, method, tol=0, max_iterations=75)
    solution = None
    for part in (1, 24, 0, 50):
        solution = solve(problem, method, tol=0, max_iterations=part, start=solution)
    assert solution.iterations == 75
    for mine, theirs in zip(solution.profile, straight.profile, strict=True):
        np.testing.assert_array_equal(mine.plan, theirs.plan)
    assert solution.exploitability == straight.exploitability


def test_resuming_leaves_the_solution_alone():
    problem = Nash(load_game("kuhn"))
    first = solve(problem, "cfr", tol=0, max_iterations=10)
    plan = first.profile[0].plan.copy()
    runs = [solve(problem, "cfr", tol=0, max_iterations=10, start=first) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].profile[0].plan, runs[1].profile[0].plan)
    np.testing.assert_array_equal(first.profile[0].plan, plan)
    assert [first.iterations, runs[0].iterations, runs[1].iterations] == [10, 20, 20]


def test_resuming_with_the_game_loaded_again():
    straight = solve(Nash(load_game("kuhn")), "cfr", tol=0, max_iterations=30)
    first = solve(Nash(load_game("kuhn")), "cfr", tol=0, max_iterations=10)
    second = solve(Nash(load_game("kuhn")), "cfr", tol=0, max_iterations=20, start=first)
    assert second.iterations == 30
    np.testing.assert_array_equal(second.profile[0].plan, straight.profile[0].plan)


def test_a_profile_is_the_first_iterate():
    game = load_game("kuhn")
    problem = Nash(game)
    exact = solve(problem, "highs-simplex")
    for start in (exact, exact.profile):
        for count in (0, 1):  # the average after one update is what the updates started from
            solution = solve(problem, "cfr", tol=0, max_iterations=count, start=start)
            assert solution.iterations == count
            assert solution.exploitability == pytest.approx(0.0, abs=EXACT)
            np.testing.assert_allclose(solution.profile[0].plan, exact.profile[0].plan, atol=ROUND_OFF)
    away = solve(problem, "cfr", tol=0, max_iterations=20, start=exact.profile)
    assert not np.allclose(away.profile[0].plan, solve(problem, "cfr", tol=0, max_iterations=20).profile[0].plan)


def test_another_method_starts_from_the_strategies_alone():
    problem = Nash(load_game("kuhn"))
    first = solve(problem, "cfr", tol=0, max_iterations=100)
    for method in ("cfr+", CFR(averaging="linear")):
        by_solution = solve(problem, method, tol=0, max_iterations=10, start=first)
        by_profile = solve(problem, method, tol=0, max_iterations=10, start=first.profile)
        assert by_solution.iterations == by_profile.iterations == 10
        np.testing.assert_array_equal(by_solution.profile[0].plan, by_profile.profile[0].plan)


# Errors


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("cfr++", "unknown method 'cfr\\+\\+' \\(did you mean cfr\\+\\?\\); expected one of highs, "),
        ("simplex", "unknown method 'simplex'.*; expected one of highs, highs-simplex"),
        ("", "unknown method ''; expected one of"),
        (CFR, "expected a method's name or hyper-parameters"),
        (7, "expected a method's name or hyper-parameters, such as CFR.., got 7"),
        (CVXPY(solver="NONE"), "cvxpy has no installed solver 'NONE'; the installed ones are"),
    ],
)
def test_unknown_methods(method, message):
    with pytest.raises(UnknownMethodError, match=message) as caught:
        solve(Nash(load_game("kuhn")), method)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CFR(averaging="cubical"),
            r"cfr: averaging = cubical \(did you mean cubic\?\); expected one of uniform, linear, quadratic",
        ),
        (lambda: CFR(averaging=-1), "cfr: averaging = -1; expected"),
        (lambda: CFR(averaging=float("nan")), "cfr: averaging = nan; expected"),
        (lambda: CFR(averaging=65), "cfr: averaging = 65; expected"),
        (lambda: CFR(averaging=None), "cfr: averaging = None; expected"),
        (lambda: CFR(averaging=[1]), r"cfr: averaging = \[1\]; expected"),
        (lambda: CFRPlus(updates="both"), r"cfr\+: updates = both; expected one of alternating, simultaneous"),
        (lambda: PCFRPlus(iterate="first"), r"pcfr\+: iterate = first; expected one of average, last, best"),
        (lambda: DCFR(alpha=float("nan")), "dcfr: alpha = nan; expected a number"),
        (lambda: DCFR(beta="zero"), "dcfr: beta = zero; expected a number"),
        (lambda: HiGHS(algorithm="barrier"), "algorithm = barrier; expected one of auto, simplex, ipm"),
        (
            lambda: find_method("dcfr:alfa=1"),
            r"dcfr: unknown parameter 'alfa' \(did you mean alpha\?\); expected one of",
        ),
        (lambda: find_method("dcfr:alpha"), "dcfr: expected key=value at character 6, got 'alpha'"),
        (lambda: find_method("dcfr:alpha=1,alpha=2"), "dcfr: alpha is given twice, as 1 and 2"),
        (lambda: find_method("dcfr:gamma=-1"), "dcfr: averaging = -1; expected"),
        (
            lambda: find_method("cfr", step=1),
            "cfr: unknown parameter 'step'; expected one of updates, averaging, iterate",
        ),
        (lambda: find_method("highs-ipm", tol=1), "highs-ipm: unknown parameter 'tol'; expected algorithm"),
        (lambda: find_method("cfrr"), "did you mean cfr?"),
    ],
)
def test_unknown_options(make, message):
    with pytest.raises(UnknownMethodError, match=message):
        make()


def test_methods_are_read_from_text():
    assert find_method("dcfr:alpha=1.5,beta=0,gamma=2") == DCFR()
    assert find_method("dcfr:alpha=2,beta=-1/2,gamma=1") == DCFR(alpha=2, beta=-0.5, averaging="linear")
    assert find_method("cfr+:updates=simultaneous", averaging=2) == CFRPlus(updates="simultaneous", averaging=2)
    assert find_method("highs:algorithm=ipm") == find_method("highs-ipm")
    assert find_method("pref-cfr:prefer=(b:5,p:2)") == find_method("pref-cfr", prefer=["b:5", "p:2"])
    problem = Nash(load_game("kuhn"))
    by_text, by_hand = (
        solve(problem, method, tol=0, max_iterations=20)
        for method in ("dcfr:alpha=2,beta=0.5", DCFR("alternating", 2, "average", 2, 0.5))
    )
    np.testing.assert_array_equal(by_text.profile[0].plan, by_hand.profile[0].plan)


def test_averaging_by_name_or_number():
    assert [CFR(averaging=name).averaging_power for name in ("uniform", "linear", "quadratic", "cubic", "quartic")] == [
        0.0,
        1.0,
        2.0,
        3.0,
        4.0,
    ]
    assert CFR(averaging="1.5").averaging_power == CFR(averaging=1.5).averaging_power == 1.5
    problem = Nash(load_game("kuhn"))
    by_name, by_number = (solve(problem, CFR(averaging=a), tol=0, max_iterations=20) for a in ("linear", 1))
    np.testing.assert_array_equal(by_name.profile[0].plan, by_number.profile[0].plan)


@pytest.mark.parametrize("method", ["highs", "cfr", "cvxpy"])
@pytest.mark.parametrize("option", ["tol", "time_limit", "max_iterations"])
@pytest.mark.parametrize("number", [-1, -1e-12, float("nan"), "1", True, [1]])
def test_limits_are_numbers_of_at_least_zero(method, option, number):
    with pytest.raises(UnknownMethodError, match=f"^{option} is .*, expected a number of at least 0"):
        solve(Nash(load_game("kuhn")), method, **{option: number})


@pytest.mark.parametrize("option", ["tol", "time_limit", "max_iterations", "seed", "callback", "progress"])
def test_options_are_checked_before_the_game_is_built(option):
    """The game is too large, and the method does not exist."""
    for method in (None, "hihgs"):
        with pytest.raises(InvalidOptionError, match=f"^{option} is -1, expected "):
            solve(Nash(load_game("goofspiel:cards=9")), method, **{option: -1})


def test_iterations_are_whole():
    with pytest.raises(UnknownMethodError, match=r"max_iterations is 2\.5, expected a whole number"):
        solve(Nash(load_game("kuhn")), "cfr", max_iterations=2.5)


@pytest.mark.parametrize(
    ("method", "text"),
    [
        ("cvxpy", "cvxpy does not accept a start: use an iterative method"),
        ("highs", r"highs starts from a solution by highs-simplex or highs-ipm-crossover, but the start is Profile\("),
        ("highs-pdlp", "highs-pdlp does not accept a start here, because pdlp cannot start from a basis: use simplex"),
    ],
)
def test_exact_methods_but_interior_point_take_no_strategies_as_a_start(method, text):
    game = load_game("kuhn")
    with pytest.raises(UnknownMethodError, match=text):
        solve(Nash(game), method, start=Profile.uniform(game))


def test_the_simplex_method_goes_on_from_a_basis():
    leduc = load_game("leduc")
    first = solve(Nash(leduc), "highs-simplex")
    again = solve(Nash(leduc), "highs-simplex", start=first)
    assert again.iterations == 0
    assert again.value == pytest.approx(first.value, abs=1e-12)
    assert solve(Nash(leduc), "highs", start=solve(Nash(leduc), "highs-ipm-crossover")).iterations <= 5
    with pytest.raises(UnknownMethodError, match="the start's linear program has 20 rows and 20 columns, expected"):
        solve(Nash(leduc), start=solve(Nash(load_game("kuhn"))))


def test_methods_that_average_alike_are_equal():
    assert CFR(averaging=1) == CFR(averaging="linear") == CFR(averaging="1.0")
    with pytest.raises(UnknownMethodError, match="averaging = true"):
        CFR(averaging=True)


def test_resuming_goes_on_in_another_layout_of_the_game():
    """The same game as leaves and as matrices is laid out differently for the compiled loop."""
    form = load_game("kuhn").sequence_form
    games = [
        Game.from_sequence_form(SequenceForm(form.treeplexes, form.leaves)),
        Game.from_sequence_form(SequenceForm(form.treeplexes, payoff_matrices=(form.A, form.payoff_matrix(1)))),
    ]
    assert games[0].sequence_form.A.nnz == games[1].sequence_form.A.nnz
    whole = solve(Nash(games[0]), "dcfr", tol=0, max_iterations=300)
    for first, second in (games, games[::-1]):
        half = solve(Nash(first), "dcfr", tol=0, max_iterations=150)
        rest = solve(Nash(second), "dcfr", tol=0, max_iterations=150, start=half)
        assert rest.iterations == 300
        assert rest.exploitability == pytest.approx(whole.exploitability, rel=1e-6)


def test_resuming_looks_at_the_tolerance_first():
    problem = Nash(load_game("kuhn"))
    half = solve(problem, "cfr", tol=0, max_iterations=101)
    again = solve(problem, "cfr", tol=1.0, start=half)
    assert (again.status, again.iterations) == (Status.CONVERGED, 101)


def test_highs_in_threads():
    problem = Nash(load_game("leduc:ranks=4"))
    with ThreadPoolExecutor(3) as pool:
        solutions = list(pool.map(lambda _: solve(problem, "highs-ipm"), range(3)))
    assert all(solution.status is Status.OPTIMAL for solution in solutions)


def test_limits_through_cvxpy():
    problem = Nash(load_game("leduc:merge_suits=true"))
    assert not solve(problem, "cvxpy", max_iterations=1).status.is_success
    with pytest.raises(UnknownMethodError, match="cvxpy with SCIPY does not support time_limit"):
        solve(problem, CVXPY(solver="SCIPY"), time_limit=1.0)


def test_starts_of_another_kind_or_game():
    game = load_game("kuhn")
    other = load_game("kuhn:cards=4")
    foreign = solve(Nash(other), "cfr", max_iterations=1)
    for start in (Profile.uniform(other), foreign):
        with pytest.raises(InvalidStrategyError, match="belongs to another game"):
            solve(Nash(game), "cfr", start=start)
    for start in (Strategy.uniform(game, 0), list(Profile.uniform(game)), "uniform", 1):
        with pytest.raises(InvalidStrategyError, match=r"start is .*, expected a Profile or a Solution"):
            solve(Nash(game), "cfr", start=start)


@pytest.mark.parametrize("method", ["highs", "highs-ipm", "cvxpy"])
def test_exact_methods_need_two_players(method):
    with pytest.raises(UnsupportedProblemError, match="cannot solve nash with more than two players: use cfr"):
        solve(Nash(load_game("kuhn:players=3")), method)


def test_general_sum_games_have_no_linear_program():
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[3, 5], [0, 1]]), name="dilemma")
    with pytest.raises(
        UnsupportedProblemError, match="nash needs a zero-sum game, but the payoffs of dilemma do not sum"
    ):
        Nash(game).linear_program()
    assert solve(Nash(game)).regrets == (0.0, 0.0)


@pytest.mark.parametrize("problem", [None, "nash", 3, Nash], ids=repr)
def test_what_is_no_problem(problem):
    with pytest.raises(UnsupportedProblemError, match="expected a problem posed on a game, such as Nash"):
        solve(problem)
    with pytest.raises(UnsupportedProblemError, match=r"expected a problem posed on a game, .* got Game\('kuhn'\)"):
        solve(load_game("kuhn"))


def test_a_method_says_who_can_do_what_it_cannot():
    game = load_game("kuhn")
    problem = BestResponse(game, Strategy.uniform(game, 1))
    with pytest.raises(UnsupportedProblemError, match=r"method cfr cannot solve best-response: use highs"):
        solve(problem, "cfr")


# Three players


def test_three_players_by_iteration():
    game = load_game("kuhn:players=3")
    solution = solve(Nash(game), "cfr+", tol=1e-3, max_iterations=100_000)
    assert solution.status is Status.CONVERGED
    assert nash_conv(game, solution.profile) / 3 == pytest.approx(solution.exploitability, abs=ROUND_OFF)
    assert (solution.objective, solution.lower, solution.upper, solution.gap) == (None, None, None, None)
    assert isinstance(solution.value, tuple)
    assert sum(solution.value) == pytest.approx(0.0, abs=ROUND_OFF)


# What is reported

KEYS = [
    "schema",
    "version",
    "game",
    "parameters",
    "problem",
    "method",
    "options",
    "tolerance",
    "player",
    "status",
    "message",
    "objective",
    "value",
    "value_exact",
    "values_exact",
    "recommendations",
    "ties",
    "scenarios",
    "logit_distance",
    "objective_exact",
    "gain_exact",
    "lower",
    "upper",
    "gap",
    "exploitability",
    "regrets",
    "epsilon",
    "nash_conv",
    "gain",
    "opponent_value",
    "game_value",
    "slack",
    "violation",
    "violations",
    "multipliers",
    "multiplier_bound",
    "preference",
    "least_violation",
    "conflict",
    "relaxations",
    "steps",
    "step_levels",
    "step_gaps",
    "safety_bound",
    "history",
    "value_errors",
    "iterations",
    "seconds",
    "build_seconds",
    "dual_multipliers",
    "prices",
    "time",
    "values",
    "sizes",
]


@pytest.mark.parametrize(
    ("spec", "method", "options"),
    [
        ("leduc", "highs", {}),
        ("kuhn", "cfr+", {}),
        ("kuhn", "cvxpy", {}),
        ("kuhn:players=3", "cfr", {"max_iterations": 10}),
        ("rps:rock=1/10,paper=1/3", "pcfr+", {"max_iterations": 0}),
        ("kuhn", "highs", {"time_limit": 0}),
    ],
)
def test_solutions_as_json(spec, method, options):
    game = load_game(spec)
    solution = solve(Nash(game), method, **options)
    record = solution.to_dict()
    assert sorted(record) == sorted(KEYS)
    text = solution.to_json()
    proof = json.loads(solution.certificate.to_json())
    for name in ("objective", "lower", "upper", "gap", "exploitability", "violations", "player", "gain"):
        assert proof[name] == record[name]
    history = solution.history
    assert record["history"] == (history.to_dict() if len(history) else None)
    if len(history):
        assert sorted(record["history"]) == ["exploitability", "iterations", "seconds"]
        assert record["history"]["exploitability"][-1] == pytest.approx(solution.exploitability)
    assert "\n" not in text
    for word in ("NaN", "Infinity"):
        assert word not in text
    assert json.loads(text) == record
    assert (record["schema"], record["version"]) == (1, treeplex.__version__)
    assert (record["game"], record["problem"], record["method"]) == (spec, "nash", method)
    assert list(record["parameters"]) == list(game.parameters)
    assert (record["status"], record["message"]) == (str(solution.status), solution.message)
    assert record["player"] is None
    assert record["exploitability"] == solution.exploitability
    assert record["value"] == (list(solution.value) if game.num_players > 2 else solution.value)
    assert [record[key] for key in ("lower", "upper", "gap")] == [solution.lower, solution.upper, solution.gap]
    assert (record["violation"], record["violations"], record["multipliers"]) == (0.0, {}, {})
    assert record["sizes"] == {
        "sequences": [treeplex_.num_sequences for treeplex_ in game.sequence_form.treeplexes],
        "infosets": [treeplex_.num_infosets for treeplex_ in game.sequence_form.treeplexes],
        "leaves": game.sequence_form.num_leaves,
        "nnz": game.sequence_form.A.nnz if game.num_players == 2 else None,
    }
    assert all(isinstance(record[key], float) and record[key] >= 0 for key in ("seconds", "build_seconds"))
    assert isinstance(record["iterations"], int)


def test_parameters_that_are_fractions_are_written_as_text():
    record = solve(Nash(load_game("rps:rock=0.1,paper=1/3"))).to_dict()
    assert record["parameters"] == {"rock": "1/10", "paper": "1/3", "scissors": 1}


def test_solutions_as_text():
    solution = solve(Nash(load_game("kuhn")))
    lines = dict(line.split("  ", 1) for line in str(solution).splitlines())
    assert lines["problem"].strip() == "nash on kuhn"
    assert lines["method"].strip() == "highs"
    assert (lines["status"].strip(), lines[""].strip()) == ("optimal", solution.message)
    assert lines["value"].strip() == "-0.0555555556 to player 0"
    assert lines["proven bounds"].strip() == "-0.0555555556 to -0.0555555556"
    three = str(solve(Nash(load_game("kuhn:players=3")), "cfr", max_iterations=5))
    assert "proven bounds" not in three
    assert "iteration_limit" in three


def test_every_status_says_what_to_do():
    assert [status.value for status in Status] == [
        "optimal",
        "converged",
        "iteration_limit",
        "time_limit",
        "infeasible",
        "unbounded",
        "uncertified",
        "interrupted",
    ]
    assert len({status.advice for status in Status}) == len(Status)
    assert [status for status in Status if status.is_success] == [Status.OPTIMAL, Status.CONVERGED]


def test_the_same_solve_gives_the_same_strategies():
    for method in ("highs-simplex", "cfr", "pcfr+"):
        first, second = (solve(Nash(load_game("leduc:merge_suits=true")), method, tol=1e-3) for _ in range(2))
        for mine, theirs in zip(first.profile, second.profile, strict=True):
            np.testing.assert_array_equal(mine.plan, theirs.plan)
        assert first.iterations == second.iterations


def test_what_is_no_game_and_what_is_not_zero_sum():
    for wrong in ("leduc", 3, load_game("kuhn").sequence_form):
        with pytest.raises(treeplex.InvalidGameError, match=r"nash: expected a Game, got .*; load_game\(…\)"):
            Nash(wrong)
    constant = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0]], [[2, 5]]))
    assert solve(Nash(constant)).values == pytest.approx((0, 5), abs=1e-9)
    general = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[3, 0]], [[2, 4]]))
    with pytest.raises(UnsupportedProblemError, match=r"every leaf: use EpsilonNash \(--problem epsilon-nash\)$"):
        _ = Nash(general).canonical


def test_a_good_start_is_kept():
    problem = Nash(load_game("liars_dice"))
    good = solve(problem, "dcfr", tol=1e-5).profile
    for method in ("cfr", "cfr+", "dcfr", "pcfr+"):
        warm = solve(problem, method, tol=0, max_iterations=10, start=good)
        cold = solve(problem, method, tol=0, max_iterations=10)
        assert warm.exploitability < 1e-4 < 1e-2 < cold.exploitability


@needs_ctrl_c
def test_ctrl_c_within_a_compiled_call_loses_no_count():
    """The uniform average counts every iteration once, so its weight tells how many there were."""
    problem = Nash(load_game("leduc"))
    solve(problem, "cfr", tol=0, max_iterations=1)
    for delay in (0.01, 0.04, 0.07):
        reports = []
        with ctrl_c_once(lambda reports=reports: reports, delay):
            solution = solve(problem, "cfr", tol=0, max_iterations=10**9, progress=reports.append)
        assert solution.status is Status.INTERRUPTED
        arrays = solution.state.state.arrays
        weights = arrays.plan_sums[solution.state.kernel.layout.bases[:-1]]
        assert weights.tolist() == [solution.iterations] * 2
        assert solution.history.iterations[-1] == solution.iterations
        assert (np.diff(solution.history.iterations) > 0).all()
