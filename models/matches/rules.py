"""The rules of no-limit hold'em, which are pokerkit's, without what a match has no use for."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...seqform.errors import needing
from ..games.holdem.cards import CARDS, hand_numbers
from ..games.holdem.showdown import strengths
from .table import Table

with needing("matches of hold'em need pokerkit", "holdem"):
    from pokerkit import Automation, Card, HoleCardsShowingOrMucking, NoLimitTexasHoldem, State

#: pokerkit's card of each number.
_CARDS = tuple(next(iter(Card.parse(card))) for card in CARDS)
_AUTOMATIONS = (
    Automation.BET_COLLECTION,
    Automation.BLIND_OR_STRADDLE_POSTING,
    Automation.HOLE_CARDS_SHOWING_OR_MUCKING,
    Automation.HAND_KILLING,
    Automation.CHIPS_PUSHING,
    Automation.CHIPS_PULLING,
)


@cache
def _streets(big_blind: int) -> tuple[Any, ...]:
    """Return pokerkit's streets without burnt cards, which nobody sees."""
    game = NoLimitTexasHoldem((), True, 0, (big_blind,), big_blind)
    return tuple(replace(street, card_burning_status=False) for street in game.streets)


class Hand(State):  # type: ignore[misc, unused-ignore]
    """A hand as pokerkit plays it, dealt from a known deck.

    Parameters
    ----------
    table : Table
    deck : sequence of int
        Two cards a seat, in the order of the seats, and the five of the board.

    Notes
    -----
    pokerkit compares all choices of five cards of seven every time that it asks who wins, which takes most of its
    time, and draws the cards that nobody has named from Python's global generator. Here hands are compared by
    :func:`~treeplex.models.games.holdem.showdown.strengths`, once, and nothing is drawn. Who is to act, what is legal,
    all-in bets that do not reopen the betting, side pots and odd chips are left to it.
    """

    def __init__(self, table: Table, deck: Sequence[int]) -> None:
        self._numbers = deck
        self._strengths: list[int] | None = None
        super().__init__(
            _AUTOMATIONS,
            (),  # type: ignore[arg-type, unused-ignore]
            NoLimitTexasHoldem.hand_types,
            _streets(table.big_blind),
            NoLimitTexasHoldem.betting_structure,
            True,
            0,
            (table.small_blind, table.big_blind),
            0,
            table.stack,
            table.seats,
        )
        for seat in range(table.seats):
            self.deal_hole((_CARDS[deck[2 * seat]], _CARDS[deck[2 * seat + 1]]))

    def deal_street(self) -> None:
        """Deal the flop, the turn or the river."""
        start = 2 * self.player_count + len(self.board_cards)
        count = self.board_dealing_counts[0]
        self.deal_board([_CARDS[card] for card in self._numbers[start : start + count]])

    def strength(self, seat: int) -> int | None:
        """Return how strong the hand of a seat is; ``None`` before the river."""
        if len(self.board_cards) < 5:
            return None
        if self._strengths is None:
            seats = 2 * self.player_count
            hands = np.array(self._numbers[:seats]).reshape(-1, 2)
            self._strengths = strengths(self._numbers[seats:], hand_numbers(hands)).tolist()
        return self._strengths[seat]

    def shows(self, seat: int) -> bool:
        """Return whether a seat has shown its cards."""
        shown = (each for each in self.operations if isinstance(each, HoleCardsShowingOrMucking) and each.hole_cards)
        return any(each.player_index == seat for each in shown)

    # What follows replaces pokerkit's own.

    def _setup(self) -> None:
        super()._setup()  # shuffles the deck, which is empty
        self.deck_cards = deque(_CARDS[card] for card in self._numbers)

    def get_dealable_cards(self, deal_count: int | None = 0, warning_status: bool = True) -> Iterator[Card]:
        """Yield the cards that are left."""
        yield from self.deck_cards

    def verify_folding(self) -> None:
        """Let a seat fold where it could check."""
        if not self.actor_indices:
            raise ValueError("nobody is to act")

    def get_hand(self, player_index: int, board_index: int, hand_type_index: int) -> Any:
        """Return how strong a hand is."""
        return self.strength(player_index) if self.statuses[player_index] else None

    def get_up_hand(self, player_index: int, board_index: int, hand_type_index: int) -> Any:
        """Return how strong a hand is that has been shown."""
        up = self.statuses[player_index] and all(self.hole_card_statuses[player_index])
        return self.strength(player_index) if up else None

    def _produce_cards(self, cards: Iterable[Card]) -> None:
        """Leave the deck as it is: cards that are shown were dealt before."""

    def _consume_cards(self, cards: Sequence[Card]) -> None:
        for card in cards:
            if self.deck_cards and self.deck_cards[0] is card:
                self.deck_cards.popleft()
