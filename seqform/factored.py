"""Payoffs as a product of sparse factors, for games with a large payoff matrix of simple structure."""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .array_checks import canonical
from .arrays import Floats, ReadOnly, frozen
from .budget import Budget
from .errors import InvalidGameError, shown
from .payoffs import Payoff

# The number of products of entries computed at once when only a summary of A is needed: tens of megabytes.
_BLOCK = 2**20


class Factorable(Payoff):
    """Payoffs that may be written as a product of two factors."""

    @property
    @abstractmethod
    def factored(self) -> "FactoredPayoff | None":
        """Player 0's payoffs as a product of two factors, if the game is zero-sum and they are known."""


class FactoredPayoff(Factorable, ReadOnly):
    """A payoff xᵀ A y with A = left · right, or left · sums · right, stored as its factors.

    If players meet only through few quantities (who is where at what time), A has a non-zero for every pair of actions
    that may meet, but its factors have only a few per action. Products with A use the factors; A itself is built on
    first use.

    If players compare their holdings, as in a showdown, A again has a non-zero for every pair. A player's payoff then
    depends on the weight of the opponent's weaker holdings, a running sum. Such quantities are *chained*: each is added
    to the sum of those before it in its chain. A = left · D⁻¹ · right, with D = I − N and N[k, k − 1] = 1 if k is
    chained to k − 1. Again a few non-zeros per action are enough.

    Parameters
    ----------
    left : array_like or sparse, shape (num_sequences of player 0, num_factors)
        The contribution of each of player 0's sequences to each quantity, multiplied by its payoff.
    right : array_like or sparse, shape (num_factors, num_sequences of player 1)
    chained : array_like of bool, shape (num_factors,), optional
        Whether each quantity is added to the sum of those before it in its chain. The first quantity starts a chain.
    scale : float, optional
        The largest absolute payoff of the game, if entries of A are products with probabilities; by default the
        largest entry of A.

    Attributes
    ----------
    left, right : csr_array of float64
    chained : ndarray of bool or None
        Read-only arrays.
    scale : float

    Raises
    ------
    InvalidGameError
        If they are not matrices of finite numbers, shapes do not match, or their product may not be finite.

    Examples
    --------
    Two players each choose one of three places; player 0 pays 1 if they meet.

    >>> import numpy as np
    >>> from treeplex.seqform.factored import FactoredPayoff
    >>> places = np.eye(3, 4, k=1)
    >>> meeting = FactoredPayoff(-places.T, places)
    >>> meeting.times(np.array([1.0, 0.5, 0.5, 0.0]))
    array([ 0. , -0.5, -0.5,  0. ])
    >>> meeting.nnz, meeting.matrix.nnz
    (6, 3)

    Each player holds one of three cards, and player 0 gets 1 if its card is higher:

    >>> cards = np.eye(3, 4, k=1)
    >>> higher = FactoredPayoff(np.eye(4, 3, k=-2), cards, chained=[False, True, True])
    >>> higher.times(np.array([1.0, 0.2, 0.3, 0.5])).tolist()
    [0.0, 0.0, 0.2, 0.5]
    """

    def __init__(self, left: Any, right: Any, chained: Any = None, scale: float | None = None) -> None:
        self.left = frozen(canonical(left, "the left factor"))
        self.right = frozen(canonical(right, "the right factor"))
        if self.left.shape[1] != self.right.shape[0]:
            raise InvalidGameError(
                f"the factors have shapes {self.left.shape} and {self.right.shape}: the left one needs as many columns "
                "as the right one has rows"
            )
        for name, factor in (("left", self.left), ("right", self.right)):
            if not np.isfinite(factor.data).all():
                raise InvalidGameError(f"the {name} factor contains a number that is not finite")
        self.chained: npt.NDArray[np.bool_] | None = None
        if scale is not None and not 0.0 < scale < np.inf:
            raise InvalidGameError(f"the scale of the payoffs is {shown(scale)}, expected a positive finite number")
        self._scale = scale
        if chained is not None:
            self.chained = np.array(chained, dtype=bool)
            if self.chained.shape != (self.num_factors,) or self.chained[:1].any():
                raise InvalidGameError(
                    f"chained has shape {self.chained.shape}, expected ({self.num_factors},): one boolean per "
                    "factor, the first one false, because it starts a chain"
                )
            self.chained.flags.writeable = False
        with np.errstate(over="ignore"):
            sums = abs(self.right) if chained is None else sp.csr_array(abs(self.right).sum(axis=0)[None])
            most = float(abs(self.left).sum(axis=1).max(initial=0.0) * sums.data.max(initial=0.0))
        if not np.isfinite(most):
            raise InvalidGameError("the factors are too large: their product may contain a number that is not finite")

    def __getstate__(self) -> dict[str, Any]:
        return {"left": self.left, "right": self.right, "chained": self.chained, "_scale": self._scale}

    def __repr__(self) -> str:
        return f"FactoredPayoff(shape={self.shape}, num_factors={self.num_factors}, nnz={self.nnz})"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of sequences of player 0 and of player 1."""
        return int(self.left.shape[0]), int(self.right.shape[1])

    @property
    def num_factors(self) -> int:
        """Number of factors, the quantities through which the players' plans interact."""
        return int(self.left.shape[1])

    @property
    def nnz(self) -> int:
        """Number of non-zeros of both factors."""
        return int(self.left.nnz + self.right.nnz)

    @property
    def scale(self) -> float:
        """The largest absolute payoff; 1 if all are zero."""
        return self._scale or self.largest or 1.0

    @property
    def is_zero_sum(self) -> bool:
        """Always true: player 1's payoff is the opposite of player 0's."""
        return True

    @property
    def factored(self) -> "FactoredPayoff":
        """These payoffs."""
        return self

    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return A y or −Aᵀ x."""
        return self.times(plans[1]) if player == 0 else -self.transposed_times(plans[0])

    def expected(self, plans: Sequence[Floats]) -> Floats:
        """Return xᵀ A y and −xᵀ A y."""
        payoff = float(plans[0] @ self.times(plans[1]))
        return np.array([payoff, -payoff])

    def matrix_of(self, player: int) -> sp.csr_array:
        """Return A or −A."""
        return self._opposite if player else self.matrix

    def times(self, y: Floats) -> Floats:
        """Return A y, shape (num_sequences of player 0,)."""
        product: Floats = self.left @ self.summed(self.right @ y)
        return product

    def transposed_times(self, x: Floats) -> Floats:
        """Return Aᵀ x, shape (num_sequences of player 1,)."""
        left, right = self._turned
        product: Floats = right @ self.summed(left @ x, backwards=True)
        return product

    @cached_property
    def _turned(self) -> tuple[Any, Any]:
        """The transposes of both factors, which share the factors' arrays."""
        return self.left.T, self.right.T

    def summed(self, quantities: npt.NDArray[Any], backwards: bool = False) -> npt.NDArray[Any]:
        """Return D⁻¹ q, or D⁻ᵀ q: the running sums of quantities, floats or fractions, along their chains."""
        if self.chained is None:
            return quantities
        sums = quantities.copy()
        for places in self._chains:
            chains = sums[places[:, ::-1] if backwards else places]
            sums[places[:, ::-1] if backwards else places] = np.cumsum(chains, axis=1)
        return sums

    @cached_property
    def _chains(self) -> list[npt.NDArray[np.int64]]:
        """The positions of the quantities of each chain; chains of the same length share an array."""
        if self.chained is None:
            return []
        starts = np.flatnonzero(~self.chained)
        lengths = np.diff(np.append(starts, self.num_factors))
        return [
            starts[lengths == length][:, None] + np.arange(length)
            for length in np.unique(lengths[lengths > 1]).tolist()
        ]

    @cached_property
    def links(self) -> sp.csr_array:
        """D, shape (num_factors, num_factors): A = left · D⁻¹ · right. The identity if nothing is chained."""
        count = self.num_factors
        places = np.zeros(0, dtype=np.int64) if self.chained is None else np.flatnonzero(self.chained)
        rows = np.append(np.arange(count), places)
        columns = np.append(np.arange(count), places - 1)
        values = np.append(np.ones(count), -np.ones(len(places)))
        return frozen(sp.csr_array((values, (rows, columns)), shape=(count, count)))

    @cached_property
    def transposed(self) -> "FactoredPayoff":
        """The factors of −Aᵀ, player 1's payoffs; chains run in the opposite direction."""
        left, right = self.right.T.tocsr(), -self.left.T.tocsr()
        if self.chained is None:
            return FactoredPayoff(left, right, scale=self._scale)
        return FactoredPayoff(left[:, ::-1], right[::-1], np.append(False, self.chained[:0:-1]), self._scale)

    @cached_property
    def matrix(self) -> sp.csr_array:
        """A itself, columns sorted, no stored zeros, read-only arrays."""
        return frozen(canonical(self.left @ self._summed_right, "the payoff matrix"))

    @cached_property
    def _opposite(self) -> sp.csr_array:
        return frozen(-self.matrix)

    @cached_property
    def _summed_right(self) -> sp.csr_array:
        """D⁻¹ · right, whose rows may be dense if they are sums of many rows."""
        if self.chained is None:
            return self.right
        entries = sum(count * (count + 1) // 2 * len(places) for places in self._chains for count in places.shape[1:])
        Budget().require(16 * entries, f"the sums along chains, {entries:,} entries in place of the factors,")
        alone = np.ones(self.num_factors, dtype=bool)
        rows, columns = [], []
        for places in self._chains:
            alone[places] = False
            below = np.tril_indices(places.shape[1])
            rows.append(places[:, below[0]].ravel())
            columns.append(places[:, below[1]].ravel())
        rest = np.flatnonzero(alone)
        coordinates = np.concatenate([*rows, rest]), np.concatenate([*columns, rest])
        sums = sp.csr_array((np.ones(len(coordinates[0])), coordinates), shape=(self.num_factors,) * 2)
        return sp.csr_array(sums @ self.right)

    def blocks(self) -> Iterator[tuple[int, sp.csr_array]]:
        """Yield A in blocks of rows, each with the number of its first row, so that A need not be stored."""
        right = self._summed_right
        works = np.diff(right.indptr)[self.left.indices]  # the number of products of each entry
        done = np.append(0, np.cumsum(works, dtype=np.int64))[self.left.indptr]
        first = 0
        while first < self.shape[0]:
            last = max(first + 1, int(np.searchsorted(done, done[first] + _BLOCK, side="right")) - 1)
            yield first, canonical(self.left[first:last] @ right, "the payoff matrix")
            first = last

    @cached_property
    def largest(self) -> float:
        """The largest absolute entry of A, found without storing A."""
        return max((float(np.abs(block.data).max(initial=0.0)) for _, block in self.blocks()), default=0.0)

    @cached_property
    def balanced(self) -> "FactoredPayoff":
        """Factors with the same product, in which the largest entry of the right one is 1 in each chain's rows.

        Solvers' tolerances are absolute, but the same payoff can be written with factors of any scale.
        """
        rows = abs(self.right).max(axis=1).toarray().ravel() if self.num_factors else np.zeros(0)
        if self.chained is not None:
            starts = np.flatnonzero(~self.chained)
            rows = np.repeat(np.maximum.reduceat(rows, starts), np.diff(np.append(starts, self.num_factors)))
        scales = np.where(rows > 0.0, rows, 1.0)
        left, right = self.left.copy(), self.right.copy()
        left.data = left.data * scales[left.indices]
        right.data = right.data / np.repeat(scales, np.diff(right.indptr))
        return FactoredPayoff(left, right, self.chained, self._scale)
