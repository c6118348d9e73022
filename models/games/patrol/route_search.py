"""An attacker's best route by dynamic programming over labels: rewards and survival against each joint route."""

from dataclasses import dataclass

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.limits import check_time
from ....seqform.polytope import Treeplex
from .walker import Mask, Whole

#: Largest numbers of labels at one time and place, and in total, before the search gives up.
_MOST, _MOST_IN_ALL = 4_000, 200_000
#: Number of labels compared with others at once.
_BLOCK = 128


@dataclass(frozen=True, eq=False)
class Search:
    """Routes of one body, each with a reward and probabilities of escape.

    A route earns base · w + Σ_j q_j (stake · w + free) S_j, where w is the sum of rewards and S_j the product of escape
    probabilities over its sequences. Neither stake nor stake · w + free is below 0 on any route.

    Attributes
    ----------
    treeplex : Treeplex
        Every sequence leads to at most one infoset, with probability 1.
    part : slice
        The sequences of the body.
    rewards : ndarray of float64, shape (sequences of the body,)
    chances : ndarray of float64, shape (sequences of the body, joint routes)
    weights : ndarray of float64, shape (joint routes,)
        q.
    base, stake, free : float
    """

    treeplex: Treeplex
    part: slice
    rewards: Floats
    chances: Floats
    weights: Floats
    base: float
    stake: float
    free: float

    def best(self, least: float) -> tuple[Whole, float] | None:
        """Return the best route that earns more than `least`, and its payoff; an empty route if there is none.

        ``None`` if there are too many labels.

        Notes
        -----
        Labels at each time and place represent the ways there. A label is dropped if another one has earned as much and
        escaped each joint route with at least the same probability, or if the largest possible further reward and
        survival, bounded separately, give no more than `least`. Label setting for resource-constrained shortest paths:
        M. Desrochers and F. Soumis, "A generalized permanent labelling algorithm for the shortest path problem with
        time windows", INFOR 26, 1988.
        """
        treeplex, start = self.treeplex, self.part.start
        infosets = np.unique(treeplex.sequence_infosets[self.part]).astype(np.int64)
        infosets = infosets[np.argsort(treeplex.depths[infosets], kind="stable")]
        below = np.full(treeplex.num_sequences, -1)
        inflow = treeplex.inflow.tocoo()
        below[inflow.coords[1]] = inflow.coords[0]
        earned, escaped = self._to_go(infosets, below)
        labels: dict[int, list[tuple[Floats, Floats, Whole]]] = {
            int(infosets[0]): [(np.zeros(1), np.ones((1, len(self.weights))), np.full((1, 2), -1))]
        }
        history, count, found = list[Whole](), 0, (-1, least)
        for infoset in infosets.tolist():
            check_time("a best route was sought")
            parts = labels.pop(infoset, None)
            if parts is None:
                continue
            kept = self._kept(parts, earned[infoset], escaped[infoset], found[1])
            if len(kept[0]) > _MOST or count > _MOST_IN_ALL:
                return None
            history.append(kept[2])
            for sequence in range(*treeplex.offsets[infoset : infoset + 2].tolist()):
                rewards = kept[0] + self.rewards[sequence - start]
                chances = kept[1] * self.chances[sequence - start]
                steps = np.column_stack([np.arange(count, count + len(rewards)), np.full(len(rewards), sequence)])
                if below[sequence] >= 0:
                    labels.setdefault(int(below[sequence]), []).append((rewards, chances, steps))
                elif len(rewards):
                    values = self._values(rewards, chances)
                    place = int(values.argmax())
                    if values[place] > found[1]:
                        found, end = (count + place, float(values[place])), steps[place]
            count += len(kept[0])
        if found[0] < 0:
            return np.zeros(0, dtype=np.int64), least
        steps, route = np.concatenate(history), []
        step = end
        while step[0] >= 0:
            route.append(int(step[1]))
            step = steps[step[0]]
        return np.array(route[::-1]), found[1]

    def _values(self, rewards: Floats, chances: Floats) -> Floats:
        return self.base * rewards + (self.stake * rewards + self.free) * (chances @ self.weights)

    def _to_go(self, infosets: Whole, below: Whole) -> tuple[Floats, Floats]:
        """Return the largest reward, and the survival against each joint route, still possible from each infoset."""
        treeplex, start = self.treeplex, self.part.start
        earned = np.zeros(treeplex.num_infosets)
        escaped = np.ones((treeplex.num_infosets, len(self.weights)))
        for infoset in infosets[::-1].tolist():
            owned = np.arange(*treeplex.offsets[infoset : infoset + 2].tolist())
            goes = below[owned] >= 0
            earned[infoset] = (self.rewards[owned - start] + np.where(goes, earned[below[owned]], 0.0)).max()
            further = np.where(goes[:, None], escaped[below[owned]], 1.0)
            escaped[infoset] = (self.chances[owned - start] * further).max(axis=0)
        return earned, escaped

    def _kept(
        self, parts: list[tuple[Floats, Floats, Whole]], earned: float, escaped: Floats, least: float
    ) -> tuple[Floats, Floats, Whole]:
        """Return the labels at an infoset that may lead to more and are not dominated."""
        rewards, chances, steps = (np.concatenate(each) for each in zip(*parts, strict=True))
        bounds = self._values(rewards + earned, chances * escaped)
        order = np.flatnonzero(bounds > least)
        order = order[np.lexsort((-chances[order].sum(axis=1), -bounds[order]))]
        marks = np.column_stack([rewards, chances])[order]
        kept = np.zeros((0, marks.shape[1]))
        places = list[Whole]()
        for first in range(0, len(order), _BLOCK):
            block = marks[first : first + _BLOCK]
            free = ~_dominated(block, kept)
            block, own = block[free], np.flatnonzero(free) + first
            above = np.all(block[None] >= block[:, None], axis=2)
            earlier = np.tri(len(block), k=-1, dtype=bool)
            equal = above & above.T
            chosen = ~np.any((above & ~equal) | (equal & earlier), axis=1)
            kept = np.vstack([kept, block[chosen]])
            places.append(own[chosen])
            if len(kept) > _MOST:
                break
        left = order[np.concatenate(places)] if places else order
        return rewards[left], chances[left], steps[left]


def _dominated(block: Floats, kept: Floats) -> Mask:
    """Return the rows that some kept row dominates."""
    found = np.zeros(len(block), dtype=bool)
    for first in range(0, len(kept), _BLOCK):
        found |= np.any(np.all(kept[None, first : first + _BLOCK] >= block[:, None], axis=2), axis=1)
    return found
