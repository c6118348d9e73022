"""Problems on games, as data; each says which canonical program it is."""

from ...seqform.deprecation import deprecated_names
from .caught_once import CaughtOnce
from .constrained import ConstrainedNash
from .data_biased import DataBiasedResponse
from .depth_limited import CDBR, CDBRNE, CDRNR, LBR, SES
from .epsilon_nash import EpsilonNash
from .feasibility_relaxation import FeasibilityRelaxation
from .features import Feature
from .nash import Nash
from .one_player import OnePlayerProblem
from .problem import Certificate, Problem, SaddleProblem, StepBounds, restored
from .registry import PROBLEMS, find_problem, register_problem
from .responses import BestNash, BestResponse, EpsilonSafeResponse, ResponseProblem, RestrictedNash
from .robust import RobustResponse
from .stackelberg import Stackelberg
from .style import EpsilonSafeStyle

__getattr__ = deprecated_names(
    __name__,
    {
        "Answer": "treeplex.models.saddle.Answer",
        "LeastViolation": "treeplex.models.problems.FeasibilityRelaxation",
        "StyledNash": "treeplex.models.problems.EpsilonSafeStyle",
    },
)

__all__ = [
    "CDBR",
    "CDBRNE",
    "CDRNR",
    "LBR",
    "PROBLEMS",
    "SES",
    "BestNash",
    "BestResponse",
    "CaughtOnce",
    "Certificate",
    "ConstrainedNash",
    "DataBiasedResponse",
    "EpsilonNash",
    "EpsilonSafeResponse",
    "EpsilonSafeStyle",
    "FeasibilityRelaxation",
    "Feature",
    "Nash",
    "OnePlayerProblem",
    "Problem",
    "ResponseProblem",
    "RestrictedNash",
    "RobustResponse",
    "SaddleProblem",
    "Stackelberg",
    "StepBounds",
    "find_problem",
    "register_problem",
    "restored",
]
