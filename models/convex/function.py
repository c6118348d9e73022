"""Convex functions of a plan: an affine part plus terms, with values, bounds, rows and cones."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import InvalidConstraintError
from ...seqform.rationals import to_fraction, to_fractions
from ...seqform.rules import Number
from ..programs.triplets import Triplets
from .terms import Norm2, Numbers, PiecewiseLinear, Term, largest

if TYPE_CHECKING:
    import cvxpy as cp


#: Rows, columns and values of a sparse matrix.
Entries = tuple[Any, Any, Any]


@dataclass(frozen=True, eq=False)
class LinearRows:
    """A function f(x) = min over s of G₀ x + K₀ s − h₀ such that G x + K s ≤ h in all other rows, and s ≥ l.

    Matrices are stored as entries, because thousands of functions would be slow as separate sparse arrays.

    Attributes
    ----------
    num_sequences : int
        Number of columns of G.
    plan_entries, auxiliary_entries : tuple of ndarray
        Rows, columns and values of G and of K.
    limits : ndarray of float64 or of Fraction, shape (k,)
        h.
    equal : ndarray of bool, shape (k,)
        Whether a row is an equation; never row 0.
    least : ndarray of float64, shape (num_auxiliary,)
        l: 0 or −∞.
    """

    num_sequences: int
    plan_entries: Entries
    auxiliary_entries: Entries
    limits: Numbers
    equal: npt.NDArray[np.bool_]
    least: Floats

    @property
    def num_auxiliary(self) -> int:
        """Number of columns of K."""
        return len(self.least)

    @property
    def plan(self) -> Any:
        """The matrix G, shape (k, num_sequences): a csr_array, or Triplets of fractions."""
        rows, columns, values = self.plan_entries
        shape = (len(self.limits), self.num_sequences)
        if self.limits.dtype == object:
            return Triplets(shape, rows, columns, to_fractions(values))
        return sp.csr_array((values, (rows, columns)), shape=shape)

    @property
    def auxiliary(self) -> sp.csr_array:
        """The matrix K, shape (k, num_auxiliary)."""
        rows, columns, values = self.auxiliary_entries
        return sp.csr_array((values, (rows, columns)), shape=(len(self.limits), self.num_auxiliary))


@dataclass(frozen=True, eq=False)
class ConvexFunction:
    """A convex function f(x) = a · x + a₀ + Σ φ(B x − c) of a plan x.

    Attributes
    ----------
    indices : ndarray of int32, shape (k,)
        The sequences at which a is not zero, in increasing order.
    numbers : ndarray of float64, or of numbers of any kind, shape (k,)
        The values of a there. Exact methods use integers and fractions exactly, and read a float as its shortest
        decimal.
    constant : number
        a₀.
    terms : tuple of Term

    Examples
    --------
    The length of (x − 0.6, y − 0.8) at the origin, and the lower bound that its slopes prove everywhere:

    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from treeplex.models.convex import ConvexFunction, Norm2
    >>> length = ConvexFunction.of([Norm2(sp.eye_array(2, format="csr"), np.array([0.6, 0.8]))])
    >>> origin = np.zeros(2)
    >>> length.value(origin)
    1.0
    >>> slope, constant = length.minorant(origin)
    >>> slope.tolist(), constant
    ([-0.6, -0.8], 1.0)
    """

    indices: Integers
    numbers: Numbers
    constant: Number
    terms: tuple[Term, ...] = ()

    @classmethod
    def of(cls, terms: Sequence[Term], linear: Floats | None = None, constant: Number = 0.0) -> "ConvexFunction":
        """Return a function from its terms, the vector a and the constant a₀."""
        given = np.zeros(0) if linear is None else linear
        indices = np.flatnonzero(given).astype(np.int32)
        return ConvexFunction(indices, given[indices], constant, tuple(terms))

    def with_constant(self, constant: Number) -> "ConvexFunction":
        """Return the function with another a₀."""
        return ConvexFunction(self.indices, self.numbers, constant, self.terms)

    # Properties.

    @property
    def is_affine(self) -> bool:
        """Whether there are no terms."""
        return not self.terms

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can express f: it is affine or piecewise linear."""
        return all(term.is_linear for term in self.terms)

    @property
    def is_rational(self) -> bool:
        """Whether the function maps fractions to fractions."""
        return all(term.is_rational for term in self.terms)

    @cached_property
    def coefficients(self) -> Floats:
        """The values of a at :attr:`indices`, shape (k,)."""
        coefficients: Floats = self.numbers.astype(np.float64)
        return coefficients

    @property
    def exact_coefficients(self) -> list[Fraction]:
        """:attr:`coefficients` as fractions."""
        return [to_fraction(number) for number in self.numbers.tolist()]

    @property
    def exact_constant(self) -> Fraction:
        """The constant a₀ as a fraction."""
        return to_fraction(self.constant)

    @cached_property
    def ends(self) -> list[int]:
        """The start of each term's slopes, and the total number of slopes."""
        return [0, *accumulate(term.size for term in self.terms)]

    @property
    def size(self) -> int:
        """Number of slopes."""
        return self.ends[-1]

    # Values and bounds.

    def value(self, plan: Numbers) -> Any:
        """Return f at a plan of floats or fractions."""
        if plan.dtype == object:
            affine = zip(self.exact_coefficients, self.indices.tolist(), strict=True)
            start = sum((number * plan[index] for number, index in affine), self.exact_constant)
            return sum((term.value(plan) for term in self.terms), start)
        value = float(self.coefficients @ plan[self.indices]) + float(self.constant)
        return value + sum(float(term.value(plan)) for term in self.terms) if self.terms else value

    def slopes_at(self, plan: Numbers) -> Numbers:
        """Return slopes that are tight at a plan, shape (size,)."""
        return np.concatenate([np.zeros(0, dtype=plan.dtype), *(term.slopes_at(plan) for term in self.terms)])

    def minorant(self, plan: Numbers, slopes: Numbers | None = None) -> tuple[Any, Any]:
        """Return g and c with f(x) ≥ g · x + c for every plan x, for any slopes.

        Parameters
        ----------
        plan : ndarray of float64, or of Fraction, shape (num_sequences,)
            Where the bound should be tight if the slopes are missing or prove nothing.
        slopes : ndarray of float64, or of Fraction, shape (size,), optional
            Slopes of a term may be NaN; the slopes at the plan are then used.

        Returns
        -------
        coefficients : ndarray, shape (num_sequences,)
        constant : number
            −∞ if nothing is proven: at opaque functions for which cvxpy has no gradient.
        """
        exact = plan.dtype == object
        gradient = plan * 0 if exact else np.zeros(len(plan))
        gradient[self.indices] = self.exact_coefficients if exact else self.coefficients
        constant: Any = self.exact_constant if exact else float(self.constant)
        for place, term in enumerate(self.terms):
            proven = None if slopes is None else _proven(term, slopes[slice(*self.ends[place : place + 2])])
            proven = term.minorant(term.slopes_at(plan)) if proven is None else proven
            if proven is None:
                return np.zeros(len(plan)), -np.inf
            gradient += proven[0]
            constant += proven[1]
        return gradient, constant

    def steepness(self, plan: Floats) -> float:
        """Return the order of magnitude of the slopes of f near a plan; 1 if f is constant."""
        own = largest(self.coefficients[self.indices > 0])
        return max([own, *(term.steepness(plan) for term in self.terms)]) or 1.0

    # The linear form.

    def linear_rows(self, size: int, exact: bool = False) -> LinearRows:
        """Return f as rows of a linear program, in floats or in fractions.

        Parameters
        ----------
        size : int
            Number of sequences of the plans.
        exact : bool
            Whether to use fractions.

        Raises
        ------
        InvalidConstraintError
            If f is not piecewise linear, or cannot be expressed in fractions.
        """
        if not self.is_linear or (exact and not self.is_rational):
            raise InvalidConstraintError("the function is not piecewise linear" + " with exact numbers" * exact)
        return self._linear_rows(size, exact)

    def _linear_rows(self, size: int, exact: bool) -> LinearRows:
        """Return the rows of the affine part and of the piecewise linear terms."""
        numbers = to_fractions(self.exact_coefficients) if exact else self.coefficients
        head = [-self.exact_constant if exact else -float(self.constant)]
        plan = [(np.zeros(len(numbers), dtype=np.int64), self.indices, numbers)]
        auxiliary, limits, equal, least = [], [], [np.zeros(1, dtype=bool)], [np.zeros(0)]
        start, column = 1, 0
        for term in self._piecewise_linear:
            # Variables are scaled to their own units, because solvers' tolerances are absolute.
            lifted = term.linear_rows(1.0 if exact else largest(term.matrix.data) or 1.0)
            places, across, data = _entries(term.exact_matrix if exact else term.matrix)
            shifts = term.exact_shifts if exact else term.shifts
            if len(lifted.heads):
                counted = np.isin(places, lifted.heads)
                plan.append((np.zeros(int(counted.sum()), dtype=np.int64), across[counted], data[counted]))
                head += shifts[lifted.heads].tolist()
            # Each row is one of z's with a sign; z's rows are repeated for each sign.
            for sign in dict.fromkeys(lifted.signs.tolist()):
                chosen = np.flatnonzero(lifted.signs == sign)
                where = np.full(len(shifts), -1)
                where[lifted.places[chosen]] = start + chosen
                rows = where[places]
                counted = rows >= 0
                plan.append((rows[counted], across[counted], sign * data[counted]))
            limits.append(lifted.signs * shifts[lifted.places])
            below, columns, values = lifted.auxiliary
            count, each = len(lifted.costs), np.arange(len(lifted.costs))
            auxiliary += [(0 * each, column + each, lifted.costs), (start + below, column + columns, values)]
            equal.append(lifted.equal)
            least.append(np.full(count, lifted.least))
            start, column = start + len(lifted.places), column + count
        first = np.array([sum(head)], dtype=numbers.dtype)
        return LinearRows(
            size,
            _joined(plan),
            _joined(auxiliary),
            limits=np.concatenate([first, *limits]),
            equal=np.concatenate(equal),
            least=np.concatenate(least),
        )

    def slopes_of(self, multipliers: Numbers) -> Numbers:
        """Return the slopes given by multipliers of the rows of :meth:`linear_rows`; NaN for terms without such rows.

        Parameters
        ----------
        multipliers : ndarray of float64 or of Fraction, shape (k,)
            In any unit: they are divided by the first one, which is positive.
        """
        first, start = multipliers[0], 1
        parts = [np.zeros(0, dtype=multipliers.dtype)]
        for term in self.terms:
            if not isinstance(term, PiecewiseLinear):
                parts.append(np.full(term.size, np.nan))
                continue
            lifted = term.linear_rows()
            stop = start + len(lifted.places)
            slopes = np.zeros(term.size, dtype=multipliers.dtype)
            slopes[lifted.heads] += 1
            np.add.at(slopes, lifted.places, lifted.signs * multipliers[start:stop] / first)
            parts.append(slopes)
            start = stop
        return np.concatenate(parts)

    # The cone form.

    def to_cvxpy(self, plan: Any) -> "cp.Expression":
        """Return f as a convex cvxpy expression of a plan; polyhedral and opaque terms need their own variable."""
        function = self._affine(plan)
        for term in self.terms:
            function = function + term.to_cvxpy(plan)
        return function

    def cvxpy_parts(self, plan: Any, lengths: bool = False) -> "tuple[cp.Expression, list[cp.Constraint]]":
        """Return f in cvxpy, with constraints on its auxiliary variables; :meth:`cvxpy_slopes` reads their multipliers.

        Parameters
        ----------
        plan : cvxpy.Variable
        lengths : bool
            Whether the arguments of Euclidean norms become variables too, so that multipliers give their slopes. These
            are more precise than slopes at the plan if f is an objective, but make the problem harder for the solver.
        """
        import cvxpy as cp

        function, definitions = self._affine(plan), []
        if self._piecewise_linear:
            rows = self._linear_rows(plan.size, exact=False)
            signs, units = _inequalities(rows)
            scaled = sp.csr_array(sp.diags_array(1.0 / units) @ signs)
            auxiliary = cp.Variable(rows.num_auxiliary, name="auxiliary", bounds=[rows.least, np.inf])
            left = (scaled @ rows.plan) @ plan + (scaled @ rows.auxiliary) @ auxiliary
            function = (rows.plan[[0]] @ plan + rows.auxiliary[[0]] @ auxiliary)[0] - rows.limits[0]
            definitions.append(left <= scaled @ rows.limits)
        for term in self.terms:
            if isinstance(term, Norm2) and lengths:
                arguments = cp.Variable(term.size, name="arguments")
                definitions.append(arguments == term.matrix @ plan - term.shifts)
                function = function + term.of_arguments(arguments)
            elif not isinstance(term, PiecewiseLinear):
                function = function + term.to_cvxpy(plan)
        return function, definitions

    def num_definitions(self, lengths: bool = False) -> int:
        """Return the number of constraints of :meth:`cvxpy_parts`."""
        norms = sum(isinstance(term, Norm2) for term in self.terms) if lengths else 0
        return norms + bool(self._piecewise_linear)

    def cvxpy_slopes(
        self, definitions: "Sequence[cp.Constraint]", multiplier: float = 1.0, lengths: bool = False
    ) -> Numbers | None:
        """Return the slopes at the solution of a cvxpy problem with the constraints of :meth:`cvxpy_parts`.

        Parameters
        ----------
        definitions : sequence of cvxpy.Constraint
        multiplier : float
            The weight of f in the problem's objective: 1 if it is the objective, or the multiplier of a bound on f.
        lengths : bool
            As for :meth:`cvxpy_parts`.

        Returns
        -------
        ndarray of float64 or None
            NaN for other terms: their slopes are those at the plan. ``None`` if the solver returns no multipliers.
        """
        duals = [one.dual_value for one in definitions]
        if not duals or not multiplier > 0.0 or any(one is None for one in duals):
            return None
        of_rows = np.array([multiplier])
        if self._piecewise_linear:
            size = self._piecewise_linear[0].matrix.shape[1]
            signs, units = _inequalities(self._linear_rows(size, exact=False))
            of_rows = np.append(of_rows, (signs.T @ (np.asarray(duals.pop(0)) / units))[1:])
        slopes = self.slopes_of(of_rows)
        for place, term in enumerate(self.terms):
            if isinstance(term, Norm2) and lengths:
                slopes[slice(*self.ends[place : place + 2])] = -np.asarray(duals.pop(0)) / multiplier
        return slopes

    @property
    def _piecewise_linear(self) -> list[PiecewiseLinear]:
        return [term for term in self.terms if isinstance(term, PiecewiseLinear)]

    def _affine(self, plan: Any) -> "cp.Expression":
        import cvxpy as cp

        constant: cp.Expression = cp.Constant(float(self.constant))
        return constant + self.coefficients @ plan[self.indices.tolist()] if len(self.indices) else constant


def _proven(term: Term, slopes: Numbers) -> tuple[Any, Any] | None:
    """Return the bound that a solver's slopes prove; ``None`` if they are all NaN or prove nothing."""
    if slopes.dtype == object:
        return term.minorant(slopes)
    if len(slopes) and np.isnan(slopes).all():
        return None
    return term.minorant(np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0))


def _inequalities(rows: LinearRows) -> tuple[sp.csr_array, Floats]:
    """Return the matrix that converts all rows but the first to inequalities (an equation to two), and their units."""
    signs = sp.eye_array(len(rows.limits), format="csr")
    signs = sp.csr_array(sp.vstack([signs[1:], -signs[rows.equal]]))
    both = abs(signs @ sp.hstack([rows.plan, rows.auxiliary], format="csr"))
    units = both.max(axis=1).toarray().ravel()
    return signs, np.where(units > 0.0, units, 1.0)


def _joined(parts: Sequence[Entries]) -> Entries:
    """Return the entries of several parts together."""
    none = np.zeros(0, dtype=np.int64)
    rows, columns, values = zip(*parts, strict=True) if parts else ((none,), (none,), (np.zeros(0),))
    return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)


def _entries(matrix: Any) -> Entries:
    """Return the entries of a matrix of fractions, or of a csr_array."""
    if isinstance(matrix, Triplets):
        return matrix.rows, matrix.columns, matrix.values
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), matrix.indices, matrix.data
