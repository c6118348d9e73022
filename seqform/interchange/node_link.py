"""Game trees as node-link JSON, the format of networkx, d3 and others.

.. code-block:: text

    {"directed": true, "multigraph": false, "graph": {"format": "treeplex game", "version": 1},
    "nodes": [
    {"id": 0, "player": -1},
    {"id": 1, "player": 0, "infoset": "J_"},
    …
    {"id": 5, "payoffs": [1, -1]}],
    "edges": [
    {"source": 0, "target": 1, "action": "JQ", "prob": "1/6"},
    …]}

Nodes have ``player`` and ``infoset``, or ``payoffs``, and optionally ``public``. Edges have ``action`` and, below a
chance node, ``prob``. Labels and numbers are encoded as in :mod:`~treeplex.seqform.interchange.encoding`. The order of
the edges of a node is the order of its actions. As in ``.efg`` files, a node may have the strings ``name`` and
``outcome``, and the graph ``title``, ``comment`` and ``players``, the players' names. All other attributes are ignored.

The output of ``networkx.node_link_data`` for such graphs can be read too. Its edges are under ``edges`` or, in older
releases, ``links``; its tuples are arrays, and exact fractions must be strings.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping
from pathlib import Path
from typing import Any

import networkx as nx

from ..errors import GameFileError, shown
from ..game import Game, tree_of
from ..game_tree import DiGraph, GameTree
from ..labels import is_same_label
from .encoding import MAX_ALIKE, decode, decode_number, decode_payoffs, encode, encode_number, from_json, to_json
from .files import GRAPH_EXPANSION, naming, read_bytes, write_bytes

_FORMAT, _VERSION = "treeplex game", 1


def _encode_payoffs(payoffs: Any) -> list[Any]:
    return [encode_number(number) for number in payoffs]


#: The attributes that belong to the game, in the order in which files have them, and how each is written and read.
NODE_ATTRIBUTES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "player": (int, lambda player: player),  # GameTree checks it
    "infoset": (encode, decode),
    "payoffs": (_encode_payoffs, decode_payoffs),
    "public": (encode, decode),
}
EDGE_ATTRIBUTES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "action": (encode, decode),
    "prob": (encode_number, decode_number),
}
#: Strings that name or describe a node or the graph; values that are not strings are omitted.
NODE_TEXTS, GRAPH_TEXTS = ("name", "outcome"), ("title", "comment")


def write_json(tree: GameTree | Game, path: str | Path) -> None:
    """Write a game tree as node-link JSON, atomically.

    Parameters
    ----------
    tree : GameTree or Game
    path : path-like

    Raises
    ------
    InvalidGameError
        If a label contains anything but strings, numbers, ``True``, ``False``, ``None``, tuples and frozensets.
    GameFileError
        If the file cannot be written.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange.node_link import read_json, write_json
    >>> write_json(load_game("kuhn").tree, "kuhn.json")
    >>> read_json("kuhn.json")
    GameTree(num_players=2, num_nodes=58)
    """
    write_bytes(path, format_json(tree).encode())


def format_json(tree: GameTree | Game) -> str:
    """Return a game tree as node-link JSON, one line per node and per edge; for errors see :func:`write_json`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import format_json
    >>> format_json(load_game("matching_pennies").tree)[:34]
    '{"directed": true, "multigraph": f'
    """
    tree = tree_of(tree)
    about = to_json({"format": _FORMAT, "version": _VERSION} | description(tree.graph.graph))
    nodes = ",\n".join(to_json({"id": encode(node)} | encoded) for node, encoded in encoded_nodes(tree))
    edges = ",\n".join(
        to_json({"source": encode(source), "target": encode(target)} | encoded)
        for source, target, encoded in encoded_edges(tree)
    )
    return (
        f'{{"directed": true, "multigraph": false, "graph": {about},\n"nodes": [\n{nodes}],\n"edges": [\n{edges}]}}\n'
    )


def encoded_nodes(tree: GameTree) -> Iterator[tuple[Hashable, dict[str, Any]]]:
    """Yield the nodes of a tree in order, each with the attributes that belong to the game, encoded."""
    for node, attributes in tree.graph.nodes(data=True):
        yield node, _encoded(attributes, NODE_ATTRIBUTES) | texts(attributes, NODE_TEXTS)


def encoded_edges(tree: GameTree) -> Iterator[tuple[Hashable, Hashable, dict[str, Any]]]:
    """Yield the edges of a tree, grouped by node in the order of its actions, with their attributes encoded."""
    for source, target, attributes in tree.graph.edges(data=True):
        yield source, target, _encoded(attributes, EDGE_ATTRIBUTES)


def description(about: Any) -> dict[str, Any]:
    """Return a graph's attributes that describe the game: title, comment and, as a tuple, the players' names."""
    if not isinstance(about, Mapping):
        return {}
    found: dict[str, Any] = texts(about, GRAPH_TEXTS)
    names = about.get("players")
    if isinstance(names, list | tuple) and names and all(type(name) is str for name in names):
        found["players"] = tuple(map(encode, names))
    return found


def texts(attributes: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, str]:
    """Return the attributes with the given names whose values are non-empty strings."""
    return {name: encode(attributes[name]) for name in names if type(attributes.get(name)) is str and attributes[name]}


def _encoded(attributes: dict[str, Any], known: Any) -> dict[str, Any]:
    return {name: write(attributes[name]) for name, (write, _) in known.items() if name in attributes}


def read_json(path: str | Path) -> GameTree:
    """Read a game tree from node-link JSON.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    GameTree

    Raises
    ------
    GameFileError
        If there is no such file, it is larger than :data:`~treeplex.seqform.interchange.files.MAX_BYTES`, or it is not
        a game tree in node-link JSON; with line and column if they are known.
    GameTooLargeError
        If it may need more memory than the budget for building a game.
    InvalidGameError, ImperfectRecallError
        If the graph is not a game; see :class:`~treeplex.seqform.game_tree.GameTree`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import read_json, write_json
    >>> write_json(load_game("kuhn").tree, "kuhn.json")
    >>> read_json("kuhn.json")
    GameTree(num_players=2, num_nodes=58)
    """
    with naming(path):
        return parse_json(read_bytes(path, GRAPH_EXPANSION))


def parse_json(text: str | bytes) -> GameTree:
    """Read a game tree from the content of a node-link JSON file; for errors see :func:`read_json`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import format_json, parse_json
    >>> parse_json(format_json(load_game("kuhn").tree))
    GameTree(num_players=2, num_nodes=58)
    """
    data = from_json(text)
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list):
        raise GameFileError("not a node-link graph: expected an object with arrays 'nodes' and 'edges'")
    edges = data.get("edges", data.get("links"))
    if not isinstance(edges, list):
        raise GameFileError("not a node-link graph: the array 'edges' is missing")
    if data.get("directed", True) is not True or data.get("multigraph", False) is not False:
        raise GameFileError("not a tree: expected a directed graph that is not a multigraph")
    about = data.get("graph")
    if isinstance(about, dict) and about.get("format") == _FORMAT and about.get("version") != _VERSION:
        raise GameFileError(f"the format has version {shown(about.get('version'))}, expected {_VERSION}")
    builder = GraphBuilder(about)
    for number, node in enumerate(data["nodes"]):
        where = f"nodes[{number}]"
        if not isinstance(node, dict) or "id" not in node:
            raise GameFileError(f"{where} is {shown(node)}, expected an object with the key 'id'")
        attributes = _attributes(node, NODE_ATTRIBUTES, where) | texts(node, NODE_TEXTS)
        builder.add_node(_decoded(node["id"], decode, where, "id"), attributes, where)
    for number, edge in enumerate(edges):
        where = f"edges[{number}]"
        if not isinstance(edge, dict) or "source" not in edge or "target" not in edge:
            raise GameFileError(f"{where} is {shown(edge)}, expected an object with the keys 'source' and 'target'")
        source, target = (_decoded(edge[name], decode, where, name) for name in ("source", "target"))
        builder.add_edge(source, target, _attributes(edge, EDGE_ATTRIBUTES, where), where)
    return GameTree(builder.graph)


class GraphBuilder:
    """A graph that is built from a file, node by node and edge by edge.

    Parameters
    ----------
    about : Any
        The file's attributes of the graph as a whole; see :func:`description`.
    """

    def __init__(self, about: Any) -> None:
        self.graph: DiGraph = nx.DiGraph(**description(about))
        self._nodes: dict[Hashable, Hashable] = {}
        self._first: dict[int, Hashable] = {}  # by hash: the first label that has it
        self._alike: dict[int, list[Hashable]] = {}  # by hash: the other labels

    def add_node(self, node: Hashable, attributes: dict[str, Any], where: str, line: int | None = None) -> None:
        """Add a node from a file; raise an error if it exists already."""
        if node is None:  # networkx does not accept None
            raise GameFileError(f"{where}: the id of a node is null", line)
        for label in (node, attributes.get("infoset"), attributes.get("public")):
            self._check_hash(label, where, line)
        if node in self.graph:
            raise GameFileError(f"{where}: there are two nodes {shown(node)}", line)
        self._nodes[node] = node
        self.graph.add_node(node, **attributes)

    def add_edge(
        self, source: Hashable, target: Hashable, attributes: dict[str, Any], where: str, line: int | None = None
    ) -> None:
        """Add an edge from a file; raise an error if it exists already or joins an unknown node."""
        self._check_hash(attributes.get("action"), where, line)
        for node in (source, target):
            known = self._nodes.get(node)
            if known is None or (known is not node and not is_same_label(node, known)):
                raise GameFileError(f"{where}: there is no node {shown(node)}", line)
        if self.graph.has_edge(source, target):
            raise GameFileError(f"{where}: there are two edges from {shown(source)} to {shown(target)}", line)
        self.graph.add_edge(source, target, **attributes)

    def _check_hash(self, label: Hashable, where: str, line: int | None) -> None:
        """Raise an error if too many labels share a hash; strings and small integers cannot be made to share one."""
        kind = type(label)
        if label is None or kind is str or (kind is int and label.bit_length() <= 60):  # type: ignore[attr-defined]
            return
        if self._first.setdefault(hash(label), label) == label:
            return
        alike = self._alike.setdefault(hash(label), [])
        if label not in alike:
            alike.append(label)
            if len(alike) >= MAX_ALIKE:
                raise GameFileError(
                    f"{where}: {shown(label, 40)} has the same hash as {MAX_ALIKE} other labels, which makes look-ups "
                    "slow; expected strings or small integers",
                    line,
                )


def _attributes(record: dict[str, Any], known: Any, where: str) -> dict[str, Any]:
    return {name: _decoded(record[name], read, where, name) for name, (_, read) in known.items() if name in record}


def _decoded(data: Any, read: Callable[[Any], Any], where: str, name: str) -> Any:
    try:
        return read(data)
    except GameFileError as error:
        raise GameFileError(f"{where}, {name}: {error}") from None
