"""Shows where a running solve stands: a bar in a terminal, and in a notebook."""

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

#: Those who show where a solve stands, and are told what it waits for.
_SHOWING: list[Callable[[str], None]] = []


@contextlib.contextmanager
def waiting_for(what: str) -> Iterator[None]:
    """Say what a solve waits for before it goes on, such as compiling, to whoever shows where it stands.

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
    """Let a function be told what a solve waits for, and then an empty text; see :func:`waiting_for`."""
    _SHOWING.append(show)
    try:
        yield
    finally:
        _SHOWING.remove(show)


class Course:
    """How far a solve has come, from the reports that it makes.

    Parameters
    ----------
    time_limit : float or None
        Seconds, for all of it.

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
        """Return how far the solve has come, from 0 to 1: the nearest of its ends counts.

        The error is measured on a logarithmic scale, from what it was first to the tolerance.
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
        """Return where the solve stands, in words."""
        text = f"{report.iterations:,} iterations"
        if report.exploitability is not None:
            text += f", exploitability {report.exploitability:.2g}"
            text += f" of {report.tolerance:.2g}" if report.tolerance else ""
        return text


def bar(console: "Console", redirect_stdout: bool = True, is_steady: bool = False) -> "Display":
    """Return a bar for a terminal, gone when it is done. It shows the time since it began or, of steady work, left."""
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
    """Show a bar while a solve runs, in a notebook or on a terminal, and yield what to call with its progress.

    Parameters
    ----------
    title : str
    time_limit : float, optional

    Yields
    ------
    callable or None
        ``None`` where there is nobody to show it to: standard error is not a terminal.
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
