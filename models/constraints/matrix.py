"""Linear constraints of one player as rows of a matrix."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from .linear import LinearConstraint


@dataclass(frozen=True, eq=False)
class ConstraintMatrix:
    """G x ≤ h, each row divided by its largest coefficient, since solvers' tolerances are absolute.

    Attributes
    ----------
    matrix : csr_array, shape (k, num_sequences)
        G.
    limits : ndarray of float64, shape (k,)
        h.
    units : ndarray of float64, shape (k,)
        What rows were divided by: a multiplier of a row, divided by its unit, is the constraint's.
    """

    matrix: sp.csr_array
    limits: Floats
    units: Floats

    @classmethod
    def of(cls, constraints: Sequence[LinearConstraint], size: int) -> "ConstraintMatrix":
        """Put constraints on plans of so many sequences together."""
        units = np.array([np.abs(one.coefficients).max(initial=0.0) or 1.0 for one in constraints])
        data = [one.coefficients / unit for one, unit in zip(constraints, units, strict=True)]
        starts = np.cumsum([0, *(len(one.indices) for one in constraints)])
        indices = np.concatenate([np.zeros(0, dtype=np.int32), *(one.indices for one in constraints)])
        matrix = sp.csr_array(
            (np.concatenate([np.zeros(0), *data]), indices, starts), shape=(len(constraints), size), dtype=np.float64
        )
        return cls(matrix, np.array([one.limit for one in constraints]) / units, units)
