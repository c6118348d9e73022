"""Figures and tables of papers: data, a picture, and the paper's numbers beside ours.

Every module of this package is imported, so that an experiment is known by its name once its file is here.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from ...seqform.errors import UnsupportedProblemError, nearest, shown
from ..table import Row
from .ccfr_figure_2a import CCFRFigure2a, FrontierRow
from .ccfr_figure_2bc import CCFRFigure2b, CCFRFigure2c, ConvergenceRow, TimeRow
from .ccfr_figure_3 import CCFRFigure3, CounterProfileRow
from .cdrnr_figure_4 import CDRNRFigure4, RecoveryRow
from .cdrnr_figure_15 import CDRNRFigure15
from .cdrnr_responses import CDRNRFigure5, CDRNRFigure6, ResponseRow
from .cdrnr_table_1 import CDRNRTable1, GainRow
from .experiment import Claim, Experiment, Paper
from .preference_efficiency import EfficiencyRow, PrefCFREfficiency
from .preference_kuhn import BluffRow, PrefCFRFigure1, PrefCFRFigure2
from .preference_leduc import PrefCFRFigure3, PrefCFRFigure4, StyleRow
from .reproduction import Reproduction, reproduce

__all__ = [
    "EXPERIMENTS",
    "BluffRow",
    "CCFRFigure2a",
    "CCFRFigure2b",
    "CCFRFigure2c",
    "CCFRFigure3",
    "CDRNRFigure4",
    "CDRNRFigure5",
    "CDRNRFigure6",
    "CDRNRFigure15",
    "CDRNRTable1",
    "Claim",
    "ConvergenceRow",
    "CounterProfileRow",
    "EfficiencyRow",
    "Experiment",
    "FrontierRow",
    "GainRow",
    "Paper",
    "PrefCFREfficiency",
    "PrefCFRFigure1",
    "PrefCFRFigure2",
    "PrefCFRFigure3",
    "PrefCFRFigure4",
    "RecoveryRow",
    "Reproduction",
    "ResponseRow",
    "Row",
    "StyleRow",
    "TimeRow",
    "find_experiment",
    "reproduce",
]

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


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
