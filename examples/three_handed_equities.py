"""Estimate the pot shares of every three preflop classes and write the shipped file (ten minutes): ``… FILE.npz``."""

import hashlib
import sys
from pathlib import Path

import numba
import numpy as np

from treeplex.models.games.holdem.cards import HANDS
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASS_SIZES
from treeplex.models.games.holdem.showdown import strengths

sys.path.insert(0, str(Path(__file__).parent))
from preflop_equities import BITS, kinds_of_boards

MEMBERS = np.stack([np.resize(np.flatnonzero(one == CLASS_OF_HAND), 12) for one in range(169)])
TRIPLES = np.array([(i, j, k) for i in range(169) for j in range(i, 169) for k in range(j, 169)], dtype=np.int16).T


@numba.njit(error_model="numpy")
def add_triples(bits, strength, weight, dealt, first, second):
    """Add, for every three classes, whether their hands can be dealt, and the sixths of a pot that two of them win."""
    place = np.uint64(0)
    for i in range(169):
        for j in range(i, 169):
            both, mine, other = bits[0, i] | bits[1, j], strength[0, i], strength[1, j]
            known = mine > 0 and other > 0 and bits[0, i] & bits[1, j] == 0  # 0: a card is on the board
            for k in range(j, 169):
                third = strength[2, k]
                best = max(mine, other, third)
                wins, shares = np.int32(mine == best), np.int32(other == best)
                count = weight if known and third > 0 and both & bits[2, k] == 0 else np.int32(0)
                part = count * np.int32(6) // (wins + shares + np.int32(third == best))
                dealt[place] += count
                first[place] += wins * part
                second[place] += shares * part
                place += np.uint64(1)


def estimate(boards, counts, rounds=2, seed=0):
    """Return the pot shares of the first and second hands for every three classes, shape (2, 818805)."""
    random, (dealt, *won) = np.random.default_rng(seed), np.zeros((3, TRIPLES.shape[1]), dtype=np.int32)
    for board, count in zip(boards.tolist() * rounds, counts.tolist() * rounds, strict=True):
        order = np.unique(strengths(board, np.arange(len(HANDS))), return_inverse=True)[1].astype(np.int32)
        drawn = MEMBERS[np.arange(169), (random.random((3, 169)) * CLASS_SIZES).astype(np.int64)]
        add_triples(BITS[drawn], order[drawn], np.int32(count), dealt, *won)
    one, two = (np.where(dealt > 0, part / np.maximum(6.0 * dealt, 1.0), 1.0 / 3.0) for part in won)
    same, later = TRIPLES[0] == TRIPLES[1], TRIPLES[1] == TRIPLES[2]  # equal classes win equal shares
    one, two = (
        np.where(same, (one + two) / 2, one),
        np.where(same, (one + two) / 2, np.where(later, (1 - one) / 2, two)),
    )
    return np.where(same & later, 1.0 / 3.0, (one, two))


if __name__ == "__main__":
    first, second = np.rint(255 * estimate(*kinds_of_boards())).astype(np.uint8)
    np.savez_compressed(sys.argv[1], first=first, second=second)
    print(f"{sys.argv[1]}: SHA-256 of the numbers {hashlib.sha256(first.tobytes() + second.tobytes()).hexdigest()}")
