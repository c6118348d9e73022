"""The whole frontier of restricted Nash responses: every p at which the response changes, without a grid."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...models.problems import RestrictedNash
from ...seqform.arrays import Floats
from ...seqform.checks import check_number
from ...seqform.errors import SolverError, UnknownMethodError
from ...seqform.game import Game
from ...seqform.interchange.pictures import COLOURS, Drawn, dot_size, legend, panels
from ...seqform.strategy import Strategy
from ..solve import with_game_value
from .envelope import Line, find_envelope
from .program import ParametricProgram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Two responses whose payoffs differ by less than this part of the largest payoff are one.
_SAME = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Drawn):
    """Restricted Nash responses for all p from 0 to 1.

    Attributes
    ----------
    breakpoints : ndarray of float64, shape (k − 1,)
        The values of p at which the response changes, rising.
    gains, exploitabilities : ndarray of float64, shape (k,)
        Of the response below the first breakpoint, between breakpoints, and above the last: both rise. Payoff units.
    strategies : tuple of Strategy
        The responses.
    gap : float
        What the objective of no strategy, for no p, exceeds that of the response for p by: proven by a strategy of the
        free opponent at each breakpoint and at the ends, and between them because the optimum is convex in p.
    solves : int
        How many linear programs were solved.
    """

    breakpoints: Floats
    gains: Floats
    exploitabilities: Floats
    strategies: tuple[Strategy, ...]
    gap: float
    solves: int

    def figure(self) -> "Figure":
        """Draw what the responses gain against what they may lose, and both against p.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        MissingExtraError
            If matplotlib is not installed.
        """
        figure, (curve, steps) = panels(1, 2, (8.6, 3.6))
        size = dot_size(len(self.gains))
        curve.plot(self.exploitabilities, self.gains, "o-", color=COLOURS["blue"], markersize=size, linewidth=1.4)
        curve.set(xlabel="exploitability", ylabel="gain against the model")
        knots = np.concatenate([[0.0], self.breakpoints, [1.0]])
        look: dict[str, Any] = {"baseline": None, "linewidth": 1.6}
        steps.stairs(self.gains, knots, color=COLOURS["blue"], label="gain", **look)
        steps.stairs(self.exploitabilities, knots, color=COLOURS["red"], linestyle="--", label="exploitability", **look)
        steps.set(xlabel="p", xlim=(0.0, 1.0))
        legend(steps, "upper left")
        return figure

    def __repr__(self) -> str:
        return f"Frontier({len(self.strategies)} responses, gap={self.gap:.3g}, solves={self.solves})"


def restricted_nash_frontier(
    game: Game, opponent: Strategy, game_value: float | None = None, *, accuracy: float = 0.0
) -> Frontier:
    """Return the restricted Nash responses to a model of the opponent for all p, and where they change.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model.
    game_value : float, optional
        The value of the game to the player who responds; found if it is not given.
    accuracy : float
        How far below the optimum the objective of the responses may be, for any p, in payoff units. With 0 all
        responses are found; on flow polytopes those can be very many, and fewer are looked for with a larger number.

    Returns
    -------
    Frontier

    Raises
    ------
    SolverError
        If HiGHS finds no optimum on the way.
    UnknownMethodError
        If the accuracy is no number of at least 0.

    Notes
    -----
    The optimum is φ(p) = max over x of p G(x) + (1 − p) W(x), with G what x earns against the model and W what it
    guarantees: convex and piecewise linear in p. :func:`~treeplex.solvers.parametric.envelope.find_envelope` finds the
    pieces; only the objective of the linear program changes, so the simplex method goes on from the basis of the
    neighbouring p. G and W are computed from the strategies, not read from the solver. Responses whose payoffs G and W
    differ by less than 1e-9 of the game's largest payoff together are one, and changes within 1e-9 of the ends are not
    told apart from them.

    Examples
    --------
    >>> from treeplex import Strategy, load_game, restricted_nash_frontier
    >>> game = load_game("kuhn")
    >>> frontier = restricted_nash_frontier(game, Strategy.uniform(game, 1))
    >>> frontier.breakpoints
    array([0.2       , 0.66666667])
    >>> frontier.gains.round(6), frontier.exploitabilities.round(6) + 0.0
    (array([0.222222, 0.444444, 0.555556]), array([0.      , 0.055556, 0.277778]))
    """
    accuracy = check_number(accuracy, "accuracy", UnknownMethodError, "[0, inf]")
    problem = RestrictedNash(game, opponent, p=0.5, game_value=game_value)
    if problem.game_value is None:
        problem = with_game_value(problem)
    responses = _Responses(problem)
    found = find_envelope(responses.line, 0.0, 1.0, _SAME * game.sequence_form.payoff_scale, accuracy)
    value = problem.known_value()
    return Frontier(
        breakpoints=found.breakpoints,
        gains=np.array([line.last - value for line in found.pieces]),
        exploitabilities=np.array([max(0.0, value - line.first) for line in found.pieces]),
        strategies=tuple(Strategy(game, problem.player, line.payload.behaviour) for line in found.pieces),
        gap=max(
            responses.bound(p, line) - found.value(p)
            for p, line in zip(found.knots.tolist(), found.touching, strict=True)
        ),
        solves=found.solves,
    )


@dataclass(frozen=True, eq=False)
class _Response:
    """A response's behaviour, and the free opponent's plan as the solver left it."""

    behaviour: Floats
    free: Floats


class _Responses:
    """The linear program of a restricted Nash response, whose objective alone depends on p."""

    def __init__(self, problem: RestrictedNash) -> None:
        self._side = problem.view()
        self._model = problem.opponent.plan
        self._against = self._side.own_gradient(self._model)
        first, last = (replace(problem, p=p).linear_program() for p in (0.0, 1.0))
        self._program = ParametricProgram(first, last, 0.0, 1.0)

    def line(self, p: float) -> Line[_Response]:
        """Return what the response for p is worth for every p."""
        try:
            optimum = self._program.solve(p)
        except SolverError as error:
            raise SolverError(f"no restricted Nash response was found for p = {p:.9g}: {error}") from None
        own = self._side.own
        behaviour = own.behaviour(np.maximum(optimum.primal["plan"], 0.0))
        plan = own.plan(behaviour)
        return Line(
            first=self._side.worst_case(plan),
            last=float(plan @ self._against),
            payload=_Response(behaviour, np.maximum(optimum.dual["response"], 0.0)),
        )

    def bound(self, p: float, line: Line[_Response]) -> float:
        """Return what the free opponent of a response leaves of the objective for p at most."""
        other = self._side.other
        free = other.plan(other.behaviour(line.payload.free))
        return float(self._side.best_case(p * self._model + (1.0 - p) * free))
