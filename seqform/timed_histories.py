"""Histories in the order of time: all histories of an infoset at one."""

from array import array
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from .budget import Budget
from .errors import UnsupportedProblemError, shown
from .rules import CHANCE, TERMINAL, Rules

#: What a history that waits for its time has in place of a mover and of an event.
WAITS = -2
#: In place of an event: at the root, or where a player does not learn it.
NO_EVENT = -3
#: Bytes at the peak for each place of a history in time: 220 to 600 by the allocations that tracemalloc counts (CPython
#: 3.11), the most where much is public.
PLACE_BYTES = 400


@dataclass(frozen=True, eq=False)
class Histories:
    """The histories of a game that are no leaves, in the order of a depth-first walk.

    Attributes
    ----------
    parents : list of int
        −1 for the root.
    movers : list of int
    infosets : list of int
        The number among the mover's infosets; −1 at a chance node.
    events : list of int
        The action or outcome that led here, numbered by who moved and its label.
    infoset_labels : list of list of hashable
        For each player, in order of the numbers.
    infoset_histories : list of list of int
        For each player, the first history of each infoset.
    leaf_parents : array of int
        The history before each leaf; −1 if the root is a leaf.
    """

    parents: list[int]
    movers: list[int]
    infosets: list[int]
    events: list[int]
    infoset_labels: list[list[Hashable]]
    infoset_histories: list[list[int]]
    leaf_parents: "array[int]"


@dataclass(frozen=True, eq=False)
class Timed:
    """Histories and the places where they wait, which are numbered after them.

    Attributes
    ----------
    before : list of int
        The place one time earlier; −1 for the root.
    movers, events : list of int
        :data:`WAITS` for a place where a history waits, and for the step from there.
    infosets : list of int
        Of the histories alone.
    history : list of int
        The history itself, or the one that waits.
    at : list of list of int
        The places of each time.
    """

    before: list[int]
    movers: list[int]
    infosets: list[int]
    events: list[int]
    history: list[int]
    at: list[list[int]]


def collect_histories(rules: Rules) -> Histories:
    """Walk a game once, in the order of :func:`~treeplex.seqform.enumeration.enumerate_game`."""
    player, actions_at, child, infoset_of = rules.player, rules.actions, rules.child, rules.infoset
    found = Histories([], [], [], [], [], [[] for _ in range(rules.num_players)], array("i"))
    numbers: list[dict[Hashable, int]] = [{} for _ in range(rules.num_players)]
    event_numbers: dict[tuple[int, Hashable], int] = {}
    root = rules.initial_state()
    who = player(root)
    stack: list[tuple[Any, int, int, int]] = []
    if who == TERMINAL:
        found.leaf_parents.append(-1)
    else:
        stack.append((root, who, -1, NO_EVENT))
    while stack:
        state, who, before, event = stack.pop()
        here = len(found.parents)
        found.parents.append(before)
        found.movers.append(who)
        found.events.append(event)
        if who == CHANCE:
            found.infosets.append(-1)
            labels = [label for label, _ in rules.chance_outcomes(state)]
        else:
            known = numbers[who]
            infoset = known.setdefault(infoset_of(state), len(known))
            found.infosets.append(infoset)
            if infoset == len(found.infoset_histories[who]):
                found.infoset_histories[who].append(here)
            labels = list(actions_at(state))
        for label in reversed(labels):
            follower = child(state, label)
            next_player = player(follower)
            if next_player == TERMINAL:
                found.leaf_parents.append(here)
            else:
                event = event_numbers.setdefault((who, label), len(event_numbers))
                stack.append((follower, next_player, here, event))
    found.infoset_labels.extend(list(known) for known in numbers)
    return found


def times_of(histories: Histories) -> list[int]:
    """Return each history's time: the longest path to its vertex in the graph that merges infosets.

    Jakobsen, Sørensen and Conitzer, "Timeability of extensive-form games", ITCS 2016: there are such times if and only
    if that graph has no cycle.

    Raises
    ------
    UnsupportedProblemError
        If it has one.
    """
    offsets = np.cumsum([0, *map(len, histories.infoset_labels)])
    infosets, movers = np.array(histories.infosets), np.array(histories.movers)
    vertices = np.where(infosets >= 0, offsets[np.maximum(movers, 0)] + infosets, 0)
    chance = infosets < 0
    vertices[chance] = offsets[-1] + np.arange(np.count_nonzero(chance))
    num_vertices = int(offsets[-1]) + int(np.count_nonzero(chance))

    tails, heads = vertices[np.array(histories.parents[1:], dtype=np.intp)], vertices[1:]
    order = np.argsort(tails, kind="stable")
    starts = np.searchsorted(tails[order], np.arange(num_vertices + 1)).tolist()
    followers = heads[order].tolist()
    waiting_for = np.bincount(heads, minlength=num_vertices).tolist()
    times = [0] * num_vertices
    ready = [vertex for vertex, count in enumerate(waiting_for) if not count]
    while ready:
        vertex = ready.pop()
        after = times[vertex] + 1
        for follower in followers[starts[vertex] : starts[vertex + 1]]:
            times[follower] = max(times[follower], after)
            waiting_for[follower] -= 1
            if not waiting_for[follower]:
                ready.append(follower)
    if any(waiting_for):
        _refuse_cycle(histories, vertices, offsets, tails, heads, np.array(waiting_for) > 0)
    return [times[vertex] for vertex in vertices.tolist()]


def _refuse_cycle(histories: Histories, vertices: Any, offsets: Any, tails: Any, heads: Any, left: Any) -> NoReturn:
    """Name two infosets on a cycle of the graph; every vertex that is left has a predecessor that is left too."""
    inside = left[tails] & left[heads]
    predecessor = dict(zip(heads[inside].tolist(), tails[inside].tolist(), strict=True))
    vertex = next(iter(predecessor))
    path: dict[int, None] = {}
    while vertex not in path:
        path[vertex] = None
        vertex = predecessor[vertex]
    passed = list(path)
    cycle = passed[passed.index(vertex) :]
    names = []
    for on_cycle in cycle:
        player = int(np.searchsorted(offsets, on_cycle, side="right")) - 1
        if player < len(histories.infoset_labels):
            label = histories.infoset_labels[player][on_cycle - int(offsets[player])]
            names.append(f"infoset {shown(label)} of player {player}")
    raise UnsupportedProblemError(
        f"{names[0]} lies both before and after {names[1]}: a game whose moves have no order in time has no public "
        "states, unless its rules name them by public_state"
    )


def with_waits(histories: Histories, times: list[int]) -> Timed:
    """Write out the waiting histories and sort all by time.

    Raises
    ------
    UnsupportedProblemError
        If they wait more than a million times and twenty times a history.
    GameTooLargeError
        If there is not memory enough.
    """
    count = len(times)
    waits = sum(time - times[parent] - 1 for time, parent in zip(times[1:], histories.parents[1:], strict=True))
    most = 1_000_000 + 20 * count
    if waits > most:
        raise UnsupportedProblemError(
            f"public states: the {count:,} histories that are no leaves wait for each other {waits:,} times, expected "
            f"at most {most:,}; rules that name public states by public_state need no waiting"
        )
    Budget().require(PLACE_BYTES * (count + waits), f"public states of {count:,} histories that are no leaves")
    timed = Timed(
        before=list(histories.parents),
        movers=list(histories.movers),
        infosets=histories.infosets,
        events=list(histories.events),
        history=list(range(count)),
        at=[[] for _ in range(max(times) + 1)],
    )
    for history, (time, parent) in enumerate(zip(times, histories.parents, strict=True)):
        timed.at[time].append(history)
        start = times[parent] + 1 if parent >= 0 else time
        if start == time:
            continue
        before, event = parent, histories.events[history]
        for waiting in range(start, time):
            place = len(timed.before)
            timed.before.append(before)
            timed.movers.append(WAITS)
            timed.events.append(event)
            timed.history.append(history)
            timed.at[waiting].append(place)
            before, event = place, WAITS
        timed.before[history], timed.events[history] = before, event
    return timed
