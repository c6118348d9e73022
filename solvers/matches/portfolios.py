"""Matches of portfolios: a learner chooses a bot for each hand, and the winnings of all bots are recorded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt

from ...models.matches import Played, Table, match
from ...models.matches.match import half_width
from ...models.opponents.portfolio import EXP3, UCB1, ExploreThenCommit, Learner
from ...seqform.arrays import Floats, Indices
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import InvalidStrategyError
from ..checkpoint import Checkpoint, Keeper, digest
from .bots import declared_bot

#: The number of a bot's hands in one block of a checkpoint.
_BLOCK = 500


@dataclass(frozen=True, eq=False)
class PortfolioMatch:
    """A match of a portfolio, with the matches that each of its bots plays alone.

    Attributes
    ----------
    choices : ndarray of int64, shape (hands,)
        The bot of each hand.
    won : ndarray of float64, shape (hands, bots)
        The winnings of each bot in each hand, in big blinds.
    expected : ndarray of float64, shape (hands, bots)
        The same winnings, but the expected ones if all players were all-in before the river.
    asked : ndarray of bool, shape (hands, bots)
        Whether the bot had a decision; hands without one are ignored.
    payoffs : ndarray of float64, shape (hands, bots)
        The learner's feedback: `won`, clipped and scaled to between 0 and 1.
    cut : float
        The limit in big blinds at which wins and losses are clipped.
    learner : Learner
        The learner after the match.
    forfeits : int
        Hands that a bot or the opponent forfeited, over the matches of all bots.
    interrupted : bool
        Whether Ctrl-C ended the match; then only hands that all bots have played count.
    """

    choices: Indices
    won: Floats
    expected: Floats
    asked: npt.NDArray[np.bool_]
    payoffs: Floats
    cut: float
    learner: Learner
    forfeits: int
    interrupted: bool = False

    @cached_property
    def gained(self) -> Floats:
        """The portfolio's winnings in each hand, in expectation like `expected`; shape (hands,)."""
        return _chosen(self.expected, self.choices)

    @property
    def best(self) -> int:
        """The bot that would have won most, had it played throughout."""
        return int(self.expected.sum(axis=0).argmax())

    @property
    def regret(self) -> float:
        """The total difference between the best bot's winnings and the portfolio's, in big blinds."""
        return float(self.expected[:, self.best].sum() - self.gained.sum())

    @property
    def learner_regret(self) -> float:
        """The regret in terms of the learner's feedback: clipped winnings, including the luck of the board."""
        told = self.payoffs * self.asked
        return 2.0 * self.cut * float(told.sum(axis=0).max() - _chosen(told, self.choices).sum())

    @property
    def bound(self) -> float | None:
        """A bound on the learner's average of :attr:`learner_regret`, in big blinds.

        For EXP3 the bound holds for any payoffs. For other learners it is an estimate, computed from the measured
        means, for payoffs with a fixed distribution per bot. It is at most twice `cut` per decision. It is ``None``
        unless every bot had a decision.
        """
        decisions = int(_chosen(self.asked, self.choices).sum())
        most = float(decisions)  # the largest possible loss
        if isinstance(self.learner, EXP3):
            most = min(most, self.learner.bound)
        elif not decisions or not self.asked.any(axis=0).all():
            return None
        elif isinstance(self.learner, UCB1 | ExploreThenCommit):
            means = np.clip((self.payoffs * self.asked).sum(axis=0) / self.asked.sum(axis=0), 0.0, 1.0).tolist()
            most = min(most, self.learner.bound(means, decisions))
        return 2.0 * self.cut * most

    def interval(self, confidence: float = 0.95) -> tuple[float, float] | None:
        """Return an interval for the portfolio's winnings per hand, in big blinds; ``None`` with fewer than two hands.

        The interval uses Student's t as if hands were independent, although a learner makes them dependent.
        """
        if len(self.gained) < 2:
            return None
        mean, half = float(self.gained.mean()), half_width(self.gained, confidence)
        return mean - half, mean + half


def _chosen(table: npt.NDArray[Any], choices: Indices) -> npt.NDArray[Any]:
    """Return the chosen entry of each row."""
    found: npt.NDArray[Any] = table[np.arange(len(choices)), choices]
    return found


def play_portfolio(
    bots: Sequence[str],
    opponent: str,
    learner: Learner,
    table: Table | None = None,
    hands: int = 1_000,
    seed: int = 0,
    *,
    cut: float = 20.0,
    jobs: int = 1,
    each: Callable[[int], None] | None = None,
    checkpoint: Checkpoint | str | PathLike[str] | None = None,
) -> PortfolioMatch:
    """Let a learner choose among bots, hand by hand, in a match against an opponent.

    Parameters
    ----------
    bots : sequence of str
        Strings for :func:`~treeplex.solvers.matches.bots.find_bot`.
    opponent : str
    learner : Learner
        A new learner with the same number of strategies.
    table : Table, optional
        A table of two seats.
    hands : int
        The number of hands; seats change after each.
    seed : int
    cut : float
        The limit in big blinds at which wins and losses are clipped for the learner.
    jobs : int
        The number of processes for bots that do not learn.
    each : callable, optional
        Called with the number of hands played so far, over all bots.
    checkpoint : Checkpoint or path-like, optional
        As for :func:`~treeplex.solve`. Hands of bots that may remember are saved when all are played, hands of
        others in blocks of 500; the result is the same as without an interruption.

    Returns
    -------
    PortfolioMatch

    Raises
    ------
    InvalidStrategyError, InvalidGameError
        If a bot is unknown, or a number is invalid.
    CheckpointError
        If the checkpoint is damaged, belongs to another run, or cannot be resumed.
    MissingExtraError
        If pokerkit is not installed.

    Notes
    -----
    Every bot plays every hand against the opponent, with the same cards and random numbers in each seat. The learner
    sees only the winnings of the bot that it chose. So the regret is known exactly. Unless a bot or the opponent
    remembers hands, this equals the play of :class:`~treeplex.models.opponents.Portfolio` in
    :func:`~treeplex.models.matches.match` without duplicate deals, hand for hand. If one remembers, each bot plays as
    if it had played all hands.

    Examples
    --------
    >>> from treeplex.models.opponents import UCB1
    >>> from treeplex.solvers.matches.portfolios import play_portfolio
    >>> found = play_portfolio(["fold", "call"], "random", UCB1(2), hands=200)
    >>> found.best, found.regret > 0.0, int(found.learner.counts.sum()) <= 200
    (1, True, True)
    """
    table = table or Table()
    check_whole(hands, "hands", InvalidStrategyError, "[1, inf)")
    check_whole(seed, "seed", InvalidStrategyError)
    check_number(cut, "cut", InvalidStrategyError, "(0, inf)")
    if len(bots) != len(learner.counts):
        raise InvalidStrategyError(f"{len(bots)} bots but {len(learner.counts)} learner arms, expected equal numbers")
    if table.seats != 2:
        raise InvalidStrategyError(f"the table has {table.seats} seats, expected 2: a portfolio plays one opponent")
    matches = _Matches(tuple(bots), opponent, table, hands, seed, jobs, each)
    if checkpoint is None:
        interrupted = matches.play(None)
    else:
        asked = {"portfolio": f"match ({digest((matches.bots, opponent, table, hands, seed))})"}
        with Checkpoint.of(checkpoint).kept(asked) as keeper:
            interrupted = matches.play(keeper)
    done = int(matches.done.min())
    won, expected = (values[:done] / table.big_blind for values in (matches.won, matches.expected))
    asked_of = matches.asked[:done]
    payoffs = (np.clip(won, -cut, cut) + cut) / (2.0 * cut)
    choices = np.empty(done, dtype=np.int64)
    for hand in range(done):
        arm = -1
        if asked_of[hand].any():
            arm = learner.choose(np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(hand, hand % 2, 0))))
            if asked_of[hand, arm]:
                learner.learn(arm, float(payoffs[hand, arm]))
        choices[hand] = max(arm, 0)
    return PortfolioMatch(
        choices, won, expected, asked_of, payoffs, cut, learner, matches.forfeits, interrupted=interrupted
    )


class _Matches:
    """The matches of all bots, block by block."""

    def __init__(
        self,
        bots: tuple[str, ...],
        opponent: str,
        table: Table,
        hands: int,
        seed: int,
        jobs: int,
        each: Callable[[int], None] | None,
    ) -> None:
        self.bots, self.opponent, self.table, self.hands, self.seed = bots, opponent, table, hands, seed
        self.jobs, self.each = jobs, each
        declared = [declared_bot(text) for text in (*bots, opponent)]
        self.remember = [one.remembers or declared[-1].remembers for one in declared[:-1]]
        self.won, self.expected = np.zeros((hands, len(bots))), np.zeros((hands, len(bots)))
        self.asked = np.zeros((hands, len(bots)), dtype=np.bool_)
        self.done = np.zeros(len(bots), dtype=np.int64)
        self.forfeits = 0

    def play(self, keeper: Keeper | None) -> bool:
        """Play all hands; return whether Ctrl-C interrupted the match."""
        try:
            for first in range(0, self.hands, _BLOCK):
                for arm in range(len(self.bots)):
                    if self.remember[arm] and not first:
                        self._take(keeper, arm, 0, self.hands)
                    elif not self.remember[arm]:
                        self._take(keeper, arm, first, min(_BLOCK, self.hands - first))
        except KeyboardInterrupt:
            return True
        return False

    def _take(self, keeper: Keeper | None, arm: int, first: int, hands: int) -> None:
        """Play a block, or read it from a checkpoint."""
        compute = partial(self._played, arm, first, hands)
        kept = compute() if keeper is None else keeper.part(f"bot {arm} from {first}", compute)
        rows = slice(first, first + hands)
        self.won[rows, arm], self.expected[rows, arm] = kept["won"], kept["expected"]
        self.asked[rows, arm] = kept["asked"]
        self.forfeits += kept["forfeits"]
        self.done[arm] = first + hands
        if self.each is not None:
            self.each(int(self.done.sum()))

    def _played(self, arm: int, first: int, hands: int) -> dict[str, Any]:
        asked: list[bool] = []

        def note(played: Played) -> None:
            seat = played.bots.index(0)
            asked.append(any(one[1] == seat for one in played.record.history))
            if self.each is not None and len(asked) % 16 == 0:
                self.each(int(self.done.sum()) + len(asked))

        seated = [declared_bot(text).bot(self.table) for text in (self.bots[arm], self.opponent)]
        jobs = 1 if self.remember[arm] else self.jobs
        found = match(seated, self.table, hands, False, self.seed, jobs=jobs, each=note, first=first)
        if found.interrupted:
            raise KeyboardInterrupt
        return {
            "won": found.won[:, 0, 0],
            "expected": found.expected[:, 0, 0],
            "asked": np.array(asked),
            "forfeits": sum(one.folded for one in found.forfeits),
        }
