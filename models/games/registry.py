"""The registry of games: every family under its name, and how ``name:key=value,key=value`` is read.

To add a family, write its rules and its ``FAMILY`` in a file of its own and list it in :data:`_FAMILIES`.
"""

import os
from typing import TYPE_CHECKING, Any

from ...seqform.errors import InvalidGameError, UnknownGameError, shown
from ...seqform.grammar import Grammar
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
_BY_NAME = {family.name: family for family in _FAMILIES}
_GRAMMAR = Grammar("game", UnknownGameError, InvalidGameError)


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
        If there is no such game, `spec` is not text, or the game has no such parameter.
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
        raise UnknownGameError(f"expected a game's name, such as 'leduc:ranks=6', got {shown(spec)}")
    name, text = _GRAMMAR.split(spec)
    if text is not None and name.lower() == OPENSPIEL:
        return load_openspiel(text.strip(), parameters)
    if names_file(spec, family=name in _BY_NAME):
        return game_from_file(spec, parameters)
    if name not in _BY_NAME:
        raise _GRAMMAR.unknown_name(name, [*_BY_NAME, f"{OPENSPIEL}:NAME"], f", or a file ({', '.join(SUFFIXES)})")
    family = _BY_NAME[name]
    values = _GRAMMAR.read(name, text, family.parameters)
    for key in parameters:
        _GRAMMAR.check_key(name, key, family.parameters)
    return family.game(values | parameters)
