"""Local best response in poker: at each own decision as if both would check and call from then on."""

from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ..games.kuhn import Kuhn
from ..games.leduc import Leduc
from .continual import Continual
from .decision_steps import DecisionStep, Flags
from .gadgets import GADGETS
from .step_program import StepAnswer, StepProgram

if TYPE_CHECKING:
    from ..saddle import PlayerView


class Local(Continual):
    """The steps of a local best response, as :class:`Continual` has steps.

    Parameters
    ----------
    view : PlayerView
    model : ndarray of float64
        The model's realization plan.
    steps : sequence of DecisionStep
        By levels; what lies below their own level is not read.
    folds, calls : pair of ndarray of bool
        For player 0 and player 1 which sequences fold, and which check or call: one of these at each infoset.
    """

    def __init__(
        self,
        view: "PlayerView",
        model: Floats,
        steps: tuple[DecisionStep, ...],
        folds: tuple[Flags, Flags],
        calls: tuple[Flags, Flags],
    ) -> None:
        super().__init__(view, model, 1.0, steps, GADGETS["full"])
        self._folds, self._calls = folds, calls
        self._other_behaviour = view.other.behaviour(model)

    def goes_on(self, number: int) -> bool:
        """Return false: what a step assumes of both players is its own."""
        return False

    def program(self, number: int) -> StepProgram:
        """Return a step's program, in which nothing is left to the other player."""
        step, view, own = self.steps[number], self.view, self.view.own
        upper = np.append(True, np.repeat(step.decided | step.settled, own.num_actions))
        values = view.paid(view.other.plan(self._answers(step)))
        # What follows the step's decisions is worth what calling to the end is.
        calling = np.append(True, self._calls[view.player][1:]).astype(np.float64)
        below = np.where(upper, 0.0, calling)
        for level in reversed(own.levels):
            after = np.add.reduceat(below[level.sequences] * values[level.sequences], level.starts)
            level.pass_up(after, values)
        return StepProgram(
            own=own,
            plan=self.plan,
            settled=step.settled,
            linear=np.where(upper, values, 0.0),
            matrix=sp.csr_array((own.num_sequences, 1)),
            reply=Treeplex([], []),
            inflow=np.zeros(0),
            bonus=np.zeros(1),
        )

    def _answers(self, step: DecisionStep) -> Floats:
        """Return how the other player goes on: up to the step as the model, then folding as often as it, else calling.

        It folds only in answer to the step's own action, one level further down.
        """
        other, public = self.view.other, self.view.game.public_tree
        levels = np.append(-1, np.repeat(public.infoset_levels(1 - self.view.player), other.num_actions))
        folds, calls = self._folds[1 - self.view.player], self._calls[1 - self.view.player]
        model = self._other_behaviour
        folded = np.where(folds, model, 0.0)
        some = np.add.reduceat(folded[1:], other.offsets[:-1] - 1) if other.num_infosets else np.zeros(0)
        called = np.append(0.0, np.repeat(1.0 - some, other.num_actions))
        answered = np.where(folds, model, np.where(calls, called, 0.0))
        further = np.where(levels == step.level + 1, answered, calls.astype(np.float64))
        return np.where(levels <= step.level, model, further)

    def decide(self, number: int, program: StepProgram, answer: StepAnswer) -> None:
        """Take a step's decisions from its answer."""
        own = self.view.own
        decided = np.append(False, np.repeat(self.steps[number].decided, own.num_actions))
        self.behaviour[decided] = own.behaviour(answer.plan)[decided]


def folds_and_calls(game: Game, player: int) -> tuple[Flags, Flags]:
    """Return which of a player's sequences fold, and which check or call.

    Parameters
    ----------
    game : Game
        Leduc or Kuhn poker.
    player : int

    Returns
    -------
    folds, calls : ndarray of bool, shape (num_sequences,)

    Raises
    ------
    UnsupportedProblemError
        If it is another game.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited.local import folds_and_calls
    >>> kuhn = load_game("kuhn")
    >>> folds, calls = folds_and_calls(kuhn, 0)
    >>> labels = [kuhn.sequence_form.treeplexes[0].sequence_label(s) for s in range(1, 13)]
    >>> sorted(label for label, fold in zip(labels, folds[1:]) if fold)
    [('J_pb', 'p'), ('K_pb', 'p'), ('Q_pb', 'p')]
    """
    treeplex = game.sequence_form.treeplexes[player]
    labels = [treeplex.sequence_label(sequence) for sequence in range(1, treeplex.num_sequences)]
    if isinstance(game.rules, Leduc):
        folds = [label is not None and label[1] == "f" for label in labels]
        calls = [label is not None and label[1] == "c" for label in labels]
    elif isinstance(game.rules, Kuhn):
        # One word, pass, folds where a bet is faced and checks elsewhere; bet calls there.
        facing = [label is not None and "b" in str(label[0]).partition("_")[2] for label in labels]
        passing = [label is not None and label[1] == "p" for label in labels]
        folds = [faced and passed for faced, passed in zip(facing, passing, strict=True)]
        calls = [faced != passed for faced, passed in zip(facing, passing, strict=True)]
    else:
        raise UnsupportedProblemError(f"lbr is for poker, kuhn and leduc, and the game is {game.spec}")
    return np.array([False, *folds]), np.array([False, *calls])
