"""Constant-sum payoffs: the constant, the equivalent zero-sum payoffs, and rules with a second player."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from .payoffs import LeafTable, Payoff, without_round_off
from .polytope import Treeplex
from .rationals import intended_fraction
from .rules import Rules


def constant_sum_of_matrices(treeplexes: Sequence[Treeplex], payoffs: Payoff, stakes: float) -> float | None:
    """Return the constant sum of two players' payoffs without a leaf table; ``None`` if the sum is not constant."""
    sums = payoffs.matrix_of(0) + payoffs.matrix_of(1)
    constant = constant_of(sums, treeplexes[0], treeplexes[1], 1e-9 * min(payoffs.scale, stakes))
    return None if constant is None else without_round_off(constant, payoffs.scale)


def opposed_payoffs(payoffs: Payoff) -> dict[str, Any]:
    """Return the arguments of a sequence form in which player 1's payoffs are the opposite of player 0's."""
    if payoffs.leaves is None:
        first = payoffs.matrix_of(0)
        return {"payoff_matrices": (first, -first)}
    found, paid = payoffs.leaves, payoffs.leaves.payoffs[:, 0]
    exact = found.exact_payoffs and tuple((paid[0], -paid[0]) for paid in found.exact_payoffs)
    opposed = np.stack([paid, -paid], axis=1)
    return {"leaves": LeafTable(found.sequences, found.chance, opposed, found.exact_chance, exact)}


def constant_of(matrix: Any, first: Treeplex, second: Treeplex, tolerance: float) -> float | None:
    """Return c if xᵀ M y = c for all realization plans x and y of two players; ``None`` if it is not constant.

    Parameters
    ----------
    matrix : sparse, shape (num_sequences of the first player, num_sequences of the second)
    first, second : Treeplex
    tolerance : float
        The largest absolute entry of the reduced matrix (see Notes) that counts as zero.

    Notes
    -----
    The function subtracts multiples of the constraints E x = e and F y = f until no entry is left for the first action
    of any infoset. The remaining entries are differences of payoffs between actions. All of them must be zero, except
    the entry of the two empty sequences.
    """
    reduced = _reduced(_reduced(sp.csr_array(matrix), second).T, first)
    constant = float(reduced[0, 0])
    reduced = reduced.tocoo()
    others = (reduced.coords[0] > 0) | (reduced.coords[1] > 0)
    return constant if np.abs(reduced.data[others]).max(initial=0.0) <= tolerance else None


def _reduced(matrix: Any, treeplex: Treeplex) -> Any:
    for level in reversed(treeplex.levels):
        matrix = (
            sp.csr_array(matrix)
            - sp.csr_array(matrix)[:, level.sequences[level.starts]] @ (treeplex.E[level.infosets + 1])
        )
    return matrix


def exact_constant(constant: float, leaves: LeafTable | None) -> Fraction:
    """Return a constant sum as a fraction, from the leaves' exact payoffs if they are known."""
    if leaves is not None and leaves.exact_payoffs is not None:
        paid = zip(leaves.exact_payoffs, leaves.chance.tolist(), strict=True)
        sums = {sum(payoffs) for payoffs, chance in paid if chance > 0.0}
        if len(sums) == 1:
            return Fraction(sums.pop())
    return intended_fraction(constant)


class Accompanied:
    """The rules of a one-player game with an added player 1, who has no decisions and gets the opposite payoff."""

    num_players = 2

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_rules", "size"):
            raise AttributeError(name)
        return getattr(self._rules, name)

    def payoffs(self, state: Any) -> tuple[Any, Any]:
        """Return the player's payoff and its opposite."""
        (paid,) = self._rules.payoffs(state)
        return paid, -paid
