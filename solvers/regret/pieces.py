"""A player's payoff in pieces of a few cells that the compiled loop handles at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .placement import Floats, Integers, begins_of, starts_of, unsigned


@dataclass(frozen=True, eq=False)
class Pieces:
    """A player's payoff in pieces of up to ``width`` cells, column by column of the opponent.

    Attributes
    ----------
    columns : ndarray of int64, shape (num_keys, num_columns)
        What identifies a column, for instance its position.
    counts : ndarray of int64, shape (num_columns,)
        Number of pieces of each column.
    rows : ndarray of int64, shape (num_pieces,)
    values : ndarray of float64, shape (num_pieces, width)
    """

    columns: Integers
    counts: Integers
    rows: Integers
    values: Floats


class Runs(NamedTuple):
    """Two matrices, one a player, in diagonal runs as the compiled loop takes them.

    Attributes
    ----------
    columns : ndarray of uint32
        Column ``c`` stands for the columns ``columns[c] + j`` of the matrix, j from 0 to what a register holds less 1.
    ranges : ndarray of uint32, shape (3,)
        Player ``i`` has the columns ``ranges[i]:ranges[i + 1]``.
    starts : ndarray of uint32
        Column ``c`` has the cells ``starts[c]:starts[c + 1]``.
    cells : ndarray of uint32
        Two numbers a run, row ``r`` and place ``p``: ``patterns[p + j]`` stands in row ``r + j`` and column ``c + j``.
    patterns : ndarray of float
        The distinct values of runs: a game has few, and they stay in the first-level cache.
    """

    columns: Any
    ranges: Any
    starts: Any
    cells: Any
    patterns: Any

    @classmethod
    def of(cls, players: Sequence[Pieces], number: Any) -> "Runs":
        """Return the runs of both players, each piece being one, with values of a type."""
        columns, ranges, starts, rows = joined(players)
        patterns, pattern = distinct(np.concatenate([pieces.values for pieces in players]))
        cells = np.stack([rows, patterns.shape[1] * pattern], axis=1).ravel()
        first, where, begin, each = map(unsigned, (columns[0], ranges, 2 * starts, cells))
        return cls(first, where, begin, each, patterns.ravel().astype(number))

    @classmethod
    def none(cls, number: Any) -> "Runs":
        """Return no runs."""
        nothing = unsigned(np.zeros(0))
        return cls(nothing, unsigned(np.zeros(3)), unsigned(np.zeros(1)), nothing, np.zeros(0, dtype=number))


class Cells(NamedTuple):
    """Two matrices, one a player, cell by cell: what falls into no runs.

    Attributes
    ----------
    columns : ndarray of uint32
    ranges : ndarray of uint32, shape (3,)
        Player ``i`` has the columns ``ranges[i]:ranges[i + 1]``.
    starts : ndarray of uint32
        Column ``c`` has the cells ``starts[c]:starts[c + 1]``.
    rows : ndarray of uint32
    values : ndarray of float
    """

    columns: Any
    ranges: Any
    starts: Any
    rows: Any
    values: Any

    @classmethod
    def of(cls, players: Sequence[Pieces], number: Any) -> "Cells":
        """Return the cells of both players, each the first of a piece, with values of a type."""
        columns, ranges, starts, rows = joined(players)
        first, where, begin, each = map(unsigned, (columns[0], ranges, starts, rows))
        values = np.concatenate([pieces.values[:, 0] for pieces in players])
        return cls(first, where, begin, each, np.ascontiguousarray(values, dtype=number))

    @classmethod
    def none(cls, number: Any) -> "Cells":
        """Return no cells."""
        nothing = unsigned(np.zeros(0))
        return cls(nothing, unsigned(np.zeros(3)), unsigned(np.zeros(1)), nothing, np.zeros(0, dtype=number))


def pieces_of(columns: Sequence[Integers], rows: Integers, within: Integers, values: Floats, width: int) -> Pieces:
    """Collect cells with equal columns and rows into pieces, each cell at its place ``within``."""
    keys = np.stack([*columns, rows])
    order = np.lexsort(keys[::-1])
    keys = keys[:, order]
    begins = begins_of(*keys)
    table = np.zeros((int(begins.sum()), width))
    table[np.cumsum(begins) - 1, within[order]] = values[order]
    keys = keys[:, begins]
    column_begins = begins_of(*keys[:-1])
    counts = np.diff(np.append(np.flatnonzero(column_begins), keys.shape[1]))
    return Pieces(keys[:-1, column_begins], counts, keys[-1], table)


def joined(players: Sequence[Pieces]) -> tuple[Integers, Integers, Integers, Integers]:
    """Return columns, each player's range of them, where each column's pieces start, and the pieces' rows."""
    return (
        np.concatenate([pieces.columns for pieces in players], axis=1),
        starts_of(np.array([pieces.columns.shape[1] for pieces in players])),
        starts_of(np.concatenate([pieces.counts for pieces in players])),
        np.concatenate([pieces.rows for pieces in players]),
    )


def distinct(values: Floats) -> tuple[Floats, Integers]:
    """Return the distinct rows of a matrix, and for each row which it is."""
    rows = np.ascontiguousarray(values).view(f"V{8 * values.shape[1]}").ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return values[first], inverse.ravel()
