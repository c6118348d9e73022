"""The progress of a running solve: a bar on a terminal or in a notebook."""

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ..seqform.standard_error import StandardError, is_terminal
from .outcome import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Display

#: The functions to call with a description of what a solve waits for.
_SHOWING: list[Callable[[str], None]] = []


@contextlib.contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Tell the progress displays what a solve waits for in the block, such as compiling.

    Examples
    --------
    >>> from treeplex.solvers.progress import showing, waiting_for
    >>> with showing(print), waiting_for("compiling, first time only"):
    ...     pass
    compiling, first time only
    <BLANKLINE>
    """
    for show in _SHOWING:
        show(what)
    try:
        yield
    finally:
        for show in _SHOWING:
            show("")


@contextlib.contextmanager
def showing(show: Callable[[str], None]) -> Iterator[None]:
    """Call a function with what a solve waits for, and with an empty string afterwards; see :func:`waiting_for`."""
    _SHOWING.append(show)
    try:
        yield
    finally:
        _SHOWING.remove(show)


class Course:
    """The progress of a solve, computed from its reports.

    Parameters
    ----------
    time_limit : float or None
        The time limit of the whole solve, in seconds.

    Examples
    --------
    >>> from treeplex.solvers.outcome import Progress
    >>> from treeplex.solvers.progress import Course
    >>> course = Course(time_limit=None)
    >>> first = Progress(iterations=1, seconds=0.1, exploitability=1.0, tolerance=1e-4, max_iterations=10**6)
    >>> halfway = Progress(iterations=10, seconds=0.2, exploitability=1e-2, tolerance=1e-4, max_iterations=10**6)
    >>> course.done(first), round(course.done(halfway), 6), course.standing(halfway)
    (1e-06, 0.5, '10 iterations, exploitability 0.01 of 0.0001')
    """

    def __init__(self, time_limit: float | None) -> None:
        self._limit, self._first = time_limit, 0.0

    def done(self, report: Progress) -> float:
        """Return the progress of the solve, from 0 to 1, towards the nearest of its limits.

        The error is measured on a logarithmic scale, from the first error to the tolerance.
        """
        parts = [report.iterations / report.max_iterations if report.max_iterations else 1.0]
        if self._limit:
            parts.append(report.seconds / self._limit)
        error, tolerance = report.exploitability, report.tolerance
        if error:
            self._first = self._first or error
            if 0.0 < tolerance < self._first:
                parts.append(math.log(self._first / error) / math.log(self._first / tolerance))
        return min(1.0, max(0.0, *parts))

    def standing(self, report: Progress) -> str:
        """Return the progress of the solve in words."""
        text = f"{report.iterations:,} iterations"
        if report.exploitability is not None:
            text += f", exploitability {report.exploitability:.2g}"
            text += f" of {report.tolerance:.2g}" if report.tolerance else ""
        return text


def bar(console: "Console", redirect_stdout: bool = True, is_steady: bool = False) -> "Display":
    """Return a temporary bar for a terminal. It shows the elapsed time or, for steady work, the remaining time."""
    from rich import progress as bars

    left = bars.TimeRemainingColumn(compact=True), bars.TextColumn("left")
    return bars.Progress(
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}"),
        bars.BarColumn(bar_width=20),
        bars.TextColumn("{task.fields[standing]}"),
        *(left if is_steady else (bars.TimeElapsedColumn(),)),
        console=console,
        transient=True,
        redirect_stdout=redirect_stdout,
    )


@contextlib.contextmanager
def watched(title: str, time_limit: float | None = None) -> Iterator[Callable[[Progress], None] | None]:
    """Show a bar while a solve runs, in a notebook or on a terminal; yield the function to call with its progress.

    Parameters
    ----------
    title : str
    time_limit : float, optional

    Yields
    ------
    callable or None
        ``None`` if standard error is not a terminal.
    """
    from rich.console import Console

    stream: Any = StandardError()
    console = Console(file=stream, highlight=False, markup=False)
    if console.is_jupyter:
        from .notebook_bar import NotebookBar

        course = Course(time_limit)
        notebook = NotebookBar(title, course.done, course.standing)
        with notebook as shown, showing(notebook.wait):
            yield shown
    elif is_terminal(sys.stderr):
        with on_terminal(console, title, time_limit) as shown:
            yield shown
    else:
        yield None


@contextlib.contextmanager
def on_terminal(console: "Console", title: str, time_limit: float | None) -> Iterator[Callable[[Progress], None]]:
    """Show a bar on a terminal; see :func:`watched`."""
    course = Course(time_limit)
    with bar(console) as display:
        task = display.add_task(title, total=None, standing="")

        def update(report: Progress) -> None:
            display.update(task, total=1.0, completed=course.done(report), standing=course.standing(report))

        with showing(lambda what: display.update(task, standing=what)):
            yield update
