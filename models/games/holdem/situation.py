"""The situation of a spot: two ranges on a board, the pot, the stacks, and the bet sizes."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from functools import cached_property
from itertools import combinations, permutations
from math import comb
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from ....seqform.arrays import Floats, Indices, frozen
from ....seqform.card_payoff import CardPayoff
from ....seqform.checks import Explained, check_choice, check_type, is_number, is_whole
from ....seqform.errors import InvalidGameError, shown
from ....seqform.game import Game
from ....seqform.number_texts import read_share
from ....seqform.public_form import PublicForm
from ....seqform.sheet import error
from ....seqform.strategy import Strategy
from .bets import SEATS, STREETS, Betting, Decision, Ended, first, following, moves
from .cards import CARDS, DECKS, HAND_NAMES, HANDS, Range, hand_numbers, read_board
from .showdown import alive, fold_payoff, showdown_payoff

#: Upper bound on pots and stacks, so that amounts are exact in floats, and payoffs in single precision accurate to a
#: chip.
_MOST_CHIPS = 10_000_000
#: Bytes that a node of the public tree takes, that a hand takes on a board, and that the first solve takes for each
#: street to come, as measured on turns and flops of two to 130 million numbers.
_NODE, _HAND, _STREET = 230, 100, 7_000_000


#: Names that are not parameters of a spot, and what to write instead.
NOT_PARAMETERS = {
    **dict.fromkeys(("ante", "antes", "bb_ante", "big_blind_ante"), "add the antes to pot"),
    **dict.fromkeys(("blind", "blinds", "small_blind", "big_blind", "sb", "bb"), "add the blinds to pot"),
    **dict.fromkeys(("straddle", "straddles"), "add the straddle to pot"),
}


@dataclass(frozen=True)
class SpotSize:
    """The size of a spot.

    Attributes
    ----------
    nodes : int
        Number of decision nodes of the public tree.
    leaves : int
        Number of its leaves.
    others : int
        Number of its nodes at which a card is dealt.
    numbers : int
        Actions times hands of the player who moves, over all decision nodes. A hand that shares a card with the board
        does not count.
    kept : int
        The numbers that a solver stores: it stores only one of the boards that differ by an exchange of suits.
    held : int
        Hands of both players on all boards that a solver stores.
    streets : int
        Streets that are played.
    """

    nodes: int
    leaves: int
    others: int
    numbers: int
    kept: int
    held: int
    streets: int

    @property
    def bytes(self) -> int:
        """Bytes of a solver's state: a regret and an average, in single precision, for each action and hand."""
        return 8 * self.kept

    @property
    def num_nodes(self) -> int:
        """Number of all nodes of the public tree."""
        return self.nodes + self.leaves + self.others

    @property
    def form_bytes(self) -> int:
        """Bytes of the public tree and of tables of hands and boards."""
        return _NODE * self.num_nodes + _HAND * self.held

    @property
    def total_bytes(self) -> int:
        """Bytes that the first solve takes: its state, the tree and the tables, and what it loads."""
        return self.bytes + self.form_bytes + _STREET * (self.streets - 1)


@dataclass(frozen=True, eq=False)
class Situation(Explained, ABC):
    """The data of a spot, and the ranges, payoffs and betting that follow from it.

    The parameters are those of :class:`~treeplex.models.games.holdem.HoldemSpot`.
    """

    board: str
    ranges: Any
    pot: int
    stack: int
    betting: Betting = field(default_factory=Betting)
    bets: InitVar[str | Mapping[str, Any] | None] = None
    locks: Sequence[Any] = ()  # of Lock, after parsing
    spec: str = ""
    deck: Literal["full", "short"] = "full"
    rake: float | str = 0.0  # a float, after parsing
    rake_cap: float = math.inf

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Check the names of the arguments."""
        for name in options:
            if name in NOT_PARAMETERS:
                raise TypeError(f"{cls.__name__}: {name} is not a parameter of a spot: {NOT_PARAMETERS[name]}")
        return super().__new__(cls, *arguments, **options)

    def __post_init__(self, bets: str | Mapping[str, Any] | None) -> None:
        check_choice(self.deck, "deck", InvalidGameError, tuple(DECKS))
        for name in ("pot", "stack"):
            check_chips(getattr(self, name), name)
        if bets is not None:
            object.__setattr__(self, "betting", Betting.parse(bets))
        check_type(self.betting, "betting", InvalidGameError, Betting, "a Betting (pass sizes alone as bets=)")
        for line in self.betting.lines:
            self.betting.check_line(line, len(self.cards) - 3, self.pot, self.stack)
        rate, cap = read_rake(self.rake, "rake"), read_cap(self.rake_cap, "rake_cap")
        # A zero rake counts as none.
        object.__setattr__(self, "rake", rate if cap > 0.0 else 0.0)
        object.__setattr__(self, "rake_cap", cap if self.rake else math.inf)
        _ = self.pairs  # cards that cannot be dealt are rejected now

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The board, as numbers of cards."""
        return tuple(read_board(self.board, self.deck))

    @property
    def street(self) -> str:
        """The street on which the spot begins: ``flop``, ``turn`` or ``river``."""
        return STREETS[len(self.cards) - 3]

    @property
    def unseen(self) -> tuple[int, ...]:
        """The cards of the deck that are not on the board."""
        return tuple(card for card in DECKS[self.deck] if card not in self.cards)

    @cached_property
    def _ranges(self) -> tuple[Range, Range]:
        given = self.ranges
        if isinstance(given, Mapping):
            if set(given) != set(SEATS):
                raise InvalidGameError(f"ranges are given for {shown(list(given))}, expected oop and ip")
            given = [given[seat] for seat in SEATS]
        if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
            raise InvalidGameError(f"ranges are {shown(given)}, expected two: out of position and in position")
        read = []
        for seat, one in zip(SEATS, given, strict=True):
            try:
                read.append(Range.parse(one))
            except InvalidGameError as error:
                raise InvalidGameError(f"{seat}: {error}") from None
        return read[0], read[1]

    @cached_property
    def hands(self) -> tuple[Indices, Indices]:
        """Each player's hands, by number."""
        first, second = (
            hands_of(one, seat, self.board, self.deck) for seat, one in zip(SEATS, self._ranges, strict=True)
        )
        return first, second

    @cached_property
    def weights(self) -> tuple[Floats, Floats]:
        """The weight of each hand in each player's range."""
        first, second = (one.weights[held] for one, held in zip(self._ranges, self.hands, strict=True))
        return first, second

    @cached_property
    def hand_names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Each player's hands, by name."""
        first, second = (tuple(HAND_NAMES[hand] for hand in held.tolist()) for held in self.hands)
        return first, second

    @cached_property
    def pairs(self) -> float:
        """The total weight of all pairs of hands that can be dealt together."""
        total = float(self.weights[0] @ self.together(self.cards).times(self.weights[1]))
        if total <= 1e-12:
            raise InvalidGameError("the ranges block each other: no hand of one can be dealt with a hand of the other")
        return total

    @cached_property
    def equity(self) -> tuple[float, float]:
        """The share of the pot that each player wins on average without further bets."""
        won = float(self.weights[0] @ self.won(self.cards) @ self.weights[1]) / self.pairs
        return 0.5 + won / 2, 0.5 - won / 2

    def won(self, board: Sequence[int]) -> Floats:
        """Return how often each hand of player 0 wins against each of player 1, minus how often it loses.

        Parameters
        ----------
        board : sequence of int
            Three to five cards; all completions are equally likely.

        Returns
        -------
        ndarray of float64, shape (hands of player 0, hands of player 1)
            0 for hands that cannot be dealt together.
        """
        key, known = tuple(board), self._lately_won
        if key == self.cards:
            return self._won
        if key not in known:
            known.clear()
            known[key] = frozen(self._won_on(key))
        return known[key]

    @cached_property
    def _lately_won(self) -> dict[tuple[int, ...], Floats]:
        """The last result of :meth:`won`: nodes of one board are usually requested together."""
        return {}

    @cached_property
    def _won(self) -> Floats:
        return frozen(self._won_on(self.cards))

    def _won_on(self, board: Sequence[int]) -> Floats:
        left, missing = [card for card in self.unseen if card not in board], 5 - len(board)
        total = np.zeros([len(held) for held in self.hands], dtype=np.int16)
        for dealt in combinations(left, missing):  # all pairs at once: factors would have to be computed for each board
            strengths = self.showdown((*board, *dealt)).strengths
            assert strengths is not None
            mine, theirs = strengths[0][:, None], strengths[1]
            wins = (mine > theirs).view(np.int8) - (mine < theirs).view(np.int8)
            wins[strengths[0] == 0] = 0
            wins[:, theirs == 0] = 0
            total += wins
        cards = [HANDS[held] for held in self.hands]
        total[(cards[0][:, None, :, None] == cards[1][None, :, None, :]).any(axis=(2, 3))] = 0
        shares: Floats = total / comb(len(left) - 4, missing)
        return shares

    def showdown(self, board: Sequence[int]) -> CardPayoff:
        """Return the winner on a board of five cards, given as numbers of cards."""
        return self._payoff(board, True)

    def together(self, board: Sequence[int]) -> CardPayoff:
        """Return which hands can be dealt together on a board."""
        return self._payoff(board, False)

    def _payoff(self, board: Sequence[int], compared: bool) -> CardPayoff:
        known, key = self._payoffs, (tuple(sorted(board)), compared)
        if key not in known:
            known[key] = showdown_payoff(key[0], self.hands, self.deck) if compared else fold_payoff(key[0], self.hands)
        return known[key]

    @cached_property
    def _payoffs(self) -> dict[tuple[tuple[int, ...], bool], CardPayoff]:
        return {}

    @cached_property
    def exchanges(self) -> list[tuple[Indices, tuple[Indices, Indices]]]:
        """The exchanges of suits that leave the board and both ranges as they are.

        Each gives the card that each of 52 cards becomes, and the hand that each hand of each player becomes. The
        exchange that changes nothing is not among them.
        """
        found = []
        ranks, suits = np.divmod(np.arange(52), 4)
        for exchanged in list(permutations(range(4)))[1:]:
            cards = 4 * ranks + np.array(exchanged)[suits]
            if set(cards[list(self.cards)].tolist()) != set(self.cards):
                continue
            numbers, states = hand_numbers(cards[HANDS]), []
            for held, weights in zip(self.hands, self.weights, strict=True):
                places = np.full(len(HANDS), -1)
                places[held] = np.arange(len(held))
                states.append(places[numbers[held]])
                if (states[-1] < 0).any() or (weights[states[-1]] != weights).any():
                    break
            else:
                found.append((cards, (states[0], states[1])))
        return found

    @property
    def begun(self) -> Decision | Ended:
        """The betting at the start of the spot."""
        return first(self.betting, len(self.cards) - 3, self.stack)

    def moves(self, state: Decision) -> Iterator[tuple[str, Decision | Ended]]:
        """Yield the actions at a decision, with the states that follow."""
        return moves(state, self.betting, self.pot, self.stack)

    def dealt(
        self, state: Ended, board: tuple[int, ...]
    ) -> Iterator[tuple[str, Decision | Ended, tuple[int, ...], float]]:
        """Yield the possible cards after a street: name, betting, board and probability."""
        share, after = self._next_card(len(board)), following(state, self.betting)
        for card in self.unseen:
            if card not in board:
                yield CARDS[card], after, (*board, card), share

    def chance(self, board: Sequence[int]) -> float:
        """Return the probability of the cards that a board has beyond the spot's, given both players' hands."""
        return math.prod(map(self._next_card, range(len(self.cards), len(board))))

    def _next_card(self, dealt: int) -> float:
        """Return the probability of each next card after those on a board, given both players' hands."""
        return 1.0 / (len(DECKS[self.deck]) - dealt - 4)

    def house_share(self, pot: float) -> float:
        """Return the house's share of a pot, in chips: min(rate · pot, cap).

        Examples
        --------
        >>> from treeplex.models.games.holdem import HoldemSpot
        >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], 100, 100, rake="5%", rake_cap=8)
        >>> spot.house_share(100), spot.house_share(300)
        (5.0, 8.0)
        """
        return min(float(self.rake) * pot, self.rake_cap)

    def of_pot(self, number: float) -> str:
        """Format an error in chips, with its share of the pot."""
        return f"{error(number)} chips, {error(100.0 * number / self.pot)}% of the pot"

    def rake_table(self, rate: str, cap: str) -> dict[str, float]:
        """Return the rate, and the cap if there is one, by key."""
        return {rate: float(self.rake)} | ({cap: self.rake_cap} if math.isfinite(self.rake_cap) else {})

    @property
    @abstractmethod
    def size(self) -> SpotSize:
        """The size of the spot, computed without building it."""

    @property
    @abstractmethod
    def public_form(self) -> PublicForm:
        """The game in public form."""

    @property
    @abstractmethod
    def boards(self) -> tuple[tuple[int, ...], ...]:
        """The cards of each board of the public form, by number, in the order in which they are dealt."""

    @property
    @abstractmethod
    def paid(self) -> Indices:
        """The chips that each player has put in at each node of the public form, shape (num_nodes, 2)."""

    @property
    @abstractmethod
    def game(self) -> Game:
        """The game in sequence form."""

    @abstractmethod
    def load_strategy(self, path: str | Path, player: int) -> Strategy:
        """Read a player's strategy from a file."""


def hands_of(given: Range, seat: str, board: str, deck: str) -> Indices:
    """Return the hands of a range that contain no card of the board and are in the deck."""
    if not given.weights.any():
        raise InvalidGameError(f"the range of {seat} is empty, expected at least one hand")
    dealt = (DECKS[deck].start <= HANDS).all(axis=1)
    held = np.flatnonzero((given.weights > 0.0) & dealt & alive(read_board(board), np.arange(len(HANDS))))
    if not len(held):
        raise InvalidGameError(
            f"the range of {seat} has no hand on the board {board}: each hand contains a card of the board"
        )
    return held


def check_chips(value: Any, name: str) -> None:
    """Raise an error unless a number is a valid pot or stack."""
    least = 1 if name == "pot" else 0
    if not is_whole(value) or not least <= value <= _MOST_CHIPS:
        hint = ""
        if is_number(value) and value > 0:
            hint = "; count in smaller chips" if value <= _MOST_CHIPS else ""
        elif name == "stack" and isinstance(value, Sequence) and not isinstance(value, str):
            hint = "; the smaller of the two stacks is the largest possible loss"
        raise InvalidGameError(
            f"{name} is {shown(value, 60)}, expected a whole number of chips from {least} to {_MOST_CHIPS:,}{hint}"
        )


def read_rake(value: Any, name: str) -> float:
    """Return the rate of a rake from 0 to 1, given as a number or in per cent."""
    rate = value
    if isinstance(value, str):
        try:
            rate = read_share(value)
        except ValueError:
            rate = None
    if not is_number(rate) or not 0.0 <= rate <= 1.0:
        raise InvalidGameError(f"{name} is {shown(value, 60)}, expected a share of the pot from 0 to 1, or 0% to 100%")
    return float(rate)


def read_cap(value: Any, name: str) -> float:
    """Return the largest rake, in chips."""
    if not is_number(value) or not value >= 0.0:
        raise InvalidGameError(f"{name} is {shown(value, 60)}, expected a number of chips of at least 0")
    return float(value)
