"""A heads-up bot that solves the rest of a hand after the flop, unless it already has a solution."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ...models.games.holdem.bets import Betting
from ...models.games.holdem.cards import HANDS, hand_numbers
from ...models.games.holdem.classes import CLASS_OF_HAND
from ...models.games.holdem.showdown import alive
from ...models.matches import HandResult, Table, View
from ...seqform.arrays import Floats
from ...seqform.checks import check_number
from ...seqform.errors import InvalidGameError, shown
from .blueprint import Blueprint, Followed
from .reads import FLOORS, KINDS, Reads, group_of, strengths_before
from .stages import Stage
from .streets import SolvedStreet, StreetSpot, street_spot, warm_up

#: The weight of a uniform strategy in the bot's own, because a later tree may not contain its earlier actions.
_OWN_FLOORS = np.array([0.01])
#: Frequencies of folds, calls and raises before the flop, with and without a bet to call.
_OFTEN = np.array([[0.0, 0.6, 0.4], [0.3, 0.4, 0.3]])
#: A tree is solved again at a node that a smaller part of a player's range reaches: play there is inaccurate.
_RARE = 0.05


@dataclass(frozen=True)
class StreetPlan:
    """The settings for solving a street.

    Attributes
    ----------
    betting : Betting
        For this street and later ones.
    iterations : int
    rounds : int
        As for :class:`~treeplex.solvers.matches.streets.StreetSpot`.
    """

    betting: Betting
    iterations: int
    rounds: int = 0


#: The settings by street, in the order of :data:`~treeplex.models.matches.STREETS`.
PLANS = {
    1: StreetPlan(Betting({"flop": "60%", "turn": "100%"}, {"flop": "3x"}, raise_cap=2), 16, rounds=1),
    2: StreetPlan(Betting({"turn": "60%", "river": "75%"}, {"turn": "3x"}, raise_cap=2), 16),
    3: StreetPlan(Betting("50%, 100%", "3x", raise_cap=3), 60),
}


class ResolvingBot:
    """A bot that plays a blueprint before the flop, and later solves its decisions for both players' ranges.

    Parameters
    ----------
    blueprint : Blueprint
        Both players' strategies before the flop.
    time : float
        Seconds after which a decision makes no more iterations. Decisions that take less time, as nearly all do on
        an idle machine, do not depend on the clock.
    kinds : three float
        The probabilities of three kinds of opponents: one plays the equilibrium, one takes actions just as often but
        bets more with stronger hands, and one does anything with any hand, so that no hand is excluded.
    learns : bool
        Whether the opponent's frequencies and kind are learned over hands. Then the order of hands and the number
        of processes matter; otherwise play depends only on the hand.
    pure : float
        Actions with a smaller probability are not taken: after few iterations they are noise.
    left_out : float
        The fraction of a range, of its least likely hands, that solving ignores.
    plans : mapping of int to StreetPlan
        The settings for each street after the flop.

    Notes
    -----
    The bot follows both players' ranges by Bayes' rule: it multiplies a hand's weight by the probability of its
    player's action, from the blueprint and from solved trees. A tree starts at a decision, with the ranges that reach
    it and the exact bet size. A tree is kept as long as it contains the actions played. Such *unsafe* resolving (Burch,
    Johanson and Bowling, "Solving imperfect information games using decomposition", AAAI 2014) has no guarantee: it is
    sound only against a player with the assumed range.

    *Simplified*: on the flop, one more betting round follows before further cards, and 49 boards represent 1,176; on
    the turn, a bet on the river cannot be raised. Before the flop, :class:`ModelBlueprint` describes both.

    *Learned*, if `learns`: the opponent's frequencies of folds, calls and bets by street, with and without a bet to
    call, and from shown hands the kind of player. The bot never learns cards: a deal that recurs with exchanged seats
    is played as if it were new.

    Compiling the loop takes half a minute, once per machine, when the first bot is created.

    Examples
    --------
    Aces in the big blind, after a raise to three blinds:

    >>> import numpy as np
    >>> from treeplex.models.matches import Table, View
    >>> from treeplex.solvers.matches.blueprint import ModelBlueprint
    >>> from treeplex.solvers.matches.resolving import ResolvingBot
    >>> table = Table(stack=1000)
    >>> bot = ResolvingBot(ModelBlueprint(table, streets=1))
    >>> bot.begin(table, 0)
    >>> raised = ((0, 1, "raise 300"),)
    >>> view = View(table, 0, (51, 50), (), 0, (100, 300), (900, 700), (False, False), 400, raised, 500, 1000)
    >>> bot.act(view, np.random.default_rng(0)) in ("call", "raise 900", "all-in")
    True
    >>> bool(bot.ranges[1].max() > bot.ranges[1].min())  # not all hands raise as often
    True
    """

    def __init__(
        self,
        blueprint: Blueprint,
        time: float = 2.0,
        kinds: Sequence[float] = (0.6, 0.3, 0.1),
        learns: bool = True,
        pure: float = 0.1,
        left_out: float = 0.02,
        plans: Mapping[int, StreetPlan] = PLANS,
    ) -> None:
        check_number(time, "time", InvalidGameError, "(0, inf)")
        for name, value in (("pure", pure), ("left_out", left_out)):
            check_number(value, name, InvalidGameError, "[0, 1)")
        first = np.array(kinds, dtype=np.float64)
        if first.shape != (len(KINDS),) or not (first.min() >= 0.0 and abs(first.sum() - 1.0) < 1e-9):
            raise InvalidGameError(f"kinds is {shown(kinds)}, expected {len(KINDS)} probabilities that sum to 1")
        self._reads = Reads(first, learns)
        self.blueprint, self.time, self.plans = blueprint, time, plans
        self._pure, self._left_out = pure, left_out
        self._clear(0)
        warm_up()

    def _clear(self, seat: int) -> None:
        #: For each seat, weights by kind of player and hand.
        self._beliefs = [np.ones((1, len(HANDS))), np.ones((1, len(HANDS)))]
        self._beliefs[1 - seat] = np.repeat(self._reads.kinds[:, None], len(HANDS), axis=1)
        self._seen, self._street, self._node = 0, 0, 0
        self._followed = Followed(self.blueprint)
        self._solved: SolvedStreet | None = None
        self._comes = [1.0, 1.0]

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand: both players may hold any hand."""
        if table.seats != 2:
            raise InvalidGameError(f"seats is {table.seats}, expected 2: a resolving bot plays against one opponent")
        warm_up()
        self._table = table
        self._clear(seat)

    @property
    def ranges(self) -> list[Floats]:
        """The estimated range of each seat, shape (1326,) each, in any unit."""
        return [belief.sum(axis=0) for belief in self._beliefs]

    def end(self, result: HandResult) -> None:
        """Read the result of the hand, and learn from shown hands."""
        other = 1 - result.seat
        for number in range(self._seen, len(result.history)):
            street, seat, action = result.history[number]
            stage = Stage.before(self._table, result.history[:number], street)
            if seat == other:
                self._reads.note(stage.faces(seat), group_of(action))
        belief, cards = self._beliefs[other], result.shown[other]
        self._reads.judge(belief.sum(axis=1) if cards is None else belief[:, hand_numbers(np.array([cards]))[0]])

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return an action."""
        until = perf_counter() + self.time
        hand = int(hand_numbers(np.array([view.hand]))[0])
        for number in range(self._seen, len(view.history)):
            self._follow(view, number, hand, until)
        self._seen = len(view.history)
        if view.street == 0:
            # If the model has ended but the hand has not, call.
            choices = self._followed.mixture(int(CLASS_OF_HAND[hand])) or {("call", 0): 1.0}
            actions, likely = list(choices), self._kept(np.array(list(choices.values())))
        else:
            stage = Stage.before(view.table, view.history, view.street)
            tree = self._tree(view, len(view.history), hand, until)
            actions = [(name.partition(" ")[0], stage.total(name)) for name in tree.actions(self._node)]
            likely = self._kept(tree.behaviour(self._node)[:, hand])
        return _legal(view, *actions[rng.choice(len(actions), p=likely)])

    def _kept(self, behaviour: Floats) -> Floats:
        """Return the played part of a strategy, without rare actions."""
        kept = np.where(behaviour < np.minimum(self._pure, behaviour.max(axis=0)), 0.0, behaviour)
        found: Floats = kept / kept.sum(axis=0)
        return found

    def _follow(self, view: View, number: int, hand: int, until: float) -> None:
        """Learn from an action of the history, and continue after it."""
        street, seat, action = view.history[number]
        own, stage = seat == view.seat, Stage.before(view.table, view.history[:number], street)
        floors, weights, faces = (_OWN_FLOORS if own else FLOORS), self.ranges[seat], stage.faces(seat)
        if street == 0:
            taken, alike = self._followed.take(action, stage.total(action), max(stage.now), floors)[:, :, CLASS_OF_HAND]
            likely, often, strengths = taken, _OFTEN[int(faces[1] > 0)], strengths_before()
            share = float(taken[0] @ weights) / max(float(alike[0] @ weights), 1e-9)
        else:
            tree = self._tree(view, number, hand, until)
            actions, behaviour = tree.actions(self._node), tree.behaviour(self._node)
            played = (self._kept(behaviour) if own else behaviour)[actions.index(action)]
            likely = (1.0 - floors[:, None]) * played + floors[:, None] / len(actions)
            groups = [group_of(one) for one in actions]
            often = np.bincount(groups, behaviour @ weights / weights.sum(), 3)
            share = float(played @ weights / weights.sum()) / max(float(often[group_of(action)]), 1e-9)
            strengths, self._node = tree.spot.beaten[seat], tree.after(self._node, action)
        if not own:
            # A straightforward player chooses among sizes as the equilibrium does.
            self._reads.note(faces, group_of(action))
            plain = self._reads.likely(faces, group_of(action), often, strengths, weights)
            likely[1] = share * ((1.0 - FLOORS[1]) * plain + FLOORS[1] / 3)
        before = self._beliefs[seat].sum()
        self._beliefs[seat] = self._beliefs[seat] * likely
        self._comes[seat] *= float(self._beliefs[seat].sum() / before)

    def _tree(self, view: View, number: int, hand: int, until: float) -> SolvedStreet:
        """Return a solved tree whose current node has the next action of the history, or is the bot's decision."""
        street, _, action = view.history[number] if number < len(view.history) else (view.street, -1, "")
        stage = Stage.before(view.table, view.history[:number], street)
        if self._solved is not None and stage.street == self._street:
            known = action in self._solved.actions(self._node) if action else min(self._comes) > _RARE
            if known:
                return self._solved
        board, plan = view.board[: stage.street + 2], self.plans[stage.street]
        free = alive(board, np.arange(len(HANDS)))
        self._beliefs = [np.where(free, one, 0.0) / one[:, free].max() for one in self._beliefs]
        ranges = [self._trimmed(seat, hand if seat == view.seat else -1) for seat in (0, 1)]
        amount = stage.total(action) or None
        spot = street_spot(
            board, ranges, 2 * stage.paid, stage.stack, stage.decision, plan.betting, amount, plan.rounds
        )
        self._solved = self._solve(spot, plan.iterations, until, stage, action, 1 - view.seat)
        self._street, self._node = stage.street, 0
        self._comes = [1.0, 1.0]
        return self._solved

    def _solve(
        self, spot: StreetSpot, iterations: int, until: float, stage: Stage, action: str, other: int
    ) -> SolvedStreet:
        """Return both players' strategies on a street.

        The tree starts at the current betting, with the action that was taken, if any; `other` is the other player's
        seat.
        """
        return SolvedStreet(spot, iterations, until)

    def _trimmed(self, seat: int, hand: int) -> Floats:
        """Return a range without its least likely hands; the bot's own hand is always kept."""
        weights = self.ranges[seat]
        order = np.argsort(weights, kind="stable")
        least = 0.0 if hand < 0 else max(float(weights[hand]), 1e-3)
        weights[order[np.cumsum(weights[order]) < self._left_out * weights.sum()]] = 0.0
        if hand >= 0:
            weights[hand] = least
        return weights


def _legal(view: View, word: str, amount: int) -> str:
    """Return the intended action, or the nearest legal one."""
    if word == "fold" and view.price:
        return "fold"
    if word in ("fold", "check", "call") or not view.most:
        return "call" if view.price else "check"
    total = max(view.least, min(amount, view.most))
    return "all-in" if total == view.most else f"{view.aggressive} {total}"
