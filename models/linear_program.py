"""Linear programs as data: what models write down and solvers, files and tests read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..seqform.arrays import Floats


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """max or min {c · z : row_lower ≤ M z ≤ row_upper, column_lower ≤ z ≤ column_upper}.

    Attributes
    ----------
    objective : ndarray of float64, shape (columns,)
    matrix : csc_array of float64, shape (rows, columns)
        Duplicates summed, indices sorted.
    row_lower, row_upper : ndarray of float64, shape (rows,)
        Infinite where there is no bound.
    column_lower, column_upper : ndarray of float64, shape (columns,)
    maximise : bool
    columns, rows : mapping of str to slice
        Which part of ``z`` and of the rows stands for what; the model that wrote the program documents its names.
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
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    def write(self, path: str | Path) -> None:
        """Write the program to a file for other solvers: ``.mps`` or ``.lp``.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        GameFileError
            If the suffix is another one, or the file cannot be written.

        Examples
        --------
        >>> from treeplex import Nash, load_game
        >>> Nash(load_game("kuhn")).linear_program().write("kuhn.mps")
        """
        from .linear_program_file import write_linear_program

        write_linear_program(self, path)


def slices(lengths: Mapping[str, int]) -> dict[str, slice]:
    """Return where each block lies when blocks of the given lengths follow one another; empty ones are left out.

    Examples
    --------
    >>> from treeplex.models.linear_program import slices
    >>> slices({"plan": 3, "factors": 0, "values": 2})
    {'plan': slice(0, 3, None), 'values': slice(3, 5, None)}
    """
    result, first = {}, 0
    for name, length in lengths.items():
        if length:
            result[name] = slice(first, first + length)
        first += length
    return result


def stack(blocks: list[list[sp.sparray | None]]) -> sp.csc_array:
    """Assemble a block matrix column-wise, as solvers take it.

    Parameters
    ----------
    blocks : list of rows of sparse arrays or None
        ``None`` is a block of zeros; each row and each column of blocks holds at least one array.

    Returns
    -------
    csc_array of float64
        Indices sorted.

    Notes
    -----
    What ``scipy.sparse.block_array`` does, in a fifth of its time on small programs.
    """
    heights = [next(block.shape[0] for block in row if block is not None) for row in blocks]
    widths = [next(block.shape[1] for block in column if block is not None) for column in zip(*blocks, strict=True)]
    rows, columns, values = [], [], []
    for i, row in enumerate(blocks):
        for j, block in enumerate(row):
            if block is not None:
                entries = block.tocoo()
                rows.append(entries.coords[0] + sum(heights[:i]))
                columns.append(entries.coords[1] + sum(widths[:j]))
                values.append(entries.data)
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    matrix = sp.csc_array(entries, shape=(sum(heights), sum(widths)), dtype=np.float64)
    matrix.sort_indices()
    return matrix
