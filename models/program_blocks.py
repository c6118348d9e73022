"""Linear programs put together block by block, each block of columns and of rows under its name."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ..seqform.arrays import Floats
from .linear_program import LinearProgram


class ProgramBlocks:
    """A linear program under construction.

    Examples
    --------
    max x + 2 y such that x + y ≤ 1, x, y ≥ 0:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.program_blocks import ProgramBlocks
    >>> blocks = ProgramBlocks()
    >>> blocks.add_columns("x", 1, objective=[1.0], lower=0.0)
    >>> blocks.add_columns("y", 1, objective=[2.0], lower=0.0)
    >>> blocks.add_rows("sum", {"x": sp.eye_array(1), "y": sp.eye_array(1)}, upper=1.0)
    >>> program = blocks.program(maximise=True)
    >>> program.shape, program.matrix.toarray().tolist(), program.rows
    ((1, 2), [[1.0, 1.0]], {'sum': slice(0, 1, None)})
    """

    def __init__(self) -> None:
        self._columns: dict[str, tuple[int, Floats, Floats, Floats]] = {}
        self._rows: dict[str, tuple[int, Floats, Floats]] = {}
        self._entries: list[tuple[str, str, sp.coo_array]] = []

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
        self._columns[name] = (count, _filled(objective, count), _filled(lower, count), _filled(upper, count))

    def add_rows(
        self,
        name: str,
        terms: Mapping[str, sp.sparray],
        *,
        lower: npt.ArrayLike = -np.inf,
        upper: npt.ArrayLike = np.inf,
    ) -> None:
        """Add a block of rows: the sum of a matrix times a block of variables lies between bounds.

        Parameters
        ----------
        name : str
        terms : mapping of str to sparse array
            By block of variables; at least one, all with equally many rows.
        lower, upper : array_like, shape (count,) or a number for all
        """
        count = next(iter(terms.values())).shape[0]
        self._rows[name] = (count, _filled(lower, count), _filled(upper, count))
        self._entries += [(name, column, sp.coo_array(matrix)) for column, matrix in terms.items()]

    def program(self, maximise: bool) -> LinearProgram:
        """Return the program; the blocks stand in the order in which they were added."""
        columns = _slices({name: block[0] for name, block in self._columns.items()})
        rows = _slices({name: block[0] for name, block in self._rows.items()})
        matrix = sp.csc_array(
            (
                np.concatenate([entries.data for _, _, entries in self._entries]),
                (
                    np.concatenate([entries.coords[0] + rows[row].start for row, _, entries in self._entries]),
                    np.concatenate([entries.coords[1] + columns[column].start for _, column, entries in self._entries]),
                ),
            ),
            shape=(sum(block[0] for block in self._rows.values()), sum(block[0] for block in self._columns.values())),
            dtype=np.float64,
        )
        matrix.sort_indices()
        _, objective, column_lower, column_upper = zip(*self._columns.values(), strict=True)
        _, row_lower, row_upper = zip(*self._rows.values(), strict=True)
        return LinearProgram(
            objective=np.concatenate(objective),
            matrix=matrix,
            row_lower=np.concatenate(row_lower),
            row_upper=np.concatenate(row_upper),
            column_lower=np.concatenate(column_lower),
            column_upper=np.concatenate(column_upper),
            maximise=maximise,
            columns=columns,
            rows=rows,
        )


def _filled(values: npt.ArrayLike, count: int) -> Floats:
    return np.broadcast_to(np.asarray(values, dtype=np.float64), (count,)).copy()


def _slices(lengths: Mapping[str, int]) -> dict[str, slice]:
    """Return where each block lies when blocks of the given lengths follow one another."""
    result, first = {}, 0
    for name, length in lengths.items():
        result[name] = slice(first, first + length)
        first += length
    return result
