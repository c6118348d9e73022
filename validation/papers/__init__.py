"""Figures and tables of papers: data, a picture, and the paper's numbers compared with ours."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
