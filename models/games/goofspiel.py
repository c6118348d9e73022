"""Goofspiel with imperfect information: bids stay hidden, and players only learn who won each round."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal

from ...seqform.parameters import About, check_parameters
from ...seqform.rules import CHANCE, TERMINAL, GameSize
from .registry import Family, known_value

# In an infoset label, a bid that the other player does not learn: all except tied ones.
_UNTOLD_BID = re.compile(r"\d+(?=[wl])")
# The current prize, or a bid and the result of its round, if known.
_EVENT = re.compile(r"(\d+\.)|(\d+)([wlt]?)")


@dataclass(frozen=True)
class Goofspiel:
    """Goofspiel, the game of pure strategy, in which two players bid cards for prizes.

    Each player holds the cards 1 to `cards`, and the prizes 1 to `cards` are put up one per round. Both players bid a
    card simultaneously. The higher card wins the prize, a tied prize is discarded, and both cards are used up. The
    players learn who won the round or that it was tied, but do not see the bid. The last bid is forced, so it is not a
    decision.

    Bids are simultaneous: player 0 moves first in the tree, and player 1 does not see the move.

    Parameters
    ----------
    cards : int
        Number of cards of each player, and of prizes.
    order : {"descending", "ascending", "random"}
        Order of the prizes. With ``random``, chance draws the prize before each round; the last one needs no draw.
    payoff : {"points", "win_loss"}
        ``points`` is own points minus the other's, ``win_loss`` is the sign of that.

    Notes
    -----
    *Infosets* are labelled by ``_`` and, for each round so far, the player's own bid and ``w``, ``l`` or ``t`` for
    won, lost or tied: ``_``, ``_6l``, ``_6l4w``. In random order, each bid follows its prize and a dot, and the prize
    that is up comes last: ``_3.``, ``_3.6w1.``.

    *Sizes* per player, with a fixed order: 4 cards 175 sequences and 81 infosets, 5 cards 2,284 and 1,062, 6 cards
    37,039 and 17,241 (518,400 leaves). The value is 0, because the game is symmetric.

    OpenSpiel's ``point_difference`` is each player's points minus the mean: half of ``points``.

    References
    ----------
    S. M. Ross (1971), "Goofspiel - the game of pure strategy", *Journal of Applied Probability* 8(3), 621-625.
    Imperfect information: M. Lanctot (2013), *Monte Carlo Sampling and Regret Minimization for Equilibrium
    Computation and Decision-Making in Large Extensive Form Games*, PhD thesis, University of Alberta.

    Examples
    --------
    >>> rules = Goofspiel(cards=3)
    >>> state = rules.initial_state()
    >>> for step in ("3", "1"):
    ...     state = rules.child(state, step)
    >>> rules.player(state), rules.infoset(state), rules.actions(state)
    (0, '_3w', ('1', '2'))
    >>> rules.payoffs(rules.child(rules.child(state, "1"), "2"))  # 3 - 2 points, and the last round lost
    (0, 0)
    """

    name: ClassVar[str] = "goofspiel"
    num_players: ClassVar[int] = 2

    cards: Annotated[int, About("cards of each player, and prizes", minimum=2, maximum=13)] = 4
    order: Annotated[Literal["descending", "ascending", "random"], About("order of the prizes")] = "descending"
    payoff: Annotated[Literal["points", "win_loss"], About("own points minus the other's, or the sign")] = "points"
    _hands: dict[int, tuple[str, ...]] = field(init=False, repr=False, compare=False)
    _rounds: dict[str, dict[str, tuple[int, str, str, int, int]]] = field(init=False, repr=False, compare=False)
    _forced: dict[int, dict[int, int]] = field(init=False, repr=False, compare=False)
    _leaves: dict[int, tuple[int, int]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        cards = range(1, self.cards + 1)
        # A hand is a bit mask, because enumerating larger games is limited by the speed of making child states.
        hands = {hand: tuple(str(card) for card in cards if hand >> card & 1) for hand in range(0, 2 << self.cards, 2)}
        rounds = {str(bid0): {str(bid1): _round(bid0, bid1) for bid1 in cards} for bid0 in cards}
        forced = {1 << last0: {1 << last1: _sign(last0 - last1) for last1 in cards} for last0 in cards}
        most = self.cards * (self.cards + 1) // 2
        leaves = {}
        for lead in range(-most, most + 1):
            payoff = lead if self.payoff == "points" else _sign(lead)
            leaves[lead] = (payoff, -payoff)
        vars(self).update(_hands=hands, _rounds=rounds, _forced=forced, _leaves=leaves)

    @property
    def action_words(self) -> Mapping[str, str]:
        """The words ``top`` for the highest card of all and ``bottom`` for the lowest."""
        return {"top": str(self.cards), "bottom": "1"}

    def payoff_range(self) -> tuple[int, int]:
        """Return a player's smallest and largest payoff: all points for the other player, or all for itself."""
        most = self.cards * (self.cards + 1) // 2 if self.payoff == "points" else 1
        return -most, most

    def size(self) -> GameSize:
        """Return the size of the game."""
        return _size(self.cards, self.order == "random")

    # A state is one of
    #   (0, label 0, hand 0, label 1, hand 1, lead of player 0, prize, prizes to come),
    #   (1, label 1, hand 1, the state before player 0's bid, that bid),
    #   (CHANCE, label 0, hand 0, label 1, hand 1, lead of player 0, None, prizes to come),
    #   (TERMINAL, payoffs, the state before player 1's last bid, that bid).

    def initial_state(self) -> tuple[Any, ...]:
        """Return the state before the first prize (random order) or the first bid."""
        prizes = tuple(range(self.cards, 0, -1) if self.order == "descending" else range(1, self.cards + 1))
        full = (2 << self.cards) - 2
        if self.order == "random":
            return CHANCE, "_", full, "_", full, 0, None, prizes
        return 0, "_", full, "_", full, 0, prizes[0], prizes[1:]

    def player(self, state: Any) -> int:
        """Return the player to move."""
        return state[0]  # type: ignore[no-any-return]

    def actions(self, state: Any) -> Sequence[str]:
        """Return the cards in the mover's hand, lowest first."""
        return self._hands[state[2]]

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the prizes to come, equally likely."""
        prizes = state[7]
        chance = Fraction(1, len(prizes))
        return [(str(prize), chance) for prize in prizes]

    def child(self, state: Any, action: Any) -> tuple[Any, ...]:
        """Return the state after a bid or a drawn prize."""
        mover = state[0]
        if mover == 1:
            (_, label0, hand0, label1, hand1, lead, prize, prizes), bid = state[3], state[4]
            sign, told0, told1, card0, card1 = self._rounds[bid][action]
            lead += sign * prize
            hand0 -= card0
            if hand0 in self._forced:
                return TERMINAL, self._leaves[lead + self._forced[hand0][hand1 - card1] * prizes[0]], state, action
            if self.order == "random":
                return CHANCE, label0 + told0, hand0, label1 + told1, hand1 - card1, lead, None, prizes
            return 0, label0 + told0, hand0, label1 + told1, hand1 - card1, lead, prizes[0], prizes[1:]
        if mover == 0:
            return 1, state[3], state[4], state, action
        _, label0, hand0, label1, hand1, lead, _, prizes = state
        prize = int(action)
        later = tuple(other for other in prizes if other != prize)
        return 0, f"{label0}{action}.", hand0, f"{label1}{action}.", hand1, lead, prize, later

    def infoset(self, state: Any) -> str:
        """Return the mover's own bids, and how each round ended."""
        return state[1]  # type: ignore[no-any-return]

    def public_state(self, state: Any) -> str:
        """Return the result of each round for player 0, with tied bids, and ``?`` once player 0 has bid."""
        told = _UNTOLD_BID.sub("", state[3][1] if state[0] == 1 else state[1])
        return told + "?" if state[0] == 1 else told

    def _labels(self, state: Any) -> tuple[str, str]:
        """Return both players' information, with player 0's bid as soon as it is made."""
        if state[0] == 1:
            return f"{state[3][1]}{state[4]}", state[1]
        if state[0] == TERMINAL:
            _, label1, _, before, bid = state[2]
            _, told0, told1, _, _ = self._rounds[bid][state[3]]
            return before[1] + told0, label1 + told1
        return state[1], state[3]

    def private_information(self, state: Any, player: int) -> str:
        """Return the player's own bids and the result of each round, as in infoset labels."""
        return self._labels(state)[player]

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return, for each round, ``?`` once player 0 has bid, and then the result for player 0.

        A tied bid follows the ``t``; a drawn prize and a dot precede its round. The last round, whose bids are forced,
        appears only as a result.
        """
        events: list[str] = []
        for prize, bid, end in _EVENT.findall(self._labels(state)[0]):
            events += [prize] if prize else ["?", f"t{bid}" if end == "t" else end] if end else ["?"]
        return tuple(events)

    def uniform_payoffs(self, state: Any) -> Sequence[float] | None:
        """Return the mean payoffs if all remaining bids are drawn at random; ``None`` for wins and losses.

        Every pair of cards is equally likely to meet, for every prize.

        Examples
        --------
        >>> rules = Goofspiel(cards=3)
        >>> rules.uniform_payoffs(rules.child(rules.initial_state(), "3"))  # 2 of 3 points, and 1 of the other 3 lost
        (1.0, -1.0)
        """
        if self.payoff != "points":
            return None
        if state[0] == TERMINAL:
            lead = state[1][0]
            return lead, -lead
        before, bid = (state[3], state[4]) if state[0] == 1 else (state, "")
        _, _, hand0, _, hand1, lead, prize, prizes = before
        lead += sum(prizes) * _edge(hand0 - (1 << int(bid)) if bid else hand0, hand1)
        if prize is not None:
            lead += prize * _edge(1 << int(bid) if bid else hand0, hand1)
        return lead, -lead

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return no players: bids stay hidden."""
        return ()

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return each player's points minus the other's, or the sign of that difference."""
        return state[1]  # type: ignore[no-any-return]


@lru_cache(2**20)
def _edge(hand0: int, hand1: int) -> float:
    """Return the probability that a card of one hand beats one of another, minus the reverse; hands are bit masks."""
    cards0, cards1 = ([card for card in range(1, hand.bit_length()) if hand >> card & 1] for hand in (hand0, hand1))
    return sum(_sign(one - two) for one in cards0 for two in cards1) / (len(cards0) * len(cards1))


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _round(bid0: int, bid1: int) -> tuple[int, str, str, int, int]:
    """Return the winner of a round (1, -1 or 0), the additions to each player's label, and the bits of both bids."""
    sign = _sign(bid0 - bid1)
    return sign, f"{bid0}{'twl'[sign]}", f"{bid1}{'tlw'[sign]}", 1 << bid0, 1 << bid1


def _size(cards: int, random_order: bool) -> GameSize:
    """Return the size of goofspiel with hidden bids.

    Parameters
    ----------
    cards : int
    random_order : bool
        Whether chance draws the prizes.

    Returns
    -------
    GameSize
    """
    nodes, histories, infosets, sequences = 0, 1, 0, 1
    told = _told(cards)
    prizes = 1  # number of ways in which prizes have been drawn
    for done in range(cards - 1):
        held = cards - done
        if random_order:
            nodes += histories
            histories *= held
            prizes *= held
        nodes += histories * (1 + held)
        histories *= held * held
        labels = told[done] * math.factorial(done) * prizes
        infosets += labels
        sequences += labels * held
    return GameSize(nodes + histories, histories, (sequences, sequences), (infosets, infosets))


def _told(cards: int) -> list[int]:
    """Return, for each number of rounds, how many sets of own bids with their results are possible.

    Notes
    -----
    A tied bid is also the other player's. Each won bid needs a lower card in the other's hand, and each lost bid a
    higher one, all different. The candidates are intervals of the other's remaining cards that reach to its lowest or
    its highest card. By Hall's theorem such cards therefore exist if they exist for the won bids alone and for the lost
    bids alone.
    """
    # From the lowest card up: (bids, lower cards left for bids to win against, lost bids that still need a higher one).
    counts = Counter({(0, 0, 0): 1})
    for _ in range(cards):
        grown: Counter[tuple[int, int, int]] = Counter()
        for (bids, lower, open_losses), ways in counts.items():
            met = max(open_losses - 1, 0)  # for the other player's card of this rank
            grown[bids, lower + 1, met] += ways  # no bid
            grown[bids + 1, lower, open_losses] += ways  # tied
            grown[bids + 1, lower + 1, met + 1] += ways  # lost
            if lower:
                grown[bids + 1, lower, met] += ways  # won
        counts = grown
    told = [0] * (cards + 1)
    for (bids, _, open_losses), ways in counts.items():
        if not open_losses:
            told[bids] += ways
    return told


FAMILY = Family(
    rules=Goofspiel,
    summary="Goofspiel with hidden bids: two players bid cards for prizes",
    citation='S. M. Ross (1971), "Goofspiel - the game of pure strategy", Journal of Applied Probability 8(3), 621-625',
    reference=known_value(Fraction(0), "symmetry: exact"),
)
