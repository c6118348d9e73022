"""The memory layout of a game in the compiled kernel.

The kernel keeps all players' sequences in one array. A player's part starts with the empty sequence, followed by one
*bucket* for each combination of level (own decisions above) and number of actions. Inside a bucket, sequences are
action-major: action ``j`` of the bucket's ``i``-th infoset is at ``start + j * count + i``, so that a vector register
holds the same action of neighbouring infosets. Buckets are padded to whole registers. Index arrays are unsigned,
because numba tests every signed index for wrap-around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike

from ...seqform.factored import FactoredPayoff
from ...seqform.sequence_form import SequenceForm
from ..team import team_arrays
from .arrays import (
    JOB,
    BranchArrays,
    GameArrays,
    InflowArrays,
    LeafArrays,
    PayoffArrays,
    PolytopeArrays,
)
from .branches import find_branches
from .factors import Inflows, factored_parts
from .placement import (
    Branches,
    Cells,
    Floats,
    Integers,
    Lanes,
    Pieces,
    Places,
    Runs,
    Treeplexes,
    Unsigned,
    begins_of,
    distinct,
    isomorphic_lanes,
    joined,
    narrow,
    no_lanes,
    pieces_of,
    unsigned,
    width_of,
)

#: Games with less work are not split into branches: distributing branches takes a microsecond or two.
SMALL = 40_000.0
#: Alignment of the arrays of branches, in numbers, so that no two threads write to the same cache line.
_APART = 16


@dataclass(frozen=True, eq=False)
class KernelLayout:
    """A game as the kernel's flat arrays, and the permutation between them and the user's order.

    A *position* is an index into the kernel's arrays over all players' sequences.

    Attributes
    ----------
    positions : tuple of ndarray of int64, each shape (num_sequences[i],)
        The position of each sequence of a player, in the user's order.
    game : GameArrays
        The arrays that the compiled functions read. Payoffs are those of the row's player, multiplied by chance.
    inflow : csr_array, shape (num_infosets of all players, size)
        The inflows of infosets in flows, as a matrix; see :class:`~treeplex.solvers.regret.factors.Inflows`.
    num_factors : int
        Length of the vector of factors; 0 if the payoff is not factored.
    unit : float
        The largest payoff, which is the unit of all payoffs here, so that the loop does not depend on their scale.
    number : type
        The type of the numbers here and of the kernel's vectors: float64 or float32.
    """

    positions: tuple[Integers, ...]
    game: GameArrays
    inflow: Any
    num_factors: int
    unit: float
    number: Any = np.float64

    @property
    def num_players(self) -> int:
        """Number of players."""
        return len(self.positions)

    @property
    def num_sequences(self) -> tuple[int, ...]:
        """Each player's number of sequences, including the empty one."""
        return tuple(map(len, self.positions))

    @property
    def bases(self) -> Unsigned:
        """The position of each player's empty sequence, followed by the total length."""
        bases: Unsigned = self.game.polytopes.bases
        return bases

    @property
    def buckets(self) -> Unsigned:
        """For each bucket: first position, number of infosets, number of actions, first entry in :attr:`parents`."""
        buckets: Unsigned = self.game.polytopes.buckets
        return buckets

    @property
    def parents(self) -> Unsigned:
        """The position of each infoset's parent sequence, in the order of buckets; empty for flow polytopes."""
        parents: Unsigned = self.game.polytopes.parents
        return parents

    @property
    def num_branches(self) -> int:
        """The number of branches that iterations process separately; 0 in small games."""
        return len(self.game.polytopes.roots) // self.num_players - 1

    def branches(self) -> BranchArrays | None:
        """Return the arrays that threads share in one run with branches; ``None`` without branches."""
        count = self.num_branches
        if not count:
            return None
        trunk = int(np.diff(self.game.polytopes.shares.astype(np.int64))[:: 1 + count].max())
        stride = -(-trunk // _APART) * _APART
        return BranchArrays(
            team=team_arrays(count),
            job=np.zeros(1, dtype=JOB)[0],
            decays=np.full(self.num_players, -1.0),
            arrivals=np.zeros(count * stride, dtype=self.number),
            stride=np.uint64(stride),
        )

    @property
    def width(self) -> int:
        """The number of lanes in a vector register."""
        return width_of(self.number)

    @property
    def size(self) -> int:
        """Length of the kernel's vectors."""
        return int(self.bases[-1])

    def reach(self, plan: Floats, first: int, count: int) -> Floats:
        """Return the weights with which a kernel vector reaches ``count`` infosets, starting at place ``first``."""
        if len(self.parents):
            return plan[self.parents[first : first + count]]
        # Without slicing the sparse matrix, which would take most of the time in games with many small levels.
        starts = self.inflow.indptr[first : first + count + 1]
        inflows = slice(int(starts[0]), int(starts[-1]))
        amounts = self.inflow.data[inflows] * plan[self.inflow.indices[inflows]]
        owners = np.repeat(np.arange(count), np.diff(starts))
        return np.bincount(owners, weights=amounts, minlength=count).astype(np.float64, copy=False)

    def fill_reaches(self, plans: Floats) -> None:
        """Write reaches and copies of the empty sequences into a flow's kernel vector of plans or sums of plans."""
        if not len(self.parents):
            for base in self.bases[:-1].tolist():
                plans[base : base + self.width] = plans[base]
            for start, count, arity, first in self.buckets.tolist():
                last = start + count * arity
                plans[last : last + count] = self.reach(plans, first, count)

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
        return vector[self.positions[player]].astype(np.float64, copy=False)

    def from_user(self, player: int, vector: ArrayLike, out: Floats | None = None) -> Floats:
        """Write a vector over a player's sequences into a kernel vector and return that.

        Parameters
        ----------
        player : int
        vector : array_like of float, shape (num_sequences[player],)
        out : ndarray of float64, shape (size,), optional
            Kernel vector to write into; by default a new one of zeros. Other players' parts are not changed.

        Returns
        -------
        ndarray of float64, shape (size,)
        """
        out = np.zeros(self.size) if out is None else out
        out[self.positions[player]] = vector
        return out


def build_layout(sequence_form: SequenceForm, number: Any = np.float64) -> KernelLayout:
    """Lay out a sequence form for the kernel.

    Parameters
    ----------
    sequence_form : SequenceForm
    number : type
        The type of the kernel's vectors, float64 or float32.

    Returns
    -------
    KernelLayout
    """
    offsets = [treeplex.offsets for treeplex in sequence_form.treeplexes]
    if all(treeplex.single_parent for treeplex in sequence_form.treeplexes):
        treeplexes = Treeplexes([treeplex.parents for treeplex in sequence_form.treeplexes], offsets, number=number)
    else:
        inflows = [treeplex.inflow for treeplex in sequence_form.treeplexes]
        depths = [treeplex.depths for treeplex in sequence_form.treeplexes]
        treeplexes = Treeplexes([], offsets, inflows, depths, number)
    if sequence_form.factored is not None:
        return _factored_layout(treeplexes, sequence_form.factored)
    leaves = sequence_form.leaves
    if leaves is not None:
        return layout_from_leaves(treeplexes, leaves.sequences, leaves.chance, leaves.payoffs)
    B = None if sequence_form.is_zero_sum else sequence_form.payoff_matrix(1)
    return layout_from_matrices(treeplexes, sequence_form.A, B)


def layout_from_matrices(treeplexes: Treeplexes, A: Any, B: Any = None) -> KernelLayout:
    """Lay out a two-player game.

    Parameters
    ----------
    treeplexes : Treeplexes
    A : sparse array or array_like, shape (player 0's sequences, player 1's sequences)
        Player 0's payoff, multiplied by chance.
    B : sparse array or array_like, the same shape, optional
        Player 1's payoff; by default ``-A``.
    """
    A = sparse.coo_array(A)
    B = -A if B is None else sparse.coo_array(B)
    rows, columns = (np.concatenate([A.coords[axis], B.coords[axis]]).astype(np.int64) for axis in (0, 1))
    payoffs = np.zeros((2, len(rows)))
    payoffs[0, : A.nnz], payoffs[1, A.nnz :] = A.data, B.data
    unit = _largest(payoffs)
    return _two_player_layout(treeplexes, *_cells_of(treeplexes, rows, columns, payoffs / unit), unit)


def layout_from_leaves(
    treeplexes: Treeplexes, sequences: ArrayLike, chance: ArrayLike, payoffs: ArrayLike
) -> KernelLayout:
    """Lay out a game of any number of players from its leaves.

    Parameters
    ----------
    treeplexes : Treeplexes
    sequences : array_like of int, shape (num_leaves, num_players)
        The last sequence of each player before the leaf.
    chance : array_like of float, shape (num_leaves,)
    payoffs : array_like of float, shape (num_leaves, num_players)
        Not multiplied by chance.
    """
    leaves = np.asarray(sequences)
    amounts = np.asarray(payoffs, dtype=np.float64)
    unit = _largest(amounts)
    weighted = amounts / unit
    weighted *= np.asarray(chance, dtype=np.float64)[:, None]
    num_players = weighted.shape[1]
    if num_players == 2:
        cells = _cells_of(treeplexes, leaves[:, 0], leaves[:, 1], weighted.T)
        del weighted
        return _two_player_layout(treeplexes, *cells, unit)
    places = _unplaced(treeplexes)
    leaves, inverse = np.unique(leaves, axis=0, return_inverse=True)
    payoff_sums = np.stack([np.bincount(inverse.ravel(), weights=u, minlength=len(leaves)) for u in weighted.T], axis=1)
    positions = np.stack([places.positions[i][leaves[:, i]] for i in range(num_players)], axis=1)
    found = LeafArrays(unsigned(positions), payoff_sums)
    return _laid_out(treeplexes, places, unit, _no_payoffs(), leaves=_ready(found, treeplexes.number))


def _no_payoffs() -> PayoffArrays:
    """Return empty arrays of payoff blocks of two actions against two."""
    none, numbers = np.zeros(0, dtype=np.uint32), np.zeros(0)
    return PayoffArrays(
        patterns=numbers,
        block_columns=none.reshape(0, 3),
        block_ranges=np.zeros(3, dtype=np.uint32),
        block_starts=np.zeros(1, dtype=np.uint32),
        blocks=none,
    )


def _laid_out(
    treeplexes: Treeplexes,
    places: Places,
    unit: float,
    payoffs: PayoffArrays,
    num_factors: int = 0,
    **others: Any,
) -> KernelLayout:
    """Assemble a layout from places and payoffs; missing matrices are empty."""
    number = treeplexes.number
    flows, inflow = None, sparse.csr_array((0, 0))
    if treeplexes.inflows:
        *arrays, inflow = Inflows.of(treeplexes, places)
        flows = _ready(InflowArrays(*arrays), number)
    polytopes = PolytopeArrays(
        places.bases, places.buckets, places.bucket_ranges, places.roots, places.shares, places.parents, None
    )
    parts: dict[str, Any] = {
        "runs": Runs.none(number),
        "tiles": Runs.none(number),
        "cells": Cells.none(number),
        "factored": None,
        "leaves": None,
    }
    ready = _ready(polytopes, number)._replace(inflow=flows)
    game = GameArrays(ready, _ready(payoffs, number), **(parts | others))
    return KernelLayout(tuple(places.positions), game, inflow, num_factors, unit, number)


def _ready(arrays: Any, number: Any) -> Any:
    """Return arrays as compiled functions require them, with floats of the given type and unchanged indices."""

    def ready(array: Any) -> Any:
        kind = number if array.dtype.kind == "f" else None
        return np.require(array, dtype=kind, requirements=["C", "A", "W", "E"])

    return arrays._make(None if array is None else ready(array) for array in arrays)


def _factored_layout(treeplexes: Treeplexes, factored: FactoredPayoff) -> KernelLayout:
    """Lay out a two-player zero-sum game with factored payoffs."""
    places = _unplaced(treeplexes)
    parts = factored_parts(treeplexes, places, factored)
    return _laid_out(treeplexes, places, factored.scale, _no_payoffs(), **parts)


def _unplaced(treeplexes: Treeplexes) -> Places:
    """Assign a position to every sequence, without grouping isomorphic infosets."""
    return treeplexes.place([no_lanes(len(count)) for count in treeplexes.counts])


def _cells_of(
    treeplexes: Treeplexes, rows: Integers, columns: Integers, payoffs: Floats
) -> tuple[tuple[Integers, Integers], Floats]:
    """Return the distinct cells of a two-player game: both players' sequences, and payoffs of shape (2, num_cells)."""
    num_columns = int(treeplexes.offsets[1][-1])
    cell = rows.astype(np.int64)
    cell *= num_columns
    cell += columns
    order = np.argsort(cell, kind="stable")
    cell = cell[order]
    begins = begins_of(cell)
    if begins.all():
        payoffs = payoffs[:, order]
        payoffs += 0.0  # like a sum, this turns negative zeros into positive ones
    else:
        owner = np.empty(len(cell), dtype=np.int64)
        owner[order] = np.cumsum(begins) - 1
        payoffs = np.stack([np.bincount(owner, weights=u) for u in payoffs])
        cell = cell[begins]
    del order
    return (narrow(cell // num_columns), narrow(cell % num_columns)), payoffs


def _two_player_layout(
    treeplexes: Treeplexes, sequences: tuple[Integers, Integers], payoffs: Floats, unit: float
) -> KernelLayout:
    """Lay out a two-player game from its distinct, ordered cells."""
    work = treeplexes.work(*sequences)
    branches = Branches.none(treeplexes.counts)
    if work.sum() >= SMALL and not treeplexes.inflows:
        branches = find_branches(treeplexes, *sequences, work)
    lanes = isomorphic_lanes(treeplexes, *sequences, branches)
    places = treeplexes.place(lanes, branches)
    runs, blocks, tiles, cells = _in_pieces(treeplexes, sequences, payoffs, branches, lanes[0], places)
    patterns, pattern = distinct(np.concatenate([pieces.values for pieces in blocks]))
    block_columns, block_ranges, block_starts, block_rows = joined(blocks)
    payoff_arrays = _no_payoffs()._replace(
        patterns=patterns.ravel(),
        block_columns=unsigned(block_columns.T),
        block_ranges=unsigned(block_ranges),
        block_starts=unsigned(2 * block_starts),
        blocks=unsigned(np.stack([block_rows, treeplexes.width * pattern], axis=1).ravel()),
    )
    runs_of, tiles_of = (Runs.of(one, treeplexes.number) for one in (runs, tiles))
    cells_of = Cells.of(cells, treeplexes.number)
    return _laid_out(treeplexes, places, unit, payoff_arrays, runs=runs_of, tiles=tiles_of, cells=cells_of)


def _in_pieces(
    treeplexes: Treeplexes,
    sequences: tuple[Integers, Integers],
    payoffs: Floats,
    branches: Branches,
    lanes: Lanes,
    places: Places,
) -> tuple[list[Pieces], list[Pieces], list[Pieces], list[Pieces]]:
    """Return the cells by share as diagonal runs, blocks of two actions against two, tiles and single cells.

    The cells of player 0's payoff come first, then those of player 1's; `lanes` are player 0's. Arrays over all cells
    use narrow types, since there may be tens of millions of cells.
    """
    shares = [
        narrow(np.append(share, 0)[owner])[of_player]
        for share, owner, of_player in zip(branches.shares, treeplexes.owners, sequences, strict=True)
    ]
    positions, owners = (
        [narrow(of_player[player])[sequences[player]] for player in (0, 1)]
        for of_player in (places.positions, treeplexes.owners)
    )
    inner = (owners[0] >= 0) & (owners[1] >= 0)
    in_run = inner.copy()
    in_run[inner] = lanes.group[owners[0][inner]] >= 0  # the two infosets of a cell belong to the same part
    lane = np.where(in_run, np.append(lanes.lane, 0).astype(np.int8)[owners[0]], np.int8(0))
    in_block = inner & ~in_run
    for player in (0, 1):
        in_block[in_block] = treeplexes.counts[player][owners[player][in_block]] == 2
    _, inverse, count = np.unique(
        owners[0][in_block].astype(np.int64) * len(treeplexes.owners[1]) + owners[1][in_block],
        return_inverse=True,
        return_counts=True,
    )
    in_block[in_block] = count[inverse.ravel()] > 2  # out of four cells
    del inner, owners, inverse, count
    runs: list[Pieces] = []
    blocks: list[Pieces] = []
    tiles: list[Pieces] = []
    cells: list[Pieces] = []
    width = treeplexes.width

    def pieces(
        own: int, chosen: Any, keys: Sequence[Integers], rows: Integers, within: Integers, size: int = width
    ) -> list[Pieces]:
        found = pieces_of([shares[own][chosen], *keys], rows, within, payoffs[own][chosen], size)
        return found.by_share(branches.num_shares)

    def infosets(player: int) -> tuple[Integers, Integers, Integers]:
        """Return a player's actions, strides and positions of first actions for the cells in blocks."""
        action, stride = narrow(treeplexes.actions[player]), narrow(places.strides[player])
        first = narrow(places.positions[player]) - action * stride
        sequence = sequences[player][in_block]
        return action[sequence], stride[sequence], first[sequence]

    for own, other in ((0, 1), (1, 0)):
        at = lane[in_run]
        runs += pieces(own, in_run, [positions[other][in_run] - at], positions[own][in_run] - at, at)
        (action, stride, first), (reply, apart, replies) = infosets(own), infosets(other)
        apart += replies
        blocks += pieces(own, in_block, [replies, apart, stride], first, 2 * action + reply)
        del at, action, stride, first, reply, apart, replies
        left = np.flatnonzero(~(in_run | in_block) & (payoffs[own] != 0.0))
        mine, theirs = positions[own][left], positions[other][left]
        row, column = mine % width, theirs % width
        # A tile with few cells would waste memory.
        corner = (mine - row).astype(np.int64) * int(places.bases[-1]) + (theirs - column)
        _, tile, count = np.unique(corner, return_inverse=True, return_counts=True)
        full = (count >= width)[tile.ravel()]
        row, column, mine, theirs = row[full], column[full], mine[full], theirs[full]
        tiles += pieces(own, left[full], [theirs - column], mine - row, width * column + row, width**2)
        alone = left[~full]
        cells += pieces(own, alone, [positions[other][alone]], positions[own][alone], np.zeros_like(alone))
    return runs, blocks, tiles, cells


def _largest(payoffs: Floats) -> float:
    return float(np.abs(payoffs).max(initial=0.0)) or 1.0
