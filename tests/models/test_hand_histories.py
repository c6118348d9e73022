"""Hand histories in the PHH format: read as they were played, and refused where they were not."""

import dataclasses
import gzip
import io
import time
import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from effort import either

from treeplex import PlayLogError
from treeplex.models.games.holdem.cards import CARDS
from treeplex.models.matches import Hand, HandHistories, PhhWriter, match
from treeplex.models.matches.simple import RandomBot

HAND = """variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [200, 200]
actions = ['d dh p1 ????', 'd dh p2 AcAd', 'p2 cbr 6', 'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cbr 8', 'p1 f']
players = ['them', 'us']
"""


def read(text: str, **options: Any) -> list[Hand]:
    return list(HandHistories(io.BytesIO(text.encode()), **options))


def many(*hands: str) -> str:
    return "".join(f"[{number}]\n{hand}" for number, hand in enumerate(hands, 1))


def named(cards: tuple[int, int] | None) -> str:
    return "" if cards is None else "".join(sorted(CARDS[card] for card in cards))


def words_of(state: Any) -> list[str]:
    """Return what players did, as pokerkit has it."""
    found = []
    for operation in state.operations:
        kind, seat = type(operation).__name__, getattr(operation, "player_index", None)
        if kind == "Folding":
            found.append(f"{seat} fold")
        elif kind == "CheckingOrCalling":
            found.append(f"{seat} {'call' if operation.amount else 'check'}")
        elif kind == "CompletionBettingOrRaisingTo":
            found.append(f"{seat} {operation.amount}")
    return found


def test_random_hands_are_read_as_pokerkit_played_them() -> None:
    pytest.importorskip("pokerkit")
    from hand_histories import random_histories
    from pokerkit import HandHistory

    played = random_histories(either(120, 1000), seed=5)
    text = HandHistory.dumps_all([history for _, history in played])
    hands = read(text)
    assert len(hands) == len(played)
    for (state, history), hand in zip(played, hands, strict=True):
        assert hand.won == tuple(state.payoffs)
        assert hand.players == tuple(history.players)
        assert hand.stacks == tuple(state.starting_stacks)
        totals, said = [list(hand.blinds)] + [[0] * hand.seats for _ in range(3)], []
        for street, seat, word in hand.history:
            amount = word.partition(" ")[2]
            if word == "all-in":
                amount = str(hand.stacks[seat] - hand.antes[seat] - sum(one[seat] for one in totals[:street]))
            said.append(f"{seat} {amount or word}")
            totals[street][seat] = int(amount) if amount else totals[street][seat]
            if word == "call":
                before = sum(one[seat] for one in totals[:street]) + hand.antes[seat]
                totals[street][seat] = min(max(totals[street]), hand.stacks[seat] - before)
        assert said == words_of(state)
        assert [CARDS[card] for card in hand.board] == [repr(card) for cards in state.board_cards for card in cards]
        holes = [action.split()[2:] for action in history.actions if action.startswith("d dh")]
        assert [named(cards) for cards in hand.cards] == [
            "".join(sorted((cards[:2], cards[2:]))) for _, cards in sorted(holes)
        ]


def test_what_is_read_goes_back_through_pokerkit() -> None:
    pytest.importorskip("pokerkit")
    from hand_histories import random_histories
    from pokerkit import HandHistory

    for state, history in random_histories(either(10, 100), seed=9):
        again = HandHistory.loads(history.dumps())
        (hand,) = read(again.dumps())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pokerkit warns of cards that it thinks were burned
            assert hand.won == tuple(list(again)[-1].payoffs) == tuple(state.payoffs)


def test_what_a_hand_says() -> None:
    (hand,) = read(HAND)
    assert hand.players == ("them", "us")
    assert hand.blinds == (2, 1)  # the second of two seats has the button
    assert hand.cards == (None, (49, 48))
    assert hand.history == (
        *((0, 1, "raise 6"), (0, 0, "call")),
        *((1, 0, "check"), (1, 1, "bet 8"), (1, 0, "fold")),
    )
    assert (hand.won, hand.went_to_showdown, hand.big_blind) == ((-6, 6), False, 2)


def test_toml_of_any_shape_and_amounts_with_cents() -> None:
    text = HAND.replace("[1, 2]", "[\n  0.5, # small\n  1,\n]").replace("min_bet = 2", 'min_bet = 1\n_x = "a\\nb"')
    text = text.replace("p2 cbr 6", "p2 cbr 2.50 # opens").replace("cbr 8", "cbr 2.5")
    (hand,) = read(text)
    assert hand.history[0] == (0, 1, "raise 2.50")
    assert hand.won == (Decimal("-2.5"), Decimal("2.5"))


def test_a_showdown_with_unknown_cards_has_no_result_unless_it_is_stated() -> None:
    text = HAND.replace("'p2 cbr 8', 'p1 f'", "'p2 cbr 194', 'p1 cc', 'd db 3d', 'd db 4d', 'p2 sm AcAd', 'p1 sm -'")
    (hand,) = read(text)
    assert hand.history[-2:] == ((1, 1, "all-in"), (1, 0, "call"))
    assert hand.went_to_showdown
    assert hand.won is None
    assert hand.shown == (None, (49, 48))
    (hand,) = read(text + "finishing_stacks = [0, 395]\n")
    assert hand.won == (-200, 195)


@pytest.mark.parametrize(
    ("old", "new", "kind", "said"),
    [
        ("'NT'", "'PO'", "other variant", "the variant is 'PO', expected 'NT'"),
        ("actions", "action", "malformed", "actions is missing"),
        ("[200, 200]", "[200]", "malformed", "starting_stacks has 1, expected 2 to 10 above 0"),
        ("[200, 200]", "[200, -2]", "malformed", "starting_stacks has the amount '-2'"),
        ("[200, 200]", "[200, 'x']", "malformed", "starting_stacks has the amount"),
        ("['them', 'us']", "['us', 'us']", "malformed", "players are ['us', 'us'], expected 2 different names"),
        ("p2 cbr 6", "p2 cbr 3", "contradiction", "action 3, 'p2 cbr 3', goes to 3, expected 4 to 200"),
        ("p2 cbr 6", "p2 cbr 201", "contradiction", "goes to 201, expected 4 to 200"),
        ("p2 cbr 6", "p2 cbr nan", "malformed", "has the amount 'nan', expected a number"),
        ("p2 cbr 6", "p1 cbr 6", "contradiction", "comes where p2 is to act"),
        ("p2 cbr 6", "p2 pb", "malformed", "is no action"),
        ("p2 cbr 6", "p7 f", "malformed", "has the player 'p7', expected p1 to p2"),
        ("p2 AcAd", "p2 AcAc", "contradiction", "has Ac, which was dealt before"),
        ("2c7d9h", "2c7dAc", "contradiction", "has Ac, which was dealt before"),
        ("2c7d9h", "2c7d9x", "malformed", "has '9x', expected cards"),
        ("2c7d9h", "2c7d9h3h", "contradiction", "deals flop and more"),
        (", 'p1 f'", "", "unfinished hand", "the hand is not over: p1 is to act"),
        (", 'p1 f'", ", 'p1 cc'", "unfinished hand", "the hand is not over: expected a turn"),
        ("'p1 f'", "'p1 f', 'p2 f'", "contradiction", "comes where nobody is to act"),
        ("us']", "us'", "no TOML", "it is not TOML"),
    ],
)
def test_what_is_not_a_hand_is_refused_with_its_line(old: str, new: str, kind: str, said: str) -> None:
    text = many(HAND, HAND.replace(old, new, 1), HAND)
    with pytest.raises(PlayLogError, match="line 9: ") as caught:
        read(text)
    assert caught.value.line == 9
    assert said in str(caught.value)
    histories = HandHistories(io.BytesIO(text.encode()), skip_bad=True)
    assert [hand.line for hand in histories] == [1, 17]
    assert [(bad.kind, bad.count, bad.line) for bad in histories.bad] == [(kind, 1, 9)]
    assert (histories.num_hands, histories.num_lines) == (2, 24)


def test_folders_and_packed_files(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.phh").write_text(HAND)
    (tmp_path / "b" / "more.phhs.gz").write_bytes(gzip.compress(many(HAND, HAND).encode()))
    (tmp_path / "notes.txt").write_text("nothing")
    parts: list[float | None] = []
    assert len(list(HandHistories(tmp_path, progress=lambda _, part: parts.append(part)))) == 3
    assert parts[-1] == 1.0
    (tmp_path / "b" / "x.phh").write_text("variant = 'NT'")
    with pytest.raises(PlayLogError, match=r"^[^:]*x\.phh: line 1: blinds_or_straddles is missing"):
        list(HandHistories(tmp_path))
    with pytest.raises(PlayLogError, match="no hand histories in this folder"):
        list(HandHistories(Path(__file__).parents[1] / "corpus" / "log"))


def test_a_damaged_file_is_read_up_to_there(tmp_path: Path) -> None:
    packed = gzip.compress(many(*[HAND.replace("us", f"us {number}") for number in range(3000)]).encode())
    (tmp_path / "cut.phhs.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(PlayLogError, match="its compression is damaged after line"):
        list(HandHistories(tmp_path / "cut.phhs.gz"))
    histories = HandHistories(tmp_path / "cut.phhs.gz", skip_bad=True)
    assert 0 < len(list(histories)) < 3000
    assert [bad.kind for bad in histories.bad] == ["damaged"]


@pytest.mark.parametrize("seats", [2, 3, 6])
def test_hands_of_a_match_are_read_as_they_were_played(seats: int, tmp_path: Path) -> None:
    pytest.importorskip("pokerkit")
    bots = [RandomBot() for _ in range(seats)]
    names, played = [f"bot {number}" for number in range(seats)], []
    with PhhWriter(tmp_path / "match.phhs", names) as writer:
        match(bots, hands=30, seed=3, each=lambda one: (writer.write(one), played.append(one)))
    hands = list(HandHistories(tmp_path / "match.phhs"))
    assert [hand.won for hand in hands] == [tuple(one.record.won) for one in played]
    for hand, one in zip(hands, played, strict=True):
        assert hand.history == tuple(one.record.history)
        assert set(hand.players) == set(names)
        stated = hand.won
        if len(hand.board) == 5 or not hand.went_to_showdown:
            assert dataclasses.replace(hand, ended=None).won == stated


@pytest.mark.slow
def test_a_hundred_thousand_hands_are_read_in_less_than_thirty_seconds() -> None:
    pytest.importorskip("pokerkit")
    from hand_histories import random_histories
    from pokerkit import HandHistory

    text = HandHistory.dumps_all([history for _, history in random_histories(1000, seed=2)]).encode()
    begun = time.process_time()
    assert sum(1 for _ in HandHistories(io.BytesIO(b"\n\n".join([text] * 100)))) == 100_000
    assert time.process_time() - begun < 30.0
