"""The grid of the transit game: cells, compass directions, and which cell a step leads to."""

import re
from dataclasses import dataclass

from ...seqform.errors import InvalidGameError, shown

#: Steps by compass direction, as changes of row and column; row 0 is the northernmost.
DIRECTIONS = {
    "stay": (0, 0),
    "N": (-1, 0),
    "NE": (-1, 1),
    "E": (0, 1),
    "SE": (1, 1),
    "S": (1, 0),
    "SW": (1, -1),
    "W": (0, -1),
    "NW": (-1, -1),
}
#: What follows a direction, in the label of a history, where the move failed.
FAILED = "!"
_CELL = re.compile(r"r(\d{1,4})c(\d{1,4})")


@dataclass(frozen=True)
class Grid:
    """A grid of `width` rows and twice as many columns; cells are numbered row by row.

    Parameters
    ----------
    width : int
        Number of rows.

    Examples
    --------
    >>> grid = Grid(2)
    >>> grid.cell("r1c3"), grid.label(7)
    (7, 'r1c3')
    >>> grid.steps(0)  # from the north-western corner
    {'stay': 0, 'E': 1, 'SE': 5, 'S': 4}
    """

    width: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.width

    @property
    def columns(self) -> int:
        """Number of columns."""
        return 2 * self.width

    @property
    def num_cells(self) -> int:
        """Number of cells."""
        return self.rows * self.columns

    def in_east(self, cell: int) -> bool:
        """Return whether a cell lies in the easternmost column."""
        return cell % self.columns == self.columns - 1

    def steps(self, cell: int) -> dict[str, int]:
        """Return the directions that do not lead off the grid, each with the cell that it leads to."""
        row, column = divmod(cell, self.columns)
        return {
            name: cell + down * self.columns + right
            for name, (down, right) in DIRECTIONS.items()
            if 0 <= row + down < self.rows and 0 <= column + right < self.columns
        }

    def label(self, cell: int) -> str:
        """Return a cell's name: ``r``, its row, ``c``, its column."""
        return f"r{cell // self.columns}c{cell % self.columns}"

    def cell(self, name: str) -> int:
        """Return the cell with a name.

        Raises
        ------
        InvalidGameError
            If it is no name of a cell, or the cell lies off the grid.
        """
        match = _CELL.fullmatch(name)
        row, column = map(int, match.groups()) if match else (-1, -1)
        if not (0 <= row < self.rows and 0 <= column < self.columns):
            raise InvalidGameError(
                f"{shown(name)} is no cell of the grid; expected one from r0c0 to {self.label(self.num_cells - 1)}"
            )
        return row * self.columns + column
