"""The table of a hold'em match, a seat's view, and the interface of bots."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import numpy as np

from ...seqform.checks import check_whole
from ...seqform.errors import InvalidGameError

#: The betting rounds, in order.
STREETS = ("preflop", "flop", "turn", "river")
#: Number of public cards on each street.
DEALT = (0, 3, 4, 5)
#: A number of chips: an integer in a match, possibly a decimal fraction in hand histories.
Chips = int | Decimal


@dataclass(frozen=True)
class Table:
    """No-limit hold'em with the same stacks at the start of every hand.

    Seats are numbered in the order in which they act after the flop. With more than two seats, seat 0 posts the small
    blind, seat 1 the big blind, and the last seat is the button. With two seats, seat 0 posts the big blind. Seat 1 is
    the button, posts the small blind, and acts first before the flop: seat 0 is ``oop`` of a spot, and seat 1 ``ip``.

    Parameters
    ----------
    seats : int
        2 to 6.
    stack : int
        Each seat's chips at the start of a hand, including blinds.
    small_blind, big_blind : int
        In chips.

    Raises
    ------
    InvalidGameError
        If a number is not an integer or is out of range.

    Examples
    --------
    >>> from treeplex.models.matches import Table
    >>> Table().blinds, Table(seats=3).blinds
    ((100, 50), (50, 100, 0))
    """

    seats: int = 2
    stack: int = 20_000
    small_blind: int = 50
    big_blind: int = 100

    def __post_init__(self) -> None:
        check_whole(self.seats, "seats", InvalidGameError, "[2, 6]")
        check_whole(self.small_blind, "small_blind", InvalidGameError, "[1, inf)")
        check_whole(self.big_blind, "big_blind", InvalidGameError, f"[{self.small_blind}, inf)")
        check_whole(self.stack, "stack", InvalidGameError, f"[{self.big_blind}, inf)")

    @property
    def blinds(self) -> tuple[int, ...]:
        """The blind of each seat, in chips."""
        if self.seats == 2:
            return self.big_blind, self.small_blind
        return self.small_blind, self.big_blind, *(0,) * (self.seats - 2)


@dataclass(frozen=True)
class View:
    """The information of the seat that is to act.

    Cards are numbered as in :mod:`treeplex.models.games.holdem.cards`, amounts are chips.

    Attributes
    ----------
    table : Table
    seat : int
        The seat to act, which receives this view.
    hand : tuple of int
        Its two cards, the higher number first.
    board : tuple of int
        The public cards, in the order of the deal.
    street : int
        Index of the street in :data:`STREETS`.
    bets : tuple of int
        The amount that each seat has put in on this street.
    stacks : tuple of int
        Each seat's remaining chips.
    folded : tuple of bool
    pot : int
        All chips put in, including the bets of this street.
    history : tuple of (int, int, str)
        The actions so far: street, seat, and action. Posting blinds is not an action.
    least, most : int
        The smallest and largest total of this street for a bet or raise; both 0 if none is possible. Equal if only
        all-in is possible.

    Notes
    -----
    Actions are strings: ``fold``, ``check``, ``call``, ``bet N``, ``raise N`` and ``all-in``, where N is the resulting
    total on the street. ``call`` may be for less than the bet. Folding is legal even if a check is possible. An action
    that puts in the whole stack may be named ``all-in`` or by its amount; the history uses ``all-in`` for a bet or
    raise of the whole stack, and ``call`` for a call.
    """

    table: Table
    seat: int
    hand: tuple[int, int]
    board: tuple[int, ...]
    street: int
    bets: tuple[int, ...]
    stacks: tuple[int, ...]
    folded: tuple[bool, ...]
    pot: int
    history: tuple[tuple[int, int, str], ...]
    least: int
    most: int

    @property
    def price(self) -> int:
        """The cost of a call, limited by the seat's stack."""
        return min(max(self.bets) - self.bets[self.seat], self.stacks[self.seat])

    @property
    def aggressive(self) -> str:
        """The name of a raise here: ``bet`` if nobody has bet on this street, otherwise ``raise``."""
        return "raise" if max(self.bets) else "bet"


@dataclass(frozen=True)
class HandResult:
    """The result of a hand from one seat's view.

    Attributes
    ----------
    seat : int
    hand : tuple of int
    board : tuple of int
    history : tuple of (int, int, str)
        As in :class:`View`.
    shown : tuple of (tuple of int or None)
        The cards that each seat showed.
    won : tuple of int
        Each seat's win or loss, in chips.
    """

    seat: int
    hand: tuple[int, int]
    board: tuple[int, ...]
    history: tuple[tuple[int, int, str], ...]
    shown: tuple[tuple[int, int] | None, ...]
    won: tuple[int, ...]


class Bot(Protocol):
    """The interface of a player at a table.

    The table asks a bot only for its actions. A bot must draw random numbers from the given generator, so that a match
    is reproducible from its seed in any order of its hands. Raising an exception, or an illegal action, forfeits the
    hand.

    A bot may have an attribute ``mixture``: after :meth:`act`, a dict with the probability of each action that it could
    have returned, in the notation of histories. :func:`~treeplex.models.matches.luck_free_winnings` uses it.
    """

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand in a seat; the previous hand must not matter unless the bot learns."""
        ...

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return an action."""
        ...

    def end(self, result: HandResult) -> None:
        """Receive the result of the hand."""
        ...
