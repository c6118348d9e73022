"""The size of a game, known before the game is walked."""

import inspect
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from .errors import InvalidGameError, shown


@dataclass(frozen=True)
class GameSize:
    """How large a game is: exact counts, however large.

    Rules may have a method ``size()`` that returns one. A game that is too large for the memory is then refused before
    it is walked; see :mod:`treeplex.seqform.budget`.

    Parameters
    ----------
    nodes : int
        Histories, the root and the leaves included.
    leaves : int
    sequences : tuple of int
        Sequences of each player, the empty one included.
    infosets : tuple of int
        Information sets of each player.

    Raises
    ------
    InvalidGameError
        If one is no count.

    Examples
    --------
    >>> from treeplex import load_game
    >>> load_game("kuhn").rules.size()
    GameSize(nodes=58, leaves=30, sequences=(13, 13), infosets=(6, 6))
    >>> load_game("goofspiel:cards=13").rules.size().leaves
    38775788043632640000
    """

    nodes: int
    leaves: int
    sequences: tuple[int, ...]
    infosets: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, given in vars(self).items():
            several = name in ("sequences", "infosets")
            counts = given if several and isinstance(given, tuple) else () if several else (given,)
            if (several and not isinstance(given, tuple)) or not all(map(_is_count, counts)):
                expected = "a tuple of counts, one a player" if several else "a count"
                raise InvalidGameError(f"the size of a game has {name} {shown(given)}, expected {expected}")


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0


def size_of(rules: Any) -> GameSize | None:
    """Return the size that rules state by a method ``size()``, ``None`` if they have none.

    An attribute of that name that is something else, such as the size of a board, is left alone.
    """
    method = getattr(rules, "size", None)
    if not callable(method):
        return None
    try:
        inspect.signature(method).bind()
    except (TypeError, ValueError):  # it takes arguments, so it is another
        return None
    size = method()
    return size if isinstance(size, GameSize) else None
