"""Maps from files: GraphML, node-link JSON, GeoJSON and edge lists as CSV, as other programs write them."""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any
from xml.parsers import expat

import networkx as nx

from ....seqform.errors import GameFileError, nearest, one_line, one_of, shown
from ....seqform.interchange.encoding import from_json
from ....seqform.interchange.files import naming, read_bytes

#: Bytes of memory for each byte of a map.
_EXPANSION = 64
#: Names of the columns or properties that say between which nodes an edge leads.
_ENDS = (("source", "target"), ("from", "to"), ("u", "v"), ("start", "end"))
#: And of those that say that it leads one way.
_ONE_WAY = ("oneway", "directed")
#: What may name a node of GeoJSON.
_IDS = ("id", "osmid", "name", "label")
_DEPTH = 200
#: Of the earth, in metres.
_RADIUS = 6_371_008.8


def read_map(path: str | PathLike[str]) -> "nx.MultiDiGraph[str]":
    r"""Read a map from a file.

    Parameters
    ----------
    path : path-like
        ``.graphml``, as networkx, OSMnx, Gephi, yEd and QGIS write it; ``.json``, node-link data of networkx;
        ``.geojson``, points and lines, which meet at their ends; or ``.csv``, an edge a line.

    Returns
    -------
    networkx.MultiDiGraph
        An edge that leads both ways is there twice. :meth:`RoadMap.from_graph
        <treeplex.models.games.patrol.RoadMap.from_graph>` takes it.

    Raises
    ------
    GameFileError
        If there is no such file, or it cannot be read; the message names the file, and the line where it is known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex.models.games.patrol.map_files import read_map
    >>> _ = Path("roads.csv").write_text("source,target,steps\ngate,mill,2\nmill,bank,1\n")
    >>> sorted(read_map("roads.csv").edges(data="steps"))
    [('bank', 'mill', '1'), ('gate', 'mill', '2'), ('mill', 'bank', '1'), ('mill', 'gate', '2')]
    """
    readers: dict[str, Callable[[bytes, _Roads], None]] = {
        ".graphml": _read_graphml,
        ".json": _read_json,
        ".geojson": _read_geojson,
        ".csv": _read_csv,
    }
    with naming(path):
        suffix = Path(path).suffix.lower()
        if suffix not in readers:
            raise GameFileError(
                f"the suffix of the map is {shown(suffix, 40)}{nearest(suffix, readers)}; expected {one_of(readers)}"
            )
        roads = _Roads()
        readers[suffix](read_bytes(path, _EXPANSION), roads)
        if not len(roads.graph):
            raise GameFileError("the map has no nodes, expected at least one")
        return roads.graph


class _Roads:
    """A graph that is read from a file."""

    def __init__(self) -> None:
        self.graph: nx.MultiDiGraph[str] = nx.MultiDiGraph()

    def add_node(self, node: Any, data: Mapping[str, Any], where: str, line: int | None = None) -> None:
        """Add a node, or refuse one that is there already."""
        name = _id(node, where, line)
        if name in self.graph:
            raise GameFileError(f"{where}: there are two nodes {shown(name, 60)}", line)
        self.graph.add_node(name, **data)

    def add_edge(
        self, ends: Sequence[Any], data: Mapping[str, Any], both: bool, where: str, line: int | None = None
    ) -> None:
        """Add an edge between nodes that are there."""
        first, second = (_id(node, where, line) for node in ends)
        for name in (first, second):
            if name not in self.graph:
                hint = one_line(nearest(name, self.graph), 80) if len(self.graph) < 10_000 else ""
                raise GameFileError(f"{where}: there is no node {shown(name, 60)}{hint}", line)
        self.graph.add_edge(first, second, **data)
        if both and first != second:
            self.graph.add_edge(second, first, **data)


def _id(node: Any, where: str, line: int | None) -> str:
    plain = isinstance(node, str | int | float) and not isinstance(node, bool)
    pair = isinstance(node, list) and len(node) > 1  # networkx writes nodes of grids, which are tuples, so
    name = str(tuple(node) if pair else node).strip() if plain or pair else ""
    if not name:
        raise GameFileError(f"{where}: a node is called {shown(node, 60)}, expected a text or a number", line)
    return name


def _is_true(value: Any) -> bool:
    return str(value).strip().lower() in ("true", "yes", "1", "f")


# --- GraphML ----------------------------------------------------------------------------------------------------------


def _read_graphml(content: bytes, roads: _Roads) -> None:
    _Graphml(roads).read(content)


class _Graphml:
    """Collects nodes and edges while expat goes through the text. What a drawing of yEd says of nodes is taken too."""

    def __init__(self, roads: _Roads) -> None:
        self._roads = roads
        self._names: dict[str, str] = {}
        self._directed = [True]  # of each graph that is open
        self._graphs = 0
        self._nodes: list[tuple[str, dict[str, Any], int]] = []
        self._edges: list[tuple[tuple[str, str], dict[str, Any], bool, int]] = []
        self._open: list[str] = []
        self._owners: list[dict[str, Any]] = []  # the data of the nodes and edges that are open
        self._key, self._text = "", list[str]()

    def read(self, content: bytes) -> None:
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text_handler
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        try:
            parser.Parse(content, True)
        except expat.ExpatError as error:
            reason = one_line(expat.ErrorString(error.code))
            raise GameFileError(f"not XML: {reason}", error.lineno, error.offset + 1) from None
        except GameFileError:
            raise
        except (ValueError, LookupError) as error:
            raise GameFileError(f"not XML: {one_line(str(error))}") from None
        if not self._graphs:
            raise GameFileError("not GraphML: the element <graph> is missing")
        for name, data, line in self._nodes:
            self._roads.add_node(name, data, "<node>", line)
        for ends, data, both, line in self._edges:
            self._roads.add_edge(ends, data, both, "<edge>", line)

    def _refuse_doctype(self, *_: Any) -> None:
        reason = "a document type (<!DOCTYPE …>) is refused, since it may define entities; take it out"
        raise GameFileError(reason, self._parser.CurrentLineNumber)

    def _text_handler(self, text: str) -> None:
        if self._open and self._open[-1] in ("data", "NodeLabel"):
            self._text.append(text)

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        line = self._parser.CurrentLineNumber
        self._open.append(tag)
        if len(self._open) > _DEPTH:
            raise GameFileError(f"elements are nested more than {_DEPTH} deep", line)
        for needed in {"key": ("id",), "node": ("id",), "edge": ("source", "target"), "data": ("key",)}.get(tag, ()):
            if needed not in attributes:
                raise GameFileError(f"<{tag}> without the attribute {needed!r}", line)
        if tag == "key":
            self._names[attributes["id"]] = attributes.get("attr.name", "")
        elif tag == "graph":
            self._graphs += 1
            self._directed.append(attributes.get("edgedefault", "directed") == "directed")
        elif tag == "node":
            self._owners.append({})
            self._nodes.append((attributes["id"], self._owners[-1], line))
        elif tag == "edge":
            self._owners.append({})
            directed = attributes.get("directed", str(self._directed[-1])).lower() in ("true", "1")
            ends = (attributes["source"], attributes["target"])
            self._edges.append((ends, self._owners[-1], not directed, line))
        elif tag == "data":
            self._key, self._text = attributes["key"], []
        elif tag == "Geometry" and self._owners:  # of yEd: the corner, and the size
            place = [_plain(attributes.get(key, "")) for key in ("x", "y", "width", "height")]
            if all(map(math.isfinite, place[:2])):
                x, y, width, height = (number if math.isfinite(number) else 0.0 for number in place)
                self._owners[-1] |= {"x": x + width / 2, "y": -(y + height / 2)}  # yEd's y grows downwards
        elif tag == "NodeLabel":
            self._text = []

    def _end(self, name: str) -> None:
        tag = self._open.pop()
        if tag in ("node", "edge"):
            self._owners.pop()
        elif tag == "graph":
            self._directed.pop()
        elif tag == "NodeLabel" and self._owners:
            self._owners[-1].setdefault("label", "".join(self._text).strip())
            self._text = []
        elif tag == "data" and self._owners and self._names.get(self._key) and self._open[-1] in ("node", "edge"):
            self._owners[-1][self._names[self._key]] = "".join(self._text).strip()


def _plain(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


# --- JSON -------------------------------------------------------------------------------------------------------------


def _read_json(content: bytes, roads: _Roads) -> None:
    data = from_json(content)
    if isinstance(data, dict) and data.get("type") == "FeatureCollection":
        _read_features(data, roads)
        return
    edges = data.get("edges", data.get("links")) if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list) or not isinstance(edges, list):
        raise GameFileError("not a node-link graph: expected an object with arrays 'nodes' and 'edges', or 'links'")
    for number, node in enumerate(data["nodes"]):
        where = f"nodes[{number}]"
        if not isinstance(node, dict) or "id" not in node:
            raise GameFileError(f"{where} is {shown(node, 60)}, expected an object with the key 'id'")
        roads.add_node(node["id"], _without(node, "id"), where)
    for number, edge in enumerate(edges):
        where = f"edges[{number}]"
        if not isinstance(edge, dict) or "source" not in edge or "target" not in edge:
            raise GameFileError(f"{where} is {shown(edge, 60)}, expected an object with the keys 'source' and 'target'")
        ends = (edge["source"], edge["target"])
        roads.add_edge(ends, _without(edge, "source", "target", "key"), not data.get("directed", False), where)


def _without(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {str(name): value for name, value in data.items() if name not in names}


def _read_geojson(content: bytes, roads: _Roads) -> None:
    data = from_json(content)
    if not isinstance(data, dict) or data.get("type") != "FeatureCollection":
        raise GameFileError("not GeoJSON of a map: expected an object with the type 'FeatureCollection'")
    _read_features(data, roads)


def _read_features(data: Mapping[str, Any], roads: _Roads) -> None:
    features = data.get("features")
    if not isinstance(features, list):
        raise GameFileError("not GeoJSON of a map: the array 'features' is missing")
    at: dict[tuple[float, ...], str] = {}
    lines: list[tuple[str, list[tuple[float, ...]], dict[str, Any]]] = []
    for number, feature in enumerate(features):
        where = f"features[{number}]"
        geometry = feature.get("geometry") if isinstance(feature, dict) else None
        if not isinstance(geometry, dict):
            raise GameFileError(f"{where} is {shown(feature, 60)}, expected a feature with a geometry")
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise GameFileError(f"{where}: properties are {shown(properties, 60)}, expected an object")
        kind, points = geometry.get("type"), geometry.get("coordinates")
        if kind == "Point":
            place = _points([points], where)[0]
            own = feature.get("id", next((properties[key] for key in _IDS if properties.get(key) is not None), None))
            name = _id(_called(place) if own is None else own, where, None)
            roads.add_node(name, {**_without(properties, "x", "y"), "x": place[0], "y": place[1]}, where)
            at.setdefault(place, name)
        elif kind == "LineString":
            lines.append((where, _points(points, where), properties))
        elif kind == "MultiLineString" and isinstance(points, list):
            lines += [(where, _points(part, where), properties) for part in points]
    for where, points, properties in lines:
        if len(points) < 2:
            raise GameFileError(f"{where}: the line has {len(points)} points, expected at least two")
        named = next((pair for pair in _ENDS if all(str(properties.get(end)) in roads.graph for end in pair)), None)
        if named is not None:
            ends = [properties[end] for end in named]
        else:
            for place in (points[0], points[-1]):
                if place not in at:
                    at[place] = _called(place)
                    roads.add_node(at[place], {"x": place[0], "y": place[1]}, where)
            ends = [at[points[0]], at[points[-1]]]
        length = {} if "length" in properties else {"length": sum(map(_metres, points, points[1:]))}
        both = not any(_is_true(properties.get(key)) for key in _ONE_WAY)
        roads.add_edge(ends, {**_without(properties, *(named or ())), **length}, both, where)


def _points(given: Any, where: str) -> list[tuple[float, ...]]:
    """Return points as pairs, rounded to where GPS ends: lines that meet may differ in the last digits."""
    if not isinstance(given, list):
        raise GameFileError(f"{where}: coordinates are {shown(given, 60)}, expected a list of positions")
    points: list[tuple[float, ...]] = []
    for point in given:
        pair = [_plain(number) for number in point[:2]] if isinstance(point, list) else []
        if len(pair) != 2 or not all(map(math.isfinite, pair)):
            raise GameFileError(f"{where}: a position is {shown(point, 60)}, expected longitude and latitude")
        points.append((round(pair[0], 7), round(pair[1], 7)))
    return points


def _called(place: tuple[float, ...]) -> str:
    return f"{place[0]:.7g} {place[1]:.7g}"


def _metres(first: tuple[float, ...], second: tuple[float, ...]) -> float:
    """Return how far apart two points of longitude and latitude are (haversine)."""
    (east, north), (other_east, other_north) = (map(math.radians, point) for point in (first, second))
    half = math.sin((other_north - north) / 2) ** 2
    half += math.cos(north) * math.cos(other_north) * math.sin((other_east - east) / 2) ** 2
    return 2.0 * _RADIUS * math.asin(math.sqrt(min(half, 1.0)))


# --- CSV --------------------------------------------------------------------------------------------------------------


def _read_csv(content: bytes, roads: _Roads) -> None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GameFileError("it is not text in UTF-8", content.count(b"\n", 0, error.start) + 1) from None
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    rows = _rows(text, mark)
    line, header = next(rows, (1, []))
    lowered = [cell.lower() for cell in header]
    named = next((pair for pair in _ENDS if all(end in lowered for end in pair)), None)
    columns = ["source", "target", "steps"][: len(header)]
    if named is not None:
        columns = [low if low in (*named, *_ONE_WAY) else cell for low, cell in zip(lowered, header, strict=True)]
    if named is None:
        if len(header) not in (2, 3):
            expected = "a header with source and target, or two nodes and perhaps a number of steps"
            raise GameFileError(f"{len(header)} cells, expected {expected}", line)
        named, rows = _ENDS[0], _rows(text, mark)
    if len(set(columns)) < len(columns):
        raise GameFileError(f"two columns are called {shown(max(columns, key=columns.count), 40)}", line)
    for number, cells in rows:
        if len(cells) != len(columns):
            raise GameFileError(f"{len(cells)} cells, expected {len(columns)}", number)
        data = dict(zip(columns, cells, strict=True))
        ends = [_id(data.pop(end), "the edge", number) for end in named]
        roads.graph.add_nodes_from(ends)
        both = not any(_is_true(data.get(key)) for key in _ONE_WAY)
        roads.add_edge(ends, {name: value for name, value in data.items() if value}, both, "the edge", number)


def _rows(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, each with the number of its line."""
    reader = csv.reader(io.StringIO(text), delimiter=mark, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise GameFileError(f"not CSV: {one_line(str(error))}", reader.line_num) from None
