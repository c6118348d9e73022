"""The compiled samplers under constraints: walks that pay for them, and multipliers that are learned."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compilation import compiled
from ..records import record
from .kernel import (
    EXTERNAL,
    FULL,
    ONE,
    OUTCOME,
    SAMPLED,
    SIMPLE,
    ZERO,
    add_section,
    average_in_full,
    average_on_a_path,
    draw_action,
    draw_outcome,
    find_place,
    on_lane,
    traverse_external,
    traverse_outcome,
    write_policy,
)


@record
class CostArrays(NamedTuple):
    """The linear rows of constraints, and the infosets on the way to their sequences.

    Positions number the sequences of all players consecutively; see
    :class:`~treeplex.solvers.sampling.tree.HistoryTree`.
    """

    entries: Any  # of each position, and one more: its first entry in the next two
    owners: Any  # the row
    coefficients: Any
    children: Any  # of each position, and one more: the first in the next three of the infosets on the way after it
    infosets: Any  # their numbers
    shares: Any  # the probability with which each is drawn among those after its sequence
    sums: Any  # of these probabilities up to each
    exact: Any  # by player: whether walks take all paths instead of one drawn path
    constants: Any  # of rows
    caps: Any  # of multipliers
    rates: Any  # the change of a multiplier for a violation of 1 with step 1
    queue: Any  # scratch space for the infosets of a walk,
    weights: Any  # for one over the probability of coming to each, and the same from its parent on,
    values: Any  # and for values over positions


@record
class MultiplierArrays(NamedTuple):
    """The multipliers of rows, and the sums over a run."""

    values: Any
    sums: Any
    tallies: Any  # Σ f̂, Σ λ f̂ and the largest λ
    found: Any  # f̂ of this iteration, without the constant


@record
class DualNumbers(NamedTuple):
    """The update rule of multipliers."""

    step: Any
    power: Any  # a step is step / t^power


@compiled
def _follow(costs: Any, position: Any, weight: Any, chance: Any, count: Any, exact: Any, clock: Any) -> Any:
    """Queue all infosets on the way that follow a sequence, or a random one of them; return the length of the queue."""
    first, number = costs.children[position], costs.children[position + ONE] - costs.children[position]
    if number == ZERO:
        return count
    last = first + number
    if not exact:
        if number > ONE:
            first += draw_outcome(costs.sums, first, number, clock)
        last = first + ONE
    while first < last:
        ratio = 1.0 if exact else 1.0 / (costs.shares[first] * chance)
        costs.queue[count] = costs.infosets[first]
        costs.weights[count, ZERO], costs.weights[count, ONE] = weight * ratio, ratio
        count += ONE
        first += ONE
    return count


@compiled
def pay_costs(
    tree: Any,
    player: Any,
    base: Any,
    run: Any,
    state: Any,
    target: Any,
    scratch: Any,
    lanes: Any,
    costs: Any,
    duals: Any,
) -> None:
    """Subtract the costs of a player's rows, times their multipliers, from its regrets, and estimate the rows' values.

    The costs and the values are unbiased, and exact if the player takes all paths.
    """
    queue, weights, values, plan, policies = costs.queue, costs.weights, costs.values, scratch.plan, scratch.policies
    exact, clock = costs.exact[player], state.clock
    on_a_path = run.sampling == OUTCOME and not exact
    plan[base] = 1.0
    count, done = _follow(costs, base, 1.0, 1.0, ZERO, exact, clock), ZERO
    while done < count:
        infoset, weight = queue[done], weights[done, ZERO]
        start, number = np.uint64(tree.infosets[infoset, ZERO]), np.uint64(tree.infosets[infoset, ONE])
        reach = plan[np.uint64(tree.infosets[infoset, np.uint64(2)])]
        write_policy(state, start, number, policies, ZERO)
        chosen, chance = number, 1.0
        if on_a_path:
            chosen = draw_action(policies, ZERO, number, run.exploration, clock)
            chance = policies[chosen] * (1.0 - run.exploration) + run.exploration / np.float64(number)
        for action in range(number):
            position = start + action
            plan[position] = reach * policies[action]
            values[position] = 0.0
            for each in range(costs.entries[position], costs.entries[position + ONE]):
                row = costs.owners[each]
                values[position] -= duals.values[row] * costs.coefficients[each]
                duals.found[row] += weight * plan[position] * costs.coefficients[each]
        for action in range(number):
            if action == chosen or not on_a_path:
                count = _follow(costs, start + action, weight, chance, count, exact, clock)
        done += ONE
    clock[ONE] += count
    while done > ZERO:
        done -= ONE
        infoset = queue[done]
        start, number = np.uint64(tree.infosets[infoset, ZERO]), np.uint64(tree.infosets[infoset, ONE])
        write_policy(state, start, number, policies, ZERO)
        mean = 0.0
        for action in range(number):
            mean += policies[action] * values[start + action]
        to = find_place(lanes, ZERO, start, number)
        for action in range(number):
            target[to + action] += weights[done, ZERO] * (values[start + action] - mean)
        parent = np.uint64(tree.infosets[infoset, np.uint64(2)])
        if parent != base:
            values[parent] += weights[done, ONE] * mean


@compiled
def _move(costs: Any, duals: Any, dual: Any, t: Any) -> None:
    """Move multipliers along the sampled values, within their bounds."""
    step = dual.step * np.float64(t) ** -dual.power if dual.power != 0.0 else dual.step
    for row in range(len(duals.values)):
        value, found = duals.values[row], duals.found[row] + costs.constants[row]
        duals.found[row] = 0.0
        duals.sums[row] += value
        duals.tallies[0, row] += found
        duals.tallies[1, row] += value * found
        duals.tallies[2, row] = max(duals.tallies[2, row], value)
        duals.values[row] = min(max(value + step * costs.rates[row] * found, 0.0), costs.caps[row])


def run_constrained(
    tree: Any, bases: Any, state: Any, lanes: Any, scratch: Any, run: Any, costs: Any, duals: Any, dual: Any
) -> None:
    """Do a number of iterations, in which all walks use the policies and multipliers from before the iteration."""
    by_history = run.by_history and len(state.baselines) > 0
    clock, target = state.clock, lanes.regrets[ZERO]
    own = on_lane(state, lanes, ZERO)
    last = clock[ZERO] + run.iterations
    while clock[ZERO] < last and clock[ONE] < run.until:
        for player in range(len(bases) - 1):
            if run.averaging == SAMPLED:
                average_on_a_path(tree, player, own, scratch, lanes, ZERO)
            elif run.averaging == FULL:
                average_in_full(tree, bases, player, state, scratch)
            average = run.averaging == SIMPLE
            if run.sampling == EXTERNAL:
                traverse_external(tree, player, -math.inf, average, own, target, scratch, lanes, ZERO)
            else:
                traverse_outcome(tree, player, run, average, by_history, own, target, scratch, lanes, ZERO)
            pay_costs(tree, player, np.uint64(bases[player]), run, own, target, scratch, lanes, costs, duals)
        add_section(state, lanes, ZERO, run.floor)
        clock[ZERO] += ONE
        clock[ONE] += lanes.clock[ZERO, ONE]
        lanes.clock[ZERO, ONE] = ZERO
        _move(costs, duals, dual, clock[ZERO])


run_constrained = compiled(run_constrained, cache=True)
