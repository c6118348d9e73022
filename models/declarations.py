"""What problems take beside the game, declared once: the fields of their classes are annotated by these.

From the fields of a problem follow its texts, the opponents that solve it as they play, and the command line's options.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal

from ..seqform.parameters import About

#: The terms of a constraint or of a style, beside the names of the game's functionals.
TERMS = (
    "SEAT/INFOSET:ACTION, plan(SEAT/INFOSET:ACTION), reach(SEAT/INFOSET), ACTION@first, ACTION@all or ACTION@INFOSET"
)

#: The options that describe a problem, in display order.
WORDS: Mapping[str, About] = {
    "constrain": About(
        "constraint TERM+… <= NUMBER, also >= and ==, and 'as NAME' after it, where TERM is a functional of the game "
        f"(risk), {TERMS}; may be repeated",
        form="C",
        alias="constrain",
        many=True,
    ),
    "penalty": About(
        "price of a unit of violation, so that constraints may be broken", minimum=0, shown="none", form="B"
    ),
    "opponent": About("model of the opponent", form="O"),
    "maximise": About("functional to maximise, TERM+… as in --constrain", form="TERM"),
    "minimise": About("functional to minimise, TERM+… as in --constrain", form="TERM"),
    "p": About("confidence in the opponent model", minimum=0, maximum=1, kind=Fraction),
    "epsilon": About("how exploitable the strategy may be, in payoff units", minimum=0),
    "lookahead": About(
        "levels of the public tree that a step looks beyond its own action", minimum=1, form="K", large=True
    ),
    "gadget": About(
        "gadget game above a subgame", choices=("full", "none", "resolving", "max-margin", "reach-max-margin")
    ),
    "level": About(
        "level of the public tree at which subgames begin", minimum=0, shown="after chance", form="L", large=True
    ),
    "player": About("player to solve for, where the problem is one player's", form="0|1", shown="0"),
}

Constraints = Annotated[Any, WORDS["constrain"]]
Penalty = Annotated[float | Fraction | None, WORDS["penalty"]]
Maximised = Annotated[Any, WORDS["maximise"]]
Minimised = Annotated[Any, WORDS["minimise"]]
Confidence = Annotated[float | Fraction, WORDS["p"]]
#: In words one for all infosets.
Confidences = Annotated[Any, WORDS["p"]]
Epsilon = Annotated[float | Fraction, WORDS["epsilon"]]
Lookahead = Annotated[int, WORDS["lookahead"]]
Along = Annotated[
    Literal["levels", "paths"], About("whether a step decides at a whole level or on its own path alone", option=False)
]
GadgetName = Annotated[str, WORDS["gadget"]]
Level = Annotated[int | None, WORDS["level"]]
Player = Annotated[Any, WORDS["player"]]
