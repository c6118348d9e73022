"""Walks sampled from a strategy: the moves of each of the defender's units on each day."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.budget import Budget
from .route_mixtures import Mixture
from .walker import Mask, Party, Walker, Whole

#: Number of random numbers drawn at once, for several days.
_CHUNK = 2**20


@dataclass(frozen=True, eq=False)
class Walks:
    """The routes of one unit on several days.

    Attributes
    ----------
    walker : Walker
    moves : ndarray of int64, shape (num_days, most)
        The walker's moves, in order; −1 after the last.
    failed : ndarray of bool, shape (num_days, most)
        Whether each move fails.
    """

    walker: Walker
    moves: Whole
    failed: Mask

    def frequencies(self, num_sequences: int) -> Floats:
        """Return the share of days on which each sequence was played, shape (num_sequences,)."""
        played = self.walker.sequences[self.moves[self.moves >= 0]]
        return np.bincount(played, minlength=num_sequences) / len(self.moves)

    def amounts(self, coefficients: Floats) -> Floats:
        """Return the total of given amounts over the sequences played on each day, shape (num_days,)."""
        by_move = np.append(coefficients[self.walker.sequences], 0.0)  # nothing for −1
        amounts: Floats = by_move[self.moves].sum(axis=1)
        return amounts


def sampled_walks(units: Party, behaviour: Floats, days: Sequence[int], seed: int) -> tuple[Walks, ...]:
    """Return the routes of each unit on several days.

    Parameters
    ----------
    units : Party
    behaviour : ndarray of float64, shape (num_sequences,)
        The probability of each sequence's action at its infoset.
    days : sequence of int
        Their numbers. Each day has its own generator, ``numpy.random.default_rng([seed, day])``, so a day does not
        depend on the others drawn.
    seed : int

    Returns
    -------
    tuple of Walks
        One per unit. Units draw independently. Because the payoff is a sum over units, no joint distribution with the
        same occupancies is better.

    Notes
    -----
    At (t, k) the move m is made with probability x(t, k, m) / Σ_m x(t, k, m), and fails with its own probability. By
    induction over time, the expected frequency of each sequence over days is its plan value x.
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
    """Simulate all days at once, from numbers in [0, 1), shape (num_days, longest, 2): for moves and for failures."""
    size, count = walker.num_states, len(drawn)
    places, first, counts = np.unique(walker.times * size + walker.before, return_index=True, return_counts=True)
    summed = np.cumsum(behaviour[walker.sequences])
    below = np.where(first > 0, summed[first - 1], 0.0)
    above = summed[first + counts - 1]
    moves = np.full((count, walker.body.last), -1)
    failed = np.zeros((count, walker.body.last), dtype=bool)
    on, (time,), (node,) = np.arange(count), walker.entry_times, walker.entry_states
    at = np.full(count, time * size + node)
    for step in range(walker.body.last):
        found = np.minimum(np.searchsorted(places, at), len(places) - 1)
        walking = places[found] == at
        on, found = on[walking], found[walking]
        if not len(on):
            break
        wanted = below[found] + drawn[on, step, 0] * (above[found] - below[found])
        wanted = np.minimum(
            wanted, np.nextafter(above[found], -np.inf)
        )  # excludes moves of probability 0 despite round-off
        made = np.searchsorted(summed, wanted, side="right")
        fails = drawn[on, step, 1] < walker.failure[made]
        moves[on, step], failed[on, step] = made, fails
        at = np.where(
            fails,
            (walker.times[made] + 1) * size + walker.before[made],
            (walker.times[made] + walker.durations[made]) * size + walker.after[made],
        )
    return moves, failed


def own_part(walker: Walker, route: Whole) -> Whole:
    """Return a body's part of a joint route: its moves, and the choice of its entry."""
    first, last = int(walker.sequences[0]), int(walker.sequences[-1])
    if walker.body.chooses:
        first = int(walker.entry_sequences[0])
    chosen: Whole = route[(route >= first) & (route <= last)]
    return chosen


def drawn_walks(units: Party, mixture: Mixture, days: Sequence[int], seed: int) -> tuple[Walks, ...]:
    """Return the routes of each unit on several days, drawn together from a mixture of joint routes.

    Parameters
    ----------
    units : Party
    mixture : Mixture
    days : sequence of int
        Their numbers. Day n has the generator ``numpy.random.default_rng([seed, n])``, so it does not depend on others.
    seed : int
    """
    drawn: Floats = np.array([np.random.default_rng([seed, day]).random() for day in days])
    levels = np.cumsum(mixture.probabilities)
    chosen = np.searchsorted(levels, drawn * levels[-1], side="right")
    found = []
    for walker in units.walkers:
        moves = np.full((len(mixture.routes), walker.body.last), -1)
        for number, route in enumerate(mixture.routes):
            own = own_part(walker, route) - int(walker.sequences[0])
            moves[number, : len(own)] = own
        found.append(Walks(walker, moves[chosen], np.zeros((len(days), walker.body.last), dtype=bool)))
    return tuple(found)
