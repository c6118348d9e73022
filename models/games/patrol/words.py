"""A patrol and its plan in words: the question, the attackers' earnings, and the likely routes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.checks import check_whole
from ....seqform.errors import InvalidStrategyError
from ....seqform.game import Game
from ....seqform.strategy import Strategy, check_same_game
from .game import patrol_of
from .patrol import Patrol
from .walker import Walker

#: The smallest probability of a listed route, and the largest number of routes per body.
_LEAST, _MOST = 1e-3, 6


@dataclass(frozen=True)
class Route:
    """A route that a body takes with some probability.

    Attributes
    ----------
    who : str
        The unit or the type of attacker.
    probability : float
        The probability of the route, over all days on which this type of attacker might come.
    stops : tuple of (int, str)
        Time in steps and node of each arrival, including the start; waiting is left out.
    times : tuple of str
        The time of each stop as it is shown: the time of day if the patrol has a clock, otherwise the step.
    """

    who: str
    probability: float
    stops: tuple[tuple[int, str], ...]
    times: tuple[str, ...]

    def __str__(self) -> str:
        return " → ".join(f"{node} ({time})" for (_, node), time in zip(self.stops, self.times, strict=True))


def question_of(game: Game) -> str:
    """Return a patrol's question as a sentence.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.words import question_of
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> question_of(PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})]))
    'Where should unit 1 be, and when, so that attackers from gate to bank gain least?'
    """
    patrol = patrol_of(game)
    roads = patrol.map
    entries = dict.fromkeys(roads.shown(node) for one in patrol.attackers for node in _several(one.entries))
    goals = dict.fromkeys(roads.shown(node) for one in patrol.attackers for node in one.goals)
    units = _listed([unit.name for unit in patrol.units], "and") or "sensors"
    kept = f", while {_listed(list(patrol.limits), 'and')}" if patrol.limits else ""
    attackers = f"attackers from {_listed(list(entries), 'or')} to {_listed(list(goals), 'or')}"
    sought = f"{attackers} gain least"
    if patrol.commitment is not None:
        sought = f"the units earn most from {attackers} who know the plan and reply for themselves"
    return f"Where should {units} be, and when, so that {sought}{kept}?"


def likely_routes(game: Game, strategy: Strategy, most: int = _MOST) -> list[Route]:
    """Return the most likely routes of each unit or type of attacker in turn, by decreasing probability.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame`.
    strategy : Strategy
        A strategy of either player.
    most : int
        Largest number per body.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol.
    InvalidStrategyError
        If the strategy belongs to another game.

    Notes
    -----
    A flow is a mixture of routes in many ways. Here each route is the widest path through what the previous routes have
    left: none could take more. Moves that may fail count as successful.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.words import likely_routes
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 3})])
    >>> for route in likely_routes(game, solve(Nash(game)).profile[0]):
    ...     print(f"{route.probability:.2f} {route}")
    1.00 gate (0) → mill (1) → bank (2)
    """
    patrol = patrol_of(game)
    most = check_whole(most, "most", InvalidStrategyError)
    check_same_game(strategy, game)
    bodies: Sequence[Any] = (patrol.attackers, patrol.units)[strategy.player]
    walkers = (patrol.attacking, patrol.patrolling)[strategy.player].walkers
    return [
        route
        for body, walker in zip(bodies, walkers, strict=True)
        for route in routes_of(body.name, walker, strategy.plan, patrol, most)
    ]


def routes_of(who: str, walker: Walker, plan: Floats, patrol: Patrol, most: int) -> list[Route]:
    """Return the most likely routes of one body, in order of probability; see :func:`likely_routes`."""
    return [
        Route(who, much, stops, tuple(patrol.shown_time(time) for time, _ in stops))
        for much, stops in sorted(_routes(walker, plan, patrol.map.shown_nodes, most), reverse=True)
    ]


def _routes(
    walker: Walker, plan: Floats, names: tuple[str, ...], most: int
) -> Iterator[tuple[float, tuple[tuple[int, str], ...]]]:
    left = plan[walker.sequences].copy()
    begun = plan[walker.entry_sequences].copy() if walker.body.chooses else np.ones(len(walker.entry_times))
    last, arrivals, through = walker.body.last, walker.times + walker.durations, np.empty(len(left))
    bounds = np.searchsorted(walker.times, np.arange(last + 1)).tolist()
    for _ in range(most):
        width = np.full((last + 1, walker.num_states), np.inf)  # of the widest route from a time and state on
        for time in range(last - 1, -1, -1):
            own = slice(bounds[time], bounds[time + 1])
            through[own] = np.minimum(left[own], width[arrivals[own], walker.after[own]])
            width[time, walker.before[own]] = 0.0
            np.maximum.at(width[time], walker.before[own], through[own])
        widest = np.minimum(begun, width[walker.entry_times, walker.entry_states])
        entry = int(np.argmax(widest))
        much, time, state = float(widest[entry]), int(walker.entry_times[entry]), int(walker.entry_states[entry])
        if much < _LEAST:
            return
        stops, made = [(time, names[walker.entry_nodes[entry]])], []
        while time < last:
            leaving = bounds[time] + np.flatnonzero(walker.before[bounds[time] : bounds[time + 1]] == state)
            if not len(leaving):
                break
            move = int(leaving[np.argmax(through[leaving])])
            made.append(move)
            time, state = int(arrivals[move]), int(walker.after[move])
            if walker.moved[move]:
                stops.append((time, names[walker.targets[move]]))
        left[made] -= much
        begun[entry] -= much
        yield much, tuple(stops)


def _several(given: object) -> list[object]:
    return [given] if isinstance(given, str) else list(given)  # type: ignore[call-overload]


def _listed(names: list[str], last: str, most: int = 6) -> str:
    """Return names in a list, with a word before the last one; of many names only the first ones."""
    if len(names) > most:
        return f"{', '.join(names[: most - 1])} {last} {len(names) - most + 1} others"
    *first, end = names or [""]
    return f"{', '.join(first)} {last} {end}" if first else end
