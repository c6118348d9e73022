"""Calling a function in other processes, with joblib."""

import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def calls(
    function: Callable[..., T], arguments: Iterable[tuple[Any, ...]], jobs: int | None = None, *, ordered: bool = True
) -> Iterator[T]:
    """Yield what a function returns for each of many arguments.

    Parameters
    ----------
    function : callable
        A module's function, so that other processes can import it.
    arguments : iterable of tuple
    jobs : int, optional
        Number of calls at once; −1 for one per core or the whole cluster. Default: from ``joblib.parallel_config``;
        without it, calls run one by one in this process.
    ordered : bool
        Whether to keep the order of the arguments.

    Examples
    --------
    >>> from treeplex.seqform.calls import calls
    >>> list(calls(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    how: dict[str, Any] = (
        {"return_as": "generator"} if ordered else {"return_as": "generator_unordered", "batch_size": 1}
    )
    from joblib import Parallel, delayed

    folder = str(Path.cwd())
    yield from Parallel(n_jobs=jobs, **how)(delayed(_call)(function, each, folder) for each in arguments)


def _call(function: Callable[..., T], arguments: tuple[Any, ...], folder: str) -> T:
    if leave_signals_to_parent():
        # A process of an earlier sweep may be elsewhere; on another machine there may be no such folder.
        with contextlib.suppress(OSError):
            os.chdir(folder)
    return function(*arguments)


def leave_signals_to_parent() -> bool:
    """Ignore Ctrl-C and end with the parent, in a process that another one started; return whether this is one.

    Ctrl-C reaches every process of a terminal: the process that the user started ends the others.
    """
    if multiprocessing.parent_process() is None or threading.current_thread() is not threading.main_thread():
        return False
    for name in ("SIGINT", "SIGHUP", "SIGQUIT"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):  # the process may have been started with Ctrl-C blocked
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    _follow_parent()
    return True


@functools.cache
def _follow_parent() -> None:
    """End this process soon after its parent, which cannot report that it was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
