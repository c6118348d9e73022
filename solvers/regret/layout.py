"""The memory layout of a game in the compiled kernel.

The kernel keeps all players' sequences in one array. A player's part starts with the empty sequence and goes on with
one *bucket* per level (own decisions above) and number of actions. Inside a bucket sequences are action-major: action
``j`` of the bucket's ``i``-th infoset stands at ``start + j * count + i``, so that a vector register takes the same
action of neighbouring infosets; buckets are filled up to whole registers. Index arrays are unsigned, because numba
tests every signed index for wrap-around.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike

from .pieces import (
    Cells,
    Entries,
    FlowPlaces,
    Runs,
    diagonal_pieces,
    distinct,
    inflow_fields,
    joined,
    multiplied_out,
    pieces_of,
)
from .placement import (
    Floats,
    Integers,
    Lanes,
    Places,
    Treeplexes,
    Unsigned,
    isomorphic_lanes,
    no_lanes,
    unsigned,
    width_of,
)

if TYPE_CHECKING:
    from ...seqform.factored import FactoredPayoff
    from ...seqform.sequence_form import SequenceForm


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
        The position of each player's empty sequence; at the end the total length. In flows the ``width`` positions from
        there on stand for it.
    buckets : ndarray of uint32, shape (num_buckets, 4)
        First position, number of infosets, number of actions, first entry in ``parents``. Top-down for each player.
    bucket_ranges : ndarray of uint32, shape (num_players + 1,)
        Player ``i`` owns the buckets ``bucket_ranges[i]:bucket_ranges[i + 1]``.
    parents : ndarray of uint32, shape (num_infosets of all players,)
        The position of each infoset's parent sequence, bucket after bucket. Empty where a player's polytope is a flow.
    inflow_groups, inflow_ranges : ndarray of uint32
        In flows, bucket ``b`` has its infosets in groups of ``width``, of which ``inflow_groups[b]`` is the first;
        group ``k`` has the runs ``inflow_ranges[k]:inflow_ranges[k + 1]``.
    inflow_runs : ndarray of uint32, shape (num_runs, 2)
        Position ``s`` and place ``p``: of the plan at ``s + j``, ``inflow_patterns[p + j]`` leads to the group's
        infoset ``j`` (0 ≤ j < width).
    inflow_patterns : ndarray of float64
        The distinct weights.
    inflow : csr_array, shape (num_infosets of all players, size)
        The same as a matrix, infosets counted as in ``parents``. A flow's bucket holds, behind the positions of its
        last action, the reaches of its infosets, of which inflow may come too.
    runs : Runs
        Two players: diagonal runs of the payoff. Rows are one's own positions, columns the opponent's.
    patterns : ndarray of float
        The distinct payoffs of blocks.
    block_columns : ndarray of uint32, shape (num_block_columns, 3)
        Two players: two actions of an opponent's infoset against two of one's own. The positions of the opponent's two
        actions, and how far one's own second action stands from the first.
    block_ranges, block_starts, blocks : ndarray of uint32
        As for :class:`Runs`: row ``r`` of one's own first action, and place ``p`` of the four payoffs in ``patterns``,
        row by row.
    cells : Cells
        Two players: the payoff's other cells. As in ``runs`` and ``patterns``, payoffs are the row's player's, chance
        multiplied in.
    leaf_positions : ndarray of uint32, shape (num_leaves, num_players)
        Any other number of players: the leaves' sequences. Empty for two.
    leaf_payoffs : ndarray of float64, shape (num_leaves, num_players)
        Payoffs, chance multiplied in.
    holding, paying : Runs
        Two players, payoffs in factors: for player ``i``'s gradient, how much the opponent's positions (columns) hold
        of each factor (rows); and what a unit of each factor (columns) pays at player ``i``'s positions (rows).
    num_factors : int
        Length of the vector of factors, 0 if the payoff is not in factors.
    unit : float
        All payoffs here are in units of this one, the largest: stakes do not matter to the loop.
    number : type
        Of the numbers here, and of the kernel's vectors: float64, or float32.
    """

    _NUMBERS: ClassVar[tuple[str, ...]] = (
        "inflow_patterns", "patterns", "leaf_payoffs",
    )  # fmt: skip

    num_players: int
    num_sequences: tuple[int, ...]
    positions: tuple[Integers, ...]
    bases: Unsigned
    buckets: Unsigned
    bucket_ranges: Unsigned
    parents: Unsigned
    inflow_groups: Unsigned
    inflow_ranges: Unsigned
    inflow_runs: Unsigned
    inflow_patterns: Floats
    inflow: Any
    runs: Runs
    patterns: Floats
    block_columns: Unsigned
    block_ranges: Unsigned
    block_starts: Unsigned
    blocks: Unsigned
    cells: Cells
    leaf_positions: Unsigned
    leaf_payoffs: Floats
    holding: Runs
    paying: Runs
    num_factors: int
    unit: float
    number: Any = np.float64

    def __post_init__(self) -> None:
        for name in self._NUMBERS:
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=self.number))

    @property
    def width(self) -> int:
        """How many numbers a vector register holds."""
        return width_of(self.number)

    @property
    def size(self) -> int:
        """Length of the kernel's vectors."""
        return int(self.bases[-1])

    def reach(self, plan: Floats, first: int, count: int) -> Floats:
        """Return how much of a kernel vector leads to the infosets at ``count`` places from ``first`` on."""
        if len(self.parents):
            return plan[self.parents[first : first + count]]
        # By hand: of many small levels slicing a sparse matrix would take most of the time.
        starts = self.inflow.indptr[first : first + count + 1]
        inflows = slice(int(starts[0]), int(starts[-1]))
        amounts = self.inflow.data[inflows] * plan[self.inflow.indices[inflows]]
        owners = np.repeat(np.arange(count), np.diff(starts))
        return np.bincount(owners, weights=amounts, minlength=count).astype(np.float64, copy=False)

    def fill_reaches(self, plans: Floats) -> None:
        """Write reaches, and what stands for empty sequences, into a flow's kernel vector of plans or sums of plans."""
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
            Kernel vector to write into; by default a new one of zeros. Other players' parts stay as they are.

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
        Of the kernel's vectors, float64 or float32.

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
        return _layout_from_leaves(treeplexes, leaves.sequences, leaves.chance, leaves.payoffs)
    B = None if sequence_form.is_zero_sum else sequence_form.payoff_matrix(1)
    return _layout_from_matrices(treeplexes, sequence_form.A, B)


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
    return _layout_from_matrices(Treeplexes(parents, offsets), A, B)


def _layout_from_matrices(treeplexes: Treeplexes, A: Any, B: Any) -> KernelLayout:
    A = sparse.coo_array(A)
    B = -A if B is None else sparse.coo_array(B)
    rows, columns = (np.concatenate([A.coords[axis], B.coords[axis]]).astype(np.int64) for axis in (0, 1))
    payoffs = np.zeros((2, len(rows)))
    payoffs[0, : A.nnz], payoffs[1, A.nnz :] = A.data, B.data
    unit = _largest(payoffs)
    return _two_player_layout(treeplexes, rows, columns, payoffs / unit, unit)


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
    return _layout_from_leaves(Treeplexes(parents, offsets), sequences, chance, payoffs)


def _layout_from_leaves(
    treeplexes: Treeplexes, sequences: ArrayLike, chance: ArrayLike, payoffs: ArrayLike
) -> KernelLayout:
    leaves = np.asarray(sequences, dtype=np.int64)
    amounts = np.asarray(payoffs, dtype=np.float64)
    unit = _largest(amounts)
    weighted = np.asarray(chance, dtype=np.float64)[:, None] * (amounts / unit)
    num_players = weighted.shape[1]
    if num_players == 2:
        return _two_player_layout(treeplexes, leaves[:, 0], leaves[:, 1], weighted.T, unit)
    places = _placed(treeplexes, [no_lanes(len(count)) for count in treeplexes.counts])
    leaves, inverse = np.unique(leaves, axis=0, return_inverse=True)
    payoff_sums = np.stack([np.bincount(inverse.ravel(), weights=u, minlength=len(leaves)) for u in weighted.T], axis=1)
    positions = np.stack([places.positions[i][leaves[:, i]] for i in range(num_players)], axis=1)
    payoff_fields = _nothing(num_players, treeplexes.number) | {
        "leaf_positions": unsigned(positions),
        "leaf_payoffs": np.ascontiguousarray(payoff_sums),
    }
    return KernelLayout(**places.fields, **payoff_fields, unit=unit, number=treeplexes.number)


def _nothing(num_players: int, number: Any) -> dict[str, Any]:
    """Return the layout's payoff fields where there are none of a kind."""
    none, numbers = np.zeros(0, dtype=np.uint32), np.zeros(0)
    ranges, starts = np.zeros(3, dtype=np.uint32), np.zeros(1, dtype=np.uint32)
    return {
        "runs": Runs.none(number), "patterns": numbers,
        "block_columns": none.reshape(0, 3), "block_ranges": ranges, "block_starts": starts, "blocks": none,
        "cells": Cells.none(number),
        "leaf_positions": none.reshape(0, num_players), "leaf_payoffs": numbers.reshape(0, num_players),
        "holding": Runs.none(number), "paying": Runs.none(number), "num_factors": 0,
    }  # fmt: skip


def _factored_layout(treeplexes: Treeplexes, factored: FactoredPayoff) -> KernelLayout:
    """Lay out a zero-sum game of two players whose payoff is in factors."""
    places = _placed(treeplexes, [no_lanes(len(count)) for count in treeplexes.counts])
    unit = factored.largest or 1.0
    # Each player's factors by its positions.
    sides = [factored.left.T.tocsr() / unit, factored.right]
    width = treeplexes.width
    if treeplexes.inflows:
        flows = FlowPlaces.of(treeplexes, places)
        left, right = (flow.reduced(side) for flow, side in zip(flows, sides, strict=True))
        bases = int(places.fields["bases"][0]), int(places.fields["bases"][1])
        products, left, right = multiplied_out(left, right, factored.num_factors, bases, width)
        runs = Runs.of(
            [
                diagonal_pieces(products.rows, products.positions, products.values, width),
                diagonal_pieces(products.positions, products.rows, -products.values, width),
            ],
            treeplexes.number,
        )
    else:
        runs = Runs.none(treeplexes.number)
        left, right = (
            Entries(side.coords[0].astype(np.int64), positions[side.coords[1]], side.data)
            for side, positions in zip([one.tocoo() for one in sides], places.positions, strict=True)
        )
    # Factors that are left, numbered anew; runs may begin before the first one, and end after the last.
    kept, numbers = np.unique(np.concatenate([left.rows, right.rows]), return_inverse=True)
    numbers = width + numbers.ravel()
    of_sides = numbers[: len(left.rows)], numbers[len(left.rows) :]
    holding, paying = [], []
    for mine, theirs, sign in ((0, 1, 1.0), (1, 0, -1.0)):
        own, other = (left, right)[mine], (left, right)[theirs]
        holding.append(diagonal_pieces(of_sides[theirs], other.positions, other.values, width))
        paying.append(diagonal_pieces(own.positions, of_sides[mine], sign * own.values, width))
    payoff_fields = _nothing(2, treeplexes.number) | {
        "runs": runs,
        "holding": Runs.of(holding, treeplexes.number),
        "paying": Runs.of(paying, treeplexes.number),
        "num_factors": -(-len(kept) // width) * width + 2 * width if len(kept) else 0,
    }
    return KernelLayout(**places.fields, **payoff_fields, unit=unit, number=treeplexes.number)


def _placed(treeplexes: Treeplexes, lanes: Sequence[Lanes]) -> Places:
    """Give every sequence its position, and put down what leads to a flow's infosets."""
    places = treeplexes.place(lanes)
    places.fields.update(inflow_fields(treeplexes, places))
    return places


def _two_player_layout(
    treeplexes: Treeplexes, rows: Integers, columns: Integers, payoffs: Floats, unit: float
) -> KernelLayout:
    """Lay out a two-player game given by cells: the players' sequences and payoffs (2, num_cells), repeats allowed."""
    num_columns = int(treeplexes.offsets[1][-1])
    cell, inverse = np.unique(rows * num_columns + columns, return_inverse=True)
    payoffs = np.stack([np.bincount(inverse.ravel(), weights=u, minlength=len(cell)) for u in payoffs])
    sequences = cell // num_columns, cell % num_columns
    lanes = isomorphic_lanes(treeplexes, *sequences)
    places = _placed(treeplexes, lanes)
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
    width = treeplexes.width
    for own, other in ((0, 1), (1, 0)):
        payoff = payoffs[own]
        starts = positions[other][in_run] - lane, positions[own][in_run] - lane
        runs.append(pieces_of([starts[0]], starts[1], lane, payoff[in_run], width))
        corner = 2 * actions[own][in_block] + actions[other][in_block]
        keys = [key[in_block] for key in (firsts[other], seconds[other], strides[own])]
        blocks.append(pieces_of(keys, firsts[own][in_block], corner, payoff[in_block], width))
        alone = ~(in_run | in_block) & (payoff != 0.0)
        first = np.zeros(alone.sum(), dtype=np.int64)
        cells.append(pieces_of([positions[other][alone]], positions[own][alone], first, payoff[alone], width))
    patterns, pattern = distinct(np.concatenate([pieces.values for pieces in blocks]))
    block_columns, block_ranges, block_starts, block_rows = joined(blocks)
    payoff_fields = _nothing(2, treeplexes.number) | {
        "runs": Runs.of(runs, treeplexes.number),
        "block_columns": unsigned(block_columns.T),
        "block_ranges": unsigned(block_ranges),
        "block_starts": unsigned(2 * block_starts),
        "blocks": unsigned(np.stack([block_rows, width * pattern], axis=1).ravel()),
        "patterns": patterns.ravel(),
        "cells": Cells.of(cells, treeplexes.number),
    }
    return KernelLayout(**places.fields, **payoff_fields, unit=unit, number=treeplexes.number)


def _largest(payoffs: Floats) -> float:
    return float(np.abs(payoffs).max(initial=0.0)) or 1.0
