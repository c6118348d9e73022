"""From counts of observed games to what they say of an opponent."""

from .intervals import Intervals, clopper_pearson_intervals, proportion_intervals, wilson_intervals

__all__ = [
    "Intervals",
    "clopper_pearson_intervals",
    "proportion_intervals",
    "wilson_intervals",
]
