"""Constraints that are convex and piecewise linear: as parts of linear programs, with proofs."""

import dataclasses
import itertools

import numpy as np
import pytest
from effort import examples, few, some, thorough
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from treeplex import ConstrainedNash, InvalidConstraintError, Strategy, load_game, solve
from treeplex.models.constraints import Constraint, LinearConstraint, distance_bound
from treeplex.models.constraints.collect import read_cvxpy
from treeplex.models.convex import ConvexFunction, Opaque, Squares
from treeplex.models.convex.from_cvxpy import lift
from treeplex.models.distances import L1Distance
from treeplex.models.problems import FeasibilityRelaxation

cp = pytest.importorskip("cvxpy")


def balls(game, player):
    """Sets of plans near uniform play, in several norms, and the largest radius that is worth a bound."""
    plan = game.plan(player)
    uniform = game.sequence_form.treeplexes[player].uniform_plan()
    size = len(plan.value) if plan.value is not None else plan.size
    return {
        "norm1": (cp.norm1(plan - uniform), 0.1 * size),
        "abs": (cp.sum(cp.abs(plan[1 : size // 2] - uniform[1 : size // 2])), 0.05 * size),
        "max": (cp.max(cp.hstack([plan[1:] - uniform[1:], 2.0 * uniform[1:3] - 2.0 * plan[1:3]])), 0.3),
        "norm_inf": (cp.norm_inf(plan - uniform), 0.3),
        "sum_largest": (cp.sum_largest(cp.abs(plan - uniform), 3), 0.6),
    }


BALLS = ("norm1", "abs", "max", "norm_inf", "sum_largest")
WHOSE = {"player 0": (0,), "player 1": (1,), "both": (0, 1)}


def problem_of(game, ball, players, share=0.5, **options):
    bounds = {}
    for player in players:
        function, radius = balls(game, player)[ball]
        bounds[f"near {player}"] = function <= share * radius
    return ConstrainedNash(game, bounds, **options)


def as_curved(problem):
    """The same problem as if its constraints were opaque: by cones, from expressions that cvxpy alone knows."""
    curved = []
    for one in problem.constraints:
        plan = problem.game.plan(one.player)
        function = ConvexFunction.of([Opaque.of(one.to_cvxpy(plan), plan)])
        curved.append(one if one.function.is_affine else Constraint(one.player, function, one.name, variable=plan))
    return dataclasses.replace(problem, constraints=curved)


@pytest.fixture(scope="module")
def leduc():
    return load_game("leduc")


@few
@pytest.mark.parametrize(
    ("ball", "whose", "options"),
    some(itertools.product(BALLS, WHOSE, [{}, {"penalty": 0.02}, {"penalty": 0.02, "penalise": "largest"}]), 4),
)
def test_the_linear_program_agrees_with_cvxpy_on_kuhn_and_proves_it(kuhn, ball, whose, options):
    problem = problem_of(kuhn, ball, WHOSE[whose], **options)
    assert problem.is_linear
    assert not any(one.function.is_affine for one in problem.constraints)
    direct, through = solve(problem, "highs"), solve(problem, "cvxpy")
    by_cones = solve(as_curved(problem), "cvxpy")
    assert direct.status.value == "optimal"
    assert through.status.value == "optimal"
    assert direct.objective == pytest.approx(through.objective, abs=1e-7)
    assert direct.objective == pytest.approx(by_cones.objective, abs=1e-6)
    assert abs(direct.gap) <= 1e-8
    assert abs(through.gap) <= 1e-8
    assert options or direct.violation <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("whose", WHOSE)
@pytest.mark.parametrize("ball", BALLS)
def test_the_linear_program_is_proven_on_leduc(leduc, ball, whose):
    solution = solve(problem_of(leduc, ball, WHOSE[whose]), "highs")
    assert solution.status.value == "optimal"
    assert abs(solution.gap) <= 1e-8
    assert solution.violation <= 1e-9


def test_balls_bind(kuhn, leduc):
    for game, limit in ((kuhn, 1e-3), (leduc, 1e-3)):
        value = solve(ConstrainedNash(game, {})).value
        near = solve(problem_of(game, "norm_inf", (0,)))
        assert near.value < value - limit
        assert near.multipliers["near 0"] > limit


@pytest.mark.parametrize("whose", ["player 0", "player 1", pytest.param("both", marks=thorough)])
def test_leduc_agrees_with_cvxpy_and_with_cones(leduc, whose):
    problem = problem_of(leduc, "norm_inf", WHOSE[whose])
    direct, through = solve(problem, "highs"), solve(problem, "cvxpy")
    assert direct.objective == pytest.approx(through.objective, abs=1e-7)
    assert abs(through.gap) <= 1e-8
    assert direct.objective == pytest.approx(solve(as_curved(problem), "cvxpy").objective, abs=1e-5)


@pytest.mark.parametrize("player", [0, 1])
def test_a_multiplier_is_the_price_of_the_bound(kuhn, player):
    function, radius = balls(kuhn, player)["norm1"]

    def solved(bound):
        return solve(ConstrainedNash(kuhn, {"near": function <= bound}))

    bound, step = 0.23 * radius, 1e-3
    rise = (solved(bound + step).value - solved(bound - step).value) / (2 * step)
    price = solved(bound).multipliers["near"]
    assert price > 1e-3
    assert (1 - 2 * player) * rise == pytest.approx(price, abs=1e-6)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("method", ["highs", "cvxpy"])
def test_balls_that_exclude_an_action_conflict_with_it(kuhn, player, method):
    plan = kuhn.plan(player)
    uniform = kuhn.sequence_form.treeplexes[player].uniform_plan()
    bounds = {"near": cp.norm_inf(plan - uniform) <= 0.1, "often": plan[2] >= 0.9, "idle": cp.norm1(plan) <= 100.0}
    solution = solve(ConstrainedNash(kuhn, bounds), method)
    assert solution.status.value == "infeasible"
    assert set(solution.infeasibility.conflict) == {"near", "often"}
    assert solution.infeasibility.least_violation == pytest.approx(0.3, abs=1e-9)
    assert solution.infeasibility.proven == pytest.approx(0.3, abs=1e-9)
    assert solution.infeasibility.largest_violation == pytest.approx(0.15, abs=1e-9)


@pytest.mark.parametrize("measure", ["sum", "largest"])
@pytest.mark.parametrize("ball", BALLS)
def test_least_violations_are_proven_by_both_methods(kuhn, ball, measure):
    function, radius = balls(kuhn, 0)[ball]
    plan = kuhn.plan(0)
    bounds = {"near": function <= 0.01 * radius, "one": plan[1] >= 0.95, "other": plan[4] >= 0.9}
    problem = FeasibilityRelaxation(kuhn, 0, bounds, measure)
    direct, through = solve(problem, "highs"), solve(problem, "cvxpy")
    assert direct.objective > 1e-3
    assert direct.objective == pytest.approx(through.objective, abs=1e-7)
    assert abs(direct.gap) <= 1e-8
    assert abs(through.gap) <= 1e-8


def test_linear_and_piecewise_linear_and_curved_constraints_stand_together(kuhn):
    plan, other = kuhn.plan(0), kuhn.plan(1)
    uniform = kuhn.sequence_form.treeplexes[0].uniform_plan()
    flat = {"bet": plan[2] <= 0.4, "near": cp.norm1(plan - uniform) <= 2.0, "back": cp.norm_inf(other) <= 1.0}
    bounds = {**flat, "round": cp.sum_squares(plan[1:] - uniform[1:]) <= 0.5}
    assert ConstrainedNash(kuhn, flat).is_linear
    problem = ConstrainedNash(kuhn, bounds)
    assert not problem.is_linear
    solution = solve(problem, "cvxpy")
    assert solution.status.value == "optimal"
    assert list(solution.multipliers) == list(bounds)
    assert solution.objective == pytest.approx(solve(as_curved(problem), "cvxpy").objective, abs=1e-5)


@pytest.mark.parametrize("players", [(0,), (1,), (0, 1)])
def test_l1_distances_are_linear_programs(kuhn, players):
    bounds = [
        distance_bound(L1Distance(Strategy.uniform(kuhn, player)), at_most=1.0, name=f"near {player}")
        for player in players
    ]
    problem = ConstrainedNash(kuhn, bounds)
    assert problem.is_linear
    direct, through = solve(problem, "highs"), solve(problem, "cvxpy")
    assert direct.status.value == "optimal"
    assert direct.objective == pytest.approx(through.objective, abs=1e-7)
    assert abs(direct.gap) <= 1e-8
    plan = kuhn.plan(players[0])
    written = [bounds[0].distance.to_cvxpy(plan) <= 1.0, *bounds[1:]]
    assert solve(ConstrainedNash(kuhn, written)).objective == pytest.approx(direct.objective, abs=1e-9)


def test_entries_of_vectors_are_constraints_of_their_own(kuhn):
    plan = kuhn.plan(0)
    uniform = kuhn.sequence_form.treeplexes[0].uniform_plan()
    read = read_cvxpy(cp.abs(plan - uniform) <= 0.2, kuhn, "near")
    assert [one.name for one in read] == [f"near[{place}]" for place in range(plan.size)]
    assert all(one.function.linear_rows(plan.size).plan.shape == (2, plan.size) for one in read)
    together = solve(ConstrainedNash(kuhn, {"near": cp.norm_inf(plan - uniform) <= 0.2}))
    assert solve(ConstrainedNash(kuhn, read)).value == pytest.approx(together.value, abs=1e-9)


def test_entries_may_be_linear_or_share_variables(kuhn):
    plan = kuhn.plan(0)
    sums = cp.cumsum(cp.abs(plan[1:4] - 0.3))
    read = read_cvxpy(cp.hstack([plan[2] - 0.5, sums, cp.norm1(plan), cp.max(sums)]) <= 0.0, kuhn, "mixed")
    point = np.linspace(0.0, 1.0, plan.size)
    partial = np.cumsum(np.abs(point[1:4] - 0.3))
    expected = [point[2] - 0.5, *partial, point.sum(), partial.max()]
    for one, value in zip(read, expected, strict=True):
        slope, constant = one.minorant(point)
        assert one.value(point) == pytest.approx(value)
        assert slope @ point + constant == pytest.approx(value)
    assert read[0].function.is_affine
    assert read[-1].function.linear_rows(plan.size).equal.any()


def test_equations_between_auxiliary_variables_keep_the_proof(kuhn):
    for player in (0, 1):
        plan = kuhn.plan(player)
        wave = cp.max(cp.cumsum(cp.abs(plan[1:6] - 0.5)))
        problem = ConstrainedNash(kuhn, {"wave": wave <= 0.8})
        assert problem.constraints[0].function.linear_rows(plan.size).equal.any()
        direct, through = solve(problem, "highs"), solve(problem, "cvxpy")
        assert abs(direct.gap) <= 1e-8
        assert abs(through.gap) <= 1e-8
        by_cones = solve(as_curved(problem), "cvxpy")
        assert direct.objective == pytest.approx(by_cones.objective, abs=1e-6)


def test_parameters_count_with_the_value_that_they_have_when_the_constraint_is_read(kuhn):
    plan, radius = kuhn.plan(0), cp.Parameter(nonneg=True, value=0.2)
    uniform = kuhn.sequence_form.treeplexes[0].uniform_plan()
    problem = ConstrainedNash(kuhn, {"near": cp.norm_inf(plan - uniform) <= radius})
    before = solve(problem)
    radius.value = 0.01
    assert solve(problem).value == before.value
    assert problem.constraints[0].value(uniform) == pytest.approx(-0.2)


def test_a_function_without_slopes_leaves_the_bound_loose_but_right(kuhn):
    plan = kuhn.plan(0)
    uniform = kuhn.sequence_form.treeplexes[0].uniform_plan()
    mixed = cp.exp(cp.norm_inf(plan - uniform)) + cp.sum_squares(plan - uniform) - 1.0
    solution = solve(ConstrainedNash(kuhn, {"mixed": mixed <= 0.5}), "cvxpy")
    assert solution.status.value == "uncertified"
    assert solution.lower - 1e-9 <= solution.objective <= solution.upper
    assert FeasibilityRelaxation(kuhn, 0, {"mixed": mixed <= -1.0}).constraints[0].minorant(uniform)[1] == -np.inf


def test_numbers_that_are_not_finite_are_refused(kuhn):
    plan = kuhn.plan(0)
    for function in (cp.norm1(plan - np.nan), cp.norm_inf(np.inf * plan), cp.sum_squares(plan - np.nan)):
        with pytest.raises(InvalidConstraintError, match="constraint 'near' contains a number that is not finite"):
            ConstrainedNash(kuhn, {"near": function <= 1.0})


def test_large_coefficients_leave_the_least_violation_right(kuhn):
    plan = kuhn.plan(0)
    large = 1e10 * cp.norm_inf(plan[1:3] - 0.5) - 1e9
    solution = solve(ConstrainedNash(kuhn, {"near": large <= 0.0, "often": plan[2] >= 0.8}))
    assert solution.status.value == "infeasible"
    assert solution.infeasibility.least_violation == pytest.approx(0.2, abs=1e-6)


def test_what_is_not_piecewise_linear_is_not_lifted(kuhn):
    plan = kuhn.plan(0)
    (read,) = read_cvxpy(cp.sum_squares(plan) <= 2.0, kuhn)
    assert [type(term) for term in read.function.terms] == [Squares]
    assert lift(cp.norm2(plan).flatten(order="F"), [cp.norm2(plan)], plan) is None
    (flat,) = read_cvxpy(plan[2] <= 0.5, kuhn)
    assert type(flat) is LinearConstraint


@st.composite
def piecewise_linear(draw, plan):
    """A convex piecewise linear function of a plan."""
    numbers = st.integers(-4, 4).map(lambda number: number / 2)
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, plan.size - 3))
        shifts = np.array(draw(st.lists(numbers, min_size=3, max_size=3)))
        weights = np.array(draw(st.lists(numbers, min_size=3, max_size=3)))
        inner = cp.multiply(weights, plan[start : start + 3]) + shifts
        atom = draw(st.sampled_from(["norm1", "norm_inf", "max", "sum_largest", "pos", "dotsort", "cumsum", "tv"]))
        parts.append(
            {
                "norm1": lambda inner=inner: cp.norm1(inner),
                "norm_inf": lambda inner=inner: cp.norm_inf(inner),
                "max": lambda inner=inner: cp.max(inner),
                "sum_largest": lambda inner=inner: cp.sum_largest(inner, 2),
                "pos": lambda inner=inner: cp.sum(cp.pos(inner)),
                "dotsort": lambda inner=inner: cp.dotsort(inner, np.array([2.0, 1.0, 0.0])),
                "cumsum": lambda inner=inner: cp.max(cp.cumsum(cp.abs(inner))),
                "tv": lambda inner=inner: cp.tv(inner),
            }[atom]()
        )
    return draw(st.sampled_from([cp.sum, cp.max]))(cp.hstack(parts)) - 1.0


@examples(40)
@given(data=st.data())
def test_no_evidence_proves_a_wrong_bound(data):
    game = load_game("kuhn")
    player = data.draw(st.sampled_from([0, 1]))
    plan = game.plan(player)
    expression = data.draw(piecewise_linear(plan))
    (constraint,) = read_cvxpy(expression <= 0.0, game)
    lifted = ConvexFunction.of(lift(expression.flatten(order="F"), [expression], plan))
    assert constraint.is_linear
    generator = np.random.default_rng(data.draw(st.integers(0, 2**31)))

    points = generator.uniform(0.0, 1.0, (8, plan.size))
    expected = []
    for point in points:
        plan.save_value(point)
        expected.append(float(expression.value))
    scale = 1.0 + max(map(abs, expected))
    for function in (constraint.function, lifted):
        best = function.slopes_at(points[1])
        kinds = {
            "none": None,
            "noise": generator.normal(size=function.size),
            "zeros": np.zeros(function.size),
            "infinite": np.full(function.size, np.inf),
            "unknown": np.full(function.size, np.nan),
            "huge": best * 1e300,
            "tiny": best * 1e-290,
            "another plan's": 3.0 * best,
            "another plan's with noise": best * (1.0 + 1e-6 * generator.normal(size=function.size)),
            "wrong length": np.ones(function.size + 1),
        }
        tight = {"another plan's with noise"} if function is constraint.function else set(list(kinds)[5:9])
        given = Constraint(player, function, "given")
        for kind, slopes in kinds.items():
            slope, constant = given.minorant(points[0], slopes)
            for point, value in zip(points, expected, strict=True):
                assert slope @ point + constant <= value + 1e-9 * scale, kind
            if kind in tight:
                assert slope @ points[1] + constant >= expected[1] - 1e-4 * scale, kind
        slope, constant = given.minorant(points[0])
        assert slope @ points[0] + constant == pytest.approx(expected[0], abs=1e-9 * scale)
        # Multipliers of the rows, as a solver finds them, are slopes.
        rows = function.linear_rows(plan.size)
        bounds = np.column_stack([np.where(rows.equal, -np.inf, 0.0), np.full(len(rows.limits), np.inf)])
        bounds[0] = 1.0
        is_free, left = rows.least < 0.0, rows.auxiliary.T
        found = linprog(
            rows.limits - rows.plan @ points[2],
            A_eq=left[is_free],
            b_eq=np.zeros(int(is_free.sum())),
            A_ub=-left[~is_free],
            b_ub=np.zeros(int((~is_free).sum())),
            bounds=bounds,
        )
        slope, constant = function.minorant(points[0], function.slopes_of(7.0 * found.x))
        assert slope @ points[2] + constant == pytest.approx(expected[2], abs=1e-8 * scale)
