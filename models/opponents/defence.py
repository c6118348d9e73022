"""Defence against frequent all-ins: the bot learns the opponent's all-in frequency and responds by exact equities."""

from dataclasses import dataclass, field

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError
from ..games.holdem.values import equity_against
from ..matches.table import DEALT, STREETS, Bot, HandResult, Table, View

#: Number of rivers sampled to estimate the worth of a hand on the river.
_RIVERS = 20
#: The frequency from which an all-in is expected: more likely than not.
_EXPECTED = 0.5
_RIVER = len(STREETS) - 1


@dataclass(eq=False)
class DefendingBot:
    """A bot that plays like another one, and defends against an opponent who goes all-in often.

    Parameters
    ----------
    bot : Bot
        The bot whose play it follows otherwise.

    Attributes
    ----------
    decisions, all_ins : ndarray of float64, shape (4,)
        By street, the number of the opponent's decisions seen at which it could have gone all-in, and the number of its
        all-ins.

    Raises
    ------
    InvalidStrategyError
        At a table of more than two seats, when a hand begins.

    Notes
    -----
    The frequency of all-ins on a street is estimated as (all-ins + 1) / (decisions + 2), Laplace's rule of succession.

    *Against an all-in* with frequency f the opponent is assumed to hold the strongest fraction f of hands. The bot
    calls if the exact equity e of its hand against these pays: e · (pot + price) > price. If f is 1 this is the best
    response to an opponent who goes all-in with everything. If the opponent goes all-in with weaker hands than the
    strongest, the bot calls less often than would be optimal.

    *Before an expected all-in*, on a street on which the opponent has yet to act, the bot does not bet hands that it
    would then fold. It folds hands that lose in every other case, and calls with hands that win even if the price of
    the call is otherwise lost. The worth of a hand on the river is the mean over 20 rivers determined by the cards.
    Before the river, it is the worth if the all-in came now.

    A bet of all but a few chips does not count as an all-in.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.matches import Table, match
    >>> from treeplex.models.matches.simple import RaiseBot
    >>> from treeplex.models.opponents import DefendingBot, ThresholdBot
    >>> defending = DefendingBot(ThresholdBot())
    >>> match([defending, RaiseBot(pots=1000.0)], hands=100).forfeits  # it is all-in at once, always
    ()
    >>> float(defending.frequencies[0]) > 0.98
    True
    """

    bot: Bot
    decisions: Floats = field(default_factory=lambda: np.zeros(len(STREETS)), init=False)
    all_ins: Floats = field(default_factory=lambda: np.zeros(len(STREETS)), init=False)

    @property
    def frequencies(self) -> Floats:
        """The expected frequency of the opponent's all-ins at a decision, by street."""
        return (self.all_ins + 1.0) / (self.decisions + 2.0)

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand."""
        if table.seats != 2:
            raise InvalidStrategyError(f"bot defending needs a table with two seats, but this one has {table.seats}")
        self.bot.begin(table, seat)

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return an action."""
        wanted = self.bot.act(view, rng)
        other = 1 - view.seat
        if view.price and not view.stacks[other]:
            equity = equity_against(view.hand, view.board, float(self.frequencies[view.street]))
            return "call" if equity * (view.pot + view.price) > view.price else "fold"
        street = self._expected(view)
        if street is None or wanted == "all-in" or not view.most:
            return wanted
        return self._before(view, wanted, street)

    def end(self, result: HandResult) -> None:
        """Count the opponent's actions."""
        may = True
        for street, seat, action in result.history:
            if seat == result.seat:
                may = may and action != "all-in"
            elif may:
                self.decisions[street] += 1.0
                self.all_ins[street] += action == "all-in"
        self.bot.end(result)

    def close(self) -> None:
        """Close the bot, if it can be closed."""
        close = getattr(self.bot, "close", None)
        if close is not None:
            close()

    def _expected(self, view: View) -> int | None:
        """Return the street on which an all-in is expected; ``None`` if none is, or the opponent has already acted."""
        first = view.street + any(one[:2] == (view.street, 1 - view.seat) for one in view.history)
        likely = np.flatnonzero(self.frequencies[first:] > _EXPECTED)
        return first + int(likely[0]) if len(likely) else None

    def _before(self, view: View, wanted: str, street: int) -> str:
        """Return the action before an expected all-in on a street."""
        often, passive = float(self.frequencies[street]), "call" if view.price else "check"
        paid = self._worth_of_calls(view, street)

        def worth(cost: float) -> float:
            return float(np.maximum(paid, -cost).mean())

        words = wanted.split()
        if len(words) == 2:
            cost = float(words[1]) - view.bets[view.seat]
            wanted = passive if worth(cost) < worth(view.price) else wanted
        if wanted == "fold" and often * worth(view.price) > (1.0 - often) * view.price:
            return passive
        if wanted == "call" and often * worth(view.price) < -(1.0 - often) * view.pot:
            return "fold"
        return wanted

    def _worth_of_calls(self, view: View, street: int) -> Floats:
        """Return the worth of calling the all-in minus that of folding now, on each of the sampled boards.

        A call expected on the river is evaluated on sampled rivers, an earlier one only on the current board.
        """
        share, boards = float(self.frequencies[street]), [view.board]
        if street == _RIVER > view.street:
            left = np.array([card for card in range(52) if card not in (*view.hand, *view.board)])
            rng, missing = np.random.default_rng((*view.hand, *view.board)), DEALT[_RIVER] - len(view.board)
            drawn = (left[rng.permutation(len(left))[:missing]].tolist() for _ in range(_RIVERS))
            boards = [(*view.board, *cards) for cards in drawn]
        equities = np.array([equity_against(view.hand, board, share) for board in boards])
        stack = view.stacks[view.seat]
        worth: Floats = equities * (view.pot + stack + view.stacks[1 - view.seat]) - stack
        return worth
