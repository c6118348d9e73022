"""Matches of no-limit hold'em: what a seat sees, what a bot is and earns from others, and hands that were played."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
