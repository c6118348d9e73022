"""Responses to a model of the opponent: best responses, restricted Nash responses, safe responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from ...seqform.errors import InvalidConstraintError, InvalidStrategyError, shown
from ...seqform.strategy import Strategy, check_same_game
from ..declarations import WORDS, Confidence, Epsilon
from ..programs.linear_program import LinearProgram
from ..programs.program_blocks import ProgramBlocks
from .one_player import OnePlayerProblem, checked_number
from .problem import Answer, Certificate
from .safe import SafeSet
from .side import Side

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class ResponseProblem(OnePlayerProblem):
    """What problems about a model of the opponent have in common: the opponent, and what a response earns against it.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model; the other player responds to it.
    game_value : float or Fraction, optional
        The value of the game to the player who responds; :func:`~treeplex.solve` finds it if it is not given.
    """

    opponent: Annotated[Strategy, WORDS["opponent"]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.opponent, Strategy):
            raise InvalidStrategyError(f"{self.name}: the opponent is {shown(self.opponent)}, expected a Strategy")
        check_same_game(self.opponent, self.game)

    @property
    def player(self) -> int:
        """The player who responds."""
        return 1 - self.opponent.player

    def _certificate(
        self,
        side: Side,
        plans: Sequence[Any],
        objective: Any,
        upper: Any,
        violations: Mapping[str, Any] | None = None,
    ) -> Certificate:
        """Return what a response proves, with all that there is to say of it."""
        own = plans[self.player]
        against_model = side.payoff(own, side.plan_of(self.opponent))
        value = self.known_value(side.exact)
        worst = side.worst_case(own)
        payoff = against_model if self.player == 0 else -against_model
        return Certificate(
            value=(payoff, -payoff),
            objective=objective,
            lower=objective,
            upper=max(upper, objective),
            exploitability=max(side.number(0), value - worst),
            residual=side.residual(plans),
            violations=violations or {},
            player=self.player,
            opponent_value=against_model,
            game_value=value,
            gain=against_model - value,
        )


@dataclass(frozen=True, eq=False)
class BestResponse(ResponseProblem):
    """A best response to a model of the opponent: max over x of xᵀ M ŷ.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        ŷ.
    game_value : float, optional
        The value of the game to the player who responds, for gain and exploitability; found if it is not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If they are no game, or no strategy of it.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Examples
    --------
    >>> from treeplex import BestResponse, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(BestResponse(game, Strategy.uniform(game, 1)))
    >>> round(solution.objective, 9), round(solution.gain, 9)
    (0.5, 0.555555556)
    """

    name: ClassVar[str] = "best-response"

    def linear_program(self) -> LinearProgram:
        """Return the linear program: columns ``plan`` (x), rows ``plan`` (E x = e)."""
        return super().linear_program()

    def _blocks(self, side: Side) -> ProgramBlocks:
        blocks = ProgramBlocks(side.exact)
        side.add_plan(blocks, objective=side.paid(side.plan_of(self.opponent)))
        return blocks

    def _read(self, side: Side, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
        """Return the response, and the model itself."""
        return Answer(self._plans(primal["plan"], side.plan_of(self.opponent)))

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player who responds."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        payoff = self.side.paid(self.opponent.plan)
        return cp.Problem(cp.Maximize(payoff @ plan), [self.side.own.E @ plan == self.side.own.e])

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return the response from the solved program of :meth:`to_cvxpy`, and the model itself."""
        return Answer(self._plans(np.asarray(self.game.plan(self.player).value), self.opponent.plan))

    def _certify(
        self, side: Side, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        """Compute what a response is worth, and what the best one is, by backward induction."""
        own, model = plans[self.player], side.plan_of(self.opponent)
        return self._certificate(side, plans, side.payoff(own, model), side.best_case(model))


@dataclass(frozen=True, eq=False)
class RestrictedNash(ResponseProblem):
    """A restricted Nash response: the opponent plays a model with probability p, and is free otherwise.

    max over x of p xᵀ M ŷ + (1 − p) min over y of xᵀ M y. With p = 0 it is an equilibrium strategy, with p = 1 a best
    response to the model.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model ŷ.
    p : float
        From 0 to 1.
    game_value : float, optional
        The value of the game to the player who responds, for gain and exploitability; found if it is not given.

    Raises
    ------
    InvalidGameError
        If it is no game, or p is no number from 0 to 1.
    InvalidStrategyError
        If the opponent is no strategy of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS 2007. The modified game needs no
    copy of the tree: the linear program is max p (M ŷ) · x + (1 − p) f · q such that E x = e, x ≥ 0, Fᵀ q ≤ Mᵀ x, and
    the multipliers of the last rows are 1 − p times the free opponent's plan y. Any y proves the upper bound max over x
    of xᵀ M (p ŷ + (1 − p) y). Exploitability is at most p / (1 − p) times the gain.

    Examples
    --------
    >>> from treeplex import RestrictedNash, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(RestrictedNash(game, Strategy.uniform(game, 1), p=0.5))
    >>> round(solution.objective, 7), round(solution.gain, 7), round(solution.exploitability, 7)
    (0.1388889, 0.4444444, 0.0555556)
    """

    p: Confidence = field(kw_only=True)
    name: ClassVar[str] = "rnr"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", checked_number(self.name, "p", self.p, 0.0, 1.0))

    def linear_program(self) -> LinearProgram:
        """Return the linear program.

        Columns ``plan`` (x) and ``values`` (q), rows ``plan`` and ``response``, where payoffs are factored also
        ``factors``, as in :meth:`Nash.linear_program <treeplex.Nash.linear_program>`.
        """
        return super().linear_program()

    def _blocks(self, side: Side) -> ProgramBlocks:
        blocks = ProgramBlocks(side.exact)
        p = side.number(self.p)
        side.add_plan(blocks, objective=p * side.paid(side.plan_of(self.opponent)))
        side.add_response(blocks, weight=1 - p)
        return blocks

    def _read(self, side: Side, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
        """Return the response, and the free opponent's plan from the multipliers of the ``response`` rows."""
        return Answer(self._plans(primal["plan"], self._free(side, dual["response"] / side.unit)))

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player who responds and in payoff units."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        values, response, definitions = self.side.cvxpy_response(plan)
        model, p = self.side.paid(self.opponent.plan), float(self.p)
        guaranteed = self.side.other.e @ values
        return cp.Problem(
            cp.Maximize(p * (model @ plan) + (1.0 - p) * guaranteed),
            [response, self.side.own.E @ plan == self.side.own.e, *definitions],
        )

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return the response and the free opponent's plan from the solved program of :meth:`to_cvxpy`."""
        free = self._free(self.side, np.asarray(solved.constraints[0].dual_value))
        return Answer(self._plans(np.asarray(self.game.plan(self.player).value), free))

    def _free(self, side: Side, multipliers: Any) -> Any:
        """Return the free opponent's plan; with p = 1 there is none, and the model stands for it."""
        p = side.number(self.p)
        return multipliers / (1 - p) if p < 1 else side.plan_of(self.opponent)

    def _certify(
        self, side: Side, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        """Compute what a response guarantees of the objective, and what the free opponent's strategy allows at most."""
        own, free = plans[self.player], plans[1 - self.player]
        model, p = side.plan_of(self.opponent), side.number(self.p)
        objective = p * side.payoff(own, model) + (1 - p) * side.worst_case(own)
        upper = side.best_case(p * model + (1 - p) * free)
        return self._certificate(side, plans, objective, upper)


@dataclass(frozen=True, eq=False)
class EpsilonSafeResponse(ResponseProblem):
    """The best response to a model of the opponent among strategies that are exploitable by ε at most.

    max over x of xᵀ M ŷ such that min over y of xᵀ M y ≥ v − ε, with v the value of the game.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model ŷ.
    epsilon : float
        Payoff units, at least 0.
    game_value : float, optional
        v, the value of the game to the player who responds; found if it is not given.

    Raises
    ------
    InvalidGameError
        If it is no game, or epsilon is no number of at least 0.
    InvalidStrategyError
        If the opponent is no strategy of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    The multiplier κ of the bound, ``safety``, is the gain per unit of ε, and κ = (1 − p) / p where the response is the
    restricted Nash response for p. With the free opponent's plan y it proves the upper bound
    max over x of xᵀ M (ŷ + κ y) − κ (v − ε). Close to ε = 0 κ can be in the thousands: an error of v then counts that
    much. P. McCracken, M. Bowling, "Safe strategies for agent modelling in games", AAAI Fall Symposium 2004.

    Examples
    --------
    >>> from treeplex import EpsilonSafeResponse, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=1 / 18))
    >>> round(solution.gain, 7), round(solution.exploitability, 7)
    (0.4444444, 0.0555556)
    """

    epsilon: Epsilon = field(kw_only=True)
    name: ClassVar[str] = "epsilon-safe"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", checked_number(self.name, "epsilon", self.epsilon, 0.0))

    def with_bound(self, name: str, bound: float | Fraction) -> "EpsilonSafeResponse":
        """Return the same problem with another ε, the bound of its one constraint, ``safety``.

        Raises
        ------
        InvalidConstraintError
            If the constraint has another name.
        InvalidGameError
            If the bound is no number of at least 0.
        """
        if name != "safety":
            raise InvalidConstraintError(f"{self.name} has no constraint {shown(name)}: it has safety")
        return replace(self, epsilon=bound)

    @property
    def floor(self) -> float:
        """What the response has to guarantee: v − ε.

        Raises
        ------
        UnsupportedProblemError
            If the value of the game is not known yet.
        """
        return float(self._floor(self.side))

    def _floor(self, side: Side) -> Any:
        return self.known_value(side.exact) - side.number(self.epsilon)

    def linear_program(self) -> LinearProgram:
        """Return the linear program: that of :class:`RestrictedNash` with the row ``safety`` (−f · q ≤ ε − v)."""
        return super().linear_program()

    def _blocks(self, side: Side) -> ProgramBlocks:
        blocks = ProgramBlocks(side.exact)
        side.add_plan(blocks, objective=side.paid(side.plan_of(self.opponent)))
        SafeSet(side, self._floor(side)).add_to(blocks)
        return blocks

    def _read(self, side: Side, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
        """Return the response, the free opponent's plan and the multiplier of ``safety``, per unit of payoff."""
        return self._answer(side, primal["plan"], dual["response"], side.number(dual["safety"][0]))

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player who responds."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        constraints = SafeSet(self.side, self.floor).cvxpy_constraints(plan)
        return cp.Problem(cp.Maximize(self.side.paid(self.opponent.plan) @ plan), constraints)

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        response, safety = (np.asarray(constraint.dual_value) for constraint in solved.constraints[:2])
        plan = np.asarray(self.game.plan(self.player).value)
        return self._answer(self.side, plan, response, float(safety))

    def _answer(self, side: Side, own: Any, response: Any, safety: Any) -> Answer:
        safe = SafeSet(side, self._floor(side))
        multiplier, free = safe.proof(response, safety, otherwise=lambda: side.plan_of(self.opponent))
        return Answer(self._plans(own, free), {"safety": multiplier})

    def _certify(
        self, side: Side, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        """Compute what a response earns, by how much it is unsafe, and what the multiplier allows at most."""
        own, free = plans[self.player], plans[1 - self.player]
        model, safe = side.plan_of(self.opponent), SafeSet(side, self._floor(side))
        upper = safe.upper_bound(side.paid(model), multipliers.get("safety", 0), free)
        return self._certificate(side, plans, side.payoff(own, model), upper, {"safety": safe.violation(own)})
