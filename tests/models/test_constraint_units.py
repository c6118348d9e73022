"""Constraints in any unit: rows of all sizes, rows without coefficients, values at the border of a domain."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest

from treeplex import ConstrainedNash, Status, load_game, solve
from treeplex.models.constraints import LinearConstraint
from treeplex.models.constraints.collect import read_cvxpy
from treeplex.models.problems import FeasibilityRelaxation

KUHN = load_game("kuhn")
X = KUHN.plan(0)
METHODS = ("highs", "highs-ipm", "cvxpy", "rational")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("constraint", [LinearConstraint(0, {}, -1, "never"), LinearConstraint(1, {1: 0}, -1, "never")])
def test_a_row_without_coefficients_that_cannot_be_met_is_named(constraint, method):
    solution = solve(ConstrainedNash(KUHN, [constraint]), method)
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.conflict == ("never",)
    assert "never excludes all strategies" in str(solution.infeasibility)


@pytest.mark.parametrize("method", METHODS)
def test_a_row_without_coefficients_that_always_holds_changes_nothing(method):
    solution = solve(ConstrainedNash(KUHN, {"always": 0 * X[1] <= 1}), method)
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(-1 / 18, abs=1e-8)
    assert str(solution.multipliers["always"]) in ("0.0", "0")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e9])
def test_rows_of_any_size_have_the_same_optimum_and_the_multiplier_of_their_unit(size, method):
    jack = LinearConstraint(0, {2: size}, 0.5 * size, "jack", ">=")
    solution = solve(ConstrainedNash(KUHN, [jack]), method)
    assert solution.status is Status.OPTIMAL
    assert solution.value == pytest.approx(-1 / 9, abs=1e-8)
    assert solution.multipliers["jack"] * size == pytest.approx(1 / 3, abs=1e-6)


@pytest.mark.parametrize("method", ["highs", "cvxpy"])
@pytest.mark.parametrize("penalise", ["sum", "largest"])
@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_penalties_are_per_unit_of_the_row_as_it_was_written(size, penalise, method):
    rows = [LinearConstraint(0, {2: size}, 0.5 * size, "jack", ">="), LinearConstraint(0, {1: 1.0}, 1.0, "idle")]
    paid = solve(ConstrainedNash(KUHN, rows, penalty=0.1 / size, penalise=penalise), method)
    alike = solve(ConstrainedNash(KUHN, {"jack": X[2] >= 0.5}, penalty=0.1), method)
    assert paid.status is alike.status is Status.OPTIMAL
    assert paid.objective == pytest.approx(alike.objective, abs=1e-8)
    assert paid.multipliers["jack"] * size == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("method", ["highs", "cvxpy", "rational"])
@pytest.mark.parametrize("size", [1e-12, 1e-9, 1e9, 1e16])
def test_rows_of_very_different_sizes_that_exclude_each_other_are_named_with_their_least_violation(size, method):
    rows = [LinearConstraint(0, {2: size}, 0.5 * size, "often", ">="), LinearConstraint(0, {2: 1.0}, 0.4, "seldom")]
    solution = solve(ConstrainedNash(KUHN, rows), method)
    assert solution.status is Status.INFEASIBLE
    assert set(solution.infeasibility.conflict) == {"often", "seldom"}
    assert float(solution.infeasibility.least_violation) == pytest.approx(0.1 * min(1.0, size), rel=1e-6)


def test_bounds_that_differ_by_less_than_floats_are_trusted_with_exclude_each_other_in_fractions():
    rows = [
        LinearConstraint(0, {2: 1}, Fraction(1, 2) + Fraction(1, 10**15), "often", ">="),
        LinearConstraint(0, {2: 1}, Fraction(1, 2), "seldom"),
    ]
    solution = solve(ConstrainedNash(KUHN, rows), "rational")
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.least_violation == Fraction(1, 10**15)
    assert solution.infeasibility.largest_violation == Fraction(1, 2 * 10**15)
    assert set(solution.infeasibility.conflict) == {"often", "seldom"}


def test_a_function_that_cvxpy_cannot_value_at_a_plan_is_violated_there():
    (ratio,) = read_cvxpy(cp.quad_over_lin(X[3:5], X[1]) + 1 <= 0, KUHN)
    never = KUHN.sequence_form.treeplexes[0].plan([1, 0, 1, 0.5, 0.5, *([0.5] * 8)])
    assert never[1] == 0.0
    assert np.isfinite(ratio.value(never))
    solution = solve(FeasibilityRelaxation(KUHN, 0, [ratio]), "cvxpy")
    assert solution.objective >= 1.0
    assert solution.violation >= 1.0


def test_affine_functions_without_a_gradient_in_cvxpy_are_linear():
    (read,) = read_cvxpy(cp.real(2 * X[1] + 3) <= 0.5, KUHN)
    assert isinstance(read, LinearConstraint)
    assert (read.terms, read.bound) == ({1: 2.0}, -2.5)


def test_the_largest_of_no_violations_is_none():
    assert solve(FeasibilityRelaxation(KUHN, 0, [], "largest")).objective == 0.0
