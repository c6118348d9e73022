"""Constrained CFR under convex constraints: exact optima, a plain reference, brackets, penalties and failures."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from effort import examples, few, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_flows import random_flow
from random_trees import to_game, trees

from treeplex import (
    CCFR,
    ConstrainedNash,
    Game,
    Nash,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import Constraint, LinearConstraint, collect_constraints, distance_bound
from treeplex.models.convex import Opaque, Polyhedral
from treeplex.models.convex.from_cvxpy import read_functions
from treeplex.models.distances import KLDistance, L1Distance, L2Distance
from treeplex.solvers.methods.rules import CFR, DualRule
from treeplex.solvers.regret.constraints import Curves, KernelConstraints
from treeplex.solvers.regret.kernel import kernel_of

KUHN, LEDUC, TRANSIT = load_game("kuhn"), load_game("leduc"), load_game("transit:width=2")
X, Y = KUHN.plan(0), KUHN.plan(1)
UNIFORM, OTHER = Strategy.uniform(KUHN, 0), Strategy.uniform(KUHN, 1)
APART = X - UNIFORM.plan
SIZE = X.size


def near(distance, at_most, game=KUHN, player=0, name="near"):
    return distance_bound(distance(Strategy.uniform(game, player)), at_most=at_most, name=name)


def equilibrium_mixed_with_uniform():
    played = solve(Nash(KUHN)).profile[0].plan
    plan = 0.8 * played + 0.2 * UNIFORM.plan
    return Strategy(KUHN, 0, KUHN.sequence_form.treeplexes[0].behaviour(plan))


#: Constraints in Kuhn poker that bind.
CASES = {
    "L2 ball": [near(L2Distance, 0.5)],
    "KL ball": [near(KLDistance, 0.3)],
    "L1 ball": [near(L1Distance, 0.6)],
    "KL ball around an equilibrium": [
        distance_bound(KLDistance(equilibrium_mixed_with_uniform()), at_most=0.02, name="near"),
        LinearConstraint(0, {2: 1}, 0.1, "seldom"),
    ],
    "norm": {"near": cp.norm(APART) <= 0.4},
    "sum of squares": {"near": cp.sum_squares(APART) <= 0.2},
    "quadratic form": {"near": cp.quad_form(APART, np.eye(SIZE) + 0.1) <= 0.2},
    "largest difference": {"near": cp.norm_inf(APART) <= 0.15},
    "absolute differences": {"near": cp.norm1(APART) <= 0.6},
    "maximum": {"near": cp.max(X[1:] - UNIFORM.plan[1:]) <= 0.15},
    "relative entropy": {"near": cp.sum(cp.rel_entr(X[1:], UNIFORM.plan[1:])) <= 0.1},
    "log-sum-exp": {"near": cp.log_sum_exp(X) <= np.log(np.exp(UNIFORM.plan).sum()) + 0.01},
    "sum of terms": {"near": 2 * cp.norm(APART) + cp.norm_inf(APART[1:4]) + cp.sum_squares(X) / 4 - X[3] <= 2.5},
    "both players": {"near": cp.norm(APART) <= 0.4, "far": cp.sum_squares(Y - OTHER.plan) <= 0.1},
    "beside linear ones": {"near": cp.norm(APART) <= 0.6, "seldom": X[2] <= 0.3, "other": Y[3] <= 0.2},
    "idle": {"near": cp.norm(APART) <= 5},
}


@few
@pytest.mark.parametrize("case", CASES)
def test_the_exact_optimum_and_its_multipliers_are_found(case):
    problem = ConstrainedNash(KUHN, CASES[case])
    exact = solve(problem)
    solution = solve(problem, "ccfr", tol=1e-4)
    assert solution.status is Status.CONVERGED
    assert max(solution.gap, solution.violation) <= 1e-4
    assert solution.value == pytest.approx(exact.objective, abs=5e-4)
    assert solution.lower - 5e-4 <= exact.objective <= solution.upper + 5e-4
    assert dict(solution.multipliers) == pytest.approx(dict(exact.multipliers), abs=0.02)


@few
@pytest.mark.parametrize("base", ["cfr", "cfr+", "pcfr+"])
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
@pytest.mark.parametrize("tangents", ["average", "iterate"])
def test_every_way_to_take_tangents_arrives(base, updates, tangents):
    for case in ("L2 ball", "KL ball", "sum of squares", "largest difference"):
        problem = ConstrainedNash(KUHN, CASES[case])
        method = CCFR(base=base, updates=updates, tangents=tangents)
        solution = solve(problem, method, tol=5e-3)
        assert solution.status is Status.CONVERGED, case
        assert solution.value == pytest.approx(solve(problem).objective, abs=1e-2)


@thorough
@pytest.mark.parametrize("case", ["leduc", "transit", "transit, squares"])
def test_larger_games_reach_the_optimum(case):
    if case == "leduc":
        game, constraints = LEDUC, [near(L2Distance, 0.5, LEDUC)]
    elif case == "transit":
        game, constraints = TRANSIT, [near(L2Distance, 0.5, TRANSIT), near(L2Distance, 0.5, TRANSIT, 1, "other")]
    else:
        uniform = Strategy.uniform(TRANSIT, 1).plan
        game, constraints = TRANSIT, {"near": cp.sum_squares(TRANSIT.plan(1) - uniform) <= 0.2}
    problem = ConstrainedNash(game, constraints)
    exact = solve(problem)
    tol = 1e-4 * game.sequence_form.payoff_scale
    solution = solve(problem, "ccfr", tol=tol)
    assert solution.status is Status.CONVERGED
    assert solution.value == pytest.approx(exact.objective, abs=5 * tol)


def test_a_piecewise_linear_function_that_cvxpy_alone_knows_has_a_sound_bracket():
    problem = ConstrainedNash(KUHN, {"near": cp.sum_largest(cp.abs(APART), 3) <= 0.5})
    exact = solve(problem)
    assert [type(term) for term in problem.constraints[0].function.terms] == [Polyhedral]
    solution = solve(problem, "ccfr", tol=0, max_iterations=300)
    assert solution.lower <= exact.objective + exact.multipliers["near"] * solution.violation + 1e-7
    assert solution.upper >= exact.objective - 1e-7
    assert solution.gap <= 0.05
    assert solution.value == pytest.approx(exact.objective, abs=0.02)


# --- a plain reference ------------------------------------------------------------------------------------------------


def plain_tangents(game, functions, bounds, player, iterations, steps, optimism, at_average):
    """Return averages of plans and multipliers of simultaneous CCFR under f(x) ≤ d, straight from its definition.

    A function returns its value and gradient at a plan.
    """
    form = game.sequence_form
    regrets = [np.zeros(treeplex.num_sequences) for treeplex in form.treeplexes]
    behaviours = [treeplex.uniform_behaviour() for treeplex in form.treeplexes]
    sums = [np.zeros(treeplex.num_sequences) for treeplex in form.treeplexes]
    multipliers, totals, before = (np.zeros(len(functions)) for _ in range(3))
    for t in range(1, iterations + 1):
        plans = [treeplex.plan(behaviour) for treeplex, behaviour in zip(form.treeplexes, behaviours, strict=True)]
        totals += multipliers
        for one in range(2):
            sums[one] += plans[one]
        point = sums[player] / t if at_average else plans[player]
        tangents = [function(point) for function in functions]
        for one, treeplex in enumerate(form.treeplexes):
            values = form.gradient(one, plans).copy()
            if one == player:
                for multiplier, (_, gradient) in zip(multipliers, tangents, strict=True):
                    values -= multiplier * gradient
            for infoset in reversed(range(treeplex.num_infosets)):
                here = slice(*treeplex.offsets[infoset : infoset + 2])
                value = behaviours[one][here] @ values[here]
                regrets[one][here] += values[here] - value
                positive = np.maximum(regrets[one][here], 0.0)
                total = positive.sum()
                behaviours[one][here] = positive / total if total > 0.0 else 1.0 / len(positive)
                place = slice(*treeplex.inflow.indptr[infoset : infoset + 2])
                values[treeplex.inflow.indices[place]] += treeplex.inflow.data[place] * value
        violations = np.array(
            [
                value + gradient @ (plans[player] - point) - bound
                for (value, gradient), bound in zip(tangents, bounds, strict=True)
            ]
        )
        multipliers = np.maximum(multipliers + steps * (violations + optimism * (violations - before)), 0.0)
        before = violations
    return [total / iterations for total in sums], totals / iterations


def dilated_entropy(game, player):
    """Return the tangent of the divergence from uniform play at a point a hair nearer to uniform play."""
    treeplex = game.sequence_form.treeplexes[player]
    uniform = treeplex.uniform_plan()
    probabilities = treeplex.uniform_behaviour()[1:]

    def function(given):
        plan = (1.0 - 1e-9) * given + 1e-9 * uniform
        reach = treeplex.reach(plan)[treeplex.sequence_infosets[1:]]
        ratios = plan[1:] / (reach * probabilities)
        gradient = np.zeros(len(plan))
        gradient[1:] = np.log(ratios) + 1.0
        spread = treeplex.inflow[treeplex.sequence_infosets[1:]]
        gradient -= spread.T @ (ratios * probabilities)
        return gradient @ given, gradient  # the tangent there, which has no constant

    return function


def quadratic(form, centre):
    return lambda plan: ((plan - centre) @ form @ (plan - centre), 2.0 * form @ (plan - centre))


@pytest.mark.parametrize("optimism", [0.0, 1.0])
@pytest.mark.parametrize("tangents", ["average", "iterate"])
@pytest.mark.parametrize("spec", ["kuhn", pytest.param("transit:width=2", marks=thorough)])
def test_the_compiled_loop_does_what_the_definition_says(spec, tangents, optimism):
    game, player = load_game(spec), 0
    uniform = Strategy.uniform(game, player)
    plan, rng = game.plan(player), np.random.default_rng(3)
    size = plan.size
    root = rng.normal(size=(size, size)) / np.sqrt(size)
    form = root.T @ root
    centre = uniform.plan * rng.random(size)
    problem = ConstrainedNash(
        game,
        [
            distance_bound(KLDistance(uniform), at_most=0.05, name="entropy"),
            *collect_constraints({"quadratic": cp.quad_form(plan - centre, cp.psd_wrap(form)) <= 0.1}, game),
        ],
    )
    kernel = kernel_of(game.sequence_form)
    rows = KernelConstraints.of(problem.canonical, kernel.layout)
    state = kernel.initial_state(rows)
    step, iterations = 0.2, 30
    rows = replace(rows, dual=DualRule(step, 0.0, optimism, tangents))
    for _ in range(3):  # splitting a run changes nothing
        kernel.run(state, CFR, iterations // 3, growth=1e9, alternating=False, constraints=rows)
    functions = [dilated_entropy(game, player), quadratic(form, centre)]
    steps = step * kernel.layout.unit / rows.units**2
    plans, multipliers = plain_tangents(
        game, functions, [0.05, 0.1], player, iterations, steps, optimism, tangents == "average"
    )
    assert (multipliers > 0.0).all()
    # The logarithm of a ratio of 1e-9 magnifies the round-off of plans, which are 0 here and there.
    hair = 1e-10 if tangents == "average" else 1e-6
    average = kernel.average(state)
    for one in range(2):
        np.testing.assert_allclose(kernel.layout.to_user(one, average), plans[one], rtol=0, atol=hair)
    found = state.multipliers.sums / iterations * kernel.layout.unit / rows.units
    np.testing.assert_allclose(found, multipliers, rtol=hair, atol=hair)


# --- laws -------------------------------------------------------------------------------------------------------------


@st.composite
def curved_games(draw):
    """Return a random game, of trees or of flows, and random convex constraints, feasible or not."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if draw(st.booleans()):
        treeplexes = [random_flow(rng, int(rng.integers(1, 5))) for _ in range(2)]
        payoffs = rng.normal(size=[treeplex.num_sequences for treeplex in treeplexes])
        game = Game.from_sequence_form(SequenceForm(treeplexes, payoff_matrices=[payoffs, -payoffs]))
    else:
        game = to_game(draw(trees(size=10)))
    constraints = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        plan, uniform = game.plan(player), treeplex.uniform_plan()
        size = treeplex.num_sequences
        for number in range(draw(st.integers(0, 2))):
            matrix, bound = rng.normal(size=(4, size)), float(draw(st.sampled_from([0.01, 0.2, 1.0])))
            moved = matrix @ (plan - uniform) + draw(st.sampled_from([0.0, 0.1])) * rng.normal(size=4)
            kinds = {
                "l2": distance_bound(L2Distance(Strategy.uniform(game, player)), at_most=bound),
                "kl": distance_bound(KLDistance(Strategy.uniform(game, player)), at_most=bound),
                "l1": distance_bound(L1Distance(Strategy.uniform(game, player)), at_most=bound),
                "norm": cp.norm(moved) <= bound,
                "squares": cp.sum_squares(moved) + rng.normal(size=size) @ (plan - uniform) <= bound,
                "maximum": cp.max(moved) <= bound,
                "infinity": cp.norm_inf(moved) <= bound,
                "opaque": cp.log_sum_exp(moved) <= np.log(4.0) + bound,
                "entropy": cp.sum(cp.rel_entr(plan + 0.1, uniform + 0.1)) <= bound,
            }
            chosen = kinds[draw(st.sampled_from(sorted(kinds)))]
            constraints.append((f"{player}/{number}", chosen))
    named = [one for name, given in constraints for one in _named(name, given, game)]
    return game, named


def _named(name, given, game):
    if isinstance(given, cp.constraints.constraint.Constraint):
        return collect_constraints({name: given}, game)
    return [distance_bound(given.distance, at_most=given.bound, name=name)]


@thorough
@examples(30)
@given(curved_games(), st.sampled_from(["dcfr", "cfr+", "pcfr+"]), st.integers(1, 200))
def test_the_bracket_always_holds_the_optimum(posed, base, iterations):
    game, constraints = posed
    problem = ConstrainedNash(game, constraints)
    exact = solve(problem, tol=1e-5 * game.sequence_form.payoff_scale)
    solution = solve(problem, CCFR(base=base), tol=0, max_iterations=iterations)
    if solution.status is Status.INFEASIBLE:
        assert exact.status is Status.INFEASIBLE
        return
    if exact.status is not Status.OPTIMAL:
        return
    hair = 1e-4 * game.sequence_form.payoff_scale
    for player, bound in ((0, exact.objective - solution.lower), (1, solution.upper - exact.objective)):
        owed = sum(
            exact.dual_multipliers[one.name] * max(0.0, solution.certificate.violations[one.name])
            for one in constraints
            if one.player == player
        )
        assert bound >= -1.001 * owed - hair


@pytest.mark.parametrize("penalise", ["sum", "largest"])
@pytest.mark.parametrize("penalty", [0.1, 2.0])
def test_penalised_problems_reach_the_penalised_optimum(penalty, penalise):
    constraints = [near(KLDistance, 0.1), *collect_constraints({"norm": cp.norm(APART) <= 0.2}, KUHN)]
    problem = ConstrainedNash(KUHN, constraints, penalty=penalty, penalise=penalise)
    exact = solve(problem)
    solution = solve(problem, "ccfr", tol=1e-3)
    assert solution.status is Status.CONVERGED
    assert solution.objective == pytest.approx(exact.objective, abs=2e-3)
    assert solution.lower <= exact.objective + 1e-5
    assert solution.upper >= exact.objective - 1e-5
    assert all(-1e-12 <= one <= penalty * (1 + 1e-9) for one in solution.multipliers.values())


def test_convex_constraints_that_exclude_each_other_are_found_out():
    far = LinearConstraint(0, {2: 1}, 0.9, "far", ">=")
    problem = ConstrainedNash(KUHN, [far, near(L2Distance, 0.3), LinearConstraint(0, {4: 1}, 0.9, "idle")])
    solution = solve(problem, "ccfr")
    assert solution.status is Status.INFEASIBLE
    assert set(solution.infeasibility.conflict) == {"far", "near"}


@pytest.mark.parametrize("case", ["KL ball", "sum of terms", "largest difference", "log-sum-exp"])
def test_a_run_goes_on_where_it_stopped(case):
    posed = [ConstrainedNash(KUHN, CASES[case]) for _ in range(2)]
    whole = solve(posed[0], "ccfr", tol=0, max_iterations=80)
    half = solve(posed[0], "ccfr", tol=0, max_iterations=30)
    resumed = solve(posed[1], "ccfr", tol=0, max_iterations=50, start=half)
    assert resumed.iterations == 80
    assert resumed.value == whole.value
    assert (resumed.lower, resumed.upper) == (whole.lower, whole.upper)
    assert dict(resumed.multipliers) == dict(whole.multipliers)


def test_a_run_under_another_bound_starts_from_the_strategies_alone():
    first = solve(ConstrainedNash(KUHN, [near(KLDistance, 0.3)]), "ccfr", tol=0, max_iterations=50)
    moved = solve(ConstrainedNash(KUHN, [near(KLDistance, 0.2)]), "ccfr", tol=0, max_iterations=20, start=first)
    assert moved.iterations == 20


# --- what the loop claims, and what goes wrong in Python --------------------------------------------------------------


def test_a_run_that_the_certificate_does_not_confirm_goes_on(monkeypatch):
    """At the kink the tangent at the average proves little, and the loop has nothing to show for its own bound."""
    problem = ConstrainedNash(KUHN, CASES["largest difference"])
    monkeypatch.setattr(Curves, "evidence", lambda *_: {})
    monkeypatch.setattr(Constraint, "minorant", lambda one, plan, slopes=None: (0 * plan, -1.0))
    solution = solve(problem, "ccfr", tol=1e-3, max_iterations=2000)
    assert solution.status is Status.ITERATION_LIMIT
    assert max(solution.gap, solution.violation) > 1e-3


def test_errors_in_python_functions_are_raised(monkeypatch):
    problem = ConstrainedNash(KUHN, CASES["log-sum-exp"])
    calls, tangent = [], Opaque.minorant

    def failing(one, plan):
        calls.append(plan)
        if len(calls) > 20:
            raise RuntimeError("no such value")
        return tangent(one, plan)

    monkeypatch.setattr(Opaque, "minorant", failing)
    with pytest.raises(RuntimeError, match="no such value"):
        solve(problem, "ccfr", max_iterations=100)


def test_an_interruption_in_a_python_function_leaves_a_whole_state(monkeypatch):
    problem = ConstrainedNash(KUHN, CASES["log-sum-exp"])
    calls, tangent = [], Opaque.minorant

    def interrupted(one, plan):
        calls.append(plan)
        if len(calls) == 50:
            raise KeyboardInterrupt
        return tangent(one, plan)

    monkeypatch.setattr(Opaque, "minorant", interrupted)
    solution = solve(problem, "ccfr", tol=0, max_iterations=1000)
    assert solution.status is Status.INTERRUPTED
    assert 0 < solution.iterations < 60
    resumed = solve(problem, "ccfr", tol=0, max_iterations=80 - solution.iterations, start=solution)
    whole = solve(problem, "ccfr", tol=0, max_iterations=80)
    assert resumed.value == whole.value


def test_functions_without_a_gradient_are_refused():
    problem = ConstrainedNash(KUHN, {"entropy": cp.von_neumann_entr(cp.diag(X)) >= 0.5})
    with pytest.raises(
        UnsupportedProblemError, match="constraint 'entropy' has no gradient in cvxpy: use method cvxpy"
    ):
        solve(problem, "ccfr")


# --- what is recognised -----------------------------------------------------------------------------------------------


RECOGNISED = [
    cp.norm1(APART), cp.norm(X) / 2, cp.norm(cp.reshape(X[:12], (3, 4), order="F"), "fro"), cp.norm_inf(X[1:4] - 0.1),
    cp.sum_squares(APART), cp.quad_form(APART, np.eye(SIZE) + 0.1), cp.abs(X)[2], cp.max(X), -cp.min(X),
    cp.maximum(X[0], X[1], 0.5), cp.square(X[3] - 1), np.arange(SIZE) @ cp.square(X), cp.pos(X[1] - 0.5),
    cp.sum(cp.neg(X - 0.4)), 3 - 2 * (1 - cp.norm(X)), cp.norm(APART) ** 2, cp.tv(X), cp.mean(cp.abs(X)),
    cp.sum(cp.rel_entr(X[1:3], [0.3, 0.4])), cp.sum(cp.kl_div(X[1:3], X[4:6])), -cp.sum(cp.entr(X[1:4])),
    cp.sum(cp.multiply(np.arange(SIZE), cp.abs(X))), cp.norm1(X) + cp.sum_squares(X) + cp.norm(X[:3]) - X[2] + 1,
]  # fmt: skip
UNKNOWN = [cp.log_sum_exp(X), cp.quad_over_lin(X, 1 + X[0]), cp.sum_largest(X, 2), cp.huber(X[1]), cp.norm(X, 3)]


@pytest.mark.parametrize("place", range(len(RECOGNISED)))
def test_average_slopes_prove_at_least_the_average_of_tangents(place):
    expression, rng = RECOGNISED[place], np.random.default_rng(place)
    (found,) = read_functions(expression, X)
    assert not any(isinstance(term, Opaque | Polyhedral) for term in found.terms)

    def value(plan):
        X.save_value(plan)
        return float(expression.value)

    points = rng.random((3, SIZE)) + 0.01
    tangents = [found.minorant(point) for point in points]
    for point, (slope, constant) in zip(points, tangents, strict=True):
        assert found.value(point) == pytest.approx(value(point), abs=1e-9)
        assert slope @ point + constant == pytest.approx(value(point), abs=1e-9)
    slope, constant = found.minorant(points[0], np.mean([found.slopes_at(point) for point in points], axis=0))
    anything, shift = found.minorant(points[0], 3.0 * rng.normal(size=found.size))
    for plan in rng.random((20, SIZE)):
        proven = slope @ plan + constant
        assert proven <= value(plan) + 1e-9
        assert proven >= np.mean([g @ plan + c for g, c in tangents]) - 1e-9
        assert anything @ plan + shift <= value(plan) + 1e-9


def test_other_functions_are_left_to_cvxpy():
    kinds = [[type(term) for term in read_functions(expression, X)[0].terms] for expression in UNKNOWN]
    assert kinds == [[Polyhedral] if expression.is_pwl() else [Opaque] for expression in UNKNOWN]


def test_what_is_recognised_of_a_sum_stands_beside_what_is_not():
    expression = 2 * cp.norm1(APART) + cp.sum_largest(X, 2) + cp.max(cp.cumsum(cp.abs(X))) + cp.log_sum_exp(X) - X[2]
    (found,) = read_functions(expression, X)
    assert [type(term).__name__ for term in found.terms] == ["Norm1", "Polyhedral", "Opaque"]
    points = np.random.default_rng(0).random((5, SIZE))
    for point in points:
        X.save_value(point)
        assert found.value(point) == pytest.approx(float(expression.value), abs=1e-9)
        slope, constant = found.minorant(points[0])
        assert slope @ point + constant <= found.value(point) + 1e-9
