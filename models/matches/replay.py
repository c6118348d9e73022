"""Hands of no-limit hold'em as they were played: what a history records, checked against the rules of betting."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from ...seqform.errors import shown
from ..games.holdem.cards import CARDS, hand_numbers
from ..games.holdem.showdown import strengths
from ..play.lines import BadLineError
from .table import STREETS

Amount = int | Decimal
Cards = tuple[int, int]

_NUMBERS = {card: number for number, card in enumerate(CARDS)}
#: How many cards of the board are there on each street.
_BOARD = (0, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class Hand:
    """A hand of no-limit hold'em, as a hand history has it.

    Seats and actions are those of :class:`~treeplex.models.matches.Table` and :class:`~treeplex.models.matches.View`,
    with any number of seats: in order after the flop, so that the last one is the button, and of two seats the second
    one has the button and the small blind. Cards are numbered as in :mod:`treeplex.models.games.holdem.cards`.

    Attributes
    ----------
    line : int
        Where it begins in its file, counted from one.
    players : tuple of str
        The names; ``p1``, ``p2`` and so on where there are none.
    antes, blinds : tuple of int or Decimal
        What each seat posted; straddles are blinds.
    stacks : tuple of int or Decimal
        What each had before that; ``Decimal("inf")`` where it is not known.
    cards : tuple of (tuple of int or None)
        The two cards of each seat, the higher number first; ``None`` where they are not known.
    board : tuple of int
    history : tuple of (int, int, str)
        The actions: street, seat, and what it did. Amounts are totals of the street.
    shown : tuple of (tuple of int or None)
        The cards that each seat showed at the end.
    folded : tuple of bool
    paid : tuple of int or Decimal
        What each put in, antes left out; what nobody called is taken back.
    ended : tuple of int or Decimal, optional
        What each had at the end, where the history says it.
    """

    line: int
    players: tuple[str, ...]
    antes: tuple[Amount, ...]
    blinds: tuple[Amount, ...]
    stacks: tuple[Amount, ...]
    cards: tuple[Cards | None, ...]
    board: tuple[int, ...]
    history: tuple[tuple[int, int, str], ...]
    shown: tuple[Cards | None, ...]
    folded: tuple[bool, ...]
    paid: tuple[Amount, ...]
    ended: tuple[Amount, ...] | None = None

    @property
    def seats(self) -> int:
        """How many play."""
        return len(self.players)

    @property
    def big_blind(self) -> Amount:
        """What the second player to act before the flop posted, in chips; straddles are not counted."""
        return self.blinds[0] if self.seats == 2 else self.blinds[1]

    @property
    def went_to_showdown(self) -> bool:
        """Whether two or more did not fold."""
        return self.folded.count(False) > 1

    @property
    def won(self) -> tuple[Amount, ...] | None:
        """What each seat won or lost; ``None`` where that depends on cards that are not known.

        What the history states counts, after rake. Otherwise there is none, antes are part of the first pot, and the
        first of those who split a pot gets odd chips.
        """
        if self.ended is not None and all(map(math.isfinite, self.stacks)):
            return tuple(after - before for after, before in zip(self.ended, self.stacks, strict=True))
        ranks = self._ranks()
        if ranks is None:
            return None
        lost = [-paid - ante for paid, ante in zip(self.paid, self.antes, strict=True)]
        won: list[Any] = lost
        extra: Amount = sum(self.antes)
        below: Amount = 0
        for level in sorted({paid for paid, folded in zip(self.paid, self.folded, strict=True) if not folded}):
            pot = extra + sum(min(paid, level) - min(paid, below) for paid in self.paid)
            inside = [seat for seat, paid in enumerate(self.paid) if not self.folded[seat] and paid >= level]
            best = max(ranks[seat] for seat in inside)
            winners = [seat for seat in inside if ranks[seat] == best]
            share, odd = divmod(pot, len(winners)) if isinstance(pot, int) else (pot / len(winners), 0)
            for seat in winners:
                won[seat] += share
            won[winners[0]] += odd
            extra, below = 0, level
        return tuple(won)

    def paid_before(self, street: int) -> tuple[Amount, ...]:
        """Return what each seat put in before a street, antes left out."""
        before: list[Amount] = [0] * self.seats
        bets, now = list(self.blinds), 0
        for when, seat, word in self.history:
            if when >= street:
                break
            if when > now:
                before = [one + bet for one, bet in zip(before, bets, strict=True)]
                bets, now = [0] * self.seats, when
            left = self.stacks[seat] - self.antes[seat] - before[seat]
            kind, _, amount = word.partition(" ")
            if kind == "call":
                bets[seat] = min(max(bets), left)
            elif kind == "all-in" or amount:
                bets[seat] = amount_of(amount) if amount else left
        return tuple(one + bet for one, bet in zip(before, bets, strict=True)) if street else (0,) * self.seats

    def _ranks(self) -> list[int] | None:
        """Return how strong the hands are that did not fold."""
        if not self.went_to_showdown:
            return [0] * self.seats
        hands = [self.shown[seat] or self.cards[seat] for seat in range(self.seats)]
        if len(self.board) < _BOARD[-1] or any(
            hand is None and not folded for hand, folded in zip(hands, self.folded, strict=True)
        ):
            return None
        numbers = hand_numbers(np.array([hand or (1, 0) for hand in hands]))
        return [int(one) for one in strengths(self.board, numbers)]


class Replay:
    """Plays a hand again, action by action.

    Parameters
    ----------
    stacks, antes, blinds : sequence of int or Decimal
        By seat; blinds as they are to be posted, which a short stack may not do in full.
    least : int or Decimal
        The smallest bet.

    Examples
    --------
    >>> from treeplex.models.matches.replay import Replay
    >>> replay = Replay([200, 200], [0, 0], [2, 1], 2)
    >>> for action in ("d dh p1 AcAd", "p2 cbr 6", "p1 cc", "d db 2c7d9h", "p1 cc", "p2 f"):
    ...     replay.play(action)
    >>> replay.hand(1, ("us", "them")).history
    ((0, 1, 'raise 6'), (0, 0, 'call'), (1, 0, 'check'), (1, 1, 'fold'))
    """

    def __init__(
        self, stacks: Sequence[Amount], antes: Sequence[Amount], blinds: Sequence[Amount], least: Amount
    ) -> None:
        self.count = len(stacks)
        self.start = tuple(stacks)
        self.antes = tuple(map(min, antes, stacks))
        left = [stack - ante for stack, ante in zip(stacks, self.antes, strict=True)]
        self.blinds = tuple(map(min, blinds, left))
        self.stacks = [stack - blind for stack, blind in zip(left, self.blinds, strict=True)]
        self.bets = list(self.blinds)
        self.before: list[Amount] = [0] * self.count  # what was put in on earlier streets
        self.least = least
        self.folded = [False] * self.count
        self.cards: list[list[int] | None] = [None] * self.count
        self.shown: list[list[int] | None] = [None] * self.count
        self.board: list[int] = []
        self.seen: set[int] = set()
        self.history: list[tuple[int, int, str]] = []
        self.street = 0
        highest = max(range(self.count), key=lambda seat: (self.bets[seat], seat))
        self._open((highest + 1) % self.count)

    def _open(self, first: int) -> None:
        """Begin a betting round."""
        self.raised: Amount = 0
        playing = [seat for seat in (*range(first, self.count), *range(first)) if not self.folded[seat]]
        # Nobody can lose more than the second largest stack.
        most = sorted(self.bets[seat] + self.stacks[seat] for seat in playing)[-2]
        self.waiting = [seat for seat in playing if self.stacks[seat] > 0 and self.bets[seat] < most]
        if len(self.waiting) == 1 and self.bets[self.waiting[0]] >= max(self.bets):
            self.waiting = []

    def play(self, action: str) -> None:
        """Take one action of the format, such as ``p2 cbr 600``.

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
            self._refuse("malformed", "is no action, expected f, cc, cbr AMOUNT or sm after a player")
        waiting = self.waiting
        if not waiting or waiting[0] != seat:
            expected = f"p{waiting[0] + 1} is to act" if waiting else "nobody is to act"
            self._refuse("contradiction", f"comes where {expected}")
        price = max(self.bets)
        if what == "f":
            waiting.pop(0)
            self.folded[seat] = True
            self._note(seat, "fold")
            if self.folded.count(False) == 1:
                self.waiting = []
        elif what == "cc":
            waiting.pop(0)
            missing = min(price - self.bets[seat], self.stacks[seat])
            self.stacks[seat] -= missing
            self.bets[seat] += missing
            self._note(seat, "call" if missing else "check")
        else:
            self._raise(seat, amount_of(words[2]), price)

    def _raise(self, seat: int, amount: Amount, price: Amount) -> None:
        most = self.stacks[seat] + self.bets[seat]
        least = price + max(self.raised, self.least)
        if not (price < amount <= most) or (amount < least and amount != most):
            allowed = f"{least} to {most}" if least < most else f"{most}"
            self._refuse("contradiction", f"goes to {amount}, expected {allowed}")
        others = [one for one in (*range(seat + 1, self.count), *range(seat)) if not self.folded[one]]
        self.waiting = [one for one in others if self.stacks[one] > 0]
        if not self.waiting:
            self._refuse("contradiction", "raises players who are all-in")
        self.raised = max(self.raised, amount - price)
        self.stacks[seat] = most - amount
        self.bets[seat] = amount
        word = "all-in" if amount == most else f"{'raise' if price else 'bet'} {amount}"
        self._note(seat, word)

    def _note(self, seat: int, word: str) -> None:
        self.history.append((self.street, seat, word))

    def _deal(self, words: list[str]) -> None:
        if words[1:2] == ["dh"] and len(words) == 4:
            seat = self._seat(words[2])
            held = self.cards[seat] or []
            if "?" not in words[3]:
                self.cards[seat] = held = [*held, *self._cards(words[3])]
                if len(held) > 2:
                    self._refuse("malformed", "makes more than two cards, expected two")
        elif words[1:2] == ["db"] and len(words) == 3:
            if self.waiting or self.folded.count(False) == 1:
                whose = f"p{self.waiting[0] + 1} is to act" if self.waiting else "the hand is over"
                self._refuse("contradiction", f"comes where {whose}")
            self.board += self._cards(words[2])
            if len(self.board) > _BOARD[-1]:
                self._refuse("malformed", "makes more than five cards, expected one board")
            while self.street < 3 and len(self.board) >= _BOARD[self.street + 1]:
                self.street += 1
                self.before = [one + bet for one, bet in zip(self.before, self.bets, strict=True)]
                self.bets = [0] * self.count
                self._open(0)
                if self.waiting and len(self.board) > _BOARD[self.street]:
                    self._refuse("contradiction", f"deals {STREETS[self.street]} and more before anybody acts")
        else:
            self._refuse("malformed", "is no deal, expected d dh PLAYER CARDS or d db CARDS")

    def _cards(self, text: str) -> list[int]:
        found = []
        for start in range(0, len(text), 2):
            card = _NUMBERS.get(text[start : start + 2])
            if card is None:
                self._refuse("malformed", f"has {shown(text[start : start + 2])}, expected cards such as AcTd")
            if card in self.seen:
                self._refuse("contradiction", f"has {CARDS[card]}, which was dealt before")
            self.seen.add(card)
            found.append(card)
        return found

    def _show(self, seat: int, words: list[str]) -> None:
        if self.waiting:
            self._refuse("contradiction", f"comes where p{self.waiting[0] + 1} is to act")
        if len(words) == 2 or words[2] == "-" or "?" in words[2]:
            return
        held = self.cards[seat]
        self.seen.difference_update(held or ())
        shown_cards = self._cards(words[2])
        if len(shown_cards) != 2 or (held is not None and set(held) != set(shown_cards)):
            self._refuse("contradiction", "shows other cards than were dealt" if held else "shows no two cards")
        self.cards[seat] = self.shown[seat] = shown_cards

    def _seat(self, text: str) -> int:
        seat = _SEATS.get(text, self.count)
        if seat >= self.count:
            self._refuse("malformed", f"has the player {shown(text, 60)}, expected p1 to p{self.count}")
        return seat

    def hand(self, line: int, players: tuple[str, ...], ended: tuple[Amount, ...] | None = None) -> Hand:
        """Return the hand.

        Raises
        ------
        BadLineError
            If it is not over.
        """
        if self.waiting:
            raise BadLineError("unfinished hand", f"the hand is not over: p{self.waiting[0] + 1} is to act")
        if self.folded.count(False) > 1 and self.street < 3 and sum(stack > 0 for stack in self._staying()) > 1:
            raise BadLineError("unfinished hand", f"the hand is not over: expected a {STREETS[self.street + 1]}")
        paid = [one + bet for one, bet in zip(self.before, self.bets, strict=True)]
        *_, second, highest = sorted(paid)
        return Hand(
            line,
            players,
            self.antes,
            self.blinds,
            self.start,
            tuple(_pair(cards) for cards in self.cards),
            tuple(self.board),
            tuple(self.history),
            tuple(_pair(cards) for cards in self.shown),
            tuple(self.folded),
            tuple(second if one == highest else one for one in paid),
            ended,
        )

    def _staying(self) -> list[Amount]:
        return [stack for stack, folded in zip(self.stacks, self.folded, strict=True) if not folded]

    def _refuse(self, kind: str, wrong: str) -> NoReturn:
        raise BadLineError(kind, wrong)


_SEATS = {f"p{number + 1}": number for number in range(10)}
#: How long an amount may be, and what it looks like.
_DIGITS, _AMOUNT = 18, re.compile(r"[0-9]+(?:\.[0-9]+)?")


def amount_of(text: str) -> Amount:
    """Return an amount of chips, given as text.

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
    if text.isdigit() and text.isascii() and len(text) <= _DIGITS:
        return int(text)
    plain = text.replace(",", "").replace("_", "")
    if len(plain) > _DIGITS or not _AMOUNT.fullmatch(plain):
        raise BadLineError("malformed", f"has the amount {shown(text, 60)}, expected a number of at least 0")
    found = Decimal(plain)
    return int(found) if found == int(found) else found


def _pair(cards: list[int] | None) -> Cards | None:
    if cards is None or len(cards) != 2:
        return None
    return max(cards), min(cards)
