"""A bot for two seats that solves, after the flop, what is left of the hand whenever it does not know the answer yet."""

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ...models.games.holdem.bets import Betting, Decision
from ...models.games.holdem.cards import HANDS, hand_numbers
from ...models.games.holdem.classes import CLASS_OF_HAND
from ...models.games.holdem.showdown import alive
from ...models.matches import HandResult, Table, View
from ...seqform.arrays import Floats
from ...seqform.checks import check_number
from ...seqform.errors import InvalidGameError
from .blueprint import Blueprint, Followed
from .streets import SolvedStreet, street_spot, warm_up

#: How much of a uniform strategy is mixed into the bot's own: what it did may not be in a tree solved since.
_OWN_FLOOR = 0.01
#: A tree is solved anew where less of a player's range than this comes to: what is played there is not settled.
_RARE = 0.05


@dataclass(frozen=True)
class StreetPlan:
    """How a street is solved.

    Attributes
    ----------
    betting : Betting
        Also of the streets after it, if `rounds` is 0.
    iterations : int
    rounds : int
        As :class:`~treeplex.solvers.matches.streets.StreetSpot` takes it.
    """

    betting: Betting
    iterations: int
    rounds: int = 0


#: By street, as :data:`~treeplex.models.matches.STREETS` numbers them.
PLANS = {
    1: StreetPlan(Betting({"flop": "50%, 100%"}, {"flop": "3x"}, raise_cap=3), 10, rounds=1),
    2: StreetPlan(Betting({"turn": "50%, 100%"}, {"turn": "3x"}, raise_cap=3), 12, rounds=1),
    3: StreetPlan(Betting("50%, 100%", "3x", raise_cap=3), 60),
}


class ResolvingBot:
    """Plays before the flop by a blueprint, and after it what it solves for both players' ranges.

    Parameters
    ----------
    blueprint : Blueprint
        What both players do before the flop.
    time : float
        Seconds after which no more iterations are made in a decision. Decisions that need less, as all do by far on
        an idle machine, do not depend on the clock.
    floor : float
        How much of a uniform strategy is mixed into what the other player is believed to do, so that no hand is ruled
        out by what an equilibrium would not do.
    pure : float
        Actions less likely than this are not taken: what few iterations leave of them is noise.
    left_out : float
        Which share of a range, of its least likely hands, is left out of what is solved.
    plans : mapping of int to StreetPlan
        How each street after the flop is solved.

    Notes
    -----
    The ranges of both players are followed by Bayes' rule: a hand's weight is multiplied by the probability of what
    its player does, by the blueprint and by the trees that were solved. A tree begins at a decision, with the ranges
    that come there, and has the very size that was bet; it is kept as long as what is done is in it. Such *unsafe*
    resolving (Burch, Johanson and Bowling, "Solving imperfect information games using decomposition", AAAI 2014) has no
    guarantee: it is right against a player who comes with the range that is believed.

    On the flop and the turn nobody bets on later streets, and the flop's 49 boards stand for 1,176.

    Compiling the loop takes half a minute once on a machine; it is done when a bot is made.
    """

    def __init__(
        self,
        blueprint: Blueprint,
        time: float = 2.0,
        floor: float = 0.1,
        pure: float = 0.1,
        left_out: float = 0.02,
        plans: Mapping[int, StreetPlan] = PLANS,
    ) -> None:
        check_number(time, "time", InvalidGameError, "(0, inf)")
        for name, value in (("floor", floor), ("pure", pure), ("left_out", left_out)):
            check_number(value, name, InvalidGameError, "[0, 1)")
        self.blueprint, self.time, self.plans = blueprint, time, plans
        self._floor, self._pure, self._left_out = floor, pure, left_out
        self._clear()
        warm_up()

    def _clear(self) -> None:
        self.ranges = [np.ones(len(HANDS)), np.ones(len(HANDS))]
        self._seen, self._street, self._node = 0, 0, 0
        self._followed = Followed(self.blueprint)
        self._solved: SolvedStreet | None = None
        self._comes = [1.0, 1.0]

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand: both players may hold anything."""
        if table.seats != 2:
            raise InvalidGameError(f"seats is {table.seats}, expected 2: a resolving bot plays against one other")
        warm_up()
        self._clear()

    def end(self, result: HandResult) -> None:
        """See how the hand ended: nothing is kept."""

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return an action."""
        until = perf_counter() + self.time
        hand = int(hand_numbers(np.array([view.hand]))[0])
        for number in range(self._seen, len(view.history)):
            self._follow(view, number, hand, until)
        self._seen = len(view.history)
        if view.street == 0:
            # Where the model has ended though the hand has not, nothing better is known than to call.
            choices = self._followed.mixture(int(CLASS_OF_HAND[hand])) or {("call", 0): 1.0}
            actions, likely = list(choices), self._kept(np.array(list(choices.values())))
        else:
            stage, tree = _Stage.before(view, len(view.history)), self._tree(view, len(view.history), hand, until)
            actions = [(name.partition(" ")[0], stage.total(name)) for name in tree.actions(self._node)]
            likely = self._kept(tree.behaviour(self._node)[:, hand])
        return _legal(view, *actions[rng.choice(len(actions), p=likely)])

    def _kept(self, behaviour: Floats) -> Floats:
        """Return what is played of a strategy: rare actions are left out."""
        kept = np.where(behaviour < np.minimum(self._pure, behaviour.max(axis=0)), 0.0, behaviour)
        found: Floats = kept / kept.sum(axis=0)
        return found

    def _follow(self, view: View, number: int, hand: int, until: float) -> None:
        """Learn from an action of the history, and go on behind it."""
        street, seat, action = view.history[number]
        own = seat == view.seat
        floor = _OWN_FLOOR if own else self._floor
        if street == 0:
            stage = _Stage.before(view, number)
            classes = self._followed.take(action, stage.total(action), max(stage.now), floor)
            self._learn(seat, classes[CLASS_OF_HAND])
            return
        tree = self._tree(view, number, hand, until)
        behaviour, place = tree.behaviour(self._node), tree.actions(self._node).index(action)
        played = (self._kept(behaviour) if own else behaviour)[place]
        self._learn(seat, (1.0 - floor) * played + floor / len(behaviour))
        self._node = tree.after(self._node, action)

    def _learn(self, seat: int, likely: Floats) -> None:
        before = self.ranges[seat]
        self.ranges[seat] = before * likely
        self._comes[seat] *= float(self.ranges[seat].sum() / before.sum())

    def _tree(self, view: View, number: int, hand: int, until: float) -> SolvedStreet:
        """Return a solved tree that has the next action of the history, or the bot's own decision, at its node."""
        action = view.history[number][2] if number < len(view.history) else ""
        stage = _Stage.before(view, number)
        if self._solved is not None and stage.street == self._street:
            known = action in self._solved.actions(self._node) if action else min(self._comes) > _RARE
            if known:
                return self._solved
        board, plan = view.board[: stage.street + 2], self.plans[stage.street]
        free = alive(board, np.arange(len(HANDS)))
        self.ranges = [np.where(free, one, 0.0) / one[free].max() for one in self.ranges]
        ranges = [self._trimmed(seat, hand if seat == view.seat else -1) for seat in (0, 1)]
        amount = stage.total(action) or None
        spot = street_spot(
            board, ranges, 2 * stage.paid, stage.stack, stage.decision, plan.betting, amount, plan.rounds
        )
        self._solved, self._street, self._node = SolvedStreet(spot, plan.iterations, until), stage.street, 0
        self._comes = [1.0, 1.0]
        return self._solved

    def _trimmed(self, seat: int, hand: int) -> Floats:
        """Return a range without its least likely hands; one hand, the bot's own, is not left out."""
        weights = self.ranges[seat].copy()
        order = np.argsort(weights, kind="stable")
        least = 0.0 if hand < 0 else max(float(weights[hand]), 1e-3)
        weights[order[np.cumsum(weights[order]) < self._left_out * weights.sum()]] = 0.0
        if hand >= 0:
            weights[hand] = least
        return weights


@dataclass
class _Stage:
    """Where the betting of a hand stands: on which street, what each had put in before it, and what on it."""

    now: list[int]
    last: int
    begun: int
    street: int = 0
    paid: int = 0
    mover: int = 1
    checked: bool = False

    @classmethod
    def before(cls, view: View, number: int) -> "_Stage":
        """Return where it stands before an action of the history, or at its end."""
        stage = cls(list(view.table.blinds), view.table.big_blind, view.table.stack)
        for street, seat, action in view.history[:number]:
            stage._go_to(street, view.table.big_blind)
            stage._take(seat, action)
        stage._go_to(view.history[number][0] if number < len(view.history) else view.street, view.table.big_blind)
        return stage

    @property
    def stack(self) -> int:
        """What each had when the street began."""
        return self.begun - self.paid

    @property
    def decision(self) -> Decision:
        """The betting of the street alone."""
        return Decision(self.street - 1, self.mover, 0, (self.now[0], self.now[1]), self.last, checked=self.checked)

    def total(self, action: str) -> int:
        """Return to what an action bets or raises, 0 where it does neither."""
        return self.stack if action == "all-in" else int(action.partition(" ")[2] or 0)

    def _go_to(self, street: int, least: int) -> None:
        if street > self.street:
            self.paid += max(self.now)
            self.street, self.now, self.last, self.mover, self.checked = street, [0, 0], least, 0, False

    def _take(self, seat: int, action: str) -> None:
        total = self.total(action)
        if total:
            self.last = max(self.last, total - max(self.now))
        self.now[seat] = total or (max(self.now) if action == "call" else self.now[seat])
        self.mover, self.checked = 1 - seat, action == "check"


def _legal(view: View, word: str, amount: int) -> str:
    """Return what is wanted, or what is allowed and nearest to it."""
    if word == "fold" and view.price:
        return "fold"
    if word in ("fold", "check", "call") or not view.most:
        return "call" if view.price else "check"
    total = max(view.least, min(amount, view.most))
    return "all-in" if total == view.most else f"{view.aggressive} {total}"
