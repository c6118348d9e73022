"""The part of a game that a search has met: everybody but the searcher is drawn, as chance is."""

import zlib
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.errors import ImperfectRecallError, InvalidGameError, shown
from ...seqform.polytope import is_hashable
from ...seqform.rules import CHANCE, TERMINAL, Rules, outcomes_of
from .label_features import action_hash, features_of
from .search_kernel import DRAW, HISTORIES, LEAF, PARENT, START, STOP, UNKNOWN, TreeArrays
from .splitmix import cumulative

#: What a player does at an infoset: from its label and its actions to probabilities.
Answer = Callable[[Hashable, tuple[Hashable, ...]], Sequence[float]]
#: Bytes of a history that has not been expanded, beside its row: its state, about.
_STATE = 400


class Growing:
    """Rows of numbers, with room for more.

    Examples
    --------
    >>> from treeplex.solvers.sampling.grown_tree import Growing
    >>> rows = Growing(np.int64, 2)
    >>> rows.extend([[1, 2], [3, 4]])
    >>> len(rows), rows.array[:2].tolist()
    (2, [[1, 2], [3, 4]])
    """

    def __init__(self, kind: npt.DTypeLike, *shape: int) -> None:
        self.array: npt.NDArray[Any] = np.zeros((1024, *shape), dtype=kind)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, rows: Any) -> None:
        """Add rows behind the last."""
        end = self._count + len(rows)
        if end > len(self.array):
            room = np.zeros((max(2 * len(self.array), end), *self.array.shape[1:]), dtype=self.array.dtype)
            room[: self._count] = self.array[: self._count]
            self.array = room
        self.array[self._count : end] = rows
        self._count = end


class GrownTree:
    """A game as one player sees it against fixed others, grown where it is walked.

    Parameters
    ----------
    rules : Rules
    player : int
        Who searches.
    others : mapping of int to callable
        What each other player does.
    particles : int
        The most histories that an infoset is known by.
    buckets : int
        Places of features, a power of two.
    memory : int or str, optional

    Attributes
    ----------
    labels, menus : list
        Of each infoset of the searcher that has been met.
    """

    def __init__(
        self,
        rules: Rules,
        player: int,
        others: Mapping[int, Answer],
        particles: int,
        buckets: int,
        memory: int | str | None = None,
    ) -> None:
        self._rules, self._player, self._others = rules, player, others
        self._particles, self._buckets, self._budget = particles, buckets, Budget(memory)
        self._outcomes_at = outcomes_of(rules)
        self._nodes, self._infosets = Growing(np.int32, 5), Growing(np.int64, 6)
        self._sums, self._payoffs, self._shares = Growing(np.float64), Growing(np.float64), Growing(np.float64)
        self._features, self._actions = Growing(np.int64), Growing(np.int64)
        self._members = Growing(np.int32)
        self._numbers: dict[Hashable, int] = {}
        self.labels: list[Hashable] = []
        self.menus: list[tuple[Hashable, ...]] = []
        self._parents: list[int] = []
        self._of_place: list[int] = []
        self._begin: tuple[int, ...] | None = None
        # Of a history that has not been expanded the state before it and what leads on.
        self._ways: list[Any] = [(rules.initial_state(), None)]
        self._nodes.extend([(UNKNOWN, 0, 0, 0, -1)])

    @property
    def arrays(self) -> TreeArrays:
        """What compiled functions read; it is there until the next growth."""
        return TreeArrays(
            self._nodes.array,
            self._infosets.array,
            self._sums.array,
            self._payoffs.array,
            self._features.array,
            self._actions.array,
            self._members.array,
            self._shares.array,
        )

    @property
    def num_places(self) -> int:
        """Number of actions of all infosets."""
        return len(self._actions)

    def places(self, infoset: int) -> range:
        """The places of an infoset's actions."""
        row = self._infosets.array[infoset]
        return range(int(row[START]), int(row[STOP]))

    def expand(self, node: int) -> None:
        """Ask the rules what a history is, and add those that follow.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
            If the rules break a rule of games.
        GameTooLargeError
            If there is no memory left.
        """
        rules = self._rules
        state, step = self._ways[node]
        if step is not None:
            state = rules.child(state, step[0])
        who = rules.player(state)
        parent = int(self._nodes.array[node, PARENT])
        self._ways[node] = None
        if who == TERMINAL:
            self._nodes.array[node, :4] = LEAF, 0, 0, len(self._payoffs)
            self._payoffs.extend([float(rules.payoffs(state)[self._player])])
            return
        steps: Sequence[Hashable]
        if who == self._player:
            label, menu = rules.infoset(state), tuple(rules.actions(state))
            kind, place, steps = self._infoset(label, menu, parent), 0, menu
            first = int(self._infosets.array[kind, START])
            parents: Iterable[int] = range(first, first + len(menu))
        else:
            if who == CHANCE:
                outcomes = self._outcomes_at(state)
                steps, chances = [each for each, _ in outcomes], [float(chance) for _, chance in outcomes]
            else:
                steps = tuple(rules.actions(state))
                chances = list(self._others[who](rules.infoset(state), steps))
            kind, place, parents = DRAW, len(self._sums), [parent] * len(steps)
            if not chances or min(chances) < 0.0 or abs(sum(chances) - 1.0) > 1e-6:
                raise InvalidGameError(
                    f"the state {shown(state)} has probabilities {shown(chances)}, expected a sum of 1"
                )
            self._sums.extend(cumulative(chances))
        count = len(self._nodes)
        self._budget.require((_STATE + 20) * (count + len(steps)), "the part of the game that a search has met")
        self._nodes.array[node, :4] = kind, count, len(steps), place
        self._nodes.extend([(UNKNOWN, 0, 0, 0, before) for before in parents])
        self._ways.extend((state, (each,)) for each in steps)

    def _infoset(self, label: Hashable, menu: tuple[Hashable, ...], parent: int) -> int:
        if not is_hashable(label) or not menu:
            raise InvalidGameError(
                f"player {self._player} has infoset {shown(label)} with actions {shown(menu)}, expected a hashable label "
                "and at least one action"
            )
        number = self._numbers.get(label)
        if number is None:
            number, first = len(self.labels), len(self._actions)
            features = features_of(label, self._buckets)
            begin = len(self._features)
            self._features.extend(features)
            self._actions.extend([action_hash(action) for action in menu])
            self._infosets.extend([(first, first + len(menu), begin, begin + len(features), -1, -1)])
            self._parents.append(parent)
            self._of_place.extend([number] * len(menu))
            self.labels.append(label)
            self.menus.append(menu)
            self._numbers[label] = number
        elif self.menus[number] != menu:
            raise InvalidGameError(
                f"infoset {shown(label)} of player {self._player} has actions {shown(menu)} and {shown(self.menus[number])}"
            )
        elif self._parents[number] != parent:
            raise ImperfectRecallError(
                f"infoset {shown(label)} of player {self._player} follows different actions of its own"
            )
        return number

    def kind(self, node: int) -> int:
        """Return what a history is, expanded if it was not."""
        if self._nodes.array[node, 0] == UNKNOWN:
            self.expand(node)
        return int(self._nodes.array[node, 0])

    def believe(self, infoset: int) -> None:
        """Find the histories of an infoset, with their probabilities given that the searcher is there.

        All others that its player's last action may lead to are found with it.
        """
        self.following(self._parents[infoset])

    def following(self, place: int) -> tuple[int, ...]:
        """Return the infosets that may come after an action, or at first after -1, and find their histories."""
        sources: list[tuple[int, float]]
        if place < 0:
            if self._begin is not None:
                return self._begin
            sources = [(0, 1.0)]
        else:
            before = self._of_place[place]
            if self._infosets.array[before, HISTORIES] < 0:
                self.believe(before)
            first, end = self._infosets.array[before, HISTORIES:].tolist()
            shares = np.diff(self._shares.array[first:end], prepend=0.0).tolist()
            action = place - int(self._infosets.array[before, START])
            heads = self._nodes.array[self._members.array[first:end], 1] + action
            sources = list(zip(heads.tolist(), shares, strict=True))
        met: dict[int, tuple[list[int], list[float]]] = {}
        while sources:
            node, weight = sources.pop()
            kind = self.kind(node)
            if kind >= 0:
                nodes, weights = met.setdefault(kind, ([], []))
                nodes.append(node)
                weights.append(weight)
            elif kind == DRAW:
                _, child, count, start, _ = self._nodes.array[node].tolist()
                chances = np.diff(self._sums.array[start : start + count], prepend=0.0).tolist()
                sources += [(child + each, weight * one) for each, one in enumerate(chances) if one > 0.0]
        for number, (nodes, weights) in met.items():
            if self._infosets.array[number, HISTORIES] < 0:
                self._keep(number, np.array(nodes), np.array(weights))
        if place < 0:
            self._begin = tuple(met)
        return tuple(met)

    def _keep(self, infoset: int, nodes: npt.NDArray[np.int64], weights: Floats) -> None:
        if len(nodes) > self._particles:
            # Systematic resampling: evenly spaced points with one random shift, the same for a label in every run.
            shift = zlib.crc32(repr(self.labels[infoset]).encode()) / 2**32
            points = (np.arange(self._particles) + shift) / self._particles * weights.sum()
            drawn, counts = np.unique(np.searchsorted(np.cumsum(weights), points, side="right"), return_counts=True)
            drawn = np.minimum(drawn, len(nodes) - 1)
            nodes, weights = nodes[drawn], counts.astype(np.float64)
        first = len(self._members)
        self._members.extend(nodes)
        self._shares.extend(cumulative(weights.tolist()))
        self._infosets.array[infoset, HISTORIES:] = first, first + len(nodes)
