"""Labels that Python holds equal, such as 1 and True, and labels that read alike, such as 1 and "1"."""

import json
from collections.abc import Callable, Hashable
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest

from treeplex import Game, GameTree, InvalidGameError, Nash, Strategy, solve
from treeplex.models.constraints import parse_constraint
from treeplex.models.opponents import uniform_without
from treeplex.models.preferences import Prefer, preference_on
from treeplex.seqform import Treeplex
from treeplex.seqform.errors import InvalidConstraintError, InvalidPreferenceError, InvalidStrategyError
from treeplex.seqform.interchange.encoding import encode, to_json
from treeplex.seqform.interchange.graphml import format_graphml, parse_graphml
from treeplex.seqform.interchange.node_link import format_json, parse_json
from treeplex.seqform.polytope import is_same_label

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
        with pytest.raises(InvalidPreferenceError, match="has 2 labels that read"):
            preference_on(game, prefer)
    with pytest.raises(InvalidStrategyError, match="has 2 labels that read '2', 2 and '2'"):
        uniform_without(game, 0, "2")
    assert preference_on(game, Prefer([2], 5)).degrees[0].tolist() == [1.0, 5.0, 1.0, 1.0, 1.0]
