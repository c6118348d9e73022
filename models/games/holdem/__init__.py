"""Heads-up no-limit hold'em: the preflop game, and postflop subgames between two ranges."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
