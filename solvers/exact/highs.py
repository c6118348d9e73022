"""Linear programs through HiGHS directly: matrices handed over in one call, duals read back."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from ...models.problems import Certificate, SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, Saddle, linear_program, read_solution
from ...seqform.arrays import Floats
from ...seqform.errors import TimeLimitError, UnknownMethodError, UnsupportedProblemError, shown
from ...seqform.limits import counted_now, seconds_left, time_limited
from ...seqform.strategy import Profile
from ..certification import LIMITS, enough, missed_constraints, proven, proven_error
from ..outcome import Options, Outcome, nearest_profile, starting_profile
from ..second_questions import second_question
from ..status import Status
from .basis import Basis
from .highs_models import INTERIOR, STALLED, TOLERANCE, choose_algorithm, load, objective_factor
from .interior import refined as refined_interior
from .interruptible import run_solver
from .restriction import Restriction

if TYPE_CHECKING:
    from ..methods import HiGHS

#: Rows and columns, together, up to which a program is solved in fractions where floats do not prove the tolerance.
REFINED = 500
#: What sequences may lose to be in the first program, relative to the error of the strategies it starts from.
_SLACK = 0.25

# What HiGHS says of itself is a hint alone: interior point without crossover and PDLP end with an unknown status on
# good solutions. The certificate decides.
_STOPPED = {
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.INTERRUPTED,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Status.UNBOUNDED,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.INFEASIBLE,
}


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
        return _run_from_strategies(method, problem, options, algorithm, program, built)
    solver = _prepared(method, problem, options, algorithm, program, options.time_limit)
    if options.start is not None:
        _start_basis(method, options.start, algorithm, program.shape).give(solver)
    begun = counted_now()
    try:
        interrupted = run_solver(solver, interruptible=large)
    except (KeyboardInterrupt, TimeLimitError):  # it goes on unseen, and must not be asked for anything
        return Outcome(
            plans=None,
            stopped=Status.INTERRUPTED,
            detail="HiGHS did not stop when it was asked to",
            iterations=0,
            seconds=counted_now() - begun,
            build_seconds=begun - built,
        )
    ended = counted_now()

    stopped = Status.INTERRUPTED if interrupted else _stopped(solver)
    told = detail = _said(solver)
    solved = _solution(solver, program)
    found = Attempt.read(problem, options, program, solved)
    if found.error > 0.0 and algorithm == "ipm" and solved is not None and stopped is Status.OPTIMAL:
        try:
            left = options.time_limit - (ended - begun)
            better = Attempt()
            with second_question("what refining finds") as asked:
                better = Attempt.read(problem, options, program, refined_interior(program, solved, left))
            detail = asked.added_to(detail)
        except KeyboardInterrupt:
            stopped, better = Status.INTERRUPTED, Attempt()
        if better.error < found.error:
            found, detail = better, f"{detail}, then refined"
        ended = counted_now()
    # Where constraints are hard, infeasible may be the truth: others look for a proof.
    refuted = stopped is Status.INFEASIBLE and problem.constraints and problem.penalty is None
    floats_fail = algorithm == "simplex" or problem.game.stakes < problem.game.payoff_scale
    if found.error > 0.0 and floats_fail and not refuted and stopped not in LIMITS:
        try:
            # What fails here leaves the answer in floats.
            with second_question("what other ways find") as asked, time_limited(options.time_limit - (ended - begun)):
                for how, again, numbers in _further(problem.canonical, program):
                    if isinstance(numbers, Status):  # the last way asks least
                        found, stopped, detail = Attempt(), numbers, f"{told}, and fractions prove it {numbers}"
                        continue
                    better = Attempt.read(problem, options, again, numbers)
                    if better.betters(found):
                        found, stopped, detail = better, Status.OPTIMAL, f"{detail}, then solved {how}"
                    if found.error == 0.0:
                        break
                # Floats may be too short for the answer itself: penalties are multiplied by its last digits.
                exactly = None if found.error == 0.0 else _in_fractions(problem, options, program)
                if exactly is not None:
                    used = counted_now() - begun
                    told = f"{detail}, then solved and proven in fractions"
                    return replace(exactly, detail=told, seconds=used, build_seconds=begun - built)
        except KeyboardInterrupt:
            stopped = Status.INTERRUPTED
        detail = asked.added_to(detail)
        stopped = Status.TIME_LIMIT if asked.is_late else stopped
        ended = counted_now()
    answer = found.answer
    return Outcome(
        plans=None if answer is None else answer.plans,
        multipliers={} if answer is None else answer.multipliers,
        dual_certificate={} if answer is None else answer.dual_certificate,
        proof=found.proof,
        stopped=stopped,
        detail=detail,
        iterations=_iterations(solver, algorithm),
        seconds=ended - begun,
        build_seconds=begun - built,
        state=Basis.of(solver, program.shape) if algorithm in ("simplex", "ipm-crossover") else None,
    )


def _prepared(
    method: "HiGHS", problem: SaddleProblem, options: Options, algorithm: str, program: LinearProgram, seconds: float
) -> Any:
    """Return a HiGHS instance that holds a program and has an algorithm, tolerances and limits set."""
    # PDLP is first-order: digits beyond the tolerance are dear. Its own tolerance is relative, so two more are kept.
    relative = options.tol / problem.game.stakes
    solver = load(program, min(1e-4, max(TOLERANCE, relative / 100.0)) if algorithm == "pdlp" else TOLERANCE)
    choose_algorithm(solver, algorithm)
    solver.setOptionValue("time_limit", seconds_left(seconds))
    for limit in ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit"):
        solver.setOptionValue(limit, min(options.max_iterations, 2**31 - 1))
    if options.max_iterations >= method.default_iterations:
        solver.setOptionValue("ipm_iteration_limit", STALLED)
    return solver


def _stopped(solver: Any) -> Status:
    return _STOPPED.get(solver.getModelStatus(), Status.OPTIMAL)


def _said(solver: Any) -> str:
    return f"HiGHS says {solver.modelStatusToString(solver.getModelStatus()).lower()}"


def _iterations(solver: Any, algorithm: str) -> int:
    info = solver.getInfo()
    iterations = {
        "simplex": info.simplex_iteration_count,
        "ipm": info.ipm_iteration_count,
        "ipm-crossover": info.ipm_iteration_count + info.crossover_iteration_count,
        "pdlp": info.pdlp_iteration_count,
    }[algorithm]
    return max(0, int(iterations))


@dataclass(frozen=True, eq=False)
class Attempt:
    """An answer and what it proves: ``error`` is 0 where that is enough, infinite where it misses hard constraints."""

    answer: Answer | None = None
    proof: tuple[Profile, Certificate] | None = None
    error: float = math.inf

    def betters(self, other: "Attempt") -> bool:
        """Whether the error is less, or there are strategies where another has none."""
        return self.error < other.error or (self.proof is not None and other.proof is None)

    def or_better(self, other: "Attempt") -> "Attempt":
        """Return the better one of two."""
        return other if other.betters(self) else self

    @classmethod
    def read(
        cls,
        problem: SaddleProblem,
        options: Options,
        program: LinearProgram,
        numbers: tuple[Floats, Floats] | None,
    ) -> "Attempt":
        """Read the answer off a program's columns and the multipliers of its rows, if there are any."""
        if numbers is None:
            return cls()
        primal, dual = numbers
        answer = read_solution(
            problem.canonical,
            {name: primal[part] for name, part in program.columns.items()},
            {name: dual[part] for name, part in program.rows.items()},
        )
        if not all(np.isfinite(plan).all() for plan in answer.plans):
            return cls(answer)
        return cls.of(problem, options, answer, nearest_profile(problem.game, answer.plans))

    @classmethod
    def of(cls, problem: SaddleProblem, options: Options, answer: Answer, profile: Profile) -> "Attempt":
        """Prove what an answer's strategies are worth."""
        profile, certificate = proven(problem, profile, answer.multipliers, answer.dual_certificate)
        error = math.inf if missed_constraints(problem, certificate) else proven_error(problem, profile, certificate)
        return cls(answer, (profile, certificate), error if error > enough(problem, certificate, options) else 0.0)


def _solution(solver: Any, program: LinearProgram) -> tuple[Floats, Floats] | None:
    """Return what HiGHS found: a program's columns and the multipliers of its rows."""
    solution = solver.getSolution()
    if not (solution.value_valid and solution.dual_valid):
        return None
    with np.errstate(over="ignore"):  # prices beyond the largest float are cut to it
        return np.array(solution.col_value), np.nan_to_num(np.array(solution.row_dual) * objective_factor(program))


def _run_from_strategies(
    method: "HiGHS", problem: SaddleProblem, options: Options, algorithm: str, program: LinearProgram, built: float
) -> Outcome:
    """Solve programs restricted to what strategies play or nearly would, each with what the answer before lacked."""
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
        solver = _prepared(method, problem, options, algorithm, restricted, left)
        rounds += 1
        try:
            interrupted = run_solver(solver, interruptible=True)
        except (KeyboardInterrupt, TimeLimitError):  # HiGHS goes on unseen
            stopped, detail = Status.INTERRUPTED, "HiGHS did not stop when it was asked to"
            break
        stopped, detail = Status.INTERRUPTED if interrupted else _stopped(solver), _said(solver)
        iterations += _iterations(solver, algorithm)
        attempt = Attempt.read(problem, options, restricted, _solution(solver, restricted))
        found = attempt if attempt.proof is not None and attempt.error <= found.error else found
        if attempt.error == 0.0 or stopped in LIMITS:
            break
        if attempt.answer is None or stopped in (Status.INFEASIBLE, Status.UNBOUNDED):
            if kept.is_whole:
                break
            slack *= 10.0  # constraints need more than was kept
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
    """Return the strategies of a start as an answer.

    Raises
    ------
    InvalidStrategyError
        If it is no profile of the game.
    UnknownMethodError
        If the problem's program is not one between plans of both players alone.
    """
    start: Any = options.start
    profile = starting_profile(start, problem.game)
    saddle = problem.canonical
    if not saddle.weight or saddle.floor is not None or saddle.view.replies is not None:
        raise UnknownMethodError(
            f"{method.name} takes a start for equilibria, constrained or not, and the problem is {problem.name}: give "
            "none"
        )
    multipliers = getattr(start, "dual_multipliers", {})
    known = {one.name: multipliers[one.name] for one in problem.constraints if one.name in multipliers}
    return Attempt.of(problem, options, Answer(tuple(profile.plans), known), profile)


def _near(saddle: Saddle, answer: Answer, slack: float) -> Restriction:
    """Return what loses little against an answer's plans."""
    own, other = answer.plans[saddle.view.player], answer.plans[1 - saddle.view.player]
    return Restriction.near(saddle, own, other, answer.multipliers, answer.dual_certificate, slack)


def _further(
    saddle: Saddle, program: LinearProgram
) -> Iterator[tuple[str, LinearProgram, tuple[Floats, Floats] | Status | None]]:
    """Solve a program in other ways, one after the other; a status if it is proven that there is no solution.

    A floor at the value of the game leaves no room. Where chance has a rare outcome under which both still decide, the
    last digit of the floor is a large part of what is at stake there, and HiGHS may say "infeasible": so the floor is
    lowered by it. Small programs are solved in fractions.
    """
    programs = [("", program)]
    if saddle.floor is not None:
        room = np.finfo(np.float64).eps * saddle.view.game.sequence_form.payoff_scale
        programs.append(("with the floor lowered by round-off", linear_program(saddle, room)))
        solver = load(programs[1][1])
        solver.setOptionValue("time_limit", seconds_left())
        solver.run()
        yield *programs[1], _solution(solver, programs[1][1])
    if sum(program.shape) <= REFINED:
        from .rational import refined  # FLINT takes its time to load

        for how, one in programs:
            yield f"in fractions {how}".strip(), one, refined(one, seconds_left())


def _in_fractions(problem: SaddleProblem, options: Options, program: LinearProgram) -> Outcome | None:
    """Return the answer of the method ``rational``, if it serves the problem and proves one; the program is small."""
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


def _start_basis(method: "HiGHS", start: Any, algorithm: str, shape: tuple[int, int]) -> Basis:
    """Return the basis that a solution ended with."""
    basis = getattr(start, "state", None)
    if algorithm != "simplex":
        raise UnknownMethodError(
            f"{method.name} takes no start here, as {algorithm} goes on from no basis: use simplex"
        )
    if not isinstance(basis, Basis):
        raise UnknownMethodError(
            f"{method.name} starts from a solution by highs-simplex or highs-ipm-crossover, and the start is "
            f"{shown(start)}"
        )
    if basis.shape != shape:
        raise UnknownMethodError(
            f"the start's linear program has {basis.shape[0]} rows and {basis.shape[1]} columns, expected {shape[0]} "
            f"and {shape[1]}: start from the same problem with other numbers"
        )
    return basis
