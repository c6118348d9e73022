"""Where results go: tables on standard output, JSON on standard output or in a file."""

import contextlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from .errors import CommandLineError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: The file name that means standard output.
STANDARD_OUTPUT = "-"


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

    stream = sys.stderr if stderr else sys.stdout
    wide = None if stream.isatty() or os.environ.get("COLUMNS", "").isdecimal() else 120
    return PipedConsole(file=stream, highlight=False, emoji=False, markup=False, width=wide)


def show(out: "Console", renderable: Any) -> None:
    """Print a table; on anything but a terminal without the blanks that fill its lines."""
    if out.is_terminal:
        out.print(renderable)
        return
    with out.capture() as capture:
        out.print(renderable)
    out.file.write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def show_numbers(out: "Console", table: Any) -> None:
    """Print a table whose numbers are never cut: where the terminal is too narrow, lines are longer than it is."""
    from rich.measure import Measurement

    widths = Measurement.get(out, out.options.update(width=10_000), table)
    out.width = max(out.width, widths.minimum + 2)  # the blanks after the last column
    show(out, table)


def show_rows(out: "Console", rows: "Mapping[str, str | Text]") -> None:
    """Print names and what belongs to them in two columns; nothing is cut off, and lists wrap at their blanks."""
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, text in rows.items():
        table.add_row(name, text)
    show(out, table)


def listed(numbers: Iterable[int]) -> str:
    """Return whole numbers as text.

    Examples
    --------
    >>> from treeplex.cli.output import listed
    >>> listed([1093, 1093])
    '1,093 and 1,093'
    """
    *first, last = (f"{number:,}" for number in numbers)
    return f"{', '.join(first)} and {last}" if first else last


def check_writable(path: str | None, option: str) -> None:
    """Refuse a file that cannot be written, before anything is computed; what is there stays as it is.

    Raises
    ------
    CommandLineError
    """
    if path is None or path == STANDARD_OUTPUT:
        return
    if not path:
        raise CommandLineError(f"{option}: the file name is empty")
    target = Path(path)
    try:
        if target.is_dir() or path.endswith("/"):
            raise IsADirectoryError(21, "Is a directory")
        new = not target.exists()
        if new or target.is_file():
            with target.open("ab"):
                pass
        if new:
            target.resolve().unlink()  # a symbolic link stays one
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


def make_folder(path: str, option: str) -> None:
    """Make a folder for results, before anything is computed; refuse one in which no file can be written.

    Raises
    ------
    CommandLineError
    """
    import tempfile

    if not path:
        raise CommandLineError(f"{option}: the folder name is empty")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except FileExistsError:
        raise CommandLineError(f"{option}: {path!r} is a file, expected a folder") from None
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


def check_distinct(**paths: str | None) -> None:
    """Refuse one file given for two purposes.

    Raises
    ------
    CommandLineError
    """
    seen: dict[Path, str] = {}
    for option, path in paths.items():
        if path is None or path == STANDARD_OUTPUT:
            continue
        key = Path(path).absolute()
        name = option.upper() if option in ("game", "log") else f"--{option}"
        if key in seen:
            raise CommandLineError(f"{seen[key]} and {name} name the same file, {path}")
        seen[key] = name


def write_json(record: Any, path: str | None) -> None:
    """Write a record as one JSON object, to a file or to standard output (``-``); nothing if there is no path.

    Raises
    ------
    CommandLineError
        If the file cannot be written.
    """
    if path is None:
        return
    text = json.dumps(record, allow_nan=False, indent=2) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_file(path, text, "--json")


def write_file(path: str, text: str, option: str) -> None:
    """Write a text file.

    Raises
    ------
    CommandLineError
        If it cannot be written.
    """
    with writing(path, option):
        Path(path).write_text(text, encoding="utf-8")


@contextlib.contextmanager
def writing(path: str, option: str) -> Any:
    """Turn the failure to write a file into one line."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise _unwritable(path, option, error) from None


def _unwritable(path: str, option: str, error: Exception) -> CommandLineError:
    reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return CommandLineError(f"{option}: cannot write {path!r}: {reason.lower()}")
