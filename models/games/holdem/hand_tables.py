"""Tables of the strategies and earnings of hands at a node, with averages."""

import json
from collections.abc import Iterator, Sequence
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
from ....seqform.sheet import Column, Sheet, Table, chips

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
        All with the same keys; undefined entries are ``None``.
    """

    title: str
    rows: tuple[dict[str, Any], ...]

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
        columns = [Column(name, str if name in words else chips, name, NOT_DEFINED) for name in self.headings]
        return Table.of(self.rows, columns, self.title)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain data, for JSON."""
        plain: dict[str, Any] = json_ready({"title": self.title, "rows": list(self.rows)})
        return plain

    def to_csv(self) -> str:
        """Return the rows as comma-separated text in full precision."""
        return csv_text(self.headings, self.rows)

    def to_frame(self) -> "pd.DataFrame":
        """Return the rows as a DataFrame.

        Raises
        ------
        MissingExtraError
            If pandas is not installed.
        """
        with needing("a DataFrame needs pandas", "frames"):
            import pandas as pd
        return pd.DataFrame(list(self.rows), columns=list(self.headings))

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


def told(number: float | None) -> str:
    """Format chips or a share of the pot as a string."""
    return NOT_DEFINED if number is None else chips(number)
