"""The equilibrium strategy that earns most against a model of the opponent."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from ...seqform.errors import UnsupportedProblemError
from .one_player import checked_number
from .responses import EpsilonSafeResponse


@dataclass(frozen=True, eq=False)
class BestNash(EpsilonSafeResponse):
    """Of a player's equilibrium strategies one that earns the most against a model of the opponent.

    max over x of xᵀ M ŷ such that min over y of xᵀ M y ≥ v − slack, with v the value of the game.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    opponent : Strategy
        The model ŷ.
    game_value : float, optional
        v, the value of the game to the player who responds; found if it is not given.
    slack : float
        By how much less than v the strategy may guarantee, in payoff units. Given with ``game_value``; where
        :func:`~treeplex.solve` finds that, it finds this too.

    Raises
    ------
    InvalidGameError
        If it is no game, or the slack is no number of at least 0.
    InvalidStrategyError
        If the opponent is no strategy of the game.
    UnsupportedProblemError
        If the game is not zero-sum, or not of two players.

    Notes
    -----
    Two stages. The first is the linear program of :class:`~treeplex.Nash` by the simplex method, which gives v and a
    strategy that guarantees v but for round-off, near 1e-16 of the payoffs. The second is that of
    :class:`~treeplex.EpsilonSafeResponse`, with that shortfall for ε: so the first stage's strategy is among those to
    choose from, and the program is feasible. The shortfall is reported as ``solution.slack``. It matters because the
    gain may grow by thousands of units per unit of slack: that number is the multiplier ``safety``.

    The baseline "best Nash equilibrium" of D. Milec, O. Kubíček, V. Lisý, "Continual depth-limited responses for
    computing counter-strategies in sequential games", 2024 (arXiv:2112.12594).

    Examples
    --------
    What player 0 of Kuhn poker earns against uniform play:

    >>> from treeplex import BestNash, Strategy, load_game, solve
    >>> game = load_game("kuhn")
    >>> solution = solve(BestNash(game, Strategy.uniform(game, 1)))
    >>> round(solution.objective, 9), round(solution.gain, 9), solution.slack < 1e-15
    (0.166666667, 0.222222222, True)
    """

    # What the second stage allows is the slack, and no parameter.
    epsilon: float = field(init=False, default=0.0)
    slack: float = field(default=0.0, kw_only=True)

    name: ClassVar[str] = "best-nash"
    #: How the first stage is solved, and the second by default: at a vertex a strategy guarantees the value to the last
    #: digits.
    preferred_method: ClassVar[str] = "highs-simplex"

    def __post_init__(self) -> None:
        slack = checked_number(self.name, "slack", self.slack, 0.0)
        object.__setattr__(self, "slack", slack)
        object.__setattr__(self, "epsilon", slack)
        super().__post_init__()

    def with_bound(self, name: str, bound: Any) -> "BestNash":
        """Refuse: what the strategy may lose is round-off alone.

        Raises
        ------
        UnsupportedProblemError
        """
        raise UnsupportedProblemError(
            f"{self.name} has no bound to move: what its strategy may lose is round-off alone; use epsilon-safe"
        )

    def with_game_value(self, value: Any, slack: float = 0.0) -> "BestNash":
        """Return the same problem, the first stage's results filled in.

        Parameters
        ----------
        value : number
            The value of the game to the player who responds.
        slack : float
            By how much less the first stage's strategy guarantees.
        """
        return replace(self, game_value=value, slack=max(slack, self.slack))
