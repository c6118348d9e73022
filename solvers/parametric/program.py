"""Linear programs that depend on one parameter, in one HiGHS instance that keeps its basis."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import highspy
import numpy as np
import scipy.sparse as sp

from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, UnsupportedProblemError
from ..exact.highs_models import load

_PRIMAL_SIMPLEX = int(highspy.simplex_constants.SimplexStrategy.kSimplexStrategyPrimal)


@dataclass(frozen=True, eq=False)
class Optimum:
    """HiGHS's answer for a program at one value of the parameter.

    Attributes
    ----------
    primal, dual : mapping of str to ndarray of float64
        Values by the program's blocks of columns and of rows; duals are gains of the objective per unit of a row's
        bound.
    slope : float
        The derivative of the optimum with respect to the parameter; at a kink, one of its slopes.
    """

    primal: Mapping[str, Floats]
    dual: Mapping[str, Floats]
    slope: float


class ParametricProgram:
    """A linear program whose objective or whose bounds of rows depend linearly on a parameter t.

    Parameters
    ----------
    first, last : LinearProgram
        The program at two values of t.
    lower, upper : float
        These values, ``lower < upper``.

    Attributes
    ----------
    varies : {"nothing", "objective", "bounds"}
        The part that depends on t.

    Raises
    ------
    UnsupportedProblemError
        If the matrix or a column's bounds depend on t, or the objective and the bounds of rows do both.

    Notes
    -----
    The optimum of a maximisation is convex in t if the objective varies, and concave if bounds vary. A change of the
    objective leaves a basis primal feasible, so the primal simplex method continues from it. A change of bounds leaves
    it dual feasible, for the dual simplex method.

    Examples
    --------
    max x + 2 y such that x + y ≤ t, 0 ≤ x, 0 ≤ y ≤ 1, at t = 3:

    >>> import scipy.sparse as sp
    >>> from treeplex.models.programs.linear_program import ProgramBlocks
    >>> from treeplex.solvers.parametric.program import ParametricProgram
    >>> def program(t):
    ...     blocks = ProgramBlocks()
    ...     blocks.add_columns("x", 1, objective=1.0, lower=0.0)
    ...     blocks.add_columns("y", 1, objective=2.0, lower=0.0, upper=1.0)
    ...     blocks.add_rows("sum", {"x": sp.eye_array(1), "y": sp.eye_array(1)}, upper=t)
    ...     return blocks.program(maximise=True)
    >>> parametric = ParametricProgram(program(-1.0), program(5.0), -1.0, 5.0)
    >>> optimum = parametric.solve(3.0)
    >>> parametric.varies, optimum.primal["x"].tolist(), optimum.slope, parametric.feasible()
    ('bounds', [2.0], 1.0, (0.0, 5.0))
    """

    def __init__(self, first: LinearProgram, last: LinearProgram, lower: float, upper: float) -> None:
        _check_alike(first, last)
        self.program, self.lower, self.upper = first, lower, upper
        width = upper - lower
        self._objective = (last.objective - first.objective) / width
        self._row_lower = _difference(first.row_lower, last.row_lower) / width
        self._row_upper = _difference(first.row_upper, last.row_upper) / width
        self._columns = np.flatnonzero(self._objective).astype(np.int32)
        self._rows = np.flatnonzero((self._row_lower != 0.0) | (self._row_upper != 0.0)).astype(np.int32)
        if len(self._columns) and len(self._rows):
            raise UnsupportedProblemError(
                "both the objective and the bounds of the linear program depend on the parameter: expected only one"
            )
        self.varies: Literal["nothing", "objective", "bounds"] = (
            "objective" if len(self._columns) else "bounds" if len(self._rows) else "nothing"
        )
        scale = max(first.objective_unit, last.objective_unit)
        self._factor = -scale if first.maximise else scale
        self._solver: Any = load(first)
        self._solver.setOptionValue("solver", "simplex")
        self._change_objective(np.arange(first.shape[1], dtype=np.int32), 0.0)
        self._warm = False

    def solve(self, number: float) -> Optimum:
        """Solve the program at a value of the parameter, starting from the previous basis.

        Raises
        ------
        SolverError
            If HiGHS finds no optimum.
        """
        step = number - self.lower
        if len(self._columns):
            self._change_objective(self._columns, step)
        if len(rows := self._rows):
            lower = self.program.row_lower[rows] + step * self._row_lower[rows]
            upper = self.program.row_upper[rows] + step * self._row_upper[rows]
            self._solver.changeRowsBounds(len(rows), rows, lower, upper)
        solver = self._solver
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            solver.clearSolver()
            solver.run()
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            said = solver.modelStatusToString(status).lower()
            raise SolverError(f"the linear program at {number:.9g} has no optimum: HiGHS reports {said}")
        if not self._warm and self.varies == "objective":
            # The dual simplex method is fastest for the first solve, the primal one from a basis.
            solver.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX)
            solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
        self._warm = True
        return self._optimum()

    def feasible(self) -> tuple[float, float] | None:
        """Return the smallest and the largest parameter between `lower` and `upper` for which the program is feasible.

        Returns
        -------
        tuple of float, or None
            ``None`` if there is none.

        Raises
        ------
        SolverError
            If HiGHS does not find them.
        """
        ends = []
        for maximise in (False, True):
            solver = load(self._with_number(maximise))
            solver.setOptionValue("solver", "simplex")
            solver.run()
            status = solver.getModelStatus()
            if status == highspy.HighsModelStatus.kInfeasible:
                return None
            if status != highspy.HighsModelStatus.kOptimal:
                said = solver.modelStatusToString(status).lower()
                raise SolverError(f"the range of feasible parameters was not found: HiGHS reports {said}")
            ends.append(self.lower + float(np.clip(solver.getSolution().col_value[-1], 0.0, self.upper - self.lower)))
        return ends[0], ends[1]

    def _change_objective(self, columns: Any, step: float) -> None:
        values = (self.program.objective[columns] + step * self._objective[columns]) / self._factor
        self._solver.changeColsCost(len(columns), columns, values)

    def _optimum(self) -> Optimum:
        solution = self._solver.getSolution()
        primal, dual = np.array(solution.col_value), np.array(solution.row_dual) * self._factor
        # A multiplier belongs to the binding bound: to the lower one if a larger bound lowers the optimum.
        binds_above = dual > 0.0 if self.program.maximise else dual < 0.0
        steps = np.where(binds_above, self._row_upper, self._row_lower)
        return Optimum(
            primal={name: primal[part] for name, part in self.program.columns.items()},
            dual={name: dual[part] for name, part in self.program.rows.items()},
            slope=float(self._objective @ primal + dual @ steps),
        )

    def _with_number(self, maximise: bool) -> LinearProgram:
        """Return the constraints with an additional column, t − lower, which is minimised or maximised."""
        program = self.program
        # M z − t step ≤ upper, and so on. A row whose two bounds move differently appears twice, once for each.
        apart = np.flatnonzero(self._row_lower != self._row_upper)
        lower, again = program.row_lower.copy(), program.row_lower[apart]
        lower[apart] = -np.inf
        step = np.concatenate([self._row_upper, self._row_lower[apart]])
        rows = sp.vstack([program.matrix, program.matrix.tocsr()[apart]])
        matrix = sp.hstack([rows, sp.csc_array(-step[:, None])], format="csc")
        matrix.sort_indices()
        return LinearProgram(
            objective=np.append(np.zeros(program.shape[1]), 1.0),
            matrix=matrix,
            row_lower=np.concatenate([lower, again]),
            row_upper=np.concatenate([program.row_upper, np.full(len(apart), np.inf)]),
            column_lower=np.append(program.column_lower, 0.0),
            column_upper=np.append(program.column_upper, self.upper - self.lower),
            maximise=maximise,
        )


def _check_alike(first: LinearProgram, last: LinearProgram) -> None:
    """Raise an error if programs differ in more than the objective and the bounds of rows."""
    same = first.shape == last.shape and first.maximise == last.maximise and first.matrix.nnz == last.matrix.nnz
    if not same or (first.matrix != last.matrix).nnz:
        raise UnsupportedProblemError("the parameter changes the matrix of the program, but may change only bounds")
    if (first.column_lower != last.column_lower).any() or (first.column_upper != last.column_upper).any():
        raise UnsupportedProblemError("the parameter changes a bound of a column, but may change only bounds of rows")


def _difference(first: Floats, last: Floats) -> Floats:
    """Return last minus first, 0 where both are the same infinity.

    Raises
    ------
    UnsupportedProblemError
        If a bound is finite at only one of the two values.
    """
    moves = first != last
    difference = np.zeros(len(first))
    difference[moves] = last[moves] - first[moves]
    if not np.isfinite(difference).all():
        raise UnsupportedProblemError(
            "a bound of the linear program is finite for some parameters and infinite for others"
        )
    return difference
