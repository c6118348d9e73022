"""The loss of each decision of a reviewed player, by best responses to the opponent."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...seqform.arrays import Floats, Indices
from .solved_games import Passage, ReviewedGame, Step

#: An opponent who reaches a public state less often than this gives no reason to prefer an action there.
_NEVER = 1e-9


@dataclass(frozen=True)
class Decision:
    """A reviewed decision.

    Attributes
    ----------
    hand : int
        The number of the hand among those read, from 1.
    where : str
        The place of the hand in the files, for example ``hands.phhs:9``.
    game : str
        The name of the solved game.
    street, situation, group : str
        The class of the infoset.
    cards, board, line : str
        The hero's cards, the board, and the actions before, in the game.
    played : str
        The recorded action.
    action, best : str
        The game's counterpart of the action, and the best action.
    kind : str
        ``fold``, ``check``, ``call``, ``bet`` or ``raise``.
    mapped : bool
        Whether the game has another size instead of the recorded one.
    loss : float
        EV lost against the best action, in big blinds.
    lower : float or None
        The part of it, in big blinds, that is proven as a loss of the value of the game whenever an opponent who plays
        as in the game's strategies leads to this decision. ``None`` if `loss` is an
        estimate, because the game has another pot, stack or size than the hand, or something else is assumed, and if
        the game is not zero-sum.
    usual : dict of str to float
        The probability of each kind of action in the strategy of the game for the hero's seat.
    """

    hand: int
    where: str
    game: str
    street: str
    situation: str
    group: str
    cards: str
    board: str
    line: str
    played: str
    action: str
    best: str
    kind: str
    mapped: bool
    loss: float
    lower: float | None
    usual: dict[str, float]

    @property
    def same(self) -> tuple[str, ...]:
        """Its game, line, hand and action, which equal decisions have in common."""
        return self.game, self.board, self.line, self.cards, self.action

    @property
    def infosets(self) -> tuple[str, str, str]:
        """The class of its infoset."""
        return self.street, self.situation, self.group


class Judge:
    r"""The losses of actions in a game against the strategy of the other player.

    Parameters
    ----------
    game : ReviewedGame
    nodes : sequence of int
        The public states of decisions.

    Notes
    -----
    Let y be the opponent's strategy in the game, and v(I), v(I, a) the hero's best payoff against y from an infoset I
    on, and after the action a there. Both are computed by best responses, in double precision. The loss of the action
    is ℓ(I, a) = v(I) − v(I, a). If a strategy x of the hero reaches I with probability p(I) and takes a there with
    x(a | I), then

        max u(·, y) − u(x, y) = Σ p(I) x(a | I) ℓ(I, a).

    A strategy that always plays towards I, which then is reached with π(I), and takes a there, therefore earns at most
    max u(·, y) − π(I) ℓ(I, a) against y. The value v of a zero-sum game is at least max u(·, y) − g, where g is the sum
    of both players' best-response gains. Each time that I is reached, such a strategy therefore loses at least
    ℓ(I, a) − g / π(I) of the value of the game.
    """

    def __init__(self, game: ReviewedGame, nodes: Sequence[int]) -> None:
        self.game = game
        self._wanted = np.zeros(len(game.form.players), dtype=np.bool_)
        for node in nodes:
            self._wanted[node] = True
            self._wanted[game.form.children[node]] = True
        self._best: dict[int, tuple[Floats, Floats]] = {}
        self._arrival: dict[int, Floats] = {}
        self._root = game.profile.walk(see=self._see)

    def _see(self, here: Indices, reaches: Sequence[Floats], values: Sequence[Floats]) -> None:
        boards = self.game.form.boards
        for place in np.flatnonzero(self._wanted[here] & (boards[here] == boards[here[0]])).tolist():
            self._best[int(here[place])] = values[0][1, place].copy(), values[1][1, place].copy()

    @cached_property
    def payoffs(self) -> Floats:
        """The payoffs of both players by the strategies of the game (first row), and by best responses (second row)."""
        weights = self.game.form.weights
        return np.array([weight @ values.T for weight, values in zip(weights, self._root, strict=True)]).T

    @property
    def gap(self) -> float | None:
        """The sum of both players' best-response gains; ``None`` if the game is not zero-sum."""
        return max(0.0, float(self.payoffs[1].sum())) if self.game.form.is_zero_sum else None

    def losses(self, seat: int, node: int, state: int) -> tuple[Floats, float] | None:
        """Return the loss of each action at an infoset, and its probability if the hero plays towards it.

        Returns
        -------
        ndarray of float64, shape (actions,)
            In payoff units.
        float
            ``None`` instead of both if the opponent's strategy never leads there.
        """
        if node not in self._arrival:
            self._arrival[node] = self.game.profile.arrival(seat, node)
        arrival = self._arrival[node]
        if arrival[state] <= _NEVER:
            return None
        after = np.array([self._best[child][seat][state] for child in self.game.form.children[node].tolist()])
        losses: Floats = (after.max() - after) / arrival[state]
        return losses, float(self.game.form.weights[seat][state] * arrival[state])

    def decision(self, hand: int, where: str, passage: Passage, step: Step) -> Decision | None:
        """Return a decision with its loss; ``None`` if the opponent's strategy never leads there."""
        game, seat, node, state = self.game, passage.seat, step.node, passage.state
        found = self.losses(seat, node, state)
        if found is None:
            return None
        losses, reach = found
        kinds, names = game.kinds(node), game.actions(node)
        usual = dict.fromkeys(kinds, 0.0)
        for kind, often in zip(kinds, game.profile.behaviour(node)[:, state].tolist(), strict=True):
            usual[kind] += often
        loss = float(losses[step.place])
        known = self.gap is not None and step.exact and not game.assumed
        lower = max(0.0, loss - (self.gap or 0.0) / reach) if known else None
        return Decision(
            hand,
            where,
            game.name,
            game.street(node),
            game.situation(node),
            game.groups(node)[state],
            game.state_name(seat, state),
            game.board(node),
            ", ".join(map(str, game.form.path(node))),
            step.played,
            names[step.place],
            names[int(losses.argmin())],
            kinds[step.place],
            step.mapped,
            loss * passage.unit,
            None if lower is None else lower * passage.unit,
            usual,
        )
