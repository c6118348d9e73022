"""Review of play: what decisions in recorded hands cost, compared with a solved game."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
