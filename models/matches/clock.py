"""How long somebody else's code may take, where the platform has a timer that interrupts."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Seconds between signals to code that goes on after the first one: enough to end a program.
_AGAIN = 1.0


class OutOfTime(BaseException):
    """The time is up; not an ``Exception``, so that what interrupts a bot is not swallowed by the bot."""


@contextmanager
def patience(seconds: float | None) -> Iterator[None]:
    """Interrupt the block when its time is up.

    Parameters
    ----------
    seconds : float, optional
        No limit by default.

    Raises
    ------
    OutOfTime
        When the time is up; where there is no timer that interrupts, which is on Windows and outside of the main
        thread, and in compiled code, when the block ends by itself.

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
