"""The backend of the method ``highs``: linear programs through HiGHS's own interface."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ...models.problems import SaddleProblem
from ...models.saddle import linear_program
from ...seqform.errors import TimeLimitError
from ...seqform.limits import counted_now
from ..outcome import Options, Outcome, Status
from .highs_models import INTERIOR, Attempt, Basis, iterations, prepared, run_solver, said, solution_of, stopped

if TYPE_CHECKING:
    from ..methods import HiGHS


def run(method: "HiGHS", problem: SaddleProblem, options: Options) -> Outcome:
    """Solve a problem's linear program; see :class:`~treeplex.solvers.HiGHS`."""
    built = counted_now()
    program = linear_program(problem.canonical)
    algorithm = method.algorithm
    treeplexes = problem.game.sequence_form.treeplexes
    size = sum(treeplex.num_sequences for treeplex in treeplexes)
    large = size > (method.large if all(treeplex.single_parent for treeplex in treeplexes) else method.large_flow)
    if algorithm == "auto":
        algorithm = "ipm" if large else "simplex"
    if options.start is not None and algorithm in INTERIOR:
        from .from_strategies import run_from_strategies

        return run_from_strategies(method, problem, options, algorithm, program, built)
    solver = prepared(method, problem, options, algorithm, program, options.time_limit)
    if options.start is not None:
        from .from_strategies import start_basis

        start_basis(method, options.start, algorithm, program.shape).give(solver)
    begun = counted_now()
    try:
        interrupted = run_solver(solver, interruptible=large)
    except (KeyboardInterrupt, TimeLimitError):  # HiGHS is still running in its thread and must not be called
        return Outcome(
            plans=None,
            stopped=Status.INTERRUPTED,
            detail="HiGHS did not stop on request",
            iterations=0,
            seconds=counted_now() - begun,
            build_seconds=begun - built,
        )
    ended = counted_now()
    ending = Status.INTERRUPTED if interrupted else stopped(solver)
    detail, numbers = said(solver), solution_of(solver, program)
    found = Attempt.read(problem, options, program, numbers)
    if found.excess:
        from .other_ways import Reached, improve

        reached = Reached(found, ending, detail)
        improve(reached, problem, options, program, algorithm, numbers, begun)
        found, ending, detail, ended = reached.attempt, reached.stopped, reached.detail, counted_now()
        if reached.exact is not None:
            return replace(reached.exact, detail=detail, seconds=ended - begun, build_seconds=begun - built)
    answer = found.answer
    return Outcome(
        plans=None if answer is None else answer.plans,
        multipliers={} if answer is None else answer.multipliers,
        dual_certificate={} if answer is None else answer.dual_certificate,
        proof=found.proof,
        stopped=ending,
        detail=detail,
        iterations=iterations(solver, algorithm),
        seconds=ended - begun,
        build_seconds=begun - built,
        state=Basis.of(solver, program.shape) if algorithm in ("simplex", "ipm-crossover") else None,
    )
