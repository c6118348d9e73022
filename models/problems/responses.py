"""Responses to a model of the opponent: best responses, restricted Nash responses, safe responses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

from ...seqform.arrays import Floats
from ...seqform.checks import check_choice, check_exact_number
from ...seqform.errors import (
    InvalidConstraintError,
    InvalidGameError,
    InvalidStrategyError,
    UnsupportedProblemError,
    shown,
)
from ...seqform.strategy import Profile, Strategy, check_same_game
from ..constraints import Constraint, collect_constraints
from ..declarations import Confidence, Epsilon, Opponent
from ..saddle import SAFETY, PlayerView, Rows, Saddle
from .certificate import Certificate
from .constrained import in_few_words
from .features import REFINEMENTS, Feature, Refine
from .one_player import EpsilonSafe, OnePlayerProblem
from .problem import SaddleProblem
from .robust import PartlyFree


@dataclass(frozen=True, eq=False)
class ResponseProblem(OnePlayerProblem):
    """Base class of problems about a model of the opponent.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponent : Strategy, or iterable of constraints
        The model; the other player responds to it. Constraints on one player's plan represent all of its strategies
        that meet them: the opponent then plays the worst of these. The payoff against the model is therefore a minimum,
        which the certificate proves.
    game_value : float or Fraction, optional
        The responder's value of the game; :func:`~treeplex.solve` computes it if not given.
    """

    opponent: Opponent  # a Strategy, or a tuple of Constraint after they have been collected
    #: Whether constraints are allowed as the model.
    takes_constraints: ClassVar[bool] = False
    #: The features that such a problem then needs instead of ``always_needs``.
    needs_with_constraints: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.CONSTRAINTS})

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.opponent, Strategy):
            check_same_game(self.opponent, self.given_game)
            return
        expected = "a Strategy as the opponent" + ", or constraints on one player's plan" * self.takes_constraints
        given: Any = self.opponent
        if (
            not self.takes_constraints
            or not isinstance(given, Constraint | Mapping | Sequence)
            or isinstance(given, str | Profile)
        ):
            from ...seqform.names import how_to_write

            raise InvalidStrategyError(f"{self.name}: expected {expected}, got {shown(given)}{how_to_write(given)}")
        collected = collect_constraints(given, self.game)
        if len({one.player for one in collected}) != 1:
            received = "those of both players" if collected else "none"
            raise InvalidConstraintError(f"{self.name}: expected {expected}, got {received}")
        object.__setattr__(self, "opponent", collected)

    @property
    def constraints(self) -> tuple[Constraint, ...]:  # type: ignore[override]
        """The constraints that represent the opponent; none if there is a model."""
        return () if isinstance(self.opponent, Strategy) else self.opponent

    @property
    def player(self) -> int:  # type: ignore[override]
        """The responder."""
        return 1 - int((self.opponent if isinstance(self.opponent, Strategy) else self.opponent[0]).player)

    @property
    def model(self) -> Strategy | None:  # type: ignore[override]
        """The model of the opponent; ``None`` if constraints represent it."""
        return self.opponent if isinstance(self.opponent, Strategy) else None

    @property
    def needs(self) -> frozenset[str]:
        """The features of a method that this problem needs."""
        if not self.constraints:
            return super().needs
        return self.needs_with_constraints | (frozenset() if self.is_linear else frozenset({Feature.CONVEX}))

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return "against the worst opponent who keeps to the constraints" if self.constraints else "against the model"

    @property
    def followed(self) -> str:
        """The opponent's behaviour in words: it follows the model, or it meets constraints."""
        return f"keeps to {in_few_words(self.constraints)}" if self.constraints else "follows the model"

    @property
    def opposed(self) -> str:
        """The opponent of the response, in words."""
        other = f"player {1 - self.player}"
        return f"the worst {other} who {self.followed}" if self.constraints else f"the model of {other}"

    def earned(self, objective: Any, worst: Any) -> Any:
        """Return the payoff that the response is proven to earn against opponents who meet the constraints.

        Parameters
        ----------
        objective : number
            The certificate's lower bound on the objective.
        worst : number
            The response's guaranteed payoff.
        """
        return objective if self.constraints else None

    def _limits(self, view: PlayerView) -> Rows | None:
        """Return the rows on the opponent's plan, if constraints represent the opponent."""
        return Rows(self.constraints, view.other.num_sequences) if self.constraints else None


@dataclass(frozen=True, eq=False)
class BestResponse(ResponseProblem, SaddleProblem):
    """A best response to a model of the opponent: max over x of xᵀ M ŷ.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponent : Strategy, or iterable of constraints
        ŷ, or the constraints that it meets: then ŷ is the worst plan that meets them.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If the arguments are not a Game and a Strategy of it.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players.

    Examples
    --------
    >>> from treeplex import BestResponse, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(BestResponse(game, Strategy.uniform(game, 1)))
    >>> round(solution.objective, 9), round(solution.gain, 9)
    (0.5, 0.555555556)
    """

    name: ClassVar[str] = "best-response"
    question: ClassVar[str] = "Which strategy of player {player} earns most against {problem.opposed}?"
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.ALONE})
    takes_constraints: ClassVar[bool] = True

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x of x · M ŷ, or max over x, min over ŷ of xᵀ M ŷ under rows on ŷ."""
        view = self.view(exact)
        if self.constraints:
            return Saddle(view, weight=view.number(1), other=self._limits(view))
        model = view.plan_of(self.opponent)
        return Saddle(view, tilt=view.own_gradient(model), model=model)

    def gain_line(self, certificate: Certificate, multipliers: Mapping[str, float]) -> tuple[float, float] | None:
        """Return the horizontal line at the upper bound: no strategy gains more, even if it may lose more."""
        return _line(certificate, 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class RestrictedNash(ResponseProblem, SaddleProblem):
    """A restricted Nash response: the opponent plays a model with probability p, and is free otherwise.

    max over x of p xᵀ M ŷ + (1 − p) min over y of xᵀ M y. With p = 0 it is an equilibrium strategy, and with p = 1 a
    best response to the model.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponent : Strategy, or iterable of constraints
        The model ŷ, or constraints on one player's plan: then ŷ is the worst plan that meets them.
    p : float
        From 0 to 1.
    game_value : float, optional
        The responder's value of the game, for gain and exploitability; computed if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or p is not a number from 0 to 1.
    InvalidStrategyError
        If the opponent is not a Strategy of the game.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players.

    Notes
    -----
    M. Johanson, M. Zinkevich, M. Bowling, "Computing robust counter-strategies", NIPS 2007. The modified game needs no
    copy of the tree: the linear program is max p (M ŷ) · x + (1 − p) f · q such that E x = e, x ≥ 0, Fᵀ q ≤ Mᵀ x, and
    the multipliers of the last rows are 1 − p times the free opponent's plan y. Any y proves the upper bound max over x
    of xᵀ M (p ŷ + (1 − p) y). For p < 1 the exploitability of an optimal response is at most p / (1 − p) times the
    gain; with a proven gap, add gap / (1 − p).

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
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most if player {other} {problem.followed} with probability "
        "{problem.p}, and otherwise plays optimally?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.TILT})
    takes_constraints: ClassVar[bool] = True
    needs_with_constraints: ClassVar[frozenset[str]] = frozenset(
        {Feature.PROGRAM, Feature.CONSTRAINTS, Feature.REPLIES}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        curved = [one.name for one in self.constraints if not one.function.is_affine]
        if curved:
            raise UnsupportedProblemError(
                f"{self.name} accepts only linear constraints on the opponent, but {shown(curved[0])} is not linear; "
                "best-response and epsilon-safe accept it"
            )

    @cached_property
    def replies(self) -> PartlyFree:
        """The replies that the response is optimised against, if constraints represent the opponent."""
        plans = self.game.sequence_form.treeplexes[1 - self.player]
        return PartlyFree.of(plans, plans, None, self.p)

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x of p x · M ŷ + (1 − p) min over y of xᵀ M y, or the same with min over ŷ under rows on it.

        The opponent's two decisions, ŷ and y, are combined in one plan z, whose image is p ŷ + (1 − p) y. Constraints
        on ŷ become constraints on z, whose first sequences are those of ŷ.
        """
        view = self.view(exact)
        if self.constraints:
            seen = replace(view, replies=self.replies)
            return Saddle(seen, weight=view.number(1), other=self._limits(seen))
        p, model = view.number(self.p), view.plan_of(self.opponent)
        return Saddle(view, tilt=p * view.own_gradient(model), weight=1 - p, model=model)

    def earned(self, objective: Any, worst: Any) -> Any:
        """Return the part of the objective earned against opponents who meet the constraints; ``None`` with p = 0."""
        if not self.constraints or not self.p:
            return None
        return (objective - (1 - self.p) * worst) / self.p

    @property
    def meaning(self) -> str:
        """The meaning of the objective."""
        return f"{super().meaning} with probability {self.p}, otherwise in the worst case"

    def safety_bound(
        self, certificate: Certificate, dual_certificate: Mapping[str, Floats] | None = None
    ) -> float | None:
        """Return an upper bound on exploitability: (p times the gain + the gap) / (1 − p); ``None`` with p = 1."""
        return None if certificate.gap is None else most_loss(self.p, certificate, certificate.gap)

    def gain_line(self, certificate: Certificate, multipliers: Mapping[str, float]) -> tuple[float, float] | None:
        """Return the line of slope (1 − p) / p at the upper bound; ``None`` with p = 0."""
        return _line(certificate, float(self.p), 1.0 - float(self.p))


@dataclass(frozen=True, eq=False)
class EpsilonSafeResponse(ResponseProblem, EpsilonSafe, SaddleProblem):
    """The best response to a model of the opponent among strategies that are exploitable by at most ε.

    max over x of xᵀ M ŷ such that min over y of xᵀ M y ≥ v − ε, with v the value of the game.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponent : Strategy, or iterable of constraints
        The model ŷ, or constraints on one player's plan: then ŷ is the worst plan that meets them.
    epsilon : float
        Payoff units, at least 0.
    game_value : float, optional
        v, the responder's value of the game; computed if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or epsilon is not a number of at least 0.
    InvalidStrategyError
        If the opponent is not a Strategy of the game.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players.

    Notes
    -----
    The multiplier κ of the bound, ``safety``, is the gain per unit of ε, and κ = (1 − p) / p if the response is also
    the restricted Nash response for p. With the free opponent's plan y it proves the upper bound max over x of xᵀ M (ŷ
    + κ y) − κ (v − ε). Close to ε = 0, κ can be in the thousands, and an error in v is multiplied by κ. P. McCracken,
    M. Bowling, "Safe strategies for agent modelling in games", AAAI Fall Symposium 2004.

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
    question: ClassVar[str] = (
        "Which strategy of player {player} earns most against {problem.opposed}, of those that lose at most "
        "{problem.epsilon} to any opponent?"
    )
    always_needs: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.FLOOR})
    takes_constraints: ClassVar[bool] = True
    needs_with_constraints: ClassVar[frozenset[str]] = frozenset({Feature.PROGRAM, Feature.CONSTRAINTS, Feature.FLOOR})

    @property
    def floor(self) -> float:
        """The payoff that the response must guarantee: v − ε.

        Raises
        ------
        UnsupportedProblemError
            If the value of the game is not known yet.
        """
        return float(self.known_value() - float(self.epsilon))

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x of x · M ŷ, or of its minimum over ŷ under rows on it, with the floor v − ε."""
        view = self.view(exact)
        floor = self.known_value(exact) - view.number(self.epsilon)
        if self.constraints:
            return Saddle(view, weight=view.number(1), other=self._limits(view), floor=floor)
        model = view.plan_of(self.opponent)
        return Saddle(view, tilt=view.own_gradient(model), floor=floor, model=model)

    def gain_line(self, certificate: Certificate, multipliers: Mapping[str, float]) -> tuple[float, float] | None:
        """Return the line through the upper bound at ε with the multiplier as its slope."""
        price = multipliers.get(SAFETY)
        return None if price is None else _line(certificate, 1.0, price, price * float(self.epsilon))


@dataclass(frozen=True, eq=False)
class BestNash(EpsilonSafeResponse):
    """An equilibrium strategy that earns the most against a model of the opponent.

    max over x of xᵀ M ŷ such that min over y of xᵀ M y ≥ v − slack, with v the value of the game.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    opponent : Strategy, or iterable of constraints
        The model ŷ, or constraints on one player's plan: then ŷ is the worst plan that meets them.
    game_value : float, optional
        v, the responder's value of the game; computed if not given.
    slack : float
        How far below v the guaranteed payoff may lie, in payoff units. Give it together with ``game_value``; if
        :func:`~treeplex.solve` computes one, it computes the other too.
    refine : {"undominated", "quasi-perfect", "proper"}, optional
        Only consider equilibria of :class:`~treeplex.Nash` with this refinement, computed in fractions, that the
        perturbed game of :doc:`/theory/refinements` has. The opponent must be a model. The gap of the certificate is
        what the refinement costs against the model.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or the slack is not a number of at least 0.
    InvalidStrategyError
        If the opponent is not a Strategy of the game.
    UnsupportedProblemError
        If the game is not constant-sum, or does not have two players.

    Notes
    -----
    There are two stages. The first is the linear program of :class:`~treeplex.Nash` by the simplex method, which gives
    v and a strategy that guarantees v up to round-off, near 1e-16 of the payoffs. The second is that of
    :class:`~treeplex.EpsilonSafeResponse` with that shortfall as ε: the first stage's strategy is then feasible. The
    shortfall is reported as ``solution.slack``. It matters because the gain may grow by thousands of units per unit of
    slack; this rate is the multiplier ``safety``.

    The baseline "best Nash equilibrium" of D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for
    computing counter-strategies in sequential games", 2021 (arXiv:2112.12594).

    Examples
    --------
    Player 0's payoff in Kuhn poker against uniform play:

    >>> from treeplex import BestNash, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(BestNash(game, Strategy.uniform(game, 1)))
    >>> round(solution.objective, 9), round(solution.gain, 9), solution.slack < 1e-15
    (0.166666667, 0.222222222, True)
    """

    # The second stage only allows the slack, so ε is not a parameter.
    epsilon: float = field(init=False, default=0.0)
    slack: float = field(default=0.0, kw_only=True)
    refine: Refine = field(default=None, kw_only=True)

    name: ClassVar[str] = "best-nash"
    question: ClassVar[str] = "Which equilibrium strategy of player {player} earns most against {problem.opposed}?"
    value_method: ClassVar[str] = "highs-simplex"

    def __post_init__(self) -> None:
        slack = check_exact_number(self.slack, f"{self.name}: slack", InvalidGameError, "[0, inf)")
        object.__setattr__(self, "slack", slack)
        object.__setattr__(self, "epsilon", slack)
        super().__post_init__()
        check_choice(self.refine, f"{self.name}: refine", UnsupportedProblemError, (*REFINEMENTS, None))
        if self.refine is not None and (self.slack or self.model is None):
            received = "slack" if self.slack else "constraints on the opponent"
            raise UnsupportedProblemError(f"{self.name}: refine={self.refine} needs a model, got {received}")

    def check_game(self) -> None:
        """Reject a refinement if plans are flows."""
        if self.refine is not None:
            from .refined import check_realization_plans

            check_realization_plans(f"{self.name} with refine={self.refine}", self.game)

    @property
    def needs(self) -> frozenset[str]:
        """The features that this problem needs from a method."""
        return super().needs if self.refine is None else frozenset({Feature.REFINED})

    @property
    def usual_method(self) -> str:  # type: ignore[override]
        """The default method: simplex in both stages, since a vertex guarantees the value up to round-off."""
        return "highs-simplex" if self.refine is None else "rational"

    @property
    def error_proves(self) -> bool:  # type: ignore[override]
        """Whether an error of 0 proves optimality: not among refined strategies."""
        return self.refine is None

    def error(self, certificate: Certificate) -> float:
        """Return the larger of gap and violation; of a refined strategy, the possible loss of the game's value."""
        if self.refine is None:
            return super().error(certificate)
        return max(certificate.exploitability, certificate.violation)

    def with_bound(self, name: str, bound: Any) -> "BestNash":
        """Raise an error: the strategy may lose nothing beyond round-off.

        Raises
        ------
        UnsupportedProblemError
        """
        raise UnsupportedProblemError(
            f"{self.name} has no bound to change: its strategy may lose nothing beyond round-off; use epsilon-safe"
        )

    def with_game_value(self, value: Any, slack: float = 0.0) -> "BestNash":
        """Return the same problem with the first stage's results filled in.

        Parameters
        ----------
        value : number
            The responder's value of the game.
        slack : float
            Amount by which the first stage's strategy guarantees less.
        """
        return replace(self, game_value=value, slack=max(slack, self.slack))


def _line(certificate: Certificate, weight: float, loss: float, allowed: float = 0.0) -> tuple[float, float] | None:
    """Return the line weight × gain − loss × (a strategy's possible loss) + allowed = upper bound − game value."""
    if certificate.upper is None or certificate.game_value is None or not weight:
        return None
    return (float(certificate.upper) - float(certificate.game_value) - allowed) / weight, loss / weight


def most_loss(p: Any, certificate: Certificate, gap: float) -> float | None:
    """Return an upper bound on a response's exploitability, if p × gain − (1 − p) × exploitability is at least −gap.

    Parameters
    ----------
    p : number
    certificate : Certificate
    gap : float
        By how much the response may be worse than an equilibrium strategy if the opponent is a model with probability
        p, and free otherwise.

    Returns
    -------
    float or None
        ``None`` with p = 1, or if the gain is not known.
    """
    if p == 1 or certificate.gain is None:
        return None
    return (float(p) * certificate.gain + gap) / (1.0 - float(p))
