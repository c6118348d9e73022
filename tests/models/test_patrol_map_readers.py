"""What readers of maps make of directions, headings, coordinates and geometries, and pictures in true proportion.

Oracles: networkx reads the same file or is told the streets by hand; pyproj measures, where it is installed.
"""

import itertools
import json
import math
import random
import sys

import networkx as nx
import numpy as np
import pytest
from effort import soaked

from treeplex import GameFileError, GameTooLargeError, InvalidGameError, MissingExtraError, Nash, Profile, solve
from treeplex.models.games.patrol import Attacker, Closure, PatrolGame, PatrolPlan, RoadMap, Sensor, Unit, draw_map
from treeplex.models.games.patrol.map_attributes import way_of
from treeplex.models.games.patrol.map_files import read_map
from treeplex.models.games.patrol.map_page import map_blocks
from treeplex.models.games.patrol.map_view import map_view
from treeplex.solvers import solve_patrol

WITH = ("yes", "YES", " Yes ", "true", "tRUE", "1", "+1", "1.", "1.00", "Y", "y", "FT", "ft", "F", "forward", "From-To")
AGAINST = ("-1", "-1.00", " -1 ", "reverse", "REVERSED", "TF", "tf", "T", "backward", "To_From")
BOTH = ("no", "No", "false", "FALSE", "0", "0.00", "-0", "N", "n", "B", "b", "both", "two-way", "", "  ", "nan", "None")
UNKNOWN = ("ja", "2", "-2", "0.5", "1.5", "t", "f", "north", "yesno", "one", "1;0", "inf")
HEAD = '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="o" for="edge" attr.name="{name}"/>'
FORMATS = ("csv", "geojson", "graphml", "json")


def point(name, place, **properties):
    return feature({"type": "Point", "coordinates": list(place)}, **({"name": name} if name else {}), **properties)


def line(*places, **properties):
    return feature({"type": "LineString", "coordinates": [list(place) for place in places]}, **properties)


def feature(geometry, **properties):
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def collection(*features, **members):
    return {"type": "FeatureCollection", "features": list(features), **members}


def saved(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def street_map(folder, kind, ends, value, name="oneway"):
    """A road from gate to bank, and a street between two nodes of which an attribute says something, in a format."""
    at = {"gate": (0.0, 0.0), "bank": (0.001, 0.0), "station": (0.002, 0.0)}
    first, second = ends
    if kind == "csv":
        return saved(folder, "m.csv", f"source,target,{name}\ngate,bank,\n{first},{second},{value}\n")
    if kind == "geojson":
        features = [*(point(each, place) for each, place in at.items()), line(at["gate"], at["bank"])]
        return saved(folder, "m.geojson", collection(*features, line(at[first], at[second], **{name: value})))
    if kind == "graphml":
        nodes = "".join(f'<node id="{each}"/>' for each in at)
        edges = f'<edge source="{first}" target="{second}"><data key="o">{value}</data></edge>'
        edges += '<edge source="gate" target="bank"/>'
        text = f'{HEAD.format(name=name)}<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>'
        return saved(folder, "m.graphml", text)
    edges = [{"source": "gate", "target": "bank"}, {"source": first, "target": second, name: value}]
    return saved(folder, "m.json", {"nodes": [{"id": each} for each in at], "links": edges})


def leading(roads):
    """The moves of a map, by name."""
    return {(roads.nodes[a], roads.nodes[b]) for a, b in zip(roads.sources, roads.targets, strict=True)}


ROAD = {("gate", "bank"), ("bank", "gate")}
TOWARDS, AWAY = ("bank", "station"), ("station", "bank")


@pytest.mark.parametrize("kind", FORMATS)
def test_one_way_streets_lead_as_they_are_spelled(tmp_path, kind):
    wanted = {
        **dict.fromkeys(WITH, (True, False)),
        **dict.fromkeys(AGAINST, (False, True)),
        **dict.fromkeys(BOTH, (True, True)),
    }
    for ends in (TOWARDS, AWAY):
        for value, way in wanted.items():
            roads = RoadMap.from_graph(street_map(tmp_path, kind, ends, value))
            streets = {pair for pair, leads in zip((ends, ends[::-1]), way, strict=True) if leads}
            assert leading(roads) == ROAD | streets, (kind, ends, value)
            assert any("undirected" in note for note in roads.notes) == (kind in ("graphml", "json") and not all(way))


@pytest.mark.parametrize("value", [1, 1.0, True, -1, -1.0, 0, 0.0, False, None])
def test_numbers_and_truth_values_in_json(tmp_path, value):
    for kind in ("geojson", "json"):
        roads = RoadMap.from_graph(street_map(tmp_path, kind, TOWARDS, value))
        way = {1: {TOWARDS}, -1: {AWAY}}.get(value, {TOWARDS, AWAY})
        assert leading(roads) == ROAD | way


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("value", UNKNOWN)
def test_unknown_directions_are_refused_by_name(tmp_path, kind, value):
    with pytest.raises(GameFileError, match=r"oneway is .*expected yes, no, or -1") as refused:
        read_map(street_map(tmp_path, kind, TOWARDS, value))
    assert repr(value) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_columns_of_directions(tmp_path):
    for kind in FORMATS:
        assert leading(RoadMap.from_graph(street_map(tmp_path, kind, TOWARDS, "True", "directed"))) == ROAD | {TOWARDS}
        assert leading(RoadMap.from_graph(street_map(tmp_path, kind, TOWARDS, "0", "Directed"))) == ROAD | {
            TOWARDS,
            AWAY,
        }
        with pytest.raises(GameFileError, match=r"directed is 'T' .*, expected"):  # of R, or of Geofabrik
            read_map(street_map(tmp_path, kind, TOWARDS, "T", "directed"))
    gephi = saved(tmp_path, "gephi.csv", "Source,Target,Type,Id\ngate,bank,Undirected,0\nbank,station,Directed,1\n")
    assert leading(RoadMap.from_graph(gephi)) == ROAD | {TOWARDS}
    both = saved(tmp_path, "both.csv", "source,target,oneway,directed\na,b,no,true\n")
    with pytest.raises(
        GameFileError, match=r"line 2: the edge: oneway is 'no' and directed is 'true', expected the same"
    ):
        read_map(both)


def test_streets_whose_direction_changes_and_that_openstreetmap_implies_are_noted(tmp_path):
    for value in ("reversible", "Alternating"):
        roads = RoadMap.from_graph(street_map(tmp_path, "geojson", TOWARDS, value))
        assert leading(roads) == ROAD | {TOWARDS, AWAY}
        assert any(
            f"{value.lower()!r} lead both ways at all times" in note and "bank -- station" in note
            for note in roads.notes
        )
    for tags, led in (
        ({"junction": "roundabout"}, {TOWARDS}),
        ({"Junction": "Circular"}, {TOWARDS}),
        ({"highway": "motorway"}, {TOWARDS}),
        ({"junction": "roundabout", "oneway": "no"}, {TOWARDS, AWAY}),
        ({"junction": "roundabout", "oneway": "-1"}, {AWAY}),
        ({"highway": "motorway_link"}, {TOWARDS, AWAY}),
    ):
        content = collection(point("bank", (1, 1)), point("station", (1, 2)), line((1, 1), (1, 2), **tags))
        roads = RoadMap.from_graph(saved(tmp_path, "osm.geojson", content))
        assert leading(roads) == led
        assert any("as in OpenStreetMap" in note for note in roads.notes) == ("oneway" not in tags and len(led) == 1)


@pytest.mark.parametrize("kind", ["graphml", "json"])
def test_edges_of_directed_graphs_say_it_themselves(tmp_path, kind):
    """As networkx reads them, whatever OSMnx's oneway says, lists among them; contradictions are noted."""
    graph = nx.MultiDiGraph(
        [("a", "b", {"oneway": "False"}), ("b", "a", {"oneway": "False"}), ("b", "c", {"oneway": "True"})]
    )
    graph.add_edge("c", "d", oneway="[False, True]")
    path = tmp_path / f"m.{kind}"

    def write():
        if kind == "graphml":
            nx.write_graphml(graph, path)
            return nx.read_graphml(path, force_multigraph=True)
        path.write_text(json.dumps(nx.node_link_data(graph, edges="edges")), encoding="utf-8")
        return nx.node_link_graph(json.loads(path.read_text()), edges="edges")

    same = write()
    roads = RoadMap.from_graph(path)
    assert leading(roads) == set(same.edges()) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "d")}
    assert not any("oneway" in note for note in roads.notes)
    graph.add_edge("d", "a", oneway="no")
    graph.add_edge("d", "b", oneway="-1")
    write()
    (note,) = (note for note in RoadMap.from_graph(path).notes if "oneway" in note)
    assert "from 'd' to 'a' ('no') and 1 other" in note


def test_osmnx_keeps_the_direction_of_drawing_in_undirected_graphs(tmp_path):
    for ends in (("a", "b"), ("b", "a")):
        edge = {"source": "a", "target": "b", "oneway": True, "from": ends[0], "to": ends[1]}
        roads = RoadMap.from_graph(saved(tmp_path, "m.json", {"nodes": [{"id": "a"}, {"id": "b"}], "edges": [edge]}))
        assert leading(roads) == {ends}
        assert not any("undirected" in note for note in roads.notes)


def test_numpy_has_truth_values_and_numbers_too():
    graph = nx.Graph([("a", "b", {"oneway": np.False_}), ("b", "c", {"oneway": np.float64("nan")})])
    graph.add_edge("c", "d", oneway=np.int64(0))
    assert len(RoadMap.from_graph(graph).sources) == 6
    assert way_of(np.int64(-1)) == way_of(np.float64(-1.0)) == (False, True)


def test_a_graph_that_was_read_can_be_written(tmp_path):
    graph = read_map(street_map(tmp_path, "geojson", AWAY, "-1"))
    nx.write_graphml(graph, tmp_path / "w.graphml")
    (tmp_path / "w.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")), encoding="utf-8")
    for each in (tmp_path / "w.graphml", tmp_path / "w.json", graph.copy()):
        roads = RoadMap.from_graph(each)
        assert (leading(roads), roads.geographic) == (ROAD | {TOWARDS}, True)


def test_graphs_of_networkx_keep_their_directions():
    with pytest.raises(
        InvalidGameError, match="oneway of the edge between 'a' and 'b' is True, but edges of an undirected"
    ):
        RoadMap.from_graph(nx.Graph([("a", "b", {"OneWay": True})]))
    with pytest.raises(InvalidGameError, match="undirected graph have no direction"):
        RoadMap.from_graph(nx.Graph([("a", "b", {"oneway": [True, False]})]))
    assert len(RoadMap.from_graph(nx.Graph([("a", "b", {"oneway": "no"}), ("b", "c", {"oneway": None})])).sources) == 4
    assert leading(RoadMap.from_graph(nx.DiGraph([("a", "b", {"oneway": True})]))) == {("a", "b")}


def test_a_sign_is_never_lost():
    for value in ("- 1", "--1", "_1", "1-"):
        with pytest.raises(InvalidGameError, match="oneway is"):
            way_of(value)


# --- headings


@pytest.mark.parametrize(
    "header",
    [
        "Source,Target,Steps,ONEWAY",
        " FROM ; To ; STEPS ; Oneway ",
        "U\tv\t steps\tone_way",
        '"START","End ","Steps","One Way"',
    ],
)
def test_headings_in_any_case_with_blanks(tmp_path, header):
    mark = next(mark for mark in "\t;," if mark in header)
    path = saved(
        tmp_path, "m.csv", f"{header}\n{mark.join(['a', 'b', '3', 'yes'])}\n{mark.join(['b', 'c', '2', ''])}\n"
    )
    roads = RoadMap.from_graph(path)
    moves = zip(roads.sources, roads.targets, roads.durations().tolist(), strict=True)
    assert {(roads.nodes[a], roads.nodes[b], steps) for a, b, steps in moves} == {
        ("a", "b", 3),
        ("b", "c", 2),
        ("c", "b", 2),
    }
    odd = "one_way" in header or "One Way" in header
    assert any("is read as oneway" in note for note in roads.notes) == odd


def test_attributes_in_any_case(tmp_path):
    content = collection(
        feature({"type": "Point", "coordinates": [1, 1]}, NAME="gate"),
        feature({"type": "Point", "coordinates": [1, 1.001]}, Name="bank"),
        feature({"type": "Point", "coordinates": [1, 1.002]}, **{" name ": "inn"}),
        feature(
            {"type": "LineString", "coordinates": [[1, 1.001], [1, 1.002]]},
            SOURCE="gate",
            Target="bank",
            **{" Length ": 500},
        ),
        line((1, 1.001), (1, 1.002), LENGTH="250", OneWay="-1", length=None),
    )
    roads = RoadMap.from_graph(saved(tmp_path, "m.geojson", content), speed=100)
    assert roads.nodes == ("gate", "bank", "inn")
    moves = zip(roads.sources.tolist(), roads.targets.tolist(), roads.durations().tolist(), strict=True)
    assert sorted(moves) == [(0, 1, 5), (1, 0, 5), (2, 1, 3)]
    graph = nx.Graph([("a", "b", {"LENGTH": 250})])
    graph.add_nodes_from([("a", {"Lon": 1, "LAT": 2}), ("b", {"Lon": 3, "LAT": 2})])
    for given in (graph, saved(tmp_path, "m.json", nx.node_link_data(graph, edges="edges"))):
        for length in ("length", "LENGTH"):
            roads = RoadMap.from_graph(given, speed=100, length=length)
            assert roads.durations().tolist() == [3, 3]
            assert roads.positions.tolist() == [[1, 2], [3, 2]]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("m.csv", "source,target,steps,Steps\na,b,1,2\n", "line 1: the header: 'steps' and 'Steps' both mean steps"),
        ("m.csv", "Source,source,target\na,b,c\n", "line 1: two columns are named 'source'"),
        ("m.csv", "source,target,oneway,one_way\na,b,1,0\n", "'oneway' and 'one_way' both mean oneway"),
        ("m.csv", "source,to\na,b\n", "line 1: the heading 'source', expected a header with source and target"),
        ("m.csv", "a,b,Steps\n", "line 1: the heading 'Steps'"),
        ("m.csv", "source,target,u,v\na,b,a,b\na,b,b,a\n", "line 3: .* both give the ends"),
        (
            "m.json",
            {"nodes": [{"id": 1}], "edges": [{"source": 1, "target": 1, "length": 1, "LENGTH": 2}]},
            r"edges\[0\]: ",
        ),
        ("m.json", {"nodes": [{"id": 1, "x": 1, "X": 2}], "edges": []}, r"nodes\[0\]: 'x' and 'X' both mean x"),
        ("m.json", {"nodes": [{"id": 1}], "edges": [], "links": []}, "not a node-link graph"),
        ("m.json", {"directed": 1, "nodes": [], "links": []}, "directed is 1, expected true or false"),
        (
            "m.geojson",
            collection(line((1, 1), (1, 2), Steps=1, STEPS=2)),
            r"features\[0\]: 'Steps' and 'STEPS' both mean steps",
        ),
        (
            "m.graphml",
            '<graphml><graph edgedefault="mixed"/></graphml>',
            "edgedefault is 'mixed', expected directed or",
        ),
    ],
)
def test_headings_that_contradict_each_other_are_refused(tmp_path, name, content, message):
    with pytest.raises(GameFileError, match=message) as refused:
        read_map(saved(tmp_path, name, content))
    assert "\n" not in str(refused.value)


DEFAULTS = (
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">'
    '<key id="s" for="edge" attr.name="steps"><default>3</default></key>'
    '<key id="n" for="node" attr.name="label"><default xml:space="preserve"/></key><key id="g" for="node"/>'
    '<key id="c" for="graph" attr.name="crs"><default>epsg:4326</default></key>\n<graph edgedefault="directed">'
)


def test_defaults_hold_for_edges_without_the_attribute_and_empty_texts_say_nothing(tmp_path):
    """As GraphML has defaults; yEd writes empty ones."""
    drawn = '<data key="n"/><data key="g"><y:ShapeNode><y:NodeLabel>{}<y:M>no</y:M></y:NodeLabel></y:ShapeNode></data>'
    nodes = "".join(f'<node id="{node}">{drawn.format(name)}</node>' for node, name in ((0, "gate"), (1, "bank")))
    streets = '<edge source="0" target="1"/><edge source="1" target="0"><data key="s">{}</data></edge>'
    for text, steps in (("1", 1), (" ", 3)):
        path = saved(tmp_path, "m.graphml", f"{DEFAULTS}{nodes}{streets.format(text)}</graph></graphml>")
        roads = RoadMap.from_graph(path)
        assert roads.nodes == ("gate", "bank")
        assert roads.durations().tolist() == [3, steps]
        assert read_map(path).graph["crs"] == "epsg:4326"


def test_many_defaults_for_many_nodes_are_taken_for_what_they_become(tmp_path, monkeypatch):
    keys = "".join(
        f'<key id="k{number}" for="node" attr.name="a{number}"><default>1</default></key>' for number in range(200)
    )
    nodes = "".join(f'<node id="{number}"/>' for number in range(500))
    path = saved(tmp_path, "m.graphml", f"<graphml>{keys}<graph>{nodes}</graph></graphml>")
    assert len(read_map(path).nodes["7"]) == 200
    monkeypatch.setenv("TREEPLEX_MEMORY", "50MB")
    with pytest.raises(
        GameTooLargeError, match=r"m\.graphml: reading the file may take 50.* MB, but the budget is 50 MB"
    ):
        read_map(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (DEFAULTS + '<node id="1"><edge source="1" target="1"/></node>', "line 2, column 44: <edge> within <node> is"),
        (
            DEFAULTS + '<data key="g"><y:Row><node id="1"/></y:Row></data>',
            "column 52: <node> within <Row> is not allowed there",
        ),
        (DEFAULTS + '<node id="1"><data key="n">a<b>c</b></data></node>', "<b> within <data> is not allowed there"),
        (DEFAULTS.replace("<graph e", '<key id="s" attr.name="x"/><graph e'), "two <key> elements have the id 's'"),
        ('<gexf version="1.3"><graph><nodes><node id="0"/></nodes></graph></gexf>', "outermost element is <gexf>"),
    ],
)
def test_elements_out_of_place_are_refused_by_line_and_column(tmp_path, content, message):
    with pytest.raises(GameFileError, match=message):
        read_map(saved(tmp_path, "m.graphml", content))


def test_attributes_that_look_like_known_ones_are_noted(tmp_path):
    path = saved(tmp_path, "m.csv", "source,target,lenght,step,lanes,name\na,b,3,2,1,Main\n")
    noted = [note for note in RoadMap.from_graph(path).notes if "is not read" in note]
    assert noted == [
        "the attribute 'lenght' of edges is not read (did you mean length?)",
        "the attribute 'step' of edges is not read (did you mean steps?)",
    ]
    known = saved(tmp_path, "k.csv", "source,target,steps,step_count,length_m\na,b,3,2,1\n")
    assert not any("step_count" in note for note in RoadMap.from_graph(known).notes)
    assert any("length_m" in note for note in RoadMap.from_graph(known).notes)
    graph = nx.Graph([("a", "b", {"length_m": 20})])
    assert any("'length_m' of edges is not read" in note for note in RoadMap.from_graph(graph).notes)
    assert not any("is not read" in note for note in RoadMap.from_graph(graph, speed=10, length="length_m").notes)


# --- coordinates


@pytest.mark.parametrize(
    ("places", "crs", "message"),
    [
        (
            [(691000, 5336000), (691200, 5336000)],
            None,
            "expected longitude and latitude in degrees of WGS 84; a map in metres",
        ),
        ([(691000, 5336000), (691200, 5336000)], "EPSG:4326", "degrees of EPSG:4326"),
        ([(48.1, 111.5), (48.1, 111.6)], None, "the two may be swapped"),
        ([(11.5, 48.1), (180.5, 48.1)], None, r"a position is \[180.5, 48.1\]"),
        ([(11.5, 48.1), (11.5, 48.2)], "local", "crs is .*expected the name of a system, such as EPSG:4326"),
    ],
)
def test_coordinates_that_are_no_degrees_are_refused(tmp_path, places, crs, message):
    members = {} if crs is None else {"crs": {"type": "name", "properties": {"name": crs}}}
    with pytest.raises(GameFileError, match=message) as refused:
        read_map(saved(tmp_path, "m.geojson", collection(line(*places), **members)))
    assert "\n" not in str(refused.value)


def test_a_feature_has_no_coordinates_of_its_own(tmp_path):
    other = line((1, 1), (1, 2)) | {"crs": {"type": "name", "properties": {"name": "EPSG:25832"}}}
    with pytest.raises(GameFileError, match=r"features\[0\] has a crs of its own"):
        read_map(saved(tmp_path, "m.geojson", collection(other)))


def test_projected_coordinates_need_pyproj(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyproj", None)
    for name in ("urn:ogc:def:crs:EPSG::32633", "EPSG:2263", "http://www.opengis.net/def/crs/EPSG/0/3857"):
        content = collection(line((5e5, 5e6), (5e5, 5.1e6)), crs={"type": "name", "properties": {"name": name}})
        with pytest.raises(MissingExtraError, match=rf"crs is EPSG:{name[-4:]}|crs is EPSG:32633.*pip install"):
            read_map(saved(tmp_path, "m.geojson", content))


@pytest.mark.parametrize(
    ("crs", "east", "north", "plane"),
    [
        ("EPSG:25832", 691000, 5336000, 1.0),
        ("urn:ogc:def:crs:EPSG::32756", 334000, 6252000, 1.0),
        ("EPSG:2263", 987000, 212000, 1200 / 3937),  # New York, in feet of the US survey
        ("http://www.opengis.net/def/crs/EPSG/0/3857", 1286000, 6131000, None),
        ("EPSG:27572", 600000, 2428000, 1.0),  # of Paris, its meridian and grads
    ],
)
def test_lengths_in_projected_coordinates(tmp_path, crs, east, north, plane):
    """They are differences of coordinates in metres; where the plane distorts them, pyproj's on the ellipsoid."""
    pyproj = pytest.importorskip("pyproj")
    places = [(east, north), (east + 300, north + 400), (east + 300, north + 900)]
    content = collection(line(*places[:2]), line(*places[1:]), crs={"type": "name", "properties": {"name": crs}})
    graph = read_map(saved(tmp_path, "m.geojson", content))
    lengths = sorted(data["length"] for *_, data in graph.edges(data=True))[::2]
    number = int("".join(filter(str.isdigit, crs.rpartition("/")[2].rpartition(":")[2])))
    turned = pyproj.Transformer.from_crs(number, 4326, always_xy=True)
    degrees = [turned.transform(*place) for place in places]
    true = [pyproj.Geod(ellps="WGS84").inv(*one, *other)[2] for one, other in itertools.pairwise(degrees)]
    assert sorted(lengths) == pytest.approx(sorted(true), rel=1.2e-3)
    if plane is not None:
        assert lengths == pytest.approx([500 * plane, 500 * plane], rel=1e-9)
    roads = RoadMap.from_graph(graph)
    assert not roads.geographic
    assert any("on the ellipsoid" in note for note in roads.notes) == (plane is None)


def test_degrees_in_a_projected_system_are_refused(tmp_path):
    pytest.importorskip("pyproj")
    crs = {"type": "name", "properties": {"name": "EPSG:25832"}}
    with pytest.raises(GameFileError, match="all positions are degrees"):
        read_map(saved(tmp_path, "m.geojson", collection(line((11.5, 48.1), (11.6, 48.1)), crs=crs)))
    crs = {"type": "name", "properties": {"name": "EPSG:1"}}
    with pytest.raises(GameFileError, match="crs is EPSG:1, which pyproj does not know"):
        read_map(saved(tmp_path, "m.geojson", collection(line((11.5, 48.1), (11.6, 48.1)), crs=crs)))


def test_which_positions_are_degrees(tmp_path):
    graph = nx.MultiDiGraph([("a", "b", {"length": 80.0})], crs="epsg:4326")
    graph.add_nodes_from([("a", {"x": 10.0, "y": 60.0}), ("b", {"x": 10.001, "y": 60.0005})])
    nx.write_graphml(graph, tmp_path / "m.graphml")
    (tmp_path / "m.json").write_text(json.dumps(nx.node_link_data(graph, edges="edges")))
    for given in (graph, tmp_path / "m.graphml", tmp_path / "m.json"):
        roads = RoadMap.from_graph(given)
        assert roads.geographic
        assert np.ptp(roads.plane[:, 0]) == pytest.approx(0.001 * math.cos(math.radians(60.00025)))
        assert np.array_equal(roads.plane[:, 1], roads.positions[:, 1])
    del graph.graph["crs"]
    assert RoadMap.from_graph(graph).geographic  # the edge is as long in metres as it would be
    graph.edges["a", "b", 0]["length"] = 3.0
    assert not RoadMap.from_graph(graph).geographic
    graph.graph["crs"] = "EPSG:32632"
    assert not RoadMap.from_graph(graph).geographic
    graph = nx.Graph([("a", "b")])
    graph.add_nodes_from([("a", {"lon": 179.9, "lat": -17.0}), ("b", {"lon": -179.9, "lat": -17.0})])
    roads = RoadMap.from_graph(graph)
    assert np.ptp(roads.plane[:, 0]) == pytest.approx(0.2 * math.cos(math.radians(17)))
    graph.nodes["a"]["lon"] = 600000.0
    metres = nx.Graph([("a", "b")], crs="epsg:4326")
    metres.add_nodes_from([("a", {"x": 6e5, "y": 5e6}), ("b", {"x": 6e5, "y": 5.1e6})])
    for given in (graph, metres):
        roads = RoadMap.from_graph(given)
        assert not roads.geographic
        assert any("out of range" in note for note in roads.notes)


def box(folder, east, north, width, height):
    """A map of a rectangle, its width and height in metres."""
    degree = math.radians(6_371_008.8)
    wide, tall = width / degree / math.cos(math.radians(north)), height / degree
    corners = [(east, north), (east + wide, north), (east + wide, north + tall), (east, north + tall)]
    names = [point(name, corner) for name, corner in zip("abcd", corners, strict=True)]
    path = saved(folder, "box.geojson", collection(*names, line(*corners, corners[0])))
    return PatrolGame(path, steps=3, units=[Unit(base="b")], attackers=[Attacker(["a"], {"c": 1.0})])


@pytest.mark.parametrize(
    ("north", "width", "height"), [(64.1, 900, 500), (52.5, 300, 400), (-33.9, 800, 200), (0.0, 500, 500)]
)
def test_pictures_and_pages_are_in_true_proportion(tmp_path, north, width, height):
    game = box(tmp_path, 13.4, north, width, height)
    profile = Profile.uniform(game)
    PatrolPlan(game, profile).save(tmp_path / "plan.npz")
    for each in (game, PatrolPlan.load(tmp_path / "plan.npz").game):
        view = map_view(each, [])
        wide, tall = np.ptp(view.positions, axis=0)
        assert wide / tall == pytest.approx(width / height, rel=1e-3)
        for block in map_blocks(view):
            for svg in block.iter("svg"):
                spots = np.array([[float(dot.get("cx")), float(dot.get("cy"))] for dot in svg.iter("circle")])
                assert np.divide(*np.ptp(spots, axis=0)) == pytest.approx(width / height, rel=2e-3)
        figure = draw_map(each, Profile.uniform(each), times=[0])
        figure.draw_without_rendering()
        drawn = figure.axes[0].transData.transform(view.positions)
        assert np.divide(*np.ptp(drawn, axis=0)) == pytest.approx(width / height, rel=1e-3)


# --- geometries


A, B, C, D, E = (0, 0), (0.002, 0), (0.001, 0), (0.001, 0.001), (0.001, -0.001)


def distances(path):
    """Metres between places that have a name, by networkx."""
    graph = read_map(path)
    named = [node for node, data in graph.nodes(data=True) if "name" in data]
    shortest = nx.DiGraph(_shortest(graph))
    shortest.add_nodes_from(named)
    lengths = dict(nx.all_pairs_dijkstra_path_length(shortest, weight="length"))
    return {(a, b): lengths[a][b] for a in named for b in named if a != b and b in lengths[a]}


def _shortest(graph):
    best = {}
    for source, target, data in graph.edges(data=True):
        best[source, target] = min(float(data["length"]), best.get((source, target), math.inf))
    return [(source, target, {"length": length}) for (source, target), length in best.items()]


NAMED = [point("a", A), point("b", B), point("d", D), point("e", E)]
STEP = math.radians(0.001) * 6_371_008.8
CROSS = dict.fromkeys(itertools.permutations("abde", 2), 2 * STEP)
COLLECTED = {"type": "GeometryCollection", "geometries": [each["geometry"] for each in (line(A, B), line(D, C, E))]}
COLLECTED = feature(COLLECTED, surface="asphalt")
APART = {("a", "b"): 2 * STEP, ("b", "a"): 2 * STEP, ("d", "e"): 2 * STEP, ("e", "d"): 2 * STEP}


@pytest.mark.parametrize(
    ("lines", "wanted", "note"),
    [
        ([line(A, C, B), line(D, C, E)], CROSS, None),  # both have the point in the middle
        ([line(A, B), line(D, C), line(C, E)], CROSS, "streets are cut where"),  # ends on a segment
        ([line(A, B), line(D, C, E)], CROSS, "streets are cut where"),  # a point on a segment
        ([line(A, B), line(D, E)], APART, "features[4] and features[5]"),  # a bridge
        ([line(A, B, bridge="yes"), line(D, E)], APART, None),
        ([line(A, C, C, B), line(D, D, C, E)], CROSS, None),
        ([line(A, C, B), line(A, C, B), line(D, C, E)], CROSS, "parallel"),
        ([feature({"type": "MultiLineString", "coordinates": [[A, C, B], [D, C], [C, E], []]})], CROSS, None),
        ([COLLECTED], CROSS, "streets are cut where"),
        (
            [line(A, C, B), line(D, C, E), feature(None, name="x")],
            CROSS,
            "without a geometry are left out: features[6]",
        ),
        (
            [line(A, C, B), line(D, C, E), feature({"type": "Polygon", "coordinates": [[A, B, D, A]]}, name="park")],
            CROSS,
            "type Polygon are left out: features[6] (park)",
        ),
        ([line(A, C, B), line(D, C, E), feature({"type": "Point", "coordinates": []})], CROSS, "empty geometries"),
        ([line(A, C, B), line(D, C, E), line()], CROSS, "empty geometries are left out: features[6]"),
        ([line(A, C, B), line(D, C, E), line(D, D)], CROSS, "all the same are left out: features[6]"),
        ([line(A, C, B), line((0.001, 0.000005), D), line(C, E)], None, "less than 1 m from another street"),
    ],
)
def test_where_lines_meet(tmp_path, lines, wanted, note):
    path = saved(tmp_path, "m.geojson", collection(*NAMED, *lines))
    if wanted is not None:
        assert distances(path) == pytest.approx(wanted, rel=1e-6)
    notes = [each for each in RoadMap.from_graph(path).notes if "but no speed is given" not in each]
    assert not notes if note is None else any(note in each for each in notes), notes


def test_places_are_read_once(tmp_path):
    several = feature({"type": "MultiPoint", "coordinates": [[0, 0], [0, 1]]}, name="gates")
    with pytest.raises(GameFileError, match=r"features\[0\]: 'gates' is a MultiPoint of 2 positions, expected one"):
        read_map(saved(tmp_path, "m.geojson", collection(several)))
    same = feature({"type": "MultiPoint", "coordinates": [[0, 0], [0, 0]]}, name="gate")
    assert list(read_map(saved(tmp_path, "m.geojson", collection(same)))) == ["gate"]
    nameless = feature({"type": "MultiPoint", "coordinates": [[0, 0], [0, 1]]})
    assert list(read_map(saved(tmp_path, "m.geojson", collection(nameless)))) == ["0 0", "0 1"]
    with pytest.raises(
        GameFileError, match=r"features\[1\]: 'inn' lies where 'bank' does, expected only one node there"
    ):
        read_map(saved(tmp_path, "m.geojson", collection(point("bank", A), point("inn", A))))
    assert list(read_map(saved(tmp_path, "m.geojson", collection(point("", A), point("bank", A))))) == ["bank"]
    near = [(-122.4194155, 37.7749295), (-122.4194156, 37.7749295), (-122.4194157, 37.7749295)]
    assert len(read_map(saved(tmp_path, "m.geojson", collection(line(*near[:2]), line(*near[1:]))))) == 3
    with pytest.raises(GameFileError, match=r"the geometry is 'Pont' \(did you mean Point\?\), expected one of type"):
        read_map(saved(tmp_path, "m.geojson", collection(feature({"type": "Pont", "coordinates": [0, 0]}))))
    alone = saved(tmp_path, "m.geojson", collection(point("bank", (1, 1)), line(A, B)))
    assert any(
        "no edge leads to or from 1 of the nodes, such as 'bank'" in note for note in RoadMap.from_graph(alone).notes
    )


def test_what_holds_for_a_whole_line_is_divided(tmp_path):
    path = saved(
        tmp_path,
        "m.geojson",
        collection(
            line(A, (0.0005, 0), B, steps=8, length="400", minutes=4),
            line((0.0005, 0), (0.0005, 1), steps=1, length=7, minutes=1),
        ),
    )
    quarter = {frozenset(("0 0", "0.0005 0")): 0.25, frozenset(("0.0005 0", "0.002 0")): 0.75}
    for speed, length, whole in ((None, "length", 8), (1, "length", 400), (0.01, "minutes", 400)):
        roads = RoadMap.from_graph(path, speed=speed, length=length)
        times = {
            frozenset(map(roads.nodes.__getitem__, pair)): time
            for *pair, time in zip(roads.sources, roads.targets, roads.times, strict=True)
        }
        assert {pair: times[pair] for pair in quarter} == pytest.approx(
            {pair: part * whole for pair, part in quarter.items()}
        )
    assert any("steps of a line of several parts is divided" in note for note in roads.notes)


def test_rings_and_lines_that_come_back(tmp_path):
    """A ring with one junction is a loop, which is left out; with two it is two streets."""
    ring = line(A, C, D, (0, 0.001), A)
    one = RoadMap.from_graph(saved(tmp_path, "m.geojson", collection(ring, line(A, E))))
    assert one.num_nodes == 2
    assert any("from a node to itself" in note for note in one.notes)
    two = RoadMap.from_graph(saved(tmp_path, "m.geojson", collection(ring, line(A, E), line(D, B))))
    assert (two.num_nodes, any("parallel" in note for note in two.notes)) == (4, True)
    lasso = RoadMap.from_graph(saved(tmp_path, "m.geojson", collection(line((0, -0.001), A, C, D, (0, 0.001), A))))
    assert lasso.num_nodes == 2


@pytest.mark.soak
def test_lines_of_a_lattice_have_the_distances_that_they_should(tmp_path):
    """Random streets along a lattice, with points at some of the crossings that they pass, against networkx.

    Each street is a chain of its own; chains are joined where one of them has a point, or a place lies.
    """
    for seed in range(soaked(4)):
        source = random.Random(seed)
        expected, features = nx.MultiGraph(), []
        places = source.sample([(x, y) for x in range(5) for y in range(5)], 4)
        joined, passing = set(places), {}
        for number in range(source.randint(2, 7)):
            x, y = source.randrange(5), source.randrange(5)
            corners, passed = [(x, y)], [(x, y)]
            for _ in range(source.randint(1, 3)):
                along = source.choice([(1, 0), (0, 1), (-1, 0), (0, -1)])
                for _ in range(source.randint(1, 4)):
                    x, y = passed[-1][0] + along[0], passed[-1][1] + along[1]
                    if not (0 <= x < 5 and 0 <= y < 5) or (x, y) in passed:
                        break
                    passed.append((x, y))
                    if source.random() < 0.3:
                        corners.append((x, y))
                if corners[-1] != passed[-1]:
                    corners.append(passed[-1])
            if len(passed) < 2:
                continue
            joined.update(corners)
            passing[number] = passed
            shown = [(place[0] * 0.001, place[1] * 0.001) for place in corners]
            features.append(line(*(shown if source.random() < 0.5 else shown[::-1])))
        for number, passed in passing.items():
            for one, other in itertools.pairwise(passed):
                expected.add_edge((number, one), (number, other), steps=1)
            for place in set(passed) & joined:
                expected.add_edge((number, place), place, steps=0)
        features += [point("abcd"[number], (x * 0.001, y * 0.001)) for number, (x, y) in enumerate(places)]
        source.shuffle(features)
        found = distances(saved(tmp_path, "m.geojson", collection(*features)))
        expected.add_nodes_from(places)
        lengths = dict(nx.all_pairs_dijkstra_path_length(expected, weight="steps"))
        wanted = {
            ("abcd"[i], "abcd"[j]): STEP * lengths[places[i]][places[j]]
            for i, j in itertools.permutations(range(4), 2)
            if places[j] in lengths[places[i]]
        }
        assert found == pytest.approx(wanted, rel=1e-5), seed


SPELLINGS = {
    (True, False): ("yes", "True", "1", "1.0", "Y", "FT", "F"),
    (False, True): ("-1", "-1.0", "Reverse", "TF", "T"),
    (True, True): ("no", "FALSE", "0", "0.0", "N", "B", ""),
}


def spelled(source, name):
    return source.choice([name, name.upper(), name.title(), f" {name} "])


@pytest.mark.soak
def test_one_map_in_four_formats_is_one_game(tmp_path):
    """Random streets with directions and headings in random spellings, against the same in networkx."""
    for seed in range(soaked(3)):
        source = random.Random(seed)
        names = ["gate", "bank", "mill", "inn", "port"][: source.randint(3, 5)]
        at = {name: (round(source.uniform(0, 0.01), 6), round(source.uniform(0, 0.01), 6)) for name in names}
        pairs = [pair for pair in itertools.combinations(names, 2) if pair == ("gate", "bank") or source.random() < 0.6]
        streets = []
        for pair in pairs:
            way = (True, True) if pair == ("gate", "bank") else source.choice(list(SPELLINGS))
            streets.append(
                (
                    pair if source.random() < 0.5 else pair[::-1],
                    source.randint(1, 3),
                    way,
                    source.choice(SPELLINGS[way]),
                )
            )
        expected = nx.DiGraph()
        expected.add_nodes_from(names)
        for (first, second), steps, way, _ in streets:
            expected.add_edges_from(
                [(first, second, {"steps": steps})] * way[0] + [(second, first, {"steps": steps})] * way[1]
            )
        heads = {name: spelled(source, name) for name in ("source", "target", "steps", "oneway")}
        rows = [f"{a},{b},{steps},{text}" for (a, b), steps, _, text in streets]
        # Nodes stand in the order in which they are first named, so the names come first.
        first = [f"{name},{name},1," for name in names]
        saved(tmp_path, "m.csv", "\n".join([",".join(heads.values()), *first, *rows]))
        features = [point(name, place) for name, place in at.items()]
        features += [
            line(at[a], at[b], **{heads["steps"]: steps, heads["oneway"]: text}) for (a, b), steps, _, text in streets
        ]
        saved(tmp_path, "m.geojson", collection(*features))
        edges = [
            {"source": a, "target": b, heads["steps"]: steps, heads["oneway"]: text}
            for (a, b), steps, _, text in streets
        ]
        saved(tmp_path, "m.json", {"nodes": [{"id": name} for name in names], "edges": edges})
        xml = "".join(
            f'<edge source="{a}" target="{b}"><data key="s">{steps}</data><data key="o">{text}</data></edge>'
            for (a, b), steps, _, text in streets
        )
        keys = HEAD.format(name=heads["oneway"]) + f'<key id="s" for="edge" attr.name="{heads["steps"]}"/>'
        nodes = "".join(f'<node id="{name}"/>' for name in names)
        saved(tmp_path, "m.graphml", f'{keys}<graph edgedefault="undirected">{nodes}{xml}</graph></graphml>')
        declared = {"steps": 5, "units": [Unit(base=names[-1])], "attackers": [Attacker(["gate"], {"bank": 1.5})]}
        prints = {PatrolGame(tmp_path / f"m.{kind}", **declared).fingerprint for kind in FORMATS}
        assert prints == {PatrolGame(expected, **declared).fingerprint}, seed


# --- what can hardly be meant


def road(**changes):
    graph = nx.DiGraph(
        [("gate", "mill"), ("mill", "gate"), ("mill", "bank"), ("bank", "mill"), ("mill", "pit"), ("hill", "mill")]
    )
    said = {"steps": 5, "units": [Unit(base="mill")], "attackers": [Attacker(["gate"], {"bank": 1.0})]}
    return PatrolGame(graph, **said | changes)


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({}, None),
        ({"meeting": 0.5}, "a meeting is worth 0.5 to attackers, so units keep away"),
        ({"attackers": [Attacker(["gate"], {"bank": 1.0}, meeting=2)]}, "a meeting is worth 2 to attackers"),
        ({"meeting": 0}, "meetings cost attackers nothing"),
        ({"meeting": 0.5, "units": []}, None),
        ({"step": 0.1}, "a step is worth 0.1 to attackers"),
        (
            {"attackers": [Attacker(["gate"], {"bank": 1.0, "mill": -5})]},
            "attract nobody: mill, worth -5 to attacker 1",
        ),
        ({"attackers": [Attacker(["gate"], {"bank": 1.0, "pit": 0})]}, "attract nobody: pit, worth 0"),
        ({"attackers": [Attacker(["gate"], {"bank": -1.0})]}, "nothing to gain: they stay away: attacker 1"),
        ({"attackers": [Attacker(["gate"], {"bank": -1.0}, may_stay_away=False)]}, "they come anyway"),
        ({"units": [Unit(start="mill", base="hill")]}, r"risk(unit 1) is 1: unit 1, base hill"),
        ({"units": [Unit(base="pit")]}, "cannot leave where they start within 5 steps stay there: unit 1 at pit"),
        (
            {"units": [Unit(base="hill")]},
            "units that leave their base cannot be back within 5 steps: unit 1, base hill",
        ),
        ({"units": [Unit(base="mill", shift=(0, 1))]}, "cannot be back within 1 steps"),
        ({"units": [Unit(base="mill", speed=0.2)]}, "cannot be back within 5 steps"),
        ({"units": [Unit(base="mill", speed=0.1)]}, "cannot leave where they start"),
        ({"units": [Unit(start="bank", base="gate", shift=(2, 3))]}, "cannot be at their base when their shift ends"),
        ({"units": [Unit(base="mill", detection=0)]}, "units whose detection is 0 detect nobody: unit 1"),
        ({"sensors": [Sensor("mill", 0.0)]}, "sensors whose detection is 0 detect nobody: 'mill'"),
        (
            {
                "steps": 2,
                "attackers": [
                    Attacker(["gate"], {"bank": 1.0, "pit": 2}, speed=1),
                    Attacker(["gate"], {"mill": 1.0, "bank": 3}, speed=0.5),
                ],
            },
            "do not count: bank of attacker 2",
        ),
        ({"failure": 1, "attackers": [Attacker(["gate"], {"mill": 1.0})]}, "failure is 1"),
        (
            {"limits": ["risk(unit 1) <= 1"]},
            "the limit risk(unit 1) <= 1 changes nothing: under every plan it is at most 1",
        ),
        ({"limits": ["risk(unit 1) <= 5"]}, "changes nothing"),
        ({"limits": ["risk(unit 1) >= 0"]}, "changes nothing: under every plan it is at least 0"),
        ({"limits": ["risk(unit 1) <= -0.1"]}, "no plan meets the limit risk(unit 1) <= -0.1: it is at least 0"),
        (
            {"limits": ["coverage(mill, 1..3) >= 1.5"]},
            "no plan meets the limit coverage(mill, 1..3) >= 1.5: it is at most 1",
        ),
        ({"limits": ["risk(unit 1) <= 0.5", "travel <= 2"]}, None),
        ({"limits": ["risk(unit 1) >= 0.5"]}, "requires units to be away from their bases"),
    ],
)
def test_what_can_hardly_be_meant_is_noted(changes, note):
    game = road(**changes)
    notes = game.notes[len(game.patrol.map.notes) :]
    assert (not notes) if note is None else any(note in each for each in notes), notes
    assert all("\n" not in each for each in notes)


def test_a_node_that_is_two_goals_is_refused():
    graph = nx.Graph([(0, 1), (1, 2)])
    nx.set_node_attributes(graph, {0: "gate", 1: "mill", 2: "bank"}, "name")
    with pytest.raises(InvalidGameError, match="goals has bank twice, expected one value for it"):
        PatrolGame(graph, steps=3, units=[], attackers=[Attacker(["gate"], {"bank": 1.0, 2: 3.0})])


def test_notes_are_told_with_the_answer():
    game = road(meeting=2.0, closures=[Closure("hill")])
    (said,) = (note for note in game.notes if "meeting" in note)
    assert said in solve_patrol(game).report().to_html()
    assert solve(Nash(game)).value == pytest.approx(solve(Nash(road(meeting=0.0))).value, abs=2.0)
