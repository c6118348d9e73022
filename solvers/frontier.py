"""The whole frontier of restricted Nash responses: every p at which the response changes, without a grid."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..models.problems import RestrictedNash
from ..seqform.arrays import Floats
from ..seqform.errors import SolverError
from ..seqform.game import Game
from ..seqform.strategy import Strategy
from .exact.highs import load
from .solve import with_game_value

# Two lines whose values at a point differ by less than this part of the largest payoff are one.
_SAME = 1e-9


@dataclass(frozen=True, eq=False)
class Frontier:
    """Restricted Nash responses for all p from 0 to 1.

    Attributes
    ----------
    breakpoints : ndarray of float64, shape (k − 1,)
        The values of p at which the response changes, rising.
    gains, exploitabilities : ndarray of float64, shape (k,)
        Of the response below the first breakpoint, between breakpoints, and above the last: both rise. Payoff units.
    strategies : tuple of Strategy
        The responses.
    solves : int
        How many linear programs were solved.
    """

    breakpoints: Floats
    gains: Floats
    exploitabilities: Floats
    strategies: tuple[Strategy, ...]
    solves: int


def restricted_nash_frontier(game: Game, opponent: Strategy, game_value: float | None = None) -> Frontier:
    """Return the restricted Nash responses to a model of the opponent for all p, and where they change.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model.
    game_value : float, optional
        The value of the game to the player who responds; found if it is not given.

    Returns
    -------
    Frontier

    Raises
    ------
    SolverError
        If HiGHS finds no optimum on the way.

    Notes
    -----
    The optimum is φ(p) = max over x of p G(x) + (1 − p) W(x), with G what x earns against the model and W what it
    guarantees: convex and piecewise linear in p. Two responses give two lines; where they cross, either the optimum is
    no higher, and the crossing is a breakpoint, or a third response is found, and both halves are searched (Eisner and
    Severance, "Mathematical techniques for efficient record segmentation in large shared databases", Journal of the ACM
    23, 1976). Only the objective of the linear program changes, so the simplex method goes on from the basis of the
    neighbouring p. G and W are computed from the strategies, not read from the solver. Changes
    within 1e-7 of the ends are not told apart from them.

    Examples
    --------
    >>> from treeplex import Strategy, load_game
    >>> from treeplex.solvers.frontier import restricted_nash_frontier
    >>> game = load_game("kuhn")
    >>> frontier = restricted_nash_frontier(game, Strategy.uniform(game, 1))
    >>> frontier.breakpoints
    array([0.2       , 0.66666667])
    >>> frontier.gains.round(6), frontier.exploitabilities.round(6) + 0.0
    (array([0.222222, 0.444444, 0.555556]), array([0.      , 0.055556, 0.277778]))
    """
    problem = RestrictedNash(game, opponent, p=0.5, game_value=game_value)
    if problem.game_value is None:
        problem = with_game_value(problem)
    solver = _Solver(problem)
    # Just inside the ends, where the response is the one that an end shares with its neighbourhood.
    near = 1e-7
    first, last = solver.response(near), solver.response(1.0 - near)
    lines, breakpoints = [first], []
    tolerance = _SAME * game.sequence_form.payoff_scale
    # Intervals that are still to be searched, the lowest on top: depth first, so that bases stay near.
    stack = [(first, last)]
    while stack:
        low, high = stack.pop()
        if low.alike(high, tolerance):
            continue
        crossing = low.crossing(high)
        between = solver.response(crossing)
        if between.at(crossing) <= low.at(crossing) + tolerance:
            breakpoints.append(crossing)
            lines.append(high)
        else:
            stack += [(between, high), (low, between)]
    value = problem.known_value()
    return Frontier(
        breakpoints=np.array(breakpoints),
        gains=np.array([line.against - value for line in lines]),
        exploitabilities=np.maximum([value - line.guaranteed for line in lines], 0.0),
        strategies=tuple(line.strategy for line in lines),
        solves=solver.solves,
    )


@dataclass(frozen=True, eq=False)
class _Line:
    """What a response is worth for every p."""

    against: float
    guaranteed: float
    strategy: Strategy

    def at(self, p: float) -> float:
        return p * self.against + (1.0 - p) * self.guaranteed

    def alike(self, other: "_Line", tolerance: float) -> bool:
        return abs(self.against - other.against) + abs(self.guaranteed - other.guaranteed) <= tolerance

    def crossing(self, other: "_Line") -> float:
        """Return the p at which both are worth the same."""
        gained, lost = other.against - self.against, self.guaranteed - other.guaranteed
        return lost / (gained + lost)


class _Solver:
    """HiGHS on the linear program of a restricted Nash response, whose objective alone depends on p."""

    def __init__(self, problem: RestrictedNash) -> None:
        self.problem = problem
        self.solves = 0
        side = problem.side
        self._program = problem.linear_program()
        self._plan, self._values = self._program.columns["plan"], self._program.columns["values"]
        self._against = side.paid(problem.opponent.plan)
        self._guaranteed = side.unit * side.other.e
        self._scale = float(np.abs(np.concatenate([self._against, self._guaranteed])).max()) or 1.0
        self._highs: Any = load(self._program)
        self._highs.setOptionValue("solver", "simplex")

    def response(self, p: float) -> _Line:
        for part, objective in ((self._plan, p * self._against), (self._values, (1.0 - p) * self._guaranteed)):
            columns = np.arange(part.start, part.stop, dtype=np.int32)
            self._highs.changeColsCost(len(columns), columns, -objective / self._scale)
        self._highs.run()
        self.solves += 1
        solution = self._highs.getSolution()
        if not solution.value_valid:
            status = self._highs.modelStatusToString(self._highs.getModelStatus())
            raise SolverError(f"no restricted Nash response was found for p = {p:.9g}: HiGHS says {status.lower()}")
        side = self.problem.side
        plan = np.maximum(np.array(solution.col_value)[self._plan], 0.0)
        strategy = Strategy(self.problem.game, self.problem.player, side.own.behaviour(plan))
        return _Line(side.payoff(strategy.plan, self.problem.opponent.plan), side.worst_case(strategy.plan), strategy)
