"""Conversion of strings and exact numbers to floats and fractions, never rounding to zero; seconds as strings."""

import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

# The largest length of a number as a string, and the largest exponent of a decimal: larger ones would fill the memory.
_LONGEST_TEXT, _LARGEST_EXPONENT = 10_000, 400


class TooSmallError(ValueError):
    """A non-zero number whose nearest float is zero."""

    def __init__(self) -> None:
        super().__init__("too small for a float")


class TooLargeError(ValueError):
    """A finite number whose nearest float is infinite."""

    def __init__(self) -> None:
        super().__init__("too large for a float")


def read_float(text: str) -> float:
    """Return a number given as a string as a float.

    Raises
    ------
    ValueError
        If it is not a number; a :class:`TooSmallError` if it is not zero but its float is; a :class:`TooLargeError` if
        it is finite but its float is not.

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
    """Return a number or a percentage, given as a string, as a float.

    Raises
    ------
    ValueError
        As :func:`read_float`; also for more than one percent sign.

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
        If it is not zero but its float is, or its float is infinite.
    """
    nearest = float(number)
    if number and not nearest:
        raise TooSmallError
    return nearest


def read_exactly(value: Any) -> float | Fraction:
    """Return a number or a string as a fraction if it is exact, otherwise as a float."""
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
    """Return seconds with three digits, without an exponent.

    Examples
    --------
    >>> from treeplex.seqform.number_texts import seconds_text
    >>> seconds_text(0.0000892), seconds_text(0.2), seconds_text(1234.5)
    ('0.0000892', '0.2', '1230')
    """
    return f"{Decimal(f'{number:.3g}'):f}"


def seconds_in_words(seconds: Mapping[str, float]) -> str:
    """Return the seconds of each stage, in order; stages below 0.5% of the total are omitted.

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
