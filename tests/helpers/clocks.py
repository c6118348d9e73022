"""A clock that tests set, and Ctrl-C that comes when something has happened: busy machines change nothing."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from effort import PATIENCE

#: Marks a test that Ctrl-C is sent to.
needs_ctrl_c = pytest.mark.skipif(
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored"
)


class Clock:
    """A clock that goes on by so many seconds each time that it is read.

    Steps of iterative methods last 0.05 seconds: on a clock that goes on faster they stay as short as the first one.

    Parameters
    ----------
    step : float

    Attributes
    ----------
    now : float
    reader : str
        The end of the names of files whose reading moves the clock; all do by default.
    """

    def __init__(self, step: float = 0.06) -> None:
        self.step, self.now, self.reader = step, 1000.0, ""

    def __call__(self) -> float:
        """Return the time, in seconds."""
        frame = sys._getframe(1)
        for _ in range(3):  # through functions that read the clock for others
            if frame is not None and frame.f_code.co_filename.endswith(self.reader):
                self.now += self.step
                break
            frame = frame and frame.f_back
        return self.now

    def install(self, monkeypatch: pytest.MonkeyPatch) -> "Clock":
        """Let all of the library read this clock."""
        monkeypatch.setattr(time, "perf_counter", self)
        monkeypatch.setattr(time, "monotonic", self)
        monkeypatch.setattr("treeplex.seqform.limits._read", self, raising=False)
        return self


@contextmanager
def ctrl_c_once(happened: Callable[[], object], delay: float = 0.0) -> Iterator[None]:
    """Send Ctrl-C to this process when something has happened in the block, which nothing else may end.

    Parameters
    ----------
    happened : callable
        Asked by another thread, a thousand times a second.
    delay : float
        Seconds from then on.
    """
    over = threading.Event()

    def send() -> None:
        for _ in range(int(PATIENCE / 0.001)):
            if happened() or over.wait(0.001):
                break
        if not over.wait(delay):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
