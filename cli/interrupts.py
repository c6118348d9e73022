"""Keeps Ctrl-C from breaking into imports."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def deferring_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait until the block has ended: for imports.

    A module whose import is interrupted may be left half made, or swallow the interruption, so that whatever imports it
    next fails for no visible reason.

    Raises
    ------
    KeyboardInterrupt
        At the end of the block, if Ctrl-C was pressed in it.

    Examples
    --------
    >>> from treeplex.cli.interrupts import deferring_interrupts
    >>> with deferring_interrupts():
    ...     import treeplex.solvers
    """
    # Only the main thread may set handlers; one of the caller's, or none, stays as it is.
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield
        return
    pressed: list[int] = []

    def remember(number: int, frame: Any) -> None:
        pressed.append(number)

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
