"""Correlation plans: their probabilities, payoffs and recommendations."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_whole
from ...seqform.errors import InvalidOptionError
from .polytope import CorrelationPolytope

#: The largest number of columns whose distribution is written out by default.
_SHORT = 5_000
#: Player 0's and player 1's recommended action at each infoset that the own recommendations allow to be reached.
Recommendation = tuple[Mapping[Hashable, Hashable], Mapping[Hashable, Hashable]]


def generator_of(seed: int | np.random.Generator) -> np.random.Generator:
    """Return a generator as it is, or one with a seed.

    Raises
    ------
    InvalidOptionError
        If the seed is not a whole number of at least 0.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    return np.random.default_rng(check_whole(seed, "seed", InvalidOptionError, "[0, inf)"))


@dataclass(frozen=True, eq=False, repr=False)
class CorrelationPlan:
    """A distribution over pairs of pure plans, from which a mediator draws recommendations.

    Attributes
    ----------
    polytope : CorrelationPolytope
    columns : ndarray of float64
        The distribution as a point of the polytope, exact except for round-off.

    Examples
    --------
    In the game of chicken, the best correlated equilibrium never recommends that both dare:

    >>> from treeplex import EFCE, Game, SequenceForm, solve
    >>> chicken = SequenceForm.from_payoff_matrix([[0, 7], [2, 6]], [[0, 2], [7, 6]], labels=("DC", "DC"))
    >>> plan = solve(EFCE(Game.from_sequence_form(chicken))).state
    >>> sorted((round(chance, 9), *own.values(), *other.values()) for chance, (own, other) in plan.mixture())
    [(0.25, 'C', 'D'), (0.25, 'D', 'C'), (0.5, 'C', 'C')]
    >>> own, other = plan.recommend(seed=1)
    >>> (*own.values(), *other.values()) != ("D", "D")
    True
    """

    polytope: CorrelationPolytope
    columns: Floats

    def __repr__(self) -> str:
        return f"CorrelationPlan(num_pairs={self.polytope.pairs.num_pairs})"

    @cached_property
    def values(self) -> Floats:
        """The probability of each pair of sequences, shape (num_pairs,)."""
        found: Floats = self.polytope.to_pairs @ self.columns
        return found

    @property
    def violation(self) -> float:
        """The largest violation of an equation or of ξ ≥ 0, as a probability."""
        excess = self.polytope.pairs.equations @ self.values
        excess[0] -= 1.0
        return float(max(np.abs(excess).max(), -self.values.min(), 0.0))

    def marginal(self, player: int) -> Floats:
        """Return a player's realization plan."""
        found: Floats = self.polytope.marginals(player) @ self.values
        return found

    def recommend(self, seed: "int | np.random.Generator" = 0) -> Recommendation:
        """Draw one recommendation for each player, jointly.

        A mediator reveals an action when its infoset is reached, and nothing more to a player who did not follow. The
        probability that both players' recommendations contain a pair of sequences is exactly :attr:`values`.

        Parameters
        ----------
        seed : int or numpy.random.Generator

        Returns
        -------
        tuple of two dicts
            The action at each infoset that the player reaches if it follows its own recommendations.

        Raises
        ------
        InvalidOptionError
            If the seed is not a whole number of at least 0.
        """
        return self._read(self.polytope.draw(self._shares, generator_of(seed)))

    def mixture(self) -> list[tuple[float, Recommendation]]:
        """Return pairs of recommendations and their probabilities, at most as many as there are columns."""
        return [(weight, self._read(point)) for weight, point in self.polytope.mixture(self.columns)]

    def record(self) -> list[dict[str, Any]] | None:
        """Return :meth:`mixture` for JSON, with lists of infosets and actions; ``None`` for a large game."""
        if not self.is_short:
            return None
        return [
            {"probability": chance, "players": [[[str(at), str(do)] for at, do in one.items()] for one in both]}
            for chance, both in self.mixture()
        ]

    @property
    def is_short(self) -> bool:
        """Whether :meth:`mixture` takes little time."""
        return self.polytope.size <= _SHORT

    @cached_property
    def _shares(self) -> Floats:
        return self.polytope.shares(self.columns)

    def _read(self, point: Floats) -> Recommendation:
        drawn = self.polytope.to_pairs @ point
        found: list[Mapping[Hashable, Hashable]] = []
        for player, treeplex in enumerate(self.polytope.form.treeplexes):
            played = np.flatnonzero(self.polytope.marginals(player) @ drawn > 0.5)[1:]
            labels = (treeplex.sequence_label(int(sequence)) for sequence in played)
            found.append(dict(label for label in labels if label is not None))
        return found[0], found[1]
