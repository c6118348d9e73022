"""Labels that Python holds equal, such as 1 and True, and labels that print as alike, such as 1 and "1"."""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

from treeplex import (
    ConstrainedNash,
    Game,
    GameTree,
    InvalidGameError,
    Nash,
    Profile,
    SequenceForm,
    Strategy,
    StreamedMCCFR,
    TreeplexError,
    solve,
)
from treeplex.models.constraints import parse_constraint
from treeplex.models.opponents import uniform_without
from treeplex.models.preferences import Prefer, preference_on, preferences_of
from treeplex.seqform import Treeplex
from treeplex.seqform.errors import InvalidConstraintError, InvalidPreferenceError, InvalidStrategyError
from treeplex.seqform.interchange.encoding import encode, to_json
from treeplex.seqform.interchange.graphml import format_graphml, parse_graphml
from treeplex.seqform.interchange.node_link import format_json, parse_json
from treeplex.seqform.labels import is_same_label

#: Labels that are two to a reader of files, and one to Python.
EQUAL: list[tuple[Hashable, Hashable]] = [
    (1, True),
    (1, 1.0),
    (0, False),
    (1, Fraction(1)),
    (1, Decimal(1)),
    (Decimal("0.1"), Decimal("0.10")),
    (0.0, -0.0),
    ((1,), (True,)),
    (("a", (1.0, 2)), ("a", (1, 2))),
    (frozenset({1}), frozenset({True})),
]
pairs = pytest.mark.parametrize("pair", EQUAL, ids=str)


def signal(infosets: tuple[Any, Any], actions: tuple[Any, Any] = ("l", "l"), public: Any = None) -> nx.DiGraph:
    """Return a game in which chance tells player 0 which of two actions is right: its value is 1, and 0 untold."""
    graph = nx.DiGraph()
    graph.add_node("root", player=-1)
    for number, (infoset, action) in enumerate(zip(infosets, actions, strict=True)):
        graph.add_node(number, player=0, infoset=infoset)
        graph.add_edge("root", number, action=f"{number}", prob=Fraction(1, 2))
        for place, label in enumerate((action, "r")):
            right = 1 if place == number else -1
            graph.add_node((number, place), payoffs=(right, -right))
            graph.add_edge(number, (number, place), action=label)
        if public is not None:
            graph.nodes[number]["public"] = public[number]
    if public is not None:
        graph.nodes["root"]["public"] = "deal"
    return graph


@pairs
def test_infosets_whose_labels_are_equal_in_python_are_refused(pair: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidGameError, match="equal in Python"):
        GameTree(signal(pair))


@pairs
def test_actions_whose_labels_are_equal_in_python_are_refused(pair: tuple[Any, Any]) -> None:
    """In two infosets, where how often one is taken would count both; and in two histories of one."""
    with pytest.raises(InvalidGameError, match="equal in Python"):
        GameTree(signal(("I", "J"), pair))
    with pytest.raises(InvalidGameError, match="actions of an infoset must agree"):
        GameTree(signal(("I", "I"), pair))
    with pytest.raises(InvalidGameError, match="equal in Python"):
        Treeplex([0, 0], [1, 1], ["I", "J"], [[pair[0]], [pair[1]]])


@pairs
def test_public_states_whose_labels_are_equal_in_python_are_refused(pair: tuple[Any, Any]) -> None:
    game = Game("signal", tree=GameTree(signal(("I", "J"), public=pair)))
    with pytest.raises(InvalidGameError, match="two public states have the labels"):
        _ = game.public_tree


@pairs
@pytest.mark.parametrize(("write", "read"), [(format_json, parse_json), (format_graphml, parse_graphml)])
def test_files_do_not_merge_infosets(
    pair: tuple[Any, Any], write: Callable[[Any], str], read: Callable[[str], GameTree]
) -> None:
    """Each label is put in the place of a text of a sound file, and the file is read."""
    first, second = (to_json(encode(label)) for label in pair)
    text = write(GameTree(signal(("@1", "@2"))))
    if write is format_json:
        text = text.replace('"@1"', first).replace('"@2"', second)
    else:
        text = text.replace("@1", f"json:{first}").replace("@2", f"json:{second}".replace('"', "&quot;"))
    with pytest.raises(InvalidGameError, match="equal in Python"):
        read(text)


def test_labels_that_differ_stay_what_they_are() -> None:
    tree = parse_json(format_json(GameTree(signal((1, "1"), (2, "2")))))
    assert tree.enumeration.treeplexes[0].infoset_labels == (1, "1")
    assert solve(Nash(Game("signal", tree=tree))).value == pytest.approx(1.0)


@pairs
def test_strategies_name_the_labels_that_there_are(pair: tuple[Any, Any]) -> None:
    game = Game("signal", tree=GameTree(signal((pair[0], "J"), (pair[0], "l"))))
    assert Strategy.from_dict(game, 0, {pair[0]: {pair[0]: 1, "r": 0}})[pair[0]][pair[0]] == 1.0
    with pytest.raises(InvalidStrategyError, match="has no infoset"):
        Strategy.from_dict(game, 0, {pair[1]: {pair[0]: 1, "r": 0}})
    with pytest.raises(InvalidStrategyError, match="has no action"):
        Strategy.from_dict(game, 0, {pair[0]: {pair[1]: 1, "r": 0}})


def test_members_of_an_enumeration_are_their_values() -> None:
    card = IntEnum("card", ["jack", "queen"])
    game = Game("signal", tree=GameTree(signal((card.jack, card.queen))))
    assert Strategy.from_dict(game, 0, {1: {"l": 1, "r": 0}})[card.jack]["l"] == 1.0


def test_numbers_of_numpy_are_those_of_python() -> None:
    tree = GameTree(signal((np.int64(7), 7), actions=(np.str_("l"), "l")))
    assert tree.enumeration.treeplexes[0].num_infosets == 1
    assert is_same_label((np.float64(0.5), "a"), (0.5, np.str_("a")))
    assert not is_same_label(np.int64(1), 1.0)


def test_edges_join_the_nodes_that_they_name() -> None:
    data = json.loads(format_json(GameTree(signal(("I", "J")))))
    for edge in data["edges"]:
        edge["source"] = True if edge["source"] == 1 else edge["source"]
    with pytest.raises(InvalidGameError, match="there is no node True"):
        parse_json(json.dumps(data))


def test_a_text_that_stands_for_two_labels_is_refused() -> None:
    game = Game("signal", tree=GameTree(signal((1, "1"), (2, "2"))))
    with pytest.raises(InvalidConstraintError, match="2 infosets whose labels read '1'"):
        parse_constraint("0/1:r <= 0.5", game)
    with pytest.raises(InvalidConstraintError, match="2 actions whose labels read '2'"):
        parse_constraint("2@all <= 0.5", game)
    for prefer in ("0/2:5", "0/1:r:5", Prefer(["2"], 5)):
        with pytest.raises(InvalidPreferenceError, match="has 2 labels that print as"):
            preference_on(game, prefer)
    with pytest.raises(InvalidStrategyError, match="has 2 labels that print as '2', 2 and '2'"):
        uniform_without(game, 0, "2")
    assert preference_on(game, Prefer([2], 5)).degrees[0].tolist() == [1.0, 5.0, 1.0, 1.0, 1.0]


@dataclass(frozen=True)
class Hand:
    """A label that is a record."""

    card: Any


#: Labels that are not equal to themselves, or hold one that is not.
MISSING: list[Any] = [
    float("nan"),
    np.float64("nan"),
    np.float32("nan"),
    Decimal("NaN"),
    Decimal("sNaN"),
    complex(0, float("nan")),
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
    ("a", float("nan")),
    ("a", ("b", Decimal("NaN"))),
    frozenset({float("nan")}),
    Hand(float("nan")),
]


def coin(where: str, label: Any) -> nx.DiGraph:
    """Return matching pennies whose Odd does not see the coin, with a label somewhere."""
    graph = nx.DiGraph()
    graph.add_node("root", player=-1, public="deal")
    sides = (label, "t") if where == "node" else ("h", "t")
    for number, node in enumerate(sides):
        graph.add_node(node, player=0, infoset="odd", public="odd")
        action = label if where == "chance outcome" and not number else number
        graph.add_edge("root", node, action=action, prob=Fraction(1, 2))
        for place in range(2):
            right = 1 if place == number else -1
            graph.add_node((number, place), payoffs=(right, -right))
            graph.add_edge(node, (number, place), action=label if where == "action" and not place else place)
    if where in ("infoset", "public"):
        graph.nodes["h"][where] = label
    return graph


class WalkedAs:
    """The rules of a tree without its checks."""

    num_players = 2

    def __init__(self, graph: nx.DiGraph) -> None:
        self.graph = graph

    def initial_state(self) -> Any:
        return "root"

    def player(self, state: Any) -> int:
        return self.graph.nodes[state].get("player", -2)

    def actions(self, state: Any) -> tuple[Any, ...]:
        return tuple(edge["action"] for edge in self.graph.adj[state].values())

    def chance_outcomes(self, state: Any) -> list[Any]:
        return [(edge["action"], edge["prob"]) for edge in self.graph.adj[state].values()]

    def child(self, state: Any, action: Any) -> Any:
        return next(child for child, edge in self.graph.adj[state].items() if edge["action"] is action)

    def infoset(self, state: Any) -> Any:
        return self.graph.nodes[state]["infoset"]

    def public_state(self, state: Any) -> Any:
        return self.graph.nodes[state]["public"]

    def payoffs(self, state: Any) -> Any:
        return self.graph.nodes[state]["payoffs"]


@pytest.mark.parametrize("where", ["infoset", "action", "chance outcome", "public", "node"])
@pytest.mark.parametrize("label", MISSING, ids=repr)
def test_labels_that_are_not_equal_to_themselves_are_refused_with_the_node(where: str, label: Any) -> None:
    try:
        graph = coin(where, label)
    except TypeError:  # a signalling NaN cannot be a key
        assert where == "node"
        return
    shape = r"(history|the root).* \(node .*\) (has|is called).*expected a hashable label that is equal to itself"
    with pytest.raises(InvalidGameError, match=shape):
        GameTree(graph)
    if where == "node":  # a state, which is no label
        return
    game = Game("coin", rules=WalkedAs(graph))
    told = r"(history|the root).* has .*expected a (hashable|sequence of hashable) label|pairs of a hashable label"
    with pytest.raises(InvalidGameError, match=told):
        assert game.public_tree  # after the sequence form


@pytest.mark.parametrize("label", MISSING[:9], ids=repr)
def test_missing_labels_are_refused_where_a_game_is_sampled_or_given_as_matrices(label: Any) -> None:
    with pytest.raises(InvalidGameError, match="expected a hashable label that is equal to itself"):
        Treeplex([0], [2], [label])
    with pytest.raises(InvalidGameError, match="expected a hashable label that is equal to itself"):
        Treeplex([0], [2], ["a"], [("x", label)])
    with pytest.raises(InvalidGameError, match="expected"):
        StreamedMCCFR(WalkedAs(coin("infoset", label))).run(50)


class OneChoice:
    """Player 0 chooses, after a toss; what lists choices can be anything."""

    num_players = 2

    def __init__(self, listing: Callable[[Any], Any], where: str) -> None:
        self.listing, self.where = listing, where

    def initial_state(self) -> str:
        return ""

    def player(self, state: str) -> int:
        return (-1, 0, -2)[len(state)]

    def chance_outcomes(self, state: str) -> Any:
        listed = [("h", 0.5), ("t", 0.5)]
        return self.listing(listed) if self.where == "chance outcomes" else listed

    def actions(self, state: str) -> Any:
        return self.listing(["l", "m", "r"]) if self.where == "actions" else ("l", "m", "r")

    def child(self, state: str, action: str) -> str:
        return state + action

    def infoset(self, state: str) -> str:
        return "only"

    def payoffs(self, state: str) -> Any:
        return self.listing([1, -1]) if self.where == "payoffs" else (1, -1)


@pytest.mark.parametrize("kind", [set, frozenset], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("where", ["actions", "chance outcomes", "payoffs"])
def test_sets_are_refused_where_an_order_counts(where: str, kind: Any) -> None:
    rules = OneChoice(kind, where)
    with pytest.raises(
        InvalidGameError, match=rf"has {where} .*(a {kind.__name__} whose order.*return|expected) a tuple"
    ):
        assert Game("g", rules=rules).sequence_form
    with pytest.raises(InvalidGameError, match=f"has {where}"):
        StreamedMCCFR(rules).run(10)
    with pytest.raises(InvalidGameError, match=f"has {where}"):
        GameTree.from_rules(rules)


ORDERED = {
    "list": list,
    "generator": lambda listed: (each for each in listed),
    "iterator": iter,
    "keys": lambda listed: dict.fromkeys(listed).keys(),
}


@pytest.mark.parametrize("kind", ORDERED)
@pytest.mark.parametrize("where", ["actions", "chance outcomes"])
def test_whatever_lists_in_order_is_the_game_of_tuples(where: str, kind: str) -> None:
    plain, other = OneChoice(tuple, "actions"), OneChoice(ORDERED[kind], where)
    assert Game("g", rules=other).fingerprint == Game("g", rules=plain).fingerprint
    assert GameTree.from_rules(other).enumeration.num_nodes == 9
    assert StreamedMCCFR(other).run(10) is not None


def test_sets_of_arguments_are_refused_where_an_order_counts() -> None:
    game = Game("g", rules=OneChoice(tuple, "actions"))
    plan = Strategy.uniform(game, 0)
    for make in (
        lambda: ConstrainedNash(game, {game.plan(0)[1] <= 0.5}),
        lambda: preferences_of({"l:5", "m:3"}),
        lambda: Profile({plan, Strategy.uniform(game, 1)}),
    ):
        with pytest.raises(TreeplexError, match="a set whose order differs between processes: pass a tuple"):
            make()
    for make in (
        lambda: SequenceForm.from_payoff_matrix([[1, 2], [3, 4]], labels=({"a", "b"}, ["c", "d"])),
        lambda: Treeplex([0], [2], ["a"], [{"x", "y"}]),
        lambda: SequenceForm.from_payoff_matrix([{1, 2}, {3, 4}]),
    ):
        with pytest.raises(InvalidGameError, match=r"expected|needed|not a matrix"):
            make()
