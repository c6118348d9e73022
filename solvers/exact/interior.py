"""Parts of large linear programs, solved by an interior point method for their columns and multipliers at once."""

import highspy
import numpy as np

from ...seqform.arrays import Floats
from .distances import Mask, StandardProgram
from .highs import silent_solver
from .interruptible import run_solver


def interior_point(
    program: StandardProgram, columns: Mask, rows: Mask, tolerance: float, seconds: float
) -> tuple[Floats, Floats] | None:
    """Return an optimum of a part of a program: columns and multipliers of rows, 0 where these are left out.

    Parameters
    ----------
    program : StandardProgram
    columns, rows : ndarray of bool
        The part.
    tolerance : float
        HiGHS's, relative.
    seconds : float
        The time limit.

    Returns
    -------
    tuple of ndarray of float64, or None
        ``None`` if none was found.

    Raises
    ------
    KeyboardInterrupt
    """
    chosen, kept = np.flatnonzero(columns), np.flatnonzero(rows)
    part = program.matrix[:, chosen].tocsr()[kept].tocsc()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = part.shape
    model.col_cost_ = program.costs[chosen]
    model.col_lower_ = np.where(program.free[chosen], -np.inf, 0.0)
    model.col_upper_ = np.full(len(chosen), np.inf)
    model.row_upper_ = program.limits[kept]
    model.row_lower_ = np.where(program.equal[kept], program.limits[kept], -np.inf)
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_, model.a_matrix_.value_ = part.indptr, part.indices, part.data
    solver = silent_solver(tolerance)
    solver.setOptionValue("solver", "ipm")
    solver.setOptionValue("run_crossover", "off")
    solver.setOptionValue("time_limit", seconds)
    solver.passModel(model)
    if run_solver(solver, interruptible=True):
        raise KeyboardInterrupt
    solution = solver.getSolution()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal or not solution.dual_valid:
        return None
    found = np.zeros(len(columns)), np.zeros(len(rows))
    found[0][chosen], found[1][kept] = solution.col_value, -np.array(solution.row_dual)
    return found
