"""Engines of clusters: Dask and Ray, whose schedulers and transport carry orders and replies."""

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from importlib.util import find_spec
from typing import Any

from ...seqform.errors import MissingExtraError, SolverError, needing, one_line
from ...seqform.limits import now
from .engines import Engine, Worker, deaf_to_interrupts, in_thread
from .host import Order, Reply, WorkerHost
from .places import Place

#: Seconds for which a scheduler may take to answer, and a worker to start.
_ANSWER, _START = 10.0, 60.0
#: Seconds between looks at the workers of a cluster.
_LOOK = 0.25


@contextlib.contextmanager
def dask_client(address: str | None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a Dask scheduler, or start one with workers of one thread on this machine; yield its client.

    Parameters
    ----------
    address : str or None
        Such as ``tcp://scheduler:8786``.
    workers : int, optional
        The number of workers to start.

    Raises
    ------
    MissingExtraError
        If Dask is not installed.
    SolverError
        If the address does not answer.
    """
    with needing("the backend dask needs distributed", "dask"):
        from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        where = address or stack.enter_context(_dask_here(LocalCluster, workers))
        try:
            client = stack.enter_context(Client(where, timeout=_ANSWER))
        except (OSError, ValueError) as error:
            raise SolverError(f"no Dask scheduler answers at {address}: {one_line(str(error))}") from None
        yield client


def _dask_here(cluster: Callable[..., Any], workers: int | None) -> Any:
    """Start a Dask cluster on this machine whose processes leave Ctrl-C to this one, and which has no dashboard."""
    with deaf_to_interrupts():
        return cluster(
            n_workers=workers,
            threads_per_worker=1,
            silence_logs=logging.CRITICAL,  # lost workers are reported by the pool
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},  # of its other pages: any free port
        )


@contextlib.contextmanager
def ray_cluster(address: str | None, workers: int | None = None) -> Iterator[Any]:
    """Connect to a Ray cluster, or start one on this machine; yield the module ``ray``.

    Parameters
    ----------
    address : str or None
        Such as ``ray://head:10001``, or ``auto`` for the cluster that runs on this machine.
    workers : int, optional
        The number of processors that a new cluster has.

    Raises
    ------
    MissingExtraError
        If Ray is not installed, or its client for an address that needs it.
    SolverError
        If the address does not answer.
    """
    with needing("the backend ray needs ray", "ray"):
        import ray

    if (address or "").startswith("ray://") and find_spec("grpc") is None:
        raise MissingExtraError(f"{address} needs Ray's client: pip install 'ray[client]'")
    begun = not ray.is_initialized()
    if begun:
        # "local" starts a cluster even if another one runs here, or RAY_ADDRESS names one.
        own = {} if address else {"address": "local", "num_cpus": workers, "include_dashboard": False}
        try:
            with _own_handlers():
                ray.init(**{"address": address, "log_to_driver": False, "logging_level": logging.ERROR} | own)
        except (ConnectionError, ValueError, ImportError) as error:
            reason = str(error).partition(". ")[0]  # what follows is on Ray's own options
            raise SolverError(f"no Ray cluster answers at {address}: {one_line(reason)}") from None
    try:
        yield ray
    finally:
        if begun:
            ray.shutdown()


@contextlib.contextmanager
def _own_handlers() -> Iterator[None]:
    """Restore this process's handler of SIGTERM after the block: Ray's would end the process, and lose the answer."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread() and before is not None:
            signal.signal(signal.SIGTERM, before)


class ClusterEngine(Engine):
    """The workers of a cluster to which the driver connects.

    Parameters
    ----------
    place : Place
    connect : callable
        :func:`dask_client` or :func:`ray_cluster`.
    scheme : str
        What precedes ``HOST:PORT`` in an address.
    """

    def __init__(self, place: Place, connect: Callable[..., Any], scheme: str) -> None:
        self._stack, self._place = contextlib.ExitStack(), place
        address = place.address if place.address in (None, "auto") else f"{scheme}{place.address}"
        self._connection = self._stack.enter_context(connect(address, place.workers))

    def close(self) -> None:
        """Disconnect, and end a cluster that was started here."""
        self._stack.close()


class DaskEngine(ClusterEngine):
    """The workers of a Dask cluster; each holds an actor.

    Parameters
    ----------
    place : Place
    """

    def __init__(self, place: Place) -> None:
        super().__init__(place, dask_client, "tcp://")
        self._used: set[str] = set()
        self._known: tuple[float, set[str]] = (0.0, set())

    def addresses(self) -> set[str]:
        """Return the addresses of the workers in the cluster, as of a moment ago."""
        at, found = self._known
        if now() - at >= _LOOK:
            try:
                found = set(self._connection.has_what())
            except Exception:  # the scheduler has ended, and with it all workers
                found = set()
            self._known = (now(), found)
        return found

    def start(self, most: int) -> list[Worker]:
        """Place actors on the workers; see :meth:`Engine.start`."""
        with contextlib.suppress(TimeoutError):
            self._connection.wait_for_workers(1, timeout=_ANSWER)
        workers: list[Worker] = []
        for address in sorted(self.addresses())[:most]:
            workers += self._tried(address)
        if not workers:
            raise SolverError(f"the Dask cluster {self._place} has no worker that answers")
        return workers

    def replace(self, lost: Worker, seconds: float) -> Worker | None:
        """Wait for a worker that joins the cluster; see :meth:`Engine.replace`."""
        if self._place.address is None:  # the cluster is ours: a worker that hangs is started again
            with contextlib.suppress(Exception):
                self._connection.restart_workers([lost.name], timeout=seconds, raise_for_error=False)
        until = now() + seconds
        while now() < until:
            for address in sorted(self.addresses() - self._used):
                for worker in self._tried(address):
                    return worker
            time.sleep(_LOOK)
        return None

    def _tried(self, address: str) -> list[Worker]:
        """Return the worker at an address, or nothing if it does not answer."""
        self._used.add(address)
        try:
            actor = self._connection.submit(
                WorkerHost, actor=True, workers=[address], allow_other_workers=False, pure=False
            )
            return [_DaskWorker(address, actor.result(_START), self)]
        except Exception:  # it has left the cluster
            return []


class _DaskWorker(Worker):
    """An actor of Dask."""

    def __init__(self, address: str, actor: Any, engine: DaskEngine) -> None:
        super().__init__(address)
        self._actor, self._engine = actor, engine

    def send(self, orders: Sequence[Order]) -> "Future[list[Reply]]":
        """Call the actor; see :meth:`Worker.send`."""
        actor = self._actor
        return in_thread(lambda: actor.serve(list(orders)).result())

    def is_alive(self) -> bool:
        """Return whether the worker is in the cluster."""
        return self.name in self._engine.addresses()

    def end(self) -> None:
        """Release the actor; the worker stays."""
        self._actor = None


class RayEngine(ClusterEngine):
    """Actors of a Ray cluster, with one processor each.

    Parameters
    ----------
    place : Place
    """

    def __init__(self, place: Place) -> None:
        super().__init__(place, ray_cluster, "ray://")
        self._workers: list[_RayWorker] = []
        self._count = 0

    def start(self, most: int) -> list[Worker]:
        """Start an actor on each processor; see :meth:`Engine.start`."""
        processors = int(self._connection.cluster_resources().get("CPU", 0))
        started = [self._another() for _ in range(min(most, self._place.workers or processors))]
        workers: list[Worker] = [worker for worker in started if worker.answers(_START)]
        if not workers:
            raise SolverError(f"the Ray cluster {self._place} has no free processor")
        return workers

    def replace(self, lost: Worker, seconds: float) -> Worker | None:
        """Start another actor; see :meth:`Engine.replace`."""
        worker = self._another()
        return worker if worker.answers(seconds) else None

    def _another(self) -> "_RayWorker":
        self._count += 1
        worker = _RayWorker(f"ray actor {self._count}", self._connection)
        self._workers.append(worker)
        return worker

    def close(self) -> None:
        """End the actors, and a cluster that was started here."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()
        super().close()


class _RayWorker(Worker):
    """An actor of Ray."""

    def __init__(self, name: str, ray: Any) -> None:
        super().__init__(name)
        self._ray = ray
        self._actor = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(WorkerHost).remote()

    def answers(self, seconds: float) -> bool:
        """Return whether the actor answers; end it if it does not."""
        try:
            self._ray.get(self._actor.serve.remote([]), timeout=seconds)
        except Exception:  # no processor is free, or the actor has ended
            self.end()
            return False
        return True

    def send(self, orders: Sequence[Order]) -> "Future[list[Reply]]":
        """Call the actor; see :meth:`Worker.send`."""
        return self._actor.serve.remote(list(orders)).future()  # type: ignore[no-any-return]

    def end(self) -> None:
        """Kill the actor's process."""
        with contextlib.suppress(Exception):
            self._ray.kill(self._actor)
