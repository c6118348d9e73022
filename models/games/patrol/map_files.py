"""Maps from files: GraphML, node-link JSON, GeoJSON and CSV edge lists of other programs."""

import csv
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import networkx as nx

from ....seqform.errors import GameFileError, nearest, needing, one_line, one_of, shown
from ....seqform.interchange.encoding import from_json
from ....seqform.interchange.files import GRAPH_EXPANSION, naming, read_bytes
from ....seqform.interchange.graphml_reader import Element, GraphmlReader, Key
from ....seqform.interchange.signatures import foreign_file
from .map_attributes import ENDS, OF_EDGES, ends_of, number_of
from .map_geojson import read_features
from .map_reading import Roads, name_in_file

#: Formats that geopandas reads.
_TABLES = (".gpkg", ".shp")
#: Headings that cannot be nodes of a list without a header.
_HEADINGS = {*OF_EDGES, "source", "target", "from", "to"} - {"name"}


def read_map(path: str | PathLike[str]) -> "nx.MultiDiGraph[str]":
    r"""Read a map from a file.

    Parameters
    ----------
    path : path-like
        ``.graphml``, as networkx, OSMnx, Gephi, yEd and QGIS write it; ``.json``, node-link data of networkx;
        ``.geojson``, points and lines, which meet at common points; ``.gpkg`` and ``.shp``, the same read by geopandas;
        or ``.csv``, one edge per line.

    Returns
    -------
    networkx.MultiDiGraph
        A two-way edge appears twice. :meth:`RoadMap.from_graph <treeplex.models.games.patrol.RoadMap.from_graph>`
        accepts it.

    Raises
    ------
    GameFileError
        If the file does not exist or cannot be read; the message names the file, and the line if known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex.models.games.patrol.map_files import read_map
    >>> _ = Path("roads.csv").write_text("source,target,steps\ngate,mill,2\nmill,bank,1\n")
    >>> sorted(read_map("roads.csv").edges(data="steps"))
    [('bank', 'mill', '1'), ('gate', 'mill', '2'), ('mill', 'bank', '1'), ('mill', 'gate', '2')]
    """
    readers: dict[str, Callable[[bytes, Roads], None]] = {
        ".graphml": _read_graphml,
        ".json": _read_json,
        ".geojson": _read_geojson,
        ".csv": _read_csv,
    }
    with naming(path):
        suffix = Path(path).suffix.lower()
        if suffix in _TABLES:
            roads = Roads()
            read_features(_features_of(path), roads)
            return roads.read()
        foreign = foreign_file(path)
        if foreign is not None:
            raise GameFileError(str(foreign))
        if suffix not in readers:
            raise GameFileError(
                f"the suffix of the map is {shown(suffix, 40)}{nearest(suffix, readers)}; expected "
                f"{one_of([*readers, *_TABLES])}"
            )
        roads = Roads()
        readers[suffix](read_bytes(path, GRAPH_EXPANSION), roads)
        if not len(roads.graph):
            raise GameFileError("the map has no nodes, expected at least one")
        return roads.read()


def _features_of(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the features of all layers of streets and places in a GeoPackage or shapefile, as GeoJSON."""
    with needing("a GeoPackage or shapefile needs geopandas", "gis"):
        import geopandas
    if not Path(path).is_file():
        raise GameFileError("no such file")
    try:
        layers = geopandas.list_layers(path)["name"].tolist()
        frames = [geopandas.read_file(path, layer=layer) for layer in layers]
    except Exception as error:  # of GDAL
        raise GameFileError(f"it cannot be read: {one_line(str(error))}") from None
    systems = {None if frame.crs is None else frame.crs.to_string() for frame in frames}
    if len(systems) > 1:
        raise GameFileError(f"its layers have different coordinate systems, {one_of(map(str, systems))}, expected one")
    (system,) = systems
    found = [feature for frame in frames for feature in json.loads(frame.to_json(drop_id=True))["features"]]
    named = {} if system is None else {"crs": {"type": "name", "properties": {"name": system}}}
    return {"type": "FeatureCollection", **named, "features": found}


# --- GraphML ----------------------------------------------------------------------------------------------------------


class _MapReader(GraphmlReader):
    """A reader of all attributes as strings, and of node positions and labels from yEd's drawings."""

    drawing = ("Geometry", "NodeLabel")

    def declare(self, key: Key) -> Key | None:
        return Key(key.name, "string") if key.name else None

    def take(self, element: Element, key: Key, text: str) -> None:
        if text.strip():  # an empty string is a missing value, like an empty cell of CSV
            element.values[key.name] = text.strip()

    def draw(self, element: Element, tag: str, attributes: dict[str, str], text: str) -> None:
        if tag == "NodeLabel":
            element.values.setdefault("label", text.strip())
            return
        # The corner and the size.
        place = [number_of(attributes.get(key, "")) for key in ("x", "y", "width", "height")]
        if all(map(math.isfinite, place[:2])):
            x, y, width, height = (number if math.isfinite(number) else 0.0 for number in place)
            element.values |= {"x": x + width / 2, "y": -(y + height / 2)}  # yEd's y grows downwards


def _read_graphml(content: bytes, roads: Roads) -> None:
    reader = _MapReader()
    reader.parse(content)
    for graph in reader.elements["graph"]:
        if "crs" in graph.values:  # in OSMnx's format
            roads.graph.graph.setdefault("crs", graph.values["crs"])
    for node in reader.elements["node"]:
        roads.add_node(node.ids[0], node.values, "<node>", node.line)
    for edge in reader.elements["edge"]:
        found = roads.attributes(edge.values, "<edge>", edge.line)
        roads.add_edge(edge.ids, found, "<edge>", edge.line, directed=edge.directed, drawn=False)


# --- JSON -------------------------------------------------------------------------------------------------------------


def _read_json(content: bytes, roads: Roads) -> None:
    data = from_json(content)
    if isinstance(data, dict) and data.get("type") == "FeatureCollection":
        read_features(data, roads)
        return
    lists = [data[key] for key in ("edges", "links") if key in data] if isinstance(data, dict) else []
    if len(lists) != 1 or not isinstance(data.get("nodes"), list) or not isinstance(lists[0], list):
        raise GameFileError("not a node-link graph: expected an object with arrays 'nodes' and 'edges', or 'links'")
    directed = data.get("directed", False)
    if not isinstance(directed, bool):
        raise GameFileError(f"directed is {shown(directed, 40)}, expected true or false")
    attributes = data.get("graph")
    if isinstance(attributes, dict) and isinstance(attributes.get("crs"), str):
        roads.graph.graph["crs"] = attributes["crs"]
    for number, node in enumerate(data["nodes"]):
        where = f"nodes[{number}]"
        if not isinstance(node, dict) or "id" not in node:
            raise GameFileError(f"{where} is {shown(node, 60)}, expected an object with the key 'id'")
        roads.add_node(node["id"], _without(node, "id"), where)
    for number, edge in enumerate(lists[0]):
        where = f"edges[{number}]"
        if not isinstance(edge, dict) or "source" not in edge or "target" not in edge:
            raise GameFileError(f"{where} is {shown(edge, 60)}, expected an object with the keys 'source' and 'target'")
        found = roads.attributes(_without(edge, "source", "target", "key"), where)
        roads.add_edge((edge["source"], edge["target"]), found, where, directed=directed, drawn=False)


def _without(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {str(name): value for name, value in data.items() if name not in names}


def _read_geojson(content: bytes, roads: Roads) -> None:
    data = from_json(content)
    if not isinstance(data, dict) or data.get("type") != "FeatureCollection":
        raise GameFileError("not GeoJSON of a map: expected an object with the type 'FeatureCollection'")
    read_features(data, roads)


# --- CSV --------------------------------------------------------------------------------------------------------------


def _read_csv(content: bytes, roads: Roads) -> None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise GameFileError("it is not UTF-8 text", content.count(b"\n", 0, error.start) + 1) from None
    first = text.partition("\n")[0]
    mark = max(",;\t", key=first.count)
    rows = _rows(text, mark)
    line, header = next(rows, (1, []))
    lowered = [cell.casefold() for cell in header]
    pairs = ends_of(lowered)
    columns = ["source", "target", "steps"][: len(header)]
    if pairs:
        ends = {end for pair in pairs for end in pair}
        columns = [low if low in ends else cell for low, cell in zip(lowered, header, strict=True)]
    else:
        alone = next((cell for low, cell in zip(lowered, header, strict=True) if low in _HEADINGS), None)
        if len(header) not in (2, 3) or alone is not None:
            expected = "a header with source and target, or two nodes and perhaps a number of steps"
            found = f"{len(header)} cells" if alone is None else f"the heading {shown(alone, 40)}"
            raise GameFileError(f"{found}, expected {expected}", line)
        pairs, rows = [ENDS[0]], _rows(text, mark)
    if len(set(columns)) < len(columns):
        raise GameFileError(f"two columns are named {shown(max(columns, key=columns.count), 40)}", line)
    roads.attributes(dict.fromkeys(columns, ""), "the header", line)
    for number, cells in rows:
        if len(cells) != len(columns):
            raise GameFileError(f"{len(cells)} cells, expected {len(columns)}", number)
        data = dict(zip(columns, cells, strict=True))
        given = [[name_in_file(data.pop(end), "the edge", number) for end in pair] for pair in pairs]
        if any(others != given[0] for others in given):
            raise GameFileError(f"{given[0]} and {given[1]} both give the ends, expected only one pair", number)
        roads.graph.add_nodes_from(given[0])
        said = roads.attributes({name: value for name, value in data.items() if value}, "the edge", number)
        roads.add_edge(given[0], said, "the edge", number)


def _rows(text: str, mark: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not empty, each with its line number."""
    reader = csv.reader(io.StringIO(text), delimiter=mark, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, [cell.strip() for cell in row]
    except csv.Error as error:
        raise GameFileError(f"not CSV: {one_line(str(error))}", reader.line_num) from None
