"""Parts of a two-player game that iterations process separately, on any thread.

Below its first decisions a game splits: the subtrees of different betting sequences interact only through the decisions
above them. The *trunk* consists of the first decisions. Without it, infosets that are connected by a payoff or as
parent and child form components, and a *branch* is a set of components. Each row of the payoff, and so each entry of a
gradient, belongs to one branch or to the trunk. Sums over the values from the branches are formed branch after branch.
Hence results are the same, bit for bit, for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import connected_components

from .placement import Branches, Integers, Treeplexes, hashed

#: The target work of one branch, and the least (if the game allows) and largest number of branches.
BRANCH, FEWEST, MOST = 16_000.0, 4, 64
#: A component larger than this fraction of the game is split further.
LARGE = 1.0 / 16.0
#: The largest fraction of the game in the trunk, which one thread processes.
TRUNK = 0.08
#: The largest number of levels of the trunk.
DEEPEST = 24


def find_branches(treeplexes: Treeplexes, rows: Integers, columns: Integers, work: Any) -> Branches:
    """Find the branches of a two-player game with trees and the given payoff cells; none if it does not split.

    Parameters
    ----------
    treeplexes : Treeplexes
    rows, columns : ndarray of int64
        The players' sequences of each cell.
    work : ndarray of float64
        See :meth:`.Treeplexes.work`.
    """
    whole, sizes = Branches.none(treeplexes.counts), [len(count) for count in treeplexes.counts]
    owners = treeplexes.cell_owners(rows, columns)
    above = [owner[parent] for owner, parent in zip(treeplexes.owners, treeplexes.parents, strict=True)]
    parents = np.concatenate([above[0], np.where(above[1] >= 0, above[1] + sizes[0], -1)])
    inner = (owners[0] >= 0) & (owners[1] >= 0)
    pairs = np.unique(owners[0][inner].astype(np.int64) * sum(sizes) + owners[1][inner])
    children = np.flatnonzero(parents >= 0)
    graph = _Graph(
        np.concatenate([pairs // sum(sizes), children]),
        np.concatenate([pairs % sum(sizes), parents[children]]),
        parents, work, np.repeat([0, 1], sizes), hashed(*np.concatenate(treeplexes.kinds, axis=1)),
    )  # fmt: skip
    in_trunk = graph.trunk()
    share = graph.grouped(in_trunk, treeplexes.width)
    if share.max(initial=0) < 2:
        return whole
    roots = ~in_trunk & ((parents < 0) | in_trunk[parents])
    cut = sizes[:1]
    return Branches(np.split(share, cut), np.split(roots, cut), int(share.max()) + 1)


@dataclass(frozen=True, eq=False)
class _Graph:
    """The infosets of both players, connected by payoffs and as parents and children."""

    ends: Integers
    other_ends: Integers
    parents: Integers
    work: Any
    players: Integers
    kinds: Any

    def components(self, in_trunk: Any) -> Integers:
        """Return the component of each infoset after the trunk is removed; each trunk infoset is its own component."""
        kept = ~(in_trunk[self.ends] | in_trunk[self.other_ends])
        ends = self.ends[kept], self.other_ends[kept]
        size = len(self.parents)
        graph = sparse.coo_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(size, size))
        found: Integers = connected_components(graph, directed=False)[1].astype(np.int64)
        return found

    def trunk(self) -> Any:
        """Return the trunk: the first levels of large components, one player at a time."""
        total = self.work.sum()
        in_trunk = np.zeros(len(self.parents), dtype=bool)
        for _ in range(DEEPEST):
            component = self.components(in_trunk)
            sizes = np.bincount(component, weights=self.work)
            sizes[component[in_trunk]] = 0.0
            first = ~in_trunk & ((self.parents < 0) | in_trunk[self.parents]) & (sizes > LARGE * total)[component]
            if not first.any():
                break
            # Take the player with fewer infosets on the next level: those of the other player follow.
            key = 2 * component + self.players
            costs = np.bincount(key[first], weights=self.work[first], minlength=2 * len(sizes)).reshape(-1, 2)
            costs[costs == 0.0] = np.inf
            wider = in_trunk | (first & (costs.argmin(axis=1)[component] == self.players))
            if self.work[wider].sum() > TRUNK * total:
                break
            in_trunk = wider
        return in_trunk

    def grouped(self, in_trunk: Any, width: int) -> Integers:
        """Return the part of each infoset: similar components are adjacent, and those in a register share a branch."""
        component = self.components(in_trunk)
        sizes = np.bincount(component, weights=self.work)
        shapes = np.zeros(len(sizes), dtype=np.uint64)
        np.add.at(shapes, component, hashed(self.players, self.kinds))
        used = np.unique(component[~in_trunk])
        first = np.full(len(sizes), len(component))
        np.minimum.at(first, component, np.arange(len(component)))
        used = used[np.lexsort((first[used], shapes[used], -sizes[used]))]
        different = np.append(True, (np.diff(sizes[used]) != 0.0) | (np.diff(shapes[used]) != 0))
        number = np.arange(len(used)) - np.maximum.accumulate(np.where(different, np.arange(len(used)), 0))
        unit = np.cumsum(number % width == 0) - 1
        amounts = np.bincount(unit, weights=sizes[used])
        total = amounts.sum()
        wanted = int(np.clip(total / BRANCH, FEWEST, MOST))
        middle = np.cumsum(amounts) - 0.5 * amounts
        _, branch = np.unique((middle / total * wanted).astype(np.int64), return_inverse=True)
        of_component = np.zeros(len(sizes), dtype=np.int64)
        of_component[used] = 1 + branch.ravel()[unit]
        return np.where(in_trunk, 0, of_component[component])
