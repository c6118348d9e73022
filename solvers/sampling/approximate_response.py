"""Approximate best responses: tree search over infosets with a learned value and policy, against fixed strategies."""

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Annotated, Any, ClassVar

import numpy as np

from ...seqform.errors import CheckpointError, InvalidOptionError
from ...seqform.game import Game
from ...seqform.parameters import About, check_parameters
from ...seqform.rules import Rules
from ...seqform.strategy import Profile
from ..checkpoint import Checkpoint, Saved, digest
from . import search_kernel as kernel
from .search_kernel import LearnerArrays, SearchArrays, SearchNumbers
from .splitmix import first_random_state
from .streamed import MESSAGES, STOPS, Stop, StreamedRun, WalkingStepper, iterate_kept, limits_of
from .streamed_play import StreamedProfile
from .tree_response import TreeResponse


@dataclass(frozen=True)
class SearchSettings:
    """The settings of the search and the learning of an approximate best response.

    Parameters
    ----------
    simulations : int
        Simulations before each decision of a training game.
    decision_simulations : int
        Simulations of the search that decides the response's action at an infoset.
    exploration : float
        The constant c of PUCT, with values scaled to between 0 and 1.
    noise : float
        The weight of the uniform policy at the root of a search in training games.
    outcomes : float
        The weight of the game's payoff in the target of the value; the rest is the result of the search.
    rate, policy_rate : float
        The least step size of the value, as a fraction of its distance from the target, and the step size of the
        policy's logits.
    particles : int
        The largest number of stored histories of an infoset; more are replaced by a sample.
    buckets : int
        The number of weights of each learned function, a power of two.
    """

    name: ClassVar[str] = "abr"

    simulations: Annotated[int, About("number of simulations per search during learning", minimum=2)] = 64
    decision_simulations: Annotated[
        int, About("number of simulations per search that decides an action", minimum=2)
    ] = 5000
    exploration: Annotated[float, About("exploration constant c of PUCT", minimum=0)] = 1.0
    noise: Annotated[float, About("weight of the uniform policy at the root", minimum=0, maximum=1)] = 0.25
    outcomes: Annotated[float, About("weight of outcomes in the targets of values", minimum=0, maximum=1)] = 0.25
    rate: Annotated[float, About("smallest step size of values", above=0, maximum=1)] = 0.01
    policy_rate: Annotated[float, About("step size of the policy's logits", minimum=0)] = 1.0
    particles: Annotated[int, About("largest number of sampled histories of an infoset", minimum=1, maximum=2**24)] = (
        4096
    )
    buckets: Annotated[int, About("number of weights of a learned function", minimum=2, maximum=2**28)] = 2**20

    def __post_init__(self) -> None:
        check_parameters(self, InvalidOptionError)
        if self.buckets & (self.buckets - 1):
            raise InvalidOptionError(f"buckets = {self.buckets}; expected a power of two")


class ApproximateBestResponse(TreeResponse):
    """A best response that is learned by playing, for games that are too large to enumerate.

    The response runs a tree search at each infoset where it decides, using a value and a policy learned from such
    searches. Its payoff in fresh games has a confidence interval, whose lower end is a lower bound on the gain of a
    best response: the opponent is at least that exploitable. A small payoff proves nothing.

    Parameters
    ----------
    game : Game or Rules
    profile : Profile or StreamedProfile
        The others' strategies; the entry of the responding player is ignored.
    player : int
        The responding player.
    settings : SearchSettings, optional
    seed : int, optional
        0 by default. Equal seeds give equal runs.
    memory : int or str, optional
        The memory budget for the visited part of the game, as for :class:`~treeplex.StreamedMCCFR`.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If the arguments are not a game and a profile of it.
    UnsupportedProblemError
        If the game has no rules.

    Notes
    -----
    F. Timbers, N. Bard, E. Lockhart, M. Lanctot, M. Schmid, N. Burch, J. Schrittwieser, T. Hubert and M. Bowling,
    "Approximate exploitability: learning a best response", IJCAI 2022 (arXiv:2004.09677). The differences are listed in
    :doc:`/theory/approximate-responses`. Above all, both learned functions are linear in parts of an infoset's label,
    one of which is the whole label; if all infosets of a game recur, they are tables.

    Examples
    --------
    >>> from treeplex import Profile, load_game
    >>> from treeplex.solvers import ApproximateBestResponse
    >>> game = load_game("kuhn")
    >>> response = ApproximateBestResponse(game, Profile.uniform(game), player=0, seed=1)
    >>> response.run(games=200).iterations
    200
    >>> paid = response.payoff(games=20_000, bounds=(-2, 2))  # a best response is paid 1/2
    >>> paid.lower < 0.5 < paid.upper
    True
    >>> response.strategy()["K_"]
    {'p': 0.0, 'b': 1.0}
    """

    def __init__(
        self,
        game: Game | Rules,
        profile: Profile | StreamedProfile,
        player: int,
        settings: SearchSettings | None = None,
        *,
        seed: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.settings = SearchSettings() if settings is None else settings
        super().__init__(game, profile, player, self.settings.particles, self.settings.buckets, seed, memory)
        self._digest = digest((self._rules, [each for other, each in enumerate(profile) if other != self.player]))
        size = self.settings.buckets
        self._learner = LearnerArrays(np.zeros(size), np.zeros(size), np.zeros(size))
        self._room = _room(0, 0)
        self._control = np.array([0, -1, 0, 1, 0, 0, 0, 0], dtype=np.int64)
        self._clock = np.full(3, first_random_state(self.seed), dtype=np.uint64)

    def __repr__(self) -> str:
        return f"ApproximateBestResponse({self.game_name or 'rules'}, player={self.player}, games={self.games})"

    @property
    def games(self) -> int:
        """The number of training games so far."""
        return int(self._control[kernel.GAMES])

    def run(
        self,
        games: int | None = None,
        *,
        seconds: float | None = None,
        progress: Callable[[StreamedRun], object] | None = None,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> StreamedRun:
        """Continue learning until a limit is reached or Ctrl-C is pressed; an interrupted game leaves no trace.

        Parameters
        ----------
        games : int, optional
            The number of additional games.
        seconds : float, optional
        progress : callable, optional
            Called about 20 times a second with a :class:`StreamedRun`; a true result stops the run.
        checkpoint : Checkpoint or path-like, optional
            As for :func:`~treeplex.solve`.

        Returns
        -------
        StreamedRun
            Its iterations are games, and its touched histories are simulations.

        Raises
        ------
        InvalidOptionError
            If no limit is given, or a limit is not a number.
        CheckpointError
            If the checkpoint is damaged, belongs to another run, cannot be resumed, or cannot be written.
        GameTooLargeError
            If the visited part of the game exceeds the budget.
        """
        if games is None and seconds is None:
            raise InvalidOptionError("the run has no limit, expected games or seconds")
        options = limits_of("games", games, seconds, progress, partial(self._report, None))
        self._decided.clear()
        run = iterate_kept(_Learning(self), options, checkpoint, self._asked)
        return self._report(STOPS[run.stopped], run.seconds)

    def _report(self, stopped: Stop | None, seconds: float) -> StreamedRun:
        message = "" if stopped is None else MESSAGES[stopped]
        return StreamedRun(stopped, self.games, int(self._control[kernel.TOTAL]), self.infosets, seconds, message)

    def _decide(self, infoset: int) -> int:
        """Return the index of the response's action, which depends on the infoset and on the learned functions."""
        if infoset not in self._decided:
            settings, label = self.settings, repr(self._tree.label(infoset))
            control = np.zeros(8, dtype=np.int64)
            control[kernel.INFOSET], control[kernel.STAMP] = infoset, -1 - len(self._decided)
            state = first_random_state(self.seed, 1, zlib.crc32(label.encode()))
            numbers = self._numbers._replace(simulations=settings.decision_simulations, noise=0.0)
            self._complete(kernel.run_search, control, np.full(3, state, dtype=np.uint64), numbers)
            self._decided[infoset] = int(control[kernel.MISSING])
        return self._decided[infoset]

    @property
    def _numbers(self) -> SearchNumbers:
        settings = self.settings
        return SearchNumbers(
            int(settings.simulations),
            *map(float, (settings.exploration, settings.noise, settings.outcomes, settings.rate, settings.policy_rate)),
        )

    def _complete(self, function: Any, control: Any, clock: Any, *rest: Any) -> None:
        """Call a compiled function until it is done, and create the parts of the tree that it needs."""
        wanted = kernel.EXPAND
        while wanted != kernel.DONE:
            wanted = function(self._tree.arrays, self._searched(), self._learner, control, clock, *rest)
            missing = int(control[kernel.MISSING])
            if wanted == kernel.EXPAND:
                self._tree.expand(missing)
            elif wanted == kernel.BELIEVE:
                self._tree.believe(missing)

    def _searched(self) -> SearchArrays:
        """Return arrays for as many infosets and actions as fit in the tree."""
        tree, stamps = self._tree.arrays, self._room.stamps
        infosets, places = len(tree.infosets), len(tree.actions)
        if len(stamps) < infosets or len(self._room.visits) < places:
            old = self._room
            self._room = _room(infosets, places)
            for wide, narrow in zip(self._room[:6], old[:6], strict=True):
                wide[: len(narrow)] = narrow
        return self._room

    def _begin_game(self) -> None:
        """Discard the game that was interrupted."""
        self._control[[kernel.NODE, kernel.INFOSET, kernel.SIMULATIONS, kernel.DECISIONS]] = 0, -1, 0, 0
        self._control[kernel.STAMP] += 1
        self._clock[2] = self._clock[0]

    @property
    def _asked(self) -> dict[str, str]:
        """The description of the run in a checkpoint."""
        return {
            "game": f"{self.game_name or 'rules'} ({self._digest})",
            "method": f"an approximate best response of player {self.player} ({digest(self.settings)})",
            "seed": f"({self.seed})",
        }


class _Learning(WalkingStepper):
    """A stepper on an approximate best response, with one training game per iteration."""

    def __init__(self, response: ApproximateBestResponse) -> None:
        self.response = response

    @property
    def iterations(self) -> int:
        """Training games so far."""
        return self.response.games

    def step(self, iterations: int) -> None:
        """Play training games."""
        response = self.response
        response._begin_game()
        games = self.iterations + iterations
        response._complete(kernel.run_games, response._control, response._clock, response._numbers, games)

    def saved(self) -> Saved:
        """Return the non-zero learned numbers."""
        control, clock = self.response._control, self.response._clock
        return {
            "games": int(control[kernel.GAMES]),
            "simulations": int(control[kernel.TOTAL]),
            "random_state": str(clock[0]),
            **{f"{name}_at": np.flatnonzero(each) for name, each in self.response._learner._asdict().items()},
            **{name: each[np.flatnonzero(each)] for name, each in self.response._learner._asdict().items()},
        }

    def restore(self, saved: Saved) -> None:
        """Restore the state."""
        response = self.response
        if self.iterations:
            raise CheckpointError("this response has already learned: create a new one to continue from a checkpoint")
        for name, each in response._learner._asdict().items():
            each[saved[f"{name}_at"]] = saved[name]
        response._control[[kernel.GAMES, kernel.TOTAL]] = int(saved["games"]), int(saved["simulations"])
        response._clock[:] = int(saved["random_state"]) % 2**64


def _room(infosets: int, places: int) -> SearchArrays:
    stamps, path, chosen = (np.zeros(infosets, dtype=np.int64) for _ in range(3))
    visits, totals, priors = (np.zeros(places) for _ in range(3))
    return SearchArrays(stamps, visits, totals, priors, path, chosen, np.zeros(2))
