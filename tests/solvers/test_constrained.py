"""Constrained equilibria: known values and prices, both formulations, bounds, penalties, conflicts and refusals."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import cvxpy as cp
import numpy as np
import pytest
from constrained_cases import (
    KUHN,
    KUHN_CASES,
    TRANSIT,
    TRANSIT_CASES,
    X,
    bet,
    constrained_games,
    random_plan,
    sequence,
)
from effort import examples, few
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_game, trees
from scipy.optimize import linprog

from treeplex import (
    ConstrainedNash,
    Game,
    InvalidConstraintError,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Profile,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import (
    LinearConstraint,
    behaviour_bound,
    distance_bound,
    functional_bound,
    payoff_bound,
    reach_bound,
)
from treeplex.models.distances import KLDistance
from treeplex.models.problems import FeasibilityRelaxation
from treeplex.models.saddle import ConicProgram
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers.infeasibility import find_infeasibility

LEDUC = load_game("leduc")
NAN = float("nan")


@pytest.mark.parametrize("method", ["highs", "highs-ipm-crossover", "cvxpy"])
@pytest.mark.parametrize("written", ["builders", "cvxpy"])
@pytest.mark.parametrize("case", KUHN_CASES)
def test_constrained_kuhn_has_the_values_and_multipliers_on_record(case, written, method):
    built, in_cvxpy, value, multipliers = KUHN_CASES[case]
    solution = solve(ConstrainedNash(KUHN, built if written == "builders" else in_cvxpy), method)
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(value, abs=1e-9)
    assert solution.lower == pytest.approx(value, abs=1e-8)
    assert solution.upper == pytest.approx(value, abs=1e-8)
    assert dict(solution.multipliers) == pytest.approx(multipliers, abs=1e-7)
    assert solution.violation <= 1e-9


@pytest.mark.parametrize("method", ["highs", "cvxpy"])
def test_bounds_that_exclude_each_other_have_the_least_violation_on_record(method):
    case = [
        bet("J_", at_least=0.7, name="often"),
        bet("J_", at_most=0.4, name="seldom"),
        bet("K_", at_most=0.5, name="king"),
    ]
    solution = solve(ConstrainedNash(KUHN, case), method)
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.least_violation == pytest.approx(0.3, abs=1e-9)
    assert solution.infeasibility.proven == pytest.approx(0.3, abs=1e-9)
    assert solution.infeasibility.largest_violation == pytest.approx(0.15, abs=1e-9)
    assert set(solution.infeasibility.conflict) == {"often", "seldom"}
    assert (solution.value, solution.objective, solution.lower, solution.upper, solution.gap) == (None,) * 5
    record = solution.to_dict()
    assert (record["status"], record["value"], record["exploitability"]) == ("infeasible", None, None)
    assert sorted(record["conflict"]) == ["often", "seldom"]
    assert max(0.0, *record["violations"].values()) == pytest.approx(solution.violation)
    assert "often" in str(solution)


@few
@pytest.mark.parametrize(("model", "width", "bound", "value"), TRANSIT_CASES)
def test_transit_values_under_risk_bounds_are_those_on_record(model, width, bound, value):
    game = load_game(f"transit:width={width},model={model}")
    solution = solve(ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=bound, name="risk")]))
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(value, abs=1e-5)
    if bound == 0.1:
        assert solution.multipliers["risk"] == pytest.approx(TRANSIT[model, width][1], abs=1e-3)


def test_a_risk_bound_in_cvxpy_on_flows_and_factors_is_the_same():
    game = load_game("transit:width=2")
    risk = game.functionals["risk"]
    written = {"risk": risk.coefficients @ game.plan(1) + risk.constant <= 0.1}
    built = [functional_bound(risk, at_most=0.1, name="risk")]
    solutions = [
        solve(ConstrainedNash(game, constraints), method)
        for constraints, method in ((written, "highs"), (written, "cvxpy"), (built, "highs-simplex"))
    ]
    assert [solution.value for solution in solutions] == pytest.approx([0.020351] * 3, abs=1e-6)
    assert [solution.multipliers["risk"] for solution in solutions] == pytest.approx([0.15518] * 3, abs=1e-4)


# --- laws -----------------------------------------------------------------------------------------------------------


def _dense(form, constraints):
    """Return the optimum by scipy from dense matrices, written down once more."""
    A, E, e, F, f = (
        np.asarray(m.toarray() if hasattr(m, "toarray") else m) for m in (form.A, form.E, form.e, form.F, form.f)
    )
    rows = {0: [], 1: []}
    for one in constraints:
        row = np.zeros(A.shape[one.player])
        for place, number in one.terms.items():
            row[place] = number
        rows[one.player].append((row, float(one.bound)))
    G = np.array([row for row, _ in rows[0]]).reshape(-1, A.shape[0])
    h = np.array([bound for _, bound in rows[0]])
    H = np.array([row for row, _ in rows[1]]).reshape(-1, A.shape[1])
    k = np.array([bound for _, bound in rows[1]])
    n, m, c = A.shape[0], F.shape[0], len(k)
    solved = linprog(
        -np.concatenate([np.zeros(n), f, -k]),
        A_ub=np.block([[-A.T, F.T, -H.T], [G, np.zeros((len(h), m + c))]]),
        b_ub=np.concatenate([np.zeros(A.shape[1]), h]),
        A_eq=np.hstack([E, np.zeros((E.shape[0], m + c))]),
        b_eq=e,
        bounds=[(0, None)] * n + [(None, None)] * m + [(0, None)] * c,
    )
    assert solved.success
    return -solved.fun


@examples(60)
@given(constrained_games())
def test_both_formulations_agree_with_a_dense_program_and_prove_it(posed):
    game, constraints = posed
    scale = game.sequence_form.payoff_scale
    optimum = _dense(game.sequence_form, constraints)
    for method in ("highs", "cvxpy"):
        solution = solve(ConstrainedNash(game, constraints), method)
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(optimum, abs=1e-6 * scale)
        assert solution.lower - 1e-6 * scale <= optimum <= solution.upper + 1e-6 * scale
        for one in constraints:
            slack = -solution.certificate.violations[one.name]
            assert solution.multipliers[one.name] * slack == pytest.approx(0.0, abs=1e-6 * scale)


@examples(60)
@given(constrained_games(), st.integers(0, 2**32))
def test_any_multipliers_and_plans_that_meet_the_constraints_prove_valid_bounds(posed, seed):
    game, constraints = posed
    rng = np.random.default_rng(seed)
    problem = ConstrainedNash(game, constraints)
    optimal = solve(problem)
    other = Profile(
        [Strategy(game, player, random_plan(t, rng)) for player, t in enumerate(game.sequence_form.treeplexes)]
    )
    multipliers = {one.name: float(rng.exponential()) for one in constraints}
    slack = 1e-7 * game.sequence_form.payoff_scale * (1.0 + sum(multipliers.values()))
    # The other player's plan is the optimal one, which meets its constraints.
    for player in range(2):
        if any(one.player == player and one.value(other[player].plan) > 0.0 for one in constraints):
            continue
        mixed = [optimal.profile[0], optimal.profile[1]]
        mixed[player] = other[player]
        certificate = problem.certify(Profile(mixed), multipliers)
        assert certificate.lower <= optimal.upper + slack
        assert certificate.upper >= optimal.lower - slack


@examples(30)
@given(constrained_games())
def test_seats_are_alike(posed):
    game, constraints = posed
    form = game.sequence_form
    turned = Game.from_sequence_form(SequenceForm.from_matrices(form.F, form.f, form.E, form.e, -form.A.T))
    swapped = [LinearConstraint(1 - one.player, one.terms, one.bound, one.name) for one in constraints]
    here, there = solve(ConstrainedNash(game, constraints)), solve(ConstrainedNash(turned, swapped))
    assert here.objective == pytest.approx(-there.objective, abs=1e-7 * form.payoff_scale)


@examples(30)
@given(constrained_games(), st.floats(0.01, 100.0), st.sampled_from(["sum", "largest"]))
def test_a_penalty_changes_nothing_where_it_exceeds_the_multipliers_and_bounds_them_elsewhere(posed, penalty, penalise):
    game, constraints = posed
    free = solve(ConstrainedNash(game, constraints))
    paid = solve(ConstrainedNash(game, constraints, penalty=penalty, penalise=penalise))
    assert paid.status is Status.OPTIMAL
    assert all(0.0 <= one <= penalty * (1 + 1e-9) + 1e-9 for one in paid.multipliers.values())
    for player in range(2):
        names = [one.name for one in constraints if one.player == player]
        if penalise == "largest":
            assert sum(paid.multipliers[name] for name in names) <= penalty * (1 + 1e-9) + 1e-9
    if sum(free.multipliers.values()) < 0.999 * penalty:
        assert paid.objective == pytest.approx(free.objective, abs=1e-6 * game.sequence_form.payoff_scale)


def test_the_penalty_form_of_a_known_case_is_the_penalised_optimum():
    case, _, _, _ = KUHN_CASES["A"]
    low = solve(ConstrainedNash(KUHN, case, penalty=0.05))
    assert max(low.multipliers.values()) == pytest.approx(0.05)
    paid = 0.05 * sum(max(0.0, one) for one in low.certificate.violations.values())
    assert low.objective == pytest.approx(low.value - paid)
    high = solve(ConstrainedNash(KUHN, case, penalty=0.4))
    assert high.objective == pytest.approx(-0.1)
    both = solve(ConstrainedNash(KUHN, [bet("J_", at_least=0.7), bet("J_", at_most=0.4)], penalty=2.0))
    assert sorted(both.multipliers.values()) == pytest.approx([5 / 3, 2.0])
    assert sum(max(0.0, one) for one in both.certificate.violations.values()) == pytest.approx(0.3)


@examples(40)
@given(trees(size=10), st.integers(0, 2**32), st.integers(2, 6))
def test_a_conflict_is_irreducible_and_its_least_violation_is_proven(root, seed, count):
    game = to_game(root)
    rng = np.random.default_rng(seed)
    player = int(rng.integers(2))
    size = game.sequence_form.treeplexes[player].num_sequences
    drawn = [
        LinearConstraint(player, dict(enumerate(rng.normal(size=size).tolist())), float(rng.normal()), name=str(place))
        for place in range(count)
    ]
    found = find_infeasibility(ConstrainedNash(game, drawn))
    solution = solve(ConstrainedNash(game, drawn))
    if found is None:
        assert solution.status is Status.OPTIMAL
        return
    assert solution.status is Status.INFEASIBLE
    assert found.proven <= found.least_violation <= found.proven + 1e-8
    assert found.least_violation == pytest.approx(sum(max(0.0, v) for v in found.violations.values()))
    conflict = [one for one in drawn if one.name in found.conflict]
    assert solve(FeasibilityRelaxation(game, player, tuple(conflict))).lower > 0.0
    for rest in combinations(conflict, len(conflict) - 1):
        if rest:
            assert solve(FeasibilityRelaxation(game, player, rest)).objective <= 1e-8


# --- convex constraints -----------------------------------------------------------------------------------------------


def smoothed_response(treeplex, payoffs, behaviour, multiplier):
    """Return max over x of payoffs · x − multiplier · KL(x), by log-sum-exp from the leaves up."""
    values = payoffs.copy()
    for level in reversed(treeplex.levels):
        for infoset, source in zip(level.infosets, level.sources, strict=True):
            first, last = treeplex.offsets[infoset : infoset + 2]
            exponents = np.log(behaviour[first:last]) + values[first:last] / multiplier
            most = exponents.max()
            values[source] += multiplier * (most + np.log(np.exp(exponents - most).sum()))
    return values[0]


def dilated_divergence(treeplex, plan, behaviour):
    total = 0.0
    for infoset, parent in enumerate(treeplex.parents):
        first, last = treeplex.offsets[infoset : infoset + 2]
        for place in range(first, last):
            if plan[place] > 0.0:
                total += plan[place] * np.log(plan[place] / (plan[parent] * behaviour[place]))
    return total


@few
@pytest.mark.parametrize(("game", "radius"), [(KUHN, 0.05), (KUHN, 0.5), (LEDUC, 0.1), (LEDUC, 2.0)])
@pytest.mark.parametrize("player", [0, 1])
def test_a_ball_of_relative_entropy_agrees_with_its_closed_dual(game, radius, player):
    treeplex = game.sequence_form.treeplexes[player]
    uniform = Strategy.uniform(game, player)
    ball = distance_bound(KLDistance(uniform), at_most=radius, name="ball")
    solution = solve(ConstrainedNash(game, [ball]), "cvxpy")
    assert solution.status is Status.OPTIMAL
    plan, other = solution.profile[player].plan, solution.profile[1 - player].plan
    assert dilated_divergence(treeplex, plan, uniform.behaviour) <= radius + 1e-7
    form = game.sequence_form
    gradient = form.gradient(player, [other, other])
    price = solution.multipliers["ball"]
    upper = price * radius + smoothed_response(treeplex, gradient, uniform.behaviour, price)
    lower = -best_response_value(form.treeplexes[1 - player], form.gradient(1 - player, [plan, plan]))
    assert lower == pytest.approx(upper, abs=1e-5)
    assert (solution.value if player == 0 else -solution.value) == pytest.approx(lower, abs=1e-5)


@pytest.mark.parametrize(("game", "radius"), [(KUHN, 0.3), (LEDUC, 1.0)])
@pytest.mark.parametrize("player", [0, 1])
def test_a_ball_of_euclidean_distance_agrees_with_the_program_of_the_other_seat(game, radius, player):
    form = game.sequence_form
    own, other = form.treeplexes[player], form.treeplexes[1 - player]
    centre = own.uniform_plan()
    solution = solve(ConstrainedNash(game, {"ball": cp.norm(game.plan(player) - centre) <= radius}), "cvxpy")
    assert solution.status is Status.OPTIMAL
    # min over y, p, z ≥ 0 of e · p + r ‖c‖ + c · centre with c = M y − Eᵀ p + z, which is max over the ball of x · M y.
    payoffs = form.A if player == 0 else -form.A.T
    y, p = cp.Variable(other.num_sequences, nonneg=True), cp.Variable(own.E.shape[0])
    z = cp.Variable(own.num_sequences, nonneg=True)
    left = payoffs @ y - own.E.T @ p + z
    dual = cp.Problem(cp.Minimize(own.e @ p + radius * cp.norm(left) + left @ centre), [other.E @ y == other.e])
    dual.solve(solver="CLARABEL")
    assert (solution.objective if player == 0 else -solution.objective) == pytest.approx(dual.value, abs=1e-5)


def test_both_players_constraints_may_be_convex():
    centres = [treeplex.uniform_plan() for treeplex in KUHN.sequence_form.treeplexes]
    balls = {f"ball {player}": cp.norm(KUHN.plan(player) - centres[player]) <= 0.3 for player in range(2)}
    both = solve(ConstrainedNash(KUHN, balls), "cvxpy")
    assert both.status is Status.OPTIMAL
    # The constrained best response to each plan, by itself, is worth the value.
    A = KUHN.sequence_form.A
    for player, treeplex in enumerate(KUHN.sequence_form.treeplexes):
        x = cp.Variable(treeplex.num_sequences, nonneg=True)
        gradient = A @ both.profile[1].plan if player == 0 else -A.T @ both.profile[0].plan
        rows = [treeplex.E @ x == treeplex.e, cp.norm(x - centres[player]) <= 0.3]
        response = cp.Problem(cp.Maximize(gradient @ x), rows)
        response.solve(solver="CLARABEL")
        assert (response.value if player == 0 else -response.value) == pytest.approx(both.objective, abs=1e-5)


def test_convex_constraints_that_exclude_each_other_are_named():
    centre = KUHN.sequence_form.treeplexes[0].uniform_plan()
    solution = solve(
        ConstrainedNash(KUHN, {"ball": cp.norm(X - centre) <= 0.1, "jack": X[sequence("J_", "b")] >= 0.9}), "cvxpy"
    )
    assert solution.status is Status.INFEASIBLE
    assert set(solution.infeasibility.conflict) == {"ball", "jack"}


# --- the usual constraints --------------------------------------------------------------------------------------------


def test_builders_say_what_they_bound():
    deep = behaviour_bound(KUHN, 0, "J_pb", "b", at_most=Fraction(1, 3))
    assert deep.name == "0/J_pb:b <= 1/3"
    plan = KUHN.sequence_form.treeplexes[0].uniform_plan()
    assert deep.value(plan) == pytest.approx(0.5 * (0.5 - 1 / 3))
    assert reach_bound(KUHN, 0, "J_pb", at_most=0.2).value(plan) == pytest.approx(0.3)
    assert reach_bound(KUHN, 0, "J_pb", at_most=0.2).name == "reach(0/J_pb) <= 0.2"
    assert reach_bound(KUHN, 0, "J_pb", "p", at_least=0.3).value(plan) == pytest.approx(0.05)
    uniform = Strategy.uniform(KUHN, 1)
    assert payoff_bound(KUHN, uniform, at_least=0.2).value(plan) == pytest.approx(0.2 - 0.125)
    showdowns = (np.abs(KUHN.sequence_form.leaves.payoffs[:, 0]) == 2.0).astype(float)
    doubled = payoff_bound(KUHN, uniform, at_most=0.1, leaf_values=showdowns, name="big pots")
    assert doubled.value(plan) == pytest.approx(0.25 + 0.125 - 0.1)


def test_a_floor_on_a_leaf_function_binds():
    uniform = Strategy.uniform(KUHN, 1)
    floor = payoff_bound(KUHN, uniform, at_least=0.3, name="earn")
    solution = solve(ConstrainedNash(KUHN, [floor]))
    assert solution.violation <= 1e-9
    plan = solution.profile[0].plan
    assert plan @ KUHN.sequence_form.gradient(0, [plan, uniform.plan]) == pytest.approx(0.3)
    assert solution.value < -1 / 18 - 1e-3


def test_bounds_are_moved_by_name():
    problem = ConstrainedNash(KUHN, KUHN_CASES["A"][0])
    assert solve(problem.with_bound("king", 1)).objective == pytest.approx(
        solve(ConstrainedNash(KUHN, [bet("J_", at_least=0.3)])).objective
    )
    plan = KUHN.plan(0)
    at_least = ConstrainedNash(KUHN, {"jack": plan[bet("J_", at_least=0).indices[0]] >= 0.3})
    assert solve(at_least.with_bound("jack", 0.5)).objective == pytest.approx(-1 / 9)
    both_sides = ConstrainedNash(KUHN, {"more": plan[1] <= plan[2]})
    with pytest.raises(InvalidConstraintError, match="constant on one side"):
        both_sides.with_bound("more", 0.2)
    deep = ConstrainedNash(KUHN, [bet("J_pb", at_most=0.1, name="deep")])
    with pytest.raises(InvalidConstraintError, match="cannot be changed"):
        deep.with_bound("deep", 0.2)
    with pytest.raises(InvalidConstraintError, match="constrained has no constraint 'kin'"):
        problem.with_bound("kin", 0.2)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: cp.norm(X) >= 1, InvalidConstraintError, "not convex by cvxpy's rules"),
        (lambda: X[1] * X[2] <= 1, InvalidConstraintError, "not DCP"),
        (lambda: True, InvalidConstraintError, "True is not a constraint"),
        (lambda: 0.1, InvalidConstraintError, "0.1 is not a constraint"),
        (lambda: "0/K_:b <= 1", InvalidConstraintError, r"is a string, expected a constraint; parse_constraint\(text"),
        (lambda: X[1] + KUHN.plan(1)[2] <= 1, InvalidConstraintError, "both players' plans"),
        (lambda: cp.Variable(name="mine") <= 1, InvalidConstraintError, "contains the variable mine, expected"),
        (lambda: load_game("kuhn").plan(0)[1] <= 1, InvalidConstraintError, "plan_0 of another game"),
        (lambda: LEDUC.plan(0)[1] <= 1, InvalidConstraintError, "plan_0 of another game"),
        (lambda: cp.SOC(X[1], X[2:4]), InvalidConstraintError, "is a SOC, expected"),
        (lambda: X[1] <= NAN, InvalidConstraintError, "nan, expected a finite number"),
        (
            lambda: X[1] <= cp.Parameter(name="b"),
            InvalidConstraintError,
            "contains the parameter b, which has no value",
        ),
        (lambda: bet("K_", at_most=float("nan")), InvalidConstraintError, "nan, expected a finite number"),
        (lambda: bet("K_"), InvalidConstraintError, "expected exactly one of the two"),
        (lambda: bet("K_", at_most=1, at_least=0), InvalidConstraintError, "expected exactly one of the two"),
        (lambda: bet("A_", at_most=1), InvalidStrategyError, "no infoset 'A_'"),
        (lambda: behaviour_bound(KUHN, 2, "K_", "b", at_most=1), InvalidStrategyError, "player"),
        (lambda: behaviour_bound(LEDUC, 0, "K_", "r", at_most=1), InvalidStrategyError, "no infoset"),
        (
            lambda: reach_bound(LEDUC, 0, LEDUC.sequence_form.treeplexes[0].infoset_labels[0], at_most=1),
            InvalidConstraintError,
            "for a game other than kuhn",
        ),
        (
            lambda: LinearConstraint(0, {99: 1}, 1, "far"),
            InvalidConstraintError,
            "sequence 99, expected a sequence from 0",
        ),
        (lambda: LinearConstraint(0, {-1: 1}, 1, "neg"), InvalidConstraintError, "-1 is not a sequence"),
        (lambda: LinearConstraint(5, {1: 1}, 1, "who"), InvalidConstraintError, "player 5, expected 0 to 1"),
        (lambda: LinearConstraint(0, {1: 1}, 1, " "), InvalidConstraintError, "not a valid constraint name"),
    ],
)
def test_what_is_no_constraint_is_refused_in_one_line(make, error, text):
    with pytest.raises(error, match=text) as raised:
        ConstrainedNash(KUHN, [make()])
    assert "\n" not in str(raised.value)


def test_problems_that_cannot_be_posed_are_refused():
    with pytest.raises(InvalidConstraintError, match="two constraints are named 'a'"):
        ConstrainedNash(KUHN, [bet("K_", at_most=1, name="a"), bet("J_", at_most=1, name="a")])
    with pytest.raises(InvalidConstraintError, match="expected a list of constraints"):
        ConstrainedNash(KUHN, 3)
    with pytest.raises(InvalidConstraintError, match="is a string, expected a constraint"):
        ConstrainedNash(KUHN, "0/K_:b <= 1")
    with pytest.raises(InvalidGameError, match="penalty is -1, expected a number of at least 0"):
        ConstrainedNash(KUHN, [], penalty=-1)
    with pytest.raises(InvalidConstraintError, match="penalise is 'all'"):
        ConstrainedNash(KUHN, [], penalty=1, penalise="all")
    with pytest.raises(InvalidGameError, match="expected a Game, got"):
        ConstrainedNash("kuhn", [])
    with pytest.raises(UnsupportedProblemError, match="two players"):
        ConstrainedNash(load_game("kuhn:players=3"), [])
    with pytest.raises(UnsupportedProblemError, match="cvxpy"):
        solve(ConstrainedNash(KUHN, {"ball": cp.norm(X - 0.5) <= 1}), "highs-simplex")


def test_without_constraints_it_is_an_equilibrium():
    assert solve(ConstrainedNash(LEDUC, [])).objective == pytest.approx(solve(Nash(LEDUC)).value, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1e-4, 1e5, 1e9])
def test_payoffs_of_any_size_are_solved_with_a_certificate(scale):
    form = KUHN.sequence_form
    game = Game.from_sequence_form(SequenceForm.from_matrices(form.E, form.e, form.F, form.f, form.A * scale))
    case = [LinearConstraint(0, {10: 1}, 0.5, "king"), LinearConstraint(0, {2: 1}, 0.3, "jack", ">=")]
    solution = solve(ConstrainedNash(game, case))
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(-0.1 * scale, rel=1e-9)
    assert solution.multipliers["jack"] == pytest.approx(scale / 3, rel=1e-6)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1e6])
def test_rows_of_any_size_mean_the_same(size):
    case = [
        LinearConstraint(0, {10: size}, 0.5 * size, "king"),
        LinearConstraint(0, {2: size}, 0.3 * size, "jack", ">="),
    ]
    solution = solve(ConstrainedNash(KUHN, case))
    assert solution.objective == pytest.approx(-0.1, abs=1e-9)
    assert solution.multipliers["jack"] * size == pytest.approx(1 / 3, abs=1e-6)


def test_violations_are_not_measured_in_payoffs():
    """However large the payoffs are, no default tolerance lets a constraint of size one be missed."""
    form = KUHN.sequence_form
    game = Game.from_sequence_form(SequenceForm.from_matrices(form.E, form.e, form.F, form.f, form.A * 1e9))
    ball = cp.norm(game.plan(0) - form.treeplexes[0].uniform_plan()) <= 0.3
    for solution in (
        solve(ConstrainedNash(game, {"ball": ball}), "cvxpy"),
        solve(ConstrainedNash(game, {"king": game.plan(0)[10] <= 0.5}), "highs"),
        solve(ConstrainedNash(game, {"king": game.plan(0)[10] <= 0.5}), "ccfr"),
    ):
        assert solution.violation <= 1e-4 or not solution.status.is_success


def test_a_solution_prints_its_prices():
    text = str(solve(ConstrainedNash(KUHN, KUHN_CASES["A"][0])))
    heading, row = (line.split() for line in text.splitlines() if line.startswith(("constraint ", "king ")))
    assert heading == ["constraint", "player", "violation", "price"]
    assert (row[:2], row[-1]) == (["king", "0"], "0.1111111111")


@pytest.mark.parametrize("share", [1e-7, 1e-3, 0.3])
def test_plans_of_cvxpy_that_miss_a_constraint_prove_nothing_false(monkeypatch, share):
    """The solver's plan is mixed with uniform play, which bluffs; the truth is that of the linear program by HiGHS."""
    game = load_game("kuhn")
    problem = ConstrainedNash(game, [behaviour_bound(game, 0, "J_", "b", at_most=0, name="never")])
    exact, read = solve(problem), ConicProgram.read

    def missing(program):
        answer = read(program)
        uniform = [treeplex.uniform_plan() for treeplex in game.sequence_form.treeplexes]
        plans = [(1 - share) * plan + share * other for plan, other in zip(answer.plans, uniform, strict=True)]
        return replace(answer, plans=tuple(plans))

    monkeypatch.setattr(ConicProgram, "read", missing)
    found = solve(problem, "cvxpy")
    assert found.violation == 0.0
    assert found.lower - 1e-9 <= exact.value <= found.upper + 1e-9
    assert found.status is (Status.OPTIMAL if found.gap <= found.tolerance else Status.UNCERTIFIED)
