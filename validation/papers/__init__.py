"""Figures and tables of papers: data, a picture, and the paper's numbers beside ours."""

from .ccfr_figure_2a import CCFRFigure2a
from .experiment import Claim, Experiment, Paper, Row
from .registry import EXPERIMENTS, find_experiment
from .reproduction import Reproduction, reproduce

__all__ = [
    "EXPERIMENTS",
    "CCFRFigure2a",
    "Claim",
    "Experiment",
    "Paper",
    "Reproduction",
    "Row",
    "find_experiment",
    "reproduce",
]
