"""The memory layout of a game in the compiled kernel.

The kernel keeps all players' sequences in one array. A player's part starts with the empty sequence and goes on with one
*bucket* per level (own decisions above) and number of actions. Inside a bucket sequences are action-major: action ``j`` of the
bucket's ``i``-th infoset stands at ``start + j * count + i``, so that a pass over a bucket is a few loops over contiguous
memory. Index arrays are unsigned, because numba tests every signed index for wrap-around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from ...seqform.sequence_form import SequenceForm

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Unsigned = NDArray[np.uint32]


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
    columns : ndarray of uint32, shape (num_columns,)
        Two players: the opponent's sequences that a player's payoff depends on, first player 0's opponent's, then player
        1's (``column_ranges``). Column ``c`` adds ``values[k]`` to position ``rows[k]`` for each ``k`` in
        ``column_starts[c]:column_starts[c + 1]``.
    column_ranges, column_starts, rows : ndarray of uint32
    values : ndarray of float64
        Payoffs to the row's player, chance multiplied in.
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
    columns: Unsigned
    column_ranges: Unsigned
    column_starts: Unsigned
    rows: Unsigned
    values: Floats
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
    if sequence_form.num_players != 2:
        leaves = sequence_form.leaves
        assert leaves is not None  # only two-player games can come without leaves
        return layout_from_leaves(parents, offsets, leaves.sequences, leaves.chance, leaves.payoffs)
    A = sequence_form.A
    B = None if sequence_form.is_zero_sum else sequence_form.payoff_matrix(1)
    return layout_from_matrices(parents, offsets, A, B)


def layout_from_matrices(parents: Sequence[ArrayLike], offsets: Sequence[ArrayLike], A: Any, B: Any = None) -> KernelLayout:
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
    treeplexes = _Treeplexes(parents, offsets)
    A = sparse.csr_array(A)
    B = -A if B is None else sparse.csr_array(B)
    # Column by column of the opponent: an opponent's sequence that is not reached is skipped with all its entries.
    products = [_columns(A, 0, 1, treeplexes), _columns(B.T, 1, 0, treeplexes)]
    columns, counts, rows, values = (np.concatenate(part) for part in zip(*products, strict=True))
    return KernelLayout(
        **treeplexes.fields(),
        columns=_unsigned(columns),
        column_ranges=_unsigned([0, len(products[0][0]), len(columns)]),
        column_starts=_unsigned(_starts(counts)),
        rows=_unsigned(rows),
        values=values,
        leaf_positions=np.zeros((0, 2), dtype=np.uint32),
        leaf_payoffs=np.zeros((0, 2)),
    )


def layout_from_leaves(
    parents: Sequence[ArrayLike], offsets: Sequence[ArrayLike], sequences: ArrayLike, chance: ArrayLike, payoffs: ArrayLike
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
    if num_players == 2:
        shape = [int(np.asarray(offset)[-1]) for offset in offsets]
        A, B = (sparse.csr_array(sparse.coo_array((u, (leaves[:, 0], leaves[:, 1])), shape=shape)) for u in weighted.T)
        return layout_from_matrices(parents, offsets, A, B)
    treeplexes = _Treeplexes(parents, offsets)
    leaves, inverse = np.unique(leaves, axis=0, return_inverse=True)
    payoff_sums = np.stack([np.bincount(inverse.ravel(), weights=u, minlength=len(leaves)) for u in weighted.T], axis=1)
    positions = np.stack([treeplexes.positions[i][leaves[:, i]] for i in range(num_players)], axis=1)
    nothing = np.zeros(0, dtype=np.uint32)
    return KernelLayout(
        **treeplexes.fields(),
        columns=nothing,
        column_ranges=np.zeros(3, dtype=np.uint32),
        column_starts=np.zeros(1, dtype=np.uint32),
        rows=nothing,
        values=np.zeros(0),
        leaf_positions=_unsigned(positions),
        leaf_payoffs=np.ascontiguousarray(payoff_sums),
    )


class _Treeplexes:
    """The permutation and the buckets of all players' treeplexes."""

    def __init__(self, parents: Sequence[ArrayLike], offsets: Sequence[ArrayLike]) -> None:
        self.positions: list[Integers] = []
        self.bases = [0]
        buckets: list[Integers] = []
        bucket_parents: list[Integers] = []
        bucket_ranges = [0]
        num_infosets = 0
        for player_parents, player_offsets in zip(parents, offsets, strict=True):
            parent = np.asarray(player_parents, dtype=np.int64)
            offset = np.asarray(player_offsets, dtype=np.int64)
            counts = np.diff(offset)
            levels = _levels(parent, counts)
            order = np.lexsort((counts, levels))
            # A bucket is a maximal run of equal (level, number of actions) in that order.
            keys = np.stack([levels[order], counts[order]])
            firsts = np.flatnonzero(np.concatenate([[True], np.any(keys[:, 1:] != keys[:, :-1], axis=0)])[: len(order)])
            sizes = np.diff(np.append(firsts, len(order)))
            arity = counts[order][firsts]
            starts = self.bases[-1] + 1 + _starts(sizes * arity)
            bucket = np.repeat(np.arange(len(firsts)), sizes)
            place = np.arange(len(order)) - firsts[bucket]
            first_position = np.empty(len(order), dtype=np.int64)
            stride = np.empty(len(order), dtype=np.int64)
            first_position[order] = starts[:-1][bucket] + place
            stride[order] = sizes[bucket]
            infoset = np.repeat(np.arange(len(parent)), counts)
            action = np.arange(1, offset[-1]) - offset[infoset]
            position = np.append(self.bases[-1], first_position[infoset] + action * stride[infoset])
            self.positions.append(position)
            self.bases.append(int(starts[-1]))
            buckets.append(np.stack([starts[:-1], sizes, arity, num_infosets + firsts], axis=1))
            bucket_parents.append(position[parent[order]])
            bucket_ranges.append(bucket_ranges[-1] + len(firsts))
            num_infosets += len(order)
        self.buckets = np.concatenate(buckets)
        self.bucket_ranges = bucket_ranges
        self.parents = np.concatenate(bucket_parents)

    def fields(self) -> dict[str, Any]:
        """Return the fields of the layout that do not depend on the payoffs."""
        return {
            "num_players": len(self.positions),
            "num_sequences": tuple(len(position) for position in self.positions),
            "positions": tuple(self.positions),
            "bases": _unsigned(self.bases),
            "buckets": _unsigned(self.buckets),
            "bucket_ranges": _unsigned(self.bucket_ranges),
            "parents": _unsigned(self.parents),
        }


def _levels(parents: Integers, counts: Integers) -> Integers:
    """Return how many own infosets stand above each infoset, by pointer doubling: no level-by-level pass, however deep."""
    owner = np.concatenate([[-1], np.repeat(np.arange(len(parents)), counts)])
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


def _columns(matrix: Any, player: int, opponent: int, treeplexes: _Treeplexes) -> tuple[Integers, Integers, Integers, Floats]:
    """Return a payoff matrix's non-empty columns in kernel order: their positions, entry counts, row positions, values."""
    entries = sparse.coo_array(matrix)
    entries.sum_duplicates()
    kept = entries.data != 0.0
    rows = treeplexes.positions[player][entries.row[kept]]
    columns = treeplexes.positions[opponent][entries.col[kept]]
    order = np.lexsort((rows, columns))
    present, counts = np.unique(columns, return_counts=True)
    return present, counts, rows[order], entries.data[kept][order].astype(np.float64)


def _starts(counts: Integers) -> Integers:
    """Return the running sum of counts with a zero in front."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _unsigned(values: ArrayLike) -> Unsigned:
    return np.ascontiguousarray(values, dtype=np.uint32)
