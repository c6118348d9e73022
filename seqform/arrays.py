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
