"""How nearly a player's constraints can be met."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidConstraintError, InvalidGameError, UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_value
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.rationals import Fractions, exact_best_response_value, exact_plan, exact_residual
from ...seqform.strategy import Profile, checked_player
from ..constraints import collect_constraints
from ..constraints.constraint import constraint_value, weighted_minorant
from ..constraints.matrix import ConstraintMatrix, cvxpy_rows, excess_units, read_evidence, read_multipliers
from ..programs.linear_program import LinearProgram
from ..programs.program_blocks import ProgramBlocks
from ..programs.rational_program import RationalProgram
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
    constraints: Any  # a tuple of Constraint, once they are collected
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
        """Whether all constraints are linear or piecewise linear, so that the formulation is a linear program."""
        return all(constraint.is_linear for constraint in self.constraints)

    @property
    def _treeplex(self) -> Treeplex:
        return self.game.sequence_form.treeplexes[self.player]

    @cached_property
    def _matrix(self) -> ConstraintMatrix:
        return ConstraintMatrix.of(self.constraints, self._treeplex.num_sequences)

    def linear_program(self) -> LinearProgram:
        """Return the linear program: columns ``plan`` (x) and ``excess`` (v ≥ 0), rows ``plan`` and ``constraints``.

        It maximises −Σ v such that G x − v ≤ h; for the largest violation there is one v for all. Piecewise linear
        constraints have columns ``auxiliary`` beside, and more rows, which v does not loosen.

        Raises
        ------
        UnsupportedProblemError
            If a constraint is neither linear nor piecewise linear.
        """
        if not self.is_linear:
            raise UnsupportedProblemError("a constraint is not linear, so that there is no linear program: use cvxpy")
        return self._blocks(self._matrix, exact=False).program(maximise=True)

    def rational_program(self) -> RationalProgram:
        """Return the program of :meth:`linear_program` in exact fractions.

        Raises
        ------
        UnsupportedProblemError
            If a constraint is not linear.
        """
        return self._blocks(self._exact_matrix, exact=True).rational_program(maximise=True)

    @property
    def _exact_matrix(self) -> ConstraintMatrix:
        return ConstraintMatrix.exact(self.constraints, self._treeplex.num_sequences)

    def _blocks(self, own: ConstraintMatrix, exact: bool) -> ProgramBlocks:
        blocks = ProgramBlocks(exact)
        treeplex = self._treeplex
        blocks.add_columns("plan", treeplex.num_sequences, lower=0.0)
        excess, units = own.excess(one_for_all=self.measure == "largest")
        blocks.add_columns("excess", len(units), objective=-units, lower=0.0)
        terms: dict[str, Any] = {"plan": own.matrix, "excess": excess}
        if own.auxiliary.shape[1]:
            blocks.add_columns("auxiliary", own.auxiliary.shape[1])
            terms["auxiliary"] = own.auxiliary
        blocks.add_rows("plan", {"plan": treeplex.E}, lower=treeplex.e, upper=treeplex.e)
        blocks.add_rows("constraints", terms, lower=own.lower, upper=own.limits)
        return blocks

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return the strategy beside uniform ones, and the multipliers by constraint."""
        rows = dual["constraints"]
        return self._answer(primal["plan"], self._matrix.multipliers(rows), self._matrix.evidence(rows))

    def read_rational_program(self, primal: Mapping[str, Fractions], dual: Mapping[str, Fractions]) -> Answer:
        """Return what :meth:`read_linear_program` does, in fractions."""
        return self._answer(primal["plan"], self._exact_matrix.multipliers(dual["constraints"]), {}, exact_plan)

    def to_cvxpy(self) -> "cp.Problem":
        """Return the exact formulation in cvxpy, on ``game.plan(player)``."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        count = len(self.constraints) if self.measure == "sum" else 1
        excess = cp.Variable(count, nonneg=True, name="excess")
        rows, more = cvxpy_rows(self.constraints, plan, self._matrix.sizes, excess)
        violated = excess_units(self.constraints, self._matrix.sizes, count) @ excess
        polytope = self._treeplex.E @ plan == self._treeplex.e
        return cp.Problem(cp.Maximize(-violated), [*rows, polytope, *more])

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        multipliers = read_multipliers(self.constraints, self._matrix.sizes, solved.constraints)
        evidence = read_evidence(self.constraints, multipliers, solved.constraints)
        return self._answer(np.asarray(self.game.plan(self.player).value), multipliers, evidence)

    def _answer(
        self,
        plan: Any,
        multipliers: dict[str, Any],
        evidence: dict[str, Floats],
        plan_of: Callable[[Treeplex, Floats], Any] = Treeplex.plan,
    ) -> Answer:
        treeplexes = self.game.sequence_form.treeplexes
        plans = [plan_of(treeplex, treeplex.uniform_behaviour()) for treeplex in treeplexes]
        plans[self.player] = plan
        return Answer(plans, multipliers, evidence)

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
        return self._certify(False, profile.plans, multipliers or {}, evidence or {})

    def certify_exact(
        self, plans: Sequence[Fractions], multipliers: Mapping[str, Fraction], evidence: Mapping[str, Fractions]
    ) -> Certificate:
        """Compute what :meth:`certify` does, from plans in fractions: all numbers but the residual are fractions."""
        return self._certify(True, plans, multipliers, evidence)

    def _certify(
        self, exact: bool, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        plan, treeplex = plans[self.player], self._treeplex
        values = {constraint.name: constraint_value(constraint, plan, exact) for constraint in self.constraints}
        zero: Any = Fraction(0) if exact else 0.0
        excess = [max(zero, value) for value in values.values()] or [zero]
        violated = sum(excess, zero) if self.measure == "sum" else max(excess)
        given = [max(zero, multipliers.get(name, zero)) for name in values]
        total = max(sum(given, zero), 1 + zero)
        weights = [min(one, 1 + zero) for one in given] if self.measure == "sum" else [one / total for one in given]
        tilt, constant = weighted_minorant(self.constraints, weights, plan, evidence)
        most = exact_best_response_value(treeplex, -tilt) if exact else best_response_value(treeplex, -tilt)
        residual = exact_residual if exact else Treeplex.residual
        return Certificate(
            value=() if exact else tuple(self.game.sequence_form.expected_payoffs(plans).tolist()),
            objective=violated,
            lower=min(max(zero, constant - most), violated),
            upper=violated,
            exploitability=0.0,
            residual=float(residual(treeplex, plan)),
            violations=values,
            player=self.player,
        )

    def error(self, certificate: Certificate) -> float:
        """Return the gap: a tolerance bounds it."""
        assert certificate.gap is not None
        return certificate.gap
