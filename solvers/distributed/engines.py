"""Engines: what starts workers, and passes orders to them and replies back."""

import abc
import contextlib
import itertools
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from multiprocessing import resource_tracker
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ...seqform.budget import available_cores
from ...seqform.calls import leave_signals_to_parent
from ...seqform.errors import UnsupportedProblemError, one_line, shown
from .host import Maker, Order, Reply, WorkerHost

#: Variables that limit the threads of linear algebra and of compiled loops, read when a process imports them.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
#: Seconds that a process which is ended may take until it is killed.
_ENDING = 1.0


class WorkerLostError(Exception):
    """A worker that has ended, hangs, or sends corrupted replies."""


class Worker(abc.ABC):
    """A process with a :class:`~treeplex.solvers.distributed.host.Host`.

    Attributes
    ----------
    name : str
        A name for messages and logs.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @abc.abstractmethod
    def send(self, orders: Sequence[Order]) -> "Future[list[Reply]]":
        """Send orders; the future raises an exception if the worker is lost."""

    def is_alive(self) -> bool:
        """Return whether the worker may still reply, as far as is known without asking it."""
        return True

    @abc.abstractmethod
    def end(self) -> None:
        """End the worker's host at once, whatever it is doing."""


class Engine(abc.ABC):
    """A source of workers."""

    @abc.abstractmethod
    def start(self, most: int) -> list[Worker]:
        """Start at most so many workers.

        Raises
        ------
        SolverError
            If there are none.
        """

    @abc.abstractmethod
    def replace(self, lost: Worker, seconds: float) -> Worker | None:
        """Return a new worker instead of a lost one, or ``None`` if there is none after so many seconds."""

    @abc.abstractmethod
    def close(self) -> None:
        """End what the engine started."""


def in_thread(run: Callable[[], Any]) -> "Future[Any]":
    """Run a function in a thread of its own, which does not keep the program from ending."""
    future: Future[Any] = Future()

    def work() -> None:
        try:
            found = run()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(found)

    threading.Thread(target=work, daemon=True).start()
    return future


# Processes of this machine


class ProcessEngine(Engine):
    """Worker processes on this machine; each runs one thread.

    Parameters
    ----------
    workers : int, optional
        Default: one per core.
    """

    def __init__(self, workers: int | None) -> None:
        self._count = workers or available_cores()
        self._numbers = itertools.count(1)
        self._workers: list[_Process] = []

    def start(self, most: int) -> list[Worker]:
        """Start the workers; see :meth:`Engine.start`."""
        return [self._another() for _ in range(min(self._count, most))]

    def replace(self, lost: Worker, seconds: float) -> Worker | None:
        """Start another process; see :meth:`Engine.replace`."""
        self._workers = [worker for worker in self._workers if worker is not lost]
        return self._another()

    def _another(self) -> "_Process":
        worker = _Process(f"process {next(self._numbers)}")
        self._workers.append(worker)
        return worker

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()


class _Process(Worker):
    """A process of this machine, at the other end of a pipe."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        self._process = context.Process(target=_serve, args=(other,), name=f"treeplex {name}", daemon=True)
        with deaf_to_interrupts(), _one_thread():
            self._process.start()
        other.close()
        self._lock = threading.Lock()

    def send(self, orders: Sequence[Order]) -> "Future[list[Reply]]":
        """Send orders through the pipe; see :meth:`Worker.send`."""
        content = pickled(list(orders), "arguments")
        return in_thread(lambda: self._exchange(content))

    def _exchange(self, content: Any) -> list[Reply]:
        with self._lock:
            try:
                self._connection.send_bytes(content)
                return self._connection.recv()  # type: ignore[no-any-return]
            except (EOFError, OSError):
                self._process.join(_ENDING)
                raise WorkerLostError(f"the process ended with status {self._process.exitcode}") from None

    def end(self) -> None:
        """Kill the process, which holds nothing that is needed."""
        self._process.kill()
        self._process.join(_ENDING)
        self._connection.close()


def pickled(value: Any, name: str) -> Any:
    """Return the bytes of a value for another process.

    Raises
    ------
    UnsupportedProblemError
        If the value cannot be sent.
    """
    try:
        return ForkingPickler.dumps(value)
    except Exception as error:
        raise UnsupportedProblemError(
            f"{name}: {shown(value, 60)} cannot be sent to another process: {one_line(str(error), 200)}"
        ) from None


def check_makers(makers: Sequence[Maker]) -> None:
    """Raise an error if other processes cannot receive a maker.

    Raises
    ------
    UnsupportedProblemError
    """
    for number, maker in enumerate(makers):
        pickled(maker, f"makers[{number}]")


def _serve(connection: Any) -> None:
    """Serve orders from a pipe until its other end closes."""
    leave_signals_to_parent()
    host = WorkerHost()
    with contextlib.suppress(EOFError, OSError):
        while True:
            content = connection.recv_bytes()
            try:
                orders = ForkingPickler.loads(content)
            except Exception as error:
                connection.send([Reply(failure=one_line(f"{type(error).__name__}: {error}", 500))])
                continue
            connection.send(host.serve(orders))


@contextlib.contextmanager
def deaf_to_interrupts() -> Iterator[None]:
    """Let a process that starts in the block wait with Ctrl-C, which reaches all processes of a terminal."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which else starts with the first process, and lets Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let a process that starts in the block use one thread, unless the user's environment says otherwise."""
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)
