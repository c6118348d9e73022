"""Opponents whose plans are images of the plans of another polytope."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...seqform.polytope import Treeplex
from ..programs.triplets import Triplets


@dataclass(frozen=True, eq=False)
class Replies(ABC):
    """Plans of the other player that are images y = T z of the plans z of another polytope.

    Parameters
    ----------
    treeplex : Treeplex
        The polytope of z; it may be a flow polytope.
    spread : csr_array, shape (num_sequences of the other player, treeplex.num_sequences)
        T.
    exact_spread : Triplets, optional
        T in fractions, if it is rational; z's polytope then holds fractions too.
    """

    treeplex: Treeplex
    spread: sp.csr_array
    exact_spread: Triplets | None = field(default=None, kw_only=True)

    @property
    def constrained(self) -> Treeplex | None:
        """The polytope of the part of z to which constraints on the other player apply; ``None`` if there is none."""
        return None

    @property
    def rows(self) -> sp.csr_array | None:
        """The matrix H, if the images are the plans y with H y ≤ 0; in linear programs it is sparser than M T."""
        return None

    @abstractmethod
    def preimage(self, plan: Any) -> Any:
        """Return a z whose image is the given plan, or close to it if there is no such z."""

    def image(self, reply: Any) -> Any:
        """Return T z, in floats or in fractions."""
        if reply.dtype != object:
            return self.spread @ reply
        assert self.exact_spread is not None
        return self.exact_spread @ reply

    def chosen(self, plan: Any, given: Any = None) -> Any:
        """Return the z from which a certificate is computed: the given one, converted to a plan, or a preimage."""
        if given is None:
            return self.preimage(plan)
        return given if given.dtype == object else self.treeplex.plan(self.treeplex.behaviour(np.maximum(given, 0.0)))
