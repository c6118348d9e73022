"""Ways to interrupt code that does not return to Python on its own, by Ctrl-C or a time limit."""

import contextlib
import math
import os
import pickle
import select
import signal
import threading
import warnings
from collections.abc import Callable
from typing import Any

from ...seqform.limits import GRACE, holding_signals, seconds_late, seconds_left, too_late

#: Seconds to wait for cancelled work to end.
_PATIENCE = 0.2


def run_interruptibly(work: Callable[[], object], cancel: Callable[[], object] | None = None) -> bool:
    """Do work in a separate thread while this thread waits for it, for Ctrl-C and for the deadline.

    Parameters
    ----------
    work : callable
        It must release the interpreter while it computes. Its exceptions are raised here.
    cancel : callable, optional
        Asks the work to end; the caller waits briefly for that. Without it, or if the work does not end, the work
        continues in the background: do not use any of its objects.

    Returns
    -------
    bool
        Whether the work was asked to end, and did. Only the main thread receives Ctrl-C. In another thread without
        a deadline, the work is done directly.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
        If the work continues in the background.
    """
    if threading.current_thread() is not threading.main_thread() and math.isinf(seconds_left()):
        work()
        return False
    finished, failures = threading.Event(), []

    def do() -> None:
        try:
            work()
        except BaseException as failure:  # raised again in the calling thread
            failures.append(failure)
        finally:
            finished.set()

    ending: BaseException | None = None
    worker, is_started = threading.Thread(target=do, daemon=True), False
    while not finished.is_set():
        try:
            if not is_started:
                is_started = True
                worker.start()
            finished.wait(0.1)
            if seconds_late() > GRACE:
                ending = too_late("the solver had not found a solution")
        except KeyboardInterrupt as interruption:
            ending = interruption
        if ending is not None:
            if cancel is not None:
                cancel()
            if cancel is None or not finished.wait(_PATIENCE):
                raise ending
    if failures:
        raise failures[0]
    return ending is not None


def run_apart(work: Callable[[], Any]) -> Any:
    """Do work in a separate process, which Ctrl-C or the deadline ends, and return its result.

    If processes cannot be forked, as on Windows, the work is done in this process and cannot be ended.

    Parameters
    ----------
    work : callable
        It may hold the interpreter while it computes. Its result or exception is pickled.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
    """
    if not hasattr(os, "fork"):
        return work()
    reader, writer = os.pipe()
    parts: list[bytes] = []
    child = -1
    try:
        with holding_signals(), warnings.catch_warnings():
            # Newer Python versions warn if there are other threads. The child does not use anything that they may have
            # locked.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            _answer(work, writer)
        os.close(writer)
        while not parts or parts[-1]:
            left = GRACE - seconds_late()
            if left <= 0.0:
                raise too_late("exact arithmetic was running")
            if select.select([reader], [], [], min(left, 60.0))[0]:
                parts.append(os.read(reader, 1 << 20))
    finally:
        os.close(reader)
        if child > 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if len(parts) == 1:
        raise MemoryError("another program ended the process for exact arithmetic")
    done, result = pickle.loads(b"".join(parts))  # noqa: S301 - written by this very code
    if not done:
        raise result
    return result


def _answer(work: Callable[[], Any], writer: int) -> None:
    """Do the work of a child process and end it, without the parent's exit handlers."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            answer = pickle.dumps((True, work()))
        except Exception as failure:
            answer = pickle.dumps((False, failure))
        while answer:
            answer = answer[os.write(writer, answer) :]
    finally:
        os._exit(0)
