"""Payoffs as a function of the players' plans, stored at leaves, as matrices, or as operators."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .arrays import Floats, Integers, ReadOnly, frozen
from .errors import UnsupportedProblemError

#: A loss counts as a penalty if it exceeds the largest loss under careful play by this factor.
PENALTY = 100.0
#: Payoffs below this fraction of the largest count as zero: they vanish in floating-point sums.
LEAST = 1e-13


@dataclass(frozen=True, eq=False)
class LeafTable(ReadOnly):
    """The sequences, chance probability and payoffs of every leaf; all arrays are read-only.

    Writeable arrays are copied.

    Attributes
    ----------
    sequences : ndarray of int32, shape (num_leaves, num_players)
        The last sequence of each player on the way to the leaf.
    chance : ndarray of float64, shape (num_leaves,)
        Chance's probability of the leaf.
    payoffs : ndarray of float64, shape (num_leaves, num_players)
        Payoff units, not multiplied by chance.
    exact_chance : tuple of Fraction, optional
    exact_payoffs : tuple of tuple of Fraction, optional
        The same as fractions, if the walk kept them.

    Raises
    ------
    InvalidGameError
        If shapes do not match, there is no leaf, or a number is of the wrong kind, not finite or, for chance, negative.
    """

    sequences: Integers
    chance: Floats
    payoffs: Floats
    exact_chance: tuple[Fraction, ...] | None = None
    exact_payoffs: tuple[tuple[Fraction, ...], ...] | None = None

    def __post_init__(self) -> None:
        from .array_checks import check_leaves, read_only

        self.__dict__["sequences"] = read_only(self.sequences, np.int32, "sequences")
        self.__dict__["chance"] = read_only(self.chance, np.float64, "chance")
        self.__dict__["payoffs"] = read_only(self.payoffs, np.float64, "payoffs")
        exact = {"exact_chance": self.exact_chance, "exact_payoffs": self.exact_payoffs}
        check_leaves(self.sequences, self.chance, self.payoffs, **exact)

    @classmethod
    def of_arrays(
        cls,
        sequences: Integers,
        chance: Floats,
        payoffs: Floats,
        exact_chance: tuple[Fraction, ...] | None = None,
        exact_payoffs: tuple[tuple[Fraction, ...], ...] | None = None,
    ) -> "LeafTable":
        """Make a table from the read-only arrays of a walk, without checks; the parameters are those of the class."""
        self = cls.__new__(cls)
        self.__dict__.update(
            sequences=sequences,
            chance=chance,
            payoffs=payoffs,
            exact_chance=exact_chance,
            exact_payoffs=exact_payoffs,
        )
        return self

    def __len__(self) -> int:
        return len(self.chance)

    @property
    def num_players(self) -> int:
        """Number of players."""
        return int(self.payoffs.shape[1])

    @property
    def is_zero_sum(self) -> bool:
        """Whether :attr:`constant_sum` is zero."""
        return self.constant_sum == 0.0

    @cached_property
    def constant_sum(self) -> float | None:
        """The sum of payoffs at every leaf with positive chance probability; ``None`` if it is not constant.

        Sums may differ by 1e-9 of the leaf's largest payoff, or of the median payoff if that is larger.
        """
        payoffs = self.reached_payoffs
        return constant_of_sums(payoffs.sum(axis=1), np.abs(payoffs).max(axis=1, initial=0.0))

    @property
    def reached_payoffs(self) -> Floats:
        """The payoffs of the leaves with positive chance probability."""
        reached = self.chance > 0.0
        return self.payoffs if reached.all() else self.payoffs[reached]

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff, or 1 if all are zero."""
        return float(np.abs(self.payoffs).max(initial=0.0)) or 1.0

    def gradient(self, player: int, plans: Sequence[Floats], num_sequences: int) -> Floats:
        """Return a player's payoff per unit of each own sequence, given the other players' plans.

        Parameters
        ----------
        player : int
        plans : sequence of ndarray of float64
            One realization plan per player; the player's own is not read.
        num_sequences : int
            Length of the result.

        Returns
        -------
        ndarray of float64, shape (num_sequences,)
        """
        weights = self.chance * self.payoffs[:, player]
        for other, plan in enumerate(plans):
            if other != player:
                weights *= plan[self.sequences[:, other]]
        counts = np.bincount(self.sequences[:, player], weights=weights, minlength=num_sequences)
        return counts.astype(np.float64, copy=False)

    def expected_payoffs(self, plans: Sequence[Floats]) -> Floats:
        """Return each player's expected payoff for given plans, shape (num_players,)."""
        reach = self.chance.copy()
        for player, plan in enumerate(plans):
            reach *= plan[self.sequences[:, player]]
        return reach @ self.payoffs


def constant_of_sums(sums: Floats, sizes: Floats) -> float | None:
    """Return the constant that all sums of payoffs equal up to round-off, or ``None`` if they differ.

    Parameters
    ----------
    sums : ndarray of float64, shape (k,)
    sizes : ndarray of float64, shape (k,)
        The largest absolute payoff in each sum. A sum may differ from the constant by 1e-9 of it, or of the median.

    Returns
    -------
    float or None
        Without round-off, so that 0.1 + 0.2 sums to 0.3; 0 if ``sums`` is empty.
    """
    if not len(sums):
        return 0.0
    room = 1e-9 * np.maximum(sizes, _middle(sizes[sizes > 0.0]) if sizes.any() else 0.0)
    if (np.abs(sums) <= room).all():
        return 0.0
    constant = without_round_off(_middle(sums), float(sizes.max(initial=0.0)))
    return constant if (np.abs(sums - constant) <= room).all() else None


def without_round_off(number: float, size: float) -> float:
    """Round a number to 12 digits if that changes it by no more than the round-off of a sum of the given size.

    Examples
    --------
    >>> from treeplex.seqform.payoffs import without_round_off
    >>> without_round_off(0.1 + 0.2, 0.2), without_round_off(1 / 3, 1.0)
    (0.3, 0.3333333333333333)
    """
    rounded = float(f"{number:.12g}")
    return rounded if abs(rounded - number) <= 1e-15 * max(abs(number), size) else number


def none_is_penalty(sizes: Floats) -> bool:
    """Return whether non-zero absolute payoffs are within a factor of 100, so that none can be a penalty."""
    largest = float(sizes.max(initial=0.0))
    return largest <= PENALTY * float(sizes[sizes > LEAST * largest].min(initial=np.inf))


def _middle(numbers: Floats) -> float:
    """Return the median without computing a sum, which may overflow."""
    return float(np.partition(numbers, len(numbers) // 2)[len(numbers) // 2])


class Payoff(ABC):
    """The payoffs of a game in sequence form: linear in the realization plan of each player.

    Attributes
    ----------
    leaves : LeafTable or None
        The payoffs at the leaves, if they are known.
    is_operator : bool
        Whether products with plans need no matrix, which may take much memory.
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

    @abstractmethod
    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return a player's payoff per unit of each of its sequences, given the others' plans."""

    def expected(self, plans: Sequence[Floats]) -> Floats:
        """Return each player's expected payoff, shape (num_players,)."""
        return np.array([self.gradient(player, plans) @ plan for player, plan in enumerate(plans)])

    def matrix_of(self, player: int) -> sp.csr_array:
        """Return a player's payoff for every pair of sequences of a two-player game, multiplied by chance.

        Raises
        ------
        UnsupportedProblemError
            If the payoffs have no matrix.
        """
        raise UnsupportedProblemError(f"{self!r} has no payoff matrix")


class WithMatrices(Payoff, ReadOnly):
    """Two players' payoffs that use matrices to compute products with plans."""

    is_operator: ClassVar[bool] = False

    @cached_property
    def _first(self) -> sp.csr_array:
        return self._made(0)

    @cached_property
    def _second(self) -> sp.csr_array:
        return self._made(1)

    @cached_property
    def _second_transposed(self) -> sp.csc_array:
        """Bᵀ, sharing the arrays of B; cached, because creating it takes longer than a product of small matrices."""
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


class LeafPayoff(WithMatrices):
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
        # The matrices follow from the leaves.
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
        """Whether payoffs sum to zero, up to round-off, at every leaf with positive chance probability."""
        return self._table.is_zero_sum

    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return A y or Bᵀ x for two players, otherwise sums over the leaves."""
        if len(self.shape) == 2:
            return super().gradient(player, plans)
        return self._table.gradient(player, plans, self.shape[player])

    def expected(self, plans: Sequence[Floats]) -> Floats:
        """Return xᵀ A y and xᵀ B y for two players, otherwise sums over the leaves."""
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
