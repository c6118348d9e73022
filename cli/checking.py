"""Checks that run row by row: the lines that they print, what Ctrl-C leaves of them, and how they end."""

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

#: From so many columns on a terminal shows headings in full.
_WIDE = 100

F = TypeVar("F", bound="Findings")


class Check:
    """A check that runs row by row, a line a row unless standard output is for JSON.

    Parameters
    ----------
    json : str or None
        Where its JSON goes.
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
        """Run it; after Ctrl-C return the rows so far.

        Parameters
        ----------
        run : callable
            Runs the check, given what is called with each row, and with a few words as each step begins.
        unfinished : callable
            Makes what was found of the rows so far and the seconds.
        total : int
            How many steps there are.
        title : callable
            Returns a line that stands above a row, if there is one.
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
        """Print the last line, write what was found as JSON and to files, and return the exit status."""
        status = ExitStatus.SUCCESS if found.passed else ExitStatus.FAILURE
        if self.shown:
            console().print(found.summary, style="bold red" if status else "bold green", soft_wrap=True)
        if found.interrupted:
            print_interrupted()
            status = ExitStatus.INTERRUPTED
        return Outputs(self._record).deliver(status, None, found.to_dict, *files)


def _print_row(out: "Console", row: "Row", table: "TableLines | None", title: "Text | None") -> "TableLines":
    """Print a row, whether it passed, and below it why not; the headings stand above the first."""
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
    """Show a bar below the rows of a table, or on standard error if they go elsewhere; nothing without a terminal.

    Yields
    ------
    callable or None
        To be called with a few words as each step begins.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    from rich import progress as bars

    columns = (
        bars.SpinnerColumn(),
        bars.BarColumn(bar_width=20),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.description}"),
        bars.TimeElapsedColumn(),
        bars.TimeRemainingColumn(compact=True),
        bars.TextColumn("left"),
    )
    # One terminal must not be drawn on by two consoles.
    where = out if out.is_terminal else console(stderr=True)
    with bars.Progress(*columns, console=where, transient=True, redirect_stdout=False) as display:
        task = display.add_task("", total=total)
        begun: list[str] = []

        def advance(description: str) -> None:
            display.update(task, completed=len(begun), description=description)
            begun.append(description)

        yield advance
