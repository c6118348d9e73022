"""How problems are solved: one function, methods as frozen hyper-parameters, one result type."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
