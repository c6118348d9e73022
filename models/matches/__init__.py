"""Matches of no-limit hold'em: tables and views, bots, results, and hand histories."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
