"""The answer sheet: an answer as rows, and the format of numbers in each unit.

The code that computes an answer creates its rows once. The terminal, pages, notebooks and strings show them, and the
JSON of commands has their values under the same keys.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .number_texts import seconds_text

#: Formats a value as a string; ``str`` for words.
Unit = Callable[[Any], str]
#: Bounds are exact up to this share of a hundredth of a chip.
_ROUND_OFF = 1e-6
_MINUS = re.compile(r"(?<![\w-])-(?=\d)|(?<=\de)-(?=\d)")


# Formats of numbers by quantity


def decimals(number: float, digits: int) -> str:
    """Format a number with a given number of decimals; zero has no minus sign.

    Examples
    --------
    >>> from treeplex.seqform.sheet import decimals
    >>> decimals(-1e-12, 3), decimals(-1 / 18, 3)
    ('0.000', '-0.056')
    """
    text = f"{number:.{digits}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def payoff(number: float | Fraction) -> str:
    """Format a payoff with ten decimals, after its fraction if it is one.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.sheet import payoff
    >>> payoff(-1e-17), payoff(-1 / 18), payoff(Fraction(-1, 18))
    ('0.0000000000', '-0.0555555556', '-1/18 = -0.0555555556')
    """
    shown = decimals(float(number), 10)
    if not isinstance(number, Fraction):
        return shown
    from .rationals import SHOWN_DIGITS, fraction_text

    return f"{fraction_text(number, SHOWN_DIGITS)} = {shown}"


def price(number: float) -> str:
    """Format a price with ten decimals, or fewer for large prices, which are not accurate beyond twelve digits.

    Examples
    --------
    >>> from treeplex.seqform.sheet import price
    >>> price(1 / 3), price(4400.726016227312), price(-10101010.101001486)
    ('0.3333333333', '4400.72601623', '-10101010.1010')
    """
    return decimals(float(number), min(10, max(0, 12 - len(str(int(abs(number)))))))


def change(number: float) -> str:
    """Format the change of a payoff, with its sign."""
    return f"{'+' * (number >= 0.0)}{payoff(number)}"


def error(number: float) -> str:
    """Format a small number, such as an error or a tolerance, with three digits."""
    return f"{number + 0.0:.3g}"


def magnitude(number: float | None) -> str:
    """Format the order of magnitude of a number with two digits; ``None`` becomes an empty string."""
    if number is None:
        return ""
    return "0" if number == 0.0 else f"{number:.1e}"


def plain(number: float) -> str:
    """Format a number of unknown unit with six digits."""
    return f"{number + 0.0:.6g}"


def short(number: float, exact: Fraction | None = None) -> str:
    """Format a number with six digits, after its fraction if that is known; round-off becomes zero.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.sheet import short
    >>> short(-1 / 18), short(-1e-17), short(0.5, Fraction(1, 2))
    ('-0.0555556', '0', '1/2 = 0.5')
    """
    text = plain(0.0 if abs(float(number)) < 1e-12 else float(number))
    if exact is None or exact.denominator == 1:
        return text
    from .rationals import SHOWN_DIGITS, fraction_text

    return f"{fraction_text(exact, SHOWN_DIGITS)} = {text}"


def share(number: float) -> str:
    """Format a probability with four decimals."""
    return decimals(number, 4)


def chips(number: float) -> str:
    """Format an amount of chips with two decimals."""
    return decimals(number, 2)


def at_least(number: float) -> str:
    """Format an amount of chips that a bound guarantees, rounded down; round-off does not count.

    Examples
    --------
    >>> from treeplex.seqform.sheet import at_least, at_most
    >>> at_least(4.996), at_most(4.991), at_least(5 - 1e-12)
    ('4.99', '5.00', '5.00')
    """
    return chips(math.floor(100.0 * number + _ROUND_OFF) / 100.0)


def at_most(number: float) -> str:
    """Format an upper bound on an amount of chips, rounded up; round-off does not count."""
    return chips(math.ceil(100.0 * number - _ROUND_OFF) / 100.0)


def count(number: int) -> str:
    """Format a whole number with separators of thousands."""
    return f"{number:,}"


def counted(number: int, noun: str) -> str:
    """Format a count with its noun, which is plural unless the count is one.

    Examples
    --------
    >>> from treeplex.seqform.sheet import counted
    >>> counted(1, "row"), counted(2_000, "game")
    ('1 row', '2,000 games')
    """
    return f"{count(number)} {noun}{'s' * (number != 1)}"


def setting(number: float) -> str:
    """Format a number that the user chose, such as a tolerance or a confidence, with few digits."""
    return f"{number:g}"


def seconds(number: float) -> str:
    """Format seconds with three digits, without an exponent."""
    return seconds_text(number)


def estimate(found: Mapping[str, float]) -> str:
    """Format a mean with its interval, ``lower`` and ``upper``, with four digits."""
    mean, low, high = (f"{found[end]:.4g}" for end in ("mean", "lower", "upper"))
    return f"{mean} in [{low}, {high}]"


def between(unit: Unit) -> Unit:
    """Return the format of an interval's two ends."""
    return lambda ends: f"{unit(ends[0])} to {unit(ends[1])}"


def several(unit: Unit) -> Unit:
    """Return the format of several values."""
    return lambda values: ", ".join(map(unit, values))


def listed(values: Sequence[int]) -> str:
    """Format a list of whole numbers.

    Examples
    --------
    >>> from treeplex.seqform.sheet import listed
    >>> listed([1093, 1093])
    '1,093 and 1,093'
    """
    *first, last = map(count, values)
    return f"{', '.join(first)} and {last}" if first else last


def typeset(text: str, words: bool = False) -> str:
    """Return a formatted number as pages show it, with minus signs instead of hyphens; words stay unchanged.

    Examples
    --------
    >>> from treeplex.seqform.sheet import typeset
    >>> typeset("-0.5 to 2e-08, a first-rate number")
    '−0.5 to 2e−08, a first-rate number'
    """
    return text if words else _MINUS.sub("−", text)


# Rows and tables


@dataclass(frozen=True)
class Row:
    """A fact of an answer.

    Attributes
    ----------
    key : str
        The key in the JSON.
    value : object
        The value. The row is omitted if it is ``None`` or empty.
    unit : callable
        Formats the value.
    meaning : str
        Text after the value, such as `` to player 0``.
    label : str or None
        The name for readers; by default the key.
    """

    key: str
    value: Any
    unit: Unit = str
    meaning: str = ""
    label: str | None = None

    @property
    def name(self) -> str:
        """The name for readers."""
        return self.key.replace("_", " ") if self.label is None else self.label

    @property
    def text(self) -> str:
        """The formatted value with its meaning."""
        return f"{self.unit(self.value)}{self.meaning}"

    @property
    def on_page(self) -> str:
        """The formatted value as a page shows it."""
        return typeset(self.unit(self.value), self.unit is str) + typeset(self.meaning)


@dataclass(frozen=True)
class Column:
    """A column of a table: the key of its values, their heading, and their format.

    The string `missing` replaces a missing value.
    """

    key: str
    unit: Unit = str
    heading: str | None = None
    missing: str = ""

    @property
    def name(self) -> str:
        """The heading; by default the key."""
        return self.key.replace("_", " ") if self.heading is None else self.heading

    def text(self, value: Any) -> str:
        """Return the formatted content of a cell."""
        return self.missing if value is None else self.unit(value)


@dataclass(frozen=True)
class Table:
    """Rows of an answer that have the same columns, with values in the order of the columns.

    Examples
    --------
    >>> from treeplex.seqform.sheet import Column, Table, count, payoff
    >>> table = Table([Column("player", count), Column("paid", payoff)], [(0, 1 / 3), (1, -1 / 3)])
    >>> print(table)
    player           paid
         0   0.3333333333
         1  -0.3333333333
    >>> table.records[0]
    {'player': 0, 'paid': 0.3333333333333333}
    """

    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    title: str = ""

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]], columns: Sequence[Column], title: str = "") -> "Table":
        """Return a table of the records' values under the keys of the columns."""
        return cls(columns, [[record[column.key] for column in columns] for record in records], title)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The rows as they are in the JSON."""
        return [dict(zip((column.key for column in self.columns), row, strict=True)) for row in self.rows]

    @property
    def headings(self) -> list[str]:
        """The headings of its columns."""
        return [column.name for column in self.columns]

    @property
    def words(self) -> tuple[int, ...]:
        """The indices of the columns of words, which are left-aligned."""
        return tuple(place for place, column in enumerate(self.columns) if column.unit is str)

    def without(self, key: str) -> "Table":
        """Return the table without a column."""
        return Table.of(self.records, [column for column in self.columns if column.key != key], self.title)

    def cells(self) -> Iterator[list[str]]:
        """Yield the formatted cells of each row."""
        for row in self.rows:
            yield [column.text(value) for column, value in zip(self.columns, row, strict=True)]

    def __str__(self) -> str:
        return "\n".join(aligned([self.headings, *self.cells()], self.words))


@dataclass(frozen=True)
class Sheet:
    """An answer: its rows, except those without a value, and its tables, except those without rows."""

    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = ()

    def __init__(self, rows: Sequence[Row], tables: Sequence[Table] = ()) -> None:
        object.__setattr__(self, "rows", tuple(row for row in rows if row.value not in (None, "", [], ())))
        object.__setattr__(self, "tables", tuple(table for table in tables if table.rows))

    def only(self, *keys: str) -> "Sheet":
        """Return the rows with these keys."""
        return Sheet([row for row in self.rows if row.key in keys])

    def without(self, *keys: str) -> "Sheet":
        """Return the sheet without the rows with these keys."""
        return Sheet([row for row in self.rows if row.key not in keys], self.tables)

    def __str__(self) -> str:
        facts = "\n".join(aligned([(row.name, row.text) for row in self.rows], (0, 1)))
        return "\n\n".join(filter(None, [facts, *map(str, self.tables)]))


# Text in columns


def padded(cells: Sequence[str], widths: Sequence[int], words: Collection[int], gap: int = 2) -> str:
    """Return cells as a line of columns: words left-aligned, numbers right-aligned.

    A text that is too long extends into an empty cell after it.
    """
    line, end = "", 0
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        room = end + width - len(line)
        line += (cell.ljust(room) if place in words else cell.rjust(room)) + gap * " "
        end += width + gap
    return line[:-gap]


def aligned(rows: Sequence[Sequence[str]], words: Collection[int] = (0,)) -> list[str]:
    """Return rows as lines with aligned columns.

    Examples
    --------
    >>> from treeplex.seqform.sheet import aligned
    >>> aligned([["thing", "price"], ["bread", "2.50"], ["wine", "12.00"]])
    ['thing  price', 'bread   2.50', 'wine   12.00']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [padded(row, widths, words).rstrip() for row in rows]
