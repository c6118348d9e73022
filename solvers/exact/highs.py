"""Linear programs through HiGHS directly: matrices handed over in one call, duals read back."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from ...models.problems import SaddleProblem
from ...models.programs.linear_program import LinearProgram
from ...models.saddle import linear_program, read_solution
from ...seqform.errors import UnknownMethodError, shown
from ..outcome import Options, Outcome
from ..status import Status
from .interruptible import run_interruptibly

if TYPE_CHECKING:
    from ..methods import HiGHS

#: What HiGHS is asked for in feasibility and optimality.
TOLERANCE = 1e-9

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
    solver.setOptionValue("time_limit", options.time_limit)
    for limit in ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit"):
        solver.setOptionValue(limit, min(options.max_iterations, 2**31 - 1))
    if options.start is not None:
        _start_basis(method, options.start, algorithm, program.shape).give(solver)
    begun = time.perf_counter()
    interrupted = run_solver(solver, interruptible=large)
    ended = time.perf_counter()

    model_status = solver.getModelStatus()
    info = solver.getInfo()
    solution = solver.getSolution()
    iterations = {
        "simplex": info.simplex_iteration_count,
        "ipm": info.ipm_iteration_count,
        "ipm-crossover": info.ipm_iteration_count + info.crossover_iteration_count,
        "pdlp": info.pdlp_iteration_count,
    }[algorithm]
    answer = None
    if solution.value_valid and solution.dual_valid:
        primal, dual = np.array(solution.col_value), np.array(solution.row_dual) * objective_factor(program)
        answer = read_solution(
            problem.canonical,
            {name: primal[part] for name, part in program.columns.items()},
            {name: dual[part] for name, part in program.rows.items()},
        )
    return Outcome(
        plans=None if answer is None else answer.plans,
        multipliers={} if answer is None else answer.multipliers,
        dual_certificate={} if answer is None else answer.dual_certificate,
        stopped=Status.INTERRUPTED if interrupted else _STOPPED.get(model_status, Status.OPTIMAL),
        detail=f"HiGHS says {solver.modelStatusToString(model_status).lower()}",
        iterations=max(0, int(iterations)),
        seconds=ended - begun,
        build_seconds=begun - built,
        state=Basis.of(solver, program.shape) if algorithm in ("simplex", "ipm-crossover") else None,
    )


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


def run_solver(solver: Any, interruptible: bool) -> bool:
    """Run HiGHS; whether Ctrl-C ended it.

    To be stopped HiGHS must call back into Python at every iteration, which costs a small model a fifth of its time; so
    a small one is let run to its end. Ctrl-C comes to the main thread alone.
    """
    if not interruptible:
        try:
            solver.run()
        except KeyboardInterrupt:
            return True
        return False
    # highspy has a loop of its own for this, which prints to standard output when Ctrl-C comes and shares its locks
    # between all solvers of the process.
    solver.HandleUserInterrupt = True
    return run_interruptibly(solver.run, solver.cancelSolve)


def load(program: LinearProgram, tolerance: float = TOLERANCE) -> Any:
    """Return a HiGHS instance that holds a linear program, silent and with tight tolerances.

    HiGHS minimises an objective whose largest coefficient is 1, since its tolerances are absolute; what it says of
    duals and objective is to be multiplied by :func:`objective_factor`.
    """
    model = program.to_highs()
    model.sense_ = highspy.ObjSense.kMinimize
    model.col_cost_ = program.objective / objective_factor(program)
    solver = highspy.Highs()
    solver.silent()
    for kind in ("primal_feasibility", "dual_feasibility", "ipm_optimality", "pdlp_optimality"):
        solver.setOptionValue(f"{kind}_tolerance", tolerance)
    solver.passModel(model)
    return solver


def objective_factor(program: LinearProgram) -> float:
    """Return what the program's objective is of the one that HiGHS minimises.

    It is negative to maximise. HiGHS could do that itself, but 1.15 forgets to turn the duals round when it maximises
    by interior point without crossover.
    """
    scale = float(np.abs(program.objective).max(initial=0.0)) or 1.0
    return -scale if program.maximise else scale
