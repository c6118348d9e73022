"""Parts of linear programs near their optimum, solved for the distance from an approximate answer."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats, Integers
from .highs_models import objective_factor, run_solver, silent_solver

Mask = npt.NDArray[np.bool_]

#: A released column that is further below its bound than this has crossed it.
_CROSSED = 1e-11
#: The number of runs after which all columns have their bounds again.
_RUNS = 6
#: The number of columns from which HiGHS runs interruptibly, which takes slightly longer.
_STOPPABLE = 3_000
#: A smaller number does not make a column independent.
_PIVOT = 1e-4
#: HiGHS's number for the primal simplex method, which continues from a basis near the optimum.
_PRIMAL = 4


@dataclass(frozen=True, eq=False)
class StandardProgram:
    """A linear program min {c · v : A v ≤ b or A v = b, row by row; v ≥ 0 or free, column by column}.

    Its dual, min {b · λ : −Aᵀ λ ≤ c, λ ≥ 0}, with equations for free columns and free λ for equations, has the same
    form.

    Attributes
    ----------
    costs : ndarray of float64, shape (columns,)
    matrix : csc_array of float64, shape (rows, columns)
    limits : ndarray of float64, shape (rows,)
    free : ndarray of bool, shape (columns,)
    equal : ndarray of bool, shape (rows,)
    """

    costs: Floats
    matrix: sp.csc_array
    limits: Floats
    free: Mask
    equal: Mask

    @classmethod
    def of(cls, program: LinearProgram) -> "StandardProgram | None":
        """Return a program in this form, with costs in units of the objective; ``None`` if its bounds do not fit."""
        equal, free = program.row_lower == program.row_upper, np.isneginf(program.column_lower)
        columns = np.isposinf(program.column_upper) & (free | (program.column_lower == 0.0))
        rows = np.isfinite(program.row_upper) & (equal | np.isneginf(program.row_lower))
        if not (columns.all() and rows.all()):
            return None
        return cls(program.objective / objective_factor(program), program.matrix, program.row_upper, free, equal)

    @cached_property
    def by_row(self) -> sp.csr_array:
        """The matrix, row by row."""
        return self.matrix.tocsr()

    @cached_property
    def dual(self) -> "StandardProgram":
        """The dual program."""
        found = StandardProgram(self.limits, -self.by_row.T, self.costs, self.equal, self.free)
        vars(found)["by_row"] = -self.matrix.T  # the same entries in the same order need no sorting
        return found

    def within(self, columns: Floats, multipliers: Floats) -> tuple[Floats, Floats]:
        """Return columns and multipliers of rows, with invalid negative numbers set to 0."""
        return (
            np.where(self.free, columns, np.maximum(columns, 0.0)),
            np.where(self.equal, multipliers, np.maximum(multipliers, 0.0)),
        )

    def slacks(self, columns: Floats) -> Floats:
        """Return b − A v for inequalities, at least 0."""
        return np.where(self.equal, 0.0, np.maximum(self.limits - self.matrix @ columns, 0.0))


class NearProgram:
    """A part of a program, in terms of the distances of its columns from their current values, for the simplex method.

    A column that is surely off its bound may move freely. The simplex method does not move free nonbasic columns unless
    it has to. So the played part of an approximate answer is kept where the objective does not depend on it, and so is
    its protection against other replies. Columns that cross their bound get the bound back.

    Parameters
    ----------
    program : StandardProgram
    place : ndarray of float64, shape (columns,)
        The current values of the columns.
    basic : ndarray of bool, shape (columns,)
        The columns expected to be off their bounds.
    released : ndarray of bool, shape (columns,)
        The columns among them that initially may move freely.
    loose : ndarray of bool, shape (rows,)
        The rows expected to have slack.

    Attributes
    ----------
    pivots : int
        Steps of the simplex method so far.
    complement : highspy.HighsBasis
        The basis of the dual program that belongs to the one with which the simplex method began, if none was given.
    """

    def __init__(self, program: StandardProgram, place: Floats, basic: Mask, released: Mask, loose: Mask) -> None:
        self._program, self._place = program, place.copy()
        self._basic, self._loose = basic | program.free, loose & ~program.equal
        self._released = basic & released & ~program.free
        self._columns: Integers = np.zeros(0, dtype=np.int64)
        # HiGHS's indices of the program's columns and rows, −1 for none.
        self._column_numbers, self._row_numbers = (np.full(count, -1, np.int32) for count in program.matrix.shape[::-1])
        self.pivots = 0
        self.complement: Any = None

    @cached_property
    def _solver(self) -> Any:
        solver = silent_solver()
        solver.setOptionValue("solver", "simplex")
        solver.setOptionValue("simplex_strategy", _PRIMAL)
        # Some of several nearly dependent columns, as in flows, are left out.
        solver.setOptionValue("factor_pivot_tolerance", _PIVOT)
        # Otherwise columns and rows at their optimal values would be moved away.
        solver.setOptionValue("primal_simplex_bound_perturbation_multiplier", 0.0)
        return solver

    def solve(self, columns: Mask, rows: Mask, pivots: int, seconds: float, basis: Any = None) -> Floats | None:
        """Return v, with 0 for omitted columns; ``None`` if no solution was found.

        Parameters
        ----------
        columns, rows : ndarray of bool
            The columns and rows to add to the program.
        pivots : int
            The largest number of simplex steps.
        seconds : float
            The time limit.
        basis : highspy.HighsBasis, optional
            The first basis; by default the columns and rows expected to be off their bounds.

        Raises
        ------
        KeyboardInterrupt
        """
        self._extend(columns & (self._column_numbers < 0), rows & (self._row_numbers < 0), basis)
        solver, chosen = self._solver, self._columns
        place, most = self._place[chosen], self.pivots + pivots
        for left in reversed(range(_RUNS)):
            solver.setOptionValue("simplex_iteration_limit", max(0, min(most - self.pivots, 2**31 - 1)))
            solver.setOptionValue("time_limit", seconds)
            if run_solver(solver, interruptible=len(chosen) > _STOPPABLE):
                raise KeyboardInterrupt
            self.pivots += max(0, int(solver.getInfo().simplex_iteration_count))
            status, released = solver.getModelStatus(), self._released[chosen]
            if status == highspy.HighsModelStatus.kOptimal:
                found = place + np.array(solver.getSolution().col_value)
                crossed = released & (found < -_CROSSED)
            elif status in (highspy.HighsModelStatus.kUnbounded, highspy.HighsModelStatus.kUnboundedOrInfeasible):
                crossed = released
                if not crossed.any():
                    return None
            else:
                return None
            if not crossed.any():
                break
            where = np.flatnonzero(crossed if left > 1 else released).astype(np.int32)
            self._released[chosen[where]] = False
            solver.changeColsBounds(len(where), where, -place[where], np.full(len(where), np.inf))
        result = np.zeros(len(self._place))
        result[chosen] = found
        return result

    def _extend(self, more_columns: Mask, more_rows: Mask, basis: Any) -> None:
        """Add columns and rows to the program."""
        columns, rows = np.flatnonzero(more_columns), np.flatnonzero(more_rows)
        program, solver = self._program, self._solver
        begins = not len(self._columns)
        if not begins:
            self._place[columns], self._released[columns], self._basic[columns] = 0.0, False, False
            self._loose[rows] = True
        low = np.where((self._released | program.free)[columns], -np.inf, -self._place[columns])
        entries = _picked(program.matrix, columns, self._row_numbers)
        solver.addCols(len(columns), program.costs[columns], low, np.full(len(columns), np.inf), *entries)
        self._column_numbers[columns] = np.arange(len(self._columns), len(self._columns) + len(columns))
        self._columns = np.append(self._columns, columns)
        there = np.where(self._column_numbers >= 0, self._place, 0.0)
        right = (program.limits - program.matrix @ there)[rows]
        entries = _picked(program.by_row, rows, self._column_numbers)
        solver.addRows(len(rows), np.where(program.equal[rows], right, -np.inf), right, *entries)
        self._row_numbers[rows] = np.arange(len(rows)) + (self._row_numbers.max(initial=-1) + 1)
        if begins and basis is None:
            solver.setBasis(_basis(self._basic[columns], self._loose[rows]))
            _, basic = solver.getBasicVariables()  # rows as −1 − their number; the run needs the factors anyway
            part = np.ones(len(rows), dtype=bool), np.ones(len(columns), dtype=bool)
            part[0][-1 - basic[basic < 0]] = part[1][basic[basic >= 0]] = False
            self.complement = _basis(*part)
            self.complement.alien = False
        elif begins:
            solver.setBasis(basis)


def _basis(columns: Mask, rows: Mask) -> Any:
    """Return a basis with the given basic columns and rows, of any number and rank: HiGHS repairs it."""
    basis, status = highspy.HighsBasis(), highspy.HighsBasisStatus
    parts = ((status.kLower, columns), (status.kUpper, rows))
    basis.col_status, basis.row_status = (
        np.array([bound, status.kBasic], dtype=object)[basic.astype(np.intp)].tolist() for bound, basic in parts
    )
    basis.valid = basis.alien = True
    return basis


def _picked(matrix: Any, lines: Any, numbers: Integers) -> tuple[int, Integers, Integers, Floats]:
    """Return some columns of a csc array, or rows of a csr array, without entries whose index is renumbered to −1.

    The result has HiGHS's format: the number of entries, the start of each line, the indices and the values.
    """
    begins = matrix.indptr[lines]
    counts = matrix.indptr[lines + 1] - begins
    starts = np.cumsum(counts) - counts
    places = np.arange(int(counts.sum())) + np.repeat(begins - starts, counts)
    found = numbers[matrix.indices[places]]
    kept = found >= 0
    starts = np.append(0, np.cumsum(kept))[starts].astype(np.int32)
    return int(kept.sum()), starts, found[kept], matrix.data[places[kept]]
