"""The methods by name: frozen hyper-parameters, and the problems that each serves."""

import re
from typing import Any

from ...models.problems import Problem
from ...seqform.errors import UnknownMethodError, UnsupportedProblemError
from ...seqform.grammar import Grammar
from ...seqform.parameters import Parameter, parameters_of
from .base import Method
from .exact import CVXPY, DepthLimitedLP, HiGHS, Rational
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
#: How methods are written.
GRAMMAR = Grammar("method", UnknownMethodError, UnknownMethodError)
_HIGHS_VARIANTS = {f"highs-{name}": name for name in ("simplex", "ipm", "ipm-crossover", "pdlp")}


def method_names() -> tuple[str, ...]:
    """Return the names of all methods."""
    return ("highs", *_HIGHS_VARIANTS, *(name for name in _METHODS if name != "highs"))


def method_parameters(name: str) -> tuple[Parameter, ...]:
    """Return the hyper-parameters of a method.

    Raises
    ------
    UnknownMethodError
        If there is no such method.

    Examples
    --------
    >>> from treeplex.solvers.methods import method_parameters
    >>> [each.name for each in method_parameters("dcfr")]
    ['updates', 'averaging', 'iterate', 'precision', 'initial_regrets', 'alpha', 'beta']
    """
    return parameters_of(_class_of(name))


def find_method(name: str, **options: Any) -> Method:
    """Return a method by its name and hyper-parameters.

    Parameters
    ----------
    name : str
        ``name`` or ``name:key=value,key=value``, such as ``dcfr:alpha=1.5,beta=0,gamma=2``.
    **options
        Hyper-parameters by keyword; they take precedence over those in `name`.

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
    >>> find_method("dcfr:alpha=2,gamma=1").alpha, find_method("dcfr:alpha=2,gamma=1").averaging
    (2.0, 'linear')
    """
    name, text = GRAMMAR.split(str(name))
    kind, parameters = _class_of(name), method_parameters(name)
    given = {GRAMMAR.check_key(name, key, parameters).name: value for key, value in options.items()}
    variant = {"algorithm": _HIGHS_VARIANTS[name]} if name in _HIGHS_VARIANTS else {}
    method: Method = kind(**(variant | GRAMMAR.read(name, text, parameters) | given))
    return method


def _class_of(name: str) -> type[Any]:
    kind = _METHODS.get("highs" if name in _HIGHS_VARIANTS else name)
    if kind is None:
        # Names hold a plus, which some write as a word.
        spelled = re.sub(r"[-_ ]*plus$", "+", name.casefold()).replace("_", "-")
        raise GRAMMAR.unknown_name(name, method_names(), hinted=spelled)
    return kind


def check_served(method: Method, problem: Problem) -> None:
    """Refuse a problem that a method cannot solve, and say which methods can.

    Raises
    ------
    UnsupportedProblemError
    """
    if not problem.needs <= method.serves:
        able = [name for name in method_names() if problem.needs <= find_method(name).serves]
        # Where it solves other problems of the kind, say what is too much about this one.
        usual = problem.always_needs <= method.serves
        reason = f" with {' and '.join(sorted(problem.needs - method.serves))}" if usual else ""
        raise UnsupportedProblemError(
            f"method {method.name} cannot solve {problem.name}{reason}: use {', '.join(able)}"
        )
