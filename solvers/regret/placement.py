"""Where every sequence stands in the kernel's arrays: levels, buckets, and isomorphic parts side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from ...seqform.polytope import depths_of
from .branches import Branches, hashed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Unsigned = NDArray[np.uint32]

# Cells that are hashed at once: some hundred bytes each.
_AT_ONCE = 2**18
# Bytes of a vector register; how many numbers it holds is how many cells a run of the payoff has.
REGISTER = 32


def width_of(number: Any) -> int:
    """Return how many numbers of a type a vector register holds."""
    return REGISTER // int(np.dtype(number).itemsize)


class Treeplexes:
    """The permutation and the buckets of all players' treeplexes.

    Parameters
    ----------
    parents : array_like of int, one a player
        The parent sequence of each infoset; not read of flows.
    offsets : array_like of int, one a player
        Where each infoset's sequences begin.
    inflows : csr_array, one a player, and depths : ndarray of int, one a player
        For flow polytopes: what leads to each infoset, and how many levels lie above it. Given for all players or none.
    number : type
        Of the kernel's vectors.
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

    def place(self, lanes: Sequence[Lanes], branches: Branches | None = None) -> Places:
        """Give every sequence its position."""
        flow = len(self.inflows) > 0
        full = self.width
        branches = Branches.none(self.counts) if branches is None else branches
        # Runs may begin before the first position that they are about, and end after the last.
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
            # The lanes of a slot take as many places as a register has, whether all are filled or not; other infosets
            # take one each.
            alone = group[order] < 0
            width = np.where(alone, 1, full * begins_of(bucket, group[order], slot[order]))
            place = np.cumsum(width) - np.where(alone, 1, full)
            size = np.bincount(bucket, weights=width, minlength=len(firsts)).astype(np.int64)
            place += np.where(alone, 0, lane[order]) - (np.cumsum(size) - size)[bucket]
            size = _rounded_up(size, full)
            # The reaches of a flow's infosets stand behind their last actions.
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
                # Empty places have a parent position without a sequence, whose plan and gradient stay zero: one of the
                # trunk or, so that threads write to none in common, themselves.
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
    """What :meth:`Treeplexes.place` found.

    Attributes
    ----------
    positions, strides : list of ndarray of int64, each shape (num_sequences,)
        Position of each sequence, and distance to the position of the same infoset's next action.
    infosets, reaches : list of ndarray of int64, each shape (num_infosets,)
        Place of each infoset, counted over all players' buckets; in flows the position of its reach.
    bases, buckets, bucket_ranges, roots, shares, parents : ndarray of uint32
        As :class:`~treeplex.solvers.regret.arrays.PolytopeArrays` has them.
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
    """Where each infoset of a player stands among isomorphic parts of the game; see :func:`isomorphic_lanes`.

    Attributes
    ----------
    group, slot, lane : ndarray of int64, shape (num_infosets,)
        Number of the group of isomorphic parts or -1; number within its part, or within all parts if it has
        no group; number of its part in the group.
    """

    group: Integers
    slot: Integers
    lane: Integers


def no_lanes(num_infosets: int) -> Lanes:
    """Return the lanes of a player none of whose infosets are put side by side."""
    return Lanes(np.full(num_infosets, -1), np.arange(num_infosets), np.zeros(num_infosets, dtype=np.int64))


def isomorphic_lanes(treeplexes: Treeplexes, rows: Integers, columns: Integers, branches: Branches) -> list[Lanes]:
    """Find parts of a two-player game with the same shape, to put corresponding infosets next to each other.

    A part is a set of infosets that payoffs connect (a poker game's round after one public card and betting sequence,
    say). Where as many parts as a register has numbers have the same shape, the payoff's cells fall into diagonal runs,
    which need one index for all and no gathering. Parts of different branches stay apart. Shapes are compared by hash
    values, and infosets correspond in the user's order: a wrong or missed match costs speed, nothing else.
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
    shape[part_sizes == 1] = np.flatnonzero(part_sizes == 1)  # infosets without payoffs of their own
    by_shape = np.argsort(shape, kind="stable")
    _, first, repeats = np.unique(shape[by_shape], return_index=True, return_counts=True)
    number = np.arange(num_parts) - np.repeat(first, repeats)
    # A last group that is not full keeps empty lanes, unless it is a single part.
    grouped = (np.repeat(repeats, repeats) - number // width * width) > 1
    lane = np.empty(num_parts, dtype=np.int64)
    group = np.empty(num_parts, dtype=np.int64)
    lane[by_shape] = number % width
    group[by_shape] = np.where(grouped, by_shape[np.arange(num_parts) - number % width], -1)
    # Infosets outside groups stand part by part. Those that meet the same ones of the opponent stand side by side, as
    # after one betting sequence those with one card each do, so that what the two pay each other falls into tiles.
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
    """Return the running sum of counts with a zero in front."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def narrow(values: Any) -> Any:
    """Return integers in 32 bits, which number what a game may have at most."""
    return values.astype(np.int32)


def unsigned(values: ArrayLike) -> Unsigned:
    """Return values as the index arrays of the kernel."""
    return np.ascontiguousarray(values, dtype=np.uint32)
