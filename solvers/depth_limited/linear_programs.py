"""Depth-limited responses by linear programming: an exact value function, in the program of each step."""

import time
from typing import TYPE_CHECKING

import numpy as np

from ...models.depth_limited import Continual, Found, StepAnswer
from ...models.problems import Nash
from ...models.problems.stepped import SteppedResponse
from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.errors import SolverError, UnknownMethodError
from ..methods import HiGHS
from ..outcome import Options, Outcome, reported
from ..status import Status
from .step_solver import StepSolver

if TYPE_CHECKING:
    from ..methods import DepthLimitedLP


def run(method: "DepthLimitedLP", problem: SteppedResponse, options: Options) -> Outcome:
    """Solve a response step by step; see :class:`~treeplex.solvers.DepthLimitedLP`."""
    if options.start is not None:
        raise UnknownMethodError(f"{method.name} takes no start: its steps begin with what those before have decided")
    built = time.perf_counter()
    form = problem.game.sequence_form
    size = sum(treeplex.num_sequences for treeplex in form.treeplexes)
    algorithm = method.algorithm if method.algorithm != "auto" else "ipm" if size > method.large else "simplex"
    equilibrium = equilibrium_of(problem) if problem.needs_equilibrium else None
    steps = problem.start(equilibrium)
    needed = 8 * len(steps.steps) * sum(2 * treeplex.num_sequences for treeplex in form.treeplexes)
    Budget().require(needed, f"the plans of {len(steps.steps):,} steps on {problem.game.spec}")
    solver = StepSolver(algorithm, interruptible=size > HiGHS.large)
    begun = time.perf_counter()
    answers, stopped = _solve_steps(steps, solver, options, begun)
    ended = time.perf_counter()
    plans = None
    if answers or not steps.steps:
        decided = steps.plan if len(answers) == len(steps.steps) else rest_of(steps, answers)
        own = problem.response(decided, equilibrium)
        model = problem.opponent.plan
        plans = (own, model) if problem.player == 0 else (model, own)
    return Outcome(
        plans=plans,
        stopped=stopped,
        detail=solver.detail,
        iterations=solver.iterations,
        seconds=ended - begun,
        build_seconds=begun - built,
        dual_certificate=problem.dual_certificate(answers, steps.plan, equilibrium),
    )


def _solve_steps(
    steps: Continual, solver: StepSolver, options: Options, begun: float
) -> tuple[list[StepAnswer], Status]:
    """Return the answers of the steps, and how the last one ended."""
    answers: list[StepAnswer] = []
    for number, step in enumerate(steps.steps):
        program = steps.program(number)
        answer: StepAnswer | Status
        if steps.goes_on(number):
            assert step.before is not None
            answer = answers[step.before]
        else:
            seconds = max(0.0, options.time_limit - (time.perf_counter() - begun))
            answer = solver.solve(program, seconds, max(0, options.max_iterations - solver.iterations))
        if isinstance(answer, Status):
            return answers, answer
        answers.append(answer)
        steps.decide(number, program, answer)
        if reported(options, solver.iterations, time.perf_counter() - begun, None):
            return answers, Status.INTERRUPTED
    return answers, Status.OPTIMAL


def rest_of(steps: Continual, answers: list[StepAnswer]) -> Floats:
    """Return the plan of steps that were stopped: where nothing is decided, what the last step would play."""
    own = steps.view.own
    decided = np.logical_or.reduce([step.decided for step in steps.steps[: len(answers)]])
    kept = np.append(True, np.repeat(decided, own.num_actions))
    return own.plan(np.where(kept, steps.behaviour, own.behaviour(answers[-1].plan)))


def equilibrium_of(problem: SteppedResponse) -> Found:
    """Return the equilibrium that a response needs, from the simplex method."""
    from ..solve import solve

    solution = solve(Nash(problem.game), HiGHS("simplex"))
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if not solution.status.is_success:
        raise SolverError(
            f"no equilibrium of {problem.game.spec}, which {problem.name} needs, was found: {solution.message}"
        )
    return Found(solution.profile[problem.player].plan, solution.profile[1 - problem.player].plan)
