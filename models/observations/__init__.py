"""From counts of observed games to what they say of an opponent."""

from .events import Events, observed_events
from .hands import hand_observations
from .intervals import Intervals, clopper_pearson_intervals, proportion_intervals, wilson_intervals
from .lines import LineObservations
from .observations import Observations
from .opponent_model import OpponentModel, frequency_model
from .spots import LineFrequency, spot_frequencies

__all__ = [
    "Events",
    "Intervals",
    "LineFrequency",
    "LineObservations",
    "Observations",
    "OpponentModel",
    "clopper_pearson_intervals",
    "frequency_model",
    "hand_observations",
    "observed_events",
    "proportion_intervals",
    "spot_frequencies",
    "wilson_intervals",
]
