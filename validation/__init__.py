"""Comparisons of exact and iterative solutions, the named suites, and the figures of papers."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
