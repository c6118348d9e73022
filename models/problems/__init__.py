"""Questions about games, as data that know their exact formulation."""

from .nash import Nash
from .problem import Answer, Certificate, Problem
from .registry import PROBLEMS, find_problem
from .responses import BestResponse, EpsilonSafeResponse, RestrictedNash

__all__ = [
    "PROBLEMS",
    "Answer",
    "BestResponse",
    "Certificate",
    "EpsilonSafeResponse",
    "Nash",
    "Problem",
    "RestrictedNash",
    "find_problem",
]
