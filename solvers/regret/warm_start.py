"""States of the compiled loop that start from strategies, from another state, or from their own averages."""

from __future__ import annotations

import numpy as np

from ..methods.rules import CFR
from .arrays import BEGUN, PreferenceArrays
from .constraints import KernelConstraints
from .kernel import Floats, Kernel, KernelState
from .preferences import biases


def restart(kernel: Kernel, state: KernelState, last_iterate: bool = False) -> None:
    """Restart a state from its average plans, or its current ones, which become the first plans of the average.

    Regrets become proportional to that behaviour and keep their Euclidean norm at each infoset, whose inverse is the
    size of an update's change of behaviour. Infosets that plans do not reach keep their behaviour.
    """
    arrays, plan = state.arrays, state.arrays.plan if last_iterate else kernel.average(state)
    behaviour = np.array(arrays.behaviour, dtype=np.float64)
    for start, count, arity, first in kernel.layout.buckets.tolist():
        place, reach = slice(start, start + count * arity), kernel.layout.reach(plan, first, count)
        reached = reach > 0.0
        old = arrays.regrets[place].reshape(arity, count)
        shares = np.where(reached, plan[place].reshape(arity, count) / np.where(reached, reach, 1.0), 0.0)
        sizes = np.linalg.norm(np.maximum(old, 0.0), axis=0) / np.maximum(np.linalg.norm(shares, axis=0), 1e-300)
        arrays.regrets[place] = np.where(reached, sizes * shares, old).ravel()
        behaviour[place] = np.where(reached, shares, behaviour[place].reshape(arity, count)).ravel()
    kernel.set_behaviour(state, behaviour)
    state.average_anew()
    arrays.clock[BEGUN] = state.iteration


def start_from(
    kernel: Kernel,
    behaviour: Floats,
    trust: float = 10.0,
    constraints: KernelConstraints | None = None,
    preferences: PreferenceArrays | None = None,
) -> KernelState:
    """Return a state that plays a behaviour (a kernel vector) and is biased towards it.

    Its regrets are substitutes: proportional to the behaviour, and at each infoset ``trust`` times as large as the
    largest regret of one update at that behaviour. Without them the first update would forget the start.

    Notes
    -----
    The idea is Brown and Sandholm's, "Strategy-based warm starting for regret minimization in games", AAAI 2016;
    they choose the size by a bound on the exploitability of the start.
    """
    state = kernel.initial_state(constraints)
    kernel.set_behaviour(state, behaviour)
    probe = state.copy()
    kernel.run(probe, CFR, 1, alternating=False)
    state.preferences = preferences
    for start, count, arity, _ in kernel.layout.buckets.tolist():
        place = slice(start, start + count * arity)
        size = np.abs(probe.arrays.regrets[place]).reshape(arity, count).max(axis=0)
        state.arrays.regrets[place] = trust * behaviour[place] * np.tile(size, arity)
    if preferences is not None:
        degrees, _ = biases(preferences.local, kernel.layout)
        state.arrays.regrets[:] /= degrees  # behaviour is proportional to the product
    state.origin = np.array(state.arrays.regrets)
    return state


def adopt(
    kernel: Kernel,
    state: KernelState,
    other: Kernel,
    constraints: KernelConstraints | None = None,
    preferences: PreferenceArrays | None = None,
) -> KernelState:
    """Convert another kernel's state, for the same game and method, to a kernel's layout; the state is copied."""
    if other is kernel:
        return state.copy()
    adopted = kernel.initial_state(constraints, preferences)
    ratio = other.layout.unit / kernel.layout.unit
    for own, array in zip(adopted.multipliers, state.multipliers, strict=True):
        own[:] = array * ratio
    for name in ("violations", "choices", "arguments"):  # these are not in payoff units
        getattr(adopted.multipliers, name)[:] = getattr(state.multipliers, name)
    adopted.multipliers.tallies[0] = state.multipliers.tallies[0]  # sums of violations are not in payoff units either

    def carry(vector: Floats, to: Floats, factor: float = 1.0) -> None:
        for player in range(kernel.layout.num_players):
            kernel.layout.from_user(player, other.layout.to_user(player, vector) * factor, out=to)

    mine, theirs = adopted.arrays, state.arrays
    sums = mine.older if len(mine.older) else mine.plan_sums
    carry(theirs.regrets, mine.regrets, ratio)
    carry(theirs.behaviour, mine.behaviour)
    for vector, plans in ((theirs.plan, mine.plan), (state.sums, sums)):
        carry(vector, plans)
        kernel.layout.fill_reaches(plans)
    if state.origin is not None:
        adopted.origin = np.zeros_like(mine.regrets)
        carry(state.origin, adopted.origin, ratio)
    mine.clock[:], adopted.restarts[:] = theirs.clock, state.restarts
    if preferences is not None and state.preferences is not None:
        # The costs of infosets, and the plans that still count for the next costs.
        pricing, asked = state.preferences.pricing, preferences.pricing
        carry(state.preferences.local.costs, preferences.local.costs, ratio)
        for player in range(kernel.layout.num_players):
            since = theirs.plan_sums - pricing.kept[player] * pricing.seen
            kernel.layout.from_user(player, -other.layout.to_user(player, since), out=asked.seen)
        asked.seen[:] += mine.plan_sums
    return adopted
