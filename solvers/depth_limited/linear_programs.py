"""Depth-limited responses by linear programming: an exact value function, in the program of each step."""

import math
from typing import Any, ClassVar, Literal, Self

import highspy
import numpy as np

from ...models.depth_limited import StepAnswer, StepProgram
from ...models.problems.stepped import SteppedResponse
from ...models.programs.linear_program import LinearProgram
from ...seqform.arrays import Integers
from ...seqform.game import Game
from ..exact.highs_models import choose_algorithm, load, objective_factor, run_solver
from ..methods import DepthLimitedLP, HiGHS
from ..outcome import Options, Outcome, Status
from .resolving import StepSolver, resolve

_PRIMAL_SIMPLEX = int(highspy.simplex_constants.SimplexStrategy.kSimplexStrategyPrimal)
_LIMITS = {
    highspy.HighsModelStatus.kTimeLimit: Status.TIME_LIMIT,
    highspy.HighsModelStatus.kIterationLimit: Status.ITERATION_LIMIT,
    highspy.HighsModelStatus.kInterrupt: Status.INTERRUPTED,
}


class ProgramStepSolver(StepSolver):
    """One HiGHS instance for the steps of a response.

    Programs on the whole game differ only in objective and bounds. The last optimum stays feasible, so the primal
    simplex method continues from it. A program with another matrix is loaded again.

    Parameters
    ----------
    algorithm : {"simplex", "ipm", "ipm-crossover"}
    interruptible : bool
        Whether Ctrl-C ends HiGHS itself, which costs small programs a fifth of their time.

    Attributes
    ----------
    iterations : int
        HiGHS's iterations in all programs.
    detail : str
        HiGHS's last status, in words.
    optimum : float
        The optimal value of the last program, as HiGHS reports it.
    """

    is_iterative: ClassVar[bool] = False

    def __init__(self, algorithm: Literal["simplex", "ipm", "ipm-crossover"], interruptible: bool) -> None:
        self.algorithm, self.interruptible = algorithm, interruptible
        self.iterations, self.detail = 0, "no program was solved"
        self.stopped, self.optimum = Status.OPTIMAL, math.nan
        self._loaded: StepProgram | None = None
        self._program: LinearProgram | None = None
        self._solver: Any = None
        self._factor = 1.0

    @classmethod
    def of(cls, method: DepthLimitedLP, game: Game) -> Self:
        """Return the solver of a method for a game."""
        size = sum(treeplex.num_sequences for treeplex in game.sequence_form.treeplexes)
        algorithm = method.algorithm if method.algorithm != "auto" else "ipm" if size > method.large else "simplex"
        return cls(algorithm, interruptible=size > HiGHS.large)

    def solve(self, program: StepProgram, options: Options) -> StepAnswer | None:
        """Solve a step; ``None`` if HiGHS was stopped or has no answer (``uncertified``)."""
        warm = (
            self.algorithm == "simplex"
            and self._loaded is not None
            and self._loaded.matrix is program.matrix
            and self._loaded.reply is program.reply
        )
        if warm:
            self._change(program)
        else:
            self._load(program)
        status = self._run(options)
        if warm and status not in (highspy.HighsModelStatus.kOptimal, *_LIMITS):
            self._load(program)
            status = self._run(options)
        if self.algorithm == "ipm" and status not in (highspy.HighsModelStatus.kOptimal, *_LIMITS):
            # Without crossover it sometimes ends far from the optimum with an unknown status.
            self._solver.clearSolver()
            self._solver.setOptionValue("run_crossover", "on")
            status = self._run(options)
        self.detail = f"HiGHS reports {self._solver.modelStatusToString(status).lower()}"
        solution = self._solver.getSolution()
        if status in _LIMITS or not (solution.value_valid and solution.dual_valid):
            self.stopped = _LIMITS.get(status, Status.UNCERTIFIED)
            return None
        assert self._program is not None
        self.optimum = program.constant + self._factor * self._solver.getInfo().objective_function_value
        primal, dual = np.array(solution.col_value), np.array(solution.row_dual) * self._factor
        return program.read(
            {name: primal[part] for name, part in self._program.columns.items()},
            {name: dual[part] for name, part in self._program.rows.items()},
        )

    def said(self, answered: int, steps: int) -> str:
        """Return HiGHS's last status, in words."""
        return self.detail

    def _run(self, options: Options) -> Any:
        # HiGHS counts the time of all runs of an instance against its limit.
        self._solver.setOptionValue("time_limit", self._solver.getRunTime() + options.time_limit)
        for limit in ("simplex_iteration_limit", "ipm_iteration_limit"):
            self._solver.setOptionValue(limit, min(options.max_iterations, 2**31 - 1))
        if run_solver(self._solver, self.interruptible):
            return highspy.HighsModelStatus.kInterrupt
        info = self._solver.getInfo()
        counts = (info.simplex_iteration_count, info.ipm_iteration_count, info.crossover_iteration_count)
        self.iterations += sum(max(0, int(count)) for count in counts)
        return self._solver.getModelStatus()

    def _load(self, program: StepProgram) -> None:
        self._loaded, self._program = program, program.linear_program()
        self._solver, self._factor = load(self._program), objective_factor(self._program)
        choose_algorithm(self._solver, self.algorithm)

    def _change(self, program: StepProgram) -> None:
        """Change the objective and bounds of the loaded program."""
        assert self._program is not None
        costs, (lower, upper), limits = program.costs(), program.bounds(), program.response_limits()
        self._factor = -(float(np.abs(costs).max(initial=0.0)) or 1.0)
        self._solver.changeColsCost(len(costs), _numbers(slice(0, len(costs))), costs / self._factor)
        self._solver.changeColsBounds(len(lower), _numbers(self._program.columns["plan"]), lower, upper)
        rows = _numbers(self._program.rows["response"])
        self._solver.changeRowsBounds(len(rows), rows, np.full(len(rows), -np.inf), limits)
        self._solver.setOptionValue("simplex_strategy", _PRIMAL_SIMPLEX)
        self._loaded = program


def _numbers(part: slice) -> Integers:
    return np.arange(part.start, part.stop, dtype=np.int32)


def run(method: DepthLimitedLP, problem: SteppedResponse, options: Options) -> Outcome:
    """Solve step after step; see :class:`~treeplex.solvers.DepthLimitedLP`."""
    return resolve(method, problem, options, ProgramStepSolver.of(method, problem.game))
