"""All pieces of a convex or concave piecewise linear function of one variable, from supporting lines."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ...seqform.arrays import Floats

Payload = TypeVar("Payload")

# The relative difference up to which lines are equal: a steep line is only as accurate as its slope.
_RELATIVE = 1e-9
# The distance up to which a line touches the function, as a fraction of the tolerance for equal lines.
_TOUCH = 1e-3
# Pieces at the ends that are shorter than this fraction of the interval are ignored.
_EDGE = 1e-9
# The interval is searched from left to right in steps; the first step is this fraction of it.
_FIRST_STEP = 1 / 64
# If a step finds fewer pieces than this, the next step is twice as long; if it finds more, half as long.
_FEW, _MANY = 1, 3


@dataclass(frozen=True, eq=False)
class Line(Generic[Payload]):
    """A line that supports a function: it touches the function and lies on one side of it everywhere.

    Parameters
    ----------
    first, last : float
        Its values at the ends of the interval.
    payload : object
        The object behind the line, such as an optimal strategy.
    """

    first: float
    last: float
    payload: Payload


@dataclass(frozen=True, eq=False)
class Envelope(Generic[Payload]):
    """A piecewise linear function on an interval.

    Attributes
    ----------
    lower, upper : float
        The interval.
    breakpoints : ndarray of float64, shape (k − 1,)
        The points where one piece ends and the next begins, ascending.
    pieces : tuple of Line, length k
    touching : tuple of Line, length k + 1
        The line found at each of :attr:`knots`, which need not be an adjacent piece: its payload belongs to that
        point.
    solves : int
        The number of supporting lines requested.
    """

    lower: float
    upper: float
    breakpoints: Floats
    pieces: tuple[Line[Payload], ...]
    touching: tuple[Line[Payload], ...]
    solves: int

    @property
    def knots(self) -> Floats:
        """The breakpoints between the ends of the interval, shape (k + 1,)."""
        return np.concatenate([[self.lower], self.breakpoints, [self.upper]])

    def piece(self, at: float) -> int:
        """Return the number of the piece at a point; at a breakpoint, the piece to the right."""
        return int(np.searchsorted(self.breakpoints, at, side="right"))

    def value(self, at: float) -> float:
        """Return the function's value at a point."""
        return value_at(self.pieces[self.piece(at)], at, self.lower, self.upper)


def value_at(line: Line[Payload], at: float, lower: float, upper: float) -> float:
    """Return the value of a line at a point of the interval from `lower` to `upper`."""
    part = (at - lower) / (upper - lower) if upper > lower else 0.0
    return (1.0 - part) * line.first + part * line.last


def find_envelope(
    support: Callable[[float], Line[Payload]], lower: float, upper: float, tolerance: float, accuracy: float = 0.0
) -> Envelope[Payload]:
    """Find all pieces of a convex or concave piecewise linear function.

    Parameters
    ----------
    support : callable
        Returns a line that touches the function at a point and, if the function is convex, is nowhere above it; if
        it is concave, nowhere below it. Consecutive calls are for nearby points, so a solver that continues from its
        last answer is fast.
    lower, upper : float
        The interval, ``lower <= upper``.
    tolerance : float
        Lines whose values at both ends differ by less than this in total are equal; so are lines that differ by
        less than 1e-9 of their values. A line that is nearer to the function than a thousandth of this touches it.
    accuracy : float, optional
        The allowed distance of the pieces from the function. A function may have very many pieces; a larger
        accuracy finds fewer.

    Returns
    -------
    Envelope

    Notes
    -----
    Two pieces give two lines. At their crossing, either the function has the same value, and the crossing is a
    breakpoint, or a third line is found and both halves are searched. With k pieces 2 k − 1 lines are enough, and no
    grid is needed (Eisner and Severance, "Mathematical techniques for efficient record segmentation in large shared
    databases", Journal of the ACM 23, 1976). The interval is searched in steps from left to right, whose length adapts
    to the pieces found. Otherwise distant lines would be found first, and the simplex method would need more pivots
    from its last basis. Pieces at the ends that are shorter than 1e-9 of the interval are not distinguished from the
    ends.

    Examples
    --------
    The largest of three lines on the interval from 0 to 1:

    >>> from treeplex.solvers.parametric.envelope import Line, find_envelope
    >>> lines = [Line(1.0, 0.0, "falling"), Line(0.75, 0.75, "level"), Line(0.0, 1.5, "rising")]
    >>> def support(t):
    ...     return max(lines, key=lambda line: (1 - t) * line.first + t * line.last)
    >>> found = find_envelope(support, 0.0, 1.0, tolerance=1e-9)
    >>> found.breakpoints.tolist(), [piece.payload for piece in found.pieces], found.value(0.75)
    ([0.25, 0.5], ['falling', 'level', 'rising'], 1.125)
    """
    return _Search(support, lower, upper, tolerance, accuracy).run()


class _Search(Generic[Payload]):
    def __init__(
        self,
        support: Callable[[float], Line[Payload]],
        lower: float,
        upper: float,
        tolerance: float,
        accuracy: float,
    ) -> None:
        self.support, self.lower, self.upper, self.tolerance = support, lower, upper, tolerance
        self.touch = _TOUCH * tolerance
        self.near = max(self.touch, accuracy)
        self.solves = 0
        # The lines found at crossings of two neighbours, by the neighbours' identities, and the neighbours.
        self.touching: dict[tuple[int, int], tuple[Line[Payload], Line[Payload], Line[Payload]]] = {}

    def run(self) -> Envelope[Payload]:
        width = self.upper - self.lower
        left = right = self.line(self.lower)
        lines = [left]
        place, step = self.lower, _FIRST_STEP * width
        while place < self.upper:
            # A step may vanish in floats.
            is_last = place + 1.5 * step >= self.upper or place + step <= place
            place = self.upper if is_last else place + step
            right = self.line(place)
            found = self.between(lines[-1], right)
            lines += found
            step *= 2.0 if len(found) < _FEW else 0.5 if len(found) > _MANY else 1.0
            step = max(step, _EDGE * width)
        lines = self.pruned(lines)
        pairs = list(itertools.pairwise(lines))
        breakpoints = [self.crossing(low, high) for low, high in pairs]
        touching = (
            self.touching[id(low), id(high)][0] if (id(low), id(high)) in self.touching else self.line(place)
            for (low, high), place in zip(pairs, breakpoints, strict=True)
        )
        return Envelope(
            lower=self.lower,
            upper=self.upper,
            breakpoints=np.array(breakpoints),
            pieces=tuple(lines),
            touching=(left, *touching, right),
            solves=self.solves,
        )

    def line(self, place: float) -> Line[Payload]:
        self.solves += 1
        return self.support(place)

    def at(self, line: Line[Payload], place: float) -> float:
        return value_at(line, place, self.lower, self.upper)

    def between(self, first: Line[Payload], last: Line[Payload]) -> list[Line[Payload]]:
        """Return the lines after the first one up to the last one, from left to right."""
        found = []
        stack = [(first, last)]
        while stack:
            low, high = stack.pop()
            if self.alike(low, high):
                continue
            place = self.crossing(low, high)
            between = self.line(place)
            # A new line between two neighbours crosses the left one first. With round-off in steep lines this may fail,
            # and the search would not terminate.
            alike = self.alike(low, between) or self.alike(between, high)
            nested = self.crossing(low, between) <= place <= self.crossing(between, high)
            if alike or not nested or abs(self.at(between, place) - self.at(low, place)) <= self.near:
                self.touching[id(low), id(high)] = (between, low, high)
                found.append(high)
            else:
                # The left half comes first: depth first, so that the next point is near.
                stack += [(between, high), (low, between)]
        return found

    def alike(self, low: Line[Payload], high: Line[Payload]) -> bool:
        size = max(abs(low.first), abs(low.last))
        return abs(low.first - high.first) + abs(low.last - high.last) <= self.tolerance + _RELATIVE * size

    def crossing(self, low: Line[Payload], high: Line[Payload]) -> float:
        """Return where both lines have the same value, or an end of the interval if they do not cross in it."""
        left, right = low.first - high.first, high.last - low.last
        if left + right == 0.0:
            return self.lower
        part = min(max(left / (left + right), 0.0), 1.0)
        return self.lower + (self.upper - self.lower) * part

    def pruned(self, lines: list[Line[Payload]]) -> list[Line[Payload]]:
        """Return the lines that have their own piece: other lines touch the function only at a knot."""
        edge = _EDGE * (self.upper - self.lower)
        kept: list[Line[Payload]] = []
        for line in lines:
            while kept and not self.has_piece(kept[-2] if len(kept) > 1 else None, kept[-1], line):
                kept.pop()
            if not kept or self.crossing(kept[-1], line) < self.upper - edge:
                kept.append(line)
        return kept

    def has_piece(self, left: Line[Payload] | None, line: Line[Payload], right: Line[Payload]) -> bool:
        """Return whether a line is the maximum somewhere between its neighbours."""
        ends = self.crossing(line, right)
        if left is None:
            return ends > self.lower + _EDGE * (self.upper - self.lower)
        place = self.crossing(left, right)
        apart = abs(self.at(line, place) - self.at(left, place)) > self.touch
        return apart and ends > self.crossing(left, line)
