"""Optimal commitment by HiGHS's branch and bound, and a linear program for the resulting reply."""

from dataclasses import dataclass
from functools import partial

import highspy
import numpy as np

from ...models.problems import Stackelberg
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import counted_now, seconds_left
from ..outcome import Options, Outcome, Status, nearest_profile
from ..solution import RunState
from .highs_models import load, run_solver

#: The allowed distance of a commitment from the bound, as a fraction of the leader's payoffs.
_MISSED = 1e-6


@dataclass(frozen=True, eq=False)
class Commitment(RunState):
    """The result of branch and bound, as ``solution.state``.

    Attributes
    ----------
    bound : float
        HiGHS's bound on the leader's payoff, within its tolerances; not recomputed from the strategies.
    """

    bound: float

    @property
    def remark(self) -> str:
        """The bound on the leader's payoff, in words."""
        return f"HiGHS's branch and bound found no commitment that pays more than {self.bound + 0.0:.10g}"


def commit(problem: Stackelberg, options: Options) -> Outcome:
    """Solve a commitment problem; see :class:`~treeplex.solvers.BranchAndBound`."""
    built = counted_now()
    integer, unit = problem.integer_program(), problem.payoffs[1].unit
    begun = counted_now()
    plans, proof, state, stopped, detail = None, None, None, Status.OPTIMAL, "HiGHS solved the integer program"
    prices: dict[str, float] = {}
    try:
        found = integer.solve(partial(run_solver, interruptible=True), options.tol / problem.unit, unfinished=True)
        reply = found.columns[integer.program.columns["follower"]]
        leader, prices = _committed(problem, reply, found.columns[integer.program.columns["leader"]])
        plans, state = (reply, leader) if problem.follower == 0 else (leader, reply), Commitment(found.bound * unit)
        profile = nearest_profile(problem.game, plans)
        proof = profile, problem.certify(profile)
        missed = state.bound - proof[1].value[problem.leader]
        if found.ending is not None:
            raise found.ending
        if missed > max(options.tol / problem.unit, _MISSED) * unit:
            stopped, detail = Status.UNCERTIFIED, f"the commitment pays {missed:.3g} less than the bound"
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped while solving the integer program"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit was reached while solving the integer program"
    except SolverError as error:
        if not problem.constraints:
            raise
        stopped, detail = Status.INFEASIBLE, str(error)
    return Outcome(
        plans=plans,
        proof=proof,
        multipliers=prices,
        stopped=stopped,
        detail=detail,
        iterations=0 if plans is None else 1,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        state=state,
    )


def _committed(problem: Stackelberg, reply: Floats, given: Floats) -> tuple[Floats, dict[str, float]]:
    """Return the best commitment for a reply, and the constraints' multipliers while the follower keeps this reply.

    They are computed by a linear program. If HiGHS finds no optimum, the result is the given commitment.
    """
    program = problem.reply_program(reply)
    solver = load(program)
    solver.setOptionValue("time_limit", seconds_left())
    run_solver(solver, interruptible=True)
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return given, {}
    found, unit = solver.getSolution(), problem.payoffs[1].unit
    duals = np.array(found.row_dual)
    prices = {
        one.name: abs(float(duals[program.rows[f"constraint {number}"]][0])) * unit
        for number, one in enumerate(problem.constraints)
    }
    return np.array(found.col_value)[program.columns["leader"]], prices
