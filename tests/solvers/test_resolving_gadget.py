"""The resolving gadget of the bot: what it guarantees, and when the bot uses it."""

import re
from typing import Any

import numpy as np
import pytest

from treeplex.models.games.holdem.bets import Betting, Decision
from treeplex.models.games.holdem.cards import HANDS, read_cards
from treeplex.models.matches import Table, View, play_hand, shuffled_deck
from treeplex.seqform.errors import InvalidGameError, InvalidStrategyError
from treeplex.seqform.public_profile import PublicProfile
from treeplex.solvers.matches.blueprint import ModelBlueprint
from treeplex.solvers.matches.bots import find_bot
from treeplex.solvers.matches.resolving import ResolvingBot, StreetPlan
from treeplex.solvers.matches.streets import KeptValues, SolvedStreet, StreetSpot, street_spot

BOARD, POT, STACK = read_cards("QcJc9c3d2d"), 600, 900
BETTING = Betting("100%", "3x", raise_cap=2)
PLANS = {
    1: StreetPlan(Betting({"flop": "100%"}, {"flop": "3x"}, raise_cap=1), 4, rounds=1),
    2: StreetPlan(Betting({"turn": "60%", "river": "75%"}, {"turn": "3x"}, raise_cap=1), 8),
    3: StreetPlan(Betting("100%", "3x", raise_cap=2), 30),
}


def after_a_check(own: np.ndarray, other: np.ndarray) -> StreetSpot:
    """The river after a check, where a bet of 350 is possible."""
    return street_spot(BOARD, [own, other], POT, STACK, Decision(2, 1, checked=True, last=100), BETTING, 350)


@pytest.fixture(scope="module")
def river() -> tuple[np.ndarray, np.ndarray, KeptValues]:
    """The bot's range after its check, the other player's range, and its values then."""
    own, other = np.random.default_rng(0).random((2, len(HANDS)))
    solved = SolvedStreet(street_spot(BOARD, [own, other], POT, STACK, Decision(2, last=100), BETTING), 400)
    return own * solved.behaviour(0)[0], other, solved.best_values(1, solved.after(0, "check"))


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_no_hand_gains_by_a_size_that_was_not_in_the_tree_whatever_range_was_assumed(river: Any, seed: int) -> None:
    own, other, kept = river
    # The assumed range leaves out nine hands of ten, but for the weight that each hand needs.
    left = np.random.default_rng(seed).random(len(HANDS)) < 0.1
    assumed = np.where(left, other, 0.0) + 0.05
    excess = {}
    for name, given in (("gadget", kept), ("unsafe", None)):
        solved = SolvedStreet(after_a_check(own, assumed), 400, kept=given)
        assert "bet 350" in solved.actions(solved.root)
        gained = solved.best_values(1, solved.root).values - kept.values
        excess[name] = float(np.nanmax(gained))
    assert excess["gadget"] < 0.02 * POT < excess["unsafe"]


def test_best_values_are_the_payoffs_of_best_responses(river: Any) -> None:
    own, other, _ = river
    solved = SolvedStreet(after_a_check(own, other), 40)
    profile = PublicProfile(solved.form, lambda node: solved._kernel.behaviour(solved._state, node))
    held = solved.spot.hands[1]
    mass = solved.spot.weights[1] * solved.form.arrival(1, 0, solved.spot.weights[0])
    assert mass.sum() == pytest.approx(1.0)
    assert solved.best_values(1, 0).values[held] @ mass == pytest.approx(profile.best_response_values[1])
    assert np.isnan(np.delete(solved.best_values(1, 0).values, held)).all()


@pytest.mark.parametrize(("kept", "stops"), [(10_000.0, 1.0), (-10_000.0, 0.0)])
def test_hands_stop_if_and_only_if_that_pays(river: Any, kept: float, stops: float) -> None:
    own, other, _ = river
    solved = SolvedStreet(after_a_check(own, other), 60, kept=KeptValues(1, np.full(len(HANDS), kept)))
    assert solved.actions(0) == ("stop", "enter")
    assert solved.behaviour(0)[0][solved.spot.hands[1]] == pytest.approx(stops, abs=0.01)


def test_a_range_that_is_trusted_entirely_is_resolved_without_a_gadget(river: Any) -> None:
    own, other, _ = river
    spot = after_a_check(own, other)
    trusted = KeptValues(1, np.full(len(HANDS), 10_000.0), np.ones(len(HANDS)))
    with_gadget, without = SolvedStreet(spot, 60, kept=trusted), SolvedStreet(spot, 60)
    assert with_gadget.behaviour(2) == pytest.approx(without.behaviour(0), abs=1e-4)


class Raiser:
    """Bets or raises by unusual amounts after the flop, three times a street, and otherwise calls."""

    def begin(self, table: Table, seat: int) -> None: ...

    def act(self, view: View, rng: np.random.Generator) -> str:
        if not view.street or not view.most or max(view.bets) > view.pot / 2:
            return "call" if view.price else "check"
        return f"{view.aggressive} {min(view.least + 37, view.most)}"

    def end(self, result: object) -> None: ...


class Noting(ResolvingBot):
    """A bot that notes on which street it solves with values from which street."""

    noted: list[tuple[int, int, bool]]

    def _values_before(self, street: int, board: Any, player: int) -> KeptValues | None:
        kept = super()._values_before(street, board, player)
        self.noted.append((street, self._street, kept is not None))
        if kept is not None:
            free = ~np.isin(HANDS, board).any(axis=1)
            assert np.isfinite(kept.values[free]).all()  # for every hand that the other player may hold
        return kept


@pytest.fixture(scope="module")
def blueprint() -> ModelBlueprint:
    return ModelBlueprint(Table(stack=4_000), streets=1)


def test_the_bot_keeps_values_within_streets_and_on_the_river(blueprint: ModelBlueprint) -> None:
    pytest.importorskip("pokerkit")
    table = Table(stack=4_000)
    bot = Noting(blueprint, plans=PLANS, gadget="resolving", p=0.0, learns=False)
    bot.noted = []
    rngs = [np.random.default_rng([3, seat]) for seat in (0, 1)]
    record = play_hand(table, shuffled_deck(table, np.random.default_rng(3)), [bot, Raiser()], rngs)
    assert not record.forfeits
    found = set(bot.noted)
    assert {(1, 0, False), (1, 1, True), (2, 1, False), (2, 2, True), (3, 2, True), (3, 3, True)} == found


def test_the_bot_with_a_gadget_is_the_same_again(blueprint: ModelBlueprint) -> None:
    pytest.importorskip("pokerkit")
    table, played = Table(stack=4_000), []
    for _ in range(2):
        bot = ResolvingBot(blueprint, plans=PLANS, gadget="resolving", p=0.5, learns=False)
        rngs = [np.random.default_rng([1, seat]) for seat in (0, 1)]
        played.append(play_hand(table, shuffled_deck(table, np.random.default_rng(1)), [bot, Raiser()], rngs).history)
    assert played[0] == played[1]


def test_effort_multiplies_iterations(blueprint: ModelBlueprint) -> None:
    bot = ResolvingBot(blueprint, plans=PLANS, effort=3)
    assert [bot.plans[street].iterations for street in (1, 2, 3)] == [12, 24, 90]
    assert [plan.iterations for plan in PLANS.values()] == [4, 8, 30]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gadget=full", "gadget = full; expected one of none, resolving"),
        ("effort=0", "effort"),
        ("p=1/2", "p = 1/2 without an opponent; also give opponent=FILE or gadget=resolving"),
        ("player=me,gadget=resolving", "player = me without an opponent; also give opponent=FILE"),
        ("opponent=seen,player=me,gadget=resolving", "opponent and gadget exclude each other"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidStrategyError, match=re.escape(said)):
        find_bot(f"resolving:{text}", Table())


def test_settings_in_python_are_checked(blueprint: ModelBlueprint) -> None:
    for name, value in (("gadget", "full"), ("p", 2.0), ("effort", 0)):
        with pytest.raises(InvalidGameError, match=f"{name} is "):
            ResolvingBot(blueprint, **{name: value})
