"""Types of arrays, and sparse ones in one form: floats, columns sorted, nothing stored twice, read-only if shared."""

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import InvalidGameError, TreeplexError, one_line

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
#: What numpy numbers places with.
Indices = npt.NDArray[np.signedinteger[Any]]
T = TypeVar("T")


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


def frozen(array: T) -> T:
    """Make an array, or those of a sparse matrix, read-only, and return it."""
    held: Any = array
    for each in (held.data, held.indices, held.indptr) if sp.issparse(held) else (held,):
        each.flags.writeable = False
    return array


class ReadOnly:
    """Something whose arrays are read-only, also when it has been stored and read back."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            several = value if isinstance(value, tuple) and value else (value,)
            if isinstance(several[0], np.ndarray) or sp.issparse(several[0]):
                for each in several:
                    frozen(each)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        ReadOnly.__post_init__(self)  # stored arrays come back writeable


def floats(values: Any, refusal: str, error: type[TreeplexError] = InvalidGameError) -> Floats:
    """Return a copy of some numbers as an array of floats.

    Raises
    ------
    TreeplexError
        Of the given type, if they are not numbers; the message begins as given.
    """
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as failure:
        raise error(f"{refusal}: {one_line(str(failure))}") from None
