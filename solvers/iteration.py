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
from ..seqform.limits import counted_now, finishing, seconds_left
from ..seqform.signals import WORTH_WAITING, holding_signals, patient
from .checkpoint import Saved, Slot
from .outcome import Options, reported
from .solution import History
from .status import Status

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
    resumed = counted_now()
    limit = seconds_left(options.time_limit)
    first, chunk, stopped = stepper.iterations, stepper.first_step, Status.ITERATION_LIMIT
    checked: list[tuple[int, float, float, int]] = []  # after how many iterations, when, the error, and the clock
    is_met, is_extra, is_torn, begun, took = False, False, False, resumed, 0.0
    found: Status | None = None  # at a look
    slot = None if options.checkpoint is None else options.checkpoint.slot()
    kept = None if slot is None else slot.saved
    is_finished = slot is not None and slot.is_finished
    if kept is not None:
        try:
            stepper.restore(kept)
            first, begun = int(kept["first"]), resumed - float(kept["seconds"])
            is_met = kept["is_met"] is True and kept["tol"] == repr(options.tol)
            found = Status(kept["looked"]) if kept["looked"] and kept["tol"] == repr(options.tol) else None
            checked = [tuple(row) for row in zip(*(kept[f"checked_{name}"].tolist() for name in _COLUMNS), strict=True)]
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise CheckpointError(f"the checkpoint does not fit: {one_line(str(error))}") from None

    def waiting() -> AbstractContextManager[None]:
        """Let the process not be ended in the block for a signal that compiled code does not hear."""
        return patient(max(WORTH_WAITING, _LONGER * took) if stepper.iterations else 0.0)

    @contextmanager
    def moving() -> Iterator[None]:
        """Change the stepper, and write down what came of it: all of the block is done, or nothing of it is kept."""
        nonlocal is_torn
        with nullcontext() if stepper.may_break_off else holding_signals():
            is_torn = not stepper.may_break_off
            yield
            is_torn = False

    def check() -> None:
        """Compute the certificate and write it down."""
        nonlocal is_met, is_extra
        with waiting():
            error, seconds = stepper.check(), counted_now() - begun
        with moving():
            is_met = error <= options.tol and options.tol > 0.0
            if checked and checked[-1][0] == stepper.iterations:  # a run that had ended here goes on
                return
            is_extra = stepper.next_check is not None and stepper.clock < stepper.next_check
            checked.append((stepper.iterations, seconds, error, stepper.clock))
            if stepper.next_check is not None and not is_extra:
                stepper.next_check = stepper.check_after(stepper.clock)

    def keep(slot: Slot, stopped: Status | None = None) -> None:
        # A check that the end alone asked for is not kept: it is not one of the run that goes on.
        rows = np.array(checked[:-1] if is_extra else checked, dtype=_CHECKED)
        slot.keep(
            {f"checked_{name}": rows[name] for name in _COLUMNS}
            | {"first": first, "seconds": counted_now() - begun, "tol": repr(options.tol)}
            | {"is_met": is_met and not is_extra}
            | {"looked": None if found in (None, Status.INTERRUPTED) else str(found)}
            | {"stopped": None if stopped is None else str(stopped)}
            | dict(stepper.saved()),
            stopped,
        )

    def leave(stopped: Status) -> None:
        """Keep where the run ended, unless that is in the middle of a step."""
        if slot is not None and not is_finished and not is_torn:
            with holding_signals(forget=stopped is Status.INTERRUPTED):
                keep(slot, stopped)

    if kept is not None and is_finished:
        stopped = Status(kept["stopped"])
    try:
        if stepper.begins_with_check and not checked and stepper.iterations == first:
            check()
        while not is_finished:
            if slot is not None and slot.is_due:
                keep(slot)
            done = stepper.iterations - first
            if stepper.next_check is not None and (
                stepper.clock >= stepper.next_check or done >= options.max_iterations
            ):
                check()
            if is_met and stepper.confirms():
                stopped = Status.CONVERGED
                break
            if found is None:
                with moving():
                    found = stepper.look()
            if found is not None:
                stopped = found
                break
            if done >= options.max_iterations:
                break
            started, before = counted_now(), stepper.iterations
            if done:
                if started - resumed >= limit:
                    stopped = Status.TIME_LIMIT
                    break
                if reported(options, before, started - begun, checked[-1][2] if checked else None):
                    stopped = Status.INTERRUPTED
                    break
            with moving():
                with waiting():
                    checks = stepper.step(min(chunk, options.max_iterations - done, stepper.room))
                now, stepped = counted_now(), stepper.iterations - before
                took = now - started
                if checks is not None:
                    # A step tells the time when it is over; within it iterations take equally long.
                    share = (checks.iterations - before) / max(1, stepped)
                    seconds = started - begun + share * (now - started)
                    columns = checks.iterations, seconds, checks.errors, checks.iterations
                    checked.extend(zip(*(column.tolist() for column in columns), strict=True))
                    is_met = checks.is_met
            chunk = _next_chunk(chunk, stepped, took, limit - (now - resumed))
        if options.answered is not None:
            options.answered()
    except KeyboardInterrupt:
        stopped = Status.INTERRUPTED
        if options.answered is not None:
            options.answered()
    except BaseException:
        leave(Status.INTERRUPTED)
        raise
    ended = counted_now() - begun

    def conclude() -> None:
        """Compute the certificate of the answer, if that is not the last one."""
        with finishing():
            if not checked or checked[-1][0] != stepper.iterations:
                check()
            elif kept is not None:
                stepper.check()  # what it knows of the answer is not kept

    try:
        leave(stopped)
        conclude()
    except KeyboardInterrupt:  # what was reached is not lost for that
        stopped = Status.INTERRUPTED
        conclude()
    iterations, times, errors, clocks = zip(*checked, strict=True)
    history = History(np.array(iterations, dtype=np.int64), np.array(times), np.array(errors))
    return Run(stopped, stepper.iterations, ended, history, np.array(clocks, dtype=np.int64))


def _next_chunk(chunk: int, done: int, took: float, left: float) -> int:
    """Return how many iterations fill a step, growing at most fourfold, and no longer than the time that is left."""
    fit = done * min(CALL_SECONDS, max(left, 0.0)) / max(took, 1e-9)
    return max(1, min(4 * chunk, int(fit)))
