"""The registry of games: every family under its name, and how ``name:key=value,key=value`` is read.

To add a family, write its rules and its ``FAMILY`` in a file of its own and list it in :data:`_FAMILIES`.
"""

from typing import TYPE_CHECKING, Any

from ...seqform.errors import InvalidGameError, UnknownGameError, one_line, shown
from . import goofspiel, kuhn, leduc, liars_dice, matching_pennies, repeated_rps, rps
from .family import Family

if TYPE_CHECKING:
    from ...seqform.game import Game

_FAMILIES = (
    kuhn.FAMILY,
    leduc.FAMILY,
    liars_dice.FAMILY,
    goofspiel.FAMILY,
    matching_pennies.FAMILY,
    rps.FAMILY,
    repeated_rps.FAMILY,
)


def families() -> tuple[Family, ...]:
    """Return all families of games, in the order in which they are listed."""
    return _FAMILIES


def load_game(spec: str, **parameters: Any) -> "Game":
    """Return a game by name and parameters.

    Parameters
    ----------
    spec : str
        ``name`` or ``name:key=value,key=value``. Integers, decimals, fractions (``1/3``), ``true`` and ``false``, or
        one of a parameter's choices.
    **parameters
        Parameters by keyword; they take precedence over those in `spec`.

    Returns
    -------
    Game

    Raises
    ------
    UnknownGameError
        If there is no such game, `spec` is no text, or the game has no such parameter.
    InvalidGameError
        If `spec` cannot be read, or a value is not what its parameter takes.

    Examples
    --------
    >>> load_game("leduc:ranks=6,suits=2", merge_suits=True).parameters["ranks"]
    6
    """
    if not isinstance(spec, str):
        raise UnknownGameError(f"{shown(spec)} is no game's name; expected text such as 'leduc:ranks=6'")
    name, colon, text = (part.strip() for part in spec.partition(":"))
    family = _family(name)
    values: dict[str, Any] = _read(family, text) if colon else {}
    for key in parameters:
        _check_known(family, key)
    return family.game(values | parameters)


def _family(name: str) -> Family:
    known = {family.name: family for family in _FAMILIES}
    if name not in known:
        listed = ", ".join(known)
        raise UnknownGameError(f"unknown game {_quoted(name)}{_nearest(name, known)}; expected one of {listed}")
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
        expected = f"expected one of {', '.join(known)}" if known else "it takes none"
        raise UnknownGameError(f"{family.name}: unknown parameter {_quoted(key)}{_nearest(key, known)}; {expected}")


def _nearest(name: str, known: Any) -> str:
    import difflib

    nearest = difflib.get_close_matches(name.lower().replace("-", "_"), list(known), n=1)
    return f" (did you mean {nearest[0]}?)" if nearest else ""


def _quoted(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")
