"""What every method has: the protocol, and declarations that several share."""

from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from ...seqform.errors import UnknownMethodError
from ...seqform.parameters import About

if TYPE_CHECKING:
    from ...models.problems import Problem
    from ..outcome import Options, Outcome

#: Depth-limited problems, which are solved step by step.
STEPPED = frozenset({"cdbr", "cdrnr", "cdbr-ne", "ses"})

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


class Method(Protocol):
    """A way to solve some problems.

    Attributes
    ----------
    name : str
        What the command line calls it.
    problems : frozenset of str
        Names of the problems that it serves.
    default_tolerance : float
        Of the certificate, relative to the largest payoff.
    default_iterations : int
    """

    @property
    def name(self) -> str:
        """What the command line calls it."""
        ...

    @property
    def problems(self) -> frozenset[str]:
        """Names of the problems that it serves."""
        ...

    @property
    def default_tolerance(self) -> float:
        """Tolerance on the certificate where none is asked for, relative to the game's largest payoff."""
        ...

    @property
    def default_iterations(self) -> int:
        """Iteration limit where none is given."""
        ...

    def run(self, problem: "Problem", options: "Options") -> "Outcome":
        """Solve a problem that the method serves."""
        ...


def settle_preferences(method: Any) -> None:
    """Keep the preferences of a method for styles as a tuple, and refuse a vulnerability of nothing."""
    from ...models.preferences import wishes_of

    object.__setattr__(method, "prefer", tuple(wishes_of(method.prefer)))
    if method.vulnerability and not method.prefer:
        raise UnknownMethodError(f"{method.name}: vulnerability = {method.vulnerability!r} without any preference")
