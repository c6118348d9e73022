"""Numbers of Gambit's ``.efg`` files: read exactly within bounds, and written so that they are read back exactly."""

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational

from ..errors import InvalidGameError, shown
from ..rationals import to_fraction
from ..rules import Number

#: The longest number that is read or written, in digits of a numerator or a denominator; every float is far shorter.
MAX_DIGITS = 600
#: How far the probabilities of a chance node may sum from one: decimals in files are often cut off.
PROBABILITY_TOLERANCE = 1e-5

_MAX_BITS = 2000  # 602 digits
_TOO_LONG = f"a fraction of more than {MAX_DIGITS} digits"


def parse_number(text: str) -> int | Fraction:
    """Return an integer, a decimal or a fraction as an exact number.

    Parameters
    ----------
    text : str
        As the format writes it: ``-3``, ``1/3``, ``.25`` or ``1.5e-3``.

    Raises
    ------
    InvalidGameError
        If the denominator is zero, the number is no finite float, or it has more than :data:`MAX_DIGITS` digits; the
        message is what a sentence about the number ends with.

    Examples
    --------
    >>> from treeplex.seqform.interchange.efg_numbers import parse_number
    >>> parse_number("-2.50"), parse_number("10.0"), parse_number("2/6")
    (Fraction(-5, 2), 10, Fraction(1, 3))
    """
    numerator, slash, denominator = text.partition("/")
    mantissa, _, exponent = numerator.lower().partition("e")
    if max(len(mantissa), len(denominator)) > MAX_DIGITS or len(exponent) > 6:
        raise InvalidGameError(f"has more than {MAX_DIGITS} digits")
    if slash:
        if not int(denominator):
            raise InvalidGameError("divides by zero")
        return _checked(Fraction(int(numerator), int(denominator)))
    whole, _, decimals = mantissa.partition(".")
    digits = int(whole + decimals)
    scale = int(exponent or 0) - len(decimals)
    if not digits:
        return 0
    if scale >= 0:
        return _checked(Fraction(digits * 10 ** min(scale, 2 * MAX_DIGITS)))
    return _checked(Fraction(digits, 10 ** min(-scale, 2 * MAX_DIGITS)))


def add(first: int | Fraction, second: int | Fraction) -> int | Fraction:
    """Return a sum of payoffs.

    Raises
    ------
    InvalidGameError
        If it is no finite float, or has more than :data:`MAX_DIGITS` digits; the message is what a sentence about the
        sum ends with.
    """
    total = first + second
    return total if isinstance(total, int) and -(10**9) < total < 10**9 else _checked(Fraction(total))


def _checked(value: Fraction) -> int | Fraction:
    """Return a value, as an ``int`` if it is whole, unless it is too large or too long."""
    try:
        float(value)
    except OverflowError:
        raise InvalidGameError("is larger than every float") from None
    if value.numerator.bit_length() > _MAX_BITS or value.denominator.bit_length() > _MAX_BITS:
        raise InvalidGameError(f"is {_TOO_LONG}")
    return value.numerator if value.denominator == 1 else value


def normalised(probabilities: Sequence[int | Fraction]) -> tuple[int | Fraction, ...]:
    """Return probabilities that sum to one exactly.

    Parameters
    ----------
    probabilities : sequence of int or Fraction
        Non-negative. They may miss one by :data:`PROBABILITY_TOLERANCE`: they are divided by their sum.

    Raises
    ------
    InvalidGameError
        If they miss one by more, or the quotients have more than :data:`MAX_DIGITS` digits; the message is what a
        sentence about the probabilities ends with.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.efg_numbers import normalised
    >>> normalised([Fraction("0.333333")] * 3)
    (Fraction(1, 3), Fraction(1, 3), Fraction(1, 3))
    """
    about = sum(map(float, probabilities))
    if not abs(about - 1.0) <= PROBABILITY_TOLERANCE:
        raise InvalidGameError(f"sum to {about:.12g}, expected 1")
    total = Fraction(0)
    for probability in probabilities:
        total += probability
        if total.denominator.bit_length() > _MAX_BITS:  # every further sum would be longer still
            raise InvalidGameError(f"sum to {_TOO_LONG}")
    if total == 1:
        return tuple(probabilities)
    return tuple(_checked(probability / total) for probability in probabilities)


def format_payoff(value: Number) -> str:
    """Return a payoff as text: an integer, the shortest decimal that rounds to a float, or a fraction.

    A fraction that equals the shortest decimal of a float is written as this decimal, so that the text depends on the
    value alone.

    Raises
    ------
    InvalidGameError
        If the number has more than :data:`MAX_DIGITS` digits.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from treeplex.seqform.interchange.efg_numbers import format_payoff
    >>> format_payoff(2.0), format_payoff(0.1), format_payoff(Fraction(1, 2)), format_payoff(Fraction(1, 3))
    ('2', '0.1', '0.5', '1/3')
    """
    exact = exact_number(value)
    if exact.denominator == 1:
        return str(exact.numerator)
    decimal = repr(float(exact))
    return decimal if Fraction(decimal) == exact else f"{exact.numerator}/{exact.denominator}"


def exact_number(value: Number) -> Fraction:
    """Return a number as a fraction; a float counts as the shortest decimal that rounds to it.

    Raises
    ------
    InvalidGameError
        If it has more than :data:`MAX_DIGITS` digits.
    """
    if isinstance(value, Decimal):  # 1e-999999999 is short, but its fraction would fill the memory
        parts = value.as_tuple()
        if len(parts.digits) > MAX_DIGITS or (value and abs(value.adjusted()) > MAX_DIGITS):
            raise InvalidGameError(_refusal(value))
        value = value or Decimal(0)  # zero has an exponent too
    elif not isinstance(value, Rational):
        value = float(value)  # numpy's float32, too, has the value that the game is computed with
    exact = to_fraction(value)
    if exact.numerator.bit_length() > _MAX_BITS or exact.denominator.bit_length() > _MAX_BITS:
        raise InvalidGameError(_refusal(value))
    return exact


def _refusal(value: Number) -> str:
    return f"{shown(value)} has more than {MAX_DIGITS} digits: it cannot be written to an .efg file"
