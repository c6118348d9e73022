"""Constraints on functions that are convex and piecewise linear: what norms, maxima and the like make of plans."""

from dataclasses import dataclass, field

import numpy as np

from ...seqform.arrays import Floats
from .constraint import ConvexConstraint, unknown_minorant
from .lifted import LiftedRows


@dataclass(frozen=True, eq=False)
class PolyhedralConstraint(ConvexConstraint):
    """f(x) ≤ 0 with f a scalar cvxpy expression of ``game.plan(player)`` that is convex and piecewise linear.

    Parameters
    ----------
    player : int
    plan : cvxpy.Variable
        ``game.plan(player)``.
    expression : cvxpy.Expression
        f, of shape ().
    name : str
    rows : LiftedRows
        The same function on plans, for linear programs.

    Examples
    --------
    >>> import cvxpy
    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> game = load_game("kuhn")
    >>> x = game.plan(0)
    >>> near = cvxpy.norm_inf(x[1:7] - 0.5) <= 0.4
    >>> problem = ConstrainedNash(game, {"near": near})
    >>> type(problem.constraints[0]).__name__, problem.is_linear
    ('PolyhedralConstraint', True)
    >>> solution = solve(problem)
    >>> round(solution.value, 6), solution.gap < 1e-9
    (-0.077778, True)
    """

    rows: LiftedRows = field(repr=False)

    #: Whether the exact formulation stays linear.
    is_linear = True

    def evidence_from(self, average: Floats) -> Floats:
        """Return slopes for :meth:`minorant` from what a method that takes tangents averages.

        Parameters
        ----------
        average : ndarray
            Of the slopes of :attr:`composition`; where there is none, of gradients, shape (num_sequences,).
        """
        if self.composition is not None:
            return average
        multipliers = self.rows.multipliers_near(average)
        return np.zeros(0) if multipliers is None else multipliers

    def minorant(self, plan: Floats, slopes: Floats | None = None) -> tuple[Floats, float]:
        """Return g and c with f(x) ≥ g · x + c for every plan x.

        Parameters
        ----------
        plan : ndarray, shape (num_sequences,)
            Where the bound is to be tight if the slopes are none or prove nothing.
        slopes : ndarray, shape (k,), optional
            Multipliers of the rows; see :meth:`LiftedRows.minorant`. Or slopes of :attr:`composition`, which are fewer.
        """
        if slopes is not None and self.composition is not None and slopes.shape == (self.composition.size,):
            return self.composition.minorant(slopes)
        proven = None if slopes is None else self.rows.minorant(slopes)
        if proven is None:
            multipliers = self.rows.best_multipliers(plan)
            proven = None if multipliers is None else self.rows.minorant(multipliers)
        return unknown_minorant(plan) if proven is None else proven
