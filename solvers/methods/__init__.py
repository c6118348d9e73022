"""The methods by name: frozen hyper-parameters, and the problems that each serves."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
