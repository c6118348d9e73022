"""Counterfactual regret minimisation in plain numpy and scipy: the yardstick of the compiled kernel.

A good-faith array program: the two products with the payoff matrix are scipy CSR products (of ``A`` and of its
transpose, both stored), the treeplex passes go level by level with ``np.add.reduceat`` and ``np.repeat``, and every
level's index arrays are prepared once. Sequences keep the library's order; a level whose infosets are contiguous is
addressed by slices.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Level:
    """The infosets of one player with the same number of own decisions above them."""

    def __init__(self, parents: NDArray[Any], offsets: NDArray[Any], infosets: NDArray[Any]) -> None:
        counts = np.diff(offsets)[infosets]
        self.parents = parents[infosets]
        self.starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self.counts = counts
        first = offsets[infosets]
        sequences = np.repeat(first - self.starts, counts) + np.arange(counts.sum())
        contiguous = bool(np.all(np.diff(sequences) == 1))
        self.sequences: Any = slice(int(sequences[0]), int(sequences[-1]) + 1) if contiguous else sequences
        self.uniform = np.repeat(1.0 / counts, counts)
        self.parents_repeated = np.repeat(self.parents, counts)
        # Scattering child values into parents: unique parents allow the fast fancy-index form.
        self.parents_unique = len(np.unique(self.parents)) == len(self.parents)


class NumpyCFR:
    """CFR+ (or CFR) with alternating updates and linear (or uniform) averaging on a two-player zero-sum sequence form.

    Parameters
    ----------
    parents, offsets : per player, int arrays
        Parent sequence of each infoset, and the first sequence of each infoset (``num_infosets + 1`` entries).
    A : scipy.sparse array, shape (sequences of player 0, sequences of player 1)
        Expected payoff of player 0.
    plus : bool
        Clip regrets at zero and weigh the average by the iteration number.
    """

    def __init__(self, parents: list[NDArray[Any]], offsets: list[NDArray[Any]], A: Any, plus: bool = True) -> None:
        self.plus = plus
        self.products = (sparse.csr_array(A), sparse.csr_array(-sparse.csr_array(A).T))
        self.levels: list[list[Level]] = []
        self.num_sequences = [int(o[-1]) for o in offsets]
        for p, o in zip(parents, offsets, strict=True):
            depth = np.zeros(int(o[-1]), dtype=np.int64)
            infoset_depth = np.zeros(len(p), dtype=np.int64)
            for i, parent in enumerate(p):
                infoset_depth[i] = depth[parent]
                depth[o[i] : o[i + 1]] = depth[parent] + 1
            levels = range(int(infoset_depth.max(initial=-1)) + 1)
            self.levels.append([Level(p, o, np.flatnonzero(infoset_depth == level)) for level in levels])
        self.regrets = [np.zeros(n) for n in self.num_sequences]
        self.behaviour = [np.ones(n) for n in self.num_sequences]
        self.plans = [np.ones(n) for n in self.num_sequences]
        self.sums = [np.zeros(n) for n in self.num_sequences]
        for player in range(2):
            for level in self.levels[player]:
                self.behaviour[player][level.sequences] = level.uniform
            self._top_down(player)
        self.iteration = 0

    def _top_down(self, player: int) -> None:
        plan, behaviour = self.plans[player], self.behaviour[player]
        for level in self.levels[player]:
            plan[level.sequences] = plan[level.parents_repeated] * behaviour[level.sequences]

    def _bottom_up(self, player: int, gradient: Array) -> None:
        regrets, behaviour = self.regrets[player], self.behaviour[player]
        for level in reversed(self.levels[player]):
            s = level.sequences
            g, b = gradient[s], behaviour[s]
            values = np.add.reduceat(g * b, level.starts)
            g -= np.repeat(values, level.counts)
            g += regrets[s]
            positive = np.maximum(g, 0.0)
            regrets[s] = positive if self.plus else g
            totals = np.add.reduceat(positive, level.starts)
            zero = np.repeat(totals <= 0.0, level.counts)
            np.divide(positive, np.repeat(np.where(totals > 0.0, totals, 1.0), level.counts), out=positive)
            np.copyto(positive, level.uniform, where=zero)
            behaviour[s] = positive
            if level.parents_unique:
                gradient[level.parents] += values
            else:
                gradient += np.bincount(level.parents, weights=values, minlength=len(gradient))

    def run(self, iterations: int) -> None:
        """Do that many more iterations, player 0 first, player 1 answering the new strategy."""
        for _ in range(iterations):
            self.iteration += 1
            weight = float(self.iteration) if self.plus else 1.0
            for player in range(2):
                gradient = self.products[player] @ self.plans[1 - player]
                self._bottom_up(player, gradient)
                self.sums[player] += weight * self.plans[player]
                self._top_down(player)

    def average(self, player: int) -> Array:
        """Weighted average of the plans so far, each from before its update; the current plan at the start."""
        return self.sums[player] / self.sums[player][0] if self.iteration else self.plans[player]

    def exploitability(self, x: Array, y: Array) -> float:
        """NashConv / 2 of two realization plans."""
        total = 0.0
        for player, other in ((0, y), (1, x)):
            gradient = self.products[player] @ other
            for level in reversed(self.levels[player]):
                np.add.at(gradient, level.parents, np.maximum.reduceat(gradient[level.sequences], level.starts))
            total += float(gradient[0])
        return total / 2.0


def microseconds_per_iteration(solver: NumpyCFR, iterations: int, repeats: int = 5) -> float:
    """Smallest CPU time of an iteration over some repeats."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        solver.run(iterations)
        best = min(best, (time.process_time() - start) / iterations)
    return best * 1e6
