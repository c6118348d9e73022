"""The compiled loop of the counterfactual-regret family.

One iteration, for each player: gradient of the payoff at the opponents' plans; bottom-up pass with the local regret
minimiser at each infoset; top-down pass that adds the plan from before the update to the average and forms the new
one. Which algorithm it is, is a matter of numbers. The functions here, in :mod:`~treeplex.solvers.regret.passes` and in
:mod:`~treeplex.solvers.regret.rows` take the arrays of :mod:`~treeplex.solvers.regret.arrays`, change them in place and
check nothing; :class:`~treeplex.solvers.regret.kernel.Kernel` is what the library calls.
"""

import math
from typing import Any

import numpy as np

from ..compilation import compiled
from .passes import FOLD, ONE, TWO, add_factored, add_gradient, best_response, bottom_up, fold, price_infosets, top_down
from .rows import add_multipliers, add_tangents, choose, excess, linearise, move_multipliers, prove

CONSTANT, POWER = 0, 1  # schedules of the discounts
UNMOVED, IN_PROPORTION, ON_ONE = 0, 1, 2  # what preferences make of δ (R − β)⁺: shares, or all on the largest
# Reaches that vulnerabilities count by are averaged over so many iterations, from iteration EARLY on over more of them.
BLOCK, LATE_BLOCK, EARLY = 16, 64, 128


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
        add_gradient(game.payoffs, game.leaves, game.runs, game.cells, num_players, player, plan, 1.0, gradient)
        add_factored(game.factored, player, plan, 1.0, gradient, state.factors)
        payoff = 0.0
        for s in range(np.uint64(bases[player]), np.uint64(bases[player + ONE])):
            payoff += plan[s] * gradient[s]
        if constraints is not None:
            worth = add_multipliers(constraints, player, multipliers.average, gradient)
            worst, paid = excess(constraints, curves, player, plan, total)
            value = best_response(game.polytopes, game.polytopes.inflow, player, gradient) + worth
            if soft:
                payoff -= paid
            else:
                violation = max(violation, worst)
        else:
            value = best_response(game.polytopes, game.polytopes.inflow, player, gradient)
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
    positive_factor, negative_factor = positive, negative
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
            linearise(constraints, curves, bases[player], player, state, multipliers, decay, at_average)
    while True:
        if t >= next_check and rows < len(history_iterations):
            if in_two:
                fold(bases, state, preferences)
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
                    prove(constraints, curves, player, state, multipliers, last_iterate)
            exploitability = _exploitability(
                game, state, history_values[rows, 1:], proven, curves, multipliers, soft, total
            )
            if curves is not None:
                decay = (np.float64(t) / np.float64(t + 1)) ** power
                for player in range(num_players):
                    linearise(constraints, curves, bases[player], player, state, multipliers, decay, at_average)
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
            positive_factor = (1.0 + regret_growth / done) / (1.0 + done**-positive)
            negative_factor = 1.0 / (1.0 + done**-negative)
        t += 1
        # Weights t^power, scaled so that the newest is one: however large the power, the sums stay finite.
        decay = (np.float64(t - 1) / np.float64(t)) ** power
        if in_two:
            if t % FOLD == 0:
                fold(bases, state, preferences)
            state.lag[0] *= decay
        if dual_power != 0.0:
            step_now = dual_step * np.float64(t) ** -dual_power
        # Alternating: one player's two passes after the other's. Otherwise all upward passes, then all downward ones.
        for step in range(TWO * num_players):
            actor = step // TWO if alternating else step % num_players
            if (step % TWO == ONE) if alternating else (step >= num_players):
                if curves is not None:
                    add_tangents(curves, actor, multipliers, decay)
                # At once the multipliers answer the old plan, in turn the new one.
                if constraints is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                    if not alternating:
                        move_multipliers(constraints, actor, state.plan, multipliers, decay, step_now, optimism, total)
                top_down(game.polytopes, game.polytopes.inflow, actor, state, decay, part)
                if preferences is not None:
                    preferences.pricing.kept[actor] *= decay
                if curves is not None:
                    choose(constraints, curves, actor, state, multipliers, step_now / dual_step, optimism)
                    following = (np.float64(t) / np.float64(t + 1)) ** power
                    linearise(constraints, curves, bases[actor], actor, state, multipliers, following, at_average)
                if constraints is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                    if alternating:
                        move_multipliers(constraints, actor, state.plan, multipliers, decay, step_now, optimism, total)
                continue
            if tilted:
                for s in range(np.uint64(bases[actor]), np.uint64(bases[actor + ONE])):
                    state.gradient[s] = tilt[s]
            if constraints is not None:
                add_multipliers(constraints, actor, multipliers.values, state.gradient)
            plan, gradient, scale = state.plan, state.gradient, scales[actor]
            add_gradient(game.payoffs, game.leaves, game.runs, game.cells, num_players, actor, plan, scale, gradient)
            add_factored(game.factored, actor, plan, scale, gradient, state.factors)
            bias, inflow = UNMOVED, game.polytopes.inflow
            if preferences is not None:
                block = BLOCK if t <= EARLY else LATE_BLOCK
                if preferences.depending[actor] != 0 and (num_players != TWO or t % block == 1):
                    price_infosets(preferences.pricing, preferences.local.costs, bases, num_players, actor, state)
                bias = preferences.bias[actor]
                # Calls that differ in what is None are compiled each on its own.
                if bias == IN_PROPORTION:
                    bottom_up(
                        game.polytopes, inflow, actor, state, positive_factor, negative_factor, floor, prediction,
                        preferences.local, None, part,
                    )  # fmt: skip
                elif bias == ON_ONE:
                    bottom_up(
                        game.polytopes, inflow, actor, state, positive_factor, negative_factor, floor, prediction,
                        preferences.local, ONE, part,
                    )  # fmt: skip
            if bias == UNMOVED:
                bottom_up(
                    game.polytopes, inflow, actor, state, positive_factor, negative_factor, floor, prediction,
                    None, None, part,
                )  # fmt: skip
    state.clock[0], state.clock[1] = t, next_check
    return exploitability, rows


run_loop = compiled(run_loop, cache=True)
