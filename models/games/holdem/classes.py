"""The 169 classes of preflop hands: pairs, suited and offsuit hands by rank."""

import numpy as np

from ....seqform.arrays import Indices, frozen
from .cards import HANDS, RANKS


def _class_at(row: int, column: int) -> str:
    high, low = RANKS[12 - min(row, column)], RANKS[12 - max(row, column)]
    return high + low + ("" if row == column else "s" if row < column else "o")


#: The classes of hands in chart order: aces first, suited above the diagonal, row by row.
CLASSES = tuple(_class_at(row, column) for row in range(13) for column in range(13))


def _classes_of(hands: Indices) -> Indices:
    """Return the index of the class of each hand, given the hand's higher and lower card."""
    high, low = 12 - hands[:, 0] // 4, 12 - hands[:, 1] // 4
    suited = hands[:, 0] % 4 == hands[:, 1] % 4
    return np.where(suited, 13 * high + low, 13 * low + high)


#: The class of each of the 1,326 hands, by number: ``CLASSES[CLASS_OF_HAND[hand]]`` is its name.
CLASS_OF_HAND: Indices = frozen(_classes_of(HANDS))
#: The number of hands in each class: 6 for a pair, 4 suited, 12 offsuit.
CLASS_SIZES: Indices = frozen(np.bincount(CLASS_OF_HAND))
