"""No-limit hold'em for two: the game before the flop, and subgames after it between two ranges."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
