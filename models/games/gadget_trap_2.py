"""A coin game in which the resolving and the max-margin gadget lose three of five exploiting actions."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .family import Family, Reference
from .small_trees import Deal, Decision, Model, SmallTree

_HALF = Fraction(1, 2)
_LAPSE = {"a1": 5, "a2": 10, "a3": 15, "a4": 20, "a5": 25}
#: What player 0's actions pay after each coin and action of player 1.
_PAYOFFS = {
    "red": {
        "lapse": _LAPSE,
        "punish": {"a1": 0, "a2": -7, "a3": -16, "a4": -28, "a5": -24},
        "nudge": {"a1": 0, "a2": -6, "a3": -14, "a4": -25, "a5": -2},
    },
    "green": {
        "lapse": _LAPSE,
        "punish": {"a1": 0, "a2": -1, "a3": -2, "a4": -2, "a5": -22},
    },
}


@dataclass(frozen=True)
class GadgetTrap2(SmallTree):
    """Five ways to exploit a lapse, of which resolving finds two, because gadgets add up or drop what chance weighs.

    Chance picks a red or a green coin, with probability 1/2 each. Player 1 sees it and lapses or punishes; with the red
    coin it may also nudge. Player 0 sees nothing of this and takes one of the actions ``a1`` to ``a5``. Player 0 is
    the exploiter.

    Payoffs to player 0:

    =================  ======  ======  ======  ======  ======
    coin, player 1     ``a1``  ``a2``  ``a3``  ``a4``  ``a5``
    =================  ======  ======  ======  ======  ======
    ``red, lapse``     5       10      15      20      25
    ``red, punish``    0       -7      -16     -28     -24
    ``red, nudge``     0       -6      -14     -25     -2
    ``green, lapse``   5       10      15      20      25
    ``green, punish``  0       -1      -2      -2      -22
    =================  ======  ======  ======  ======  ======

    Notes
    -----
    *Infosets*: player 0 has one, ``_``; player 1's are ``red_`` and ``green_``.

    *Sizes*: 6 sequences and 1 infoset of player 0, 6 and 2 of player 1, 25 leaves.

    *Equilibrium*: player 0 takes ``a1`` and has no other equilibrium strategy. Player 1 punishes; with the red coin
    nudges do as well. The value is 0.

    *Model of player 1*: it always lapses. So ``a1`` exploits it too, at no risk.

    *Frontier*: to punish with either coin is player 1's best reply to every strategy, so exploitability is linear in
    player 0's mixture, and the restricted Nash response to the model takes each of the five actions, pure, on an
    interval of p. Gains and exploitabilities are those of :class:`~treeplex.models.games.GadgetTrap1`:

    ======  ====  ==============  ==============
    action  gain  exploitability  p
    ======  ====  ==============  ==============
    ``a1``  5     0               0 to 4/9
    ``a2``  10    4               4/9 to 1/2
    ``a3``  15    9               1/2 to 6/11
    ``a4``  20    15              6/11 to 8/13
    ``a5``  25    23              8/13 to 1
    ======  ====  ==============  ==============

    *Gadgets*: they resolve player 0's decision under player 1's counterfactual values in the equilibrium: 0 where it
    has punished or nudged, -5/2 where it has lapsed. The resolving gadget adds up what to punish and to nudge cost,
    though player 1 can do but one of them with the red coin: 7, 16, 55/2, 24 for ``a2`` to ``a5``, where 4, 9, 15, 23
    are right. The max-margin gadget lets player 1 choose one coin with one action, and drops what the other coin
    costs: 7/2, 8, 14, 12. By either count ``a5`` is too cheap beside the actions before it. So with the resolving
    gadget ``a1`` is best up to p = 6/11 and ``a5`` from there on, with the max-margin gadget they change places at 3/8,
    and ``a2``, ``a3``, ``a4`` are best at no p. Weights of the coins that are scaled to one in the max-margin gadget
    double its counts and only move the change, to 6/11.

    References
    ----------
    Made for this library after the games behind figure 4 of D. Milec, O. Kubicek, V. Lisy (2021), "Continual
    depth-limited responses for computing counter-strategies in sequential games", arXiv:2112.12594, and their coin
    game. Gadgets: N. Burch, M. Johanson, M. Bowling (2014), "Solving imperfect information games using
    decomposition", AAAI (resolving); M. Moravcik, M. Schmid, K. Ha, M. Hladik, S. Gaukrodger (2016), "Refining
    subgames in large imperfect information games", AAAI (max-margin).

    Examples
    --------
    >>> rules = GadgetTrap2()
    >>> rules.infoset(("green",)), rules.actions(("green",)), rules.payoffs(("green", "punish", "a5"))
    ('green_', ('lapse', 'punish'), (-22, 22))
    """

    name: ClassVar[str] = "gadget_trap_2"
    tree: ClassVar[Decision | Deal] = Deal(
        {"red": _HALF, "green": _HALF},
        {
            coin: Decision(1, f"{coin}_", {reply: Decision(0, "_", payoffs) for reply, payoffs in replies.items()})
            for coin, replies in _PAYOFFS.items()
        },
    )
    model: ClassVar[Model] = {f"{coin}_": {"lapse": Fraction(1)} for coin in _PAYOFFS}


def _reference(rules: GadgetTrap2) -> Reference | None:
    return Reference(Fraction(0), "saddle point in pure strategies: exact")


FAMILY = Family(
    rules=GadgetTrap2,
    summary="Five exploiting actions and a coin: resolving and max-margin gadgets find two",
    citation="Made for this library after D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594, figures 3, 4 and 8",
    reference=_reference,
)
