"""The compiled samplers: external and outcome sampling on one table of histories.

The functions take arrays, change them in place and check nothing; :class:`~treeplex.solvers.sampling.sampler.Sampler`
is what the library calls. Walks keep their own stacks, so that no game is too deep for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from ..compilation import compiled

EXTERNAL, OUTCOME = 0, 1  # what is sampled
SIMPLE, SAMPLED, FULL = 0, 1, 2  # how strategies are averaged
CHANCE, TERMINAL = -1, -2
#: What an overloaded function is compiled with, as :func:`compiled` does the others.
_LIKE_COMPILED: Any = {"error_model": "numpy", "boundscheck": False}

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)


class StateArrays(NamedTuple):
    """What an iteration changes: vectors over positions, and small ones."""

    regrets: Any
    sums: Any  # of strategies
    baselines: Any  # of each player's value after each sequence, or at each history; empty without baselines
    clock: Any  # iterations, histories touched, and the state of the random numbers


class PreferringStateArrays(NamedTuple):
    """A state with a preference in it: what Pref-CFR's local rule reads beside the regrets, over positions."""

    regrets: Any
    sums: Any
    baselines: Any
    clock: Any
    degrees: Any  # of each sequence, at least 1
    vulnerability: Any  # of an infoset, where its first sequence stands
    divisors: Any  # at an infoset's first sequence the position of the number that its regrets are averaged over
    counts: Any  # a player's walks, at its empty sequence, and its visits to an infoset, where its first one stands
    visits: Any  # what new ones are added to: the same array, unless policies are to stay as they are
    greedy: Any  # whether all weight is on the best action


class ScratchArrays(NamedTuple):
    """Room to work in: one entry a decision on the way, or one an action there."""

    frames: Any
    policies: Any
    values: Any
    plan: Any  # over positions


@compiled
def _random(clock: Any) -> Any:
    """Return the next random number of [0, 1): SplitMix64, whose state is a counter."""
    state = clock[TWO] + np.uint64(0x9E3779B97F4A7C15)
    clock[TWO] = state
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = state ^ (state >> np.uint64(31))
    return np.float64(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _outcome(chance: Any, first: Any, count: Any, clock: Any) -> Any:
    """Return a random outcome of chance, the first whose sum is above a random number."""
    number = _random(clock)
    low, high = ZERO, count - ONE
    while low < high:
        middle = (low + high) // TWO
        if chance[first + middle] > number:
            high = middle
        else:
            low = middle + ONE
    return low


def _policy(state: Any, start: Any, count: Any, policies: Any, place: Any) -> None:
    """Write the policy of an infoset: every walk asks here what is played. The state's type decides what is compiled.

    Without a preference that is regret matching: in proportion to positive regrets. With one regrets count as much as
    their degrees say, above what is tolerated; all play in proportion, or the best action takes all.
    """
    raise NotImplementedError  # compiled code calls one of the two below


def _count(state: Any, place: Any, weight: Any) -> None:
    """Count a walk or a visit, if there is a preference that wants to know."""
    raise NotImplementedError


def _match_regrets(state: Any, start: Any, count: Any, policies: Any, place: Any) -> None:
    regrets, total = state.regrets, 0.0
    for action in range(count):
        positive = max(regrets[start + action], 0.0)
        policies[place + action] = positive
        total += positive
    if total > 0.0:
        for action in range(count):
            policies[place + action] /= total
    else:
        for action in range(count):
            policies[place + action] = 1.0 / np.float64(count)


def _follow_preference(state: Any, start: Any, count: Any, policies: Any, place: Any) -> None:
    regrets, degrees = state.regrets, state.degrees
    # Regrets are sums: an average above β is a sum above β times the number that it is averaged over.
    least = state.vulnerability[start] * state.counts[np.uint64(state.divisors[start])]
    total, most, best = 0.0, 0.0, ZERO
    for action in range(count):
        positive = degrees[start + action] * max(regrets[start + action] - least, 0.0)
        policies[place + action] = positive
        total += positive
        if positive > most:
            most, best = positive, np.uint64(action)
    if total > 0.0 and state.greedy:
        for action in range(count):
            policies[place + action] = 0.0
        policies[place + best] = total
    elif not total > 0.0:
        for action in range(count):
            policies[place + action] = degrees[start + action] - 1.0
            total += policies[place + action]
    if total > 0.0:
        for action in range(count):
            policies[place + action] /= total
    else:
        for action in range(count):
            policies[place + action] = 1.0 / np.float64(count)


def _count_nothing(state: Any, place: Any, weight: Any) -> None:
    pass


def _count_visit(state: Any, place: Any, weight: Any) -> None:
    state.visits[place] += weight


def _prefers(state: Any) -> bool:
    """Whether the type of a state is that of one with a preference."""
    return bool(state.instance_class is PreferringStateArrays)


@overload(_policy, jit_options=_LIKE_COMPILED)
def _compile_policy(state: Any, start: Any, count: Any, policies: Any, place: Any) -> Any:
    return _follow_preference if _prefers(state) else _match_regrets


@overload(_count, jit_options=_LIKE_COMPILED)
def _compile_count(state: Any, place: Any, weight: Any) -> Any:
    return _count_visit if _prefers(state) else _count_nothing


@compiled
def _choice(policies: Any, place: Any, count: Any, uniform: Any, clock: Any) -> Any:
    """Return a random action: of a policy, mixed with so much of the uniform one."""
    number = _random(clock)
    each = uniform / np.float64(count)
    chosen: Any = ZERO
    for action in range(count):
        probability = policies[place + action] * (1.0 - uniform) + each
        if probability > 0.0:
            chosen = action  # round-off may leave something over: then it is the last that is possible
            if number < probability:
                break
            number -= probability
    return chosen


@compiled
def _traverse_external(tree: Any, player: Any, floor: Any, average: Any, state: Any, target: Any, scratch: Any) -> None:
    """Walk all actions of a player and one of everybody else's, and add the sampled regrets to ``target``.

    With ``average`` a player who follows adds its policy to its sums at the infosets met.
    """
    nodes, clock = tree.nodes, state.clock
    frames, policies, values = scratch.frames, scratch.policies, scratch.values
    num_players = np.uint64(tree.payoffs.shape[1])
    averaged = (np.uint64(player) + ONE) % num_players
    node, depth, top, touched = ZERO, ZERO, ZERO, np.uint64(1)
    while True:
        # Down to a leaf.
        while True:
            mover = nodes[node, ZERO]
            if mover == TERMINAL:
                break
            count, place = np.uint64(nodes[node, TWO]), np.uint64(nodes[node, THREE])
            action = ZERO
            if mover == CHANCE:
                action = _outcome(tree.chance, place, count, clock)
            else:
                _policy(state, place, count, policies, top)
                if mover == player:
                    frames[depth, ZERO], frames[depth, ONE], frames[depth, TWO] = node, ZERO, top
                    depth += ONE
                    top += count
                else:
                    if average and np.uint64(mover) == averaged:
                        for each in range(count):
                            state.sums[place + each] += policies[top + each]
                    action = _choice(policies, top, count, 0.0, clock)
            node = np.uint64(nodes[node, ONE]) + action
            touched += ONE
        value = tree.payoffs[np.uint64(nodes[node, THREE]), np.uint64(player)]
        # Up to an action that has not been walked.
        while depth > ZERO:
            frame = depth - ONE
            above, action, first = frames[frame, ZERO], frames[frame, ONE], frames[frame, TWO]
            values[first + action] = value
            count, place = np.uint64(nodes[above, TWO]), np.uint64(nodes[above, THREE])
            action += ONE
            if action < count:
                frames[frame, ONE] = action
                node = np.uint64(nodes[above, ONE]) + action
                touched += ONE
                break
            value = 0.0
            for each in range(count):
                value += policies[first + each] * values[first + each]
            for each in range(count):
                target[place + each] = max(target[place + each] + (values[first + each] - value), floor)
            _count(state, place, 1.0)
            depth, top = frame, first
        if depth == ZERO:
            break
    clock[ONE] += touched


@compiled
def _traverse_outcome(
    tree: Any, player: Any, floor: Any, average: Any, exploration: Any, rate: Any, by_history: Any, state: Any,
    target: Any, scratch: Any,
) -> None:  # fmt: skip
    """Walk one path, a player on its policy mixed with the uniform one, and add the sampled regrets to ``target``."""
    nodes, clock, baselines = tree.nodes, state.clock, state.baselines
    frames, policies, values = scratch.frames, scratch.policies, scratch.values
    num_players = np.uint64(tree.payoffs.shape[1])
    averaged = (np.uint64(player) + ONE) % num_players
    learns, walker = len(baselines) > 0, np.uint64(player)
    node, depth, top, touched = ZERO, ZERO, ZERO, np.uint64(1)
    reach = 1.0  # the probability with which the player's own sampling came here
    while True:
        mover = nodes[node, ZERO]
        if mover == TERMINAL:
            break
        count, place = np.uint64(nodes[node, TWO]), np.uint64(nodes[node, THREE])
        if mover == CHANCE:
            action = _outcome(tree.chance, place, count, clock)
            if by_history:
                frames[depth, ZERO], frames[depth, ONE] = node, action
                depth += ONE
        else:
            _policy(state, place, count, policies, top)
            values[depth] = reach
            if mover == player:
                action = _choice(policies, top, count, exploration, clock)
                reach *= policies[top + action] * (1.0 - exploration) + exploration / np.float64(count)
            else:
                if average and np.uint64(mover) == averaged:
                    for each in range(count):
                        state.sums[place + each] += policies[top + each] / reach
                action = _choice(policies, top, count, 0.0, clock)
            frames[depth, ZERO], frames[depth, ONE], frames[depth, TWO] = node, action, top
            depth += ONE
            top += count
        node = np.uint64(nodes[node, ONE]) + action
        touched += ONE
    value = tree.payoffs[np.uint64(nodes[node, THREE]), walker]
    while depth > ZERO:
        depth -= ONE
        above, action, first = frames[depth, ZERO], frames[depth, ONE], frames[depth, TWO]
        mover, count, place = nodes[above, ZERO], np.uint64(nodes[above, TWO]), np.uint64(nodes[above, THREE])
        slot = np.uint64(nodes[above, ONE]) if by_history else place
        if mover == CHANCE:
            before, expected, below = baselines[walker, slot + action], 0.0, 0.0
            for each in range(count):
                expected += (tree.chance[place + each] - below) * baselines[walker, slot + each]
                below = tree.chance[place + each]
            baselines[walker, slot + action] = before + rate * (value - before)
            value = expected + (value - before)
            continue
        probability = policies[first + action]
        sampled = probability
        if mover == player:
            sampled = probability * (1.0 - exploration) + exploration / np.float64(count)
        # The baseline's values of all actions, and the sampled one's corrected by what was found.
        before, expected = 0.0, 0.0
        if learns:
            before = baselines[walker, slot + action]
            for each in range(count):
                expected += policies[first + each] * baselines[walker, slot + each]
            baselines[walker, slot + action] = before + rate * (value - before)
        correction = (value - before) / sampled
        mean = expected + probability * correction
        if mover == player:
            weight = 1.0 / values[depth]
            for each in range(count):
                # The baseline of the sampled action has moved since.
                own = before if each == action else (baselines[walker, slot + each] if learns else 0.0)
                own += correction if each == action else 0.0
                target[place + each] = max(target[place + each] + weight * (own - mean), floor)
            _count(state, place, weight)
        value = mean
    clock[ONE] += touched


@compiled
def _average_on_a_path(tree: Any, player: Any, state: Any, scratch: Any) -> None:
    """Walk one path, everybody else playing uniformly, and add a player's policies to its sums."""
    nodes, clock, policies = tree.nodes, state.clock, scratch.policies
    node, touched = ZERO, np.uint64(1)
    while nodes[node, ZERO] != TERMINAL:
        mover, count, place = nodes[node, ZERO], np.uint64(nodes[node, TWO]), np.uint64(nodes[node, THREE])
        if mover == CHANCE:
            action = _outcome(tree.chance, place, count, clock)
        elif mover == player:
            _policy(state, place, count, policies, ZERO)
            for each in range(count):
                state.sums[place + each] += policies[each]
            action = _choice(policies, ZERO, count, 0.0, clock)
        else:
            action = min(np.uint64(_random(clock) * np.float64(count)), count - ONE)
        node = np.uint64(nodes[node, ONE]) + action
        touched += ONE
    clock[ONE] += touched


@compiled
def _average_in_full(tree: Any, bases: Any, player: Any, state: Any, scratch: Any) -> None:
    """Add a player's realization plan to its sums."""
    infosets, plan, policies = tree.infosets, scratch.plan, scratch.policies
    plan[np.uint64(bases[player])] = 1.0
    for i in range(np.uint64(tree.ranges[player]), np.uint64(tree.ranges[player + 1])):
        start, count = np.uint64(infosets[i, ZERO]), np.uint64(infosets[i, ONE])
        reach = plan[np.uint64(infosets[i, TWO])]
        if reach > 0.0:
            _policy(state, start, count, policies, ZERO)
            for action in range(count):
                plan[start + action] = reach * policies[action]
                state.sums[start + action] += plan[start + action]
        else:
            for action in range(count):
                plan[start + action] = 0.0
    state.clock[ONE] += np.uint64(tree.ranges[player + 1] - tree.ranges[player])


def run_samplers(
    tree: Any, bases: Any, state: Any, target: Any, scratch: Any, iterations: Any, until: Any, player: Any,
    sampling: Any, averaging: Any, numbers: Any,
) -> None:  # fmt: skip
    """Do up to ``iterations`` more, and stop after the one that has touched ``until`` histories in all.

    The state is :class:`StateArrays` or :class:`PreferringStateArrays`.

    In an iteration each player walks once, in turn; with a ``player`` of 0 or more, that one alone, which leaves the
    averages as they are. Regrets go to ``target``, which is the state's own array unless they are to stay as they are.
    """
    floor, exploration, rate = numbers[0], numbers[1], numbers[2]
    by_history = numbers[3] != 0.0 and len(state.baselines) > 0
    clock, num_players = state.clock, len(bases) - 1
    last = clock[ZERO] + iterations
    while clock[ZERO] < last and clock[ONE] < until:
        for actor in range(num_players):
            if player >= 0 and actor != player:
                continue
            if player < 0 and averaging == SAMPLED:
                _average_on_a_path(tree, actor, state, scratch)
            elif player < 0 and averaging == FULL:
                _average_in_full(tree, bases, actor, state, scratch)
            average = player < 0 and averaging == SIMPLE
            if sampling == EXTERNAL:
                _traverse_external(tree, actor, floor, average, state, target, scratch)
            else:
                _traverse_outcome(tree, actor, floor, average, exploration, rate, by_history, state, target, scratch)
            _count(state, np.uint64(bases[actor]), 1.0)
        clock[ZERO] += ONE


run_samplers = compiled(run_samplers, cache=True)
