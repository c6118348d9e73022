"""Other ways to solve a linear program whose HiGHS answer does not meet the tolerance."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...models.problems import SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Saddle, linear_program
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.limits import counted_now, seconds_left, time_limited
from ..certification import LIMITS
from ..outcome import Options, Outcome, Status
from ..second_questions import second_question
from .highs_models import Attempt, load, solution_of
from .interior import refined as refined_interior

#: The largest number of rows and columns of a program solved in fractions if floats do not prove the tolerance.
REFINED = 500


@dataclass
class Reached:
    """The state of a solve: the best answer so far, its status, and how it was found, in words.

    Attributes
    ----------
    attempt : Attempt
    stopped : Status
    detail : str
    exact : Outcome or None
        The answer of the method ``rational``, if it was needed and is proven.
    """

    attempt: Attempt
    stopped: Status
    detail: str
    exact: Outcome | None = None


def improve(
    reached: Reached,
    problem: SaddleProblem,
    options: Options,
    program: LinearProgram,
    algorithm: str,
    numbers: tuple[Floats, Floats] | None,
    begun: float,
) -> None:
    """Solve a program in other ways until an answer meets the tolerance.

    Parameters
    ----------
    reached : Reached
        HiGHS's result; better answers replace it.
    problem : SaddleProblem
    options : Options
    program : LinearProgram
    algorithm : str
        HiGHS's algorithm.
    numbers : tuple of ndarray, or None
        HiGHS's columns and the multipliers of rows.
    begun : float
        The time at which HiGHS started and the time limit began.
    """
    told = reached.detail
    if algorithm == "ipm" and numbers is not None and reached.stopped is Status.OPTIMAL:
        _refine(reached, problem, options, program, numbers, begun)
    # With hard constraints, infeasible may be correct; other code looks for a proof.
    refuted = reached.stopped is Status.INFEASIBLE and problem.constraints and problem.penalty is None
    floats_fail = algorithm == "simplex" or problem.game.stakes < problem.game.payoff_scale
    if not reached.attempt.excess or not floats_fail or refuted or reached.stopped in LIMITS:
        return
    try:
        # If something fails here, the answer in floats remains.
        left = options.time_limit - (counted_now() - begun)
        with second_question("a more accurate answer") as asked, time_limited(left):
            for how, again, found in _further(problem.canonical, program):
                if isinstance(found, Status):  # only the last way returns a status
                    reached.attempt, reached.stopped = Attempt(), found
                    reached.detail = f"{told}, and exact arithmetic proves it {found}"
                    continue
                better = Attempt.read(problem, options, again, found)
                if better.betters(reached.attempt):
                    reached.attempt, reached.stopped = better, Status.OPTIMAL
                    reached.detail = f"{reached.detail}, then solved {how}"
                if not reached.attempt.excess:
                    break
            # Floats may be too inaccurate for the answer itself, because penalties amplify its rounding errors.
            reached.exact = _in_fractions(problem, options, program) if reached.attempt.excess else None
            if reached.exact is not None:
                reached.detail = f"{reached.detail}, then solved and proven in fractions"
    except KeyboardInterrupt:
        reached.stopped = Status.INTERRUPTED
    reached.detail = asked.added_to(reached.detail)
    if asked.is_late:
        reached.stopped = Status.TIME_LIMIT


def _refine(
    reached: Reached,
    problem: SaddleProblem,
    options: Options,
    program: LinearProgram,
    numbers: tuple[Floats, Floats],
    begun: float,
) -> None:
    """Refine an answer of the interior point method."""
    better = Attempt()
    try:
        with second_question("a refined answer") as asked:
            left = options.time_limit - (counted_now() - begun)
            better = Attempt.read(problem, options, program, refined_interior(program, numbers, left))
        reached.detail = asked.added_to(reached.detail)
    except KeyboardInterrupt:
        reached.stopped, better = Status.INTERRUPTED, Attempt()
    if better.excess < reached.attempt.excess:
        reached.attempt, reached.detail = better, f"{reached.detail}, then refined"


def _further(
    saddle: Saddle, program: LinearProgram
) -> Iterator[tuple[str, LinearProgram, tuple[Floats, Floats] | Status | None]]:
    """Solve a program in several other ways, in turn; yield a status if it is proven that there is no solution.

    A floor at the value of the game has no interior. After a rare chance outcome in which both players still decide,
    the last digit of the floor is large compared with the payoffs at stake, and HiGHS may report "infeasible".
    Therefore the floor is lowered by this digit. Small programs are solved in fractions.
    """
    programs = [("", program)]
    if saddle.floor is not None:
        room = np.finfo(np.float64).eps * saddle.view.game.sequence_form.payoff_scale
        programs.append(("with the floor lowered by round-off", linear_program(saddle, room)))
        solver = load(programs[1][1])
        solver.setOptionValue("time_limit", seconds_left())
        solver.run()
        yield *programs[1], solution_of(solver, programs[1][1])
    if sum(program.shape) <= REFINED:
        from .rational_solve import refined  # importing FLINT is slow

        for how, one in programs:
            yield f"in fractions {how}".strip(), one, refined(one, seconds_left())


def _in_fractions(problem: SaddleProblem, options: Options, program: LinearProgram) -> Outcome | None:
    """Return the answer of the method ``rational``, if it serves the problem and proves an answer."""
    from ..methods import Rational, check_served
    from .rational import run as run_rational

    method = Rational()
    try:
        check_served(method, problem)
        if sum(program.shape) > REFINED:
            return None
        found = run_rational(method, problem, replace(options, start=None, time_limit=seconds_left()))
    except UnsupportedProblemError:
        return None
    return found if found.exact is not None else None
