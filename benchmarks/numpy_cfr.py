"""Counterfactual regret minimisation in plain numpy and scipy, as a baseline for the compiled kernel.

The program uses arrays as well as it can: the two products with the payoff matrix are scipy CSR products (of ``A`` and
of its transpose, which are both stored), sequences are renumbered so that each level is a slice, the treeplex passes
process level by level with ``np.add.reduceat`` and ``np.repeat``, and all index arrays are prepared once.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Level:
    """One player's infosets with the same number of own decisions above them, with sequences from ``first`` on."""

    def __init__(self, parents: NDArray[Any], counts: NDArray[Any], first: int) -> None:
        self.sequences = slice(first, first + int(counts.sum()))
        self.starts = np.cumsum(counts) - counts
        self.counts = counts
        self.uniform = np.repeat(1.0 / counts, counts)
        self.parents_repeated = np.repeat(parents, counts)
        # Infosets are sorted by parent, so that one more reduceat sums their values.
        self.parents, self.parent_starts = np.unique(parents, return_index=True)


class NumpyCFR:
    """CFR+ (or CFR) with alternating updates and linear (or uniform) averaging on a two-player zero-sum sequence form.

    Parameters
    ----------
    parents, offsets : per player, int arrays
        Parent sequence of each infoset, and the first sequence of each infoset (``num_infosets + 1`` entries).
    A : scipy.sparse array, shape (sequences of player 0, sequences of player 1)
        Expected payoff of player 0.
    plus : bool
        Whether to clip regrets at zero and weight the average by the iteration number.
    """

    def __init__(self, parents: list[NDArray[Any]], offsets: list[NDArray[Any]], A: Any, plus: bool = True) -> None:
        self.plus = plus
        self.levels: list[list[Level]] = []
        self.order: list[NDArray[Any]] = []
        for parent, offset in zip(parents, offsets, strict=True):
            depth = np.zeros(int(offset[-1]), dtype=np.int64)
            for i, sequence in enumerate(parent):
                depth[offset[i] : offset[i + 1]] = depth[sequence] + 1
            counts = np.diff(offset)
            place = np.zeros(len(depth), dtype=np.int64)  # the new number of each sequence
            levels = []
            first = 1
            for level in range(1, int(depth.max()) + 1):
                infosets = np.flatnonzero(depth[offset[:-1]] == level)
                infosets = infosets[np.argsort(place[parent[infosets]], kind="stable")]
                levels.append(Level(place[parent[infosets]], counts[infosets], first))
                starts = np.repeat(offset[infosets] - levels[-1].starts, counts[infosets])
                place[starts + np.arange(len(starts))] = np.arange(first, first + len(starts))
                first += len(starts)
            self.levels.append(levels)
            self.order.append(np.argsort(place))
        A = sparse.csr_array(A)[self.order[0]][:, self.order[1]]
        self.products = (sparse.csr_array(A), sparse.csr_array(-A.T))
        self.num_sequences = [len(order) for order in self.order]
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
            np.multiply(plan[level.parents_repeated], behaviour[level.sequences], out=plan[level.sequences])

    def _bottom_up(self, player: int, gradient: Array) -> None:
        regrets, behaviour = self.regrets[player], self.behaviour[player]
        for level in reversed(self.levels[player]):
            s = level.sequences
            values = np.add.reduceat(gradient[s] * behaviour[s], level.starts)
            regret = regrets[s]  # views, which are changed in place
            regret += gradient[s]
            regret -= np.repeat(values, level.counts)
            positive = np.maximum(regret, 0.0, out=regret if self.plus else None)
            totals = np.repeat(np.add.reduceat(positive, level.starts), level.counts)
            behaviour[s] = level.uniform
            np.divide(positive, totals, out=behaviour[s], where=totals > 0.0)
            gradient[level.parents] += np.add.reduceat(values, level.parent_starts)

    def run(self, iterations: int) -> None:
        """Run further iterations: player 0 updates first, and player 1 responds to the new strategy."""
        for _ in range(iterations):
            self.iteration += 1
            weight = float(self.iteration) if self.plus else 1.0
            for player in range(2):
                gradient = self.products[player] @ self.plans[1 - player]
                self._bottom_up(player, gradient)
                self.sums[player] += weight * self.plans[player]
                self._top_down(player)

    def average(self, player: int) -> Array:
        """Return the weighted average of the plans before each update; at the start, the current plan."""
        sums = self.sums[player]
        plan = np.empty_like(sums)
        plan[self.order[player]] = sums / sums[0] if self.iteration else self.plans[player]
        return plan

    def exploitability(self, x: Array, y: Array) -> float:
        """Return the exploitability, NashConv / 2, of two realization plans."""
        total = 0.0
        for player, other in ((0, y), (1, x)):
            gradient = self.products[player] @ other[self.order[1 - player]]
            for level in reversed(self.levels[player]):
                values = np.maximum.reduceat(gradient[level.sequences], level.starts)
                gradient[level.parents] += np.add.reduceat(values, level.parent_starts)
            total += float(gradient[0])
        return total / 2.0


def microseconds_per_iteration(solver: NumpyCFR, iterations: int, repeats: int = 5) -> float:
    """Return the smallest CPU time of an iteration over several repeats."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        solver.run(iterations)
        best = min(best, (time.process_time() - start) / iterations)
    return best * 1e6
