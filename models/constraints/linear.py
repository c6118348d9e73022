"""Linear constraints on a player's realization plan."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, Literal

import numpy as np

from ...seqform.arrays import Floats, Integers
from ...seqform.errors import InvalidConstraintError, shown
from ...seqform.rationals import Fractions, to_fraction
from ...seqform.rules import Number

Sense = Literal["<=", ">="]


@dataclass(frozen=True, eq=False)
class LinearConstraint:
    """Σ g(s) x(s) ≤ h, or ≥ h, on one player's realization plan x.

    Parameters
    ----------
    player : int
    terms : mapping of int to number
        g(s) by sequence; sequences left out have 0. Integers, floats, decimals or fractions.
    bound : number
        h. Decimals and fractions are kept exactly for exact methods; a float counts there as its shortest decimal.
    name : str
        What results call it.
    sense : {"<=", ">="}
    fixed : bool
        Whether the bound that the user gave stands in the coefficients, so that h cannot stand for it.
    fingerprint : str, optional
        Of the game whose sequences are meant.

    Raises
    ------
    InvalidConstraintError
        If a number is none or not finite, or a sequence is no index.

    Examples
    --------
    In Kuhn poker, betting with a Jack at most half of the time:

    >>> from treeplex import load_game
    >>> from treeplex.models.constraints import LinearConstraint
    >>> treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    >>> bluff = LinearConstraint(0, {treeplex.sequence("J_", "b"): 1}, 0.5, name="bluff")
    >>> bluff.value(treeplex.uniform_plan()), bluff.value(treeplex.plan([0, 0, 1] + 10 * [0.5]))
    (0.0, 0.5)
    """

    player: int
    terms: Mapping[int, Number]
    bound: Number
    name: str
    sense: Sense = "<="
    fixed: bool = field(default=False, kw_only=True)
    fingerprint: str | None = field(default=None, kw_only=True)

    #: Whether the exact formulation stays linear.
    is_linear = True

    def __post_init__(self) -> None:
        if self.sense not in ("<=", ">="):
            raise InvalidConstraintError(
                f"constraint {shown(self.name)}: sense is {shown(self.sense)}, expected <=, >="
            )
        check_name(self.name)
        check_number(self.name, "bound", self.bound)
        if not isinstance(self.terms, Mapping):
            raise InvalidConstraintError(
                f"constraint {shown(self.name)}: the terms are {shown(self.terms)}, expected a mapping of sequences to "
                "numbers"
            )
        for sequence, number in self.terms.items():
            if type(sequence) is int and type(number) is float and sequence >= 0 and math.isfinite(number):
                continue  # what nearly all of millions of them are
            if isinstance(sequence, bool) or not isinstance(sequence, int | np.integer) or sequence < 0:
                raise InvalidConstraintError(
                    f"constraint {shown(self.name)}: {shown(sequence)} is no sequence, expected an index from 0 on"
                )
            check_number(self.name, f"the coefficient of sequence {sequence}", number)
        object.__setattr__(self, "terms", {int(sequence): number for sequence, number in self.terms.items()})

    @cached_property
    def indices(self) -> Integers:
        """The sequences that have a coefficient, rising, shape (k,)."""
        return np.array(sorted(self.terms), dtype=np.int32)

    @cached_property
    def coefficients(self) -> Floats:
        """Of f, the function that is to be at most 0: g with the sign that the sense gives it, shape (k,)."""
        return self._sign * np.array([float(self.terms[s]) for s in self.indices.tolist()], dtype=np.float64)

    @property
    def limit(self) -> float:
        """What ``coefficients`` times the plan may be at most."""
        return self._sign * float(self.bound)

    @property
    def _sign(self) -> int:
        return 1 if self.sense == "<=" else -1

    @property
    def exact_coefficients(self) -> list[Fraction]:
        """:attr:`coefficients` as fractions."""
        return [self._sign * to_fraction(self.terms[s]) for s in self.indices.tolist()]

    @property
    def exact_limit(self) -> Fraction:
        """:attr:`limit` as a fraction."""
        return self._sign * to_fraction(self.bound)

    def value(self, plan: Floats) -> float:
        """Return f at a plan: at most 0 where the constraint holds, by how much it is violated where it does not."""
        return float(self.coefficients @ plan[self.indices]) - self.limit

    def exact_value(self, plan: Fractions) -> Fraction:
        """Return f at a plan of fractions."""
        terms = zip(self.exact_coefficients, self.indices.tolist(), strict=True)
        return sum((number * plan[sequence] for number, sequence in terms), -self.exact_limit)

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return g and c with f(x) ≥ g · x + c for every plan x: here the constraint itself."""
        gradient = np.zeros(len(plan))
        gradient[self.indices] = self.coefficients
        return gradient, -self.limit

    def to_cvxpy(self, plan: Any) -> Any:
        """Return f as a cvxpy expression of a plan, shape ()."""
        import cvxpy as cp

        if not len(self.indices):
            return cp.Constant(-self.limit)
        return self.coefficients @ plan[self.indices.tolist()] - self.limit

    def with_bound(self, bound: Number) -> "LinearConstraint":
        """Return the same constraint with another bound.

        Raises
        ------
        InvalidConstraintError
            If the bound stands in the coefficients.
        """
        if self.fixed:
            raise InvalidConstraintError(
                f"the bound of {shown(self.name)} multiplies the reach of an infoset, so that it cannot be moved: "
                "bound a realization, plan(…), instead"
            )
        return replace(self, bound=bound)


def check_name(name: Any) -> None:
    """Refuse what is no name of a constraint.

    Raises
    ------
    InvalidConstraintError
    """
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        raise InvalidConstraintError(f"{shown(name)} is no name of a constraint, expected printable text")


def check_number(name: str, what: str, number: Any) -> None:
    """Refuse what is no finite number.

    Raises
    ------
    InvalidConstraintError
    """
    sound = isinstance(number, Real | Decimal) and not isinstance(number, bool)
    if sound:
        try:
            sound = bool(np.isfinite(float(number)))
        except (OverflowError, ValueError):
            sound = False
    if not sound:
        raise InvalidConstraintError(
            f"constraint {shown(name)}: {what} is {shown(number)}, expected a finite number or a fraction"
        )
