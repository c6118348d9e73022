"""Names that have moved, found at their old place for one more minor version."""

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def deprecated_names(
    module: str, moved: Mapping[str, str], otherwise: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module some of whose names have moved or are called otherwise now.

    Parameters
    ----------
    module : str
        The name of the module, ``__name__``.
    moved : mapping of str to str
        For each old name, the module and the name that it has now, ``package.module.name``.
    otherwise : callable, optional
        What finds the names that are not among those, if the module has a ``__getattr__`` of its own.

    Returns
    -------
    callable
        It warns of an old name with a ``DeprecationWarning`` that says the new one.

    Examples
    --------
    >>> import warnings
    >>> from treeplex.seqform.deprecation import deprecated_names
    >>> find = deprecated_names("treeplex", {"GameSize": "treeplex.seqform.GameSize"})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = find("GameSize")
    >>> found.__name__, str(caught[0].message)
    ('GameSize', 'treeplex.GameSize is now treeplex.seqform.GameSize; the old name goes with the next minor version')
    """

    def find(name: str) -> Any:
        if name in moved:
            place, _, new = moved[name].rpartition(".")
            warnings.warn(
                f"{module}.{name} is now {moved[name]}; the old name goes with the next minor version",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(import_module(place), new)
        if otherwise is not None:
            return otherwise(name)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return find
