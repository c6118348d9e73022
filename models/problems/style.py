"""Equilibrium strategies in a preferred style."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.functional import Functional
from ...seqform.polytope import best_response_value
from ...seqform.rationals import intended_fraction, to_fractions
from ...seqform.strategy import check_same_game
from ..constraints.constraint import Constraint, DistanceConstraint, RiskConstraint
from ..declarations import Epsilon, Maximised, Minimised, Player
from ..distances import check_distance
from ..risks import Risk
from ..saddle import SAFETY, Rows, Saddle
from .certificate import Certificate
from .features import Feature
from .one_player import EpsilonSafe
from .problem import SaddleProblem

#: The name of the soft row that states the distance.
_NEAREST = "distance"
#: The relative amount by which a measure's lower bound may exceed the true one.
_ROUND_OFF = 1e-9


@dataclass(frozen=True, eq=False)
class EpsilonSafeStyle(EpsilonSafe, SaddleProblem):
    """A strategy in a preferred style, exploitable by at most ε.

    The style is a linear functional of the plan, to be maximised or minimised, or a strategy to stay close to. Optimise
    over x such that min over y of xᵀ M y ≥ v − ε, with v the value of the game. Give exactly one of `maximise`,
    `minimise` and `nearest`.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    epsilon : float
        Payoff units, at least 0.
    maximise, minimise : Functional or array_like, shape (num_sequences,), optional
        A functional of one player's plan, such as :func:`~treeplex.frequency` returns, or its coefficients. `minimise`
        also accepts a :class:`~treeplex.models.risks.Risk`, such as the tail of losses.
    nearest : Distance, optional
        The distance from a strategy of the player, such as ``L2Distance(strategy)``.
    player : int, optional
        The player of the strategy; needed only with bare coefficients, because functionals and distances name their
        player.
    game_value : float, optional
        v, the player's value of the game; :func:`~treeplex.solve` computes it if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, epsilon is not a number of at least 0, or coefficients are not a vector of numbers.
    InvalidStrategyError
        If the functional or the distance belongs to another game.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players, or there is not exactly one style.

    Notes
    -----
    Linear functionals and ℓ1 distances have a linear program; ℓ2 and Kullback–Leibler distances have only a conic
    program, which the method ``cvxpy`` solves. The multiplier κ of the bound, ``safety``, is the objective's gain per
    unit of ε. With the free opponent's plan y it proves a bound: for a functional c, max over x of x · (c + κ M y) − κ
    (v − ε). For a distance, c is replaced with minus a linear lower bound of the distance; see :meth:`Distance.minorant
    <treeplex.models.distances.Distance.minorant>`.

    The objective is not in payoff units. A tolerance of t bounds the violation by t, and the gap by t times
    :attr:`scale` over the game's largest payoff, so the tolerance does not depend on the units of either.

    Examples
    --------
    How often player 0 of Kuhn poker may bet at its first decision, in an equilibrium and when giving up 0.01:

    >>> from treeplex import EpsilonSafeStyle, frequency, load_game, solve
    >>> game = load_game("kuhn")
    >>> bets = frequency(game, 0, "b", first=True)
    >>> for epsilon in (0, 0.01):
    ...     print(round(solve(EpsilonSafeStyle(game, epsilon=epsilon, maximise=bets)).objective, 6))
    0.444444
    0.504444
    """

    epsilon: Epsilon = field(default=0, kw_only=True)
    maximise: Maximised = field(default=None, kw_only=True)
    minimise: Minimised = field(default=None, kw_only=True)
    nearest: Any = field(default=None, kw_only=True)
    player: Player = field(default=None, kw_only=True)

    name: ClassVar[str] = "style"
    objective_is_payoff: ClassVar[bool] = False
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.FLOOR})
    one_of: ClassVar[tuple[str, ...]] = ("maximise", "minimise", "nearest")

    def __post_init__(self) -> None:
        super().__post_init__()
        styles = [style for style in self.one_of if getattr(self, style) is not None]
        if len(styles) != 1:
            received = " and ".join(styles) or "none"
            raise UnsupportedProblemError(
                f"{self.name} needs one of maximise=functional, minimise=functional and nearest=distance, "
                f"received {received}"
            )
        style = getattr(self, styles[0])
        if isinstance(style, Risk) and styles[0] == "minimise":
            if style.fingerprint not in (None, self.game.fingerprint):
                raise UnsupportedProblemError(
                    f"{self.name}: the measure {shown(style.description)} is for a game other than {self.game.spec}"
                )
        elif styles[0] == "nearest":
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
                f"{self.name}: {name} is {shown(style)}, expected a Functional, such as frequency(…) or parse_term(…), "
                "or coefficients and player="
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
                f"coefficients, expected {expected}, one per sequence of player {functional.player}"
            )
        if functional.fingerprint not in (None, self.game.fingerprint):
            raise InvalidStrategyError(
                f"{self.name}: the functional {shown(functional.description)} is for a game other than {self.game.spec}"
            )
        return functional

    def in_words(self) -> str:
        """Return the question as a sentence."""
        if self.nearest is not None:
            what = "is closest to the one given"
        else:
            style: Functional = self.maximise if self.maximises else self.minimise
            what = f"{'maximises' if self.maximises else 'minimises'} {style.description}"
        return (
            f"Which strategy of player {self.player} {what}, of those that lose at most {self.epsilon} to any opponent?"
        )

    @property
    def needs(self) -> frozenset[str]:
        """The features needed: a floor, and constraints if a row expresses a distance or a convex measure."""
        return super().needs | (frozenset() if self._measured is None else frozenset({Feature.CONSTRAINTS}))

    @property
    def _measured(self) -> Constraint | None:
        """The row that expresses a distance or a convex measure to be minimised; ``None`` for a functional."""
        if self.nearest is not None:
            return DistanceConstraint(self.nearest, 0.0, _NEAREST)
        return RiskConstraint(self.minimise, self._least, _NEAREST) if isinstance(self.minimise, Risk) else None

    @cached_property
    def _least(self) -> float:
        """A lower bound on the measure of all plans, 0 for a distance; the row states by how much a plan exceeds it.

        It is 0 or minus a power of 2, so that sums with it are exact.
        """
        if not isinstance(self.minimise, Risk):
            return 0.0
        treeplex = self.game.sequence_form.treeplexes[self.player]
        slope, constant = self.minimise.function.minorant(treeplex.uniform_plan())
        least = constant - best_response_value(treeplex, -slope)
        if not np.isfinite(least):
            raise UnsupportedProblemError(
                f"{self.name}: no lower bound is known for the measure {shown(self.minimise.description)}"
            )
        return 0.0 if least >= 0.0 else -(2.0 ** math.ceil(math.log2(-least * (1.0 + _ROUND_OFF))))

    @property
    def is_linear(self) -> bool:
        """Whether linear programs can express the problem."""
        return self._measured is None or self._measured.is_linear

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        if self.nearest is not None:
            return ""
        style: Functional = self.maximise or self.minimise
        return f"the {'largest' if self.maximises else 'least'} attainable value of {style.description}"

    @property
    def maximises(self) -> bool:
        """Whether the objective is maximised."""
        return self.maximise is not None

    @cached_property
    def coefficients(self) -> Floats:
        """The functional's coefficients, with its constant added to the empty sequence, whose plan entry is 1."""
        functional: Functional = self.maximise if self.maximises else self.minimise
        coefficients = functional.coefficients.copy()
        coefficients[0] += functional.constant
        return coefficients

    @cached_property
    def scale(self) -> float:
        """The objective's unit in tolerances: the largest Σ abs(c) x of a plan (1 if it is 0) or a distance's scale."""
        if self.nearest is not None:
            return float(self.nearest.scale)
        if isinstance(self.minimise, Risk):
            uniform = self.game.sequence_form.treeplexes[self.player].uniform_plan()
            measure = self.minimise.function
            return max(abs(float(measure.value(uniform))), measure.steepness(uniform))
        treeplex = self.game.sequence_form.treeplexes[self.player]
        return best_response_value(treeplex, np.abs(self.coefficients)) or 1.0

    def error(self, certificate: Certificate) -> float:
        """Return the larger of the violation and the gap, in payoff units: the gap is converted by :attr:`scale`."""
        assert certificate.gap is not None
        gap = certificate.gap / self.scale * self.game.stakes
        return max(gap, certificate.violation)

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x of ± c · x, or of minus the distance (a row at price 1), with the floor v − ε."""
        view = self.view(exact)
        floor = self.known_value(exact) - view.number(self.epsilon)
        row = self._measured
        if row is not None:
            rows = Rows((row,), view.own.num_sequences, penalty=view.number(1))
            return Saddle(view, own=rows, floor=floor, maximises=False)
        tilt = self._exact_coefficients if exact else self.coefficients
        return Saddle(view, tilt=tilt if self.maximises else -tilt, floor=floor, maximises=self.maximises)

    @property
    def _exact_coefficients(self) -> Any:
        functional: Functional = self.maximise if self.maximises else self.minimise
        coefficients = to_fractions(functional.coefficients)
        coefficients[0] += intended_fraction(functional.constant)
        return coefficients

    def _certificate(
        self, saddle: Saddle, plans: Sequence[Any], multipliers: Mapping[str, Any], dual_certificate: Mapping[str, Any]
    ) -> Certificate:
        # A distance used as the objective has multiplier 1.
        found = super()._certificate(saddle, plans, {_NEAREST: 1, **multipliers}, dual_certificate)
        least = Fraction(self._least) if isinstance(found.objective, Fraction) else self._least
        objective, lower, upper = (
            None if number is None else number + least for number in (found.objective, found.lower, found.upper)
        )
        violations = {SAFETY: found.violations[SAFETY]}
        return replace(found, objective=objective, lower=lower, upper=upper, violations=violations)
