"""The exceptions of the library: every one is a :class:`TreeplexError`.

Each says in one line what is wrong, where, the value received and what would be right.
"""

from collections.abc import Iterable
from typing import Any


class TreeplexError(Exception):
    """Base class of every error that the library raises on purpose."""


class InvalidGameError(TreeplexError, ValueError):
    """A game whose tree, rules, matrices or parameters break a rule of extensive-form games."""


class ImperfectRecallError(InvalidGameError):
    """An information set whose histories differ in their player's own past."""


class GameTooLargeError(TreeplexError, MemoryError):
    """A game that takes more memory to build than there is, or more than 32-bit indices can number."""


class InvalidMemoryError(TreeplexError, ValueError):
    """An amount of memory that cannot be read."""


class GameFileError(InvalidGameError):
    """A game file that cannot be read.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    line, column : int, optional
        Where in the file, counted from one.
    """

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        where = "" if line is None else f"line {line}" + ("" if column is None else f", column {column}")
        super().__init__(f"{where}: {message}" if where else message)
        self.line = line
        self.column = column


class InvalidStrategyError(TreeplexError, ValueError):
    """Something that is not a strategy, or a strategy of another game or player."""


class InvalidConstraintError(TreeplexError, ValueError):
    """A constraint that cannot be read, or that no solver here can take."""


class InvalidPreferenceError(TreeplexError, ValueError):
    """A preference for actions that cannot be read, or that is about nothing in a game."""


class PlayLogError(TreeplexError, ValueError):
    """A log of play that cannot be read.

    Parameters
    ----------
    message : str
        What is wrong, in one line.
    line : int, optional
        Where in the log, counted from one.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class UnknownGameError(TreeplexError, ValueError):
    """A game, or a parameter of a game, that the registry does not know."""


class UnknownMethodError(TreeplexError, ValueError):
    """A method, or an option of a method, that the solvers do not know."""


class UnsupportedProblemError(TreeplexError, ValueError):
    """A problem that is unknown, or that does not apply to the game or method given."""


class MissingExtraError(TreeplexError, ImportError):
    """A feature whose optional dependency is not installed."""


class SolverError(TreeplexError):
    """A solver that broke down without an answer."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean …?)`` if one of the known names is close to the one given, else nothing.

    Examples
    --------
    >>> from treeplex.seqform.errors import nearest
    >>> nearest("slove", ["games", "solve"])
    ' (did you mean solve?)'
    """
    import difflib

    close = difflib.get_close_matches(name.casefold()[:100], list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def shown(value: Any, limit: int = 120) -> str:
    """Return a value as messages show it: its ``repr`` on one line, its end cut off if it is long.

    Examples
    --------
    >>> from treeplex.seqform.errors import shown
    >>> shown("a label"), shown(range(1000), limit=9)
    ("'a label'", 'range(0,…')
    """
    try:
        text = repr(value)
    except ValueError:  # an integer of thousands of digits has no repr
        text = f"a {type(value).__name__} too long to print"
    return one_line(text, limit)


def one_line(text: str, limit: int = 120) -> str:
    """Return a text on one line, line breaks and other control characters escaped, its end cut off if it is long."""
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in text[: limit + 1])
    return text if len(text) <= limit else text[: limit - 1] + "…"
