"""Equilibria under constraints on the players' realization plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidConstraintError, InvalidGameError, UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_value
from ...seqform.game import Game
from ...seqform.rules import Number
from ...seqform.strategy import Profile, check_same_game
from ..constraints import Constraint, LinearConstraint, collect_constraints
from ..constraints.matrix import ConstraintMatrix
from ..linear_program import LinearProgram
from ..program_blocks import ProgramBlocks
from .conic_response import least_payoff
from .problem import Answer, Certificate
from .side import Side, check_two_players

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class ConstrainedNash:
    """An equilibrium under constraints: max over x, min over y of xᵀ A y, over the plans that meet the constraints.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    constraints : iterable of constraints, or mapping of str to constraint
        Written in cvxpy on ``game.plan(player)``, or made by the builders in :mod:`treeplex.models.constraints`; each
        on one player's plan. A mapping names those that are written in cvxpy.
    penalty : float, optional
        β: instead of being met, constraints cost β per unit of violation, so that multipliers are at most β. Then every
        problem has an answer.
    penalise : {"sum", "largest"}
        Whether a player pays for the sum of its violations, or for the largest alone (then its multipliers sum to β at
        most).

    Raises
    ------
    InvalidConstraintError
        If a constraint cannot be read, is not convex, or is on another game's plans, or the penalty is no number.
    InvalidGameError
        If it is no game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    T. Davis, K. Waugh, M. Bowling, "Solving large extensive-form games with strategy constraints", AAAI 2019
    (arXiv:1809.07893), equations 6–7 for one player. With linear constraints G x ≤ h and H y ≤ k the linear program is

        max f · q − k · μ  such that  E x = e, x ≥ 0, G x ≤ h, Fᵀ q − Hᵀ μ ≤ Aᵀ x, μ ≥ 0,

    whose multipliers of G x ≤ h are λ and of the last rows y. Any λ, μ ≥ 0 and plans x, y prove

        lower = min over all y' of xᵀ A y' + μ · (H y' − k),    upper = max over all x' of x'ᵀ A y − λ · (G x' − h)

    for the value, if x and y meet their constraints; a convex constraint is replaced by its tangent. With the penalty,
    h(x) − β Σ (G x − h)⁺ is what bounded multipliers 0 ≤ λ ≤ β leave of h (lemma 4 there).

    The bounds are on player 0's payoff. The multiplier of a constraint is what its own player gains per unit of
    loosening.

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
    >>> solve(ConstrainedNash(game, {"king": x[bet] <= 0.5})).certificate.violations
    {'king': 0.0}
    """

    game: Game
    constraints: tuple[Constraint, ...]
    penalty: float | None = field(default=None, kw_only=True)
    penalise: Literal["sum", "largest"] = field(default="sum", kw_only=True)

    name: ClassVar[str] = "constrained"

    def __post_init__(self) -> None:
        if not isinstance(self.game, Game):
            raise InvalidGameError(f"{self.name} needs a Game, received {shown(self.game)}")
        check_two_players(self.name, self.game)
        object.__setattr__(self, "constraints", collect_constraints(self.constraints, self.game))
        if self.penalise not in ("sum", "largest"):
            raise InvalidConstraintError(f"penalise is {shown(self.penalise)}, expected sum or largest")
        if self.penalty is not None:
            penalty = self.penalty
            number = isinstance(penalty, int | float | np.number) and not isinstance(penalty, bool)
            if not number or not 0.0 <= penalty < np.inf:
                raise InvalidConstraintError(f"penalty is {shown(penalty)}, expected a number of at least 0")
            object.__setattr__(self, "penalty", float(penalty))

    @property
    def is_linear(self) -> bool:
        """Whether all constraints are linear, so that the formulation is a linear program."""
        return all(constraint.is_linear for constraint in self.constraints)

    def of_player(self, player: int) -> tuple[Constraint, ...]:
        """Return the constraints on a player's plans, in the order in which they were given."""
        return tuple(constraint for constraint in self.constraints if constraint.player == player)

    def with_bound(self, name: str, bound: Number) -> "ConstrainedNash":
        """Return the same problem with another bound of one constraint.

        Raises
        ------
        InvalidConstraintError
            If there is no such constraint, or its bound cannot be moved.
        """
        names = [constraint.name for constraint in self.constraints]
        if name not in names:
            raise InvalidConstraintError(
                f"there is no constraint {shown(name)}: there are {', '.join(names) or 'none'}"
            )
        moved = [one.with_bound(bound) if one.name == name else one for one in self.constraints]
        return replace(self, constraints=tuple(moved))

    @cached_property
    def _matrices(self) -> tuple[ConstraintMatrix, ConstraintMatrix]:
        """Both players' linear constraints."""
        first, second = (
            ConstraintMatrix.of([one for one in self.of_player(player) if isinstance(one, LinearConstraint)], size)
            for player, size in enumerate(treeplex.num_sequences for treeplex in self.game.sequence_form.treeplexes)
        )
        return first, second

    def linear_program(self) -> LinearProgram:
        """Return player 0's linear program.

        Column blocks as in :meth:`Nash.linear_program <treeplex.Nash.linear_program>`, and ``excess`` (violations, with
        a penalty) and ``prices`` (μ, in units of payoff); row blocks ``constraints`` (G x ≤ h, each row divided by its
        largest coefficient) and, where the largest violation is penalised, ``penalty`` (Σ μ ≤ β).

        Raises
        ------
        UnsupportedProblemError
            If a constraint is not linear.
        """
        if not self.is_linear:
            curved = next(one.name for one in self.constraints if not one.is_linear)
            raise UnsupportedProblemError(
                f"constraint {shown(curved)} is not linear, so that there is no linear program: use the method cvxpy"
            )
        side = Side(self.game, 0)
        blocks = ProgramBlocks()
        side.add_plan(blocks)
        own, other = self._matrices
        self._add_own(blocks, own)
        side.add_response(blocks, 1.0, self._add_other(blocks, other, side.unit))
        return blocks.program(maximise=True)

    def _add_own(self, blocks: ProgramBlocks, own: ConstraintMatrix) -> None:
        """Add G x ≤ h, or its violations at a price."""
        count = len(own.units)
        if not count:
            return
        terms: dict[str, sp.sparray] = {"plan": own.matrix}
        if self.penalty is not None:
            excess = (
                sp.diags_array(-1.0 / own.units) if self.penalise == "sum" else sp.csr_array(-1.0 / own.units[:, None])
            )
            blocks.add_columns("excess", excess.shape[1], objective=-self.penalty, lower=0.0)
            terms["excess"] = excess
        blocks.add_rows("constraints", terms, upper=own.limits)

    def _add_other(self, blocks: ProgramBlocks, other: ConstraintMatrix, unit: float) -> dict[str, sp.sparray]:
        """Add μ, and return its part in the rows of the response."""
        count = len(other.units)
        if not count:
            return {}
        # In units of payoff, and of rows that were divided by their units.
        scale = unit / other.units
        most = np.inf if self.penalty is None or self.penalise == "largest" else self.penalty / scale
        blocks.add_columns("prices", count, objective=-unit * other.limits, lower=0.0, upper=most)
        if self.penalty is not None and self.penalise == "largest":
            blocks.add_rows("penalty", {"prices": sp.csr_array(scale[None, :])}, upper=self.penalty)
        return {"prices": -other.matrix.T}

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return both players' plans and the multipliers by constraint."""
        unit = Side(self.game, 0).unit
        own, other = self._matrices
        multipliers: dict[str, float] = {}
        if "constraints" in dual:
            multipliers |= self._named(0, dual["constraints"] / own.units)
        if "prices" in primal:
            multipliers |= self._named(1, primal["prices"] * unit / other.units)
        return Answer((primal["plan"], dual["response"] / unit), self._in_order(multipliers))

    def _named(self, player: int, values: Floats) -> dict[str, float]:
        return {one.name: max(0.0, float(value)) for one, value in zip(self.of_player(player), values, strict=True)}

    def _in_order(self, multipliers: Mapping[str, float]) -> dict[str, float]:
        return {one.name: multipliers[one.name] for one in self.constraints}

    def to_cvxpy(self) -> "cp.Problem":
        """Return the exact formulation in cvxpy, in payoff units.

        It is player 0's program on ``game.plan(0)``. Where only player 1's constraints are not linear it is player 1's
        on ``game.plan(1)``, and where both players' are not, it is the sum of both programs; the first constraints are
        those of this problem.

        Raises
        ------
        UnsupportedProblemError
            If both players' constraints are not linear, and one needs a cone that is neither second-order nor
            exponential.
        """
        import cvxpy as cp

        parts = [self._seat_program(player) for player in self._seats]
        rows = [row for _, own, _ in parts for row in own]
        others = [row for _, _, more in parts for row in more]
        return cp.Problem(cp.Maximize(sum(objective for objective, _, _ in parts)), [*rows, *others])

    @property
    def _seats(self) -> tuple[int, ...]:
        """Whose programs the cvxpy formulation is: a player whose constraints are not linear needs its own."""
        curved = sorted({constraint.player for constraint in self.constraints if not constraint.is_linear})
        return tuple(curved) or (0,)

    def _seat_program(self, player: int) -> "tuple[Any, list[Any], list[Any]]":
        """Return what a player maximises, the rows of its constraints, and the other rows, of its plan the last two."""
        import cvxpy as cp

        side = Side(self.game, player)
        plan = self.game.plan(player)
        rows, cost = self._cvxpy_rows(player)
        if all(one.is_linear for one in self.of_player(1 - player)):
            guaranteed, others = self._linear_response(side, plan)
        else:
            other = self.game.plan(1 - player)
            own_rows, other_cost = self._cvxpy_rows(1 - player)
            polytope = [side.other.E @ other == side.other.e, other >= 0]
            guaranteed, others = least_payoff(side.cvxpy_payoffs(plan), other, [*polytope, *own_rows], other_cost)
        return guaranteed - cost, rows, [*others, side.own.E @ plan == side.own.e]

    def _cvxpy_rows(self, player: int) -> "tuple[list[cp.Constraint], Any]":
        """Return a player's constraints, and what it pays for violating them."""
        import cvxpy as cp

        own, plan = self.of_player(player), self.game.plan(player)
        if self.penalty is None or not own:
            return [constraint.to_cvxpy(plan) <= 0.0 for constraint in own], 0.0
        excess = cp.Variable(len(own) if self.penalise == "sum" else 1, nonneg=True, name="excess")
        places = range(len(own)) if self.penalise == "sum" else [0] * len(own)
        rows = [one.to_cvxpy(plan) <= excess[place] for one, place in zip(own, places, strict=True)]
        return rows, self.penalty * cp.sum(excess)

    def _linear_response(self, side: Side, plan: "cp.Variable") -> "tuple[Any, list[Any]]":
        """Return what a plan guarantees against an opponent under linear constraints; the response is the first row."""
        import cvxpy as cp

        matrix = self._matrices[1 - side.player]
        if not len(matrix.units):
            values, response, definitions = side.cvxpy_response(plan)
            return side.other.e @ values, [response, *definitions]
        prices = cp.Variable(len(matrix.units), nonneg=True, name="prices")
        values, response, definitions = side.cvxpy_response(plan, matrix.matrix.T @ prices)
        rows = [response, *definitions]
        if self.penalty is not None:
            spent = cp.multiply(1.0 / matrix.units, prices)
            rows.append((spent if self.penalise == "sum" else cp.sum(spent)) <= self.penalty)
        return side.other.e @ values - matrix.limits @ prices, rows

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        seats = self._seats
        own = [constraint for player in seats for constraint in self.of_player(player)]
        rows = solved.constraints[: len(own)]
        multipliers = {
            one.name: max(0.0, float(np.asarray(row.dual_value).item())) for one, row in zip(own, rows, strict=True)
        }
        plans = {player: np.asarray(self.game.plan(player).value) for player in seats}
        if len(seats) == 1:
            other = 1 - seats[0]
            plans[other] = np.asarray(solved.constraints[len(own)].dual_value)
            prices = next((variable for variable in solved.variables() if variable.name() == "prices"), None)
            if prices is not None:
                multipliers |= self._named(other, np.asarray(prices.value) / self._matrices[other].units)
        return Answer((plans[0], plans[1]), self._in_order(multipliers))

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute the bounds that plans and multipliers prove on the optimum, and how far constraints are violated.

        Parameters
        ----------
        profile : Profile
        multipliers : mapping of str to float, optional
            By constraint; those left out are 0, negative ones count as 0, and those that the penalty does not allow are
            lessened.
        evidence : mapping of str to ndarray, optional
            By constraint: slopes for its tangent; see :meth:`Constraint.minorant
            <treeplex.models.constraints.Constraint.minorant>`.

        Returns
        -------
        Certificate
            ``objective``, ``lower`` and ``upper`` are payoffs of player 0. Without a penalty the bounds hold as far as
            the plans meet the constraints, which ``violations`` says. ``exploitability`` is that of the profile among
            all strategies, constrained or not.
        """
        form = self.game.sequence_form
        check_same_game(profile[0], self.game)
        gradients = [form.gradient(player, profile.plans) for player in range(2)]
        payoffs = [float(plan @ gradient) for plan, gradient in zip(profile.plans, gradients, strict=True)]
        free = [best_response_value(treeplex, g) for treeplex, g in zip(form.treeplexes, gradients, strict=True)]
        bounded, penalties = [], []
        for player in range(2):
            own = self.of_player(player)
            plan = profile[player].plan
            tilt, constant = np.zeros(len(plan)), 0.0
            for constraint, multiplier in zip(own, self._allowed(own, multipliers or {}), strict=True):
                if multiplier > 0.0:
                    slope, shift = constraint.minorant(plan, (evidence or {}).get(constraint.name))
                    tilt += multiplier * slope
                    constant += multiplier * shift
            bounded.append(best_response_value(form.treeplexes[player], gradients[player] - tilt) - constant)
            penalties.append(self._paid([constraint.value(plan) for constraint in own]))
        violations = {one.name: one.value(profile[one.player].plan) for one in self.constraints}
        return Certificate(
            value=(payoffs[0], payoffs[1]),
            objective=payoffs[0] - penalties[0] + penalties[1],
            lower=-bounded[1] - penalties[0],
            upper=bounded[0] + penalties[1],
            exploitability=(sum(free) - sum(payoffs)) / 2.0,
            residual=max(strategy.treeplex.residual(strategy.plan) for strategy in profile),
            violations=violations,
        )

    def _allowed(self, own: Sequence[Constraint], multipliers: Mapping[str, float]) -> Floats:
        """Return a player's multipliers, within what the penalty allows."""
        given = np.maximum([multipliers.get(constraint.name, 0.0) for constraint in own], 0.0)
        if self.penalty is None or not len(given):
            return given
        if self.penalise == "sum":
            return np.minimum(given, self.penalty)
        total = float(given.sum())
        return given if total <= self.penalty else given * (self.penalty / total)

    def _paid(self, values: Sequence[float]) -> float:
        """Return what a player pays for its violations."""
        if self.penalty is None or not values:
            return 0.0
        excess = np.maximum(values, 0.0)
        return self.penalty * float(excess.sum() if self.penalise == "sum" else excess.max())

    def error(self, certificate: Certificate) -> float:
        """Return the larger of the gap and, unless violations are paid for, the violation: a tolerance bounds it."""
        assert certificate.gap is not None
        return certificate.gap if self.penalty is not None else max(certificate.gap, certificate.violation)
