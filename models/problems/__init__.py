"""Questions about games, as data that know their exact formulation."""

from .constrained import ConstrainedNash
from .nash import Nash
from .problem import Answer, Certificate, Problem
from .registry import PROBLEMS, find_problem
from .responses import BestResponse, EpsilonSafeResponse, RestrictedNash

__all__ = [
    "PROBLEMS",
    "Answer",
    "BestResponse",
    "Certificate",
    "ConstrainedNash",
    "EpsilonSafeResponse",
    "Nash",
    "Problem",
    "RestrictedNash",
    "find_problem",
]
