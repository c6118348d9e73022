"""Optimal correlated equilibria by HiGHS."""

from typing import TYPE_CHECKING

import highspy
import numpy as np

from ...models.correlation import CorrelationPlan
from ...models.problems.correlated import FLOWS, PLAN, PRICES, Correlated
from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidOptionError, TimeLimitError
from ...seqform.limits import counted_now
from ..outcome import Options, Outcome, Status, nearest_profile
from .highs_models import choose_algorithm, iterations, prepared, run_solver, said, solution_of, stopped

if TYPE_CHECKING:
    from ..methods import HiGHS

#: Programs with more columns call back into Python, so that Ctrl-C ends them.
_LARGE = 5_000


def run(method: "HiGHS", problem: Correlated, options: Options) -> Outcome:
    """Solve the linear program of a correlated equilibrium; see :class:`~treeplex.solvers.HiGHS`."""
    if options.start is not None:
        raise InvalidOptionError(f"{method.name} does not accept a start for {problem.name}: omit the start")
    built = counted_now()
    program = problem.linear_program()
    large = program.shape[1] > _LARGE
    algorithm = method.algorithm if method.algorithm != "auto" else "ipm" if large else "simplex"
    solver = prepared(method, problem, options, algorithm, program, options.time_limit)
    begun = counted_now()
    plans, proof, state = None, None, None
    multipliers: dict[str, float] = {}
    given: dict[str, Floats] = {}
    try:
        interrupted = run_solver(solver, interruptible=large)
        if algorithm == "simplex" and solver.getModelStatus() == highspy.HighsModelStatus.kUnknown:
            algorithm = "ipm-crossover"  # the simplex method may stall if no equilibrium meets the constraints
            solver.clearSolver()
            choose_algorithm(solver, algorithm)
            interrupted = run_solver(solver, interruptible=large)
    except (KeyboardInterrupt, TimeLimitError):  # HiGHS is still running in its thread and must not be called
        ending, detail, count = Status.INTERRUPTED, "HiGHS did not stop on request", 0
    else:
        ending, detail = Status.INTERRUPTED if interrupted else stopped(solver), said(solver)
        count, numbers = iterations(solver, algorithm), solution_of(solver, program)
        if ending is Status.INFEASIBLE and problem.constraints:  # an equilibrium without constraints exists
            detail = f"according to HiGHS, no {problem.name.upper()} meets the constraints: loosen one of them"
            numbers = None
        if numbers is not None and np.isfinite(numbers[0]).all():
            multipliers, given = read(problem, program, *numbers)
            state = CorrelationPlan(problem.polytope, given[PLAN])
            plans = (state.marginal(0), state.marginal(1))
            profile = nearest_profile(problem.game, plans)
            proof = profile, problem.certify(profile, multipliers, given)
    return Outcome(
        plans=plans,
        stopped=ending,
        detail=detail,
        iterations=count,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        multipliers=multipliers,
        dual_certificate=given,
        proof=proof,
        state=state,
    )


def read(
    problem: Correlated, program: LinearProgram, primal: Floats, dual: Floats
) -> tuple[dict[str, float], dict[str, Floats]]:
    """Return the multipliers of constraints, and the plan, prices and deviations for the certificate.

    Parameters
    ----------
    problem : Correlated
    program : LinearProgram
    primal : ndarray of float64
        The values of the columns.
    dual : ndarray of float64
        The multipliers of the rows.
    """
    polytope = problem.polytope
    given = {PLAN: polytope.point(polytope.shares(primal[program.columns[PLAN]]))}
    for player, scale in enumerate(problem.scales):
        if f"follow {player}" in program.rows:
            given[PRICES.format(player)] = np.maximum(-dual[program.rows[f"follow {player}"]], 0.0) / scale
            flows = np.maximum(-dual[program.rows[f"deviations {player}"]], 0.0)
            given[FLOWS.format(player)] = np.concatenate([[1.0], flows])
    multipliers = {
        one.name: max(0.0, float(dual[program.rows[f"constraint {number}"]][0]))
        for number, one in enumerate(problem.constraints)
    }
    return multipliers, given
