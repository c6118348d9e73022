"""Advice to use another method if a certificate does not meet the tolerance."""

from ...models.problems import Problem
from .registry import Method, methods_for

#: Methods to try if the certificate of another one does not meet the tolerance.
_SHARPER = ("highs-simplex", "rational")


def or_sharper(problem: Problem, method: Method) -> str:
    """Return the advice to use a method that may prove more; empty if no such method supports the problem.

    Examples
    --------
    >>> from treeplex import Nash, QuantalResponse, load_game
    >>> from treeplex.solvers.methods.advice import or_sharper
    >>> from treeplex.solvers.methods import find_method
    >>> or_sharper(Nash(load_game("kuhn")), find_method("highs-ipm"))
    ' or use highs-simplex'
    >>> or_sharper(QuantalResponse(load_game("signalling"), rationality=1), find_method("path-following"))
    ''
    """
    able = methods_for(problem.needs)
    return next((f" or use {name}" for name in _SHARPER if name in able and name != method.name), "")
