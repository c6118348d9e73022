"""Linear programs through HiGHS directly: matrices handed over in one call, duals read back."""

import time
from typing import TYPE_CHECKING, Any

import highspy
import numpy as np

from ...models.linear_program import LinearProgram
from ...models.problems import Problem
from ...seqform.errors import UnknownMethodError
from ..outcome import Options, Outcome
from ..status import Status

if TYPE_CHECKING:
    from ..methods import HiGHS

#: What HiGHS is asked for in feasibility and optimality.
TOLERANCE = 1e-9

#: Number of sequences of both players up to which a linear program is solved in less than about a second.
QUICK = 6_000

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


def run(method: "HiGHS", problem: Problem, options: Options) -> Outcome:
    """Solve a problem's linear program; see :class:`~treeplex.solvers.HiGHS`."""
    if options.start is not None:
        raise UnknownMethodError(f"{method.name} takes no start: iterative methods do")
    built = time.perf_counter()
    program = problem.linear_program()
    algorithm = method.algorithm
    size = sum(treeplex.num_sequences for treeplex in problem.game.sequence_form.treeplexes)
    if algorithm == "auto":
        algorithm = "ipm" if size > method.large else "simplex"
    # PDLP is first-order: digits beyond the tolerance are dear. Its own tolerance is relative, so two more are kept.
    solver = load(program, min(1e-4, max(TOLERANCE, options.tol / 100.0)) if algorithm == "pdlp" else TOLERANCE)
    solver.setOptionValue("solver", _SOLVERS[algorithm])
    solver.setOptionValue("run_crossover", "on" if algorithm == "ipm-crossover" else "off")
    solver.setOptionValue("time_limit", options.time_limit)
    for limit in ("simplex_iteration_limit", "ipm_iteration_limit", "pdlp_iteration_limit"):
        solver.setOptionValue(limit, min(options.max_iterations, 2**31 - 1))
    begun = time.perf_counter()
    interrupted = _solve(solver, interruptible=size > QUICK)
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
    plans = None
    if solution.value_valid and solution.dual_valid:
        sign = -1.0 if program.maximise else 1.0
        primal, dual = np.array(solution.col_value), sign * np.array(solution.row_dual)
        plans = problem.read_linear_program(
            {name: primal[part] for name, part in program.columns.items()},
            {name: dual[part] for name, part in program.rows.items()},
        )
    return Outcome(
        plans=plans,
        stopped=Status.INTERRUPTED if interrupted else _STOPPED.get(model_status, Status.OPTIMAL),
        detail=f"HiGHS says {solver.modelStatusToString(model_status).lower()}",
        iterations=max(0, int(iterations)),
        seconds=ended - begun,
        build_seconds=begun - built,
    )


def _solve(solver: Any, interruptible: bool) -> bool:
    """Run HiGHS; whether Ctrl-C ended it.

    To be stopped HiGHS must call back into Python at every iteration, which costs a small model a fifth of its time; so
    a small one is let run to its end.
    """
    interrupted = False
    if not interruptible:
        try:
            solver.run()
        except KeyboardInterrupt:
            interrupted = True
        return interrupted
    # highspy's own loop around the thread prints to standard output when Ctrl-C comes.
    solver.HandleKeyboardInterrupt = True
    solver.startSolve()
    finished = False
    while not finished:
        try:
            finished, _ = solver.wait(0.1)
        except KeyboardInterrupt:
            interrupted = True
            solver.cancelSolve()
    return interrupted


def load(program: LinearProgram, tolerance: float = TOLERANCE) -> Any:
    """Return a HiGHS instance that holds a linear program as a minimisation, silent and with tight tolerances.

    To maximise c is handed over as to minimise −c, and duals change sign with it: HiGHS 1.15 itself forgets to turn the
    duals round when it maximises by interior point without crossover.
    """
    rows, columns = program.shape
    model = highspy.HighsLp()
    model.num_col_, model.num_row_ = columns, rows
    model.sense_ = highspy.ObjSense.kMinimize
    model.col_cost_ = -program.objective if program.maximise else program.objective
    model.col_lower_, model.col_upper_ = program.column_lower, program.column_upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = program.matrix.indptr
    model.a_matrix_.index_ = program.matrix.indices
    model.a_matrix_.value_ = program.matrix.data
    solver = highspy.Highs()
    solver.silent()
    for kind in ("primal_feasibility", "dual_feasibility", "ipm_optimality", "pdlp_optimality"):
        solver.setOptionValue(f"{kind}_tolerance", tolerance)
    solver.passModel(model)
    return solver
