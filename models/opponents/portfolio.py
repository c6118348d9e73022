"""A portfolio of strategies: a learner finds online which one pays best."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Indices
from ...seqform.checks import check_choice, check_number, check_whole
from ...seqform.errors import InvalidStrategyError, shown
from ..matches.table import Bot, HandResult, Table, View


class Learner(ABC):
    """A learner that repeatedly chooses one of several strategies and receives its payoff.

    Parameters
    ----------
    arms : int
        Number of strategies.

    Attributes
    ----------
    counts : ndarray of int64, shape (arms,)
        Number of times that each was played.
    totals : ndarray of float64, shape (arms,)
        The total payoff of each, with payoffs from 0 to 1.

    Raises
    ------
    InvalidStrategyError
        If there are no strategies.
    """

    def __init__(self, arms: int) -> None:
        check_whole(arms, "arms", InvalidStrategyError, "[1, inf)")
        self.counts = np.zeros(arms, dtype=np.int64)
        self.totals = np.zeros(arms)

    @abstractmethod
    def choose(self, rng: np.random.Generator) -> int:
        """Return the strategy to play next."""

    def learn(self, arm: int, payoff: float) -> None:
        """Record a strategy's payoff, from 0 to 1.

        Raises
        ------
        InvalidStrategyError
            If there is no such strategy, or the payoff is out of range.
        """
        arm = check_whole(arm, "arm", InvalidStrategyError, f"[0, {len(self.counts) - 1}]")
        self.totals[arm] += check_number(payoff, "payoff", InvalidStrategyError, "[0, 1]")
        self.counts[arm] += 1


class EXP3(Learner):
    """Exponential weights for exploration and exploitation, for arbitrary payoffs.

    Parameters
    ----------
    arms : int
        K.
    horizon : int
        T: the largest number of choices; it determines the learning rate γ = min(1, √(K ln K / ((e − 1) T))).

    Notes
    -----
    It draws strategy i with p = (1 − γ) w / Σ w + γ / K, and multiplies w of the drawn strategy by exp(γ x / (p K)) for
    a payoff x. P. Auer, N. Cesa-Bianchi, Y. Freund, R. E. Schapire, "The nonstochastic multiarmed bandit problem", SIAM
    Journal on Computing 32, 2002, figure 1; :attr:`bound` is corollary 3.2.

    Examples
    --------
    >>> from treeplex.models.opponents.portfolio import EXP3
    >>> round(EXP3(arms=3, horizon=10_000).bound, 1)
    475.9
    """

    def __init__(self, arms: int, horizon: int) -> None:
        super().__init__(arms)
        check_whole(horizon, "horizon", InvalidStrategyError, "[1, inf)")
        spread = arms * math.log(arms)
        self._rate = min(1.0, math.sqrt(spread / ((math.e - 1.0) * horizon)))
        #: Upper bound on the expected regret after `horizon` choices: 2 √((e − 1) T K ln K).
        self.bound = 2.0 * math.sqrt((math.e - 1.0) * horizon * spread)
        self._logarithms = np.zeros(arms)

    @property
    def probabilities(self) -> Floats:
        """The probability that each strategy is played next."""
        weights = np.exp(self._logarithms - self._logarithms.max())
        mixed: Floats = (1.0 - self._rate) * weights / weights.sum() + self._rate / len(weights)
        return mixed

    def choose(self, rng: np.random.Generator) -> int:
        """Draw a strategy."""
        return int(rng.choice(len(self.counts), p=self.probabilities))

    def learn(self, arm: int, payoff: float) -> None:
        """Record a strategy's payoff, from 0 to 1."""
        super().learn(arm, payoff)
        self._logarithms[arm] += self._rate * payoff / (self.probabilities[arm] * len(self.counts))


class UCB1(Learner):
    """A learner that plays the strategy with the largest upper confidence bound, for stationary random payoffs.

    Parameters
    ----------
    arms : int

    Notes
    -----
    It plays each strategy once, and then the one with the largest mean + √(2 ln t / n), where n of t choices so far
    were that strategy. P. Auer, N. Cesa-Bianchi, P. Fischer, "Finite-time analysis of the multiarmed bandit problem",
    Machine Learning 47, 2002, figure 1; :meth:`bound` is theorem 1.

    Examples
    --------
    >>> from treeplex.models.opponents.portfolio import UCB1
    >>> round(UCB1.bound([0.5, 0.4], 10_000), 1)
    737.3
    """

    def choose(self, rng: np.random.Generator) -> int:
        """Return the strategy with the largest upper bound; the choice is not random."""
        if not self.counts.all():
            return int(np.argmin(self.counts))
        return int(np.argmax(self.totals / self.counts + np.sqrt(2.0 * math.log(self.counts.sum()) / self.counts)))

    @staticmethod
    def bound(means: Sequence[float], choices: int) -> float:
        """Return an upper bound on the expected loss of a number of choices, given the strategies' mean payoffs.

        Raises
        ------
        InvalidStrategyError
            If there are no means from 0 to 1, or no choices.
        """
        gaps = _gaps(means, choices)
        worse = gaps[gaps > 0.0]
        return float(8.0 * math.log(choices) * (1.0 / worse).sum() + (1.0 + math.pi**2 / 3.0) * gaps.sum())


class ExploreThenCommit(Learner):
    """A learner that tries all strategies in turn for some hands, and then plays only the one with the largest payoff.

    Parameters
    ----------
    arms : int
        K.
    each : int
        m: number of trials of each strategy.

    Notes
    -----
    It never changes its choice afterwards. For payoffs drawn from one distribution per strategy, :meth:`bound` follows
    from theorem 6.1 of T. Lattimore and C. Szepesvári, "Bandit algorithms", 2020, with Hoeffding's inequality for
    payoffs from 0 to 1: after m trials, a strategy whose mean is Δ below the best seems better with probability at most
    exp(−m Δ²). Against changing payoffs it may lose in every later hand.

    Examples
    --------
    >>> from treeplex.models.opponents.portfolio import ExploreThenCommit
    >>> round(ExploreThenCommit(arms=2, each=300).bound([0.5, 0.4], 10_000), 1)
    76.8
    """

    def __init__(self, arms: int, each: int) -> None:
        super().__init__(arms)
        self.each = check_whole(each, "each", InvalidStrategyError, "[1, inf)")
        self._best: int | None = None

    def choose(self, rng: np.random.Generator) -> int:
        """Return the strategy with the fewest trials, or the best one after all trials; the choice is not random."""
        if self._best is None and self.counts.min() >= self.each:
            self._best = int(np.argmax(self.totals / self.counts))
        return int(np.argmin(self.counts)) if self._best is None else self._best

    def bound(self, means: Sequence[float], choices: int) -> float:
        """Return an upper bound on the expected loss of a number of choices, given the strategies' mean payoffs.

        Raises
        ------
        InvalidStrategyError
            If there is not a mean from 0 to 1 for each strategy, or no choices.
        """
        gaps, tried = _gaps(means, choices), self.each * len(means)
        if len(gaps) != len(self.counts):
            raise InvalidStrategyError(f"received {len(gaps)} means, expected {len(self.counts)}: one per strategy")
        later = max(0, choices - tried) * np.exp(-self.each * gaps**2)
        return float((gaps * (self.each + later)).sum())


#: The learners by name.
LEARNERS = ("ucb1", "exp3", "explore-then-commit")


def make_learner(name: str, arms: int, hands: int, explore: int = 100) -> Learner:
    """Return a learner by its name.

    Parameters
    ----------
    name : {"ucb1", "exp3", "explore-then-commit"}
    arms : int
    hands : int
        Largest number of choices, which EXP3 needs.
    explore : int
        Number of trials of each strategy by explore-then-commit.

    Raises
    ------
    InvalidStrategyError
        If there is no such learner, or a number is out of range.

    Examples
    --------
    >>> from treeplex.models.opponents.portfolio import make_learner
    >>> make_learner("explore-then-commit", arms=3, hands=10_000, explore=50).each
    50
    """
    check_choice(name, "learner", InvalidStrategyError, LEARNERS)
    if name == "explore-then-commit":
        return ExploreThenCommit(arms, explore)
    return EXP3(arms, hands) if name == "exp3" else UCB1(arms)


def _gaps(means: Sequence[float], choices: int) -> Floats:
    """Return the difference of each mean from the largest one, after checking the arguments of a bound."""
    check_whole(choices, "choices", InvalidStrategyError, "[1, inf)")
    if not len(means):
        raise InvalidStrategyError("means is empty, expected the mean of each strategy")
    for mean in means:
        check_number(mean, "a mean", InvalidStrategyError, "[0, 1]")
    gaps: Floats = max(means) - np.array(means)
    return gaps


@dataclass(frozen=True, eq=False)
class PortfolioRun:
    """A learner's choices on a table of payoffs.

    Attributes
    ----------
    choices : ndarray of int64, shape (rounds,)
    payoffs : ndarray of float64, shape (rounds, arms)
        The payoff of each strategy, had it been played.
    """

    choices: Indices
    payoffs: Floats

    @property
    def gained(self) -> Floats:
        """The payoff of each round."""
        return self.payoffs[np.arange(len(self.choices)), self.choices]

    @property
    def best(self) -> int:
        """The strategy with the largest total payoff, had it been played throughout."""
        return int(self.payoffs.sum(axis=0).argmax())

    @property
    def regret(self) -> float:
        """The total payoff of the best strategy minus the learner's total payoff."""
        return float(self.payoffs[:, self.best].sum() - self.gained.sum())


def run_portfolio(learner: Learner, payoffs: npt.ArrayLike, rng: np.random.Generator) -> PortfolioRun:
    """Run a learner on a table of payoffs, of which it sees only the payoffs of its own choices.

    Parameters
    ----------
    learner : Learner
    payoffs : array_like of float, shape (rounds, arms)
        Values from 0 to 1.
    rng : Generator

    Raises
    ------
    InvalidStrategyError
        If the number of strategies in the table differs from the learner's, or payoffs are not from 0 to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.opponents.portfolio import EXP3, run_portfolio
    >>> table = np.tile([0.6, 0.4], (5_000, 1))
    >>> learner = EXP3(arms=2, horizon=5_000)
    >>> run = run_portfolio(learner, table, np.random.default_rng(0))
    >>> run.best, 0 < run.regret < learner.bound
    (0, True)
    """
    table = np.array(payoffs, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(learner.counts) or not ((table >= 0.0) & (table <= 1.0)).all():
        raise InvalidStrategyError(
            f"payoffs have shape {table.shape}, expected numbers from 0 to 1, one column for each of "
            f"{len(learner.counts)} strategies"
        )
    choices = np.empty(len(table), dtype=np.int64)
    for number, row in enumerate(table):
        choices[number] = learner.choose(rng)
        learner.learn(int(choices[number]), float(row[choices[number]]))
    return PortfolioRun(choices, table)


@dataclass
class Portfolio:
    """A bot that plays one of several bots each hand, and learns which one pays best.

    The bot of a hand is chosen at its first decision, with the match's own generator. A hand without a decision is
    uninformative and not counted.

    Parameters
    ----------
    bots : sequence of Bot
    learner : Learner
        A new learner with as many strategies as bots.
    lowest, highest : float
        The range of a hand's winnings in big blinds, which is mapped to payoffs from 0 to 1; winnings beyond it count
        as the bound. Narrow bounds let it learn sooner, but about the clipped winnings.

    Raises
    ------
    InvalidStrategyError
        If the numbers of bots and strategies differ.

    Examples
    --------
    >>> from treeplex.models.opponents import Threshold, ThresholdBot
    >>> from treeplex.models.opponents.portfolio import UCB1, Portfolio
    >>> bold = Threshold.from_numbers(Threshold().numbers * 1.5)
    >>> Portfolio([ThresholdBot(), ThresholdBot(bold)], UCB1(2), lowest=-20, highest=20).learner.counts
    array([0, 0])
    """

    bots: Sequence[Bot]
    learner: Learner
    lowest: float
    highest: float
    _hand: tuple[Table, int] | None = field(default=None, init=False, repr=False)
    _playing: int | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.learner, Learner):
            raise InvalidStrategyError(f"learner is {shown(self.learner, 60)}, expected a Learner, such as UCB1(2)")
        self.lowest = check_number(self.lowest, "lowest", InvalidStrategyError)
        self.highest = check_number(self.highest, "highest", InvalidStrategyError, f"({self.lowest!r}, inf)")
        if len(self.bots) != len(self.learner.counts):
            raise InvalidStrategyError(
                f"{len(self.bots)} bots and a learner of {len(self.learner.counts)} strategies, expected equal numbers"
            )

    def begin(self, table: Table, seat: int) -> None:
        """Start a hand; the bot is chosen later."""
        self._hand, self._playing = (table, seat), None

    def act(self, view: View, rng: np.random.Generator) -> str:
        """Return the action of this hand's bot."""
        if self._playing is None:
            self._playing = self.learner.choose(rng.spawn(1)[0])  # the bot draws as without a portfolio
            self.bots[self._playing].begin(view.table, view.seat)
        return self.bots[self._playing].act(view, rng)

    def close(self) -> None:
        """Close the bots that can be closed."""
        for bot in self.bots:
            close = getattr(bot, "close", None)
            if close is not None:
                close()

    def end(self, result: HandResult) -> None:
        """Learn from the winnings of this hand's bot."""
        if self._playing is None or self._hand is None:
            return
        self.bots[self._playing].end(result)
        won: Any = result.won[result.seat] / self._hand[0].big_blind
        payoff = (min(max(won, self.lowest), self.highest) - self.lowest) / (self.highest - self.lowest)
        self.learner.learn(self._playing, payoff)
        self._playing = None
