"""The deviations of a player from recommendations, and what they gain."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Indices
from ...seqform.polytope import Treeplex, infoset_values
from .pairs import SequencePairs, spans

#: When a player decides whether to follow: at each recommendation, before it, or before the game.
Decides = Literal["efce", "efcce", "nfcce"]


@dataclass(frozen=True, eq=False)
class Triggers:
    """The points from which a player may stop to follow recommendations, and its strategies from there on.

    Parameters
    ----------
    own : Treeplex
        The player's treeplex.
    decides : {"efce", "efcce", "nfcce"}
        When the player decides whether to follow. ``efce``: at an infoset, knowing the recommendation. ``efcce``: at an
        infoset, before it knows the recommendation. ``nfcce``: before the game.

    Notes
    -----
    A *trigger* is a sequence Ia (``efce``), an infoset I (``efcce``) or the start (``nfcce``): M. Dudík and
    G. J. Gordon, "A sampling-based approach to computing equilibria in succinct extensive-form games", UAI 2009.
    """

    own: Treeplex
    decides: Decides

    @cached_property
    def infosets(self) -> Indices:
        """The infoset at which each trigger begins, shape (num_triggers,); −1 for the start."""
        own = self.own
        if self.decides == "nfcce":
            return np.array([-1])
        if self.decides == "efcce":
            return np.arange(own.num_infosets)
        return own.sequence_infosets[1:].astype(np.int64)

    @cached_property
    def sequences(self) -> Indices:
        """The sequence that the player is recommended before it deviates, shape (num_triggers,)."""
        own = self.own
        if self.decides == "efce":
            return np.arange(1, own.num_sequences)
        return own.parents.astype(np.int64) if self.decides == "efcce" else np.array([0])

    def __len__(self) -> int:
        return len(self.infosets)

    @cached_property
    def copies(self) -> tuple[Indices, Indices]:
        """The infoset and the trigger of each infoset of :attr:`treeplex`, in lexicographic order."""
        own = self.own
        if self.decides == "nfcce":
            return np.arange(own.num_infosets), np.zeros(own.num_infosets, dtype=np.int64)
        below, above = _with_ancestors(own)
        if self.decides == "efce":
            counts = own.num_actions[above].astype(np.int64)
            below, above = np.repeat(below, counts), spans(own.offsets[above] - 1, counts)
        order = np.lexsort((above, below))
        return below[order], above[order]

    @cached_property
    def treeplex(self) -> Treeplex:
        """All deviations: the infosets from each trigger on, once per trigger."""
        infosets, triggers = self.copies
        own, number = self.own, len(self)
        counts = own.num_actions[infosets]
        offsets = np.concatenate([[1], 1 + np.cumsum(counts)]).astype(np.int32)
        parents = own.parents[infosets].astype(np.int64)
        inner = ~self.is_first
        above = own.sequence_infosets[parents[inner]]
        # Copies are sorted by these keys.
        copy = np.searchsorted(infosets * number + triggers, above.astype(np.int64) * number + triggers[inner])
        found = np.zeros(len(infosets), dtype=np.int32)
        found[inner] = offsets[copy] + parents[inner] - own.offsets[above]
        return Treeplex.of_parts(found, counts, offsets, (), ())

    @cached_property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """Whether each infoset of :attr:`treeplex` is the first one of its deviation."""
        infosets, triggers = self.copies
        if self.decides == "nfcce":
            first: npt.NDArray[np.bool_] = self.own.parents[infosets] == 0
            return first
        return np.equal(self.infosets[triggers], infosets)

    @cached_property
    def firsts(self) -> sp.csr_array:
        """The infosets of :attr:`treeplex` that begin each deviation, shape (num_triggers, num_infosets)."""
        (places,) = np.nonzero(self.is_first)
        shape = len(self), len(self.is_first)
        return sp.csr_array((np.ones(len(places)), (self.copies[1][places], places)), shape=shape)

    @cached_property
    def played(self) -> tuple[Indices, Indices]:
        """The player's own sequence, and the recommended sequence, of each sequence of :attr:`treeplex` but the empty.

        Shape (num_sequences of :attr:`treeplex` − 1,) each.
        """
        infosets, triggers = self.copies
        counts = self.own.num_actions[infosets].astype(np.int64)
        return spans(self.own.offsets[infosets], counts), np.repeat(self.sequences[triggers], counts)

    def combined(self, gains: Floats) -> float:
        """Return the largest sum of gains from triggers of which none follows another.

        This is the gain of a best response in the game that contains the recommendations.

        Parameters
        ----------
        gains : ndarray of float64, shape (num_triggers,)
        """
        own = self.own
        if self.decides == "nfcce":
            return max(0.0, float(gains[0]))
        totals = np.zeros(own.num_sequences)
        for level in reversed(own.levels):
            below = totals[level.sequences]
            if self.decides == "efce":
                below = np.maximum(below, gains[level.sequences - 1])
            found = np.add.reduceat(below, level.starts)
            level.pass_up(found if self.decides == "efce" else np.maximum(found, gains[level.infosets]), totals)
        return float(totals[0])


@dataclass(frozen=True, eq=False)
class Deviations:
    r"""The gains of a player who stops to follow recommendations, as functions of the correlation plan.

    Parameters
    ----------
    pairs : SequencePairs
    player : {0, 1}
    decides : {"efce", "efcce", "nfcce"}
        As for :class:`Triggers`.

    Notes
    -----
    Let σ̂ be the recommended sequence of a trigger: Ia, the parent sequence of I, or ∅. The opponent keeps following
    the recommendations, whose distribution given σ̂ is ξ(σ̂, ·). A deviation y, a realization plan from the trigger on,
    gains

    .. math:: \sum_{s, t} u(s, t)\, \xi(\hat\sigma, t)\, y(s) - \sum_{s, t} u(s, t)\, \xi(s, t),

    where s ranges over the sequences from I on, and in the second sum for ``efce`` over those from Ia on. The
    deviations from all triggers are the realization plans of one treeplex, so that one pass finds the best ones.

    B. von Stengel and F. Forges, "Extensive-form correlated equilibrium: definition and computational complexity",
    Mathematics of Operations Research 33, 2008. EFCCE and NFCCE: G. Farina, T. Bianchi and T. Sandholm, "Coarse
    correlation in extensive-form games", AAAI 2020.
    """

    pairs: SequencePairs
    player: int
    decides: Decides

    @cached_property
    def triggers(self) -> Triggers:
        """The triggers, and the treeplex of deviations from them."""
        return Triggers(self.pairs.form.treeplexes[self.player], self.decides)

    @property
    def treeplex(self) -> Treeplex:
        """All deviations; see :attr:`Triggers.treeplex`."""
        return self.triggers.treeplex

    @property
    def firsts(self) -> sp.csr_array:
        """The infosets that begin each deviation; see :attr:`Triggers.firsts`."""
        return self.triggers.firsts

    @property
    def num_triggers(self) -> int:
        """Number of triggers."""
        return len(self.triggers)

    @cached_property
    def _payoffs(self) -> sp.csr_array:
        """The player's payoffs, shape (own sequences, other sequences)."""
        matrix = self.pairs.form.payoff_matrix(self.player)
        return matrix if self.player == 0 else sp.csr_array(matrix.T)

    @cached_property
    def gradient(self) -> sp.csr_array:
        """From ξ to the payoffs of the sequences of :attr:`treeplex`, shape (num_sequences, num_pairs)."""
        sequences, watched = self.triggers.played
        paid = self._payoffs
        lengths = np.diff(paid.indptr)[sequences]
        places = spans(paid.indptr[sequences], lengths)
        columns = self.pairs.entries(self.player, np.repeat(watched, lengths), paid.indices[places])
        rows = np.repeat(np.arange(1, len(sequences) + 1), lengths)
        shape = len(sequences) + 1, self.pairs.num_pairs
        return sp.csr_array((paid.data[places], (rows, columns)), shape=shape)

    @cached_property
    def obeyed(self) -> sp.csr_array:
        """From ξ to the payoff of following recommendations from each trigger on, shape (num_triggers, num_pairs)."""
        own, paid = self.triggers.own, self._payoffs.tocoo()
        sequences, others = paid.coords
        kept = sequences > 0
        sequences, others, values = sequences[kept], others[kept], paid.data[kept]
        pairs = self.pairs.entries(self.player, sequences, others)
        shape = self.num_triggers, self.pairs.num_pairs
        if self.decides == "nfcce":
            return sp.csr_array((values, (np.zeros(len(pairs), dtype=np.int64), pairs)), shape=shape)
        rows, columns, data = [], [], []
        at = sequences.astype(np.int64)
        while len(at):
            infosets = own.sequence_infosets[at].astype(np.int64)
            rows.append(at - 1 if self.decides == "efce" else infosets)
            columns.append(pairs)
            data.append(values)
            at = own.parents[infosets].astype(np.int64)
            more = at > 0
            at, pairs, values = at[more], pairs[more], values[more]
        empty = [np.zeros(0, dtype=np.int64)]
        places = np.concatenate(rows or empty), np.concatenate(columns or empty)
        return sp.csr_array((np.concatenate(data or [np.zeros(0)]), places), shape=shape)

    def gains(self, plan: Floats) -> Floats:
        """Return the gain of the best deviation from each trigger on, shape (num_triggers,); it may be negative.

        Parameters
        ----------
        plan : ndarray of float64, shape (num_pairs,)
            The correlation plan ξ.
        """
        best = infoset_values(self.treeplex, self.gradient @ plan)
        found: Floats = self.firsts @ best - self.obeyed @ plan
        return found

    def regret(self, plan: Floats) -> float:
        """Return the largest gain of a player who may stop to follow at several triggers."""
        return self.triggers.combined(self.gains(plan))

    def penalty(self, prices: Floats, flows: Floats) -> Floats:
        """Return the gains of given deviations, weighted by prices, as a linear function of ξ, shape (num_pairs,).

        Parameters
        ----------
        prices : ndarray of float64, shape (num_triggers,)
            At least 0.
        flows : ndarray of float64, shape (num_sequences of :attr:`treeplex`,)
            Any numbers; their proportions at each infoset define the deviations.
        """
        treeplex = self.treeplex
        deviation = treeplex.behaviour(np.maximum(flows, 0.0))
        weights = np.where(self.triggers.is_first, self.firsts.T @ prices, 1.0)
        deviation[1:] *= np.repeat(weights, treeplex.num_actions)
        plan = treeplex.plan(deviation)
        plan[0] = 0.0
        found: Floats = self.gradient.T @ plan - self.obeyed.T @ prices
        return found


def _with_ancestors(treeplex: Treeplex) -> tuple[Indices, Indices]:
    """Return each infoset with itself and with each infoset above it."""
    at = np.arange(treeplex.num_infosets)
    below, above, origin = [], [], at
    while len(at):
        below.append(origin)
        above.append(at)
        higher = treeplex.sequence_infosets[treeplex.parents[at]].astype(np.int64)
        origin, at = origin[higher >= 0], higher[higher >= 0]
    empty = [np.zeros(0, dtype=np.int64)]
    return np.concatenate(below or empty), np.concatenate(above or empty)
