"""Monte Carlo CFR directly on rules, for games too large to enumerate, and files of its runs."""

import math
from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...models.constraints.labelled import ExpectedCost, LabelledConstraint, parse_labelled_constraint
from ...models.preferences import Prefer, PreferStrategy
from ...seqform.arrays import Floats
from ...seqform.budget import Budget, resident_memory
from ...seqform.checks import check_number, check_player, check_whole
from ...seqform.errors import (
    CheckpointError,
    InvalidConstraintError,
    InvalidGameError,
    InvalidOptionError,
    InvalidStrategyError,
    UnknownMethodError,
    one_line,
    shown,
)
from ...seqform.game import Game
from ...seqform.interchange.encoding import decode, encode, from_json, to_json
from ...seqform.interchange.files import naming, read_archive, refusing_damaged, refusing_unwritable, write_archive
from ...seqform.limits import now, settling
from ...seqform.memory import in_words
from ...seqform.rules import Rules
from ..checkpoint import Checkpoint, Saved, digest
from ..iteration import NEVER, Run, Stepper, iterate
from ..methods import (
    MCCFR,
    CCFRSampling,
    ExternalSamplingMCCFR,
    OutcomeSamplingMCCFR,
    find_method,
    sampling_methods,
)
from ..outcome import Options, Status, checked_seed
from .constrained_walks import Answer, ConstrainedWalker, StreamedRows
from .disk_tables import DiskFolder, OutOfDiskError
from .splitmix import SplitMix64, first_random_state
from .streamed_play import StreamedProfile, StreamedStrategy, rules_of
from .walks import (
    OVERFLOW,
    Infosets,
    OutOfMemoryError,
    OutOfTimeError,
    Settings,
    Update,
    Walker,
    WeightOverflowError,
    in_proportion,
)

_FORMAT, _VERSION = "treeplex streamed run", 1

Stop = Literal["iterations", "touched", "time", "memory", "disk", "weights", "interrupted"]


@dataclass(frozen=True)
class StreamedRun:
    """The progress of a sampler, and the limit that stopped it.

    Attributes
    ----------
    stopped : {"iterations", "touched", "time", "memory", "disk", "weights", "interrupted"} or None
        The limit that was reached first; ``None`` during a run. ``disk``: the disk of the folder has too little space.
        ``weights``: outcome sampling met a play whose
        weight exceeds the range of floats.
    iterations, touched : int
        Totals, including earlier calls.
    infosets : int
        The number of infosets met so far, of all players.
    seconds : float
        The time of this call.
    message : str
        The reason why the run stopped, in one line.
    """

    stopped: Stop | None
    iterations: int
    touched: int
    infosets: int
    seconds: float
    message: str = ""


@dataclass(frozen=True)
class ConstraintEstimate:
    """The state of a constraint in a run over rules.

    Attributes
    ----------
    name : str
    player : int
    value : float or None
        The violation by the average strategy; at most 0 if the constraint is met. ``None`` if no walk has met an
        infoset that it names.
    is_estimate : bool
        Whether the value is a mean of samples instead of the value of the average strategy.
    multiplier : float
        The average multiplier, in payoff units per unit of the value.
    """

    name: str
    player: int
    value: float | None
    is_estimate: bool
    multiplier: float


class StreamedMCCFR:
    """Monte Carlo CFR directly on rules, without enumerating the game.

    Memory grows with the infosets that walks have met: about 200 bytes each, more with many actions. There is no
    certificate, because it would need the whole game. For estimates see :meth:`regret_estimates` and
    :func:`~treeplex.solvers.streamed_gain`.

    Parameters
    ----------
    game : Game or Rules
    method : MCCFR or str
        ``es-mccfr``, ``os-mccfr``, ``es-pref-cfr``, ``es-ccfr`` or ``os-ccfr``, by name or with options. Averages
        are ``simple`` or ``sampled``, and baselines are by infoset or none: ``full`` averages and baselines by
        history would need the whole game. If a player has many actions in a row, choose outcome sampling: a walk of
        external sampling takes all of them.
    constraints : str or ExpectedCost, or an iterable of them, optional
        For ``es-ccfr`` and ``os-ccfr``. Strings are parsed by
        :func:`~treeplex.models.constraints.labelled.parse_labelled_constraint`. A constraint takes effect once walks
        have met the infosets that it names.
    penalty : float, optional
        The bound on multipliers, in payoff units per unit of violation.
    others : mapping of int to callable, optional
        The players' strategies for counting another player's actions and for costs of leaves: functions from an
        infoset's label and actions to probabilities, such as the ``probabilities`` of a
        :class:`~treeplex.solvers.StreamedStrategy`. Uniform by default.
    seed : int, optional
        0 by default. Equal seeds give equal runs, which also equal those of the compiled samplers.
    memory : int or str, optional
        The memory budget for infosets, in bytes or as a string such as ``"8GB"``; a run stops when it is used up. The
        default is the environment variable ``TREEPLEX_MEMORY``, or half of the available memory if it is not set.
    folder : path-like, optional
        A folder for the tables of infosets, as memory-mapped files, for ``es-mccfr`` and ``os-mccfr``. ``memory`` then
        has no effect, and the disk is the limit. If the folder contains a run, that run continues; it must have the
        same game, method and seed.

    Raises
    ------
    CheckpointError
        If the folder cannot be used, or contains another run.
    InvalidGameError
        If it is not a game.
    UnsupportedProblemError
        If the game has no rules.
    UnknownMethodError
        If the method does not sample, or an option needs the whole game.
    InvalidConstraintError
        If a constraint cannot be parsed, or the method does not support constraints.

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
        constraints: str | ExpectedCost | Iterable[str | ExpectedCost] = (),
        penalty: float | None = None,
        others: Mapping[int, Answer] | None = None,
        seed: int | None = None,
        memory: int | str | None = None,
        folder: str | PathLike[str] | None = None,
    ) -> None:
        self.rules, self.game_name, words = rules_of(game)
        self.method = _method_of(method)
        self._rows = _rows_of(self.method, constraints, penalty, self.rules.num_players, words)
        self.seed = checked_seed(seed)
        bias = self.method.bias
        preferences = None if bias is None else [each.known_as(words) for each in bias.prefer]
        settings = Settings.of(self.method, self.rules.num_players)
        players = range(self.rules.num_players)
        self._tables = [
            Infosets(
                player,
                len(players),
                settings.rate is not None,
                preferences,
                0.0 if bias is None else bias.vulnerability,
            )
            for player in players
        ]
        self._preferences: list[Prefer | PreferStrategy] = preferences or []
        self._disk: DiskFolder | None = None
        if folder is not None:
            if preferences is not None or self._rows is not None:
                raise InvalidOptionError(
                    f"{self.method.name} got folder, expected es-mccfr or os-mccfr for tables on disk"
                )
            self._disk = DiskFolder(folder, self._asked_of(settings), len(players))
            self._tables = self._disk.tables(settings.rate is not None)
        self._budget, self._resident = Budget(memory), resident_memory()
        self._before = 0
        walker: Callable[..., Walker] = Walker
        if self._rows is not None:
            walker = partial(ConstrainedWalker, self._rows, others)
            for table, costs in zip(self._tables, self._rows.costs, strict=True):
                table.costs = costs
        # Constrained samplers use the first lane of the compiled samplers' random numbers.
        numbers = SplitMix64(first_random_state(self.seed, *([] if self._rows is None else [0])))
        self._walker = walker(self.rules, self._tables, settings, numbers, self._look)
        self._turn = 0
        self._pending: Update | None = None
        #: Iterations done; in each, every player walks once.
        self.iterations = 0
        #: Histories touched: every history that a walk visits, including chance nodes and leaves.
        self.touched = 0
        if self._disk is not None and any(self._disk.counters):
            self._continue(self._disk)

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
        """The number of each player's infosets that walks have met."""
        return tuple(len(table) for table in self._tables)

    @property
    def memory(self) -> int:
        """The approximate memory of infosets, in bytes."""
        return sum(table.size for table in self._tables)

    @property
    def unmatched(self) -> tuple[Prefer | PreferStrategy, ...]:
        """The preferences that match no infoset met so far."""
        matched = set().union(*(table.matched for table in self._tables))
        return tuple(one for index, one in enumerate(self._preferences) if index not in matched)

    @property
    def payoff_ranges(self) -> tuple[tuple[float, float], ...]:
        """Each player's lowest and highest payoff that walks have met; (∞, −∞) before the first leaf."""
        return tuple(self._walker.payoff_ranges)

    def run(
        self,
        iterations: int | None = None,
        *,
        touched: int | None = None,
        seconds: float | None = None,
        progress: Callable[[StreamedRun], object] | None = None,
        checkpoint: Checkpoint | str | PathLike[str] | None = None,
    ) -> StreamedRun:
        """Continue from the last run until a limit is reached.

        Ctrl-C also stops the run, and keeps its results so far. An interrupted walk leaves no trace, so a continued
        run equals an uninterrupted one.

        Parameters
        ----------
        iterations : int, optional
            The number of additional iterations.
        touched : int, optional
            Stop after the iteration in which the histories touched in this call reach this number.
        seconds : float, optional
        progress : callable, optional
            Called about 20 times a second with a :class:`StreamedRun`; a true result stops the run.
        checkpoint : Checkpoint or path-like, optional
            As for :func:`~treeplex.solve`. Only a sampler that has not walked yet continues from a checkpoint;
            iterations and histories touched then count from the beginning.

        Returns
        -------
        StreamedRun

        Raises
        ------
        UnknownMethodError
            If no limit is given, or a limit is not a number.
        CheckpointError
            If the checkpoint is damaged, belongs to another run, cannot be resumed, or cannot be written.
        InvalidGameError
            If the rules are not valid.
        ImperfectRecallError
            If two histories of an infoset differ in their player's own past.
        """
        if iterations is None and touched is None and seconds is None:
            raise InvalidOptionError("the run has no limit, expected iterations, touched or seconds")
        options = limits_of("iterations", iterations, seconds, progress, partial(self._report, None))
        self._walker.deadline = now() + options.time_limit
        self._before = self._resident() - self.memory  # other growth between runs does not count
        if self._disk is not None and checkpoint is not None:
            raise InvalidOptionError("checkpoint: the run is kept in its folder, expected no checkpoint")
        first = self.iterations
        most = NEVER if touched is None else self.touched + check_whole(touched, "touched", InvalidOptionError)
        work = _StreamingStepper(self, most)
        with settling() as answer, nullcontext() if self._disk is None else self._disk.locked():
            run = iterate_kept(work, replace(options, answered=answer.known), checkpoint, self._asked)
            if self._pending is not None:  # Ctrl-C interrupted writing
                self._write()
            report = self._report(work.stopped or STOPS[run.stopped], run.seconds, self.iterations == first)
        return replace(report, stopped="interrupted", message=MESSAGES["interrupted"]) if answer.interrupted else report

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to an ``.npz`` file from which it can continue, without pickling anything.

        Raises
        ------
        InvalidStrategyError
            If the file cannot be written, or a label has a type that files do not support.
        """
        try:
            with naming(path), refusing_unwritable(path):
                write_archive(str(path), self._identity | self._numbers, self._arrays)
        except InvalidGameError as error:
            raise InvalidStrategyError(str(error)) from None

    @property
    def _numbers(self) -> dict[str, Any]:
        """The counters of the run."""
        return {
            "iterations": self.iterations,
            "touched": self.touched,
            "turn": self._turn,
            "turns": self._walker.turns,
            "payoff_ranges": [None if low > high else [low, high] for low, high in self._walker.payoff_ranges],
            "random_state": str(self._walker.random_state),
            "seed": str(self.seed),
        }

    @property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The data on infosets."""
        tables = (_arrays_of(table, player) for player, table in enumerate(self._tables))
        duals = {f"multipliers_{name}": np.array(each) for name, each in self._duals.items()}
        return {name: values for each in tables for name, values in each.items()} | duals

    @property
    def _duals(self) -> dict[str, "array[float]"]:
        """The state of the multipliers."""
        rows = self._rows
        return {} if rows is None else rows.changing

    def _restore(self, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore a saved state in a sampler that has not walked yet."""
        for player, table in enumerate(self._tables):
            _fill(table, player, arrays)
        for name, each in self._duals.items():
            each[:] = _numbers(arrays[f"multipliers_{name}"], len(each))
        self.seed = int(numbers["seed"])
        self.iterations, self.touched = int(numbers["iterations"]), int(numbers["touched"])
        self._turn = int(numbers["turn"]) % self.num_players
        self._walker.turns[:] = [float(each) for each in numbers["turns"]]
        self._walker.random_state = int(numbers["random_state"]) % 2**64
        for player, met in enumerate(numbers.get("payoff_ranges", ())):  # files of version 0.2.0 have none
            if met is not None:
                self._walker.payoff_ranges[player] = float(met[0]), float(met[1])

    @property
    def _asked(self) -> dict[str, str]:
        """The description of the run in a checkpoint."""
        game = self.game_name or type(self.rules).__name__
        asked = self.method if self._rows is None else (self.method, *self._rows.identity)
        return {
            "game": f"{game} ({digest(self.rules)})",
            "method": f"{self.method.name}, walking over rules ({digest(asked)})",
            "seed": f"({self.seed})",
        }

    @property
    def _identity(self) -> dict[str, Any]:
        """The description of the run in a file, and the settings that must not change when it continues."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "game": self.game_name,
            "method": self.method.name,
            "settings": [str(each) for each in self._walker.settings],
            "players": self.num_players,
            **({} if self._rows is None else {"constraints": self._rows.identity}),
        }

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        game: Game | Rules,
        method: MCCFR | str = "es-mccfr",
        *,
        constraints: str | ExpectedCost | Iterable[str | ExpectedCost] = (),
        penalty: float | None = None,
        others: Mapping[int, Answer] | None = None,
        memory: int | str | None = None,
    ) -> "StreamedMCCFR":
        """Read a run that :meth:`save` wrote; it continues as if it had never stopped.

        Parameters
        ----------
        path : path-like
        game : Game or Rules
        method : MCCFR or str
            The same as in the saved run, except that preferences may change.
        constraints, penalty, others
            The same as in the saved run.
        memory : int or str, optional

        Raises
        ------
        InvalidStrategyError
            If the file cannot be read, or belongs to another game or method.
        GameTooLargeError
            If reading it may exceed the memory budget for building a game.
        """
        sampler = cls(game, method, constraints=constraints, penalty=penalty, others=others, memory=memory)
        named = one_line(str(path))
        with refusing_damaged(path, "is not a saved run, or is damaged", InvalidStrategyError):
            metadata, arrays = read_archive(str(path))
            for key, value in sampler._identity.items():
                if metadata.get(key) != value:
                    raise InvalidStrategyError(
                        f"{named} does not contain this kind of run: its {key} is {shown(metadata.get(key), 60)}, "
                        f"expected {shown(value, 60)}"
                    )
            sampler._restore(metadata, arrays)
        return sampler

    def _write(self) -> None:
        """Write the changes of a turn, again from the beginning if Ctrl-C interrupted writing.

        The result does not depend on the number of attempts.
        """
        update, disk = self._pending, self._disk
        assert update is not None
        if disk is not None:
            disk.counters[0] = 1
        self._walker.apply(update)
        self.touched = update.touched
        self._turn = (update.player + 1) % len(self._tables)
        # The last player's turn ends an iteration.
        self.iterations = int(update.turns) - bool(self._turn)
        if disk is not None:
            walker, counts = self._walker, map(len, self._tables)
            disk.floats[:] = array("d", [*walker.turns, *(end for pair in walker.payoff_ranges for end in pair)])
            numbers = [0, self.iterations, self.touched, self._turn, walker.random_state, *counts]
            disk.counters[:] = array("Q", numbers)
        self._pending = None

    def _continue(self, disk: DiskFolder) -> None:
        """Continue the run of a folder."""
        _, self.iterations, self.touched, self._turn, self._walker.random_state, *_ = disk.counters[:]
        count, floats = self.num_players, disk.floats[:].tolist()
        self._walker.turns[:] = floats[:count]
        self._walker.payoff_ranges[:] = zip(floats[count::2], floats[count + 1 :: 2], strict=True)

    def _asked_of(self, settings: Settings) -> dict[str, Any]:
        """Return the description of the run in its folder."""
        game = self.game_name or type(self.rules).__name__
        return {
            "game": f"{game} ({digest(self.rules)})",
            "method": self.method.name,
            "settings": [str(each) for each in settings],
            "seed": str(self.seed),
        }

    def _look(self) -> None:
        """Compare the memory of infosets with the budget."""
        used = max(self.memory, self._resident() - self._before)
        if self._disk is None and self._budget.left(used) < 0:
            raise OutOfMemoryError

    def _report(self, stopped: Stop | None, seconds: float, nothing_done: bool = False) -> StreamedRun:
        message = "" if stopped is None else MESSAGES[stopped]
        if stopped == "memory":
            message = message.format(in_words(self._budget.limit))
        if stopped == "disk" and self._disk is not None:
            message = self._disk.full
        if stopped == "time" and nothing_done and not self._walker.settings.outcome:
            message = "the time limit was reached during the first walk: external sampling walks all actions of a "
            message += "player, and this game has too many; use os-mccfr"
        return StreamedRun(stopped, self.iterations, self.touched, sum(self.infosets), seconds, message)

    def strategy(self, player: int, *, current: bool = False) -> StreamedStrategy:
        """Return a player's average strategy, or the policy of the local rule where nothing has been averaged.

        Parameters
        ----------
        player : int
        current : bool
            Whether to return the policy of the local rule everywhere.

        Returns
        -------
        StreamedStrategy
            A copy that later walks do not change.

        Raises
        ------
        InvalidGameError
            If there is no such player.
        """
        table = self._table(player)
        shares = table.scratch()
        for number in range(len(table)):
            start, stop = table.starts[number], table.starts[number + 1]
            weights = table.sums[start:stop]
            averaged = any(weights) and not current
            shares.extend(in_proportion(weights) if averaged else self._walker.policy(table, number))
        return StreamedStrategy.of(table, shares)

    @property
    def profile(self) -> StreamedProfile:
        """All players' average strategies."""
        return StreamedProfile([self.strategy(player) for player in range(self.num_players)])

    @property
    def constraints(self) -> tuple[ConstraintEstimate, ...]:
        """The values of the constraints at the average strategies."""
        rows = self._rows
        if rows is None:
            return ()
        found = []
        for number, one in enumerate(rows.constraints):
            value = None
            if rows.is_known(number):
                value = self._found(number) if one.counts else self._value(number)
            done = max(self.iterations, 1)
            found.append(ConstraintEstimate(one.name, one.player, value, one.counts, rows.sums[number] / done))
        return tuple(found)

    def _found(self, row: int) -> float | None:
        """Return the mean of the walks' samples of a row; ``None`` before the first sample."""
        assert self._rows is not None
        count = len(self._rows.constraints)
        times = self._rows.tallies[3 * count + row]
        return self._rows.tallies[row] / times if times else None

    def _value(self, row: int) -> float:
        """Return a row's function at the average strategy, from the infosets on the way to its sequences alone."""
        assert self._rows is not None
        one = self._rows.constraints[row]
        table, costs = self._tables[one.player], self._rows.costs[one.player]
        plan: dict[int, float] = {}
        value = one.constant
        for number in costs.on_the_way:
            start, stop = table.starts[number], table.starts[number + 1]
            reach, weights = plan.get(table.parents[number], 1.0), table.sums[start:stop]
            policy = in_proportion(weights) if any(weights) else self._walker.policy(table, number)
            plan.update((place, reach * share) for place, share in enumerate(policy, start))
            for owner, coefficients in costs.known.get(number, ()):
                if owner == row:
                    value += sum(plan[place] * each for place, each in enumerate(coefficients, start))
        return value

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
        """Return each player's estimated gain per walk from the best fixed strategy.

        Returns
        -------
        tuple of float
            In payoff units.

        Notes
        -----
        The regret of a player against a fixed plan x′ is Σ_I x′(σ(I)) Σ_a x′(a | I) R(I, a) over its infosets, with the
        counterfactual regrets R. Here sampled regrets replace R, with 0 where no walk has been; the maximum over x′ is
        computed bottom-up. Sampled regrets are unbiased, so *in expectation over seeds* the result is at least the gain
        of every plan that is fixed beforehand. In a two-player zero-sum game the sum of both results is, in
        expectation, at least NashConv of the expected average strategies. For one run it is an estimate, not a bound:
        it has the noise of the samples, which a maximum turns into apparent regret. If walks have met only a small part
        of a game, it is large and says little. Above the range of the player's payoffs (:attr:`payoff_ranges`), which
        no regret exceeds, it says nothing.
        """
        return tuple(self._regret_estimate(table) for table in self._tables)

    def _regret_estimate(self, table: Infosets) -> float:
        values = table.scratch(table.regrets)
        whole = 0.0
        for number in range(len(table) - 1, -1, -1):  # the infosets below an action were met after it
            best = max(values[table.starts[number] : table.starts[number + 1]])
            parent = table.parents[number]
            if parent < 0:
                whole += best
            else:
                values[parent] += best
        return whole / max(self._walker.turns[table.player], 1.0)

    def _table(self, player: Any) -> Infosets:
        return self._tables[check_player(player, len(self._tables), InvalidGameError)]


MESSAGES: dict[Stop, str] = {
    "iterations": "all requested iterations were run",
    "touched": "the limit on touched histories was reached",
    "time": "stopped at the time limit",
    "memory": "the infosets met use up the memory budget of {}: raise it with memory=… or TREEPLEX_MEMORY",
    "disk": "the disk is too small",
    "weights": OVERFLOW,
    "interrupted": "stopped by the user: the solution contains the latest strategies",
}

STOPS: dict[Status, Stop] = {
    Status.ITERATION_LIMIT: "iterations",
    Status.TIME_LIMIT: "time",
    Status.INTERRUPTED: "interrupted",
}


def limits_of(
    noun: str,
    count: int | None,
    seconds: float | None,
    progress: Callable[[StreamedRun], object] | None,
    report: Callable[[float], StreamedRun],
) -> Options:
    """Return the limits of a run and the callbacks that report its progress.

    Parameters
    ----------
    noun : str
        The counted unit, such as ``iterations``.
    count : int, optional
        The number of additional units.
    seconds : float, optional
    progress : callable, optional
    report : callable
        Returns the progress of the run after a number of seconds.
    """
    limit = float("inf") if seconds is None else check_number(seconds, "seconds", InvalidOptionError, "[0, inf]")
    return Options(
        tol=0.0,
        violation=0.0,
        max_iterations=NEVER if count is None else check_whole(count, noun, InvalidOptionError),
        time_limit=limit,
        callback=None if progress is None else lambda told: bool(progress(report(told.seconds))),
    )


def iterate_kept(
    work: Stepper, options: Options, checkpoint: Checkpoint | str | PathLike[str] | None, asked: Mapping[str, str]
) -> Run:
    """Iterate, and save the run in a checkpoint if there is one."""
    if checkpoint is None:
        return iterate(work, options)
    with Checkpoint.of(checkpoint).kept(asked) as keeper:
        return iterate(work, replace(options, checkpoint=keeper))


class WalkingStepper(Stepper):
    """A stepper on walks without certificates, which would need the whole game."""

    first_step = 1
    next_check = None
    may_break_off = True  # a walk may take long, and changes nothing before it ends

    def check(self) -> float:
        """Return NaN, because the error is unknown."""
        return float("nan")


class _StreamingStepper(WalkingStepper):
    """A streamed sampler that also stops at the limits on memory, time and touched histories."""

    def __init__(self, sampler: StreamedMCCFR, most_touched: int) -> None:
        self.sampler, self.most_touched = sampler, most_touched
        self.stopped: Stop | None = None

    @property
    def iterations(self) -> int:
        """Walks of every player."""
        return self.sampler.iterations

    def step(self, iterations: int) -> None:
        """Do walks, after completing an interrupted step."""
        sampler, last = self.sampler, self.iterations + iterations
        try:
            while sampler.iterations < last:
                if sampler.touched >= self.most_touched and not sampler._turn:
                    self.stopped = "touched"
                    return
                sampler._pending = sampler._walker.turn(sampler._turn, sampler.touched)
                sampler._write()
        except OutOfTimeError:
            self.stopped = "time"
        except OutOfMemoryError:
            self.stopped = "memory"
        except WeightOverflowError:
            self.stopped = "weights"
        except OutOfDiskError:
            self.stopped = "disk"

    def saved(self) -> Saved:
        """Return the state of the sampler."""
        if self.sampler._pending is not None:  # Ctrl-C interrupted writing
            self.sampler._write()
        return self.sampler._numbers | self.sampler._arrays

    def restore(self, saved: Saved) -> None:
        """Restore the state."""
        if any(self.sampler.infosets):
            raise CheckpointError("this sampler has already run: create a new one to continue from a checkpoint")
        self.sampler._restore(saved, saved)

    def look(self) -> Status | None:
        """End the run if a limit has been reached."""
        return None if self.stopped is None else Status.INTERRUPTED


def _method_of(method: Any) -> MCCFR:
    """Return a method that samples and does not need the whole game.

    Raises
    ------
    UnknownMethodError
        If it is not such a method.
    """
    chosen = method
    if isinstance(method, str):
        chosen = find_method(method)
        if isinstance(chosen, OutcomeSamplingMCCFR) and "baselines" not in method:
            chosen = replace(chosen, baselines="infoset")  # by name, options that need the whole game are replaced
    if not isinstance(chosen, MCCFR) or not chosen.name:
        names = ", ".join(sampling_methods())
        raise UnknownMethodError(f"the method is {shown(method)}, expected a sampling method, such as {names}")
    if chosen.averaging == "full":
        raise InvalidOptionError(
            f"{chosen.name} got averaging='full', expected simple or sampled: full averages need the whole game"
        )
    if isinstance(chosen, ExternalSamplingMCCFR) and chosen.batch != 1:
        raise InvalidOptionError(f"{chosen.name} got batch={chosen.batch}, expected 1: walks over rules run one by one")
    if isinstance(chosen, ExternalSamplingMCCFR) and chosen.threads != 1:
        raise InvalidOptionError(
            f"{chosen.name} got threads={chosen.threads}, expected 1: walks over rules run in one thread"
        )
    if isinstance(chosen, OutcomeSamplingMCCFR) and chosen.baselines == "history":
        raise InvalidOptionError(
            f"{chosen.name} got baselines='history', expected infoset or none: baselines by history need the whole game"
        )
    return chosen


def _rows_of(
    method: MCCFR, given: Any, penalty: float | None, num_players: int, words: Mapping[str, Hashable]
) -> StreamedRows | None:
    """Return the rows of constraints, if the method supports them.

    Raises
    ------
    InvalidConstraintError
        If the method does not support constraints, or one cannot be parsed.
    """
    listed = [given] if isinstance(given, str | ExpectedCost) else list(given)
    if not isinstance(method, CCFRSampling):
        if listed or penalty is not None:
            raise InvalidConstraintError(f"{method.name} does not support constraints, expected es-ccfr or os-ccfr")
        return None
    if method.costs != "auto":
        raise InvalidOptionError(
            f"{method.name} got costs={method.costs!r}, expected auto: over rules, realizations are exact and counted "
            "quantities are sampled"
        )
    rows: list[LabelledConstraint | ExpectedCost] = []
    for one in listed:
        if isinstance(one, ExpectedCost):
            check_player(one.player, num_players, InvalidConstraintError)
            rows.append(one)
        else:
            rows += parse_labelled_constraint(one, num_players, words)
    cap = math.inf if penalty is None else check_number(penalty, "penalty", InvalidConstraintError, "[0, inf)")
    return StreamedRows(rows, num_players, float(cap), float(method.step), 0.5 if method.steps == "decreasing" else 0.0)


def _arrays_of(table: Infosets, player: int) -> dict[str, npt.NDArray[Any]]:
    """Return the data on a player's infosets in the form of a file."""
    count, size = len(table), table.num_sequences
    menus = {menu: place for place, menu in enumerate(dict.fromkeys(table.menus[:count]))}
    baselines = {f"baselines_{player}_{other}": numbers for other, numbers in enumerate(table.baselines)}
    sequences = {f"regrets_{player}": table.regrets, f"sums_{player}": table.sums} | baselines
    return {
        f"labels_{player}": _packed(list(table.numbers)),
        f"menus_{player}": _packed(list(menus)),
        f"menu_{player}": np.array([menus[menu] for menu in table.menus[:count]], dtype=np.int64),
        f"parents_{player}": np.array(table.parents[:count], dtype=np.int64),
        f"visits_{player}": np.array(table.visits[:count], dtype=np.float64),
        **{name: np.array(numbers[:size], dtype=np.float64) for name, numbers in sequences.items()},
    }


def _fill(table: Infosets, player: int, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Add the infosets of a file, with their data."""
    labels, menus = _unpacked(arrays[f"labels_{player}"]), _unpacked(arrays[f"menus_{player}"])
    chosen, parents = arrays[f"menu_{player}"].tolist(), arrays[f"parents_{player}"].tolist()
    for label, place, parent in zip(labels, chosen, parents, strict=True):
        menu = menus[place]
        if not isinstance(menu, tuple) or label in table.numbers or not -1 <= parent < table.num_sequences:
            raise ValueError(f"infoset {shown(label)} of player {player} is not valid")
        table.add(label, menu, parent)
    table.regrets = _numbers(arrays[f"regrets_{player}"], table.num_sequences)
    table.sums = _numbers(arrays[f"sums_{player}"], table.num_sequences)
    table.visits = _numbers(arrays[f"visits_{player}"], len(table) if table.prefers else 0)
    table.baselines = [
        _numbers(arrays[f"baselines_{player}_{other}"], table.num_sequences) for other in range(len(table.baselines))
    ]


def _numbers(values: Floats, count: int) -> "array[float]":
    if values.dtype != np.float64 or values.shape != (count,) or not np.isfinite(values).all():
        raise ValueError(f"it contains {shown(values, 40)}, expected {count} finite numbers")
    return array("d", values.tobytes())


def _packed(labels: Sequence[Hashable]) -> npt.NDArray[np.uint8]:
    """Return labels as JSON, one per line: string arrays of numpy would pad each to the longest one."""
    text = "\n".join(to_json(encode(label)) for label in labels)
    return np.frombuffer(text.encode(), dtype=np.uint8)


def _unpacked(packed: npt.NDArray[Any]) -> list[Hashable]:
    text = packed.astype(np.uint8).tobytes().decode()
    return [decode(from_json(line)) for line in text.split("\n")] if text else []
