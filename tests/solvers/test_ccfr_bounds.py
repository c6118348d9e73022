"""The theorems on constrained CFR hold in every run; what they are held against agrees with plain references."""

import json
import math
from itertools import product

import numpy as np
import pytest
from constrained_cases import CASES, KUHN, conflicting, constrained_games
from effort import examples, few, thorough
from hypothesis import given
from hypothesis import strategies as st
from plain_regrets import match_regrets
from random_flows import flow_game, random_flow
from random_trees import to_game, trees
from scipy.optimize import linprog

from treeplex import (
    CCFR,
    ConstrainedNash,
    Game,
    InvalidConstraintError,
    Nash,
    Profile,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, functional_bound
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers.constrained_exploitability import constrained_exploitability, least_violation
from treeplex.solvers.regret.ccfr_bounds import MeasuredRun, best_step, ccfr_bounds
from treeplex.solvers.regret.ccfr_theorems import (
    BoundConstants,
    bound_constants,
    exploitability_bound,
    function_extent,
    largest_reaches,
    multiplier_regret_bound,
    payoff_range,
    violation_bound_above_price,
)

STEPS = st.sampled_from(["constant", "decreasing"])


def recipe(steps="constant", step=0.1, **options):
    return CCFR(base="cfr", updates="simultaneous", steps=steps, step=step, **options)


def run(game, constraints, beta, iterations, steps="constant", step=0.1, **options):
    problem = ConstrainedNash(game, constraints, penalty=beta)
    return solve(problem, recipe(steps, step=step, **options), tol=0, max_iterations=iterations)


def small_flows(rng):
    return flow_game(rng, [random_flow(rng, int(rng.integers(1, 5))) for _ in range(2)])


# --- every bound holds ------------------------------------------------------------------------------------------------


@examples(30)
@given(constrained_games(), st.floats(0.02, 20.0), st.integers(1, 300), STEPS, st.floats(0.01, 3.0))
def test_all_bounds_hold_under_constraints_that_can_be_met(posed, beta, iterations, steps, step):
    game, constraints = posed
    found = ccfr_bounds(run(game, constraints, beta, iterations, steps, step))
    assert found.holds, str(found)
    assert found.iterations == iterations
    names = {one.name for one in found.bounds}
    assert {"theorem 1", "lemma 3", "theorem 4", "corollary 3.1"} <= names
    assert ("theorem 2" in names) == bool(constraints)
    assert "theorem 5" not in names


@examples(25)
@given(trees(size=10), st.integers(0, 2**32), st.floats(0.02, 20.0), st.integers(1, 300), STEPS)
def test_all_bounds_hold_whether_or_not_constraints_exclude_each_other(root, seed, beta, iterations, steps):
    game, rng = to_game(root), np.random.default_rng(seed)
    constraints = conflicting(game, rng)
    found = ccfr_bounds(run(game, constraints, beta, iterations, steps))
    assert found.holds, str(found)
    infeasible = solve(ConstrainedNash(game, constraints)).status is Status.INFEASIBLE
    assert any(one.name == "theorem 5" for one in found.bounds) == infeasible


@thorough
@examples(25)
@given(st.integers(0, 2**32), st.floats(0.02, 20.0), st.integers(1, 200), STEPS)
def test_all_bounds_hold_in_flows(seed, beta, iterations, steps):
    rng = np.random.default_rng(seed)
    game = small_flows(rng)
    found = ccfr_bounds(run(game, conflicting(game, rng, 2), beta, iterations, steps))
    assert found.holds, str(found)


@few
@pytest.mark.parametrize("steps", ["constant", "decreasing"])
@pytest.mark.parametrize("beta", [0.05, 2.0])
@pytest.mark.parametrize("case", CASES)
def test_all_bounds_hold_in_constrained_kuhn(case, beta, steps):
    found = ccfr_bounds(run(KUHN, CASES[case], beta, 2000, steps))
    assert found.holds, str(found)
    measured = next(one for one in found.bounds if one.measured)
    assert (measured.name, measured.bound) == ("theorem 5" if case == "E" else "theorem 1", found.total_regret)
    assert found.total_regret <= 0.15  # the measured bound is not an empty one
    if beta == 2.0:
        tight = [one for one in found.bounds if one.name == "theorem 3" and one.measured]
        assert len(tight) == (0 if case == "E" else len(CASES[case]))
        assert all(one.bound <= 0.06 for one in tight)


def test_all_bounds_hold_in_a_transit_game():
    game = load_game("transit:width=2")
    risk = functional_bound(game.functionals["risk"], at_most=0.1, name="risk")
    found = ccfr_bounds(run(game, [risk], 2.0, 500))
    assert found.holds, str(found)
    assert len(found.bounds) > 10


def test_theorem_3_is_left_out_where_another_price_is_above_beta():
    """Both constraints are broken at a gain, though the price of the second one is 0."""
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[0.0], [1.0]]))
    few = LinearConstraint(0, {2: 1}, 0.5, "few")  # of the second action; price 1
    some = LinearConstraint(0, {1: -1}, -0.25, "some")  # of the first one; met wherever the other is
    solution = solve(ConstrainedNash(game, [few, some], penalty=0.4), recipe(), tol=0, max_iterations=1000)
    found = ccfr_bounds(solution)
    assert found.violations["some"] == pytest.approx(0.25, abs=0.02)
    assert "theorem 3" not in {one.name for one in found.bounds}
    assert found.holds


def test_a_bound_that_is_too_small_breaks_nothing_but_tells():
    """With β below the multipliers the averages violate constraints, and exploitability is negative (case A)."""
    found = ccfr_bounds(run(KUHN, CASES["A"], 0.05, 20_000))
    assert found.holds
    assert found.exploitability == pytest.approx(-0.0064, abs=2e-3)
    assert found.violations["jack"] == pytest.approx(0.133, abs=0.02)
    assert [one for one in found.bounds if one.name == "theorem 3"] == []  # both prices are above 0.05


# --- what was measured ------------------------------------------------------------------------------------------------


def plain_run(game, constraints, beta, iterations, steps, step):
    """Return all iterates x_t, y_t and λ_t of constrained CFR, straight from its definition."""
    form, unit = game.sequence_form, game.sequence_form.payoff_scale
    regrets = [np.zeros(treeplex.num_sequences) for treeplex in form.treeplexes]
    behaviours = [treeplex.uniform_behaviour() for treeplex in form.treeplexes]
    multipliers = np.zeros(len(constraints))
    sizes = np.array([np.abs(one.coefficients).max() or 1.0 for one in constraints])
    iterates = []
    for t in range(1, iterations + 1):
        plans = [treeplex.plan(behaviour) for treeplex, behaviour in zip(form.treeplexes, behaviours, strict=True)]
        iterates.append((plans, multipliers.copy()))
        for player, treeplex in enumerate(form.treeplexes):
            values = form.gradient(player, plans).copy()
            for one, multiplier in zip(constraints, multipliers, strict=True):
                if one.player == player:
                    values[one.indices] -= multiplier * one.coefficients
            match_regrets(treeplex, values, regrets[player], behaviours[player])
        violations = np.array([one.value(plans[one.player]) for one in constraints])
        pace = step * unit / sizes**2 / (math.sqrt(t) if steps == "decreasing" else 1.0)
        multipliers = np.clip(multipliers + pace * violations, 0.0, beta)
    return iterates


@pytest.mark.parametrize("steps", ["constant", "decreasing"])
@pytest.mark.parametrize("spec", ["kuhn", "leduc"])
def test_measured_regrets_are_those_of_all_iterates(spec, steps):
    game, beta, iterations, step = load_game(spec), 0.4, 30, 0.3
    form, rng = game.sequence_form, np.random.default_rng(3)
    constraints = []
    for player in (0, 1, 1):
        chosen = rng.choice(np.arange(1, form.treeplexes[player].num_sequences), size=6, replace=False)
        terms = dict(zip(chosen.tolist(), rng.normal(size=6).tolist(), strict=True))
        constraints.append(LinearConstraint(player, terms, 0.05, f"{player}/{len(constraints)}"))
    found = ccfr_bounds(run(game, constraints, beta, iterations, steps, step))
    iterates = plain_run(game, constraints, beta, iterations, steps, step)
    for player, treeplex in enumerate(form.treeplexes):
        total, got, of_multipliers = np.zeros(treeplex.num_sequences), 0.0, 0.0
        own = [place for place, one in enumerate(constraints) if one.player == player]
        for plans, multipliers in iterates:
            gradient = form.gradient(player, plans).copy()
            for place in own:
                gradient[constraints[place].indices] -= multipliers[place] * constraints[place].coefficients
            total += gradient
            got += gradient @ plans[player]
        assert found.regrets[player] == pytest.approx(best_response_value(treeplex, total) - got, abs=1e-7)
        for place in own:
            values = [constraints[place].value(plans[player]) for plans, _ in iterates]
            charged = sum(m[place] * value for (_, m), value in zip(iterates, values, strict=True))
            of_multipliers += max(0.0, beta * sum(values)) - charged
        assert found.multiplier_regrets[player] == pytest.approx(of_multipliers, abs=1e-7)


@examples(30)
@given(constrained_games(), st.floats(0.05, 5.0), st.integers(1, 200), STEPS)
def test_all_regrets_together_are_the_gap_of_the_penalised_problem(posed, beta, iterations, steps):
    game, constraints = posed
    solution = run(game, constraints, beta, iterations, steps)
    total = ccfr_bounds(solution).total_regret
    assert total == pytest.approx(solution.gap, abs=1e-9 * (1.0 + beta) * game.sequence_form.payoff_scale)


def test_resumed_runs_are_measured_whole():
    whole = ccfr_bounds(run(KUHN, CASES["A"], 2.0, 300))
    first = run(KUHN, CASES["A"], 2.0, 120)
    for game in (KUHN, load_game("kuhn")):
        posed = ConstrainedNash(game, CASES["A"], penalty=2.0)
        resumed = ccfr_bounds(solve(posed, recipe(), tol=0, max_iterations=180, start=first))
        assert resumed.iterations == 300
        assert resumed.to_dict() == whole.to_dict()


def test_a_run_from_a_profile_is_held_to_measured_bounds_alone():
    problem = ConstrainedNash(KUHN, CASES["A"], penalty=2.0)
    rng = np.random.default_rng(0)
    profile = Profile(
        [
            Strategy(KUHN, player, np.append(1.0, draw(treeplex, rng)))
            for player, treeplex in enumerate(KUHN.sequence_form.treeplexes)
        ]
    )
    solution = solve(problem, recipe(), tol=0, max_iterations=500, start=profile)
    found = ccfr_bounds(solution)
    assert found.holds, str(found)
    assert all(one.measured for one in found.bounds)
    assert found.total_regret == pytest.approx(solution.gap, abs=1e-9)


def test_bounds_under_doubled_betas_are_of_the_last_one():
    solution = solve(ConstrainedNash(KUHN, CASES["A"]), recipe(beta=0.05), tol=1e-3)
    assert solution.status is Status.CONVERGED
    found = ccfr_bounds(solution)
    assert found.beta == solution.multiplier_bound > 1 / 3
    assert found.iterations < solution.iterations
    assert found.holds, str(found)
    assert {one.measured for one in found.bounds} == {True}
    penalised = solve(ConstrainedNash(KUHN, CASES["A"], penalty=found.beta), recipe(), tol=0, max_iterations=1)
    certificate = penalised.problem.certify(solution.profile, solution.multipliers)
    assert found.total_regret == pytest.approx(certificate.gap, abs=1e-9)


def test_free_multipliers_that_stay_below_beta_are_bounded_by_it():
    free = solve(ConstrainedNash(KUHN, CASES["B"]), recipe(), tol=0, max_iterations=1000)
    bounded = run(KUHN, CASES["B"], 5.0, 1000)
    assert ccfr_bounds(free, beta=5.0).to_dict() == ccfr_bounds(bounded).to_dict()
    with pytest.raises(UnsupportedProblemError, match=r"a multiplier reached .* above beta 0\.1: pass"):
        ccfr_bounds(free, beta=0.1)
    with pytest.raises(UnsupportedProblemError, match="the multipliers of this run are unbounded"):
        ccfr_bounds(free)


# --- constants and linear programs ------------------------------------------------------------------------------------


def pure_plans(treeplex):
    """Return all pure plans of a small polytope."""
    ranges = [range(*treeplex.offsets[infoset : infoset + 2]) for infoset in range(treeplex.num_infosets)]
    plans = []
    for chosen in product(*ranges):
        behaviour = np.zeros(treeplex.num_sequences)
        behaviour[[0, *chosen]] = 1.0
        plans.append(treeplex.plan(behaviour))
    return np.array(plans)


@examples(30)
@given(st.integers(0, 2**32), st.booleans())
def test_constants_bound_what_pure_plans_attain(seed, flows):
    rng = np.random.default_rng(seed)
    game = small_flows(rng) if flows else to_game_of(rng)
    form = game.sequence_form
    plans = [pure_plans(treeplex) for treeplex in form.treeplexes]
    if max(len(some) for some in plans) > 2000:
        return
    payoffs = plans[0] @ form.A @ plans[1].T
    assert payoff_range(form) >= payoffs.max() - payoffs.min() - 1e-9
    for treeplex, some in zip(form.treeplexes, plans, strict=True):
        reaches = np.max([treeplex.inflow @ plan for plan in some], axis=0) if treeplex.num_infosets else np.zeros(0)
        most = largest_reaches(treeplex)
        assert (most >= reaches - 1e-12).all()
        if flows:
            np.testing.assert_allclose(most, reaches, atol=1e-12)
    constraints = conflicting(game, rng)
    player = constraints[0].player
    values = np.array([[one.value(plan) for plan in plans[player]] for one in constraints])
    for one, attained in zip(constraints, values, strict=True):
        assert function_extent(one, form.treeplexes[player])[:2] == pytest.approx((attained.min(), attained.max()))
    constants = bound_constants(ConstrainedNash(game, constraints))
    assert constants.largest == pytest.approx(np.abs(values).max())
    assert constants.slope == pytest.approx((values.max(axis=1) - values.min(axis=1)).max())
    if not flows:
        assert constants.slope <= max(np.abs(one.coefficients[1:]).sum() for one in constraints) + 1e-9


def to_game_of(rng):
    """Return a matrix game of a random shape, whose payoff range is known."""
    payoffs = rng.normal(size=(rng.integers(1, 5), rng.integers(1, 5)))
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs))
    assert payoff_range(game.sequence_form) == pytest.approx(payoffs.max() - payoffs.min())
    return game


def test_payoffs_range_over_leaves_and_over_factors():
    assert payoff_range(KUHN.sequence_form) == 4.0
    form = load_game("transit:width=2").sequence_form
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(200):
        plans = [treeplex.plan(np.concatenate([[1.0], draw(treeplex, rng)])) for treeplex in form.treeplexes]
        drawn.append(form.expected_payoffs(plans)[0])
    whole = SequenceForm(form.treeplexes, payoff_matrices=[form.A, -form.A])
    assert max(drawn) - min(drawn) <= payoff_range(whole) <= payoff_range(form) + 1e-9


def draw(treeplex, rng):
    """Return a pure behaviour at random, without the empty sequence."""
    behaviour = np.zeros(treeplex.num_sequences)
    behaviour[rng.integers(treeplex.offsets[:-1], treeplex.offsets[1:])] = 1.0
    return behaviour[1:]


@examples(25)
@given(trees(size=10), st.integers(0, 2**32))
def test_constrained_exploitability_is_that_of_dense_programs(root, seed):
    game, rng = to_game(root), np.random.default_rng(seed)
    constraints = [*conflicting(game, rng, 2), *conflicting(game, rng, 1)]
    constraints = [LinearConstraint(c.player, c.terms, c.bound, str(place)) for place, c in enumerate(constraints)]
    problem = ConstrainedNash(game, constraints)
    form, profile = game.sequence_form, Profile.uniform(game)
    total = 0.0
    for player, treeplex in enumerate(form.treeplexes):
        own = [one for one in constraints if one.player == player]
        G = np.array([one.minorant(np.zeros(treeplex.num_sequences))[0] for one in own])
        G = G.reshape(len(own), treeplex.num_sequences)
        h, count = np.array([one.limit for one in own]), len(own)
        equal = np.hstack([treeplex.E.toarray(), np.zeros((treeplex.E.shape[0], count))])
        rows = np.hstack([G, -np.eye(count)])
        cost = np.concatenate([np.zeros(treeplex.num_sequences), np.ones(count)])
        least = linprog(cost, rows, h, equal, treeplex.e).fun if own else 0.0
        assert least_violation(problem, player) == pytest.approx(least, abs=1e-7)
        payoffs = np.concatenate([form.gradient(player, profile.plans), np.zeros(count)])
        # A hair for the rounding of the first program.
        limited = linprog(-payoffs, np.vstack([rows, cost]), np.append(h, least + 1e-10), equal, treeplex.e)
        assert limited.status == 0
        total -= limited.fun
    assert constrained_exploitability(problem, profile) == pytest.approx(total, abs=1e-5)


def test_the_corollary_is_the_theorems_with_the_papers_steps():
    constants, beta, iterations = BoundConstants(4.0, 6, 4, 3, 1.5, 0.7), 2.0, 10_000
    regret = multiplier_regret_bound(constants, beta, iterations)
    assert regret == pytest.approx(3 * beta * 0.7 * 100)
    paper = ((4 * 4.0 + 2 * 3 * beta * 1.5) * 6 * 2 + 2 * 3 * beta * 0.7) / 100
    assert exploitability_bound(constants, beta, iterations) == pytest.approx(paper)
    paper = ((2 * 4.0 + 3 * beta * 1.5) * 6 * 2 + 3 * beta * 0.7) / (100 * (beta - 0.5))
    assert violation_bound_above_price(constants, beta, iterations, 0.5) == pytest.approx(paper)
    assert violation_bound_above_price(constants, beta, iterations, 2.0) == math.inf
    assert multiplier_regret_bound(constants, beta, iterations, decreasing=True) == pytest.approx(1.5 * regret)


def test_the_papers_steps_give_the_papers_bound():
    """One constraint with a largest coefficient of 1: α is the step times the largest payoff."""
    beta, iterations = 1.0, 400
    step = best_step(ConstrainedNash(KUHN, CASES["B"]), beta, iterations)
    assert step == pytest.approx(beta / (0.5 * math.sqrt(iterations)) / KUHN.sequence_form.payoff_scale)
    found = ccfr_bounds(run(KUHN, CASES["B"], beta, iterations, step=step))
    assert found.constants.largest == 0.5
    bound = next(one for one in found.bounds if one.name == "corollary 3.1" and one.quantity == "exploitability")
    assert bound.bound == pytest.approx(exploitability_bound(found.constants, beta, iterations))


def test_plain_steps_are_measured_by_their_size():
    regrets = [
        MeasuredRun(run(KUHN, CASES["A"], 2.0, 100, step=step, step_unit=unit)).step_regret_bound(0)
        for step, unit in ((0.2, "plain"), (0.2 / KUHN.sequence_form.payoff_scale, "scaled"))
    ]
    assert regrets[0] == pytest.approx(regrets[1])


@examples(15)
@given(constrained_games(), st.floats(0.1, 10.0))
def test_no_other_step_promises_less_regret_of_multipliers(posed, beta):
    game, constraints = posed
    constants = bound_constants(ConstrainedNash(game, constraints))
    if constants.largest == 0.0:
        with pytest.raises(UnsupportedProblemError, match="no constraint"):
            best_step(ConstrainedNash(game, constraints), beta, 50)
        return
    step = best_step(ConstrainedNash(game, constraints), beta, 50)
    promised = [
        sum(MeasuredRun(run(game, constraints, beta, 50, step=factor * step)).step_regret_bound(p) for p in range(2))
        for factor in (1.0, 0.9, 1.1)
    ]
    assert promised[0] <= min(promised)
    if len(constraints) == 1:
        assert promised[0] == pytest.approx(multiplier_regret_bound(constants, beta, 50))


# --- what is printed and refused --------------------------------------------------------------------------------------


def test_bounds_are_printed_and_become_json():
    found = ccfr_bounds(run(KUHN, CASES["A"], 2.0, 100))
    lines = str(found).splitlines()
    assert len(lines) == 1 + len(found.bounds)
    assert lines[0].split() == ["bound", "on", "actual", "at", "most", "holds"]
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert record["constants"]["payoff_range"] == 4.0
    assert len(record["bounds"]) == len(found.bounds)
    assert all(one["holds"] for one in record["bounds"])


@pytest.mark.parametrize(
    ("method", "text"),
    [
        (CCFR(), "do not cover base='dcfr'"),
        (CCFR(base="cfr"), "do not cover updates='alternating'"),
        (CCFR(base="cfr", updates="simultaneous"), "do not cover steps='optimistic'"),
        (recipe(averaging="linear"), "do not cover averaging='linear'"),
        (recipe(iterate="last"), "do not cover iterate='last'"),
        ("highs", "apply to constrained CFR, not to highs"),
    ],
)
def test_other_methods_are_refused(method, text):
    solution = solve(ConstrainedNash(KUHN, CASES["B"], penalty=1.0), method, tol=1.0)
    with pytest.raises(UnsupportedProblemError, match=text) as raised:
        ccfr_bounds(solution)
    assert "\n" not in str(raised.value)


def test_other_runs_are_refused():
    with pytest.raises(UnsupportedProblemError, match="not a solution of a constrained problem"):
        ccfr_bounds(solve(Nash(KUHN), "cfr", tol=1.0))
    with pytest.raises(UnsupportedProblemError, match="not a solution of a constrained problem"):
        ccfr_bounds(3)
    largest = ConstrainedNash(KUHN, CASES["A"], penalty=1.0, penalise="largest")
    with pytest.raises(UnsupportedProblemError, match="use penalise='sum'"):
        ccfr_bounds(solve(largest, recipe(), tol=0, max_iterations=10))
    with pytest.raises(UnsupportedProblemError, match="has no averages: pose the problem with a penalty"):
        ccfr_bounds(solve(ConstrainedNash(KUHN, CASES["E"]), recipe()))
    with pytest.raises(UnsupportedProblemError, match="the bound on the multipliers is 0, expected more than 0"):
        ccfr_bounds(run(KUHN, CASES["B"], 0.0, 10))
    with pytest.raises(UnsupportedProblemError, match="beta is 3, but the multipliers of this run are bounded by 2"):
        ccfr_bounds(run(KUHN, CASES["B"], 2.0, 10), beta=3)
    with pytest.raises(UnsupportedProblemError, match="beta is nan, expected a number above 0"):
        ccfr_bounds(run(KUHN, CASES["B"], 2.0, 10), beta=math.nan)
    with pytest.raises(UnsupportedProblemError, match="has not averaged any iterations"):
        ccfr_bounds(run(KUHN, CASES["B"], 2.0, 0))
    for wrong in ({"beta": -1.0, "iterations": 1}, {"beta": 1.0, "iterations": 0}, {"beta": "1", "iterations": 1}):
        with pytest.raises(InvalidConstraintError, match="expected"):
            exploitability_bound(BoundConstants(1.0, 1, 1), **wrong)
