"""The visible content of a patrol's map: units, attackers, meetings and the use of limits, by place and time."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.game import Game
from ....seqform.strategy import Profile, Strategy, check_same_game
from ...constraints import Constraint, LinearConstraint
from .clock import Clock
from .game import patrol_of
from .occupancy import patrol_meetings, patrol_occupancy
from .patrol import Patrol
from .walker import Whole

Kind = Literal["unit", "attacker", "meeting", "limit"]
#: Number of units with their own colours, which then repeat.
HUES = 6


@dataclass(frozen=True)
class Street:
    """An edge of the map, in both directions if it has both.

    Attributes
    ----------
    source, target : int
        Its ends, by index.
    name : str
    one_way, closed : bool
        Whether it leads only from the source to the target, and whether it is closed at some time to some body.
    """

    source: int
    target: int
    name: str
    one_way: bool
    closed: bool


@dataclass(frozen=True, eq=False)
class Layer:
    """Amounts of one quantity by place and time.

    Attributes
    ----------
    name : str
    kind : {"unit", "attacker", "meeting", "limit"}
    hue : str
        The name of its colour.
    nodes : ndarray of float64, shape (steps + 1, num_nodes)
        At each node at each time.
    streets : ndarray of float64, shape (steps + 1, num_streets)
        On each street in the step that begins at that time.
    shown : bool
        Whether it is shown initially.
    """

    name: str
    kind: Kind
    hue: str
    nodes: Floats
    streets: Floats
    shown: bool = True


@dataclass(frozen=True, eq=False)
class MapView:
    """A map and its layers.

    Attributes
    ----------
    title : str
    names : tuple of str
        The names of the nodes.
    positions : ndarray of float64, shape (num_nodes, 2)
        Drawing positions in a plane.
    streets : tuple of Street
    marks : mapping of str to frozenset of int
        The nodes that are an ``entry``, a ``goal`` or a ``base``.
    steps : int
    layers : tuple of Layer
    clock : Clock, optional
    """

    title: str
    names: tuple[str, ...]
    positions: Floats
    streets: tuple[Street, ...]
    marks: Mapping[str, frozenset[int]]
    steps: int
    layers: tuple[Layer, ...]
    clock: Clock | None = None

    @property
    def noted(self) -> frozenset[int]:
        """The nodes that have a mark."""
        return frozenset[int]().union(*self.marks.values())


def map_view(game: Game, strategies: Iterable[Strategy], limits: Iterable[Constraint] = ()) -> MapView:
    """Return the visible content of a patrol's map, given strategies.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame`.
    strategies : iterable of Strategy
        Strategies of the attackers, the units or both; meetings need both.
    limits : iterable of Constraint, optional
        Constraints on the units' plans: for each linear one, a layer shows how much of it is used where and when.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol.
    InvalidStrategyError
        If a strategy belongs to another game.

    Notes
    -----
    Positions and meetings come from :func:`~treeplex.models.games.patrol.patrol_occupancy` and
    :func:`~treeplex.models.games.patrol.patrol_meetings`. Types of attackers are weighted by their probabilities. For a
    limit Σ g(s) y(s), a place and time shows the terms of the moves that lead there, without their signs.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.map_view import map_view
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> view = map_view(game, solve(Nash(game)).profile)
    >>> [layer.name for layer in view.layers]
    ['unit 1', 'attackers', 'meetings']
    >>> view.layers[0].nodes[0]  # at the mill, when the shift begins
    array([0., 1., 0., 0.])
    """
    patrol = patrol_of(game)
    streets, of_move = _streets(patrol)
    by_street = sp.csr_array((np.ones(len(of_move)), (np.arange(len(of_move)), of_move)), (len(of_move), len(streets)))

    def layer(name: str, kind: Kind, hue: str, nodes: Floats, moves: Floats) -> Layer:
        return Layer(name, kind, hue, nodes, np.vstack([moves @ by_street, np.zeros(len(streets))]), kind != "limit")

    known: dict[int, Strategy] = {}
    for strategy in strategies:
        check_same_game(strategy, game)
        known[strategy.player] = strategy
    layers = []
    if 1 in known:
        for number, unit in enumerate(patrol_occupancy(game, known[1])):
            layers.append(layer(unit.name, "unit", f"layer-{number % HUES}", unit.standing, unit.moving))
    if 0 in known:
        types = list(zip(patrol_occupancy(game, known[0]), patrol.probabilities, strict=True))
        standing, moving = (sum(share * getattr(one, name) for one, share in types) for name in ("standing", "moving"))
        layers.append(layer("attackers", "attacker", "attacker", standing, moving))
    if len(known) == 2:
        met = patrol_meetings(game, Profile([known[0], known[1]]))
        layers.append(layer("meetings", "meeting", "meeting", met.standing, met.passing))
    if 1 in known:
        layers.extend(
            layer(f"used by {limit.name}", "limit", "limit", *_used(patrol, limit, known[1].plan))
            for limit in limits
            if isinstance(limit, LinearConstraint)  # a convex limit is not a sum over places
        )
    marks = {
        "entry": {int(node) for walker in patrol.attacking.walkers for node in walker.entry_nodes},
        "goal": {
            int(node)
            for each in range(len(patrol.attackers))
            for node in np.flatnonzero(~np.isnan(patrol.goal_values(each)))
        },
        "base": {patrol.unit_base(each) for each in range(len(patrol.units))},
    }
    return MapView(
        game.spec,
        patrol.map.shown_nodes,
        patrol.map.plane,
        streets,
        {kind: frozenset(nodes) for kind, nodes in marks.items()},
        patrol.steps,
        tuple(layers),
        patrol.clock,
    )


def _used(patrol: Patrol, limit: LinearConstraint, plan: Floats) -> tuple[Floats, Floats]:
    """Return the contribution to a limit of the moves that reach each node at each time, and zeros for edges."""
    amounts = np.zeros(len(plan))
    amounts[list(limit.terms)] = [abs(float(term)) for term in limit.terms.values()]
    nodes = np.zeros((patrol.steps + 1, patrol.map.num_nodes))
    for walker in patrol.patrolling.walkers:
        used = amounts[walker.sequences] * plan[walker.sequences]
        np.add.at(nodes, (walker.times + walker.durations, walker.targets), used)
    return nodes, np.zeros((patrol.steps, len(patrol.map.sources)))


def _streets(patrol: Patrol) -> tuple[tuple[Street, ...], Whole]:
    """Return the streets, and the index of the street of each move."""
    roads = patrol.map
    pairs = np.stack([np.minimum(roads.sources, roads.targets), np.maximum(roads.sources, roads.targets)], axis=1)
    _, first, of_move, counts = np.unique(pairs, axis=0, return_index=True, return_inverse=True, return_counts=True)
    closed = np.zeros(len(roads.sources), dtype=bool)
    for one in patrol.closures:
        closed |= roads.place(one.at).moves
    of_move = of_move.ravel()
    shut = np.bincount(of_move, closed, len(first)) > 0.0
    streets = tuple(
        Street(int(roads.sources[move]), int(roads.targets[move]), roads.shown_streets[move], count == 1, any_closed)
        for move, count, any_closed in zip(first.tolist(), counts.tolist(), shut.tolist(), strict=True)
    )
    return streets, of_move
