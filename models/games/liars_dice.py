"""Liar's dice: one round of bids on the faces under all cups, ended by the first challenge."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

from ...seqform.parameters import About, check_parameters
from ...seqform.rules import CHANCE, TERMINAL, GameSize
from .registry import Family, Reference

_CHALLENGE = "liar"


@dataclass(frozen=True)
class LiarsDice:
    """Liar's dice: rising bids on the dice of all players, until somebody challenges.

    Every player rolls `dice` dice in secret. From player 0 on, each player bids or challenges the last bid (``liar``).
    The bid ``2x3`` claims that all dice together show face 3 at least twice; a bid must be higher than the last one,
    first by quantity, then by face. If `wild`, a die that shows the highest face counts for every face. A challenge
    ends the game: if the bid is true its bidder wins 1 from the challenger, otherwise the challenger wins 1 from the
    bidder; the other players win and lose nothing.

    Parameters
    ----------
    players : int
        Number of players, 2 to 10.
    dice : int
        Dice of each player.
    sides : int
        Faces of a die.
    wild : bool
        Whether the highest face counts for every face.

    Notes
    -----
    *Infosets* are labelled by the player's dice in increasing order, joined by dots, and all bids so far, each after a
    ``_``: ``3_``, ``3_1x2``, ``1.3_1x2_2x1``. After the highest bid a challenge is the only action; that infoset is
    kept.

    A player's dice are one chance event with multinomial probabilities, because the order of dice is irrelevant.

    *Sizes* per player, with the defaults: 1,021 sequences and 512 infosets, 4,080 leaves.

    References
    ----------
    C. P. Ferguson, T. S. Ferguson (1991), "Models for the game of liar's dice", *Stochastic Games and Related
    Topics*, 15-28. The rules are those of OpenSpiel's ``liars_dice``: M. Lanctot et al. (2019), arXiv:1908.09453.

    Examples
    --------
    >>> rules = LiarsDice()
    >>> state = rules.initial_state()
    >>> for step in ("3", "4", "1x3", "2x3"):
    ...     state = rules.child(state, step)
    >>> rules.player(state), rules.infoset(state), rules.actions(state)
    (0, '3_1x3_2x3', ('2x4', 'liar'))
    >>> rules.payoffs(rules.child(state, "liar"))
    (-1, 1)
    """

    name: ClassVar[str] = "liars_dice"
    action_words: ClassVar[Mapping[str, str]] = {"challenge": _CHALLENGE}

    players: Annotated[int, About("number of players", minimum=2, maximum=10)] = 2
    dice: Annotated[int, About("dice of each player", minimum=1, maximum=10)] = 1
    sides: Annotated[int, About("faces of a die", minimum=1, maximum=100)] = 4
    wild: Annotated[bool, About("the highest face counts for every face")] = True
    _bids: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _rank: dict[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        quantities = range(1, self.players * self.dice + 1)
        bids = tuple(f"{quantity}x{face}" for quantity in quantities for face in range(1, self.sides + 1))
        object.__setattr__(self, "_bids", bids)
        object.__setattr__(self, "_rank", {bid: rank for rank, bid in enumerate(bids, start=1)})

    @property
    def num_players(self) -> int:
        """Number of players."""
        return self.players

    def payoff_range(self) -> tuple[int, int]:
        """Return a player's smallest and largest payoff."""
        return -1, 1

    def size(self) -> GameSize:
        """Return the size of the game.

        The bids of a history are any set of bids in increasing order, so the player who has made none of `k` bids yet
        moves after `k` modulo the number of players. Actions are counted by the bids that they lead to.
        """
        rolls = math.comb(self.sides + self.dice - 1, self.dice)
        courses = 2 ** len(self._bids)
        turns = _sets_by_remainder(len(self._bids), self.players)  # bid sequences after which each player moves
        challenges = [turn - (player == 0) for player, turn in enumerate(turns)]  # there must be a bid
        bids = challenges[1:] + challenges[:1]  # every bid ends one sequence, and then the next player moves
        return GameSize(
            nodes=sum(rolls**rolled for rolled in range(self.players)) + rolls**self.players * (2 * courses - 1),
            leaves=rolls**self.players * (courses - 1),
            sequences=tuple(1 + rolls * (bid + challenge) for bid, challenge in zip(bids, challenges, strict=True)),
            infosets=tuple(rolls * turn for turn in turns),
        )

    @cached_property
    def _rolls(self) -> tuple[tuple[str, Fraction], ...]:
        """One player's dice with their probabilities."""
        rolls = []
        for faces in itertools.combinations_with_replacement(range(1, self.sides + 1), self.dice):
            orders = math.factorial(self.dice)
            for repeated in Counter(faces).values():
                orders //= math.factorial(repeated)
            rolls.append((".".join(map(str, faces)), Fraction(orders, self.sides**self.dice)))
        return tuple(rolls)

    @cached_property
    def _actions(self) -> tuple[tuple[str, ...], ...]:
        """The actions by the number of bids that are now too low; a game too large to enumerate never needs them."""
        bids = self._bids
        return bids, *((*bids[low:], _CHALLENGE) for low in range(1, len(bids) + 1))

    # A state is (everybody's dice, label of the bids, number of bids that are too low, mover). After a challenge, the
    # mover is TERMINAL and the challenger is the fifth entry.

    def initial_state(self) -> tuple[Any, ...]:
        """Return the state before the roll."""
        return (), "_", 0, CHANCE

    def player(self, state: Any) -> int:
        """Return the player to move."""
        return int(state[3])

    def actions(self, state: Any) -> Sequence[str]:
        """Return the higher bids and, once there is a bid, the challenge."""
        return self._actions[state[2]]

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the next player's rolls."""
        return self._rolls

    def child(self, state: Any, action: Any) -> tuple[Any, ...]:
        """Return the state after a roll, a bid or the challenge."""
        hands, bids, low, mover = state
        if mover == CHANCE:
            hands = (*hands, action)
            return hands, bids, low, 0 if len(hands) == self.players else CHANCE
        if action == _CHALLENGE:
            return hands, bids, low, TERMINAL, mover
        return hands, f"{bids}_{action}" if low else f"_{action}", self._rank[action], (mover + 1) % self.players

    def infoset(self, state: Any) -> str:
        """Return the mover's dice and all bids so far."""
        hands, bids, _, mover = state
        return f"{hands[mover]}{bids}"

    def public_state(self, state: Any) -> str:
        """Return all bids so far."""
        return state[1]  # type: ignore[no-any-return]

    def private_information(self, state: Any, player: int) -> str:
        """Return a player's dice, once they are rolled."""
        hands = state[0]
        return hands[player] if player < len(hands) else ""

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return all bids so far, and the challenge."""
        bids = state[1].split("_")[1:] if state[2] else []
        return (*bids, _CHALLENGE) if state[3] == TERMINAL else tuple(bids)

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return all players: a challenge lifts every cup."""
        return tuple(range(self.players))

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return 1 for the winner of the challenge and -1 for the loser."""
        hands, _, low, _, challenger = state
        quantity, _, face = self._bids[low - 1].partition("x")
        counted = {face, str(self.sides)} if self.wild else {face}
        matches = sum(die in counted for hand in hands for die in hand.split("."))
        bidder = (challenger - 1) % self.players
        payoffs = [0] * self.players
        payoffs[bidder] = 1 if matches >= int(quantity) else -1
        payoffs[challenger] = -payoffs[bidder]
        return tuple(payoffs)


def _sets_by_remainder(elements: int, divisor: int) -> list[int]:
    """Return, for each remainder, how many subsets of a set have a size with that remainder."""
    counts = [1] + [0] * (divisor - 1)
    for _ in range(elements):  # each element is in a subset or not
        counts = [number + counts[remainder - 1] for remainder, number in enumerate(counts)]
    return counts


def _reference(rules: LiarsDice) -> Reference | None:
    if (rules.players, rules.dice, rules.sides) == (2, 1, 4):
        value = Fraction(1, 16) if rules.wild else Fraction(-1, 8)
        return Reference(value, "linear program (HiGHS, simplex), read as a fraction")
    return None


FAMILY = Family(
    rules=LiarsDice,
    summary="Liar's dice: rising bids on everybody's dice until a challenge",
    citation='C. P. Ferguson, T. S. Ferguson (1991), "Models for the game of liar\'s dice"; '
    "rules of OpenSpiel, M. Lanctot et al. (2019), arXiv:1908.09453",
    reference=_reference,
)
