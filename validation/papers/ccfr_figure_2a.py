"""Figure 2 (a) of the paper on constrained CFR: what a bound on the risk costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ...seqform.arrays import Floats
from ...solvers import CCFR, Status
from .experiment import Claim, Experiment, Paper, Row, Tell, check_numbers
from .sweeps import sweep
from .transit import CONSTRAINED_CFR, best_evader, completed, risk_of, risk_problem, unconstrained_value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: How far a dot may be from its bound and from the frontier.
TOLERANCE = 1e-3


@dataclass(frozen=True)
class FrontierRow(Row):
    """One bound on the risk, met by constrained CFR and by the exact linear program.

    Attributes
    ----------
    width : int
        Of the game.
    risk_bound : float
        A probability, as all risks are.
    risk : float
        Of the average patroller of constrained CFR.
    exploitability : float
        What that patroller's worst case is below the value of the game without a bound, in payoff units.
    frontier_risk, frontier_exploitability : float
        The same of the linear program's patroller.
    difference : float
        The first exploitability minus the second.
    price : float
        By how much the least exploitability falls per unit of risk: the multiplier of the linear program.
    gap, violation : float
        What constrained CFR proves of itself.
    iterations : int
    seconds, exact_seconds : float
        Of constrained CFR and of the linear program, the solve alone.
    passed : bool
    failure : str
    """

    width: int
    risk_bound: float
    risk: float
    exploitability: float
    frontier_risk: float
    frontier_exploitability: float
    difference: float
    price: float
    gap: float
    violation: float
    iterations: int
    seconds: float
    exact_seconds: float
    passed: bool
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        return {
            "bound": f"{self.risk_bound:.3g}",
            "risk": f"{self.risk:.5f}",
            "exploitability": f"{self.exploitability:.6f}",
            "frontier": f"{self.frontier_exploitability:.6f}",
            "difference": f"{self.difference:.1e}",
            "price": f"{self.price:.4f}",
        }


@dataclass(frozen=True)
class CCFRFigure2a(Experiment[FrontierRow]):
    """Risk against exploitability of the patroller, for many bounds on the risk.

    Parameters
    ----------
    width : int
        Of the transit game.
    bounds : tuple of float
        On the risk.
    iterations : int
        Of constrained CFR, for each bound.
    jobs : int, optional
        How many processes share the bounds, as :func:`~treeplex.validation.papers.sweeps.sweep` takes it.

    Notes
    -----
    The exploitability of a patroller is v − min over y of u(x̄, y), with v the value of the game without a bound, in the
    patroller's payoff. So it is what the bound costs, and 0 where the bound does not bind. Another v would move dots
    and frontier alike.

    The least exploitability E(b) is convex in the bound, and its slope at b is minus the multiplier of the linear
    program. So E lies below the chords between the exact points and above their tangents; between them the figure shows
    the band that is left.

    References
    ----------
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), figure 2 (a).
    """

    width: int
    bounds: tuple[float, ...]
    iterations: int = 100_000
    jobs: int | None = None

    name: ClassVar[str] = "ccfr-figure-2a"
    title: ClassVar[str] = "risk against exploitability in the transit game, by constrained CFR and exactly"
    figure: ClassVar[str] = "2 (a)"
    paper: ClassVar[Paper] = CONSTRAINED_CFR
    criterion: ClassVar[str] = (
        f"risk within {TOLERANCE:g} of its bound, where that binds, and exploitability within {TOLERANCE:g} of the "
        "exact one"
    )

    def __post_init__(self) -> None:
        check_numbers("the width", (self.width,), 2, whole=True)
        check_numbers("the list of bounds on the risk", self.bounds, 0.0)
        check_numbers("the number of iterations", (self.iterations,), 1, whole=True)

    @classmethod
    def quick(cls) -> "CCFRFigure2a":
        """Return it for width 3 and 20,000 iterations."""
        return cls(3, (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9), 20_000)

    @classmethod
    def full(cls) -> "CCFRFigure2a":
        """Return it for width 8 and the paper's 100,000 iterations, with a process a core."""
        tenths = tuple(tenth / 10 for tenth in range(1, 10))
        return cls(8, tuple(sorted((0.01, 0.02, 0.05, 0.15, 0.25, *tenths))), 100_000, jobs=-1)

    @property
    def num_rows(self) -> int:
        """One a bound."""
        return len(self.bounds)

    def rows(self, tell: Tell) -> Iterator[FrontierRow]:
        """Yield a row a bound, in the order of the bounds."""
        tell(f"value of transit:width={self.width} without a bound")
        value = unconstrained_value(self.width)
        settings = [(self.width, bound, self.iterations, value) for bound in self.bounds]
        tell(f"risk at most {self.bounds[0]:g}")
        for number, row in enumerate(sweep(frontier_row, settings, self.jobs), start=1):
            if number < len(self.bounds):
                tell(f"risk at most {self.bounds[number]:g}")
            yield row

    def claims(self, rows: Sequence[FrontierRow]) -> list[Claim]:
        """Return what the paper says of the distance between dots and frontier."""
        bound = [abs(row.risk - row.risk_bound) for row in rows if _binds(row)]
        return [
            Claim("iterations for each bound", 100_000, rows[0].iterations if rows else None),
            Claim("largest distance of a risk from its bound, where that binds", TOLERANCE, max(bound, default=None)),
            Claim(
                "largest distance of an exploitability from the exact one, in payoff units",
                TOLERANCE,
                max((abs(row.difference) for row in rows), default=None),
            ),
        ]

    def draw(self, rows: Sequence[FrontierRow]) -> "Figure":
        """Draw the exact frontier, and constrained CFR's dots on it."""
        from .ccfr_pictures import draw_frontier

        return draw_frontier(self, rows)


def frontier_row(width: int, bound: float, iterations: int, value: float) -> FrontierRow:
    """Return the row of one bound.

    Parameters
    ----------
    width : int
    bound : float
        On the risk.
    iterations : int
        Of constrained CFR.
    value : float
        What the evader gets without a bound, in payoff units.
    """
    problem = risk_problem(width, bound)
    exact = completed(problem, "highs")
    solution = completed(problem, CCFR(), tol=0.0, max_iterations=iterations)
    assert solution.gap is not None
    exploitability, frontier = best_evader(solution) - value, best_evader(exact) - value
    risk, price = risk_of(solution), max(0.0, exact.multipliers["risk"])
    failures = []
    if exact.status is not Status.OPTIMAL:
        failures.append(f"the linear program is {exact.status}")
    if not risk <= bound + TOLERANCE or (price > 0.0 and not risk >= bound - TOLERANCE):
        failures.append(f"risk {risk:.6g} is {abs(risk - bound):.1e} from its bound")
    if not abs(exploitability - frontier) <= TOLERANCE:
        failures.append(f"exploitability is {abs(exploitability - frontier):.1e} from the exact one")
    return FrontierRow(
        width=width,
        risk_bound=bound,
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
        passed=not failures,
        failure="; ".join(failures),
    )


def band(rows: Sequence[FrontierRow]) -> tuple[Floats, Floats, Floats]:
    """Return bounds on the least exploitability between the exact points.

    Parameters
    ----------
    rows : sequence of FrontierRow
        Of one game, at least one.

    Returns
    -------
    bounds, least, most : ndarray of float64, shape (k,)
        Bounds on the risk, rising; what the least exploitability is at least, by the tangents of its convex function,
        and at most, by the chords. Both are linear between neighbours.
    """
    points = sorted((row.risk_bound, row.frontier_exploitability, -row.price) for row in rows)
    places, exact, slopes = (np.array(column) for column in zip(*points, strict=True))
    # Tangents of neighbours meet between them, except where they are one line.
    turns = np.diff(slopes) > 1e-9
    lines = exact - slopes * places
    meet = np.divide(-np.diff(lines), np.diff(slopes), out=(places[:-1] + places[1:]) / 2, where=turns)
    meet = np.clip(meet, places[:-1], places[1:])
    bounds = np.sort(np.concatenate([places, meet]))
    tangents = lines[:, None] + slopes[:, None] * bounds
    return bounds, tangents.max(axis=0), np.interp(bounds, places, exact)


def _binds(row: FrontierRow) -> bool:
    return row.price > 0.0
