"""Figures and tables of papers: data, a picture, and the paper's numbers beside ours."""

from .ccfr_figure_2a import CCFRFigure2a
from .ccfr_figure_2b import CCFRFigure2b
from .ccfr_figure_2c import CCFRFigure2c
from .experiment import Claim, Experiment, Paper, Row
from .registry import EXPERIMENTS, find_experiment
from .reproduction import Reproduction, reproduce

__all__ = [
    "EXPERIMENTS",
    "CCFRFigure2a",
    "CCFRFigure2b",
    "CCFRFigure2c",
    "Claim",
    "Experiment",
    "Paper",
    "Reproduction",
    "Row",
    "find_experiment",
    "reproduce",
]
