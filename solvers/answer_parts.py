"""What only some solutions have: the optimum in fractions, the proof that constraints exclude each other, prices."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from ..models.problems import Certificate
from ..seqform.rationals import SHOWN_DIGITS, Fractions, fraction_text, shown_number, to_fraction
from ..seqform.strategy import Strategy


@dataclass(frozen=True, eq=False)
class ExactAnswer:
    """An optimum in exact fractions, proven in exact arithmetic.

    Attributes
    ----------
    plans : tuple of ndarray of Fraction
        Realization plans, one a player.
    multipliers : mapping of str to Fraction
        By constraint.
    certificate : Certificate
        What the plans and multipliers prove, in fractions: its lower and upper bounds are equal.
    """

    plans: tuple[Fractions, ...]
    multipliers: Mapping[str, Fraction]
    certificate: Certificate

    @property
    def value(self) -> Fraction | None:
        """Player 0's expected payoff; ``None`` where the problem is not about payoffs."""
        return to_fraction(self.certificate.value[0]) if self.certificate.value else None

    @property
    def objective(self) -> Fraction:
        """The objective of the problem."""
        assert self.certificate.objective is not None
        return to_fraction(self.certificate.objective)

    @property
    def gain(self) -> Fraction | None:
        """The payoff of the strategy against the model of the opponent beyond the value of the game."""
        return None if self.certificate.gain is None else to_fraction(self.certificate.gain)

    @property
    def exploitability(self) -> Fraction:
        """Zero for an equilibrium; of one strategy, what it may lose of the value."""
        return to_fraction(self.certificate.exploitability)

    def __repr__(self) -> str:
        return f"ExactAnswer(objective={fraction_text(self.objective, SHOWN_DIGITS)})"


@dataclass(frozen=True, eq=False)
class Infeasibility:
    """Proof that one player's constraints exclude each other.

    Attributes
    ----------
    player : int
    least_violation : float or Fraction
        The least sum of violations, V*.
    proven : float
        What the sum of violations is proven to be at least.
    largest_violation : float or Fraction
        The least possible largest violation.
    conflict : tuple of str
        The irreducible infeasible subsystem (IIS): names of constraints that cannot be met together, though they can be
        when any one of them is left out; empty if it was not sought.
    strategy : Strategy
        One whose sum of violations is :attr:`least_violation`.
    violations : mapping of str to float
        By constraint, of that strategy.
    """

    player: int
    least_violation: float | Fraction
    proven: float
    largest_violation: float | Fraction
    conflict: tuple[str, ...]
    strategy: Strategy = field(repr=False)
    violations: Mapping[str, float] = field(repr=False)

    def __str__(self) -> str:
        names = ", ".join(self.conflict) or "the constraints"
        what = "excludes all strategies" if len(self.conflict) == 1 else "exclude each other"
        return f"{names} {what}; the least sum of violations is {shown_number(self.least_violation, 6)}"


@dataclass(frozen=True)
class Price:
    """The gain of a constraint's player from moving the constraint a little, per unit of its function.

    Attributes
    ----------
    loosening : float
        What loosening it earns: the smallest multiplier.
    tightening : float or None
        What tightening it costs: the largest multiplier; ``None`` if it cannot be tightened.

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
        """Whether both are the same but for round-off."""
        return self.tightening is not None and math.isclose(self.loosening, self.tightening, rel_tol=1e-6, abs_tol=1e-9)
