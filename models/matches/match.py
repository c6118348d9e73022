"""Matches: many hands between bots, and their winnings with confidence intervals."""

import contextlib
import math
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.calls import calls
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import InvalidGameError
from ...seqform.limits import WORTH_WAITING, holding_signals, patient, settling
from ...seqform.standard_error import StandardError
from ..play.simulation import mean_interval
from .equity import expected_winnings, luck_free_winnings
from .hand import HandRecord, play_hand, shuffled_deck
from .table import Bot, Table

#: The largest number of hands per task of another process.
_TASK = 500


@dataclass(frozen=True)
class Played:
    """A hand of a match.

    Attributes
    ----------
    deal : int
        From 0.
    rotation : int
        Number of seats by which the bots have moved: bot b sits in seat (b + rotation) mod n.
    bots : tuple of int
        The bot in each seat.
    record : HandRecord
    expected : tuple of float
        Each seat's winnings in chips: :func:`~treeplex.models.matches.expected_winnings`.
    luck_free : tuple of float or None
        The same by :func:`~treeplex.models.matches.luck_free_winnings`; ``None`` if not computed.
    """

    deal: int
    rotation: int
    bots: tuple[int, ...]
    record: HandRecord
    expected: tuple[float, ...]
    luck_free: tuple[float, ...] | None = None


@dataclass(frozen=True)
class MatchForfeit:
    """A hand that a bot forfeited, or after which it failed.

    Attributes
    ----------
    deal, rotation : int
        The hand; see :class:`Played`.
    seat, bot : int
    reason : str
    folded : bool
        False if the bot failed when it received the result, which changes nothing.
    """

    deal: int
    rotation: int
    seat: int
    bot: int
    reason: str
    folded: bool = True


@dataclass(frozen=True)
class Estimate:
    """The winnings of a bot, in thousandths of a big blind per hand.

    Attributes
    ----------
    mean : float or None
        ``None`` if no hand was played.
    lower, upper : float or None
        The confidence interval; ``None`` with fewer than two deals.
    """

    mean: float | None
    lower: float | None
    upper: float | None


def half_width(values: Floats, confidence: float) -> float:
    """Return half the width of the confidence interval for the mean of at least two independent values.

    It is t s / √n, with the quantile t of Student's distribution with n − 1 degrees of freedom.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.matches.match import half_width
    >>> round(half_width(np.array([1.0, 2.0, 3.0]), 0.95), 4)
    2.4841
    """
    from scipy.special import stdtrit

    quantile = float(stdtrit(len(values) - 1, 0.5 + confidence / 2.0))
    return quantile * float(values.std(ddof=1)) / math.sqrt(len(values))


@dataclass(frozen=True)
class Variance:
    """The variance per hand that each method of variance reduction leaves, for the first bot, in (mBB)².

    Each value is the variance of the mean times the number of hands, which makes them comparable. Without a method, the
    same interval needs more hands in proportion to the variance.

    Attributes
    ----------
    plain : float
        Of the actual winnings, as if every hand were a separate deal.
    equity : float
        With the winnings of all-in hands replaced by their expectation.
    duplicate : float or None
        With every deal played in all rotations; ``None`` if not done.
    both : float or None
    luck_free : float or None
        Of the winnings without luck, in all rotations if they were played; ``None`` with more than two seats.
    """

    plain: float
    equity: float
    duplicate: float | None
    both: float | None
    luck_free: float | None = None

    @property
    def saved(self) -> dict[str, float | None]:
        """The fraction of the plain variance that each method removed; negative if the method added variance."""
        left = {"equity": self.equity, "duplicate": self.duplicate, "both": self.both, "luck_free": self.luck_free}
        return {name: None if one is None or not self.plain else 1.0 - one / self.plain for name, one in left.items()}


@dataclass(frozen=True, eq=False)
class MatchResult:
    """The result of a match.

    Attributes
    ----------
    table : Table
    won : ndarray of float64, shape (deals, rotations, bots)
        Each bot's winnings in each hand, in chips.
    expected : ndarray of float64, shape (deals, rotations, bots)
        The same winnings, replaced by their expectation if all players were all-in before the river.
    luck_free : ndarray of float64, shape (deals, rotations, bots), or None
        The winnings without the luck of the board
        (:func:`~treeplex.models.matches.luck_free_winnings`); ``None`` with more than two seats.
    duplicate : bool
        Whether every deal was played in all rotations.
    seed : int
    confidence : float
    forfeits : tuple of MatchForfeit
    seconds : float
    interrupted : bool
        Whether Ctrl-C ended the match; the deals completed by then count.
    """

    table: Table
    won: Floats
    expected: Floats
    luck_free: Floats | None
    duplicate: bool
    seed: int
    confidence: float
    forfeits: tuple[MatchForfeit, ...]
    seconds: float
    interrupted: bool = False

    @property
    def deals(self) -> int:
        """Number of independent deals."""
        return len(self.won)

    @property
    def hands(self) -> int:
        """Number of hands."""
        return self.deals * int(self.won.shape[1])

    @cached_property
    def estimates(self) -> tuple[Estimate, ...]:
        """The winnings of each bot, with all-in hands at their expectation, and an interval by Student's t.

        With x the mean of a deal over its rotations, s the standard deviation of x over D deals and t the quantile with
        D − 1 degrees of freedom, the interval is mean(x) ± t s / √D. Deals are independent, but the hands of one deal
        are not.
        """
        return self._estimates(self.expected)

    @cached_property
    def raw_estimates(self) -> tuple[Estimate, ...]:
        """The actual winnings of each bot, with intervals as in :attr:`estimates`."""
        return self._estimates(self.won)

    @cached_property
    def luck_free_estimates(self) -> tuple[Estimate, ...] | None:
        """The winnings of each bot without luck, with intervals as in :attr:`estimates`; ``None`` for more than two."""
        return None if self.luck_free is None else self._estimates(self.luck_free)

    def _estimates(self, chips: Floats) -> tuple[Estimate, ...]:
        found = []
        for values in _milli(chips, self.table).mean(axis=1).T:
            mean = float(values.mean()) if len(values) else None
            half = half_width(values, self.confidence) if len(values) > 1 else None
            ends = (None, None) if mean is None or half is None else (mean - half, mean + half)
            found.append(Estimate(mean, *ends))
        return tuple(found)

    @property
    def mbb_per_hand(self) -> float | None:
        """The winnings of the first bot, in thousandths of a big blind per hand."""
        return self.estimates[0].mean

    @property
    def confidence_interval(self) -> tuple[float, float] | None:
        """The interval of :attr:`mbb_per_hand`; ``None`` with fewer than two deals."""
        first = self.estimates[0]
        return None if first.lower is None or first.upper is None else (first.lower, first.upper)

    @property
    def guaranteed_interval(self) -> tuple[float, float] | None:
        """A much wider interval that holds for any number of deals, because results are bounded by the stacks.

        See :func:`~treeplex.models.play.simulation.mean_interval`.
        """
        if not self.deals:
            return None
        values = _milli(self.expected[:, :, 0], self.table).mean(axis=1)
        stack = 1000.0 * self.table.stack / self.table.big_blind
        counts = np.ones(len(values), dtype=np.int64)
        found = mean_interval(values, counts, -stack, (self.table.seats - 1) * stack, self.confidence)
        return found.lower, found.upper

    @property
    def variance(self) -> Variance | None:
        """The variance per hand; ``None`` with fewer than two deals."""
        if self.deals < 2:
            return None
        won, expected = (_milli(each[:, :, 0], self.table) for each in (self.won, self.expected))
        rotations = self.won.shape[1]
        duplicate, both = (
            float(each.mean(axis=1).var(ddof=1)) * rotations if self.duplicate else None for each in (won, expected)
        )
        free = None
        if self.luck_free is not None:
            free = float(_milli(self.luck_free[:, :, 0], self.table).mean(axis=1).var(ddof=1)) * rotations
        return Variance(float(won.var(ddof=1)), float(expected.var(ddof=1)), duplicate, both, free)


def match(
    bots: Sequence[Bot],
    table: Table | None = None,
    hands: int = 1_000,
    duplicate: bool = True,
    seed: int = 0,
    *,
    confidence: float = 0.95,
    time_limit: float | None = None,
    jobs: int = 1,
    each: Callable[[Played], None] | None = None,
    first: int = 0,
) -> MatchResult:
    """Play a match.

    Parameters
    ----------
    bots : sequence of Bot
        One per seat. A bot may have a method ``close``, which is called after the match.
    table : Table, optional
        By default a table with one seat per bot.
    hands : int
        Number of hands, including all rotations. With `duplicate` it is rounded up to whole deals.
    duplicate : bool
        Whether every deal is played once in each rotation of the bots, with the same cards and the same random numbers
        in each seat, so that the luck of the cards affects all bots equally. Otherwise the bots move by one seat after
        each deal.
    seed : int
        All random draws for deal d and seat s use ``SeedSequence(seed, spawn_key=(d, s))``, and the cards use s = n.
        Hands therefore do not depend on the order or the process in which they are played, or on the number of hands.
    confidence : float
        Confidence level of the intervals.
    time_limit : float, optional
        Seconds for each call of a bot.
    jobs : int
        Number of processes. Each process has its own copies of the bots, so a bot that learns from hand to hand learns
        only within its process.
    each : callable, optional
        Called with every hand, in order.
    first : int
        The index of the first deal. For bots that do not learn, a match in parts equals the whole match.

    Returns
    -------
    MatchResult

    Raises
    ------
    InvalidGameError
        If a number is out of range, or the numbers of bots and seats differ.
    MissingExtraError
        If pokerkit is not installed.

    Examples
    --------
    >>> from treeplex.models.matches import match
    >>> class Caller:
    ...     def begin(self, table, seat): ...
    ...     def act(self, view, rng):
    ...         return "call"
    ...
    ...     def end(self, result): ...
    >>> class Shover(Caller):
    ...     def act(self, view, rng):
    ...         return "all-in" if view.street == 3 else "call"
    >>> found = match([Shover(), Caller()], hands=10)
    >>> found.hands, found.mbb_per_hand, len(found.forfeits)  # the same cards for both, and nobody folds
    (10, 0.0, 0)
    """
    table = table or Table(seats=len(bots))
    if len(bots) != table.seats:
        raise InvalidGameError(f"received {len(bots)} bots, expected one for each of {table.seats} seats")
    hands = check_whole(hands, "hands", InvalidGameError, "[1, inf)")
    seed = check_whole(seed, "seed", InvalidGameError)
    first = check_whole(first, "first", InvalidGameError)
    check_number(confidence, "confidence", InvalidGameError, "(0, 1)")
    if jobs != -1:
        check_whole(jobs, "jobs", InvalidGameError, "[1, inf)")
    rotations = table.seats if duplicate else 1
    deals = range(first, first - (-hands // rotations))
    begun = time.perf_counter()
    won: list[list[int]] = []
    expected: list[list[float]] = []
    free: list[list[float]] = []
    forfeits: list[MatchForfeit] = []
    interrupted = False
    played = _play(partial(_deals, bots, table, duplicate, seed, time_limit), deals, table.seats, jobs)

    def count(one: Played) -> None:
        by_bot = [one.bots.index(bot) for bot in range(table.seats)]
        forfeits.extend(
            MatchForfeit(one.deal, one.rotation, lost.seat, one.bots[lost.seat], lost.reason, lost.folded)
            for lost in one.record.forfeits
        )
        won.append([one.record.won[seat] for seat in by_bot])
        expected.append([one.expected[seat] for seat in by_bot])
        if one.luck_free is not None:
            free.append([one.luck_free[seat] for seat in by_bot])

    with settling() as answer, patient(WORTH_WAITING):
        try:
            for one in played:
                with holding_signals():  # a hand is counted if and only if it has been passed on
                    if each is not None:
                        each(one)
                    count(one)
            answer.known()
        except KeyboardInterrupt:
            answer.known()
            interrupted = True
        finally:
            played.close()
        whole = len(won) // rotations
        forfeits = [one for one in forfeits if one.deal < first + whole]
        chips, fair, luckless = (
            np.array(each[: whole * rotations], dtype=np.float64).reshape(-1, rotations, table.seats)
            for each in (won, expected, free)
        )
        seconds = time.perf_counter() - begun
        lost = tuple(forfeits)
        without = luckless if table.seats == 2 else None
        found = MatchResult(table, chips, fair, without, duplicate, seed, confidence, lost, seconds, interrupted)
    return replace(found, interrupted=True) if answer.interrupted else found


#: Plays the hands of some deals.
_HandsOf = Callable[[range], Iterator[Played]]


def _play(hands_of: _HandsOf, deals: range, seats: int, jobs: int) -> Generator[Played, None, None]:
    """Yield the hands of a match in order."""
    if jobs == 1:
        yield from hands_of(deals)
        return
    size = max(1, min(_TASK // seats, len(deals) // (8 * abs(jobs))))
    tasks = (deals[place : place + size] for place in range(0, len(deals), size))
    for found in calls(_task, ((hands_of, task) for task in tasks), jobs):
        yield from found


def _task(hands_of: _HandsOf, deals: range) -> list[Played]:
    with contextlib.redirect_stdout(StandardError()):  # in a separate process, the bots' output is not a result
        return list(hands_of(deals))


def _deals(
    bots: Sequence[Bot], table: Table, duplicate: bool, seed: int, time_limit: float | None, deals: range
) -> Iterator[Played]:
    try:
        for deal in deals:
            deck = shuffled_deck(table, _generator(seed, deal, table.seats))
            for rotation in range(table.seats) if duplicate else (deal % table.seats,):
                seated = tuple((seat - rotation) % table.seats for seat in range(table.seats))
                rngs = [_generator(seed, deal, seat) for seat in range(table.seats)]
                record = play_hand(table, deck, [bots[bot] for bot in seated], rngs, time_limit)
                expected = expected_winnings(record, _generator(seed, deal, table.seats + 1))
                free = luck_free_winnings(record, _generator(seed, deal, 4)) if table.seats == 2 else None
                yield Played(deal, rotation, seated, record, expected, free)
    finally:
        for bot in bots:
            close = getattr(bot, "close", None)
            if close is not None:
                close()


def _generator(seed: int, deal: int, stream: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(deal, stream)))


def _milli(chips: Floats, table: Table) -> Floats:
    """Return chips in thousandths of a big blind."""
    return chips * (1000.0 / table.big_blind)
