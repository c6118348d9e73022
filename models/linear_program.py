"""Linear programs as data: what models write down and solvers, files and tests read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ..seqform.polytope import Floats


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
