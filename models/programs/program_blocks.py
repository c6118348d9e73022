"""Linear programs put together block by block, each block of columns and of rows under its name."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.rationals import to_fractions
from .linear_program import LinearProgram
from .rational_program import RationalProgram
from .triplets import Triplets


class ProgramBlocks:
    """A linear program under construction, in floats or in exact fractions.

    Parameters
    ----------
    exact : bool
        Whether numbers are kept as fractions, for :meth:`rational_program`; floats then count as
        :func:`~treeplex.seqform.rationals.intended_fraction` has it. Without it fractions become floats.

    Examples
    --------
    max x + 2 y such that x + y ≤ 1, x, y ≥ 0:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.programs.program_blocks import ProgramBlocks
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
        # Arrays of floats or of fractions, as `exact` says.
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
        """Add a block of rows: the sum of a matrix times a block of variables lies between bounds.

        Parameters
        ----------
        name : str
        terms : mapping of str to sparse array or Triplets
            By block of variables, added before; at least one, all with equally many rows.
        lower, upper : array_like, shape (count,) or a number for all
        """
        count = next(iter(terms.values())).shape[0]
        self._rows[name] = _next_slice(self._rows, count)
        self._of_rows.append((self._filled(lower, count), self._filled(upper, count)))
        for column, matrix in terms.items():
            rows, columns, values = self._entries_of(matrix)
            self._entries.append((rows + self._rows[name].start, columns + self._columns[column].start, values))

    def program(self, maximise: bool) -> LinearProgram:
        """Return the program in floats; the blocks are in the order in which they were added."""
        assert not self.exact
        rows, columns, values = self._joined_entries()
        matrix = sp.csc_array((values, (rows, columns)), shape=self._shape, dtype=np.float64)
        matrix.sort_indices()
        return LinearProgram(matrix=matrix, maximise=maximise, **self._rest())

    def rational_program(self, maximise: bool) -> RationalProgram:
        """Return the program in exact fractions; the blocks are in the order in which they were added."""
        assert self.exact
        matrix = Triplets(self._shape, *self._joined_entries()).compressed()
        return RationalProgram(matrix=matrix, maximise=maximise, **self._rest())

    @property
    def _shape(self) -> tuple[int, int]:
        return _next_slice(self._rows, 0).stop, _next_slice(self._columns, 0).stop

    def _joined_entries(self) -> tuple[Any, Any, Any]:
        rows, columns, values = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        return rows, columns, values

    def _rest(self) -> dict[str, Any]:
        """Return what a program is made of beside its matrix."""
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
    """Return where a block lies that follows others."""
    start = max((block.stop for block in blocks.values()), default=0)
    return slice(start, start + length)
