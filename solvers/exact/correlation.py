"""Optimal correlated equilibria by HiGHS."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ...models.correlation import CorrelationPlan
from ...models.problems import Certificate
from ...models.problems.correlated import FLOWS, NEVER, PLAN, PRICES, Correlated
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Rows
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidOptionError, TimeLimitError
from ...seqform.game import Game
from ...seqform.limits import counted_now, seconds_left, time_limited
from ...seqform.strategy import Profile
from ..certification import enough, proven_error
from ..correlated_run import CorrelatedRun
from ..feasible_plans import FeasiblePlans
from ..outcome import Options, Outcome, Status, nearest_profile
from ..second_questions import second_question
from ..trigger_regret import MixedPlan
from .highs_models import iterations, prepared, run_solver, said, solution_of, stopped

if TYPE_CHECKING:
    from ..methods import HiGHS

#: Programs with more columns call back into Python, so that Ctrl-C ends them.
_LARGE = 5_000
#: Up to this many pairs of sequences, another vertex is tried if the certificate does not meet the tolerance.
_CROSSED = 5_000
#: The seconds, and the fraction of the time limit, kept for a plan in case that HiGHS finds none; its most iterations.
_KEPT, _SHARE, _ITERATIONS = 10.0, 0.15, 1_000
#: The seconds for such a plan after Ctrl-C.
_HURRIED = 2.0
#: Statuses after which other ways are not tried.
_FINAL = (Status.INTERRUPTED, Status.TIME_LIMIT, Status.INFEASIBLE)


def run(method: "HiGHS", problem: Correlated, options: Options) -> Outcome:
    """Solve the linear program of a correlated equilibrium; see :class:`~treeplex.solvers.HiGHS`.

    If the certificate does not meet the tolerance, solve the program in other ways: by a vertex, and without the
    columns that no equilibrium uses.
    """
    if options.start is not None:
        raise InvalidOptionError(f"{method.name} does not accept a start for {problem.name}: omit the start")
    built = counted_now()
    program = problem.linear_program()
    large = program.shape[1] > _LARGE
    algorithm = method.algorithm if method.algorithm != "auto" else "ipm" if large else "simplex"
    begun = counted_now()
    kept = min(_KEPT, _SHARE * options.time_limit)
    limit = options.time_limit - kept  # the rest is for a fallback
    best = _Attempt(Status.OPTIMAL, "")
    if large:  # without dominated recommendations a program may be far easier
        with time_limited(limit):
            if problem.never.any():
                program_left = problem.linear_program(problem.never)
                best = _attempt(method, problem, options, program_left, "simplex", limit, True)
    if best.error:
        left = limit - (counted_now() - begun)
        best = _better(best, _attempt(method, problem, options, program, algorithm, left), "as a whole")
    for how, again, without in _other_ways(problem, algorithm, large):
        left = limit - (counted_now() - begun)
        if best.error == 0.0 or best.stopped in _FINAL or not seconds_left(left):
            break
        with second_question("a more accurate answer") as asked, time_limited(left):
            never = problem.never if without else None
            if never is None or never.any():
                other = program if never is None else problem.linear_program(never)
                best = _better(best, _attempt(method, problem, options, other, again, left, without), how)
        best = replace(best, detail=asked.added_to(best.detail))
    if best.state is None and best.stopped is not Status.INFEASIBLE:
        best = _fallback(problem, best, min(kept, _HURRIED) if best.stopped is Status.INTERRUPTED else kept)
    plans = None if best.state is None else (best.state.marginal(0), best.state.marginal(1))
    return Outcome(
        plans=plans,
        stopped=best.stopped,
        detail=best.detail,
        iterations=best.count,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        multipliers=best.multipliers,
        dual_certificate=best.given,
        proof=best.proof,
        state=best.state,
    )


@dataclass(frozen=True, eq=False)
class _Attempt:
    """One run of HiGHS, and the certificate of its answer."""

    stopped: Status
    detail: str
    count: int = 0
    multipliers: dict[str, float] = field(default_factory=dict)
    given: dict[str, Floats] = field(default_factory=dict)
    state: CorrelationPlan | None = None
    proof: tuple[Profile, Certificate] | None = None
    error: float = math.inf  # 0 if it meets the tolerance


def _better(best: _Attempt, found: _Attempt, how: str) -> _Attempt:
    """Return the better of two attempts; the second one was made later."""
    if not best.detail or (found.stopped is Status.INFEASIBLE and found.state is None):
        return found
    if found.state is not None and found.error < best.error:
        return replace(found, detail=f"{best.detail}, then solved {how}", count=best.count + found.count)
    return best if best.state is not None else replace(found, count=best.count + found.count)


def _other_ways(problem: Correlated, algorithm: str, large: bool) -> Iterator[tuple[str, str, bool]]:
    """Yield other ways to solve the program: in words, the algorithm, and whether to leave out unused columns."""
    if not large:
        yield "without dominated recommendations", "simplex", True
    vertex = "simplex" if algorithm == "ipm-crossover" else "ipm-crossover"
    if problem.polytope.pairs.num_pairs <= _CROSSED:
        yield f"again by {vertex}", vertex, False


def _fallback(problem: Correlated, best: _Attempt, seconds: float) -> _Attempt:
    """Return the mixture of strategies that minimise trigger regrets for a few seconds, and its certificate.

    Under constraints the strategies are moved until their mean meets the constraints; if they cannot be, there is none.
    """
    polytope = problem.polytope
    run = CorrelatedRun(Game.from_sequence_form(polytope.pairs.form))
    columns, until, moves = np.zeros(polytope.size), counted_now() + seconds, bool(problem.constraints)
    while run.iterations < _ITERATIONS and (not run.iterations or counted_now() < until - moves * seconds / 2):
        run.run(1)
        columns += polytope.of_plans(*run.last_plans)
    number, why = run.iterations, ""
    if moves:
        moved = _moved(problem, run.mixture.plans, until)
        if moved is None:
            return best
        number, columns = len(moved[0]), np.zeros(polytope.size)
        for both in zip(*moved, strict=True):
            columns += polytope.of_plans(*both)
        kept = (plans[:number] for plans in run.mixture.plans)
        why = "" if all(map(np.array_equal, moved, kept)) else "to meet the constraints"
    state = MixedPlan.of_columns(polytope, columns / number, number, why)
    given = {PLAN: state.columns}
    profile = nearest_profile(problem.game, (state.marginal(0), state.marginal(1)))
    return replace(best, given=given, state=state, proof=(profile, problem.certify(profile, {}, given)))


def _moved(problem: Correlated, plans: tuple[Floats, ...], until: float) -> tuple[Floats, ...] | None:
    """Return the plans of profiles, each moved towards the nearest one that meets the constraints.

    All plans of a player are moved by the same fraction of the way, the smallest one with which their mean meets the
    constraints. After a time, the remaining profiles are left out. ``None`` if no plan is found that meets them.
    """
    form = problem.game.sequence_form
    if problem.polytope.pairs.form is not form:
        return None  # whole plans
    rows = [tuple(one for one in problem.constraints if one.player == player) for player in (0, 1)]
    feasible = [
        FeasiblePlans.of(Rows(own, treeplex.num_sequences), treeplex)
        for own, treeplex in zip(rows, form.treeplexes, strict=True)
    ]
    nearest: list[list[Floats]] = []
    for profile in zip(*plans, strict=True):
        near = [each.nearest(plan) for each, plan in zip(feasible, profile, strict=True)]
        if near[0] is None or near[1] is None:
            return None
        nearest.append([near[0], near[1]])
        if counted_now() > until:
            break
    found = []
    for own, given, moved in zip(rows, plans, zip(*nearest, strict=True), strict=True):
        before, after, share = given[: len(moved)], np.array(moved), 0.0
        for one in own:
            missed, met = one.value(before.mean(axis=0)), one.value(after.mean(axis=0))
            share = max(share, 0.0 if missed <= 0.0 else missed / (missed - met) if met < 0.0 else 1.0)
        found.append((1.0 - share) * before + share * after)
    return tuple(found)


def _attempt(
    method: "HiGHS",
    problem: Correlated,
    options: Options,
    program: LinearProgram,
    algorithm: str,
    seconds: float,
    without: bool = False,
) -> _Attempt:
    """Run HiGHS on a program and certify its answer."""
    large = program.shape[1] > _LARGE
    solver = prepared(method, problem, options, algorithm, program, seconds)
    try:
        interrupted = run_solver(solver, interruptible=large)
    except (KeyboardInterrupt, TimeLimitError):  # HiGHS is still running in its thread and must not be called
        return _Attempt(Status.INTERRUPTED, "HiGHS did not stop on request")
    ending, detail = Status.INTERRUPTED if interrupted else stopped(solver), said(solver)
    count, numbers = iterations(solver, algorithm), solution_of(solver, program)
    if ending is Status.INFEASIBLE and problem.constraints:  # an equilibrium without constraints exists
        detail = f"according to HiGHS, no {problem.name.upper()} meets the constraints: loosen one of them"
        numbers = None
    if numbers is None or not np.isfinite(numbers[0]).all():
        return _Attempt(ending, detail, count)
    multipliers, given = read(problem, program, *numbers, without)
    state = CorrelationPlan(problem.polytope, given[PLAN])
    profile = nearest_profile(problem.game, (state.marginal(0), state.marginal(1)))
    certificate = problem.certify(profile, multipliers, given)
    error = proven_error(problem, profile, certificate)
    error = error if error > enough(problem, certificate, options) else 0.0
    return _Attempt(ending, detail, count, multipliers, given, state, (profile, certificate), error)


def read(
    problem: Correlated, program: LinearProgram, primal: Floats, dual: Floats, without: bool = False
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
    without : bool
        Whether the program leaves out the columns ``problem.never``.
    """
    polytope = problem.polytope
    columns, kept = primal[program.columns[PLAN]], None
    given = {}
    if without:
        columns = np.where(problem.never, 0.0, columns)
        kept = np.minimum(polytope.to_pairs @ np.where(problem.never, 0.0, 1.0), 1.0)
        given[NEVER] = np.ones(1)
    given[PLAN] = polytope.point(polytope.shares(columns))
    for player, scale in enumerate(problem.scales(1.0 if kept is None else kept)):
        if f"follow {player}" in program.rows:
            given[PRICES.format(player)] = np.maximum(-dual[program.rows[f"follow {player}"]], 0.0) / scale
            flows = np.maximum(-dual[program.rows[f"deviations {player}"]], 0.0)
            given[FLOWS.format(player)] = np.concatenate([[1.0], flows])
    multipliers = {
        one.name: max(0.0, float(dual[program.rows[f"constraint {number}"]][0]))
        for number, one in enumerate(problem.constraints)
    }
    return multipliers, given
