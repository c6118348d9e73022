"""Exact formulations through cvxpy, with any solver that it has installed."""

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
    limits = {"time_limit": options.time_limit} if method.solver == "HIGHS" else {}
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
            program.solve(solver=method.solver, **limits)
    except cp.error.SolverError as error:
        raise SolverError(f"cvxpy with {method.solver} failed: {error}") from None
    ended = time.perf_counter()
    solved = program.value is not None and abs(program.value) < float("inf")
    stats = program.solver_stats
    return Outcome(
        plans=problem.read_cvxpy(program) if solved else None,
        stopped=_STOPPED.get(program.status, Status.OPTIMAL),
        detail=f"cvxpy with {method.solver} says {program.status}",
        iterations=int((stats.num_iters if stats is not None else 0) or 0),
        seconds=ended - built,
        build_seconds=built - begun,
    )
