"""The compiled loop of the counterfactual-regret family.

One iteration discounts regrets and sums of plans. Then each player learns: it computes the gradient of its payoff at
the opponents' plans and runs the local regret minimiser at each infoset in a bottom-up pass. Next each player plans: a
top-down pass adds the plan from before the update to the average and forms the new plan. The numbers of the local rule
determine the algorithm; see :mod:`~treeplex.solvers.regret.local_rule`.

The functions here, in :mod:`~treeplex.solvers.regret.passes` and in :mod:`~treeplex.solvers.regret.rows` change the
arrays of :mod:`~treeplex.solvers.regret.arrays` in place without checks. The library calls them through
:class:`~treeplex.solvers.regret.kernel.Kernel`.

In each step, all threads process the branches of the game, and then one thread processes its trunk; a *share* is the
trunk or one branch. See :mod:`~treeplex.solvers.regret.branches` and :mod:`~treeplex.solvers.team`. Small games have no
branches, and code for branches is then not compiled.
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

IN_PROPORTION, ON_ONE = 1, 2  # with a bias, behaviour is proportional to δ (R − β)⁺, or all on the largest
# The reaches for vulnerabilities are averages over BLOCK iterations, and over LATE_BLOCK after iteration EARLY.
BLOCK, LATE_BLOCK, EARLY = 16, 64, 128
#: Steps: write averages, compute the payoff of a player's plan, compute a best response, update regrets. In every step,
#: branches first form the plans that are still pending; the last step does only that.
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
    """Return the total weight of the plans in a player's sums."""
    return state.older[base] if len(state.older) > 0 else np.float64(state.plan_sums[base])


@compiled
def _average(loop: Any, player: Any, share: Any) -> None:
    """Write a player's average (or current) plan at the positions of a share."""
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
    """Add to a player's gradient ``scale`` times its payoffs at a share against the others' plans."""
    game, state = loop.game, loop.state
    add_gradient(game, player, share, plan, scale, state.gradient)
    if is_trunk:
        add_factored(game.factored, player, plan, scale, state.gradient, state.factors)


@compiled
def _pay(loop: Any, player: Any, share: Any, is_trunk: Any) -> Any:
    """Compute the gradient at a player's share against average plans; return the payoff of its own average there."""
    state, shares = loop.state, loop.game.polytopes.shares
    _price(loop, player, share, is_trunk, state.average, 1.0)
    paid = 0.0
    for s in range(np.uint64(shares[share]), np.uint64(shares[share + ONE])):
        paid += state.average[s] * state.gradient[s]
    return paid


@compiled
def _learn_at(loop: Any, player: Any, share: Any, is_trunk: Any, shift: Any) -> None:
    """Compute the gradient at a player's share against the others' plans; update regrets and behaviour there."""
    state, run, polytopes = loop.state, loop.run, loop.game.polytopes
    if len(run.tilt) > 0:
        for s in range(np.uint64(polytopes.shares[share]), np.uint64(polytopes.shares[share + ONE])):
            state.gradient[s] += run.tilt[s]
    _price(loop, player, share, is_trunk, state.plan, run.scales[player])
    if loop.branches is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
        if is_trunk:
            collect(polytopes, share, loop.branches, state.gradient)
    if loop.preferences is not None:
        # Calls with different None arguments are compiled separately.
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
    """Do a step at the branch with a number, or at the trunk, which has number 0; return the payoff of PAY there."""
    polytopes = loop.game.polytopes
    branches = loop.branches
    num_players = _number_of_players(loop)
    num_shares = np.uint64(len(polytopes.roots)) // num_players
    share, is_trunk, shift = player * num_shares + number, number == ZERO, ZERO
    if branches is not None:
        shift = (number - ONE) * branches.stride - _base(loop, player)
        if not is_trunk:
            # New plans of branches are formed when the next step needs them, so that they are still in the cache.
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
    """Do the step of a phase at one branch after another, starting with ``first``, until none is left."""
    team, job = loop.branches.team, loop.branches.job
    num_branches, tried = np.uint64(len(team.claims)), ZERO
    while True:
        tried = take(team, phase, first, tried)
        if tried > num_branches:
            break
        # The job cannot change while this thread has a branch.
        branch = ONE + (first + tried - ONE) % num_branches
        team.sums[branch * np.uint64(LINE)] = _do(loop, job.step, job.player, branch)
        count_one(team.done)


@compiled
def _do_everywhere(loop: Any, step: Any, player: Any) -> Any:
    """Do a step at all branches, with the helping threads, then at the trunk; return the total payoff of PAY."""
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
    """Form the pending plans of branches, if there are any."""
    if loop.branches is not None:
        late = False
        for player in range(_number_of_players(loop)):
            late = late or loop.branches.decays[player] >= 0.0
        if late:
            _do_everywhere(loop, CATCH_UP, ZERO)


@compiled
def _help(loop: Any, first: Any) -> None:
    """Process branches in every phase until the run ends, as a helping thread."""
    phase = 0
    while True:
        phase = wait_for_work(loop.branches.team, phase)
        if phase < 0:
            return
        _take_branches(loop, phase, first)


# --- one iteration ----------------------------------------------------------------------------------------------------


@compiled
def _learn(loop: Any, player: Any) -> None:
    """Update a player's regrets and behaviour from the payoffs of its sequences minus their costs."""
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
    """Multiply the sums of plans by a decay, add a player's plan, and form the next plan.

    Branches do this with the next step. Multipliers respond to the old plan if updates are simultaneous, and to the new
    plan if they alternate.
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
    """Replace a player's curved rows by their tangents at the current plans."""
    clock = loop.state.clock
    decay = averaging_decay(loop.rule, clock[DONE], clock[DONE] - clock[BEGUN])
    linearise(loop.limits, player, loop.state, _base(loop, player), decay)


@compiled
def _linearise_all(loop: Any) -> None:
    """Replace all players' curved rows by their tangents, if there are any."""
    limits = loop.limits
    if limits is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
        if limits.curves is not None:
            for player in range(_number_of_players(loop)):
                _linearise(loop, player)


@compiled
def _is_interrupted(loop: Any) -> Any:
    """Whether the Python function that computes tangents has requested the loop to stop."""
    limits = loop.limits
    if limits is not None:  # noqa: SIM102 - a condition of its own is what numba leaves out
        if limits.curves is not None:
            return limits.curves.calls[1] != 0
    return False


@compiled
def _iterate(loop: Any) -> None:
    """Do one iteration: discount, then learn and plan for each player, in turn or simultaneously."""
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
    """Write the average (or current) multipliers, and the averages of curved rows."""
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
    """Return the exploitability of the average or current plans; with constraints, the larger of gap and violation.

    The function also writes best-response values and payoffs to ``values``.
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
        _linearise_all(loop)  # restore the tangents that the certificate has changed
    values[0] = exploitability
    return exploitability


@compiled
def _next_check(loop: Any, exploitability: Any) -> Any:
    """Return the number of updates at which the next certificate is due.

    Certificates are more frequent close to the tolerance, so that few updates are done beyond it.
    """
    run, done, begun = loop.run, loop.state.clock[DONE], loop.state.clock[BEGUN]
    pace = math.sqrt(math.sqrt(run.growth)) if exploitability <= 2.0 * run.tolerance else run.growth
    return max(done + 1, begun + np.int64(math.ceil(min(np.float64(done - begun) * pace, 4e18))))


def run_loop(loop: Any, leads: Any, first: Any) -> Any:
    """Do the updates of :meth:`Kernel.run` on the leading thread; on other threads, help with branches.

    The result is the exploitability at the last certificate and the number of certificates. The clock is in the state,
    because Ctrl-C takes effect when this function returns, before its caller could record anything.
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
