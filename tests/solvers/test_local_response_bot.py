"""The local best response to the resolving bot: what it knows, and what it does with it."""

from collections.abc import Iterator

import numpy as np
import pytest

from treeplex.models.games.holdem.bets import Betting
from treeplex.models.games.holdem.cards import HANDS, hand_numbers, read_cards
from treeplex.models.matches import Table, View, match
from treeplex.seqform.errors import InvalidGameError, InvalidStrategyError
from treeplex.solvers.matches.blueprint import ModelBlueprint
from treeplex.solvers.matches.bots import find_bot
from treeplex.solvers.matches.local_response import LocalResponseBot
from treeplex.solvers.matches.resolving import ResolvingBot, StreetPlan

QUICK = {
    street: StreetPlan(Betting({name: "100%"}, {name: "3x"}, raise_cap=2), 4, rounds=1)
    for street, name in enumerate(("flop", "turn", "river"), 1)
}
TABLE = Table(stack=2_000)


@pytest.fixture(scope="module")
def blueprint() -> ModelBlueprint:
    return ModelBlueprint(TABLE, streets=1)


def resolving(blueprint: ModelBlueprint) -> ResolvingBot:
    return ResolvingBot(blueprint, 60.0, learns=False, plans=QUICK, gadget="resolving")


class Noting(LocalResponseBot):
    """Compares what it knows with the bot against which it plays."""

    def __init__(self, opponent: ResolvingBot, against: ResolvingBot) -> None:
        super().__init__(opponent)
        self.against, self.compared = against, 0

    def act(self, view: View, rng: np.random.Generator) -> str:
        action = super().act(view, rng)
        other = 1 - view.seat
        theirs = self.against.copied()
        theirs.follow(View(**{**vars(view), "seat": other}))
        mine, real = self._opponent_range(view), theirs.ranges[other]
        assert mine / mine.max() == pytest.approx(real / real.max(), abs=1e-6)
        self.compared += view.street > 0
        return action

    def _opponent_range(self, view: View) -> np.ndarray:
        return self.followed.ranges[1 - view.seat]


def test_it_knows_the_range_of_the_bot_whatever_the_bot_holds(blueprint: ModelBlueprint) -> None:
    pytest.importorskip("pokerkit")
    bot = resolving(blueprint)
    lbr = Noting(resolving(blueprint), bot)
    found = match([bot, lbr], TABLE, hands=6, seed=6)
    assert not found.forfeits
    assert lbr.compared >= 1


def views(bot: ResolvingBot) -> Iterator[tuple[View, dict[str, float]]]:
    """Play a few hands, and yield the bot's views and the mixtures from which it drew."""
    seen: list[tuple[View, dict[str, float]]] = []

    class Watched:
        begin, end = bot.begin, bot.end

        def act(self, view: View, rng: np.random.Generator) -> str:
            action = bot.act(view, rng)
            seen.append((view, bot.mixture))
            assert bot.mixture[action] > 0.0
            return action

    match([Watched(), find_bot("raise:pots=0.4", TABLE)], TABLE, hands=2, seed=3)
    yield from seen


def test_the_strategy_for_all_hands_is_the_one_that_the_bot_plays(blueprint: ModelBlueprint) -> None:
    pytest.importorskip("pokerkit")
    again = resolving(blueprint)
    streets = set()
    for view, mixture in views(resolving(blueprint)):
        again.begin(TABLE, view.seat)
        actions, probabilities = again.strategy(view)
        assert probabilities.shape == (len(actions), len(HANDS))
        assert probabilities.sum(axis=0) == pytest.approx(1.0)
        assert sum(mixture.values()) == pytest.approx(1.0)
        hand = int(hand_numbers(np.array([view.hand]))[0])
        folds = sum(probabilities[place, hand] for place, (word, _) in enumerate(actions) if word == "fold")
        assert folds == pytest.approx(mixture.get("fold", 0.0), abs=1e-6)
        streets.add(view.street)
    assert len(streets) > 1


@pytest.mark.parametrize(("hand", "expected"), [("AcKc", {"call", "all-in"}), ("3h2h", {"fold", "all-in"})])
def test_it_folds_or_bluffs_without_a_hand_and_never_folds_the_best_one(
    blueprint: ModelBlueprint, hand: str, expected: set[str]
) -> None:
    bot = LocalResponseBot(resolving(blueprint))
    bot.begin(TABLE, 1)
    board = tuple(read_cards("QcJc9cTcKd"))
    cards = tuple(sorted(read_cards(hand), reverse=True))
    calm = tuple((street, seat, "check") for street in (1, 2) for seat in (0, 1))
    history = ((0, 1, "raise 300"), (0, 0, "call"), *calm, (3, 0, "bet 900"))
    view = View(TABLE, 1, cards, board, 3, (900, 0), (800, 1700), (False, False), 1500, history, 1700, 1700)
    assert bot.act(view, np.random.default_rng(0)) in expected


def test_other_bots_and_bots_that_learn_are_refused(blueprint: ModelBlueprint) -> None:
    for text, said in (("call", "call"), ("(resolving:streets=1)", "resolving:streets=1")):
        with pytest.raises(InvalidStrategyError, match=f"to = {said}, expected a bot resolving with learns=false"):
            find_bot(f"lbr:{text}", TABLE)
    with pytest.raises(InvalidGameError, match="learns, expected a bot with learns=false"):
        LocalResponseBot(ResolvingBot(blueprint))
