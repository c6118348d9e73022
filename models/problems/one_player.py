"""The base class of problems about one player's strategy."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ClassVar, Self

from ...seqform.checks import check_exact_number
from ...seqform.errors import InvalidGameError
from ...seqform.game import Game
from ...seqform.rules import Number
from ..saddle import SAFETY, PlayerView, check_player_count, zero_sum_of
from .features import Feature
from .problem import Problem


@dataclass(frozen=True, eq=False)
class OnePlayerProblem(Problem):
    """A problem about one player's strategy in a two-player constant-sum game; it requires the value of the game.

    Parameters
    ----------
    game : Game
        Two players, constant-sum.
    game_value : float or Fraction, optional
        The player's value of the game; :func:`~treeplex.solve` computes it if not given.

    Notes
    -----
    Numbers may be given as floats, or exactly as ``Fraction``, ``Decimal`` or strings such as ``"1/10"``. The method
    ``rational`` converts a float to the intended fraction (:func:`~treeplex.seqform.rationals.intended_fraction`).
    """

    game: Game
    game_value: float | Fraction | None = field(default=None, kw_only=True)

    needs_game_value: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_stated_players()
        if self.game_value is not None:
            value = check_exact_number(self.game_value, f"{self.name}: game_value", InvalidGameError)
            object.__setattr__(self, "game_value", value)

    def _posed_on(self, game: Game) -> Game:
        check_player_count(self.name, game)
        return zero_sum_of(self.name, game)

    def view(self, exact: bool = False) -> PlayerView:
        """Return the game from the player's seat, in floats or in fractions."""
        assert self.player is not None
        return PlayerView(self.game, self.player, exact)

    def with_game_value(self, value: float | Fraction, slack: float = 0.0) -> Self:
        """Return the same problem with the game's value to the player filled in.

        A problem with a floor uses the payoff that a known strategy guarantees, so that the floor can be met.
        """
        lowered = slack if Feature.FLOOR in self.always_needs else 0.0
        found = replace(self, game_value=value - lowered if lowered else value)
        object.__setattr__(found, "value_error", slack + lowered)
        return found


class EpsilonSafe(OnePlayerProblem):
    """A problem about strategies that lose at most ``epsilon``, which is the bound of the constraint ``safety``."""

    def with_bound(self, name: str, bound: Number) -> Self:
        """Return the same problem with a different ε.

        Raises
        ------
        InvalidConstraintError
            If the constraint is not ``safety``.
        InvalidGameError
            If the bound is not a number of at least 0.
        """
        if name != SAFETY:
            self._refuse_bound(name, [SAFETY])
        return replace(self, epsilon=bound)  # type: ignore[call-arg]
