"""The methods by name: frozen hyper-parameters, and the problems that each serves."""

from .base import Method
from .exact import CVXPY, DepthLimitedLP, HiGHS, Rational
from .registry import check_served, find_method, method_names, method_parameters
from .regret import AVERAGING, CCFR, CFR, CFVFP, DCFR, CFRPlus, PCFRPlus, PrefCFR, RegretMethod
from .sampling import MCCFR, ESPrefCFR, ExternalSamplingMCCFR, OutcomeSamplingMCCFR

__all__ = [
    "AVERAGING",
    "CCFR",
    "CFR",
    "CFVFP",
    "CVXPY",
    "DCFR",
    "MCCFR",
    "CFRPlus",
    "DepthLimitedLP",
    "ESPrefCFR",
    "ExternalSamplingMCCFR",
    "HiGHS",
    "Method",
    "OutcomeSamplingMCCFR",
    "PCFRPlus",
    "PrefCFR",
    "Rational",
    "RegretMethod",
    "check_served",
    "find_method",
    "method_names",
    "method_parameters",
]
