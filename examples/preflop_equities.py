"""Count the results of every pair of the 169 preflop classes over all boards, and write the file shipped with treeplex.

python examples/preflop_equities.py preflop_equities.npy

There are 134,459 boards up to permutations of suits, which permute the hands of a class. This takes four minutes.
"""

import hashlib
import sys
from itertools import chain, combinations, islice
from pathlib import Path

import numba
import numpy as np

from treeplex.models.games.holdem.cards import HANDS
from treeplex.models.games.holdem.classes import CLASS_OF_HAND
from treeplex.models.games.holdem.showdown import strengths

BITS = (1 << HANDS).sum(axis=1)


def kinds_of_boards(limit=None):
    """Return one board of each kind, shape (n, 5), and the number of boards of its kind."""
    boards = np.array(list(chain.from_iterable(islice(combinations(range(52), 5), limit)))).reshape(-1, 5)
    suits = np.stack([np.where(boards % 4 == suit, 1 << boards // 4, 0).sum(axis=1) for suit in range(4)], axis=1)
    kinds = (np.sort(suits, axis=1) << np.arange(0, 52, 13)).sum(axis=1)
    _, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    return boards[first], counts


@numba.njit
def add_pairs(wins, ties, count, strength, kind, bits):
    """Add, by class, the results of all pairs of hands without a common card; hands are ordered from weak to strong."""
    for one in range(len(strength)):
        for other in range(one):
            if bits[one] & bits[other] == 0:
                if strength[other] < strength[one]:
                    wins[kind[one], kind[other]] += count
                else:
                    ties[kind[one], kind[other]] += count


def count_outcomes(boards, counts):
    """Return how often a hand of each class beats a hand of another, and how often they split, shape (169, 169)."""
    wins, ties = np.zeros((2, 169, 169), dtype=np.int64)
    for board, count in zip(boards.tolist(), counts.tolist(), strict=True):
        strength = strengths(board, np.arange(len(HANDS)))
        order = np.argsort(strength, kind="stable")
        order = order[strength[order] > 0]  # the others contain a card of the board
        add_pairs(wins, ties, count, strength[order], CLASS_OF_HAND[order], BITS[order])
    return wins, ties + ties.T  # a class against itself counts both hands of a pair


if __name__ == "__main__":
    path = Path(sys.argv[1])
    np.save(path, np.array(count_outcomes(*kinds_of_boards())).astype(np.uint32))
    print(f"{path}: SHA-256 {hashlib.sha256(path.read_bytes()).hexdigest()}")
