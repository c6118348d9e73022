"""Linear programs that depend on one number, kept warm in one HiGHS instance."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import highspy
import numpy as np
import scipy.sparse as sp

from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, UnsupportedProblemError
from ..exact.highs import load

_PRIMAL_SIMPLEX = int(highspy.simplex_constants.SimplexStrategy.kSimplexStrategyPrimal)
_BOUNDS = ("row_lower", "row_upper", "column_lower", "column_upper")


@dataclass(frozen=True, eq=False)
class Optimum:
    """What HiGHS says of a program at one number.

    Attributes
    ----------
    primal, dual : mapping of str to ndarray of float64
        By the program's blocks of columns and of rows; duals as gains of the objective per unit of a row's bound.
    slope : float
        By how much the optimum grows per unit of the number; where it has a kink, one of its slopes there.
    """

    primal: Mapping[str, Floats]
    dual: Mapping[str, Floats]
    slope: float


class ParametricProgram:
    """A linear program whose objective, or whose bounds, depend on a number t linearly.

    Parameters
    ----------
    first, last : LinearProgram
        The program at two numbers.
    lower, upper : float
        These numbers, ``lower < upper``.

    Attributes
    ----------
    varies : {"nothing", "objective", "bounds"}
        What depends on t.

    Raises
    ------
    UnsupportedProblemError
        If the matrix depends on t, or the objective and the bounds do both.

    Notes
    -----
    With the objective the optimum of a maximisation is convex in t, with the bounds concave. A change of the objective
    leaves a basis primal feasible, so that the primal simplex method goes on from it; a change of bounds leaves it dual
    feasible, for the dual simplex method.

    Examples
    --------
    max x + 2 y such that x + y ≤ t, 0 ≤ x, 0 ≤ y ≤ 1, at t = 3:

    >>> import scipy.sparse as sp
    >>> from treeplex.models.programs.program_blocks import ProgramBlocks
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
        _check_same_matrix(first, last)
        self.program, self.lower, self.upper = first, lower, upper
        width = upper - lower
        self._objective = (last.objective - first.objective) / width
        self._bounds = {name: _difference(getattr(first, name), getattr(last, name)) / width for name in _BOUNDS}
        objective_varies = bool(self._objective.any())
        bounds_vary = any(bool(steps.any()) for steps in self._bounds.values())
        if objective_varies and bounds_vary:
            raise UnsupportedProblemError(
                "both the objective and the bounds of the linear program depend on the number: expected one of them"
            )
        self.varies: Literal["nothing", "objective", "bounds"] = (
            "objective" if objective_varies else "bounds" if bounds_vary else "nothing"
        )
        scale = max(float(np.abs(one.objective).max(initial=0.0)) for one in (first, last)) or 1.0
        self._factor = -scale if first.maximise else scale
        self._solver: Any = load(first)
        self._solver.setOptionValue("solver", "simplex")
        self._change_objective(np.arange(first.shape[1]), 0.0)
        self._warm = False

    def solve(self, number: float) -> Optimum:
        """Solve the program at a number, from the basis of the number before.

        Raises
        ------
        SolverError
            If HiGHS finds no optimum.
        """
        step = number - self.lower
        if self.varies == "objective":
            self._change_objective(np.flatnonzero(self._objective), step)
        elif self.varies == "bounds":
            self._change_bounds(step)
        solver = self._solver
        solver.run()
        if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            solver.clearSolver()
            solver.run()
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            said = solver.modelStatusToString(status).lower()
            raise SolverError(f"the linear program at {number:.9g} has no optimum: HiGHS says {said}")
        if not self._warm and self.varies == "objective":
            # The first solve is quickest by the dual simplex method, those from a basis by the primal one.
            solver.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX)
            solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
        self._warm = True
        return self._optimum()

    def feasible(self) -> tuple[float, float] | None:
        """Return the smallest and the largest number between `lower` and `upper` with an optimum.

        Returns
        -------
        tuple of float, or None
            ``None`` if there is no such number. Where the bounds depend on t, numbers for which the program is
            feasible; where the objective does, those for which it is bounded.

        Raises
        ------
        SolverError
            If HiGHS does not tell.
        """
        system = self._dual_system() if self.varies == "objective" else self._primal_system()
        ends = []
        for maximise in (False, True):
            solver = load(LinearProgram(**system, maximise=maximise))
            solver.setOptionValue("solver", "simplex")
            solver.run()
            status = solver.getModelStatus()
            if status == highspy.HighsModelStatus.kInfeasible:
                return None
            if status != highspy.HighsModelStatus.kOptimal:
                said = solver.modelStatusToString(status).lower()
                raise SolverError(f"which numbers are feasible was not found: HiGHS says {said}")
            ends.append(self.lower + float(np.clip(solver.getSolution().col_value[-1], 0.0, self.upper - self.lower)))
        return ends[0], ends[1]

    def _change_objective(self, columns: Any, step: float) -> None:
        values = (self.program.objective[columns] + step * self._objective[columns]) / self._factor
        self._solver.changeColsCost(len(columns), columns.astype(np.int32), values)

    def _change_bounds(self, step: float) -> None:
        for kind, change in (("row", self._solver.changeRowsBounds), ("column", self._solver.changeColsBounds)):
            lower, upper = self._bounds[f"{kind}_lower"], self._bounds[f"{kind}_upper"]
            which = np.flatnonzero(lower.astype(bool) | upper.astype(bool))
            if len(which):
                at_lower = getattr(self.program, f"{kind}_lower")[which] + step * lower[which]
                at_upper = getattr(self.program, f"{kind}_upper")[which] + step * upper[which]
                change(len(which), which.astype(np.int32), at_lower, at_upper)

    def _optimum(self) -> Optimum:
        solution = self._solver.getSolution()
        primal, dual = np.array(solution.col_value), np.array(solution.row_dual) * self._factor
        slope = float(self._objective @ primal)
        if self.varies == "bounds":
            reduced = np.array(solution.col_dual) * self._factor
            # A multiplier belongs to the bound that binds: a lower one where a larger bound lowers the optimum.
            sign = 1.0 if self.program.maximise else -1.0
            for kind, multipliers in (("row", dual), ("column", reduced)):
                lower, upper = self._bounds[f"{kind}_lower"], self._bounds[f"{kind}_upper"]
                slope += float(multipliers @ np.where(sign * multipliers > 0.0, upper, lower))
        return Optimum(
            primal={name: primal[part] for name, part in self.program.columns.items()},
            dual={name: dual[part] for name, part in self.program.rows.items()},
            slope=slope,
        )

    def _primal_system(self) -> dict[str, Any]:
        """Return the program's constraints with t − lower as one more column."""
        program, count = self.program, self.program.shape[1]
        # M z − t step ≤ upper and the like; of columns whose bounds move, the same.
        moving = np.flatnonzero(self._bounds["column_lower"].astype(bool) | self._bounds["column_upper"].astype(bool))
        rows = sp.vstack([program.matrix, sp.eye_array(count, format="csr")[moving]], format="csc")
        lower_step = np.concatenate([self._bounds["row_lower"], self._bounds["column_lower"][moving]])
        upper_step = np.concatenate([self._bounds["row_upper"], self._bounds["column_upper"][moving]])
        lower = np.concatenate([program.row_lower, program.column_lower[moving]])
        upper = np.concatenate([program.row_upper, program.column_upper[moving]])
        column_lower, column_upper = program.column_lower.copy(), program.column_upper.copy()
        column_lower[moving], column_upper[moving] = -np.inf, np.inf
        # A row whose two bounds move differently stands twice, once for each.
        apart = np.flatnonzero(lower_step != upper_step)
        matrix = sp.vstack([rows, rows.tocsr()[apart]], format="csc")
        step = np.concatenate([upper_step, lower_step[apart]])
        first = np.concatenate([np.where(lower_step != upper_step, -np.inf, lower), lower[apart]])
        second = np.concatenate([upper, np.full(len(apart), np.inf)])
        return self._with_number(matrix, step, first, second, column_lower, column_upper)

    def _dual_system(self) -> dict[str, Any]:
        """Return what multipliers must satisfy, with t − lower as one more column: Mᵀ π − t step compares with c."""
        program = self.program
        sign = 1.0 if program.maximise else -1.0
        # What a bounded column leaves of c − Mᵀ π has the sign that its bounds can pay for.
        up, down = np.isfinite(program.column_upper), np.isfinite(program.column_lower)
        above, below = (down, up) if sign > 0 else (up, down)
        # Mᵀ π ≥ c where a column is only bounded below, ≤ c where only above, = c where free, anything where both.
        # Divided by its size, since tolerances are absolute: multipliers are in that unit then, and t is not.
        costs, step = program.objective / abs(self._factor), self._objective / abs(self._factor)
        first = np.where(below, -np.inf, costs)
        second = np.where(above, np.inf, costs)
        positive, negative = np.isfinite(program.row_upper), np.isfinite(program.row_lower)
        if sign < 0:
            positive, negative = negative, positive
        column_lower, column_upper = np.where(negative, -np.inf, 0.0), np.where(positive, np.inf, 0.0)
        return self._with_number(program.matrix.T.tocsc(), step, first, second, column_lower, column_upper)

    def _with_number(
        self, matrix: Any, step: Floats, first: Floats, second: Floats, lower: Floats, upper: Floats
    ) -> dict[str, Any]:
        columns = sp.hstack([matrix, sp.csc_array(-step[:, None])], format="csc")
        columns.sort_indices()
        return {
            "objective": np.append(np.zeros(matrix.shape[1]), 1.0),
            "matrix": columns,
            "row_lower": first,
            "row_upper": second,
            "column_lower": np.append(lower, 0.0),
            "column_upper": np.append(upper, self.upper - self.lower),
        }


def _check_same_matrix(first: LinearProgram, last: LinearProgram) -> None:
    same = first.shape == last.shape and first.maximise == last.maximise and first.matrix.nnz == last.matrix.nnz
    if not same or (first.matrix != last.matrix).nnz:
        raise UnsupportedProblemError("the matrix of the linear program depends on the number: expected bounds alone")


def _difference(first: Floats, last: Floats) -> Floats:
    """Return last minus first, 0 where both are the same infinity.

    Raises
    ------
    UnsupportedProblemError
        If a bound is finite at one number and not at the other.
    """
    if (np.isfinite(first) != np.isfinite(last)).any():
        raise UnsupportedProblemError("a bound of the linear program is finite for some numbers and not for others")
    finite = np.isfinite(first)
    return np.where(finite, np.where(finite, last, 0.0) - np.where(finite, first, 0.0), 0.0)
