"""The compiled loop on a game in public form.

An update of a player walks down the boards (the results of public chance) and writes the other player's reaches at
every public state, one number per private state. It pays all leaves of a board, and walks up again with values and
regrets, from which behaviour is computed each time. So a game needs two numbers for each action and private state, a
regret and a sum of reaches, and a walk needs the arrays of one board at each depth.

Private states are adjacent, padded to whole registers; on boards of showdowns they are ordered by strength. At leaves
they are transposed, so that a register holds one state at adjacent leaves: a sweep over the hands then pays as many
leaves as a register has lanes, without branches on their numbers. The functions take arrays, change them in place and
check nothing. There are few arrays with many columns, because compiling takes longer with each array that a function
reads.
"""

from typing import Any

import numpy as np

from ..compilation import compiled
from ..regret.local_rule import accumulated, averaging_decay, discount, in_registers, predicted
from ..regret.registers import (
    WHOLE,
    double_in,
    larger,
    largest,
    load,
    load_whole,
    single_in,
    spread,
    store,
    store_whole,
    where_positive,
    whole_in,
    width,
)
from .arrays import (
    ALIKE,
    ARITY,
    ASCEND,
    BASE,
    CALLED,
    CHILD,
    COUNT,
    COUNTED,
    DEPTH,
    DESCEND,
    END,
    ENTRY,
    EXIT,
    IMAGES,
    ITERATE,
    KIND,
    LEAST,
    LIKE,
    NODES,
    ONE,
    PARENT,
    PASSED,
    PRICE,
    PRICES,
    REACH,
    ROOTS,
    ROW,
    SCALE,
    SHAPE,
    SIZE,
    STAKE,
    TABLE,
    TOP,
    TWO,
    WIDE,
    WORK,
    ZERO,
)
from .leaf_payments import pay_leaves


@compiled
def _enter(game: Any, board: Any, player: Any, scale: Any, before: Any, here: Any) -> None:
    """Write a player's reaches of a board's roots: from the previous board's exits, or scaled weights on the first."""
    boards, shapes, nodes, above = game.boards, game.shapes, game.nodes, game.above
    wide, count, depth = boards[board, WIDE + player], boards[board, COUNT + player], boards[board, DEPTH]
    target = game.layout[depth, 0]
    if depth == ZERO:
        for h in range(wide):
            here[target + h] = game.weights[player, h] * here.dtype.type(scale)
        return
    parent, shape = boards[board, PARENT], boards[board, SHAPE]
    begin, beyond = shapes[shape, NODES], shapes[boards[parent, SHAPE], NODES]
    up, rows = boards[board, IMAGES], game.layout[depth - ONE, 0]
    if player == ONE:
        up += boards[board, COUNT]
    for root in range(shapes[shape, ROOTS]):
        gone = beyond + np.uint64(nodes[begin + root, ENTRY])
        source = rows + np.uint64(nodes[gone, REACH + player]) * boards[parent, WIDE + player]
        for h in range(count):
            here[target + h] = before[source + np.uint64(above[up + h])]
        for h in range(count, wide):
            here[target + h] = 0.0
        target += wide


@compiled
def _add_whole(sums: Any, first: Any, count: Any, scales: Any, at: Any, decay: Any, here: Any, source: Any) -> None:
    """Add reaches to ``decay`` times a node's 16-bit sums, and rescale the sums by the largest of them."""
    lanes, one = width(here), spread(scales[at] * decay)
    found = spread(np.float32(0.0))
    for h in range(ZERO, count, lanes):
        found = larger(found, load_whole(sums, first + h) * one + load(here, source + h))
    top = largest(found)
    if top > LEAST:
        scales[at] = top / TOP
        factors = spread(TOP * np.float32(2**WHOLE) / top)
        for h in range(ZERO, count, lanes):
            store_whole(sums, first + h, load_whole(sums, first + h) * one + load(here, source + h), factors)


@compiled
def _play(game: Any, board: Any, player: Any, regrets: Any, here: Any, sums: Any, scales: Any, decay: Any) -> None:
    """Write a player's reaches on a board for the behaviour of its regrets, and add them to ``decay`` times sums."""
    boards, nodes = game.boards, game.nodes
    shape = boards[board, SHAPE]
    begin, roots = game.shapes[shape, NODES], game.shapes[shape, ROOTS]
    wide, base = boards[board, WIDE + player], boards[board, BASE + player]
    reaches = game.layout[boards[board, DEPTH], 0]
    real, lanes = here.dtype.type, width(here)
    zeros, ones, decays = spread(real(0.0)), spread(real(1.0)), spread(real(decay))
    for node in range(begin, begin + game.shapes[shape, SIZE]):
        if nodes[node, KIND] == player:
            arity, row = np.uint64(nodes[node, ARITY]), np.uint64(nodes[node, ROW])
            first = base + row * wide
            source = reaches + np.uint64(nodes[node, REACH + player]) * wide
            target = reaches + (roots + row) * wide
            uniform = spread(real(1.0) / real(arity))
            for h in range(ZERO, wide, lanes):
                totals = larger(load(regrets, first + h), zeros)
                for action in range(ONE, arity):
                    totals = totals + larger(load(regrets, first + action * wide + h), zeros)
                reach = load(here, source + h)
                shares, uniforms = reach / where_positive(totals, totals, ones), reach * uniform
                for action in range(arity):
                    there = action * wide + h
                    reach = larger(load(regrets, first + there), zeros) * shares
                    reach = where_positive(totals, reach, uniforms)
                    store(here, target + there, reach)
                    if scales is None:
                        store(sums, first + there, load(sums, first + there) * decays + reach)
            if scales is not None:
                at = boards[board, SCALE + player] + row
                _add_whole(sums, first, arity * wide, scales[player], at, real(decay), here, target)


@compiled
def _play_within(
    game: Any, terms: Any, board: Any, player: Any, regrets: Any, here: Any, sums: Any, decay: Any
) -> None:
    """Like :func:`_play`, for a player whose actions have limits: regrets divide the rest of the probability."""
    boards, nodes, least, free = game.boards, game.nodes, terms.least[player], terms.free[player]
    shape = boards[board, SHAPE]
    begin, roots = game.shapes[shape, NODES], game.shapes[shape, ROOTS]
    wide, base = boards[board, WIDE + player], boards[board, BASE + player]
    reaches = game.layout[boards[board, DEPTH], 0]
    real, lanes = here.dtype.type, width(here)
    zeros, ones, decays = spread(real(0.0)), spread(real(1.0)), spread(real(decay))
    for node in range(begin, begin + game.shapes[shape, SIZE]):
        if nodes[node, KIND] == player:
            arity, row = np.uint64(nodes[node, ARITY]), np.uint64(nodes[node, ROW])
            first = base + row * wide
            source = reaches + np.uint64(nodes[node, REACH + player]) * wide
            target = reaches + (roots + row) * wide
            for h in range(ZERO, wide, lanes):
                totals, count, left = zeros, zeros, ones
                for action in range(arity):
                    there = first + action * wide + h
                    open_to = load(free, there)
                    totals = totals + larger(load(regrets, there), zeros) * open_to
                    count, left = count + open_to, left - load(least, there)
                reach = load(here, source + h)
                shares = left / where_positive(totals, totals, where_positive(count, count, ones))
                for action in range(arity):
                    there = action * wide + h
                    wanted = larger(load(regrets, first + there), zeros)
                    wanted = where_positive(totals, wanted, ones) * load(free, first + there)
                    played = reach * (load(least, first + there) + wanted * shares)
                    store(here, target + there, played)
                    store(sums, first + there, load(sums, first + there) * decays + played)


@compiled
def _tally(terms: Any, board: Any, player: Any, here: Any, reaches: Any, found: Any) -> None:
    """Add the contributions of a player's reaches on a board to the values of rows."""
    place = board * TWO + player
    for entry in range(terms.met[place], terms.met[place + ONE]):
        found[terms.rows[entry]] += terms.shares[entry] * np.float64(here[reaches + terms.reaches[entry]])


@compiled
def _number_at(sums: Any, place: Any, size: Any) -> Any:
    """Return a number of a given size in bytes."""
    if size == 4:
        return single_in(sums, place)
    return double_in(sums, place) if size == 8 else whole_in(sums, place)


@compiled
def _as_doubles(sums: Any, first: Any, count: Any, size: Any, here: Any, target: Any) -> None:
    """Write sums of a given size in bytes as doubles."""
    if size == 4:
        for i in range(count):
            here[target + i] = single_in(sums, first + i)
    elif size == 8:
        for i in range(count):
            here[target + i] = double_in(sums, first + i)
    else:
        for i in range(count):
            here[target + i] = whole_in(sums, first + i)


@compiled
def _play_average(game: Any, board: Any, player: Any, average: Any, here: Any) -> None:
    """Write a player's reaches on a board for its average behaviour."""
    boards, nodes = game.boards, game.nodes
    shape = boards[board, SHAPE]
    begin, roots = game.shapes[shape, NODES], game.shapes[shape, ROOTS]
    wide, base = boards[board, WIDE + player], boards[board, BASE + player]
    reaches = game.layout[boards[board, DEPTH], 0]
    real, lanes = here.dtype.type, width(here)
    zeros, ones = spread(real(0.0)), spread(real(1.0))
    for node in range(begin, begin + game.shapes[shape, SIZE]):
        if nodes[node, KIND] == player:
            arity, row = np.uint64(nodes[node, ARITY]), np.uint64(nodes[node, ROW])
            source = reaches + np.uint64(nodes[node, REACH + player]) * wide
            target = reaches + (roots + row) * wide
            _as_doubles(average.sums[player], base + row * wide, arity * wide, average.size, here, target)
            uniform = spread(real(1.0) / real(arity))
            for h in range(ZERO, wide, lanes):
                totals = zeros
                for action in range(arity):
                    totals = totals + load(here, target + action * wide + h)
                reach, divisors = load(here, source + h), where_positive(totals, totals, ones)
                for action in range(arity):
                    there = target + action * wide + h
                    store(here, there, reach * where_positive(totals, load(here, there) / divisors, uniform))


@compiled
def _open(game: Any, board: Any, player: Any, here: Any) -> None:
    """Set the values at a board's exits to zero."""
    shape, wide = game.boards[board, SHAPE], game.boards[board, WIDE + player]
    begin, values = game.shapes[shape, NODES], game.layout[game.boards[board, DEPTH], 1]
    for place in range(game.shapes[shape, SIZE]):
        if game.nodes[begin + place, KIND] == EXIT:
            for h in range(wide):
                here[values + place * wide + h] = 0.0


@compiled
def _add_payments(terms: Any, player: Any, first: Any, here: Any, below: Any, count: Any) -> None:
    """Add the additional payments of a node's actions to the values of its children."""
    payments = terms.payments[player]
    if len(payments) > 0:
        for h in range(ZERO, count, width(here)):
            store(here, below + h, load(here, below + h) + load(payments, first + h))


@compiled
def _learn_within(
    terms: Any, player: Any, state: Any, now: Any, first: Any, here: Any, below: Any, above: Any, arity: Any, wide: Any
) -> None:
    """Learn at a node whose actions have limits: regrets concern only the probability beyond the least ones."""
    least, free = terms.least[player], terms.free[player]
    regrets, play, forecast = state.regrets[player], state.play[player], state.forecast[player]
    real, lanes, discounts, forecasts = here.dtype.type, width(here), in_registers(now, here), len(forecast) > 0
    zeros, ones = spread(real(0.0)), spread(real(1.0))
    for h in range(ZERO, wide, lanes):
        totals, plain, value, count, left, sure = zeros, zeros, zeros, zeros, ones, zeros
        for action in range(arity):
            there = action * wide + h
            open_to, paid, bound = load(free, first + there), load(here, below + there), load(least, first + there)
            weight = larger(load(play, first + there), zeros) * open_to
            totals, value, plain = totals + weight, value + weight * paid, plain + open_to * paid
            count, left, sure = count + open_to, left - bound, sure + bound * paid
        plain = plain / where_positive(count, count, ones)
        value = where_positive(totals, value / where_positive(totals, totals, ones), plain)
        store(here, above + h, sure + left * value)
        for action in range(arity):
            there = action * wide + h
            gained = (load(here, below + there) - value) * left * load(free, first + there)
            regret = accumulated(load(regrets, first + there), gained, discounts)
            store(regrets, first + there, regret)
            if forecasts:
                store(forecast, first + there, predicted(regret, gained, discounts))


@compiled
def _learn(game: Any, terms: Any, board: Any, player: Any, state: Any, here: Any, now: Any) -> None:
    """Walk up a board: compute a player's values of its nodes and update its regrets, with the current discounts."""
    boards, nodes = game.boards, game.nodes
    regrets, play, forecast = state.regrets[player], state.play[player], state.forecast[player]
    shape, wide, base = boards[board, SHAPE], boards[board, WIDE + player], boards[board, BASE + player]
    begin, place = game.shapes[shape, NODES], game.shapes[shape, SIZE]
    values = game.layout[boards[board, DEPTH], 1]
    real, lanes, discounts, forecasts = here.dtype.type, width(here), in_registers(now, here), len(forecast) > 0
    zeros, ones = spread(real(0.0)), spread(real(1.0))
    while place > ZERO:
        place -= ONE
        kind = nodes[begin + place, KIND]
        if kind >= EXIT:
            continue
        arity, above = np.uint64(nodes[begin + place, ARITY]), values + place * wide
        below = values + np.uint64(nodes[begin + place, CHILD]) * wide
        if kind != player:
            for h in range(ZERO, wide, lanes):
                total = load(here, below + h)
                for action in range(ONE, arity):
                    total = total + load(here, below + action * wide + h)
                store(here, above + h, total)
            continue
        first = base + np.uint64(nodes[begin + place, ROW]) * wide
        if terms is not None:
            _add_payments(terms, player, first, here, below, arity * wide)
            if len(terms.least[player]) > 0:
                _learn_within(terms, player, state, now, first, here, below, above, arity, wide)
                continue
        uniform = spread(real(1.0) / real(arity))
        for h in range(ZERO, wide, lanes):
            totals, plain, value = zeros, zeros, zeros
            for action in range(arity):
                there = action * wide + h
                weight, paid = larger(load(play, first + there), zeros), load(here, below + there)
                totals, plain, value = totals + weight, plain + paid, value + weight * paid
            value = where_positive(totals, value / where_positive(totals, totals, ones), plain * uniform)
            store(here, above + h, value)
            for action in range(arity):
                there = action * wide + h
                gained = load(here, below + there) - value
                regret = accumulated(load(regrets, first + there), gained, discounts)
                store(regrets, first + there, regret)
                if forecasts:
                    store(forecast, first + there, predicted(regret, gained, discounts))


@compiled
def _value(game: Any, terms: Any, board: Any, player: Any, average: Any, here: Any, best: Any) -> None:
    """Walk up a board: compute a player's node values for the average behaviour or, with ``best``, a best response."""
    boards, nodes = game.boards, game.nodes
    shape, wide, base = boards[board, SHAPE], boards[board, WIDE + player], boards[board, BASE + player]
    begin, place = game.shapes[shape, NODES], game.shapes[shape, SIZE]
    values = game.layout[boards[board, DEPTH], 1]
    while place > ZERO:
        place -= ONE
        kind = nodes[begin + place, KIND]
        if kind >= EXIT:
            continue
        arity, above = np.uint64(nodes[begin + place, ARITY]), values + place * wide
        below = values + np.uint64(nodes[begin + place, CHILD]) * wide
        first = base + np.uint64(nodes[begin + place, ROW]) * wide
        if kind == player:
            _add_payments(terms, player, first, here, below, arity * wide)
            if best and len(terms.least[player]) > 0:
                _best_within(terms, player, first, here, below, above, arity, wide)
                continue
        if kind == player and not best:
            _value_on_average(average.sums[player], first, arity, wide, average.size, here, below, above)
            continue
        for h in range(wide):
            value = here[below + h]
            for action in range(ONE, arity):
                paid = here[below + action * wide + h]
                value = value + paid if kind != player else max(value, paid)
            here[above + h] = value


@compiled
def _value_on_average(
    sums: Any, first: Any, arity: Any, wide: Any, size: Any, here: Any, below: Any, above: Any
) -> None:
    """Write a player's value of a node for its average behaviour."""
    for h in range(wide):
        total, value = 0.0, 0.0
        for action in range(arity):
            total += _number_at(sums, first + action * wide + h, size)
        for action in range(arity):
            played = _number_at(sums, first + action * wide + h, size)
            share = played / total if total > 0.0 else 1.0 / np.float64(arity)
            value += share * here[below + action * wide + h]
        here[above + h] = value


@compiled
def _best_within(terms: Any, player: Any, first: Any, here: Any, below: Any, above: Any, arity: Any, wide: Any) -> None:
    """Write the best value of a node's actions within their limits."""
    least, free = terms.least[player], terms.free[player]
    for h in range(wide):
        most, left, sure = -np.inf, 1.0, 0.0
        for action in range(arity):
            there, paid = first + action * wide + h, np.float64(here[below + action * wide + h])
            left, sure = left - least[there], sure + least[there] * paid
            if free[there] > 0.0:
                most = max(most, paid)
        here[above + h] = sure + left * most if most > -np.inf else sure


@compiled
def _leave(game: Any, board: Any, player: Any, here: Any, before: Any, offset: Any) -> None:
    """Add, for each image of a board, the values of its roots to those of the previous exits, from an offset on."""
    boards, shapes = game.boards, game.shapes
    shape, parent = boards[board, SHAPE], boards[board, PARENT]
    wide, count = boards[board, WIDE + player], boards[board, COUNT + player]
    begin, values = shapes[shape, NODES], game.layout[boards[board, DEPTH], 1]
    up, end = boards[board, IMAGES], boards[board + ONE, IMAGES]
    if player == ONE:
        up += boards[board, COUNT]
    while up < end:
        for root in range(shapes[shape, ROOTS]):
            source = values + root * wide
            target = offset + np.uint64(game.nodes[begin + root, ENTRY]) * boards[parent, WIDE + player]
            for h in range(count):
                before[target + np.uint64(game.above[up + h])] += here[source + h]
        up += boards[board, COUNT] + boards[board, COUNT + ONE]


@compiled
def _down(walk: Any, board: Any, player: Any, decay: Any, before: Any, here: Any, group: Any) -> None:
    """Walk down a board: write the other player's reaches (of its average if nobody learns) and the leaf payoffs."""
    game, state, other = walk.game, walk.state, ONE - player
    terms = walk.terms
    _enter(game, board, other, 1.0 if terms is None else terms.scales[player], before, here)
    if walk.rule is None:  # branches for values that are None, here and below, are not compiled
        _play_average(game, board, other, state, here)
    elif terms is None:
        _play(game, board, other, state.play[other], here, state.sums[other], state.scales, decay)
    elif len(terms.least[other]) > 0:
        _play_within(game, terms, board, other, state.play[other], here, state.sums[other], decay)
    else:
        _play(game, board, other, state.play[other], here, state.sums[other], state.scales, decay)
    if terms is not None:
        _tally(terms, board, other, here, game.layout[game.boards[board, DEPTH], 0], walk.room.tally[group])
    _open(game, board, player, here)
    pay_leaves(game, board, player, here, walk.room, walk.rule)


@compiled
def _equal(game: Any, board: Any, player: Any, here: Any) -> None:
    """Give equivalent private states identical values at leaves and exits, bit for bit.

    Round-off would make them differ, and play differently if actions are equally good. But boards that are images of
    each other are walked once, as if equivalent states played the same.
    """
    boards, nodes, states = game.boards, game.nodes, game.states
    shape, wide, own = boards[board, SHAPE], boards[board, WIDE + player], boards[board, TABLE + player]
    begin, values = game.shapes[shape, NODES], game.layout[boards[board, DEPTH], 1]
    for place in range(game.shapes[shape, SIZE]):
        if nodes[begin + place, KIND] >= EXIT:
            row = values + place * wide
            for h in range(boards[board, COUNT + player]):
                here[row + h] = here[row + np.uint64(states[own + h, LIKE])]


@compiled
def _up(walk: Any, board: Any, player: Any, here: Any, best: Any) -> None:
    """Walk up a board, learning by a rule if there is one."""
    if walk.game.boards[board, ALIKE] != ZERO:
        _equal(walk.game, board, player, here)
    if walk.rule is None:
        _value(walk.game, walk.terms, board, player, walk.state, here, best)
    else:
        _learn(walk.game, walk.terms, board, player, walk.state, here, walk.room.now)


@compiled
def _up_from(walk: Any, board: Any, player: Any, group: Any, best: Any) -> None:
    """Walk up from the last board of a group of boards, through all boards that end with it."""
    boards, groups, here, found = walk.game.boards, walk.game.groups, walk.room.room, walk.room.found
    after = board + ONE
    while boards[board, END] == after:
        _up(walk, board, player, here, best)
        parent = boards[board, PARENT]
        if parent == ZERO:
            if board == groups[group]:
                for place in range(np.uint64(found.shape[1])):
                    found[group, place] = 0.0
            _leave(walk.game, board, player, here, found[group], ZERO)
            break
        _leave(walk.game, board, player, here, here, walk.game.layout[boards[parent, DEPTH], 1])
        board = parent


@compiled
def _walk(walk: Any, player: Any, decay: Any, what: Any, first: Any, last: Any, best: Any) -> None:
    """Walk down the root's board, down and up all boards of groups, and up the root's board; or a part of this."""
    boards, groups, room = walk.game.boards, walk.game.groups, walk.room
    count = np.uint64(len(groups)) - ONE
    if what in (ITERATE, DESCEND):
        room.tally[:] = 0.0
        _down(walk, ZERO, player, decay, room.room, room.top, count)
    if what in (ITERATE, WORK):
        for group in range(first, last):
            for board in range(groups[group], groups[group + ONE]):
                before = room.top if boards[board, DEPTH] == ONE else room.room
                _down(walk, board, player, decay, before, room.room, group)
                _up_from(walk, board, player, group, best)
    if what in (ITERATE, ASCEND):
        _add_groups(walk, player)
        _up(walk, ZERO, player, room.top, best)


@compiled
def _add_groups(walk: Any, player: Any) -> None:
    """Sum the results of groups in order, regardless of the threads that walked them."""
    game, room = walk.game, walk.room
    count, shape, wide = np.uint64(len(game.groups)) - ONE, game.boards[0, SHAPE], game.boards[0, WIDE + player]
    values = game.layout[0, 1]
    for each in range(count):
        for row in range(room.tally.shape[1]):  # a sum of whole rows would take seconds to compile
            room.tally[count, row] += room.tally[each, row]
        for place in range(game.shapes[shape, SIZE]):
            if game.nodes[game.shapes[shape, NODES] + place, KIND] == EXIT:
                for h in range(place * wide, place * wide + wide):
                    room.top[values + h] += room.found[each, h]


@compiled
def _root_value(game: Any, player: Any, top: Any) -> Any:
    """Return a player's payoff after a walk."""
    value, at = 0.0, game.layout[0, 1]
    for h in range(game.boards[0, WIDE + player]):
        value += np.float64(game.weights[player, h]) * np.float64(top[at + h])
    return value


@compiled
def _call(calls: Any, call: Any, excess: Any, now: Any, decay: Any) -> None:
    """Update the multiplier of a call by the row's excess over its limit; without a call nothing is paid."""
    if calls[call, STAKE] <= 0.0:
        return
    share = calls[call, PRICE] / calls[call, STAKE]
    for column, gained in ((PASSED, -share * excess), (CALLED, (1.0 - share) * excess)):
        regret = calls[call, column]
        calls[call, column] = max(regret * (now.positive if regret > 0.0 else now.negative) + gained, now.floor)
    wanted = max(calls[call, CALLED], 0.0)
    total = max(calls[call, PASSED], 0.0) + wanted
    if total > 0.0:
        calls[call, PRICE] = calls[call, STAKE] * wanted / total
    calls[call, PRICES] = calls[call, PRICES] * decay + calls[call, PRICE]
    calls[call, COUNTED] = calls[call, COUNTED] * decay + 1.0


@compiled
def _charge(terms: Any, player: Any, calls: Any) -> None:
    """Set a player's payments to its tilt minus the costs of its rows at their multipliers."""
    payments, tilts = terms.payments[player], terms.tilts[player]
    for again in range(TWO):
        for row in range(len(terms.owners)):
            if terms.owners[row] == player:
                for entry in range(terms.starts[row], terms.starts[row + 1]):
                    place = terms.places[entry]
                    if again == ZERO:
                        payments[place] = tilts[place] if len(tilts) > 0 else 0.0
                    else:
                        payments[place] -= calls[row, PRICE] * terms.coefficients[entry]


@compiled
def _begin_terms(walk: Any) -> None:
    """Set payments and leaf factors from the initial multipliers."""
    terms, calls = walk.terms, walk.state.calls
    for player in range(TWO):
        _charge(terms, player, calls)
        if terms.floor[0] == np.float64(player):
            terms.scales[player] = calls[len(terms.owners), PRICE]


@compiled
def _settle(walk: Any, player: Any, decay: Any) -> None:
    """Update the multipliers of the other player's rows, and of the floor, after a player's update."""
    game, terms, room, calls = walk.game, walk.terms, walk.room, walk.state.calls
    other, found = ONE - player, room.tally[len(game.groups) - 1]
    for row in range(len(terms.owners)):
        if terms.owners[row] == other:
            _call(calls, np.uint64(row), found[row] - terms.limits[row], room.now, decay)
    _charge(terms, other, calls)
    if terms.floor[0] == np.float64(other):
        call = np.uint64(len(terms.owners))
        _call(calls, call, terms.floor[1] + _root_value(game, player, room.top), room.now, decay)
        terms.scales[other] = calls[call, PRICE]


def run_public(walk: Any, what: Any, player: Any, first: Any, last: Any, iterations: Any, begun: Any) -> None:
    """Do ``iterations`` updates after ``begun``, or the part ``what`` of one update for groups ``first`` to ``last``.

    The state records the time itself, because Ctrl-C takes effect when this function returns, before its caller could
    record anything. Players take turns. The averages consist of the plans to which the other player responds: player
    0's from the second on, player 1's from the first.
    """
    if walk.terms is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
        if what in (ITERATE, DESCEND):
            _begin_terms(walk)
    for done in range(begun, begun + iterations):
        discount(walk.rule, done, walk.room.now)
        for turn in range(TWO):
            actor = turn if what == ITERATE else np.uint64(player)
            decay = averaging_decay(walk.rule, done, np.float64(done) + np.float64(actor))
            _walk(walk, actor, decay, what, np.uint64(first), np.uint64(last), False)
            if walk.terms is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                if what in (ITERATE, ASCEND):
                    _settle(walk, actor, decay)
            if what != ITERATE:
                break
        if what == ITERATE:
            walk.state.clock[0] = done + 1


def evaluate_public(walk: Any, what: Any, player: Any, first: Any, last: Any, best: Any) -> Any:
    """Return a player's payoff if both play the averages, or that of its best response; or do a part of this work."""
    own = np.uint64(player)
    _walk(walk, own, 0.0, what, np.uint64(first), np.uint64(last), best)
    return _root_value(walk.game, own, walk.room.top)


run_public = compiled(run_public, cache=True)
evaluate_public = compiled(evaluate_public, cache=True)
