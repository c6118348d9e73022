"""Checkpoints: where a long run stands, kept in a file, so that it goes on after a kill as if it had never stopped."""

import dataclasses
import hashlib
import os
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

#: What a run keeps of itself, by name: arrays of numbers, and what JSON takes.
Saved = Mapping[str, Any]

_FORMAT, _VERSION = "treeplex checkpoint", 1
#: What follows the name of the file that was written before.
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
        Seconds between two writes, the most that a kill costs.
    resume : bool
        Whether to continue from the file if it exists. By default an existing file raises an error, so that no run is
        lost by mistake.
    tell : callable, optional
        Called with a line if a file is damaged, or cannot be written during the run; by default a warning.

    Raises
    ------
    CheckpointError
        If `every` is not a number of at least 0.

    Notes
    -----
    A file holds the version of the library, the question (the game's fingerprint, the problem and the method) and a
    checksum. A file of another version or another question, and a damaged file, raise an error. Limits and the
    tolerance may change. Nothing in it is code.

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
        """Return a checkpoint as it is, and of a path one with the usual settings."""
        return given if isinstance(given, Checkpoint) else cls(given)

    @property
    def file(self) -> str:
        """The file that the path leads to: beside that stands the one before it."""
        path = os.fspath(self.path)
        return os.path.realpath(path) if Path(path).is_symlink() else path

    def keeper(self, asked: Mapping[str, str]) -> "Keeper":
        """Open it for a run.

        Parameters
        ----------
        asked : mapping of str to str
            What was asked; to go on it has to be the same.

        Raises
        ------
        CheckpointError
            If there is a file and it is not to go on from it, or cannot; or if it cannot be written.
        """
        keeper, path = Keeper(self, asked), self.file
        there = [each for each in (path, path + PREVIOUS) if Path(each).exists()]
        if there and not self.resume:
            raise CheckpointError(
                f"{one_line(there[0])} already holds a run: resume it (--resume, or resume=True) or remove the file"
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
            raise CheckpointError(f"{one_line(path)}: it cannot be written: {one_line(str(error))}") from None
        return keeper

    @contextmanager
    def kept(self, asked: Mapping[str, str]) -> "Iterator[Keeper]":
        """Open it for a run as :meth:`keeper` does, and write what is known when that ends, however it does."""
        keeper = self.keeper(asked)
        try:
            yield keeper
        finally:
            with holding_signals():
                keeper.save(at_once=True)


class _DamagedError(CheckpointError):
    """A file that is not a checkpoint, or not any more."""


class Keeper:
    """An open checkpoint: what it held, and what it is to hold.

    Loops take their places in it in the order in which they begin: a run is the same each time, so that a loop finds
    what it kept. Nested solves, such as those of a calibration, have scopes of their own.

    Parameters
    ----------
    checkpoint : Checkpoint
    asked : mapping of str to str

    Attributes
    ----------
    keeps_loops : bool
        Whether loops that have ended are kept with all that is needed to go on, or their answers alone.
    asks_time : bool
        Whether the time limits of loops are part of what was asked: then loops that these end have ended for good.
    """

    keeps_loops = True
    asks_time = True

    def __init__(self, checkpoint: Checkpoint, asked: Mapping[str, str]) -> None:
        self.checkpoint, self.asked = checkpoint, dict(asked)
        self.is_damaged = False
        self._parts: dict[str, Saved] = {}  # those that are done
        self._running: tuple[str, Saved] | None = None  # as it stood: no loop goes on with these arrays
        self._is_new = False  # whether any of this is not in the file
        self._is_halted = False  # whether a loop was left before its end: those after it do not follow from its end
        self._begun: dict[str, int] = {}
        self._scope = ""
        self._written = time.monotonic()

    def __contains__(self, key: str) -> bool:
        return key in self._parts

    def slot(self) -> "Slot | None":
        """Return the place of the next loop; none if the one before it is still to go on."""
        key = self.key("loop")
        if self._is_halted:
            return None
        if self._running is not None and self._running[0] == key:
            return Slot(self, key, self._running[1], is_finished=False)
        # What limits ended goes on if the user asks for it, but not if it is a part of something.
        return Slot(self, key, self._parts.get(key), is_finished=bool(self._scope) and key in self._parts)

    def part(self, name: str, compute: Callable[[], Saved]) -> Saved:
        """Return what a part of the run came to: as it was kept, or computed."""
        return self.part_at(self.key(name), compute)

    def part_at(self, key: str, compute: Callable[[], Saved]) -> Saved:
        """Return what the part of a key that was taken came to."""
        if key not in self:
            with self._within(key):
                self._parts[key] = compute()
            # What led to it is not needed any more.
            self._parts = {each: kept for each, kept in self._parts.items() if not each.startswith(f"{key}/")}
            self._running, self._is_new = None, True
            self.save()
        return self._parts[key]

    def within(self, name: str) -> AbstractContextManager[None]:
        """Let loops in the block be those of a part."""
        return self._within(self.key(name))

    @contextmanager
    def _within(self, key: str) -> Iterator[None]:
        before, self._scope = self._scope, f"{key}/"
        try:
            yield
        finally:
            self._scope = before

    def key(self, name: str) -> str:
        """Take the next key of a name: it tells the first one from the second."""
        name = f"{self._scope}{name}"
        number = self._begun[name] = self._begun.get(name, 0) + 1
        return f"{name} {number}"

    def keep(self, key: str, saved: Saved, stopped: str | None) -> None:
        """Keep where a loop stands, and write it if it is time.

        Parameters
        ----------
        key : str
        saved : mapping
            Arrays in it may change when this has returned.
        stopped : str or None
            What ended the loop, as :class:`Status` says it; ``None`` if it goes on.
        """
        if stopped is None:
            self._running, self._is_new = (key, saved), True
            self.save()
            self._running = None  # the file has it, unless that could not be written
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
        """Whether it is time to write."""
        return time.monotonic() - self._written >= self.checkpoint.every

    def save(self, *, at_once: bool = False) -> None:
        """Write all that is known if it is time; a run does not end because that is not possible."""
        if (self.is_due or at_once) and self._is_new:
            try:
                self.write()
            except OSError as error:
                self.checkpoint.tell(f"{one_line(os.fspath(self.checkpoint.path))}: it cannot be written: {error}")
                self._written = time.monotonic()

    def write(self) -> None:
        """Write all that is known, and keep the file before it.

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
        """Read what a file holds.

        Raises
        ------
        CheckpointError
            If it is damaged, of another version or of another run.
        """
        from .. import __version__

        found = contents(path)
        here = {"version": __version__, **self.asked}
        for name, value in here.items():
            if found.asked.get(name, "").rpartition("(")[2] != value.rpartition("(")[2]:
                raise CheckpointError(
                    f"{one_line(path)} holds another run: its {name} is {shown(found.asked.get(name), 60)}, "
                    f"expected {shown(value, 60)}"
                )
        self._running, self._parts = found.running, found.parts


@dataclass(frozen=True)
class Contents:
    """The contents of a file.

    Attributes
    ----------
    asked : dict of str to str
        What was asked, and the library's version.
    running : tuple of str and mapping, or None
        The loop that was under way, by its key.
    parts : dict of str to mapping
        What was done.
    """

    asked: dict[str, str]
    running: tuple[str, Saved] | None
    parts: dict[str, Saved]


def contents(path: str | os.PathLike[str]) -> Contents:
    """Read a checkpoint, of whatever run.

    Raises
    ------
    CheckpointError
        If it is not one, or damaged.
    GameTooLargeError
        If it may take more memory than the budget.
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
    """The place of a loop in a checkpoint.

    Attributes
    ----------
    saved : mapping, optional
        Where the loop stood.
    is_finished : bool
        Whether it had ended there.
    """

    keeper: Keeper
    key: str
    saved: Saved | None
    is_finished: bool

    @property
    def is_due(self) -> bool:
        """Whether it is time to keep the loop."""
        return self.keeper.is_due

    def keep(self, saved: Saved, stopped: str | None) -> None:
        """Keep where the loop stands, and what ended it, if anything has."""
        self.keeper.keep(self.key, saved, stopped)


def fill(arrays: Mapping[str, Any], saved: Saved) -> None:
    """Copy saved arrays over those of a run, name by name.

    Raises
    ------
    ValueError
        If one is missing, or of another shape or type.
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
    """Return what an iterative method was asked, as a checkpoint says it.

    Raises
    ------
    UnsupportedProblemError
        If the method is another one.
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
    """Return sixteen hexadecimal digits that tell questions apart; floats count by nine digits.

    Examples
    --------
    >>> from treeplex import Nash, load_game
    >>> from treeplex.solvers.checkpoint import digest
    >>> digest(Nash(load_game("kuhn"))) == digest(Nash(load_game("kuhn")))
    True
    """
    return hashlib.sha256("".join(_words(value)).encode()).hexdigest()[:16]


def _words(value: Any) -> Iterator[str]:
    """Yield what a value is made of, as text."""
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
