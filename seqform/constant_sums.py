"""Games whose payoffs sum to a constant, and games of one player: the zero-sum games that are solved for them."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .payoffs import LeafTable, without_round_off
from .rationals import intended_fraction
from .rules import Rules

if TYPE_CHECKING:
    from .game import Game
    from .polytope import Treeplex
    from .sequence_form import SequenceForm


def constant_sum_of_matrices(form: "SequenceForm") -> float | None:
    """Return what the payoffs of two players without a leaf table sum to, ``None`` if that differs."""
    sums = form.payoff_matrix(0) + form.payoff_matrix(1)
    typical = min(form.payoff_scale, form.stakes)
    constant = constant_of(sums, form.treeplexes[0], form.treeplexes[1], 1e-9 * typical)
    return None if constant is None else without_round_off(constant, form.payoff_scale)


def opposed_payoffs(form: "SequenceForm") -> dict[str, Any]:
    """Return payoffs, as a sequence form takes them, of which player 1's are the opposite of player 0's."""
    if form.leaves is None:
        first = form.payoff_matrix(0)
        return {"payoff_matrices": (first, -first)}
    found, paid = form.leaves, form.leaves.payoffs[:, 0]
    exact = found.exact_payoffs and tuple((paid[0], -paid[0]) for paid in found.exact_payoffs)
    opposed = np.stack([paid, -paid], axis=1)
    return {"leaves": LeafTable(found.sequences, found.chance, opposed, found.exact_chance, exact)}


def constant_of(matrix: Any, first: "Treeplex", second: "Treeplex", tolerance: float) -> float | None:
    """Return c if xᵀ M y = c for all realization plans x and y of two players, ``None`` if it differs.

    Parameters
    ----------
    matrix : sparse, shape (num_sequences of the first player, num_sequences of the second)
    first, second : Treeplex
    tolerance : float
        How far an entry of the reduced matrix (see Notes) may be from zero.

    Notes
    -----
    Multiples of the constraints E x = e and F y = f are subtracted until no entry is left for the first action of any
    infoset. Entries at the others then say how payoffs differ between actions, and all but that of the two empty
    sequences must vanish.
    """
    reduced = _reduced(_reduced(sp.csr_array(matrix), second).T, first)
    constant = float(reduced[0, 0])
    reduced = reduced.tocoo()
    others = (reduced.coords[0] > 0) | (reduced.coords[1] > 0)
    return constant if np.abs(reduced.data[others]).max(initial=0.0) <= tolerance else None


def _reduced(matrix: Any, treeplex: "Treeplex") -> Any:
    for level in reversed(treeplex.levels):
        matrix = (
            sp.csr_array(matrix)
            - sp.csr_array(matrix)[:, level.sequences[level.starts]] @ (treeplex.E[level.infosets + 1])
        )
    return matrix


def exact_constant_of(game: "Game") -> Fraction:
    """Return the constant of a game as a fraction: that of the payoffs in fractions, where the game has rules."""
    if game.constant and game.rules is not None:
        leaves = game.exact_sequence_form.leaves
        if leaves is not None and leaves.exact_payoffs is not None:
            paid = zip(leaves.exact_payoffs, leaves.chance.tolist(), strict=True)
            sums = {sum(payoffs) for payoffs, chance in paid if chance > 0.0}
            if len(sums) == 1:
                return Fraction(sums.pop())
    return intended_fraction(game.constant)


class Accompanied:
    """The rules of a game of one player, with a player 1 who never decides anything and is paid the opposite."""

    num_players = 2

    def __init__(self, rules: Rules) -> None:
        self._rules = rules

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("_rules", "size"):
            raise AttributeError(name)
        return getattr(self._rules, name)

    def payoffs(self, state: Any) -> tuple[Any, Any]:
        """Return what the player is paid, and the opposite."""
        (paid,) = self._rules.payoffs(state)
        return paid, -paid
