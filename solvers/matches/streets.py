"""A street of no-limit hold'em, solved from any of its decisions for given ranges."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np

from ...models.games.holdem import HoldemSpot, Range
from ...models.games.holdem.bets import STREETS, Betting, Decision, Ended, following
from ...models.games.holdem.cards import CARDS, HANDS
from ...models.games.holdem.showdown import all_strengths
from ...models.games.holdem.situation import SpotSize
from ...models.games.holdem.size import spot_size
from ...seqform.arrays import Floats
from ...seqform.public_form import Boards, PublicForm
from ...seqform.public_payoff import Leaves
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import TERMINAL
from ..methods import DCFR
from ..public.driver import warm
from ..public.floors import BehaviourFloors
from ..public.kernel import PublicKernel

#: Iterations between two readings of the clock.
_TOGETHER = 5
#: There are few iterations, so negative regrets are forgotten quickly and averages use the last iterates. On random
#: ranges this rule reaches the exploitability of DCFR(3/2, 0, 2) after two thirds of the iterations.
_RULE = DCFR(beta=-5.0, averaging=4).local_rule


@dataclass(frozen=True, eq=False)
class StreetSpot(HoldemSpot):
    """A spot that begins at any decision of its street, and may deal the rest of the board at once.

    Parameters
    ----------
    start : Decision
        The betting state at the start; bets on the street before it count. ``pot`` and ``stack`` are those at the
        start of the street.
    rounds : int
        With 0, a card is dealt after each street. Otherwise the players bet on the remaining streets with the
        current board, and then the missing cards are dealt at once: this number of boards for each unseen card, in
        which all cards are equally frequent, so that the probability of completing a draw is exact except for
        blockers.

    Examples
    --------
    The flop with 98 boards instead of 1,176.

    >>> from treeplex.solvers.matches.streets import StreetSpot
    >>> spot = StreetSpot("Td9d6h", ["AA, 87s", "QQ-TT, AdKd"], pot=200, stack=900, bets="60%", rounds=2)
    >>> len(spot.public_form.present) - 1
    98
    """

    start: Decision = field(default_factory=lambda: Decision(0))
    rounds: int = 0

    @property
    def begun(self) -> Decision:
        """The betting at the root of the spot."""
        return self.start

    @cached_property
    def size(self) -> SpotSize:
        """The size of the spot, computed without building it."""
        if not self.rounds:
            return spot_size(self)
        states: list[Decision | Ended] = [self.start]
        counts = {"nodes": 0, "leaves": 0, "others": 0, "numbers": 0}
        for state in states:  # the list grows
            if isinstance(state, Decision):
                after = [one for _, one in self.moves(state)]
                states += after
                counts["nodes"] += 1
                counts["numbers"] += len(after) * len(self.hands[state.mover])
            else:
                counts["others"] += state.folded < 0
                counts["leaves"] += len(self._runouts) if state.folded < 0 else 1
        held = len(self._runouts) * sum(map(len, self.hands))
        return SpotSize(**counts, kept=counts["numbers"], held=held, streets=1)

    def moves(self, state: Decision) -> Iterator[tuple[str, Decision | Ended]]:
        """Yield the actions at a decision, and their successors."""
        for name, after in super().moves(state):
            if self.rounds and isinstance(after, Ended) and self._goes_on(after):
                yield name, following(after, self.betting)
            else:
                yield name, after

    @staticmethod
    def _goes_on(state: Ended) -> bool:
        return state.folded < 0 and not state.all_in and state.street < len(STREETS) - 1

    def dealt(
        self, state: Ended, board: tuple[int, ...]
    ) -> Iterator[tuple[str, Decision | Ended, tuple[int, ...], float]]:
        """Yield the possible deals after a street: name, successor, board and probability."""
        if not self.rounds:
            yield from super().dealt(state, board)
            return
        for cards in self._runouts:
            yield "".join(CARDS[card] for card in cards), state, (*board, *cards), self._share

    @cached_property
    def beaten(self) -> list[Floats]:
        """The weight of the other player's range that each of a player's 1,326 hands beats, summed over boards."""
        found = [np.zeros(len(HANDS)) for _ in range(2)]
        for board in (one for one in self.boards if len(one) == 5):
            _, places = np.unique(all_strengths(tuple(sorted(board)), "full"), return_inverse=True)
            for player in (0, 1):
                weights = np.bincount(places[self.hands[1 - player]], self.weights[1 - player], len(HANDS))
                found[player] += (np.cumsum(weights) - weights / 2)[places]
        return found

    @cached_property
    def _runouts(self) -> list[tuple[int, ...]]:
        """The possible further cards: each unseen card, or pairs of them that are 1, 2, … places apart in a circle."""
        unseen = np.random.default_rng(self.cards).permutation(self.unseen)
        missing = 5 - len(self.cards)
        if missing == 1:
            return [(int(card),) for card in unseen]
        steps = range(1, self.rounds + 1)
        return [tuple(map(int, pair)) for step in steps for pair in zip(unseen, np.roll(unseen, -step), strict=True)]

    @cached_property
    def _share(self) -> float:
        """The probability of each runout for hands that it does not block."""
        missing = 5 - len(self.cards)
        left = len(self.unseen)
        return comb(left, missing) / (len(self._runouts) * comb(left - 4, missing))


@dataclass(frozen=True, eq=False)
class KeptValues:
    """What a player may keep instead of entering a street that is solved again: the resolving gadget.

    Attributes
    ----------
    player : {0, 1}
    values : ndarray of float64, shape (1326,)
        What the player is paid when it stops, by hand: a mean payoff in chips, minus half of the pot. NaN for hands
        that it cannot hold.
    enters : ndarray of float64, shape (1326,)
        The least probability with which the player enters with each hand.

    Notes
    -----
    If the kept values are the player's best-response values against a strategy, a solution without regret gives none
    of its hands more than that strategy does, whatever range the player holds. This needs `enters` = 0. Burch, Johanson
    and Bowling, "Solving imperfect information games using decomposition", AAAI 2014.
    """

    player: int
    values: Floats
    enters: Floats = field(default_factory=lambda: np.zeros(len(HANDS)))


def resolving_form(spot: StreetSpot, player: int) -> PublicForm:
    """Return a spot with the resolving gadget above it: with each hand, a player first decides to stop or to enter.

    Node 1 is the leaf at which it stops, which pays nothing yet, and the nodes of the spot follow in order.
    """
    form = spot.public_form

    def later(groups: Sequence[Leaves]) -> list[Leaves]:
        return [replace(group, nodes=group.nodes + 2) for group in groups]

    return PublicForm(
        [player, TERMINAL, *form.players.tolist()],
        [-1, 0, 0, *(form.parents[1:] + 2).tolist()],
        ["", "stop", "enter", *form.actions[1:]],
        form.states,
        [*later(form.leaves), Leaves(np.array([1]), np.zeros(1), spot.together(spot.cards))],
        form.weights,
        form.payoff_scale,
        boards=Boards(np.append([0, 0], form.boards), form.present),
        deals=later(form.deals),
    )


def resolving_terms(form: PublicForm, kept: KeptValues) -> BehaviourFloors:
    """Return the terms of the gadget in the form of :func:`resolving_form`.

    Parameters
    ----------
    form : PublicForm
    kept : KeptValues
        By state of the form.
    """
    player = kept.player
    # The other player has not acted yet, so that only its range counts.
    arrival = form.arrival(player, 2, form.weights[1 - player])
    stopped = np.nan_to_num(kept.values) * arrival
    terms = BehaviourFloors(form, player)
    terms.pay(0, np.stack([stopped, np.zeros_like(stopped)]))
    if kept.enters.any():
        terms.set(0, np.stack([np.zeros_like(stopped), kept.enters]))
    return terms


class SolvedStreet:
    """Both players' equilibrium strategies for their ranges, from a given decision of a street onwards.

    Parameters
    ----------
    spot : StreetSpot
    iterations : int
        The iterations of ``dcfr``.
    until : float
        The latest time to stop, on the clock of :func:`time.perf_counter`.
    terms : optional
        The restrictions of players, as for :class:`~treeplex.solvers.public.kernel.PublicKernel`.
    kept : KeptValues, optional
        The values for the resolving gadget, which :func:`resolving_form` puts above the spot; instead of `terms`.

    Attributes
    ----------
    root : int
        The node at which the spot begins: 0, or 2 below a gadget.

    Examples
    --------
    >>> from treeplex.solvers.matches.streets import SolvedStreet, StreetSpot
    >>> from treeplex.models.games.holdem.bets import Decision
    >>> spot = StreetSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 100, bets="100%", start=Decision(2))
    >>> solved = SolvedStreet(spot, 200)
    >>> solved.actions(0), solved.actions(solved.after(0, "all-in"))
    (('check', 'all-in'), ('fold', 'call'))
    """

    def __init__(
        self,
        spot: StreetSpot,
        iterations: int,
        until: float = np.inf,
        terms: Any = None,
        kept: KeptValues | None = None,
    ) -> None:
        self.spot, self.form, self.root = spot, spot.public_form, 0
        if kept is not None:
            self.form, self.root = resolving_form(spot, kept.player), 2
            held = spot.hands[kept.player]
            terms = resolving_terms(self.form, replace(kept, values=kept.values[held], enters=kept.enters[held]))
        self._kernel = PublicKernel(self.form, np.float32, threads=1, terms=terms)
        self._state = self._kernel.initial_state()
        done = 0
        while done < iterations and (not done or time.perf_counter() < until):
            self._kernel.run(self._state, _RULE, min(_TOGETHER, iterations - done))
            done += _TOGETHER

    def actions(self, node: int) -> tuple[str, ...]:
        """Return the actions of the mover at a node."""
        return tuple(str(self.form.actions[child]) for child in self.form.children[node].tolist())

    def after(self, node: int, action: str) -> int:
        """Return the node after an action."""
        return int(self.form.children[node][self.actions(node).index(action)])

    def behaviour(self, node: int) -> Floats:
        """Return the probability of each action for each of the 1,326 hands, shape (actions, 1326).

        Hands outside the range play like the average of the range.
        """
        player = int(self.form.players[node])
        held, weights = self.spot.hands[player], self.spot.weights[player]
        found = self._kernel.behaviour(self._state, node)
        whole: Floats = np.repeat((found @ weights / weights.sum())[:, None], len(HANDS), axis=1)
        whole[:, held] = found
        return whole

    def best_values(self, player: int, node: int) -> KeptValues:
        """Return what each hand of a player earns at a node by its best response to the other player's strategy."""
        profile = PublicProfile(self.form, lambda one: self._kernel.behaviour(self._state, one))
        if self.form.boards[node] == self.form.boards[0]:  # the compiled loop is faster than a walk over many boards
            found = self._kernel.values(self._state, player, best=True)[node]
        else:
            found = profile.walk(node)[player][1]
        values = np.full(len(HANDS), np.nan)
        values[self.spot.hands[player]] = profile.conditional(found, profile.arrival(player, node))
        return KeptValues(player, values)


def warm_up(*, with_gadget: bool = False) -> None:
    """Compile the loop, or load it from its cache."""
    warm(np.float32)
    if with_gadget:
        warm(np.float32, adding=True)


def street_spot(
    board: Sequence[int],
    ranges: Sequence[Floats],
    pot: int,
    stack: int,
    start: Decision,
    betting: Betting,
    amount: int | None = None,
    rounds: int = 0,
) -> StreetSpot:
    """Return the spot that starts at a given decision of a street.

    Parameters
    ----------
    board : sequence of int
    ranges : two ndarray of float64, shape (1326,)
        The weights of hands, in any unit.
    pot, stack : int
        The pot and stacks at the start of the street.
    start : Decision
    betting : Betting
    amount : int, optional
        An additional total to bet or raise to at that decision, in addition to those of `betting`; the whole stack may
        represent all-in.
    rounds : int
        As for :class:`StreetSpot`.
    """
    if amount is not None:
        own = [one for one in betting.amounts_at(start, pot, stack) if not _alike(one, amount, start, pot)]
        listed = ", ".join("all-in" if one >= stack else f"bet {one}" for one in sorted({*own, amount}))
        betting, start = replace(betting, lines={"": listed}), replace(start, line=())
    return StreetSpot(
        "".join(CARDS[card] for card in board),
        [Range(weights / weights.max()) for weights in ranges],
        pot,
        stack,
        betting,
        start=start,
        rounds=rounds,
    )


def _alike(one: int, other: int, start: Decision, pot: int) -> bool:
    """Whether two totals differ by less than a tenth of the pot after a call."""
    return abs(one - other) <= 0.1 * (pot + 2 * max(start.now))
