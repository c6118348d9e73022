"""A bot that knows the strategy of a resolving bot, and plays a local best response to it."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from ...models.games.holdem.cards import HANDS, hand_numbers
from ...models.games.holdem.classes import CLASS_OF_HAND
from ...models.games.holdem.equities import equities
from ...models.games.holdem.showdown import alive, all_strengths
from ...models.matches import HandResult, Table, View
from ...seqform.arrays import Floats
from ...seqform.errors import InvalidGameError
from .resolving import ResolvingBot

#: Boards sampled for an equity on the flop.
_BOARDS = 100


class LocalResponseBot:
    """A bot that takes the action with the best result if both players check and call afterwards.

    Parameters
    ----------
    opponent : ResolvingBot
        A bot that plays like the opponent, for whichever cards; it must not learn.

    Raises
    ------
    InvalidGameError
        If the opponent learns from hand to hand.

    Notes
    -----
    The bot follows the opponent's range with the opponent's own strategy. Let w be the probability that its hand wins
    against this range, a half for a split pot. With a price c to call and a pot p (which contains the bet to call),
    folding is worth 0 and calling w p − (1 − w) c. A raise by b above the call is worth
    f p + (1 − f) (w′ (p + b) − (1 − w′) (c + b)), where the opponent folds with probability f, and w′ is the
    probability to win against the hands that do not fold. Raises are the pot and all-in. V. Lisý and M. Bowling,
    "Equilibrium approximation quality of current no-limit poker bots", AAAI-17 workshop on computer poker.

    The bot is an opponent, whichever errors its estimates have, so its expected winnings are at most those of a best
    response. Over both seats, they are a lower bound on the exploitability of the opponent.

    Examples
    --------
    It folds seven-deuce to a raise that leaves the other player too few chips to fold:

    >>> import numpy as np
    >>> from treeplex.models.matches import Table, View
    >>> from treeplex.solvers.matches.blueprint import ModelBlueprint
    >>> from treeplex.solvers.matches.local_response import LocalResponseBot
    >>> from treeplex.solvers.matches.resolving import ResolvingBot
    >>> table = Table(stack=1000)
    >>> bot = LocalResponseBot(ResolvingBot(ModelBlueprint(table, streets=1), learns=False))
    >>> bot.begin(table, 0)
    >>> raised = ((0, 1, "raise 900"),)
    >>> view = View(table, 0, (20, 1), (), 0, (100, 900), (900, 100), (False, False), 1000, raised, 1000, 1000)
    >>> bot.act(view, np.random.default_rng(0))
    'fold'
    """

    def __init__(self, opponent: ResolvingBot) -> None:
        if opponent.learns:
            raise InvalidGameError("the opponent of a local best response learns, expected a bot with learns=false")
        self._opponent = opponent

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand."""
        self._opponent.begin(table, 1 - seat)
        #: The opponent's play up to the last decision, and after the action that was chosen there.
        self.followed = self._known = self._opponent

    def end(self, result: HandResult) -> None:
        """Do nothing."""

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return an action."""
        other, price = 1 - view.seat, view.price
        seen = replace(view, seat=other)
        self._known.follow(seen)
        self.followed = self._known
        weights = self._known.ranges[other] * alive((*view.hand, *view.board), np.arange(len(HANDS)))
        wins = _chances(view.hand, view.board, rng)
        pot, share = view.pot, _mean(wins, weights)
        found: list[tuple[float, str, ResolvingBot]] = [
            (share * pot - (1.0 - share) * price, "call" if price else "check", self._known)
        ]
        if price:
            found.append((0.0, "fold", self._known))
        for total in _totals(view):
            action = "all-in" if total == view.most else f"{view.aggressive} {total}"
            after, more = self._known.copied(), total - max(view.bets)
            faced = replace(seen, history=(*view.history, (view.street, view.seat, action)))
            actions, behaviour = after.strategy(faced)
            folds = behaviour[[word == "fold" for word, _ in actions]].sum(axis=0)
            folded, share = _mean(folds, weights), _mean(wins, weights * (1.0 - folds))
            called = share * (pot + more) - (1.0 - share) * (price + more)
            found.append((folded * pot + (1.0 - folded) * called, action, after))
        _, action, self._known = max(found, key=lambda each: each[0])
        return action


def _totals(view: View) -> list[int]:
    """Return the totals of the raises that are considered: by the pot, and all-in."""
    if not view.most:
        return []
    wanted = max(view.bets) + view.pot + view.price
    return sorted({min(max(wanted, view.least), view.most), view.most})


def _mean(values: Floats, weights: Floats) -> float:
    total = float(weights.sum())
    return float(values @ weights) / total if total > 0.0 else 0.5


def _chances(hand: Sequence[int], board: Sequence[int], rng: np.random.Generator) -> Floats:
    """Return the probability that a hand wins against each hand, half of it for a split pot, shape (1326,)."""
    own = int(hand_numbers(np.array([hand]))[0])
    if not board:
        found: Floats = equities()[CLASS_OF_HAND[own]][CLASS_OF_HAND]
        return found
    unseen, missing = np.setdiff1d(np.arange(52), (*hand, *board)), 5 - len(board)
    coming = list(combinations(unseen.tolist(), missing))
    if len(coming) > _BOARDS:
        coming = [coming[place] for place in rng.choice(len(coming), _BOARDS, replace=False).tolist()]
    wins, counts = np.zeros(len(HANDS)), np.zeros(len(HANDS))
    for cards in coming:
        strengths = all_strengths(tuple(sorted((*board, *cards))), "full")
        free = strengths > 0
        wins += np.where(free, 0.5 + 0.5 * np.sign(strengths[own] - strengths), 0.0)
        counts += free
    shares: Floats = np.divide(wins, counts, out=np.full(len(HANDS), 0.5), where=counts > 0)
    return shares
