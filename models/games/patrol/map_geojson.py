"""Maps from GeoJSON: places and lines, cut where streets meet."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ....seqform.errors import GameFileError, nearest, one_of, shown
from .map_attributes import IDS, OF_NODES, ends_of, meaning, meant, number_of
from .map_coordinates import Place, System, on_the_ellipsoid, system_of
from .map_junctions import NEAR, Junctions, junctions
from .map_reading import Roads, name_in_file

#: The suffix of the attribute that stores a part's share of an attribute of the whole line.
SHARED, PART = ("steps", "length"), "part of its line"
#: The attribute that stores the points of a line.
SHAPE = "points of its line"
_AREAS = ("Polygon", "MultiPolygon")
_KINDS = ("Point", "MultiPoint", "LineString", "MultiLineString", "GeometryCollection", *_AREAS)


@dataclass(frozen=True)
class _Spot:
    """A position that is a node."""

    where: str
    place: Place
    own: Any  # its name in the file
    data: Mapping[str, Any]


@dataclass(frozen=True)
class _Line:
    """A line of a feature, without repeated consecutive points."""

    where: str
    feature: int
    points: list[Place]
    data: dict[str, Any]
    ends: tuple[Any, Any] | None = None  # by name


def read_features(data: Mapping[str, Any], roads: Roads) -> None:
    """Read a collection of features into a graph.

    Raises
    ------
    GameFileError
        If the data are not GeoJSON, or cannot be a map.
    """
    features = data.get("features")
    if not isinstance(features, list):
        raise GameFileError("not GeoJSON of a map: the array 'features' is missing")
    _Features(roads, system_of(data.get("crs"))).read(features)


class _Features:
    def __init__(self, roads: Roads, system: System) -> None:
        self._roads, self._system = roads, system
        self._spots: list[_Spot] = []
        self._lines: list[_Line] = []
        self._at: dict[Place, str] = {}

    def read(self, features: Sequence[Any]) -> None:
        for number, feature in enumerate(features):
            self._collect(number, feature)
        self._roads.graph.graph["crs"] = "EPSG:4326" if self._system.geographic else self._system.name
        measure = on_the_ellipsoid(
            self._system, [*(line.points for line in self._lines), *([spot.place] for spot in self._spots)]
        )
        self._measure = (measure or self._system).metres
        if measure is not None:
            self._note(f"lengths are measured on the ellipsoid, since {self._system.name} distorts them")
        self._add_spots()
        lines = []
        for line in map(self._named, self._lines):
            if len(line.points) > 1 or line.ends is not None:
                lines.append(line)
            else:
                self._note("lines whose points are all the same are left out", line.where)
        self._add_lines(lines)

    def _note(self, what: str, where: str = "") -> None:
        self._roads.notes.add(what, where)

    # Features

    def _collect(self, number: int, feature: Any) -> None:
        where = f"features[{number}]"
        if not isinstance(feature, dict) or "geometry" not in feature:
            raise GameFileError(f"{where} is {shown(feature, 60)}, expected a feature with a geometry")
        if feature.get("crs") is not None:
            raise GameFileError(f"{where} has a crs of its own, expected one for the whole collection")
        properties = feature.get("properties") or {}
        if not isinstance(properties, dict):
            raise GameFileError(f"{where}: properties are {shown(properties, 60)}, expected an object")
        if feature["geometry"] is None:
            self._note("features without a geometry are left out", where)
            return
        own = feature.get("id")
        if own is None:
            by_meaning = meant(properties, IDS, lambda message: GameFileError(f"{where}: {message}"))
            own = next((by_meaning[key] for key in IDS if key in by_meaning), None)
        called = where if own is None else f"{where} ({str(own)[:40]})"
        todo, edge = [feature["geometry"]], None
        while todo:
            geometry = todo.pop(0)
            kind = geometry.get("type") if isinstance(geometry, dict) else None
            if kind not in _KINDS:
                what = shown(geometry if kind is None else kind, 60)
                hint = nearest(kind, _KINDS) if isinstance(kind, str) else ""
                raise GameFileError(f"{where}: the geometry is {what}{hint}, expected one of type {one_of(_KINDS)}")
            if kind == "GeometryCollection":
                parts = geometry.get("geometries")
                if not isinstance(parts, list):
                    raise GameFileError(f"{where}: the array 'geometries' of a GeometryCollection is missing")
                todo = parts + todo
                continue
            if kind in _AREAS:
                self._note(f"geometries of type {kind} are left out", called)
                continue
            given = geometry.get("coordinates")
            parts = [given] if kind in ("Point", "LineString") else given
            if not isinstance(parts, list):
                raise GameFileError(f"{where}: coordinates are {shown(given, 60)}, expected a list of positions")
            parts = [part for part in parts if part != []]
            if not parts:
                self._note("empty geometries are left out", called)
            elif kind.endswith("Point"):
                self._add_points(where, self._places(parts, where), own, properties)
            else:
                edge = self._roads.attributes(properties, where) if edge is None else edge
                self._add_parts(where, number, parts, edge)

    def _places(self, given: Any, where: str) -> list[Place]:
        if not isinstance(given, list):
            raise GameFileError(f"{where}: coordinates are {shown(given, 60)}, expected a list of positions")
        places = []
        for point in given:
            pair = [number_of(number) for number in point[:2]] if isinstance(point, list) else []
            if len(pair) != 2 or not all(map(math.isfinite, pair)):
                raise GameFileError(f"{where}: a position is {shown(point, 60)}, expected longitude and latitude")
            places.append(self._system.place(pair, where))
        return places

    def _add_points(self, where: str, places: list[Place], own: Any, properties: Mapping[str, Any]) -> None:
        places = list(dict.fromkeys(places))
        if len(places) > 1 and own is not None:
            raise GameFileError(f"{where}: {shown(own, 60)} is a MultiPoint of {len(places)} positions, expected one")
        kept = {key: value for key, value in properties.items() if meaning(key, OF_NODES) not in ("x", "y")}
        self._spots += [_Spot(where, place, own, kept) for place in places]

    def _add_parts(self, where: str, number: int, parts: list[Any], data: dict[str, Any]) -> None:
        for part in parts:
            points = self._places(part, where)
            if len(points) < 2:
                raise GameFileError(f"{where}: the line has {len(points)} points, expected at least two")
            points = [points[0], *(second for first, second in pairwise(points) if first != second)]
            self._lines.append(_Line(where, number, points, data))

    # Nodes

    def _add_spots(self) -> None:
        named = [spot for spot in self._spots if spot.own is not None]
        for spot in named:
            name = name_in_file(spot.own, spot.where)
            other = self._at.setdefault(spot.place, name)
            if other != name:
                raise GameFileError(
                    f"{spot.where}: {shown(name, 60)} lies where {shown(other, 60)} does, expected only one node there"
                )
        taken = set(self._at)
        for spot in self._spots:
            if spot.own is None and spot.place in taken:
                continue  # the node there already has all of its attributes
            taken.add(spot.place)
            self._add_node(
                spot.place, spot.where, name_in_file(spot.own, spot.where) if spot.own is not None else "", spot.data
            )

    def _add_node(self, place: Place, where: str, name: str = "", data: Mapping[str, Any] | None = None) -> str:
        self._at[place] = self._roads.add_node(
            name or _text(place), {**(data or {}), "x": place[0], "y": place[1]}, where
        )
        return self._at[place]

    # Lines

    def _named(self, line: _Line) -> _Line:
        """Return a line with the nodes at its ends, if its attributes name them."""
        by_meaning = {key.strip().casefold(): value for key, value in line.data.items() if isinstance(key, str)}
        pairs = [tuple(by_meaning[end] for end in pair) for pair in ends_of(by_meaning)]
        found = [pair for pair in pairs if all(str(end).strip() in self._roads.graph for end in pair)]
        if any([str(end) for end in pair] != [str(end) for end in found[0]] for pair in found):
            raise GameFileError(f"{line.where}: {found[0]} and {found[1]} both give the ends, expected only one pair")
        return replace(line, ends=found[0]) if found else line

    def _add_lines(self, lines: Sequence[_Line]) -> None:
        free = [line for line in lines if line.ends is None]
        spots = np.array([place for line in free for place in line.points] or [(0.0, 0.0)])
        found = junctions([line.points for line in free], self._at, self._system.scales(spots))
        self._note_junctions(found, free)
        pieces = iter(found.pieces)
        parts = [[line.points] if line.ends is not None else next(pieces) for line in lines]
        of_feature: dict[int, list[float]] = defaultdict(list)
        for line, cut in zip(lines, parts, strict=True):
            of_feature[line.feature] += map(self._measure, cut)
        lengthy: dict[bool, str] = {}
        for line, cut in zip(lines, parts, strict=True):
            lengths = of_feature[line.feature]
            for points in cut:
                ends = line.ends or tuple(self._node(place, line.where) for place in (points[0], points[-1]))
                measured = self._measure(points)
                part = measured / sum(lengths) if sum(lengths) else 1.0 / len(lengths)
                data = line.data if len(lengths) == 1 else self._part_of(line, part)
                data = {**data, SHAPE: points} if len(points) > 2 else data
                own = bool(str(data.get("length", "")).strip())
                lengthy[own] = line.where
                self._roads.add_edge(ends, data if own else {**data, "length": measured}, line.where)
        if len(lengthy) > 1:
            self._note("lines without a length are measured in metres, and others have their own", lengthy[False])

    def _node(self, place: Place, where: str) -> str:
        return self._at[place] if place in self._at else self._add_node(place, where)

    def _part_of(self, line: _Line, part: float) -> dict[str, Any]:
        """Return the attributes of a part of a line: its share of the steps and the length, the others unchanged."""
        data = {**line.data, PART: part}
        for name in SHARED:
            whole = number_of(data.get(name))
            if math.isfinite(whole):
                data[name] = whole * part
                self._note(f"{name} of a line of several parts is divided in proportion to their lengths", line.where)
        return data

    def _note_junctions(self, found: Junctions, lines: Sequence[_Line]) -> None:
        for place in found.touched:
            self._note("streets are cut where a place or the end of another street lies on them", _text(place))
        for place, number in found.near:
            self._note(
                f"ends of streets are less than {NEAR:g} m from another street and do not meet it",
                f"{_text(place)} beside {lines[number].where}",
            )
        for one, other in found.crossings:
            if not any(_is_level(lines[number].data) for number in (one, other)):
                self._note(
                    "streets that cross without a common point do not meet there, as on a bridge",
                    f"{lines[one].where} and {lines[other].where}",
                )
        if found.unknown:
            self._note("too many streets lie on each other, so crossings without a common point were not searched")


def _is_level(data: Mapping[str, Any]) -> bool:
    """Return whether a street is tagged as a bridge or a tunnel."""
    said = (str(data.get(key) or "").strip().casefold() for key in ("bridge", "tunnel", "layer"))
    return any(each not in ("", "no", "f", "false", "0") for each in said)


def _text(place: Place) -> str:
    return " ".join(f"{number:.7f}".rstrip("0").rstrip(".") for number in place)
