"""Game trees: what is refused and how that is said, labels and numbers of every kind, and deep games."""

import copy
import pickle
import random
import re
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from effort import either, soaked
from random_trees import seeded_tree, to_graph

from treeplex import (
    CHANCE,
    Game,
    GameTree,
    ImperfectRecallError,
    InvalidGameError,
    Nash,
    Profile,
    SequenceForm,
    TreeplexError,
    best_response,
    expected_payoffs,
    load_game,
    solve,
)
from treeplex.seqform.interchange import draw
from treeplex.seqform.interchange.efg_reader import parse_efg
from treeplex.seqform.interchange.efg_writer import format_efg
from treeplex.seqform.interchange.graphml import format_graphml, parse_graphml
from treeplex.seqform.interchange.node_link import format_json, parse_json


def sample() -> nx.DiGraph:
    """Chance tosses a coin; player 0 does not see it; player 1 answers ``go`` without having seen it either."""
    graph = nx.DiGraph()
    graph.add_node("root", player=CHANCE)
    for side in ("heads", "tails"):
        graph.add_node(side, player=0, infoset="first")
        graph.add_edge("root", side, action=side, prob=Fraction(1, 2))
        graph.add_node(f"{side} stop", payoffs=(1, -1))
        graph.add_edge(side, f"{side} stop", action="stop")
        graph.add_node(f"{side} go", player=1, infoset="second")
        graph.add_edge(side, f"{side} go", action="go")
        for action, payoffs in (("yes", (2, -2)), ("no", (-1, 1))):
            graph.add_node(f"{side} {action}", payoffs=payoffs)
            graph.add_edge(f"{side} go", f"{side} {action}", action=action)
    return graph


def without(node, attribute):
    def change(graph):
        del graph.nodes[node][attribute]

    return change


def with_node(node, **attributes):
    return lambda graph: graph.nodes[node].update(attributes)


def without_edge(tail, head, attribute):
    def change(graph):
        del graph.edges[tail, head][attribute]

    return change


def with_edge(tail, head, **attributes):
    return lambda graph: graph.add_edge(tail, head, **attributes)


def both(*changes):
    def change(graph):
        for one in changes:
            one(graph)

    return change


def reordered(graph):
    graph.remove_edge("tails", "tails stop")
    graph.add_edge("tails", "tails stop", action="stop")


def renamed_action(graph):
    graph.edges["tails", "tails go"]["action"] = "move"


def loose_cycle(graph):
    graph.add_edge("hanging", "below")  # in front of the cycle that it hangs from
    graph.add_edges_from([("a", "b"), ("b", "a"), ("a", "hanging")])


def probabilities(first, second):
    return both(with_edge("root", "heads", prob=first), with_edge("root", "tails", prob=second))


PATH = "history heads/go"

MALFORMED = {
    "cycle through the root": (with_edge("heads go", "root"), "node 'root' lies on a cycle"),
    "cycle below the root": (with_edge("heads go", "heads"), "node 'heads' lies on a cycle: a tree has no cycle"),
    "cycle beside the tree": (loose_cycle, "lies on a cycle that the root 'root' does not reach"),
    "self-loop": (with_edge("heads yes", "heads yes"), "node 'heads yes' lies on a cycle"),
    "two parents": (with_edge("heads", "tails go"), "node 'tails go' has 2 parents ('tails', 'heads')"),
    "second root": (
        lambda graph: graph.add_node("lost", payoffs=(0, 0)),
        "node 'lost' cannot be reached from the root 'root': a tree has one node without parents",
    ),
    "missing player": (without("heads go", "player"), f"{PATH} (node 'heads go') is an inner node without"),
    "missing player at the root": (without("root", "player"), "the root (node 'root') is an inner node without"),
    "missing infoset": (without("heads go", "infoset"), f"{PATH} (node 'heads go') is a decision of player 1 without"),
    "missing action": (
        without_edge("heads go", "heads no", "action"),
        f"{PATH} (node 'heads go') has an edge to node 'heads no' without the attribute 'action'",
    ),
    "missing prob": (
        without_edge("root", "tails", "prob"),
        "the root (node 'root') has chance outcome 'tails' without the attribute 'prob'",
    ),
    "missing payoffs": (without("heads no", "payoffs"), f"{PATH}/no (node 'heads no') is a leaf without"),
    "player on a leaf": (with_node("heads no", player=1), f"{PATH}/no (node 'heads no') is a leaf with player 1"),
    "payoffs on an inner node": (
        with_node("heads go", payoffs=(0, 0)),
        f"{PATH} (node 'heads go') is an inner node with",
    ),
    "one payoff too few": (
        with_node("heads no", payoffs=(1,)),
        f"{PATH}/no (node 'heads no') has 1 payoffs, but other",
    ),
    "one payoff too many": (
        with_node("heads no", payoffs=(1, 0, -1)),
        f"{PATH}/no (node 'heads no') has 3 payoffs, but other leaves have 2",
    ),
    "no payoffs": (with_node("heads no", payoffs=()), f"{PATH}/no (node 'heads no') has payoffs (), expected"),
    "player without payoffs": (
        with_node("heads go", player=2),
        f"{PATH} (node 'heads go') has player 2, but leaves have payoffs for players 0 to 1",
    ),
    "player below chance": (with_node("heads go", player=-2), f"{PATH} (node 'heads go') has player -2, expected 0, 1"),
    "player as text": (with_node("heads go", player="1"), f"{PATH} (node 'heads go') has player '1', expected 0, 1"),
    "player as float": (with_node("heads go", player=1.0), f"{PATH} (node 'heads go') has player 1.0, expected"),
    "player as bool": (with_node("heads go", player=True), f"{PATH} (node 'heads go') has player True, expected"),
    "repeated action": (
        with_edge("heads go", "heads no", action="yes"),
        f"{PATH} (node 'heads go') has two edges with action",
    ),
    "equal actions of two types": (
        both(with_edge("heads go", "heads yes", action=1), with_edge("heads go", "heads no", action=1.0)),
        f"{PATH} (node 'heads go') has two edges with action",
    ),
    "unhashable action": (
        with_edge("heads go", "heads no", action=["no"]),
        f"{PATH} (node 'heads go') has action ['no'], expected a hashable label",
    ),
    "other actions in the same infoset": (
        renamed_action,
        "history tails has actions ('stop', 'move') in infoset 'first' of player 0, which has ('stop', 'go') elsewhere",
    ),
    "fewer actions in the same infoset": (
        lambda graph: graph.remove_node("tails stop"),
        "history tails has actions ('go',) in infoset 'first' of player 0, which has ('stop', 'go') elsewhere",
    ),
    "actions in another order": (
        reordered,
        "history tails has actions ('go', 'stop') in infoset 'first' of player 0, which has ('stop', 'go') elsewhere",
    ),
    "probabilities sum to 0.9": (
        probabilities(0.4, 0.5),
        "the root has chance probabilities that sum to 0.9, expected 1",
    ),
    "probabilities just off": (
        probabilities(0.5, 0.5 + 2e-9),
        "the root has chance probabilities that sum to 1.000000002",
    ),
    "negative probability": (
        probabilities(-0.5, 1.5),
        "the root gives outcome 'heads' probability -0.5, expected a number",
    ),
    "probability above 1": (
        probabilities(0.5, 1.5),
        "the root gives outcome 'tails' probability 1.5, expected a number",
    ),
    "probability NaN": (probabilities(float("nan"), 1.0), "the root gives outcome 'heads' probability nan, expected"),
    "probability as text": (
        probabilities("1/2", 0.5),
        "the root (node 'root') gives outcome 'heads' probability '1/2', expected a number from 0 to 1",
    ),
    "probability None": (probabilities(None, 1), "the root (node 'root') gives outcome 'heads' probability None"),
    "payoff NaN": (
        with_node("heads no", payoffs=(float("nan"), 0)),
        f"{PATH}/no has payoffs (nan, 0.0), expected finite",
    ),
    "payoff infinite": (with_node("tails stop", payoffs=(0, -np.inf)), "history tails/stop has payoffs (0.0, -inf)"),
    "payoff beyond floats": (
        with_node("tails stop", payoffs=(0, 10**400)),
        "history tails/stop has payoffs (0, 1000000",
    ),
    "payoff beyond printing": (
        with_node("tails stop", payoffs=(0, 10**5000)),
        "history tails/stop has payoffs a tuple",
    ),
    "payoff as text": (with_node("heads no", payoffs=("1", 0)), f"{PATH}/no (node 'heads no') has payoffs ('1', 0)"),
    "payoff complex": (with_node("heads no", payoffs=(1j, 0)), f"{PATH}/no (node 'heads no') has payoffs (1j, 0)"),
    "payoff bool": (with_node("heads no", payoffs=(True, 0)), f"{PATH}/no (node 'heads no') has payoffs (True, 0)"),
    "payoffs as text": (with_node("heads no", payoffs="12"), f"{PATH}/no (node 'heads no') has payoffs '12'"),
    "payoffs as bytes": (with_node("heads no", payoffs=b"12"), f"{PATH}/no (node 'heads no') has payoffs b'12'"),
    "payoffs as one number": (with_node("heads no", payoffs=5), f"{PATH}/no (node 'heads no') has payoffs 5, expected"),
    "payoffs None": (with_node("heads no", payoffs=None), f"{PATH}/no (node 'heads no') has payoffs None, expected"),
    "payoffs in a set, which has no order": (
        with_node("heads no", payoffs={1, -1}),
        f"{PATH}/no (node 'heads no') has payoffs ",
    ),
    "payoffs by player, whose keys would be read": (
        with_node("heads no", payoffs={0: 5, 1: -5}),
        f"{PATH}/no (node 'heads no') has payoffs {{0: 5, 1: -5}}, expected",
    ),
    "payoffs in a table": (with_node("heads no", payoffs=np.zeros((2, 2))), f"{PATH}/no (node 'heads no') has payoffs"),
    "unhashable infoset": (
        with_node("heads go", infoset=["second"]),
        f"{PATH} (node 'heads go') has infoset ['second'], expected a hashable label",
    ),
}


def check_message(error: BaseException) -> None:
    message = str(error)
    assert "\n" not in message
    assert len(message) < 1000
    assert message.isprintable()


def test_the_sample_is_a_game():
    tree = GameTree(sample())
    assert (tree.root, tree.num_players, tree.num_nodes) == ("root", 2, 11)
    form = SequenceForm.from_tree(tree)
    assert [treeplex.infoset_labels for treeplex in form.treeplexes] == [("first",), ("second",)]
    np.testing.assert_array_equal(form.A.toarray(), [[0, 0, 0], [1, 0, 0], [0, 2, -1]])
    assert tree.action_path("tails yes") == ("tails", "go", "yes")
    assert tree.action_path("root") == ()


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_trees_are_refused_by_name(name):
    change, message = MALFORMED[name]
    graph = sample()
    change(graph)
    for build in (GameTree, Game.from_tree, SequenceForm.from_tree):
        with pytest.raises(InvalidGameError) as caught:
            build(graph)
        assert type(caught.value) is InvalidGameError
        assert message in str(caught.value)
        check_message(caught.value)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (nx.DiGraph(), "the tree is empty: expected at least a root with payoffs"),
        (nx.Graph([(0, 1)]), "a Graph is not a game tree: expected a networkx.DiGraph"),
        (nx.MultiDiGraph([(0, 1), (0, 1)]), "a MultiDiGraph is not a game tree: expected a networkx.DiGraph"),
        ({"root": []}, "a dict is not a game tree: expected a networkx.DiGraph"),
        (None, "a NoneType is not a game tree: expected a networkx.DiGraph"),
    ],
)
def test_what_is_no_tree_is_refused(graph, message):
    with pytest.raises(InvalidGameError) as caught:
        GameTree(graph)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "edges",
    [
        [("a", "b"), ("b", "a"), ("a", "hanging")],
        [("hanging 1", "hanging 2"), ("b", "hanging 1"), ("a", "b"), ("b", "c"), ("c", "a")],
    ],
)
def test_a_cycle_without_root_is_named_by_a_node_on_it(edges):
    graph = nx.DiGraph()
    graph.add_nodes_from(sorted({node for edge in edges for node in edge}, reverse=True))  # hanging nodes first
    graph.add_edges_from(edges)
    with pytest.raises(InvalidGameError, match=r"^node '[abc]' lies on a cycle: a tree has a root") as caught:
        GameTree(graph)
    check_message(caught.value)


def test_a_cycle_beside_the_tree_is_named_by_a_node_on_it():
    graph = sample()
    loose_cycle(graph)
    with pytest.raises(InvalidGameError, match=r"^node '[ab]' lies on a cycle that the root 'root' does not reach$"):
        GameTree(graph)


def forgetful() -> nx.DiGraph:
    """Player 0 chooses, then forgets what."""
    graph = nx.DiGraph()
    graph.add_node("root", player=0, infoset="first")
    for side in "lr":
        graph.add_node(side, player=0, infoset="again")
        graph.add_edge("root", side, action=side)
        for action in "lr":
            graph.add_node(side + action, payoffs=(1, -1))
            graph.add_edge(side, side + action, action=action)
    return graph


def test_imperfect_recall_is_refused_with_a_witness():
    with pytest.raises(ImperfectRecallError) as caught:
        GameTree(forgetful())
    check_message(caught.value)
    message = str(caught.value)
    assert message.startswith("infoset 'again' of player 0 has imperfect recall: history l and history r are in it")


def test_absent_mindedness_is_refused_with_a_witness():
    graph = nx.DiGraph()
    graph.add_node("root", player=0, infoset="exit?")
    graph.add_node("on", player=0, infoset="exit?")
    for node, payoff in (("out", 0), ("out later", 4), ("missed", 1)):
        graph.add_node(node, payoffs=(payoff,))
    graph.add_edge("root", "out", action="exit")
    graph.add_edge("root", "on", action="on")
    graph.add_edge("on", "out later", action="exit")
    graph.add_edge("on", "missed", action="on")
    with pytest.raises(ImperfectRecallError) as caught:
        GameTree(graph)
    check_message(caught.value)
    assert "infoset 'exit?' of player 0 has imperfect recall: the root and history on are in it" in str(caught.value)


def test_the_same_label_may_serve_two_players():
    graph = sample()
    for side in ("heads", "tails"):
        graph.nodes[side]["infoset"] = graph.nodes[f"{side} go"]["infoset"] = "choose"
    form = SequenceForm.from_tree(graph)
    assert [treeplex.infoset_labels for treeplex in form.treeplexes] == [("choose",), ("choose",)]


@pytest.mark.parametrize("error", [InvalidGameError, ImperfectRecallError])
def test_errors_about_games_are_value_errors(error):
    assert issubclass(error, ValueError)
    assert issubclass(error, InvalidGameError)


@pytest.mark.parametrize(
    "payoffs",
    [
        (2, -2),
        [2.0, -2.0],
        (Fraction(2), Fraction(-2)),
        (np.int64(2), np.float32(-2)),
        np.array([2, -2]),
        np.array([2.0, -2.0]),
    ],
    ids=repr,
)
def test_numbers_of_every_kind_are_payoffs(payoffs):
    graph = sample()
    graph.nodes["heads yes"]["payoffs"] = payoffs
    form = SequenceForm.from_tree(graph, exact=True)
    assert form.A[2, 1] == 2.0
    assert form.exact_payoffs(0)[2, 1] == 2
    assert form.exact_payoffs(1)[2, 1] == -2


@pytest.mark.parametrize("half", [0.5, Fraction(1, 2), np.float32(0.5), np.float64(0.5)], ids=repr)
def test_numbers_of_every_kind_are_probabilities(half):
    graph = sample()
    probabilities(half, half)(graph)
    form = SequenceForm.from_tree(graph, exact=True)
    assert form.leaves.chance.tolist() == [0.5] * 6
    assert form.leaves.exact_chance == (Fraction(1, 2),) * 6


def test_probabilities_may_be_zero_and_off_by_rounding():
    graph = sample()
    probabilities(1.0 + 1e-10, 0)(graph)
    assert SequenceForm.from_tree(graph).leaves.chance.sum() == pytest.approx(3, abs=1e-9)


def test_a_tree_may_be_a_single_leaf():
    graph = nx.DiGraph()
    graph.add_node("end", payoffs=(3, -3))
    game = Game.from_tree(graph)
    assert repr(game.sequence_form) == "SequenceForm(sequences=[1, 1], infosets=[0, 0])"
    assert expected_payoffs(game, Profile.uniform(game)).tolist() == [3.0, -3.0]


def test_players_of_numpy_are_players():
    graph = sample()
    for side in ("heads", "tails"):
        graph.nodes[f"{side} go"]["player"] = np.int64(1)
    assert SequenceForm.from_tree(graph).treeplexes[1].num_infosets == 1


@pytest.mark.parametrize("name", ["kuhn", "kuhn:players=3", "goofspiel:cards=3", "rps"])
def test_rules_written_out_lead_the_same_walk(name):
    rules = load_game(name).rules
    tree = GameTree.from_rules(rules)
    again = GameTree.from_rules(tree)
    assert tree.num_nodes == again.num_nodes
    assert list(tree.graph.nodes) == list(range(tree.num_nodes))
    assert nx.utils.graphs_equal(tree.graph, again.graph)


class Scripted:
    """Rules of one decision, changed one method at a time."""

    num_players = 2

    def initial_state(self):
        return ""

    def player(self, state):
        return -2 if state else 0

    def actions(self, state):
        return ("l", "r")

    def chance_outcomes(self, state):
        return [("l", 0.5), ("r", 0.5)]

    def child(self, state, action):
        return state + action

    def infoset(self, state):
        return "only"

    def payoffs(self, state):
        return (1, -1)


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("player", lambda state: 2 if not state else -2, "the root has player 2, expected 0 to 1, or chance (-1)"),
        ("player", lambda state: -3 if not state else -2, "the root has player -3, expected 0 to 1"),
        ("actions", lambda state: (), "the root has no action in infoset 'only'"),
        ("actions", lambda state: ("l", "l"), "the root has action 'l' more than once in infoset 'only'"),
        ("payoffs", lambda state: (1,), "history r has 1 payoffs, expected 2: one per player"),
        ("payoffs", lambda state: (1, float("nan")), "has payoffs (1.0, nan), expected finite numbers"),
        ("payoffs", lambda state: ("1", 2), "has payoffs ('1', 2), expected finite numbers"),
        ("payoffs", lambda state: (None, 2), "has payoffs (None, 2), expected finite numbers"),
        ("payoffs", lambda state: None, "history r has payoffs None, expected a tuple of one number per player"),
        ("payoffs", lambda state: 3, "history r has payoffs 3, expected a tuple of one number per player"),
        (
            "payoffs",
            lambda state: {0: 1, 1: -1},
            "history r has payoffs {0: 1, 1: -1}, expected a tuple of one number per player",
        ),
        ("payoffs", lambda state: (Decimal("NaN"), 0), "expected finite numbers"),
        ("player", lambda state: None if not state else -2, "the root has player None, expected 0 to 1"),
        ("player", lambda state: "x" if not state else -2, "the root has player 'x', expected 0 to 1"),
        ("player", lambda state: True if not state else -2, "the root has player True, expected 0 to 1"),
        ("player", lambda state: 1.0 if not state else -2, "the root has player 1.0, expected 0 to 1"),
        ("actions", lambda state: None, "the root has actions None in infoset 'only', expected a sequence"),
        ("actions", lambda state: ("l", ["r"]), "the root has actions ('l', ['r']) in infoset 'only', expected"),
        ("infoset", lambda state: ["only"], "the root has infoset ['only'], expected a hashable label"),
        ("num_players", 0, "num_players is 0, expected a whole number from 1 to 100"),
        ("num_players", "two", "num_players is 'two', expected a whole number from 1 to 100"),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_malformed_rules_are_refused_by_name(method, answer, message, exact):
    rules = Scripted()
    setattr(rules, method, answer)
    with pytest.raises(InvalidGameError) as caught:
        SequenceForm.from_rules(rules, exact=exact)
    check_message(caught.value)
    assert message in str(caught.value).replace("(1, nan)", "(1.0, nan)")
    with pytest.raises(InvalidGameError) as caught:  # whoever takes them first
        GameTree.from_rules(rules)
    check_message(caught.value)


@pytest.mark.parametrize("answer", [None, 3, ("l",), ("l", ["r"]), ["r", "l"]])
def test_actions_that_differ_within_an_infoset_are_refused_whatever_they_are(answer):
    rules = Scripted()
    rules.player = lambda state: -2 if len(state) == 2 else (CHANCE if not state else 0)
    rules.actions = lambda state: ("l", "r") if state == "l" else answer
    with pytest.raises(InvalidGameError, match=r"history r has actions .* the actions of an infoset must agree"):
        SequenceForm.from_rules(rules)


def test_actions_and_outcomes_may_be_any_iterable():
    rules = Scripted()
    rules.player = lambda state: -2 if len(state) == 2 else (CHANCE if not state else 0)
    rules.actions = lambda state: iter("lr")
    rules.chance_outcomes = lambda state: iter([("l", 0.5), ("r", Fraction(1, 2))])
    assert SequenceForm.from_rules(rules).num_nodes == 7
    rules.payoffs = lambda state: np.array([1, -1]) if state != "ll" else None
    with pytest.raises(InvalidGameError, match="history l/l has payoffs None"):
        SequenceForm.from_rules(rules)


def test_errors_of_the_rules_pass_through():
    rules = Scripted()
    rules.child = lambda state, action: {}["absent"]
    for build in (SequenceForm.from_rules, GameTree.from_rules):
        with pytest.raises(KeyError, match="absent"):
            build(rules)


@pytest.mark.parametrize("build", [SequenceForm.from_rules, GameTree.from_rules])
def test_what_is_no_rules(build):
    for other in (3, None, "kuhn", nx.DiGraph()):
        with pytest.raises(InvalidGameError, match="does not define the rules of a game: it has no num_players"):
            build(other)


@pytest.mark.parametrize("exact", [False, True])
def test_decimals_are_numbers(exact):
    rules = Scripted()
    rules.player = lambda state: -2 if state else CHANCE
    rules.chance_outcomes = lambda state: [("l", Decimal("0.1")), ("r", Decimal("0.9"))]
    rules.payoffs = lambda state: (Decimal("0.3"), -0.3)
    form = SequenceForm.from_rules(rules, exact=exact)
    assert form.A[0, 0] == pytest.approx(0.3)
    if exact:
        assert form.exact_payoffs(0) == {(0, 0): Fraction(3, 10)}
    graph = sample()
    probabilities(Decimal("0.5"), Decimal("0.5"))(graph)
    with_node("heads no", payoffs=(Decimal("1.5"), -1))(graph)
    assert GameTree(graph).enumeration.leaves.payoffs.max() == 2.0


def test_the_users_graph_is_not_changed():
    graph = sample()
    payoffs = np.array([1.0, -1.0])
    graph.nodes["heads no"]["payoffs"] = payoffs
    form = SequenceForm.from_tree(graph)
    assert graph.nodes["heads no"]["payoffs"] is payoffs
    assert payoffs.flags.writeable
    assert SequenceForm.from_tree(graph, exact=True).fingerprint == form.fingerprint
    graph.nodes["heads no"]["payoffs"] = (1.0, -1.0)
    assert SequenceForm.from_tree(graph).fingerprint == form.fingerprint


@pytest.mark.parametrize(
    ("outcomes", "message"),
    [
        ([], "the root is a chance node without outcomes"),
        ([("l", 0.5), ("l", 0.5)], "the root is a chance node with the same outcome twice"),
        ([("l", 0.5), ("r", None)], "the root has chance probabilities [0.5, None], expected numbers"),
        (None, "the root has chance outcomes None, expected pairs"),
        ([("l", 0.5, 1)], "the root has chance outcomes [('l', 0.5, 1)], expected pairs"),
        ([("l", 0.5), 3], "expected pairs of a hashable label and its probability"),
        ([("l", 0.5), (["r"], 0.5)], "expected pairs of a hashable label and its probability"),
        ([("l", 0.5), ("r", "0.6")], "the root "),
        ([("l", 0.5), ("r", 10**400)], "expected numbers"),
        ([("l", 0.5), ("r", 0.25)], "the root has chance probabilities that sum to 0.75, expected 1"),
        (
            [("l", float("inf")), ("r", 0.25)],
            "the root gives outcome 'l' probability inf, expected a number from 0 to 1",
        ),
    ],
)
def test_malformed_chance_is_refused_by_name(outcomes, message):
    rules = Scripted()
    rules.player = lambda state: -2 if state else CHANCE
    rules.chance_outcomes = lambda state: outcomes
    with pytest.raises(InvalidGameError) as caught:
        SequenceForm.from_rules(rules)
    check_message(caught.value)
    assert message in str(caught.value)
    for build in (lambda rules: SequenceForm.from_rules(rules, exact=True), GameTree.from_rules):
        with pytest.raises(InvalidGameError) as caught:
            build(rules)
        check_message(caught.value)


def test_probabilities_in_text_are_no_numbers_in_fractions():
    rules = Scripted()
    rules.player = lambda state: -2 if state else CHANCE
    rules.chance_outcomes = lambda state: [("l", 0.5), ("r", "0.5")]
    with pytest.raises(InvalidGameError, match=r"the root has chance probabilities \[0.5, '0.5'\], expected numbers"):
        SequenceForm.from_rules(rules, exact=True)


def test_messages_stay_short_and_on_one_line_whatever_the_labels():
    graph = nx.DiGraph()
    names = [f"line\nbreak {i} " + "long " * 50 for i in range(500)]
    graph.add_node("the\nroot", player=CHANCE)
    for i, name in enumerate(names):
        graph.add_node(name, player=0, infoset=("private\n" * 100,))
        graph.add_edge("the\nroot", name, action=name, prob=Fraction(1, len(names)))
        for j in range(60 + (i == 499)):
            graph.add_node((name, j), payoffs=(j,))
            graph.add_edge(name, (name, j), action=f"bet {j}\n")
    with pytest.raises(InvalidGameError, match=r"^history line\\nbreak 499 .* has actions .* elsewhere") as caught:
        GameTree(graph)
    check_message(caught.value)
    graph.nodes[names[7], 3]["payoffs"] = ("x" * 10_000,)
    with pytest.raises(InvalidGameError, match=r"^history line\\nbreak 7 ") as caught:
        GameTree(graph)
    check_message(caught.value)
    del graph.nodes[names[7]]["player"]
    with pytest.raises(InvalidGameError) as caught:
        GameTree(graph)
    check_message(caught.value)


DEPTH = either(quick=10_000, thorough=100_000)  # Python's stack holds 1,000


def chain(depth: int = DEPTH) -> nx.DiGraph:
    """Player 0 stops for 0 or goes on, ``depth`` times; who never stops wins 1."""
    graph = nx.DiGraph()
    graph.add_node(0, player=0, infoset=0)
    for i in range(depth):
        graph.add_node(-1 - i, payoffs=(0,))
        graph.add_edge(i, -1 - i, action="stop")
        if i + 1 < depth:
            graph.add_node(i + 1, player=0, infoset=i + 1)
        else:
            graph.add_node(i + 1, payoffs=(1,))
        graph.add_edge(i, i + 1, action="go")
    return graph


@pytest.fixture(scope="module")
def deep_chain():
    return chain()


def test_a_deep_game_is_built_and_answered_without_recursion(deep_chain):
    game = Game.from_tree(deep_chain)
    treeplex = game.sequence_form.treeplexes[0]
    assert treeplex.num_infosets == DEPTH
    assert treeplex.depths[-1] == DEPTH - 1
    response = best_response(game, Profile.uniform(game), 0)
    assert expected_payoffs(game, Profile([response])).tolist() == [1.0]
    assert response[DEPTH - 1] == {"stop": 0.0, "go": 1.0}
    assert treeplex.residual(response.plan) == 0.0


@pytest.mark.parametrize(
    ("node", "attributes", "message"),
    [
        (DEPTH, {"payoffs": (float("nan"),)}, "has payoffs (nan,), expected finite numbers"),
        (DEPTH, {"payoffs": (1, -1)}, f"(node {DEPTH}) has 2 payoffs, but other leaves have 1"),
        (DEPTH - 1, {"infoset": DEPTH - 2}, f"infoset {DEPTH - 2} of player 0 has imperfect recall: history go/"),
    ],
    ids=["payoff", "players", "recall"],
)
def test_an_error_deep_down_shortens_its_path(deep_chain, monkeypatch, node, attributes, message):
    for name, value in attributes.items():
        monkeypatch.setitem(deep_chain.nodes[node], name, value)
    with pytest.raises(InvalidGameError) as caught:
        GameTree(deep_chain)
    assert message in str(caught.value)
    assert re.search(rf"history go/go/.*/go/… {DEPTH // 1000 - 1}9[78]\d more …/go/.*/go ", str(caught.value))
    check_message(caught.value)


def test_deep_rules_stream_without_recursion():
    class Countdown(Scripted):
        num_players = 1

        def initial_state(self):
            return DEPTH

        def player(self, state):
            return 0 if state > 0 else -2

        def child(self, state, action):
            return state - 1 if action == "r" else -state

        def infoset(self, state):
            return state

        def payoffs(self, state):
            return (1.0 if state == 0 else 0.0,)

    form = SequenceForm.from_rules(Countdown())
    assert form.treeplexes[0].num_sequences == 2 * DEPTH + 1
    assert form.num_leaves == DEPTH + 1
    assert form.num_nodes == 2 * DEPTH + 1


#: Every way to have a tree whose graph can be changed.
WAYS = {
    "graph": GameTree,
    "rules": lambda graph: GameTree.from_rules(GameTree(graph)),
    "efg": lambda graph: parse_efg(format_efg(GameTree(graph))),
    "json": lambda graph: parse_json(format_json(GameTree(graph))),
    "graphml": lambda graph: parse_graphml(format_graphml(GameTree(graph))),
    "copied": lambda graph: GameTree(Game.from_tree(graph).tree.graph.copy()),
}


def anew(graph: nx.DiGraph) -> nx.DiGraph:
    """Build a graph again, node by node and edge by edge."""
    built = nx.DiGraph()
    for node in graph:
        built.add_node(node, **graph.nodes[node])
    for tail in graph:
        for head in graph.adj[tail]:
            built.add_edge(tail, head, **graph.edges[tail, head])
    return built


def change_at_random(graph: nx.DiGraph, source: random.Random) -> None:
    """Change something that a game is made of: what results need not be a game."""
    node = source.choice(list(graph))
    attributes = graph.nodes[node]
    kind = source.randrange(5)
    if not graph.adj[node]:
        if kind < 3:
            value = source.choice([Fraction(source.randint(-9, 9), 4), 0.1, float("nan")])
            attributes["payoffs"] = [value, -value]  # a list, which can be changed in place
        else:  # a leaf becomes a decision
            attributes.pop("payoffs", None)
            attributes.update(player=kind - 3, infoset=source.choice(["new", ("new", 1)]))
            for action in "lr":
                graph.add_edge(node, (node, action), action=action)
                graph.nodes[node, action]["payoffs"] = (1, -1)
    elif kind == 0:
        attributes["player"] = source.choice([0, 1, CHANCE])
    elif kind == 1 and attributes["player"] != CHANCE:
        old = attributes["infoset"]
        for each in list(graph) if source.random() < 0.5 else [node]:
            if graph.nodes[each].get("infoset") == old:
                graph.nodes[each]["infoset"] = "other"
    elif kind == 2:
        below = source.choice(list(graph.adj[node]))
        graph.remove_nodes_from([below, *nx.descendants(graph, below)])
    elif kind == 3:
        for place, edge in enumerate(graph.adj[node].values()):
            edge["action"] = f"a{place}"
    else:
        number = len(graph.adj[node])
        for edge in graph.adj[node].values():
            edge["prob"] = Fraction(1, number)


def fingerprint_or_error(make) -> str:
    try:
        return make().fingerprint
    except TreeplexError as error:
        return type(error).__name__


@pytest.mark.soak
def test_a_changed_tree_is_the_tree_built_anew():
    """Whatever is changed, in every way to have a tree: the game is that of the graph as it is now."""
    changed = 0
    for seed in range(soaked(24)):
        source = random.Random(seed)
        tree = WAYS[source.choice(list(WAYS))](to_graph(seeded_tree(seed, depth=4, size=12)))
        before = Game.from_tree(tree)
        read_early = source.random() < 0.5
        first = before.fingerprint if read_early else Game.from_tree(anew(tree.graph)).fingerprint
        for _ in range(source.randint(1, 2)):
            change_at_random(tree.graph, source)
        wanted = fingerprint_or_error(lambda tree=tree: Game.from_tree(anew(tree.graph)))
        for make in (Game.from_tree, SequenceForm.from_tree, SequenceForm.from_rules, lambda one: Game("g", rules=one)):
            assert fingerprint_or_error(lambda make=make, tree=tree: make(tree)) == wanted, seed
        for write, read in ((format_json, parse_json), (format_graphml, parse_graphml)):
            if "Error" not in wanted:
                assert Game.from_tree(read(write(tree))).fingerprint == wanted
        # The game that was made before knows nothing of all this.
        assert before.fingerprint == first == SequenceForm.from_tree(before.tree).fingerprint
        assert before.exact_sequence_form.fingerprint == first
        changed += wanted != first
    assert changed > 6


@pytest.mark.parametrize("way", WAYS)
def test_the_value_of_a_changed_tree_by_hand(way):
    """Both show heads: three in place of one. [[3, -1], [-1, 1]] has no saddle: (3·1 - 1) / (3 + 1 + 2) = 1/3."""
    tree = WAYS[way](load_game("matching_pennies").tree.graph.copy())
    old = Game.from_tree(tree)
    leaf = next(node for node, data in tree.graph.nodes(data=True) if data.get("payoffs") == (1, -1))
    tree.graph.nodes[leaf]["payoffs"] = [3, -3]
    new = Game.from_tree(tree)
    tree.graph.nodes[leaf]["payoffs"][:] = [-100, 100]
    assert float(solve(Nash(new)).value) == pytest.approx(1 / 3)
    assert float(solve(Nash(old)).value) == pytest.approx(0)
    assert new.tree.graph.nodes[leaf]["payoffs"] == (3, -3)


def test_payoffs_that_became_nan_are_refused_wherever_the_tree_is_read():
    tree = GameTree(sample())
    tree.graph.nodes["tails stop"]["payoffs"] = (float("nan"), 0)
    for read in (Game.from_tree, SequenceForm.from_tree, GameTree.from_rules, format_efg):
        with pytest.raises(InvalidGameError, match=r"history tails/stop.* has payoffs \(nan, 0.0\)"):
            read(tree)
    tree.graph.nodes["tails stop"]["payoffs"] = None
    for read in (format_json, format_graphml, draw):
        with pytest.raises(InvalidGameError, match="has payoffs None"):
            read(tree)


def test_the_tree_of_a_game_cannot_be_changed():
    for game in (Game.from_tree(sample()), load_game("kuhn"), Game("g", tree=GameTree(sample()))):
        graph = game.tree.graph
        node = next(iter(graph))
        tail, head = next(iter(graph.edges))
        for change in (
            lambda graph=graph, node=node: graph.nodes[node].update(player=1),
            lambda graph=graph, node=node: graph.nodes[node].pop("player"),
            lambda graph=graph, tail=tail, head=head: graph.edges[tail, head].__setitem__("action", "x"),
            lambda graph=graph, tail=tail, head=head: graph.adj[tail][head].clear(),
            lambda graph=graph: graph.graph.__setitem__("title", "x"),
        ):
            with pytest.raises(InvalidGameError, match="the tree of a game is read-only: change a copy"):
                change()
        with pytest.raises(nx.NetworkXError, match="Frozen graph"):
            graph.remove_node(head)
        for copied in (nx.DiGraph(graph), graph.copy()):
            copied.nodes[node]["player"] = 1
            copied.remove_node(head)
        for same in (pickle.loads(pickle.dumps(game)), copy.deepcopy(game)):  # noqa: S301
            assert same.fingerprint == game.fingerprint
            with pytest.raises(InvalidGameError, match="is read-only"):
                same.tree.graph.nodes[node].setdefault("x", 1)
