"""The canonical saddle program, its translations to linear and conic programs, and its certificate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
