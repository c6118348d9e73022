"""Names that have moved, available at their old place for one more minor version."""

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from .standard_error import warn


def deprecated_names(
    module: str, moved: Mapping[str, str], otherwise: Callable[[str], Any] | None = None
) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for a module that has moved or renamed some of its names.

    Parameters
    ----------
    module : str
        The name of the module, ``__name__``.
    moved : mapping of str to str
        For each old name, the current module and name, ``package.module.name``.
    otherwise : callable, optional
        Looks up all other names, if the module has a ``__getattr__`` of its own.

    Returns
    -------
    callable
        Warns about an old name with a ``DeprecationWarning`` that gives the new one.

    Examples
    --------
    >>> import warnings
    >>> from treeplex.seqform.deprecation import deprecated_names
    >>> find = deprecated_names("treeplex", {"GameSize": "treeplex.seqform.GameSize"})
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     found = find("GameSize")
    >>> found.__name__, str(caught[0].message)
    ('GameSize', 'treeplex.GameSize is now treeplex.seqform.GameSize; the next minor version removes the old name')
    """

    def find(name: str) -> Any:
        if name in moved:
            place, _, new = moved[name].rpartition(".")
            warn(
                f"{module}.{name} is now {moved[name]}; the next minor version removes the old name",
                DeprecationWarning,
                stacklevel=2,
            )
            return getattr(import_module(place), new)
        if otherwise is not None:
            try:
                return otherwise(name)
            except AttributeError:
                if name.startswith("_"):
                    raise
        raise AttributeError(f"module {module!r} has no attribute {name!r}{_whereabouts(module, name)}")

    return find


def _whereabouts(module: str, name: str) -> str:
    """Return a hint: the subpackage of a module that defines a name, or else the most similar names."""
    from .errors import nearest  # imported late, so that importing the top module stays fast

    here = Path(str(sys.modules[module].__file__)).parent
    for file in sorted(here.glob("*/__init__.py*")) + sorted(here.glob("*/*/__init__.py*")):
        if re.search(rf'"{re.escape(name)}"| as {re.escape(name)}$', file.read_text(encoding="utf-8"), re.MULTILINE):
            return f": it is in {'.'.join((module, *file.parent.relative_to(here).parts))}"
    return nearest(name, getattr(sys.modules[module], "__all__", ()))
