"""Parameters in words: how text says a value, what is expected, and why a value is refused."""

import math
import shlex
from fractions import Fraction
from typing import TYPE_CHECKING

from .errors import one_line, shown
from .number_texts import TooLargeError, TooSmallError, read_float

if TYPE_CHECKING:
    from .parameters import Parameter


def read_value(parameter: "Parameter", text: str) -> object:
    """Convert text to a value of a parameter whose range is still to be checked.

    Raises
    ------
    ValueError, OverflowError, ZeroDivisionError
    """
    text = text.strip()
    if parameter.kind is bool:
        if text.lower() not in ("true", "false"):
            raise ValueError
        return text.lower() == "true"
    if parameter.kind is int:
        number = read_float(text) if parameter.about.large and not text.lstrip("+").isdecimal() else math.nan
        return int(number) if number.is_integer() and abs(number) <= 2**53 else int(text)
    if parameter.kind in (float, Fraction):
        # With an exponent through float, which bounds it; no digit that a float keeps is lost.
        exact = "/" in text or (len(text) <= 40 and "e" not in text.lower())
        return Fraction(text) if exact else read_float(text)
    return text


def read_several(value: object) -> object:
    """Return the values of text in parentheses, ``(a,b)``, as a list; another value as it is."""
    if isinstance(value, str) and value.startswith("(") and value.endswith(")"):
        return [part.strip() for part in value[1:-1].split(",")]
    return value


def expected_value(parameter: "Parameter") -> str:
    """Return what a value of a parameter has to be."""
    about = parameter.about
    if about.expected is not None:
        return about.expected
    if parameter.kind is bool:
        return "true or false"
    choices = f"one of {', '.join(parameter.choices)}" if parameter.choices else ""
    if parameter.kind is str or parameter.is_read_elsewhere:
        return choices or about.form or "text"
    number = f"{'an integer' if parameter.kind is int else 'a number'}{_range(parameter)}"
    return f"{choices}, or {number}" if choices else number


def _range(parameter: "Parameter") -> str:
    about = parameter.about
    if about.above is not None:
        return f" above {about.above}" + ("" if about.maximum is None else f" and at most {about.maximum}")
    if about.minimum is None:
        return "" if about.maximum is None else f" of at most {about.maximum}"
    return f" of at least {about.minimum}" if about.maximum is None else f" from {about.minimum} to {about.maximum}"


def received_value(value: object) -> str:
    """Return a value as the message shows it that refuses it."""
    received = value if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else shown(value)
    text = one_line(received)
    return (text if len(text) <= 40 else text[:37] + "...") or "nothing"


def reason_of(error: Exception) -> str:
    """Return in parentheses why a number was refused, where what is expected does not say it."""
    return f" ({error})" if isinstance(error, TooSmallError | TooLargeError) else ""


def as_typed(text: str) -> str:
    """Return a word of the command line as a message shows it: as one would type it, its end cut off if it is long.

    Examples
    --------
    >>> from treeplex.seqform.parameter_texts import as_typed
    >>> as_typed("2"), as_typed("two words"), as_typed("")
    ('2', "'two words'", "''")
    """
    return one_line(shlex.quote(text), 60)
