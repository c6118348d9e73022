"""Responses to a model of the opponent: best responses, restricted Nash responses, safe responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidGameError, InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..linear_program import LinearProgram
from ..program_blocks import ProgramBlocks
from .problem import Answer, Certificate
from .side import Side, check_two_players

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class ResponseProblem:
    """What problems about a model of the opponent have in common: the game, the opponent and the player who responds.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model; the other player responds to it.
    game_value : float, optional
        The value of the game to the player who responds; :func:`~treeplex.solve` finds it if it is not given.
    """

    game: Game
    opponent: Strategy
    game_value: float | None = field(default=None, kw_only=True)

    name: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.game, Game):
            raise InvalidGameError(f"{self.name} needs a Game, received {shown(self.game)}")
        check_two_players(self.name, self.game)
        if not isinstance(self.opponent, Strategy):
            raise InvalidStrategyError(f"{self.name}: the opponent is {shown(self.opponent)}, expected a Strategy")
        check_same_game(self.opponent, self.game)
        if self.game_value is not None:
            object.__setattr__(self, "game_value", _number(self.name, "game_value", self.game_value))

    @property
    def player(self) -> int:
        """The player who responds."""
        return 1 - self.opponent.player

    @cached_property
    def side(self) -> Side:
        """The game from the seat of the player who responds."""
        return Side(self.game, self.player)

    def known_value(self) -> float:
        """Return the value of the game to the player who responds.

        Raises
        ------
        UnsupportedProblemError
            If it is not known yet.
        """
        if self.game_value is None:
            raise UnsupportedProblemError(
                f"{self.name} needs game_value, the value of the game to player {self.player}: solve(…) finds it"
            )
        return self.game_value

    def with_game_value(self, value: float) -> "ResponseProblem":
        """Return the same problem, the value of the game to the player who responds filled in."""
        return replace(self, game_value=value)

    def error(self, certificate: Certificate) -> float:
        """Return the larger of the gap and the violation: a tolerance bounds it."""
        assert certificate.gap is not None
        return max(certificate.gap, certificate.violation)

    def _plans(self, own: Floats, other: Floats) -> tuple[Floats, Floats]:
        return (own, other) if self.player == 0 else (other, own)

    def _certificate(
        self, profile: Profile, objective: float, upper: float, violations: Mapping[str, float] | None = None
    ) -> Certificate:
        """Return what a profile proves, with all that there is to say of the response itself."""
        own = profile[self.player].plan
        against_model = self.side.payoff(own, self.opponent.plan)
        value = self.known_value()
        worst = self.side.worst_case(own)
        payoff = against_model if self.player == 0 else -against_model
        return Certificate(
            value=(payoff, -payoff),
            objective=objective,
            lower=objective,
            upper=max(upper, objective),
            exploitability=max(0.0, value - worst),
            residual=max(strategy.treeplex.residual(strategy.plan) for strategy in profile),
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
        blocks = ProgramBlocks()
        self.side.add_plan(blocks, objective=self.side.paid(self.opponent.plan))
        return blocks.program(maximise=True)

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return the response, and the model itself."""
        return Answer(self._plans(primal["plan"], self.opponent.plan))

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player who responds."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        payoff = self.side.paid(self.opponent.plan)
        return cp.Problem(cp.Maximize(payoff @ plan), [self.side.own.E @ plan == self.side.own.e])

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return the response from the solved program of :meth:`to_cvxpy`, and the model itself."""
        return Answer(self._plans(np.asarray(self.game.plan(self.player).value), self.opponent.plan))

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute what a response is worth, and what the best one is, by backward induction."""
        objective = self.side.payoff(profile[self.player].plan, self.opponent.plan)
        return self._certificate(profile, objective, self.side.best_case(self.opponent.plan))


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

    p: float = field(kw_only=True)
    name: ClassVar[str] = "rnr"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", _number(self.name, "p", self.p, 0.0, 1.0))

    def linear_program(self) -> LinearProgram:
        """Return the linear program.

        Columns ``plan`` (x) and ``values`` (q), rows ``plan`` and ``response``, where payoffs are factored also
        ``factors``, as in :meth:`Nash.linear_program <treeplex.Nash.linear_program>`.
        """
        blocks = ProgramBlocks()
        self.side.add_plan(blocks, objective=self.p * self.side.paid(self.opponent.plan))
        self.side.add_response(blocks, weight=1.0 - self.p)
        return blocks.program(maximise=True)

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return the response, and the free opponent's plan from the multipliers of the ``response`` rows."""
        return Answer(self._plans(primal["plan"], self._free(dual["response"] / self.side.unit)))

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player who responds and in payoff units."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        values, response, definitions = self.side.cvxpy_response(plan)
        model = self.side.paid(self.opponent.plan)
        guaranteed = self.side.other.e @ values
        return cp.Problem(
            cp.Maximize(self.p * (model @ plan) + (1.0 - self.p) * guaranteed),
            [response, self.side.own.E @ plan == self.side.own.e, *definitions],
        )

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return the response and the free opponent's plan from the solved program of :meth:`to_cvxpy`."""
        free = self._free(np.asarray(solved.constraints[0].dual_value))
        return Answer(self._plans(np.asarray(self.game.plan(self.player).value), free))

    def _free(self, multipliers: Floats) -> Floats:
        """Return the free opponent's plan; with p = 1 there is none, and the model stands for it."""
        return multipliers / (1.0 - self.p) if self.p < 1.0 else self.opponent.plan

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute what a response guarantees of the objective, and what the free opponent's strategy allows at most."""
        own, free = profile[self.player].plan, profile[1 - self.player].plan
        objective = self.p * self.side.payoff(own, self.opponent.plan) + (1.0 - self.p) * self.side.worst_case(own)
        upper = self.side.best_case(self.p * self.opponent.plan + (1.0 - self.p) * free)
        return self._certificate(profile, objective, upper)


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

    epsilon: float = field(kw_only=True)
    name: ClassVar[str] = "epsilon-safe"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", _number(self.name, "epsilon", self.epsilon, 0.0))

    @property
    def floor(self) -> float:
        """What the response has to guarantee: v − ε.

        Raises
        ------
        UnsupportedProblemError
            If the value of the game is not known yet.
        """
        return self.known_value() - self.epsilon

    def linear_program(self) -> LinearProgram:
        """Return the linear program: that of :class:`RestrictedNash` with the row ``safety`` (−f · q ≤ ε − v)."""
        blocks = ProgramBlocks()
        side = self.side
        side.add_plan(blocks, objective=side.paid(self.opponent.plan))
        side.add_response(blocks, weight=0.0)
        blocks.add_rows("safety", {"values": sp.coo_array(-side.other.e[None, :])}, upper=-self.floor / side.unit)
        return blocks.program(maximise=True)

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return the response, the free opponent's plan and the multiplier of ``safety``, per unit of payoff."""
        return self._answer(primal["plan"], dual["response"], float(dual["safety"][0]))

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player who responds and in payoff units."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        values, response, definitions = self.side.cvxpy_response(plan)
        return cp.Problem(
            cp.Maximize(self.side.paid(self.opponent.plan) @ plan),
            [
                response,
                cp.Constant(self.side.other.e) @ values >= self.floor,
                self.side.own.E @ plan == self.side.own.e,
                *definitions,
            ],
        )

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        response, safety = (np.asarray(constraint.dual_value) for constraint in solved.constraints[:2])
        plan = np.asarray(self.game.plan(self.player).value)
        return self._answer(plan, response * self.side.unit, float(safety) * self.side.unit)

    def _answer(self, own: Floats, response: Floats, safety: float) -> Answer:
        # Both multipliers are per unit of payoff times the program's unit.
        slope = max(safety, 0.0) / self.side.unit
        free = response / safety if safety > 1e-12 else self.opponent.plan
        return Answer(self._plans(own, free), {"safety": slope})

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute what a response earns, by how much it is unsafe, and what the multiplier allows at most."""
        own, free = profile[self.player].plan, profile[1 - self.player].plan
        slope = (multipliers or {}).get("safety", 0.0)
        objective = self.side.payoff(own, self.opponent.plan)
        upper = self.side.best_case(self.opponent.plan + slope * free) - slope * self.floor
        unsafe = self.floor - self.side.worst_case(own)
        return self._certificate(profile, objective, upper, {"safety": unsafe})


def _number(problem: str, name: str, value: Any, least: float = -np.inf, most: float = np.inf) -> float:
    """Return a parameter as a float, or refuse it."""
    expected = "a finite number" if least == -np.inf else f"a number of at least {least:g}"
    if most < np.inf:
        expected = f"a number from {least:g} to {most:g}"
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidGameError(f"{problem}: {name} is {shown(value)}, expected {expected}")
    number = float(value)
    if not (least <= number <= most and np.isfinite(number)):
        raise InvalidGameError(f"{problem}: {name} is {shown(value)}, expected {expected}")
    return number
