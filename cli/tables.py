"""Printing of answer sheets: facts in two columns, then tables."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from ..seqform.limits import stopwatches
from ..seqform.number_texts import seconds_in_words
from ..seqform.sheet import Row, Sheet, Table
from ..seqform.standard_error import StandardError, is_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: The width of the first column of the last facts, and whether facts have been printed since.
_width, _columns_since = [0], [False]
#: The colour of each status; other statuses are yellow.
_COLOURS = {"optimal": "green", "converged": "green", "uncertified": "red", "infeasible": "red", "unbounded": "red"}


def console(*, stderr: bool = False) -> "Console":
    """Return a console for tables and text; piped output is neither wrapped nor cropped.

    Without a terminal, and without ``COLUMNS``, lines are 120 characters wide.
    """
    import os

    from rich.console import Console

    class PipedConsole(Console):
        """A console that raises the usual error for a closed pipe."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    stream: Any = StandardError() if stderr else sys.stdout
    wide = None if is_terminal(stream) or os.environ.get("COLUMNS", "").isdecimal() else 120
    return PipedConsole(file=stream, highlight=False, emoji=False, markup=False, width=wide)


def show(out: "Console", renderable: Any) -> None:
    """Print a table; unless the output is a terminal, omit trailing blanks."""
    if out.is_terminal:
        out.print(renderable)
        return
    with out.capture() as capture:
        out.print(renderable)
    out.file.write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def print_sheet(sheet: Sheet) -> None:
    """Print an answer sheet: its facts in two columns, then its tables."""
    print_rows(*sheet.rows)
    for table in sheet.tables:
        print_table(table)


def print_rows(*rows: Row, after: bool = False) -> None:
    """Print names and values in two columns without cutting anything off; lists wrap at blanks.

    Rows printed `after` others, such as names of files written since, use the same columns.
    """
    from rich.table import Table as Grid

    if after and _columns_since[0]:
        console().print()
    _columns_since[0] = False
    if not after:
        _width[0] = max(len(row.name) for row in rows)
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True, min_width=_width[0])
    grid.add_column(overflow="fold")
    for row in rows:
        grid.add_row(row.name, _styled(row))
    show(console(), grid)


def ending(record: Mapping[str, Any]) -> tuple[Row, Row]:
    """Return the text on how a solve ended."""
    return Row("status", record["status"]), Row("message", record["message"], label="")


def _styled(row: Row) -> "Text":
    """Return the text of a row in its colour."""
    from rich.text import Text

    text = Text(row.text)
    if row.key == "status":
        text.stylize(f"bold {_COLOURS.get(str(row.value), 'yellow')}")
    elif row.key == "message":
        text.stylize("dim")
    elif row.key in ("game", "problem"):
        text.stylize("bold cyan", row.text.rfind(" on ") + 4 if row.key == "problem" else 0)
    return text


def print_table(table: Table) -> None:
    """Print a table below a blank line and its title.

    Numbers are never cut. If the terminal is too narrow, words wrap, and if necessary lines exceed its width.
    """
    from rich.table import Table as Grid

    out, headings, words, lines = console(), table.headings, table.words, list(table.cells())
    if not headings:
        return
    _columns_since[0] = True
    grid = Grid(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for place, heading in enumerate(headings):
        if place in words:
            grid.add_column(heading, overflow="fold")
        else:
            grid.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        grid.add_row(*line)
    out.print()
    if table.title:
        out.print(table.title, style="bold", soft_wrap=True)
    # Two blanks follow each column. A column of words is at least as wide as its longest word.
    columns = list(zip(headings, *lines, strict=True))
    needed = [
        max(len(part) for cell in column for part in (cell.split() if place in words else [cell]) or [""])
        for place, column in enumerate(columns)
    ]
    out.width = max(out.width, sum(needed) + 2 * len(needed))
    show(out, grid)


def seconds_text() -> str:
    """Return how the command's time was spent, without negligible parts."""
    watches = stopwatches()
    return seconds_in_words(watches[-1].seconds) if watches else ""
