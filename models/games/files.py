"""Games outside the registry: files, and OpenSpiel's games."""

import re
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...seqform import interchange
from ...seqform.errors import GameFileError, TreeplexError, UnknownGameError, nearest, one_line, shown
from ...seqform.grammar import Grammar

if TYPE_CHECKING:
    from ...seqform.game import Game
    from ...seqform.interchange.toml_table import Table

#: The prefix of names of OpenSpiel games.
OPENSPIEL = "openspiel"


class Format(NamedTuple):
    """A file format for games.

    Attributes
    ----------
    holds : str
        The content of its files.
    reader, writer : str
        The functions of :mod:`treeplex.seqform.interchange` that read and write it, each empty if there is none.
        Declarations are read here, and linear programs are written by their problems.
    binary : bool
        Whether its files are binary.
    """

    holds: str
    reader: str = ""
    writer: str = ""
    binary: bool = False


#: The classes of declared games other than patrols and matrices, by a key that only their files have, and the class of
#: all others.
DECLARED, _SPOT = {"flops": ".holdem.flops_game:FlopsGame"}, ".holdem.spot:HoldemSpot"
#: The kinds of declarations by a key that tells the kind: in words, and the constant that lists all of its keys.
_KINDS = {
    "board": ("a hold'em spot", ".holdem.spot:KEYS"),
    "flops": ("hold'em on several flops", ".holdem.flops_game:KEYS"),
    "payoffs": ("a matrix game", "...seqform.interchange.normal_form:KEYS"),
    "map": ("a patrol", ".patrol.patrol_files:KEYS"),
}
#: The formats by name: their suffixes without the dot.
FORMATS = {
    "efg": Format("the tree", "read_efg", "write_efg"),
    "nfg": Format("the normal form", "read_nfg", "write_nfg"),
    "graphml": Format("the tree", "read_graphml", "write_graphml"),
    "json": Format("the tree", "read_json", "write_json"),
    "npz": Format("the matrices", "read_matrices", "write_matrices", binary=True),
    "csv": Format("a table of payoffs", "read_payoff_table"),
    "toml": Format("a declaration"),
    "mps": Format("a problem's linear program"),
    "lp": Format("a problem's linear program"),
    "dot": Format("a picture", writer="write_dot"),
    "svg": Format("a picture", writer="write_drawing"),
    "png": Format("a picture", writer="write_drawing", binary=True),
    "pdf": Format("a picture", writer="write_drawing", binary=True),
}
#: The formats that games are read from, by suffix.
SUFFIXES = tuple(f".{name}" for name, each in FORMATS.items() if each.reader or each.holds == "a declaration")

_WITH_PARAMETERS = re.compile(
    rf"(.+(?:{'|'.join(map(re.escape, SUFFIXES))})):[^:/\\]*=[^/\\]*", re.IGNORECASE | re.DOTALL
)
_LIKE_A_SUFFIX = re.compile(r"[^=]*\.[a-zA-Z]\w{0,9}", re.DOTALL)


def game_from_elsewhere(spec: str, parameters: Mapping[str, Any], family: bool) -> "Game | None":
    """Return the game if a string names a file or a game of OpenSpiel; otherwise return ``None``.

    Parameters
    ----------
    spec : str
    parameters : mapping
        Must be empty.
    family : bool
        As in :func:`names_file`.
    """
    name, colon, text = spec.partition(":")
    if colon and name.strip().lower() == OPENSPIEL:
        return load_openspiel(text.strip(), parameters)
    return game_from_file(spec, parameters) if names_file(spec, family) else None


def unknown_game(name: str, games: Mapping[str, Any], grammar: Grammar) -> TreeplexError:
    """Return the error for a name that is neither a game of the registry nor a file."""
    (of_textbooks,) = games["textbook"].parameters
    wanted = name.casefold()
    meant = f"textbook:game={wanted}" if wanted in of_textbooks.choices else name
    forms = [*games, f"{OPENSPIEL}:NAME"]
    files = f", or a file ({', '.join(SUFFIXES)})"
    return grammar.unknown_name(name, forms, files, known=[*forms, meant] if meant != name else None, hinted=meant)


def names_file(spec: str, family: bool) -> bool:
    """Return whether a string names a file rather than a game of the registry.

    Parameters
    ----------
    spec : str
    family : bool
        Whether the string begins with the name of a registered game; it then names a file only if that file exists.

    Examples
    --------
    >>> from treeplex.models.games.files import names_file
    >>> names_file("poker.efg", family=False), names_file("poker:cards=4", family=False)
    (True, False)
    """
    if family:
        return Path(spec).suffix.lower() in SUFFIXES and _exists(spec)
    return (
        "/" in spec
        or "\\" in spec
        or _LIKE_A_SUFFIX.fullmatch(spec) is not None
        or _exists(spec)
        or (_WITH_PARAMETERS.fullmatch(spec) is not None)
    )


def _exists(spec: str) -> bool:
    try:
        return bool(spec.strip()) and Path(spec).exists()
    except (OSError, ValueError):  # a name that is too long, or contains a zero byte
        return False


def game_from_file(path: str, parameters: Mapping[str, Any] | None = None) -> "Game":
    """Read a game from a file; its name is the file's without the suffix.

    Parameters
    ----------
    path : str
        ``.efg``, ``.graphml`` and ``.json`` contain trees, ``.nfg`` and ``.csv`` normal forms, ``.npz`` matrices, and
        ``.toml`` a hold'em spot, a patrol or two matrices of payoffs.
    parameters : mapping, optional
        Must be empty.

    Returns
    -------
    Game

    Raises
    ------
    GameFileError
        If the file does not exist, has another suffix or cannot be read, or parameters are given.
    InvalidGameError, ImperfectRecallError
        If its content is not a valid game. Every message names the file.
    """
    from ...seqform.game import Game
    from ...seqform.interchange.files import naming, other_kind
    from ...seqform.interchange.signatures import foreign_file

    given = [f"{key}={one_line(str(value), 40)}" for key, value in (parameters or {}).items()]
    extended = None if _exists(path) else _WITH_PARAMETERS.fullmatch(path)
    if extended is not None:
        given, path = [path[extended.end(1) + 1 :], *given], extended[1]
    with naming(path):
        if given:
            raise GameFileError(f"a game in a file takes no parameters, received {one_line(', '.join(given))}")
        suffix = Path(path).suffix.lower()
        foreign = foreign_file(path)
        if foreign is not None:
            raise GameFileError(str(foreign))
        name = Path(path).stem
        if suffix == ".toml" or (suffix not in SUFFIXES and _is_spot(path)):
            return _game_of_toml(path)
        if suffix not in SUFFIXES:
            _refuse_suffix(path, suffix)
        read = getattr(interchange, FORMATS[suffix[1:]].reader)
        if suffix == ".npz":
            return Game(name, spec=path, sequence_form=read(path))
        try:
            return Game(name, spec=path, tree=read(path).freeze())
        except GameFileError as error:
            named = GameFileError(f"{error}{other_kind(path, 'a game')}")
            named.line, named.column = error.line, error.column
            raise named from None


def _game_of_toml(path: str) -> "Game":
    from ...seqform.game import Game
    from ...seqform.interchange.normal_form import declared_payoffs
    from ...seqform.interchange.toml_table import read_toml
    from .patrol.patrol_files import is_patrol, read_patrol

    declared = read_toml(path)
    marks = ("board", "payoffs", *DECLARED)
    kind = "map" if is_patrol(declared) else next((key for key in marks if key in declared), "") or _kind_of(declared)
    if kind == "payoffs":
        return Game(Path(path).stem, spec=path, tree=declared_payoffs(declared).freeze())
    if kind == "map":
        from .patrol import PatrolGame

        return PatrolGame(read_patrol(path))
    game: Game = _named(DECLARED.get(kind, _SPOT)).from_file(path).game
    return game


def _kind_of(declared: "Table") -> str:
    """Return the kind whose keys are most like those of a declaration that lacks the key of every kind."""
    likeness = {}
    for kind, (_, place) in _KINDS.items():
        known = _named(place)
        likeness[kind] = sum(2 * (key in known) or _is_like(key, known) for key in declared.values)
    best = max(likeness, key=likeness.__getitem__)
    if declared.values and not likeness[best]:
        first = next(iter(declared.values))
        kinds = ", ".join(f"{key} ({what})" for key, (what, _) in _KINDS.items())
        raise declared.error(
            f"unknown key {shown(first, 60)}; expected a declaration with one of the keys {kinds}", first
        )
    return best


def _is_like(key: str, known: Iterable[str]) -> bool:
    return bool(nearest(key, [one for one in known if one[0] == key[:1]]))


def _named(place: str) -> Any:
    """Return an object by its module and name."""
    module, _, name = place.partition(":")
    return getattr(import_module(module, __package__), name)


def _is_spot(path: str) -> bool:
    """Return whether a file with an unknown suffix describes a spot: one of the file's lines sets the board."""
    from ...seqform.interchange.files import regular_size

    try:
        regular_size(path)
        with Path(path).open("rb") as file:
            return re.search(rb"^\s*board\s*=", file.read(2**16), re.MULTILINE) is not None
    except (OSError, ValueError):
        return False


def _refuse_suffix(path: str, suffix: str) -> None:
    from ...seqform.interchange.files import other_kind

    if _exists(path) and Path(path).is_dir():
        raise GameFileError("it is a directory, expected a file")
    hint = other_kind(path, "a game") or nearest(suffix, SUFFIXES)
    said = f"the suffix is {shown(suffix, 40)}{hint}" if suffix else "the name has no suffix"
    raise GameFileError(f"{said}; expected one of {', '.join(SUFFIXES)}")


def load_openspiel(text: str, parameters: Mapping[str, Any] | None = None) -> "Game":
    """Load an OpenSpiel game, named by the string after ``openspiel:``.

    Raises
    ------
    UnknownGameError
        If OpenSpiel has no such game, or parameters are given separately.
    InvalidGameError
        If the game cannot be read, or is of an unsupported kind.
    MissingExtraError
        If OpenSpiel is not installed.
    """
    from ...seqform.interchange.openspiel import openspiel_game

    if parameters:
        raise UnknownGameError(
            f"{OPENSPIEL}: parameters are part of the name, such as 'openspiel:kuhn_poker(players=3)'; received "
            f"{one_line(', '.join(parameters))} separately"
        )
    return openspiel_game(text)
