"""Reads the numbers that options take, and says what is wrong with others."""

import math

import typer


def non_negative(text: str) -> float:
    """Read a finite number of at least 0.

    Examples
    --------
    >>> from treeplex.validation.cli.arguments import non_negative
    >>> non_negative("1e-4")
    0.0001
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise typer.BadParameter(f"{text!r}, expected a number of at least 0, such as 1e-4")
    return number


def whole(text: str) -> int:
    """Read a whole number of at least 0; ``1e6`` is one too.

    Examples
    --------
    >>> from treeplex.validation.cli.arguments import whole
    >>> whole("1e6")
    1000000
    """
    try:
        number = float(text)
        exact = int(text) if text.lstrip("+").isdecimal() else int(number)
    except (ValueError, OverflowError):
        number, exact = math.nan, 0
    if not (number >= 0 and exact == number and exact < 2**53):
        raise typer.BadParameter(f"{text!r}, expected a whole number from 0 to 2^53, such as 1000")
    return exact
