"""The figures and tables of papers by name."""

from collections.abc import Mapping
from typing import Any

from ...seqform.errors import UnsupportedProblemError, nearest, shown
from .ccfr_figure_2a import CCFRFigure2a
from .ccfr_figure_2b import CCFRFigure2b
from .ccfr_figure_2c import CCFRFigure2c
from .ccfr_figure_3 import CCFRFigure3
from .cdrnr_figure_4 import CDRNRFigure4
from .cdrnr_figure_5 import CDRNRFigure5
from .cdrnr_figure_6 import CDRNRFigure6
from .cdrnr_figure_15 import CDRNRFigure15
from .cdrnr_table_1 import CDRNRTable1
from .experiment import Experiment
from .preference_efficiency import PrefCFREfficiency
from .preference_figure_1 import PrefCFRFigure1
from .preference_figure_2 import PrefCFRFigure2
from .preference_figure_3 import PrefCFRFigure3
from .preference_figure_4 import PrefCFRFigure4

#: The experiments by name.
EXPERIMENTS: Mapping[str, type[Experiment[Any]]] = {
    kind.name: kind
    for kind in (
        CCFRFigure2a,
        CCFRFigure2b,
        CCFRFigure2c,
        CCFRFigure3,
        CDRNRTable1,
        CDRNRFigure4,
        CDRNRFigure5,
        CDRNRFigure6,
        CDRNRFigure15,
        PrefCFRFigure1,
        PrefCFRFigure2,
        PrefCFRFigure3,
        PrefCFRFigure4,
        PrefCFREfficiency,
    )
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
