"""Linear functionals of a player's plan: risks, frequencies, and whatever else a game names."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Floats
from .errors import InvalidGameError, InvalidStrategyError, one_line, shown
from .strategy import Profile, Strategy


@dataclass(frozen=True, eq=False)
class Functional:
    """A number that is linear in one player's realization plan: constant + coefficients · x.

    Attributes
    ----------
    player : int
        Whose plan it is a function of.
    coefficients : ndarray of float64, shape (num_sequences,)
        A read-only copy of what is given.
    description : str
        What the number says, in a few words.
    constant : float
    fingerprint : str, optional
        Of the game; without it, strategies of other games with as many sequences are taken too.

    Raises
    ------
    InvalidGameError
        If the coefficients are no vector of finite numbers.

    Examples
    --------
    The risk of the transit game's patroller, who walks at random:

    >>> from treeplex import Strategy, load_game
    >>> game = load_game("transit:width=2,horizon=3")
    >>> risk = game.functionals["risk"]
    >>> risk.description
    'probability that the patroller is away from the base at the end'
    >>> round(risk.value(Strategy.uniform(game, risk.player)), 6)
    0.824583
    """

    player: int
    coefficients: Floats
    description: str
    constant: float = 0.0
    fingerprint: str | None = None

    def __post_init__(self) -> None:
        try:
            vector = np.array(self.coefficients, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidGameError(f"{self._named} are no vector of numbers: {one_line(str(error))}") from None
        if vector.ndim != 1 or not np.isfinite(vector).all():
            raise InvalidGameError(
                f"{self._named} have shape {vector.shape}, or are not finite: a vector of finite numbers is needed"
            )
        vector.flags.writeable = False
        object.__setattr__(self, "coefficients", vector)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.coefficients.flags.writeable = False  # stored arrays come back writeable

    @property
    def _named(self) -> str:
        return f"the coefficients of the functional {shown(self.description)}"

    def value(self, strategy: Strategy | Profile) -> float:
        """Return the number at a strategy, or at the player's strategy in a profile.

        Raises
        ------
        InvalidStrategyError
            If it is no strategy, or one of another player or game.
        """
        if isinstance(strategy, Profile) and self.player < len(strategy):
            strategy = strategy[self.player]
        if not isinstance(strategy, Strategy):
            raise InvalidStrategyError(f"received {shown(strategy)}, expected a Strategy of player {self.player}")
        if strategy.player != self.player or strategy.plan.shape != self.coefficients.shape:
            raise InvalidStrategyError(
                f"received a strategy of player {strategy.player} with {len(strategy.plan)} sequences, expected one of "
                f"player {self.player} with {len(self.coefficients)}"
            )
        if self.fingerprint not in (None, strategy.fingerprint):
            raise InvalidStrategyError(
                f"the strategy of player {strategy.player} is of another game ({strategy.game_name}): its fingerprint "
                f"is {strategy.fingerprint}, expected {self.fingerprint}"
            )
        return float(self.constant + self.coefficients @ strategy.plan)
