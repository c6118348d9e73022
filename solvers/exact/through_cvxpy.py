"""Exact formulations through cvxpy, with any solver that it has installed."""

import math
import time
import warnings
from typing import TYPE_CHECKING

from ...models.problems import Problem
from ...seqform.errors import SolverError, UnknownMethodError
from ..outcome import Options, Outcome
from ..status import Status

if TYPE_CHECKING:
    from ..methods import CVXPY

_STOPPED = {
    "infeasible": Status.INFEASIBLE,
    "infeasible_inaccurate": Status.INFEASIBLE,
    "unbounded": Status.UNBOUNDED,
    "unbounded_inaccurate": Status.UNBOUNDED,
    "user_limit": Status.TIME_LIMIT,
}


#: What solvers call their limits of seconds and of iterations.
_LIMITS = {
    "HIGHS": ("time_limit", ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit")),
    "CLARABEL": ("time_limit", ("max_iter",)),
    "SCS": ("time_limit_secs", ("max_iters",)),
    "OSQP": ("time_limit", ("max_iter",)),
    "ECOS": (None, ("max_iters",)),
}


def run(method: "CVXPY", problem: Problem, options: Options) -> Outcome:
    """Solve a problem's cvxpy formulation; see :class:`~treeplex.solvers.CVXPY`."""
    import cvxpy as cp

    if options.start is not None:
        raise UnknownMethodError(f"{method.name} takes no start: iterative methods do")
    if method.solver not in cp.installed_solvers():
        raise UnknownMethodError(
            f"cvxpy has no solver {method.solver!r} installed: it has {', '.join(cp.installed_solvers())}"
        )
    begun = time.perf_counter()
    program = problem.to_cvxpy()
    built = time.perf_counter()
    limits = _limits(method.solver, options)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
            program.solve(solver=method.solver, **limits)
    except cp.error.SolverError as error:
        raise SolverError(f"cvxpy with {method.solver} failed: {error}") from None
    ended = time.perf_counter()
    solved = program.value is not None and abs(program.value) < float("inf")
    answer = problem.read_cvxpy(program) if solved else None
    stats = program.solver_stats
    return Outcome(
        plans=None if answer is None else answer.plans,
        multipliers={} if answer is None else answer.multipliers,
        evidence={} if answer is None else answer.evidence,
        stopped=_STOPPED.get(program.status, Status.OPTIMAL),
        detail=f"cvxpy with {method.solver} says {program.status}",
        iterations=int((stats.num_iters if stats is not None else 0) or 0),
        seconds=ended - built,
        build_seconds=built - begun,
    )


def _limits(solver: str, options: Options) -> dict[str, float]:
    """Return the limits that were set, by the solver's names for them."""
    seconds, iterations = _LIMITS.get(solver, (None, ()))
    limits: dict[str, float] = {}
    if options.time_limit < math.inf:
        if seconds is None:
            raise UnknownMethodError(f"cvxpy with {solver} takes no time_limit here: use {', '.join(_LIMITS)}")
        limits[seconds] = options.time_limit
    if options.max_iterations < 2**31 - 1:
        if not iterations:
            raise UnknownMethodError(
                f"cvxpy with {solver} takes no max_iterations here: use one of {', '.join(_LIMITS)}"
            )
        limits.update(dict.fromkeys(iterations, options.max_iterations))
    return limits
