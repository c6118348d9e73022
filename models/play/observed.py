"""Results without luck where one seat recorded games, and private states of other players may remain hidden."""

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

from ...seqform.arrays import Floats
from ...seqform.errors import SolverError
from ...seqform.observer import ObserverTree
from .evidence import Evidence

#: The share of games in which the unknown players play uniformly, for the variance: it bounds that for other play.
_UNIFORM = 0.1
#: The regularisation of the linear system, the largest number of its refinements, and the largest bias in units of
#: payoffs.
_PROXIMAL, _REFINEMENTS, _BIAS = 1e-10, 50, 1e-10


def least_variance(view: ObserverTree, seen: Evidence, reach: Floats, behaviour: Floats) -> Floats:
    """Return the unbiased estimate by class of the observer's view that has the least variance for assumed play.

    Parameters
    ----------
    view : ObserverTree
    seen : Evidence
        The view of the unknown players.
    reach : ndarray of float64, shape (num_leaves,)
        The probability of chance and the known players at each leaf.
    behaviour : ndarray of float64, shape (num_sequences,)
        The assumed behaviour of the unknown players. Some games with uniform play are mixed in.

    Returns
    -------
    ndarray of float64, shape (num_classes,)
        Payoff units; NaN for classes that no game ends in.

    Raises
    ------
    SolverError
        If the estimate is biased by more than round-off.

    Notes
    -----
    Let A[s, c] be the sum of `reach` over the leaves of class c after sequence s of the unknown players. If they play
    y, the estimate f has the expectation yᵀ A f, and the payoffs r have yᵀ A r. These are equal for all realization
    plans y if A (f − r) = Fᵀ v for some v with v(root) = 0, where F y = e are the constraints on y. The program
    minimises Σ w f² subject to that, where w = Aᵀ y for the assumed y. Its solution is f = W⁻¹ Aᵀ μ, where (μ, v)
    solves a symmetric linear system.
    """
    treeplex, classes = seen.treeplex, view.leaf_classes
    shape = (treeplex.num_sequences, view.num_classes)
    every = sp.coo_array((reach, (seen.ended, classes)), shape=shape).tocsr()
    likely = every.T @ ((1.0 - _UNIFORM) * treeplex.plan(behaviour) + _UNIFORM * treeplex.uniform_plan())
    kept = np.flatnonzero(likely > 0.0)
    leaves, weights = every[:, kept], likely[kept]
    results = view.results[kept]
    flows = sp.csr_array(treeplex.E.T)[:, 1:]
    # With these scales, the entries of the system have the same order of magnitude.
    rows, columns = (np.sqrt(np.where(mass > 0.0, mass, 1.0)) for mass in seen.masses)
    leaves, flows = sp.diags_array(1.0 / rows) @ leaves, sp.diags_array(1.0 / rows) @ flows @ sp.diags_array(columns)
    wanted = leaves @ results
    normal = leaves @ sp.diags_array(1.0 / weights) @ leaves.T
    system = sp.block_array([[normal, -flows], [-flows.T, None]]).tocsc()
    count = treeplex.num_sequences
    target = np.concatenate([wanted, np.zeros(flows.shape[1])])
    shift = np.where(np.arange(len(target)) < count, _PROXIMAL, -_PROXIMAL)
    factors = sla.splu((system + sp.diags_array(shift)).tocsc())
    found, scale = np.zeros(len(target)), max(1.0, float(np.abs(results).max(initial=0.0)))
    for _ in range(_REFINEMENTS):
        missing = target - system @ found
        if np.abs(missing).sum() <= 1e-14 * scale:
            break
        found += factors.solve(missing)
    estimate = leaves.T @ found[:count] / weights
    # For any y, the bias is the product of y, whose entries are at most 1, with this difference.
    bias = float(rows @ np.abs(leaves @ (estimate - results) - flows @ found[count:]))
    if not bias <= _BIAS * scale:
        raise SolverError(f"the estimate for hidden cards may have a bias of {bias:.1e}: the linear system is singular")
    by_class: Floats = np.full(view.num_classes, np.nan)
    by_class[kept] = estimate
    return by_class
