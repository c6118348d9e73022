"""Correlation plans: recommendations of a mediator to two players, and the gains of players who do not follow them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
