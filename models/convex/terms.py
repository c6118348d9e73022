"""The terms of convex functions of a plan: norms, maxima, squares, entropies, rows, cvxpy expressions."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.limits import loading
from ...seqform.rationals import Fractions, to_fractions
from ..programs.triplets import Triplets

if TYPE_CHECKING:
    import cvxpy as cp

#: Arrays of floats or fractions; numpy's types do not describe results computed from either.
Numbers = Any

#: The codes of the terms that the compiled loop evaluates itself, and of those evaluated in Python.
NORM_1, NORM_2, NORM_INFINITY, MAXIMUM, SQUARES, RELATIVE_ENTROPY = range(6)
OPAQUE, POLYHEDRAL = 100, 101

#: Largest residual that multipliers may leave at an auxiliary variable, in units of the function's slopes; it allows
#: for round-off.
_ROUND_OFF = 1e-12
#: Largest multipliers in these units; larger ones cancel with too much round-off.
_LARGEST = 1e9


@dataclass(frozen=True, eq=False)
class Term(ABC):
    """A convex function φ(z) of z = B x − c; base class of the terms.

    Slopes s prove φ(z) ≥ s · z − φ*(s), with φ* the conjugate of φ. They are the gradient of φ at some z, or an average
    of such gradients. Since φ* is convex, average slopes prove at least as much as the tangents prove on average
    (Rockafellar, "Convex analysis", 1970, section 12). φ* is 0 on the dual norm's unit ball, on the probabilities (of a
    maximum) and where q's slope is −exp(p's − 1) (of an entropy). For squares it is Σ s² / 4.

    Attributes
    ----------
    matrix : csr_array, shape (m, num_sequences)
        B.
    shifts : ndarray of float64, shape (m,)
        c.
    """

    matrix: sp.csr_array
    shifts: Floats

    #: Its code in the compiled loop.
    code: ClassVar[int]
    #: Whether it is piecewise linear.
    is_linear: ClassVar[bool] = False
    #: Whether its value at fractions is a fraction.
    is_rational: ClassVar[bool] = False

    @property
    def size(self) -> int:
        """Number of slopes."""
        return len(self.shifts)

    @cached_property
    def exact_matrix(self) -> Triplets:
        """The matrix B in fractions."""
        return Triplets.of(self.matrix)

    @cached_property
    def exact_shifts(self) -> Fractions:
        """The vector c in fractions."""
        return to_fractions(self.shifts)

    def arguments(self, plan: Numbers) -> Numbers:
        """Return z = B x − c, in fractions for a plan in fractions."""
        exact = plan.dtype == object
        return self.exact_matrix @ plan - self.exact_shifts if exact else self.matrix @ plan - self.shifts

    def value(self, plan: Numbers) -> Any:
        """Return φ(B x − c)."""
        return self._value(self.arguments(plan))

    def slopes_at(self, plan: Numbers) -> Numbers:
        """Return slopes that are tight at a plan."""
        return self.slopes(self.arguments(plan))

    def minorant(self, slopes: Numbers) -> tuple[Any, Any] | None:
        """Return g and k with φ(B x − c) ≥ g · x + k for every plan x; ``None`` if the slopes prove nothing.

        Parameters
        ----------
        slopes : ndarray of float64, or of Fraction, shape (size,)
            Slopes with an infinite conjugate are replaced with nearby slopes whose conjugate is finite.
        """
        sound = self._valid(slopes)
        if sound.dtype == object:
            return self.exact_matrix.T @ sound, -(sound @ self.exact_shifts) - self._conjugate(sound)
        return self.matrix.T @ sound, -float(sound @ self.shifts) - float(self._conjugate(sound))

    def steepness(self, plan: Floats) -> float:
        """Return the order of magnitude of the term's slopes near a plan."""
        return largest(self.matrix.data)

    def from_loop(self, average: Floats) -> Floats:
        """Return slopes, given the compiled loop's average slopes or, for an opaque term, its average plan."""
        return average

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on φ and on its slopes for z between two vectors.

        Parameters
        ----------
        low, high : ndarray of float64, shape (size,)

        Returns
        -------
        least, largest : float
            Bounds on φ(z).
        spread : float
            The largest s · (z − z'), with s the slopes at any such point; infinite if slopes are unbounded.
        """
        return -np.inf, np.inf, np.inf

    def identity(self, plans: Sequence[Floats]) -> tuple[Any, ...]:
        """Return an identity shared by equal terms; for cvxpy expressions it is based on values at plans."""
        arrays = self.matrix.indptr, self.matrix.indices, self.matrix.data, self.shifts
        return self.code, *(array.tobytes() for array in arrays)

    @abstractmethod
    def to_cvxpy(self, plan: Any) -> "cp.Expression":
        """Return the term as a convex cvxpy expression of a plan."""

    @abstractmethod
    def _value(self, arguments: Numbers) -> Any: ...

    @abstractmethod
    def _valid(self, slopes: Numbers) -> Numbers:
        """Return slopes with a finite conjugate: the given ones if they qualify."""

    @abstractmethod
    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""

    def _conjugate(self, slopes: Numbers) -> Any:
        return 0


class PiecewiseLinear(Term):
    """A term that linear rows can express."""

    is_linear = True

    @abstractmethod
    def linear_rows(self, unit: float = 1.0) -> "TermRows":
        """Return the rows on z and on auxiliary variables in a common unit."""


class _Atom(Term):
    """A term that is a cvxpy function of z."""

    #: Its name in cvxpy.
    atom: ClassVar[str]

    def to_cvxpy(self, plan: Any) -> "cp.Expression":
        """Return the term as a convex cvxpy expression of a plan."""
        return self.of_arguments(self.matrix @ plan - self.shifts)

    def of_arguments(self, arguments: "cp.Expression") -> "cp.Expression":
        """Return φ as a cvxpy expression of z."""
        import cvxpy as cp

        expression: cp.Expression = getattr(cp, self.atom)(arguments)
        return expression


class _LinearAtom(_Atom, PiecewiseLinear):
    """A function defined as the least s with z ≤ s, and for norms also −z ≤ s, for all entries of z."""

    is_rational = True
    signs: ClassVar[tuple[int, ...]] = (1, -1)

    def linear_rows(self, unit: float = 1.0) -> "TermRows":
        """Return the rows on z and on auxiliary variables in a common unit."""
        count, times = len(self.shifts), len(self.signs)
        rows = np.arange(times * count)
        return TermRows(
            heads=np.zeros(0, dtype=np.int64),
            places=np.tile(np.arange(count), times),
            signs=np.repeat(self.signs, count),
            costs=np.full(1, unit),
            auxiliary=(rows, np.zeros_like(rows), np.full(len(rows), -unit)),
            equal=np.zeros(len(rows), dtype=bool),
        )


class Norm1(_LinearAtom):
    """The ℓ1 norm Σ abs(z): the least Σ s + t with z = s − t and s, t ≥ 0."""

    code = NORM_1
    atom = "norm1"

    def linear_rows(self, unit: float = 1.0) -> "TermRows":
        """Return the rows on z and on auxiliary variables in a common unit."""
        count = len(self.shifts)
        each, both = np.arange(count), np.arange(2 * count)
        return TermRows(
            heads=np.zeros(0, dtype=np.int64),
            places=each,
            signs=np.ones(count, dtype=np.int64),
            costs=np.full(2 * count, unit),
            auxiliary=(np.tile(each, 2), both, np.repeat([-unit, unit], count)),
            equal=np.ones(count, dtype=bool),
            least=0.0,
        )

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return slopes between −1 and 1."""
        return np.minimum(np.maximum(slopes, -1), 1)

    def _value(self, arguments: Numbers) -> Any:
        return np.abs(arguments).sum()

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on φ and on its slopes for z between two vectors."""
        return 0.0, float(_sizes(low, high).sum()), float((high - low).sum())

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        return np.sign(arguments)


class Norm2(_Atom):
    """The Euclidean norm √Σ z²."""

    code = NORM_2
    atom = "norm2"

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return slopes of Euclidean length at most 1."""
        scaled, is_large = _scaled(slopes)
        length = float(np.linalg.norm(scaled))
        return scaled / length if length > 1.0 or is_large else scaled

    def _value(self, arguments: Numbers) -> Any:
        return np.linalg.norm(arguments)

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on φ and on its slopes for z between two vectors."""
        return 0.0, float(np.linalg.norm(_sizes(low, high))), float(np.linalg.norm(high - low))

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        return arguments / (float(np.linalg.norm(arguments)) or 1.0)


class NormInfinity(_LinearAtom):
    """The maximum norm, max abs(z)."""

    code = NORM_INFINITY
    atom = "norm_inf"

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return slopes whose absolute values sum to at most 1."""
        scaled, is_large = _scaled(slopes)
        total = np.abs(scaled).sum()
        return scaled / total if total > 1 or is_large else scaled

    def _value(self, arguments: Numbers) -> Any:
        return np.abs(arguments).max()

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on φ and on its slopes for z between two vectors."""
        return 0.0, float(_sizes(low, high).max()), float((high - low).max())

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        place = int(np.abs(arguments).argmax())
        return _unit_vector(arguments, place, np.sign(arguments)[place])


class Maximum(_LinearAtom):
    """The largest entry, max z."""

    code = MAXIMUM
    atom = "max"
    signs = (1,)

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return slopes that are probabilities."""
        shares = np.maximum(slopes, 0)
        shares = shares / (shares.max() or 1)
        total = shares.sum()
        if total:
            return shares / total
        return shares + (Fraction(1, len(shares)) if shares.dtype == object else 1.0 / len(shares))

    def _value(self, arguments: Numbers) -> Any:
        return arguments.max()

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on φ and on its slopes for z between two vectors."""
        return float(low.max()), float(high.max()), float((high - low).max())

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        return _unit_vector(arguments, int(arguments.argmax()), 1)


class Squares(_Atom):
    """The sum of squares, Σ z²."""

    code = SQUARES
    atom = "sum_squares"
    is_rational = True

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return slopes that are small enough to be squared."""
        return slopes if slopes.dtype == object else np.clip(slopes, -1e100, 1e100)

    def steepness(self, plan: Floats) -> float:
        """Return the order of magnitude of the term's slopes near a plan."""
        entry = largest(self.matrix.data)
        return 2.0 * max(entry, largest(self.arguments(plan))) * entry

    def _value(self, arguments: Numbers) -> Any:
        return arguments @ arguments

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on φ and on its slopes for z between two vectors."""
        sizes = _sizes(low, high)
        return 0.0, float(sizes @ sizes), float(2.0 * sizes @ (high - low))

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        return 2 * arguments

    def _conjugate(self, slopes: Numbers) -> Any:
        return slopes @ slopes / 4


class RelativeEntropy(_Atom):
    """The relative entropy Σ p log(p / q) over the pairs (p, q) in z; infinite outside of its domain."""

    code = RELATIVE_ENTROPY

    def slopes_at(self, plan: Numbers) -> Numbers:
        """Return slopes that are tight at a plan, or slightly further inside if logarithms are infinite."""
        arguments = self.arguments(plan)
        for inwards in (1e-9, 1e-6):
            if (arguments > 0.0).all():
                break
            arguments = self.arguments((1.0 - inwards) * plan + inwards)
        return self.slopes(arguments)

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return the slopes of p, and the corresponding slopes of q."""
        valid = np.clip(slopes, -700.0, 700.0)
        valid[1::2] = -np.exp(valid[0::2] - 1.0)
        return valid

    def of_arguments(self, arguments: "cp.Expression") -> "cp.Expression":
        """Return φ as a cvxpy expression of z."""
        import cvxpy as cp
        from cvxpy.atoms.elementwise.rel_entr import rel_entr

        if not len(self.shifts):
            return cp.Constant(0.0)
        entropy: cp.Expression = cp.Constant(np.ones(len(self.shifts) // 2)) @ rel_entr(
            arguments[0::2], arguments[1::2]
        )
        return entropy

    def _value(self, arguments: Numbers) -> Any:
        first, second = arguments[0::2], arguments[1::2]
        counted = first > 0.0
        if (first < 0.0).any() or (second < 0.0).any() or (second[counted] <= 0.0).any():
            return np.inf
        return first[counted] @ np.log(first[counted] / second[counted])

    def extent(self, low: Floats, high: Floats) -> tuple[float, float, float]:
        """Return bounds on φ and on its slopes for z between two vectors."""
        own, other, most = np.maximum(high[0::2], 0.0), np.maximum(low[1::2], 0.0), np.maximum(high[1::2], 0.0)
        least = np.maximum(low[0::2] - most, -most / math.e)  # p log(p / q) is at least p − q, and at least −q / e
        with np.errstate(divide="ignore", invalid="ignore"):
            largest = np.where(own > 0.0, np.maximum(own * np.log(own / other), 0.0), 0.0)
        return float(least.sum()), float(largest.sum()), np.inf  # −log 0 is unbounded

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        ratios = np.maximum(arguments[0::2], 1e-300) / np.maximum(arguments[1::2], 1e-300)
        slopes = np.empty(len(arguments))
        slopes[0::2], slopes[1::2] = np.log(ratios) + 1.0, -ratios
        return slopes


@dataclass(frozen=True, eq=False)
class Polyhedral(PiecewiseLinear):
    """A convex piecewise linear function defined by linear rows: min over s of z₀ + K₀ s with z + K s ≤ 0 elsewhere.

    With z = G x − h it is the minimum of G₀ x + K₀ s − h₀ such that G x + K s ≤ h in all other rows. Slopes are
    multipliers of the rows. By linear programming duality, every m with m₀ = 1, Kᵀ m = 0, and m ≥ 0 except at equations
    proves φ(z) ≥ m · z for all z. For each z, one such m attains equality.

    Attributes
    ----------
    matrix, shifts
        G and h, shapes (k, num_sequences) and (k,).
    auxiliary : csr_array, shape (k, num_auxiliary)
        K.
    equal : ndarray of bool, shape (k,)
        Whether a row is an equation; never row 0.
    expression : cvxpy.Expression, optional
        The same function in cvxpy, for fast and precise values.
    variable : cvxpy.Variable, optional
        The variable of the expression.

    Examples
    --------
    f(x) = abs(x − 0.5), by s ≥ x − 0.5, s ≥ 0.5 − x:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.convex import Polyhedral
    >>> plan, auxiliary = sp.csr_array([[0.0], [1.0], [-1.0]]), sp.csr_array([[1.0], [-1.0], [-1.0]])
    >>> distance = Polyhedral(plan, np.array([0.0, 0.5, -0.5]), auxiliary, np.zeros(3, dtype=bool))
    >>> distance.minorant(np.array([1.0, 0.25, 0.75]))
    (array([-0.5]), 0.25)
    """

    auxiliary: sp.csr_array
    equal: npt.NDArray[np.bool_]
    expression: "cp.Expression | None" = None
    variable: "cp.Variable | None" = None

    code = POLYHEDRAL

    def value(self, plan: Numbers) -> Any:
        """Return the function's value at a plan."""
        if self.expression is None or self.variable is None:
            return self._value(self.arguments(plan))
        with valued(self.variable, plan):
            return float(np.asarray(self.expression.value).item())

    def minorant(self, slopes: Numbers) -> tuple[Any, Any] | None:
        """Return g and k with φ(G x − h) ≥ g · x + k for every plan x, from multipliers; ``None`` if there is none.

        Multipliers may be in any unit: they are divided by the first. Negative ones count as 0.
        """
        sound = self._sound(slopes)
        if sound is None:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            slope, constant = self.matrix.T @ sound, -float(self.shifts @ sound)
        return (slope, constant) if np.isfinite(slope).all() and np.isfinite(constant) else None

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return multipliers that prove a bound, close to the given ones; zeros if there are none."""
        sound = self._sound(slopes)
        return np.zeros(self.size) if sound is None else sound

    def to_cvxpy(self, plan: Any) -> "cp.Expression":
        """Return the expression; the plan must be its variable."""
        assert self.expression is not None
        assert plan is self.variable
        return self.expression

    def identity(self, plans: Sequence[Floats]) -> tuple[Any, ...]:
        """Return an identity that is the same for equal terms."""
        more = self.auxiliary.indptr, self.auxiliary.indices, self.auxiliary.data, self.equal
        return *super().identity(plans), *(array.tobytes() for array in more)

    def linear_rows(self, unit: float = 1.0) -> "TermRows":
        """Return the rows on z and on auxiliary variables, in the units chosen by cvxpy."""
        count, entries = self.size - 1, sp.coo_array(self.auxiliary[1:])
        return TermRows(
            heads=np.zeros(1, dtype=np.int64),
            places=1 + np.arange(count),
            signs=np.ones(count, dtype=np.int64),
            costs=self.auxiliary[[0]].toarray().ravel(),
            auxiliary=(*entries.coords, entries.data),
            equal=self.equal[1:],
        )

    def _value(self, arguments: Numbers) -> Any:
        return self.slopes(arguments) @ arguments

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return multipliers with a tight bound; only the first entry is non-zero if none were found."""
        with loading():  # it takes half as long as all other imports together
            from scipy.optimize import linprog

        count = self.size
        bounds = np.column_stack([np.where(self.equal, -np.inf, 0.0), np.full(count, np.inf)])
        bounds[0] = 1.0
        zeros = np.zeros(self.auxiliary.shape[1])
        found = linprog(-arguments, A_eq=self.auxiliary.T, b_eq=zeros, bounds=bounds)
        return _unit_vector(arguments, 0, 1.0) if found.x is None else np.asarray(found.x, dtype=np.float64)

    def _sound(self, multipliers: Numbers) -> Floats | None:
        """Return multipliers that prove a bound, close to the given ones; ``None`` if there are none."""
        if not np.isfinite(multipliers).all() or multipliers[0] <= 0.0:
            return None
        with np.errstate(over="ignore"):
            given = np.where(self.equal, multipliers, np.maximum(multipliers, 0.0)) / multipliers[0]
        return self._repaired(given) if (np.abs(given) <= _LARGEST * self._unit).all() else None

    def _repaired(self, given: Floats) -> Floats | None:
        """Return multipliers that cancel exactly at auxiliary variables, from ones that nearly do."""
        with loading():  # all of scipy.linalg
            from scipy.sparse.linalg import lsqr

        for _ in range(3):
            left = self.auxiliary.T @ given
            if (np.abs(left) <= _ROUND_OFF * self._unit).all():
                return given
            # Relative changes keep the signs; the first multiplier stays 1.
            factors = given.copy()
            factors[0] = 0.0
            weighted = sp.diags_array(factors) @ self.auxiliary
            given += factors * lsqr(weighted.T.tocsr(), -left, atol=1e-15, btol=1e-15, conlim=0.0)[0]
            if not np.isfinite(given).all():
                break
            given = np.where(self.equal, given, np.maximum(given, 0.0))
        return None

    @cached_property
    def _unit(self) -> float:
        """The largest coefficient of the function, at least 1."""
        return max(1.0, *(largest(part[[0]].data) for part in (self.matrix, self.auxiliary)))


@dataclass(frozen=True, eq=False)
class Opaque(Term):
    """A convex cvxpy expression of an unrecognised type, whose values and tangents only cvxpy can compute.

    Its z and its slopes are plans: a plan represents the tangent there.

    Attributes
    ----------
    expression : cvxpy.Expression
        Scalar.
    variable : cvxpy.Variable
        The plan variable in the expression.
    """

    expression: "cp.Expression"
    variable: "cp.Variable"

    code = OPAQUE

    @classmethod
    def of(cls, expression: "cp.Expression", variable: "cp.Variable") -> "Opaque":
        """Return the term of an expression."""
        return cls(sp.eye_array(variable.size, format="csr"), np.zeros(variable.size), expression, variable)

    def minorant(self, slopes: Numbers) -> tuple[Any, Any] | None:
        """Return the tangent at a plan, or slightly further inside if there is none; ``None`` if both fail."""
        plan = self._valid(slopes)
        for inwards in (0.0, 1e-9, 1e-6):
            at = (1.0 - inwards) * plan + inwards
            with valued(self.variable, at), np.errstate(divide="ignore", invalid="ignore"):
                given, slope = self.expression.value, self._gradient()
            if slope is None or given is None:
                continue
            gradient = np.asarray(slope.toarray() if sp.issparse(slope) else slope, dtype=np.float64).ravel()
            value = float(np.asarray(given).item())
            if np.isfinite(gradient).all() and np.isfinite(value):
                return gradient, value - float(gradient @ at)
        return None

    def _valid(self, slopes: Numbers) -> Numbers:
        """Return a plan without negative entries."""
        return np.maximum(slopes, 0.0)

    def steepness(self, plan: Floats) -> float:
        """Return the order of magnitude of the term's slopes at a plan; 1 if unknown."""
        tangent = self.minorant(plan)
        return 1.0 if tangent is None else largest(tangent[0][1:])

    def identity(self, plans: Sequence[Floats]) -> tuple[Any, ...]:
        """Return the expression's values and tangents at plans, as its identity."""
        tangents = [self.minorant(plan) or (np.zeros(0), 0.0) for plan in plans]
        said = zip(plans, tangents, strict=True)
        return self.code, *((self.value(plan), slope.tobytes(), constant) for plan, (slope, constant) in said)

    def to_cvxpy(self, plan: Any) -> "cp.Expression":
        """Return the expression; the plan must be its variable."""
        assert plan is self.variable
        return self.expression

    def _gradient(self) -> Any:
        """Return cvxpy's gradient at the variable's value; ``None`` if it has none."""
        try:
            return self.expression.grad[self.variable]
        except Exception:  # some functions of cvxpy have no gradient and raise various errors
            return None

    def _value(self, arguments: Numbers) -> Any:
        """Return the value at a plan, or near it if cvxpy has no value there (as for 0² / 0), or ∞ if both fail."""
        for inwards in (0.0, 1e-9):
            at = (1.0 - inwards) * arguments + inwards
            with valued(self.variable, at), np.errstate(divide="ignore", invalid="ignore"):
                value = self.expression.value
            if value is not None and not np.isnan(value):
                return float(np.asarray(value).item())
        return np.inf

    def slopes(self, arguments: Numbers) -> Numbers:
        """Return slopes that are tight at z."""
        return arguments


@dataclass(frozen=True, eq=False)
class TermRows:
    """The rows of φ(z) = Σ z[heads] + min over s ≥ least of costs · s with signs · z[places] + K s ≤ 0, or = 0."""

    heads: npt.NDArray[np.int64]
    places: npt.NDArray[np.int64]
    signs: npt.NDArray[np.int64]
    costs: Floats
    auxiliary: tuple[Any, Any, Floats]
    equal: npt.NDArray[np.bool_]
    least: float | Floats = -np.inf


#: Threads share the plan variables of a game, and cvxpy stores a variable's value in the variable.
_VALUES = RLock()


@contextmanager
def valued(variable: "cp.Variable", value: Floats) -> Iterator[None]:
    """Set the value of a cvxpy variable in the block, in one thread at a time."""
    with _VALUES:
        before = variable.value
        try:
            variable.save_value(np.asarray(value, dtype=np.float64))
            yield
        finally:
            variable.save_value(before)


def largest(numbers: Numbers) -> float:
    """Return the largest absolute value, 0 if there are none."""
    return float(np.abs(numbers).max(initial=0.0))


def _scaled(slopes: Numbers) -> tuple[Numbers, bool]:
    """Return slopes divided by the largest one if that exceeds 1, because squares of very large numbers overflow."""
    size = np.abs(slopes).max(initial=0)
    return (slopes / size, True) if size > 1 else (slopes, False)


def _sizes(low: Floats, high: Floats) -> Floats:
    """Return the largest absolute values within bounds."""
    sizes: Floats = np.maximum(np.abs(low), np.abs(high))
    return sizes


def _unit_vector(like: Numbers, place: int, number: Any) -> Numbers:
    vector = np.zeros(len(like), dtype=like.dtype)
    vector[place] = number
    return vector
