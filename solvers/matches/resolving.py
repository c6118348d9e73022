"""A heads-up bot that solves the rest of a hand after the flop, unless it already has a solution."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Literal

import numpy as np
import numpy.typing as npt

from ...models.games.holdem.bets import Betting
from ...models.games.holdem.cards import CARDS, HANDS, hand_numbers
from ...models.games.holdem.classes import CLASS_OF_HAND, CLASSES
from ...models.games.holdem.showdown import alive
from ...models.matches import HandResult, Table, View
from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_number, check_whole
from ...seqform.errors import InvalidGameError, shown
from ...seqform.rules import CHANCE
from .blueprint import Blueprint, Followed
from .reads import FLOORS, KINDS, Reads, group_of, strengths_before
from .stages import Stage
from .streets import KeptValues, SolvedStreet, StreetSpot, street_spot, warm_up

#: The weight of a uniform strategy in the bot's own, because a later tree may not contain its earlier actions; with a
#: gadget, for which the bot's range must be exact, only so much that the range cannot become empty.
_OWN_FLOORS, _EXACT_FLOORS = np.array([0.01]), np.array([1e-9])
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
    gadget : {"none", "resolving"}
        With ``resolving``, a tree that replaces another one on the same street, or on the river, lets the other player
        keep its best-response value in the former tree, hand by hand, instead of entering. Then `pure` and `left_out`
        have no effect: the strategy is played as it was solved, for all hands.
    p : float
        With a gadget, how much the other player's assumed range is trusted: with probability p it enters with this
        range whatever it could keep. With 0, no hand gains; with 1, the gadget has no effect.
    effort : int
        A factor of the iterations of `plans`.

    Notes
    -----
    The bot follows both players' ranges by Bayes' rule: it multiplies a hand's weight by the probability of its
    player's action, from the blueprint and from solved trees. A tree starts at a decision, with the ranges that reach
    it and the exact bet size. A tree is kept as long as it contains the actions played. Such *unsafe* resolving (Burch,
    Johanson and Bowling, "Solving imperfect information games using decomposition", AAAI 2014) has no guarantee: it is
    sound only against a player with the assumed range.

    *With the resolving gadget*, a new tree on the same street, and the river's first tree, take the former tree's
    values into account. Let a be the assumed range, m the mean of a and of all hands alike, and d(h) what hand h's
    best response earns more than in the former tree. The new strategy maximises −p Σ a(h) d(h) − (1 − p) Σ m(h)
    max(d(h), 0), and the former one, with d = 0, was possible. So the mean excess Σ m(h) max(d(h), 0) is at most p /
    (1 − p) times the gain against the assumed range, −Σ a(h) d(h), and with p = 0 no hand earns more. Both hold up to
    the regret of finitely many iterations and to actions that the former tree lacks. The first trees of the flop and
    the turn remain unsafe, because no former tree has values there: the preflop model has no boards, and the model of
    the flop deals the turn and the river together.

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
        gadget: Literal["none", "resolving"] = "none",
        p: float = 0.75,
        effort: int = 1,
    ) -> None:
        check_number(time, "time", InvalidGameError, "(0, inf)")
        check_choice(gadget, "gadget", InvalidGameError, ("none", "resolving"))
        check_number(p, "p", InvalidGameError, "[0, 1]")
        effort = check_whole(effort, "effort", InvalidGameError, "[1, inf)")
        for name, value in (("pure", pure), ("left_out", left_out)):
            check_number(value, name, InvalidGameError, "[0, 1)")
        first = np.array(kinds, dtype=np.float64)
        if first.shape != (len(KINDS),) or not (first.min() >= 0.0 and abs(first.sum() - 1.0) < 1e-9):
            raise InvalidGameError(f"kinds is {shown(kinds)}, expected {len(KINDS)} probabilities that sum to 1")
        self._reads = Reads(first, learns)
        self.blueprint, self.time = blueprint, time
        self.plans = {street: replace(plan, iterations=effort * plan.iterations) for street, plan in plans.items()}
        self._gadget, self._p = gadget != "none", p
        self._pure, self._left_out = (0.0, 0.0) if self._gadget else (pure, left_out)
        self._own_floors = _EXACT_FLOORS if self._gadget else _OWN_FLOORS
        self._clear(0)
        self._warm_up()

    @property
    def learns(self) -> bool:
        """Whether the opponent's play is learned over hands."""
        return self._reads.learns

    def _warm_up(self) -> None:
        warm_up(with_gadget=self._gadget)

    def _clear(self, seat: int) -> None:
        #: For each seat, weights by kind of player and hand.
        self._beliefs = [np.ones((1, len(HANDS))), np.ones((1, len(HANDS)))]
        self._beliefs[1 - seat] = np.repeat(self._reads.kinds[:, None], len(HANDS), axis=1)
        #: The probabilities from which the last action was drawn.
        self.mixture: dict[str, float] = {}
        self._seen, self._street, self._node = 0, 0, 0
        self._followed = Followed(self.blueprint)
        self._solved: SolvedStreet | None = None
        self._comes = [1.0, 1.0]

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand: both players may hold any hand."""
        if table.seats != 2:
            raise InvalidGameError(f"seats is {table.seats}, expected 2: a resolving bot plays against one opponent")
        self._warm_up()
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
        hand = int(hand_numbers(np.array([view.hand]))[0])
        actions, behaviour = self._decision(view, hand)
        likely = self._kept(behaviour[:, hand])
        legal = [_legal(view, *action) for action in actions]
        self.mixture = dict.fromkeys(legal, 0.0)
        for action, share in zip(legal, likely.tolist(), strict=True):
            self.mixture[action] += share
        return legal[rng.choice(len(legal), p=likely)]

    def strategy(self, view: View) -> tuple[list[tuple[str, int]], Floats]:
        """Return the strategy at a decision for all hands, whichever hand the bot holds.

        Without a gadget, solving a street ignores the least likely hands, except for the one that the bot holds; for
        such hands the result is only close to the bot's play.

        Parameters
        ----------
        view : View
            The view of the bot; its hand does not matter.

        Returns
        -------
        actions : list of tuple
            The actions, as words, and the totals to which they bet or raise; 0 for others.
        probabilities : ndarray of float64, shape (actions, 1326)
        """
        actions, behaviour = self._decision(view, -1)
        return actions, self._kept(behaviour)

    def follow(self, view: View) -> None:
        """Follow both ranges through the history of a view of the bot, as :meth:`strategy` does."""
        self._read(view, -1, perf_counter() + self.time)

    def copied(self) -> "ResolvingBot":
        """Return a copy that follows the rest of the hand on its own."""
        found = copy(self)
        found._beliefs, found._comes, found._followed = list(self._beliefs), list(self._comes), copy(self._followed)
        return found

    def _read(self, view: View, hand: int, until: float) -> None:
        for number in range(self._seen, len(view.history)):
            self._follow(view, number, hand, until)
        self._seen = len(view.history)

    def _decision(self, view: View, hand: int) -> tuple[list[tuple[str, int]], Floats]:
        """Return the actions at a decision and the behaviour before :meth:`_kept`; `hand` may be −1, for any."""
        until = perf_counter() + self.time
        self._read(view, hand, until)
        if view.street == 0:
            # If the model has ended but the hand has not, call.
            choices = self._followed.mixture() or {("call", 0): np.ones(len(CLASSES))}
            return list(choices), np.array(list(choices.values()))[:, CLASS_OF_HAND]
        stage = Stage.before(view.table, view.history, view.street)
        tree = self._tree(view, len(view.history), hand, until)
        actions = [(name.partition(" ")[0], stage.total(name)) for name in tree.actions(self._node)]
        return actions, tree.behaviour(self._node)

    def _kept(self, behaviour: Floats) -> Floats:
        """Return the played part of a strategy, without rare actions."""
        kept = np.where(behaviour < np.minimum(self._pure, behaviour.max(axis=0)), 0.0, behaviour)
        found: Floats = kept / kept.sum(axis=0)
        return found

    def _follow(self, view: View, number: int, hand: int, until: float) -> None:
        """Learn from an action of the history, and continue after it."""
        street, seat, action = view.history[number]
        own, stage = seat == view.seat, Stage.before(view.table, view.history[:number], street)
        floors, weights, faces = (self._own_floors if own else FLOORS), self.ranges[seat], stage.faces(seat)
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
        amount, other = stage.total(action) or None, 1 - view.seat
        kept = self._values_before(stage.street, board, other) if self._gadget else None
        if kept is not None:
            kept, ranges[other] = self._entering(kept, ranges[other], free)
        spot = street_spot(
            board, ranges, 2 * stage.paid, stage.stack, stage.decision, plan.betting, amount, plan.rounds
        )
        if kept is None:
            self._solved = self._solve(spot, plan.iterations, until, stage, action, other)
        else:
            self._solved = SolvedStreet(spot, plan.iterations, until, kept=kept)
        self._street, self._node = stage.street, self._solved.root
        self._comes = [1.0, 1.0]
        return self._solved

    def _values_before(self, street: int, board: Sequence[int], player: int) -> KeptValues | None:
        """Return the values that a player keeps at the current state from the former tree; ``None`` if it has none."""
        tree, node = self._solved, self._node
        if tree is None:
            return None
        if street != self._street:
            if street != self._street + 1 or tree.form.players[node] != CHANCE or tree.spot.rounds:
                return None
            node = tree.after(node, CARDS[board[-1]])
        return tree.best_values(player, node)

    def _entering(self, kept: KeptValues, weights: Floats, free: npt.NDArray[np.bool_]) -> tuple[KeptValues, Floats]:
        """Return the gadget of a player with an assumed range, and the weights of its hands in the new tree.

        Each hand needs weight, for otherwise few iterations do not protect the bot against it.
        """
        assumed = weights / weights.sum()
        found = self._p * assumed + (1.0 - self._p) * (assumed + free / free.sum()) / 2
        return replace(kept, enters=np.divide(self._p * assumed, found, out=np.zeros(len(HANDS)), where=free)), found

    def _solve(
        self, spot: StreetSpot, iterations: int, until: float, stage: Stage, action: str, other: int
    ) -> SolvedStreet:
        """Return both players' strategies on a street, without a gadget.

        The tree starts at the current betting, with the action that was taken, if any; `other` is the other player's
        seat.
        """
        return SolvedStreet(spot, iterations, until)

    def _trimmed(self, seat: int, hand: int) -> Floats:
        """Return a range without its least likely hands; the bot's own hand is always kept."""
        weights = self.ranges[seat]
        order = np.argsort(weights, kind="stable")
        least = 0.0 if hand < 0 else max(float(weights[hand]), 0.0 if self._gadget else 1e-3)
        weights[order[np.cumsum(weights[order]) < self._left_out * weights.sum()]] = 0.0
        if hand >= 0:
            weights[hand] = least
        return weights


def _legal(view: View, word: str, amount: int) -> str:
    """Return the intended action, or the nearest legal one, as a history writes it."""
    if word == "fold" and view.price:
        return "fold"
    if word in ("fold", "check", "call") or not view.most:
        return "call" if view.price else "check"
    total = max(view.least, min(amount, view.most))
    return "all-in" if total == view.most else f"{view.aggressive} {total}"
