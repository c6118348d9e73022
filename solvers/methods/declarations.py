"""Hyper-parameters and features that several methods share."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

from ...models.problems import Feature
from ...seqform.errors import InvalidOptionError
from ...seqform.parameters import About
from .registry import Method

if TYPE_CHECKING:
    from .rules import LocalBias

#: The features of problems with constraints that iterative methods solve on public forms.
LIMITED = frozenset({Feature.CONSTRAINTS, Feature.LIMITED_REGRETS})
Updates = Annotated[Literal["alternating", "simultaneous"], About("order of the players' updates")]
#: The description of averaging.
WEIGHTS = "weights of iterates in the average; a number is the exponent of t"
Averaging = Annotated[
    Literal["uniform", "linear", "quadratic", "cubic", "quartic"] | float | None,
    About(WEIGHTS, minimum=0, maximum=64, shown="as in the base method"),
]
Iterate = Annotated[
    Literal["average", "last", "best"],
    About("which strategies are returned and certified; best is for responses computed in steps"),
]
Precision = Annotated[
    Literal["double", "single", "half", "auto"],
    About("floating-point precision; auto chooses it by tolerance and size"),
]
Base = Annotated[Literal["cfr", "cfr+", "dcfr", "pcfr+"], About("how regrets accumulate")]
SampleAveraging = Annotated[
    Literal["simple", "sampled", "full"] | None, About("how strategies are averaged", shown="by the number of players")
]
Preferences = Annotated[
    Any,
    About(
        "an action whose regrets are multiplied by DELTA; may be repeated: raise:5, raise@first:5 at first decisions, "
        "SEAT/raise:5 for one player (default: --player, or all), SEAT/INFOSET:raise:5 at one infoset",
        form="ACTION:DELTA",
        shown="none",
        many=True,
    ),
]
Vulnerability = Annotated[
    float, About("largest cost of a preference at each of its infosets: β, in payoff units", minimum=0, form="B")
]
Units = Annotated[
    Literal["conditional", "counterfactual"], About("whether β bounds conditional or counterfactual regret")
]
PreferenceRule = Annotated[
    Literal["rm", "br"], About("how preferred actions are chosen: rm in proportion to regret, br only the best action")
]


class PreferringMethod(Method):
    """A method for styles, whose local rule is biased towards preferred actions."""

    prefer: Any
    vulnerability: float
    units: Literal["conditional", "counterfactual"]
    rule: Literal["rm", "br"]

    def __post_init__(self) -> None:
        from ...models.preferences import preferences_of

        super().__post_init__()
        object.__setattr__(self, "prefer", tuple(preferences_of(self.prefer)))
        if self.vulnerability and not self.prefer:
            raise InvalidOptionError(f"{self.name}: vulnerability = {self.vulnerability!r} without a preference")

    @property
    def bias(self) -> "LocalBias":
        """The preferences."""
        from .rules import LocalBias

        return LocalBias(self.prefer, self.vulnerability, self.units, greedy=self.rule == "br")
