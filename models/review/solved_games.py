"""Solved games in which the decisions of recorded hands are found and judged: spots, and preflop games."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...seqform.arrays import Indices
from ...seqform.errors import PlayLogError
from ...seqform.game import Game
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import CHANCE
from ..games.holdem.cards import CARDS, hand_numbers
from ..games.holdem.classes import CLASS_OF_HAND
from ..games.holdem.node_numbers import ComputedNumbers
from ..games.holdem.preflop import PREFLOP_SEATS
from ..games.holdem.preflop_solved import PreflopNode, SolvedPreflop
from ..games.holdem.solved import SolvedSpot
from ..matches import STREETS, Hand
from ..matches.hand import amounts
from ..observations.hands import MenuLines, nearest_size

#: The relative difference of stack-to-pot ratios, and of preflop stacks, up to which a hand belongs to a game.
SPOT_TOLERANCE, STACK_TOLERANCE = 0.1, 0.25
#: The relative difference up to which ratios count as equal.
_SAME = 1e-9
#: The reason why hands without the hero's cards are left out.
UNKNOWN = "own cards unknown"
#: The kinds of actions, with their verbs.
KINDS = {"fold": "folds", "check": "checks", "call": "calls", "bet": "bets", "raise": "raises"}
#: The strength of hands by equity against the opponent's range, weakest first.
STRENGTHS = ("weak hands", "medium hands", "strong hands")
CATCHERS = "bluff-catchers"


class LeftOutError(ValueError):
    """A hand, or the rest of one, that a game does not contain; the message is the reason."""


@dataclass(frozen=True)
class Step:
    """A decision of the hero in a game.

    Attributes
    ----------
    node : int
        The public state.
    place : int
        The index of the action among those of the game.
    played : str
        The recorded action.
    mapped : bool
        Whether the game has another size instead of the recorded one.
    exact : bool
        Whether the game has the pot, the stacks and all sizes of the hand, so that bounds in the game hold for it.
    """

    node: int
    place: int
    played: str
    mapped: bool
    exact: bool


@dataclass(frozen=True)
class Passage:
    """The way of a recorded hand through a game.

    Attributes
    ----------
    seat : int
        The hero's player number in the game.
    state : int
        The index of the hero's private state.
    unit : float
        Big blinds per payoff unit.
    steps : tuple of Step
        The hero's decisions.
    ended : int
        The public state at which the hand ended, or the last one before an action of another size.
    other : int
        The index of the opponent's private state; −1 if it is unknown.
    won : float or None
        The hero's result in payoff units, if it is known.
    ends : str
        The reason why later decisions are not in the game; empty if all are.
    """

    seat: int
    state: int
    unit: float
    steps: tuple[Step, ...]
    ended: int
    other: int
    won: float | None
    ends: str = ""


class ReviewedGame(ABC):
    """A game with a strategy for each player, in which recorded hands are followed.

    Attributes
    ----------
    name : str
    game : Game
    profile : PublicProfile
    seats : tuple of str
    assumed : str
        The assumptions about hands, such as ranges; losses are then estimates. Empty if there are none.
    """

    name: str
    game: Game
    assumed: str = ""
    profile: PublicProfile
    seats: tuple[str, str]

    @property
    def form(self) -> PublicForm:
        """The game in public form."""
        return self.profile.form

    @abstractmethod
    def follow(self, hand: Hand, name: str) -> Passage:
        """Return the way of a hand of a player through the game.

        Raises
        ------
        LeftOutError
            If the hand does not belong to the game.
        """

    @abstractmethod
    def street(self, node: int) -> str:
        """Return the name of the street of a public state."""

    @abstractmethod
    def situation(self, node: int) -> str:
        """Return the situation of the mover: first to act, or what it faces."""

    def groups(self, node: int) -> tuple[str, ...]:
        """Return the group of hands of each private state of the mover."""
        if node not in self._known:
            self._known[node] = self._groups(node)
        return self._known[node]

    @abstractmethod
    def _groups(self, node: int) -> tuple[str, ...]:
        """Return the groups, which are then stored."""

    @cached_property
    def _known(self) -> dict[int, tuple[str, ...]]:
        return {}

    @abstractmethod
    def state_name(self, seat: int, state: int) -> str:
        """Return the name of a private state, such as ``AsKh``."""

    @abstractmethod
    def board(self, node: int) -> str:
        """Return the board at a public state."""

    def actions(self, node: int) -> list[str]:
        """Return the actions at a public state."""
        return [str(self.form.actions[child]) for child in self.form.children[node].tolist()]

    def kinds(self, node: int) -> tuple[str, ...]:
        """Return the kind of each action: fold, check, call, bet or raise."""
        names = self.actions(node)
        raising = "fold" in names or "call" in names
        known = (name.partition(" ")[0] for name in names)
        return tuple(("raise" if raising else "bet") if kind == "all-in" else kind for kind in known)

    def infosets(self, seat: int) -> Iterator[tuple[int, str, str]]:
        """Yield the public states at which a player moves, with street and situation."""
        for node in np.flatnonzero(self.form.players == seat).tolist():
            yield node, self.street(node), self.situation(node)


def _number(hand: Hand, seat: int) -> int | None:
    """Return the number of a seat's two cards, if they are known."""
    cards = hand.cards[seat] or hand.shown[seat]
    return None if cards is None else int(hand_numbers(np.array([cards]))[0])


def _state(hand: Hand, seat: int) -> int:
    found = _number(hand, seat)
    if found is None:
        raise LeftOutError(UNKNOWN)
    return found


def _place_of(numbers: Indices, number: int | None) -> int:
    """Return the index of a hand in a range; −1 if it is not there."""
    found = np.flatnonzero(numbers == number)
    return int(found[0]) if len(found) else -1


class ReviewedSpot(ReviewedGame):
    """A solved spot for reviewing hands on its board.

    Parameters
    ----------
    solved : SolvedSpot
    name : str
    seat : int, optional
        Review only hands of this player, 0 for out of position; by default of both players.
    tolerance : float
        A hand belongs to the spot if its ratio of stack to pot differs from that of the spot by at most this factor.
    assumed : str
    """

    seats = ("oop", "ip")

    def __init__(
        self,
        solved: SolvedSpot,
        name: str = "",
        seat: int | None = None,
        tolerance: float = SPOT_TOLERANCE,
        assumed: str = "",
    ) -> None:
        self.solved, self.spot, self.seat, self.tolerance = solved, solved.spot, seat, tolerance
        self.name, self.assumed = name or f"the spot {solved.spot.board}", assumed
        self.profile, self.game = solved.profile, solved.spot.game
        self._numbers = ComputedNumbers(self.spot, self.profile)

    def follow(self, hand: Hand, name: str) -> Passage:
        """Return the way of a hand through the spot; bets are mapped by shares of the pot."""
        spot = self.spot
        first = len(spot.cards) - 2
        if len(hand.board) < len(spot.cards) or set(hand.board[: len(spot.cards)]) != set(spot.cards):
            raise LeftOutError("other boards")
        out = {who for when, who, word in hand.history if when < first and word == "fold"}
        playing = [who for who in range(hand.seats) if who not in out]
        if len(playing) != 2:
            raise LeftOutError("more than two players in the pot")
        own = hand.players.index(name)
        if own not in playing:
            raise LeftOutError("folded before")
        before = hand.paid_before(first)
        pot = float(sum(before) + sum(hand.antes))
        left = float(min(hand.stacks[who] - hand.antes[who] - before[who] for who in playing))
        if abs(left / pot - spot.stack / spot.pot) > self.tolerance * spot.stack / spot.pot:
            raise LeftOutError("another ratio of stack to pot")
        seat = playing.index(own)
        if self.seat is not None and seat != self.seat:
            raise LeftOutError("other seat")
        state = _place_of(spot.hands[seat], _state(hand, own))
        if state < 0:
            raise LeftOutError("own hand outside the range of the spot")
        other = _place_of(spot.hands[1 - seat], _number(hand, playing[1 - seat]))
        unit, won = pot / spot.pot, None
        if hand.won is not None:  # payoffs do not count what was put in before, nor half of the pot
            won = float(hand.won[own] + before[own] + hand.antes[own]) / unit - spot.pot / 2
        steps, ended, ends = self._steps(hand, first, playing, own, pot)
        return Passage(seat, state, unit / float(hand.big_blind), tuple(steps), ended, other, won, ends)

    def _steps(self, hand: Hand, first: int, playing: list[int], own: int, pot: float) -> tuple[list[Step], int, str]:
        """Follow the actions through the tree; return the hero's decisions, the end, and why they end early."""
        form, spot, node, ended, steps = self.form, self.spot, 0, 0, list[Step]()
        stacks = [stack - ante for stack, ante in zip(hand.stacks, hand.antes, strict=True)]
        before = hand.paid_before(first)
        paid, same = dict.fromkeys(playing, 0.0), True
        left = float(min(stacks[who] - before[who] for who in playing))
        equal = abs(left * spot.pot - spot.stack * pot) <= _SAME * spot.stack * pot
        for each, (_, _, word) in zip(amounts(hand.blinds, stacks, hand.history), hand.history, strict=True):
            if each.street < first:
                continue
            while form.players[node] == CHANCE:
                dealt = hand.board[len(self._cards(node))]
                names = self.actions(node)
                node = int(form.children[node][names.index(CARDS[dealt])])
            if form.players[node] != playing.index(each.seat):
                return steps, ended, "after an all-in of the spot" if form.players[node] < 0 else "other actions"
            high, total = max(paid.values()), float(each.in_all - before[each.seat])
            place, exact = self._place(node, word, (total - high) / (pot + 2.0 * high))
            if place is None:
                return steps, ended, "other actions"
            if each.seat == own:
                steps.append(Step(node, place, word, not exact, equal and same and exact))
            paid[each.seat] = max(paid[each.seat], total)
            same, node = same and exact, int(form.children[node][place])
            ended = node if same else ended
        return steps, ended, ""

    def _place(self, node: int, word: str, size: float) -> tuple[int | None, bool]:
        """Return the action of the spot for a recorded one, and whether it has the same size."""
        names, kind = self.actions(node), word.partition(" ")[0]
        if kind in ("fold", "check", "call"):
            return (names.index(kind), True) if kind in names else (None, False)
        paid, level = self.spot.paid, float(self.spot.paid[node].max())
        mover = int(self.form.players[node])
        sizes = [
            ((float(paid[child][mover]) - level) / (self.spot.pot + 2.0 * level), place)
            for place, child in enumerate(self.form.children[node].tolist())
            if names[place] not in ("fold", "check", "call")
        ]
        if not sizes:
            return (names.index("call"), False) if "call" in names else (None, False)
        if kind == "all-in" and "all-in" in names:
            return names.index("all-in"), True
        place = nearest_size(sizes, size)
        return place, abs({one: share for share, one in sizes}[place] - size) <= 0.01 * size

    def _cards(self, node: int) -> tuple[int, ...]:
        return self.spot.boards[self.form.boards[node]]

    def street(self, node: int) -> str:
        """Return the name of the street of a public state."""
        return STREETS[len(self._cards(node)) - 2]

    def board(self, node: int) -> str:
        """Return the board at a public state."""
        return "".join(CARDS[card] for card in self._cards(node))

    def state_name(self, seat: int, state: int) -> str:
        """Return the name of a hand."""
        return self.spot.hand_names[seat][state]

    def situation(self, node: int) -> str:
        """Return the situation of the mover, by the actions on the street."""
        actions = list[str]()
        while node > 0 and self.form.players[self.form.parents[node]] != CHANCE:
            actions.append(str(self.form.actions[node]))
            node = int(self.form.parents[node])
        wagers = sum(action != "check" for action in actions)
        if not wagers:
            return "checked to" if actions else "first to act"
        return "facing a bet" if wagers == 1 else "facing a raise"

    def _groups(self, node: int) -> tuple[str, ...]:
        """Return the group of each hand by its equity against the opponent's range."""
        seat, paid = int(self.form.players[node]), self.spot.paid[node]
        reaches = [self.profile.reach(player, node) for player in (0, 1)]
        equities = self._numbers.showdowns(self._cards(node), reaches)[1][seat]
        price = float(paid[1 - seat] - paid[seat])
        odds = price / (self.spot.pot + float(paid.sum()) + price)
        # Without a bet, thirds; facing one, hands that beat only a part of the hands that the price requires.
        low, high = (odds / 2, (1.0 + odds) / 2) if price else (1 / 3, 2 / 3)
        names = (STRENGTHS[0], CATCHERS if price else STRENGTHS[1], STRENGTHS[2])
        return tuple(names[int(one >= low) + int(one >= high)] for one in np.nan_to_num(equities).tolist())


class ReviewedPreflop(ReviewedGame):
    """A solved preflop game for reviewing hands of two players before the flop.

    Parameters
    ----------
    solved : SolvedPreflop
    name : str
    seat : int, optional
        Review only hands of this player, 0 for the small blind; by default of both players.
    tolerance : float
        A hand belongs to the game if its smaller stack differs from that of the game by at most this factor.
    """

    seats = PREFLOP_SEATS
    assumed = "the stacks, the sizes and the play after the flop"

    def __init__(
        self,
        solved: SolvedPreflop,
        name: str = "",
        seat: int | None = None,
        tolerance: float = STACK_TOLERANCE,
    ) -> None:
        self.solved, self.seat, self.tolerance = solved, seat, tolerance
        self.profile, self.rules, self.game = solved.profile, solved.rules, solved.rules.game
        self.name = name or self.rules.game.spec
        self._lines = MenuLines(solved.form, float(self.rules.stack))

    def follow(self, hand: Hand, name: str) -> Passage:
        """Return the way of a hand through the game; sizes are mapped to sizes of its menu."""
        if hand.seats != 2:
            raise LeftOutError("more than two players")
        in_order = not hand.history or hand.history[0][1] == 1
        if any(hand.antes) or hand.blinds[0] != 2 * hand.blinds[1] or not in_order:
            raise LeftOutError("other blinds")
        stack = float(min(hand.stacks) / hand.blinds[0])
        if abs(stack - self.rules.stack) > self.tolerance * self.rules.stack:
            raise LeftOutError("other stacks")
        own = hand.players.index(name)
        seat, number = 1 - own, _state(hand, own)
        if self.seat is not None and seat != self.seat:
            raise LeftOutError("other seat")
        words = [(who, word) for street, who, word in hand.history if not street]
        ends = ""
        try:
            nodes = self._lines.line((word for _, word in words), level=float(hand.big_blind))
        except PlayLogError:
            nodes, ends = self._longest([word for _, word in words], float(hand.big_blind)), "other actions"
        if len(nodes) <= len(words) and not ends:
            ends = "after an all-in of the game"
        steps, ended, same = list[Step](), 0, not ends
        for node, child, (who, word) in zip(nodes, nodes[1:], words, strict=False):
            exact = self._same(child, word, hand)
            same = same and exact
            ended = child if same else ended
            if who == own:
                place = int(np.flatnonzero(self.form.children[node] == child)[0])
                steps.append(Step(node, place, word, not exact, exact=False))
        theirs = _number(hand, 1 - own)
        other = -1 if theirs is None else int(CLASS_OF_HAND[theirs])
        won = None if hand.won is None else float(hand.won[own]) / float(hand.big_blind)
        return Passage(seat, int(CLASS_OF_HAND[number]), 1.0, tuple(steps), ended, other, won, ends)

    def _longest(self, words: list[str], level: float) -> list[int]:
        """Return the nodes of the longest beginning of a line that the game has."""
        for count in range(len(words) - 1, 0, -1):
            try:
                return self._lines.line(words[:count], level=level)
            except PlayLogError:
                continue
        return [0]

    def _same(self, child: int, word: str, hand: Hand) -> bool:
        name = str(self.form.actions[child])
        kind, _, amount = word.partition(" ")
        if kind not in ("bet", "raise") or " " not in name:
            return name == word
        return abs(float(amount) / float(hand.big_blind) - float(name.split()[1])) <= 0.01

    def street(self, node: int) -> str:
        """Return ``preflop``; choosing a continuation is not a decision of a hand."""
        return STREETS[0]

    def board(self, node: int) -> str:
        """Return an empty string: there is no board."""
        return ""

    def state_name(self, seat: int, state: int) -> str:
        """Return the name of a class of hands."""
        return str(self.form.states[seat][state])

    def situation(self, node: int) -> str:
        """Return the situation of the mover, by the raises before it."""
        path = [str(action) for action in self.form.path(node)]
        raises = sum(action not in ("call", "check") for action in path)
        if not raises:
            return "after a limp" if path else "first to act"
        return "facing a raise" if raises == 1 else "facing a reraise"

    def infosets(self, seat: int) -> Iterator[tuple[int, str, str]]:
        """Yield the public states before the flop at which a player moves."""
        for node, street, situation in super().infosets(seat):
            if not PreflopNode(self.solved, node).state.street:
                yield node, street, situation

    def _groups(self, node: int) -> tuple[str, ...]:
        """Return the third of each class by its equity against the opponent's range."""
        found = PreflopNode(self.solved, node)
        seat = int(self.form.players[node])
        equities = np.nan_to_num(found.equities[seat])
        weights = np.array(self.form.weights[seat])
        order = np.argsort(equities, kind="stable")
        ranks = np.empty(len(order))
        ranks[order] = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
        return tuple(STRENGTHS[min(int(3 * rank), 2)] for rank in ranks.tolist())
