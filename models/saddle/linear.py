"""The strategies of one player that guarantee a payoff, as rows of programs and as proofs of bounds."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp

from ...seqform.evaluate import best_response_value
from ...seqform.rationals import exact_best_response_value
from ..programs.program_blocks import ProgramBlocks
from .side import Side

if TYPE_CHECKING:
    import cvxpy as cp

#: Multipliers below this are round-off: no plan can be read off rows that are multiplied by so little.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class SafeSet:
    """The plans x of one player with min over y of xᵀ M y ≥ floor.

    Parameters
    ----------
    side : Side
        Whose, M, and whether numbers are floats or fractions.
    floor : float or Fraction
        What they guarantee, in payoff units.

    Notes
    -----
    The rows are E x = e, x ≥ 0, Fᵀ q ≤ Mᵀ x and f · q ≥ floor. The multipliers of Fᵀ q ≤ Mᵀ x are κ times a plan y of
    the other player, with κ that of the last row, and for any κ ≥ 0 and y the maximum of c · x over the set is at most
    max over x of x · (c + κ M y) − κ floor.
    """

    side: Side
    floor: Any

    def add_to(self, blocks: ProgramBlocks) -> None:
        """Add columns ``values``, rows ``response`` and ``safety``; where payoffs are factored, ``factors`` too.

        Parameters
        ----------
        blocks : ProgramBlocks
            With the columns ``plan``, which :meth:`Side.add_plan <treeplex.models.problems.side.Side.add_plan>` adds.
        """
        self.side.add_response(blocks, weight=0)
        row = sp.coo_array(-self.side.other.e[None, :])
        blocks.add_rows("safety", {"values": row}, upper=-self.floor / self.side.unit)

    def cvxpy_constraints(self, plan: "cp.Variable") -> "list[cp.Constraint]":
        """Return the constraints in cvxpy, ``response`` first, ``safety`` second, both in units of ``side.unit``."""
        import cvxpy as cp

        unit = self.side.unit
        values, response, definitions = self.side.cvxpy_response(plan, unit=unit)
        safety = cp.Constant(self.side.other.e) @ values >= self.floor / unit
        return [response, safety, self.side.own.E @ plan == self.side.own.e, *definitions]

    def proof(self, response: Any, safety: Any, otherwise: Callable[[], Any]) -> tuple[Any, Any]:
        """Return κ, per unit of payoff, and the plan y of the other player, from multipliers of the rows.

        Parameters
        ----------
        response : ndarray
        safety : number
        otherwise : callable
            Returns what stands for y where κ is 0 and the rows say nothing of it.
        """
        if safety > (0 if self.side.exact else _NEGLIGIBLE):
            return safety / self.side.unit, response / safety
        return 0 * safety, otherwise()

    def upper_bound(self, coefficients: Any, multiplier: Any, other: Any) -> Any:
        """Return a proven upper bound on c · x over the set.

        Parameters
        ----------
        coefficients : ndarray, shape (num_sequences,)
            c.
        multiplier : number
            κ ≥ 0.
        other : ndarray
            y.
        """
        gradient = coefficients + multiplier * self.side.paid(other)
        most = (exact_best_response_value if self.side.exact else best_response_value)(self.side.own, gradient)
        return most - multiplier * self.floor

    def violation(self, own: Any) -> Any:
        """Return by how much a plan guarantees less than the floor."""
        return self.floor - self.side.worst_case(own)
