"""Sparse matrices of exact fractions: entries by row and column."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.game import Game
from ...seqform.rationals import Fractions, to_fractions
from ...seqform.rules import Number
from ...seqform.sequence_form import SequenceForm


@dataclass(frozen=True, eq=False)
class Triplets:
    """A sparse matrix whose entries are fractions; entries at the same position add up.

    Attributes
    ----------
    shape : tuple of int
    rows, columns : ndarray of int64, shape (n,)
    values : ndarray of Fraction, shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.models.programs.triplets import Triplets
    >>> half = Triplets.of(np.array([[0.0, 0.1], [2.0, 0.0]])) * 0.5
    >>> half.values
    array([Fraction(1, 20), Fraction(1, 1)], dtype=object)
    >>> half.T @ np.array([1.0, 1.0])
    array([Fraction(1, 1), Fraction(1, 20)], dtype=object)
    """

    shape: tuple[int, int]
    rows: npt.NDArray[np.int64]
    columns: npt.NDArray[np.int64]
    values: Fractions

    @classmethod
    def of(cls, matrix: "Triplets | Any") -> "Triplets":
        """Return a matrix, array or sparse, in fractions; floats are converted by ``intended_fraction``."""
        if isinstance(matrix, Triplets):
            return matrix
        entries = sp.coo_array(matrix)
        rows, columns = (coordinates.astype(np.int64) for coordinates in entries.coords)
        return cls((int(entries.shape[0]), int(entries.shape[1])), rows, columns, to_fractions(entries.data))

    @classmethod
    def from_entries(
        cls, shape: tuple[int, int], keys: Sequence[tuple[int, ...]], values: Sequence[Fraction]
    ) -> "Triplets":
        """Return the matrix with the given values at the given positions (row, column)."""
        places = np.array(keys, dtype=np.int64).reshape(len(keys), 2)
        return cls(shape, places[:, 0], places[:, 1], to_fractions(values))

    @property
    def T(self) -> "Triplets":
        """The transpose."""
        return Triplets((self.shape[1], self.shape[0]), self.columns, self.rows, self.values)

    def __mul__(self, factor: Number) -> "Triplets":
        (exact,) = to_fractions([factor])
        return Triplets(self.shape, self.rows, self.columns, self.values * exact)

    __rmul__ = __mul__

    def __neg__(self) -> "Triplets":
        return self * -1

    @overload
    def __matmul__(self, other: "Triplets") -> "Triplets": ...

    @overload
    def __matmul__(self, other: npt.ArrayLike) -> Fractions: ...

    def __matmul__(self, other: "Triplets | npt.ArrayLike") -> "Triplets | Fractions":
        if isinstance(other, Triplets):
            return self._times(other)
        given = to_fractions(other)
        product = [Fraction(0)] * self.shape[0]
        for row, column, value in zip(self.rows.tolist(), self.columns.tolist(), self.values, strict=True):
            if given[column]:
                product[row] += value * given[column]
        return to_fractions(product)

    def _times(self, other: "Triplets") -> "Triplets":
        """Return the product of two matrices."""
        by_row: dict[int, list[tuple[int, Fraction]]] = {}
        for row, column, value in zip(other.rows.tolist(), other.columns.tolist(), other.values, strict=True):
            by_row.setdefault(row, []).append((column, value))
        found: dict[tuple[int, int], Fraction] = {}
        for row, middle, value in zip(self.rows.tolist(), self.columns.tolist(), self.values, strict=True):
            for column, factor in by_row.get(middle, ()):
                found[row, column] = found.get((row, column), Fraction(0)) + value * factor
        return Triplets.from_entries((self.shape[0], other.shape[1]), list(found), list(found.values()))

    def to_sparse(self) -> sp.csc_array:
        """Return the matrix in floats, with duplicates summed exactly first, no stored zeros, and sorted indices."""
        entries = self.compressed()
        data = entries.values.astype(np.float64)
        matrix = sp.csc_array((data, (entries.rows, entries.columns)), shape=self.shape, dtype=np.float64)
        matrix.sort_indices()
        return matrix

    def compressed(self) -> "Triplets":
        """Return the same matrix with one non-zero entry per position, sorted by columns, then rows."""
        order = np.lexsort((self.rows, self.columns))
        rows, columns, values = self.rows[order], self.columns[order], self.values[order]
        if len(values):
            first = np.append(True, (np.diff(rows) != 0) | (np.diff(columns) != 0))
            places = np.flatnonzero(first)
            rows, columns, values = rows[places], columns[places], np.add.reduceat(values, places)
        kept = values != 0
        return Triplets(self.shape, rows[kept], columns[kept], values[kept])


def exact_payoffs(game: Game, player: int = 0) -> Triplets:
    """Return the payoff matrix of one of two players in fractions."""
    form = game.sequence_form
    if game.rules is None or not _alike(game.exact_sequence_form, form):
        return Triplets.of(form.payoff_matrix(player))
    entries = game.exact_sequence_form.exact_payoffs(player)
    shape = (form.treeplexes[0].num_sequences, form.treeplexes[1].num_sequences)
    return Triplets.from_entries(shape, list(entries), list(entries.values()))


def _alike(one: SequenceForm, other: SequenceForm) -> bool:
    """Return whether the sequences of two forms of a game correspond; a game may have a form besides its rules."""
    return all(
        first.single_parent
        and second.single_parent
        and np.array_equal(first.parents, second.parents)
        and np.array_equal(first.num_actions, second.num_actions)
        and first.infoset_labels == second.infoset_labels
        and first.action_labels == second.action_labels
        for first, second in zip(one.treeplexes, other.treeplexes, strict=True)
    )
