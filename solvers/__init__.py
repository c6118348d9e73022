"""Solvers: the function ``solve``, methods as frozen hyper-parameters, and the type of all solutions."""

import lazy_loader

from ..seqform.deprecation import deprecated_names

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__getattr__ = deprecated_names(__name__, {"value_function": "treeplex.solvers.parametric_value"}, _find)
