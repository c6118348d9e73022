"""Positions and meetings of a patrol's bodies at each time, given strategies."""

from dataclasses import dataclass

import numpy as np

from ....seqform.arrays import Floats, ReadOnly
from ....seqform.checks import check_type
from ....seqform.errors import InvalidStrategyError
from ....seqform.game import Game
from ....seqform.strategy import Profile, Strategy, check_same_game, check_strategy
from .game import patrol_of
from .meetings import Amounts
from .patrol import Patrol
from .walker import Walker, sums


@dataclass(frozen=True, eq=False)
class Occupancy(ReadOnly):
    """The position of one body at each time.

    Attributes
    ----------
    name : str
        The name of the unit or of the type of attacker.
    standing : ndarray of float64, shape (steps + 1, num_nodes)
        Probability of standing at each node at each time. An attacker who has reached a goal counts there from then on.
    moving : ndarray of float64, shape (steps, m)
        Probability of being on each of the map's moves in each step.
    """

    name: str
    standing: Floats
    moving: Floats


def patrol_occupancy(game: Game, strategy: Strategy) -> tuple[Occupancy, ...]:
    """Return the position of each unit, or of each type of attacker, at each time.

    Parameters
    ----------
    game : PatrolGame
    strategy : Strategy
        A strategy of either player.

    Returns
    -------
    tuple of Occupancy
        One per unit, or one per type of attacker.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol.
    InvalidStrategyError
        If the strategy belongs to another game.

    Notes
    -----
    Both are linear in the realization plan. Let x(t, k, m) be the probability of making the move m at time t and p(m)
    the probability that it does not fail. A body stands at l at time t with probability Σ p(m) x(t − d(m), k, m) over
    the moves from k to l that take d(m) steps, plus Σ (1 − p(m)) x(t − 1, l, m) over those that failed there.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Strategy
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.occupancy import patrol_occupancy
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    >>> (where,) = patrol_occupancy(game, Strategy.uniform(game, 1))
    >>> where.standing.round(3)
    array([[0.   , 1.   , 0.   ],
           [0.333, 0.333, 0.333],
           [0.278, 0.444, 0.278]])
    """
    patrol = patrol_of(game)
    check_strategy(strategy, "strategy")
    check_same_game(strategy, game)
    attacks = strategy.player == 0
    walkers = (patrol.attacking if attacks else patrol.patrolling).walkers
    names = [one.name for one in (patrol.attackers if attacks else patrol.units)]
    return tuple(
        Occupancy(name, walker.standing(strategy.plan, patrol.steps), _moving(walker, strategy.plan, patrol))
        for name, walker in zip(names, walkers, strict=True)
    )


def _moving(walker: Walker, plan: Floats, patrol: Patrol) -> Floats:
    size = len(patrol.map.sources)
    on = np.flatnonzero(walker.moved)
    counts = walker.durations[on]
    each = np.repeat(on, counts)  # a step of each move
    steps = walker.times[each] + np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)
    weights = plan[walker.sequences[each]] * walker.success[each]
    places = steps * size + patrol.moves[walker.moves[each]]
    return sums(places, weights, patrol.steps * size).reshape(patrol.steps, size)


@dataclass(frozen=True, eq=False)
class Meetings(ReadOnly):
    """Expected number of detections of attackers, by time and place.

    Attributes
    ----------
    standing : ndarray of float64, shape (steps + 1, num_nodes)
        By units, at each node at each time.
    passing : ndarray of float64, shape (steps, m)
        By units inside the edge of each of the map's moves, by the time at which the attacker begins the move.
    sensed : float
        By sensors, in total.
    """

    standing: Floats
    passing: Floats
    sensed: float

    @property
    def total(self) -> float:
        """The total over all detectors, places and times."""
        return float(self.standing.sum() + self.passing.sum()) + self.sensed


def patrol_meetings(game: Game, profile: Profile) -> Meetings:
    """Return the expected number of detections of attackers by place and time.

    Parameters
    ----------
    game : PatrolGame
    profile : Profile

    Returns
    -------
    Meetings
        Types of attackers are weighted by their probabilities.

    Raises
    ------
    UnsupportedProblemError
        If the game is not a patrol.
    InvalidStrategyError
        If the strategies belong to another game.

    Examples
    --------
    >>> import networkx as nx
    >>> from treeplex import Profile
    >>> from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
    >>> from treeplex.models.games.patrol.occupancy import patrol_meetings
    >>> road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.Graph)
    >>> game = PatrolGame(road, steps=2, units=[Unit(base="mill")], attackers=[Attacker(["gate"], {"bank": 1})])
    >>> found = patrol_meetings(game, Profile.uniform(game))
    >>> round(found.total, 6), found.standing.sum(axis=0).round(3)
    (0.555556, array([0.   , 0.167, 0.139]))
    """
    patrol = patrol_of(game)
    check_type(profile, "profile", InvalidStrategyError, Profile)
    check_same_game(profile[0], game)
    size = patrol.map.num_nodes
    coming = Amounts.of(patrol.coming(patrol.probabilities), profile[0].plan)
    met = coming.values * Amounts.of(patrol.watched(), profile[1].plan).at(coming.keys)
    spots = patrol.keys.read(coming.keys)
    at_node = spots.first == spots.second
    standing = sums((spots.times + 1)[at_node] * size + spots.first[at_node], met[at_node], (patrol.steps + 1) * size)
    pairs = patrol.map.sources * size + patrol.map.targets  # sorted
    along = np.searchsorted(pairs, (spots.first * size + spots.second)[~at_node])
    passing = sums(spots.times[~at_node] * len(pairs) + along, met[~at_node], patrol.steps * len(pairs))
    sensed = sum(
        share * float(patrol.sensed(walker) @ profile[0].plan[walker.sequences])
        for share, walker in zip(patrol.probabilities, patrol.attacking.walkers, strict=True)
    )
    return Meetings(standing.reshape(-1, size), passing.reshape(patrol.steps, -1), sensed)
