"""The basis at which HiGHS's simplex method ends, from which another solve can begin."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import highspy


@dataclass(frozen=True, eq=False)
class Basis:
    """Where the simplex method ended: which columns and rows of a linear program are basic or at which bound.

    Attributes
    ----------
    shape : tuple of int
        Of the program: its rows and columns.
    columns, rows : tuple
        HiGHS's status of each.
    """

    shape: tuple[int, int]
    columns: tuple[Any, ...]
    rows: tuple[Any, ...]

    @classmethod
    def of(cls, solver: Any, shape: tuple[int, int]) -> "Basis | None":
        """Return the basis of a solver that has finished; ``None`` if it has none."""
        basis = solver.getBasis()
        return cls(shape, tuple(basis.col_status), tuple(basis.row_status)) if basis.valid else None

    @classmethod
    def from_codes(cls, shape: Sequence[int], codes: Sequence[int]) -> "Basis":
        """Return the basis of which :attr:`codes` was kept."""
        rows, columns = shape
        found = tuple(map(highspy.HighsBasisStatus, codes))
        return cls((rows, columns), found[:columns], found[columns:])

    @property
    def codes(self) -> list[int]:
        """HiGHS's numbers for the status of each column, then of each row."""
        return [int(one) for one in (*self.columns, *self.rows)]

    def give(self, solver: Any) -> None:
        """Let a solver start from the basis."""
        basis = highspy.HighsBasis()
        basis.col_status, basis.row_status = list(self.columns), list(self.rows)
        basis.valid = True
        solver.setBasis(basis)
