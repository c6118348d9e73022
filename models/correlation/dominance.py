"""Columns of correlation plans that no equilibrium uses, by iterated conditional dominance."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Indices
from ...seqform.limits import seconds_left
from ...seqform.polytope import Treeplex, sequence_values
from .deviations import Deviations
from .polytope import CorrelationPolytope

#: A column is excluded if its slack exceeds this fraction of what a deviation is paid at most.
_MARGIN = 1e-7
#: The search ends after this many deviations in a row that exclude nothing.
_PATIENCE = 100


def never_recommended(polytope: CorrelationPolytope, deviations: Sequence[Deviations]) -> npt.NDArray[np.bool_]:
    r"""Find columns that are zero in every equilibrium, because a deviation never loses and sometimes gains.

    Parameters
    ----------
    polytope : CorrelationPolytope
    deviations : sequence of Deviations
        Of the players who may deviate.

    Returns
    -------
    ndarray of bool, shape (size,)
        Whether each column of the polytope is excluded. The search may miss columns: it ends at the time limit, or if
        100 deviations in a row exclude nothing.

    Notes
    -----
    Let F be a face of the polytope that contains all equilibria; at first, the whole polytope. The gain of a deviation
    y is a linear function :math:`g_y(\xi)`, and every equilibrium has :math:`g_y(\xi) \le 0`. If
    :math:`g_y(\xi) \ge 0` for all ξ in F, every equilibrium lies in the face of F on which :math:`g_y` is zero, where
    the columns with positive slack are zero. The minimum of :math:`g_y` and the slacks follow from one pass. The
    deviations tried are best replies to a point inside F, from the last triggers on.

    In a game with perfect information and no ties this is backward induction. Correlated equilibria never use
    strategies that iterated strict dominance removes: R. J. Aumann, "Correlated equilibrium as an expression of
    Bayesian rationality", Econometrica 55, 1987.

    Examples
    --------
    >>> from treeplex import EFCE, load_game
    >>> from treeplex.models.correlation import never_recommended
    >>> problem = EFCE(load_game("textbook:game=centipede"))
    >>> int((~never_recommended(problem.polytope, problem.deviations)).sum()), problem.polytope.size
    (21, 25)
    """
    excluded, failed = np.zeros(polytope.size, dtype=bool), 0
    depths = [_depths(each) for each in deviations]
    for depth in sorted({int(one) for each in depths for one in each}, reverse=True):
        changed = True
        while changed:
            changed = False
            for each, own in reversed(list(zip(deviations, depths, strict=True))):
                for excludes in _exclude(polytope, each, np.flatnonzero(own == depth), excluded):
                    changed |= excludes
                    failed = 0 if excludes else failed + 1
                    if failed >= _PATIENCE or not seconds_left():
                        return excluded
    return excluded


def _exclude(
    polytope: CorrelationPolytope, each: Deviations, triggers: Indices, excluded: npt.NDArray[np.bool_]
) -> Iterator[bool]:
    """Exclude columns at which deviations from some triggers gain; yield for each deviation whether there are any."""
    inside = polytope.to_pairs @ polytope.point(polytope.shares(np.where(excluded, 0.0, 1.0)))
    gains, replies = each.gains(inside), _replies(each.treeplex, each.gradient @ inside)
    for trigger in triggers[gains[triggers] > 0.0]:
        prices = np.zeros(each.num_triggers)
        prices[trigger] = 1.0
        lost = -each.penalty(prices, replies)
        most, slacks = polytope.slacks(lost, excluded)
        new = (slacks > _MARGIN * np.abs(lost).max()) & ~excluded & (most <= 0.0)
        excluded |= new
        yield bool(new.any())


def _replies(treeplex: Treeplex, paid: Floats) -> Floats:
    """Return best replies: 1 for the first best sequence of every infoset, and 0 for the others."""
    found = np.zeros(treeplex.num_sequences)
    found[0] = 1.0
    if treeplex.num_infosets:
        values = sequence_values(treeplex, paid)[1:]
        starts = treeplex.offsets[:-1] - 1
        best = np.repeat(np.maximum.reduceat(values, starts), treeplex.num_actions)
        places = np.where(values == best, np.arange(1, len(values) + 1), len(values) + 1)
        found[np.minimum.reduceat(places, starts)] = 1.0
    return found


def _depths(each: Deviations) -> Indices:
    """Return how many of its own infosets a player has passed at each trigger."""
    own, triggers = each.triggers.own, each.triggers
    depths = np.zeros(own.num_infosets, dtype=np.int64)
    for number, level in enumerate(own.levels):
        depths[level.infosets] = number
    found: Indices = np.where(triggers.infosets < 0, 0, depths[triggers.infosets] if len(depths) else 0)
    return found
