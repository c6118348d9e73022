"""The coin game: figure 3 of the paper on depth-limited responses."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .family import Family, Reference
from .small_trees import Deal, Decision, Model, SmallTree

_HALF = Fraction(1, 2)
_PLAY = {"red": {"RH": -4, "RT": -1}, "green": {"GH": -2, "GT": 10}}


@dataclass(frozen=True)
class Coin(SmallTree):
    """The coin game: an opponent places a coin in secret, and one plays or quits.

    Chance picks a red or a green coin, with probability 1/2 each. Player 1 sees it and places it heads up (``RH``,
    ``GH``) or tails up (``RT``, ``GT``). Player 0 sees neither the coin nor its side, and plays (``P``) or quits
    (``Q``). To quit pays 0. To play pays player 0 -4 at ``RH``, -1 at ``RT``, -2 at ``GH`` and 10 at ``GT``. Player 0
    is the paper's maximiser.

    Notes
    -----
    *Infosets*: player 0 has one, ``_``; player 1's are ``red_`` and ``green_``.

    *Sizes*: 3 sequences and 1 infoset of player 0, 5 and 2 of player 1, 8 leaves.

    *Equilibrium*: player 0 quits, and the value is 0. Player 1 may do anything against which to play is worth 0 at
    most, so every counterfactual value is 0.

    *Gadgets*: against the play of ``P`` player 1 does best with ``RH`` and ``GH``, and player 0 gets -3. Resolved from
    player 0's decision on, the resolving gadget says -3.5, because it adds up all three ways to make ``P`` worse; the
    max-margin gadget says -2, because it looks at the worst one alone (chance weighs each with 1/2 in both).

    *Model of player 1*: tails up, whatever the coin. The paper states it for the green coin alone. Against it ``P`` is
    worth 9/2.

    References
    ----------
    D. Milec, O. Kubicek, V. Lisy (2021), "Continual depth-limited responses for computing counter-strategies in
    sequential games", arXiv:2112.12594, figure 3.

    Examples
    --------
    >>> rules = Coin()
    >>> rules.infoset(("green",)), rules.payoffs(("green", "GT", "P"))
    ('green_', (10, -10))
    """

    name: ClassVar[str] = "coin"
    tree: ClassVar[Decision | Deal] = Deal(
        {"red": _HALF, "green": _HALF},
        {
            coin: Decision(
                1, f"{coin}_", {side: Decision(0, "_", {"P": payoff, "Q": 0}) for side, payoff in sides.items()}
            )
            for coin, sides in _PLAY.items()
        },
    )
    model: ClassVar[Model] = {"red_": {"RT": Fraction(1)}, "green_": {"GT": Fraction(1)}}


def _reference(rules: Coin) -> Reference | None:
    return Reference(Fraction(0), "Milec, Kubicek and Lisy (2021), figure 3: exact")


FAMILY = Family(
    rules=Coin,
    summary="The coin game: resolving gadgets misjudge what it costs to leave an equilibrium",
    citation="D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594, figure 3",
    reference=_reference,
)
