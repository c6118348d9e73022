"""Linear programs as data, and their construction from blocks of columns and rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.rationals import to_fractions
from .triplets import Triplets

#: Blocks of columns whose coefficients are penalties and bounds; users may choose arbitrarily large ones.
PRICED = frozenset({"excess", "prices"})
#: The largest coefficient of an objective: solvers treat 1e20 as infinite.
FARTHEST = 1e19


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """A linear program: max or min {c · z : row_lower ≤ M z ≤ row_upper, column_lower ≤ z ≤ column_upper}.

    Attributes
    ----------
    objective : ndarray of float64, shape (columns,)
    matrix : csc_array of float64, shape (rows, columns)
        Duplicates summed, indices sorted.
    row_lower, row_upper : ndarray of float64, shape (rows,)
        Infinite if there is no bound.
    column_lower, column_upper : ndarray of float64, shape (columns,)
    maximise : bool
    columns, rows : mapping of str to slice
        The blocks of ``z`` and of the rows by name; the model that built the program documents the names.
    """

    objective: Floats
    matrix: sp.csc_array
    row_lower: Floats
    row_upper: Floats
    column_lower: Floats
    column_upper: Floats
    maximise: bool = True
    columns: Mapping[str, slice] = field(default_factory=dict)
    rows: Mapping[str, slice] = field(default_factory=dict)

    @property
    def objective_unit(self) -> float:
        """The largest coefficient of the objective, ignoring the columns in :data:`PRICED` if there are others.

        Solvers' tolerances are absolute, so a penalty of a million would hide payoffs of one. A penalty more than
        :data:`FARTHEST` times as large hides them in any unit.
        """
        costs = np.abs(self.objective)
        kept = np.ones(len(costs), dtype=bool)
        for name in PRICED & self.columns.keys():
            kept[self.columns[name]] = False
        largest = float(costs.max(initial=0.0)) or 1.0
        return max(float(costs[kept].max(initial=0.0)) or largest, largest / FARTHEST)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    def to_highs(self) -> Any:
        """Return the program as a ``highspy.HighsLp`` with the same rows, columns, objective and sense.

        Examples
        --------
        >>> from treeplex import Nash, load_game
        >>> model = Nash(load_game("kuhn")).linear_program().to_highs()
        >>> model.num_col_, model.num_row_
        (20, 20)
        """
        import highspy

        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = self.shape
        model.sense_ = highspy.ObjSense.kMaximize if self.maximise else highspy.ObjSense.kMinimize
        model.col_cost_ = self.objective
        model.col_lower_, model.col_upper_ = self.column_lower, self.column_upper
        model.row_lower_, model.row_upper_ = self.row_lower, self.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = self.matrix.indptr
        model.a_matrix_.index_ = self.matrix.indices
        model.a_matrix_.value_ = self.matrix.data
        return model

    def write(self, path: str | Path) -> None:
        """Write the program atomically to a file for other solvers, in free-format MPS or CPLEX's LP format.

        Parameters
        ----------
        path : path-like
            The suffix selects the format: ``.mps`` or ``.lp``.

        Raises
        ------
        GameFileError
            If the suffix is unknown, or the file cannot be written.

        Notes
        -----
        HiGHS writes the file, with 15 significant digits per number, and omits matrix entries below 1e-9. Rows and
        columns are named after their blocks: ``plan_3``, ``response_12``. In an LP file, a row with two different
        bounds becomes two rows.

        Examples
        --------
        >>> from treeplex import Nash, load_game
        >>> Nash(load_game("kuhn")).linear_program().write("kuhn.mps")
        """
        from .program_files import write_program

        write_program(path, self.to_highs(), self.rows, self.columns)


class ProgramBlocks:
    """A linear program under construction, in floats or in exact fractions.

    Parameters
    ----------
    exact : bool
        Whether numbers are kept as fractions, for
        :meth:`~treeplex.models.programs.rational_program.RationalProgram.of_blocks`; floats are then converted by
        :func:`~treeplex.seqform.rationals.intended_fraction`. If false, fractions become floats.

    Examples
    --------
    max x + 2 y such that x + y ≤ 1, x, y ≥ 0:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.programs.linear_program import ProgramBlocks
    >>> blocks = ProgramBlocks()
    >>> blocks.add_columns("x", 1, objective=[1.0], lower=0.0)
    >>> blocks.add_columns("y", 1, objective=[2.0], lower=0.0)
    >>> blocks.add_rows("sum", {"x": sp.eye_array(1), "y": sp.eye_array(1)}, upper=1.0)
    >>> program = blocks.program(maximise=True)
    >>> program.shape, program.matrix.toarray().tolist(), program.rows
    ((1, 2), [[1.0, 1.0]], {'sum': slice(0, 1, None)})
    """

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        self._columns: dict[str, slice] = {}
        self._rows: dict[str, slice] = {}
        # Arrays of fractions if `exact`, otherwise of floats.
        self._of_columns: list[tuple[Any, Any, Any]] = []  # objective, lower and upper bounds, block by block
        self._of_rows: list[tuple[Any, Any]] = []  # lower and upper bounds
        self._entries: list[tuple[Any, Any, Any]] = []  # rows, columns and values

    def add_columns(
        self,
        name: str,
        count: int,
        *,
        objective: npt.ArrayLike = 0.0,
        lower: npt.ArrayLike = -np.inf,
        upper: npt.ArrayLike = np.inf,
    ) -> None:
        """Add a block of variables.

        Parameters
        ----------
        name : str
        count : int
        objective, lower, upper : array_like, shape (count,) or a number for all
        """
        self._columns[name] = _next_slice(self._columns, count)
        self._of_columns.append(
            (self._filled(objective, count), self._filled(lower, count), self._filled(upper, count))
        )

    def add_rows(
        self,
        name: str,
        terms: Mapping[str, sp.sparray | Triplets],
        *,
        lower: npt.ArrayLike = -np.inf,
        upper: npt.ArrayLike = np.inf,
    ) -> None:
        """Add a block of rows: a sum of matrices, each times a block of variables, is between two bounds.

        Parameters
        ----------
        name : str
        terms : mapping of str to sparse array or Triplets
            At least one matrix, keyed by its block of variables. The blocks must exist already, and all matrices must
            have the same number of rows.
        lower, upper : array_like, shape (count,) or a number for all
        """
        count = next(iter(terms.values())).shape[0]
        self._rows[name] = _next_slice(self._rows, count)
        self._of_rows.append((self._filled(lower, count), self._filled(upper, count)))
        for column, matrix in terms.items():
            rows, columns, values = self._entries_of(matrix)
            self._entries.append((rows + self._rows[name].start, columns + self._columns[column].start, values))

    def program(self, maximise: bool) -> LinearProgram:
        """Return the program in floats, with the blocks in the order in which they were added."""
        assert not self.exact
        rows, columns, values = self.entries()
        matrix = sp.csc_array((values, (rows, columns)), shape=self.shape, dtype=np.float64)
        matrix.sort_indices()
        return LinearProgram(matrix=matrix, maximise=maximise, **self.but_matrix())

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns so far."""
        return _next_slice(self._rows, 0).stop, _next_slice(self._columns, 0).stop

    def entries(self) -> tuple[Any, Any, Any]:
        """Return the rows, columns and values of the matrix."""
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        return rows, columns, values

    def but_matrix(self) -> dict[str, Any]:
        """Return all parts of the program except its matrix."""
        objective, column_lower, column_upper = map(np.concatenate, zip(*self._of_columns, strict=True))
        row_lower, row_upper = map(np.concatenate, zip(*self._of_rows, strict=True))
        return {
            "objective": objective,
            "row_lower": row_lower,
            "row_upper": row_upper,
            "column_lower": column_lower,
            "column_upper": column_upper,
            "columns": self._columns,
            "rows": self._rows,
        }

    def _filled(self, values: npt.ArrayLike, count: int) -> npt.NDArray[Any]:
        if not self.exact:
            return np.broadcast_to(np.asarray(values, dtype=np.float64), (count,)).copy()
        numbers = to_fractions(np.atleast_1d(np.asarray(values, dtype=object)))
        return np.broadcast_to(numbers, (count,)).copy()

    def _entries_of(self, matrix: Any) -> tuple[Any, Any, Any]:
        """Return the rows, columns and values of a matrix."""
        if self.exact:
            exact = Triplets.of(matrix)
            return exact.rows, exact.columns, exact.values
        floats = (matrix.to_sparse() if isinstance(matrix, Triplets) else matrix).tocoo(copy=False)
        return *floats.coords, floats.data


def _next_slice(blocks: Mapping[str, slice], length: int) -> slice:
    """Return the slice of a new block that follows the existing ones."""
    start = max((block.stop for block in blocks.values()), default=0)
    return slice(start, start + length)
