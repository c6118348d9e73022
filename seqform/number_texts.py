"""Numbers that are given as text, or exactly, as floats and fractions, none turned into zero; seconds as text."""

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

# Texts of numbers are read up to this length, and decimals up to this exponent: longer ones fill the memory.
_LONGEST_TEXT, _LARGEST_EXPONENT = 10_000, 400


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
    >>> from treeplex.seqform.number_texts import read_float
    >>> read_float("1e-300"), read_float("0e-999")
    (1e-300, 0.0)
    >>> read_float("1e-999")
    Traceback (most recent call last):
    treeplex.seqform.number_texts.TooSmallError: too small for a float
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
    >>> from treeplex.seqform.number_texts import read_share
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


def read_exactly(value: Any) -> float | Fraction:
    """Return a number or a text as a float, or as a fraction if it is exact."""
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            raise ValueError("it is too long")
        value = Fraction(value) if "/" in value else Decimal(value)
    if isinstance(value, Decimal) and value.is_finite() and abs(value.adjusted()) > _LARGEST_EXPONENT:
        raise OverflowError("as a fraction it has more digits than fit in memory")
    if isinstance(value, Decimal | Fraction):
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("it is not a number")
    return float(value)


def seconds_text(number: float) -> str:
    """Return seconds in three digits, without an exponent.

    Examples
    --------
    >>> from treeplex.seqform.number_texts import seconds_text
    >>> seconds_text(0.0000892), seconds_text(0.2), seconds_text(1234.5)
    ('0.0000892', '0.2', '1230')
    """
    return f"{Decimal(f'{number:.3g}'):f}"


def seconds_in_words(seconds: Mapping[str, float]) -> str:
    """Return where time went, in the order of work; parts below half a hundredth of the whole are left out.

    Examples
    --------
    >>> from treeplex.seqform.number_texts import seconds_in_words
    >>> seconds_in_words({"loading": 0.2, "building": 0.001, "solving": 1.5, "game_value": 0.3})
    '0.2 loading, 1.5 solving, 0.3 game value'
    """
    least = 0.005 * sum(seconds.values())
    told = [
        f"{seconds_text(took)} {part.replace('_', ' ')}"
        for part, took in seconds.items()
        if took >= least or part == "solving"
    ]
    return ", ".join(told)
