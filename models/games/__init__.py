"""Games by name: rules with parameters, and one registry."""

import lazy_loader

from ...seqform.deprecation import deprecated_names

_find, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__getattr__ = deprecated_names(__name__, {"Parameter": "treeplex.seqform.parameters.Parameter"}, _find)
