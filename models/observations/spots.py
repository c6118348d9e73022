"""Frequencies of a player's lines after the flop, as locks of a spot."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from ...seqform.errors import InvalidConstraintError, PlayLogError, shown
from ...seqform.public_form import PublicForm
from ...seqform.rules import TERMINAL
from ..games.holdem.bets import SEATS, Decision, unrolled
from ..games.holdem.locks import Lock
from ..games.holdem.spot import HoldemSpot
from ..matches import Hand
from .hands import MenuLines
from .intervals import clopper_pearson_intervals

#: Bounds of locks are rounded outwards to multiples of this.
_STEP = 10_000


@dataclass(frozen=True)
class LineFrequency:
    """The frequency of a player's action at a node of a spot.

    Attributes
    ----------
    seat : {"oop", "ip"}
    at : str
        The actions that lead to the node.
    action : str
    count, times : int
        Number of times that it was taken, and that it was available.
    lower, upper : float
        An interval for the probability.
    """

    seat: str
    at: str
    action: str
    count: int
    times: int
    lower: float
    upper: float

    @property
    def locks(self) -> tuple[Lock, ...]:
        """The interval as locks on the average of all hands; empty if it excludes nothing."""
        low, high = math.floor(self.lower * _STEP) / _STEP, math.ceil(self.upper * _STEP) / _STEP
        said = [f">= {low:.4f}"] * (low > 0.0) + [f"<= {high:.4f}"] * (high < 1.0)
        return tuple(Lock(self.seat, {self.action: bound}, self.at, each=False) for bound in said)


def board_class(board: Iterable[int]) -> str:
    """Return the class of a board: whether it is paired, and how many of its cards share a suit.

    Examples
    --------
    >>> from treeplex.models.games.holdem.cards import read_board
    >>> from treeplex.models.observations.spots import board_class
    >>> board_class(read_board("QcJc9c")), board_class(read_board("7d7s2d"))
    ('unpaired, 3 of a suit', 'paired, 2 of a suit')
    """
    cards = list(board)
    paired = len({card // 4 for card in cards}) < len(cards)
    suits = max(np.bincount([card % 4 for card in cards]).tolist())
    return f"{'paired' if paired else 'unpaired'}, {suits} of a suit"


def spot_frequencies(
    hands: Iterable[Hand],
    spot: HoldemSpot,
    seat: str,
    name: str,
    *,
    confidence: float = 0.95,
    tolerance: float = 0.5,
) -> tuple[LineFrequency, ...]:
    r"""Count a player's actions on the first street of a spot, in hands that resemble it.

    Parameters
    ----------
    hands : iterable of Hand
        Read only once. A hand counts if two players see the street, both with chips left, on a board of the same class
        (:func:`board_class`), with a stack-to-pot ratio close to that of the spot.
    spot : HoldemSpot
    seat : {"oop", "ip"}
        The player's seat.
    name : str
        The player's name.
    confidence : float
        Joint confidence level of all intervals, which are Clopper and Pearson's.
    tolerance : float
        Relative tolerance on the ratio.

    Returns
    -------
    tuple of LineFrequency
        By node and action, where the player was seen to move. Sizes missing on the menu are mapped to neighbouring ones
        (:class:`~treeplex.models.observations.hands.MenuLines`).

    Raises
    ------
    InvalidConstraintError
        If there is no such seat, or the confidence is not a probability.

    Notes
    -----
    Frequencies are relative to the number of times that the player was to move there, in all of these hands, whether or
    not cards were shown. Using them as locks assumes that the ranges of the spot are those of these hands.

    Examples
    --------
    >>> import io
    >>> from treeplex.models.games.holdem import HoldemSpot
    >>> from treeplex.models.matches import HandHistories
    >>> from treeplex.models.observations import spot_frequencies
    >>> text = '''variant = 'NT'
    ... antes = [0, 0]
    ... blinds_or_straddles = [1, 2]
    ... min_bet = 2
    ... starting_stacks = [206, 206]
    ... actions = ['p2 cbr 6', 'p1 cc', 'd db 2c7d9h', 'p1 cc', 'p2 cbr 6', 'p1 f']
    ... players = ['them', 'us']
    ... '''
    >>> hands = HandHistories(io.BytesIO("".join(f"[{number}]\n{text}" for number in range(90)).encode()))
    >>> spot = HoldemSpot("AhKd4c", ["QQ, JJ", "AQ, KQ"], pot=100, stack=1500, bets="50%, 100%")
    >>> found = {one.action: one for one in spot_frequencies(hands, spot, "oop", "them") if one.at == "check, bet 50"}
    >>> print(*found["fold"].locks)
    oop at "check, bet 50": fold >= 94.09%
    """
    if seat not in SEATS:
        raise InvalidConstraintError(f"seat is {shown(seat, 60)}, expected oop or ip")
    form = _first_street(spot)
    menu = MenuLines(form, spot.stack, spot.pot, 0.0)
    street, wanted = len(spot.cards) - 2, board_class(spot.cards)
    passed = np.zeros(len(form.players), dtype=np.int64)
    for hand in hands:
        pot = _pot(hand, street, seat, name, spot, tolerance)
        if pot is None or board_class(hand.board[: street + 2]) != wanted:
            continue
        try:
            passed[menu.line((word for when, _, word in hand.history if when == street), pot, 0.0)] += 1
        except PlayLogError:
            continue
    own = [
        (node, int(child))
        for node in np.flatnonzero(menu.first_street & (form.players == SEATS.index(seat)) & (passed > 0)).tolist()
        for child in form.children[node]
    ]
    counts, times = (np.array([passed[pair[place]] for pair in own], dtype=np.int64) for place in (1, 0))
    found = clopper_pearson_intervals(counts, times, confidence, comparisons=max(1, len(own)))
    return tuple(
        LineFrequency(
            seat,
            ", ".join(map(str, form.path(node))),
            str(form.actions[child]),
            int(counts[row]),
            int(times[row]),
            float(found.lower[row]),
            float(found.upper[row]),
        )
        for row, (node, child) in enumerate(own)
    )


def _first_street(spot: HoldemSpot) -> PublicForm:
    """Return the bets of a spot's first street, without hands; the whole spot may have millions of nodes."""
    states, parents, actions = unrolled(
        spot.begun, lambda state: spot.moves(state) if isinstance(state, Decision) else ()
    )
    players = [state.mover if isinstance(state, Decision) else TERMINAL for state in states]
    return PublicForm(players, parents, actions, [[""], [""]], [])


def _pot(hand: Hand, street: int, seat: str, name: str, spot: HoldemSpot, tolerance: float) -> float | None:
    """Return the pot at the beginning of a street, if the hand counts."""
    if len(hand.board) < street + 2 or name not in hand.players:
        return None
    out = {who for when, who, word in hand.history if when < street and word == "fold"}
    playing = [who for who in range(hand.seats) if who not in out]
    if len(playing) != 2 or hand.players[playing[SEATS.index(seat)]] != name:
        return None
    paid = hand.paid_before(street)
    pot = sum(paid) + sum(hand.antes)
    left = min(hand.stacks[who] - hand.antes[who] - paid[who] for who in playing)
    if left <= 0 or left == Decimal("inf") or not pot:
        return None
    ratio = spot.stack / spot.pot
    return float(pot) if abs(float(left / pot) - ratio) <= tolerance * ratio else None
