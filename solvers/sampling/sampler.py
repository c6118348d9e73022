"""Samplers on one game: their state, and what is read from it."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ...seqform.arrays import Floats
from . import kernel
from .kernel import ScratchArrays, StateArrays
from .tree import HistoryTree

_SAMPLING = {"external": kernel.EXTERNAL, "outcome": kernel.OUTCOME}
_AVERAGING = {"simple": kernel.SIMPLE, "sampled": kernel.SAMPLED, "full": kernel.FULL}


@dataclass(frozen=True)
class SamplingRule:
    """What is sampled and how strategies are averaged, as numbers of the compiled loop.

    Attributes
    ----------
    sampling : {"external", "outcome"}
    averaging : {"simple", "sampled", "full"}
    floor : float
        What cumulative regrets are held above: minus infinity for regret matching, 0 for regret matching+.
    exploration : float
        In outcome sampling, how much of the uniform policy is mixed into that of the player who walks.
    rate : float, optional
        In outcome sampling, how far baselines move towards each new value; without it there are none.
    baselines : {"history", "infoset"}
        Whether there is one after every history's action, those of chance too, or after every infoset's.
    """

    sampling: Literal["external", "outcome"] = "external"
    averaging: Literal["simple", "sampled", "full"] = "simple"
    floor: float = -np.inf
    exploration: float = 0.6
    rate: float | None = None
    baselines: Literal["history", "infoset"] = "infoset"


@dataclass(eq=False)
class SamplerState:
    """Where a sampler stands.

    Attributes
    ----------
    arrays : StateArrays
    next_check : int
        How many histories are touched before the certificate is computed next.
    """

    arrays: StateArrays
    next_check: int = 0

    @property
    def iterations(self) -> int:
        """Iterations done."""
        return int(self.arrays.clock[0])

    @property
    def touched(self) -> int:
        """Histories touched: each one that a walk comes to counts, chance nodes and leaves included."""
        return int(self.arrays.clock[1])

    def copy(self) -> "SamplerState":
        """Return a state that goes on from here on its own."""
        return SamplerState(StateArrays(*(array.copy() for array in self.arrays)), self.next_check)


class Sampler:
    """The compiled samplers on a game.

    Parameters
    ----------
    tree : HistoryTree

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.solvers.sampling.tree import history_tree
    >>> sampler = Sampler(history_tree(load_game("kuhn")))
    >>> state = sampler.initial_state(SamplingRule(), seed=1)
    >>> sampler.run(state, SamplingRule(), iterations=1000)
    >>> state.iterations, bool(state.touched > 10_000)
    (1000, True)
    """

    def __init__(self, tree: HistoryTree) -> None:
        self.tree = tree
        # Others' policies are written above those of the player who walks, or all one above the other.
        width = (tree.num_players + 1) * tree.width + 1
        self._scratch = ScratchArrays(
            frames=np.zeros((tree.length + 1, 3), dtype=np.uint64),
            policies=np.zeros(width),
            values=np.zeros(max(width, tree.length + 1)),
            plan=np.zeros(tree.num_positions),
        )

    def initial_state(self, rule: SamplingRule, seed: int = 0) -> SamplerState:
        """Return a state without any regrets.

        Parameters
        ----------
        rule : SamplingRule
        seed : int
            For ``numpy.random.SeedSequence``, which makes the first state of the random numbers of it.
        """
        size = self.tree.num_positions
        with_baselines = rule.sampling == "outcome" and rule.rate is not None
        places = self.tree.num_nodes if rule.baselines == "history" else size
        clock = np.zeros(3, dtype=np.uint64)
        clock[2] = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
        return SamplerState(
            StateArrays(
                regrets=np.zeros(size),
                sums=np.zeros(size),
                baselines=np.zeros((self.tree.num_players, places) if with_baselines else (0, 0)),
                clock=clock,
            )
        )

    def set_behaviour(self, state: SamplerState, behaviours: list[Floats], trust: float) -> None:
        """Make a state play behaviours, one a player: regrets stand in their proportions, ``trust`` in all."""
        for base, behaviour in zip(self.tree.bases[:-1].tolist(), behaviours, strict=True):
            state.arrays.regrets[base : base + len(behaviour)] = trust * behaviour
            state.arrays.regrets[base] = 0.0

    def run(self, state: SamplerState, rule: SamplingRule, iterations: int, touched: int | None = None) -> None:
        """Do more iterations, in each of which every player walks once, in turn.

        Parameters
        ----------
        state : SamplerState
            Changed in place.
        rule : SamplingRule
        iterations : int
            The most there are to be.
        touched : int, optional
            Stop after the iteration that brings the number of histories touched to this.
        """
        self._run(state, rule, state.arrays.regrets, iterations, touched, -1)

    def sampled_regrets(self, state: SamplerState, rule: SamplingRule, player: int, samples: int) -> Floats:
        """Return the mean of a player's sampled instantaneous regrets while all policies stay as they are.

        Parameters
        ----------
        state : SamplerState
            Its random numbers and baselines go on, its regrets and averages stay; ``samples`` iterations are counted.
        rule : SamplingRule
        player : int
        samples : int
            Walks to average over.

        Returns
        -------
        ndarray of float64, shape (num_positions,)
            In expectation the counterfactual regrets π₋ᵢ(I) (u(I, a) − u(I)) of the current policies.
        """
        target = np.zeros(self.tree.num_positions)
        unbounded = replace(rule, floor=-np.inf)
        self._run(state, unbounded, target, samples, None, player)
        return target / samples

    def _run(
        self,
        state: SamplerState,
        rule: SamplingRule,
        target: Floats,
        iterations: int,
        touched: int | None,
        player: int,
    ) -> None:
        by_history = float(rule.baselines == "history")
        numbers = np.array([rule.floor, rule.exploration, 0.0 if rule.rate is None else rule.rate, by_history])
        kernel.run_samplers(
            self.tree.arrays,
            self.tree.bases,
            state.arrays,
            target,
            self._scratch,
            np.uint64(iterations),
            np.uint64(2**64 - 1 if touched is None else touched),
            player,
            _SAMPLING[rule.sampling],
            _AVERAGING[rule.averaging],
            numbers,
        )

    def policies(self, state: SamplerState) -> list[Floats]:
        """Return the players' behaviour strategies of regret matching now; entry 0, of the empty sequence, is 1."""
        positive = np.maximum(state.arrays.regrets, 0.0)
        uniform = np.repeat(1.0 / self.tree.infosets[:, 1], self.tree.infosets[:, 1])
        return self._behaviours(positive, uniform)

    def average(self, state: SamplerState) -> list[Floats]:
        """Return the players' averaged behaviour strategies; the current ones where nothing has been averaged."""
        return self._behaviours(state.arrays.sums, np.concatenate([each[1:] for each in self.policies(state)]))

    def _behaviours(self, weights: Floats, otherwise: Floats) -> list[Floats]:
        """Return behaviour in proportion to weights over positions, infoset by infoset."""
        bases, counts = self.tree.bases, self.tree.infosets[:, 1]
        inside = np.ones(len(weights), dtype=bool)
        inside[bases[:-1]] = False  # the empty sequences
        shares = weights[inside]
        if len(counts):
            totals = np.repeat(np.add.reduceat(shares, np.cumsum(counts) - counts), counts)
            shares = np.where(totals > 0.0, shares / np.where(totals > 0.0, totals, 1.0), otherwise)
        behaviour = np.ones(len(weights))
        behaviour[inside] = shares
        return [behaviour[start:stop] for start, stop in zip(bases[:-1].tolist(), bases[1:].tolist(), strict=True)]
