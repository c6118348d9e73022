"""Solves the programs of steps down to their depth limit, and asks a value function about what is below."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...models.depth_limited import DepthLimit, ResolvingRun, StepAnswer, StepProgram, depth_limit
from ...models.depth_limited.decision_steps import Flags
from ...models.problems.stepped import SteppedResponse
from ...seqform.arrays import Floats
from ..iteration import NEVER
from ..methods import RegretMethod
from ..methods.rules import CFR_PLUS
from ..outcome import Options, Outcome
from ..regret.kernel import KernelState
from ..regret.loop import PartArrays
from ..solution import RunState
from .method import DepthLimitedCFR
from .regret_steps import AnsweringStepper, Placed, RegretStepSolver, check_double, compile_loop
from .resolving import Listener, resolve
from .value_functions import BorderValues, ValueFunction

if TYPE_CHECKING:
    from ...models.saddle import PlayerView


@dataclass(frozen=True)
class Queries(RunState):
    """What a solve asked of its value function.

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


#: Iterations that complete a step whose value function has no strategies, for its certificate.
COMPLETION = 1000


@dataclass(eq=False)
class _Trunk:
    """What a step solves above its depth limit; vectors are over the kernel's positions."""

    placed: Placed
    state: KernelState
    limit: DepthLimit
    below: tuple[Flags, Flags]  # sequences below the limit, the player's and the reply's
    settled: Floats  # above zero at what is settled and at all that is below the limit
    tilt: Floats  # what the model and a gadget pay
    own: Floats  # the averages' sums, in the order of the program
    reply: Floats
    proven: bool = True  # whether all values had strategies behind them


class ValueStepSolver(RegretStepSolver):
    """Regret minimisation above the depth limit of each step, with a value function below.

    At each update the ranges at the border are what the current strategies make them; the value function says what each
    way in is worth to both players, and these values count as payoffs of the sequences that lead there. The average of
    the strategies above the limit decides. Where the value function has strategies of its own, their average together
    with those above is the plan that proves how good the step is; where it has none, the rest is solved once more
    below what was found, for the certificate alone.

    Parameters
    ----------
    method : RegretMethod
        Above the limit.
    view : PlayerView
    tolerance : float
        Of each step: its gap, payoff units; 0 for all iterations.
    value : ValueFunction

    Attributes
    ----------
    queries : int
        Of all steps.
    errors : list of float
        For each step, the mean error of its queries, payoff units; NaN where the value function measures none. The gap
        of a step's averages is at most that plus both regrets above the limit, divided by the iterations.

    Notes
    -----
    Let Φ(x, y) be the value of the step at strategies above the limit: it is concave in x and convex in y. The values
    that come with an error ε are a supergradient and a subgradient of Φ whose linear functions differ by ε at (x, y).
    So with regrets R_x, R_y above the limit, the averages after T iterations have a gap of at most (R_x + R_y) / T plus
    the mean of ε.
    """

    goes_on = False  # a later step sees more even where an exact one would not

    def __init__(self, method: RegretMethod, view: "PlayerView", tolerance: float, value: ValueFunction) -> None:
        super().__init__(method, view, tolerance)
        self.value = value
        self.queries = 0
        self.errors: list[float] = []
        self._above: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def kept(self) -> Queries:
        """What the solution is to know of the queries."""
        return Queries(self.queries, tuple(self.errors))

    def said(self, answered: int, steps: int) -> str:
        """Return how often the value function was asked too, and how far it was off in the step where that was most."""
        measured = [error for error in self.errors if not np.isnan(error)]
        known = measured and len(measured) == len(self.errors)
        error = f", off by {max(measured):.3g} on average at most" if known else ""
        return f"{super().said(answered, steps)}, {self.queries} queries of value function {self.value.name}{error}"

    def solve_next(
        self, steps: ResolvingRun, number: int, program: StepProgram, seconds: float, iterations: int, listen: Listener
    ) -> StepAnswer:
        """Solve a step down to its depth limit in its share of the time."""
        limit = depth_limit(steps, number, program)
        return self.solve_to(limit, program, seconds / (len(steps.steps) - number), iterations, listen)

    def solve_to(
        self,
        limit: DepthLimit | None,
        program: StepProgram,
        seconds: float,
        iterations: int,
        listen: Listener | None = None,
    ) -> StepAnswer:
        """Solve a step down to its depth limit, or wholly where it has none; see :meth:`RegretStepSolver.solve`."""
        if limit is None:
            self.errors.append(0.0)
            return self.solve(program, seconds, iterations, listen)
        work = _TrunkLoop(self, self._trunk(program, limit))
        answer = self.work_on(work, seconds, iterations, listen)
        self._forget(work.trunk)
        done = work.iterations
        self.errors.append(work.errors / done if work.trunk.proven and done else float("nan"))
        return answer

    def _trunk(self, program: StepProgram, limit: DepthLimit) -> _Trunk:
        placed = self._place(program)
        state = self._begin(placed)
        layout, own, other = placed.kernel.layout, placed.own, placed.reply
        settled = np.array(placed.part.settled)
        below = ~np.append(True, np.repeat(limit.own, program.own.num_actions))
        below_reply = ~np.append(True, np.repeat(limit.reply, program.reply.num_actions))
        for player, flags in ((own, below), (other, below_reply)):
            settled[layout.positions[player][flags]] = 1.0
            # Below the limit nothing is played here.
            state.arrays.behaviour[layout.positions[player][flags]] = 0.0
            state.arrays.plan[layout.positions[player][flags]] = 0.0
            placed.part.kept[layout.positions[player][flags]] = 0.0
        state.arrays.clock[0] = 0
        return _Trunk(
            placed=placed,
            state=state,
            limit=limit,
            below=(below, below_reply),
            settled=settled,
            tilt=placed.tilt,
            own=np.zeros(program.own.num_sequences),
            reply=np.zeros(program.reply.num_sequences),
        )

    @staticmethod
    def _forget(trunk: _Trunk) -> None:
        """Take away what stands for regrets and behaviour below the limit, which later steps see."""
        layout, state = trunk.placed.kernel.layout, trunk.state
        for player, flags in ((trunk.placed.own, trunk.below[0]), (trunk.placed.reply, trunk.below[1])):
            state.arrays.regrets[layout.positions[player][flags]] = 0.0
            state.arrays.behaviour[layout.positions[player][flags]] = 0.0

    def iterate_once(self, trunk: _Trunk, number: int) -> float:
        """Update both players above the limit, and return the error of the values."""
        alternating = self.method.updates == "alternating"
        answer = self._ask(trunk)
        self._add(trunk, answer, float(number) ** self.method.averaging_power)
        if not alternating:
            self._update(trunk, answer, (0, 1), number)
        else:
            self._update(trunk, answer, (0,), number)
            self._update(trunk, self._ask(trunk), (1,), number)
        return np.nan if answer.error is None else answer.error

    def _ask(self, trunk: _Trunk) -> BorderValues:
        placed, layout = trunk.placed, trunk.placed.kernel.layout
        plan = layout.to_user(placed.own, trunk.state.arrays.plan)
        reply = layout.to_user(placed.reply, trunk.state.arrays.plan)
        self.queries += 1
        return self.value.query(trunk.limit.border, trunk.limit.ranges(placed.program, plan, reply))

    def _update(self, trunk: _Trunk, answer: BorderValues, actors: tuple[int, ...], number: int) -> None:
        """Let players of the kernel move once, by the values at the border; the others stay as they are."""
        placed, state, limit = trunk.placed, trunk.state, trunk.limit
        kernel, layout = placed.kernel, placed.kernel.layout
        tilt, settled, kept = np.array(trunk.tilt), trunk.settled, placed.part.kept
        ways = limit.border.way_sequences[limit.player]
        np.add.at(tilt, layout.positions[placed.own][ways], answer.values[limit.player])
        np.add.at(tilt, layout.positions[placed.reply][limit.columns], answer.values[1 - limit.player])
        still = [player for player in (0, 1) if player not in actors]
        for player in still:
            place = slice(int(layout.bases[player]), int(layout.bases[player + 1]))
            settled, kept = settled.copy(), kept.copy()
            settled[place], kept[place] = 1.0, state.arrays.behaviour[place]
            regrets = np.array(state.arrays.regrets[place])
        state.next_check = NEVER
        state.arrays.clock[0] = number - 1
        part = PartArrays(settled, kept, placed.part.inflow)
        kernel.run(state, self.rule, 1, alternating=False, tilt=tilt, part=part)
        for _ in still:
            state.arrays.regrets[place] = regrets

    def _add(self, trunk: _Trunk, answer: BorderValues, weight: float) -> None:
        """Add the current plans to the averages, with the value function's below the limit."""
        placed, limit = trunk.placed, trunk.limit
        program, layout, border = placed.program, placed.kernel.layout, limit.border
        own = layout.to_user(placed.own, trunk.state.arrays.behaviour)
        reply = layout.to_user(placed.reply, trunk.state.arrays.behaviour)
        below = border.sequences[limit.player], limit.below
        if answer.behaviours is None:
            trunk.proven = False
            behaviours = [each.uniform_behaviour() for each in border.rest]
        else:
            behaviours = list(answer.behaviours)
        for array, places, player in ((own, below[0], limit.player), (reply, below[1], 1 - limit.player)):
            array[places] = behaviours[player][1 + border.num_ways[player] :]
        trunk.own += weight * program.own.plan(own)
        trunk.reply += weight * program.flow(reply)

    def average(self, trunk: _Trunk) -> StepAnswer:
        """Return the averages, their rest solved where the value function had no strategies for it."""
        program = trunk.placed.program
        own, reply = program.own.behaviour(trunk.own), program.reply.behaviour(trunk.reply)
        if trunk.proven:
            return StepAnswer(program.completed(own), program.flow(reply))
        settled = program.settled | trunk.limit.own
        plan = self._completion(replace(program, plan=program.own.plan(own), settled=settled), None).plan
        modelled = np.append(True, np.repeat(trunk.limit.reply, program.reply.num_actions))
        return StepAnswer(plan, self._completion(program, np.where(modelled, reply, np.nan)).reply)

    def _completion(self, program: StepProgram, reply: Floats | None) -> StepAnswer:
        """Solve a program in which the player's plan above the limit is settled, or the reply is, NaN below."""
        placed = self._place(program)
        state = placed.kernel.initial_state()
        layout = placed.kernel.layout
        if reply is not None:
            firsts = program.reply.offsets[:-1]
            placed.part.settled[layout.positions[placed.reply][firsts]] = ~np.isnan(reply[firsts])
            layout.from_user(placed.reply, np.nan_to_num(reply), out=placed.part.kept)
        self._play(placed, state, reply)
        state.next_check = NEVER
        placed.kernel.run(state, CFR_PLUS, COMPLETION, tilt=placed.tilt, part=placed.part)
        return self.answer(placed, state)[0]


class _TrunkLoop(AnsweringStepper):
    """Regret minimisation above the depth limit of one step, one update after the other."""

    first_step = 1  # queries may take long

    def __init__(self, solver: ValueStepSolver, trunk: _Trunk) -> None:
        self.solver, self.trunk = solver, trunk
        self.errors, self._done = 0.0, 0

    @property
    def iterations(self) -> int:
        """In this step."""
        return self._done

    def step(self, iterations: int) -> None:
        """Ask and update."""
        for _ in range(iterations):
            self._done += 1
            self.errors += self.solver.iterate_once(self.trunk, self._done)

    def check(self) -> float:
        """Return the gap of the averages."""
        program = self.trunk.placed.program
        self.answer = self.solver.average(self.trunk)
        return program.allowed(self.answer.reply) - program.guaranteed(self.answer.plan)


def run(method: DepthLimitedCFR, problem: SteppedResponse, options: Options) -> Outcome:
    """Solve a response step by step down to the depth limit of each; see :func:`~.regret_steps.run`."""
    check_double(method, problem)
    compile_loop()

    def solver_of(steps: ResolvingRun) -> ValueStepSolver:
        return ValueStepSolver(method, problem.view(), options.tol, method.fresh_value())

    return resolve(method, problem, options, solver_of)
