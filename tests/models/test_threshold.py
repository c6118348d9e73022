"""Threshold automata: what they decide, as plans and as bots, and their files."""

from functools import cache
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import either

from treeplex import (
    InvalidGameError,
    InvalidStrategyError,
    Profile,
    Strategy,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    simulate,
)
from treeplex.models.games.betting import Offer, placed_offers
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.bets import Decision, Ended, first, moves
from treeplex.models.games.holdem.cards import HANDS, read_board, read_cards
from treeplex.models.games.holdem.values import hand_value, hand_values
from treeplex.models.matches import Table, View
from treeplex.models.opponents import Threshold, ThresholdBot, ThresholdRound
from treeplex.models.play import Results
from treeplex.seqform import best_response_values
from treeplex.solvers.opponents.strategies import opponent_strategy

LEDUC = load_game("leduc")
#: Thresholds at −0.5, 0 and 0.5; it pays 2 + v and raises to 4 + 2 v.
PLAIN = Threshold((ThresholdRound(-0.5, 0.0, 0.5, (2, 1, 0, 0), (4, 2, 0, 0)),))
#: Another bot for Leduc poker, that raises with jacks too.
BOLD = Threshold((ThresholdRound(-0.9, -0.5, 0.3, (3, 0, 0, 0), (4, 0, 0, 1)), Threshold().rounds[1]))
INFINITY = float("inf")


@pytest.mark.parametrize(
    ("value", "price", "level", "least", "wanted"),
    [
        (-0.6, 0, 0, 2, 0),  # gives up: checks
        (-0.6, 0.1, 2, 4, -1),  # and folds to any price
        (-0.5, 1.5, 2, 4, 0),  # waits: pays up to p(v)
        (-0.5, 1.6, 2, 4, -1),
        (-0.5, 0, 0, 2, 0),  # and never raises
        (0.0, 2.1, 2.1, 4, -1),  # raises to some amount: but folds to a price above p(v) first
        (0.0, 2.0, 2, 4, 4),
        (0.25, 2.0, 2, 4.6, 0),  # calls where the smallest raise is above q(v)
        (0.25, 2.0, 2, INFINITY, 0),
        (0.5, 90, 90, 100, 180),  # bets to the end: twice the level where q(v) is too little
        (0.5, 90, 90, 190, 190),
        (0.5, 0, 0, 2, 5),
        (1.0, 90, 90, INFINITY, 0),
    ],
)
def test_each_automaton_does_what_the_report_says(
    value: float, price: float, level: float, least: float, wanted: float
) -> None:
    assert float(PLAIN.wanted(0, value, price, level, least)) == wanted


def test_nearest_size_is_chosen_and_the_smaller_of_two() -> None:
    raises = {"to 3": 3.0, "to 5": 5.0, "to 9": 9.0}
    offer = Offer(0, np.array([0.0, 0.2, 1.0]), 0, 0, "check", raises)
    assert PLAIN.choose(offer).tolist() == [2, 3, 3]  # 4 lies between 3 and 5
    assert PLAIN.choose(Offer(0, np.array([-1.0]), 1, 1, "call", {})).tolist() == [1]  # there is no fold


def test_negative_limits_count_as_nothing() -> None:
    mean = Threshold((ThresholdRound(-1, 0, 0.5, (-5, 0, 0, 0), (-5, 0, 0, 0)),))
    assert mean.wanted(0, [-0.5, 0.1, 0.9], 0, 0, 2).tolist() == [0, 0, 2]
    assert mean.wanted(0, [-0.5, 0.1, 0.9], 1, 1, 2).tolist() == [-1, -1, 2]


def test_numbers_make_the_same_automaton_and_thresholds_are_put_in_order() -> None:
    assert Threshold().numbers.shape == (44,)
    assert Threshold.from_numbers(Threshold().numbers) == Threshold()
    swapped = PLAIN.numbers[[2, 1, 0, *range(3, 11)]]
    assert Threshold.from_numbers(swapped) == PLAIN


def test_files_hold_automata(tmp_path: Path) -> None:
    Threshold().to_toml(tmp_path / "bot.toml")
    assert Threshold.from_file(tmp_path / "bot.toml") == Threshold()
    named = opponent_strategy(f"threshold:file={tmp_path / 'bot.toml'}", LEDUC, 1)
    assert np.array_equal(named.plan, opponent_strategy("threshold", LEDUC, 1).plan)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("x = -0.5", "x = 2"), "x, y, z are 2, 0, 0.5, expected ascending thresholds"),
        (("x = -0.5\n", ""), "x is missing"),
        (("p = [2.0,", "p = ["), "p is [1.0, 0.0, 0.0], expected four coefficients"),
        (("z = 0.5", "z = nan"), "z is"),
        (("z = 0.5", "zz = 0.5"), "unknown key 'zz'"),
        (("[[rounds]]", "[rounds]"), "expected tables"),
        (("q = [4.0,", "q = ['4',"), "a coefficient of q"),
    ],
)
def test_wrong_files_are_refused_with_file_and_line(tmp_path: Path, change: tuple[str, str], words: str) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(PLAIN.to_toml().replace(*change), encoding="utf-8")
    with pytest.raises(InvalidGameError) as refused:
        Threshold.from_file(path)
    assert words in str(refused.value)
    assert "wrong.toml" in str(refused.value)


def test_wrong_automata_are_refused() -> None:
    for wrong in ((), PLAIN.rounds * 5, ("x",)):
        with pytest.raises(InvalidStrategyError):
            Threshold(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidStrategyError, match="10 numbers, expected 11"):
        Threshold.from_numbers(np.zeros(10))
    with pytest.raises(InvalidStrategyError, match="numbers is 'abc', expected 11 for each round"):
        Threshold.from_numbers("abc")


def test_games_without_bets_are_refused() -> None:
    with pytest.raises(UnsupportedProblemError, match="does not describe its betting"):
        PLAIN.strategy(load_game("goofspiel:cards=3"), 0)


def test_values_in_kuhn_and_leduc_by_hand() -> None:
    rules: Any = load_game("leduc:merge_suits=true").rules
    state = rules.initial_state()
    for step in ("K", "Q", "c", "c", "J"):
        state = rules.child(state, step)
    # Of J, Q, Q, K that are not seen, the king beats two, ties with one and loses to the jack.
    assert rules.betting(state).value == 0.25
    threes = load_game("kuhn:players=3")
    assert PLAIN.strategy(threes, 2).plan.sum() > 1


# The plan against play that knows nothing of plans.


def standard_error(payoffs: Any, counts: Any) -> float:
    total = counts.sum()
    mean = payoffs @ counts / total
    return float(np.sqrt(((payoffs - mean) ** 2 @ counts) / (total - 1) / total))


def played_by_hand(rules: Any, bots: tuple[Threshold, Threshold], cards: tuple[str, ...]) -> float:
    """Play one hand of a game by its rules, cards given, and return what player 0 is paid."""
    state, dealt = rules.initial_state(), list(cards)
    while rules.player(state) != -2:
        mover = rules.player(state)
        if mover == -1:
            state = rules.child(state, dealt.pop(0))
            continue
        offer = rules.betting(state)
        wanted = float(
            bots[mover].wanted(
                offer.round, offer.value, offer.price, offer.level, min(offer.raises.values(), default=INFINITY)
            )
        )
        action = offer.fold if wanted == -1 else offer.call
        if wanted > 0:
            action = min(offer.raises, key=lambda name: abs(offer.raises[name] - wanted))
        state = rules.child(state, action)
    return float(rules.payoffs(state)[0])


def test_plan_in_leduc_earns_what_the_bot_earns_hand_by_hand() -> None:
    bots, hands = (Threshold(), BOLD), 10**6
    exact = expected_payoffs(LEDUC, Profile([bot.strategy(LEDUC, seat) for seat, bot in enumerate(bots)]))[0]
    deck = [rank + suit for rank in "JQK" for suit in "sh"]
    deals = list(permutations(deck, 3))
    paid = np.array([played_by_hand(LEDUC.rules, bots, deal) for deal in deals])
    assert paid.mean() == pytest.approx(exact, abs=1e-12)  # all deals
    counts = np.random.default_rng(1).multinomial(hands, np.full(len(deals), 1 / len(deals)))
    assert abs(paid @ counts / hands - exact) < 3 * standard_error(paid, counts)


def test_plan_in_leduc_earns_what_is_simulated() -> None:
    profile = Profile([Threshold().strategy(LEDUC, 0), Strategy.uniform(LEDUC, 1)])
    results, leaves = Results(LEDUC.sequence_form.leaves), LEDUC.sequence_form.leaves
    for ended in simulate(profile, 10**6, seed=2):
        results.add(ended)
    payoffs = leaves.payoffs[:, 0]
    mean = payoffs @ results.ended / results.num_games
    assert abs(mean - expected_payoffs(LEDUC, profile)[0]) < 3 * standard_error(payoffs, results.ended)


@cache
def river() -> HoldemSpot:
    return HoldemSpot("Td9d6hQc2s", ["66+, A8s+, KQo, JTs", "QQ-22, A2s+, KJo+"], 200, 900, bets="33%, 75%, a")


def played_on_river(spot: HoldemSpot, bots: tuple[Threshold, Threshold], hands: Any, wins: float) -> float:
    """Walk the betting of a river with two hands, and return what player 0 is paid, less half of the pot."""
    state: Decision | Ended = first(spot.betting, 2, spot.stack)
    unit = spot.pot / 2
    while isinstance(state, Decision):
        after = dict(moves(state, spot.betting, spot.pot, spot.stack))
        level, own = max(state.now), state.now[state.mover]
        higher = {name: one.now[state.mover] / unit for name, one in after.items() if isinstance(one, Decision)}
        higher.pop("check", None)
        value = hand_value(tuple(HANDS[hands[state.mover]].tolist()), spot.cards)
        least = min(higher.values(), default=INFINITY)
        wanted = float(bots[state.mover].wanted(3, value, (level - own) / unit, level / unit, least))
        if wanted > 0:
            name = min(higher, key=lambda one: abs(higher[one] - wanted))
        elif wanted < 0:
            name = "fold"
        else:
            name = "call" if level > own else "check"
        state = after[name]
    if state.folded >= 0:
        return (1 if state.folded == 1 else -1) * (unit + state.paid[state.folded])
    return wins * (unit + state.paid[0])


def test_plan_on_a_river_earns_what_the_bot_earns_hand_by_hand() -> None:
    spot, bots, hands = river(), (Threshold(), BOLD), either(10**4, 10**6)
    exact = expected_payoffs(spot.game, Profile([bot.strategy(spot.game, seat) for seat, bot in enumerate(bots)]))[0]
    weights = spot.weights[0][:, None] * spot.together(spot.cards).factored.matrix.toarray() * spot.weights[1]
    counts = np.random.default_rng(3).multinomial(hands, (weights / weights.sum()).ravel()).reshape(weights.shape)
    wins, there = np.sign(spot.won(spot.cards)), np.argwhere(counts)
    paid = np.array(
        [played_on_river(spot, bots, (spot.hands[0][a], spot.hands[1][b]), wins[a, b]) for a, b in there.tolist()]
    )
    drawn = counts[counts > 0]
    assert abs(paid @ drawn / hands - exact) < 3 * standard_error(paid, drawn)
    assert exact != 0


def test_offers_of_a_turn_begin_anew_on_the_river() -> None:
    spot = HoldemSpot("Td9d6hQc", ["AA, KQs", "JJ, T9s"], 200, 900, bets="50%")
    form, seen = spot.public_form, 0
    for placed in placed_offers(spot.game, 0):
        offer = placed.offer
        assert list(offer.raises.values()) == sorted(offer.raises.values())
        assert offer.price == 0 or offer.fold == "fold"
        if offer.round == 3 and not offer.price:  # first to act on a river, whatever was bet on the turn
            assert offer.level == 0
            seen += 1
    assert seen == sum(form.players[node] == -1 for node in form.parents[form.players == 0])
    bets = placed_offers(spot.game, 0)
    assert next(bets).offer.raises == {"bet 100": 1.0}


def test_values_of_hands_agree() -> None:
    river_cards = tuple(read_board("Td9d6hQc2s"))
    exact = hand_values(river_cards)
    for hand in (0, 500, 1000, 1325):
        cards = tuple(HANDS[hand].tolist())
        if not set(cards) & set(river_cards):
            assert hand_value(cards, river_cards[::-1]) == pytest.approx(exact[hand], abs=1e-12)
    turn = hand_values(river_cards[:4])
    hands = [hand for hand in range(0, 1326, either(60, 5)) if not set(HANDS[hand].tolist()) & set(river_cards[:4])]
    off = [hand_value(tuple(HANDS[hand].tolist()), river_cards[:4]) - turn[hand] for hand in hands]
    assert np.abs(off).max() < 4.5 / np.sqrt(10_000)
    # Against a hand that is not seen: 85.2 %, 34.6 % and 32.3 % of pots, as tables of hold'em have it.
    for text, equity in (("AsAh", 0.852), ("7c2d", 0.346), ("3c2d", 0.323), ("AdKd", 0.670)):
        assert (1 + hand_value(tuple(read_cards(text)), [])) / 2 == pytest.approx(equity, abs=0.0006)


@pytest.mark.parametrize("board", [[1], [1, 2, 3, 4, 5, 6], [2, 3, 51], [2, 3, 52], [2, 2, 3], ["As", "Kd", "2c"]])
def test_values_of_hands_on_impossible_boards_are_refused(board: list[Any]) -> None:
    with pytest.raises(InvalidGameError, match="expected two cards and none or three to five others"):
        hand_value((51, 50), board)


def test_values_of_impossible_hands_are_refused() -> None:
    with pytest.raises(InvalidGameError, match="expected two cards"):
        hand_value((51, 51), [])
    with pytest.raises(InvalidGameError, match="samples is 0, expected a whole number of at least 1"):
        hand_value((51, 50), [1, 2, 3], samples=0)


def test_spot_of_a_short_deck_has_values() -> None:
    spot = HoldemSpot("Td9d6hQcJs", ["AA", "KK"], 100, 100, bets="100%", deck="short")
    assert np.isfinite(best_response_values(spot.game, Threshold().profile(spot.game))).all()


# The bot at a table.


def view(hand: str, board: str = "", bets: tuple[int, int] = (100, 50), **change: Any) -> View:
    table = Table()
    numbers = tuple(sorted(read_cards(hand), reverse=True))
    stacks = tuple(table.stack - bet for bet in bets)
    cards = tuple(read_cards(board)) if board else ()
    street = max(len(cards) - 2, 0)
    least = max(bets) + max(max(bets) - min(bets), 100)
    told = {
        "bets": bets,
        "stacks": stacks,
        "street": street,
        "pot": sum(bets),
        "least": least,
        "most": 20_000,
        **change,
    }
    return View(table, 1, numbers, cards, folded=(False, False), history=(), **told)  # type: ignore[arg-type]


def test_bot_acts_legally_and_by_its_numbers() -> None:
    rng, bot = np.random.default_rng(0), ThresholdBot()
    assert bot.act(view("7c2d"), rng) == "fold"
    assert bot.act(view("7c2d", bets=(100, 100)), rng) == "check"
    assert bot.act(view("KsQs", bets=(250, 50)), rng) == "call"
    assert bot.act(view("AsAh", bets=(8_000, 300)), rng) == "raise 16000"
    assert bot.act(view("AsAh", bets=(15_000, 300), least=20_000), rng) == "raise 20000"
    assert bot.act(view("AsAh", bets=(20_000, 300), least=0, most=0), rng) == "call"
    assert bot.act(view("AsAh", "AcAd2h", bets=(0, 0), least=100), rng).startswith("bet ")
    limits = {"most": 20_000, "least": 200}
    assert bot.act(view("AsAh", "Kc7d2h", bets=(100, 0), **limits), rng) == bot.act(
        view("AsAh", "Kc7d2h", bets=(100, 0), **limits), np.random.default_rng(9)
    )
