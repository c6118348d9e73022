"""One line of a log of play, from bytes to an object: within bounds, and with an error that says what is wrong."""

import json
from typing import Any, NoReturn

from ...seqform.errors import shown

#: The longest line that is read, in bytes.
LONGEST = 2**20

#: What may be wrong with a line.
KINDS = (
    "too long",
    "cut off",
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
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def decoded(line: bytes) -> Any:
    """Return what a line holds as JSON; ``None`` if it is blank.

    Parameters
    ----------
    line : bytes
        With or without its line break.

    Raises
    ------
    BadLineError
        If it is too long or no JSON, or is ``null``.

    Examples
    --------
    >>> from treeplex.models.play.decoding import decoded
    >>> decoded(b'{"seat": 0}'), decoded(b" ")
    ({'seat': 0}, None)
    """
    if len(line) > LONGEST:
        raise BadLineError("too long", f"it is longer than {LONGEST:,} bytes, expected one game a line")
    try:
        text = line.decode("utf-8").strip("\ufeff \t\r\n")  # logs that begin with a byte order mark may be joined
    except UnicodeDecodeError as error:
        raise BadLineError(
            "no JSON", f"byte {error.start + 1} is {line[error.start]:#04x}, expected text in UTF-8"
        ) from None
    if not text:
        return None
    try:
        record = _DECODER.decode(text)
    except BadLineError:
        raise
    except json.JSONDecodeError as error:
        reason = error.msg.lower().removesuffix(" at")  # some end so
        raise BadLineError("no JSON", f"it is no JSON: {reason} at column {error.colno}, expected an object") from None
    except RecursionError:
        raise BadLineError("no JSON", "it is nested too deeply, expected an object") from None
    except ValueError:  # an integer of thousands of digits
        raise BadLineError("no JSON", "it holds a number with too many digits, expected an object") from None
    if record is None:
        raise BadLineError("malformed", "it is null, expected an object")
    return record


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        left = set(record)
        for twice, _ in pairs:
            if twice not in left:
                break
            left.remove(twice)
        raise BadLineError("malformed", f"the key {shown(twice, 60)} stands there twice, expected once")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise BadLineError("no JSON", f"it holds {name}, which is no JSON: expected finite numbers")


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant)
