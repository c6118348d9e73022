"""Sets of boards: the ways to write them, their weights, and mistakes."""

from math import comb
from pathlib import Path

import numpy as np
import pytest

from treeplex import InvalidGameError
from treeplex.models.games.holdem import BoardSet, HoldemSpot
from treeplex.models.games.holdem.board_sets import BoardsFile
from treeplex.models.games.holdem.cards import HANDS, Range
from treeplex.models.games.holdem.classes import CLASSES
from treeplex.models.games.holdem.equities import BOARDS, outcomes, pairs
from treeplex.seqform.errors import TreeplexError

RANGES = ["AA, KK, 76s:0.5", "QQ, JTs, A5o:0.25"]


def spot(ranges=RANGES, **how) -> HoldemSpot:
    return HoldemSpot("QcJc9c", ranges, 100, 100, bets="100%", **how)


def mean_equity(boards: BoardSet) -> float:
    weights = np.array([one.weight for one in boards.boards]) * boards.reach
    return float(weights @ [boards.on(one.board).equity[0] for one in boards.boards] / weights.sum())


@pytest.mark.parametrize("board", ["QcJc9c4d", "KsTd9d", "As5h2h"])
def test_weights_make_the_mean_over_next_cards_the_equity_before_them(board):
    boards = BoardSet(spot(), f"{board} + {'river' if len(board) == 8 else 'turn'}")
    assert sum(one.weight for one in boards.boards) == 52 - len(board) / 2
    assert mean_equity(boards) == pytest.approx(boards.on(board).equity[0], abs=1e-12)


def test_equal_cards_are_one_board_unless_ranges_or_locks_distinguish_them():
    assert len(BoardSet(spot(), "QcJc9c + turn").boards) == 23
    assert len(BoardSet(spot(["AsAh, KK", "QQ, JTs"]), "QcJc9c + turn").boards) > 30
    locked = spot(locks=['ip at "check" with "JsTs": check 50%'])
    assert len(BoardSet(locked, "QcJc9c + turn").boards) == 49


@pytest.mark.parametrize("deck", ["full", "short"])
def test_each_pair_of_hands_meets_as_many_flops_as_can_be_dealt(deck):
    boards = BoardSet(HoldemSpot("QcJc9c", RANGES, 100, 100, deck=deck), "flops:all")
    first, second = (
        Range.parse(text).weights * (HANDS.min(axis=1) >= (16 if deck == "short" else 0)) for text in RANGES
    )
    apart = (HANDS[:, None, :, None] != HANDS[None, :, None, :]).all(axis=(2, 3))
    cards = 36 if deck == "short" else 52
    weights = np.array([one.weight for one in boards.boards])
    assert weights @ boards.reach == pytest.approx(float(first @ apart @ second) * comb(cards - 4, 3))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "error"), [(23, -0.78), (49, -0.14)])
def test_the_sampling_error_of_aces_against_pairs_is_the_documented_one(size, error):
    wins, ties = outcomes()
    pair, pairs_of_hands = [CLASSES.index(rank * 2) for rank in "AKQJT98765432"], pairs()
    won = sum((wins + ties / 2)[pair[0], other] for other in pair[1:]) / BOARDS
    exact = won / sum(pairs_of_hands[pair[0], other] for other in pair[1:])
    found = mean_equity(BoardSet(spot(["AA", "KK-22"]), f"flops:{size}"))
    assert 100 * (found - exact) == pytest.approx(error, abs=0.006)
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "report-over-boards.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| aces against pairs |"))
    assert f"{error:.2f} (".replace("-", "−") in row
    assert f"| {100 * exact:.2f}% |" in row


def test_a_board_that_blocks_a_range_is_not_reached():
    boards = BoardSet(spot(["AA", "KK"]), ["AsAhAd", "KsKh2d:3", "Td9d6h"])
    assert boards.reach.tolist() == [0.0, 6.0, 36.0]
    assert [one.weight for one in boards.boards] == [1.0, 3.0, 1.0]
    for one, weight in zip(boards.boards[1:], boards.reach[1:].tolist(), strict=True):
        assert boards.on(one.board).pairs == weight


def test_cards_of_listed_boards_may_be_written_with_spaces():
    assert [one.board for one in BoardSet(spot(), ["td 9D 6h", "As Kd 2c : 2"]).boards] == ["Td9d6h", "AsKd2c"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("flop:23", r"boards is 'flop:23' \(did you mean flops\?\), expected \"flops:184\""),
        ("flops:0", "boards is 'flops:0', expected 1 to 1755 flops, or flops:all"),
        ("flops:1756", "expected 1 to 1755 flops"),
        ("flops:al", "boards is 'flops:al', expected"),
        ("Td9d6h", "boards is 'Td9d6h', expected"),
        ("Td9d6h + trun", r"boards is 'Td9d6h \+ trun' \(did you mean turn\?\), expected \"Td9d6h \+ turn\" after 3"),
        ("Td9d6h + river", r"expected \"Td9d6h \+ turn\" after 3 cards"),
        ("Td9d6hQc2s + river", "no card follows a river"),
        ("Td9d + turn", "2 cards, expected a flop"),
        ([], "boards is .*, expected"),
        ([3], "boards is .*, expected"),
        (3, "boards is 3, expected"),
        (["Td9d6h", "6hTd9d"], "'6hTd9d' appears twice; write its weight, as in 6hTd9d:2"),
        (["Td9d6h", "Td9d6hQc"], "'Td9d6h' and 'Td9d6hQc' have different numbers of cards"),
        (["Td9d6h:0"], "the weight is '0', expected a number above 0"),
        (["Td9d6h:x"], "the weight is 'x', expected a number above 0"),
        (["Td9d6x"], "'6x' is not a card"),
    ],
)
def test_mistakes_in_a_set_say_what_is_expected(written, expected):
    with pytest.raises(InvalidGameError, match=expected):
        BoardSet(spot(), written)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"ranges": ["AsAh, KK", "QQ"]}, "the range of oop distinguishes suits"),
        ({"ranges": ["KK", "QQ, AKs:0.5, AsKs"]}, "the range of ip distinguishes suits"),
        ({"locks": ['ip at "check" with "JsTs": check 50%']}, "the lock .* distinguishes suits"),
        ({"locks": ['oop at "check, check, deal 2d": check 50%']}, "the lock .* distinguishes suits"),
    ],
)
@pytest.mark.filterwarnings("ignore::treeplex.models.games.holdem.cards.RangeWarning")
def test_flops_need_ranges_and_locks_that_treat_suits_alike(given, expected):
    with pytest.raises(InvalidGameError, match=expected):
        BoardSet(spot(**given), "flops:23")
    BoardSet(
        spot(locks=['ip at "check" with "JTs": check 50%', 'oop at "check, check, deal *": check 50%']), "flops:23"
    )


def test_a_short_deck_has_all_flops_but_no_subsets():
    with pytest.raises(InvalidGameError, match="a short deck has no such subsets: use flops:all"):
        BoardSet(HoldemSpot("QcJc9c", RANGES, 100, 100, deck="short"), "flops:23")


# Files

FILE = """
boards = ["Td9d6h", "AsKd2c:2"]
pot = 100
stack = 300
ranges = { oop = "AA, KK", ip = "QQ, JTs" }
[bets]
bet = "60%"
[solve]
tol = "1%"
"""


@pytest.mark.parametrize("boards", ['"flops:23"', '["AsAhAd", "KsKhKd"]', '"QcJc9c2d + river"', '["2c3c4c5c6c"]'])
def test_a_file_is_read_even_if_its_first_board_blocks_a_range(boards, tmp_path):
    file = tmp_path / "boards.toml"
    file.write_text(FILE.replace('["Td9d6h", "AsKd2c:2"]', boards))
    read = BoardsFile.read(file)
    assert read.options == {"tol": "1%"}
    assert read.boards.on(read.boards.boards[-1].board).pot == 100


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("boards =", "baords =", r"line 2: unknown key 'baords' \(did you mean boards\?\)"),
        ("pot = 100", "", "pot is missing"),
        ("bet =", "bte =", r"line 7: bets: unknown key 'bte' \(did you mean bet\?\)"),
        ("[solve]", "[solv]", r"line 8: unknown key 'solv' \(did you mean solve\?\)"),
        ('oop = "AA, KK"', 'oop = "AAA"', "line 5: ranges.oop: range at character 1"),
        ("Td9d6h", "Td9d6x", "line 2: boards: board 'Td9d6x' at character 5: '6x' is not a card"),
        ("pot = 100", 'board = "Td9d6h"\npot = 100', "line 3: board and boards are given, expected one of the two"),
        ("[solve]", '[[locks]]\nseat = "ip"\nstrategy = "a.npz"\n[solve]', r"locks\[1\] is the strategy of one board"),
    ],
)
def test_mistakes_in_a_file_name_the_line(before, after, expected, tmp_path):
    file = tmp_path / "boards.toml"
    file.write_text(FILE.replace(before, after, 1))
    with pytest.raises(TreeplexError, match=expected):
        BoardsFile.read(file)


def test_a_spot_with_boards_names_the_command_that_solves_it(tmp_path):
    file = Path(tmp_path / "boards.toml")
    file.write_text(FILE)
    with pytest.raises(InvalidGameError, match=rf"line 2: boards: run treeplex sweep {file} --out DIR, or give one"):
        HoldemSpot.from_file(file)
