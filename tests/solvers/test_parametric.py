"""Linear programs that depend on one number: the same as solving them afresh, and the numbers that have an optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from treeplex import SolverError, UnsupportedProblemError
from treeplex.models.programs.linear_program import LinearProgram
from treeplex.solvers.parametric.program import ParametricProgram


def random_program(seed, varies, maximise):
    """Return a function from a number to a program, whose objective or some of whose rows move with it."""
    source = np.random.default_rng(seed)
    rows, columns = source.integers(2, 7, 2)
    matrix = source.integers(-3, 4, (rows, columns)).astype(float)
    objective, step = source.integers(-4, 5, (2, columns)).astype(float)
    upper, upper_step = source.integers(-2, 6, rows).astype(float), source.integers(-2, 3, rows).astype(float)
    lower = np.where(source.random(rows) < 0.5, -np.inf, upper - source.integers(0, 4, rows))
    lower_step = np.where(source.random(rows) < 0.5, upper_step, 0.0)
    column_lower = np.where(source.random(columns) < 0.2, -np.inf, 0.0)
    column_upper = np.where(source.random(columns) < 0.5, np.inf, 5.0)

    def program(t):
        move = t if varies == "bounds" else 0.0
        return LinearProgram(
            objective=objective + (t * step if varies == "objective" else 0.0),
            matrix=sp.csc_array(matrix),
            row_lower=lower + move * lower_step,
            row_upper=upper + move * upper_step,
            column_lower=column_lower,
            column_upper=column_upper,
            maximise=maximise,
        )

    return program


def optimum(program):
    """Return the optimum by scipy; ``None`` if there is none."""
    above, below = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
    matrix = program.matrix.toarray()
    found = linprog(
        -program.objective if program.maximise else program.objective,
        A_ub=np.vstack([matrix[above], -matrix[below]]),
        b_ub=np.concatenate([program.row_upper[above], -program.row_lower[below]]),
        bounds=list(zip(program.column_lower, program.column_upper, strict=True)),
    )
    return None if found.status else (-found.fun if program.maximise else found.fun)


@given(st.integers(0, 10**6), st.sampled_from(["objective", "bounds"]), st.booleans())
def test_optima_and_feasible_numbers_are_those_of_programs_solved_afresh(seed, varies, maximise):
    program = random_program(seed, varies, maximise)
    parametric = ParametricProgram(program(-1.0), program(2.0), -1.0, 2.0)
    some = None
    feasible = parametric.feasible() if parametric.varies == varies == "bounds" else "unknown"
    for t in (-1.0, -0.3, 0.4, 1.1, 2.0):
        expected = optimum(program(t))
        if expected is None:
            with pytest.raises(SolverError, match="has no optimum"):
                parametric.solve(t)
        else:
            some = t
            found = parametric.solve(t)
            assert isinstance(found.slope, float)
        if feasible != "unknown":
            inside = feasible is not None and feasible[0] - 1e-7 <= t <= feasible[1] + 1e-7
            # Where it is inside, the program may still be unbounded, or infeasible for all numbers.
            assert inside or expected is None
    if some is not None and feasible not in (None, "unknown"):
        middle = sum(feasible) / 2
        assert optimum(program(middle)) is not None


@given(st.integers(0, 10**6), st.sampled_from(["objective", "bounds"]), st.booleans())
def test_slopes_are_those_of_the_optimum(seed, varies, maximise):
    program = random_program(seed, varies, maximise)
    parametric = ParametricProgram(program(-1.0), program(2.0), -1.0, 2.0)
    near = [optimum(program(0.3 + step)) for step in (-1e-4, 0.0, 1e-4)]
    if None in near:
        return
    slopes = np.sort(np.diff(near)) / 1e-4
    assert slopes[0] - 1e-6 <= parametric.solve(0.3).slope <= slopes[1] + 1e-6


def test_what_is_not_linear_in_the_number_is_refused():
    program = random_program(3, "bounds", True)
    first = program(0.0)
    other = LinearProgram(**{**vars(first), "matrix": first.matrix * 2.0})
    with pytest.raises(UnsupportedProblemError, match="the matrix"):
        ParametricProgram(first, other, 0.0, 1.0)
    both = LinearProgram(**{**vars(program(1.0)), "objective": first.objective + 1.0})
    with pytest.raises(UnsupportedProblemError, match="both the objective and the bounds"):
        ParametricProgram(first, both, 0.0, 1.0)
    bounded, unbounded = (
        LinearProgram(**{**vars(first), "row_upper": np.full(len(first.row_upper), upper)}) for upper in (9.0, np.inf)
    )
    with pytest.raises(UnsupportedProblemError, match="finite for some parameters"):
        ParametricProgram(bounded, unbounded, 0.0, 1.0)
    narrow = LinearProgram(**{**vars(first), "column_upper": np.ones(len(first.objective))})
    with pytest.raises(UnsupportedProblemError, match="a bound of a column"):
        ParametricProgram(first, narrow, 0.0, 1.0)
