"""The compiled loop of the counterfactual-regret family.

One iteration, for each player: gradient of the payoff at the opponents' plans; bottom-up pass with the local regret
minimiser at each infoset; top-down pass that adds the plan from before the update to the average and forms the new
one. Which algorithm it is, is a matter of numbers. The functions here, in :mod:`~treeplex.solvers.regret.passes` and in
:mod:`~treeplex.solvers.regret.rows` take the arrays of :mod:`~treeplex.solvers.regret.arrays`, change them in place and
check nothing; :class:`~treeplex.solvers.regret.kernel.Kernel` is what the library calls.

Updates and certificates are lists of steps, and each step is done for a game's branches by all threads and then for its
trunk by one; see :mod:`~treeplex.solvers.regret.branches` and :mod:`~treeplex.solvers.team`. The passes are
called at one place each: what a call copies, and most of what compiling takes, are the descriptions of its arrays.
"""

import math
from typing import Any

import numpy as np

from ..compilation import compiled
from ..team import LINE, begin, count_one, take, wait_for_all, wait_for_work
from .passes import (
    FOLD,
    ONE,
    TWO,
    ZERO,
    add_factored,
    add_gradient,
    arrived,
    best_response,
    bottom_up,
    collect,
    fold,
    keep_root,
    price_infosets,
    top_down,
)
from .rows import add_multipliers, add_tangents, choose, excess, linearise, move_multipliers, prove

CONSTANT, POWER = 0, 1  # schedules of the discounts
UNMOVED, IN_PROPORTION, ON_ONE = 0, 1, 2  # what preferences make of δ (R − β)⁺: shares, or all on the largest
# Reaches that vulnerabilities count by are averaged over so many iterations, from iteration EARLY on over more of them.
BLOCK, LATE_BLOCK, EARLY = 16, 64, 128
# Steps: averages are written down, and for each player what they are paid and what a best response is. Then regrets are
# updated, the new plan formed (first the trunk's, then that of branches), and multipliers moved.
AVERAGE, PAY, ANSWER, LEARN, CATCH_UP, PLAN, MOVE = 0, 1, 2, 3, 4, 5, 6
# Where the numbers of a step stand in the job. From DECAYS on, one a player, is by what sums of plans are multiplied
# before the branches have their new ones; below zero if they have them.
STEP, PLAYER, SCALE, POSITIVE, NEGATIVE, FLOOR, FORECAST, LAST, DECAYS = 0, 1, 2, 3, 4, 5, 6, 7, 8


def steps_of(num_players: int, alternating: bool, constrained: bool) -> Any:
    """Return the steps of a certificate and then those of an update, and how many the first ones are.

    Returns
    -------
    ndarray of uint64, shape (num_steps, 2)
        Step and player.
    int
    """
    players = range(num_players)
    checks = [(AVERAGE, 0), *((step, player) for player in players for step in (PAY, ANSWER))]
    later = (PLAN, CATCH_UP, MOVE) if constrained else (PLAN,)
    # Alternating: one player's two passes after the other's. Otherwise all upward passes, then all downward ones.
    passes = [(LEARN, *later)] if alternating else [(LEARN,), later]
    updates = [(step, player) for each in passes for player in players for step in each]
    return np.array(checks + updates, dtype=np.uint64), len(checks)


@compiled
def _weight(state: Any, base: Any) -> Any:
    """Return the weight of all plans in the sums of a player."""
    return state.older[base] if len(state.older) > 0 else np.float64(state.plan_sums[base])


@compiled
def _average(bases: Any, state: Any, player: Any, first: Any, last: Any, last_iterate: Any) -> None:
    """Write a player's average plan, or the current one, at the positions of a share."""
    in_two = len(state.older) > 0
    weight = 0.0 if last_iterate else _weight(state, np.uint64(bases[player]))
    for s in range(first, last):
        if weight > 0.0:
            state.average[s] = (state.older[s] if in_two else np.float64(state.plan_sums[s])) / weight
        else:
            state.average[s] = state.plan[s]


def run_loop(
    game: Any, state: Any, iterations: Any, schedule: Any, rule: Any, steps: Any, num_checks: Any, alternating: Any,
    tilt: Any, scales: Any, growth: Any, tolerance: Any, history_iterations: Any, history_values: Any,
    constraints: Any, proven: Any, curves: Any, multipliers: Any, dual: Any, preferences: Any,
    part: Any, job: Any, team: Any, arrivals: Any, leads: Any, own_branch: Any,
) -> Any:  # fmt: skip
    """Do up to ``iterations`` more updates; see :meth:`Kernel.run`. Or, where this does not lead, help who does them.

    The state tells the time itself: Ctrl-C arrives when this returns, before its caller could write anything down.
    """
    polytopes, bases = game.polytopes, game.polytopes.bases
    regrets, behaviour, gradient, plan, plan_sums = (
        state.regrets, state.behaviour, state.gradient, state.plan, state.plan_sums
    )  # fmt: skip
    num_players = np.uint64(len(bases)) - ONE
    num_shares = np.uint64(len(polytopes.roots)) // num_players
    shift, tried, shared = ZERO, ZERO, False
    # In small games there are no branches: this is None, and they are not compiled.
    if team is not None:
        stride = np.uint64(len(arrivals)) // (num_shares - ONE)
    positive, negative, prediction, power, regret_growth = rule[0], rule[1], rule[3], rule[4], rule[5]
    horizon = rule[9]
    dual_step, dual_power, optimism, total, soft = dual[0], dual[1], dual[2], dual[3], dual[4] != 0.0
    at_average = dual[5] != 0.0
    step_now = dual_step
    t, next_check, begun = state.clock[0], state.clock[1], state.clock[2]
    last = t + iterations
    rows, phase, at = 0, 0, len(steps)
    exploitability, decay, payoff, worth, nash_conv, violation = np.nan, 0.0, 0.0, 0.0, 0.0, 0.0
    in_two, last_iterate, converged = len(state.older) > 0, job[LAST] != 0.0, False
    due: Any = False
    if leads:
        job[POSITIVE], job[NEGATIVE], job[FLOOR], job[FORECAST] = positive, negative, rule[2], prediction
        # Without convex constraints this is None, and what follows from them is not compiled.
        if curves is not None:
            decay = (np.float64(t - begun) / np.float64(t - begun + 1)) ** power
            for player in range(num_players):
                linearise(constraints, curves, bases[player], player, state, multipliers, decay, at_average)
    while True:
        # What is to be done next.
        if leads:
            step: Any = CATCH_UP
            actor: Any = ZERO
            if at == len(steps):
                checks = t >= next_check and rows < len(history_iterations) and not converged
                stops = not checks and (converged or t >= last or rows == len(history_iterations))
                if curves is not None:
                    stops = stops or (not checks and curves.calls[1] != 0)
                folds = in_two and (checks or (t + 1) % FOLD == 0)
                if due and (stops or folds):
                    pass  # the branches first
                elif stops:
                    break
                elif checks:
                    at, nash_conv, violation = 0, 0.0, 0.0
                    if folds:
                        fold(bases, state, preferences)
                else:
                    at = num_checks
                    if schedule == POWER:
                        # t^p / (t^p + 1), infinite p included. The paper discounts after the t-th update; discounting
                        # before the next one is the same, since a common factor of an infoset's positive regrets
                        # changes no behaviour.
                        done = max(np.float64(t), 1.0)
                        now, later = min(done / horizon, 1.0), min((np.float64(t) + 1.0) / horizon, 1.0)
                        job[POSITIVE] = (1.0 + regret_growth / done) / (1.0 + done ** -(positive + now * rule[6]))
                        job[NEGATIVE] = 1.0 / (1.0 + done ** -(negative + now * rule[7]))
                        # What is forecast is d' R + r, with d' the next discount; here it is divided by that.
                        forecast = (np.float64(t) + 1.0) ** -(positive + later * rule[6])
                        job[FORECAST] = prediction * (1.0 + forecast)
                    power = rule[4] + min(np.float64(t) / horizon, 1.0) * rule[8]
                    t += 1
                    # Weights t^power, counted from where averaging began and scaled so that the newest is one: however
                    # large the power, the sums stay finite.
                    decay = (np.float64(t - begun - 1) / np.float64(t - begun)) ** power
                    if in_two:
                        if folds:
                            fold(bases, state, preferences)
                        state.lag[0] *= decay
                    if dual_power != 0.0:
                        step_now = dual_step * np.float64(t) ** -dual_power
            if at < len(steps):
                step, actor = np.int64(steps[at, 0]), steps[at, 1]
            if step == LEARN:
                if preferences is not None:
                    block = BLOCK if t <= EARLY else LATE_BLOCK
                    if preferences.depending[actor] != 0 and (num_players != TWO or t % block == 1):
                        if due:
                            step = CATCH_UP
                        else:
                            costs = preferences.local.costs
                            price_infosets(preferences.pricing, costs, bases, num_players, actor, state)
                if constraints is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                    if step == LEARN:
                        add_multipliers(constraints, actor, multipliers.values, gradient)
            elif step == PLAN:
                if curves is not None:
                    add_tangents(curves, actor, multipliers, decay)
                # At once the multipliers answer the old plan, in turn the new one.
                if constraints is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                    if not alternating:
                        move_multipliers(constraints, actor, state.plan, multipliers, decay, step_now, optimism, total)
                if preferences is not None:
                    preferences.pricing.kept[actor] *= decay
                keep_root(np.uint64(bases[actor]), plan, plan_sums, decay)
            elif step == ANSWER:
                worth = 0.0
                if constraints is not None:
                    worth = add_multipliers(proven, actor, multipliers.average, gradient)
                    worst, paid = excess(proven, curves, actor, state.average, total)
                    if soft:
                        payoff -= paid
                    else:
                        violation = max(violation, worst)
            elif step == MOVE:
                if curves is not None:
                    choose(constraints, curves, actor, state, multipliers, step_now / dual_step, optimism)
                    following = (np.float64(t - begun) / np.float64(t - begun + 1)) ** power
                    linearise(constraints, curves, bases[actor], actor, state, multipliers, following, at_average)
                if constraints is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                    if alternating:
                        move_multipliers(constraints, actor, state.plan, multipliers, decay, step_now, optimism, total)
            job[STEP], job[PLAYER], job[SCALE] = step, actor, scales[actor]
            # New plans of branches wait for when these are looked at next, so that they still are in the cache then.
            shared = step < PLAN
            if team is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                if shared:
                    phase = begin(team)
        elif team is not None:
            phase = wait_for_work(team, phase)
            if phase < 0:
                return np.nan, 0
        # It is done: for the branches, one after the other until all are taken, and then for the trunk.
        tried = ZERO
        while True:
            share = ZERO
            if team is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
                if not leads or shared:
                    tried = take(team, phase, own_branch, tried)
                    share = ONE + (own_branch + tried - ONE) % (num_shares - ONE)
                    if tried == num_shares:
                        if not leads:
                            break
                        wait_for_all(team)
                        job[DECAYS:] = -1.0
                        share, due = ZERO, False
            # Only who has taken a branch knows that the job stays as it is.
            step, actor = np.int64(job[STEP]), np.uint64(job[PLAYER])
            own = actor * num_shares + share
            for player in range(num_players):
                late = job[DECAYS + player] if share != ZERO else -1.0
                if share == ZERO and step == PLAN and player == actor:
                    late = decay
                if late >= 0.0:
                    top_down(
                        polytopes, polytopes.inflow, player * num_shares + share, behaviour, plan, plan_sums, late, part
                    )
                if step == AVERAGE:
                    k = player * num_shares + share
                    first, end_of = np.uint64(polytopes.shares[k]), np.uint64(polytopes.shares[k + ONE])
                    _average(bases, state, player, first, end_of, last_iterate)
            if step in (PAY, LEARN):
                first, end_of = np.uint64(polytopes.shares[own]), np.uint64(polytopes.shares[own + ONE])
                met, scale = plan, job[SCALE]
                if step == PAY:
                    met, scale = state.average, 1.0
                elif len(tilt) > 0:
                    for s in range(first, end_of):
                        gradient[s] += tilt[s]
                add_gradient(
                    game.payoffs, game.leaves, game.runs, game.tiles, game.cells, num_players, actor, own, met, scale,
                    gradient,
                )  # fmt: skip
                if share == ZERO:
                    add_factored(game.factored, actor, met, scale, gradient, state.factors)
                if step == PAY:
                    paid = 0.0
                    for s in range(first, end_of):
                        paid += met[s] * gradient[s]
                    if share == ZERO:
                        payoff = paid
                    if team is not None:
                        team.sums[share * np.uint64(LINE)] = paid
            if team is not None:
                shift = (share - ONE) * stride - np.uint64(bases[actor])
                if share == ZERO and step in (LEARN, ANSWER):
                    collect(polytopes, own, num_shares - ONE, gradient, arrivals, stride)
            if step == ANSWER:
                best_response(polytopes, polytopes.inflow, own, gradient, arrivals, shift)
            elif step == LEARN:
                bias = UNMOVED
                if preferences is not None:
                    bias = preferences.bias[actor]
                    # Calls that differ in what is None are compiled each on its own.
                    if bias == IN_PROPORTION:
                        bottom_up(
                            polytopes, polytopes.inflow, own, regrets, behaviour, gradient, arrivals, shift,
                            job[POSITIVE], job[NEGATIVE], job[FLOOR], job[FORECAST], preferences.local, None, part,
                        )  # fmt: skip
                    elif bias == ON_ONE:
                        bottom_up(
                            polytopes, polytopes.inflow, own, regrets, behaviour, gradient, arrivals, shift,
                            job[POSITIVE], job[NEGATIVE], job[FLOOR], job[FORECAST], preferences.local, ONE, part,
                        )  # fmt: skip
                if bias == UNMOVED:
                    bottom_up(
                        polytopes, polytopes.inflow, own, regrets, behaviour, gradient, arrivals, shift, job[POSITIVE],
                        job[NEGATIVE], job[FLOOR], job[FORECAST], None, None, part,
                    )  # fmt: skip
            if share == ZERO:
                break
            if team is not None:
                count_one(team.done)
        if not leads:
            continue
        # What follows from it.
        if step == PLAN:
            due, job[DECAYS + actor] = num_shares > ONE, decay
        elif step == LEARN:
            arrived(np.uint64(bases[actor]), gradient)
        elif step == AVERAGE:
            if constraints is not None:
                for player in range(num_players):
                    weight = 0.0 if last_iterate else _weight(state, np.uint64(bases[player]))
                    for i in range(np.uint64(constraints.ranges[player]), np.uint64(constraints.ranges[player + ONE])):
                        multipliers.average[i] = multipliers.sums[i] / weight if weight > 0.0 else multipliers.values[i]
            if curves is not None:
                for player in range(num_players):
                    prove(constraints, curves, player, state, multipliers, last_iterate)
        elif step == PAY:
            if team is not None:
                for branch in range(ONE, num_shares):
                    payoff += team.sums[branch * np.uint64(LINE)]
        elif step == ANSWER:
            value = arrived(np.uint64(bases[actor]), gradient) + worth
            history_values[rows, ONE + actor], history_values[rows, ONE + num_players + actor] = value, payoff
            nash_conv += value - payoff
        if at == len(steps) or steps[at, 0] != np.uint64(step):
            continue  # the branches came first
        at += 1
        if at == num_checks:
            at = len(steps)
            exploitability = nash_conv / np.float64(num_players)
            if constraints is not None:
                exploitability = max(nash_conv, violation)
            if curves is not None:
                decay = (np.float64(t - begun) / np.float64(t - begun + 1)) ** power
                for player in range(num_players):
                    linearise(constraints, curves, bases[player], player, state, multipliers, decay, at_average)
            history_iterations[rows], history_values[rows, 0] = t, exploitability
            rows += 1
            # Close to the tolerance checks come more often, so that little is done beyond it.
            pace = math.sqrt(math.sqrt(growth)) if exploitability <= 2.0 * tolerance else growth
            next_check = max(t + 1, begun + np.int64(math.ceil(min(np.float64(t - begun) * pace, 4e18))))
            converged = exploitability <= tolerance
    state.clock[0], state.clock[1] = t, next_check
    return exploitability, rows


run_loop = compiled(run_loop, cache=True)
