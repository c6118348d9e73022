"""Count who wins of every two of the 169 preflop classes, over all boards, and write the file that ships with treeplex.

    python -P examples/preflop_equities.py --out models/games/holdem/preflop_equities.npy

The 2,598,960 boards are 134,459 up to an exchange of suits, which exchanges the hands of a class among themselves: one of
each kind is counted, as often as there are boards of its kind. It takes some minutes, on one core.
"""

import argparse
import hashlib
from itertools import chain, combinations, islice
from pathlib import Path

import numba
import numpy as np

from treeplex.models.games.holdem.cards import HANDS
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASSES
from treeplex.models.games.holdem.showdown import strengths

ALL = np.arange(len(HANDS))
BITS = (1 << HANDS).sum(axis=1)


def kinds_of_boards(limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return one board of each kind, shape (n, 5), and how many boards are of its kind."""
    five = islice(combinations(range(52), 5), limit)
    boards = np.fromiter(chain.from_iterable(five), dtype=np.int64).reshape(-1, 5)
    suits = np.stack([np.where(boards % 4 == suit, 1 << boards // 4, 0).sum(axis=1) for suit in range(4)], axis=1)
    suits.sort(axis=1)
    keys = (suits << np.arange(0, 52, 13)).sum(axis=1)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return boards[first], counts


@numba.njit(cache=False)
def add_pairs(wins, ties, count, strength, kind, bits):  # type: ignore[no-untyped-def]
    """Add up, by class, which hand of every two without a card in common wins; hands come from weak to strong."""
    for one in range(len(strength)):
        for other in range(one):
            if bits[one] & bits[other] == 0:
                if strength[other] < strength[one]:
                    wins[kind[one], kind[other]] += count
                else:
                    ties[kind[one], kind[other]] += count


def count_outcomes(boards: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how often a hand of each class beats one of each other, and how often they split, shape (169, 169) each.

    Of a class against itself, every pair of its hands counts twice: once for each of the two who may hold either.
    """
    wins, ties = np.zeros((2, len(CLASSES), len(CLASSES)), dtype=np.int64)
    for board, count in zip(boards.tolist(), counts.tolist(), strict=True):
        strength = strengths(board, ALL)
        order = np.argsort(strength, kind="stable")
        order = order[strength[order] > 0]
        add_pairs(wins, ties, count, strength[order], CLASS_OF_HAND[order], BITS[order])
    return wins, ties + ties.T


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("preflop_equities.npy"))
    arguments = parser.parse_args()
    wins, ties = count_outcomes(*kinds_of_boards())
    np.save(arguments.out, np.stack([wins, ties]).astype(np.uint32))
    print(f"{arguments.out}: SHA-256 {hashlib.sha256(arguments.out.read_bytes()).hexdigest()}")


if __name__ == "__main__":
    main()
