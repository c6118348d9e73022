"""The registry of games: every family under its name, and how ``name:key=value,key=value`` is read.

To add a family, write its rules and its ``FAMILY`` in a file of its own and list it in :data:`_FAMILIES`.
"""

import os
from typing import TYPE_CHECKING, Any

from ...seqform.errors import InvalidGameError, UnknownGameError, nearest, one_line, shown
from . import goofspiel, kuhn, leduc, liars_dice, matrix_games, small_trees, transit_family
from .family import Family
from .files import OPENSPIEL, SUFFIXES, game_from_file, load_openspiel, names_file

if TYPE_CHECKING:
    from ...seqform.game import Game

_FAMILIES = (
    kuhn.FAMILY,
    leduc.FAMILY,
    liars_dice.FAMILY,
    goofspiel.FAMILY,
    *matrix_games.FAMILIES,
    transit_family.FAMILY,
    *small_trees.FAMILIES,
)


def families() -> tuple[Family, ...]:
    """Return all families of games, in the order in which they are listed."""
    return _FAMILIES


def load_game(spec: "str | os.PathLike[str]", **parameters: Any) -> "Game":
    """Return a game by name and parameters, from a file, or from OpenSpiel.

    Parameters
    ----------
    spec : str or path-like
        ``name`` or ``name:key=value,key=value``: integers, decimals, fractions (``1/3``), ``true`` and ``false``, or
        one of a parameter's choices. Or the name of a file that ends with ``.efg``, ``.graphml``, ``.json`` or
        ``.npz``. Or ``openspiel:`` and a game as OpenSpiel names it.
    **parameters
        Parameters by keyword; they take precedence over those in `spec`. Only for games by name.

    Returns
    -------
    Game

    Raises
    ------
    UnknownGameError
        If there is no such game, `spec` is no text, or the game has no such parameter.
    InvalidGameError
        If `spec` cannot be read, or a value is not what its parameter takes.
    GameFileError
        If there is no such file, or it cannot be read.
    MissingExtraError
        If OpenSpiel is needed, and not installed.

    Examples
    --------
    >>> load_game("leduc:ranks=6,suits=2", merge_suits=True).parameters["ranks"]
    6
    """
    if isinstance(spec, os.PathLike):
        spec = os.fspath(spec)
    if not isinstance(spec, str):
        raise UnknownGameError(f"{shown(spec)} is no game's name; expected text such as 'leduc:ranks=6'")
    name, colon, text = (part.strip() for part in spec.partition(":"))
    if colon and name.lower() == OPENSPIEL:
        return load_openspiel(text, parameters)
    if names_file(spec, family=name in [family.name for family in _FAMILIES]):
        return game_from_file(spec, parameters)
    family = _family(name)
    values: dict[str, Any] = _read(family, text) if colon else {}
    for key in parameters:
        _check_known(family, key)
    return family.game(values | parameters)


def _family(name: str) -> Family:
    known = {family.name: family for family in _FAMILIES}
    if name not in known:
        hint = nearest(name.replace("-", "_"), [*known, OPENSPIEL])
        raise UnknownGameError(
            f"unknown game {_quoted(name)}{hint}; expected one of {', '.join(known)}, a file ({', '.join(SUFFIXES)}) "
            f"or {OPENSPIEL}:NAME"
        )
    return known[name]


def _read(family: Family, text: str) -> dict[str, Any]:
    """Read ``key=value,key=value``; the values stay text, which the rules convert."""
    values: dict[str, Any] = {}
    for item in text.split(","):
        key, equals, value = (part.strip() for part in item.partition("="))
        if not (key and equals and value):
            raise InvalidGameError(
                f"{family.name}: {_quoted(item)} is no parameter; expected {family.name}:key=value,..."
            )
        _check_known(family, key)
        if key in values:
            raise InvalidGameError(
                f"{family.name}: {key} is given twice, as {one_line(values[key], 40)} and {one_line(value, 40)}; "
                "expected it once"
            )
        values[key] = value
    return values


def _check_known(family: Family, key: str) -> None:
    known = [each.name for each in family.parameters]
    if key not in known:
        hint = nearest(key.replace("-", "_"), known)
        expected = f"expected one of {', '.join(known)}" if known else "it takes none"
        raise UnknownGameError(f"{family.name}: unknown parameter {_quoted(key)}{hint}; {expected}")


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
