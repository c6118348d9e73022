"""Figure 2 (b) of the paper on constrained CFR: how it converges over time, beside the linear program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ...solvers import CCFR, Solution, Status
from .experiment import Claim, Experiment, Paper, Row, Tell, check_numbers
from .transit import CONSTRAINED_CFR, best_evader, paper_recipe, risk_of, risk_problem, timed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What the defaults of constrained CFR must come to in the end.
TOLERANCE = 1e-3
#: How many stages there are for each factor of ten in the iterations.
_STAGES = 4


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
    passed : bool
    failure : str
    """

    width: int
    risk_bound: float
    recipe: str
    method: str
    iterations: int
    seconds: float
    risk: float
    violation: float
    difference: float
    gap: float
    passed: bool
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        return {
            "recipe": self.recipe,
            "iterations": f"{self.iterations:,}",
            "seconds": f"{self.seconds:.3g}",
            "difference": f"{self.difference:.1e}",
            "violation": f"{self.violation:.1e}",
            "gap": f"{self.gap:.1e}",
        }


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

    width: int
    iterations: int = 100_000
    bound: float = 0.1

    name: ClassVar[str] = "ccfr-figure-2b"
    title: ClassVar[str] = "convergence of constrained CFR over time, beside the time of the linear program"
    figure: ClassVar[str] = "2 (b)"
    paper: ClassVar[Paper] = CONSTRAINED_CFR
    criterion: ClassVar[str] = (
        "the difference lies within what the certificates prove, and in the end, by the defaults, difference and "
        f"violation are at most {TOLERANCE:g}"
    )

    def __post_init__(self) -> None:
        check_numbers("the width", (self.width,), 2, whole=True)
        check_numbers("the number of iterations", (self.iterations,), 1, whole=True)
        check_numbers("the bound on the risk", (self.bound,), 0.0)

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
        return 1 + 2 * len(self.stages)

    def rows(self, tell: Tell) -> Iterator[ConvergenceRow]:
        """Yield the linear program's row, the stages of the defaults, and those of the paper's recipe."""
        problem = risk_problem(self.width, self.bound)
        tell(f"linear program of width {self.width}")
        exact, seconds = timed(problem, "highs")
        yield self._row("exact", exact, exact, seconds)
        for recipe, method in (("default", CCFR()), ("paper", paper_recipe())):
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
        failures = []
        if recipe == "exact" and exact.status is not Status.OPTIMAL:
            failures.append(f"the linear program is {exact.status}")
        slack = exact.tolerance + 1e-9
        least = -max(0.0, exact.multipliers.get("risk", 0.0)) * violation
        if not least - slack <= difference <= solution.gap + slack:
            failures.append(f"the difference is proven to be from {least:.1e} to {solution.gap:.1e}")
        if recipe == "default" and solution.iterations >= self.iterations:
            if not abs(difference) <= TOLERANCE:
                failures.append(f"difference above {TOLERANCE:g} in the end")
            if not violation <= TOLERANCE:
                failures.append(f"violation above {TOLERANCE:g} in the end")
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
            passed=not failures,
            failure="; ".join(failures),
        )

    def claims(self, rows: Sequence[ConvergenceRow]) -> list[Claim]:
        """Return when difference and violation are within precisions for good, over the linear program's time."""
        exact = next((row.seconds for row in rows if row.recipe == "exact"), None)
        return [
            Claim(
                f"time to {precision:g} by {words}, over that of the linear program",
                None,
                _ratio(settled([row for row in rows if row.recipe == recipe], precision), exact),
            )
            for recipe, words in (("paper", "the paper's recipe"), ("default", "the defaults here"))
            for precision in (1e-2, 1e-3, 1e-4)
        ]

    def draw(self, rows: Sequence[ConvergenceRow]) -> "Figure":
        """Draw difference and violation against time, linear and logarithmic."""
        from .ccfr_pictures import draw_convergence

        return draw_convergence(self, rows)


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


def _ratio(seconds: float | None, exact: float | None) -> float | None:
    return None if seconds is None or not exact else seconds / exact
