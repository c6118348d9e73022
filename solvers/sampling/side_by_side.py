"""Walks of several threads side by side, each on its own copy of the regrets, in compiled code.

A round has a phase for each player. In a phase, every thread makes the same number of walks for the player, on its own
copy of the regrets, and then tells the others how the regrets have changed. It adds their changes to its copy before
its next walks. Only the player's own regrets change in a phase, and only at infosets that walks meet. All copies are
equal, bit for bit, when a phase begins, and the result does not depend on which thread does which part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compilation import compiled, intrinsic, ir, overload, types
from ..records import record
from ..team import begin, count_one, take, wait_for_all, wait_for_work
from .kernel import (
    _LIKE_COMPILED,
    FULL,
    ONE,
    SAMPLED,
    SIMPLE,
    THREE,
    ZERO,
    PreferringStateArrays,
    StateArrays,
    average_in_full,
    average_on_a_path,
    count_walk,
    prefers,
    traverse_external,
)

WIDTH = 2  # numbers of a vector that every processor has; wider ones slow down the code around them
BLOCK = 8  # positions: those of a cache line
EIGHT = np.uint64(BLOCK)
#: A thread's walks in a phase touch this fraction of the histories touched so far, at least and at most so many.
FRACTION, LEAST, MOST = np.uint64(8192), np.uint64(256), np.uint64(16384)
#: The work of threads in a phase: the walks of a player, divided among them, and whether there are earlier changes.
JOB = np.dtype([("player", np.uint64), ("walks", np.uint64), ("follows", np.bool_)])


@record
class CopyArrays(NamedTuple):
    """The threads' copies of a state, and the changes that they tell each other; one row each.

    Changes are kept until the second phase after their own, because others read them in the next.
    """

    regrets: Any
    before: Any  # the regrets before the walks of the phase
    sums: Any  # of strategies on a thread's own walks; never added up here
    counts: Any  # like regrets; without entries if there is no preference
    counts_before: Any
    clock: Any
    told: Any  # by parity of the phase: the number of blocks changed in it
    blocks: Any  # by parity: those blocks
    changes: Any  # by parity: the changes of their regrets, and of their counts


def own_state(state: Any, copies: Any, lane: Any) -> Any:
    """Return a state with a thread's own regrets, sums, clock and counts."""
    raise NotImplementedError  # compiled code calls one of the two below


def _own_regrets(state: Any, copies: Any, lane: Any) -> Any:
    return StateArrays(copies.regrets[lane], copies.sums[lane], state.baselines, copies.clock[lane])


def _own_preferences(state: Any, copies: Any, lane: Any) -> Any:
    counts = copies.counts[lane]
    return PreferringStateArrays(
        copies.regrets[lane], copies.sums[lane], state.baselines, copies.clock[lane], state.degrees,
        state.vulnerability, state.divisors, counts, counts, state.greedy,
    )  # fmt: skip


@overload(own_state, jit_options=_LIKE_COMPILED)
def _compile_own_state(state: Any, copies: Any, lane: Any) -> Any:
    return _own_preferences if prefers(state) else _own_regrets


def _by_blocks(operation: str) -> Any:
    """Return a function that sets a block of an array to the result of an operation on blocks of two arrays.

    The loops that numba compiles would first test whether the arrays overlap, which takes longer than the operation.
    """

    def typed(typing_context: Any, target: Any, to: Any, left: Any, at: Any, right: Any, there: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = [
                context.make_array(kind)(context, builder, array).data
                for kind, array in zip(signature.args[::2], arguments[::2], strict=True)
            ]
            part = ir.VectorType(ir.DoubleType(), WIDTH)
            for first in range(0, BLOCK, WIDTH):
                pointers = []
                for array, place in zip(data, arguments[1::2], strict=True):
                    at = builder.add(place, ir.Constant(place.type, first))
                    pointers.append(builder.bitcast(builder.gep(array, [at]), part.as_pointer()))
                numbers = [builder.load(pointer, align=8) for pointer in pointers[1:]]
                builder.store(getattr(builder, operation)(*numbers), pointers[0], align=8)
            return context.get_dummy_value()

        return types.void(target, types.uint64, left, types.uint64, right, types.uint64), generate

    return intrinsic(typed)


_subtract: Any = _by_blocks("fsub")
_add: Any = _by_blocks("fadd")


@compiled
def _tell(copies: Any, lane: Any, parity: Any, scratch: Any, first: Any, last: Any) -> None:
    """Write down how walks have changed the blocks of the words ``first:last``."""
    regrets, before, told = copies.regrets[lane], copies.before[lane], ZERO
    counts, counts_before = copies.counts[lane], copies.counts_before[lane]
    blocks, changes = copies.blocks[parity, lane], copies.changes[parity, lane]
    for word in range(first, last):
        if scratch.words[word] == ZERO:
            continue
        for block in range(EIGHT * word, EIGHT * word + EIGHT):
            if scratch.changed[block]:
                blocks[told], start = block, EIGHT * block
                _subtract(changes[told], ZERO, regrets, start, before, start)
                if len(counts) > 0:
                    _subtract(changes[told], EIGHT, counts, start, counts_before, start)
                told += ONE
        scratch.words[word] = ZERO
    copies.told[parity, lane, ZERO] = told


@compiled
def _hear(copies: Any, lane: Any, parity: Any, floor: Any) -> None:
    """Add all threads' changes in a phase to a thread's copy, in the order of the threads."""
    regrets, before = copies.regrets[lane], copies.before[lane]
    counts, counts_before = copies.counts[lane], copies.counts_before[lane]
    for other in range(np.uint64(len(copies.clock))):
        changes = copies.changes[parity, other]
        for told in range(copies.told[parity, other, ZERO]):
            start = EIGHT * np.uint64(copies.blocks[parity, other, told])
            _add(before, start, before, start, changes[told], ZERO)
            if len(counts) > 0:
                _add(counts_before, start, counts_before, start, changes[told], EIGHT)
    for other in range(np.uint64(len(copies.clock))):
        for told in range(copies.told[parity, other, ZERO]):
            start = EIGHT * np.uint64(copies.blocks[parity, other, told])
            for each in range(start, start + EIGHT):
                before[each] = regrets[each] = max(before[each], floor)
            if len(counts) > 0:
                for each in range(start, start + EIGHT):
                    counts[each] = counts_before[each]


@compiled
def _walk(
    tree: Any, bases: Any, state: Any, copies: Any, lane: Any, scratch: Any, run: Any, player: Any, walks: Any
) -> None:
    """Do a thread's walks of a player on its own copy."""
    own, base = own_state(state, copies, lane), np.uint64(bases[player])
    for _ in range(walks):
        if run.averaging == SAMPLED:
            average_on_a_path(tree, player, own, scratch, None, ZERO)
        elif run.averaging == FULL:
            average_in_full(tree, bases, player, own, scratch)
        traverse_external(tree, player, run.floor, run.averaging == SIMPLE, own, own.regrets, scratch, None, ZERO)
        count_walk(own, base, 1.0)
    scratch.changed[base >> THREE] = True


@compiled
def _take_lanes(
    tree: Any, bases: Any, state: Any, copies: Any, scratch: Any, run: Any, job: Any, team: Any, phase: Any, first: Any
) -> None:
    """Do a phase's job for lane after lane, starting with a first one, until all are taken."""
    num_lanes, tried = np.uint64(len(copies.clock)), ZERO
    parity = np.uint64(phase) & ONE
    while True:
        tried = take(team, phase, first, tried)
        if tried > num_lanes:
            break
        lane, player, walks = (first + tried - ONE) % num_lanes, job.player, job.walks
        if job.follows:
            _hear(copies, lane, parity ^ ONE, run.floor)
        walks = walks * (lane + ONE) // num_lanes - walks * lane // num_lanes
        if walks > ZERO:
            _walk(tree, bases, state, copies, lane, scratch, run, player, walks)
        begins, ends = np.uint64(bases[player]), np.uint64(bases[player + ONE])
        _tell(copies, lane, parity, scratch, begins // (EIGHT * EIGHT), ends // (EIGHT * EIGHT) + ONE)
        count_one(team.done)


def run_side_by_side(
    tree: Any, bases: Any, state: Any, copies: Any, scratch: Any, run: Any, job: Any, team: Any, leads: Any, first: Any
) -> None:
    """Do iterations like :func:`~treeplex.solvers.sampling.kernel.run_samplers`, in rounds, on the threads' copies.

    At least `run.iterations` are done and at most `run.walks`; only then the last round is shorter. On other threads,
    help the leading one.
    """
    phase = 0
    if not leads:
        while True:
            phase = wait_for_work(team, phase)
            if phase < 0:
                return
            _take_lanes(tree, bases, state, copies, scratch, run, job, team, phase, first)
    clock, num_lanes, num_players = state.clock, np.uint64(len(copies.clock)), np.uint64(len(bases) - 1)
    last, limit = clock[ZERO] + run.iterations, clock[ZERO] + run.walks
    job.follows = False
    while clock[ZERO] < last and clock[ONE] < run.until:
        touches = min(max(clock[ONE] // FRACTION, LEAST), MOST)
        walks = max(touches * num_players * clock[ZERO] // max(clock[ONE], ONE), ONE)
        walks = min(walks * num_lanes, limit - clock[ZERO])
        for player in range(num_players):
            job.player, job.walks = player, walks
            _take_lanes(tree, bases, state, copies, scratch, run, job, team, begin(team), first)
            wait_for_all(team)
            job.follows = True
        clock[ZERO] += walks
        for lane in range(num_lanes):
            clock[ONE] += copies.clock[lane, ONE]
            copies.clock[lane, ONE] = ZERO
    if job.follows:
        job.walks = ZERO
        _take_lanes(tree, bases, state, copies, scratch, run, job, team, begin(team), first)
        wait_for_all(team)


run_side_by_side = compiled(run_side_by_side, cache=True)
