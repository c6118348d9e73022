"""Patrols on any map: bodies that walk on a graph, meet, and come to goals or back to their bases."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
