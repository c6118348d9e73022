"""Games simulated from strategies by drawing leaves from their exact distribution, and the mean results."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Integers
from ...seqform.checks import check_number, check_type, check_whole, explained
from ...seqform.errors import InvalidGameError, InvalidStrategyError, UnsupportedProblemError
from ...seqform.payoffs import LeafTable
from ...seqform.strategy import Profile

#: Number of games drawn at once.
CHUNK = 2**16
#: The largest number of distinct payoffs in an interval.
_LEVELS = 2**13


def leaf_probabilities(profile: Profile) -> Floats:
    """Return the probability with which a game ends at each leaf.

    Parameters
    ----------
    profile : Profile

    Returns
    -------
    ndarray of float64, shape (num_leaves,)
        In the order of the sequence form's leaf table: the probability of chance times every player's realization.

    Raises
    ------
    InvalidStrategyError
        If the argument is not a profile.
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


@explained
def simulate(profile: Profile, games: int, seed: int = 0, chunk: int = CHUNK) -> Iterator[Integers]:
    """Simulate games in which each player uses its strategy.

    Parameters
    ----------
    profile : Profile
    games : int
        Number of games, at least 0.
    seed : int
        For ``numpy.random.default_rng``. Equal seeds give equal games for any chunk size, and a longer run begins with
        the games of a shorter one.
    chunk : int
        Number of games drawn at once, at least 1.

    Returns
    -------
    iterator of ndarray of int32
        The index in the sequence form's leaf table of the leaf at which each game ends, `chunk` games at a time.

    Raises
    ------
    InvalidStrategyError
        If the argument is not a profile, or a number is not an integer or too small.
    UnsupportedProblemError
        If the game has no table of leaves.

    Notes
    -----
    A uniform number u in [0, 1) selects the leaf at which the cumulative :func:`leaf_probabilities` first exceed u, so
    a leaf of probability 0 is never drawn.

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
    """The mean payoff of one player per game, with an interval for its expectation.

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


def mean_interval(
    payoffs: Floats, counts: npt.NDArray[np.int64], lowest: float, highest: float, confidence: float
) -> MeanResult:
    """Return the mean of observed payoffs, with an interval that holds for any number of games.

    Parameters
    ----------
    payoffs : ndarray of float64, shape (k,)
        Between the smallest and the largest payoff of the game.
    counts : ndarray of int64, shape (k,)
        Number of observations of each, at least one in total.
    lowest, highest : float
    confidence : float
        γ: the interval contains the expectation with at least this probability, if games are independent.

    Notes
    -----
    Let y = (x − lowest) / (highest − lowest). For any c from 0 to 1, the product Π (1 − c + c y / m) over the games has
    expectation 1 if m is the mean of y, and so has its average K(m) over several c. By Markov's inequality K(m) reaches
    2 / (1 − γ) with probability at most (1 − γ) / 2. K decreases in m, and the lower end is where it reaches that
    value. The upper end follows in the same way from highest − x. Here c is 0.9, 0.45, 0.225, … down to about 0.9 /
    games.

    I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
    Statistical Society B 86, 2024 (arXiv:2010.09686), with fixed bets.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.play.simulation import mean_interval
    >>> found = mean_interval(np.array([-1.0, 1.0]), np.array([40, 60]), -1.0, 1.0, 0.95)
    >>> found.mean, round(found.lower, 3), round(found.upper, 3)
    (0.2, -0.137, 0.5)
    """
    unit = max(abs(lowest), abs(highest)) or 1.0
    scaled, places = np.unique(payoffs[counts > 0] / unit, return_inverse=True)
    seen: Floats = np.bincount(places, weights=counts[counts > 0]).astype(np.float64)
    mean = float(seen @ scaled / seen.sum())
    low, high = lowest / unit, highest / unit
    if low < high:
        above, beyond = (scaled - low) / (high - low), (1.0 - confidence) / 2.0
        ends = _least_mean(above, seen, beyond), 1.0 - _least_mean(1.0 - above, seen, beyond)
        low, high = (low + (high - low) * end for end in ends)
    return MeanResult(mean * unit, low * unit, high * unit)


def _least_mean(values: Floats, counts: Floats, beyond: float) -> float:
    """Return a lower bound on the mean of numbers from 0 to 1 that fails with probability at most `beyond`."""
    if len(values) > _LEVELS:  # rounding down is faster, and the bound still holds
        places = np.floor(values * _LEVELS).astype(np.int64)
        counts = np.bincount(places, weights=counts).astype(np.float64)
        values = np.arange(len(counts)) / _LEVELS
    shares = 0.9 * 0.5 ** np.arange(math.ceil(math.log2(counts.sum())) + 1)[:, np.newaxis]
    low, high = 0.0, float(counts @ values / counts.sum())
    if not high:
        return 0.0
    for _ in range(30):
        place = (low + high) / 2.0
        logarithms = np.log1p(shares * (values / place - 1.0)) @ counts
        if np.logaddexp.reduce(logarithms) >= math.log(len(shares) / beyond):
            low = place
        else:
            high = place
    return low


class Results:
    """An accumulator of the results of games.

    Parameters
    ----------
    leaves : LeafTable

    Attributes
    ----------
    ended : ndarray of int64, shape (num_leaves,)
        Number of games that ended at each leaf.

    Notes
    -----
    Intervals are those of :func:`mean_interval`, between the lowest and the highest payoff of the game: they hold with
    the given confidence or more for any number of games. The interval mean ± z s / √n does not: for two games of Leduc
    poker, s is 0 with probability one in eight.

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
        """Add games, given the leaves at which they ended."""
        self.ended += np.bincount(leaves, minlength=len(self.ended))

    @property
    def num_games(self) -> int:
        """Number of games."""
        return int(self.ended.sum())

    def of_player(self, player: int, confidence: float = 0.95) -> MeanResult | None:
        """Return a player's mean payoff; ``None`` without games.

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
        if not self.num_games:
            return None
        payoffs: Floats = self._leaves.payoffs[:, player]
        return mean_interval(payoffs, self.ended, float(payoffs.min()), float(payoffs.max()), confidence)
