"""The best simple strategy by HiGHS's branch and bound, which starts from the best rounded equilibrium."""

import math
from functools import partial

from ...models.problems import Nash, SimpleStrategy
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import counted_now, too_late
from ..outcome import Options, Outcome, Status
from ..rounding import Simplified, rounded_plan
from ..solution import Solution
from ..solve import solve_part
from .diving import dive
from .highs_models import run_solver

#: The share of the time left that rounding may take before branch and bound, and the share for what comes after it.
_SHARE, _REST = 0.5, 0.05


def simplify(problem: SimpleStrategy, options: Options) -> Outcome:
    """Solve a simplification by branch and bound; see :class:`~treeplex.solvers.BranchAndBound`."""
    _ = problem.choices  # reject too many before solving anything
    return _Simplification(problem, options).outcome(branches=True)


def simplify_by_rounding(problem: SimpleStrategy, options: Options) -> Outcome:
    """Solve a simplification on a tree by rounding alone; see :class:`~treeplex.solvers.Rounding`."""
    return _Simplification(problem, options).outcome(branches=False)


class _Simplification:
    """The search for a simple strategy, and the best plan so far."""

    def __init__(self, problem: SimpleStrategy, options: Options) -> None:
        self.problem, self.options = problem, options
        self.begun, self.built = counted_now(), 0.0
        self.equilibrium: Solution = solve_part(Nash(problem.game), needed=f"an equilibrium of {problem.game.spec}")
        found = problem.certify(self.equilibrium.profile)
        assert found.lower is not None
        self.least = None if problem.loss is None else found.lower - float(problem.loss)
        self.plan = rounded_plan(problem, self._given)
        self.bound: float | None = None

    @property
    def _given(self) -> Floats:
        """The player's plan of the equilibrium."""
        return self.equilibrium.profile[self.problem.player].plan

    def outcome(self, branches: bool) -> Outcome:
        """Round, branch if requested, and return the best plan with the equilibrium's plan of the other player."""
        problem, stopped, detail = self.problem, Status.OPTIMAL, "HiGHS solved the integer program"
        stage = "rounding an equilibrium"
        try:
            share = _SHARE if branches else 1.0 - _REST
            plan, finished = dive(problem, self._given, self.least, share)
            self._offer(plan)
            if branches:
                stage = "solving the integer program"
                self._branch()
            elif finished:
                stopped, detail = Status.CONVERGED, _missed(problem, "rounding found no")
            else:
                raise too_late("an equilibrium was rounded")
        except KeyboardInterrupt:
            stopped, detail = Status.INTERRUPTED, f"stopped while {stage}"
        except TimeLimitError:
            stopped, detail = Status.TIME_LIMIT, f"the time limit was reached while {stage}"
        except SolverError:
            if problem.loss is None:
                raise
            stopped, detail = Status.INFEASIBLE, _missed(problem, "according to HiGHS there is no")
        other = self.equilibrium.profile[1 - problem.player].plan
        return Outcome(
            plans=(self.plan, other) if problem.player == 0 else (other, self.plan),
            stopped=stopped,
            detail=detail,
            iterations=1,
            seconds=counted_now() - self.begun - self.built,
            build_seconds=self.built,
            state=Simplified(
                problem.complexity(self.plan),
                problem.steps,
                self.bound,
                "" if self.bound is None else _claim(problem, self.bound),
            ),
        )

    def _offer(self, plan: Floats) -> None:
        """Keep a plan if it is better than the best one so far."""
        self.plan = max(self.plan, plan, key=self._worth)

    def _worth(self, plan: Floats) -> tuple[float, ...]:
        """Return the worth of a plan within the limits: its guarantee or, if a loss is set, how rarely it mixes."""
        guaranteed = float(self.problem.view.worst_case(plan))
        found = self.problem.complexity(plan)
        # Rounding for one limit (sizes, classes or order) may violate another.
        broken = round(max(found.unlike, found.disorder, float(found.sizes > (self.problem.sizes or found.sizes))), 7)
        if self.least is None:
            return (-broken, guaranteed)
        short = max(0.0, self.least - guaranteed)
        return (-broken, -short if short > self.options.tol else 0.0, -found.mixed, guaranteed)

    def _branch(self) -> None:
        """Solve the integer program, from the best plan so far.

        Raises
        ------
        KeyboardInterrupt, TimeLimitError
            If it was not solved to completion; the best plan is kept.
        SolverError
            If no plan is within the limits.
        """
        problem, begun = self.problem, counted_now()
        integer = problem.integer_program(self.least)
        start = problem.columns_of(self.plan, integer)
        self.built = counted_now() - begun
        answer = integer.solve(
            partial(run_solver, interruptible=True), self.options.tol / problem.unit, start=start, unfinished=True
        )
        self._offer(problem.plan_of(answer.columns, integer))
        self.bound = -answer.bound if problem.loss is not None else answer.bound * problem.view.unit
        if answer.ending is not None:
            raise answer.ending


def _missed(problem: SimpleStrategy, begins: str) -> str:
    """Return the message that no strategy within the limits was found that loses as little as requested."""
    return f"{begins} strategy within the limits that loses at most {problem.loss}"


def _claim(problem: SimpleStrategy, bound: float) -> str:
    """Return HiGHS's bound in words."""
    if problem.loss is not None:
        return f"no such strategy that mixes at fewer than {math.ceil(bound - 1e-6)} infosets"
    return f"no such strategy that guarantees more than {round(bound, 12) + 0.0:.10g}"
