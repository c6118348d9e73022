"""Writes logs of play."""

import gzip
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

from ...seqform.arrays import Integers
from ...seqform.errors import InvalidGameError, PlayLogError, one_line, shown
from ...seqform.game import Game
from ...seqform.observer import ObserverTree, check_view
from .lines import LogLines


class PlayLogWriter:
    """Writes a log of play, a line a game, in whole lines whatever happens; to be used in a ``with`` statement.

    Parameters
    ----------
    target : path-like or binary file
        A file name that ends with ``.gz`` is compressed. A file that is there is replaced.
    game : Game
    view : ObserverTree
        What the observer whose log it is sees of the game.

    Raises
    ------
    PlayLogError
        If the file cannot be written. Errors of a file that is given open pass through.
    InvalidGameError
        If the view is none, or of another game.

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
        # Of each leaf, the line of its class: made once, however often it is written.
        texts = {number: lines.of_class(number) for number in view.terminal.nonzero()[0].tolist()}
        self._texts = [texts[number] for number in view.leaf_classes.tolist()]
        self._target = target
        self._name = "the log"
        self._file: Any = None
        self._own: list[Any] = []  # the files that are to be closed, the inner one first
        self._whole: int | None = None  # bytes up to which lines are whole, where the rest can be cut off

    def __enter__(self) -> Self:
        if hasattr(self._target, "write"):
            self._file = self._target
        else:
            try:
                path = Path(self._target)
                self._name = one_line(os.fspath(path))
                raw: Any = path.open("wb", buffering=0)
            except (OSError, TypeError, ValueError) as error:
                raise self._unwritable(error) from None
            self._own.append(raw)
            self._file = raw
            if path.suffix.lower() == ".gz":
                # Without a time or a name in it, equal games make equal files.
                self._file = gzip.GzipFile(filename="", mode="wb", fileobj=raw, compresslevel=3, mtime=0)
                self._own.insert(0, self._file)
            elif raw.seekable():
                self._whole = 0
        try:
            self._write(self._header)
        except BaseException as error:
            self.__exit__(type(error))
            raise
        return self

    def write(self, leaves: Iterable[int] | Integers) -> None:
        """Write games, by the leaves at which they ended.

        Parameters
        ----------
        leaves : iterable of int
            As the sequence form's leaf table numbers them.

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
            while left:  # a raw file may take a part
                written = self._file.write(left)
                left = left[len(left) if written is None else written :]
        except (OSError, ValueError) as error:
            if not self._own:  # the file is the caller's, and so is the error
                raise
            raise self._unwritable(error) from None
        if self._whole is not None:
            self._whole += len(content)
        elif hasattr(self._file, "flush") and not self._own:
            self._file.flush()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None and self._whole is not None:
            with suppress(OSError):
                self._file.truncate(self._whole)
        try:
            for file in self._own:
                file.close()
        except OSError as error:
            if kind is None:
                raise self._unwritable(error) from None

    def _unwritable(self, error: Exception) -> PlayLogError:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        return PlayLogError(f"{self._name}: it cannot be written: {one_line(reason)}")


def write_play_log(
    target: str | os.PathLike[str] | BinaryIO, game: Game, view: ObserverTree, chunks: Iterable[Integers]
) -> int:
    """Write a log of games, such as :func:`~treeplex.models.play.simulate` draws.

    Parameters
    ----------
    target : path-like or binary file
        A file name that ends with ``.gz`` is compressed. A file that is there is replaced.
    game : Game
    view : ObserverTree
        What the observer whose log it is sees of the game.
    chunks : iterable of ndarray of int32
        The leaves at which games ended, some at a time.

    Returns
    -------
    int
        How many games were written.

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
