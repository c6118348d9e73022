"""Problems on games, as data; each provides its canonical program."""

import lazy_loader

from ...seqform.deprecation import deprecated_names

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__getattr__ = deprecated_names(
    __name__,
    {
        "CaughtOnce": "treeplex.models.games.patrol.CaughtOnce",
        "Answer": "treeplex.models.saddle.Answer",
        "LeastViolation": "treeplex.models.problems.FeasibilityRelaxation",
        "StyledNash": "treeplex.models.problems.EpsilonSafeStyle",
    },
    _find,
)
