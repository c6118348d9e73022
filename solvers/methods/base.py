"""What every method declares of itself, and declarations that several share."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ...seqform.checks import check_attribute
from ...seqform.errors import UnknownMethodError
from ...seqform.hints import Explained
from ...seqform.parameters import About, check_parameters

if TYPE_CHECKING:
    from .rules import LocalBias

Updates = Annotated[Literal["alternating", "simultaneous"], About("how players are updated")]
#: What averaging means.
WEIGHTS = "weights of iterates in the average; a number is a power of t"
Averaging = Annotated[
    Literal["uniform", "linear", "quadratic", "cubic", "quartic"] | float | None,
    About(WEIGHTS, minimum=0, maximum=64, shown="by the base"),
]
Iterate = Annotated[Literal["average", "last"], About("which strategies are returned and certified")]
Precision = Annotated[
    Literal["double", "single", "half", "auto"], About("floating-point precision, auto by tolerance and size")
]
Base = Annotated[Literal["cfr", "cfr+", "dcfr", "pcfr+"], About("how regrets accumulate")]
SampleAveraging = Annotated[
    Literal["simple", "sampled", "full"] | None, About("how strategies are averaged", shown="by the number of players")
]
Preferences = Annotated[
    Any,
    About(
        "an action whose regrets count DELTA times; may be repeated: raise:5, raise@first:5 at first decisions, "
        "SEAT/raise:5 of one player (--player, or else all), SEAT/INFOSET:raise:5 at one infoset",
        form="ACTION:DELTA",
        shown="none",
        many=True,
    ),
]
Vulnerability = Annotated[
    float, About("what a preference may cost at each of its infosets, β in payoff units", minimum=0, form="B")
]
Units = Annotated[
    Literal["conditional", "counterfactual"], About("whether β bounds conditional or counterfactual regret")
]
PreferenceRule = Annotated[
    Literal["rm", "br"], About("how preferred actions are chosen: rm in proportion, br the best alone")
]


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


class PreferringMethod(Method):
    """A method for styles, whose local rule is biased to preferred actions."""

    prefer: Any
    vulnerability: float
    units: Literal["conditional", "counterfactual"]
    rule: Literal["rm", "br"]

    def __post_init__(self) -> None:
        from ...models.preferences import preferences_of

        super().__post_init__()
        object.__setattr__(self, "prefer", tuple(preferences_of(self.prefer)))
        if self.vulnerability and not self.prefer:
            raise UnknownMethodError(f"{self.name}: vulnerability = {self.vulnerability!r} without any preference")

    @property
    def bias(self) -> "LocalBias":
        """The preferences."""
        from .rules import LocalBias

        return LocalBias(self.prefer, self.vulnerability, self.units, greedy=self.rule == "br")
