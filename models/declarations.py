"""What problems take beside the game, declared once: the fields of their classes are annotated by these.

From the fields of a problem follow its texts, the opponents that solve it as they play, and the command line's options.
"""

from fractions import Fraction
from typing import Annotated, Any, Literal

from ..seqform.parameters import About
from ..seqform.strategy import Strategy

Opponent = Annotated[Strategy, About("model of the opponent", form="O")]
Confidence = Annotated[float | Fraction, About("confidence in the opponent model", minimum=0, maximum=1)]
#: In text one for all infosets.
Confidences = Annotated[Any, About("confidence in the opponent model", minimum=0, maximum=1, kind=Fraction)]
Epsilon = Annotated[float | Fraction, About("how exploitable the strategy may be, in payoff units", minimum=0)]
Constraints = Annotated[
    Any,
    About(
        "constraint TERM+… <= NUMBER, also >= and ==, and 'as NAME' after it, where TERM is a functional of the game "
        "(risk), SEAT/INFOSET:ACTION, plan(SEAT/INFOSET:ACTION) or reach(SEAT/INFOSET)",
        form="C",
        alias="constrain",
        many=True,
    ),
]
Penalty = Annotated[
    float | Fraction | None,
    About("price of a unit of violation, so that constraints may be broken", minimum=0, shown="none", form="B"),
]
Maximised = Annotated[Any, About("functional to maximise, TERM+… as in --constrain", form="TERM")]
Minimised = Annotated[Any, About("functional to minimise, TERM+… as in --constrain", form="TERM")]
Player = Annotated[Any, About("whose strategy, where a problem solves for one", form="0|1", shown="0")]
Lookahead = Annotated[
    int, About("levels of the public tree that a step looks beyond its own action", minimum=1, form="K")
]
Along = Annotated[
    Literal["levels", "paths"], About("whether a step decides at a whole level or on its own path alone", option=False)
]
GadgetName = Annotated[
    str,
    About("what stands above a subgame", choices=("full", "none", "resolving", "max-margin", "reach-max-margin")),
]
Level = Annotated[
    int | None,
    About("level of the public tree at which subgames begin", minimum=0, shown="after chance", form="L"),
]
