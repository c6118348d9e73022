"""Rounded equilibria on large public trees: all nodes of a board are rounded at once, while the tree is walked."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ...models.problems.simple import ROUND_OFF, Complexity
from ...seqform.arrays import Floats, Indices
from ...seqform.limits import counted_now
from ...seqform.public_form import PublicForm
from ...seqform.public_profile import PublicProfile
from ...seqform.rules import CHANCE
from ..node_limits import rounded

#: The ways: to the nearest point, or dithered with several offsets.
OFFSETS = (None, 0.0, 0.5, 0.25, 0.75)
#: Thresholds that are multiples of this number, modulo 1, are spread evenly.
_GOLDEN = (5**0.5 - 1) / 2


class RoundedProfile(PublicProfile):
    """A profile in which one player's behaviour is rounded to a grid when it is read.

    Parameters
    ----------
    equilibrium : PublicProfile
    player : int
    steps : int
    offset : float, optional
        Without it, each state is rounded to its nearest point of the grid. With it, states are dithered: state s rounds
        up what exceeds a threshold that runs evenly through [0, 1) with s, so that the frequencies of actions over all
        states hardly change.
    """

    def __init__(self, equilibrium: PublicProfile, player: int, steps: int, offset: float | None) -> None:
        super().__init__(equilibrium.form, self._one)
        self._equilibrium, self._player, self.steps = equilibrium, player, steps
        states = len(self.form.states[player])
        self._thresholds = None if offset is None else (offset + _GOLDEN * np.arange(1, states + 1)) % 1.0
        self._pending: dict[int, tuple[Indices, Floats]] = {}
        self._counted = [0, 0]
        self._row = np.zeros(len(self.form.players), dtype=np.int64)

    def _one(self, node: int) -> Floats:
        found: Floats = self.behaviours(np.array([node]))[0]
        return found

    def behaviours(self, nodes: Indices) -> Floats:
        """Return the behaviour at public states of one mover and number of actions, shape (k, actions, states)."""
        found = self._equilibrium.behaviours(nodes)
        count = found.shape[1]
        if self.form.players[nodes[0]] != self._player or count < 2:
            return found
        if self._thresholds is None:
            flat = rounded(found.transpose(1, 0, 2).reshape(count, -1), self.steps)
            found = np.ascontiguousarray(flat.reshape(count, len(nodes), -1).transpose(1, 0, 2))
        else:
            upto = np.cumsum(found, axis=1) * self.steps
            upto[:, -1] = self.steps
            found = np.diff(np.floor(upto + self._thresholds * (1.0 - 1e-9) + 1e-9), axis=1, prepend=0.0) / self.steps
        self._pending[int(nodes[0])] = nodes, found
        return found

    @cached_property
    def evaluated(self) -> tuple[tuple[float, float], float, Complexity]:
        """The payoffs of both players' best responses, the player's payoff, and the complexity of its strategy."""
        values = self.walk(see=self._count)
        weights = self.form.weights
        first, second = (float(weights[player] @ values[player][1]) for player in (0, 1))
        paid = float(weights[self._player] @ values[self._player][0])
        infosets, mixed = self._counted
        return (first, second), paid, Complexity(infosets, mixed, 0.0, 0)

    def _count(self, nodes: Indices, reaches: Sequence[Floats], values: Sequence[Floats]) -> None:
        """Count the infosets on a board that the strategy reaches, and those at which it mixes."""
        inside = set(nodes.tolist())
        self._row[nodes] = np.arange(len(nodes))
        for first in [node for node in self._pending if node in inside]:
            group, played = self._pending.pop(first)
            present = self.form.present[self.form.boards[first]][self._player]
            reached = reaches[self._player][self._row[group]][:, present] > ROUND_OFF
            self._counted[0] += int(reached.sum())
            self._counted[1] += int((reached & (played.max(axis=1)[:, present] < 1.0 - ROUND_OFF)).sum())


def walk_seconds(form: PublicForm) -> float:
    """Estimate the time of a walk over a large tree, from a walk after one card."""
    dealt = np.flatnonzero(form.players == CHANCE)
    if len(dealt) == 0:
        return 0.0
    node = int(form.children[int(dealt[0])][0])
    PublicProfile.uniform(form).walk(node)  # the first walk also computes the payoffs of the boards
    begun = counted_now()
    PublicProfile.uniform(form).walk(node)
    return (counted_now() - begun) * len(form.players) / len(form.below(node))
