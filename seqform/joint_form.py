"""A game of several players in public form, and its payoffs as an operator on realization plans."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .arrays import Floats, Indices
from .errors import InvalidGameError
from .fingerprint import digest_of
from .payoffs import Payoff
from .public_form import PublicForm

#: The largest number of entries of an array in memory.
_HELD = 2**23


@dataclass(frozen=True, eq=False)
class JointLeaves:
    """Leaves of a public tree that differ only in the stakes: at leaf z, player i is paid amounts[i, z] · U.

    Parameters
    ----------
    nodes : ndarray of int, shape (k,)
        The leaves, as nodes of the public tree.
    amounts : ndarray of float64, shape (players, k)
    payoff : ndarray of float, shape (states of player 0, states of player 1, …)
        U, one number per combination of states that may be dealt together; it includes the probability of the deal.

    Examples
    --------
    >>> from treeplex.seqform.joint_form import JointLeaves
    >>> leaves = JointLeaves(np.array([1]), np.array([[2.0], [-1.0], [-1.0]]), np.full((2, 2, 2), 0.125))
    >>> leaves.gradient(0, [np.ones((1, 2)), np.array([[1.0, 0.5]]), np.ones((1, 2))])
    array([[0.75, 0.75]])
    """

    nodes: Indices
    amounts: Floats
    payoff: npt.NDArray[Any]

    def gradient(self, player: int, reaches: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return a player's payoff at each leaf and in each of its states, for the other players' reaches.

        Parameters
        ----------
        player : int
        reaches : sequence of ndarray, shape (k, number of a player's states)
            One per player; the player's own is ignored. The result has the type of the others.

        Returns
        -------
        ndarray, shape (k, number of the player's states)
        """
        paid: npt.NDArray[Any] = contracted(self.payoff, player, reaches) * self.amounts[player][:, None]
        return paid


def contracted(tensor: npt.NDArray[Any], player: int, reaches: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return Σ U[s] Π r_j(s_j) over the states of all players but one, for several reaches.

    Parameters
    ----------
    tensor : ndarray, shape (states of player 0, states of player 1, …)
        U.
    player : int
        The player whose states remain.
    reaches : sequence of ndarray, shape (k, number of a player's states)
        r_j for each player j; the player's own is ignored.

    Returns
    -------
    ndarray, shape (k, number of the player's states)
    """
    # The first sum is one matrix product, over an axis at an end; the others are short.
    axes = list(range(tensor.ndim))
    first = axes[-1] if player != axes[-1] else 0
    flat = tensor.reshape(-1, tensor.shape[-1]).T if first else tensor.reshape(len(tensor), -1)
    axes.remove(first)
    distinct, back = np.unique(reaches[first], axis=0, return_inverse=True)  # many leaves share a reach
    found: npt.NDArray[Any] = distinct @ flat.astype(distinct.dtype, copy=False)
    found = found.reshape(-1, *(tensor.shape[axis] for axis in axes))[back.ravel()]
    while len(axes) > 1:
        other = next(axis for axis in reversed(axes) if axis != player)
        rest, each = [axis for axis in axes if axis != other], tensor.ndim
        found = np.einsum(found, [each, *axes], reaches[other], [each, other], [each, *rest])
        axes = rest
    return found


class JointPayoff(Payoff):
    """The payoffs of a game of several players in public form, given plans of its sequence form.

    A player's payoff is a sum over the leaves of the public tree of multilinear forms in the players' reaches,
    u_i = Σ_z Σ_s U_z,i[s] Π_j r_j(z, s_j).

    Parameters
    ----------
    form : JointForm
    """

    def __init__(self, form: "JointForm") -> None:
        self.form = form

    def __repr__(self) -> str:
        return f"JointPayoff({self.form!r})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of sequences of each player."""
        return self.form.num_sequences

    @property
    def scale(self) -> float:
        """The largest absolute payoff at a leaf."""
        return self.form.payoff_scale

    @property
    def is_zero_sum(self) -> bool:
        """Whether payoffs sum to zero."""
        return self.form.is_zero_sum

    def gradient(self, player: int, plans: Sequence[Floats], number: Any = np.float64) -> Floats:
        """Return a player's payoff per unit of each of its sequences, for the other players' plans.

        Parameters
        ----------
        player : int
        plans : sequence of ndarray of float64
            One per player; the player's own is ignored.
        number : type
            The type of the multiplied numbers; single precision takes half the time.

        Returns
        -------
        ndarray of float64, shape (num_sequences of the player,)
        """
        form = self.form
        size = self.shape[player]
        found = np.zeros(size)
        known = [np.append(plan, 0.0).astype(number) for plan in plans]
        for group in form.joint_leaves:
            count = max(1, _HELD * group.payoff.shape[player] // group.payoff.size)
            for first in range(0, len(group.nodes), count):
                part = slice(first, first + count)
                nodes = group.nodes[part].tolist()
                places = [np.array([form.sequences(one, node) for node in nodes]) for one in range(len(plans))]
                reaches = [plan[place] for plan, place in zip(known, places, strict=True)]
                paid = JointLeaves(group.nodes[part], group.amounts[:, part], group.payoff).gradient(player, reaches)
                found += np.bincount(places[player].ravel() % (size + 1), paid.ravel(), size + 1)[:size]
        return found

    def arrival(self, player: int, nodes: Sequence[int], plans: Sequence[Floats]) -> Floats:
        """Return the probability that each of a player's states reaches public states if the player plays towards them.

        Parameters
        ----------
        player : int
        nodes : sequence of int, length k
        plans : sequence of ndarray of float64

        Returns
        -------
        ndarray of float64, shape (k, number of the player's states)
        """
        reaches = [
            np.append(plan, 0.0)[np.array([self.form.sequences(one, node) for node in nodes])]
            for one, plan in enumerate(plans)
        ]
        found: Floats = contracted(self.form.deal, player, reaches)
        return found


class JointForm(PublicForm):
    """A game of any number of players whose private information is all dealt at the root.

    Like a :class:`~treeplex.seqform.public_form.PublicForm`, with payoffs that are multilinear forms in the reaches of
    all players: an array over all combinations of private states. The players and their states must therefore be few.

    Parameters
    ----------
    players, parents, actions
        The public tree, as in :class:`~treeplex.seqform.public_form.PublicForm`.
    states : sequence of sequences of hashable
        Each player's private states.
    leaves : sequence of JointLeaves
        The payoffs of leaves; a leaf in several of them pays the sum.
    deal : ndarray of float, shape (states of player 0, states of player 1, …)
        The probability of each deal.
    scale : float
        The largest absolute payoff at a leaf, without probabilities.

    Examples
    --------
    Three players each guess heads or tails; a player alone with its guess wins one from each of the others.

    >>> from treeplex import Game, Profile, TERMINAL, expected_payoffs
    >>> from treeplex.seqform.joint_form import JointForm, JointLeaves
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
                raise InvalidGameError(f"{name} has shape {tensor.shape}, expected {shape}: one axis per player")
        for one in self.joint_leaves:
            if one.amounts.shape != (len(shape), len(one.nodes)):
                expected = (len(shape), len(one.nodes))
                raise InvalidGameError(f"the amounts of leaves have shape {one.amounts.shape}, expected {expected}")

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
        """Sixteen hexadecimal digits that identify the game, as for a sequence form."""
        parts: list[Any] = [self.players, self.parents, self.actions, self.states, self._scale, self.deal]
        for one in self.joint_leaves:
            parts += [one.nodes, one.amounts, one.payoff]
        return digest_of(parts)

    @property
    def _payoff(self) -> JointPayoff:
        return JointPayoff(self)
