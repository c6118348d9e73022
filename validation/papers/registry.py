"""The figures and tables of papers by name: those of every module of this package."""

import re
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from ...seqform.errors import UnsupportedProblemError, nearest, shown
from .experiment import Experiment

for _module in iter_modules([str(Path(__file__).parent)]):
    import_module(f"{__package__}.{_module.name}")


def _in_order(name: str) -> list[str | int]:
    """Return a key that sorts figure 15 after figure 4."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", name)]


#: The experiments by name.
EXPERIMENTS: Mapping[str, type[Experiment[Any]]] = {
    kind.name: kind for kind in sorted(Experiment.kinds, key=lambda kind: _in_order(kind.name))
}


def find_experiment(name: str) -> type[Experiment[Any]]:
    """Return an experiment by its name.

    Raises
    ------
    UnsupportedProblemError
        If there is no such experiment.

    Examples
    --------
    >>> from treeplex.validation.papers import find_experiment
    >>> find_experiment("ccfr-figure-2a").quick().width
    3
    """
    if name not in EXPERIMENTS:
        raise UnsupportedProblemError(
            f"unknown experiment {shown(name)}{nearest(name, EXPERIMENTS)}; expected one of {', '.join(EXPERIMENTS)}"
        )
    return EXPERIMENTS[name]
