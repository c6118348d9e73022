"""Best responses on one treeplex: what maximises a linear payoff, bottom-up, without a game."""

from dataclasses import dataclass

import numpy as np

from .arrays import Floats
from .polytope import Treeplex


@dataclass(frozen=True, eq=False)
class BestResponse:
    """A plan that maximises a linear payoff over a treeplex.

    Attributes
    ----------
    value : float
        The maximum, in payoff units.
    plan : ndarray of float64, shape (num_sequences,)
        A pure realization plan that attains it; of equally good actions the first.
    behaviour : ndarray of float64, shape (num_sequences,)
        The action taken at each infoset, also where the plan does not go: it is the best there too.
    """

    value: float
    plan: Floats
    behaviour: Floats


def best_response_value(treeplex: Treeplex, gradient: Floats) -> float:
    """Return max {g · x : x in the treeplex}, in payoff units; see :func:`best_response_plan`."""
    return float(sequence_values(treeplex, gradient)[0])


def best_response_plan(treeplex: Treeplex, gradient: Floats) -> BestResponse:
    """Maximise a linear payoff over a treeplex.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)
        Payoff per unit of each sequence, chance and the other players multiplied in.

    Returns
    -------
    BestResponse

    Notes
    -----
    Bottom-up, v(s) = g(s) + Σ_I w(I, s) max_a v(I, a) over the infosets that s leads to, with w = 1 in a tree; the
    value is v(∅). Von Stengel 1996, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.best_responses import best_response_plan
    >>> from treeplex.seqform.polytope import Treeplex
    >>> best_response_plan(Treeplex([0], [2]), np.array([1.0, 0.0, 2.0]))
    BestResponse(value=3.0, plan=array([1., 0., 1.]), behaviour=array([1., 0., 1.]))
    """
    values = sequence_values(treeplex, gradient)
    behaviour = np.zeros(treeplex.num_sequences)
    for level in treeplex.levels:
        own = values[level.sequences]
        at_best = np.flatnonzero(own == np.repeat(np.maximum.reduceat(own, level.starts), level.counts))
        firsts = at_best[np.searchsorted(at_best, level.starts)]
        behaviour[level.sequences[firsts]] = 1.0
    behaviour[0] = 1.0
    return BestResponse(float(values[0]), treeplex.plan(behaviour), behaviour)


def sequence_values(treeplex: Treeplex, gradient: Floats) -> Floats:
    """Return what each sequence is worth: what it pays, and the most that the infosets below it can.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)
        Payoff per unit of each sequence, chance and the other players multiplied in.

    Returns
    -------
    ndarray of float64, shape (num_sequences,)
        Entry 0 is the value of a best response; see :func:`best_response_plan`.
    """
    values = treeplex.checked_vector(gradient, "gradient")
    for level in reversed(treeplex.levels):
        best = np.maximum.reduceat(values[level.sequences], level.starts)
        level.pass_up(best, values)
    return values


def infoset_values(treeplex: Treeplex, gradient: Floats) -> Floats:
    """Return the counterfactual best-response value of each infoset: the largest of its sequences' values.

    Parameters
    ----------
    treeplex : Treeplex
    gradient : ndarray of float64, shape (num_sequences,)

    Returns
    -------
    ndarray of float64, shape (num_infosets,)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.best_responses import infoset_values
    >>> from treeplex.seqform.polytope import Treeplex
    >>> infoset_values(Treeplex([0, 1], [2, 2]), np.array([0.0, 1.0, 2.0, 3.0, 0.0]))
    array([4., 3.])
    """
    return infoset_maxima(treeplex, sequence_values(treeplex, gradient))


def infoset_maxima(treeplex: Treeplex, values: Floats) -> Floats:
    """Return the largest number of each infoset's sequences.

    Parameters
    ----------
    treeplex : Treeplex
    values : ndarray of float64, shape (num_sequences,)

    Returns
    -------
    ndarray of float64, shape (num_infosets,)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.seqform.best_responses import infoset_maxima
    >>> from treeplex.seqform.polytope import Treeplex
    >>> infoset_maxima(Treeplex([0, 1], [2, 2]), np.array([9.0, 1.0, 2.0, 3.0, 0.0]))
    array([2., 3.])
    """
    return np.maximum.reduceat(values, treeplex.offsets[:-1]) if treeplex.num_infosets else values[1:]
