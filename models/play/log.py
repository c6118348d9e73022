"""Play logs, written and read as streams: memory does not grow with the log."""

import gzip
import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
import numpy.typing as npt

from ...seqform.arrays import Integers
from ...seqform.checks import explained
from ...seqform.errors import InvalidGameError, PlayLogError, one_line, shown
from ...seqform.game import Game
from ...seqform.interchange.files import reason_of, writing_whole
from ...seqform.observer import ObserverTree, check_view, observer_tree
from .batches import BadLines, batches, reading, refuse_foreign
from .lines import BadLineError, LogLines


@dataclass(frozen=True, eq=False)
class PlayLog:
    """The games of a log, counted by the class in which they ended.

    Attributes
    ----------
    view : ObserverTree
        The classes of histories that the observer can distinguish.
    ended : ndarray of int64, shape (num_classes,)
        Number of games that ended in each class; zero except at terminal classes. Read-only.
    num_lines : int
        Number of lines of the log, including blank ones and headers.
    bad : tuple of BadLines
        The lines that were skipped, by kind; empty unless requested.
    """

    view: ObserverTree
    ended: npt.NDArray[np.int64]
    num_lines: int
    bad: tuple[BadLines, ...] = ()

    def __post_init__(self) -> None:
        self.ended.flags.writeable = False

    def __repr__(self) -> str:
        skipped = f", skipped={self.num_bad:,}" if self.bad else ""
        return f"PlayLog(games={self.num_games:,}, seat={self.seat}{skipped})"

    @property
    def seat(self) -> int:
        """The observer's seat."""
        return self.view.player

    @cached_property
    def num_games(self) -> int:
        """Number of games."""
        return int(self.ended.sum())

    @cached_property
    def num_bad(self) -> int:
        """Number of lines that were skipped."""
        return sum(each.count for each in self.bad)

    @cached_property
    def passed(self) -> npt.NDArray[np.int64]:
        """Number of games that passed through each class, or ended in it, shape (num_classes,). Read-only."""
        totals = self.view.totals(self.ended)
        totals.flags.writeable = False
        return totals

    @property
    def mean_result(self) -> float:
        """The observer's mean payoff per game, in payoff units; NaN if there are no games."""
        played = self.view.terminal
        if not self.num_games:
            return float("nan")
        return float(self.ended[played] @ self.view.results[played]) / self.num_games


#: Number of cached lines besides those of the game's classes, and their largest length.
_REMEMBERED, _SHORT = 2**15, 2**10


@explained
def read_play_log(
    source: str | os.PathLike[str] | BinaryIO,
    game: Game,
    seat: int,
    *,
    view: ObserverTree | None = None,
    skip_bad: bool = False,
    progress: Callable[[int, float | None], None] | None = None,
) -> PlayLog:
    r"""Read a play log, and count its games by result.

    Parameters
    ----------
    source : path-like or binary file
        A file of JSON Lines, possibly compressed with gzip, or any object with a method ``read``.
    game : Game
        The game of the log.
    seat : int
        The observer's seat.
    view : ObserverTree, optional
        ``observer_tree(game, seat)``, if already computed.
    skip_bad : bool
        Skip and count lines that cannot be read; by default the first one raises an error. A log with damaged
        compression, such as one whose writer was killed, is read up to the damage. A header of another game or format
        version, and a file of another program, are always errors.
    progress : callable, optional
        Called occasionally with the number of lines so far and the fraction of the file read, from 0 to 1, or ``None``
        if the size is unknown.

    Returns
    -------
    PlayLog

    Raises
    ------
    PlayLogError
        If the file does not exist, or a line cannot be read, belongs to another game or seat, or contradicts the rules.
        The message names file and line, which is also its attribute ``line``.
    UnsupportedProblemError, InvalidStrategyError, InvalidGameError, GameTooLargeError
        As :func:`~treeplex.seqform.observer.observer_tree`.

    Notes
    -----
    Lines repeat, so equal ones are counted first and parsed once: ten million games take several seconds. Lines that
    all differ, for example by time stamps, take about ten microseconds each.

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
    with reading(source, "a play log") as file:
        try:
            for lines, whole in batches(file, progress):
                count.add(lines, whole)
        except (EOFError, zlib.error) as error:
            count.break_off(one_line(str(error)).lower())
    found = count.result()
    if not found.num_games:
        refuse_foreign([source])
    return found


class _Count:
    """A count of lines by their content."""

    def __init__(self, lines: LogLines, skip_bad: bool) -> None:
        self._lines = lines
        self._skip_bad = skip_bad
        self._ended = np.zeros(lines.view.num_classes, dtype=np.int64)
        self._bad: dict[str, BadLines] = {}
        self._known: dict[bytes, int] = {}  # the meaning of parsed lines
        self._most = _REMEMBERED + 2 * int(lines.view.terminal.sum())
        #: Number of lines so far.
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
        for line, times in Counter(lines).items():  # in order of first occurrence
            number = known.get(line)
            if number is None:
                try:
                    number = self._lines.read(line)
                except BadLineError as error:
                    self._add_bad(error, lines, line, times, whole)
                    continue
                if len(line) <= _SHORT:
                    if len(known) >= self._most:
                        known.clear()
                    known[line] = number
            if number >= 0:
                self._ended[number] += times
        self.lines += len(lines)

    def _add_bad(self, error: BadLineError, lines: list[bytes], line: bytes, times: int, whole: bool) -> None:
        kind, message = error.kind, str(error)
        if kind == "no JSON" and not whole:
            kind, message = "cut off", f"it is cut off: {message} and a line break"
        number = self.lines + lines.index(line) + 1
        if not (self._skip_bad and error.skippable):
            raise PlayLogError(message, number)
        self._bad.setdefault(kind, BadLines(kind, 0, number, message))
        self._bad[kind] = replace(self._bad[kind], count=self._bad[kind].count + times)

    def break_off(self, reason: str) -> None:
        """Count the line at which the compression of a file breaks: nothing after it can be read."""
        message = f"its compression is damaged after line {self.lines}: {reason}"
        if not self._skip_bad:
            raise PlayLogError(message)
        self._bad["damaged"] = BadLines("damaged", 1, self.lines + 1, message)
        self.lines += 1

    def result(self) -> PlayLog:
        return PlayLog(self._lines.view, self._ended, self.lines, tuple(self._bad.values()))


class PlayLogWriter:
    """A writer of play logs: one line per game, and complete lines even if interrupted.

    Use it in a ``with`` statement.

    Parameters
    ----------
    target : path-like or binary file
        A file name that ends with ``.gz`` is compressed. An existing file is replaced at the end of the ``with``
        statement, even after an exception, but is kept if the log cannot be written, for example on a full disk.
    game : Game
    view : ObserverTree
        The observer's view of the game.

    Raises
    ------
    PlayLogError
        If the file cannot be written. Errors raised by a file object that was passed in propagate.
    InvalidGameError
        If the view is not an ObserverTree, or belongs to another game.

    Examples
    --------
    >>> import io
    >>> from treeplex import load_game, observer_tree
    >>> from treeplex.models.play import PlayLogWriter
    >>> game, log = load_game("matching_pennies"), io.BytesIO()
    >>> with PlayLogWriter(log, game, observer_tree(game, player=1)) as writer:
    ...     writer.write([0, 3])  # leaves
    >>> print(log.getvalue().decode())
    {"treeplex_log":1,"game":"matching_pennies","parameters":{}}
    {"seat":1,"private":"","public":["?","HT"],"shown":{},"result":1.0}
    {"seat":1,"private":"","public":["?","TH"],"shown":{},"result":1.0}
    <BLANKLINE>
    """

    def __init__(self, target: str | os.PathLike[str] | BinaryIO, game: Game, view: ObserverTree) -> None:
        check_view(view, game, getattr(view, "player", 0))
        lines = LogLines(game, view)
        self._header = lines.header
        # For each leaf, the line of its class, created once.
        texts = {number: lines.of_class(number) for number in view.terminal.nonzero()[0].tolist()}
        self._texts = [texts[number] for number in view.leaf_classes.tolist()]
        self._target = target
        self._name = "the log"
        self._file: Any = None
        self._own: ExitStack | None = None  # closes the writer's own file and moves it into place
        self._replaces = self._failed = False  # whether the file existed before, and whether writing failed
        self._whole: int | None = None  # number of bytes in complete lines, if the rest can be cut off

    def __enter__(self) -> Self:
        if hasattr(self._target, "write"):
            self._file = self._target
        else:
            self._own = ExitStack()
            try:
                path = Path(self._target)
                self._name = one_line(os.fspath(path))
                self._replaces = path.is_file()
                passing = self._own.enter_context(writing_whole(path))
                raw: Any = self._own.enter_context(passing.open("wb", buffering=0))
            except (OSError, TypeError, ValueError) as error:
                raise self._unwritable(error) from None
            self._file = raw
            if path.suffix.lower() == ".gz":
                # Without a time stamp or a name, equal games produce equal files.
                zipped = gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=3, mtime=0)
                self._file = self._own.enter_context(zipped)
            elif raw.seekable():
                self._whole = 0
        try:
            self._write(self._header)
        except BaseException as error:
            self.__exit__(type(error), error)
            raise
        return self

    def write(self, leaves: Iterable[int] | Integers) -> None:
        """Write games, given the leaves at which they ended.

        Parameters
        ----------
        leaves : iterable of int
            Indices in the sequence form's leaf table.

        Raises
        ------
        PlayLogError
            If the file cannot be written.
        InvalidGameError
            If there is no such leaf.
        """
        texts = self._texts
        try:
            numbers = np.asarray(leaves if isinstance(leaves, np.ndarray) else list(leaves))
            whole = numbers.ndim == 1 and (not numbers.size or numbers.dtype.kind in "iu")
        except (TypeError, ValueError):
            whole = False
        if not whole or (numbers.size and not 0 <= numbers.min() <= numbers.max() < len(texts)):
            raise InvalidGameError(f"the leaves are {shown(leaves, 60)}, expected numbers from 0 to {len(texts) - 1}")
        self._write(b"".join([texts[number] for number in numbers.tolist()]))

    def _write(self, content: bytes) -> None:
        try:
            left = memoryview(content)
            while left:  # a raw file may accept only a part
                written = self._file.write(left)
                left = left[len(left) if written is None else written :]
        except (OSError, ValueError) as error:
            if self._own is None:  # the file belongs to the caller, and so does the error
                raise
            self._failed = True
            raise self._unwritable(error) from None
        if self._whole is not None:
            self._whole += len(content)
        elif hasattr(self._file, "flush") and self._own is None:
            self._file.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None = None, *_: object) -> None:
        if self._own is None:
            return
        if kind is not None and self._whole is not None:
            with suppress(OSError):
                self._file.truncate(self._whole)
        try:
            if self._failed and (self._replaces or self._whole is None):
                self._own.__exit__(kind, error, None)
            else:
                self._own.close()
        except OSError as failed:
            if kind is None:
                raise self._unwritable(failed) from None

    def _unwritable(self, error: Exception) -> PlayLogError:
        return PlayLogError(f"{self._name} cannot be written: {reason_of(error)}")


@explained
def write_play_log(
    target: str | os.PathLike[str] | BinaryIO, game: Game, view: ObserverTree, chunks: Iterable[Integers]
) -> int:
    """Write a log of games, such as :func:`~treeplex.models.play.simulate` draws.

    Parameters
    ----------
    target : path-like or binary file
        A file name that ends with ``.gz`` is compressed. An existing file is replaced.
    game : Game
    view : ObserverTree
        The observer's view of the game.
    chunks : iterable of ndarray of int32
        The leaves at which games ended, in chunks.

    Returns
    -------
    int
        Number of games written.

    Raises
    ------
    PlayLogError
        If the file cannot be written.
    InvalidGameError
        If there is no such leaf.

    Examples
    --------
    >>> from treeplex import Profile, load_game, observer_tree, read_play_log, simulate, write_play_log
    >>> game = load_game("kuhn")
    >>> view = observer_tree(game, player=1)
    >>> write_play_log("kuhn.jsonl", game, view, simulate(Profile.uniform(game), games=1000, seed=1))
    1000
    >>> read_play_log("kuhn.jsonl", game, seat=1)
    PlayLog(games=1,000, seat=1)
    """
    games = 0
    with PlayLogWriter(target, game, view) as writer:
        for leaves in chunks:
            writer.write(leaves)
            games += len(leaves)
    return games
