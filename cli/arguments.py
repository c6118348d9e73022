"""Reads what options and arguments take, and says what is wrong with anything else."""

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import typer

from .errors import CommandLineError

if TYPE_CHECKING:
    from ..seqform.game import Game

#: What help says of GAME.
GAME_HELP = (
    "NAME or NAME:key=value,… as treeplex games lists them; a file (.efg, .graphml, .json, .npz); or openspiel:NAME."
)
#: What an opponent may be, for the help of options that take one.
OPPONENT_HELP = (
    "uniform, random:seed=S, nash, cfr:iterations=N, abstraction:BUCKETS, mixture:W*O+W*O, perturbed:O,epsilon=E, "
    "an agent such as cdrnr:opponent=O,p=P,lookahead=K, or a strategy file."
)


def tolerance(text: str) -> float:
    """Read a tolerance: a finite number of at least 0.

    Examples
    --------
    >>> from treeplex.cli.arguments import tolerance
    >>> tolerance("1e-4")
    0.0001
    """
    return _non_negative(text, "a number of at least 0, such as 1e-4")


def seconds(text: str) -> float:
    """Read seconds: a finite number of at least 0.

    Examples
    --------
    >>> from treeplex.cli.arguments import seconds
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
    >>> from treeplex.cli.arguments import whole
    >>> whole("1e6")
    1000000
    """
    try:
        number = float(text)
        exact = int(text) if text.lstrip("+").isdecimal() else int(number)
    except (ValueError, OverflowError):
        number, exact = math.nan, 0
    if not (number >= 0 and exact == number and exact <= 2**53):
        raise typer.BadParameter(f"{text!r}, expected a whole number from 0 to 2^53, such as 1000")
    return exact


def seat(text: str) -> int:
    """Read a seat of a two-player game, 0 or 1.

    Examples
    --------
    >>> from treeplex.cli.arguments import seat
    >>> seat("1")
    1
    """
    if text.strip() not in ("0", "1"):
        raise typer.BadParameter(f"{text!r}, expected 0 or 1")
    return int(text)


def confidence_level(text: str) -> float:
    """Read a confidence: a number between 0 and 1.

    Examples
    --------
    >>> from treeplex.cli.arguments import confidence_level
    >>> confidence_level("0.99")
    0.99
    """
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0.0 < number < 1.0:
        raise typer.BadParameter(f"{text!r}, expected a number between 0 and 1, such as 0.95")
    return number


def fraction(option: str, text: str) -> Fraction:
    """Read an amount of payoff exactly: a decimal or a fraction of at least 0.

    Raises
    ------
    CommandLineError

    Examples
    --------
    >>> from treeplex.cli.arguments import fraction
    >>> fraction("--max-loss", "1/50")
    Fraction(1, 50)
    """
    from ..models.constraints.tokens import parse_number

    try:
        number = parse_number(text.strip())
    except ValueError:
        number = Fraction(-1)
    if number < 0:
        raise CommandLineError(f"{option} {text!r}: expected a number of at least 0, such as 0.02 or 1/50")
    return number


def load(spec: str) -> "Game":
    """Return the game that ``GAME`` names.

    Raises
    ------
    TreeplexError
        If there is no such game, or it cannot be read.
    """
    from ..models.games import load_game

    return load_game(spec)
