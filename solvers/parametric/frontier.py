"""The frontier of restricted Nash responses: every p at which the response changes, or evenly spaced points of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...models.problems import BestResponse, EpsilonSafeResponse, RestrictedNash
from ...models.saddle import read_solution
from ...seqform.arrays import Floats
from ...seqform.checks import check_number, check_whole, explained
from ...seqform.display import Displayed, Drawn
from ...seqform.errors import InvalidOptionError, SolverError
from ...seqform.game import Game
from ...seqform.interchange.page import Content, emphasis, prose, sheet_blocks
from ...seqform.interchange.page import figure as drawn
from ...seqform.interchange.pictures import COLOURS, Figure, cut, dot_size, legend, panels
from ...seqform.sheet import Column, Sheet, Table, error, payoff
from ...seqform.strategy import Strategy
from ..dispatch import chosen_method, options_of
from ..methods import RegretMethod
from ..outcome import nearest_profile
from ..solve import solve_part, with_game_value
from .envelope import Line, find_envelope
from .program import ParametricProgram

# Two responses whose payoffs differ by less than this fraction of the largest payoff are equal.
_SAME = 1e-9
# The method for points of the frontier: simplex continues from the previous basis.
_SIMPLEX = "highs-simplex"
# The smallest p for which a response is learned.
_FIRST = 0.02
# The p of the last response: the best response with the least possible loss.
_NEARLY = 0.9999


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Drawn, Displayed):
    """Restricted Nash responses for all p from 0 to 1.

    Attributes
    ----------
    breakpoints : ndarray of float64, shape (k − 1,)
        The values of p at which the response changes, ascending.
    gains, exploitabilities : ndarray of float64, shape (k,)
        The gain and exploitability of each response, in payoff units; both increase with p.
    strategies : tuple of Strategy
        The responses.
    gap : float
        A bound on how much any strategy, for any p, can exceed the objective of the response for p. A strategy of
        the free opponent proves it at each breakpoint and at the ends, and in between it follows because the
        optimum is convex in p.
    solves : int
        The number of linear programs solved.
    whole : bool
        Whether these are all responses. If not, they are some of them: evenly spaced in the possible loss, or
        learned for the p with the largest remaining gap. Between two of them the response is a mixture of the two; if
        the slope is the same, several responses are best for one p.
    """

    breakpoints: Floats
    gains: Floats
    exploitabilities: Floats
    strategies: tuple[Strategy, ...]
    gap: float
    solves: int
    whole: bool = True

    def figure(self) -> "Figure":
        """Draw the gain of the responses against their possible loss, and both against p.

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
        curve.set(xlabel="exploitability, payoff units", ylabel="gain against the model, payoff units")
        first = self.strategies[0]
        title = f"restricted Nash responses of player {first.player}" + (f", {first.game_name}" * bool(first.game_name))
        figure.suptitle(cut(title, 100), fontsize=10, parse_math=False)
        knots = np.concatenate([[0.0], self.breakpoints, [1.0]])
        look: dict[str, Any] = {"baseline": None, "linewidth": 1.6}
        steps.stairs(self.gains, knots, color=COLOURS["blue"], label="gain", **look)
        steps.stairs(self.exploitabilities, knots, color=COLOURS["red"], linestyle="--", label="exploitability", **look)
        steps.set(xlabel="p, the weight of the model (a probability)", ylabel="payoff units", xlim=(0.0, 1.0))
        legend(steps, "upper left")
        return figure

    def _html_blocks(self) -> Iterator[Content]:
        count = len(self.strategies)
        yield prose(emphasis(f"{count:,} restricted Nash responses"), f", proven within {error(self.gap)} for every p")
        yield drawn(self.figure)
        yield from sheet_blocks(Sheet([], [self.pieces]), "the arrays of the frontier contain all")

    @property
    def pieces(self) -> Table:
        """The gain and the possible loss of the response for each range of p."""
        ends = pairwise([0.0, *self.breakpoints.tolist(), 1.0])
        numbers = zip(ends, self.gains.tolist(), self.exploitabilities.tolist(), strict=True)
        columns = [Column(key, payoff) for key in ("p_from", "p_to", "gain", "exploitability")]
        return Table(columns, [(*p, gain, lost) for p, gain, lost in numbers])

    def __repr__(self) -> str:
        return f"Frontier({len(self.strategies)} responses, gap={self.gap:.3g}, solves={self.solves})"


@explained
def restricted_nash_frontier(
    game: Game,
    opponent: Any,
    game_value: float | None = None,
    *,
    accuracy: float = 0.0,
    points: int | None = None,
    method: str | RegretMethod | None = None,
    tol: float | None = None,
) -> Frontier:
    """Return the restricted Nash responses to a model of the opponent for all p, and where they change.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponent : Strategy, or iterable of constraints
        The model, as for :class:`~treeplex.RestrictedNash`.
    game_value : float, optional
        The value of the game to the responding player; computed if it is not given.
    accuracy : float
        The allowed distance of the responses' objective from the optimum, for any p, in payoff units. With 0 all
        responses are found. On flow polytopes there may be very many; a larger number finds fewer.
    points : int, optional
        Compute only this many responses, evenly spaced in the possible loss, from an equilibrium strategy to the
        best response with the least possible loss. Each is solved from the previous one. If constraints model the
        opponent, the default is 20, and all responses cannot be computed.
    method : str or method, optional
        A method of regret minimisation, for games whose linear programs are too large, such as turns of hold'em. It
        computes 20 responses by default, for the p with the largest remaining gap.
    tol : float, optional
        The tolerance of that method, in payoff units; by default as for :func:`~treeplex.solve`.

    Returns
    -------
    Frontier

    Raises
    ------
    SolverError
        If HiGHS finds no optimum of one of the programs.
    InvalidOptionError
        If the accuracy is negative or not a number, or `points` is not a whole number of at least 2.

    Notes
    -----
    The optimum is φ(p) = max over x of p G(x) + (1 − p) W(x), where G is the payoff of x against the model and W its
    guarantee; φ is convex and piecewise linear in p. :func:`~treeplex.solvers.parametric.envelope.find_envelope` finds
    its pieces. Only the objective of the linear program changes, so the simplex method continues from the basis of the
    neighbouring p. G and W are computed from the strategies, not read from the solver. Responses whose payoffs G and W
    differ by less than 1e-9 of the game's largest payoff in total are equal, and changes within 1e-9 of the ends are
    not distinguished from the ends.

    With `points`, the responses are ε-safe for evenly spaced ε, and so restricted Nash responses for the p given by the
    slope of the frontier there. Each proves a line above which no strategy lies (:meth:`Problem.gain_line
    <treeplex.models.problems.Problem.gain_line>`), and a best response proves a horizontal line. :attr:`Frontier.gap`
    is the largest distance of their intersection from the points, over all p. The last ε is the possible loss of the
    response for p = 0.9999.

    With a `method`, the first two responses are for p = 1 and p = 0.02. Each further response is for the p at which two
    neighbours have equal objectives and the corner between their proven lines is highest above them.

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
    accuracy = check_number(accuracy, "accuracy", InvalidOptionError, "[0, inf]")
    problem = RestrictedNash(game, opponent, p=0.5, game_value=game_value)
    count = 20 if points is None else check_whole(points, "points", InvalidOptionError, "[2, inf)")
    if method is not None:
        return _learned(problem, count, method, tol)
    if points is not None or problem.constraints:
        return _evenly_spaced(problem, count)
    if problem.game_value is None:
        problem = with_game_value(problem)
    responses = _Responses(problem)
    found = find_envelope(responses.line, 0.0, 1.0, _SAME * game.stakes, accuracy)
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


def _evenly_spaced(problem: RestrictedNash, points: int) -> Frontier:
    """Return ε-safe responses for evenly spaced ε."""
    game, opponent = problem.game, problem.opponent
    safe = EpsilonSafeResponse(game, opponent, epsilon=0, game_value=problem.game_value)
    if safe.game_value is None:
        safe = with_game_value(safe)
    best = solve_part(BestResponse(game, opponent, game_value=safe.game_value), _SIMPLEX, needed="a best response")
    nearly = replace(problem, p=_NEARLY, game_value=safe.game_value)
    last = solve_part(nearly, _SIMPLEX, needed=f"the response for p = {_NEARLY}").exploitability
    level = _SAME * game.stakes
    lines = [best.problem.gain_line(best.certificate, best.multipliers)]
    found: list[tuple[float, float, Strategy]] = []
    ends = max(last, level)
    program = ParametricProgram(safe.linear_program(), replace(safe, epsilon=ends).linear_program(), 0.0, ends)
    # From few to many binding constraints: equilibria are degenerate, and slow without a starting basis.
    for epsilon in np.linspace(ends, 0.0, points).tolist() if last > level else [0.0]:
        one = replace(safe, epsilon=epsilon)
        optimum = program.solve(epsilon)
        answer = read_solution(one.canonical, optimum.primal, optimum.dual)
        profile = nearest_profile(game, answer.plans)
        certificate = one.certify(profile, answer.multipliers, answer.dual_certificate)
        lines.append(one.gain_line(certificate, answer.multipliers))
        assert certificate.gain is not None
        found.append((float(certificate.exploitability), float(certificate.gain), profile[problem.player]))
    return _through(found, lines, level, points + 2)


def _learned(problem: RestrictedNash, points: int, method: str | RegretMethod, tol: float | None) -> Frontier:
    """Return responses for several p, each chosen where its neighbours' lines and values leave the largest gap."""
    chosen = chosen_method(method, problem)
    limits = options_of(chosen, problem, tol=tol)
    if problem.game_value is None:
        problem = with_game_value(problem, chosen, limits.tol)
    known: dict[float, tuple[tuple[float, float], tuple[float, float, Strategy]]] = {}
    wanted: float | None = 1.0
    while wanted is not None and len(known) < points:
        needed = f"the response for p = {wanted:.6g}"
        solution = solve_part(replace(problem, p=wanted), chosen, tol=limits.tol, needed=needed)
        line = solution.problem.gain_line(solution.certificate, solution.multipliers)
        assert line is not None
        assert solution.gain is not None
        known[wanted] = line, (solution.exploitability, solution.gain, solution.profile[problem.player])
        wanted = _FIRST if len(known) == 1 else _most_open(known)
    lines, found = zip(*known.values(), strict=True)
    return _through(list(found), list(lines), _SAME * problem.game.stakes, len(known) + 1)


def _most_open(known: Mapping[float, tuple[tuple[float, float], tuple[float, float, Strategy]]]) -> float | None:
    """Return the p at which two neighbours' lines and values leave the largest gap; ``None`` if there is no gap."""
    ordered, room, wanted = sorted(known), 0.0, None
    for left, right in pairwise(ordered):
        ((low, steep), (loss, gain, _)), ((high, flat), (more, most, _)) = known[left], known[right]
        if more <= loss or most <= gain or steep <= flat:
            continue
        p = (more - loss) / (more - loss + most - gain)  # for which both have the same objective
        corner = (high - low) / (steep - flat)
        above = p * (low + steep * corner) - (1.0 - p) * corner - (p * gain - (1.0 - p) * loss)
        if above > room and left < p < right:
            room, wanted = above, p
    return wanted


def _through(
    found: list[tuple[float, float, Strategy]], lines: Sequence[tuple[float, float] | None], level: float, solves: int
) -> Frontier:
    """Return the frontier through responses with given losses and gains, below the lines that they prove."""
    # Of responses with the same loss, keep the one with the largest gain.
    found.sort(key=lambda each: (each[0], -each[1]))
    kept = [found[0]]
    for each in found[1:]:
        if each[0] - kept[-1][0] > level and each[1] > kept[-1][1]:
            kept.append(each)
    lost, gained = (np.array([each[place] for each in kept]) for place in (0, 1))
    breakpoints = np.maximum.accumulate(np.diff(lost) / (np.diff(lost) + np.maximum(np.diff(gained), 0.0)))
    return Frontier(
        breakpoints=breakpoints,
        gains=gained,
        exploitabilities=lost,
        strategies=tuple(each[2] for each in kept),
        gap=_distance(
            np.array([line for line in lines if line is not None]),
            gained,
            lost,
            np.concatenate([[0.0], breakpoints, [1.0]]),
        ),
        solves=solves,
        whole=False,
    )


def _distance(lines: Floats, gains: Floats, losses: Floats, weights: Floats) -> float:
    """Return the largest difference, over all p, between the best point below all lines and the best given point.

    Parameters
    ----------
    lines : ndarray, shape (m, 2)
        The gain without loss, and the gain per unit of loss; one line is horizontal.
    gains, losses : ndarray, shape (k,)
    weights : ndarray
        The p at which the best point changes, and both ends. Between them the optimum below the lines is convex in
        p, and the objective of the best point is linear.
    """
    heights, slopes = lines[:, 0], lines[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (heights[:, None] - heights) / (slopes - slopes[:, None])
    corners = np.append(crossings[np.isfinite(crossings) & (crossings > 0.0)], 0.0)
    tops = (heights[:, None] + slopes[:, None] * corners).min(axis=0)
    p = weights[:, None]
    below, reached = p * tops - (1.0 - p) * corners, p * gains - (1.0 - p) * losses
    return float(np.max(below.max(axis=1) - reached.max(axis=1)))


@dataclass(frozen=True, eq=False)
class _Response:
    """A response's behaviour, and the unrestricted opponent's plan from the solver."""

    behaviour: Floats
    free: Floats


class _Responses:
    """The linear program of a restricted Nash response; only its objective depends on p."""

    def __init__(self, problem: RestrictedNash) -> None:
        self._side = problem.view()
        self._model = problem.opponent.plan
        self._against = self._side.own_gradient(self._model)
        first, last = (replace(problem, p=p).linear_program() for p in (0.0, 1.0))
        self._program = ParametricProgram(first, last, 0.0, 1.0)

    def line(self, p: float) -> Line[_Response]:
        """Return the objective, as a line over all p, of the response that is best for the given ``p``."""
        try:
            optimum = self._program.solve(p)
        except SolverError as error:
            raise SolverError(f"found no restricted Nash response for p = {p:.9g}: {error}") from None
        own = self._side.own
        behaviour = own.behaviour(np.maximum(optimum.primal["plan"], 0.0))
        plan = own.plan(behaviour)
        return Line(
            first=self._side.worst_case(plan),
            last=float(plan @ self._against),
            payload=_Response(behaviour, np.maximum(optimum.dual["response"], 0.0)),
        )

    def bound(self, p: float, line: Line[_Response]) -> float:
        """Return the bound on the objective for p that the unrestricted opponent's plan proves."""
        other = self._side.other
        free = other.plan(other.behaviour(line.payload.free))
        return float(self._side.best_case(p * self._model + (1.0 - p) * free))
