"""Walks drawn at random from a strategy: which moves each of the defender's units makes on each day."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.budget import Budget
from .walker import Mask, Party, Walker, Whole

#: Numbers that are drawn at once, of some days.
_CHUNK = 2**20


@dataclass(frozen=True, eq=False)
class Walks:
    """The routes of one unit on some days.

    Attributes
    ----------
    walker : Walker
    moves : ndarray of int64, shape (num_days, most)
        The walker's moves, in order; −1 after the last.
    failed : ndarray of bool, shape (num_days, most)
        Which of them fail.
    """

    walker: Walker
    moves: Whole
    failed: Mask

    def frequencies(self, num_sequences: int) -> Floats:
        """Return on which part of the days each sequence was played, shape (num_sequences,)."""
        played = self.walker.sequences[self.moves[self.moves >= 0]]
        return np.bincount(played, minlength=num_sequences) / len(self.moves)

    def amounts(self, coefficients: Floats) -> Floats:
        """Return what the sequences that were played amount to on each day, shape (num_days,)."""
        by_move = np.append(coefficients[self.walker.sequences], 0.0)  # of −1 nothing
        amounts: Floats = by_move[self.moves].sum(axis=1)
        return amounts


def sampled_walks(units: Party, behaviour: Floats, days: Sequence[int], seed: int) -> tuple[Walks, ...]:
    """Return what each unit does on some days.

    Parameters
    ----------
    units : Party
    behaviour : ndarray of float64, shape (num_sequences,)
        The probability of each sequence's action at its infoset.
    days : sequence of int
        Their numbers. A day is drawn by a generator of its own, ``numpy.random.default_rng([seed, day])``: it is the
        same for any choice of other days.
    seed : int

    Returns
    -------
    tuple of Walks
        One a unit. Units draw independently of each other: the payoff adds up over them, so that no joint distribution
        with the same occupancies is better.

    Notes
    -----
    At (t, k) the move m is made with probability x(t, k, m) / Σ_m x(t, k, m), and fails with its own; so over days the
    frequency of each sequence has its plan's value x for expectation, by induction over time.
    """
    shape = (len(units.walkers), max(walker.body.last for walker in units.walkers), 2)
    # Moves and whether they fail, and a copy of both.
    Budget().require(9 * len(days) * math.prod(shape), f"{len(days):,} days of routes")
    chunks, most = [], max(1, _CHUNK // math.prod(shape))
    for start in range(0, len(days), most):
        drawn = np.array([np.random.default_rng([seed, day]).random(shape) for day in days[start : start + most]])
        chunks.append([_walked(walker, behaviour, drawn[:, place]) for place, walker in enumerate(units.walkers)])
    return tuple(
        Walks(walker, *(np.concatenate([one[number][part] for one in chunks]) for part in range(2)))
        for number, walker in enumerate(units.walkers)
    )


def _walked(walker: Walker, behaviour: Floats, drawn: Floats) -> tuple[Whole, Mask]:
    """Walk on all days at once, by numbers of [0, 1), shape (num_days, longest, 2): for moves and for failures."""
    size, count = walker.body.num_nodes, len(drawn)
    places, first, counts = np.unique(walker.times * size + walker.sources, return_index=True, return_counts=True)
    summed = np.cumsum(behaviour[walker.sequences])
    below = np.where(first > 0, summed[first - 1], 0.0)
    above = summed[first + counts - 1]
    moves = np.full((count, walker.body.last), -1)
    failed = np.zeros((count, walker.body.last), dtype=bool)
    on, (time,), (node,) = np.arange(count), walker.entry_times, walker.entry_nodes
    at = np.full(count, time * size + node)
    for step in range(walker.body.last):
        found = np.minimum(np.searchsorted(places, at), len(places) - 1)
        walking = places[found] == at
        on, found = on[walking], found[walking]
        if not len(on):
            break
        wanted = below[found] + drawn[on, step, 0] * (above[found] - below[found])
        wanted = np.minimum(wanted, np.nextafter(above[found], -np.inf))  # round-off draws no move of probability 0
        made = np.searchsorted(summed, wanted, side="right")
        fails = drawn[on, step, 1] < walker.failure[made]
        moves[on, step], failed[on, step] = made, fails
        at = np.where(
            fails,
            (walker.times[made] + 1) * size + walker.sources[made],
            (walker.times[made] + walker.durations[made]) * size + walker.targets[made],
        )
    return moves, failed
