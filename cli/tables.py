"""The tables that commands print: facts in two columns, numbers in many, and rows that come one by one."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn

from ..seqform.limits import seconds_in_words, stopwatches
from ..seqform.standard_error import StandardError, is_terminal
from ..validation.table import decimals

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: How wide the first column of the last facts was, and whether columns have been printed since.
_width, _columns_since = [0], [False]
#: How a status is coloured, where it is one of these; others are yellow.
_COLOURS = {"optimal": "green", "converged": "green", "uncertified": "red", "infeasible": "red", "unbounded": "red"}


def console(*, stderr: bool = False) -> "Console":
    """Return a console for tables and text; neither wraps nor crops what is piped on.

    Without a terminal, and without ``COLUMNS``, lines are 120 characters wide.
    """
    import os

    from rich.console import Console

    class PipedConsole(Console):
        """A console that lets a closed pipe be an error like any other."""

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError

    stream: Any = StandardError() if stderr else sys.stdout
    wide = None if is_terminal(stream) or os.environ.get("COLUMNS", "").isdecimal() else 120
    return PipedConsole(file=stream, highlight=False, emoji=False, markup=False, width=wide)


def show(out: "Console", renderable: Any) -> None:
    """Print a table; on anything but a terminal without the blanks that fill its lines."""
    if out.is_terminal:
        out.print(renderable)
        return
    with out.capture() as capture:
        out.print(renderable)
    out.file.write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def print_facts(facts: "Mapping[str, str | Text]", files: Mapping[str, str | None] | None = None) -> None:
    """Print names and what belongs to them in two columns; nothing is cut off, and lists wrap at their blanks.

    Parameters
    ----------
    facts : mapping of str to str or rich.text.Text
    files : mapping of str to str, optional
        Where results are written, by what they are; ``None`` where nothing is.
    """
    from rich.table import Table

    if not facts and _columns_since[0]:
        console().print()
    _columns_since[0] = False
    table = Table.grid(padding=(0, 2))
    # What follows, such as the names of files that were written since, stands in the same columns.
    width = _width[0] = max([len(name) for name in facts] or _width)
    table.add_column(style="bold", no_wrap=True, min_width=width)
    table.add_column(overflow="fold")
    for name, text in facts.items():
        table.add_row(name, text)
    for name, path in (files or {}).items():
        if path is not None:
            table.add_row(f"{name} in", path)
    show(console(), table)


def status_facts(status: str, message: str) -> "dict[str, Text]":
    """Return the facts of how a solve ended, in the colour of its status."""
    from rich.text import Text

    return {
        "status": Text(status, style=f"bold {_COLOURS.get(status, 'yellow')}"),
        "": Text(message, style="dim"),
    }


def named(text: str) -> "Text":
    """Return the name of a game as tables show it."""
    from rich.text import Text

    return Text(text, style="bold cyan")


def print_columns(
    headings: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None, *, names: bool = False
) -> None:
    """Print rows below headings, after a blank line and perhaps a title.

    Numbers are never cut: where the terminal is too narrow, lines are longer than it is. With `names` the first column
    holds words, which wrap.
    """
    from rich.table import Table

    out = console()
    _columns_since[0] = True
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False, header_style="bold")
    for place, heading in enumerate(headings):
        if names and not place:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    lines = [list(row) for row in rows]
    for row in lines:
        table.add_row(*row)
    out.print()
    if title is not None:
        out.print(title, style="bold", soft_wrap=True)
    # Each column has two blanks behind it. Words need the room of the longest one.
    columns = list(zip(headings, *lines, strict=True))
    needed = [max(map(len, column)) for column in columns]
    if names:
        needed[0] = max(len(word) for cell in columns[0] for word in cell.split() or [""])
    out.width = max(out.width, sum(needed) + 2 * len(needed))
    show(out, table)


def print_pieces(pieces: Iterable[Mapping[str, float]], title: str | None = None) -> None:
    """Print a function piece by piece: numbers by their names, ``slope`` and ``price`` as prices are shown."""
    lines = list(pieces)
    headings = [name.replace("_", " ") for name in lines[0]] if lines else []
    rows = [
        [price_text(one) if name in ("slope", "price") else ten_decimals(one) for name, one in line.items()]
        for line in lines
    ]
    print_columns(headings, rows, title)


def listed(numbers: Iterable[int]) -> str:
    """Return whole numbers as text.

    Examples
    --------
    >>> from treeplex.cli.tables import listed
    >>> listed([1093, 1093])
    '1,093 and 1,093'
    """
    *first, last = (f"{number:,}" for number in numbers)
    return f"{', '.join(first)} and {last}" if first else last


def listed_numbers(numbers: "Sequence[float]", most: int = 8) -> str:
    """Return numbers with six digits; of many the first and the last.

    Examples
    --------
    >>> from treeplex.cli.tables import listed_numbers
    >>> listed_numbers([0.5, 1.0]), listed_numbers(range(10), most=4)
    ('0.5, 1', '0, 1, 2, …, 9')
    """
    texts = [f"{float(number) + 0.0:.6g}" for number in numbers]
    return ", ".join(texts if len(texts) <= most else [*texts[: most - 1], "…", texts[-1]])


def price_text(number: float) -> str:
    """Return a price: ten decimals, fewer for large ones, which are not known to more than twelve digits.

    Examples
    --------
    >>> from treeplex.cli.tables import price_text
    >>> price_text(1 / 3), price_text(4400.726016227312), price_text(-10101010.101001486)
    ('0.3333333333', '4400.72601623', '-10101010.1010')
    """
    return decimals(float(number), min(10, max(0, 12 - len(str(int(abs(number)))))))


def ten_decimals(number: float | Fraction) -> str:
    """Return ten decimals; what is zero but for round-off is zero.

    Examples
    --------
    >>> from treeplex.cli.tables import ten_decimals
    >>> ten_decimals(-1e-17), ten_decimals(-1 / 18)
    ('0.0000000000', '-0.0555555556')
    """
    return decimals(float(number), 10)


def shown_exactly(number: float, exact: Fraction | None) -> str:
    """Return a number, and the fraction that it is where that is known."""
    from ..seqform.rationals import fraction_text
    from ..solvers.solution import SHOWN_DIGITS

    shown = ten_decimals(number)
    return shown if exact is None else f"{fraction_text(exact, SHOWN_DIGITS)} = {shown}"


def seconds_text() -> str:
    """Return where the seconds of the command went so far, but for those that are too few to matter."""
    watches = stopwatches()
    return seconds_in_words(watches[-1].seconds) if watches else ""
