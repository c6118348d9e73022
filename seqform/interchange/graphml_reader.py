"""A reader that collects the elements of GraphML with expat, the base of the readers of games and of maps.

The reader does not trust files: it rejects document types and therefore entities.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from xml.parsers import expat

from ..errors import GameFileError, one_line, shown
from .files import GRAPH_EXPANSION, check_memory

# GraphML itself is not nested deeper; other programs' additions may be.
_MAX_DEPTH = 200
# The allowed parents of each element, and the attributes that it needs. Other elements belong to other programs or
# carry no data that is read, such as <desc>.
_INSIDE = {
    "": ("graphml",),
    "graphml": ("key", "graph"),
    "key": ("default",),
    "graph": ("data", "node", "edge"),
    "node": ("data", "graph"),
    "edge": ("data", "graph"),
}
# Elements of GraphML that are rejected anywhere else, so that no data is lost.
_PLACED = ("key", "default", "graph", "node", "edge")
_NEEDED = {"node": ("id",), "edge": ("source", "target"), "key": ("id",), "data": ("key",)}


class Key(NamedTuple):
    """An attribute that a ``<key>`` declares: its name and its type."""

    name: str
    kind: str


@dataclass(slots=True)
class Element:
    """A ``<graph>``, ``<node>`` or ``<edge>`` element.

    Attributes
    ----------
    tag : str
    ids : tuple
        The id of a node, or the source and the target of an edge.
    directed : bool
        Whether an edge is directed; for a graph, the default for its edges.
    line : int
        The line on which the element begins.
    values : dict of str to object
        The values of its attributes, by name.
    """

    tag: str
    ids: tuple[Hashable, ...]
    directed: bool
    line: int
    values: dict[str, Any] = field(default_factory=dict)


class GraphmlReader:
    """Collects graphs, nodes and edges. Nested elements are not stored as a tree.

    A subclass overrides methods to define what it reads and rejects. Errors from these methods get the line and column.

    Attributes
    ----------
    elements : dict of str to list of Element
        Lists of elements by tag, in the order of the file.
    drawing : collection of str
        Tags of other programs' elements that :meth:`draw` reads. They occur within ``<data>``.
    """

    drawing: Collection[str] = ()

    def __init__(self) -> None:
        self.elements: dict[str, list[Element]] = {"graph": [], "node": [], "edge": []}
        self._keys: dict[str, Key | None] = {}
        self._defaults: list[tuple[str, Key, str]] = []  # each with the tag that it applies to
        self._open: list[str] = []  # tags of the open elements
        self._owners: list[Element] = []  # the open elements
        self._foreign: list[tuple[str, dict[str, str], list[str]]] = []  # other programs' open elements, with text
        self._namespace = self._key = self._domain = ""
        self._text: list[str] = []
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._located(self._start)
        self._parser.EndElementHandler = self._located(self._end)
        self._parser.StartDoctypeDeclHandler = self._located(self._refuse_doctype)

    def check(self, parent: str, tag: str, attributes: dict[str, str]) -> None:
        """Raise an error for an element that GraphML allows but the subclass does not."""

    def declare(self, key: Key) -> Key | None:
        """Return a declared attribute as the subclass reads it, or ``None`` to ignore it; or raise an error."""
        return key

    def identify(self, text: str) -> Hashable:
        """Return the node with an id."""
        return text

    def take(self, element: Element, key: Key, text: str) -> None:
        """Add the value of an attribute to those of an element, unless the attribute is ignored."""
        raise NotImplementedError

    def draw(self, element: Element, tag: str, attributes: dict[str, str], text: str) -> None:
        """Read an element of :attr:`drawing` that belongs to another element."""

    def parse(self, content: str | bytes) -> None:
        """Collect the elements of a document.

        Raises
        ------
        GameFileError
            If it is not GraphML, or a subclass rejects it; with line and column.
        GameTooLargeError
            If the defaults of attributes may take more memory than the budget for building a game.
        """
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            reason = one_line(expat.ErrorString(error.code))
            raise GameFileError(f"not XML: {reason}", error.lineno, error.offset + 1) from None
        except GameFileError:
            raise
        except (ValueError, LookupError) as error:  # an encoding that Python does not support, or a surrogate
            raise GameFileError(f"not XML: {one_line(str(error))}") from None
        if not self.elements["graph"]:
            raise GameFileError("not GraphML: the element <graph> is missing")
        self._add_defaults()

    def _located(self, handler: Callable[..., None]) -> Callable[..., None]:
        """Add line and column to the errors of a handler while the parser is still at that position."""

        def handle(*arguments: Any) -> None:
            try:
                handler(*arguments)
            except GameFileError as error:
                line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
                raise GameFileError(str(error), line, column) from None

        return handle

    def _refuse_doctype(self, *_: Any) -> None:
        raise GameFileError("a document type (<!DOCTYPE …>) is not allowed, because it may define entities; remove it")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._open) + len(self._foreign) >= _MAX_DEPTH:
            raise GameFileError(f"elements are nested more than {_MAX_DEPTH} levels deep")
        namespace, _, tag = name.rpartition(" ")
        parent = self._open[-1] if self._open else ""
        if not parent:
            self._namespace = namespace
            if tag != "graphml":
                raise GameFileError(f"not GraphML: the outermost element is <{one_line(tag, 40)}>, expected <graphml>")
        if not self._foreign:
            self.check(parent, tag, attributes)
        if self._foreign or tag not in _INSIDE.get(parent, ()):
            markup = parent in ("data", "default") and self._keys.get(self._key) is not None
            if namespace == self._namespace and (tag in _PLACED or markup):
                within = self._foreign[-1][0] if self._foreign else parent
                raise GameFileError(f"<{one_line(tag, 40)}> within <{one_line(within, 40)}> is not allowed there")
            self._foreign.append((tag, attributes, []))
            self._parser.CharacterDataHandler = self._foreign[-1][2].append
            return
        self._open.append(tag)
        needed = _NEEDED.get(tag, ())
        for each in needed:
            if each not in attributes:
                raise GameFileError(f"<{tag}> without the attribute {each!r}")
        if tag in self.elements:
            ids = () if tag == "graph" else tuple(self.identify(attributes[each]) for each in needed)
            directed = self._is_directed(tag, attributes)
            self._owners.append(Element(tag, ids, directed, self._parser.CurrentLineNumber))
            self.elements[tag].append(self._owners[-1])
        elif tag == "key":
            self._declare(attributes)
        elif tag in ("data", "default"):
            self._key = attributes["key"] if tag == "data" else self._key
            self._text = []
            self._parser.CharacterDataHandler = self._text.append

    def _is_directed(self, tag: str, attributes: dict[str, str]) -> bool:
        if tag == "graph":
            kind = attributes.get("edgedefault", "directed").strip().lower()
            if kind not in ("directed", "undirected"):
                raise GameFileError(f"<graph>: edgedefault is {shown(kind, 40)}, expected directed or undirected")
            return kind == "directed"
        if tag == "node" or "directed" not in attributes:
            return self._owners[-1].directed
        said = attributes["directed"].strip().lower()
        if said not in ("true", "1", "false", "0"):
            raise GameFileError(f"<edge>: directed is {shown(said, 40)}, expected true or false")
        return said in ("true", "1")

    def _declare(self, attributes: dict[str, str]) -> None:
        self._key, self._domain = attributes["id"], attributes.get("for", "all")
        if "attr.name" in attributes:  # keys for yEd's graphics have no name
            key = self.declare(Key(attributes["attr.name"], attributes.get("attr.type", "string")))
            if self._keys.setdefault(self._key, key) != key:
                raise GameFileError(f"two <key> elements have the id {shown(self._key)}")

    def _end(self, _: str) -> None:
        self._parser.CharacterDataHandler = None
        if self._foreign:
            tag, attributes, text = self._foreign.pop()
            if tag in self.drawing and self._open[-1] == "data":
                self.draw(self._owners[-1], tag, attributes, "".join(text))
            if self._foreign or self._open[-1] in ("data", "default"):
                self._parser.CharacterDataHandler = (self._foreign[-1][2] if self._foreign else self._text).append
            return
        tag = self._open.pop()
        if tag in self.elements:
            self._owners.pop()
        elif tag in ("data", "default"):
            key, value = self._keys.get(self._key), "".join(self._text)
            if key is not None and tag == "data":
                self.take(self._owners[-1], key, value)
            elif key is not None:
                self._defaults.append((self._domain, key, value))

    def _add_defaults(self) -> None:
        """Add default values for the attributes that elements lack."""
        expanded = 0
        for tag, elements in self.elements.items():
            first: dict[str, tuple[Key, str]] = {}  # of several keys with one name the first counts
            for domain, key, text in self._defaults:
                if domain in (tag, "all"):
                    first.setdefault(key.name, (key, text))
            for name, (key, text) in first.items():
                lacking = (element for element in elements if name not in element.values)
                example = next(lacking, None)
                if example is None:
                    continue
                self.take(example, key, text)
                if name not in example.values:  # an ignored attribute
                    continue
                others = list(lacking)
                expanded += len(f'<data key="d0">{text}</data>') * len(others)
                check_memory(expanded * GRAPH_EXPANSION)  # a megabyte-long default for a million nodes is an attack
                for element in others:
                    element.values[name] = example.values[name]
