"""The method exact: what regrets leave to the optimum, against fractions, and what it says where it fails."""

import numpy as np
import pytest
from constrained_cases import constrained_games
from effort import either, examples, soaked, some, thorough
from highspy import HighsBasisStatus
from hypothesis import assume, given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game
from scipy.sparse import csc_array

from treeplex import ConstrainedNash, EpsilonSafeStyle, Game, Nash, RestrictedNash, Status, Strategy, load_game, solve
from treeplex.models.constraints import behaviour_bound, functional_bound
from treeplex.models.distances import L2Distance
from treeplex.seqform.errors import UnknownMethodError
from treeplex.seqform.sequence_form import SequenceForm
from treeplex.seqform.strategy import Profile
from treeplex.solvers import Exact
from treeplex.solvers.choice import choose
from treeplex.solvers.exact import from_regrets, highs, other_ways
from treeplex.solvers.exact.distances import NearProgram, StandardProgram
from treeplex.solvers.outcome import Outcome

#: Never HiGHS alone because a program is small.
EXACT = Exact(direct=0)


def agrees(problem, reference, method=EXACT):
    solution = solve(problem, method)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(float(reference.objective), abs=1e-9 * problem.unit)
    posed = solution.problem  # with the value of the game, where it needs that
    assert posed.error(posed.certify(solution.profile, solution.dual_multipliers)) <= 1e-9 * problem.unit
    return solution.state.way


@pytest.mark.parametrize("seed", some(range(60), every=6))
def test_equilibria_of_random_trees_are_those_in_fractions(seed):
    problem = Nash(to_game(seeded_tree(seed)))
    agrees(problem, solve(problem, "rational"))


@examples(30)
@given(st.integers(0, 2**31), st.integers(1, 7), st.integers(1, 7), st.sampled_from([1e-6, 1.0, 1e6]))
def test_matrices_with_ties_everywhere(seed, rows, columns, size):
    """Few payoffs that differ: many optima, at all of which plans and programs are degenerate."""
    payoffs = np.random.default_rng(seed).integers(-1, 2, (rows, columns)) * size
    problem = Nash(Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs)))
    agrees(problem, solve(problem, "rational"))


@pytest.mark.soak
def test_many_random_games(capsys):
    ways = {}
    for seed in range(soaked(5)):
        rng = np.random.default_rng(seed)
        if seed % 2:
            game = to_game(seeded_tree(seed))
        else:
            payoffs = rng.integers(-2, 3, rng.integers(1, 12, 2)) * 10.0 ** rng.integers(-6, 7)
            game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs))
        problem = Nash(game)
        if rng.random() < 0.3:
            model = Strategy(game, 1, game.sequence_form.treeplexes[1].uniform_behaviour())
            problem = RestrictedNash(game, model, p=float(rng.integers(1, 10)) / 10)
        way = agrees(problem, solve(problem, "rational"))
        ways[way] = ways.get(way, 0) + 1
    with capsys.disabled():
        print("ways:", ways)


@pytest.mark.parametrize("game", ["kuhn", "liars_dice:sides=2", "goofspiel:cards=3"])
def test_small_games_and_responses(game):
    game = load_game(game)
    for problem in (Nash(game), RestrictedNash(game, Strategy.uniform(game, 1), p=0.5)):
        agrees(problem, solve(problem, "rational"))


@pytest.mark.parametrize("game", ["leduc", "liars_dice", "goofspiel:cards=5"])
def test_larger_games_are_polished(game):
    problem = Nash(load_game(game))
    assert agrees(problem, solve(problem), Exact()) == "polish"


def test_leaving_much_out_is_made_up_for(monkeypatch):
    """Where what is played is guessed far too early, best responses come in until the answer is proven."""
    monkeypatch.setattr(from_regrets, "_UNSETTLED", 10**5)
    monkeypatch.setattr(from_regrets, "_ERRORS", 1)
    problem = Nash(load_game("leduc"))
    solution = solve(problem, Exact(first=0.05))
    assert solution.state.way == "polish"
    assert solution.state.rounds > 1
    assert solution.value == pytest.approx(-0.0856064240780008, abs=1e-9)


def test_what_it_does_not_polish_is_solved_by_highs():
    game = load_game("kuhn")
    bound = behaviour_bound(game, 0, "J_", "b", at_least=0.5, name="bluff")
    solution = solve(ConstrainedNash(game, [bound], penalty=1000), EXACT)
    assert solution.state.way == "highs"
    assert solution.value == pytest.approx(-1 / 9, abs=1e-9)
    assert solve(Nash(game), Exact()).state.way == "highs"  # it is small


@examples(30)
@given(constrained_games())
def test_random_constraints_of_both_players_are_met(case):
    problem = ConstrainedNash(*case)
    reference = solve(problem, "rational")
    assume(reference.status is Status.OPTIMAL)  # plans meet the constraints in floats, with no room to spare
    agrees(problem, reference)


@thorough
def test_constraints_are_polished_with_their_prices(monkeypatch):
    game = load_game("leduc")
    bounds = [
        behaviour_bound(game, 0, "Js_", "r", at_most=0.01, name="bluff"),
        behaviour_bound(game, 1, "Qs_r", "r", at_least=0.2, name="raise"),
    ]
    problem = ConstrainedNash(game, bounds)
    reference = solve(problem)
    for slow in (100.0, 0.1):  # many iterations a row, and too few for the prices to settle
        monkeypatch.setattr(from_regrets, "_SLOW", slow)
        solution = solve(problem, EXACT)
        assert (solution.status, solution.state.way) == (Status.OPTIMAL, "polish")
        assert solution.state.interior == (slow < 1.0)
        assert solution.objective == pytest.approx(reference.objective, abs=1e-9)
        for name, price in reference.multipliers.items():
            assert solution.multipliers[name] == pytest.approx(price, abs=1e-5)


@pytest.mark.parametrize("width", [2, either(3, 4)])
def test_flows_under_a_limit_are_solved_by_an_interior_point_method(width):
    game = load_game(f"transit:width={width}")
    problem = ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=0.1, name="risk")])
    solution = solve(problem, EXACT)
    assert (solution.status, solution.state.way, solution.state.rounds) == (Status.OPTIMAL, "polish", 1)
    assert solution.upper - solution.lower <= 1e-10
    assert solution.lower <= solve(problem, "highs-simplex").value + 1e-9
    assert solution.upper >= solve(problem, "highs-simplex").value - 1e-9


def test_limits_that_nobody_meets_are_named():
    game = load_game("transit:width=2")
    problem = ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=-1, name="risk")])
    solution = solve(problem, EXACT)
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.conflict == ("risk",)


def test_limits_that_nobody_meets_are_named_when_iterations_run_out():
    game = load_game("leduc")
    most = behaviour_bound(game, 0, "Ks_", "r", at_most=0.4, name="most")
    least = behaviour_bound(game, 0, "Ks_", "r", at_least=0.5, name="least")
    solution = solve(ConstrainedNash(game, [most, least]), EXACT, max_iterations=1)
    assert solution.status is Status.INFEASIBLE
    assert "most, least exclude each other" in solution.message


def test_an_interior_point_is_refined_where_it_proves_too_little(monkeypatch):
    """HiGHS's interior point method stops where so much is not proven yet."""
    game = load_game("transit:width=3")
    problem = ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=0.1, name="risk")])
    solution = solve(problem, "highs-ipm", tol=1e-12)
    assert solution.status is Status.OPTIMAL
    assert solution.upper - solution.lower <= 2e-12
    monkeypatch.setattr(other_ways, "refined_interior", lambda *arguments: None)
    assert solve(problem, "highs-ipm", tol=1e-12).status is Status.UNCERTIFIED


def test_highs_has_the_last_word_and_a_bracket_says_what_is_proven(monkeypatch):
    monkeypatch.setattr(NearProgram, "solve", lambda self, *arguments: None)
    problem = Nash(load_game("leduc"))
    solution = solve(problem, Exact(first=1e-2))
    assert (solution.status, solution.state.way) == (Status.OPTIMAL, "highs")
    monkeypatch.setattr(highs, "run", lambda method, problem, options: solve_roughly(problem))
    solution = solve(problem, Exact(first=1e-2))
    assert (solution.status, solution.state.way) == (Status.UNCERTIFIED, "bracket")
    assert "best bounds found after" in solution.message
    assert solution.lower <= -0.0856064240780008 <= solution.upper
    assert solution.upper - solution.lower < 1e-3 * problem.unit


def solve_roughly(problem):
    """Return an outcome that proves little."""
    profile = Profile.uniform(problem.game)
    proof = profile, problem.certify(profile)
    return Outcome(profile.plans, Status.OPTIMAL, "roughly", 1, 0.0, 0.0, proof=proof)


def test_ctrl_c_and_limits_keep_the_bracket(monkeypatch):
    problem = Nash(load_game("leduc"))

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(NearProgram, "solve", interrupted)
    solution = solve(problem, Exact())
    assert (solution.status, solution.state.way) == (Status.INTERRUPTED, "bracket")
    assert solution.upper - solution.lower < 1e-3 * problem.unit
    monkeypatch.setattr(NearProgram, "solve", lambda self, *arguments: None)
    assert solve(problem, Exact(), max_iterations=20).status is Status.ITERATION_LIMIT
    assert solve(problem, Exact(), time_limit=0).status is Status.TIME_LIMIT


def test_a_start_is_for_highs():
    problem = Nash(load_game("kuhn"))
    assert solve(problem, "exact", start=solve(problem, "highs-simplex")).state.way == "highs"
    with pytest.raises(UnknownMethodError, match="highs starts from a solution by highs-simplex"):
        solve(problem, "exact", start=Profile.uniform(problem.game))


def test_large_games_are_solved_by_it_by_default():
    game = load_game("leduc:ranks=6")
    assert choose(Nash(load_game("leduc"))).name == "highs"
    solution = solve(RestrictedNash(game, Strategy.uniform(game, 1), p=0.5))
    assert (solution.method.name, solution.state.way, solution.status) == ("exact", "polish", Status.OPTIMAL)
    assert solution.problem.game_value == pytest.approx(-0.1045436022, abs=1e-9)
    far = EpsilonSafeStyle(game, epsilon=0.1, nearest=L2Distance(Strategy.uniform(game, 0)), game_value=0.0)
    assert choose(far).name == "cvxpy"


def test_a_dual_of_a_dual_is_the_program():
    standard = StandardProgram.of(Nash(load_game("kuhn")).linear_program())
    again = standard.dual.dual
    assert (again.matrix != standard.matrix).nnz == 0
    for name in ("costs", "limits", "free", "equal"):
        assert np.array_equal(getattr(again, name), getattr(standard, name))


@pytest.mark.parametrize("game", ["leduc", "goofspiel:cards=5", "liars_dice"])
def test_one_round_of_few_steps_suffices_where_what_surely_plays_stays_where_it_is(game):
    state = solve(Nash(load_game(game)), Exact(direct=0)).state
    assert (state.way, state.attempts, state.rounds) == ("polish", 1, 1)
    assert state.pivots < min(state.shape) / 10


def test_a_program_that_falls_for_ever_has_no_answer():
    """Minimise −u such that w ≤ 1, both at least 0."""
    none = np.zeros(2, dtype=bool)
    falling = StandardProgram(np.array([-1.0, 0.0]), csc_array([[0.0, 1.0]]), np.ones(1), none, none[:1])
    near = NearProgram(falling, np.zeros(2), none, none, none[:1])
    assert near.solve(~none, ~none[:1], 100, np.inf) is None


@pytest.mark.parametrize("game", ["kuhn", "liars_dice:sides=2"])
def test_parts_that_come_in_later_and_bases_of_the_dual_end_at_the_optimum(game):
    problem = Nash(load_game(game))
    standard = StandardProgram.of(problem.linear_program())
    rows, columns = (np.ones(count, dtype=bool) for count in standard.matrix.shape)
    some = standard.free | (np.arange(len(columns)) % 3 > 0)

    def near(program):
        none, place = np.zeros_like(program.free), np.zeros(len(program.free))
        return NearProgram(program, place, none, none, ~program.equal)

    primal, dual = near(standard), near(standard.dual)
    primal.solve(some, rows, 10_000, np.inf)
    found = primal.solve(columns, rows, 10_000, np.inf)
    assert standard.matrix @ found == pytest.approx(standard.limits - standard.slacks(found), abs=1e-9)
    whole = near(standard)
    assert standard.costs @ whole.solve(columns, rows, 10_000, np.inf) == pytest.approx(standard.costs @ found)
    basic = [one == HighsBasisStatus.kBasic for one in (*whole.complement.col_status, *whole.complement.row_status)]
    assert sum(basic) == len(columns)  # the rows of the dual program
    prices = dual.solve(rows, columns, 10_000, np.inf, whole.complement)
    assert standard.costs @ found == pytest.approx(-standard.limits @ prices, abs=1e-9)
