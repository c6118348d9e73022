"""The compiled samplers: external and outcome sampling on one table of histories.

The functions take arrays, change them in place and check nothing. The library calls them through
:class:`~treeplex.solvers.sampling.sampler.Sampler`. Walks keep their own stacks, so a game may have any depth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compilation import compiled, overload
from ..records import record
from ..team import begin, count_one, take, wait_for_all, wait_for_work

EXTERNAL, OUTCOME = 0, 1  # the sampling scheme
SIMPLE, SAMPLED, FULL = 0, 1, 2  # the averaging scheme
CHANCE, TERMINAL = -1, -2
#: The compiler options of overloaded functions, the same as those of :func:`compiled`.
_LIKE_COMPILED: Any = {"error_model": "numpy", "boundscheck": False}

ZERO = np.uint64(0)
ONE = np.uint64(1)
TWO = np.uint64(2)
THREE = np.uint64(3)
#: The number of bits by which a position is shifted right to get its block of 16; see ``side_by_side``.
SHIFT = np.uint64(4)


class StateArrays(NamedTuple):
    """The arrays that an iteration changes: vectors over positions, and small arrays."""

    regrets: Any
    sums: Any  # of strategies
    baselines: Any  # each player's value after each sequence, or at each history; empty without baselines
    clock: Any  # iterations, histories touched, and the state of the random numbers


class PreferringStateArrays(NamedTuple):
    """The arrays over positions of a run of Pref-CFR, including those that its local rule needs besides regrets."""

    regrets: Any
    sums: Any
    baselines: Any
    clock: Any
    degrees: Any  # of each sequence, at least 1
    vulnerability: Any  # by infoset, at the position of its first sequence
    divisors: Any  # at an infoset's first sequence the position of the number that its regrets are averaged over
    counts: Any  # a player's walks, at its empty sequence, and its visits to an infoset, at its first sequence
    visits: Any  # the target of new counts: the same array, unless policies must not change
    greedy: Any  # whether only the best action is played


@record
class ScratchArrays(NamedTuple):
    """Scratch arrays, with one entry per decision on the path, or one per action there."""

    frames: Any
    policies: Any
    values: Any
    plan: Any  # over positions
    changed: Any = None  # side by side: whether external walks have changed the regrets of a block
    words: Any = None  # the same as 64-bit words


@record
class LaneArrays(NamedTuple):
    """The sums of the walks of a batch before they are added to the state.

    Lanes are the parts of a batch: a lane's walks and random draws do not depend on the thread. Each lane
    has one place per position, and both are divided into as many sections as there are lanes. Within a section,
    infosets take places in the order in which walks reach them, so that the data of a batch are adjacent.
    """

    regrets: Any  # over places
    sums: Any
    visits: Any  # empty without a preference
    clock: Any  # nothing, histories touched, and the state of the random numbers
    places: Any  # for each infoset met, its place plus one, at the position of its first sequence
    met: Any  # that position and the number of actions, at the infoset's place
    taken: Any  # the number of places taken in each section
    starts: Any  # the first place of each section, in all lanes
    shift: Any  # the number of bits by which a position is shifted right to get its section


@record
class RunNumbers(NamedTuple):
    """The work of one call of a sampler, and its rule; see :class:`~treeplex.solvers.methods.rules.SamplingRule`."""

    iterations: Any
    until: Any  # stop after the iteration that reaches this total of touched histories
    sampling: Any
    averaging: Any
    floor: Any
    exploration: Any
    rate: Any
    by_history: Any
    walks: Any  # walks of each player in a batch


#: The jobs of threads on lanes: a player's walks, or adding up their results.
JOB = np.dtype([("player", np.int64), ("adds", np.bool_)])


@compiled
def _random(clock: Any) -> Any:
    """Return the next random number in [0, 1), by SplitMix64, whose state is a counter."""
    state = clock[TWO] + np.uint64(0x9E3779B97F4A7C15)
    clock[TWO] = state
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    state = state ^ (state >> np.uint64(31))
    return np.float64(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def draw_outcome(chance: Any, first: Any, count: Any, clock: Any) -> Any:
    """Return a random chance outcome: the first whose cumulative probability is above a random number."""
    number = _random(clock)
    low, high = ZERO, count - ONE
    while low < high:
        middle = (low + high) // TWO
        if chance[first + middle] > number:
            high = middle
        else:
            low = middle + ONE
    return low


def write_policy(state: Any, start: Any, count: Any, policies: Any, place: Any) -> None:
    """Write the policy of an infoset, for every walk. The state's type decides which version is compiled.

    Without a preference this is regret matching: in proportion to positive regrets. With a preference, regrets above
    the vulnerability are multiplied by their degrees, and play is in proportion, or only the best action is played.
    """
    raise NotImplementedError  # compiled code calls one of the two below


def count_walk(state: Any, place: Any, weight: Any) -> None:
    """Count a walk or a visit, if there is a preference."""
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
    # Regrets are sums: an average above β is a sum above β times the number of terms.
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


def prefers(state: Any) -> bool:
    """Whether the type of a state has a preference."""
    return bool(state.instance_class is PreferringStateArrays)


@overload(write_policy, jit_options=_LIKE_COMPILED)
def _compile_policy(state: Any, start: Any, count: Any, policies: Any, place: Any) -> Any:
    return _follow_preference if prefers(state) else _match_regrets


@overload(count_walk, jit_options=_LIKE_COMPILED)
def _compile_count(state: Any, place: Any, weight: Any) -> Any:
    return _count_visit if prefers(state) else _count_nothing


def on_lane(state: Any, lanes: Any, lane: Any) -> Any:
    """Return a state that has the same policies and adds the results of walks to a lane."""
    raise NotImplementedError


def _regrets_on_lane(state: Any, lanes: Any, lane: Any) -> Any:
    return StateArrays(state.regrets, lanes.sums[lane], state.baselines, lanes.clock[lane])


def _preferences_on_lane(state: Any, lanes: Any, lane: Any) -> Any:
    return PreferringStateArrays(
        state.regrets, lanes.sums[lane], state.baselines, lanes.clock[lane], state.degrees, state.vulnerability,
        state.divisors, state.counts, lanes.visits[lane], state.greedy,
    )  # fmt: skip


@overload(on_lane, jit_options=_LIKE_COMPILED)
def _compile_on_lane(state: Any, lanes: Any, lane: Any) -> Any:
    return _preferences_on_lane if prefers(state) else _regrets_on_lane


@compiled
def find_place(lanes: Any, lane: Any, position: Any, count: Any) -> Any:
    """Return where walks add their results at an infoset: its place in a lane or, without lanes, its position."""
    if lanes is None:
        return position
    place = np.uint64(lanes.places[lane, position])
    if place != ZERO:
        return place - ONE
    section = position >> lanes.shift
    place = lanes.starts[section] + lanes.taken[lane, section]
    lanes.taken[lane, section] += count
    lanes.places[lane, position] = place + ONE
    lanes.met[lane, place, ZERO], lanes.met[lane, place, ONE] = position, count
    return place


@compiled
def draw_action(policies: Any, place: Any, count: Any, uniform: Any, clock: Any) -> Any:
    """Return a random action of a policy mixed with the uniform policy."""
    number = _random(clock)
    each = uniform / np.float64(count)
    chosen: Any = ZERO
    for action in range(count):
        probability = policies[place + action] * (1.0 - uniform) + each
        if probability > 0.0:
            chosen = action  # with round-off, the last possible action
            if number < probability:
                break
            number -= probability
    return chosen


@compiled
def traverse_external(
    tree: Any, player: Any, floor: Any, average: Any, state: Any, target: Any, scratch: Any, lanes: Any, lane: Any
) -> None:
    """Walk all actions of a player and one of each other player, and add the sampled regrets to ``target``.

    With ``average``, the next player adds its policy to its sums at the infosets met. With lanes, everything is added
    at infosets' places in a lane.
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
                action = draw_outcome(tree.chance, place, count, clock)
            else:
                write_policy(state, place, count, policies, top)
                if mover == player:
                    frames[depth, ZERO], frames[depth, ONE], frames[depth, TWO] = node, ZERO, top
                    depth += ONE
                    top += count
                else:
                    if average and np.uint64(mover) == averaged:
                        to = find_place(lanes, lane, place, count)
                        for each in range(count):
                            state.sums[to + each] += policies[top + each]
                    action = draw_action(policies, top, count, 0.0, clock)
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
            to = find_place(lanes, lane, place, count)
            for each in range(count):
                target[to + each] = max(target[to + each] + (values[first + each] - value), floor)
            count_walk(state, to, 1.0)
            if scratch.changed is not None:
                block, last = to >> SHIFT, (to + count - ONE) >> SHIFT
                scratch.changed[block] = scratch.changed[last] = True
                while block + ONE < last:
                    block += ONE
                    scratch.changed[block] = True
            depth, top = frame, first
        if depth == ZERO:
            break
    clock[ONE] += touched


@compiled
def traverse_outcome(
    tree: Any,
    player: Any,
    run: Any,
    average: Any,
    by_history: Any,
    state: Any,
    target: Any,
    scratch: Any,
    lanes: Any,
    lane: Any,
) -> None:
    """Walk one path, mixing a player's policy with the uniform one, and add the sampled regrets to ``target``.

    With lanes, everything is added at infosets' places in a lane, and regrets are not clipped.

    Weights stay within the range of floats: a play with weight w is sampled with a probability of at most 1 / w, and a
    game that fits in memory has too few plays for one with w > 1e280 to occur.
    """
    nodes, clock, baselines = tree.nodes, state.clock, state.baselines
    floor, exploration, rate = run.floor if lanes is None else -np.inf, run.exploration, run.rate
    frames, policies, values = scratch.frames, scratch.policies, scratch.values
    num_players = np.uint64(tree.payoffs.shape[1])
    averaged = (np.uint64(player) + ONE) % num_players
    learns, walker = len(baselines) > 0, np.uint64(player)
    node, depth, top, touched = ZERO, ZERO, ZERO, np.uint64(1)
    reach = 1.0  # the player's own sampling probability of this history
    while True:
        mover = nodes[node, ZERO]
        if mover == TERMINAL:
            break
        count, place = np.uint64(nodes[node, TWO]), np.uint64(nodes[node, THREE])
        if mover == CHANCE:
            action = draw_outcome(tree.chance, place, count, clock)
            if by_history:
                frames[depth, ZERO], frames[depth, ONE] = node, action
                depth += ONE
        else:
            write_policy(state, place, count, policies, top)
            values[depth] = reach
            if mover == player:
                action = draw_action(policies, top, count, exploration, clock)
                reach *= policies[top + action] * (1.0 - exploration) + exploration / np.float64(count)
            else:
                if average and np.uint64(mover) == averaged:
                    to = find_place(lanes, lane, place, count)
                    for each in range(count):
                        state.sums[to + each] += policies[top + each] / reach
                action = draw_action(policies, top, count, 0.0, clock)
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
        # The baselines of all actions, with the sampled action's corrected by its sample.
        before, expected = 0.0, 0.0
        if learns:
            before = baselines[walker, slot + action]
            for each in range(count):
                expected += policies[first + each] * baselines[walker, slot + each]
            baselines[walker, slot + action] = before + rate * (value - before)
        correction = (value - before) / sampled
        mean = expected + probability * correction
        if mover == player:
            weight, to = 1.0 / values[depth], find_place(lanes, lane, place, count)
            for each in range(count):
                # The baseline of the sampled action has changed since.
                own = before if each == action else (baselines[walker, slot + each] if learns else 0.0)
                own += correction if each == action else 0.0
                target[to + each] = max(target[to + each] + weight * (own - mean), floor)
            count_walk(state, to, weight)
        value = mean
    clock[ONE] += touched


@compiled
def average_on_a_path(tree: Any, player: Any, state: Any, scratch: Any, lanes: Any, lane: Any) -> None:
    """Walk one path, on which all others play uniformly, and add a player's policies to its sums."""
    nodes, clock, policies = tree.nodes, state.clock, scratch.policies
    node, touched = ZERO, np.uint64(1)
    while nodes[node, ZERO] != TERMINAL:
        mover, count, place = nodes[node, ZERO], np.uint64(nodes[node, TWO]), np.uint64(nodes[node, THREE])
        if mover == CHANCE:
            action = draw_outcome(tree.chance, place, count, clock)
        elif mover == player:
            write_policy(state, place, count, policies, ZERO)
            to = find_place(lanes, lane, place, count)
            for each in range(count):
                state.sums[to + each] += policies[each]
            action = draw_action(policies, ZERO, count, 0.0, clock)
        else:
            action = min(np.uint64(_random(clock) * np.float64(count)), count - ONE)
        node = np.uint64(nodes[node, ONE]) + action
        touched += ONE
    clock[ONE] += touched


@compiled
def average_in_full(tree: Any, bases: Any, player: Any, state: Any, scratch: Any) -> None:
    """Add a player's realization plan to its sums."""
    infosets, plan, policies = tree.infosets, scratch.plan, scratch.policies
    plan[np.uint64(bases[player])] = 1.0
    for i in range(np.uint64(tree.ranges[player]), np.uint64(tree.ranges[player + 1])):
        start, count = np.uint64(infosets[i, ZERO]), np.uint64(infosets[i, ONE])
        reach = plan[np.uint64(infosets[i, TWO])]
        if reach > 0.0:
            write_policy(state, start, count, policies, ZERO)
            for action in range(count):
                plan[start + action] = reach * policies[action]
                state.sums[start + action] += plan[start + action]
        else:
            for action in range(count):
                plan[start + action] = 0.0
    state.clock[ONE] += np.uint64(tree.ranges[player + 1] - tree.ranges[player])


def run_samplers(tree: Any, bases: Any, state: Any, target: Any, scratch: Any, run: Any, player: Any) -> None:
    """Do a number of iterations.

    The state is :class:`StateArrays` or :class:`PreferringStateArrays`.

    In an iteration each player walks once, in turn. With a ``player`` of 0 or more, only that player walks, and the
    averages do not change. Regrets are added to ``target``, the state's own array unless its regrets must not change.
    """
    by_history = run.by_history and len(state.baselines) > 0
    clock, num_players = state.clock, len(bases) - 1
    last = clock[ZERO] + run.iterations
    while clock[ZERO] < last and clock[ONE] < run.until:
        for actor in range(num_players):
            if player >= 0 and actor != player:
                continue
            if player < 0 and run.averaging == SAMPLED:
                average_on_a_path(tree, actor, state, scratch, None, ZERO)
            elif player < 0 and run.averaging == FULL:
                average_in_full(tree, bases, actor, state, scratch)
            average = player < 0 and run.averaging == SIMPLE
            if run.sampling == EXTERNAL:
                traverse_external(tree, actor, run.floor, average, state, target, scratch, None, ZERO)
            else:
                traverse_outcome(tree, actor, run, average, by_history, state, target, scratch, None, ZERO)
            count_walk(state, np.uint64(bases[actor]), 1.0)
        clock[ZERO] += ONE


run_samplers = compiled(run_samplers, cache=True)


@compiled
def _walk(
    tree: Any, base: Any, state: Any, lanes: Any, lane: Any, scratch: Any, player: Any, walks: Any, averaging: Any
) -> None:
    """Do a lane's walks of a player."""
    own = on_lane(state, lanes, lane)
    for _ in range(walks):
        if averaging == SAMPLED:
            average_on_a_path(tree, player, own, scratch, lanes, lane)
        target = lanes.regrets[lane]
        traverse_external(tree, player, -np.inf, averaging == SIMPLE, own, target, scratch, lanes, lane)
        count_walk(own, find_place(lanes, lane, base, ONE), 1.0)


@compiled
def add_section(state: Any, lanes: Any, section: Any, floor: Any) -> None:
    """Add the walks' results at the infosets of a section, lane by lane, and clear the section in all lanes."""
    regrets, sums, start = state.regrets, state.sums, lanes.starts[section]
    num_lanes = np.uint64(len(lanes.clock))
    for lane in range(num_lanes):
        place = start
        while place < start + lanes.taken[lane, section]:
            position, count = np.uint64(lanes.met[lane, place, ZERO]), np.uint64(lanes.met[lane, place, ONE])
            for each in range(count):
                regrets[position + each] += lanes.regrets[lane, place + each]
                sums[position + each] += lanes.sums[lane, place + each]
                lanes.regrets[lane, place + each], lanes.sums[lane, place + each] = 0.0, 0.0
            if lanes.visits.shape[1] > 0:
                count_walk(state, position, lanes.visits[lane, place])
                lanes.visits[lane, place] = 0.0
            lanes.places[lane, position] = 0
            place += count
    for lane in range(num_lanes):
        if floor > -np.inf:
            place = start
            while place < start + lanes.taken[lane, section]:
                position, count = np.uint64(lanes.met[lane, place, ZERO]), np.uint64(lanes.met[lane, place, ONE])
                for each in range(position, position + count):
                    regrets[each] = max(regrets[each], floor)
                place += count
        lanes.taken[lane, section] = ZERO


@compiled
def _take_lanes(
    tree: Any, bases: Any, state: Any, lanes: Any, scratch: Any, run: Any, job: Any, team: Any, phase: Any, first: Any
) -> None:
    """Do a phase's job for lane after lane, starting with a first one, until all are taken."""
    num_lanes, tried = np.uint64(len(lanes.clock)), ZERO
    while True:
        tried = take(team, phase, first, tried)
        if tried > num_lanes:
            break
        # The job cannot change while this thread has taken a lane.
        player, share = job.player, (first + tried - ONE) % num_lanes
        if job.adds:
            add_section(state, lanes, share, run.floor)
        else:
            walks = run.walks * (share + ONE) // num_lanes - run.walks * share // num_lanes
            _walk(tree, np.uint64(bases[player]), state, lanes, share, scratch, player, walks, run.averaging)
        count_one(team.done)


def run_batches(
    tree: Any, bases: Any, state: Any, lanes: Any, scratch: Any, run: Any, job: Any, team: Any, leads: Any, first: Any
) -> None:
    """Do a number of batches like :func:`run_samplers`; on other threads, help the leading one.

    In an iteration the players do their external walks in turn, each with the policies from before its first walk.
    """
    phase = 0
    if not leads:
        while True:
            phase = wait_for_work(team, phase)
            if phase < 0:
                return
            _take_lanes(tree, bases, state, lanes, scratch, run, job, team, phase, first)
    clock = state.clock
    last = clock[ZERO] + run.iterations
    while clock[ZERO] < last and clock[ONE] < run.until:
        for player in range(len(bases) - 1):
            if run.averaging == FULL:
                average_in_full(tree, bases, player, state, scratch)
            for step in range(2):
                job.player, job.adds = player, step == 1
                _take_lanes(tree, bases, state, lanes, scratch, run, job, team, begin(team), first)
                wait_for_all(team)
        clock[ZERO] += ONE
        for lane in range(len(lanes.clock)):
            clock[ONE] += lanes.clock[lane, ONE]
            lanes.clock[lane, ONE] = ZERO


run_batches = compiled(run_batches, cache=True)
