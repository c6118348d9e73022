"""Questions about games, as data that know their exact formulation."""

from .best_nash import BestNash
from .constrained import ConstrainedNash
from .data_biased import DataBiasedResponse
from .least_violation import LeastViolation
from .nash import Nash
from .problem import Answer, Certificate, Problem
from .registry import PROBLEMS, find_problem
from .responses import BestResponse, EpsilonSafeResponse, RestrictedNash
from .style import StyledNash

__all__ = [
    "PROBLEMS",
    "Answer",
    "BestNash",
    "BestResponse",
    "Certificate",
    "ConstrainedNash",
    "DataBiasedResponse",
    "EpsilonSafeResponse",
    "LeastViolation",
    "Nash",
    "Problem",
    "RestrictedNash",
    "StyledNash",
    "find_problem",
]
