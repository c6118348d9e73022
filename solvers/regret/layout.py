"""The memory layout of a game in the compiled kernel.

The kernel keeps all players' sequences in one array. A player's part starts with the empty sequence and goes on with
one *bucket* per level (own decisions above) and number of actions. Inside a bucket sequences are action-major: action
``j`` of the bucket's ``i``-th infoset stands at ``start + j * count + i``, so that a pass over a bucket is a few loops
over contiguous memory. Index arrays are unsigned, because numba tests every signed index for wrap-around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

if TYPE_CHECKING:
    from ...seqform.sequence_form import SequenceForm

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Unsigned = NDArray[np.uint32]

WIDTH = 4  # float64 numbers in a vector register, and cells in a run of the payoff


@dataclass(frozen=True, eq=False)
class KernelLayout:
    """A game as the kernel's flat arrays, and the permutation that leads to them and back.

    A *position* is an index into the kernel's arrays of all players' sequences.

    Attributes
    ----------
    num_players : int
    num_sequences : tuple of int
        Each player's number of sequences, the empty one counted.
    positions : tuple of ndarray of int64, each shape (num_sequences[i],)
        The position of each sequence of a player, in the user's order.
    bases : ndarray of uint32, shape (num_players + 1,)
        The position of each player's empty sequence; at the end the total length.
    buckets : ndarray of uint32, shape (num_buckets, 4)
        First position, number of infosets, number of actions, first entry in ``parents``. Top-down for each player.
    bucket_ranges : ndarray of uint32, shape (num_players + 1,)
        Player ``i`` owns the buckets ``bucket_ranges[i]:bucket_ranges[i + 1]``.
    parents : ndarray of uint32, shape (num_infosets of all players,)
        The position of each infoset's parent sequence, bucket after bucket.
    run_columns, run_ranges, run_starts, runs : ndarray of uint32
        Two players: diagonal runs of the payoff. Player ``i`` has the columns ``run_ranges[i]:run_ranges[i + 1]``;
        column ``c`` stands for the opponent's positions ``run_columns[c] + j`` (0 ≤ j < WIDTH) and has the runs that
        start at ``run_starts[c]``, two numbers each: row ``r`` and place ``p``, for the payoffs ``patterns[p + j]`` at
        row ``r + j`` and column ``c + j``.
    patterns : ndarray of float64
        The distinct payoffs of runs and blocks: a game has few, and they stay in the first-level cache.
    block_columns : ndarray of uint32, shape (num_block_columns, 3)
        Two players: two actions of an opponent's infoset against two of one's own. The positions of the opponent's two
        actions, and how far one's own second action stands from the first.
    block_ranges, block_starts, blocks : ndarray of uint32
        As for runs: row ``r`` of one's own first action, and place ``p`` of the four payoffs in ``patterns``, row by
        row.
    cell_columns, cell_ranges, cell_starts, cell_rows : ndarray of uint32
        Two players: the payoff's other cells, each with one column, row and value, in the same manner.
    cell_values : ndarray of float64
        Payoffs to the row's player, chance multiplied in, as ``patterns``.
    leaf_positions : ndarray of uint32, shape (num_leaves, num_players)
        Any other number of players: the leaves' sequences. Empty for two.
    leaf_payoffs : ndarray of float64, shape (num_leaves, num_players)
        Payoffs, chance multiplied in.
    """

    num_players: int
    num_sequences: tuple[int, ...]
    positions: tuple[Integers, ...]
    bases: Unsigned
    buckets: Unsigned
    bucket_ranges: Unsigned
    parents: Unsigned
    run_columns: Unsigned
    run_ranges: Unsigned
    run_starts: Unsigned
    runs: Unsigned
    patterns: Floats
    block_columns: Unsigned
    block_ranges: Unsigned
    block_starts: Unsigned
    blocks: Unsigned
    cell_columns: Unsigned
    cell_ranges: Unsigned
    cell_starts: Unsigned
    cell_rows: Unsigned
    cell_values: Floats
    leaf_positions: Unsigned
    leaf_payoffs: Floats

    @property
    def size(self) -> int:
        """Length of the kernel's vectors."""
        return int(self.bases[-1])

    def to_user(self, player: int, vector: Floats) -> Floats:
        """Return a player's part of a kernel vector in the user's order of sequences.

        Parameters
        ----------
        player : int
        vector : ndarray of float64, shape (size,)

        Returns
        -------
        ndarray of float64, shape (num_sequences[player],)
        """
        return vector[self.positions[player]]

    def from_user(self, player: int, vector: ArrayLike, out: Floats | None = None) -> Floats:
        """Write a vector over a player's sequences into a kernel vector and return that.

        Parameters
        ----------
        player : int
        vector : array_like of float, shape (num_sequences[player],)
        out : ndarray of float64, shape (size,), optional
            Kernel vector to write into; by default a new one of zeros. Other players' parts stay as they are.

        Returns
        -------
        ndarray of float64, shape (size,)
        """
        out = np.zeros(self.size) if out is None else out
        out[self.positions[player]] = vector
        return out


def build_layout(sequence_form: SequenceForm) -> KernelLayout:
    """Lay out a sequence form for the kernel.

    Parameters
    ----------
    sequence_form : SequenceForm

    Returns
    -------
    KernelLayout
    """
    treeplexes = sequence_form.treeplexes
    parents = [treeplex.parents for treeplex in treeplexes]
    offsets = [treeplex.offsets for treeplex in treeplexes]
    leaves = sequence_form.leaves
    if leaves is not None:
        return layout_from_leaves(parents, offsets, leaves.sequences, leaves.chance, leaves.payoffs)
    A = sequence_form.A
    B = None if sequence_form.is_zero_sum else sequence_form.payoff_matrix(1)
    return layout_from_matrices(parents, offsets, A, B)


def layout_from_matrices(
    parents: Sequence[ArrayLike], offsets: Sequence[ArrayLike], A: Any, B: Any = None
) -> KernelLayout:
    """Lay out a two-player game.

    Parameters
    ----------
    parents : two array_like of int, shape (num_infosets,)
        The parent sequence of each infoset, which comes before the infoset's own sequences.
    offsets : two array_like of int, shape (num_infosets + 1,)
        Infoset ``i`` owns the sequences ``offsets[i]:offsets[i + 1]``; ``offsets[0]`` is 1.
    A : sparse array or array_like, shape (player 0's sequences, player 1's sequences)
        Player 0's payoff, chance multiplied in.
    B : sparse array or array_like, the same shape, optional
        Player 1's payoff; by default ``-A``.

    Returns
    -------
    KernelLayout
    """
    A = sparse.coo_array(A)
    B = -A if B is None else sparse.coo_array(B)
    rows, columns = (np.concatenate([A.coords[axis], B.coords[axis]]).astype(np.int64) for axis in (0, 1))
    payoffs = np.zeros((2, len(rows)))
    payoffs[0, : A.nnz], payoffs[1, A.nnz :] = A.data, B.data
    return _two_player_layout(_Treeplexes(parents, offsets), rows, columns, payoffs)


def layout_from_leaves(
    parents: Sequence[ArrayLike],
    offsets: Sequence[ArrayLike],
    sequences: ArrayLike,
    chance: ArrayLike,
    payoffs: ArrayLike,
) -> KernelLayout:
    """Lay out a game for any number of players, given by its leaves.

    Parameters
    ----------
    parents, offsets : array_like of int, one a player
        As for :func:`layout_from_matrices`.
    sequences : array_like of int, shape (num_leaves, num_players)
        The last sequence of each player before the leaf.
    chance : array_like of float, shape (num_leaves,)
    payoffs : array_like of float, shape (num_leaves, num_players)
        Chance not multiplied in.

    Returns
    -------
    KernelLayout
    """
    leaves = np.asarray(sequences, dtype=np.int64)
    weighted = np.asarray(chance, dtype=np.float64)[:, None] * np.asarray(payoffs, dtype=np.float64)
    num_players = weighted.shape[1]
    treeplexes = _Treeplexes(parents, offsets)
    if num_players == 2:
        return _two_player_layout(treeplexes, leaves[:, 0], leaves[:, 1], weighted.T)
    places = treeplexes.place([_no_lanes(len(parent)) for parent in treeplexes.parents])
    leaves, inverse = np.unique(leaves, axis=0, return_inverse=True)
    payoff_sums = np.stack([np.bincount(inverse.ravel(), weights=u, minlength=len(leaves)) for u in weighted.T], axis=1)
    positions = np.stack([places.positions[i][leaves[:, i]] for i in range(num_players)], axis=1)
    nothing = np.zeros(0, dtype=np.uint32)
    return KernelLayout(
        **places.fields,
        run_columns=nothing, run_ranges=np.zeros(3, dtype=np.uint32), run_starts=np.zeros(1, dtype=np.uint32),
        runs=nothing, patterns=np.zeros(0), block_columns=nothing.reshape(0, 3),
        block_ranges=np.zeros(3, dtype=np.uint32), block_starts=np.zeros(1, dtype=np.uint32), blocks=nothing,
        cell_columns=nothing, cell_ranges=np.zeros(3, dtype=np.uint32), cell_starts=np.zeros(1, dtype=np.uint32),
        cell_rows=nothing, cell_values=np.zeros(0),
        leaf_positions=_unsigned(positions),
        leaf_payoffs=np.ascontiguousarray(payoff_sums),
    )  # fmt: skip


def _two_player_layout(treeplexes: _Treeplexes, rows: Integers, columns: Integers, payoffs: Floats) -> KernelLayout:
    """Lay out a two-player game given by cells: the players' sequences and payoffs (2, num_cells), repeats allowed."""
    num_columns = int(treeplexes.offsets[1][-1])
    cell, inverse = np.unique(rows * num_columns + columns, return_inverse=True)
    payoffs = np.stack([np.bincount(inverse.ravel(), weights=u, minlength=len(cell)) for u in payoffs])
    sequences = cell // num_columns, cell % num_columns
    lanes = _isomorphic_lanes(treeplexes, *sequences)
    places = treeplexes.place(lanes)
    positions, strides, actions, owners = (
        [of_player[player][sequences[player]] for player in (0, 1)]
        for of_player in (places.positions, places.strides, treeplexes.actions, treeplexes.owners)
    )
    inner = (owners[0] >= 0) & (owners[1] >= 0)
    in_run = inner.copy()
    in_run[inner] = lanes[0].group[owners[0][inner]] >= 0  # a payoff's two infosets are of one part
    lane = lanes[0].lane[owners[0][in_run]]
    in_block = inner & ~in_run
    for player in (0, 1):
        in_block[in_block] = treeplexes.counts[player][owners[player][in_block]] == 2
    _, inverse, count = np.unique(
        owners[0][in_block] * num_columns + owners[1][in_block], return_inverse=True, return_counts=True
    )
    in_block[in_block] = count[inverse.ravel()] > 2  # of four cells
    firsts = [positions[player] - actions[player] * strides[player] for player in (0, 1)]
    seconds = [firsts[player] + strides[player] for player in (0, 1)]
    runs, blocks, cells = [], [], []
    for own, other in ((0, 1), (1, 0)):
        payoff = payoffs[own]
        runs.append(_pieces([positions[other][in_run] - lane], positions[own][in_run] - lane, lane, payoff[in_run]))
        corner = 2 * actions[own][in_block] + actions[other][in_block]
        keys = [key[in_block] for key in (firsts[other], seconds[other], strides[own])]
        blocks.append(_pieces(keys, firsts[own][in_block], corner, payoff[in_block]))
        alone = ~(in_run | in_block) & (payoff != 0.0)
        first = np.zeros(alone.sum(), dtype=np.int64)
        cells.append(_pieces([positions[other][alone]], positions[own][alone], first, payoff[alone]))
    patterns, pattern = _distinct(np.concatenate([pieces.values for pieces in (*runs, *blocks)]))
    num_runs = sum(len(run.rows) for run in runs)
    run_columns, run_ranges, run_starts, run_rows = _joined(runs)
    block_columns, block_ranges, block_starts, block_rows = _joined(blocks)
    cell_columns, cell_ranges, cell_starts, cell_rows = _joined(cells)
    return KernelLayout(
        **places.fields,
        run_columns=_unsigned(run_columns[0]),
        run_ranges=_unsigned(run_ranges),
        run_starts=_unsigned(2 * run_starts),
        runs=_unsigned(np.stack([run_rows, WIDTH * pattern[:num_runs]], axis=1).ravel()),
        block_columns=_unsigned(block_columns.T),
        block_ranges=_unsigned(block_ranges),
        block_starts=_unsigned(2 * block_starts),
        blocks=_unsigned(np.stack([block_rows, WIDTH * pattern[num_runs:]], axis=1).ravel()),
        patterns=patterns.ravel(),
        cell_columns=_unsigned(cell_columns[0]),
        cell_ranges=_unsigned(cell_ranges),
        cell_starts=_unsigned(cell_starts),
        cell_rows=_unsigned(cell_rows),
        cell_values=np.concatenate([pieces.values[:, 0] for pieces in cells]),
        leaf_positions=np.zeros((0, 2), dtype=np.uint32),
        leaf_payoffs=np.zeros((0, 2)),
    )


@dataclass(frozen=True, eq=False)
class _Pieces:
    """A player's payoff in pieces of up to WIDTH cells, column by column of the opponent.

    Attributes
    ----------
    columns : ndarray of int64, shape (num_keys, num_columns)
        What identifies a column, for instance its position.
    counts : ndarray of int64, shape (num_columns,)
        Number of pieces of each column.
    rows : ndarray of int64, shape (num_pieces,)
    values : ndarray of float64, shape (num_pieces, WIDTH)
    """

    columns: Integers
    counts: Integers
    rows: Integers
    values: Floats


def _pieces(columns: Sequence[Integers], rows: Integers, within: Integers, values: Floats) -> _Pieces:
    """Collect cells with equal columns and rows into pieces, each cell at its place ``within``."""
    keys = np.stack([*columns, rows])
    order = np.lexsort(keys[::-1])
    keys = keys[:, order]
    begins = _begins(*keys)
    table = np.zeros((int(begins.sum()), WIDTH))
    table[np.cumsum(begins) - 1, within[order]] = values[order]
    keys = keys[:, begins]
    column_begins = _begins(*keys[:-1])
    counts = np.diff(np.append(np.flatnonzero(column_begins), keys.shape[1]))
    return _Pieces(keys[:-1, column_begins], counts, keys[-1], table)


def _joined(players: Sequence[_Pieces]) -> tuple[Integers, Integers, Integers, Integers]:
    """Return columns, each player's range of them, where each column's pieces start, and the pieces' rows."""
    return (
        np.concatenate([pieces.columns for pieces in players], axis=1),
        _starts(np.array([pieces.columns.shape[1] for pieces in players])),
        _starts(np.concatenate([pieces.counts for pieces in players])),
        np.concatenate([pieces.rows for pieces in players]),
    )


class _Treeplexes:
    """The permutation and the buckets of all players' treeplexes."""

    def __init__(self, parents: Sequence[ArrayLike], offsets: Sequence[ArrayLike]) -> None:
        self.parents = [np.asarray(parent, dtype=np.int64) for parent in parents]
        self.offsets = [np.asarray(offset, dtype=np.int64) for offset in offsets]
        self.num_players = len(self.parents)
        self.counts = [np.diff(offset) for offset in self.offsets]
        self.owners = [np.repeat(np.arange(-1, len(c)), np.append(1, c)) for c in self.counts]
        self.actions = [
            np.arange(o[-1]) - np.append(0, o)[w + 1] for o, w in zip(self.offsets, self.owners, strict=True)
        ]
        levels = [_levels(p, w) for p, w in zip(self.parents, self.owners, strict=True)]
        self.kinds = [np.stack(kind) for kind in zip(levels, self.counts, strict=True)]

    def place(self, lanes: Sequence[_Lanes]) -> _Places:
        """Give every sequence its position."""
        bases, bucket_ranges = [0], [0]
        buckets: list[Integers] = []
        positions: list[Integers] = []
        strides: list[Integers] = []
        bucket_parents: list[Integers] = []
        num_parents = 0
        for player in range(self.num_players):
            level, arity = self.kinds[player]
            group, slot, lane = lanes[player].group, lanes[player].slot, lanes[player].lane
            order = np.lexsort((lane, slot, group, group < 0, arity, level))
            begins = _begins(level[order], arity[order])
            bucket = np.cumsum(begins) - 1
            firsts = np.flatnonzero(begins)
            # Every WIDTH lanes of a slot take WIDTH places, whether all are filled or not; other infosets take one
            # each.
            alone = group[order] < 0
            width = np.where(alone, 1, WIDTH * _begins(bucket, group[order], slot[order]))
            place = np.cumsum(width) - np.where(alone, 1, WIDTH)
            size = np.bincount(bucket, weights=width, minlength=len(firsts)).astype(np.int64)
            place += np.where(alone, 0, lane[order]) - (np.cumsum(size) - size)[bucket]
            size = np.where(size < WIDTH, size, _rounded_up(size))
            starts = bases[-1] + WIDTH + _starts(_rounded_up(size * arity[order][firsts]))
            parent_starts = num_parents + _starts(size)
            first_position = np.zeros(len(order), dtype=np.int64)
            stride = np.zeros(len(order), dtype=np.int64)
            first_position[order] = starts[bucket] + place
            stride[order] = size[bucket]
            owner = self.owners[player][1:]
            position = np.append(bases[-1], first_position[owner] + self.actions[player][1:] * stride[owner])
            # Empty places hang under a position that is no sequence: its plan and its gradient stay zero.
            parent = np.full(size.sum(), bases[-1] + 1)
            parent[parent_starts[bucket] - num_parents + place] = position[self.parents[player][order]]
            positions.append(position)
            strides.append(np.append(0, stride[owner]))
            bucket_parents.append(parent)
            buckets.append(np.stack([starts[:-1], size, arity[order][firsts], parent_starts[:-1]], axis=1))
            num_parents = int(parent_starts[-1])
            bases.append(int(starts[-1]))
            bucket_ranges.append(bucket_ranges[-1] + len(firsts))
        fields = {
            "num_players": self.num_players,
            "num_sequences": tuple(len(position) for position in positions),
            "positions": tuple(positions),
            "bases": _unsigned(bases),
            "buckets": _unsigned(np.concatenate(buckets)),
            "bucket_ranges": _unsigned(bucket_ranges),
            "parents": _unsigned(np.concatenate(bucket_parents)),
        }
        return _Places(positions, strides, fields)


@dataclass(frozen=True, eq=False)
class _Places:
    """What :meth:`_Treeplexes.place` found.

    Attributes
    ----------
    positions, strides : list of ndarray of int64, each shape (num_sequences,)
        Position of each sequence, and distance to the position of the same infoset's next action.
    fields : dict
        The fields of the layout that do not depend on the payoffs.
    """

    positions: list[Integers]
    strides: list[Integers]
    fields: dict[str, Any]


@dataclass(frozen=True, eq=False)
class _Lanes:
    """Where each infoset of a player stands among isomorphic parts of the game; see :func:`_isomorphic_lanes`.

    Attributes
    ----------
    group, slot, lane : ndarray of int64, shape (num_infosets,)
        Number of the group of ``WIDTH`` isomorphic parts or -1; number within its part, or within all parts if it has
        no group; number of its part in the group.
    """

    group: Integers
    slot: Integers
    lane: Integers


def _no_lanes(num_infosets: int) -> _Lanes:
    return _Lanes(np.full(num_infosets, -1), np.arange(num_infosets), np.zeros(num_infosets, dtype=np.int64))


def _isomorphic_lanes(treeplexes: _Treeplexes, rows: Integers, columns: Integers) -> list[_Lanes]:
    """Find parts of a two-player game with the same shape, to put corresponding infosets next to each other.

    A part is a set of infosets that payoffs connect (a poker game's round after one public card and betting sequence,
    say). Where ``WIDTH`` parts have the same shape, the payoff's cells fall into diagonal runs, which need one index
    for ``WIDTH`` cells and no gathering. Shapes are compared by hash values, and infosets correspond in the user's
    order: a wrong or missed match costs speed, nothing else.
    """
    sizes = [len(parent) for parent in treeplexes.parents]
    owners = treeplexes.owners[0][rows], treeplexes.owners[1][columns]
    inner = (owners[0] >= 0) & (owners[1] >= 0)
    ends = owners[0][inner], owners[1][inner] + sizes[0]
    graph = sparse.coo_array((np.ones(len(ends[0])), ends), shape=(sum(sizes),) * 2)
    num_parts, part = connected_components(graph, directed=False)
    player = np.repeat([0, 1], sizes)
    kinds = np.concatenate(treeplexes.kinds, axis=1)
    order = np.lexsort((np.arange(len(part)), kinds[1], kinds[0], player, part))
    part_sizes = np.bincount(part, minlength=num_parts)
    slot = np.empty(len(part), dtype=np.int64)
    slot[order] = np.arange(len(part)) - np.repeat(_starts(part_sizes)[:-1], part_sizes)
    shape = np.zeros(num_parts, dtype=np.uint64)
    np.add.at(shape, part, _hash(slot, player, kinds[0], kinds[1]))
    cell_actions = treeplexes.actions[0][rows[inner]], treeplexes.actions[1][columns[inner]]
    np.add.at(shape, part[ends[0]], _hash(slot[ends[0]], cell_actions[0], slot[ends[1]], cell_actions[1]))
    shape[part_sizes == 1] = np.flatnonzero(part_sizes == 1)  # infosets without payoffs of their own
    by_shape = np.argsort(shape, kind="stable")
    _, first, repeats = np.unique(shape[by_shape], return_index=True, return_counts=True)
    number = np.arange(num_parts) - np.repeat(first, repeats)
    # A last group that is not full keeps empty lanes, unless it is a single part.
    grouped = (np.repeat(repeats, repeats) - number // WIDTH * WIDTH) > 1
    lane = np.empty(num_parts, dtype=np.int64)
    group = np.empty(num_parts, dtype=np.int64)
    lane[by_shape] = number % WIDTH
    group[by_shape] = np.where(grouped, by_shape[np.arange(num_parts) - number % WIDTH], -1)
    # Infosets outside groups stand part by part.
    slot[order] += np.where(group[part[order]] < 0, np.repeat(_starts(part_sizes)[:-1], part_sizes), 0)
    lanes = []
    for select in (player == 0, player == 1):
        mine = part[select]
        lanes.append(_Lanes(group[mine], slot[select], lane[mine]))
    return lanes


def _hash(*columns: Integers) -> NDArray[np.uint64]:
    """Mix integers into one of 64 bits (the finaliser of MurmurHash3 between multiplications)."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed + column.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(33)
    return mixed


def _levels(parents: Integers, owner: Integers) -> Integers:
    """Return how many own infosets stand above each infoset, by pointer doubling: deep trees take few passes."""
    ancestor = owner[parents]
    levels = np.zeros(len(parents), dtype=np.int64)
    above = np.flatnonzero(ancestor >= 0)
    levels[above] = 1
    while len(above):
        # Both right-hand sides are read before anything is written: each step doubles the distance to ``ancestor``.
        jump = ancestor[above]
        levels[above] += levels[jump]
        ancestor[above] = ancestor[jump]
        above = above[ancestor[above] >= 0]
    return levels


def _distinct(values: Floats) -> tuple[Floats, Integers]:
    """Return the distinct rows of a matrix, and for each row which it is."""
    rows = np.ascontiguousarray(values).view(f"V{8 * WIDTH}").ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    return values[first], inverse.ravel()


def _begins(*keys: Integers) -> NDArray[np.bool_]:
    """Mark where a run of equal keys begins."""
    different = np.any(np.diff(np.stack(keys), axis=1) != 0, axis=0)
    return np.concatenate([[True], different])[: len(keys[0])]


def _rounded_up(counts: Integers) -> Integers:
    return -(-counts // WIDTH) * WIDTH


def _starts(counts: Integers) -> Integers:
    """Return the running sum of counts with a zero in front."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _unsigned(values: ArrayLike) -> Unsigned:
    return np.ascontiguousarray(values, dtype=np.uint32)
