"""Solves that are interrupted at chosen moments, without a clock: at the k-th line of the library that they run.

Time stands still but for a clock that each reading moves on, so that a run reads the same clock and writes the same
files whenever it is done again, and a moment is the same moment.
"""

import random
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import treeplex
from treeplex import Checkpoint, Solution
from treeplex.solvers import checkpoint as checkpoint_module
from treeplex.solvers import iteration

_LIBRARY = str(Path(treeplex.__file__).parent)
_SKIPPED = tuple(str(Path(_LIBRARY, part)) for part in ("tests", "models"))


class Moment:
    """Counts lines of the library, and at one of them raises a signal, or an exception.

    Parameters
    ----------
    at : int
        The line, counted from 0; a negative one never comes.
    how : {"INT", "TERM", "raise"}
        With ``raise`` Ctrl-C comes in the middle of anything, as no signal does that is held.
    """

    def __init__(self, at: int = -1, how: str = "INT") -> None:
        self.at, self.how, self.lines = at, how, 0
        self._skipped = _SKIPPED

    def _trace(self, frame: Any, event: str, arg: Any) -> Any:
        name = frame.f_code.co_filename
        if event == "call" and (not name.startswith(_LIBRARY) or name.startswith(self._skipped)):
            return None
        if event == "line":
            self.lines += 1
            if self.lines - 1 == self.at:
                if self.how == "raise":
                    raise KeyboardInterrupt
                signal.raise_signal(getattr(signal, f"SIG{self.how}"))
        return self._trace

    @contextmanager
    def counting(self, whole: bool = False) -> Iterator["Moment"]:
        """Count in the block; the whole library, and signals as they are, for what handles them itself."""
        before = sys.gettrace()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        if whole:
            self._skipped = _SKIPPED[:1]
        else:
            for number in handlers:
                signal.signal(number, signal.default_int_handler)
        sys.settrace(self._trace)
        try:
            yield self
        finally:
            sys.settrace(before)
            for number, handler in handlers.items():  # one that raises may leave those of the library
                signal.signal(number, handler)


@contextmanager
def own_clock(tick: float = 0.01) -> Iterator[None]:
    """Let loops and checkpoints read a clock that goes on by so many seconds at each reading."""
    reading = [0.0]

    def read() -> float:
        reading[0] += tick
        return reading[0]

    clock = SimpleNamespace(monotonic=read)
    with mock.patch.object(iteration, "counted_now", read), mock.patch.object(checkpoint_module, "time", clock):
        yield


def differences(first: Solution, second: Solution) -> list[str]:
    """Return in what two solutions differ, to the last bit."""
    found = [
        name
        for name in ("iterations", "status", "lower", "upper", "objective", "exploitability", "multipliers", "message")
        if repr(getattr(first, name)) != repr(getattr(second, name))
    ]
    if not all(np.array_equal(*plans) for plans in zip(first.profile.plans, second.profile.plans, strict=True)):
        found.append("plans")
    found += [
        f"history of {name}"
        for name in ("iterations", "exploitability")
        if not np.array_equal(getattr(first.history, name), getattr(second.history, name), equal_nan=True)
    ]
    return found


def interrupted(
    run: Callable[[Checkpoint | None], Any], path: Path, rng: random.Random, times: int, hows: tuple[str, ...]
) -> tuple[list[Any], list[str]]:
    """Run in one piece; then with interruptions at random moments, go on, and go on again when it has ended.

    Parameters
    ----------
    run : callable
        Takes a checkpoint, or none.
    path : Path
        Where it may be.
    rng : random.Random
    times : int
        How many interruptions there are.
    hows : tuple of str
        As :class:`Moment` takes them.

    Returns
    -------
    list
        The answer in one piece, that after the interruptions, and two more of going on when it has ended.
    list of str
        What was done, to do it again.
    """
    tick = rng.choice([1e-4, 0.01, 0.01, 0.2])
    every = rng.choice([0.0, 0.0, 5 * tick, 1e9])
    with own_clock(tick):
        answers = [run(None)]
    counted = Moment()
    with own_clock(tick), counted.counting():
        run(Checkpoint(path, every=every))
    for each in path.parent.iterdir():
        each.unlink()
    told = [f"clock {tick}, every {every}, {counted.lines} lines"]
    for _ in range(times):
        moment = Moment(rng.randrange(counted.lines), rng.choice(hows))
        try:
            with own_clock(tick), moment.counting():
                ended = run(Checkpoint(path, every=every, resume=True))
            how = str(getattr(ended, "status", "ended"))
        except KeyboardInterrupt:
            how = "raised"
        told.append(f"{moment.how} at line {moment.at}: {how}")
    for _ in range(3):
        with own_clock(tick):
            answers.append(run(Checkpoint(path, every=every, resume=True)))
    return answers, told


def refuted(answers: list[Any], told: list[str], name: str) -> list[str]:
    """Return what is not as it is in one piece."""
    whole, *others = answers
    wrong = []
    for number, other in enumerate(others):
        found = differences(whole, other) if isinstance(whole, Solution) else [] if whole == other else ["answer"]
        if found:
            wrong.append(f"{name}, gone on {number + 1} times: {', '.join(found)} ({'; '.join(told)})")
    return wrong
