"""The base class of problems about one player's strategy, and the check of their numbers."""

from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from ...seqform.errors import InvalidGameError, shown
from ...seqform.game import Game
from ...seqform.rules import Number
from ..saddle import SAFETY, PlayerView, check_two_players
from .features import Feature
from .problem import Problem


@dataclass(frozen=True, eq=False)
class OnePlayerProblem(Problem):
    """A problem about one player's strategy in a zero-sum game of two, for which the value of the game is needed.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    game_value : float or Fraction, optional
        The value of the game to the player; :func:`~treeplex.solve` finds it if not given.

    Notes
    -----
    Numbers may be given as floats, or exactly as ``Fraction``, ``Decimal`` or text such as ``"1/10"``. The method
    ``rational`` takes a float as the fraction that was meant (:func:`~treeplex.seqform.rationals.intended_fraction`).
    """

    game: Game
    game_value: float | Fraction | None = field(default=None, kw_only=True)

    needs_game_value: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_two_players(self.name, self.game)
        if self.game_value is not None:
            object.__setattr__(self, "game_value", checked_number(self.name, "game_value", self.game_value))

    def view(self, exact: bool = False) -> PlayerView:
        """Return the game from the player's seat, in floats or in fractions."""
        assert self.player is not None
        return PlayerView(self.game, self.player, exact)

    def with_game_value(self, value: float | Fraction, slack: float = 0.0) -> Self:
        """Return the same problem with the value of the game to the player filled in.

        One with a floor takes what a strategy is known to guarantee, so that the floor can be met.
        """
        return replace(self, game_value=value - slack if slack and Feature.FLOOR in self.always_needs else value)


class EpsilonSafe(OnePlayerProblem):
    """A problem about strategies that lose at most ε, in a field ``epsilon``: the bound of a constraint ``safety``."""

    def with_bound(self, name: str, bound: Number) -> Self:
        """Return the same problem with another ε.

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


def checked_number(
    problem: str, name: str, value: Any, least: float = -np.inf, most: float = np.inf
) -> float | Fraction:
    """Return a parameter as a float, or as a fraction if it was given exactly; or refuse it."""
    expected = "a finite number" if least == -np.inf else f"a number of at least {least:g}"
    if most < np.inf:
        expected = f"a number from {least:g} to {most:g}"
    try:
        number = _read_number(value)
        sound = bool(least <= number <= most and np.isfinite(float(number)))
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        sound = False
    if not sound:
        raise InvalidGameError(f"{problem}: {name} is {shown(value)}, expected {expected}")
    return number


def _read_number(value: Any) -> float | Fraction:
    if isinstance(value, str):
        if len(value) > 10_000:
            raise ValueError("it is too long")
        value = Fraction(value) if "/" in value else Decimal(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > 400:
        raise OverflowError("as a fraction it has more digits than memory")
    if isinstance(value, Decimal | Fraction):
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("it is no number")
    return float(value)
