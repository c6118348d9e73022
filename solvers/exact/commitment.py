"""Optimal commitment by HiGHS's branch and bound, and a linear program for the reply that it ends with."""

import math
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...models.problems import Stackelberg
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ..outcome import Options, Outcome
from ..solution import RunState
from ..status import Status
from .highs import load
from .interruptible import run_solver

if TYPE_CHECKING:
    from ..methods import BranchAndBound


@dataclass(frozen=True, eq=False)
class Commitment(RunState):
    """What the branch and bound says of the optimum, as ``solution.state``.

    Attributes
    ----------
    bound : float
        No commitment pays the leader more, to HiGHS's tolerances; not recomputed from the strategies.
    """

    bound: float

    @property
    def remark(self) -> str:
        """The bound."""
        return f"by HiGHS's branch and bound no commitment pays more than {self.bound + 0.0:.10g}"


def run(method: "BranchAndBound", problem: Stackelberg, options: Options) -> Outcome:
    """Solve a problem of commitment; see :class:`~treeplex.solvers.BranchAndBound`."""
    built = time.perf_counter()
    integer = problem.integer_program()
    begun = time.perf_counter()
    plans, state, stopped, detail = None, None, Status.OPTIMAL, "HiGHS solved the integer program"
    try:
        found = integer.solve(partial(run_solver, interruptible=True), gap=options.tol)
        reply = found.columns[integer.program.columns["follower"]]
        leader = _committed(problem, reply, found.columns[integer.program.columns["leader"]])
        ordered = (reply, leader) if problem.follower == 0 else (leader, reply)
        plans, state = ordered, Commitment(found.bound)
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped within the integer program"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit came within the integer program"
    return Outcome(
        plans=plans,
        stopped=stopped,
        detail=detail,
        iterations=0 if plans is None else 1,
        seconds=time.perf_counter() - begun,
        build_seconds=begun - built,
        state=state,
    )


def _committed(problem: Stackelberg, reply: Floats, given: Floats) -> Floats:
    """Return the best commitment to a reply, by a linear program; the one given if that has no answer."""
    program = problem.reply_program(reply)
    solver = load(program)
    run_solver(solver, interruptible=False)
    solution = solver.getSolution()
    columns = np.array(solution.col_value)
    if not solution.value_valid or not all(map(math.isfinite, columns[:1])):
        raise SolverError(f"the linear program of a reply has no answer for {problem.game.spec}")
    own = problem.game.sequence_form.treeplexes[problem.leader]
    plan = columns[program.columns["leader"]]
    return plan if own.residual(np.maximum(plan, 0.0)) < 1e-6 else given
