"""Time limits and interruptions: deadlines, stopwatches, and blocks that delay signals."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .errors import TimeLimitError

#: Seconds after the deadline at which work without an answer is stopped.
GRACE = 0.3
#: The parts of the time of a solve; follow-up computations, such as the value of the game, are counted separately.
PARTS = ("loading", "compiling", "building", "solving", "certifying", "writing")

#: The clock, in seconds. All limits and measurements read this one, so that tests can set the time.
_read: Callable[[], float] = time.perf_counter


def now() -> float:
    """Return the time on a monotonic clock, in seconds."""
    return _read()


#: Seconds spent in :func:`uncounted` blocks so far.
_uncounted: ContextVar[float] = ContextVar("uncounted", default=0.0)


def counted_now() -> float:
    """Return the time on a clock that stops in :func:`uncounted` blocks, in seconds.

    Methods measure their time with it, so that it excludes compiling.

    Examples
    --------
    >>> import time
    >>> from treeplex.seqform.limits import counted_now, uncounted
    >>> begun = counted_now()
    >>> with uncounted():
    ...     time.sleep(0.1)
    >>> counted_now() - begun < 0.1
    True
    """
    return now() - _uncounted.get()


class Deadline:
    """The time at which work must end.

    Parameters
    ----------
    at : float
        Time on the clock of :func:`now`.
    outer : Deadline, optional
    seconds : float
        The time allowed for the work, in seconds.

    Attributes
    ----------
    finishing : int
        Positive while an answer that has been found is completed, for example certified.
    doing : list of str
        Nested descriptions of the current work; see :func:`doing`.
    broken_off : str
        The work that the last exception interrupted.
    outer : Deadline or None
        The deadline of the enclosing work.
    """

    def __init__(self, at: float = math.inf, outer: "Deadline | None" = None, seconds: float = math.inf) -> None:
        self.at = at
        self.seconds = seconds
        self.finishing = 0
        self.doing: list[str] = []
        self.broken_off = ""
        self.outer = outer

    def all(self) -> "Iterator[Deadline]":
        """Iterate over this deadline and its outer ones."""
        deadline: Deadline | None = self
        while deadline is not None:
            yield deadline
            deadline = deadline.outer


_deadline: ContextVar[Deadline] = ContextVar("deadline")
_NEVER = Deadline()


def seconds_left(most: float = math.inf) -> float:
    """Return the seconds left until the deadline, between 0 and `most`.

    Examples
    --------
    >>> from treeplex.seqform.limits import seconds_left, time_limited
    >>> with time_limited(0.0):
    ...     seconds_left()
    0.0
    """
    return max(0.0, min(most, _deadline.get(_NEVER).at - now()))


def seconds_late() -> float:
    """Return the seconds since the deadline; negative before it."""
    return now() - _deadline.get(_NEVER).at


@contextmanager
def time_limited(seconds: float) -> Iterator[Deadline]:
    """Set a deadline for the block, in this thread; an earlier outer deadline still applies."""
    outer = _deadline.get(None)
    at = now() + seconds
    if outer is not None and outer.at < at:
        deadline = Deadline(outer.at, outer, outer.seconds)
    else:
        deadline = Deadline(at, outer, seconds)
    token = _deadline.set(deadline)
    try:
        yield deadline
    finally:
        _deadline.reset(token)


@contextmanager
def finishing() -> Iterator[None]:
    """Complete an answer in the block: the command line lets it exceed the limit; ``check_time`` does not."""
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
    """Exclude the block from all time limits, for slow work done once per installation, such as compiling.

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
    deadlines, begun, before = list(_deadline.get(_NEVER).all()), now(), _uncounted.get()
    with finishing():
        try:
            yield
        finally:
            took = now() - begun - (_uncounted.get() - before)  # inner blocks have been excluded already
            _uncounted.set(_uncounted.get() + took)
            for deadline in deadlines:
                deadline.at += took


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Describe the work of the block, for the message if the time limit expires in it.

    Parameters
    ----------
    what : str
        For example ``the sequence form of kuhn was being built``.
    """
    limited = _deadline.get(None)
    told = [] if limited is None else list(limited.all())
    for deadline in told:
        deadline.doing.append(what)
        deadline.broken_off = ""
    try:
        yield
    except BaseException:
        for deadline in told:
            deadline.broken_off = deadline.broken_off or what
        raise
    finally:
        for deadline in told:
            deadline.doing.pop()


def passed(deadline: Deadline, what: str = "", raised: str = "it") -> str:
    """Return the message that a time limit has expired, and during what work.

    Parameters
    ----------
    deadline : Deadline
    what : str
        The work; by default the latest description passed to :func:`doing`.
    raised : str
        The name of the limit.

    Examples
    --------
    >>> from treeplex.seqform.limits import Deadline, passed
    >>> passed(Deadline(seconds=20.0), "the tree, 3.1 million nodes, was being built")
    'time limit reached: 20 s passed while the tree, 3.1 million nodes, was being built; raise it'
    """
    what = what or (deadline.doing[-1] if deadline.doing else deadline.broken_off or "the command was running")
    return f"time limit reached: {max(deadline.seconds, 0.0):,.6g} s passed while {what}; raise {raised}"


def check_time(doing: str) -> None:
    """Raise an error if the deadline passed more than :data:`GRACE` seconds ago.

    Parameters
    ----------
    doing : str
        The work that is stopped, for the message.

    Raises
    ------
    TimeLimitError
    """
    if seconds_late() > GRACE:
        raise too_late(doing)


def too_late(what: str = "") -> TimeLimitError:
    """Return the error for work that has no answer at the deadline."""
    return TimeLimitError(passed(_deadline.get(_NEVER), what))


# Measuring time


class Stopwatch:
    """The time of a block, divided into parts; each second counts towards one part.

    Parameters
    ----------
    part : str
        The part outside :func:`timed` blocks.

    Attributes
    ----------
    part : str
        The current part.
    running : bool
        Whether the block has not ended yet.
    """

    def __init__(self, part: str) -> None:
        self.part = part
        self._taken: dict[str, float] = {}
        self._since = now()
        self._question = ""
        self.running = True

    def add(self, part: str, seconds: float) -> None:
        """Add seconds to a part."""
        self._taken[part] = self._taken.get(part, 0.0) + seconds

    def turn(self, part: str) -> str:
        """Switch to another part; return the previous one."""
        if self._question and part in ("solving", "certifying"):
            part = self._question
        before, self.part = self.part, part
        if self.running:
            at = now()
            self.add(before, at - self._since)
            self._since = at
        return before

    def answer(self, question: str) -> str:
        """Count solving and certifying towards a question from now on; return the previous question."""
        before, self._question = self._question, question
        return before

    def move(self, seconds: float, part: str) -> None:
        """Move seconds from solving to another part."""
        source = self._question or "solving"
        self.turn(self.part)
        seconds = min(seconds, self._taken.get(source, 0.0))
        self.add(source, -seconds)
        self.add(part, seconds)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds so far by part: :data:`PARTS`, then follow-up computations by name."""
        self.turn(self.part)
        return {**dict.fromkeys(PARTS, 0.0), **self._taken}


_watches: ContextVar[tuple[Stopwatch, ...]] = ContextVar("watches", default=())


@contextmanager
def stopwatch(part: str = "solving") -> Iterator[Stopwatch]:
    """Measure the time of the block by parts.

    Examples
    --------
    >>> import time
    >>> from treeplex.seqform.limits import stopwatch, timed
    >>> with stopwatch() as watch:
    ...     with timed("building"):
    ...         time.sleep(0.02)
    >>> watch.seconds["building"] >= 0.02, watch.seconds["solving"] < 0.02
    (True, True)
    """
    watch = Stopwatch(part)
    token = _watches.set((*_watches.get(), watch))
    try:
        yield watch
    finally:
        watch.turn(watch.part)
        watch.running = False
        _watches.reset(token)


@contextmanager
def timed(part: str) -> Iterator[None]:
    """Count the time of the block towards a part; inner blocks may count towards another one.

    Parameters
    ----------
    part : str
        One of :data:`PARTS`.
    """
    before = [(watch, watch.turn(part)) for watch in _watches.get()]
    try:
        yield
    finally:
        for watch, other in before:
            watch.turn(other)


def stopwatches() -> tuple[Stopwatch, ...]:
    """Return the running stopwatches, the innermost last."""
    return _watches.get()


@contextmanager
def answering(question: str) -> Iterator[None]:
    """Count solving and certifying in the block towards a follow-up computation, such as ``game_value``.

    Parameters
    ----------
    question : str
        Its name in JSON; reports replace underscores with spaces.
    """
    before = [(watch, watch.answer(question), watch.turn("solving")) for watch in _watches.get()]
    try:
        yield
    finally:
        for watch, asked, part in before:
            watch.answer(asked)
            watch.turn(part)


@contextmanager
def loading() -> Iterator[None]:
    """Exclude the block from time limits, and count it as loading modules."""
    with uncounted(), timed("loading"):
        yield


@contextmanager
def compiling() -> Iterator[None]:
    """Exclude the block from time limits, and count it as compiling."""
    with uncounted(), timed("compiling"):
        yield


# Delayed signals

#: The signals of the platform that ask a program to end.
_ENDING = [
    int(getattr(signal, name))
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK")
    if hasattr(signal, name)
]
#: A signal that arrives this many seconds after the first one is handled at once. Earlier repeats count as echoes:
#: shells and ``timeout`` send some signals twice.
ECHO = 1.0
#: Seconds for which compiled code may delay the handling of a signal if an answer would otherwise be lost.
WORTH_WAITING = 10.0
_last_held = [-math.inf]
_numbers: list[int] = []
_patience: list[float] = []


def last_held() -> float:
    """Return when the last delayed signal arrived, on the clock of :func:`~treeplex.seqform.limits.now`."""
    return _last_held[0]


def held_numbers() -> list[int]:
    """Return the numbers of all signals delayed so far."""
    return _numbers.copy()


def patience() -> float:
    """Return the seconds for which the main thread may delay the handling of signals; see :func:`patient`."""
    return max(_patience, default=0.0)


@contextlib.contextmanager
def patient(seconds: float) -> Iterator[None]:
    """Declare that compiled code in the block may delay the handling of signals for this long.

    The command line's watchdog ends the process no sooner, unless a second signal arrives.
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
    """Handlers that delay signals from :meth:`begin` to :meth:`end`."""

    def __init__(self) -> None:
        self.held: list[tuple[int, Any]] = []
        self.passes = False
        self._before: dict[int, Callable[[int, Any], Any]] = {}
        self._first, self._is_over = math.inf, False

    def begin(self) -> None:
        """Delay signals from now on."""
        if self._before or self._is_over or threading.current_thread() is not threading.main_thread():
            return
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler):
                self._before[number] = handler
                signal.signal(number, self._hold)

    def end(self) -> None:
        """Restore the former handlers."""
        try:  # signals that arrive meanwhile are delayed too, so that all handlers are restored
            for number, handler in self._before.items():
                if signal.getsignal(number) == self._hold:
                    signal.signal(number, handler)
        finally:
            self._is_over = True

    def handle(self) -> None:
        """Handle the first delayed signal; called after :meth:`end`."""
        if self.held:
            number, frame = self.held[0]
            self._before[number](number, frame)

    def _hold(self, number: int, frame: Any) -> None:
        at = now()
        # If a signal prevented :meth:`end` from restoring a handler, this one passes signals on to it.
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
    """Delay signals that ask the program to end until the block has ended; then handle the first one.

    Only signals with a Python handler are delayed, and only in the main thread, where Python handles them. A second
    signal that arrives a second later or more is handled at once.

    Parameters
    ----------
    forget : bool
        Whether to drop the signals, because the program is already ending.

    Examples
    --------
    >>> import signal
    >>> from treeplex.seqform.limits import holding_signals
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

#: The function that takes over delayed signals when the answer is returned.
_taker: ContextVar[Callable[[], None] | None] = ContextVar("taker", default=None)


@contextlib.contextmanager
def taking(take: Callable[[], None]) -> Iterator[None]:
    """Take over, in the block, the signals that are delayed because an answer is known.

    Parameters
    ----------
    take : callable
        Called when the outermost :func:`settling` block ends with its answer, before signals are handled again. It may
        install its own handlers.
    """
    token = _taker.set(take)
    try:
        yield
    finally:
        _taker.reset(token)


class Answer:
    """Whether an answer is known, and the signals that arrived since it was found.

    Attributes
    ----------
    interrupted : bool
        Whether a signal arrived that :func:`taking` does not handle.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._hold = _Hold()
        self._waiting = contextlib.ExitStack()

    def known(self) -> None:
        """Delay signals from now on, because there is an answer."""
        self._hold.begin()
        self._waiting.enter_context(patient(WORTH_WAITING))

    @contextlib.contextmanager
    def seeking_more(self) -> Iterator[None]:
        """Let signals interrupt the block, which computes additions to the answer.

        Raises
        ------
        KeyboardInterrupt
            When a signal arrives, or has arrived already.
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
        """Restore the former signal handlers, whether there is an answer or not."""
        self._hold.end()
        self._waiting.close()


@contextlib.contextmanager
def settling(*, part: bool = False) -> Iterator[Answer]:
    """Find an answer in the block; once it is known, signals are delayed until the block ends.

    A delayed signal is then left to the function passed to :func:`taking`; without one, the answer records it. An
    answer found within another block is a part of that block's answer, and its signals are only recorded.

    Parameters
    ----------
    part : bool
        Whether the answer is a part of another one even without an outer block.

    Examples
    --------
    >>> import signal
    >>> from treeplex.seqform.limits import settling
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
