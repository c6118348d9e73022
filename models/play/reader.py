"""Reads logs of play as a stream: memory does not grow with the log."""

import gzip
import os
import stat
import zlib
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ...seqform.errors import PlayLogError, one_line, shown
from ...seqform.game import Game
from ...seqform.observer import ObserverTree, check_view, observer_tree
from .decoding import LONGEST, BadLineError
from .lines import LogLines
from .log import BadLines, PlayLog

#: Bytes that are read at once.
_CHUNK = 2**21
#: Lines that are remembered beside those of the game's classes, and how long they may be.
_REMEMBERED, _SHORT = 2**15, 2**10
_GZIP = b"\x1f\x8b"


def read_play_log(
    source: str | os.PathLike[str] | BinaryIO,
    game: Game,
    seat: int,
    *,
    view: ObserverTree | None = None,
    skip_bad: bool = False,
    progress: Callable[[int, float | None], None] | None = None,
) -> PlayLog:
    r"""Read a log of play, and count how its games ended.

    Parameters
    ----------
    source : path-like or binary file
        A file of JSON Lines, which may be compressed by gzip, or anything that has a method ``read``.
    game : Game
        The game of which it is a log.
    seat : int
        Whose log it is.
    view : ObserverTree, optional
        ``observer_tree(game, seat)``, if it is at hand.
    skip_bad : bool
        Count lines that cannot be read, and go on; by default the first one is an error.
    progress : callable, optional
        Called now and then with the number of lines so far, and the part of the file that they are, from 0 to 1, or
        ``None`` where the size is not known.

    Returns
    -------
    PlayLog

    Raises
    ------
    PlayLogError
        If there is no such file, or a line cannot be read, is of another game or seat, or contradicts the rules. The
        message names file and line, which is also its attribute ``line``.
    UnsupportedProblemError, InvalidStrategyError, InvalidGameError, GameTooLargeError
        As :func:`~treeplex.seqform.observer.observer_tree`.

    Notes
    -----
    Lines repeat, so equal ones are counted first, and each is read once: ten million games take some seconds. Lines
    that all differ, such as by the time at which each game was played, take some ten microseconds each.

    Examples
    --------
    >>> from treeplex import load_game, read_play_log
    >>> import io
    >>> log = io.BytesIO(b'{"seat":0,"private":"J","public":["p","b","p"],"result":-1}\n')
    >>> found = read_play_log(log, load_game("kuhn"), seat=0)
    >>> found, found.mean_result
    (PlayLog(games=1, seat=0), -1.0)
    """
    if view is None:
        view = observer_tree(game, seat)
    else:
        check_view(view, game, seat)
    count = _Count(LogLines(game, view), skip_bad)
    name = "the log"
    if not hasattr(source, "read"):
        try:
            name = one_line(os.fspath(source))
        except TypeError:
            raise PlayLogError(f"the log is {shown(source)}, expected a path or a binary file") from None
        if not name:  # as a path it would be the folder that one is in
            raise PlayLogError("the log is '', expected a path or a binary file")
    try:
        with ExitStack() as stack:
            file = source if hasattr(source, "read") else _opened(source, stack)
            _read(file, count, progress, stack)
    except PlayLogError as error:
        named = PlayLogError(f"{name}: {error}")
        named.line = error.line
        raise named from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise PlayLogError(
            f"{name}: its compression is damaged after line {count.lines}: {one_line(str(error)).lower()}"
        ) from None
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise PlayLogError(f"{name}: it cannot be read: {one_line(reason)}") from None
    return count.result()


def _opened(path: Any, stack: ExitStack) -> BinaryIO:
    """Open a file or a pipe; a device might never end."""
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise PlayLogError("it is a directory, expected a file")
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise PlayLogError("it is a device, expected a file")
    return stack.enter_context(Path(path).open("rb"))


def _read(file: Any, count: "_Count", progress: Callable[[int, float | None], None] | None, stack: ExitStack) -> None:
    size = _size_of(file)
    first = _chunk(file)
    plain: Any = file
    if first.startswith(_GZIP):
        rejoined: Any = _Rejoined(first, file)
        plain = stack.enter_context(gzip.GzipFile(fileobj=rejoined, mode="rb"))
        first = _chunk(plain)
    rest, skipping = b"", False
    chunk = first
    while chunk:
        if skipping:  # the rest of a line that is too long
            _, newline, chunk = chunk.partition(b"\n")
            skipping = not newline
        lines = (rest + chunk).split(b"\n") if chunk else [b""]
        rest = lines.pop()
        count.add(lines)
        if len(rest) > LONGEST:
            count.add([rest])
            rest, skipping = b"", True
        if progress is not None:
            progress(count.lines, min(1.0, file.tell() / size) if size else None)
        chunk = _chunk(plain)
    if rest:
        count.add([rest], whole=False)


def _size_of(file: Any) -> int | None:
    """Return how many bytes a regular file has."""
    try:
        status = os.fstat(file.fileno())
        file.tell()
    except (AttributeError, OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _chunk(file: Any) -> bytes:
    chunk = file.read(_CHUNK)
    if isinstance(chunk, str):
        chunk = chunk.encode("utf-8", "surrogateescape")
    if not isinstance(chunk, bytes):
        raise PlayLogError(f"reading it returned {shown(chunk, 60)}, expected bytes")
    return chunk


class _Rejoined:
    """A file whose beginning has been read."""

    def __init__(self, beginning: bytes, file: Any) -> None:
        self._beginning = beginning
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not self._beginning:
            return self._file.read(size)  # type: ignore[no-any-return]
        size = len(self._beginning) if size < 0 else size
        part, self._beginning = self._beginning[:size], self._beginning[size:]
        return part


class _Count:
    """Counts lines by what they say."""

    def __init__(self, lines: LogLines, skip_bad: bool) -> None:
        self._lines = lines
        self._skip_bad = skip_bad
        self._ended = np.zeros(lines.view.num_classes, dtype=np.int64)
        self._bad: dict[str, BadLines] = {}
        self._known: dict[bytes, int] = {}  # what lines say that have been read
        self._most = _REMEMBERED + 2 * int(lines.view.terminal.sum())
        #: Lines so far.
        self.lines = 0

    def add(self, lines: list[bytes], whole: bool = True) -> None:
        """Count lines.

        Parameters
        ----------
        lines : list of bytes
        whole : bool
            Whether a line break follows the last one.
        """
        known = self._known
        for line, times in Counter(lines).items():  # in the order in which they first stand there
            number = known.get(line)
            if number is None:
                try:
                    number = self._lines.read(line)
                except BadLineError as error:
                    self._add_bad(error, lines.index, line, times, whole)
                    continue
                if len(line) <= _SHORT:
                    if len(known) >= self._most:
                        known.clear()
                    known[line] = number
            if number >= 0:
                self._ended[number] += times
        self.lines += len(lines)

    def _add_bad(
        self, error: BadLineError, place_of: Callable[[bytes], int], line: bytes, times: int, whole: bool
    ) -> None:
        kind, message = error.kind, str(error)
        if kind == "no JSON" and not whole:
            kind, message = "cut off", f"it is cut off: {message} and a line break"
        if not self._skip_bad:
            raise PlayLogError(message, self.lines + place_of(line) + 1)
        known = self._bad.get(kind)
        if known is None:
            self._bad[kind] = BadLines(kind, times, self.lines + place_of(line) + 1, message)
        else:
            self._bad[kind] = BadLines(kind, known.count + times, known.line, known.message)

    def result(self) -> PlayLog:
        return PlayLog(self._lines.view, self._ended, self.lines, tuple(self._bad.values()))
