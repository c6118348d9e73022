"""The placement of sequences and payoffs in the kernel's arrays: levels, buckets, isomorphic parts and pieces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from ...seqform.polytope import depths_of
from ..records import record

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Unsigned = NDArray[np.uint32]

# Number of cells that are hashed at once, at about a hundred bytes each.
_AT_ONCE = 2**18
# Bytes of a vector register; a run of the payoff has as many cells as a register has lanes.
REGISTER = 32


def width_of(number: Any) -> int:
    """Return the number of lanes of a vector register for a number type."""
    return REGISTER // int(np.dtype(number).itemsize)


@dataclass(frozen=True, eq=False)
class Branches:
    """The division of a game into parts: the trunk and the branches.

    Attributes
    ----------
    shares : list of ndarray of int64, each shape (num_infosets,)
        The share of each infoset, by player: 0 for the trunk, then the branches.
    roots : list of ndarray of bool, each shape (num_infosets,)
        Which infosets of branches have their parent sequence in the trunk.
    num_shares : int
        The number of branches plus one, for the trunk.
    """

    shares: list[Integers]
    roots: list[Any]
    num_shares: int

    @classmethod
    def none(cls, counts: Sequence[Integers]) -> Branches:
        """Return a trunk without branches, for the given numbers of actions of the players' infosets."""
        sizes = [len(count) for count in counts]
        return cls([np.zeros(n, dtype=np.int64) for n in sizes], [np.zeros(n, dtype=bool) for n in sizes], 1)


def hashed(*columns: Integers) -> NDArray[np.uint64]:
    """Hash integers to 64 bits (the finaliser of MurmurHash3 between multiplications)."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed + column.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(33)
    return mixed


#: The approximate nanoseconds that an iteration takes for a cell of the payoff and for a sequence.
CELL, SEQUENCE = 0.25, 2.0


class Treeplexes:
    """The permutation and the buckets of all players' treeplexes.

    Parameters
    ----------
    parents : array_like of int, one per player
        The parent sequence of each infoset; not used for flows.
    offsets : array_like of int, one per player
        The first sequence of each infoset.
    inflows : csr_array, one per player, and depths : ndarray of int, one per player
        For flow polytopes: the inflow and the number of levels above each infoset. Given for all players or none.
    number : type
        The type of the kernel's vectors.
    """

    def __init__(
        self,
        parents: Sequence[ArrayLike],
        offsets: Sequence[ArrayLike],
        inflows: Sequence[Any] = (),
        depths: Sequence[ArrayLike] = (),
        number: Any = np.float64,
    ) -> None:
        self.number, self.width = number, width_of(number)
        self.parents = [np.asarray(parent, dtype=np.int64) for parent in parents]
        self.inflows = inflows
        self.offsets = [np.asarray(offset, dtype=np.int64) for offset in offsets]
        self.num_players = len(self.offsets)
        self.counts = [np.diff(offset) for offset in self.offsets]
        self.owners = [np.repeat(np.arange(-1, len(c)), np.append(1, c)) for c in self.counts]
        self.actions = [
            np.arange(o[-1]) - np.append(0, o)[w + 1] for o, w in zip(self.offsets, self.owners, strict=True)
        ]
        levels = [np.asarray(depth, dtype=np.int64) for depth in depths] or [
            depths_of(p, w).astype(np.int64) for p, w in zip(self.parents, self.owners, strict=True)
        ]
        self.kinds = [np.stack(kind) for kind in zip(levels, self.counts, strict=True)]

    def cell_owners(self, rows: Integers, columns: Integers) -> tuple[Integers, Integers]:
        """Return both players' infosets of payoff cells, player 1's numbered after player 0's; −1 for none."""
        others = np.append(-1, len(self.counts[0]) + np.arange(len(self.counts[1])))[1 + self.owners[1]]
        return narrow(self.owners[0])[rows], narrow(others)[columns]

    def work(self, rows: Integers, columns: Integers) -> Floats:
        """Return the estimated nanoseconds of an iteration at each infoset of a two-player game with these cells."""
        work: Floats = SEQUENCE * np.concatenate(self.counts)
        for owner in self.cell_owners(rows, columns):
            work = work + 0.5 * CELL * np.bincount(owner[owner >= 0], minlength=len(work))
        return work

    def place(self, lanes: Sequence[Lanes], branches: Branches | None = None) -> Places:
        """Assign a position to every sequence."""
        flow = len(self.inflows) > 0
        full = self.width
        branches = Branches.none(self.counts) if branches is None else branches
        # Runs may begin before the first position that they contain, and end after the last.
        bases, bucket_ranges = [full], [0]
        roots: list[Integers] = []
        begins_at: list[Integers] = []
        buckets: list[Integers] = []
        positions: list[Integers] = []
        strides: list[Integers] = []
        bucket_parents: list[Integers] = []
        infoset_places: list[Integers] = []
        reaches: list[Integers] = []
        num_parents = 0
        for player in range(self.num_players):
            level, arity = self.kinds[player]
            group, slot, lane = lanes[player].group, lanes[player].slot, lanes[player].lane
            share, below = branches.shares[player], ~branches.roots[player]
            order = np.lexsort((lane, slot, group, group < 0, arity, level, below, share))
            begins = begins_of(share[order], below[order], level[order], arity[order])
            bucket = np.cumsum(begins) - 1
            firsts = np.flatnonzero(begins)
            # The lanes of a slot take a whole register, even if some are empty; other infosets take one place each.
            alone = group[order] < 0
            width = np.where(alone, 1, full * begins_of(bucket, group[order], slot[order]))
            place = np.cumsum(width) - np.where(alone, 1, full)
            size = np.bincount(bucket, weights=width, minlength=len(firsts)).astype(np.int64)
            place += np.where(alone, 0, lane[order]) - (np.cumsum(size) - size)[bucket]
            size = _rounded_up(size, full)
            # The reaches of a flow's infosets follow their last actions.
            planes = arity[order][firsts] + flow
            starts = bases[-1] + full + starts_of(size * planes)
            parent_starts = num_parents + starts_of(size)
            first_position = np.zeros(len(order), dtype=np.int64)
            stride = np.zeros(len(order), dtype=np.int64)
            first_position[order] = starts[bucket] + place
            stride[order] = size[bucket]
            owner = self.owners[player][1:]
            position = np.append(bases[-1], first_position[owner] + self.actions[player][1:] * stride[owner])
            places = np.empty(len(order), dtype=np.int64)
            places[order] = parent_starts[bucket] + place
            infoset_places.append(places)
            reaches.append(first_position + self.kinds[player][1] * stride)
            if not flow:
                # Empty places get a parent position without a sequence, whose plan and gradient stay zero: one in the
                # trunk, or the place itself, so that threads do not write to a common position.
                parent = np.arange(size.sum()) + np.repeat(starts[:-1] - starts_of(size)[:-1], size)
                after_trunk = (share[order][firsts] == 0) | ~below[order][firsts]
                parent[np.repeat(after_trunk, size)] = bases[-1] + 1
                parent[places - num_parents] = position[self.parents[player]]
                bucket_parents.append(parent)
            positions.append(position)
            strides.append(np.append(0, stride[owner]))
            buckets.append(np.stack([starts[:-1], size, arity[order][firsts], parent_starts[:-1]], axis=1))
            num_parents = int(parent_starts[-1])
            owned = np.bincount(share[order][firsts], minlength=branches.num_shares)
            last_roots = np.bincount(share[order][firsts][~below[order][firsts]], minlength=branches.num_shares)
            ends = starts_of(owned)
            begins_at.append(np.append(bases[-1], starts[ends[1:-1]]))
            roots.append(bucket_ranges[-1] + ends[:-1] + last_roots)
            bases.append(int(starts[-1]) + full)
            bucket_ranges += (bucket_ranges[-1] + ends[1:]).tolist()
        return Places(
            positions,
            strides,
            infoset_places,
            reaches,
            bases=unsigned(bases),
            buckets=unsigned(np.concatenate(buckets)),
            bucket_ranges=unsigned(bucket_ranges),
            roots=unsigned(np.concatenate(roots)),
            shares=unsigned(np.append(np.concatenate(begins_at), bases[-1])),
            parents=unsigned(np.concatenate([*bucket_parents, np.zeros(0)])),
        )


@dataclass(frozen=True, eq=False)
class Places:
    """The result of :meth:`Treeplexes.place`.

    Attributes
    ----------
    positions, strides : list of ndarray of int64, each shape (num_sequences,)
        The position of each sequence, and its distance to the position of the infoset's next action.
    infosets, reaches : list of ndarray of int64, each shape (num_infosets,)
        The place of each infoset, counted over all players' buckets; in flows also the position of its reach.
    bases, buckets, bucket_ranges, roots, shares, parents : ndarray of uint32
        As in :class:`~treeplex.solvers.regret.arrays.PolytopeArrays`.
    """

    positions: list[Integers]
    strides: list[Integers]
    infosets: list[Integers]
    reaches: list[Integers]
    bases: Unsigned
    buckets: Unsigned
    bucket_ranges: Unsigned
    roots: Unsigned
    shares: Unsigned
    parents: Unsigned


@dataclass(frozen=True, eq=False)
class Lanes:
    """The place of each infoset of a player among isomorphic parts of the game; see :func:`isomorphic_lanes`.

    Attributes
    ----------
    group, slot, lane : ndarray of int64, shape (num_infosets,)
        The group of isomorphic parts, or -1; the infoset's number within its part, or within all parts if it has no
        group; the part's number within the group.
    """

    group: Integers
    slot: Integers
    lane: Integers


def no_lanes(num_infosets: int) -> Lanes:
    """Return the lanes of a player whose infosets are not grouped."""
    return Lanes(np.full(num_infosets, -1), np.arange(num_infosets), np.zeros(num_infosets, dtype=np.int64))


def isomorphic_lanes(treeplexes: Treeplexes, rows: Integers, columns: Integers, branches: Branches) -> list[Lanes]:
    """Find parts of a two-player game with the same shape, to place corresponding infosets next to each other.

    A part is a set of infosets that payoffs connect, such as the infosets of a poker round after one public card and
    betting sequence. If as many parts as a register has lanes have the same shape, the payoff's cells form diagonal
    runs, which need a single index and no gathering. Parts of different branches are kept separate. Shapes are compared
    by hash values, and infosets correspond in the user's order: a wrong or missed match only costs speed.
    """
    sizes, width = [len(count) for count in treeplexes.counts], treeplexes.width
    owners = narrow(treeplexes.owners[0])[rows], narrow(treeplexes.owners[1])[columns]
    inner = np.flatnonzero((owners[0] >= 0) & (owners[1] >= 0))
    ends = owners[0][inner], owners[1][inner] + np.int32(sizes[0])
    del owners
    graph = sparse.csr_array((np.ones(len(inner), dtype=np.bool_), ends), shape=(sum(sizes),) * 2)
    num_parts, part = connected_components(graph, directed=False)
    player = np.repeat([0, 1], sizes)
    kinds = np.concatenate(treeplexes.kinds, axis=1)
    order = np.lexsort((np.arange(len(part)), kinds[1], kinds[0], player, part))
    part_sizes = np.bincount(part, minlength=num_parts)
    slot = np.empty(len(part), dtype=np.int64)
    slot[order] = np.arange(len(part)) - np.repeat(starts_of(part_sizes)[:-1], part_sizes)
    shape = np.zeros(num_parts, dtype=np.uint64)
    np.add.at(shape, part, hashed(slot, player, kinds[0], kinds[1]))
    for start in range(0, len(inner), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        mine, theirs, cells = ends[0][some], ends[1][some], inner[some]
        acted = treeplexes.actions[0][rows[cells]], treeplexes.actions[1][columns[cells]]
        np.add.at(shape, part[mine], hashed(slot[mine], acted[0], slot[theirs], acted[1]))
    np.add.at(shape, part, hashed(slot, np.concatenate(branches.shares), np.concatenate(branches.roots)))
    shape[part_sizes == 1] = np.flatnonzero(part_sizes == 1)  # infosets without payoff cells
    by_shape = np.argsort(shape, kind="stable")
    _, first, repeats = np.unique(shape[by_shape], return_index=True, return_counts=True)
    number = np.arange(num_parts) - np.repeat(first, repeats)
    # An incomplete last group has empty lanes, unless it consists of a single part.
    grouped = (np.repeat(repeats, repeats) - number // width * width) > 1
    lane = np.empty(num_parts, dtype=np.int64)
    group = np.empty(num_parts, dtype=np.int64)
    lane[by_shape] = number % width
    group[by_shape] = np.where(grouped, by_shape[np.arange(num_parts) - number % width], -1)
    # Infosets outside groups are ordered by part. Infosets that meet the same infosets of the opponent, such as those
    # that differ only in the private card, are adjacent, so that their cells form tiles.
    meeting = (graph + graph.T).tocoo()
    met = np.zeros(len(part), dtype=np.uint64)
    np.add.at(met, meeting.coords[0], hashed(meeting.coords[1].astype(np.int64)))
    _, first_met, alike = np.unique(met, return_index=True, return_inverse=True)
    alone = np.lexsort((np.arange(len(part)), first_met[alike.ravel()], part))
    slot[alone] = np.where(group[part[alone]] < 0, np.arange(len(part)), slot[alone])
    lanes = []
    for select in (player == 0, player == 1):
        mine = part[select]
        lanes.append(Lanes(group[mine], slot[select], lane[mine]))
    return lanes


def begins_of(*keys: Integers) -> NDArray[np.bool_]:
    """Mark where a run of equal keys begins."""
    begins = np.zeros(len(keys[0]), dtype=np.bool_)
    begins[:1] = True
    for key in keys:
        begins[1:] |= key[1:] != key[:-1]
    return begins


def _rounded_up(counts: Integers, width: int) -> Integers:
    return -(-counts // width) * width


def starts_of(counts: Integers) -> Integers:
    """Return the cumulative sums of counts, starting with zero."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def narrow(values: Any) -> Any:
    """Return integers in 32 bits, which suffice for the indices of any game."""
    return values.astype(np.int32)


def unsigned(values: ArrayLike) -> Unsigned:
    """Return values as an index array of the kernel."""
    return np.ascontiguousarray(values, dtype=np.uint32)


@dataclass(frozen=True, eq=False)
class Pieces:
    """A player's payoff in pieces of up to ``width`` cells, ordered by the opponent's columns.

    Attributes
    ----------
    columns : ndarray of int64, shape (num_keys, num_columns)
        The keys that identify a column, for instance its position.
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
        """Return the pieces of each share of the rows; the first key of a column must be the share."""
        ends = np.searchsorted(self.columns[0], np.arange(num_shares + 1))
        pieces = starts_of(self.counts)[ends]
        return [
            Pieces(self.columns[1:, first:last], self.counts[first:last], self.rows[begin:end], self.values[begin:end])
            for first, last, begin, end in zip(ends[:-1], ends[1:], pieces[:-1], pieces[1:], strict=True)
        ]


@record
class Runs(NamedTuple):
    """Two matrices, one per player, in runs for the compiled loop, ordered by the share of their rows.

    A run has as many cells as a register has lanes, on a diagonal. A *tile* is a square with that many rows.

    Attributes
    ----------
    columns : ndarray of uint32
        Column ``c`` represents the matrix columns ``columns[c] + j`` for 0 ≤ j < width of a register.
    ranges : ndarray of uint32, shape (2 * num_shares + 1,)
        Share ``k`` has the columns ``ranges[k]:ranges[k + 1]``.
    starts : ndarray of uint32
        Column ``c`` has the cells ``starts[c]:starts[c + 1]``.
    cells : ndarray of uint32
        Two numbers per run, row ``r`` and place ``p``: ``patterns[p + j]`` is in row ``r + j`` and column ``c + j``; in
        a tile ``patterns[p + width * j + i]`` is in row ``r + i`` and column ``c + j``.
    patterns : ndarray of float
        The distinct values of runs; a game has few, so they stay in the first-level cache.
    """

    columns: Any
    ranges: Any
    starts: Any
    cells: Any
    patterns: Any

    @classmethod
    def of(cls, shares: Sequence[Pieces], number: Any) -> Runs:
        """Make runs from the pieces of both players' shares, one run per piece, with values of a type."""
        columns, ranges, starts, rows = joined(shares)
        patterns, pattern = distinct(np.concatenate([pieces.values for pieces in shares]))
        cells = np.stack([rows, patterns.shape[1] * pattern], axis=1).ravel()
        first, where, begin, each = map(unsigned, (columns[0], ranges, 2 * starts, cells))
        return cls(first, where, begin, each, patterns.ravel().astype(number))

    @classmethod
    def none(cls, number: Any) -> Runs:
        """Return empty runs."""
        nothing = unsigned(np.zeros(0))
        return cls(nothing, unsigned(np.zeros(3)), unsigned(np.zeros(1)), nothing, np.zeros(0, dtype=number))


@record
class Cells(NamedTuple):
    """Two matrices, one per player, with the cells that are in no run, ordered by share.

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
        """Make cells from the pieces of both players' shares, one cell per piece, with values of a type."""
        columns, ranges, starts, rows = joined(shares)
        first, where, begin, each = map(unsigned, (columns[0], ranges, starts, rows))
        values = np.concatenate([pieces.values[:, 0] for pieces in shares])
        return cls(first, where, begin, each, np.ascontiguousarray(values, dtype=number))

    @classmethod
    def none(cls, number: Any) -> Cells:
        """Return empty cells."""
        nothing = unsigned(np.zeros(0))
        return cls(nothing, unsigned(np.zeros(3)), unsigned(np.zeros(1)), nothing, np.zeros(0, dtype=number))


def pieces_of(columns: Sequence[Integers], rows: Integers, within: Integers, values: Floats, width: int) -> Pieces:
    """Collect cells with equal columns and rows into pieces; ``within`` is the index of each cell in its piece."""
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
    """Return the columns, each share's range of columns, the start of each column's pieces, and the pieces' rows."""
    return (
        np.concatenate([pieces.columns for pieces in shares], axis=1),
        starts_of(np.array([pieces.columns.shape[1] for pieces in shares])),
        starts_of(np.concatenate([pieces.counts for pieces in shares])),
        np.concatenate([pieces.rows for pieces in shares]),
    )


def distinct(values: Floats) -> tuple[Floats, Integers]:
    """Return the distinct rows of a matrix, and the number of each row among them."""
    rows = np.ascontiguousarray(values).view(f"V{8 * values.shape[1]}").ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return values[first], inverse.ravel()


def diagonal_pieces(rows: Integers, columns: Integers, values: Floats, width: int) -> Pieces:
    """Return a matrix in diagonal runs of ``width`` cells, which begin at columns that are multiples of ``width``.

    In a grid laid out row by row, a neighbour of each cell is adjacent to the same neighbour of the next cell.
    """
    lanes = columns % width
    return pieces_of([columns - lanes], rows - lanes, lanes, values, width)
