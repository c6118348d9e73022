"""Strategies by infoset label for games too large to enumerate, and estimates of their quality from play."""

import json
import math
import warnings
from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from scipy import special

from ...models.play import MeanResult
from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_number, check_player, check_whole
from ...seqform.errors import (
    GameFileError,
    InvalidGameError,
    InvalidOptionError,
    InvalidStrategyError,
    UnsupportedProblemError,
    shown,
)
from ...seqform.game import Game
from ...seqform.interchange.encoding import decode, encode, from_json
from ...seqform.interchange.files import (
    check_memory,
    naming,
    refusing_unreadable,
    refusing_unwritable,
    regular_size,
    writing_whole,
)
from ...seqform.labels import is_label, listed
from ...seqform.limits import now
from ...seqform.names import not_a_player, unknown_label
from ...seqform.rules import Rules
from ...seqform.strategy import PLAN_TOLERANCE, Profile, Strategy
from .splitmix import SplitMix64, first_random_state
from .walks import OVERFLOW, Infosets, OutOfTimeError, Settings, Walker, WeightOverflowError, one_hot

#: A player's strategy: a function from an infoset's label and actions to probabilities.
Answer = Callable[[Hashable, tuple[Hashable, ...]], Sequence[float]]
_FILE_VERSION = 1
#: Bytes of memory for each byte of a file.
_EXPANSION = 6


class StreamedStrategy(Mapping[Hashable, dict[Hashable, float]]):
    """One player's strategy, from labels of infosets to probabilities of actions.

    It has the infosets that walks have met; at all others it plays uniformly.

    Parameters
    ----------
    player : int
    numbers : dict
        From labels to numbers of infosets, in order. It may grow: later infosets do not belong to this strategy.
    menus : list of tuple
        The actions of each infoset.
    starts : array of int
        The first place of each infoset among the probabilities, followed by their number.
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
        numbers: dict[Hashable, int],
        menus: list[tuple[Hashable, ...]],
        starts: "array[int]",
        shares: "array[float]",
    ) -> None:
        self.player = player
        self._numbers, self._menus, self._starts, self._shares = numbers, menus, starts, shares
        self._count = len(starts) - 1

    @classmethod
    def of(cls, table: Infosets, shares: "array[float]") -> "StreamedStrategy":
        """Return the strategy with these probabilities at the infosets met so far."""
        return cls(table.player, table.numbers, table.menus, table.fixed_starts(), shares)

    def add(self, infoset: Hashable, actions: tuple[Hashable, ...], shares: Sequence[float]) -> None:
        """Add an infoset that is not known yet, with the probabilities of its actions."""
        self._menus.append(actions)
        self._shares.extend(shares)
        self._starts.append(len(self._shares))
        self._numbers[infoset] = self._count
        self._count += 1

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Hashable]:
        return islice(self._numbers, self._count)

    def __contains__(self, infoset: object) -> bool:
        return is_label(infoset) and self._find(infoset) is not None

    def __getitem__(self, infoset: Hashable) -> dict[Hashable, float]:
        number = self._find(infoset)
        if number is None:
            raise KeyError(str(unknown_label(self, self.player, infoset)))
        shares = self._shares[self._starts[number] : self._starts[number + 1]]
        return dict(zip(self._menus[number], shares, strict=True))

    def __repr__(self) -> str:
        return f"StreamedStrategy(player={self.player}, num_infosets={len(self)})"

    def _find(self, infoset: Hashable) -> int | None:
        number = self._numbers.get(infoset)
        return None if number is None or number >= self._count else number

    def probabilities(self, infoset: Hashable, actions: Sequence[Hashable]) -> list[float]:
        """Return the probabilities of an infoset's actions, in order; uniform if the infoset is unknown.

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
                f"infoset {shown(infoset)} of player {self.player} has actions {shown(tuple(actions))}, but the "
                f"strategy has {shown(menu)}"
            )
        return [own[action] for action in actions]

    def to_strategy(self, game: Game) -> Strategy:
        """Return the same strategy in a game that can be enumerated, uniform at unknown infosets.

        Raises
        ------
        InvalidStrategyError
            If the game does not have an infoset of the strategy, or it has other actions there.
        """
        treeplexes = game.sequence_form.treeplexes
        if self.player >= len(treeplexes):
            raise InvalidStrategyError(f"the strategy is for player {self.player}, but {game.spec} has no such player")
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
    """One streamed strategy per player.

    Parameters
    ----------
    strategies : sequence of StreamedStrategy
        Strategy ``i`` is player ``i``'s.

    Raises
    ------
    InvalidStrategyError
        If a player's strategy is missing or in the wrong position.
    """

    def __init__(self, strategies: Sequence[StreamedStrategy]) -> None:
        self._strategies = listed(strategies, "the strategies of a profile are", InvalidStrategyError)
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
        try:
            return self._strategies[player]
        except TypeError:
            raise not_a_player(player, self) from None

    def __repr__(self) -> str:
        return f"StreamedProfile(num_infosets={[len(strategy) for strategy in self]})"

    def to_profile(self, game: Game) -> Profile:
        """Return the same strategies in a game that can be enumerated; see :meth:`StreamedStrategy.to_strategy`."""
        return Profile([strategy.to_strategy(game) for strategy in self])

    def save(self, path: str | PathLike[str], game: str = "") -> None:
        """Write the strategies as text, one line of JSON per infoset, completely or not at all.

        The first line gives the number of players. Every other line is ``{"player": 0, "infoset": …, "actions": […],
        "probabilities": […]}``. Labels are written as in game files.

        Parameters
        ----------
        path : path-like
        game : str
            The name of the game, for the first line.

        Raises
        ------
        InvalidStrategyError
            If the file cannot be written, or a label has a type that files do not support.
        """
        header = {"treeplex_strategies": _FILE_VERSION, "game": game, "players": len(self)}
        try:
            with (
                naming(path),
                refusing_unwritable(path),
                writing_whole(path) as passing,
                passing.open("w", encoding="utf-8", newline="\n") as file,
            ):
                file.write(_line(header))
                for strategy in self:
                    for label, played in strategy.items():
                        line = {
                            "player": strategy.player,
                            "infoset": encode(label),
                            "actions": [encode(action) for action in played],
                            "probabilities": list(played.values()),
                        }
                        file.write(_line(line))
        except InvalidGameError as error:
            raise InvalidStrategyError(str(error)) from None

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "StreamedProfile":
        """Read strategies written by :meth:`save`, or by another program in the same format.

        Raises
        ------
        InvalidStrategyError
            If the file cannot be read; the message names the line.
        GameTooLargeError
            If reading it may exceed the memory budget for building a game.
        """
        try:
            with refusing_unreadable(path):
                check_memory(_EXPANSION * regular_size(path))
                with Path(path).open("r", encoding="utf-8") as file:
                    strategies = _read(file)
        except GameFileError as error:
            raise InvalidStrategyError(str(error)) from None
        return cls(strategies)


@dataclass(frozen=True)
class StreamedGain:
    """The gain of a learned response over a player's own strategy.

    Attributes
    ----------
    player : int
    strategy : StreamedStrategy
        The response.
    gain : MeanResult
        Its payoff minus that of the player's own strategy, against the others' strategies, with an interval. The
        best response gains at least as much, so the lower end is a lower bound on the possible gain, with the
        interval's confidence.
    """

    player: int
    strategy: StreamedStrategy
    gain: MeanResult


def answer_of(strategy: Strategy | StreamedStrategy) -> Answer:
    """Return the function from an infoset and its actions to a strategy's probabilities."""
    if isinstance(strategy, StreamedStrategy):
        return strategy.probabilities

    def answer(infoset: Hashable, actions: Sequence[Hashable]) -> list[float]:
        known = strategy[infoset]
        return [float(known[action]) for action in actions]

    return answer


def streamed_payoffs(
    game: Game | Rules,
    profile: StreamedProfile,
    games: int = 10_000,
    *,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[MeanResult, ...]:
    """Estimate each player's expected payoff from simulated games.

    Parameters
    ----------
    game : Game or Rules
    profile : StreamedProfile
    games : int
        The number of games, at least 2.
    seed : int
        Equal seeds give equal games.
    confidence : float
        The approximate confidence of each interval for many games: the mean ± t s / √n, with Student's t.

    Returns
    -------
    tuple of MeanResult
        One per player, in payoff units.

    Raises
    ------
    InvalidStrategyError
        If it is not a profile of the game, or a number is out of range.

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
    games = _checked_games(rules, profile, games)
    payoffs = _played(rules, profile, games, seed)
    variances = payoffs.var(axis=0, ddof=1) / len(payoffs)
    pairs = zip(payoffs.mean(axis=0).tolist(), variances.tolist(), strict=True)
    return tuple(student_interval(mean, variance, games, confidence) for mean, variance in pairs)


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
    """Learn a response to a profile by sampling, and estimate its gain, a lower bound on the possible gain.

    Parameters
    ----------
    game : Game or Rules
    profile : StreamedProfile
    player : int
        The responding player; the others play the profile.
    iterations : int, optional
        The number of walks for learning.
    seconds : float, optional
        The time limit for learning. One of the two limits is required.
    games : int
        The number of games played after learning, with other random numbers: with the response, and with the
        player's own strategy.
    sampling : {"external", "outcome"}
        Whether walks for learning take all of the player's actions, or one.
    seed : int
    confidence : float
        The approximate confidence of the interval for many games; that of its lower end alone is (1 + confidence) / 2.

    Returns
    -------
    StreamedGain

    Raises
    ------
    InvalidStrategyError
        If it is not a profile of the game, or a number is out of range.
    InvalidGameError
        If there is no such player.
    InvalidOptionError
        If no limit is given, or the sampling is unknown.

    Warns
    -----
    UserWarning
        If learning ends early, because a play is too long for outcome sampling.

    Notes
    -----
    The response is found by regret matching on sampled regrets against the fixed others, and plays the action with the
    largest cumulative regret at each infoset it has met. It need not be a best response, so a small gain proves
    nothing. Its gain is estimated separately from its learning, so the estimate is unbiased. For exploitability by a
    learned response see F. Timbers, N. Bard, E. Lockhart, M. Lanctot, M. Schmid, N. Burch, J. Schrittwieser, T. Hubert
    and M. Bowling, "Approximate exploitability: learning a best response", IJCAI 2022.

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
    games = _checked_games(rules, profile, games)
    player = check_player(player, len(profile), InvalidGameError)
    check_choice(sampling, "sampling", InvalidOptionError, ("external", "outcome"))
    if iterations is None and seconds is None:
        raise InvalidOptionError("learning a response needs a limit, expected iterations or seconds")
    seed = check_whole(seed, "seed", InvalidOptionError)
    response = _learned(rules, profile, player, iterations, seconds, sampling, seed)
    responding = StreamedProfile([response if each.player == player else each for each in profile])
    with_it = _played(rules, responding, games, seed + 1)[:, player]
    without = _played(rules, profile, games, seed + 2)[:, player]
    variance = float(with_it.var(ddof=1) + without.var(ddof=1)) / games
    return StreamedGain(
        player, response, student_interval(float(with_it.mean() - without.mean()), variance, games, confidence)
    )


def _learned(
    rules: Rules,
    profile: StreamedProfile,
    player: int,
    iterations: int | None,
    seconds: float | None,
    sampling: str,
    seed: int,
) -> StreamedStrategy:
    """Return the response learned by walks against fixed strategies."""
    tables = [Infosets(each, len(profile)) for each in range(len(profile))]
    settings = Settings(sampling == "outcome", False, float("-inf"), 0.6, None)
    others = {each.player: each.probabilities for each in profile if each.player != player}
    walker = Walker(rules, tables, settings, SplitMix64(first_random_state(seed)), fixed=others)
    most = math.inf if iterations is None else check_whole(iterations, "iterations", InvalidOptionError)
    if seconds is not None:
        walker.deadline = now() + check_number(seconds, "seconds", InvalidOptionError, "[0, inf]")
    try:
        while walker.turns[player] < most and now() < walker.deadline:
            walker.apply(walker.turn(player, averages=False))
    except OutOfTimeError:
        pass
    except WeightOverflowError:
        walks = int(walker.turns[player])
        warnings.warn(f"a response of player {player} was learned from {walks:,} walks: {OVERFLOW}", stacklevel=3)
    table = tables[player]
    shares = array("d")
    for number in range(len(table)):
        shares.extend(one_hot(table.regrets[table.starts[number] : table.starts[number + 1]]))
    return StreamedStrategy.of(table, shares)


def _played(rules: Rules, profile: StreamedProfile, games: int, seed: int) -> Floats:
    """Simulate games, independently of all walks; return their payoffs, shape (games, players)."""
    numbers = SplitMix64(first_random_state(check_whole(seed, "seed", InvalidOptionError), 1))
    tables = [Infosets(player, len(profile)) for player in range(len(profile))]
    fixed = {each.player: each.probabilities for each in profile}
    walker = Walker(rules, tables, Settings(True, False, 0.0, 0.0, None), numbers, fixed=fixed)
    payoffs = np.empty((games, len(profile)))
    for game in range(games):
        payoffs[game] = walker.play()
    return payoffs


def student_interval(mean: float, variance: float, games: int, confidence: Any) -> MeanResult:
    """Return Student's interval around a mean over games with a given variance of the mean."""
    share = check_number(confidence, "confidence", InvalidStrategyError, "(0, 1)")
    reach = float(special.stdtrit(games - 1, (1.0 + share) / 2.0)) * math.sqrt(variance)
    return MeanResult(mean, mean - reach, mean + reach)


def _checked_games(rules: Rules, profile: Any, games: Any) -> int:
    """Check a profile and a number of games; return the number."""
    if not isinstance(profile, StreamedProfile) or len(profile) != rules.num_players:
        raise InvalidStrategyError(
            f"{shown(profile)} is not a streamed profile of the game: expected one StreamedStrategy for each of "
            f"{rules.num_players} players"
        )
    return check_whole(games, "games", InvalidStrategyError, "[2, inf)")  # one game has no variance


def rules_of(game: Any) -> tuple[Rules, str, Mapping[str, Hashable]]:
    """Return the rules, the name and the action words of a game.

    Raises
    ------
    InvalidGameError
        If it is not a game.
    UnsupportedProblemError
        If the game has no rules.
    """
    known = game if isinstance(game, Game) else Game("", rules=game)
    rules = known.rules
    if rules is None:
        raise UnsupportedProblemError(f"{known.spec} has no histories, expected rules or a tree: sampling needs them")
    count = rules.num_players
    if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
        raise InvalidGameError(f"the rules are for {shown(count)} players, expected at least 1")
    return rules, known.spec, known.action_words


def _line(record: dict[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"


def _read(lines: Iterable[str]) -> list[StreamedStrategy]:
    """Return the strategies in the lines of a file.

    Raises
    ------
    GameFileError
        With the number of the line.
    """
    strategies: list[StreamedStrategy] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = from_json(line)
            if not isinstance(record, dict):
                raise GameFileError(f"the line is {shown(record, 60)}, expected an object")
            if strategies:
                _add(strategies, record)
            else:
                players = range(_num_players(record))
                strategies = [StreamedStrategy(each, {}, [], array("q", [0]), array("d")) for each in players]
        except InvalidGameError as error:
            raise GameFileError(str(error), line=number) from None
    if not strategies:
        raise GameFileError("the file is empty, expected strategies")
    return strategies


def _num_players(header: dict[str, Any]) -> int:
    version, count = header.get("treeplex_strategies"), header.get("players")
    if version != _FILE_VERSION:
        raise GameFileError(
            f"treeplex_strategies is {shown(version, 60)}, expected {_FILE_VERSION}: the file contains no strategies"
        )
    if type(count) is not int or not 1 <= count <= 1000:
        raise GameFileError(f"players is {shown(count, 60)}, expected the number of players")
    return count


def _add(strategies: Sequence[StreamedStrategy], record: dict[str, Any]) -> None:
    for key in ("player", "infoset", "actions", "probabilities"):
        if key not in record:
            raise GameFileError(f"{key} is missing: expected player, infoset, actions and probabilities")
    player, actions, shares = record["player"], record["actions"], record["probabilities"]
    if type(player) is not int or not 0 <= player < len(strategies):
        raise GameFileError(f"player is {shown(player, 60)}, expected 0 to {len(strategies) - 1}")
    if not isinstance(actions, list) or not isinstance(shares, list) or len(actions) != len(shares) or not actions:
        raise GameFileError("actions and probabilities are not two lists of the same length")
    label, menu = decode(record["infoset"]), tuple(decode(action) for action in actions)
    if not all(type(share) in (int, float) and 0.0 <= share <= 1.0 + PLAN_TOLERANCE for share in shares) or not (
        abs(math.fsum(shares) - 1.0) <= PLAN_TOLERANCE
    ):
        raise GameFileError(f"probabilities are {shown(shares, 60)}, expected non-negative numbers that sum to 1")
    if label in strategies[player]:
        raise GameFileError(f"infoset {shown(label)} of player {player} occurs twice")
    if len(set(menu)) < len(menu):
        raise GameFileError(f"actions are {shown(menu, 60)}, expected distinct labels")
    strategies[player].add(label, menu, [float(share) for share in shares])
