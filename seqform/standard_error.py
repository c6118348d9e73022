"""Robust writing to standard error, which may be missing, closed, or a caller's object with little more than ``write``.

Progress, notes and warnings only inform: failing to write them never affects the answer.
"""

import contextlib
import io
import sys
import warnings
from typing import Any

#: The errors of streams that are closed, or lack the methods of a file.
_LACKING = (AttributeError, OSError, TypeError, ValueError)


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is an open terminal.

    Examples
    --------
    >>> import io
    >>> from treeplex.seqform.standard_error import is_terminal
    >>> is_terminal(None), is_terminal(io.StringIO())
    (False, False)
    """
    with contextlib.suppress(*_LACKING):
        return bool(stream.isatty())
    return False


class StandardError(io.TextIOBase):
    """A stream that writes to what ``sys.stderr`` was when it was created, if that is writable."""

    def __init__(self) -> None:
        self._stream: Any = sys.stderr

    def write(self, text: str) -> int:
        """Write the text, or do nothing if that fails."""
        with contextlib.suppress(*_LACKING):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream, or do nothing if that fails."""
        with contextlib.suppress(*_LACKING):
            self._stream.flush()

    def isatty(self) -> bool:
        """Return whether the stream is a terminal."""
        return is_terminal(self._stream)

    def fileno(self) -> int:
        """Return the file descriptor, if there is one."""
        try:
            return int(self._stream.fileno())
        except _LACKING as error:
            raise io.UnsupportedOperation("standard error has no file descriptor") from error

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding; UTF-8 if the stream does not define one."""
        return getattr(self._stream, "encoding", None) or "utf-8"


def warn(message: str, category: type[Warning], stacklevel: int = 1) -> None:
    """Warn as ``warnings.warn`` does, but ignore a warning that cannot be printed."""
    try:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
    except category:  # warnings are turned into errors
        raise
    except _LACKING:
        pass
