"""Hand histories in the PHH format: read as they were played, and refused where they were not."""

import dataclasses
import gzip
import io
import json
import re
import warnings
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pytest
from effort import either, soaked

from treeplex import PlayLogError
from treeplex.models.games.holdem.cards import CARDS
from treeplex.models.matches import Hand, HandHistories, PhhWriter, match
from treeplex.models.matches.simple import RandomBot

pytest.importorskip("pokerkit")
from hand_histories import ANTES, BLINDS, Decision, Played, random_hands
from pokerkit import HandHistory

HAND = """variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [200, 200]
actions = ['d dh p1 ????', 'd dh p2 AcAd', 'p2 cbr 6', 'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cbr 8', 'p1 f']
players = ['them', 'us']
"""


def with_actions(actions: str) -> str:
    """Return the hand with other actions after the deal."""
    return HAND.replace(HAND[HAND.index("'p2 cbr 6'") : HAND.index("]\nplayers")], actions)


def read(text: str, **options: Any) -> list[Hand]:
    return list(HandHistories(io.BytesIO(text.encode()), **options))


def many(*hands: str) -> str:
    return "".join(f"[{number}]\n{hand}" for number, hand in enumerate(hands, 1))


def named(cards: tuple[int, int] | None) -> str:
    return "" if cards is None else "".join(sorted(CARDS[card] for card in cards))


def decisions(hand: Hand) -> Iterator[Decision]:
    """Yield what a hand says of each decision: who acts, what all have bet on the street, and what they have left."""
    bets, stacks = (
        list(hand.blinds),
        [stack - ante - blind for stack, ante, blind in zip(hand.stacks, hand.antes, hand.blinds, strict=True)],
    )
    now = 0
    for street, seat, word in hand.history:
        if street > now:
            bets, now = [0] * hand.seats, street
        yield Decision(street, seat, tuple(bets), tuple(stacks))
        kind, _, amount = word.partition(" ")
        most, total = bets[seat] + stacks[seat], bets[seat]
        if kind == "call":
            total = min(max(bets), most)
        elif kind not in ("fold", "check"):
            total = Decimal(amount) if amount else most
        bets[seat], stacks[seat] = total, most - total


def check_random_hands(played: list[Played]) -> None:
    """Hold what is read of hands to pokerkit's states: decisions, cards, and winnings."""
    hands = read(HandHistory.dumps_all([each.history for each in played]))
    assert len(hands) == len(played)
    for each, hand in zip(played, hands, strict=True):
        state, history = each.state, each.history
        # A third of some cents has as many digits as decimals carry, and sums of them are rounded in their order.
        assert hand.won is not None
        close = (abs(one - other) < Decimal("1e-20") for one, other in zip(hand.won, state.payoffs, strict=True))
        assert all(close), history.dumps()
        assert tuple(decisions(hand)) == each.decisions, history.dumps()
        words = [action.split()[1] for action in history.actions if action.split()[1] in ("f", "cc", "cbr")]
        kinds = {"fold": "f", "check": "cc", "call": "cc", "bet": "cbr", "raise": "cbr", "all-in": "cbr"}
        assert [kinds[word.split()[0]] for _, _, word in hand.history] == words
        assert hand.players == tuple(history.players)
        assert hand.stacks == tuple(state.starting_stacks)
        assert [CARDS[card] for card in hand.board] == [repr(card) for cards in state.board_cards for card in cards]
        holes = [action.split()[2:] for action in history.actions if action.startswith("d dh")]
        assert [named(cards) for cards in hand.cards] == [
            "".join(sorted((cards[:2], cards[2:]))) for _, cards in sorted(holes, key=lambda one: int(one[0][1:]))
        ]


@pytest.mark.parametrize("seats", [2, 3, 6])
@pytest.mark.parametrize("ante", ANTES)
def test_antes_of_every_kind_are_read_as_pokerkit_deals_them(ante: str, seats: int) -> None:
    check_random_hands(random_hands(either(4, 40), seed=1, seats=seats, ante=ante))


@pytest.mark.parametrize("seats", [2, 3, 6])
@pytest.mark.parametrize("blind", BLINDS)
def test_blinds_straddles_and_posts_are_read_as_pokerkit_deals_them(blind: str, seats: int) -> None:
    check_random_hands(random_hands(either(3, 40), seed=2, seats=seats, blind=blind))


@pytest.mark.soak
def test_random_hands_are_read_as_pokerkit_played_them() -> None:
    for seed in range(soaked(3)):
        check_random_hands(random_hands(10, seed=seed))


def test_what_is_read_goes_back_through_pokerkit() -> None:
    for each in random_hands(either(10, 100), seed=9):
        again = HandHistory.loads(each.history.dumps())
        (hand,) = read(again.dumps())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pokerkit warns of cards that it thinks were burned
            assert hand.won == tuple(list(again)[-1].payoffs) == tuple(each.state.payoffs)


def test_antes_of_two_players_are_listed_as_blinds_are() -> None:
    """By hand: the ante of 3 is the first player's, who has the big blind, and wins the small blind of 1."""
    (hand,) = read(with_actions("'p2 f'").replace("antes = [0, 0]", "antes = [0, 3]"))
    assert (hand.antes, hand.blinds, hand.won) == ((3, 0), (2, 1), (1, -1))


TWO_SHORT = """variant = 'NT'
ante_trimming_status = {}
antes = [0, 10, 10, 10]
blinds_or_straddles = [1, 2, 0, 0]
min_bet = 2
starting_stacks = [200, 200, 4, 200]
actions = ['d dh p1 8c9d', 'd dh p2 KcKd', 'd dh p3 AcAd', 'd dh p4 7s2h', 'p4 f', 'p1 f', 'p3 sm AcAd', 'p2 sm KcKd',
    'd db 2c7d9h', 'd db 3d', 'd db 4h']
"""


@pytest.mark.parametrize(
    ("trimmed", "won"),
    [
        # By hand: p3 has aces and 4 chips, all of them its ante. Trimmed, it wins p1's 1 and 4 each of p2 and p4: 9.
        # The other 13 are p2's, who has put in 11, since a chip of its blind came back.
        ("true", (-1, 2, 9, -10)),
        # Otherwise it wins all other antes, 20, and p2 the 2 of the blinds.
        ("false", (-1, -9, 20, -10)),
    ],
)
def test_trimmed_antes(trimmed: str, won: tuple[int, ...]) -> None:
    (hand,) = read(TWO_SHORT.format(trimmed))
    assert hand.won == won


def test_a_player_who_posts_may_check() -> None:
    """By hand: p4 posts 2 and checks it, and loses it to p3's raise, as p1 and p2 lose their blinds."""
    text = HAND.replace("[0, 0]", "[]").replace("[1, 2]", "[1, 2, 0, -2]").replace("[200, 200]", "[200, 200, 200, 200]")
    text = text.replace("['them', 'us']", "['a', 'b', 'c', 'd']")
    actions = "'p3 cc', 'p4 cc', 'p1 f', 'p2 cbr 12', 'p3 cbr 30', 'p4 f', 'p2 f'"
    (hand,) = read(text.replace(text[text.index("'d dh p1") : text.index("]\nplayers")], actions))
    assert (hand.blinds, hand.big_blind, hand.won) == ((1, 2, 0, 2), 2, (-1, -12, 15, -2))


@pytest.mark.parametrize(
    ("given", "players"),
    [
        (["", "us"], ("p1", "us")),
        ([" \t", "\u200b"], ("p1", "p2")),
        (["?", "?"], ("p1", "p2")),
        (["", "p1"], ("p1 (unnamed)", "p1")),
        (["Unknown", "", "Unknown", "us"], ("p1", "p2", "p3", "us")),
        (["p2", "", "", "p2 (unnamed)"], ("p2", "p2 (unnamed) (unnamed)", "p3", "p2 (unnamed)")),
        (["", *(f"{seat}" for seat in range(8)), ""], ("p1", *(f"{seat}" for seat in range(8)), "p10")),
    ],
)
def test_players_without_a_name_of_their_own(given: list[str], players: tuple[str, ...]) -> None:
    count = len(given)
    text = f"variant = 'NT'\nblinds_or_straddles = [1, 2]\nmin_bet = 2\nstarting_stacks = {[200] * count}\n"
    folds = [f"p{seat} f" for seat in (*range(3, count + 1), 1)] if count > 2 else ["p2 f"]
    (hand,) = read(f"{text}actions = {folds}\nplayers = {json.dumps(given)}\n")
    assert hand.players == players


SHOWDOWN = with_actions("'p2 cbr 8.50', 'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cc', 'd db 3d', 'p1 cc', 'p2 cc', "
                        "'d db 4d', 'p1 cc', 'p2 cc', 'p1 sm 2d2h', 'p2 sm AcAd'")  # fmt: skip


@pytest.mark.parametrize(
    ("stated", "won"),
    [
        ("", ("8.5", "-8.5")),  # three twos beat the aces
        ("winnings = [16.15, 0]", ("7.65", "-8.5")),
        ("winnings = [16.15, 0.0]\nfinishing_stacks = [207.65, 191.50]", ("7.65", "-8.5")),
        ("finishing_stacks = [207.65, 191.5]", ("7.65", "-8.5")),
        ("winnings = [16.150000000000002, 0]", ("7.65", "-8.5")),
        ("winnings = [8.08, 8.07]", ("-0.42", "-0.43")),
    ],
)
def test_results_that_are_stated_count(stated: str, won: tuple[str, ...]) -> None:
    """By hand: both put in 8.50, and get what is stated."""
    (hand,) = read(SHOWDOWN + stated)
    assert hand.won == tuple(map(Decimal, won))


def test_stated_winnings_of_side_pots_and_bets_that_come_back() -> None:
    """By hand: p1 has 20, p3 calls 50 of 90; pots are 22 + 20 + 20 = 62 and 30 + 30 = 60, with an ante of 2."""
    text = """variant = 'NT'
antes = [0, 2, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [20, 200, 50]
actions = ['d dh p1 ????', 'd dh p2 ????', 'd dh p3 ????', 'p3 cc', 'p1 cbr 20', 'p2 cbr 90', 'p3 cc', {}'d db 2c7d9h',
    'd db 3d', 'd db 4d']
"""
    (hand,) = read(text.format(""))
    assert hand.won is None
    assert hand.pots == ((62, (0, 1, 2)), (60, (1, 2)))
    (hand,) = read(text.format("") + "winnings = [60, 0, 58]")
    assert hand.won == (40, -52, 8)
    # Who mucks wins nothing: the one who is left in both pots wins them, whatever it holds.
    (hand,) = read(text.format("'p1 sm', 'p2 sm -', 'p3 sm', "))
    assert hand.won == (-20, 70, -50)
    for stated, said in [
        ("winnings = [63, 0, 0]", "winnings pay p1 63 from the pot, expected from 0 to 62"),
        ("winnings = [60, 0, 64]", "winnings pay 124 from a pot of 122"),
        ("winnings = [60, 0]", "winnings has 2 numbers, expected 3"),
        ("winnings = [60, 0, -2]", "winnings has the amount '-2'"),
        ("finishing_stacks = [60, 140, 58]", "finishing_stacks pay p2 -8 from the pot, expected from 0 to 122"),
        ("finishing_stacks = [60, 148, 58]\nwinnings = [60, 0, 59]", "pay p3 58 from the pot, and winnings 59"),
    ]:
        with pytest.raises(PlayLogError) as caught:
            read(text.format("") + stated)
        assert said in str(caught.value)


@pytest.mark.parametrize(
    ("stated", "won"),
    [
        # By hand: p2 raises to 12, p1 folds its blind of 1, and p3 its straddle of 4. Of the 12, 8 come back, and the
        # pot has 1 + 4 + 4 and 2 antes of p2: 11.
        ("", (-1, 5, -4)),
        ("winnings = [0, 10.5, 0]", (-1, Decimal("4.5"), -4)),
        ("finishing_stacks = [99, 104.5, 96]", (-1, Decimal("4.5"), -4)),
        ("winnings = [0, 10.5, 0]\nfinishing_stacks = [99, 104.5, 96]", (-1, Decimal("4.5"), -4)),
    ],
)
def test_bets_that_come_back_are_not_part_of_what_is_won(stated: str, won: tuple[Any, ...]) -> None:
    text = """variant = 'NT'
antes = [0, 2, 0]
blinds_or_straddles = [1, 2, 4]
min_bet = 2
starting_stacks = [100, 100, 100]
actions = ['p1 f', 'p2 cbr 12', 'p3 f']
"""
    (hand,) = read(text + stated)
    assert (hand.won, hand.paid, hand.pots) == (won, (1, 4, 4), ((11, (1,)),))
    unknown = text.replace("[100, 100, 100]", "[inf, inf, 100]")
    (hand,) = read(unknown + stated.replace("99", "inf").replace("104.5", "inf"))
    assert hand.won == (won if "winnings" in stated else (-1, 5, -4))
    with pytest.raises(PlayLogError, match="winnings pay p2 19 from the pot, expected from 0 to 11"):
        read(text + "winnings = [0, 19, 0]")


def test_who_folded_is_paid_nothing() -> None:
    with pytest.raises(PlayLogError, match="winnings pay p1 12 from the pot, expected nothing, because it folded"):
        read(HAND + "winnings = [12, 0]\n")


def test_a_check_may_be_missing_where_nobody_can_call() -> None:
    """The big blind is all-in with less than the small blind, who need not act; by hand, 3 of its 5 are called."""
    text = with_actions("'d db 2c7d9h', 'd db 3d', 'd db 4h'").replace("????", "KcKd").replace("[200, 200]", "[3, 200]")
    text = text.replace("[1, 2]", "[5, 10]").replace("min_bet = 2", "min_bet = 10")
    (hand,) = read(text)
    assert (hand.blinds, hand.won) == ((3, 5), (-3, 3))


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
        ("[200, 200]", "[200]", "malformed", "starting_stacks has 1, expected 2 to 10 stacks above 0"),
        ("[200, 200]", "[200, -2]", "malformed", "starting_stacks has the amount '-2'"),
        ("[200, 200]", "[200, 'x']", "malformed", "starting_stacks has the amount"),
        ("['them', 'us']", "['us']", "malformed", "players are ['us'], expected 2 names"),
        ("['them', 'us']", "['us', 2]", "malformed", "players is ['us', 2], expected a list of strings"),
        ("[1, 2]", "[0, 0]", "malformed", "blinds_or_straddles and antes are 0"),
        ("[1, 2]", "[1, '-x']", "malformed", "blinds_or_straddles has the amount"),
        ("antes = [0, 0]", "antes = [0, -2]", "malformed", "antes has the amount '-2'"),
        ("antes = [0, 0]", "antes = 2", "malformed", "antes is '2', expected a list of numbers"),
        (
            "antes",
            "ante_trimming_status = 1\nantes",
            "malformed",
            "ante_trimming_status is '1', expected true or false",
        ),
        ("antes", "bring_in = 1\nantes", "other variant", "bring_in is 1, which no-limit hold'em does not have"),
        ("antes", "big_bet = 4.0\nantes", "other variant", "big_bet is 4.0, which no-limit"),
        (
            "antes",
            "winning = [9, 0]\nantes",
            "malformed",
            "'winning' is not a key of the format (did you mean winnings?)",
        ),
        ("antes", "rake = 0.5\nantes", "malformed", "rake is not a key of the format; expected winnings"),
        ("min_bet = 2", "min_bet = 0", "malformed", "min_bet is 0, expected a bet"),
        ("p2 cbr 6", "p2 cbr 3", "contradiction", "action 3, 'p2 cbr 3', has the total 3, expected 4 to 200"),
        ("p2 cbr 6", "p2 cbr 201", "contradiction", "has the total 201, expected 4 to 200"),
        ("p2 cbr 6", "p2 cbr nan", "malformed", "has the amount 'nan', expected a number"),
        ("p2 cbr 6", "p1 cbr 6", "contradiction", "comes when p2 is to act"),
        ("p2 cbr 6", "p2 pb", "malformed", "is not an action"),
        ("p2 cbr 6", "p7 f", "malformed", "names the player 'p7', expected p1 to p2"),
        ("p2 AcAd", "p2 AcAc", "contradiction", "has Ac, which was dealt before"),
        ("2c7d9h", "2c7dAc", "contradiction", "has Ac, which was dealt before"),
        ("2c7d9h", "2c7d9x", "malformed", "has '9x', expected cards"),
        ("2c7d9h", "2c7d9h3h", "contradiction", "deals past the flop"),
        (", 'p1 f'", "", "unfinished hand", "the hand is not over: p1 is to act"),
        (", 'p1 f'", ", 'p1 cc'", "unfinished hand", "the hand is not over: expected a turn"),
        ("'p1 f'", "'p1 f', 'p2 f'", "contradiction", "comes when nobody is to act"),
        ("us']", "us'", "no TOML", "not valid TOML"),
    ],
)
def test_what_is_not_a_hand_is_refused_with_its_line(old: str, new: str, kind: str, said: str) -> None:
    text = many(HAND, HAND.replace(old, new, 1), HAND)
    with pytest.raises(PlayLogError, match="line 9: hand 2: ") as caught:
        read(text)
    assert caught.value.line == 9
    assert said in str(caught.value)
    histories = HandHistories(io.BytesIO(text.encode()), skip_bad=True)
    assert [hand.line for hand in histories] == [1, 17 + new.count("\n")]
    assert [(bad.kind, bad.count, bad.line) for bad in histories.bad] == [(kind, 1, 9)]
    assert (histories.num_hands, histories.num_lines) == (2, 24 + new.count("\n"))


@pytest.mark.soak
def test_damaged_hands_never_stop_a_reader_that_skips_them() -> None:
    """Texts of hands with something dropped, doubled, exchanged or overwritten are read, or counted as bad."""
    for seed in range(soaked(2)):
        source, played = Random(seed), random_hands(3, seed=seed)
        for text in (each.history.dumps() + "\n" for each in played):
            for _ in range(20):
                words = re.split(r"(\W)", text)
                one, other = source.randrange(len(words)), source.randrange(len(words))
                change = source.randrange(4)
                if change == 0:
                    del words[one]
                elif change == 1:
                    words.insert(one, words[other])
                elif change == 2:
                    words[one], words[other] = words[other], words[one]
                else:
                    words[one] = source.choice(["0", "-1", "1e3", "inf", "nan", "'", "[", "p1", "??", "true", "9" * 40])
                histories = HandHistories(io.BytesIO(many(text, "".join(words) + "\n", text).encode()), skip_bad=True)
                hands = [(hand.won, list(decisions(hand))) for hand in histories]
                assert len(hands) >= 2, "".join(words)


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
    packed = gzip.compress(many(*[HAND.replace("us", f"us {number}") for number in range(1000)]).encode())
    (tmp_path / "cut.phhs.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(PlayLogError, match="its compression is damaged after line"):
        list(HandHistories(tmp_path / "cut.phhs.gz"))
    histories = HandHistories(tmp_path / "cut.phhs.gz", skip_bad=True)
    assert 0 < len(list(histories)) < 1000
    assert [bad.kind for bad in histories.bad] == ["damaged"]


@pytest.mark.parametrize("seats", [2, 3, 6])
def test_hands_of_a_match_are_read_as_they_were_played(seats: int, tmp_path: Path) -> None:
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
