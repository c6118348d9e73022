"""Models of opponents: strategies of an abstract game, mixtures of strategies, and strategies with noise."""

from .abstraction import Abstraction
from .leduc_buckets import leduc_buckets
from .mixture import mixture
from .perturbation import perturbed
from .uniform import uniform_without

__all__ = ["Abstraction", "leduc_buckets", "mixture", "perturbed", "uniform_without"]
