"""Figure 2 (a) of the paper on constrained CFR: what a bound on the patroller's risk costs in the transit game."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ...models.constraints import functional_bound
from ...models.games import load_game
from ...models.problems import ConstrainedNash, Nash
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError
from ...seqform.evaluate import worst_case
from ...seqform.game import Game
from ...seqform.interchange.pictures import Look, legend, panels
from ...solvers import CCFR, Solution, Status
from ..table import Column, Row, fields, verdict
from .experiment import Claim, Experiment, Limits, Paper, largest
from .runs import Tell, completed, sweep_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONSTRAINED_CFR = Paper(
    'T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019',
    "https://arxiv.org/abs/1809.07893",
)
#: The player whose risk is bounded.
PATROLLER = 1
#: How far a patroller may be from its bound on the risk, and from the exact exploitability.
TOLERANCE = 1e-3
#: What rounding may add to a precision.
ROUND_OFF = 1e-9


@lru_cache(maxsize=2)
def transit_game(width: int) -> Game:
    """Return the transit game of a width; the two last ones stay in memory."""
    return load_game(f"transit:width={width}")


def risk_problem(width: int, bound: float) -> ConstrainedNash:
    """Return the equilibrium in which the patroller's risk is at most so much."""
    game = transit_game(width)
    return ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=bound, name="risk")])


def best_evader(solution: Solution) -> float:
    """Return what the evader gets by its best response to a solution's patroller, in payoff units."""
    return -worst_case(solution.problem.game, solution.profile[PATROLLER])


def risk_of(solution: Solution) -> float:
    """Return the risk of a solution's patroller, a probability."""
    return float(solution.problem.game.functionals["risk"].value(solution.profile[PATROLLER]))


@lru_cache(maxsize=8)
def unconstrained_value(width: int) -> float:
    """Return what the evader gets in the equilibrium without a bound, in payoff units.

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
    """Whether exploitabilities differ by more than two solutions' certificates and a violation's price allow."""
    assert solution.gap is not None
    slack = exact.tolerance + ROUND_OFF
    least = -max(0.0, exact.multipliers.get("risk", 0.0)) * violation
    return not least - slack <= difference <= solution.gap + slack


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
        By how much the least exploitability falls per unit of risk: the shadow price of the linear program.
    gap, violation : float
        What constrained CFR proves of itself.
    iterations : int
    seconds, exact_seconds : float
        Of constrained CFR and of the linear program, the solve alone.
    """

    width: int
    risk_bound: Annotated[float, Column("bound", ".3g")]
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
        How many processes share the bounds, as :func:`~treeplex.validation.papers.runs.sweep` takes it.

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

    width: Annotated[int, Limits(2)]
    bounds: Annotated[tuple[float, ...], Limits(0)]
    iterations: Annotated[int, Limits(1)] = 100_000
    jobs: int | None = None

    name = "ccfr-figure-2a"
    title = "risk against exploitability in the transit game, by constrained CFR and exactly"
    figure = "2 (a)"
    paper = CONSTRAINED_CFR
    criterion = (
        f"risk within {TOLERANCE:g} of its bound, where that binds, and exploitability within {TOLERANCE:g} of the "
        "exact one"
    )

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
        groups = [(f"risk at most {bound:g}", [(self.width, bound, self.iterations, value)]) for bound in self.bounds]
        for found in sweep_groups(frontier_row, groups, tell, self.jobs):
            yield from found

    def claims(self, rows: Sequence[FrontierRow]) -> list[Claim]:
        """Return what the paper says of the distance between dots and frontier."""
        return [
            Claim("iterations for each bound", 100_000, rows[0].iterations if rows else None),
            Claim(
                "largest distance of a risk from its bound, where that binds",
                TOLERANCE,
                largest(abs(row.risk - row.risk_bound) for row in rows if row.price > 0.0),
            ),
            Claim(
                "largest distance of an exploitability from the exact one, in payoff units",
                TOLERANCE,
                largest(abs(row.difference) for row in rows),
            ),
        ]

    def draw(self, rows: Sequence[FrontierRow]) -> "Figure":
        """Draw the exact frontier, and constrained CFR's dots on it."""
        figure, axes = panels(1, 1, (5.8, 4.0))
        if rows:
            bounds, least, most = band(rows)
            Look("black").plot(axes, bounds, most, linewidth=1.1, label="exact: linear programs, and chords between")
            Look("orange").shade(axes, bounds, least, most, alpha=0.6, label="room left by their tangents")
            label = f"constrained CFR, {rows[0].iterations:,} iterations"
            Look("blue", "o", "").plot(axes, *fields(rows, "risk", "exploitability"), label=label)
        legend(axes, "upper right")
        axes.set(
            xlabel="risk: probability that the patroller is not back at its base",
            ylabel="exploitability (payoff units)",
            title=f"transit game, width {self.width}",
        )
        axes.set_xlim(left=0.0)
        axes.set_ylim(bottom=0.0)
        return figure


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
    far = not risk <= bound + TOLERANCE or (price > 0.0 and not risk >= bound - TOLERANCE)
    apart = abs(exploitability - frontier)
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
        failure=verdict(
            (exact.status is not Status.OPTIMAL, f"the linear program is {exact.status}"),
            (far, f"risk {risk:.6g} is {abs(risk - bound):.1e} from its bound"),
            (not apart <= TOLERANCE, f"exploitability is {apart:.1e} from the exact one"),
        ),
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
