"""A zero-sum game of two players from one player's seat, and the linear program of what its plans guarantee."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import UnsupportedProblemError
from ...seqform.evaluate import best_response_value
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ..program_blocks import ProgramBlocks

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class Side:
    """One player's seat: its plans x, the other player's plans y, and what it is paid, xᵀ M y.

    M is A for player 0 and −Aᵀ for player 1.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    player : int
    """

    game: Game
    player: int

    @property
    def own(self) -> Treeplex:
        """The player's polytope."""
        return self.game.sequence_form.treeplexes[self.player]

    @property
    def other(self) -> Treeplex:
        """The other player's polytope."""
        return self.game.sequence_form.treeplexes[1 - self.player]

    def paid(self, other: Floats) -> Floats:
        """Return M y: the player's payoff per unit of each own sequence."""
        return self.game.sequence_form.gradient(self.player, [other, other])

    def payoff(self, own: Floats, other: Floats) -> float:
        """Return xᵀ M y."""
        return float(own @ self.paid(other))

    def worst_case(self, own: Floats) -> float:
        """Return min over y of xᵀ M y."""
        return -best_response_value(self.other, self.game.sequence_form.gradient(1 - self.player, [own, own]))

    def best_case(self, other: Floats) -> float:
        """Return max over x of xᵀ M y."""
        return best_response_value(self.own, self.paid(other))

    @property
    def unit(self) -> float:
        """The mean absolute entry of M, or of its left factor: solvers' tolerances are absolute."""
        factored = self.game.sequence_form.factored
        entries = self.game.sequence_form.A.data if factored is None else factored.balanced[0].data
        return float(np.abs(entries).mean()) if len(entries) else 1.0

    def add_plan(self, blocks: ProgramBlocks, objective: Floats | float = 0.0) -> None:
        """Add the columns ``plan`` (x) and the rows ``plan`` (E x = e)."""
        blocks.add_columns("plan", self.own.num_sequences, objective=objective, lower=0.0)
        blocks.add_rows("plan", {"plan": self.own.E}, lower=self.own.e, upper=self.own.e)

    def add_response(self, blocks: ProgramBlocks, weight: float, more: Mapping[str, sp.sparray] | None = None) -> None:
        """Add ``weight`` times the payoff that a plan guarantees to the objective.

        Columns ``values`` (q, in units of :attr:`unit`) and rows ``response`` (Fᵀ q − Mᵀ x ≤ 0), by which f · q is at
        most min over y of xᵀ M y; where payoffs are factored, M = L R, columns ``factors`` (z) and rows ``factors``
        (z − Lᵀ x = 0) stand between.

        Parameters
        ----------
        blocks : ProgramBlocks
        weight : float
        more : mapping of str to sparse array, optional
            Further terms of the rows ``response``, by blocks of columns that are there already.
        """
        unit = self.unit
        more = more or {}
        form = self.game.sequence_form
        objective = weight * unit * self.other.e
        if form.factored is None:
            sign = -1.0 if self.player == 0 else 1.0
            transposed = (form.A.T if self.player == 0 else form.A) * (sign / unit)  # -Mᵀ
            blocks.add_columns("values", self.other.E.shape[0], objective=objective)
            blocks.add_rows("response", {"plan": transposed, "values": self.other.E.T, **more}, upper=0.0)
            return
        left, right = self._factors()
        count = left.shape[1]
        blocks.add_columns("factors", count)
        blocks.add_columns("values", self.other.E.shape[0], objective=objective)
        blocks.add_rows("response", {"factors": -right.T, "values": self.other.E.T, **more}, upper=0.0)
        definition = {"plan": left.T * (-1.0 / unit), "factors": sp.eye_array(count)}
        blocks.add_rows("factors", definition, lower=0.0, upper=0.0)

    def cvxpy_response(
        self, plan: "cp.Variable", more: "cp.Expression | None" = None
    ) -> "tuple[cp.Variable, cp.Constraint, list[cp.Constraint]]":
        """Return q and the constraints by which f · q is at most what the plan guarantees, in payoff units.

        Parameters
        ----------
        plan : cvxpy.Variable
        more : cvxpy.Expression, optional
            Added to the right side of the response.

        Returns
        -------
        values : cvxpy.Variable
        response : cvxpy.Constraint
            Fᵀ q ≤ Mᵀ x; its multipliers are the other player's plan.
        definitions : list of cvxpy.Constraint
            Of the factors, where payoffs are factored.
        """
        import cvxpy as cp

        values = cp.Variable(self.other.E.shape[0], name="values")
        form = self.game.sequence_form
        if form.factored is None:
            payoffs = form.A.T @ plan if self.player == 0 else -form.A @ plan
            return values, self.other.E.T @ values <= (payoffs if more is None else payoffs + more), []
        left, right = self._factors()
        factors = cp.Variable(left.shape[1], name="factors")
        payoffs = right.T @ factors if more is None else right.T @ factors + more
        return values, self.other.E.T @ values <= payoffs, [factors == left.T @ plan]

    def _factors(self) -> tuple[Any, Any]:
        """Return L and R with M = L R."""
        factored = self.game.sequence_form.factored
        assert factored is not None
        left, right = factored.balanced
        return (left, right) if self.player == 0 else (-right.T, left.T)


def check_two_players(problem: str, game: Game) -> None:
    """Refuse a game that is not of two players, or not zero-sum.

    Raises
    ------
    UnsupportedProblemError
    """
    if game.num_players != 2:
        raise UnsupportedProblemError(f"{problem} needs two players, and {game.spec} has {game.num_players}")
    check_zero_sum(problem, game)


def check_zero_sum(problem: str, game: Game) -> None:
    """Refuse a game that is not zero-sum, for any number of players.

    Raises
    ------
    UnsupportedProblemError
    """
    form = game.sequence_form
    if not form.is_zero_sum:
        constant = form.constant_sum
        advice = "" if constant is None else f": they sum to {constant:g}; take that off one player's payoffs"
        raise UnsupportedProblemError(
            f"{problem} needs a zero-sum game, and the payoffs of {game.spec} do not sum to zero at every leaf{advice}"
        )
