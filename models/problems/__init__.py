"""Problems on games, as data; each says which canonical program it is."""

from .constrained import ConstrainedNash
from .data_biased import DataBiasedResponse
from .depth_limited import CDBR, CDBRNE, CDRNR, LBR, SES
from .features import Feature
from .least_violation import LeastViolation
from .nash import Nash
from .problem import Certificate, Problem, SaddleProblem, StepBounds
from .registry import PROBLEMS, find_problem
from .responses import BestNash, BestResponse, EpsilonSafeResponse, RestrictedNash
from .robust import RobustResponse
from .style import StyledNash

__all__ = [
    "CDBR",
    "CDBRNE",
    "CDRNR",
    "LBR",
    "PROBLEMS",
    "SES",
    "BestNash",
    "BestResponse",
    "Certificate",
    "ConstrainedNash",
    "DataBiasedResponse",
    "EpsilonSafeResponse",
    "Feature",
    "LeastViolation",
    "Nash",
    "Problem",
    "RestrictedNash",
    "RobustResponse",
    "SaddleProblem",
    "StepBounds",
    "StyledNash",
    "find_problem",
]
