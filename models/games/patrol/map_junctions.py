"""Junctions of a map's lines: shared points, and ends that lie on another line."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ....seqform.arrays import Floats
from .map_coordinates import Place
from .walker import Whole

#: Distance in metres within which a place is on a line, and within which an end is reported as nearly touching one.
ON, NEAR = 0.03, 1.0
#: Number of segments at the end of a line that do not count as another street that it touches.
_OWN = 2
#: Number of boxes compared at once, and largest total number, in the search for crossings.
_AT_ONCE, _MOST = 500_000, 20_000_000


@dataclass(frozen=True)
class Junctions:
    """Lines that are cut at their junctions.

    Attributes
    ----------
    pieces : list of list of list of Place
        The pieces of each line, from node to node.
    touched : list of Place
        Nodes that lie on a line between its points.
    near : list of (Place, int)
        Ends within :data:`NEAR` metres of a line that they do not touch, with the index of the line.
    crossings : list of (int, int)
        Lines that cross without a common point.
    unknown : bool
        Whether there were too many overlapping lines to find all crossings.
    """

    pieces: list[list[list[Place]]]
    touched: list[Place]
    near: list[tuple[Place, int]]
    crossings: list[tuple[int, int]]
    unknown: bool = False


def junctions(lines: Sequence[Sequence[Place]], places: Collection[Place], scales: Floats) -> Junctions:
    """Cut lines where they meet.

    A point of a line belongs to all lines on which it lies. It is a node if it is an end of a line or one of the given
    places, or if lines lead from it in at least three directions. Overlapping lines therefore have no nodes where they
    only bend.

    Parameters
    ----------
    lines : sequence of sequence of Place
        Lines of at least one point each, with no equal consecutive points.
    places : collection of Place
    scales : ndarray of float64, shape (2,)
        Factors that convert differences of coordinates to metres.

    Examples
    --------
    The second line ends on the first one, between its points:

    >>> import numpy as np
    >>> from treeplex.models.games.patrol.map_junctions import junctions
    >>> found = junctions([[(0, 0), (2, 0)], [(1, 1), (1, 0)]], [], np.ones(2))
    >>> found.pieces
    [[[(0, 0), (1, 0)], [(1, 0), (2, 0)]], [[(1, 1), (1, 0)]]]
    >>> found.touched
    [(1, 0)]
    """
    ends = {place for line in lines for place in (line[0], line[-1])}
    nodes = ends.union(places)
    owners = np.array([number for number, line in enumerate(lines) for _ in line[1:]], dtype=np.int64)
    if not len(owners):
        return Junctions([[list(line)] for line in lines], [], [], [])
    firsts = np.cumsum([0, *(len(line) - 1 for line in lines)])
    corners = np.array([pair for line in lines for pair in pairwise(line)], dtype=np.float64) * scales
    # The points that lie on each line, with their position in segments; and the lines that ends nearly touch.
    lying: dict[Place, set[int]] = {place: set() for place in places}  # the lines that contain each point
    for number, line in enumerate(lines):
        for place in line:
            lying.setdefault(place, set()).add(number)
    spots = list(lying)
    at = np.array(spots, dtype=np.float64) * scales
    more: dict[int, list[tuple[float, Place]]] = defaultdict(list)
    near: dict[Place, int] = {}
    for which, segments in _boxes_that_meet(at - NEAR, at + NEAR, corners.min(axis=1), corners.max(axis=1)):
        begin, along = corners[segments, 0], corners[segments, 1] - corners[segments, 0]
        parts = np.sum((at[which] - begin) * along, axis=1) / np.maximum(np.sum(along**2, axis=1), 1e-300)
        away = np.linalg.norm(begin + np.clip(parts, 0.0, 1.0)[:, None] * along - at[which], axis=1)
        close = np.flatnonzero(away <= NEAR)
        for number, segment, part, distance in zip(
            *(each[close].tolist() for each in (which, segments, parts, away)), strict=True
        ):
            place, owner = spots[number], int(owners[segment])
            own = owner in lying[place]
            if own and not _far_from_its_end(lines[owner], place, segment - int(firsts[owner])):
                continue
            if distance <= ON:
                if 0.0 < part < 1.0:
                    more[owner].append((segment - int(firsts[owner]) + part, place))
            elif not own and place in ends and len(lying[place]) == 1:
                near.setdefault(place, owner)
    touched = {place for found in more.values() for _, place in found}
    crossings = _crossings(lines, touched, owners, corners)
    longer = [_with(line, more.get(number, [])) for number, line in enumerate(lines)]
    around: dict[Place, set[Place]] = defaultdict(set)
    for line in longer:
        for first, second in pairwise(line):
            around[first].add(second)
            around[second].add(first)
    nodes |= {place for place, others in around.items() if len(others) > 2}
    return Junctions(
        [list(_cut(line, nodes)) for line in longer],
        sorted(touched & nodes),
        sorted((place, line) for place, line in near.items() if place not in touched),
        sorted(crossings or ()),
        crossings is None,
    )


def _far_from_its_end(line: Sequence[Place], place: Place, segment: int) -> bool:
    """Return whether a segment of a line meets one of the line's ends because the line returns to it."""
    if place in line[1:-1] or line[0] == line[-1]:
        return False
    last = len(line) - 2
    return segment > _OWN if place == line[0] else segment < last - _OWN


def _crossings(
    lines: Sequence[Sequence[Place]], touched: Collection[Place], owners: Whole, corners: Floats
) -> set[tuple[int, int]] | None:
    """Return which lines cross between their points; nothing if too many boxes would have to be compared."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    loose = np.ones(len(owners), dtype=bool)
    if touched:
        given = np.array([place in touched for line in lines for place in line])
        points = np.arange(len(owners)) + owners  # each line has one more point than segments
        loose = ~(given[points] | given[points + 1])
    found: set[tuple[int, int]] = set()
    compared = 0
    for one, other in _boxes_that_meet(low, high, low, high):
        compared += len(one)
        if compared > _MOST:
            return None
        kept = (one < other) & (owners[one] != owners[other]) & loose[one] & loose[other]
        first, second = corners[one[kept]], corners[other[kept]]
        sides = [
            _side(first[:, 0], first[:, 1], second[:, 0]),
            _side(first[:, 0], first[:, 1], second[:, 1]),
            _side(second[:, 0], second[:, 1], first[:, 0]),
            _side(second[:, 0], second[:, 1], first[:, 1]),
        ]
        across = (sides[0] * sides[1] < 0.0) & (sides[2] * sides[3] < 0.0)
        found.update(zip(owners[one[kept][across]].tolist(), owners[other[kept][across]].tolist(), strict=True))
    return found


def _side(begin: Floats, end: Floats, point: Floats) -> Floats:
    """Return on which side of the line through two points other points lie: a sign, or 0 within :data:`ON`."""
    along, aside = end - begin, point - begin
    area = along[:, 0] * aside[:, 1] - along[:, 1] * aside[:, 0]
    return np.where(np.abs(area) <= ON * np.linalg.norm(along, axis=1), 0.0, np.sign(area))


def _boxes_that_meet(low: Floats, high: Floats, lows: Floats, highs: Floats) -> Iterator[tuple[Whole, Whole]]:
    """Yield the indices of intersecting pairs of boxes, many at once; corners have shape (n, 2).

    Candidates are found by their centres, in classes of similar size, so that a large box does not cause comparisons of
    all others.
    """
    from scipy.spatial import KDTree

    middles, sizes = (low + high) / 2.0, (high - low).max(axis=1) / 2.0
    others, halves = (lows + highs) / 2.0, (highs - lows).max(axis=1) / 2.0
    classes = np.ceil(np.log2(np.maximum(halves, 1.0))).astype(np.int64)
    for each in np.unique(classes):
        members = np.flatnonzero(classes == each)
        tree, reach = KDTree(others[members]), sizes + 2.0**each
        counts = tree.query_ball_point(middles, reach, p=np.inf, return_length=True)
        chunks = np.cumsum(counts) // _AT_ONCE
        for chunk in np.unique(chunks):
            boxes = np.flatnonzero((chunks == chunk) & (counts > 0))
            if not len(boxes):
                continue
            found = tree.query_ball_point(middles[boxes], reach[boxes], p=np.inf, return_sorted=False)
            one, other = np.repeat(boxes, counts[boxes]), members[np.concatenate(found).astype(np.int64)]
            meet = ((low[one] <= highs[other]) & (lows[other] <= high[one])).all(axis=1)
            yield one[meet], other[meet]


def _with(line: Sequence[Place], more: list[tuple[float, Place]]) -> list[Place]:
    """Return a line with additional points at given positions in segments."""
    points = sorted([*((float(number), place) for number, place in enumerate(line)), *more], key=lambda each: each[0])
    return [place for number, (_, place) in enumerate(points) if not number or place != points[number - 1][1]]


def _cut(line: Sequence[Place], nodes: Collection[Place]) -> Iterator[list[Place]]:
    """Yield the pieces of a line from node to node."""
    piece = [line[0]]
    for place in line[1:]:
        piece.append(place)
        if place in nodes:
            yield piece
            piece = [place]
