"""Methods by name, their declarations, and the methods that serve a problem."""

import dataclasses
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, TypeVar

from ...models.problems import Feature, Problem
from ...seqform.checks import Explained, check_attribute
from ...seqform.errors import InvalidOptionError, UnknownMethodError, UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.grammar import Grammar
from ...seqform.parameters import Parameter, check_parameters, parameters_of
from ...seqform.registry import Registry


class Method(Explained):
    """A solution method: its hyper-parameters and the features that it serves.

    A method is a frozen dataclass. It names the backend that runs it and does nothing itself.

    Attributes
    ----------
    name : str
        Its name on the command line.
    serves : frozenset of Feature
        Its features: it solves the problems that need no other features.
    serves_in_public_form : frozenset of Feature
        Additional features on games in public form.
    is_exact : bool
        Whether its answers are fractions.
    keeps_runs : bool
        Whether a :class:`~treeplex.Checkpoint` can save and resume its runs.
    takes_start : bool
        Whether it can start from given strategies, :attr:`Options.start`.
    default_tolerance : float
        The default tolerance of the certificate, relative to the game's stakes.
    default_iterations : int
        The default iteration limit.
    samples : bool
        Whether it samples histories, so that the game needs rules but need not fit in memory.
    backend : str or callable
        The code that runs it: a method that takes a problem and :class:`~treeplex.solvers.outcome.Options` and returns
        an :class:`~treeplex.solvers.outcome.Outcome`; or the full name of a module, imported on first use, whose
        function ``run`` takes the method, the problem and the options.
    backends : mapping of str to str
        The modules that run it on problems that need certain features, if these are different ones.
    """

    name: ClassVar[str]
    serves: ClassVar[frozenset[str]]
    serves_in_public_form: ClassVar[frozenset[str]] = frozenset()
    is_exact: ClassVar[bool] = False
    keeps_runs: ClassVar[bool] = False
    takes_start: ClassVar[bool] = False
    samples: ClassVar[bool] = False
    default_tolerance: ClassVar[float] = 1e-6
    default_iterations: ClassVar[int] = 2**31 - 1
    backend: ClassVar[str | Callable[..., Any]]
    backends: ClassVar[dict[str, str]] = {}

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers, so that the result depends on the seed."""
        return False

    def __post_init__(self) -> None:
        check_parameters(self, InvalidOptionError)


def check_method(kind: type[Any]) -> None:
    """Raise an error if a method's class lacks a required attribute.

    Raises
    ------
    UnknownMethodError
    """
    for name, types, expected in (
        ("name", str | property, "its name for --method, such as name = 'my-method'"),
        ("serves", frozenset, "the features that it supports, such as frozenset({Feature.PROGRAM})"),
        ("backend", str | Callable, "a method backend(self, problem, options), or the name of a module with run()"),
    ):
        check_attribute(kind, name, types, expected, UnknownMethodError)


#: A callable that makes a method: a class, or one with some hyper-parameters, ``partial(HiGHS, algorithm="pdlp")``.
Maker = type[Any] | partial[Any]
Registered = TypeVar("Registered", bound=Maker)


def class_of(maker: Maker) -> type[Any]:
    """Return the class of the methods that a maker creates."""
    return maker.func if isinstance(maker, partial) else maker  # type: ignore[return-value]


def _accept(maker: Any) -> tuple[Any, Maker, type[Any]]:
    """Return the name, the maker and the class of a method."""
    from ...seqform.extensions import check_class

    kind = class_of(maker)
    check_class(kind, Method, UnknownMethodError)
    check_method(kind)
    for field in dataclasses.fields(kind):
        if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UnknownMethodError(f"{kind.__name__}: the hyper-parameter {field.name} has no default; add one")
    _ = parameters_of(kind)  # raises an error now if a declaration is invalid
    return kind.name if isinstance(kind.name, str) else maker().name, maker, kind


#: The library's own methods, in the order in which they are listed.
_OWN = {
    "highs": "highs:HiGHS",
    "highs-simplex": "highs:SIMPLEX",
    "highs-ipm": "highs:INTERIOR_POINT",
    "highs-ipm-crossover": "highs:CROSSOVER",
    "highs-pdlp": "highs:PDLP",
    "cvxpy": "exact:CVXPY",
    "exact": "exact:Exact",
    "rational": "exact:Rational",
    "lp": "exact:DepthLimitedLP",
    "columns": "exact:Columns",
    "double-oracle": "exact:DoubleOracle",
    "branch-and-bound": "exact:BranchAndBound",
    "lemke": "exact:Lemke",
    "path-following": "exact:PathFollowing",
    "rounding": "exact:Rounding",
    "cfr": "regret:CFR",
    "cfr+": "regret:CFRPlus",
    "dcfr": "regret:DCFR",
    "pcfr+": "regret:PCFRPlus",
    "hs-dcfr": "successors:HSDCFR",
    "hs-pcfr+": "successors:HSPCFRPlus",
    "pdcfr+": "successors:PDCFRPlus",
    "sapcfr+": "successors:SAPCFRPlus",
    "restarted-cfr": "successors:RestartedCFR",
    "smooth-cfr+": "successors:SmoothCFRPlus",
    "mirror-prox": "successors:MirrorProx",
    "ccfr": "successors:CCFR",
    "cfvfp": "successors:CFVFP",
    "pref-cfr": "successors:PrefCFR",
    "trigger-regret": "trigger_regret:TriggerRegret",
    "es-mccfr": "sampling:ExternalSamplingMCCFR",
    "os-mccfr": "sampling:OutcomeSamplingMCCFR",
    "es-pref-cfr": "sampling:ESPrefCFR",
    "es-ccfr": "sampling:ExternalSamplingCCFR",
    "os-ccfr": "sampling:OutcomeSamplingCCFR",
}
#: The makers of all methods, by name.
METHODS: Registry[Maker] = Registry(
    Grammar("method", UnknownMethodError, InvalidOptionError), "treeplex.methods", _accept, _OWN, __package__
)


def register_method(method: Registered) -> Registered:
    """Register a method, so that :func:`~treeplex.solve` and every command find it by name.

    Installed packages register their methods by entry points of the group ``treeplex.methods`` instead, which work in
    every process; see :doc:`/reference/extensions`.

    Parameters
    ----------
    method : type or functools.partial
        A frozen dataclass of hyper-parameters, all with defaults: a subclass of :class:`~treeplex.solvers.Method` with
        class attributes ``name`` and ``serves``, and a ``backend``. It may also be such a class with some of its
        hyper-parameters set; its attribute ``name`` then depends on them.

    Returns
    -------
    type or functools.partial
        The argument, so that this function can be used as a class decorator.

    Raises
    ------
    UnknownMethodError
        If a required attribute or a default is missing, or another method has the same name.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from treeplex import register_method
    >>> from treeplex.solvers import Method
    >>> @register_method
    ... @dataclass(frozen=True)
    ... class Mine(Method):
    ...     name = "mine"
    Traceback (most recent call last):
    treeplex.seqform.errors.UnknownMethodError: Mine has no attribute serves; expected the features that it supports,
    such as frozenset({Feature.PROGRAM})
    """
    METHODS.register(method)
    return method


def method_names() -> tuple[str, ...]:
    """Return the names of all methods.

    Examples
    --------
    >>> from treeplex.solvers import method_names
    >>> "dcfr" in method_names()
    True
    """
    return tuple(METHODS)


def methods_for(needed: Iterable[str]) -> list[str]:
    """Return the names of the methods that serve all the given features.

    Examples
    --------
    >>> from treeplex.models.problems import Feature
    >>> from treeplex.solvers.methods import methods_for
    >>> methods_for({Feature.CONSTRAINTS, Feature.CONVEX})
    ['cvxpy', 'ccfr']
    """
    return [name for name, maker in METHODS.items() if class_of(maker).serves.issuperset(needed)]


def sampling_methods() -> list[str]:
    """Return the names of the methods that sample a game, which need not fit in memory.

    Examples
    --------
    >>> from treeplex.solvers.methods import sampling_methods
    >>> sampling_methods()
    ['es-mccfr', 'os-mccfr', 'es-pref-cfr', 'es-ccfr', 'os-ccfr']
    """
    return [name for name, maker in METHODS.items() if class_of(maker).samples]


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
    return parameters_of(class_of(_maker(name)))


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
    if not options and name in METHODS:
        found: Method = METHODS[name]()
        return found
    grammar = METHODS.grammar
    name, text = grammar.split(str(name))
    maker, parameters = _maker(name), method_parameters(name)
    given = {grammar.check_key(name, key, parameters).name: value for key, value in options.items()}
    method: Method = maker(**(grammar.read(name, text, parameters) | given))
    return method


def _maker(name: str) -> Maker:
    # Users may write the plus in a name as a word.
    return METHODS.find(name, hinted=re.sub(r"[-_ ]*plus$", "+", name.casefold()).replace("_", "-"))


def check_served(method: Method, problem: Problem) -> None:
    """Raise an error that lists suitable methods if a method cannot solve a problem.

    Raises
    ------
    UnsupportedProblemError
    """
    served = _served(type(method), problem.game)
    if not problem.needs <= served:
        # Sampling methods need a game with rules.
        kinds = {name: class_of(maker) for name, maker in METHODS.items()}
        able = [
            name
            for name, kind in kinds.items()
            if problem.needs <= _served(kind, problem.game) and (problem.game.rules is not None or not kind.samples)
        ]
        # If the method solves other problems of this class, name the features that it lacks.
        usual = problem.always_needs <= served
        reason = f" with {' and '.join(sorted(problem.needs - served))}" if usual else ""
        advice = f"use {', '.join(able)}" if able else "no method can"
        raise UnsupportedProblemError(f"method {method.name} cannot solve {problem.name}{reason}: {advice}")
    if getattr(method, "iterate", "average") == "best" and Feature.STEPS not in problem.needs:
        raise UnsupportedProblemError(
            f"method {method.name}: iterate is best, expected average or last for {problem.name}: best applies "
            "only to responses computed in steps, such as cdbr"
        )


def _served(kind: type[Method], game: Game) -> frozenset[str]:
    return kind.serves | (kind.serves_in_public_form if game.public_form is not None else frozenset())
