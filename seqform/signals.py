"""Signals that wait: work that must not be broken off in the middle ends first, and an answer is not lost."""

import contextlib
import math
import signal
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from .limits import now

#: What asks a program to end, where the platform has it.
_ENDING = [
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")
    if hasattr(signal, name)
]
#: A signal that comes this many seconds after the first one is handled at once. Sooner repeats are taken for echoes, as
#: shells and ``timeout`` send some signals twice.
ECHO = 1.0
#: Seconds for which compiled code may keep the main thread from hearing a signal where an answer would be lost.
WORTH_WAITING = 10.0
_last_held = [-math.inf]
_numbers: list[int] = []
_patience: list[float] = []


def last_held() -> float:
    """Return when a signal last came that had to wait, by the clock of :func:`~treeplex.seqform.limits.now`."""
    return _last_held[0]


def held_numbers() -> list[int]:
    """Return the numbers of all signals that had to wait so far."""
    return _numbers.copy()


def patience() -> float:
    """Return for how many seconds the main thread need not hear a signal: see :func:`patient`."""
    return max(_patience, default=0.0)


@contextlib.contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Say that compiled code may not hear a signal for so long in the block, and that an answer is worth the wait.

    What watches over the process, as the command line does, ends it no sooner, unless a second signal comes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _patience.append(seconds)
    try:
        yield
    finally:
        _patience.remove(seconds)  # blocks may end in any order


class _Hold:
    """Handlers that let signals wait, from :meth:`begin` to :meth:`end`."""

    def __init__(self) -> None:
        self.held: list[tuple[int, Any]] = []
        self.passes = False
        self._before: dict[int, Callable[[int, Any], Any]] = {}
        self._first, self._is_over = math.inf, False

    def begin(self) -> None:
        """Let signals wait from now on."""
        if self._before or self._is_over or threading.current_thread() is not threading.main_thread():
            return
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                signal.signal(number, self._hold)

    def end(self) -> None:
        """Let signals do again what they did."""
        try:  # what comes meanwhile waits too, so that all of them are put back
            for number, handler in self._before.items():
                if signal.getsignal(number) == self._hold:
                    signal.signal(number, handler)
        finally:
            self._is_over = True

    def handle(self) -> None:
        """Handle the first signal that had to wait, once this is over."""
        if self.held:
            number, frame = self.held[0]
            self._before[number](number, frame)

    def _hold(self, number: int, frame: Any) -> None:
        at = now()
        # One that could not be put back, because a signal came meanwhile, hands on what comes.
        if self._is_over or at - self._first >= ECHO:
            self._before[number](number, frame)
            return
        self._first = min(self._first, at)
        _last_held[0] = at
        _numbers.append(number)
        self.held.append((number, frame))
        if self.passes:
            raise KeyboardInterrupt


@contextlib.contextmanager
def holding_signals(*, forget: bool = False) -> Iterator[None]:
    """Let signals that ask the program to end wait until the block has ended; then the first one is handled.

    Only signals with a handler in Python wait, and only in the main thread, where Python handles them. A second signal
    that comes a second later or more is handled at once.

    Parameters
    ----------
    forget : bool
        Whether to handle none of them: what they ask for is under way.

    Examples
    --------
    >>> import signal
    >>> from treeplex.seqform.signals import holding_signals
    >>> try:
    ...     with holding_signals():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("done first")
    ... except KeyboardInterrupt:
    ...     print("interrupted")
    done first
    interrupted
    """
    hold = _Hold()
    try:
        hold.begin()
        yield
    finally:
        hold.end()
    if not forget:
        hold.handle()


# Answers

#: Who holds signals once the answer to what was asked is handed on.
_taker: ContextVar[Callable[[], None] | None] = ContextVar("taker", default=None)


@contextlib.contextmanager
def taking(take: Callable[[], None]) -> Iterator[None]:
    """Take over, in the block, the signals that wait because an answer is known.

    Parameters
    ----------
    take : callable
        Called when the outermost block of :func:`settling` ends with its answer, before signals are handled again: what
        handles them then is its own affair.
    """
    token = _taker.set(take)
    try:
        yield
    finally:
        _taker.reset(token)


class Answer:
    """When there is an answer, and which signals came since.

    Attributes
    ----------
    interrupted : bool
        Whether a signal came, and nobody else takes care of it.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._hold = _Hold()
        self._waiting = contextlib.ExitStack()

    def known(self) -> None:
        """Let signals wait from now on: there is an answer."""
        self._hold.begin()
        self._waiting.enter_context(patient(WORTH_WAITING))

    @contextlib.contextmanager
    def seeking_more(self) -> Iterator[None]:
        """Let signals interrupt the block, which seeks what the answer does not depend on.

        Raises
        ------
        KeyboardInterrupt
            When a signal comes, or has come already.
        """
        self._hold.passes = True
        try:
            if self._hold.held:
                raise KeyboardInterrupt
            yield
        finally:
            self._hold.passes = False

    def _settle(self, take: Callable[[], None] | None) -> None:
        if take is not None:
            take()
        self._give_up()
        if take is not None:
            self._hold.handle()
        else:
            self.interrupted = bool(self._hold.held)

    def _give_up(self) -> None:
        """Let signals do again what they did, whether there is an answer or not."""
        self._hold.end()
        self._waiting.close()


@contextlib.contextmanager
def settling(*, part: bool = False) -> Iterator[Answer]:
    """Find an answer in the block that signals do not take away once it is known, until the block ends.

    A signal that came is then handled by who takes over (see :func:`taking`), and else noted in the answer. An answer
    that is found within the block of another one is a part of that, and nobody takes over there.

    Parameters
    ----------
    part : bool
        Whether it is a part of what was asked in any case.

    Examples
    --------
    >>> import signal
    >>> from treeplex.seqform.signals import settling
    >>> with settling() as answer:
    ...     answer.known()
    ...     signal.raise_signal(signal.SIGINT)
    >>> answer.interrupted
    True
    """
    take, token = None if part else _taker.get(), _taker.set(None)
    answer = Answer()
    try:
        yield answer
        answer._settle(take)
    finally:
        _taker.reset(token)
        answer._give_up()
