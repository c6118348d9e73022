"""Leduc poker: one private card, one public card, and a round of betting before and after the public card."""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from ...seqform.errors import InvalidGameError
from ...seqform.parameters import About, check_parameters
from ...seqform.rules import CHANCE, TERMINAL, GameSize
from .registry import MAX_NAMED_SUITS, Family, Reference, rank_names, suit_names

if TYPE_CHECKING:
    from .betting import Offer


@dataclass(frozen=True)
class Leduc:
    """Leduc poker: one private card each, one public card, a round of betting before and after it.

    Every player antes 1 and is dealt one card. The first player who has not folded begins each round. A player who
    faces a bet folds (``f``), calls (``c``) or raises (``r``); otherwise the player checks (``c``) or bets (``r``).
    Bets and raises are of size `bet1` in the first round and `bet2` in the second, with at most `raises` of them per
    round. The public card is dealt between the rounds. A private card that pairs the public card wins, otherwise the
    higher rank wins; equal hands split the pot, or the higher suit wins.

    Parameters
    ----------
    players : int
        Number of players, 2 to 10.
    ranks : int
        Ranks in the deck.
    suits : int
        Cards of each rank.
    merge_suits : bool
        Deal ranks instead of cards, with chance weights from the remaining cards. Suits do not matter at showdown
        where equal hands split, so the value is the same and the tree is smaller.
    bet1, bet2 : int
        Size of a bet or raise in each round, in antes.
    raises : int
        Largest number of bets and raises in a round, including the first bet.
    ties : {"split", "suit"}
        Whether equal hands split the pot, or the suit decides: spades before hearts, diamonds and clubs.

    Notes
    -----
    *Infosets* are labelled by the private card, ``_`` and the first round's actions. In the second round, ``_``, the
    public card, ``_`` and the second round's actions follow: ``K_``, ``K_cr``, ``K_rc_Q_``, ``K_rc_Q_cr``. A card is
    named by its rank, followed by its suit if suits are kept: three ranks are J, Q, K; two suits are s and h (``Ks``).

    *Sizes* per player, with two players and the other defaults: 1,093 sequences and 468 infosets, 5,520 leaves; with
    merged suits 337, 144 and 1,116. Six ranks of two suits, merged: 1,303 and 558.

    With three players, OpenSpiel's deck has four ranks: ``players=3, ranks=4``.

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
    merge_suits: Annotated[bool, About("deal ranks instead of cards: same value, smaller tree")] = False
    bet1: Annotated[int, About("size of a bet in the first round, in antes", minimum=1, maximum=1_000_000)] = 2
    bet2: Annotated[int, About("size of a bet in the second round, in antes", minimum=1, maximum=1_000_000)] = 4
    raises: Annotated[int, About("largest number of bets and raises in a round", minimum=1, maximum=100)] = 2
    ties: Annotated[Literal["split", "suit"], About("how equal hands are settled")] = "split"
    _copies: dict[str, int] = field(init=False, repr=False, compare=False)
    _strength: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        cards = self.ranks * self.suits
        if cards <= self.players:
            raise InvalidGameError(
                f"leduc: ranks = {self.ranks} and suits = {self.suits} make {cards} card{'s' * (cards > 1)}; "
                f"expected at least {self.players + 1}, one per player and the public one"
            )
        if self.suits > MAX_NAMED_SUITS and not self.merge_suits:
            raise InvalidGameError(
                f"leduc: suits = {self.suits}; expected at most {MAX_NAMED_SUITS}, or any number with merge_suits=true"
            )
        if self.ties == "suit" and self.merge_suits:
            raise InvalidGameError("leduc: ties=suit with merge_suits=true; expected ties=split or merge_suits=false")
        suits = ("",) if self.merge_suits else suit_names(self.suits)
        strength = {rank + suit: order for order, rank in enumerate(rank_names(self.ranks)) for suit in suits}
        object.__setattr__(self, "_strength", strength)
        object.__setattr__(self, "_copies", dict.fromkeys(strength, self.suits if self.merge_suits else 1))

    @property
    def num_players(self) -> int:
        """Number of players."""
        return self.players

    def payoff_range(self) -> tuple[int, int]:
        """Return a player's smallest and largest payoff: a stake is at most the ante and all raises."""
        most = 1 + self.raises * (self.bet1 + self.bet2)
        return -most, most * (self.players - 1)

    def size(self) -> GameSize:
        """Return the size of the game."""
        return _size(self.players, len(self._copies), max(self._copies.values()), self.raises)

    # A state is (mover, private cards, public card or "", public history, stakes, players who have not folded, bets and
    # raises in this round, number of players who still have to act in this round).

    def initial_state(self) -> tuple[Any, ...]:
        """Return the state before the deal."""
        return CHANCE, (), "", "_", (1,) * self.players, tuple(range(self.players)), 0, self.players

    def player(self, state: Any) -> int:
        """Return the player to move."""
        return state[0]  # type: ignore[no-any-return]

    def actions(self, state: Any) -> Sequence[str]:
        """Return the mover's actions: folding is possible only after a bet, and raising only up to the limit."""
        mover, _, _, _, stakes, _, raises, _ = state
        if max(stakes) > stakes[mover]:
            return ("f", "c", "r") if raises < self.raises else ("f", "c")
        return ("c", "r")

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the remaining cards, with probabilities proportional to their numbers in the deck."""
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
                to_act = len(live)  # all other players have to respond
            stakes = (*stakes[:mover], stake, *stakes[mover + 1 :])
        to_act -= 1
        if len(live) == 1 or (to_act == 0 and public):
            following = TERMINAL
        elif to_act == 0:
            following = CHANCE
        return following, hands, public, seen + action, stakes, live, raises, to_act

    def infoset(self, state: Any) -> str:
        """Return the mover's card and the public history."""
        return state[1][state[0]] + state[3]  # type: ignore[no-any-return]

    def public_state(self, state: Any) -> str:
        """Return the public history: ``_``, the actions and the public card."""
        return state[3]  # type: ignore[no-any-return]

    def private_information(self, state: Any, player: int) -> str:
        """Return a player's card, or an empty string before it is dealt."""
        hands = state[1]
        return hands[player] if player < len(hands) else ""

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return the actions so far, with the public card after the first round."""
        seen = state[3]
        if not state[2]:
            return tuple(seen[1:])
        _, first, public, second = seen.split("_")
        return (*first, public, *second)

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return the players who show their cards: all who have not folded, or none if only one is left."""
        live: tuple[int, ...] = state[5]
        return live if len(live) > 1 else ()

    def betting(self, state: Any) -> "Offer":
        """Return the mover's possible bets and the strength of its card."""
        from .betting import Offer

        mover, hands, public, _, stakes, _, raises, _ = state
        size = self.bet2 if public else self.bet1
        level, price = raises * size, max(stakes) - stakes[mover]
        higher: dict[Hashable, float] = {"r": level + size} if "r" in self.actions(state) else {}
        return Offer(
            int(bool(public)), self._value(hands[mover], public), price, level, "c", higher, "f" if price else None
        )

    def _value(self, card: str, public: str) -> float:
        """Return the probability that a card wins minus the probability that it loses, against an unknown card."""
        left = {other: copies - (other == card) - (other == public) for other, copies in self._copies.items()}
        net = total = 0
        for shown, times in [(public, 1)] if public else left.items():
            own = self._score(card, shown)
            for other, copies in left.items():
                pairs = times * (copies - (other == shown and not public))
                score = self._score(other, shown)
                net += pairs * ((own > score) - (own < score))
                total += pairs
        return net / total

    def payoffs(self, state: Any) -> Sequence[int | Fraction]:
        """Return each player's win or loss, in antes."""
        _, hands, public, _, stakes, winners, _, _ = state
        if len(winners) > 1:
            scores = [self._score(hands[player], public) for player in winners]
            best = max(scores)
            winners = [player for player, score in zip(winners, scores, strict=True) if score == best]
        pot = sum(stakes)
        share = Fraction(pot, len(winners)) if pot % len(winners) else pot // len(winners)
        return tuple([share - stake if player in winners else -stake for player, stake in enumerate(stakes)])

    def _score(self, card: str, public: str) -> tuple[int, int]:
        """Return the strength of a card at showdown: a pair beats every rank, and the suit may break ties."""
        strength = self._strength[card]
        suit = -suit_names(self.suits).index(card[-1]) if self.ties == "suit" else 0
        return (len(self._strength) if strength == self._strength[public] else strength), suit


def _size(players: int, kinds: int, copies: int, raises: int) -> GameSize:
    """Return the size of Leduc poker.

    Parameters
    ----------
    players : int
    kinds : int
        Number of distinguishable cards.
    copies : int
        Cards of each kind.
    raises : int
        Largest number of bets and raises in a round.

    Returns
    -------
    GameSize

    Notes
    -----
    The legal actions do not depend on the cards, so deals and betting sequences are counted separately. Betting
    sequences are counted backwards from their ends: the number of continuations depends on the players still in, their
    order, how many of them still have to act and how many raises are left.
    """
    deals = _deals(kinds, copies, players + 1)

    # All histories: the number of players still in suffices as a state.
    live = range(2, players + 1)
    table = _Table(live=list(live), call=list(range(len(live))), fold=[number - 3 for number in live])
    nothing, one = [0] * len(live), [1] * len(live)
    second = table.opened(raises, nothing, nothing, one, 1)
    ends = [deals[players + 1] * value for value in second]
    leaves = table.opened(raises, nothing, nothing, ends, deals[players])[-1]
    second = table.opened(raises, one, one, one, 1)
    once = [deals[players]] * len(live)
    ends = [deals[players] + deals[players + 1] * value for value in second]
    nodes = table.opened(raises, once, once, ends, deals[players])[-1] + sum(deals[:players])

    # One player's decisions. A state is the number of players still in, how many of them act before the player, and how
    # many others act until the player's turn.
    states = [(number, rank, turn) for number in live for rank in range(number) for turn in range(number)]
    index = {state: position for position, state in enumerate(states)}
    table = _Table(
        live=[number for number, _, _ in states],
        call=[index[number, rank, (turn - 1) % number] for number, rank, turn in states],
        # After the player or all others have folded, nothing is left to count.
        fold=[
            index[number - 1, rank - ((rank - turn) % number < rank), turn - 1] if turn and number > 2 else -1
            for number, rank, turn in states
        ],
    )
    pairs = kinds * (kinds - 1) + kinds * (copies > 1)  # private and public card
    infosets: list[int] = []
    sequences: list[int] = []
    for counts, two, three in ((infosets, 1, 1), (sequences, 2, 3)):

        def moves(times: int, hands: int) -> list[int]:
            return [0 if turn else times * hands for _, _, turn in states]

        second = table.opened(raises, moves(two, pairs), moves(three, pairs), [0] * len(states), 0)
        ends = [second[index[number, rank, rank]] for number, rank, _ in states]
        first = table.opened(raises, moves(two, kinds), moves(three, kinds), ends, 0)
        counts += [first[index[players, player, player]] for player in range(players)]
    return GameSize(nodes, leaves, tuple(1 + count for count in sequences), tuple(infosets))


@dataclass(frozen=True)
class _Table:
    """The transitions between states of a betting round; each state determines the next player to act.

    ``live`` is the number of players still in, ``call`` the next state after a call or check, and ``fold`` the next
    state after a fold, −1 if no player has to act any more.
    """

    live: list[int]
    call: list[int]
    fold: list[int]

    def opened(self, raises: int, two: list[int], three: list[int], closed: list[int], alone: int) -> list[int]:
        """Return, for a round that begins in each state, the total of the counts of its decisions and ends.

        A decision between two actions counts ``two``, a decision between three counts ``three``, and the end of the
        round counts ``closed``, each by state; ``alone`` is the count of an end where ``fold`` is −1.
        """
        states = range(len(self.live))
        last = max(self.live)
        after: list[int] = []  # counts after the next player has raised
        for left in range(raises):
            here = [three[s] + after[s] for s in states] if left else two
            value, rows = closed, [closed]
            for _ in range(last - 1):
                ended = [*value, alone]  # index -1
                value = [here[s] + ended[self.call[s]] + ended[self.fold[s]] for s in states]
                rows.append(value)
            after = [rows[self.live[s] - 1][self.call[s]] for s in states]
        value, rows = closed, [closed]
        for _ in range(last):
            value = [two[s] + value[self.call[s]] + after[s] for s in states]
            rows.append(value)
        return [rows[self.live[s]][s] for s in states]


def _deals(kinds: int, copies: int, most: int) -> list[int]:
    """Return the numbers of ways to deal 0 to `most` cards one after the other."""
    deals = [1] + [0] * most
    for _ in range(kinds):  # cards of one kind can be anywhere between the others
        deals = [
            sum(math.comb(total, own) * deals[total - own] for own in range(min(copies, total) + 1))
            for total in range(most + 1)
        ]
    return deals


#: Values at the standard stakes (two players, bets of 2 and 4, two raises) by ranks and suits.
_VALUES = {
    (3, 2): (-0.085606424078, "linear program (HiGHS, simplex), all digits shown; OpenSpiel's agrees"),
    (6, 2): (-0.1045436022, "linear program (HiGHS, simplex), all digits shown"),
    (3, 4): (-0.1057838705, "linear program (HiGHS, simplex), all digits shown"),
}


def _reference(rules: Leduc) -> Reference | None:
    known = _VALUES.get((rules.ranks, rules.suits))
    standard = (rules.players, rules.bet1, rules.bet2, rules.raises, rules.ties) == (2, 2, 4, 2, "split")
    if known is None or not standard:
        return None
    return Reference(*known)


FAMILY = Family(
    rules=Leduc,
    summary="Leduc poker: a private and a public card, two rounds of betting",
    citation='F. Southey et al. (2005), "Bayes\' bluff: opponent modelling in poker", UAI, 550-558',
    reference=_reference,
)
