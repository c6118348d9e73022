"""A spot as rules, for methods that walk its histories one by one."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.checks import check_type
from ....seqform.errors import InvalidGameError
from ....seqform.rules import CHANCE
from .cards import CARDS, HAND_NAMES, HANDS
from .spot import HoldemSpot


class SpotRules:
    """The histories of a spot: player 0's hand, player 1's, then betting and cards.

    A spot itself has hands and a public tree but no histories, which are far more numerous: one per pair of hands at
    each node. Methods that walk histories take these rules: lookaheads and their responses, samplers, searches.
    Infosets and actions have the labels of the spot's own game, so strategies can be exchanged between the two.

    Parameters
    ----------
    spot : HoldemSpot

    Raises
    ------
    InvalidGameError
        If it is not a spot.

    Examples
    --------
    >>> from treeplex import Game, Nash, solve
    >>> from treeplex.models.games.holdem import HoldemSpot, SpotRules
    >>> spot = HoldemSpot("Td9d6hQc2s", ["AA, 87s", "QJs, 55"], 100, 100, bets="100%")
    >>> game = Game("river", rules=SpotRules(spot))
    >>> round(solve(Nash(game)).value, 6) == round(solve(Nash(spot.game), "highs").value, 6)
    True
    """

    num_players: ClassVar[int] = 2
    action_words: ClassVar[Mapping[str, str]] = {word: word for word in ("fold", "check", "call")}

    def __init__(self, spot: HoldemSpot) -> None:
        self.spot = check_type(spot, "spot", InvalidGameError, HoldemSpot)
        self._form = spot.public_form
        self._players = self._form.players.tolist()
        self._paths: dict[int, tuple[Hashable, ...]] = {}
        cards = [HANDS[held] for held in spot.hands]
        self._cards = [[set(hand) for hand in each.tolist()] for each in cards]
        together = (cards[0][:, None, :, None] != cards[1][None, :, None, :]).all(axis=(2, 3))
        #: The probability of each pair of hands.
        self._chances: Floats = spot.weights[0][:, None] * together * spot.weights[1] / spot.pairs

    # A state consists of the node of the public tree and both hands, by number, -1 before they are dealt.

    def initial_state(self) -> tuple[int, int, int]:
        """Return the state before the deal."""
        return 0, -1, -1

    def player(self, state: Any) -> int:
        """Return the player to move."""
        return CHANCE if state[2] < 0 else int(self._players[state[0]])

    def _path(self, node: int) -> tuple[Hashable, ...]:
        if node not in self._paths:
            self._paths[node] = self._form.path(node)
        return self._paths[node]

    def actions(self, state: Any) -> Sequence[Hashable]:
        """Return the mover's actions."""
        menu: Sequence[Hashable] = self._menus[state[0]]
        return menu

    @cached_property
    def _menus(self) -> list[tuple[Hashable, ...]]:
        return [tuple(self._form.actions[child] for child in after.tolist()) for after in self._form.children]

    def chance_outcomes(self, state: Any) -> Sequence[tuple[Hashable, float]]:
        """Return hands, or cards that nobody holds."""
        node, first, second = state
        if second < 0:
            seat = 0 if first < 0 else 1
            weights = self._chances.sum(axis=1) if first < 0 else self._chances[first]
            names = [HAND_NAMES[hand] for hand in self.spot.hands[seat].tolist()]
            return [(names[hand], float(weights[hand] / weights.sum())) for hand in np.flatnonzero(weights).tolist()]
        held = {CARDS[card] for card in self._cards[0][first] | self._cards[1][second]}
        left = [card for card in self._menus[node] if card not in held]
        return [(card, 1.0 / len(left)) for card in left]

    def child(self, state: Any, action: Hashable) -> tuple[int, int, int]:
        """Return the state after a hand or card is dealt, or an action taken."""
        node, first, second = state
        if second < 0:
            hand = self._numbers[0 if first < 0 else 1][action]
            return (node, hand, -1) if first < 0 else (node, first, hand)
        return int(self._form.children[node][self._menus[node].index(action)]), first, second

    @cached_property
    def _numbers(self) -> list[dict[Hashable, int]]:
        return [{HAND_NAMES[hand]: place for place, hand in enumerate(held.tolist())} for held in self.spot.hands]

    def infoset(self, state: Any) -> Hashable:
        """Return the actions and cards so far, and the mover's hand."""
        node, hand = state[0], state[1 + self.player(state)]
        return self._path(node), HAND_NAMES[self.spot.hands[self.player(state)][hand]]

    def public_state(self, state: Any) -> Hashable:
        """Return the actions and cards so far."""
        return self._path(state[0])

    def payoffs(self, state: Any) -> Sequence[float]:
        """Return each player's win or loss in chips, with half of the pot subtracted."""
        node, first, second = state
        spot, paid = self.spot, self.spot.paid[node]
        half, taken = spot.pot / 2, spot.house_share(spot.pot + 2 * int(paid.min()))
        if self._form.actions[node] == "fold":
            folded = int(self._players[int(self._form.parents[node])])
            lost = half + float(paid[folded])
            return (lost - taken, -lost) if folded == 1 else (-lost, lost - taken)
        mine, theirs = self._strengths[int(self._form.boards[node])]
        won = (half + float(paid[0]) - taken / 2) * int(np.sign(mine[first] - theirs[second]))
        return won - taken / 2, -won - taken / 2

    @cached_property
    def _strengths(self) -> list[Any]:
        boards = self.spot.boards
        return [self.spot.showdown(board).strengths if len(board) == 5 else None for board in boards]
