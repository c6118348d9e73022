"""The public tree of a spot, or of one of its subgames."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.card_payoff import CardPayoff
from ....seqform.errors import InvalidGameError
from ....seqform.limits import check_time
from ....seqform.public_form import Boards, PublicForm, Symmetry
from ....seqform.public_payoff import Leaves
from ....seqform.rules import CHANCE, TERMINAL
from .bets import Decision, Ended
from .places import WHOLE, Place
from .showdown import alive
from .situation import Situation, SpotSize

#: Number of nodes between two checks of the time limit.
_LOOKS = 4096


def about_nodes(size: SpotSize) -> str:
    """Format an approximate number of nodes.

    Examples
    --------
    >>> from treeplex.models.games.holdem.situation import SpotSize
    >>> from treeplex.models.games.holdem.spot_tree import about_nodes
    >>> about_nodes(SpotSize(900, 1_000, 100, *4 * [0])), about_nodes(SpotSize(1_000_000, 2_000_000, 100_000, *4 * [0]))
    ('2,000', '3.1 million')
    """
    count = size.num_nodes
    return f"{count:,}" if count < 1_000_000 else f"{count / 1e6:.3g} million"


class SpotTree:
    """The public tree of a spot, or of one of its subgames.

    Parameters
    ----------
    spot : Situation
    place : Place, optional
        The start of the subgame; by default the root.
    most : int, optional
        Largest number of nodes.

    Raises
    ------
    InvalidGameError
        If the tree would have more.
    """

    def __init__(self, spot: Situation, place: Place | None = None, most: float = math.inf) -> None:
        self.spot = spot
        begun = Place.first(spot) if place is None else place
        self.players: list[int] = []
        self.parents: list[int] = []
        self.actions: list[str] = []
        self.boards: list[int] = []
        self.paid: list[tuple[int, int]] = []
        self.numbers: dict[tuple[int, ...], int] = {}
        #: Leaves by board and kind: nodes and amounts.
        self.leaves: dict[tuple[tuple[int, ...], bool], tuple[list[int], list[Any]]] = {}
        #: The same by board only, with the probabilities of public chance.
        self.chances: dict[tuple[int, ...], tuple[list[int], list[Any]]] = {}
        known: dict[Decision, list[tuple[str, Decision | Ended]]] = {}
        queue = [(-1, "", begun.state, begun.board, begun.chance)]
        while queue:  # nodes level by level
            later = []
            for parent, action, state, board, chance in queue:
                node = len(self.players)
                if node >= most:
                    raise InvalidGameError(f"the subgame has more than {most:,} nodes")
                if not node % _LOOKS:
                    check_time(f"the tree was being built, {node:,} of {about_nodes(spot.size)} nodes so far")
                self.parents.append(parent)
                self.actions.append(action)
                self.boards.append(self.numbers.setdefault(board, len(self.numbers)))
                self.paid.append(state.paid)
                if isinstance(state, Decision):
                    self.players.append(state.mover)
                    if state not in known:  # the same on every board
                        known[state] = list(spot.moves(state))
                    later += [(node, name, after, board, chance) for name, after in known[state]]
                elif state.folded >= 0 or len(board) == WHOLE:
                    self.players.append(TERMINAL)
                    self._pay(node, state, board, chance)
                else:
                    self.players.append(CHANCE)
                    for name, after, dealt, share in spot.dealt(state, board):
                        later.append((node, name, after, dealt, chance * share))
            queue = later

    def _pay(self, node: int, state: Ended, board: tuple[int, ...], chance: float) -> None:
        folds = state.folded >= 0
        # An uncalled bet is not part of the pot.
        half, taken = self.spot.pot / 2, self.spot.house_share(self.spot.pot + 2 * min(state.paid))
        # The same cards in another order leave the same hands.
        board = tuple(sorted(board))
        if folds:
            lost = half + state.paid[state.folded]
            won = lost - taken
            self._add(self.leaves, (board, True), node, (won, -lost) if state.folded == 1 else (-lost, won), chance)
        else:
            # With every pair of hands each player loses half of the rake, so the pot shrinks by the rake.
            stake = half + state.paid[0] - taken / 2
            self._add(self.leaves, (board, False), node, (stake, -stake), chance)
            if taken:
                self._add(self.leaves, (board, True), node, (-taken / 2, -taken / 2), chance)
        self._add(self.chances, board, node, (1.0,), chance)

    def _add(self, to: dict[Any, tuple[list[int], list[Any]]], group: Any, node: int, paid: Any, chance: float) -> None:
        """Record the payoffs of a leaf: both players', or player 0's alone if player 1 receives the opposite."""
        nodes, amounts = to.setdefault(group, ([], []))
        nodes.append(node)
        amounts.append([one * chance for one in paid] if self.spot.rake and len(paid) > 1 else paid[0] * chance)

    def form(self, reaches: Sequence[Floats] | None = None) -> PublicForm:
        """Return the tree in public form.

        Parameters
        ----------
        reaches : two ndarrays, optional
            The remaining share of each player's hands at the start of a subgame. Such a form has no symmetries and no
            deals.
        """
        spot, whole = self.spot, reaches is None

        def group(of: tuple[list[int], list[float]], unit: CardPayoff) -> Leaves:
            return Leaves(np.array(of[0]), np.array(of[1]).T / spot.pairs, unit)

        return PublicForm(
            self.players,
            self.parents,
            self.actions,
            spot.hand_names,
            [
                group(of, spot.together(board) if folds else spot.showdown(board))
                for (board, folds), of in self.leaves.items()
            ],
            weights=spot.weights if reaches is None else reaches,
            deals=[group(of, spot.together(board)) for board, of in self.chances.items()] if whole else (),
            scale=spot.pot / 2 + spot.stack,
            boards=Boards(
                self.boards, [[np.flatnonzero(alive(board, held)) for held in spot.hands] for board in self.numbers]
            ),
            symmetries=list(self._symmetries()) if whole else (),
        )

    def _symmetries(self) -> Iterator[Symmetry]:
        """Yield the ways to exchange suits that leave the board and both ranges as they are."""
        begun = len(self.spot.cards)
        for cards, states in self.spot.exchanges:
            become = [
                self.numbers.get((*board[:begun], *cards[list(board[begun:])].tolist()), -1) for board in self.numbers
            ]
            if min(become) >= 0:  # where not all cards are dealt, images of boards may be missing
                yield Symmetry(states, np.array(become))
