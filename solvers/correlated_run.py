"""Trigger-regret minimisation: joint play that approaches an extensive-form correlated equilibrium."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..models.correlation import DeviationSums, JointRecommendation, StrategyMixture, Triggers
from ..seqform.arrays import Floats, Indices
from ..seqform.checks import check_whole
from ..seqform.errors import InvalidOptionError, UnsupportedProblemError
from ..seqform.game import Game
from ..seqform.polytope import Treeplex
from .checkpoint import Saved, fill

#: The weight with which the previous strategy enters the next one, so that the latter is unique.
_INERTIA = 1e-9


class CorrelatedRun:
    r"""Players who minimise their trigger regrets, and the mixture of their strategies.

    The mixture is a distribution of recommendations to any number of players: draw an iteration at random, and then a
    pure plan from each player's strategy of that iteration.

    Parameters
    ----------
    game : Game
        Two or more players with perfect recall.

    Raises
    ------
    UnsupportedProblemError
        If the plans of a player form a flow polytope.

    Notes
    -----
    For each sequence Ia of a player, CFR+ learns a deviation: the strategy from the infoset I on that the player plays
    if it is recommended a. Regret matching+ learns weights λ of these deviations. The next strategy x is a fixed point,
    which no weighted deviation changes:

    .. math:: \sum_{\hat\sigma} \lambda_{\hat\sigma} (\varphi_{\hat\sigma}(x) - x) = 0.

    It is computed from the root, by a linear system at each infoset. The gains of all deviations of the mixture then
    decrease at least as fast as the inverse square root of the iterations, up to a constant; :attr:`regrets` measures
    them. The equilibrium that the run approaches need not be optimal: :class:`~treeplex.EFCE` is.

    A. Celli, A. Marchesi, G. Farina and N. Gatti, "No-regret learning dynamics for extensive-form correlated
    equilibrium", NeurIPS 2020. The fixed point: G. Farina, A. Celli, A. Marchesi and N. Gatti, "Simple uncoupled
    no-regret learning dynamics for extensive-form correlated equilibrium", Journal of the ACM 69, 2022.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers import CorrelatedRun
    >>> run = CorrelatedRun(load_game("kuhn:players=3"))
    >>> run.run(300)
    >>> max(run.regrets) < 0.05
    True
    """

    def __init__(self, game: Game) -> None:
        form = game.sequence_form
        if form.num_players < 2 or not all(treeplex.single_parent for treeplex in form.treeplexes):
            raise UnsupportedProblemError(
                f"correlated play needs two or more players with perfect recall, which {game.spec} does not have"
            )
        self.game = game
        self._learners = [_Learner(treeplex) for treeplex in form.treeplexes]
        self._played: list[list[Floats]] = []
        self._mixture: StrategyMixture | None = None

    @property
    def iterations(self) -> int:
        """Number of iterations done."""
        return len(self._played)

    def run(self, iterations: int) -> None:
        """Do more iterations.

        Parameters
        ----------
        iterations : int

        Raises
        ------
        InvalidOptionError
            If it is not a whole number of at least 0.
        """
        form = self.game.sequence_form
        for _ in range(check_whole(iterations, "iterations", InvalidOptionError, "[0, inf)")):
            plans = [learner.next_plan() for learner in self._learners]
            for player, learner in enumerate(self._learners):
                learner.learn(form.gradient(player, plans))
            self._played.append(plans)

    @property
    def mixture(self) -> StrategyMixture:
        """The recommendations so far: the profiles of all iterations, with equal probabilities.

        Raises
        ------
        InvalidOptionError
            If there has been no iteration.
        """
        if self._mixture is None or self._mixture.num_profiles != self.iterations:
            self._checked()
            plans = tuple(map(np.array, zip(*self._played, strict=True)))
            self._mixture = StrategyMixture(self.game.sequence_form, plans)
        return self._mixture

    @property
    def last_plans(self) -> list[Floats]:
        """Each player's realization plan in the last iteration.

        Raises
        ------
        InvalidOptionError
            If there has been no iteration.
        """
        self._checked()
        return self._played[-1]

    @property
    def payoffs(self) -> Floats:
        """Each player's expected payoff if all follow the recommendations, shape (num_players,).

        Raises
        ------
        InvalidOptionError
            If there has been no iteration.
        """
        return self.mixture.payoffs

    @property
    def regrets(self) -> tuple[float, ...]:
        """The gain of each player's best deviations from the recommendations of the mixture.

        Computed by best responses to the mixture. The mixture is an ε-EFCE, where ε is the largest regret, and
        therefore also an ε-EFCCE and an ε-NFCCE.

        Raises
        ------
        InvalidOptionError
            If there has been no iteration.
        """
        number = self._checked()
        return tuple(learner.sums.regret() / number for learner in self._learners)

    def recommend(self, seed: int | np.random.Generator = 0) -> JointRecommendation:
        """Draw a pure plan for each player, jointly; see :meth:`StrategyMixture.recommend`.

        Raises
        ------
        InvalidOptionError
            If there has been no iteration, or the seed is not a whole number of at least 0.
        """
        return self.mixture.recommend(seed)

    def saved(self) -> Saved:
        """Return the strategies and the state of the players by name, for a checkpoint."""
        numbered = list(enumerate(self._learners))
        state = {f"{name} {number}": array for number, one in numbered for name, array in one.lasting.items()}
        return state | {f"played {number}": np.array([each[number] for each in self._played]) for number, _ in numbered}

    def restore(self, saved: Saved) -> None:
        """Restore the state that :meth:`saved` returned.

        Raises
        ------
        KeyError, ValueError
            If it does not fit.
        """
        for number, learner in enumerate(self._learners):
            fill({f"{name} {number}": array for name, array in learner.lasting.items()}, saved)
        played = [saved[f"played {number}"] for number in range(len(self._learners))]
        self._played, self._mixture = [list(profile) for profile in zip(*played, strict=True)], None

    def _checked(self) -> int:
        if not self.iterations:
            raise InvalidOptionError("there are no recommendations before the first iteration: call run(iterations)")
        return self.iterations


class _Learner:
    """One player's strategy, its deviations and their weights, and the sums of payoffs so far."""

    def __init__(self, own: Treeplex) -> None:
        self.sums = DeviationSums(own, "efce")
        self.own, self.triggers = own, self.sums.triggers
        deviations = self.triggers.treeplex
        self.deviations = deviations
        self.behaviour = deviations.uniform_behaviour()
        self.plan = own.uniform_plan()
        self.weights = np.zeros(len(self.triggers))
        self.regrets = np.zeros(deviations.num_sequences)
        self.trigger_regrets = np.zeros(len(self.triggers))
        self._steps = list(_steps(self.triggers))

    def next_plan(self) -> Floats:
        """Return the fixed point of the weighted deviations."""
        own, weights, behaviour = self.own, self.weights, self.own.behaviour(self.plan)
        sequences = self.deviations.plan(self.behaviour)
        plan, above = np.zeros(own.num_sequences), np.zeros(own.num_sequences)
        plan[0] = 1.0
        for step in self._steps:
            moved = weights[step.triggers] * plan[step.triggers + 1] * sequences[step.inner]
            into = np.bincount(step.targets, moved, own.num_sequences)
            for group in step.groups:
                here, reach, passed = group.sequences, plan[group.parents, None], above[group.parents, None]
                new, copies = weights[here - 1], sequences[group.copies]
                systems = -(new[:, :, None] * copies).transpose(0, 2, 1)
                diagonal = np.arange(here.shape[1])
                systems[:, diagonal, diagonal] += new + passed + _INERTIA
                right = into[here] + _INERTIA * reach * behaviour[here]
                found = np.maximum(np.linalg.solve(systems, right[:, :, None])[:, :, 0], 0.0)
                total = found.sum(axis=1, keepdims=True)
                shares = np.where(total > 0.0, found / np.where(total > 0.0, total, 1.0), behaviour[here])
                plan[here] = reach * shares
                above[here] = passed + new
        self.plan = plan
        return plan

    def learn(self, gradient: Floats) -> None:
        """Learn from the payoff of each own sequence against the others' plans."""
        triggers, deviations = self.triggers, self.deviations
        values, obeyed = self.sums.add(self.plan, gradient)
        earned = np.zeros(deviations.num_infosets)
        for level in reversed(deviations.levels):
            here = level.sequences
            mixed = np.add.reduceat(self.behaviour[here] * values[here], level.starts)
            self.regrets[here] = np.maximum(self.regrets[here] + values[here] - np.repeat(mixed, level.counts), 0.0)
            earned[level.infosets] = mixed
            level.pass_up(mixed, values)
        self.behaviour = deviations.behaviour(self.regrets)
        self.trigger_regrets = np.maximum(self.trigger_regrets + triggers.firsts @ earned - obeyed, 0.0)
        total = self.trigger_regrets.sum()
        self.weights = self.trigger_regrets / total if total > 0.0 else np.zeros_like(self.weights)

    @property
    def lasting(self) -> dict[str, Floats]:
        """The arrays on which the next iterations depend, by name."""
        return {
            "plan": self.plan,
            "behaviour": self.behaviour,
            "weights": self.weights,
            "regrets": self.regrets,
            "trigger regrets": self.trigger_regrets,
            "paid": self.sums.paid,
            "obeyed": self.sums.obeyed,
        }


class _Group(NamedTuple):
    """Infosets of a level with equally many actions."""

    parents: Indices  # (k,)
    sequences: Indices  # (k, actions)
    copies: Indices  # (k, actions, actions): by recommendation, the sequences of the deviation that begins there


class _Step(NamedTuple):
    """A level of infosets, whose fixed points depend on those of the levels above."""

    inner: Indices  # the sequences of deviations that began above
    triggers: Indices  # of each of these
    targets: Indices  # the player's own sequence of each of these
    groups: list[_Group]


def _steps(triggers: Triggers) -> Iterator[_Step]:
    """Yield the levels from the root on."""
    own, (infosets, origins) = triggers.own, triggers.copies
    counts = own.num_actions[infosets]
    at, from_above = np.repeat(infosets, counts), ~np.repeat(triggers.is_first, counts)
    origin, (targets, _) = np.repeat(origins, counts), triggers.played
    # The copies of an infoset lie side by side, and those that begin at the infoset itself are the last ones.
    ends = np.searchsorted(infosets, np.arange(own.num_infosets), side="right")
    for level in own.levels:
        inner = np.flatnonzero(np.isin(at, level.infosets) & from_above)
        groups = []
        for number in np.unique(own.num_actions[level.infosets]).tolist():
            chosen = level.infosets[own.num_actions[level.infosets] == number].astype(np.int64)
            begins = triggers.treeplex.offsets[ends[chosen] - number].astype(np.int64)
            copies = begins[:, None, None] + np.arange(number**2).reshape(number, number)
            sequences = own.offsets[chosen].astype(np.int64)[:, None] + np.arange(number)
            groups.append(_Group(own.parents[chosen].astype(np.int64), sequences, copies))
        yield _Step(inner + 1, origin[inner], targets[inner], groups)
