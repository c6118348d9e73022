"""Time limits for foreign code, on platforms with an interrupting timer."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds between signals to code that continues after the first one: enough to end a program.
_AGAIN = 1.0


class OutOfTime(BaseException):
    """Raised when the time is up; not an ``Exception``, so that a bot does not swallow it."""


@contextmanager
def patience(seconds: float | None) -> Iterator[None]:
    """Interrupt the block when its time is up.

    Parameters
    ----------
    seconds : float, optional
        By default no limit.

    Raises
    ------
    OutOfTime
        When the time is up. If there is no interrupting timer (on Windows and outside of the main thread), and in
        compiled code, it is raised only when the block ends by itself.

    Examples
    --------
    >>> from treeplex.models.matches.clock import OutOfTime, patience
    >>> try:
    ...     with patience(0.01):
    ...         while True:
    ...             pass
    ... except OutOfTime:
    ...     print("enough")
    enough
    """
    if seconds is None:
        yield
        return
    timed = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    begun = time.monotonic()
    if not timed:
        yield
    else:
        before = signal.signal(signal.SIGALRM, _ring)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
    if time.monotonic() - begun > seconds:
        raise OutOfTime


def _ring(*_: Any) -> None:
    raise OutOfTime
