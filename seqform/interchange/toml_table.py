"""TOML files with errors that name the line and the key."""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any, Self

from ..errors import GameFileError, InvalidGameError, TreeplexError, nearest, one_line, one_of, shown
from ..number_texts import TooLargeError, TooSmallError, read_float
from .files import naming, read_bytes

#: The size of the largest file that is read, in bytes.
_MAX_BYTES = 2**20
_HEADER = re.compile(r"\s*\[+\s*([^\]#]+?)\s*\]")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w\-]+(?:[ \t]*\.[ \t]*[\w\-]+)*)\s*=""")
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


class Table:
    """A table of a TOML file, or Python values in its place.

    Parameters
    ----------
    values : dict
    path : sequence of str
        The keys that lead to the table.
    lines : sequence of str
        The lines of the file, if the table is from a file.
    around : collection of str
        The keys of the enclosing tables, which belong before the header of this one.

    Examples
    --------
    >>> from treeplex.seqform.interchange.toml_table import Table
    >>> table = Table({"pot": 100}, lines=["pot = 100"])
    >>> table.check_keys(["pto"])
    Traceback (most recent call last):
    treeplex.seqform.errors.GameFileError: line 1: unknown key 'pot' (did you mean pto?); expected pto
    """

    def __init__(
        self, values: dict[str, Any], path: Sequence[str] = (), lines: Sequence[str] = (), around: Collection[str] = ()
    ) -> None:
        self.values = values
        self.path = tuple(path)
        self._lines = lines
        self._around = frozenset(around)

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def error(self, message: str, key: str | None = None) -> InvalidGameError:
        """Return an error about a key, or about the table, with its line; the message names the key or table."""
        if not self._lines:
            return InvalidGameError(message)
        return GameFileError(message, line=self.line_of(key))

    def line_of(self, key: str | None = None) -> int | None:
        """Return the line, counted from one, of a key or the table; if it is not found, of the enclosing table."""
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
            if (known + ".").startswith(wanted + "."):  # the key, or an entry in it
                return number
        around = [known for known in places if wanted.startswith(known + ".")]
        return places[max(around, key=len)] if around else None

    def name_of(self, key: str) -> str:
        """Return the full name of a key for messages, such as ``bets.river.bet``."""
        return ".".join((*self.path, key))

    @contextmanager
    def about(self, key: str) -> Iterator[None]:
        """Add the key and its line to errors that are raised in the block."""
        try:
            yield
        except InvalidGameError as error:
            text, name = str(error), self.name_of(key)
            raise self.error(text if text.startswith(name) else f"{name}: {text}", key) from None

    def check_keys(self, known: Sequence[str], advice: Mapping[str, str] | None = None) -> None:
        """Raise an error for unknown keys; for some of them, with advice instead of the known keys."""
        for key in self.values:
            if key not in known:
                where = f"{'.'.join(self.path)}: " if self.path else ""
                if advice and key.casefold() in advice:
                    raise self.error(f"{where}unknown key {shown(key, 60)}: {advice[key.casefold()]}", key)
                hint = nearest(key, known)
                if key in self._around:
                    hint = f", which belongs before the line [{self.path[0].partition('[')[0]}]"
                raise self.error(f"{where}unknown key {shown(key, 60)}{hint}; expected {one_of(known)}", key)
        self._around |= {*known}

    def needs(self, key: str, such_as: str) -> Any:
        """Return the value of a required key."""
        if key not in self.values:
            # The error is about the table that lacks the key; the file as a whole has no line.
            raise self.error(f"{self.name_of(key)} is missing, expected {such_as}")
        return self.values[key]

    def table(self, key: str, such_as: str) -> "Table":
        """Return the table of a key; empty if there is none."""
        value = self.values.get(key, {})
        if not isinstance(value, dict):
            raise self.error(f"{self.name_of(key)} is {shown(value, 60)}, expected a table, such as {such_as}", key)
        return Table(value, (*self.path, key), self._lines, self._around)

    def tables(self, key: str, such_as: str) -> "list[Table]":
        """Return the tables of an array of tables such as ``[[locks]]``."""
        value = self.values.get(key, [])
        if not (isinstance(value, list) and all(isinstance(one, dict) for one in value)):
            raise self.error(f"{self.name_of(key)} is {shown(value, 60)}, expected tables, such as {such_as}", key)
        path = self.path
        return [Table(one, (*path, f"{key}[{place}]"), self._lines, self._around) for place, one in enumerate(value, 1)]


class Declared:
    """A class whose instances are declared in TOML files."""

    @classmethod
    def from_file(cls, path: str | PathLike[str]) -> Self:
        """Read an instance from a TOML file.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the file, the line and the key.
        """
        with naming(path):
            return cls.from_table(read_toml(path), fspath(path))

    @classmethod
    def from_table(cls, top: Table, spec: str = "") -> Self:
        """Read an instance from the table of a file; `spec` is the file's name.

        Raises
        ------
        GameFileError, InvalidGameError
            The message names the line and the key.
        """
        raise NotImplementedError


def read_toml(path: str | PathLike[str]) -> Table:
    """Return the content of a TOML file.

    Raises
    ------
    GameFileError
        If it cannot be read, or is not TOML; the error names the line.
    """
    return parse_toml(read_bytes(path, limit=_MAX_BYTES))


def parse_toml(content: bytes) -> Table:
    """Return the table in the text of a TOML file.

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
        raise GameFileError("not UTF-8 text", line=line) from None
    except (ValueError, RecursionError) as error:
        if isinstance(error, TreeplexError):
            raise
        message = one_line(str(error))
        found = _PLACE.search(message)
        said = message[: found.start()] if found else message
        end = " at its end" if found and found[1] is None else ""
        hint = "; put text in quotes" if said == "Invalid value" and not end else ""
        place = [int(one) for one in found.groups() if one] if found else []
        raise GameFileError(f"not valid TOML: {said}{end}{hint}", *place) from None


def _float(text: str, lines: Sequence[str]) -> float:
    """Return a TOML number as a float; raise an error if it is out of range and would become 0 or infinity."""
    try:
        return read_float(text)
    except (TooSmallError, TooLargeError) as error:
        line = next((number for number, line in enumerate(lines, 1) if text in line), None)
        raise GameFileError(f"{one_line(text, 40)} is {error}", line=line) from None


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
