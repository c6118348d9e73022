"""Walks of several threads side by side, each on its own copy of the regrets, in compiled code.

A round has a phase for each player. In a phase, every thread makes the same number of walks for the player, on its own
copy of the regrets. Then the threads divide the blocks that walks have changed, and add all copies' changes in a block
to the regrets that all agree on; before its next walks, each thread copies these blocks. Only the player's own regrets
change in a phase. All copies are equal, bit for bit, when walks begin, and the result does not depend on which thread
does which part.
"""

from __future__ import annotations

from collections.abc import Callable
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
    SHIFT,
    SIMPLE,
    THREE,
    TWO,
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
BLOCK = 1 << int(SHIFT)  # positions: those of two cache lines, which processors load together
WORD = 8 * BLOCK  # positions whose blocks are marked in one word
SIZE, EIGHT = np.uint64(BLOCK), np.uint64(8)
#: All walks in a phase touch at most 1/128 of the histories touched so far, but at least 512; and at most 2/3 of the
#: game's histories or, if more, twice the square root of the number touched so far.
FRACTION, LEAST = np.uint64(128), np.uint64(512)
#: A part of a phase: the player, the walks of all threads, whether threads agree on regrets or walk, and whether they
#: first copy what they have agreed on.
JOB = np.dtype([("player", np.uint64), ("walks", np.uint64), ("agrees", np.bool_), ("follows", np.bool_)])


@record
class CopyArrays(NamedTuple):
    """The threads' copies of a state, one row each, and what they agree on, in one row."""

    regrets: Any
    agreed: Any  # the regrets when walks begin
    sums: Any  # of strategies on a thread's own walks; never added up here
    counts: Any  # like regrets; without entries if there is no preference
    agreed_counts: Any
    clock: Any
    marks: Any  # whether a thread's walks have changed the regrets of a block
    changed: Any  # the same as 64-bit words
    met: Any  # one row: whether any thread's walks have
    total: Any  # a row of one block for every thread


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


def _by_blocks(operation: Callable[..., Any]) -> Any:
    """Return a function that changes a block of an array by an operation on it and on blocks of two other arrays.

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
                numbers = [builder.load(pointer, align=8) for pointer in pointers]
                builder.store(operation(builder, *numbers), pointers[0], align=8)
            return context.get_dummy_value()

        return types.void(target, types.uint64, left, types.uint64, right, types.uint64), generate

    return intrinsic(typed)


def _count_trailing_zeros(typing_context: Any, word: Any) -> Any:
    """Return the number of trailing zeros of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(word), generate


_trailing_zeros: Any = intrinsic(_count_trailing_zeros)
_add_change: Any = _by_blocks(lambda builder, total, new, old: builder.fadd(total, builder.fsub(new, old)))
_replace: Any = _by_blocks(lambda builder, target, source, same: source)


@compiled
def _copy(target: Any, to: Any, source: Any, at: Any) -> None:
    _replace(target, to, source, at, source, at)


@compiled
def _first_block(word: Any, blocks: Any) -> Any:
    """Return the first block that a word marks; each of its bytes marks one."""
    return EIGHT * word + (_trailing_zeros(blocks) >> THREE)


@compiled
def _agree_on_block(agreed: Any, copied: Any, copies: Any, block: Any, share: Any) -> None:
    """Add the changes of a block in all threads' copies, in the order of the threads."""
    start, to, total, width = SIZE * block, SIZE * share, copies.total, np.uint64(copied.shape[1])
    _copy(total, to, agreed, start)
    for lane in range(np.uint64(len(copied))):
        if copies.marks[lane, block]:
            _add_change(total, to, copied, lane * width + start, agreed, start)
    _copy(agreed, start, total, to)


@compiled
def _agree(copies: Any, lane: Any, first: Any, last: Any, floor: Any) -> None:
    """Agree on the blocks of the words ``first:last``."""
    agreed, met, num_lanes = copies.agreed, copies.met, np.uint64(len(copies.clock))
    for word in range(first, last):
        blocks = ZERO
        for other in range(num_lanes):
            blocks |= copies.changed[other, word]
        met[word] = blocks
        while blocks != ZERO:
            block = _first_block(word, blocks)
            _agree_on_block(agreed, copies.regrets, copies, block, lane)
            if len(copies.agreed_counts) > 0:
                _agree_on_block(copies.agreed_counts, copies.counts, copies, block, lane)
            if floor > -np.inf:
                for each in range(SIZE * block, SIZE * block + SIZE):
                    agreed[each] = max(agreed[each], floor)
            blocks &= blocks - ONE


@compiled
def _follow(copies: Any, lane: Any, first: Any, last: Any) -> None:
    """Copy the blocks of the words ``first:last`` that threads have agreed on."""
    regrets, counts = copies.regrets[lane], copies.counts[lane]
    for word in range(first, last):
        blocks = copies.met[word]
        while blocks != ZERO:
            start = SIZE * _first_block(word, blocks)
            _copy(regrets, start, copies.agreed, start)
            if len(counts) > 0:
                _copy(counts, start, copies.agreed_counts, start)
            blocks &= blocks - ONE


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
    scratch.changed[base >> SHIFT] = True


@compiled
def _words_of(bases: Any, player: Any) -> Any:
    """Return the words of a player's blocks, the first and the one after the last."""
    return np.uint64(bases[player]) // np.uint64(WORD), np.uint64(bases[player + ONE]) // np.uint64(WORD) + ONE


@compiled
def _take_lanes(
    tree: Any, bases: Any, state: Any, copies: Any, scratch: Any, run: Any, job: Any, team: Any, phase: Any, first: Any
) -> None:
    """Do a part of a phase for lane after lane, starting with a first one, until all are taken."""
    num_lanes, num_players, tried = np.uint64(len(copies.clock)), np.uint64(len(bases) - 1), ZERO
    while True:
        tried = take(team, phase, first, tried)
        if tried > num_lanes:
            break
        lane, player, walks = (first + tried - ONE) % num_lanes, job.player, job.walks
        begins, ends = _words_of(bases, player)
        if job.agrees:
            low, high = (ends - begins) * lane // num_lanes, (ends - begins) * (lane + ONE) // num_lanes
            _agree(copies, lane, begins + low, begins + high, run.floor)
        else:
            if job.follows:
                before = _words_of(bases, (player + num_players - ONE) % num_players)
                _follow(copies, lane, before[0], before[1])
            walks = walks * (lane + ONE) // num_lanes - walks * lane // num_lanes
            if walks > ZERO:
                _walk(tree, bases, state, copies, lane, scratch, run, player, walks)
            for word in range(begins, ends):
                copies.changed[lane, word], scratch.words[word] = scratch.words[word], ZERO
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
    share = TWO * np.uint64(len(tree.nodes)) // np.uint64(3)
    job.follows = False
    while clock[ZERO] < last and clock[ONE] < run.until:
        most = max(share, TWO * np.uint64(np.sqrt(np.float64(clock[ONE]))))
        touches = max(min(clock[ONE] // FRACTION, most), LEAST)
        walks = max(touches * num_players * clock[ZERO] // max(clock[ONE], ONE), num_lanes)
        walks = min(walks, limit - clock[ZERO])
        for player in range(num_players):
            job.player, job.walks = player, walks
            for part in range(2):
                job.agrees = part == 1
                _take_lanes(tree, bases, state, copies, scratch, run, job, team, begin(team), first)
                wait_for_all(team)
            job.follows = True
        clock[ZERO] += walks
        for lane in range(num_lanes):
            clock[ONE] += copies.clock[lane, ONE]
            copies.clock[lane, ONE] = ZERO
    if job.follows:
        job.player, job.walks, job.agrees = ZERO, ZERO, False
        _take_lanes(tree, bases, state, copies, scratch, run, job, team, begin(team), first)
        wait_for_all(team)


run_side_by_side = compiled(run_side_by_side, cache=True)
