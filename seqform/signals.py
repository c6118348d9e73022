"""Signals that wait: work that must not be broken off in the middle ends first."""

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .limits import now

#: What asks a program to end, where the platform has it.
_ENDING = [
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")
    if hasattr(signal, name)
]
#: A signal that comes so many seconds after the first one waits no longer; shells and ``timeout`` send some twice.
_PATIENCE = 1.0
_last_held = [-math.inf]


def last_held() -> float:
    """Return when a signal last came that had to wait, by the clock of :func:`~treeplex.seqform.limits.now`."""
    return _last_held[0]


@contextlib.contextmanager
def holding_signals(*, forget: bool = False) -> Iterator[None]:
    """Let signals that ask the program to end wait until the block has ended; then the first one is handled.

    Only signals with a handler in Python wait, and only in the main thread, where Python handles them. A second signal
    that comes a second later or more is handled at once.

    Parameters
    ----------
    forget : bool
        Whether to handle none of them: what they ask for is under way.

    Examples
    --------
    >>> import signal
    >>> from treeplex.seqform.signals import holding_signals
    >>> try:
    ...     with holding_signals():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done first")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    done first
    interrupted
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Callable[[int, Any], Any]] = {}
    held: list[tuple[int, Any]] = []
    first, is_over = math.inf, False

    def hold(number: int, frame: Any) -> None:
        nonlocal first
        at = now()
        # One that could not be put back, because a signal came meanwhile, hands on what comes.
        if is_over or at - first >= _PATIENCE:
            before[number](number, frame)
        else:
            first = min(first, at)
            _last_held[0] = at
            held.append((number, frame))

    try:
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler):
                before[number] = handler
                signal.signal(number, hold)
        yield
    finally:
        try:  # what comes meanwhile waits too, so that all of them are put back
            for number, handler in before.items():
                signal.signal(number, handler)
        finally:
            is_over = True
    if held and not forget:
        number, frame = held[0]
        before[number](number, frame)
