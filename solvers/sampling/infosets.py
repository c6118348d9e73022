"""The infosets of one player that walks have met so far, in arrays that grow."""

import sys
from array import array
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NoReturn

from ...models.preferences import Prefer, PreferStrategy, iterate_degrees
from ...seqform.errors import ImperfectRecallError, InvalidGameError, shown
from ...seqform.polytope import is_hashable

#: An infoset: its entry in a dictionary, its number, a reference to its actions, and room for arrays to grow.
_INFOSET = 130
#: A set of actions that no infoset before had.
_MENU = 100
#: A sequence of an infoset, an array of floats: arrays grow by an eighth.
_FLOAT = 9

Wishes = Sequence[Prefer | PreferStrategy]


class Infosets:
    """The infosets of one player that have been met, numbered in that order, and what is known of them.

    Sequences are numbered as they come, from 0 on, those of an infoset together; -1 is the empty sequence.

    Parameters
    ----------
    player : int
    num_players : int
    with_baselines : bool
        Whether there are guesses of every player's value after each sequence.
    wishes : sequence of Prefer or PreferStrategy, optional
        With them every sequence has a degree, and every infoset a threshold and a count of visits.
    vulnerability : float
        That of wishes that have none of their own.

    Attributes
    ----------
    numbers : dict
        From labels to infosets.
    starts, parents : array of int
        Of each infoset the first sequence, and the sequence that leads to it.
    menus : list of tuple
        Of each infoset the actions.
    regrets, sums : array of float
        Of each sequence: cumulative sampled regrets, and sums of policies.
    baselines : list of array of float
        One a player.
    degrees, thresholds, visits : array of float
        Empty without wishes.
    size : int
        Bytes that all this takes, about.
    """

    __slots__ = (
        "_menus", "_vulnerability", "_wishes", "baselines", "degrees", "matched", "menus", "numbers", "parents",
        "player", "prefers", "regrets", "size", "starts", "sums", "thresholds", "visits",
    )  # fmt: skip

    def __init__(
        self,
        player: int,
        num_players: int,
        with_baselines: bool = False,
        wishes: Wishes | None = None,
        vulnerability: float = 0.0,
    ) -> None:
        self.player = player
        self.numbers: dict[Hashable, int] = {}
        self.menus: list[tuple[Hashable, ...]] = []
        self._menus: dict[tuple[Hashable, ...], tuple[Hashable, ...]] = {}  # equal ones are kept once
        self.starts, self.parents = array("q", [0]), array("q")
        self.regrets, self.sums = array("d"), array("d")
        self.baselines = [array("d") for _ in range(num_players if with_baselines else 0)]
        self.degrees, self.thresholds, self.visits = array("d"), array("d"), array("d")
        self.prefers = wishes is not None
        self.matched: set[int] = set()  # which wishes were about an infoset
        self.size = 0
        self._wishes, self._vulnerability = wishes or (), vulnerability

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def num_sequences(self) -> int:
        """Number of sequences, without the empty one."""
        return self.starts[-1]

    def add(self, label: Hashable, actions: Iterable[Hashable], parent: int) -> int:
        """Add an infoset that is met for the first time, and return its number.

        Raises
        ------
        InvalidGameError
            If it has no actions, or two that are the same, or a label cannot be hashed.
        """
        menu = tuple(actions)
        count = len(menu)
        if not is_hashable(label):
            raise InvalidGameError(f"player {self.player} has infoset {shown(label)}, expected a hashable label")
        if not count or not is_hashable(menu) or len(set(menu)) < count:
            raise InvalidGameError(
                f"infoset {shown(label)} of player {self.player} has actions {shown(menu)}, expected distinct labels"
            )
        number = len(self.numbers)
        zeros = [0.0] * count
        # The start comes first and the number last: Ctrl-C may interrupt this, and then the infoset has not been met.
        self._cut(number)
        self.starts.append(self.starts[-1] + count)
        self.parents.append(parent)
        self.regrets.extend(zeros)
        self.sums.extend(zeros)
        for baselines in self.baselines:
            baselines.extend(zeros)
        if self.prefers:
            self._lay_out(label, menu, parent < 0)
        own = 0 if menu in self._menus else _MENU + sys.getsizeof(menu)
        self.menus.append(self._menus.setdefault(menu, menu))
        floats = 2 + len(self.baselines) + self.prefers
        self.size += _INFOSET + sys.getsizeof(label) + own + _FLOAT * floats * count
        self.numbers[label] = number
        return number

    def refuse(self, number: int, label: Hashable, actions: Iterable[Hashable], parent: int) -> NoReturn:
        """Say what is wrong where an infoset has other actions, or another past, than when it was met first.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
        """
        menu = tuple(actions)
        if menu != self.menus[number]:
            raise InvalidGameError(
                f"infoset {shown(label)} of player {self.player} has actions {shown(menu)}, and has had "
                f"{shown(self.menus[number])} before, expected the same all over an infoset"
            )
        raise ImperfectRecallError(
            f"infoset {shown(label)} of player {self.player} has imperfect recall: the player's own past differs "
            "between two histories in it; give them different infosets"
        )

    def _lay_out(self, label: Hashable, menu: tuple[Hashable, ...], is_first: bool) -> None:
        """Append what wishes say of an infoset; where several are about it the last one counts."""
        degrees, threshold = [1.0] * len(menu), 0.0
        for index, wish in enumerate(self._wishes):
            for answer, own in iterate_degrees([wish], self.player, label, menu, is_first):
                degrees, threshold = answer, self._vulnerability if own is None else own
                self.matched.add(index)
        self.degrees.extend(degrees)
        self.thresholds.append(threshold)
        self.visits.append(0.0)

    def _cut(self, number: int) -> None:
        """Cut off what an interrupted addition has left."""
        if len(self.starts) == number + 1:
            return
        del self.starts[number + 1 :], self.parents[number:], self.menus[number:]
        rows: list[Any] = [self.regrets, self.sums, *self.baselines, *([self.degrees] if self.prefers else [])]
        for row in rows:
            del row[self.starts[-1] :]
        del self.thresholds[number:], self.visits[number:]
