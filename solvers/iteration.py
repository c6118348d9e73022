"""The one loop of iterative methods: limits, checks, history, progress, checkpoints, Ctrl-C.

A :class:`Stepper` knows an algorithm and nothing of this; :func:`iterate` knows nothing of algorithms.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..seqform.arrays import Floats
from ..seqform.errors import CheckpointError, one_line
from ..seqform.limits import WORTH_WAITING, counted_now, finishing, holding_signals, patient, seconds_left
from .checkpoint import Saved, Slot
from .outcome import History, Options, Status, reported

Integers = NDArray[np.int64]

#: Seconds that one step should take: Ctrl-C arrives, and limits are looked at, between steps.
CALL_SECONDS = 0.05
#: The certificate is computed each time the iterations have grown by this factor, which costs a few percent.
CHECK_GROWTH = 1.2
#: How many times as long as the one before it a step may keep a signal from being heard.
_LONGER = 3.0
#: More iterations than anybody does.
NEVER = 2**62
#: What is known of each check, and as which numbers.
_COLUMNS = ("iterations", "seconds", "errors", "clocks")
_CHECKED = np.dtype(list(zip(_COLUMNS, (np.int64, np.float64, np.float64, np.int64), strict=True)))


class Checks(NamedTuple):
    """Certificates that a stepper computed within a step: after how many iterations, and what they proved."""

    iterations: Integers
    errors: Floats
    is_met: bool  # whether the last one proves the tolerance


class Stepper(ABC):
    """An iterative method at work on one problem.

    Its iterations must not depend on how they are divided into steps, so that a run in parts is the run in one. Checks
    change nothing of what they go on from: one that is broken off can be done again.

    Attributes
    ----------
    first_step : int
        How many iterations the first step may have; later ones are as long as :data:`CALL_SECONDS`.
    next_check : int or None
        From which reading of :attr:`clock` on the certificate is due; ``None`` for a stepper that computes it within
        its steps.
    begins_with_check : bool
        Whether the answer may be good enough before the first step.
    may_break_off : bool
        Whether Ctrl-C may come in the middle of a step, because steps may take long: what :meth:`saved` returns is then
        a state to go on from all the same, or no checkpoint is kept. Otherwise signals wait for the end of a step, and
        a run that any other exception ended in the middle of one keeps the checkpoint that was written before.
    """

    first_step: int = 32
    next_check: int | None = 1
    begins_with_check: bool = False
    may_break_off: bool = False

    @property
    @abstractmethod
    def iterations(self) -> int:
        """Iterations done, those of earlier runs included."""

    @property
    def clock(self) -> int:
        """What checks are scheduled by: the iterations, unless these differ in how much they do."""
        return self.iterations

    @property
    def room(self) -> int:
        """How many iterations the next step may have at most, such that it ends where something is to be looked at."""
        return NEVER if self.next_check is None else self.next_check - self.iterations

    def check_after(self, clock: int) -> int:
        """Return when the certificate is due again after it was computed."""
        return max(clock + 1, int(clock * CHECK_GROWTH))

    @abstractmethod
    def step(self, iterations: int) -> Checks | None:
        """Do up to so many more iterations; return the certificates that were computed meanwhile, if any were."""

    @abstractmethod
    def check(self) -> float:
        """Return the error that the answer so far is proven to have."""

    def confirms(self) -> bool:
        """Whether a tolerance that was met within a step is met by the answer's certificate too."""
        return True

    def look(self) -> Status | None:
        """Look at what the last step has found; a status ends the run."""
        return None

    def saved(self) -> Saved:
        """Return all that iterations, checks and looks change, by name, for a checkpoint; it may change later.

        Methods whose steppers have it say so by ``keeps_runs``.
        """
        raise CheckpointError(f"a {type(self).__name__} keeps no checkpoint")

    def restore(self, saved: Saved) -> None:
        """Go on from what :meth:`saved` returned in another run.

        Raises
        ------
        CheckpointError
            If that does not fit.
        """
        raise CheckpointError(f"a {type(self).__name__} keeps no checkpoint")


@dataclass(eq=False)
class Run:
    """How a run ended.

    Attributes
    ----------
    stopped : Status
    iterations : int
        In all, those of earlier runs included.
    seconds : float
    history : History
    clocks : ndarray of int64
        What the stepper's clock said at each check of the history.
    """

    stopped: Status
    iterations: int
    seconds: float
    history: History
    clocks: Integers


def iterate(stepper: Stepper, options: Options) -> Run:
    """Step until the certificate meets the tolerance or a limit comes; at least once, if an iteration is asked for.

    Ctrl-C ends it with what has been reached. The history ends with the answer that is returned. With a checkpoint it
    goes on where that stands: iterations count from the beginning of the run, and the time limit is that of this part.

    Parameters
    ----------
    stepper : Stepper
    options : Options
        The tolerance, the limits of this run, and who listens. With a tolerance of 0 all iterations are done.

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
    except KeyboardInterrupt:  # what was reached is not lost for that
        stopped = Status.INTERRUPTED
        loop.conclude()
    iterations, times, errors, clocks = zip(*loop.checked, strict=True)
    history = History(np.array(iterations, dtype=np.int64), np.array(times), np.array(errors))
    return Run(stopped, stepper.iterations, ended, history, np.array(clocks, dtype=np.int64))


class _Loop:
    """A run of a stepper: what was checked, what is written down, and when to stop.

    Attributes
    ----------
    begun : float
        When the run began, on a clock that stood still between its parts.
    checked : list of tuples
        Of each check: after how many iterations, when, the error, and the stepper's clock.
    last : Status or None
        How the run ended, if its checkpoint says that it has.
    """

    def __init__(self, stepper: Stepper, options: Options) -> None:
        self.stepper, self.options = stepper, options
        self._resumed = self.begun = counted_now()
        self._limit = seconds_left(options.time_limit)
        self._first, self._took = stepper.iterations, 0.0
        self.checked: list[tuple[int, float, float, int]] = []
        self._is_met = False  # whether the last check proves the tolerance
        self._is_extra = False  # whether it was made for the end alone
        self._is_torn = False  # whether an exception would leave the stepper in the middle of something
        self._found: Status | None = None  # at a look
        self._slot = None if options.checkpoint is None else options.checkpoint.slot()
        self._kept = None if self._slot is None else self._slot.saved
        self.last: Status | None = None
        if self._kept is not None:
            self._restore(self._kept)
            if self._slot is not None and self._slot.is_finished:
                self.last = Status(self._kept["stopped"])

    def _restore(self, kept: Saved) -> None:
        """Go on from what a checkpoint holds."""
        try:
            self.stepper.restore(kept)
            self._first, self.begun = int(kept["first"]), self._resumed - float(kept["seconds"])
            if kept["tol"] == repr(self.options.tol):
                self._is_met = kept["is_met"] is True
                self._found = Status(kept["looked"]) if kept["looked"] else None
            columns = (kept[f"checked_{name}"].tolist() for name in _COLUMNS)
            self.checked = [tuple(row) for row in zip(*columns, strict=True)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the checkpoint does not fit: {one_line(str(error))}") from None

    def go(self) -> Status:
        """Step, check and look until something ends the run, and return what."""
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
        """Do one step, write down what was checked in it, and return how long the next one may be."""
        stepper, before = self.stepper, self.stepper.iterations
        with self._moving():
            with self._waiting():
                checks = stepper.step(iterations)
            now, stepped = counted_now(), stepper.iterations - before
            self._took = now - started
            if checks is not None:
                # A step tells the time when it is over; within it iterations take equally long.
                share = (checks.iterations - before) / max(1, stepped)
                seconds = started - self.begun + share * (now - started)
                columns = checks.iterations, seconds, checks.errors, checks.iterations
                self.checked.extend(zip(*(column.tolist() for column in columns), strict=True))
                self._is_met = checks.is_met
        return _next_chunk(chunk, stepped, self._took, self._limit - (now - self._resumed))

    def _waiting(self) -> AbstractContextManager[None]:
        """Let the process not be ended in the block for a signal that compiled code does not hear."""
        return patient(max(WORTH_WAITING, _LONGER * self._took) if self.stepper.iterations else 0.0)

    @contextmanager
    def _moving(self) -> Iterator[None]:
        """Change the stepper, and write down what came of it: all of the block is done, or nothing of it is kept."""
        with nullcontext() if self.stepper.may_break_off else holding_signals():
            self._is_torn = not self.stepper.may_break_off
            yield
            self._is_torn = False

    def _check(self) -> None:
        """Compute the certificate and write it down."""
        stepper, options = self.stepper, self.options
        with self._waiting():
            error, seconds = stepper.check(), counted_now() - self.begun
        with self._moving():
            self._is_met = error <= options.tol and options.tol > 0.0
            if self.checked and self.checked[-1][0] == stepper.iterations:  # a run that had ended here goes on
                return
            self._is_extra = stepper.next_check is not None and stepper.clock < stepper.next_check
            self.checked.append((stepper.iterations, seconds, error, stepper.clock))
            if stepper.next_check is not None and not self._is_extra:
                stepper.next_check = stepper.check_after(stepper.clock)

    def _keep(self, slot: Slot, stopped: Status | None = None) -> None:
        # A check that the end alone asked for is not kept: it is not one of the run that goes on.
        rows = np.array(self.checked[:-1] if self._is_extra else self.checked, dtype=_CHECKED)
        looked = None if self._found in (None, Status.INTERRUPTED) else str(self._found)
        slot.keep(
            {f"checked_{name}": rows[name] for name in _COLUMNS}
            | {"first": self._first, "seconds": counted_now() - self.begun, "tol": repr(self.options.tol)}
            | {"is_met": self._is_met and not self._is_extra, "looked": looked}
            | {"stopped": None if stopped is None else str(stopped)}
            | dict(self.stepper.saved()),
            stopped,
        )

    def leave(self, stopped: Status) -> None:
        """Keep where the run ended, unless that is in the middle of a step."""
        if self._slot is not None and self.last is None and not self._is_torn:
            with holding_signals(forget=stopped is Status.INTERRUPTED):
                self._keep(self._slot, stopped)

    def conclude(self) -> None:
        """Compute the certificate of the answer, if that is not the last one."""
        with finishing():
            if not self.checked or self.checked[-1][0] != self.stepper.iterations:
                self._check()
            elif self._kept is not None:
                self.stepper.check()  # what it knows of the answer is not kept


def _next_chunk(chunk: int, done: int, took: float, left: float) -> int:
    """Return how many iterations fill a step, growing at most fourfold, and no longer than the time that is left."""
    fit = done * min(CALL_SECONDS, max(left, 0.0)) / max(took, 1e-9)
    return max(1, min(4 * chunk, int(fit)))
