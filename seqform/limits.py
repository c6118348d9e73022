"""How long work may take: a deadline that everything done within a block keeps, however deep it is called."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from .errors import TimeLimitError

#: Seconds after the deadline in which what has an answer may finish it; what has none by then is given up.
GRACE = 0.3


class Deadline:
    """When work is to end.

    Parameters
    ----------
    at : float
        On the clock of ``time.monotonic``, which nobody sets back.

    Attributes
    ----------
    finishing : int
        Positive while an answer that has been found is finished, such as by its certificate.
    outer : Deadline or None
        That of what this is a part of.
    """

    def __init__(self, at: float = math.inf, outer: "Deadline | None" = None) -> None:
        self.at = at
        self.finishing = 0
        self.outer = outer

    def all(self) -> "Iterator[Deadline]":
        """Return this one, and those of all that it is a part of."""
        deadline: Deadline | None = self
        while deadline is not None:
            yield deadline
            deadline = deadline.outer


_deadline: ContextVar[Deadline] = ContextVar("deadline")
_NEVER = Deadline()


def seconds_left(most: float = math.inf) -> float:
    """Return how many seconds are left, `most` at most; never less than 0.

    Examples
    --------
    >>> from treeplex.seqform.limits import seconds_left, time_limited
    >>> with time_limited(0.0):
    ...     seconds_left()
    0.0
    """
    return max(0.0, min(most, _deadline.get(_NEVER).at - time.monotonic()))


def seconds_late() -> float:
    """Return for how many seconds the deadline has passed: negative before it."""
    return time.monotonic() - _deadline.get(_NEVER).at


@contextmanager
def time_limited(seconds: float) -> Iterator[Deadline]:
    """Let all that is done in the block, in this thread, end after so many seconds; an earlier deadline stays."""
    outer = _deadline.get(None)
    at = time.monotonic() + seconds
    deadline = Deadline(at if outer is None else min(outer.at, at), outer)
    token = _deadline.set(deadline)
    try:
        yield deadline
    finally:
        _deadline.reset(token)


@contextmanager
def finishing() -> Iterator[None]:
    """Finish an answer in the block, deadline or not."""
    deadlines = list(_deadline.get(_NEVER).all())
    for deadline in deadlines:
        deadline.finishing += 1
    try:
        yield
    finally:
        for deadline in deadlines:
            deadline.finishing -= 1


@contextmanager
def uncounted() -> Iterator[None]:
    """Take the time of the block off nobody: what is done once after an installation, such as compiling, is long.

    Examples
    --------
    >>> import time
    >>> from treeplex.seqform.limits import seconds_left, time_limited, uncounted
    >>> with time_limited(10.0):
    ...     with uncounted():
    ...         time.sleep(0.1)
    ...     seconds_left() > 9.9
    True
    """
    deadlines, begun = list(_deadline.get(_NEVER).all()), time.monotonic()
    with finishing():
        try:
            yield
        finally:
            took = time.monotonic() - begun
            for deadline in deadlines:
                deadline.at += took


def check_time(doing: str) -> None:
    """Give up what has no answer yet, if the time is over.

    Parameters
    ----------
    doing : str
        What is given up, for the message.

    Raises
    ------
    TimeLimitError
    """
    if seconds_late() > GRACE:
        raise TimeLimitError(f"the time limit came while {doing}; raise it")
