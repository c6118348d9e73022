"""The features that problems need and methods declare."""

from enum import StrEnum


class Feature(StrEnum):
    """One thing that a method must be able to do for a problem; the value says it in words.

    A method serves a problem if it has all features that the problem needs. Another package may add one of its own, a
    text of the same sort, to what its problems need and its methods serve.
    """

    PROGRAM = "one program for the whole problem"
    PLAYERS = "more than two players"
    GENERAL_SUM = "payoffs that do not sum to zero"
    ALONE = "an objective without a free opponent"
    TILT = "a payoff against a model of the opponent"
    FLOOR = "a floor under what a strategy guarantees"
    CONSTRAINTS = "constraints"
    CONVEX = "constraints that are not linear"
    REPLIES = "an opponent whose plans are images of others"
    FLOAT_REPLIES = "such an opponent in floats only"
    STEPS = "decisions step by step"
    SEARCH = "subgames of an equilibrium solved again"
    LOCAL = "steps that assume calls to the end"
    ROUTES = "payoffs of pairs of routes"
    COMMITMENT = "a commitment that the other player knows"
