"""Plays games at random, as two strategies or more would: by drawing leaves from their exact distribution."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any

import numpy as np

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
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
        If it is no profile.
    UnsupportedProblemError
        If the game has no table of leaves.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.models.play import leaf_probabilities
    >>> leaf_probabilities(Profile.uniform(load_game("matching_pennies")))
    array([0.25, 0.25, 0.25, 0.25])
    """
    if not isinstance(profile, Profile):
        raise InvalidStrategyError(f"{shown(profile)} is no profile: a Profile is needed, one strategy a player")
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
        If it is no profile, or a number is none or too small.
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
    games, seed, chunk = _whole(games, "games", 0), _whole(seed, "seed", 0), _whole(chunk, "chunk", 1)
    cumulated = np.cumsum(leaf_probabilities(profile))
    cumulated /= cumulated[-1]
    return _draw(cumulated, games, np.random.default_rng(seed), chunk)


def _draw(cumulated: Floats, games: int, rng: np.random.Generator, chunk: int) -> Iterator[Integers]:
    for start in range(0, games, chunk):
        numbers = rng.random(min(chunk, games - start))
        yield np.searchsorted(cumulated, numbers, side="right").astype(np.int32)


def _whole(value: Any, name: str, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise InvalidStrategyError(f"{name} = {shown(value)}; expected a whole number of at least {least}")
    return int(value)
