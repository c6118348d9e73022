"""Exact results of every pair of the 169 preflop classes, counted over all boards."""

import io
from functools import cache
from importlib import resources
from math import comb

import numpy as np

from ....seqform.arrays import Floats, Indices, frozen

#: Number of boards for two given hands: five of 48 cards.
BOARDS = comb(48, 5)


@cache
def outcomes() -> Indices:
    """Return how often each class beats each other class, and how often they split, shape (2, 169, 169).

    The counts are over pairs of hands without a common card, one of each class, and the 1,712,304 boards that can be
    dealt to each pair. ``examples/preflop_equities.py`` computes them with :func:`~.showdown.strengths`.

    Examples
    --------
    >>> from treeplex.models.games.holdem.classes import CLASSES
    >>> from treeplex.models.games.holdem.equities import BOARDS, outcomes
    >>> wins, ties = outcomes()
    >>> aces, kings = CLASSES.index("AA"), CLASSES.index("KK")
    >>> int(wins[aces, kings]), int(ties[aces, kings]), int(wins[kings, aces])
    (50371344, 285228, 10986372)
    """
    stored = resources.files(__package__).joinpath("preflop_equities.npy").read_bytes()
    return frozen(np.load(io.BytesIO(stored)).astype(np.int64))


@cache
def pairs() -> Indices:
    """Return the number of pairs of hands without a common card for every two classes, shape (169, 169).

    Examples
    --------
    >>> from treeplex.models.games.holdem.equities import pairs
    >>> int(pairs()[0, 0]), int(pairs()[0, 1]), int(pairs().sum()) == 1326 * 1225
    (6, 12, True)
    """
    wins, ties = outcomes()
    return frozen((wins + wins.T + ties) // BOARDS)


@cache
def equities() -> Floats:
    """Return the share of the pot that each class wins against each other class without betting, shape (169, 169).

    Examples
    --------
    >>> from treeplex.models.games.holdem.classes import CLASSES
    >>> from treeplex.models.games.holdem.equities import equities
    >>> aces, kings, deuces = (CLASSES.index(name) for name in ("AA", "KK", "22"))
    >>> round(float(equities()[aces, kings]), 6)
    0.819461
    """
    wins, ties = outcomes()
    return frozen((wins + ties / 2) / (BOARDS * pairs()))
