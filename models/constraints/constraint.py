"""What every constraint can say of itself, and constraints that are convex but not linear."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.rules import Number
from .linear import check_name, check_number

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
        Whether f is linear.
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
        """Whether f is linear."""
        ...

    @property
    def fingerprint(self) -> str | None:
        """Of the game whose plans it is on."""
        ...

    def value(self, plan: Floats) -> float:
        """Return f at a plan."""
        ...

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return g and c with f(x) ≥ g · x + c for every plan x, close to equality at the plan given."""
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
        """Return f at a plan."""
        with valued(self.plan, plan):
            return float(self.expression.value)

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return the tangent of f at a plan; at a point moved a little inwards where f has no slope there."""
        uniform = np.full(len(plan), 1.0)
        for inwards in (0.0, 1e-9, 1e-6):
            at = (1.0 - inwards) * plan + inwards * uniform
            with valued(self.plan, at):
                value, slope = self.expression.value, self.expression.grad[self.plan]
            if slope is None or value is None:
                continue
            gradient = np.asarray(slope.toarray() if hasattr(slope, "toarray") else slope, dtype=np.float64).ravel()
            if np.isfinite(gradient).all() and np.isfinite(value):
                return gradient, float(value) - float(gradient @ at)
        raise InvalidConstraintError(f"constraint {shown(self.name)} has no slope at the plan that was found")

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
    is_linear = False
    fingerprint: str | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        check_name(self.name)
        check_number(self.name, "bound", self.bound)
        object.__setattr__(self, "fingerprint", self.distance.reference.fingerprint)

    @property
    def player(self) -> int:
        """Whose plan it is on."""
        return self.distance.player

    def value(self, plan: Floats) -> float:
        """Return D(x) − d."""
        return self.distance.value(plan) - float(self.bound)

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return a linear function that D(x) − d is nowhere below."""
        gradient, constant = self.distance.minorant(plan, slopes)
        return gradient, constant - float(self.bound)

    def to_cvxpy(self, plan: Any) -> Any:
        """Return D(x) − d as a cvxpy expression."""
        return self.distance.to_cvxpy(plan) - float(self.bound)

    def with_bound(self, bound: Number) -> "DistanceConstraint":
        """Return the same constraint with another bound."""
        return replace(self, bound=bound)


@contextmanager
def valued(variable: "cp.Variable", value: Floats) -> Iterator[None]:
    """Give a cvxpy variable a value for a while."""
    before = variable.value
    try:
        variable.save_value(np.asarray(value, dtype=np.float64))
        yield
    finally:
        variable.save_value(before)
