"""Parts: pieces of state pinned to worker processes, called in lockstep, and recovered after faults."""

import contextlib
import copy
import logging
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from zipfile import is_zipfile

import numpy as np
from numpy.typing import NDArray

from ...seqform.checks import check_number, check_whole
from ...seqform.errors import CheckpointError, SolverError, UnsupportedProblemError, one_line, shown
from ...seqform.interchange.files import reason_of, write_archive
from ...seqform.limits import check_time, now
from ..progress import waiting_for
from .engines import Engine, ProcessEngine, Worker, WorkerLostError, check_makers
from .host import Maker, Order, Part, Reply, Saved, digest, is_finite, read_saved, size_of
from .places import Place, read_place

__all__ = ["Part", "Standing", "Traffic", "WorkerPool"]

#: The logger of workers: starts, losses and adoptions.
LOG = logging.getLogger("treeplex.distributed")

#: Checkpoints take at most this share of the time, and are not written more often than this, in seconds.
SHARE, LEAST = 0.03, 20.0
#: A checkpoint is written early if the arguments that would be replayed exceed this many bytes.
MOST_LOGGED = 2**30
#: Workers that a part may lose in one call before the call fails.
MOST_LOST = 5
#: A worker that has not replied after `patience` and so many times its longest time for these orders hangs. Orders
#: that it has never executed may compile or build: they have so many times the patience.
SLOWER, FIRST_TIME = 5.0, 10.0
#: The files of states in a folder.
_FILES = "part-*.npz"
#: Seconds between looks at the workers' life, and for which a cluster may take to replace a worker.
_LOOK, _REPLACING = 0.5, 15.0


@dataclass
class Traffic:
    """The bytes and seconds that calls have taken so far.

    Attributes
    ----------
    calls : int
        Calls of all parts.
    sent, received : int
        Bytes of arguments and results, as arrays.
    seconds : float
        The time of calls, without checkpoints and recovery.
    computing : float
        The time that parts computed, summed over parts.
    busiest : float
        The time that the busiest worker computed, summed over calls.
    checkpoints, checkpointing : int, float
        Checkpoints of all parts, and their seconds.
    lost, adopted, replayed : int
        Workers lost, parts built again, and calls replayed for them.
    recovering : float
        Seconds of calls in which a part was built again.
    """

    calls: int = 0
    sent: int = 0
    received: int = 0
    seconds: float = 0.0
    computing: float = 0.0
    busiest: float = 0.0
    checkpoints: int = 0
    checkpointing: float = 0.0
    lost: int = 0
    adopted: int = 0
    replayed: int = 0
    recovering: float = 0.0


@dataclass(frozen=True)
class Standing:
    """Where a pool stands, for its progress.

    Attributes
    ----------
    doing : str
        The work: ``built`` or ``recovered``.
    done, parts, workers, lost : int
        Parts done, parts in all, and workers that serve and that were lost.
    """

    doing: str
    done: int
    parts: int
    workers: int
    lost: int

    def __str__(self) -> str:
        """Return the standing in words."""
        lost = f", {self.lost:,} lost" if self.lost else ""
        on = f"{self.workers:,} worker{'' if self.workers == 1 else 's'}"
        return f"{self.doing} {self.done:,} of {self.parts:,} parts on {on}{lost}"


@dataclass
class _Call:
    """A logged call: its arguments by part, and the checksums of its results."""

    name: str
    arguments: Sequence[tuple[Any, ...]]
    digests: list[bytes]


@dataclass
class _History:
    """How to recover parts: their last checkpoints (the state or its file, and its checksum) and the calls since."""

    sources: "list[tuple[Saved | str, bytes]]" = field(default_factory=list)
    calls: list[_Call] = field(default_factory=list)
    logged: int = 0
    seconds: float = 0.0


@dataclass
class _Task:
    """The orders for some parts that a worker executes."""

    parts: list[int]
    orders: list[Order]
    seconds: float = 0.0  # that it may take
    until: float = 0.0
    future: "Future[list[Reply]] | None" = None


@dataclass
class _Seat:
    """A worker, its parts, and its tasks.

    Attributes
    ----------
    sees : bool
        Whether it sees the folder of checkpoints.
    is_new : bool
        Whether it has not replied yet: it may still import modules.
    """

    worker: Worker
    sees: bool = True
    is_new: bool = True
    parts: list[int] = field(default_factory=list)
    waiting: list[list[int]] = field(default_factory=list)
    task: _Task | None = None


class WorkerPool:
    """Parts pinned to workers, and called in lockstep; create one by :meth:`open`.

    A call goes to all parts, and its results come back in the order of the parts. If a worker dies, hangs or sends a
    corrupted reply, other workers adopt its parts: they build them again, restore their last checkpoint, and replay
    the calls since. Because calls are deterministic, the state is then the same bit for bit, and so are all results.

    Attributes
    ----------
    place : Place
    names : tuple of str
        The names of the parts, for messages.
    traffic : Traffic

    Examples
    --------
    >>> import numpy as np
    >>> from treeplex.solvers.distributed.parts import WorkerPool
    >>> class Sum:
    ...     def __init__(self):
    ...         self.total = np.zeros(2)
    ...
    ...     def call(self, name, arguments):
    ...         self.total += arguments[0]
    ...         return self.total.copy()
    ...
    ...     def saved(self):
    ...         return {"total": self.total}
    ...
    ...     def restore(self, saved):
    ...         self.total = saved["total"].copy()
    >>> with WorkerPool.open([Sum, Sum]) as pool:
    ...     pool.call("add", [(1.0,), (2.0,)])
    [array([1., 1.]), array([2., 2.])]
    """

    def __init__(self, place: Place, names: tuple[str, ...], **options: Any) -> None:
        self.place, self.names, self.traffic = place, names, Traffic()
        self._every: int | None = options["checkpoint_every"]
        self._patience: float = options["patience"]
        self._progress: Callable[[Standing], None] | None = options["progress"]
        self._makers: Sequence[Maker] = ()
        self._costs: Sequence[float] = ()
        self._inline: list[Part] | None = None
        self._engine: Engine | None = None
        self._seats: list[_Seat] = []
        self._behind: set[int] = set()  # parts whose state on their worker is not known
        self._history = _History()
        self._kept: list[list[str]] = []  # the files that the last two states passed to the caller name
        self._longest: dict[str, float] = {}  # seconds of each kind of order
        self._cost = 0.0  # seconds of the last checkpoint
        self._calls = 0
        self._given: Path | None = options["folder"]
        self._folder = Path()
        self._stack = contextlib.ExitStack()

    @classmethod
    def open(
        cls,
        makers: Sequence[Maker],
        on: str | Place = "local:1",
        *,
        names: Sequence[str] = (),
        costs: Sequence[float] = (),
        checkpoint_every: int | None = None,
        folder: Path | str | None = None,
        patience: float = 60.0,
        progress: Callable[[Standing], None] | None = None,
    ) -> Self:
        """Start workers, and build the parts there.

        Parameters
        ----------
        makers : sequence of callable
            Each returns a part. Other processes must be able to import it; ``functools.partial`` passes arguments.
        on : str
            ``local:1``, the default, builds the parts in this process. ``local:N`` starts N processes;
            ``dask://HOST:PORT`` and ``ray://HOST:PORT`` use the workers of a cluster; ``dask://local:N`` and
            ``ray://local:N`` start one on this machine.
        names : sequence of str, optional
            The names of the parts, for messages.
        costs : sequence of float, optional
            The relative time and memory of each part: workers get equal shares of them. By default all are equal.
        checkpoint_every : int, optional
            Calls between checkpoints. By default, checkpoints take at most 3 % of the time.
        folder : path-like, optional
            A folder for checkpoints, from which :meth:`restore` continues in another process; by default a temporary
            one. If not all workers see it, their states travel to this process, which writes them.
        patience : float
            Seconds after which a worker counts as hanging, in addition to five times its longest time so far for the
            same orders. Orders that are new to it have ten times the patience.
        progress : callable, optional
            Called with each :class:`Standing` while parts are built; by default the progress bar of a solve shows it.

        Raises
        ------
        UnsupportedProblemError
            If an argument is invalid, or a maker cannot be sent.
        MissingExtraError
            If the engine is not installed.
        SolverError
            If no worker answers, or a part cannot be built.
        TimeLimitError
            If the time limit expires before the parts are built.
        """
        place = read_place(on)
        if isinstance(makers, Callable) or not all(map(callable, makers)) or not len(makers):  # type: ignore[arg-type]
            raise UnsupportedProblemError(f"makers is {shown(makers, 60)}, expected functions that return parts")
        if names and len(names) != len(makers):
            raise UnsupportedProblemError(f"names has {len(names):,} entries, expected {len(makers):,}, one per part")
        if len(costs) not in (0, len(makers)):
            raise UnsupportedProblemError(f"costs has {len(costs):,} entries, expected {len(makers):,}, one per part")
        if checkpoint_every is not None:
            check_whole(checkpoint_every, "checkpoint_every", UnsupportedProblemError, "[1, inf)")
        check_number(patience, "patience", UnsupportedProblemError, "(0, inf)")
        pool = cls(
            place,
            tuple(names) or tuple(f"part {number}" for number in range(len(makers))),
            checkpoint_every=checkpoint_every,
            folder=None if folder is None else Path(folder),
            patience=float(patience),
            progress=progress,
        )
        pool._makers, pool._costs = tuple(makers), tuple(costs) or (1.0,) * len(makers)
        try:
            pool._open()
        except BaseException:
            pool.close()
            raise
        return pool

    def _open(self) -> None:
        if self._given is not None:
            try:
                self._given.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise CheckpointError(f"{one_line(str(self._given))} cannot be written: {reason_of(error)}") from None
            self._folder = self._given.resolve()
        if self.place.engine == "local" and self.place.workers == 1:
            self._inline = []
            for number, maker in enumerate(self._makers):
                with self._naming(number, "building"):
                    self._inline.append(maker())
                self._show("built", number + 1)
            return
        check_makers(self._makers)
        if self._given is None:
            self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="treeplex-")))
        self._engine = engine_of(self.place)
        workers = self._engine.start(len(self._makers))
        LOG.info("%d workers on %s serve %d parts", len(workers), self.place, len(self._makers))
        self._seats = [self._seat(worker) for worker in workers]
        shares = [0.0] * len(workers)
        for number in sorted(range(len(self._makers)), key=lambda number: -self._costs[number]):  # the largest first
            seat = shares.index(min(shares))
            shares[seat] += self._costs[number]
            self._seats[seat].parts.append(number)
        self._behind = set(range(len(self._makers)))
        self._run({}, "built")

    # Calls

    def call(self, name: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call all parts, and return their results.

        Parameters
        ----------
        name : str
        arguments : sequence of tuple
            A tuple for each part.

        Returns
        -------
        list
            A result for each part, in order.

        Raises
        ------
        SolverError
            If a part fails with the same exception on every worker, or no worker is left.
        UnsupportedProblemError
            If there is not a tuple for each part.
        """
        if len(arguments) != len(self.names):
            raise UnsupportedProblemError(
                f"arguments has {len(arguments):,} entries, expected {len(self.names):,}, one per part"
            )
        if self._inline is not None:
            return self._call_inline(name, arguments)
        if self._is_due():
            try:
                self.checkpoint()
            except OSError as error:
                LOG.warning("the checkpoint of parts cannot be written: %s; lost workers cost more time", error)
                self._history.seconds, self._history.logged = 0.0, 0  # when it is due again
        begun, adopted = now(), self.traffic.adopted
        logged = _Call(name, copy.deepcopy(list(arguments)), [])  # the caller may reuse its arrays
        orders = {number: Order("call", number, name, each) for number, each in enumerate(logged.arguments)}
        replies = self._run(orders)
        parts = range(len(self.names))
        logged.digests.extend(replies[number].digest for number in parts)
        results = [replies[number].value for number in parts]
        by_worker = [sum(replies[number].seconds for number in seat.parts) for seat in self._seats]
        self._account(begun, arguments, results, by_worker)
        if self.traffic.adopted > adopted:
            self.traffic.recovering += now() - begun
        history = self._history
        history.logged += size_of(arguments)
        history.seconds += now() - begun
        try:
            history.calls.append(logged)
            return results
        except BaseException:  # interrupted: as if the call had not been made
            history.calls[:] = [call for call in history.calls if call is not logged]
            self._behind = set(parts)
            raise

    def _account(
        self, begun: float, arguments: Sequence[Any], results: Sequence[Any], by_worker: Sequence[float]
    ) -> None:
        """Add a call to the traffic."""
        self._calls += 1
        self.traffic.calls += 1
        self.traffic.sent += size_of(arguments)
        self.traffic.received += size_of(results)
        self.traffic.seconds += now() - begun
        self.traffic.computing += sum(by_worker)
        self.traffic.busiest += max(by_worker)

    def _call_inline(self, name: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Call all parts in this process."""
        assert self._inline is not None
        begun, results = now(), []
        for number, (part, each) in enumerate(zip(self._inline, arguments, strict=True)):
            with self._naming(number, f"the call {name}"):
                results.append(part.call(name, each))
            if not is_finite(results[-1]):
                raise SolverError(f"{self.names[number]}: the call {name} returned NaN or infinity")
        self._account(begun, arguments, results, [now() - begun])
        return results

    @contextlib.contextmanager
    def _naming(self, number: int, doing: str) -> Iterator[None]:
        """Name the part in errors of the block."""
        try:
            yield
        except Exception as error:
            error.add_note(f"in {self.names[number]}, {doing}")
            raise

    # Checkpoints

    def _is_due(self) -> bool:
        history = self._history
        if self._every is not None:
            return len(history.calls) >= self._every
        return history.seconds >= max(LEAST, self._cost / SHARE) or history.logged >= MOST_LOGGED

    def checkpoint(self) -> None:
        """Save all parts now, so that recovery replays no earlier call; :meth:`call` does so regularly.

        Raises
        ------
        OSError
            If a file cannot be written; the last checkpoint is kept.
        """
        if self._inline is not None:
            return
        begun, before = now(), self._history
        paths = [self._file(number) for number in range(len(self.names))]
        replies = self._run({number: Order("save", number, content=path) for number, path in enumerate(paths)})
        sources: list[tuple[Saved | str, bytes]] = []
        try:
            for number, path in enumerate(paths):
                reply = replies[number]
                if isinstance(reply.value, str):
                    raise OSError(f"{self.names[number]}: {reply.value}")
                if isinstance(reply.value, bytes):
                    sources.append((path, reply.value))
                else:  # the worker does not see the folder
                    write_archive(path, {}, reply.value, packed=False)
                    sources.append((path, reply.digest))
        except OSError:
            self._remove((path, b"") for path in paths)
            raise
        self._history = _History(sources)
        self._remove(before.sources)
        self._cost = now() - begun
        self.traffic.checkpoints += 1
        self.traffic.checkpointing += self._cost
        LOG.info("checkpoint of %d parts after %d calls in %.2f s", len(paths), self._calls, self._cost)

    def _file(self, number: int) -> str:
        """Return the path of a part's next checkpoint."""
        return str(self._folder / f"part-{number:05d}-{self._calls}.npz")

    def _remove(self, sources: "Iterable[tuple[Saved | str, bytes]]") -> None:
        """Remove files of checkpoints that nothing names any more."""
        named = {source for source, _ in self._history.sources if isinstance(source, str)}.union(*self._kept)
        for source, _ in sources:
            if isinstance(source, str) and source not in named:
                Path(source).unlink(missing_ok=True)

    def saved(self) -> dict[str, NDArray[Any]]:
        """Return the states of all parts as arrays, for the caller's own checkpoint.

        If the pool has a `folder`, the states are in files there, and the arrays contain only their names and
        checksums. The files of the last two such states are kept.
        """
        parts = range(len(self.names))
        if self._given is None:
            if self._inline is None:
                replies = self._run({number: Order("save", number) for number in parts})
                states = [replies[number].value for number in parts]
            else:
                states = [part.saved() for part in self._inline]
            return {f"{number} {name}": array for number in parts for name, array in states[number].items()}
        if self._inline is None:
            if self._history.calls or not self._history.sources:
                self.checkpoint()
            sources = self._history.sources
        else:
            sources = []
            for number, part in enumerate(self._inline):
                state = dict(part.saved())
                write_archive(self._file(number), {}, state, packed=False)
                sources.append((self._file(number), digest(state)))
        files = [str(source) for source, _ in sources]
        dropped = self._kept[0] if len(self._kept) == 2 else []
        self._kept = [*self._kept[-1:], files]
        self._remove((file, b"") for file in dropped)
        return {
            "calls": np.array(self._calls),
            "files": np.array([Path(file).name for file in files]),
            "checksums": np.array([list(checksum) for _, checksum in sources], dtype=np.uint8),
        }

    def restore(self, saved: Mapping[str, NDArray[Any]]) -> None:
        """Continue from states that :meth:`saved` returned, here or in another process.

        Raises
        ------
        CheckpointError
            If the states are not of these parts, or a file is missing or damaged.
        """
        parts = range(len(self.names))
        sources: list[tuple[Saved | str, bytes]] = []
        if "files" in saved:
            names = [Path(str(name)).name for name in saved["files"]]  # a name, not a path elsewhere
            sources = [
                (str(self._folder / name), bytes(checksum.tolist()))
                for name, checksum in zip(names, saved["checksums"], strict=True)
            ]
            self._calls = int(saved["calls"])
            for file, _ in sources:
                if not is_zipfile(str(file)):
                    raise CheckpointError(
                        f"{one_line(str(file))} is missing or damaged, expected the checkpoint of a part"
                    )
        else:
            states: list[dict[str, NDArray[Any]]] = [{} for _ in parts]
            for key, array in saved.items():
                number, _, name = key.partition(" ")
                if not number.isdigit() or int(number) >= len(states):
                    raise CheckpointError(f"the checkpoint has {shown(key, 40)}, expected {len(states):,} parts")
                states[int(number)][name] = array
            sources = [(state, digest(state)) for state in states]
        if len(sources) != len(parts):
            raise CheckpointError(f"the checkpoint has {len(sources):,} parts, expected {len(parts):,}")
        if "files" in saved:  # saved() removes all other files: what processes leave that end, and the state before
            files = [str(file) for file, _ in sources]
            self._kept = [[str(file) for file in self._folder.glob(_FILES) if str(file) not in files], files]
        if self._inline is not None:
            for part, source in zip(self._inline, sources, strict=True):
                part.restore(read_saved(*source))
            return
        self._run({number: Order("restore", number, content=source) for number, source in enumerate(sources)})
        self._history = _History(sources)
        if "files" not in saved:
            self.checkpoint()  # so that this process need not keep the states

    # Rounds: orders for parts, recovery, and faults

    def _recovery(self, number: int) -> list[Order]:
        """Return the orders that bring a part to its state after the last call."""
        orders = [Order("build", number, content=self._makers[number])]
        if self._history.sources:
            orders.append(Order("restore", number, content=self._history.sources[number]))
        orders.extend(Order("replay", number, call.name, call.arguments[number]) for call in self._history.calls)
        return orders

    def _run(self, orders: Mapping[int, Order], doing: str = "recovered") -> dict[int, Reply]:
        """Execute an order for each part, and return the last reply for each; lost parts are recovered before.

        If this is interrupted, the states of all parts are unknown, and the next round recovers them.
        """
        ledger = _Ledger(doing)
        try:
            for seat in self._seats:
                self._queue(seat, seat.parts)
            while any(seat.task or seat.waiting for seat in self._seats):
                for seat in list(self._seats):
                    if seat.task is None and seat.waiting:
                        self._begin(seat, orders, ledger)
                for seat in self._finished():
                    self._take(seat, ledger)
                if doing == "built":
                    check_time(f"{len(self.names) - len(self._behind):,} of {len(self.names):,} parts were built")
        except BaseException:
            self._behind = set(range(len(self.names)))
            for seat in self._seats:
                seat.task, seat.waiting = None, []
            raise
        return ledger.replies

    def _queue(self, seat: _Seat, parts: Iterable[int]) -> None:
        """Queue parts on a worker: each part to recover alone, for the progress and to find a part that kills it."""
        parts = list(parts)
        seat.waiting.extend([number] for number in parts if number in self._behind)
        rest = [number for number in parts if number not in self._behind]
        if rest:
            seat.waiting.append(rest)

    def _begin(self, seat: _Seat, orders: Mapping[int, Order], ledger: "_Ledger") -> None:
        """Send a worker its next task."""
        parts = seat.waiting.pop(0)
        batch = []
        for number in parts:
            if number in self._behind:
                batch += self._recovery(number)
            if number in orders:
                batch.append(orders[number])
        if not seat.sees:
            batch = [self._by_value(order) for order in batch]
        task = _Task(parts, batch)
        seat.task = task
        if not batch:
            task.future = Future()
            task.future.set_result([])
            return
        task.seconds = self._allowed(seat, batch) * 2 ** max(ledger.losses.get(number, 0) for number in parts)
        task.until = now() + task.seconds
        task.future = seat.worker.send(batch)

    def _by_value(self, order: Order) -> Order:
        """Return an order with the state in place of its file, for a worker that does not see the folder."""
        if order.kind == "save":
            return Order("save", order.part)
        if order.kind == "restore":
            return Order("restore", order.part, content=(read_saved(*order.content), order.content[1]))
        return order

    def _allowed(self, seat: _Seat, batch: Sequence[Order]) -> float:
        """Return the seconds that a worker may take for orders; twice as many if the last worker did not reply."""
        known = [self._longest.get(_kind(order)) for order in batch]
        patience = self._patience * (FIRST_TIME if seat.is_new or None in known else 1.0)
        return patience + SLOWER * sum(seconds for seconds in known if seconds is not None)

    def _finished(self) -> list[_Seat]:
        """Wait until a task has ended or its worker is lost, but not for long; return such workers' seats."""
        running = [seat for seat in self._seats if seat.task is not None]
        futures = {seat.task.future: seat for seat in running if seat.task is not None}
        nearest = min(seat.task.until for seat in running if seat.task is not None)
        wait([each for each in futures if each is not None], min(_LOOK, max(0.0, nearest - now())), FIRST_COMPLETED)
        at = now()
        return [
            seat
            for seat in running
            if seat.task is not None
            and seat.task.future is not None
            and (seat.task.future.done() or at > seat.task.until or not seat.worker.is_alive())
        ]

    def _take(self, seat: _Seat, ledger: "_Ledger") -> None:
        """Take the replies of a worker; if there are none, or they are corrupted, let other workers adopt its parts."""
        task = seat.task
        assert task is not None
        assert task.future is not None
        try:
            replies = self._replies(seat, task)
        except WorkerLostError as error:
            self._lose(seat, str(error), ledger)
            return
        seat.task, seat.is_new = None, False
        failed: dict[int, str] = {}
        for order, reply in zip(task.orders, replies, strict=True):
            if order.part in failed:
                continue
            if reply.failure:
                failed[order.part] = reply.failure
                LOG.warning("%s: %s, %s: %s", seat.worker.name, self.names[order.part], _doing(order), reply.failure)
                LOG.debug("%s", reply.trace)
                self._behind.add(order.part)
                self._move(seat, order, reply.failure, ledger)
                continue
            kind = _kind(order)
            self._longest[kind] = max(self._longest.get(kind, 0.0), reply.seconds)
            if order.kind == "replay":
                self.traffic.replayed += 1
            ledger.replies[order.part] = reply
        for number in task.parts:
            if number in failed:
                continue
            if number in self._behind:
                self._behind.discard(number)
                self._compare_replays(number, task, replies)
                self._show(ledger.doing, len(self.names) - len(self._behind))

    def _replies(self, seat: _Seat, task: _Task) -> list[Reply]:
        """Return a task's verified replies.

        Raises
        ------
        WorkerLostError
        """
        assert task.future is not None
        if not task.future.done():
            raise WorkerLostError(
                f"no reply within {task.seconds:.1f} s" if seat.worker.is_alive() else "the worker has left the cluster"
            )
        try:
            replies = task.future.result()
        except WorkerLostError:
            raise
        except Exception as error:  # whatever an engine raises for a lost worker
            raise WorkerLostError(one_line(f"{type(error).__name__}: {error}", 200)) from error
        if len(replies) == 1 < len(task.orders) and replies[0].failure:  # the orders could not be read
            return list(replies) * len(task.orders)
        if len(replies) != len(task.orders):
            raise WorkerLostError(f"{len(replies)} replies to {len(task.orders)} orders")
        for number, (order, reply) in enumerate(zip(task.orders, replies, strict=True)):
            if reply.failure or order.kind == "replay":
                continue
            if digest(reply.value) != reply.digest:
                raise WorkerLostError(f"the reply to {_doing(order)} was corrupted on its way")
            if order.kind == "call" and not is_finite(reply.value):
                replies[number] = Reply(failure="it returned NaN or infinity")
        return replies

    def _compare_replays(self, number: int, task: _Task, replies: Sequence[Reply]) -> None:
        """Warn if replayed calls of a part gave other results than before: the worker's arithmetic differs."""
        found = [
            reply.digest
            for order, reply in zip(task.orders, replies, strict=True)
            if order.part == number and order.kind == "replay"
        ]
        if any(one != call.digests[number] for one, call in zip(found, self._history.calls, strict=True)):
            LOG.warning(
                "%s: its replayed calls gave other results than before; its calls are not deterministic, or the "
                "workers' arithmetic differs",
                self.names[number],
            )

    # Faults

    def _seat(self, worker: Worker) -> _Seat:
        """Return the seat of a new worker."""
        if self.place.engine == "local":
            return _Seat(worker)
        probe = self._folder / f"probe-{secrets.token_hex(8)}"
        probe.touch()
        try:
            replies = worker.send([Order("sees", content=str(probe))]).result(FIRST_TIME * self._patience)
            return _Seat(worker, bool(replies[0].value))
        except Exception:  # a worker that is lost already loses its first task too
            return _Seat(worker, False)
        finally:
            probe.unlink(missing_ok=True)

    def _move(self, seat: _Seat, order: Order, failure: str, ledger: "_Ledger") -> None:
        """Let another worker try a part that failed.

        Raises
        ------
        SolverError
            If it failed with the same exception before, or there is no other worker.
        """
        number = order.part
        tried = ledger.failures.setdefault(number, {})
        same = any(failure == other for name, other in tried.items() if name != seat.worker.name)
        others = [each for each in self._seats if each.worker.name not in tried and each is not seat]
        tried[seat.worker.name] = failure
        if same or not others or len(tried) == MOST_LOST:
            raise SolverError(f"{self.names[number]} failed in {_doing(order)} on every worker tried: {failure}")
        seat.parts.remove(number)
        self._adopt([number], others)

    def _lose(self, seat: _Seat, reason: str, ledger: "_Ledger") -> None:
        """Give up a worker, and let a new worker or the others adopt its parts.

        Raises
        ------
        SolverError
            If no worker is left, or a part has lost too many.
        """
        assert self._engine is not None
        task, parts = seat.task, seat.parts
        doing = _doing(task.orders[-1]) if task is not None and task.orders else "waiting"
        LOG.warning("%s is lost during %s: %s", seat.worker.name, doing, reason)
        self.traffic.lost += 1
        guilty = task.parts if task is not None and len(task.parts) == 1 else []
        finished = {number for number in parts if number in ledger.replies} if task is not None else set()
        self._seats.remove(seat)
        seat.worker.end()
        for number in guilty:
            ledger.losses[number] = ledger.losses.get(number, 0) + 1
            if ledger.losses[number] >= MOST_LOST:
                raise SolverError(f"{self.names[number]}: {MOST_LOST} workers were lost in {doing}; the last: {reason}")
        self._behind.update(parts)
        for number in finished:
            ledger.replies.pop(number, None)
        replacement = self._engine.replace(seat.worker, _REPLACING)
        if replacement is not None:
            self._seats.append(self._seat(replacement))
            LOG.info("%s replaces %s", replacement.name, seat.worker.name)
        if not self._seats:
            raise SolverError(f"no worker of {self.place} is left; the last was lost in {doing}: {reason}")
        self._adopt(parts, self._seats[-1:] if replacement is not None else self._seats)

    def _adopt(self, parts: Sequence[int], seats: Sequence[_Seat]) -> None:
        """Distribute parts over workers, always to the one with the fewest."""
        for number in parts:
            seat = min(seats, key=lambda each: len(each.parts))
            seat.parts.append(number)
            seat.parts.sort()
            self._queue(seat, [number])
            self.traffic.adopted += 1
            LOG.info("%s adopts %s", seat.worker.name, self.names[number])

    def _show(self, doing: str, done: int) -> None:
        standing = Standing(doing, done, len(self.names), max(1, len(self._seats)), self.traffic.lost)
        if self._progress is not None:
            self._progress(standing)
            return
        with waiting_for(str(standing)):
            pass

    # The end

    def close(self) -> None:
        """End the workers, and remove temporary files."""
        if self._engine is not None:
            self._engine.close()
        self._seats.clear()
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()


@dataclass
class _Ledger:
    """What a round has found: replies by part, failures by part and worker, and workers lost by part."""

    doing: str
    replies: dict[int, Reply] = field(default_factory=dict)
    failures: dict[int, dict[str, str]] = field(default_factory=dict)
    losses: dict[int, int] = field(default_factory=dict)


def _kind(order: Order) -> str:
    """Return the kind of an order, for its longest time."""
    return f"call {order.name}" if order.kind in ("call", "replay") else order.kind


def _doing(order: Order) -> str:
    """Return what an order does, in words."""
    if order.kind in ("call", "replay"):
        return f"the call {order.name}"
    return {"build": "building", "restore": "restoring", "save": "saving"}.get(order.kind, order.kind)


def engine_of(place: Place) -> Engine:
    """Return the engine of a place.

    Raises
    ------
    MissingExtraError
        If Dask or Ray is not installed.
    SolverError
        If the address does not answer.
    """
    if place.engine == "local":
        return ProcessEngine(place.workers)
    from . import clusters

    return clusters.DaskEngine(place) if place.engine == "dask" else clusters.RayEngine(place)
