"""A game of several players in public form."""

from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import InvalidGameError
from .fingerprint import digest_of
from .joint_payoff import JointLeaves, JointPayoff
from .public_form import PublicForm


class JointForm(PublicForm):
    """A game of any number of players whose private information is all there at the root.

    As a :class:`~treeplex.seqform.public_form.PublicForm`, with payoffs that are multilinear forms in the reaches of
    all players: a number for all private states that may be dealt together, which is why the players and their states
    have to be few.

    Parameters
    ----------
    players, parents, actions
        The public tree, as :class:`~treeplex.seqform.public_form.PublicForm` takes it.
    states : sequence of sequences of hashable
        Each player's private states.
    leaves : sequence of JointLeaves
        What leaves of the tree pay; leaves in several of them are paid the sum.
    deal : ndarray of float, shape (states of player 0, states of player 1, …)
        The probability of each deal.
    scale : float
        The largest absolute payoff at a leaf, probabilities not multiplied in.

    Examples
    --------
    Three players who guess a coin each; whoever stays alone takes one from each of the others.

    >>> from treeplex import Game, Profile, TERMINAL, expected_payoffs
    >>> from treeplex.seqform.joint_form import JointForm
    >>> from treeplex.seqform.joint_payoff import JointLeaves
    >>> alone = [
    ...     next((i for i in range(3) if [a, b, c].count([a, b, c][i]) == 1), None)
    ...     for a in (0, 1)
    ...     for b in (0, 1)
    ...     for c in (0, 1)
    ... ]
    >>> amounts = np.array([[0.0 if who is None else 2.0 if who == i else -1.0 for who in alone] for i in range(3)])
    >>> leaves = JointLeaves(np.arange(7, 15), amounts, np.ones((1, 1, 1)))
    >>> players = [0, 1, 1, 2, 2, 2, 2] + [TERMINAL] * 8
    >>> parents = [-1, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]
    >>> form = JointForm(players, parents, ["", *"HTHTHTHTHTHTHT"], [["-"]] * 3, [leaves], np.ones((1, 1, 1)), 2.0)
    >>> game = Game("three guesses", sequence_form=form.sequence_form())
    >>> game.num_players, expected_payoffs(game, Profile.uniform(game)).tolist()
    (3, [0.0, 0.0, 0.0])
    """

    def __init__(
        self,
        players: npt.ArrayLike,
        parents: npt.ArrayLike,
        actions: Sequence[Hashable],
        states: Sequence[Sequence[Hashable]],
        leaves: Sequence[JointLeaves],
        deal: npt.NDArray[Any],
        scale: float,
    ) -> None:
        super().__init__(players, parents, actions, states, (), scale=scale)
        self.joint_leaves, self.deal = tuple(leaves), deal
        shape = tuple(map(len, self.states))
        for name, tensor in [("the deal", deal), *(("the payoff of leaves", one.payoff) for one in self.joint_leaves)]:
            if tensor.shape != shape:
                raise InvalidGameError(f"{name} has shape {tensor.shape}, expected {shape}: one axis a player")
        for one in self.joint_leaves:
            if one.amounts.shape != (len(shape), len(one.nodes)):
                expected = (len(shape), len(one.nodes))
                raise InvalidGameError(f"amounts of leaves have shape {one.amounts.shape}, expected {expected}")

    @cached_property
    def is_zero_sum(self) -> bool:
        """Whether the players' payoffs sum to zero at all leaves."""
        sums: dict[int, Any] = {}
        for one in self.joint_leaves:
            for node, amount in zip(one.nodes.tolist(), one.amounts.sum(axis=0).tolist(), strict=True):
                if abs(amount) > 1e-9 * self.payoff_scale:
                    sums[node] = sums.get(node, 0.0) + amount * one.payoff.astype(np.float64)
        return all(np.abs(paid).max() <= 1e-9 * self.payoff_scale for paid in sums.values())

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that tell games apart, as those of a sequence form do."""
        parts: list[Any] = [self.players, self.parents, self.actions, self.states, self._scale, self.deal]
        for one in self.joint_leaves:
            parts += [one.nodes, one.amounts, one.payoff]
        return digest_of(parts)

    @property
    def _payoff(self) -> JointPayoff:
        return JointPayoff(self)
