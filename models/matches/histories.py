"""Hand histories in the PHH format, read as a stream: memory does not grow with the file."""

import difflib
import gzip
import os
import re
import tomllib
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from ...seqform.errors import PlayLogError, one_line, shown
from ...seqform.interchange.signatures import foreign_file
from ..play.batches import BadLines, batches, reading, refuse_foreign
from ..play.lines import LONGEST, BadLineError
from .formats import BY_LINE, KINDS, ORIGINS, fields_of, format_of
from .replay import Hand, Replay, amount_of
from .table import Chips, Table

#: The suffixes of hand history files, and those of files that may contain hands of other programs.
SUFFIXES = (".phh", ".phhs", ".phh.gz", ".phhs.gz")
_OTHERS = (".txt", ".log", ".json", ".jsonl", ".txt.gz", ".log.gz", ".json.gz", ".jsonl.gz")
_SLUMBOT = re.compile(rb"\s*\{[^\n]*\"client_pos\"")
#: Number of files examined for other programs' formats in a folder without hand histories.
_LOOKED_AT = 20
#: Number of bytes by which other formats are recognised.
_HEAD = 4096
#: The largest number of players in a hand.
MOST_PLAYERS = 10
_ATOM = r"""(?:true|false|inf|[+-]?[0-9][0-9_.:]*|'[^'\x00-\x08\x0a-\x1f\x7f]*'|"[^"\\\x00-\x08\x0a-\x1f\x7f]*")"""
#: A line in the usual form; other lines are parsed by Python's TOML parser.
_LINE = re.compile(rf"([A-Za-z0-9_]+)[ \t]*=[ \t]*({_ATOM}|\[(?:{_ATOM}(?:, ?{_ATOM})*)?\])[ \t\r]*")
_NUMBER = re.compile(rb"hand[ \t]*=[ \t]*([0-9]+|'[^']+'|\"[^\"]+\")[ \t]*(?:#.*)?\r?")
_STARS = re.compile(rb"(?:\xef\xbb\xbf)?PokerStars [^\n]*?#([0-9]+)")
#: A line before a hand in a transcript of PokerStars.
_NUMBERED = re.compile(rb"\*{5,} # [0-9]+ \*{5,}")
_HEADER = re.compile(rb"\[[^\[\],=]+\][ \t]*(?:#.*)?\r?")
#: Keys of other variants of the format that would change the winnings.
_OTHER_GAMES = ("bring_in", "small_bet", "big_bet")
_WANTED = frozenset(
    (
        *("variant", "antes", "blinds_or_straddles", "min_bet", "starting_stacks", "actions", "players"),
        *("finishing_stacks", "winnings", "ante_trimming_status", *_OTHER_GAMES),
    )
)
#: The keys of the format; other keys begin with an underscore.
_KEYS = _WANTED | frozenset(
    (
        *("author", "event", "url", "venue", "address", "city", "region", "postal_code", "country", "time"),
        *("time_zone", "time_zone_abbreviation", "day", "month", "year", "hand", "level", "seats", "seat_count"),
        *("table", "currency", "currency_symbol", "time_limit", "time_banks"),
    )
)
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(eq=False)
class HandHistories:
    """An iterable over the hands of a PHH file, or of all PHH files of a folder.

    Parameters
    ----------
    source : path-like or binary file
        A file with one hand (``.phh``) or many (``.phhs``), possibly compressed with gzip; a folder, whose files with
        these suffixes are read in order, including subfolders; or any object with a method ``read``.
    skip_bad : bool
        Skip and count hands that cannot be read, or are not no-limit hold'em; by default the first one raises an error.
        A file of another program is always an error, unless other files in its folder can be read.
    progress : callable, optional
        Called occasionally with the number of lines so far and the fraction of the files read, from 0 to 1, or ``None``
        if the size is unknown.

    Attributes
    ----------
    num_hands, num_lines : int
        Numbers read so far.
    origin : str
        The other program whose format the last hand had, for messages; empty for PHH.
    bad : tuple of BadLines
        The skipped hands so far, by kind, with the line at which the first one begins; if the source is a folder, its
        message names the file.

    Raises
    ------
    PlayLogError
        During iteration, if the file does not exist or a hand cannot be read. The message names the file, the hand, and
        the line at which it begins, which is also its attribute ``line``.
    MissingExtraError
        During iteration, if pokerkit is not installed.

    Notes
    -----
    The format is defined by Juho Kim, "Recording and describing poker hands", IEEE Conference on Games 2024; this is
    its variant ``NT``. pokerkit replays the betting: posts, turns, and the limits of bets and raises. A player who has
    acted may raise again after a short all-in. Hole cards may be unknown (``????``).

    Examples
    --------
    >>> import io
    >>> from treeplex.models.matches import HandHistories
    >>> file = io.BytesIO(b'''variant = 'NT'
    ... antes = [0, 0]
    ... blinds_or_straddles = [1, 2]
    ... min_bet = 2
    ... starting_stacks = [200, 200]
    ... actions = ['d dh p1 ????', 'd dh p2 AcAd', 'p2 cbr 6', 'p1 f']
    ... players = ['them', 'us']
    ... ''')
    >>> (hand,) = HandHistories(file)
    >>> hand.players, hand.history, hand.won
    (('them', 'us'), ((0, 1, 'raise 6'), (0, 0, 'fold')), (-2, 2))
    """

    source: str | os.PathLike[str] | BinaryIO | Sequence[str | os.PathLike[str]]
    skip_bad: bool = False
    progress: Callable[[int, float | None], None] | None = None
    table: Table = field(default_factory=Table)

    def __post_init__(self) -> None:
        self.num_hands = self.num_lines = 0
        self._name = self.origin = ""
        self._bad: dict[str, BadLines] = {}

    @property
    def bad(self) -> tuple[BadLines, ...]:
        """The skipped lines, by kind."""
        return tuple(self._bad.values())

    def place(self, hand: Hand) -> str:
        """Return the file and the line of the hand that was read last."""
        return f"{self._name}:{hand.line}" if self._name else f"line {hand.line}"

    def __iter__(self) -> Iterator[Hand]:
        self.__post_init__()
        several = isinstance(self.source, list | tuple)
        given: Any = self.source if several else [self.source]
        sources = [one for each in given for one in self._sources(each)]
        for number, source in enumerate(sources):
            self._name = "" if hasattr(source, "read") else one_line(os.fspath(source))
            self._within = f"{self._name}: " if len(sources) > 1 else ""
            self._before, self._done = self.num_lines, (number, len(sources))
            yield from self._hands(source)
        if not self.num_hands:
            refuse_foreign(sources, KINDS)

    @staticmethod
    def _sources(source: Any) -> list[Any]:
        try:
            if hasattr(source, "read") or not Path(source).is_dir():
                return [source]
        except (OSError, TypeError, ValueError):
            return [source]  # opening it reports the problem
        found = sorted(filter(_has_hands, Path(source).rglob("*")))
        if not found:
            name = one_line(os.fspath(source))
            others = (foreign_file(path, unpack=True) for path in sorted(Path(source).rglob("*"))[:_LOOKED_AT])
            foreign = next(filter(None, others), None)
            hint = "" if foreign is None else f" (there is {foreign.kind}: {foreign.advice})"
            raise PlayLogError(f"{name}: no hand histories in this folder, expected {', '.join(SUFFIXES)}{hint}")
        return found

    def _hands(self, source: Any) -> Iterator[Hand]:
        with reading(source, "hand histories", KINDS) as file:
            block: list[bytes] = []
            begun, size, header, form = 1, 0, b"", ""
            try:
                for lines, _ in batches(file, self._report if self.progress else None):
                    for number, line in enumerate(lines, self.num_lines - self._before + 1):
                        found = format_of(line)
                        if found or form in BY_LINE or (line[:1] == b"[" and _HEADER.fullmatch(line)):
                            yield from self._read(block, begun, size, header, form)
                            block, begun, size, form = [line] if found else [], number, 0, found
                            header = line if line[:1] == b"[" else b""
                            block += [line] if not found and not header else []
                        elif size <= LONGEST:
                            block.append(line)
                        size += len(line) + 1
                    self.num_lines += len(lines)
                yield from self._read(block, begun, size, header, form)
            except (EOFError, zlib.error) as error:
                last = self.num_lines - self._before
                message = f"its compression is damaged after line {last}: {one_line(str(error)).lower()}"
                self._skip(BadLineError("damaged", message), last + 1)

    def _report(self, lines: int, part: float | None) -> None:
        number, count = self._done
        assert self.progress is not None
        self.progress(self._before + lines, None if part is None else (number + part) / count)

    def _read(self, block: list[bytes], line: int, size: int, header: bytes, form: str) -> Iterator[Hand]:
        """Yield the hand described by the lines after a header, if there is one."""
        if not form and all(one.lstrip()[:1] in (b"", b"#") or _NUMBERED.match(one) for one in block):
            return
        try:
            if size > LONGEST:
                raise BadLineError("too long", f"the hand is longer than {LONGEST:,} bytes")
            self.origin = ORIGINS.get(form, "")
            fields = fields_of(form, block, self.table) if form else {}
            if fields is None:
                return
            hand = _hand(fields, line) if form else read_hand(block, line)
        except BadLineError as error:
            origin = f" ({self.origin})" if self.origin else ""
            self._skip(BadLineError(error.kind, f"{_called(header, block)}{error}{origin}"), line)
        else:
            self.num_hands += 1
            yield hand

    def _skip(self, error: BadLineError, line: int) -> None:
        message = str(error)
        if not self.skip_bad:
            raise PlayLogError(message, line)
        before = self._bad.setdefault(error.kind, BadLines(error.kind, 0, line, self._within + message))
        self._bad[error.kind] = replace(before, count=before.count + 1)


def _has_hands(path: Path) -> bool:
    """Whether a file in a folder contains hands, by its suffix or its first bytes."""
    name = path.name.lower()
    if name.endswith(SUFFIXES):
        return True
    if not name.endswith(_OTHERS) or not path.is_file():
        return False
    try:
        with (gzip.open if name.endswith(".gz") else open)(path, "rb") as file:
            head = file.read(_HEAD)
    except (OSError, EOFError, zlib.error):
        return False
    found = set(map(format_of, head.split(b"\n")))
    return bool(found & {"pokerstars", "acpc"}) or _SLUMBOT.match(head) is not None


def read_hand(lines: list[bytes], line: int = 1) -> Hand:
    """Return the hand described by some lines of a file.

    Parameters
    ----------
    lines : list of bytes
        Without their line breaks, and without the table's header.
    line : int
        The number of the first line.

    Raises
    ------
    BadLineError
        If they do not describe a hand, or the rules do not allow it.
    """
    try:
        text = b"\n".join(lines).decode().removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        byte = f"byte {error.start + 1} is {error.object[error.start]:#04x}"
        raise BadLineError("no TOML", f"{byte}, expected UTF-8 text") from None
    fields = _quick(text)
    if fields is None:
        fields = _with_toml(text, line)
    return _hand(fields, line)


def _called(header: bytes, lines: list[bytes]) -> str:
    """Return the name of a hand in errors: its table header, and its number from the poker room."""
    names = [header.partition(b"]")[0].lstrip(b"[")] if header else []
    names += [found[1].strip(b"'\"") for found in map(_NUMBER.fullmatch, lines) if found][:1]
    names += [found[1] for found in map(_STARS.match, lines[:1]) if found]
    said = list(dict.fromkeys(one_line(name.decode(errors="replace"), 40) for name in names))
    return f"hand {' ('.join(said)}{')' * (len(said) - 1)}: " if said else ""


def _quick(text: str) -> dict[str, Any] | None:
    """Return the values of simple lines; ``None`` if a line has another form."""
    fields: dict[str, Any] = {}
    for line in text.split("\n"):
        found = _LINE.fullmatch(line)
        if found is None:
            if line.strip(" \t\r"):
                return None
            continue
        key, value = found.groups()
        if key in fields:
            return None
        fields[key] = value
    for key in _WANTED & fields.keys():
        value = fields[key]
        if key in ("actions", "players"):
            quote = value[1]
            items = value[2:-2].split(f"{quote}, {quote}")
            if quote not in "'\"" or value[-2] != quote or value.count(quote) != 2 * len(items):
                return None
            fields[key] = items
        elif value[0] == "[":
            fields[key] = _numbers(value)
        elif value[0] in "'\"":
            fields[key] = value[1:-1]
    return fields


@lru_cache(maxsize=4096)
def _numbers(value: str) -> tuple[Any, ...]:
    """Return the items of a list as written; repeated ones are parsed once."""
    return tuple(item.strip() for item in value[1:-1].split(",")) if len(value) > 2 else ()


def _with_toml(text: str, line: int) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=str)
    except RecursionError:
        raise BadLineError("no TOML", "it is nested too deeply") from None
    except ValueError as error:
        reason = one_line(str(error))
        place = _PLACE.search(reason)
        where = f" in line {line + int(place[1]) - 1}, column {place[2]}" if place and place[1] else ""
        reason = _PLACE.sub("", reason)
        raise BadLineError("no TOML", f"not valid TOML: {reason[:1].lower()}{reason[1:]}{where}") from None


def _hand(fields: dict[str, Any], line: int) -> Hand:
    for key in ("variant", "blinds_or_straddles", "starting_stacks", "actions"):
        if key not in fields:
            raise BadLineError("malformed", f"{key} is missing")
    if fields["variant"] != "NT":
        raise BadLineError("other variant", f"the variant is {shown(fields['variant'], 60)}, expected 'NT'")
    for key in _OTHER_GAMES:
        if key in fields and _amount(fields[key], key):
            raise BadLineError("other variant", f"{key} is {fields[key]}, which no-limit hold'em does not have")
    for key in fields:
        if key not in _KEYS:
            _check_key(key)
    stacks = _amounts(fields, "starting_stacks")
    count = len(stacks)
    if not 2 <= count <= MOST_PLAYERS or not all(stacks):
        raise BadLineError("malformed", f"starting_stacks has {count}, expected 2 to {MOST_PLAYERS} stacks above 0")
    antes, blinds = (_amounts(fields, key, count) for key in ("antes", "blinds_or_straddles"))
    least: Any = (
        _amount(fields["min_bet"], "min_bet") if "min_bet" in fields else max(*blinds, *(-blind for blind in blinds))
    )
    if not any(antes) and not any(blinds):
        raise BadLineError("malformed", "blinds_or_straddles and antes are 0, expected blinds or antes")
    if not least:
        raise BadLineError(
            "malformed", f"min_bet is {'0' if 'min_bet' in fields else 'missing'}, expected a bet above 0"
        )
    trimmed = {"true": True, "false": False}.get(str(fields.get("ante_trimming_status", False)).lower())
    if trimmed is None:
        given = shown(fields["ante_trimming_status"], 60)
        raise BadLineError("malformed", f"ante_trimming_status is {given}, expected true or false")
    names: Any = fields.get("players", [""] * count)
    actions: Any = fields["actions"]
    for key, value in (("players", names), ("actions", actions)):
        if value.__class__ is not list or not all(one.__class__ is str for one in value):
            raise BadLineError("malformed", f"{key} is {shown(value, 60)}, expected a list of strings")
    if len(names) != count:
        raise BadLineError("malformed", f"players are {shown(names, 60)}, expected {count} names")
    ended, winnings = (
        _amounts(fields, key, exactly=count) if key in fields else None for key in ("finishing_stacks", "winnings")
    )
    replay = Replay(stacks, antes, blinds, least, trimmed=trimmed)
    number, action = 0, ""
    try:
        for number, action in enumerate(actions, 1):  # noqa: B007
            replay.play(action)
    except BadLineError as error:
        raise BadLineError(error.kind, f"action {number}, {shown(action, 60)}, {error}") from None
    return replay.hand(line, _names(tuple(names)), ended, winnings)


@lru_cache(maxsize=4096)
def _check_key(key: str) -> None:
    """Raise an error for a key that is not part of the format and would change the winnings.

    Raises
    ------
    BadLineError
    """
    if key == "rake":
        raise BadLineError("malformed", "rake is not a key of the format; expected winnings, which are net of rake")
    close = difflib.get_close_matches(key[:100], _WANTED, n=1, cutoff=0.8)
    if close and not key.startswith("_"):
        raise BadLineError("malformed", f"{shown(key, 60)} is not a key of the format (did you mean {close[0]}?)")


@lru_cache(maxsize=4096)
def _names(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return a name for each seat: ``p1``, ``p2`` and so on if it has none, or a duplicate one."""
    visible = [any(letter.isprintable() and not letter.isspace() for letter in name) for name in given]
    unknown = [given.count(name) > 1 or not seen for name, seen in zip(given, visible, strict=True)]
    taken = {name for name, nobody in zip(given, unknown, strict=True) if not nobody}
    found = list(given)
    for seat, nobody in enumerate(unknown):
        if nobody:
            found[seat] = f"p{seat + 1}"
            while found[seat] in taken:
                found[seat] += " (unnamed)"
            taken.add(found[seat])
    return tuple(found)


def _amounts(fields: dict[str, Any], key: str, count: int = 0, exactly: int = 0) -> tuple[Chips, ...]:
    """Return a list of amounts, padded with zeros to a count."""
    given = fields.get(key, ())
    if given.__class__ not in (list, tuple):
        raise BadLineError("malformed", f"{key} is {shown(given, 60)}, expected a list of numbers")
    if len(given) > (exactly or count or MOST_PLAYERS) or len(given) < exactly:
        raise BadLineError("malformed", f"{key} has {len(given)} numbers, expected {exactly or count or MOST_PLAYERS}")
    return (*(_amount(one, key) for one in given), *(0,) * (count - len(given)))


def _amount(given: Any, key: str) -> Chips:
    if given == "inf" and key in ("starting_stacks", "finishing_stacks"):
        return Decimal("inf")
    if given.__class__ not in (int, str):
        raise BadLineError("malformed", f"{key} is {shown(given, 60)}, expected a number")
    try:
        text = given if given.__class__ is str else str(given)
        if text[:1] == "-" and key == "blinds_or_straddles":  # the post of a player who joins
            return -amount_of(text[1:])
        return amount_of(text.removeprefix("+"))
    except ValueError as error:
        raise BadLineError("malformed", f"{key} {error}") from None
