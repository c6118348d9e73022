"""Constraints on players' realization plans: linear ones, convex ones, and builders of the usual ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
