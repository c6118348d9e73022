"""Linear functionals of a player's plan: risks, frequencies, and whatever else a game names."""

from dataclasses import dataclass

import numpy as np

from .errors import InvalidStrategyError
from .polytope import Floats
from .strategy import Strategy


@dataclass(frozen=True, eq=False)
class Functional:
    """A number that is linear in one player's realization plan: constant + coefficients · x.

    Attributes
    ----------
    player : int
        Whose plan it is a function of.
    coefficients : ndarray of float64, shape (num_sequences,)
    description : str
        What the number says, in a few words.
    constant : float

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

    def value(self, strategy: Strategy) -> float:
        """Return the number at a strategy.

        Raises
        ------
        InvalidStrategyError
            If the strategy is of another player, or of a game with another number of sequences.
        """
        if strategy.player != self.player or strategy.plan.shape != np.shape(self.coefficients):
            raise InvalidStrategyError(
                f"received a strategy of player {strategy.player} with {len(strategy.plan)} sequences, expected one of "
                f"player {self.player} with {len(self.coefficients)}"
            )
        return float(self.constant + self.coefficients @ strategy.plan)
