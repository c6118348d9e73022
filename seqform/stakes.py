"""The stakes of a game: its largest payoff, not counting penalties, which every player can avoid."""

from collections.abc import Sequence

import numpy as np

from .arrays import Floats, Integers
from .factored import Factorable, FactoredPayoff
from .payoffs import LEAST, PENALTY, Payoff, none_is_penalty
from .polytope import Treeplex, best_response_plan, best_response_value

#: The round-off of a sum of products, relative to the sum of their absolute values.
_UNIT_ROUND_OFF = 4.0 * float(np.finfo(np.float64).eps)
#: The largest number of entries up to which factored payoffs are multiplied out to find penalties.
_MOST_ENTRIES = 2**23


def find_stakes(treeplexes: Sequence[Treeplex], payoffs: Payoff) -> float:
    """Return the unit of default tolerances: the largest absolute payoff without penalties; 1 if all are zero.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
        One per player.
    payoffs : Payoff

    Returns
    -------
    float
        Payoff units, at most ``payoffs.scale``, and equal to it if non-zero payoffs are within a factor of 100.

    Notes
    -----
    Let l_i(z) ≥ 0 be player i's loss at leaf z. A careful plan of player i minimises Σ π_c(z) l_i(z) x_i(z), as if the
    others took every action at once. S_i is the largest loss that the others can inflict on this plan. In a two-player
    game it is max over y of the chance-weighted losses, by a best response. It is at most the largest loss at a leaf
    that the careful plan can reach. So no player needs to lose more than S = max S_i. The value of a zero-sum game is
    at most S in absolute value, because either player can avoid a larger loss.

    A leaf at which a player loses more than 100 S is a penalty. The stakes are the largest absolute payoff at the other
    leaves that chance can reach, and at least S. A penalty is ignored regardless of its size and of the player who pays
    it. A large payoff that nobody can avoid counts, weighted by its chance probability. If nobody needs to lose
    anything and all payoffs without losses are zero, S is the smallest non-zero absolute payoff. Payoffs below 1e-13 of
    the largest count as zero: floats cannot distinguish them from zero.

    Examples
    --------
    >>> from treeplex import SequenceForm, load_game
    >>> from treeplex.seqform.stakes import find_stakes
    >>> form = SequenceForm.from_payoff_matrix([[0, -2, 4], [2, 1, 4], [3, -1e9, -4]])
    >>> find_stakes(form.treeplexes, form.payoffs)
    4.0
    >>> form = load_game("leduc").sequence_form
    >>> find_stakes(form.treeplexes, form.payoffs)
    13.0
    """
    entries = _entries(payoffs)
    if entries is None:
        return payoffs.scale
    sequences, chance, paid, weighted = entries
    sizes = np.abs(paid)
    if none_is_penalty(sizes):
        return payoffs.scale
    largest = float(sizes.max())
    told = sizes > LEAST * largest
    smallest = float(sizes[told].min())
    losses = np.where(told, np.maximum(-paid, 0.0), 0.0)
    with np.errstate(over="ignore"):
        unavoidable = max(
            _careful_loss(treeplexes, player, sequences, chance, losses[:, player], weighted)
            for player in range(len(treeplexes))
        )
        plausible = losses.max(axis=1) <= PENALTY * unavoidable
        stakes = max(float(sizes[plausible].max(initial=0.0)), unavoidable)
        if not stakes:
            stakes = float(sizes[told & (sizes <= PENALTY * smallest)].max())
        if plausible.all():  # matrix entries are multiplied by chance, which hides penalties
            stakes = PENALTY * unavoidable if weighted and unavoidable else largest
    return min(max(stakes, LEAST * largest), payoffs.scale)


def round_off(treeplexes: Sequence[Treeplex], payoffs: Payoff, plans: Sequence[Floats]) -> float:
    """Return the possible error, from round-off in sums of penalties, of the bounds that two players' plans prove.

    Payoffs that nearly cancel in a sum leave an error of about 1e-16 of their absolute values.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
    payoffs : Payoff
    plans : sequence of ndarray of float64
        One realization plan per player.

    Returns
    -------
    float
        The amount to add to the gap, in payoff units.

    Notes
    -----
    A best response to gradients that are each worse by their own round-off proves a bound that holds in exact
    arithmetic. The result is the distance of this bound from the bound in floats, summed over the players.
    """
    found = 0.0
    for player, treeplex in enumerate(treeplexes):
        matrix = payoffs.matrix_of(player)
        matrix = matrix if player == 0 else matrix.T
        gradient, sizes = matrix @ plans[1 - player], abs(matrix) @ plans[1 - player]
        proven = best_response_value(treeplex, gradient + _UNIT_ROUND_OFF * sizes)
        found += proven - best_response_value(treeplex, gradient)
    return found


def _entries(payoffs: Payoff) -> tuple[Integers, Floats, Floats, bool] | None:
    """Return sequences, chance and payoffs of all leaves or matrix entries, and whether they come from leaves.

    ``None`` if there are too many to check.
    """
    if payoffs.leaves is not None:
        found, reached = payoffs.leaves, payoffs.leaves.chance > 0.0
        if reached.all():
            return found.sequences, found.chance, found.payoffs, False
        return found.sequences[reached], found.chance[reached], found.payoffs[reached], False
    if len(payoffs.shape) != 2:
        return None
    if payoffs.is_zero_sum:
        factored = payoffs.factored if isinstance(payoffs, Factorable) else None
        if factored is not None and not _is_small(factored):
            return None
        matrix = (payoffs.matrix_of(0) if factored is None else factored.matrix).tocoo()
        return np.stack(matrix.coords, axis=1), np.ones(matrix.nnz), np.stack([matrix.data, -matrix.data], axis=1), True
    if payoffs.is_operator:
        return None
    first, second = payoffs.matrix_of(0), payoffs.matrix_of(1)
    rows, columns = (abs(first) + abs(second)).tocoo().coords
    paid = np.stack([np.asarray(matrix[rows, columns]).ravel() for matrix in (first, second)], axis=1)
    return np.stack([rows, columns], axis=1), np.ones(len(rows)), paid, True


def _is_small(factored: FactoredPayoff) -> bool:
    """Whether factors can be multiplied out with little time and memory."""
    if factored.chained is not None:
        return False
    return int(np.diff(factored.right.indptr)[factored.left.indices].sum()) <= _MOST_ENTRIES


def _careful_loss(
    treeplexes: Sequence[Treeplex],
    player: int,
    sequences: Integers,
    chance: Floats,
    losses: Floats,
    weighted: bool,
) -> float:
    """Return S_i, the largest loss of a player with its careful plan."""
    lost, own = chance * losses, sequences[:, player]
    treeplex = treeplexes[player]
    possible: Floats = np.bincount(own, lost, treeplex.num_sequences).astype(np.float64)
    plan = best_response_plan(treeplex, -possible).plan
    lost = lost * plan[own]
    if len(treeplexes) == 2:
        other = treeplexes[1 - player]
        paid: Floats = np.bincount(sequences[:, 1 - player], lost, other.num_sequences).astype(np.float64)
        most = best_response_value(other, paid)
    else:
        most = float(lost.sum())
    return most if weighted else min(most, float(losses[plan[own] > 0.0].max(initial=0.0)))
