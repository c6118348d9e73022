"""Constraints on players' realization plans: linear and convex constraints, and builders of common ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
