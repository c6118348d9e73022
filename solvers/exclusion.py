"""Proof by multipliers that constraints cannot be met."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..models.constraints import Constraint
from ..models.constraints.constraint import weighted_minorant
from ..models.problems import FeasibilityRelaxation
from ..models.saddle import PlayerView
from ..seqform.arrays import Floats
from ..seqform.game import Game
from .outcome import nearest_profile

#: The proven violation above which constraints count as infeasible, relative to the size of their functions.
EXCLUDED = 1e-9


def excluded(constraints: Sequence[Constraint], multipliers: Mapping[str, float], lower: float, plan: Floats) -> bool:
    """Whether the bound that multipliers prove on a player's least violation is more than round-off.

    Parameters
    ----------
    constraints : sequence of Constraint
    multipliers : mapping of str to float
        By constraint.
    lower : float
        The bound, as :meth:`FeasibilityRelaxation.certify <treeplex.models.problems.FeasibilityRelaxation.certify>`
        computes it.
    plan : ndarray of float64
        The player's plan at which slopes are computed.
    """
    return bool(lower > EXCLUDED * max(proof_weights(constraints, multipliers, plan)))


def proof_weights(constraints: Sequence[Constraint], multipliers: Mapping[str, float], plan: Floats) -> list[float]:
    """Return the weight of each constraint in the proof: its multiplier times the largest slope of its function.

    For a function without slopes, such as that of 0 x ≤ −1, the constant replaces the slope.
    """
    weights = []
    for constraint in constraints:
        multiplier = multipliers[constraint.name]
        slope, constant = constraint.minorant(plan) if multiplier else (np.zeros(1), 0.0)
        size = float(np.abs(slope).max()) or (abs(constant) if np.isfinite(constant) else 0.0)
        weights.append(multiplier * size)
    return weights


def exclude_each_other(
    game: Game,
    constraints: Sequence[Constraint],
    plans: Sequence[Floats],
    multipliers: Mapping[str, float],
    evidence: Mapping[str, Floats],
) -> bool:
    """Whether the proportions of a player's multipliers prove that its constraints cannot be met together.

    Parameters
    ----------
    game : Game
    constraints : sequence of Constraint
        The constraints of both players.
    plans : sequence of ndarray of float64
    multipliers : mapping of str to float
        By constraint.
    evidence : mapping of str to ndarray
        Subgradients by constraint.
    """
    for player in range(2):
        own = [one for one in constraints if one.player == player]
        most = max((multipliers[constraint.name] for constraint in own), default=0.0)
        if not most > 0.0 or all(constraint.value(plans[player]) <= 0.0 for constraint in own):
            continue  # a plan meets all of them
        shares = {constraint.name: multipliers[constraint.name] / most for constraint in own}
        slopes, offset = weighted_minorant(own, list(shares.values()), plans[player], evidence)
        if PlayerView(game, player).most(-slopes) >= offset:
            continue  # a plan exists that these proportions do not exclude
        profile = nearest_profile(game, plans)
        lower = FeasibilityRelaxation(game, player, own).certify(profile, shares, evidence).lower
        if lower is not None and excluded(own, shares, lower, profile[player].plan):
            return True
    return False
