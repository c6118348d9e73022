"""What meetings pay: an additive payoff in factors, each of which is a place and time where bodies may meet."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.factored import FactoredPayoff
from .walker import Mask, Party, Walker, Whole, sums


@dataclass(frozen=True, eq=False)
class Entries:
    """How much of which factor sequences hold.

    Attributes
    ----------
    keys : ndarray of int64, shape (k,)
        A number that tells a factor apart from every other.
    sequences : ndarray of int64, shape (k,)
    amounts : ndarray of float64, shape (k,)
    """

    keys: Whole
    sequences: Whole
    amounts: Floats

    @classmethod
    def joined(cls, parts: "Sequence[Entries]") -> "Entries":
        """Return several as one; nothing if there are none."""
        none, nothing = np.zeros(0, dtype=np.int64), np.zeros(0)
        return cls(
            np.concatenate([none, *(part.keys for part in parts)]),
            np.concatenate([none, *(part.sequences for part in parts)]),
            np.concatenate([nothing, *(part.amounts for part in parts)]),
        )

    def where(self, kept: Mask) -> "Entries":
        """Return those that a mask keeps."""
        return Entries(self.keys[kept], self.sequences[kept], self.amounts[kept])


@dataclass(frozen=True, eq=False)
class Amounts:
    """How much a player brings to each factor.

    Attributes
    ----------
    keys : ndarray of int64, shape (k,)
        Sorted, each once.
    values : ndarray of float64, shape (k,)
    """

    keys: Whole
    values: Floats

    @classmethod
    def of(cls, entries: Entries, plan: Floats) -> "Amounts":
        """Return what a plan brings."""
        keys, places = np.unique(entries.keys, return_inverse=True)
        return cls(keys, sums(places, entries.amounts * plan[entries.sequences], len(keys)))

    def at(self, keys: Whole) -> Floats:
        """Return how much is brought to some factors, none to those that are not known."""
        if not len(self.keys):
            return np.zeros(len(keys))
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], 0.0)


@dataclass(frozen=True, eq=False)
class Spots:
    """The times and places that numbers stand for: a node twice, or the ends of a move of player 0's."""

    times: Whole
    first: Whole
    second: Whole


@dataclass(frozen=True, eq=False)
class Keys:
    """Numbers for times and places, the same for both players.

    Attributes
    ----------
    num_nodes : int
    paces : tuple of ndarray of int64, each of shape (m,)
        The durations of the map's moves for each of player 0's bodies that differ in them.
    """

    num_nodes: int
    paces: tuple[Whole, ...]

    @classmethod
    def of(cls, walkers: Sequence[Walker]) -> "Keys":
        """Return the keys with which player 0's bodies are told apart by their paces."""
        paces: list[Whole] = []
        for walker in walkers:
            if not any(np.array_equal(walker.body.durations, pace) for pace in paces):
                paces.append(walker.body.durations)
        return cls(walkers[0].body.num_nodes, tuple(paces))

    def number(self, times: Whole, first: Whole, second: Whole, pace: int = 0) -> Whole:
        """Return a number for each time and pair of nodes: one node twice, or the ends of a move."""
        return ((times * self.num_nodes + first) * self.num_nodes + second) * len(self.paces) + pace

    def read(self, keys: Whole) -> Spots:
        """Return what numbers stand for; a time at a node is that before the step."""
        places, nodes = keys // len(self.paces), self.num_nodes
        return Spots(places // (nodes * nodes), places // nodes % nodes, places % nodes)

    def standing(self, walker: Walker, amounts: Floats | float = 1.0) -> Entries:
        """Return where a body comes to stand, times amounts of each node, or one for all."""
        there = walker.presences
        held = np.broadcast_to(amounts, walker.body.num_nodes)[there.nodes] * there.chances
        return Entries(self.number(there.times - 1, there.nodes, there.nodes), walker.sequences[there.moves], held)

    def passing(self, walker: Walker, amount: float = 1.0) -> Entries:
        """Return where one of player 0's bodies is on its way."""
        pace = next(number for number, each in enumerate(self.paces) if np.array_equal(walker.body.durations, each))
        on = np.flatnonzero(walker.moved)
        keys = self.number(walker.times[on], walker.sources[on], walker.targets[on], pace)
        return Entries(keys, walker.sequences[on], amount * walker.success[on])

    def met(self, walker: Walker, amounts: Floats | float = 1.0) -> Entries:
        """Return which of player 0's moves one of player 1's bodies meets inside an edge.

        Moves in opposite directions meet if they share a step, moves in the same direction if one begins later and
        ends earlier than the other. Amounts are of each move of the map, or one for all.
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
                theirs = np.where(others >= 0, durations[others], 0)
                ends = (walker.targets[on], walker.sources[on]) if towards else (walker.sources[on], walker.targets[on])
                ranges = [(times - theirs + 1, times + lengths)]
                if not towards:  # overtaken by a faster one, or by a slower one before
                    ranges = [(times + lengths - theirs + 1, times), (times + 1, times + lengths - theirs)]
                for first, stop in ranges:
                    counts = np.where(others >= 0, np.maximum(stop - first, 0), 0)
                    each = np.repeat(np.arange(len(on)), counts)
                    begun = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts) + first[each]
                    keys = self.number(begun, ends[0][each], ends[1][each], pace)
                    found.append(Entries(keys, walker.sequences[on][each], held[each]))
        return Entries.joined(found)


def _places(known: Whole, wanted: Whole) -> Whole:
    """Return where each wanted number stands among known ones, −1 where it does not."""
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
    """Put the factors that both players can hold in order; one more, of which player 1 holds 1, pays rewards.

    Parameters
    ----------
    attackers, units : Party
        Of player 0 and of player 1.
    rewards : sequence of ndarray of float64, each of shape (num_moves,)
        What the moves of each of player 0's walkers pay whatever player 1 does.
    left, right : Entries
        What each player's sequences hold, with what it pays in the left ones.
    scale : float, optional
        The largest absolute payoff, as :class:`~treeplex.seqform.factored.FactoredPayoff` takes it.
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
