"""Features that problems need and methods provide."""

from enum import StrEnum
from typing import Annotated

from ...seqform.parameters import About


class Feature(StrEnum):
    """One capability that a problem needs from a method, described by its value.

    A method can solve a problem if it has all features that the problem needs. Another package may add a feature, which
    is also a string, to the needs of its problems and the features of its methods.
    """

    PROGRAM = "one program for the whole problem"
    PLAYERS = "more than two players"
    GENERAL_SUM = "payoffs that do not sum to zero"
    ALONE = "an objective without a free opponent"
    TILT = "a payoff against a model of the opponent"
    FLOOR = "a floor under what a strategy guarantees"
    CONSTRAINTS = "constraints"
    LIMITED_REGRETS = "constraints in a general-sum game"
    CONVEX = "constraints that are not linear"
    REPLIES = "an opponent whose plans are images of others"
    FLOAT_REPLIES = "such an opponent in floats only"
    STEPS = "decisions step by step"
    SEARCH = "subgames of an equilibrium solved again"
    LOCAL = "steps that assume calls to the end"
    ROUTES = "payoffs of pairs of routes"
    SELECTION = "a choice among equilibria"
    COMMITMENT = "a commitment that the other player knows"
    CORRELATION = "recommendations to both players"
    REFINED = "a refined equilibrium"
    QUANTAL = "logit choices at every infoset"
    SIMPLE = "a strategy that is simple to remember"


#: Refinements of the equilibria of zero-sum games.
REFINEMENTS = ("undominated", "quasi-perfect", "proper")
Refine = Annotated[
    str | None,
    About(
        "refinement of the equilibrium, computed in fractions",
        choices=REFINEMENTS,
        shown="any equilibrium",
        example="quasi-perfect",
    ),
]
