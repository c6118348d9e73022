"""Equilibria under constraints on the players' realization plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from ...seqform.checks import check_exact_number
from ...seqform.errors import InvalidConstraintError, InvalidGameError, shown
from ...seqform.game import Game
from ...seqform.rules import Number
from ..constraints import Constraint, collect_constraints
from ..declarations import Constraints, Penalty
from ..saddle import PlayerView, Rows, Saddle, check_player_count, zero_sum_of
from .certificate import Certificate
from .features import Feature
from .problem import SaddleProblem


@dataclass(frozen=True, eq=False)
class ConstrainedNash(SaddleProblem):
    """An equilibrium under constraints: max over x, min over y of xᵀ A y, over plans that meet the constraints.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    constraints : iterable of constraints, or mapping of str to constraint
        Constraints written in cvxpy on ``game.plan(player)``, or made by the builders in
        :mod:`treeplex.models.constraints`; each concerns one player's plan. A mapping gives names to the cvxpy
        constraints.
    penalty : float or Fraction, optional
        β: constraints may be violated at a cost of β per unit, so multipliers are at most β. Every problem then has a
        solution.
    penalise : {"sum", "largest"}
        Whether a player pays for the sum of its violations, or only for the largest (then the sum of its multipliers is
        at most β).

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read, is not convex, or belongs to another game.
    InvalidGameError
        If it is not a Game, or the penalty is not a number of at least 0.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), equations 6–7 for one player. With linear constraints G x ≤ h and H y ≤ k the linear program is

        max f · q − k · μ  such that  E x = e, x ≥ 0, G x ≤ h, Fᵀ q − Hᵀ μ ≤ Aᵀ x, μ ≥ 0,

    whose multipliers are λ for G x ≤ h and y for the last rows. Any λ, μ ≥ 0 and plans x, y prove

        lower = min over all y' of xᵀ A y' + μ · (H y' − k),    upper = max over all x' of x'ᵀ A y − λ · (G x' − h)

    for the value: lower if x meets its constraints, upper if y does. A convex constraint is replaced by its tangent. A
    convex piecewise linear constraint is linear in the plan and auxiliary variables s, G x + K s ≤ h, or H y + L t ≤ k
    with Lᵀ μ = 0; its multipliers give the tangent. With a penalty, multipliers are bounded, 0 ≤ λ ≤ β: −β Σ (G x − h)⁺
    = min over these λ of −λ · (G x − h) (lemma 4 there).

    The bounds are on player 0's payoff. The multiplier of a constraint f(x) ≤ 0 is its own player's gain per unit by
    which the right-hand side is raised. At a kink of the optimum, it is one element of the subdifferential. For b(I, a)
    ≤ c the row is x(I, a) − c x(σ(I)) ≤ 0, so the gain per unit of c is the multiplier times x(σ(I)).

    Constraints without slack exclude actions. The method ``ccfr`` then solves the smaller game without these actions,
    and computes the multiplier afterwards (:mod:`treeplex.solvers.regret.pruning`).

    Examples
    --------
    Kuhn poker, betting with a King at most half of the time and with a Jack at least 0.3 of the time:

    >>> from treeplex import ConstrainedNash, load_game, solve
    >>> from treeplex.models.constraints import behaviour_bound
    >>> game = load_game("kuhn")
    >>> king = behaviour_bound(game, 0, "K_", "b", at_most=0.5, name="king")
    >>> jack = behaviour_bound(game, 0, "J_", "b", at_least=0.3, name="jack")
    >>> solution = solve(ConstrainedNash(game, [king, jack]))
    >>> round(solution.value, 9), {name: round(price, 6) for name, price in solution.multipliers.items()}
    (-0.1, {'king': 0.111111, 'jack': 0.333333})

    The same constraint in cvxpy:

    >>> x = game.plan(0)
    >>> bet = game.sequence_form.treeplexes[0].sequence("K_", "b")
    >>> solve(ConstrainedNash(game, {"king": x[bet] <= 0.5})).violation
    0.0
    """

    game: Game
    constraints: Constraints = field()  # a tuple of Constraint after they have been collected
    penalty: Penalty = field(default=None, kw_only=True)
    penalise: Literal["sum", "largest"] = field(default="sum", kw_only=True)

    name: ClassVar[str] = "constrained"
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.CONSTRAINTS})

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_stated_players(1)
        object.__setattr__(self, "constraints", collect_constraints(self.constraints, self.given_game))
        if self.penalise not in ("sum", "largest"):
            raise InvalidConstraintError(f"penalise is {shown(self.penalise)}, expected sum or largest")
        if self.penalty is not None:
            object.__setattr__(
                self, "penalty", check_exact_number(self.penalty, f"{self.name}: penalty", InvalidGameError, "[0, inf)")
            )

    def _posed_on(self, game: Game) -> Game:
        if game.num_players != 1:
            check_player_count(self.name, game)
        return zero_sum_of(self.name, game)

    def in_words(self) -> str:
        """Return the question as a sentence; if there are many constraints, it states their number."""
        which = in_few_words(self.constraints)
        held = "must hold" if self.penalty is None else f"cost {self.penalty} for each unit by which they are broken"
        return f"Which strategies leave no player anything to gain by playing differently, if {which} {held}?"

    def of_player(self, player: int) -> tuple[Constraint, ...]:
        """Return the constraints on a player's plans, in the order given."""
        return tuple(constraint for constraint in self.constraints if constraint.player == player)

    def with_bound(self, name: str, bound: Number) -> "ConstrainedNash":
        """Return the same problem with a different bound for one constraint.

        Raises
        ------
        InvalidConstraintError
            If there is no such constraint, or its bound cannot be changed.
        """
        names = [constraint.name for constraint in self.constraints]
        if name not in names:
            self._refuse_bound(name, names)
        moved = [one.with_bound(bound) if one.name == name else one for one in self.constraints]
        return replace(self, constraints=tuple(moved))

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x, min over y of xᵀ A y under both players' rows, from player 0's seat."""
        view = PlayerView(self.game, 0, exact)
        price = None if self.penalty is None else view.number(self.penalty)
        own, other = (
            Rows(self.of_player(player), treeplex.num_sequences, price, self.penalise == "largest")
            for player, treeplex in enumerate(self.game.sequence_form.treeplexes)
        )
        return Saddle(view, weight=1 if exact else 1.0, own=own, other=other)

    def _certificate(
        self,
        saddle: Saddle,
        plans: Sequence[Any],
        multipliers: Mapping[str, Any],
        dual_certificate: Mapping[str, Any],
    ) -> Certificate:
        found = super()._certificate(saddle, plans, multipliers, dual_certificate)
        return replace(found, violations={one.name: found.violations[one.name] for one in self.constraints})

    def error(self, certificate: Certificate) -> float:
        """Return the quantity compared with the tolerance: the gap, or a larger violation of hard constraints."""
        if self.penalty is None:
            return super().error(certificate)
        assert certificate.gap is not None
        return abs(certificate.gap)  # negative only because a large penalty multiplies round-off


def in_few_words(constraints: Sequence[Constraint]) -> str:
    """Return the constraints' names, or their number if there are many."""
    names = [constraint.name for constraint in constraints]
    few = len(names) <= 3 and sum(map(len, names)) <= 120
    return " and ".join(names) if few else f"{len(names):,} constraints"
