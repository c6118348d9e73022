"""A map: nodes by name, the moves between them with travel times, and positions."""

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import networkx as nx
import numpy as np

from ....seqform.arrays import Floats, ReadOnly
from ....seqform.checks import check_number
from ....seqform.errors import InvalidGameError, nearest, one_line, shown
from ....seqform.interchange.files import naming
from .map_attributes import (
    AGAINST,
    BOTH,
    OF_EDGES,
    OF_NODES,
    WITH,
    Notes,
    ReadGraph,
    lookalikes,
    meaning,
    meant,
    number_of,
    way_of,
)
from .map_coordinates import System, in_proportion, is_degrees
from .map_files import read_map
from .map_geojson import PART, SHAPE, SHARED
from .street_names import block_names, crossing_names
from .walker import Mask, Whole

#: Attributes of nodes that give positions, in order of preference.
_COORDINATES = (("x", "y"), ("lon", "lat"), ("longitude", "latitude"), ("lng", "lat"))
#: A line in well-known text.
_LINE = re.compile(r"LINESTRING\s*(?:Z\s*)?\((.*)\)", re.IGNORECASE | re.DOTALL)
#: Attributes of nodes that give names.
_NAMES = ("name", "label")
#: Fractions of a step below this are rounded down, to allow for round-off.
_ROUND_OFF = 1e-9
#: The notation of places on edges.
BOTH_WAYS, ONE_WAY = " -- ", " -> "
#: The longest travel time, in steps.
_LONGEST = 10**6


@dataclass(frozen=True, eq=False)
class Place:
    """A node or an edge: the nodes and the moves of a map that belong to it.

    Attributes
    ----------
    nodes : ndarray of bool, shape (num_nodes,)
    moves : ndarray of bool, shape (m,)
        One of the two is all false.
    """

    nodes: Mask
    moves: Mask


@dataclass(frozen=True, eq=False)
class RoadMap(ReadOnly):
    """A map of roads.

    Parameters
    ----------
    nodes : tuple of str
        Unique names.
    sources, targets : ndarray of int64, shape (m,)
        The moves between nodes, sorted by source and target and without duplicates.
    times : ndarray of float64, shape (m,)
        Number of steps that each takes, before rounding up.
    places : ndarray of float64, shape (num_nodes, 2), optional
        Positions of the nodes; without them :attr:`positions` computes a layout.
    attributes : mapping of str to tuple of str
        Attributes of nodes in the graph, such as their districts: an entry per node, ``""`` if missing.
    ids : mapping of str to int
        Alternative names of nodes.
    streets : tuple of str
        The name of each move's edge, ``""`` if unknown; empty if no edge has a name.
    notes : tuple of str
        Changes made while reading the map, as sentences.
    geographic : bool
        Whether positions are longitudes and latitudes in degrees.
    crs : str
        The coordinate system as the map names it, such as ``EPSG:25832``; ``""`` if it names none.
    kept : tuple of mapping
        The attributes of each move's edge that are strings or numbers; empty if no edge has any.
    shapes : mapping of int to sequence of pairs of float
        The points of the lines of moves, from source to target, where the map has them.
    reading : mapping
        The options of :meth:`from_graph` that read this map, to read another map in the same way.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex.models.games.patrol.road_map import RoadMap
    >>> roads = nx.Graph()
    >>> roads.add_edge("gate", "bank", length=250.0)
    >>> town = RoadMap.from_graph(roads, speed=100.0)
    >>> town.nodes, town.durations().tolist()
    (('gate', 'bank'), [3, 3])
    >>> town.notes[0]
    'travel times are length / 100 rounded up to whole steps: 20.0 % longer in all'
    >>> town.notes[1]
    'no node has a position: the map is laid out by networkx (spring layout, seed 0)'
    """

    nodes: tuple[str, ...]
    sources: Whole
    targets: Whole
    times: Floats
    places: Floats | None = None
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ids: Mapping[str, int] = field(default_factory=dict)
    streets: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    geographic: bool = False
    crs: str = ""
    kept: tuple[Mapping[str, Any], ...] = ()
    shapes: Mapping[int, Sequence[Sequence[float]]] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_graph(
        cls,
        graph: "nx.Graph[Any] | RoadMap | str | PathLike[str]",
        *,
        speed: float | None = None,
        length: str = "length",
        names: str = "",
    ) -> "RoadMap":
        """Return the map of a networkx graph, directed or not.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph, or path-like
            Or a file, as accepted by :func:`~treeplex.models.games.patrol.read_map`. Edges may have ``steps``, the
            number of steps it takes to pass them; by default one. Nodes may have positions (``x`` and ``y``, ``lon``
            and ``lat``, or ``pos``), names (``name`` or ``label``; by default the node itself) and other attributes.
            Among parallel edges the fastest counts; loops are left out.
        speed : float, optional
            Amount of `length` covered in a step; travel times are lengths divided by it, rounded up.
        length : str
            The attribute of edges to which `speed` refers, such as ``travel_time``.
        names : str, optional
            The attribute of nodes with their names, or ``id`` for the graph's node identifiers.

        Raises
        ------
        InvalidGameError
            If the argument is not such a graph, two nodes have the same name, or a travel time is missing or not
            positive.
        """
        if isinstance(graph, RoadMap):
            return graph
        if isinstance(graph, str | PathLike):
            with naming(graph):
                return cls.from_graph(read_map(graph), speed=speed, length=length, names=names)
        if not isinstance(graph, nx.Graph):
            raise InvalidGameError(f"the map is {shown(graph, 60)}, expected a networkx graph or a file")
        if not len(graph):
            raise InvalidGameError("the map has no nodes, expected at least one")
        read = graph if isinstance(graph, ReadGraph) else ReadGraph()
        done = Notes()
        reading = {"speed": speed, "length": length, "names": names}
        graph, names, length = _meant(graph, done), meaning(names, OF_NODES), meaning(length, OF_EDGES)
        _note_lookalikes(graph, read.names, length, done)
        notes = [*read.notes, *done]
        called = _names(graph, names)
        number = {node: place for place, node in enumerate(graph)}
        times: dict[tuple[int, int], float] = {}
        streets: dict[tuple[int, int], Mapping[str, Any]] = {}
        attribute, rate = _travel(graph, speed, length)
        loops = parallel = 0
        for source, target, data in graph.edges(data=True):
            first, second = number[source], number[target]
            if first == second:
                loops += 1
                continue
            time = _time(
                data, attribute, rate, f"the edge from {shown(called[first], 60)} to {shown(called[second], 60)}"
            )
            for pair in [(first, second)] if graph.is_directed() else [(first, second), (second, first)]:
                parallel += pair in times
                if time < times.get(pair, math.inf):
                    times[pair], streets[pair] = time, data
        if loops:
            notes.append(f"edges from a node to itself are left out, {loops} of them")
        if not attribute and any(length in data for *_, data in graph.edges(data=True)):
            notes.append(f"edges have a {length}, but no speed is given: each takes one step")
        busy = {node for pair in times for node in pair}
        alone = [name for node, name in enumerate(called) if node not in busy]
        if alone and times:
            notes.append(f"no edge leads to or from {len(alone):,} of the nodes, such as {shown(alone[0], 60)}")
        if parallel:
            left_out = parallel if graph.is_directed() else parallel // 2
            notes.append(f"only the fastest of parallel edges is kept, {left_out} left out")
        pairs = sorted(times)
        lasting = np.array([times[pair] for pair in pairs])
        moves = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        extra = float(_whole(lasting).sum() / lasting.sum() - 1.0) if pairs else 0.0
        if speed is not None or extra > _ROUND_OFF:
            said = f"{attribute} / {rate:g}" if speed is not None else attribute
            notes.append(f"travel times are {said} rounded up to whole steps: {100 * extra:.1f} % longer in all")
        places, missing, degrees = _places(graph)
        degrees |= is_degrees(graph.graph.get("crs"), np.zeros((1, 2)))
        geographic = places is not None and _is_geographic(graph, places, degrees)
        if degrees and places is not None and not geographic:
            notes.append("positions are drawn as they are: as longitudes and latitudes they are out of range")
        if places is None:
            notes.append(f"{missing}: the map is laid out by networkx (spring layout, seed 0)")
        edges = [streets[pair] for pair in pairs]
        names_of_streets = tuple(_text(edge.get("name")) for edge in edges)
        kept = tuple(_kept(edge) for edge in edges)
        return cls(
            nodes=called,
            sources=moves[:, 0].copy(),
            targets=moves[:, 1].copy(),
            times=lasting,
            places=places,
            attributes=_attributes(graph),
            ids={str(node): place for node, place in number.items()},
            streets=names_of_streets if any(names_of_streets) else (),
            notes=tuple(notes),
            geographic=geographic,
            crs=_text(graph.graph.get("crs")),
            kept=kept if any(kept) else (),
            shapes={} if places is None else _shapes(edges, moves, places),
            reading=reading,
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @cached_property
    def positions(self) -> Floats:
        """The nodes' positions, shape (num_nodes, 2): x or longitude, y or latitude; a layout if there are none."""
        if self.places is not None:
            return self.places
        graph: nx.Graph[int] = nx.Graph()
        graph.add_nodes_from(range(self.num_nodes))
        graph.add_edges_from(zip(self.sources.tolist(), self.targets.tolist(), strict=True))
        found = nx.spring_layout(graph, seed=0)
        return np.array([found[node] for node in range(self.num_nodes)])

    @cached_property
    def plane(self) -> Floats:
        """The nodes' drawing positions, shape (num_nodes, 2): :attr:`positions`, with degrees in true proportion."""
        return in_proportion(self.positions) if self.geographic else self.positions

    @cached_property
    def shown_nodes(self) -> tuple[str, ...]:
        """The nodes' names as they are shown; see :func:`~.street_names.crossing_names`."""
        given = () if self.reading.get("names") == "id" else self.streets
        return crossing_names(self.nodes, self.sources, self.targets, given, self.places)

    @cached_property
    def shown_streets(self) -> tuple[str, ...]:
        """The names of the moves' blocks as they are shown; see :func:`~.street_names.block_names`."""
        return block_names(self.shown_nodes, self.sources, self.targets, self.streets)

    def shown(self, node: Hashable) -> str:
        """Return the name of a node as it is shown; the argument itself if it is not on the map."""
        number = self._number(node)
        return name_of(node) if number is None else self.shown_nodes[number]

    def street(self, move: int) -> str:
        """Return the name of a move's street, or its two ends if it has none."""
        return (self.streets[move] if self.streets else "") or self.shown_streets[move]

    @cached_property
    def move_between(self) -> Mapping[tuple[int, int], int]:
        """The index of each move by its source and target."""
        pairs = zip(self.sources.tolist(), self.targets.tolist(), strict=True)
        return {pair: move for move, pair in enumerate(pairs)}

    @cached_property
    def named_streets(self) -> Mapping[str, list[int]]:
        """The moves along each street that has a name; a street may have several edges."""
        found: dict[str, list[int]] = {}
        for move, name in enumerate(self.streets):
            if name:
                found.setdefault(name, []).append(move)
        return found

    def durations(self, speed: float = 1.0) -> Whole:
        """Return the number of steps of each move at a multiple of the usual speed, rounded up, shape (m,)."""
        return _whole(self.times / speed)

    def durations_at(self, rates: Floats, speed: float = 1.0) -> Whole:
        """Return the number of steps of each move by the time at which it begins, for speeds that change.

        Parameters
        ----------
        rates : ndarray of float64, shape (steps, m)
            The multiple of the usual speed in each step.
        speed : float
            Another multiple, for all steps.

        Returns
        -------
        ndarray of int64, shape (steps, m)
            Rounded up. Moves that do not end with the last step have a duration that leads beyond it.

        Notes
        -----
        A move that begins at t ends at the first T with Σ_{t ≤ s < T} rate(s) · speed ≥ its time. A later move never
        arrives earlier (Ichoua, Gendreau and Potvin 2003).

        References
        ----------
        S. Ichoua, M. Gendreau, J.-Y. Potvin (2003), "Vehicle dispatching with time-dependent travel times", European
        Journal of Operational Research 144.
        """
        steps, (columns, of_moves) = len(rates), np.unique(rates, axis=1, return_inverse=True)
        found = np.empty(rates.shape, dtype=np.int64)
        for number, column in enumerate(columns.T):
            own = np.flatnonzero(of_moves.ravel() == number)
            covered = np.append(0.0, np.cumsum(column * speed))
            needed = covered[:-1, None] + np.maximum(self.times[own] - _ROUND_OFF, _ROUND_OFF)
            found[:, own] = np.searchsorted(covered, needed) - np.arange(steps)[:, None]
        return found

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {**self.ids, **{name: number for number, name in enumerate(self.nodes)}}

    @cached_property
    def _shown_numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.shown_nodes)}

    def _number(self, name: Hashable) -> int | None:
        """Return the index of a node; the names that are shown are only made for names that are not the map's."""
        called = name_of(name)
        number = self._numbers.get(called)
        return self._shown_numbers.get(called) if number is None else number

    def node(self, name: Hashable, what: str = "the node") -> int:
        """Return the index of a node.

        Raises
        ------
        InvalidGameError
            If there is no node of that name; the message begins with `what` and suggests the closest name.
        """
        number = self._number(name)
        if number is None:
            known = [*self._numbers, *self._shown_numbers, *self.named_streets]
            hint = one_line(nearest(name_of(name), known), 80)
            raise InvalidGameError(f"{what} is {shown(name, 60)}, which is not a node of the map{hint}")
        return number

    def __contains__(self, name: object) -> bool:
        return self._number(name) is not None

    @cached_property
    def _blocks(self) -> Mapping[str, list[int]]:
        """The moves along each block, for the names that are shown."""
        found: dict[str, list[int]] = {}
        for move, name in enumerate(self.shown_streets):
            found.setdefault(name, []).append(move)
        return found

    def node_mask(self, names: Iterable[Hashable], what: str) -> Mask:
        """Return which nodes have one of the given names, shape (num_nodes,)."""
        mask = np.zeros(self.num_nodes, dtype=bool)
        mask[[self.node(name, what) for name in names]] = True
        return mask

    def place(self, at: Any, what: str = "the place") -> "Place":
        """Return the nodes and the moves of a place: a node, a street, or an edge.

        Parameters
        ----------
        at : str, or tuple of two str
            A node, the name of a street, a block ``"STREET: A -- B"`` as it is shown, or an edge as a pair of nodes,
            ``"A -- B"`` for both directions or ``"A -> B"`` for one.
        what : str
            The description in messages.

        Raises
        ------
        InvalidGameError
            If there is no such node, street or edge.
        """
        nodes, moves = np.zeros(self.num_nodes, dtype=bool), np.zeros(len(self.sources), dtype=bool)
        pair: Sequence[Any] | None = None
        both = True
        if at not in self and isinstance(at, str) and self.streets and ": " in at and at in self._blocks:
            moves[self._blocks[at]] = True
            return Place(nodes, moves)
        if at not in self and isinstance(at, tuple | list):
            pair = at
        elif at not in self and isinstance(at, str):
            for mark in (BOTH_WAYS, ONE_WAY):
                if mark in at:
                    pair, both = [part.strip() for part in at.split(mark, 1)], mark == BOTH_WAYS
        if pair is None:
            if at not in self and at in self.named_streets:
                moves[self.named_streets[at]] = True
            else:
                nodes[self.node(at, what)] = True
            return Place(nodes, moves)
        if len(pair) != 2:
            raise InvalidGameError(f"{what} is {shown(at, 60)}, expected a node, or an edge as a pair of nodes")
        first, second = (self.node(name, what) for name in pair)
        moves |= (self.sources == first) & (self.targets == second)
        if both:
            moves |= (self.sources == second) & (self.targets == first)
        if not moves.any():
            way = "from one to the other" if both else f"from {pair[0]!s} to {pair[1]!s}"
            raise InvalidGameError(f"{what} is {shown(at, 60)}, but no edge leads {way}")
        return Place(nodes, moves)


def name_of(node: object) -> str:
    """Return the name of a node of a graph; a tuple in Python is a list in files."""
    return str(tuple(node) if isinstance(node, list) else node)


def _whole(times: Floats) -> Whole:
    return np.maximum(np.ceil(times - _ROUND_OFF), 1).astype(np.int64)


def _meant(graph: "nx.Graph[Any]", notes: Notes) -> "nx.Graph[Any]":
    """Return a graph with standard attribute names; reject or note directions that it cannot have."""
    kinds = ((graph.nodes(data=True), OF_NODES), (graph.edges(data=True), OF_EDGES))
    keys = {(key, known) for entries, known in kinds for *_, data in entries for key in data}
    if any(isinstance(key, str) and meaning(key, known) != key for key, known in keys):
        found: Any = nx.MultiDiGraph() if graph.is_directed() else nx.MultiGraph()
        found.graph.update(graph.graph)
        for node, data in graph.nodes(data=True):
            found.add_node(node)
            found.nodes[node].update(meant(data, OF_NODES, _refusal(f"node {shown(node, 60)}"), notes))
        for source, target, data in graph.edges(data=True):
            where = f"the edge from {shown(source, 60)} to {shown(target, 60)}"
            key = found.add_edge(source, target)
            found.edges[source, target, key].update(meant(data, OF_EDGES, _refusal(where), notes))
        graph = found
    for source, target, data in graph.edges(data=True):
        if not {"oneway", "directed"}.isdisjoint(data):
            _check_way(graph, source, target, data, notes)
    return graph


def _refusal(where: str) -> Any:
    return lambda message: InvalidGameError(f"{where}: {message}")


def _note_lookalikes(graph: "nx.Graph[Any]", read: Sequence[str] | None, length: str, notes: Notes) -> None:
    """Note edge attributes whose names resemble a known attribute that no edge has."""
    own = dict.fromkeys(key for *_, data in graph.edges(data=True) for key in data)
    names = own if read is None else dict.fromkeys(read)
    of_edges = OF_EDGES[:2] if read is None and graph.is_directed() else OF_EDGES  # edges state their own direction
    for name, known in lookalikes(names, of_edges):
        if known not in names and name != length:
            notes.add(f"the attribute {shown(name, 40)} of edges is not read (did you mean {known}?)")


def _check_way(graph: "nx.Graph[Any]", source: Any, target: Any, data: Mapping[str, Any], notes: Notes) -> None:
    """Raise an error for one-way streets in an undirected graph; note contradicting ones in a directed graph."""
    for name in ("oneway", "directed"):
        try:
            way = way_of(data.get(name), name)
        except InvalidGameError:
            way = None if graph.is_directed() else WITH
        if way in (None, BOTH) and not graph.is_directed():
            continue
        if not graph.is_directed():
            raise InvalidGameError(
                f"{name} of the edge between {shown(source, 60)} and {shown(target, 60)} is {shown(data[name], 40)}, "
                "but edges of an undirected graph have no direction; expected a DiGraph, or no such attribute"
            )
        if name == "oneway" and way in (BOTH, AGAINST) and source != target and not graph.has_edge(target, source):
            notes.add(
                "edges of the directed graph lead one way, though their oneway says otherwise",
                f"from {shown(source, 60)} to {shown(target, 60)} ({shown(data[name], 20)})",
            )


def _names(graph: "nx.Graph[Any]", attribute: str) -> tuple[str, ...]:
    """Return the names of the nodes."""
    own = [str(node) for node in graph]
    for key in () if attribute == "id" else (attribute,) if attribute else _NAMES:
        given = [_text(data.get(key)) for _, data in graph.nodes(data=True)]
        if all(given):
            own = given
            break
        if attribute:
            raise InvalidGameError(
                f"node {shown(own[given.index('')], 60)} has no attribute {attribute!r}, expected the node's name in it"
            )
    twice = [name for name, count in Counter(own).items() if count > 1]
    if twice:
        raise InvalidGameError(f"two nodes are named {shown(twice[0], 60)}, expected distinct names")
    return tuple(own)


def _text(value: Any) -> str:
    """Return the value of an attribute as a string; nothing for fractional numbers and for structured values."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip() if isinstance(value, str | int) else ""


def _kept(edge: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of an edge that are strings or numbers."""
    return {
        key: value
        for key, value in edge.items()
        if isinstance(key, str) and isinstance(value, str | int | float) and key not in (PART, "geometry")
    }


def _shapes(edges: Sequence[Mapping[str, Any]], moves: Whole, places: Floats) -> dict[int, list[list[float]]]:
    """Return the lines of edges that have more than two points, each from its source to its target."""
    found = {}
    for move, edge in enumerate(edges):
        points = edge.get(SHAPE) or _line_of(edge.get("geometry"))
        if points and len(points) > 2:
            source = places[moves[move, 0]]
            turned = math.dist(points[-1], source) < math.dist(points[0], source)
            found[move] = [list(map(float, point)) for point in (points[::-1] if turned else points)]
    return found


def _line_of(text: object) -> list[tuple[float, float]]:
    """Return the points of a line written as well-known text, as by OSMnx; no points for any other value."""
    line = _LINE.fullmatch(text.strip()) if isinstance(text, str) else None
    pairs = [point.split() for point in line[1].split(",")] if line else []
    try:
        return [(float(x), float(y)) for x, y, *_ in pairs]
    except ValueError:
        return []


def _attributes(graph: "nx.Graph[Any]") -> dict[str, tuple[str, ...]]:
    """Return the attributes of nodes that are strings or integers, without positions."""
    coordinates = {key for pair in _COORDINATES for key in pair}
    keys = dict.fromkeys(key for _, data in graph.nodes(data=True) for key in data if isinstance(key, str))
    found = {key: tuple(_text(data.get(key)) for _, data in graph.nodes(data=True)) for key in keys}
    return {key: values for key, values in found.items() if key not in coordinates and any(values)}


def _travel(graph: "nx.Graph[Any]", speed: float | None, length: str) -> tuple[str, float]:
    """Return the attribute that determines travel times, and its divisor; no attribute if all times are 1."""
    if speed is not None:
        return length, check_number(speed, "speed", InvalidGameError, "(0, inf)")
    return ("steps" if any("steps" in data for *_, data in graph.edges(data=True)) else ""), 1.0


def _time(data: Mapping[str, Any], attribute: str, rate: float, edge: str) -> float:
    """Return the travel time of an edge in steps."""
    if not attribute:
        return 1.0
    if attribute not in data:
        raise InvalidGameError(f"{edge} has no attribute {attribute!r}, expected it on every edge")
    value = number_of(data[attribute])
    if attribute not in SHARED:
        value *= data.get(PART, 1.0)
    if not 0.0 < value / rate <= _LONGEST:
        what = shown(data[attribute], 40)
        raise InvalidGameError(
            f"{attribute} of {edge} is {what}, expected more than 0, for a travel time of at most {_LONGEST:,} steps"
        )
    return value / rate


def _places(graph: "nx.Graph[Any]") -> tuple[Floats | None, str, bool]:
    """Return all nodes' positions, or a note on nodes without one, and whether positions are longitude and latitude."""
    most, last = 0, ""
    for keys in (*_COORDINATES, ("pos",)):
        found, lacking = [], ""
        for node, data in graph.nodes(data=True):
            values = data.get("pos") if keys == ("pos",) else [data.get(key) for key in keys]
            pair = [number_of(value) for value in values] if isinstance(values, Sequence | np.ndarray) else []
            if len(pair) == 2 and all(map(math.isfinite, pair)):
                found.append(pair)
            else:
                lacking = lacking or str(node)
        if not lacking:
            return np.array(found), "", "lat" in keys[-1]
        if len(found) > most:
            most, last = len(found), lacking
    if not most:
        return None, "no node has a position", False
    return None, f"{len(graph) - most} of {len(graph)} nodes have no position, such as {shown(last, 40)}", False


def _is_geographic(graph: "nx.Graph[Any]", places: Floats, degrees: bool) -> bool:
    """Return whether positions are longitudes and latitudes.

    They are if they have these names, the graph has OSMnx's attribute ``crs``, or the lengths of edges match in metres.
    """
    if degrees or not (np.abs(places) <= [180.0, 90.0]).all():
        return is_degrees("EPSG:4326", places)
    if graph.graph.get("crs") not in (None, ""):
        return False
    where, measure = dict(zip(graph, places.tolist(), strict=True)), System().metres
    ratios = [
        number_of(data["length"]) / max(measure([where[source], where[target]]), 1e-3)
        for source, target, data in graph.edges(data=True)
        if "length" in data and source != target
    ]
    return bool(ratios) and min(ratios) >= 0.98 and float(np.median(ratios)) <= 1.5
