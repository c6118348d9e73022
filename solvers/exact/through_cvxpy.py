"""Exact formulations through cvxpy, with any solver that it has installed."""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...models.problems import Certificate, SaddleProblem
from ...models.saddle import Answer, ConicProgram
from ...seqform.errors import SolverError, TimeLimitError, UnknownMethodError, one_line
from ...seqform.limits import counted_now, seconds_left
from ...seqform.strategy import Profile
from ..certification import proven, proven_error
from ..outcome import Options, Outcome, Status, nearest_profile
from .interruptible import run_interruptibly

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

#: Tolerances tighter than the solvers' own; what they end with is judged by the certificate alone.
_TOLERANCES = {"CLARABEL": {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}}

#: What the objective, in units of its largest coefficient, is multiplied by, one after the other until an answer proves
#: a tenth of the tolerance: a conic solver that gets stuck far from the optimum, as at a bound that leaves no interior,
#: often does not where multipliers are smaller.
_SCALES = {"CLARABEL": (1.0, 1e-1, 1e-2, 1e-3)}


def run(method: "CVXPY", problem: SaddleProblem, options: Options) -> Outcome:
    """Solve a problem's cvxpy formulation; see :class:`~treeplex.solvers.CVXPY`."""
    import cvxpy as cp

    if options.start is not None:
        raise UnknownMethodError(f"{method.name} takes no start: iterative methods do")
    solver = method.solver or ("HIGHS" if problem.is_linear else "CLARABEL")
    if solver not in cp.installed_solvers():
        raise UnknownMethodError(
            f"cvxpy has no installed solver {solver!r}; the installed ones are {', '.join(cp.installed_solvers())}"
        )
    begun = counted_now()
    program = ConicProgram.of(problem.canonical)
    built = counted_now()
    unit = max(problem.canonical.objective_unit, 1e-300)  # by denormal numbers nothing can be divided
    attempts: list[_Attempt] = []
    interrupted = False
    for scale in _SCALES.get(solver, (1.0,)):
        # All attempts together have the time that one was given.
        left = seconds_left(max(0.0, options.time_limit - (counted_now() - built)))
        settings = {**_TOLERANCES.get(solver, {}), **_limits(solver, options, left)}
        try:
            attempts.append(_solve(problem, program, solver, settings, scale / unit))
        except (KeyboardInterrupt, TimeLimitError):
            interrupted = True
            break
        enough = attempts[-1].error <= options.tol / 10.0 or attempts[-1].status in _STOPPED
        if enough or not seconds_left(options.time_limit - (counted_now() - built)):
            break
    ended = counted_now()
    best = min(attempts or [_Attempt("interrupted")], key=lambda attempt: (attempt.error, attempt.answer is None))
    if best.failure:
        raise SolverError(f"cvxpy with {solver} failed: {best.failure}")
    return Outcome(
        plans=None if best.answer is None else best.answer.plans,
        multipliers={} if best.answer is None else best.answer.multipliers,
        dual_certificate={} if best.answer is None else best.answer.dual_certificate,
        proof=best.proof,
        stopped=Status.INTERRUPTED if interrupted else _stopped(best, options),
        detail=f"cvxpy with {solver} reports {best.status}",
        iterations=sum(attempt.iterations for attempt in attempts),
        seconds=ended - built,
        build_seconds=built - begun,
    )


@dataclass(frozen=True, eq=False)
class _Attempt:
    """How one run of a solver ended, and what its answer proves.

    The error is infinite where there is no answer, or one that misses hard constraints.
    """

    status: str
    answer: Answer | None = None
    error: float = math.inf
    iterations: int = 0
    failure: str = ""
    proof: tuple[Profile, Certificate] | None = None


def _solve(
    problem: SaddleProblem, program: ConicProgram, solver: str, settings: dict[str, float], scale: float
) -> _Attempt:
    """Solve a program whose objective is multiplied by a number, and judge the answer by its certificate."""
    import cvxpy as cp

    stated = program.problem
    scaled = stated if scale == 1.0 else cp.Problem(stated.objective * scale, stated.constraints)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
            if run_interruptibly(lambda: scaled.solve(solver=solver, **settings)):
                raise KeyboardInterrupt
    except (cp.error.SolverError, ValueError) as failure:  # the latter where a solver knows neither answer nor reason
        return _Attempt("failed", failure=one_line(str(failure), 300))
    iterations = int((scaled.solver_stats.num_iters if scaled.solver_stats is not None else 0) or 0)
    # Not the objective's value: it is infinite where a logarithm meets a zero that round-off made negative.
    if any(variable.value is None for variable in scaled.variables()):
        return _Attempt(scaled.status, iterations=iterations)
    if scale != 1.0:
        with np.errstate(over="ignore"):  # prices beyond the largest float are cut to it
            for constraint in scaled.constraints:
                for variable in constraint.dual_variables:
                    variable.save_value(np.nan_to_num(variable.value / scale))
    answer = program.read()
    error, proof = math.inf, None
    if all(np.isfinite(plan).all() for plan in answer.plans):
        profile = nearest_profile(problem.game, answer.plans)
        proof = proven(problem, profile, answer.multipliers, answer.dual_certificate)
        if not problem.missed(proof[1]):
            error = proven_error(problem, *proof)
    return _Attempt(scaled.status, answer, error, iterations, proof=proof)


def _stopped(attempt: _Attempt, options: Options) -> Status:
    """Return what ended an attempt; cvxpy has one word for all limits."""
    if attempt.status == "user_limit" and attempt.iterations >= options.max_iterations:
        return Status.ITERATION_LIMIT
    return _STOPPED.get(attempt.status, Status.OPTIMAL)


def _limits(solver: str, options: Options, left: float) -> dict[str, float]:
    """Return the limits that were set, by the solver's names for them, with the seconds that are left."""
    seconds, iterations = _LIMITS.get(solver, (None, ()))
    limits: dict[str, float] = {}
    if left < math.inf:
        if seconds is None:
            raise UnknownMethodError(f"cvxpy with {solver} takes no time_limit here: use {', '.join(_LIMITS)}")
        limits[seconds] = left
    if options.max_iterations < 2**31 - 1:
        if not iterations:
            raise UnknownMethodError(
                f"cvxpy with {solver} takes no max_iterations here: use one of {', '.join(_LIMITS)}"
            )
        limits.update(dict.fromkeys(iterations, options.max_iterations))
    return limits
