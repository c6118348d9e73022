"""Kinds of made hands: which hands are a pair, a flush and so on with the cards of a board."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from .cards import HANDS
from .showdown import alive, strengths

#: The kinds by the rules, weakest first.
_KINDS = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)
#: The names of kinds of made hands; the last ones are parts of others.
MADE_HANDS = (*_KINDS, "overpair", "top pair", "set")


@lru_cache(maxsize=256)
def made(name: str, board: Sequence[int], deck: str = "full") -> npt.NDArray[np.bool_]:
    """Return which of the 1,326 hands are of a kind on a board of three to five cards.

    Parameters
    ----------
    name : str
        One of :data:`MADE_HANDS`. An ``overpair`` is a pair in the hand that is higher than all cards of the board, a
        ``top pair`` pairs the board's highest card, and a ``set`` is three of a kind with a pair in the hand. Hands
        that make more, such as two pair, do not count as these.
    board : tuple of int
    deck : {"full", "short"}

    Returns
    -------
    ndarray of bool, shape (1326,)

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import HAND_NAMES, read_board
    >>> from treeplex.models.games.holdem.made_hands import made
    >>> board = tuple(read_board("QcJc9c3d2d"))
    >>> [HAND_NAMES[hand] for hand in made("set", board).nonzero()[0][:3].tolist()], int(made("flush", board).sum())
    (['2h2c', '2s2c', '2s2h'], 43)
    """
    every = np.arange(len(HANDS))
    kinds = strengths(tuple(board), every, deck) >> 26
    if deck == "short":  # a flush beats a full house
        kinds = np.where(kinds == 5, 6, np.where(kinds == 6, 5, kinds))
    ranks, highest = HANDS // 4, max(board) // 4
    paired = ranks[:, 0] == ranks[:, 1]
    parts = {
        "overpair": (1, paired & (ranks[:, 0] > highest)),
        "top pair": (1, ~paired & (ranks == highest).any(axis=1)),
        "set": (3, paired),
    }
    kind, also = parts.get(name) or (_KINDS.index(name), True)
    found: npt.NDArray[np.bool_] = (kinds == kind) & also & alive(board, every)
    return found
