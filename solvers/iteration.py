"""The loop that all iterative methods share: limits, checks, history, progress, checkpoints and Ctrl-C.

A :class:`Stepper` implements an algorithm; :func:`iterate` implements everything else.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..seqform.arrays import Floats
from ..seqform.errors import CheckpointError, one_line
from ..seqform.limits import WORTH_WAITING, counted_now, finishing, holding_signals, patient, seconds_left
from .checkpoint import Saved, Slot
from .outcome import History, Options, Outcome, Status, reported

Integers = NDArray[np.int64]

#: Target length of a step in seconds; Ctrl-C and limits take effect between steps.
CALL_SECONDS = 0.05
#: The certificate is computed each time the iterations have grown by this factor, which costs a few per cent.
CHECK_GROWTH = 1.2
#: A step may delay a signal for this multiple of the previous step's duration.
_LONGER = 3.0
#: More iterations than any run does.
NEVER = 2**62
#: The columns of the history of checks, and their types.
_COLUMNS = ("iterations", "seconds", "errors", "clocks")
_CHECKED = np.dtype(list(zip(_COLUMNS, (np.int64, np.float64, np.float64, np.int64), strict=True)))


class Checks(NamedTuple):
    """Certificates that a stepper computed within a step: the numbers of iterations, and the proven errors."""

    iterations: Integers
    errors: Floats
    is_met: bool  # whether the last error meets the tolerance


class Stepper(ABC):
    """The state of an iterative method on one problem.

    The iterations must not depend on how they are divided into steps, so that a resumed run equals an uninterrupted
    one. Checks do not change the state of the iterations, so an interrupted check can be repeated.

    Attributes
    ----------
    first_step : int
        The number of iterations in the first step; later steps take about :data:`CALL_SECONDS`.
    next_check : int or None
        The value of :attr:`clock` at which the next certificate is due; ``None`` for a stepper that computes
        certificates within its steps.
    begins_with_check : bool
        Whether the answer may be good enough before the first step.
    may_break_off : bool
        Whether Ctrl-C may interrupt a step, because steps may take a long time. Then :meth:`saved` must return a valid
        state at any time, or the stepper keeps no checkpoint. Otherwise signals are delayed until the end of a step,
        and a run that another exception ends within a step keeps its last checkpoint.
    """

    first_step: int = 32
    next_check: int | None = 1
    begins_with_check: bool = False
    may_break_off: bool = False

    @property
    @abstractmethod
    def iterations(self) -> int:
        """Number of iterations done, including those of earlier runs."""

    @property
    def clock(self) -> int:
        """The counter by which checks are scheduled: iterations, unless these differ in their amount of work."""
        return self.iterations

    @property
    def room(self) -> int:
        """The largest number of iterations in the next step, so that it ends when a check or a look is due."""
        return NEVER if self.next_check is None else self.next_check - self.iterations

    def check_after(self, clock: int) -> int:
        """Return the clock at which the next certificate is due, given the clock at the last one."""
        return max(clock + 1, int(clock * CHECK_GROWTH))

    @abstractmethod
    def step(self, iterations: int) -> Checks | None:
        """Do up to `iterations` more iterations; return the certificates that were computed in them, if any."""

    @abstractmethod
    def check(self) -> float:
        """Return the proven error of the current answer."""

    def confirms(self) -> bool:
        """Whether the answer's certificate also meets the tolerance that was met within a step."""
        return True

    def look(self) -> Status | None:
        """Examine the state after a step; a returned status ends the run."""
        return None

    def saved(self) -> Saved:
        """Return the whole state of iterations, checks and looks by name, for a checkpoint; arrays may change later.

        Methods whose steppers implement it set ``keeps_runs``.
        """
        raise CheckpointError(f"a {type(self).__name__} does not support checkpoints")

    def restore(self, saved: Saved) -> None:
        """Restore the state that :meth:`saved` returned in another run.

        Raises
        ------
        CheckpointError
            If the state does not fit.
        """
        raise CheckpointError(f"a {type(self).__name__} does not support checkpoints")


@dataclass(eq=False)
class Run:
    """The result of a run.

    Attributes
    ----------
    stopped : Status
    iterations : int
        The total number, including earlier runs.
    seconds : float
    history : History
    clocks : ndarray of int64
        The stepper's clock at each check of the history.
    """

    stopped: Status
    iterations: int
    seconds: float
    history: History
    clocks: Integers

    def outcome(self, build_seconds: float, **answer: Any) -> Outcome:
        """Return the outcome of the run; `answer` has the other fields of an outcome."""
        found: dict[str, Any] = {name: value for name, value in vars(self).items() if name != "clocks"}
        found |= {"plans": (), "detail": f"after {self.iterations} iterations", "build_seconds": build_seconds}
        return Outcome(**(found | answer))


def iterate(stepper: Stepper, options: Options) -> Run:
    """Step until the certificate meets the tolerance or a limit is reached; at least once unless max_iterations is 0.

    Ctrl-C ends the run with the current answer. The history ends with the returned answer. With a checkpoint, the run
    is resumed: iterations count from its beginning, and the time limit applies to this part only.

    Parameters
    ----------
    stepper : Stepper
    options : Options
        The tolerance, the limits of this run, and the listeners. With a tolerance of 0, all iterations are done.

    Examples
    --------
    >>> import math
    >>> from treeplex.solvers import Options, Stepper, iterate
    >>> class Halving(Stepper):
    ...     iterations = 0
    ...
    ...     def step(self, iterations):
    ...         self.iterations += iterations
    ...
    ...     def check(self):
    ...         return 0.5**self.iterations
    >>> run = iterate(Halving(), Options(tol=1e-3, violation=0.0, max_iterations=1000, time_limit=math.inf))
    >>> str(run.stopped), run.iterations >= 10
    ('converged', True)
    """
    loop = _Loop(stepper, options)
    stopped = loop.last
    try:
        if stopped is None:
            stopped = loop.go()
        if options.answered is not None:
            options.answered()
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
        if options.answered is not None:
            options.answered()
    except BaseException:
        loop.leave(Status.INTERRUPTED)
        raise
    ended = counted_now() - loop.begun
    try:
        loop.leave(stopped)
        loop.conclude()
    except KeyboardInterrupt:  # keep the answer
        stopped = Status.INTERRUPTED
        loop.conclude()
    iterations, times, errors, clocks = zip(*loop.checked, strict=True)
    history = History(np.array(iterations, dtype=np.int64), np.array(times), np.array(errors))
    return Run(stopped, stepper.iterations, ended, history, np.array(clocks, dtype=np.int64))


class _Loop:
    """A run of a stepper: its checks, its checkpoint, and its stopping rules.

    Attributes
    ----------
    begun : float
        The time at which the run began, on a clock that stopped between its parts.
    checked : list of tuples
        For each check: the iterations, the time, the error and the stepper's clock.
    last : Status or None
        The status of the run, if its checkpoint belongs to a finished run.
    """

    def __init__(self, stepper: Stepper, options: Options) -> None:
        self.stepper, self.options = stepper, options
        self._resumed = self.begun = counted_now()
        self._limit = seconds_left(options.time_limit)
        self._first, self._took = stepper.iterations, 0.0
        self.checked: list[tuple[int, float, float, int]] = []
        self._is_met = False  # whether the last check meets the tolerance
        self._is_extra = False  # whether the last check was made only because the run ended
        self._is_torn = False  # whether an exception would leave the stepper in an inconsistent state
        self._found: Status | None = None  # the result of the last look
        self._slot = None if options.checkpoint is None else options.checkpoint.slot()
        self._kept = None if self._slot is None else self._slot.saved
        self.last: Status | None = None
        if self._slot is not None and self._kept is not None:
            self._restore(self._kept, self._slot)
            if self._slot.is_finished:
                self.last = Status(self._kept["stopped"])

    def _restore(self, kept: Saved, slot: Slot) -> None:
        """Restore the state from a checkpoint."""
        try:
            self.stepper.restore(kept)
            self._first, self.begun = int(kept["first"]), self._resumed - float(kept["seconds"])
            if kept["tol"] == repr(self.options.tol):
                self._is_met = kept["is_met"] is True
                self._found = Status(kept["looked"]) if kept["looked"] else None
            columns = (kept[f"checked_{name}"].tolist() for name in _COLUMNS)
            self.checked = [tuple(row) for row in zip(*columns, strict=True)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the run cannot continue: {one_line(str(error), 500)}{slot.hint}") from None

    def go(self) -> Status:
        """Step, check and look until the run ends; return its status."""
        stepper, options, chunk = self.stepper, self.options, self.stepper.first_step
        if stepper.begins_with_check and not self.checked and stepper.iterations == self._first:
            self._check()
        while True:
            if self._slot is not None and self._slot.is_due:
                self._keep(self._slot)
            done = stepper.iterations - self._first
            due = stepper.next_check is not None and stepper.clock >= stepper.next_check
            if due or (stepper.next_check is not None and done >= options.max_iterations):
                self._check()
            if self._is_met and stepper.confirms():
                return Status.CONVERGED
            if self._found is None:
                with self._moving():
                    self._found = stepper.look()
            if self._found is not None:
                return self._found
            if done >= options.max_iterations:
                return Status.ITERATION_LIMIT
            started = counted_now()
            if done:
                if started - self._resumed >= self._limit:
                    return Status.TIME_LIMIT
                error = self.checked[-1][2] if self.checked else None
                if reported(options, stepper.iterations, started - self.begun, error):
                    return Status.INTERRUPTED
            chunk = self._step(min(chunk, options.max_iterations - done, stepper.room), chunk, started)

    def _step(self, iterations: int, chunk: int, started: float) -> int:
        """Do one step, record its checks, and return the length of the next step."""
        stepper, before = self.stepper, self.stepper.iterations
        with self._moving():
            with self._waiting():
                checks = stepper.step(iterations)
            now, stepped = counted_now(), stepper.iterations - before
            self._took = now - started
            if checks is not None:
                # Only the end of a step is timed; its iterations are assumed to take equally long.
                share = (checks.iterations - before) / max(1, stepped)
                seconds = started - self.begun + share * (now - started)
                columns = checks.iterations, seconds, checks.errors, checks.iterations
                self.checked.extend(zip(*(column.tolist() for column in columns), strict=True))
                self._is_met = checks.is_met
        return _next_chunk(chunk, stepped, self._took, self._limit - (now - self._resumed))

    def _waiting(self) -> AbstractContextManager[None]:
        """Make the watchdog wait in the block, because compiled code handles signals late."""
        return patient(max(WORTH_WAITING, _LONGER * self._took) if self.stepper.iterations else 0.0)

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """Make changes of the stepper and their records atomic: if the block is not completed, nothing is kept."""
        with nullcontext() if self.stepper.may_break_off else holding_signals():
            self._is_torn = not self.stepper.may_break_off
            yield
            self._is_torn = False

    def _check(self) -> None:
        """Compute the certificate and record it."""
        stepper, options = self.stepper, self.options
        with self._waiting():
            error, seconds = stepper.check(), counted_now() - self.begun
        with self._moving():
            self._is_met = error <= options.tol and options.tol > 0.0
            if self.checked and self.checked[-1][0] == stepper.iterations:  # a resumed run that had ended here
                return
            self._is_extra = stepper.next_check is not None and stepper.clock < stepper.next_check
            self.checked.append((stepper.iterations, seconds, error, stepper.clock))
            if stepper.next_check is not None and not self._is_extra:
                stepper.next_check = stepper.check_after(stepper.clock)

    def _keep(self, slot: Slot, stopped: Status | None = None) -> None:
        # A check made only because the run ended is not kept: a resumed run does not make it.
        try:
            saved = self.stepper.saved()
        except OSError as error:  # it writes files itself
            slot.keeper.failed(error)
            return
        rows = np.array(self.checked[:-1] if self._is_extra else self.checked, dtype=_CHECKED)
        looked = None if self._found in (None, Status.INTERRUPTED) else str(self._found)
        slot.keep(
            {f"checked_{name}": rows[name] for name in _COLUMNS}
            | {"first": self._first, "seconds": counted_now() - self.begun, "tol": repr(self.options.tol)}
            | {"is_met": self._is_met and not self._is_extra, "looked": looked}
            | {"stopped": None if stopped is None else str(stopped)}
            | dict(saved),
            stopped,
        )

    def leave(self, stopped: Status) -> None:
        """Save the state at the end of the run, unless a step was interrupted."""
        if self._slot is not None and self.last is None and not self._is_torn:
            with holding_signals(forget=stopped is Status.INTERRUPTED):
                self._keep(self._slot, stopped)

    def conclude(self) -> None:
        """Compute the certificate of the answer, unless the last check did."""
        with finishing():
            if not self.checked or self.checked[-1][0] != self.stepper.iterations:
                self._check()
            elif self._kept is not None:
                self.stepper.check()  # checkpoints do not contain the stepper's proof


def _next_chunk(chunk: int, done: int, took: float, left: float) -> int:
    """Return the number of iterations in the next step: at most four times the last, and within the remaining time."""
    fit = done * min(CALL_SECONDS, max(left, 0.0)) / max(took, 1e-9)
    return max(1, min(4 * chunk, int(fit)))
