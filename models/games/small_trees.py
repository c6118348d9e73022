"""Explicit games from papers or made for this library: whole trees as nested data, walked as rules."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from ...seqform.rules import CHANCE, TERMINAL
from .registry import Family, known_value

#: A player's action probabilities, by infoset and action.
Model = Mapping[Hashable, Mapping[Hashable, Fraction]]


@dataclass(frozen=True)
class Decision:
    """A history at which a player moves.

    Parameters
    ----------
    player : int
    infoset : str
        The label of the infoset.
    branches : mapping
        The result of each action: another node, or player 0's payoff (in a general-sum game, all players' payoffs).
    """

    player: int
    infoset: str
    branches: "Mapping[str, Decision | Deal | int | tuple[Fraction | int, ...]]"


@dataclass(frozen=True)
class Deal:
    """A history at which chance moves in secret: at least one player does not see the outcome.

    Parameters
    ----------
    chances : mapping
        The probability of each outcome.
    branches : mapping
        The result of each outcome.
    """

    chances: Mapping[str, Fraction]
    branches: "Mapping[str, Decision | Deal | int | tuple[Fraction | int, ...]]"


class ExplicitTree:
    """The rules of a game with an explicit tree, except its players and payoffs.

    Attributes
    ----------
    tree : Decision or Deal
        The root.
    """

    tree: ClassVar[Decision | Deal]

    # A state is the outcomes and actions so far.

    def _node(self, state: Any) -> Any:
        node: Any = self.tree
        for step in state:
            node = node.branches[step]
        return node

    def initial_state(self) -> tuple[str, ...]:
        """Return the state before any action."""
        return ()

    def player(self, state: Any) -> int:
        """Return the player to move."""
        node = self._node(state)
        if isinstance(node, Decision):
            return node.player
        return CHANCE if isinstance(node, Deal) else TERMINAL

    def actions(self, state: Any) -> Sequence[str]:
        """Return the actions in the order of the tree."""
        return tuple(self._node(state).branches)

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the outcomes with their probabilities."""
        return list(self._node(state).chances.items())

    def child(self, state: Any, action: Any) -> tuple[str, ...]:
        """Return the state after an outcome or an action."""
        return (*state, action)

    def infoset(self, state: Any) -> str:
        """Return the label of the decision."""
        label: str = self._node(state).infoset
        return label


class SmallTree(ExplicitTree):
    """The rules of a two-player zero-sum game with an explicit tree.

    A family derives from it a frozen dataclass without fields and gives it a ``name`` and a ``tree``.

    Attributes
    ----------
    model : mapping
        A model of the opponent, player 1: ``{infoset: {action: probability}}``, as accepted by
        :meth:`Strategy.from_dict <treeplex.Strategy.from_dict>`. Empty if the game has no model.

    Notes
    -----
    No action is seen by all players, so only the number of actions is public.

    Examples
    --------
    >>> from treeplex.models.games.small_trees import Decision, SmallTree
    >>> class Guess(SmallTree):
    ...     tree = Decision(1, "_", {side: Decision(0, "_", {"H": side == "H", "T": side == "T"}) for side in "HT"})
    >>> rules = Guess()
    >>> state = rules.child(rules.initial_state(), "T")
    >>> rules.player(state), rules.infoset(state), rules.public_state(state), rules.actions(state)
    (0, '_', 1, ('H', 'T'))
    """

    num_players: ClassVar[int] = 2
    model: ClassVar[Model] = {}

    def public_state(self, state: Any) -> int:
        """Return the number of actions taken by the players."""
        return sum(isinstance(self._node(state[:depth]), Decision) for depth in range(len(state)))

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return the leaf's payoff, and its negative for player 1."""
        payoff: int = self._node(state)
        return payoff, -payoff


_HALF = Fraction(1, 2)
_COIN_PAYOFFS = {"red": {"RH": -4, "RT": -1}, "green": {"GH": -2, "GT": 10}}


@dataclass(frozen=True)
class Coin(SmallTree):
    """The coin game: the opponent places a coin in secret, and the player plays or quits.

    Chance picks a red or a green coin, with probability 1/2 each. Player 1 sees it and places it heads up (``RH``,
    ``GH``) or tails up (``RT``, ``GT``). Player 0 sees neither the coin nor its side, and plays (``P``) or quits
    (``Q``). Quitting pays 0. Playing pays player 0 -4 at ``RH``, -1 at ``RT``, -2 at ``GH`` and 10 at ``GT``. Player 0
    is the paper's maximiser.

    Notes
    -----
    *Infosets*: player 0 has one, ``_``; player 1's are ``red_`` and ``green_``.

    *Sizes*: 3 sequences and 1 infoset of player 0, 5 and 2 of player 1, 8 leaves.

    *Equilibrium*: player 0 quits, and the value is 0. Player 1 may use any strategy against which playing is worth at
    most 0, so every counterfactual value is 0.

    *Gadgets*: against ``P`` player 1 does best with ``RH`` and ``GH``, and player 0 gets -3. Resolved from player 0's
    decision on, the resolving gadget gives -3.5, because it adds up all three ways to make ``P`` worse. The max-margin
    gadget gives -2, because it considers only the worst one (chance weights each with 1/2 in both).

    *Model of player 1*: tails up for either coin. The paper states it only for the green coin. Against it ``P`` is
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
            for coin, sides in _COIN_PAYOFFS.items()
        },
    )
    model: ClassVar[Model] = {"red_": {"RT": Fraction(1)}, "green_": {"GT": Fraction(1)}}


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
    probability of heads from 1/3 to 3/4 is optimal. With q = 1/2, player 0's optimum is heads with probability 1/3,
    worth -7/6: -5/3 after ``q`` and -2/3 after ``p``.

    The game has no model of the opponent.

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


@dataclass(frozen=True)
class DepthLimitedFigure10(SmallTree):
    """Matching pennies with a gift: if both show tails, the opponent may pay ten times what it has to.

    Player 0 shows heads (``H``) or tails (``T``). Player 1 does not see it and shows heads (``h``) or tails (``t``).
    Equal heads pay player 0 1, different sides 0. After equal tails player 1 chooses: ``x`` pays player 0 10, ``y``
    pays 1. Player 0 is the paper's maximiser.

    Notes
    -----
    *Infosets*: player 0 has one, ``_``; player 1's are ``_``, and ``_Tt`` if both have shown tails.

    *Sizes*: 3 sequences and 1 infoset of player 0, 5 and 2 of player 1, 5 leaves.

    *Equilibrium*: unique. Both show either side with probability 1/2, and player 1 pays 1; the value is 1/2.

    *Model of player 1*: ``h`` with probability 2/3, ``t`` with 1/3, and always ``x``. Its best response shows tails and
    gets 10/3. The equilibrium strategy gets 2. A depth-limited best response that looks no further than the two sides
    assumes that player 1 will choose ``y``. It shows heads and gets 2/3: more than the value, less than the equilibrium
    strategy.

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


#: The payoffs of player 0's actions after each action of player 1.
_TRAP_PAYOFFS = {
    "lapse": {"a1": 5, "a2": 10, "a3": 15, "a4": 20, "a5": 25},
    "punish": {"a1": 0, "a2": -4, "a3": -9, "a4": -15, "a5": -23},
    "blunder": {"a1": 15, "a2": 1, "a3": -7, "a4": -11, "a5": -12},
}


@dataclass(frozen=True)
class GadgetTrap1(SmallTree):
    """Five ways to exploit a lapse; resolving finds only two, because gadgets do not allow a blunder to be forgiven.

    Player 1 lapses, punishes or blunders. Player 0, who does not see the action, takes one of the actions ``a1`` to
    ``a5``. Player 0 is the exploiter.

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

    *Model of player 1*: it always lapses. So ``a1`` exploits it too, without risk.

    *Frontier*: punishing always costs player 0 at least as much as blundering, so exploitability is linear in its
    mixture. The restricted Nash response to the model takes each of the five actions, pure, on an interval of p:

    ======  ====  ==============  ==============
    action  gain  exploitability  p
    ======  ====  ==============  ==============
    ``a1``  5     0               0 to 4/9
    ``a2``  10    4               4/9 to 1/2
    ``a3``  15    9               1/2 to 6/11
    ``a4``  20    15              6/11 to 8/13
    ``a5``  25    23              8/13 to 1
    ======  ====  ==============  ==============

    *Gadgets*: they resolve player 0's decision under player 1's counterfactual values in the equilibrium: 0 after
    punishing, -15 after blundering, -5 after lapsing. After a blunder each of ``a2`` to ``a5`` gives player 1 more than
    its -15, but blundering is still no better than punishing. Both gadgets count it as a loss. The max-margin gadget
    counts 14, 22, 26, 27 for ``a2`` to ``a5`` instead of the correct 4, 9, 15, 23. The resolving gadget, which adds the
    cost of punishing, counts 18, 31, 41, 50. By either count a mixture of ``a1`` and ``a5`` is better than each action
    between them. So with the resolving gadget ``a1`` is best up to p = 5/7 and ``a5`` from there on. With the
    max-margin gadget they change places at 27/47. The actions ``a2``, ``a3``, ``a4`` are not best for any p.

    References
    ----------
    Made for this library, modelled on the games behind figure 4 of D. Milec, O. Kubicek, V. Lisy (2021), "Continual
    depth-limited responses for computing counter-strategies in sequential games", arXiv:2112.12594. Gadgets: N. Burch,
    M. Johanson, M. Bowling (2014), "Solving imperfect information games using decomposition", AAAI (resolving); M.
    Moravcik, M. Schmid, K. Ha, M. Hladik, S. Gaukrodger (2016), "Refining subgames in large imperfect information
    games", AAAI (max-margin).

    Examples
    --------
    >>> rules = GadgetTrap1()
    >>> rules.payoffs(("punish", "a5"))
    (-23, 23)
    """

    name: ClassVar[str] = "gadget_trap_1"
    tree: ClassVar[Decision | Deal] = Decision(
        1, "_", {reply: Decision(0, "_", payoffs) for reply, payoffs in _TRAP_PAYOFFS.items()}
    )
    model: ClassVar[Model] = {"_": {"lapse": Fraction(1)}}


_LAPSE = {"a1": 5, "a2": 10, "a3": 15, "a4": 20, "a5": 25}
#: The payoffs of player 0's actions after each coin and action of player 1.
_COIN_TRAP_PAYOFFS = {
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
    """Five ways to exploit a lapse; resolving finds only two, because gadgets add up or drop costs weighted by chance.

    Chance picks a red or a green coin, with probability 1/2 each. Player 1 sees it and lapses or punishes; with the red
    coin it may also nudge. Player 0 sees none of this and takes one of the actions ``a1`` to ``a5``. Player 0 is the
    exploiter.

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
    nudging is equally good. The value is 0.

    *Model of player 1*: it always lapses. So ``a1`` exploits it too, without risk.

    *Frontier*: punishing with either coin is player 1's best response to every strategy, so exploitability is linear in
    player 0's mixture. The restricted Nash response to the model takes each of the five actions, pure, on an interval
    of p. Gains and exploitabilities are those of :class:`~treeplex.models.games.GadgetTrap1`:

    ======  ====  ==============  ==============
    action  gain  exploitability  p
    ======  ====  ==============  ==============
    ``a1``  5     0               0 to 4/9
    ``a2``  10    4               4/9 to 1/2
    ``a3``  15    9               1/2 to 6/11
    ``a4``  20    15              6/11 to 8/13
    ``a5``  25    23              8/13 to 1
    ======  ====  ==============  ==============

    *Gadgets*: they resolve player 0's decision under player 1's counterfactual values in the equilibrium: 0 after
    punishing or nudging, -5/2 after lapsing. The resolving gadget adds up the costs of punishing and of nudging,
    although player 1 can do only one of them with the red coin: it counts 7, 16, 55/2, 24 for ``a2`` to ``a5`` instead
    of the correct 4, 9, 15, 23. The max-margin gadget lets player 1 choose one coin with one action, and drops the cost
    of the other coin: 7/2, 8, 14, 12. By either count ``a5`` is too cheap compared with the actions before it. So with
    the resolving gadget ``a1`` is best up to p = 6/11 and ``a5`` from there on. With the max-margin gadget they change
    places at 3/8. The actions ``a2``, ``a3``, ``a4`` are not best for any p. If the weights of the coins are scaled to
    one in the max-margin gadget, its counts double and the change only moves to 6/11.

    References
    ----------
    Made for this library, modelled on the games behind figure 4 of D. Milec, O. Kubicek, V. Lisy (2021), "Continual
    depth-limited responses for computing counter-strategies in sequential games", arXiv:2112.12594, and their coin
    game. Gadgets: N. Burch, M. Johanson, M. Bowling (2014), "Solving imperfect information games using decomposition",
    AAAI (resolving); M. Moravcik, M. Schmid, K. Ha, M. Hladik, S. Gaukrodger (2016), "Refining subgames in large
    imperfect information games", AAAI (max-margin).

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
            for coin, replies in _COIN_TRAP_PAYOFFS.items()
        },
    )
    model: ClassVar[Model] = {f"{coin}_": {"lapse": Fraction(1)} for coin in _COIN_TRAP_PAYOFFS}


_MILEC = "D. Milec, O. Kubicek, V. Lisy (2021), arXiv:2112.12594"
_MADE = "Made for this library after"

FIGURE_2 = Family(
    rules=DepthLimitedFigure2,
    summary="Matching pennies with a choice: unsafe resolving loses the only equilibrium",
    citation=f"{_MILEC}, figure 2",
    reference=known_value(Fraction(-4, 3), "the indifference of player 1 between its two guesses of heads: exact"),
)
COIN = Family(
    rules=Coin,
    summary="The coin game: resolving gadgets misjudge what it costs to leave an equilibrium",
    citation=f"{_MILEC}, figure 3",
    reference=known_value(Fraction(0), "Milec, Kubicek and Lisy (2021), figure 3: exact"),
)
FIGURE_10 = Family(
    rules=DepthLimitedFigure10,
    summary="Matching pennies with a gift: a depth-limited best response below the equilibrium",
    citation=f"{_MILEC}, figure 10",
    reference=known_value(Fraction(1, 2), "Milec, Kubicek and Lisy (2021), appendix F: exact"),
)
GADGET_TRAP_1 = Family(
    rules=GadgetTrap1,
    summary="Five exploiting actions, no chance: resolving and max-margin gadgets find two",
    citation=f"{_MADE} {_MILEC}, figures 4 and 8",
    reference=known_value(Fraction(0), "saddle point in pure strategies: exact"),
)
GADGET_TRAP_2 = Family(
    rules=GadgetTrap2,
    summary="Five exploiting actions and a coin: resolving and max-margin gadgets find two",
    citation=f"{_MADE} {_MILEC}, figures 3, 4 and 8",
    reference=known_value(Fraction(0), "saddle point in pure strategies: exact"),
)
