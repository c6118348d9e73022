"""Exact formulations through cvxpy, with any of its installed solvers."""

import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...models.problems import Certificate, SaddleProblem
from ...models.saddle import Answer, ConicProgram
from ...seqform.errors import InvalidOptionError, SolverError, TimeLimitError, one_line
from ...seqform.limits import counted_now, loading, seconds_left
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


#: The solvers' names for the time limit and the iteration limit.
_LIMITS = {
    "HIGHS": ("time_limit", ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit")),
    "CLARABEL": ("time_limit", ("max_iter",)),
    "SCS": ("time_limit_secs", ("max_iters",)),
    "OSQP": ("time_limit", ("max_iter",)),
    "ECOS": (None, ("max_iters",)),
}

#: Tolerances tighter than the solvers' own; only the certificate decides about an answer.
_TOLERANCES = {"CLARABEL": {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-12, "tol_feas": 1e-12}}

#: The factors of the objective, in units of its largest coefficient, which are tried in turn until an answer proves a
#: tenth of the tolerance. A conic solver that stalls far from the optimum, as at a bound without an interior, often
#: succeeds with smaller multipliers.
_SCALES = {"CLARABEL": (1.0, 1e-1, 1e-2, 1e-3)}


def run(method: "CVXPY", problem: SaddleProblem, options: Options) -> Outcome:
    """Solve a problem's cvxpy formulation; see :class:`~treeplex.solvers.CVXPY`."""
    with loading():
        import cvxpy as cp

    if options.start is not None:
        raise InvalidOptionError(f"{method.name} does not accept a start: use an iterative method")
    solver = method.solver or ("HIGHS" if problem.is_linear else "CLARABEL")
    if solver not in cp.installed_solvers():
        raise InvalidOptionError(
            f"cvxpy has no installed solver {solver!r}; the installed ones are {', '.join(cp.installed_solvers())}"
        )
    begun = counted_now()
    program = ConicProgram.of(problem.canonical)
    built = counted_now()
    unit = max(problem.canonical.objective_unit, 1e-300)  # division by denormal numbers overflows
    attempts: list[_Attempt] = []
    interrupted = False
    for scale in _SCALES.get(solver, (1.0,)):
        # All attempts share the time limit.
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
    """The result of one run of a solver, with its certificate.

    The error is infinite if there is no answer, or if the answer violates hard constraints.
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
    """Solve a program with a scaled objective, and certify the answer."""
    import cvxpy as cp

    stated = program.problem
    scaled = stated if scale == 1.0 else cp.Problem(stated.objective * scale, stated.constraints)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Solution may be inaccurate", category=UserWarning)
            if run_interruptibly(lambda: scaled.solve(solver=solver, **settings)):
                raise KeyboardInterrupt
    except (cp.error.SolverError, ValueError) as failure:  # the latter if a solver returns neither answer nor reason
        return _Attempt("failed", failure=one_line(str(failure), 300))
    iterations = int((scaled.solver_stats.num_iters if scaled.solver_stats is not None else 0) or 0)
    # Not the objective's value: it is infinite if a logarithm gets a zero that round-off made negative.
    if any(variable.value is None for variable in scaled.variables()):
        return _Attempt(scaled.status, iterations=iterations)
    if scale != 1.0:
        with np.errstate(over="ignore"):  # prices beyond the largest float are clipped to it
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
    """Return the status of an attempt; cvxpy has one status for all limits."""
    if attempt.status == "user_limit" and attempt.iterations >= options.max_iterations:
        return Status.ITERATION_LIMIT
    return _STOPPED.get(attempt.status, Status.OPTIMAL)


def _limits(solver: str, options: Options, left: float) -> dict[str, float]:
    """Return the given limits by the solver's names for them, with the remaining seconds."""
    seconds, iterations = _LIMITS.get(solver, (None, ()))
    limits: dict[str, float] = {}
    if left < math.inf:
        if seconds is None:
            raise InvalidOptionError(f"cvxpy with {solver} does not support time_limit here: use {', '.join(_LIMITS)}")
        limits[seconds] = left
    if options.max_iterations < 2**31 - 1:
        if not iterations:
            raise InvalidOptionError(
                f"cvxpy with {solver} does not support max_iterations here: use one of {', '.join(_LIMITS)}"
            )
        limits.update(dict.fromkeys(iterations, options.max_iterations))
    return limits
