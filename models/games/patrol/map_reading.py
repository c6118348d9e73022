"""The graph that readers of maps build: nodes, and streets with their directions."""

from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx

from ....seqform.errors import GameFileError, InvalidGameError, shown
from .map_attributes import OF_EDGES, OF_NODES, WITH, Notes, ReadGraph, meant, unknown_name, way_of_street


class Roads:
    """A graph under construction from a file.

    Attributes
    ----------
    graph : networkx.MultiDiGraph
    notes : Notes
    """

    def __init__(self) -> None:
        self.graph: Any = ReadGraph()
        self.notes = Notes()
        self._names: dict[str, None] = {}  # of all attributes of edges

    def add_node(self, node: Any, data: Mapping[str, Any], where: str, line: int | None = None) -> str:
        """Add a node and return its name, or raise an error if it already exists."""
        name = name_in_file(node, where, line)
        if name in self.graph:
            raise GameFileError(f"{where}: there are two nodes named {shown(name, 60)}", line)
        found = meant(data, OF_NODES, _refusal(where, line), self.notes)
        self.graph.add_node(name)
        self.graph.nodes[name].update(found)  # an attribute may have the name of an argument
        return name

    def attributes(self, data: Mapping[str, Any], where: str, line: int | None = None) -> dict[str, Any]:
        """Return the attributes of an edge by standard name."""
        found = meant(data, OF_EDGES, _refusal(where, line), self.notes)
        self._names.update(dict.fromkeys(key for key in found if isinstance(key, str)))
        return found

    def add_edge(
        self,
        ends: Sequence[Any],
        data: Mapping[str, Any],
        where: str,
        line: int | None = None,
        *,
        directed: bool = False,
        drawn: bool = True,
    ) -> None:
        """Add a street between existing nodes.

        Parameters
        ----------
        ends : pair of objects
            Its ends, in the order in which it is drawn.
        data : mapping of str to object
            The result of :meth:`attributes`.
        where : str
            The description of the street in messages.
        line : int, optional
        directed : bool
            Whether it is an edge of a directed graph, which is one-way regardless of its attributes.
        drawn : bool
            Whether the file specifies the direction in which the street is drawn; undirected graphs only list its ends.
        """
        first, second = (name_in_file(node, where, line) for node in ends)
        for name in (first, second):
            if name not in self.graph:
                raise GameFileError(
                    f"{where}: there is no node {shown(name, 60)}{unknown_name(name, self.graph)}", line
                )
        if directed:
            self._add(first, second, data)
            return
        if not drawn:  # OSMnx stores the direction of drawing in addition to the ends of an undirected edge
            said = [str(data.get(key, "")).strip() for key in ("from", "to")]
            first, second = said if said == [second, first] else (first, second)
            drawn = said == [first, second]
        try:
            forwards, backwards = way = way_of_street(data, f"{first} -- {second}", self.notes)
        except InvalidGameError as error:
            raise _refusal(where, line)(str(error)) from None
        if not drawn and not all(way):
            source, target = (first, second) if way == WITH else (second, first)
            self.notes.add(
                "the graph is undirected: one-way streets are assumed to be drawn from the source to the target that "
                "the file gives",
                f"from {source} to {target}",
            )
        kept = {name: value for name, value in data.items() if name not in ("oneway", "directed")}
        if forwards:
            self._add(first, second, kept)
        if backwards and (first != second or not forwards):
            self._add(second, first, kept)

    def _add(self, source: str, target: str, data: Mapping[str, Any]) -> None:
        key = self.graph.add_edge(source, target)
        self.graph.edges[source, target, key].update(data)

    def read(self) -> "nx.MultiDiGraph[str]":
        """Return the graph, with notes on how it was read."""
        self.graph.notes, self.graph.names = tuple(self.notes), tuple(self._names)
        graph: nx.MultiDiGraph[str] = self.graph
        return graph


def _refusal(where: str, line: int | None) -> Any:
    return lambda message: GameFileError(f"{where}: {message}", line)


def name_in_file(node: Any, where: str, line: int | None = None) -> str:
    """Return the name of a node of a file.

    Raises
    ------
    GameFileError
        If it is neither a string nor a number.
    """
    plain = isinstance(node, str | int | float) and not isinstance(node, bool)
    pair = isinstance(node, list) and len(node) > 1  # networkx's format for nodes of grids, which are tuples
    name = str(tuple(node) if pair else node).strip() if plain or pair else ""
    if not name:
        raise GameFileError(f"{where}: a node is called {shown(node, 60)}, expected a string or a number", line)
    return name
