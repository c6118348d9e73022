"""How a command ends: exit statuses, errors as one line on standard error, and Ctrl-C."""

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

#: Set to 1, this environment variable lets an unexpected error show its traceback.
DEBUG_VARIABLE = "TREEPLEX_DEBUG"


class ExitStatus(enum.IntEnum):
    """The exit status of the command."""

    SUCCESS = 0
    #: A check failed, a valid model is infeasible, or a result does not prove what its method claims.
    FAILURE = 1
    #: Bad input: nothing on standard output, one line on standard error.
    BAD_INPUT = 2
    #: By Ctrl-C; after another signal it is 128 and its number, as for any command that a signal ends.
    INTERRUPTED = 130
    #: Whoever read standard output has gone: what a shell reports for any command that a closed pipe ends.
    CLOSED_PIPE = 141


class CommandLineError(Exception):
    """Bad input that the command line itself notices; its text is the line to print."""


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
    """Return the line for an error that nobody foresaw."""
    if isinstance(error, MemoryError):
        return "out of memory: try a smaller game or an iterative method"
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"unexpected {what} (set {DEBUG_VARIABLE}=1 to see where)"


def is_full(error: OSError) -> bool:
    """Whether standard output took no more: files that are opened by name have handlers of their own."""
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EFBIG, errno.EIO, errno.EBADF)


def debugging() -> bool:
    """Whether unexpected errors show their tracebacks."""
    return os.environ.get(DEBUG_VARIABLE, "") not in ("", "0")


def close_standard_output() -> None:
    """Point standard output at nothing after it failed, so that the interpreter's last flush cannot fail again."""
    try:
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
    except (OSError, ValueError):  # not a real file, in tests
        pass


#: That Ctrl-C was pressed, and waits for the end of a later block; and when it last was not to wait.
_pending: list[int] = []
_heeded = [-math.inf]


def note_interrupt() -> None:
    """Note that Ctrl-C has reached the main thread."""
    _heeded[0] = now()


#: What is done with Ctrl-C instead of raising, the innermost last: see :func:`~treeplex.cli.limits.hold`.
_holders: list[Callable[[], None]] = []


def heed_interrupt(number: int, frame: Any) -> None:
    """Note that Ctrl-C has reached the main thread, and do what it does otherwise, or what holds it says."""
    note_interrupt()
    if _holders:
        _holders[-1]()
    else:
        raise KeyboardInterrupt


@contextlib.contextmanager
def held_by(holder: Callable[[], None]) -> Iterator[None]:
    """Let Ctrl-C do in the block what the holder does."""
    _holders.append(holder)
    try:
        yield
    finally:
        _holders.remove(holder)


def last_interrupt() -> float:
    """Return when Ctrl-C last reached the main thread, by the clock of :func:`~treeplex.seqform.limits.now`."""
    return _heeded[0]


def forget_interrupts() -> None:
    """Forget a Ctrl-C that waits, and that one was told of: a new command begins."""
    _pending.clear()
    _told.clear()


#: What was said of Ctrl-C: once is enough, however often it was pressed.
_told: set[str] = set()


def print_interrupted() -> None:
    """Print that Ctrl-C ended the command, if nobody has said so yet."""
    if "interrupted" not in _told:
        _told.add("interrupted")
        print_error("interrupted")


#: What Ctrl-C may do without being another's.
HANDLERS = (signal.default_int_handler, heed_interrupt)


@contextlib.contextmanager
def deferring_interrupts(*, until_later: bool = False) -> Iterator[None]:
    """Let Ctrl-C wait until the block has ended, and time limits too: for imports.

    A module whose import is interrupted may be left half made, or swallow the interruption, so that whatever imports it
    next fails for no visible reason.

    Parameters
    ----------
    until_later : bool
        Whether it waits until another such block has ended, in which it can be told what became of the command.

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
    # Only the main thread may set handlers; one of the caller's, or none, stays as it is.
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
    """A terminal that may go while it is written to: what follows then goes nowhere."""

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
    except (AttributeError, OSError, ValueError):  # a stream of the caller's, which is not a file
        return stream
    return io.TextIOWrapper(io.BufferedWriter(raw), stream.encoding, stream.errors, line_buffering=True)


#: Seconds within which a signal that comes again is the same one: shells and ``timeout`` send some twice.
_ECHO = 1.0


def end_with(status: int) -> None:
    """Let signals end the process with this status from now on: all is written, and only Python's own end is left."""
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
    """Let TERM, HUP and QUIT do what Ctrl-C does, in the main thread and unless the caller has other plans for them.

    Parameters
    ----------
    for_good : bool
        Whether they do so after the block too, because the process is the command's own.

    Yields
    ------
    list of int
        The numbers of those that came.
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
    """Return what a solve's status means to the shell: limits are results, what is not proven or feasible is not.

    Examples
    --------
    >>> from treeplex.cli.errors import exit_status
    >>> exit_status("time_limit"), exit_status("infeasible")
    (<ExitStatus.SUCCESS: 0>, <ExitStatus.FAILURE: 1>)
    """
    if str(status) in ("infeasible", "unbounded", "uncertified"):
        return ExitStatus.FAILURE
    return ExitStatus.INTERRUPTED if str(status) == "interrupted" else ExitStatus.SUCCESS
