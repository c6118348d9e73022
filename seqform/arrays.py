"""Types of arrays, and sparse ones in one form: floats, columns sorted, nothing stored twice, read-only if shared."""

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import InvalidGameError, one_line

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]


def canonical(matrix: Any, name: str) -> sp.csr_array:
    """Return a copy of a matrix as CSR: floats, duplicates summed, columns sorted, zeros dropped.

    Parameters
    ----------
    matrix : array_like or sparse
    name : str
        What to call it in messages.

    Raises
    ------
    InvalidGameError
        If it is not a matrix of numbers, or a sparse one whose indices do not fit its shape.
    """
    try:
        if np.iscomplexobj(matrix):
            raise TypeError("it is complex")  # numpy would drop the imaginary part, and only warn
        if sp.issparse(matrix) and hasattr(matrix, "check_format"):
            matrix = matrix.copy()
            pointers = getattr(matrix, "indptr", np.zeros(1))
            if (pointers[1:] < pointers[:-1]).any():  # scipy's check passes over a last one that is not positive
                raise ValueError("indptr must be a non-decreasing sequence")
            matrix.check_format(full_check=True)  # scipy's compiled functions trust indices
        result = sp.csr_array(matrix, dtype=np.float64, copy=True)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidGameError(f"{name} is not a matrix of numbers: {one_line(str(error))}") from None
    if result.ndim != 2:
        raise InvalidGameError(f"{name} has shape {result.shape}: expected a matrix")
    result.sum_duplicates()
    result.eliminate_zeros()
    return result


def frozen(matrix: sp.csr_array) -> sp.csr_array:
    """Make the arrays of a sparse matrix read-only, and return it."""
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix
