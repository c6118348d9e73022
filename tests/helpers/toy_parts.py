"""Parts for tests of worker pools: a chaotic state, where a lost or repeated call shows, and faults on request.

A fault is a file in a folder, named after the fault and the part; the part removes the file, so that it happens once.
"""

import os
import signal
import time
from functools import partial
from pathlib import Path

import numpy as np

from treeplex.solvers.distributed import host
from treeplex.solvers.distributed.host import Order
from treeplex.solvers.distributed.parts import WorkerPool

PARTS, SIZE = 5, 64


class Wave:
    """A state that follows the logistic map, pushed by the arguments."""

    def __init__(self, seed, faults=None):
        self.seed, self.faults = seed, faults
        self.state = np.random.default_rng(seed).random(SIZE)

    def call(self, name, arguments):
        if name == "fail":
            raise ValueError(f"nothing known of {arguments[0]}")
        if name == "nan":
            return {"values": np.array([1.0, np.nan])}
        if name == "random":
            return os.urandom(8)
        push, factor = arguments
        self.state = 3.9 * self.state * (1.0 - self.state) * (1.0 - 0.01 * push * factor)
        if self.asked("kill"):  # between the change and the reply
            os.kill(os.getpid(), signal.SIGKILL)
        if self.asked("hang"):
            time.sleep(3600.0)
        if self.asked("raise"):
            raise OSError("this worker's disk is full")
        if self.asked("corrupt"):
            corrupt_next_reply()
        return self.state.copy(), {"sum": float(self.state.sum()), "steps": [self.seed, None]}

    def asked(self, fault):
        """Return whether the fault is to happen now, for the only time."""
        if self.faults is None:
            return False
        try:
            (Path(self.faults) / f"{fault}-{self.seed}").unlink()
        except FileNotFoundError:
            return False
        return True

    def saved(self):
        return {"state": self.state}

    def restore(self, saved):
        self.state = saved["state"].copy()


def corrupt_next_reply():
    """Flip a bit of the next reply of this process after its checksum was computed."""
    true_digest = host.digest

    def flipping(value):
        host.digest = true_digest
        found = true_digest(value)
        value[0].view(np.uint8)[5] ^= 1
        return found

    host.digest = flipping


def makers(faults=None, parts=PARTS):
    return [partial(Wave, seed, None if faults is None else str(faults)) for seed in range(parts)]


def arguments(turn, parts=PARTS):
    pushes = np.random.default_rng(turn).random(SIZE)
    return [(pushes, float(part)) for part in range(parts)]


def steps(pool, turns, before=lambda turn: None):
    """Call the parts in these turns; return all states, and what else they return."""
    found = []
    for turn in turns:
        before(turn)
        found.append(pool.call("step", arguments(turn)))
    return np.array([[one[0] for one in results] for results in found]), [[one[1] for one in one] for one in found]


def alone(turns):
    """Return what :func:`steps` finds in one process."""
    with WorkerPool.open(makers()) as pool:
        return steps(pool, turns)


def processes(pool):
    """Return the process of each worker."""
    replies = [seat.worker.send([Order("describe")]).result() for seat in pool._seats]
    return [reply.value["process"] for (reply,) in replies]
