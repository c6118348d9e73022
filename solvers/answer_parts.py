"""Parts that only some solutions have: an exact optimum, a proof of infeasibility, prices."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from ..models.problems import Certificate
from ..seqform.arrays import Floats
from ..seqform.rationals import SHOWN_DIGITS, Fractions, fraction_text, shown_number, to_fraction
from ..seqform.strategy import Strategy


@dataclass(frozen=True, eq=False)
class ExactAnswer:
    """An optimum in exact fractions, proven in exact arithmetic.

    Attributes
    ----------
    plans : tuple of ndarray of Fraction
        Realization plans, one per player.
    multipliers : mapping of str to Fraction
        By constraint.
    certificate : Certificate
        The certificate of the plans and multipliers, in fractions. Its lower and upper bounds are equal, except for a
        refined :class:`~treeplex.BestNash`, where they differ by what the refinement costs; or the regrets are 0.
    behaviour : tuple of ndarray of Fraction, or None
        For a refined equilibrium, the behaviour strategies, one per player, also at infosets that the plans exclude.
    """

    plans: tuple[Fractions, ...]
    multipliers: Mapping[str, Fraction]
    certificate: Certificate
    behaviour: tuple[Fractions, ...] | None = None

    @property
    def value(self) -> Fraction | None:
        """Player 0's expected payoff; ``None`` if the problem is not about payoffs."""
        return to_fraction(self.certificate.value[0]) if self.certificate.value else None

    @property
    def rounded_plans(self) -> tuple[Floats, ...]:
        """The plans in floats."""
        return tuple(plan.astype(np.float64) for plan in self.plans)

    def rounded(self, certificate: Certificate) -> Certificate:
        """Return a certificate of the plans in floats with what the fractions prove, rounded."""
        exact = self.certificate
        objective, lower, upper = (
            None if number is None else float(number) for number in (exact.objective, exact.lower, exact.upper)
        )
        regrets = None if exact.regrets is None else tuple(map(float, exact.regrets))
        return replace(certificate, objective=objective, lower=lower, upper=upper, regrets=regrets)

    @property
    def objective(self) -> Fraction:
        """The objective of the problem."""
        assert self.certificate.objective is not None
        return to_fraction(self.certificate.objective)

    @property
    def gain(self) -> Fraction | None:
        """The strategy's payoff against the model of the opponent, minus the value of the game."""
        return None if self.certificate.gain is None else to_fraction(self.certificate.gain)

    @property
    def exploitability(self) -> Fraction:
        """Zero for an equilibrium; for a single strategy, its largest possible loss relative to the game value."""
        return to_fraction(self.certificate.exploitability)

    def __repr__(self) -> str:
        if self.certificate.objective is None:
            return f"ExactAnswer(value={fraction_text(self.value or Fraction(0), SHOWN_DIGITS)})"
        return f"ExactAnswer(objective={fraction_text(self.objective, SHOWN_DIGITS)})"


@dataclass(frozen=True)
class Relaxation:
    """How far a limit can be met, and how much to loosen it where limits exclude each other.

    Attributes
    ----------
    constraint : str
    bound : float or None
        The limit; ``None``, as are `alone` and `together`, if it is not a number on one side, as for the probability of
        an action at an infoset that the player may avoid.
    alone : float or None
        The best value of the limit's function that a strategy attains without other limits.
    together : float or None
        The best value with all other limits met; ``None`` if these exclude each other.
    loosen : float or None
        The least loosening of this limit alone after which all limits can be met; ``None`` if there is none.
    change : float
        The loosening of this limit in the solution with the least total change of all limits, each relative to its own
        size.
    """

    constraint: str
    bound: float | None
    alone: float | None
    together: float | None
    loosen: float | None
    change: float


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """A proof that no strategy meets all constraints of one player.

    Attributes
    ----------
    player : int
    least_violation : float or Fraction
        The least sum of violations, V*.
    proven : float
        The proven lower bound on the sum of violations.
    largest_violation : float or Fraction
        The least possible largest violation.
    conflict : tuple of str
        The irreducible infeasible subsystem (IIS): names of constraints that cannot be met together, although any
        proper subset of them can; empty if it was not computed.
    strategy : Strategy
        A strategy whose sum of violations is :attr:`least_violation`.
    violations : mapping of str to float
        The violations of that strategy, by constraint.
    relaxations : tuple of Relaxation
        How much to loosen the constraints of the conflict, and others that must be loosened; empty if not computed.
    """

    player: int
    least_violation: float | Fraction
    proven: float
    largest_violation: float | Fraction
    conflict: tuple[str, ...]
    strategy: Strategy = field(repr=False)
    violations: Mapping[str, float] = field(repr=False)
    relaxations: tuple[Relaxation, ...] = ()

    def __str__(self) -> str:
        names = ", ".join(self.conflict) or "the constraints"
        what = "excludes all strategies" if len(self.conflict) == 1 else "exclude each other"
        return f"{names} {what}; the least sum of violations is {shown_number(self.least_violation, 6)}"


@dataclass(frozen=True)
class Price:
    """The gain to a constraint's player from a small change of its limit, per unit of the constraint's function.

    Attributes
    ----------
    loosening : float
        The gain from loosening the constraint: the smallest multiplier.
    tightening : float or None
        The cost of tightening the constraint: the largest multiplier; ``None`` if it cannot be tightened.

    Examples
    --------
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import behaviour_bound
    >>> game = load_game("kuhn")
    >>> solution = solve(ConstrainedNash(game, [behaviour_bound(game, 0, "J_", "b", at_least=0.5, name="bluff")]))
    >>> {name: price.is_one for name, price in solution.prices.items()}
    {'bluff': True}
    """

    loosening: float
    tightening: float | None

    @property
    def is_one(self) -> bool:
        """Whether both prices are equal up to round-off."""
        return self.tightening is not None and math.isclose(self.loosening, self.tightening, rel_tol=1e-6, abs_tol=1e-9)
