"""Convex measures of a patrol by name: the tail of losses over attackers and goals, the worst type, spread of work."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ....seqform.errors import InvalidGameError, nearest, one_of, shown
from ....seqform.functional import Functional
from ...risks import Loss, Risk, spread, tail
from .map_attributes import number_of
from .meetings import assembled
from .patrol import Patrol


def by_attacker_and_goal(patrol: Patrol, by_goal: bool = True) -> Iterator[tuple[int, int, Any]]:
    """Yield each type of attacker with each of its goals, and the payoffs if only that goal has a value.

    Parameters
    ----------
    patrol : Patrol
    by_goal : bool
        Whether goals are separate; otherwise each type is yielded once, with the goal −1 and all goals.

    Yields
    ------
    tuple of int, int and operator
        The type, the goal's node, and the matrix of payoffs, shape (attackers' sequences, units' sequences).
    """
    watched = patrol.watched()
    for number, walker in enumerate(patrol.attacking.walkers):
        values = patrol.goal_values(number)
        goals = np.flatnonzero(~np.isnan(values))
        weights = np.zeros(len(patrol.attackers))
        weights[number] = patrol.worth(number)[0]
        for goal in goals.tolist() if by_goal else [-1]:
            rewards = [np.zeros(len(each.sequences)) for each in patrol.attacking.walkers]
            counted = np.isin(np.arange(len(values)), goals if goal < 0 else goal)
            rewards[number] = patrol.paid(walker, np.where(counted, values, 0.0), *patrol.worth(number))
            payoff = assembled(patrol.attacking, patrol.patrolling, rewards, patrol.coming(weights.tolist()), watched)
            yield number, goal, payoff.matrix


def _losses(patrol: Patrol, by_goal: bool) -> tuple[list[Loss], list[float]]:
    """Return what each type of attacker earns at most, at each goal or at all together, and the probabilities."""
    losses, chances = list[Loss](), list[float]()
    for number, _, matrix in by_attacker_and_goal(patrol, by_goal):
        losses.append(Loss(patrol.attacking.treeplex, matrix, np.zeros(matrix.shape[0])))
        goals = int((~np.isnan(patrol.goal_values(number))).sum())
        chances.append(patrol.probabilities[number] / (goals if by_goal else 1))
    return losses, chances


def _cvar(patrol: Patrol, fingerprint: str, arguments: Sequence[str], known: Mapping[str, Functional]) -> Risk:
    level = number_of(arguments[0]) if len(arguments) == 1 else math.nan
    if not 0.0 <= level <= 1.0:
        raise InvalidGameError(
            f"the level is {shown(', '.join(arguments), 40)}, expected cvar(LEVEL) with LEVEL from 0 to 1"
        )
    losses, chances = _losses(patrol, by_goal=True)
    words = f"mean of the worst {1.0 - level:.3g} of what attackers earn, over types and goals"
    return tail(losses, level, chances, player=1, description=words, fingerprint=fingerprint)


def _worst(patrol: Patrol, fingerprint: str, arguments: Sequence[str], known: Mapping[str, Functional]) -> Risk:
    if arguments:
        raise InvalidGameError(f"received {shown(arguments[0], 40)}, expected 'worst' without arguments")
    losses, chances = _losses(patrol, by_goal=False)
    words = "earnings of the type of attackers that earns most"
    return tail(losses, 1.0, chances, player=1, description=words, fingerprint=fingerprint)


def _spread(patrol: Patrol, fingerprint: str, arguments: Sequence[str], known: Mapping[str, Functional]) -> Risk:
    names = ("workload", "travel", "risk")
    name, norm = (arguments[0] if arguments else "", number_of(arguments[1]) if len(arguments) > 1 else math.inf)
    if name not in names:
        raise InvalidGameError(f"received {shown(name, 40)}{nearest(name, names)}, expected one of {one_of(names)}")
    if norm not in (1.0, 2.0, math.inf) or len(arguments) > 2:
        raise InvalidGameError(f"the norm is {shown(', '.join(arguments[1:]), 40)}, expected 1, 2 or inf")
    each = [known[f"{name}({json.dumps(unit.name, ensure_ascii=False)})"] for unit in patrol.units]
    words = f"deviation of the units' {name} from their mean, norm {norm:g}"
    return spread(each, norm, words)


#: The syntax of each measure, and its constructor from the patrol, the game's fingerprint, arguments and functionals.
RISKS: Mapping[str, tuple[str, Callable[[Patrol, str, Sequence[str], Mapping[str, Functional]], Risk]]] = {
    "cvar": ("cvar(LEVEL)", _cvar),
    "worst": ("worst", _worst),
    "spread": ("spread(workload|travel|risk, 1|2|inf)", _spread),
}
