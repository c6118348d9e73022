"""How nearly a player's constraints can be met."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidConstraintError, InvalidGameError, UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_value
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.strategy import Profile, checked_player
from ..constraints import Constraint, LinearConstraint, collect_constraints
from ..constraints.matrix import ConstraintMatrix
from ..linear_program import LinearProgram
from ..program_blocks import ProgramBlocks
from .problem import Answer, Certificate

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class LeastViolation:
    """A strategy that violates constraints as little as can be: min over x of Σ f(x)⁺, or of the largest f(x)⁺.

    Parameters
    ----------
    game : Game
    player : int
        Constraints on other players' plans are left out.
    constraints : iterable of constraints, or mapping of str to constraint
        As for :class:`~treeplex.ConstrainedNash`.
    measure : {"sum", "largest"}

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read.
    InvalidStrategyError
        If there is no such player.

    Notes
    -----
    Any multipliers λ from 0 to 1 (for the largest violation: that sum to 1 at most) prove the lower bound
    min over x of Σ λ f(x), so that a positive one proves that the constraints cannot be met. The sum is V* in T. Davis,
    K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019, theorem 5.

    Examples
    --------
    >>> from treeplex import load_game, solve
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.models.problems import LeastViolation
    >>> game = load_game("kuhn")
    >>> bets = [behaviour_bound(game, 0, "J_", "b", at_least=0.7), behaviour_bound(game, 0, "J_", "b", at_most=0.4)]
    >>> round(solve(LeastViolation(game, 0, bets)).objective, 9)
    0.3
    >>> round(solve(LeastViolation(game, 0, bets, measure="largest")).objective, 9)
    0.15
    """

    game: Game
    player: int
    constraints: tuple[Constraint, ...]
    measure: Literal["sum", "largest"] = "sum"

    name: ClassVar[str] = "least-violation"

    def __post_init__(self) -> None:
        if not isinstance(self.game, Game):
            raise InvalidGameError(f"{self.name} needs a Game, received {shown(self.game)}")
        player = checked_player(self.game, self.player)
        if self.measure not in ("sum", "largest"):
            raise InvalidConstraintError(f"measure is {shown(self.measure)}, expected sum or largest")
        own = [one for one in collect_constraints(self.constraints, self.game) if one.player == player]
        object.__setattr__(self, "constraints", tuple(own))

    @property
    def is_linear(self) -> bool:
        """Whether all constraints are linear, so that the formulation is a linear program."""
        return all(constraint.is_linear for constraint in self.constraints)

    @property
    def _treeplex(self) -> Treeplex:
        return self.game.sequence_form.treeplexes[self.player]

    @cached_property
    def _matrix(self) -> ConstraintMatrix:
        linear = [one for one in self.constraints if isinstance(one, LinearConstraint)]
        return ConstraintMatrix.of(linear, self._treeplex.num_sequences)

    def linear_program(self) -> LinearProgram:
        """Return the linear program: columns ``plan`` (x) and ``excess`` (s ≥ 0), rows ``plan`` and ``constraints``.

        It maximises −Σ s such that G x − s ≤ h; for the largest violation there is one s for all.

        Raises
        ------
        UnsupportedProblemError
            If a constraint is not linear.
        """
        if not self.is_linear:
            raise UnsupportedProblemError("a constraint is not linear, so that there is no linear program: use cvxpy")
        blocks = ProgramBlocks()
        treeplex, units = self._treeplex, self._matrix.units
        blocks.add_columns("plan", treeplex.num_sequences, lower=0.0)
        excess = sp.diags_array(1.0 / units) if self.measure == "sum" else sp.csr_array(1.0 / units[:, None])
        blocks.add_columns("excess", excess.shape[1], objective=-1.0, lower=0.0)
        blocks.add_rows("plan", {"plan": treeplex.E}, lower=treeplex.e, upper=treeplex.e)
        blocks.add_rows("constraints", {"plan": self._matrix.matrix, "excess": -excess}, upper=self._matrix.limits)
        return blocks.program(maximise=True)

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return the strategy beside uniform ones, and the multipliers by constraint."""
        return self._answer(primal["plan"], dual["constraints"] / self._matrix.units)

    def to_cvxpy(self) -> "cp.Problem":
        """Return the exact formulation in cvxpy, on ``game.plan(player)``."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        count = len(self.constraints) if self.measure == "sum" else 1
        excess = cp.Variable(count, nonneg=True, name="excess")
        rows = [
            constraint.to_cvxpy(plan) <= excess[place if self.measure == "sum" else 0]
            for place, constraint in enumerate(self.constraints)
        ]
        return cp.Problem(cp.Maximize(-cp.sum(excess)), [*rows, self._treeplex.E @ plan == self._treeplex.e])

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        rows = solved.constraints[:-1]
        multipliers = np.array([np.asarray(row.dual_value).item() for row in rows])
        return self._answer(np.asarray(self.game.plan(self.player).value), multipliers)

    def _answer(self, plan: Floats, multipliers: Floats) -> Answer:
        plans = list(Profile.uniform(self.game).plans)
        plans[self.player] = plan
        named = zip(self.constraints, multipliers.tolist(), strict=True)
        return Answer(plans, {constraint.name: max(0.0, multiplier) for constraint, multiplier in named})

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute how far a strategy violates the constraints, and how far any strategy must.

        Parameters
        ----------
        profile : Profile
            The other players' strategies are not read.
        multipliers : mapping of str to float, optional
            By constraint.
        evidence : mapping of str to ndarray, optional
            By constraint: slopes for its tangent.
        """
        strategy = profile[self.player]
        plan = strategy.plan
        values = {constraint.name: constraint.value(plan) for constraint in self.constraints}
        excess = np.maximum(list(values.values()), 0.0) if values else np.zeros(1)
        violated = float(excess.sum() if self.measure == "sum" else excess.max())
        given = np.array([(multipliers or {}).get(name, 0.0) for name in values])
        weights = np.clip(given, 0.0, 1.0) if self.measure == "sum" else given / max(1.0, float(given.sum()))
        tilt, constant = np.zeros(len(plan)), 0.0
        for constraint, weight in zip(self.constraints, weights.tolist(), strict=True):
            slope, shift = constraint.minorant(plan, (evidence or {}).get(constraint.name))
            tilt += weight * slope
            constant += weight * shift
        lower = max(0.0, constant - best_response_value(self._treeplex, -tilt))
        return Certificate(
            value=tuple(self.game.sequence_form.expected_payoffs(profile.plans).tolist()),
            objective=violated,
            lower=min(lower, violated),
            upper=violated,
            exploitability=0.0,
            residual=strategy.treeplex.residual(plan),
            violations=values,
            player=self.player,
        )

    def error(self, certificate: Certificate) -> float:
        """Return the gap: a tolerance bounds it."""
        assert certificate.gap is not None
        return certificate.gap
