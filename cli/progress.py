"""Shows on standard error where a running solve stands."""

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from .tables import console

if TYPE_CHECKING:
    from rich.progress import Progress as Display

    from ..solvers.outcome import Progress


def fraction_done(report: "Progress", first_error: float | None, time_limit: float | None) -> float:
    """Return how far a solve has come, from 0 to 1: the nearest of its ends counts.

    The error is measured on a logarithmic scale, from what it was first to the tolerance.

    Examples
    --------
    >>> from treeplex.solvers.outcome import Progress
    >>> from treeplex.cli.progress import fraction_done
    >>> halfway = Progress(iterations=10, seconds=0.1, exploitability=1e-2, tolerance=1e-4, max_iterations=10**6)
    >>> round(fraction_done(halfway, first_error=1.0, time_limit=None), 6)
    0.5
    """
    done = [report.iterations / report.max_iterations if report.max_iterations else 1.0]
    if time_limit:
        done.append(report.seconds / time_limit)
    error, tolerance = report.exploitability, report.tolerance
    if error and first_error and 0.0 < tolerance < first_error:
        done.append(math.log(first_error / error) / math.log(first_error / tolerance))
    return min(1.0, max(0.0, *done))


def _display(redirect_stdout: bool = True) -> "Display":
    """Return a bar on standard error, gone when it is done."""
    from rich import progress as bars

    return bars.Progress(
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}"),
        bars.BarColumn(bar_width=20),
        bars.TextColumn("{task.fields[standing]}"),
        bars.TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        redirect_stdout=redirect_stdout,
    )


@contextlib.contextmanager
def solving(title: str, time_limit: float | None, *, shown: bool) -> "Iterator[Callable[[Progress], None] | None]":
    """Show a bar while a solve runs, and yield what to call with its progress.

    Parameters
    ----------
    title : str
    time_limit : float or None
    shown : bool
        Nothing is shown either unless standard error is a terminal.
    """
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    with _display() as display:
        task = display.add_task(title, total=None, standing="")
        first_error: list[float] = []

        def update(report: "Progress") -> None:
            error = report.exploitability
            if error is not None and not first_error:
                first_error.append(error)
            standing = f"{report.iterations:,} iterations"
            if error is not None:
                standing += f", exploitability {error:.2g}"
                standing += f" of {report.tolerance:.2g}" if report.tolerance else ""
            done = fraction_done(report, first_error[0] if first_error else None, time_limit)
            display.update(task, total=1.0, completed=done, standing=standing)

        yield update


@contextlib.contextmanager
def waiting(title: str, *, shown: bool = True) -> Iterator[None]:
    """Show a spinner while something without steps runs; nothing unless standard error is a terminal."""
    if not (shown and sys.stderr.isatty()):
        yield
        return
    with console(stderr=True).status(title):
        yield


@contextlib.contextmanager
def filling(title: str, unit: str, *, shown: bool = True) -> "Iterator[Callable[[int, float | None], None] | None]":
    """Show a bar while something long runs; nothing unless standard error is a terminal.

    Parameters
    ----------
    title : str
    unit : str
        What is counted, such as ``games``.
    shown : bool

    Yields
    ------
    callable or None
        To be called with how many are done, and what part of all that is, from 0 to 1, or ``None`` if nobody knows.
    """
    if not (shown and sys.stderr.isatty()):
        yield None
        return
    with _display(redirect_stdout=False) as display:
        task = display.add_task(title, total=None, standing="")

        def update(done: int, part: float | None) -> None:
            display.update(
                task, total=None if part is None else 1.0, completed=part or 0.0, standing=f"{done:,} {unit}"
            )

        yield update
