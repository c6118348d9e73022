"""Random game trees of perfect recall as nested data, and what can be computed on them by plain recursion.

Nothing here goes through the sequence form: the tests hold the library to these few lines.
"""

import itertools
import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from treeplex import CHANCE, TERMINAL, Game


@dataclass(frozen=True, eq=False)
class Leaf:
    payoffs: tuple


@dataclass(frozen=True, eq=False)
class Chance:
    outcomes: tuple  # of (label, probability, node)


@dataclass(frozen=True, eq=False)
class Decision:
    player: int
    infoset: str
    moves: tuple  # of (label, node)


class NestedRules:
    """Nested data as rules, for the streamed route."""

    def __init__(self, root: Any, num_players: int) -> None:
        self.root = root
        self.num_players = num_players

    def initial_state(self):
        return self.root

    def player(self, state):
        return TERMINAL if isinstance(state, Leaf) else CHANCE if isinstance(state, Chance) else state.player

    def actions(self, state):
        return tuple(label for label, _ in state.moves)

    def chance_outcomes(self, state):
        return [(label, probability) for label, probability, _ in state.outcomes]

    def child(self, state, action):
        return next(
            edge[-1] for edge in (state.outcomes if isinstance(state, Chance) else state.moves) if edge[0] == action
        )

    def infoset(self, state):
        return state.infoset

    def payoffs(self, state):
        return state.payoffs


def to_graph(root: Any) -> nx.DiGraph:
    """Write nested data as a networkx tree, nodes numbered as they are met."""
    graph = nx.DiGraph()
    stack = [(root, None, {})]
    while stack:
        node, parent, edge = stack.pop()
        number = len(graph)
        if isinstance(node, Leaf):
            graph.add_node(number, payoffs=node.payoffs)
        elif isinstance(node, Chance):
            graph.add_node(number, player=CHANCE)
            stack += [(child, number, {"action": label, "prob": p}) for label, p, child in reversed(node.outcomes)]
        else:
            graph.add_node(number, player=node.player, infoset=node.infoset)
            stack += [(child, number, {"action": label}) for label, child in reversed(node.moves)]
        if parent is not None:
            graph.add_edge(parent, number, **edge)
    return graph


def to_game(root: Any) -> Game:
    return Game.from_tree(to_graph(root))


def matrix_game(first: Any, second: Any, rows: Any = "abcdefgh", columns: Any = "abcdefgh") -> Game:
    """Write two payoff matrices as a tree, so that there is a table of leaves."""
    return to_game(
        Decision(0, "_", tuple(
            (row, Decision(1, "_", tuple(
                (column, Leaf((float(a), float(b)))) for column, a, b in zip(columns, ones, others, strict=False)
            )))
            for row, ones, others in zip(rows, first, second, strict=False)
        ))
    )  # fmt: skip


def grow(integer: Any, payoffs: Any, num_players: int, depth: int, size: int) -> Any:
    """Grow a tree of at most about ``size`` decisions, breadth limited, by a source of random integers.

    A decision's infoset is labelled by its player's own past, its actions and one of two signals: nodes of one label
    agree in all that perfect recall asks for, wherever in the tree they are, and none lies below another.
    """
    budget = [size]

    def node(level: int, pasts: tuple) -> Any:
        kind = integer(0, 7) if level < depth and budget[0] > 0 else 0
        if kind == 0 and level:
            return Leaf(payoffs())
        budget[0] -= 1
        if kind == 1:
            weights = [integer(1, 3) for _ in range(integer(1, 3))]
            return Chance(
                tuple(
                    (f"c{i}", Fraction(weight, sum(weights)), node(level + 1, pasts))
                    for i, weight in enumerate(weights)
                )
            )
        player = integer(0, num_players - 1)
        arity = integer(1, 3)
        label = f"{pasts[player]}{arity}{'uv'[integer(0, 1)]}"
        moves = []
        for i in range(arity):
            past = f"{label}{'xyz'[i]}."
            moves.append(("xyz"[i], node(level + 1, (*pasts[:player], past, *pasts[player + 1 :]))))
        return Decision(player, label, tuple(moves))

    return node(0, ("",) * num_players)


@st.composite
def trees(draw, num_players: int = 2, zero_sum: bool = True, depth: int = 4, size: int = 14):
    """Draw a tree with small payoffs, so that ties are common."""

    def integer(low, high):
        return draw(st.integers(low, high))

    def payoffs():
        drawn = [Fraction(integer(-4, 4), 2) for _ in range(num_players - zero_sum)]
        return (*drawn, -sum(drawn)) if zero_sum else tuple(drawn)

    return grow(integer, payoffs, num_players, depth, size)


def seeded_tree(seed: int, num_players: int = 2, zero_sum: bool = True, depth: int = 5, size: int = 30) -> Any:
    """Grow a tree with payoffs that are never tied."""
    source = random.Random(seed)

    def payoffs():
        drawn = [source.uniform(-1, 1) for _ in range(num_players - zero_sum)]
        return (*drawn, -sum(drawn)) if zero_sum else tuple(drawn)

    return grow(source.randint, payoffs, num_players, depth, size)


def walk(root: Any):
    """Yield every node."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, Leaf):
            stack += [edge[-1] for edge in (node.outcomes if isinstance(node, Chance) else node.moves)]


def infosets(root: Any, player: int) -> dict:
    """Return a player's infosets by label: own last move before it (label, action) or None, and its actions."""
    found = {}
    stack = [(root, None)]
    while stack:
        node, last = stack.pop()
        if isinstance(node, Chance):
            stack += [(child, last) for _, _, child in node.outcomes]
        elif isinstance(node, Decision):
            own = node.player == player
            if own:
                entry = (last, tuple(label for label, _ in node.moves))
                assert found.setdefault(node.infoset, entry) == entry
            stack += [(child, (node.infoset, label) if own else last) for label, child in node.moves]
    return found


def expected(root: Any, strategies: list) -> list:
    """Return the expected payoffs by recursion; a strategy is ``{infoset: {action: probability}}``."""
    if isinstance(root, Leaf):
        return list(root.payoffs)
    if isinstance(root, Chance):
        branches = [(probability, child) for _, probability, child in root.outcomes]
    else:
        played = strategies[root.player].get(root.infoset, {})
        branches = [(played.get(label, 0), child) for label, child in root.moves]
    total = [0] * len(strategies)
    for probability, child in branches:
        if probability:
            total = [
                sum_ + probability * payoff for sum_, payoff in zip(total, expected(child, strategies), strict=True)
            ]
    return total


def pure_strategies(root: Any, player: int) -> list:
    """Return all reduced pure strategies: a choice at each infoset that the choices before it do not rule out."""
    found = infosets(root, player)

    def after(last: Any) -> list:
        plans = [{}]
        for label, (parent, actions) in found.items():
            if parent == last:
                here = [{label: {action: 1}, **below} for action in actions for below in after((label, action))]
                plans = [{**one, **other} for one, other in itertools.product(plans, here)]
        return plans

    return after(None)


def count_pure_strategies(root: Any, player: int) -> int:
    found = infosets(root, player)

    def after(last: Any) -> int:
        return math.prod(
            sum(after((label, action)) for action in actions)
            for label, (parent, actions) in found.items()
            if parent == last
        )

    return after(None)


def random_behaviour(root: Any, player: int, source: random.Random) -> dict:
    """Return a behaviour strategy in which an action in four has probability zero."""
    strategy = {}
    for label, (_, actions) in infosets(root, player).items():
        weights = [0.0 if source.random() < 0.25 else source.random() for _ in actions]
        weights[source.randrange(len(actions))] += 0.5
        strategy[label] = {action: weight / sum(weights) for action, weight in zip(actions, weights, strict=True)}
    return strategy
