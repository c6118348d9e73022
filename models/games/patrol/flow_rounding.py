"""Routes of a unit on several days from its plan: each day's distribution is the plan, and counts of moves are rounded.

The plan of a unit is a flow over times and places. N times this flow is rounded to whole numbers by dependent rounding,
which keeps each expectation, and the routes of N days are dealt from the rounded flow in random order.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from ....seqform.arrays import Floats
from .walker import Walker, Whole

#: Flows are whole numbers of parts, so that rounding is exact; N days are N times this many parts.
PARTS = 2**40
#: Returns whether an event of probability numerator / denominator happens.
Draw = Callable[[int, int], bool]


def flow_in_parts(walker: Walker, behaviour: Floats, days: int) -> Whole:
    """Return the expected number of days on which a unit makes each move, in parts of 1 / :data:`PARTS`.

    Parameters
    ----------
    walker : Walker
        A unit whose moves do not fail.
    behaviour : ndarray of float64, shape (num_sequences,)
        The probability of each sequence's action at its infoset.
    days : int

    Returns
    -------
    ndarray of int64, shape (num_moves,)
        A flow: at each time and place, the parts that leave are those that arrive. Cumulative amounts are rounded, so
        moves of probability 0 get none.
    """
    size, amounts = walker.num_states, np.zeros(len(walker.moves), dtype=np.int64)
    arrived = np.zeros((walker.body.last + 1, size), dtype=np.int64)
    arrived[walker.entry_times[0], walker.entry_states[0]] = days * PARTS
    bounds = np.searchsorted(walker.times, np.arange(walker.body.last + 1))
    for time, (first, last) in enumerate(pairwise(bounds.tolist())):
        if first == last:
            continue
        _, begins, counts = np.unique(walker.before[first:last], return_index=True, return_counts=True)
        summed = np.cumsum(behaviour[walker.sequences[first:last]])
        below = np.repeat(np.append(0.0, summed)[begins], counts)
        total = np.repeat(summed[begins + counts - 1], counts)
        inflow = arrived[time, walker.before[first:last]]
        with np.errstate(invalid="ignore", divide="ignore"):
            until = np.rint(inflow * ((summed - below) / (total - below)))
        until = np.where(summed == total, inflow, np.where(inflow > 0, until, 0).astype(np.int64))
        until = np.minimum(until, inflow)
        before = np.append(0, until[:-1])
        before[begins] = 0
        amounts[first:last] = until - before
        ends = time + walker.durations[first:last], walker.after[first:last]
        np.add.at(arrived, ends, amounts[first:last])
    return amounts


def rounded_flow(walker: Walker, amounts: Whole, draw: Draw) -> Whole:
    """Round a flow to whole numbers, keeping each expectation.

    Parameters
    ----------
    walker : Walker
    amounts : ndarray of int64, shape (num_moves,)
        From :func:`flow_in_parts`.
    draw : callable
        Returns whether an event happens, given the numerator and the denominator of its probability.

    Returns
    -------
    ndarray of int64, shape (num_moves,)
        The number of days on which each move is made: the given amount, rounded down or up. So are the numbers of days
        on which the unit is at each place at each time.

    Notes
    -----
    Every vertex of the graph of fractional arcs has at least two of them, because the flow is conserved and its total
    is a whole number. The graph thus has a cycle. The flow along the cycle may rise by u or fall by d until an arc
    becomes whole; it rises with probability d / (u + d), so the expectation of every arc stays the same. Each step
    makes an arc whole for good, so there are at most as many steps as arcs.

    References
    ----------
    R. Gandhi, S. Khuller, S. Parthasarathy, A. Srinivasan (2006), "Dependent rounding and its applications to
    approximation algorithms", Journal of the ACM 53.
    """
    tails, heads, left = _network(walker, amounts)
    beside: dict[int, dict[int, None]] = {}
    for arc, amount in enumerate(left):
        if amount % PARTS:
            beside.setdefault(tails[arc], {})[arc] = None
            beside.setdefault(heads[arc], {})[arc] = None
    for start in list(beside):
        path, visited = list[int](), [start]
        while beside[start]:
            here = visited[-1]
            arc = next(one for one in beside[here] if not path or one != path[-1])
            there = heads[arc] if tails[arc] == here else tails[arc]
            path.append(arc)
            if there not in visited:
                visited.append(there)
                continue
            begins = visited.index(there)
            _cancel(path[begins:], visited[begins:], tails, heads, left, beside, draw)
            del path[begins:], visited[begins + 1 :]
    return np.array(left[: len(amounts)], dtype=np.int64) // PARTS


def _network(walker: Walker, amounts: Whole) -> tuple[list[int], list[int], list[int]]:
    """Return the tails, heads and amounts of a network: the moves, then an arc through each time and place."""
    size, sink = walker.num_states, 2 * (walker.body.last + 1) * walker.num_states
    arrivals = (walker.times + walker.durations) * size + walker.after
    places = np.unique(arrivals)
    through = np.bincount(np.searchsorted(places, arrivals), minlength=len(places)) * 0
    np.add.at(through, np.searchsorted(places, arrivals), amounts)
    tails = np.concatenate([2 * (walker.times * size + walker.before) + 1, 2 * places])
    heads = np.concatenate([2 * arrivals, np.where(places // size == walker.body.last, sink, 2 * places + 1)])
    return tails.tolist(), heads.tolist(), np.concatenate([amounts, through]).tolist()


def _cancel(
    cycle: Sequence[int],
    vertices: Sequence[int],
    tails: Sequence[int],
    heads: Sequence[int],
    left: list[int],
    beside: dict[int, dict[int, None]],
    draw: Draw,
) -> None:
    """Raise or lower the flow along a cycle until one of its arcs is whole."""
    signs = [1 if tails[arc] == vertex else -1 for arc, vertex in zip(cycle, vertices, strict=True)]
    fractions = [left[arc] % PARTS for arc in cycle]
    pairs = list(zip(signs, fractions, strict=True))
    up = min(PARTS - part if sign > 0 else part for sign, part in pairs)
    down = min(part if sign > 0 else PARTS - part for sign, part in pairs)
    change = up if draw(down, up + down) else -down
    for arc, sign in zip(cycle, signs, strict=True):
        left[arc] += sign * change
        if left[arc] % PARTS == 0:
            del beside[tails[arc]][arc], beside[heads[arc]][arc]


def dealt_routes(walker: Walker, counts: Whole, days: int, rng: np.random.Generator) -> Whole:
    """Deal the routes of several days from a whole flow.

    Parameters
    ----------
    walker : Walker
    counts : ndarray of int64, shape (num_moves,)
        The number of days on which each move is made, from :func:`rounded_flow`.
    days : int
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int64, shape (days, last)
        The moves of each day in order, −1 after the last. At each time and place, the moves that leave it are shuffled
        among the days on which the unit is there. All days are equivalent, so each day makes each move with probability
        ``counts / days``.
    """
    size, moves = walker.num_states, np.full((days, walker.body.last), -1)
    at = np.full(days, walker.entry_times[0] * size + walker.entry_states[0])
    made = np.zeros(days, dtype=np.int64)
    used = np.flatnonzero(counts)
    places = walker.times[used] * size + walker.before[used]
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    for own in np.split(used, starts[1:]):
        there = np.flatnonzero(at == walker.times[own[0]] * size + walker.before[own[0]])
        chosen = rng.permutation(np.repeat(own, counts[own]))
        moves[there, made[there]] = chosen
        made[there] += 1
        at[there] = (walker.times[chosen] + walker.durations[chosen]) * size + walker.after[chosen]
    return moves
