"""Refinement of nearly optimal solutions of linear programs by an interior point method."""

import highspy
import numpy as np
import scipy.sparse as sp

from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats
from .distances import StandardProgram
from .highs_models import STALLED, TOLERANCE, choose_algorithm, objective_factor, run_solver, silent_solver

#: The initial unit of distances from the answer, and of the costs of columns there. HiGHS's tolerances are absolute, so
#: distances are more accurate than columns by this factor.
_UNIT = 0.1


def interior_point(
    program: StandardProgram, near: tuple[Floats, Floats], seconds: float
) -> tuple[Floats, Floats] | None:
    """Return an optimum of a program: columns and multipliers of rows.

    Parameters
    ----------
    program : StandardProgram
    near : tuple of ndarray of float64
        Nearly optimal columns and multipliers. The better they are, the more accurate the result is.
    seconds : float
        The time limit.

    Returns
    -------
    tuple of ndarray of float64, or None
        ``None`` if no optimum was found.

    Raises
    ------
    KeyboardInterrupt

    Notes
    -----
    With slacks s ≥ 0 the program is min {c · v : A v + s = b}. Let v̄, s̄ and multipliers λ̄ be near its optimum, and d
    = c + Aᵀ λ̄. Then c · v + b · λ̄ = d · v + λ̄ · s whenever A v + s = b, so that v = v̄ + u δ and s = s̄ + u σ are
    optimal if

        (δ, σ) minimise (d · δ + λ̄ · σ) / u  such that  A δ + σ = (b − A v̄ − s̄) / u,  δ ≥ −v̄ / u,  σ ≥ −s̄ / u,

    and the multipliers of that program, times u, are the correction of λ̄. A. M. Gleixner, D. E. Steffy and K. Wolter,
    "Iterative refinement for linear programming", INFORMS Journal on Computing 28 (2016).
    """
    place, price = near
    loose = np.flatnonzero(~program.equal)
    left = program.limits - program.matrix @ place
    slack = np.maximum(left[loose], 0.0)
    left[loose] -= slack
    entries = (np.ones(len(loose)), (loose, np.arange(len(loose))))
    slacks = sp.csc_array(entries, shape=(len(left), len(loose)))
    whole = sp.hstack([program.matrix, slacks], format="csc")
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = whole.shape
    model.col_cost_ = np.append(program.costs + program.matrix.T @ price, price[loose]) / _UNIT
    model.col_lower_ = np.append(np.where(program.free, -np.inf, -place), -slack) / _UNIT
    model.col_upper_ = np.full(whole.shape[1], np.inf)
    model.row_lower_ = model.row_upper_ = left / _UNIT
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = whole.indptr, whole.indices, whole.data
    solver = silent_solver(TOLERANCE)
    choose_algorithm(solver, "ipm")
    solver.setOptionValue("ipm_iteration_limit", STALLED)
    solver.setOptionValue("time_limit", seconds)
    solver.passModel(model)
    if run_solver(solver, interruptible=True):
        raise KeyboardInterrupt
    solution = solver.getSolution()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal or not solution.dual_valid:
        return None
    columns = place + _UNIT * np.array(solution.col_value)[: len(place)]
    return program.within(columns, price - _UNIT * np.array(solution.row_dual))


def refined(program: LinearProgram, numbers: tuple[Floats, Floats], seconds: float) -> tuple[Floats, Floats] | None:
    """Return more accurate columns and multipliers of rows than the given ones; ``None`` if none were found.

    Parameters
    ----------
    program : LinearProgram
    numbers : tuple of ndarray of float64
        Columns, and the change of the objective per unit of each row's bound.
    seconds : float
        The time limit.

    Raises
    ------
    KeyboardInterrupt
    """
    standard, factor = StandardProgram.of(program), objective_factor(program)
    if standard is None or seconds <= 0.0:
        return None
    near = standard.within(numbers[0], numbers[1] / -factor)
    found = interior_point(standard, near, seconds)
    if found is None:
        return None
    with np.errstate(over="ignore"):  # prices beyond the largest float are clipped to it
        return found[0], np.nan_to_num(found[1] * -factor)
