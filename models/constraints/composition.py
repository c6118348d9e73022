"""Convex functions of a plan that are sums of norms, squares, maxima and entropies of affine functions of it."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats

#: Kinds of terms: Σ abs(z), √Σ z², max abs(z), max z, Σ z², and Σ p log(p / q) over pairs (p, q).
NORM_1, NORM_2, NORM_INFINITY, MAXIMUM, SQUARES, RELATIVE_ENTROPY = range(6)


@dataclass(frozen=True, eq=False)
class Composition:
    """f(x) = Σ φ(B x − c) + a · x − b, each φ of some rows of B alone.

    Attributes
    ----------
    kinds : ndarray of int, shape (terms,)
        Of each φ.
    starts : ndarray of int, shape (terms + 1,)
        Where the rows of each begin. Those of an entropy are p, q, p, q and so on.
    matrix : csr_array, shape (m, num_sequences)
        B.
    shifts : ndarray of float64, shape (m,)
        c.
    linear : ndarray of float64, shape (num_sequences,)
        a.
    limit : float
        b.

    Notes
    -----
    Slopes are a vector s of B's range with φ(z) ≥ s · z − φ*(s), where φ* is the conjugate of φ: the gradient of φ at
    some z, or an average of such gradients. Since φ* is convex, average slopes prove at least what the tangents prove
    on average (Rockafellar, "Convex analysis", 1970, section 12). φ* is 0 on the dual norm's unit ball, on the
    probabilities (of a maximum) and where q's slope is −exp(p's − 1) (of an entropy); of squares it is Σ s² / 4.

    Examples
    --------
    The length of (x − 0.6, y − 0.8) at the origin, and the bound that its slopes prove everywhere:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.constraints.composition import NORM_2, Composition
    >>> shifts, nothing = np.array([0.6, 0.8]), np.zeros(2)
    >>> length = Composition.of(NORM_2, sp.eye_array(2, format="csr"), shifts, nothing, 0.0)
    >>> length.value(nothing)
    1.0
    >>> slope, constant = length.minorant(length.slopes_at(nothing))
    >>> slope.tolist(), constant
    ([-0.6, -0.8], 1.0)
    """

    kinds: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    matrix: sp.csr_array
    shifts: Floats
    linear: Floats
    limit: float

    @classmethod
    def of(cls, kind: int, matrix: sp.csr_array, shifts: Floats, linear: Floats, limit: float) -> "Composition":
        """Return a composition of one term."""
        ends = np.array([0, matrix.shape[0]], dtype=np.int64)
        return cls(np.array([kind], dtype=np.int64), ends, sp.csr_array(matrix), shifts, linear, float(limit))

    def less(self, bound: float) -> "Composition":
        """Return f − bound."""
        return replace(self, limit=self.limit + bound)

    @property
    def size(self) -> int:
        """How many slopes there are: m."""
        return len(self.shifts)

    def arguments(self, plan: Floats) -> Floats:
        """Return z = B x − c."""
        arguments: Floats = self.matrix @ plan - self.shifts
        return arguments

    def value(self, plan: Floats) -> float:
        """Return f at a plan."""
        arguments = self.arguments(plan)
        values = [_value(kind, arguments[place]) for kind, place in self._terms]
        return float(sum(values)) + float(self.linear @ plan) - self.limit

    def slopes_at(self, plan: Floats) -> Floats:
        """Return slopes that are tight at a plan; at entropies the plan must give positive numbers."""
        arguments = self.arguments(plan)
        slopes = np.zeros(self.size)
        for kind, place in self._terms:
            slopes[place] = _slopes(kind, arguments[place])
        return slopes

    def minorant(self, slopes: Floats) -> tuple[Floats, float]:
        """Return g and k with f(x) ≥ g · x + k for every plan x, whatever the slopes are.

        Parameters
        ----------
        slopes : array_like, shape (m,)
            Those that prove nothing are replaced by ones near them that do.
        """
        valid = np.nan_to_num(np.array(slopes, dtype=np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        conjugate = 0.0
        for kind, place in self._terms:
            valid[place] = _valid(kind, valid[place])
            if kind == SQUARES:
                conjugate += float(valid[place] @ valid[place]) / 4.0
        gradient: Floats = self.matrix.T @ valid + self.linear
        return gradient, -float(valid @ self.shifts) - conjugate - self.limit

    def scale(self, plan: Floats) -> float:
        """Return how large slopes of f are, but for a factor; 1 if f is constant."""
        largest = float(np.abs(self.linear[1:]).max(initial=0.0))
        arguments = np.abs(self.arguments(plan))
        for kind, place in self._terms:
            entry = float(np.abs(self.matrix[place].data).max(initial=0.0))
            slope = 2.0 * max(entry, float(arguments[place].max(initial=0.0))) if kind == SQUARES else 1.0
            largest = max(largest, slope * entry)
        return largest or 1.0

    @property
    def _terms(self) -> list[tuple[int, slice]]:
        ends = self.starts.tolist()
        return [(kind, slice(*ends[place : place + 2])) for place, kind in enumerate(self.kinds.tolist())]


def _value(kind: int, arguments: Floats) -> float:
    if kind == NORM_1:
        return float(np.abs(arguments).sum())
    if kind == NORM_2:
        return float(np.linalg.norm(arguments))
    if kind == NORM_INFINITY:
        return float(np.abs(arguments).max())
    if kind == MAXIMUM:
        return float(arguments.max())
    if kind == SQUARES:
        return float(arguments @ arguments)
    first, second = arguments[0::2], arguments[1::2]
    counted = first > 0.0
    if (first < 0.0).any() or (second < 0.0).any() or (second[counted] <= 0.0).any():
        return np.inf
    return float(first[counted] @ np.log(first[counted] / second[counted]))


def _slopes(kind: int, arguments: Floats) -> Floats:
    slopes = np.zeros(len(arguments))
    if kind == NORM_1:
        return np.sign(arguments)
    if kind == NORM_2:
        length = float(np.linalg.norm(arguments))
        return arguments / length if length > 0.0 else slopes
    if kind == NORM_INFINITY:
        place = int(np.abs(arguments).argmax())
        slopes[place] = np.sign(arguments[place])
    elif kind == MAXIMUM:
        slopes[int(arguments.argmax())] = 1.0
    elif kind == SQUARES:
        return 2.0 * arguments
    else:
        ratios = arguments[0::2] / arguments[1::2]
        slopes[0::2], slopes[1::2] = np.log(ratios) + 1.0, -ratios
    return slopes


def _valid(kind: int, slopes: Floats) -> Floats:
    """Return slopes at which the conjugate is finite, those given if it is."""
    if kind == NORM_1:
        return np.clip(slopes, -1.0, 1.0)
    if kind == NORM_2:
        largest = float(np.abs(slopes).max(initial=0.0))
        scaled = slopes / largest if largest > 1.0 else slopes  # squares of what is very large would overflow
        length = float(np.linalg.norm(scaled))
        return scaled / length if length > 1.0 or largest > 1.0 else scaled
    if kind == NORM_INFINITY:
        largest = float(np.abs(slopes).max(initial=0.0))
        scaled = slopes / largest if largest > 1.0 else slopes
        total = float(np.abs(scaled).sum())
        return scaled / total if total > 1.0 or largest > 1.0 else scaled
    if kind == MAXIMUM:
        shares = np.maximum(slopes, 0.0)
        shares /= shares.max(initial=0.0) or 1.0
        total = float(shares.sum())
        return shares / total if total > 0.0 else np.full(len(shares), 1.0 / len(shares))
    if kind == SQUARES:
        return np.clip(slopes, -1e100, 1e100)
    valid = np.clip(slopes, -700.0, 700.0)
    valid[1::2] = -np.exp(valid[0::2] - 1.0)
    return valid
