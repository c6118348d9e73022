"""Figure 2 of the paper on constrained CFR, in the transit game.

The figure shows the cost of a bound on the patroller's risk (a), the convergence of constrained CFR (b), and the times
of constrained CFR and the linear program by the size of the game (c).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np

from ...models.constraints import functional_bound
from ...models.games import load_game
from ...models.problems import ConstrainedNash, Nash
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError
from ...seqform.evaluate import worst_case
from ...seqform.game import Game
from ...seqform.interchange.pictures import Figure, Look, legend, legend_below, panels
from ...solvers import CCFR, Solution, Status
from ..table import Column, Row, fields, verdict
from .claims import Claim
from .experiment import Experiment, Limits, Paper, Tell, completed, largest, sweep_groups, timed

CONSTRAINED_CFR = Paper(
    'T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019',
    "https://arxiv.org/abs/1809.07893",
)
#: The method for each recipe. The paper's recipe is algorithm 1 on plain CFR. The evader answers the patroller's last
#: plan, the multiplier moves by that plan, and the patroller answers both. Averages are uniform, and the step is
#: constant. A step of 1 is in payoff units, which equal the method's units: the largest payoff of the transit game is
#: 1.
RECIPES = {
    "default": CCFR(),
    "paper": CCFR(base="cfr", updates="alternating", averaging="uniform", steps="constant", step=1.0),
}
#: Descriptions of the recipes.
IN_WORDS = {"default": "the defaults here", "paper": "the paper's recipe"}
#: The player whose risk is bounded.
PATROLLER = 1
#: The largest distance of a patroller from its bound on the risk, and from the exact exploitability.
TOLERANCE = 1e-3
#: Allowance for rounding in a precision.
ROUND_OFF = 1e-9


@lru_cache(maxsize=2)
def transit_game(width: int) -> Game:
    """Return the transit game of a given width; the last two games stay in memory."""
    return load_game(f"transit:width={width}")


def risk_problem(width: int, bound: float) -> ConstrainedNash:
    """Return the equilibrium problem with a bound on the patroller's risk."""
    game = transit_game(width)
    return ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=bound, name="risk")])


def best_evader(solution: Solution) -> float:
    """Return the evader's payoff from a best response to a solution's patroller, in payoff units."""
    return -worst_case(solution.problem.game, solution.profile[PATROLLER])


def risk_of(solution: Solution) -> float:
    """Return the risk of a solution's patroller, a probability."""
    return float(solution.problem.game.functionals["risk"].value(solution.profile[PATROLLER]))


@lru_cache(maxsize=8)
def unconstrained_value(width: int) -> float:
    """Return the evader's payoff in the equilibrium without a bound, in payoff units.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    SolverError
        If HiGHS does not prove it.
    """
    solution = completed(Nash(transit_game(width)), "highs")
    if solution.status is not Status.OPTIMAL:
        raise SolverError(f"the value of {solution.problem.game.spec} was not found: {solution.message}")
    assert solution.lower is not None
    assert solution.upper is not None
    return (solution.lower + solution.upper) / 2.0


def unproven_difference(difference: float, solution: Solution, violation: float, exact: Solution) -> bool:
    """Whether two solutions' exploitabilities differ by more than their certificates and a violation's price allow."""
    assert solution.gap is not None
    slack = exact.tolerance + ROUND_OFF
    least = -max(0.0, exact.multipliers.get("risk", 0.0)) * violation
    return not least - slack <= difference <= solution.gap + slack


@dataclass(frozen=True)
class FrontierRow(Row):
    """One bound on the risk, with the solutions of constrained CFR and of the exact linear program.

    Attributes
    ----------
    width : int
        The width of the game.
    risk_bound : float
        The bound on the risk, a probability like all risks.
    recipe : str
        The recipe of constrained CFR: ``default`` or ``paper``.
    risk : float
        The risk of constrained CFR's average patroller.
    exploitability : float
        The value of the game without a bound minus that patroller's worst case, in payoff units.
    frontier_risk, frontier_exploitability : float
        The same numbers for the linear program's patroller.
    difference : float
        The first exploitability minus the second.
    price : float
        The decrease of the smallest exploitability per unit of risk: the shadow price in the linear program.
    gap, violation : float
        The error that constrained CFR proves for itself.
    iterations : int
    seconds, exact_seconds : float
        Solving time of constrained CFR and of the linear program.
    """

    width: int
    risk_bound: Annotated[float, Column("bound", ".3g")]
    recipe: Annotated[str, Column("recipe")]
    risk: Annotated[float, Column("risk", ".5f")]
    exploitability: Annotated[float, Column("exploitability", ".6f")]
    frontier_risk: float
    frontier_exploitability: Annotated[float, Column("frontier", ".6f")]
    difference: Annotated[float, Column("difference", ".1e")]
    price: Annotated[float, Column("price", ".4f")]
    gap: float
    violation: float
    iterations: int
    seconds: float
    exact_seconds: float


@dataclass(frozen=True)
class CCFRFigure2a(Experiment[FrontierRow]):
    """Risk and exploitability of the patroller for several risk bounds, with the defaults and with the paper's recipe.

    Parameters
    ----------
    width : int
        The width of the transit game.
    bounds : tuple of float
        Bounds on the risk.
    iterations : int
        Iterations of constrained CFR for each bound and recipe.
    jobs : int, optional
        Number of processes for the bounds, as in :func:`~treeplex.validation.papers.experiment.sweep`.

    Notes
    -----
    The exploitability of a patroller is v − min over y of u(x̄, y), where v is the value of the game without a bound, in
    the patroller's payoff. It is therefore the cost of the bound, and 0 if the bound does not bind. A different v would
    move dots and frontier equally.

    The smallest exploitability E(b) is convex in the bound b, and its slope at b is minus the multiplier of the linear
    program. Therefore E lies below the chords between the exact points and above their tangents. The figure shows the
    remaining band between them.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 2 (a).
    """

    width: Annotated[int, Limits("[2, inf)")]
    bounds: Annotated[tuple[float, ...], Limits("[0, inf)")]
    iterations: Annotated[int, Limits("[1, inf)")] = 100_000
    jobs: int | None = None

    name = "ccfr-figure-2a"
    title = "risk against exploitability in the transit game, by constrained CFR and exactly"
    axes = ("bounds",)
    figure = "2 (a)"
    paper = CONSTRAINED_CFR
    criterion = (
        f"by the defaults, risk is within {TOLERANCE:g} of its bound, if the bound binds, and exploitability is within "
        f"{TOLERANCE:g} of the exact one"
    )

    quick_settings: ClassVar = {
        "width": 3,
        "bounds": (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "iterations": 20_000,
    }
    full_settings: ClassVar = {
        "width": 8,
        "bounds": (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
        "jobs": -1,
    }

    @property
    def num_rows(self) -> int:
        """One row per bound and recipe."""
        return len(self.bounds) * len(RECIPES)

    def rows(self, tell: Tell) -> Iterator[FrontierRow]:
        """Yield a row per recipe for each bound, in the order of the bounds."""
        tell(f"value of transit:width={self.width} without a bound")
        value = unconstrained_value(self.width)
        groups = [(f"risk at most {bound:g}", [(self.width, bound, self.iterations, value)]) for bound in self.bounds]
        for found in sweep_groups(frontier_rows, groups, tell, self.jobs):
            for own in found:
                yield from own

    def claims(self, rows: Sequence[FrontierRow]) -> list[Claim]:
        """Return the paper's claim on the distance between dots and frontier, and this distance for each recipe."""
        claims = [
            Claim("iterations for each bound", 100_000, rows[0].iterations if rows else None).judged(
                lambda iterations: iterations <= 100_000, "it takes more iterations"
            )
        ]
        for recipe, words in IN_WORDS.items():
            own = [row for row in rows if row.recipe == recipe]
            for what, distance in (
                (
                    "a risk from its bound, if the bound binds",
                    largest(abs(row.risk - row.risk_bound) for row in own if row.price > 0.0),
                ),
                ("an exploitability from the exact one, in payoff units", largest(abs(row.difference) for row in own)),
            ):
                claim = Claim(f"largest distance of {what}, by {words}", TOLERANCE, distance).judged(
                    lambda distance: distance <= TOLERANCE, "large multipliers take many iterations to reach"
                )
                fewer = f"the run has {self.iterations:,} iterations for each bound, but the paper's has 100,000"
                claims.append(claim if self.iterations >= 100_000 else claim.opened(fewer))
        return claims

    def draw(self, rows: Sequence[FrontierRow]) -> "Figure":
        """Draw the exact frontier with the dots of constrained CFR."""
        figure, axes = panels(1, 1, (5.8, 4.0))
        if rows:
            bounds, least, most = band(rows)
            Look("black").plot(axes, bounds, most, linewidth=1.1, label="exact: linear programs, and chords between")
            Look("orange").shade(axes, bounds, least, most, alpha=0.6, label="room left by their tangents")
            for recipe, look in (("default", Look("blue", "o", "")), ("paper", Look("red", "x", ""))):
                own = [row for row in rows if row.recipe == recipe]
                label = f"{IN_WORDS[recipe]}, {rows[0].iterations:,} iterations"
                look.plot(axes, *fields(own, "risk", "exploitability"), label=label)
        legend(axes, "upper right")
        axes.set(
            xlabel="risk: probability that the patroller is not back at its base",
            ylabel="exploitability (payoff units)",
            title=f"transit game, width {self.width}",
        )
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        return figure


def frontier_rows(width: int, bound: float, iterations: int, value: float) -> list[FrontierRow]:
    """Return the rows of one bound, one per recipe.

    Parameters
    ----------
    width : int
    bound : float
        The bound on the risk.
    iterations : int
        Iterations of constrained CFR with each recipe.
    value : float
        The evader's payoff without a bound, in payoff units.
    """
    problem = risk_problem(width, bound)
    exact = completed(problem, "highs")
    return [
        _frontier_row(
            width, bound, recipe, completed(problem, method, tol=0.0, max_iterations=iterations), exact, value
        )
        for recipe, method in RECIPES.items()
    ]


def _frontier_row(
    width: int, bound: float, recipe: str, solution: Solution, exact: Solution, value: float
) -> FrontierRow:
    assert solution.gap is not None
    exploitability, frontier = best_evader(solution) - value, best_evader(exact) - value
    risk, price = risk_of(solution), max(0.0, exact.multipliers["risk"])
    judged = recipe == "default"
    far = not risk <= bound + TOLERANCE or (price > 0.0 and not risk >= bound - TOLERANCE)
    apart = abs(exploitability - frontier)
    return FrontierRow(
        width=width,
        risk_bound=bound,
        recipe=recipe,
        risk=risk,
        exploitability=exploitability,
        frontier_risk=risk_of(exact),
        frontier_exploitability=frontier,
        difference=exploitability - frontier,
        price=price,
        gap=solution.gap,
        violation=solution.violation,
        iterations=solution.iterations,
        seconds=solution.seconds,
        exact_seconds=exact.seconds,
        failure=verdict(
            (exact.status is not Status.OPTIMAL, f"the linear program is {exact.status}"),
            (judged and far, f"risk {risk:.6g} is {abs(risk - bound):.1e} from its bound"),
            (judged and not apart <= TOLERANCE, f"exploitability is {apart:.1e} from the exact one"),
        ),
    )


def band(rows: Sequence[FrontierRow]) -> tuple[Floats, Floats, Floats]:
    """Return bounds on the smallest exploitability as a function of the risk bound, from the exact points.

    Parameters
    ----------
    rows : sequence of FrontierRow
        At least one row, all of one game; rows of one bound are one point.

    Returns
    -------
    bounds, least, most : ndarray of float64, shape (k,)
        Bounds on the risk in increasing order, with a lower bound on the smallest exploitability from the tangents of
        its convex function, and an upper bound from the chords. Both are linear between neighbouring points.
    """
    points = sorted(
        {row.risk_bound: (row.risk_bound, row.frontier_exploitability, -row.price) for row in rows}.values()
    )
    places, exact, slopes = (np.array(column) for column in zip(*points, strict=True))
    # Tangents of neighbours intersect between them unless they coincide.
    turns = np.diff(slopes) > 1e-9
    lines = exact - slopes * places
    meet = np.divide(-np.diff(lines), np.diff(slopes), out=(places[:-1] + places[1:]) / 2, where=turns)
    meet = np.clip(meet, places[:-1], places[1:])
    bounds = np.sort(np.concatenate([places, meet]))
    tangents = lines[:, None] + slopes[:, None] * bounds
    return bounds, tangents.max(axis=0), np.interp(bounds, places, exact)


#: Number of stages for each factor of ten in the iterations.
_STAGES = 4


@dataclass(frozen=True)
class ConvergenceRow(Row):
    """The patroller of one method after a number of iterations.

    Attributes
    ----------
    width : int
        The width of the game.
    risk_bound : float
    recipe : str
        ``paper``, ``default``, or ``exact`` for the linear program, which has a single row, the first.
    method : str
        The method's name.
    iterations : int
    seconds : float
        Solving time up to that point, without certificates and measurements of the strategies.
    risk : float
        The risk of the average patroller.
    violation : float
        Its risk above the bound, or 0.
    difference : float
        Its exploitability minus that of the linear program's patroller, in payoff units; negative if it gains more
        from its violation than it loses.
    gap : float
        The certificate's bound on the difference.
    """

    width: int
    risk_bound: float
    recipe: Annotated[str, Column("recipe")]
    method: str
    iterations: Annotated[int, Column("iterations", ",")]
    seconds: Annotated[float, Column("seconds", ".3g")]
    risk: float
    violation: Annotated[float, Column("violation", ".1e")]
    difference: Annotated[float, Column("difference", ".1e")]
    gap: Annotated[float, Column("gap", ".1e")]


@dataclass(frozen=True)
class CCFRFigure2b(Experiment[ConvergenceRow]):
    """Difference of exploitabilities and violation over time, with the paper's recipe and with this library's defaults.

    Parameters
    ----------
    width : int
        The width of the transit game.
    iterations : int
        Iterations of each method.
    bound : float
        The bound on the risk.

    Notes
    -----
    Runs proceed in stages, each of which continues the one before. After each stage the patroller's average is
    evaluated. The difference of exploitabilities is the evader's best-response payoff against this average, minus that
    against the linear program's patroller; it does not depend on the reference value. Times are those of
    :func:`~treeplex.validation.papers.experiment.timed`.

    A row fails if it contradicts the certificates. The difference must be at most the gap. A violation saves at most
    its price, so the difference must be at least −λ times the violation, with λ the multiplier of the linear program.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 2 (b).
    """

    width: Annotated[int, Limits("[2, inf)")]
    iterations: Annotated[int, Limits("[1, inf)")] = 100_000
    bound: Annotated[float, Limits("[0, inf)")] = 0.1

    name = "ccfr-figure-2b"
    title = "convergence of constrained CFR over time, beside the time of the linear program"
    figure = "2 (b)"
    paper = CONSTRAINED_CFR
    criterion = (
        "the difference lies within the certificates' bounds, and at the end, by the defaults, difference and "
        f"violation are at most {TOLERANCE:g}"
    )

    quick_settings: ClassVar = {"width": 4, "iterations": 20_000}
    full_settings: ClassVar = {"width": 8}

    @property
    def stages(self) -> list[int]:
        """The iterations after which the averages are evaluated, in increasing order."""
        between = (round(10 ** (1.0 + power / _STAGES)) for power in range(60))
        return [*(stage for stage in between if stage < self.iterations), self.iterations]

    @property
    def num_rows(self) -> int:
        """One row per stage and recipe, and one row for the linear program."""
        return 1 + len(RECIPES) * len(self.stages)

    def rows(self, tell: Tell) -> Iterator[ConvergenceRow]:
        """Yield the linear program's row, the stages of the defaults, and those of the paper's recipe."""
        problem = risk_problem(self.width, self.bound)
        tell(f"linear program of width {self.width}")
        exact, seconds = timed(problem, "highs")
        yield self._row("exact", exact, exact, seconds)
        for recipe, method in RECIPES.items():
            solution: Solution | None = None
            seconds, done = 0.0, 0
            for stage in self.stages:
                tell(f"{recipe}: {stage:,} iterations")
                solution, took = timed(problem, method, tol=0.0, max_iterations=stage - done, start=solution)
                seconds, done = seconds + took, stage
                yield self._row(recipe, solution, exact, seconds)

    def _row(self, recipe: str, solution: Solution, exact: Solution, seconds: float) -> ConvergenceRow:
        assert solution.gap is not None
        risk, difference = risk_of(solution), best_evader(solution) - best_evader(exact)
        violation = max(0.0, risk - self.bound)
        ended = recipe == "default" and solution.iterations >= self.iterations
        unproven = unproven_difference(difference, solution, violation, exact)
        return ConvergenceRow(
            width=self.width,
            risk_bound=self.bound,
            recipe=recipe,
            method=solution.method.name,
            iterations=solution.iterations,
            seconds=seconds,
            risk=risk,
            violation=violation,
            difference=difference,
            gap=solution.gap,
            failure=verdict(
                (recipe == "exact" and exact.status is not Status.OPTIMAL, f"the linear program is {exact.status}"),
                (unproven, f"the difference {difference:.1e} is not within the gap {solution.gap:.1e}"),
                (ended and not abs(difference) <= TOLERANCE, f"difference above {TOLERANCE:g} at the end"),
                (ended and not violation <= TOLERANCE, f"violation above {TOLERANCE:g} at the end"),
            ),
        )

    def claims(self, rows: Sequence[ConvergenceRow]) -> list[Claim]:
        """Return how long difference and violation take to reach precisions, relative to the linear program's time."""
        exact = next((row.seconds for row in rows if row.recipe == "exact"), None)
        claims = []
        for recipe, words in IN_WORDS.items():
            for precision in (1e-2, 1e-3, 1e-4):
                seconds = settled([row for row in rows if row.recipe == recipe], precision)
                ratio = None if seconds is None or not exact else seconds / exact
                claims.append(Claim(f"time to {precision:g} by {words}, over that of the linear program", None, ratio))
        return claims

    def draw(self, rows: Sequence[ConvergenceRow]) -> "Figure":
        """Draw difference and violation against time, on linear and logarithmic axes."""
        figure, both = panels(1, 2, (8.8, 4.2), sharey=True)
        looks = {"default": Look("blue"), "paper": Look("red")}
        for axes in both:
            for recipe, look in looks.items():
                words = IN_WORDS[recipe]
                points = [row for row in rows if row.recipe == recipe]
                seconds, difference, violation = map(np.array, fields(points, "seconds", "difference", "violation"))
                look.plot(axes, seconds, _positive(np.abs(difference)), label=f"difference, {words}")
                # Values below the exact optimum are due to violations of the bound.
                for chosen, fill in ((difference > 0.0, look.hexadecimal), (difference < 0.0, "white")):
                    dots = Look(look.colour, "o", "")
                    dots.plot(axes, seconds[chosen], np.abs(difference[chosen]), markerfacecolor=fill, markersize=4)
                Look(look.colour, "x", "").plot(
                    axes, seconds, _positive(violation, ROUND_OFF), label=f"violation, {words}"
                )
            for row in rows:
                if row.recipe == "exact":
                    Look("black").upright(axes, row.seconds, linewidth=1.4, label="time of the linear program")
            axes.set(xlabel="seconds", yscale="log")
        both[0].set_ylabel("difference (payoff units)\nviolation (probability)")
        both[0].set_xlim(left=0.0)
        both[1].set_xscale("log")
        legend_below(figure, 3)
        figure.suptitle(f"transit game, width {self.width}, risk at most {self.bound:g}")
        return figure


def settled(rows: Sequence[ConvergenceRow], precision: float) -> float | None:
    """Return the seconds after which difference and violation stay within a precision; ``None`` if they never do.

    Parameters
    ----------
    rows : sequence of ConvergenceRow
        Rows of one recipe, in order.
    precision : float
    """
    since = None
    for row in rows:
        within = max(abs(row.difference), row.violation) <= precision
        since = (row.seconds if since is None else since) if within else None
    return since


def _positive(values: Any, least: float = 0.0) -> Any:
    """Return values with gaps where a logarithmic axis cannot show them, or where they do not exceed a minimum."""
    return np.where(values > least, values, np.nan)


#: A solve that takes less time is repeated, and the shortest time counts, because clocks and caches disturb it.
_SHORT, _REPEATS = 0.5, 5


@dataclass(frozen=True)
class TimeRow(Row):
    """One method on one game.

    Attributes
    ----------
    width : int
        The width of the game.
    sequences : int
        Sequences of both players together.
    risk_bound : float
    recipe : str
        ``exact`` for the linear program, ``default`` or ``paper`` for constrained CFR.
    precision : float or None
        The bound on gap and violation; ``None`` for the linear program, which uses HiGHS's own tolerances.
    status : str
        The solution's status: ``converged``, ``optimal``, or a limit.
    iterations : int
    seconds : float
        As measured by :func:`~treeplex.validation.papers.experiment.timed`; the shortest of several solves if it is
        less than half a second.
    ratio : float or None
        The linear program's seconds divided by these; ``None`` if one of the two was not solved.
    gap, violation : float
        The error that the solution proves for itself.
    difference : float or None
        The patroller's exploitability minus that of the linear program's, in payoff units; ``None`` if that was not
        solved.
    risk : float
        The patroller's risk.
    """

    width: Annotated[int, Column("width")]
    sequences: int
    risk_bound: float
    recipe: Annotated[str, Column("recipe")]
    precision: Annotated[float | None, Column("precision", ".0e")]
    status: str
    iterations: Annotated[int, Column("iterations", ",")]
    seconds: Annotated[float, Column("seconds", ".3g")]
    ratio: Annotated[float | None, Column("LP / this", ".3g")]
    gap: float
    violation: float
    difference: float | None
    risk: float


@dataclass(frozen=True)
class CCFRFigure2c(Experiment[TimeRow]):
    """Times of constrained CFR to several precisions, and of the linear program, by width of the transit game.

    Parameters
    ----------
    widths : tuple of int
        Widths of the games solved by the linear program and both recipes of constrained CFR.
    wider : tuple of int
        Widths of the games solved only by constrained CFR with its defaults.
    precisions : tuple of float
        Bounds on gap and violation. If both are at most ε, the exploitability is at most ε above the exact one, and the
        risk at most ε above its bound. A violation may lower the exploitability further.
    bound : float
        The bound on the risk.
    time_limit : float
        Time limit in seconds for each solve.

    Notes
    -----
    Constrained CFR runs until its own certificate proves the precision, which needs no linear program. With the paper's
    recipe it may reach the time limit; such a row has no ratio, and does not fail.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 2 (c).
    """

    widths: Annotated[tuple[int, ...], Limits("[2, inf)")]
    wider: Annotated[tuple[int, ...], Limits("[2, inf)", empty=True)] = ()
    precisions: Annotated[tuple[float, ...], Limits("[1e-7, inf)")] = (1e-2, 1e-3, 1e-4)
    bound: Annotated[float, Limits("[0, inf)")] = 0.1
    time_limit: Annotated[float, Limits("[0, inf)")] = 60.0

    name = "ccfr-figure-2c"
    title = "time of constrained CFR and of the linear program by width of the transit game"
    figure = "2 (c)"
    paper = CONSTRAINED_CFR
    criterion = (
        "each solve ends within the time limit (not required with the paper's recipe), gap and violation are within "
        "the precision, and the difference to the linear program is within the proven range"
    )

    quick_settings: ClassVar = {"widths": (2, 3, 4, 5)}
    full_settings: ClassVar = {"widths": tuple(range(2, 11)), "wider": (12, 14, 16), "time_limit": 600.0}

    @property
    def num_rows(self) -> int:
        """One row per game, recipe and precision, and one for the linear program."""
        runs = len(RECIPES) * len(self.widths) + len(self.wider)
        return len(self.widths) + runs * len(self.precisions)

    def rows(self, tell: Tell) -> Iterator[TimeRow]:
        """Yield the linear program's row and those of the precisions, width by width."""
        for width in (*self.widths, *self.wider):
            problem = risk_problem(width, self.bound)
            known = None
            if width in self.widths:
                tell(f"linear program of width {width}")
                exact = self._timed(problem, "highs")
                yield self._row(width, "exact", None, *exact, exact)
                known = exact if exact[0].status is Status.OPTIMAL else None
            for recipe in RECIPES if width in self.widths else ("default",):
                for precision in self.precisions:
                    tell(f"constrained CFR of width {width} to {precision:g} by {IN_WORDS[recipe]}")
                    found = self._timed(problem, RECIPES[recipe], tol=precision)
                    yield self._row(width, recipe, precision, *found, known)

    def _timed(self, problem: Any, method: Any, **limits: Any) -> tuple[Solution, float]:
        """Solve, and return the solution and the shortest time of several solves."""
        times: list[float] = []
        while not times or (min(times) < _SHORT and len(times) < _REPEATS):
            solution, seconds = timed(problem, method, time_limit=self.time_limit, **limits)
            times.append(seconds)
        return solution, min(times)

    def _row(
        self,
        width: int,
        recipe: str,
        precision: float | None,
        solution: Solution,
        seconds: float,
        known: tuple[Solution, float] | None,
    ) -> TimeRow:
        assert solution.gap is not None
        gap, violation = solution.gap, solution.violation
        ended = solution.status in (Status.OPTIMAL, Status.CONVERGED)
        missed = ended and precision is not None and not max(gap, violation) <= precision * (1.0 + ROUND_OFF)
        difference = None if known is None else best_evader(solution) - best_evader(known[0])
        unproven = (
            difference is not None
            and known is not None
            and unproven_difference(difference, solution, violation, known[0])
        )
        return TimeRow(
            width=width,
            sequences=sum(treeplex.num_sequences for treeplex in transit_game(width).sequence_form.treeplexes),
            risk_bound=self.bound,
            recipe=recipe,
            precision=precision,
            status=str(solution.status),
            iterations=solution.iterations,
            seconds=seconds,
            ratio=known[1] / seconds if known is not None and precision is not None and ended else None,
            gap=gap,
            violation=violation,
            difference=difference,
            risk=risk_of(solution),
            failure=verdict(
                (not ended and recipe != "paper", f"{solution.status} after {seconds:.0f} s"),
                (missed, f"gap {gap:.1e} and violation {violation:.1e}"),
                (unproven, f"the difference {difference or 0.0:.1e} is not within the gap {gap:.1e}"),
            ),
        )

    def claims(self, rows: Sequence[TimeRow]) -> list[Claim]:
        """Return the ratios of the linear program's time to ours, in the paper and here."""
        said = {
            (6, 1e-2): "a significant speed-up for a small loss of precision (strategies of 6,000 values)",
            (10, 1e-4): "more than 10 at high precision (strategies of 25,000 values)",
        }
        found = {(row.width, row.precision, row.recipe): row for row in rows}
        widest = max((row.width for row in rows if row.ratio is not None and row.passed), default=None)
        asked = [*said, *((widest, precision) for precision in self.precisions if widest is not None)]
        return [
            self._claim((width, precision, recipe), said.get((width, precision)), found)
            for width, precision in dict.fromkeys(asked)
            for recipe in RECIPES
        ]

    def _claim(self, case: tuple[Any, float, str], said: str | None, found: Mapping[Any, TimeRow]) -> Claim:
        """Return the paper's statement on the times at one width and precision, compared with ours."""
        width, precision, recipe = case
        words = f"width {width}: time of the linear program over that of constrained CFR to {precision:g}"
        quantity, row = f"{words}, by {IN_WORDS[recipe]}", found.get(case)
        if row is None:
            return Claim(quantity, said, None).opened(f"the run has no game of width {width}: use --full")
        needed = 10.0 if (width, precision) == (10, 1e-4) else 2.0
        program = found.get((width, None, "exact"))
        if row.ratio is None and program is not None and program.status == Status.OPTIMAL:
            # The solve stopped at a limit, so its time is less than it needs.
            most = program.seconds / row.seconds
            claim = Claim(quantity, said, f"below {most:.3g}")
            ended = f"constrained CFR stopped after {row.iterations:,} iterations, before it reached the precision"
            return claim.judged(holds=False, otherwise=ended) if most <= needed else claim.opened(ended)
        return Claim(quantity, said, row.ratio).judged(
            lambda ratio: ratio > needed, "the solver of linear programs and the machine differ from the paper's"
        )

    def draw(self, rows: Sequence[TimeRow]) -> "Figure":
        """Draw time against width on a logarithmic axis: a line per method, with hollow marks at the time limit."""
        figure, axes = panels(1, 1, (5.8, 4.2))
        looks = [Look(*look) for look in zip(("green", "blue", "red", "orange", "grey"), "os^Dv", strict=True)]
        methods: list[tuple[float | None, str, Look, str]] = [
            (None, "exact", Look("black", "x"), "linear program, HiGHS")
        ]
        for place, precision in enumerate(self.precisions):
            look = looks[place % len(looks)]
            methods.append((precision, "default", look, f"to {precision:g} by the defaults"))
            dashed = replace(look, line="--")
            methods.append((precision, "paper", dashed, f"to {precision:g} by the paper's recipe"))
        for held, recipe, look, words in methods:
            solved = [row for row in rows if (row.precision, row.recipe) == (held, recipe)]
            ended = [row for row in solved if row.status in ("converged", "optimal")]
            look.plot(axes, *fields(ended, "width", "seconds"), label=words)
            stopped = [row for row in solved if row not in ended]
            look.plot(axes, *fields(stopped, "width", "seconds"), markerfacecolor="none", linestyle="")
        widths = sorted({row.width for row in rows})
        axes.set(xlabel="width of the transit game", ylabel="seconds", yscale="log", xticks=widths)
        axes.set_title(f"risk at most {self.bound:g}")
        legend_below(figure, 2)
        return figure
