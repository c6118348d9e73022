"""Equilibria of two players by HiGHS's branch and bound, and a linear program on the sequences that they play."""

from dataclasses import dataclass
from functools import partial

import highspy
import numpy as np

from ...models.problems import EpsilonNash
from ...seqform.errors import TimeLimitError
from ...seqform.limits import counted_now, seconds_left
from ..outcome import Options, Outcome, Status, nearest_profile
from ..solution import RunState
from .highs_models import load, run_solver

#: The allowed distance of an objective from the bound, as a fraction of the payoffs.
_MISSED = 1e-6


@dataclass(frozen=True, eq=False)
class Selection(RunState):
    """The result of branch and bound, as ``solution.state``.

    Attributes
    ----------
    bound : float
        HiGHS's bound on the objective of all equilibria, within its tolerances; not recomputed from the strategies.
    what : str
        The objective in words.
    """

    bound: float
    what: str

    @property
    def remark(self) -> str:
        """The bound on the objective, in words; nothing without an objective."""
        if not self.what:
            return ""
        return f"HiGHS's branch and bound found no equilibrium with a larger {self.what} than {self.bound + 0.0:.10g}"


def find_equilibrium(problem: EpsilonNash, options: Options) -> Outcome:
    """Find an equilibrium, or the best one for an objective; see :class:`~treeplex.solvers.BranchAndBound`."""
    built = counted_now()
    equilibria = problem.equilibria
    integer = equilibria.integer_program()
    columns, unit = integer.program.columns, equilibria.unit
    begun = counted_now()
    plans, proof, state, stopped, detail = None, None, None, Status.OPTIMAL, "HiGHS solved the integer program"
    try:
        found = integer.solve(partial(run_solver, interruptible=True), unfinished=True)
        played = [found.columns[columns[f"played {player}"]] > 0.5 for player in (0, 1)]
        program = equilibria.with_played(played)
        solver = load(program)
        solver.setOptionValue("time_limit", seconds_left())
        run_solver(solver, interruptible=True)
        values = found.columns
        if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal:
            values, columns = np.array(solver.getSolution().col_value), program.columns
        plans = values[columns["plan 0"]], values[columns["plan 1"]]
        state = Selection(found.bound * unit, problem.objective_words)
        profile = nearest_profile(problem.game, plans)
        proof = profile, problem.certify(profile)
        if found.ending is not None:
            raise found.ending
        objective = proof[1].objective
        if objective is not None and state.bound - objective > max(options.tol, _MISSED * unit):
            stopped = Status.UNCERTIFIED
            detail = f"the {state.what} is {state.bound - objective:.3g} below the bound"
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped while solving the integer program"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit was reached while solving the integer program"
    return Outcome(
        plans=plans,
        proof=proof,
        stopped=stopped,
        detail=detail,
        iterations=0 if plans is None else 1,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        state=state,
    )
