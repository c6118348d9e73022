"""Which hand is stronger: against another evaluator, and against the rules for five cards, in full and short decks."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from effort import either

from treeplex import Nash, solve
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.games.holdem.cards import CARDS, HAND_NAMES, HANDS, Range, read_cards
from treeplex.models.games.holdem.showdown import strengths

ALL = np.arange(len(HANDS))


def strength(board, hand, deck="full"):
    """Return how strong one hand is on a board."""
    return int(strengths(read_cards(board), np.flatnonzero(Range.parse(hand).weights), deck)[0])


def test_hands_are_ranked_as_by_phevaluator():
    phevaluator = pytest.importorskip("phevaluator")
    generator = np.random.default_rng(7)
    for _ in range(either(15, 300)):
        board = generator.choice(52, size=5, replace=False).tolist()
        found = strengths(board, ALL)
        free = np.flatnonzero(found)
        assert len(free) == 1081
        expected = [-phevaluator.evaluate_cards(*board, *HANDS[hand].tolist()) for hand in free]
        ranks = [np.unique(one, return_inverse=True)[1] for one in (found[free], expected)]
        assert ranks[0].tolist() == ranks[1].tolist()


KINDS = ("high card", "pair", "two pairs", "trips", "straight", "flush", "full house", "quads", "straight flush")


@pytest.mark.parametrize("deck", ["full", "short"])
def test_seven_cards_are_worth_the_best_five_of_them(deck):
    """By rules written out for five cards, over all 21 choices."""
    generator = np.random.default_rng(11)
    low = 4 if deck == "short" else 0
    order = {kind: place for place, kind in enumerate(KINDS)}
    if deck == "short":
        order["flush"], order["full house"] = order["full house"], order["flush"]

    def worth(five):
        ranks = Counter(card // 4 for card in five)
        groups = sorted(ranks, key=lambda rank: (ranks[rank], rank), reverse=True)
        counts = sorted(ranks.values(), reverse=True)
        flush = len({card % 4 for card in five}) == 1
        wheel = set(ranks) == {12, low, low + 1, low + 2, low + 3}
        run = len(ranks) == 5 and (max(ranks) - min(ranks) == 4 or wheel)
        kind = (
            "straight flush" if run and flush else "quads" if counts[0] == 4 else "full house" if counts == [3, 2]
            else "flush" if flush else "straight" if run else "trips" if counts[0] == 3
            else "two pairs" if counts == [2, 2, 1] else "pair" if counts[0] == 2 else "high card"
        )  # fmt: skip
        return order[kind], [low + 3] if wheel and run else groups

    for _ in range(either(25, 500)):
        cards = generator.choice(np.arange(4 * low, 52), size=11, replace=False).tolist()
        board, hands = cards[:5], [tuple(sorted(cards[at : at + 2], reverse=True)) for at in (5, 7, 9)]
        numbers = np.array([HAND_NAMES.index(CARDS[high] + CARDS[low_]) for high, low_ in hands])
        found = strengths(board, numbers, deck)
        expected = [max(worth(five) for five in combinations([*board, *hand], 5)) for hand in hands]
        for one, other in combinations(range(3), 2):
            assert np.sign(found[one] - found[other]) == (expected[one] > expected[other]) - (
                expected[one] < expected[other]
            )


def test_in_a_short_deck_a_flush_beats_a_full_house_and_an_ace_counts_as_five():
    flush, full = ("Kd8d", "JsJh")
    for deck, wins in (("full", full), ("short", flush)):
        best = max((flush, full), key=lambda hand: strength("Jd9d6dQcQs", hand, deck))
        assert best == wins
    # The straight from ace to nine is the lowest: below T9876, above trips.
    low, high, trips = (strength("9c8d7h6sKc", hand, "short") for hand in ("AhQd", "ThQd", "KdKh"))
    assert trips < low < high
    assert strength("9c8d7h6sKc", "AhQd") < strength("9c8d7h6sKc", "KdKh")
    # A straight flush too.
    assert strength("9c8c7c6cKd", "AcQd", "short") > strength("9c8c7c6cKd", "KcQc", "short")


def test_a_short_deck_deals_thirty_six_cards():
    spot = HoldemSpot("Td9d6h", ["random", "AA, 55:1"], 10, 10, deck="short")
    assert [len(held) for held in spot.hands] == [33 * 32 // 2, 6]
    turn = HoldemSpot("Td9d6hQc", ["AA", "KK"], 10, 0, deck="short")
    form = turn.public_form
    assert form.num_leaves == 32
    assert sum(group.amounts[0] * len(group.amounts) for group in form.deals) * turn.pairs * 28 == pytest.approx(32)


def test_the_equity_of_a_short_deck_is_that_of_all_runouts():
    spot = HoldemSpot("Td9d6h", ["AsAh", "8c7c"], 10, 10, deck="short")
    seen = {*spot.cards, *read_cards("AsAh8c7c")}
    won = []
    for dealt in combinations([card for card in range(16, 52) if card not in seen], 2):
        board = "".join(CARDS[card] for card in (*spot.cards, *dealt))
        won.append(np.sign(strength(board, "AsAh", "short") - strength(board, "8c7c", "short")))
    assert len(won) == 29 * 28 // 2
    assert spot.equity[0] == pytest.approx(0.5 + np.mean(won) / 2, abs=1e-12)
    assert HoldemSpot.from_toml(spot.to_toml()).equity == spot.equity


def test_a_short_deck_is_solved():
    """The nuts of a short deck, a flush over a full house, bets as the nuts do."""
    spot = HoldemSpot("Jd9d6dQcQs", ["Kd8d, 8h7h", "JsJh"], 100, 100, bets="100%", deck="short")
    assert solve(Nash(spot.game)).value + 50 == pytest.approx(75.0, abs=1e-9)
