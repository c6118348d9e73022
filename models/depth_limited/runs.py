"""Responses while they are decided: one program per step, based on the solutions of earlier steps."""

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ..games.kuhn import Kuhn
from ..saddle import PlayerView
from .decision_steps import DecisionStep, Flags
from .gadgets import (
    GADGETS,
    Gadget,
    SequenceRates,
    TrunkSolution,
    allowances,
    gift_rates,
    search_program,
    subgame_program,
    whole_game_program,
)
from .step_program import StepAnswer, StepProgram
from .subgame_roots import SubgameRoots


class ResolvingRun:
    """The steps of a depth-limited response during the solve.

    Parameters
    ----------
    view : PlayerView
    model : ndarray of float64
        The realization plan of the model of the other player.
    p : float
        The probability that the other player follows the model.
    steps : sequence of DecisionStep
    gadget : Gadget
        With p = 1 the other player is not free above a subgame, and no gadget is needed.
    blueprint : TrunkSolution, optional
        The solution that the first steps resolve; without it they solve a trunk that begins at the root, regardless of
        the gadget.

    Attributes
    ----------
    behaviour : ndarray of float64, shape (num_sequences of the player,)
        The decisions so far, uniform elsewhere.
    found : ndarray of float64, shape (num_sequences of the player,)
        The decisions so far, and elsewhere the plan of the last step there.

    Examples
    --------
    Two steps in Kuhn poker, each answered with the decisions so far, and uniform play elsewhere:

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
        view: PlayerView,
        model: Floats,
        p: float,
        steps: tuple[DecisionStep, ...],
        gadget: Gadget,
        blueprint: TrunkSolution | None = None,
    ) -> None:
        self.view, self.model, self.p, self.steps = view, model, p, steps
        self.gadget = gadget
        self.blueprint = blueprint
        self.behaviour = view.own.uniform_behaviour()
        # The solution that a step continues is still stored in its subgames: no step in between concerns these
        # subgames, and all steps below come later.
        self.found = self.behaviour.copy() if blueprint is None else view.own.behaviour(blueprint.plan)
        self._free = np.zeros(0) if blueprint is None else view.other.behaviour(blueprint.free)
        self._allowances: dict[int | None, SequenceRates] = {}
        self._roots: tuple[DecisionStep, SubgameRoots] | None = None
        payoffs = view.game.sequence_form.A
        self._matrix = payoffs if view.player == 0 else sp.csr_array(-payoffs.T)
        if blueprint is not None and gadget.promises and steps:
            whole = whole_game_program(view, self._matrix, model, p, steps[0], blueprint.plan)
            self._allowances[None] = allowances(view, whole, blueprint.plan, self._later())

    @property
    def whole(self) -> bool:
        """Whether every step is solved in the whole game."""
        return self.gadget.name == "full" or self.p == 1.0

    def goes_on(self, number: int) -> bool:
        """Return whether the plan that a step continues already solves the step, because the step sees no further."""
        before = self.steps[number].before
        return (
            self.whole
            and before is not None
            and np.array_equal(self.steps[number].modelled, self.steps[before].modelled)
        )

    @property
    def plan(self) -> Floats:
        """The realization plan of the decisions so far."""
        return self.view.own.plan(self.behaviour)

    def program(self, number: int) -> StepProgram:
        """Return a step's program; the step that it continues must have been decided."""
        step, view, gadget = self.steps[number], self.view, self.gadget
        if self._in_whole(step):
            return whole_game_program(view, self._matrix, self.model, self.p, step, self.plan)
        roots = self.subgames(step)
        plan, found = (roots.own.plan(each[roots.own_sequences]) for each in (self.behaviour, self.found))
        free = None if gadget.form else view.other.plan(self._free)[roots.way_sequences]
        rates = self._allowances.get(step.before)
        if gadget.gifts:
            rates = gift_rates(view, view.own.plan(self.found))
        return subgame_program(view, self.model, self.p, step, plan, gadget, roots, found, free, rates)

    def _in_whole(self, step: DecisionStep) -> bool:
        """Return whether a step is solved in the whole game: if all steps are, or if it is the trunk's step."""
        return self.whole or (step.before is None and self.blueprint is None)

    def subgames(self, step: DecisionStep) -> SubgameRoots:
        """Return the subgames of a step; they are cached until another step needs its own."""
        if self._roots is None or self._roots[0] is not step:
            self._roots = step, SubgameRoots.of(self.view.game, self.view.player, step.states.tolist())
        return self._roots[1]

    def decide(self, number: int, program: StepProgram, answer: StepAnswer) -> None:
        """Adopt a step's decisions from its answer."""
        step = self.steps[number]
        behaviour = program.own.behaviour(answer.plan)
        decided, new = program.given(step.decided), ~program.given(step.settled)
        for array, taken in ((self.behaviour, decided), (self.found, new)):
            array[program.sequences] = np.where(taken, behaviour, array[program.sequences])
        if self.whole:
            return
        in_whole = self._in_whole(step)
        if self.gadget.promises:
            roots = None if in_whole else self.subgames(step)
            self._allowances[number] = allowances(self.view, program, answer.plan, self._later(number), roots)
        elif not self.gadget.form:
            replied = program.reply.behaviour(answer.reply)
            if in_whole:
                self._free = replied
            else:
                # The gadget's decisions come first in the reply.
                sequences = self.subgames(step).sequences
                self._free[sequences] = replied[len(replied) - len(sequences) :]

    def _later(self, number: int | None = None) -> Integers:
        """Return the roots of the subgames of the steps after a given step, or of all steps."""
        made = set()
        while number is not None:
            made.add(number)
            number = self.steps[number].before
        states = [step.states for other, step in enumerate(self.steps) if other not in made]
        return self.view.game.public_tree.outermost(np.unique(np.concatenate([np.zeros(0, dtype=np.int32), *states])))


class SearchRun(ResolvingRun):
    """The single step of safe exploitation search, with the interface of :class:`ResolvingRun`.

    Parameters
    ----------
    view : PlayerView
    model : ndarray of float64
        The realization plan of the model, of which only the reach of subgames is used.
    p : float
    roots : SubgameRoots
    blueprint : TrunkSolution
        The strategies above the subgames, which are also resolved.
    """

    def __init__(
        self, view: PlayerView, model: Floats, p: float, roots: SubgameRoots, blueprint: TrunkSolution
    ) -> None:
        public = view.game.public_tree
        decided = np.zeros(view.own.num_infosets, dtype=bool)
        decided[public.below(roots.states, view.player)] = True
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

    def program(self, number: int) -> StepProgram:
        """Return the step's program."""
        assert self.blueprint is not None
        return search_program(self.view, self.model, self.p, self.roots, self.blueprint)


class LocalRun(ResolvingRun):
    """The steps of a local best response, with the interface of :class:`ResolvingRun`.

    Parameters
    ----------
    view : PlayerView
    model : ndarray of float64
        The model's realization plan.
    steps : sequence of DecisionStep
        By level; the parts below a step's own level are ignored.
    folds, calls : pair of ndarray of bool
        For player 0 and player 1, the sequences that fold, and those that check or call: one of these at each infoset.
    """

    def __init__(
        self,
        view: PlayerView,
        model: Floats,
        steps: tuple[DecisionStep, ...],
        folds: tuple[Flags, Flags],
        calls: tuple[Flags, Flags],
    ) -> None:
        super().__init__(view, model, 1.0, steps, GADGETS["full"])
        self._folds, self._calls = folds, calls
        self._other_behaviour = view.other.behaviour(model)

    def goes_on(self, number: int) -> bool:
        """Return false: each step makes its own assumptions about both players."""
        return False

    def program(self, number: int) -> StepProgram:
        """Return a step's program, in which the other player decides nothing."""
        step, view, own = self.steps[number], self.view, self.view.own
        upper = np.append(True, np.repeat(step.decided | step.settled, own.num_actions))
        values = view.own_gradient(view.other.plan(self._answers(step)))
        # The value after the step's decisions is that of calling to the end.
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
        """Return the other player's continuation: play the model, then fold as often as the model and otherwise call.

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


def folds_and_calls(game: Game, player: int) -> tuple[Flags, Flags]:
    """Return a player's sequences that fold, and those that check or call.

    Parameters
    ----------
    game : Game
        Leduc or Kuhn poker, or another game whose rules have the words ``fold``, ``check`` and ``call`` for actions.
    player : int

    Returns
    -------
    folds, calls : ndarray of bool, shape (num_sequences,)

    Raises
    ------
    UnsupportedProblemError
        If the game is of another kind.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.models.depth_limited import folds_and_calls
    >>> kuhn = load_game("kuhn")
    >>> folds, calls = folds_and_calls(kuhn, 0)
    >>> labels = [kuhn.sequence_form.treeplexes[0].sequence_label(s) for s in range(1, 13)]
    >>> sorted(label for label, fold in zip(labels, folds[1:]) if fold)
    [('J_pb', 'p'), ('K_pb', 'p'), ('Q_pb', 'p')]
    """
    treeplex = game.sequence_form.treeplexes[player]
    labels = [treeplex.sequence_label(sequence) for sequence in range(1, treeplex.num_sequences)]
    words = game.action_words
    if {"fold", "check", "call"} <= set(words):
        folds = [label is not None and label[1] == words["fold"] for label in labels]
        calls = [label is not None and label[1] in (words["check"], words["call"]) for label in labels]
    elif isinstance(game.rules, Kuhn):
        # A single word, pass, means folding when facing a bet and checking otherwise; bet then means calling.
        facing = [label is not None and "b" in str(label[0]).partition("_")[2] for label in labels]
        passing = [label is not None and label[1] == "p" for label in labels]
        folds = [faced and passed for faced, passed in zip(facing, passing, strict=True)]
        calls = [faced != passed for faced, passed in zip(facing, passing, strict=True)]
    else:
        raise UnsupportedProblemError(
            "lbr and checkdown need a poker game (kuhn, leduc, a spot, or rules with action_words for fold, check and "
            f"call), received {game.spec}"
        )
    return np.array([False, *folds]), np.array([False, *calls])
