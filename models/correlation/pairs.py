"""The pairs of sequences of two players on which correlation plans are defined."""

from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Indices
from ...seqform.errors import UnsupportedProblemError
from ...seqform.sequence_form import SequenceForm

#: The largest number of pairs of sequences.
MOST_PAIRS = 2_000_000


def spans(firsts: npt.ArrayLike, counts: npt.ArrayLike) -> Indices:
    """Return consecutive integers from each of several numbers, one run after another.

    Parameters
    ----------
    firsts, counts : array_like of int, shape (k,)

    Examples
    --------
    >>> from treeplex.models.correlation import spans
    >>> spans([5, 1], [2, 3]).tolist()
    [5, 6, 1, 2, 3]
    """
    first, count = np.asarray(firsts, dtype=np.int64), np.asarray(counts, dtype=np.int64)
    found: Indices = np.repeat(first - np.cumsum(count) + count, count) + np.arange(count.sum())
    return found


class SequencePairs:
    r"""The relevant pairs of sequences of a two-player game with perfect recall.

    Parameters
    ----------
    form : SequenceForm
        Two players. If it has no leaf table, a pair of sequences at which neither player is paid counts as no leaf.

    Attributes
    ----------
    first, second : ndarray of int64, shape (num_pairs,)
        The sequences of player 0 and player 1 of each pair, in lexicographic order; pair 0 is (∅, ∅).
    starts : ndarray of int64, shape (num_sequences of player 0 + 1,)
        The pairs of the sequence s of player 0 are ``starts[s]:starts[s + 1]``.
    connected : csr_array of bool, shape (num_infosets of player 0, num_infosets of player 1)
        Whether some play goes through both infosets.

    Raises
    ------
    UnsupportedProblemError
        If a player forgets, so that its plans form a flow polytope, or there are more than :data:`MOST_PAIRS` pairs.

    Notes
    -----
    A pair (s, t) is relevant if one of the sequences is empty, or their infosets are connected: B. von Stengel and
    F. Forges, "Extensive-form correlated equilibrium: definition and computational complexity", Mathematics of
    Operations Research 33, 2008.

    Examples
    --------
    >>> from treeplex import SequenceForm
    >>> from treeplex.models.correlation import SequencePairs
    >>> SequencePairs(SequenceForm.from_payoff_matrix([[1, 0], [0, 1]])).num_pairs
    9
    """

    def __init__(self, form: SequenceForm) -> None:
        if not all(treeplex.single_parent for treeplex in form.treeplexes):
            raise UnsupportedProblemError(
                "correlated equilibria need perfect recall, but the plans of a player form a flow polytope"
            )
        self.form = form
        self.connected = _connected(form)
        own, other = form.treeplexes
        # The sequences of player 1 that are relevant to each infoset of player 0: the empty one, and those of the
        # connected infosets.
        linked, owners = self.connected.indices, np.repeat(np.arange(own.num_infosets), np.diff(self.connected.indptr))
        counts = other.num_actions[linked]
        columns = spans(other.offsets[linked], counts)
        sizes = np.bincount(owners, weights=counts, minlength=own.num_infosets).astype(np.int64) + 1
        pattern = np.zeros(int(sizes.sum()), dtype=np.int64)
        ends = np.cumsum(sizes)
        pattern[spans(ends - sizes + 1, sizes - 1)] = columns
        lengths = np.concatenate([[other.num_sequences], np.repeat(sizes, own.num_actions)])
        if lengths.sum() > MOST_PAIRS:
            raise UnsupportedProblemError(
                f"correlated equilibria: the game has {lengths.sum():,} pairs of sequences; expected at most "
                f"{MOST_PAIRS:,}"
            )
        self.starts = np.concatenate([[0], np.cumsum(lengths)])
        self.first = np.repeat(np.arange(own.num_sequences), lengths)
        each = np.repeat(np.arange(own.num_infosets), own.num_actions)
        self.second = np.concatenate(
            [np.arange(other.num_sequences), pattern[spans((ends - sizes)[each], sizes[each])]]
        )
        self._keys = self.first * other.num_sequences + self.second

    @property
    def num_pairs(self) -> int:
        """Number of relevant pairs."""
        return len(self.first)

    def find(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Indices:
        """Return the numbers of pairs, which must be relevant."""
        keys = np.asarray(first, dtype=np.int64) * self.form.treeplexes[1].num_sequences + np.asarray(second)
        found: Indices = np.searchsorted(self._keys, keys)
        return found

    def entries(self, player: int, own: npt.ArrayLike, other: npt.ArrayLike) -> Indices:
        """Return the numbers of pairs of a player's sequences with sequences of the other player."""
        return self.find(own, other) if player == 0 else self.find(other, own)

    def marginal(self, player: int) -> Indices:
        """Return the numbers of the pairs of each sequence of a player with the empty sequence of the other."""
        return self.entries(player, np.arange(self.form.treeplexes[player].num_sequences), 0)

    @cached_property
    def blocks(self) -> tuple[Indices, Indices, Indices, Indices]:
        """The pairs that share out the weight of another pair among the actions of an infoset.

        Returns
        -------
        tuple of four ndarrays of int64, shape (num_blocks,)
            The number of the divided pair, the number of the first pair of the block, the distance between the numbers
            of its pairs, and their number: first the blocks of player 0's infosets, then those of player 1's.
        """
        own, other = self.form.treeplexes
        firsts = own.offsets[:-1]
        sizes = (self.starts[1:] - self.starts[:-1])[firsts]
        rows, each = spans(self.starts[firsts], sizes), np.repeat(np.arange(own.num_infosets), sizes)
        divided = self.find(own.parents[each], self.second[rows])
        mine = divided, rows, sizes[each], own.num_actions[each].astype(np.int64)
        begins = np.isin(self.second, other.offsets[:-1])
        starts = np.flatnonzero(begins)
        each = other.sequence_infosets[self.second[starts]]
        divided = self.find(self.first[starts], other.parents[each])
        theirs = divided, starts, np.ones(len(starts), dtype=np.int64), other.num_actions[each].astype(np.int64)
        parent, first, stride, count = (np.concatenate(both) for both in zip(mine, theirs, strict=True))
        return parent, first, stride, count

    @cached_property
    def equations(self) -> sp.csr_array:
        """The matrix of the von Stengel–Forges polytope {ξ ≥ 0 : matrix · ξ = (1, 0, …, 0)}.

        Row 0 is ξ(∅, ∅); each other row is the sum over a block minus the divided pair.
        """
        parent, first, stride, count = self.blocks
        rows = np.repeat(np.arange(1, len(count) + 1), count)
        within = spans(np.zeros_like(count), count)
        members = np.repeat(first, count) + within * np.repeat(stride, count)
        values = np.concatenate([[1.0], np.ones(len(members)), -np.ones(len(parent))])
        places = (
            np.concatenate([[0], rows, np.arange(1, len(count) + 1)]),
            np.concatenate([[0], members, parent]),
        )
        return sp.csr_array((values, places), shape=(len(count) + 1, self.num_pairs))

    @cached_property
    def triangle(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Two infosets of each player that form a triangle; ``None`` if the game is triangle-free.

        A triangle is a pair of infosets I, I' of player 0 with the same parent sequence, and a pair J, J' of player 1
        with the same parent sequence, where I is connected with J and J', and I' with J. The von Stengel–Forges
        polytope may then have vertices that no distribution over plans has: G. Farina and T. Sandholm, "Polynomial-time
        computation of optimal correlated equilibria in two-player extensive-form games with public chance moves and
        beyond", NeurIPS 2020.
        """
        own, other = self.form.treeplexes
        links = self.connected.tocoo()
        infosets, replies = links.coords
        to_siblings = own.parents[infosets].astype(np.int64) * other.num_infosets + replies
        of_siblings = infosets.astype(np.int64) * other.num_sequences + other.parents[replies]
        several = np.ones(len(infosets), dtype=bool)
        for keys in (to_siblings, of_siblings):
            _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
            several &= counts[inverse.ravel()] > 1
        found = np.flatnonzero(several)
        if not len(found):
            return None
        one = found[0]
        (rest,) = np.flatnonzero((to_siblings == to_siblings[one]) & (infosets != infosets[one]))[:1]
        (more,) = np.flatnonzero((of_siblings == of_siblings[one]) & (replies != replies[one]))[:1]
        return (int(infosets[one]), int(infosets[rest])), (int(replies[one]), int(replies[more]))

    def payoffs(self, player: int) -> npt.NDArray[np.float64]:
        """Return a player's payoff at each pair, multiplied by chance."""
        matrix = self.form.payoff_matrix(player).tocoo()
        paid = np.zeros(self.num_pairs)
        paid[self.find(*matrix.coords)] = matrix.data
        return paid


def _connected(form: SequenceForm) -> sp.csr_array:
    """Return which infosets are connected: those of the sequences at each leaf, and all infosets above them."""
    own, other = form.treeplexes
    if form.leaves is not None:
        ends = form.leaves.sequences.T.astype(np.int64)
    else:
        ends = np.array((abs(form.payoff_matrix(0)) + abs(form.payoff_matrix(1))).nonzero(), dtype=np.int64)
    (infosets, replies), width = ends, other.num_infosets
    infosets, replies = own.sequence_infosets[infosets].astype(np.int64), other.sequence_infosets[replies]
    found = new = _pairs(infosets, replies, width)
    while len(new):
        mine, theirs = np.divmod(new, max(width, 1))
        higher = _pairs(own.sequence_infosets[own.parents[mine]].astype(np.int64), theirs, width)
        lower = _pairs(mine, other.sequence_infosets[other.parents[theirs]], width)
        new = np.setdiff1d(np.concatenate([higher, lower]), found)
        found = np.union1d(found, new)
    mine, theirs = np.divmod(found, max(width, 1))
    shape = own.num_infosets, width
    return sp.csr_array((np.ones(len(found), dtype=bool), (mine, theirs)), shape=shape)


def _pairs(infosets: Indices, replies: Indices, width: int) -> Indices:
    """Return the distinct pairs of infosets as keys, without those in which a player has not moved."""
    both = (infosets >= 0) & (replies >= 0)
    return np.unique(infosets[both] * width + replies[both])
