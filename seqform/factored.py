"""Payoffs as a product of two sparse matrices, for games whose payoff matrix is large and of low structure."""

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .errors import InvalidGameError
from .polytope import Floats
from .sparse_arrays import canonical, frozen

# Rows of the product that are made at once where only a summary of it is asked for.
_BLOCK = 4096


class FactoredPayoff:
    """A payoff xᵀ A y with A = left · right, kept as the two factors.

    Where players meet only through few quantities (who is where at what time), A has a non-zero for every pair of
    actions that may meet, but its factors only a few an action. Products with A go through the factors; A itself is
    made when it is asked for.

    Parameters
    ----------
    left : array_like or sparse, shape (num_sequences of player 0, num_factors)
        How much of each quantity each of player 0's sequences brings, with what it pays.
    right : array_like or sparse, shape (num_factors, num_sequences of player 1)

    Attributes
    ----------
    left, right : csr_array of float64
        Read-only arrays.

    Raises
    ------
    InvalidGameError
        If they are no matrices of finite numbers, or shapes do not match.

    Examples
    --------
    Two players choose one of three places each; player 0 pays 1 where they meet.

    >>> import numpy as np
    >>> from treeplex.seqform.factored import FactoredPayoff
    >>> places = np.eye(3, 4, k=1)
    >>> meeting = FactoredPayoff(-places.T, places)
    >>> meeting.times(np.array([1.0, 0.5, 0.5, 0.0]))
    array([ 0. , -0.5, -0.5,  0. ])
    >>> meeting.nnz, meeting.matrix.nnz
    (6, 3)
    """

    def __init__(self, left: Any, right: Any) -> None:
        self.left = frozen(canonical(left, "the left factor"))
        self.right = frozen(canonical(right, "the right factor"))
        if self.left.shape[1] != self.right.shape[0]:
            raise InvalidGameError(
                f"the factors have shapes {self.left.shape} and {self.right.shape}: the left one needs as many columns "
                "as the right one has rows"
            )
        for name, factor in (("left", self.left), ("right", self.right)):
            if not np.isfinite(factor.data).all():
                raise InvalidGameError(f"the {name} factor holds a number that is not finite")

    def __getstate__(self) -> dict[str, Any]:
        return {"left": self.left, "right": self.right}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for factor in (self.left, self.right):
            frozen(factor)  # stored arrays come back writeable

    def __repr__(self) -> str:
        return f"FactoredPayoff(shape={self.shape}, num_factors={self.num_factors}, nnz={self.nnz})"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of sequences of player 0 and of player 1."""
        return int(self.left.shape[0]), int(self.right.shape[1])

    @property
    def num_factors(self) -> int:
        """Number of quantities in which the players meet."""
        return int(self.left.shape[1])

    @property
    def nnz(self) -> int:
        """Number of non-zeros of both factors."""
        return int(self.left.nnz + self.right.nnz)

    def times(self, y: Floats) -> Floats:
        """Return A y, shape (num_sequences of player 0,)."""
        product: Floats = self.left @ (self.right @ y)
        return product

    def transposed_times(self, x: Floats) -> Floats:
        """Return Aᵀ x, shape (num_sequences of player 1,)."""
        product: Floats = self.right.T @ (self.left.T @ x)
        return product

    @cached_property
    def matrix(self) -> sp.csr_array:
        """A itself, columns sorted, no stored zeros, read-only arrays."""
        return frozen(canonical(self.left @ self.right, "the payoff matrix"))

    @cached_property
    def largest(self) -> float:
        """The largest absolute entry of A, found without keeping A."""
        blocks = (self.left[first : first + _BLOCK] @ self.right for first in range(0, self.shape[0], _BLOCK))
        return max((float(np.abs(block.data).max(initial=0.0)) for block in blocks), default=0.0)
