"""Strategies for games that nobody enumerates, by infoset label, and how good they are as far as play can tell."""

import json
import math
import time
from array import array
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from os import PathLike
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, NoReturn, overload

import numpy as np

from ...models.play import MeanResult
from ...seqform.checks import check_number, check_whole
from ...seqform.errors import (
    GameFileError,
    InvalidGameError,
    InvalidStrategyError,
    UnknownMethodError,
    UnsupportedProblemError,
    one_line,
    shown,
)
from ...seqform.game import Game
from ...seqform.interchange.encoding import decode, encode, from_json
from ...seqform.interchange.files import check_memory, reason_of, regular_size, writing_whole
from ...seqform.rules import Rules
from ...seqform.strategy import PLAN_TOLERANCE, Profile, Strategy
from .splitmix import SplitMix64, first_random_state
from .walks import Infosets, OutOfTimeError, Settings, Walker

_FILE_VERSION = 1
#: Bytes of memory for each byte of a file.
_EXPANSION = 6


class StreamedStrategy(Mapping[Hashable, dict[Hashable, float]]):
    """One player's strategy, from labels of infosets to probabilities of actions.

    It knows the infosets that the walks have met; at all others it plays uniformly.

    Parameters
    ----------
    player : int
    numbers : mapping
        From labels to numbers of infosets, in their order. It may grow: later ones are not of this strategy.
    menus : sequence of tuple
        Of each infoset the actions.
    starts : sequence of int
        Of each infoset its first place among the probabilities; then how many these are.
    shares : array of float
        The probabilities, infoset by infoset.

    Examples
    --------
    >>> from treeplex import StreamedMCCFR, load_game
    >>> sampler = StreamedMCCFR(load_game("kuhn"), seed=1)
    >>> _ = sampler.run(iterations=2000)
    >>> strategy = sampler.strategy(0)
    >>> len(strategy), bool(strategy["K_pb"]["b"] > 0.9)
    (6, True)
    >>> strategy.probabilities("an infoset that no walk has met", ("a", "b"))
    [0.5, 0.5]
    """

    def __init__(
        self,
        player: int,
        numbers: Mapping[Hashable, int],
        menus: Sequence[tuple[Hashable, ...]],
        starts: "Sequence[int]",
        shares: "array[float]",
    ) -> None:
        self.player = player
        self._numbers, self._menus, self._starts, self._shares = numbers, menus, starts, shares
        self._count = len(starts) - 1

    @classmethod
    def of(cls, table: Infosets, shares: "array[float]") -> "StreamedStrategy":
        """Return the strategy with these probabilities at the infosets that have been met so far."""
        return cls(table.player, table.numbers, table.menus, table.starts[: len(table) + 1], shares)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Hashable]:
        return islice(self._numbers, self._count)

    def __getitem__(self, infoset: Hashable) -> dict[Hashable, float]:
        number = self._find(infoset)
        if number is None:
            raise KeyError(infoset)
        shares = self._shares[self._starts[number] : self._starts[number + 1]]
        return dict(zip(self._menus[number], shares, strict=True))

    def __repr__(self) -> str:
        return f"StreamedStrategy(player={self.player}, num_infosets={len(self)})"

    def _find(self, infoset: Hashable) -> int | None:
        number = self._numbers.get(infoset)
        return None if number is None or number >= self._count else number

    def probabilities(self, infoset: Hashable, actions: Sequence[Hashable]) -> list[float]:
        """Return the probabilities of an infoset's actions, in their order; all alike where the infoset is unknown.

        Parameters
        ----------
        infoset : label
        actions : sequence of labels

        Raises
        ------
        InvalidStrategyError
            If the infoset is known with other actions.
        """
        number = self._find(infoset)
        if number is None:
            return [1.0 / len(actions)] * len(actions)
        shares = self._shares[self._starts[number] : self._starts[number + 1]].tolist()
        menu = self._menus[number]
        if actions is menu or tuple(actions) == menu:
            return shares
        own = dict(zip(menu, shares, strict=True))
        if len(own) != len(actions) or any(action not in own for action in actions):
            raise InvalidStrategyError(
                f"infoset {shown(infoset)} of player {self.player} has actions {shown(tuple(actions))}, and the "
                f"strategy knows {shown(menu)}"
            )
        return [own[action] for action in actions]

    def to_strategy(self, game: Game) -> Strategy:
        """Return the same strategy in a game that can be enumerated, uniform at infosets that are unknown.

        Raises
        ------
        InvalidStrategyError
            If the game does not have an infoset of the strategy, or it has other actions there.
        """
        treeplexes = game.sequence_form.treeplexes
        if self.player >= len(treeplexes):
            raise InvalidStrategyError(f"the strategy is player {self.player}'s, and {game.spec} has no such player")
        treeplex = treeplexes[self.player]
        behaviour = treeplex.uniform_behaviour()
        for label in self:
            infoset = treeplex.find_infoset(label)
            if infoset is None:
                raise InvalidStrategyError(f"player {self.player} has no infoset {shown(label)} in {game.spec}")
            start, stop = treeplex.offsets[infoset : infoset + 2].tolist()
            behaviour[start:stop] = self.probabilities(label, treeplex.action_labels[infoset])
        return Strategy(game, self.player, behaviour)


class StreamedProfile(Sequence[StreamedStrategy]):
    """One streamed strategy a player.

    Parameters
    ----------
    strategies : sequence of StreamedStrategy
        Strategy ``i`` is player ``i``'s.

    Raises
    ------
    InvalidStrategyError
        If a player's strategy is missing or stands in another's place.
    """

    def __init__(self, strategies: Sequence[StreamedStrategy]) -> None:
        self._strategies = tuple(strategies)
        players = [getattr(strategy, "player", None) for strategy in self._strategies]
        if not players or players != list(range(len(players))):
            raise InvalidStrategyError(
                f"a streamed profile needs strategies of players 0, 1, … in this order, received {shown(players)}"
            )

    def __len__(self) -> int:
        return len(self._strategies)

    @overload
    def __getitem__(self, player: int) -> StreamedStrategy: ...
    @overload
    def __getitem__(self, player: slice) -> Sequence[StreamedStrategy]: ...
    def __getitem__(self, player: Any) -> Any:
        """Return a player's strategy."""
        return self._strategies[player]

    def __repr__(self) -> str:
        return f"StreamedProfile(num_infosets={[len(strategy) for strategy in self]})"

    def to_profile(self, game: Game) -> Profile:
        """Return the same strategies in a game that can be enumerated; see :meth:`StreamedStrategy.to_strategy`."""
        return Profile([strategy.to_strategy(game) for strategy in self])

    def save(self, path: str | PathLike[str], game: str = "") -> None:
        """Write the strategies as text, a line of JSON an infoset, whole or not at all.

        The first line says how many players there are, each other one is
        ``{"player": 0, "infoset": …, "actions": […], "probabilities": […]}``. Labels are written as in game files.

        Parameters
        ----------
        path : path-like
        game : str
            What the game is called, for the first line.

        Raises
        ------
        InvalidStrategyError
            If the file cannot be written, or a label is of a type that files do not take.
        """
        header = {"treeplex_strategies": _FILE_VERSION, "game": game, "players": len(self)}
        try:
            with writing_whole(path) as passing, passing.open("w", encoding="utf-8", newline="\n") as file:
                file.write(_line(header))
                for strategy in self:
                    for label in strategy:
                        played = strategy[label]
                        line = {
                            "player": strategy.player,
                            "infoset": encode(label),
                            "actions": [encode(action) for action in played],
                            "probabilities": list(played.values()),
                        }
                        file.write(_line(line))
        except InvalidGameError as error:  # a label
            raise InvalidStrategyError(f"{one_line(str(path))} cannot be written: {error}") from None
        except (OSError, TypeError, ValueError) as error:
            raise InvalidStrategyError(f"{one_line(str(path))} cannot be written: {reason_of(error)}") from None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "StreamedProfile":
        """Read strategies that :meth:`save` wrote, or another program in the same form.

        Raises
        ------
        InvalidStrategyError
            If the file cannot be read; the message names the line.
        GameTooLargeError
            If it may take more memory than the budget for building a game.
        """
        name = one_line(str(path))
        try:
            check_memory(_EXPANSION * regular_size(path))
            with Path(path).open("r", encoding="utf-8") as file:
                return cls(_read(file, name))
        except (GameFileError, OSError) as error:
            raise InvalidStrategyError(f"{name}: {reason_of(error)}") from None
        except UnicodeDecodeError:
            raise InvalidStrategyError(f"{name} is no file of strategies: it is no text in UTF-8") from None
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidStrategyError):
                raise
            raise InvalidStrategyError(f"{name} cannot be read: {reason_of(error)}") from None


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
        raise InvalidGameError(f"player is {shown(player)}, expected one from 0 to {len(profile) - 1}")
    if sampling not in ("external", "outcome"):
        raise UnknownMethodError(f"sampling is {shown(sampling)}, expected external or outcome")
    if iterations is None and seconds is None:
        raise UnknownMethodError("a response is learned without a limit, expected iterations or seconds")
    response = _learned(
        rules, profile, int(player), iterations, seconds, sampling, check_whole(seed, "seed", UnknownMethodError)
    )
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
    walker.deadline = (
        math.inf
        if seconds is None
        else time.perf_counter() + check_number(seconds, "seconds", UnknownMethodError, "[0, inf]")
    )
    most = math.inf if iterations is None else check_whole(iterations, "iterations", UnknownMethodError)
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
    numbers = SplitMix64(first_random_state(check_whole(seed, "seed", UnknownMethodError)))
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
    number = check_whole(games, "games", UnknownMethodError)
    if number < 2:
        raise InvalidStrategyError(f"games are {number}, expected 2 at least: one has no spread")
    return number


def rules_of(game: Any) -> tuple[Rules, str, Mapping[str, Hashable]]:
    """Return rules, the name and the longer words for actions of a game.

    Raises
    ------
    InvalidGameError
        If it is no game.
    UnsupportedProblemError
        If it has no rules.
    """
    known = game if isinstance(game, Game) else Game("", rules=game)
    rules = known.rules
    if rules is None:
        raise UnsupportedProblemError(
            f"{known.spec} has no histories, expected rules or a tree: what samples histories needs them"
        )
    count = rules.num_players
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise InvalidGameError(f"the rules are for {shown(count)} players, expected at least 1")
    return rules, known.spec, known.action_words


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


class _Lines:
    """The infosets of one player, as a file gives them."""

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        self.menus: list[tuple[Hashable, ...]] = []
        self.starts, self.shares = array("q", [0]), array("d")


def _read(lines: Iterator[str], name: str) -> list[StreamedStrategy]:
    players: list[_Lines] | None = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue

        def refuse(message: str, number: int = number) -> NoReturn:
            raise InvalidStrategyError(f"{name}: line {number}: {message}")

        try:
            record = from_json(line)
        except InvalidGameError as error:
            refuse(str(error))
        if not isinstance(record, dict):
            refuse(f"it is {shown(record, 60)}, expected an object")
        if players is None:
            players = _players(record, refuse)
        else:
            _add(players, record, refuse)
    if players is None:
        raise InvalidStrategyError(f"{name} is no file of strategies: it is empty")
    return [
        StreamedStrategy(player, read.numbers, read.menus, read.starts, read.shares)
        for player, read in enumerate(players)
    ]


def _players(header: dict[str, Any], refuse: Any) -> list[_Lines]:
    version: Any = header.get("treeplex_strategies")
    count: Any = header.get("players")
    if version != _FILE_VERSION:
        refuse(f"treeplex_strategies is {shown(version, 60)}, expected {_FILE_VERSION}: it is no file of strategies")
    if type(count) is not int or not 1 <= count <= 1000:
        refuse(f"players is {shown(count, 60)}, expected their number")
    return [_Lines() for _ in range(count)]


def _add(players: list[_Lines], record: dict[str, Any], refuse: Any) -> None:
    for key in ("player", "infoset", "actions", "probabilities"):
        if key not in record:
            refuse(f"{key} is missing: expected player, infoset, actions and probabilities")
    player, actions, shares = record["player"], record["actions"], record["probabilities"]
    if type(player) is not int or not 0 <= player < len(players):
        refuse(f"player is {shown(player, 60)}, expected 0 to {len(players) - 1}")
    if not isinstance(actions, list) or not isinstance(shares, list) or len(actions) != len(shares) or not actions:
        refuse("actions and probabilities are not two lists of the same length")
    try:
        label, menu = decode(record["infoset"]), tuple(decode(action) for action in actions)
    except InvalidGameError as error:
        refuse(str(error))
    if not all(type(share) in (int, float) and 0.0 <= share <= 1.0 + PLAN_TOLERANCE for share in shares) or not (
        abs(math.fsum(shares) - 1.0) <= PLAN_TOLERANCE
    ):
        refuse(f"probabilities are {shown(shares, 60)}, expected numbers from 0 on that sum to 1")
    read = players[player]
    if label in read.numbers:
        refuse(f"infoset {shown(label)} of player {player} stands there twice")
    if len(set(menu)) < len(menu):
        refuse(f"actions are {shown(menu, 60)}, expected distinct labels")
    read.numbers[label] = len(read.menus)
    read.menus.append(menu)
    read.shares.extend(np.asarray(shares, dtype=np.float64).tolist())
    read.starts.append(len(read.shares))
