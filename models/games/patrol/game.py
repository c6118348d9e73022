"""A patrol as a game for every problem and method."""

from dataclasses import fields
from functools import cached_property
from typing import Any

from ....seqform.checks import check_type
from ....seqform.errors import (
    InvalidConstraintError,
    InvalidGameError,
    UnsupportedProblemError,
    nearest,
    one_of,
    shown,
)
from ....seqform.game import Game
from ...constraints import LinearConstraint, RiskConstraint, parse_constraint
from .doubts import doubts, idle_limits
from .functionals import PatrolFunctionals
from .patrol import Patrol
from .road_map import RoadMap

_DECLARED = [each.name for each in fields(Patrol) if each.name not in ("map", "spec", "table")]
_OF_MAPS = ("speed", "length", "names")


class PatrolGame(Game):
    """A patrol on a map as a game: player 0 attacks, player 1 patrols.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph, path-like, RoadMap or Patrol
        In a format accepted by :meth:`RoadMap.from_graph <treeplex.models.games.patrol.RoadMap.from_graph>`.
    **declared
        The arguments of :class:`~treeplex.models.games.patrol.Patrol` except the map (at least `steps`, `units` and
        `attackers`), and those of `RoadMap.from_graph` except the graph.

    Attributes
    ----------
    patrol : Patrol

    Raises
    ------
    InvalidGameError
        If the declarations do not fit the map or each other.

    Notes
    -----
    Each unit and each type of attacker moves independently, so a player's plans are a product of flows over time and
    place (:func:`~treeplex.models.games.patrol.walker.party`). The payoff is a sum over meetings and is kept in
    factors, one for each time and place where bodies may meet.

    References
    ----------
    B. Bošanský, A. X. Jiang, M. Tambe, C. Kiekintveld (2015), "Combining compact representation and incremental
    generation in large games with sequential strategies", AAAI.

    Examples
    --------
    Two ways lead from the gate to the bank, and the unit can watch only one of them:

    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> round(solve(Nash(game)).value, 6)
    0.7
    """

    def __init__(self, graph: Any, **declared: Any) -> None:
        if isinstance(graph, Patrol) and declared:
            raise InvalidGameError(
                f"a Patrol is given together with {one_of(list(declared))}, expected one of the two; "
                "dataclasses.replace(patrol, …) changes a Patrol"
            )
        known = [*_DECLARED, *_OF_MAPS]
        for name in declared:
            if name not in known:
                raise InvalidGameError(
                    f"unknown argument {shown(name, 60)}{nearest(name, known)}; expected {one_of(known)}"
                )
        missing = [name for name in _DECLARED[:3] if name not in declared]
        if not isinstance(graph, Patrol) and missing:
            raise InvalidGameError(f"{missing[0]} is missing: PatrolGame(graph, steps=…, units=[…], attackers=[…])")
        if not isinstance(graph, Patrol):
            options = {name: declared.pop(name) for name in _OF_MAPS if name in declared}
            graph = Patrol(RoadMap.from_graph(graph, **options), **declared)
        self.patrol: Patrol = graph
        patrol = self.patrol
        if patrol.uncertainty is not None or patrol.scenarios:
            from .cases import check_uncertainty

            check_uncertainty(patrol)
        super().__init__(
            patrol.name,
            {"nodes": patrol.map.num_nodes, "steps": patrol.steps, "units": len(patrol.units)},
            spec=patrol.spec or patrol.name,
            sequence_form=patrol.sequence_form,
            functionals=_functionals,
            without_histories="plans are flows over time and place",
            citation="B. Bošanský, A. X. Jiang, M. Tambe, C. Kiekintveld (2015), AAAI",
            exact_up_to=20_000,
            size=patrol.size,
        )

    @property
    def learned_to(self) -> float:
        """The exploitability at which iterative methods stop by default: a thousandth of the largest payoff."""
        return 1e-3 * self.stakes

    @cached_property
    def constraints(self) -> tuple[LinearConstraint | RiskConstraint, ...]:
        """The declared limits, parsed by :func:`~treeplex.parse_constraint`.

        Raises
        ------
        InvalidConstraintError
            If a limit cannot be parsed; it applies to the units' plans unless it names a functional of an attacker.
        """
        read: list[LinearConstraint | RiskConstraint] = []
        for number, text in enumerate(self.patrol.limits, 1):
            try:
                read += parse_constraint(text, self, player=1)
            except InvalidConstraintError as error:
                table, key = self.patrol.table, f"limits[{number}].text"
                line = None if table is None else table.line_of(key)
                where = self.spec if line is None else f"{self.spec}: line {line}"
                raise InvalidConstraintError(f"{where}: {key}: {error}") from None
        return tuple(read)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Notes on how the map was read, and on parts of the patrol that are probably not intended.

        Raises
        ------
        InvalidConstraintError
            If a limit cannot be parsed.
        """
        return (*self.patrol.map.notes, *doubts(self.patrol), *idle_limits(self.patrol, self.constraints))


def patrol_of(game: Game) -> Patrol:
    """Return the patrol of a game.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol.
    """
    check_type(game, "game", UnsupportedProblemError, Game, "a patrol's game")
    if not isinstance(game, PatrolGame):
        raise UnsupportedProblemError(f"{game.spec} is not a patrol and has no map; expected a PatrolGame")
    return game.patrol


def _functionals(game: Game) -> PatrolFunctionals:
    assert isinstance(game, PatrolGame)
    return PatrolFunctionals(game.patrol, game)
