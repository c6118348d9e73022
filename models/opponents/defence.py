"""Defence against all-ins: how often the opponent goes all-in is learned, and answered by exact equities."""

from dataclasses import dataclass, field

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError
from ..games.holdem.values import equity_against
from ..matches.table import DEALT, STREETS, Bot, HandResult, Table, View

#: Rivers that are drawn to say what a hand is worth there.
_RIVERS = 20
#: From which frequency on an all-in is expected: more likely than not.
_EXPECTED = 0.5
_RIVER = len(STREETS) - 1


@dataclass(eq=False)
class DefendingBot:
    """A bot that plays like another one, and defends itself against an opponent who goes all-in often.

    Parameters
    ----------
    bot : Bot
        Whom it plays like otherwise.

    Attributes
    ----------
    decisions, all_ins : ndarray of float64, shape (4,)
        By street, how many decisions of the opponent it has seen at which that could have gone all-in, and how often
        it did.

    Raises
    ------
    InvalidStrategyError
        At a table of more than two seats, when a hand begins.

    Notes
    -----
    The frequency of all-ins on a street is estimated as (all-ins + 1) / (decisions + 2), Laplace's rule of succession.

    *Against an all-in* with frequency f the opponent is taken to hold the strongest share f of hands, and the hand is
    called if its exact equity e against these pays: e · (pot + price) > price. If f is 1 that is the best response to
    an opponent who goes all-in with everything. If it goes all-in with weaker hands than the strongest, it is called
    less often than would be best.

    *Before an all-in* that is more likely than not, on a street on which the opponent has yet to act, the bot does not
    bet with hands that it would then fold, folds those that lose whatever happens otherwise, and calls with those that
    win even if what they pay is lost otherwise. The worth of a hand on the river is the mean over 20 rivers that
    follow from the cards; before the river, it is the worth if the all-in came now.

    A bet of all but a few chips is not an all-in.

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
        """How often the opponent is expected to go all-in at a decision, by street."""
        return (self.all_ins + 1.0) / (self.decisions + 2.0)

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand."""
        if table.seats != 2:
            raise InvalidStrategyError(f"bot defending plays at two seats, and there are {table.seats}")
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
        """Count what the opponent did."""
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
        """Return the street on which an all-in is expected, ``None`` if it is not: not where the opponent has acted."""
        first = view.street + any(one[:2] == (view.street, 1 - view.seat) for one in view.history)
        likely = np.flatnonzero(self.frequencies[first:] > _EXPECTED)
        return first + int(likely[0]) if len(likely) else None

    def _before(self, view: View, wanted: str, street: int) -> str:
        """Return what to do before an all-in on a street."""
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
        """Return the worth of calling the all-in, less that of folding now, on each of the sampled boards.

        On a river it is known only there whether the hand is good; before, the present board stands for all.
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
