"""Recorded hands of no-limit hold'em, checked against the rules of betting."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import numpy as np

from ...seqform.errors import one_line, shown
from ..games.holdem.cards import CARDS, hand_numbers
from ..games.holdem.showdown import strengths
from ..play.lines import BadLineError
from .hand import amounts
from .table import STREETS, Chips

Cards = tuple[int, int]

_NUMBERS = {card: number for number, card in enumerate(CARDS)}
#: Number of board cards on each street.
_BOARD = (0, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Hand:
    """A hand of no-limit hold'em as recorded in a hand history.

    Seats and actions are those of :class:`~treeplex.models.matches.Table` and :class:`~treeplex.models.matches.View`,
    with any number of seats. Seats are in postflop order, so the last one is the button; with two seats, the second one
    has the button and the small blind. Cards are numbered as in :mod:`treeplex.models.games.holdem.cards`.

    Attributes
    ----------
    line : int
        The line in its file where it begins, counted from one.
    players : tuple of str
        The names; ``p1``, ``p2`` and so on if there are none, or if several players have the same.
    antes, blinds : tuple of int or Decimal
        The posts of each seat, limited by its stack; straddles, and posts of joining players, are blinds. An ante that
        is returned because nobody matches it does not count.
    stacks : tuple of int or Decimal
        The stack of each seat before posting; ``Decimal("inf")`` if unknown.
    cards : tuple of (tuple of int or None)
        The two cards of each seat, the higher number first; ``None`` if unknown.
    board : tuple of int
    history : tuple of (int, int, str)
        The actions: street, seat, and action. Amounts are totals of the street.
    shown : tuple of (tuple of int or None)
        The cards that each seat showed at the end.
    folded : tuple of bool
    paid : tuple of int or Decimal
        The amount that each seat put in, without antes; uncalled bets are returned.
    ended : tuple of int or Decimal, optional
        Each seat's final stack, if the history states it.
    winnings : tuple of int or Decimal, optional
        Each seat's payment from the pots, after rake, if the history states it.
    pots : tuple of (int or Decimal, tuple of int)
        The main and the side pots: chips, including antes, and the seats that can win them, that is, those that neither
        folded nor mucked their cards.
    """

    line: int
    players: tuple[str, ...]
    antes: tuple[Chips, ...]
    blinds: tuple[Chips, ...]
    stacks: tuple[Chips, ...]
    cards: tuple[Cards | None, ...]
    board: tuple[int, ...]
    history: tuple[tuple[int, int, str], ...]
    shown: tuple[Cards | None, ...]
    folded: tuple[bool, ...]
    paid: tuple[Chips, ...]
    ended: tuple[Chips, ...] | None = None
    winnings: tuple[Chips, ...] | None = None
    pots: tuple[tuple[Chips, tuple[int, ...]], ...] = ()

    @property
    def seats(self) -> int:
        """Number of players."""
        return len(self.players)

    @property
    def big_blind(self) -> Chips:
        """The blind of the second player to act before the flop, in chips; straddles are not counted."""
        return self.blinds[0] if self.seats == 2 else self.blinds[1]

    @property
    def went_to_showdown(self) -> bool:
        """Whether at least two players did not fold."""
        return self.folded.count(False) > 1

    @property
    def won(self) -> tuple[Chips, ...] | None:
        """The winnings of each seat; ``None`` if they depend on unknown cards.

        Winnings stated in the history are used, after rake. Otherwise there is no rake, and the first of the players
        who split a pot gets odd chips.
        """
        if self.winnings is None and self.ended is not None and all(map(math.isfinite, self.stacks)):
            return tuple(after - before for after, before in zip(self.ended, self.stacks, strict=True))
        paid = self._paid_from_pots() if self.winnings is None else self.winnings
        if paid is None:
            return None
        return tuple(one - blind - ante for one, blind, ante in zip(paid, self.paid, self.antes, strict=True))

    def _paid_from_pots(self) -> tuple[Chips, ...] | None:
        """Return what the pots pay each seat, given the cards; ``None`` if it depends on unknown cards."""
        ranks = self._ranks()
        if ranks is None:
            return None
        # Losers muck, and pots left to the same seats are merged; this determines who gets odd chips.
        left = {seat for _, inside in self.pots for seat in _strongest(inside, ranks)}
        pots: list[tuple[Chips, list[int]]] = []
        for pot, inside in self.pots:
            staying = [seat for seat in inside if seat in left]
            before = pots.pop()[0] if pots and pots[-1][1] == staying else 0
            pots.append((before + pot, staying))
        paid: list[Any] = [0] * self.seats
        for pot, contenders in pots:
            for place, seat in enumerate(winners := _strongest(contenders, ranks)):
                share = pot // len(winners) if isinstance(pot, int) else pot / len(winners)
                paid[seat] += share if place else pot - share * (len(winners) - 1)
        return tuple(paid)

    def paid_before(self, street: int) -> tuple[Chips, ...]:
        """Return the amount that each seat put in before a street, without antes."""
        paid = list(self.blinds if street else (0,) * self.seats)
        stacks = [stack - ante for stack, ante in zip(self.stacks, self.antes, strict=True)]
        before = [one for one in self.history if one[0] < street]
        for each in amounts(self.blinds, stacks, before):
            paid[each.seat] = each.in_all
        return tuple(paid)

    def _ranks(self) -> list[int] | None:
        """Return the strength of the hands, as far as it determines the winner."""
        contested = {seat for _, inside in self.pots if len(inside) > 1 for seat in inside}
        if not contested:
            return [0] * self.seats
        hands = [self.shown[seat] or self.cards[seat] for seat in range(self.seats)]
        if len(self.board) < _BOARD[-1] or any(hands[seat] is None for seat in contested):
            return None
        numbers = hand_numbers(np.array([hand or (1, 0) for hand in hands]))
        return [int(one) for one in strengths(self.board, numbers)]


def _strongest(seats: Sequence[int], ranks: Sequence[int]) -> list[int]:
    """Return the seats with the best hands among the given ones."""
    best = max((ranks[seat] for seat in seats), default=0)
    return [seat for seat in seats if ranks[seat] == best]


class Replay:
    """A recorded hand that is replayed, action by action, by pokerkit's rules.

    Parameters
    ----------
    stacks, antes, blinds : sequence of int or Decimal
        In the order of the format: with two players the small blind comes first, although the second seat posts it.
    least : int or Decimal
        The smallest bet.
    trimmed : bool
        Whether a seat wins from each ante only as much as it has put in itself.

    Raises
    ------
    BadLineError
        If no hand can begin with these stacks and posts.
    MissingExtraError
        If pokerkit is not installed.

    Examples
    --------
    >>> from treeplex.models.matches.replay import Replay
    >>> replay = Replay([200, 200], [0, 0], [1, 2], 2)
    >>> for action in ("d dh p1 AcAd", "p2 cbr 6", "p1 cc", "d db 2c7d9h", "p1 cc", "p2 f"):
    ...     replay.play(action)
    >>> replay.hand(1, ("us", "them")).history
    ((0, 1, 'raise 6'), (0, 0, 'call'), (1, 0, 'check'), (1, 1, 'fold'))
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
        from .rules import Betting

        try:
            self.betting = Betting(stacks, antes, blinds, least, trimmed=trimmed)
        except ValueError as error:
            raise BadLineError("malformed", one_line(str(error)).removesuffix(".").lower()) from None
        self.count = len(stacks)
        self.cards: list[list[int] | None] = [None] * self.count
        self.shown: list[list[int] | None] = [None] * self.count
        self.board: list[int] = []
        self.seen: set[int] = set()
        self.mucked: set[int] = set()
        self.history: list[tuple[int, int, str]] = []
        self.street = 0

    def play(self, action: str) -> None:
        """Apply one action of the format, such as ``p2 cbr 600``.

        Raises
        ------
        BadLineError
            If there is no such action, or the rules do not allow it.
        """
        words = action.split("#", 1)[0].split()
        if not words:
            return
        if words[0] == "d":
            self._deal(words)
            return
        seat, what = self._seat(words[0]), words[1] if len(words) > 1 else ""
        if what == "sm" and len(words) <= 3:
            self._show(seat, words)
            return
        if what not in ("f", "cc", "cbr") or len(words) != 2 + (what == "cbr"):
            raise BadLineError("malformed", "is not an action, expected a player and f, cc, cbr AMOUNT or sm")
        betting = self.betting
        if betting.actor_index != seat:
            raise BadLineError("contradiction", f"comes when {self._due()}")
        if what == "f":
            betting.fold()
            word = "fold"
        elif what == "cc":
            word = "call" if betting.bets[seat] < max(betting.bets) else "check"
            betting.check_or_call()
        else:
            amount, price, most = amount_of(words[2]), max(betting.bets), betting.bets[seat] + betting.stacks[seat]
            try:
                betting.complete_bet_or_raise_to(amount)  # type: ignore[arg-type, unused-ignore]
            except ValueError as error:
                raise BadLineError("contradiction", str(error)) from None
            word = "all-in" if amount == most else f"{'raise' if price else 'bet'} {amount}"
        self.history.append((self.street, seat, word))

    def _due(self) -> str:
        """Return a description of the next actor."""
        seat = self.betting.actor_index
        return "nobody is to act" if seat is None else f"p{seat + 1} is to act"

    def _deal(self, words: list[str]) -> None:
        if words[1:2] == ["dh"] and len(words) == 4:
            seat = self._seat(words[2])
            held = self.cards[seat] or []
            if "?" not in words[3]:
                self.cards[seat] = held = [*held, *self._cards(words[3])]
                if len(held) > 2:
                    raise BadLineError("malformed", "deals more than two cards, expected two")
        elif words[1:2] == ["db"] and len(words) == 3:
            betting = self.betting
            betting.pass_idle()
            if betting.actor_index is not None or betting.folded_status:
                raise BadLineError("contradiction", f"comes when {self._due()}")
            self.board += self._cards(words[2])
            if len(self.board) > _BOARD[-1]:
                raise BadLineError("malformed", "deals more than five board cards, expected at most five")
            while self.street < 3 and len(self.board) >= _BOARD[self.street + 1]:
                self.street += 1
                betting.deal_street()
                if betting.actor_index is not None and len(self.board) > _BOARD[self.street]:
                    raise BadLineError("contradiction", f"deals past the {STREETS[self.street]} before anybody acts")
        else:
            raise BadLineError("malformed", "is not a deal, expected d dh PLAYER CARDS or d db CARDS")

    def _cards(self, text: str) -> list[int]:
        found = []
        for start in range(0, len(text), 2):
            card = _NUMBERS.get(text[start : start + 2])
            if card is None:
                raise BadLineError("malformed", f"has {shown(text[start : start + 2])}, expected cards such as AcTd")
            if card in self.seen:
                raise BadLineError("contradiction", f"has {CARDS[card]}, which was dealt before")
            self.seen.add(card)
            found.append(card)
        return found

    def _show(self, seat: int, words: list[str]) -> None:
        self.betting.pass_idle()
        if self.betting.actor_index is not None:
            raise BadLineError("contradiction", f"comes when {self._due()}")
        if self.betting.status and not self.betting.all_in_status:
            raise BadLineError("contradiction", "comes before the showdown")
        if len(words) == 2:
            self.mucked.add(seat)
            return
        if words[2] == "-" or "?" in words[2]:
            return
        held = self.cards[seat]
        self.seen.difference_update(held or ())
        shown_cards = self._cards(words[2])
        if len(shown_cards) != 2 or (held is not None and set(held) != set(shown_cards)):
            raise BadLineError("contradiction", "shows cards not dealt to it" if held else "does not show two cards")
        self.cards[seat] = self.shown[seat] = shown_cards

    def _seat(self, text: str) -> int:
        seat = _SEATS.get(text, self.count)
        if seat >= self.count:
            raise BadLineError("malformed", f"names the player {shown(text, 60)}, expected p1 to p{self.count}")
        return seat

    def hand(
        self,
        line: int,
        players: tuple[str, ...],
        ended: tuple[Chips, ...] | None = None,
        winnings: tuple[Chips, ...] | None = None,
    ) -> Hand:
        """Return the hand.

        Parameters
        ----------
        line : int
        players : tuple of str
        ended, winnings : tuple of int or Decimal, optional
            The final stacks and the payments from the pots that the history states.

        Raises
        ------
        BadLineError
            If the hand is not over, or contradicts these amounts.
        """
        betting = self.betting
        betting.pass_idle()
        if betting.actor_index is not None:
            raise BadLineError("unfinished hand", f"the hand is not over: {self._due()}")
        if betting.status and not betting.all_in_status:
            raise BadLineError("unfinished hand", f"the hand is not over: expected a {STREETS[self.street + 1]}")
        folded = tuple(not playing for playing in betting.statuses)
        paid: list[Chips] = [-payoff - ante for payoff, ante in zip(betting.payoffs, betting.posted, strict=True)]
        pots: tuple[tuple[Chips, tuple[int, ...]], ...]
        if betting.folded_status:  # the last player takes back uncalled chips
            last = folded.index(False)
            paid[last] = min(paid[last], max(one for seat, one in enumerate(paid) if seat != last))
            pots = ((sum(paid) + sum(betting.posted), (last,)),)
        else:
            pots = tuple((pot.amount, self._contenders(pot.player_indices)) for pot in betting.pots)
        hand = Hand(
            line,
            players,
            betting.posted,
            betting.blinded,
            tuple(betting.starting_stacks),
            tuple(_pair(cards) for cards in self.cards),
            tuple(self.board),
            tuple(self.history),
            tuple(_pair(cards) for cards in self.shown),
            folded,
            tuple(paid),
            ended,
            winnings,
            pots,
        )
        _check_end(hand, betting.ante_trimming_status)
        return hand

    def _contenders(self, seats: tuple[int, ...]) -> tuple[int, ...]:
        """Return the given seats that have not mucked their cards, or all of them if every seat has."""
        return tuple(seat for seat in seats if seat not in self.mucked) or seats


def _check_end(hand: Hand, trimmed: bool) -> None:
    """Raise an error if a hand cannot have ended as recorded, whatever its cards are.

    Raises
    ------
    BadLineError
    """
    put_in = [one + ante for one, ante in zip(hand.paid, hand.antes, strict=True)]
    matched = put_in if trimmed else hand.paid
    if not hand.went_to_showdown and max(matched) > matched[hand.folded.index(False)]:
        raise BadLineError("contradiction", "a folded player put in more chips than the last player can win")
    stated: list[tuple[str, list[Chips | None]]] = []
    if hand.ended is not None:  # payments from the pots are the remaining chips minus those that were not put in
        known = zip(hand.ended, hand.stacks, put_in, strict=True)
        stated.append(
            ("finishing_stacks", [end - (stack - one) if math.isfinite(stack) else None for end, stack, one in known])
        )
    if hand.winnings is not None:
        stated.append(("winnings", list(hand.winnings)))
    everything = sum(pot for pot, _ in hand.pots)
    for key, paid in stated:
        for seat, one in enumerate(paid):
            most = sum(pot for pot, inside in hand.pots if seat in inside)
            if one is not None and not 0 <= one <= most:
                expected = "nothing, because it folded" if hand.folded[seat] else f"from 0 to {most}"
                wrong = f"{key} pay p{seat + 1} {one} from the pot, expected {expected}"
                raise BadLineError("contradiction", wrong)
        total = sum(one for one in paid if one is not None)
        if total > everything:
            raise BadLineError("contradiction", f"{key} pay {total} from a pot of {everything}")
    if len(stated) == 2:
        for seat, (one, other) in enumerate(zip(stated[0][1], stated[1][1], strict=True)):
            if one is not None and one != other:
                wrong = f"finishing_stacks pay p{seat + 1} {one} from the pot, and winnings {other}"
                raise BadLineError("contradiction", wrong)


_SEATS = {f"p{number + 1}": number for number in range(10)}
#: The largest length of an amount, and its pattern.
_LONGEST, _AMOUNT = 30, re.compile(r"[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
#: Largest number of digits of an integer amount of chips, and number of digits to which other amounts are rounded,
#: because they may be binary fractions.
_WHOLE, _DIGITS = 18, Context(prec=15)


@lru_cache(maxsize=65536)
def amount_of(text: str) -> Chips:
    """Parse an amount of chips.

    Amounts with more than fifteen digits, such as 0.30000000000000004, are rounded to fifteen.

    Raises
    ------
    BadLineError
        If it is not a number of at least 0.

    Examples
    --------
    >>> from treeplex.models.matches.replay import amount_of
    >>> amount_of("600"), amount_of("2.50")
    (600, Decimal('2.50'))
    """
    if text.isdigit() and text.isascii() and len(text) <= _WHOLE:
        return int(text)
    plain = text.replace(",", "").replace("_", "")
    found = Decimal(plain if len(plain) <= _LONGEST and _AMOUNT.fullmatch(plain) else "inf")
    if found >= 10**_WHOLE:
        raise BadLineError("malformed", f"has the amount {shown(text, 60)}, expected a number of at least 0")
    found = _DIGITS.plus(found) if found != int(found) else found
    return int(found) if found == int(found) else found


def _pair(cards: list[int] | None) -> Cards | None:
    return None if cards is None or len(cards) != 2 else (max(cards), min(cards))
