"""Responses to a model of the opponent: best responses, restricted Nash responses, safe responses."""

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

from ...seqform.errors import InvalidStrategyError, UnsupportedProblemError, shown
from ...seqform.rules import Number
from ...seqform.strategy import Strategy, check_same_game
from ..declarations import WORDS, Confidence, Epsilon
from ..saddle import SAFETY, Saddle
from .features import Feature
from .one_player import OnePlayerProblem, checked_number
from .problem import SaddleProblem


@dataclass(frozen=True, eq=False)
class ResponseProblem(OnePlayerProblem):
    """Base class of problems about a model of the opponent.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model; the other player responds to it.
    game_value : float or Fraction, optional
        The value of the game to the player who responds; :func:`~treeplex.solve` finds it if not given.
    """

    opponent: Annotated[Strategy, WORDS["opponent"]]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.opponent, Strategy):
            raise InvalidStrategyError(f"{self.name}: expected a Strategy as the opponent, got {shown(self.opponent)}")
        check_same_game(self.opponent, self.game)

    @property
    def player(self) -> int:  # type: ignore[override]
        """The player who responds."""
        return 1 - self.opponent.player

    @property
    def model(self) -> Strategy:  # type: ignore[override]
        """The model of the opponent."""
        return self.opponent


@dataclass(frozen=True, eq=False)
class BestResponse(ResponseProblem, SaddleProblem):
    """A best response to a model of the opponent: max over x of xᵀ M ŷ.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        ŷ.
    game_value : float, optional
        The value of the game to the player who responds, for gain and exploitability; found if not given.

    Raises
    ------
    InvalidGameError, InvalidStrategyError
        If they are not a Game and a Strategy of it.
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
    always_needs: ClassVar[frozenset[Feature]] = frozenset({Feature.PROGRAM, Feature.ALONE})

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x of x · M ŷ."""
        view = self.view(exact)
        model = view.plan_of(self.opponent)
        return Saddle(view, tilt=view.own_gradient(model), model=model)


@dataclass(frozen=True, eq=False)
class RestrictedNash(ResponseProblem, SaddleProblem):
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
        The value of the game to the player who responds, for gain and exploitability; found if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or p is not a number from 0 to 1.
    InvalidStrategyError
        If the opponent is not a Strategy of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

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
    always_needs: ClassVar[frozenset[Feature]] = frozenset({Feature.PROGRAM, Feature.TILT})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "p", checked_number(self.name, "p", self.p, 0.0, 1.0))

    def saddle(self, exact: bool = False) -> Saddle:
        """Return max over x of p x · M ŷ + (1 − p) min over y of xᵀ M y."""
        view = self.view(exact)
        p, model = view.number(self.p), view.plan_of(self.opponent)
        return Saddle(view, tilt=p * view.own_gradient(model), weight=1 - p, model=model)


@dataclass(frozen=True, eq=False)
class EpsilonSafeResponse(ResponseProblem, SaddleProblem):
    """The best response to a model of the opponent among strategies that are exploitable by at most ε.

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
        v, the value of the game to the player who responds; found if not given.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or epsilon is not a number of at least 0.
    InvalidStrategyError
        If the opponent is not a Strategy of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    The multiplier κ of the bound, ``safety``, is the gain per unit of ε, and κ = (1 − p) / p if the response is also
    the restricted Nash response for p. With the free opponent's plan y it proves the upper bound
    max over x of xᵀ M (ŷ + κ y) − κ (v − ε). Close to ε = 0 κ can be in the thousands: an error in v is then
    multiplied by κ. P. McCracken, M. Bowling, "Safe strategies for agent modelling in games", AAAI Fall Symposium 2004.

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
    always_needs: ClassVar[frozenset[Feature]] = frozenset({Feature.PROGRAM, Feature.FLOOR})

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "epsilon", checked_number(self.name, "epsilon", self.epsilon, 0.0))

    def with_bound(self, name: str, bound: Number) -> "EpsilonSafeResponse":
        """Return the same problem with another ε, the bound of its one constraint, ``safety``.

        Raises
        ------
        InvalidConstraintError
            If the constraint has another name.
        InvalidGameError
            If the bound is not a number of at least 0.
        """
        if name != SAFETY:
            self._refuse_bound(name, [SAFETY])
        return replace(self, epsilon=bound)  # type: ignore[arg-type]

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
        """Return max over x of x · M ŷ with the floor v − ε."""
        view = self.view(exact)
        model = view.plan_of(self.opponent)
        floor = self.known_value(exact) - view.number(self.epsilon)
        return Saddle(view, tilt=view.own_gradient(model), floor=floor, model=model)


@dataclass(frozen=True, eq=False)
class BestNash(EpsilonSafeResponse):
    """An equilibrium strategy that earns the most against a model of the opponent.

    max over x of xᵀ M ŷ such that min over y of xᵀ M y ≥ v − slack, with v the value of the game.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model ŷ.
    game_value : float, optional
        v, the value of the game to the player who responds; found if not given.
    slack : float
        How far below v the guaranteed payoff may lie, in payoff units. Give it together with ``game_value``; if
        :func:`~treeplex.solve` finds the one, it finds the other too.

    Raises
    ------
    InvalidGameError
        If it is not a Game, or the slack is not a number of at least 0.
    InvalidStrategyError
        If the opponent is not a Strategy of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    Two stages. The first is the linear program of :class:`~treeplex.Nash` by the simplex method, which gives v and a
    strategy that guarantees v up to round-off, near 1e-16 of the payoffs. The second is that of
    :class:`~treeplex.EpsilonSafeResponse` with that shortfall as ε: the first stage's strategy is then
    feasible. The shortfall is reported as ``solution.slack``. It matters because the gain may grow by thousands of
    units per unit of slack: that number is the multiplier ``safety``.

    The baseline "best Nash equilibrium" of D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for
    computing counter-strategies in sequential games", 2021 (arXiv:2112.12594).

    Examples
    --------
    What player 0 of Kuhn poker earns against uniform play:

    >>> from treeplex import BestNash, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(BestNash(game, Strategy.uniform(game, 1)))
    >>> round(solution.objective, 9), round(solution.gain, 9), solution.slack < 1e-15
    (0.166666667, 0.222222222, True)
    """

    # The second stage allows the slack alone, so ε is not a parameter.
    epsilon: float = field(init=False, default=0.0)
    slack: float = field(default=0.0, kw_only=True)

    name: ClassVar[str] = "best-nash"
    value_method: ClassVar[str] = "highs-simplex"

    @property
    def default_method(self) -> str:
        """Simplex, as for the first stage: at a vertex a strategy guarantees the value to the last digits."""
        return self.value_method

    def __post_init__(self) -> None:
        slack = checked_number(self.name, "slack", self.slack, 0.0)
        object.__setattr__(self, "slack", slack)
        object.__setattr__(self, "epsilon", slack)
        super().__post_init__()

    def with_bound(self, name: str, bound: Any) -> "BestNash":
        """Refuse: the strategy may lose nothing but round-off.

        Raises
        ------
        UnsupportedProblemError
        """
        raise UnsupportedProblemError(
            f"{self.name} has no bound to move: its strategy may lose nothing but round-off; use epsilon-safe"
        )

    def with_game_value(self, value: Any, slack: float = 0.0) -> "BestNash":
        """Return the same problem with the first stage's results filled in.

        Parameters
        ----------
        value : number
            The value of the game to the player who responds.
        slack : float
            How far below it the first stage's strategy guarantees.
        """
        return replace(self, game_value=value, slack=max(slack, self.slack))
