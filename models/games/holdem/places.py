"""Places in a spot, found by following a line: actions and cards so far, the pot, and possible continuations."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....seqform.arrays import Indices
from ....seqform.errors import InvalidGameError, one_of, shown
from ....seqform.public_form import is_any_card, place_of, steps_of
from ....seqform.rules import CHANCE, TERMINAL
from .bets import Decision, Ended
from .showdown import alive
from .situation import Situation

#: Number of cards of a complete board.
WHOLE = 5


@dataclass(frozen=True, eq=False)
class Place:
    """A public state of a spot.

    The spot's tree is not built for it.

    Attributes
    ----------
    spot : Situation
    state : Decision or Ended
        The state of the betting.
    board : tuple of int
        Numbers of cards.
    chance : float
        The probability of its cards.
    path : tuple of str
        The actions and cards that lead there.
    steps : tuple of (Place, int)
        The places on the way, and the index of the next child at each.

    Examples
    --------
    >>> from treeplex.models.games.holdem import HoldemSpot
    >>> from treeplex.models.games.holdem.places import Place
    >>> spot = HoldemSpot("QcJc9c3d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
    >>> place = Place.at(spot, "check, check, deal 2d, all-in")
    >>> place.path, place.player, place.names
    (('check', 'check', '2d', 'all-in'), 1, ('fold', 'call'))
    """

    spot: Situation
    state: Decision | Ended
    board: tuple[int, ...]
    chance: float = 1.0
    path: tuple[str, ...] = ()
    steps: "tuple[tuple[Place, int], ...]" = ()

    @classmethod
    def first(cls, spot: Situation) -> "Place":
        """Return the place at which a spot begins."""
        return cls(spot, spot.begun, spot.cards)

    @classmethod
    def at(cls, spot: Situation, line: str) -> "Place":
        """Return the place that a line leads to.

        Raises
        ------
        InvalidGameError
            If there is no such place; the message states where the line fails, and what is possible there.
        """
        steps = steps_of(line)
        place = cls.first(spot)
        for number in range(len(steps)):
            place = place.child(place_of(steps, number, place.names, place.player == CHANCE))
        return place

    @property
    def player(self) -> int:
        """The player who moves, ``CHANCE`` or ``TERMINAL``."""
        if isinstance(self.state, Decision):
            return self.state.mover
        return TERMINAL if self.folded >= 0 or len(self.board) == WHOLE else CHANCE

    @property
    def folded(self) -> int:
        """The player who folded; −1 if nobody did."""
        return -1 if isinstance(self.state, Decision) else self.state.folded

    @property
    def paid(self) -> tuple[int, int]:
        """The chips that each player has put in since the spot began."""
        return self.state.paid

    @property
    def pot(self) -> int:
        """The chips in the pot."""
        return self.spot.pot + sum(self.paid)

    @cached_property
    def _after(self) -> tuple[tuple[str, Decision | Ended, tuple[int, ...], float], ...]:
        """The possible continuations: name, betting, board, and the probability of the card."""
        if isinstance(self.state, Decision):
            return tuple((name, then, self.board, 1.0) for name, then in self.spot.moves(self.state))
        return tuple(self.spot.dealt(self.state, self.board)) if self.player == CHANCE else ()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The possible actions, or the cards that may be dealt."""
        return tuple(name for name, *_ in self._after)

    def child(self, index: int) -> "Place":
        """Return the place after one of the actions or cards."""
        name, state, board, share = self._after[index]
        steps = (*self.steps, (self, index))
        return Place(self.spot, state, board, self.chance * share, (*self.path, name), steps)

    @property
    def children(self) -> Iterator["Place"]:
        """The places that follow."""
        return map(self.child, range(len(self._after)))

    def present(self, seat: int) -> Indices:
        """Return the hands of a player that contain no card of the board."""
        return np.flatnonzero(alive(self.board, self.spot.hands[seat]))


def by_next_card(spot: Situation, line: str) -> tuple[list[str], list[str], list[Place]]:
    """Return the parts of a line before and after its card, and the place of the line for each possible card.

    Raises
    ------
    InvalidGameError
        If there is no such line, or it deals no card.
    """
    steps = [step.strip() for step in line.split(",") if step.strip()]
    anything = [place for place, step in enumerate(steps) if is_any_card(step)]
    if len(anything) > 1:
        raise InvalidGameError(f"line {shown(line)}: deal * appears {len(anything)} times, expected once")
    first, then = (steps[: anything[0]], steps[anything[0] + 1 :]) if anything else (steps, [])
    dealing = Place.at(spot, ", ".join(first))
    if dealing.player != CHANCE:
        expected = f"expected {one_of(dealing.names)}" if dealing.names else "the hand ends there"
        raise InvalidGameError(f"no card is dealt {after(', '.join(first))}; {expected}")
    return first, then, [Place.at(spot, ", ".join([*first, card, *then])) for card in dealing.names]


def after(line: str) -> str:
    """Return a description of a line."""
    return f"after {line}" if line else "at the root"
