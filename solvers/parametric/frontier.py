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
from ...seqform.errors import SolverError, UnknownMethodError
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

# Two responses whose payoffs differ by less than this part of the largest payoff are one.
_SAME = 1e-9
# How points of the frontier are solved: simplex goes on from the basis of the one before.
_SIMPLEX = "highs-simplex"
# The least p of which a response is learned.
_FIRST = 0.02
# The p of the last of them: a best response, of those the one that may lose least.
_NEARLY = 0.9999


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Drawn, Displayed):
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
    whole : bool
        Whether these are all responses. If not, they are some of them: evenly spaced in what they may lose, or learned
        for the p with the largest remaining gap. Between two of
        them the response is a mixture of both; where the slope is the same, several are best for a single p.
    """

    breakpoints: Floats
    gains: Floats
    exploitabilities: Floats
    strategies: tuple[Strategy, ...]
    gap: float
    solves: int
    whole: bool = True

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
        yield from sheet_blocks(Sheet([], [self.pieces]), "the arrays of the frontier hold all")

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
        The value of the game to the player who responds; found if it is not given.
    accuracy : float
        How far below the optimum the objective of the responses may be, for any p, in payoff units. With 0 all
        responses are found; on flow polytopes those can be very many, and fewer are looked for with a larger number.
    points : int, optional
        Only so many responses, evenly spaced in what they may lose, from an equilibrium strategy to the best response
        that may lose least, each solved from the one before. Where constraints stand for the opponent 20 by default:
        all responses are not found then.
    method : str or method, optional
        A method of regret minimisation, for games whose linear programs are too large, such as turns of hold'em: 20
        responses by default, for the p at which most is left to know.
    tol : float, optional
        To which those are solved, payoff units; by default as :func:`~treeplex.solve` has it.

    Returns
    -------
    Frontier

    Raises
    ------
    SolverError
        If HiGHS finds no optimum on the way.
    UnknownMethodError
        If the accuracy is negative or not a number, or `points` is not a whole number of at least 2.

    Notes
    -----
    The optimum is φ(p) = max over x of p G(x) + (1 − p) W(x), with G what x earns against the model and W what it
    guarantees: convex and piecewise linear in p. :func:`~treeplex.solvers.parametric.envelope.find_envelope` finds the
    pieces; only the objective of the linear program changes, so the simplex method goes on from the basis of the
    neighbouring p. G and W are computed from the strategies, not read from the solver. Responses whose payoffs G and W
    differ by less than 1e-9 of the game's largest payoff together are one, and changes within 1e-9 of the ends are not
    told apart from them.

    With `points`, the responses are ε-safe for evenly spaced ε, and so restricted Nash responses for the p at the slope
    of the frontier there. Each proves a line above which no strategy lies (:meth:`Problem.gain_line
    <treeplex.models.problems.Problem.gain_line>`), and a best response proves a level one; :attr:`Frontier.gap` is the
    largest distance of their intersection from the points, over all p. The last ε is what the response for p = 0.9999
    may lose.

    With a `method`, the first two responses are for p = 1 and p = 0.02, and each further one for the p at which two
    neighbours are worth the same, where the corner between the lines that they prove lies highest above them.

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
    count = 20 if points is None else check_whole(points, "points", UnknownMethodError, "[2, inf)")
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
    """Return ε-safe responses for so many ε."""
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
    # From where little binds to where all does: equilibria are degenerate, and take long from nothing.
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
    """Return responses for so many p: each where the lines of two neighbours leave most room above them."""
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
    """Return the p at which two neighbours leave most room between their lines and themselves; ``None`` without any."""
    ordered, room, wanted = sorted(known), 0.0, None
    for left, right in pairwise(ordered):
        ((low, steep), (loss, gain, _)), ((high, flat), (more, most, _)) = known[left], known[right]
        if more <= loss or most <= gain or steep <= flat:
            continue
        p = (more - loss) / (more - loss + most - gain)  # for which both are worth the same
        corner = (high - low) / (steep - flat)
        above = p * (low + steep * corner) - (1.0 - p) * corner - (p * gain - (1.0 - p) * loss)
        if above > room and left < p < right:
            room, wanted = above, p
    return wanted


def _through(
    found: list[tuple[float, float, Strategy]], lines: Sequence[tuple[float, float] | None], level: float, solves: int
) -> Frontier:
    """Return the frontier through responses, of which each may lose and gains something, below the lines they prove."""
    # Of those that may lose the same, the one that gains most.
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
    """Return how much more a point below all lines may be worth than the best of those given, for any p.

    Parameters
    ----------
    lines : ndarray, shape (m, 2)
        Gain without loss, and gain per unit of loss; one is level.
    gains, losses : ndarray, shape (k,)
    weights : ndarray
        The p at which the best of the points changes, and both ends: between them, the optimum below the lines is
        convex in p, and what the best point is worth linear.
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
        """Return what the free opponent of a response leaves of the objective for p at most."""
        other = self._side.other
        free = other.plan(other.behaviour(line.payload.free))
        return float(self._side.best_case(p * self._model + (1.0 - p) * free))
