"""Linear programs in exact fractions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ...seqform.rationals import Fractions, to_fractions
from .linear_program import LinearProgram, ProgramBlocks
from .triplets import Triplets


@dataclass(frozen=True, eq=False)
class RationalProgram:
    """A linear program in fractions: max or min {c · z : row_lower ≤ M z ≤ row_upper, column_lower ≤ z ≤ column_upper}.

    Attributes
    ----------
    objective : ndarray of Fraction, shape (columns,)
    matrix : Triplets, shape (rows, columns)
        One entry per position, sorted by columns.
    row_lower, row_upper : ndarray of Fraction, shape (rows,)
        The floats ``inf`` and ``-inf`` if there is no bound.
    column_lower, column_upper : ndarray of Fraction, shape (columns,)
    maximise : bool
    columns, rows : mapping of str to slice
        The blocks of ``z`` and of the rows, as in the :class:`~treeplex.models.programs.linear_program.LinearProgram`
        of the same problem.

    Examples
    --------
    >>> from treeplex import Nash, load_game
    >>> program = Nash(load_game("kuhn")).rational_program()
    >>> program.shape, program.matrix.values.min()
    ((20, 20), Fraction(-1, 1))
    """

    objective: Fractions
    matrix: Triplets
    row_lower: Fractions
    row_upper: Fractions
    column_lower: Fractions
    column_upper: Fractions
    maximise: bool = True
    columns: Mapping[str, slice] = field(default_factory=dict)
    rows: Mapping[str, slice] = field(default_factory=dict)

    @classmethod
    def of(cls, program: LinearProgram) -> "RationalProgram":
        """Return a program in floats with the intended fractions of its numbers."""
        return cls(
            objective=to_fractions(program.objective),
            matrix=Triplets.of(program.matrix).compressed(),
            row_lower=to_fractions(program.row_lower),
            row_upper=to_fractions(program.row_upper),
            column_lower=to_fractions(program.column_lower),
            column_upper=to_fractions(program.column_upper),
            maximise=program.maximise,
            columns=program.columns,
            rows=program.rows,
        )

    @classmethod
    def of_blocks(cls, blocks: ProgramBlocks, maximise: bool) -> "RationalProgram":
        """Return the program of blocks in fractions, in the order in which they were added."""
        assert blocks.exact
        return cls(
            matrix=Triplets(blocks.shape, *blocks.entries()).compressed(), maximise=maximise, **blocks.but_matrix()
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.matrix.shape

    def to_floats(self) -> LinearProgram:
        """Return the program rounded to floats."""
        return LinearProgram(
            objective=self.objective.astype(np.float64),
            matrix=self.matrix.to_sparse(),
            row_lower=self.row_lower.astype(np.float64),
            row_upper=self.row_upper.astype(np.float64),
            column_lower=self.column_lower.astype(np.float64),
            column_upper=self.column_upper.astype(np.float64),
            maximise=self.maximise,
            columns=self.columns,
            rows=self.rows,
        )
