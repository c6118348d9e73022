"""Continual solving: one step's program after the other, each from what the steps before it have decided."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from .decision_steps import DecisionStep, Flags
from .gadgets import Found, Gadget, subgame_program, whole_game_program
from .step_program import StepAnswer, StepProgram
from .subgame_roots import SubgameRoots, subgames_of

if TYPE_CHECKING:
    from ..saddle import PlayerView


class Continual:
    """The steps of a depth-limited response while they are solved.

    Parameters
    ----------
    view : PlayerView
    model : ndarray of float64
        The realization plan of the model of the other player.
    p : float
        How likely that player follows the model.
    steps : sequence of DecisionStep
    gadget : Gadget
        With p = 1 nobody is free above a subgame, and no gadget is needed.
    blueprint : Found, optional
        What the first steps resolve; without it they solve a trunk that begins at the root, whatever the gadget.

    Attributes
    ----------
    behaviour : ndarray of float64, shape (num_sequences of the player,)
        What is decided so far, uniform elsewhere.

    Examples
    --------
    Two steps in Kuhn poker, each answered with whatever is decided already, and uniform play elsewhere:

    >>> from treeplex import CDBR, Strategy, load_game
    >>> from treeplex.models.depth_limited import StepAnswer
    >>> game = load_game("kuhn")
    >>> run = CDBR(game, Strategy.uniform(game, 1), lookahead=1).start()
    >>> for number, step in enumerate(run.steps):
    ...     program = run.program(number)
    ...     print(step.level, round(program.guaranteed(run.plan), 6))
    ...     reply = program.flow(program.reply.uniform_behaviour())
    ...     run.decide(number, program, StepAnswer(run.plan, reply))
    0 0.125
    2 0.125
    """

    def __init__(
        self,
        view: "PlayerView",
        model: Floats,
        p: float,
        steps: tuple[DecisionStep, ...],
        gadget: Gadget,
        blueprint: Found | None = None,
    ) -> None:
        self.view, self.model, self.p, self.steps = view, model, p, steps
        self.gadget = gadget
        self.blueprint = blueprint
        self.behaviour = view.own.uniform_behaviour()
        self._found: dict[int, Found] = {}
        payoffs = view.game.sequence_form.A
        self._matrix = payoffs if view.player == 0 else sp.csr_array(-payoffs.T)

    @property
    def whole(self) -> bool:
        """Whether every step is solved in the whole game."""
        return self.gadget.name == "full" or self.p == 1.0

    def goes_on(self, number: int) -> bool:
        """Return whether the plan that a step goes on from is its answer already: it sees no more than that one did."""
        before = self.steps[number].before
        return (
            self.whole
            and before is not None
            and np.array_equal(self.steps[number].modelled, self.steps[before].modelled)
        )

    @property
    def plan(self) -> Floats:
        """The realization plan of what is decided so far."""
        return self.view.own.plan(self.behaviour)

    def program(self, number: int) -> StepProgram:
        """Return a step's program; the step that it goes on from has been decided."""
        step, plan = self.steps[number], self.plan
        found = self.blueprint if step.before is None else self._found.get(step.before)
        if self.whole or found is None:
            return whole_game_program(self.view, self._matrix, self.model, self.p, step, plan)
        roots = SubgameRoots.of(self.view.game, self.view.player, step.states.tolist())
        return subgame_program(self.view, self.model, self.p, step, plan, self.gadget, roots, found)

    def decide(self, number: int, program: StepProgram, answer: StepAnswer) -> None:
        """Take a step's decisions from its answer."""
        step, own = self.steps[number], self.view.own
        decided = np.append(False, np.repeat(step.decided, own.num_actions))
        self.behaviour[decided] = own.behaviour(answer.plan)[decided]
        if not self.whole:
            self._found[number] = Found(self._played(step, answer.plan), self._free(step, program, answer.reply))

    def _played(self, step: DecisionStep, plan: Floats) -> Floats:
        """Return the answer's plan; where its program did not reach, what was found before."""
        before = self.blueprint if step.before is None else self._found.get(step.before)
        if before is None:
            return plan
        own = self.view.own
        inside = self._inside(step, self.view.player)
        return own.plan(np.where(inside, own.behaviour(plan), own.behaviour(before.plan)))

    def _free(self, step: DecisionStep, program: StepProgram, reply: Floats) -> Floats:
        """Return the other player's plan in which the reply stands for what it plays where it is free."""
        other = self.view.other
        if program.reply is other:
            weights = reply.copy()
            weights[0] = 1.0
            return other.plan(other.behaviour(weights))
        before = self.blueprint if step.before is None else self._found[step.before]
        assert before is not None
        inside = self._inside(step, 1 - self.view.player)
        behaviour = other.behaviour(before.free)
        # The gadget's decisions come first in the reply.
        behaviour[inside] = program.reply.behaviour(reply)[len(reply) - int(inside.sum()) :]
        return other.plan(behaviour)

    def _inside(self, step: DecisionStep, player: int) -> Flags:
        """Return which of a player's sequences lie in the subgames of a step, shape (num_sequences,)."""
        public = self.view.game.public_tree
        infosets = subgames_of(public, step.states)[public.infoset_states[player]] >= 0
        return np.append(False, np.repeat(infosets, self.view.game.sequence_form.treeplexes[player].num_actions))
