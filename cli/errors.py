"""How a command ends: exit statuses, one-line errors on standard error, and Ctrl-C."""

import contextlib
import enum
import errno
import io
import math
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..seqform.limits import loading, now
from ..seqform.standard_error import StandardError, is_terminal

#: If this environment variable is 1, unexpected errors show a traceback.
DEBUG_VARIABLE = "TREEPLEX_DEBUG"


class ExitStatus(enum.IntEnum):
    """The exit status of the command."""

    SUCCESS = 0
    #: A check failed, a valid model is infeasible, or a result does not prove what its method claims.
    FAILURE = 1
    #: Bad input: nothing on standard output, one line on standard error.
    BAD_INPUT = 2
    #: Ctrl-C. After another signal the status is 128 plus its number, as is usual for commands ended by a signal.
    INTERRUPTED = 130
    #: The reader of standard output closed it: the status that shells report for a closed pipe.
    CLOSED_PIPE = 141


class CommandLineError(Exception):
    """Bad input found by the command line itself; its text is the line to print."""


def one_line(text: str) -> str:
    r"""Return a message as one line of printable characters.

    Examples
    --------
    >>> from treeplex.cli.errors import one_line
    >>> one_line("two\n  lines\t.")
    'two lines .'
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(text.split()))


def print_error(message: str) -> None:
    """Print ``error: …`` on standard error, if that is still open."""
    print(f"error: {one_line(message)}", file=StandardError(), flush=True)


def print_note(message: str) -> None:
    """Print ``note: …`` on standard error, if that is still open."""
    print(f"note: {one_line(message)}", file=StandardError(), flush=True)


def describe(error: Exception) -> str:
    """Return the message for an unexpected error."""
    if isinstance(error, MemoryError):
        return "out of memory: try a smaller game or an iterative method"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected {what} (set {DEBUG_VARIABLE}=1 to see where)"


def is_full(error: OSError) -> bool:
    """Whether standard output could not be written; files opened by name have their own error handling."""
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF)


def debugging() -> bool:
    """Whether unexpected errors show a traceback."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


def close_standard_output() -> None:
    """Redirect standard output to nowhere after it failed, so that the interpreter's final flush cannot fail again."""
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file, in tests
        pass


#: Whether Ctrl-C waits for the end of a later block, and when it last stopped waiting.
_pending: list[int] = []
_heeded = [-math.inf]


def note_interrupt() -> None:
    """Record that Ctrl-C has reached the main thread."""
    _heeded[0] = now()


#: Handlers that replace the exception of Ctrl-C, innermost last: see :func:`~treeplex.cli.limits.hold`.
_holders: list[Callable[[], None]] = []


def heed_interrupt(number: int, frame: Any) -> None:
    """Record that Ctrl-C has reached the main thread, and raise or call the active handler."""
    note_interrupt()
    if _holders:
        _holders[-1]()
    else:
        raise KeyboardInterrupt


@contextlib.contextmanager
def held_by(holder: Callable[[], None]) -> Iterator[None]:
    """Let the handler replace the effect of Ctrl-C in the block."""
    _holders.append(holder)
    try:
        yield
    finally:
        _holders.remove(holder)


def last_interrupt() -> float:
    """Return when Ctrl-C last reached the main thread, by the clock of :func:`~treeplex.seqform.limits.now`."""
    return _heeded[0]


def forget_interrupts() -> None:
    """Forget a pending Ctrl-C and earlier reports of one: a new command begins."""
    _pending.clear()
    _told.clear()


def begin_command() -> None:
    """Forget what earlier commands of the process left: a Ctrl-C, its reports, and how to continue."""
    forget_interrupts()
    set_continuation()


#: Messages already printed about Ctrl-C: each is printed once, however often it was pressed.
_told: set[str] = set()
#: The command that continues the current one, if that keeps what it has computed.
_continuation: list[str] = []


def set_continuation(*command: str) -> None:
    """Set the command to name if Ctrl-C ends the current one; none if nothing is kept."""
    _continuation[:] = command


def print_interrupted() -> None:
    """Print that Ctrl-C ended the command, and how to continue, unless that has been printed."""
    if "interrupted" not in _told:
        _told.add("interrupted")
        print_error("interrupted")
        for command in _continuation:
            print(f"note: to continue, run: {command}", file=StandardError(), flush=True)


#: The handlers of Ctrl-C that may be replaced.
HANDLERS = (signal.default_int_handler, heed_interrupt)


@contextlib.contextmanager
def deferring_interrupts(*, until_later: bool = False) -> Iterator[None]:
    """Postpone Ctrl-C and time limits until the block has ended; for imports.

    An interrupted import may leave a module half initialised or swallow the interrupt. The next import of it then fails
    for no visible reason.

    Parameters
    ----------
    until_later : bool
        Whether to wait until another such block has ended, where the reason of the interrupt is known.

    Raises
    ------
    KeyboardInterrupt
        At the end of the block, if Ctrl-C was pressed in it.

    Examples
    --------
    >>> from treeplex.cli.errors import deferring_interrupts
    >>> with deferring_interrupts():
    ...     import treeplex.solvers
    """
    # Only the main thread may set handlers. Do not replace a handler of the caller.
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before not in HANDLERS:
        with loading():
            yield
        return

    def remember(number: int, frame: Any) -> None:
        note_interrupt()
        _pending.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        with loading():
            yield
    finally:
        signal.signal(signal.SIGINT, before)
    if _pending and not until_later:
        forget_interrupts()
        heed_interrupt(signal.SIGINT, None)


class _Terminal(io.FileIO):
    """A terminal that may close while it is in use; later output is discarded."""

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            with Path(os.devnull).open("wb") as nothing:
                os.dup2(nothing.fileno(), self.fileno())
            return len(data)


def outliving_its_terminal(stream: Any) -> Any:
    """Return a replacement for a terminal's stream that can be written to after the terminal has closed."""
    if sys.platform == "win32" or not is_terminal(stream):
        return stream
    try:
        stream.flush()
        raw = _Terminal(stream.fileno(), "w", closefd=False)
    except (AttributeError, OSError, ValueError):  # a stream of the caller's that is not a file
        return stream
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)


#: Seconds within which a repeated signal counts as the same one: shells and ``timeout`` send some twice.
_ECHO = 1.0


def end_with(status: int) -> None:
    """Let signals end the process with this status from now on: only Python's shutdown remains."""
    if threading.current_thread() is not threading.main_thread():
        return
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()

    def end(number: int, frame: Any) -> None:
        os._exit(status)

    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


@contextlib.contextmanager
def heeding_signals(for_good: bool = False) -> Iterator[list[int]]:
    """Treat TERM, HUP and QUIT like Ctrl-C, but only in the main thread and only if the caller has no handlers.

    Parameters
    ----------
    for_good : bool
        Whether to do so after the block too, because the process belongs to the command.

    Yields
    ------
    list of int
        The numbers of the signals received.
    """
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    last = -math.inf

    def stop(number: int, frame: Any) -> None:
        nonlocal last
        before, last = last, now()
        if last - before < _ECHO:
            return
        came.append(number)
        handler = signal.getsignal(signal.SIGINT)
        if not callable(handler):  # Ctrl-C is ignored, as in the background of a script
            raise KeyboardInterrupt
        handler(number, frame)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)]
    taken = [number for number in numbers if signal.getsignal(number) is signal.SIG_DFL]
    for number in taken:
        signal.signal(number, stop)
    try:
        yield came
    finally:
        for number in taken if not for_good else ():
            signal.signal(number, signal.SIG_DFL)


def exit_status(status: str) -> ExitStatus:
    """Return the exit status of a solve's status: 0 for limits, 1 for unproven or infeasible results.

    Examples
    --------
    >>> from treeplex.cli.errors import exit_status
    >>> exit_status("time_limit"), exit_status("infeasible")
    (<ExitStatus.SUCCESS: 0>, <ExitStatus.FAILURE: 1>)
    """
    if str(status) in ("infeasible", "unbounded", "uncertified"):
        return ExitStatus.FAILURE
    return ExitStatus.INTERRUPTED if str(status) == "interrupted" else ExitStatus.SUCCESS
