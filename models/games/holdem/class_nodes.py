"""Nodes of games before the flop, in which each player holds one of 169 classes of hands."""

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from .cards import Range
from .charts import ChartedNode
from .classes import CLASS_OF_HAND, CLASS_SIZES, CLASSES
from .hand_tables import SpotTable
from .units import BIG_BLINDS


class ClassNode(ChartedNode):
    """A node before the flop; EVs and pots are in big blinds.

    Parameters
    ----------
    solved : SolvedPreflop or SolvedThreeHanded
    node : int
        The index in the public form.

    Attributes
    ----------
    path : tuple of str
        The actions that lead there.
    mover : str
        One of the seats; empty if the betting is over.
    actions : tuple of str
        At a flop, the chooser's continuations.
    pot : float
        In big blinds.
    """

    native = BIG_BLINDS
    has_classes_only = True

    def __init__(self, solved: Any, node: int, paid: Sequence[Fraction]) -> None:
        self.node, form = node, solved.form
        player = int(form.players[node])
        moving = form.children[node].tolist() if player >= 0 else []
        mover = self.seats[player] if player >= 0 else ""
        path = tuple(map(str, form.path(node)))
        super().__init__(solved, path, mover, tuple(str(form.actions[child]) for child in moving))
        self.paid = tuple(map(float, paid))
        self.pot = sum(self.paid)

    def _title(self, who: str) -> str:
        return f"{who or 'nobody to act'} after {', '.join(self.path) or 'the blinds'}, pot {self.pot_text}"

    @cached_property
    def strategy(self) -> Floats:
        """The frequency of each action for each class of the mover, shape (actions, 169)."""
        played: Floats = self.solved.profile.behaviour(self.node)
        return played

    @cached_property
    def reaches(self) -> tuple[Floats, ...]:
        """The share of each class that reaches the node, for all seats, shape (169,) each."""
        return tuple(self.solved.profile.reach(player, self.node) for player in range(len(self.seats)))

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The shares of :attr:`reaches`, as ranges over the 1,326 hands."""
        return tuple(Range(np.clip(reach, 0.0, 1.0)[CLASS_OF_HAND]) for reach in self.reaches)

    def hands(self, seat: str = "", only: str | Range | None = None) -> SpotTable:
        """Return the strategy and earnings of each class that occurs at the node, by EV, best first.

        Parameters
        ----------
        seat : str, optional
            One of the seats; by default the mover.
        only : str or Range, optional
            Show only the classes of these hands.
        """
        table = self.classes(seat, only)
        there = [row for row in table if row["weight"] > 0.0]
        return self._table(self.index_of(seat), sorted(there, key=lambda row: -(row["ev"] or 0.0)))

    def to_dict(self, by: str = "class") -> dict[str, Any]:
        """Return the node as plain data: its place, averages, and the classes of all seats."""
        return super().to_dict(by)

    def _class_rows(self, seat: int) -> list[dict[str, Any]]:
        likely, reach, evs, equities = (each[seat] for each in (self.likely, self.reaches, self.evs, self.equities))
        rows, total = [], likely.sum() or 1.0
        for number, name in enumerate(CLASSES):
            there = likely[number] > 0.0
            row: dict[str, Any] = {
                "class": name,
                "combinations": float(reach[number] * CLASS_SIZES[number]),
                "reach": float(reach[number]),
                "weight": float(likely[number] / total),
                "ev": float(evs[number]) if there and not np.isnan(evs[number]) else None,
                "equity": float(equities[number]) if there and not np.isnan(equities[number]) else None,
            }
            if self.seats[seat] == self.mover:
                row |= dict(zip(self.actions, self.strategy[:, number].tolist(), strict=True))
            rows.append(row)
        return rows
