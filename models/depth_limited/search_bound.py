"""A bound on the loss of safe exploitation search, from the distance of the model's reach to an equilibrium's."""

from dataclasses import dataclass

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.polytope import sequence_values
from ..saddle import PlayerView
from .gadgets import TrunkSolution
from .subgame_roots import SubgameRoots


@dataclass(frozen=True)
class SearchBound:
    """A bound on the exploitability of safe exploitation search.

    Attributes
    ----------
    distance : float
        η, the largest value over subgames of the distance between the model's and the equilibrium's reach of the ways
        in; infinite if the model takes a way in that the equilibrium does not.
    largest_p : float
        1 / (1 + η): the bound is finite only for smaller p.
    exploitability : float
        The bound in payoff units; infinite from ``largest_p`` on.
    """

    distance: float
    largest_p: float
    exploitability: float


def search_bound(
    view: PlayerView, roots: SubgameRoots, model: Floats, p: float, found: TrunkSolution, gap: float, value: float
) -> SearchBound:
    """Return an upper bound on the exploitability of the answer of :func:`search_program`.

    Parameters
    ----------
    view : PlayerView
    roots : SubgameRoots
    model : ndarray of float64
        The model's realization plan.
    p : float
        Confidence in the model's reach.
    found : TrunkSolution
        The equilibrium that is kept above the subgames.
    gap : float
        How far the answer may be from the optimum, in payoff units.
    value : float
        The value of the game to the player.

    Notes
    -----
    In a subgame let r̂ and r be the shares of its ways in by the model and by the equilibrium's opponent, ρ the
    smallest and ϱ the largest of r̂ / r, and m the margins of the answer, the smallest of which is −d < 0. Because both
    players are in equilibrium, r · m ≤ 0. Some margin is positive, otherwise r̂ · m would be negative. Therefore r ·
    max(−m, 0) ≤ (1 − min r) d and r̂ · m ≤ η d with η = (ϱ − ρ) (1 − min r). Margins of 0 are feasible, so the optimum
    has p r̂ · m ≥ (1 − p) d. Together d (1 − p (1 + η)) ≤ 0. So there is no d > 0 as long as p < 1 / (1 + η), and
    beyond this nothing is proven. A gap, and an equilibrium off by ε, add (gap + p ϱ ε / R) / (1 − p (1 + η)), where R
    is the weight with which the equilibrium's opponent comes. The opponent loses at most the sum of these over a plan
    of the opponent.

    For a blueprint whose values are off by up to Δ the same lines give d ≤ 2 Δ (1 − p) / (1 − p (1 + η)): the margin of
    max-margin with p = 0, and infinite at p = 1/2 with η = 1. This agrees with appendix H of D. Milec, O. Kubíček, V.
    Lisý, 2021 (arXiv:2112.12594) on the bound of M. Liu and others, NeurIPS 2022.

    Examples
    --------
    A model with the equilibrium's reach of subgames is safe for every p below 1; another model is safe for none:

    >>> from treeplex import SES, Nash, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> equilibrium = solve(Nash(game)).profile[1]
    >>> for model in (equilibrium, Strategy.uniform(game, 1)):
    ...     found = solve(SES(game, model, p=0.1, level=2))
    ...     print(found.problem.bound(found.dual_certificate).largest_p)
    1.0
    0.0
    """
    reach, kept = model[roots.way_sequences], found.free[roots.way_sequences]
    comes = roots.masses(view.game, found.plan[roots.own_sequences]) > 0.0
    error = max(0.0, float(view.best_case(found.free) - view.worst_case(found.plan)))
    losses, distance = np.zeros(roots.num_ways), 0.0
    for number in range(roots.num_subgames):
        ways = np.flatnonzero((roots.way_subgames == number) & comes)
        weights, others = reach[ways], kept[ways]
        sums = [float(each[roots.way_subgames == number].sum()) for each in (reach, kept)]
        far, most = 0.0, 0.0
        if (weights > 0.0).any():
            taken = others > 0.0
            if (weights[~taken] > 0.0).any():
                far = np.inf
            else:
                shares = others[taken] / sums[1]
                ratios = weights[taken] / sums[0] / shares
                most = float(ratios.max())
                far = float((most - ratios.min()) * (1.0 - shares[ratios > 0.0].min()))
        distance = max(distance, far)
        left = 1.0 - p * (1.0 + far) if p > 0.0 else 1.0
        owed = gap + (p * most * error / sums[1] if most else 0.0)
        losses[ways] = owed / left if left > 0.0 else np.inf
    if not np.isfinite(losses).all():
        return SearchBound(distance, 1.0 / (1.0 + distance), np.inf)
    collected = np.zeros(view.other.num_sequences)
    np.add.at(collected, roots.way_sequences, losses)
    lost = max(0.0, float(value - view.worst_case(found.plan)))
    return SearchBound(distance, 1.0 / (1.0 + distance), lost + float(sequence_values(view.other, collected)[0]))
