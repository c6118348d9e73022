"""Spot files: what they say, and that each mistake in one is answered by one line that names the place and the mend."""

import itertools

import pytest

from treeplex import GameFileError, InvalidConstraintError, TreeplexError, load_game
from treeplex.cli import main
from treeplex.models.games.holdem import HoldemSpot, Lock
from treeplex.models.games.holdem.bets import Betting
from treeplex.seqform.interchange.toml_table import read_toml

phevaluator = pytest.importorskip("phevaluator")

FILE = """\
board = "Td9d6hQc2s"
pot = 200
stack = 900
[ranges]
oop = "QQ+, AKs"
ip = "JJ, T9s:0.5"
[bets]
bet = "60%, a"
raise = "2.5x"
[bets.river.oop]
donk = "50%"
[thresholds]
merge = 0.1
"""
CARD = "is not a card, expected a rank of 23456789TJQKA and a suit of cdhs"
AMOUNT = "write 60% for a share of the pot, or 60c for chips"
WHICH = "a percentage of hands does not say which; list them"
SMALLER = "the smaller of the two stacks"
ITEM = "expected AA, 66+, QQ-22, AKs, AKo, AK, A2s+, A5s-A2s, 98s-65s, AsKh or random"
KEYS = "expected board, pot, stack, deck, ranges, bets, thresholds, lines, rake or locks"
CHIPS = "expected a whole number of chips from"
ENDS = (
    "the ends of an interval must be two pairs, or have the same higher card or gap and the same s or o, as in QQ-22, "
    "A5s-A2s and 98s-65s"
)
WEIGHT = "; a weight follows its hands, AA:0.5"

#: What is replaced in the file, by what, and the line that follows.
BOARDS = [
    ('"Td9d"', "line 1: board 'Td9d': 2 cards, expected a flop, turn or river: 3 to 5"),
    ('""', "line 1: board '': 0 cards, expected a flop, turn or river: 3 to 5"),
    ('"Td9d6hQc2s3s"', "line 1: board 'Td9d6hQc2s3s': 6 cards, expected a flop, turn or river: 3 to 5"),
    ('"Td9dTd"', "line 1: board 'Td9dTd' at character 5: Td appears twice"),
    ('"10d9d6h"', f"line 1: board '10d9d6h' at character 1: '10' {CARD}; write Td9d6h"),
    ('"Td9d6"', f"line 1: board 'Td9d6' at character 5: '6' {CARD}"),
    ('"T♦9♦6♥"', f"line 1: board 'T♦9♦6♥' at character 1: 'T♦' {CARD}; write Td9d6h"),
    ('"dT d9 h6"', f"line 1: board 'dT d9 h6' at character 1: 'dT' {CARD}; write Td9d6h"),
    ('"Td 9d 6x"', f"line 1: board 'Td 9d 6x' at character 7: '6x' {CARD}"),
    ('"Td|9d|6h"', f"line 1: board 'Td|9d|6h' at character 3: '|9' {CARD}"),
    ('["Td", "9d", "6h"]', "line 1: board is ['Td', '9d', '6h'], expected a string such as 'Td9d6h'"),
    ("Td9d6h", "line 1, column 9: not valid TOML: Invalid value; put text in quotes"),
]
#: The same for the range out of position, after ``line 5: ranges.oop: ``.
RANGES = [
    (
        "AKs+",
        (
            "range at character 1, 'AKs+': + raises the lower card, but no rank lies between K and A; write AKs, or "
            "list the hands"
        ),
    ),
    (
        "QQ, 54s+",
        (
            "range at character 5, '54s+': + raises the lower card, but no rank lies between 4 and 5; write 54s, "
            "or list the hands"
        ),
    ),
    ("", "the range of oop is empty, expected at least one hand"),
    ("AA:0", "the range of oop is empty, expected at least one hand"),
    ("TdTh, QcQd", "the range of oop has no hand on the board Td9d6hQc2s: each hand contains a card of the board"),
    ("[50]AA[/40]", "range at character 1, '[50]AA[/40]': [/40] closes nothing, expected [/50]"),
    ("AA, [50]KK, QQ", "range: [50] is not closed, expected [/50] after its hands"),
    (
        "AA[/50]",
        "range at character 1, 'AA[/50]': [/50] closes nothing, expected a weight before it, such as [50]AA[/50]",
    ),
    (
        "[150]AA[/150]",
        "range at character 1, '[150]AA[/150]': the weight is [150], expected a percentage from 0 to 100",
    ),
    ("[50]AA:1[/50]", "range at character 1, '[50]AA:1[/50]': the weight is '1' and [50], expected only one"),
    ("[50]AA, [60]KK[/60]", "range at character 9, '[60]KK[/60]': '[50]AA' is still open, expected [/50] first"),
    ("[50]AA]", "range at character 1, '[50]AA]': expected a weight around hands, such as [50]AA, KK[/50]"),
    (
        "15%",
        f"range at character 1, '15%': {ITEM}; {WHICH}, such as 66+, ATs+, AJo+",
    ),
    ("AA:50%", "range at character 1, 'AA:50%': the weight is '50%', expected a number from 0 to 1; write 0.5"),
    ("AA:50", "range at character 1, 'AA:50': the weight is '50', expected a number from 0 to 1; write 0.5"),
    ("AA:-1", "range at character 1, 'AA:-1': the weight is '-1', expected a number from 0 to 1"),
    ("AA:", "range at character 1, 'AA:': the weight is '', expected a number from 0 to 1"),
    ("AA:half", "range at character 1, 'AA:half': the weight is 'half', expected a number from 0 to 1"),
    ("AA:0,5", f"range at character 6, '5': {ITEM}; a weight follows its hands and has a point, AA:0.5"),
    ("AA@1", "range at character 1, 'AA@1': @1 may be a fraction or a percentage; write :1 or @1%"),
    ("AA@0.5", "range at character 1, 'AA@0.5': @0.5 may be a fraction or a percentage; write :0.5 or @0.5%"),
    ("AA@500", "range at character 1, 'AA@500': the weight is @500, expected a percentage from 0 to 100"),
    ("AA(0.5)", f"range at character 1, 'AA(0.5)': {ITEM}{WEIGHT}"),
    ("AA=0.5", f"range at character 1, 'AA=0.5': {ITEM}{WEIGHT}"),
    ("0.5:AA", f"range at character 1, '0.5:AA': {ITEM}; a weight follows its hands and has a point, AA:0.5"),
    ("50%AA", f"range at character 1, '50%AA': {ITEM}{WEIGHT}"),
    ("A♠K♥", f"range at character 1, 'A♠K♥': {ITEM}; write AsKh"),
    ("10s", f"range at character 1, '10s': {ITEM}; a ten is T, as in TT and ATs"),
    ("1010", f"range at character 1, '1010': {ITEM}; write TT"),
    ("QQ, A10s+", f"range at character 5, 'A10s+': {ITEM}; write ATs+"),
    ("AA KK", f"range at character 1, 'AA KK': {ITEM}; separate items with commas"),
    ("AA;KK", f"range at character 1, 'AA;KK': {ITEM}; separate items with commas"),
    ("QQ–22", f"range at character 1, 'QQ–22': {ITEM}; write QQ-22"),
    ("QQ..22", f"range at character 1, 'QQ..22': {ITEM}; intervals have a hyphen, QQ-22"),
    ("A5s-2s", f"range at character 1, 'A5s-2s': {ITEM}; both ends of an interval are written in full, A5s-A2s"),
    ("A5s-A2o", f"range at character 1, 'A5s-A2o': {ENDS}"),
    ("KQs-J9s", f"range at character 1, 'KQs-J9s': {ENDS}"),
    ("KQ-TT", f"range at character 1, 'KQ-TT': {ENDS}"),
    ("QQ+-22", f"range at character 1, 'QQ+-22': + and - cannot be combined; {ITEM}"),
    ("AAs", "range at character 1, 'AAs': a pair is neither suited nor offsuit; write AA"),
    ("Axs", f"range at character 1, 'Axs': {ITEM}; any lower card is 2+, as in A2+, A2s+ and K2o+"),
    ("AKdd", f"range at character 1, 'AKdd': {ITEM}; hands of two suits are listed card by card, AdKd"),
    ("AKQ", f"range at character 1, 'AKQ': {ITEM}; suited hands are AKs, others AKo, and both AK"),
    ("ATC", f"range at character 1, 'ATC': {ITEM}; any two cards are random"),
    ("66++", f"range at character 1, '66++': {ITEM}; a single + follows the hands, 66+"),
    ("AsAs", "range at character 1, 'AsAs': As appears twice"),
    ("AA, , KKx", f"range at character 7, 'KKx': {ITEM}"),
]
#: What is replaced in the file, by what, and the line that follows.
OTHERS = [
    ('oop = "QQ+, AKs"', "oop = 7",
     "line 5: ranges.oop: the range is 7, expected a string such as 'QQ+, AKs, A5s-A2s:0.5'"),
    ('oop = "QQ+, AKs"', 'button = "AA"', "line 5: ranges: unknown key 'button'; expected oop or ip"),
    ('oop = "QQ+, AKs"', 'OOP = "AA"', "line 5: ranges: unknown key 'OOP' (did you mean oop?); expected oop or ip"),
    ('oop = "QQ+, AKs"', "", 'line 4: ranges.oop is missing, expected a range, such as "QQ+, AKs, A5s-A2s:0.5"'),
    ('"QQ+, AKs"\nip = "JJ, T9s:0.5"', '"KsKh"\nip = "KsKh"',
     "line 4: ranges: the ranges block each other: no hand of one can be dealt with a hand of the other"),
    ("pot = 200", "pot = 0", f"line 2: pot is 0, {CHIPS} 1 to 10,000,000"),
    ("pot = 200", 'pot = "200"', f"line 2: pot is '200', {CHIPS} 1 to 10,000,000"),
    ("pot = 200", "pot = 20.5", f"line 2: pot is 20.5, {CHIPS} 1 to 10,000,000; count in smaller chips"),
    ("pot = 200", "", "pot is missing, expected a whole number of chips"),
    ("pot = 200", "pots = 200", f"line 2: unknown key 'pots' (did you mean pot?); {KEYS}"),
    ("pot = 200", "pot = 1,000",
     "line 2, column 8: not valid TOML: Expected newline or end of document after a statement"),
    ("stack = 900", "stack = -5", f"line 3: stack is -5, {CHIPS} 0 to 10,000,000"),
    ("stack = 900", "stack = [900, 800]",
     f"line 3: stack is [900, 800], {CHIPS} 0 to 10,000,000; {SMALLER} is the largest possible loss"),
    ("stack = 900", "effective_stack = 900",
     f"line 3: unknown key 'effective_stack' (did you mean stack?); {KEYS}"),
    ("stack = 900", "stack = 900\nante = 1", "line 4: unknown key 'ante': add the antes to pot"),
    ("stack = 900", "stack = 900\nblinds = [1, 2]", "line 4: unknown key 'blinds': add the blinds to pot"),
    ("stack = 900", "stack = 900\nStraddle = 4", "line 4: unknown key 'Straddle': add the straddle to pot"),
    ('board = "Td9d6hQc2s"\n', "", 'board is missing, expected a flop, turn or river, such as "Td9d6h"'),
    ("board =", "bord =", f"line 1: unknown key 'bord' (did you mean board?); {KEYS}"),
    ('"60%, a"', "60", "line 8: bets.bet is 60, expected a string, such as '60%, a'"),
    ('"60%, a"', '"60"', f"line 8: bets.bet at character 1: '60', expected 60%, 120c, e or a; {AMOUNT}"),
    ('"60%, a"', '"a, 0.6"', "line 8: bets.bet at character 4: '0.6', expected 60%, 120c, e or a; write 60%"),
    ('"60%, a"', '"2/3"', "line 8: bets.bet at character 1: '2/3', expected 60%, 120c, e or a; write 66.67%"),
    ('"60%, a"', '"half pot"', "line 8: bets.bet at character 1: 'half pot', expected 60%, 120c, e or a; write 50%"),
    ('"60%, a"', '"2x"',
     "line 8: bets.bet at character 1: '2x', expected 60%, 120c, e or a; a bet has no earlier bet to multiply"),
    ('"60%, a"', '"0%"', "line 8: bets.bet at character 1: '0%', expected more than 0%"),
    ('"60%, a"', '"-50%"', "line 8: bets.bet at character 1: '-50%', expected 60%, 120c, e or a"),
    ('"60%, a"', '"60%; a"',
     "line 8: bets.bet at character 1: '60%; a', expected 60%, 120c, e or a; separate sizes by commas"),
    ('"60%, a"', '"jam"', "line 8: bets.bet at character 1: 'jam', expected 60%, 120c, e or a; write a"),
    ('"60%, a"', '"none"',
     "line 8: bets.bet at character 1: 'none', expected 60%, 120c, e or a; leave the string empty for no sizes"),
    ('"60%, a"', '"min"', ("line 8: bets.bet at character 1: 'min', expected 60%, 120c, e or a; a spot has no blinds: "
     "write the smallest bet in chips, such as 10c")),
    ('"60%, a"', '"a, 2e150"', ("line 8: bets.bet at character 4: '2e150', expected 60%, 120c, e or a; write 2e150% "
     "for a geometric size of at most 150% of the pot")),
    ('"60%, a"', '"12.5c"',
     "line 8: bets.bet at character 1: '12.5c', expected 60%, 120c, e or a; chips are whole: count in smaller chips"),
    ('"60%, a"', '"$50"',
     "line 8: bets.bet at character 1: '$50', expected 60%, 120c, e or a; write 50c for chips"),
    ('"60%, a"', '"2.5bb"', ("line 8: bets.bet at character 1: '2.5bb', expected 60%, 120c, e or a; a spot counts in "
     "chips: write 120c for 120 chips")),
    ('"2.5x"', '"+100"',
     "line 9: bets.raise at character 1: '+100', expected 2.5x, 45%, 100c, min, e or a; write 100c for chips"),
    ('"60%, a"', '"0c"', "line 8: bets.bet at character 1: '0c', expected more than 0c"),
    ('"60%, a"', '"20000000c"', "line 8: bets.bet at character 1: '20000000c', expected at most 10000000c"),
    ('"60%, a"', '"e0%"', "line 8: bets.bet at character 1: 'e0%', expected more than 0%"),
    ('"60%, a"', '"200000%"', "line 8: bets.bet at character 1: '200000%', expected at most 100000%"),
    ('"2.5x"', '"1x"', "line 9: bets.raise at character 1: '1x', expected more than 1x"),
    ('"2.5x"', '"min-raise"',
     "line 9: bets.raise at character 1: 'min-raise', expected 2.5x, 45%, 100c, min, e or a; write min"),
    ('"2.5x"', '"3"', "line 9: bets.raise at character 1: '3', expected 2.5x, 45%, 100c, min, e or a; write 3x"),
    ('donk = "50%"', 'donk = "fifty"',
     "line 11: bets.river.oop.donk at character 1: 'fifty', expected 60%, 120c, e or a"),
    ('donk = "50%"', 'donks = "50%"',
     "line 11: bets.river.oop: unknown key 'donks' (did you mean donk?); expected bet, raise or donk"),
    ("raise =", "raises =",
     "line 9: bets: unknown key 'raises' (did you mean raise?); expected bet, raise, donk, flop, turn or river"),
    ("[bets.river.oop]", "[bets.rivr.oop]",
     "line 10: bets: unknown key 'rivr' (did you mean river?); expected bet, raise, donk, flop, turn or river"),
    ("[bets.river.oop]", "[bets.river.button]",
     "line 10: bets.river: unknown key 'button'; expected bet, raise, donk, oop or ip"),
    ("[bets.river.oop]", "[bets.oop]",
     "line 10: bets: unknown key 'oop'; expected bet, raise, donk, flop, turn or river"),
    ("merge = 0.1", 'merge = "10%"', "line 13: thresholds.merge is '10%', expected a number from 0 to 1,000,000"),
    ("merge = 0.1", "merg = 0.1", ("line 13: thresholds: unknown key 'merg' (did you mean merge?); expected add_allin, "
     "force_allin, merge or raise_cap")),
    ("merge = 0.1", "raise_cap = 2.5", "line 13: thresholds.raise_cap is 2.5, expected a whole number from 0 to 100"),
    ("[thresholds]", "[threshold]", f"line 12: unknown key 'threshold' (did you mean thresholds?); {KEYS}"),
    ("[thresholds]\nmerge = 0.1", '[rake]\nrate = "120%"',
     "line 13: rake.rate is '120%', expected a share of the pot from 0 to 1, or 0% to 100%"),
    ("[thresholds]\nmerge = 0.1", "[rake]\nrate = 5",
     "line 13: rake.rate is 5, expected a share of the pot from 0 to 1, or 0% to 100%"),
    ("[thresholds]\nmerge = 0.1", "[rake]\nrate = 0.05\ncap = -3",
     "line 14: rake.cap is -3, expected a number of chips of at least 0"),
    ("pot = 200", "pot = 200\nrake = 0.05",
     "line 3: rake is 0.05, expected a table, such as [rake] with rate = 0.05"),
    ("[thresholds]\nmerge = 0.1", "[rake]\nrat = 0.05",
     "line 13: rake: unknown key 'rat' (did you mean rate?); expected rate or cap"),
    ("[thresholds]\nmerge = 0.1", '[[locks]]\nseat = "co"\nstrategy = { fold = 1 }',
     "line 12: locks[1]: the seat of a lock is 'co', expected oop or ip"),
    ("[thresholds]\nmerge = 0.1", '[[locks]]\nseat = "ip"',
     "line 12: locks[1]: a lock needs either text alone, or a seat and one of strategy and frequency"),
    ("[thresholds]\nmerge = 0.1", '[[locks]]\nseat = "ip"\nstrategy = { fold = 2 }',
     "line 12: locks[1]: fold of a lock is 2, expected a probability from 0 to 1"),
    ("[thresholds]\nmerge = 0.1", '[locks]\nseat = "ip"',
     "line 12: locks is {'seat': 'ip'}, expected tables, such as [[locks]] with seat = \"ip\""),
    ("[thresholds]\nmerge = 0.1", '[lines]\n"chek" = "bet 20"',
     "line 13: lines.chek: 'chek' at first (did you mean check?); expected check, bet 120 or all-in"),
    ("[thresholds]\nmerge = 0.1", '[lines]\ncheck = "120"',
     "line 13: lines.check: '120', expected bet 120, raise 300 or all-in"),
    ("stack = 900", 'stack = 900\ndeck = "small"', "line 4: deck is 'small', expected one of full, short"),
    ("stack = 900", 'stack = 900\ndeck = "short"',
     "line 1: board 'Td9d6hQc2s': 2s is not in a short deck, expected ranks of 6 or higher"),
    (FILE, "pot 200", "line 1, column 5: not valid TOML: Expected '=' after a key in a key/value pair"),
    (FILE, "", 'board is missing, expected a flop, turn or river, such as "Td9d6h"'),
    (FILE, 'game = "kuhn"', ("line 1: unknown key 'game'; expected a declaration with one of the keys board (a hold'em "
     "spot), flops (hold'em on several flops), payoffs (a matrix game), map (a patrol)")),
]  # fmt: skip
MISTAKES = [
    *(('"Td9d6hQc2s"', board, message) for board, message in BOARDS),
    *(("QQ+, AKs", text, f"line 5: ranges.oop: {message}") for text, message in RANGES),
    *OTHERS,
]


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spot.toml").write_text(FILE, encoding="utf-8")


@pytest.mark.parametrize(("old", "new", "message"), MISTAKES, ids=[f"{old[:12]}-{new}" for old, new, _ in MISTAKES])
def test_mistakes_are_answered_by_a_line_with_the_place_and_the_mend(old, new, message, tmp_path):
    assert FILE.count(old) == 1
    (tmp_path / "spot.toml").write_text(FILE.replace(old, new), encoding="utf-8")
    with pytest.raises(TreeplexError) as refused:
        load_game("spot.toml")
    assert str(refused.value) == f"spot.toml: {message}"


def test_mistakes_are_told_by_commands_in_the_same_words(tmp_path, capsys):
    (tmp_path / "spot.toml").write_text(FILE.replace("QQ+, AKs", "AKs+"), encoding="utf-8")
    for command in ("info", "solve", "evaluate"):
        assert main([command, "spot.toml", *(["--strategy", "x.npz"] if command == "evaluate" else [])]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err.startswith("error: spot.toml: line 5: ranges.oop: range at character 1, 'AKs+': + raises the")


def test_a_spot_file_is_read():
    spot = HoldemSpot.from_file("spot.toml")
    assert (spot.board, spot.pot, spot.stack, spot.spec) == ("Td9d6hQc2s", 200, 900, "spot.toml")
    assert [len(held) for held in spot.hands] == [3 + 6 + 6 + 4, 6 + 3]
    assert spot.weights[1].tolist().count(0.5) == 3
    assert spot.betting == Betting({"": "60%, a"}, {"": "2.5x"}, {"oop river": "50%"}, merge=0.1)
    game = load_game("spot.toml")
    assert (game.spec, game.spot.spec) == ("spot.toml", "spot.toml")


def test_a_spot_is_known_by_its_board_whatever_its_name(tmp_path):
    (tmp_path / "notes.txt").write_text("# from last night\n" + FILE, encoding="utf-8")
    assert load_game("notes.txt").spot.pot == 200
    (tmp_path / "other.txt").write_text("pot = 1\n", encoding="utf-8")
    with pytest.raises(GameFileError, match=r"other\.txt: the suffix is '\.txt'"):
        load_game("other.txt")


def test_a_file_says_what_python_says():
    """What one writes the other reads, and both give the same tree and hands."""
    betting = Betting(
        {"oop river": "50%", "turn": "75%, a", "ip": "60%, 3e, 1234567c"},
        "2.5x, 45%, min, 2e150%",
        {"river": "33%"},
        merge=0.2,
        raise_cap=3,
    )
    spot = HoldemSpot("Td9d6hQc", ["QQ+, AsKh, T9s:0.25, JhJd:0.5", "random"], 100, 300, betting)
    spot.to_toml("again.toml")
    again = HoldemSpot.from_file("again.toml")
    for where in itertools.product((0, 1), (0, 1, 2), (0, 100), (False, True)):
        assert again.betting.sizes(*where) == spot.betting.sizes(*where)
    assert (again.betting.merge, again.betting.raise_cap) == (0.2, 3)
    for first, second in zip(spot.weights, again.weights, strict=True):
        assert first.tolist() == second.tolist()


def test_sizes_alone_may_be_given_as_a_text_or_a_table():
    first = HoldemSpot("Td9d6hQc2s", ["AA", "KK"], 200, 900, bets="60%, e, a")
    second = HoldemSpot("Td9d6hQc2s", ["AA", "KK"], 200, 900, bets={"bet": "60%, e, a", "river": {"ip": {"bet": "a"}}})
    assert first.betting.sizes(1, 2, 0, False) != second.betting.sizes(1, 2, 0, False)
    assert first.betting.sizes(0, 2, 0, False) == second.betting.sizes(0, 2, 0, False)


def test_locks_are_kept_and_not_ignored(tmp_path):
    lock = '[[locks]]\nseat = "ip"\nat = "bet 120"\nstrategy = { fold = 0.25, call = 0.75 }\n'
    (tmp_path / "spot.toml").write_text(FILE + lock, encoding="utf-8")
    spot = HoldemSpot.from_file("spot.toml")
    assert spot.locks == (Lock("ip", {"fold": 0.25, "call": 0.75}, at="bet 120"),)
    spot.to_toml("again.toml")
    assert HoldemSpot.from_file("again.toml").locks == spot.locks
    assert load_game("spot.toml").constraints[0].name.startswith('ip at "bet 120" with ')
    (tmp_path / "spot.toml").write_text(FILE + lock.replace("120", "100"), encoding="utf-8")
    with pytest.raises(InvalidConstraintError, match=r"there is no 'bet 100' at the root.*; expected check, bet 120"):
        _ = load_game("spot.toml").constraints


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xef\xbb\xbfpot = 1\n", None),
        (b"pot = 1\n# \xff", "line 2: not UTF-8 text"),
        (b"a = '", "at its end"),
        (b"a" * 2**21, "expected at most 1,048,576"),
    ],
)
def test_files_that_are_not_toml_are_refused(content, message, tmp_path):
    (tmp_path / "any.toml").write_bytes(content)
    if message is None:
        assert read_toml("any.toml").values == {"pot": 1}
        return
    with pytest.raises(GameFileError, match=message):
        read_toml("any.toml")


def test_a_key_after_the_header_of_a_table_says_where_it_belongs(tmp_path):
    (tmp_path / "x.toml").write_text("pot = 1\n[rake]\nrate = 0.05\npot = 100\n", encoding="utf-8")
    top = read_toml(tmp_path / "x.toml")
    top.check_keys(["pot", "rake"])
    with pytest.raises(GameFileError, match=r"line 4: rake: unknown key 'pot', which belongs before the line \[rake\]"):
        top.table("rake", "[rake]").check_keys(["rate"])
