"""What the experiments with depth-limited responses share: the paper, rows of responses, and how sets compare."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...seqform.errors import SolverError
from ...solvers import Solution, Status
from .experiment import Paper, Row

CONTINUAL_RESPONSES = Paper(
    citation='D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing counter-strategies in '
    'sequential games", ALA 2024 (arXiv:2112.12594)',
    url="https://arxiv.org/abs/2112.12594",
)
#: How far numbers of linear programs may be off, in payoff units.
ROUND_OFF = 1e-6


@dataclass(frozen=True)
class ResponseRow(Row):
    """One response to one opponent.

    Attributes
    ----------
    game : str
    opponent : str
        Its text.
    method : str
    p : float or None
        How far the model is believed; ``None`` where a method has no such number.
    gain : float
        Against the opponent, over the value of the game, payoff units.
    exploitability : float
        Payoff units.
    bound : float or None
        What is proven of the exploitability, p / (1 − p) times the gain; ``None`` where nothing is.
    seconds : float
        Of solving.
    passed : bool
    failure : str
    """

    game: str
    opponent: str
    method: str
    p: float | None
    gain: float
    exploitability: float
    bound: float | None
    seconds: float
    passed: bool = True
    failure: str = ""

    def cells(self) -> dict[str, str]:
        """Return what a table of rows shows, by heading."""
        return {
            "game": self.game,
            "opponent": self.opponent,
            "method": self.method,
            "p": "" if self.p is None else f"{self.p:g}",
            "gain": f"{self.gain:.4f}",
            "exploitability": f"{self.exploitability:.4f}",
            "bound": "" if self.bound is None else f"{self.bound:.4f}",
            "seconds": f"{self.seconds:.2g}",
        }

    def judged(self, failures: Iterable[str]) -> "ResponseRow":
        """Return the row with what is wrong with it."""
        words = "; ".join(failures)
        return replace(self, passed=not words, failure=words)


def response_row(
    game: str, opponent: str, method: str, p: float | None, solution: Solution, bounded: bool = False
) -> ResponseRow:
    """Return the row of a solved response, not judged yet.

    Parameters
    ----------
    game, opponent, method : str
    p : float, optional
    solution : Solution
    bounded : bool
        Whether p / (1 − p) times the gain bounds the exploitability.

    Raises
    ------
    SolverError
        If there is no answer.
    KeyboardInterrupt
        If the solve was interrupted.
    """
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    gain, exploitability = solution.gain, solution.exploitability
    if gain is None or exploitability is None:
        raise SolverError(f"{solution.problem.name} on {solution.problem.game.spec}: {solution.message}")
    bound = p / (1.0 - p) * gain if bounded and p is not None and p < 1.0 else None
    return ResponseRow(game, opponent, method, p, gain, exploitability, bound, solution.seconds)


def above_frontier(row: ResponseRow, best: Sequence[ResponseRow]) -> float:
    """Return by how much a response beats the most that restricted Nash responses show to be possible; at most 0.

    No response has more of p times the gain less (1 − p) times the exploitability than the restricted Nash response
    with that p.
    """
    excess = [
        p * (row.gain - one.gain) - (1.0 - p) * (row.exploitability - one.exploitability)
        for one in best
        if (p := one.p) is not None
    ]
    return max(excess, default=0.0)


def failures_of(row: ResponseRow, best: Sequence[ResponseRow]) -> list[str]:
    """Return how a response breaks what is proven: its bound, and that nothing is above the frontier."""
    failures = []
    if row.bound is not None and row.exploitability > row.bound + ROUND_OFF:
        failures.append(f"exploitability {row.exploitability:.6f} is above its bound {row.bound:.6f}")
    excess = above_frontier(row, best)
    if excess > ROUND_OFF:
        failures.append(f"it is {excess:.2g} above the frontier of restricted Nash responses")
    return failures


def attainable(rows: Sequence[ResponseRow], exploitability: float) -> float:
    """Return the most that mixtures of responses gain with so much exploitability; NaN if all of them have more.

    A mixture of plans gains the mean, and can lose at most the mean of what its parts can.
    """
    hull: list[tuple[float, float]] = []
    for point in sorted((row.exploitability, row.gain) for row in rows):
        if hull and point[1] <= hull[-1][1]:
            continue
        while len(hull) > 1 and _left_turn(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    if not hull or exploitability < hull[0][0] - ROUND_OFF:
        return float("nan")
    return float(np.interp(exploitability, [point[0] for point in hull], [point[1] for point in hull]))


def _left_turn(first: tuple[float, float], middle: tuple[float, float], last: tuple[float, float]) -> bool:
    """Whether the middle point is on or below the chord."""
    return (middle[1] - first[1]) * (last[0] - first[0]) <= (last[1] - first[1]) * (middle[0] - first[0])
