"""Linear programs as data: what models write down and solvers, files and tests read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import scipy.sparse as sp

from ...seqform.arrays import Floats


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """max or min {c · z : row_lower ≤ M z ≤ row_upper, column_lower ≤ z ≤ column_upper}.

    Attributes
    ----------
    objective : ndarray of float64, shape (columns,)
    matrix : csc_array of float64, shape (rows, columns)
        Duplicates summed, indices sorted.
    row_lower, row_upper : ndarray of float64, shape (rows,)
        Infinite where there is no bound.
    column_lower, column_upper : ndarray of float64, shape (columns,)
    maximise : bool
    columns, rows : mapping of str to slice
        Which part of ``z`` and of the rows stands for what; the model that wrote the program documents its names.
    """

    objective: Floats
    matrix: sp.csc_array
    row_lower: Floats
    row_upper: Floats
    column_lower: Floats
    column_upper: Floats
    maximise: bool = True
    columns: Mapping[str, slice] = field(default_factory=dict)
    rows: Mapping[str, slice] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    def write(self, path: str | Path) -> None:
        """Write the program to a file for other solvers: ``.mps`` or ``.lp``.

        Parameters
        ----------
        path : path-like

        Raises
        ------
        GameFileError
            If the suffix is another one, or the file cannot be written.

        Examples
        --------
        >>> from treeplex import Nash, load_game
        >>> Nash(load_game("kuhn")).linear_program().write("kuhn.mps")
        """
        from .linear_program_file import write_linear_program

        write_linear_program(self, path)
