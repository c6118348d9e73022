"""Solves the programs of steps by regret minimisation, the next one from the regrets of the one before."""

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...models.depth_limited import StepAnswer, StepProgram
from ...seqform.arrays import Floats
from ..methods import RegretMethod
from ..regret.driver import kernel_of, rule_of
from ..regret.kernel import Kernel, KernelState
from ..regret.layout import layout_from_matrices
from ..regret.loop import PartArrays
from ..status import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...models.saddle import PlayerView

#: The bounds of a step are computed each time its iterations have grown by this factor, from the first call on.
CHECK_GROWTH = 1.4
FIRST_CHECK = 32
#: No certificate of the whole game within the loop.
_NEVER = 2**62


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


class RegretStepSolver:
    """The compiled loop on the steps of a response.

    A step is a game of two players: one whose behaviour is given at settled infosets, and a reply to which weight comes
    from the model. In the whole game it is solved on the arrays of the game itself, nothing of which stands twice; the
    subgames of a gadget are laid out for each step.

    Parameters
    ----------
    method : RegretMethod
    view : PlayerView
    tolerance : float
        Of each step: its gap, payoff units; 0 for all iterations.

    Attributes
    ----------
    iterations : int
        In all steps.
    stopped : Status
        ``CONVERGED`` if every step came within the tolerance, or what stopped one that did not.
    """

    def __init__(self, method: RegretMethod, view: "PlayerView", tolerance: float) -> None:
        self.method, self.view, self.tolerance = method, view, tolerance
        self.rule = rule_of(method)
        self.iterations, self.stopped = 0, Status.CONVERGED
        self._kernel: Kernel | None = None
        self._state: KernelState | None = None

    @property
    def kept(self) -> object:
        """What the solution is to know of a solve besides."""
        return None

    @property
    def said(self) -> str:
        """What there is to say of a solve besides its iterations."""
        return ""

    def solve(
        self,
        program: StepProgram,
        seconds: float,
        iterations: int,
        listen: "Callable[[int, float], bool] | None" = None,
    ) -> StepAnswer:
        """Solve a step, as far as it gets.

        Parameters
        ----------
        program : StepProgram
        seconds, iterations : float, int
            The most that the step may take.
        listen : callable, optional
            Told the step's iterations and its gap whenever that is computed; the step ends when it answers true.

        Raises
        ------
        KeyboardInterrupt
            After Ctrl-C.
        """
        begun = time.perf_counter()
        placed = self._place(program)
        state = self._begin(placed)
        first, next_check = state.iteration, FIRST_CHECK
        while True:
            done = state.iteration - first
            self._iterate(placed, state, min(next_check, iterations) - done)
            answer, gap = self._answer(placed, state)
            done = state.iteration - first
            if self.tolerance > 0.0 and gap <= self.tolerance:
                break
            if listen is not None and listen(done, gap):
                self.stopped = Status.INTERRUPTED
                break
            if done >= iterations or time.perf_counter() - begun >= seconds:
                self.stopped = Status.ITERATION_LIMIT if done >= iterations else Status.TIME_LIMIT
                break
            next_check = max(done + 1, int(done * CHECK_GROWTH))
        self.iterations += state.iteration - first
        return answer

    def _iterate(self, placed: Placed, state: KernelState, iterations: int) -> None:
        if iterations > 0:
            state.next_check = _NEVER
            placed.kernel.run(
                state,
                self.rule,
                iterations,
                alternating=self.method.updates == "alternating",
                tilt=placed.tilt,
                part=placed.part,
            )

    def _place(self, program: StepProgram) -> Placed:
        """Return a program on the game's own arrays, or on new ones where it is not the whole game."""
        whole = program.reply is self.view.other
        own = self.view.player if whole else 0
        if whole:
            kernel = kernel_of(self.view.game.sequence_form)
        else:
            treeplexes = program.own, program.reply
            parents, offsets = [each.parents for each in treeplexes], [each.offsets for each in treeplexes]
            kernel = Kernel(layout_from_matrices(parents, offsets, program.matrix))
        layout = kernel.layout
        settled, kept, inflow, tilt = (np.zeros(layout.size) for _ in range(4))
        firsts = layout.positions[own][program.own.offsets[:-1]]
        settled[firsts] = program.settled
        layout.from_user(own, program.own.behaviour(program.plan), out=kept)
        # The loop has a weight of one at the empty sequence, by which it counts; the reply has none.
        firsts = layout.positions[1 - own][program.reply.offsets[:-1]]
        inflow[firsts] = program.inflow - (program.reply.parents == 0)
        layout.from_user(own, program.linear - program.matrix[:, [0]].toarray().ravel(), out=tilt)
        layout.from_user(1 - own, -program.bonus, out=tilt)
        return Placed(program, kernel, own, PartArrays(settled, kept, inflow), tilt)

    def _begin(self, placed: Placed) -> KernelState:
        """Return a state that plays what is settled, with the regrets of the step before if they fit."""
        kernel = placed.kernel
        if self._state is None or kernel is not self._kernel:
            self._kernel, self._state = kernel, kernel.initial_state()
        self._play(placed, self._state)
        return self._state

    @staticmethod
    def _play(placed: Placed, state: KernelState, replies: Floats | None = None) -> None:
        """Let a state play what is settled, and begin its averages anew.

        Parameters
        ----------
        placed : Placed
        state : KernelState
        replies : ndarray of float64, shape (num_sequences of the reply,), optional
            A behaviour of the reply; NaN where it stays as it is.
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

    def _answer(self, placed: Placed, state: KernelState) -> tuple[StepAnswer, float]:
        """Return the averages, or the last plans, and by how much they may be off."""
        kernel, program = placed.kernel, placed.program
        last = self.method.iterate == "last"
        vector = state.arrays.plan if last else kernel.average(state)
        own = program.own.behaviour(np.maximum(kernel.layout.to_user(placed.own, vector), 0.0))
        weights = np.maximum(kernel.layout.to_user(placed.reply, vector), 0.0)
        answer = StepAnswer(program.completed(own), program.flow(program.reply.behaviour(weights)))
        return answer, program.allowed(answer.reply) - program.guaranteed(answer.plan)
