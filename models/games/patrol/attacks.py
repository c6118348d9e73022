"""The best attacks on each goal, given the units' plan: what attackers earn, their routes and their detections."""

from dataclasses import dataclass

import numpy as np

from ....seqform.errors import InvalidStrategyError, UnsupportedProblemError
from ....seqform.game import Game
from ....seqform.polytope import best_response_plan
from ....seqform.strategy import Profile, Strategy, check_same_game, check_strategy
from .game import patrol_of
from .meetings import assembled
from .risks import by_attacker_and_goal
from .words import Route, routes_of

#: Smaller earnings count as none.
NOTHING = 1e-9


@dataclass(frozen=True)
class Attack:
    """The best attack of one type of attacker on one goal.

    Attributes
    ----------
    who : str
        The type of attacker.
    goal : str
    earns : float
        The attacker's expected payoff; 0 if it is better to stay away.
    detections : float
        The expected number of detections on the way; if only the first one counts, the probability of being caught.
    route : Route or None
        ``None`` if it stays away.
    """

    who: str
    goal: str
    earns: float
    detections: float
    route: Route | None

    @property
    def way(self) -> str:
        """The route with its times, or a note that the attacker stays away."""
        return "stays away" if self.route is None else str(self.route)

    def to_dict(self) -> dict[str, object]:
        """Return the attack as JSON."""
        route = {} if self.route is None else {"stops": self.route.stops, "times": self.route.times}
        values = {"who": self.who, "goal": self.goal, "earns": self.earns, "detections": self.detections}
        return values | {"stops": None, "times": None} | route


def attacks(game: Game, plan: Strategy | Profile) -> list[Attack]:
    """Return the best attack of each type of attacker on each of its goals, the most profitable first.

    Parameters
    ----------
    game : Game
        A :class:`~treeplex.models.games.patrol.PatrolGame`.
    plan : Strategy or Profile
        The units' strategy.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol, or only the first detection counts
        (:func:`~treeplex.models.games.patrol.caught_attacks`).
    InvalidStrategyError
        If the strategy belongs to another game or to the attackers.

    Notes
    -----
    Let A_i y be the payoff of each sequence of the attackers if only the goal of i = (type, goal) has a value. The best
    attack is a plan x that maximises x · A_i y: a route, or staying away. Earnings are per attacker who comes, so they
    are not weighted by the probability of its type.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.attacks import attacks
    >>> town = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
    >>> gang = Attacker(["gate"], {"bank": 2.0, "inn": 0.5})
    >>> game = PatrolGame(town, steps=3, units=[Unit(base="mill")], attackers=[gang])
    >>> for one in attacks(game, solve(Nash(game)).profile):
    ...     print(one.goal, round(one.earns, 4), round(one.detections, 4))
    inn 0.4 0.1
    bank 0.4 1.6
    """
    patrol = patrol_of(game)
    if patrol.detections == "once":
        raise UnsupportedProblemError(
            'detections is "once", so attacks meet joint routes; expected caught_attacks(solution.problem, '
            "solution.state.units)"
        )
    strategy = plan[1] if isinstance(plan, Profile) else check_strategy(plan, "plan")
    if strategy.player != 1:
        raise InvalidStrategyError("plan is a strategy of the attackers, expected a strategy of the units")
    check_same_game(strategy, game)
    party, watched, found = patrol.attacking, patrol.watched(), []
    for number, goal, payoff in by_attacker_and_goal(patrol):
        walker, one = party.walkers[number], patrol.attackers[number]
        earned = payoff @ strategy.plan
        best = best_response_plan(party.treeplex, earned).plan
        weights = np.zeros(len(patrol.attackers))
        weights[number] = 1.0
        seen = [np.zeros(len(each.sequences)) for each in party.walkers]
        seen[number] = patrol.sensed(walker)
        met = assembled(party, patrol.patrolling, seen, patrol.coming(weights.tolist()), watched).matrix
        earns = float(earned @ best)
        route = next((route for route in routes_of(one.name, walker, best, patrol, 1)), None)
        goes = route is not None and (earns > NOTHING or not one.may_stay_away)
        detections = float(met @ strategy.plan @ best) if goes else 0.0
        found.append(Attack(one.name, patrol.map.shown_nodes[goal], earns, detections, route if goes else None))
    return sorted(found, key=lambda one: -one.earns)
