"""An old plan on a changed map: what is left of it, what it guarantees there, and where another plan is better."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..models.games.patrol.attacks import attacks
from ..models.games.patrol.game import PatrolGame, patrol_of
from ..models.games.patrol.occupancy import patrol_occupancy
from ..models.games.patrol.patrol import Patrol
from ..models.games.patrol.plan_file import PatrolPlan
from ..seqform.errors import InvalidStrategyError, UnsupportedProblemError, one_of
from ..seqform.evaluate import worst_case
from ..seqform.strategy import Strategy
from .patrols import carried, solve_patrol
from .solution import Solution

#: Smaller probabilities count as none.
_LEAST = 1e-9


@dataclass(frozen=True)
class LostMove:
    """A move of a plan that is not the same on another map.

    Attributes
    ----------
    unit, source, target : str
        The unit and the ends of the move; equal ends mean waiting.
    times : tuple of int
        When the plan makes the move, in steps.
    frequency : float
        The expected number of times.
    reason : str
    """

    unit: str
    source: str
    target: str
    times: tuple[int, ...]
    frequency: float
    reason: str


@dataclass(frozen=True, eq=False)
class CarriedPlan:
    """A plan on the map of another game; :func:`carry_plan` makes it.

    Attributes
    ----------
    game : PatrolGame
        The other game.
    strategy : Strategy
        The units' strategy there.
    lost : tuple of LostMove
        The moves that do not exist there, or take another number of steps, the most frequent first.
    """

    game: PatrolGame
    strategy: Strategy
    lost: tuple[LostMove, ...]

    @cached_property
    def earns(self) -> float:
        """What the best attackers earn against it: a bound that depends only on the strategy."""
        return -worst_case(self.game, self.strategy)

    @cached_property
    def best(self) -> Solution:
        """The best plan for the game, with bounds on what attackers earn against it."""
        return solve_patrol(self.game)

    @property
    def violations(self) -> dict[str, float]:
        """By how much the plan violates each limit on the units, in the limit's own unit; 0 if it is met."""
        plan = self.strategy.plan
        return {one.name: max(0.0, float(one.value(plan))) for one in self.game.constraints if one.player == 1}

    def targets(self, other: Strategy) -> Iterator[dict[str, Any]]:
        """Compare with another strategy of the units: attackers' earnings and detections on each goal.

        Yields
        ------
        dict
            With ``who``, ``goal``, and for both strategies ``earns``, ``other_earns``, ``detections`` and
            ``other_detections`` of the best attack, which are 0 if it is better to stay away.
        """
        by_goal = {(one.who, one.goal): one for one in attacks(self.game, other)}
        for one in attacks(self.game, self.strategy):
            against = by_goal[one.who, one.goal]
            yield {
                "who": one.who,
                "goal": one.goal,
                "earns": one.earns,
                "other_earns": against.earns,
                "detections": one.detections,
                "other_detections": against.detections,
            }

    def hours(self, other: Strategy) -> Iterator[dict[str, Any]]:
        """Compare with another strategy of the units: the expected number of units at each goal, by hour.

        Yields
        ------
        dict
            With ``goal``, ``from`` and ``to``, times as they are shown, and ``units`` and ``other_units``, averages
            over these times. Without a clock, each time has its own row.
        """
        patrol = patrol_of(self.game)
        length = 1 if patrol.clock is None else max(1, round(3600 / patrol.clock.seconds))
        goals = np.flatnonzero(
            np.any([~np.isnan(patrol.goal_values(number)) for number in range(len(patrol.attackers))], axis=0)
        )
        occupied = (patrol_occupancy(self.game, each) for each in (self.strategy, other))
        both = [np.sum([one.standing for one in each], axis=0) for each in occupied]
        for goal in goals.tolist():
            for first in range(0, patrol.steps + 1, length):
                last = min(first + length - 1, patrol.steps)
                units, others = (float(each[first : last + 1, goal].mean()) for each in both)
                times = {"from": patrol.shown_time(first), "to": patrol.shown_time(last)}
                yield {"goal": patrol.map.shown_nodes[goal]} | times | {"units": units, "other_units": others}


def carry_plan(plan: PatrolPlan, game: PatrolGame) -> CarriedPlan:
    """Return what is left of a plan on another map or in another game.

    Parameters
    ----------
    plan : PatrolPlan
    game : PatrolGame
        With the same units, by name and in the same order, and the same clock.

    Raises
    ------
    InvalidStrategyError
        If the units or the clocks differ.
    UnsupportedProblemError
        If only the first detection counts.

    Notes
    -----
    Moves correspond if their unit, time and nodes have the same names. Where some of the moves at a time and place do
    not exist in `game`, the probabilities of the others are divided by their sum; where none is left, and where the old
    plan never goes, the unit moves at random. A move that takes another number of steps is made, and listed.

    Examples
    --------
    >>> import networkx as nx
    >>> from dataclasses import replace
    >>> from treeplex.models.games.patrol import Attacker, Closure, PatrolGame, PatrolPlan, Unit
    >>> from treeplex.solvers import carry_plan, solve_patrol
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 2.0})])
    >>> plan = PatrolPlan(game, solve_patrol(game).profile)
    >>> closed = PatrolGame(replace(game.patrol, closures=[Closure("mill -- bank")]))
    >>> here = carry_plan(plan, closed)
    >>> here.earns >= here.best.value - 1e-9, {one.reason for one in here.lost}
    (True, {'closed'})
    """
    old, new = plan.patrol, patrol_of(game)
    if "once" in (old.detections, new.detections):
        raise UnsupportedProblemError(
            'detections is "once": the plan consists of joint routes, which are not carried to another map'
        )
    names, others = ([unit.name for unit in each.units] for each in (old, new))
    if names != others:
        raise InvalidStrategyError(f"the plan is for {one_of(names)}, but the new patrol has {one_of(others)}")
    if old.clock != new.clock:
        clocks = [
            "no clock" if each is None else f"steps of {each.step} from {each.begin}" for each in (old.clock, new.clock)
        ]
        raise InvalidStrategyError(f"the plan has {clocks[0]}, but the new patrol has {clocks[1]}")
    strategy = carried(plan.profile, game)[1]
    lost = [move for number in range(len(names)) for move in _lost(number, old, new, plan.profile[1])]
    return CarriedPlan(game, strategy, tuple(sorted(lost, key=lambda one: -one.frequency)))


def _lost(number: int, old: Patrol, new: Patrol, strategy: Strategy) -> Iterator[LostMove]:
    """Yield the moves of a unit that are not the same in another patrol."""
    before, after = (each.patrolling.walkers[number] for each in (old, new))
    names, others, unit = old.map.nodes, new.map.nodes, old.units[number].name
    there = {
        (time, others[source], others[target]): steps
        for time, source, target, steps in zip(
            after.times.tolist(), after.sources.tolist(), after.targets.tolist(), after.durations.tolist(), strict=True
        )
    }
    reached = {(time, source) for time, source, _ in there}
    streets = {
        (others[source], others[target])
        for source, target in zip(new.map.sources.tolist(), new.map.targets.tolist(), strict=True)
    }
    made = strategy.plan[before.sequences]
    found: dict[tuple[str, str, str], list[tuple[int, float]]] = {}
    for move in np.flatnonzero(made > _LEAST).tolist():
        time, source, target = int(before.times[move]), names[before.sources[move]], names[before.targets[move]]
        steps, now = int(before.durations[move]), there.get((time, source, target))
        missing = [name for name in (source, target) if name not in new.map]
        if missing:
            reason = f"{old.map.shown(missing[0])} is not on the map"
        elif source != target and (source, target) not in streets:
            reason = "no street"
        elif now is None:
            reason = "closed" if (time, source) in reached else "out of reach at these times"
        elif now != steps:
            reason = f"takes {now} instead of {steps} steps"
        else:
            continue
        found.setdefault((source, target, reason), []).append((time, float(made[move])))
    for (source, target, reason), each in found.items():
        times = tuple(time for time, _ in each)
        yield LostMove(
            unit, old.map.shown(source), old.map.shown(target), times, sum(often for _, often in each), reason
        )
