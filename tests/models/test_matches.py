"""Hands and matches of no-limit hold'em: rules, forfeits, equity, duplicate deals, and histories that others read."""

import contextlib
import random
import signal
import warnings
from itertools import combinations

import numpy as np
import pytest
from effort import either

from treeplex.models.games.holdem.cards import CARDS, read_cards
from treeplex.models.matches import PhhWriter, Table, expected_winnings, match, play_hand, shuffled_deck
from treeplex.models.matches.simple import CallBot, FoldBot, RaiseBot, RandomBot, SimpleBot
from treeplex.seqform.errors import InvalidGameError

pokerkit = pytest.importorskip("pokerkit")
RNG = np.random.default_rng


class Scripted(SimpleBot):
    """Says what a list says, and keeps what it sees."""

    def __init__(self, *actions):
        self.actions = list(actions)
        self.views = []
        self.result = None

    def act(self, view, rng):
        self.views.append(view)
        action = self.actions.pop(0)
        if isinstance(action, BaseException):
            raise action
        return action

    def end(self, result):
        self.result = result


def played(table, cards, *scripts):
    bots = [Scripted(*script) for script in scripts]
    record = play_hand(table, read_cards(cards), bots, [RNG(0)] * table.seats)
    return record, bots


ACES_OVER_KINGS = "AsAh KsKh 2c7d9h JsQd"


def test_heads_up_the_button_posts_the_small_blind_and_acts_first_before_the_flop():
    record, (big, small) = played(Table(), ACES_OVER_KINGS, ["check", "bet 300", "check", "check"],
                                  ["call", "call", "check", "fold"])  # fmt: skip
    assert record.history[:4] == ((0, 1, "call"), (0, 0, "check"), (1, 0, "bet 300"), (1, 1, "call"))
    first = small.views[0]
    assert (first.bets, first.stacks, first.pot, first.price) == ((100, 50), (19_900, 19_950), 150, 50)
    assert (first.least, first.most, first.aggressive) == (200, 20_000, "raise")
    assert [CARDS[card] for card in first.hand] == ["Ks", "Kh"]
    assert [CARDS[card] for card in small.views[1].board] == ["2c", "7d", "9h"]
    assert record.history[-1] == (3, 1, "fold")  # a fold where a check is possible
    assert record.won == (400, -400)
    assert record.shown == (None, None)
    assert big.result == record.of_seat(0)
    assert big.result.hand == record.hands[0]


def test_three_seats_play_in_the_order_of_the_table():
    record, _ = played(Table(seats=3), "AsAh KsKh QsQh 2c7d9h JsQd", ["call"] + ["check"] * 3, ["check"] * 4,
                       ["call"] + ["check"] * 3)  # fmt: skip
    assert [seat for _, seat, _ in record.history] == [2, 0, 1] + [0, 1, 2] * 3
    assert record.won == (-100, -100, 200)  # a set of queens
    assert record.shown[2] is not None


def test_the_least_raise_is_the_last_one():
    _, (big, small) = played(Table(), ACES_OVER_KINGS, ["raise 900", "fold"], ["raise 300", "raise 1500"])
    assert [view.least for view in small.views] == [200, 1500]
    assert [view.least for view in big.views] == [500, 2100]


def test_what_folded_seats_have_put_in_is_won():
    table = Table(seats=3, stack=1000)
    record, _ = played(table, "AsAh KsKh 8s8d 2c7d9h JsQd", ["raise 500", "check", "call"], ["call", "all-in"],
                       ["call", "call", "fold"])  # fmt: skip
    assert record.won == (1500, -1000, -500)
    assert record.all_in.pots == ((2500, (0, 1)),)
    assert len(record.all_in.board) == 3


def test_odd_chips_go_to_the_first_seat():
    table = Table(seats=3, stack=1000, small_blind=25)
    record, _ = played(table, "2s3h AdKd AcKc 7h7d7c 7sQd", ["fold"], ["check"] * 4, ["call"] + ["check"] * 3)
    assert record.won == (-25, 13, 12)


@pytest.mark.parametrize(
    ("action", "done"),
    [
        ("all-in", "all-in"),
        ("raise 20000", "all-in"),
        ("bet 200", "raise 200"),
        (" call ", "call"),
        ("fold", "fold"),
    ],
)
def test_actions_are_named_as_the_history_has_them(action, done):
    record, _ = played(Table(), ACES_OVER_KINGS, ["fold"] + ["check"] * 8, [action] + ["check"] * 3)
    assert record.history[0] == (0, 1, done)
    assert not [each for each in record.forfeits if each.seat == 1]


@pytest.mark.parametrize(
    "action", ["check", "raise 199", "raise 20001", "raise", "raise 2e2", "raise -300", "call 50", "", None, 7, "r300"]
)
def test_what_is_not_legal_forfeits_the_hand(action):
    record, _ = played(Table(), ACES_OVER_KINGS, [], [action])
    assert record.won == (50, -50)
    [lost] = record.forfeits
    assert lost.seat == 1
    assert "expected fold, call, raise N with N from 200 to 20000 or all-in" in lost.reason


def test_a_bot_that_raises_an_error_forfeits_what_it_has_put_in():
    record, bots = played(Table(), ACES_OVER_KINGS, ["check", ZeroDivisionError("no\nway")], ["raise 400", "check"])
    expected = "the action is 'check', expected fold, call, raise N with N from 700 to 20000 or all-in"
    assert [each.reason for each in record.forfeits] == [f"IllegalActionError: {expected}"]
    record, bots = played(Table(), ACES_OVER_KINGS, ["call", ZeroDivisionError("no\nway")], ["raise 400", "check"])
    assert record.won == (-400, 400)
    assert [each.reason for each in record.forfeits] == ["ZeroDivisionError: no\\nway"]
    assert bots[0].result.won == record.won


def test_others_play_on_after_a_forfeit():
    record, _ = played(Table(seats=3), "AsAh KsKh QsQh 2c7d9h JsQd", ["call"] + ["check"] * 3, ["check"] * 4,
                       [SystemExit(3)])  # fmt: skip
    assert record.won == (100, -100, 0)
    assert [(each.seat, each.reason) for each in record.forfeits] == [(2, "SystemExit: 3")]


class FailsToBegin(CallBot):
    def begin(self, table, seat):
        raise ValueError("not today")


class FailsToEnd(CallBot):
    def end(self, result):
        raise ValueError("not today")


class Sleeper(CallBot):
    """Never answers; the timer rings at once."""

    def act(self, view, rng):
        while True:
            with contextlib.suppress(Exception):
                signal.raise_signal(signal.SIGALRM)


def test_a_bot_that_cannot_begin_folds_when_it_is_to_act():
    rngs = [RNG(0), RNG(0)]
    record = play_hand(Table(), read_cards(ACES_OVER_KINGS), [CallBot(), FailsToBegin()], rngs)
    assert (record.won, record.forfeits[0].reason) == ((50, -50), "ValueError: not today")
    record = play_hand(Table(), read_cards(ACES_OVER_KINGS), [FailsToBegin(), FoldBot()], rngs)
    assert record.won == (50, -50)  # it was never to act
    assert len(record.forfeits) == 1


def test_a_bot_that_fails_at_the_end_keeps_its_result():
    record = play_hand(Table(), read_cards(ACES_OVER_KINGS), [FailsToEnd(), CallBot()], [RNG(0), RNG(0)])
    assert record.won == (100, -100)
    assert [(each.seat, each.folded) for each in record.forfeits] == [(0, False)]


def test_a_bot_that_fails_at_the_end_of_every_hand_plays_all_of_them(tmp_path):
    path = tmp_path / "hands.phhs"
    with PhhWriter(path, ["bad", "call"]) as writer:
        found = match([FailsToEnd(), CallBot()], hands=6, duplicate=True, seed=1, each=writer.write)
    whole = match([CallBot(), CallBot()], hands=6, duplicate=True, seed=1)
    assert np.array_equal(found.won, whole.won)
    assert [each.folded for each in found.forfeits] == [False] * 6
    text = path.read_text()
    assert text.count("_failures") == 6
    assert "_forfeits" not in text


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer that signals")
def test_a_bot_that_hangs_forfeits():
    record = play_hand(Table(), read_cards(ACES_OVER_KINGS), [CallBot(), Sleeper()], [RNG(0)] * 2, time_limit=500)
    assert (record.won, record.forfeits[0].reason) == ((50, -50), "it took more than 500 seconds")


def test_ctrl_c_in_a_bot_ends_the_hand():
    with pytest.raises(KeyboardInterrupt):
        played(Table(), ACES_OVER_KINGS, [], [KeyboardInterrupt()])


def test_nothing_is_drawn_from_global_generators():
    random.seed(1)
    before = random.getstate()
    match([RandomBot(), CallBot(), RandomBot()], Table(seats=3, stack=1000), 30)
    assert random.getstate() == before


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: match([CallBot()]), "seats is 1"),
        (lambda: match([CallBot()] * 2, Table(seats=3)), "received 2 bots, expected one for each of 3 seats"),
        (lambda: match([CallBot()] * 2, hands=0), "hands is 0"),
        (lambda: match([CallBot()] * 2, confidence=1.0), "confidence is 1.0"),
        (lambda: match([CallBot()] * 2, jobs=0), "jobs is 0"),
        (lambda: match([CallBot()] * 2, time_limit=0), "time_limit is 0"),
        (lambda: play_hand(Table(), [0] * 9, [CallBot()] * 2, [RNG(0)] * 2), "expected 9 different cards"),
        (lambda: play_hand(Table(), range(9), [CallBot()], [RNG(0)]), "received 1 bots and 1 rngs, expected 2"),
    ],
)
def test_wrong_arguments_are_refused(call, message):
    with pytest.raises(InvalidGameError, match=message):
        call()


# Equity


def all_in(cards, table, street, *, folds=()):
    """Return a hand in which all go all-in on a street, but for those who fold before the flop."""
    script = ["call"] * street + ["all-in"] * 4
    scripts = [["fold"] if seat in folds else script for seat in range(table.seats)]
    return played(table, cards, *scripts)[0]


@pytest.mark.parametrize("street", [1, 2])
def test_equity_after_the_flop_is_exact(street):
    """All boards one by one, compared by phevaluator."""
    phevaluator = pytest.importorskip("phevaluator")
    table = Table(seats=3, stack=1001, small_blind=1, big_blind=1)
    record = all_in("AsKs 7c7d QhJh Ts7s2h 3c9d", table, street)
    seen = record.all_in.board
    assert len(seen) == street + 2
    left = [card for card in range(52) if card not in (*record.deck[:6], *seen)]
    won = []
    for missing in combinations(left, 5 - len(seen)):
        board = [CARDS[card] for card in (*seen, *missing)]
        ranks = [phevaluator.evaluate_cards(*board, *(CARDS[card] for card in hand)) for hand in record.hands]
        winners = [seat for seat in range(3) if ranks[seat] == min(ranks)]
        won.append([3003 // len(winners) * (seat in winners) - 1001 for seat in range(3)])
        won[-1][winners[0]] += 3003 % len(winners)
    assert np.allclose(expected_winnings(record, RNG(0)), np.mean(won, axis=0))


def test_equity_before_the_flop_is_that_of_the_tables():
    record = all_in(ACES_OVER_KINGS, Table(stack=100, small_blind=1, big_blind=1), 0)
    first, second = expected_winnings(record, RNG(1), boards=either(20_000, 200_000))
    assert first == -second
    # 82.365 % wins and 0.544 % splits for these suits, by all boards: both hands share spades and hearts
    assert first == pytest.approx(200 * 0.826366 - 100, abs=either(3.0, 0.9))


def test_equity_is_unbiased():
    """What is won less what is expected averages out over many deals, folded cards and odd chips included."""
    table = Table(seats=3, stack=333, small_blind=7, big_blind=13)
    found = match([RaiseBot(), RandomBot(), RandomBot()], table, either(600, 5_000), duplicate=False, seed=5)
    difference = (found.won - found.expected)[:, 0]
    assert np.abs(found.expected.sum(axis=2)).max() < 1e-9
    assert (difference != 0).any(axis=0).all()
    error = difference.std(axis=0, ddof=1) / np.sqrt(len(difference))
    assert (np.abs(difference.mean(axis=0)) < 4.0 * error).all()


def test_folded_cards_do_not_come():
    table = Table(seats=3, stack=500)
    record = all_in("As2s KdKc AhAd 7h8h9s 3c4c", table, 1, folds=(2,))
    assert record.all_in.paid == (500, 500, 0)
    outs_of_seat_0 = expected_winnings(record, RNG(0))[0]
    assert -500 < outs_of_seat_0 < 0  # two aces have been folded
    other = all_in("As2s KdKc QhQd 7h8h9s 3c4c", table, 1, folds=(2,))
    assert expected_winnings(other, RNG(0))[0] > outs_of_seat_0 + 50


# Matches


def test_hands_do_not_depend_on_their_number():
    table = Table(stack=2_000)
    bots = [RandomBot(), CallBot()]
    long = match(bots, table, 60, seed=3)
    short = match(bots, table, 20, seed=3)
    assert np.array_equal(long.won[:10], short.won)
    assert np.array_equal(long.expected[:10], short.expected)
    other = match(bots, table, 60, seed=4)
    assert not np.array_equal(long.won, other.won)


@pytest.mark.slow
def test_hands_do_not_depend_on_processes():
    bots, table = [RandomBot(), CallBot()], Table(stack=2_000)
    here, there = (match(bots, table, 60, seed=3, jobs=jobs) for jobs in (1, 2))
    assert np.array_equal(here.won, there.won)
    assert np.array_equal(here.expected, there.expected)


def test_a_bot_against_itself_is_exactly_even_in_duplicate():
    found = match([RandomBot()] * 3, Table(seats=3), 90, seed=1)
    assert (found.deals, found.hands, found.won.shape) == (30, 90, (30, 3, 3))
    assert not found.won.sum(axis=1).any()
    assert abs(found.mbb_per_hand) < 1e-9
    assert found.variance.saved["duplicate"] == pytest.approx(1.0)


def test_bots_take_all_seats():
    seats = []
    match([CallBot()] * 3, Table(seats=3), 9, each=lambda one: seats.append((one.deal, one.rotation, one.bots)))
    assert seats[:3] == [(0, 0, (0, 1, 2)), (0, 1, (2, 0, 1)), (0, 2, (1, 2, 0))]
    seats.clear()
    match([CallBot()] * 3, Table(seats=3), 4, False, each=lambda one: seats.append((one.deal, one.rotation, one.bots)))
    assert [bots for *_, bots in seats] == [(0, 1, 2), (2, 0, 1), (1, 2, 0), (0, 1, 2)]


def test_hands_are_rounded_up_to_deals():
    assert match([CallBot()] * 3, Table(seats=3), 7).hands == 9
    assert match([CallBot()] * 3, Table(seats=3), 7, duplicate=False).hands == 7


def test_the_numbers_are_those_of_the_hands():
    found = match([RaiseBot(0.5), RandomBot()], Table(stack=3_000), 100, seed=2)
    deals = found.expected[:, :, 0].mean(axis=1) * 10.0
    assert found.mbb_per_hand == pytest.approx(deals.mean())
    low, high = found.confidence_interval
    assert (low + high) / 2 == pytest.approx(deals.mean())
    assert (high - low) / 2 == pytest.approx(2.0096 * deals.std(ddof=1) / np.sqrt(50), rel=1e-4)  # t of 49 degrees
    assert found.guaranteed_interval[0] < low < high < found.guaranteed_interval[1]
    first, second = found.estimates
    assert first.mean == pytest.approx(-second.mean)
    variance = found.variance
    assert variance.plain == pytest.approx((found.won[:, :, 0] * 10.0).var(ddof=1))
    assert variance.both == pytest.approx(2 * deals.var(ddof=1))
    assert variance.saved["both"] == pytest.approx(1.0 - variance.both / variance.plain)
    assert variance.both < variance.duplicate
    assert variance.equity < variance.plain


def test_one_deal_has_no_interval():
    found = match([CallBot(), FoldBot()], hands=2)
    assert found.mbb_per_hand is not None
    assert (found.confidence_interval, found.variance) == (None, None)


def test_ctrl_c_keeps_the_deals_that_are_complete():
    count = 0

    def stop(one):
        nonlocal count
        count += 1
        if count == 8:
            raise KeyboardInterrupt

    found = match([RandomBot(), CallBot(), FoldBot()], Table(seats=3), 300, each=stop)
    assert (found.interrupted, found.deals, found.hands) == (True, 2, 6)
    nothing = match([CallBot()] * 2, hands=4, each=lambda one: (_ for _ in ()).throw(KeyboardInterrupt))
    assert (nothing.interrupted, nothing.hands, nothing.mbb_per_hand) == (True, 0, None)
    assert nothing.guaranteed_interval is None


def test_forfeits_say_who_and_where():
    found = match([Scripted(), CallBot()], hands=4)
    assert [(each.deal, each.rotation, each.seat, each.bot) for each in found.forfeits] == [
        (0, 0, 0, 0), (0, 1, 1, 0), (1, 0, 0, 0), (1, 1, 1, 0)
    ]  # fmt: skip
    assert found.mbb_per_hand == -750.0  # the big blind, and the small one


def test_bots_are_closed():
    closed = []

    class Closing(CallBot):
        def close(self):
            closed.append(self)

    match([Closing(), CallBot()], hands=2)
    assert len(closed) == 1


@pytest.mark.slow
def test_intervals_hold_as_often_as_they_say():
    """Who folds gives up the small blind and splits the rest: 250 mBB/hand."""
    ends = [match([CallBot(), FoldBot()], hands=60, seed=seed).confidence_interval for seed in range(200)]
    misses = sum(not low <= 250.0 <= high for low, high in ends)
    assert 0 < misses < 200 * 0.05 + 4 * np.sqrt(200 * 0.05 * 0.95)


# Histories


@pytest.mark.parametrize(
    "table",
    [
        Table(stack=1_000),
        Table(),
        Table(seats=3, stack=700),
        Table(seats=6, stack=500, small_blind=25, big_blind=101),
    ],
    ids=str,
)
def test_pokerkit_replays_histories_to_the_same_winnings(table, tmp_path):
    """It compares hands itself, all choices of five cards of seven."""
    bots = [RandomBot(), CallBot(), RaiseBot(0.5), RandomBot(), FoldBot(), RandomBot()][: table.seats]
    path, records = tmp_path / "match.phhs", []
    names = ["Ada \"the 'bot'\" \\ \x7f\n𝄞", "Bob", "c", "d", "e", "f"][: table.seats]
    with PhhWriter(path, names) as writer:
        match(bots, table, either(90, 600), seed=2, each=lambda one: (records.append(one), writer.write(one)))
    with path.open("rb") as file:
        histories = list(pokerkit.HandHistory.load_all(file))
    assert len(histories) == len(records)
    for one, history in zip(records, histories, strict=True):
        state = list(history)[-1]
        assert not state.status
        assert tuple(state.payoffs) == one.record.won
        assert tuple(state.starting_stacks) == (table.stack,) * table.seats
        assert history.finishing_stacks == [table.stack + won for won in one.record.won]
        assert history.players == [names[bot] for bot in one.bots]
        assert history.user_defined_fields == {"_deal": one.deal, "_rotation": one.rotation}


def test_forfeits_are_in_the_histories(tmp_path):
    with PhhWriter(tmp_path / "match.phhs", ["A", "B"]) as writer:
        found = match([Scripted("check", "check"), CallBot()], hands=2, each=writer.write)
    assert len(found.forfeits) == 2
    with (tmp_path / "match.phhs").open("rb") as file:
        first, second = pokerkit.HandHistory.load_all(file)
    assert first.user_defined_fields["_forfeits"][0].startswith("p1: IndexError")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pokerkit warns of a fold where a check was possible
        assert list(first)[-1].payoffs[0] == -100
    assert "_forfeits" in second.user_defined_fields


def test_histories_of_an_interrupted_match_are_whole(tmp_path):
    count = 0

    def stop(one):
        nonlocal count
        writer.write(one)
        count += 1
        if count == 5:
            raise KeyboardInterrupt

    with PhhWriter(tmp_path / "match.phhs", ["A", "B"]) as writer:
        match([RandomBot(), CallBot()], hands=100, each=stop)
    with (tmp_path / "match.phhs").open("rb") as file:
        assert len(list(pokerkit.HandHistory.load_all(file))) == 5


def test_decks_are_uniform():
    counts = np.zeros(52)
    for number in range(1_000):
        deck = shuffled_deck(Table(), RNG(number))
        assert len(set(deck)) == 9
        counts[list(deck)] += 1
    assert ((counts - 1_000 * 9 / 52) ** 2 / (1_000 * 9 / 52)).sum() < 100  # of 51 degrees of freedom
