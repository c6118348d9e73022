"""Games that are played: simulated from strategies, and logs of them, written and read."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
