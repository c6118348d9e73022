"""Reads what options and arguments take, and says what is wrong with anything else."""

import math
from typing import TYPE_CHECKING

import typer

from .errors import CommandLineError

if TYPE_CHECKING:
    from ...seqform.game import Game


def tolerance(text: str) -> float:
    """Read a tolerance: a finite number of at least 0.

    Examples
    --------
    >>> from treeplex.validation.cli.arguments import tolerance
    >>> tolerance("1e-4")
    0.0001
    """
    return _non_negative(text, "a number of at least 0, such as 1e-4")


def seconds(text: str) -> float:
    """Read seconds: a finite number of at least 0.

    Examples
    --------
    >>> from treeplex.validation.cli.arguments import seconds
    >>> seconds("60")
    60.0
    """
    return _non_negative(text, "a number of seconds of at least 0, such as 60")


def _non_negative(text: str, expected: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise typer.BadParameter(f"{text!r}, expected {expected}")
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


def load(spec: str) -> "Game":
    """Return the game that ``GAME`` names.

    Raises
    ------
    CommandLineError
        If it names a file or a game of OpenSpiel.
    TreeplexError
        If there is no such game, or it cannot be read.
    """
    from ...models.games import load_game
    from ...seqform.errors import UnknownGameError

    try:
        return load_game(spec)
    except UnknownGameError:
        name = spec.partition(":")[0].strip()
        if name.casefold() == "openspiel" or any(character in name for character in "./\\"):
            raise CommandLineError(
                f"{spec!r}: game files and OpenSpiel games cannot be read yet; write the game as rules or as a "
                "networkx tree"
            ) from None
        raise
