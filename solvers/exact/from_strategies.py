"""Linear programs that start from a solution: from its basis, or restricted to the sequences that it nearly plays."""

from typing import TYPE_CHECKING, Any

from ...models.problems import SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, Saddle
from ...seqform.errors import InvalidOptionError, TimeLimitError, shown
from ...seqform.limits import counted_now
from ..certification import LIMITS
from ..outcome import Options, Outcome, Status
from ..solution import starting_profile
from .highs_models import (
    TOLERANCE,
    Attempt,
    Basis,
    prepared,
    run_solver,
    said,
    solution_of,
)
from .highs_models import iterations as iterations_of
from .highs_models import stopped as stopped_by
from .restriction import Restriction

if TYPE_CHECKING:
    from ..methods import HiGHS

#: The largest loss of sequences in the first program, relative to the error of the starting strategies.
_SLACK = 0.25


def run_from_strategies(
    method: "HiGHS", problem: SaddleProblem, options: Options, algorithm: str, program: LinearProgram, built: float
) -> Outcome:
    """Solve programs restricted to sequences that lose little; each adds what the previous answer lacked."""
    begun = counted_now()
    saddle = problem.canonical
    found = _started(method, problem, options)
    assert found.answer is not None
    assert found.proof is not None
    first, scale = found.answer, problem.game.stakes
    slack = max(_SLACK * problem.error(found.proof[1]), TOLERANCE * scale)
    kept = _near(saddle, first, slack)
    iterations = rounds = 0
    stopped, detail = Status.OPTIMAL, ""
    while True:
        restricted = kept.of(program)
        left = max(0.0, options.time_limit - (counted_now() - begun))
        solver = prepared(method, problem, options, algorithm, restricted, left)
        rounds += 1
        try:
            interrupted = run_solver(solver, interruptible=True)
        except (KeyboardInterrupt, TimeLimitError):  # HiGHS continues in the background
            stopped, detail = Status.INTERRUPTED, "HiGHS did not stop on request"
            break
        stopped, detail = Status.INTERRUPTED if interrupted else stopped_by(solver), said(solver)
        iterations += iterations_of(solver, algorithm)
        attempt = Attempt.read(problem, options, restricted, solution_of(solver, restricted))
        found = attempt if attempt.proof is not None and attempt.excess <= found.excess else found
        if attempt.excess == 0.0 or stopped in LIMITS:
            break
        if attempt.answer is None or stopped in (Status.INFEASIBLE, Status.UNBOUNDED):
            if kept.is_whole:
                break
            slack *= 10.0  # constraints need more sequences
            kept |= _near(saddle, first, slack)
        else:
            more = kept | _near(saddle, attempt.answer, slack)
            if more.size == kept.size:
                break
            kept = more
    assert found.answer is not None
    used = f"{kept.size:,} of {kept.own.size + kept.other.size:,} sequences in program {rounds}"
    return Outcome(
        plans=found.answer.plans,
        multipliers=found.answer.multipliers,
        dual_certificate=found.answer.dual_certificate,
        proof=found.proof,
        stopped=stopped,
        detail=f"{detail}, with {used}",
        iterations=iterations,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
    )


def _started(method: "HiGHS", problem: SaddleProblem, options: Options) -> Attempt:
    """Return the starting strategies as an attempt.

    Raises
    ------
    InvalidStrategyError
        If it is not a profile of the game.
    InvalidOptionError
        If the problem's program is not only between plans of both players.
    """
    start: Any = options.start
    profile = starting_profile(start, problem.game)
    saddle = problem.canonical
    if not saddle.weight or saddle.floor is not None or saddle.view.replies is not None:
        raise InvalidOptionError(
            f"{method.name} accepts a start only for (constrained) equilibria, but the problem is {problem.name}: "
            "omit the start"
        )
    multipliers = getattr(start, "dual_multipliers", {})
    known = {one.name: multipliers[one.name] for one in problem.constraints if one.name in multipliers}
    return Attempt.of(problem, options, Answer(tuple(profile.plans), known), profile)


def _near(saddle: Saddle, answer: Answer, slack: float) -> Restriction:
    """Return the sequences that lose little against an answer's plans."""
    own, other = answer.plans[saddle.view.player], answer.plans[1 - saddle.view.player]
    return Restriction.near(saddle, own, other, answer.multipliers, answer.dual_certificate, slack)


def start_basis(method: "HiGHS", start: Any, algorithm: str, shape: tuple[int, int]) -> Basis:
    """Return the final basis of a solution."""
    basis = getattr(start, "state", None)
    if algorithm != "simplex":
        raise InvalidOptionError(
            f"{method.name} does not accept a start here, because {algorithm} cannot start from a basis: use simplex"
        )
    if not isinstance(basis, Basis):
        raise InvalidOptionError(
            f"{method.name} starts from a solution by highs-simplex or highs-ipm-crossover, but the start is "
            f"{shown(start)}"
        )
    if basis.shape != shape:
        raise InvalidOptionError(
            f"the start's linear program has {basis.shape[0]} rows and {basis.shape[1]} columns, expected {shape[0]} "
            f"and {shape[1]}: start from the same problem with other coefficients"
        )
    return basis
