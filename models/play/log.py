"""What a log of play has come to: how many games ended in which class, and what lines could not be read."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ...seqform.observer import ObserverTree


@dataclass(frozen=True)
class BadLines:
    """Lines of one kind that could not be read and were skipped.

    Attributes
    ----------
    kind : str
        What is wrong with them, in a few words; see :data:`~treeplex.models.play.decoding.KINDS`.
    count : int
        How many there are.
    line : int
        The first of them, counted from one.
    message : str
        What is wrong with that one, and what was expected.
    """

    kind: str
    count: int
    line: int
    message: str


@dataclass(frozen=True, eq=False)
class PlayLog:
    """The games of a log, counted by the class in which they ended.

    Attributes
    ----------
    view : ObserverTree
        The classes of histories that whoever kept the log can tell apart.
    ended : ndarray of int64, shape (num_classes,)
        How many games ended in each class; zero but at terminal classes. Read-only.
    num_lines : int
        Lines of the log, blank ones and headers included.
    bad : tuple of BadLines
        The lines that were skipped, by kind; empty unless that was asked for.
    """

    view: ObserverTree
    ended: npt.NDArray[np.int64]
    num_lines: int
    bad: tuple[BadLines, ...] = ()

    def __post_init__(self) -> None:
        self.ended.flags.writeable = False

    def __repr__(self) -> str:
        skipped = f", skipped={self.num_bad:,}" if self.bad else ""
        return f"PlayLog(games={self.num_games:,}, seat={self.seat}{skipped})"

    @property
    def seat(self) -> int:
        """Whose log it is: the observer's seat."""
        return self.view.player

    @cached_property
    def num_games(self) -> int:
        """Number of games."""
        return int(self.ended.sum())

    @cached_property
    def num_bad(self) -> int:
        """Number of lines that were skipped."""
        return sum(each.count for each in self.bad)

    @cached_property
    def passed(self) -> npt.NDArray[np.int64]:
        """How many games passed each class, or ended in it, shape (num_classes,). Read-only."""
        totals = self.view.totals(self.ended)
        totals.flags.writeable = False
        return totals

    @property
    def mean_result(self) -> float:
        """What the observer was paid in a game, on average, in payoff units; not a number without games."""
        played = self.view.terminal
        if not self.num_games:
            return float("nan")
        return float(self.ended[played] @ self.view.results[played]) / self.num_games
