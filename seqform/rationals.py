"""Numbers as games write them: integers, floats, decimals and exact fractions."""

from decimal import Decimal
from fractions import Fraction
from numbers import Rational, Real

from .rules import Number


def to_fraction(number: Number) -> Fraction:
    """Return a number as an exact fraction; a float counts as the shortest decimal that rounds to it.

    Examples
    --------
    >>> from treeplex.seqform.rationals import to_fraction
    >>> to_fraction(0.1)
    Fraction(1, 10)
    """
    if isinstance(number, Rational):
        return Fraction(int(number.numerator), int(number.denominator))  # numpy's integers would overflow
    if isinstance(number, Decimal):
        return Fraction(number)
    if not isinstance(number, Real):
        raise TypeError(f"{number!r} is no number")
    return Fraction(str(number))
