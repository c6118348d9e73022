"""Equilibrium strategies in a preferred style."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.evaluate import best_response_value
from ...seqform.functional import Functional
from ...seqform.rationals import intended_fraction, to_fractions
from ...seqform.strategy import check_same_game
from ..declarations import Epsilon, Maximised, Minimised, Player
from ..distances import Distance, L1Distance, check_distance
from ..programs.linear_program import LinearProgram
from ..programs.program_blocks import ProgramBlocks
from ..programs.rational_program import RationalProgram
from .one_player import OnePlayerProblem, checked_number
from .problem import Answer, Certificate
from .safe import SafeSet
from .side import Side

if TYPE_CHECKING:
    import cvxpy as cp


@dataclass(frozen=True, eq=False)
class StyledNash(OnePlayerProblem):
    """Of the strategies that are exploitable by ε at most, one in a preferred style.

    The style is a linear functional of the plan to be as large or as small as possible, or a strategy to be as near to
    as possible: optimise over x such that min over y of xᵀ M y ≥ v − ε, with v the value of the game. Give exactly one
    of `maximise`, `minimise` and `nearest`.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    epsilon : float
        Payoff units, at least 0.
    maximise, minimise : Functional or array_like, shape (num_sequences,), optional
        A functional of one player's plan, such as :func:`~treeplex.frequency` returns, or its coefficients.
    nearest : Distance, optional
        To a strategy of the player, such as ``L2Distance(strategy)``.
    player : int, optional
        Whose strategy; needed with coefficients alone, since functionals and distances know.
    game_value : float, optional
        v, the value of the game to the player; :func:`~treeplex.solve` finds it if it is not given.

    Raises
    ------
    InvalidGameError
        If it is no game, epsilon is no number of at least 0, or coefficients are no vector of numbers.
    InvalidStrategyError
        If the functional or the distance is of another game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players, or there is not exactly one style.

    Notes
    -----
    Linear functionals and ℓ1 distances have a linear program, ℓ2 and Kullback–Leibler distances a conic program alone,
    which the method ``cvxpy`` solves. The multiplier κ of the bound, ``safety``, is what the objective gains per unit
    of ε. With the free opponent's plan y it proves a bound: max over x of x · (c + κ M y) − κ (v − ε) for a functional
    c, and for a distance the same with minus a linear lower bound of it for c; see
    :meth:`Distance.minorant <treeplex.models.distances.Distance.minorant>`.

    The objective is not in payoff units. A tolerance of t bounds the violation by t, and the gap by t times
    :attr:`scale` over the game's largest payoff: what counts as near does not hang on the unit of either.

    Examples
    --------
    How often player 0 of Kuhn poker may bet at once in an equilibrium, and if it gives up a hundredth:

    >>> from treeplex import StyledNash, frequency, load_game, solve
    >>> game = load_game("kuhn")
    >>> bets = frequency(game, 0, "b", first=True)
    >>> for epsilon in (0, 0.01):
    ...     print(round(solve(StyledNash(game, epsilon=epsilon, maximise=bets)).objective, 6))
    0.444444
    0.504444
    """

    epsilon: Epsilon = field(default=0, kw_only=True)
    maximise: Maximised = field(default=None, kw_only=True)
    minimise: Minimised = field(default=None, kw_only=True)
    nearest: Any = field(default=None, kw_only=True)
    player: Player = field(default=None, kw_only=True)

    name: ClassVar[str] = "style"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", checked_number(self.name, "epsilon", self.epsilon, 0.0))
        styles = [style for style in ("maximise", "minimise", "nearest") if getattr(self, style) is not None]
        if len(styles) != 1:
            received = " and ".join(styles) or "none"
            raise UnsupportedProblemError(
                f"{self.name} needs one of maximise=functional, minimise=functional and nearest=distance, "
                f"received {received}"
            )
        style = getattr(self, styles[0])
        if styles[0] == "nearest":
            check_distance(self.name, style)
            check_same_game(style.reference, self.game)
        else:
            style = self._checked_functional(styles[0], style)
            object.__setattr__(self, styles[0], style)
        if self.player not in (None, style.player):
            raise InvalidStrategyError(
                f"{self.name}: player is {shown(self.player)}, but {styles[0]} is about player {style.player}"
            )
        object.__setattr__(self, "player", style.player)

    def _checked_functional(self, name: str, style: Any) -> Functional:
        if not isinstance(style, Functional) and self.player is None:
            raise InvalidStrategyError(
                f"{self.name}: {name} is {shown(style)}, expected a Functional, or coefficients and player="
            )
        functional: Functional = (
            style if isinstance(style, Functional) else Functional(self.player, style, "the coefficients given")
        )
        seat = functional.player
        if not isinstance(seat, Integral) or isinstance(seat, bool) or seat not in (0, 1):
            raise InvalidStrategyError(f"{self.name}: player is {shown(functional.player)}, expected 0 or 1")
        expected = self.game.sequence_form.treeplexes[functional.player].num_sequences
        if functional.coefficients.shape != (expected,):
            raise InvalidStrategyError(
                f"{self.name}: the functional {shown(functional.description)} has {len(functional.coefficients)} "
                f"coefficients, expected {expected}, one a sequence of player {functional.player}"
            )
        if functional.fingerprint not in (None, self.game.fingerprint):
            raise InvalidStrategyError(
                f"{self.name}: the functional {shown(functional.description)} is of another game than {self.game.spec}"
            )
        return functional

    @property
    def is_linear(self) -> bool:
        """Whether a linear program can state it."""
        return self.nearest is None or bool(self.nearest.is_linear)

    @property
    def maximises(self) -> bool:
        """Whether the objective is to be large."""
        return self.maximise is not None

    @cached_property
    def coefficients(self) -> Floats:
        """The functional's coefficients, its constant added to the empty sequence's, which every plan has once."""
        functional: Functional = self.maximise if self.maximises else self.minimise
        coefficients = functional.coefficients.copy()
        coefficients[0] += functional.constant
        return coefficients

    @cached_property
    def scale(self) -> float:
        """The objective's unit in tolerances: the largest Σ abs(c) x of a plan, 1 if that is 0; a distance's own."""
        if self.nearest is not None:
            return float(self.nearest.scale)
        treeplex = self.game.sequence_form.treeplexes[self.player]
        return best_response_value(treeplex, np.abs(self.coefficients)) or 1.0

    def error(self, certificate: Certificate) -> float:
        """Return the larger of the violation and the gap, in payoff units: the gap per :attr:`scale`, as payoffs."""
        assert certificate.gap is not None
        gap = certificate.gap / self.scale * self.game.sequence_form.payoff_scale
        return max(gap, certificate.violation)

    def _safe(self, side: Side) -> SafeSet:
        return SafeSet(side, self.known_value(side.exact) - side.number(self.epsilon))

    def _coefficients(self, side: Side) -> Any:
        """Return the coefficients in the numbers of a side."""
        if not side.exact:
            return self.coefficients
        functional: Functional = self.maximise if self.maximises else self.minimise
        coefficients = to_fractions(functional.coefficients)
        coefficients[0] += intended_fraction(functional.constant)
        return coefficients

    def _distance(self, side: Side, plan: Any) -> Any:
        return self.nearest.exact_value(plan) if side.exact else self.nearest.value(plan)

    def linear_program(self) -> LinearProgram:
        """Return the linear program.

        Column blocks ``plan`` (x) and ``values`` (q), row blocks ``plan``, ``response`` and ``safety``
        (−f · q ≤ ε − v); where payoffs are factored also ``factors``; for an ℓ1 distance columns ``distance above`` and
        ``distance below`` and rows ``distance``, which split the differences from the reference into their positive and
        negative parts.

        Raises
        ------
        UnsupportedProblemError
            If the distance has none, or the value of the game is not known yet.
        """
        return super().linear_program()

    def rational_program(self) -> RationalProgram:
        """Return the program of :meth:`linear_program` in exact fractions, in payoff units."""
        return super().rational_program()

    def _blocks(self, side: Side) -> ProgramBlocks:
        if not self.is_linear:
            raise UnsupportedProblemError(
                f"{self.name} has no linear program for the {self.nearest.kind} distance: the method cvxpy solves it"
            )
        blocks = ProgramBlocks(side.exact)
        side.add_plan(blocks, objective=0 if self.nearest is not None else self._coefficients(side))
        self._safe(side).add_to(blocks)
        if isinstance(self.nearest, L1Distance):
            self.nearest.add_to(blocks, objective=1)
        return blocks

    def _read(self, side: Side, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
        """Return the strategy, the free opponent's plan, the multiplier of ``safety`` and the slopes of a distance."""
        # The multipliers of a program that minimises are negative at upper bounds.
        sign = 1 if self.maximises else -1
        slopes = None if self.nearest is None else -dual["distance"]
        safety = side.number(sign * dual["safety"][0])
        return self._answer(side, primal["plan"], sign * dual["response"], safety, slopes)

    def to_cvxpy(self) -> "cp.Problem":
        """Return the same program in cvxpy, on ``game.plan`` of the player."""
        import cvxpy as cp

        plan = self.game.plan(self.player)
        response, safety, *others = self._safe(self.side).cvxpy_constraints(plan)
        if self.nearest is not None:
            objective, definitions = self.nearest.cvxpy_parts(plan)
        else:
            objective, definitions = self.coefficients @ plan, []
        sense = cp.Maximize if self.maximises else cp.Minimize
        return cp.Problem(sense(objective), [response, safety, *definitions, *others])

    def read_cvxpy(self, solved: "cp.Problem") -> Answer:
        """Return what :meth:`read_linear_program` does, from the solved program of :meth:`to_cvxpy`."""
        response, safety = (np.asarray(constraint.dual_value) for constraint in solved.constraints[:2])
        slopes = None if self.nearest is None else self.nearest.cvxpy_slopes(solved.constraints[2:])
        plan = np.asarray(self.game.plan(self.player).value)
        return self._answer(self.side, plan, response, float(safety), slopes)

    def _answer(self, side: Side, own: Any, response: Any, safety: Any, slopes: Any) -> Answer:
        multiplier, free = self._safe(side).proof(response, safety, otherwise=lambda: side.worst_plan(own))
        evidence = {} if slopes is None else {"slopes": slopes}
        return Answer(self._plans(own, free), {"safety": multiplier}, evidence)

    def _certify(
        self, side: Side, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        """Compute a strategy's style, by how much it is unsafe, and what the multiplier ``safety`` proves.

        For a distance, ``slopes`` of the evidence make linear lower bounds; see :mod:`treeplex.models.distances`.
        """
        safe = self._safe(side)
        own, free = plans[self.player], plans[1 - self.player]
        multiplier = max(multipliers.get("safety", 0), 0)
        if self.nearest is not None:
            objective = self._distance(side, own)
            bound = self._least_distance(safe, own, free, multiplier, evidence.get("slopes"))
        else:
            coefficients = self._coefficients(side)
            objective = side.number(coefficients @ own)
            sign = 1 if self.maximises else -1
            bound = sign * safe.upper_bound(sign * coefficients, multiplier, free)
        payoff = side.payoff(own, free) * (1 if self.player == 0 else -1)
        value = self.known_value(side.exact)
        return Certificate(
            value=(payoff, -payoff),
            objective=objective,
            # A strategy that is unsafe, be it by round-off, can be beyond the bound: the gap then says by how much.
            lower=min(bound, objective),
            upper=max(bound, objective),
            exploitability=max(0 * value, value - side.worst_case(own)),
            residual=side.residual(plans),
            violations={"safety": safe.violation(own)},
            player=self.player,
            game_value=value,
        )

    def _least_distance(self, safe: SafeSet, own: Any, free: Any, multiplier: Any, slopes: Any) -> Any:
        """Return the best lower bound that slopes, the plan's own and the best ones prove; a distance is 0 at least."""
        if safe.side.exact:
            minorant = 0 * own if slopes is None else self.nearest.exact_minorant(slopes)
            return max(0 * safe.floor, -safe.upper_bound(-minorant, multiplier, free))
        distance: Distance = self.nearest
        bounds = [0.0]
        for given in (None, slopes, distance.best_slopes(multiplier * safe.side.paid(free))):
            minorant, constant = distance.minorant(own, given)
            bounds.append(constant - safe.upper_bound(-minorant, multiplier, free))
        return max(bounds)
