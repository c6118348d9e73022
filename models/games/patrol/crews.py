"""Crews for the shifts of a roster, so that everyone's work is as equal as possible."""

import math

import numpy as np
from scipy.optimize import linear_sum_assignment

from ....seqform.arrays import Floats
from .walker import Mask, Whole

#: The length of a week, in days.
WEEK = 7
#: The largest number of passes over all shifts.
_PASSES = 50
#: Smaller improvements do not count.
_GAIN = 1e-9


def assigned_crews(
    work: Floats, crews: int, rng: np.random.Generator, week: int | None = None, repeated: Mask | None = None
) -> Whole:
    """Assign crews to the shifts of several days.

    Parameters
    ----------
    work : ndarray of float64, shape (days, units, k)
        The amounts of work of each shift.
    crews : int
        At least the number of units.
    rng : numpy.random.Generator
    week : int, optional
        The largest number of shifts of a crew in any seven days in a row, at least ``7 * units / crews``.
    repeated : ndarray of bool, shape (days - r + 1, units), optional
        Whether a unit's r days from each day on must not all have the same crew.

    Returns
    -------
    ndarray of int64, shape (days, units)
        The crew of each shift. No crew has two shifts on one day, and crews' numbers of shifts differ by at most one.

    Notes
    -----
    Crews first take turns, each day in an order that avoids repetitions. This respects `week`: seven days contain at
    most ⌈7 · units / crews⌉ shifts of a crew. Then pairs of shifts are exchanged while this reduces the number of
    forbidden repetitions or, at the same number, the sum of squared differences of the crews' work from its mean, each
    kind of work in units of its mean per shift. The result is a local optimum; :func:`least_difference` bounds the
    global one.
    """
    days, units, kinds = work.shape
    taken: Whole = rng.permutation(crews)[np.arange(days * units).reshape(days, units) % crews]
    for day in range(days):
        taken[day] = _ordered(taken, day, repeated, rng)
    mean = np.abs(work).mean(axis=(0, 1))
    scaled = (work / np.where(mean > 0.0, mean, 1.0)).reshape(-1, kinds)
    flat = taken.reshape(-1)  # a view: changes of shifts change the days
    loads = np.zeros((crews, kinds))
    np.add.at(loads, flat, scaled)

    def exchanged(one: int, other: int, gain: float) -> bool:
        """Exchange two shifts if this helps."""
        pair, before = sorted({one // units, other // units}), flat[[one, other]]
        faults = _repetitions(taken, pair, repeated)
        flat[[one, other]] = before[::-1]
        if (_repetitions(taken, pair, repeated), gain) < (faults, -_GAIN) and _allowed(taken, pair, week):
            loads[before[0]] += scaled[other] - scaled[one]
            loads[before[1]] -= scaled[other] - scaled[one]
            return True
        flat[[one, other]] = before
        return False

    for _ in range(_PASSES):
        count = 0
        for one in range(len(flat)):
            delta = scaled - scaled[one]
            gains = 2.0 * np.sum(delta * (loads[flat[one]] - loads[flat] + delta), axis=1)
            best = np.argsort(gains, kind="stable")
            if not _repetitions(taken, [one // units], repeated):
                best = best[gains[best] < -_GAIN]
            best = best[flat[best] != flat[one]]
            count += any(exchanged(one, other, float(gains[other])) for other in best.tolist())
        if not count:
            break
    return taken


def _ordered(taken: Whole, day: int, repeated: Mask | None, rng: np.random.Generator) -> Whole:
    """Return the crews of a day in an order that completes as few forbidden repetitions as possible."""
    crews: Whole = rng.permutation(taken[day])
    first = -1 if repeated is None else day + len(repeated) - len(taken)
    if repeated is None or first < 0:
        return crews
    same = (taken[first:day] == taken[first]).all(axis=0) & repeated[first]
    costs = same & (crews[:, None] == taken[first])
    rows, columns = linear_sum_assignment(costs)
    ordered = np.empty_like(crews)
    ordered[columns] = crews[rows]
    return ordered


def _repetitions(taken: Whole, days: list[int], repeated: Mask | None) -> int:
    """Return the number of forbidden repetitions that contain one of some days."""
    if repeated is None:
        return 0
    length = len(taken) - len(repeated) + 1
    starts = {start for day in days for start in range(max(0, day - length + 1), min(day, len(repeated) - 1) + 1)}
    return sum(int((repeated[one] & (taken[one : one + length] == taken[one]).all(axis=0)).sum()) for one in starts)


def repetitions(taken: Whole, repeated: Mask | None) -> int:
    """Return the number of forbidden repetitions of an assignment; see :func:`assigned_crews`."""
    return _repetitions(taken, list(range(len(taken))), repeated)


def _allowed(taken: Whole, changed: list[int], week: int | None) -> bool:
    """Return whether the changed days contain no crew twice, and whether the weeks around them keep the limit."""
    for day in changed:
        if len(set(taken[day].tolist())) < taken.shape[1]:
            return False
        if week is not None and len(changed) > 1:
            around = taken[max(0, day - WEEK + 1) : day + WEEK]
            for crew in taken[day].tolist():
                worked = (around == crew).any(axis=1).astype(np.int64)
                if np.convolve(worked, np.ones(WEEK, dtype=np.int64)).max() > week:
                    return False
    return True


def least_difference(amounts: Floats, crews: int) -> float:
    """Return a lower bound on the difference between the crews with the most and with the least work.

    Parameters
    ----------
    amounts : ndarray of float64
        The work of each shift.
    crews : int

    Returns
    -------
    float
        If all amounts are multiples of a whole number g, crews' amounts are too, and differ by at least g unless
        the total is a multiple of g times the number of crews. Otherwise 0.
    """
    whole = np.rint(amounts)
    if np.abs(amounts - whole).max(initial=0.0) > 1e-9:
        return 0.0
    unit = math.gcd(*whole.astype(np.int64).ravel().tolist())
    return float(unit) if unit and int(whole.sum()) // unit % crews else 0.0
