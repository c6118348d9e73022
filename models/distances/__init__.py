"""How far a plan is from a reference strategy: convex functions of the plan, and linear lower bounds on them."""

from typing import Any

from ...seqform.errors import UnsupportedProblemError, shown
from .distance import Distance
from .kl_distance import KLDistance
from .norm_distances import L1Distance, L2Distance

__all__ = ["DISTANCES", "Distance", "KLDistance", "L1Distance", "L2Distance", "check_distance"]

#: The distances by kind.
DISTANCES: dict[str, type[Distance]] = {distance.kind: distance for distance in (L1Distance, L2Distance, KLDistance)}


def check_distance(problem: str, distance: Any) -> None:
    """Refuse what is no distance.

    Raises
    ------
    UnsupportedProblemError
    """
    if not isinstance(distance, tuple(DISTANCES.values())):
        names = ", ".join(kind.__name__ for kind in DISTANCES.values())
        raise UnsupportedProblemError(f"{problem}: the distance is {shown(distance)}, expected one of {names}")
