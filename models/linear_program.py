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


def stack(blocks: list[list[sp.csr_array | None]]) -> sp.csc_array:
    """Assemble a block matrix column-wise, as solvers take it."""
    matrix = sp.csc_array(sp.block_array(blocks, format="csc"), dtype=np.float64)
    matrix.sort_indices()
    return matrix
