"""How nearly a player's constraints can be met."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
from ..constraints.constraint import weighted_minorant
from ..constraints.matrix import ConstraintMatrix, cvxpy_rows, excess_units, read_evidence, read_multipliers
from ..programs.linear_program import LinearProgram
from ..programs.program_blocks import ProgramBlocks
from ..programs.rational_program import RationalProgram
from .one_player import checked_number
from .problem import Answer, Certificate
from .safe import SafeSet
from .side import Side, check_two_players

if TYPE_CHECKING:
    import cvxpy as cp

#: What the bound on a guaranteed payoff is called among multipliers and violations.
SAFETY = "safety"


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
    floor : float or Fraction, optional
        What the strategy is to guarantee its player in a zero-sum game of two, in payoff units; nothing by default.

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read, or is called ``safety`` beside a floor, whose name that is.
    InvalidStrategyError
        If there is no such player.
    UnsupportedProblemError
        If there is a floor, and the game is not zero-sum, or not of two players.

    Notes
    -----
    Any multipliers λ from 0 to 1 (for the largest violation: that sum to 1 at most) prove the lower bound
    min over x of Σ λ f(x), so that a positive one proves that the constraints cannot be met. The sum is V* in T. Davis,
    K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019, theorem 5.

    With a floor v the minimum is over x with min over y of xᵀ M y ≥ v. A multiplier κ ≥ 0 of that, ``safety``, and a
    plan y of the other player prove the lower bound min over all x of Σ λ f(x) − κ (xᵀ M y − v).

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
    floor: float | Fraction | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "least-violation"

    def __post_init__(self) -> None:
        if not isinstance(self.game, Game):
            raise InvalidGameError(f"{self.name} needs a Game, received {shown(self.game)}")
        player = checked_player(self.game, self.player)
        if self.measure not in ("sum", "largest"):
            raise InvalidConstraintError(f"measure is {shown(self.measure)}, expected sum or largest")
        own = [one for one in collect_constraints(self.constraints, self.game) if one.player == player]
        object.__setattr__(self, "constraints", tuple(own))
        if self.floor is None:
            return
        check_two_players(self.name, self.game)
        object.__setattr__(self, "floor", checked_number(self.name, "floor", self.floor))
        if any(constraint.name == SAFETY for constraint in own):
            raise InvalidConstraintError(f"a constraint is called {SAFETY}, as the floor is: expected another name")

    def _safe(self, exact: bool) -> SafeSet | None:
        """Return the strategies that guarantee the floor; ``None`` without one."""
        if self.floor is None:
            return None
        side = Side(self.game, self.player, exact)
        return SafeSet(side, side.number(self.floor))

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
        constraints have columns ``auxiliary`` beside, and more rows, which v does not loosen. With a floor there are
        the columns and rows of :class:`~treeplex.models.problems.safe.SafeSet` too.

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
        safe = self._safe(exact)
        if safe is not None:
            safe.add_to(blocks)
        return blocks

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return the strategy beside uniform ones, and the multipliers by constraint."""
        rows = dual["constraints"]
        answer = self._answer(primal["plan"], self._matrix.multipliers(rows), self._matrix.evidence(rows))
        return self._with_proof(answer, self._safe(exact=False), dual)

    def read_rational_program(self, primal: Mapping[str, Fractions], dual: Mapping[str, Fractions]) -> Answer:
        """Return what :meth:`read_linear_program` does, in fractions."""
        rows, own = dual["constraints"], self._exact_matrix
        answer = self._answer(primal["plan"], own.multipliers(rows), own.evidence(rows), exact_plan)
        return self._with_proof(answer, self._safe(exact=True), dual)

    def _with_proof(self, answer: Answer, safe: SafeSet | None, dual: Mapping[str, Any]) -> Answer:
        """Return an answer with the other player's plan and the multiplier of the floor, from multipliers of rows."""
        if safe is None:
            return answer
        own = answer.plans[self.player]
        price = safe.side.number(dual["safety"][0])
        multiplier, free = safe.proof(dual["response"], price, otherwise=lambda: safe.side.worst_plan(own))
        plans = (own, free) if self.player == 0 else (free, own)
        return Answer(plans, {**answer.multipliers, SAFETY: multiplier}, answer.evidence)

    def to_cvxpy(self) -> "cp.Problem":
        """Return the exact formulation in cvxpy, on ``game.plan(player)``."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        count = len(self.constraints) if self.measure == "sum" else 1
        excess = cp.Variable(count, nonneg=True, name="excess")
        rows, more = cvxpy_rows(self.constraints, plan, self._matrix.sizes, excess)
        violated = excess_units(self.constraints, self._matrix.sizes, count) @ excess
        polytope = self._treeplex.E @ plan == self._treeplex.e
        safe = self._safe(exact=False)
        safety = [] if safe is None else safe.cvxpy_constraints(plan)
        return cp.Problem(cp.Maximize(-violated), [*rows, polytope, *more, *safety])

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        multipliers = read_multipliers(self.constraints, self._matrix.sizes, solved.constraints)
        evidence = read_evidence(self.constraints, multipliers, solved.constraints)
        answer = self._answer(np.asarray(self.game.plan(self.player).value), multipliers, evidence)
        safe = self._safe(exact=False)
        if safe is None:
            return answer
        count = len(safe.cvxpy_constraints(self.game.plan(self.player)))
        response, safety = (np.asarray(row.dual_value) for row in solved.constraints[-count:][:2])
        return self._with_proof(answer, safe, {"response": response, "safety": np.atleast_1d(safety)})

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
            The other players' strategies are not read, unless there is a floor: the other's then is y of the bound.
        multipliers : mapping of str to float, optional
            By constraint; ``safety`` is that of the floor.
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
        values = {constraint.name: constraint.value(plan) for constraint in self.constraints}
        zero: Any = Fraction(0) if exact else 0.0
        excess = [max(zero, value) for value in values.values()] or [zero]
        violated = sum(excess, zero) if self.measure == "sum" else max(excess)
        given = [max(zero, multipliers.get(name, zero)) for name in values]
        total = max(sum(given, zero), 1 + zero)
        weights = [min(one, 1 + zero) for one in given] if self.measure == "sum" else [one / total for one in given]
        tilt, constant = weighted_minorant(self.constraints, weights, plan, evidence)
        safe = self._safe(exact)
        if safe is None:
            most = exact_best_response_value(treeplex, -tilt) if exact else best_response_value(treeplex, -tilt)
        else:
            most = safe.upper_bound(-tilt, max(zero, multipliers.get(SAFETY, zero)), plans[1 - self.player])
            values[SAFETY] = safe.violation(plan)
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
        """Return the gap, or by how much the floor is missed if that is more: a tolerance bounds it."""
        assert certificate.gap is not None
        return max(certificate.gap, certificate.violations.get(SAFETY, 0.0) if self.floor is not None else 0.0)
