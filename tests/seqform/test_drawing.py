"""Pictures of trees: where things stand, what is written on them, and DOT."""

import itertools
import re
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from effort import few, thorough
from hypothesis import given
from random_trees import to_graph, trees

from treeplex import (
    Game,
    GameFileError,
    GameTree,
    InvalidGameError,
    MissingExtraError,
    SequenceForm,
    UnsupportedProblemError,
    load_game,
)
from treeplex.seqform.interchange.drawing import (
    MAX_NODES,
    colour_of,
    depths_of_nodes,
    draw,
    edge_text,
    format_dot,
    infoset_members,
    label_text,
    tidy_positions,
    write_dot,
    write_drawing,
)
from treeplex.seqform.interchange.pictures import number_text, picture

LONG = "a label that is far too long to be read in any picture"


def chain(depth: int) -> GameTree:
    graph = nx.DiGraph()
    for level in range(depth):
        graph.add_node(level, player=level % 3, infoset=f"level {level}")
        graph.add_edge(level, level + 1, action="go on")
        graph.add_node((level,), payoffs=(level, -level, 0))
        graph.add_edge(level, (level,), action="stop")
    graph.add_node(depth, payoffs=(1, 2, 3))
    return GameTree(graph)


def labelled(infoset: Any, action: Any) -> GameTree:
    graph = nx.DiGraph()
    graph.add_node("root", player=-1)
    for number in range(3):
        graph.add_edge("root", number, action=(action, number), prob=Fraction(1, 3))
        graph.add_node(number, player=number % 2, infoset=(infoset, number))
        for move in range(2):
            graph.add_edge(number, (number, move), action=[action, "stop"][move])
            graph.add_node((number, move), payoffs=(1e7 / 3, Fraction(-1, 3)))
    return GameTree(graph)


# Layout


@given(root=trees(depth=5, size=20))
def test_trees_are_laid_out_without_overlap(root: Any) -> None:
    tree = GameTree(to_graph(root))
    sizes = {node: 1.0 + node % 3 for node in tree.graph}
    edges = dict.fromkeys(tree.graph, 2.0)
    places = tidy_positions(tree, sizes, edges, margin=0.5)
    depths = depths_of_nodes(tree)
    levels: dict[int, list[Any]] = {}
    for node, depth in depths.items():  # depth first, and so in order along each level
        levels.setdefault(depth, []).append(node)
    for level in levels.values():
        for one, other in itertools.pairwise(level):
            assert places[other] - places[one] >= (sizes[one] + sizes[other]) / 2 + 0.5 - 1e-9
    for node in tree.graph:
        children = list(tree.graph.adj[node])
        if children:
            assert places[node] == pytest.approx((places[children[0]] + places[children[-1]]) / 2)
        assert places[node] - sizes[node] / 2 >= -1e-9
        for one, other in itertools.pairwise(children):
            assert places[other] - places[one] >= 2.0 - 1e-9


# Pictures


def texts(figure: Any) -> list[str]:
    return [text.get_text() for text in figure.axes[0].texts]


def overlaps(figure: Any) -> list[tuple[str, str]]:
    """List the texts whose boxes, a little smaller than drawn, lie on each other."""
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in figure.axes[0].texts]
    boxes = [(text, box.shrunk(0.9, 0.7).translated(0.05 * box.width, 0.15 * box.height)) for text, box in boxes]
    return [(one, other) for (one, box), (other, second) in itertools.combinations(boxes, 2) if box.overlaps(second)]


def only_leaf() -> GameTree:
    graph = nx.DiGraph()
    graph.add_node("leaf", payoffs=(1, -1))
    return GameTree(graph)


PICTURES = {
    "matching pennies": lambda: load_game("matching_pennies").tree,
    "kuhn": lambda: load_game("kuhn").tree,
    "rps": lambda: load_game("rps").tree,
    "long labels": lambda: labelled(LONG, LONG),
    "deep": lambda: chain(40),
    "one leaf": only_leaf,
}


@few
@pytest.mark.parametrize("direction", [None, "down", "right"])
@pytest.mark.parametrize("name", PICTURES)
def test_no_text_lies_on_another_or_leaves_the_picture(name: str, direction: Any) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = draw(PICTURES[name](), direction)
    assert not overlaps(figure)
    renderer = FigureCanvasAgg(figure).get_renderer()
    for text in figure.axes[0].texts:
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height


def test_a_picture_shows_players_actions_probabilities_and_payoffs() -> None:
    pytest.importorskip("matplotlib")
    shown = texts(draw(load_game("kuhn"), "down"))
    assert {"chance", "player 0", "player 1", "J (1/3)", "Q (1/2)", "J_pb", "K_b", "p", "b", "−2"} <= set(shown)
    assert shown.count("J_") == 2
    figure = draw(load_game("kuhn"))
    arcs = [patch.get_edgecolor() for patch in figure.axes[0].patches]
    assert len(arcs) == 12  # every infoset has two nodes
    assert len(set(arcs)) == 2


def test_text_is_shown_as_it_is() -> None:
    pytest.importorskip("matplotlib")
    figure = draw(labelled("$x_1$ <b>&", "日本 \n $"))
    assert "('$x_1$ <b>&', 0)" in texts(figure)
    svg = picture(figure, "svg").decode()
    assert svg.startswith("<?xml")


def test_the_same_tree_gives_the_same_file(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for suffix, begins in ((".svg", b"<?xml"), (".png", b"\x89PNG"), (".pdf", b"%PDF")):
        path = tmp_path / f"kuhn{suffix}"
        write_drawing(load_game("kuhn"), path)
        first = path.read_bytes()
        assert first.startswith(begins)
        write_drawing(load_game("kuhn").tree, path)
        assert path.read_bytes() == first


@thorough
def test_large_trees_are_refused_by_their_size() -> None:
    with pytest.raises(UnsupportedProblemError, match=r"the tree has 301 nodes, .* at most 300; write it as DOT"):
        draw(chain(150))
    with pytest.raises(UnsupportedProblemError, match=r"leduc has 9,457 nodes"):
        draw(load_game("leduc"))
    with pytest.raises(UnsupportedProblemError, match=r"goofspiel:cards=13 has [\d,]{20,} nodes"):
        draw(load_game("goofspiel:cards=13"))
    assert chain(149).num_nodes == MAX_NODES - 1
    assert draw(chain(149)) is not None


def test_rules_that_state_no_size_are_counted_up_to_the_limit() -> None:
    class Endless:
        num_players = 1

        def initial_state(self) -> int:
            return 0

        def player(self, state: int) -> int:
            return 0

        def actions(self, state: int) -> tuple[int, ...]:
            return (1,)

        def chance_outcomes(self, state: int) -> tuple[()]:
            return ()

        def child(self, state: int, action: int) -> int:
            return state + 1

        def infoset(self, state: int) -> int:
            return state

        def payoffs(self, state: int) -> tuple[int, ...]:
            return (0,)

    with pytest.raises(UnsupportedProblemError, match="endless has more than 300 nodes"):
        draw(Game("endless", rules=Endless()))


def test_what_has_no_tree_or_is_no_game_is_refused() -> None:
    matrices = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1]]))
    with pytest.raises((InvalidGameError, UnsupportedProblemError), match=r"matrices .*no histories to visit"):
        draw(matrices)
    with pytest.raises(UnsupportedProblemError, match="tree is 3, expected a GameTree or a Game"):
        draw(3)  # type: ignore[arg-type]
    with pytest.raises(UnsupportedProblemError, match="direction is 'up', expected one of None, down, right"):
        draw(load_game("rps"), "up")  # type: ignore[arg-type]


def test_notebooks_show_small_trees_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    game = load_game("matching_pennies")
    for shown in (game._repr_html_(), game.tree._repr_html_()):
        assert shown is not None
        assert "<svg" in shown
    assert "<svg" not in load_game("leduc")._repr_html_()
    assert Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1]]))._repr_html_()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "<svg" not in game._repr_html_()
    assert game.tree._repr_html_() is None
    with pytest.raises(MissingExtraError, match=r"a picture needs matplotlib: pip install 'treeplex\[plot\]'"):
        draw(game)


def test_pyplot_is_left_alone() -> None:
    matplotlib = pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    before = dict(matplotlib.rcParams), plt.get_fignums()
    picture(draw(load_game("rps")), "svg")
    assert (dict(matplotlib.rcParams), plt.get_fignums()) == before


def test_other_suffixes_and_places_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(GameFileError, match=r"a picture with suffix '\.bmp', expected \.svg, \.png or \.pdf"):
        write_drawing(load_game("rps"), tmp_path / "rps.bmp")
    with pytest.raises(GameFileError, match="cannot be written: no such file or directory"):
        write_drawing(load_game("rps"), tmp_path / "absent" / "rps.svg")
    assert not list(tmp_path.iterdir())


# What is written on pictures


def test_labels_and_numbers_are_short() -> None:
    assert label_text(LONG) == LONG[:23] + "…"
    assert label_text("two\nlines") == "two\\nlines"
    assert label_text(("a", 1)) == "('a', 1)"
    assert label_text(10**5000) == "a int"
    shown = {1: "1", -2: "−2", 10**9: "1e+09", 0.1: "0.1", 1 / 3: "0.3333", Fraction(-1, 3): "−1/3", 1e-20: "1e−20"}
    assert {number: number_text(number) for number in shown} == shown
    assert edge_text({"action": "K", "prob": 0.25}) == "K (0.25)"
    assert len({colour_of(player) for player in range(-1, 6)}) == 7


@given(root=trees())
def test_members_of_infosets_are_complete(root: Any) -> None:
    tree = GameTree(to_graph(root))
    members = infoset_members(tree)
    labels = [[label for player, label in members if player == who] for who in (0, 1)]
    assert labels == [list(treeplex.infoset_labels) for treeplex in tree.enumeration.treeplexes]
    assert sum(map(len, members.values())) == sum(
        data.get("player", -1) >= 0 for _, data in tree.graph.nodes(data=True)
    )


# DOT

QUOTED = r'"(?:[^"\\]|\\.)*"'
WORD = rf"(?:{QUOTED}|[A-Za-z_]\w*|-?\d+(?:\.\d+)?)"
ATTRIBUTES = rf"\[{WORD}={WORD}(?:, {WORD}={WORD})*\]"
STATEMENT = re.compile(rf"  (?:(?:graph|node|edge|(?P<node>n\d+)) {ATTRIBUTES}|(?P<edge>n\d+ -> n\d+) {ATTRIBUTES});")


def parse_dot(text: str) -> tuple[list[str], list[str], list[str]]:
    """Read the statements of a DOT file by the grammar's words: nodes, edges and dashed edges."""
    first, *statements, last, end = text.split("\n")
    assert (first, last, end) == ("digraph game {", "}", "")
    nodes, edges, dashed = [], [], []
    for statement in statements:
        match = STATEMENT.fullmatch(statement)
        assert match is not None, statement
        if match["node"]:
            nodes.append(match["node"])
        elif match["edge"]:
            (dashed if "style=dashed" in statement else edges).append(match["edge"])
    return nodes, edges, dashed


@given(root=trees())
def test_dot_has_every_node_edge_and_infoset(root: Any) -> None:
    tree = GameTree(to_graph(root))
    nodes, edges, dashed = parse_dot(format_dot(tree))
    assert nodes == [f"n{node}" for node in tree.graph]
    assert edges == [f"n{one} -> n{other}" for one, other in tree.graph.edges]
    assert len(dashed) == sum(len(members) - 1 for members in infoset_members(tree).values())


@pytest.mark.parametrize(
    "label", ['say "hi"', "back\\slash", 'end\\"', "<b>html</b>", "a|{b}", "two\nlines", "é日", "\0"]
)
def test_labels_are_quoted_for_dot(label: str) -> None:
    text = format_dot(labelled(label, label))
    assert len(parse_dot(text)[0]) == 10
    assert "\0" not in text


def test_dot_is_written_to_a_file(tmp_path: Path) -> None:
    tree = load_game("rps").tree
    write_dot(tree, tmp_path / "rps.dot")
    assert (tmp_path / "rps.dot").read_text(encoding="utf-8") == format_dot(tree)
    with pytest.raises(GameFileError, match="cannot be written"):
        write_dot(tree, tmp_path)


def test_the_picture_of_the_documentation_shows_the_whole_tree() -> None:
    drawn = (Path(__file__).parents[2] / "docs" / "images" / "kuhn_tree.svg").read_text(encoding="utf-8")
    tree = load_game("kuhn").tree
    for (_, label), nodes in infoset_members(tree).items():
        assert drawn.count(f"<!-- {label} -->") == len(nodes)
    assert drawn.count("<!-- J (1/3) -->") == 1
