"""Checks that run row by row: printing, partial results after Ctrl-C, and exit statuses."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from ..seqform.limits import WORTH_WAITING, now, patient
from ..seqform.standard_error import is_terminal
from .errors import ExitStatus, print_interrupted
from .files import Record
from .outputs import Output, Outputs
from .tables import console

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ..validation.table import Findings, Row, TableLines

#: Headings are shown in full on terminals with at least this many columns.
_WIDE = 100

F = TypeVar("F", bound="Findings")


class Check:
    """A check that runs row by row and prints a line per row unless standard output is for JSON.

    Parameters
    ----------
    json : str or None
        The file of its JSON.
    """

    def __init__(self, json: str | None) -> None:
        self._record = Record(json, ())
        self._record.clear()
        self.shown = self._record.shown

    def run(
        self,
        run: Callable[[Callable[[Any], None], Callable[[str], None] | None], F],
        unfinished: Callable[[tuple[Any, ...], float], F],
        total: int,
        title: "Callable[[Any], Text | None]" = lambda row: None,
    ) -> F:
        """Run the check; after Ctrl-C return the rows so far.

        Parameters
        ----------
        run : callable
            Runs the check; takes a callback for each row, and one for a short description of each step as it starts.
        unfinished : callable
            Builds the partial result from the rows so far and the elapsed seconds.
        total : int
            The number of steps.
        title : callable
            Returns a line to print above a row, if there is one.
        """
        out, held = console(), self._record.held
        rows: list[Any] = []
        table: TableLines | None = None

        def keep(row: "Row") -> None:
            nonlocal table
            rows.append(row)
            if self.shown:
                table = _print_row(out, row, table, title(row))

        begun = now()
        try:
            with _counting(out, total) if self.shown else contextlib.nullcontext() as advance, patient(WORTH_WAITING):
                found = run(keep, advance)
            held.begin()
        except KeyboardInterrupt:
            held.begin()
            found = unfinished(tuple(rows), now() - begun)
        return found

    def deliver(self, found: "Findings", *files: Output) -> int:
        """Print the last line, write the results as JSON and to files, and return the exit status."""
        status = ExitStatus.SUCCESS if found.passed else ExitStatus.FAILURE
        if self.shown:
            console().print(found.summary, style="bold red" if status else "bold green", soft_wrap=True)
        if found.interrupted:
            print_interrupted()
            status = ExitStatus.INTERRUPTED
        return Outputs(self._record).deliver(status, None, found.to_dict, *files)


def _print_row(out: "Console", row: "Row", table: "TableLines | None", title: "Text | None") -> "TableLines":
    """Print a row, its verdict, and the reason below it if it failed; headings come before the first row."""
    from rich.text import Text

    from ..validation.table import TableLines

    if table is None:
        table = TableLines(row, narrow=out.width < _WIDE)
        out.print(Text(f"  {table.headings}", style="dim"), soft_wrap=True)
    if title is not None:
        out.print(title, soft_wrap=True)
    line = Text(f"  {table.line(row)}")
    line.append(" pass" if row.passed else " FAIL", style="green" if row.passed else "bold red")
    out.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)
    if row.failure:
        out.print(Text(f"    {row.failure}", style="red"), soft_wrap=True)
    return table


@contextlib.contextmanager
def _counting(out: "Console", total: int) -> "Iterator[Callable[[str], None] | None]":
    """Show a progress bar below the table, or on standard error if the rows go elsewhere; nothing without a terminal.

    Yields
    ------
    callable or None
        Takes a short description of each step as it starts.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    from rich import progress as bars

    columns = (
        bars.SpinnerColumn(),
        bars.BarColumn(bar_width=20),
        bars.MofNCompleteColumn(),
        bars.TaskProgressColumn(),
        bars.TextColumn("{task.description}"),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left"),
    )
    # Two consoles must not draw on the same terminal.
    where = out if out.is_terminal else console(stderr=True)
    with bars.Progress(*columns, console=where, transient=True, redirect_stdout=False) as display:
        task = display.add_task("", total=total)
        begun: list[str] = []

        def advance(description: str) -> None:
            display.update(task, completed=len(begun), description=description)
            begun.append(description)

        yield advance
