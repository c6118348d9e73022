"""Local best responses: one-step improvements by rollouts, and estimates of how exploitable a profile is."""

import zlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...models.play import MeanResult
from ...seqform.checks import check_choice, check_number, check_whole
from ...seqform.errors import InvalidOptionError, InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.rules import Rules
from ...seqform.strategy import Profile
from . import search_kernel as kernel
from .splitmix import SplitMix64, first_random_state
from .streamed_play import StreamedProfile, answer_of
from .tree_response import TreeResponse, checked_bounds

#: Names the action that a response plays later, from an infoset and its actions.
Passive = Callable[[Hashable, tuple[Hashable, ...]], Hashable]


class LocalBestResponse(TreeResponse):
    """A response that looks one own action ahead, and otherwise continues by a simple rule.

    At an infoset it knows the probabilities of the histories there, given the others' strategies. It estimates the
    payoff of each action by rollouts: the others play their strategies, and the response follows the rule. It takes the
    action with the largest mean. It learns nothing, so it also works in games of which only a small part can ever be
    visited.

    Parameters
    ----------
    game : Game or Rules
    profile : Profile or StreamedProfile
        The others' strategies; the responding player's own is used with ``rule="own"`` only.
    player : int
        The responding player.
    rule : {"passive", "own"} or callable, optional
        How the response continues in rollouts. ``passive``: it checks and calls, as in the paper. ``own``: it plays
        its own strategy of the profile. A function receives an infoset's label and its actions and returns an action.
        The default is ``passive`` in games with the words check and call, otherwise ``own``.
    rollouts : int
        The number of rollouts of each action; all actions use the same histories and random numbers.
    particles : int
        The largest number of stored histories of an infoset; a systematic sample replaces more.
    seed : int, optional
        0 by default.
    memory : int or str, optional
        The memory budget for the visited part of the game.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If the arguments are not a game and a profile of it, or the rule does not return an action.
    InvalidOptionError
        If an option is out of range, or the rule is passive and the game has no such words.
    UnsupportedProblemError
        If the game has no rules.

    Notes
    -----
    V. Lisý and M. Bowling, "Equilibrium approximation quality of current no-limit poker bots", AAAI-17 workshop on
    computer poker (arXiv:1612.07547). There the opponent also checks and calls after its next action; here it plays
    its strategy to the end.

    The response is a strategy of the game, so its payoff is at most that of a best response. :meth:`payoff` estimates
    this payoff without bias; the estimate itself is not a bound.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.solvers import LocalBestResponse
    >>> game = load_game("leduc")
    >>> response = LocalBestResponse(game, Profile.uniform(game), player=0, rollouts=50)
    >>> paid = response.payoff(games=5000, bounds=(-13, 13))  # a best response is paid 2.0875
    >>> bool(1.0 < paid.lower < 2.0875)
    True
    """

    def __init__(
        self,
        game: Game | Rules,
        profile: Profile | StreamedProfile,
        player: int,
        *,
        rule: Literal["passive", "own"] | Passive | None = None,
        rollouts: int = 200,
        particles: int = 4096,
        seed: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        most = check_whole(particles, "particles", InvalidOptionError, "[1, 16777216]")
        super().__init__(game, profile, player, most, 2, seed, memory)
        self.rollouts = check_whole(rollouts, "rollouts", InvalidOptionError, "[1, inf)")
        self._own = answer_of(profile[self.player])
        passive = {self._words[word] for word in ("check", "call") if word in self._words}
        chosen = rule if rule is not None else "passive" if passive else "own"
        if not callable(chosen):
            check_choice(chosen, "rule", InvalidOptionError, ("passive", "own"))
        if chosen == "passive" and not passive:
            raise InvalidOptionError(
                f"{self.game_name or 'the game'} has no actions called check or call, expected rule='own' or a function"
            )
        self.rule = chosen
        self._passive: Passive | None = chosen if callable(chosen) else None
        if chosen == "passive":
            self._passive = _checking(passive)
        # The actions by the rule at the infosets of rollouts, -1 where not decided; and the arrays of a rollout.
        self._later = np.full(1024, -1, dtype=np.int64)
        self._control, self._clock, self._result = (
            np.zeros(8, dtype=np.int64),
            np.zeros(3, dtype=np.uint64),
            np.zeros(1),
        )

    def __repr__(self) -> str:
        return f"LocalBestResponse({self.game_name or 'rules'}, player={self.player}, rule={shown(self.rule, 40)})"

    def _decide(self, infoset: int) -> int:
        """Return the index of the action with the largest mean over rollouts; it depends on the seed and the label."""
        if infoset in self._decided:
            return self._decided[infoset]
        tree = self._tree
        tree.believe(infoset)
        places = tree.places(infoset)
        first, end = tree.arrays.infosets[infoset, kernel.HISTORIES :].tolist()
        numbers = SplitMix64(first_random_state(self.seed, 3, zlib.crc32(repr(tree.label(infoset)).encode())))
        totals = np.zeros(len(places))
        if first < end and len(places) > 1:
            members, shares = tree.arrays.members[first:end], tree.arrays.shares[first:end]
            drawn = (np.arange(self.rollouts) + numbers.random()) / self.rollouts
            for member in members[np.minimum(np.searchsorted(shares, drawn, side="right"), end - first - 1)].tolist():
                start = int(tree.arrays.nodes[member, kernel.CHILD])
                state = numbers.state
                for action in range(len(places)):
                    numbers.state = state
                    totals[action] += self._rollout(start + action, numbers)
                numbers.state = state
                numbers.random()
        elif len(places) > 1:  # the others never lead here
            totals[self._after(infoset, numbers) - places.start] = 1.0
        self._decided[infoset] = places.start + int(np.argmax(totals))
        return self._decided[infoset]

    def _payoff_if_zero_sum(
        self, games: int, seed: int, confidence: float, bounds: tuple[float, float] | None
    ) -> MeanResult:
        paid = self.payoff(games, seed=seed, confidence=confidence, bounds=bounds)
        if self._tree.unbalanced is not None:
            found = " and ".join(f"{each:g}" for each in self._tree.unbalanced)
            raise UnsupportedProblemError(f"a game paid the players {found}, expected a zero-sum game")
        return paid

    def _rollout(self, node: int, numbers: SplitMix64) -> float:
        """Return the payoff of one play from a history on, in which the response follows its rule."""
        control, result, clock = self._control, self._result, self._clock
        control[:], clock[:] = 0, numbers.state
        control[kernel.NODE] = node
        met: list[int] = []
        while True:
            wanted = kernel.run_play(self._tree.arrays, control, clock, self._later, result)
            if wanted == kernel.DONE:
                break
            missing = int(control[kernel.MISSING])
            if wanted == kernel.EXPAND:
                self._tree.expand(missing)
                if self.infosets > len(self._later):
                    self._later = np.append(self._later, np.full(len(self._later), -1, dtype=np.int64))
            else:
                self._later[missing] = self._after(missing, numbers)
                met.append(missing)
        if self._passive is None:
            self._later[met] = -1  # drawn anew in each rollout
        return float(result[0])

    def _after(self, infoset: int, numbers: SplitMix64) -> int:
        """Return the index of the action by the rule."""
        label, menu = self._tree.label(infoset), self._tree.menu(infoset)
        start = self._tree.places(infoset).start
        if self._passive is not None:
            action = self._passive(label, menu)
            if action not in menu:
                raise InvalidStrategyError(
                    f"the rule plays {shown(action)} at infoset {shown(label)}, expected one of {shown(menu)}"
                )
            return start + menu.index(action)
        sums = np.cumsum(self._own(label, menu))
        return start + min(int(np.searchsorted(sums, numbers.random() * sums[-1], side="right")), len(menu) - 1)


def _checking(passive: set[Hashable]) -> Passive:
    """Return the rule that checks or calls; without such an action, it takes the first one."""

    def rule(label: Hashable, menu: tuple[Hashable, ...]) -> Hashable:
        return next((action for action in menu if action in passive), menu[0])

    return rule


@dataclass(frozen=True)
class ExploitabilityEstimate:
    """An estimate of how much responses gain on average against a profile of a two-player zero-sum game.

    Attributes
    ----------
    payoffs : tuple of MeanResult
        The payoff of each player's response, each with an interval of confidence (1 + ``confidence``) / 2.
    mean : float
        Half of the sum of the two means: an unbiased estimate of the mean gain of the two responses.
    lower, upper : float
        An interval for the mean gain of the two responses, with at least ``confidence``. Exploitability is at least
        this gain, so with this confidence it is at least ``lower``. It may be far above ``upper``.
    confidence : float
    """

    payoffs: tuple[MeanResult, MeanResult]
    mean: float
    lower: float
    upper: float
    confidence: float


def estimate_exploitability(
    game: Game | Rules,
    profile: Profile | StreamedProfile,
    games: int = 10_000,
    *,
    rule: Literal["passive", "own"] | Passive | None = None,
    rollouts: int = 200,
    seed: int = 0,
    confidence: float = 0.95,
    bounds: tuple[float, float] | None = None,
) -> ExploitabilityEstimate:
    """Estimate the exploitability of a profile from below, by local best responses of both players.

    Parameters
    ----------
    game : Game or Rules
        A two-player zero-sum game of any size.
    profile : Profile or StreamedProfile
    games : int
        The number of games that each response plays.
    rule, rollouts
        As for :class:`LocalBestResponse`.
    seed : int
    confidence : float
    bounds : pair of float, optional
        The lowest and the highest payoff of player 0. The intervals then hold for any number of games; without them
        they are Student's, which are valid for many games.

    Returns
    -------
    ExploitabilityEstimate

    Raises
    ------
    UnsupportedProblemError
        If the game does not have two players, has no rules, or a game that was played did not pay zero in total.
    InvalidStrategyError, InvalidOptionError
        If an argument is out of range.

    Examples
    --------
    >>> from treeplex import Profile, exploitability, load_game
    >>> from treeplex.solvers import estimate_exploitability
    >>> game = load_game("kuhn")
    >>> uniform = Profile.uniform(game)
    >>> found = estimate_exploitability(game, uniform, games=4000, bounds=(-2, 2))
    >>> bool(0.0 < found.lower <= exploitability(game, uniform))
    True
    """
    share = check_number(confidence, "confidence", InvalidStrategyError, "(0, 1)")
    responses = [
        LocalBestResponse(game, profile, player, rule=rule, rollouts=rollouts, seed=seed)
        for player in range(len(profile))
    ]
    if len(responses) != 2:
        raise UnsupportedProblemError(f"the game has {len(responses)} players, expected 2")
    ends: list[tuple[float, float] | None] = [None, None]
    if bounds is not None:
        lowest, highest = checked_bounds(bounds)
        ends = [(lowest, highest), (-highest, -lowest)]
    first, second = (
        response._payoff_if_zero_sum(games, seed + player, (1.0 + share) / 2.0, ends[player])
        for player, response in enumerate(responses)
    )
    return ExploitabilityEstimate(
        (first, second),
        (first.mean + second.mean) / 2,
        (first.lower + second.lower) / 2,
        (first.upper + second.upper) / 2,
        float(share),
    )
