"""Descriptions of parameters: a value as a string, the expected values, and the reason why a value is invalid."""

import math
import shlex
from collections.abc import Sequence
from fractions import Fraction

from .errors import nearest, one_line, shown
from .number_texts import TooLargeError, TooSmallError, read_float


def read_value(kind: type, text: str, large: bool = False) -> object:
    """Convert a string to a value of a parameter, without checking the range.

    Parameters
    ----------
    kind : type
        The type of the value.
    text : str
    large : bool
        Whether integers are often large, so that ``1e6`` is read as one.

    Raises
    ------
    ValueError, OverflowError, ZeroDivisionError
    """
    text = text.strip()
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError
        return text.lower() == "true"
    if kind is int:
        number = read_float(text) if large and not text.lstrip("+").isdecimal() else math.nan
        return int(number) if number.is_integer() and abs(number) <= 2**53 else int(text)
    if kind in (float, Fraction):
        # With an exponent through float, which bounds it; every digit that a float can represent is kept.
        exact = "/" in text or (len(text) <= 40 and "e" not in text.lower())
        return Fraction(text) if exact else read_float(text)
    return text


def read_several(value: object) -> object:
    """Return the values of a string in parentheses, ``(a,b)``, as a list; any other value is returned unchanged."""
    if isinstance(value, str) and value.startswith("(") and value.endswith(")"):
        return [part.strip() for part in value[1:-1].split(",")]
    return value


def expected_value(kind: type, choices: Sequence[str], form: str | None, bounds: Sequence[int | None]) -> str:
    """Describe the expected values of a parameter.

    Parameters
    ----------
    kind : type
        The type of the value.
    choices : sequence of str
        The allowed strings.
    form : str, optional
        How to write a value.
    bounds : sequence of int or None
        The minimum, the maximum, and an exclusive lower bound.
    """
    if kind is bool:
        return "true or false"
    words = f"one of {', '.join(choices)}" if choices else ""
    if kind not in (int, float, Fraction):
        return words or form or "text"
    number = f"{'an integer' if kind is int else 'a number'}{_range(*bounds)}"
    return f"{words}, or {number}" if words else number


def _range(minimum: int | None, maximum: int | None, above: int | None) -> str:
    if above is not None:
        return f" above {above}" + ("" if maximum is None else f" and at most {maximum}")
    if minimum is None:
        return "" if maximum is None else f" of at most {maximum}"
    return f" of at least {minimum}" if maximum is None else f" from {minimum} to {maximum}"


def received_value(value: object, choices: Sequence[str] = ()) -> str:
    """Return a value as the message that rejects it shows it, with the choice that is probably meant."""
    received = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else shown(value)
    text = one_line(received)
    hint = nearest(value, choices) if isinstance(value, str) else ""
    return ((text if len(text) <= 40 else text[:37] + "...") or "nothing") + hint


def reason_of(error: Exception) -> str:
    """Return the reason, in parentheses, why a number is invalid, if the expected values do not make it clear."""
    return f" ({error})" if isinstance(error, TooSmallError | TooLargeError) else ""


def as_typed(text: str) -> str:
    """Return a word of the command line as messages show it: as you would type it, shortened if it is long.

    Examples
    --------
    >>> from treeplex.seqform.parameter_texts import as_typed
    >>> as_typed("2"), as_typed("two words"), as_typed("")
    ('2', "'two words'", "''")
    """
    return one_line(shlex.quote(text), 60)
