"""Patrols on any map: units and attackers move on a graph, meet, and reach goals or return to their bases."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
