"""What leaves of a public form pay, a register of neighbouring leaves in one sweep over the hands."""

from typing import Any

import numpy as np

from ..compilation import compiled
from ..regret.registers import in_rows, load, side_by_side, spread, store, width
from .arrays import (
    CARDS,
    COUNT,
    DEPTH,
    FIRST,
    FULL,
    LANE_MATRIX,
    LANE_NODE,
    LANE_REACH,
    LANES,
    MATRIX,
    MOST,
    ONE,
    REGISTERS,
    SAME,
    SECOND,
    SHAPE,
    TABLE,
    THREE,
    TWIN,
    TWO,
    UPTO,
    WEAKER,
    WIDE,
    ZERO,
)


def _sweeps(registers: int) -> Any:
    """Return the function that pays so many registers of leaves, one, two or three."""
    count = np.uint64(registers)

    @compiled
    def read(source: Any, place: Any) -> Any:
        lanes = width(source)
        one = two = three = load(source, place)
        if count > 1:
            two = load(source, place + lanes)
        if count > 2:
            three = load(source, place + TWO * lanes)
        return one, two, three

    @compiled
    def write(target: Any, place: Any, numbers: Any) -> None:
        lanes = width(target)
        store(target, place, numbers[0])
        if count > 1:
            store(target, place + lanes, numbers[1])
        if count > 2:
            store(target, place + TWO * lanes, numbers[2])

    @compiled
    def plus(left: Any, right: Any) -> Any:
        return left[0] + right[0], left[1] + right[1], left[2] + right[2]

    @compiled
    def minus(left: Any, right: Any) -> Any:
        return left[0] - right[0], left[1] - right[1], left[2] - right[2]

    @compiled
    def clear(sums: Any) -> Any:
        zeros = spread(sums.dtype.type(0.0))
        for place in range(ZERO, CARDS * count * width(sums), width(sums)):
            store(sums, place, zeros)
        return zeros, zeros, zeros

    @compiled
    def add(turned: Any, hand: Any, sums: Any, states: Any, place: Any, totals: Any) -> Any:
        """Add the reaches of a hand to the sums of its cards and to the totals."""
        step = count * width(turned)
        first, second = np.uint64(states[place, FIRST]) * step, np.uint64(states[place, SECOND]) * step
        reach = read(turned, hand * step)
        write(sums, first, plus(read(sums, first), reach))
        write(sums, second, plus(read(sums, second), reach))
        return plus(totals, reach)

    @compiled
    def apart(sums: Any, states: Any, place: Any, totals: Any) -> Any:
        """Return what hands that share no card with one sum up to."""
        step = count * width(sums)
        first, second = np.uint64(states[place, FIRST]) * step, np.uint64(states[place, SECOND]) * step
        return minus(minus(totals, read(sums, first)), read(sums, second))

    @compiled
    def turn(here: Any, room: Any, lane: Any, h: Any) -> None:
        """Turn round the reaches of as many hands, from one on, as a register holds."""
        lanes = width(here)
        step = count * lanes
        for at in range(ZERO, step, lanes):
            side_by_side(here, room.starts[0], lane + at, h, room.turned, h * step + at, step)

    @compiled
    def turn_back(here: Any, room: Any, lane: Any, h: Any, amounts: Any) -> None:
        """Write what as many hands are paid into their leaves' rows of values."""
        lanes = width(here)
        step = count * lanes
        for at in range(ZERO, step, lanes):
            in_rows(room.paid, h * step + at, step, amounts, here, room.starts[1], lane + at, h)

    @compiled
    def pay(
        states: Any, mine: Any, own: Any, wide: Any, theirs: Any, other: Any, here: Any, room: Any, amounts: Any,
        lane: Any, showdown: Any,
    ) -> None:  # fmt: skip
        """Pay leaves from a lane on; ``mine`` states, filled up to ``wide``, stand from ``own`` on, the other's too."""
        turned, paid, sums, lanes = room.turned, room.paid, room.sums, width(here)
        step = count * lanes
        j, h = ZERO, ZERO
        totals = clear(sums)
        nothing = totals
        while h < mine:  # upwards: what is weaker, or all there is
            limit = np.uint64(states[own + h, WEAKER]) if showdown else theirs
            while j < limit:
                if j % lanes == ZERO:
                    turn(here, room, lane, j)
                totals = add(turned, j, sums, states, other + j, totals)
                j += ONE
            found = apart(sums, states, own + h, totals)
            if not showdown:
                same, twin = np.uint64(states[own + h, SAME]), np.uint64(states[own + h, TWIN])
                found = plus(found, read(turned, same * step) if same < theirs else nothing)
                if twin < theirs:
                    found = plus(found, read(turned, twin * step))
            write(paid, h * step, found)
            h += ONE
        if showdown:
            j = (j + lanes - ONE) // lanes * lanes
            while j < theirs:
                turn(here, room, lane, j)
                j += lanes
            totals = clear(sums)
            j = theirs
        while h < wide:
            write(paid, h * step, nothing)
            h += ONE
        while h > ZERO:  # downwards, less what is stronger
            h -= ONE
            if showdown and h < mine:
                limit = np.uint64(states[own + h, UPTO])
                while j > limit:
                    j -= ONE
                    totals = add(turned, j, sums, states, other + j, totals)
                write(paid, h * step, minus(read(paid, h * step), apart(sums, states, own + h, totals)))
            if h % lanes == ZERO:
                turn_back(here, room, lane, h, amounts)

    @compiled
    def multiply(
        matrices: Any, matrix: Any, mine: Any, wide: Any, theirs: Any, here: Any, room: Any, amounts: Any, lane: Any
    ) -> None:
        """Pay leaves from a lane on by a matrix, which has a row for each of ``mine`` states."""
        turned, paid, lanes = room.turned, room.paid, width(here)
        step = count * lanes
        zeros = spread(here.dtype.type(0.0))
        for j in range(ZERO, theirs, lanes):
            turn(here, room, lane, j)
        for h in range(wide):
            one = two = three = zeros
            if h < mine:
                for j in range(theirs):
                    entry, reach = spread(matrices[matrix + j]), read(turned, j * step)
                    one, two, three = one + entry * reach[0], two + entry * reach[1], three + entry * reach[2]
                matrix += theirs
            write(paid, h * step, (one, two, three))
        for h in range(ZERO, wide, lanes):
            turn_back(here, room, lane, h, amounts)

    return pay, multiply


(_pay_1, _multiply_1), (_pay_2, _multiply_2), (_pay_3, _multiply_3) = (_sweeps(registers) for registers in (1, 2, 3))


@compiled
def pay_leaves(game: Any, board: Any, player: Any, here: Any, room: Any) -> None:
    """Write what a player is paid at a board's leaves."""
    boards, shapes, states, lanes = game.boards, game.shapes, game.states, width(here)
    other, shape = ONE - player, boards[board, SHAPE]
    wide, their_wide = boards[board, WIDE + player], boards[board, WIDE + other]
    mine, theirs = boards[board, COUNT + player], boards[board, COUNT + other]
    own, others = boards[board, TABLE + player], boards[board, TABLE + other]
    reaches, values = game.layout[boards[board, DEPTH], 0], game.layout[boards[board, DEPTH], 1]
    starts, amounts = room.starts, game.amounts[player]
    for kind in range(THREE):
        lane = shapes[shape, LANES + kind]
        end = lane + shapes[shape, REGISTERS + kind] * FULL
        for place in range(lane, end):
            starts[0, place] = reaches + np.uint64(game.lanes[place, LANE_REACH + other]) * their_wide
            starts[1, place] = values + np.uint64(game.lanes[place, LANE_NODE]) * wide
        while lane < end:
            number, left = game.lanes[lane, LANE_MATRIX], ONE
            while left < MOST and lane + left * lanes < end and game.lanes[lane + left * lanes, LANE_MATRIX] == number:
                left += ONE
            if kind < TWO:
                if left == MOST:
                    _pay_3(states, mine, own, wide, theirs, others, here, room, amounts, lane, kind == ONE)
                elif left == TWO:
                    _pay_2(states, mine, own, wide, theirs, others, here, room, amounts, lane, kind == ONE)
                else:
                    _pay_1(states, mine, own, wide, theirs, others, here, room, amounts, lane, kind == ONE)
            else:
                matrix = boards[board, MATRIX + player] + np.uint64(number) * mine * theirs
                if left == MOST:
                    _multiply_3(game.matrices, matrix, mine, wide, theirs, here, room, amounts, lane)
                elif left == TWO:
                    _multiply_2(game.matrices, matrix, mine, wide, theirs, here, room, amounts, lane)
                else:
                    _multiply_1(game.matrices, matrix, mine, wide, theirs, here, room, amounts, lane)
            lane += left * lanes
    begin = shapes[shape, LANES + THREE]
    for lane in range(begin, begin + shapes[shape, REGISTERS + THREE]):
        source = values + np.uint64(game.lanes[lane, LANE_REACH]) * wide
        target = values + np.uint64(game.lanes[lane, LANE_NODE]) * wide
        for h in range(ZERO, wide, lanes):
            store(here, target + h, load(here, target + h) + load(here, source + h))
