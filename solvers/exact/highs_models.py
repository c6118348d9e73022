"""Linear programs in HiGHS: scaling for its absolute tolerances, its solutions and their certificates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from ...models.problems import Certificate, Problem, SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import Answer, read_solution
from ...seqform.arrays import Floats
from ...seqform.limits import seconds_left
from ...seqform.strategy import Profile
from ..certification import enough, proven, proven_error
from ..outcome import Options, Status, nearest_profile

if TYPE_CHECKING:
    from ..methods import HiGHS

#: HiGHS's feasibility and optimality tolerance.
TOLERANCE = 1e-9
#: The interior point algorithms.
INTERIOR = ("ipm", "ipm-crossover")
#: Iteration limit of interior point, which takes tens of iterations or stalls.
STALLED = 1_000
#: Presolve is off if an infoset has more actions than this: its time grows with their square.
LONG = 5_000

# HiGHS's own status is only a hint: interior point without crossover and PDLP return good solutions with an unknown
# status. The certificate decides.
_STOPPED = {
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.INTERRUPTED,
    highspy.HighsModelStatus.kInfeasible: Status.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Status.UNBOUNDED,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Status.INFEASIBLE,
}


def load(program: LinearProgram, tolerance: float = TOLERANCE) -> Any:
    """Return a silent HiGHS instance with a linear program and tight tolerances.

    HiGHS minimises an objective in units of ``program.objective_unit``, because its tolerances are absolute. Multiply
    its duals and its objective by :func:`objective_factor`.
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
    method: "HiGHS", problem: Problem, options: Options, algorithm: str, program: LinearProgram, seconds: float
) -> Any:
    """Return a HiGHS instance with a program, an algorithm, tolerances and limits."""
    # PDLP is a first-order method, so accuracy beyond the tolerance is expensive. Its tolerance is relative, so request
    # two extra digits.
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
    """Return a HiGHS instance that prints nothing, with the given tolerance."""
    solver = highspy.Highs()
    solver.silent()
    for kind in ("primal_feasibility", "dual_feasibility", "ipm_optimality", "pdlp_optimality"):
        solver.setOptionValue(f"{kind}_tolerance", tolerance)
    # HiGHS treats smaller entries as zero. Its default, 1e-9, is the size of payoffs after a rare chance outcome.
    solver.setOptionValue("small_matrix_value", 1e-12)
    return solver


def choose_algorithm(solver: Any, algorithm: str) -> None:
    """Set the algorithm of a HiGHS instance: ``simplex``, ``ipm``, ``ipm-crossover`` or ``pdlp``.

    HiGHS's own option ``ipm`` selects an interior point solver depending on the installed packages; ``ipx`` always
    selects the solver with which this package is tested.
    """
    interior = algorithm in INTERIOR
    solver.setOptionValue("solver", "ipx" if interior else algorithm)
    solver.setOptionValue("run_crossover", "on" if algorithm == "ipm-crossover" else "off")


def objective_factor(program: LinearProgram) -> float:
    """Return the factor that turns HiGHS's objective, which it minimises, into the program's objective.

    It is negative if the program maximises. HiGHS could maximise itself, but HiGHS 1.15 returns duals of the wrong sign
    when it maximises by interior point without crossover.
    """
    return -program.objective_unit if program.maximise else program.objective_unit


def run_solver(solver: Any, interruptible: bool) -> bool:
    """Run HiGHS; return whether Ctrl-C or the deadline ended it. After an exception HiGHS may still be running.

    To be interruptible, HiGHS must call back into Python at every iteration, which costs a small model a fifth of its
    time. A small model therefore runs in the main thread under HiGHS's own time limit. Only the main thread receives
    Ctrl-C.
    """
    if not interruptible:
        try:
            solver.run()
        except KeyboardInterrupt:
            return True
        return False
    from .interruptible import run_interruptibly

    # highspy's own loop for this prints to standard output at Ctrl-C, and all solvers of the process share its locks.
    solver.HandleUserInterrupt = True
    return run_interruptibly(solver.run, solver.cancelSolve)


def stopped(solver: Any) -> Status:
    """Return the status with which HiGHS ended."""
    return _STOPPED.get(solver.getModelStatus(), Status.OPTIMAL)


def said(solver: Any) -> str:
    """Return HiGHS's status of the model, in words."""
    return f"HiGHS reports {solver.modelStatusToString(solver.getModelStatus()).lower()}"


def iterations(solver: Any, algorithm: str) -> int:
    """Return the number of iterations of HiGHS's algorithm."""
    info = solver.getInfo()
    counts = {
        "simplex": info.simplex_iteration_count,
        "ipm": info.ipm_iteration_count,
        "ipm-crossover": info.ipm_iteration_count + info.crossover_iteration_count,
        "pdlp": info.pdlp_iteration_count,
    }[algorithm]
    return max(0, int(counts))


def solution_of(solver: Any, program: LinearProgram) -> tuple[Floats, Floats] | None:
    """Return HiGHS's solution: the values of the columns and the multipliers of the rows."""
    solution = solver.getSolution()
    if not (solution.value_valid and solution.dual_valid):
        return None
    with np.errstate(over="ignore"):  # prices beyond the largest float are clipped to it
        return np.array(solution.col_value), np.nan_to_num(np.array(solution.row_dual) * objective_factor(program))


@dataclass(frozen=True, eq=False)
class Basis:
    """A simplex basis: which columns and rows of a linear program are basic, and the bounds of the others.

    Attributes
    ----------
    shape : tuple of int
        The program's numbers of rows and columns.
    columns, rows : tuple
        HiGHS's status of each.
    """

    shape: tuple[int, int]
    columns: tuple[Any, ...]
    rows: tuple[Any, ...]

    @classmethod
    def of(cls, solver: Any, shape: tuple[int, int]) -> "Basis | None":
        """Return the basis of a finished solver; ``None`` if it has none."""
        basis = solver.getBasis()
        return cls(shape, tuple(basis.col_status), tuple(basis.row_status)) if basis.valid else None

    @classmethod
    def from_codes(cls, shape: Sequence[int], codes: Sequence[int]) -> "Basis":
        """Return the basis with the given :attr:`codes`."""
        rows, columns = shape
        found = tuple(map(highspy.HighsBasisStatus, codes))
        return cls((rows, columns), found[:columns], found[columns:])

    @property
    def codes(self) -> list[int]:
        """HiGHS's status codes of the columns, followed by those of the rows."""
        return [int(one) for one in (*self.columns, *self.rows)]

    def give(self, solver: Any) -> None:
        """Make a solver start from the basis."""
        basis = highspy.HighsBasis()
        basis.col_status, basis.row_status = list(self.columns), list(self.rows)
        basis.valid = True
        solver.setBasis(basis)


@dataclass(frozen=True, eq=False)
class Attempt:
    """An answer and its proof.

    Attributes
    ----------
    answer : Answer or None
    proof : tuple of Profile and Certificate, or None
        The answer's strategies and their certificate.
    excess : float
        The proven error in payoff units, or 0 if it is within the tolerance; infinite if hard constraints are violated.
    """

    answer: Answer | None = None
    proof: tuple[Profile, Certificate] | None = None
    excess: float = math.inf

    def betters(self, other: "Attempt") -> bool:
        """Whether this attempt is better than another: its excess is smaller, or only it has strategies."""
        return self.excess < other.excess or (self.proof is not None and other.proof is None)

    def or_better(self, other: "Attempt") -> "Attempt":
        """Return the better of two attempts."""
        return other if other.betters(self) else self

    @classmethod
    def read(
        cls,
        problem: SaddleProblem,
        options: Options,
        program: LinearProgram,
        numbers: tuple[Floats, Floats] | None,
    ) -> "Attempt":
        """Make an attempt from the values of a program's columns and the multipliers of its rows, if there are any."""
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
        """Make an attempt by certifying an answer's strategies."""
        profile, certificate = proven(problem, profile, answer.multipliers, answer.dual_certificate)
        error = math.inf if problem.missed(certificate) else proven_error(problem, profile, certificate)
        return cls(answer, (profile, certificate), error if error > enough(problem, certificate, options) else 0.0)
