"""Solution of the programs of steps down to their depth limit, with a value function below it."""

from dataclasses import dataclass, replace

import numpy as np

from ...models.depth_limited import DepthLimit, ResolvingRun, StepAnswer, StepProgram, depth_limit
from ...models.problems.stepped import SteppedResponse
from ...models.saddle import PlayerView
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidOptionError
from ..iteration import NEVER
from ..methods import RegretMethod
from ..methods.rules import CFR_PLUS
from ..outcome import Options, Outcome
from ..solution import RunState
from . import public_steps
from .method import DepthLimitedCFR
from .regret_steps import RegretStepSolver, UpdatingStepper, check_double, compile_loop
from .resolving import resolve
from .value_functions import BorderValues, ValueFunction


@dataclass(frozen=True)
class Queries(RunState):
    """The queries that a solve sends to its value function.

    Attributes
    ----------
    count : int
    errors : tuple of float
        See :class:`ValueStepSolver`.
    """

    count: int
    errors: tuple[float, ...]

    @property
    def value_errors(self) -> tuple[float, ...]:
        """The mean error of each step's queries."""
        return self.errors


#: Iterations that complete a step for its certificate if the value function has no strategies.
COMPLETION = 1000


class ValueStepSolver(RegretStepSolver):
    """Regret minimisation above the depth limit of each step, with a value function below it.

    At each update the current strategies determine the ranges at the border. The value function gives the value of each
    entry to both players, and these values count as payoffs of the sequences that lead there. The average of the
    strategies above the limit is the decision. If the value function has its own strategies, their average together
    with those above is the plan whose gap is proven. Otherwise the rest of the game is solved once more below the
    result, for the certificate only.

    Parameters
    ----------
    method : RegretMethod
        The method above the limit.
    view : PlayerView
    value : ValueFunction

    Attributes
    ----------
    queries : int
        The queries of all steps.
    errors : list of float
        For each step, the mean error of its queries, in payoff units; NaN if the value function does not measure
        errors. The gap of a step's averages is at most this mean plus (R_x + R_y) / T; see the notes.

    Notes
    -----
    Let Φ(x, y) be the value of the step for strategies above the limit; it is concave in x and convex in y. Values with
    an error ε are a supergradient and a subgradient of Φ whose linear functions differ by ε at (x, y). So with regrets
    R_x, R_y above the limit, the averages after T iterations have a gap of at most (R_x + R_y) / T plus the mean of ε.
    """

    goes_on = False  # with a value function, a later step always sees more of the game

    def __init__(self, method: RegretMethod, view: PlayerView, value: ValueFunction) -> None:
        super().__init__(method, view)
        self.value = value
        self.queries = 0
        self.errors: list[float] = []

    @property
    def kept(self) -> Queries:
        """The record of the queries for the solution."""
        return Queries(self.queries, tuple(self.errors))

    def said(self, answered: int, steps: int) -> str:
        """Return the number of iterations and queries, and the largest mean error of a step, in words."""
        measured = [error for error in self.errors if not np.isnan(error)]
        known = measured and len(measured) == len(self.errors)
        error = f", with an average error of at most {max(measured):.3g}" if known else ""
        return f"{super().said(answered, steps)}, {self.queries} queries of value function {self.value.name}{error}"

    def solve_step(self, steps: ResolvingRun, number: int, program: StepProgram, options: Options) -> StepAnswer:
        """Solve a step down to its depth limit."""
        return self.solve_to(depth_limit(steps, number, program), program, options)

    def solve_to(self, limit: DepthLimit | None, program: StepProgram, options: Options) -> StepAnswer:
        """Solve a step down to its depth limit, or completely if it has none; see :meth:`StepSolver.solve`."""
        if limit is None:
            self.errors.append(0.0)
            return self.solve(program, options)
        work = TrunkLoop(self, program, limit)
        answer = self.work_on(work, options)
        self.errors.append(work.mean_error)
        return answer


class TrunkLoop(UpdatingStepper):
    """Regret minimisation above the depth limit of one step, one update at a time.

    With ``iterate="best"``, the best current plan by the value function replaces the average.

    Parameters
    ----------
    solver : ValueStepSolver
    program : StepProgram
    limit : DepthLimit
        The depth limit of the program.
    """

    solver: ValueStepSolver

    def __init__(self, solver: ValueStepSolver, program: StepProgram, limit: DepthLimit) -> None:
        super().__init__(solver, program)
        self.limit = limit
        positions = self.placed.kernel.layout.positions
        sides = ((self.placed.own, program.own, limit.own), (self.placed.reply, program.reply, limit.reply))
        #: The kernel's positions of the sequences below the limit, which are not played.
        self._below = np.concatenate(
            [positions[player][~np.append(True, np.repeat(above, each.num_actions))] for player, each, above in sides]
        )
        self._settled[self._below] = 1.0
        for array in (self.state.arrays.behaviour, self.state.arrays.plan, self.placed.part.kept):
            array[self._below] = 0.0
        # The sums for the averages, in the order of the program; and whether all values had strategies.
        self._own, self._reply = np.zeros(program.own.num_sequences), np.zeros(program.reply.num_sequences)
        self._proven = True
        self._errors = 0.0
        #: The objective of the best plan so far by the value function, if it is used, in payoff units.
        self.worth = -np.inf
        self._takes_best = solver.method.iterate == "best"
        if self._takes_best and program.replying[limit.reply].any():
            raise InvalidOptionError(
                f"{solver.method.name}: iterate is best, expected average: with best, the opponent must be held to "
                "the model above the depth limit, as in cdbr or with p = 1"
            )

    @property
    def mean_error(self) -> float:
        """The mean error of the values; NaN if errors were not measured, or if values came without strategies."""
        return self._errors / self._done if self._proven and self._done else float("nan")

    def step(self, iterations: int) -> None:
        """Query the value function, and update both players above the limit."""
        method = self.solver.method
        for _ in range(iterations):
            self._done += 1
            answer = self._ask()
            self.add(answer, float(self._done) ** method.averaging_power)
            if self._takes_best:
                self._update(answer, self.placed.own)
            elif method.updates == "alternating":
                self._update(answer, 0)
                self._update(self._ask(), 1)
            else:
                self._update(answer)
            self._errors += np.nan if answer.error is None else answer.error

    def _ask(self) -> BorderValues:
        self.solver.queries += 1
        return self.solver.value.query(self.limit.border, self.limit.ranges(self.program, *self.plans))

    def _update(self, answer: BorderValues, actor: int | None = None) -> None:
        """Update one or both of the kernel's players once, by the values at the border."""
        placed, limit, tilt = self.placed, self.limit, np.array(self.placed.tilt)
        positions = placed.kernel.layout.positions
        np.add.at(tilt, positions[placed.own][limit.own_ways], answer.values[limit.player])
        np.add.at(tilt, positions[placed.reply][limit.reply_ways], answer.values[1 - limit.player])
        self.move(tilt, actor)

    def add(self, answer: BorderValues, weight: float) -> None:
        """Add to the averages the current plans above the limit and the value function's plans below it."""
        placed, limit, program, border = self.placed, self.limit, self.program, self.limit.border
        layout, behaviour = placed.kernel.layout, self.state.arrays.behaviour
        own, reply = layout.to_user(placed.own, behaviour), layout.to_user(placed.reply, behaviour)
        if answer.behaviours is None:
            self._proven = False
        behaviours = answer.behaviours or [each.uniform_behaviour() for each in border.rest]
        below = ((own, limit.own_below, limit.player), (reply, limit.reply_below, 1 - limit.player))
        for array, places, player in below:
            array[places] = behaviours[player][1 + border.num_ways[player] :]
        self._reply += weight * program.flow(reply)
        if not self._takes_best:
            self._own += weight * program.own.plan(own)
            return
        plan, _ = self.plans
        later = plan[limit.own_ways] @ answer.values[limit.player]
        worth = float(program.constant + program.linear @ plan + later)
        if worth > self.worth:
            self.worth, self._own = worth, program.own.plan(own)

    def current(self) -> StepAnswer:
        """Return the averages or the best plan, solved below the limit if the value function has no strategies."""
        program = self.program
        own, reply = program.own.behaviour(self._own), program.reply.behaviour(self._reply)
        if self._proven:
            return StepAnswer(program.completed(own), program.flow(reply))
        settled = program.settled | self.limit.own
        plan = self._completion(replace(program, plan=program.own.plan(own), settled=settled), None).plan
        above = np.append(True, np.repeat(self.limit.reply, program.reply.num_actions))
        return StepAnswer(plan, self._completion(program, np.where(above, reply, np.nan)).reply)

    def _completion(self, program: StepProgram, reply: Floats | None) -> StepAnswer:
        """Solve a program with the player's plan above the limit fixed, or with a fixed reply (NaN below the limit)."""
        placed = self.solver.place(program)
        state, layout = placed.kernel.initial_state(), placed.kernel.layout
        if reply is not None:
            firsts = program.reply.offsets[:-1]
            placed.part.settled[layout.positions[placed.reply][firsts]] = ~np.isnan(reply[firsts])
            layout.from_user(placed.reply, np.nan_to_num(reply), out=placed.part.kept)
        self.solver.play(placed, state, reply)
        state.next_check = NEVER
        placed.kernel.run(state, CFR_PLUS, COMPLETION, tilt=placed.tilt, part=placed.part)
        return self.solver.answer(placed, state)


def run(method: DepthLimitedCFR, problem: SteppedResponse, options: Options) -> Outcome:
    """Solve a response step by step down to the depth limit of each; see :func:`~.regret_steps.run`."""
    check_double(method, problem)
    if public_steps.serves(method, problem):
        return public_steps.run(method, problem, options)
    compile_loop()
    return resolve(method, problem, options, ValueStepSolver(method, problem.view(), method.fresh_value()))
