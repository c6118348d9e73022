"""Depth-limited responses step by step: the decisions of each step, and its program."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
