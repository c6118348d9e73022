"""Winnings without the luck of the board."""

import numpy as np
import pytest

from treeplex.models.games.holdem.cards import read_cards
from treeplex.models.matches import Table, expected_winnings, luck_free_winnings, match, play_hand
from treeplex.models.matches.simple import CallBot, RaiseBot, RandomBot
from treeplex.seqform.errors import InvalidGameError

pytest.importorskip("pokerkit")
DECK = "AsAh KsKh 2c7dKdJsQd"


def fresh() -> np.random.Generator:
    return np.random.default_rng(5)


class Bets:
    """Bets 500 on a street, and otherwise calls."""

    def __init__(self, street: int) -> None:
        self.street = street

    def begin(self, table: Table, seat: int) -> None: ...

    def act(self, view: object, rng: np.random.Generator) -> str:
        bets = view.street == self.street and not view.price and max(view.bets) == 0
        return "bet 500" if bets else "call"

    def end(self, result: object) -> None: ...


def test_luck_is_the_pot_times_the_change_of_equity() -> None:
    """Aces bet the flop and lose to three kings."""
    record = play_hand(Table(), read_cards(DECK), [Bets(1), CallBot()], [fresh(), fresh()])
    assert record.won == (-600, 600)
    # On the flop 2c7dKd the aces need an ace in two cards: not 41 and 43 of 45 times 44, and without another king.
    turn, river = 2 / 44, 0.0
    before = luck_free_winnings(record, fresh())[0]
    flop = _equity("AsAh", "KsKh", "2c7dKd")
    first = _equity("AsAh", "KsKh", "", fresh())
    assert before == pytest.approx(-600 - 200 * (flop - first) - 1200 * (turn - flop) - 1200 * (river - turn))


def _equity(first: str, second: str, board: str, rng: np.random.Generator | None = None) -> float:
    """Return the equity of a hand from the expectation of an all-in on a board."""

    class Shoves(Bets):
        def act(self, view: object, rng: np.random.Generator) -> str:
            return "all-in" if view.street == self.street else "call"

    shown = read_cards(board)
    rest = [card for card in range(52) if card not in (*shown, *read_cards(first), *read_cards(second))]
    deck = [*read_cards(first), *read_cards(second), *shown, *rest][:9]
    street = {0: 0, 3: 1, 4: 2}[len(shown)]
    record = play_hand(Table(), deck, [Shoves(street), Shoves(street)], [fresh(), fresh()])
    return 0.5 + expected_winnings(record, rng or fresh())[0] / 40_000


@pytest.mark.parametrize("street", [0, 1, 2])
def test_after_an_all_in_it_is_the_expectation(street: int) -> None:
    class Shoves(Bets):
        def act(self, view: object, rng: np.random.Generator) -> str:
            return "all-in" if view.street == self.street else "call"

    record = play_hand(Table(), read_cards(DECK), [Shoves(street), Shoves(street)], [fresh(), fresh()])
    free, expected = luck_free_winnings(record, fresh()), expected_winnings(record, fresh())
    if street == 0:
        assert free == pytest.approx(expected)
    else:  # the luck of the small pot before the all-in is removed as well
        assert abs(free[0] - expected[0]) <= 200.0
    assert free[0] == -free[1]


def test_it_is_unbiased_and_varies_less() -> None:
    won, free = [], []

    def note(one: object) -> None:
        won.append(one.record.won[0])
        free.append(luck_free_winnings(one.record, np.random.default_rng([one.deal, 7]), 200)[0])

    match([RandomBot(), RaiseBot(0.5)], Table(stack=2_000), hands=300, duplicate=False, seed=3, each=note)
    luck = np.subtract(won, free)
    assert abs(luck.mean()) < 3.0 * luck.std() / np.sqrt(len(luck))
    assert np.std(free) < 0.9 * np.std(won)


def test_without_a_board_nothing_changes_and_three_seats_are_refused() -> None:
    class Folds(Bets):
        def act(self, view: object, rng: np.random.Generator) -> str:
            return "fold"

    record = play_hand(Table(), read_cards(DECK), [Folds(0), Folds(0)], [fresh(), fresh()])
    assert luck_free_winnings(record, fresh()) == (50.0, -50.0)
    three = Table(seats=3)
    deck = [*read_cards("AsAh KsKh QcQs"), *read_cards("2c7dKdJsQd")]
    record = play_hand(three, deck, [Folds(0)] * 3, [fresh()] * 3)
    with pytest.raises(InvalidGameError, match="the table has 3 seats, expected 2"):
        luck_free_winnings(record, fresh())


class Mixing(Bets):
    """Draws from a mixture that it states, by a script; without one it takes the first action."""

    def __init__(self, script: list[int]) -> None:
        self.script, self.mixture, self.chance, self.menus = list(script), {}, 1.0, []

    def act(self, view: object, rng: np.random.Generator) -> str:
        if view.price:
            self.mixture = {"fold": 0.2, "call": 0.5}
        else:
            self.mixture = {"check": 0.7}
        if view.most:
            self.mixture[f"{view.aggressive} {view.least}"] = 0.2
            self.mixture["all-in"] = 0.1
        chances = np.array(list(self.mixture.values()))
        self.mixture = dict(zip(self.mixture, (chances / chances.sum()).tolist(), strict=True))
        number = self.script[len(self.menus)] if len(self.menus) < len(self.script) else 0
        self.menus.append(len(self.mixture))
        action = list(self.mixture)[number]
        self.chance *= self.mixture[action]
        return action


def test_the_luck_of_a_stated_mixture_has_mean_zero() -> None:
    """Over all actions of the mixing bot, against one that answers by fixed rules, with the same cards."""
    free, without, chances = [], [], []
    scripts: list[list[int]] = [[]]
    while scripts:
        script = scripts.pop()
        bot = Mixing(script)
        record = play_hand(Table(stack=600), read_cards(DECK), [RaiseBot(0.5), bot], [fresh(), fresh()])
        full = script + [0] * (len(bot.menus) - len(script))
        for place in range(len(script), len(full)):  # the other actions at later decisions
            scripts += [[*full[:place], number] for number in range(1, bot.menus[place])]
        chances.append(bot.chance)
        free.append(luck_free_winnings(record, fresh(), decisions=True)[0])
        without.append(luck_free_winnings(record, fresh())[0])
    assert sum(chances) == pytest.approx(1.0)
    assert len(chances) > 10
    decisions = np.subtract(free, without)
    assert np.abs(decisions).max() > 50.0
    assert decisions @ chances == pytest.approx(0.0, abs=1e-9)


def test_the_luck_of_the_river_has_mean_zero() -> None:
    """Over all rivers, the luck is that of a hand that ends on the turn."""

    class FoldsTheTurn(Bets):
        def act(self, view: object, rng: np.random.Generator) -> str:
            return "fold" if view.street == 2 else super().act(view, rng)

    def luck(bot: Bets, river: int) -> float:
        record = play_hand(Table(), [*cards[:8], river], [bot, CallBot()], [fresh(), fresh()])
        return record.won[0] - luck_free_winnings(record, fresh())[0]

    cards = read_cards(DECK)
    rivers = sorted(set(range(52)) - set(cards[:8]))
    lucks = [luck(Bets(1), river) for river in rivers]
    assert np.std(lucks) > 100.0
    assert np.mean(lucks) == pytest.approx(luck(FoldsTheTurn(1), rivers[0]))
