"""Defence against all-ins: what is learned, exact values against who always goes all-in, and on the river."""

from itertools import combinations

import numpy as np
import pytest
from effort import either, thorough

from treeplex import InvalidGameError, InvalidStrategyError
from treeplex.models.games.holdem.cards import HANDS, read_cards
from treeplex.models.games.holdem.classes import CLASS_OF_HAND, CLASS_SIZES
from treeplex.models.games.holdem.equities import equities, pairs
from treeplex.models.games.holdem.showdown import strengths
from treeplex.models.games.holdem.values import class_values, equity_against, hand_value
from treeplex.models.matches import Bot, HandResult, Table, View, match
from treeplex.models.matches.simple import CallBot, FoldBot, RaiseBot, SimpleBot
from treeplex.models.opponents import DefendingBot, ThresholdBot
from treeplex.solvers.matches.bots import find_bot

STACK = 200.0
RNG = np.random.default_rng(0)


class RiverShover(SimpleBot):
    """Checks and calls, and goes all-in on the river, as the report fears."""

    def act(self, view: View, rng: np.random.Generator) -> str:
        if view.street == 3 and view.most:
            return "all-in"
        return "call" if view.price else "check"


# Equities against the strongest hands


def test_equities_against_all_hands_are_values() -> None:
    hand = tuple(read_cards("JhTh"))
    river = read_cards("9h8d2cKhKs")
    assert 2 * equity_against(hand, river, 1.0) - 1 == pytest.approx(hand_value(hand, river))
    assert 2 * equity_against(hand, [], 1.0) - 1 == pytest.approx(hand_value(hand, []))
    assert abs(2 * equity_against(hand, river[:4], 1.0) - 1 - hand_value(hand, river[:4])) < 0.04


@pytest.mark.parametrize("share", [0.01, 0.2, 0.73])
def test_equities_on_a_river_are_those_of_pairs_counted_one_by_one(share: float) -> None:
    hand, river = read_cards("9cTc"), read_cards("9h8d2cKhKs")
    others = [pair for pair in combinations(range(52), 2) if not set(pair) & {*hand, *river}]
    numbers = np.array([np.flatnonzero((sorted(pair, reverse=True) == HANDS).all(axis=1))[0] for pair in others])
    strong = strengths(river, numbers)
    own = strengths(river, np.flatnonzero((sorted(hand, reverse=True) == HANDS).all(axis=1)))[0]
    left, won = share * len(others), 0.0
    for value in np.unique(strong)[::-1]:
        take = min(float((strong == value).sum()), left)
        won, left = won + take * float((own > value) + (own == value) / 2), left - take
    assert equity_against((hand[0], hand[1]), river, share) == pytest.approx(won / (share * len(others)))


@pytest.mark.slow
def test_equities_on_a_flop_are_means_over_its_boards() -> None:
    hand, flop = tuple(read_cards("9cTc")), read_cards("9h8d2c")
    assert abs(2 * equity_against(hand, flop, 1.0) - 1 - hand_value(hand, flop, 400_000)) < 0.008


def test_shares_that_are_none_are_refused() -> None:
    for share in (0.0, 1.1, float("nan")):
        with pytest.raises(InvalidGameError, match="share is"):
            equity_against((51, 50), [], share)


# Who goes all-in at once, always


def facing(hand: tuple[int, int], paid: float = 0.0) -> View:
    """The view of a hand that has put in so many big blinds and faces an all-in before the flop."""
    bet = round(100 * paid)
    return View(
        *(Table(), 0, hand, (), 0, (bet, 20_000), (20_000 - bet, 0), (False, False), 20_000 + bet),
        history=(), least=0, most=0,
    )  # fmt: skip


def beginning(hand: tuple[int, int]) -> View:
    """The view of a hand on the button that is first to act."""
    return View(Table(), 1, hand, (), 0, (100, 50), (19_900, 19_950), (False, False), 150, (), 200, 20_000)


def worth_of_all_in() -> np.ndarray:
    """What each class wins all-in against any hand, in big blinds, exactly."""
    weights = pairs() / pairs().sum(axis=1, keepdims=True)
    return (2 * (equities() * weights).sum(axis=1) - 1) * STACK


def best_response() -> float:
    """What a best response to always all-in earns a hand, the mean of both seats, in big blinds, exactly."""
    worth = worth_of_all_in()
    earned = (np.maximum(worth, -1.0) + np.maximum(worth, -0.5)) / 2
    return float(earned @ CLASS_SIZES / CLASS_SIZES.sum())


def value(bot: Bot) -> float:
    """What a bot earns a hand against always all-in, hand by hand, in big blinds, exactly."""
    worth, earned = worth_of_all_in(), np.zeros(169)
    for number in range(169):
        hand = tuple(HANDS[np.flatnonzero(number == CLASS_OF_HAND)[0]].tolist())
        big = worth[number] if bot.act(facing(hand, 1.0), RNG) == "call" else -1.0
        action = bot.act(beginning(hand), RNG).split()
        paid = 1.0 if action[0] == "call" else float(action[1]) / 100 if len(action) == 2 else 0.5
        calls = action[0] == "all-in" or (action[0] != "fold" and bot.act(facing(hand, paid), RNG) == "call")
        earned[number] = (big + (worth[number] if calls else -paid)) / 2
    return float(earned @ CLASS_SIZES / CLASS_SIZES.sum())


@pytest.mark.parametrize(("hands", "margin"), [(20, 0.05), (100, 0.01), (300, 0.004)])
def test_what_is_learned_is_nearly_a_best_response(hands: int, margin: float) -> None:
    pytest.importorskip("pokerkit")
    bot, best = DefendingBot(ThresholdBot(samples=100)), best_response()
    match([bot, RaiseBot(1000.0)], hands=hands, duplicate=False, seed=4)
    assert bot.all_ins[0] == bot.decisions[0] > hands / 3
    assert value(bot) > (1 - margin) * best
    assert value(bot) <= best + 1e-12
    assert value(ThresholdBot()) < 0.8 * best


def test_who_never_goes_all_in_is_played_as_before() -> None:
    pytest.importorskip("pokerkit")
    for other in (CallBot(), FoldBot()):
        defended = match([DefendingBot(ThresholdBot(samples=100)), other], hands=either(200, 30), seed=5)
        plain = match([ThresholdBot(samples=100), other], hands=either(200, 30), seed=5)
        differing = np.flatnonzero((defended.won != plain.won).any(axis=(1, 2)))
        assert (differing < 12).all()  # in the first hands nothing is known


def test_all_ins_are_counted_where_they_could_be_made() -> None:
    bot = DefendingBot(CallBot())
    history = ((0, 1, "raise 300"), (0, 0, "call"), (1, 0, "check"), (1, 1, "all-in"), (1, 0, "call"))
    bot.end(HandResult(0, (51, 50), (), history, (None, None), (0, 0)))
    assert (bot.decisions[:2].tolist(), bot.all_ins[:2].tolist()) == ([1, 1], [0, 1])
    assert bot.frequencies.tolist() == [1 / 3, 2 / 3, 1 / 2, 1 / 2]
    bot.end(HandResult(1, (51, 50), (), history, (None, None), (0, 0)))  # who faces an all-in has no choice of it
    assert (bot.decisions[:2].tolist(), bot.all_ins[:2].tolist()) == ([2, 2], [0, 1])


# Who goes all-in on the river


def on_river(hand: tuple[int, int], board: str) -> View:
    """The view of a hand that faces an all-in of 98 % of the stack on a river."""
    return View(
        *(Table(), 0, hand, tuple(read_cards(board)), 3, (0, 19_600), (19_600, 0)),
        *((False, False), 20_400, (), 0, 0),
    )


@pytest.mark.parametrize("board", ["Td9d6hQc2s", "QcJc9c3d2d"])
def test_calls_on_the_river_are_best_responses_to_any_hand(board: str) -> None:
    bot, plain, wrong, given_up = DefendingBot(ThresholdBot()), ThresholdBot(), 0.0, 0
    bot.decisions[3] = bot.all_ins[3] = 300.0
    for hand in range(0, 1326, either(80, 9)):
        cards = tuple(HANDS[hand].tolist())
        if set(cards) & set(read_cards(board)):
            continue
        view = on_river(cards, board)
        worth = equity_against(cards, view.board, 1.0) * (view.pot + view.price) - view.price
        called = bot.act(view, RNG) == "call"
        wrong = max(wrong, max(worth, 0.0) - worth * called)
        given_up += worth > 0 and plain.act(view, RNG) == "fold"
    assert wrong < 0.01 * 19_600  # hands at the margin alone, that 301 hands of 302 tell from all
    assert given_up > 0  # which the report fears


@thorough
def test_hands_wait_for_the_river_where_all_ins_come() -> None:
    pytest.importorskip("pokerkit")
    bot, table = DefendingBot(ThresholdBot(samples=100)), Table(stack=5_000)
    plain = match([ThresholdBot(samples=100), RiverShover()], table, hands=either(60, 24), seed=1)
    found = match([bot, RiverShover()], table, hands=either(60, 24), seed=1)
    assert bot.frequencies[3] > 0.85 > 0.2 > bot.frequencies[1]
    assert found.mbb_per_hand is not None
    assert plain.mbb_per_hand is not None
    assert found.mbb_per_hand > plain.mbb_per_hand + 3_000
    worthless = beginning(tuple(read_cards("7c2d")))  # type: ignore[arg-type]
    assert (ThresholdBot().act(worthless, RNG), bot.act(worthless, RNG)) == ("fold", "call")


def test_at_tables_of_three_it_is_refused() -> None:
    assert class_values().shape == (169,)
    with pytest.raises(InvalidStrategyError, match="bot defending needs a table"):
        DefendingBot(CallBot()).begin(Table(3), 0)
    with pytest.raises(InvalidStrategyError, match="bot defending needs a table"):
        find_bot("defending", Table(3))
    made = find_bot("defending:threshold:samples=70", Table())
    assert isinstance(made, DefendingBot)
    assert made.bot == ThresholdBot(samples=70)
