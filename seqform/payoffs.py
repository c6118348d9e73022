"""What players are paid as a function of their plans: by leaves, by matrices, or by a product without either."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .arrays import Floats, ReadOnly, frozen
from .enumeration import LeafTable, constant_of_sums
from .errors import UnsupportedProblemError

if TYPE_CHECKING:
    from .factored import FactoredPayoff


class Payoff(ABC):
    """The payoffs of a game in sequence form: linear in the realization plan of each player.

    Attributes
    ----------
    leaves : LeafTable or None
        What each leaf pays, if it is known.
    factored : FactoredPayoff or None
        Player 0's payoffs as a product of two factors, if the game is zero-sum and they are known.
    is_operator : bool
        Whether products with plans take no matrix, and making one may take much memory.
    """

    leaves: LeafTable | None = None
    is_operator: ClassVar[bool] = True

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """Number of sequences of each player."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """The largest absolute payoff; 1 if all are zero."""

    @property
    @abstractmethod
    def is_zero_sum(self) -> bool:
        """Whether the players' payoffs sum to zero everywhere, up to floating-point round-off."""

    @property
    def factored(self) -> "FactoredPayoff | None":
        """Player 0's payoffs as a product of two factors."""
        return None

    @abstractmethod
    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return what a player is paid per unit of each of its sequences, given the others' plans."""

    def expected(self, plans: Sequence[Floats]) -> Floats:
        """Return each player's expected payoff, shape (num_players,)."""
        return np.array([self.gradient(player, plans) @ plan for player, plan in enumerate(plans)])

    def matrix_of(self, player: int) -> sp.csr_array:
        """Return what a player of a two-player game is paid for every pair of sequences, chance multiplied in.

        Raises
        ------
        UnsupportedProblemError
            If the payoffs have no matrix.
        """
        raise UnsupportedProblemError(f"{self!r} has no payoff matrix")


class _WithMatrices(Payoff, ReadOnly):
    """Payoffs of two players that products take from matrices."""

    is_operator: ClassVar[bool] = False

    @cached_property
    def _first(self) -> sp.csr_array:
        return self._made(0)

    @cached_property
    def _second(self) -> sp.csr_array:
        return self._made(1)

    @cached_property
    def _second_transposed(self) -> sp.csc_array:
        """Bᵀ, sharing the arrays of B: making such a view takes longer than a product of small matrices."""
        return self._second.T

    @abstractmethod
    def _made(self, player: int) -> sp.csr_array: ...

    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return A y or Bᵀ x."""
        product: Floats = self._first @ plans[1] if player == 0 else self._second_transposed @ plans[0]
        return product

    def expected(self, plans: Sequence[Floats]) -> Floats:
        """Return xᵀ A y and xᵀ B y."""
        return np.array([plans[0] @ (self.matrix_of(player) @ plans[1]) for player in (0, 1)])

    def matrix_of(self, player: int) -> sp.csr_array:
        """Return A or B."""
        return self._second if player else self._first


class MatrixPayoff(_WithMatrices):
    """Payoffs of two players, given as matrices.

    Parameters
    ----------
    first, second : csr_array of float64, shape (num_sequences of player 0, num_sequences of player 1)
        What each player is paid, chance multiplied in.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.seqform.payoffs import MatrixPayoff
    >>> pennies = sp.csr_array(np.array([[0.0, 0, 0], [0, 1, -1], [0, -1, 1]]))
    >>> payoff = MatrixPayoff(pennies, -pennies)
    >>> payoff.is_zero_sum, payoff.gradient(1, [np.array([1.0, 0.75, 0.25]), np.ones(3)]).tolist()
    (True, [0.0, -0.5, 0.5])
    """

    def __init__(self, first: sp.csr_array, second: sp.csr_array) -> None:
        self.matrices = first, second

    def __repr__(self) -> str:
        return f"MatrixPayoff(shape={self.shape})"

    def __getstate__(self) -> dict[str, Any]:
        return {"matrices": self.matrices}

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of sequences of each player."""
        rows, columns = self.matrices[0].shape
        return rows, columns

    @cached_property
    def scale(self) -> float:
        """The largest absolute entry; 1 if all are zero."""
        return max(float(abs(matrix).max()) for matrix in self.matrices) or 1.0

    @cached_property
    def is_zero_sum(self) -> bool:
        """Whether entries sum to zero, up to floating-point round-off."""
        first, second = self.matrices
        sums, sizes = (first + second).tocoo(), abs(first).maximum(abs(second))
        return constant_of_sums(sums.data, sizes.tocsr()[sums.coords]) == 0.0

    def _made(self, player: int) -> sp.csr_array:
        return self.matrices[player]


class LeafPayoff(_WithMatrices):
    """Payoffs of any number of players, given at the leaves.

    Parameters
    ----------
    leaves : LeafTable
    shape : tuple of int
        Number of sequences of each player.
    """

    def __init__(self, leaves: LeafTable, shape: tuple[int, ...]) -> None:
        self.leaves = leaves
        self._shape = shape

    def __repr__(self) -> str:
        return f"LeafPayoff({len(self._table)} leaves, shape={self.shape})"

    def __getstate__(self) -> dict[str, Any]:
        # Matrices that follow from the leaves are not stored.
        return {"leaves": self.leaves, "_shape": self._shape}

    @property
    def _table(self) -> LeafTable:
        assert self.leaves is not None
        return self.leaves

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of sequences of each player."""
        return self._shape

    @cached_property
    def scale(self) -> float:
        """The largest absolute payoff at a leaf; 1 if all are zero."""
        return self._table.payoff_scale

    @property
    def is_zero_sum(self) -> bool:
        """Whether payoffs sum to zero at every leaf that chance comes to, up to floating-point round-off."""
        return self._table.is_zero_sum

    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return A y or Bᵀ x for two players, and else sums over the leaves."""
        if len(self.shape) == 2:
            return super().gradient(player, plans)
        return self._table.gradient(player, plans, self.shape[player])

    def expected(self, plans: Sequence[Floats]) -> Floats:
        """Return xᵀ A y and xᵀ B y for two players, and else sums over the leaves."""
        return super().expected(plans) if len(self.shape) == 2 else self._table.expected_payoffs(plans)

    def _made(self, player: int) -> sp.csr_array:
        if player and self.is_zero_sum:
            return frozen(-self._first)
        rows, columns = self._table.sequences.T
        values = self._table.chance * self._table.payoffs[:, player]
        matrix = sp.coo_array((values, (rows, columns)), shape=self.shape).tocsr()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
        return frozen(matrix)
