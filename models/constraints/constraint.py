"""Constraints on a player's realization plan: a convex function bounded above by 0."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Self, overload

import numpy as np

from ...seqform.arrays import Floats, Integers
from ...seqform.checks import is_number, is_whole
from ...seqform.display import Displayed
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.rationals import Fractions, to_fraction
from ...seqform.rules import Number
from ..convex import ConvexFunction

if TYPE_CHECKING:
    import cvxpy as cp

    from ..distances import Distance
    from ..risks import Risk

Sense = Literal["<=", ">="]
#: The largest violation, relative to the constraint's largest number, with which strategies still prove a bound.
_MISSED = 1e-9
#: The same for functions that are not affine, because conic solvers are less accurate.
_MISSED_CURVED = 1e-6


@dataclass(frozen=True, eq=False)
class Constraint(Displayed):
    """A convex constraint f(x) ≤ 0 on one player's realization plan x.

    Parameters
    ----------
    player : int
    function : ConvexFunction
        f.
    name : str
        The constraint's name in results.
    fingerprint : str, optional
        The fingerprint of its game; ``None`` if unknown.
    variable : cvxpy.Variable, optional
        The plan variable of a constraint written in cvxpy.

    Examples
    --------
    >>> import cvxpy
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> game = load_game("kuhn")
    >>> x = game.plan(0)
    >>> problem = ConstrainedNash(game, {"near": cvxpy.norm_inf(x[1:7] - 0.5) <= 0.4})
    >>> problem.constraints[0].is_linear  # so that it has a linear program
    True
    >>> solution = solve(problem)
    >>> round(solution.value, 6), solution.gap < 1e-9
    (-0.077778, True)
    """

    shown_by = "treeplex.models.constraints.display:constraint_blocks"

    player: int
    function: ConvexFunction = field(repr=False)
    name: str
    fingerprint: str | None = field(default=None, kw_only=True)
    variable: "cp.Variable | None" = field(default=None, kw_only=True, repr=False)

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can express the constraint: f is affine or piecewise linear."""
        return self.function.is_linear

    @property
    def largest_coefficient(self) -> float:
        """The largest absolute coefficient, which sets the scale of negligible amounts; 1 if f is not affine."""
        return 1.0

    @property
    def largest_number(self) -> float:
        """The largest absolute coefficient or limit; 1 if f is not affine."""
        return 1.0

    @property
    def allowance(self) -> float:
        """The violation, in the unit of f, with which a plan still proves a bound; it allows for round-off."""
        return (_MISSED if self.function.is_affine else _MISSED_CURVED) * self.largest_number

    @overload
    def value(self, plan: Floats) -> float: ...
    @overload
    def value(self, plan: Fractions) -> Fraction: ...
    def value(self, plan: Any) -> Any:
        """Return f at a plan of floats or fractions.

        The value is at most 0 if the constraint holds, and otherwise the violation.
        """
        return self.function.value(plan)

    def minorant(self, plan: Any, slopes: Any = None) -> tuple[Any, Any]:
        """Return g and c with f(x) ≥ g · x + c for every plan x, close to equality at the given plan.

        Parameters
        ----------
        plan : ndarray, shape (num_sequences,)
        slopes : ndarray, shape (function.size,), optional
            Slopes that define the bound instead of the plan, such as a solver's; any slopes give a valid bound. Slopes
            of another shape are ignored.

        Returns
        -------
        coefficients : ndarray, shape (num_sequences,)
        constant : number
            −∞ if nothing is proven.
        """
        fits = slopes is not None and np.shape(slopes) == (self.function.size,)
        return self.function.minorant(plan, slopes if fits else None)

    def to_cvxpy(self, plan: Any) -> "cp.Expression":
        """Return f as a convex cvxpy expression of a plan."""
        return self.function.to_cvxpy(plan)

    def facts(self) -> dict[str, str]:
        """Return the facts that describe the constraint, by heading."""
        return {"function": f"{'piecewise linear' if self.is_linear else 'convex'}, at most 0"}

    def with_bound(self, bound: Number) -> "Constraint":
        """Return the same constraint with another bound.

        Raises
        ------
        InvalidConstraintError
            If it has no separate bound, as for cvxpy expressions.
        """
        raise InvalidConstraintError(
            f"constraint {shown(self.name)} is a cvxpy expression, whose bound is not a separate number: pose the "
            "problem again with another constraint"
        )


@dataclass(frozen=True, eq=False, init=False)
class LinearConstraint(Constraint):
    """A linear constraint Σ g(s) x(s) ≤ h, or ≥ h, on one player's realization plan x.

    Parameters
    ----------
    player : int
    terms : mapping of int to number
        g(s) by sequence; omitted sequences have 0. Integers, floats, decimals or fractions.
    bound : number
        h. Exact methods use decimals and fractions exactly, and read a float as its shortest decimal.
    name : str
        The constraint's name in results.
    sense : {"<=", ">="}
    fixed : bool
        Whether the user's bound is part of the coefficients, so that h does not represent it.
    fingerprint : str, optional
        The fingerprint of the game that the sequences belong to.

    Raises
    ------
    InvalidConstraintError
        If a number is missing or not finite, or a sequence is not an index.

    Examples
    --------
    In Kuhn poker, bet with a Jack at most half of the time:

    >>> from treeplex import load_game
    >>> from treeplex.models.constraints import LinearConstraint
    >>> treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    >>> bluff = LinearConstraint(0, {treeplex.sequence("J_", "b"): 1}, 0.5, name="bluff")
    >>> bluff.value(treeplex.uniform_plan()), bluff.value(treeplex.plan([0, 0, 1] + 10 * [0.5]))
    (0.0, 0.5)
    """

    function: ConvexFunction = field(init=False, repr=False)
    variable: None = field(init=False, repr=False)
    terms: Mapping[int, Number]
    bound: Number
    sense: Sense = "<="
    fixed: bool = False

    def __init__(
        self,
        player: int,
        terms: Mapping[int, Number],
        bound: Number,
        name: str,
        sense: Sense = "<=",
        *,
        fixed: bool = False,
        fingerprint: str | None = None,
    ) -> None:
        if sense not in ("<=", ">="):
            raise InvalidConstraintError(f"constraint {shown(name)}: sense is {shown(sense)}, expected <= or >=")
        check_name(name)
        check_number(name, "bound", bound)
        kept, indices, numbers = _checked_terms(name, terms)
        if sense == "<=":
            # Decimals would be rounded.
            function = ConvexFunction(indices, numbers, -(Fraction(bound) if isinstance(bound, Decimal) else bound))
        else:
            function = ConvexFunction(indices, -numbers, bound)
        super().__init__(player, function, name, fingerprint=fingerprint)
        vars(self).update(terms=kept, bound=bound, sense=sense, fixed=fixed)

    @property
    def indices(self) -> Integers:
        """The sequences that have a coefficient, in increasing order, shape (k,)."""
        return self.function.indices

    @property
    def coefficients(self) -> Floats:
        """The coefficients of f, which is bounded by 0: g with the sign given by the sense, shape (k,)."""
        return self.function.coefficients

    @property
    def limit(self) -> float:
        """The upper bound on ``coefficients`` times the plan."""
        return -float(self.function.constant)

    @property
    def largest_coefficient(self) -> float:
        """The largest absolute coefficient, 0 if there is none."""
        return float(np.abs(self.coefficients).max(initial=0.0))

    @property
    def largest_number(self) -> float:
        """The largest absolute coefficient or limit."""
        return max(self.largest_coefficient, abs(self.limit))

    def facts(self) -> dict[str, str]:
        """Return the constraint's size and bound, by heading."""
        count, kept = len(self.terms), "multiplied by reach" if self.fixed else None
        most = "at most" if self.sense == "<=" else "at least"
        found = {"function": f"linear, in {count:,} sequence{'s' * (count != 1)}", most: str(self.bound), "bound": kept}
        return {name: content for name, content in found.items() if content is not None}

    @property
    def exact_coefficients(self) -> list[Fraction]:
        """:attr:`coefficients` as fractions."""
        return self.function.exact_coefficients

    @property
    def exact_limit(self) -> Fraction:
        """:attr:`limit` as a fraction."""
        return -self.function.exact_constant

    def with_bound(self, bound: Number) -> "LinearConstraint":
        """Return the same constraint with another bound.

        Raises
        ------
        InvalidConstraintError
            If the bound is part of the coefficients.
        """
        if self.fixed:
            raise InvalidConstraintError(
                f"the bound of {shown(self.name)} cannot be changed: it is not a constant on one side, or it "
                "multiplies the reach of an infoset; bound a realization, plan(…), instead"
            )
        return LinearConstraint(self.player, self.terms, bound, self.name, self.sense, fingerprint=self.fingerprint)


@dataclass(frozen=True, eq=False, init=False)
class MeasureConstraint(Constraint):
    """Base class of M(x) ≤ m: an upper bound on a convex measure of a plan."""

    function: ConvexFunction = field(init=False, repr=False)
    fingerprint: str | None = field(init=False)
    variable: None = field(init=False, repr=False)
    name: str
    player: int = field(init=False)
    measure: "Distance | Risk"
    bound: Number

    def __init__(self, measure: "Distance | Risk", bound: Number, name: str) -> None:
        check_name(name)
        check_number(name, "bound", bound)
        function = measure.function.with_constant(measure.function.exact_constant - to_fraction(bound))
        super().__init__(measure.player, function, name, fingerprint=measure.fingerprint)
        vars(self).update(measure=measure, bound=bound)

    def with_bound(self, bound: Number) -> Self:
        """Return the same constraint with another bound."""
        return type(self)(self.measure, bound, self.name)


class DistanceConstraint(MeasureConstraint):
    """A constraint D(x) ≤ d: an upper bound on a plan's distance from a reference strategy.

    Parameters
    ----------
    measure : Distance
    bound : number
        d.
    name : str
    """

    measure: "Distance"

    @property
    def distance(self) -> "Distance":
        """The distance D."""
        return self.measure


class RiskConstraint(MeasureConstraint):
    """A constraint R(x) ≤ r: an upper bound on a convex measure of a plan, such as the tail of losses.

    Parameters
    ----------
    measure : Risk
    bound : number
        r.
    name : str
    """

    measure: "Risk"


def weighted_minorant(
    constraints: Sequence[Constraint], weights: Sequence[Any], plan: Any, certificates: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Return g and c with Σ w f(x) ≥ g · x + c for every plan x.

    Parameters
    ----------
    constraints : sequence of Constraint
    weights : sequence of float, or of Fraction
        w ≥ 0, by constraint.
    plan : ndarray of float64, or of Fraction
        Where the bound should be tight.
    certificates : mapping of str to ndarray
        Slopes by constraint; see :meth:`Constraint.minorant`.

    Returns
    -------
    slope : ndarray of float64, or of Fraction, shape (num_sequences,)
    constant : float or Fraction

    Notes
    -----
    Constraints about which nothing is proven are omitted. This is valid where zero weights are valid too: a multiplier
    then proves less.
    """
    exact = plan.dtype == object
    total: Any = 0 * plan
    constant: Any = Fraction(0) if exact else 0.0
    for one, weight in zip(constraints, weights, strict=True):
        function = one.function
        if not weight > 0:
            continue
        if function.is_affine:
            total[function.indices] += weight * (
                np.array(function.exact_coefficients, dtype=object) if exact else function.coefficients
            )
            constant += weight * (function.exact_constant if exact else float(function.constant))
            continue
        slope, shift = one.minorant(plan, certificates.get(one.name))
        if exact or np.isfinite(shift):
            total += weight * slope
            constant += weight * shift
    return total, constant


def check_name(name: Any) -> None:
    """Raise an error if a name is not valid for a constraint.

    Raises
    ------
    InvalidConstraintError
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InvalidConstraintError(f"{shown(name)} is not a valid constraint name, expected printable text")


def check_number(name: str, what: str, number: Any) -> None:
    """Raise an error if a number is not finite.

    Raises
    ------
    InvalidConstraintError
    """
    try:
        is_finite = (is_number(number) or isinstance(number, Decimal)) and math.isfinite(float(number))
    except (OverflowError, ValueError):
        is_finite = False
    if not is_finite:
        raise InvalidConstraintError(
            f"constraint {shown(name)}: {what} is {shown(number)}, expected a finite number or a fraction"
        )


def _checked_terms(name: str, terms: Any) -> tuple[dict[int, Number], Integers, Any]:
    """Return terms as a dictionary, and the sequences in increasing order with their coefficients."""
    if not isinstance(terms, Mapping):
        raise InvalidConstraintError(
            f"constraint {shown(name)}: the terms are {shown(terms)}, expected a mapping of sequences to numbers"
        )
    kept, numbers = dict(terms), list(terms.values())
    if set(map(type, kept)) <= {int} and set(map(type, numbers)) <= {float}:
        # The type of nearly all sequences, of which there may be millions.
        indices, values = np.array(list(kept), dtype=np.int64), np.array(numbers, dtype=np.float64)
        if np.isfinite(values).all() and (indices >= 0).all():
            return kept, *_sorted(indices, values)
    for sequence, number in kept.items():
        if not is_whole(sequence) or sequence < 0:
            raise InvalidConstraintError(
                f"constraint {shown(name)}: {shown(sequence)} is not a sequence, expected an index of at least 0"
            )
        check_number(name, f"the coefficient of sequence {sequence}", number)
    kept = {int(sequence): number for sequence, number in kept.items()}
    exact = np.empty(len(kept), dtype=object)
    exact[:] = [Fraction(number) if isinstance(number, Decimal) else number for number in numbers]
    return kept, *_sorted(np.array(list(kept), dtype=np.int64), exact)


def _sorted(indices: Any, numbers: Any) -> tuple[Integers, Any]:
    order = np.argsort(indices, kind="stable")
    return indices[order].astype(np.int32), numbers[order]
