"""Methods under their names: what every one declares of itself, and which of them serve a problem."""

import dataclasses
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, TypeVar

from ...models.problems import Problem
from ...seqform.checks import Explained, check_attribute
from ...seqform.errors import UnknownMethodError, UnsupportedProblemError
from ...seqform.game import Game
from ...seqform.grammar import Grammar
from ...seqform.parameters import Parameter, check_parameters, parameters_of
from ...seqform.registry import Registry


class Method(Explained):
    """A way to solve some problems: hyper-parameters, and what they serve.

    A method is a frozen dataclass. It says who runs it, and does nothing itself.

    Attributes
    ----------
    name : str
        What the command line calls it.
    serves : frozenset of Feature
        What it can do: it solves the problems that need no more than that.
    serves_in_public_form : frozenset of Feature
        What it can do besides on games in public form.
    is_exact : bool
        Whether its answers are fractions.
    keeps_runs : bool
        Whether its runs can be kept by a :class:`~treeplex.Checkpoint`, and go on from it.
    takes_start : bool
        Whether it begins with the strategies that it is given, :attr:`Options.start`.
    default_tolerance : float
        Of the certificate where none is asked for, relative to the game's stakes.
    default_iterations : int
        Iteration limit where none is given.
    samples : bool
        Whether it samples histories, so that the game needs rules and need not be held whole.
    backend : str or callable
        Who runs it: a method that takes a problem and :class:`~treeplex.solvers.outcome.Options` and returns an
        :class:`~treeplex.solvers.outcome.Outcome`; or the full name of a module, imported when first needed, whose
        function ``run`` takes the method, the problem and the options.
    backend_of_steps : str, optional
        Who runs it on problems that are decided in steps, if that is another module.
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
    backend_of_steps: ClassVar[str | None] = None

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers, so that a seed makes a difference."""
        return False

    def __post_init__(self) -> None:
        check_parameters(self, UnknownMethodError)


def check_method(kind: type[Any]) -> None:
    """Refuse a class of methods that does not say what every method has to say.

    Raises
    ------
    UnknownMethodError
    """
    for name, types, expected in (
        ("name", str | property, "what --method calls it, such as name = 'my-method'"),
        ("serves", frozenset, "the features that it has, such as frozenset({Feature.PROGRAM})"),
        ("backend", str | Callable, "a method backend(self, problem, options), or the name of a module with run()"),
    ):
        check_attribute(kind, name, types, expected, UnknownMethodError)


#: Makes a method: a class, or a class with some of its hyper-parameters, ``partial(HiGHS, algorithm="pdlp")``.
Maker = type[Any] | partial[Any]
Registered = TypeVar("Registered", bound=Maker)


def class_of(maker: Maker) -> type[Any]:
    """Return the class of what a maker makes."""
    return maker.func if isinstance(maker, partial) else maker  # type: ignore[return-value]


def _accept(maker: Any) -> tuple[Any, Maker, type[Any]]:
    """Return the name of a method, what makes it, and its class."""
    from ...seqform.extensions import check_class

    kind = class_of(maker)
    check_class(kind, Method, UnknownMethodError)
    check_method(kind)
    for field in dataclasses.fields(kind):
        if field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise UnknownMethodError(f"{kind.__name__}: the hyper-parameter {field.name} has no default; expected one")
    _ = parameters_of(kind)  # raises here if they are not declared as they should be
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
    "double-oracle": "exact:DoubleOracle",
    "branch-and-bound": "exact:BranchAndBound",
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
    "es-mccfr": "sampling:ExternalSamplingMCCFR",
    "os-mccfr": "sampling:OutcomeSamplingMCCFR",
    "es-pref-cfr": "sampling:ESPrefCFR",
}
#: What makes each method, under its name.
METHODS: Registry[Maker] = Registry(
    Grammar("method", UnknownMethodError, UnknownMethodError), "treeplex.methods", _accept, _OWN, __package__
)


def register_method(method: Registered) -> Registered:
    """Add a method, so that :func:`~treeplex.solve` and every command know it by its name.

    A package that is installed adds its methods by entry points of the group ``treeplex.methods`` instead, which other
    processes find too: see :doc:`/reference/extensions`.

    Parameters
    ----------
    method : type or functools.partial
        A frozen dataclass of hyper-parameters, all with defaults: a subclass of :class:`~treeplex.solvers.Method` with
        class attributes ``name`` and ``serves``, and a ``backend``. Or such a class with some of its hyper-parameters,
        whose attribute ``name`` then depends on them.

    Returns
    -------
    type or functools.partial
        The same, so that this can stand above a class.

    Raises
    ------
    UnknownMethodError
        If something is missing, or another method has the name.

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
    treeplex.seqform.errors.UnknownMethodError: Mine has no attribute serves; expected the features that it has, such as
    frozenset({Feature.PROGRAM})
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
    """Return the names of the methods that have all of some features.

    Examples
    --------
    >>> from treeplex.models.problems import Feature
    >>> from treeplex.solvers.methods import methods_for
    >>> methods_for({Feature.CONSTRAINTS, Feature.CONVEX})
    ['cvxpy', 'ccfr']
    """
    return [name for name, maker in METHODS.items() if class_of(maker).serves.issuperset(needed)]


def sampling_methods() -> list[str]:
    """Return the names of the methods that sample a game, and need not hold the whole of it.

    Examples
    --------
    >>> from treeplex.solvers.methods import sampling_methods
    >>> sampling_methods()
    ['es-mccfr', 'os-mccfr', 'es-pref-cfr']
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
    # Names hold a plus, which some write as a word.
    return METHODS.find(name, hinted=re.sub(r"[-_ ]*plus$", "+", name.casefold()).replace("_", "-"))


def check_served(method: Method, problem: Problem) -> None:
    """Refuse a problem that a method cannot solve, and say which methods can.

    Raises
    ------
    UnsupportedProblemError
    """
    served = _served(type(method), problem.game)
    if not problem.needs <= served:
        # What samples histories needs a game that has some.
        kinds = {name: class_of(maker) for name, maker in METHODS.items()}
        able = [
            name
            for name, kind in kinds.items()
            if problem.needs <= _served(kind, problem.game) and (problem.game.rules is not None or not kind.samples)
        ]
        # Where it solves other problems of the kind, say what is too much about this one.
        usual = problem.always_needs <= served
        reason = f" with {' and '.join(sorted(problem.needs - served))}" if usual else ""
        advice = f"use {', '.join(able)}" if able else "no method can"
        raise UnsupportedProblemError(f"method {method.name} cannot solve {problem.name}{reason}: {advice}")


def _served(kind: type[Method], game: Game) -> frozenset[str]:
    return kind.serves | (kind.serves_in_public_form if game.public_form is not None else frozenset())
