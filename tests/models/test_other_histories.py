"""Hand histories of other programs: read as pokerkit played them, and refused where they are wrong."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from effort import either

from treeplex import PlayLogError
from treeplex.models.matches import Hand, HandHistories, Table

pytest.importorskip("pokerkit")
from hand_histories import Played, random_hands
from other_histories import as_acpc, as_pokerstars, as_slumbot

STARS = """PokerStars Hand #24:  Hold'em No Limit ($0.50/$1.00 USD) - 2026/11/28 20:00:00 ET
Table 'Iota' 6-max Seat #2 is the button
Seat 2: us ($100 in chips)
Seat 5: them ($88.50 in chips)
us: posts small blind $0.50
them: posts big blind $1
*** HOLE CARDS ***
Dealt to us [As Kd]
us: raises $1.50 to $2.50
them: calls $1.50
*** FLOP *** [2c 7d 9h]
them: checks
us: bets $3
them: raises $6 to $9
us: folds
Uncalled bet ($6) returned to them
them collected $10.45 from pot
them: doesn't show hand
*** SUMMARY ***
Total pot $11 | Rake $0.55
Seat 2: us (button) (small blind) folded on the Flop
Seat 5: them (big blind) collected ($10.45)
"""


def read(text: str, **options: Any) -> list[Hand]:
    return list(HandHistories(io.BytesIO(text.encode()), **options))


def check(played: list[Played], write: Callable[[Played], str], **options: Any) -> None:
    """Hold hands that were written and read again to the states in which pokerkit left them."""
    hands = read("".join(map(write, played)), **options)
    assert len(hands) == len(played)
    for each, hand in zip(played, hands, strict=True):
        assert hand.won is not None
        assert [float(one) for one in hand.won] == pytest.approx([float(one) for one in each.state.payoffs])
        assert tuple(hand.stacks) == tuple(each.state.starting_stacks)
        words = [action.split()[1] for action in each.history.actions if action.split()[1] in ("f", "cc", "cbr")]
        kinds = {"fold": "f", "check": "cc", "call": "cc", "bet": "cbr", "raise": "cbr", "all-in": "cbr"}
        assert [kinds[word.split()[0]] for _, _, word in hand.history] == words
        seats = [
            int(action.split()[0][1:]) - 1 for action in each.history.actions if action.split()[1] in kinds.values()
        ]
        assert [seat for _, seat, _ in hand.history] == seats


@pytest.mark.parametrize("seats", [2, 3, 6])
def test_random_hands_of_pokerstars(seats: int) -> None:
    for ante, blind in (("none", "plain"), ("all", "plain"), ("none", "posts"), ("none", "straddle")):
        check(random_hands(either(6, 100), seed=4, seats=seats, ante=ante, blind=blind), as_pokerstars)


@pytest.mark.parametrize("seats", [2, 3, 6])
def test_random_hands_of_the_acpc(seats: int) -> None:
    for stack in (20_000, 700):
        played = random_hands(either(10, 150), seed=5, seats=seats, ante="none", blind="plain", stack=stack)
        check(played, as_acpc, table=Table(seats, stack))


@pytest.mark.parametrize("place", [0, 1])
def test_random_hands_of_slumbot(place: int) -> None:
    played = random_hands(either(20, 300), seed=6, seats=2, ante="none", blind="plain", stack=20_000)
    check(played, lambda one: as_slumbot(one, place))
    (first, *_) = read(as_slumbot(played[0], place))
    assert first.players[place] == "client"
    assert set(first.players) == {"client", "Slumbot"}


def test_a_hand_of_pokerstars() -> None:
    """By hand: the big blind wins the 5.50 of the button and blinds, minus a rake of 0.55."""
    (hand,) = read(STARS)
    assert hand.players == ("them", "us")
    assert [str(one) for one in hand.won or ()] == ["4.95", "-5.50"]
    assert [word for *_, word in hand.history] == ["raise 2.50", "call", "check", "bet 3", "raise 9", "fold"]
    assert hand.cards[1] is not None
    assert hand.cards[0] is None
    assert str(hand.big_blind) == "1"


def test_formats_are_recognised_by_content(tmp_path: Path) -> None:
    """Mixed in a file and in a folder, packed or not; other files of the folder are left alone."""
    played = random_hands(3, seed=7, seats=2, ante="none", blind="plain", stack=20_000)
    phh = "".join(f"[{number}]\n{one.history.dumps()}\n" for number, one in enumerate(played))
    mixed = as_acpc(played[0]) + phh + STARS + "\n\n" + as_slumbot(played[1], 0) + STARS + as_acpc(played[2])
    assert len(read(mixed)) == 1 + 3 + 1 + 1 + 1 + 1
    assert [hand.line for hand in read(STARS + "\n\n" + STARS)] == [1, STARS.count("\n") + 3]
    (tmp_path / "stars.txt").write_bytes(b"\xef\xbb\xbf" + STARS.replace("\n", "\r\n").encode())
    (tmp_path / "transcript.txt").write_text("*********** # 1 **************\n" + STARS)
    (tmp_path / "acpc.log").write_text("# name/game/hands/seed match holdem.game 1 7\n" + as_acpc(played[0]))
    (tmp_path / "slumbot.jsonl.gz").write_bytes(gzip.compress(as_slumbot(played[0], 1).encode()))
    (tmp_path / "hands.phhs").write_text(phh)
    (tmp_path / "notes.txt").write_text("nothing")
    assert len(list(HandHistories(tmp_path))) == 1 + 1 + 1 + 1 + 3
    assert len(list(HandHistories([tmp_path / "stars.txt", tmp_path / "acpc.log"]))) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Hold'em No Limit", "Omaha Pot Limit", "line 25: hand 24: the header is .*expected Hold'em No Limit"),
        ("us: bets $3", "them: bets $3", "line 25: hand 24: action 7, 'p1 cbr 3', comes when p2 is to act"),
        ("raises $6 to $9", "raises $1 to $4", "line 25: hand 24: action 8, 'p1 cbr 4', .* 4, expected 6 to 86"),
        ("us: bets $3", "us: wagers $3", "line 25: hand 24: 'wagers \\$3' is not an action of PokerStars"),
        ("[2c 7d 9h]", "[2c 7d 9x]", "line 25: hand 24: has the cards '2c 7d 9x'"),
        ("them collected $10.45", "them collected $12", "line 25: hand 24: winnings pay p1 12 from the pot"),
        ("us: folds\n", "", "line 25: hand 24: the hand is not over: p2 is to act"),
        ("*** FLOP ***", "*** FIRST FLOP ***", "line 25: hand 24: the board was dealt twice"),
    ],
)
def test_bad_hands_are_named_and_can_be_skipped(old: str, new: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "stars.txt"
    path.write_text(STARS + "\n\n" + STARS.replace(old, new) + "\n\n" + STARS)
    with pytest.raises(PlayLogError, match=said):
        list(HandHistories(path))
    hands = HandHistories(path, skip_bad=True)
    assert len(list(hands)) == 2
    assert [(bad.count, bad.line) for bad in hands.bad] == [(1, 25)]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("STATE:0:r300c", "expected STATE:number:actions:cards:results:players"),
        ("MATCHSTATE:0:0::AsAh|", "expected STATE:number"),
        ("STATE:0:r300x:AsAh|KsKd:300|-300:A|B", "has the actions 'r300x', invalid from 'x' on"),
        ("STATE:0:f:AsAh|KsKd:fifty|-50:A|B", "has the results"),
        ("STATE:0:f:AsAh|KsKd:50|-50:A", "has 1 players, 2 hands and 2 results"),
        ("STATE:0:r300f:AsAh|KsKd:100|-300:A|B", "finishing_stacks pay"),
        ('{"error_msg": "no such token"}', "is not a response of Slumbot"),
        ('{"action": "f", "client_pos": 3, "hole_cards": ["As", "Ah"], "winnings": 50}', "of another type"),
        ('{"action": "f", "client_pos": 0, "hole_cards": ["As", "1h"], "winnings": 50}', "has the cards"),
        ('{"action": "f"', "not JSON"),
    ],
)
def test_bad_lines_are_named(line: str, said: str) -> None:
    with pytest.raises(PlayLogError, match=said):
        read(line)
    assert read(line, skip_bad=True) == []


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        ("STATE:0:r300f:AcAd|KcKd:300|-300:bot1|bot2", "from a log of the ACPC, converted to PHH"),
        (
            "PokerStars Hand #7:  Hold'em No Limit ($1/$2 USD)\nSeat 1: a ($2 in chips)",
            "from PokerStars, converted to PHH",
        ),
    ],
)
def test_errors_in_the_words_of_phh_say_what_was_converted(text: str, origin: str) -> None:
    with pytest.raises(PlayLogError, match=rf"\({origin}\)$"):
        list(HandHistories(io.BytesIO(text.encode())))
