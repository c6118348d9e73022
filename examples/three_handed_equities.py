"""Estimate what part of a pot three preflop classes win, and write the file that ships with treeplex.

    python -P examples/three_handed_equities.py --out models/games/holdem/three_handed_equities.npz

For each kind of board, three hands of every three classes are drawn, and compared if they can be dealt together; what a
board counts is how many boards are of its kind. Two rounds take about ten minutes, on one core.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numba
import numpy as np

from treeplex.models.games.holdem.cards import HANDS
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASS_SIZES, CLASSES
from treeplex.models.games.holdem.showdown import strengths

sys.path.insert(0, str(Path(__file__).parent))
from preflop_equities import kinds_of_boards

ALL = np.arange(len(HANDS))
BITS = (1 << HANDS).sum(axis=1)
#: The hands of each class, one row a class, again from the first after the last.
MEMBERS = np.stack([np.resize(np.flatnonzero(one == CLASS_OF_HAND), 12) for one in range(len(CLASSES))])
TRIPLES = len(CLASSES) * (len(CLASSES) + 1) * (len(CLASSES) + 2) // 6


@numba.njit(cache=False, error_model="numpy")
def add_triples(bits, strength, weight, dealt, first, second):  # type: ignore[no-untyped-def]
    """Add, for every three classes in order, whether their hands can be dealt and sixths of pots that two of them win.

    Hands and strengths have shape (3, 169): the first, second and third of three classes have hands of their own.
    A hand that shares a card with the board has strength 0.
    """
    place = np.uint64(0)
    for i in range(bits.shape[1]):
        for j in range(i, bits.shape[1]):
            both, mine, other = bits[0, i] | bits[1, j], strength[0, i], strength[1, j]
            known = mine > 0 and other > 0 and bits[0, i] & bits[1, j] == 0
            for k in range(j, bits.shape[1]):
                third = strength[2, k]
                best = max(mine, other, third)
                wins, shares = np.int32(mine == best), np.int32(other == best)
                winners = wins + shares + np.int32(third == best)
                part = np.int32(6) if winners == 1 else (np.int32(3) if winners == 2 else np.int32(2))
                count = weight if known and third > 0 and both & bits[2, k] == 0 else np.int32(0)
                dealt[place] += count
                first[place] += count * wins * part
                second[place] += count * shares * part
                place += np.uint64(1)


def estimate(rounds: int, seed: int, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the parts of the pot that the first and the second of every three classes win, i ≤ j ≤ k, as fractions.

    Parameters
    ----------
    rounds : int
        How often each kind of board is dealt.
    seed : int
    limit : int, optional
        How many boards to take the kinds of, for a try.
    """
    random = np.random.default_rng(seed)
    dealt, first, second = np.zeros((3, TRIPLES), dtype=np.int32)
    boards, counts = kinds_of_boards(limit)
    for board, count in zip(boards.tolist() * rounds, counts.tolist() * rounds, strict=True):
        order = np.unique(strengths(board, ALL), return_inverse=True)[1].astype(np.int32)
        drawn = MEMBERS[np.arange(len(CLASSES)), (random.random((3, len(CLASSES))) * CLASS_SIZES).astype(np.int64)]
        add_triples(BITS[drawn], order[drawn], np.int32(count), dealt, first, second)
    one, two = (np.where(dealt > 0, part / np.maximum(6.0 * dealt, 1.0), 1.0 / 3.0) for part in (first, second))
    i, j, k = triples()
    # Equal classes win as much.
    three = 1.0 - one - two
    same, later = i == j, j == k
    one, two = (
        np.where(same, (one + two) / 2, one),
        np.where(same, (one + two) / 2, np.where(later, (two + three) / 2, two)),
    )
    thirds = same & later
    return np.where(thirds, 1.0 / 3.0, one), np.where(thirds, 1.0 / 3.0, two)


def triples() -> np.ndarray:
    """Return every three classes in order, shape (3, n)."""
    count = len(CLASSES)
    return np.array([(i, j, k) for i in range(count) for j in range(i, count) for k in range(j, count)]).T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("three_handed_equities.npz"))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    first, second = (np.rint(255 * one).astype(np.uint8) for one in estimate(arguments.rounds, arguments.seed))
    np.savez_compressed(arguments.out, first=first, second=second)
    print(f"{arguments.out}: SHA-256 of the numbers {hashlib.sha256(first.tobytes() + second.tobytes()).hexdigest()}")


if __name__ == "__main__":
    main()
