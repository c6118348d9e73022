"""Figures 2 (b) and (c) of the paper on constrained CFR: how long it takes, beside the linear program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from ...seqform.interchange.pictures import Look, legend_below, panels
from ...solvers import CCFR, Solution, Status
from ..table import Column, Row, fields, verdict
from .ccfr_figure_2a import (
    CONSTRAINED_CFR,
    ROUND_OFF,
    TOLERANCE,
    best_evader,
    risk_of,
    risk_problem,
    transit_game,
    unproven_difference,
)
from .experiment import Claim, Experiment, Limits
from .runs import Tell, timed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How many stages there are for each factor of ten in the iterations.
_STAGES = 4
#: What runs, by the recipe. The paper's is regret matching, simultaneous updates, uniform averages, and a constant step
#: of 1 in payoff units, which are the method's units too: the largest payoff of the transit game is 1.
RECIPES = {
    "default": CCFR(),
    "paper": CCFR(base="cfr", updates="simultaneous", averaging="uniform", steps="constant", step=1.0),
}


@dataclass(frozen=True)
class ConvergenceRow(Row):
    """The patroller of one method after some iterations.

    Attributes
    ----------
    width : int
        Of the game.
    risk_bound : float
    recipe : str
        ``paper``, ``default``, or ``exact`` for the linear program, which has one row, the first.
    method : str
        The method's name.
    iterations : int
    seconds : float
        Of solving until then, without certificates and what is measured of the strategies.
    risk : float
        Of the average patroller.
    violation : float
        Its risk above the bound; 0 where it is not.
    difference : float
        Its exploitability minus that of the linear program's patroller, in payoff units; negative where it gains by its
        violation more than it loses.
    gap : float
        What the method's certificate bounds the difference by.
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
    """Difference of exploitabilities and violation over time, by the paper's recipe and by this library's defaults.

    Parameters
    ----------
    width : int
        Of the transit game.
    iterations : int
        Of each method.
    bound : float
        On the risk.

    Notes
    -----
    Runs go in stages, and each goes on where the one before stopped. After each the patroller's average is judged: the
    evader's best response to it, minus that to the linear program's patroller, is the difference of their
    exploitabilities, whatever value these are measured from. Times are those of
    :func:`~treeplex.validation.papers.transit.timed`.

    What is proven holds of every row, or it fails: the difference is at most the gap, and what a violation saves is at
    most its price, so the difference is at least −λ times the violation, with λ the multiplier of the linear program.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 2 (b).
    """

    width: Annotated[int, Limits(2)]
    iterations: Annotated[int, Limits(1)] = 100_000
    bound: Annotated[float, Limits(0)] = 0.1

    name = "ccfr-figure-2b"
    title = "convergence of constrained CFR over time, beside the time of the linear program"
    figure = "2 (b)"
    paper = CONSTRAINED_CFR
    criterion = (
        "the difference lies within what the certificates prove, and in the end, by the defaults, difference and "
        f"violation are at most {TOLERANCE:g}"
    )

    @classmethod
    def quick(cls) -> "CCFRFigure2b":
        """Return it for width 4 and 20,000 iterations."""
        return cls(4, 20_000)

    @classmethod
    def full(cls) -> "CCFRFigure2b":
        """Return it for width 8 and 100,000 iterations."""
        return cls(8)

    @property
    def stages(self) -> list[int]:
        """After how many iterations the averages are judged, rising."""
        between = (round(10 ** (1.0 + power / _STAGES)) for power in range(60))
        return [*(stage for stage in between if stage < self.iterations), self.iterations]

    @property
    def num_rows(self) -> int:
        """One a stage and recipe, and one of the linear program."""
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
                (ended and not abs(difference) <= TOLERANCE, f"difference above {TOLERANCE:g} in the end"),
                (ended and not violation <= TOLERANCE, f"violation above {TOLERANCE:g} in the end"),
            ),
        )

    def claims(self, rows: Sequence[ConvergenceRow]) -> list[Claim]:
        """Return when difference and violation are within precisions for good, over the linear program's time."""
        exact = next((row.seconds for row in rows if row.recipe == "exact"), None)
        claims = []
        for recipe, words in (("paper", "the paper's recipe"), ("default", "the defaults here")):
            for precision in (1e-2, 1e-3, 1e-4):
                seconds = settled([row for row in rows if row.recipe == recipe], precision)
                ratio = None if seconds is None or not exact else seconds / exact
                claims.append(Claim(f"time to {precision:g} by {words}, over that of the linear program", None, ratio))
        return claims

    def draw(self, rows: Sequence[ConvergenceRow]) -> "Figure":
        """Draw difference and violation against time, linear and logarithmic."""
        figure, both = panels(1, 2, (8.8, 4.2), sharey=True)
        looks = {"default": (Look("blue"), "defaults here"), "paper": (Look("red"), "the paper's recipe")}
        for axes in both:
            for recipe, (look, words) in looks.items():
                points = [row for row in rows if row.recipe == recipe]
                seconds, difference, violation = map(np.array, fields(points, "seconds", "difference", "violation"))
                look.plot(axes, seconds, _positive(np.abs(difference)), label=f"difference, {words}")
                # What is below the exact optimum is so because it violates its bound.
                for chosen, fill in ((difference > 0.0, look.hexadecimal), (difference < 0.0, "white")):
                    dots = Look(look.colour, "o", "")
                    dots.plot(axes, seconds[chosen], np.abs(difference[chosen]), markerfacecolor=fill, markersize=4)
                Look(look.colour, "x", "").plot(axes, seconds, _positive(violation), label=f"violation, {words}")
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
    """Return the seconds from which on rows are within a precision, in difference and violation; ``None`` if never.

    Parameters
    ----------
    rows : sequence of ConvergenceRow
        Of one recipe, in their order.
    precision : float
    """
    since = None
    for row in rows:
        within = max(abs(row.difference), row.violation) <= precision
        since = (row.seconds if since is None else since) if within else None
    return since


def _positive(values: Any) -> Any:
    """Return values with gaps where a logarithmic axis has no place for them."""
    return np.where(values > 0.0, values, np.nan)


#: A solve that is shorter is done again, and the shortest of some counts: clocks and caches disturb it.
_SHORT, _REPEATS = 0.5, 5


@dataclass(frozen=True)
class TimeRow(Row):
    """One method on one game.

    Attributes
    ----------
    width : int
        Of the game.
    sequences : int
        Of both players together.
    risk_bound : float
    method : str
        ``highs`` for the linear program, ``ccfr``.
    precision : float or None
        What gap and violation are held to; ``None`` for the linear program, which is held to HiGHS's own tolerances.
    status : str
        Of the solution: ``converged``, ``optimal``, or a limit.
    iterations : int
    seconds : float
        As :func:`~treeplex.validation.papers.runs.timed` counts them; the shortest of some solves where that is less
        than half a second.
    ratio : float or None
        The linear program's seconds over these; ``None`` where one of the two was not solved.
    gap, violation : float
        What the solution proves of itself.
    difference : float or None
        The patroller's exploitability minus that of the linear program's, in payoff units; ``None`` where that was not
        solved.
    risk : float
        Of the patroller.
    """

    width: Annotated[int, Column("width")]
    sequences: int
    risk_bound: float
    method: Annotated[str, Column("method")]
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
    """Time of constrained CFR for some precisions, and of the linear program, by width of the transit game.

    Parameters
    ----------
    widths : tuple of int
        Of the games that both solve.
    wider : tuple of int
        Of the games that constrained CFR alone solves.
    precisions : tuple of float
        What gap and violation are held to. Where both are at most ε, the exploitability is within ε of the exact one,
        or below it by what the violation saves, and the risk within ε of its bound or below it.
    bound : float
        On the risk.
    time_limit : float
        Seconds for each solve.

    Notes
    -----
    Constrained CFR runs until its own certificate proves the precision, which needs no linear program.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 2 (c).
    """

    widths: Annotated[tuple[int, ...], Limits(2)]
    wider: Annotated[tuple[int, ...], Limits(2, empty=True)] = ()
    precisions: Annotated[tuple[float, ...], Limits(1e-7)] = (1e-2, 1e-3, 1e-4)
    bound: Annotated[float, Limits(0)] = 0.1
    time_limit: Annotated[float, Limits(0)] = 60.0

    name = "ccfr-figure-2c"
    title = "time of constrained CFR and of the linear program by width of the transit game"
    figure = "2 (c)"
    paper = CONSTRAINED_CFR
    criterion = (
        "solved within the time limit, gap and violation within the precision, and the difference to the linear "
        "program within what they prove"
    )

    @classmethod
    def quick(cls) -> "CCFRFigure2c":
        """Return it for the widths 2 to 5."""
        return cls((2, 3, 4, 5))

    @classmethod
    def full(cls) -> "CCFRFigure2c":
        """Return it for the widths 2 to 10, and by constrained CFR alone for 12, 14 and 16."""
        return cls(tuple(range(2, 11)), (12, 14, 16), time_limit=600.0)

    @property
    def num_rows(self) -> int:
        """One a game and method, each precision a method."""
        return len(self.widths) + (len(self.widths) + len(self.wider)) * len(self.precisions)

    def rows(self, tell: Tell) -> Iterator[TimeRow]:
        """Yield the linear program's row and those of the precisions, from one width to the next."""
        for width in (*self.widths, *self.wider):
            problem = risk_problem(width, self.bound)
            exact: Solution | None = None
            if width in self.widths:
                tell(f"linear program of width {width}")
                exact, seconds = self._timed(problem, "highs")
                yield self._row(width, None, exact, seconds, (exact, seconds))
            known = None if exact is None or exact.status is not Status.OPTIMAL else (exact, seconds)
            for precision in self.precisions:
                tell(f"constrained CFR of width {width} to {precision:g}")
                solution, took = self._timed(problem, CCFR(), tol=precision)
                yield self._row(width, precision, solution, took, known)

    def _timed(self, problem: Any, method: Any, **limits: Any) -> tuple[Solution, float]:
        """Solve, and return the shortest time of some solves."""
        times: list[float] = []
        while not times or (min(times) < _SHORT and len(times) < _REPEATS):
            solution, seconds = timed(problem, method, time_limit=self.time_limit, **limits)
            times.append(seconds)
        return solution, min(times)

    def _row(
        self,
        width: int,
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
            method=solution.method.name,
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
                (not ended, f"{solution.status} after {seconds:.0f} s"),
                (missed, f"gap {gap:.1e} and violation {violation:.1e}"),
                (unproven, f"the difference {difference or 0.0:.1e} is not within the gap {gap:.1e}"),
            ),
        )

    def claims(self, rows: Sequence[TimeRow]) -> list[Claim]:
        """Return what the paper says of how many times longer the linear program takes, and ours."""
        said = {
            (6, 1e-2): "a significant speed-up for a small loss of precision (strategies of 6,000 values)",
            (10, 1e-4): "more than 10 at high precision (strategies of 25,000 values)",
        }
        ratios = {(row.width, row.precision): row.ratio for row in rows}
        widest = max((row.width for row in rows if row.ratio is not None and row.passed), default=None)
        asked = [*said, *((widest, precision) for precision in self.precisions if widest is not None)]
        return [
            Claim(
                f"width {width}: time of the linear program over that of constrained CFR to {precision:g}",
                said.get((width, precision)),
                ratios.get((width, precision)),
            )
            for width, precision in dict.fromkeys(asked)
        ]

    def draw(self, rows: Sequence[TimeRow]) -> "Figure":
        """Draw time against width, logarithmic: a line a method, hollow where the time limit came first."""
        figure, axes = panels(1, 1, (5.8, 4.2))
        looks = [Look(*look) for look in zip(("green", "blue", "red", "orange", "grey"), "os^Dv", strict=True)]
        methods = [(None, Look("black", "x"), "linear program, HiGHS")] + [
            (precision, looks[place % len(looks)], f"constrained CFR to {precision:g}")
            for place, precision in enumerate(self.precisions)
        ]
        for precision, look, words in methods:
            solved = [row for row in rows if row.precision == precision]
            ended = [row for row in solved if row.status in ("converged", "optimal")]
            look.plot(axes, *fields(ended, "width", "seconds"), label=words)
            stopped = [row for row in solved if row not in ended]
            look.plot(axes, *fields(stopped, "width", "seconds"), markerfacecolor="none", linestyle="")
        widths = sorted({row.width for row in rows})
        axes.set(xlabel="width of the transit game", ylabel="seconds", yscale="log", xticks=widths)
        axes.set_title(f"risk at most {self.bound:g}")
        legend_below(figure, 2)
        return figure
