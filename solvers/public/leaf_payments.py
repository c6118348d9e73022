"""Payoffs at leaves of a public form: one, two or three registers of adjacent leaves in one sweep over the hands.

Functions take ``nothing``, as many zero registers as they use, and are compiled for each number of registers.
"""

from typing import Any

import numpy as np

from ..compilation import compiled
from ..regret.registers import (
    in_rows,
    length,
    load,
    load_each,
    none_of_one,
    none_of_three,
    none_of_two,
    side_by_side,
    spread_each,
    store,
    store_each,
    width,
)
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


@compiled
def _clear(sums: Any, nothing: Any) -> None:
    """Set the sums of all cards to zero."""
    for place in range(ZERO, CARDS * length(nothing), length(nothing)):
        store_each(sums, place, nothing)


@compiled
def _add(room: Any, hand: Any, states: Any, place: Any, totals: Any) -> Any:
    """Add the reaches of a hand to the sums of its cards and to the totals."""
    sums, step = room.sums, length(totals)
    first, second = np.uint64(states[place, FIRST]) * step, np.uint64(states[place, SECOND]) * step
    reach = load_each(room.turned, hand * step, totals)
    store_each(sums, first, load_each(sums, first, totals) + reach)
    store_each(sums, second, load_each(sums, second, totals) + reach)
    return totals + reach


@compiled
def _apart(room: Any, states: Any, place: Any, totals: Any) -> Any:
    """Return the sum over hands that share no card with a hand."""
    sums, step = room.sums, length(totals)
    first, second = np.uint64(states[place, FIRST]) * step, np.uint64(states[place, SECOND]) * step
    return totals - load_each(sums, first, totals) - load_each(sums, second, totals)


@compiled
def _turn(here: Any, room: Any, lane: Any, h: Any, nothing: Any) -> None:
    """Transpose the reaches of as many hands as a register has lanes, starting with a given hand."""
    lanes, step = width(here), length(nothing)
    for at in range(ZERO, step, lanes):
        side_by_side(here, room.starts[0], lane + at, h, room.turned, h * step + at, step)


@compiled
def _turn_back(here: Any, room: Any, lane: Any, h: Any, amounts: Any, nothing: Any) -> None:
    """Write the payoffs of as many hands as a register has lanes into the leaves' rows of values."""
    lanes, step = width(here), length(nothing)
    for at in range(ZERO, step, lanes):
        in_rows(room.paid, h * step + at, step, amounts, here, room.starts[1], lane + at, h)


@compiled
def _pay(
    game: Any, board: Any, player: Any, here: Any, room: Any, amounts: Any, lane: Any, showdown: Any, nothing: Any
) -> None:
    """Pay the leaves, starting at a given lane: folds, or showdowns on boards whose states are ordered by strength."""
    boards, states, turned, paid = game.boards, game.states, room.turned, room.paid
    mine, own, wide = boards[board, COUNT + player], boards[board, TABLE + player], boards[board, WIDE + player]
    theirs, other = boards[board, COUNT + (ONE - player)], boards[board, TABLE + (ONE - player)]
    lanes, step = width(here), length(nothing)
    j, h = ZERO, ZERO
    _clear(room.sums, nothing)
    totals = nothing
    while h < mine:  # upwards: the weaker hands, or all hands
        limit = np.uint64(states[own + h, WEAKER]) if showdown else theirs
        while j < limit:
            if j % lanes == ZERO:
                _turn(here, room, lane, j, nothing)
            totals = _add(room, j, states, other + j, totals)
            j += ONE
        found = _apart(room, states, own + h, totals)
        if not showdown:
            same, twin = np.uint64(states[own + h, SAME]), np.uint64(states[own + h, TWIN])
            found = found + (load_each(turned, same * step, nothing) if same < theirs else nothing)
            if twin < theirs:
                found = found + load_each(turned, twin * step, nothing)
        store_each(paid, h * step, found)
        h += ONE
    if showdown:
        j = (j + lanes - ONE) // lanes * lanes
        while j < theirs:
            _turn(here, room, lane, j, nothing)
            j += lanes
        _clear(room.sums, nothing)
        totals = nothing
        j = theirs
    while h < wide:
        store_each(paid, h * step, nothing)
        h += ONE
    while h > ZERO:  # downwards: minus the stronger hands
        h -= ONE
        if showdown and h < mine:
            limit = np.uint64(states[own + h, UPTO])
            while j > limit:
                j -= ONE
                totals = _add(room, j, states, other + j, totals)
            won = load_each(paid, h * step, nothing)
            store_each(paid, h * step, won - _apart(room, states, own + h, totals))
        if h % lanes == ZERO:
            _turn_back(here, room, lane, h, amounts, nothing)


@compiled
def _multiply(game: Any, board: Any, player: Any, here: Any, room: Any, amounts: Any, lane: Any, nothing: Any) -> None:
    """Pay the leaves, starting at a given lane, by a matrix with a row for each of a player's states."""
    boards, matrices, turned, paid = game.boards, game.matrices, room.turned, room.paid
    mine, wide = boards[board, COUNT + player], boards[board, WIDE + player]
    theirs = boards[board, COUNT + (ONE - player)]
    matrix = boards[board, MATRIX + player] + np.uint64(game.lanes[lane, LANE_MATRIX]) * mine * theirs
    lanes, step = width(here), length(nothing)
    for j in range(ZERO, theirs, lanes):
        _turn(here, room, lane, j, nothing)
    for h in range(wide):
        found = nothing
        if h < mine:
            for j in range(theirs):
                found = found + spread_each(matrices[matrix + j], nothing) * load_each(turned, j * step, nothing)
            matrix += theirs
        store_each(paid, h * step, found)
    for h in range(ZERO, wide, lanes):
        _turn_back(here, room, lane, h, amounts, nothing)


@compiled
def _sweep(
    game: Any, board: Any, player: Any, here: Any, room: Any, amounts: Any, lane: Any, kind: Any, nothing: Any
) -> None:
    """Pay the leaves of a kind, starting at a given lane."""
    if kind < TWO:
        _pay(game, board, player, here, room, amounts, lane, kind == ONE, nothing)
    else:
        _multiply(game, board, player, here, room, amounts, lane, nothing)


@compiled
def pay_leaves(game: Any, board: Any, player: Any, here: Any, room: Any, rule: Any) -> None:
    """Write a player's payoffs at a board's leaves.

    Only updates use three registers at once. Certificates are rare, and compiling three registers for them takes a
    second.
    """
    boards, shapes, lanes = game.boards, game.shapes, width(here)
    other, shape = ONE - player, boards[board, SHAPE]
    wide, their_wide = boards[board, WIDE + player], boards[board, WIDE + other]
    reaches, values = game.layout[boards[board, DEPTH], 0], game.layout[boards[board, DEPTH], 1]
    starts, amounts = room.starts, game.amounts[player]
    most = TWO
    if rule is not None:
        most = MOST
    for kind in range(THREE):
        lane = shapes[shape, LANES + kind]
        end = lane + shapes[shape, REGISTERS + kind] * FULL
        for place in range(lane, end):
            starts[0, place] = reaches + np.uint64(game.lanes[place, LANE_REACH + other]) * their_wide
            starts[1, place] = values + np.uint64(game.lanes[place, LANE_NODE]) * wide
        while lane < end:
            number, left = game.lanes[lane, LANE_MATRIX], ONE
            while left < most and lane + left * lanes < end and game.lanes[lane + left * lanes, LANE_MATRIX] == number:
                left += ONE
            if left == ONE:
                _sweep(game, board, player, here, room, amounts, lane, kind, none_of_one(here))
            elif left == TWO:
                _sweep(game, board, player, here, room, amounts, lane, kind, none_of_two(here))
            elif rule is not None:
                _sweep(game, board, player, here, room, amounts, lane, kind, none_of_three(here))
            lane += left * lanes
    begin = shapes[shape, LANES + THREE]
    for lane in range(begin, begin + shapes[shape, REGISTERS + THREE]):
        source = values + np.uint64(game.lanes[lane, LANE_REACH]) * wide
        target = values + np.uint64(game.lanes[lane, LANE_NODE]) * wide
        for h in range(ZERO, wide, lanes):
            store(here, target + h, load(here, target + h) + load(here, source + h))
