"""Constrained CFR: known values and multipliers, a plain reference, brackets, penalties, conflicts and resuming."""

from dataclasses import replace

import numpy as np
import pytest
from constrained_cases import KUHN, KUHN_CASES, bet, constrained_games
from effort import either, examples, few, soaked
from hypothesis import given
from hypothesis import strategies as st
from locked_spots import assert_proven, drawn_rows
from random_trees import to_game, trees

from treeplex import (
    CCFR,
    BestResponse,
    ConstrainedNash,
    Game,
    Nash,
    Profile,
    SequenceForm,
    SolverError,
    Status,
    Strategy,
    UnknownMethodError,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, behaviour_bound
from treeplex.models.saddle import Rows
from treeplex.solvers.certification import proven
from treeplex.solvers.feasible_plans import FeasiblePlans
from treeplex.solvers.methods.rules import CFR, DualRule
from treeplex.solvers.regret.constraints import KernelConstraints
from treeplex.solvers.regret.kernel import kernel_of

LEDUC = load_game("leduc")


@pytest.mark.parametrize("base", ["dcfr", "cfr+", "pcfr+"])
@pytest.mark.parametrize("case", KUHN_CASES)
def test_constrained_kuhn_reaches_the_values_and_multipliers_on_record(case, base):
    built, _, value, multipliers = KUHN_CASES[case]
    solution = solve(ConstrainedNash(KUHN, built), CCFR(base=base), tol=1e-5)
    assert solution.status is Status.CONVERGED
    assert max(solution.gap, solution.violation) <= 1e-5
    assert solution.value == pytest.approx(value, abs=1e-4)
    assert solution.lower - 1e-5 <= value <= solution.upper + 1e-5
    assert dict(solution.multipliers) == pytest.approx(multipliers, abs=1e-3)


@pytest.mark.parametrize("steps", ["optimistic", "constant", "decreasing"])
@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
def test_every_way_to_move_multipliers_arrives(steps, updates):
    built, _, value, multipliers = KUHN_CASES["A"]
    # Decreasing steps need large ones to begin with.
    method = CCFR(base="cfr+", steps=steps, updates=updates, step=1.0 if steps == "decreasing" else 0.1)
    solution = solve(ConstrainedNash(KUHN, built), method, tol=1e-3)
    assert solution.status is Status.CONVERGED
    assert solution.value == pytest.approx(value, abs=2e-3)
    assert dict(solution.multipliers) == pytest.approx(multipliers, abs=0.02)


def test_both_players_may_be_constrained():
    constraints = [*KUHN_CASES["A"][0], LinearConstraint(1, {1: 1}, 0.2, "second")]
    exact = solve(ConstrainedNash(KUHN, constraints))
    solution = solve(ConstrainedNash(KUHN, constraints), "ccfr", tol=1e-5)
    assert solution.value == pytest.approx(exact.value, abs=2e-5)
    assert dict(solution.multipliers) == pytest.approx(dict(exact.multipliers), abs=1e-3)


# --- a plain reference ------------------------------------------------------------------------------------------------


def plain_ccfr(game, constraints, iterations, step, optimism, cap, alternating):
    """Return averages of plans and multipliers of constrained CFR, straight from its definition.

    With alternating updates that is the paper's algorithm 1: a player answers the other's last plan and its own
    multipliers, which have moved by its own last plan.
    """
    form = game.sequence_form
    regrets = [np.zeros(treeplex.num_sequences) for treeplex in form.treeplexes]
    behaviours = [treeplex.uniform_behaviour() for treeplex in form.treeplexes]
    sums = [np.zeros(treeplex.num_sequences) for treeplex in form.treeplexes]
    multipliers, totals, before = (np.zeros(len(constraints)) for _ in range(3))
    own = [[place for place, one in enumerate(constraints) if one.player == player] for player in range(2)]

    def move(player, plan):
        for place in own[player]:
            violation = constraints[place].value(plan)
            moved = multipliers[place] + step * (violation + optimism * (violation - before[place]))
            multipliers[place], before[place] = np.clip(moved, 0.0, cap), violation

    plans = [treeplex.plan(behaviour) for treeplex, behaviour in zip(form.treeplexes, behaviours, strict=True)]
    for _ in range(iterations):
        totals += multipliers
        new = plans if alternating else list(plans)
        for player, treeplex in enumerate(form.treeplexes):
            sums[player] += plans[player]
            values = form.gradient(player, plans).copy()
            for place in own[player]:
                values[constraints[place].indices] -= multipliers[place] * constraints[place].coefficients
            for infoset in reversed(range(treeplex.num_infosets)):
                here = slice(*treeplex.offsets[infoset : infoset + 2])
                value = behaviours[player][here] @ values[here]
                regrets[player][here] += values[here] - value
                positive = np.maximum(regrets[player][here], 0.0)
                total = positive.sum()
                behaviours[player][here] = positive / total if total > 0.0 else 1.0 / len(positive)
                for source, weight in zip(*_inflow(treeplex, infoset), strict=True):
                    values[source] += weight * value
            new[player] = treeplex.plan(behaviours[player])
            move(player, new[player] if alternating else plans[player])
        plans = new
    return [total / iterations for total in sums], totals / iterations


def _inflow(treeplex, infoset):
    place = slice(*treeplex.inflow.indptr[infoset : infoset + 2])
    return treeplex.inflow.indices[place], treeplex.inflow.data[place]


@few
@pytest.mark.parametrize("alternating", [False, True])
@pytest.mark.parametrize("optimism", [0.0, 1.0])
@pytest.mark.parametrize("cap", [np.inf, 0.05])
@pytest.mark.parametrize("spec", ["kuhn", "leduc", "transit:width=2"])
def test_the_compiled_loop_does_what_the_definition_says(spec, optimism, cap, alternating):
    game = load_game(spec)
    rng = np.random.default_rng(7)
    constraints = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        for number in range(2):
            chosen = rng.choice(np.arange(1, treeplex.num_sequences), size=5, replace=False)
            terms = dict(zip(chosen.tolist(), rng.normal(size=5).tolist(), strict=True))
            constraints.append(LinearConstraint(player, terms, -0.05, f"{player}/{number}"))
    problem = ConstrainedNash(game, constraints, penalty=None if cap == np.inf else cap)
    kernel = kernel_of(game.sequence_form)
    rows = KernelConstraints.of(problem.canonical, kernel.layout)
    state = kernel.initial_state(rows)
    # The loop's steps are in units of the largest payoff and of rows; here one step size is for all.
    for row in range(4):
        scale = rows.units[row]
        first, last = rows.arrays.starts[row : row + 2].astype(int)
        rows.arrays.coefficients[first:last] *= scale
        rows.arrays.limits[row] *= scale
        rows.arrays.caps[row] /= scale
        rows.arrays.units[row] /= scale
        rows.units[row] = 1.0
    step = 0.3
    rows = replace(rows, dual=DualRule(step / kernel.layout.unit, 0.0, optimism))
    kernel.run(state, CFR, 40, growth=1e9, alternating=alternating, constraints=rows)
    plans, multipliers = plain_ccfr(game, constraints, 40, step, optimism, cap, alternating)
    average = kernel.average(state)
    for player in range(2):
        np.testing.assert_allclose(kernel.layout.to_user(player, average), plans[player], atol=1e-10)
    found = state.multipliers.sums / 40 * kernel.layout.unit
    np.testing.assert_allclose(found, multipliers, atol=1e-10)


def test_plain_steps_are_those_of_the_paper():
    """λ + α f(x) in payoff units, whatever the units of payoffs and of rows; scaled steps are in these."""
    game, constraints = KUHN, KUHN_CASES["A"][0]
    alike = [
        LinearConstraint(0, {i: 2 * c for i, c in one.terms.items()}, 2 * one.limit, one.name) for one in constraints
    ]
    method = CCFR(base="cfr", updates="simultaneous", steps="constant", step=0.05, step_unit="plain")
    for built, factor in ((constraints, 1.0), (alike, 2.0)):
        _, multipliers = plain_ccfr(game, built, 50, 0.05, 0.0, np.inf, alternating=False)
        problem = ConstrainedNash(game, built, penalty=100)
        found = solve(problem, method, tol=0, max_iterations=50).multipliers
        assert list(found.values()) == pytest.approx(multipliers.tolist(), abs=1e-9)
        scaled = replace(method, step=0.05 * factor**2 / game.sequence_form.payoff_scale, step_unit="scaled")
        same = solve(problem, scaled, tol=0, max_iterations=50).multipliers
        assert list(same.values()) == pytest.approx(list(found.values()), abs=1e-9)


# --- laws -------------------------------------------------------------------------------------------------------------


@examples(40)
@given(constrained_games(), st.sampled_from(["dcfr", "cfr+", "pcfr+", "cfr"]), st.integers(1, 300))
def test_the_bracket_always_holds_the_optimum(posed, base, iterations):
    game, constraints = posed
    problem = ConstrainedNash(game, constraints)
    exact = solve(problem)
    solution = solve(problem, CCFR(base=base), tol=0, max_iterations=iterations)
    if solution.status is Status.INFEASIBLE:  # met by a hair, or only by what rounding makes of it
        assert solution.infeasibility.least_violation <= 1e-6
        return
    # A plan that violates a constraint proves as much less as the exact multiplier says.
    hair = 1e-6 * game.sequence_form.payoff_scale
    for player, bound in ((0, exact.objective - solution.lower), (1, solution.upper - exact.objective)):
        owed = sum(
            exact.dual_multipliers[one.name] * max(0.0, solution.certificate.violations[one.name])
            for one in constraints
            if one.player == player
        )
        assert bound >= -owed - hair


@examples(25)
@given(constrained_games(), st.floats(0.05, 5.0), st.sampled_from(["sum", "largest"]))
def test_penalised_problems_reach_the_penalised_optimum(posed, penalty, penalise):
    game, constraints = posed
    problem = ConstrainedNash(game, constraints, penalty=penalty, penalise=penalise)
    exact = solve(problem)
    scale = game.sequence_form.payoff_scale
    solution = solve(problem, "ccfr", tol=1e-2 * scale, max_iterations=100_000)
    assert solution.lower <= exact.objective + 1e-7 * scale
    assert solution.upper >= exact.objective - 1e-7 * scale
    for player in range(2):
        paid = [solution.multipliers[one.name] for one in constraints if one.player == player]
        assert all(-1e-12 <= one <= penalty * (1 + 1e-9) for one in paid)
        if penalise == "largest":
            assert sum(paid) <= penalty * (1 + 1e-9)
    if solution.status is Status.CONVERGED:
        assert solution.objective == pytest.approx(exact.objective, abs=2e-2 * scale)


@pytest.mark.parametrize("penalise", ["sum", "largest"])
@pytest.mark.parametrize("unit", [2.0**-7, 2.0**7])
def test_units_of_constraints_do_not_matter_to_penalised_problems(unit, penalise):
    def posed(unit):
        drawn = [
            LinearConstraint(0, {2: -unit}, -0.5 * unit, "often"),
            LinearConstraint(0, {8: unit}, 0.1 * unit, "seldom"),
        ]
        return ConstrainedNash(KUHN, drawn, penalty=2.0 / unit, penalise=penalise)

    plain, other = (solve(posed(one), "ccfr", tol=1e-3, max_iterations=2000) for one in (1.0, unit))
    assert plain.status is other.status is Status.CONVERGED
    assert other.iterations == plain.iterations
    assert other.objective == pytest.approx(plain.objective, abs=1e-9)


def test_constraints_that_exclude_each_other_are_found_out():
    problem = ConstrainedNash(
        KUHN,
        [
            bet("J_", at_least=0.7, name="often"),
            bet("J_", at_most=0.4, name="seldom"),
            bet("K_", at_most=0.5, name="king"),
        ],
    )
    solution = solve(problem, "ccfr")
    assert solution.status is Status.INFEASIBLE
    assert set(solution.infeasibility.conflict) == {"often", "seldom"}
    assert solution.infeasibility.least_violation == pytest.approx(0.3)


@examples(20)
@given(trees(size=10), st.integers(0, 2**32))
def test_what_is_called_infeasible_is(root, seed):
    game = to_game(root)
    rng = np.random.default_rng(seed)
    player = int(rng.integers(2))
    size = game.sequence_form.treeplexes[player].num_sequences
    drawn = [
        LinearConstraint(player, dict(enumerate(rng.normal(size=size).tolist())), float(rng.normal()), name=str(place))
        for place in range(3)
    ]
    problem = ConstrainedNash(game, drawn)
    solution = solve(problem, "ccfr", tol=1e-3, max_iterations=20_000)
    if solution.status is Status.INFEASIBLE:
        assert solve(problem).status is Status.INFEASIBLE


def test_a_run_goes_on_where_it_stopped():
    problem = ConstrainedNash(LEDUC, [LinearConstraint(0, {2: 1}, 0.1, "seldom")])
    whole = solve(problem, "ccfr", tol=0, max_iterations=300)
    half = solve(problem, "ccfr", tol=0, max_iterations=120)
    resumed = solve(problem, "ccfr", tol=0, max_iterations=180, start=half)
    assert resumed.iterations == 300
    assert resumed.value == whole.value
    assert dict(resumed.multipliers) == dict(whole.multipliers)


def test_a_run_under_other_constraints_starts_from_the_strategies_alone():
    """Multipliers of other constraints mean nothing here, and there may be more or fewer of them."""
    game = load_game(either(quick="leduc:merge_suits=true", thorough="leduc"))
    one = [LinearConstraint(0, {2: 1}, 0.1, "seldom")]
    two = [*one, LinearConstraint(1, {3: 1}, 0.2, "other")]
    moved = [LinearConstraint(0, {2: 1}, 0.3, "seldom")]
    elsewhere = [LinearConstraint(0, {4: 1}, 0.1, "seldom")]
    first = solve(ConstrainedNash(game, one), "ccfr", tol=0, max_iterations=100)
    for constraints in (two, moved, elsewhere, []):
        problem = ConstrainedNash(game, constraints)
        solution = solve(problem, "ccfr", tol=0, max_iterations=50, start=first)
        assert solution.iterations == 50  # counted from nothing
        exact = solve(problem).value
        converged = solve(problem, "ccfr", tol=1e-2, start=first)
        assert converged.status is Status.CONVERGED
        assert converged.lower - 0.02 <= exact <= converged.upper + 0.02


def test_other_problems_and_options_are_refused():
    with pytest.raises(UnsupportedProblemError, match="method ccfr cannot solve best-response: use highs"):
        solve(BestResponse(KUHN, Strategy.uniform(KUHN, 1)), "ccfr")
    assert solve(Nash(KUHN), "ccfr").exploitability <= 1e-3  # there may be no constraints
    with pytest.raises(UnknownMethodError, match="ccfr: base = mccfr"):
        CCFR(base="mccfr")
    with pytest.raises(UnknownMethodError, match="ccfr: steps = large"):
        CCFR(steps="large")
    with pytest.raises(UnknownMethodError, match="ccfr: step = 0"):
        CCFR(step=0)
    with pytest.raises(UnknownMethodError, match="ccfr: tangents = anywhere"):
        CCFR(tangents="anywhere")
    assert CCFR().averaging == "quadratic"
    assert CCFR(base="cfr").averaging == "uniform"


def test_constraints_that_miss_each_other_by_little_are_infeasible_where_bounds_cross():
    """Multipliers alone would prove it after a million iterations or more."""
    rows = [behaviour_bound(KUHN, 0, "J_", "b", at_least=0.501), behaviour_bound(KUHN, 0, "J_", "b", at_most=0.5)]
    solution = solve(ConstrainedNash(KUHN, rows), "ccfr", tol=1e-4, max_iterations=20_000)
    assert solution.status == "infeasible"
    assert solution.infeasibility.least_violation == pytest.approx(0.001)
    assert solution.iterations == 20_000
    met = [rows[0], behaviour_bound(KUHN, 0, "J_", "b", at_most=0.501)]
    assert solve(ConstrainedNash(KUHN, met), "ccfr", tol=1e-9, max_iterations=300).status == "iteration_limit"


@pytest.mark.soak
def test_bounds_of_random_trees_under_rows_hold_and_their_strategies_meet_the_rows():
    """The truth is HiGHS's; runs are of few iterations, so that most averages miss their rows."""
    for seed in range(soaked(4)):
        problem = drawn_rows(seed)
        if problem is not None:
            base, tol = ("dcfr", "cfr+", "pcfr+", "cfr")[seed % 4], 10.0 ** -(1 + seed % 4) * problem.game.payoff_scale
            assert_proven(problem, CCFR(base=base), tol, (4, 30, 300, 2000)[seed // 4 % 4])


def test_a_solution_whose_bounds_cross_by_more_than_round_off_is_an_error():
    solution = solve(ConstrainedNash(KUHN, KUHN_CASES["A"][0]))
    low, high = solution.lower, solution.upper
    near = replace(solution, certificate=replace(solution.certificate, lower=high + 1e-13, upper=low))
    assert near.lower == near.upper == pytest.approx(-0.1)
    with pytest.raises(SolverError, match=r"bounds of constrained on kuhn cross: lower 0\.1, upper -0\.1"):
        replace(solution, certificate=replace(solution.certificate, lower=0.1, upper=-0.1))


def test_constraints_that_no_plan_is_found_for_withdraw_the_bound():
    """Both are met by no plan; what a uniform strategy earns under them would be a bound on nothing."""
    jack = [bet("J_", at_least=0.7, name="often"), bet("J_", at_most=0.4, name="seldom")]
    problem = ConstrainedNash(KUHN, jack)
    _, certificate = proven(problem, Profile.uniform(KUHN), {}, {})
    assert certificate.lower == -KUHN.payoff_scale
    assert problem.missed(certificate)
    _, met = proven(ConstrainedNash(KUHN, jack[:1]), Profile.uniform(KUHN), {}, {})
    assert met.violation <= 1e-15
    assert met.lower <= -1 / 9 <= met.upper


def test_a_plan_is_found_where_constraints_leave_hardly_any_room():
    """A strategy that is nearly pure meets its rows with equality; beside it there is room for others as near alone."""
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(np.zeros((4, 2))))
    treeplex = game.sequence_form.treeplexes[0]
    for seed in range(40):
        random = np.random.default_rng(seed)
        rest = random.random(3)
        rest *= 10.0 ** -random.integers(3, 9) / rest.sum()
        met = np.array([1.0, 1.0 - rest.sum(), *rest])
        rows = [LinearConstraint(0, {1: 1}, float(met[1]), "most")]
        for number in range(2):
            vector = random.normal(size=5).round(3)
            rows.append(LinearConstraint(0, dict(enumerate(vector.tolist())), float(vector @ met), f"row {number}"))
        plans = FeasiblePlans(Rows(tuple(rows), 5), treeplex)
        found = plans.nearest(treeplex.plan(treeplex.behaviour(met * np.append(1.0, random.uniform(0.9, 1.1, 4)))))
        assert found is not None, seed
        assert plans.violation(found) == 0.0
        assert treeplex.residual(found) <= 1e-12
