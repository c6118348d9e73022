"""Infosets by how many own decisions lie above them, for passes up and down a polytope."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class Level:
    """The infosets that have the same number of own decisions above them, ready for one vectorised pass.

    Attributes
    ----------
    infosets : ndarray of int32, shape (k,)
    sequences : ndarray of int32, shape (m,)
        Their sequences, infoset after infoset.
    starts : ndarray of int32, shape (k,)
        Where each infoset's run begins in ``sequences``, for ``ufunc.reduceat``.
    counts : ndarray of int32, shape (k,)
        Number of actions of each infoset.
    sources : ndarray of int32, shape (s,)
        The sequences that lead to the infosets: the parent of each, infoset after infoset; in a flow polytope every
        sequence once.
    inflow : csr_array of float64, shape (k, s), or None
        In a flow polytope, how much of each of ``sources`` leads to each infoset.
    """

    infosets: Integers
    sequences: Integers
    starts: Integers
    counts: Integers
    sources: Integers
    inflow: sp.csr_array | None = None

    def reach(self, plan: Floats) -> Floats:
        """Return how much of a plan flows into each infoset, shape (k,)."""
        above: Floats = plan[self.sources]
        return above if self.inflow is None else self.inflow @ above

    @cached_property
    def _outflow(self) -> sp.csr_array:
        assert self.inflow is not None
        return sp.csr_array(self.inflow.T)

    def pass_up(self, values: Floats, totals: Floats) -> None:
        """Add a value of each infoset, shape (k,), to the ``totals`` of the sequences that lead to it."""
        if self.inflow is None:
            np.add.at(totals, self.sources, values)
        else:
            totals[self.sources] += self._outflow @ values


def depths_of(parents: npt.NDArray[Any], sequence_infosets: npt.NDArray[Any]) -> Integers:
    """Return how many own infosets stand above each infoset, by pointer doubling: deep trees take few passes.

    Parameters
    ----------
    parents : ndarray of int, shape (num_infosets,)
        The parent sequence of each infoset.
    sequence_infosets : ndarray of int, shape (num_sequences,)
        The infoset that each sequence belongs to, which comes before the infosets below it; −1 for the empty sequence.

    Returns
    -------
    ndarray of int32, shape (num_infosets,)
    """
    ancestor = sequence_infosets[parents]  # a copy
    depths = np.zeros(len(parents), dtype=np.int32)
    above = np.flatnonzero(ancestor >= 0)
    depths[above] = 1
    while len(above):
        # Both right-hand sides are read before anything is written: each step doubles the distance to ``ancestor``.
        jump = ancestor[above]
        depths[above] += depths[jump]
        ancestor[above] = ancestor[jump]
        above = above[ancestor[above] >= 0]
    return depths


def depths_of_flow(inflow: sp.csr_array, sequence_infosets: npt.NDArray[Any]) -> Integers:
    """Return the most own infosets that stand above each infoset of a flow.

    Parameters
    ----------
    inflow : csr_array, shape (num_infosets, num_sequences)
        Every infoset has one, from sequences before its own.
    sequence_infosets : ndarray of int, shape (num_sequences,)
        The infoset that each sequence belongs to; −1 for the empty sequence.

    Returns
    -------
    ndarray of int32, shape (num_infosets,)
    """
    above = sequence_infosets[inflow.indices].tolist()
    starts = inflow.indptr.tolist()
    num_infosets = len(starts) - 1
    depths = [0] * num_infosets + [-1]  # the last is for the empty sequence, which belongs to no infoset
    for infoset in range(num_infosets):
        depths[infoset] = 1 + max(depths[owner] for owner in above[starts[infoset] : starts[infoset + 1]])
    return np.array(depths[:-1], dtype=np.int32)
