"""Names of OpenSpiel's games, read and checked before OpenSpiel sees them, and its errors on one line."""

import contextlib
import os
import re
import sys
import threading
from collections.abc import Iterator
from typing import Any

from ..errors import InvalidGameError, MissingExtraError, UnknownGameError, nearest, one_line, shown

__doctest_requires__ = ("pyspiel",)

# Games within games, misere(game=kuhn_poker()): a few deep at most, and OpenSpiel reads them by recursion.
_DEEPEST = 10
# The parameters that count players.
_PLAYERS = ("players", "num_players", "numPlayers")

# They read whatever file they are told to, and quote it where it is no game.
_FILE_GAMES = ("efg_game", "nfg_game")


def import_pyspiel() -> Any:
    """Return the module ``pyspiel``.

    Raises
    ------
    MissingExtraError
        If OpenSpiel is not installed.
    """
    try:
        import pyspiel
    except ImportError:
        raise MissingExtraError('OpenSpiel is not installed: pip install "treeplex[openspiel]"') from None
    return pyspiel


def checked_name(text: str) -> str:
    """Return a game's name as ``pyspiel.load_game`` reads it, after checking what names it and its parameters.

    OpenSpiel itself would print what it refuses, and some of its games crash the process at a number out of range.

    Parameters
    ----------
    text : str
        ``kuhn_poker``, ``kuhn_poker(players=3)`` or ``kuhn_poker:players=3``; blanks around names and values do not
        matter.

    Returns
    -------
    str
        ``name(key=value,key=value)``.

    Raises
    ------
    UnknownGameError
        If there is no such game, or the game has no such parameter.
    InvalidGameError
        If the text cannot be read, or a number is out of range.
    MissingExtraError
        If OpenSpiel is not installed.

    Examples
    --------
    >>> checked_name(" kuhn_poker : players = 3 ")
    'kuhn_poker(players=3)'
    """
    pyspiel = import_pyspiel()
    if not isinstance(text, str):
        raise UnknownGameError(f"{shown(text)} is no name of an OpenSpiel game; expected text such as 'kuhn_poker'")
    text = text.strip()
    name, colon, parameters = text.partition(":")
    if colon and "(" not in name:
        text = f"{name}({parameters})"
    if text.startswith("python_"):
        _register_python_games()
    return _checked(text, {kind.short_name: kind for kind in pyspiel.registered_games()})


def _register_python_games() -> None:
    # A few of OpenSpiel's games are written in Python and are known once they are imported. What they need themselves
    # may be missing; the name is then unknown.
    with contextlib.suppress(ImportError):
        import open_spiel.python.games  # noqa: F401


def _checked(text: str, kinds: dict[str, Any], depth: int = 0) -> str:
    name, bracket, inside = (part.strip() for part in text.partition("("))
    if bracket and not inside.endswith(")"):
        raise InvalidGameError(f"OpenSpiel: {shown(text, 60)} has no closing bracket; expected name(key=value,...)")
    if name not in kinds:
        raise UnknownGameError(
            f"OpenSpiel: unknown game {shown(name, 60)}{nearest(name, kinds)}; pyspiel.registered_names() lists them"
        )
    if name in _FILE_GAMES:
        raise InvalidGameError(f"OpenSpiel: {name} reads a file; expected the .efg file itself, by load_game")
    if depth > _DEEPEST:
        raise InvalidGameError(f"OpenSpiel: {shown(text, 60)} stands in {depth} games; expected at most {_DEEPEST}")
    defaults = kinds[name].parameter_specification
    values: dict[str, str] = {}
    for item in _items(inside[:-1]):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals):
            raise InvalidGameError(f"OpenSpiel: {shown(item, 60)} is no parameter of {name}; expected key=value")
        if key not in defaults:
            expected = f"expected one of {', '.join(sorted(defaults))}" if defaults else "it takes none"
            raise UnknownGameError(
                f"OpenSpiel: {name} has no parameter {shown(key, 60)}{nearest(key, defaults)}; {expected}"
            )
        if key in values:
            raise InvalidGameError(f"OpenSpiel: {key} of {name} is given twice; expected it once")
        if isinstance(defaults[key], dict):
            value = _checked(value, kinds, depth + 1)
        elif re.fullmatch(r"[+-]?\d+", value):
            _check_range(kinds[name], key, value)
        values[key] = value
    return f"{name}({','.join(f'{key}={value}' for key, value in values.items())})"


def _check_range(kind: Any, key: str, value: str) -> None:
    default = kind.parameter_specification[key]
    if type(default) is not int:
        return
    low, high = min(0, default), 2**31 - 1
    if key in _PLAYERS:
        low, high = kind.min_num_players, kind.max_num_players
    digits = value.lstrip("+-0")  # int() refuses thousands of them
    if len(digits) > 10 or not low <= int(value) <= high:
        raise InvalidGameError(
            f"OpenSpiel: {kind.short_name}: {key} = {one_line(value, 40)}; expected an integer from {low} to {high}"
        )


def _items(text: str) -> Iterator[str]:
    """Split at the commas that are in no bracket."""
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    if text[start:].strip() or start:
        yield text[start:]


@contextlib.contextmanager
def refusals(name: str) -> Iterator[None]:
    """Turn what OpenSpiel refuses into an :class:`InvalidGameError` of one line, and hide what it prints."""
    try:
        with silent_stderr():
            yield
    except Exception as error:  # games written in Python raise what they like
        raise InvalidGameError(f"{name} cannot be loaded: {reason(error)}") from None


def reason(error: Exception) -> str:
    """Return on one line what an error says, without the line of C++ that says it."""
    text = re.sub(r"^\S+\.(cc|h):\d+ ", "", str(error).strip()) or type(error).__name__
    return one_line("; ".join(text.splitlines()), 200)


_stderr_lock = threading.Lock()


@contextlib.contextmanager
def silent_stderr() -> Iterator[None]:
    """Turn the process's standard error away for a moment: OpenSpiel prints its errors there before it raises them."""
    with _stderr_lock, contextlib.ExitStack() as stack:
        if sys.stderr is not None:
            sys.stderr.flush()
        try:
            kept = os.dup(2)
        except OSError:  # there is none
            yield
            return
        stack.callback(os.close, kept)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)
        os.dup2(nowhere, 2)
        stack.callback(os.dup2, kept, 2)
        yield
