"""The registry of figures and tables of papers."""

from typing import Any

from ...seqform.checks import check_attribute
from ...seqform.errors import UnsupportedProblemError
from ...seqform.extensions import check_class
from ...seqform.grammar import Grammar
from ...seqform.registry import Registry
from .experiment import Experiment


def _accept(kind: Any) -> tuple[str, type[Experiment[Any]], type[Any]]:
    """Check the class of an experiment; return its name, the class to register and the class to return."""
    check_class(kind, Experiment, UnsupportedProblemError)
    check_attribute(kind, "name", str, "the name for reproduce, such as name = 'my-figure-1'", UnsupportedProblemError)
    return kind.name, kind, kind


#: The library's own experiments, in listing order.
_OWN = {
    "ccfr-figure-2a": "ccfr_transit:CCFRFigure2a",
    "ccfr-figure-2b": "ccfr_transit:CCFRFigure2b",
    "ccfr-figure-2c": "ccfr_transit:CCFRFigure2c",
    "ccfr-figure-3": "ccfr_figure_3:CCFRFigure3",
    "cdrnr-figure-4": "cdrnr_figure_4:CDRNRFigure4",
    "cdrnr-figure-5": "cdrnr_responses:CDRNRFigure5",
    "cdrnr-figure-6": "cdrnr_responses:CDRNRFigure6",
    "cdrnr-figure-9": "cdrnr_figure_9:CDRNRFigure9",
    "cdrnr-figure-15": "cdrnr_responses:CDRNRFigure15",
    "cdrnr-safety": "cdrnr_safety:CDRNRSafety",
    "cdrnr-table-1": "cdrnr_table_1:CDRNRTable1",
    "cdrnr-table-2": "cdrnr_table_2:CDRNRTable2",
    "nlhe-bot-exploited": "nlhe_bot_exploited:NLHEBotExploited",
    "nlhe-bot-samples": "nlhe_bot_samples:NLHEBotSamples",
    "nlhe-bot-tuning": "nlhe_bot_tuning:NLHEBotTuning",
    "pref-cfr-efficiency": "preference_leduc:PrefCFREfficiency",
    "pref-cfr-figure-1": "preference_kuhn:PrefCFRFigure1",
    "pref-cfr-figure-2": "preference_kuhn:PrefCFRFigure2",
    "pref-cfr-figure-3": "preference_leduc:PrefCFRFigure3",
    "pref-cfr-figure-4": "preference_leduc:PrefCFRFigure4",
    "pref-cfr-figure-5": "preflop_styles:PrefCFRFigure5",
    "pref-cfr-table-2": "preflop_styles:PrefCFRTable2",
    "pref-cfr-table-3": "three_handed_styles:PrefCFRTable3",
}
#: Every experiment by name; other packages add experiments by entry points of the group ``treeplex.experiments``.
EXPERIMENTS: Registry[type[Experiment[Any]]] = Registry(
    Grammar("experiment", UnsupportedProblemError, UnsupportedProblemError),
    "treeplex.experiments",
    _accept,
    _OWN,
    __package__,
)


def find_experiment(name: str) -> type[Experiment[Any]]:
    """Return an experiment by name.

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
    return EXPERIMENTS.find(name)
