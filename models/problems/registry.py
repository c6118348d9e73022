"""The registry of problems by name."""

import dataclasses
from typing import Any, TypeVar

from ...seqform.checks import check_attribute
from ...seqform.errors import UnsupportedProblemError
from ...seqform.extensions import check_class
from ...seqform.grammar import Grammar
from ...seqform.parameters import parameters_of
from ...seqform.registry import Registry
from .problem import Problem

Registered = TypeVar("Registered", bound=type[Any])


def _accept(problem: Any) -> tuple[Any, type[Any], type[Any]]:
    """Check the class of a problem; return its name, the class to register and the class to return."""
    check_class(problem, Problem, UnsupportedProblemError)
    check_attribute(
        problem, "name", str, "the name for --problem, such as name = 'my-problem'", UnsupportedProblemError
    )
    posed = {"game", *(each.name for each in parameters_of(problem) if each.about.option)}
    for field in dataclasses.fields(problem):
        optional = field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING
        if field.init and not optional and field.name not in posed:
            raise UnsupportedProblemError(
                f"{problem.__name__}: the field {field.name} has no default and no option; expected "
                "Annotated[type, About(…)], or a default"
            )
    return problem.name, problem, problem


#: The library's own problems, in listing order.
_OWN = {
    "nash": "problems.nash:Nash",
    "epsilon-nash": "problems.epsilon_nash:EpsilonNash",
    "constrained": "problems.constrained:ConstrainedNash",
    "best-response": "problems.responses:BestResponse",
    "rnr": "problems.responses:RestrictedNash",
    "epsilon-safe": "problems.responses:EpsilonSafeResponse",
    "data-biased": "problems.data_biased:DataBiasedResponse",
    "robust": "problems.robust:RobustResponse",
    "uncertain": "problems.uncertain:UncertainPayoffs",
    "best-nash": "problems.responses:BestNash",
    "style": "problems.style:EpsilonSafeStyle",
    "cdbr": "problems.depth_limited:CDBR",
    "cdrnr": "problems.depth_limited:CDRNR",
    "cdbr-ne": "problems.depth_limited:CDBRNE",
    "ses": "problems.depth_limited:SES",
    "lbr": "problems.depth_limited:LBR",
    "caught-once": "games.patrol.caught_once:CaughtOnce",
    "stackelberg": "problems.stackelberg:Stackelberg",
    "efce": "problems.correlated:EFCE",
    "efcce": "problems.correlated:EFCCE",
    "nfcce": "problems.correlated:NFCCE",
    "nfce": "problems.correlated:NFCE",
    "sefce": "problems.correlated:SEFCE",
    "simplify": "problems.simple:SimpleStrategy",
    "qre": "problems.quantal:QuantalResponse",
}
#: Every problem by name.
PROBLEMS: Registry[type[Any]] = Registry(
    Grammar("problem", UnsupportedProblemError, UnsupportedProblemError),
    "treeplex.problems",
    _accept,
    _OWN,
    "treeplex.models",
)


def register_problem(problem: Registered) -> Registered:
    """Register a problem under its name; every command then accepts it, with options derived from its fields.

    An installed package should register its problems by entry points of the group ``treeplex.problems`` instead, which
    other processes find too: see :doc:`/reference/extensions`.

    Parameters
    ----------
    problem : type
        A frozen dataclass, a subclass of :class:`~treeplex.models.problems.SaddleProblem` or of
        :class:`~treeplex.models.problems.Problem`, with a class attribute ``name``.

    Returns
    -------
    type
        The same class, so that the function works as a decorator.

    Raises
    ------
    UnsupportedProblemError
        If something is missing, or another problem has the name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from treeplex import register_problem
    >>> from treeplex.models.problems import SaddleProblem
    >>> @register_problem
    ... @dataclass(frozen=True, eq=False)
    ... class Nothing(SaddleProblem):
    ...     name = "nothing"
    Traceback (most recent call last):
    treeplex.seqform.errors.UnsupportedProblemError: Nothing has no method saddle; expected one as described in Problem
    """
    PROBLEMS.register(problem)
    return problem


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
    return PROBLEMS.find(name, hinted=problem_meant(name))


#: Names of problems in the literature and in other programs, letters only.
_ALSO_CALLED = {
    "nash": "equilibrium nashequilibrium ne maxmin maximin minimax gto",
    "epsilon-nash": "epsilonequilibrium approximatenash generalsum generalsumnash rake",
    "constrained": "constrainedequilibrium nodelock nodelocking",
    "best-response": "br respond response exploit exploitation exploitative",
    "rnr": "restricted restrictednashresponse robustcounterstrategy",
    "epsilon-safe": "safe safest saferesponse safeexploitation",
    "data-biased": "dbr",
    "uncertain": "uncertainpayoffs robustequilibrium robustgame robustoptimisation robustoptimization",
    "best-nash": "bestequilibrium bestnashequilibrium",
    "cdbr": "depthlimited depthlimitedbestresponse",
    "cdrnr": "depthlimitedrnr depthlimitedrestrictednash depthlimitedrestrictednashresponse",
    "lbr": "localbestresponse",
    "caught-once": "detectedonce atleastonce caughtatleastonce",
    "simplify": "simple simplified purify purification discretise discretize rounding",
    "efce": "correlated correlatedequilibrium extensiveformcorrelatedequilibrium",
    "efcce": "extensiveformcoarsecorrelatedequilibrium",
    "sefce": "correlatedcommitment correlatedstackelberg stackelbergcorrelatedequilibrium",
    "nfcce": "cce coarse coarsecorrelatedequilibrium normalformcoarsecorrelatedequilibrium",
    "nfce": "normalformcorrelatedequilibrium aumann",
    "qre": "quantal quantalresponseequilibrium agentqre aqre logit logitqre logitequilibrium",
    "stackelberg": "commitment optimalcommitment strongstackelberg sse",
}


def problem_meant(name: str) -> str | None:
    """Return the problem that a class name or a term of the literature means; ``None`` if there is none.

    Examples
    --------
    >>> from treeplex.models.problems.registry import problem_meant
    >>> problem_meant("restricted-nash"), problem_meant("Data Biased Response"), problem_meant("poker")
    ('rnr', 'data-biased', None)
    """
    letters = "".join(filter(str.isalpha, name.casefold()))
    for known, kind in PROBLEMS.items():
        own = [kind.__name__.casefold(), "".join(filter(str.isalpha, known))]
        if letters in own + _ALSO_CALLED.get(known, "").split():
            return known
    return None
