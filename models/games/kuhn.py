"""Kuhn poker, for two or more players."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from ...seqform.errors import InvalidGameError
from ...seqform.parameters import About, check_parameters
from ...seqform.rules import CHANCE, TERMINAL, GameSize
from .registry import Family, Reference, rank_names

if TYPE_CHECKING:
    from .betting import Offer


@dataclass(frozen=True)
class Kuhn:
    """Kuhn poker: one card each, one bet.

    Every player antes 1 and is dealt one card of a deck without suits. From player 0 on, each passes (``p``) or bets 1
    (``b``). After a bet, each of the other players has one more action, where betting means calling and passing means
    folding. The highest card among the players who have bet, or among all if nobody has, takes the pot.

    Parameters
    ----------
    players : int
        Number of players, 2 to 10.
    cards : int, optional
        Cards in the deck, at least as many as players; by default one more than players.

    Notes
    -----
    *Infosets* are labelled by the player's card, ``_`` and all actions so far: ``J_``, ``Q_``, ``K_`` at player 0's
    first decision, ``J_pb`` facing a bet after a pass. The highest card is the king: three cards are J, Q, K, and four
    are T, J, Q, K. A deck of thirteen is 2 to A, and the cards of a larger one are numbered from 1.

    *Sizes* per player: 13 sequences and 6 infosets with two players, 33 and 16 with three (a deck of four); 30 and 312
    leaves.

    References
    ----------
    H. W. Kuhn (1950), "A simplified two-person poker", *Contributions to the Theory of Games* I, 97-103. Three
    players: D. Szafron, R. Gibson, N. Sturtevant (2013), "A parameterized family of equilibrium profiles for
    three-player Kuhn poker", AAMAS.

    Examples
    --------
    >>> rules = Kuhn()
    >>> state = rules.initial_state()
    >>> for step in ("J", "K", "p", "b"):
    ...     state = rules.child(state, step)
    >>> rules.player(state), rules.infoset(state), rules.actions(state)
    (0, 'J_pb', ('p', 'b'))
    >>> rules.payoffs(rules.child(state, "b"))
    (-2, 2)
    """

    name: ClassVar[str] = "kuhn"
    action_words: ClassVar[Mapping[str, str]] = {"pass": "p", "bet": "b"}

    players: Annotated[int, About("number of players", minimum=2, maximum=10)] = 2
    cards: Annotated[int | None, About("cards in the deck", minimum=2, maximum=1000, shown="players+1")] = None
    _deck: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _strength: dict[str, int] = field(init=False, repr=False, compare=False)
    _chances: tuple[Fraction, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_parameters(self)
        cards = self.players + 1 if self.cards is None else self.cards
        if cards < self.players:
            raise InvalidGameError(f"kuhn: cards = {cards} for {self.players} players; expected at least one card each")
        deck = rank_names(cards)
        strength = {card: strength for strength, card in enumerate(deck)}
        chances = tuple(Fraction(1, cards - dealt) for dealt in range(self.players))
        vars(self).update(cards=cards, _deck=deck, _strength=strength, _chances=chances)

    @property
    def num_players(self) -> int:
        """Number of players."""
        return self.players

    def payoff_range(self) -> tuple[int, int]:
        """Return a player's smallest and largest payoff: each player puts in at most 2."""
        return -2, 2 * (self.players - 1)

    def size(self) -> GameSize:
        """Return the size of the game.

        Until somebody bets there is only one sequence of actions; after a bet the others answer in all possible ways.
        """
        deals = [math.perm(len(self._deck), dealt) for dealt in range(self.players + 1)]
        answers = 2 ** (self.players - 1)
        decisions = self.players * answers  # passes so far, or a first bet of any player and some of the answers
        leaves = 1 + self.players * answers
        infosets = len(self._deck) * answers
        return GameSize(
            nodes=sum(deals[:-1]) + deals[-1] * (decisions + leaves),
            leaves=deals[-1] * leaves,
            sequences=(1 + 2 * infosets,) * self.players,
            infosets=(infosets,) * self.players,
        )

    # A state is the cards dealt so far, one per player, and the actions so far as one string.

    def initial_state(self) -> tuple[tuple[str, ...], str]:
        """Return the state before the deal."""
        return (), ""

    def player(self, state: Any) -> int:
        """Return the player to move."""
        hands, history = state
        if len(hands) < self.players:
            return CHANCE
        first_bet = history.find("b")
        if len(history) == self.players + max(first_bet, 0):
            return TERMINAL
        return len(history) % self.players

    def actions(self, state: Any) -> Sequence[str]:
        """Return pass and bet."""
        return ("p", "b")

    def chance_outcomes(self, state: Any) -> Sequence[tuple[str, Fraction]]:
        """Return the cards still in the deck, equally likely."""
        hands = state[0]
        chance = self._chances[len(hands)]
        return [(card, chance) for card in self._deck if card not in hands]

    def child(self, state: Any, action: Any) -> tuple[tuple[str, ...], str]:
        """Return the state after a card is dealt or an action taken."""
        hands, history = state
        return (hands, history + action) if len(hands) == self.players else ((*hands, action), "")

    def infoset(self, state: Any) -> str:
        """Return the mover's card, ``_`` and all actions so far."""
        hands, history = state
        return f"{hands[len(history) % self.players]}_{history}"

    def public_state(self, state: Any) -> str:
        """Return all actions so far."""
        return state[1]  # type: ignore[no-any-return]

    def private_information(self, state: Any, player: int) -> str:
        """Return a player's card, once it is dealt."""
        hands = state[0]
        return hands[player] if player < len(hands) else ""

    def public_history(self, state: Any) -> tuple[str, ...]:
        """Return all actions so far."""
        return tuple(state[1])

    def shows(self, state: Any) -> tuple[int, ...]:
        """Return the players who show a card: all who have bet, or all if nobody has; nobody after an uncalled bet."""
        history = state[1]
        bettors = sorted({turn % self.players for turn, action in enumerate(history) if action == "b"})
        contenders = bettors or range(self.players)
        return tuple(contenders) if len(contenders) > 1 else ()

    def betting(self, state: Any) -> "Offer":
        """Return the mover's possible bet, and the strength of its card."""
        from .betting import Offer

        hands, history = state
        others = len(self._deck) - 1
        value = (2 * self._strength[hands[len(history) % self.players]] - others) / max(others, 1)
        if "b" in history:
            return Offer(0, value, 1, 1, "b", {}, "p")
        return Offer(0, value, 0, 0, "p", {"b": 1})

    def payoffs(self, state: Any) -> Sequence[int]:
        """Return each player's win or loss, in antes."""
        hands, history = state
        bettors = {turn % self.players for turn, action in enumerate(history) if action == "b"}
        contenders = bettors or range(self.players)
        winner = max(contenders, key=lambda player: self._strength[hands[player]])
        pot = self.players + len(bettors)
        return tuple(
            (pot if player == winner else 0) - (2 if player in bettors else 1) for player in range(self.players)
        )


def _reference(rules: Kuhn) -> Reference | None:
    if (rules.players, rules.cards) == (2, 3):
        return Reference(Fraction(-1, 18), "Kuhn (1950): exact")
    return None


FAMILY = Family(
    rules=Kuhn,
    summary="Kuhn poker: one card each, one bet",
    citation='H. W. Kuhn (1950), "A simplified two-person poker", Contributions to the Theory of Games I, 97-103',
    reference=_reference,
)
