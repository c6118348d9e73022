"""Monte Carlo CFR straight on rules, for games too large to enumerate."""

import time
from array import array
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from numbers import Integral
from os import PathLike
from typing import Any, Literal

from ...models.preferences import Prefer, PreferStrategy
from ...seqform.budget import Budget, in_words, resident_memory
from ...seqform.errors import InvalidGameError, UnknownMethodError, shown
from ...seqform.game import Game
from ...seqform.rules import Rules
from ..methods import MCCFR, ESPrefCFR
from .infosets import Infosets
from .splitmix import SplitMix64, first_random_state
from .streamed_options import checked_seconds, checked_whole, method_of, rules_of, settings_of
from .streamed_strategy import StreamedProfile, StreamedStrategy
from .walks import OutOfMemoryError, OutOfTimeError, Update, Walker

#: Seconds between two reports of progress.
REPORT_SECONDS = 0.1

Stop = Literal["iterations", "touched", "time", "memory", "interrupted"]


@dataclass(frozen=True)
class StreamedRun:
    """How far a sampler is, and what has stopped it.

    Attributes
    ----------
    stopped : {"iterations", "touched", "time", "memory", "interrupted"} or None
        Which limit came first; ``None`` while it runs.
    iterations, touched : int
        In all, those of earlier calls included.
    infosets : int
        Met so far, by all players.
    seconds : float
        Of this call.
    message : str
        What stopped it, in one line.
    """

    stopped: Stop | None
    iterations: int
    touched: int
    infosets: int
    seconds: float
    message: str = ""


class StreamedMCCFR:
    """Monte Carlo CFR on a game that is walked as it is played, and never enumerated.

    Memory grows with the infosets that walks have met, some 200 bytes each and more with many actions. There is no
    certificate, which would need the whole game: see :meth:`regret_estimates` and
    :func:`~treeplex.solvers.streamed_gain` for what can be said.

    Parameters
    ----------
    game : Game or Rules
    method : MCCFR or str
        ``es-mccfr``, ``os-mccfr`` or ``es-pref-cfr``, by name or with options. Averages are ``simple`` or ``sampled``:
        in ``full`` would take the whole game. Baselines are by infoset, or none: those by history too would. In games
        in which a player has many actions in a row choose outcome sampling: a walk of external sampling takes them all.
    seed : int, optional
        0 by default. Equal seeds give equal runs, and those of the compiled samplers.
    memory : int or str, optional
        What infosets may take, in bytes or as text such as ``"8GB"``. By default the environment variable
        ``TREEPLEX_MEMORY``, and without it half of the memory that is available. A run stops there.

    Raises
    ------
    InvalidGameError
        If it is no game.
    UnsupportedProblemError
        If the game has no rules.
    UnknownMethodError
        If the method does not sample, or an option needs the whole game.

    Notes
    -----
    M. Lanctot, K. Waugh, M. Zinkevich and M. Bowling, "Monte Carlo sampling for regret minimization in extensive
    games", NeurIPS 2009.

    Examples
    --------
    >>> from treeplex import StreamedMCCFR, load_game
    >>> sampler = StreamedMCCFR(load_game("goofspiel:cards=13"), "os-mccfr", seed=1)
    >>> run = sampler.run(iterations=20)
    >>> run.stopped, run.iterations, run.touched
    ('iterations', 20, 1000)
    >>> len(sampler.strategy(0)["_"])
    13
    """

    def __init__(
        self,
        game: Game | Rules,
        method: MCCFR | str = "es-mccfr",
        *,
        seed: int | None = None,
        memory: int | str | None = None,
    ) -> None:
        self.rules, self.game_name, words = rules_of(game)
        self.method = method_of(method)
        self.seed = checked_whole(0 if seed is None else seed, "seed")
        wishes: list[Prefer | PreferStrategy] | None = None
        vulnerability = 0.0
        if isinstance(self.method, ESPrefCFR):
            wishes = [wish.known_as(words) for wish in self.method.prefer]
            vulnerability = self.method.vulnerability
        settings = settings_of(self.method, self.rules.num_players)
        players = range(self.rules.num_players)
        self._tables = [
            Infosets(player, len(players), settings.rate is not None, wishes, vulnerability) for player in players
        ]
        self._wishes = wishes or []
        self._budget, self._resident = Budget(memory), resident_memory()
        self._before = 0
        self._walker = Walker(self.rules, self._tables, settings, SplitMix64(first_random_state(self.seed)), self._look)
        self._turn = 0
        self._pending: Update | None = None
        #: Iterations done, in each of which every player has walked once.
        self.iterations = 0
        #: Histories touched: each one that a walk came to counts, chance nodes and leaves included.
        self.touched = 0

    def __repr__(self) -> str:
        name = self.game_name or type(self.rules).__name__
        return (
            f"StreamedMCCFR({name}, {self.method.name}, iterations={self.iterations}, touched={self.touched}, "
            f"infosets={self.infosets})"
        )

    @property
    def num_players(self) -> int:
        """Number of players."""
        return len(self._tables)

    @property
    def infosets(self) -> tuple[int, ...]:
        """How many infosets of each player walks have met."""
        return tuple(len(table) for table in self._tables)

    @property
    def memory(self) -> int:
        """How many bytes infosets take, about."""
        return sum(table.size for table in self._tables)

    @property
    def unmatched(self) -> tuple[Prefer | PreferStrategy, ...]:
        """The preferences that no infoset met so far is about."""
        matched = set().union(*(table.matched for table in self._tables))
        return tuple(wish for index, wish in enumerate(self._wishes) if index not in matched)

    def run(
        self,
        iterations: int | None = None,
        *,
        touched: int | None = None,
        seconds: float | None = None,
        progress: Callable[[StreamedRun], object] | None = None,
    ) -> StreamedRun:
        """Go on where the last run stopped, until a limit comes.

        Ctrl-C stops it too, and what has been learned by then stays. A walk that is broken off, by Ctrl-C, time or
        memory, leaves no trace, so that a run that goes on is the same as one that was never stopped.

        Parameters
        ----------
        iterations : int, optional
            How many more.
        touched : int, optional
            Stop after the iteration that brings the number of histories touched in this call to this.
        seconds : float, optional
        progress : callable, optional
            Called some ten times a second with a :class:`StreamedRun`; an answer that is true stops the run.

        Returns
        -------
        StreamedRun

        Raises
        ------
        UnknownMethodError
            If no limit is given, or one is no number.
        InvalidGameError
            If the rules break a rule of games.
        ImperfectRecallError
            If two histories of an infoset differ in their player's own past.
        """
        begun = time.perf_counter()
        if iterations is None and touched is None and seconds is None:
            raise UnknownMethodError("a run got no limit, expected iterations, touched or seconds")
        last = None if iterations is None else self.iterations + checked_whole(iterations, "iterations")
        most = None if touched is None else self.touched + checked_whole(touched, "touched")
        self._walker.deadline = float("inf") if seconds is None else begun + checked_seconds(seconds)
        self._before = self._resident() - self.memory  # what else grows between runs is none of their infosets
        report_at, first = begun + REPORT_SECONDS, self.iterations
        stopped: Stop
        try:
            while True:
                if last is not None and self.iterations >= last:
                    stopped = "iterations"
                    break
                if most is not None and self.touched >= most and not self._turn:
                    stopped = "touched"
                    break
                now = time.perf_counter()
                if now >= self._walker.deadline:
                    stopped = "time"
                    break
                if progress is not None and now >= report_at:
                    report_at = now + REPORT_SECONDS
                    if progress(self._report(None, now - begun)):
                        stopped = "interrupted"
                        break
                self._pending = self._walker.turn(self._turn, self.touched)
                self._write()
        except OutOfTimeError:
            stopped = "time"
        except OutOfMemoryError:
            stopped = "memory"
        except KeyboardInterrupt:
            if self._pending is not None:  # half written, perhaps
                self._write()
            stopped = "interrupted"
        return self._report(stopped, time.perf_counter() - begun, self.iterations == first)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to an ``.npz`` file, with all that is needed to go on; nothing is pickled.

        Raises
        ------
        InvalidStrategyError
            If the file cannot be written, or a label is of a type that files do not take.
        """
        from .streamed_file import write_run

        write_run(path, self)

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        game: Game | Rules,
        method: MCCFR | str = "es-mccfr",
        *,
        memory: int | str | None = None,
    ) -> "StreamedMCCFR":
        """Read a run that :meth:`save` wrote; it goes on as if it had never stopped.

        Parameters
        ----------
        path : path-like
        game : Game or Rules
        method : MCCFR or str
            The same as then. Preferences are those given here.
        memory : int or str, optional

        Raises
        ------
        InvalidStrategyError
            If the file cannot be read, or is of another game or method.
        GameTooLargeError
            If it may take more memory than the budget for building a game.
        """
        from .streamed_file import read_run

        sampler = cls(game, method, memory=memory)
        read_run(path, sampler)
        return sampler

    def _resume(
        self, *, seed: int, iterations: int, touched: int, turn: int, turns: list[float], random_state: int
    ) -> None:
        self.seed, self.iterations, self.touched, self._turn = seed, iterations, touched, turn
        self._walker.turns[:] = turns
        self._walker.numbers.state = random_state

    def _write(self) -> None:
        """Write what a turn changes: again from the beginning, if Ctrl-C broke into it.

        What stands there afterwards does not depend on how often that is done.
        """
        update = self._pending
        assert update is not None
        self._walker.apply(update)
        self.touched = update.before + update.touched
        self._walker.turns[update.player] = update.turns
        self._turn = (update.player + 1) % len(self._tables)
        # The last player's turn ends an iteration.
        self.iterations = int(update.turns) - bool(self._turn)
        self._pending = None

    def _look(self) -> None:
        """Hold what infosets take against the budget."""
        used = max(self.memory, self._resident() - self._before)
        if self._budget.left(used) < 0:
            raise OutOfMemoryError

    def _report(self, stopped: Stop | None, seconds: float, nothing_done: bool = False) -> StreamedRun:
        message = "" if stopped is None else _MESSAGES[stopped]
        if stopped == "memory":
            message = message.format(in_words(self._budget.limit))
        if stopped == "time" and nothing_done and not self._walker.settings.outcome:
            message = "the time limit came within the first walk: external sampling walks all actions of a player, and "
            message += "this game has too many; use os-mccfr"
        return StreamedRun(stopped, self.iterations, self.touched, sum(self.infosets), seconds, message)

    def strategy(self, player: int, *, current: bool = False) -> StreamedStrategy:
        """Return a player's average strategy; where nothing has been averaged, the policy of the local rule.

        Parameters
        ----------
        player : int
        current : bool
            The policy of the local rule everywhere.

        Returns
        -------
        StreamedStrategy
            It stays as it is while the sampler goes on.

        Raises
        ------
        InvalidGameError
            If there is no such player.
        """
        table = self._table(player)
        shares = array("d")
        for number in range(len(table)):
            start, stop = table.starts[number], table.starts[number + 1]
            weights = table.sums[start:stop]
            total = 0.0
            for weight in weights:
                total += weight
            if total > 0.0 and not current:
                shares.extend([weight / total for weight in weights])
            else:
                shares.extend(self._walker.policy(table, number))
        return StreamedStrategy.of(table, shares)

    @property
    def profile(self) -> StreamedProfile:
        """All players' average strategies."""
        return StreamedProfile([self.strategy(player) for player in range(self.num_players)])

    def regrets(self, player: int) -> dict[Hashable, dict[Hashable, float]]:
        """Return a player's averaged sampled counterfactual regrets, by infoset and action, in payoff units."""
        table = self._table(player)
        walks = max(self._walker.turns[table.player], 1.0)
        return {
            label: {
                action: table.regrets[table.starts[number] + place] / walks
                for place, action in enumerate(table.menus[number])
            }
            for label, number in table.numbers.items()
        }

    def regret_estimates(self) -> tuple[float, ...]:
        """Return of each player what the best fixed strategy would have gained a walk, as the samples have it.

        Returns
        -------
        tuple of float
            In payoff units.

        Notes
        -----
        The regret of a player against a fixed plan x′ is Σ_I x′(σ(I)) Σ_a x′(a | I) R(I, a) over its infosets, with the
        counterfactual regrets R. Sampled ones take their place here, and are 0 where no walk has been; the maximum over
        x′ is found from the last infosets up. Sampled regrets are right on average, so *in expectation over seeds* this
        is at least the gain of every plan that is fixed beforehand; and in a two-player zero-sum game the sum of both
        is, in expectation, at least NashConv of the expected average strategies. Of one run it is an estimate, no
        bound: it has the noise of the samples, which a maximum makes look like regret. In games of which walks have met
        a small part it is large and says little.
        """
        return tuple(self._regret_estimate(table) for table in self._tables)

    def _regret_estimate(self, table: Infosets) -> float:
        values = list(table.regrets)
        whole = 0.0
        for number in range(len(table) - 1, -1, -1):  # those that an action leads to were met after it
            best = max(values[table.starts[number] : table.starts[number + 1]])
            parent = table.parents[number]
            if parent < 0:
                whole += best
            else:
                values[parent] += best
        return whole / max(self._walker.turns[table.player], 1.0)

    def _table(self, player: Any) -> Infosets:
        if not isinstance(player, Integral) or isinstance(player, bool) or player not in range(len(self._tables)):
            raise InvalidGameError(
                f"player {shown(player)} is none of the game's: it has players 0 to {len(self._tables) - 1}"
            )
        return self._tables[int(player)]


_MESSAGES: dict[Stop, str] = {
    "iterations": "all iterations are done",
    "touched": "so many histories have been touched",
    "time": "the time limit came",
    "memory": "the infosets met take the memory budget of {}: allow more by memory=… or TREEPLEX_MEMORY",
    "interrupted": "stopped by the user: the strategies are the latest",
}
