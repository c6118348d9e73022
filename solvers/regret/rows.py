"""Constraints in the compiled loop: rows with multipliers, and convex functions by their tangents."""

import math
from typing import Any

import numpy as np

from ...models.convex import MAXIMUM, NORM_1, NORM_2, NORM_INFINITY, OPAQUE, SQUARES
from ..compilation import call_address, compiled
from .passes import ONE, TWO, ZERO

INWARDS = 1e-9  # the step of logarithms' arguments towards those of an interior plan


@compiled
def add_multipliers(constraints: Any, player: Any, multipliers: Any, gradient: Any) -> Any:
    """Subtract the costs of constraints from a player's gradient; return the multipliers times the limits."""
    worth = 0.0
    for i in range(np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])):
        multiplier = multipliers[i]
        if multiplier != 0.0:
            worth += multiplier * constraints.limits[i]
            for k in range(np.uint64(constraints.starts[i]), np.uint64(constraints.starts[i + ONE])):
                gradient[constraints.positions[k]] -= multiplier * constraints.coefficients[k]
    return worth


@compiled
def row_value(constraints: Any, i: Any, plan: Any) -> Any:
    """Return the violation of a row by a plan; negative if there is slack."""
    value = -constraints.limits[i]
    for k in range(np.uint64(constraints.starts[i]), np.uint64(constraints.starts[i + ONE])):
        value += constraints.coefficients[k] * plan[constraints.positions[k]]
    return value


@compiled
def move_multipliers(limits: Any, player: Any, plan: Any, decay: Any, step: Any) -> None:
    """Add the multipliers to ``decay`` times their sums, then move them along the violations of a plan.

    If their sum is bounded, they are projected onto the bound.
    """
    constraints, multipliers = limits.rows, limits.multipliers
    optimism, total = limits.dual.optimism, limits.dual.total
    first, last = np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])
    values = multipliers.values
    whole = 0.0
    for i in range(first, last):
        multipliers.sums[i] = multipliers.sums[i] * decay + values[i]
        violation = row_value(constraints, i, plan)
        multipliers.tallies[0, i] += violation
        multipliers.tallies[1, i] += violation * values[i]
        multipliers.tallies[2, i] = max(multipliers.tallies[2, i], values[i])
        pushed = violation + optimism * (violation - multipliers.violations[i])
        moved = values[i] + step * limits.dual.rates[i] * pushed
        multipliers.violations[i] = violation
        values[i] = min(max(moved, 0.0), constraints.caps[i])
        whole += values[i]
    if whole > total:
        # Projection onto a simplex: subtract a constant from all and clip at zero. Numbers that would fall below zero
        # are left out until none is (Michelot 1986, Journal of Optimization Theory and Applications 50).
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


@compiled
def _differentiate(curves: Any, j: Any, exactly: Any) -> Any:
    """Compute the slopes of a term at its arguments, and its offset; return its value there.

    For a term that only Python knows, the value is needed only with ``exactly``, and the slopes only without. Norms and
    maxima with kinks keep their chosen slopes.
    """
    kind = curves.kinds[j]
    first, last = np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])
    arguments, slopes = curves.arguments, curves.slopes
    value, offset = 0.0, 0.0
    if kind >= OPAQUE:
        call_address(curves.calls[0], np.int64(j), np.int64(1 if exactly else 0))
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
            # At 0 the logarithm has no tangent, but a nearby point has one.
            own += INWARDS * (curves.anchors[i] - own)
            other += INWARDS * (curves.anchors[i + ONE] - other)
            ratio = max(own, 1e-300) / max(other, 1e-300)
            slopes[i] = math.log(ratio) + 1.0
            slopes[i + ONE] = -ratio
    curves.offsets[j] = offset
    return value


@compiled
def _look(constraints: Any, curves: Any, j: Any, plan: Any, sums: Any, decay: Any, weight: Any) -> None:
    """Write a term's arguments at a plan, or at the average of the plan and ``decay`` times sums of some weight."""
    share = 1.0 / (1.0 + decay * weight)
    for i in range(np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])):
        total = 0.0
        for k in range(np.uint64(curves.entry_starts[i]), np.uint64(curves.entry_starts[i + ONE])):
            s = constraints.positions[curves.entries[k]]
            total += curves.weights[k] * (plan[s] + decay * sums[s])
        curves.arguments[i] = total * share - curves.shifts[i]


@compiled
def _project(values: Any, first: Any, last: Any, kind: Any) -> None:
    """Project slopes onto the set of a norm's or maximum's slopes: a cube, a cross-polytope or a simplex."""
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
def choose(limits: Any, player: Any, plan: Any, step: Any) -> None:
    """Move the slopes of a player's norms and maxima along their arguments at a plan.

    With the largest slopes instead, a plan at a kink would oscillate from one side to the other.
    """
    constraints, curves, optimism = limits.rows, limits.curves, limits.dual.optimism
    choices, before = limits.multipliers.choices, limits.multipliers.arguments
    for c in range(np.uint64(curves.ranges[player]), np.uint64(curves.ranges[player + ONE])):
        for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
            if _has_kinks(curves.kinds[j]):
                _look(constraints, curves, j, plan, plan, 0.0, 0.0)
                first, last = np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])
                rate = step * curves.rates[j]
                for i in range(first, last):
                    argument = curves.arguments[i]
                    choices[i] += rate * (argument + optimism * (argument - before[i]))
                    before[i] = argument
                _project(choices, first, last, curves.kinds[j])


@compiled
def _put_together(constraints: Any, curves: Any, c: Any, coefficients: Any, limits: Any) -> None:
    """Write the row from the slopes and offsets of its terms."""
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
def linearise(limits: Any, player: Any, state: Any, base: Any, decay: Any) -> None:
    """Replace a player's curved rows by their tangents at the plan, or at the average that will include the plan.

    With tangents at averages, the violations still bound that of the average. For weights w, W = Σ w and tangents at
    the averages so far, Σ w (f(x̄) + ∇f(x̄) · (x − x̄)) ≥ W f(x̄) (A. Cutkosky, "Anytime online-to-batch, optimism and
    acceleration", ICML 2019, theorem 1). These tangents also converge as averages do.
    """
    constraints, curves = limits.rows, limits.curves
    decay = decay if limits.dual.at_average else 0.0
    choices, sums = limits.multipliers.choices, state.plan_sums
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
def add_tangents(limits: Any, player: Any, decay: Any) -> None:
    """Add multipliers times slopes to ``decay`` times their sums."""
    curves, multipliers = limits.curves, limits.multipliers
    for c in range(np.uint64(curves.ranges[player]), np.uint64(curves.ranges[player + ONE])):
        multiplier = multipliers.values[curves.rows[c]]
        for j in range(np.uint64(curves.starts[c]), np.uint64(curves.starts[c + ONE])):
            multipliers.offsets[j] = multipliers.offsets[j] * decay + multiplier * curves.offsets[j]
            kept = curves.arguments if curves.kinds[j] == OPAQUE else curves.slopes
            for i in range(np.uint64(curves.places[j]), np.uint64(curves.places[j + ONE])):
                multipliers.slopes[i] = multipliers.slopes[i] * decay + multiplier * kept[i]


@compiled
def prove(limits: Any, player: Any, plan: Any, last_iterate: Any) -> None:
    """Write the average tangents of a player's curved rows, and the functions' values at an average plan.

    Slopes and arguments are left in the state for this, not for tangents.
    """
    constraints, curves, multipliers = limits.rows, limits.curves, limits.multipliers
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
def excess(limits: Any, player: Any, plan: Any) -> Any:
    """Return a plan's violation of the worst row, and the cost to its player, in the unit of payoffs."""
    constraints, total = limits.proven, limits.dual.total
    curves = limits.curves
    worst, paid, most = 0.0, 0.0, 0.0
    for i in range(np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])):
        violation = row_value(constraints, i, plan)
        if curves is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
            if curves.curved[i]:
                violation = curves.values[i]
        violation = max(violation, 0.0)
        worst = max(worst, violation * constraints.units[i])
        most = max(most, violation)
        if constraints.caps[i] < np.inf:
            paid += constraints.caps[i] * violation
    return worst, (total * most if total < np.inf else paid)
