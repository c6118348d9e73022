"""Flows and factored payoffs in the form of the compiled loop, which uses reaches where that saves numbers.

In a flow, much of what an infoset leads to does not depend on the action: a failed move leaves a player where it was.
And the payoff of a meeting often depends only on the weight with which each player arrives there. Both depend on the
*reach* of an infoset, the weight of the plan that leads to it. The compiled loop therefore stores the reach as an
additional number next to each infoset's sequences, and matrices use it where that takes fewer numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse

from ...seqform.factored import FactoredPayoff
from .arrays import FactorArrays
from .placement import (
    Floats,
    Integers,
    Places,
    Runs,
    Treeplexes,
    begins_of,
    diagonal_pieces,
    distinct,
    pieces_of,
    starts_of,
    unsigned,
)

# The relative difference of two numbers that count as equal.
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
        """Return a selection of the entries."""
        return Entries(self.rows[chosen], self.positions[chosen], self.values[chosen])

    def and_those_of(self, other: Entries) -> Entries:
        """Return the entries of both matrices."""
        pairs = ((getattr(self, name), getattr(other, name)) for name in ("rows", "positions", "values"))
        return Entries(*map(np.concatenate, pairs))


@dataclass(frozen=True, eq=False)
class FlowPlaces:
    """The positions of a flow's sequences and reaches.

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
        The weight with which each sequence leads to each infoset.
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
        """Return a matrix over sequences in which the common part of an infoset's actions is moved to its reach."""
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
        # If the matrix omits an action, its entry is zero and nothing is common. Owner −1 means no infoset.
        whole = (of_group >= 0) & (alike > 1) & (sizes == np.append(self.counts, 0)[of_group])
        left = np.where(whole[group], values - middle[group], values)
        kept = np.abs(left) > _SAME * np.abs(middle[group])
        alone = Entries(rows[kept], self.positions[sequences[kept]], left[kept])
        return alone.and_those_of(Entries(rows[firsts][whole], self.reaches[of_group[whole]], middle[whole]))

    def reduced(self, matrix: Any) -> Entries:
        """Return :meth:`shared`, with a row that is a multiple of an infoset's reach written as one entry."""
        matrix.sort_indices()
        into, ratio = self._reaches_in(matrix)
        found = into >= 0
        others = matrix.copy()
        others.data = np.where(np.repeat(found, np.diff(matrix.indptr)), 0.0, matrix.data)
        others.eliminate_zeros()
        return self.shared(others).and_those_of(Entries(np.flatnonzero(found), self.reaches[into[found]], ratio[found]))

    def _reaches_in(self, matrix: Any) -> tuple[Integers, Floats]:
        """Return, for each row, an infoset whose inflow it is a multiple of, or −1; and the factor."""
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
        # Equal sums identify candidates, whose entries are then compared.
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


def multiplied_out(
    left: Entries, right: Entries, num_factors: int, bases: tuple[int, int], width: int
) -> tuple[Entries, Entries, Entries]:
    """Multiply out factors to which few positions contribute, and those to which only an empty sequence does.

    Parameters
    ----------
    left, right : Entries
        The two players' positions by factor (row).
    num_factors : int
    bases : tuple of int
        The positions of the players' empty sequences, each the first of ``width`` positions that represent it.
    width : int

    Returns
    -------
    Entries, Entries, Entries
        The products, with rows of player 0's positions and columns of player 1's; and the rest of either side.
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
    # Payoffs that depend on one player only are spread over the positions of the other's empty sequence, to form runs.
    spread = np.where(columns == bases[1], columns + rows % width, columns)
    products = Entries(np.where(rows == bases[0], rows + columns % width, rows), spread, product.data)
    others = [side.of(~few[side.rows]) for side in (left, right)]
    return products, others[0], others[1]


def factored_parts(treeplexes: Treeplexes, places: Places, factored: FactoredPayoff) -> dict[str, Any]:
    """Return the factored part of the layout of a two-player zero-sum game, in units of its scale."""
    # Each player's factors by its positions.
    sides = [factored.left.T.tocsr() / factored.scale, factored.right]
    width = treeplexes.width
    if treeplexes.inflows and factored.chained is None:
        flows = FlowPlaces.of(treeplexes, places)
        left, right = (flow.reduced(side) for flow, side in zip(flows, sides, strict=True))
        bases = int(places.bases[0]), int(places.bases[1])
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
    # The remaining factors, renumbered; runs may begin before the first one, and end after the last.
    kept, numbers = np.unique(np.concatenate([left.rows, right.rows]), return_inverse=True)
    chained = np.zeros(0, dtype=np.bool_)
    if factored.chained is not None:
        kept, numbers = np.arange(factored.num_factors), np.concatenate([left.rows, right.rows])
        chained = np.append(np.zeros(width, dtype=np.bool_), factored.chained)
    numbers = width + numbers.ravel()
    of_sides = numbers[: len(left.rows)], numbers[len(left.rows) :]
    holding, paying = [], []
    for mine, theirs, sign in ((0, 1, 1.0), (1, 0, -1.0)):
        own, other = (left, right)[mine], (left, right)[theirs]
        holding.append(diagonal_pieces(of_sides[theirs], other.positions, other.values, width))
        paying.append(diagonal_pieces(own.positions, of_sides[mine], sign * own.values, width))
    return {
        "runs": runs,
        "factored": FactorArrays(Runs.of(holding, treeplexes.number), Runs.of(paying, treeplexes.number), chained)
        if len(kept)
        else None,
        "num_factors": -(-len(kept) // width) * width + 2 * width if len(kept) else 0,
    }


class Inflows(NamedTuple):
    """The inflows of the infosets of flows; see :class:`~treeplex.solvers.regret.arrays.PolytopeArrays`.

    Attributes
    ----------
    groups, ranges : ndarray of uint32
    runs : ndarray of uint32, shape (num_runs, 2)
    patterns : ndarray of float64
    matrix : csr_array, shape (num_infosets of all players, size)
        The same as a matrix. In a flow's bucket, the reaches of its infosets follow the positions of its last
        action; inflow may come from reaches too.
    """

    groups: Any
    ranges: Any
    runs: Any
    patterns: Any
    matrix: Any

    @classmethod
    def of(cls, treeplexes: Treeplexes, places: Places) -> Inflows:
        """Return the inflows of all players' infosets."""
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
