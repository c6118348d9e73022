"""Files read within bounds, written whole or not at all, and named in every error; ``.npz`` archives among them."""

import codecs
import contextlib
import csv
import math
import os
import re
import stat
import struct
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..budget import ENVIRONMENT_VARIABLE, Budget
from ..errors import GameFileError, GameTooLargeError, InvalidGameError, one_line, one_of, shown
from ..memory import in_words
from .encoding import from_json, to_json

if sys.platform != "win32":
    import fcntl

#: The largest game file that is read, in bytes. A node takes some 100 of them, and about a kilobyte of memory.
MAX_BYTES = 2**28
#: Bytes of memory for each byte of a graph in GraphML or JSON: nodes without attributes take up to 60, games 12 to 20.
GRAPH_EXPANSION = 64


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let every error about a game say which file it is about; the type of the error stays.

    Examples
    --------
    >>> from treeplex import GameFileError
    >>> from treeplex.seqform.interchange.files import naming
    >>> try:
    ...     with naming("poker.efg"):
    ...         raise GameFileError("a payoff is missing", line=3, column=7)
    ... except GameFileError as error:
    ...     print(error, error.line)
    poker.efg: line 3, column 7: a payoff is missing 3
    """
    name = one_line(os.fspath(path))
    try:
        yield
    except (InvalidGameError, GameTooLargeError) as error:
        text = str(error)
        if text.startswith(f"{name}: "):  # a reader within another one
            raise
        named = type(error)(f"{name}: {text}")
        if isinstance(error, GameFileError) and isinstance(named, GameFileError):
            named.line, named.column = error.line, error.column
        raise named from None


def read_bytes(path: str | os.PathLike[str], expansion: int = 1, limit: int = MAX_BYTES) -> bytes:
    """Return what a file holds.

    Parameters
    ----------
    path : path-like
    expansion : int
        How many bytes of memory at most are taken, in the end, for each byte of the file.
    limit : int
        The most bytes that are read.

    Raises
    ------
    GameFileError
        If there is no such file, it is not a regular file, it cannot be read, it is larger, or it is one of another
        program, see :mod:`~treeplex.seqform.interchange.signatures`; the message names it.
    GameTooLargeError
        If what is made of it may take more memory than the budget; the message names it.
    """
    with refusing_unreadable(path):
        size = regular_size(path)
        _check_size(size, limit)
        check_memory(size * expansion)
        with Path(path).open("rb") as file:
            content = file.read(limit + 1)
        _check_size(len(content), limit)
        from .signatures import foreign_content

        foreign = foreign_content(content)
        if foreign is not None:
            raise GameFileError(str(foreign))
        return content


def regular_size(path: str | os.PathLike[str]) -> int:
    """Return how many bytes a regular file has, before it is opened.

    Raises
    ------
    GameFileError
        If it is a directory, a device or a pipe, which would wait for ever.
    OSError, ValueError
        If there is no such file, or it cannot be read.
    """
    status = Path(path).stat()
    if stat.S_ISDIR(status.st_mode):
        raise GameFileError("it is a directory, expected a file")
    if not stat.S_ISREG(status.st_mode):
        raise GameFileError("it is not a regular file")
    return status.st_size


def check_memory(needed: int, budget: Budget | None = None) -> None:
    """Refuse a file that may take more memory than the budget for building a game.

    Parameters
    ----------
    needed : int
        Bytes that it takes at most.
    budget : Budget, optional
        By default a new one.

    Raises
    ------
    GameTooLargeError
    """
    budget = Budget() if budget is None else budget
    if budget.left(needed) < 0:
        raise GameTooLargeError(
            f"reading the file may take {in_words(needed)}, but the budget is {in_words(budget.limit)}; allow more "
            f"memory by {ENVIRONMENT_VARIABLE} or --memory"
        )


def check_suffix(path: str | os.PathLike[str], what: str, suffixes: Sequence[str]) -> str:
    """Return the suffix of a file to write, in lower case.

    Parameters
    ----------
    path : path-like
    what : str
        What is written, with its article.
    suffixes : sequence of str
        Those that it is written with.

    Raises
    ------
    GameFileError
        If the suffix is another one.

    Examples
    --------
    >>> from treeplex.seqform.interchange.files import check_suffix
    >>> check_suffix("month.ICS", "a schedule", (".csv", ".ics"))
    '.ics'
    >>> check_suffix("month.txt", "a schedule", (".csv", ".ics"))
    Traceback (most recent call last):
    treeplex.seqform.errors.GameFileError: month.txt: a schedule of suffix '.txt', expected .csv or .ics
    """
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise GameFileError(
            f"{one_line(os.fspath(path))}: {what} with suffix {shown(suffix)}, expected {one_of(suffixes)}"
        )
    return suffix


#: How files of the library begin, what they hold, and what reads that.
_BEGINNINGS = (
    (rb"EFG |<\?xml|<graphml", "a game", "treeplex info"),
    (rb'\{"directed"|board\s*=', "a game", "treeplex info"),
    (rb'\{"treeplex_log"|\{"seat"', "a log of play", "treeplex fit"),
    (rb'\{\s*"format": *"treeplex strategies"|player,infoset,|NE,', "strategies", "treeplex show"),
    (rb"variant\s*=|\[\w+\]\s+variant\s*=", "hand histories", "treeplex fit --game preflop:…"),
    (rb"PK\x03\x04", "an archive (.npz)", "if it holds strategies, treeplex show"),
)


def other_kind(path: str | os.PathLike[str], expected: str) -> str:
    """Return what a file begins like, and what reads that, if it is not what is expected; otherwise nothing.

    Parameters
    ----------
    path : path-like
    expected : str
        ``a game``, ``a log of play`` or ``strategies``.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.interchange import write_efg
    >>> from treeplex.seqform.interchange.files import other_kind
    >>> write_efg(load_game("kuhn"), "kuhn.efg")
    >>> other_kind("kuhn.efg", "strategies")
    ' (it looks like a game: treeplex info reads it)'
    """
    begins = b""
    with contextlib.suppress(OSError, ValueError):
        regular_size(path)
        with Path(path).open("rb") as file:
            begins = file.read(200).removeprefix(codecs.BOM_UTF8).lstrip()
    for pattern, kind, reader in _BEGINNINGS:
        if kind != expected and re.match(pattern, begins) and ("npz" not in kind or expected == "a log of play"):
            return f" (it looks like {kind}: {reader} reads it)"
    return ""


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise GameFileError(f"it has {size:,} bytes or more, expected at most {limit:,}")


#: What the passing name of a file that is being written looks like; see :func:`writing_whole`.
_PASSING = re.compile(r"\..*\.treeplex-[0-9a-f]{8}(\..*)?", re.DOTALL)


@contextlib.contextmanager
def writing_whole(path: str | os.PathLike[str], previous: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Write a file under a passing name beside it, and put it in its place once all of it is on the disk.

    Every file that the library writes goes through here. If writing fails (a full disk, a kill), the old content
    stays; the passing file of a process that was killed is removed when the next file is written to that folder. A file
    that may not be written is not replaced either. A target that is not a regular file (a device, a pipe) is written
    directly.

    Parameters
    ----------
    path : path-like
    previous : path-like, optional
        Where the old file goes.

    Yields
    ------
    Path
        Where to write; it has the suffix of `path`.

    Raises
    ------
    OSError, ValueError
        If it cannot be written.

    Examples
    --------
    >>> from treeplex.seqform.interchange.files import writing_whole
    >>> with writing_whole("numbers.txt") as passing:
    ...     _ = passing.write_text("1 2 3")
    """
    target, mode = _target(path)
    if mode is not None and not stat.S_ISREG(mode):
        yield target
        return
    with _passing_file(target) as (passing, file):
        yield passing
        os.fsync(file.fileno())
        if mode is not None:
            passing.chmod(stat.S_IMODE(mode))
        if sys.platform == "win32":  # where an open file cannot be moved
            file.close()
        if previous is not None and mode is not None:
            target.replace(previous)
        passing.replace(target)
        _sync_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that :func:`writing_whole` cannot write; what is there stays as it is.

    Raises
    ------
    OSError, ValueError
    """
    target, mode = _target(path)
    if mode is None or stat.S_ISREG(mode):
        with _passing_file(target):
            pass


def _target(path: str | os.PathLike[str]) -> tuple[Path, int | None]:
    """Return the file that a path leads to, symbolic links followed, and its mode, ``None`` if there is none yet.

    Raises
    ------
    OSError, ValueError
        If it is a directory, or may not be written.
    """
    target = Path(os.path.realpath(path))  # a symbolic link stays one
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return target, None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(21, "Is a directory", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", str(target))
    return target, mode


@contextlib.contextmanager
def _passing_file(target: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """Make an empty file beside a target for the block, locked so that other processes see that somebody writes it.

    The file is closed at the end of the block, and removed unless the block has moved it away.
    """
    _remove_leftovers(target.parent)
    stem, suffix = (os.fsencode(part)[:80].decode(errors="ignore") for part in (target.stem, target.suffix))
    is_locked = False
    while not is_locked:
        passing = target.with_name(f".{stem}.treeplex-{os.urandom(4).hex()}{suffix}")
        with passing.open("xb") as file, _removing(passing, file):
            if sys.platform != "win32":
                with contextlib.suppress(OSError):  # not every file system has locks
                    fcntl.flock(file, fcntl.LOCK_EX)
            is_locked = os.fstat(file.fileno()).st_nlink > 0  # otherwise another process took it for a leftover
            if is_locked:
                yield passing, file


@contextlib.contextmanager
def _removing(passing: Path, file: BinaryIO) -> Iterator[None]:
    """Close and remove a file after the block, if it is still there under its name."""
    try:
        yield
    finally:
        file.close()  # Windows does not remove an open file
        with contextlib.suppress(OSError):
            passing.unlink()


def _remove_leftovers(folder: Path) -> None:
    """Remove the passing files in a folder that nobody writes any more."""
    with contextlib.suppress(OSError):
        with os.scandir(folder) as entries:
            left = [Path(entry.path) for entry in entries if _PASSING.fullmatch(entry.name)]
        for passing in left:
            with contextlib.suppress(OSError):
                _remove_leftover(passing)


def _remove_leftover(passing: Path) -> None:
    if sys.platform == "win32":  # which does not remove what somebody has open
        passing.unlink()
        return
    file = os.open(passing, os.O_WRONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        passing.unlink()
    finally:
        os.close(file)


def _sync_folder(folder: Path) -> None:
    """Flush a folder's new entries to the disk, on systems that support it."""
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            opened = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(opened)
            finally:
                os.close(opened)


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a game file, whole or not at all.

    Raises
    ------
    GameFileError
        If it cannot be written; the message names it.
    """
    with refusing_unwritable(path), writing_whole(path) as passing:
        passing.write_bytes(content)


@contextlib.contextmanager
def refusing_unreadable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the failure to read a game file into one line that names it.

    Raises
    ------
    GameFileError
    """
    with naming(path):
        if "\0" in os.fspath(path):
            raise GameFileError("no such file: the name contains a zero byte")
        try:
            yield
        except FileNotFoundError:
            raise GameFileError("no such file") from None
        except InvalidGameError:  # a ValueError too
            raise
        except (OSError, ValueError) as error:
            raise GameFileError(f"it cannot be read: {reason_of(error)}") from None


@contextlib.contextmanager
def refusing_unwritable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the failure to write a game file into one line.

    Raises
    ------
    GameFileError
    """
    try:
        yield
    except InvalidGameError:  # a ValueError too
        raise
    except (OSError, ValueError) as error:
        raise GameFileError(f"{one_line(os.fspath(path))}: it cannot be written: {reason_of(error)}") from None


@contextlib.contextmanager
def refusing_damaged(path: object, what: str, refusal: type[ValueError], expected: str = "") -> Iterator[None]:
    """Turn the failure to read an archive into one line.

    Parameters
    ----------
    path : path-like
    what : str
        What is wrong with a file that cannot be read, such as ``is not a strategy file, or a damaged one``.
    refusal : type of exception
        Those of this type pass.
    expected : str
        What the file should hold, as :func:`other_kind` takes it.

    Raises
    ------
    GameTooLargeError
        If the file may take more memory than the budget.
    """
    named = one_line(str(path))
    try:
        yield
    except FileNotFoundError:
        raise refusal(f"{named}: no such file") from None
    except GameTooLargeError as error:
        raise GameTooLargeError(f"{named}: {error}") from None
    except refusal:
        raise
    except Exception as error:  # a damaged archive makes zipfile, zlib, numpy and json raise almost anything
        from .signatures import foreign_file

        foreign = foreign_file(str(path))
        if foreign is not None:
            raise refusal(f"{named}: {foreign}") from None
        hint = other_kind(str(path), expected) if expected else ""
        raise refusal(f"{named} {what}: {one_line(str(error))}{hint}") from None


def csv_text(headings: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as comma-separated values below a line of their headings; ``None`` is empty."""
    text = StringIO()
    writer = csv.DictWriter(text, headings, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def reason_of(error: Exception) -> str:
    """Return the system's reason for a failed read or write, in one line."""
    return one_line((getattr(error, "strerror", None) or str(error)).lower())


#: Archives of up to so many bytes unpacked are read whatever they are packed to …
ALWAYS_READ = 2**28
#: … and larger ones up to so many times their own size.
MAX_RATIO = 100
#: Bytes of memory for each byte unpacked: metadata, of four bytes a character, may be empty objects alone.
_EXPANSION = 8

_KINDS = "biufUS"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: How a member begins: its signature, 22 bytes that its entry in the directory repeats, and two lengths.
_LOCAL = struct.Struct("<4s22xHH")


def write_archive(
    path: str | Path,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    packed: bool = True,
    previous: str | Path | None = None,
) -> None:
    """Write arrays and metadata as one ``.npz`` file, whole or not at all.

    Parameters
    ----------
    path : path-like
    metadata : mapping
        What JSON takes; it becomes the text ``metadata``.
    arrays : mapping of str to ndarray
        Of numbers or text.
    packed : bool
        Whether it is compressed, which takes most of the time.
    previous : path-like, optional
        Where the old file goes.

    Raises
    ------
    OSError, TypeError, ValueError
        If the file cannot be written.
    """
    contents: dict[str, Any] = {"metadata": np.array(to_json(metadata)), **arrays}
    unpacked = sum(array.nbytes for array in contents.values())
    with writing_whole(path, previous) as passing:
        with passing.open("wb") as file:
            (np.savez_compressed if packed else np.savez)(file, **contents)
        if packed and passing.is_file() and unpacked > max(ALWAYS_READ, (MAX_RATIO - 1) * passing.stat().st_size):
            with passing.open("wb") as file:  # packed so well that a reader would take it for a trap
                np.savez(file, **contents)


def read_archive(path: str | Path, mapped: bool = False) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read an ``.npz`` file from an untrusted source.

    Parameters
    ----------
    path : path-like
    mapped : bool
        Whether arrays of numbers that are not packed stay in the file until they are used. Their checksums are not
        looked at.

    Returns
    -------
    dict, dict of str to ndarray
        The metadata, empty if there is none, and the other arrays; these are read-only.

    Raises
    ------
    FileNotFoundError
    GameTooLargeError
        If it may take more memory than the budget for building a game.
    Exception
        Of any type, if the file cannot be read, is not such an archive or a damaged one, holds Python objects, or
        unpacks to more than :data:`ALWAYS_READ` bytes and :data:`MAX_RATIO` times its size.
    """
    size = regular_size(path)
    with Path(path).open("rb") as file, zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        unpacked = sum(member.file_size for member in members)
        if unpacked > max(ALWAYS_READ, MAX_RATIO * size):
            raise ValueError(f"its {size:,} bytes would unpack to {unpacked:,}: a decompression bomb")
        arrays: dict[str, npt.NDArray[Any]] = {}
        left: dict[str, zipfile.ZipInfo] = {}
        for member in members:
            name = member.filename.removesuffix(".npy")
            if member.compress_type not in _METHODS or name in arrays or name in left:
                raise ValueError(f"{name} occurs twice, or is not compressed by deflate")
            found = _mapped(file, member, name) if mapped and member.compress_type == zipfile.ZIP_STORED else None
            if found is None:
                left[name] = member
            else:
                arrays[name] = found
        check_memory(_EXPANSION * sum(member.file_size for member in left.values()))
        for name, member in left.items():
            with archive.open(member) as packed:  # a size that lies is found out before more is unpacked
                arrays[name] = _array(packed.read(member.file_size + 1), name)
    metadata = arrays.pop("metadata", None)
    if metadata is None:
        return {}, arrays
    if metadata.dtype.kind != "U" or metadata.shape:
        raise ValueError("its metadata is not text")
    try:
        read = from_json(str(metadata))
    except GameFileError as error:
        raise GameFileError(f"its metadata cannot be read: {error}") from None
    if not isinstance(read, dict):
        raise ValueError("its metadata is not a JSON object")
    return read, arrays


def _mapped(file: BinaryIO, member: zipfile.ZipInfo, name: str) -> npt.NDArray[Any] | None:
    """Map one array of numbers that is not packed; ``None`` if it is to be read: text, or nothing."""
    file.seek(member.header_offset)
    local = file.read(_LOCAL.size)
    signature, *lengths = _LOCAL.unpack(local)
    if signature != b"PK\x03\x04" or member.flag_bits & 1:
        raise ValueError(f"{name} does not begin where the archive says")
    start = member.header_offset + _LOCAL.size + sum(lengths)
    file.seek(0, os.SEEK_END)
    if member.compress_size != member.file_size or start + member.file_size > file.tell():
        raise ValueError(f"{name} does not end where the archive says")
    file.seek(start)
    shape, fortran_order, dtype, first = _header(file, member.file_size, name)
    if dtype.kind not in "biuf" or not math.prod(shape):
        return None
    return np.memmap(file, dtype, "r", start + first, shape, "F" if fortran_order else "C").view(np.ndarray)


def _header(stream: BinaryIO, size: int, name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Return an array's shape, whether columns come first, its type, and where its numbers begin.

    The header must say just what is there; numpy would take memory for what it says.
    """
    begun = stream.tell()
    version = np.lib.format.read_magic(stream)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read_header:
        raise ValueError(f"{name} has version {version} of numpy's format, expected 1.0 or 2.0")
    shape, fortran_order, dtype = read_header[version](stream)
    first = stream.tell() - begun
    if dtype.kind not in _KINDS or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != size - first:
        raise ValueError(f"{name} has shape {shape} and type {dtype}, which are not numeric or do not match the data")
    return shape, fortran_order, dtype, first


def _array(content: bytes, name: str) -> npt.NDArray[Any]:
    """Read one array."""
    shape, fortran_order, dtype, first = _header(BytesIO(content), len(content), name)
    count = math.prod(shape)
    if not count or not dtype.itemsize:
        return np.empty(shape, dtype)
    array = np.frombuffer(content, dtype, count, first)
    if dtype.kind == "U" and array.view(f"{dtype.byteorder}u4").max() > sys.maxunicode:  # numpy would make a text of it
        raise ValueError(f"{name} holds a number that is not a character")
    return array.reshape(shape, order="F" if fortran_order else "C")
