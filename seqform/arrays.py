"""Array types, and helpers that convert arrays to floats and make them read-only."""

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .errors import InvalidGameError, TreeplexError, one_line

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
#: Arrays of positions, as numpy's index functions return them.
Indices = npt.NDArray[np.signedinteger[Any]]
T = TypeVar("T")


def frozen(array: T) -> T:
    """Make an array, or the arrays of a sparse matrix, read-only, and return it."""
    held: Any = array
    for each in (held.data, held.indices, held.indptr) if sp.issparse(held) else (held,):
        each.flags.writeable = False
    return array


class ReadOnly:
    """A base class whose instances have read-only arrays, even after pickling."""

    def __post_init__(self) -> None:
        for value in vars(self).values():
            several = value if isinstance(value, tuple) and value else (value,)
            if isinstance(several[0], np.ndarray) or sp.issparse(several[0]):
                for each in several:
                    frozen(each)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        ReadOnly.__post_init__(self)  # unpickled arrays are writeable


def equal_runs(keys: Indices) -> Iterator[Indices]:
    """Yield the positions of each distinct column of integers, in increasing order.

    Examples
    --------
    >>> from treeplex.seqform.arrays import equal_runs
    >>> [positions.tolist() for positions in equal_runs(np.array([[1, 0, 1, 0], [2, 2, 2, 0]]))]
    [[3], [1], [0, 2]]
    """
    order = np.lexsort(keys[::-1])
    ordered = keys[:, order]
    cuts = np.flatnonzero((ordered[:, 1:] != ordered[:, :-1]).any(axis=0)) + 1
    return iter(np.split(order, cuts) if len(order) else ())


def floats(values: Any, refusal: str, error: type[TreeplexError] = InvalidGameError) -> Floats:
    """Return a copy of the values as an array of floats.

    Raises
    ------
    TreeplexError
        Of the type `error`, if they are not numbers; the message begins with `refusal`.
    """
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as failure:
        raise error(f"{refusal}: {one_line(str(failure))}") from None
