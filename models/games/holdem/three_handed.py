"""Three-handed hold'em before the flop: 169 classes of hands, a menu of raises, and no betting after it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from operator import add
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ....seqform.rules import TERMINAL
from ..registry import Family
from .posts import HALF, Amount, Ante, BigBlindAnte, Posts, SmallBlind, Straddle, amount

if TYPE_CHECKING:
    from ....seqform.budget import FormSize
    from ....seqform.joint_form import JointForm
    from ....seqform.sequence_form import SequenceForm

#: The seats by player, in the order in which they act before the flop.
SEATS = ("button", "sb", "bb")
#: Raises are to one of these amounts, in big blinds or straddles, or all-in.
SIZES = (2, 3)


@dataclass(frozen=True)
class Pot:
    """A state of the betting.

    Parameters
    ----------
    paid : three Fractions
        The amount that each player has put in, in big blinds, without antes.
    mover : int
    folded : frozenset of int
    waiting : int
        Number of players who still have to act unless somebody raises, including the mover; 0 once the betting is over.
    """

    paid: tuple[Fraction, ...]
    mover: int
    folded: frozenset[int] = frozenset()
    waiting: int = 3

    @property
    def in_play(self) -> tuple[int, ...]:
        """The players who have not folded."""
        return tuple(player for player in range(3) if player not in self.folded)

    @property
    def is_over(self) -> bool:
        """Whether all but one have folded, or no player still has to act."""
        return len(self.folded) == 2 or not self.waiting


@dataclass(frozen=True)
class ThreeHanded(Posts):
    """Three-handed no-limit hold'em before the flop, with 169 classes of hands.

    The button (player 0) moves first, then the small blind (player 1), who has posted half a big blind, and the big
    blind (player 2), who has posted one. The mover folds, calls, raises to 2 or 3 big blinds, or goes all-in; a raise
    must exceed every earlier one. Every amount, and every payoff, is in big blinds: 0.001 is 1 mBB.

    With a `straddle`, which the button posts, the small blind moves first, and raises are to 2 or 3 straddles.

    Once the betting is over, the board is dealt and hands are shown.

    Parameters
    ----------
    stack : int or Fraction
        The chips of each player before blinds and antes, in big blinds.
    small_blind : int or Fraction
        In big blinds: 2/5 for blinds of 2 and 5.
    ante, bb_ante : int or Fraction
        The ante of each player, and the ante that only the big blind posts, in big blinds. Antes are part of the pot
        and not of the bets.
    straddle : int or Fraction
        In big blinds; 0 if there is none.

    Raises
    ------
    InvalidGameError
        If a number is out of range, or antes, blinds and straddle leave nobody a bet.

    Notes
    -----
    *Simplified*: there are no bets after the flop. With `bb_ante`, nobody bets more than the big blind has left, so
    there are no side pots. Folded cards affect the opponents' possible hands but not the
    distribution of boards. Two players are therefore paid by the exact equities of their classes. The shares of three
    players come from a file made by ``examples/three_handed_equities.py``. It uses two deals of every three classes on
    each kind of board, about 130,000 possible ones, with a standard error of about 0.2 % of the pot.

    *Infosets* are labelled by the actions so far and the class, such as ``(('raise 2', 'fold'), 'AKs')``.

    For games of three players, the limit of regret minimisation has no proven properties; see the guide to games of
    three players.

    References
    ----------
    Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo (2025), "Preference-CFR: beyond Nash equilibrium for better game
    strategies", ICML, section 5.2, whose players continue after the flop.

    Examples
    --------
    >>> from treeplex.models.games.holdem.three_handed import ThreeHanded
    >>> rules = ThreeHanded(stack=20)
    >>> [action for action, _ in rules.moves(rules.begun)]
    ['fold', 'call', 'raise 2', 'raise 3', 'all-in']
    """

    name: ClassVar[str] = "three_handed"
    num_players: ClassVar[int] = 3

    stack: Annotated[Amount, amount("stack of each player", 4, 1000)] = 25
    small_blind: SmallBlind = HALF
    ante: Ante = 0
    bb_ante: BigBlindAnte = 0
    straddle: Straddle = 0

    @property
    def begun(self) -> Pot:
        """The start of the hand: antes and blinds are posted."""
        return Pot(self.blinds, self.begins)

    def moves(self, state: Pot) -> Iterator[tuple[str, Pot]]:
        """Yield each action of the mover, from fold to all-in, with the state that follows."""
        me, level = state.mover, max(state.paid)
        if state.paid[me] < level:
            yield "fold", self._next(replace(state, folded=state.folded | {me}, waiting=state.waiting - 1))
        name = "call" if state.paid[me] < level else "check"
        yield name, self._next(replace(state, paid=_with(state.paid, me, level), waiting=state.waiting - 1))
        sizes = [size * self.opened for size in SIZES]
        for total in (*(size for size in sizes if size < self.most), self.most):
            if total > level:
                name = "all-in" if total == self.most else f"raise {float(total):.10g}"
                waiting = len(state.in_play) - 1
                yield name, self._next(replace(state, paid=_with(state.paid, me, total), waiting=waiting))

    def _next(self, state: Pot) -> Pot:
        """Return a state in which it is the next player's turn."""
        mover = (state.mover + 1) % 3
        while mover in state.folded:
            mover = (mover + 1) % 3
        return replace(state, mover=mover)

    @property
    def form(self) -> "JointForm":
        """The game in public form."""
        from .three_handed_form import joint_form

        states, players, parents, actions = self._tree
        over = {
            node: (tuple(map(add, state.paid, self.antes)), state.in_play)
            for node, state in enumerate(states)
            if state.is_over
        }
        return joint_form(players, parents, actions, over, float(self.stack))

    def form_size(self) -> "FormSize":
        """Return the size of the sequence form, from the betting alone."""
        from .three_handed_form import form_size

        _, players, parents, actions = self._tree
        return form_size(players, parents, actions)

    @property
    def _tree(self) -> tuple[list[Pot], list[int], list[int], list[str]]:
        """The states and, for each decision, its parent and the action that leads there."""
        from .bets import unrolled

        states, parents, actions = unrolled(self.begun, lambda state: () if state.is_over else self.moves(state))
        return states, [TERMINAL if state.is_over else state.mover for state in states], parents, actions


def _with(paid: tuple[Fraction, ...], player: int, amount: Fraction) -> tuple[Fraction, ...]:
    return (*paid[:player], amount, *paid[player + 1 :])


def _sequence_form(rules: ThreeHanded) -> "SequenceForm":
    return rules.form.sequence_form()


class ThreeHandedFamily(Family):
    """The family of three-player preflop games, built in public form."""

    def parts(self, rules: ThreeHanded) -> dict[str, Any]:
        """Return the sequence form, which is built on first use."""
        return {
            "sequence_form": partial(_sequence_form, rules),
            "size": rules.form_size,
            "without_histories": "it has 169 classes of hands and a public tree, but no list of histories",
        }


FAMILY = ThreeHandedFamily(
    rules=ThreeHanded,
    summary="Three-handed hold'em before the flop: 169 classes, a menu of raises, hands checked down after it",
    citation="Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo (2025), ICML: Preference-CFR",
)
