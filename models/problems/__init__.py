"""Questions about games, as data that know their exact formulation."""

from .best_nash import BestNash
from .constrained import ConstrainedNash
from .data_biased import DataBiasedResponse
from .depth_limited import CDBR, CDBRNE, CDRNR
from .least_violation import LeastViolation
from .local_best_response import LBR
from .nash import Nash
from .problem import Answer, Certificate, Problem, StepBounds
from .registry import PROBLEMS, find_problem
from .responses import BestResponse, EpsilonSafeResponse, RestrictedNash
from .safe_search import SES
from .style import StyledNash

__all__ = [
    "CDBR",
    "CDBRNE",
    "CDRNR",
    "LBR",
    "PROBLEMS",
    "SES",
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
    "StepBounds",
    "StyledNash",
    "find_problem",
]
