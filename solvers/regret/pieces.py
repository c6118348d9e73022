"""Matrices over sequences in pieces of a few cells that the compiled loop handles at once.

In a flow much of what an infoset leads to does not depend on the action (a move that fails leaves one where one was),
and what two players meet in is often how much of each arrives somewhere. Both are told by the *reach* of an infoset,
how much of the plan leads to it. The compiled loop therefore keeps that as one more number beside each infoset's
sequences, and matrices are written with it where that takes fewer numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from ..records import record
from .placement import Floats, Integers, Places, Treeplexes, begins_of, starts_of, unsigned


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

    def by_share(self, num_shares: int) -> list[Pieces]:
        """Return the pieces of each share of the rows, where what identifies a column begins with that."""
        ends = np.searchsorted(self.columns[0], np.arange(num_shares + 1))
        pieces = starts_of(self.counts)[ends]
        return [
            Pieces(self.columns[1:, first:last], self.counts[first:last], self.rows[begin:end], self.values[begin:end])
            for first, last, begin, end in zip(ends[:-1], ends[1:], pieces[:-1], pieces[1:], strict=True)
        ]


@record
class Runs(NamedTuple):
    """Two matrices, one a player, in runs as the compiled loop takes them, share after share of their rows.

    A run is as many cells as a register holds, on a diagonal; or a *tile*, a square of that many rows and columns.

    Attributes
    ----------
    columns : ndarray of uint32
        Column ``c`` stands for the columns ``columns[c] + j`` of the matrix, j from 0 to what a register holds less 1.
    ranges : ndarray of uint32, shape (2 * num_shares + 1,)
        Share ``k`` has the columns ``ranges[k]:ranges[k + 1]``.
    starts : ndarray of uint32
        Column ``c`` has the cells ``starts[c]:starts[c + 1]``.
    cells : ndarray of uint32
        Two numbers a run, row ``r`` and place ``p``: ``patterns[p + j]`` stands in row ``r + j`` and column ``c + j``;
        in a tile ``patterns[p + width * j + i]`` stands in row ``r + i`` and column ``c + j``.
    patterns : ndarray of float
        The distinct values of runs: a game has few, and they stay in the first-level cache.
    """

    columns: Any
    ranges: Any
    starts: Any
    cells: Any
    patterns: Any

    @classmethod
    def of(cls, shares: Sequence[Pieces], number: Any) -> Runs:
        """Return the runs of both players' shares, each piece being one, with values of a type."""
        columns, ranges, starts, rows = joined(shares)
        patterns, pattern = distinct(np.concatenate([pieces.values for pieces in shares]))
        cells = np.stack([rows, patterns.shape[1] * pattern], axis=1).ravel()
        first, where, begin, each = map(unsigned, (columns[0], ranges, 2 * starts, cells))
        return cls(first, where, begin, each, patterns.ravel().astype(number))

    @classmethod
    def none(cls, number: Any) -> Runs:
        """Return no runs."""
        nothing = unsigned(np.zeros(0))
        return cls(nothing, unsigned(np.zeros(3)), unsigned(np.zeros(1)), nothing, np.zeros(0, dtype=number))


@record
class Cells(NamedTuple):
    """Two matrices, one a player, cell by cell and share after share: what falls into no runs.

    Attributes
    ----------
    columns : ndarray of uint32
    ranges : ndarray of uint32, shape (2 * num_shares + 1,)
        Share ``k`` has the columns ``ranges[k]:ranges[k + 1]``.
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
    def of(cls, shares: Sequence[Pieces], number: Any) -> Cells:
        """Return the cells of both players' shares, each the first of a piece, with values of a type."""
        columns, ranges, starts, rows = joined(shares)
        first, where, begin, each = map(unsigned, (columns[0], ranges, starts, rows))
        values = np.concatenate([pieces.values[:, 0] for pieces in shares])
        return cls(first, where, begin, each, np.ascontiguousarray(values, dtype=number))

    @classmethod
    def none(cls, number: Any) -> Cells:
        """Return no cells."""
        nothing = unsigned(np.zeros(0))
        return cls(nothing, unsigned(np.zeros(3)), unsigned(np.zeros(1)), nothing, np.zeros(0, dtype=number))


def pieces_of(columns: Sequence[Integers], rows: Integers, within: Integers, values: Floats, width: int) -> Pieces:
    """Collect cells with equal columns and rows into pieces, each cell at its place ``within``."""
    order = np.lexsort([rows, *columns[::-1]])
    keys = [key[order] for key in (*columns, rows)]
    begins = begins_of(*keys)
    keys = [key[begins] for key in keys]
    table = np.zeros((len(keys[-1]), width))
    table[np.cumsum(begins) - 1, within[order]] = values[order]
    column_begins = begins_of(*keys[:-1])
    counts = np.diff(np.append(np.flatnonzero(column_begins), len(keys[-1])))
    return Pieces(np.stack([key[column_begins] for key in keys[:-1]]), counts, keys[-1], table)


def joined(shares: Sequence[Pieces]) -> tuple[Integers, Integers, Integers, Integers]:
    """Return columns, each share's range of them, where each column's pieces start, and the pieces' rows."""
    return (
        np.concatenate([pieces.columns for pieces in shares], axis=1),
        starts_of(np.array([pieces.columns.shape[1] for pieces in shares])),
        starts_of(np.concatenate([pieces.counts for pieces in shares])),
        np.concatenate([pieces.rows for pieces in shares]),
    )


def distinct(values: Floats) -> tuple[Floats, Integers]:
    """Return the distinct rows of a matrix, and for each row which it is."""
    rows = np.ascontiguousarray(values).view(f"V{8 * values.shape[1]}").ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return values[first], inverse.ravel()


# Relative difference of two numbers that should be the same one.
_SAME = 1e-13


@dataclass(frozen=True, eq=False)
class Entries:
    """A sparse matrix whose columns are positions of a player, entry by entry.

    Attributes
    ----------
    rows, positions : ndarray of int64
    values : ndarray of float64
    """

    rows: Integers
    positions: Integers
    values: Floats

    def of(self, chosen: Any) -> Entries:
        """Return some of the entries."""
        return Entries(self.rows[chosen], self.positions[chosen], self.values[chosen])

    def and_those_of(self, other: Entries) -> Entries:
        """Return the entries of both."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("rows", "positions", "values"))
        return Entries(*map(np.concatenate, pairs))


@dataclass(frozen=True, eq=False)
class FlowPlaces:
    """Where a flow's sequences and reaches stand.

    Attributes
    ----------
    positions : ndarray of int64, shape (num_sequences,)
    reaches : ndarray of int64, shape (num_infosets,)
        The position of each infoset's reach.
    owners : ndarray of int64, shape (num_sequences,)
        Each sequence's infoset, −1 for the empty sequence.
    counts : ndarray of int64, shape (num_infosets,)
        Number of actions.
    inflow : csr_array, shape (num_infosets, num_sequences)
        How much of each sequence leads to each infoset.
    """

    positions: Integers
    reaches: Integers
    owners: Integers
    counts: Integers
    inflow: Any

    @classmethod
    def of(cls, treeplexes: Treeplexes, places: Places) -> list[FlowPlaces]:
        """Return all players' places."""
        of_players = places.positions, places.reaches, treeplexes.owners, treeplexes.counts, treeplexes.inflows
        return [cls(*of_player) for of_player in zip(*of_players, strict=True)]

    def shared(self, matrix: Any) -> Entries:
        """Return a matrix over sequences, what all actions of an infoset share taken from them and put at its reach."""
        matrix = matrix.tocoo()
        rows, sequences = (axis.astype(np.int64) for axis in matrix.coords)
        values = matrix.data.astype(np.float64)
        owners = self.owners[sequences]
        order = np.lexsort((values, owners, rows))
        rows, sequences, values, owners = rows[order], sequences[order], values[order], owners[order]
        begins = begins_of(rows, owners)
        group = np.cumsum(begins) - 1
        firsts = np.flatnonzero(begins)
        sizes = np.diff(np.append(firsts, len(rows)))
        of_group = owners[firsts]
        middle = values[firsts + sizes // 2]
        alike = np.bincount(group, weights=values == middle[group], minlength=len(firsts))
        # Of actions that the matrix leaves out the number is zero, and nothing is shared. Owner −1 is of no infoset.
        whole = (of_group >= 0) & (alike > 1) & (sizes == np.append(self.counts, 0)[of_group])
        left = np.where(whole[group], values - middle[group], values)
        kept = np.abs(left) > _SAME * np.abs(middle[group])
        alone = Entries(rows[kept], self.positions[sequences[kept]], left[kept])
        return alone.and_those_of(Entries(rows[firsts][whole], self.reaches[of_group[whole]], middle[whole]))

    def reduced(self, matrix: Any) -> Entries:
        """Return what :meth:`shared` does, a row that is the reach of an infoset, or a multiple, as that alone."""
        matrix.sort_indices()
        into, ratio = self._reaches_in(matrix)
        found = into >= 0
        others = matrix.copy()
        others.data = np.where(np.repeat(found, np.diff(matrix.indptr)), 0.0, matrix.data)
        others.eliminate_zeros()
        return self.shared(others).and_those_of(Entries(np.flatnonzero(found), self.reaches[into[found]], ratio[found]))

    def _reaches_in(self, matrix: Any) -> tuple[Integers, Floats]:
        """Return, for each row, an infoset whose inflow it is a multiple of, or −1; and which multiple."""
        inflow = self.inflow
        sizes, lengths = np.diff(matrix.indptr), np.diff(inflow.indptr)
        into = np.full(len(sizes), -1)
        ratio = np.zeros(len(sizes))
        if not len(lengths):
            return into, ratio
        marks = np.random.default_rng(0).integers(0, 2**63, matrix.shape[1]).astype(np.uint64)
        sums = [np.append(np.uint64(0), np.cumsum(marks[one.indices])) for one in (matrix, inflow)]
        wanted, known = (
            total[one.indptr[1:]] - total[one.indptr[:-1]] for total, one in zip(sums, (matrix, inflow), strict=True)
        )
        order = np.argsort(known, kind="stable")
        at = np.minimum(np.searchsorted(known[order], wanted), len(order) - 1)
        guess = order[at]
        # Equal sums tell where to look; the entries are then compared one by one.
        rows = np.flatnonzero((known[guess] == wanted) & (sizes == lengths[guess]) & (sizes > 1))
        size = sizes[rows]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        mine = np.repeat(matrix.indptr[rows], size) + within
        theirs = np.repeat(inflow.indptr[guess[rows]], size) + within
        multiple = matrix.data[matrix.indptr[rows]] / inflow.data[inflow.indptr[guess[rows]]]
        expected = np.repeat(multiple, size) * inflow.data[theirs]
        same = (matrix.indices[mine] == inflow.indices[theirs]) & (
            np.abs(matrix.data[mine] - expected) <= _SAME * np.abs(expected)
        )
        all_same = np.bincount(np.repeat(np.arange(len(rows)), size), weights=~same, minlength=len(rows)) == 0
        into[rows[all_same]] = guess[rows[all_same]]
        ratio[rows[all_same]] = multiple[all_same]
        return into, ratio


def diagonal_pieces(rows: Integers, columns: Integers, values: Floats, width: int) -> Pieces:
    """Return a matrix in diagonal runs of ``width`` cells, which begin at multiples of that in the columns.

    Where a grid is laid out row by row, one neighbour of each cell stands beside the same neighbour of the next cell.
    """
    lanes = columns % width
    return pieces_of([columns - lanes], rows - lanes, lanes, values, width)


def multiplied_out(
    left: Entries, right: Entries, num_factors: int, bases: tuple[int, int], width: int
) -> tuple[Entries, Entries, Entries]:
    """Multiply out the factors that hardly anyone holds, and those that an empty sequence alone holds.

    Parameters
    ----------
    left, right : Entries
        By factor (row), the two players' positions.
    num_factors : int
    bases : tuple of int
        The positions of the players' empty sequences, each the first of ``width`` that stand for it.
    width : int

    Returns
    -------
    Entries, Entries, Entries
        The products, rows of player 0's positions and columns of player 1's; what is left of either side.
    """
    holders = [np.bincount(side.rows, minlength=num_factors) for side in (left, right)]
    few = (holders[0] * holders[1] <= holders[0] + holders[1]) & (np.maximum(*holders) <= width)
    for side, held, base in zip((left, right), holders, bases, strict=True):
        few |= (held == 1) & (np.bincount(side.rows[side.positions == base], minlength=num_factors) == 1)
    chosen = [side.of(few[side.rows]) for side in (left, right)]
    size = 1 + int(max((side.positions.max(initial=0) for side in chosen), default=0))
    ends = [sparse.csr_array((side.values, (side.rows, side.positions)), shape=(num_factors, size)) for side in chosen]
    product = (ends[0].T.tocsr() @ ends[1]).tocoo()
    rows, columns = (axis.astype(np.int64) for axis in product.coords)
    # What depends on one player alone is spread over the places of the other's empty sequence, so that it has runs.
    spread = np.where(columns == bases[1], columns + rows % width, columns)
    products = Entries(np.where(rows == bases[0], rows + columns % width, rows), spread, product.data)
    others = [side.of(~few[side.rows]) for side in (left, right)]
    return products, others[0], others[1]


class Inflows(NamedTuple):
    """What leads to the infosets of flows; see :class:`~treeplex.solvers.regret.arrays.PolytopeArrays`.

    Attributes
    ----------
    groups, ranges : ndarray of uint32
    runs : ndarray of uint32, shape (num_runs, 2)
    patterns : ndarray of float64
    matrix : csr_array, shape (num_infosets of all players, size)
        The same as a matrix. A flow's bucket holds, behind the positions of its last action, the reaches of its
        infosets, of which inflow may come too.
    """

    groups: Any
    ranges: Any
    runs: Any
    patterns: Any
    matrix: Any

    @classmethod
    def of(cls, treeplexes: Treeplexes, places: Places) -> Inflows:
        """Return what leads to the infosets of all players; nothing in trees."""
        if not treeplexes.inflows:
            none = unsigned(np.zeros(0))
            return cls(none, unsigned([0]), none.reshape(0, 2), np.zeros(0), sparse.csr_array((0, 0)))
        parts = []
        for player, flow in enumerate(FlowPlaces.of(treeplexes, places)):
            shared = flow.shared(flow.inflow)
            parts.append((places.infosets[player][shared.rows], shared.positions, shared.values))
        into, sources, weights = map(np.concatenate, zip(*parts, strict=True))
        sizes, firsts = (places.buckets[:, column].astype(np.int64) for column in (1, 3))
        width = treeplexes.width
        groups = starts_of(sizes // width)
        bucket = np.searchsorted(firsts, into, side="right") - 1
        within = into - firsts[bucket]
        lanes = within % width
        pieces = pieces_of([groups[bucket] + within // width], sources - lanes, lanes, weights, width)
        patterns, pattern = distinct(pieces.values)
        counts = np.zeros(groups[-1], dtype=np.int64)
        counts[pieces.columns[0]] = pieces.counts
        runs = unsigned(np.stack([pieces.rows, width * pattern], axis=1))
        matrix = sparse.csr_array((weights, (into, sources)), shape=(int(sizes.sum()), int(places.bases[-1])))
        return cls(unsigned(groups[:-1]), unsigned(starts_of(counts)), runs, patterns.ravel(), matrix)
