"""Runs what never comes back to Python on its own, so that Ctrl-C still arrives and time limits hold."""

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

#: Seconds to wait for work that was asked to end.
_PATIENCE = 0.2


def run_interruptibly(work: Callable[[], object], cancel: Callable[[], object] | None = None) -> bool:
    """Do some work in a thread of its own while this one waits for it, for Ctrl-C and for the deadline.

    Parameters
    ----------
    work : callable
        It releases the interpreter while it computes. Its exceptions are raised here.
    cancel : callable, optional
        Asks the work to end; the caller waits for that for a short time. Without it, or if it does not help, the
        work continues in the background: do not touch anything that it uses.

    Returns
    -------
    bool
        Whether the work was asked to end, and did. Ctrl-C comes to the main thread alone: in another one the work is
        simply done if there is no deadline.

    Raises
    ------
    KeyboardInterrupt, TimeLimitError
        If the work was left alone.
    """
    if threading.current_thread() is not threading.main_thread() and math.isinf(seconds_left()):
        work()
        return False
    finished, failures = threading.Event(), []

    def do() -> None:
        try:
            work()
        except BaseException as failure:  # raised in the thread that asked
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
    """Do some work in a process of its own, which is ended when Ctrl-C or the deadline comes, and return its result.

    Where processes cannot be forked, as on Windows, the work is done here, and nothing ends it.

    Parameters
    ----------
    work : callable
        It may hold the interpreter while it computes. Its result, or its exception, is pickled.

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
            # New releases of Python warn where there are other threads. The child runs none of what they have locked.
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
        raise MemoryError("another program ended the process that computes exactly")
    done, result = pickle.loads(b"".join(parts))  # noqa: S301 - written by this very code
    if not done:
        raise result
    return result


def _answer(work: Callable[[], Any], writer: int) -> None:
    """Do the work of a child and end it, without anything that its parent does at its own end."""
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
