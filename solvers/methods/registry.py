"""The methods by name, and which of them serves which problem."""

import dataclasses
from typing import TYPE_CHECKING, Any

from ...seqform.errors import UnknownMethodError, UnsupportedProblemError, nearest
from .base import Method
from .exact import CVXPY, DepthLimitedLP, HiGHS, Rational
from .regret import CCFR, CFR, CFVFP, DCFR, CFRPlus, PCFRPlus, PrefCFR
from .sampling import ESPrefCFR, ExternalSamplingMCCFR, OutcomeSamplingMCCFR

if TYPE_CHECKING:
    from ...models.problems import Problem

_METHODS: dict[str, type[Any]] = {
    "highs": HiGHS,
    "cvxpy": CVXPY,
    "rational": Rational,
    "lp": DepthLimitedLP,
    "cfr": CFR,
    "cfr+": CFRPlus,
    "dcfr": DCFR,
    "pcfr+": PCFRPlus,
    "ccfr": CCFR,
    "cfvfp": CFVFP,
    "pref-cfr": PrefCFR,
    "es-mccfr": ExternalSamplingMCCFR,
    "os-mccfr": OutcomeSamplingMCCFR,
    "es-pref-cfr": ESPrefCFR,
}
_HIGHS_VARIANTS = {f"highs-{name}": name for name in ("simplex", "ipm", "ipm-crossover", "pdlp")}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return ("highs", *_HIGHS_VARIANTS, *(name for name in _METHODS if name != "highs"))


def find_method(name: str, **options: Any) -> Method:
    """Return a method by its name.

    Parameters
    ----------
    name : str
    **options
        Hyper-parameters that differ from the method's defaults.

    Returns
    -------
    Method

    Raises
    ------
    UnknownMethodError
        If there is no such method, or it has no such option.

    Examples
    --------
    >>> from treeplex.solvers.methods import find_method
    >>> find_method("cfr+", updates="simultaneous")
    CFRPlus(updates='simultaneous', averaging='linear', iterate='average', precision='double', initial_regrets=0.0)
    """
    if name in _HIGHS_VARIANTS:
        name, options = "highs", {"algorithm": _HIGHS_VARIANTS[name], **options}
    if name not in _METHODS:
        hint = nearest(str(name), method_names())
        raise UnknownMethodError(f"unknown method {name!r}{hint}; expected one of {', '.join(method_names())}")
    fields = [entry.name for entry in dataclasses.fields(_METHODS[name])]
    for option in options:
        if option not in fields:
            raise UnknownMethodError(f"method {name} has no option {option!r}: it has {', '.join(fields)}")
    method: Method = _METHODS[name](**options)
    return method


def check_served(method: Method, problem: "Problem") -> None:
    """Refuse a problem that a method cannot solve, and say which methods can.

    Raises
    ------
    UnsupportedProblemError
    """
    if not _serves(method, problem):
        able = [name for name in method_names() if _serves(find_method(name), problem)]
        reason = ", which is no linear program here" if problem.name in method.problems else ""
        raise UnsupportedProblemError(
            f"method {method.name} cannot solve {problem.name}{reason}: use {', '.join(able)}"
        )


def default_method(problem: "Problem") -> str:
    """Return the name of the method for a problem where none is asked for: ``highs``, or ``cvxpy`` for conic programs.

    A problem may prefer another one.
    """
    linear = getattr(problem, "is_linear", True)
    usual = getattr(problem, "default_method", "highs" if linear else "cvxpy")
    return str(getattr(problem, "preferred_method", usual))


def _serves(method: Method, problem: "Problem") -> bool:
    linear = getattr(problem, "is_linear", True)
    if method.is_exact and not hasattr(problem, "rational_program"):
        return False
    return problem.name in method.problems and (linear or method.is_conic)
