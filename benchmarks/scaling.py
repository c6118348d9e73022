"""How the time of a distributed call depends on the number of workers: measured with few, extrapolated to many.

    python benchmarks/scaling.py                      toy parts in 1, 2 and 4 processes, and the fit
    python benchmarks/scaling.py --on dask://local    the same with Dask's or Ray's transport
    python benchmarks/scaling.py --parts 1755 --seconds 0.05 --bytes 42432    another question for the extrapolation

A call of all parts on W workers takes

    T(W) = busiest(W) + fixed + round_trip · W + B / bandwidth,

where busiest(W) is the computing time of the worker that computes longest: C / W for equal parts that W divides, and
more by the imbalance else. B is the number of bytes that the driver sends and receives. The last three terms are
fitted by non-negative least squares to calls with parts and vectors of several sizes. `docs/theory/scaling.md` has the
assumptions.
"""

import argparse
import math
import time
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.optimize import nnls

from treeplex.solvers.distributed.parts import WorkerPool

#: The workers measured, and the vectors' lengths.
WORKERS, LENGTHS = (1, 2, 4), (1326, 4 * 1326, 16 * 1326)
PARTS, CALLS = 16, 40


class Busy:
    """A part that computes for a while, and exchanges vectors of some length."""

    def __init__(self, rounds: int) -> None:
        self._rounds, self._matrix = rounds, np.random.default_rng(0).random((200, 200)) / 200

    def call(self, name: str, arguments: tuple[np.ndarray]) -> np.ndarray:
        state = self._matrix
        for _ in range(self._rounds):
            state = np.sqrt(state + 1e-3)
        return arguments[0] + state[0, 0]

    def saved(self) -> dict[str, np.ndarray]:
        return {}

    def restore(self, saved: dict[str, np.ndarray]) -> None: ...


@dataclass(frozen=True)
class Measured:
    """The medians of one setting: workers, bytes per call, and seconds per call in all and of the busiest worker."""

    workers: int
    bytes: int
    seconds: float
    busiest: float
    computing: float


def measure(on: str, workers: int, length: int, rounds: int) -> Measured:
    """Call toy parts, and return the medians."""
    place = f"{on}:{workers}" if on != "local" or workers > 1 else "local:1"
    with WorkerPool.open([partial(Busy, rounds)] * PARTS, place, checkpoint_every=10**9) as pool:
        vector, rows = np.zeros(length), []
        for _ in range(CALLS):
            before = pool.traffic.busiest, pool.traffic.computing
            begun = time.perf_counter()
            pool.call("turn", [(vector + part,) for part in range(PARTS)])
            took = time.perf_counter() - begun
            rows.append((took, pool.traffic.busiest - before[0], pool.traffic.computing - before[1]))
        seconds, busiest, computing = np.median(rows[CALLS // 4 :], axis=0)
    return Measured(workers, 2 * PARTS * 8 * length, float(seconds), float(busiest), float(computing))


@dataclass(frozen=True)
class Model:
    """The overhead of a call: seconds in all, per worker, and per byte."""

    fixed: float
    round_trip: float
    per_byte: float

    @classmethod
    def fit(cls, rows: list[Measured]) -> "Model":
        """Fit the overhead of calls to other processes."""
        terms = np.array([[1.0, row.workers, row.bytes] for row in rows])
        scale = terms.max(axis=0)
        found, _ = nnls(terms / scale, np.array([row.seconds - row.busiest for row in rows]))
        return cls(*(found / scale).tolist())

    def seconds(self, workers: int, size: float, busiest: float) -> float:
        """Return the seconds of a call."""
        return busiest + self.fixed + self.round_trip * workers + self.per_byte * size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", default="local", choices=("local", "dask://local", "ray://local"))
    parser.add_argument("--parts", type=int, default=1755, help="parts of the extrapolation")
    parser.add_argument("--seconds", type=float, default=0.05, help="computing time of a part in a call")
    parser.add_argument("--bytes", type=int, default=4 * 1326 * 8, help="bytes to and from a part in a call")
    parser.add_argument("--gigabits", type=float, default=10.0, help="the network's Gbit/s at the driver")
    parser.add_argument("--round-trip", type=float, default=5e-4, help="the network's round trip, in seconds")
    options = parser.parse_args()
    rows = [
        measure(options.on, workers, length, rounds)
        for workers in WORKERS
        for length in LENGTHS
        for rounds in ((10, 200) if length == LENGTHS[0] else (10,))
    ]
    apart = [row for row in rows if options.on != "local" or row.workers > 1]
    model = Model.fit(apart)
    print(f"{'workers':>7}  {'kB':>7}  {'computing':>9}  {'busiest':>8}  {'measured':>8}  {'model':>8}  (ms)")
    for row in rows:
        told = f"{1e3 * model.seconds(row.workers, row.bytes, row.busiest):8.2f}" if row in apart else f"{'':>8}"
        print(
            f"{row.workers:7}  {row.bytes / 1e3:7.0f}  {1e3 * row.computing:9.2f}  {1e3 * row.busiest:8.2f}  "
            f"{1e3 * row.seconds:8.2f}  {told}"
        )
    errors = [abs(model.seconds(row.workers, row.bytes, row.busiest) / row.seconds - 1.0) for row in apart]
    print(
        f"\noverhead: {1e3 * model.fixed:.2f} ms + {1e3 * model.round_trip:.2f} ms per worker + "
        f"{1e9 * model.per_byte:.2f} ms per MB; median error {100 * np.median(errors):.0f} %, largest "
        f"{100 * max(errors):.0f} %\n"
    )
    per_byte = model.per_byte + 8e-9 / options.gigabits
    away = Model(model.fixed + options.round_trip, model.round_trip, per_byte)
    size, whole = options.parts * options.bytes, options.parts * options.seconds
    print(
        f"{options.parts:,} parts of {options.seconds:g} s and {options.bytes:,} bytes; {options.gigabits:g} Gbit/s, "
        f"{1e3 * options.round_trip:g} ms"
    )
    print(f"{'workers':>7}  {'s a call':>8}  {'speedup':>7}  {'efficiency':>10}  {'overhead':>8}  {'imbalance':>9}")
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
        busiest = math.ceil(options.parts / workers) * options.seconds
        seconds = away.seconds(workers, size, busiest)
        print(
            f"{workers:7}  {seconds:8.2f}  {whole / seconds:7.1f}  {whole / seconds / workers:10.0%}  "
            f"{(seconds - busiest) / seconds:8.0%}  {(busiest - whole / workers) / seconds:9.0%}"
        )


if __name__ == "__main__":
    main()
