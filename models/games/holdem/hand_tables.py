"""Tables of the strategies and earnings of hands at a node, with averages."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from ....seqform.arrays import Floats
from ....seqform.display import Displayed
from ....seqform.errors import needing
from ....seqform.interchange.encoding import json_ready
from ....seqform.interchange.files import check_suffix, csv_text, write_bytes
from ....seqform.interchange.page import Content, sheet_blocks
from ....seqform.sheet import Column, Sheet, Table, share
from .units import CHIPS, Unit

if TYPE_CHECKING:
    import pandas as pd

#: Shown instead of an undefined number.
NOT_DEFINED = "–"


@dataclass(frozen=True)
class SpotTable(Displayed):
    """Rows of a solved spot that can be exported as text, a file or a data frame.

    Attributes
    ----------
    title : str
    rows : tuple of dict
        All with the same keys; undefined entries are ``None``. EVs are in the payoffs of the game.
    unit : Unit
        The unit in which EVs are shown and exported.
    pot : float
        The pot of the rows, for EVs in per cent of it.
    """

    title: str
    rows: tuple[dict[str, Any], ...]
    unit: Unit = CHIPS
    pot: float = 1.0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, place: int) -> dict[str, Any]:
        return self.rows[place]

    @property
    def headings(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.rows[0]) if self.rows else ()

    def __str__(self) -> str:
        return f"{self.title}\n{self.table}"

    @property
    def table(self) -> Table:
        """The rows as shown on the terminal, in pages and in notebooks."""
        words = [name for name in self.headings if any(isinstance(row[name], str) for row in self.rows)]
        columns = [
            Column(name, str if name in words else self._format(name), name, NOT_DEFINED) for name in self.headings
        ]
        return Table.of(self.rows, columns, self.title)

    def _format(self, name: str) -> Callable[[float], str]:
        if _is_worth(name):
            return lambda number: self.unit.text(number, self.pot)
        return "{:.2f}".format if name == "combinations" else share

    @property
    def exported(self) -> tuple[dict[str, Any], ...]:
        """The rows with EVs in the table's unit; the names of their columns state a unit other than the game's own."""
        unit = self.unit
        if unit.worth == 1.0 and unit.name != "pot":
            return self.rows
        return tuple(
            {
                (f"{name} ({unit.label})" if _is_worth(name) else name): unit.of(value, self.pot)
                if _is_worth(name) and value is not None
                else value
                for name, value in row.items()
            }
            for row in self.rows
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data, for JSON."""
        plain: dict[str, Any] = json_ready({"title": self.title, "rows": list(self.rows)})
        return plain

    def to_csv(self) -> str:
        """Return the rows as comma-separated text in full precision."""
        rows = self.exported
        return csv_text(tuple(rows[0]) if rows else (), rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        with needing("a DataFrame needs pandas", "frames"):
            import pandas as pd
        rows = self.exported
        return pd.DataFrame(list(rows), columns=list(rows[0]) if rows else [])

    def save(self, path: str | PathLike[str]) -> None:
        """Write the rows to a file, ``.csv`` or ``.json`` by its suffix.

        Raises
        ------
        GameFileError
            If the file has another suffix or cannot be written.
        """
        suffix = check_suffix(path, "a table", (".csv", ".json"))
        text = self.to_csv() if suffix == ".csv" else json.dumps(self.to_dict(), indent=1) + "\n"
        write_bytes(path, text.encode())

    def _html_blocks(self) -> Iterator[Content]:
        yield from sheet_blocks(Sheet([], [self.table]), "to_frame() returns them")


def weighted_mean(numbers: Sequence[float | None] | Floats, weights: Floats) -> float | None:
    """Return a weighted average over defined entries; ``None`` if there are none."""
    mean = float(weighted_means(np.array(numbers, dtype=np.float64), weights))
    return None if np.isnan(mean) else mean


def weighted_means(numbers: Floats, weights: Floats) -> Floats:
    """Return weighted averages over the last axis; entries that are NaN do not count, and averages of none are NaN."""
    counted = np.where((weights > 0.0) & ~np.isnan(numbers), weights, 0.0)
    totals, sums = counted.sum(axis=-1), (np.nan_to_num(numbers) * counted).sum(axis=-1)
    means: Floats = np.divide(sums, totals, out=np.full(totals.shape, np.nan), where=totals > 0.0)
    return means


def _is_worth(name: str) -> bool:
    """Whether a column contains EVs."""
    return name == "ev" or name.startswith("ev ") or name.endswith(" ev")


def told(number: float | None, form: Callable[[float], str] = share) -> str:
    """Format a share, or another number that may be undefined."""
    return NOT_DEFINED if number is None else form(number)
