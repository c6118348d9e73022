"""Files of strategies: the library's archives and text, and the text formats of OpenSpiel, Gambit and others."""

import codecs
import csv
import io
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .arrays import Floats
from .errors import GameFileError, InvalidStrategyError, one_line, shown
from .interchange.encoding import decode_number, from_json, to_json
from .interchange.files import (
    csv_text,
    read_archive,
    read_bytes,
    reason_of,
    refusing_damaged,
    regular_size,
    write_archive,
    writing_whole,
)
from .interchange.python_text import from_python_text
from .labels import check_one_text
from .polytope import Treeplex
from .sequence_form import HasSequenceForm, SequenceForm, sequence_form_of

FORMAT = "treeplex strategies"
VERSION = 1
#: The suffixes of file names.
SUFFIXES = (".npz", ".json", ".csv")
#: The columns of a behaviour table; further columns are ignored.
COLUMNS = ("player", "infoset", "action", "probability")
#: Bytes of memory per byte of text.
_EXPANSION = 12
#: The first bytes of every zip archive, and so of every .npz file.
_ARCHIVE = b"PK"
#: The message for a file that cannot be read.
_DAMAGED = "is not a strategy file, or is damaged"
#: The start of Gambit's line for an equilibrium.
_GAMBIT = b"NE,"
#: A path followed by the number of an equilibrium in the file.
_NUMBERED = re.compile(r"(.+):([1-9][0-9]{0,8})")
#: A pattern that occurs in data printed by Python, but not in JSON.
_PYTHON = re.compile(r"[('/]")


class Behaviours(NamedTuple):
    """The contents of a file.

    Attributes
    ----------
    vectors : dict of int to ndarray of float64
        By player, the probability of each sequence's action at its infoset.
    left_out : dict of int to int
        By player, the number of infosets that the file omits: the vectors are uniform there.
    equilibria : int
        The number of Gambit's lines in the file, one of which is read; 1 in other formats.
    corrected : float
        The largest deviation of an infoset's sum from 1, if probabilities were divided by their sum.
    """

    vectors: dict[int, Floats]
    left_out: dict[int, int]
    equilibria: int = 1
    corrected: float = 0.0


class Entry(NamedTuple):
    """The data for one infoset, given by label or number; if the player is ``None``, it follows from the infoset."""

    player: int | None
    infoset: str | int
    played: Mapping[str, Any] | Sequence[Any]


@dataclass(frozen=True)
class _Names:
    """A player's infosets and actions by their labels as strings."""

    player: int
    treeplex: Treeplex
    numbers: dict[str, int]
    legal: Callable[[int, Hashable], Sequence[int] | None] | None

    @classmethod
    def of(cls, player: int, treeplex: Treeplex, game: Any) -> "_Names":
        numbers = {str(label): number for number, label in enumerate(treeplex.infoset_labels)}
        return cls(player, treeplex, numbers, getattr(getattr(game, "rules", None), "legal_numbers", None))

    def infoset(self, text: str | int) -> int:
        """Return the number of the only infoset whose label is a given string, or check a number."""
        labels = self.treeplex.infoset_labels
        if isinstance(text, int):
            if text >= len(labels):
                raise InvalidStrategyError(f"player {self.player} has only {len(labels)} infosets")
            return text
        if len(self.numbers) < len(labels):
            check_one_text(text, labels, f"player {self.player}", InvalidStrategyError)
        if text not in self.numbers:
            raise self.treeplex.unknown_infoset(self.player, text)
        return self.numbers[text]

    def probabilities(self, infoset: int, played: Mapping[str, Any] | Sequence[Any]) -> list[float]:
        """Return the probabilities of an infoset's actions, in order.

        They are read from ``{action: p}``, ``[[number, p], …]`` or, in the order of the actions, ``[p, …]``.
        """
        actions, label = self.treeplex.action_labels[infoset], self.treeplex.infoset_labels[infoset]
        where = f"infoset {shown(label)}"
        if not isinstance(played, Mapping):
            if isinstance(played, list) and played and not any(isinstance(each, list) for each in played):
                if len(played) != len(actions):
                    raise InvalidStrategyError(f"{where} has {len(played)} probabilities, expected {len(actions)}")
                return [_probability(each, where) for each in played]
            legal = None if self.legal is None else self.legal(self.player, label)
            return _by_number(played, len(actions), where, legal)
        found: dict[Hashable, float] = {}
        named = self.treeplex.actions_by_name(infoset)
        for name, probability in played.items():
            if name not in named:
                raise InvalidStrategyError(
                    f"{where} has no action {shown(name)}, expected one of {shown(list(map(str, actions)))}"
                )
            check_one_text(name, actions, where, InvalidStrategyError)
            (action,) = named[name]
            if action in found:
                raise InvalidStrategyError(f"{where} has {shown(name)} as well as another name for that action")
            found[action] = _probability(probability, where)
        return [found.get(action, 0.0) for action in actions]


def _by_number(pairs: Any, count: int, where: str, legal: Sequence[int] | None) -> list[float]:
    """Return probabilities in the order of all actions' numbers, as in OpenSpiel's tables.

    OpenSpiel's Python tables have all actions of the game; actions that are not `legal` have probability 0.
    """
    try:
        found = {int(number): probability for number, probability in pairs}
    except (TypeError, ValueError):
        found = {}
    if legal is not None and set(legal) < set(found):
        for number in sorted(set(found) - set(legal)):
            if _probability(found.pop(number), where) != 0.0:
                raise InvalidStrategyError(f"{where} has a probability for action {number}, expected {list(legal)}")
    if len(found) != count:
        raise InvalidStrategyError(
            f"{where} has {shown(pairs)}, expected a mapping of actions to probabilities, or one pair (number, "
            f"probability) for each of its {count} actions"
        )
    return [_probability(found[number], where) for number in sorted(found)]


def _probability(value: Any, where: str) -> float:
    try:
        return float(decode_number(value))
    except (GameFileError, OverflowError):
        raise InvalidStrategyError(f"{where} has the probability {shown(value)}, expected a number") from None


# Reading


def read_strategies(path: str | Path, game: HasSequenceForm | SequenceForm, *, normalise: bool = False) -> Behaviours:
    """Read strategies; the first bytes of the file determine its format.

    Parameters
    ----------
    path : path-like
        An archive (.npz) or JSON that :func:`write_strategies` wrote; JSON ``{player: {infoset: {action:
        probability}}}``; a table (.csv) with the columns ``player``, ``infoset``, ``action`` and ``probability``; an
        OpenSpiel table, ``{infoset: [[number of the action, probability], …]}``, as JSON or as Python prints it; a
        profile as pygambit prints it, ``[[[1/3, 2/3], …], …]``; or Gambit's lines, ``NE,1/3,2/3,…``, of behaviour
        probabilities, player after player. Of these the first is read, or the N-th for ``PATH:N``.
    game : Game or SequenceForm
        The game of the strategies. OpenSpiel's tables that include illegal actions need a ``Game``.
    normalise : bool
        Whether to divide the probabilities of each infoset by their sum, for example if they are rounded.

    Returns
    -------
    Behaviours
        The probabilities in the file, unless normalised; their sums are not checked.

    Raises
    ------
    InvalidStrategyError
        If the file cannot be read, or is for another game.
    GameTooLargeError
        If the file may take more memory than the budget for building a game.
    """
    form = sequence_form_of(game)
    path, number = numbered(path)
    with refusing_damaged(path, _DAMAGED, InvalidStrategyError, "strategies"):
        try:
            found = _read(path, number, game)
            return _normalised(found, form) if normalise else found
        except InvalidStrategyError as error:
            raise InvalidStrategyError(f"{one_line(str(path))}: {error}") from None


def numbered(path: str | Path) -> tuple[str | Path, int | None]:
    """Split ``PATH:N``, unless it is a file, into the path and the number of an equilibrium, counted from 1.

    Examples
    --------
    >>> from treeplex.seqform.strategy_files import numbered
    >>> numbered("poker.ne:2"), numbered("poker.ne")
    (('poker.ne', 2), ('poker.ne', None))
    """
    parts = _NUMBERED.fullmatch(str(path))
    return (path, None) if parts is None or Path(path).exists() else (parts[1], int(parts[2]))


def _read(path: str | Path, number: int | None, game: HasSequenceForm | SequenceForm) -> Behaviours:
    """Read a file in the format that its first bytes determine."""
    start, form = _start(path), sequence_form_of(game)
    if start.startswith(_GAMBIT):
        return _read_gambit(read_bytes(path, _EXPANSION).decode("utf-8-sig"), form, number)
    if number not in (None, 1):
        raise InvalidStrategyError(f"equilibrium {number} was requested, but only Gambit's NE,… lines contain several")
    if start.startswith(_ARCHIVE):
        return _read_archive(path, form)
    text = read_bytes(path, _EXPANSION).decode("utf-8-sig")
    return _collected(_entries_of_json(text, form) if start[:1] in (b"{", b"[") else _entries_of_table(text), game)


def _normalised(found: Behaviours, form: SequenceForm) -> Behaviours:
    """Divide the probabilities of each infoset by their sum.

    Raises
    ------
    InvalidStrategyError
        If one is negative, or all are 0.
    """
    corrected, vectors = 0.0, {}
    for player, vector in found.vectors.items():
        treeplex = form.treeplexes[player]
        if not treeplex.num_infosets or vector.shape != (treeplex.num_sequences,):
            vectors[player] = vector
            continue
        totals = np.add.reduceat(vector, treeplex.offsets[:-1])
        sound = (totals > 0.0) & np.isfinite(totals) & (np.minimum.reduceat(vector, treeplex.offsets[:-1]) >= 0.0)
        if not sound.all():
            infoset = int(np.argmin(sound))
            first, last = treeplex.offsets[infoset : infoset + 2].tolist()
            raise InvalidStrategyError(
                f"player {player}: infoset {shown(treeplex.infoset_labels[infoset])} has probabilities "
                f"{shown(vector[first:last].tolist())}, expected non-negative numbers that are not all 0"
            )
        corrected = max(corrected, float(np.abs(totals - 1.0).max()))
        vectors[player] = np.append(1.0, vector[1:] / np.repeat(totals, treeplex.num_actions))
    return found._replace(vectors=vectors, corrected=corrected)


def parse_json(text: str, game: HasSequenceForm | SequenceForm) -> Behaviours:
    """Return the result of :func:`read_strategies` for a JSON string.

    Raises
    ------
    InvalidStrategyError
    """
    try:
        return _collected(_entries_of_json(text, sequence_form_of(game)), game)
    except (GameFileError, KeyError, TypeError, AttributeError) as error:
        hint = "" if text.lstrip()[:1] in ("{", "[") else "; Profile.load(path, game) reads a file"
        raise InvalidStrategyError(f"the string does not contain strategies: {one_line(str(error))}{hint}") from None


def game_of(path: str | Path) -> str:
    """Return the game named in a strategy file, as on the command line; empty if no game is named.

    Raises
    ------
    InvalidStrategyError
    """
    with refusing_damaged(path, _DAMAGED, InvalidStrategyError, "strategies"):
        start = _start(path)
        if start.startswith(_ARCHIVE):
            return str(read_archive(path)[0].get("game", ""))
        content = from_json(read_bytes(path, _EXPANSION)) if start[:1] == b"{" else {}
        return str(content.get("game", "")) if content.get("format") == FORMAT else ""


def _start(path: str | Path) -> bytes:
    """Return the first bytes of a file, without leading whitespace and byte order mark."""
    regular_size(path)
    with Path(path).open("rb") as file:
        return file.read(64).removeprefix(codecs.BOM_UTF8).lstrip()


def _check_header(header: Mapping[str, Any], form: SequenceForm) -> None:
    """Raise an error if the file does not contain strategies of the game."""
    if header["format"] != FORMAT or header["version"] != VERSION:
        raise InvalidStrategyError(
            f"the file has format {shown(header['format'])} version {shown(header['version'])}, "
            f"expected {FORMAT!r} version {VERSION}, as written by 'treeplex solve --out' and Profile.save"
        )
    name, found = one_line(str(header["game"])) or "unnamed", one_line(str(header["fingerprint"]))
    if found != form.fingerprint:
        raise InvalidStrategyError(
            f"it contains strategies of another game ({name}): its fingerprint is {found}, expected {form.fingerprint}"
        )


def _read_archive(path: str | Path, form: SequenceForm) -> Behaviours:
    metadata, vectors = read_archive(path)
    _check_header(metadata, form)
    players = sorted(int(player) for player in metadata["players"])
    # A one-player game is solved with an added second player who has no decisions.
    players = [one for one in players if one < form.num_players or len(vectors[f"behaviour_{one}"]) > 1]
    return Behaviours({player: vectors[f"behaviour_{player}"] for player in players}, dict.fromkeys(players, 0))


def _content_of(text: str) -> Any:
    """Parse JSON, or data printed by Python."""
    try:
        return from_json(text)
    except GameFileError:
        if not _PYTHON.search(text):  # then it should be JSON
            raise
        return from_python_text(text)


def _entries_of_json(text: str, form: SequenceForm) -> Iterator[Entry]:
    content = _content_of(text)
    if not isinstance(content, dict | list):
        raise GameFileError(f"it is {shown(content)}, expected an object, or a list of one object per player")
    if isinstance(content, dict) and "format" in content:
        _check_header(content, form)
        content = content["strategies"]
    if isinstance(content, list):
        content = {str(player): each for player, each in enumerate(content)}
        by_place = bool(content) and all(isinstance(each, list) for each in content.values())
    else:  # pygambit 17 uses players' labels; a row of OpenSpiel's table is not a list of dictionaries
        by_place = bool(content) and all(_are_dictionaries(each) for each in content.values())
    if by_place:
        if len(content) != form.num_players:
            raise InvalidStrategyError(f"it contains lists of {len(content)} players, expected {form.num_players}")
        for player, infosets in enumerate(content.values()):
            yield from (Entry(player, number, played) for number, played in enumerate(infosets))
        return
    seats = [str(player) for player in range(form.num_players)]
    whole = all(isinstance(each, dict) and key in seats for key, each in content.items())
    for key, each in content.items():
        if whole:
            yield from (Entry(int(key), infoset, played) for infoset, played in each.items())
        else:
            yield Entry(None, key, each)


def _are_dictionaries(infosets: Any) -> bool:
    return isinstance(infosets, list) and bool(infosets) and all(isinstance(each, dict) for each in infosets)


def _entries_of_table(text: str) -> Iterator[Entry]:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    if rows.fieldnames is None or not set(COLUMNS) <= set(rows.fieldnames):
        raise GameFileError(
            f"its first line is {shown(text.partition(chr(10))[0])}, expected a table with the columns "
            f"{', '.join(COLUMNS)}, JSON, an archive (.npz) or Gambit's {_GAMBIT.decode()}…"
        )
    found: dict[tuple[int, str], dict[str, Any]] = {}
    for row in rows:
        player, infoset, action, probability = (row[name] for name in COLUMNS)
        if not (player or "").isdecimal():
            raise GameFileError(f"player is {shown(player)}, expected a whole number of at least 0", rows.line_num)
        played = found.setdefault((int(player), infoset), {})
        if action in played:
            raise GameFileError(f"action {shown(action)} of infoset {shown(infoset)} occurs twice", rows.line_num)
        played[action] = probability
    for (seat, label), shares in found.items():
        yield Entry(seat, label, shares)


def _collected(entries: Iterable[Entry], game: HasSequenceForm | SequenceForm) -> Behaviours:
    form = sequence_form_of(game)
    names = [_Names.of(player, treeplex, game) for player, treeplex in enumerate(form.treeplexes)]
    vectors: dict[int, Floats] = {}
    seen: dict[int, set[int]] = {}
    for player, text, played in entries:
        if player is None:
            holders = [each for each in names if text in each.numbers]
            if len(holders) != 1:
                many = "several players have" if holders else "no player has"
                raise InvalidStrategyError(f"{many} an infoset {shown(text)}")
            whose = holders[0]
        elif player < len(names):
            whose = names[player]
        else:
            raise InvalidStrategyError(f"player is {player}, expected 0 to {len(names) - 1}")
        infoset = whose.infoset(text)
        if whose.player not in vectors:
            vectors[whose.player], seen[whose.player] = whose.treeplex.uniform_behaviour(), set()
        if infoset in seen[whose.player]:
            raise InvalidStrategyError(f"infoset {shown(text)} of player {whose.player} occurs twice")
        seen[whose.player].add(infoset)
        first, last = whose.treeplex.offsets[infoset : infoset + 2].tolist()
        vectors[whose.player][first:last] = whose.probabilities(infoset, played)
    if not vectors:
        raise InvalidStrategyError("contains no strategy")
    left_out = {player: form.treeplexes[player].num_infosets - len(each) for player, each in seen.items()}
    return Behaviours(dict(sorted(vectors.items())), dict(sorted(left_out.items())))


def _read_gambit(text: str, form: SequenceForm, number: int | None) -> Behaviours:
    """Read ``NE,…``: the probabilities of all players' actions, infosets in the order of a depth-first walk."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for place, line in enumerate(lines, start=1):
        if not line.startswith(_GAMBIT.decode()):
            raise InvalidStrategyError(f"line {place} is {shown(line, 60)}, expected {_GAMBIT.decode()}… in each line")
    if not 1 <= (number or 1) <= len(lines):
        raise InvalidStrategyError(f"equilibrium {number} was requested, expected 1 to {len(lines)}")
    numbers = lines[(number or 1) - 1].split(",")[1:]
    sizes = [treeplex.num_sequences - 1 for treeplex in form.treeplexes]
    if len(numbers) != sum(sizes):
        raise InvalidStrategyError(
            f"an equilibrium has {len(numbers)} probabilities, expected {sum(sizes)}: one per action and infoset"
        )
    values = np.array([_probability(number.strip(), "Gambit's line") for number in numbers])
    parts = np.split(values, np.cumsum(sizes)[:-1])
    return Behaviours(
        {player: np.append(1.0, part) for player, part in enumerate(parts)},
        dict.fromkeys(range(len(parts)), 0),
        1 if number else len(lines),
    )


# Writing


def write_strategies(path: str | Path, game: str, form: SequenceForm, vectors: Mapping[int, Floats]) -> None:
    """Write strategies in the format that the suffix names: ``.json``, ``.csv``, or ``.npz`` (also without suffix).

    Parameters
    ----------
    path : path-like
    game : str
        The game, as on the command line.
    form : SequenceForm
    vectors : mapping of int to ndarray
        By player, the probability of each sequence's action.

    Raises
    ------
    InvalidStrategyError
        If the file cannot be written, the suffix is none of these, or different labels become the same string, which
        would be ambiguous.
    InvalidGameError
        If the game has no fingerprint.
    """
    named = one_line(str(path))
    try:
        suffix = Path(path).suffix.lower()
        if suffix in ("", ".npz"):
            header = {**_header(game, form), "players": list(vectors)}
            write_archive(path, header, {f"behaviour_{player}": vector for player, vector in vectors.items()})
        elif suffix in _WRITERS:
            content = _WRITERS[suffix](game, form, vectors)
            with writing_whole(path) as passing:
                passing.write_text(content, encoding="utf-8", newline="")
        else:
            raise InvalidStrategyError(
                f"{named} cannot be written: expected a name that ends in .npz, {' or '.join(_WRITERS)}"
            )
    except InvalidStrategyError:  # a ValueError too
        raise
    except (OSError, TypeError, ValueError) as error:  # no such folder, not a path, a zero byte in the path
        raise InvalidStrategyError(f"{named} cannot be written: {reason_of(error)}") from None


def _header(game: str, form: SequenceForm) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, "game": game, "fingerprint": form.fingerprint}


def format_json(game: str, form: SequenceForm, vectors: Mapping[int, Floats]) -> str:
    """Return strategies as JSON, one line per infoset; see :func:`write_strategies`."""
    strategies = []
    for player, vector in vectors.items():
        lines = [f"   {to_json(infoset)}: {to_json(played)}" for infoset, played in _texts(player, form, vector)]
        strategies.append(f'  "{player}": {{\n' + ",\n".join(lines) + "\n  }")
    header = to_json(_header(game, form)).removesuffix("}")
    return f'{header},\n "strategies": {{\n' + ",\n".join(strategies) + "\n }}\n"


def format_csv(game: str, form: SequenceForm, vectors: Mapping[int, Floats]) -> str:
    """Return strategies as a table, one line per action; see :func:`write_strategies`."""
    rows = (
        dict(zip(COLUMNS, (player, infoset, action, repr(share)), strict=True))
        for player, vector in vectors.items()
        for infoset, played in _texts(player, form, vector)
        for action, share in played.items()
    )
    return csv_text(COLUMNS, rows)


_WRITERS: dict[str, Callable[[str, SequenceForm, Mapping[int, Floats]], str]] = {
    ".json": format_json,
    ".csv": format_csv,
}


def _texts(player: int, form: SequenceForm, vector: Floats) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield a player's infosets and the probabilities of their actions, by their labels as strings."""
    treeplex = form.treeplexes[player]
    _check_texts(treeplex.infoset_labels, f"player {player}")
    for number, label in enumerate(treeplex.infoset_labels):
        first, last = treeplex.offsets[number : number + 2].tolist()
        actions = treeplex.action_labels[number]
        _check_texts(actions, f"infoset {shown(label)}")
        yield str(label), dict(zip(map(str, actions), vector[first:last].tolist(), strict=True))


def _check_texts(labels: Sequence[Hashable], where: str) -> None:
    if len({str(label) for label in labels}) < len(labels):
        for label in labels:
            check_one_text(str(label), labels, where, InvalidStrategyError)
