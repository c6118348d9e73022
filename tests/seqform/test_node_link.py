"""Trees as GraphML and JSON: written and read back unchanged, read from other programs, and from anybody safely."""

import contextlib
import json
import time
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from effort import few
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_graph, trees

from treeplex import (
    GameFileError,
    GameTooLargeError,
    GameTree,
    ImperfectRecallError,
    InvalidGameError,
    SequenceForm,
    load_game,
)
from treeplex.seqform.interchange import encoding, files
from treeplex.seqform.interchange.efg_reader import parse_efg, read_efg
from treeplex.seqform.interchange.efg_writer import format_efg, write_efg
from treeplex.seqform.interchange.graphml import format_graphml, parse_graphml, read_graphml, write_graphml
from treeplex.seqform.interchange.node_link import format_json, parse_json, read_json, write_json

FORMATS = {"graphml": (format_graphml, parse_graphml), "json": (format_json, parse_json)}
FILES = {"graphml": (write_graphml, read_graphml), "json": (write_json, read_json)}

labels = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.fractions()
    | st.decimals(allow_nan=False, allow_infinity=False, places=3)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda parts: st.lists(parts, max_size=3).map(tuple) | st.frozensets(parts, max_size=3),
    max_leaves=6,
)
numbers = st.integers() | st.fractions() | st.floats(-1e9, 1e9) | st.decimals(-99, 99, places=4)


def typed(value: Any) -> Any:
    """Write a value with its types: ``1``, ``1.0`` and ``True`` are equal."""
    if isinstance(value, tuple):
        return [typed(part) for part in value]
    if isinstance(value, frozenset):
        return "set", sorted((typed(part) for part in value), key=repr)
    return type(value), str(value) if isinstance(value, float | Decimal) else value


def contents(tree: GameTree) -> tuple[list[Any], list[Any]]:
    """List what a tree holds, in order."""
    nodes = [
        (typed(node), {key: typed(value) for key, value in data.items()}) for node, data in tree.graph.nodes(data=True)
    ]
    edges = [
        (typed(source), typed(target), {key: typed(value) for key, value in data.items()})
        for source, target, data in tree.graph.edges(data=True)
    ]
    return nodes, edges


def one_decision(*actions: Any, infoset: Any = "only", payoffs: Any = (1, -1)) -> GameTree:
    graph = nx.DiGraph()
    graph.add_node("root", player=0, infoset=infoset)
    for number, action in enumerate(actions):
        graph.add_node(number, payoffs=payoffs)
        graph.add_edge("root", number, action=action)
    return GameTree(graph)


# Written and read back


@pytest.mark.parametrize("name", FORMATS)
@given(root=trees(num_players=3, zero_sum=False))
def test_reading_gives_back_what_was_written(name: str, root: Any) -> None:
    write, read = FORMATS[name]
    tree = GameTree(to_graph(root))
    text = write(tree)
    again = read(text.encode())
    assert contents(again) == contents(tree)
    assert write(again) == text
    assert SequenceForm.from_tree(again).fingerprint == SequenceForm.from_tree(tree).fingerprint
    exact = SequenceForm.from_tree(tree, exact=True).exact_payoffs(2)
    assert SequenceForm.from_tree(again, exact=True).exact_payoffs(2) == exact


@pytest.mark.parametrize("name", FORMATS)
@given(label=labels, action=labels, payoff=numbers)
def test_every_label_and_number_keeps_its_type(name: str, label: Any, action: Any, payoff: Any) -> None:
    write, read = FORMATS[name]
    tree = one_decision(action, infoset=label, payoffs=(payoff,))
    text = write(tree)
    again = read(text.encode())
    assert contents(again) == contents(tree)
    assert write(again) == text


@pytest.mark.parametrize("name", FORMATS)
@given(node=labels.filter(lambda node: node is not None))
def test_every_node_keeps_its_name(name: str, node: Any) -> None:
    write, read = FORMATS[name]
    graph = nx.DiGraph()
    graph.add_node(("another",), player=0, infoset=1)
    graph.add_node(node, payoffs=(0,))
    graph.add_edge(("another",), node, action=1)
    again = read(write(GameTree(graph)).encode())
    assert contents(again) == contents(GameTree(graph))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "json:",
        'json:"a"',
        "\r\n",
        "\0",
        "\x85\u2028",
        "\ufffe\uffff\ufdd0",
        "a\tb\nc",
        "]]>",
        "<a>&amp;\"'",
        "-1",
        "01",
        "1e5",
        "NaN",
        "日本",
    ],
)
def test_odd_texts_stay_as_they_are(name: str, text: str) -> None:
    write, read = FORMATS[name]
    graph = nx.DiGraph()
    graph.add_node(text, player=0, infoset=text)
    graph.add_node((text,), payoffs=(0,))
    graph.add_edge(text, (text,), action=text)
    assert contents(read(write(GameTree(graph)).encode())) == contents(GameTree(graph))


@pytest.mark.parametrize("name", FORMATS)
def test_enormous_numbers_stay_as_they_are(name: str) -> None:
    write, read = FORMATS[name]
    huge = 10**6000
    tree = one_decision(
        huge,
        -huge,
        2**63,
        -(2**63),
        infoset=(Fraction(1, huge), Fraction(huge, 7)),
        payoffs=(Fraction(huge, huge + 1),),
    )
    again = read(write(tree))
    assert again.graph.nodes["root"]["infoset"] == tree.graph.nodes["root"]["infoset"]
    assert again.actions("root") == tree.actions("root")
    assert again.payoffs(0) == tree.payoffs(0)


@pytest.mark.parametrize("name", FORMATS)
def test_numpy_numbers_become_plain_ones(name: str) -> None:
    import numpy as np

    write, read = FORMATS[name]
    graph = nx.DiGraph()
    graph.add_node(np.int64(0), player=np.int64(0), infoset=np.str_("i"))
    graph.add_node(1, payoffs=np.array([1.5, -1.5]))
    graph.add_edge(0, 1, action=np.int32(4))
    again = read(write(GameTree(graph)))
    plain = nx.DiGraph()
    plain.add_node(0, player=0, infoset="i")
    plain.add_node(1, payoffs=(1.5, -1.5))
    plain.add_edge(0, 1, action=4)
    assert contents(again) == contents(GameTree(plain))


@few
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("spec", ["kuhn", "kuhn:players=3", "matching_pennies", "leduc:merge_suits=true"])
def test_files_load_as_the_same_game(name: str, spec: str, tmp_path: Path) -> None:
    path = tmp_path / f"game.{name}"
    game = load_game(spec)
    FILES[name][0](game.tree, path)
    loaded = load_game(str(path))
    assert loaded.fingerprint == game.fingerprint
    assert (loaded.name, loaded.spec) == ("game", str(path))
    first = path.read_bytes()
    FILES[name][0](loaded.tree, path)
    assert path.read_bytes() == first


@pytest.mark.parametrize("name", FORMATS)
def test_public_labels_are_kept_and_other_attributes_left_out(name: str) -> None:
    write, read = FORMATS[name]
    graph = nx.DiGraph()
    graph.add_node("r", player=0, infoset="i", public=("p", 1), colour=object())
    graph.add_node("l", payoffs=(0,), x=[1])
    graph.add_edge("r", "l", action="a", weight=set())
    again = read(write(GameTree(graph)))
    assert again.graph.nodes["r"] == {"player": 0, "infoset": "i", "public": ("p", 1)}
    assert again.graph.nodes["l"] == {"payoffs": (0,)}
    assert again.graph.edges["r", "l"] == {"action": "a"}


@pytest.mark.parametrize("name", FORMATS)
def test_names_of_the_game_its_players_and_nodes_are_kept(name: str) -> None:
    write, read = FORMATS[name]
    tree = one_decision("a")
    about = {"title": 'json:"<&', "comment": "two\nlines", "players": ("Ann", "json:[]")}
    tree.graph.graph.update(about)
    tree.graph.nodes["root"]["name"] = "the only choice"
    tree.graph.nodes[0]["outcome"] = "éß"
    again = read(write(tree))
    assert again.graph.graph == about
    assert again.graph.nodes["root"] == tree.graph.nodes["root"]
    assert again.graph.nodes[0] == tree.graph.nodes[0]
    assert write(again) == write(tree)
    written = format_efg(tree)
    again = read(write(parse_efg(written)))
    assert format_efg(again) == written


@pytest.mark.parametrize("name", FORMATS)
def test_names_that_are_no_text_are_left_out(name: str) -> None:
    write, read = FORMATS[name]
    tree = one_decision("a")
    tree.graph.graph.update(title=3, comment="", players=("Ann", None))
    tree.graph.nodes["root"].update(name=("a", 1), outcome="")
    again = read(write(tree))
    assert again.graph.graph == {}
    assert again.graph.nodes["root"] == {"player": 0, "infoset": "only"}


def test_names_in_files_of_other_programs_that_are_no_text_are_left_out() -> None:
    node = {"id": 0, "payoffs": [1], "name": 7, "outcome": None}
    read = parse_json(json.dumps({"graph": {"title": [], "players": "Ann"}, "nodes": [node], "edges": []}))
    assert (read.graph.graph, read.graph.nodes[0]) == ({}, {"payoffs": (1,)})


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "label",
    [
        b"bytes",
        object(),
        complex(1, 2),
        (1, [b"x"][0]),
        "\ud800",
        float("nan"),
        Decimal("Infinity"),
        type("T", (tuple,), {})((1,)),
    ],
)
def test_labels_that_no_file_takes_are_refused(name: str, label: Any) -> None:
    with pytest.raises(InvalidGameError) as caught:
        FORMATS[name][0](one_decision(label))
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_labels_nested_too_deeply_are_refused(name: str) -> None:
    label: Any = "x"
    for _ in range(101):
        label = (label,)
    with pytest.raises(InvalidGameError, match="nested more than 100 levels deep"):
        FORMATS[name][0](one_decision(label))


@pytest.mark.parametrize("name", FORMATS)
def test_deep_trees_are_written_and_read(name: str) -> None:
    graph = nx.DiGraph()
    for depth in range(5000):
        graph.add_node(depth, player=0, infoset=depth)
        graph.add_edge(depth, depth + 1, action=0)
    graph.add_node(5000, payoffs=(1,))
    write, read = FORMATS[name]
    assert read(write(GameTree(graph))).num_nodes == 5001


# From networkx


def test_node_link_data_of_networkx_is_read(tmp_path: Path) -> None:
    tree = load_game("kuhn").tree
    graph = tree.graph.copy()
    for _, _, edge in graph.edges(data=True):
        if "prob" in edge:
            edge["prob"] = str(edge["prob"])
    for edges in ("edges", "links"):
        text = json.dumps(nx.node_link_data(graph, edges=edges))
        assert contents(parse_json(text)) == contents(tree)
    path = tmp_path / "kuhn.json"
    write_json(tree, path)
    back = nx.node_link_graph(json.loads(path.read_text(encoding="utf-8")), edges="edges")
    assert list(back.nodes) == list(graph.nodes)
    assert [back.edges[edge]["action"] for edge in back.edges] == [graph.edges[edge]["action"] for edge in graph.edges]


@pytest.mark.parametrize("payoffs", ["{}, {}", "[{}, {}]", "({}, {})", " {} ,{} "])
def test_graphml_of_networkx_is_read(payoffs: str, tmp_path: Path) -> None:
    tree = load_game("kuhn").tree
    graph = tree.graph.copy()
    for _, node in graph.nodes(data=True):
        if "payoffs" in node:
            node["payoffs"] = payoffs.format(*node["payoffs"])
    for _, _, edge in graph.edges(data=True):
        if "prob" in edge:
            edge["prob"] = str(edge["prob"])
    nx.write_graphml(graph, tmp_path / "kuhn.graphml")
    assert contents(read_graphml(tmp_path / "kuhn.graphml")) == contents(tree)
    write_graphml(tree, tmp_path / "own.graphml")
    assert nx.read_graphml(tmp_path / "own.graphml").nodes["2"]["infoset"] == "J_"


def test_graphml_of_networkx_keeps_the_types_it_has(tmp_path: Path) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", player=0, infoset=7)
    for number, action in enumerate([1, 1.5, "1", True]):
        graph.add_node(f"n{number}", payoffs="0.5")
        graph.add_edge("a", f"n{number}", action=action if action is not True else "x")
    nx.write_graphml(graph, tmp_path / "typed.graphml")
    tree = read_graphml(tmp_path / "typed.graphml")
    assert [repr(action) for action in tree.actions("a")] == ["1", "1.5", "'1'", "'x'"]
    assert repr(tree.graph.nodes["a"]["infoset"]) == "7"
    assert tree.payoffs("n0") == (0.5,)


def test_graphml_of_other_programs_is_read() -> None:
    text = """<?xml version="1.0" encoding="ISO-8859-1"?>
    <graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
      <desc>a <b>game</b></desc>
      <key id="d0" for="node" attr.name="infoset" attr.type="string"><default>start</default></key>
      <key id="d1" for="node" attr.name="player" attr.type="string"/>
      <key id="d2" for="all" attr.name="payoffs"/>
      <key id="d3" for="edge" attr.name="action" attr.type="string"/>
      <key id="d4" for="node" yfiles.type="nodegraphics"/>
      <graph id="G">
        <data key="d9">of the graph</data>
        <edge source="top" target="n1"><data key="d3">caf\xe9</data></edge>
        <node id="top"><data key="d1"> 0 </data><data key="d4"><y:ShapeNode><y:Fill/></y:ShapeNode></data></node>
        <node id="n1"><data key="d2"><![CDATA[1/3, -0.5]]></data></node>
      </graph>
    </graphml>"""
    tree = parse_graphml(text.encode("latin-1"))
    assert tree.actions("top") == ("café",)
    assert tree.graph.nodes["top"]["infoset"] == "start"
    assert tree.payoffs("n1") == (Fraction(1, 3), -0.5)


# What is wrong, and where

NODES = '"nodes": [{"id": 0, "player": 0, "infoset": "i"}, {"id": 1, "payoffs": [1, -1]}]'
EDGE = '{"source": 0, "target": 1, "action": "a"}'
BAD_JSON = {
    "nothing": ("", "line 1, column 1: not JSON: Expecting value"),
    "text": ('{"nodes": [\n  oops', "line 2, column 3: not JSON"),
    "array": ("[]", "not a node-link graph: expected an object with arrays 'nodes' and 'edges'"),
    "no edges": (f"{{{NODES}}}", "the array 'edges' is missing"),
    "undirected": (f'{{"directed": false, {NODES}, "edges": [{EDGE}]}}', "expected a directed graph"),
    "multigraph": (f'{{"multigraph": true, {NODES}, "edges": [{EDGE}]}}', "not a multigraph"),
    "version": (f'{{"graph": {{"format": "treeplex game", "version": 2}}, {NODES}, "edges": []}}', "version 2"),
    "node": ('{"nodes": [3], "edges": []}', "nodes[0] is 3, expected an object with the key 'id'"),
    "same node": ('{"nodes": [{"id": [1]}, {"id": [1]}], "edges": []}', "nodes[1]: there are two nodes (1,)"),
    "edge": (f'{{{NODES}, "edges": [{{"source": 0}}]}}', "edges[0] is {'source': 0}"),
    "edge to nowhere": (f'{{{NODES}, "edges": [{EDGE.replace("1", "2")}]}}', "edges[0]: there is no node 2"),
    "null": ('{"nodes": [{"id": null}], "edges": []}', "nodes[0]: the id of a node is null"),
    "same edge": (f'{{{NODES}, "edges": [{EDGE}, {EDGE}]}}', "edges[1]: there are two edges from 0 to 1"),
    "key twice": ('{"nodes": [{"id": 1, "id": 2}], "edges": []}', "an object has the key 'id' twice"),
    "NaN": ('{"nodes": [NaN], "edges": []}', "NaN is not allowed"),
    "infinity": ('{"nodes": [{"id": 0, "payoffs": [-Infinity]}], "edges": []}', "-Infinity is not allowed"),
    "too large": ('{"nodes": [{"id": 0, "payoffs": [1e999]}], "edges": []}', "'1e999' is too large for a float"),
    "no number": ('{"nodes": [{"id": 0, "payoffs": [true]}], "edges": []}', "nodes[0], payoffs: True is not a number"),
    "no payoffs": ('{"nodes": [{"id": 0, "payoffs": 1}], "edges": []}', "payoffs are 1, expected an array"),
    "by zero": ('{"nodes": [{"id": 0, "payoffs": ["1/0"]}], "edges": []}', "its denominator is 0"),
    "decimal": ('{"nodes": [{"id": 0, "payoffs": ["1e-99999999"]}], "edges": []}', "is out of range"),
    "nan as text": ('{"nodes": [{"id": 0, "payoffs": ["nan"]}], "edges": []}', "'nan' is not a number"),
    "tag": ('{"nodes": [{"id": {"list": []}}], "edges": []}', "nodes[0], id: {'list': []} is not a label"),
    "long": ('{"nodes": [' + "9" * 5000 + '], "edges": []}', "an integer has too many digits"),
    "long fraction": ('{"nodes": [{"id": 0, "payoffs": ["1/' + "9" * 5000 + '"]}], "edges": []}', "too many digits"),
    "deep": ("[" * 100_000, "nested too deeply"),
    "deep label": ('{"nodes": [{"id": ' + "[" * 200 + "]" * 200 + '}], "edges": []}', "more than 100 levels deep"),
    "bytes": (b'{"nodes": \xff', "not UTF-8: byte 10 is 0xff"),
    "UTF-16": ("{}".encode("utf-16"), "not UTF-8"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD_JSON.values(), ids=BAD_JSON)
def test_bad_json_is_refused_in_one_line(text: str | bytes, words: str) -> None:
    with pytest.raises(GameFileError) as caught:
        parse_json(text)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def graphml(body: str, keys: str = "") -> str:
    declared = (
        '<key id="player" for="node" attr.name="player" attr.type="long"/>\n'
        '<key id="infoset" for="node" attr.name="infoset" attr.type="string"/>\n'
        '<key id="payoffs" for="node" attr.name="payoffs" attr.type="string"/>\n'
    )
    return f'<graphml>\n{declared}{keys}<graph edgedefault="directed">\n{body}\n</graph></graphml>'


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
    + "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1 or str()};" * 10}">' for n in range(1, 12))
    + "]><graphml>&lol11;</graphml>"
)
EXTERNAL = '<!DOCTYPE graphml [<!ENTITY file SYSTEM "file:///etc/passwd">]><graphml>&file;</graphml>'
BAD_GRAPHML = {
    "nothing": ("", "not XML: no element found"),
    "text": ("<graphml>\n  <graph", "line 2, column 3: not XML: unclosed token"),
    "another": ("<svg/>", "line 1, column 1: not GraphML: the outermost element is <svg>"),
    "no graph": ("<graphml/>", "the element <graph> is missing"),
    "billion laughs": (LAUGHS, "a document type (<!DOCTYPE …>) is not allowed"),
    "external entity": (EXTERNAL, "a document type (<!DOCTYPE …>) is not allowed"),
    "undefined entity": ("<graphml>&lol;</graphml>", "undefined entity"),
    "undirected": ('<graphml><graph edgedefault="undirected"/></graphml>', "edgedefault is 'undirected', expected"),
    "two graphs": ("<graphml><graph/><graph/></graphml>", "found a second <graph>"),
    "nested graph": (graphml('<node id="1"><graph/></node>'), "line 6, column 14: <graph> within <node>"),
    "hyperedge": (graphml("<hyperedge/>"), "<hyperedge> within <graph> is not part of a game tree"),
    "port": (graphml('<node id="1"><port name="p"/></node>'), "<port> within <node>"),
    "misplaced": (graphml('<node id="1"><edge source="1" target="1"/></node>'), "column 14: <edge> within <node> is"),
    "node in a group": (graphml('<group><node id="1"/></group>'), "<node> within <group> is not allowed there"),
    "graph alone": ("<graph/>", "not GraphML: the outermost element is <graph>, expected <graphml>"),
    "markup": (graphml('<node id="1"><data key="infoset">K<b>_</b></data></node>'), "<b> within <data> is not allowed"),
    "no id": (graphml("<node/>"), "line 6, column 1: <node> without the attribute 'id'"),
    "no target": (graphml('<edge source="1"/>'), "<edge> without the attribute 'target'"),
    "undirected edge": (graphml('<edge source="1" target="2" directed="false"/>'), "<edge> is not directed"),
    "same node": (graphml('<node id="1"/>\n<node id="json:1"/>'), "line 7: <node>: there are two nodes 1"),
    "edge to nowhere": (graphml('<node id="a"/><edge source="a" target="b"/>'), "line 6: <edge>: there is no node 'b'"),
    "player": (graphml('<node id="1"><data key="player">zero</data></node>'), "player: 'zero' is not a valid long"),
    "long player": (graphml(f'<node id="1"><data key="player">{"9" * 5000}</data></node>'), "player: '999"),
    "payoffs": (graphml('<node id="1"><data key="payoffs">1; 2</data></node>'), "payoffs: payoffs are '1; 2'"),
    "infinite": (graphml('<node id="1"><data key="payoffs">1, inf</data></node>'), "payoffs are '1, inf'"),
    "JSON": (graphml('<node id="1"><data key="infoset">json:[1</data></node>'), "infoset: line 1, column 3: not JSON"),
    "id": (graphml('<node id="json:{}"/>'), "{} is not a label"),
    "twice": (graphml('<node id="1"><data key="infoset">1</data><data key="infoset"/></node>'), "'infoset' twice"),
    "type": (graphml("", '<key id="x" attr.name="x" attr.type="list"/>'), "has type 'list', expected one of boolean"),
    "same key": (graphml("", '<key id="player" attr.name="x"/>'), "two <key> elements have the id 'player'"),
    "encoding": (b'<?xml version="1.0" encoding="nonsense"?><graphml/>', "not XML: unknown encoding"),
    "deep": ("<graphml>" + "<a>" * 300, "elements are nested more than 200 levels deep"),
    "deep JSON": (graphml(f'<node id="json:{"[" * 100_000}"/>'), "nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "words"), BAD_GRAPHML.values(), ids=BAD_GRAPHML)
def test_bad_graphml_is_refused_in_one_line(text: str | bytes, words: str) -> None:
    with pytest.raises(GameFileError) as caught:
        parse_graphml(text)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_attributes_of_one_id_for_nodes_and_for_edges() -> None:
    """As Gephi writes them, if the tables of nodes and edges have a column of one name."""
    keys = "".join(
        f'<key id="about" for="{domain}" attr.name="about" attr.type="string"/>' for domain in ("node", "edge")
    )
    leaf = '<node id="1"><data key="about">end</data><data key="payoffs">1, -1</data></node>'
    assert parse_graphml(graphml(leaf, keys)).num_nodes == 1


def test_markup_in_attributes_of_other_programs_is_skipped() -> None:
    keys = '<key id="d" attr.name="description"><default>a <b>rule</b></default></key><key id="g" for="node"/>'
    leaf = '<node id="1"><data key="d"><p>end</p></data><data key="g"><Shape/></data>'
    assert parse_graphml(graphml(f'{leaf}<data key="payoffs">1, -1</data></node>', keys)).num_nodes == 1


def test_defaults_of_names_and_titles() -> None:
    keys = '<key id="n" for="node" attr.name="name"><default>leaf</default></key>'
    keys += '<key id="t" for="graph" attr.name="title"><default>Nothing to do</default></key>'
    tree = parse_graphml(graphml('<node id="1"><data key="payoffs">1, -1</data></node>', keys))
    assert tree.graph.nodes[1]["name"] == "leaf"
    assert tree.graph.graph["title"] == "Nothing to do"


def test_refusals_know_line_and_column() -> None:
    with pytest.raises(GameFileError) as caught:
        parse_graphml(graphml('\n  <node id="1"><data key="player">x</data></node>'))
    assert (caught.value.line, caught.value.column) == (7, 36)
    with pytest.raises(GameFileError) as caught:
        parse_json("{\n]")
    assert (caught.value.line, caught.value.column) == (2, 1)


def test_what_is_no_game_is_refused_as_any_tree_is(tmp_path: Path) -> None:
    path = tmp_path / "forgets.json"
    graph = nx.DiGraph()
    graph.add_node(0, player=0, infoset="first")
    for action in (1, 2):
        graph.add_node(action, player=0, infoset="second")
        graph.add_edge(0, action, action=action)
        graph.add_node(action + 2, payoffs=(0,))
        graph.add_edge(action, action + 2, action="end")
    path.write_text(json.dumps(nx.node_link_data(graph)), encoding="utf-8")
    with pytest.raises(ImperfectRecallError, match=r"forgets\.json: infoset 'second' of player 0"):
        read_json(path)


def test_files_larger_than_the_limit_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(files.MAX_BYTES + 1)  # no space is taken for it
    with pytest.raises(GameFileError, match=r"large\.json: it has 268,435,457 bytes or more, expected at most"):
        read_json(path)


@pytest.mark.parametrize("name", [*FILES, "efg"])
def test_files_that_may_take_more_memory_than_the_budget_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"leduc.{name}"
    tree = load_game("leduc:merge_suits=true").tree
    write, read = (write_efg, read_efg) if name == "efg" else FILES[name]
    write(tree, path)
    monkeypatch.setenv("TREEPLEX_MEMORY", "2MB")
    with pytest.raises(
        GameTooLargeError, match=rf"leduc\.{name}: reading the file may take .* MB, but the budget is 2 MB; "
    ):
        read(path)
    monkeypatch.setenv("TREEPLEX_MEMORY", "40MB")
    assert read(path).num_nodes == tree.num_nodes


def graphml_of_leaves(leaves: int, keys: str) -> str:
    """Return GraphML of a chance node with so many leaves, and with some elements <key>."""
    nodes = "".join(f'<node id="{number}"><data key="v">1,0</data></node>' for number in range(leaves))
    edges = "".join(
        f'<edge source="root" target="{n}"><data key="a">{n}</data><data key="p">1/{leaves}</data></edge>'
        for n in range(leaves)
    )
    return (
        '<graphml><key id="m" for="node" attr.name="player" attr.type="long"/>'
        '<key id="v" for="node" attr.name="payoffs" attr.type="string"/>'
        '<key id="a" for="edge" attr.name="action" attr.type="string"/>'
        '<key id="p" for="edge" attr.name="prob" attr.type="string"/>'
        f'{keys}<graph><node id="root"><data key="m">-1</data></node>{nodes}{edges}</graph></graphml>'
    )


def test_many_defaults_for_many_nodes_take_little_time() -> None:
    """The first default of a name counts. One pass a default took minutes here."""
    keys = "".join(
        f'<key id="k{number}" for="node" attr.name="infoset" attr.type="string"><default>{number}</default></key>'
        for number in range(10_000)
    )
    tree = parse_graphml(graphml_of_leaves(10_000, keys))
    assert tree.num_nodes == 10_001
    assert tree.graph.nodes[7]["infoset"] == "0"


def test_a_long_default_for_many_nodes_is_taken_for_what_it_becomes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEPLEX_MEMORY", "100MB")
    key = '<key id="k" for="node" attr.name="infoset" attr.type="string"><default>%s</default></key>'
    assert parse_graphml(graphml_of_leaves(100, key % ("x" * 100))).num_nodes == 101
    with pytest.raises(GameTooLargeError, match=r"reading the file may take 1\.28 GB"):
        parse_graphml(graphml_of_leaves(1000, key % ("x" * 20_000)))


@pytest.mark.parametrize("tag", ["id", "infoset", "action", "set"])
def test_labels_whose_hashes_were_made_alike_are_refused_soon(tag: str) -> None:
    alike = [number * (2**61 - 1) for number in range(1, 30_000)]  # every one has the hash 0
    if tag == "set":
        data = [{"id": {"set": alike}, "payoffs": [1]}], []
    elif tag == "action":
        nodes = [{"id": 0, "player": 0, "infoset": 0}, *({"id": 1 + n, "payoffs": [1]} for n in range(len(alike)))]
        data = nodes, [{"source": 0, "target": 1 + n, "action": label} for n, label in enumerate(alike)]
    else:
        data = [{"id": number, "player": 0, "infoset": "", tag: label} for number, label in enumerate(alike)], []
    begun = time.process_time()
    with pytest.raises(GameFileError, match="hash"):
        parse_json(json.dumps({"nodes": data[0], "edges": data[1]}))
    assert time.process_time() - begun < 30


def test_an_efg_file_with_more_actions_than_memory_has_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREEPLEX_MEMORY", "20MB")
    with pytest.raises(GameTooLargeError, match="reading the file may take 30 MB"):
        parse_efg('EFG 2 R "" { "a" } p "" 1 1 "" { ' + '"a"' * 19_999 + " } 0")


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    for read in (read_json, read_graphml):
        with pytest.raises(GameFileError, match=r"absent\.json: no such file"):
            read(tmp_path / "absent.json")
        with pytest.raises(GameFileError, match="it is a directory"):
            read(tmp_path)
        with pytest.raises(GameFileError, match="it is not a regular file"):
            read("/dev/zero")
        with pytest.raises(GameFileError, match="the name contains a zero byte"):
            read("zero\0byte")


def test_files_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    tree = one_decision(1)
    for write in (write_json, write_graphml):
        with pytest.raises(GameFileError, match="cannot be written: no such file or directory"):
            write(tree, tmp_path / "absent" / "game")
        with pytest.raises(GameFileError, match="cannot be written: is a directory"):
            write(tree, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    path.write_text("precious", encoding="utf-8")
    path.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(path)
    with pytest.raises(InvalidGameError):
        write_json(one_decision(object()), link)
    with contextlib.suppress(ZeroDivisionError), files.writing_whole(link) as passing:
        passing.write_text("half", encoding="utf-8")
        raise ZeroDivisionError
    assert path.read_text(encoding="utf-8") == "precious"
    write_json(one_decision(1), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert read_json(path).num_nodes == 2
    assert sorted(tmp_path.iterdir()) == [path, link]


# Any JSON

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda parts: (
        st.lists(parts, max_size=3)
        | st.dictionaries(st.sampled_from(["set", "fraction", "decimal", "float", "int", "x"]), parts, max_size=2)
    ),
    max_leaves=6,
)


@given(data=anything)
def test_any_json_is_a_label_or_refused(data: Any) -> None:
    for read in (encoding.decode, encoding.decode_number, encoding.decode_payoffs):
        try:
            hash(read(data))
        except GameFileError as error:
            assert len(str(error).splitlines()) == 1  # noqa: PT017


def test_writers_take_games_as_well_as_trees(tmp_path: Path) -> None:
    game = load_game("kuhn")
    for write, form in ((format_json, "json"), (format_graphml, "graphml")):
        assert write(game) == write(game.tree), form
    with pytest.raises(InvalidGameError, match=r"game is .*, expected a Game or a GameTree"):
        format_json(nx.DiGraph())
