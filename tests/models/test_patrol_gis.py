"""Patrols with a clock and street names, plans for geographic information systems, and the best attack on each goal."""

import csv
import dataclasses
import datetime as dt
import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from treeplex import GameFileError, Nash, load_game, parse_constraint, solve
from treeplex.models.games.patrol import (
    Attacker,
    Clock,
    Patrol,
    PatrolGame,
    PatrolPlan,
    RoadMap,
    Sensor,
    Unit,
    attacks,
    patrol_occupancy,
    plan_features,
    plan_rows,
    schedule,
    write_plan,
    write_schedule,
)
from treeplex.seqform.errors import InvalidGameError
from treeplex.seqform.evaluate import best_response_values
from treeplex.seqform.strategy import Profile, Strategy
from treeplex.solvers.opponents.strategies import opponent_strategy

PLACES = {"gate": (10.0, 60.0), "mill": (10.02, 60.0), "bank": (10.04, 60.01), "inn": (10.02, 60.02)}
BEND = (10.01, 60.002)
LINES = {
    "High Street": [["gate", BEND, "mill"], ["mill", "bank"]],
    "Back Lane": [["gate", "inn"]],
    "Park Road": [["inn", "bank"]],
    "Mill Way": [["mill", "inn"]],
}
DECLARED = """
map = "roads.geojson"
begin = "22:00"
end = "23:00"
step = "5 min"
speed = "30 km/h"
[[units]]
start = "mill"
shift = ["22:00", "22:45"]
[[attackers]]
entries = { gate = ["22:10", "22:30"] }
goals = { bank = 2.0, inn = 0.5 }
[[limits]]
text = 'coverage("High Street", 22:10-22:40) >= 0.05'
"""


def features() -> dict[str, Any]:
    points = [
        {"type": "Feature", "properties": {"name": name}, "geometry": {"type": "Point", "coordinates": list(at)}}
        for name, at in PLACES.items()
    ]
    lines = [
        {
            "type": "Feature",
            "properties": {"name": name, "surface": "asphalt"},
            "geometry": {
                "type": "LineString",
                "coordinates": [list(PLACES[one] if isinstance(one, str) else one) for one in line],
            },
        }
        for name, parts in LINES.items()
        for line in parts
    ]
    return {"type": "FeatureCollection", "features": points + lines}


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PatrolPlan:
    monkeypatch.chdir(tmp_path)
    Path("roads.geojson").write_text(json.dumps(features()))
    Path("town.toml").write_text(DECLARED)
    game = load_game("town.toml")
    assert isinstance(game, PatrolGame)
    return PatrolPlan(game, Profile([opponent_strategy(f"random:seed={player}", game, player) for player in (0, 1)]))


# The clock


@pytest.mark.parametrize("begin", ["22:00", "00:00", "13:37:30"])
@pytest.mark.parametrize("step", ["5 min", "30 s", "1 h", "2.5 min"])
def test_a_clock_reads_the_times_that_it_shows(begin: str, step: str) -> None:
    clock = Clock(begin, step)
    for time in range(0, round(86_400 / clock.seconds), 7):
        assert clock.time(clock.at(time)) == time
    late = dt.timedelta(seconds=3 * clock.seconds)
    assert f"{clock.moment(dt.date(2026, 5, 4)) + late:%H:%M:%S}".removesuffix(":00") == clock.at(3)
    assert clock.times((clock.at(5), clock.at(5))) == (5, 5)


@pytest.mark.parametrize(
    ("begin", "step", "said"),
    [
        ("25:00", "5 min", "begin is '25:00', expected a time of day such as 22:00"),
        ("22.00", "5 min", "begin is '22.00', expected a time of day"),
        (22, "5 min", "begin is 22, expected a time of day"),
        ("22:00", "5", "step is '5', expected a length of time such as '5 min'"),
        ("22:00", "0 min", "step is '0 min', expected a length of time"),
        ("22:00", 5, "step is 5, expected a length of time"),
    ],
)
def test_a_clock_refuses_other_texts(begin: Any, step: Any, said: str) -> None:
    with pytest.raises(InvalidGameError, match=said):
        Clock(begin, step)


def test_times_of_day_and_numbers_of_steps_declare_the_same_game(plan: PatrolPlan) -> None:
    text = DECLARED.replace('["22:00", "22:45"]', "[0, 9]").replace('["22:10", "22:30"]', "[2, 6]")
    text = text.replace("22:10-22:40", "2..8").replace('end = "23:00"', "steps = 12")
    Path("steps.toml").write_text(text.replace("30 km/h", "8.333333333333334 m/s"))
    other = load_game("steps.toml")
    assert isinstance(other, PatrolGame)
    assert other.fingerprint == plan.game.fingerprint
    assert other.constraints[0].terms == plan.game.constraints[0].terms
    assert plan.game.functionals["visits(bank, 22:10..22:20)"].description.endswith("from 22:10 to 22:20")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('end = "23:00"', "", "steps is missing, expected a whole number, such as 20, or a clock"),
        ('end = "23:00"', 'end = "23:00"\nsteps = 12', "steps and end are given together"),
        ('begin = "22:00"', "", "end is given without the other keys of a clock"),
        ('step = "5 min"', 'step = "5 miles"', "line 5: step is '5 miles', expected a length of time"),
        ('"22:45"', '"22:44"', r"line 9: units.1..shift is 22:44, which is not a whole number of steps of 5 min after"),
        ('"22:45"', '"22:44"', "expected a time such as 22:40 or 22:45"),
        ('"22:45"', '"03:00"', r"shift is \[.*'03:00'\], expected a first and a last time, such as \['22:00', "),
        ('"30 km/h"', '"30 knots"', "speed is '30 knots', expected a length per step such as 250, or a speed"),
    ],
)
def test_wrong_clocks_are_refused_with_their_line(plan: PatrolPlan, old: str, new: str, said: str) -> None:
    Path("wrong.toml").write_text(DECLARED.replace(old, new))
    with pytest.raises(InvalidGameError, match=said):
        load_game("wrong.toml")


def test_times_of_day_need_a_clock() -> None:
    road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    thief = Attacker(["gate"], {"bank": 1})
    with pytest.raises(InvalidGameError, match=r"units.1..shift is .*, but the patrol has no clock"):
        PatrolGame(road, steps=4, units=[Unit("mill", shift=("22:00", "23:00"))], attackers=[thief])  # type: ignore[arg-type]
    game = PatrolGame(road, steps=4, units=[Unit("mill")], attackers=[thief])
    with pytest.raises(KeyError, match="the patrol has no clock"):
        game.functionals["visits(bank, 22:00-23:00)"]


# Streets


def test_a_street_is_a_place_of_all_its_edges(plan: PatrolPlan) -> None:
    roads, strategy = plan.patrol.map, plan.profile[1]
    edges = roads.place("gate -- mill").moves | roads.place("mill -- bank").moves
    assert (roads.place("High Street").moves == edges).all()
    both = plan.game.functionals["visits(gate -- mill, mill -- bank)"].value(plan.profile)
    assert plan.game.functionals["visits(High Street)"].value(plan.profile) == pytest.approx(both)
    with pytest.raises(InvalidGameError, match="did you mean High Street"):
        roads.place("High Stret")
    (unit,) = patrol_occupancy(plan.game, strategy)
    for first, last in ((0, 12), (2, 8), (11, 12)):
        steps = slice(first, min(last, 11) + 1)
        expected = unit.moving[steps][:, edges].sum() / len(range(*steps.indices(12)))
        name = f'coverage("High Street", {first}..{last})'
        assert plan.game.functionals[name].value(plan.profile) == pytest.approx(expected, abs=1e-12)
    with pytest.raises(KeyError, match="are nodes and streets, expected only nodes or only streets"):
        plan.game.functionals["coverage(bank, High Street)"]
    assert parse_constraint("visits(Back Lane, 22:10-22:30) >= 0.1", plan.game)


def test_a_node_with_the_name_of_a_street_comes_first() -> None:
    roads = nx.Graph()
    roads.add_edge("gate", "bank", name="gate")
    place = RoadMap.from_graph(roads).place("gate")
    assert place.nodes.sum() == 1
    assert not place.moves.any()


# Files


def test_geojson_holds_the_map_and_the_plan(plan: PatrolPlan) -> None:
    write_plan(plan.game, plan.profile, "plan.geojson", plan.game.constraints)
    found = json.loads(Path("plan.geojson").read_text())
    assert found == json.loads(json.dumps(plan_features(plan.game, plan.profile, plan.game.constraints)))
    kinds = {
        kind: [one for one in found["features"] if one["properties"]["feature"] == kind]
        for kind in ("street", "place", "route")
    }
    assert len(kinds["street"]) == 5
    assert "crs" not in found
    high = next(one for one in kinds["street"] if one["properties"]["target"] == "mill")
    assert high["geometry"]["coordinates"] == [list(PLACES["gate"]), list(BEND), list(PLACES["mill"])]
    assert high["properties"]["surface"] == "asphalt"
    (unit,) = patrol_occupancy(plan.game, plan.profile[1])
    for one in kinds["street"]:
        said = one["properties"]
        moves = plan.patrol.map.place((said["source"], said["target"])).moves
        assert said["unit 1"] == pytest.approx(unit.moving[:, moves].sum(), abs=1e-8)
    for one in kinds["place"]:
        node = plan.patrol.map.node(one["properties"]["name"])
        assert tuple(one["geometry"]["coordinates"]) == PLACES[plan.patrol.map.nodes[node]]
        assert one["properties"]["unit 1"] == pytest.approx(unit.standing[:, node].sum(), abs=1e-8)
    for one in kinds["route"]:
        stops = one["properties"]["stops"]
        line = [tuple(point) for point in one["geometry"]["coordinates"]]
        assert [point for point in line if point != BEND][:: max(1, len(line) - 1)][0] == PLACES[stops[0]]
        assert line[-1] == PLACES[stops[-1]]
        assert len(one["properties"]["times"]) == len(stops)


def test_the_table_sums_to_the_occupancy(plan: PatrolPlan) -> None:
    write_plan(plan.game, plan.profile, "plan.csv")
    rows = list(csv.DictReader(io.StringIO(Path("plan.csv").read_text())))
    assert [int(row["step"]) for row in rows if row["time"] == "22:35"]
    (unit,) = patrol_occupancy(plan.game, plan.profile[1])
    own = [row for row in rows if row["what"] == "unit 1"]
    assert sum(float(row["amount"]) for row in own) == pytest.approx(unit.standing.sum() + unit.moving.sum(), abs=1e-6)
    assert len(rows) == len(list(plan_rows(plan.game, plan.profile)))


def test_routes_of_a_schedule_are_tracks_with_times(plan: PatrolPlan) -> None:
    drawn = schedule(plan.game, plan.profile, days=3, seed=1)
    first = dt.datetime(2026, 5, 4, 22)
    write_schedule(drawn, "month.gpx", first)
    write_schedule(drawn, "month.geojson", first)
    root = ET.fromstring(Path("month.gpx").read_text())
    space = {"g": "http://www.topografix.com/GPX/1/1"}
    tracks = root.findall("g:trk", space)
    lines = json.loads(Path("month.geojson").read_text())["features"]
    assert len(tracks) == len(lines) == 3
    for day, (track, line) in enumerate(zip(tracks, lines, strict=True)):
        assert track.findtext("g:name", namespaces=space) == f"unit 1, day {day + 1}"
        points = track.findall(".//g:trkpt", space)
        where = [[float(point.attrib["lon"]), float(point.attrib["lat"])] for point in points]
        assert np.allclose(where, line["geometry"]["coordinates"], atol=1e-6)
        times = [dt.datetime.fromisoformat(point.findtext("g:time", "", space)) for point in points]
        assert times == sorted(times)
        assert times[0] == first + dt.timedelta(days=day)
        assert (times[-1] - times[0]) == dt.timedelta(minutes=45)
    assert f"{first:%Y-%m-%dT%H:%M:%S}" == lines[0]["properties"]["begins"]
    assert {"leaves_at", "arrives_at"} <= set(drawn.to_csv().splitlines()[0].split(","))


def test_files_need_positions_and_a_system(plan: PatrolPlan) -> None:
    road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    game = PatrolGame(road, steps=3, units=[Unit("mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    profile = Profile.uniform(game)
    with pytest.raises(InvalidGameError, match="the map has no positions, expected x and y or lon and lat"):
        write_plan(game, profile, "plan.geojson")
    write_plan(game, profile, "plan.csv")  # needs none
    with pytest.raises(GameFileError, match=r"expected .geojson, .gpkg or .csv"):
        write_plan(game, profile, "plan.kml")
    nx.set_node_attributes(road, {name: {"x": 1000.0 * n, "y": 0.0} for n, name in enumerate(road)})
    plane = PatrolGame(road, steps=3, units=[Unit("mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    with pytest.raises(InvalidGameError, match="GPX needs longitudes and latitudes, but the map does not name"):
        write_schedule(schedule(plane, Strategy.uniform(plane, 1), days=1, seed=0), "plan.gpx")


def test_a_projected_map_keeps_its_system_and_gpx_is_in_degrees(plan: PatrolPlan) -> None:
    pyproj = pytest.importorskip("pyproj")
    east = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:25832", always_xy=True).transform
    data = features()
    for one in data["features"]:
        shape = one["geometry"]
        at = shape["coordinates"]
        shape["coordinates"] = list(east(*at)) if shape["type"] == "Point" else [list(east(*point)) for point in at]
    data["crs"] = {"type": "name", "properties": {"name": "EPSG:25832"}}
    Path("roads.geojson").write_text(json.dumps(data))
    game = load_game("town.toml")
    assert isinstance(game, PatrolGame)
    profile = Profile.uniform(game)
    PatrolPlan(game, profile).save("plan.npz")
    read = PatrolPlan.load("plan.npz")
    assert (read.patrol.map.crs, read.patrol.clock) == ("EPSG:25832", Clock("22:00", "5 min"))
    assert read.patrol.map.shapes == game.patrol.map.shapes
    assert plan_features(read.game, read.profile)["crs"] == data["crs"]
    write_schedule(schedule(read.game, read.profile, days=1, seed=1), "day.gpx")
    points = ET.fromstring(Path("day.gpx").read_text()).iter("{http://www.topografix.com/GPX/1/1}trkpt")
    for point in points:
        where = float(point.attrib["lon"]), float(point.attrib["lat"])
        assert min(np.hypot(*np.subtract(where, one)) for one in (*PLACES.values(), BEND)) < 1e-6


def test_geopackages_and_shapefiles_go_both_ways(plan: PatrolPlan) -> None:
    geopandas = pytest.importorskip("geopandas")
    write_plan(plan.game, plan.profile, "plan.gpkg")
    layers = {name: geopandas.read_file("plan.gpkg", layer=name) for name in ("streets", "places", "routes")}
    assert (len(layers["streets"]), len(layers["places"])) == (5, 4)
    assert all(str(layer.crs) == "EPSG:4326" for layer in layers.values())
    assert set(layers["streets"]["surface"]) == {"asphalt"}
    geopandas.read_file("roads.geojson").query("surface == 'asphalt'").to_crs(25832).to_file("roads.gpkg")
    geopandas.read_file("roads.gpkg").to_file("roads.shp")
    for name in ("roads.gpkg", "roads.shp"):
        roads = RoadMap.from_graph(name)
        assert (roads.crs, roads.geographic, roads.num_nodes) == ("EPSG:25832", False, 4)
        assert set(roads.named_streets) == set(LINES)
    with pytest.raises(GameFileError, match=r"none.gpkg: no such file"):
        RoadMap.from_graph("none.gpkg")


# Attacks


@pytest.mark.parametrize("seed", range(4))
def test_the_best_attack_is_the_best_response_if_only_its_goal_has_a_value(seed: int) -> None:
    rng = np.random.default_rng(seed)
    roads = nx.relabel_nodes(nx.random_geometric_graph(7, 0.6, seed=seed), str)
    if not nx.is_connected(roads):
        roads = nx.compose(roads, nx.path_graph([str(node) for node in range(7)], create_using=nx.Graph))
    types = [
        Attacker(["0"], {"5": float(rng.uniform(0.5, 2)), "6": float(rng.uniform(0.5, 2))}, window=(0, 2)),
        Attacker(["1"], {"5": float(rng.uniform(0.5, 2))}, may_stay_away=bool(seed % 2)),
    ]
    sensors = [Sensor("4", 0.3)] if seed % 2 else []
    patrol = Patrol(RoadMap.from_graph(roads), 5, [Unit("3"), Unit("2", detection=0.5)], types, sensors=sensors)
    game = PatrolGame(patrol)
    plan = opponent_strategy(f"random:seed={seed}", game, 1)
    found = attacks(game, plan)
    assert len(found) == 3
    assert [one.earns for one in found] == sorted((one.earns for one in found), reverse=True)
    for one in found:
        number = [each.name for each in patrol.attackers].index(one.who)
        only = {name: value if name == one.goal else 0.0 for name, value in types[number].goals.items()}
        alone = dataclasses.replace(types[number], goals=only, probability=1.0)
        single = PatrolGame(dataclasses.replace(patrol, attackers=[alone]))
        moved = Strategy(single, 1, plan.behaviour)
        assert one.earns == pytest.approx(
            best_response_values(single, Profile([Strategy.uniform(single, 0), moved]))[0]
        )
        if one.route is not None:
            reached = one.route.stops[-1][1] == one.goal
            value = types[number].goals[one.goal] if reached else 0.0
            assert one.earns == pytest.approx(value - one.detections, abs=1e-9)


def test_attackers_who_gain_nothing_stay_away() -> None:
    road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    game = PatrolGame(road, steps=2, units=[Unit("mill")], attackers=[Attacker(["gate"], {"bank": 0.5})])
    (one,) = attacks(game, solve(Nash(game)).profile)
    assert (one.earns, one.route, one.way) == (0.0, None, "stays away")
