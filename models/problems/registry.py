"""The problems by name."""

from typing import Any

from ...seqform.errors import UnsupportedProblemError, nearest
from .constrained import ConstrainedNash
from .data_biased import DataBiasedResponse
from .depth_limited import CDBR, CDBRNE, CDRNR, LBR, SES
from .nash import Nash
from .responses import BestNash, BestResponse, EpsilonSafeResponse, RestrictedNash
from .style import EpsilonSafeStyle

#: Every problem under its name.
PROBLEMS: dict[str, type[Any]] = {
    problem.name: problem
    for problem in (
        Nash,
        ConstrainedNash,
        BestResponse,
        RestrictedNash,
        EpsilonSafeResponse,
        DataBiasedResponse,
        BestNash,
        EpsilonSafeStyle,
        CDBR,
        CDRNR,
        CDBRNE,
        SES,
        LBR,
    )
}


def find_problem(name: str) -> type[Any]:
    """Return a problem's class by its name.

    Raises
    ------
    UnsupportedProblemError
        If there is no such problem.

    Examples
    --------
    >>> from treeplex.models.problems import find_problem
    >>> find_problem("nash").__name__
    'Nash'
    """
    if name not in PROBLEMS:
        hint = nearest(str(name), PROBLEMS)
        raise UnsupportedProblemError(f"unknown problem {name!r}{hint}; expected one of {', '.join(PROBLEMS)}")
    return PROBLEMS[name]
