"""How the figures compute: solves that Ctrl-C ends, solves by the clock, and many settings in several processes."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from joblib import Parallel, delayed

from ...seqform.errors import SolverError
from ...solvers import Solution, Status, solve

T = TypeVar("T")
#: Told what is computed now, in a few words.
Tell = Callable[[str], None]


def completed(problem: Any, method: Any = None, **limits: Any) -> Solution:
    """Solve a problem; Ctrl-C ends the experiment, and its rows so far stay.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C.
    SolverError
        If constraints turn out to exclude each other, or the method broke down.
    """
    solution = solve(problem, method, **limits)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.infeasibility is not None:
        raise SolverError(f"{problem.name} on {problem.game.spec} by {solution.method.name}: {solution.message}")
    return solution


def timed(problem: Any, method: Any, **limits: Any) -> tuple[Solution, float]:
    """Solve a problem as :func:`completed` does, and return the seconds that it took too.

    They are those of the solve alone on a clock, or those of the processor for the whole call if these are fewer: then
    other programs ran beside it. Constrained CFR and HiGHS's simplex and interior point methods run on one core.
    """
    begun = time.process_time()
    solution = completed(problem, method, **limits)
    return solution, min(solution.seconds, time.process_time() - begun)


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
    >>> from treeplex.validation.papers.runs import sweep
    >>> list(sweep(pow, [(2, 3), (3, 2)]))
    [8, 9]
    """
    calls = (delayed(_call)(function, arguments) for arguments in settings)
    yield from Parallel(n_jobs=jobs, return_as="generator")(calls)


def sweep_groups(
    function: Callable[..., T], groups: Sequence[tuple[str, Sequence[tuple[Any, ...]]]], tell: Tell, jobs: int | None
) -> Iterator[list[T]]:
    """Yield what :func:`sweep` finds for each group of settings, after telling what the group is called."""
    found = sweep(function, (setting for _, settings in groups for setting in settings), jobs)
    for words, settings in groups:
        tell(words)
        yield list(islice(found, len(settings)))


def _call(function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
    # Ctrl-C goes to every process of a terminal: the one that the user started decides what becomes of the others.
    if multiprocessing.parent_process() is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return function(*arguments)
