"""Leduc poker, for two or more players and any deck."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Annotated, Any, ClassVar

from ...seqform.errors import InvalidGameError
from ...seqform.parameters import About, check_parameters
from ...seqform.rules import CHANCE, TERMINAL, GameSize
from .cards import MAX_NAMED_SUITS, rank_names, suit_names
from .family import Family, Reference
from .sizes import leduc_size


@dataclass(frozen=True)
class Leduc:
    """Leduc poker: one private card each, one public card, a round of betting before and after it.

    Every player antes 1 and is dealt one card. In each round, from the first player left on, a player facing a bet
    folds (``f``), calls (``c``) or raises (``r``); facing none, checks (``c``) or bets (``r``). Bets and raises are
    of `bet1` in the first round and `bet2` in the second, and there are at most `raises` of them in a round. The
    public card is dealt between the rounds. A private card that pairs the public one wins, then the higher rank;
    equal hands split the pot.

    Parameters
    ----------
    players : int
        Number of players, 2 to 10.
    ranks : int
        Ranks in the deck.
    suits : int
        Cards of each rank.
    merge_suits : bool
        Deal ranks, with chance weights from the cards that are left, in place of cards. Suits never matter at
        showdown, so the value stays and the tree shrinks.
    bet1, bet2 : int
        Size of a bet or raise in each round, in antes.
    raises : int
        Largest number of bets and raises in a round, the bet counted.

    Notes
    -----
    *Infosets* are labelled by the private card, ``_`` and the first round's actions; in the second round there follow
    ``_``, the public card, ``_`` and the second round's actions: ``K_``, ``K_cr``, ``K_rc_Q_``, ``K_rc_Q_cr``. A card
    is its rank, and its suit if suits are kept: three ranks are J, Q, K; two suits are s and h (``Ks``).

    *Sizes*, a player, with two players and the other defaults: 1,093 sequences and 468 infosets, 5,520 leaves; with
    merged suits 337, 144 and 1,116. Six ranks of two suits, merged: 1,303 and 558.

    With three players OpenSpiel's deck has four ranks: ``players=3, ranks=4``.

    References
    ----------
    F. Southey, M. Bowling, B. Larson, C. Piccione, N. Burch, D. Billings, C. Rayner (2005), "Bayes' bluff: opponent
    modelling in poker", UAI, 550-558.

    Examples
    --------
    >>> rules = Leduc(merge_suits=True)
    >>> state = rules.initial_state()
    >>> for step in ("K", "Q", "r", "c", "Q", "c", "r"):
    ...     state = rules.child(state, step)
    >>> rules.player(state), rules.infoset(state), rules.actions(state)
    (0, 'K_rc_Q_cr', ('f', 'c', 'r'))
    >>> rules.payoffs(rules.child(state, "c"))
    (-7, 7)
    """

    name: ClassVar[str] = "leduc"
    action_words: ClassVar[Mapping[str, str]] = {"fold": "f", "call": "c", "check": "c", "raise": "r", "bet": "r"}

    players: Annotated[int, About("number of players", minimum=2, maximum=10)] = 2
    ranks: Annotated[int, About("ranks in the deck", minimum=1, maximum=1000)] = 3
    suits: Annotated[int, About("cards of each rank", minimum=1, maximum=1000)] = 2
    merge_suits: Annotated[bool, About("deal ranks in place of cards: the same value, a smaller tree")] = False
    bet1: Annotated[int, About("size of a bet in the first round, in antes", minimum=1, maximum=1_000_000)] = 2
    bet2: Annotated[int, About("size of a bet in the second round, in antes", minimum=1, maximum=1_000_000)] = 4
    raises: Annotated[int, About("bets and raises in a round, at most", minimum=1, maximum=100)] = 2
    _copies: dict[str, int] = field(init=False, repr=False, compare=False)
    _strength: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        cards = self.ranks * self.suits
        if cards <= self.players:
            raise InvalidGameError(
                f"leduc: ranks = {self.ranks} and suits = {self.suits} make {cards} card{'s' * (cards > 1)}; "
                f"expected at least {self.players + 1}, one a player and the public one"
            )
        if self.suits > MAX_NAMED_SUITS and not self.merge_suits:
            raise InvalidGameError(
                f"leduc: suits = {self.suits}; expected at most {MAX_NAMED_SUITS}, or any number with merge_suits=true"
            )
        suits = ("",) if self.merge_suits else suit_names(self.suits)
        strength = {rank + suit: order for order, rank in enumerate(rank_names(self.ranks)) for suit in suits}
        object.__setattr__(self, "_strength", strength)
        object.__setattr__(self, "_copies", dict.fromkeys(strength, self.suits if self.merge_suits else 1))

    @property
    def num_players(self) -> int:
        """Number of players."""
        return self.players

    def size(self) -> GameSize:
        """Return how large the game is."""
        return leduc_size(self.players, len(self._copies), max(self._copies.values()), self.raises)

    # A state is (who moves, private cards, public card or "", what everybody has seen, stakes, players who have not
    # folded, bets and raises in this round, how many players have still to act in it).

    def initial_state(self) -> tuple[Any, ...]:
        """Return the state before the deal."""
        return CHANCE, (), "", "_", (1,) * self.players, tuple(range(self.players)), 0, self.players

    def player(self, state: Any) -> int:
        """Return who moves."""
        return state[0]  # type: ignore[no-any-return]

    def actions(self, state: Any) -> Sequence[str]:
        """Return what the mover may do: fold only when facing a bet, raise only while raises are left."""
        mover, _, _, _, stakes, _, raises, _ = state
        if max(stakes) > stakes[mover]:
            return ("f", "c", "r") if raises < self.raises else ("f", "c")
        return ("c", "r")

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the cards still in the deck, by how many there are of each."""
        hands = state[1]
        left = self.ranks * self.suits - len(hands)
        remaining = ((card, copies - hands.count(card)) for card, copies in self._copies.items())
        return [(card, Fraction(copies, left)) for card, copies in remaining if copies]

    def child(self, state: Any, action: Any) -> tuple[Any, ...]:
        """Return the state after a card is dealt or an action taken."""
        mover, hands, public, seen, stakes, live, raises, to_act = state
        if mover == CHANCE:
            if len(hands) == self.players:
                return live[0], hands, action, f"{seen}_{action}_", stakes, live, 0, len(live)
            hands = (*hands, action)
            return 0 if len(hands) == self.players else CHANCE, hands, public, seen, stakes, live, raises, to_act
        seat = live.index(mover)
        following = live[seat + 1] if seat + 1 < len(live) else live[0]
        if action == "f":
            live = live[:seat] + live[seat + 1 :]
        else:
            stake = max(stakes)
            if action == "r":
                stake += self.bet2 if public else self.bet1
                raises += 1
                to_act = len(live)  # everybody else has to answer
            stakes = (*stakes[:mover], stake, *stakes[mover + 1 :])
        to_act -= 1
        if len(live) == 1 or (to_act == 0 and public):
            following = TERMINAL
        elif to_act == 0:
            following = CHANCE
        return following, hands, public, seen + action, stakes, live, raises, to_act

    def infoset(self, state: Any) -> str:
        """Return the mover's card and what everybody has seen."""
        return state[1][state[0]] + state[3]  # type: ignore[no-any-return]

    def public_state(self, state: Any) -> str:
        """Return what everybody has seen: ``_``, the actions and the public card."""
        return state[3]  # type: ignore[no-any-return]

    def private_information(self, state: Any, player: int) -> str:
        """Return a player's card, once it is dealt."""
        hands = state[1]
        return hands[player] if player < len(hands) else ""

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return the actions so far, with the public card after those of the first round."""
        seen = state[3]
        if not state[2]:
            return tuple(seen[1:])
        _, first, public, second = seen.split("_")
        return (*first, public, *second)

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return who shows a card: all who have not folded, or nobody where all others have."""
        live: tuple[int, ...] = state[5]
        return live if len(live) > 1 else ()

    def payoffs(self, state: Any) -> Sequence[int | Fraction]:
        """Return what each player wins or loses, in antes."""
        _, hands, public, _, stakes, winners, _, _ = state
        if len(winners) > 1:
            scores = [self._score(hands[player], public) for player in winners]
            best = max(scores)
            winners = [player for player, score in zip(winners, scores, strict=True) if score == best]
        pot = sum(stakes)
        share = Fraction(pot, len(winners)) if pot % len(winners) else pot // len(winners)
        return tuple([share - stake if player in winners else -stake for player, stake in enumerate(stakes)])

    def _score(self, card: str, public: str) -> int:
        """Return how good a card is at showdown: a pair beats every rank."""
        strength = self._strength[card]
        return len(self._strength) if strength == self._strength[public] else strength


#: Values at the standard stakes (two players, bets of 2 and 4, two raises) by ranks and suits.
_VALUES = {
    (3, 2): (-0.085606424078, "linear program (HiGHS, simplex), all digits shown; OpenSpiel's agrees"),
    (6, 2): (-0.1045436022, "linear program (HiGHS, simplex), all digits shown"),
    (3, 4): (-0.1057838705, "linear program (HiGHS, simplex), all digits shown"),
}


def _reference(rules: Leduc) -> Reference | None:
    known = _VALUES.get((rules.ranks, rules.suits))
    if known is None or (rules.players, rules.bet1, rules.bet2, rules.raises) != (2, 2, 4, 2):
        return None
    return Reference(*known)


FAMILY = Family(
    rules=Leduc,
    summary="Leduc poker: a private and a public card, two rounds of betting",
    citation='F. Southey et al. (2005), "Bayes\' bluff: opponent modelling in poker", UAI, 550-558',
    reference=_reference,
)
