"""How good streamed strategies are, as far as games that are played at random can tell."""

import math
import time
from array import array
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

from ...models.play import MeanResult
from ...seqform.errors import InvalidGameError, InvalidStrategyError, UnknownMethodError, shown
from ...seqform.game import Game
from ...seqform.rules import Rules
from .infosets import Infosets
from .splitmix import SplitMix64, first_random_state
from .streamed_options import checked_seconds, checked_whole, rules_of
from .streamed_strategy import StreamedProfile, StreamedStrategy
from .walks import OutOfTimeError, Settings, Walker


@dataclass(frozen=True)
class StreamedGain:
    """What a response that was learned gains over a player's own strategy.

    Attributes
    ----------
    player : int
    strategy : StreamedStrategy
        The response.
    gain : MeanResult
        Its payoff minus that of the player's own strategy, against the others' strategies, with an interval. The best
        response gains no less, so that the lower end is a lower bound on what the player could gain.
    """

    player: int
    strategy: StreamedStrategy
    gain: MeanResult


def streamed_payoffs(
    game: Game | Rules,
    profile: StreamedProfile,
    games: int = 10_000,
    *,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[MeanResult, ...]:
    """Estimate each player's expected payoff by playing games at random.

    Parameters
    ----------
    game : Game or Rules
    profile : StreamedProfile
    games : int
        How many, at least 2.
    seed : int
        Equal seeds give equal games.
    confidence : float
        With which each interval holds, as the number of games grows: the mean ± z s / √n.

    Returns
    -------
    tuple of MeanResult
        One a player, in payoff units.

    Raises
    ------
    InvalidStrategyError
        If it is no profile of the game, or a number makes no sense.

    Examples
    --------
    >>> from treeplex import StreamedMCCFR, load_game
    >>> from treeplex.solvers import streamed_payoffs
    >>> game = load_game("kuhn")
    >>> payoffs = streamed_payoffs(game, StreamedMCCFR(game).profile, games=5000)  # uniform: 1/8 in expectation
    >>> payoffs[0].lower < 1 / 8 < payoffs[0].upper
    True
    """
    rules, _, _ = rules_of(game)
    _check_profile(rules, profile)
    sums = _played(rules, profile, _games(games), seed)
    return tuple(_interval(sums, player, confidence) for player in range(len(profile)))


def streamed_gain(
    game: Game | Rules,
    profile: StreamedProfile,
    player: int,
    *,
    iterations: int | None = None,
    seconds: float | None = None,
    games: int = 10_000,
    sampling: Literal["external", "outcome"] = "external",
    seed: int = 0,
    confidence: float = 0.95,
) -> StreamedGain:
    """Learn a response to a profile by sampling, and estimate what it gains: a lower bound on exploitability.

    Parameters
    ----------
    game : Game or Rules
    profile : StreamedProfile
    player : int
        Who responds; the others keep to the profile.
    iterations : int, optional
        Walks to learn from.
    seconds : float, optional
        Time to learn in. One of the two is needed.
    games : int
        How many games are played, afterwards and with other random numbers, with the response and with the player's
        own strategy each.
    sampling : {"external", "outcome"}
        What walks to learn from take of the player's actions: all, or one.
    seed : int
    confidence : float
        With which the interval holds, as the number of games grows; its lower end alone with (1 + confidence) / 2.

    Returns
    -------
    StreamedGain

    Raises
    ------
    InvalidStrategyError
        If it is no profile of the game, or a number makes no sense.
    InvalidGameError
        If there is no such player.
    UnknownMethodError
        If no limit is given, or the sampling is unknown.

    Notes
    -----
    The response is found by regret matching on sampled regrets against the fixed others, and plays the action of the
    largest cumulative regret at each infoset it has met. It need not be a best response, so that a small gain proves
    nothing. What it gains is estimated apart from how it was found, so that the estimate is right on average; to
    measure exploitability by a response that is learned: F. Timbers, N. Bard, E. Lockhart, M. Lanctot, M. Schmid, N.
    Burch, J. Schrittwieser, T. Hubert and M. Bowling, "Approximate exploitability: learning a best response", IJCAI
    2022.

    Examples
    --------
    >>> from treeplex import StreamedMCCFR, load_game
    >>> from treeplex.solvers import streamed_gain
    >>> game = load_game("kuhn")
    >>> found = streamed_gain(game, StreamedMCCFR(game).profile, 0, iterations=300, games=4000)
    >>> found.gain.lower > 0.2  # 3/8 in truth
    True
    """
    rules, _, _ = rules_of(game)
    _check_profile(rules, profile)
    if isinstance(player, bool) or player not in range(len(profile)):
        raise InvalidGameError(f"player {shown(player)} is none of the game's: it has players 0 to {len(profile) - 1}")
    if sampling not in ("external", "outcome"):
        raise UnknownMethodError(f"sampling is {shown(sampling)}, expected external or outcome")
    if iterations is None and seconds is None:
        raise UnknownMethodError("a response is learned without a limit, expected iterations or seconds")
    response = _learned(rules, profile, int(player), iterations, seconds, sampling, checked_whole(seed, "seed"))
    responding = StreamedProfile([response if each.player == player else each for each in profile])
    with_it = _played(rules, responding, _games(games), seed + 1)
    without = _played(rules, profile, games, seed + 2)
    mean = with_it.mean(player) - without.mean(player)
    reach = _quantile(confidence) * math.sqrt((with_it.variance(player) + without.variance(player)) / games)
    return StreamedGain(int(player), response, MeanResult(mean, mean - reach, mean + reach))


class _Responding(Walker):
    """Walks of a player against others whose strategies are fixed."""

    fixed: StreamedProfile
    player: int

    def _play(self, who: int, state: Any, parent: int) -> tuple[int, tuple[Hashable, ...], list[float]]:
        if who == self.player:
            return super()._play(who, state, parent)
        menu = tuple(self.rules.actions(state))
        return -1, menu, self.fixed[who].probabilities(self.rules.infoset(state), menu)


def _learned(
    rules: Rules,
    profile: StreamedProfile,
    player: int,
    iterations: int | None,
    seconds: float | None,
    sampling: str,
    seed: int,
) -> StreamedStrategy:
    """Return the response that walks against fixed strategies make."""
    tables = [Infosets(each, len(profile)) for each in range(len(profile))]
    settings = Settings(sampling == "outcome", False, float("-inf"), 0.6, None)
    walker = _Responding(rules, tables, settings, SplitMix64(first_random_state(seed)))
    walker.fixed, walker.player = profile, player
    walker.deadline = math.inf if seconds is None else time.perf_counter() + checked_seconds(seconds)
    most = math.inf if iterations is None else checked_whole(iterations, "iterations")
    try:
        while walker.turns[player] < most and time.perf_counter() < walker.deadline:
            walker.apply(walker.learn(player))
            walker.turns[player] += 1.0
    except OutOfTimeError:
        pass
    table = tables[player]
    shares = array("d")
    for number in range(len(table)):
        regrets = table.regrets[table.starts[number] : table.starts[number + 1]]
        best = regrets.index(max(regrets))
        shares.extend(1.0 if action == best else 0.0 for action in range(len(regrets)))
    return StreamedStrategy.of(table, shares)


class _Sums:
    """Sums of payoffs and of their squares."""

    def __init__(self, players: int) -> None:
        self.games = 0
        self.payoffs, self.squares = [0.0] * players, [0.0] * players

    def add(self, payoffs: Sequence[float]) -> None:
        self.games += 1
        for player, payoff in enumerate(payoffs):
            self.payoffs[player] += payoff
            self.squares[player] += payoff * payoff

    def mean(self, player: int) -> float:
        return self.payoffs[player] / self.games

    def variance(self, player: int) -> float:
        spread = self.squares[player] - self.games * self.mean(player) ** 2
        return max(spread, 0.0) / (self.games - 1)


def _played(rules: Rules, profile: StreamedProfile, games: int, seed: int) -> _Sums:
    """Play games at random."""
    players = len(profile)
    tables = [Infosets(player, players) for player in range(players)]
    numbers = SplitMix64(first_random_state(checked_whole(seed, "seed")))
    walker = Walker(rules, tables, Settings(True, False, 0.0, 0.0, None), numbers)
    sums = _Sums(players)
    for _ in range(games):
        sums.add(walker.play(profile))
    return sums


def _interval(sums: _Sums, player: int, confidence: float) -> MeanResult:
    mean = sums.mean(player)
    reach = _quantile(confidence) * math.sqrt(sums.variance(player) / sums.games)
    return MeanResult(mean, mean - reach, mean + reach)


def _quantile(confidence: Any) -> float:
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0.0 < confidence < 1.0:
        raise InvalidStrategyError(f"confidence is {shown(confidence)}, expected a number between 0 and 1")
    return NormalDist().inv_cdf((1.0 + confidence) / 2.0)


def _check_profile(rules: Rules, profile: Any) -> None:
    if not isinstance(profile, StreamedProfile) or len(profile) != rules.num_players:
        raise InvalidStrategyError(
            f"{shown(profile)} is no streamed profile of the game: one StreamedStrategy for each of "
            f"{rules.num_players} players is needed"
        )


def _games(games: Any) -> int:
    number = checked_whole(games, "games")
    if number < 2:
        raise InvalidStrategyError(f"games are {number}, expected 2 at least: one has no spread")
    return number
