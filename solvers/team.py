"""Threads that process the tasks of a loop's work, in compiled code.

The thread that runs the loop announces the work of all tasks, takes tasks itself, and continues when all are done.
Other threads help if they can. The loop never waits for a thread that has not taken a task, so threads without a core
cost no time. The result does not depend on which thread takes a task.
"""

import ctypes
import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..seqform.budget import available_cores
from .compilation import call_address, compiled, intrinsic, ir, types
from .records import record

T = TypeVar("T")

ONE = np.uint64(1)
OVER = -1  # replaces the phase when the run ends
#: The number of checks of a waiting thread before it yields its core, a few microseconds.
PATIENCE = 2_000
LINE = 8  # numbers of 64 bits in a cache line, or more than that


@record
class TeamArrays(NamedTuple):
    """The data that the threads of a loop share."""

    phase: Any  # int64: the number of jobs announced so far
    claims: Any  # int64, one per task: the last phase in which a thread took it
    done: Any  # int64: the number of tasks done in this phase
    sums: Any  # float64: the sum of each task
    address: Any  # int64: the address of the function that lets other threads run


def team_arrays(num_shares: int) -> TeamArrays:
    """Return the arrays for one run of a loop with a number of tasks."""
    phase, done = (np.zeros(3 * LINE, dtype=np.int64)[LINE : 2 * LINE] for _ in range(2))
    claims, sums = np.zeros(num_shares, dtype=np.int64), np.zeros((1 + num_shares) * LINE)
    address = np.array([_yielding()], dtype=np.int64)
    return TeamArrays(phase, claims, done, sums, address)


def lined(number: int, size: int) -> Any:
    """Return rows of zeros for a number of threads, each of whole cache lines if its size is a multiple of 8."""
    room = np.zeros(number * size + LINE)
    first = -(room.ctypes.data // room.itemsize) % LINE
    return room[first : first + number * size].reshape(number, size)


@functools.cache
def _yielding() -> int:
    """Return the address of the function by which a thread lets others run."""
    library: Any = ctypes.WinDLL("kernel32") if os.name == "nt" else ctypes.CDLL(None)  # type: ignore[attr-defined]
    function = library.SwitchToThread if os.name == "nt" else library.sched_yield
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array).data


def _read(typing_context: Any, array: Any) -> Any:
    """Return an array's first number with acquire semantics: all earlier writes of its writer are visible."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_data(context, builder, signature.args[0], arguments[0]), "seq_cst", 8)

    return types.int64(array), generate


def _write(typing_context: Any, array: Any, number: Any) -> Any:
    """Write an array's first number with release semantics: its readers see all earlier writes of this thread."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store_atomic(arguments[1], _data(context, builder, signature.args[0], arguments[0]), "seq_cst", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def _count(typing_context: Any, array: Any) -> Any:
    """Add 1 to an array's first number."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        one = ir.Constant(ir.IntType(64), 1)
        builder.atomic_rmw("add", _data(context, builder, signature.args[0], arguments[0]), one, "seq_cst")
        return context.get_dummy_value()

    return types.void(array), generate


def _claim(typing_context: Any, array: Any, place: Any, number: Any) -> Any:
    """Set an array's entry to a number if it is one less; return whether it was."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.gep(_data(context, builder, signature.args[0], arguments[0]), [arguments[1]])
        before = builder.sub(arguments[2], ir.Constant(ir.IntType(64), 1))
        found = builder.cmpxchg(pointer, before, arguments[2], "seq_cst")
        return builder.extract_value(found, 1)

    return types.boolean(array, types.uint64, types.int64), generate


_read_first: Any = intrinsic(_read)
_write_first: Any = intrinsic(_write)
count_one: Any = intrinsic(_count)
_claim_at: Any = intrinsic(_claim)


@compiled
def begin(team: Any) -> Any:
    """Let threads take tasks; return the phase."""
    phase = _read_first(team.phase) + 1
    _write_first(team.done, 0)
    _write_first(team.phase, phase)
    return phase


@compiled
def take(team: Any, phase: Any, first: Any, tried: Any) -> Any:
    """Take a task that no other thread has taken in a phase.

    A thread tries all tasks, always starting with its own first one and in the same order, so that it mostly takes
    tasks whose data are in its core's cache. Return the number of tasks tried; one more than there are if none is left.
    """
    num_shares = np.uint64(len(team.claims))
    while tried < num_shares:
        share = (first + tried) % num_shares
        tried += ONE
        if team.claims[share] < phase and _claim_at(team.claims, share, phase):
            return tried
    return num_shares + ONE


@compiled
def wait_for_all(team: Any) -> None:
    """Wait until all tasks are done."""
    looks = 0
    while _read_first(team.done) < len(team.claims):
        looks += 1
        if looks > PATIENCE:
            call_address(team.address[0], 0, 0)


@compiled
def wait_for_work(team: Any, phase: Any) -> Any:
    """Wait until a phase is over; return the next one, or below zero if there is none."""
    looks = 0
    while True:
        now = _read_first(team.phase)
        if now != phase:
            return now
        looks += 1
        if looks > PATIENCE:
            call_address(team.address[0], 0, 0)


@functools.cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(1, available_cores()), thread_name_prefix="treeplex")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the child has none of the pool's threads


def in_company(call: Callable[[bool, int], T], team: TeamArrays, threads: int) -> T:
    """Return the result of the leading call, while other threads help by calling with ``False``.

    Each thread receives the number of its first task.
    """
    firsts = [thread * len(team.claims) // threads for thread in range(threads)]
    helpers = [_pool().submit(call, False, first) for first in firsts[1:]]
    try:
        return call(True, 0)
    finally:
        team.phase[0] = OVER
        for helper in helpers:
            if not helper.cancel():
                helper.result()
