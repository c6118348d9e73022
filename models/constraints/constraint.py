"""What every constraint can say of itself, and constraints that are convex but not linear."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.rationals import to_fractions
from ...seqform.rules import Number
from .affine import valued
from .composition import Composition
from .lifted import LiftedRows, lift
from .linear import LinearConstraint, check_name, check_number

if TYPE_CHECKING:
    import cvxpy as cp

    from ..distances import Distance


class Constraint(Protocol):
    """f(x) ≤ 0 for one player's realization plan x, with f convex.

    Attributes
    ----------
    name : str
    player : int
    is_linear : bool
        Whether a linear program can state it: f is linear, or piecewise linear.
    fingerprint : str or None
        Of the game; ``None`` where it is not known.
    """

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def player(self) -> int:
        """Whose plan it is on."""
        ...

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can state it."""
        ...

    @property
    def fingerprint(self) -> str | None:
        """Of the game whose plans it is on."""
        ...

    def value(self, plan: Floats) -> float:
        """Return f at a plan."""
        ...

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return g and c with f(x) ≥ g · x + c for every plan x, close to equality at the plan given.

        c is −∞ where nothing is known.
        """
        ...

    def to_cvxpy(self, plan: Any) -> Any:
        """Return f as a convex cvxpy expression of a plan."""
        ...

    def with_bound(self, bound: Number) -> "Constraint":
        """Return the same constraint with another bound."""
        ...


@dataclass(frozen=True, eq=False)
class ConvexConstraint:
    """f(x) ≤ 0 with f a scalar convex cvxpy expression of ``game.plan(player)``.

    Parameters
    ----------
    player : int
    plan : cvxpy.Variable
        ``game.plan(player)``.
    expression : cvxpy.Expression
        f, of shape ().
    name : str
    """

    player: int
    plan: "cp.Variable"
    expression: "cp.Expression"
    name: str
    is_linear = False
    fingerprint = None

    def value(self, plan: Floats) -> float:
        """Return f at a plan; near it where cvxpy has no value there, as of 0² / 0, and ∞ if there is none either."""
        for inwards in (0.0, 1e-9):
            with valued(self.plan, (1.0 - inwards) * plan + inwards), np.errstate(divide="ignore", invalid="ignore"):
                value = self.expression.value
            if value is not None and not np.isnan(value):
                return float(np.asarray(value).item())
        return np.inf

    @cached_property
    def composition(self) -> Composition | None:
        """The same function as a sum of norms, squares and the like; ``None`` where cvxpy alone knows it."""
        from .recognised import recognise

        return recognise(self.expression, self.plan)

    def evidence_from(self, average: Floats) -> Floats:
        """Return slopes for :meth:`minorant` from what a method that takes tangents averages.

        Parameters
        ----------
        average : ndarray
            Of the slopes of :attr:`composition`; where there is none, of the plans at which tangents were taken.
        """
        return average

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return the tangent of f at a plan; at a point moved a little inwards where f has no slope there.

        Parameters
        ----------
        plan : ndarray, shape (num_sequences,)
        slopes : ndarray, optional
            Those of :attr:`composition`, for the bound that they prove; where there is none, another point for the
            tangent.
        """
        if slopes is not None and self.composition is None and slopes.shape == plan.shape:
            plan = np.maximum(np.nan_to_num(slopes, nan=0.0, posinf=0.0, neginf=0.0), 0.0)
        elif slopes is not None and self.composition is not None and slopes.shape == (self.composition.size,):
            return self.composition.minorant(slopes)
        uniform = np.full(len(plan), 1.0)
        for inwards in (0.0, 1e-9, 1e-6):
            at = (1.0 - inwards) * plan + inwards * uniform
            with valued(self.plan, at), np.errstate(divide="ignore", invalid="ignore"):
                value, slope = self.expression.value, self._slope()
            if slope is None or value is None:
                continue
            gradient = np.asarray(slope.toarray() if hasattr(slope, "toarray") else slope, dtype=np.float64).ravel()
            if np.isfinite(gradient).all() and np.isfinite(value):
                return gradient, float(value) - float(gradient @ at)
        return unknown_minorant(plan)

    def _slope(self) -> Any:
        """Return cvxpy's gradient where the plan is; ``None`` if it has none."""
        try:
            return self.expression.grad[self.plan]
        except Exception:  # some functions of cvxpy have none, and fail in ways of their own
            return None

    def to_cvxpy(self, plan: Any) -> Any:
        """Return f; the plan must be ``game.plan(player)``."""
        assert plan is self.plan
        return self.expression

    def with_bound(self, bound: Number) -> "ConvexConstraint":
        """Refuse: a cvxpy expression has no bound of its own.

        Raises
        ------
        InvalidConstraintError
        """
        raise InvalidConstraintError(
            f"constraint {shown(self.name)} is a cvxpy expression, whose bound cannot be told from the rest: pose the "
            "problem anew with another one"
        )


@dataclass(frozen=True, eq=False)
class DistanceConstraint:
    """D(x) ≤ d: a plan no further than d from a reference strategy.

    Parameters
    ----------
    distance : Distance
    bound : number
        d.
    name : str
    """

    distance: "Distance"
    bound: Number
    name: str
    fingerprint: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_number(self.name, "bound", self.bound)
        object.__setattr__(self, "fingerprint", self.distance.reference.fingerprint)

    @property
    def player(self) -> int:
        """Whose plan it is on."""
        return self.distance.player

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can state it."""
        return self.rows is not None

    @cached_property
    def rows(self) -> LiftedRows | None:
        """D(x) − d for linear programs, if they can state it."""
        if not self.distance.is_linear:
            return None
        import cvxpy as cp

        plan = cp.Variable(self.distance.treeplex.num_sequences, nonneg=True)
        lifted = lift(self.to_cvxpy(plan), plan)
        return None if lifted is None else lifted[0]

    def value(self, plan: Floats) -> float:
        """Return D(x) − d."""
        return self.distance.value(plan) - float(self.bound)

    @cached_property
    def composition(self) -> Composition:
        """D(x) − d as a sum of norms, squares and the like."""
        return self.distance.composition.less(float(self.bound))

    def evidence_from(self, average: Floats) -> Floats:
        """Return slopes for :meth:`minorant` from an average of those of :attr:`composition`."""
        return self.distance.slopes_from(average)

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return a linear function that D(x) − d is nowhere below.

        Parameters
        ----------
        plan : ndarray, shape (num_sequences,)
            Where it is to be tight.
        slopes : ndarray, optional
            As the distance takes them, or multipliers of :attr:`rows`, which are more, where there are such.
        """
        if slopes is not None and self.rows is not None and slopes.shape == self.rows.limits.shape:
            proven = self.rows.minorant(slopes)
            if proven is not None:
                return proven
            slopes = None
        gradient, constant = self.distance.minorant(plan, slopes)
        return gradient, constant - float(self.bound)

    def to_cvxpy(self, plan: Any) -> Any:
        """Return D(x) − d as a cvxpy expression."""
        return self.distance.to_cvxpy(plan) - float(self.bound)

    def with_bound(self, bound: Number) -> "DistanceConstraint":
        """Return the same constraint with another bound."""
        return replace(self, bound=bound)


def unknown_minorant(plan: Floats) -> tuple[Floats, float]:
    """Return what :meth:`Constraint.minorant` does where nothing is known: no slope, and −∞."""
    return np.zeros(len(plan)), -np.inf


def constraint_value(constraint: Constraint, plan: Any, exact: bool) -> Any:
    """Return f at a plan of floats, or of fractions, which linear constraints alone can take."""
    return (
        constraint.exact_value(plan) if exact and isinstance(constraint, LinearConstraint) else constraint.value(plan)
    )


def weighted_minorant(
    constraints: Sequence[Constraint], weights: Sequence[Any], plan: Any, evidence: Mapping[str, Floats]
) -> tuple[Any, Any]:
    """Return g and c with Σ w f(x) ≥ g · x + c for every plan x.

    Parameters
    ----------
    constraints : sequence of Constraint
    weights : sequence of float, or of Fraction
        w ≥ 0, by constraint. Fractions are for linear constraints alone.
    plan : ndarray of float64, or of Fraction
        Where the bound is to be tight.
    evidence : mapping of str to ndarray
        By constraint.

    Returns
    -------
    slope : ndarray of float64, or of Fraction, shape (num_sequences,)
    constant : float or Fraction

    Notes
    -----
    A constraint of which nothing is known is left out, which is right where weights that are 0 would do as well: a
    multiplier then proves less.
    """
    total: Any = 0 * plan
    constant: Any = Fraction(0) if total.dtype == object else 0.0
    for constraint, weight in zip(constraints, weights, strict=True):
        if isinstance(weight, Fraction):
            assert isinstance(constraint, LinearConstraint)
            total[constraint.indices] += weight * to_fractions(constraint.exact_coefficients)
            constant -= weight * constraint.exact_limit
        elif weight > 0.0:
            slope, shift = constraint.minorant(plan, evidence.get(constraint.name))
            if np.isfinite(shift):
                total += weight * slope
                constant += float(weight * shift)
    return total, constant
