"""Linear programs some of whose columns are whole numbers, by HiGHS's branch and bound."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import seconds_left, too_late
from .linear_program import LinearProgram

#: What HiGHS is asked for in feasibility and integrality.
TOLERANCE = 1e-9

#: Runs HiGHS; whether Ctrl-C or the deadline ended it.
Runner = Callable[[Any], bool]


def run_plainly(solver: Any) -> bool:
    """Run HiGHS to its end: Ctrl-C arrives only then."""
    solver.run()
    return False


@dataclass(frozen=True, eq=False)
class IntegerAnswer:
    """The best columns found, and a bound on what any others are worth.

    Attributes
    ----------
    columns : ndarray of float64, shape (columns,)
        Whole numbers where they have to be.
    objective : float
    bound : float
        Of the branch and bound: nothing is worth more where the program maximises, less where it minimises.
    ending : KeyboardInterrupt, TimeLimitError or None
        What ended the branch and bound before its end, if anything did.
    """

    columns: Floats
    objective: float
    bound: float
    ending: KeyboardInterrupt | TimeLimitError | None = None


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """A linear program in which some columns have to be whole numbers.

    Attributes
    ----------
    program : LinearProgram
    integer : ndarray of bool, shape (columns,)

    Notes
    -----
    Q. Huangfu and J. A. J. Hall, "Parallelizing the dual revised simplex method", Mathematical Programming Computation
    10, 2018, for HiGHS, whose branch and bound solves it.

    Examples
    --------
    Two of three things, of which the first two do not go together:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.programs.integer_program import IntegerProgram
    >>> from treeplex.models.programs.linear_program import LinearProgram
    >>> matrix, none = sp.csc_array([[1.0, 1.0, 0.0]]), np.array([-np.inf])
    >>> worth = LinearProgram(np.array([2.0, 3.0, 1.0]), matrix, none, np.ones(1), np.zeros(3), np.ones(3))
    >>> IntegerProgram(worth, np.ones(3, dtype=bool)).solve().columns.tolist()
    [0.0, 1.0, 1.0]
    """

    program: LinearProgram
    integer: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, program: LinearProgram, block: str) -> "IntegerProgram":
        """Return the program in which a block of columns is of whole numbers."""
        integer = np.zeros(program.shape[1], dtype=bool)
        integer[program.columns[block]] = True
        return cls(program, integer)

    def solve(
        self, run: Runner = run_plainly, gap: float = 0.0, start: Floats | None = None, unfinished: bool = False
    ) -> IntegerAnswer:
        """Solve it.

        Parameters
        ----------
        run : callable
            Runs HiGHS.
        gap : float
            How far from the bound the answer may stay.
        start : ndarray of float64, shape (columns,), optional
            Columns to begin with.
        unfinished : bool
            Whether the best so far is returned, if there is any, where the branch and bound was ended before.

        Raises
        ------
        SolverError
            If there is no answer.
        KeyboardInterrupt, TimeLimitError
            If it was ended before, and the best solution so far is not requested or does not exist.
        """
        import highspy

        model = self.program.to_highs()
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[whole] for whole in self.integer.tolist()]
        solver = highspy.Highs()
        solver.silent()
        for option, value in (
            ("mip_rel_gap", 0.0),
            ("mip_abs_gap", max(gap, TOLERANCE)),
            ("mip_feasibility_tolerance", TOLERANCE),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("small_matrix_value", 1e-12),
            ("time_limit", seconds_left()),
        ):
            solver.setOptionValue(option, value)
        solver.passModel(model)
        if start is not None:
            begun = highspy.HighsSolution()
            begun.col_value = start.tolist()
            solver.setSolution(begun)
        ending: KeyboardInterrupt | TimeLimitError | None = KeyboardInterrupt() if run(solver) else None
        status = solver.getModelStatus()
        if status == highspy.HighsModelStatus.kTimeLimit:
            ending = too_late("an integer program was solved")
        info, found = solver.getInfo(), solver.getSolution()
        known = found.value_valid and math.isfinite(info.mip_dual_bound)
        if ending is not None and not (unfinished and known):
            raise ending
        if not known:
            said = solver.modelStatusToString(status).lower()
            raise SolverError(f"the integer program has no solution: HiGHS reports {said}")
        columns = np.array(found.col_value)
        columns[self.integer] = np.round(columns[self.integer])
        return IntegerAnswer(columns, float(info.objective_function_value), float(info.mip_dual_bound), ending)
