"""Examine a place: reach its workers, compare their versions with this process's, and time a round trip."""

from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from ...seqform.errors import SolverError
from ...seqform.limits import now
from ...seqform.sheet import counted
from .host import Host, Order, Reply, describe, digest
from .parts import engine_of
from .places import Place, read_place

#: The numbers that a round trip carries: one for each pair of hole cards, as in a call of hold'em.
NUMBERS = 1326
#: The round trips, of which the median counts, after one that is not counted.
_TRIPS = 15
#: More workers than any place has, and the seconds for which a worker may take to reply.
_ALL, _REPLY = 100_000, 60.0
#: What must be the same in all processes.
_COMPARED = ("python", "numpy", "treeplex")


@dataclass(frozen=True)
class WorkerReport:
    """A worker, as :func:`examine` found it.

    Attributes
    ----------
    name, host : str
        Its name, and the name of its machine.
    process : int
    python, numpy, treeplex : str
        Versions.
    memory, available : int
        The memory of its machine, and the memory available there, in bytes.
    round_trip : float
        The median time for 1,326 numbers to the worker and back, in seconds.
    differences : tuple of str
        The versions that differ from this process's.
    """

    name: str
    host: str
    process: int
    python: str
    numpy: str
    treeplex: str
    memory: int
    available: int
    round_trip: float
    differences: tuple[str, ...]


@dataclass(frozen=True)
class Examination:
    """The workers of a place.

    Attributes
    ----------
    place : Place
    workers : tuple of WorkerReport
    """

    place: Place
    workers: tuple[WorkerReport, ...]

    @property
    def passed(self) -> bool:
        """Whether all versions agree with this process's."""
        return not any(worker.differences for worker in self.workers)

    @property
    def verdict(self) -> str:
        """The outcome in one line."""
        trip = max(worker.round_trip for worker in self.workers)
        said = f"{counted(len(self.workers), 'worker')} on {self.place}, {1e3 * trip:.2g} ms for a round trip"
        differing = [worker for worker in self.workers if worker.differences]
        if not differing:
            return f"ready: {said}; all versions agree"
        first = differing[0]
        return f"not ready: {said}; {len(differing):,} with other versions, such as {', '.join(first.differences)}"


def examine(on: str | Place) -> Examination:
    """Examine the workers of a place.

    Parameters
    ----------
    on : str
        As for :meth:`~treeplex.solvers.distributed.parts.WorkerPool.open`.

    Raises
    ------
    UnsupportedProblemError
        If it is not a place.
    MissingExtraError
        If the engine is not installed.
    SolverError
        If the address does not answer, a worker does not reply, or a reply is corrupted.

    Examples
    --------
    >>> from treeplex.solvers.distributed.examination import examine
    >>> found = examine("local:1")
    >>> found.passed, len(found.workers)
    (True, 1)
    """
    place = read_place(on)
    if place.engine == "local" and place.workers == 1:
        host = Host()
        return Examination(place, (_report("this process", host.serve),))
    engine = engine_of(place)
    try:
        workers = engine.start(_ALL)
        return Examination(
            place,
            tuple(
                _report(worker.name, lambda orders, worker=worker: worker.send(orders).result(_REPLY))  # type: ignore[misc]
                for worker in workers
            ),
        )
    finally:
        engine.close()


def _report(name: str, serve: Any) -> WorkerReport:
    """Return what a worker says of itself, and the time of round trips."""
    sent, seconds = np.arange(NUMBERS, dtype=np.float64), []
    found: dict[str, Any] = _value(name, serve([Order("describe")]))
    for _ in range(1 + _TRIPS):
        begun = now()
        received = _value(name, serve([Order("echo", content=sent)]))
        seconds.append(now() - begun)
        if not np.array_equal(sent, received):
            raise SolverError(f"{name} returned other numbers than it was sent")
    here = describe()
    differences = tuple(f"{one} {found[one]} (here {here[one]})" for one in _COMPARED if found[one] != here[one])
    return WorkerReport(name, **found, round_trip=median(seconds[1:]), differences=differences)


def _value(name: str, replies: list[Reply]) -> Any:
    """Return the value of a reply whose checksum is right."""
    (reply,) = replies
    if reply.failure or digest(reply.value) != reply.digest:
        raise SolverError(f"{name} failed: {reply.failure or 'its reply was corrupted'}")
    return reply.value
