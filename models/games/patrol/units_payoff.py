"""The units' payoffs of a patrol that is not zero-sum."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.checks import check_choice, check_number
from ....seqform.errors import InvalidGameError, shown
from ....seqform.factored import FactoredPayoff
from .commitment import Commitment
from .meetings import assembled
from .patrol import Patrol


def units_payoff(
    patrol: Patrol, goals: Mapping[Any, float] | Sequence[Mapping[Any, float]], meeting: float = 0.0, step: float = 0.0
) -> FactoredPayoff:
    """Return the units' payoffs, for :class:`~treeplex.Stackelberg`.

    Parameters
    ----------
    patrol : Patrol
    goals : mapping of str to float, or a sequence of one for each type of attackers
        The units' payoff when an attacker arrives there: a loss is negative. Omitted goals have payoff 0.
    meeting : float
        Their payoff for each detection.
    step : float
        Their payoff for each step of an attacker.

    Returns
    -------
    FactoredPayoff, shape (num_sequences of the attackers, num_sequences of the units)
        Types are weighted by their probabilities.

    Raises
    ------
    InvalidGameError
        If a node is not a goal of any attacker, or the numbers of mappings and types differ.

    Examples
    --------
    The attacker wins 3 at the bank and 1 at the mill; the units lose 10 and 1. With opposed payoffs, they would defend
    both:

    >>> import networkx as nx
    >>> from treeplex import Stackelberg, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit, units_payoff
    >>> town = nx.Graph([("gate", "mill"), ("gate", "bank"), ("inn", "mill"), ("inn", "bank")])
    >>> thief = Attacker(["gate"], {"bank": 3.0, "mill": 1.0})
    >>> game = PatrolGame(town, steps=1, units=[Unit(start="inn")], attackers=[thief], meeting=-4.0)
    >>> payoff = units_payoff(game.patrol, {"bank": -10.0, "mill": -1.0}, meeting=5.0)
    >>> solution = solve(Stackelberg(game, payoff=payoff))
    >>> round(solution.objective, 6), round(solution.value, 6)
    (0.25, 0.0)
    """
    values = units_goals(patrol, goals)
    meeting, step = (
        check_number(value, name, InvalidGameError) for name, value in (("meeting", meeting), ("step", step))
    )
    rewards = [
        share * patrol.paid(walker, own, meeting, step)
        for share, walker, own in zip(patrol.probabilities, patrol.attacking.walkers, values, strict=True)
    ]
    coming = patrol.coming([share * meeting for share in patrol.probabilities])
    return assembled(patrol.attacking, patrol.patrolling, rewards, coming, patrol.watched())


def check_commitment(patrol: Patrol, commitment: Commitment) -> None:
    """Raise an error if the units' own payoffs do not fit a patrol.

    Raises
    ------
    InvalidGameError
    """
    units_goals(patrol, commitment.goals, "commitment.goals")
    for name in ("meeting", "step"):
        check_number(getattr(commitment, name), f"commitment.{name}", InvalidGameError)
    check_choice(commitment.ties, "commitment.ties", InvalidGameError, ("strong", "weak"))


def units_goals(
    patrol: Patrol, goals: Mapping[Any, float] | Sequence[Mapping[Any, float]], what: str = "goals"
) -> list[Floats]:
    """Return the units' payoff when each type of attackers arrives at each node, one array per type.

    Raises
    ------
    InvalidGameError
        If a node is not a goal of any attacker, or the numbers of mappings and types differ; `what` names the goals.
    """
    given = [goals] * len(patrol.attackers) if isinstance(goals, Mapping) else list(goals)
    if len(given) != len(patrol.attackers) or not all(isinstance(one, Mapping) for one in given):
        raise InvalidGameError(
            f"{what} is {shown(goals, 80)}, expected a value by node, or one such mapping for each of the "
            f"{len(patrol.attackers)} types of attackers"
        )
    ends = ~np.isnan([patrol.goal_values(number) for number in range(len(patrol.attackers))])
    found = []
    for there, one in zip(ends, given, strict=True):
        values = np.zeros(patrol.map.num_nodes)
        for name, value in one.items():
            node = patrol.map.node(name, what)
            if not ends[:, node].any():
                raise InvalidGameError(f"{what} has {name}, where no attacker has a goal")
            values[node] = check_number(value, f"{what}: {name}", InvalidGameError)
        found.append(np.where(there, values, 0.0))
    return found
