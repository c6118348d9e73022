"""What problems about one player's strategy have in common: a seat, and the value of the game to it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from ...seqform.arrays import Floats
from ...seqform.errors import InvalidGameError, UnsupportedProblemError, shown
from ...seqform.game import Game
from ...seqform.rationals import Fractions, intended_fraction
from ...seqform.strategy import Profile
from ..programs.linear_program import LinearProgram
from ..programs.program_blocks import ProgramBlocks
from ..programs.rational_program import RationalProgram
from .problem import Answer, Certificate
from .side import Side, check_two_players


@dataclass(frozen=True, eq=False)
class OnePlayerProblem(ABC):
    """A problem about one player's strategy in a zero-sum game of two, for which the value of the game is needed.

    A program, the reading of its solution and a certificate are written once, in the numbers of a
    :class:`~treeplex.models.problems.side.Side`: floats, or fractions for the method ``rational``.

    Parameters
    ----------
    game : Game
        Two players, zero-sum.
    game_value : float or Fraction, optional
        The value of the game to the player; :func:`~treeplex.solve` finds it if it is not given.

    Notes
    -----
    Numbers may be given as floats, or exactly as ``Fraction``, ``Decimal`` or text such as ``"1/10"``. The method
    ``rational`` takes a float as what it was meant to be (:func:`~treeplex.seqform.rationals.intended_fraction`).
    """

    game: Game
    game_value: float | Fraction | None = field(default=None, kw_only=True)

    name: ClassVar[str]

    def __post_init__(self) -> None:
        if not isinstance(self.game, Game):
            raise InvalidGameError(f"{self.name} needs a Game, received {shown(self.game)}")
        check_two_players(self.name, self.game)
        if self.game_value is not None:
            object.__setattr__(self, "game_value", checked_number(self.name, "game_value", self.game_value))

    @property
    @abstractmethod
    def player(self) -> int:
        """Whose strategy it is about."""

    @cached_property
    def side(self) -> Side:
        """The game from the player's seat."""
        return Side(self.game, self.player)

    @cached_property
    def exact_side(self) -> Side:
        """The same in exact fractions."""
        return Side(self.game, self.player, exact=True)

    @property
    def maximises(self) -> bool:
        """Whether the objective is to be large."""
        return True

    def known_value(self, exact: bool = False) -> Any:
        """Return the value of the game to the player, as a float or as a fraction.

        Raises
        ------
        UnsupportedProblemError
            If it is not known yet.
        """
        if self.game_value is None:
            raise UnsupportedProblemError(
                f"{self.name} needs game_value, the value of the game to player {self.player}: solve(…) finds it"
            )
        return intended_fraction(self.game_value) if exact else float(self.game_value)

    def with_game_value(self, value: float | Fraction) -> Self:
        """Return the same problem, the value of the game to the player filled in."""
        return replace(self, game_value=value)

    def error(self, certificate: Certificate) -> float:
        """Return the larger of the gap and the violation: a tolerance bounds it."""
        assert certificate.gap is not None
        return max(certificate.gap, certificate.violation)

    def linear_program(self) -> LinearProgram:
        """Return the exact formulation as a sparse linear program."""
        return self._blocks(self.side).program(maximise=self.maximises)

    def rational_program(self) -> RationalProgram:
        """Return the program of :meth:`linear_program` in exact fractions, in payoff units."""
        return self._blocks(self.exact_side).rational_program(maximise=self.maximises)

    @abstractmethod
    def _blocks(self, side: Side) -> ProgramBlocks:
        """Write the program in the numbers of a side."""

    def read_linear_program(self, primal: Mapping[str, Floats], dual: Mapping[str, Floats]) -> Answer:
        """Return plans, multipliers and evidence from the solution of :meth:`linear_program`."""
        return self._read(self.side, primal, dual)

    def read_rational_program(self, primal: Mapping[str, Fractions], dual: Mapping[str, Fractions]) -> Answer:
        """Return plans, multipliers and evidence from the solution of :meth:`rational_program`, in fractions."""
        return self._read(self.exact_side, primal, dual)

    @abstractmethod
    def _read(self, side: Side, primal: Mapping[str, Any], dual: Mapping[str, Any]) -> Answer:
        """Read the solution of a program that was written in the numbers of a side."""

    def certify(
        self,
        profile: Profile,
        multipliers: Mapping[str, float] | None = None,
        evidence: Mapping[str, Floats] | None = None,
    ) -> Certificate:
        """Compute what a strategy is worth, and what multipliers, the other player's plan and evidence prove."""
        return self._certify(self.side, profile.plans, multipliers or {}, evidence or {})

    def certify_exact(
        self, plans: Sequence[Fractions], multipliers: Mapping[str, Fraction], evidence: Mapping[str, Fractions]
    ) -> Certificate:
        """Compute what :meth:`certify` does, from plans in fractions: all numbers but the residual are fractions."""
        return self._certify(self.exact_side, plans, multipliers, evidence)

    @abstractmethod
    def _certify(
        self, side: Side, plans: Sequence[Any], multipliers: Mapping[str, Any], evidence: Mapping[str, Any]
    ) -> Certificate:
        """Compute a certificate in the numbers of a side."""

    def _plans(self, own: Any, other: Any) -> tuple[Any, Any]:
        return (own, other) if self.player == 0 else (other, own)


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
