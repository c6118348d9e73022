"""The same computation for many settings, in processes of this machine or of a cluster."""

import multiprocessing
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from joblib import Parallel, delayed

T = TypeVar("T")


def sweep(function: Callable[..., T], settings: Iterable[tuple[Any, ...]], jobs: int | None = None) -> Iterator[T]:
    """Yield what a function returns for each of many settings, in their order.

    Parameters
    ----------
    function : callable
        Of a module, so that other processes can import it.
    settings : iterable of tuple
        The arguments of each call.
    jobs : int, optional
        How many processes of joblib's; −1 for one a core. By default what ``joblib.parallel_config`` says, which names
        clusters too, and without it one call after the other in this process.

    Examples
    --------
    >>> from treeplex.validation.papers.sweeps import sweep
    >>> list(sweep(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    calls = (delayed(_call)(function, arguments) for arguments in settings)
    yield from Parallel(n_jobs=jobs, return_as="generator")(calls)


def _call(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    # Ctrl-C goes to every process of a terminal: the one that the user started decides what becomes of the others.
    if multiprocessing.parent_process() is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return function(*arguments)
