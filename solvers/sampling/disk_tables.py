"""Tables of infosets in memory-mapped files, for runs over rules whose infosets do not fit in memory.

The operating system keeps the parts of the files that walks use in memory, and writes the rest to the disk. A folder is
consistent after a process is killed, but not after the machine loses power.
"""

import json
import mmap
import os
import shutil
import warnings
import weakref
from array import array
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from filelock import FileLock, Timeout

from ...seqform.errors import CheckpointError, one_line, shown
from ...seqform.interchange.encoding import decode, encode, from_json, to_json
from ...seqform.interchange.files import writing_whole
from ...seqform.memory import in_words
from .walks import Infosets

_VERSION = 1
#: Bytes by which a file grows at least, and bytes of the disk that are left free.
_LEAST, _SPARE = 1 << 16, 64 << 20
#: The number of labels whose infosets are remembered in memory.
_REMEMBERED = 100_000


class OutOfDiskError(Exception):
    """The disk has no space for more infosets."""


def free_bytes(folder: Path) -> int:
    """Return the free space of the disk of a folder, in bytes."""
    return shutil.disk_usage(folder).free


class DiskArray:
    """A growing array of numbers in a memory-mapped file, with the operations of ``array.array`` that walks need.

    Parameters
    ----------
    file : file object
        Open for reading and writing; it is closed with the array.
    folder : Path
        The folder on whose disk it is.
    kind : str
        The type of the numbers, as for ``array.array``.
    count : int
        How many numbers of the file belong to the array.

    Examples
    --------
    >>> from tempfile import TemporaryFile
    >>> from pathlib import Path
    >>> numbers = DiskArray(TemporaryFile(), Path("."), "d")
    >>> numbers.extend([1.0, 2.0, 3.0])
    >>> numbers[1:3] = array("d", [5.0, 6.0])
    >>> numbers[0], numbers[-1], numbers[:2].tolist(), len(numbers)
    (1.0, 6.0, [1.0, 5.0], 3)
    """

    def __init__(self, file: Any, folder: Path, kind: str, count: int = 0) -> None:
        self._file, self._folder, self.kind, self._count = file, folder, kind, count
        self._size = array(kind).itemsize
        weakref.finalize(self, file.close)
        self._map()

    def _map(self) -> None:
        size = os.fstat(self._file.fileno()).st_size // self._size * self._size
        self._view: Any = []
        if size:
            whole: Any = memoryview(mmap.mmap(self._file.fileno(), size))
            self._view = whole.cast(self.kind)
        if len(self._view) < self._count:
            raise CheckpointError(f"a file of {one_line(str(self._folder))} is too short: the folder is damaged")

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return (self._view[place] for place in range(self._count))

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            first, last, _ = place.indices(self._count)
            found = array(self.kind)
            if first < last:
                found.frombytes(self._view[first:last].cast("B"))
            return found
        return self._view[place if place >= 0 else self._count + place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self._view[slice(*place.indices(self._count)) if isinstance(place, slice) else place] = value

    def __delitem__(self, place: slice) -> None:
        self._count = min(self._count, place.indices(self._count)[0])

    def append(self, value: Any) -> None:
        """Append a number."""
        self.extend((value,))

    def extend(self, values: Sequence[Any]) -> None:
        """Append numbers.

        Raises
        ------
        OutOfDiskError
            If the file cannot grow.
        """
        end = self._count + len(values)
        if end > len(self._view):
            self._grow(end)
        if values:
            self._view[self._count : end] = values if isinstance(values, array) else array(self.kind, values)
        self._count = end

    def _grow(self, count: int) -> None:
        old = len(self._view) * self._size
        new = max(count * self._size, old + max(_LEAST, old // 4))
        new = -(-new // self._size) * self._size
        if free_bytes(self._folder) - (new - old) < _SPARE:
            raise OutOfDiskError
        try:
            if hasattr(os, "posix_fallocate"):  # a page without space on the disk would end the process
                os.posix_fallocate(self._file.fileno(), 0, new)
            else:
                self._file.truncate(new)
        except OSError:
            raise OutOfDiskError from None
        self._map()

    def prefix(self, count: int) -> "DiskArray":
        """Return the first numbers; the array that they belong to may grow."""
        found = DiskArray.__new__(DiskArray)
        found.__dict__.update(self.__dict__, _count=count)
        return found


class DiskLabels(Mapping[Hashable, int]):
    """The numbers of infosets by label: a hash table in a temporary file, and the labels as JSON in another.

    Labels are compared as a whole, so hashes may collide. The hash table is computed anew when a folder is opened.
    """

    def __init__(self, files: "DiskFolder", player: int, count: int) -> None:
        self._files, self._count = files, count
        self._ends = files.array(f"label_ends{player}", "q", count + 1)
        self.text = files.array(f"labels{player}", "B", self._ends[count])
        self._index = files.temporary("Q")
        self._recent: dict[Hashable, int] = {}
        slots = 1024
        while slots < 2 * count:
            slots *= 2
        self._index.extend(array("Q", bytes(16 * slots)))
        for number in range(count):
            text = self._label(number)
            mark = _hash(text)
            self._index[self._free(mark)] = array("Q", [mark, number + 1])

    def __len__(self) -> int:
        return self._count

    def _label(self, number: int) -> bytes:
        found: bytes = self.text[self._ends[number] : self._ends[number + 1]].tobytes()
        return found

    def __iter__(self) -> Iterator[Hashable]:
        return (decode(from_json(self._label(number))) for number in range(self._count))

    def __getitem__(self, label: Hashable) -> int:
        number = self.get(label)
        if number is None:
            raise KeyError(label)
        return int(number)

    def __contains__(self, label: object) -> bool:
        return self.get(label) is not None

    def get(self, label: Any, default: Any = None) -> Any:
        """Return the number of a label's infoset, or a default."""
        number = self._recent.get(label)
        if number is None:
            text = to_json(encode(label)).encode()
            number = self._find(text, _hash(text))
            if number is None:
                return default
            self._remember(label, number)
        return number

    def __setitem__(self, label: Hashable, number: int) -> None:
        text = to_json(encode(label)).encode()
        if 4 * (number + 1) > len(self._index):
            self._enlarge()
        # Remove the remains of an interrupted addition. The number of labels makes an addition valid.
        del self._ends[number + 1 :], self.text[self._ends[number] :]
        self.text.extend(array("B", text))
        self._ends.append(len(self.text))
        mark = _hash(text)
        self._index[self._free(mark)] = array("Q", [mark, number + 1])
        self._count = number + 1
        self._remember(label, number)

    def _remember(self, label: Hashable, number: int) -> None:
        if len(self._recent) >= _REMEMBERED:
            self._recent.clear()
        self._recent[label] = number

    def _find(self, text: bytes, mark: int) -> int | None:
        """Return the number of a label, or ``None``."""
        index, slots = self._index, len(self._index) // 2
        slot = mark % slots
        while True:
            number = index[2 * slot + 1]
            if not 0 < number <= self._count:  # a larger number belongs to an interrupted addition
                return None
            if index[2 * slot] == mark and self._label(number - 1) == text:
                return int(number) - 1
            slot = (slot + 1) % slots

    def _free(self, mark: int) -> slice:
        """Return the place of the first free slot for a hash."""
        index, slots = self._index, len(self._index) // 2
        slot = mark % slots
        while 0 < index[2 * slot + 1] <= self._count:
            slot = (slot + 1) % slots
        return slice(2 * slot, 2 * slot + 2)

    def _enlarge(self) -> None:
        """Replace the hash table by one of twice the size."""
        old = self._index
        new = self._files.temporary("Q")
        new.extend(array("Q", bytes(16 * len(old))))
        self._index = new
        for place in range(0, len(old), 2):
            if 0 < old[place + 1] <= self._count:
                new[self._free(old[place])] = old[place : place + 2]


def _hash(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest())


class DiskMenus:
    """The actions of infosets: each distinct menu once in memory, and its number for each infoset in a file."""

    def __init__(self, files: "DiskFolder", player: int, count: int) -> None:
        self._path = files.path / f"menus{player}.jsonl"
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.exists() else []
        self._menus = [decode(from_json(line)) for line in lines]
        self._numbers = {menu: number for number, menu in enumerate(self._menus)}
        self._chosen = files.array(f"menus{player}", "q", count)

    def append(self, menu: tuple[Hashable, ...]) -> None:
        """Append an infoset's actions."""
        number = self._numbers.get(menu)
        if number is None:
            with self._path.open("a", encoding="utf-8", newline="\n") as file:
                file.write(to_json(encode(menu)) + "\n")
            number = self._numbers[menu] = len(self._menus)
            self._menus.append(menu)
        self._chosen.append(number)

    def __getitem__(self, place: Any) -> Any:
        chosen = self._chosen[place]
        return [self._menus[each] for each in chosen] if isinstance(place, slice) else self._menus[chosen]

    def __delitem__(self, place: slice) -> None:
        del self._chosen[place]


class DiskInfosets(Infosets):
    """The infosets of one player in files of a folder; see :class:`~.walks.Infosets`."""

    def __init__(self, files: "DiskFolder", player: int, num_players: int, with_baselines: bool, count: int) -> None:
        super().__init__(player, num_players, with_baselines)
        self._files = files
        self.starts: Any = files.array(f"starts{player}", "q", count + 1)
        size = self.starts[count]
        self.numbers: Any = DiskLabels(files, player, count)
        self.menus: Any = DiskMenus(files, player, count)
        self.parents: Any = files.array(f"parents{player}", "q", count)
        self.regrets: Any = files.array(f"regrets{player}", "d", size)
        self.sums: Any = files.array(f"sums{player}", "d", size)
        pairs = enumerate(self.baselines)
        self.baselines: Any = [files.array(f"baselines{player}_{each}", "d", size) for each, _ in pairs]

    @property
    def size(self) -> int:
        """Bytes of the numbers on the disk."""
        floats = len(self.regrets) * (2 + len(self.baselines))
        return 8 * (floats + 4 * len(self)) + len(self.numbers.text)

    @size.setter
    def size(self, value: int) -> None:
        pass

    def fixed_starts(self) -> Any:
        """Return the first sequences of the infosets met so far."""
        return self.starts.prefix(len(self) + 1)

    def scratch(self, values: Any = ()) -> Any:
        """Return a temporary array on the disk, with a copy of values."""
        found = self._files.temporary("d")
        for place in range(0, len(values), _LEAST):
            found.extend(values[place : place + _LEAST])
        return found


class DiskFolder:
    """A folder with the tables and counters of a run over rules, which one process may use at a time.

    Parameters
    ----------
    path : path-like
        Created if it does not exist. If it contains a run, that run continues.
    asked : mapping
        The description of the run, which must not change.
    num_players : int

    Raises
    ------
    CheckpointError
        If it is not a folder, contains other files, another run or a damaged one, another process uses it, or its disk
        is full.

    Warns
    -----
    UserWarning
        If the process that used the folder was killed while it wrote the results of a walk.
    """

    def __init__(self, path: Any, asked: Mapping[str, Any], num_players: int) -> None:
        self.path, self.name, self._num_players = Path(path), one_line(str(path)), num_players
        self.known: array[int] = array("Q")  # the counters when this process last used the folder
        told = {"treeplex_tables": _VERSION, **asked}
        if not self.name:
            raise CheckpointError("folder is '', expected the name of a folder")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except FileExistsError:
            raise CheckpointError(f"{self.name} is a file, expected a folder") from None
        except OSError as error:
            raise CheckpointError(f"cannot use the folder {self.name}: {one_line(str(error))}") from None
        with self.locked():
            about = self.path / "run.json"
            if not {each.name for each in self.path.iterdir()} - {"lock"}:
                with writing_whole(about) as passing:
                    passing.write_text(json.dumps(told), encoding="utf-8")
            if not about.exists():
                raise CheckpointError(f"{self.name} contains other files, expected an empty folder or one of a run")
            self._compare(from_json(about.read_bytes()), told)
            #: Whether results are being written, iterations, histories touched, the turn, the state of the random
            #: numbers; then the number of infosets of each player.
            self.counters = self.array("counters", "Q", 5 + num_players)
            #: Each player's turns, lowest and highest payoff.
            self.floats = self.array("floats", "d", 3 * num_players)
            if self.counters[0]:
                self.counters[0] = 0
                warnings.warn(
                    f"the process that used {self.name} was killed while it wrote the results of a walk: a part of "
                    "them may be missing",
                    stacklevel=5,
                )
        self.known = self.counters[:]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Let no other process use the folder.

        Raises
        ------
        CheckpointError
            If another process uses it, or the folder is not as this process left it.
        """
        try:
            with FileLock(self.path / "lock", timeout=0):
                if self.known and self.known != self.counters[:]:
                    raise CheckpointError(f"another process has continued the run in {self.name}: open it again")
                try:
                    yield
                finally:
                    if self.known:
                        self.known = self.counters[:]
        except Timeout:
            raise CheckpointError(f"another process uses {self.name}, expected a folder of its own") from None
        except OSError as error:
            raise CheckpointError(f"cannot use the folder {self.name}: {one_line(str(error))}") from None

    def _compare(self, found: Any, told: Mapping[str, Any]) -> None:
        for key, value in told.items():
            if not isinstance(found, dict) or found.get(key) != value:
                received = found.get(key) if isinstance(found, dict) else found
                raise CheckpointError(
                    f"{self.name} does not contain this run: its {key} is {shown(received, 60)}, expected "
                    f"{shown(value, 60)}"
                )

    def array(self, name: str, kind: str, count: int) -> DiskArray:
        """Return an array in a file of the folder. A new file has zeros."""
        path = self.path / f"{name}.bin"
        is_new = not path.exists()
        path.touch()
        found = DiskArray(path.open("r+b"), self.path, kind, 0 if is_new else count)
        if is_new:
            try:
                found.extend(array(kind, bytes(count * array(kind).itemsize)))
            except OutOfDiskError:
                path.unlink()
                raise CheckpointError(self.full) from None
        return found

    def temporary(self, kind: str) -> DiskArray:
        """Return an empty array in a file that is deleted with it."""
        return DiskArray(TemporaryFile(dir=self.path), self.path, kind)

    @property
    def full(self) -> str:
        """The message when the disk is full."""
        return (
            f"the disk of {self.name} is too small: {in_words(free_bytes(self.path))} are free, and {in_words(_SPARE)} "
            "must remain; free some space, and run again with the same folder"
        )

    def tables(self, with_baselines: bool) -> list[Infosets]:
        """Return the tables of all players, with the infosets of the last run."""
        try:
            return [
                DiskInfosets(self, player, self._num_players, with_baselines, int(count))
                for player, count in enumerate(self.counters[5:])
            ]
        except OutOfDiskError:
            raise CheckpointError(self.full) from None
