"""Names of crossings and of blocks: crossings are named after their streets, and blocks from crossing to crossing."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from ....seqform.arrays import Floats
from .walker import Whole

#: Names of nodes that only identify them: a pair of numbers, or a whole number of at least five digits.
_UNNAMED = re.compile(
    r"\(?\s*[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?[\s,;]+[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?\s*\)?|\d{5,}", re.IGNORECASE
)
_ENDS = np.array(["east end", "north end", "west end", "south end"])


def crossing_names(
    nodes: Sequence[str], sources: Whole, targets: Whole, streets: Sequence[str], positions: Floats | None
) -> tuple[str, ...]:
    """Return the names of nodes as they are shown: those of the map, or the streets that meet there.

    Parameters
    ----------
    nodes : sequence of str
        The names in the map. Nodes whose name is a pair of coordinates or a number of at least five digits, such as
        OpenStreetMap's, are named after their streets.
    sources, targets : ndarray of int64, shape (m,)
    streets : sequence of str
        The name of each move's street, or empty.
    positions : ndarray of float64, shape (num_nodes, 2), optional
        They tell which end of a street a node is.

    Returns
    -------
    tuple of str
        Distinct names. Further crossings of the same streets have a number.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.games.patrol.street_names import crossing_names
    >>> sources, targets, streets = np.array([0, 1]), np.array([1, 2]), ["High Street", "Abbey Street"]
    >>> places = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    >>> crossing_names(["0 0", "1 0", "bank"], sources, targets, streets, places)
    ('High Street (west end)', 'Abbey Street / High Street', 'bank')
    """
    if not any(streets):
        return tuple(nodes)
    own: list[set[str]] = [set() for _ in nodes]
    beside: list[set[int]] = [set() for _ in nodes]
    along: dict[str, set[int]] = {}
    for source, target, street in zip(sources.tolist(), targets.tolist(), streets, strict=True):
        for here, there in ((source, target), (target, source)):
            if street:
                own[here].add(street)
                beside[here].add(there)
                along.setdefault(street, set()).add(here)
    found = list(nodes)
    unnamed = [number for number, name in enumerate(nodes) if own[number] and _UNNAMED.fullmatch(name)]
    for number in unnamed:
        first, *more = sorted(own[number])
        if more:
            found[number] = " / ".join((first, *more))
        elif len(beside[number]) == 1 and positions is not None and np.ptp(positions[[*along[first]]]) > 0.0:
            away = positions[number] - positions[[*along[first]]].mean(axis=0)
            found[number] = f"{first} ({_ENDS[round(np.arctan2(away[1], away[0]) / (np.pi / 2)) % 4]})"
        else:
            found[number] = first
    taken = {name for number, name in enumerate(nodes) if found[number] == name} | set(nodes) | set(streets)
    counts = Counter(found[number] for number in unnamed)
    for number in unnamed:
        name, place = found[number], 1
        if counts[name] > 1 or name in taken:
            while f"{name} ({place})" in taken:
                place += 1
            name = f"{name} ({place})"
        taken.add(name)
        found[number] = name
    return tuple(found)


def block_names(nodes: Sequence[str], sources: Whole, targets: Whole, streets: Sequence[str]) -> tuple[str, ...]:
    """Return the name of each move's block, the same in both directions.

    Parameters
    ----------
    nodes : sequence of str
        The names of the nodes as they are shown.
    sources, targets : ndarray of int64, shape (m,)
    streets : sequence of str
        The name of each move's street, or empty; no names if the sequence is empty.

    Returns
    -------
    tuple of str
        The name of the street, if it is a single block; otherwise the street, a colon and both ends, from which the
        street's own name is left out; for a street without a name, the ends in the direction of the move.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.games.patrol.street_names import block_names
    >>> nodes, streets = ["gate", "Abbey Street / High Street", "bank"], ["High Street", "High Street"]
    >>> block_names(nodes, np.array([0, 1]), np.array([1, 2]), streets)
    ('High Street: gate -- Abbey Street', 'High Street: Abbey Street -- bank')
    """
    ends = list(zip(sources.tolist(), targets.tolist(), strict=True))
    pairs = [(min(pair), max(pair)) for pair in ends]
    blocks: dict[str, set[tuple[int, int]]] = {}
    for pair, street in zip(pairs, streets, strict=False):
        blocks.setdefault(street, set()).add(pair)

    def between(pair: tuple[int, int], street: str, short: bool) -> str:
        first, second = (_without(nodes[node], street) if short else nodes[node] for node in pair)
        return f"{street}: {first} -- {second}"

    whole = {(street, pair) for street, each in blocks.items() if street for pair in each}
    counts = Counter(between(pair, street, True) for street, pair in whole)
    found = []
    for number, pair in enumerate(pairs):
        street = streets[number] if streets else ""
        if not street:
            found.append(" -- ".join(nodes[node] for node in ends[number]))
        elif len(blocks[street]) == 1:
            found.append(street)
        else:
            found.append(between(pair, street, counts[between(pair, street, True)] == 1))
    return tuple(found)


def _without(name: str, street: str) -> str:
    """Return the name of a crossing without one of its streets, with its number if it has one."""
    bare, bracket, suffix = name.partition(" (")
    others = [each for each in bare.split(" / ") if each != street]
    return " / ".join(others) + bracket + suffix if others and len(others) < len(bare.split(" / ")) else name
