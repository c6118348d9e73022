"""What equilibrium play leaves open: the range of a linear functional over the ε-safe strategies."""

from dataclasses import dataclass
from typing import Any

from ...models.problems import EpsilonSafeStyle
from ...seqform.functional import Functional
from ...seqform.game import Game
from ..methods import Method, find_method
from ..solution import Solution
from ..solve import solve, with_game_value


@dataclass(frozen=True, eq=False)
class StyleRange:
    """The least and the greatest that a linear functional can be, with strategies that attain them.

    Attributes
    ----------
    lowest, highest : Solution
        Of :class:`~treeplex.EpsilonSafeStyle`; their certificates prove how far the ends may be off.
    """

    lowest: Solution
    highest: Solution

    @property
    def low(self) -> float:
        """The functional at the strategy of the lower end."""
        assert self.lowest.objective is not None
        return self.lowest.objective

    @property
    def high(self) -> float:
        """The functional at the strategy of the upper end."""
        assert self.highest.objective is not None
        return self.highest.objective

    @property
    def width(self) -> float:
        """The upper end minus the lower one: how much of a style can be chosen."""
        return self.high - self.low

    def __repr__(self) -> str:
        return f"StyleRange(low={self.low + 0.0:.9g}, high={self.high + 0.0:.9g})"


def style_range(
    game: Game,
    functional: Functional | Any,
    epsilon: float = 0.0,
    *,
    player: int | None = None,
    method: str | Method = "highs-simplex",
    game_value: float | None = None,
) -> StyleRange:
    """Return the range of a linear functional over the strategies that are exploitable by ε at most.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    functional : Functional or array_like, shape (num_sequences,)
        Of one player's plan, such as :func:`~treeplex.frequency` returns, or its coefficients.
    epsilon : float
        Payoff units; with 0 the range over the equilibrium strategies.
    player : int, optional
        Whose plan; needed with coefficients alone.
    method : str or Method
        For both ends.
    game_value : float, optional
        The value of the game to the player; found if it is not given.

    Returns
    -------
    StyleRange

    Raises
    ------
    InvalidGameError, InvalidStrategyError, UnsupportedProblemError
        As for :class:`~treeplex.EpsilonSafeStyle`.
    SolverError
        If the value of the game is not found.

    Examples
    --------
    Player 0 of Kuhn poker may bluff with the jack up to a third of the time:

    >>> from treeplex import load_game, style_range
    >>> game = load_game("kuhn")
    >>> bluffs = game.sequence_form.treeplexes[0].sequence("J_", "b")
    >>> style_range(game, [float(number == bluffs) for number in range(13)], player=0)
    StyleRange(low=0, high=0.333333333)
    """
    chosen = find_method(method) if isinstance(method, str) else method
    least = EpsilonSafeStyle(game, epsilon=epsilon, minimise=functional, player=player, game_value=game_value)
    if least.game_value is None:
        least = with_game_value(least, chosen)
    most = EpsilonSafeStyle(game, epsilon=epsilon, maximise=least.minimise, game_value=least.game_value)
    return StyleRange(lowest=solve(least, chosen), highest=solve(most, chosen))
