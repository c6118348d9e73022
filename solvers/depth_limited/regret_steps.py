"""Depth-limited responses by regret minimisation: each step iterates on the part of the game that it sees."""

import functools
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from ...models.depth_limited import StepAnswer, StepProgram
from ...models.depth_limited.decision_steps import Flags
from ...models.games import load_game
from ...models.problems import CDBR
from ...models.problems.stepped import SteppedResponse
from ...models.saddle import PlayerView
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidOptionError
from ...seqform.limits import compiling
from ...seqform.strategy import Strategy
from ..checkpoint import Saved, fill
from ..iteration import NEVER, Stepper, iterate
from ..methods import CFRPlus, RegretMethod
from ..outcome import Options, Outcome, Status
from ..regret.arrays import DONE, PartArrays
from ..regret.ccfr_theorems import BoundConstants, player_regret_bound
from ..regret.kernel import Kernel, KernelState, kernel_of
from ..regret.layout import layout_from_matrices
from ..regret.placement import Treeplexes
from . import public_steps
from .resolving import StepSolver, resolve

#: The bounds of a step are computed each time its iterations have grown by this factor, from the first call on.
CHECK_GROWTH = 1.4
FIRST_CHECK = 32


@dataclass(frozen=True, eq=False)
class Placed:
    """A step's program in the arrays of a kernel."""

    program: StepProgram
    kernel: Kernel
    own: int  # which of the kernel's players decides
    part: PartArrays
    tilt: Floats

    @property
    def reply(self) -> int:
        """The kernel's player who replies."""
        return 1 - self.own


class RegretStepSolver(StepSolver):
    """The compiled loop on the steps of a response.

    A step is a two-player game between a player, whose behaviour is fixed at settled infosets, and a reply to which the
    model adds weight. A step on the whole game is solved on the arrays of the game itself, without copies. The subgames
    of a gadget get new arrays for each step.

    Parameters
    ----------
    method : RegretMethod
    view : PlayerView

    Attributes
    ----------
    iterations : int
        Iterations in all steps.
    stopped : Status
        ``CONVERGED`` if every step met the tolerance; otherwise the status of a step that did not.

    Notes
    -----
    Every step starts from zero regrets. Regrets of the previous step have grown with its iterations, and without
    discounts the next step needs as many iterations again to overcome them: in Leduc poker ``cfr`` had an error of 0.5
    chips after 10,000 iterations per step. With discounts a step still took 1.2 to 4 times as many iterations.
    """

    def __init__(self, method: RegretMethod, view: PlayerView) -> None:
        self.method, self.view = method, view
        self.rule = method.local_rule
        self.iterations, self.stopped = 0, Status.CONVERGED

    def said(self, answered: int, steps: int) -> str:
        """Return the number of iterations, in words."""
        return f"after {self.iterations} iterations in {answered} of {steps} steps"

    def solve(self, program: StepProgram, options: Options) -> StepAnswer:
        """Solve a step within its limits."""
        if self.method.iterate == "best":
            return self.work_on(BestIterateLoop(self, program), options)
        placed = self.place(program)
        return self.work_on(_StepLoop(self, placed, self.begin(placed)), options)

    def work_on(self, work: "AnsweringStepper", options: Options) -> StepAnswer:
        """Run a stepper on a step within limits, and record its status."""
        found = iterate(work, options)
        self.iterations += found.iterations
        if found.stopped is not Status.CONVERGED:
            self.stopped = found.stopped
        return work.answer

    def place(self, program: StepProgram) -> Placed:
        """Return a program on the game's own arrays, or on new arrays if it is not the whole game."""
        whole = program.reply is self.view.other
        own = self.view.player if whole else 0
        if whole:
            kernel = kernel_of(self.view.game.sequence_form)
        else:
            treeplexes = program.own, program.reply
            parents, offsets = [each.parents for each in treeplexes], [each.offsets for each in treeplexes]
            kernel = Kernel(layout_from_matrices(Treeplexes(parents, offsets), program.matrix))
        layout = kernel.layout
        settled, kept, inflow, tilt = (np.zeros(layout.size) for _ in range(4))
        firsts = layout.positions[own][program.own.offsets[:-1]]
        settled[firsts] = program.settled
        layout.from_user(own, program.own.behaviour(program.plan), out=kept)
        # The loop needs a weight of one at the empty sequence, which the reply does not have.
        firsts = layout.positions[1 - own][program.reply.offsets[:-1]]
        inflow[firsts] = program.inflow - (program.reply.parents == 0)
        layout.from_user(own, program.linear - program.matrix[:, [0]].toarray().ravel(), out=tilt)
        layout.from_user(1 - own, -program.bonus, out=tilt)
        return Placed(program, kernel, own, PartArrays(settled, kept, inflow), tilt)

    def begin(self, placed: Placed) -> KernelState:
        """Return a state with zero regrets that plays the behaviour decided so far."""
        state = placed.kernel.initial_state()
        self.play(placed, state)
        return state

    @staticmethod
    def play(placed: Placed, state: KernelState, replies: Floats | None = None) -> None:
        """Make a state play the behaviour decided so far, and restart its averages.

        Parameters
        ----------
        placed : Placed
        state : KernelState
        replies : ndarray of float64, shape (num_sequences of the reply,), optional
            A behaviour of the reply; NaN where it does not change.
        """
        program, layout = placed.program, placed.kernel.layout
        behaviour = program.own.behaviour(layout.to_user(placed.own, state.arrays.behaviour))
        given = program.settled_sequences
        behaviour = np.where(given, program.own.behaviour(program.plan), behaviour)
        layout.from_user(placed.own, behaviour, out=state.arrays.behaviour)
        layout.from_user(placed.own, program.own.plan(behaviour), out=state.arrays.plan)
        answering = program.reply.behaviour(layout.to_user(placed.reply, state.arrays.behaviour))
        if replies is not None:
            answering = np.where(np.isnan(replies), answering, replies)
        layout.from_user(placed.reply, answering, out=state.arrays.behaviour)
        reply = program.flow(answering)
        reply[0] = 1.0
        layout.from_user(placed.reply, reply, out=state.arrays.plan)
        state.average_anew()

    def answer(self, placed: Placed, state: KernelState) -> StepAnswer:
        """Return the averages, or the last iterates."""
        kernel, program = placed.kernel, placed.program
        last = self.method.iterate == "last"
        vector = state.arrays.plan if last else kernel.average(state)
        own = program.own.behaviour(np.maximum(kernel.layout.to_user(placed.own, vector), 0.0))
        weights = np.maximum(kernel.layout.to_user(placed.reply, vector), 0.0)
        return StepAnswer(program.completed(own), program.flow(program.reply.behaviour(weights)))


class AnsweringStepper(Stepper):
    """A stepper for one step of a response; its error is the gap of that step.

    Attributes
    ----------
    program : StepProgram
    answer : StepAnswer
        The answer at the last check.
    """

    next_check = FIRST_CHECK
    program: StepProgram
    answer: StepAnswer

    @abstractmethod
    def current(self) -> StepAnswer:
        """Return the answer so far."""

    def check(self) -> float:
        """Return the gap of the answer so far."""
        self.answer = self.current()
        return self.program.gap(self.answer)

    def check_after(self, clock: int) -> int:
        """Return the clock at which the gap is due again, given the clock at which it was computed."""
        return max(clock + 1, int(clock * CHECK_GROWTH))


class _StepLoop(AnsweringStepper):
    """The compiled loop on one step."""

    def __init__(self, solver: RegretStepSolver, placed: Placed, state: KernelState) -> None:
        self.solver, self.program, self.placed, self.state = solver, placed.program, placed, state

    @property
    def iterations(self) -> int:
        """Iterations in this step."""
        return self.state.iteration

    def step(self, iterations: int) -> None:
        """Run the compiled loop."""
        placed, method = self.placed, self.solver.method
        self.state.next_check = NEVER
        placed.kernel.run(
            self.state,
            self.solver.rule,
            iterations,
            alternating=method.updates == "alternating",
            tilt=placed.tilt,
            part=placed.part,
        )

    def current(self) -> StepAnswer:
        """Return the averages, or the last iterates."""
        return self.solver.answer(self.placed, self.state)

    def saved(self) -> Saved:
        """Return the state of the loop."""
        return {**self.state.lasting, "due": self.next_check}

    def restore(self, saved: Saved) -> None:
        """Restore the state."""
        fill(self.state.lasting, saved)
        self.next_check = int(saved["due"])


class UpdatingStepper(AnsweringStepper):
    """The compiled loop, one update at a time; between updates it receives the opponent's play.

    Parameters
    ----------
    solver : RegretStepSolver
    program : StepProgram
    """

    first_step, may_break_off = 1, True

    def __init__(self, solver: RegretStepSolver, program: StepProgram) -> None:
        self.solver, self.program = solver, program
        self.placed = solver.place(program)
        self.state = solver.begin(self.placed)
        self._settled = np.array(self.placed.part.settled)
        self._done = 0

    @property
    def iterations(self) -> int:
        """Iterations in this step."""
        return self._done

    @property
    def plans(self) -> tuple[Floats, Floats]:
        """The current plan of the player, and the current reply."""
        layout, plan = self.placed.kernel.layout, self.state.arrays.plan
        return layout.to_user(self.placed.own, plan), layout.to_user(self.placed.reply, plan)

    def move(self, tilt: Floats, actor: int | None = None) -> None:
        """Update one or both of the kernel's players once, with a tilt."""
        placed, state, settled, kept = self.placed, self.state, self._settled, self.placed.part.kept
        bases, still = placed.kernel.layout.bases, slice(0, 0)
        if actor is not None:
            still = slice(int(bases[1 - actor]), int(bases[2 - actor]))
            settled, kept = settled.copy(), kept.copy()
            settled[still], kept[still] = 1.0, state.arrays.behaviour[still]
        regrets = np.array(state.arrays.regrets[still])
        state.next_check = NEVER
        state.arrays.clock[DONE] = self._done - 1
        part = PartArrays(settled, kept, placed.part.inflow)
        placed.kernel.run(state, self.solver.rule, 1, alternating=False, tilt=tilt, part=part)
        state.arrays.regrets[still] = regrets


class BestIterateLoop(UpdatingStepper):
    """Regret minimisation of one step against best replies; it keeps the best iterate.

    Notes
    -----
    The objective of a plan x in the step, f(x) = c · x + min over y of (Mᵀ x + b) · y, is concave, and the payoffs
    against its best reply y are a supergradient. So regrets R after T iterations bound the distance of the mean of
    f(x_t) from the optimum by R / T, and the best x_t is at least as good as the mean. The mean of the replies proves
    the value of the best plan.
    """

    def __init__(self, solver: RegretStepSolver, program: StepProgram) -> None:
        super().__init__(solver, program)
        self.worth = -np.inf  # objective of the best plan, in payoff units
        self._best, self._replies = program.plan, np.zeros(program.reply.num_sequences)

    def step(self, iterations: int) -> None:
        """Reply to the current plan, keep it if it is the best so far, and update the player."""
        program, placed, arrays = self.program, self.placed, self.state.arrays
        layout = placed.kernel.layout
        for _ in range(iterations):
            self._done += 1
            plan, _ = self.plans
            worth = program.guaranteed(plan)
            if worth > self.worth:
                self.worth, self._best = worth, plan
            behaviour = program.best_reply(plan)
            reply = program.flow(behaviour)
            self._replies += float(self._done) ** self.solver.method.averaging_power * reply
            reply[0] = 1.0
            layout.from_user(placed.reply, behaviour, out=arrays.behaviour)
            layout.from_user(placed.reply, reply, out=arrays.plan)
            self.move(placed.tilt, placed.own)

    def current(self) -> StepAnswer:
        """Return the best plan, and the average of the replies."""
        program = self.program
        plan = program.completed(program.own.behaviour(np.maximum(self._best, 0.0)))
        return StepAnswer(plan, program.flow(program.reply.behaviour(self._replies)))


def best_iterate_bound(program: StepProgram, span: float, iterations: int, seen: Flags | None = None) -> float:
    """Return the bound Δ √A M / √T on the distance of CFR's best iterate from the optimum of a step.

    Parameters
    ----------
    program : StepProgram
        A step in the whole game.
    span : float
        Δ: the largest payoff of the game minus the smallest, in payoff units.
    iterations : int
        T.
    seen : ndarray of bool, shape (num_infosets of the player,), optional
        The infosets above the depth limit, if a value function answers below it: then add the largest error of a
        query to the bound.

    Returns
    -------
    float
        Payoff units. M is the number of the player's seen infosets that are not settled, and A the largest number of
        actions there.

    Notes
    -----
    The lemma of section 3 in D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for computing
    counter-strategies in sequential games", 2021 (arXiv:2112.12594), where the opponent is fixed above the limit. It
    also holds for an opponent who is free there, if that opponent replies optimally, as with ``iterate="best"`` and no
    value function. For ``cfr`` and ``cfr+``.

    Examples
    --------
    >>> from treeplex import CDBR, Strategy, load_game, solve
    >>> from treeplex.solvers.depth_limited.regret_steps import best_iterate_bound
    >>> game = load_game("kuhn")
    >>> problem = CDBR(game, Strategy.uniform(game, 1), lookahead=1)
    >>> found = solve(problem, "cfr:iterate=best", tol=0, max_iterations=100)
    >>> bound = best_iterate_bound(problem.start().program(0), 4.0, 100)
    >>> round(solve(problem).steps[0] - found.steps[0], 6), round(bound, 2)
    (0.0, 3.39)
    """
    free = ~program.settled if seen is None else seen & ~program.settled
    most = int(program.own.num_actions[free].max(initial=1))
    return player_regret_bound(BoundConstants(span, int(free.sum()), most), 0.0, iterations)


@functools.cache
def compile_loop() -> None:
    """Compile the loop on a tiny game, or load it from its cache, so that this does not count as solving time."""
    game = load_game("matching_pennies")
    problem = CDBR(game, Strategy.uniform(game, 1), lookahead=1)
    options = Options(tol=0.0, violation=0.0, max_iterations=1, time_limit=0.0)
    with compiling():
        RegretStepSolver(CFRPlus(), problem.view()).solve(problem.start().program(0), options)


def check_double(method: RegretMethod, problem: SteppedResponse) -> None:
    """Raise an error for precisions other than double, the only one that steps support.

    Raises
    ------
    InvalidOptionError
    """
    if method.precision in ("single", "half"):
        found = f"{method.name} got precision={method.precision!r}"
        raise InvalidOptionError(f"{found} for {problem.name}, expected double")


def run(method: RegretMethod, problem: SteppedResponse, options: Options) -> Outcome:
    """Solve a response step by step.

    The tolerance and the iteration limit apply to each step. Steps share the time limit. A step that stops at a limit
    decides by its current strategies, and its gap bounds their error.
    """
    check_double(method, problem)
    if public_steps.serves(method, problem):
        return public_steps.run(method, problem, options)
    compile_loop()
    return resolve(method, problem, options, RegretStepSolver(method, problem.view()))
