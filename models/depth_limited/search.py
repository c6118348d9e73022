"""Safe exploitation search: subgames of an equilibrium solved anew, all at once, against the model's reach of them."""

from typing import TYPE_CHECKING

import numpy as np

from ...seqform.arrays import Floats
from .continual import Continual
from .decision_steps import DecisionStep
from .gadgets import GADGETS, Found, search_program
from .step_program import StepAnswer, StepProgram
from .subgame_roots import SubgameRoots, subgames_of

if TYPE_CHECKING:
    from ..saddle import PlayerView


class Search(Continual):
    """The one step of safe exploitation search, as :class:`Continual` has steps.

    Parameters
    ----------
    view : PlayerView
    model : ndarray of float64
        The realization plan of the model, of which the reach of subgames is read.
    p : float
    roots : SubgameRoots
    blueprint : Found
        What is played above the subgames, and what is resolved.
    """

    def __init__(self, view: "PlayerView", model: Floats, p: float, roots: SubgameRoots, blueprint: Found) -> None:
        public = view.game.public_tree
        inside = subgames_of(public, roots.states)
        decided = inside[public.infoset_states[view.player]] >= 0
        step = DecisionStep(
            level=int(public.levels[roots.states].min()),
            states=roots.states,
            decided=decided,
            settled=~decided,
            modelled=np.zeros(view.other.num_infosets, dtype=bool),
            before=None,
        )
        super().__init__(view, model, p, (step,), GADGETS["max-margin"], blueprint)
        self.roots = roots
        self.behaviour = view.own.behaviour(blueprint.plan)

    def goes_on(self, number: int) -> bool:
        """Return false: the step is the first."""
        return False

    def program(self, number: int) -> StepProgram:
        """Return the step's program."""
        assert self.blueprint is not None
        return search_program(self.view, self.model, self.p, self.roots, self.blueprint)

    def decide(self, number: int, program: StepProgram, answer: StepAnswer) -> None:
        """Take the step's decisions from its answer."""
        own = self.view.own
        decided = np.append(False, np.repeat(self.steps[0].decided, own.num_actions))
        self.behaviour[decided] = own.behaviour(answer.plan)[decided]
