"""Game trees as pictures, drawn by matplotlib or written in DOT, the language of Graphviz."""

import itertools
import math
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, Literal, NoReturn

import networkx as nx

from ..checks import check_choice, check_type
from ..errors import InvalidGameError, TreeplexError, UnsupportedProblemError, one_line
from ..game import Game
from ..game_tree import GameTree
from ..histories import walk
from ..rules import CHANCE, size_of
from .files import write_bytes
from .pictures import Figure, blank_figure, number_text, quietly, require_matplotlib, write_picture

#: Okabe and Ito's colours, which colour-blind readers can distinguish; they repeat if there are more players.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9")
CHANCE_COLOUR = "#666666"
#: The largest tree that is drawn, in nodes: larger trees would be unreadable.
MAX_NODES = 300

#: The number of characters of a label that a picture shows.
MAX_LABEL = 24


def colour_of(player: int) -> str:
    """Return the colour of a player or of chance."""
    return CHANCE_COLOUR if player == CHANCE else _COLOURS[player % len(_COLOURS)]


def label_text(label: object) -> str:
    """Return a label on one line, truncated if it is long."""
    return one_line(label if isinstance(label, str) else _written(label), MAX_LABEL)


def _written(label: object) -> str:
    try:
        return str(label)
    except ValueError:  # an integer of thousands of digits
        return f"a {type(label).__name__}"


def edge_text(edge: dict[str, Any], share: float | None = None) -> str:
    """Return an edge's action, with its probability below a chance node or the given probability."""
    text, probability = label_text(edge["action"]), edge.get("prob", share)
    return text if probability is None else f"{text} ({number_text(probability)})"


def infoset_members(tree: GameTree) -> dict[tuple[int, Hashable], list[Hashable]]:
    """Return the nodes of every infoset, by player and label, in the order of a depth-first walk."""
    members: dict[tuple[int, Hashable], list[Hashable]] = {}
    for node in nx.dfs_preorder_nodes(tree.graph, tree.root):
        attributes = tree.graph.nodes[node]
        if attributes.get("player", CHANCE) != CHANCE:
            members.setdefault((int(attributes["player"]), attributes["infoset"]), []).append(node)
    return members


def depths_of_nodes(tree: GameTree) -> dict[Hashable, int]:
    """Return the depth of each node, in the order of a depth-first walk."""
    depths = {tree.root: 0}
    for parent, child in nx.dfs_edges(tree.graph, tree.root):
        depths[child] = depths[parent] + 1
    return depths


def tidy_positions(
    tree: GameTree, node_sizes: Mapping[Hashable, float], edge_sizes: Mapping[Hashable, float], margin: float
) -> dict[Hashable, float]:
    """Return each node's position along its level.

    Parameters
    ----------
    tree : GameTree
    node_sizes : mapping
        The size of each node along its level.
    edge_sizes : mapping
        The minimum distance between siblings that leaves space for the label of the edge to each node.
    margin : float
        The space between neighbours.

    Returns
    -------
    dict
        Positions from 0. A node's children stand as close together as the outlines of their subtrees allow.

    Notes
    -----
    Reingold and Tilford, "Tidier drawings of trees", IEEE Transactions on Software Engineering 7 (1981): subtrees are
    laid out bottom-up and put side by side, each as an outline: its smallest and largest position on each level.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.drawing import tidy_positions
    >>> tree = load_game("matching_pennies").tree
    >>> sizes = dict.fromkeys(tree.graph, 1.0)
    >>> tidy_positions(tree, sizes, sizes, margin=0.0)
    {0: 2.0, 1: 1.0, 2: 0.5, 3: 1.5, 4: 3.0, 5: 2.5, 6: 3.5}
    """
    order = list(depths_of_nodes(tree))
    offsets: dict[Hashable, float] = {tree.root: 0.0}  # from the parent
    outlines: dict[Hashable, list[tuple[float, float]]] = {}  # by level from the node down, relative to the node
    for node in reversed(order):
        children = list(tree.graph.adj[node])
        half = node_sizes[node] / 2
        if not children:
            outlines[node] = [(-half, half)]
            continue
        places = [0.0]
        merged = outlines.pop(children[0])
        for previous, child in itertools.pairwise(children):
            outline = outlines.pop(child)
            apart = max(right - left for (_, right), (left, _) in zip(merged, outline, strict=False)) + margin
            labels = (edge_sizes[previous] + edge_sizes[child]) / 2
            place = max(apart, places[-1] + labels)
            places.append(place)
            moved = [(left + place, right + place) for left, right in outline]
            merged = [(first[0], second[1]) for first, second in zip(merged, moved, strict=False)] + (
                merged[len(moved) :] or moved[len(merged) :]
            )
        middle = (places[0] + places[-1]) / 2
        for child, place in zip(children, places, strict=True):
            offsets[child] = place - middle
        outlines[node] = [(-half, half), *((left - middle, right - middle) for left, right in merged)]
    least = min(left for left, _ in outlines[tree.root])
    positions: dict[Hashable, float] = {tree.root: -least}
    for node in order:
        for child in tree.graph.adj[node]:
            positions[child] = positions[node] + offsets[child]
    return {node: positions[node] for node in order}


# Sizes in points.
_NODE_FONT, _EDGE_FONT, _PADDING, _BORDER, _BLANK, _DOT, _LANE = 8.0, 7.5, 4.0, 12.0, 4.0, 6.0, 6.0
#: A tree with more leaves than this grows to the right, so that its wide labels stand below each other.
_MANY_LEAVES = 12


def tree_to_draw(
    given: Game | GameTree, most: float = math.inf, error: type[TreeplexError] = UnsupportedProblemError
) -> GameTree:
    """Return the tree of a game, or a given tree after checking it.

    Parameters
    ----------
    given : Game or GameTree
    most : float
        The largest number of nodes. A larger game raises an error before its tree is built.
    error : type of exception
        The exception to raise if `given` is neither.

    Raises
    ------
    UnsupportedProblemError
        If there are more than `most` nodes, or the game has no histories.
    """
    if isinstance(given, Game) and not isinstance(given.rules, GameTree):
        if math.isfinite(most) and given.rules is not None:
            size = size_of(given.rules)
            seen = itertools.islice(walk(given.rules), int(most) + 1)
            if (sum(1 for _ in seen) if size is None else size.nodes) > most:
                _refuse(given.spec, f"more than {most:g}" if size is None else f"{size.nodes:,}")
        return given.tree
    found = given.rules if isinstance(given, Game) else given
    tree = check_type(found, "tree", error, GameTree, "a GameTree or a Game")
    if tree.num_nodes > most:
        _refuse("the tree", f"{tree.num_nodes:,}")
    return tree.check()


def _refuse(name: str, count: str) -> NoReturn:
    raise UnsupportedProblemError(
        f"{name} has {count} nodes, too many for a readable picture: expected at most {MAX_NODES}; write it as DOT "
        "(treeplex export --format dot) and lay it out with Graphviz"
    )


def draw(
    tree: Game | GameTree,
    direction: Literal["down", "right"] | None = None,
    strategies: Mapping[int, Mapping[Hashable, Mapping[Hashable, float]]] | None = None,
) -> "Figure":
    """Draw a game tree.

    Players' decisions are boxes in the player's colour with the infoset's label. Chance nodes are grey dots. Leaves
    show the payoffs. Edges show actions, and probabilities below chance nodes and below players whose strategies are
    given. Dashed arcs join the nodes of an infoset.

    Parameters
    ----------
    tree : GameTree or Game
        At most 300 nodes.
    direction : {"down", "right"}, optional
        The direction in which the tree grows: by default down with few leaves, and to the right with many.
    strategies : mapping of int to mapping, optional
        Probabilities by player, infoset and action, as :meth:`Profile.to_dict <treeplex.Profile.to_dict>` returns them.
        Each edge is then in its player's colour and as thick as it is likely; actions that are never played are dotted.

    Returns
    -------
    matplotlib.figure.Figure
        As large as the tree needs. Write it with ``figure.savefig("tree.pdf")``; it does not open a window.

    Raises
    ------
    UnsupportedProblemError
        If the tree has too many nodes, or `direction` is invalid.
    InvalidGameError
        If the game was given as a sequence form, which has no tree.
    MissingExtraError
        If matplotlib is not installed.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.drawing import draw
    >>> figure = draw(load_game("matching_pennies"))
    >>> figure.savefig("pennies.png")
    """
    tree = tree_to_draw(tree, MAX_NODES)
    check_choice(direction, "direction", UnsupportedProblemError, (None, "down", "right"))
    require_matplotlib()
    leaves = sum(not tree.graph.adj[node] for node in tree.graph)
    down = leaves <= _MANY_LEAVES if direction is None else direction == "down"
    with quietly():
        return _Drawing(tree, down, strategies or {}).figure()


def write_drawing(tree: Game | GameTree, path: str | Path, direction: Literal["down", "right"] | None = None) -> None:
    """Draw a game tree to a file, atomically: ``.svg``, ``.png`` or ``.pdf`` by the suffix.

    The same tree always gives the same file. For other errors see :func:`draw`.

    Raises
    ------
    GameFileError
        If the suffix is not one of these, or the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import write_drawing
    >>> write_drawing(load_game("matching_pennies"), "pennies.svg", direction="down")
    >>> Path("pennies.svg").read_text()[:5]
    '<?xml'
    """
    write_picture(lambda: draw(tree, direction), path)


class _Drawing:
    """A picture of a tree. All lengths are in points, "along" a level or "across" the levels."""

    def __init__(self, tree: GameTree, down: bool, strategies: Mapping[int, Any]) -> None:
        from matplotlib.font_manager import FontProperties
        from matplotlib.textpath import TextToPath

        self.tree, self.down = tree, down
        self._fonts = {size: FontProperties(size=size) for size in (_NODE_FONT, _EDGE_FONT)}
        self._measure = TextToPath()
        self.shares = self._shares(strategies)
        self.edge_texts = {
            child: edge_text(edge, self.shares.get(child)) for _, child, edge in tree.graph.edges(data=True)
        }
        self.edge_sizes = {node: self._size([text], _EDGE_FONT, 1.5) for node, text in self.edge_texts.items()}
        self.node_texts = {node: self._node_text(node) for node in tree.graph}
        self.node_sizes = {node: self._node_size(node) for node in tree.graph}
        self.depths = depths_of_nodes(tree)
        self.arcs = self._lanes()
        self.across = self._levels()
        self.along = self._positions()

    def _shares(self, strategies: Mapping[int, Any]) -> dict[Hashable, float]:
        """Return the probability of the edge to each node, for players whose strategies are given."""
        shares = {}
        for parent, child, edge in self.tree.graph.edges(data=True):
            attributes = self.tree.graph.nodes[parent]
            if attributes["player"] in strategies:
                shares[child] = float(strategies[attributes["player"]][attributes["infoset"]][edge["action"]])
        return shares

    def _node_text(self, node: Hashable) -> list[str]:
        """Return the lines of text at a node: a label, or one payoff per player."""
        attributes = self.tree.graph.nodes[node]
        if "payoffs" in attributes:
            texts = [number_text(payoff) for payoff in self.tree.payoffs(node)]
            return texts if self.down else [*(f"{text}," for text in texts[:-1]), texts[-1]]
        return [] if attributes["player"] == CHANCE else [label_text(attributes["infoset"])]

    def _node_size(self, node: Hashable) -> tuple[float, float]:
        texts = self.node_texts[node]
        if not texts:
            return _DOT, _DOT
        if self.down or len(texts) == 1:
            return self._size(texts, _NODE_FONT, _PADDING)
        return sum(self._width(text, _NODE_FONT) + _BLANK for text in texts) + _BLANK, 1.25 * _NODE_FONT

    def _width(self, text: str, font: float) -> float:
        return float(self._measure.get_text_width_height_descent(text, self._fonts[font], ismath=False)[0])

    def _size(self, lines: list[str], font: float, padding: float) -> tuple[float, float]:
        """Return the width and height of lines of text, including padding."""
        return max(self._width(line, font) for line in lines) + 2 * padding, 1.25 * font * len(lines) + padding

    def _lanes(self) -> list[tuple[int, Hashable, Hashable, int]]:
        """Return the arcs between neighbouring nodes of an infoset: player, two nodes, and a lane.

        Arcs of one level whose spans overlap run in different lanes, so that readers can distinguish them.
        """
        places = {node: place for place, node in enumerate(self.depths)}  # depth first: the order along each level
        spans = [
            (places[one], places[other], player, one, other)
            for (player, _), nodes in infoset_members(self.tree).items()
            for one, other in itertools.pairwise(nodes)
        ]
        arcs = []
        ends: dict[int, list[int]] = {}  # by level: the position from which each lane is free
        for first, last, player, one, other in sorted(spans, key=lambda span: span[:2]):
            lanes = ends.setdefault(self.depths[one], [])
            lane = next((number for number, end in enumerate(lanes) if end <= first), len(lanes))
            lanes[lane : lane + 1] = [last]
            arcs.append((player, one, other, lane))
        return arcs

    def _levels(self) -> list[float]:
        """Return the position of each level."""
        side = 1 if self.down else 0
        count = max(self.depths.values()) + 1
        node_room, edge_room, lanes = [0.0] * count, [0.0] * count, [0] * count
        for node, depth in self.depths.items():
            node_room[depth] = max(node_room[depth], self.node_sizes[node][side])
            if node in self.edge_sizes:
                edge_room[depth] = max(edge_room[depth], self.edge_sizes[node][side])
        for _, node, _, lane in self.arcs:
            lanes[self.depths[node]] = max(lanes[self.depths[node]], lane + 1)
        places = [node_room[0] / 2]
        for depth in range(1, count):
            gap = edge_room[depth] + 22.0 + _LANE * lanes[depth - 1]
            places.append(places[-1] + node_room[depth - 1] / 2 + gap + node_room[depth] / 2)
        return places

    def _target(self, child: Hashable) -> float:
        """Return the position across levels where edges to a node end: boxes hide edges, payoffs do not."""
        half = 0.0 if self.tree.graph.adj[child] else self.node_sizes[child][1 if self.down else 0] / 2
        return self.across[self.depths[child]] - half

    def _label_place(self, parent: Hashable, child: Hashable) -> float:
        """Return the position of an edge's label along it, from 0 to 1: near the child, because edges diverge."""
        start, side = self.across[self.depths[parent]], 1 if self.down else 0
        border = self.across[self.depths[child]] - self.node_sizes[child][side] / 2
        length = self._target(child) - start
        return 0.4 * (self.node_sizes[parent][side] / 2 / length) + 0.6 * ((border - start) / length)

    def _positions(self) -> dict[Hashable, float]:
        side = 0 if self.down else 1
        labels = {node: size[side] + 2.0 for node, size in self.edge_sizes.items()}
        nodes = {node: max(size[side], labels.get(node, 0.0)) for node, size in self.node_sizes.items()}
        apart = {child: labels[child] / self._label_place(parent, child) for parent, child in self.tree.graph.edges}
        return tidy_positions(self.tree, nodes, apart, 8.0 if self.down else 3.0)

    def place(self, node: Hashable) -> tuple[float, float]:
        """Return the coordinates of a node: x to the right and y downwards."""
        along, across = self.along[node], self.across[self.depths[node]]
        return (along, across) if self.down else (across, along)

    def _line(self, parent: Hashable, child: Hashable) -> list[tuple[float, float]]:
        end = (self.along[child], self._target(child))
        return [self.place(parent), end if self.down else end[::-1]]

    def _label_point(self, parent: Hashable, child: Hashable) -> tuple[float, float]:
        (x0, y0), (x1, y1) = self._line(parent, child)
        at = self._label_place(parent, child)
        return x0 + at * (x1 - x0), y0 + at * (y1 - y0)

    def figure(self) -> "Figure":
        """Draw the picture."""
        boxes = [(self.place(node), size) for node, size in self.node_sizes.items()]
        boxes += [(self._label_point(*edge), self.edge_sizes[edge[1]]) for edge in self.tree.graph.edges]
        ends = [(x + sign * width / 2, y + sign * height / 2) for (x, y), (width, height) in boxes for sign in (-1, 1)]
        left, right = min(x for x, _ in ends) - _BORDER, max(x for x, _ in ends) + _BORDER
        top, bottom = min(y for _, y in ends) - _BORDER, max(y for _, y in ends) + _BORDER
        key = self._key()
        lacking = sum(width for _, _, width in key) + 2 * _BORDER - (right - left)
        if lacking > 0:
            left, right = left - lacking / 2, right + lacking / 2
        top -= 1.5 * _NODE_FONT
        figure = blank_figure(((right - left) / 72, (bottom - top) / 72))
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        axes.set(xlim=(left, right), ylim=(bottom, top))
        axes.set_axis_off()
        self._draw_edges(axes)
        self._draw_infosets(axes)
        for node in self.tree.graph:
            self._draw_node(axes, node)
        x = left + _BORDER
        for name, colour, width in key:
            _write(axes, x, top + _BORDER, name, colour, ha="left")
            x += width
        return figure

    def _key(self) -> list[tuple[str, str, float]]:
        """Return the entries of the colour key: names, colours and widths."""
        players = sorted({int(node["player"]) for _, node in self.tree.graph.nodes(data=True) if "player" in node})
        names = [("chance" if player == CHANCE else f"player {player}", colour_of(player)) for player in players]
        return [(name, colour, self._width(name, _NODE_FONT) + 3 * _BLANK) for name, colour in names]

    def _draw_edges(self, axes: Any) -> None:
        from matplotlib.collections import LineCollection

        lines, colours, widths, dashes = [], [], [], []
        for parent, child in self.tree.graph.edges:
            lines.append(self._line(parent, child))
            share = self.shares.get(child)
            colours.append("#999999" if share is None else colour_of(self.tree.graph.nodes[parent]["player"]))
            widths.append(0.8 if share is None else 0.7 + 1.8 * share)
            dashes.append((0, (1, 2)) if share == 0.0 else "solid")
            x, y = self._label_point(parent, child)
            plain = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
            _write(axes, x, y, self.edge_texts[child], "#333333", size=_EDGE_FONT, zorder=3, bbox=plain)
        edges = LineCollection(lines, colors=colours, linewidths=widths, linestyles=dashes, zorder=1)
        axes.add_collection(edges, autolim=False)

    def _draw_infosets(self, axes: Any) -> None:
        from matplotlib.patches import PathPatch
        from matplotlib.path import Path as Curve

        side = 1 if self.down else 0
        for player, one, other, lane in self.arcs:
            ends = [self.place(one), self.place(other)]
            out = max(self.node_sizes[node][side] for node in (one, other)) / 2 + _LANE * (lane + 1)
            # A cubic curve reaches three quarters of the distance to its control points.
            move = (0.0, out / 0.75) if self.down else (out / 0.75, 0.0)
            bent = [(x + move[0], y + move[1]) for x, y in ends]
            curve = Curve([ends[0], *bent, ends[1]], [Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4])
            dashes = {"linestyle": (0, (4, 3)), "linewidth": 0.9}
            axes.add_patch(PathPatch(curve, facecolor="none", edgecolor=colour_of(player), zorder=2, **dashes))

    def _draw_node(self, axes: Any, node: Hashable) -> None:
        x, y = self.place(node)
        texts = self.node_texts[node]
        player = self.tree.graph.nodes[node].get("player")
        if player is not None and player != CHANCE:
            box = {"boxstyle": "round,pad=0.3", "facecolor": "white", "edgecolor": colour_of(player), "linewidth": 1.1}
            _write(axes, x, y, texts[0], colour_of(player), bbox=box)
        elif player is not None:
            axes.plot([x], [y], marker="o", markersize=_DOT, color=colour_of(CHANCE), zorder=4)
        elif self.down:
            for who, text in enumerate(texts):
                _write(axes, x, y + 1.2 * _NODE_FONT * (who - (len(texts) - 1) / 2), text, colour_of(who))
        else:
            x -= self.node_sizes[node][0] / 2 - _BLANK
            for who, text in enumerate(texts):
                _write(axes, x, y, text, colour_of(who), ha="left")
                x += self._width(text, _NODE_FONT) + _BLANK


def _write(axes: Any, x: float, y: float, text: str, colour: str, size: float = _NODE_FONT, **look: Any) -> None:
    """Write text literally: a dollar sign does not start a formula."""
    look = {"ha": "center", "va": "center", "zorder": 4} | look
    axes.text(x, y, text, color=colour, fontsize=size, parse_math=False, **look)


def format_dot(tree: Game | GameTree) -> str:
    """Return a game tree in DOT; ``dot -Tsvg`` draws it.

    Parameters
    ----------
    tree : GameTree or Game

    Returns
    -------
    str
        Decisions are boxes in the player's colour with the infoset's label, chance nodes are diamonds, and leaves show
        the payoffs. Dashed lines join the nodes of an infoset.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.drawing import format_dot
    >>> print(format_dot(load_game("matching_pennies").tree))
    digraph game {
      graph [ordering=out, ranksep=0.6];
      node [shape=box, style=rounded, fontname="Helvetica", fontsize=11, height=0.3, width=0.3];
      edge [arrowhead=none, color="#999999", fontname="Helvetica", fontsize=10];
      n0 [label="_", tooltip="player 0", color="#0072B2", fontcolor="#0072B2"];
      n1 [label="_", tooltip="player 1", color="#D55E00", fontcolor="#D55E00"];
      n2 [label="1, −1", shape=plaintext];
      n3 [label="−1, 1", shape=plaintext];
      n4 [label="_", tooltip="player 1", color="#D55E00", fontcolor="#D55E00"];
      n5 [label="−1, 1", shape=plaintext];
      n6 [label="1, −1", shape=plaintext];
      n0 -> n1 [label="H"];
      n0 -> n4 [label="T"];
      n1 -> n2 [label="H"];
      n1 -> n3 [label="T"];
      n4 -> n5 [label="H"];
      n4 -> n6 [label="T"];
      n1 -> n4 [style=dashed, constraint=false, color="#D55E00"];
    }
    <BLANKLINE>
    """
    tree = tree_to_draw(tree, error=InvalidGameError)
    numbers = {node: number for number, node in enumerate(tree.graph)}
    lines = [
        "digraph game {",
        "  graph [ordering=out, ranksep=0.6];",
        '  node [shape=box, style=rounded, fontname="Helvetica", fontsize=11, height=0.3, width=0.3];',
        '  edge [arrowhead=none, color="#999999", fontname="Helvetica", fontsize=10];',
    ]
    for node, attributes in tree.graph.nodes(data=True):
        who = attributes.get("player")
        if who is None:
            shown = f"label={_quoted(', '.join(map(number_text, tree.payoffs(node))))}, shape=plaintext"
        elif who == CHANCE:
            shown = f'label="", tooltip="chance", shape=diamond, style=solid, color="{CHANCE_COLOUR}"'
        else:
            colour = colour_of(who)
            label = _quoted(label_text(attributes["infoset"]))
            shown = f'label={label}, tooltip="player {who}", color="{colour}", fontcolor="{colour}"'
        lines.append(f"  n{numbers[node]} [{shown}];")
    for source, target, edge in tree.graph.edges(data=True):
        lines.append(f"  n{numbers[source]} -> n{numbers[target]} [label={_quoted(edge_text(edge))}];")
    for (player, _), nodes in infoset_members(tree).items():
        lines.extend(
            f'  n{numbers[one]} -> n{numbers[other]} [style=dashed, constraint=false, color="{colour_of(player)}"];'
            for one, other in itertools.pairwise(nodes)
        )
    return "\n".join([*lines, "}", ""])


def write_dot(tree: Game | GameTree, path: str | Path) -> None:
    """Write a game tree in DOT, atomically; see :func:`format_dot`.

    Raises
    ------
    GameFileError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import write_dot
    >>> write_dot(load_game("matching_pennies"), "pennies.dot")
    >>> Path("pennies.dot").read_text().splitlines()[0]
    'digraph game {'
    """
    write_bytes(path, format_dot(tree).encode(errors="replace"))


def _quoted(text: str) -> str:
    r"""Return a string in quotes for DOT, in which a backslash starts an escape such as ``\n``."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
