"""Files of lines, compressed or not, read as streams: memory does not grow with the file."""

import os
import stat
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from ...seqform.errors import PlayLogError, one_line, shown
from ...seqform.interchange.files import other_kind, reason_of
from ...seqform.interchange.signatures import Signature, foreign_file
from .lines import LONGEST


@dataclass(frozen=True)
class BadLines:
    """Lines, or hands, of one kind that could not be read and were skipped.

    Attributes
    ----------
    kind : str
        A short description of the problem; see :data:`~treeplex.models.play.lines.KINDS`.
    count : int
        Number of such lines or hands.
    line : int
        The number of the first such line, or of the line at which the first such hand begins, counted from one.
    message : str
        The problem of the first one, and what was expected.
    """

    kind: str
    count: int
    line: int
    message: str


#: Lines, and whether a line break follows the last one.
Batch = tuple[list[bytes], bool]
#: Number of bytes read at once.
_CHUNK = 2**21
_GZIP = b"\x1f\x8b"
#: zlib's setting for the gzip format; number of compressed bytes decompressed at once, which are lost if they are
#: damaged.
_GZIP_ALONE, _PIECE = 31, 2**14


@contextmanager
def reading(source: str | os.PathLike[str] | BinaryIO, kind: str, reads: Collection[str] = ()) -> Iterator[Any]:
    """Open a file of lines, and name it in errors.

    Parameters
    ----------
    source : path-like or binary file
        An object with a method ``read`` is left open.
    kind : str
        The expected kind of file, as for :func:`~treeplex.seqform.interchange.files.other_kind`.
    reads : collection of str
        The kinds of other programs' files that the reader reads.

    Raises
    ------
    PlayLogError
        If the file cannot be read, or the block raises this error.
    """
    name = "the log"
    if not hasattr(source, "read"):
        try:
            name = one_line(os.fspath(source))
        except TypeError:
            raise PlayLogError(f"the log is {shown(source)}, expected a path or a binary file") from None
        if not name:  # as a path it would be the current folder
            raise PlayLogError("the log is '', expected a path or a binary file")
    try:
        with ExitStack() as stack:
            yield source if hasattr(source, "read") else _opened(source, stack)
    except PlayLogError as error:
        foreign = _foreign(source, reads)
        hint = other_kind(name, kind) if error.line in (None, 1) else ""
        named = PlayLogError(f"{name}: {error}{hint}" if foreign is None else f"{name}: {foreign}")
        named.line = error.line
        raise named from None
    except (OSError, ValueError) as error:
        raise PlayLogError(f"{name}: cannot read the file: {reason_of(error)}") from None


def _foreign(source: Any, reads: Collection[str]) -> Signature | None:
    """Return the kind of another program's file; ``None`` for kinds that are read."""
    found = None if hasattr(source, "read") else foreign_file(source, unpack=True)
    return None if found is None or found.kind in reads else found


def refuse_foreign(sources: Iterable[Any], reads: Collection[str] = ()) -> None:
    """Raise an error if a file from which nothing could be read is another program's, not a log with bad lines.

    Raises
    ------
    PlayLogError
    """
    for source in sources:
        foreign = _foreign(source, reads)
        if foreign is not None:
            raise PlayLogError(f"{one_line(os.fspath(source))}: {foreign}")


def _opened(path: Any, stack: ExitStack) -> BinaryIO:
    """Open a file or a pipe; devices are rejected, because they might never end."""
    mode = Path(path).stat().st_mode
    if stat.S_ISDIR(mode):
        raise PlayLogError("it is a directory, expected a file")
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise PlayLogError("it is a device, expected a file")
    return stack.enter_context(Path(path).open("rb"))


def batches(file: Any, progress: Callable[[int, float | None], None] | None = None) -> Iterator[Batch]:
    """Yield the lines of a file, decompressed if necessary.

    Parameters
    ----------
    file : binary file
    progress : callable, optional
        Called occasionally with the number of lines so far and the fraction of the file read, from 0 to 1, or ``None``
        if the size is unknown.

    Yields
    ------
    lines : list of bytes
        Without their line breaks. Lines are cut if they exceed :data:`~treeplex.models.play.lines.LONGEST` bytes.
    whole : bool
        Whether a line break follows the last one.

    Raises
    ------
    EOFError, zlib.error
        If its compression is truncated or damaged.

    Examples
    --------
    >>> import io
    >>> from treeplex.models.play.batches import batches
    >>> list(batches(io.BytesIO(b"one" + bytes([10]) + b"two")))
    [([b'one'], True), ([b'two'], False)]
    """
    size, count = _size_of(file), 0
    rest, skipping = b"", False
    for chunk in _unpacked(file):
        if skipping:  # the rest of a line that is too long
            _, newline, chunk = chunk.partition(b"\n")  # noqa: PLW2901
            skipping = not newline
        lines = (rest + chunk).split(b"\n") if chunk else [b""]
        rest = lines.pop()
        count += len(lines)
        yield lines, True
        if len(rest) > LONGEST:
            count += 1
            yield [rest], True
            rest, skipping = b"", True
        if progress is not None:
            progress(count, min(1.0, file.tell() / size) if size else None)
    if rest:
        yield [rest], False


def _unpacked(file: Any) -> Iterator[bytes]:
    packed = _chunk(file)
    if not packed.startswith(_GZIP):
        while packed:
            yield packed
            packed = _chunk(file)
        return
    unpacker = zlib.decompressobj(_GZIP_ALONE)
    while packed:
        for start in range(0, len(packed), _PIECE):
            piece = packed[start : start + _PIECE]
            while piece:
                if unpacker.eof:  # another part follows, or zeros that fill a block
                    piece = piece.lstrip(b"\0")
                    if not piece:
                        break
                    unpacker = zlib.decompressobj(_GZIP_ALONE)
                yield unpacker.decompress(piece)
                piece = unpacker.unused_data
        packed = _chunk(file)
    if not unpacker.eof:
        raise EOFError("it ends before its end marker")


def _size_of(file: Any) -> int | None:
    """Return the size of a regular file in bytes."""
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
