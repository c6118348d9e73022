"""Strategies that violate a player's constraints as little as possible."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

from ...seqform.checks import check_exact_number
from ...seqform.errors import InvalidConstraintError, InvalidGameError, shown
from ...seqform.game import Game
from ...seqform.polytope import Treeplex
from ...seqform.rationals import exact_residual
from ...seqform.strategy import checked_player
from ..constraints import collect_constraints
from ..saddle import SAFETY, PlayerView, Rows, Saddle, check_player_count, zero_sum_of
from .certificate import Certificate
from .features import Feature
from .problem import SaddleProblem


@dataclass(frozen=True, eq=False)
class FeasibilityRelaxation(SaddleProblem):
    """A strategy that violates the constraints as little as possible: min over x of Σ w f(x)⁺, or of the largest f(x)⁺.

    Parameters
    ----------
    game : Game
    player : int
        Constraints on other players' plans are left out.
    constraints : iterable of constraints, or mapping of str to constraint
        As for :class:`~treeplex.ConstrainedNash`.
    measure : {"sum", "largest"}
    weights : mapping of str to float or Fraction, optional
        The weight w of each constraint's violation in the sum, 1 by default; infinite if it must be met.
    floor : float or Fraction, optional
        The payoff that the strategy must guarantee its player, in a constant-sum game of two players; by default none.

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read, a weight is not positive, names no constraint of the player or comes with
        ``largest``, or a constraint is named ``safety`` although there is a floor, which has that name.
    InvalidStrategyError
        If the game does not have this player.
    UnsupportedProblemError
        If there is a floor, and the game is not constant-sum, or does not have two players.

    Notes
    -----
    Any multipliers λ from 0 to w (for the largest violation: with sum at most 1) prove the lower bound min over x of Σ
    λ f(x). A positive bound proves that the constraints are infeasible. The sum is V* in T. Davis, K. Waugh, M.
    Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019, theorem 5.

    With a floor v the minimum is over x with min over y of xᵀ M y ≥ v. A multiplier κ ≥ 0 of the floor, ``safety``, and
    a plan y of the other player prove the lower bound min over all x of Σ λ f(x) − κ (xᵀ M y − v).

    Examples
    --------
    >>> from treeplex import load_game, solve
    >>> from treeplex.models.constraints import behaviour_bound
    >>> from treeplex.models.problems import FeasibilityRelaxation
    >>> game = load_game("kuhn")
    >>> bets = [behaviour_bound(game, 0, "J_", "b", at_least=0.7), behaviour_bound(game, 0, "J_", "b", at_most=0.4)]
    >>> round(solve(FeasibilityRelaxation(game, 0, bets)).objective, 9)
    0.3
    >>> round(solve(FeasibilityRelaxation(game, 0, bets, measure="largest")).objective, 9)
    0.15
    """

    game: Game
    player: int = field()
    constraints: Any = field()  # a tuple of Constraint after they have been collected
    measure: Literal["sum", "largest"] = "sum"
    weights: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    floor: float | Fraction | None = field(default=None, kw_only=True)

    name: ClassVar[str] = "least-violation"
    objective_is_payoff: ClassVar[bool] = False
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.CONSTRAINTS, Feature.ALONE})

    def __post_init__(self) -> None:
        super().__post_init__()
        player = checked_player(self.given_game, self.player)
        if self.measure not in ("sum", "largest"):
            raise InvalidConstraintError(f"measure is {shown(self.measure)}, expected sum or largest")
        own = [one for one in collect_constraints(self.constraints, self.given_game) if one.player == player]
        object.__setattr__(self, "constraints", tuple(own))
        for name, weight in self.weights.items():
            if not (weight > 0 and self.measure == "sum" and any(one.name == name for one in own)):
                raise InvalidConstraintError(
                    f"weights: {shown(name)} is {shown(weight)}, expected a positive number for a constraint of player "
                    f"{player}, and measure sum"
                )
        if self.floor is None:
            return
        object.__setattr__(self, "floor", check_exact_number(self.floor, f"{self.name}: floor", InvalidGameError))
        if any(constraint.name == SAFETY for constraint in own):
            raise InvalidConstraintError(f"a constraint is named {SAFETY}, like the floor: expected another name")

    def _posed_on(self, game: Game) -> Game:
        if self.floor is None:
            return game
        check_player_count(self.name, game)
        return zero_sum_of(self.name, game)

    @property
    def unit(self) -> float:
        """The unit of tolerances: 1, because violations are not payoffs."""
        return 1.0

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x of minus its violations at price 1, with the floor if there is one."""
        view = PlayerView(self.game, self.player, exact)
        weights = {name: one if one == math.inf else view.number(one) for name, one in self.weights.items()}
        shared = self.measure == "largest"
        rows = Rows(self.constraints, view.own.num_sequences, view.number(1), shared=shared, weights=weights)
        floor = None if self.floor is None else self.game.as_posed(view.number(self.floor), self.player)
        return Saddle(view, own=rows, floor=floor, maximises=False)

    def _certificate(
        self,
        saddle: Saddle,
        plans: Sequence[Any],
        multipliers: Mapping[str, Any],
        dual_certificate: Mapping[str, Any],
    ) -> Certificate:
        view, own = saddle.view, plans[self.player]
        other = plans[1 - self.player] if len(plans) == 2 else None
        bounds = saddle.bounds(own, other, multipliers, dual_certificate)
        violated = -bounds.lower
        residual = exact_residual if view.exact else Treeplex.residual
        return Certificate(
            value=() if view.exact else tuple(self.game.sequence_form.expected_payoffs(plans).tolist()),
            objective=violated,
            lower=min(max(0 * violated, -bounds.upper), violated),
            upper=violated,
            exploitability=0.0,
            residual=float(residual(view.own, own)),
            violations=bounds.violations,
            player=self.player,
        )

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: the gap, or the shortfall from the floor if larger."""
        assert certificate.gap is not None
        return max(certificate.gap, certificate.violations[SAFETY] if self.floor is not None else 0.0)
