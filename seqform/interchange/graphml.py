"""Game trees as GraphML, the XML format of yEd, Gephi, networkx and others.

Attributes and their meaning are those of :mod:`~treeplex.seqform.interchange.node_link`. GraphML has texts, integers,
floats and booleans, each declared with its type; these are written as they are, and anything else as ``json:`` followed
by its JSON (:mod:`~treeplex.seqform.interchange.encoding`): ``json:["bet", 2]``. Texts that begin with ``json:``, or
hold characters that XML does not have, are written so too. Payoffs are text, ``[1, -1]``; exact probabilities are text,
``1/3``.

.. code-block:: text

    <node id="1"><data key="player">0</data><data key="infoset">J_</data></node>
    <node id="5"><data key="payoffs">[1, -1]</data></node>
    <edge source="0" target="1"><data key="action">JQ</data><data key="prob">1/6</data></edge>

The id of a node is text in GraphML: one that is a decimal integer of up to 18 digits is read as an integer.

What ``networkx.write_graphml`` makes of a graph with these attributes is read too. GraphML has no tuples, so payoffs
must be made text first: ``1, -1``, ``(1, -1)`` and ``[1, -1]`` are all read.

Files are not trusted: document types, and with them entities, are refused.
"""

import re
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from ..checks import read_float
from ..errors import GameFileError, one_line, shown
from ..game import Game, tree_of
from ..game_tree import DiGraph, GameTree
from .encoding import decode, encode, from_json, to_json
from .files import check_memory, naming, read_bytes, write_bytes
from .node_link import (
    EDGE_ATTRIBUTES,
    EXPANSION,
    GRAPH_TEXTS,
    NODE_ATTRIBUTES,
    NODE_TEXTS,
    GraphBuilder,
    description,
    encoded_edges,
    encoded_nodes,
    texts,
)

# Tab and line feed are the control characters that XML gives back as they are.
_NOT_IN_XML = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 2**63

_HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
"""


def write_graphml(tree: GameTree | Game, path: str | Path) -> None:
    """Write a game tree as GraphML, whole or not at all.

    Parameters
    ----------
    tree : GameTree or Game
    path : path-like

    Raises
    ------
    InvalidGameError
        If a label is built of anything but text, numbers, ``True``, ``False``, ``None``, tuples and frozensets.
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
    """Return a game tree as GraphML, a line per node and a line per edge; errors as :func:`write_graphml`.

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
    """Write the attributes of a node, an edge or the graph, and note the keys to declare."""
    parts = []
    for name, value in encoded.items():
        kind, text = _typed(to_json(value) if name == "payoffs" else value)
        # Text is the commonest type, and players are always integers: these have the plain name.
        identifier = name if kind == "string" or name == "player" else f"{name}_{kind}"
        keys[domain, name, kind] = identifier
        parts.append(f'<data key="{identifier}">{escape(text)}</data>')
    return "".join(parts)


def _typed(value: Any) -> tuple[str, str]:
    """Return GraphML's type and the text of an encoded value."""
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
    """Return ``json:`` and the JSON of an encoded value, what XML does not have in it escaped as JSON does."""
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
        document type, or is not of the format; with line and column where they are known.
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
        return parse_graphml(read_bytes(path, EXPANSION))


def parse_graphml(text: str | bytes) -> GameTree:
    """Read a game tree from the text of GraphML; errors as :func:`read_graphml`, without the file's name.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import format_graphml, parse_graphml
    >>> parse_graphml(format_graphml(load_game("kuhn").tree))
    GameTree(num_players=2, num_nodes=58)
    """
    return GameTree(ElementReader().read(text))


#: What begins a text that is JSON.
JSON = "json:"
#: Node ids that are read as integers.
INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# Nothing in GraphML is nested deeper, except what other programs add to it.
_MAX_DEPTH = 200


# What stands within what, and the attributes that each element needs. Others are other programs' own.
_INSIDE = {
    "": ("graphml",),
    "graphml": ("key", "graph"),
    "key": ("default",),
    "graph": ("data", "node", "edge"),
    "node": ("data",),
    "edge": ("data",),
}
_NEEDED = {"key": ("id",), "node": ("id",), "edge": ("source", "target"), "data": ("key",)}
_READERS = {"node": NODE_ATTRIBUTES, "edge": EDGE_ATTRIBUTES}


class ElementReader:
    """Collects nodes and edges while expat goes through the text; nothing is nested in memory."""

    def __init__(self) -> None:
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._located(self._start)
        self.parser.EndElementHandler = self._located(self._end)
        self.parser.StartDoctypeDeclHandler = self._located(self._refuse_doctype)
        #: By identifier: "node", "edge" or "all", name and type of the attribute.
        self.keys: dict[str, tuple[str, str, str]] = {}
        self.defaults: dict[str, str] = {}
        self.about: dict[str, Any] = {}
        #: Nodes and edges, by their tags: their ids, attributes and lines.
        self.found: dict[str, list[tuple[list[Hashable], dict[str, Any], int]]] = {"node": [], "edge": []}
        self.depth = 0
        self.graphs = 0
        self.open: list[str] = []  # graphml, graph, node or edge, data
        self.skipped = 0  # depth within an element that is not part of the game
        self.key = ""
        self.text: list[str] = []

    def read(self, text: str | bytes) -> DiGraph:
        """Return the graph that a text holds.

        Raises
        ------
        GameFileError
        """
        try:
            self.parser.Parse(text, True)
        except expat.ExpatError as error:
            raise GameFileError(
                f"not XML: {one_line(expat.ErrorString(error.code))}", error.lineno, error.offset + 1
            ) from None
        except GameFileError:
            raise
        except (ValueError, LookupError) as error:  # an encoding that Python does not have, a surrogate
            raise GameFileError(f"not XML: {one_line(str(error))}") from None
        if not self.graphs:
            raise GameFileError("not GraphML: the element <graph> is missing")
        builder = GraphBuilder(self.about)
        for tag in self.found:
            self._add_defaults(tag)
        for (node,), attributes, line in self.found["node"]:
            builder.add_node(node, attributes, "<node>", line)
        for (source, target), attributes, line in self.found["edge"]:
            builder.add_edge(source, target, attributes, "<edge>", line)
        return builder.graph

    def _located(self, handler: Callable[..., None]) -> Callable[..., None]:
        """Let what a handler refuses say where; once it has returned, the parser is further on."""

        def handle(*arguments: Any) -> None:
            try:
                handler(*arguments)
            except GameFileError as error:
                line, column = self.parser.CurrentLineNumber, self.parser.CurrentColumnNumber + 1
                raise GameFileError(str(error), line, column) from None

        return handle

    def _refuse_doctype(self, *_: Any) -> None:
        raise GameFileError("a document type (<!DOCTYPE …>) is refused, since it may define entities; take it out")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise GameFileError(f"elements are nested more than {_MAX_DEPTH} deep")
        tag = name.rpartition(" ")[2]
        parent = self.open[-1] if self.open else ""
        if self.skipped or (parent in ("node", "edge", "graph", "graphml") and tag in ("desc", "locator")):
            self.skipped += 1
            return
        if tag not in _INSIDE.get(parent, ()):
            if tag in ("hyperedge", "port", "endpoint", "graph"):
                raise GameFileError(f"<{tag}> within <{parent}> is not part of a game tree")
            if not parent:
                raise GameFileError(f"not GraphML: the outermost element is <{one_line(tag, 40)}>, expected <graphml>")
            self.skipped = 1  # other programs' own elements
            return
        self.open.append(tag)
        needed = _NEEDED.get(tag, ())
        for name in needed:
            if name not in attributes:
                raise GameFileError(f"<{tag}> without the attribute {name!r}")
        if tag == "key":
            self._declare(attributes)
        elif tag == "graph":
            self.graphs += 1
            if self.graphs > 1:
                raise GameFileError("a second <graph>: expected one")
            if attributes.get("edgedefault", "directed") != "directed":
                raise GameFileError(f"edges are {shown(attributes['edgedefault'])}, expected 'directed'")
        elif tag in self.found:
            if tag == "edge" and attributes.get("directed", "true") != "true":
                raise GameFileError("<edge> is not directed, expected directed ones")
            ids = [_node(attributes[name]) for name in needed]
            self.found[tag].append((ids, {}, self.parser.CurrentLineNumber))
        elif tag in ("data", "default"):
            if tag == "data":
                self.key = attributes["key"]
            self.text = []
            self.parser.CharacterDataHandler = self.text.append

    def _end(self, name: str) -> None:
        self.depth -= 1
        if self.skipped:
            self.skipped -= 1
            return
        tag = self.open.pop()
        if tag in ("data", "default"):
            self.parser.CharacterDataHandler = None
            self._value("".join(self.text))

    def _declare(self, attributes: dict[str, str]) -> None:
        self.key = attributes["id"]
        name = attributes.get("attr.name")
        if name is not None:
            domain, kind = attributes.get("for", "all"), attributes.get("attr.type", "string")
            if kind not in _TYPES:
                raise GameFileError(
                    f"<key> of {shown(name)} has type {shown(kind)}, expected one of {', '.join(_TYPES)}"
                )
            if self.key in self.keys:
                raise GameFileError(f"two elements <key> have the id {shown(self.key)}")
            self.keys[self.key] = (domain, name, kind)

    def _value(self, text: str) -> None:
        """Take what a ``<data>`` or a ``<default>`` says."""
        owner = self.open[-1]
        if owner == "key":
            if self.key in self.keys:
                self.defaults[self.key] = text
            return
        known = self.keys.get(self.key)
        if known is None:  # graphics of yEd
            return
        _, name, kind = known
        if owner == "graph":
            if name in (*GRAPH_TEXTS, "players"):
                self.about[name] = _untyped(kind, text)
            return
        values, readers = self.found[owner][-1][1], _READERS[owner]
        if name in readers:
            if name in values:
                raise GameFileError(f"<{owner}> has the attribute {name!r} twice")
            values[name] = _read_value(name, kind, text, readers)
        elif owner == "node" and name in NODE_TEXTS:
            values |= texts({name: _untyped(kind, text)}, NODE_TEXTS)

    def _add_defaults(self, owner: str) -> None:
        """Give nodes or edges the defaults of the attributes that they do not have."""
        readers = _READERS[owner]
        first: dict[str, tuple[str, str]] = {}  # the first of several keys of one name counts
        for key, text in self.defaults.items():
            domain, name, kind = self.keys[key]
            if domain in (owner, "all") and name in readers:
                first.setdefault(name, (kind, text))
        expanded = 0
        for name, (kind, text) in first.items():
            lacking = [values for _, values, _ in self.found[owner] if name not in values]
            expanded += len(text) * len(lacking)
            check_memory(expanded * EXPANSION)  # a default of a megabyte for a million nodes is a trap
            value = _read_value(name, kind, text, readers) if lacking else None
            for values in lacking:
                values[name] = value


_TYPES = ("boolean", "int", "long", "float", "double", "string")


def _node(text: str) -> Hashable:
    if text.startswith(JSON):
        return decode(from_json(text[len(JSON) :]))
    return int(text) if INTEGER.fullmatch(text) else text


def _read_value(name: str, kind: str, text: str, readers: Any) -> Any:
    try:
        value = _untyped(kind, text)
        if name == "player" and isinstance(value, str) and INTEGER.fullmatch(value.strip()):
            value = int(value)
        read = readers[name][1]
        return read(value)
    except GameFileError as error:
        raise GameFileError(f"{name}: {error}") from None


def _untyped(kind: str, text: str) -> Any:
    """Return what a text of a GraphML type says, encoded as in JSON."""
    if kind == "string":
        return from_json(text[len(JSON) :]) if text.startswith(JSON) else text
    plain = text.strip()
    try:
        if kind == "boolean":
            return {"true": True, "false": False, "1": True, "0": False}[plain.lower()]
        return int(plain) if kind in ("int", "long") else read_float(plain)
    except (KeyError, ValueError):
        raise GameFileError(f"{shown(text)} is not a valid {kind}") from None
