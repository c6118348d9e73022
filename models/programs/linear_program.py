"""Linear programs as data: what models write down and solvers, files and tests read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import SolverError

#: The formats of files by suffix.
SUFFIXES = (".mps", ".lp")
#: Blocks of columns whose coefficients are penalties and bounds, which may be as large as a user likes.
PRICED = frozenset({"excess", "prices"})
#: The largest coefficient of an objective: solvers take 1e20 for infinite.
FARTHEST = 1e19


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
        What each part of ``z`` and of the rows represents; the model that wrote the program documents its names.
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
    def objective_unit(self) -> float:
        """The largest coefficient of the objective, apart from those of columns in :data:`PRICED` if there are others.

        Solvers' tolerances are absolute, and a penalty of a million would hide payoffs of one. One that is more than
        :data:`FARTHEST` times as large hides them in any unit.
        """
        costs = np.abs(self.objective)
        kept = np.ones(len(costs), dtype=bool)
        for name in PRICED & self.columns.keys():
            kept[self.columns[name]] = False
        largest = float(costs.max(initial=0.0)) or 1.0
        return max(float(costs[kept].max(initial=0.0)) or largest, largest / FARTHEST)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        rows, columns = self.matrix.shape
        return int(rows), int(columns)

    def to_highs(self) -> Any:
        """Return the program as a ``highspy.HighsLp``: same rows, columns, objective and sense.

        Examples
        --------
        >>> from treeplex import Nash, load_game
        >>> model = Nash(load_game("kuhn")).linear_program().to_highs()
        >>> model.num_col_, model.num_row_
        (20, 20)
        """
        import highspy

        model = highspy.HighsLp()
        model.num_row_, model.num_col_ = self.shape
        model.sense_ = highspy.ObjSense.kMaximize if self.maximise else highspy.ObjSense.kMinimize
        model.col_cost_ = self.objective
        model.col_lower_, model.col_upper_ = self.column_lower, self.column_upper
        model.row_lower_, model.row_upper_ = self.row_lower, self.row_upper
        model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        model.a_matrix_.start_ = self.matrix.indptr
        model.a_matrix_.index_ = self.matrix.indices
        model.a_matrix_.value_ = self.matrix.data
        return model

    def write(self, path: str | Path) -> None:
        """Write the program to a file for other solvers, whole or not at all: free-format MPS, or CPLEX's LP format.

        Parameters
        ----------
        path : path-like
            Its suffix says the format: ``.mps`` or ``.lp``.

        Raises
        ------
        GameFileError
            If the suffix is another one, or the file cannot be written.

        Notes
        -----
        HiGHS writes the file, with 15 significant digits a number, and leaves out matrix entries below 1e-9. Rows and
        columns are named after their blocks: ``plan_3``, ``response_12``. In an LP file a row with two different bounds
        becomes two rows.

        Examples
        --------
        >>> from treeplex import Nash, load_game
        >>> Nash(load_game("kuhn")).linear_program().write("kuhn.mps")
        """
        from ...seqform.interchange.files import check_suffix, refusing_unwritable, writing_whole

        check_suffix(path, "a linear program in a file", SUFFIXES)
        import highspy

        model = self.to_highs()
        model.row_names_ = block_names(self.rows, self.shape[0], "row")
        model.col_names_ = block_names(self.columns, self.shape[1], "column")
        solver = highspy.Highs()
        solver.silent()
        if solver.passModel(model) == highspy.HighsStatus.kError:
            raise SolverError("HiGHS does not take the linear program")
        with refusing_unwritable(path), writing_whole(path) as passing:
            # The file is there by now: HiGHS crashes the interpreter where it cannot open one, and does not notice a
            # full disk.
            if solver.writeModel(str(passing)) == highspy.HighsStatus.kError or not _ends(passing):
                raise OSError("it was cut short; the disk may be full")


def _ends(path: Path) -> bool:
    """Return whether a file ends as MPS and LP files do."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 20))
        return file.read().split()[-1:] in ([b"ENDATA"], [b"end"])


def block_names(blocks: Mapping[str, slice], number: int, default: str) -> list[str]:
    """Return a name for every row or column: its block's and its number there.

    Parameters
    ----------
    blocks : mapping of str to slice
    number : int
        Number of rows or columns.
    default : str
        What those in no block are called.

    Examples
    --------
    >>> from treeplex.models.programs.linear_program import block_names
    >>> block_names({"plan": slice(0, 2)}, 3, "column")
    ['plan_0', 'plan_1', 'column_2']
    """
    names = [f"{default}_{index}" for index in range(number)]
    for block, part in blocks.items():
        # What both formats take: letters, digits and underscores, and no beginning that looks like a number.
        plain = re.sub(r"[^A-Za-z0-9_]", "_", block)
        plain = plain if re.match(r"(?![eE][0-9_]*$)[A-Za-z_]", plain) else f"_{plain}"
        for place, index in enumerate(range(*part.indices(number))):
            names[index] = f"{plain}_{place}"
    return names if len(set(names)) == len(names) else [f"{name}_{index}" for index, name in enumerate(names)]
