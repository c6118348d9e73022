"""The compiled loop of the counterfactual-regret family.

One iteration discounts regrets and sums of plans. Then each player learns: the gradient of its payoff at the opponents'
plans, and a bottom-up pass with the local regret minimiser at each infoset. And it plans: a top-down pass that adds the
plan from before the update to the average and forms the new one. Which algorithm it is, is a matter of numbers; see
:mod:`~treeplex.solvers.regret.local_rule`. The functions here, in :mod:`~treeplex.solvers.regret.passes` and in
:mod:`~treeplex.solvers.regret.rows` take the arrays of :mod:`~treeplex.solvers.regret.arrays`, change them in place and
check nothing; :class:`~treeplex.solvers.regret.kernel.Kernel` is what the library calls.

A step is what is done for a game's branches by all threads and then for its trunk by one; see
:mod:`~treeplex.solvers.regret.branches` and :mod:`~treeplex.solvers.team`. In small games there are no branches, and
what is for them is not compiled.
"""

import math
from typing import Any

import numpy as np

from ..compilation import compiled
from ..team import LINE, begin, count_one, take, wait_for_all, wait_for_work
from .arrays import BEGUN, DONE, DUE
from .local_rule import averaging_decay, discount
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

IN_PROPORTION, ON_ONE = 1, 2  # what preferences make of δ (R − β)⁺: shares, or all on the largest
# Reaches that vulnerabilities count by are averaged over so many iterations, from iteration EARLY on over more of them.
BLOCK, LATE_BLOCK, EARLY = 16, 64, 128
#: Steps: averages are written down, a player's plan is paid and answered by a best response, and regrets are updated.
#: With each of these branches form the plans that they are late with; the last one is only that.
AVERAGE, PAY, ANSWER, LEARN, CATCH_UP = (np.int64(step) for step in range(5))


@compiled
def _number_of_players(loop: Any) -> Any:
    return np.uint64(len(loop.game.polytopes.bases)) - ONE


@compiled
def _base(loop: Any, player: Any) -> Any:
    """Return the position of a player's empty sequence."""
    return np.uint64(loop.game.polytopes.bases[player])


# --- a step at one share ----------------------------------------------------------------------------------------------


@compiled
def _weight(state: Any, base: Any) -> Any:
    """Return the weight of all plans in the sums of a player."""
    return state.older[base] if len(state.older) > 0 else np.float64(state.plan_sums[base])


@compiled
def _average(loop: Any, player: Any, share: Any) -> None:
    """Write a player's average plan, or the current one, at the positions of a share."""
    state, shares = loop.state, loop.game.polytopes.shares
    in_two = len(state.older) > 0
    weight = 0.0 if loop.run.last_iterate else _weight(state, _base(loop, player))
    for s in range(np.uint64(shares[share]), np.uint64(shares[share + ONE])):
        if weight > 0.0:
            state.average[s] = (state.older[s] if in_two else np.float64(state.plan_sums[s])) / weight
        else:
            state.average[s] = state.plan[s]


@compiled
def _price(loop: Any, player: Any, share: Any, is_trunk: Any, plan: Any, scale: Any) -> None:
    """Add ``scale`` times a player's payoffs at a share to its gradient, the others playing their part of a plan."""
    game, state = loop.game, loop.state
    add_gradient(game, player, share, plan, scale, state.gradient)
    if is_trunk:
        add_factored(game.factored, player, plan, scale, state.gradient, state.factors)


@compiled
def _pay(loop: Any, player: Any, share: Any, is_trunk: Any) -> Any:
    """Price a player's share against average plans; return what its own one is paid there."""
    state, shares = loop.state, loop.game.polytopes.shares
    _price(loop, player, share, is_trunk, state.average, 1.0)
    paid = 0.0
    for s in range(np.uint64(shares[share]), np.uint64(shares[share + ONE])):
        paid += state.average[s] * state.gradient[s]
    return paid


@compiled
def _learn_at(loop: Any, player: Any, share: Any, is_trunk: Any, shift: Any) -> None:
    """Price a player's share against the others' plans, and update its regrets and its behaviour there."""
    state, run, polytopes = loop.state, loop.run, loop.game.polytopes
    if len(run.tilt) > 0:
        for s in range(np.uint64(polytopes.shares[share]), np.uint64(polytopes.shares[share + ONE])):
            state.gradient[s] += run.tilt[s]
    _price(loop, player, share, is_trunk, state.plan, run.scales[player])
    if loop.branches is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
        if is_trunk:
            collect(polytopes, share, loop.branches, state.gradient)
    if loop.preferences is not None:
        # Calls that differ in what is None are compiled each on its own.
        local, bias = loop.preferences.local, loop.preferences.bias[player]
        if bias == IN_PROPORTION:
            bottom_up(polytopes, share, state, loop.now, loop.branches, shift, local, None, loop.part)
            return
        if bias == ON_ONE:
            bottom_up(polytopes, share, state, loop.now, loop.branches, shift, local, ONE, loop.part)
            return
    bottom_up(polytopes, share, state, loop.now, loop.branches, shift, None, None, loop.part)


@compiled
def _do(loop: Any, step: Any, player: Any, number: Any) -> Any:
    """Do a step at a branch of such a number, or at the trunk, which is share 0; return what PAY is paid there."""
    polytopes = loop.game.polytopes
    branches = loop.branches
    num_players = _number_of_players(loop)
    num_shares = np.uint64(len(polytopes.roots)) // num_players
    share, is_trunk, shift = player * num_shares + number, number == ZERO, ZERO
    if branches is not None:
        shift = (number - ONE) * branches.stride - _base(loop, player)
        if not is_trunk:
            # New plans of branches wait for when these are looked at next, so that they still are in the cache then.
            for each in range(num_players):
                if branches.decays[each] >= 0.0:
                    top_down(polytopes, each * num_shares + number, loop.state, branches.decays[each], loop.part)
    if step == LEARN:
        _learn_at(loop, player, share, is_trunk, shift)
    elif step == AVERAGE:
        for each in range(num_players):
            _average(loop, each, each * num_shares + number)
    elif step == PAY:
        return _pay(loop, player, share, is_trunk)
    elif step == ANSWER:
        if branches is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
            if is_trunk:
                collect(polytopes, share, branches, loop.state.gradient)
        best_response(polytopes, share, loop.state.gradient, branches, shift)
    return 0.0


# --- a step at all shares ---------------------------------------------------------------------------------------------


@compiled
def _take_branches(loop: Any, phase: Any, first: Any) -> None:
    """Do the step of a phase at one branch after the other, from a first one on, until all are taken."""
    team, job = loop.branches.team, loop.branches.job
    num_branches, tried = np.uint64(len(team.claims)), ZERO
    while True:
        tried = take(team, phase, first, tried)
        if tried > num_branches:
            break
        # Only who has taken a branch knows that the job stays as it is.
        branch = ONE + (first + tried - ONE) % num_branches
        team.sums[branch * np.uint64(LINE)] = _do(loop, job.step, job.player, branch)
        count_one(team.done)


@compiled
def _do_everywhere(loop: Any, step: Any, player: Any) -> Any:
    """Do a step at all branches, with the threads that help, and then at the trunk; return what PAY is paid in all."""
    branches = loop.branches
    if branches is not None:
        branches.job.step, branches.job.player = step, player
        _take_branches(loop, begin(branches.team), ZERO)
        wait_for_all(branches.team)
        for each in range(_number_of_players(loop)):
            branches.decays[each] = -1.0
    paid = _do(loop, step, player, ZERO)
    if branches is not None and step == PAY:
        for branch in range(np.uint64(len(branches.team.claims))):
            paid += branches.team.sums[(branch + ONE) * np.uint64(LINE)]
    return paid


@compiled
def _catch_up(loop: Any) -> None:
    """Let branches form the plans that they are late with, if they are."""
    if loop.branches is not None:
        late = False
        for player in range(_number_of_players(loop)):
            late = late or loop.branches.decays[player] >= 0.0
        if late:
            _do_everywhere(loop, CATCH_UP, ZERO)


@compiled
def _help(loop: Any, first: Any) -> None:
    """Take branches in every phase until the run ends."""
    phase = 0
    while True:
        phase = wait_for_work(loop.branches.team, phase)
        if phase < 0:
            return
        _take_branches(loop, phase, first)


# --- one iteration ----------------------------------------------------------------------------------------------------


@compiled
def _learn(loop: Any, player: Any) -> None:
    """Update a player's regrets and behaviour by what its sequences are paid, less what they cost."""
    state = loop.state
    preferences = loop.preferences
    limits = loop.limits
    if preferences is not None:
        t = state.clock[DONE]
        block = BLOCK if t <= EARLY else LATE_BLOCK
        if preferences.depending[player] != 0 and (_number_of_players(loop) != TWO or t % block == 1):
            _catch_up(loop)
            price_infosets(preferences, loop.game.polytopes.bases, player, state)
    if limits is not None:
        add_multipliers(limits.rows, player, limits.multipliers.values, state.gradient)
    _do_everywhere(loop, LEARN, player)
    arrived(_base(loop, player), state.gradient)


@compiled
def _plan(loop: Any, player: Any, decay: Any) -> None:
    """Average a player's plan, the sums before it multiplied by a decay, and form the next one.

    Of branches this is done with the next step. Multipliers answer the old plan where players move at once, and the new
    one where they move in turn.
    """
    polytopes, state = loop.game.polytopes, loop.state
    limits = loop.limits
    num_shares = np.uint64(len(polytopes.roots)) // _number_of_players(loop)
    if limits is not None:
        step = _dual_step(limits.dual, state.clock[DONE])
        if limits.curves is not None:
            add_tangents(limits, player, decay)
        if not loop.run.alternating:
            move_multipliers(limits, player, state.plan, decay, step)
    if loop.preferences is not None:
        loop.preferences.pricing.kept[player] *= decay
    keep_root(_base(loop, player), state, decay)
    top_down(polytopes, player * num_shares, state, decay, loop.part)
    if loop.branches is not None:
        loop.branches.decays[player] = decay
    if limits is not None:
        _catch_up(loop)
        if limits.curves is not None:
            choose(limits, player, state.plan, step / limits.dual.step)
            _linearise(loop, player)
        if loop.run.alternating:
            move_multipliers(limits, player, state.plan, decay, step)


@compiled
def _dual_step(dual: Any, t: Any) -> Any:
    """Return the step of the multipliers in iteration t."""
    return dual.step * np.float64(t) ** -dual.power if dual.power != 0.0 else dual.step


@compiled
def _linearise(loop: Any, player: Any) -> None:
    """Replace a player's curved rows by their tangents at the plans of now."""
    clock = loop.state.clock
    decay = averaging_decay(loop.rule, clock[DONE], clock[DONE] - clock[BEGUN])
    linearise(loop.limits, player, loop.state, _base(loop, player), decay)


@compiled
def _linearise_all(loop: Any) -> None:
    """Do so for all players, if there are curved rows."""
    limits = loop.limits
    if limits is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
        if limits.curves is not None:
            for player in range(_number_of_players(loop)):
                _linearise(loop, player)


@compiled
def _is_interrupted(loop: Any) -> Any:
    """Whether Python, asked for a tangent, has answered that the loop is to stop."""
    limits = loop.limits
    if limits is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
        if limits.curves is not None:
            return limits.curves.calls[1] != 0
    return False


@compiled
def _iterate(loop: Any) -> None:
    """Do one iteration: discount, and let each player learn and plan, in turn or all at once."""
    state, clock, num_players = loop.state, loop.state.clock, _number_of_players(loop)
    done = clock[DONE]
    decay = averaging_decay(loop.rule, done, done - clock[BEGUN])
    discount(loop.rule, done, loop.now)
    if len(state.older) > 0:
        if (done + 1) % FOLD == 0:
            _catch_up(loop)
            fold(loop.game.polytopes.bases, state, loop.preferences)
        state.lag[0] *= decay
    clock[DONE] = done + 1
    if loop.run.alternating:
        for player in range(num_players):
            _learn(loop, player)
            _plan(loop, player, decay)
    else:
        for player in range(num_players):
            _learn(loop, player)
        for player in range(num_players):
            _plan(loop, player, decay)


# --- the certificate --------------------------------------------------------------------------------------------------


@compiled
def _average_multipliers(loop: Any) -> None:
    """Write average multipliers, or the current ones, and what curved rows are on average."""
    limits = loop.limits
    run = loop.run
    rows, multipliers = limits.rows, limits.multipliers
    for player in range(_number_of_players(loop)):
        weight = 0.0 if run.last_iterate else _weight(loop.state, _base(loop, player))
        for i in range(np.uint64(rows.ranges[player]), np.uint64(rows.ranges[player + ONE])):
            multipliers.average[i] = multipliers.sums[i] / weight if weight > 0.0 else multipliers.values[i]
        if limits.curves is not None:
            prove(limits, player, loop.state.average, run.last_iterate)


@compiled
def _certify(loop: Any, values: Any) -> Any:
    """Return the exploitability of the averages, or of the plans of now; with constraints the largest violation too.

    Written in ``values`` are also what best responses earn, and what players are paid.
    """
    state, num_players = loop.state, _number_of_players(loop)
    limits = loop.limits
    if len(state.older) > 0:
        _catch_up(loop)
        fold(loop.game.polytopes.bases, state, loop.preferences)
    _do_everywhere(loop, AVERAGE, ZERO)
    if limits is not None:
        _average_multipliers(loop)
    nash_conv, violation, worth = 0.0, 0.0, 0.0
    for player in range(num_players):
        payoff = _do_everywhere(loop, PAY, player)
        if limits is not None:
            worth = add_multipliers(limits.proven, player, limits.multipliers.average, state.gradient)
            worst, paid = excess(limits, player, state.average)
            if limits.dual.soft:
                payoff -= paid
            else:
                violation = max(violation, worst)
        _do_everywhere(loop, ANSWER, player)
        value = arrived(_base(loop, player), state.gradient) + worth
        values[ONE + player], values[ONE + num_players + player] = value, payoff
        nash_conv += value - payoff
    exploitability: Any = nash_conv / np.float64(num_players)
    if limits is not None:
        exploitability = max(nash_conv, violation)
        _linearise_all(loop)  # for a certificate rows are others
    values[0] = exploitability
    return exploitability


@compiled
def _next_check(loop: Any, exploitability: Any) -> Any:
    """Return after how many updates the next certificate is due.

    Close to the tolerance they come more often, so that little is done beyond it.
    """
    run, done, begun = loop.run, loop.state.clock[DONE], loop.state.clock[BEGUN]
    pace = math.sqrt(math.sqrt(run.growth)) if exploitability <= 2.0 * run.tolerance else run.growth
    return max(done + 1, begun + np.int64(math.ceil(min(np.float64(done - begun) * pace, 4e18))))


def run_loop(loop: Any, leads: Any, first: Any) -> Any:
    """Do up to so many more updates; see :meth:`Kernel.run`. Or, where this does not lead, help who does them.

    Returned are the exploitability at the last certificate and how many there were. The state tells the time itself:
    Ctrl-C arrives when this returns, before its caller could write anything down.
    """
    exploitability, checks = np.nan, 0
    if not leads:
        if loop.branches is not None:
            _help(loop, first)
        return exploitability, checks
    run, clock = loop.run, loop.state.clock
    last = clock[DONE] + run.iterations
    _linearise_all(loop)
    while checks < len(run.checked) and not exploitability <= run.tolerance:
        if clock[DONE] >= clock[DUE]:
            exploitability = _certify(loop, run.values[checks])
            run.checked[checks] = clock[DONE]
            checks += 1
            clock[DUE] = _next_check(loop, exploitability)
        elif clock[DONE] >= last or _is_interrupted(loop):
            break
        else:
            _iterate(loop)
    _catch_up(loop)
    return exploitability, checks


run_loop = compiled(run_loop, cache=True)
