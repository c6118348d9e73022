"""Matching pennies with a gift: figure 10 of the paper on depth-limited responses."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .family import Family, Reference
from .small_trees import Deal, Decision, Model, SmallTree


@dataclass(frozen=True)
class DepthLimitedFigure10(SmallTree):
    """Matching pennies with a gift: where both show tails, the opponent may pay ten times what it has to.

    Player 0 shows heads (``H``) or tails (``T``). Player 1 does not see it and shows heads (``h``) or tails (``t``).
    Equal heads pay player 0 1, different sides 0. After equal tails player 1 chooses: ``x`` pays player 0 10, ``y``
    pays 1. Player 0 is the paper's maximiser.

    Notes
    -----
    *Infosets*: player 0 has one, ``_``; player 1's are ``_``, and ``_Tt`` where both have shown tails.

    *Sizes*: 3 sequences and 1 infoset of player 0, 5 and 2 of player 1, 5 leaves.

    *Equilibrium*: unique. Both show either side with probability 1/2, player 1 pays 1; the value is 1/2.

    *Model of player 1*: ``h`` with probability 2/3, ``t`` with 1/3, and always ``x``. Its best response shows tails and
    gets 10/3. The equilibrium strategy gets 2. A depth-limited best response that looks no further than the two sides
    takes it that player 1 will choose ``y``. It shows heads and gets 2/3: more than the value, less than the
    equilibrium strategy.

    References
    ----------
    D. Milec, O. Kubicek, V. Lisy (2021), "Continual depth-limited responses for computing counter-strategies in
    sequential games", arXiv:2112.12594, figure 10.

    Examples
    --------
    >>> rules = DepthLimitedFigure10()
    >>> rules.infoset(("T", "t")), rules.payoffs(("T", "t", "x"))
    ('_Tt', (10, -10))
    """

    name: ClassVar[str] = "depth_limited_figure_10"
    tree: ClassVar[Decision | Deal] = Decision(
        0,
        "_",
        {
            "H": Decision(1, "_", {"h": 1, "t": 0}),
            "T": Decision(1, "_", {"h": 0, "t": Decision(1, "_Tt", {"x": 10, "y": 1})}),
        },
    )
    model: ClassVar[Model] = {"_": {"h": Fraction(2, 3), "t": Fraction(1, 3)}, "_Tt": {"x": Fraction(1)}}


def _reference(rules: DepthLimitedFigure10) -> Reference | None:
    return Reference(Fraction(1, 2), "Milec, Kubicek and Lisy (2021), appendix F: exact")


FAMILY = Family(
    rules=DepthLimitedFigure10,
    summary="Matching pennies with a gift: a depth-limited best response below the equilibrium",
    citation="D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594, figure 10",
    reference=_reference,
)
