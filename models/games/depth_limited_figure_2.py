"""Matching pennies with a choice: figure 2 of the paper on depth-limited responses."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .family import Family, Reference
from .small_trees import Deal, Decision, SmallTree

_OWN = {"H": {"h": -1, "t": -2}, "T": {"h": -2, "t": 1}}
_STANDARD = {"H": {"h": -2, "t": 0}, "T": {"h": 0, "t": -1}}


@dataclass(frozen=True)
class DepthLimitedFigure2(SmallTree):
    """Matching pennies with a choice: the guesser first picks, in secret, which version is played.

    Player 1 picks its own version (``q``) or the standard one (``p``) of biased matching pennies. Player 0, who does
    not see which, shows heads (``H``) or tails (``T``). Player 1, who does not see the side, guesses heads (``h``) or
    tails (``t``). Player 0 is the paper's maximiser.

    Payoffs to player 0:

    =========  =====  =====
    player 1   ``H``  ``T``
    =========  =====  =====
    ``q, h``   -1     -2
    ``q, t``   -2     1
    ``p, h``   -2     0
    ``p, t``   0      -1
    =========  =====  =====

    Notes
    -----
    *Infosets*: player 0 has one, ``_``; player 1's are ``_``, and ``_q`` and ``_p`` at its guess.

    *Sizes*: 3 sequences and 1 infoset of player 0, 7 and 3 of player 1, 8 leaves.

    *Equilibrium*: unique. Player 0 shows heads with probability 2/3. Player 1 picks its own version with probability
    2/3 and guesses heads in both. The value is -4/3.

    *Depth-limited solving*: once player 1's pick is fixed at q = 2/3 and replaced by chance (unsafe resolving), every
    probability of heads from 1/3 to 3/4 is optimal. With q = 1/2, player 0's best is heads with probability 1/3, worth
    -7/6: -5/3 after ``q`` and -2/3 after ``p``.

    The game comes with no model of the opponent.

    References
    ----------
    D. Milec, O. Kubicek, V. Lisy (2021), "Continual depth-limited responses for computing counter-strategies in
    sequential games", arXiv:2112.12594, figure 2.

    Examples
    --------
    >>> rules = DepthLimitedFigure2()
    >>> rules.infoset(("q", "T")), rules.payoffs(("q", "T", "t"))
    ('_q', (1, -1))
    """

    name: ClassVar[str] = "depth_limited_figure_2"
    tree: ClassVar[Decision | Deal] = Decision(
        1,
        "_",
        {
            version: Decision(0, "_", {side: Decision(1, f"_{version}", guesses) for side, guesses in payoffs.items()})
            for version, payoffs in (("q", _OWN), ("p", _STANDARD))
        },
    )


def _reference(rules: DepthLimitedFigure2) -> Reference | None:
    return Reference(Fraction(-4, 3), "the indifference of player 1 between its two guesses of heads: exact")


FAMILY = Family(
    rules=DepthLimitedFigure2,
    summary="Matching pennies with a choice: unsafe resolving loses the only equilibrium",
    citation="D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594, figure 2",
    reference=_reference,
)
