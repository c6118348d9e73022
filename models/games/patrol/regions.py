"""Groups of places of a patrol: nodes, streets, areas, and nodes with an attribute."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ....seqform.errors import InvalidGameError, nearest, one_of, shown
from .declarations import Unit
from .road_map import RoadMap
from .walker import Mask


class Ground(Protocol):
    """The parts of a patrol to which places refer."""

    @property
    def map(self) -> RoadMap:
        """The map."""

    @property
    def areas(self) -> Mapping[str, Sequence[Hashable]]:
        """Named groups of nodes."""

    @property
    def units(self) -> Sequence[Unit]:
        """The units."""

    def of_moves(self, values: Any, waiting: Any) -> Any:
        """Return values of the map's moves as values of bodies' moves."""


@dataclass(frozen=True, eq=False)
class Region:
    """A group of nodes and moves of the map.

    Attributes
    ----------
    words : str
    nodes : ndarray of bool, shape (num_nodes,)
    moves : ndarray of bool, shape (num_nodes + m,)
        Moves of bodies.
    """

    words: str
    nodes: Mask
    moves: Mask


def region_of(ground: Ground, places: Sequence[Any], bodies: Sequence[str] = ()) -> Region:
    """Return the nodes and moves of several places.

    Parameters
    ----------
    ground : Ground
        A patrol.
    places : sequence of str
        Nodes, edges, names of streets, areas, or attributes of nodes with their values.
    bodies : sequence of str
        The names of units and attackers that a misspelt place may mean.

    Raises
    ------
    InvalidGameError
        If there is no such place.
    """
    nodes, moves = (
        np.zeros(ground.map.num_nodes, dtype=bool),
        ground.of_moves(np.zeros(len(ground.map.sources), dtype=bool), False),
    )
    for place in places:
        key, equals, value = (part.strip() for part in str(place).partition("="))
        if isinstance(place, str) and place in ground.areas:
            nodes |= ground.map.node_mask(ground.areas[place], place)
        elif equals and key in ground.map.attributes:
            there = np.array([each == value for each in ground.map.attributes[key]])
            if not there.any():
                listed = dict.fromkeys(filter(None, ground.map.attributes[key]))
                raise InvalidGameError(
                    f"no node has {key} = {shown(value, 40)}{nearest(value, listed)}; expected {one_of(listed)}"
                )
            nodes |= there
        else:
            try:
                found = ground.map.place(place, "the place")
            except InvalidGameError:
                hint = nearest(str(place), [*ground.areas, *bodies])
                if place in ground.map or not hint:
                    raise
                raise InvalidGameError(
                    f"{shown(place, 60)} is not a place, an area, a unit or an attacker{hint}"
                ) from None
            nodes |= found.nodes
            moves |= ground.of_moves(found.moves, False)
    return Region(" and ".join(map(str, places)), nodes, moves)
