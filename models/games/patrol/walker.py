"""Bodies that move on a map: each is a flow polytope over time and place; the bodies of one player form a product."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from ....seqform.arrays import Floats
from ....seqform.budget import FormSize
from ....seqform.polytope import Treeplex

Whole = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
#: About this many sequences are assembled per second.
_QUICK = 120_000


def sums(places: Whole, weights: Floats, size: int) -> Floats:
    """Return the sum of the weights at each place, shape (size,)."""
    return np.bincount(places, weights, size).astype(np.float64, copy=False)


@dataclass(frozen=True, eq=False)
class Body:
    """The possible walks of one body: its moves on the map, its entries and its end.

    Attributes
    ----------
    sources, targets, durations : ndarray of int64, shape (m,)
        The moves, sorted by source; a move from a node to itself is waiting. Durations are in steps; if they depend on
        the time at which a move begins, they have the shape (steps, m), and no move overtakes a later one.
    num_nodes : int
    entry_times, entry_nodes : ndarray of int64, shape (e,)
        When and where it may begin; a single entry unless it chooses.
    last : int
        The time at which its walk ends.
    chooses : bool
        Whether its entry is a choice, with its own infoset.
    may_stay_away : bool
        Whether it may also choose never to come.
    failure : float
        Probability that a move fails, so that the body stays where it is for one step; waiting and the moves of step 0
        never fail.
    gone : ndarray of bool, shape (num_nodes,), optional
        Where its walk ends at once.
    ends : ndarray of bool, shape (num_nodes,), optional
        Where else it may be at the last time; by default anywhere.
    opened : ndarray of bool, shape (last, m), optional
        Whether each move may begin at each time; by default always.
    label : str
        The label of its infosets, with fields ``time`` and ``node``.
    start_label : str
        The label of its entry's infoset.
    nodes : sequence of str
        The names of nodes in labels.
    actions : sequence of str
        The label of each move.
    entries : sequence of str
        The label of each entry.
    still : ndarray of bool, shape (m,), optional
        Which moves are waiting; by default those from a node to itself.
    states : States, optional
        The states of rules that its walks keep; by default there are no rules.
    """

    sources: Whole
    targets: Whole
    durations: Whole
    num_nodes: int
    entry_times: Whole
    entry_nodes: Whole
    last: int
    chooses: bool = False
    may_stay_away: bool = False
    failure: float = 0.0
    gone: Mask | None = None
    ends: Mask | None = None
    opened: Mask | None = None
    label: str = "t{time}{node}"
    start_label: str = "start"
    nodes: Sequence[str] = ()
    actions: Sequence[str] = ()
    entries: Sequence[str] = ()
    still: Mask | None = None
    states: "States | None" = None

    @cached_property
    def waits(self) -> Mask:
        """Which moves are waiting, shape (m,)."""
        waits: Mask = self.sources == self.targets if self.still is None else self.still
        return waits

    def lasting(self, time: int) -> Whole:
        """Return the duration of each move that begins at a time, shape (m,)."""
        durations: Whole = self.durations if self.durations.ndim == 1 else self.durations[time]
        return durations

    def fails(self, time: int) -> Mask:
        """Return whether each move may fail if it begins at a time."""
        return ~self.waits if self.failure > 0.0 and time > 0 else np.zeros(len(self.sources), dtype=bool)

    @cached_property
    def _is_free(self) -> bool:
        """Whether the body may wait anywhere at any time, and end anywhere."""
        loops = self.sources == self.targets
        return self.opened is None and self.ends is None and len(np.unique(self.sources[loops])) == self.num_nodes

    @cached_property
    def _gone(self) -> Mask:
        return np.zeros(self.num_nodes, dtype=bool) if self.gone is None else self.gone

    @cached_property
    def _alive(self) -> Mask:
        """Whether the body can reach a permitted end with certainty from each node at each time."""
        alive = np.ones((self.last + 1, self.num_nodes), dtype=bool)
        if self._is_free:
            return alive
        alive[-1] = self._gone | (True if self.ends is None else self.ends)
        for time in range(self.last - 1, -1, -1):
            alive[time] = self._gone
            alive[time, self.sources[self._leads(alive, time)]] = True
        return alive

    def _leads(self, alive: Mask, time: int) -> Mask:
        """Return whether each move may begin at a time, and arrives in time for the walk to continue or end."""
        arrivals = time + self.lasting(time)
        leads: Mask = arrivals <= self.last
        if self._is_free:
            return leads
        leads &= alive[np.minimum(arrivals, self.last), self.targets]
        if self.opened is not None:
            leads &= self.opened[time]
        fails = self.fails(time)
        if fails.any():
            leads &= ~fails | alive[time + 1, self.sources]
        return leads

    @cached_property
    def entered(self) -> Mask:
        """The entries from which a walk is possible, shape (e,)."""
        if self.states is not None:
            return self.states.body.entered
        return self._alive[self.entry_times, self.entry_nodes]

    @cached_property
    def reachable(self) -> Mask:
        """Whether the body may be at each node at each time, including where it ends, shape (last + 1, num_nodes)."""
        if self.states is not None:
            return self.states.reachable
        reached = np.zeros((self.last + 1, self.num_nodes), dtype=bool)
        reached[self.entry_times[self.entered], self.entry_nodes[self.entered]] = True
        before = np.zeros(self.num_nodes, dtype=bool)
        for time in range(self.last):
            if self._is_free and time > 1 and (reached[time] == before).all():
                reached[time + 1] |= before
                continue
            begun = self.moves_at(time, reached)
            if self._is_free and time > 1:  # a body that could move earlier may wait, so only new nodes matter
                reached[time + 1] |= reached[time]
                begun = begun[~before[self.sources[begun]]]
            before = reached[time]
            fails = self.fails(time)[begun]
            arriving = begun[~fails] if self.failure >= 1.0 else begun
            reached[time + self.lasting(time)[arriving], self.targets[arriving]] = True
            reached[time + 1, self.sources[begun[fails]]] = True
        return reached

    def moves_at(self, time: int, reached: Mask) -> Whole:
        """Return the moves that may be made at a time, by index, given the possible positions."""
        return np.flatnonzero((reached[time] & ~self._gone)[self.sources] & self._leads(self._alive, time))

    @property
    def size(self) -> tuple[int, int]:
        """The body's numbers of infosets and of sequences, without the empty one."""
        if self.states is not None:
            return self.states.body.size
        infosets = sequences = 0
        if self.chooses:
            infosets, sequences = 1, int(self.entered.sum()) + self.may_stay_away
        reached, longest, found = self.reachable, int(self.durations.max(initial=1)), (0, 0)
        for time in range(self.last):
            alike = self._is_free and time > 0 and time + longest <= self.last
            if not (alike and (reached[time] == reached[time - 1]).all()):
                sources = self.sources[self.moves_at(time, reached)]  # sorted
                found = int(np.count_nonzero(np.diff(sources, prepend=-1))), len(sources)
            infosets += found[0]
            sequences += found[1]
        return infosets, sequences


@dataclass(frozen=True, eq=False)
class States:
    """The states of a body whose walks keep rules: each is a node together with what the rules remember of the walk.

    Attributes
    ----------
    body : Body
        Its walks over states instead of nodes.
    num_nodes : int
    nodes : ndarray of int64, shape (num_states,)
        The node of each state.
    moves : ndarray of int64, shape (k,)
        The move between nodes of each move between states.
    factors : mapping of str to float
        The mean number of different memories of each rule per node.
    """

    body: Body
    num_nodes: int
    nodes: Whole
    moves: Whole
    factors: Mapping[str, float]

    @cached_property
    def reachable(self) -> Mask:
        """Whether the body may be at each node at each time, shape (last + 1, num_nodes)."""
        times, states = np.nonzero(self.body.reachable)
        reached = np.zeros((self.body.last + 1, self.num_nodes), dtype=bool)
        reached[times, self.nodes[states]] = True
        return reached


def form_size(players: Sequence[Sequence[Body]], each: int) -> FormSize:
    """Return the size of the form of a game with these bodies of each player, at `each` bytes per sequence."""
    sizes = [[body.size for body in bodies] for bodies in players]
    infosets = tuple(sum(size[0] for size in own) for own in sizes)
    sequences = tuple(1 + sum(size[1] for size in own) for own in sizes)
    total = sum(sequences)
    return FormSize(sequences, infosets, each * total, single_parent=False, is_quick=total <= _QUICK)


@dataclass(frozen=True, eq=False)
class Presences:
    """The results of moves, with an entry for each possible result.

    Attributes
    ----------
    moves : ndarray of int64, shape (k,)
        The index of the walker's move.
    times, nodes : ndarray of int64, shape (k,)
        The time and the node of the result.
    chances : ndarray of float64, shape (k,)
        The probability of the result.
    """

    moves: Whole
    times: Whole
    nodes: Whole
    chances: Floats


@dataclass(frozen=True, eq=False)
class Walker:
    """A unit or an attacker: its moves over time, as sequences of the player's treeplex.

    Attributes
    ----------
    body : Body
    sequences : ndarray of int64, shape (num_moves,)
        The sequence of each move. A choice of the entry is a sequence too, but not a move.
    moves : ndarray of int64, shape (num_moves,)
        Its index among the moves of the body.
    times, sources, targets, durations : ndarray of int64, shape (num_moves,)
        When and where it begins, where it leads if it does not fail, and the number of steps.
    success, failure : ndarray of float64, shape (num_moves,)
        Probability of success, and of failure; after a failure the body is where it was, one step later.
    entry_times, entry_nodes, entry_sequences : ndarray of int64, shape (e,)
        When, where and by which sequence the body may begin; the empty sequence, 0, if there is no choice.
    before, after : ndarray of int64, shape (num_moves,)
        The state in which each move begins, and to which it leads if it does not fail: the node, unless the body has
        rules.
    entry_states : ndarray of int64, shape (e,)
    num_states : int
    """

    body: Body
    sequences: Whole
    moves: Whole
    times: Whole
    sources: Whole
    targets: Whole
    durations: Whole
    success: Floats
    failure: Floats
    entry_times: Whole
    entry_nodes: Whole
    entry_sequences: Whole
    before: Whole
    after: Whole
    entry_states: Whole
    num_states: int

    @cached_property
    def moved(self) -> Mask:
        """Whether each move leads elsewhere instead of waiting, shape (num_moves,)."""
        moved: Mask = self.sources != self.targets
        return moved

    @cached_property
    def presences(self) -> Presences:
        """The time and node of each move's result: its target, or the previous node after a failure."""
        count = np.arange(len(self.times))
        failed = np.flatnonzero(self.moved)
        return Presences(
            np.concatenate([count, failed]),
            np.concatenate([self.times + self.durations, self.times[failed] + 1]),
            np.concatenate([self.targets, self.sources[failed]]),
            np.concatenate([self.success, self.failure[failed]]),
        )

    def standing(self, plan: Floats, steps: int) -> Floats:
        """Return the probability of standing at each node at each time, shape (steps + 1, num_nodes).

        Where its walk ends at once, it counts from then on.
        """
        size, there = self.body.num_nodes, self.presences
        places = np.concatenate([self.entry_times * size + self.entry_nodes, there.times * size + there.nodes])
        made = plan[self.sequences][there.moves] * there.chances
        weights = np.concatenate([plan[self.entry_sequences], made])
        standing = sums(places, weights, (steps + 1) * size).reshape(steps + 1, size)
        if self.body.gone is not None:
            standing[:, self.body.gone] = np.cumsum(standing[:, self.body.gone], axis=0)
        return standing

    def ending_away(self, node: int, num_sequences: int) -> Floats:
        """Return, for each sequence of the player, the contribution to the probability that the body ends elsewhere."""
        there = self.presences
        away = np.flatnonzero((there.times == self.body.last) & (there.nodes != node))
        return sums(self.sequences[there.moves[away]], there.chances[away], num_sequences)


@dataclass(frozen=True, eq=False)
class Party:
    """All bodies of one player.

    Attributes
    ----------
    treeplex : Treeplex
        The product of their flow polytopes: the first infoset of each follows the empty sequence.
    walkers : tuple of Walker
    """

    treeplex: Treeplex
    walkers: tuple[Walker, ...]


@dataclass(frozen=True, eq=False)
class Root:
    """A choice before the walks of bodies begin, such as the choice among cases that exclude each other.

    Attributes
    ----------
    label : str
        The label of its infoset.
    actions : tuple of str
    parent : int
        The sequence before it: 0 if it is the first choice, or a sequence of a previous one.
    """

    label: str
    actions: tuple[str, ...]
    parent: int = 0


@dataclass(eq=False)
class _Built:
    """The parts of a treeplex of several bodies."""

    counts: list[Whole] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    actions: list[tuple[str, ...]] = field(default_factory=list)
    inflow: list[tuple[Any, Any, Any]] = field(default_factory=list)  # infosets, sequences before them, weights
    num_sequences: int = 1


def party(bodies: Sequence[Body], roots: Sequence[Root] = (), starts: Sequence[int] | None = None) -> Party:
    """Return the flow polytopes of several bodies of one player as a single treeplex.

    Parameters
    ----------
    bodies : sequence of Body
    roots : sequence of Root
        Choices that come before the bodies' entries; their sequences are numbered from 1, in this order.
    starts : sequence of int, optional
        The sequence after which each body chooses its entry; by default the empty sequence, 0.

    Notes
    -----
    Let x(t, k, m) be the probability of making the move m from the node k at time t, d(m) its duration and p(m) the
    probability that it does not fail. The outflow of (t, k) equals its inflow: Σ_m x(t, k, m) = Σ {p(m) x(t − d(m), j,
    m) : m leads from j to k} + Σ {(1 − p(m)) x(t − 1, k, m)}. Pairs of time and node have no infoset if they are
    unreachable, or if the walk cannot reach a permitted end from them with certainty.

    References
    ----------
    B. Bošanský, A. X. Jiang, M. Tambe, C. Kiekintveld (2015), "Combining compact representation and incremental
    generation in large games with sequential strategies", AAAI.

    Examples
    --------
    Two nodes, one step apart, and two steps to walk:

    >>> import numpy as np
    >>> from treeplex.models.games.patrol.walker import Body, party
    >>> moves = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.ones(4, dtype=int)
    >>> body = Body(*moves, 2, np.array([0]), np.array([0]), 2, nodes="ab", actions="abab")
    >>> treeplex = party([body]).treeplex
    >>> treeplex.infoset_labels, treeplex.num_sequences
    (('t0a', 't1a', 't1b'), 7)
    """
    if not bodies:
        return Party(Treeplex([], []), ())
    built = _Built()
    for root in roots:
        built.inflow.append(([len(built.labels)], [root.parent], [1.0]))
        built.counts.append(np.array([len(root.actions)]))
        built.labels.append(root.label)
        built.actions.append(root.actions)
        built.num_sequences += len(root.actions)
    pairs = zip(bodies, [0] * len(bodies) if starts is None else starts, strict=True)
    walkers = tuple(_walker(body, built, start) for body, start in pairs)
    counts = np.concatenate(built.counts)
    infosets, sources, weights = (np.concatenate(each) for each in zip(*built.inflow, strict=True))
    inflow = sp.coo_array((weights, (infosets, sources)), shape=(len(counts), built.num_sequences))
    return Party(Treeplex.from_inflow(inflow, counts, built.labels, built.actions), walkers)


def _walker(body: Body, built: _Built, start: int) -> Walker:
    if body.states is None:
        return _walked(body, built, start)
    walker, nodes, moves = _walked(body.states.body, built, start), body.states.nodes, body.states.moves
    return replace(
        walker, body=body, moves=moves[walker.moves], sources=nodes[walker.sources], targets=nodes[walker.targets],
        entry_nodes=nodes[walker.entry_nodes],
    )  # fmt: skip


def _walked(body: Body, built: _Built, start: int) -> Walker:
    reached, first = body.reachable, len(built.labels)
    entry_times, entry_nodes = body.entry_times[body.entered], body.entry_nodes[body.entered]
    made = [body.moves_at(time, reached) for time in range(body.last)]
    times = np.repeat(np.arange(body.last), [len(moves) for moves in made])
    moves = np.concatenate(made)
    sources, targets = body.sources[moves], body.targets[moves]
    durations = body.durations[moves] if body.durations.ndim == 1 else body.durations[times, moves]
    # Moves are in order of time and source, so those of one infoset are contiguous.
    places, counts = np.unique(times * body.num_nodes + sources, return_counts=True)
    numbers = np.full((body.last + 1, body.num_nodes), -1)
    numbers.ravel()[places] = np.arange(len(places)) + first + body.chooses
    begun = built.num_sequences + (len(entry_times) + body.may_stay_away if body.chooses else 0)
    sequences = np.arange(len(moves)) + begun
    # Both numbers are stored as given, not one as 1 minus the other: 1 - 0.9 is not 0.1 in floats, and exact solvers
    # notice the difference.
    failure = np.where(body.waits[moves] | (times == 0), 0.0, body.failure)
    success = 1.0 - failure
    for arrivals, destinations, chances in ((times + durations, targets, success), (times + 1, sources, failure)):
        leads = np.flatnonzero(chances > 0.0)
        into = numbers[arrivals[leads], destinations[leads]]
        leads, into = leads[into >= 0], into[into >= 0]
        built.inflow.append((into, sequences[leads], chances[leads]))
    entry_sequences = np.arange(len(entry_times)) + built.num_sequences if body.chooses else np.array([0])
    built.inflow.append((numbers[entry_times, entry_nodes], entry_sequences, np.ones(len(entry_times))))
    if body.chooses:
        built.inflow.append(([first], [start], [1.0]))
        entries = [name for name, entered in zip(body.entries, body.entered.tolist(), strict=True) if entered]
        entries += ["stay away"] if body.may_stay_away else []
        built.counts.append(np.array([len(entries)]))
        built.labels.append(body.start_label)
        built.actions.append(tuple(entries))
    built.counts.append(counts)
    built.labels += _labels(body, places)
    names = np.array(list(body.actions), dtype=object)[moves]
    built.actions += [tuple(each.tolist()) for each in np.split(names, np.cumsum(counts)[:-1])]
    built.num_sequences = begun + len(moves)
    return Walker(
        body, sequences, moves, times, sources, targets, durations, success, failure, entry_times, entry_nodes,
        entry_sequences, sources, targets, entry_nodes, body.num_nodes,
    )  # fmt: skip


def _labels(body: Body, places: Whole) -> Iterator[str]:
    for place in places.tolist():
        time, node = divmod(place, body.num_nodes)
        yield body.label.format(time=time, node=body.nodes[node])
