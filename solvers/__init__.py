"""How problems are solved: one function, methods as frozen hyper-parameters, one result type."""

from .methods import (
    CCFR,
    CFR,
    CVXPY,
    DCFR,
    CFRPlus,
    DepthLimitedLP,
    ExternalSamplingMCCFR,
    HiGHS,
    OutcomeSamplingMCCFR,
    PCFRPlus,
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
    "CVXPY",
    "DCFR",
    "CFRPlus",
    "DepthLimitedLP",
    "ExternalSamplingMCCFR",
    "HiGHS",
    "History",
    "OutcomeSamplingMCCFR",
    "PCFRPlus",
    "Rational",
    "Solution",
    "Status",
    "find_method",
    "method_names",
    "solve",
]
