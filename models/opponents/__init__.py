"""Models of opponents: abstract strategies, mixtures, strategies with noise, threshold automata, and portfolios."""

from .abstraction import Abstraction, leduc_buckets
from .portfolio import EXP3, UCB1, Portfolio, run_portfolio
from .threshold import Threshold, ThresholdBot, ThresholdRound
from .variations import mixture, perturbed, uniform_without

__all__ = [
    "EXP3",
    "UCB1",
    "Abstraction",
    "Portfolio",
    "Threshold",
    "ThresholdBot",
    "ThresholdRound",
    "leduc_buckets",
    "mixture",
    "perturbed",
    "run_portfolio",
    "uniform_without",
]
