"""Game trees as GraphML, the XML format of yEd, Gephi, networkx and others.

Attributes and their meaning are those of :mod:`~treeplex.seqform.interchange.node_link`. GraphML has strings, integers,
floats and booleans, each declared with its type. Such values are written directly, and all others as ``json:`` followed
by their JSON (:mod:`~treeplex.seqform.interchange.encoding`): ``json:["bet", 2]``. Strings that begin with ``json:`` or
contain characters that XML does not allow are written in this way too. Payoffs are strings, ``[1, -1]``, and so are
exact probabilities, ``1/3``.

.. code-block:: text

    <node id="1"><data key="player">0</data><data key="infoset">J_</data></node>
    <node id="5"><data key="payoffs">[1, -1]</data></node>
    <edge source="0" target="1"><data key="action">JQ</data><data key="prob">1/6</data></edge>

Node ids are strings in GraphML. An id that is a decimal integer of up to 18 digits is read as an integer.

Files that ``networkx.write_graphml`` writes for such graphs can be read too. GraphML has no tuples, so payoffs must be
converted to strings first: ``1, -1``, ``(1, -1)`` and ``[1, -1]`` are all accepted.
"""

import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from ..errors import GameFileError, shown
from ..game import Game, tree_of
from ..game_tree import DiGraph, GameTree
from ..number_texts import read_float
from .encoding import decode, encode, from_json, to_json
from .files import GRAPH_EXPANSION, naming, read_bytes, write_bytes
from .graphml_reader import Element, GraphmlReader, Key
from .node_link import (
    EDGE_ATTRIBUTES,
    GRAPH_TEXTS,
    NODE_ATTRIBUTES,
    NODE_TEXTS,
    GraphBuilder,
    description,
    encoded_edges,
    encoded_nodes,
    texts,
)

# Tab and line feed are the only control characters that an XML parser returns unchanged.
_NOT_IN_XML = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 2**63

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
"""


def write_graphml(tree: GameTree | Game, path: str | Path) -> None:
    """Write a game tree as GraphML, atomically.

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
    >>> from treeplex.seqform.interchange.graphml import read_graphml, write_graphml
    >>> write_graphml(load_game("kuhn").tree, "kuhn.graphml")
    >>> read_graphml("kuhn.graphml")
    GameTree(num_players=2, num_nodes=58)
    """
    write_bytes(path, format_graphml(tree).encode())


def format_graphml(tree: GameTree | Game) -> str:
    """Return a game tree as GraphML, one line per node and per edge; for errors see :func:`write_graphml`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import format_graphml
    >>> format_graphml(load_game("matching_pennies").tree).count("<node ")
    7
    """
    tree = tree_of(tree)
    keys: dict[tuple[str, str, str], str] = {}
    nodes = [
        f"  <node id={_identifier(node)}>{_data('node', encoded, keys)}</node>" for node, encoded in encoded_nodes(tree)
    ]
    edges = [
        f"  <edge source={_identifier(source)} target={_identifier(target)}>{_data('edge', encoded, keys)}</edge>"
        for source, target, encoded in encoded_edges(tree)
    ]
    about = _data("graph", description(tree.graph.graph), keys)
    declared = [
        f'<key id="{identifier}" for="{domain}" attr.name="{name}" attr.type="{kind}"/>'
        for (domain, name, kind), identifier in sorted(keys.items())
    ]
    lines = [*declared, f'<graph edgedefault="directed">{about}', *nodes, *edges, "</graph>", "</graphml>", ""]
    return _HEAD + "\n".join(lines)


def _data(domain: str, encoded: dict[str, Any], keys: dict[tuple[str, str, str], str]) -> str:
    """Write the attributes of a node, an edge or the graph, and record the keys to declare."""
    parts = []
    for name, value in encoded.items():
        kind, text = _typed(to_json(value) if name == "payoffs" else value)
        # Strings are the most frequent type, and players are always integers: these get the plain name.
        identifier = name if kind == "string" or name == "player" else f"{name}_{kind}"
        keys[domain, name, kind] = identifier
        parts.append(f'<data key="{identifier}">{escape(text)}</data>')
    return "".join(parts)


def _typed(value: Any) -> tuple[str, str]:
    """Return the GraphML type and the text of an encoded value."""
    if isinstance(value, bool):
        return "boolean", str(value).lower()
    if isinstance(value, int) and -_LONGEST <= value < _LONGEST:
        return "long", str(value)
    if isinstance(value, float):
        return "double", repr(value)
    return "string", _text(value)


def _text(value: Any) -> str:
    if isinstance(value, str) and not value.startswith(JSON) and not _NOT_IN_XML.search(value):
        return value
    return _json_text(value)


def _json_text(encoded: Any) -> str:
    """Return ``json:`` and the JSON of an encoded value; characters that XML does not allow are escaped."""
    return JSON + _NOT_IN_XML.sub(lambda found: f"\\u{ord(found[0]):04x}", to_json(encoded))


def _identifier(node: Hashable) -> str:
    encoded = encode(node)
    if type(encoded) is int and INTEGER.fullmatch(str(encoded)):
        return f'"{encoded}"'
    if isinstance(encoded, str) and not INTEGER.fullmatch(encoded):
        return quoteattr(_text(encoded), {"\n": "&#10;", "\t": "&#9;"})
    return quoteattr(_json_text(encoded))


def read_graphml(path: str | Path) -> GameTree:
    """Read a game tree from GraphML.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    GameTree

    Raises
    ------
    GameFileError
        If there is no such file, it is larger than :data:`~treeplex.seqform.interchange.files.MAX_BYTES`, has a
        document type, or is not a game tree in GraphML; with line and column if they are known.
    GameTooLargeError
        If it may take more memory than the budget for building a game.
    InvalidGameError, ImperfectRecallError
        If the graph is not a game; see :class:`~treeplex.seqform.game_tree.GameTree`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import read_graphml, write_graphml
    >>> write_graphml(load_game("kuhn").tree, "kuhn.graphml")
    >>> read_graphml("kuhn.graphml")
    GameTree(num_players=2, num_nodes=58)
    """
    with naming(path):
        return parse_graphml(read_bytes(path, GRAPH_EXPANSION))


def parse_graphml(text: str | bytes) -> GameTree:
    """Read a game tree from the content of a GraphML file; for errors see :func:`read_graphml`.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import format_graphml, parse_graphml
    >>> parse_graphml(format_graphml(load_game("kuhn").tree))
    GameTree(num_players=2, num_nodes=58)
    """
    return GameTree(_TreeReader().read(text))


#: The beginning of a string that contains JSON.
JSON = "json:"
#: The pattern of node ids that are read as integers.
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")

_TYPES = ("boolean", "int", "long", "float", "double", "string")
#: Decoders of the attributes that belong to a game; titles and names have no decoder.
_DECODERS: dict[str, dict[str, Callable[[Any], Any] | None]] = {
    "graph": dict.fromkeys((*GRAPH_TEXTS, "players")),
    "node": dict.fromkeys(NODE_TEXTS) | {name: decode for name, (_, decode) in NODE_ATTRIBUTES.items()},
    "edge": {name: decode for name, (_, decode) in EDGE_ATTRIBUTES.items()},
}


class _TreeReader(GraphmlReader):
    """Reads the nodes and the edges of a game tree."""

    def read(self, text: str | bytes) -> DiGraph:
        self.parse(text)
        builder = GraphBuilder(self.elements["graph"][0].values)
        for node in self.elements["node"]:
            (label,) = node.ids
            known = {name: value for name, value in node.values.items() if name not in NODE_TEXTS}
            builder.add_node(label, known | texts(node.values, NODE_TEXTS), "<node>", node.line)
        for edge in self.elements["edge"]:
            source, target = edge.ids
            builder.add_edge(source, target, edge.values, "<edge>", edge.line)
        return builder.graph

    def check(self, parent: str, tag: str, attributes: dict[str, str]) -> None:
        if tag in ("hyperedge", "port", "endpoint") or (tag == "graph" and parent != "graphml"):
            raise GameFileError(f"<{tag}> within <{parent}> is not part of a game tree")
        if tag == "graph" and self.elements["graph"]:
            raise GameFileError("found a second <graph>, expected only one")
        if tag == "graph" and attributes.get("edgedefault", "directed") != "directed":
            raise GameFileError(f"edgedefault is {shown(attributes['edgedefault'])}, expected 'directed'")
        if tag == "edge" and parent == "graph" and attributes.get("directed", "true") != "true":
            raise GameFileError("<edge> is not directed, expected a directed edge")

    def declare(self, key: Key) -> Key | None:
        if key.kind not in _TYPES:
            raise GameFileError(
                f"<key> of {shown(key.name)} has type {shown(key.kind)}, expected one of {', '.join(_TYPES)}"
            )
        return key if any(key.name in decoders for decoders in _DECODERS.values()) else None

    def identify(self, text: str) -> Hashable:
        if text.startswith(JSON):
            return decode(from_json(text[len(JSON) :]))
        return int(text) if INTEGER.fullmatch(text) else text

    def take(self, element: Element, key: Key, text: str) -> None:
        decoders = _DECODERS[element.tag]
        if key.name not in decoders:
            return
        if key.name in element.values:
            raise GameFileError(f"<{element.tag}> has the attribute {key.name!r} twice")
        element.values[key.name] = _read_value(key, text, decoders[key.name])


def _read_value(key: Key, text: str, decoder: Callable[[Any], Any] | None) -> Any:
    try:
        value = _untyped(key.kind, text)
        if key.name == "player" and isinstance(value, str) and INTEGER.fullmatch(value.strip()):
            value = int(value)
        return value if decoder is None else decoder(value)
    except GameFileError as error:
        raise GameFileError(f"{key.name}: {error}") from None


def _untyped(kind: str, text: str) -> Any:
    """Return the value of a string of a GraphML type, encoded as in JSON."""
    if kind == "string":
        return from_json(text[len(JSON) :]) if text.startswith(JSON) else text
    plain = text.strip()
    try:
        if kind == "boolean":
            return {"true": True, "false": False, "1": True, "0": False}[plain.lower()]
        return int(plain) if kind in ("int", "long") else read_float(plain)
    except (KeyError, ValueError):
        raise GameFileError(f"{shown(text)} is not a valid {kind}") from None
