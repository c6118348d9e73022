"""Figures and tables of papers: data, a picture, and the paper's numbers beside ours."""

from .ccfr_figure_2a import CCFRFigure2a, FrontierRow
from .ccfr_figure_2b import CCFRFigure2b, ConvergenceRow
from .ccfr_figure_2c import CCFRFigure2c, TimeRow
from .ccfr_figure_3 import CCFRFigure3, CounterProfileRow
from .cdrnr_figure_4 import CDRNRFigure4, RecoveryRow
from .cdrnr_figure_5 import CDRNRFigure5
from .cdrnr_figure_6 import CDRNRFigure6
from .cdrnr_figure_15 import CDRNRFigure15
from .cdrnr_table_1 import CDRNRTable1, GainRow
from .depth_limited import ResponseRow
from .experiment import Claim, Experiment, Paper, Row
from .preference_efficiency import EfficiencyRow, PrefCFREfficiency
from .preference_figure_1 import PrefCFRFigure1
from .preference_figure_2 import PrefCFRFigure2
from .preference_figure_3 import PrefCFRFigure3
from .preference_figure_4 import PrefCFRFigure4
from .preference_kuhn import BluffRow
from .preference_leduc import StyleRow
from .registry import EXPERIMENTS, find_experiment
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
