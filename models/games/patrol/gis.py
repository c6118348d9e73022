"""Plans of patrols for geographic information systems: GeoJSON, GeoPackage, GPX and CSV."""

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from os import PathLike, fspath
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.errors import GameFileError, InvalidGameError, needing
from ....seqform.game import Game
from ....seqform.interchange.files import check_suffix, csv_text, refusing_unwritable, write_bytes
from ....seqform.strategy import Profile
from ...constraints import Constraint, LinearConstraint
from .game import patrol_of
from .map_coordinates import system_of
from .map_view import MapView, map_view
from .patrol import Patrol
from .road_map import RoadMap
from .schedules import Schedule
from .words import likely_routes

#: The file formats of a plan, and of a schedule.
OF_PLANS, OF_SCHEDULES = (".geojson", ".gpkg", ".csv"), (".csv", ".ics", ".gpx", ".geojson")
_GPX = "http://www.topografix.com/GPX/1/1"
#: Smaller amounts are left out of tables.
_LEAST = 1e-9
_COLUMNS = ("what", "place", "kind", "step", "amount")


def plan_features(
    game: Game, profile: Profile, limits: Iterable[Constraint] = (), prices: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Return a plan as GeoJSON: streets, places and likely routes as features.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame` whose map has positions.
    profile : Profile
    limits : iterable of Constraint, optional
        Constraints on the units' plans, such as those with a price: their use at each place.
    prices : mapping of str to float, optional
        The price of each constraint, ``solution.multipliers``.

    Returns
    -------
    dict
        A FeatureCollection. Each feature has the property ``feature``: ``street``, ``place`` or ``route``. Streets
        keep the attributes of the map. Streets and places have a property for each unit, for ``attackers``, for
        ``meetings`` and for each limit: the sum over the steps of the expected numbers there. With prices, ``price``
        is what the moves there pay for limits: their terms times the prices. A street has the moves along it, and a
        place the moves and stops that lead there, so the sum over all places is the total. Coordinates are those of
        the map; a member ``crs`` names their system unless they are longitudes and latitudes.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol.
    InvalidGameError
        If the map has no positions.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.gis import plan_features
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> nx.set_node_attributes(road, {name: {"lon": 10 + n / 100, "lat": 60} for n, name in enumerate(road)})
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 3})])
    >>> plan = plan_features(game, solve(Nash(game)).profile)
    >>> bank = next(one for one in plan["features"] if one["properties"].get("name") == "bank")
    >>> bank["geometry"], bank["properties"]["attackers"]
    ({'type': 'Point', 'coordinates': [10.02, 60.0]}, 1.0)
    """
    patrol, view = patrol_of(game), map_view(game, profile, limits)
    roads = patrol.map
    places = _places(roads)
    limits = tuple(limits)
    dear = None if prices is None else _paid(patrol, profile[1].plan, limits, prices)
    features = [
        *_street_features(roads, view, places, None if dear is None else _by_street(roads, view, dear[1])),
        *_place_features(roads, view, places, None if dear is None else dear[0]),
    ]
    for strategy in profile:
        for route in likely_routes(game, strategy):
            nodes = [roads.node(name) for _, name in route.stops]
            line = _joined(roads, places, [roads.move_between[pair] for pair in pairwise(nodes)], nodes[0])
            times = {"begins": route.times[0], "ends": route.times[-1], "times": list(route.times)}
            stops = {"stops": [name for _, name in route.stops]}
            told = {"feature": "route", "who": route.who, "probability": route.probability, **times, **stops}
            features.append(_feature(line, told))
    return _collection(roads, features)


def _paid(
    patrol: Patrol, plan: Floats, limits: Iterable[Constraint], prices: Mapping[str, float]
) -> tuple[Floats, Floats]:
    """Return what the units' moves pay for linear limits, by the node to which they lead and by the map's move."""
    cost = np.zeros(len(plan))
    for one in limits:
        if isinstance(one, LinearConstraint) and one.player == 1:
            cost[one.indices] += prices.get(one.name, 0.0) * one.coefficients
    nodes, moves = np.zeros(patrol.map.num_nodes), np.zeros(len(patrol.map.sources))
    for walker in patrol.patrolling.walkers:
        paid, along = cost[walker.sequences] * plan[walker.sequences], patrol.moves[walker.moves]
        np.add.at(nodes, walker.targets, paid)
        np.add.at(moves, along[along >= 0], paid[along >= 0])
    return nodes, moves


def _by_street(roads: RoadMap, view: MapView, amounts: Floats) -> Floats:
    """Return the sums over both directions of each street."""
    numbers = {frozenset((street.source, street.target)): number for number, street in enumerate(view.streets)}
    found = np.zeros(len(view.streets))
    for source, target, amount in zip(roads.sources.tolist(), roads.targets.tolist(), amounts.tolist(), strict=True):
        found[numbers[frozenset((source, target))]] += amount
    return found


def _totals(view: MapView, amounts: Sequence[Any], prices: Floats | None, number: int) -> dict[str, float]:
    """Return the sum of each layer at a place or street, and what moves there pay for limits."""
    found = {layer.name: _number(total[number]) for layer, total in zip(view.layers, amounts, strict=True)}
    return found if prices is None else found | {"price": _number(prices[number])}


def _street_features(
    roads: RoadMap, view: MapView, places: Sequence[Sequence[float]], prices: Floats | None
) -> Iterator[dict[str, Any]]:
    totals = [layer.streets.sum(axis=0) for layer in view.layers]
    for number, street in enumerate(view.streets):
        move = roads.move_between[street.source, street.target]
        ends = {"source": roads.shown_nodes[street.source], "target": roads.shown_nodes[street.target]}
        own = (
            {"feature": "street", "name": roads.streets[move] if roads.streets and roads.streets[move] else street.name}
            | ends
            | {"oneway": street.one_way, "closed": street.closed}
        )
        kept = dict(roads.kept[move]) if roads.kept else {}
        yield _feature(_line(roads, places, move), kept | own | _totals(view, totals, prices, number))


def _place_features(
    roads: RoadMap, view: MapView, places: Sequence[Sequence[float]], prices: Floats | None
) -> Iterator[dict[str, Any]]:
    totals = [layer.nodes.sum(axis=0) for layer in view.layers]
    for node, name in enumerate(roads.shown_nodes):
        kept = {key: values[node] for key, values in roads.attributes.items() if values[node]}
        marks = {kind: node in nodes for kind, nodes in view.marks.items()}
        found = _totals(view, totals, prices, node)
        yield _feature([places[node]], kept | {"feature": "place", "name": name} | marks | found)


def plan_rows(game: Game, profile: Profile, limits: Iterable[Constraint] = ()) -> Iterator[dict[str, Any]]:
    """Yield the expected number of units, attackers and meetings at each place in each step.

    Parameters
    ----------
    game, profile, limits
        As for :func:`plan_features`; the map needs no positions.

    Yields
    ------
    dict
        With ``what`` (a unit, ``attackers``, ``meetings`` or a limit), ``place``, ``kind`` (``place`` or ``street``),
        ``step``, ``time`` if the patrol has a clock, and ``amount``, which is not 0.
    """
    patrol, view = patrol_of(game), map_view(game, profile, limits)
    streets = [street.name for street in view.streets]
    for layer in view.layers:
        for kind, names, amounts in (("place", view.names, layer.nodes), ("street", streets, layer.streets)):
            for step, place in zip(*np.nonzero(np.abs(amounts) > _LEAST), strict=True):
                time = {} if patrol.clock is None else {"time": patrol.clock.at(int(step))}
                row = {"what": layer.name, "place": names[place], "kind": kind, "step": int(step)}
                yield row | time | {"amount": _number(amounts[step, place])}


def write_plan(
    game: Game,
    profile: Profile,
    path: str | PathLike[str],
    limits: Iterable[Constraint] = (),
    prices: Mapping[str, float] | None = None,
) -> None:
    """Write a plan to a file: GeoJSON, a GeoPackage (``.gpkg``) or a table by place and step (``.csv``).

    Parameters
    ----------
    game, profile, limits, prices
        As for :func:`plan_features`.
    path : path-like
        A GeoPackage has the layers ``streets``, ``places`` and ``routes``, and needs geopandas.

    Raises
    ------
    GameFileError
        If the file has another suffix or cannot be written.
    InvalidGameError
        If the map has no positions.
    MissingExtraError
        If geopandas is needed and not installed.
    """
    suffix = check_suffix(path, "a plan", OF_PLANS)
    if suffix == ".csv":
        clock = ("time",) if patrol_of(game).clock is not None else ()
        columns = (*_COLUMNS[:-1], *clock, _COLUMNS[-1])
        write_bytes(path, csv_text(columns, plan_rows(game, profile, limits)).encode())
        return
    found = plan_features(game, profile, limits, prices)
    if suffix == ".geojson":
        write_bytes(path, json.dumps(found, ensure_ascii=False).encode())
        return
    with needing("a GeoPackage needs geopandas", "gis"):
        import geopandas
    system = patrol_of(game).map.crs or "EPSG:4326"
    with refusing_unwritable(path):
        for kind in ("street", "place", "route"):
            own = [one for one in found["features"] if one["properties"]["feature"] == kind]
            for one in own:
                one["properties"] = {key: _cell(value) for key, value in one["properties"].items()}
            if own:
                frame = geopandas.GeoDataFrame.from_features(own, crs=system)
                frame.to_file(fspath(path), layer=f"{kind}s", driver="GPKG")


def write_schedule(
    drawn: Schedule, path: str | PathLike[str], first: dt.datetime | None = None, minutes: float | None = None
) -> None:
    """Write the routes of a schedule to a file: GPX tracks or GeoJSON lines with times, a table or a calendar.

    Parameters
    ----------
    drawn : Schedule
    path : path-like
        ``.gpx`` or ``.geojson``, or ``.csv`` or ``.ics`` as :meth:`Schedule.save
        <treeplex.models.games.patrol.Schedule.save>` writes them. GPX needs longitudes and latitudes: positions in a
        named projection are converted.
    first, minutes
        As for :meth:`Schedule.to_ics <treeplex.models.games.patrol.Schedule.to_ics>`. With `first` and a time zone of
        the patrol's clock, GPX has times in UTC, and GeoJSON has local times with their offset from UTC. Otherwise both
        have local times without a zone.

    Raises
    ------
    GameFileError
        If the file has another suffix or cannot be written.
    InvalidGameError
        If the map has no positions, or for GPX neither longitudes and latitudes nor a known system.
    MissingExtraError
        If pyproj is needed and not installed.
    """
    suffix = check_suffix(path, "a schedule", OF_SCHEDULES)
    if suffix in (".csv", ".ics"):
        drawn.save(path, first=first, minutes=minutes)
        return
    roads = patrol_of(drawn.game).map
    routes = list(_timed_routes(drawn, _places(roads), first, minutes))
    if suffix == ".geojson":
        features, zone = [], _zone(drawn, first)
        for unit, day, points in routes:
            local = (moment if zone is None else moment.astimezone(zone) for moment, _ in points)
            times = [moment.isoformat(timespec="seconds") for moment in local]
            told = {"feature": "route", "unit": unit, "day": day, "begins": times[0], "ends": times[-1], "times": times}
            features.append(_feature([place for _, place in points], told))
        write_bytes(path, json.dumps(_collection(roads, features), ensure_ascii=False).encode())
        return
    turned = _to_degrees(roads)
    top = Element("gpx", version="1.1", creator="treeplex", xmlns=_GPX)
    for unit, day, points in routes:
        track = SubElement(top, "trk")
        SubElement(track, "name").text = f"{unit}, day {day}"
        segment = SubElement(track, "trkseg")
        for moment, place in points:
            east, north = turned(place)
            point = SubElement(segment, "trkpt", lat=f"{north:.7f}", lon=f"{east:.7f}")
            SubElement(point, "time").text = _stamp(moment)
    indent(top)
    write_bytes(path, b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(top, encoding="utf-8") + b"\n")


def _timed_routes(
    drawn: Schedule, places: Sequence[Sequence[float]], first: dt.datetime | None, minutes: float | None
) -> Iterator[tuple[str, int, list[tuple[dt.datetime, Sequence[float]]]]]:
    """Yield the unit, the day, and the points of each route with their times."""
    roads = patrol_of(drawn.game).map
    begins, minutes = drawn.clock(first, minutes)
    zone = _zone(drawn, first)

    routes: dict[tuple[str, int], list[tuple[dt.datetime, Sequence[float]]]] = {}
    for row in drawn.rows():
        midnight = begins + dt.timedelta(days=row["day"] - 1)
        if zone is not None:  # in UTC, because clocks may be changed on the way
            midnight = midnight.replace(tzinfo=zone).astimezone(dt.UTC)
        leaves, arrives = (midnight + dt.timedelta(minutes=minutes * row[key]) for key in ("leaves", "arrives"))
        source, target = (roads.node(row[key]) for key in ("from", "to"))
        points = routes.setdefault((row["unit"], row["day"]), [])
        if not points:
            points.append((leaves, places[source]))
        line = (
            [places[source], places[target]]
            if source == target
            else _line(roads, places, roads.move_between[source, target])
        )
        passed = _passed(line)
        points += [
            (leaves + (arrives - leaves) * part, point) for part, point in zip(passed[1:], line[1:], strict=True)
        ]
    for (unit, day), points in routes.items():
        yield unit, day, points


def _zone(drawn: Schedule, first: dt.datetime | None) -> dt.tzinfo | None:
    """Return the time zone of a schedule, if it and the date are known."""
    return None if first is None else drawn.zone


def _stamp(moment: dt.datetime) -> str:
    """Return a time of GPX: in UTC if its zone is known, otherwise as it is, without a zone."""
    zoned = moment.tzinfo is not None
    return f"{moment.astimezone(dt.UTC):%Y-%m-%dT%H:%M:%SZ}" if zoned else f"{moment:%Y-%m-%dT%H:%M:%S}"


def _passed(line: Sequence[Sequence[float]]) -> list[float]:
    """Return the share of a line's length up to each of its points."""
    steps = [float(np.hypot(*np.subtract(one, other))) for one, other in pairwise(line)]
    total = sum(steps)
    if not total:
        return [place / (len(line) - 1) for place in range(len(line))]
    return [0.0, *(np.cumsum(steps) / total).tolist()]


def _places(roads: RoadMap) -> list[list[float]]:
    """Return the positions of the nodes, or raise an error if the map has none."""
    if roads.places is None:
        raise InvalidGameError("the map has no positions, expected x and y or lon and lat of every node")
    places: list[list[float]] = roads.places.tolist()
    return places


def _line(roads: RoadMap, places: Sequence[Sequence[float]], move: int) -> Sequence[Sequence[float]]:
    """Return the points of a move's line."""
    return roads.shapes.get(move) or [places[int(roads.sources[move])], places[int(roads.targets[move])]]


def _joined(
    roads: RoadMap, places: Sequence[Sequence[float]], moves: Sequence[int], start: int
) -> list[Sequence[float]]:
    """Return the points of the lines of several moves."""
    points: list[Sequence[float]] = [places[start]]
    for move in moves:
        points += _line(roads, places, move)[1:]
    return points if len(points) > 1 else points * 2


def _feature(points: Sequence[Sequence[float]], properties: Mapping[str, Any]) -> dict[str, Any]:
    kind, coordinates = ("LineString", list(points)) if len(points) > 1 else ("Point", points[0])
    return {
        "type": "Feature",
        "geometry": {"type": kind, "coordinates": coordinates},
        "properties": dict(properties),
    }


def _collection(roads: RoadMap, features: list[dict[str, Any]]) -> dict[str, Any]:
    named = {} if roads.geographic or not roads.crs else {"crs": {"type": "name", "properties": {"name": roads.crs}}}
    return {"type": "FeatureCollection", **named, "features": features}


def _to_degrees(roads: RoadMap) -> Any:
    """Return the function that converts a position of the map to longitude and latitude."""
    if roads.geographic:
        return lambda place: place
    if not roads.crs:
        raise InvalidGameError(
            "GPX needs longitudes and latitudes, but the map does not name its coordinate system; expected lon "
            "and lat, or an attribute crs of the map"
        )
    try:
        return system_of({"type": "name", "properties": {"name": roads.crs}}).degrees
    except GameFileError as error:
        raise InvalidGameError(str(error)) from None


def _number(value: float) -> float:
    return round(float(value), 9)


def _cell(value: Any) -> Any:
    """Return a value for a column of a table."""
    return " → ".join(map(str, value)) if isinstance(value, list) else value
