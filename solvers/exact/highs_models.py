"""HiGHS instances that hold linear programs: silent, in units that its absolute tolerances suit."""

from typing import Any

import highspy
import numpy as np

from ...models.programs.linear_program import LinearProgram

#: What HiGHS is asked for in feasibility and optimality.
TOLERANCE = 1e-9
#: The algorithms by interior point.
INTERIOR = ("ipm", "ipm-crossover")
#: Interior point takes tens of iterations, or stays where it is for ever.
STALLED = 1_000
#: Actions of one infoset above which there is no presolve: its time would grow with their square.
LONG = 5_000


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
