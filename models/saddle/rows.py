"""The constraints of one player in a saddle program: hard, or soft at a penalty."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import UnsupportedProblemError, shown
from ...seqform.rationals import to_fractions
from ..constraints.constraint import Constraint, DistanceConstraint, weighted_minorant
from ..convex import ConvexFunction, LinearRows
from ..convex.function import Entries
from ..programs.linear_program import ProgramBlocks
from ..programs.triplets import Triplets

if TYPE_CHECKING:
    import cvxpy as cp

#: The largest coefficient of a linear program: HiGHS rejects 1e15.
_LARGEST = 10**14


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints f(x) ≤ 0 on one player's plan x, and the cost of violating them.

    Parameters
    ----------
    constraints : tuple of Constraint
        All on the plan of one player.
    size : int
        Number of sequences of that plan.
    penalty : float or Fraction, optional
        The player's penalty per unit of violation; by default the constraints are hard.
    shared : bool
        Whether the player pays only for the largest violation instead of the sum.
    weights : mapping of str to float or Fraction, optional
        By constraint, the factor of the penalty, 1 by default; infinite for a hard constraint. Not with ``shared``.
    """

    constraints: tuple[Constraint, ...]
    size: int
    penalty: Any = None
    shared: bool = False
    weights: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hard(self) -> tuple[Constraint, ...]:
        """The constraints that must be met."""
        return tuple(one for one in self.constraints if self.penalty is None or self.weights.get(one.name) == math.inf)

    @property
    def prices(self) -> list[Any]:
        """The penalty of each soft constraint, ``None`` for a hard one."""
        if self.penalty is None:
            return [None] * len(self.constraints)
        factors = (self.weights.get(name, 1) for name in self.names)
        return [None if factor == math.inf else self.penalty * factor for factor in factors]

    @property
    def is_linear(self) -> bool:
        """Whether all constraints are linear or piecewise linear."""
        return all(constraint.is_linear for constraint in self.constraints)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The constraints' names."""
        return tuple(constraint.name for constraint in self.constraints)

    def values(self, plan: Any) -> dict[str, Any]:
        """Return f by constraint, at a plan of floats or of fractions."""
        return {one.name: one.value(plan) for one in self.constraints}

    def paid(self, values: Mapping[str, Any]) -> Any:
        """Return the player's payment for its violations, from the values of f; 0 for hard constraints."""
        if self.penalty is None or not self.constraints:
            return 0
        excess = [max(0 * value, value) for value in values.values()]
        if self.shared or not self.weights:
            return self.penalty * (max(excess) if self.shared else sum(excess))
        paid = (one * price for one, price in zip(excess, self.prices, strict=True) if price is not None)
        return sum(paid, 0 * self.penalty)

    def capped(self, multipliers: Mapping[str, Any]) -> list[Any]:
        """Return multipliers that prove a bound, in the order of the constraints: the given ones, scaled or clipped.

        They are at least 0. For soft constraints each is clipped to its price, or, if it is shared, all are scaled
        so that their sum is at most the penalty.
        """
        given = [max(0, multipliers.get(name, 0)) for name in self.names]
        total = sum(given)
        if self.penalty is None or (self.shared and total <= self.penalty):
            return given
        if self.shared:
            return [one * (self.penalty / total) for one in given]
        return [one if price is None else min(one, price) for one, price in zip(given, self.prices, strict=True)]

    def minorant(self, multipliers: Mapping[str, Any], plan: Any, subgradients: Mapping[str, Any]) -> tuple[Any, Any]:
        """Return g and c with Σ λ f(x') ≥ g · x' + c for every plan x', λ being the capped multipliers.

        Parameters
        ----------
        multipliers : mapping of str to number
        plan : ndarray
            The point at which the bound should be tight.
        subgradients : mapping of str to ndarray
            By constraint, for :meth:`Constraint.minorant <treeplex.models.constraints.Constraint.minorant>`.
        """
        return weighted_minorant(self.constraints, self.capped(multipliers), plan, subgradients)

    def best_subgradients(self, multipliers: Mapping[str, Any], gradient: Any) -> dict[str, Floats]:
        """Return the subgradients that prove the best bound on max over x' of gradient · x' − λ f(x'), if known.

        By constraint. They are known for functions with a conjugate in closed form, and computed only if constraints
        state the objective, at a penalty.
        """
        found: dict[str, Floats] = {}
        if self.penalty is None:
            return found
        for one, multiplier in zip(self.constraints, self.capped(multipliers), strict=True):
            if isinstance(one, DistanceConstraint) and multiplier > 0 and gradient.dtype != object:
                best = one.distance.best_slopes(gradient / multiplier)
                if best is not None:
                    found[one.name] = best
        return found

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """The divisors of the rows of linear constraints in programs in floats, by name."""
        return self.matrix(exact=False).sizes

    def matrix(self, exact: bool) -> "ConstraintMatrix":
        """Return the rows of constraints that linear programs can express, in floats or in fractions."""
        return self._exact_matrix if exact else self._matrix

    @cached_property
    def _matrix(self) -> "ConstraintMatrix":
        return ConstraintMatrix.of(self.constraints, self.size)

    @cached_property
    def _exact_matrix(self) -> "ConstraintMatrix":
        return ConstraintMatrix.exact(self.constraints, self.size)

    def add_to(self, blocks: ProgramBlocks, sign: int) -> None:
        """Add G x + K s ≤ h to a linear program, or its violations at a price; ``sign`` is that of the objective."""
        own = self.matrix(blocks.exact)
        terms: dict[str, Any] = {"plan": own.matrix}
        if own.auxiliary.shape[1]:
            blocks.add_columns("auxiliary", len(own.least), lower=own.least)
            terms["auxiliary"] = own.auxiliary
        if self.penalty is not None:
            excess, units = own.excess(one_for_all=self.shared)
            prices = [self.penalty] if self.shared else self.prices
            costs = np.array([price or 0 for price in prices])
            most = np.array([0.0 if price is None else math.inf for price in prices])
            blocks.add_columns("excess", len(units), objective=-sign * costs * units, lower=0.0, upper=most)
            terms["excess"] = excess
        blocks.add_rows("constraints", terms, lower=own.lower, upper=own.limits)

    def add_prices(self, blocks: ProgramBlocks, weight: Any, unit: Any) -> dict[str, Any]:
        """Add prices μ of the other player's constraints; return their part in the response rows, in payoff units."""
        other = self.matrix(blocks.exact)
        # In payoff units, and in units of the rows that were divided by their units.
        count, scale = len(other.units), unit / other.units
        most = np.full(count, np.inf, dtype=other.units.dtype)
        if self.penalty is not None and not self.shared:
            with np.errstate(over="ignore"):  # beyond the largest float there is no bound
                most[other.heads] = self.penalty / scale[other.heads]
        least = np.where(other.equal, -np.inf, 0.0)
        blocks.add_columns("prices", count, objective=-weight * unit * other.limits, lower=least, upper=most)
        if self.penalty is not None and self.shared:
            # Rows of fractions are not divided, and their scale is 1.
            entries = (scale[other.heads].astype(np.float64), (np.zeros_like(other.heads), other.heads))
            blocks.add_rows("penalty", {"prices": sp.csr_array(entries, shape=(1, count))}, upper=self.penalty)
        if other.auxiliary.shape[1]:
            most = np.where(other.least == 0.0, np.inf, 0.0)
            blocks.add_rows("auxiliary prices", {"prices": other.auxiliary.T}, lower=0.0, upper=most)
        return {"prices": -other.matrix.T}


@dataclass(frozen=True, eq=False)
class ConstraintMatrix:
    """The rows G x + K s ≤ h with s ≥ l, each divided by its largest coefficient.

    Rows are divided because solver tolerances are absolute.

    Made by :meth:`of` in floats, by :meth:`exact` in fractions.

    A linear constraint is one row. A piecewise linear one has several rows on its own auxiliary variables s: the first
    is the function that must be at most 0, and the others constrain s; see
    :meth:`~treeplex.models.convex.ConvexFunction.linear_rows`.

    Attributes
    ----------
    names : tuple of str
        The constraints' names.
    functions : tuple of ConvexFunction
        The constraints' functions.
    starts : ndarray of int, shape (constraints + 1,)
        The first row of each constraint.
    matrix : csr_array or Triplets, shape (k, num_sequences)
        G.
    auxiliary : csr_array, shape (k, num_auxiliary)
        K.
    limits : ndarray of float64 or of Fraction, shape (k,)
        h.
    equal : ndarray of bool, shape (k,)
        Whether a row is an equation.
    least : ndarray of float64, shape (num_auxiliary,)
        l: 0 or −∞.
    units : ndarray of float64, shape (k,)
        The divisors of the rows: a row's multiplier divided by its unit is that of the original row.
    """

    names: tuple[str, ...]
    functions: tuple[ConvexFunction, ...]
    starts: Integers
    matrix: Any
    auxiliary: sp.csr_array
    limits: Any
    equal: npt.NDArray[np.bool_]
    least: Floats
    units: Any

    @classmethod
    def of(cls, constraints: Sequence[Constraint], size: int) -> "ConstraintMatrix":
        """Combine constraints on plans of ``size`` sequences, leaving out those that are not linear."""
        linear = [one for one in constraints if one.is_linear]
        parts = [one.function.linear_rows(size) for one in linear]
        starts = np.cumsum([0, *(len(part.limits) for part in parts)])
        columns = np.cumsum([0, *(part.num_auxiliary for part in parts)])
        matrix = _put_together([part.plan_entries for part in parts], starts, np.zeros_like(starts), size)
        auxiliary = _put_together([part.auxiliary_entries for part in parts], starts, columns, int(columns[-1]))
        largest = np.zeros(int(starts[-1]))
        for part in (sp.coo_array(matrix), sp.coo_array(auxiliary)):
            np.maximum.at(largest, part.coords[0], np.abs(part.data))
        units = np.where(largest > 0.0, largest, 1.0)
        scale = sp.diags_array(1.0 / units)
        return cls(
            names=tuple(one.name for one in linear),
            functions=tuple(one.function for one in linear),
            starts=starts,
            matrix=sp.csr_array(scale @ matrix),
            auxiliary=sp.csr_array(scale @ auxiliary),
            limits=np.concatenate([np.zeros(0), *(part.limits for part in parts)]) / units,
            equal=np.concatenate([np.zeros(0, dtype=bool), *(part.equal for part in parts)]),
            least=np.concatenate([np.zeros(0), *(part.least for part in parts)]),
            units=units,
        )

    @classmethod
    def exact(cls, constraints: Sequence[Constraint], size: int) -> "ConstraintMatrix":
        """Combine constraints on plans of ``size`` sequences, in fractions; rows are not divided.

        Raises
        ------
        UnsupportedProblemError
            If a constraint cannot be expressed in fractions.
        """
        parts = [_exact_rows(one, size) for one in constraints]
        starts = np.cumsum([0, *(len(part.limits) for part in parts)])
        columns = np.cumsum([0, *(part.num_auxiliary for part in parts)])
        return cls(
            names=tuple(one.name for one in constraints),
            functions=tuple(one.function for one in constraints),
            starts=starts,
            matrix=Triplets((int(starts[-1]), size), *_joined([part.plan_entries for part in parts], starts)),
            auxiliary=_put_together([part.auxiliary_entries for part in parts], starts, columns, int(columns[-1])),
            limits=to_fractions(np.concatenate([np.zeros(0, dtype=object), *(part.limits for part in parts)])),
            equal=np.concatenate([np.zeros(0, dtype=bool), *(part.equal for part in parts)]),
            least=np.concatenate([np.zeros(0), *(part.least for part in parts)]),
            units=to_fractions([1] * int(starts[-1])),
        )

    @property
    def lower(self) -> Floats:
        """The lower limits of the rows, shape (k,)."""
        return np.where(self.equal, self.limits, -np.inf)

    @property
    def sizes(self) -> dict[str, float]:
        """The divisor of the first row of each constraint, by name."""
        return dict(zip(self.names, self.units[self.heads].tolist(), strict=True))

    @property
    def heads(self) -> Integers:
        """The first row of each constraint, shape (constraints,)."""
        return self.starts[:-1]

    def excess(self, one_for_all: bool) -> tuple[sp.csr_array, Floats]:
        """Return the coefficients of violations in the rows that they loosen: the first row of each constraint.

        Parameters
        ----------
        one_for_all : bool
            Whether a single violation loosens all of them.

        Returns
        -------
        matrix : csr_array, shape (k, constraints) or (k, 1)
        units : ndarray of float64, shape (constraints,) or (1,)
            The units of the violations, so that no entry is below 1: solvers drop tiny entries and reject huge ones.
        """
        count, units = len(self.names), self.units[self.heads]
        columns = np.zeros(count, dtype=np.int64) if one_for_all else np.arange(count)
        chosen = _common_unit(units) if one_for_all else units
        # Rows of fractions are not divided: their ratios are 1.
        ratios = (-chosen[columns] / units).astype(np.float64)
        matrix = sp.csr_array((ratios, (self.heads, columns)), shape=(len(self.units), len(chosen)))
        return matrix, chosen

    def multipliers(self, of_rows: Any) -> dict[str, Any]:
        """Return the multipliers of constraints from those of the rows, which are at least 0 up to round-off."""
        heads = (of_rows / self.units)[self.heads].tolist()
        return {name: value if value > 0 else 0 * abs(value) for name, value in zip(self.names, heads, strict=True)}

    def subgradients(self, of_rows: Any) -> dict[str, Any]:
        """Return the slopes of constraints' functions that are not affine, from the multipliers of the rows."""
        given = of_rows / self.units
        parts = zip(self.names, self.functions, self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return {
            name: function.slopes_of(given[start:stop])
            for name, function, start, stop in parts
            if not function.is_affine and given[start] > 0
        }


def cvxpy_rows(
    constraints: Sequence[Constraint], plan: Any, sizes: Mapping[str, float], excess: Any = None
) -> "tuple[list[cp.Constraint], list[cp.Constraint]]":
    """Return constraints in cvxpy, and the constraints that define their functions' auxiliary variables.

    Parameters
    ----------
    constraints : sequence of Constraint
    plan : cvxpy.Variable
    sizes : mapping of str to float
        The divisors of the rows of linear constraints, because solvers' tolerances are absolute.
    excess : cvxpy.Variable, shape (constraints,) or (1,), optional
        The violations of the constraints, or one for all of them; see :func:`excess_units`.
    """
    functions = [one.function.cvxpy_parts(plan, lengths=excess is not None) for one in constraints]
    units = excess_units(constraints, sizes, 0 if excess is None else excess.size)
    heads = []
    for place, (one, (function, _)) in enumerate(zip(constraints, functions, strict=True)):
        size = sizes.get(one.name, 1.0)
        column = place if len(units) == len(constraints) else 0
        allowed = 0.0 if excess is None else excess[column] * (units[column] / size)
        heads.append((function if size == 1.0 else function / size) <= allowed)
    return heads, [row for _, rows in functions for row in rows]


def excess_units(constraints: Sequence[Constraint], sizes: Mapping[str, float], count: int) -> Floats:
    """Return the units of ``count`` violations: one per constraint, or one for all."""
    units = np.array([sizes.get(one.name, 1.0) for one in constraints])
    return units if count == len(constraints) else _common_unit(units)[:count]


def read_multipliers(
    constraints: Sequence[Constraint], sizes: Mapping[str, float], solved: "Sequence[cp.Constraint]"
) -> dict[str, float]:
    """Return the multipliers of constraints from those of the rows made by :func:`cvxpy_rows`."""
    duals = [float(np.asarray(row.dual_value).item()) for row in solved[: len(constraints)]]
    return {one.name: max(0.0, dual) / sizes.get(one.name, 1.0) for one, dual in zip(constraints, duals, strict=True)}


def read_subgradients(
    constraints: Sequence[Constraint],
    multipliers: Mapping[str, float],
    solved: "Sequence[cp.Constraint]",
    soft: bool = False,
) -> dict[str, Floats]:
    """Return the slopes of constraints' functions, from a solved cvxpy program.

    Parameters
    ----------
    constraints : sequence of Constraint
        Those whose :func:`cvxpy_rows` are in the program.
    multipliers : mapping of str to float
        By constraint, for the functions that must be at most 0.
    solved : sequence of cvxpy.Constraint
        Its last entries define the functions, in the order of the constraints.
    soft : bool
        Whether the constraints may be violated.
    """
    counts = [one.function.num_definitions(lengths=soft) for one in constraints]
    start, found = len(solved) - sum(counts), {}
    for one, count in zip(constraints, counts, strict=True):
        slopes = one.function.cvxpy_slopes(solved[start : start + count], multipliers[one.name], lengths=soft)
        start += count
        if slopes is not None:
            found[one.name] = slopes
    return found


def _common_unit(units: Any) -> Any:
    """Return one unit for all violations, shape (1,): the largest one that solvers can handle next to the smallest."""
    return np.minimum(units.max(), _LARGEST * units.min(keepdims=True)) if len(units) else np.ones(1)


def _exact_rows(constraint: Constraint, size: int) -> LinearRows:
    function = constraint.function
    if not (function.is_linear and function.is_rational):
        raise UnsupportedProblemError(
            f"constraint {shown(constraint.name)} cannot be written in fractions: use "
            f"{'highs or ' if function.is_linear else ''}cvxpy"
        )
    return function.linear_rows(size, exact=True)


def _joined(parts: Sequence[Entries], starts: Integers, columns: Sequence[int] = ()) -> Entries:
    """Return the entries of matrices stacked, each with its own row and column offset."""
    rows = [part[0] + start for part, start in zip(parts, starts.tolist(), strict=False)]
    places = [part[1] + column for part, column in zip(parts, columns or [0] * len(parts), strict=False)]
    none = np.zeros(0, dtype=np.int64)
    values = np.concatenate([part[2] for part in parts]) if parts else np.zeros(0)
    return np.concatenate([none, *rows]), np.concatenate([none, *places]), values


def _put_together(parts: Sequence[Entries], starts: Integers, columns: Integers, width: int) -> sp.csr_array:
    """Return matrices stacked, each with its own row and column offset."""
    rows, places, values = _joined(parts, starts, columns.tolist())
    return sp.csr_array((values, (rows, places)), shape=(int(starts[-1]), width))
