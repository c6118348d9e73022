"""Declarations of a problem's inputs other than the game; they annotate the fields of problem classes.

The fields of a problem determine its string form, the opponents that solve it during play, and its command-line
options. A field whose ``kind`` is a strategy, a constraint or a functional is parsed from a string for the game: see
:class:`~treeplex.validation.questions.Question`. A field of any other kind that is not a number receives the string
unchanged.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Annotated, Any, Literal

from ..seqform.functional import Functional
from ..seqform.parameters import About
from ..seqform.strategy import Strategy
from .constraints import Constraint
from .constraints.text import TERMS

_OPPONENT = "uniform, random:seed=S, nash, cfr:iterations=N, another opponent or a strategy file"

Constraints = Annotated[
    Any,
    About(
        "constraint TERM+… <= NUMBER (or >= or ==), optionally followed by 'as NAME', where TERM is a functional of "
        f"the game (risk), {TERMS}; may be repeated",
        kind=Constraint,
        form="C",
        alias="constrain",
        many=True,
        expected='"TERM <= NUMBER", such as "risk <= 1/10" or "0/K_:b >= 1/2"',
        example="0/K_:b >= 1/2",
    ),
]
Penalty = Annotated[
    float | Fraction | None,
    # The price per unit: a float, like multipliers.
    About("price per unit of violation, so that constraints may be broken", 0, kind=float, shown="none", form="B"),
]
Opponent = Annotated[
    Any, About("model of the opponent", kind=Strategy, form="O", expected=_OPPONENT, example="uniform")
]
Opponents = Annotated[
    Any,
    About(
        "model of the opponent; repeat it to respond to the worst of several",
        kind=Strategy,
        form="O",
        alias="opponent",
        many=True,
        expected=_OPPONENT,
        example="uniform",
    ),
]
Maximised = Annotated[
    Any,
    About(
        "functional to maximise, TERM+… as in --constrain",
        kind=Functional,
        form="TERM",
        shown="none",
        example="0/J_:b",
    ),
]
Minimised = Annotated[
    Any, About("functional to minimise, TERM+… as in --constrain", kind=Functional, form="TERM", shown="none")
]
_CONFIDENCE = About("confidence in the opponent model", minimum=0, maximum=1, example="1/2")
Confidence = Annotated[float | Fraction, _CONFIDENCE]
#: On the command line, one number for all infosets.
Confidences = Annotated[Any, replace(_CONFIDENCE, kind=Fraction)]
Epsilon = Annotated[
    float | Fraction, About("how exploitable the strategy may be, in payoff units", minimum=0, example="1/10")
]
Lookahead = Annotated[
    int | None,
    About(
        "number of levels of the public tree that a step looks ahead beyond its own action",
        minimum=1,
        shown="none",
        form="K",
        large=True,
        example="1",
    ),
]
Along = Annotated[Literal["level", "path"], About("whether a step decides at a whole level or at one public state")]
Mixing = Annotated[
    Literal["plan", "infoset"],
    About("whether the two strategies are mixed before the game (plan) or at each infoset"),
]
GadgetName = Annotated[
    str,
    About(
        "gadget game at the root of a subgame",
        choices=("full", "reach-resolving", "none", "resolving", "max-margin", "reach-max-margin"),
    ),
]
_LEVEL = About(
    "level of the public tree at which subgames begin, or several such as 2+5, or chance: after public chance events",
    kind=str,
    shown="after chance",
    form="L",
    expected="a level, several levels such as 2+5, or chance",
)
Level = Annotated[Any, _LEVEL]
#: For responses that need no partition.
Levels = Annotated[Any, replace(_LEVEL, shown="none")]
PLAYER = About("player to solve for, in one-player problems", 0, 1, kind=int, form="0|1", shown="0", expected="0 or 1")
Player = Annotated[Any, PLAYER]
