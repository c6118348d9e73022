"""Shows where a running solve stands: a bar in a terminal, and in a notebook."""

import contextlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from ..seqform.interchange.page import Content, Displayed, element, fragment
from ..seqform.limits import now
from ..seqform.standard_error import StandardError, is_terminal
from .outcome import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Display

#: Seconds between two pictures of a bar in a notebook.
_EVERY = 0.2


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


def bar(console: "Console", redirect_stdout: bool = True) -> "Display":
    """Return a bar for a terminal, gone when it is done."""
    from rich import progress as bars

    return bars.Progress(
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}"),
        bars.BarColumn(bar_width=20),
        bars.TextColumn("{task.fields[standing]}"),
        bars.TimeElapsedColumn(),
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
        with _NotebookBar(title, time_limit) as shown:
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


class _NotebookBar(Displayed):
    """A bar in the output of a notebook's cell; what it showed last remains."""

    def __init__(self, title: str, time_limit: float | None) -> None:
        self._title, self._course = title, Course(time_limit)
        self._part: float | None = None
        self._standing, self._begun, self._drawn = "", now(), 0.0

    def __enter__(self) -> Callable[[Progress], None]:
        from IPython.display import display

        self._handle = display(self, display_id=True)
        self._waits = showing(self._wait)
        self._waits.__enter__()
        return self._update

    def __exit__(self, *_: object) -> None:
        self._waits.__exit__(None, None, None)
        self._part = 1.0
        self._handle.update(self)

    def _update(self, report: Progress) -> None:
        self._part, self._standing = self._course.done(report), self._course.standing(report)
        if now() - self._drawn >= _EVERY:
            self._handle.update(self)
            self._drawn = now()

    def _wait(self, what: str) -> None:
        self._standing = what
        self._handle.update(self)

    def _text(self) -> str:
        return ", ".join(filter(None, (self._standing, f"{now() - self._begun:.1f} s")))

    def __repr__(self) -> str:
        return f"{self._title}: {self._text()}"

    def _html_blocks(self) -> Iterable[Content]:
        part = None if self._part is None else f"{self._part:.3f}"
        yield element("div", f"{self._title} ", element("progress", value=part, max=1), f" {self._text()}")

    def _repr_html_(self) -> str:
        return fragment(*self._html_blocks(), styled=False)
