"""Proof by multipliers that constraints cannot be met."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..models.constraints import Constraint
from ..seqform.arrays import Floats

#: The proven violation above which constraints count as infeasible, relative to the size of their functions.
EXCLUDED = 1e-9


def excluded(constraints: Sequence[Constraint], multipliers: Mapping[str, float], lower: float, plan: Floats) -> bool:
    """Whether a bound that multipliers prove of a player's least violation is more than round-off.

    Parameters
    ----------
    constraints : sequence of Constraint
    multipliers : mapping of str to float
        By constraint.
    lower : float
        The bound, as :meth:`FeasibilityRelaxation.certify <treeplex.models.problems.FeasibilityRelaxation.certify>`
        computes it.
    plan : ndarray of float64
        The player's, at which slopes are taken.
    """
    return bool(lower > EXCLUDED * max(proof_weights(constraints, multipliers, plan)))


def proof_weights(constraints: Sequence[Constraint], multipliers: Mapping[str, float], plan: Floats) -> list[float]:
    """Return how much of the proof each constraint makes up: its multiplier times the largest slope of its function.

    A function without slopes, such as that of 0 x ≤ −1, counts by its constant.
    """
    weights = []
    for constraint in constraints:
        multiplier = multipliers[constraint.name]
        slope, constant = constraint.minorant(plan) if multiplier else (np.zeros(1), 0.0)
        size = float(np.abs(slope).max()) or (abs(constant) if np.isfinite(constant) else 0.0)
        weights.append(multiplier * size)
    return weights
