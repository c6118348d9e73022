"""Figure 2 (c) of the paper on constrained CFR: time against the size of the game, beside the linear program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ...solvers import CCFR, Solution, Status
from .experiment import Claim, Experiment, Paper, Row, Tell, check_numbers
from .transit import CONSTRAINED_CFR, best_evader, risk_of, risk_problem, timed, transit_game

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: A solve that is shorter is done again, and the shortest of some counts: clocks and caches disturb it.
_SHORT, _REPEATS = 0.5, 5
#: What rounding may add to a precision.
_ROUND_OFF = 1e-9


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
        As :func:`~treeplex.validation.papers.transit.timed` counts them; the shortest of some solves where that is less
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
    passed : bool
    failure : str
    """

    width: int
    sequences: int
    risk_bound: float
    method: str
    precision: float | None
    status: str
    iterations: int
    seconds: float
    ratio: float | None
    gap: float
    violation: float
    difference: float | None
    risk: float
    passed: bool
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        return {
            "width": str(self.width),
            "method": self.method,
            "precision": "" if self.precision is None else f"{self.precision:.0e}",
            "iterations": f"{self.iterations:,}",
            "seconds": f"{self.seconds:.3g}",
            "LP / this": "" if self.ratio is None else f"{self.ratio:.3g}",
        }


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

    widths: tuple[int, ...]
    wider: tuple[int, ...] = ()
    precisions: tuple[float, ...] = (1e-2, 1e-3, 1e-4)
    bound: float = 0.1
    time_limit: float = 60.0

    name: ClassVar[str] = "ccfr-figure-2c"
    title: ClassVar[str] = "time of constrained CFR and of the linear program by width of the transit game"
    figure: ClassVar[str] = "2 (c)"
    paper: ClassVar[Paper] = CONSTRAINED_CFR
    criterion: ClassVar[str] = (
        "solved within the time limit, gap and violation within the precision, and the difference to the linear "
        "program within what they prove"
    )

    def __post_init__(self) -> None:
        check_numbers("the list of widths", self.widths, 2, whole=True)
        check_numbers("the list of wider games", (2, *self.wider), 2, whole=True)
        check_numbers("the list of precisions", self.precisions, 1e-7)
        check_numbers("the bound on the risk", (self.bound,), 0.0)
        check_numbers("the time limit", (self.time_limit,), 0.0)

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
        failures = []
        ended = solution.status in (Status.OPTIMAL, Status.CONVERGED)
        if not ended:
            failures.append(f"{solution.status} after {seconds:.0f} s")
        elif precision is not None and not max(solution.gap, solution.violation) <= precision * (1.0 + _ROUND_OFF):
            failures.append(f"gap {solution.gap:.1e} and violation {solution.violation:.1e}")
        difference = None
        if known is not None:
            exact = known[0]
            difference = best_evader(solution) - best_evader(exact)
            slack = exact.tolerance + _ROUND_OFF
            least = -max(0.0, exact.multipliers.get("risk", 0.0)) * solution.violation
            if not least - slack <= difference <= solution.gap + slack:
                failures.append(f"the difference {difference:.1e} is not within the gap {solution.gap:.1e}")
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
            gap=solution.gap,
            violation=solution.violation,
            difference=difference,
            risk=risk_of(solution),
            passed=not failures,
            failure="; ".join(failures),
        )

    def claims(self, rows: Sequence[TimeRow]) -> list[Claim]:
        """Return what the paper says of how many times longer the linear program takes, and ours."""
        said = {
            (6, 1e-2): "a significant speed-up for a small loss of precision (strategies of 6,000 values)",
            (10, 1e-4): "more than 10 at high precision (strategies of 25,000 values)",
        }
        widest = max((row.width for row in rows if row.ratio is not None and row.passed), default=None)
        asked = [*said, *((widest, precision) for precision in self.precisions if widest is not None)]
        return [
            Claim(
                f"width {width}: time of the linear program over that of constrained CFR to {precision:g}",
                said.get((width, precision)),
                next((row.ratio for row in rows if (row.width, row.precision) == (width, precision)), None),
            )
            for width, precision in dict.fromkeys(asked)
        ]

    def draw(self, rows: Sequence[TimeRow]) -> "Figure":
        """Draw time against width, logarithmic."""
        from .ccfr_pictures import draw_times

        return draw_times(self, rows)
