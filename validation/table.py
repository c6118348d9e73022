"""Tables of plain numbers as text and JSON; each field of a row defines its display."""

import dataclasses
import typing
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

from ..seqform.sheet import counted, padded

#: The smallest width of a table's column, in characters.
_NARROWEST = 7


@dataclass(frozen=True)
class Column:
    """The display of a row's field: ``gain: Annotated[float, Column("gain", ".4f")]``.

    Parameters
    ----------
    heading : str
    form : str or callable
        A format such as ``.4f``; a template with braces such as ``{low:.3f} to {high:.3f}`` of the row's fields; or a
        function that returns the row's text.
    missing : str
        Shown instead of ``None`` and of an empty string.
    width : int or callable
        The smallest width in characters, or a function of the first row that returns it.
    short : str
        The heading on a narrow terminal, if different.
    """

    heading: str
    form: "str | Callable[[Any], str]" = ""
    missing: str = ""
    width: "int | Callable[[Any], int]" = _NARROWEST
    short: str = ""

    def text(self, row: "Row", value: object) -> str:
        """Return the displayed text of a row's value."""
        if value is None or value == "":
            return self.missing
        if callable(self.form):
            return self.form(row)
        return self.form.format(**vars(row)) if "{" in self.form else format(value, self.form)

    def width_of(self, first: "Row") -> int:
        """Return the smallest width in characters, based on the first row."""
        return self.width(first) if callable(self.width) else self.width


def verdict(*checks: tuple[bool, str]) -> str:
    """Join the failures among a row's checks into one string."""
    return "; ".join(words for wrong, words in checks if wrong)


def fields(rows: Iterable["Row"], *names: str) -> list[list[Any]]:
    """Return fields of rows, one list per field."""
    rows = list(rows)
    return [[getattr(row, name) for row in rows] for name in names]


@dataclass(frozen=True)
class Row:
    """A row of a table: a frozen dataclass of plain numbers and strings, displayed by its fields' :class:`Column`.

    Attributes
    ----------
    failure : str
        A description of the failure; empty if the row meets its criterion.
    """

    failure: str = dataclasses.field(default="", kw_only=True)

    @property
    def passed(self) -> bool:
        """Whether the row meets its own criterion."""
        return not self.failure

    def failing(self, *words: str) -> Self:
        """Return the row with a further failure; an empty string adds nothing."""
        return dataclasses.replace(self, failure="; ".join(filter(None, (self.failure, *words))))

    def to_dict(self) -> dict[str, Any]:
        """Return the row as plain numbers and strings, with curves last; NaN and infinity become ``None``."""
        from ..seqform.interchange.encoding import (
            json_ready,  # slow to import: the command line's help formats numbers without it
        )

        flat: dict[str, Any] = {}
        for name, value in vars(self).items():
            flat |= value.parts(name) if isinstance(value, Curve) else {name: value}
        del flat["failure"]
        ordered = {name: flat[name] for name in sorted(flat, key=lambda name: name.endswith("_curve"))}

        return json_ready(ordered | {"passed": self.passed, "failure": self.failure})  # type: ignore[no-any-return]

    def cells(self) -> dict[str, str]:
        """Return the displayed strings of the row, by heading."""
        return {column.heading: column.text(self, getattr(self, name)) for name, column, _ in columns_of(type(self))}


class Findings:
    """The results of a check, row by row.

    Attributes
    ----------
    rows : tuple of Row
    seconds : float
        The time from start to end, including compilation and building.
    interrupted : bool
        Whether the check was stopped before all rows were computed.
    scope : str
        The scope of the rows, as words after their number in the summary.
    """

    rows: tuple[Row, ...]
    seconds: float
    interrupted: bool
    scope = ""

    @property
    def passed(self) -> bool:
        """Whether there are rows, no row is missing and every row passed."""
        return bool(self.rows) and not self.interrupted and not self.failed_rows

    @property
    def failed_rows(self) -> tuple[Row, ...]:
        """The rows that did not pass."""
        return tuple(row for row in self.rows if not row.passed)

    @property
    def summary(self) -> str:
        """A one-line outcome."""
        if not self.rows:
            return "interrupted before the first row" if self.interrupted else "nothing was checked"
        failed = f"{len(self.failed_rows)} failed" if self.failed_rows else "all passed"
        ended = "interrupted after" if self.interrupted else "in"
        return f"{counted(len(self.rows), 'row')}{self.scope}: {failed}, {ended} {self.seconds:.1f} s"

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the results as plain numbers and strings, ready for JSON."""


class Curve:
    """A field that is a curve or a band of curves: several entries of a row's dictionary."""

    def parts(self, name: str) -> Mapping[str, Any]:
        """Return the dictionary entries of a field with this name; entries that end with ``_curve`` are tuples."""
        raise NotImplementedError


def columns_of(kind: type[Row]) -> list[tuple[str, Column, bool]]:
    """Return the displayed fields of a type of rows: name, column, and whether they are text."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return [
        (name, column, hint.__origin__ is str)
        for name, hint in hints.items()
        for column in getattr(hint, "__metadata__", ())
    ]


class TableLines:
    """Lays out rows in lines as they arrive, with text left-aligned and numbers right-aligned.

    Parameters
    ----------
    first : Row
        Determines the widths: columns fit the headings and this row, with one extra character for text.
    narrow : bool
        Whether to use short headings.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> from treeplex.validation.table import Column, Row, TableLines
    >>> @dataclass(frozen=True)
    ... class Price(Row):
    ...     of: Annotated[str, Column("thing")]
    ...     price: Annotated[float, Column("price", ".2f")]
    >>> lines = TableLines(Price("bread", 2.5))
    >>> lines.headings, lines.line(Price("wine", 12.0))
    ('thing     price', 'wine      12.00')
    """

    def __init__(self, first: Row, *, narrow: bool = False) -> None:
        columns, shown = columns_of(type(first)), first.cells()
        headings = [(narrow and column.short) or column.heading for _, column, _ in columns]
        self._words = tuple(place for place, (_, _, text) in enumerate(columns) if text)
        self._widths = [
            max(len(heading), len(shown[column.heading]) + text, column.width_of(first))
            for heading, (_, column, text) in zip(headings, columns, strict=True)
        ]
        self.headings = self._joined(headings)

    def line(self, row: Row) -> str:
        """Return the line of a row; text that is too long extends into an empty cell after it."""
        return self._joined(list(row.cells().values()))

    def _joined(self, texts: list[str]) -> str:
        return padded(texts, self._widths, self._words, gap=1)
