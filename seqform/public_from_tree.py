"""Public states derived from a game's infosets.

Histories are first ordered in time so that all histories of an infoset have the same time. Common knowledge then
follows level by level.
"""

from array import array
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NoReturn

import networkx as nx
import numpy as np

from .arrays import Integers
from .budget import Budget
from .errors import UnsupportedProblemError, shown
from .histories import walk
from .labels import check_one_label
from .public_tree import PublicTree, check_order, contracted
from .rules import CHANCE, TERMINAL, Rules
from .sequence_form import SequenceForm

#: The mover and the event of a history that waits for its time.
WAITS = -2
#: The event at the root, or one that a player does not learn.
NO_EVENT = -3
#: Peak bytes for each place of a history in time: tracemalloc counts 220 to 600 (CPython 3.11), most in games with much
#: public information.
PLACE_BYTES = 400


@dataclass(frozen=True, eq=False)
class Histories:
    """The inner histories of a game, in the order of a depth-first walk.

    Attributes
    ----------
    parents : list of int
        The parent of each history; −1 for the root.
    movers : list of int
    infosets : list of int
        The infoset of each history among its mover's infosets; −1 at a chance node.
    events : list of int
        The action or outcome that led to each history, numbered by mover and label.
    infoset_labels : list of list of hashable
        For each player, the labels in the order of the numbers.
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
    """Histories and the places at which they wait, which are numbered after them.

    Attributes
    ----------
    before : list of int
        The place one time step earlier; −1 for the root.
    movers, events : list of int
        :data:`WAITS` for a place at which a history waits, and for the step from there.
    infosets : list of int
        The infosets of the histories only.
    history : list of int
        The history itself, or the history that waits there.
    at : list of list of int
        The places at each time.
    """

    before: list[int]
    movers: list[int]
    infosets: list[int]
    events: list[int]
    history: list[int]
    at: list[list[int]]


def collect_histories(rules: Rules) -> Histories:
    """Walk a game once, in the order of :func:`~treeplex.seqform.enumeration.enumerate_game`."""
    found = Histories([], [], [], [], [], [[] for _ in range(rules.num_players)], array("i"))
    numbers: list[dict[Hashable, int]] = [{} for _ in range(rules.num_players)]
    event_numbers: dict[tuple[int, Hashable], tuple[int, Hashable]] = {}
    for history in walk(rules):
        before, event = -1, NO_EVENT
        if history.before is not None:
            before = history.before.data
            if history.player != TERMINAL:
                key, numbered = (history.before.player, history.action), (len(event_numbers), history.action)
                event, action = event_numbers.setdefault(key, numbered)
                check_one_label(history.action, action, "two chance outcomes")
        if history.player == TERMINAL:
            found.leaf_parents.append(before)
            continue
        history.data = here = len(found.parents)
        found.parents.append(before)
        found.movers.append(history.player)
        found.events.append(event)
        infoset = -1
        if history.player != CHANCE:
            known = numbers[history.player]
            infoset = known.setdefault(rules.infoset(history.state), len(known))
            if infoset == len(found.infoset_histories[history.player]):
                found.infoset_histories[history.player].append(here)
        found.infosets.append(infoset)
    found.infoset_labels.extend(list(known) for known in numbers)
    return found


def times_of(histories: Histories) -> list[int]:
    """Return each history's time: the longest path to its vertex in the graph that merges the histories of infosets.

    Jakobsen, Sørensen and Conitzer, "Timeability of extensive-form games", ITCS 2016: such times exist if and only if
    this graph has no cycle.

    Raises
    ------
    UnsupportedProblemError
        If the graph has a cycle.
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
        _refuse_cycle(histories, offsets, tails, heads)
    return [times[vertex] for vertex in vertices.tolist()]


def _refuse_cycle(histories: Histories, offsets: Any, tails: Any, heads: Any) -> NoReturn:
    """Raise an error that names two infosets on a cycle of the graph."""
    names = []
    for vertex, _ in nx.find_cycle(nx.DiGraph(zip(tails.tolist(), heads.tolist(), strict=True))):
        player = int(np.searchsorted(offsets, vertex, side="right")) - 1
        if player < len(histories.infoset_labels):
            label = histories.infoset_labels[player][vertex - int(offsets[player])]
            names.append(f"infoset {shown(label)} of player {player}")
    raise UnsupportedProblemError(
        f"{names[0]} lies both before and after {names[1]}: a game whose moves have no order in time has no "
        "public states, unless its rules define public_state"
    )


def with_waits(histories: Histories, times: list[int]) -> Timed:
    """Add the places at which histories wait, and sort all places by time.

    Raises
    ------
    UnsupportedProblemError
        If the number of waits exceeds both a million and twenty per history.
    GameTooLargeError
        If the places exceed the memory budget.
    """
    count = len(times)
    waits = sum(time - times[parent] - 1 for time, parent in zip(times[1:], histories.parents[1:], strict=True))
    most = 1_000_000 + 20 * count
    if waits > most:
        raise UnsupportedProblemError(
            f"public states: the {count:,} inner histories wait for each other {waits:,} times, expected "
            f"at most {most:,}; rules that define public_state need no waiting"
        )
    Budget().require(PLACE_BYTES * (count + waits), f"public states of {count:,} inner histories")
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


def public_tree_from_infosets(rules: Rules, form: SequenceForm | None = None) -> PublicTree:
    """Derive the public states of a game from its infosets, in one walk and a few passes without a tree.

    Parameters
    ----------
    rules : Rules
        Rules that :func:`~treeplex.seqform.enumeration.enumerate_game` has already checked. Their method
        ``public_state`` is ignored.
    form : SequenceForm, optional
        The sequence form of the rules, to check that it has the same infosets.

    Returns
    -------
    PublicTree
        A public tree without labels.

    Raises
    ------
    UnsupportedProblemError
        If the game is not timeable, that is, one of its infosets lies both before and after another one; if histories
        would have to wait for each other too often; or if the sequence form belongs to another game.
    GameTooLargeError
        If the histories exceed the budget of :mod:`~treeplex.seqform.budget`.

    Notes
    -----
    *Time.* All histories of an infoset get the same time: the length of the longest path to it in the graph in which
    the histories of each infoset are one vertex and each chance node is a vertex of its own. A history whose time is
    more than one step after its predecessor's waits in between. Such times exist if and only if this graph has no cycle
    (S. K. Jakobsen, T. B. Sørensen, V. Conitzer, "Timeability of extensive-form games", ITCS 2016).

    *Players' knowledge.* Infosets define what a player knows only where it acts. Elsewhere, at each time,

    1. a player who will still act knows as much as its next infosets allow: it cannot distinguish two histories if both
       lead to the same next own infoset, or if a chain of such pairs links them;
    2. a player who has made its last decision remembers what it knew then, and its own last action. From then on it
       learns an event (an action, or an outcome of chance) only if the event is public. Events at a public state are
       public if, for every player who will still act, no two histories that the player cannot distinguish lead by
       different events to histories that it still cannot distinguish.

    By the second rule, last decisions that differ only in the players' cards lie in one public state: a player who has
    finished never sees the others' cards.

    *Public states.* Two histories of the same time are in one public state if a chain of pairs links them, each of
    which some player cannot distinguish: common knowledge, as in Kovařík et al. (2022). Therefore every infoset lies in
    one public state. The predecessors of histories that a player cannot distinguish cannot be distinguished either, by
    perfect recall and by both rules, so the public states of all times form a tree. In it, a state without a decision
    and with only one successor is merged with its successor, as in :class:`~treeplex.seqform.public_tree.PublicTree`.

    *As early as possible.* By the first rule a player knows each fact as soon as its infosets allow. If a public event
    follows from earlier ones (a board card that is the last of the deck), it becomes known with them.

    Examples
    --------
    >>> from treeplex import load_game
    >>> from treeplex.seqform.public_from_tree import public_tree_from_infosets
    >>> public_tree_from_infosets(load_game("kuhn").rules)
    PublicTree(states=4, levels=3)
    """
    if form is not None and form.num_nodes is not None and form.num_leaves is not None:
        inner = form.num_nodes - form.num_leaves
        Budget().require(PLACE_BYTES * inner, f"public states of {inner:,} inner histories")
    histories = collect_histories(rules)
    check_order(histories.infoset_labels, form)
    if not histories.parents:
        return contracted([], [], histories.infoset_histories, histories.leaf_parents)
    timed = with_waits(histories, times_of(histories))
    knowledge = [_own_knowledge(timed, player, len(labels)) for player, labels in enumerate(histories.infoset_labels)]
    return _public_states(histories, timed, knowledge)


# Classes of numbers in a union-find structure: ``links`` leads from each number to another number of its class, and
# finally to the representative of the class, which is linked to itself.


def _root_of(links: list[int], one: int) -> int:
    """Return the representative of an element's class, halving the path to it."""
    while links[one] != one:
        links[one] = links[links[one]]
        one = links[one]
    return one


def _join(links: list[int], one: int, other: int) -> None:
    """Merge the classes of two elements."""
    links[_root_of(links, one)] = _root_of(links, other)


def _own_knowledge(timed: Timed, player: int, num_infosets: int) -> list[int]:
    """Return the class of each history for a player who still acts, found backwards in time; −1 after the last action.

    At each time a class is a set of next own infosets, and its number is one of them. Classes only grow on the way to
    the root, so one union-find structure serves all times.
    """
    before, movers, infosets = timed.before, timed.movers, timed.infosets
    links = list(range(num_infosets))
    known = [-1] * len(before)
    for here in reversed(timed.at):
        for one in here:
            if movers[one] == player:
                known[one] = infosets[one]
            elif known[one] >= 0:
                known[one] = _root_of(links, known[one])
        for one in here:
            parent = before[one]
            if known[one] < 0 or parent < 0 or movers[parent] == player:
                continue
            if known[parent] < 0:
                known[parent] = known[one]
            else:
                _join(links, known[parent], known[one])
    return known


def _public_states(histories: Histories, timed: Timed, knowledge: list[list[int]]) -> PublicTree:
    """Find, time by time, the knowledge of players who have made their last decision, and the public states."""
    before, movers, events, history = timed.before, timed.movers, timed.events, timed.history
    states = [0] * len(before)
    parents = [-1]
    for known in knowledge:
        if known[0] < 0:
            known[0] = len(known)  # the player never acts: any number will do
    for here in timed.at[1:]:
        hidden = _hidden_events(here, states, timed, knowledge)
        for player, known in enumerate(knowledge):
            learned: dict[tuple[int, int], int] = {}
            for one in here:
                if known[one] < 0:
                    parent = before[one]
                    told = movers[parent] == player or states[parent] not in hidden
                    key = (known[parent], events[one] if told else NO_EVENT)
                    known[one] = learned.setdefault(key, len(known) + len(learned))
        components = _components(here, knowledge)
        numbers: dict[int, int] = {}
        for one, component in zip(here, components, strict=True):
            if component not in numbers:
                numbers[component] = len(parents)
                parents.append(states[before[one]])
            states[one] = numbers[component]

    # Number them in depth-first order; a state follows its parent even if both first contain the same history.
    first = [len(history)] * len(parents)
    players: list[set[int]] = [set() for _ in parents]
    for one, state in enumerate(states):
        first[state] = min(first[state], history[one])
        if movers[one] >= 0:
            players[state].add(movers[one])
    order = sorted(range(len(parents)), key=lambda state: (first[state], state))
    numbers = {state: number for number, state in enumerate(order)}
    numbers[-1] = -1
    number_of: Integers = np.array([numbers[state] for state in states[: len(histories.parents)]], dtype=np.int32)
    return contracted(
        [numbers[parents[state]] for state in order],
        [players[state] for state in order],
        [number_of[np.array(found, dtype=np.intp)] for found in histories.infoset_histories],
        number_of[np.array(histories.leaf_parents, dtype=np.intp)],
    )


def _hidden_events(here: list[int], states: list[int], timed: Timed, knowledge: list[list[int]]) -> set[int]:
    """Return the public states after which some player who will still act cannot distinguish the events of a time."""
    before, events = timed.before, timed.events
    hidden: set[int] = set()
    for known in knowledge:
        seen: dict[int, int] = {}
        for one in here:
            if known[one] >= 0 and seen.setdefault(known[one], events[one]) != events[one]:
                hidden.add(states[before[one]])
    return hidden


def _components(here: list[int], knowledge: list[list[int]]) -> list[int]:
    """Link the histories of a time that some player cannot distinguish; return each one's component number."""
    links = list(range(len(here)))
    for known in knowledge:
        first: dict[int, int] = {}
        for place, one in enumerate(here):
            _join(links, place, first.setdefault(known[one], place))
    return [_root_of(links, place) for place in range(len(here))]
