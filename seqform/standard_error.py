"""Standard error as it may be found: missing, closed, or an object of the caller's that has hardly more than ``write``.

Progress, notes and warnings are for watching, and never decide whether there is an answer.
"""

import contextlib
import io
import sys
import warnings
from typing import Any

#: What streams raise that are closed, or lack what a file has.
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
    """Writes to what ``sys.stderr`` is when it is made, if that can be written to."""

    def __init__(self) -> None:
        self._stream: Any = sys.stderr

    def write(self, text: str) -> int:
        """Write, or leave it."""
        with contextlib.suppress(*_LACKING):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush, or leave it."""
        with contextlib.suppress(*_LACKING):
            self._stream.flush()

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return is_terminal(self._stream)

    def fileno(self) -> int:
        """Return the descriptor, if there is one."""
        try:
            return int(self._stream.fileno())
        except _LACKING as error:
            raise io.UnsupportedOperation("standard error has no file descriptor") from error

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding; UTF-8 where the stream does not say."""
        return getattr(self._stream, "encoding", None) or "utf-8"


def warn(message: str, category: type[Warning], stacklevel: int = 1) -> None:
    """Warn as ``warnings.warn`` does; where the warning cannot be printed, it is not."""
    try:
        warnings.warn(message, category, stacklevel=stacklevel + 1)
    except category:  # where warnings are errors
        raise
    except _LACKING:
        pass
