"""AIVAT: the result of a player without luck, by control variates from known strategies and the rules of chance.

The estimate is unbiased for any value function and any play of the unknown players. The theory page ``aivat`` has the
proof.

:class:`Aivat` is made once for a game. Its method :meth:`Aivat.estimate` takes games that were played:

- of an enumerated game, the leaves at which they ended (:func:`~treeplex.models.play.simulate` draws them), or a
  :class:`~treeplex.models.play.PlayLog`, in which one seat's view was recorded;
- of a game in public form, such as hold'em, :class:`~treeplex.models.play.public_games.PublicGames`: where each game
  ended, the private states that are known, and the money won. A game may end anywhere in the tree, for example at the
  flop of a model that ends there.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Floats, Indices
from ...seqform.checks import check_number, check_player, check_type, explained
from ...seqform.errors import InvalidGameError, InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.observer import ObserverTree, observer_tree
from ...seqform.strategy import Profile, Strategy, check_same_game
from .evidence import Differences, Evidence, Histories, differences, of_leaves, of_public_form
from .log import PlayLog
from .observed import least_variance
from .public_games import PublicGames
from .public_view import PublicView
from .simulation import Results


@dataclass(frozen=True, eq=False)
class LuckFree:
    """The results of games with and without luck.

    Attributes
    ----------
    raw : ndarray of float64, shape (k,)
        The player's result in each game, or in each class of equal games, in payoff units.
    adjusted : ndarray of float64, shape (k,)
        The same without luck.
    counts : ndarray of int64, shape (k,)
        The number of games of each entry.
    corrections : mapping of str to ndarray of float64, shape (k,)
        The luck by kind, each with mean zero: ``chance``, the luck of the deal and of other chance moves;
        ``decisions``, the luck of the known players' own randomisation; ``imaginary``, the luck of holding one hidden
        state and not another that looks the same to the unknown players. ``raw`` minus all three is ``adjusted``.
        Empty unless requested.
    confidence : float
        The level of the intervals.

    Notes
    -----
    Intervals are the mean ± t standard errors, with Student's t; they are approximate. Standard errors of fewer than
    two games are NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.play import LuckFree
    >>> found = LuckFree(np.array([2.0, -2.0, 4.0]), np.array([0.5, 1.5, 1.0]), np.ones(3, dtype=int))
    >>> found.mean, round(found.standard_error, 6), round(found.reduction, 6)
    (1.0, 0.288675, 6.110101)
    """

    raw: Floats
    adjusted: Floats
    counts: npt.NDArray[np.int64]
    corrections: Mapping[str, Floats] = field(default_factory=dict)
    confidence: float = 0.95

    def __repr__(self) -> str:
        return f"LuckFree(mean={self.mean:.6g}, standard_error={self.standard_error:.3g}, games={self.num_games:,})"

    @property
    def num_games(self) -> int:
        """Number of games."""
        return int(self.counts.sum())

    @property
    def mean(self) -> float:
        """The mean result per game without luck; NaN without games."""
        return self._mean(self.adjusted)

    @property
    def raw_mean(self) -> float:
        """The mean result per game as it was played."""
        return self._mean(self.raw)

    @property
    def standard_error(self) -> float:
        """The standard error of :attr:`mean`."""
        return self._deviation(self.adjusted) / math.sqrt(max(self.num_games, 1))

    @property
    def raw_standard_error(self) -> float:
        """The standard error of :attr:`raw_mean`."""
        return self._deviation(self.raw) / math.sqrt(max(self.num_games, 1))

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence interval of the expected result, from :attr:`mean`."""
        return self._interval(self.mean, self.standard_error)

    @property
    def raw_interval(self) -> tuple[float, float]:
        """The confidence interval of the expected result, from :attr:`raw_mean`."""
        return self._interval(self.raw_mean, self.raw_standard_error)

    @property
    def reduction(self) -> float:
        """The standard deviation of results divided by that of adjusted results; infinite if these are all equal."""
        before, after = self._deviation(self.raw), self._deviation(self.adjusted)
        return before / after if after != 0.0 else math.inf if before > 0.0 else math.nan

    @property
    def luck(self) -> dict[str, float]:
        """The mean luck per game by kind."""
        return {kind: self._mean(values) for kind, values in self.corrections.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the results for JSON; numbers that are not finite are ``None``."""
        names = ("mean", "standard_error", "raw_mean", "raw_standard_error", "reduction")
        numbers = {name: _finite(getattr(self, name)) for name in names}
        ends = {name: getattr(self, name) for name in ("interval", "raw_interval")}
        known = {name: list(pair) if all(map(math.isfinite, pair)) else None for name, pair in ends.items()}
        return {"games": self.num_games, **numbers, **known, "confidence": self.confidence, "luck": self.luck or None}

    def scaled(self, factor: float) -> "LuckFree":
        """Return the results in another unit, such as big blinds per 100 hands."""
        parts = {kind: values * factor for kind, values in self.corrections.items()}
        return LuckFree(self.raw * factor, self.adjusted * factor, self.counts, parts, self.confidence)

    def _mean(self, values: Floats) -> float:
        return float(values @ self.counts) / self.num_games if self.num_games else math.nan

    def _deviation(self, values: Floats) -> float:
        games = self.num_games
        if games < 2:
            return math.nan
        deviation = math.sqrt(float((values - self._mean(values)) ** 2 @ self.counts) / (games - 1))
        # Differences between equal numbers are round-off.
        return deviation if deviation > 1e-12 * float(np.abs(values).max()) else 0.0

    def _interval(self, mean: float, error: float) -> tuple[float, float]:
        from scipy.special import stdtrit

        reach = float(stdtrit(max(self.num_games - 1, 1), 0.5 + self.confidence / 2.0)) * error
        return mean - reach, mean + reach


class Aivat:
    """The estimator of AIVAT: results without the luck of chance and of the known players.

    Parameters
    ----------
    game : Game
        An enumerated game, or a two-player game in public form with probabilities of pairs of private states.
    known : Strategy, or iterable of Strategy
        The strategies that some players are known to have played, at most one of each. The estimate is biased if they
        played differently. For a human player, pass none: then only the luck of chance is removed.
    values : Profile, or callable, optional
        The value function. The estimate is unbiased for every one; a good one makes its variance small. A profile
        stands for the payoffs that result if the unknown players play as in the profile, and the known players as
        known; an equilibrium is a good choice. A callable maps a state of an enumerated game's rules to a payoff. By
        default the unknown players play uniformly.
    player : int, optional
        The player whose results are estimated; by default the first known one, or player 0.
    observer : int, optional
        The seat that recorded the games, if some private states of others remain hidden. By default everything that an
        unknown player saw is known in every game.
    imaginary : bool
        In public form with an observer: whether to average over the known player's states if the other player's state
        is known. Pass ``False`` if the former determines whether the latter is shown, as when losers muck.

    Raises
    ------
    InvalidStrategyError
        If a strategy belongs to another game, or two are of the same player.
    UnsupportedProblemError
        If the game or the combination of arguments has no unbiased estimate here; the message says which.

    Notes
    -----
    N. Burch, M. Schmid, M. Moravčík, D. Morrill, M. Bowling, "AIVAT: a new variance reduction technique for agent
    evaluation in imperfect information games", AAAI 2018 (arXiv:1612.06915).

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex import Nash, Profile, Strategy, load_game, simulate, solve
    >>> from treeplex.models.play import Aivat
    >>> game = load_game("leduc")
    >>> equilibrium = solve(Nash(game)).profile
    >>> played = Profile([equilibrium[0], Strategy.uniform(game, 1)])
    >>> games = np.concatenate(list(simulate(played, games=2_000, seed=8)))
    >>> found = Aivat(game, equilibrium[0], values=equilibrium).estimate(games)
    >>> round(found.mean, 2), round(found.raw_mean, 2)  # 0.597 in expectation
    (0.59, 0.8)
    >>> round(found.reduction, 1)
    2.7
    """

    @explained
    def __init__(
        self,
        game: Game,
        known: Strategy | Iterable[Strategy] = (),
        values: Profile | Callable[[Any], float] | None = None,
        *,
        player: int | None = None,
        observer: int | None = None,
        imaginary: bool = True,
    ) -> None:
        self.game = check_type(game, "game", InvalidGameError, Game, "a Game (load_game returns one)")
        self.known = _by_player(game, known)
        self.player = check_player(
            min(self.known, default=0) if player is None else player, game.num_players, InvalidStrategyError
        )
        self.observer = None if observer is None else check_player(observer, game.num_players, InvalidStrategyError)
        self.imaginary = imaginary
        #: The players whose strategies are not known.
        self.unknown = tuple(each for each in range(game.num_players) if each not in self.known)
        self._values: Callable[[Any], float] | None = None
        assumed = Profile.uniform(game)
        if callable(values):
            self._values = values
        elif values is not None:
            assumed = check_type(values, "values", InvalidStrategyError, Profile, "a Profile or a function of a state")
        check_same_game(assumed[0], game)
        #: The known strategies, and for other players those of the value function.
        self.profile = Profile([self.known.get(each, assumed[each]) for each in range(game.num_players)])
        self._in_public = game.sequence_form.leaves is None
        if self._in_public and game.public_form is None:
            raise UnsupportedProblemError(f"{game.spec} has no histories, so no game of it can be played")
        if self._in_public and self._values is not None:
            raise UnsupportedProblemError(
                f"{game.spec} has no states to call a function on: pass a Profile as the value function"
            )

    def __repr__(self) -> str:
        return f"Aivat({self.game.spec!r}, player={self.player}, known={sorted(self.known)})"

    @explained
    def estimate(self, games: Any, *, by_kind: bool = False, confidence: float = 0.95) -> LuckFree:
        """Estimate the player's expected result from games.

        Parameters
        ----------
        games : array_like of int, Results, PlayLog, or PublicGames
            The leaves at which games of an enumerated game ended, in the order of the sequence form's leaf table, or
            their counts; a log of the observer's seat; or games in public form.
        by_kind : bool
            Whether to divide the luck by kind. An enumerated game is walked for that. The luck in a log with hidden
            private states of an enumerated game cannot be divided.
        confidence : float

        Raises
        ------
        InvalidStrategyError
            If a known player did what its strategy never does.
        InvalidGameError
            If the games are of the wrong kind or incomplete; the message names the first such game.
        """
        confidence = check_number(confidence, "confidence", InvalidGameError, "(0, 1)")
        if self._in_public:
            check_type(games, "games", InvalidGameError, PublicGames, "PublicGames")
            raw, adjusted, parts = self._public(games, by_kind)
            return LuckFree(raw, adjusted, np.ones(len(raw), dtype=np.int64), parts, confidence)
        if isinstance(games, PlayLog):
            places, counts = self._of_log(games)
        elif isinstance(games, Results):
            places = np.flatnonzero(games.ended)
            counts = games.ended[places]
        else:
            places = _checked_leaves(games, len(self._leaves))
            counts = np.ones(len(places), dtype=np.int64)
        if self.observer is not None and not isinstance(games, PlayLog):
            places = self.view.leaf_classes[places]
        table = self._by_leaf if self.observer is None else self._by_class
        raw, adjusted = table["raw"][places], table["adjusted"][places]
        wrong = np.flatnonzero(np.isnan(adjusted))
        if len(wrong):
            which = f"game {wrong[0] + 1}"
            if isinstance(games, PlayLog):
                which = f"a game that ended with {self.view.name(int(places[wrong[0]]))}"
            raise InvalidStrategyError(
                f"{which} is impossible with the known {self._whose}: pass what the players really played"
            )
        kinds = self._kinds if by_kind and (self.observer is None or self._sees_enough) else {}
        split = {
            kind: (values if self.observer is None else self._by_mean(values))[places] for kind, values in kinds.items()
        }
        return LuckFree(raw, adjusted, counts, split, confidence)

    @property
    def _whose(self) -> str:
        seats = " and ".join(map(str, sorted(self.known)))
        return f"strategy of seat {seats}" if len(self.known) == 1 else f"strategies of seats {seats}"

    @property
    def _leaves(self) -> Any:
        return self.game.sequence_form.leaves

    @cached_property
    def _reach(self) -> Floats:
        """The probability that chance and the known players reach each leaf if the others play towards it."""
        reach: Floats = self._leaves.chance.copy()
        for each, strategy in self.known.items():
            reach *= strategy.plan[self._leaves.sequences[:, each]]
        return reach

    @cached_property
    def _histories(self) -> Histories:
        return Histories(self.game)

    @cached_property
    def _evidence(self) -> tuple[Evidence, Floats]:
        """The view of the unknown players, and their behaviour in the value function."""
        if len(self.unknown) == 1 and self._values is None:
            (other,) = self.unknown
            return of_leaves(self.game.sequence_form, other, self._reach, self.player), self.profile[other].behaviour
        return self._histories.evidence(self.unknown, self._reach, self.player, self.profile)

    @cached_property
    def _by_leaf(self) -> dict[str, Floats]:
        """Results by leaf, from the private states of the unknown players."""
        seen, shares = self._evidence
        worth = None if self._values is None else self._histories.worth(self._values, self.known, seen)
        found = differences(seen, shares, worth)
        adjusted = np.where(self._reach > 0.0, (found.value + found.sums)[seen.ended], np.nan)
        return {"raw": self._leaves.payoffs[:, self.player], "adjusted": adjusted}

    @cached_property
    def _kinds(self) -> dict[str, Floats]:
        """The luck by kind and leaf: imaginary observations are what chance and decisions leave of it."""
        paid, whole = self._by_leaf["raw"], self._by_leaf["adjusted"]
        chance, decisions = self._histories.luck(self.player, self.profile, self.known, self._values)
        return {"chance": chance, "decisions": decisions, "imaginary": paid - chance - decisions - whole}

    @cached_property
    def view(self) -> ObserverTree:
        """The observer's view of an enumerated game."""
        return observer_tree(self.game, self.player if self.observer is None else self.observer)

    @cached_property
    def _by_class(self) -> dict[str, Floats]:
        """Results by class of the observer's view."""
        if self._sees_enough:
            return {name: self._by_mean(values) for name, values in self._by_leaf.items()}
        if self.observer != self.player:
            raise UnsupportedProblemError(
                f"seat {self.observer} does not see the results of seat {self.player} without the private information "
                "of others: estimate the observer's own results"
            )
        if self._values is not None:
            raise UnsupportedProblemError("with an observer, the value function must be a Profile")
        seen, shares = self._evidence
        return {"raw": self.view.results, "adjusted": least_variance(self.view, seen, self._reach, shares)}

    @property
    def _sees_enough(self) -> bool:
        """Whether the observer is the only unknown player, so that its view determines the estimate."""
        return self.unknown == (self.observer,)

    def _by_mean(self, values: Floats) -> Floats:
        """Return the mean of numbers by leaf for each class; NaN for classes that no game ends in.

        Adjusted results are equal within a class, and so are the results of constant-sum games.
        """
        classes, count = self.view.leaf_classes, self.view.num_classes
        reach = np.bincount(classes, self._reach, count)
        total = np.bincount(classes, np.nan_to_num(values) * self._reach, count)
        mean: Floats = np.divide(total, reach, out=np.full(count, np.nan), where=reach > 0.0)
        return mean

    def _of_log(self, log: PlayLog) -> tuple[Indices, npt.NDArray[np.int64]]:
        if self.observer is None:
            raise InvalidGameError(
                f"a log records what seat {log.seat} saw: make Aivat with observer={log.seat} to evaluate it"
            )
        if log.seat != self.observer or log.view.sequence_form.fingerprint != self.game.sequence_form.fingerprint:
            raise InvalidGameError(
                f"the log is of seat {log.seat}, expected a log of {self.game.spec} of seat {self.observer}"
            )
        places = np.flatnonzero(log.ended)
        return places, log.ended[places]

    def _public(self, games: PublicGames, by_kind: bool) -> tuple[Floats, Floats, Mapping[str, Floats]]:
        form = self.game.public_form
        assert form is not None
        games.check(form)
        view = self._public_view
        if self.observer is None or not self.unknown:
            return view.adjusted_fully(games, self._public_differences, self.unknown, by_kind)
        if self.observer != self.player:
            raise UnsupportedProblemError(
                f"the observer is seat {self.observer}, but the results are those of seat {self.player}: leave out "
                "observer, or estimate the observer's results"
            )
        return view.adjusted(games, self.imaginary, by_kind)

    @cached_property
    def _public_view(self) -> PublicView:
        return PublicView(self.game, self.player, self.known, self.profile)

    @cached_property
    def _public_differences(self) -> Differences:
        form = self.game.public_form
        assert form is not None
        if len(self.unknown) == 2:
            raise UnsupportedProblemError(
                f"no strategy is known: pass observer={self.player} to remove the luck of its own cards"
            )
        other = self.unknown[0] if self.unknown else 1 - self.player
        seen = of_public_form(self.game, other, self.profile[1 - other].plan, self.player)
        return differences(seen, self.profile[other].behaviour)


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _by_player(game: Game, known: Strategy | Iterable[Strategy]) -> dict[int, Strategy]:
    if isinstance(known, Strategy):
        known = (known,)
    found: dict[int, Strategy] = {}
    for one in known:
        check_type(one, "a known strategy", InvalidStrategyError, Strategy)
        check_same_game(one, game)
        if one.player in found:
            raise InvalidStrategyError(f"seat {one.player} has two known strategies, expected at most one")
        found[one.player] = one
    return found


def _checked_leaves(games: Any, count: int) -> Indices:
    try:
        numbers = np.asarray(games if isinstance(games, np.ndarray | Sequence) else list(games))
        whole = numbers.ndim == 1 and (not numbers.size or numbers.dtype.kind in "iu")
    except (TypeError, ValueError):
        whole = False
    if not whole or (numbers.size and not 0 <= numbers.min() <= numbers.max() < count):
        raise InvalidGameError(f"the leaves are {shown(games, 60)}, expected numbers from 0 to {count - 1}")
    return numbers.astype(np.int64)
