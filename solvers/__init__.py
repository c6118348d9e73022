"""How problems are solved: one function, methods as frozen hyper-parameters, one result type."""

from .depth_limited.method import DepthLimitedCFR
from .methods import (
    CCFR,
    CFR,
    CFVFP,
    CVXPY,
    DCFR,
    CFRPlus,
    DepthLimitedLP,
    ESPrefCFR,
    ExternalSamplingMCCFR,
    HiGHS,
    OutcomeSamplingMCCFR,
    PCFRPlus,
    PrefCFR,
    Rational,
    find_method,
    method_names,
)
from .solution import History, Solution
from .solve import solve
from .status import Status

__all__ = [
    "CCFR",
    "CFR",
    "CFVFP",
    "CVXPY",
    "DCFR",
    "CFRPlus",
    "DepthLimitedCFR",
    "DepthLimitedLP",
    "ESPrefCFR",
    "ExternalSamplingMCCFR",
    "HiGHS",
    "History",
    "OutcomeSamplingMCCFR",
    "PCFRPlus",
    "PrefCFR",
    "Rational",
    "Solution",
    "Status",
    "find_method",
    "method_names",
    "solve",
]
