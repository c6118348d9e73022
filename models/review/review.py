"""The review of a player's hands: decisions, habits and totals."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.checks import check_number
from ...seqform.errors import InvalidConstraintError
from ..matches import Hand
from ..matches.match import half_width
from .decisions import Decision, Judge
from .habits import Class, Habit, exploited, habits_of
from .luck import luck_of
from .solved_games import LeftOutError, Passage, ReviewedGame


@dataclass(frozen=True)
class Rate:
    """A mean per 100 hands, in big blinds.

    Attributes
    ----------
    mean : float
    lower, upper : float or None
        The confidence interval by Student's distribution; ``None`` with fewer than two hands.
    """

    mean: float
    lower: float | None
    upper: float | None

    @classmethod
    def of(cls, values: Sequence[float], confidence: float) -> "Rate":
        """Return the rate of values by hand, in big blinds."""
        numbers = 100.0 * np.array(values, dtype=np.float64)
        if len(numbers) < 2:
            return cls(float(numbers.mean()) if len(numbers) else 0.0, None, None)
        half, mean = half_width(numbers, confidence), float(numbers.mean())
        return cls(mean, mean - half, mean + half)


@dataclass(frozen=True, eq=False)
class Review:
    """The losses of a player's decisions.

    Attributes
    ----------
    hero : str
    read, hands : int
        Number of hands of the player that were read, and of those that were reviewed.
    decisions : tuple of Decision
        In the order of the hands.
    losses : ndarray of float64, shape (hands,)
        The EV lost in each reviewed hand, in big blinds.
    won, without_luck : tuple of float
        The result of each reviewed hand, in big blinds, if it is known: as played, and without the luck of the deal
        (:class:`~treeplex.models.play.Aivat`, with the solved game as its value function).
    gap : float or None
        How much the losses may exceed losses of the value of the game against an opponent who plays as in the game's
        strategies, in big blinds per 100 hands, because these are not exactly an equilibrium; ``None`` if a game is not
        zero-sum. Another opponent leads to other decisions, whose losses need not be losses of the value.
    left_out : dict of str to int
        By reason, how many hands were not reviewed, or not to their end.
    confidence : float
    games : dict of str to str
        The names of the solved games, and what is assumed about hands in each.
    """

    hero: str
    read: int
    hands: int
    decisions: tuple[Decision, ...]
    losses: Floats
    won: tuple[float, ...]
    without_luck: tuple[float, ...]
    gap: float | None
    left_out: dict[str, int]
    confidence: float
    games: dict[str, str] = field(default_factory=dict)
    _habits: tuple[Habit, ...] = field(repr=False, default=())

    @cached_property
    def lost(self) -> Rate:
        """EV lost per 100 hands."""
        return Rate.of(self.losses.tolist(), self.confidence)

    @cached_property
    def result(self) -> Rate | None:
        """The winnings per 100 hands, in hands whose result is known; ``None`` if there are none."""
        return Rate.of(self.won, self.confidence) if self.won else None

    @cached_property
    def adjusted(self) -> Rate | None:
        """The winnings per 100 hands without luck; ``None`` if no result is known."""
        return Rate.of(self.without_luck, self.confidence) if self.without_luck else None

    @property
    def habits(self) -> tuple[Habit, ...]:
        """The habit of each class of infosets that costs something: its costliest action, the costliest class first.

        Its `lost` is that of all actions in the class.
        """
        first, lost = dict[Class, Habit](), defaultdict[Class, float](float)
        for one in sorted(self._habits, key=lambda one: (-one.cost, one.kind)):
            first.setdefault(one.infosets, one)
            lost[one.infosets] += one.lost
        found = [replace(one, lost=lost[infosets]) for infosets, one in first.items()]
        return tuple(sorted((one for one in found if one.cost > 0.0), key=lambda one: (-one.cost, one.infosets)))

    def costliest(self, count: int) -> tuple[Decision, ...]:
        """Return the decisions that lost the most, at most a given number; of equal ones only the first."""
        found: dict[tuple[str, ...], Decision] = {}
        for one in sorted((one for one in self.decisions if one.loss > 0.0), key=lambda one: -one.loss):
            found.setdefault(one.same, one)
        return tuple(found.values())[:count]


def review(
    hands: Iterable[Hand],
    hero: str,
    game_of: ReviewedGame | Callable[[Hand], Iterable[ReviewedGame]],
    *,
    confidence: float = 0.95,
    where: Callable[[Hand], str] = lambda hand: str(hand.line),
) -> Review:
    """Review the decisions of a player.

    Parameters
    ----------
    hands : iterable of Hand
        For example :class:`~treeplex.models.matches.HandHistories`. Read only once.
    hero : str
        The player's name.
    game_of : ReviewedGame or callable
        The solved game, or a function that returns the games of a hand. The same game must be the
        same object.
    confidence : float
        The confidence of intervals.
    where : callable
        Describes the place of a hand.

    Returns
    -------
    Review

    Raises
    ------
    InvalidConstraintError
        If the confidence is not between 0 and 1.

    Examples
    --------
    >>> import io
    >>> from treeplex import Nash, solve
    >>> from treeplex.models.games.holdem import HoldemSpot, SolvedSpot
    >>> from treeplex.models.matches import HandHistories
    >>> from treeplex.models.review import ReviewedSpot, review
    >>> spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h", "QdQh"], pot=100, stack=100, bets="100%")
    >>> solved = SolvedSpot(spot, solve(Nash(spot.game)).profile)
    >>> text = '''variant = 'NT'
    ... antes = [0, 0]
    ... blinds_or_straddles = [1, 2]
    ... min_bet = 2
    ... starting_stacks = [12, 12]
    ... actions = ['d dh p1 AcKc', 'd dh p2 ????', 'p2 cbr 4', 'p1 cc', 'd db QcJc9c', 'p1 cc', 'p2 cc', 'd db 3d',
    ...   'p1 cc', 'p2 cc', 'd db 2d', 'p1 cc', 'p2 cc', 'p1 sm AcKc', 'p2 sm QdQh']
    ... players = ['us', 'them']
    ... '''
    >>> found = review(HandHistories(io.BytesIO(text.encode())), "us", ReviewedSpot(solved))
    >>> [(one.action, one.best, round(one.loss, 6)) for one in found.decisions]
    [('check', 'all-in', 2.0)]
    """
    check_number(confidence, "confidence", InvalidConstraintError, "(0, 1)")
    games_of = game_of if callable(game_of) else lambda hand: (game_of,)
    left_out: Counter[str] = Counter()
    passages: dict[ReviewedGame, list[tuple[int, str, Passage]]] = defaultdict(list)
    read, places, won = 0, dict[int, int](), dict[int, float]()
    for number, hand in enumerate(hands, 1):
        if hero not in hand.players:
            left_out["other players"] += 1
            continue
        read += 1
        for game in games_of(hand):
            try:
                passage = game.follow(hand, hero)
            except LeftOutError as reason:
                left_out[str(reason)] += 1
                continue
            if passage.ends:
                left_out[f"{passage.ends} (the rest of the hand)"] += 1
            passages[game].append((number, where(hand), passage))
            if number not in places:
                places[number] = len(places)
                if hand.won is not None:
                    won[number] = float(hand.won[hand.players.index(hero)]) / float(hand.big_blind)
    losses, decisions, gap, luck = np.zeros(len(places)), list[Decision](), 0.0, luck_of(passages)
    played: dict[ReviewedGame, tuple[Counter[int], float, Floats]] = {}
    for game, entries in passages.items():
        judge = Judge(game, [step.node for *_, passage in entries for step in passage.steps])
        seats = Counter(passage.seat for *_, passage in entries)
        units = [passage.unit for *_, passage in entries]
        played[game] = seats, float(np.mean(units)), judge.payoffs[1]
        gap = np.nan if judge.gap is None else gap + judge.gap * sum(units)
        for number, place, passage in entries:
            for step in passage.steps:
                found = judge.decision(number, place, passage, step)
                if found is None:
                    left_out["lines that the opponent never takes"] += 1
                else:
                    decisions.append(found)
                    losses[places[number]] += found.loss
    decisions.sort(key=lambda one: one.hand)
    habits = exploited(habits_of(decisions, len(places), confidence), played, len(places)) if decisions else []
    return Review(
        hero,
        read,
        len(places),
        tuple(decisions),
        losses,
        tuple(won.values()),
        tuple(one - luck[number] for number, one in won.items()),
        None if np.isnan(gap) else float(100.0 * gap / max(1, len(places))),
        dict(left_out),
        confidence,
        {game.name: game.assumed for game in passages},
        tuple(habits),
    )
