"""TOML files, whose errors name the line and the key that they are about."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any

from ..errors import GameFileError, InvalidGameError, TreeplexError, nearest, one_line, one_of, shown
from ..number_texts import TooLargeError, TooSmallError, read_float
from .files import read_bytes

#: The longest file that is read, in bytes.
_MAX_BYTES = 2**20
_HEADER = re.compile(r"\s*\[+\s*([^\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w\-]+(?:[ \t]*\.[ \t]*[\w\-]+)*)\s*=""")
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


class Table:
    """A table of a TOML file, or of what stands for one in Python.

    Parameters
    ----------
    values : dict
    path : sequence of str
        The keys that lead to it.
    lines : sequence of str
        The file, if it is of one.

    Examples
    --------
    >>> from treeplex.seqform.interchange.toml_table import Table
    >>> table = Table({"pot": 100}, lines=["pot = 100"])
    >>> table.check_keys(["pto"])
    Traceback (most recent call last):
    treeplex.seqform.errors.GameFileError: line 1: unknown key 'pot' (did you mean pto?); expected pto
    """

    def __init__(self, values: dict[str, Any], path: Sequence[str] = (), lines: Sequence[str] = ()) -> None:
        self.values = values
        self.path = tuple(path)
        self._lines = lines

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, message: str, key: str | None = None) -> InvalidGameError:
        """Return an error about a key, or about the table; the message names what it is about."""
        if not self._lines:
            return InvalidGameError(message)
        return GameFileError(message, line=self.line_of(key))

    def line_of(self, key: str | None = None) -> int | None:
        """Return the line, counted from one, of a key or the table; of the table around it if it is not found."""
        count: dict[str, int] = {}
        here = ""
        places: dict[str, int] = {}
        for number, line in enumerate(self._lines, 1):
            header, entry = _HEADER.match(line), _KEY.match(line)
            if header is not None:
                here = _plain(header[1])
                if line.lstrip().startswith("[["):
                    count[here] = count.get(here, 0) + 1
                    here = f"{here}[{count[here]}]"
                places.setdefault(here, number)
            elif entry is not None:
                places.setdefault(".".join(filter(None, (here, _plain(entry[1])))), number)
        wanted = ".".join(self.path if key is None else (*self.path, key))
        for known, number in places.items():
            if (known + ".").startswith(wanted + "."):  # it, or what is in it
                return number
        around = [known for known in places if wanted.startswith(known + ".")]
        return places[max(around, key=len)] if around else None

    def name_of(self, key: str) -> str:
        """Return what a key is called in messages, such as ``bets.river.bet``."""
        return ".".join((*self.path, key))

    @contextmanager
    def about(self, key: str) -> Iterator[None]:
        """Let errors in the block say which key they are about, and where it is."""
        try:
            yield
        except InvalidGameError as error:
            text, name = str(error), self.name_of(key)
            raise self.error(text if text.startswith(name) else f"{name}: {text}", key) from None

    def check_keys(self, known: Sequence[str]) -> None:
        """Refuse keys that are none."""
        for key in self.values:
            if key not in known:
                where = f"{'.'.join(self.path)}: " if self.path else ""
                hint = nearest(key, known)
                raise self.error(f"{where}unknown key {shown(key, 60)}{hint}; expected {one_of(known)}", key)

    def needs(self, key: str, such_as: str) -> Any:
        """Return the value of a key that must be there."""
        if key not in self.values:
            # It is the table that lacks it; the file as a whole has no line.
            raise self.error(f"{self.name_of(key)} is missing, expected {such_as}")
        return self.values[key]

    def table(self, key: str, such_as: str) -> "Table":
        """Return the table of a key, empty if there is none."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"{self.name_of(key)} is {shown(value, 60)}, expected a table, such as {such_as}", key)
        return Table(value, (*self.path, key), self._lines)

    def tables(self, key: str, such_as: str) -> "list[Table]":
        """Return the tables of a key such as ``[[locks]]``."""
        value = self.values.get(key, [])
        if not (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
            raise self.error(f"{self.name_of(key)} is {shown(value, 60)}, expected tables, such as {such_as}", key)
        return [Table(one, (*self.path, f"{key}[{place}]"), self._lines) for place, one in enumerate(value, 1)]


def read_toml(path: str | PathLike[str]) -> Table:
    """Return what a TOML file holds.

    Raises
    ------
    GameFileError
        If it cannot be read, or is not TOML; the error names the line.
    """
    return parse_toml(read_bytes(path, limit=_MAX_BYTES))


def parse_toml(content: bytes) -> Table:
    """Return what the text of a TOML file holds.

    Raises
    ------
    GameFileError
        If it is not TOML; the error names the line.
    """
    try:
        text = content.decode("utf-8-sig")
        lines = text.splitlines() or [""]
        return Table(tomllib.loads(text, parse_float=lambda number: _float(number, lines)), lines=lines)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise GameFileError("it is not text in UTF-8", line=line) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, TreeplexError):
            raise
        message = one_line(str(error))
        found = _PLACE.search(message)
        said = message[: found.start()] if found else message
        end = " at its end" if found and found[1] is None else ""
        hint = "; put text in quotes" if said == "Invalid value" and not end else ""
        place = [int(one) for one in found.groups() if one] if found else []
        raise GameFileError(f"it is not TOML: {said}{end}{hint}", *place) from None


def _float(text: str, lines: Sequence[str]) -> float:
    """Return a number as TOML writes it, or refuse one that no float is near: it would be read as 0 or infinity."""
    try:
        return read_float(text)
    except (TooSmallError, TooLargeError) as error:
        line = next((number for number, line in enumerate(lines, 1) if text in line), None)
        raise GameFileError(f"{one_line(text, 40)} is {error}", line=line) from None


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
