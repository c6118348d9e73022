"""What every method declares of itself, and declarations that several share."""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from ...models.preferences import preferences_of
from ...models.problems import Feature
from ...seqform.errors import UnknownMethodError
from ...seqform.parameters import About, check_parameters
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
    Literal["double", "single", "auto"], About("floating-point precision, auto by tolerance and size")
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


class Method:
    """A way to solve some problems: hyper-parameters, and what they serve.

    A method is a frozen dataclass. It says who runs it, and does nothing itself.

    Attributes
    ----------
    name : str
        What the command line calls it.
    serves : frozenset of Feature
        What it can do: it solves the problems that need no more than that.
    is_exact : bool
        Whether its answers are fractions.
    default_tolerance : float
        Of the certificate where none is asked for, relative to the largest payoff.
    default_iterations : int
        Iteration limit where none is given.
    backend : str or callable
        Who runs it: one of those in :mod:`treeplex.solvers.dispatch`, or a function that takes a problem and
        :class:`~treeplex.solvers.outcome.Options` and returns an :class:`~treeplex.solvers.outcome.Outcome`.
    """

    name: ClassVar[str] = ""
    serves: ClassVar[frozenset[Feature]] = frozenset()
    is_exact: ClassVar[bool] = False
    default_tolerance: ClassVar[float] = 1e-6
    default_iterations: ClassVar[int] = 2**31 - 1
    backend: ClassVar[str | Callable[..., Any]] = ""

    def __post_init__(self) -> None:
        check_parameters(self, UnknownMethodError)


class PreferringMethod(Method):
    """A method for styles, whose local rule is biased to preferred actions."""

    prefer: Any
    vulnerability: float
    units: Literal["conditional", "counterfactual"]
    rule: Literal["rm", "br"]

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "prefer", tuple(preferences_of(self.prefer)))
        if self.vulnerability and not self.prefer:
            raise UnknownMethodError(f"{self.name}: vulnerability = {self.vulnerability!r} without any preference")

    @property
    def bias(self) -> LocalBias:
        """The preferences."""
        return LocalBias(self.prefer, self.vulnerability, self.units, greedy=self.rule == "br")
