"""Reading files within limits and writing them atomically, with the file named in every error; ``.npz`` archives."""

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
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ..budget import ENVIRONMENT_VARIABLE, Budget
from ..errors import GameFileError, GameTooLargeError, InvalidGameError, nearest, one_line, one_of, shown
from ..memory import in_words
from .encoding import from_json, to_json

if sys.platform != "win32":
    import fcntl

#: The largest size of a game file, in bytes. A node takes about 100 bytes of it, and about a kilobyte of memory.
MAX_BYTES = 2**28
#: At most this many names in a folder are compared with that of a missing file.
_SIBLINGS = 1_000
#: Bytes of memory for each byte of a graph in GraphML or JSON: nodes without attributes take up to 60, games 12 to 20.
GRAPH_EXPANSION = 64


@contextlib.contextmanager
def naming(path: str | os.PathLike[str]) -> Iterator[None]:
    """Add the file's name to every error about a game; the error keeps its type.

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
        if text.startswith(f"{name}: "):  # one reader called another
            raise
        named = type(error)(f"{name}: {text}")
        if isinstance(error, GameFileError) and isinstance(named, GameFileError):
            named.line, named.column = error.line, error.column
        raise named from None


def read_bytes(path: str | os.PathLike[str], expansion: int = 1, limit: int = MAX_BYTES) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path : path-like
    expansion : int
        The most bytes of memory that the caller needs for each byte of the file.
    limit : int
        The largest size of the file in bytes.

    Raises
    ------
    GameFileError
        If the file does not exist, is not regular, cannot be read, is too large, or belongs to another program, see
        :mod:`~treeplex.seqform.interchange.signatures`; the message names it.
    GameTooLargeError
        If its content may take more memory than the budget; the message names the file.
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


def decoded(content: bytes) -> str:
    """Return the text of a file in UTF-8, or in Latin-1, which older programs write.

    Raises
    ------
    GameFileError
        If the file is in UTF-16.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise GameFileError("the file is in UTF-16, expected UTF-8", line=1, column=1)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def regular_size(path: str | os.PathLike[str]) -> int:
    """Return the size of a regular file in bytes, without opening it.

    Raises
    ------
    GameFileError
        If it is a directory, or a device or pipe, which could block.
    OSError, ValueError
        If it does not exist or cannot be read.
    """
    status = Path(path).stat()
    if stat.S_ISDIR(status.st_mode):
        raise GameFileError("it is a directory, expected a file")
    if not stat.S_ISREG(status.st_mode):
        raise GameFileError("it is not a regular file")
    return status.st_size


def check_memory(needed: int, budget: Budget | None = None) -> None:
    """Raise an error if a file may take more memory than the budget for building a game.

    Parameters
    ----------
    needed : int
        The most bytes that the file takes in memory.
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
            f"memory with {ENVIRONMENT_VARIABLE} or --memory"
        )


def check_suffix(path: str | os.PathLike[str], what: str, suffixes: Sequence[str]) -> str:
    """Return the suffix of an output file, in lower case.

    Parameters
    ----------
    path : path-like
    what : str
        The content of the file, with its article.
    suffixes : sequence of str
        The suffixes that it may have.

    Raises
    ------
    GameFileError
        If the suffix is none of these.

    Examples
    --------
    >>> from treeplex.seqform.interchange.files import check_suffix
    >>> check_suffix("month.ICS", "a schedule", (".csv", ".ics"))
    '.ics'
    >>> check_suffix("month.txt", "a schedule", (".csv", ".ics"))
    Traceback (most recent call last):
    treeplex.seqform.errors.GameFileError: month.txt: a schedule with suffix '.txt', expected .csv or .ics
    """
    suffix = Path(path).suffix.lower()
    if suffix not in suffixes:
        raise GameFileError(
            f"{one_line(os.fspath(path))}: {what} with suffix {shown(suffix)}, expected {one_of(suffixes)}"
        )
    return suffix


#: How the library's files begin, what they contain, and which command reads them.
_BEGINNINGS = (
    (rb"EFG |NFG |<\?xml|<graphml", "a game", "treeplex info"),
    (rb'\{"directed"|board\s*=', "a game", "treeplex info"),
    (rb'\{"treeplex_log"|\{"seat"', "a play log", "treeplex fit"),
    (rb'\{\s*"format": *"treeplex strategies"|player,infoset,|NE,', "strategies", "treeplex show"),
    (rb"variant\s*=|\[\w+\]\s+variant\s*=", "hand histories", "treeplex fit --game preflop:…"),
    (rb"PK\x03\x04", "an archive (.npz)", "if it holds strategies, treeplex show"),
)


def other_kind(path: str | os.PathLike[str], expected: str) -> str:
    """Return the kind of an unexpected file, and the command that reads it; otherwise an empty string.

    Parameters
    ----------
    path : path-like
    expected : str
        ``a game``, ``a play log`` or ``strategies``.

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
        if kind != expected and re.match(pattern, begins) and ("npz" not in kind or expected == "a play log"):
            return f" (it looks like {kind}: {reader} reads it)"
    return ""


def _check_size(size: int, limit: int) -> None:
    if size > limit:
        raise GameFileError(f"it has {size:,} bytes or more, expected at most {limit:,}")


#: The pattern of temporary names; see :func:`writing_whole`.
_PASSING = re.compile(r"\..*\.treeplex-[0-9a-f]{8}(\..*)?", re.DOTALL)


@contextlib.contextmanager
def writing_whole(path: str | os.PathLike[str], previous: str | os.PathLike[str] | None = None) -> Iterator[Path]:
    """Write to a temporary file in the same folder, and rename it once it is completely on disk.

    The library writes every file through this function. If writing fails (a full disk, a kill), the old content stays.
    The next write to that folder removes the temporary files of killed processes. A read-only file is not replaced. A
    target that is not a regular file (a device, a pipe) is written directly.

    Parameters
    ----------
    path : path-like
    previous : path-like, optional
        The new path of the old file.

    Yields
    ------
    Path
        The path to write to; it has the suffix of `path`.

    Raises
    ------
    OSError, ValueError
        If the file cannot be written.

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
        if sys.platform == "win32":  # which cannot move an open file
            file.close()
        if previous is not None and mode is not None:
            target.replace(previous)
        passing.replace(target)
        _sync_folder(target.parent)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise an error if :func:`writing_whole` cannot write a file; an existing file stays unchanged.

    Raises
    ------
    OSError, ValueError
    """
    target, mode = _target(path)
    if mode is None or stat.S_ISREG(mode):
        with _passing_file(target):
            pass


def _target(path: str | os.PathLike[str]) -> tuple[Path, int | None]:
    """Follow symbolic links; return the file and its mode, ``None`` if it does not exist.

    Raises
    ------
    OSError, ValueError
        If it is a directory or read-only.
    """
    target = Path(os.path.realpath(path))  # symbolic links are kept
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
    """Create an empty file beside a target for the block, locked so that other processes see it is in use.

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
            is_locked = os.fstat(file.fileno()).st_nlink > 0  # otherwise another process removed it as a leftover
            if is_locked:
                yield passing, file


@contextlib.contextmanager
def _removing(passing: Path, file: BinaryIO) -> Iterator[None]:
    """Close a file after the block, and remove it if it still has its name."""
    try:
        yield
    finally:
        file.close()  # Windows does not remove an open file
        with contextlib.suppress(OSError):
            passing.unlink()


def _remove_leftovers(folder: Path) -> None:
    """Remove a folder's temporary files to which no process is still writing."""
    with contextlib.suppress(OSError):
        with os.scandir(folder) as entries:
            left = [Path(entry.path) for entry in entries if _PASSING.fullmatch(entry.name)]
        for passing in left:
            with contextlib.suppress(OSError):
                _remove_leftover(passing)


def _remove_leftover(passing: Path) -> None:
    if sys.platform == "win32":  # which does not remove open files
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
    """Write a game file atomically.

    Raises
    ------
    GameFileError
        If it cannot be written; the message names it.
    """
    with refusing_unwritable(path), writing_whole(path) as passing:
        passing.write_bytes(content)


def absence(path: str | os.PathLike[str]) -> str:
    """Return that there is no such file, and the file in its folder with the most similar name, if there is one.

    Examples
    --------
    >>> import os, tempfile
    >>> from treeplex.seqform.interchange.files import absence
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     open(os.path.join(folder, "river.toml"), "w").close()
    ...     absence(os.path.join(folder, "rivr.toml")), absence(os.path.join(folder, "x.efg"))
    ('no such file (did you mean river.toml?)', 'no such file')
    """
    folder, name = os.path.split(os.fspath(path))
    try:
        with os.scandir(folder or ".") as entries:
            names = sorted(one_line(entry.name) for entry in islice(entries, _SIBLINGS))
        # Equal suffixes alone make no names similar.
        near = nearest(name, [one for one in names if nearest(Path(name).stem, [Path(one).stem])])
    except (OSError, ValueError):
        near = ""
    return f"no such file{near}"


@contextlib.contextmanager
def refusing_unreadable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error in reading a game file into a one-line message that names the file.

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
            raise GameFileError(absence(path)) from None
        except InvalidGameError:  # a ValueError too
            raise
        except (OSError, ValueError) as error:
            raise GameFileError(f"cannot read the file: {reason_of(error)}") from None


@contextlib.contextmanager
def refusing_unwritable(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an error in writing a game file into a one-line message that names the file.

    Raises
    ------
    GameFileError
    """
    try:
        yield
    except InvalidGameError:  # a ValueError too
        raise
    except (OSError, ValueError) as error:
        raise GameFileError(f"{one_line(os.fspath(path))} cannot be written: {reason_of(error)}") from None


@contextlib.contextmanager
def refusing_damaged(path: object, what: str, refusal: type[ValueError], expected: str = "") -> Iterator[None]:
    """Turn an error in reading an archive into a one-line message that names the file.

    Parameters
    ----------
    path : path-like
    what : str
        The message for a file that cannot be read, such as ``is not a strategy file, or a damaged one``.
    refusal : type of exception
        The type of the error; errors of this type pass unchanged.
    expected : str
        The expected content, as in :func:`other_kind`.

    Raises
    ------
    GameTooLargeError
        If the file may take more memory than the budget.
    """
    named = one_line(str(path))
    try:
        yield
    except FileNotFoundError:
        raise refusal(f"{named}: {absence(str(path))}") from None
    except GameTooLargeError as error:
        raise GameTooLargeError(f"{named}: {error}") from None
    except refusal:
        raise
    except Exception as error:  # with a damaged archive, zipfile, zlib, numpy and json raise almost any error
        from .signatures import foreign_file

        foreign = foreign_file(str(path))
        if foreign is not None:
            raise refusal(f"{named}: {foreign}") from None
        hint = other_kind(str(path), expected) if expected else ""
        raise refusal(f"{named} {what}: {one_line(str(error))}{hint}") from None


def csv_text(headings: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Return rows as comma-separated values below a line of headings; ``None`` is empty."""
    text = StringIO()
    writer = csv.DictWriter(text, headings, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def reason_of(error: Exception) -> str:
    """Return the system's reason for a failed read or write, in one line."""
    return one_line((getattr(error, "strerror", None) or str(error)).lower())


#: Archives up to this many bytes unpacked are read at any compression ratio …
ALWAYS_READ = 2**28
#: … and larger ones up to this ratio.
MAX_RATIO = 100
#: Bytes of memory per unpacked byte: metadata, four bytes per character, may consist of empty objects.
_EXPANSION = 8

_KINDS = "biufUS"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
#: The header of a member: its signature, 22 bytes that its directory entry repeats, and two lengths.
_LOCAL = struct.Struct("<4s22xHH")


def write_archive(
    path: str | Path,
    metadata: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    *,
    packed: bool = True,
    previous: str | Path | None = None,
) -> None:
    """Write arrays and metadata as one ``.npz`` file, atomically.

    Parameters
    ----------
    path : path-like
    metadata : mapping
        Values that JSON supports; they become the string ``metadata``.
    arrays : mapping of str to ndarray
        Arrays of numbers or strings.
    packed : bool
        Whether to compress, which takes most of the time.
    previous : path-like, optional
        The new path of the old file.

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
            with passing.open("wb") as file:  # compressed so well that a reader would reject it
                np.savez(file, **contents)


def read_archive(path: str | Path, mapped: bool = False) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read an ``.npz`` file from an untrusted source.

    Parameters
    ----------
    path : path-like
    mapped : bool
        Whether uncompressed arrays of numbers stay in the file until used. Their checksums are not verified.

    Returns
    -------
    dict, dict of str to ndarray
        The metadata, empty if there is none, and the other arrays; these are read-only.

    Raises
    ------
    FileNotFoundError
    GameTooLargeError
        If the content may take more memory than the budget for building a game.
    Exception
        Of any type, if the file cannot be read, is not such an archive, is damaged, contains Python objects, or
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
            with archive.open(member) as packed:  # a false size is detected before more is unpacked
                arrays[name] = _array(packed.read(member.file_size + 1), name)
    metadata = arrays.pop("metadata", None)
    if metadata is None:
        return {}, arrays
    if metadata.dtype.kind != "U" or metadata.shape:
        raise ValueError("its metadata is not a string")
    try:
        read = from_json(str(metadata))
    except GameFileError as error:
        raise GameFileError(f"its metadata cannot be read: {error}") from None
    if not isinstance(read, dict):
        raise ValueError("its metadata is not a JSON object")
    return read, arrays


def _mapped(file: BinaryIO, member: zipfile.ZipInfo, name: str) -> npt.NDArray[Any] | None:
    """Map one uncompressed array of numbers; return ``None`` for strings and empty arrays, which must be read."""
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
    """Return an array's shape, whether it is in column-major order, its type, and the position of its numbers.

    The header must state the true size, because numpy would allocate the stated size.
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
    if dtype.kind == "U" and array.view(f"{dtype.byteorder}u4").max() > sys.maxunicode:  # numpy would accept it
        raise ValueError(f"{name} contains a code point that is not a character")
    return array.reshape(shape, order="F" if fortran_order else "C")
