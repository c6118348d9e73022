"""Linear programs in HiGHS: in units that its absolute tolerances suit, what it found, and what that proves."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from ...models.problems import Certificate, SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, read_solution
from ...seqform.arrays import Floats
from ...seqform.limits import seconds_left
from ...seqform.strategy import Profile
from ..certification import enough, proven, proven_error
from ..outcome import Options, Status, nearest_profile

if TYPE_CHECKING:
    from ..methods import HiGHS

#: What HiGHS is asked for in feasibility and optimality.
TOLERANCE = 1e-9
#: The algorithms by interior point.
INTERIOR = ("ipm", "ipm-crossover")
#: Interior point takes tens of iterations, or stays where it is for ever.
STALLED = 1_000
#: Actions of one infoset above which there is no presolve: its time would grow with their square.
LONG = 5_000

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


def load(program: LinearProgram, tolerance: float = TOLERANCE) -> Any:
    """Return a HiGHS instance that holds a linear program, silent and with tight tolerances.

    HiGHS minimises an objective in units of ``program.objective_unit``, since its tolerances are absolute; what it says
    of duals and objective is to be multiplied by :func:`objective_factor`.
    """
    model = program.to_highs()
    model.sense_ = highspy.ObjSense.kMinimize
    model.col_cost_ = program.objective / objective_factor(program)
    solver = silent_solver(tolerance)
    counts = np.bincount(program.matrix.indices, minlength=program.shape[0])
    if counts[program.rows.get("plan", slice(0))].max(initial=0) > LONG:
        solver.setOptionValue("presolve", "off")
    solver.passModel(model)
    return solver


def prepared(
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


def silent_solver(tolerance: float = TOLERANCE) -> Any:
    """Return a HiGHS instance that says nothing, with such tolerances."""
    solver = highspy.Highs()
    solver.silent()
    for kind in ("primal_feasibility", "dual_feasibility", "ipm_optimality", "pdlp_optimality"):
        solver.setOptionValue(f"{kind}_tolerance", tolerance)
    # What is smaller HiGHS takes for zero: by default 1e-9, which is what a rare outcome of chance makes of payoffs.
    solver.setOptionValue("small_matrix_value", 1e-12)
    return solver


def choose_algorithm(solver: Any, algorithm: str) -> None:
    """Set what a HiGHS instance solves by: ``simplex``, ``ipm``, ``ipm-crossover`` or ``pdlp``.

    HiGHS's own ``ipm`` leaves the choice between its interior point solvers to what is installed beside it; ``ipx`` is
    always the one that this package was tested with.
    """
    interior = algorithm in INTERIOR
    solver.setOptionValue("solver", "ipx" if interior else algorithm)
    solver.setOptionValue("run_crossover", "on" if algorithm == "ipm-crossover" else "off")


def objective_factor(program: LinearProgram) -> float:
    """Return the factor by which HiGHS's objective, which it minimises, is multiplied to give the program's.

    It is negative to maximise. HiGHS could do that itself, but 1.15 forgets to turn the duals round when it maximises
    by interior point without crossover.
    """
    return -program.objective_unit if program.maximise else program.objective_unit


def run_solver(solver: Any, interruptible: bool) -> bool:
    """Run HiGHS; whether Ctrl-C or the deadline ended it. What it raises leaves HiGHS at work.

    To be stopped HiGHS must call back into Python at every iteration, which costs a small model a fifth of its time. So
    a small one runs in the main thread, and HiGHS's own time limit ends it. Ctrl-C comes to the main thread alone.
    """
    if not interruptible:
        try:
            solver.run()
        except KeyboardInterrupt:
            return True
        return False
    from .interruptible import run_interruptibly

    # highspy has a loop of its own for this, which prints to standard output when Ctrl-C comes and shares its locks
    # between all solvers of the process.
    solver.HandleUserInterrupt = True
    return run_interruptibly(solver.run, solver.cancelSolve)


def stopped(solver: Any) -> Status:
    """Return how HiGHS ended."""
    return _STOPPED.get(solver.getModelStatus(), Status.OPTIMAL)


def said(solver: Any) -> str:
    """Return what HiGHS says of the model, in words."""
    return f"HiGHS says {solver.modelStatusToString(solver.getModelStatus()).lower()}"


def iterations(solver: Any, algorithm: str) -> int:
    """Return how many iterations HiGHS took by an algorithm."""
    info = solver.getInfo()
    counts = {
        "simplex": info.simplex_iteration_count,
        "ipm": info.ipm_iteration_count,
        "ipm-crossover": info.ipm_iteration_count + info.crossover_iteration_count,
        "pdlp": info.pdlp_iteration_count,
    }[algorithm]
    return max(0, int(counts))


def solution_of(solver: Any, program: LinearProgram) -> tuple[Floats, Floats] | None:
    """Return what HiGHS found: a program's columns and the multipliers of its rows."""
    solution = solver.getSolution()
    if not (solution.value_valid and solution.dual_valid):
        return None
    with np.errstate(over="ignore"):  # prices beyond the largest float are cut to it
        return np.array(solution.col_value), np.nan_to_num(np.array(solution.row_dual) * objective_factor(program))


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

    @classmethod
    def from_codes(cls, shape: Sequence[int], codes: Sequence[int]) -> "Basis":
        """Return the basis of which :attr:`codes` was kept."""
        rows, columns = shape
        found = tuple(map(highspy.HighsBasisStatus, codes))
        return cls((rows, columns), found[:columns], found[columns:])

    @property
    def codes(self) -> list[int]:
        """HiGHS's numbers for the status of each column, then of each row."""
        return [int(one) for one in (*self.columns, *self.rows)]

    def give(self, solver: Any) -> None:
        """Let a solver start from the basis."""
        basis = highspy.HighsBasis()
        basis.col_status, basis.row_status = list(self.columns), list(self.rows)
        basis.valid = True
        solver.setBasis(basis)


@dataclass(frozen=True, eq=False)
class Attempt:
    """An answer and what it proves.

    Attributes
    ----------
    answer : Answer or None
    proof : tuple of Profile and Certificate, or None
        The strategies that play the answer, and what they prove.
    excess : float
        The proven error in payoff units, or 0 if that is within what is asked; infinite if hard constraints are missed.
    """

    answer: Answer | None = None
    proof: tuple[Profile, Certificate] | None = None
    excess: float = math.inf

    def betters(self, other: "Attempt") -> bool:
        """Whether the excess is less, or there are strategies where another has none."""
        return self.excess < other.excess or (self.proof is not None and other.proof is None)

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
        error = math.inf if problem.missed(certificate) else proven_error(problem, profile, certificate)
        return cls(answer, (profile, certificate), error if error > enough(problem, certificate, options) else 0.0)
