"""The leaves of a game as one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from .polytope import Floats, Integers


@dataclass(frozen=True, eq=False)
class LeafTable:
    """Every leaf's sequences, chance probability and payoffs.

    Attributes
    ----------
    sequences : ndarray of int32, shape (num_leaves, num_players)
        The last sequence of each player on the way to the leaf.
    chance : ndarray of float64, shape (num_leaves,)
        Probability that chance plays to the leaf.
    payoffs : ndarray of float64, shape (num_leaves, num_players)
        Payoff units, chance not multiplied in.
    exact_chance : tuple of Fraction, optional
    exact_payoffs : tuple of tuple of Fraction, optional
        The same as fractions, where the walk was asked to keep them.
    """

    sequences: Integers
    chance: Floats
    payoffs: Floats
    exact_chance: tuple[Fraction, ...] | None = None
    exact_payoffs: tuple[tuple[Fraction, ...], ...] | None = None

    def __len__(self) -> int:
        return len(self.chance)

    @property
    def num_players(self) -> int:
        """Number of players."""
        return int(self.payoffs.shape[1])

    @property
    def is_zero_sum(self) -> bool:
        """Whether payoffs sum to zero at every leaf, within 1e-9 of the largest payoff."""
        return bool(np.abs(self.payoffs.sum(axis=1)).max(initial=0.0) <= 1e-9 * self.payoff_scale)

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff, or 1 if all are zero."""
        return float(np.abs(self.payoffs).max(initial=0.0)) or 1.0

    def gradient(self, player: int, plans: Sequence[Floats], num_sequences: int) -> Floats:
        """Return a player's payoff per unit of each own sequence, the other players' plans given.

        Parameters
        ----------
        player : int
        plans : sequence of ndarray of float64
            One realization plan a player; the player's own is not read.
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
        """Return each player's expected payoff, shape (num_players,), when all play the given plans."""
        reach = self.chance.copy()
        for player, plan in enumerate(plans):
            reach *= plan[self.sequences[:, player]]
        return reach @ self.payoffs
