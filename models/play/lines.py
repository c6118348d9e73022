"""The lines of a play log, one game each: the observer's class in which a game ended."""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NoReturn

from ...seqform.errors import shown
from ...seqform.game import Game
from ...seqform.interchange.encoding import json_ready
from ...seqform.observer import ObserverTree

#: The longest allowed line, in bytes.
LONGEST = 2**20

#: The possible problems of a line.
KINDS = (
    "too long",
    "cut off",
    "damaged",
    "no JSON",
    "malformed",
    "other game",
    "other seat",
    "unknown label",
    "unfinished game",
    "contradiction",
)


class BadLineError(ValueError):
    """A line that cannot be read.

    Parameters
    ----------
    kind : str
        One of :data:`KINDS`.
    message : str
    skippable : bool
        Whether the following lines can be read without it: not after a header of another game.
    """

    def __init__(self, kind: str, message: str, skippable: bool = True) -> None:
        super().__init__(message)
        self.kind = kind
        self.skippable = skippable


def decoded(line: bytes) -> Any:
    """Return the JSON value of a line; ``None`` if it is blank.

    Parameters
    ----------
    line : bytes
        With or without its line break.

    Raises
    ------
    BadLineError
        If it is too long, is not JSON, or is ``null``.

    Examples
    --------
    >>> from treeplex.models.play.lines import decoded
    >>> decoded(b'{"seat": 0}'), decoded(b" ")
    ({'seat': 0}, None)
    """
    if len(line) > LONGEST:
        raise BadLineError("too long", f"it is longer than {LONGEST:,} bytes, expected one game per line")
    try:
        text = line.decode("utf-8").strip("\ufeff \t\r\n")  # concatenated logs may contain byte order marks
    except UnicodeDecodeError as error:
        raise BadLineError(
            "no JSON", f"byte {error.start + 1} is {line[error.start]:#04x}, expected UTF-8 text"
        ) from None
    if not text:
        return None
    try:
        record = _DECODER.decode(text)
    except BadLineError:
        raise
    except json.JSONDecodeError as error:
        reason = error.msg.lower().removesuffix(" at")  # some lines end like this
        raise BadLineError("no JSON", f"it is not JSON: {reason} at column {error.colno}, expected an object") from None
    except RecursionError:
        raise BadLineError("no JSON", "it is nested too deeply, expected an object") from None
    except ValueError:  # an integer with thousands of digits
        raise BadLineError("no JSON", "it contains a number with too many digits, expected an object") from None
    if record is None:
        raise BadLineError("malformed", "it is null, expected an object")
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise BadLineError("malformed", f"the key {shown(twice, 60)} appears twice, expected once")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise BadLineError("no JSON", f"it contains {name}, which is not JSON: expected finite numbers")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)


#: The version of the format in headers.
VERSION = 1
#: The codes of lines without a game.
HEADER, BLANK = -1, -2
_NOTHING: dict[str, Any] = {}
_KEYS = ("seat", "private", "public", "result")
#: Tolerance on a result, in units of the largest payoff: results may have been rounded.
_TOLERANCE = 1e-6

# The others' shown information by seat, and the terminal classes with it, each with its result.
_Endings = dict[tuple[tuple[int, str], ...], list[tuple[float, int]]]


class LogLines:
    r"""The possible lines of one observer's log, and their meaning.

    Parameters
    ----------
    game : Game
    view : ObserverTree
        The observer's view of that game.

    Examples
    --------
    >>> from treeplex import load_game, observer_tree
    >>> from treeplex.models.play import LogLines
    >>> game = load_game("kuhn")
    >>> lines = LogLines(game, observer_tree(game, player=0))
    >>> lines.header
    b'{"treeplex_log":1,"game":"kuhn","parameters":{"players":2,"cards":3}}\n'
    >>> lines.of_class(5)
    b'{"seat":0,"private":"J","public":["p","b","b"],"shown":{"1":"Q"},"result":-2.0}\n'
    >>> lines.read(lines.of_class(5))
    5
    """

    def __init__(self, game: Game, view: ObserverTree) -> None:
        self.game = game
        self.view = view
        self._endings: dict[tuple[str, tuple[str, ...]], _Endings] = {}
        scale = 1.0
        for number in view.terminal.nonzero()[0].tolist():
            result = float(view.results[number])
            scale = max(scale, abs(result))
            ending = self._endings.setdefault((view.private[number], view.public[number]), {})
            ending.setdefault(view.shown[number], []).append((result, number))
        self._tolerance = _TOLERANCE * scale
        # The same by the plain content of a line, for lines in the format written by this class.
        self._quick: dict[tuple[Any, ...], tuple[float, int]] = {
            (private, public, *((str(seat), label) for seat, label in others)): found[0]
            for (private, public), ending in self._endings.items()
            for others, found in ending.items()
            if len(found) == 1
        }
        self._seats = {str(seat): seat for seat in range(view.num_players)}

    @cached_property
    def header(self) -> bytes:
        """The first line, which names the game of the log."""
        return _line({"treeplex_log": VERSION, "game": self.game.name, "parameters": json_ready(self.game.parameters)})

    def of_class(self, number: int) -> bytes:
        """Return the line of a game that ended in a terminal class."""
        view = self.view
        record = {
            "seat": view.player,
            "private": view.private[number],
            "public": view.public[number],
            "shown": {str(seat): label for seat, label in view.shown[number]},
            "result": float(view.results[number]),
        }
        return _line(record)

    def read(self, line: bytes) -> int:
        """Return the class in which a game ended; :data:`HEADER` or :data:`BLANK` for lines without a game.

        Raises
        ------
        BadLineError
            If the line cannot be read, belongs to another game or seat, or contradicts the rules.
        """
        record = decoded(line)
        if record is None:
            return BLANK
        if record.__class__ is not dict:
            raise BadLineError("malformed", f"it is {shown(record, 60)}, expected an object with {_listed(_KEYS)}")
        if "treeplex_log" in record:
            self._check_header(record)
            return HEADER
        return self._class_of(record)

    def _check_header(self, record: dict[str, Any]) -> None:
        version = record["treeplex_log"]
        if version.__class__ is not int or version != VERSION:
            self._refuse_header("malformed", f"has version {shown(version, 60)}, expected {VERSION}")
        name, parameters = record.get("game", self.game.name), record.get("parameters", {})
        if name != self.game.name:
            self._refuse_header("other game", f"is for the game {shown(name, 60)}, expected {shown(self.game.name)}")
        if parameters.__class__ is not dict:
            self._refuse_header("malformed", f"has parameters {shown(parameters, 60)}, expected an object")
        known = json_ready(self.game.parameters)
        for key, value in parameters.items():
            if key not in known:
                wrong = f"has the parameter {shown(key, 60)}, which {self.game.spec} does not have"
                self._refuse_header("other game", wrong)
            if value.__class__ is not known[key].__class__ or value != known[key]:
                wrong = f"has {key} = {shown(value, 60)}, but {self.game.spec} has {shown(known[key], 60)}"
                self._refuse_header("other game", wrong)

    def _refuse_header(self, kind: str, wrong: str) -> NoReturn:
        raise BadLineError(kind, f"the header {wrong}", skippable=False)

    def _class_of(self, record: dict[str, Any]) -> int:
        try:
            public, seat, result = record["public"], record["seat"], record["result"]
            if public.__class__ is list and seat.__class__ is int and result.__class__ is float:
                others = record.get("shown", _NOTHING)
                payoff, number = self._quick[record["private"], tuple(public), *others.items()]
                if seat == self.view.player and abs(payoff - result) <= self._tolerance:
                    return number
        except (AttributeError, KeyError, TypeError):  # checked below
            pass
        return self._checked_class(record)

    def _checked_class(self, record: dict[str, Any]) -> int:
        """Return the class in which a game ended, or raise an error that describes the problem."""
        for key in _KEYS:
            if key not in record:
                raise BadLineError("malformed", f"{key} is missing: expected {_listed(_KEYS)}")
        seat, private, public, result = (record[key] for key in _KEYS)
        if seat.__class__ is not int:
            raise BadLineError("malformed", f"seat is {shown(seat, 60)}, expected a whole number")
        if seat != self.view.player:
            kind = "other seat" if seat in self._seats.values() else "malformed"
            raise BadLineError(kind, f"seat is {shown(seat, 60)}, expected {self.view.player}, the seat of the log")
        texts = public.__class__ is list and all(event.__class__ is str for event in public)
        # An integer may be larger than all floats.
        finite = result.__class__ in (float, int) and abs(result) <= sys.float_info.max
        for key, sound, expected in (
            ("private", private.__class__ is str, "a string"),
            ("public", texts, "a list of strings"),
            ("result", finite, "a finite number"),
        ):
            if not sound:
                raise BadLineError("malformed", f"{key} is {shown(record[key], 60)}, expected {expected}")
        ending = self._endings.get((private, tuple(public)))
        if ending is None:
            self._refuse_history(private, tuple(public))
        others = self._shown(record.get("shown", {}), private)
        found = ending.get(others)
        if found is None:
            self._refuse_shown(private, public, dict(others), ending)
        distance, number = min((abs(payoff - result), number) for payoff, number in found)
        if distance > self._tolerance:
            payoffs = [f"{payoff:.12g}" for payoff, _ in found]
            raise BadLineError("contradiction", f"result is {shown(result, 60)}, expected {_one_of(payoffs)}")
        return number

    def _shown(self, given: Any, private: str) -> tuple[tuple[int, str], ...]:
        """Return the others' shown information, in the order of seats; the observer's own may be included."""
        if given.__class__ is not dict:
            raise BadLineError("malformed", f"shown is {shown(given, 60)}, expected an object by seat")
        others = []
        for key, label in given.items():
            seat = self._seats.get(key)
            if seat is None:
                raise BadLineError("malformed", f"shown has the seat {shown(key, 60)}, expected {_one_of(self._seats)}")
            if label.__class__ is not str:
                raise BadLineError("malformed", f"shown has {shown(label, 60)} for seat {seat}, expected a string")
            if seat != self.view.player:
                others.append((seat, label))
            elif label != private:
                raise BadLineError(
                    "contradiction",
                    f"shown has {shown(label, 60)} for the observer's seat, but private is {shown(private)}",
                )
        return tuple(sorted(others))

    # The problems of a line whose types are right.

    @cached_property
    def _followers(self) -> dict[tuple[str, ...], dict[str, None]]:
        """The public events that may follow each public history; none if the game is over."""
        followers: dict[tuple[str, ...], dict[str, None]] = {}
        for _, public in self._endings:
            followers.setdefault(public, {})
            for length in range(len(public)):
                followers.setdefault(public[:length], {})[public[length]] = None
        return followers

    @cached_property
    def _together(self) -> set[tuple[str, tuple[str, ...]]]:
        """Private information with the public histories with which it is consistent."""
        return {(private, public[:length]) for private, public in self._endings for length in range(len(public) + 1)}

    def _refuse_history(self, private: str, public: tuple[str, ...]) -> NoReturn:
        known = dict.fromkeys(label for label, _ in self._endings)
        if private not in known:
            raise BadLineError("unknown label", f"private is {shown(private, 60)}, expected {_one_of(known)}")
        for place, event in enumerate(public):
            after, following = f"after {_path(public[:place])}", self._followers[public[:place]]
            if not following:
                raise BadLineError(
                    "contradiction", f"public continues with {shown(event, 60)} {after}, where the game is over"
                )
            if event not in following:
                raise BadLineError(
                    "unknown label", f"public has {shown(event, 60)} {after}, expected {_one_of(following)}"
                )
            if (private, public[: place + 1]) not in self._together:
                path = _path(public[: place + 1])
                raise BadLineError("contradiction", f"private is {shown(private)}, which is impossible after {path}")
        path, following = _path(public), self._followers[public]
        raise BadLineError("unfinished game", f"the game is not over after {path}, expected {_one_of(following)} next")

    def _refuse_shown(self, private: str, public: list[str], others: dict[int, str], ending: _Endings) -> NoReturn:
        where, showing = f"after {_path(public)}", {seat for seat, _ in next(iter(ending))}
        wrong = [f"nothing for seat {seat}, which shows its information {where}" for seat in showing - {*others}]
        more = {*others} - showing
        wrong += [f"{shown(others[seat], 60)} for seat {seat}, which shows nothing {where}" for seat in more]
        for seat in sorted({*others} & showing):
            possible = dict.fromkeys(dict(labels)[seat] for labels in ending)
            if others[seat] not in possible:
                cannot = f"which is impossible with {shown(private)} {where}: expected {_one_of(possible)}"
                wrong.append(f"{shown(others[seat], 60)} for seat {seat}, {cannot}")
        together = f"is {shown(others)}, which is impossible with {shown(private)} {where}"
        raise BadLineError("contradiction", f"shown has {wrong[0]}" if wrong else f"shown {together}")


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _path(public: Iterable[str]) -> str:
    return shown("/".join(public)) if public else "the start"


def _listed(names: Iterable[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}"


def _one_of(names: Iterable[str]) -> str:
    listed = sorted(names)
    if len(listed) == 1:
        return shown(listed[0], 60)
    text = ", ".join(shown(name, 40) for name in listed[:12])
    return f"one of {text}" + (f" or {len(listed) - 12:,} others" if len(listed) > 12 else "")
