"""Enforces a command's time and memory limits, and ends a process that Ctrl-C does not reach.

Python handles signals and checks deadlines only between steps of Python code. A thread therefore watches the main
thread. It interrupts the main thread, as Ctrl-C does, when a limit is exceeded. If the main thread does not respond,
for example during a long call of compiled code, it ends the process.
"""

import _thread
import contextlib
import math
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from ..seqform.limits import ECHO, GRACE, Deadline, last_held, now, passed, patience, patient, time_limited
from .errors import ExitStatus, heed_interrupt, held_by, last_interrupt, print_error

#: Seconds after which an interrupted process that has not responded is ended.
_PATIENCE = 0.3
#: Seconds between memory checks, and the fractions of the budget left when a command is interrupted and when it is
#: ended: a solver may allocate more between two checks.
_INTERVAL, _RESERVE, _LAST = 0.004, 0.1, 0.04
#: Seconds after Ctrl-C in which the files with the answer are written.
LAST = 3.0
#: Smaller budgets, in bytes, apply only while a game is built: the solvers themselves need as much.
LEAST_MEMORY = 2**28


class Held:
    """Holds Ctrl-C from when a command has an answer until the answer is written.

    Attributes
    ----------
    open_to : int
        0: nothing interrupts; 1: limits and a repeated Ctrl-C do; 2: everything does.
    came : list of float
        Times at which Ctrl-C arrived.
    deadline : Deadline or None
        The deadline for writing the file, which Ctrl-C brings forward.
    """

    def __init__(self) -> None:
        self.open_to = 0
        self.came: list[float] = []
        self.deadline: Deadline | None = None
        self._releases = contextlib.ExitStack()

    def begin(self) -> None:
        """Hold Ctrl-C from now on."""
        if self in _held:
            return
        self._releases.callback(_held.remove, self)
        _held.append(self)
        if threading.current_thread() is not threading.main_thread():
            return
        self._releases.enter_context(held_by(self.handle))
        self._releases.enter_context(patient(LAST))
        before = signal.getsignal(signal.SIGINT)
        if before is signal.default_int_handler:  # there is no keeper, for example in a command that a program runs
            signal.signal(signal.SIGINT, heed_interrupt)
            self._releases.callback(signal.signal, signal.SIGINT, before)

    def release(self) -> None:
        """Restore the effect of Ctrl-C."""
        self._releases.close()

    def handle(self) -> None:
        """Interrupt, or record that Ctrl-C arrived."""
        watching = keeper()
        if watching is not None and watching.reached:
            if self.open_to:
                raise KeyboardInterrupt
            return
        at = now()
        again = bool(self.came) and at - self.came[0] >= ECHO
        self.came.append(at)
        if again or self.open_to == 2:
            raise KeyboardInterrupt
        if self.deadline is not None:
            self.deadline.at = min(self.deadline.at, at + LAST)
            if watching is not None:
                watching.look_again()


_held: list[Held] = []


def _release(number: int) -> None:
    """Release all but the first `number` holds: a command that failed after it had an answer left them."""
    for each in reversed(_held[number:]):
        each.release()


class Keeper:
    """A thread that watches the main thread.

    Parameters
    ----------
    may_exit : bool
        Whether it may end the process.
    ignoring : bool
        Whether Ctrl-C is ignored, as in background jobs; limits still apply.

    Attributes
    ----------
    deadline : Deadline or None
        The deadline of the main thread's current work.
    last_words : callable or None
        Writes the results so far before the process is ended; takes a status and a message.
    reached : str
        The limit that was exceeded: ``"time"``, ``"memory"`` or an empty string.
    """

    def __init__(self, may_exit: bool, ignoring: bool = False) -> None:
        self.ignoring = ignoring
        self._may_exit = may_exit
        self.deadline: Deadline | None = None
        self.last_words: Callable[[str, str], object] | None = None
        self.reached = ""
        self._message = ""  # by the time limit
        self.lost = False  # whether Python dropped an interrupt
        self._over = threading.Lock()
        self._memory: Callable[[], int] | None = None
        self._most, self._more = math.inf, 0.0
        self._asked: tuple[float, float, int] | None = None  # when the main thread was interrupted, until when, and why
        self._ears, self._mouth = socket.socketpair()
        self._ears.setblocking(False)
        self._mouth.setblocking(False)

    def limit_memory(self, memory: int) -> None:
        """Let the process grow by at most this many bytes from now on."""
        from ..seqform.budget import resident_memory

        if memory >= LEAST_MEMORY:
            resident = resident_memory()
            self._most, self._more = resident() + memory * (1.0 - _RESERVE), memory * (_RESERVE - _LAST)
            self._memory = resident
            self.look_again()

    @property
    def message(self) -> str:
        """The message about the limit that was exceeded."""
        if self.reached == "memory":
            return "the memory budget is used up: raise --memory or TREEPLEX_MEMORY, or choose a smaller game"
        return self._message

    def tell(self, message: str) -> None:
        """Add details about the time limit that was exceeded."""
        self._message = message

    @property
    def status(self) -> ExitStatus:
        """The exit status if a limit was exceeded before there was a result."""
        return ExitStatus.BAD_INPUT if self.reached == "memory" else ExitStatus.FAILURE

    def heed(self, number: int, frame: Any) -> None:
        """Handle a signal while Ctrl-C is ignored: do nothing unless a limit was exceeded."""
        if not self.ignores(number):
            heed_interrupt(number, frame)

    def ignores(self, number: int) -> bool:
        """Whether a signal has no effect: Ctrl-C if it is ignored, unless a limit was exceeded."""
        return self.ignoring and number == signal.SIGINT and not self.reached

    def over(self) -> None:
        """Stop interrupting for this deadline, or for a dropped interrupt: its block has ended."""
        with self._over:
            self.lost, self.deadline, self.last_words = False, None, None

    def look_again(self) -> None:
        """Wake the thread because there is something new to watch."""
        with contextlib.suppress(OSError):  # the pipe is full, so the thread wakes anyway
            self._mouth.send(b"\0")

    @contextlib.contextmanager
    def keeping(self) -> Iterator[None]:
        """Watch the main thread during the block."""
        thread = threading.Thread(target=self._keep, daemon=True)
        before = signal.set_wakeup_fd(self._mouth.fileno(), warn_on_full_buffer=False)
        thread.start()
        try:
            yield
        finally:
            self.over()
            signal.set_wakeup_fd(before)
            self._may_exit = False
            with contextlib.suppress(OSError):
                self._mouth.send(b"\xff")
            thread.join()
            self._ears.close()
            self._mouth.close()

    def _keep(self) -> None:
        while True:
            began = now()
            heard = self._hear(max(0.0, self._next() - began))
            if 0xFF in heard:
                return
            signals = [number for number in heard if number and not self.ignores(number)]
            at = now()
            if self._asked is not None and max(last_interrupt(), last_held()) >= self._asked[0]:
                self._asked = None
            if signals and self._asked is None:
                if max(last_interrupt(), last_held()) < began:
                    self._asked = (began, at + max(_PATIENCE, patience()), signals[0])
            elif signals and self._asked is not None and at - self._asked[0] >= ECHO:  # the signal was repeated
                self._asked = (self._asked[0], min(self._asked[1], at + _PATIENCE), signals[0])
            if self._asked is not None and at >= self._asked[1]:
                self._end(self._asked[2])
                self._asked = None
            if self.lost:
                time.sleep(0.02)  # wait until the code that dropped the interrupt has ended, or it is dropped again
                with self._over:
                    if self.lost:
                        self.lost = False
                        _thread.interrupt_main()
            with self._over:  # a block that has ended is not interrupted
                deadline = self.deadline
                is_late = deadline is not None and at > deadline.at + GRACE and not deadline.finishing
                if deadline is not None and is_late:
                    self.reached, self.deadline, self._message = "time", None, passed(deadline, raised="--time-limit")
                    _thread.interrupt_main()
            if is_late:
                continue
            if self._memory is not None and self._memory() > self._most:
                if self.reached == "memory":  # the interrupt had no effect
                    self._memory = None
                    self._end(signal.SIGINT)
                self.reached, self._most = "memory", self._most + self._more
                _thread.interrupt_main()

    def _next(self) -> float:
        """Return the latest time for the next check."""
        times = [math.inf if self._asked is None else self._asked[1]]
        if self.deadline is not None:
            late = self.deadline.at + GRACE
            times.append(now() + 0.05 if late < now() else late)
        if self._memory is not None:
            times.append(now() + _INTERVAL)
        return min(times)

    def _hear(self, seconds: float) -> bytes:
        try:
            select.select([self._ears], [], [], min(seconds, 3600.0))
            return self._ears.recv(4096)
        except BlockingIOError:
            return b""

    def _end(self, number: int) -> None:
        """End the process, which has not responded to an interrupt."""
        if not self._may_exit:
            return
        if self.last_words is not None:
            with contextlib.suppress(Exception):
                self.last_words("time_limit" if self.reached == "time" else "interrupted", self.message)
        print_error(self.message if self.reached else "interrupted")
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        os._exit(self.status if self.reached else 128 + number)


_keepers: list[Keeper | None] = []


def keeper() -> Keeper | None:
    """Return the keeper of the running command, if there is one."""
    return _keepers[-1] if _keepers else None


@contextlib.contextmanager
def unkept() -> Iterator[None]:
    """Disable the keeper during a block in which a command runs within another one, whose limits do not apply."""
    _keepers.append(None)
    number = len(_held)
    try:
        yield
    finally:
        _release(number)
        _keepers.pop()


@contextlib.contextmanager
def _again_where_lost(watching: Keeper) -> Iterator[None]:
    """Let the keeper interrupt again if Python drops an interrupt in the block.

    Exceptions in destructors and callbacks of weak references are only reported; they do not propagate.
    """
    before = sys.unraisablehook

    def report(dropped: Any) -> None:
        if isinstance(dropped.exc_value, KeyboardInterrupt):
            watching.lost = True
            watching.look_again()
        else:
            before(dropped)

    sys.unraisablehook = report
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextlib.contextmanager
def kept(may_exit: bool) -> Iterator[Keeper | None]:
    """Watch a command, but only in the main thread and if the caller does not handle Ctrl-C."""
    before = signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or before not in (signal.default_int_handler, signal.SIG_IGN):
        yield None
        return
    watching = Keeper(may_exit, ignoring=before is signal.SIG_IGN)
    signal.signal(signal.SIGINT, watching.heed if watching.ignoring else heed_interrupt)
    _keepers.append(watching)
    number = len(_held)
    try:
        with watching.keeping(), _again_where_lost(watching):
            yield watching
    finally:
        _release(number)
        _keepers.pop()
        if not may_exit:  # the process ends in another way, and an interrupt must not show a traceback until then
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def time_kept(seconds: float | None, last_words: Callable[[str, str], object]) -> Iterator[Deadline]:
    """End the block after a number of seconds, even if it does not respond.

    Parameters
    ----------
    seconds : float or None
        No limit if ``None``.
    last_words : callable
        Writes the results so far if the process is ended during the block.

    Yields
    ------
    Deadline

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
    """
    watching = keeper()
    with time_limited(math.inf if seconds is None else seconds) as deadline:
        if watching is None:
            yield deadline
            return
        watching.deadline, watching.last_words = deadline, last_words
        watching.look_again()
        try:
            yield deadline
        finally:
            watching.over()
        if watching.reached == "memory":  # caught by code that continues with partial results
            raise KeyboardInterrupt
