"""Games played at random from strategies, by drawing leaves from their exact distribution, and the average results."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Integers
from ...seqform.checks import check_number, check_type, check_whole
from ...seqform.enumeration import LeafTable
from ...seqform.errors import InvalidGameError, InvalidStrategyError, UnsupportedProblemError
from ...seqform.strategy import Profile

#: Games that are drawn at once.
CHUNK = 2**16


def leaf_probabilities(profile: Profile) -> Floats:
    """Return with which probability a game ends at each leaf.

    Parameters
    ----------
    profile : Profile

    Returns
    -------
    ndarray of float64, shape (num_leaves,)
        In the order of the sequence form's leaf table: chance's probability times every player's realization.

    Raises
    ------
    InvalidStrategyError
        If it is not a profile.
    UnsupportedProblemError
        If the game has no table of leaves.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.models.play import leaf_probabilities
    >>> leaf_probabilities(Profile.uniform(load_game("matching_pennies")))
    array([0.25, 0.25, 0.25, 0.25])
    """
    check_type(profile, "profile", InvalidStrategyError, Profile)
    leaves = profile[0].sequence_form.leaves
    if leaves is None:
        raise UnsupportedProblemError(
            f"{profile[0].game_name or 'the game'} has no table of leaves: a game without histories cannot be played"
        )
    probabilities: Floats = leaves.chance.copy()
    for player, plan in enumerate(profile.plans):
        probabilities *= plan[leaves.sequences[:, player]]
    return probabilities


def simulate(profile: Profile, games: int, seed: int = 0, chunk: int = CHUNK) -> Iterator[Integers]:
    """Play games at random, each player by its strategy.

    Parameters
    ----------
    profile : Profile
    games : int
        How many, at least 0.
    seed : int
        For ``numpy.random.default_rng``. Equal seeds give equal games, whatever the chunk, and more games begin with
        those of fewer.
    chunk : int
        How many are drawn at once, at least 1.

    Returns
    -------
    iterator of ndarray of int32
        At which leaf each game ends, as the sequence form's leaf table numbers them, `chunk` of them at a time.

    Raises
    ------
    InvalidStrategyError
        If it is not a profile, or a number is not whole or too small.
    UnsupportedProblemError
        If the game has no table of leaves.

    Notes
    -----
    A uniform number u of [0, 1) is the leaf at which the cumulated :func:`leaf_probabilities` first exceed u, so that a
    leaf of probability 0 is never drawn.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex import Profile, load_game, simulate
    >>> game = load_game("kuhn")
    >>> leaves = np.concatenate(list(simulate(Profile.uniform(game), games=100_000, seed=1)))
    >>> float(game.sequence_form.leaves.payoffs[leaves, 0].mean())  # 1/8 in expectation
    0.12...
    """
    games = check_whole(games, "games", InvalidStrategyError)
    seed = check_whole(seed, "seed", InvalidStrategyError)
    chunk = check_whole(chunk, "chunk", InvalidStrategyError, "[1, inf)")
    cumulated = np.cumsum(leaf_probabilities(profile))
    cumulated /= cumulated[-1]
    return _draw(cumulated, games, np.random.default_rng(seed), chunk)


def _draw(cumulated: Floats, games: int, rng: np.random.Generator, chunk: int) -> Iterator[Integers]:
    for start in range(0, games, chunk):
        numbers = rng.random(min(chunk, games - start))
        yield np.searchsorted(cumulated, numbers, side="right").astype(np.int32)


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
            If the confidence is not between 0 and 1.
        """
        confidence = check_number(confidence, "confidence", InvalidGameError, "(0, 1)")
        games = self.num_games
        if not games:
            return None
        payoffs: Floats = self._leaves.payoffs[:, player]
        mean = float(self.ended @ payoffs) / games
        # One game shows no spread: the interval is the range of the payoffs.
        if games == 1:
            return MeanResult(mean, float(payoffs.min()), float(payoffs.max()))
        variance = float(self.ended @ (payoffs - mean) ** 2) / (games - 1)
        reach = NormalDist().inv_cdf((1.0 + confidence) / 2.0) * math.sqrt(variance / games)
        return MeanResult(mean, mean - reach, mean + reach)
