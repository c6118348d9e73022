"""Classes of hands that a person cannot tell apart on a board."""

import numpy as np
import pytest

pytest.importorskip("phevaluator")

from treeplex.models.games.holdem.cards import HAND_NAMES, read_board
from treeplex.models.games.holdem.hand_classes import HAND_CLASSES, hand_classes
from treeplex.models.games.holdem.showdown import alive


def alike(name, board, first, second):
    """Return whether two hands are in the same class."""
    found = hand_classes(name, tuple(read_board(board)))
    return found[HAND_NAMES.index(first)] == found[HAND_NAMES.index(second)]


@pytest.mark.parametrize(
    ("name", "board", "first", "second", "same"),
    [
        ("ranks", "Ks9s4h", "AsQs", "AdQd", True),
        ("ranks", "Ks9s4h", "AdQd", "AdQc", False),
        ("suits", "Ks9s4h", "AsQs", "AdQd", False),
        ("suits", "Ks9s4h2c7d", "AsQs", "AdQd", True),
        ("suits", "Ks9s4s2c7d", "AsQd", "AdQs", False),
        ("made", "Ks9d4h", "AcKh", "KcQh", True),
        ("made", "Ks9d4h", "KcQh", "Kc8h", False),
        ("made", "Ks9d4h", "9c8c", "Kc8h", False),
        ("made", "Ks9d4h", "AsAh", "AdAc", True),
        ("made", "Ks9d4h", "KhKd", "9h9c", True),
        ("made", "Ks9d4h", "AhAd", "8h8c", False),
        ("made", "Ks9s4h", "AsQs", "7s6s", False),
        ("made", "Ks9s4h", "AsQs", "As7s", True),
        ("made", "Ts9d4h", "QhJc", "Jh8c", False),
        ("made", "Ts9d4h", "8h7c", "Jd8c", False),
        ("made", "QcJc9c3d2d", "AcKc", "Kc4c", False),
    ],
)
def test_hands_that_look_alike(name, board, first, second, same):
    assert alike(name, board, first, second) == same


@pytest.mark.parametrize("board", ["Ks9s4h", "Ks9s4h4d", "Ks9s4h4d9c", "QsJsTs9s8s", "AsAhAdAcKs"])
def test_coarser_classes_contain_finer_ones(board):
    cards = tuple(read_board(board))
    possible = alive(cards, np.arange(len(HAND_NAMES)))
    ranks, suits, made = (hand_classes(name, cards)[possible] for name in HAND_CLASSES)
    assert len(np.unique(ranks)) <= 169
    assert len(np.unique(np.stack([ranks, suits]), axis=1).T) == len(np.unique(suits))
    assert len(np.unique(made)) < len(np.unique(ranks)) or board in ("QsJsTs9s8s", "AsAhAdAcKs")
