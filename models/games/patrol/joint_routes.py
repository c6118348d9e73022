"""Mixtures of joint routes as plans: routes in words, and the best attacks on them."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from .attacks import NOTHING, Attack
from .patrol import Patrol
from .route_mixtures import Mixture
from .route_responses import best_route
from .sampling import own_part
from .walker import Walker, Whole
from .words import Route, routes_of

if TYPE_CHECKING:
    from .caught_once import CaughtOnce


def route_words(who: str, walker: Walker, patrol: Patrol, route: Whole, probability: float) -> Route:
    """Return one route of a body as stops with their times."""
    size = (patrol.attacking if walker in patrol.attacking.walkers else patrol.patrolling).treeplex.num_sequences
    plan = np.zeros(size)
    plan[route], plan[0] = 1.0, 1.0
    (only,) = routes_of(who, walker, plan, patrol, 1)
    return replace(only, probability=probability)


def mixed_routes(patrol: Patrol, player: int, mixture: Mixture, most: int = 6) -> list[Route]:
    """Return the most likely routes of each unit, or of each type of attacker, in a mixture.

    Parameters
    ----------
    patrol : Patrol
    player : int
        0 for attackers, 1 for units.
    mixture : Mixture
    most : int
        Largest number per body.
    """
    names = [unit.name for unit in patrol.units] if player else [one.name for one in patrol.attackers]
    walkers = (patrol.attacking, patrol.patrolling)[player].walkers
    found = []
    for number, (name, walker) in enumerate(zip(names, walkers, strict=True)):
        chances: dict[tuple[int, ...], float] = {}
        for body, route, probability in zip(
            mixture.bodies.tolist(), mixture.routes, mixture.probabilities.tolist(), strict=True
        ):
            own = tuple(own_part(walker, route).tolist())
            moves = player == 1 or (body == number and own[-1] >= int(walker.sequences[0]))  # not staying away
            if moves and probability > 0.0:
                chances[own] = chances.get(own, 0.0) + probability
        likely = sorted(chances.items(), key=lambda one: -one[1])[:most]
        found += [route_words(name, walker, patrol, np.array(route), chance) for route, chance in likely]
    return found


@dataclass(frozen=True)
class JointRoute:
    """A joint route of all units, with its probability."""

    probability: float
    routes: tuple[Route, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the joint route as JSON."""
        routes = [{"who": one.who, "stops": one.stops, "times": one.times} for one in self.routes]
        return {"probability": self.probability, "routes": routes}


def joint_routes(patrol: Patrol, mixture: Mixture) -> list[JointRoute]:
    """Return the joint routes of a mixture, the most likely first."""
    walkers = list(zip(patrol.units, patrol.patrolling.walkers, strict=True))
    found = [
        JointRoute(
            chance,
            tuple(route_words(unit.name, walker, patrol, own_part(walker, route), chance) for unit, walker in walkers),
        )
        for route, chance in zip(mixture.routes, mixture.probabilities.tolist(), strict=True)
        if chance > 0.0
    ]
    return sorted(found, key=lambda one: -one.probability)


def caught_attacks(problem: "CaughtOnce", units: Mixture) -> list[Attack]:
    """Return the best attack of each type of attacker on each of its goals if the first detection counts.

    Parameters
    ----------
    problem : CaughtOnce
    units : Mixture
        Joint routes of the units, as in ``solution.state.units``.

    Notes
    -----
    Only one goal has a value at a time, as in :func:`~treeplex.models.games.patrol.attacks`. The best route against the
    mixture is that of :func:`~treeplex.models.games.patrol.route_responses.best_route`. Earnings are per attacker who
    comes. The number of detections is the probability of being caught.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import solve
    >>> from treeplex.models.games.patrol import Attacker, CaughtOnce, PatrolGame, Unit, caught_attacks
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank")])
    >>> gang = Attacker(["gate"], {"bank": 2.0, "inn": 0.5})
    >>> problem = CaughtOnce(PatrolGame(town, steps=2, units=[Unit(start="bank")], attackers=[gang]))
    >>> for one in caught_attacks(problem, solve(problem).state.units):
    ...     print(one.goal, round(one.earns, 4), round(one.detections, 4))
    bank 1.0 1.0
    inn 0.5 0.0
    """
    from .game import patrol_of

    patrol, meetings, found = patrol_of(problem.game), problem.encounters, []
    for number, (one, walker) in enumerate(zip(patrol.attackers, patrol.attacking.walkers, strict=True)):
        values = patrol.goal_values(number)
        for goal in np.flatnonzero(~np.isnan(values)).tolist():
            rewards = meetings.rewards.copy()
            others = np.where(np.arange(len(values)) == goal, 0.0, np.nan_to_num(values))
            rewards[walker.sequences] -= walker.success * others[walker.targets]
            alone = replace(meetings, rewards=rewards)
            if alone.least[number] < 0.0:
                continue  # steps cost more than being caught: the bounds of best_route do not hold
            reply = best_route(alone, number, units)
            goes = len(reply.route) > 0 and int(reply.route[-1]) >= int(walker.sequences[0])
            if not goes or (reply.value <= NOTHING and one.may_stay_away):
                found.append(Attack(one.name, patrol.map.shown_nodes[goal], 0.0 if goes else reply.value, 0.0, None))
                continue
            way = Mixture((reply.route,), np.array([number]), np.ones(1), len(rewards))
            caught = 1.0 - float((meetings.survival(way.matrix, units.matrix) @ units.probabilities)[0])
            route = route_words(one.name, walker, patrol, reply.route, 1.0)
            found.append(Attack(one.name, patrol.map.shown_nodes[goal], reply.value, caught, route))
    return sorted(found, key=lambda one: -one.earns)
