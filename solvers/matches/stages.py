"""The state of the betting of a hand between two players."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from ...models.games.holdem.bets import Decision
from ...models.matches import Table
from .reads import AMOUNTS


def faced(street: int, price: float, paid: float | None, pot: float) -> tuple[int, int, int, int]:
    """Return a player's situation, as the first four indices in :data:`~treeplex.solvers.matches.reads.COUNTED`.

    Parameters
    ----------
    street : int
    price : float
        The price of a call, in big blinds.
    paid : float or None
        The amount that the mover has put in, in big blinds; ``None`` if it has put in chips after the flop.
    pot : float
        The pot, in big blinds.
    """
    shows = len(AMOUNTS) + 1 if paid is None else int(np.searchsorted(AMOUNTS, paid, side="right"))
    return street, int(price > 0.0), shows, int(np.searchsorted(AMOUNTS, price or pot, side="right"))


@dataclass
class Stage:
    """The state of the betting: the street, and what each player has put in before and during it.

    Amounts are in chips; those of hands from files may be ``Decimal``.

    Attributes
    ----------
    now : list of int
        The amounts that each player has put in on the street.
    last : int
        The size of the last raise over the previous bet.
    begun : int
        The stacks at the start of the hand.
    unit : int
        The big blind.
    street : int
        The street's number in :data:`~treeplex.models.matches.STREETS`.
    paid : int
        The amount that each player had put in before the street.
    mover : int
    checked : bool
        Whether the other player has just checked.
    entered : list of bool
        Whether each player has put in chips after the flop.

    Examples
    --------
    >>> from treeplex.models.matches import Table
    >>> from treeplex.solvers.matches.stages import Stage
    >>> stage = Stage.before(Table(), [(0, 1, "raise 300"), (0, 0, "call"), (1, 0, "bet 400")], street=1)
    >>> stage.paid, stage.now, stage.faces(1)
    (300, [400, 0], (1, 1, 1, 2))
    """

    now: list[int]
    last: int
    begun: int
    unit: int
    street: int = 0
    paid: int = 0
    mover: int = 1
    checked: bool = False
    entered: list[bool] = field(default_factory=lambda: [False, False])

    @classmethod
    def before(cls, table: Table, history: Sequence[tuple[int, int, str]], street: int) -> "Stage":
        """Return the state after a history, on a street."""
        stage = cls(list(table.blinds), table.big_blind, table.stack, table.big_blind)
        for when, seat, action in history:
            stage.go_to(when)
            stage.take(seat, action)
        stage.go_to(street)
        return stage

    def after(self, action: str) -> "Stage":
        """Return the state after an action of the mover, on the next street if the betting is over."""
        over = action == "call" or (action == "check" and self.checked)
        found = copy(self)
        found.now, found.entered = list(self.now), list(self.entered)
        found.take(self.mover, action)
        if over:
            found.go_to(min(self.street + 1, 3))
        return found

    def faces(self, seat: int) -> tuple[int, int, int, int]:
        """Return a seat's situation, as the first four indices in :data:`~treeplex.solvers.matches.reads.COUNTED`."""
        price, unit = max(self.now) - self.now[seat], float(self.unit)
        paid = None if self.entered[seat] else float(self.paid + self.now[seat]) / unit
        return faced(self.street, float(price) / unit, paid, float(2 * self.paid + sum(self.now)) / unit)

    @property
    def stack(self) -> int:
        """The stacks at the beginning of the street."""
        return self.begun - self.paid

    @property
    def decision(self) -> Decision:
        """The betting of the street alone."""
        return Decision(self.street - 1, self.mover, 0, (self.now[0], self.now[1]), self.last, checked=self.checked)

    def total(self, action: str) -> int:
        """Return the total to which an action bets or raises; 0 if it does neither."""
        text = action.partition(" ")[2] or "0"
        amount: Any = self.stack if action == "all-in" else int(text) if text.isdigit() else Decimal(text)
        return amount  # type: ignore[no-any-return]

    def go_to(self, street: int) -> None:
        """Start a street if it comes after the current one."""
        if street > self.street:
            self.paid += max(self.now)
            self.street, self.now, self.last, self.mover, self.checked = street, [0, 0], self.unit, 0, False

    def take(self, seat: int, action: str) -> None:
        """Apply an action of a seat."""
        total = self.total(action)
        if total:
            self.last = max(self.last, total - max(self.now))
        self.now[seat] = total or (max(self.now) if action == "call" else self.now[seat])
        self.entered[seat] |= self.street > 0 and action not in ("fold", "check")
        self.mover, self.checked = 1 - seat, action == "check"
