"""Time limits and interruptions: deadlines and stopwatches for all that a block calls, and signals that wait."""

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

#: Seconds after the deadline in which what has an answer may finish it; what has none by then is given up.
GRACE = 0.3
#: The parts of the time of a solve; second questions, such as the value of the game, are parts of their own.
PARTS = ("loading", "compiling", "building", "solving", "certifying", "writing")

#: Reads the clock, in seconds. Limits and measurements read it nowhere else, so that tests can set the time.
_read: Callable[[], float] = time.perf_counter


def now() -> float:
    """Return the time on a clock that nobody sets back, in seconds."""
    return _read()


#: Seconds that blocks of :func:`uncounted` have taken so far.
_uncounted: ContextVar[float] = ContextVar("uncounted", default=0.0)


def counted_now() -> float:
    """Return the time on a clock that stands still in blocks of :func:`uncounted`, in seconds.

    Methods measure themselves by it, so that their seconds hold no compiling.

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
    """When work is to end.

    Parameters
    ----------
    at : float
        On the clock of :func:`now`.
    outer : Deadline, optional
    seconds : float
        How long the work may take in all.

    Attributes
    ----------
    finishing : int
        Positive while an answer that has been found is finished, such as by its certificate.
    doing : list of str
        What is being done, and within it what; see :func:`doing`.
    broken_off : str
        What was being done when something was raised last.
    outer : Deadline or None
        That of what this is a part of.
    """

    def __init__(self, at: float = math.inf, outer: "Deadline | None" = None, seconds: float = math.inf) -> None:
        self.at = at
        self.seconds = seconds
        self.finishing = 0
        self.doing: list[str] = []
        self.broken_off = ""
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
    return max(0.0, min(most, _deadline.get(_NEVER).at - now()))


def seconds_late() -> float:
    """Return for how many seconds the deadline has passed: negative before it."""
    return now() - _deadline.get(_NEVER).at


@contextmanager
def time_limited(seconds: float) -> Iterator[Deadline]:
    """Let all that is done in the block, in this thread, end after so many seconds; an earlier deadline stays."""
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
    """Finish an answer in the block: the command line lets it overrun its limit; ``check_time`` is not affected."""
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
    """Charge the block to no time limit: what is done once after an installation, such as compiling, takes long.

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
            took = now() - begun - (_uncounted.get() - before)  # blocks within this one have been left out already
            _uncounted.set(_uncounted.get() + took)
            for deadline in deadlines:
                deadline.at += took


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Say what is done in the block, for the message if the time limit comes meanwhile.

    Parameters
    ----------
    what : str
        Such as ``the sequence form of kuhn was built``.
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
    """Return the message that a time limit came, and what it came in the middle of.

    Parameters
    ----------
    deadline : Deadline
    what : str
        By default what :func:`doing` said last.
    raised : str
        What the limit is called.

    Examples
    --------
    >>> from treeplex.seqform.limits import Deadline, passed
    >>> passed(Deadline(seconds=20.0), "the tree, 3.1 million nodes, was built")
    'the time limit came: 20 s passed while the tree, 3.1 million nodes, was built; raise it'
    """
    what = what or (deadline.doing[-1] if deadline.doing else deadline.broken_off or "the command was at work")
    return f"the time limit came: {max(deadline.seconds, 0.0):,.6g} s passed while {what}; raise {raised}"


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
        raise too_late(doing)


def too_late(what: str = "") -> TimeLimitError:
    """Return the error of what has no answer when the time is over."""
    return TimeLimitError(passed(_deadline.get(_NEVER), what))


# Where time went


class Stopwatch:
    """How long a block takes, by what is done in it; each second counts once.

    Parameters
    ----------
    part : str
        What time counts to unless a block of :func:`timed` says otherwise.

    Attributes
    ----------
    part : str
        What is being done.
    running : bool
        Until the block ends.
    """

    def __init__(self, part: str) -> None:
        self.part = part
        self._taken: dict[str, float] = {}
        self._since = now()
        self._question = ""
        self.running = True

    def add(self, part: str, seconds: float) -> None:
        """Count seconds that passed before the stopwatch began."""
        self._taken[part] = self._taken.get(part, 0.0) + seconds

    def turn(self, part: str) -> str:
        """Count what follows to another part; return the part that it was until now."""
        if self._question and part in ("solving", "certifying"):
            part = self._question
        before, self.part = self.part, part
        if self.running:
            at = now()
            self.add(before, at - self._since)
            self._since = at
        return before

    def answer(self, question: str) -> str:
        """Count solving and certifying to a question from now on; return what they counted to until now."""
        before, self._question = self._question, question
        return before

    def move(self, seconds: float, part: str) -> None:
        """Count some of the seconds of solving to another part after all."""
        source = self._question or "solving"
        self.turn(self.part)
        seconds = min(seconds, self._taken.get(source, 0.0))
        self.add(source, -seconds)
        self.add(part, seconds)

    @property
    def seconds(self) -> dict[str, float]:
        """The seconds so far: those of :data:`PARTS`, and then those of second questions, by name."""
        self.turn(self.part)
        return {**dict.fromkeys(PARTS, 0.0), **self._taken}


_watches: ContextVar[tuple[Stopwatch, ...]] = ContextVar("watches", default=())


@contextmanager
def stopwatch(part: str = "solving") -> Iterator[Stopwatch]:
    """Count the time of the block, by what is done in it.

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
    """Count the time of the block to a part, and to no other; a block within it may count to another one.

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
    """Return the stopwatches that run, the innermost last."""
    return _watches.get()


@contextmanager
def answering(question: str) -> Iterator[None]:
    """Count solving and certifying in the block to a second question, such as ``game_value``; building stays building.

    Parameters
    ----------
    question : str
        Its name in JSON; blanks stand for the underscores in reports.
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
    """Charge the block to no time limit, and count it as the loading of modules."""
    with uncounted(), timed("loading"):
        yield


@contextmanager
def compiling() -> Iterator[None]:
    """Charge the block to no time limit, and count it as compiling."""
    with uncounted(), timed("compiling"):
        yield


# Signals that wait

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
