"""Responses to fixed strategies on a growing tree: deterministic decisions, and estimates of their payoff."""

from abc import ABC, abstractmethod
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...models.play import MeanResult
from ...models.play.simulation import mean_interval
from ...seqform.checks import check_number, check_player, check_whole
from ...seqform.errors import InvalidGameError, InvalidStrategyError, shown
from ...seqform.game import Game
from ...seqform.rules import Rules
from ...seqform.strategy import Profile
from ..outcome import checked_seed
from . import search_kernel as kernel
from .grown_tree import GrownTree
from .splitmix import first_random_state
from .streamed_play import StreamedProfile, StreamedStrategy, answer_of, rules_of, student_interval


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return the lowest and the highest payoff of a game as a pair.

    Raises
    ------
    InvalidStrategyError
        If they are not two numbers in order.
    """
    if not isinstance(bounds, Sequence | np.ndarray) or len(bounds) != 2:
        raise InvalidStrategyError(f"bounds is {shown(bounds)}, expected the lowest and the highest payoff")
    lowest = check_number(bounds[0], "the lowest payoff", InvalidStrategyError)
    return lowest, check_number(bounds[1], "the highest payoff", InvalidStrategyError, f"[{lowest!r}, inf)")


class TreeResponse(ABC):
    """A response to fixed strategies, which decides each infoset once and then plays the same action there.

    Parameters
    ----------
    game : Game or Rules
    profile : Profile or StreamedProfile
    player : int
        The responding player.
    particles : int
        The largest number of stored histories of an infoset.
    buckets : int
        The number of indices of features, a power of two.
    seed : int, optional
    memory : int or str, optional

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If the arguments are not a game and a profile of it.
    UnsupportedProblemError
        If the game has no rules.
    """

    def __init__(
        self,
        game: Game | Rules,
        profile: Profile | StreamedProfile,
        player: int,
        particles: int,
        buckets: int,
        seed: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self._rules, self.game_name, self._words = rules_of(game)
        if not isinstance(profile, Profile | StreamedProfile) or len(profile) != self._rules.num_players:
            raise InvalidStrategyError(
                f"profile is {shown(profile)}, expected a profile of {self._rules.num_players} players"
            )
        self.player = check_player(player, self._rules.num_players, InvalidGameError)
        self.seed = checked_seed(seed)
        others = {other: answer_of(profile[other]) for other in range(len(profile)) if other != player}
        self._tree = GrownTree(self._rules, self.player, others, particles, buckets, memory)
        self._decided: dict[int, int] = {}

    @property
    def infosets(self) -> int:
        """The number of infosets met."""
        return len(self._tree)

    @abstractmethod
    def _decide(self, infoset: int) -> int:
        """Return the index of the response's action at an infoset, always the same one."""

    def strategy(self) -> StreamedStrategy:
        """Visit all infosets to which the response's own decisions can lead, and return the response's play there.

        If there are too many, use :meth:`payoff`, which decides only where it needs to.
        """
        ahead = [*self._tree.following(-1)]
        met: list[int] = []
        while ahead:
            infoset = ahead.pop()
            met.append(infoset)
            ahead += self._tree.following(self._decide(infoset))
        return self._strategy(met)

    @property
    def decided(self) -> StreamedStrategy:
        """The response's play at the decisions made since it last learned."""
        return self._strategy(self._decided)

    def _strategy(self, infosets: Iterable[int]) -> StreamedStrategy:
        strategy = StreamedStrategy(self.player, {}, [], array("q", [0]), array("d"))
        for infoset in infosets:
            shares = [float(place == self._decided[infoset]) for place in self._tree.places(infoset)]
            strategy.add(self._tree.label(infoset), self._tree.menu(infoset), shares)
        return strategy

    def payoff(
        self, games: int = 10_000, *, seed: int = 0, confidence: float = 0.95, bounds: tuple[float, float] | None = None
    ) -> MeanResult:
        """Play fresh games, which learning has not used, with the response.

        Parameters
        ----------
        games : int
            At least 2.
        seed : int
        confidence : float
        bounds : pair of float, optional
            The lowest and the highest payoff of the game. The interval then holds for any number of games
            (:func:`~treeplex.models.play.simulation.mean_interval`); without them it is Student's interval, which is
            valid for many games.

        Returns
        -------
        MeanResult
            In payoff units. A best response earns at least the lower end, with the interval's confidence.

        Raises
        ------
        InvalidStrategyError
            If a number is out of range.
        """
        games = check_whole(games, "games", InvalidStrategyError, "[2, inf)")
        confidence = check_number(confidence, "confidence", InvalidStrategyError, "(0, 1)")
        lowest, highest = (0.0, 0.0) if bounds is None else checked_bounds(bounds)
        control, results = np.zeros(8, dtype=np.int64), np.zeros(games)
        clock = np.full(3, first_random_state(check_whole(seed, "seed", InvalidStrategyError), 2), dtype=np.uint64)
        decided = np.zeros(0, dtype=np.int64)
        wanted = kernel.EXPAND
        while wanted != kernel.DONE:
            if len(decided) < self.infosets:
                decided = np.full(2 * self.infosets, -1, dtype=np.int64)
                decided[list(self._decided)] = list(self._decided.values())
            wanted = kernel.run_play(self._tree.arrays, control, clock, decided, results)
            missing = int(control[kernel.MISSING])
            if wanted == kernel.EXPAND:
                self._tree.expand(missing)
            elif wanted == kernel.DECIDE:
                decided[missing] = self._decide(missing)
        if bounds is None:
            return student_interval(float(results.mean()), float(results.var(ddof=1)) / games, games, confidence)
        payoffs, counts = np.unique(results, return_counts=True)
        if payoffs[0] < lowest or payoffs[-1] > highest:
            raise InvalidStrategyError(
                f"bounds are {lowest:g} and {highest:g}, expected the lowest and the highest payoff: games have paid "
                f"{payoffs[0]:g} to {payoffs[-1]:g}"
            )
        return mean_interval(payoffs, counts, lowest, highest, confidence)
