"""The constants that bounds on constrained CFR need, computed from a problem."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...models.constraints import LinearConstraint
from ...models.problems import ConstrainedNash
from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_value
from ...seqform.polytope import Treeplex
from ...seqform.sequence_form import SequenceForm
from .ccfr_theorems import BoundConstants

#: How many numbers a block of vectors holds that are maximised over a polytope at once.
_BLOCK = 2**21
#: Products of numbers of sequences above which payoffs are bounded by their signs alone.
_LARGEST = 10**9

_ranges: WeakKeyDictionary[SequenceForm, float] = WeakKeyDictionary()


def bound_constants(problem: ConstrainedNash, player: int | None = None) -> BoundConstants:
    """Return what bounds on constrained CFR need to know of a problem whose constraints are linear.

    Parameters
    ----------
    problem : ConstrainedNash
        Its penalty is not read.
    player : int, optional
        For bounds on one player's regret: its infosets, actions and constraints alone. By default the larger number of
        infosets and of actions, and the constraints of both.

    Returns
    -------
    BoundConstants

    Raises
    ------
    UnsupportedProblemError
        If a constraint is not linear.

    Notes
    -----
    F and G are exact: the maximum and the minimum of a linear function over a polytope take one pass each. For Δ see
    :func:`payoff_range`.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.solvers.regret.ccfr_constants import bound_constants
    >>> game = load_game("kuhn")
    >>> jack = behaviour_bound(game, 0, "J_", "b", at_least=0.3, name="jack")
    >>> bound_constants(ConstrainedNash(game, [jack]))
    BoundConstants(payoff_range=4.0, infosets=6, actions=2, constraints=1, slope=1.0, largest=0.7)
    """
    form = problem.game.sequence_form
    players = range(form.num_players) if player is None else (player,)
    treeplexes = [form.treeplexes[one] for one in players]
    ranges = [function_range(one, form.treeplexes[one.player]) for one in problem.constraints if one.player in players]
    return BoundConstants(
        payoff_range=_payoff_range_of(form),
        infosets=max(treeplex.num_infosets for treeplex in treeplexes),
        actions=max(int(treeplex.num_actions.max(initial=1)) for treeplex in treeplexes),
        constraints=len(ranges),
        slope=max((high - low for low, high in ranges), default=0.0),
        largest=max((max(abs(low), abs(high)) for low, high in ranges), default=0.0),
    )


def _payoff_range_of(form: SequenceForm) -> float:
    """Return :func:`payoff_range`, computed once."""
    if form not in _ranges:
        _ranges[form] = payoff_range(form)
    return _ranges[form]


def function_range(constraint: Any, treeplex: Treeplex) -> tuple[float, float]:
    """Return the least and the largest value of a linear constraint's function over its player's plans.

    Raises
    ------
    UnsupportedProblemError
        If the constraint is not linear.
    """
    if not isinstance(constraint, LinearConstraint):
        raise UnsupportedProblemError(f"constraint {shown(constraint.name)} is not linear: these bounds need it to be")
    coefficients, constant = constraint.minorant(np.zeros(treeplex.num_sequences))
    return (
        constant - best_response_value(treeplex, -coefficients),
        constant + best_response_value(treeplex, coefficients),
    )


def payoff_range(form: SequenceForm) -> float:
    """Return what player 0's payoffs from two pairs of plans differ by at most.

    Parameters
    ----------
    form : SequenceForm
        Two players, zero-sum.

    Returns
    -------
    float
        Payoff units. Where there are leaves, the largest payoff of one minus the smallest. Elsewhere max over x of
        Σ_s x(s) max over y of (A y)(s), minus the same with minima: it is exact for a matrix game, and at least the
        range for any other. Where payoffs are factored each factor is maximised by itself; in games of more than 10⁹
        pairs of sequences each entry of A is, which is coarse.

    Examples
    --------
    >>> from treeplex import SequenceForm
    >>> from treeplex.solvers.regret.ccfr_constants import payoff_range
    >>> payoff_range(SequenceForm.from_payoff_matrix([[3, 1], [-1, 0]]))
    4.0
    """
    if form.leaves is not None:
        payoffs = form.leaves.payoffs[:, 0]
        return float(payoffs.max() - payoffs.min())
    own, other = form.treeplexes
    if form.factored is not None:
        left, right = form.factored.left, form.factored.right
        low, high = -maxima(other, -right), maxima(other, right)
        positive, negative = left.maximum(0.0), left.minimum(0.0)
        most, least = positive @ high + negative @ low, positive @ low + negative @ high
    elif own.num_sequences * other.num_sequences <= _LARGEST:
        most, least = maxima(other, form.A), -maxima(other, -form.A)
    else:
        reach = np.append(1.0, largest_reaches(other)[other.sequence_infosets[1:]])
        most, least = form.A.maximum(0.0) @ reach, form.A.minimum(0.0) @ reach
    return best_response_value(own, most) + best_response_value(own, -least)


def largest_reaches(treeplex: Treeplex) -> Floats:
    """Return the most that comes to each infoset under any plan, shape (num_infosets,): 1 in a tree.

    In a flow polytope the payoff of a plan counts an infoset's regret so many times at most.
    """
    if treeplex.single_parent:
        return np.ones(treeplex.num_infosets)
    return maxima(treeplex, treeplex.inflow)


def maxima(treeplex: Treeplex, rows: Any) -> Floats:
    """Return the maximum over a polytope of each of many linear functions, the rows of a sparse matrix.

    Parameters
    ----------
    treeplex : Treeplex
    rows : csr_array, shape (k, num_sequences)

    Returns
    -------
    ndarray of float64, shape (k,)
    """
    found = np.zeros(rows.shape[0])
    step = max(1, _BLOCK // treeplex.num_sequences)
    for first in range(0, len(found), step):
        values = rows[first : first + step].toarray().T.copy()
        for level in reversed(treeplex.levels):
            level.pass_up(np.maximum.reduceat(values[level.sequences], level.starts, axis=0), values)
        found[first : first + step] = values[0]
    return found
