"""Models of opponents: strategies of an abstract game, mixtures, strategies with noise, and threshold automata."""

from .abstraction import Abstraction, leduc_buckets
from .threshold import Threshold, ThresholdBot, ThresholdRound
from .variations import mixture, perturbed, uniform_without

__all__ = [
    "Abstraction",
    "Threshold",
    "ThresholdBot",
    "ThresholdRound",
    "leduc_buckets",
    "mixture",
    "perturbed",
    "uniform_without",
]
