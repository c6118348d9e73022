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
        # Arrays of floats or of fractions, and sparse arrays or triplets, as `exact` says.
        self._columns: dict[str, tuple[int, Any, Any, Any]] = {}
        self._rows: dict[str, tuple[int, Any, Any]] = {}
        self._entries: list[tuple[str, str, Any]] = []

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
        filled = [self._filled(values, count) for values in (objective, lower, upper)]
        self._columns[name] = (count, filled[0], filled[1], filled[2])

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
            By block of variables; at least one, all with equally many rows.
        lower, upper : array_like, shape (count,) or a number for all
        """
        count = next(iter(terms.values())).shape[0]
        self._rows[name] = (count, self._filled(lower, count), self._filled(upper, count))
        self._entries += [(name, column, self._entries_of(matrix)) for column, matrix in terms.items()]

    def program(self, maximise: bool) -> LinearProgram:
        """Return the program in floats; the blocks stand in the order in which they were added."""
        assert not self.exact
        shape, rows, columns, values = self._placed()
        matrix = sp.csc_array((values, (rows, columns)), shape=shape, dtype=np.float64)
        matrix.sort_indices()
        return LinearProgram(matrix=matrix, maximise=maximise, **self._rest())

    def rational_program(self, maximise: bool) -> RationalProgram:
        """Return the program in exact fractions; the blocks stand in the order in which they were added."""
        assert self.exact
        return RationalProgram(matrix=Triplets(*self._placed()).compressed(), maximise=maximise, **self._rest())

    def _placed(self) -> tuple[tuple[int, int], Any, Any, Any]:
        """Return the shape of the matrix, and all its entries: rows, columns and values."""
        rows, columns = self._slices()
        # Both kinds of matrices have coordinates and values, under different names.
        placed = [
            (entries.rows + rows[row].start, entries.columns + columns[column].start, entries.values)
            if isinstance(entries, Triplets)
            else (entries.coords[0] + rows[row].start, entries.coords[1] + columns[column].start, entries.data)
            for row, column, entries in self._entries
        ]
        num_rows, num_columns = (sum(block[0] for block in of.values()) for of in (self._rows, self._columns))
        placed_rows, placed_columns, values = (np.concatenate(parts) for parts in zip(*placed, strict=True))
        return (num_rows, num_columns), placed_rows, placed_columns, values

    def _rest(self) -> dict[str, Any]:
        """Return what a program is made of beside its matrix."""
        rows, columns = self._slices()
        _, objective, column_lower, column_upper = zip(*self._columns.values(), strict=True)
        _, row_lower, row_upper = zip(*self._rows.values(), strict=True)
        return {
            "objective": np.concatenate(objective),
            "row_lower": np.concatenate(row_lower),
            "row_upper": np.concatenate(row_upper),
            "column_lower": np.concatenate(column_lower),
            "column_upper": np.concatenate(column_upper),
            "columns": columns,
            "rows": rows,
        }

    def _slices(self) -> tuple[dict[str, slice], dict[str, slice]]:
        """Return where each block of rows and of columns lies."""
        rows, columns = ({name: block[0] for name, block in blocks.items()} for blocks in (self._rows, self._columns))
        return _slices(rows), _slices(columns)

    def _filled(self, values: npt.ArrayLike, count: int) -> npt.NDArray[Any]:
        if not self.exact:
            return np.broadcast_to(np.asarray(values, dtype=np.float64), (count,)).copy()
        numbers = to_fractions(np.atleast_1d(np.asarray(values, dtype=object)))
        return np.broadcast_to(numbers, (count,)).copy()

    def _entries_of(self, matrix: Any) -> Any:
        if self.exact:
            return Triplets.of(matrix)
        return sp.coo_array(matrix.to_sparse() if isinstance(matrix, Triplets) else matrix)


def _slices(lengths: Mapping[str, int]) -> dict[str, slice]:
    """Return where each block lies when blocks of the given lengths follow one another."""
    result, first = {}, 0
    for name, length in lengths.items():
        result[name] = slice(first, first + length)
        first += length
    return result
