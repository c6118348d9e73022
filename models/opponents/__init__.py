"""Models of opponents: strategies of an abstract game, mixtures of strategies, and strategies with noise."""

from .abstraction import Abstraction, leduc_buckets
from .variations import mixture, perturbed, uniform_without

__all__ = ["Abstraction", "leduc_buckets", "mixture", "perturbed", "uniform_without"]
