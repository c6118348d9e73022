"""Playing games: simulation from strategies, and play logs, written and read."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
