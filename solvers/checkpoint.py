"""Checkpoints: the state of a long run in a file, from which it continues exactly after a kill."""

import dataclasses
import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from ..seqform.checks import check_number
from ..seqform.errors import CheckpointError, UnsupportedProblemError, one_line, shown
from ..seqform.game import Game
from ..seqform.interchange.encoding import to_json
from ..seqform.interchange.files import check_writable, read_archive, refusing_damaged, write_archive
from ..seqform.limits import holding_signals
from ..seqform.standard_error import warn
from ..seqform.strategy import Strategy

#: The saved state of a run, by name: numeric arrays and JSON values.
Saved = Mapping[str, Any]

_FORMAT, _VERSION = "treeplex checkpoint", 1
#: The suffix of the previous file.
PREVIOUS = ".previous"


def _warn(message: str) -> None:
    warn(message, RuntimeWarning, stacklevel=2)


@dataclass(frozen=True)
class Checkpoint:
    """A file to which a run is saved regularly, so that it can continue after a kill.

    Parameters
    ----------
    path : path-like
        The previous file is kept as ``PATH.previous`` and replaces a damaged one.
    every : float
        Seconds between two writes; a kill loses at most this much work.
    resume : bool
        Whether to continue from the file if it exists. By default an existing file raises an error, so that no run is
        lost by mistake.
    tell : callable, optional
        Called with a one-line message if a file is damaged, or cannot be written during the run; by default, the
        message is issued as a warning.

    Raises
    ------
    CheckpointError
        If `every` is not a number of at least 0.

    Notes
    -----
    A file contains the version of the library, the question (the game's fingerprint, the problem and the method) and a
    checksum. A file from another version or for another question, and a damaged file, raise an error. Limits and the
    tolerance may change. The file contains no code.

    Examples
    --------
    >>> from treeplex import Checkpoint, Nash, load_game, solve
    >>> problem = Nash(load_game("kuhn"))
    >>> half = solve(problem, "cfr+", tol=0, max_iterations=500, checkpoint="run.npz")
    >>> whole = solve(problem, "cfr+", tol=0, max_iterations=1000, checkpoint=Checkpoint("run.npz", resume=True))
    >>> whole.iterations, whole.exploitability == solve(problem, "cfr+", tol=0, max_iterations=1000).exploitability
    (1000, True)
    """

    path: str | os.PathLike[str]
    every: float = 60.0
    resume: bool = False
    tell: Callable[[str], object] = _warn

    def __post_init__(self) -> None:
        check_number(self.every, "every", CheckpointError, "[0, inf)")

    @classmethod
    def of(cls, given: "Checkpoint | str | os.PathLike[str]") -> "Checkpoint":
        """Return a checkpoint unchanged, or a checkpoint with default settings for a path."""
        return given if isinstance(given, Checkpoint) else cls(given)

    @property
    def file(self) -> str:
        """The file that the path resolves to; the previous file is next to it."""
        path = os.fspath(self.path)
        return os.path.realpath(path) if Path(path).is_symlink() else path

    def keeper(self, asked: Mapping[str, str]) -> "Keeper":
        """Open the checkpoint for a run.

        Parameters
        ----------
        asked : mapping of str to str
            The question of the run, which must match the one in the file if the run is resumed.

        Raises
        ------
        CheckpointError
            If a file exists and `resume` is false, the run cannot be resumed from it, or it cannot be written.
        """
        keeper, path = Keeper(self, asked), self.file
        there = [each for each in (path, path + PREVIOUS) if Path(each).exists()]
        if there and not self.resume:
            raise CheckpointError(
                f"{one_line(there[0])} already contains a run: resume it (--resume, or resume=True) or remove the file"
            )
        failed: list[CheckpointError] = []
        for each in there:
            try:
                keeper.read(each)
                break
            except _DamagedError as error:
                failed.append(error)
        if failed and len(failed) == len(there):
            raise CheckpointError(" and ".join(map(str, failed)))
        if failed:
            self.tell(f"{failed[0]}; the run continues from the previous file, {one_line(there[-1])}")
            keeper.is_damaged = True
        try:
            check_writable(path)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{one_line(path)} cannot be written: {one_line(str(error))}") from None
        return keeper

    @contextmanager
    def kept(self, asked: Mapping[str, str]) -> "Iterator[Keeper]":
        """Open the checkpoint like :meth:`keeper`, and write the state when the block ends, even with an exception."""
        keeper = self.keeper(asked)
        try:
            yield keeper
        finally:
            with holding_signals():
                keeper.save(at_once=True)


class _DamagedError(CheckpointError):
    """A file that is not a checkpoint, or is damaged."""


class Keeper:
    """An open checkpoint: the contents that were read, and the state that will be written.

    Loops get their slots in the order in which they start. A run is deterministic, so a resumed loop finds its own
    state. Nested solves, such as those of a calibration, have their own scopes.

    Parameters
    ----------
    checkpoint : Checkpoint
    asked : mapping of str to str

    Attributes
    ----------
    keeps_loops : bool
        Whether the full state of finished loops is kept, so that they can continue, or only their answers.
    asks_time : bool
        Whether the time limits of loops are part of the question; a loop that its time limit stopped then counts as
        finished.
    """

    keeps_loops = True
    asks_time = True

    def __init__(self, checkpoint: Checkpoint, asked: Mapping[str, str]) -> None:
        self.checkpoint, self.asked = checkpoint, dict(asked)
        self.is_damaged = False
        self._parts: dict[str, Saved] = {}  # the finished parts
        self._running: tuple[str, Saved] | None = None  # a copy: no running loop changes these arrays
        self._is_new = False  # whether anything here is not in the file yet
        self._is_halted = False  # whether a loop was stopped early, so that later loops cannot build on its result
        self._begun: dict[str, int] = {}
        self._scope = ""
        self._written = time.monotonic()

    def __contains__(self, key: str) -> bool:
        return key in self._parts

    def slot(self) -> "Slot | None":
        """Return the slot of the next loop; ``None`` if the previous loop has not finished."""
        key = self.key("loop")
        if self._is_halted:
            return None
        if self._running is not None and self._running[0] == key:
            return Slot(self, key, self._running[1], is_finished=False)
        # A loop stopped by a limit continues if the user resumes it, but not if it is a part of another computation.
        return Slot(self, key, self._parts.get(key), is_finished=bool(self._scope) and key in self._parts)

    def part(self, name: str, compute: Callable[[], Saved]) -> Saved:
        """Return the result of a part of the run, saved or computed."""
        return self.part_at(self.key(name), compute)

    def part_at(self, key: str, compute: Callable[[], Saved]) -> Saved:
        """Return the result of the part with a given key, saved or computed."""
        if key not in self:
            with self._within(key):
                self._parts[key] = compute()
            # The states of its loops are no longer needed.
            self._parts = {each: kept for each, kept in self._parts.items() if not each.startswith(f"{key}/")}
            self._running, self._is_new = None, True
            self.save()
        return self._parts[key]

    def within(self, name: str) -> AbstractContextManager[None]:
        """Assign the loops of the block to a part."""
        return self._within(self.key(name))

    @contextmanager
    def _within(self, key: str) -> Iterator[None]:
        before, self._scope = self._scope, f"{key}/"
        try:
            yield
        finally:
            self._scope = before

    def key(self, name: str) -> str:
        """Return the next key for a name, which distinguishes repeated uses."""
        name = f"{self._scope}{name}"
        number = self._begun[name] = self._begun.get(name, 0) + 1
        return f"{name} {number}"

    def folder(self) -> Path:
        """Return the folder for the files of the next loop whose state is too large for one file."""
        return Path(f"{self.checkpoint.file}.parts", re.sub(r"\W+", "-", self.key("parts")))

    def keep(self, key: str, saved: Saved, stopped: str | None) -> None:
        """Store the state of a loop, and write it if a write is due.

        Parameters
        ----------
        key : str
        saved : mapping
            Its arrays may change after the call.
        stopped : str or None
            The :class:`Status` with which the loop ended; ``None`` if it continues.
        """
        if stopped is None:
            self._running, self._is_new = (key, saved), True
            self.save()
            self._running = None  # the file has it, unless writing failed
            return
        copied = {name: value.copy() if isinstance(value, np.ndarray) else value for name, value in saved.items()}
        self._is_halted = stopped == "interrupted" or (stopped == "time_limit" and not self.asks_time)
        if self._is_halted:
            self._running = key, copied
        else:
            self._running, self._parts[key] = None, copied
        self._is_new = True
        self.save()

    @property
    def is_due(self) -> bool:
        """Whether a write is due."""
        return time.monotonic() - self._written >= self.checkpoint.every

    def save(self, *, at_once: bool = False) -> None:
        """Write the state if a write is due; a failure to write does not end the run."""
        if (self.is_due or at_once) and self._is_new:
            try:
                self.write()
            except OSError as error:
                self.failed(error)

    def failed(self, error: OSError) -> None:
        """Tell that the state cannot be written; the next write is due later."""
        self.checkpoint.tell(f"{one_line(os.fspath(self.checkpoint.path))} cannot be written: {error}")
        self._written = time.monotonic()

    def write(self) -> None:
        """Write the state, and keep the previous file.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        from .. import __version__

        arrays: dict[str, Any] = {}
        entries = [(True, *self._running)] if self._running is not None else []
        entries += [(False, key, saved) for key, saved in self._parts.items()]
        described = []
        for number, (is_running, key, saved) in enumerate(entries):
            plain = {name: value for name, value in saved.items() if not isinstance(value, np.ndarray)}
            described.append([is_running, key, plain])
            arrays |= {f"{number}/{name}": saved[name] for name in saved if name not in plain}
        metadata = {
            "format": _FORMAT,
            "version": _VERSION,
            "treeplex": __version__,
            "asked": self.asked,
            "entries": described,
        }
        path = self.checkpoint.file
        previous = None if self.is_damaged else path + PREVIOUS
        write_archive(
            path, metadata | {"checksum": _checksum(metadata, arrays)}, arrays, packed=False, previous=previous
        )
        self.is_damaged, self._is_new = False, False
        self._written = time.monotonic()

    def read(self, path: str) -> None:
        """Read a checkpoint file, and check that it belongs to this run.

        Raises
        ------
        CheckpointError
            If it is damaged, or belongs to another version or another run.
        """
        from .. import __version__

        found = contents(path)
        here = {"version": __version__, **self.asked}
        for name, value in here.items():
            if found.asked.get(name, "").rpartition("(")[2] != value.rpartition("(")[2]:
                raise CheckpointError(
                    f"{one_line(path)} contains another run: its {name} is {shown(found.asked.get(name), 60)}, "
                    f"expected {shown(value, 60)}"
                )
        self._running, self._parts = found.running, found.parts


@dataclass(frozen=True)
class Contents:
    """The contents of a checkpoint file.

    Attributes
    ----------
    asked : dict of str to str
        The question, and the library's version.
    running : tuple of str and mapping, or None
        The key and state of the unfinished loop.
    parts : dict of str to mapping
        The results of the finished parts.
    """

    asked: dict[str, str]
    running: tuple[str, Saved] | None
    parts: dict[str, Saved]


def contents(path: str | os.PathLike[str]) -> Contents:
    """Read a checkpoint of any run.

    Raises
    ------
    CheckpointError
        If it is not a checkpoint, or is damaged.
    GameTooLargeError
        If reading it may exceed the memory budget.
    """
    with refusing_damaged(path, "is not a checkpoint, or is damaged", _DamagedError):
        metadata, arrays = read_archive(os.fspath(path))
        if "checksum" not in metadata:
            raise ValueError("it has no checksum")
        checksum = metadata.pop("checksum")
        if metadata["format"] != _FORMAT or metadata["version"] != _VERSION or checksum != _checksum(metadata, arrays):
            raise ValueError("its checksum does not match")
        asked = {"version": str(metadata["treeplex"])} | {name: str(value) for name, value in metadata["asked"].items()}
        entries: dict[bool, dict[str, Saved]] = {True: {}, False: {}}
        for number, (is_running, key, plain) in enumerate(metadata["entries"]):
            prefix = f"{number}/"
            own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
            entries[bool(is_running)][str(key)] = {**plain, **own}
        return Contents(asked, next(iter(entries[True].items()), None), entries[False])


@dataclass
class Slot:
    """The slot of a loop in a checkpoint.

    Attributes
    ----------
    saved : mapping, optional
        The saved state of the loop.
    is_finished : bool
        Whether the loop had finished.
    """

    keeper: Keeper
    key: str
    saved: Saved | None
    is_finished: bool

    @property
    def is_due(self) -> bool:
        """Whether a write is due."""
        return self.keeper.is_due

    @property
    def hint(self) -> str:
        """How to continue if the state cannot be restored: from the previous file, unless this is it."""
        path, previous = self.keeper.checkpoint.file, self.keeper.checkpoint.file + PREVIOUS
        if self.keeper.is_damaged or not (Path(path).exists() and Path(previous).exists()):
            return ""
        return f"; to continue from the state before, rename {one_line(previous)} to {one_line(Path(path).name)}"

    def keep(self, saved: Saved, stopped: str | None) -> None:
        """Store the state of the loop, and the status with which it ended, if it has."""
        self.keeper.keep(self.key, saved, stopped)


def fill(arrays: Mapping[str, Any], saved: Saved) -> None:
    """Copy saved arrays into a run's arrays of the same names.

    Raises
    ------
    ValueError
        If an array is missing, or has another shape or type.
    """
    for name, array in arrays.items():
        found = saved.get(name)
        if not isinstance(found, np.ndarray) or (found.shape, found.dtype) != (array.shape, array.dtype):
            raise ValueError(f"{name} is {shown(found, 40)}")
        array[...] = found


def _checksum(metadata: Mapping[str, Any], arrays: Mapping[str, Any]) -> str:
    total = hashlib.sha256(to_json(metadata).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {array.dtype.str} {array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def asked_of(problem: Any, method: Any, **others: Any) -> dict[str, str]:
    """Return the question of an iterative solve for a checkpoint.

    Raises
    ------
    UnsupportedProblemError
        If the method is not iterative.
    """
    if not method.keeps_runs:
        raise UnsupportedProblemError(f"{method.name} does not support checkpoints, expected an iterative method")
    return {
        "game": f"{problem.game.spec} ({problem.game.fingerprint})",
        "problem": f"{problem.name} ({digest(problem)})",
        "method": f"{method.name} ({digest(method)})",
        **{name: f"({value})" for name, value in others.items()},
    }


def digest(value: Any) -> str:
    """Return sixteen hexadecimal digits that identify a question, with floats rounded to nine significant digits.

    Examples
    --------
    >>> from treeplex import Nash, load_game
    >>> from treeplex.solvers.checkpoint import digest
    >>> digest(Nash(load_game("kuhn"))) == digest(Nash(load_game("kuhn")))
    True
    """
    return hashlib.sha256("".join(_words(value)).encode()).hexdigest()[:16]


def _words(value: Any) -> Iterator[str]:
    """Yield the parts of a value as text."""
    if isinstance(value, Game):
        yield value.fingerprint
    elif isinstance(value, Strategy):
        yield from _words((value.fingerprint, value.player, value.behaviour))
    elif dataclasses.is_dataclass(value):
        yield f"{type(value).__name__}("
        for field in dataclasses.fields(value):
            yield f"{field.name}="
            yield from _words(getattr(value, field.name))
        yield ")"
    elif scipy.sparse.issparse(value):
        entries = scipy.sparse.coo_array(value)
        yield from _words((value.shape, *entries.coords, entries.data))
    elif isinstance(value, np.ndarray):
        yield from _words(value.tolist())
    elif isinstance(value, Mapping):
        yield from _words(list(value.items()))
    elif isinstance(value, Iterable) and not isinstance(value, str | bytes):
        yield "["
        for part in value:
            yield from _words(part)
        yield "]"
    elif isinstance(value, float):
        yield f"{value:.9g},"
    elif value is None or isinstance(value, str | bytes | int | Fraction | Decimal | Enum):
        yield f"{value!r},"
    else:
        yield f"{type(value).__name__},"
