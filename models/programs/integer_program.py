"""Mixed-integer linear programs, solved by HiGHS's branch and bound."""

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

#: HiGHS's tolerances for feasibility and integrality.
TOLERANCE = 1e-9
#: The steps of HiGHS's presolve that are left out, sparsification and probing, as bits: with them HiGHS 1.15 reports
#: some feasible programs as infeasible.
_LEFT_OUT = 1 << 14 | 1 << 15

#: Runs HiGHS; returns whether Ctrl-C or the deadline ended it.
Runner = Callable[[Any], bool]


def run_plainly(solver: Any) -> bool:
    """Run HiGHS to its end; Ctrl-C takes effect only afterwards."""
    solver.run()
    return False


@dataclass(frozen=True, eq=False)
class IntegerAnswer:
    """The values of the columns in the best solution found, and a bound on the objective.

    Attributes
    ----------
    columns : ndarray of float64, shape (columns,)
        Integers where required.
    objective : float
    bound : float
        The bound of branch and bound: no solution has a larger objective if the program maximises, or a smaller one if
        it minimises.
    ending : KeyboardInterrupt, TimeLimitError or None
        The interruption of the branch and bound, if any.
    """

    columns: Floats
    objective: float
    bound: float
    ending: KeyboardInterrupt | TimeLimitError | None = None


@dataclass(frozen=True, eq=False)
class IntegerProgram:
    """A linear program in which some columns must be integers.

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
    Two of three items, of which the first two exclude each other:

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
        """Return the program with a block of integer columns."""
        integer = np.zeros(program.shape[1], dtype=bool)
        integer[program.columns[block]] = True
        return cls(program, integer)

    def solve(
        self, run: Runner = run_plainly, gap: float = 0.0, start: Floats | None = None, unfinished: bool = False
    ) -> IntegerAnswer:
        """Solve the program.

        Parameters
        ----------
        run : callable
            Runs HiGHS.
        gap : float
            Permitted distance from the bound.
        start : ndarray of float64, shape (columns,), optional
            Column values from which the branch and bound starts.
        unfinished : bool
            Whether to return the best solution so far, if there is one, when the branch and bound is interrupted.

        Raises
        ------
        SolverError
            If there is no answer.
        KeyboardInterrupt, TimeLimitError
            If it was interrupted, and the best solution so far is not requested or does not exist.
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
            ("presolve_rule_off", _LEFT_OUT),
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
