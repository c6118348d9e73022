"""An equilibrium strategy for a player who also receives a bonus."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, ClassVar

from treeplex import Functional
from treeplex.models.problems import Feature, OnePlayerProblem, SaddleProblem
from treeplex.models.saddle import Saddle
from treeplex.seqform import About
from treeplex.seqform.rationals import to_fractions


@dataclass(frozen=True, eq=False)
class BonusResponse(OnePlayerProblem, SaddleProblem):
    """A strategy with the best worst case for a player who is paid a bonus per unit of a functional of its plan.

    max over x of b c · x + min over y of xᵀ M y, an instance of the canonical program with the tilt b c. On the command
    line, a field of the kind ``Functional`` takes a term, ``--reward "0/K_:b"``, and a number takes a number.
    """

    reward: Annotated[
        Functional, About("the rewarded quantity, TERM+… as in --constrain", kind=Functional, form="TERM")
    ]
    bonus: Annotated[Fraction | float, About("payoff units for each unit of it", minimum=0)] = field(kw_only=True)

    name: ClassVar[str] = "bonus"
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most at worst, if it is also paid {problem.bonus} for each unit of "
        "{problem.reward.description}?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.TILT})

    @property
    def player(self):
        return self.reward.player

    @property
    def meaning(self):
        return f"of which {self.bonus} for each unit of {self.reward.description}"

    def saddle(self, exact=False):
        view = self.view(exact)
        coefficients = self.reward.coefficients.copy()
        coefficients[0] += self.reward.constant  # every plan plays the empty sequence once
        tilt = view.number(self.bonus) * (to_fractions(coefficients) if exact else coefficients)
        return Saddle(view, tilt=tilt, weight=view.number(1))
