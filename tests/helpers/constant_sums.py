"""Games whose payoffs sum to a constant, and the zero-sum games that they are apart from it."""

from dataclasses import replace
from typing import Any

import networkx as nx
from problem_cases import KINDS, Drawing

from treeplex import Game, SequenceForm, load_game


def with_constant(game: Game, constant: object) -> Game:
    """Return a game in which player 1 is paid a constant more at every leaf."""
    tree = nx.DiGraph()
    tree.add_nodes_from((node, dict(attributes)) for node, attributes in game.tree.graph.nodes(data=True))
    tree.add_edges_from(game.tree.graph.edges(data=True))
    for node, attributes in tree.nodes(data=True):
        if "payoffs" in attributes:
            first, second = attributes["payoffs"]
            tree.nodes[node]["payoffs"] = (first, second + constant)
    return Game.from_tree(tree)


class ConstantDrawing(Drawing):
    """The problem of a seed on a game in which player 1 is paid a constant more: nothing else of it differs."""

    kinds = {kind: weight for kind, weight in KINDS.items() if kind != "lbr"}  # which is for poker  # noqa: RUF012
    constant: object = 0

    def any_game(self):
        return self.tree(self.integer(8, 26)) if self.rng.random() < 0.7 else self.matrix_game()

    def timed_game(self, name):
        game = super().timed_game(name)
        return game if game.spec == "tree" else with_constant(game, self.constant)

    def payoffs(self, halves):
        first, second = super().payoffs(halves)
        return (first, second + self.constant)

    def matrix_game(self):
        payoffs = super().matrix_game().sequence_form.payoff_matrix(0).toarray()[1:, 1:]
        return Game.from_sequence_form(SequenceForm.from_payoff_matrix(payoffs, float(self.constant) - payoffs))

    def draw_least_violation(self, kind):
        problem = super().draw_least_violation(kind)
        if problem.floor is None:
            return problem
        # The floor that was drawn is one of payoffs without the constant.
        return replace(problem, floor=problem.game.as_paid(problem.floor, self.player))


def draw_with_constant(seed: int, constant: object):
    """Return the problem of a seed and its method, on a game with that constant."""
    drawing = ConstantDrawing(seed, {}, 0)
    drawing.constant = constant
    return drawing.case()


class Shifted:
    """Rules whose player 1 is paid a constant more; all else is that of other rules."""

    def __init__(self, rules: Any, constant: Any) -> None:
        self._rules, self._constant = rules, constant

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._rules, name)

    def payoffs(self, state: Any) -> tuple[Any, ...]:
        first, second = self._rules.payoffs(state)
        return first, second + self._constant


def shifted(spec: str, constant: Any) -> Game:
    """Return a game of the library with such rules."""
    game = load_game(spec)
    return Game(f"{game.name}-shifted", rules=Shifted(game.rules, constant))
