"""The compiled loop of the counterfactual-regret family.

One iteration, for each player: gradient of the payoff at the opponents' plans; bottom-up pass with the local regret
minimiser at each infoset; top-down pass that adds the plan from before the update to the average and forms the new
one. Which algorithm it is, is a matter of numbers. The functions take arrays, change them in place and check nothing;
:class:`~treeplex.solvers.regret.kernel.Kernel` is what the library calls. All functions that call each other are in
this file, because numba's cache does not see changes in another one.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic

from ...models.convex import MAXIMUM, NORM_1, NORM_2, NORM_INFINITY, OPAQUE, SQUARES
from ..compilation import compiled
from .pieces import Cells, Runs
from .registers import add_at, any_nonzero, at_least, gather, larger, load, spread, store, where_positive, width

CONSTANT, POWER = 0, 1  # schedules of the discounts
UNMOVED, IN_PROPORTION, ON_ONE = 0, 1, 2  # what preferences make of δ (R − β)⁺: shares, or all on the largest
# Reaches that vulnerabilities count by are averaged over so many iterations, from iteration EARLY on over more of them.
BLOCK, LATE_BLOCK, EARLY = 16, 64, 128
FOLD = 64  # iterations whose plans are summed in single precision
INWARDS = 1e-9  # how far arguments of logarithms are moved to those of an interior plan

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)


# The arrays of a KernelLayout that the compiled functions read, in the parts that each of them needs: a call copies the
# descriptions of all arrays that it is given.


class InflowArrays(NamedTuple):
    """What leads to the infosets of flows.

    Attributes
    ----------
    groups, ranges : ndarray of uint32
        Bucket ``b`` has its infosets in groups of ``width``, of which ``groups[b]`` is the first; group ``k`` has the
        runs ``ranges[k]:ranges[k + 1]``.
    runs : ndarray of uint32, shape (num_runs, 2)
        Position ``s`` and place ``p``: of the plan at ``s + j``, ``patterns[p + j]`` leads to the group's infoset ``j``
        (0 ≤ j < width).
    patterns : ndarray of float
        The distinct weights.
    """

    groups: Any
    ranges: Any
    runs: Any
    patterns: Any


class PolytopeArrays(NamedTuple):
    """The players' polytopes.

    Attributes
    ----------
    bases : ndarray of uint32, shape (num_players + 1,)
        The position of each player's empty sequence; at the end the total length. In flows the ``width`` positions from
        there on stand for it.
    buckets : ndarray of uint32, shape (num_buckets, 4)
        First position, number of infosets, number of actions, first infoset. Top-down for each player.
    bucket_ranges : ndarray of uint32, shape (num_players + 1,)
        Player ``i`` owns the buckets ``bucket_ranges[i]:bucket_ranges[i + 1]``.
    parents : ndarray of uint32, shape (num_infosets of all players,)
        The position of each infoset's parent sequence, bucket after bucket. Empty where a player's polytope is a flow.
    inflow : InflowArrays or None
        Of flows; ``None`` in trees.
    """

    bases: Any
    buckets: Any
    bucket_ranges: Any
    parents: Any
    inflow: Any


class PayoffArrays(NamedTuple):
    """The payoffs of two actions against two.

    Attributes
    ----------
    patterns : ndarray of float
        The distinct payoffs of blocks.
    block_columns : ndarray of uint32, shape (num_block_columns, 3)
        Two players: two actions of an opponent's infoset against two of one's own. The positions of the opponent's two
        actions, and how far one's own second action stands from the first.
    block_ranges, block_starts, blocks : ndarray of uint32
        As for :class:`Runs`: row ``r`` of one's own first action, and place ``p`` of the four payoffs in ``patterns``,
        row by row.
    """

    patterns: Any
    block_columns: Any
    block_ranges: Any
    block_starts: Any
    blocks: Any


class LeafArrays(NamedTuple):
    """The payoffs of any number of players but two.

    Attributes
    ----------
    positions : ndarray of uint32, shape (num_leaves, num_players)
        The leaves' sequences.
    payoffs : ndarray of float, shape (num_leaves, num_players)
        Chance multiplied in.
    """

    positions: Any
    payoffs: Any


class FactorArrays(NamedTuple):
    """The payoffs of two players in factors.

    Attributes
    ----------
    holding, paying : Runs
        For player ``i``'s gradient, how much the opponent's positions (columns) hold of each factor (rows); and what a
        unit of each factor (columns) pays at player ``i``'s positions (rows).
    chained : ndarray of bool
        Whether each factor is added to the sum of those before it, for player 0's gradient; of those behind it, for
        player 1's. Empty where none is.
    """

    holding: Runs
    paying: Runs
    chained: Any


class GameArrays(NamedTuple):
    """A game. What is ``None`` is not compiled.

    Attributes
    ----------
    polytopes : PolytopeArrays
    payoffs : PayoffArrays
    runs, cells : Runs, Cells
        Two players: diagonal runs of the payoff, and its other cells. Rows are one's own positions, columns the
        opponent's.
    factored : FactorArrays or None
        Two players: what of the payoff is in factors.
    leaves : LeafArrays or None
        Any other number of players.
    """

    polytopes: PolytopeArrays
    payoffs: PayoffArrays
    runs: Runs
    cells: Cells
    factored: Any
    leaves: Any


class ConstraintArrays(NamedTuple):
    """Constraints on the players' plans, row by row, those of a player together; of curved ones, tangents."""

    ranges: Any  # each player's rows
    starts: Any  # each row's entries
    positions: Any
    coefficients: Any
    limits: Any
    units: Any  # what a violation of the row counts, in the unit of payoffs
    caps: Any  # the most that the row's multiplier may be


class MultiplierArrays(NamedTuple):
    """The multipliers of constraints, what they are averaged from, and the rows' last violations."""

    values: Any
    sums: Any
    average: Any
    violations: Any
    tallies: Any  # since averaging began: sums of violations, sums of violations times multipliers, largest multipliers
    slopes: Any  # of curved rows: sums of multipliers times slopes, or times arguments where Python knows these alone
    offsets: Any
    choices: Any  # slopes of norms and maxima with kinks, which learn as multipliers do
    arguments: Any  # what these answered last


class CurveArrays(NamedTuple):
    """Rows that are tangents of convex functions Σ φ(B x − c) + a · x − b, and where these were last looked at."""

    ranges: Any  # each player's, among the rows that are curved
    rows: Any  # which of all rows these are
    curved: Any  # of all rows, whether they are
    starts: Any  # each one's terms φ
    kinds: Any
    rates: Any  # how far the slopes of each norm or maximum move along its arguments
    places: Any  # each term's arguments z = B x − c
    entry_starts: Any  # each argument's entries of B
    entries: Any  # their columns, as places among the coefficients of all rows
    weights: Any  # their values
    shifts: Any  # c
    anchors: Any  # z at an interior plan
    linear: Any  # a, among the coefficients of all rows
    limits: Any  # b, of all rows
    arguments: Any
    slopes: Any  # of φ at these
    offsets: Any  # φ(z) − slopes · z, by term
    proven_coefficients: Any  # what the multipliers prove on average, in the form of the rows
    proven_limits: Any
    values: Any  # of all rows that are curved, at the average plan
    calls: Any  # where Python is called, and whether it wants the loop to stop


class BiasArrays(NamedTuple):
    """What the local rule is biased to."""

    places: Any  # of each register of infosets, where among the patterns its own begins
    patterns: Any  # the distinct ones: action after action δ, then what is played where no regret is above the cost
    costs: Any  # over positions, at the first action of each infoset, what is taken from its instantaneous regrets


class PricingArrays(NamedTuple):
    """How the costs follow from plans, where they do."""

    runs: Runs  # two players: the costs (rows, at first actions) of the opponent's plan (columns)
    cells: Cells  # of these, what stands alone
    seen: Any  # the sums of plans when they were last looked at, over positions
    kept: Any  # by player, how much of their weight these have now
    recent: Any  # the mean plans since then
    infosets: Any  # any other number of players: the position of the first action of each history's infoset
    histories: Any  # the others' positions there, and the empty sequence of the infoset's own player
    ranges: Any  # each player's histories
    weights: Any  # vulnerability, chance multiplied in


class PreferenceArrays(NamedTuple):
    """Preferences for actions."""

    bias: Any  # of each player, whether it has any and what it then plays: IN_PROPORTION or ON_ONE
    depending: Any  # of each player, whether costs depend on the others' plans
    local: BiasArrays
    pricing: PricingArrays


class PartArrays(NamedTuple):
    """A part of the game: what is settled, and what comes in from elsewhere; vectors over positions."""

    settled: Any  # at the first action of each infoset, above zero where behaviour stays as it is
    kept: Any  # that behaviour
    inflow: Any  # at the first action of each infoset, what comes there beside the parent sequence


class StateArrays(NamedTuple):
    """The vectors over positions that an iteration changes."""

    regrets: Any
    behaviour: Any
    plan: Any
    plan_sums: Any
    gradient: Any
    average: Any
    factors: Any
    older: Any  # in single precision: sums of plans up to some iteration, in double
    lag: Any  # what these count now beside plan_sums
    clock: Any  # updates done, and the number of updates at which the certificate is computed next


@compiled
def _add_runs(runs: Any, player: Any, source: Any, scale: Any, target: Any) -> None:
    """Add ``scale`` times the product of a player's matrix and a vector."""
    scales = spread(source.dtype.type(scale))
    columns, starts, cells, patterns = runs.columns, runs.starts, runs.cells, runs.patterns
    for c in range(np.uint64(runs.ranges[player]), np.uint64(runs.ranges[player + ONE])):
        amounts = load(source, np.uint64(columns[c])) * scales
        # Regret matching plays most sequences of a large game with probability exactly zero: skip those.
        if any_nonzero(amounts):
            for k in range(np.uint64(starts[c]), np.uint64(starts[c + ONE]), TWO):
                row, place = np.uint64(cells[k]), np.uint64(cells[k + ONE])
                store(target, row, load(target, row) + load(patterns, place) * amounts)


@compiled
def _add_cells(cells: Any, player: Any, source: Any, scale: Any, target: Any) -> None:
    """Do what :func:`_add_runs` does, cell by cell."""
    real = source.dtype.type
    columns, starts, rows, values = cells.columns, cells.starts, cells.rows, cells.values
    for c in range(np.uint64(cells.ranges[player]), np.uint64(cells.ranges[player + ONE])):
        amount = source[columns[c]] * real(scale)
        if amount != real(0.0):
            for k in range(np.uint64(starts[c]), np.uint64(starts[c + ONE])):
                target[rows[k]] += amount * values[k]


@compiled
def _add_factored(factored: Any, player: Any, plan: Any, scale: Any, gradient: Any, factors: Any) -> None:
    """Do what :func:`_add_gradient` does for the part of the payoff that is kept in factors."""
    if factored is not None:
        for k in range(np.uint64(len(factors))):
            factors[k] = factors.dtype.type(0.0)
        _add_runs(factored.holding, player, plan, scale, factors)
        count = np.uint64(len(factored.chained))
        if player == ZERO:
            for k in range(ONE, count):
                if factored.chained[k]:
                    factors[k] += factors[k - ONE]
        else:
            for i in range(ONE, count):
                if factored.chained[count - i]:
                    factors[count - i - ONE] += factors[count - i]
        _add_runs(factored.paying, player, factors, 1.0, gradient)


@compiled
def _add_gradient(
    payoffs: Any, leaves: Any, runs: Any, cells: Any, num_players: Any, player: Any, plan: Any, scale: Any,
    gradient: Any,
) -> None:  # fmt: skip
    """Add ``scale`` times a player's payoff per own sequence, the others playing their part of ``plan``."""
    real = plan.dtype.type
    scale = real(scale)
    if leaves is None:
        _add_runs(runs, player, plan, scale, gradient)
        blocks, patterns, columns, starts = (
            payoffs.blocks, payoffs.patterns, payoffs.block_columns, payoffs.block_starts
        )  # fmt: skip
        for c in range(np.uint64(payoffs.block_ranges[player]), np.uint64(payoffs.block_ranges[player + ONE])):
            column, other_column = np.uint64(columns[c, 0]), np.uint64(columns[c, 1])
            reach, other_reach = plan[column] * scale, plan[other_column] * scale
            if reach + other_reach != real(0.0):
                stride = np.uint64(columns[c, 2])
                for k in range(np.uint64(starts[c]), np.uint64(starts[c + ONE]), TWO):
                    row, place = np.uint64(blocks[k]), np.uint64(blocks[k + ONE])
                    gradient[row] += reach * patterns[place] + other_reach * patterns[place + ONE]
                    gradient[row + stride] += reach * patterns[place + TWO] + other_reach * patterns[place + THREE]
        _add_cells(cells, player, plan, scale, gradient)
    else:
        for leaf in range(np.uint64(len(leaves.payoffs))):
            reach = scale
            for other in range(num_players):
                if other != player:
                    reach *= plan[leaves.positions[leaf, other]]
            gradient[leaves.positions[leaf, player]] += reach * leaves.payoffs[leaf, player]


@compiled
def _clearly(plan: Any) -> Any:
    """Return by which factor a sum of plans exceeds an earlier one if that is more than round-off."""
    real = plan.dtype.type
    return real(1.0) + real(FOLD) * np.finfo(plan.dtype).eps


@compiled
def _price_infosets(pricing: Any, costs: Any, bases: Any, num_players: Any, player: Any, state: Any) -> None:
    """Write down what a player's infosets are to cost, by the others' plans of late.

    Of two players it is the mean over the iterations since they were last looked at, from the sums of plans.
    """
    seen, recent, plan, plan_sums = pricing.seen, pricing.recent, state.plan, state.plan_sums
    real = costs.dtype.type
    for s in range(np.uint64(bases[player]), np.uint64(bases[player + ONE])):
        costs[s] = real(0.0)
    if num_players == TWO:
        other = ONE - player
        base, end, kept = np.uint64(bases[other]), np.uint64(bases[other + ONE]), real(pricing.kept[other])
        share = plan_sums[base] - kept * seen[base]  # the weights since then
        if share > real(0.0):
            # What was not played is to count nothing, round-off or not: most columns are then left out.
            least = spread(_clearly(plan))
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
        _add_runs(pricing.runs, player, recent, 1.0, costs)
        _add_cells(pricing.cells, player, recent, 1.0, costs)
        return
    infosets, histories, ranges, weights = (
        pricing.infosets, pricing.histories, pricing.ranges, pricing.weights
    )  # fmt: skip
    for k in range(np.uint64(ranges[player]), np.uint64(ranges[player + ONE])):
        reach = weights[k]
        for other in range(num_players):
            reach *= plan[histories[k, other]]
        costs[infosets[k]] += reach


@compiled
def _bottom_up(
    polytopes: Any, inflow: Any, player: Any, state: Any, positive: Any, negative: Any, floor: Any, prediction: Any,
    preferences: Any, on_one: Any, part: Any,
) -> None:  # fmt: skip
    """Update regrets and behaviour from the gradient, which is left zero."""
    regrets, behaviour, gradient = state.regrets, state.behaviour, state.gradient
    real = regrets.dtype.type
    zeros, ones = spread(real(0.0)), spread(real(1.0))
    positives, negatives = spread(real(positive)), spread(real(negative))
    floors, predictions = spread(real(floor)), spread(real(prediction))
    parents, lanes = polytopes.parents, width(gradient)
    # What is None, here and below, is not compiled.
    if preferences is not None:
        bias_places, bias_patterns, vulnerability = preferences.places, preferences.patterns, preferences.costs
    if part is not None:
        settled_at, kept = part.settled, part.kept
    first_bucket, b = np.uint64(polytopes.bucket_ranges[player]), np.uint64(polytopes.bucket_ranges[player + ONE])
    while b > first_bucket:
        b -= ONE
        start, size = np.uint64(polytopes.buckets[b, 0]), np.uint64(polytopes.buckets[b, 1])
        arity, first = np.uint64(polytopes.buckets[b, 2]), np.uint64(polytopes.buckets[b, 3])
        uniform = spread(real(1.0) / real(arity))
        for i in range(ZERO, size, lanes):
            here = start + i
            values = load(behaviour, here) * load(gradient, here)
            for action in range(ONE, arity):
                there = here + action * size
                values = values + load(behaviour, there) * load(gradient, there)
            totals = zeros
            if preferences is not None:
                costs = load(vulnerability, here)
                bias = np.uint64(bias_places[(first + i) // lanes])
            for action in range(arity):
                there = here + action * size
                instantaneous = load(gradient, there)
                if preferences is not None:
                    instantaneous = instantaneous - costs  # before what has to be waited for
                instantaneous = instantaneous - values
                store(gradient, there, zeros)
                regret = load(regrets, there)
                regret = larger(regret * where_positive(regret, positives, negatives) + instantaneous, floors)
                store(regrets, there, regret)
                chosen = larger(regret + predictions * instantaneous, zeros)
                if preferences is not None:
                    chosen = chosen * load(bias_patterns, bias + action * lanes)
                store(behaviour, there, chosen)
                totals = totals + chosen
            if preferences is not None:
                bias += arity * lanes
                uniform = load(bias_patterns, bias)
            divisors = where_positive(totals, totals, ones)
            shares = where_positive(totals, zeros, uniform)
            if on_one is not None:
                # All is played on the first of the best actions.
                best, left = zeros, ones
                for action in range(arity):
                    best = larger(best, load(behaviour, here + action * size))
                for action in range(arity):
                    there = here + action * size
                    taken = at_least(load(behaviour, there), best, left, zeros)
                    left = left - taken
                    fallback = load(bias_patterns, bias + action * lanes)
                    store(behaviour, there, where_positive(best, taken, fallback))
            elif arity == TWO:
                probability = load(behaviour, here) / divisors + shares
                store(behaviour, here, probability)
                store(behaviour, here + size, ones - probability)
            else:
                for action in range(arity):
                    there = here + action * size
                    if preferences is not None:
                        fallback = load(bias_patterns, bias + action * lanes)
                        shares = where_positive(totals, zeros, fallback)
                    store(behaviour, there, load(behaviour, there) / divisors + shares)
            if part is not None:
                settled = load(settled_at, here)
                for action in range(arity):
                    there = here + action * size
                    store(behaviour, there, where_positive(settled, load(kept, there), load(behaviour, there)))
            if inflow is not None:
                there = here + arity * size  # what the reaches of infosets are paid
                values = values + load(gradient, there)
                store(gradient, there, zeros)
                group = np.uint64(inflow.groups[b]) + i // lanes
                for k in range(np.uint64(inflow.ranges[group]), np.uint64(inflow.ranges[group + ONE])):
                    source, pattern = np.uint64(inflow.runs[k, 0]), np.uint64(inflow.runs[k, 1])
                    store(gradient, source, load(gradient, source) + load(inflow.patterns, pattern) * values)
            else:
                add_at(gradient, parents, first + i, values)
    store(gradient, np.uint64(polytopes.bases[player]), zeros)


@compiled
def _add_multipliers(constraints: Any, player: Any, multipliers: Any, gradient: Any) -> Any:
    """Take what constraints cost from a player's gradient; return what the multipliers are worth at the limits."""
    worth = 0.0
    for i in range(np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])):
        multiplier = multipliers[i]
        if multiplier != 0.0:
            worth += multiplier * constraints.limits[i]
            for k in range(np.uint64(constraints.starts[i]), np.uint64(constraints.starts[i + ONE])):
                gradient[constraints.positions[k]] -= multiplier * constraints.coefficients[k]
    return worth


@compiled
def _row_value(constraints: Any, i: Any, plan: Any) -> Any:
    """Return by how much a plan violates a row; negative where there is room."""
    value = -constraints.limits[i]
    for k in range(np.uint64(constraints.starts[i]), np.uint64(constraints.starts[i + ONE])):
        value += constraints.coefficients[k] * plan[constraints.positions[k]]
    return value


@compiled
def _move_multipliers(
    constraints: Any, player: Any, plan: Any, multipliers: Any, decay: Any, step: Any, optimism: Any, total: Any
) -> None:
    """Add the multipliers to ``decay`` times their sums, then move them along the violations of a plan.

    With ``total`` finite they are projected so that they sum to that at most.
    """
    first, last = np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])
    values = multipliers.values
    whole = 0.0
    for i in range(first, last):
        multipliers.sums[i] = multipliers.sums[i] * decay + values[i]
        violation = _row_value(constraints, i, plan)
        multipliers.tallies[0, i] += violation
        multipliers.tallies[1, i] += violation * values[i]
        multipliers.tallies[2, i] = max(multipliers.tallies[2, i], values[i])
        moved = values[i] + step * (violation + optimism * (violation - multipliers.violations[i]))
        multipliers.violations[i] = violation
        values[i] = min(max(moved, 0.0), constraints.caps[i])
        whole += values[i]
    if whole > total:
        # Projection onto a simplex: all are lowered alike, down to zero at the least. Those that would fall below it
        # are left out of the count until none is (Michelot 1986, Journal of Optimization Theory and Applications 50).
        count = last - first
        lowered = (whole - total) / np.float64(count)
        while True:
            kept, whole = ZERO, 0.0
            for i in range(first, last):
                if values[i] > lowered:
                    kept += ONE
                    whole += values[i]
            if kept in (count, ZERO):
                break
            count = kept
            lowered = (whole - total) / np.float64(count)
        for i in range(first, last):
            values[i] = max(values[i] - lowered, 0.0)


def _call_address(typing_context: Any, address: Any, term: Any, exactly: Any) -> Any:
    """Call the function at an address, which takes two integers and returns nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        integer = ir.IntType(64)
        function = ir.FunctionType(ir.VoidType(), [integer, integer])
        builder.call(builder.inttoptr(arguments[0], function.as_pointer()), arguments[1:])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


_call: Any = intrinsic(_call_address)


@compiled
def _differentiate(curves: Any, j: Any, exactly: Any) -> Any:
    """Take the slopes of a term at its arguments, and its offset; return its value there.

    Where Python knows it alone, the value is needed only ``exactly``, and the slopes only otherwise. Norms and maxima
    with kinks keep the slopes that they choose.
    """
    kind = curves.kinds[j]
    first, last = np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])
    arguments, slopes = curves.arguments, curves.slopes
    value, offset = 0.0, 0.0
    if kind >= OPAQUE:
        _call(curves.calls[0], np.int64(j), np.int64(1 if exactly else 0))
        return curves.offsets[j]
    if kind == NORM_1:
        for i in range(first, last):
            value += abs(arguments[i])
    elif kind == NORM_2:
        for i in range(first, last):
            value += arguments[i] * arguments[i]
        value = math.sqrt(value)
        divisor = value if value > 0.0 else 1.0
        for i in range(first, last):
            slopes[i] = arguments[i] / divisor
    elif kind == SQUARES:
        for i in range(first, last):
            value += arguments[i] * arguments[i]
            slopes[i] = 2.0 * arguments[i]
        offset = -value
    elif kind in (NORM_INFINITY, MAXIMUM):
        value = -np.inf
        for i in range(first, last):
            value = max(value, arguments[i] if kind == MAXIMUM else abs(arguments[i]))
    else:
        for i in range(first, last, TWO):
            own, other = max(arguments[i], 0.0), max(arguments[i + ONE], 0.0)
            if own > 0.0:
                value += own * math.log(own / other) if other > 0.0 else np.inf
            # Any other point has a tangent too, and at 0 the logarithm has none.
            own += INWARDS * (curves.anchors[i] - own)
            other += INWARDS * (curves.anchors[i + ONE] - other)
            ratio = max(own, 1e-300) / max(other, 1e-300)
            slopes[i] = math.log(ratio) + 1.0
            slopes[i + ONE] = -ratio
    curves.offsets[j] = offset
    return value


@compiled
def _look(constraints: Any, curves: Any, j: Any, plan: Any, sums: Any, decay: Any, weight: Any) -> None:
    """Write the arguments of a term at a plan, or at the average of it and of ``decay`` times sums of such a weight."""
    share = 1.0 / (1.0 + decay * weight)
    for i in range(np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])):
        total = 0.0
        for k in range(np.uint64(curves.entry_starts[i]), np.uint64(curves.entry_starts[i + ONE])):
            s = constraints.positions[curves.entries[k]]
            total += curves.weights[k] * (plan[s] + decay * sums[s])
        curves.arguments[i] = total * share - curves.shifts[i]


@compiled
def _project(values: Any, first: Any, last: Any, kind: Any) -> None:
    """Project slopes onto those of a norm or a maximum: a cube, a cross-polytope or a simplex."""
    if kind == NORM_1:
        for i in range(first, last):
            values[i] = min(max(values[i], -1.0), 1.0)
        return
    whole, largest = 0.0, -np.inf
    for i in range(first, last):
        size = values[i] if kind == MAXIMUM else abs(values[i])
        whole += size
        largest = max(largest, size)
    if kind == NORM_INFINITY and whole <= 1.0:
        return
    low, high = largest - 1.0, largest
    for _ in range(60):
        middle = 0.5 * (low + high)
        whole = 0.0
        for i in range(first, last):
            whole += max((values[i] if kind == MAXIMUM else abs(values[i])) - middle, 0.0)
        if whole > 1.0:
            low = middle
        else:
            high = middle
    whole = 0.0
    for i in range(first, last):
        size = max((values[i] if kind == MAXIMUM else abs(values[i])) - low, 0.0)
        values[i] = -size if values[i] < 0.0 and kind == NORM_INFINITY else size
        whole += size
    for i in range(first, last):
        values[i] /= whole


@compiled
def _has_kinks(kind: Any) -> Any:
    return kind in (NORM_1, NORM_INFINITY, MAXIMUM)


@compiled
def _choose(constraints: Any, curves: Any, player: Any, state: Any, multipliers: Any, step: Any, optimism: Any) -> None:
    """Move the slopes of a player's norms and maxima along their arguments at a plan.

    With the largest ones instead, a plan at a kink would be driven from one side to the other.
    """
    choices, before = multipliers.choices, multipliers.arguments
    for c in range(np.uint64(curves.ranges[player]), np.uint64(curves.ranges[player + ONE])):
        for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
            if _has_kinks(curves.kinds[j]):
                _look(constraints, curves, j, state.plan, state.plan, 0.0, 0.0)
                first, last = np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])
                rate = step * curves.rates[j]
                for i in range(first, last):
                    argument = curves.arguments[i]
                    choices[i] += rate * (argument + optimism * (argument - before[i]))
                    before[i] = argument
                _project(choices, first, last, curves.kinds[j])


@compiled
def _put_together(constraints: Any, curves: Any, c: Any, coefficients: Any, limits: Any) -> None:
    """Write the row that the slopes and offsets of its terms make."""
    row = np.uint64(curves.rows[c])
    limit = curves.limits[row]
    for k in range(np.uint64(constraints.starts[row]), np.uint64(constraints.starts[row + ONE])):
        coefficients[k] = curves.linear[k]
    for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
        limit -= curves.offsets[j]
        for i in range(np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])):
            slope = curves.slopes[i]
            if slope != 0.0:
                limit += slope * curves.shifts[i]
                for k in range(np.uint64(curves.entry_starts[i]), np.uint64(curves.entry_starts[i + ONE])):
                    coefficients[curves.entries[k]] += slope * curves.weights[k]
    limits[row] = limit


@compiled
def _linearise(
    constraints: Any, curves: Any, base: Any, player: Any, state: Any, multipliers: Any, decay: Any, at_average: Any
) -> None:
    """Replace a player's curved rows by their tangents at the plan, or at the average that it is going to be part of.

    With tangents at averages the violations still bound that of the average, since for weights w and W = Σ w
    Σ w (f(x̄) + ∇f(x̄) · (x − x̄)) ≥ W f(x̄), tangents taken at the averages so far (A. Cutkosky, "Anytime
    online-to-batch, optimism and acceleration", ICML 2019, theorem 1), and they come to rest as averages do.
    """
    decay = decay if at_average else 0.0
    choices, sums = multipliers.choices, state.plan_sums
    weight = sums[base]
    for c in range(np.uint64(curves.ranges[player]), np.uint64(curves.ranges[player + ONE])):
        for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
            if _has_kinks(curves.kinds[j]):
                for i in range(np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])):
                    curves.slopes[i] = choices[i]
                curves.offsets[j] = 0.0
                continue
            _look(constraints, curves, j, state.plan, sums, decay, weight)
            _differentiate(curves, j, False)
        _put_together(constraints, curves, c, constraints.coefficients, constraints.limits)


@compiled
def _add_tangents(curves: Any, player: Any, multipliers: Any, decay: Any) -> None:
    """Add multipliers times slopes to ``decay`` times their sums."""
    for c in range(np.uint64(curves.ranges[player]), np.uint64(curves.ranges[player + ONE])):
        multiplier = multipliers.values[curves.rows[c]]
        for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
            multipliers.offsets[j] = multipliers.offsets[j] * decay + multiplier * curves.offsets[j]
            kept = curves.arguments if curves.kinds[j] == OPAQUE else curves.slopes
            for i in range(np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])):
                multipliers.slopes[i] = multipliers.slopes[i] * decay + multiplier * kept[i]


@compiled
def _prove(constraints: Any, curves: Any, player: Any, state: Any, multipliers: Any, last_iterate: Any) -> None:
    """Write what the average tangents of a player's curved rows are, and the functions' values at an average plan.

    Slopes and arguments are left as they are needed for this, not as tangents need them.
    """
    plan = state.average
    for c in range(np.uint64(curves.ranges[player]), np.uint64(curves.ranges[player + ONE])):
        row = np.uint64(curves.rows[c])
        weight = 0.0 if last_iterate else multipliers.sums[row]
        if weight > 0.0:
            for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
                kept = curves.arguments if curves.kinds[j] == OPAQUE else curves.slopes
                for i in range(np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])):
                    kept[i] = multipliers.slopes[i] / weight
                curves.offsets[j] = multipliers.offsets[j] / weight
                if curves.kinds[j] == OPAQUE:
                    _differentiate(curves, j, False)
        _put_together(constraints, curves, c, curves.proven_coefficients, curves.proven_limits)
        value = -curves.limits[row]
        for k in range(np.uint64(constraints.starts[row]), np.uint64(constraints.starts[row + ONE])):
            value += curves.linear[k] * plan[constraints.positions[k]]
        for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
            _look(constraints, curves, j, plan, plan, 0.0, 0.0)
            value += _differentiate(curves, j, True)
        curves.values[row] = value


@compiled
def _top_down(polytopes: Any, inflow: Any, player: Any, state: Any, decay: Any, part: Any) -> None:
    """Add the plan to ``decay`` times the sums, then replace it by the plan of the behaviour."""
    behaviour, plan, plan_sums = state.behaviour, state.plan, state.plan_sums
    real = plan.dtype.type
    base, decays = np.uint64(polytopes.bases[player]), spread(real(decay))
    store(plan_sums, base, load(plan_sums, base) * decays + load(plan, base))
    parents, lanes = polytopes.parents, width(plan)
    if part is not None:
        entering = part.inflow
    more = ZERO
    if inflow is not None:
        more = ONE  # reaches are like one more action that is always taken
    for b in range(np.uint64(polytopes.bucket_ranges[player]), np.uint64(polytopes.bucket_ranges[player + ONE])):
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
def _fold(bases: Any, state: Any, preferences: Any) -> None:
    """Add the sums of the latest plans to the older ones, and begin anew.

    In single precision a long sum takes in a new plan to a thousandth of it or worse, and always errs to one side.
    """
    older, plan_sums, lag = state.older, state.plan_sums, state.lag[0]
    real = plan_sums.dtype.type
    if preferences is not None:
        # What came since the plans were last looked at stays to be counted.
        seen, least = preferences.pricing.seen, _clearly(plan_sums)
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
def _best_response(polytopes: Any, inflow: Any, player: Any, gradient: Any) -> Any:
    """Return the value of a best response to a gradient, which is left zero."""
    real = gradient.dtype.type
    zeros = spread(real(0.0))
    parents, lanes = polytopes.parents, width(gradient)
    first_bucket, b = np.uint64(polytopes.bucket_ranges[player]), np.uint64(polytopes.bucket_ranges[player + ONE])
    while b > first_bucket:
        b -= ONE
        start, size = np.uint64(polytopes.buckets[b, 0]), np.uint64(polytopes.buckets[b, 1])
        arity, first = np.uint64(polytopes.buckets[b, 2]), np.uint64(polytopes.buckets[b, 3])
        for i in range(ZERO, size, lanes):
            here = start + i
            values = load(gradient, here)
            store(gradient, here, zeros)
            for action in range(ONE, arity):
                there = here + action * size
                values = larger(values, load(gradient, there))
                store(gradient, there, zeros)
            if inflow is not None:
                there = here + arity * size  # what the reaches of infosets are paid
                values = values + load(gradient, there)
                store(gradient, there, zeros)
                group = np.uint64(inflow.groups[b]) + i // lanes
                for k in range(np.uint64(inflow.ranges[group]), np.uint64(inflow.ranges[group + ONE])):
                    source, pattern = np.uint64(inflow.runs[k, 0]), np.uint64(inflow.runs[k, 1])
                    store(gradient, source, load(gradient, source) + load(inflow.patterns, pattern) * values)
            else:
                add_at(gradient, parents, first + i, values)
    # In flows more than one position stands for the empty sequence; in trees what follows it is zero.
    base, value = np.uint64(polytopes.bases[player]), 0.0
    for lane in range(lanes):
        value += gradient[base + lane]
    store(gradient, base, zeros)
    return value


@compiled
def _excess(constraints: Any, curves: Any, player: Any, plan: Any, total: Any) -> Any:
    """Return by how much a plan violates the worst row, and what its player pays for that, in the unit of payoffs."""
    worst, paid, most = 0.0, 0.0, 0.0
    for i in range(np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])):
        violation = _row_value(constraints, i, plan)
        if curves is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
            if curves.curved[i]:
                violation = curves.values[i]
        violation = max(violation, 0.0)
        worst = max(worst, violation * constraints.units[i])
        most = max(most, violation)
        if constraints.caps[i] < np.inf:
            paid += constraints.caps[i] * violation
    return worst, (total * most if total < np.inf else paid)


@compiled
def _exploitability(
    game: Any, state: Any, row: Any, constraints: Any, curves: Any, multipliers: Any, soft: Any, total: Any
) -> Any:
    """Return NashConv / n of the average plans; write best-response values and payoffs of the players into ``row``.

    Under constraints best responses pay the average multipliers, and what is returned is the larger of the gap between
    the bounds that follow and, unless constraints are soft, of the violations.
    """
    bases = game.polytopes.bases
    num_players = np.uint64(len(bases)) - ONE
    plan, gradient = state.average, state.gradient
    nash_conv, violation = 0.0, 0.0
    for player in range(num_players):
        _add_gradient(game.payoffs, game.leaves, game.runs, game.cells, num_players, player, plan, 1.0, gradient)
        _add_factored(game.factored, player, plan, 1.0, gradient, state.factors)
        payoff = 0.0
        for s in range(np.uint64(bases[player]), np.uint64(bases[player + ONE])):
            payoff += plan[s] * gradient[s]
        if constraints is not None:
            worth = _add_multipliers(constraints, player, multipliers.average, gradient)
            worst, paid = _excess(constraints, curves, player, plan, total)
            value = _best_response(game.polytopes, game.polytopes.inflow, player, gradient) + worth
            if soft:
                payoff -= paid
            else:
                violation = max(violation, worst)
        else:
            value = _best_response(game.polytopes, game.polytopes.inflow, player, gradient)
        row[player] = value
        row[player + num_players] = payoff
        nash_conv += value - payoff
    if constraints is not None:
        return max(nash_conv, violation)
    return nash_conv / np.float64(num_players)


def run_loop(
    game: Any, state: Any, iterations: Any, schedule: Any, rule: Any, alternating: Any, last_iterate: Any,
    tilted: Any, tilt: Any, scales: Any, growth: Any, tolerance: Any, history_iterations: Any, history_values: Any,
    constraints: Any, proven: Any, curves: Any, multipliers: Any, dual: Any, preferences: Any,
    part: Any,
) -> Any:  # fmt: skip
    """Do up to ``iterations`` more updates; see :meth:`Kernel.run`.

    The state tells the time itself: Ctrl-C arrives when this returns, before its caller could write anything down.
    """
    bases = game.polytopes.bases
    num_players = np.uint64(len(bases)) - ONE
    positive, negative, floor, prediction, power, regret_growth = rule[0], rule[1], rule[2], rule[3], rule[4], rule[5]
    horizon = rule[9]
    positive_factor, negative_factor, forecast = positive, negative, prediction
    dual_step, dual_power, optimism, total, soft = dual[0], dual[1], dual[2], dual[3], dual[4] != 0.0
    step_now = dual_step
    t, next_check = state.clock[0], state.clock[1]
    last = t + iterations
    rows = 0
    exploitability = np.nan
    at_average = dual[5] != 0.0
    in_two = len(state.older) > 0
    # Without convex constraints this is None, and what follows from them is not compiled.
    if curves is not None:
        decay = (np.float64(t) / np.float64(t + 1)) ** power
        for player in range(num_players):
            _linearise(constraints, curves, bases[player], player, state, multipliers, decay, at_average)
    while True:
        if t >= next_check and rows < len(history_iterations):
            if in_two:
                _fold(bases, state, preferences)
            for player in range(num_players):
                base = np.uint64(bases[player])
                weight = 0.0 if last_iterate else (state.older[base] if in_two else np.float64(state.plan_sums[base]))
                for s in range(base, np.uint64(bases[player + ONE])):
                    if weight > 0.0:
                        state.average[s] = (state.older[s] if in_two else np.float64(state.plan_sums[s])) / weight
                    else:
                        state.average[s] = state.plan[s]
                if constraints is not None:
                    for i in range(np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])):
                        multipliers.average[i] = multipliers.sums[i] / weight if weight > 0.0 else multipliers.values[i]
                if curves is not None:
                    _prove(constraints, curves, player, state, multipliers, last_iterate)
            exploitability = _exploitability(
                game, state, history_values[rows, 1:], proven, curves, multipliers, soft, total
            )
            if curves is not None:
                decay = (np.float64(t) / np.float64(t + 1)) ** power
                for player in range(num_players):
                    _linearise(constraints, curves, bases[player], player, state, multipliers, decay, at_average)
            history_iterations[rows] = t
            history_values[rows, 0] = exploitability
            rows += 1
            # Close to the tolerance checks come more often, so that little is done beyond it.
            pace = math.sqrt(math.sqrt(growth)) if exploitability <= 2.0 * tolerance else growth
            next_check = max(t + 1, np.int64(math.ceil(min(np.float64(t) * pace, 4e18))))
            if exploitability <= tolerance:
                break
        if t >= last or rows == len(history_iterations):
            break
        if curves is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
            if curves.calls[1] != 0:
                break
        if schedule == POWER:
            # t^p / (t^p + 1), infinite p included. The paper discounts after the t-th update; discounting before the
            # next one is the same, since a common factor of an infoset's positive regrets changes no behaviour.
            done = max(np.float64(t), 1.0)
            share, later = min(done / horizon, 1.0), min((np.float64(t) + 1.0) / horizon, 1.0)
            positive_factor = (1.0 + regret_growth / done) / (1.0 + done ** -(positive + share * rule[6]))
            negative_factor = 1.0 / (1.0 + done ** -(negative + share * rule[7]))
            # What is forecast is d' R + r, with d' the next discount; here it is divided by that.
            forecast = prediction * (1.0 + (np.float64(t) + 1.0) ** -(positive + later * rule[6]))
        power = rule[4] + min(np.float64(t) / horizon, 1.0) * rule[8]
        t += 1
        # Weights t^power, scaled so that the newest is one: however large the power, the sums stay finite.
        decay = (np.float64(t - 1) / np.float64(t)) ** power
        if in_two:
            if t % FOLD == 0:
                _fold(bases, state, preferences)
            state.lag[0] *= decay
        if dual_power != 0.0:
            step_now = dual_step * np.float64(t) ** -dual_power
        # Alternating: one player's two passes after the other's. Otherwise all upward passes, then all downward ones.
        for step in range(TWO * num_players):
            actor = step // TWO if alternating else step % num_players
            if (step % TWO == ONE) if alternating else (step >= num_players):
                if curves is not None:
                    _add_tangents(curves, actor, multipliers, decay)
                # At once the multipliers answer the old plan, in turn the new one.
                if constraints is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                    if not alternating:
                        _move_multipliers(constraints, actor, state.plan, multipliers, decay, step_now, optimism, total)
                _top_down(game.polytopes, game.polytopes.inflow, actor, state, decay, part)
                if preferences is not None:
                    preferences.pricing.kept[actor] *= decay
                if curves is not None:
                    _choose(constraints, curves, actor, state, multipliers, step_now / dual_step, optimism)
                    following = (np.float64(t) / np.float64(t + 1)) ** power
                    _linearise(constraints, curves, bases[actor], actor, state, multipliers, following, at_average)
                if constraints is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                    if alternating:
                        _move_multipliers(constraints, actor, state.plan, multipliers, decay, step_now, optimism, total)
                continue
            if tilted:
                for s in range(np.uint64(bases[actor]), np.uint64(bases[actor + ONE])):
                    state.gradient[s] = tilt[s]
            if constraints is not None:
                _add_multipliers(constraints, actor, multipliers.values, state.gradient)
            plan, gradient, scale = state.plan, state.gradient, scales[actor]
            _add_gradient(game.payoffs, game.leaves, game.runs, game.cells, num_players, actor, plan, scale, gradient)
            _add_factored(game.factored, actor, plan, scale, gradient, state.factors)
            bias, inflow = UNMOVED, game.polytopes.inflow
            if preferences is not None:
                block = BLOCK if t <= EARLY else LATE_BLOCK
                if preferences.depending[actor] != 0 and (num_players != TWO or t % block == 1):
                    _price_infosets(preferences.pricing, preferences.local.costs, bases, num_players, actor, state)
                bias = preferences.bias[actor]
                # Calls that differ in what is None are compiled each on its own.
                if bias == IN_PROPORTION:
                    _bottom_up(
                        game.polytopes, inflow, actor, state, positive_factor, negative_factor, floor, forecast,
                        preferences.local, None, part,
                    )  # fmt: skip
                elif bias == ON_ONE:
                    _bottom_up(
                        game.polytopes, inflow, actor, state, positive_factor, negative_factor, floor, forecast,
                        preferences.local, ONE, part,
                    )  # fmt: skip
            if bias == UNMOVED:
                _bottom_up(
                    game.polytopes, inflow, actor, state, positive_factor, negative_factor, floor, forecast,
                    None, None, part,
                )  # fmt: skip
    state.clock[0], state.clock[1] = t, next_check
    return exploitability, rows


run_loop = compiled(run_loop, cache=True)
