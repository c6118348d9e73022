"""The payoffs of a game in public form as an operator on realization plans, computed leaf by leaf and never stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import Floats, Indices, frozen
from .budget import Budget
from .card_payoff import CardPayoff
from .factored import Factorable, FactoredPayoff

#: The largest number of entries of an array in memory.
_HELD = 2**22
#: The most bytes that an entry of the factors takes while they are built.
_ENTRY_BYTES = 80


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves of a public tree that differ only in the stakes: at leaf z, player i is paid amounts[i, z] · U.

    Parameters
    ----------
    nodes : ndarray of int, shape (k,)
        The leaves, as nodes of the public tree.
    amounts : ndarray of float64, shape (k,) or (2, k)
        One row per player, or a single row for player 0's payoff, whose opposite is player 1's. The amounts include the
        probabilities of public chance.
    payoff : FactoredPayoff or CardPayoff
        U, shape (states of player 0, states of player 1).

    Examples
    --------
    If the players' cards are equal, the first leaf pays 3 to player 0 and −3 to player 1, and the second leaf pays −1
    to both.

    >>> from treeplex.seqform.factored import FactoredPayoff
    >>> from treeplex.seqform.public_payoff import Leaves
    >>> leaves = Leaves(np.array([1, 2]), np.array([[3.0, -1.0], [-3.0, -1.0]]), FactoredPayoff(np.eye(2), np.eye(2)))
    >>> leaves.gradient(1, np.array([[1.0, 0.5], [1.0, 0.5]]))
    array([[-3. , -1.5],
           [-1. , -0.5]])
    >>> leaves.is_zero_sum
    False
    """

    nodes: Indices
    amounts: Floats
    payoff: FactoredPayoff | CardPayoff

    @property
    def factored(self) -> FactoredPayoff:
        """U in factors."""
        return self.payoff if isinstance(self.payoff, FactoredPayoff) else self.payoff.factored

    def part(self, leaves: slice) -> "Leaves":
        """Return some of the leaves."""
        return replace(self, nodes=self.nodes[leaves], amounts=self.amounts[..., leaves])

    @property
    def paid(self) -> Floats:
        """The amounts of both players, shape (2, k)."""
        return np.stack([self.amounts, -self.amounts]) if self.amounts.ndim == 1 else self.amounts

    @property
    def is_zero_sum(self) -> bool:
        """Whether the players' payoffs are opposite."""
        return self.amounts.ndim == 1 or bool((self.amounts[0] == -self.amounts[1]).all())

    def gradient(self, player: int, reach: Floats, paid_to: int | None = None) -> Floats:
        """Return a player's payoff at each leaf and in each of its states, given the other player's reach.

        Parameters
        ----------
        player : {0, 1}
        reach : ndarray of float64, shape (k, number of the other player's states)
        paid_to : {0, 1}, optional
            The player whose payoffs are returned, if it is not the one whose states they belong to.

        Returns
        -------
        ndarray of float64, shape (k, number of the player's states)
        """
        product = self.payoff.times if player == 0 else self.payoff.transposed_times
        gained: Floats = product(reach.T).T * self.paid[player if paid_to is None else paid_to][:, None]
        return gained


class HasLeaves(Protocol):
    """The part of a :class:`~treeplex.seqform.public_form.PublicForm` that payoffs use: leaves and their sequences."""

    leaves: tuple[Leaves, ...]
    weights: tuple[Floats, ...]

    @property
    def num_sequences(self) -> tuple[int, ...]:
        """Number of sequences of each player."""

    @property
    def payoff_scale(self) -> float:
        """The largest absolute payoff at a leaf."""

    @property
    def is_zero_sum(self) -> bool:
        """Whether the players' payoffs are opposite at all leaves."""

    def sequences(self, player: int, node: int) -> Indices:
        """Return the sequence of each of a player's states that leads to a public state; −1 if it never does."""


class PublicPayoff(Factorable):
    """The payoffs xᵀ A y and xᵀ B y of a game in public form, given plans of its sequence form; usually B = −A.

    A product with A visits the leaves. If sequences s and t lead the private states i and j to leaf z, A[s, t] contains
    w₀(i) w₁(j) U_z[i, j], where w are the weights of the states. Therefore A takes no memory. Its factors, which linear
    programs need, are built on first use.

    Parameters
    ----------
    form : PublicForm

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.public_form import PublicForm
    >>> form = PublicForm.from_rules(load_game("kuhn").rules)
    >>> payoff = form.sequence_form().payoffs
    >>> payoff.shape, round(float(payoff.times(np.full(13, 0.5)).sum()), 6)
    ((13, 13), 0.0)
    """

    def __init__(self, form: HasLeaves) -> None:
        self.form = form

    def __getstate__(self) -> dict[str, Any]:
        return {"form": self.form}

    def __repr__(self) -> str:
        return f"PublicPayoff({self.form!r})"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of sequences of player 0 and of player 1."""
        mine, theirs = self.form.num_sequences
        return mine, theirs

    @property
    def scale(self) -> float:
        """The largest absolute payoff at a leaf."""
        return self.form.payoff_scale

    @property
    def is_zero_sum(self) -> bool:
        """Whether B = −A."""
        return self.form.is_zero_sum

    def times(self, y: Floats) -> Floats:
        """Return A y, shape (num_sequences of player 0,)."""
        return self._product(0, y)

    def transposed_times(self, x: Floats) -> Floats:
        """Return −Bᵀ x, shape (num_sequences of player 1,), which is Aᵀ x if payoffs sum to zero."""
        return -self._product(1, x)

    def gradient(self, player: int, plans: Sequence[Floats]) -> Floats:
        """Return A y or Bᵀ x."""
        return self._product(player, plans[1 - player])

    def expected(self, plans: Sequence[Floats]) -> Floats:
        """Return xᵀ A y and xᵀ B y."""
        payoff = float(plans[0] @ self._product(0, plans[1]))
        return np.array([payoff, -payoff if self.is_zero_sum else float(plans[1] @ self._product(1, plans[0]))])

    def exposure(self, player: int, plan: Floats) -> Floats:
        """Return a player's payoff per unit of each of the other player's sequences, given its own plan: Aᵀ x or B y.

        Parameters
        ----------
        player : {0, 1}
        plan : ndarray of float64, shape (num_sequences of the player,)
        """
        return self._product(1 - player, plan, player)

    def _product(self, player: int, plan: Floats, paid_to: int | None = None) -> Floats:
        """Return a player's payoff per unit of each of its sequences, given the other player's plan.

        With ``paid_to``, return that player's payoff instead.
        """
        form, size = self.form, self.shape[player]
        own, other = form.weights[player], form.weights[1 - player]
        found = np.zeros(size)
        # States that no sequence leads to a leaf have index −1, which selects the entry after the last sequence.
        known = np.append(plan, 0.0)
        for group in form.leaves:
            count = max(1, _HELD // max(len(own), len(other)))
            for first in range(0, len(group.nodes), count):
                part = group.part(slice(first, first + count))
                mine, theirs = (self._places(each, part.nodes) for each in (player, 1 - player))
                paid = part.gradient(player, known[theirs] * other, paid_to) * own
                found += np.bincount(mine.ravel() % (size + 1), paid.ravel(), size + 1)[:size]
        return found

    def _places(self, player: int, nodes: Indices) -> Indices:
        """Return the sequence that leads each state to each of some nodes; −1 if there is none."""
        sequences = [self.form.sequences(player, node) for node in nodes.tolist()]
        return np.array(sequences).reshape(len(nodes), -1)

    @property
    def factored(self) -> FactoredPayoff | None:
        """A in factors, if payoffs sum to zero; see :meth:`in_factors`."""
        return self.in_factors if self.is_zero_sum else None

    @cached_property
    def in_factors(self) -> FactoredPayoff:
        """A in factors: a few non-zeros for each state at each leaf.

        Raises
        ------
        GameTooLargeError
            If they exceed the memory budget.
        """
        found = [(len(group.nodes), group.factored) for group in self.form.leaves]
        entries = sum(count * one.nnz for count, one in found)
        Budget().require(_ENTRY_BYTES * entries, "the factored payoffs of a linear program")
        return self._factors(0)

    @cached_property
    def _first(self) -> sp.csr_array:
        return self._made(0)

    @cached_property
    def _second(self) -> sp.csr_array:
        return frozen(-self._first) if self.is_zero_sum else self._made(1)

    def matrix_of(self, player: int) -> sp.csr_array:
        """Return A or B itself, with an entry for each pair of states at each leaf.

        Raises
        ------
        GameTooLargeError
            If it exceeds the memory budget.
        """
        return self._second if player else self._first

    def _made(self, player: int) -> sp.csr_array:
        mine, theirs = map(len, self.form.weights)
        entries = sum(len(group.nodes) for group in self.form.leaves) * mine * theirs
        Budget().require(24 * entries, f"player {player}'s payoffs for each pair of sequences")
        return self.in_factors.matrix if self.is_zero_sum else self._factors(player).matrix

    def _factors(self, player: int) -> FactoredPayoff:
        form = self.form
        lefts, rights, chains = zip(*self._leaf_factors(player), strict=True)
        chained = np.concatenate(chains)
        left, right = (
            sp.coo_array((values, (places, factors)), shape=(size, len(chained)))
            for size, (places, factors, values) in (
                (size, map(np.concatenate, zip(*found, strict=True)))
                for size, found in zip(self.shape, (lefts, rights), strict=True)
            )
        )
        return FactoredPayoff(left, right.T, chained if chained.any() else None, form.payoff_scale)

    def _leaf_factors(self, paid: int) -> Iterator[tuple[Any, Any, npt.NDArray[np.bool_]]]:
        """Yield a player's payoffs leaf by leaf: both players' entries, and which factors are chained.

        Entries are sequences, factors and values.
        """
        form, width = self.form, 0
        for group in form.leaves:
            payoff = group.factored
            sides = payoff.left.tocoo(), payoff.right.T.tocoo()
            links = np.zeros(payoff.num_factors, dtype=bool) if payoff.chained is None else payoff.chained
            for node, amount in zip(group.nodes.tolist(), group.paid[paid].tolist(), strict=True):
                found = []
                for player, side in enumerate(sides):
                    states, factors = side.coords
                    places = form.sequences(player, node)[states]
                    values = side.data * form.weights[player][states] * (amount if player == 0 else 1.0)
                    kept = (places >= 0) & (values != 0.0)
                    found.append((places[kept], factors[kept] + width, values[kept]))
                yield found[0], found[1], links
                width += len(links)
