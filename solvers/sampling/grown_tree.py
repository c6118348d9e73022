"""The part of a game that a search has visited; the other players are sampled like chance."""

import zlib
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.errors import ImperfectRecallError, InvalidGameError, shown
from ...seqform.labels import A_LABEL, has_order, is_label, listed
from ...seqform.rules import CHANCE, PROBABILITY_TOLERANCE, TERMINAL, Rules, outcomes_of
from .label_features import action_hash, features_of
from .search_kernel import DRAW, HISTORIES, LEAF, PARENT, START, STOP, UNKNOWN, TreeArrays
from .splitmix import cumulative
from .streamed_play import Answer

#: The approximate bytes of a history, including its state until it is expanded.
_HISTORY = 400
#: Smaller probabilities are multiplied by a power of two, which is exact.
_HALVINGS = 512
_TINY = 0.5**_HALVINGS


class Growing:
    """A growing array of rows.

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
        """Append rows."""
        end = self._count + len(rows)
        if end > len(self.array):
            room = np.zeros((max(2 * len(self.array), end), *self.array.shape[1:]), dtype=self.array.dtype)
            room[: self._count] = self.array[: self._count]
            self.array = room
        self.array[self._count : end] = rows
        self._count = end

    def cut(self, count: int) -> None:
        """Remove all rows after a given number of rows."""
        self._count = min(self._count, count)


class GrownTree:
    """A game against fixed strategies from one player's view, which grows where it is visited.

    Parameters
    ----------
    rules : Rules
    player : int
        The searching player.
    others : mapping of int to callable
        The strategy of each other player.
    particles : int
        The largest number of stored histories of an infoset.
    buckets : int
        The number of indices of features, a power of two.
    memory : int or str, optional

    Notes
    -----
    Ctrl-C may interrupt anywhere: the last entry makes an addition valid, and incomplete additions are removed.
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
        # For each infoset: its label, its actions, and the place of its player's last action.
        self._known: list[tuple[Hashable, tuple[Hashable, ...], int]] = []
        self._begin: tuple[int, ...] | None = None
        #: The payoffs of a leaf at which they do not sum to zero, if such a leaf has been met.
        self.unbalanced: Sequence[float] | None = None
        # For a history that is not expanded yet: the state before it and the action or outcome.
        self._ways: list[Any] = [(rules.initial_state(), None)]
        self._nodes.extend([(UNKNOWN, 0, 0, 0, -1)])

    @property
    def arrays(self) -> TreeArrays:
        """The arrays that compiled functions read; valid until the next growth."""
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

    def __len__(self) -> int:
        """Return the number of the searcher's infosets met so far."""
        return len(self._known)

    def label(self, infoset: int) -> Hashable:
        """Return an infoset's label."""
        return self._known[infoset][0]

    def menu(self, infoset: int) -> tuple[Hashable, ...]:
        """Return an infoset's actions."""
        return self._known[infoset][1]

    def places(self, infoset: int) -> range:
        """Return the indices of an infoset's actions."""
        row = self._infosets.array[infoset]
        return range(int(row[START]), int(row[STOP]))

    def expand(self, node: int) -> None:
        """Expand a history by the rules, and add its successors.

        Raises
        ------
        InvalidGameError, ImperfectRecallError
            If the rules are not valid.
        GameTooLargeError
            If the memory budget is used up.
        """
        rules = self._rules
        state, step = self._ways[node]
        if step is not None:
            state = rules.child(state, step[0])
        who = rules.player(state)
        parent = int(self._nodes.array[node, PARENT])
        if who == TERMINAL:
            paid = [float(each) for each in rules.payoffs(state)]
            if abs(sum(paid)) > 1e-9 * max(1.0, *map(abs, paid)):
                self.unbalanced = paid
            self._payoffs.extend([paid[self._player]])
            self._nodes.array[node, :4] = LEAF, 0, 0, len(self._payoffs) - 1
            self._ways[node] = None
            return
        steps: tuple[Hashable, ...]
        parents: Sequence[int]
        if who == self._player:
            steps = _steps(rules.actions(state), state)
            kind, place = self._infoset(rules.infoset(state), steps, parent), 0
            parents = self.places(kind)
        else:
            if who == CHANCE:
                outcomes = _steps(self._outcomes_at(state), state)
                steps, chances = tuple(each for each, _ in outcomes), [float(chance) for _, chance in outcomes]
            else:
                steps = _steps(rules.actions(state), state)
                chances = list(self._others[who](rules.infoset(state), steps))
            kind, place, parents = DRAW, len(self._sums), [parent] * len(steps)
            if not chances or min(chances) < 0.0 or abs(sum(chances) - 1.0) > PROBABILITY_TOLERANCE:
                raise InvalidGameError(f"{shown(state)} has the probabilities {shown(chances)}, expected a sum of 1")
            self._sums.extend(cumulative(chances))
        count = len(self._nodes)
        self._budget.require(_HISTORY * (count + len(steps)), "the part of the game that a search has visited")
        del self._ways[count:]
        self._ways.extend((state, (each,)) for each in steps)
        self._nodes.extend([(UNKNOWN, 0, 0, 0, before) for before in parents])
        self._nodes.array[node, :4] = kind, count, len(steps), place
        self._ways[node] = None

    def _infoset(self, label: Hashable, menu: tuple[Hashable, ...], parent: int) -> int:
        """Return the number of an infoset, adding it if it is new."""
        who = f"infoset {shown(label)} of player {self._player}"
        if not is_label(label) or not menu or not is_label(menu):
            raise InvalidGameError(f"{who} has actions {shown(menu)}, expected at least one action, each {A_LABEL}")
        number = self._numbers.get(label)
        if number is not None:
            _, known, before = self._known[number]
            if known != menu:
                raise InvalidGameError(f"{who} has actions {shown(menu)} in one history and {shown(known)} in another")
            if before != parent:
                raise ImperfectRecallError(
                    f"{who} has imperfect recall: the player's own past differs between two histories in it"
                )
            return number
        number = len(self._known)
        self._infosets.cut(number)
        start = int(self._infosets.array[number - 1, STOP]) if number else 0
        self._actions.cut(start)
        features, begin = features_of(label, self._buckets), len(self._features)
        self._features.extend(features)
        self._actions.extend([action_hash(action) for action in menu])
        self._infosets.extend([(start, start + len(menu), begin, begin + len(features), -1, -1)])
        self._known.append((label, menu, parent))
        self._numbers[label] = number
        return number

    def kind(self, node: int) -> int:
        """Return the kind of a history, after expanding it if necessary."""
        if self._nodes.array[node, 0] == UNKNOWN:
            self.expand(node)
        return int(self._nodes.array[node, 0])

    def believe(self, infoset: int) -> None:
        """Find the histories of an infoset, with their probabilities conditional on reaching it.

        It also finds the histories of all other infosets to which the player's last action may lead.
        """
        self.following(self._known[infoset][2])
        if self._infosets.array[infoset, HISTORIES] < 0:  # none in the sample that represents the earlier histories
            self._infosets.array[infoset, HISTORIES:] = 0

    def following(self, place: int) -> tuple[int, ...]:
        """Return the infosets that may follow an action, or the first ones for -1, and find their histories."""
        sources: list[tuple[int, float, int]]  # a history, and its probability: a number times a power of 1/2
        if place < 0:
            if self._begin is not None:
                return self._begin
            sources = [(0, 1.0, 0)]
        else:
            starts = self._infosets.array[: len(self), START]
            before = int(np.searchsorted(starts, place, side="right")) - 1
            if self._infosets.array[before, HISTORIES] < 0:
                self.believe(before)
            first, end = self._infosets.array[before, HISTORIES:].tolist()
            shares = np.diff(self._shares.array[first:end], prepend=0.0).tolist()
            action = place - int(self._infosets.array[before, START])
            heads = self._nodes.array[self._members.array[first:end], 1] + action
            sources = [(head, share, 0) for head, share in zip(heads.tolist(), shares, strict=True)]
        met: dict[int, tuple[list[int], list[tuple[float, int]]]] = {}
        while sources:
            node, weight, halvings = sources.pop()
            if weight < _TINY:  # after a long path the probability may underflow
                weight, halvings = weight / _TINY, halvings + _HALVINGS
            kind = self.kind(node)
            if kind >= 0:
                nodes, weights = met.setdefault(kind, ([], []))
                nodes.append(node)
                weights.append((weight, halvings))
            elif kind == DRAW:
                _, child, count, start, _ = self._nodes.array[node].tolist()
                chances = np.diff(self._sums.array[start : start + count], prepend=0.0).tolist()
                sources += [(child + each, weight * one, halvings) for each, one in enumerate(chances) if one > 0.0]
        for number, (nodes, weights) in met.items():
            if self._infosets.array[number, HISTORIES] < 0:
                least = min(halvings for _, halvings in weights)
                relative = [weight * 0.5 ** (halvings - least) for weight, halvings in weights]
                self._keep(number, np.array(nodes), np.array(relative))
        if place < 0:
            self._begin = tuple(met)
        return tuple(met)

    def _keep(self, infoset: int, nodes: npt.NDArray[np.int64], weights: Floats) -> None:
        if len(nodes) > self._particles:
            # Systematic resampling: evenly spaced points with one random shift, the same for a label in every run.
            shift = zlib.crc32(repr(self.label(infoset)).encode()) / 2**32
            points = (np.arange(self._particles) + shift) / self._particles * weights.sum()
            drawn, counts = np.unique(np.searchsorted(np.cumsum(weights), points, side="right"), return_counts=True)
            drawn = np.minimum(drawn, len(nodes) - 1)
            nodes, weights = nodes[drawn], counts.astype(np.float64)
        first = len(self._shares)
        self._members.cut(first)
        self._members.extend(nodes)
        self._shares.extend(cumulative(weights.tolist()))
        self._infosets.array[infoset, HISTORIES:] = first, first + len(nodes)


def _steps(given: Any, state: Any) -> tuple[Any, ...]:
    """Return the actions or outcomes of a state, in order."""
    return tuple(given) if has_order(given) else listed(given, f"{shown(state)} has actions or outcomes", verb="return")
