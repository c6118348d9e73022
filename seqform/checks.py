"""Checks of arguments, for the whole library.

Each takes a value, its name and the exception to raise, and returns the value in its own type. Messages read
``NAME is VALUE, expected …``.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from numbers import Integral, Real
from typing import Any, TypeVar

from .errors import TreeplexError, shown

T = TypeVar("T")

# Texts of numbers are read up to this length, and decimals up to this exponent: longer ones fill the memory.
_LONGEST_TEXT, _LARGEST_EXPONENT = 10_000, 400


def is_number(value: Any) -> bool:
    """Whether a value is a real number; ``True``, ``False`` and decimals are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether a value is of an integer type; ``True`` and ``False`` are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


class TooSmallError(ValueError):
    """A number that is not zero, though the float nearest to it is."""

    def __init__(self) -> None:
        super().__init__("too small for a float")


class TooLargeError(ValueError):
    """A finite number whose nearest float is infinite."""

    def __init__(self) -> None:
        super().__init__("too large for a float")


def read_float(text: str) -> float:
    """Return a number given as text as a float.

    Raises
    ------
    ValueError
        If it is not a number; a :class:`TooSmallError` if its float would be zero, and it is not; a
        :class:`TooLargeError` if it would be infinite, and it is not.

    Examples
    --------
    >>> from treeplex.seqform.checks import read_float
    >>> read_float("1e-300"), read_float("0e-999")
    (1e-300, 0.0)
    >>> read_float("1e-999")
    Traceback (most recent call last):
    treeplex.seqform.checks.TooSmallError: too small for a float
    """
    number = float(text)
    if math.isinf(number) and any(digit in text for digit in "123456789"):
        raise TooLargeError
    if number == 0.0 and any(digit in text.lower().partition("e")[0] for digit in "123456789"):
        raise TooSmallError
    return number


def read_share(text: str) -> float:
    """Return a share given as text, a number or a percentage, as a float.

    Raises
    ------
    ValueError
        As :func:`read_float`; more than one per cent sign is not a number.

    Examples
    --------
    >>> from treeplex.seqform.checks import read_share
    >>> read_share("0.05"), read_share("5 %")
    (0.05, 0.05)
    >>> read_share("5%%")
    Traceback (most recent call last):
    ValueError: could not convert string to float: '5%'
    """
    number = text.strip().removesuffix("%")
    share = read_float(number)
    return share if number == text.strip() else exact_float(Decimal(number.strip()) / 100)


def exact_float(number: float | Fraction | Decimal) -> float:
    """Return an exact number as a float.

    Raises
    ------
    TooSmallError, OverflowError
        If its float would be zero, and it is not, or infinite.
    """
    nearest = float(number)
    if number and not nearest:
        raise TooSmallError
    return nearest


def check_number(
    value: Any, name: str, error: type[TreeplexError], interval: str = "(-inf, inf)", such_as: str = ""
) -> float:
    """Return a number as a float.

    Parameters
    ----------
    value : Any
    name : str
        What to call it in the message.
    error : type of exception
        What to raise.
    interval : str
        Where it must lie, such as ``(0, 1]``. An end that is ``inf]`` lets it be infinite; by default it is finite.
    such_as : str
        An example for the message.

    Returns
    -------
    float

    Examples
    --------
    >>> from treeplex.seqform.checks import check_number
    >>> from treeplex.seqform.errors import UnknownMethodError
    >>> check_number(1, "exploration", UnknownMethodError, "(0, 1]")
    1.0
    >>> check_number(0, "exploration", UnknownMethodError, "(0, 1]")
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.UnknownMethodError: exploration is 0, expected a number in (0, 1]
    """
    allowed = _interval(interval)
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:  # an integer of hundreds of digits
        number = math.nan
    if number not in allowed:
        raise error(
            f"{name} is {shown(value)}, expected {allowed.described('number')}{such_as and f', such as {such_as}'}"
        )
    return number


def check_exact_number(
    value: Any, name: str, error: type[TreeplexError], interval: str = "(-inf, inf)"
) -> float | Fraction:
    """Return a number as a float, or as a fraction if it was given exactly: a fraction, a decimal or a text.

    Parameters are those of :func:`check_number`.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_exact_number
    >>> from treeplex.seqform.errors import InvalidGameError
    >>> check_exact_number("1/3", "epsilon", InvalidGameError), check_exact_number(0.25, "epsilon", InvalidGameError)
    (Fraction(1, 3), 0.25)
    """
    allowed = _interval(interval)
    try:
        number = _read(value)
        sound = exact_float(number) in allowed and allowed.low <= number <= allowed.high
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        sound = False
    if not sound:
        raise error(f"{name} is {shown(value)}, expected {allowed.described('number')}")
    return number


def check_whole(value: Any, name: str, error: type[TreeplexError], interval: str = "[0, inf)") -> int:
    """Return a whole number as an ``int``.

    Parameters are those of :func:`check_number`.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_whole
    >>> from treeplex.seqform.errors import UnknownMethodError
    >>> check_whole(-1, "seed", UnknownMethodError)
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.UnknownMethodError: seed is -1, expected a whole number of at least 0
    """
    allowed = _interval(interval)
    if not is_whole(value) or int(value) not in allowed:
        raise error(f"{name} is {shown(value)}, expected {allowed.described('whole number')}")
    return int(value)


def check_choice(value: T, name: str, error: type[TreeplexError], choices: Collection[T]) -> T:
    """Return a value that is one of some choices.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_choice
    >>> from treeplex.seqform.errors import UnknownMethodError
    >>> check_choice("up", "direction", UnknownMethodError, ("down", "right"))
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.UnknownMethodError: direction is 'up', expected one of down, right
    """
    if not any(type(value) is type(choice) and value == choice for choice in choices):
        raise error(f"{name} is {shown(value)}, expected one of {', '.join(map(str, choices))}")
    return value


def check_type(value: Any, name: str, error: type[TreeplexError], kind: type[T], expected: str = "") -> T:
    """Return a value of a type.

    Parameters
    ----------
    value : Any
    name : str
        What to call it in the message.
    error : type of exception
        What to raise.
    kind : type
    expected : str
        What to call the type in the message; by default its name.

    Examples
    --------
    >>> from treeplex import Strategy
    >>> from treeplex.seqform.checks import check_type
    >>> from treeplex.seqform.errors import InvalidStrategyError
    >>> check_type(3, "opponent", InvalidStrategyError, Strategy)
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidStrategyError: opponent is 3, expected a Strategy
    """
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise error(f"{name} is {shown(value)}, expected {expected or f'{article} {kind.__name__}'}")
    return value


def check_player(player: Any, num_players: int, error: type[TreeplexError]) -> int:
    """Return the number of a player of a game as an ``int``.

    Examples
    --------
    >>> from treeplex.seqform.checks import check_player
    >>> from treeplex.seqform.errors import InvalidStrategyError
    >>> check_player(2, 2, InvalidStrategyError)
    Traceback (most recent call last):
    ...
    treeplex.seqform.errors.InvalidStrategyError: player is 2, expected one from 0 to 1
    """
    if not is_whole(player) or player not in range(num_players):
        raise error(f"player is {shown(player)}, expected one from 0 to {num_players - 1}")
    return int(player)


def check_attribute(kind: Any, name: str, types: Any, expected: str, error: Any) -> None:
    """Refuse a class without an attribute that it has to have, or with one of another type, or an empty one.

    Raises
    ------
    TreeplexError
    """
    value = getattr(kind, name, None)
    if value is None:
        raise error(f"{kind.__name__} has no attribute {name}; expected {expected}")
    if not isinstance(value, types) or not value:
        raise error(f"{kind.__name__}: {name} is {shown(value)}, expected {expected}")


@dataclass(frozen=True)
class _Interval:
    """Numbers between two ends, each of which belongs to them or does not."""

    low: float
    high: float
    with_low: bool
    with_high: bool

    def __contains__(self, number: Any) -> bool:
        return (self.low < number or (self.with_low and number == self.low)) and (
            number < self.high or (self.with_high and number == self.high)
        )

    def described(self, noun: str) -> str:
        """Return a description of the numbers, with their noun and its article."""
        if math.isinf(self.high):
            if math.isinf(self.low):
                return f"a {noun}" if self.with_high else f"a finite {noun}"
            return f"a {noun} {'of at least' if self.with_low else 'above'} {self.low:g}"
        if self.with_low and self.with_high:
            return f"a {noun} from {self.low:,.12g} to {self.high:,.12g}"
        return f"a {noun} in {'(['[self.with_low]}{self.low:g}, {self.high:g}{')]'[self.with_high]}"


@cache
def _interval(text: str) -> _Interval:
    low, high = text[1:-1].split(",")
    return _Interval(float(low), float(high), text[0] == "[", text[-1] == "]")


def _read(value: Any) -> float | Fraction:
    """Return a number or a text as a float, or as a fraction if it is exact."""
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            raise ValueError("it is too long")
        value = Fraction(value) if "/" in value else Decimal(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise OverflowError("as a fraction it has more digits than memory")
    if isinstance(value, Decimal | Fraction):
        return Fraction(value)
    if not is_number(value):
        raise TypeError("it is not a number")
    return float(value)
