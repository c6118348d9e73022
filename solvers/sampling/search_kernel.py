"""The compiled tree search of an approximate best response, on the visited part of a game.

If a walk reaches something that Python has to create first, the walk ends without a trace and reports what is missing.
It is then repeated with the same random numbers. As in :mod:`.kernel`, arrays are changed in place without checks.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compilation import compiled
from ..records import record
from .kernel import _random

#: Kinds of histories other than the searcher's decisions, whose kind is the number of their infoset.
DRAW, LEAF, UNKNOWN = -1, -2, -3
#: Columns of the table of histories; the parent is the place of the last own action, or -1.
KIND, CHILD, COUNT, PLACE, PARENT = 0, 1, 2, 3, 4
#: Columns of the table of infosets: places of actions, of features and of histories in it; the first of the latter is
#: -1 before these are known.
START, STOP, FEATURES, LAST, HISTORIES, END = 0, 1, 2, 3, 4, 5
#: The state of a search: the history, the searched infoset or -1, simulations done there, the stamp of this game's
#: entries, decisions made in it, games ended, the missing object, and simulations in all finished games.
NODE, INFOSET, SIMULATIONS, STAMP, DECISIONS, GAMES, MISSING, TOTAL = 0, 1, 2, 3, 4, 5, 6, 7
#: Why a search returns: it is done, a history must be expanded, or the histories of an infoset must be found.
DONE, EXPAND, BELIEVE, DECIDE = 0, 1, 2, 3


@record
class TreeArrays(NamedTuple):
    """The known part of a game."""

    nodes: Any
    infosets: Any
    sums: Any  # of probabilities up to each outcome, of chance and of the others
    payoffs: Any  # the searcher's, at leaves
    features: Any  # of infosets, as places of weights; the last is the infoset's own
    actions: Any  # a hash of each action of an infoset
    members: Any  # histories of infosets
    shares: Any  # sums of their probabilities, given the infoset


@record
class SearchArrays(NamedTuple):
    """The counts of a search, at infosets and their actions, and the decisions of a game."""

    stamps: Any
    visits: Any
    totals: Any
    priors: Any
    path: Any
    places: Any
    range: Any  # the lowest and the highest value met in a search


@record
class LearnerArrays(NamedTuple):
    """The two linear functions of features, and the number of updates of each feature."""

    values: Any
    logits: Any
    counts: Any


@record
class SearchNumbers(NamedTuple):
    """The hyper-parameters of the search and of the learning."""

    simulations: int
    exploration: float
    noise: float
    outcomes: float
    rate: float
    policy_rate: float


@compiled
def _logit_place(feature: Any, action: Any, mask: Any) -> Any:
    return (feature * 2654435761 + action) & mask


@compiled
def _drawn(sums: Any, first: Any, count: Any, clock: Any) -> Any:
    """Return a random index into sums of probabilities: the first whose sum is above a random number."""
    number = _random(clock)
    low, high = 0, count - 1
    while low < high:
        middle = (low + high) // 2
        if sums[first + middle] > number:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def _enter(tree: Any, search: Any, learner: Any, infoset: Any, stamp: Any) -> Any:
    """Add an infoset to the search tree with the learned policy, and return the learned value."""
    start, stop = tree.infosets[infoset, START], tree.infosets[infoset, STOP]
    first, last = tree.infosets[infoset, FEATURES], tree.infosets[infoset, LAST]
    search.stamps[infoset] = stamp
    mask, largest, total = len(learner.logits) - 1, -math.inf, 0.0
    for place in range(start, stop):
        search.visits[place], search.totals[place] = 0.0, 0.0
        logit = 0.0
        for feature in range(first, last):
            logit += learner.logits[_logit_place(tree.features[feature], tree.actions[place], mask)]
        search.priors[place] = logit
        largest = max(largest, logit)
    for place in range(start, stop):
        search.priors[place] = math.exp(search.priors[place] - largest)
        total += search.priors[place]
    value = 0.0
    for place in range(start, stop):
        search.priors[place] /= total
    for feature in range(first, last):
        value += learner.values[tree.features[feature]]
    return value


@compiled
def _chosen(tree: Any, search: Any, infoset: Any, exploration: Any, noise: Any) -> Any:
    """Return the index of the action with the largest PUCT score; untried actions have the mean of the others."""
    start, stop = tree.infosets[infoset, START], tree.infosets[infoset, STOP]
    visits, total = 0.0, 0.0
    for place in range(start, stop):
        visits += search.visits[place]
        total += search.totals[place]
    low, width = search.range[0], search.range[1] - search.range[0]
    mean = total / visits if visits > 0.0 else low
    best, most = start, -math.inf
    for place in range(start, stop):
        tried = search.visits[place]
        value = search.totals[place] / tried if tried > 0.0 else mean
        scaled = (value - low) / width if width > 0.0 else 0.5
        prior = (1.0 - noise) * search.priors[place] + noise / (stop - start)
        score = scaled + exploration * prior * math.sqrt(visits + 1.0) / (1.0 + tried)
        if score > most:
            best, most = place, score
    return best


@compiled
def _simulate(tree: Any, search: Any, learner: Any, control: Any, clock: Any, numbers: Any) -> Any:
    """Walk from a history of the infoset to a leaf or an infoset new to the search; return what is missing."""
    nodes, root, stamp = tree.nodes, control[INFOSET], control[STAMP]
    first, end = tree.infosets[root, HISTORIES], tree.infosets[root, END]
    node = np.int64(tree.members[first + _drawn(tree.shares, first, end - first, clock)])
    depth, infoset = 0, root
    while True:
        kind = np.int64(nodes[node, KIND])
        if kind == UNKNOWN:
            return node
        if kind == LEAF:
            value = tree.payoffs[nodes[node, PLACE]]
            break
        if kind == DRAW:
            node = nodes[node, CHILD] + _drawn(tree.sums, nodes[node, PLACE], nodes[node, COUNT], clock)
            continue
        infoset = kind
        if search.stamps[infoset] != stamp:
            value = _enter(tree, search, learner, infoset, stamp)
            break
        place = _chosen(tree, search, infoset, numbers.exploration, numbers.noise if depth == 0 else 0.0)
        search.places[depth] = place
        depth += 1
        node = nodes[node, CHILD] + place - tree.infosets[infoset, START]
    search.range[0], search.range[1] = min(search.range[0], value), max(search.range[1], value)
    for each in range(depth):
        search.visits[search.places[each]] += 1.0
        search.totals[search.places[each]] += value
    return -1


@compiled
def _best(tree: Any, search: Any, infoset: Any) -> Any:
    """Return the index of the action with the largest mean among those with at least a quarter of the most visits."""
    start, stop = tree.infosets[infoset, START], tree.infosets[infoset, STOP]
    most = 0.0
    for place in range(start, stop):
        most = max(most, search.visits[place])
    best, largest = start, -math.inf
    for place in range(start, stop):
        visits = search.visits[place]
        mean = search.totals[place] / visits if visits > 0.0 and visits >= 0.25 * most else -math.inf
        if mean > largest or (mean == largest and visits > search.visits[best]):
            best, largest = place, mean
    return best


@compiled
def _learn(tree: Any, search: Any, learner: Any, infoset: Any, result: Any, numbers: Any) -> None:
    """Move the value of an infoset towards the result, and its policy towards the visits."""
    start, stop = tree.infosets[infoset, START], tree.infosets[infoset, STOP]
    first, last = tree.infosets[infoset, FEATURES], tree.infosets[infoset, LAST]
    visits, total = 0.0, 0.0
    for place in range(start, stop):
        visits += search.visits[place]
        total += search.totals[place]
    target = numbers.outcomes * result + (1.0 - numbers.outcomes) * total / max(visits, 1.0)
    known = learner.counts[tree.features[last - 1]]
    step, mask = max(numbers.rate, (1.0 + known) ** -0.75), len(learner.logits) - 1
    missed, weight = target, 0.0
    for feature in range(first, last):
        missed -= learner.values[tree.features[feature]]
        weight += 1.0 / (1.0 + learner.counts[tree.features[feature]])
    for feature in range(first, last):
        where = tree.features[feature]
        share = 1.0 / ((1.0 + learner.counts[where]) * weight)
        learner.values[where] += step * missed * share
        for place in range(start, stop):
            wrong = search.visits[place] / max(visits, 1.0) - search.priors[place]
            learner.logits[_logit_place(where, tree.actions[place], mask)] += numbers.policy_rate * wrong * share
        learner.counts[where] += 1.0


@compiled
def _search(tree: Any, search: Any, learner: Any, control: Any, clock: Any, numbers: Any) -> Any:
    """Continue the simulations at the searched infoset; return why it stops."""
    infoset = control[INFOSET]
    value = 0.0
    if tree.infosets[infoset, HISTORIES] < 0:
        control[MISSING] = infoset
        return BELIEVE
    if control[SIMULATIONS] == 0:
        first, end = tree.infosets[infoset, HISTORIES], tree.infosets[infoset, END]
        if search.stamps[infoset] != control[STAMP] or first == end:
            value = _enter(tree, search, learner, infoset, control[STAMP])
        if first == end:  # no history to search from: the learned policy decides
            for place in range(tree.infosets[infoset, START], tree.infosets[infoset, STOP]):
                search.visits[place] = search.priors[place]
                search.totals[place] = search.priors[place] * value
            control[SIMULATIONS] = numbers.simulations
            return DONE
        search.range[0], search.range[1] = math.inf, -math.inf
    while control[SIMULATIONS] < numbers.simulations:
        before = clock[2]
        missing = _simulate(tree, search, learner, control, clock, numbers)
        if missing >= 0:
            clock[2], control[MISSING] = before, missing
            return EXPAND
        control[SIMULATIONS] += 1
    return DONE


@compiled
def _by_visits(tree: Any, search: Any, infoset: Any, clock: Any) -> Any:
    """Return the index of an action drawn in proportion to visits."""
    start, stop = tree.infosets[infoset, START], tree.infosets[infoset, STOP]
    left = 0.0
    for place in range(start, stop):
        left += search.visits[place]
    left *= _random(clock)
    for place in range(start, stop):
        left -= search.visits[place]
        if left < 0.0:
            return place
    return stop - 1


@compiled
def _walk(tree: Any, control: Any, clock: Any) -> Any:
    """Continue from a history past the others' moves to a decision, a leaf or a missing object; return its kind."""
    before, node = clock[2], control[NODE]
    while True:
        kind = np.int64(tree.nodes[node, KIND])
        if kind != DRAW:
            break
        node = tree.nodes[node, CHILD] + _drawn(tree.sums, tree.nodes[node, PLACE], tree.nodes[node, COUNT], clock)
    if kind == UNKNOWN:
        clock[2], control[MISSING] = before, node
    else:
        control[NODE] = node
    return kind


def run_games(tree: Any, search: Any, learner: Any, control: Any, clock: Any, numbers: Any, games: Any) -> Any:
    """Play training games until ``games`` have ended or something is missing; return what is missing, if anything."""
    while control[GAMES] < games:
        if control[INFOSET] < 0:
            kind = _walk(tree, control, clock)
            if kind == UNKNOWN:
                return EXPAND
            if kind == LEAF:
                result = tree.payoffs[tree.nodes[control[NODE], PLACE]]
                for decision in range(control[DECISIONS]):
                    _learn(tree, search, learner, search.path[decision], result, numbers)
                control[TOTAL] += control[DECISIONS] * numbers.simulations
                control[NODE], control[DECISIONS] = 0, 0
                control[STAMP] += 1
                control[GAMES] += 1
                clock[0] = clock[2]  # the state to which an interrupted game returns
                continue
            control[INFOSET], control[SIMULATIONS] = kind, 0
        wanted = _search(tree, search, learner, control, clock, numbers)
        if wanted != DONE:
            return wanted
        infoset = control[INFOSET]
        place = _by_visits(tree, search, infoset, clock)
        search.path[control[DECISIONS]] = infoset
        control[DECISIONS] += 1
        control[NODE] = tree.nodes[control[NODE], CHILD] + place - tree.infosets[infoset, START]
        control[INFOSET] = -1
    return DONE


def run_search(tree: Any, search: Any, learner: Any, control: Any, clock: Any, numbers: Any) -> Any:
    """Search at one infoset; at the end, entry ``MISSING`` is the index of the best action."""
    wanted = _search(tree, search, learner, control, clock, numbers)
    if wanted == DONE:
        control[MISSING] = _best(tree, search, control[INFOSET])
    return wanted


def run_play(tree: Any, control: Any, clock: Any, decided: Any, results: Any) -> Any:
    """Play games with the decided actions until the array of results is full."""
    while control[GAMES] < len(results):
        kind = _walk(tree, control, clock)
        if kind == UNKNOWN:
            return EXPAND
        if kind == LEAF:
            results[control[GAMES]] = tree.payoffs[tree.nodes[control[NODE], PLACE]]
            control[NODE] = 0
            control[GAMES] += 1
        elif decided[kind] < 0:
            control[MISSING] = kind
            return DECIDE
        else:
            control[NODE] = tree.nodes[control[NODE], CHILD] + decided[kind] - tree.infosets[kind, START]
    return DONE


run_games = compiled(run_games, cache=True)
run_search = compiled(run_search, cache=True)
run_play = compiled(run_play, cache=True)
