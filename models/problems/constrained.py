"""Equilibria under constraints on the players' realization plans."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidConstraintError, InvalidGameError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.rationals import Fractions
from ...seqform.rules import Number
from ...seqform.strategy import Profile, check_same_game
from ..constraints import Constraint, collect_constraints
from ..constraints.constraint import constraint_value, weighted_minorant
from ..constraints.matrix import ConstraintMatrix, cvxpy_rows, excess_units, read_evidence, read_multipliers
from ..declarations import Constraints, Penalty
from ..programs.linear_program import LinearProgram
from ..programs.program_blocks import ProgramBlocks
from ..programs.rational_program import RationalProgram
from .conic_response import least_payoff
from .one_player import checked_number
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
    penalty : float or Fraction, optional
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

    for the value, if x and y meet their constraints; a convex constraint is replaced by its tangent. One that is convex
    and piecewise linear is linear in the plan and auxiliary variables s, G x + K s ≤ h, or H y + L t ≤ k with Lᵀ μ = 0;
    its multipliers give the tangent. With the penalty,
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
    >>> solve(ConstrainedNash(game, {"king": x[bet] <= 0.5})).violation
    0.0
    """

    game: Game
    constraints: Constraints  # a tuple of Constraint, once they are collected
    penalty: Penalty = field(default=None, kw_only=True)
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
            object.__setattr__(self, "penalty", checked_number(self.name, "penalty", self.penalty, 0.0))

    @property
    def is_linear(self) -> bool:
        """Whether all constraints are linear or piecewise linear, so that the formulation is a linear program."""
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

    def _matrices_of(self, exact: bool) -> tuple[ConstraintMatrix, ConstraintMatrix]:
        if not exact:
            return self._matrices
        first, second = (
            ConstraintMatrix.exact(self.of_player(player), treeplex.num_sequences)
            for player, treeplex in enumerate(self.game.sequence_form.treeplexes)
        )
        return first, second

    @cached_property
    def _matrices(self) -> tuple[ConstraintMatrix, ConstraintMatrix]:
        """Both players' constraints that are linear or piecewise linear."""
        first, second = (
            ConstraintMatrix.of(self.of_player(player), treeplex.num_sequences)
            for player, treeplex in enumerate(self.game.sequence_form.treeplexes)
        )
        return first, second

    def linear_program(self) -> LinearProgram:
        """Return player 0's linear program.

        Column blocks as in :meth:`Nash.linear_program <treeplex.Nash.linear_program>`, and ``excess`` (violations, with
        a penalty, in units of their rows), ``auxiliary`` (s) and ``prices`` (μ, in units of payoff); row blocks
        ``constraints`` (G x + K s ≤ h, each row divided by its largest coefficient), ``auxiliary prices`` (Lᵀ μ = 0)
        and, where the largest violation is penalised, ``penalty`` (Σ μ ≤ β).

        Raises
        ------
        UnsupportedProblemError
            If a constraint is neither linear nor piecewise linear.
        """
        if not self.is_linear:
            curved = next(one.name for one in self.constraints if not one.is_linear)
            raise UnsupportedProblemError(
                f"constraint {shown(curved)} is not linear, so that there is no linear program: use the method cvxpy"
            )
        return self._blocks(exact=False).program(maximise=True)

    def rational_program(self) -> RationalProgram:
        """Return the program of :meth:`linear_program` in exact fractions, in payoff units.

        Raises
        ------
        UnsupportedProblemError
            If a constraint is not linear.
        """
        return self._blocks(exact=True).rational_program(maximise=True)

    def _blocks(self, exact: bool) -> ProgramBlocks:
        side = Side(self.game, 0, exact)
        blocks = ProgramBlocks(exact)
        side.add_plan(blocks)
        own, other = self._matrices_of(exact)
        self._add_own(blocks, own, side)
        side.add_response(blocks, 1, self._add_other(blocks, other, side))
        return blocks

    def _price(self, side: Side) -> Any:
        """Return the penalty in the numbers of a side."""
        return None if self.penalty is None else side.number(self.penalty)

    def _add_own(self, blocks: ProgramBlocks, own: ConstraintMatrix, side: Side) -> None:
        """Add G x ≤ h, or its violations at a price."""
        if not own.names:
            return
        terms: dict[str, sp.sparray] = {"plan": own.matrix}
        if own.auxiliary.shape[1]:
            blocks.add_columns("auxiliary", own.auxiliary.shape[1])
            terms["auxiliary"] = own.auxiliary
        penalty = self._price(side)
        if penalty is not None:
            excess, units = own.excess(one_for_all=self.penalise == "largest")
            blocks.add_columns("excess", len(units), objective=-penalty * units, lower=0.0)
            terms["excess"] = excess
        blocks.add_rows("constraints", terms, lower=own.lower, upper=own.limits)

    def _add_other(self, blocks: ProgramBlocks, other: ConstraintMatrix, side: Side) -> dict[str, Any]:
        """Add μ, and return its part in the rows of the response."""
        if not other.names:
            return {}
        # In units of payoff, and of rows that were divided by their units.
        unit, penalty = side.unit, self._price(side)
        count, scale = len(other.units), unit / other.units
        most = np.full(count, np.inf, dtype=other.units.dtype)
        if penalty is not None and self.penalise == "sum":
            most[other.heads] = penalty / scale[other.heads]
        least = np.where(other.equal, -np.inf, 0.0)
        blocks.add_columns("prices", count, objective=-unit * other.limits, lower=least, upper=most)
        if penalty is not None and self.penalise == "largest":
            # Rows of fractions are not divided, and their scale is 1.
            entries = (scale[other.heads].astype(np.float64), (np.zeros_like(other.heads), other.heads))
            blocks.add_rows("penalty", {"prices": sp.csr_array(entries, shape=(1, count))}, upper=penalty)
        if other.auxiliary.shape[1]:
            blocks.add_rows("auxiliary prices", {"prices": other.auxiliary.T}, lower=0.0, upper=0.0)
        return {"prices": -other.matrix.T}

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return both players' plans and the multipliers by constraint."""
        return self._read(False, primal, dual)

    def read_rational_program(self, primal: Mapping[str, Fractions], dual: Mapping[str, Fractions]) -> Answer:
        """Return what :meth:`read_linear_program` does, in fractions."""
        return self._read(True, primal, dual)

    def _read(self, exact: bool, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
        unit = Side(self.game, 0, exact).unit
        own, other = self._matrices_of(exact)
        multipliers: dict[str, Any] = {}
        evidence: dict[str, Any] = {}
        if "constraints" in dual:
            multipliers |= own.multipliers(dual["constraints"])
            evidence |= own.evidence(dual["constraints"])
        if "prices" in primal:
            multipliers |= other.multipliers(primal["prices"] * unit)
            evidence |= other.evidence(primal["prices"])
        return Answer((primal["plan"], dual["response"] / unit), self._in_order(multipliers), evidence)

    def _in_order(self, multipliers: Mapping[str, float]) -> dict[str, float]:
        return {one.name: multipliers[one.name] for one in self.constraints}

    def to_cvxpy(self) -> "cp.Problem":
        """Return the exact formulation in cvxpy, in payoff units.

        It is player 0's program on ``game.plan(0)``. Where only player 1's constraints are not linear it is player 1's
        on ``game.plan(1)``, and where both players' are not, it is the sum of both programs; the first constraints are
        those of this problem, the last what auxiliary variables of piecewise linear ones are to meet.

        Raises
        ------
        UnsupportedProblemError
            If constraints of both players are curved, and one needs a cone that is neither second-order nor
            exponential.
        """
        import cvxpy as cp

        parts = [self._seat_program(player) for player in self._seats]
        rows = [row for part in range(1, 4) for of_seat in parts for row in of_seat[part]]
        return cp.Problem(cp.Maximize(sum(of_seat[0] for of_seat in parts)), rows)

    @property
    def _seats(self) -> tuple[int, ...]:
        """Whose programs the cvxpy formulation is: a player whose constraints are not linear needs its own."""
        curved = sorted({constraint.player for constraint in self.constraints if not constraint.is_linear})
        return tuple(curved) or (0,)

    def _seat_program(self, player: int) -> "tuple[Any, list[Any], list[Any], list[Any]]":
        """Return what a player maximises, the rows of its constraints, others, and those of auxiliary variables."""
        side = Side(self.game, player)
        plan = self.game.plan(player)
        rows, lifted, cost = self._cvxpy_rows(player)
        if all(one.is_linear for one in self.of_player(1 - player)):
            guaranteed, others = self._linear_response(side, plan)
        else:
            other = self.game.plan(1 - player)
            heads, more, other_cost = self._cvxpy_rows(1 - player)
            polytope = [side.other.E @ other == side.other.e, other >= 0]
            guaranteed, others = least_payoff(side.cvxpy_payoffs(plan), other, [*polytope, *heads, *more], other_cost)
        return guaranteed - cost, rows, [*others, side.own.E @ plan == side.own.e], lifted

    def _cvxpy_rows(self, player: int) -> "tuple[list[cp.Constraint], list[cp.Constraint], Any]":
        """Return a player's constraints, those of their auxiliary variables, and what it pays for violations."""
        import cvxpy as cp

        own, plan, sizes = self.of_player(player), self.game.plan(player), self._matrices[player].sizes
        if self.penalty is None or not own:
            return *cvxpy_rows(own, plan, sizes), 0.0
        excess = cp.Variable(len(own) if self.penalise == "sum" else 1, nonneg=True, name="excess")
        cost = float(self.penalty) * (excess_units(own, sizes, excess.size) @ excess)
        return *cvxpy_rows(own, plan, sizes, excess), cost

    def _linear_response(self, side: Side, plan: "cp.Variable") -> "tuple[Any, list[Any]]":
        """Return what a plan guarantees against an opponent under linear constraints; the response is the first row."""
        import cvxpy as cp

        matrix = self._matrices[1 - side.player]
        if not matrix.names:
            values, response, definitions = side.cvxpy_response(plan)
            return side.other.e @ values, [response, *definitions]
        prices = cp.Variable(len(matrix.units), name="prices")
        values, response, definitions = side.cvxpy_response(plan, matrix.matrix.T @ prices)
        rows = [response, *definitions, prices[~matrix.equal] >= 0.0]
        if matrix.auxiliary.shape[1]:
            rows.append(matrix.auxiliary.T @ prices == 0.0)
        if self.penalty is not None:
            spent = sp.diags_array(1.0 / matrix.units[matrix.heads]) @ prices[matrix.heads]
            rows.append((spent if self.penalise == "sum" else spent.sum()) <= float(self.penalty))
        return side.other.e @ values - matrix.limits @ prices, rows

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        seats = self._seats
        own = [constraint for player in seats for constraint in self.of_player(player)]
        sizes = self._matrices[0].sizes | self._matrices[1].sizes
        multipliers = read_multipliers(own, sizes, solved.constraints)
        evidence = read_evidence(own, multipliers, solved.constraints)
        plans = {player: np.asarray(self.game.plan(player).value) for player in seats}
        if len(seats) == 1:
            other = 1 - seats[0]
            plans[other] = np.asarray(solved.constraints[len(own)].dual_value)
            prices = next((variable for variable in solved.variables() if variable.name() == "prices"), None)
            if prices is not None:
                multipliers |= self._matrices[other].multipliers(np.asarray(prices.value))
                evidence |= self._matrices[other].evidence(np.asarray(prices.value))
        return Answer((plans[0], plans[1]), self._in_order(multipliers), evidence)

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
            <treeplex.models.constraints.Constraint.minorant>`. A constraint without a known tangent proves nothing.

        Returns
        -------
        Certificate
            ``objective``, ``lower`` and ``upper`` are payoffs of player 0. Without a penalty the bounds hold as far as
            the plans meet the constraints, which ``violations`` says. ``exploitability`` is that of the profile among
            all strategies, constrained or not.
        """
        check_same_game(profile[0], self.game)
        return self._certify(False, profile.plans, multipliers or {}, evidence or {})

    def certify_exact(
        self, plans: Sequence[Fractions], multipliers: Mapping[str, Fraction], evidence: Mapping[str, Fractions]
    ) -> Certificate:
        """Compute what :meth:`certify` does, from plans in fractions: all numbers but the residual are fractions."""
        return self._certify(True, plans, multipliers, evidence)

    def _certify(
        self, exact: bool, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        bounded, free, penalties = [], [], []
        violations: dict[str, Any] = {}
        for player, plan in enumerate(plans):
            side, own = Side(self.game, player, exact), self.of_player(player)
            payoffs = side.paid(plans[1 - player])
            values = [constraint_value(constraint, plan, exact) for constraint in own]
            allowed = self._allowed([side.number(multipliers.get(constraint.name, 0)) for constraint in own], side)
            tilt, constant = weighted_minorant(own, allowed, plan, evidence)
            bounded.append(side.most(payoffs - tilt) - constant)
            free.append(side.most(payoffs))
            penalties.append(self._paid(values, side))
            violations |= {constraint.name: value for constraint, value in zip(own, values, strict=True)}
        side = Side(self.game, 0, exact)
        payoff = side.payoff(plans[0], plans[1])
        return Certificate(
            value=(payoff, -payoff),
            objective=payoff - penalties[0] + penalties[1],
            lower=-bounded[1] - penalties[0],
            upper=bounded[0] + penalties[1],
            exploitability=(free[0] + free[1]) / 2,
            residual=side.residual(plans),
            violations={one.name: violations[one.name] for one in self.constraints},
        )

    def _allowed(self, given: list[Any], side: Side) -> list[Any]:
        """Return a player's multipliers, within what the penalty allows."""
        given = [max(0 * one, one) for one in given]
        penalty, total = self._price(side), sum(given)
        if penalty is None or total <= penalty:
            return given
        if self.penalise == "sum":
            return [min(one, penalty) for one in given]
        return [one * (penalty / total) for one in given]

    def _paid(self, values: list[Any], side: Side) -> Any:
        """Return what a player pays for its violations."""
        if self.penalty is None or not values:
            return side.number(0)
        excess = [max(0 * value, value) for value in values]
        return self._price(side) * (sum(excess) if self.penalise == "sum" else max(excess))

    def error(self, certificate: Certificate) -> float:
        """Return the larger of the gap and, unless violations are paid for, the violation: a tolerance bounds it."""
        assert certificate.gap is not None
        if self.penalty is not None:
            return abs(certificate.gap)  # below zero it is round-off of what a large penalty multiplies
        return max(certificate.gap, certificate.violation)
