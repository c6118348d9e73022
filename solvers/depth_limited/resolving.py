"""Responses step by step: the common run of all step solvers, by linear programs or by regret minimisation."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ...models.depth_limited import ResolvingRun, StepAnswer, StepProgram, TrunkSolution
from ...models.problems import Nash
from ...models.problems.stepped import SteppedResponse
from ...seqform.arrays import Floats
from ...seqform.budget import Budget
from ...seqform.errors import InvalidOptionError
from ...seqform.limits import counted_now, seconds_left
from ..methods import Method
from ..outcome import Options, Outcome, Progress, Status, reported
from ..solve import solve_part


class StepSolver(ABC):
    """The solver of the step programs of a response, one after the other.

    Attributes
    ----------
    iterations : int
        Iterations in all steps.
    stopped : Status
        The status of the steps: that of an unsolved step, otherwise success.
    """

    iterations: int = 0
    stopped: Status = Status.CONVERGED
    #: Whether a step that sees the same game as the previous one reuses its answer.
    goes_on: ClassVar[bool] = True
    #: Whether the iteration limit applies to each step; otherwise steps share it. They always share the time.
    is_iterative: ClassVar[bool] = True

    @abstractmethod
    def solve(self, program: StepProgram, options: Options) -> StepAnswer | None:
        """Solve the program of a step within the limits; ``None`` if there is no answer.

        Parameters
        ----------
        program : StepProgram
        options : Options
            The limits of the step, and the tolerance for its gap, in payoff units; 0 for all iterations.
        """

    def solve_step(self, steps: ResolvingRun, number: int, program: StepProgram, options: Options) -> StepAnswer | None:
        """Solve step ``number`` of a run, given the program of the step; see :meth:`solve`."""
        return self.solve(program, options)

    @abstractmethod
    def said(self, answered: int, steps: int) -> str:
        """Return a description of the solve, in one line."""

    @property
    def kept(self) -> Any:
        """Further results of the solve, for the solution."""
        return None


def resolve(method: Method, problem: SteppedResponse, options: Options, solver: StepSolver) -> Outcome:
    """Solve a response step by step; steps that are not reached follow the plan of the last solved one.

    Parameters
    ----------
    method : Method
    problem : SteppedResponse
    options : Options
        The tolerance applies to the gap of each step.
    solver : StepSolver

    Raises
    ------
    InvalidOptionError
        If a start is given.
    """
    if options.start is not None:
        raise InvalidOptionError(
            f"{method.name} does not accept a start for {problem.name}: "
            "each step starts from the decisions of the earlier steps"
        )
    built = counted_now()
    equilibrium = equilibrium_of(problem) if problem.needs_equilibrium else None
    steps = problem.start(equilibrium)
    size = sum(treeplex.num_sequences for treeplex in problem.game.sequence_form.treeplexes)
    # A step that is not solved in the whole game has only plans of its subgames.
    held = len(steps.steps) if steps.whole else min(len(steps.steps), problem.game.public_tree.num_levels)
    Budget().require(16 * held * size, f"the plans of {len(steps.steps):,} steps on {problem.game.spec}")
    begun = counted_now()
    answers: list[StepAnswer] = []
    stopped: Status | None = None

    def tell(report: Progress) -> bool:
        """Report the progress of a step as a part of the whole run."""
        done = solver.iterations + report.iterations
        return reported(options, done, counted_now() - begun, report.exploitability)

    try:
        for number, step in enumerate(steps.steps):
            program = steps.program(number)
            answer: StepAnswer | None
            if solver.goes_on and steps.goes_on(number):
                assert step.before is not None
                answer = answers[step.before]
            else:
                seconds = seconds_left(options.time_limit - (counted_now() - begun))
                iterations = options.max_iterations
                if solver.is_iterative:
                    seconds /= len(steps.steps) - number
                else:
                    iterations = max(0, iterations - solver.iterations)
                limits = replace(
                    options, time_limit=seconds, max_iterations=iterations, progress=None, callback=tell, answered=None
                )
                answer = solver.solve_step(steps, number, program, limits)
            if answer is None:
                break
            answers.append(answer)
            steps.decide(number, program, answer)
            if solver.stopped is Status.INTERRUPTED:
                break
            if reported(options, solver.iterations, counted_now() - begun, None):
                stopped = Status.INTERRUPTED
                break
        if options.answered is not None:
            options.answered()
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
        if options.answered is not None:
            options.answered()
    ended = counted_now()
    plans = None
    if answers or not steps.steps:
        decided = steps.plan if len(answers) == len(steps.steps) else rest_of(steps, len(answers))
        own, model = problem.response(decided, equilibrium), problem.opponent.plan
        plans = (own, model) if problem.player == 0 else (model, own)
    return Outcome(
        plans=plans,
        stopped=solver.stopped if stopped is None else stopped,
        detail=solver.said(len(answers), len(steps.steps)),
        iterations=solver.iterations,
        seconds=ended - begun,
        build_seconds=begun - built,
        dual_certificate=problem.dual_certificate(answers, steps.plan, equilibrium),
        state=solver.kept,
    )


def rest_of(steps: ResolvingRun, answered: int) -> Floats:
    """Return the plan of a run that stopped: undecided infosets keep the behaviour that the last step found."""
    own = steps.view.own
    decided = np.logical_or.reduce([step.decided for step in steps.steps[:answered]])
    kept = np.append(True, np.repeat(decided, own.num_actions))
    return own.plan(np.where(kept, steps.behaviour, steps.found))


def equilibrium_of(problem: SteppedResponse) -> TrunkSolution:
    """Return the equilibrium that a response needs, computed by the simplex method."""
    needed = f"the equilibrium of {problem.game.spec} that {problem.name} needs"
    profile = solve_part(Nash(problem.game), "highs-simplex", needed=needed).profile
    return TrunkSolution(profile[problem.player].plan, profile[1 - problem.player].plan)
