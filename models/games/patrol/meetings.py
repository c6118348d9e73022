"""Payoffs of meetings: an additive payoff in factors, one for each place and time where bodies may meet."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.factored import FactoredPayoff
from .walker import Mask, Party, Walker, Whole, sums


@dataclass(frozen=True, eq=False)
class Entries:
    """The amounts of factors in sequences.

    Attributes
    ----------
    keys : ndarray of int64, shape (k,)
        A unique number of each factor.
    sequences : ndarray of int64, shape (k,)
    amounts : ndarray of float64, shape (k,)
    """

    keys: Whole
    sequences: Whole
    amounts: Floats

    @classmethod
    def joined(cls, parts: "Sequence[Entries]") -> "Entries":
        """Return several entries as one; empty if there are none."""
        none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(
            np.concatenate([none, *(part.keys for part in parts)]),
            np.concatenate([none, *(part.sequences for part in parts)]),
            np.concatenate([nothing, *(part.amounts for part in parts)]),
        )

    def where(self, kept: Mask) -> "Entries":
        """Return the entries selected by a mask."""
        return Entries(self.keys[kept], self.sequences[kept], self.amounts[kept])


@dataclass(frozen=True, eq=False)
class Amounts:
    """The amount that a player contributes to each factor.

    Attributes
    ----------
    keys : ndarray of int64, shape (k,)
        Sorted and unique.
    values : ndarray of float64, shape (k,)
    """

    keys: Whole
    values: Floats

    @classmethod
    def of(cls, entries: Entries, plan: Floats) -> "Amounts":
        """Return the contributions of a plan."""
        keys, places = np.unique(entries.keys, return_inverse=True)
        return cls(keys, sums(places, entries.amounts * plan[entries.sequences], len(keys)))

    def at(self, keys: Whole) -> Floats:
        """Return the contributions to some factors, 0 for unknown ones."""
        if not len(self.keys):
            return np.zeros(len(keys))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], 0.0)


@dataclass(frozen=True, eq=False)
class Spots:
    """The times and places that keys represent: a node twice, or the ends of player 0's move."""

    times: Whole
    first: Whole
    second: Whole


@dataclass(frozen=True, eq=False)
class Keys:
    """A numbering of times and places, the same for both players.

    Attributes
    ----------
    num_nodes : int
    paces : tuple of ndarray of int64, each of shape (m,) or (steps, m)
        The durations of the map's moves, for each of player 0's bodies with different durations.
    """

    num_nodes: int
    paces: tuple[Whole, ...]

    @classmethod
    def of(cls, walkers: Sequence[Walker]) -> "Keys":
        """Return the keys that distinguish player 0's bodies by their speeds."""
        paces: list[Whole] = []
        for walker in walkers:
            if not any(np.array_equal(walker.body.durations, pace) for pace in paces):
                paces.append(walker.body.durations)
        return cls(walkers[0].body.num_nodes, tuple(paces))

    def number(self, times: Whole, first: Whole, second: Whole, pace: int = 0) -> Whole:
        """Return a number for each time and pair of nodes: one node twice, or the ends of a move."""
        return ((times * self.num_nodes + first) * self.num_nodes + second) * len(self.paces) + pace

    def read(self, keys: Whole) -> Spots:
        """Return the meaning of numbers; a time at a node is the time before the step."""
        places, nodes = keys // len(self.paces), self.num_nodes
        return Spots(places // (nodes * nodes), places // nodes % nodes, places % nodes)

    def standing(self, walker: Walker, amounts: Floats | float = 1.0) -> Entries:
        """Return the probability of each result of a body's moves, times an amount per node or one amount for all."""
        there = walker.presences
        held = np.broadcast_to(amounts, walker.body.num_nodes)[there.nodes] * there.chances
        return Entries(self.number(there.times - 1, there.nodes, there.nodes), walker.sequences[there.moves], held)

    def passing(self, walker: Walker, amount: float = 1.0) -> Entries:
        """Return the edges on which one of player 0's bodies moves."""
        pace = next(number for number, each in enumerate(self.paces) if np.array_equal(walker.body.durations, each))
        on = np.flatnonzero(walker.moved)
        keys = self.number(walker.times[on], walker.sources[on], walker.targets[on], pace)
        return Entries(keys, walker.sequences[on], amount * walker.success[on])

    def met(self, walker: Walker, amounts: Floats | float = 1.0) -> Entries:
        """Return the moves of player 0 that one of player 1's bodies meets inside an edge.

        Moves in opposite directions meet if they share a step, and moves in the same direction if one begins later and
        ends earlier than the other. There is an amount per move of the map, or one for all.
        """
        body = walker.body
        on = np.flatnonzero(walker.moved)
        times, lengths, moves = walker.times[on], walker.durations[on], walker.moves[on]
        held = walker.success[on] * np.broadcast_to(amounts, len(body.sources))[moves]
        pairs = body.sources * self.num_nodes + body.targets
        reverse = _places(pairs, body.targets * self.num_nodes + body.sources)
        found: list[Entries] = []
        for pace, durations in enumerate(self.paces):
            for towards, others in ((True, reverse[moves]), (False, moves)):
                ends = (walker.targets[on], walker.sources[on]) if towards else (walker.sources[on], walker.targets[on])
                after = _first_after(durations, others)
                ranges = [(after(times), times + lengths)]
                if not towards:  # overtaken by a faster body, or overtaking a slower one
                    ranges = [(after(times + lengths), times), (times + 1, after(times + lengths - 1))]
                for first, stop in ranges:
                    counts = np.where(others >= 0, np.maximum(stop - first, 0), 0)
                    each = np.repeat(np.arange(len(on)), counts)
                    begun = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts) + first[each]
                    keys = self.number(begun, ends[0][each], ends[1][each], pace)
                    found.append(Entries(keys, walker.sequences[on][each], held[each]))
        return Entries.joined(found)


def _first_after(durations: Whole, moves: Whole) -> Callable[[Whole], Whole]:
    """Return the function of times that returns when each move may begin at the earliest to end after that time."""
    if durations.ndim == 1:
        return lambda times: times - durations[moves] + 1
    steps, count = durations.shape
    arrivals = np.minimum(np.arange(steps)[:, None] + durations, steps + 1)
    ended = np.bincount((arrivals * count + np.arange(count)).ravel(), minlength=(steps + 2) * count)
    before = np.cumsum(ended.reshape(-1, count), axis=0)  # moves do not overtake later ones
    return lambda times: before[np.minimum(times, steps), moves]


def _places(known: Whole, wanted: Whole) -> Whole:
    """Return the position of each wanted number among known ones, −1 if it is missing."""
    order = np.argsort(known, kind="stable")
    found = np.searchsorted(known, wanted, sorter=order)
    places = order[np.minimum(found, len(known) - 1)]
    return np.where(known[places] == wanted, places, -1)


def assembled(
    attackers: Party,
    units: Party,
    rewards: Sequence[Floats],
    left: Entries,
    right: Entries,
    scale: float | None = None,
) -> FactoredPayoff:
    """Assemble the factors to which both players contribute, and one for rewards, to which player 1 contributes 1.

    Parameters
    ----------
    attackers, units : Party
        The bodies of player 0 and of player 1.
    rewards : sequence of ndarray of float64, each of shape (num_moves,)
        The payoffs of the moves of each of player 0's walkers that do not depend on player 1.
    left, right : Entries
        The contributions of each player's sequences, with payoffs in the left ones.
    scale : float, optional
        The largest absolute payoff, as in :class:`~treeplex.seqform.factored.FactoredPayoff`.
    """
    shared = np.intersect1d(left.keys, right.keys)
    left, right = (each.where(np.isin(each.keys, shared) & (each.amounts != 0.0)) for each in (left, right))
    columns, rows = np.searchsorted(shared, left.keys), np.searchsorted(shared, right.keys)
    paid = np.concatenate([walker.sequences for walker in attackers.walkers])
    return FactoredPayoff(
        sp.coo_array(
            (
                np.concatenate([left.amounts, *rewards]),
                (np.append(left.sequences, paid), np.append(columns, np.full(len(paid), len(shared)))),
            ),
            shape=(attackers.treeplex.num_sequences, len(shared) + 1),
        ),
        sp.coo_array(
            (np.append(right.amounts, 1.0), (np.append(rows, len(shared)), np.append(right.sequences, 0))),
            shape=(len(shared) + 1, units.treeplex.num_sequences),
        ),
        scale=scale,
    )
