"""Multipliers bounded without a penalty: the bound doubles while it holds them back, and no longer."""

import math

import numpy as np
import pytest
from constrained_cases import CASES, KUHN, KUHN_CASES, TRANSIT, conflicting, constrained_games
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_game, trees

from treeplex import CCFR, ConstrainedNash, Status, UnknownMethodError, UnsupportedProblemError, load_game, solve
from treeplex.models.constraints import functional_bound
from treeplex.solvers.regret.multiplier_bound import FIRST_LOOK, MOST_DOUBLINGS, MultiplierBound, next_look

BETAS = (0.01, 0.05, 1.0)


@pytest.mark.parametrize("base", ["dcfr", "cfr+", "pcfr+"])
@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("case", KUHN_CASES)
def test_constrained_kuhn_is_solved_from_any_bound(case, beta, base):
    constraints, _, value, multipliers = KUHN_CASES[case]
    solution = solve(ConstrainedNash(KUHN, constraints), CCFR(base=base, beta=beta), tol=1e-4)
    assert solution.status is Status.CONVERGED
    assert solution.value == pytest.approx(value, abs=1e-3)
    assert dict(solution.multipliers) == pytest.approx(multipliers, abs=1e-2)
    largest = max(multipliers.values())
    assert solution.multiplier_bound >= largest - 1e-2
    # It is the first bound times a power of two, and no further from the multipliers than one doubling too many.
    doublings = math.log2(solution.multiplier_bound / beta)
    assert doublings == round(doublings)
    assert solution.multiplier_bound <= max(beta, 4 * largest)


@pytest.mark.parametrize("steps", ["optimistic", "constant", "decreasing"])
@pytest.mark.parametrize("beta", BETAS)
def test_what_cannot_be_met_is_found_out_under_any_bound(beta, steps):
    solution = solve(ConstrainedNash(KUHN, CASES["E"]), CCFR(beta=beta, steps=steps))
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.least_violation == pytest.approx(0.3)
    assert set(solution.infeasibility.conflict) == {"often", "seldom"}


def test_steps_that_decrease_arrive_too():
    constraints, _, value, _ = KUHN_CASES["A"]
    method = CCFR(base="cfr", updates="simultaneous", steps="decreasing", beta=0.01)
    solution = solve(ConstrainedNash(KUHN, constraints), method, tol=1e-3)
    assert solution.status is Status.CONVERGED
    assert solution.value == pytest.approx(value, abs=2e-3)
    assert solution.multiplier_bound > 1 / 3


@pytest.mark.parametrize("beta", BETAS)
def test_a_transit_game_is_solved_from_any_bound(beta):
    game = load_game("transit:width=2")
    risk = functional_bound(game.functionals["risk"], at_most=0.1, name="risk")
    solution = solve(ConstrainedNash(game, [risk]), CCFR(beta=beta), tol=1e-4)
    values, multiplier = TRANSIT["B", 2]
    assert solution.status is Status.CONVERGED
    assert solution.value == pytest.approx(values[2], abs=1e-3)
    assert solution.multipliers["risk"] == pytest.approx(multiplier, abs=1e-2)


@examples(20)
@given(constrained_games(), st.sampled_from(BETAS), st.sampled_from(["dcfr", "cfr+"]))
def test_random_games_are_solved_from_any_bound(posed, beta, base):
    game, constraints = posed
    problem, scale = ConstrainedNash(game, constraints), game.sequence_form.payoff_scale
    exact = solve(problem)
    solution = solve(problem, CCFR(base=base, beta=beta), tol=2e-2 * scale, max_iterations=60_000)
    assert all(price <= solution.multiplier_bound * (1 + 1e-9) for price in solution.multipliers.values())
    if solution.status is Status.CONVERGED:
        owed = sum(exact.dual_multipliers.values()) * solution.violation
        assert abs(solution.value - exact.value) <= 4e-2 * scale + owed + 1e-6
    else:  # a point alone meets the constraints, and multipliers are large
        assert solution.status is Status.ITERATION_LIMIT
        assert max(exact.multipliers.values()) > 0.0


@examples(20)
@given(trees(size=8), st.integers(0, 2**32), st.sampled_from(BETAS))
def test_constraints_at_random_are_called_infeasible_only_if_they_are(root, seed, beta):
    game = to_game(root)
    problem = ConstrainedNash(game, conflicting(game, np.random.default_rng(seed)))
    solution = solve(problem, CCFR(beta=beta), tol=1e-2 * game.sequence_form.payoff_scale, max_iterations=60_000)
    exact = solve(problem)
    if solution.status is Status.INFEASIBLE:
        assert exact.status is Status.INFEASIBLE
    elif exact.status is Status.INFEASIBLE:
        assert exact.infeasibility.least_violation <= 0.1  # hard to tell from none
    else:
        assert solution.violation <= 0.1


def test_a_run_with_doublings_goes_on_where_it_stopped():
    problem, method = ConstrainedNash(KUHN, CASES["A"]), CCFR(beta=0.01)
    whole = solve(problem, method, tol=0, max_iterations=1500)
    assert whole.multiplier_bound > 0.01
    for stop in (200, 256, 300, 1300):
        first = solve(problem, method, tol=0, max_iterations=stop)
        resumed = solve(problem, method, tol=0, max_iterations=1500 - stop, start=first)
        assert resumed.iterations == 1500
        assert resumed.multiplier_bound == whole.multiplier_bound
        assert resumed.value == whole.value
        assert dict(resumed.multipliers) == dict(whole.multipliers)


def test_a_bound_that_is_never_reached_changes_nothing():
    problem = ConstrainedNash(KUHN, CASES["A"])
    free = solve(problem, CCFR(), tol=0, max_iterations=700)
    bounded = solve(problem, CCFR(beta=100.0), tol=0, max_iterations=700)
    assert bounded.multiplier_bound == 100.0
    assert free.multiplier_bound is None
    assert bounded.value == free.value
    assert dict(bounded.multipliers) == dict(free.multipliers)


def test_iterations_count_on_and_the_history_rises():
    solution = solve(ConstrainedNash(KUHN, CASES["A"]), CCFR(beta=0.01), tol=1e-4)
    assert solution.multiplier_bound > 0.01
    assert (np.diff(solution.history.iterations) > 0).all()
    assert solution.history.iterations[-1] == solution.iterations


def test_doubling_ends_at_some_time():
    problem = ConstrainedNash(KUHN, CASES["B"])
    plans = [treeplex.uniform_plan() for treeplex in KUHN.sequence_form.treeplexes]
    violated = problem.with_bound("jack", 0.9)
    pinned = {"jack": 1.0}
    assert MultiplierBound(1.0).holds_back(violated.constraints, plans, pinned, 1e-3, 256)
    assert not MultiplierBound(1.0, MOST_DOUBLINGS).holds_back(violated.constraints, plans, pinned, 1e-3, 256)
    assert not MultiplierBound(1.0).holds_back(problem.constraints, plans, pinned, 1e-3, 256)  # met by uniform play
    assert not MultiplierBound(1.0).holds_back(violated.constraints, plans, {"jack": 0.6}, 1e-3, 256)
    assert MultiplierBound(1.0).holds_back(violated.constraints, plans, {"jack": 0.6}, 1e-3, 2048)
    assert not MultiplierBound(1.0).holds_back(violated.constraints, plans, {"jack": 0.4}, 1e-3, 10**9)


def test_looks_come_after_powers_of_two():
    looks = [0]
    while looks[-1] < 10_000:
        looks.append(next_look(looks[-1]))
    assert looks[1:4] == [FIRST_LOOK, 2 * FIRST_LOOK, 4 * FIRST_LOOK]
    assert next_look(700, begun=600) == 600 + FIRST_LOOK


def test_the_record_says_where_the_bound_ended():
    solution = solve(ConstrainedNash(KUHN, CASES["B"]), CCFR(beta=0.05), tol=1e-3)
    record = solution.to_dict()
    assert record["options"]["beta"] == 0.05
    assert record["multiplier_bound"] == solution.multiplier_bound > 0.3


def test_bounds_that_are_none_are_refused():
    for beta in (0, -1.0, math.nan, math.inf, "one", True):
        with pytest.raises(UnknownMethodError, match=r"ccfr: beta = .*; expected a number above 0"):
            CCFR(beta=beta)
    problem = ConstrainedNash(KUHN, CASES["A"], penalty=0.5)
    with pytest.raises(UnsupportedProblemError, match="omit one of the two"):
        solve(problem, CCFR(beta=0.5))
