"""A game without chance in which the resolving and the max-margin gadget lose three of five exploiting actions."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from .family import Family, Reference
from .small_trees import Deal, Decision, Model, SmallTree

#: What player 0's actions pay after each action of player 1.
_PAYOFFS = {
    "lapse": {"a1": 5, "a2": 10, "a3": 15, "a4": 20, "a5": 25},
    "punish": {"a1": 0, "a2": -4, "a3": -9, "a4": -15, "a5": -23},
    "blunder": {"a1": 15, "a2": 1, "a3": -7, "a4": -11, "a5": -12},
}


@dataclass(frozen=True)
class GadgetTrap1(SmallTree):
    """Five ways to exploit a lapse, of which resolving finds two, because gadgets do not let a blunder be forgiven.

    Player 1 lapses, punishes or blunders. Player 0, who does not see which, takes one of the actions ``a1`` to ``a5``.
    Player 0 is the exploiter.

    Payoffs to player 0:

    ===========  ======  ======  ======  ======  ======
    player 1     ``a1``  ``a2``  ``a3``  ``a4``  ``a5``
    ===========  ======  ======  ======  ======  ======
    ``lapse``    5       10      15      20      25
    ``punish``   0       -4      -9      -15     -23
    ``blunder``  15      1       -7      -11     -12
    ===========  ======  ======  ======  ======  ======

    Notes
    -----
    *Infosets*: each player has one, labelled ``_``.

    *Sizes*: 6 sequences and 1 infoset of player 0, 4 and 1 of player 1, 15 leaves.

    *Equilibrium*: unique. Player 0 takes ``a1``, player 1 punishes; the value is 0.

    *Model of player 1*: it always lapses. So ``a1`` exploits it too, at no risk.

    *Frontier*: to punish costs player 0 at least as much as to blunder whatever it does, so exploitability is linear
    in its mixture, and the restricted Nash response to the model takes each of the five actions, pure, on an interval
    of p:

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
    has punished, -15 where it has blundered, -5 where it has lapsed. After a blunder each of ``a2`` to ``a5`` gives
    player 1 more than its -15, and to blunder is still no better than to punish. Both gadgets count it as a
    loss: the max-margin gadget counts 14, 22, 26, 27 for ``a2`` to ``a5``, where 4, 9, 15, 23 are right; the resolving
    gadget, which adds what to punish costs, 18, 31, 41, 50. By either count a mixture of ``a1`` and ``a5`` is better
    than each action between them. So with the resolving gadget ``a1`` is best up to p = 5/7 and ``a5`` from there on,
    with the max-margin gadget they change places at 27/47, and ``a2``, ``a3``, ``a4`` are best at no p.

    References
    ----------
    Made for this library after the games behind figure 4 of D. Milec, O. Kubicek, V. Lisy (2021), "Continual
    depth-limited responses for computing counter-strategies in sequential games", arXiv:2112.12594. Gadgets:
    N. Burch, M. Johanson, M. Bowling (2014), "Solving imperfect information games using decomposition", AAAI
    (resolving); M. Moravcik, M. Schmid, K. Ha, M. Hladik, S. Gaukrodger (2016), "Refining subgames in large imperfect
    information games", AAAI (max-margin).

    Examples
    --------
    >>> rules = GadgetTrap1()
    >>> rules.payoffs(("punish", "a5"))
    (-23, 23)
    """

    name: ClassVar[str] = "gadget_trap_1"
    tree: ClassVar[Decision | Deal] = Decision(
        1, "_", {reply: Decision(0, "_", payoffs) for reply, payoffs in _PAYOFFS.items()}
    )
    model: ClassVar[Model] = {"_": {"lapse": Fraction(1)}}


def _reference(rules: GadgetTrap1) -> Reference | None:
    return Reference(Fraction(0), "saddle point in pure strategies: exact")


FAMILY = Family(
    rules=GadgetTrap1,
    summary="Five exploiting actions, no chance: resolving and max-margin gadgets find two",
    citation="Made for this library after D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594, figures 4 and 8",
    reference=_reference,
)
