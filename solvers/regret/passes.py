"""The passes over polytopes and payoffs that make up the compiled loop.

They compute gradients of the payoffs, update regrets bottom-up by the local regret minimiser at each infoset, average
plans and form the next ones top-down, and compute best responses.
"""

from typing import Any

import numpy as np

from ..compilation import compiled, inlined
from .local_rule import accumulated, in_registers, predicted
from .registers import add_at, any_nonzero, at_least, gather, larger, load, spread, store, where_positive, width

ZERO, ONE, TWO, THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
FOLD = 64  # iterations whose plans are summed in single precision


@compiled
def add_runs(runs: Any, share: Any, source: Any, scale: Any, target: Any) -> None:
    """Add ``scale`` times the product of a share's matrix and a vector."""
    scales = spread(source.dtype.type(scale))
    columns, starts, cells, patterns = runs.columns, runs.starts, runs.cells, runs.patterns
    for c in range(np.uint64(runs.ranges[share]), np.uint64(runs.ranges[share + ONE])):
        amounts = load(source, np.uint64(columns[c])) * scales
        # Regret matching plays most sequences of a large game with probability exactly zero: skip those.
        if any_nonzero(amounts):
            for k in range(np.uint64(starts[c]), np.uint64(starts[c + ONE]), TWO):
                row, place = np.uint64(cells[k]), np.uint64(cells[k + ONE])
                store(target, row, load(target, row) + load(patterns, place) * amounts)


@compiled
def add_tiles(tiles: Any, share: Any, source: Any, scale: Any, target: Any) -> None:
    """Like :func:`add_runs`, for tiles."""
    scales, lanes = spread(source.dtype.type(scale)), width(source)
    columns, starts, cells, patterns = tiles.columns, tiles.starts, tiles.cells, tiles.patterns
    for c in range(np.uint64(tiles.ranges[share]), np.uint64(tiles.ranges[share + ONE])):
        column = np.uint64(columns[c])
        if any_nonzero(load(source, column)):
            for k in range(np.uint64(starts[c]), np.uint64(starts[c + ONE]), TWO):
                row, place = np.uint64(cells[k]), np.uint64(cells[k + ONE])
                total = load(target, row)
                for lane in range(lanes):
                    amounts = spread(source[column + lane]) * scales
                    total = total + load(patterns, place + lane * lanes) * amounts
                store(target, row, total)


@compiled
def add_cells(cells: Any, share: Any, source: Any, scale: Any, target: Any) -> None:
    """Like :func:`add_runs`, for single cells."""
    real = source.dtype.type
    columns, starts, rows, values = cells.columns, cells.starts, cells.rows, cells.values
    for c in range(np.uint64(cells.ranges[share]), np.uint64(cells.ranges[share + ONE])):
        amount = source[columns[c]] * real(scale)
        if amount != real(0.0):
            for k in range(np.uint64(starts[c]), np.uint64(starts[c + ONE])):
                target[rows[k]] += amount * values[k]


@compiled
def add_factored(factored: Any, player: Any, plan: Any, scale: Any, gradient: Any, factors: Any) -> None:
    """Like :func:`add_gradient`, for the factored part of the payoff."""
    if factored is not None:
        for k in range(np.uint64(len(factors))):
            factors[k] = factors.dtype.type(0.0)
        add_runs(factored.holding, player, plan, scale, factors)
        count = np.uint64(len(factored.chained))
        if player == ZERO:
            for k in range(ONE, count):
                if factored.chained[k]:
                    factors[k] += factors[k - ONE]
        else:
            for i in range(ONE, count):
                if factored.chained[count - i]:
                    factors[count - i - ONE] += factors[count - i]
        add_runs(factored.paying, player, factors, 1.0, gradient)


@compiled
def _add_blocks(payoffs: Any, share: Any, plan: Any, scale: Any, gradient: Any) -> None:
    """Like :func:`add_runs`, for blocks of two actions of an opponent's infoset against two own actions."""
    nothing = plan.dtype.type(0.0)
    blocks, patterns, columns, starts = payoffs.blocks, payoffs.patterns, payoffs.block_columns, payoffs.block_starts
    for c in range(np.uint64(payoffs.block_ranges[share]), np.uint64(payoffs.block_ranges[share + ONE])):
        column, other_column = np.uint64(columns[c, 0]), np.uint64(columns[c, 1])
        reach, other_reach = plan[column] * scale, plan[other_column] * scale
        if reach + other_reach != nothing:
            stride = np.uint64(columns[c, 2])
            for k in range(np.uint64(starts[c]), np.uint64(starts[c + ONE]), TWO):
                row, place = np.uint64(blocks[k]), np.uint64(blocks[k + ONE])
                gradient[row] += reach * patterns[place] + other_reach * patterns[place + ONE]
                gradient[row + stride] += reach * patterns[place + TWO] + other_reach * patterns[place + THREE]


@compiled
def add_gradient(game: Any, player: Any, share: Any, plan: Any, scale: Any, gradient: Any) -> None:
    """Add ``scale`` times a player's payoff per sequence of a share, against the others' part of ``plan``."""
    leaves = game.leaves
    scale = plan.dtype.type(scale)
    if leaves is None:
        add_runs(game.runs, share, plan, scale, gradient)
        _add_blocks(game.payoffs, share, plan, scale, gradient)
        add_tiles(game.tiles, share, plan, scale, gradient)
        add_cells(game.cells, share, plan, scale, gradient)
    else:
        positions, payoffs = leaves.positions, leaves.payoffs
        num_players = np.uint64(payoffs.shape[1])
        for leaf in range(np.uint64(len(payoffs))):
            reach = scale
            for other in range(num_players):
                if other != player:
                    reach *= plan[positions[leaf, other]]
            gradient[positions[leaf, player]] += reach * payoffs[leaf, player]


@compiled
def clearly(plan: Any) -> Any:
    """Return the threshold factor by which a sum of plans must exceed an earlier sum to be more than round-off."""
    real = plan.dtype.type
    return real(1.0) + real(FOLD) * np.finfo(plan.dtype).eps


@compiled
def price_infosets(preferences: Any, bases: Any, player: Any, state: Any) -> None:
    """Write the costs of a player's infosets, from the others' recent plans.

    With two players, the recent plan is the mean over the iterations since the last update of costs, from sums of
    plans.
    """
    pricing, costs, num_players = preferences.pricing, preferences.local.costs, np.uint64(len(bases)) - ONE
    seen, recent, plan, plan_sums = pricing.seen, pricing.recent, state.plan, state.plan_sums
    real = costs.dtype.type
    for s in range(np.uint64(bases[player]), np.uint64(bases[player + ONE])):
        costs[s] = real(0.0)
    if num_players == TWO:
        other = ONE - player
        base, end, kept = np.uint64(bases[other]), np.uint64(bases[other + ONE]), real(pricing.kept[other])
        share = plan_sums[base] - kept * seen[base]  # the weights since the last update
        if share > real(0.0):
            # Sequences that were not played count as zero in spite of round-off, so that most columns are skipped.
            least = spread(clearly(plan))
            shares, decays, zeros = spread(real(1.0) / share), spread(kept), spread(real(0.0))
            for s in range(base, end, width(plan)):
                summed, before = load(plan_sums, s), load(seen, s) * decays
                played = where_positive(summed - before * least, (summed - before) * shares, zeros)
                store(recent, s, played)
                store(seen, s, summed)
            pricing.kept[other] = 1.0
        else:
            for s in range(base, end):
                recent[s] = plan[s]
        add_runs(pricing.runs, player, recent, 1.0, costs)
        add_cells(pricing.cells, player, recent, 1.0, costs)
        return
    infosets, histories, ranges, weights = (
        pricing.infosets, pricing.histories, pricing.ranges, pricing.weights
    )  # fmt: skip
    for k in range(np.uint64(ranges[player]), np.uint64(ranges[player + ONE])):
        reach = weights[k]
        for other in range(num_players):
            reach *= plan[histories[k, other]]
        costs[infosets[k]] += reach


@inlined
def _choose_of_two(
    polytopes: Any, b: Any, regrets: Any, behaviour: Any, gradient: Any, discounts: Any, above: Any, offset: Any
) -> None:
    """Like :func:`_choose`, for infosets with two actions and no other data, which all stay in registers."""
    real = regrets.dtype.type
    start, size = np.uint64(polytopes.buckets[b, 0]), np.uint64(polytopes.buckets[b, 1])
    parents, first = polytopes.parents, np.uint64(polytopes.buckets[b, 3])
    zeros, ones, halves = spread(real(0.0)), spread(real(1.0)), spread(real(0.5))
    for i in range(ZERO, size, width(gradient)):
        here, there = start + i, start + size + i
        gain, other_gain = load(gradient, here), load(gradient, there)
        values = load(behaviour, here) * gain + load(behaviour, there) * other_gain
        gain, other_gain = gain - values, other_gain - values
        regret = accumulated(load(regrets, here), gain, discounts)
        other = accumulated(load(regrets, there), other_gain, discounts)
        chosen = larger(predicted(regret, gain, discounts), zeros)
        totals = chosen + larger(predicted(other, other_gain, discounts), zeros)
        probability = chosen / where_positive(totals, totals, ones) + where_positive(totals, zeros, halves)
        store(gradient, here, zeros)
        store(gradient, there, zeros)
        store(regrets, here, regret)
        store(regrets, there, other)
        store(behaviour, here, probability)
        store(behaviour, there, ones - probability)
        add_at(above, offset, parents, first + i, values)


@inlined
def _choose(
    polytopes: Any, b: Any, regrets: Any, behaviour: Any, gradient: Any, discounts: Any, above: Any, offset: Any,
    bias: Any, on_one: Any, part: Any,
) -> None:  # fmt: skip
    """Update regrets and behaviour at the infosets of a bucket, and pass their values up."""
    real = regrets.dtype.type
    zeros, ones = spread(real(0.0)), spread(real(1.0))
    start, size = np.uint64(polytopes.buckets[b, 0]), np.uint64(polytopes.buckets[b, 1])
    arity, first = np.uint64(polytopes.buckets[b, 2]), np.uint64(polytopes.buckets[b, 3])
    parents, lanes = polytopes.parents, width(gradient)
    uniform = spread(real(1.0) / real(arity))
    # Branches for values that are None, here and below, are not compiled.
    if bias is not None:
        bias_places, bias_patterns, vulnerability = bias.places, bias.patterns, bias.costs
    if part is not None:
        settled_at, kept = part.settled, part.kept
    for i in range(ZERO, size, lanes):
        here = start + i
        values = load(behaviour, here) * load(gradient, here)
        for action in range(ONE, arity):
            there = here + action * size
            values = values + load(behaviour, there) * load(gradient, there)
        totals = zeros
        if bias is not None:
            costs = load(vulnerability, here)
            pattern = np.uint64(bias_places[(first + i) // lanes])
        for action in range(arity):
            there = here + action * size
            gained = load(gradient, there)
            if bias is not None:
                gained = gained - costs  # before the results that take longer
            gained = gained - values
            store(gradient, there, zeros)
            regret = accumulated(load(regrets, there), gained, discounts)
            store(regrets, there, regret)
            chosen = larger(predicted(regret, gained, discounts), zeros)
            if bias is not None:
                chosen = chosen * load(bias_patterns, pattern + action * lanes)
            store(behaviour, there, chosen)
            totals = totals + chosen
        if bias is not None:
            pattern += arity * lanes
            uniform = load(bias_patterns, pattern)
        divisors = where_positive(totals, totals, ones)
        shares = where_positive(totals, zeros, uniform)
        if on_one is not None:
            # Only the first of the best actions is played.
            best, left = zeros, ones
            for action in range(arity):
                best = larger(best, load(behaviour, here + action * size))
            for action in range(arity):
                there = here + action * size
                taken = at_least(load(behaviour, there), best, left, zeros)
                left = left - taken
                fallback = load(bias_patterns, pattern + action * lanes)
                store(behaviour, there, where_positive(best, taken, fallback))
        elif arity == TWO:
            probability = load(behaviour, here) / divisors + shares
            store(behaviour, here, probability)
            store(behaviour, here + size, ones - probability)
        else:
            for action in range(arity):
                there = here + action * size
                if bias is not None:
                    fallback = load(bias_patterns, pattern + action * lanes)
                    shares = where_positive(totals, zeros, fallback)
                store(behaviour, there, load(behaviour, there) / divisors + shares)
        if part is not None:
            settled = load(settled_at, here)
            for action in range(arity):
                there = here + action * size
                store(behaviour, there, where_positive(settled, load(kept, there), load(behaviour, there)))
        if polytopes.inflow is not None:
            _pay_inflow(polytopes.inflow, b, i, here + arity * size, values, gradient)
        else:
            add_at(above, offset, parents, first + i, values)


@compiled
def _pay_inflow(inflow: Any, b: Any, i: Any, reaches: Any, values: Any, gradient: Any) -> None:
    """Pass the values of a flow's infosets, and the payoffs of their reaches, up to all sequences that lead there."""
    values = values + load(gradient, reaches)
    store(gradient, reaches, spread(gradient.dtype.type(0.0)))
    group = np.uint64(inflow.groups[b]) + i // width(gradient)
    for k in range(np.uint64(inflow.ranges[group]), np.uint64(inflow.ranges[group + ONE])):
        source, pattern = np.uint64(inflow.runs[k, 0]), np.uint64(inflow.runs[k, 1])
        store(gradient, source, load(gradient, source) + load(inflow.patterns, pattern) * values)


@compiled
def bottom_up(
    polytopes: Any, share: Any, state: Any, now: Any, branches: Any, shift: Any, bias: Any, on_one: Any, part: Any
) -> None:
    """Update regrets and behaviour of a share bottom-up from the gradient, and reset the gradient to zero.

    Values that a branch passes up to the trunk are added to its arrivals, at the trunk's positions plus a shift.
    """
    regrets, behaviour, gradient = state.regrets, state.behaviour, state.gradient
    discounts = in_registers(now, regrets)
    first_bucket, b = np.uint64(polytopes.bucket_ranges[share]), np.uint64(polytopes.bucket_ranges[share + ONE])
    while b > first_bucket:
        b -= ONE
        above, offset = gradient, ZERO
        if branches is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
            if b < np.uint64(polytopes.roots[share]):
                above, offset = branches.arrivals, shift
        if bias is None and part is None and polytopes.inflow is None:  # noqa: SIM102
            if polytopes.buckets[b, 2] == 2:
                _choose_of_two(polytopes, b, regrets, behaviour, gradient, discounts, above, offset)
                continue
        _choose(polytopes, b, regrets, behaviour, gradient, discounts, above, offset, bias, on_one, part)


@compiled
def collect(polytopes: Any, share: Any, branches: Any, gradient: Any) -> None:
    """Add the values from the branches to the gradient of the trunk, branch after branch."""
    zeros, lanes, arrivals = spread(gradient.dtype.type(0.0)), width(gradient), branches.arrivals
    base, size = np.uint64(polytopes.shares[share]), np.uint64(polytopes.shares[share + ONE] - polytopes.shares[share])
    for start in range(ZERO, np.uint64(len(arrivals)), branches.stride):
        for i in range(ZERO, size, lanes):
            arrived = load(arrivals, start + i)
            store(arrivals, start + i, zeros)
            store(gradient, base + i, load(gradient, base + i) + arrived)


@compiled
def top_down(polytopes: Any, share: Any, state: Any, decay: Any, part: Any) -> None:
    """Add a share's plan to ``decay`` times the sums, then replace it by the plan of the behaviour."""
    behaviour, plan, plan_sums = state.behaviour, state.plan, state.plan_sums
    inflow = polytopes.inflow
    real = plan.dtype.type
    decays = spread(real(decay))
    parents, lanes = polytopes.parents, width(plan)
    if part is not None:
        entering = part.inflow
    more = ZERO
    if inflow is not None:
        more = ONE  # reaches are like an additional action that is always taken
    for b in range(np.uint64(polytopes.bucket_ranges[share]), np.uint64(polytopes.bucket_ranges[share + ONE])):
        start, size = np.uint64(polytopes.buckets[b, 0]), np.uint64(polytopes.buckets[b, 1])
        arity, first = np.uint64(polytopes.buckets[b, 2]), np.uint64(polytopes.buckets[b, 3])
        for i in range(ZERO, size, lanes):
            reach = spread(real(0.0))
            if inflow is not None:
                group = np.uint64(inflow.groups[b]) + i // lanes
                for k in range(np.uint64(inflow.ranges[group]), np.uint64(inflow.ranges[group + ONE])):
                    source, pattern = np.uint64(inflow.runs[k, 0]), np.uint64(inflow.runs[k, 1])
                    reach = reach + load(inflow.patterns, pattern) * load(plan, source)
            else:
                reach = gather(plan, parents, first + i)
                if part is not None:
                    reach = reach + load(entering, start + i)
            for action in range(arity + more):
                there = start + action * size + i
                store(plan_sums, there, load(plan_sums, there) * decays + load(plan, there))
                store(plan, there, reach * load(behaviour, there))


@compiled
def fold(bases: Any, state: Any, preferences: Any) -> None:
    """Add the sums of the latest iterates to the older sums, and reset the former.

    In single precision, adding a new plan to a long sum has a relative error of a thousandth or more, always in one
    direction.
    """
    older, plan_sums, lag = state.older, state.plan_sums, state.lag[0]
    real = plan_sums.dtype.type
    if preferences is not None:
        # The plans since the last update of costs still count for the next one.
        seen, least = preferences.pricing.seen, clearly(plan_sums)
        for player in range(np.uint64(len(bases)) - ONE):
            kept = real(preferences.pricing.kept[player])
            for s in range(np.uint64(bases[player]), np.uint64(bases[player + ONE])):
                summed, before = plan_sums[s], kept * seen[s]
                seen[s] = before - summed if summed > before * least else real(0.0)
            preferences.pricing.kept[player] = 1.0
    for s in range(np.uint64(len(older))):
        older[s] = older[s] * lag + plan_sums[s]
        plan_sums[s] = real(0.0)
    state.lag[0] = 1.0


@compiled
def best_response(polytopes: Any, share: Any, gradient: Any, branches: Any, shift: Any) -> None:
    """Pass up the values of a best response to a gradient, as in :func:`bottom_up`."""
    zeros = spread(gradient.dtype.type(0.0))
    parents, lanes = polytopes.parents, width(gradient)
    first_bucket, b = np.uint64(polytopes.bucket_ranges[share]), np.uint64(polytopes.bucket_ranges[share + ONE])
    while b > first_bucket:
        b -= ONE
        start, size = np.uint64(polytopes.buckets[b, 0]), np.uint64(polytopes.buckets[b, 1])
        arity, first = np.uint64(polytopes.buckets[b, 2]), np.uint64(polytopes.buckets[b, 3])
        above, offset = gradient, ZERO
        if branches is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
            if b < np.uint64(polytopes.roots[share]):
                above, offset = branches.arrivals, shift
        for i in range(ZERO, size, lanes):
            here = start + i
            values = load(gradient, here)
            store(gradient, here, zeros)
            for action in range(ONE, arity):
                there = here + action * size
                values = larger(values, load(gradient, there))
                store(gradient, there, zeros)
            if polytopes.inflow is not None:
                _pay_inflow(polytopes.inflow, b, i, here + arity * size, values, gradient)
            else:
                add_at(above, offset, parents, first + i, values)


@compiled
def arrived(base: Any, gradient: Any) -> Any:
    """Return the value at a player's empty sequence, and reset it to zero."""
    # In flows several positions represent it; in trees the numbers after it are zero.
    value = 0.0
    for lane in range(width(gradient)):
        value += gradient[base + lane]
    store(gradient, base, spread(gradient.dtype.type(0.0)))
    return value


@compiled
def keep_root(base: Any, state: Any, decay: Any) -> None:
    """Add the plan at a player's empty sequence, which stays 1, to ``decay`` times its sums."""
    plan, plan_sums = state.plan, state.plan_sums
    decays = spread(plan.dtype.type(decay))
    store(plan_sums, base, load(plan_sums, base) * decays + load(plan, base))
