"""Mixtures of routes."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ....seqform.arrays import Floats
from .encounters import routes_matrix
from .walker import Mask, Whole


@dataclass(frozen=True, eq=False)
class Mixture:
    """Routes of one player with their probabilities.

    Attributes
    ----------
    routes : tuple of ndarray of int64
        The sequences of each route: of one type of attacker, or a joint route of all units.
    bodies : ndarray of int64, shape (len(routes),)
        The type of each route; 0 for units.
    probabilities : ndarray of float64, shape (len(routes),)
        Those of each type sum to 1.
    num_sequences : int
        The player's number of sequences.
    """

    routes: tuple[Whole, ...]
    bodies: Whole
    probabilities: Floats
    num_sequences: int

    @cached_property
    def matrix(self) -> sp.csr_array:
        """The routes as rows of zeros and ones."""
        return routes_matrix(self.routes, self.num_sequences)

    @property
    def plan(self) -> Floats:
        """The probability of each sequence: the realization plan, which does not tell which sequences are combined."""
        plan: Floats = self.probabilities @ self.matrix
        plan[0] = 1.0
        return plan

    def of(self, body: int) -> "Mixture":
        """Return the routes of one type."""
        return self._part(self.bodies == body)

    @property
    def played(self) -> "Mixture":
        """The routes with positive probability."""
        return self._part(self.probabilities > 0.0)

    def _part(self, mask: Mask) -> "Mixture":
        chosen = np.flatnonzero(mask)
        routes = tuple(self.routes[number] for number in chosen.tolist())
        return replace(self, routes=routes, bodies=self.bodies[chosen], probabilities=self.probabilities[chosen])

    def saved(self) -> Floats:
        """Return the mixture as one array, shape (3, k): a column per sequence with type, probability and sequence."""
        lengths = [len(route) for route in self.routes]
        ends = np.repeat(np.arange(len(lengths)), lengths)
        given = self.bodies[ends], self.probabilities[ends], np.concatenate(self.routes), ends
        return np.array(given, dtype=np.float64)

    @classmethod
    def restored(cls, saved: Floats, num_sequences: int) -> "Mixture":
        """Return the mixture saved by :meth:`saved`, with probabilities normalised to sum to 1."""
        ends = saved[3].astype(np.int64)
        firsts = np.flatnonzero(np.diff(ends, prepend=-1))
        routes = tuple(part.astype(np.int64) for part in np.split(saved[2], firsts[1:]))
        bodies, chances = saved[0, firsts].astype(np.int64), np.maximum(saved[1, firsts], 0.0)
        totals = np.bincount(bodies, chances)
        return cls(routes, bodies, chances / np.where(totals > 0.0, totals, 1.0)[bodies], num_sequences)
