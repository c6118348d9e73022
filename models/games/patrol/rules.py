"""Rules that every walk of a body keeps: small automata on its moves, and their product with the map."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....seqform.budget import Budget
from .walker import Body, Mask, States, Whole

#: Peak memory in bytes of the product: per move between states, and per state or move and step.
_MOVE, _STEP = 150, 3


@dataclass(frozen=True, eq=False)
class Rule:
    """A deterministic automaton that reads a body's moves.

    A failed move leaves the state as it is. The walk keeps the rule if the automaton forbids none of its moves and
    accepts at the end.

    Attributes
    ----------
    name : str
        Such as ``breaks`` or ``dwell(museum)``.
    num_states : int
        The walk begins in state 0.
    step : callable
        Returns the next states, −1 if forbidden, of arrays of states and moves, and the phase of the time at which the
        moves begin.
    ends : callable, optional
        Returns whether the walk may end, of arrays of states and nodes; by default always.
    phases : ndarray of int64, shape (steps,), optional
        The phase of each time, if the rule depends on the time; by default 0.
    """

    name: str
    num_states: int
    step: Callable[[Whole, Whole, int], Whole]
    ends: Callable[[Whole, Whole], Mask] | None = None
    phases: Whole | None = None

    @property
    def key(self) -> str:
        """The key that declares it."""
        return self.name.partition("(")[0]


class _Names(Sequence[str]):
    """The names of states, made when they are needed: the node and the states of rules that have left their first."""

    def __init__(self, nodes: Sequence[str], rules: Sequence[Rule], places: Whole, memories: Sequence[Whole]) -> None:
        self._nodes, self._rules, self._places, self._memories = nodes, rules, places, memories

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> str:  # type: ignore[override]  # no slices are taken
        said = [f"{rule.name} {of[number]}" for rule, of in zip(self._rules, self._memories, strict=True) if of[number]]
        node = self._nodes[self._places[number]]
        return f"{node} ({', '.join(said)})" if said else node


@dataclass(eq=False)
class _Product:
    """The product of a map and automata: states as numbers in a mixed radix, whose first digit is the node."""

    body: Body
    rules: Sequence[Rule]
    who: str

    def __post_init__(self) -> None:
        self.radix = [rule.num_states for rule in self.rules]
        if self.body.num_nodes * math.prod(self.radix) >= 2**62:
            largest = max(self.rules, key=lambda rule: rule.num_states)
            Budget().require(
                2**62, f"the rules of {self.who} make too many states, most by {largest.name}: the product of all"
            )
        phases = [np.zeros(self.body.last, dtype=np.int64) if r.phases is None else r.phases for r in self.rules]
        columns = np.array([each[: self.body.last] for each in phases])
        self.phases, self.phase = np.unique(columns, axis=1, return_inverse=True)
        self.phase = self.phase.ravel()

    def read(self, keys: Whole) -> tuple[Whole, list[Whole]]:
        """Return the nodes and the state of each rule."""
        memories = []
        for size in reversed(self.radix):
            keys, memory = np.divmod(keys, size)
            memories.append(memory)
        return keys, memories[::-1]

    def number(self, nodes: Whole, memories: Sequence[Whole]) -> Whole:
        """Return the numbers of states."""
        keys = nodes
        for size, memory in zip(self.radix, memories, strict=True):
            keys = keys * size + memory
        return keys

    def leading(self, keys: Whole) -> Iterator[tuple[Whole, Whole, Whole, Whole]]:
        """Yield the moves from some states that the rules allow, by phase: states, moves, states reached, phases."""
        nodes, memories = self.read(keys)
        first = np.searchsorted(self.body.sources, np.arange(self.body.num_nodes + 1))
        counts = first[nodes + 1] - first[nodes]
        each = np.repeat(np.arange(len(keys)), counts)
        moves = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts) + first[nodes[each]]
        for phase, column in enumerate(self.phases.T.tolist()):
            after = [
                rule.step(memory[each], moves, own)
                for rule, memory, own in zip(self.rules, memories, column, strict=True)
            ]
            kept = np.logical_and.reduce([memory >= 0 for memory in after])
            reached = self.number(self.body.targets[moves[kept]], [memory[kept] for memory in after])
            yield keys[each[kept]], moves[kept], reached, np.full(len(reached), phase)

    def factors(self, keys: Whole) -> dict[str, float]:
        """Return the mean number of states of each rule per node."""
        nodes, memories = self.read(keys)
        places = len(np.unique(nodes))
        pairs = zip(self.rules, memories, strict=True)
        return {rule.name: len(np.unique(nodes * rule.num_states + memory)) / places for rule, memory in pairs}

    def require(self, keys: Whole, moves: int) -> None:
        """Raise an error if the product does not fit into the budget."""
        needed = _MOVE * moves + _STEP * self.body.last * (len(keys) + moves)
        if Budget().left(needed) < 0:
            name, factor = max(self.factors(keys).items(), key=lambda one: one[1])
            said = f"{len(keys):,} states and {moves:,} moves between them"
            Budget().require(
                needed, f"the rules of {self.who} make at least {said}, {factor:.3g} states per node by {name}: these"
            )


def keeping(body: Body, rules: Sequence[Rule], who: str) -> Body:
    """Return a body with a single entry whose walks keep rules.

    Parameters
    ----------
    body : Body
    rules : sequence of Rule
    who : str
        The body's name in messages.

    Raises
    ------
    GameTooLargeError
        If the product would exceed the budget; the message names the rule with the most states.

    Notes
    -----
    The body walks over the product of the map and the automata. Its states are those that moves reach from the entry at
    any time; the body itself leaves out the times at which it cannot be in a state, or cannot end as the rules require.

    Examples
    --------
    A walk from a to b that waits nowhere has one possibility at each time:

    >>> import numpy as np
    >>> from treeplex.models.games.patrol.rules import Rule, keeping
    >>> from treeplex.models.games.patrol.walker import Body
    >>> moves = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), np.ones(4, dtype=int)
    >>> body = Body(*moves, 2, np.array([0]), np.array([0]), 3, nodes="ab", actions="abab")
    >>> awake = Rule("awake", 1, lambda states, moves, phase: np.where(body.waits[moves], -1, states))
    >>> body.size, keeping(body, [awake], "the guard").size
    ((5, 10), (3, 3))
    """
    if not rules:
        return body
    product = _Product(body, rules, who)
    keys = frontier = product.number(body.entry_nodes, [np.zeros(1, dtype=np.int64) for _ in rules])
    parts: list[tuple[Whole, Whole, Whole, Whole]] = []
    while len(frontier):
        found = list(product.leading(frontier))
        parts += found
        frontier = np.setdiff1d(np.concatenate([part[2] for part in found]), keys)
        keys = np.union1d(keys, frontier)
        product.require(keys, sum(len(part[0]) for part in parts))
    before, moves, after, phases = (np.concatenate(each) for each in zip(*parts, strict=True))
    columns = np.array([np.searchsorted(keys, before), moves, np.searchsorted(keys, after)])
    (before, moves, after), numbers = np.unique(columns, axis=1, return_inverse=True)
    nodes, memories = product.read(keys)
    opened = None if body.opened is None else body.opened[: body.last, moves]
    if len(product.phases.T) > 1:
        allowed = np.zeros((len(product.phases.T), len(moves)), dtype=bool)
        allowed[phases, numbers.ravel()] = True
        opened = allowed[product.phase] if opened is None else opened & allowed[product.phase]
    ends = np.ones(len(keys), dtype=bool) if body.ends is None else body.ends[nodes]
    for rule, memory in zip(rules, memories, strict=True):
        ends &= True if rule.ends is None else rule.ends(memory, nodes)
    over = replace(
        body,
        sources=before,
        targets=after,
        durations=body.durations[..., moves],
        num_nodes=len(keys),
        entry_nodes=np.searchsorted(keys, product.number(body.entry_nodes, [np.zeros(1, dtype=np.int64)] * len(rules))),
        ends=None if ends.all() else ends,
        opened=opened,
        nodes=_Names(body.nodes, rules, nodes, memories),
        actions=np.array(list(body.actions), dtype=object)[moves].tolist(),
        still=body.waits[moves],
    )
    return replace(body, states=States(over, body.num_nodes, nodes, moves, product.factors(keys)))


def conflict(body: Body, rules: Sequence[Rule], who: str) -> list[Rule]:
    """Return rules that no walk keeps together, none of which can be left out; empty if a walk keeps all.

    Notes
    -----
    Rules are left out in turn if no walk keeps the others (deletion filter).

    References
    ----------
    J. W. Chinneck, E. W. Dravnieks (1991), "Locating minimal infeasible constraint sets in linear programs", ORSA
    Journal on Computing 3.
    """
    left = list(rules)
    if keeping(body, left, who).entered.all():
        return []
    for rule in rules:
        others = [each for each in left if each is not rule]
        if not keeping(body, others, who).entered.all():
            left = others
    return left
