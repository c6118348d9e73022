"""Depth-limited responses by regret minimisation: each step iterates on the game that it sees."""

import functools
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...models.depth_limited import Continual, StepAnswer, depth_limit
from ...models.problems.stepped import SteppedResponse
from ...seqform.errors import UnknownMethodError
from ..methods import CFRPlus, DepthLimitedCFR
from ..outcome import Options, Outcome, reported
from ..status import Status
from .linear_programs import equilibrium_of, rest_of
from .regret_steps import RegretStepSolver
from .value_steps import ValueStepSolver

if TYPE_CHECKING:
    from ..methods import RegretMethod


def run(method: "RegretMethod", problem: SteppedResponse, options: Options) -> Outcome:
    """Solve a response step by step.

    The tolerance is of the gap of each step, and so is the limit of iterations. Steps share the time that there is; one
    that is stopped by a limit decides by what it has, and its gap says how good that is.
    """
    if options.start is not None:
        raise UnknownMethodError(
            f"{method.name} takes no start for {problem.name}: its steps begin with what those before have decided"
        )
    if method.precision == "single":
        raise UnknownMethodError(f"{method.name} got precision='single' for {problem.name}, expected double")
    built = time.perf_counter()
    equilibrium = equilibrium_of(problem) if problem.needs_equilibrium else None
    steps = problem.start(equilibrium)
    solver: RegretStepSolver
    if isinstance(method, DepthLimitedCFR):
        value = method.value.anew() if hasattr(method.value, "anew") else method.value
        solver = ValueStepSolver(method, problem.view(), options.tol, value)
    else:
        solver = RegretStepSolver(method, problem.view(), options.tol)
    compile_loop()
    begun = time.perf_counter()
    answers: list[StepAnswer] = []
    stopped = Status.CONVERGED
    try:
        _solve_steps(steps, solver, options, begun, answers)
        stopped = solver.stopped
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
    ended = time.perf_counter()
    plans = None
    if answers or not steps.steps:
        decided = steps.plan if len(answers) == len(steps.steps) else rest_of(steps, answers)
        own, model = problem.response(decided, equilibrium), problem.opponent.plan
        plans = (own, model) if problem.player == 0 else (model, own)
    return Outcome(
        plans=plans,
        stopped=stopped,
        detail=f"after {solver.iterations} iterations in {len(answers)} of {len(steps.steps)} steps{solver.said}",
        iterations=solver.iterations,
        seconds=ended - begun,
        build_seconds=begun - built,
        dual_certificate=problem.dual_certificate(answers, steps.plan, equilibrium),
        state=solver.kept,
    )


def _solve_steps(
    steps: Continual, solver: RegretStepSolver, options: Options, begun: float, answers: list[StepAnswer]
) -> None:
    """Solve steps, one after the other, and keep their answers; stop where a listener wants it."""
    for number, step in enumerate(steps.steps):
        program = steps.program(number)
        # With a value function a later step sees more even where an exact one would not.
        if steps.goes_on(number) and not isinstance(solver, ValueStepSolver):
            assert step.before is not None
            answer = answers[step.before]
        else:
            left = options.time_limit - (time.perf_counter() - begun)
            seconds = max(0.0, left) / (len(steps.steps) - number)
            listen = _listener(solver, options, begun)
            if isinstance(solver, ValueStepSolver):
                limit = depth_limit(steps, number, program)
                answer = solver.solve_to(limit, program, seconds, options.max_iterations, listen)
            else:
                answer = solver.solve(program, seconds, options.max_iterations, listen)
        answers.append(answer)
        steps.decide(number, program, answer)
        if solver.stopped is Status.INTERRUPTED:
            return


def _listener(solver: RegretStepSolver, options: Options, begun: float) -> Callable[[int, float], bool]:
    """Return who tells the caller of a solve how a step is doing."""

    def listen(iterations: int, gap: float) -> bool:
        return reported(options, solver.iterations + iterations, time.perf_counter() - begun, gap)

    return listen


@functools.cache
def compile_loop() -> None:
    """Compile the loop, or load it from its cache, on a tiny game, so that no solve's seconds hold that."""
    from ...models.games import load_game
    from ...models.problems import CDBR
    from ...seqform.strategy import Strategy

    game = load_game("matching_pennies")
    problem = CDBR(game, Strategy.uniform(game, 1), lookahead=1)
    RegretStepSolver(CFRPlus(), problem.view(), 0.0).solve(problem.start().program(0), 0.0, 1)
