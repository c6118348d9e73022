"""What a game's play turns on: its largest payoff apart from penalties, which every player can avoid."""

from collections.abc import Sequence

import numpy as np

from .arrays import Floats, Integers
from .factored import Factorable, FactoredPayoff
from .payoffs import LEAST, PENALTY, Payoff, none_is_penalty
from .polytope import Treeplex, best_response_plan, best_response_value

#: Of a sum of products, relative to the sum of their sizes.
_UNIT_ROUND_OFF = 4.0 * float(np.finfo(np.float64).eps)
#: Entries of payoffs in factors up to which they are multiplied out to look for penalties.
_MOST_ENTRIES = 2**23


def find_stakes(treeplexes: Sequence[Treeplex], payoffs: Payoff) -> float:
    """Return the unit of default tolerances: the largest absolute payoff apart from penalties; 1 if all are zero.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
        One a player.
    payoffs : Payoff

    Returns
    -------
    float
        Payoff units, at most ``payoffs.scale``; the same if payoffs other than zero are within a factor of 100.

    Notes
    -----
    Let l_i(z) ≥ 0 be what player i loses at leaf z. A careful plan of player i minimises Σ π_c(z) l_i(z) x_i(z), as if
    the others took every action at once. S_i is the most that the others can make it lose: in a game of two players
    max over y of the chance-weighted losses, by a best response, and at most the largest loss at a leaf that the
    careful plan can come to. So no player needs to lose more than S = max S_i, and the value of a zero-sum game is at
    most S in size: what is good for one player is bad for the other, who can avoid it.

    A leaf at which a player loses more than 100 S is a penalty. The stakes are the largest absolute payoff at the other
    leaves that chance can come to, and at least S. A penalty is left out however large it is and whomever it hits; a
    large payoff that nobody can avoid counts, with the probability that chance gives it. Where nobody needs to lose
    anything, S is the smallest absolute payoff other than zero if the payoffs without losses are all zero. Payoffs
    below 1e-13 of the largest count as zero: floats do not tell them apart.

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
        if plausible.all():  # entries of matrices have chance multiplied in, and hide penalties by it
            stakes = PENALTY * unavoidable if weighted and unavoidable else largest
    return min(max(stakes, LEAST * largest), payoffs.scale)


def round_off(treeplexes: Sequence[Treeplex], payoffs: Payoff, plans: Sequence[Floats]) -> float:
    """Return by how much round-off in sums of penalties may falsify the bounds that two players' plans prove.

    Payoffs that are added and nearly cancel leave an error of some 1e-16 of their sizes.

    Parameters
    ----------
    treeplexes : sequence of Treeplex
    payoffs : Payoff
    plans : sequence of ndarray of float64
        One realization plan a player.

    Returns
    -------
    float
        What is to be added to the gap, payoff units.

    Notes
    -----
    A best response to gradients that are all worse by their own round-off proves a bound that holds in exact
    arithmetic; how far it lies from the bound in floats is summed over the players.
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
    """Return sequences, chance and payoffs of all leaves, or of all entries of matrices, and which of both they are.

    ``None`` if they are too many to check.
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
    """Whether factors can be multiplied out in little time and memory."""
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
    """Return the most that a player loses by its careful plan, S_i."""
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
