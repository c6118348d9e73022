"""Linear programs through HiGHS directly: matrices handed over in one call, duals read back."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from ...models.problems import Certificate, SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, Saddle, linear_program, read_solution
from ...seqform.arrays import Floats
from ...seqform.errors import TimeLimitError, UnknownMethodError, shown
from ...seqform.limits import seconds_left, time_limited
from ...seqform.strategy import Profile
from ..certification import LIMITS, certified_error, enough
from ..outcome import Options, Outcome, nearest_profile
from ..status import Status
from .interruptible import run_solver

if TYPE_CHECKING:
    from ..methods import HiGHS

#: What HiGHS is asked for in feasibility and optimality.
TOLERANCE = 1e-9
#: Rows and columns, together, up to which a program is solved in fractions where floats do not prove the tolerance.
REFINED = 500
#: Actions of one infoset above which there is no presolve: its time would grow with their square.
LONG = 5_000

#: Interior point takes tens of iterations, or stays where it is for ever.
_STALLED = 1_000
_SOLVERS = {"simplex": "simplex", "ipm": "ipm", "ipm-crossover": "ipm", "pdlp": "pdlp"}

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


@dataclass(frozen=True, eq=False)
class Basis:
    """Where the simplex method ended: which columns and rows of a linear program are basic or at which bound.

    Attributes
    ----------
    shape : tuple of int
        Of the program: its rows and columns.
    columns, rows : tuple
        HiGHS's status of each.
    """

    shape: tuple[int, int]
    columns: tuple[Any, ...]
    rows: tuple[Any, ...]

    @classmethod
    def of(cls, solver: Any, shape: tuple[int, int]) -> "Basis | None":
        """Return the basis of a solver that has finished; ``None`` if it has none."""
        basis = solver.getBasis()
        return cls(shape, tuple(basis.col_status), tuple(basis.row_status)) if basis.valid else None

    def give(self, solver: Any) -> None:
        """Let a solver start from the basis."""
        basis = highspy.HighsBasis()
        basis.col_status, basis.row_status = list(self.columns), list(self.rows)
        basis.valid = True
        solver.setBasis(basis)


def run(method: "HiGHS", problem: SaddleProblem, options: Options) -> Outcome:
    """Solve a problem's linear program; see :class:`~treeplex.solvers.HiGHS`."""
    built = time.perf_counter()
    program = linear_program(problem.canonical)
    algorithm = method.algorithm
    treeplexes = problem.game.sequence_form.treeplexes
    size = sum(treeplex.num_sequences for treeplex in treeplexes)
    large = size > (method.large if all(treeplex.single_parent for treeplex in treeplexes) else method.large_flow)
    if algorithm == "auto":
        algorithm = "ipm" if large else "simplex"
    # PDLP is first-order: digits beyond the tolerance are dear. Its own tolerance is relative, so two more are kept.
    relative = options.tol / problem.game.sequence_form.payoff_scale
    solver = load(program, min(1e-4, max(TOLERANCE, relative / 100.0)) if algorithm == "pdlp" else TOLERANCE)
    solver.setOptionValue("solver", _SOLVERS[algorithm])
    solver.setOptionValue("run_crossover", "on" if algorithm == "ipm-crossover" else "off")
    solver.setOptionValue("time_limit", seconds_left(options.time_limit))
    for limit in ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit"):
        solver.setOptionValue(limit, min(options.max_iterations, 2**31 - 1))
    if options.max_iterations >= method.default_iterations:
        solver.setOptionValue("ipm_iteration_limit", _STALLED)
    if options.start is not None:
        _start_basis(method, options.start, algorithm, program.shape).give(solver)
    begun = time.perf_counter()
    try:
        interrupted = run_solver(solver, interruptible=large)
    except (KeyboardInterrupt, TimeLimitError):  # it goes on unseen, and must not be asked for anything
        return Outcome(
            plans=None,
            stopped=Status.INTERRUPTED,
            detail="HiGHS did not stop when it was asked to",
            iterations=0,
            seconds=time.perf_counter() - begun,
            build_seconds=begun - built,
        )
    ended = time.perf_counter()

    model_status = solver.getModelStatus()
    info = solver.getInfo()
    iterations = {
        "simplex": info.simplex_iteration_count,
        "ipm": info.ipm_iteration_count,
        "ipm-crossover": info.ipm_iteration_count + info.crossover_iteration_count,
        "pdlp": info.pdlp_iteration_count,
    }[algorithm]
    stopped = Status.INTERRUPTED if interrupted else _STOPPED.get(model_status, Status.OPTIMAL)
    told = detail = f"HiGHS says {solver.modelStatusToString(model_status).lower()}"
    found = _Attempt.read(problem, options, program, _solution(solver, program))
    # Where constraints are hard, infeasible may be the truth: others look for a proof.
    refuted = stopped is Status.INFEASIBLE and problem.constraints and problem.penalty is None
    if found.error > 0.0 and algorithm == "simplex" and not refuted and stopped not in LIMITS:
        try:
            with time_limited(options.time_limit - (ended - begun)):
                for how, again, numbers in _further(problem.canonical, program):
                    if isinstance(numbers, Status):  # the last way asks least
                        found, stopped, detail = _Attempt(), numbers, f"{told}, and fractions prove it {numbers}"
                        continue
                    better = _Attempt.read(problem, options, again, numbers)
                    if better.error < found.error:
                        found, stopped, detail = better, Status.OPTIMAL, f"{detail}, then solved {how}"
                    if found.error == 0.0:
                        break
        except KeyboardInterrupt:
            stopped = Status.INTERRUPTED
        except TimeLimitError:
            stopped = Status.TIME_LIMIT
        ended = time.perf_counter()
    answer = found.answer
    return Outcome(
        plans=None if answer is None else answer.plans,
        multipliers={} if answer is None else answer.multipliers,
        dual_certificate={} if answer is None else answer.dual_certificate,
        proof=found.proof,
        stopped=stopped,
        detail=detail,
        iterations=max(0, int(iterations)),
        seconds=ended - begun,
        build_seconds=begun - built,
        state=Basis.of(solver, program.shape) if algorithm in ("simplex", "ipm-crossover") else None,
    )


@dataclass(frozen=True, eq=False)
class _Attempt:
    """An answer and what it proves: ``error`` is 0 where that is enough, infinite where there is no answer."""

    answer: Answer | None = None
    proof: tuple[Profile, Certificate] | None = None
    error: float = math.inf

    @classmethod
    def read(
        cls,
        problem: SaddleProblem,
        options: Options,
        program: LinearProgram,
        numbers: tuple[Floats, Floats] | None,
    ) -> "_Attempt":
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
        profile = nearest_profile(problem.game, answer.plans)
        certificate = problem.certify(profile, answer.multipliers, answer.dual_certificate)
        error = certified_error(problem, certificate, options)
        return cls(answer, (profile, certificate), error if error > enough(problem, certificate, options) else 0.0)


def _solution(solver: Any, program: LinearProgram) -> tuple[Floats, Floats] | None:
    """Return what HiGHS found: a program's columns and the multipliers of its rows."""
    solution = solver.getSolution()
    if not (solution.value_valid and solution.dual_valid):
        return None
    with np.errstate(over="ignore"):  # prices beyond the largest float are cut to it
        return np.array(solution.col_value), np.nan_to_num(np.array(solution.row_dual) * objective_factor(program))


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


def load(program: LinearProgram, tolerance: float = TOLERANCE) -> Any:
    """Return a HiGHS instance that holds a linear program, silent and with tight tolerances.

    HiGHS minimises an objective in units of ``program.objective_unit``, since its tolerances are absolute; what it says
    of duals and objective is to be multiplied by :func:`objective_factor`.
    """
    model = program.to_highs()
    model.sense_ = highspy.ObjSense.kMinimize
    model.col_cost_ = program.objective / objective_factor(program)
    solver = highspy.Highs()
    solver.silent()
    for kind in ("primal_feasibility", "dual_feasibility", "ipm_optimality", "pdlp_optimality"):
        solver.setOptionValue(f"{kind}_tolerance", tolerance)
    # What is smaller HiGHS takes for zero: by default 1e-9, which is what a rare outcome of chance makes of payoffs.
    solver.setOptionValue("small_matrix_value", 1e-12)
    counts = np.bincount(program.matrix.indices, minlength=program.shape[0])
    if counts[program.rows.get("plan", slice(0))].max(initial=0) > LONG:
        solver.setOptionValue("presolve", "off")
    solver.passModel(model)
    return solver


def objective_factor(program: LinearProgram) -> float:
    """Return what the program's objective is of the one that HiGHS minimises.

    It is negative to maximise. HiGHS could do that itself, but 1.15 forgets to turn the duals round when it maximises
    by interior point without crossover.
    """
    return -program.objective_unit if program.maximise else program.objective_unit
