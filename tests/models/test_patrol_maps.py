"""Maps and declarations of patrols from files: as other programs write them, and bad ones in one line each."""

import dataclasses
import json
import sys

import networkx as nx
import numpy as np
import pytest

from treeplex import (
    GameFileError,
    InvalidConstraintError,
    InvalidGameError,
    MissingExtraError,
    Nash,
    Profile,
    load_game,
    solve,
)
from treeplex.models.games.patrol import (
    Attacker,
    Closure,
    PatrolGame,
    PatrolPlan,
    RoadMap,
    Sensor,
    Unit,
    draw_map,
    units_payoff,
)
from treeplex.models.games.patrol.map_files import read_map
from treeplex.models.games.patrol.map_view import map_view
from treeplex.solvers.choice import choose
from treeplex.solvers.patrols import patrol_problem

OSMNX = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d9" for="edge" attr.name="oneway" attr.type="string"/>
  <key id="d8" for="edge" attr.name="length" attr.type="string"/>
  <key id="d5" for="node" attr.name="x" attr.type="string"/>
  <key id="d4" for="node" attr.name="y" attr.type="string"/>
  <key id="d0" for="graph" attr.name="crs" attr.type="string"/>
  <graph edgedefault="directed">
    <data key="d0">epsg:4326</data>
    <node id="53028"><data key="d4">48.1</data><data key="d5">11.5</data></node>
    <node id="53029"><data key="d4">48.2</data><data key="d5">11.6</data></node>
    <edge source="53028" target="53029" id="0"><data key="d9">False</data><data key="d8">120.5</data></edge>
    <edge source="53029" target="53028" id="0"><data key="d9">False</data><data key="d8">120.5</data></edge>
    <edge source="53028" target="53029" id="1"><data key="d9">False</data><data key="d8">300.0</data></edge>
  </graph>
</graphml>
"""
YED = """<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key for="graphml" id="d7" yfiles.type="resources"/>
  <key attr.name="description" attr.type="string" for="node" id="d5"/>
  <key for="node" id="d6" yfiles.type="nodegraphics"/>
  <key for="edge" id="d10" yfiles.type="edgegraphics"/>
  <graph edgedefault="directed" id="G">
    <node id="n0"><data key="d5"/><data key="d6"><y:ShapeNode><y:Geometry height="30.0" width="40.0" x="10.0" y="20.0"/>
      <y:NodeLabel alignment="center" x="3">gate<y:LabelModel><y:SmartNodeLabelModel distance="4.0"/></y:LabelModel>
      </y:NodeLabel><y:Shape type="rectangle"/></y:ShapeNode></data></node>
    <node id="n1"><data key="d6"><y:ShapeNode><y:Geometry height="30.0" width="40.0" x="110.0" y="20.0"/>
      <y:NodeLabel>bank</y:NodeLabel></y:ShapeNode></data></node>
    <edge id="e0" source="n0" target="n1"><data key="d10"><y:PolyLineEdge><y:EdgeLabel>Main</y:EdgeLabel>
      </y:PolyLineEdge></data></edge>
  </graph>
  <data key="d7"><y:Resources/></data>
</graphml>
"""
GEPHI = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key attr.name="label" attr.type="string" for="node" id="label"/>
<key attr.name="weight" attr.type="double" for="edge" id="weight"/>
<key attr.name="x" attr.type="float" for="node" id="x"/><key attr.name="y" attr.type="float" for="node" id="y"/>
<graph edgedefault="undirected">
<node id="0"><data key="label">gate</data><data key="x">-3.5</data><data key="y">1.0</data></node>
<node id="1"><data key="label">bank</data><data key="x">2.0</data><data key="y">0.0</data></node>
<edge source="0" target="1"><data key="weight">1.0</data></edge>
</graph></graphml>
"""
QGIS = {
    "type": "FeatureCollection",
    "name": "roads",
    "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}},
    "features": [
        {
            "type": "Feature",
            "properties": {"fid": 1, "name": "gate", "district": "north"},
            "geometry": {"type": "Point", "coordinates": [11.0, 48.0]},
        },
        {
            "type": "Feature",
            "properties": {"fid": 1, "highway": "residential", "oneway": "yes"},
            "geometry": {"type": "LineString", "coordinates": [[11.0, 48.0], [11.0, 48.0005], [11.0, 48.001]]},
        },
        {
            "type": "Feature",
            "properties": None,
            "geometry": {"type": "MultiLineString", "coordinates": [[[11.0, 48.001], [11.002, 48.001, 5.0]]]},
        },
    ],
}


def written(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def town():
    return nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])


def declared(**changes):
    return {"steps": 4, "units": [Unit(base="mill")], "attackers": [Attacker(["gate"], {"bank": 1.0})]} | changes


def test_osmnx_writes_texts_and_parallel_edges(tmp_path):
    roads = RoadMap.from_graph(read_map(written(tmp_path, "osm.graphml", OSMNX)), speed=50)
    assert roads.nodes == ("53028", "53029")
    assert roads.durations().tolist() == [3, 3]
    assert roads.positions.tolist() == [[11.5, 48.1], [11.6, 48.2]]
    assert any("parallel" in note for note in roads.notes)
    assert any("length / 50 rounded up" in note for note in roads.notes)


def test_yed_writes_names_and_places_into_its_drawing(tmp_path):
    roads = RoadMap.from_graph(read_map(written(tmp_path, "yed.graphml", YED)))
    assert roads.nodes == ("gate", "bank")
    assert roads.node("n1") == roads.node("bank") == 1  # by its id too
    assert roads.positions.tolist() == [[30.0, -35.0], [130.0, -35.0]]
    assert len(roads.sources) == 1
    assert roads.notes == ()


def test_gephi_writes_undirected_graphs_with_labels(tmp_path):
    roads = RoadMap.from_graph(read_map(written(tmp_path, "gephi.graphml", GEPHI)))
    assert roads.nodes == ("gate", "bank")
    assert roads.sources.tolist() == [0, 1]


def test_qgis_writes_lines_that_meet_at_their_ends(tmp_path):
    roads = RoadMap.from_graph(read_map(written(tmp_path, "roads.geojson", QGIS)), speed=100)
    assert roads.nodes[0] == "gate"
    assert roads.num_nodes == 3
    # 111 m one way, and 149 m both ways, measured on a sphere.
    assert roads.times.tolist() == pytest.approx([1.112, 1.488, 1.488], abs=2e-3)
    assert roads.attributes["district"] == ("north", "", "")


@pytest.mark.parametrize(("edges", "directed"), [("links", False), ("edges", True)])
def test_node_link_json_of_networkx(tmp_path, edges, directed):
    graph = nx.DiGraph() if directed else nx.Graph()
    graph.add_node(1, x=0.0, y=0.0)
    graph.add_node(2, x=1.0, y=0.5)
    graph.add_edge(1, 2, steps=3)
    path = written(tmp_path, "roads.json", nx.node_link_data(graph, edges=edges))
    roads = RoadMap.from_graph(read_map(path))
    assert roads.nodes == ("1", "2")
    assert roads.durations().tolist() == ([3] if directed else [3, 3])


@pytest.mark.parametrize(
    "text",
    [
        "gate,mill,2\nmill,bank,1\n",
        "Source;Target;steps\r\ngate;mill;2\r\n\r\nmill;bank;1",
        "\ufefffrom\tto\tsteps\toneway\ngate\tmill\t2\tno\nmill\tbank\t1\tfalse\n",
    ],
)
def test_edge_lists_with_and_without_a_header(tmp_path, text):
    roads = RoadMap.from_graph(read_map(written(tmp_path, "roads.csv", text)))
    assert roads.nodes == ("gate", "mill", "bank")
    assert roads.durations().tolist() == [2, 2, 1, 1]


def test_one_graph_is_one_map_in_every_format(tmp_path):
    graph = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    nx.set_edge_attributes(graph, 2, "steps")
    nx.write_graphml(graph, tmp_path / "a.graphml")
    written(tmp_path, "a.json", nx.node_link_data(graph, edges="edges"))
    written(tmp_path, "a.csv", "gate,mill,2\nmill,bank,2\n")
    prints = {PatrolGame(graph, **declared(steps=6)).fingerprint}
    for name in ("a.graphml", "a.json", "a.csv"):
        prints.add(PatrolGame(read_map(tmp_path / name), **declared(steps=6)).fingerprint)
    assert len(prints) == 1


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.graphml", "<graphml><graph/></graphml>", "the map has no nodes"),
        ("a.graphml", "<!DOCTYPE x><graphml/>", "line 1.*document type"),
        ("a.graphml", "<graphml><graph><node/></graph></graphml>", "without the attribute 'id'"),
        (
            "a.graphml",
            "<graphml>\n<graph><node id='a'/><edge source='a' target='b'/></graph></graphml>",
            "line 2.*no node 'b'",
        ),
        ("a.graphml", "<graphml><graph><node id='a'/><node id='a'/></graph></graphml>", "two nodes named 'a'"),
        ("a.graphml", "not a map", "not XML"),
        ("a.json", {"nodes": [{"id": 1}]}, "not a node-link graph"),
        ("a.json", {"nodes": [{"name": 1}], "edges": []}, "expected an object with the key 'id'"),
        ("a.json", {"nodes": [{"id": "gate"}], "edges": [{"source": "gate", "target": "gaet"}]}, "did you mean gate"),
        ("a.geojson", {"type": "Point"}, "FeatureCollection"),
        ("a.geojson", {"type": "FeatureCollection", "features": [3]}, "expected a feature"),
        ("a.csv", "source,target\na,b,c\n", "line 2: 3 cells, expected 2"),
        ("a.csv", "a\n", "1 cells, expected a header"),
        ("a.csv", "source,target\n,b\n", "line 2: the edge: a node is called ''"),
        ("a.kml", "", "suffix of the map is '.kml'"),
    ],
)
def test_bad_maps_are_refused_in_one_line(tmp_path, name, content, message):
    path = written(tmp_path, name, content)
    with pytest.raises(GameFileError, match=message) as refused:
        read_map(path)
    assert str(refused.value).startswith(str(path))
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("graph", "changes", "message"),
    [
        (nx.Graph([(1, "1")]), {}, "two nodes are named '1'"),
        (nx.Graph(), {}, "the map has no nodes"),
        (nx.Graph([("gate", "mill", {"steps": -2})]), {}, "steps of the edge from 'gate' to 'mill' is -2"),
        (nx.Graph([("gate", "mill", {"steps": "many"})]), {}, "is 'many', expected a positive number"),
        (nx.Graph([("gate", "mill", {"steps": 1e9})]), {}, "of at most 1,000,000 steps"),
        (town(), {"attackers": [Attacker(["gaet"], {"bank": 1})]}, r"entries is 'gaet'.*did you mean gate"),
        (town(), {"attackers": [Attacker([], {"bank": 1})]}, r"attackers\[1\].entries is \[\], expected at least one"),
        (
            town(),
            {"attackers": [Attacker({"gate": (0, 1)}, {"bank": 1}, window=(0, 2))]},
            "window is given together with entries",
        ),
        (town(), {"attackers": [Attacker(["gate"], {})]}, r"goals is {}, expected a value by node"),
        (town(), {"attackers": [Attacker(["bank"], {"bank": 1})]}, "which is also one of its goals"),
        (town(), {"attackers": []}, "attackers is empty, expected at least one Attacker"),
        (town(), {"units": [{"base": "mill"}]}, r"units is \[{'base': 'mill'}\], expected a list of Unit"),
        (town(), {"units": [Unit(base="inn", name="mill")]}, r"units\[1\].name is 'mill'"),
        (town(), {"units": [Unit()]}, r"units\[1\] has no start"),
        (town(), {"units": [Unit(base="mll")]}, r"units\[1\].base is 'mll'.*did you mean mill"),
        (town(), {"units": [Unit(base="mill", shift=(3, 9))]}, r"shift is \(3, 9\), expected a first and a last time"),
        (town(), {"units": [Unit(base="mill", speed=0)]}, r"units\[1\].speed is 0"),
        (town(), {"units": [Unit(base="mill", detection=1.5)]}, r"detection is 1.5, expected a number from 0 to 1"),
        (town(), {"units": [Unit(base="mill", no_go=["bank", "gat"])]}, r"no_go is 'gat'.*did you mean gate"),
        (town(), {"units": [Unit(base="mill", ends=["bank"], shift=(0, 1), no_go=["mill -- bank"])]}, "no route leads"),
        (town(), {"sensors": [Sensor("gate -- bank")]}, "no edge leads from one to the other"),
        (town(), {"closures": [Closure("bank", side="us")]}, "expected one of all, units, attackers"),
        (town(), {"closures": [Closure("bank")]}, r"attackers\[1\].goals: no route leads attacker 1"),
        (town(), {"steps": 1}, "within 1 steps"),
        (town(), {"failure": 2}, "failure is 2"),
        (town(), {"areas": ["mill"]}, r"areas is \['mill'\], expected a mapping of area names to nodes"),
        (town(), {"limits": 3}, "limits is 3, expected a list"),
        (town(), {"steps": 2.5}, "steps is 2.5, expected a whole number"),
        (town(), {"units": [Unit(base="mill", ends="bnk")]}, r"units\[1\].ends is 'bnk'.*did you mean bank"),
        (town(), {"closures": [Closure("gate", (3, 1))]}, r"closures\[1\].times is \(3, 1\)"),
        (town(), {"sensors": [Sensor("gate", 2.0)]}, r"sensors\[1\].detection is 2.0"),
        (town(), {"attackers": [Attacker(["gate"], {"bank": "much"})]}, r"goals: bank is 'much', expected a"),
        (
            town(),
            {"attackers": [Attacker(["gate"], {"bank": 1}, probability=0.4)]},
            "probabilities of attackers sum to 0.4",
        ),
        ("no.graphml", {}, "no.graphml"),
        (3, {}, "the map is 3, expected a networkx graph or a file"),
        (town(), {"areas": {"bank": ["mill"]}}, "areas.bank is an area, but a node"),
        (nx.Graph([("gate", "mill"), ("bank", "inn")]), {}, "no route leads"),
        (
            nx.Graph([("gate", "mill"), ("bank", "inn")]),
            {"attackers": [Attacker(["gate"], {"bank": 1, "mill": 1})], "units": [Unit(base="inn")]},
            "goals has bank, which no route from an entry reaches",
        ),
    ],
)
def test_bad_declarations_are_refused_in_one_line(graph, changes, message):
    with pytest.raises(InvalidGameError, match=message) as refused:
        PatrolGame(graph, **declared(**changes))
    assert "\n" not in str(refused.value)


FILE = """
map = "roads.csv"
steps = 6
failure = 0.1
[[units]]
start = "mill"
shift = [0, 5]
detection = { bank = 0.5 }
[[units]]
base = "bank"
name = "car"
speed = 2.0
[[attackers]]
entries = ["gate"]
window = [0, 2]
goals = { bank = 2.0, inn = 1.0 }
probability = 0.75
[[attackers]]
entries = { inn = [1, 1] }
goals = { bank = 1.0 }
probability = 0.25
may_stay_away = false
[[sensors]]
at = "mill -- bank"
detection = 0.5
[[closures]]
at = "inn"
times = [2, 3]
side = "units"
[payoffs]
meeting = -1.5
step = -0.02
[areas]
centre = ["mill", "inn"]
[[limits]]
text = "risk(unit 1) <= 0.05"
[[limits]]
text = "visits(centre) >= 0.1 as seen"
"""
ROADS = "gate,mill,1\ngate,inn,2\nmill,bank,1\ninn,bank,1\n"


def test_a_file_holds_all_that_python_declares(tmp_path):
    written(tmp_path, "roads.csv", ROADS)
    game = load_game(written(tmp_path, "town.toml", FILE))
    same = PatrolGame(
        read_map(tmp_path / "roads.csv"),
        steps=6,
        units=[
            Unit(start="mill", shift=(0, 5), detection={"bank": 0.5}),
            Unit(base="bank", name="car", speed=2.0),
        ],
        attackers=[
            Attacker({"gate": (0, 2)}, {"bank": 2.0, "inn": 1.0}, probability=0.75),
            Attacker({"inn": (1, 1)}, {"bank": 1.0}, probability=0.25, may_stay_away=False),
        ],
        sensors=[Sensor("mill -- bank", 0.5)],
        closures=[Closure("inn", (2, 3), "units")],
        meeting=-1.5,
        step=-0.02,
        failure=0.1,
    )
    assert game.fingerprint == same.fingerprint
    assert game.name == "town"
    assert [constraint.name for constraint in game.constraints] == ["risk(unit 1) <= 0.05", "seen"]
    assert solve(Nash(game)).value == pytest.approx(solve(Nash(same)).value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('start = "mill"', 'start = "mil"', r"town.toml: line 6: units\[1\].start is 'mil'.*did you mean mill"),
        ("speed = 2.0", "speeed = 2.0", r"line 12: units\[2\]: unknown key 'speeed' \(did you mean speed"),
        ("shift = [0, 5]", "shift = [5, 0]", r"line 7: units\[1\].shift is \[5, 0\]"),
        (
            "may_stay_away = false",
            'may_stay_away = "no"',
            "line .*may_stay_away is 'no', expected one of True, False",
        ),
        ("probability = 0.25", "probability = 0.5", "line .*: the probabilities of attackers sum to 1.25"),
        ("meeting = -1.5", 'meeting = "high"', "line 31: meeting is 'high', expected a"),
        ("steps = 6", "steps = 0", "line 3: steps is 0"),
        ('map = "roads.csv"', "", "map is missing"),
        ('map = "roads.csv"', 'map = "road.csv"', "line 2: map: .*road.csv"),
        ("steps = 6", "steps = 6\npace = 3", "line 4: unknown key 'pace'"),
        ("steps = 6", "steps = 6\nsightings = true", "line 4: unknown key 'sightings': units and attackers cannot"),
        ("goals = { bank = 2.0, inn = 1.0 }", "goals = { bnak = 2.0 }", r"line 16: attackers\[1\].goals is 'bnak'"),
        (
            "steps = 6",
            "steps = 6\nspeed = 10.0",
            "line 2: map: the edge from 'gate' to 'mill' has no attribute 'length'",
        ),
    ],
)
def test_errors_in_a_file_say_where(tmp_path, old, new, message):
    written(tmp_path, "roads.csv", ROADS)
    with pytest.raises(InvalidGameError, match=message) as refused:
        load_game(written(tmp_path, "town.toml", FILE.replace(old, new, 1)))
    assert "\n" not in str(refused.value)


def test_a_file_says_if_there_are_no_units(tmp_path):
    written(tmp_path, "roads.csv", ROADS)
    text = 'map = "roads.csv"\nsteps = 4\n[[attackers]]\nentries = ["gate"]\ngoals = { bank = 2.0 }\n'
    with pytest.raises(InvalidGameError, match=r"units is missing, expected \[\[units\]\] .* or units = \[\] for none"):
        load_game(written(tmp_path, "town.toml", text))
    assert solve(Nash(load_game(written(tmp_path, "town.toml", f"units = []\n{text}")))).value == pytest.approx(2.0)


def test_a_map_may_be_given_by_its_file_and_read_in_other_units(tmp_path):
    path = written(tmp_path, "roads.csv", "source,target,length\ngate,mill,150\nmill,bank,80\n")
    game = PatrolGame(path, **declared(steps=8, speed=100))
    assert game.patrol.map.durations().tolist() == [2, 2, 1, 1]
    with pytest.raises(InvalidGameError, match=r"roads.csv: the edge from 'gate' to 'mill' has no attribute 'metres'"):
        PatrolGame(path, **declared(speed=100, length="metres"))
    with pytest.raises(InvalidGameError, match=r"unknown argument 'stpes' \(did you mean steps\?\)"):
        PatrolGame(town(), stpes=3)
    with pytest.raises(InvalidGameError, match="units is missing"):
        PatrolGame(town(), steps=3)


def test_what_if(tmp_path):
    """A declaration with a change is another game, whose units keep their names."""
    game = PatrolGame(town(), **declared(steps=6, units=[Unit(base="mill"), Unit(base="bank", name="car, red")]))
    before = solve(Nash(game)).value
    more = dataclasses.replace(game.patrol, units=[*game.patrol.units, Unit(base="inn")])
    assert [unit.name for unit in more.units] == ["unit 1", "car, red", "unit 2"]
    assert solve(Nash(PatrolGame(more))).value <= before + 1e-9
    assert 'risk("car, red")' in game.functionals
    closed = dataclasses.replace(game.patrol, closures=[Closure("gate -- inn", side="attackers")])
    assert solve(Nash(PatrolGame(closed))).value <= before + 1e-9


def test_nodes_of_grids_are_pairs(tmp_path):
    """networkx calls the nodes of a grid (row, column), which is not an edge; node-link JSON has lists."""
    grid = nx.grid_2d_graph(3, 3)
    game = PatrolGame(
        grid,
        steps=5,
        units=[
            Unit(base=(1, 1), no_go=[(0, 1)], ends=[(1, 1), (1, 0)], detection={(2, 1): 0.5, ((1, 1), (1, 2)): 0.25})
        ],
        attackers=[Attacker({(0, 0): (0, 1)}, {(2, 2): 2.0})],
        sensors=[Sensor((0, 2), 0.5)],
        closures=[Closure(((0, 0), (1, 0)), (2, 3))],
        areas={"middle": [(1, 1), (1, 2)]},
        limits=['visits("(2, 1)") <= 1'],
    )
    body = game.patrol.unit_bodies[0]
    assert not body.reachable[:, game.patrol.map.node((0, 1))].any()
    at_nodes, on_moves = game.patrol.detection(0)
    assert (np.flatnonzero(at_nodes == 0.5).tolist(), int((on_moves == 0.25).sum())) == ([7], 2)
    PatrolPlan(game, Profile.uniform(game)).save(tmp_path / "plan.npz")
    read = PatrolPlan.load(tmp_path / "plan.npz").game
    assert read.fingerprint == game.fingerprint
    assert solve(Nash(read)).value == pytest.approx(solve(Nash(game)).value, abs=1e-9)
    assert [each.name for each in read.constraints] == [each.name for each in game.constraints]
    path = written(tmp_path, "grid.json", nx.node_link_data(grid, edges="edges"))
    assert RoadMap.from_graph(read_map(path)).nodes == game.patrol.map.nodes


def test_streets_that_are_closed_either_way_are_marked():
    both, other = Closure("gate -- mill"), Closure("inn -> gate", (2, 3))
    game = PatrolGame(town(), **declared(closures=[both, other]))
    closed = [{*street.name.split(" -- ")} for street in map_view(game, []).streets if street.closed]
    assert closed == [{"gate", "mill"}, {"gate", "inn"}]


def test_what_units_are_paid_is_of_goals():
    patrol = PatrolGame(town(), **declared()).patrol
    with pytest.raises(InvalidGameError, match="goals has mill, where no attacker has a goal"):
        units_payoff(patrol, {"mill": -1.0})


def test_a_limit_that_is_not_linear_has_a_method():
    game = PatrolGame(
        town(), **declared(units=[Unit(base="mill"), Unit(base="inn")], limits=["spread(travel, 2) <= 1"])
    )
    assert choose(patrol_problem(game)).name == "cvxpy"
    linear = PatrolGame(town(), **declared(limits=["worst <= 1"]))
    assert choose(patrol_problem(linear)).name == "highs"


def test_pictures_say_what_they_need(monkeypatch):
    game = PatrolGame(town(), **declared())
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.lines", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match="a picture needs matplotlib"):
        draw_map(game, Profile.uniform(game))


def test_a_limit_that_cannot_be_read_says_where(tmp_path):
    written(tmp_path, "roads.csv", ROADS)
    game = load_game(written(tmp_path, "town.toml", FILE.replace("visits(centre)", "visits(center)")))
    with pytest.raises(InvalidConstraintError, match=r"town.toml: line \d+: limits\[2\].text: .*did you mean centre"):
        _ = game.constraints
    # A plan knows the file no more, and still says which limit it is.
    good = load_game(written(tmp_path, "town.toml", FILE))
    PatrolPlan(good, Profile.uniform(good)).save(tmp_path / "plan.npz")
    read = dataclasses.replace(PatrolPlan.load(tmp_path / "plan.npz").patrol, limits=["risk(car2) <= 1"])
    with pytest.raises(InvalidConstraintError, match=r"limits\[1\].text: .*did you mean car"):
        _ = PatrolGame(read).constraints


def test_a_map_without_positions_is_laid_out_the_same_every_time():
    first, second = (RoadMap.from_graph(town()) for _ in range(2))
    assert np.array_equal(first.positions, second.positions)
    assert any("laid out by networkx" in note for note in first.notes)
    graph = town()
    graph.add_node("gate", x=1, y=2)
    assert any("3 of 4 nodes have no position" in note for note in RoadMap.from_graph(graph).notes)
