"""Heads-up hold'em before the flop: 169 classes of hands, a menu of raises, and values after the flop."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ....seqform.errors import InvalidGameError
from ....seqform.parameters import About
from ..registry import Family
from .posts import HALF, Amount, Ante, BigBlindAnte, Posts, SmallBlind, Straddle, amount

if TYPE_CHECKING:
    from ....seqform.budget import FormSize
    from ....seqform.functional import Functional
    from ....seqform.game import Game
    from ....seqform.public_form import PublicForm

#: The seats by player.
PREFLOP_SEATS = ("sb", "bb")
#: The chooser's options from the flop on: the blueprint, or the blueprint with one kind of action five times as often.
CONTINUATIONS = ("blueprint", "fold-biased", "call-biased", "raise-biased")
#: The first raise is to one of these, in big blinds or straddles, and each later one to this multiple of the previous
#: one.
OPENINGS, AGAIN = (2, 3), 3


@dataclass(frozen=True)
class Betting:
    """A state of the betting.

    Parameters
    ----------
    paid : two Fractions
        The amount that each player has put in, in big blinds, without antes.
    mover : int
    street : int
        0 before the flop, then the rounds of the model; at a showdown, larger than the number of rounds.
    raised : int
        Number of bets and raises on the street, without blinds.
    folded : int
        The player who folded; −1 if nobody did.
    waits : bool
        Whether the other player has already called the blind, or checked.
    """

    paid: tuple[Fraction, Fraction]
    mover: int
    street: int = 0
    raised: int = 0
    folded: int = -1
    waits: bool = False

    @property
    def is_first(self) -> bool:
        """Whether nobody has moved on the street."""
        return not self.raised and not self.waits


@dataclass(frozen=True)
class Preflop(Posts):
    """Heads-up no-limit hold'em before the flop, with 169 classes of hands.

    The small blind (player 0, ``sb``) posts half a big blind and moves first, the big blind (player 1, ``bb``) posts
    one. First in, a player folds, calls, raises to 2 or 3 big blinds, or goes all-in. A later raise is to three times
    the previous one, or all-in. After an all-in that is called, the board is dealt, and pairs of classes are paid by
    their exact equities. Every amount, and every payoff, is in big blinds: 0.001 is 1 mBB.

    With a `straddle`, player 0, who is on the button, posts it instead of the small blind. The big blind then moves
    first, and raises first in are to 2 or 3 straddles.

    Other hands go to the flop. There the model has a smaller game, in which the board stays hidden until the showdown.
    On each of its `streets` the big blind moves first. A bet is the pot and a raise is the pot after a call, with one
    raise per street; amounts beyond a stack are all-in. With ``continuations=0`` this game is played out. Otherwise the
    hand ends at the flop. With one continuation, its value is the payoff under the *blueprint*, a strategy for the
    whole model. With more continuations, the `chooser` chooses for each hand whether to continue as the blueprint does,
    or to fold, call or raise five times as often: the multi-valued states of Brown, Sandholm and Amos.

    Parameters
    ----------
    stack : int or Fraction
        The chips of each player before blinds and antes, in big blinds. Nobody can bet more than the shorter stack
        after antes.
    continuations : int
        Number of continuations of the chooser, the first ones of :data:`CONTINUATIONS`; 0 plays the model out.
    chooser : {"bb", "sb"}
        The chooser. Use the other player's strategy: it is robust against all continuations.
    raises : int
        Largest number of raises before all-in.
    streets : int
        Betting rounds in the model after the flop.
    small_blind : int or Fraction
        In big blinds: 2/5 for blinds of 2 and 5.
    ante, bb_ante : int or Fraction
        The ante of each player, and the ante that only the big blind posts, in big blinds. Antes are part of the pot
        and not of the bets, so a raise to 2 is to 2 big blinds in addition to the ante.
    straddle : int or Fraction
        In big blinds; 0 if there is none.

    Raises
    ------
    InvalidGameError
        If a number is out of range, or antes, blinds and straddle leave nobody a bet.

    Notes
    -----
    *Infosets* are labelled by the actions so far and the class, such as ``(('raise 2',), 'AKs')``.

    *Simplified*: equities are realised, because no card is seen while bets are made after the flop. A class stands for
    all its hands, which loses nothing here because suits only matter on boards.

    References
    ----------
    N. Brown, T. Sandholm, B. Amos (2018), "Depth-limited solving for imperfect-information games", NeurIPS; the menu is
    that of Q. Ju, T. Tellier, M. Sun, Z. Fang, Y. Luo (2025), "Preference-CFR", ICML.

    Examples
    --------
    >>> from treeplex.models.games.holdem.preflop import Preflop
    >>> rules = Preflop(stack=10, continuations=0)
    >>> [action for action, _ in rules.moves(rules.begun)]
    ['fold', 'call', 'raise 2', 'raise 3', 'all-in']

    Blinds of 2 and 5 and an ante of 1, with stacks of 52 chips:

    >>> rules = Preflop(stack=10.4, small_blind=0.4, ante=0.2)
    >>> str(rules.pot(rules.begun))
    '9/5'
    """

    name: ClassVar[str] = "preflop"
    num_players: ClassVar[int] = 2

    stack: Annotated[Amount, amount("stack of each player", 2, 1000)] = 100
    continuations: Annotated[int, About("continuations at the flop; 0 plays the model out", minimum=0, maximum=4)] = 4
    chooser: Annotated[Literal["bb", "sb"], About("player who chooses a continuation")] = "bb"
    raises: Annotated[int, About("largest number of raises before all-in", minimum=1, maximum=10)] = 3
    streets: Annotated[int, About("betting rounds after the flop", minimum=1, maximum=3)] = 1
    small_blind: SmallBlind = HALF
    ante: Ante = 0
    bb_ante: BigBlindAnte = 0
    straddle: Straddle = 0
    #: The first raise is to one of these multiples of the amount to call.
    openings: ClassVar[Sequence[int | Fraction]] = OPENINGS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.continuations == 0 and self.chooser != "bb":
            raise InvalidGameError("preflop: chooser = sb with continuations = 0; expected continuations = 1 or more")

    @property
    def begun(self) -> "Betting":
        """The start of the hand: antes and blinds are posted."""
        button, big_blind = self.blinds
        return Betting((button, big_blind), self.begins)

    def pot(self, state: "Betting") -> Fraction:
        """Return the pot, antes included."""
        return sum(state.paid, sum(self.antes, Fraction(0)))

    def payoff(self, state: "Betting", sign: int = 0) -> Fraction:
        """Return player 0's payoff at the end of a hand.

        Parameters
        ----------
        state : Betting
        sign : {1, 0, -1}
            Whether player 0 wins, splits or loses a showdown.
        """
        if state.folded >= 0:
            sign = 1 if state.folded else -1
        lost = [paid + ante for paid, ante in zip(state.paid, self.antes, strict=True)]
        return lost[1] if sign > 0 else -lost[0] if sign < 0 else (lost[1] - lost[0]) / 2

    @property
    def game(self) -> "Game":
        """The game, as ``load_game("preflop:…")`` returns it."""
        return FAMILY.game(FAMILY.values(self))

    @property
    def public_form(self) -> "PublicForm":
        """The game in public form."""
        return _public_form(self)

    def moves(self, state: "Betting") -> "Iterator[tuple[str, Betting]]":
        """Yield each action of the mover, from fold to all-in, with the state that follows.

        Amounts in names are totals in big blinds before the flop; later bets are named by kind only.
        """
        me, level = state.mover, max(state.paid)
        if state.paid[me] < level:
            yield "fold", replace(state, folded=me)
        yield "call" if state.paid[me] < level else "check", self._called(state)
        if level < self.most and state.raised < (2 if state.street else self.raises + 1):
            for name, amount in self._sizes(state, level):
                paid = (amount, state.paid[1]) if me == 0 else (state.paid[0], amount)
                yield name, Betting(paid, 1 - me, state.street, state.raised + 1)

    def _sizes(self, state: "Betting", level: Fraction) -> "Iterator[tuple[str, Fraction]]":
        if state.street:
            amount = level + 2 * level + sum(self.antes)
            name = "raise" if state.raised else "bet"
            yield (name, amount) if amount < self.most else ("all-in", self.most)
            return
        if state.raised < self.raises:
            for amount in [one * level for one in self.openings] if level == self.opened else [AGAIN * level]:
                if amount < self.most:
                    yield f"raise {float(amount):.10g}", amount
        yield "all-in", self.most

    def _called(self, state: "Betting") -> "Betting":
        level = max(state.paid)
        # The big blind may raise after a call of the small one, and the second player after a check.
        if state.is_first:
            return Betting((level, level), 1 - state.mover, state.street, 0, waits=True)
        street = self.streets + 1 if level == self.most else state.street + 1
        return Betting((level, level), 1, street)

    def is_over(self, state: "Betting") -> bool:
        """Return whether somebody has folded, or hands are shown."""
        return state.folded >= 0 or state.street > self.streets


def _public_form(rules: Preflop) -> "PublicForm":
    from .preflop_form import played_out, with_continuations

    return with_continuations(rules) if rules.continuations else played_out(rules).form


def _form_size(rules: Preflop) -> "FormSize":
    from .preflop_form import form_size

    return form_size(rules)


def _lines(rules: Preflop, game: "Game") -> "Mapping[str, Functional]":
    """Return the frequencies of lines before the flop, over all hands dealt."""
    from .classes import CLASS_SIZES
    from .locks import line_functionals
    from .preflop_form import betting_tree

    tree, dealt = betting_tree(rules), CLASS_SIZES / CLASS_SIZES.sum()
    return line_functionals(tree, tree.num_sequences, PREFLOP_SEATS, lambda player, node: dealt)


class PreflopFamily(Family):
    """The family of preflop games, built in public form."""

    def parts(self, rules: Preflop) -> dict[str, Any]:
        """Return the public form, which is built on first use."""
        return {
            "public_form": partial(_public_form, rules),
            "size": partial(_form_size, rules),
            "functionals": partial(_lines, rules),
            "learned_to": 0.004,  # Ju et al.: "exploitability below 4 mBB/h"
            "exact_up_to": 0,
            "without_histories": "it has 169 classes of hands and a public tree, but no list of histories",
        }


FAMILY = PreflopFamily(
    rules=Preflop,
    summary="Heads-up hold'em before the flop: 169 classes, a menu of raises, multi-valued states at the flop",
    citation="N. Brown, T. Sandholm, B. Amos (2018), NeurIPS; Q. Ju et al. (2025), ICML: Preference-CFR",
)
