"""The transit game of the constrained experiments: the patroller's risk is bounded, and what that costs."""

import time
from functools import lru_cache
from typing import Any

from ...models.constraints import functional_bound
from ...models.games import load_game
from ...models.problems import ConstrainedNash, Nash
from ...seqform.errors import SolverError
from ...seqform.evaluate import worst_case
from ...seqform.game import Game
from ...solvers import CCFR, Solution, Status, solve
from .experiment import Paper

#: The player whose risk is bounded.
PATROLLER = 1

CONSTRAINED_CFR = Paper(
    'T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019',
    "https://arxiv.org/abs/1809.07893",
)


@lru_cache(maxsize=2)
def transit_game(width: int) -> Game:
    """Return the transit game of a width; the two last ones stay in memory."""
    return load_game(f"transit:width={width}")


def risk_problem(width: int, bound: float) -> ConstrainedNash:
    """Return the equilibrium in which the patroller's risk is at most so much."""
    game = transit_game(width)
    return ConstrainedNash(game, [functional_bound(game.functionals["risk"], at_most=bound, name="risk")])


def paper_recipe() -> CCFR:
    """Return constrained CFR as the paper runs it.

    Regret matching, simultaneous updates, uniform averages, and a constant step of 1 in payoff units, which are the
    method's units too: the largest payoff of the transit game is 1.
    """
    return CCFR(base="cfr", updates="simultaneous", averaging="uniform", steps="constant", step=1.0)


def completed(problem: Any, method: Any, **limits: Any) -> Solution:
    """Solve a problem; Ctrl-C ends the experiment, and its rows so far stay.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    SolverError
        If constraints turn out to exclude each other, or the method broke down.
    """
    solution = solve(problem, method, **limits)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.infeasibility is not None:
        raise SolverError(f"{solution.method.name} on {problem.game.spec}: {solution.message}")
    return solution


def timed(problem: Any, method: Any, **limits: Any) -> tuple[Solution, float]:
    """Solve a problem as :func:`completed` does, and return the seconds that it took too.

    They are those of the solve alone on a clock, or those of the processor for the whole call if these are fewer: then
    other programs ran beside it. Constrained CFR and HiGHS's simplex and interior point methods run on one core.
    """
    begun = time.process_time()
    solution = completed(problem, method, **limits)
    return solution, min(solution.seconds, time.process_time() - begun)


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
