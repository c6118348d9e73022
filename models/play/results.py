"""What players have won on average, and how sure that is."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Integers
from ...seqform.enumeration import LeafTable
from ...seqform.errors import InvalidGameError, shown


@dataclass(frozen=True)
class MeanResult:
    """What one player was paid in a game on average, with an interval for its expectation.

    Attributes
    ----------
    mean : float
        In payoff units.
    lower, upper : float
        The interval.
    """

    mean: float
    lower: float
    upper: float


class Results:
    """Adds up how games ended.

    Parameters
    ----------
    leaves : LeafTable

    Attributes
    ----------
    ended : ndarray of int64, shape (num_leaves,)
        How many games ended at each leaf.

    Notes
    -----
    The interval is the mean ± z s / √n, with the standard deviation s of the payoffs over n games and the quantile z of
    the normal distribution: it holds with the given confidence as n grows.

    Examples
    --------
    >>> from treeplex import Profile, load_game, simulate
    >>> from treeplex.models.play import Results
    >>> game = load_game("kuhn")
    >>> results = Results(game.sequence_form.leaves)
    >>> for leaves in simulate(Profile.uniform(game), games=10_000, seed=1):
    ...     results.add(leaves)
    >>> found = results.of_player(0)
    >>> found.lower < 1 / 8 < found.upper, results.num_games
    (True, 10000)
    """

    def __init__(self, leaves: LeafTable) -> None:
        self._leaves = leaves
        self.ended: npt.NDArray[np.int64] = np.zeros(len(leaves), dtype=np.int64)

    def add(self, leaves: Integers) -> None:
        """Add games, by the leaves at which they ended."""
        self.ended += np.bincount(leaves, minlength=len(self.ended))

    @property
    def num_games(self) -> int:
        """Number of games."""
        return int(self.ended.sum())

    def of_player(self, player: int, confidence: float = 0.95) -> MeanResult | None:
        """Return what a player was paid on average; ``None`` without games.

        Parameters
        ----------
        player : int
        confidence : float
            Between 0 and 1.

        Raises
        ------
        InvalidGameError
            If the confidence is none.
        """
        if not _is_confidence(confidence):
            raise InvalidGameError(f"confidence = {shown(confidence)}; expected a number between 0 and 1")
        games = self.num_games
        if not games:
            return None
        payoffs: Floats = self._leaves.payoffs[:, player]
        mean = float(self.ended @ payoffs) / games
        # With one game there is no spread to be seen: the interval is what payoffs there are.
        if games == 1:
            return MeanResult(mean, float(payoffs.min()), float(payoffs.max()))
        variance = float(self.ended @ (payoffs - mean) ** 2) / (games - 1)
        reach = NormalDist().inv_cdf((1.0 + confidence) / 2.0) * math.sqrt(variance / games)
        return MeanResult(mean, mean - reach, mean + reach)


def _is_confidence(value: Any) -> bool:
    return isinstance(value, int | float) and 0.0 < value < 1.0
