"""Depth-limited responses step by step: what each step decides, and the program that it solves."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
