"""Notes on parts of a patrol that are valid but probably not intended."""

from collections.abc import Iterable, Iterator

import numpy as np

from ....seqform.errors import shown
from ....seqform.polytope import best_response_value
from ...constraints import Constraint, LinearConstraint
from .map_attributes import Notes
from .patrol import Patrol


def doubts(patrol: Patrol) -> list[str]:
    """Return notes on valid parts of a declaration that are probably mistakes.

    Examples
    --------
    A sign error that makes units avoid the attacker:

    >>> import networkx as nx
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.doubts import doubts
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> units, attackers = [Unit(base="mill")], [Attacker(["gate"], {"bank": 1})]
    >>> doubts(PatrolGame(road, steps=2, units=units, attackers=attackers, meeting=2.0).patrol)
    ['a meeting is worth 2 to attackers, so units keep away from them (its cost is negative: -2): attacker 1']
    """
    notes = Notes()
    for number in range(len(patrol.attackers)):
        _of_attacker(patrol, number, notes)
    for number in range(len(patrol.units)):
        _of_unit(patrol, number, notes)
    for sensor in patrol.sensors:
        if sensor.detection == 0:
            notes.add("sensors whose detection is 0 detect nobody", shown(sensor.at, 60))
    if patrol.failure == 1:
        notes.add("failure is 1: moves after the first step all fail")
    return list(notes)


def _of_attacker(patrol: Patrol, number: int, notes: Notes) -> None:
    one, (meeting, step) = patrol.attackers[number], patrol.worth(number)
    watched = bool(patrol.units or patrol.sensors)
    if meeting > 0 and watched:
        notes.add(
            f"a meeting is worth {meeting:g} to attackers, so units keep away from them (its cost is negative: "
            f"{-meeting:g})",
            one.name,
        )
    elif meeting == 0 and watched:
        notes.add("meetings cost attackers nothing, so it does not matter where units are", one.name)
    if step > 0:
        notes.add(f"a step is worth {step:g} to attackers, who gain by staying on the map", one.name)
    goals = patrol.goal_values(number)
    best = float(np.nanmax(goals))
    comes = "they stay away" if one.may_stay_away else "they come anyway, because they may not stay away"
    if best <= 0 and step <= 0 and meeting <= 0:
        notes.add(f"attackers with no goal that is worth more than 0 have nothing to gain: {comes}", one.name)
    elif one.may_stay_away:
        for node in np.flatnonzero(goals <= 0):
            notes.add(
                "goals that are worth 0 or less attract nobody",
                f"{patrol.map.shown_nodes[node]}, worth {goals[node]:g} to {one.name}",
            )
    reached = patrol.attacker_bodies[number].reachable.any(axis=0)
    for node in np.flatnonzero(~np.isnan(goals) & ~reached):
        notes.add(
            f"goals that attackers cannot reach within {patrol.steps:,} steps do not count",
            f"{patrol.map.shown_nodes[node]} of {one.name}",
        )


def _of_unit(patrol: Patrol, number: int, notes: Notes) -> None:
    name, body = patrol.units[number].name, patrol.unit_bodies[number]
    start, base = patrol.unit_start(number), patrol.unit_base(number)
    at = patrol.map.shown_nodes[base]
    shift = body.last - int(body.entry_times[0])
    if body.states is not None:
        said = ", ".join(f"{rule} {factor:.3g}" for rule, factor in body.states.factors.items())
        notes.add(
            f"the rules of {name} give {body.states.body.size[0]:,} pairs of time and state; states per node by rule",
            said,
        )
    if not max(each.max(initial=0.0) for each in patrol.detection(number)):
        notes.add("units whose detection is 0 detect nobody", name)
    if np.count_nonzero(body.reachable.any(axis=0)) == 1 and patrol.map.num_nodes > 1:
        notes.add(
            f"units that cannot leave where they start within {shift:,} steps stay there",
            f"{name} at {patrol.map.shown_nodes[start]}",
        )
    if not body.reachable[-1, base]:
        notes.add(
            f"units that cannot be at their base when their shift ends are away from it under every plan: risk({name}) "
            "is 1",
            f"{name}, base {at}",
        )
    elif start == base and patrol.round_trip(number) > shift:
        notes.add(f"units that leave their base cannot be back within {shift:,} steps", f"{name}, base {at}")


def idle_limits(patrol: Patrol, limits: Iterable[Constraint]) -> Iterator[str]:
    """Yield linear limits that every plan or no plan meets, and limits that require a risk instead of bounding it."""
    for limit in limits:
        if not isinstance(limit, LinearConstraint):
            continue
        treeplex = (patrol.attacking, patrol.patrolling)[limit.player].treeplex
        gradient = np.zeros(treeplex.num_sequences)
        gradient[limit.indices] = limit.coefficients
        slack = 1e-9 * max(1.0, abs(limit.limit))
        sign = 1.0 if limit.sense == "<=" else -1.0
        most, least = best_response_value(treeplex, gradient), -best_response_value(treeplex, -gradient)
        if most <= limit.limit + slack:
            extreme = f"at {'most' if sign > 0 else 'least'} {sign * most + 0.0:g}"
            yield f"the limit {limit.name} changes nothing: under every plan it is {extreme}"
        elif least > limit.limit + slack:
            extreme = f"at {'least' if sign > 0 else 'most'} {sign * least + 0.0:g}"
            yield f"no plan meets the limit {limit.name}: it is {extreme}"
        elif limit.sense == ">=" and limit.name.startswith("risk"):
            yield f"the limit {limit.name} requires units to be away from their bases (<= bounds the risk)"
