"""pokerkit's rules of no-limit hold'em, without the parts that matches and hand histories do not need."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ...seqform.errors import needing
from ..games.holdem.cards import CARDS, hand_numbers
from ..games.holdem.showdown import strengths
from .table import Chips, Table

with needing("matches and hand histories of hold'em need pokerkit", "holdem"):
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


@lru_cache(maxsize=256)
def _streets(least: Chips) -> tuple[Any, ...]:
    """Return pokerkit's streets for a smallest bet, without burnt cards, which are never visible."""
    game = NoLimitTexasHoldem((), True, 0, (least,), least)  # type: ignore[arg-type, unused-ignore]
    return tuple(replace(street, card_burning_status=False) for street in game.streets)


class _Rules(State):  # type: ignore[misc, unused-ignore]
    """A hand in pokerkit in which a seat may fold where it could check."""

    def verify_folding(self) -> None:
        """Let a seat fold where it could check."""
        if not self.actor_indices:
            raise ValueError("nobody is to act")


class Betting(_Rules):
    """The betting of a recorded hand, without its cards.

    Parameters
    ----------
    stacks, antes, blinds : sequence of int or Decimal
        In pokerkit's order: with two seats, antes and blinds are listed small blind first, although the second seat has
        it. A negative blind is the post of a joining player, which does not change the order of play.
    least : int or Decimal
        The smallest bet.
    trimmed : bool
        Whether a seat wins from each ante only as much as it has put in itself.

    Attributes
    ----------
    posted : tuple of int or Decimal
        The ante of each seat, minus the returned part.
    blinded : tuple of int or Decimal
        The blind, straddle or post of each seat.

    Notes
    -----
    pokerkit determines the posts, the next actor, the limits of bets and raises, returned chips and the pots. Poker
    rooms allow a seat to raise again after a short all-in, and so does this class.

    Examples
    --------
    >>> from treeplex.models.matches.rules import Betting
    >>> betting = Betting([200, 200], [0, 2], [1, 2], 2)
    >>> betting.posted, betting.bets, betting.actor_index
    ((2, 0), [2, 1], 1)
    """

    def __init__(
        self,
        stacks: Sequence[Chips],
        antes: Sequence[Chips],
        blinds: Sequence[Chips],
        least: Chips,
        *,
        trimmed: bool = False,
    ) -> None:
        self.least: Any = least
        super().__init__(
            (Automation.ANTE_POSTING, Automation.BET_COLLECTION, Automation.BLIND_OR_STRADDLE_POSTING),
            (),  # type: ignore[arg-type, unused-ignore]
            NoLimitTexasHoldem.hand_types,
            _streets(least),
            NoLimitTexasHoldem.betting_structure,
            trimmed,
            antes,  # type: ignore[arg-type, unused-ignore]
            blinds,  # type: ignore[arg-type, unused-ignore]
            0,
            stacks,  # type: ignore[arg-type, unused-ignore]
            len(stacks),
            rake=_no_rake,
        )

    def deal_street(self) -> None:
        """Continue with the flop, the turn or the river, which has been dealt."""
        super()._begin_betting()

    def pass_idle(self) -> None:
        """Let a seat check if it has nothing to call and nobody to bet against; histories may omit this check."""
        seat = self.actor_index
        if (
            seat is not None
            and self.bets[seat] >= max(self.bets)
            and not any(self.stacks[one] for one in self.player_indices if one != seat and self.statuses[one])
        ):
            self.check_or_call()

    # Overrides of pokerkit's methods: nothing is dealt or shown, and the reader of the hand settles it.

    def _begin_blind_or_straddle_posting(self) -> None:
        self.posted = tuple(-payoff for payoff in self.payoffs)
        super()._begin_blind_or_straddle_posting()

    def _begin_dealing(self) -> None:
        self.street_index = 0 if self.street_index is None else self.street_index + 1
        if self.street_index == 0:
            self.blinded = tuple(self.bets)
            self._begin_betting()

    def _begin_showdown(self) -> None:
        if self.street is self.streets[-1]:
            self._end()
        else:
            self._begin_dealing()

    def _begin_chips_pushing(self) -> None:
        self._end()

    def verify_completion_betting_or_raising_to(self, amount: Any = None) -> Any:
        """Check the limits of a bet or a raise, including one by a seat that acted before a short all-in."""
        seat = self.actor_indices[0]
        price, most = max(self.bets), self.bets[seat] + self.stacks[seat]
        least = price + max(self.completion_betting_or_raising_amount, self.least)
        others = (one for one in self.player_indices if one != seat and self.statuses[one])
        if all(self.stacks[one] + self.bets[one] <= price for one in others):
            raise ValueError("raises although all other players are all-in")
        if most <= price:
            raise ValueError(f"raises with {self.stacks[seat]} chips, but a call takes {price - self.bets[seat]}")
        if not min(least, most) <= amount <= most:
            raise ValueError(f"has the total {amount}, expected {f'{least} to ' if least < most else ''}{most}")
        return amount


def _no_rake(amount: Any, _: State) -> tuple[int, Any]:
    """Leave pots whole: the stated winnings reflect the room's rake."""
    return 0, amount


class Hand(_Rules):
    """A hand in pokerkit, dealt from a known deck.

    Parameters
    ----------
    table : Table
    deck : sequence of int
        Two cards per seat, in the order of the seats, and the five of the board.

    Notes
    -----
    pokerkit compares all choices of five cards of seven whenever it determines a winner, which takes most of its time,
    and draws unnamed cards with Python's global generator. Here hands are compared by
    :func:`~treeplex.models.games.holdem.showdown.strengths`, once, and without drawing cards. pokerkit still determines
    the next actor, legal actions, all-in bets that do not reopen the betting, side pots and odd chips.
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
        """Return the strength of a seat's hand; ``None`` before the river."""
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

    # Overrides of pokerkit's methods.

    def _setup(self) -> None:
        super()._setup()  # shuffles the deck, which is empty
        self.deck_cards = deque(_CARDS[card] for card in self._numbers)

    def get_dealable_cards(self, deal_count: int | None = 0, warning_status: bool = True) -> Iterator[Card]:
        """Yield the remaining cards."""
        yield from self.deck_cards

    def get_hand(self, player_index: int, board_index: int, hand_type_index: int) -> Any:
        """Return the strength of a hand."""
        return self.strength(player_index) if self.statuses[player_index] else None

    def get_up_hand(self, player_index: int, board_index: int, hand_type_index: int) -> Any:
        """Return the strength of a hand that has been shown."""
        up = self.statuses[player_index] and all(self.hole_card_statuses[player_index])
        return self.strength(player_index) if up else None

    def _produce_cards(self, cards: Iterable[Card]) -> None:
        """Leave the deck unchanged: shown cards were dealt before."""

    def _consume_cards(self, cards: Sequence[Card]) -> None:
        for card in cards:
            if self.deck_cards and self.deck_cards[0] is card:
                self.deck_cards.popleft()
