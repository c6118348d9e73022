"""Payoffs as a product of two sparse matrices, for games whose payoff matrix is large and of low structure."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .arrays import Floats, ReadOnly, canonical, frozen
from .errors import InvalidGameError

# Products of entries that are taken at once where only a summary of A is asked for: some tens of megabytes.
_BLOCK = 2**20


class FactoredPayoff(ReadOnly):
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
        If they are not matrices of finite numbers, shapes do not match, or their product may not be finite.

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
        with np.errstate(over="ignore"):
            most = float(abs(self.left).sum(axis=1).max(initial=0.0) * np.abs(self.right.data).max(initial=0.0))
        if not np.isfinite(most):
            raise InvalidGameError(
                "the product of the factors may hold a number that is not finite: they are too large"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {"left": self.left, "right": self.right}

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

    def blocks(self) -> Iterator[tuple[int, sp.csr_array]]:
        """Yield A some rows at a time, with the number of the first of them, so that A need not be kept."""
        works = np.diff(self.right.indptr)[self.left.indices]  # products of each entry
        done = np.append(0, np.cumsum(works, dtype=np.int64))[self.left.indptr]
        first = 0
        while first < self.shape[0]:
            last = max(first + 1, int(np.searchsorted(done, done[first] + _BLOCK, side="right")) - 1)
            yield first, canonical(self.left[first:last] @ self.right, "the payoff matrix")
            first = last

    @cached_property
    def largest(self) -> float:
        """The largest absolute entry of A, found without keeping A."""
        return max((float(np.abs(block.data).max(initial=0.0)) for _, block in self.blocks()), default=0.0)

    @cached_property
    def balanced(self) -> tuple[sp.csr_array, sp.csr_array]:
        """Factors with the same product, the largest entry of each row of the right one being 1, for solvers.

        Their tolerances are absolute, and the same payoff may be written with factors of any scale.
        """
        rows = abs(self.right).max(axis=1).toarray().ravel() if self.num_factors else np.zeros(0)
        scales = np.where(rows > 0.0, rows, 1.0)
        left, right = self.left.copy(), self.right.copy()
        left.data = left.data * scales[left.indices]
        right.data = right.data / np.repeat(scales, np.diff(right.indptr))
        return frozen(left), frozen(right)
