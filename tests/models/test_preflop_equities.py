"""Equities of classes before the flop: the file that ships, and the script that counts them."""

import hashlib
import importlib.util
from importlib import resources
from pathlib import Path

import numpy as np
import pytest

from treeplex.models.games.holdem.cards import HANDS, Range
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASS_SIZES, CLASSES
from treeplex.models.games.holdem.equities import BOARDS, equities, outcomes, pairs
from treeplex.models.games.holdem.showdown import strengths

#: Of the file, as the script prints it.
SHA_256 = "64d44d3acc18b385cd537cf64796854b083549c2efc80bf33f10b5b087456131"


@pytest.fixture(scope="module")
def script():
    path = Path(__file__).parents[2] / "examples" / "preflop_equities.py"
    found = importlib.util.spec_from_file_location("preflop_equities", path)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def numbers(*names):
    return [CLASSES.index(name) for name in names]


def test_classes_are_those_of_the_hands():
    assert np.bincount(CLASS_SIZES).nonzero()[0].tolist() == [4, 6, 12]
    for number, name in enumerate(CLASSES):
        np.testing.assert_array_equal(number == CLASS_OF_HAND, Range.parse(name).weights > 0.0)


def test_the_file_is_what_the_script_wrote():
    stored = resources.files("treeplex.models.games.holdem").joinpath("preflop_equities.npy").read_bytes()
    assert hashlib.sha256(stored).hexdigest() == SHA_256


def test_every_pair_of_hands_is_counted_with_every_board():
    wins, ties = outcomes()
    assert ((wins + wins.T + ties) % BOARDS == 0).all()
    np.testing.assert_array_equal(ties, ties.T)
    cards = HANDS[:, :, None, None] == HANDS.T[None, None]
    together = ~cards.any(axis=(1, 2))
    counted = np.zeros_like(pairs())
    np.add.at(counted, (CLASS_OF_HAND[:, None], CLASS_OF_HAND[None, :]), together)
    np.testing.assert_array_equal(pairs(), counted)


# As players quote them: kevingong.com/Math/KKPreflop.html has 81.946031 % for the first.
@pytest.mark.parametrize(
    ("one", "other", "percent", "digit"),
    [("AA", "KK", 81.946, 0.001), ("AKs", "QQ", 46.0, 0.1), ("22", "AKo", 52.6, 0.1)],
)
def test_equities_of_known_match_ups(one, other, percent, digit):
    mine, theirs = numbers(one, other)
    assert 100 * equities()[mine, theirs] == pytest.approx(percent, abs=digit / 2)
    assert equities()[mine, theirs] + equities()[theirs, mine] == pytest.approx(1.0, abs=1e-15)


def test_the_script_counts_as_comparing_hand_by_hand_does(script):
    rng = np.random.default_rng(0)
    boards = np.array([rng.choice(52, 5, replace=False) for _ in range(3)])
    wins, ties = script.count_outcomes(boards, np.array([1, 2, 5]))
    cards = (1 << HANDS).sum(axis=1)
    free = (cards[:, None] & cards[None, :]) == 0
    mine = np.zeros((2, 169, 169), dtype=np.int64)
    for board, times in zip(boards, (1, 2, 5), strict=True):
        strong = strengths(board.tolist(), np.arange(len(HANDS)))
        dealt = free & (strong[:, None] > 0) & (strong[None, :] > 0)
        for found, how in zip(mine, (np.greater, np.equal), strict=True):
            np.add.at(
                found, (CLASS_OF_HAND[:, None], CLASS_OF_HAND[None, :]), times * (dealt & how.outer(strong, strong))
            )
    np.testing.assert_array_equal(wins, mine[0])
    np.testing.assert_array_equal(ties, mine[1])


def test_kinds_of_boards_stand_for_all(script):
    boards, counts = script.kinds_of_boards(limit=2000)
    assert counts.sum() == 2000
    suits = {tuple(sorted(tuple(sorted(card // 4 for card in board if card % 4 == suit)) for suit in range(4)))
             for board in boards.tolist()}  # fmt: skip
    assert len(suits) == len(boards)
