"""Answers of integer programs: the strategies that HiGHS's branch and bound finds, and the bound that it claims."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import highspy
import numpy as np

from ...models.problems import EpsilonNash, Stackelberg
from ...models.programs.integer_program import IntegerAnswer, IntegerProgram
from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Floats
from ...seqform.errors import SolverError, TimeLimitError
from ...seqform.limits import counted_now, seconds_left
from ..outcome import Options, Outcome, Status, nearest_profile
from ..solution import RunState
from .highs_models import load, run_solver

#: The allowed distance of an objective from the bound, as a fraction of the payoffs.
_MISSED = 1e-6


@dataclass(frozen=True, eq=False)
class Claim(RunState):
    """The claim of branch and bound, as ``solution.state``.

    Attributes
    ----------
    bound : float
        HiGHS's bound on the objective, within its tolerances; not recomputed from the strategies.
    better : str
        What would exceed the bound, such as ``commitment that pays more``; empty without an objective.
    """

    bound: float
    better: str

    @property
    def remark(self) -> str:
        """The bound in words."""
        if not self.better:
            return ""
        return f"HiGHS's branch and bound found no {self.better} than {self.bound + 0.0:.10g}"


@dataclass(frozen=True, eq=False)
class Strategies:
    """The strategies that the columns of an integer program stand for.

    Attributes
    ----------
    plans : tuple of ndarray of float64
        One per player.
    multipliers : mapping of str to float
        By constraint.
    prove : callable, optional
        Returns the dual certificate that proves a bound on the objective.
    """

    plans: tuple[Floats, Floats]
    multipliers: Mapping[str, float] = field(default_factory=dict)
    prove: Callable[[], Mapping[str, Floats]] | None = None


def answered(
    problem: EpsilonNash | Stackelberg,
    options: Options,
    pose: Callable[[], tuple[IntegerProgram, float, Callable[[IntegerAnswer], Strategies]]],
    better: str,
    relax: Callable[[], Mapping[str, Floats]] = dict,
) -> Outcome:
    """Build and solve an integer program, and return its best strategies, also after an interruption.

    Parameters
    ----------
    problem : EpsilonNash or Stackelberg
    options : Options
    pose : callable
        Returns the program, the unit of its objective, and the function that reads strategies from an answer.
    better : str
        As in :class:`Claim`.
    relax : callable
        Returns the dual certificate that holds also if a limit ends the branch and bound.

    Raises
    ------
    SolverError
        If there is no answer, unless constraints may be the reason.
    """
    built = counted_now()
    integer, unit, read = pose()
    begun = counted_now()
    found, proof, state, stopped, detail = None, None, None, Status.OPTIMAL, "HiGHS solved the integer program"
    try:
        known = relax()
        answer = integer.solve(partial(run_solver, interruptible=True), options.tol / problem.unit, unfinished=True)
        found, state = read(answer), Claim(answer.bound * unit, better)
        profile = nearest_profile(problem.game, found.plans)
        proof = profile, problem.certify(profile, dual_certificate=known)
        if answer.ending is not None:
            raise answer.ending
        objective = proof[1].objective
        if objective is not None and state.bound - objective > max(options.tol / problem.unit, _MISSED) * unit:
            stopped, detail = Status.UNCERTIFIED, f"the objective is {state.bound - objective:.3g} below the bound"
        elif found.prove is not None:
            proof = profile, problem.certify(profile, dual_certificate=found.prove())
    except KeyboardInterrupt:
        stopped, detail = Status.INTERRUPTED, "stopped while solving the integer program"
    except TimeLimitError:
        stopped, detail = Status.TIME_LIMIT, "the time limit was reached while solving the integer program"
    except SolverError as error:
        if not problem.constraints:
            raise
        stopped, detail = Status.INFEASIBLE, str(error)
    return Outcome(
        plans=None if found is None else found.plans,
        proof=proof,
        multipliers={} if found is None else found.multipliers,
        stopped=stopped,
        detail=detail,
        iterations=0 if found is None else 1,
        seconds=counted_now() - begun,
        build_seconds=begun - built,
        state=state,
    )


def optimum(program: LinearProgram) -> Any:
    """Return HiGHS's solution of a linear program, or ``None`` if it finds no optimum."""
    solver = load(program)
    solver.setOptionValue("time_limit", seconds_left())
    run_solver(solver, interruptible=True)
    return solver.getSolution() if solver.getModelStatus() == highspy.HighsModelStatus.kOptimal else None


def columns_of(found: Any) -> Floats:
    """Return the values of the columns of a solution."""
    return np.array(found.col_value)
