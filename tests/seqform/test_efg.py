"""Gambit's .efg files: every corner of the format, what is refused and where, and writing that is read back exactly."""

import contextlib
import io
import itertools
import math
import random
import re
import time
from decimal import Decimal
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from effort import either, examples, few, soaked
from hypothesis import given
from hypothesis import strategies as st
from random_trees import NestedRules, seeded_tree, to_graph, trees

from treeplex import (
    CHANCE,
    Game,
    GameFileError,
    GameTree,
    ImperfectRecallError,
    InvalidGameError,
    Nash,
    SequenceForm,
    TreeplexError,
    load_game,
    solve,
)
from treeplex.seqform.interchange.efg_reader import parse_efg, read_efg
from treeplex.seqform.interchange.efg_text import (
    MAX_DIGITS,
    distinct_labels,
    format_payoff,
    infoset_labels,
    parse_number,
)
from treeplex.seqform.interchange.efg_writer import format_efg, write_efg

# Small games that textbooks know, in the layout of Gambit's own files.

POKER = """EFG 2 R "One card, one raise" { "Dealer" "Caller" }
"Red cards win for the dealer; only the dealer sees the card."

c "deal" 1 "" { "red" 1/2 "black" 1/2 } 0
p "" 1 1 "red card" { "raise" "pass" } 0
p "" 2 1 "raised" { "call" "fold" } 0
t "" 1 "dealer wins two" { 2, -2 }
t "" 2 "dealer wins one" { 1, -1 }
t "" 2 "dealer wins one" { 1, -1 }
p "" 1 2 "black card" { "raise" "pass" } 0
p "" 2 1 "raised" { "call" "fold" } 0
t "" 3 "dealer loses two" { -2, 2 }
t "" 2 "dealer wins one" { 1, -1 }
t "" 4 "dealer loses one" { -1, 1 }
"""

HORSE = """EFG 2 R "Selten's horse" { "One" "Two" "Three" }
p "" 1 1 "" { "D" "C" } 0
  p "" 3 1 "" { "L" "R" } 0
    t "" 1 "" { 3 3 2 }
    t "" 2 "" { 0 0 0 }
  p "" 2 1 "" { "d" "c" } 0
    p "" 3 1 "" { "L" "R" } 0
      t "" 3 "" { 4 4 0 }
      t "" 4 "" { 0 0 1 }
    t "" 5 "" { 1 1 1 }
"""

# Payoffs of the first stage stand on the nodes where the second begins.
STAGES = """EFG 2 R "Two stages" { "A" "B" }
p "" 1 1 "first" { "stay" "go" } 0
p "" 1 2 "after stay" { "x" "y" } 1 "stage one" { 1/2, 0 }
c "" 1 "toss" { "h" 1/4 "t" 3/4 } 2 "extra" { 0.25, -1 }
t "" 1
t "" 0
p "" 2 1 "only one" { "z" } 0
t "" 3 "end" { 10, 20 }
t "" 4 "alone" { -1, 1e-2 }
"""


def leaves(tree):
    return [data["payoffs"] for _, data in tree.graph.nodes(data=True) if "payoffs" in data]


def described(tree):
    """Write a tree out depth first, with infosets numbered as they come and exact numbers."""
    numbers, lines, stack = {}, [], [tree.root]
    while stack:
        node = stack.pop()
        who = tree.player(node)
        if who == CHANCE:
            lines.append(("c", [(str(action), Fraction(p)) for action, p in tree.chance_outcomes(node)]))
        elif who >= 0:
            number = numbers.setdefault((who, tree.infoset(node)), len(numbers))
            lines.append(("p", who, number, [*map(str, tree.actions(node))]))
        else:
            lines.append(("t", [Fraction(payoff) for payoff in tree.payoffs(node)]))
        stack.extend(reversed(list(tree.graph.adj[node])))
    return lines


def described_by_gambit(text):
    """Do the same from what Gambit makes of a file; payoffs are added up along the path."""
    pygambit = pytest.importorskip("pygambit")
    game = pygambit.read_efg(io.BytesIO(text.encode()))
    if not hasattr(game, "root"):
        return described_by_paths(game, pygambit.H)
    players = list(game.players)
    numbers, lines, stack = {}, [], [(game.root, [Fraction(0)] * len(players))]

    def exact(number):
        return Fraction(str(number))

    while stack:
        node, gained = stack.pop()
        with contextlib.suppress(KeyError):  # a node without an outcome
            gained = [one + exact(node.outcome[who]) for one, who in zip(gained, players, strict=True)]
        if node.is_terminal:
            lines.append(("t", gained))
        elif node.player.is_chance:
            lines.append(("c", [(action.label, exact(action.prob)) for action in node.infoset.actions]))
        else:
            who = players.index(node.player)
            number = numbers.setdefault((who, node.infoset.number), len(numbers))
            lines.append(("p", who, number, [action.label for action in node.infoset.actions]))
        stack.extend((child, gained) for child in reversed(list(node.children)))
    return lines


def described_by_paths(game, selector):
    """Do the same in Gambit 17, whose nodes are named by the paths that lead to them."""
    players = [str(player) for player in game.players]
    numbers, lines, stack = {}, [], [((), [Fraction(0)] * len(players))]
    while stack:
        path, gained = stack.pop()
        node = selector.path(*path)
        if (outcome := game.get_outcome(node)) is not None:
            paid = game.get_outcome_payoffs(outcome)
            gained = [one + Fraction(str(paid[who])) for one, who in zip(gained, players, strict=True)]
        actions, chances = game.get_actions(node), game.get_action_probs(node)
        if not actions:
            lines.append(("t", gained))
        elif chances:
            lines.append(("c", [(action, Fraction(str(chances[action]))) for action in actions]))
        else:
            who = players.index(game.get_player(node))
            first = repr(game.get_members(node)[0])
            lines.append(("p", who, numbers.setdefault((who, first), len(numbers)), list(actions)))
        stack.extend(((*path, action), gained) for action in reversed(actions))
    return lines


def fingerprint(tree):
    return SequenceForm.from_tree(tree).fingerprint


def check_round_trip(tree):
    """Check that what is written is read back: the same game, and from then on the same text."""
    text = format_efg(tree)
    again = parse_efg(text)
    assert format_efg(again) == text
    assert fingerprint(again) == fingerprint(parse_efg(format_efg(again)))
    return text, again


def one_infoset(nodes, players='"a" "b"'):
    return f'EFG 2 R "" {{ {players} }}\n{nodes}'


BOTH = 'c "" 1 "" { "x" 1/2 "y" 1/2 } 0\n'
END = ' t "" 0'

# Files that Gambit reads, too.
ACCEPTED = {
    "poker": POKER,
    "horse": HORSE,
    "stages": STAGES,
    "a single leaf": one_infoset('t "" 1 "o" { 1 2 }'),
    "null outcome": one_infoset('t "" 0'),
    "decimal header": 'EFG 2 D "" { "a" } t "" 0',
    "one player": 'EFG 2 R "" { "a" } p "" 1 1 "" { "l" "r" } 0 t "" 1 "" { 1 } t "" 2 "" { 2 }',
    "five players": one_infoset('p "" 5 1 "" { "l" } 0 t "" 1 "o" { 1, 2, 3, 4, 5 }', '"a" "b" "c" "d" "e"'),
    "commas or none": one_infoset(
        'p "" 1 1 "" { "l" "r" "s" } 0 t "" 1 "" { 1,2 } t "" 2 "" { 1 , 3 } t "" 3 "" { 1 2, }'
    ),
    "blanks": one_infoset('\tp\n""\r\n1\f1\v"i"{"l" "r"}0\n\n t ""  0 t\n""\n0\n\n'),
    "on one line": POKER.replace("\n", " "),
    "carriage returns": POKER.replace("\n", "\r\n"),
    "comment": 'EFG 2 R "t" { "a" } "some comment" t "" 0',
    "labels left out": one_infoset(
        BOTH + 'p "" 1 1 "i" { "l" "r" } 0 t "" 1 "o" { 1 2 } t "" 0 p "" 1 1 0 t "" 1 t "" 2 "q" { 0 1 }'
    ),
    "same chance infoset again": one_infoset(
        BOTH + 'c "" 1 0' + END * 2 + ' c "" 1 "" { "x" 1/2 "y" 1/2 } 0' + END * 2
    ),
    "any numbers of infosets": one_infoset(
        BOTH + 'p "" 1 17 "i" { "l" } 0' + END + ' p "" 1 -3 "j" { "l" } 0 t "" 44 "" { 1 1 }'
    ),
    "same number, other player": one_infoset(
        BOTH + 'p "" 1 1 "i" { "l" } 0' + END + ' p "" 2 1 "j" { "l" "r" } 0' + END * 2
    ),
    "equal actions": one_infoset('p "" 1 1 "" { "l" "l" "" "l_1" "" } 0' + END * 5),
    "equal chances": one_infoset('c "" 1 "" { "x" 1/2 "x" 0.25 "" 1/4 } 0' + END * 3),
    "probability zero": one_infoset('c "" 1 "" { "x" 1 "y" 0 "z" 0.0 } 0' + END * 3),
    "probabilities mixed": one_infoset('c "" 1 "" { "x" 1e-1 "y" 9/10 } 0' + END * 2),
    "outcomes that pay on the way": one_infoset(
        'c "" 1 "" { "x" 1/2 "y" 1/2 } 3 "o" { 1/3 .5 }\np "" 1 1 "" { "l" } 3 t "" 3 t "" 1 "q" { -1/3 1 }'
    ),
    "numbers": one_infoset(
        'p "" 1 1 "" { "a" "b" "c" "d" "e" } 0 t "" 1 "" { -3/4 0.5 } t "" 2 "" { .5 5. } t "" 3 "" { 1e2 1.5E-3 } '
        't "" 4 "" { -.25 007 } t "" 5 "" { -1e-05 12345678901234567890 }'
    ),
    "escaped quote": one_infoset(r'p "say \"go\"" 1 1 "a \"b\"" { "\"" "back\slash" } 0' + END * 2),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_gambit_reads_is_read_as_gambit_does(name):
    assert described(parse_efg(ACCEPTED[name])) == described_by_gambit(ACCEPTED[name])


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_read_is_written_and_read_again(name):
    tree = parse_efg(ACCEPTED[name])
    text, again = check_round_trip(tree)
    assert described(again) == described(tree)
    assert fingerprint(again) == fingerprint(tree)
    assert again.graph.graph == tree.graph.graph
    assert list(again.graph.nodes(data=True)) == list(tree.graph.nodes(data=True))
    assert described_by_gambit(text) == described(tree)


def test_names_survive():
    tree = parse_efg(POKER)
    assert tree.graph.graph == {
        "title": "One card, one raise",
        "players": ("Dealer", "Caller"),
        "comment": "Red cards win for the dealer; only the dealer sees the card.",
    }
    assert tree.graph.nodes[0]["name"] == "deal"
    assert tree.graph.nodes[3] == {"payoffs": (2, -2), "outcome": "dealer wins two"}
    assert tree.graph.nodes[1] == {"player": 0, "infoset": "red card"}
    assert tree.action_path(3) == ("red", "raise", "call")
    assert format_efg(tree) == POKER
    assert format_efg(tree, title="Other").startswith('EFG 2 R "Other" { "Dealer"')


def test_payoffs_on_a_path_are_added_up():
    tree = parse_efg(STAGES)
    quarter = Fraction(1, 4)
    assert leaves(tree) == [
        (Fraction(5, 4), -1),
        (3 * quarter, -1),
        (Fraction(21, 2), 20),
        (-1, Fraction(1, 100)),
    ]
    assert [type(payoff) for payoff in leaves(tree)[0]] == [Fraction, int]


def test_textbook_games_have_their_values():
    solution = solve(Nash(Game.from_tree(parse_efg(POKER))))
    assert solution.value == pytest.approx(1 / 3)
    assert solution.profile[0]["black card"]["raise"] == pytest.approx(1 / 3)
    assert solution.profile[1]["raised"]["call"] == pytest.approx(2 / 3)


def test_kuhn_poker_goes_to_a_file_and_back(tmp_path):
    path = tmp_path / "kuhn.efg"
    write_efg(load_game("kuhn").tree, path, title="Kuhn poker")
    game = Game.from_tree(read_efg(path))
    assert solve(Nash(game)).value == pytest.approx(-1 / 18, abs=1e-9)
    assert game.fingerprint == load_game("kuhn").fingerprint
    assert game.tree.graph.graph["title"] == "Kuhn poker"


@few
@pytest.mark.parametrize(
    "name",
    ["kuhn", "kuhn:players=3", "leduc", "liars_dice:sides=3", "goofspiel", "matching_pennies", "rps", "repeated_rps"],
)
def test_built_in_games_are_written_and_read_again(name):
    tree = load_game(name).tree
    text, again = check_round_trip(tree)
    assert described(again) == described(tree)
    if tree.num_nodes < 2000:
        assert described_by_gambit(text) == described(again)


LABELS = {
    "unique": (["a", "b"], ["a", "b"]),
    "empty": (["", ""], ["4", "5"]),
    "equal": (["a", "a"], ["4", "5"]),
    "a number that is a label": (["", "4"], ["4_1", "4"]),
    "a number and its variant": (["", "4", "4_1"], ["4_2", "4", "4_1"]),
}


@pytest.mark.parametrize("name", LABELS)
def test_infosets_go_by_their_label_or_their_number(name):
    labels, expected = LABELS[name]
    assert infoset_labels(labels, range(4, 4 + len(labels))) == expected
    assert infoset_labels(expected, range(9, 9 + len(expected))) == expected
    chances = " ".join(f'"{i}" 1/{len(labels)}' for i in range(len(labels)))
    text = f'EFG 2 R "" {{ "a" }} c "" 1 "" {{ {chances} }} 0'
    for number, label in enumerate(labels, start=4):
        text += f' p "" 1 {number} "{label}" {{ "l" }} 0 t "" 0'
    tree = parse_efg(text)
    assert list(tree.enumeration.treeplexes[0].infoset_labels) == expected
    assert fingerprint(check_round_trip(tree)[1]) == fingerprint(tree)


@given(st.lists(st.sampled_from(["", "a", "a_1", "a_2", "_1", "b"]), max_size=8))
def test_action_labels_become_distinct_and_stay_so(labels):
    distinct = distinct_labels(labels)
    assert len(set(distinct)) == len(labels)
    assert "" not in distinct
    assert distinct_labels(distinct) == distinct
    assert all(new == old for old, new in zip(labels, distinct, strict=True) if old and labels.count(old) == 1)


def test_labels_of_every_kind_become_text():
    texts = {
        1: "1_1",
        "1": "1_2",
        (2, "b"): "(2, 'b')",
        frozenset(): "frozenset()",
        None: "None",
        "": "_1",
        "\ud800": "?",
    }
    kept = ['quo"te', "back\\", "\\", '\\"', "line\nbreak", "\u00e9 \u8bed"]
    graph = nx.DiGraph()
    graph.add_node("root", player=0, infoset=("a", 1))
    for i, action in enumerate([*texts, *kept]):
        graph.add_node(i, payoffs=(i,))
        graph.add_edge("root", i, action=action)
    _, again = check_round_trip(GameTree(graph))
    assert again.infoset(0) == "('a', 1)"
    assert again.actions(0) == (*texts.values(), *kept)


@given(st.lists(st.text(min_size=1), min_size=3, max_size=3, unique=True), st.text(), st.text(), st.text())
def test_any_text_survives(labels, title, player, comment):
    graph = nx.DiGraph(title=title, players=[player], comment=comment)
    graph.add_node(0, player=0, infoset=labels[0], name=title)
    for i, label in enumerate(labels):
        graph.add_node(label, payoffs=(i,), outcome=comment)
        graph.add_edge(0, label, action=label)
    tree = GameTree(graph)
    _, again = check_round_trip(tree)
    assert fingerprint(again) == fingerprint(tree)
    assert again.graph.graph == {"title": title, "players": (player,), "comment": comment}
    assert again.graph.nodes[0].get("name", "") == title
    assert again.graph.nodes[1].get("outcome", "") == comment


def test_attributes_that_are_no_names_are_left_out():
    graph = nx.DiGraph(title=3, players={"a", "b"}, comment=None)
    graph.add_node(0, payoffs=(1, 2), name=object(), outcome=7)
    assert format_efg(GameTree(graph)) == 'EFG 2 R "" { "Player 1" "Player 2" }\n\nt "" 1 "" { 1, 2 }\n'


@given(trees(num_players=3, zero_sum=False))
def test_random_trees_come_back_as_they_were(root):
    tree = GameTree(to_graph(root))
    _, again = check_round_trip(tree)
    assert described(again) == described(tree)
    assert fingerprint(again) == fingerprint(tree)
    exact, exact_again = (SequenceForm.from_tree(one, exact=True) for one in (tree, again))
    for player in range(3):
        assert exact.exact_payoffs(player) == exact_again.exact_payoffs(player)


@given(trees(num_players=2))
@examples(25)
def test_gambit_reads_random_trees_as_they_were(root):
    tree = GameTree(to_graph(root))
    assert described_by_gambit(format_efg(tree)) == described(tree)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("num_players", [1, 2, 4])
def test_floats_come_back_bit_by_bit(seed, num_players):
    root = seeded_tree(seed, num_players, zero_sum=False)
    tree = GameTree.from_rules(NestedRules(root, num_players))
    text, again = check_round_trip(tree)
    assert [tuple(map(float, payoffs)) for payoffs in leaves(again)] == leaves(tree)
    assert fingerprint(again) == fingerprint(tree)
    assert described_by_gambit(text) == described(again)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_float_is_written_exactly(value):
    read = parse_number(format_payoff(value))
    assert float(read) == value
    assert format_payoff(read) == format_payoff(value)
    if value != int(value):
        assert format_payoff(value) == repr(value)


@given(st.fractions() | st.integers() | st.decimals(min_value=-(10**30), max_value=10**30, allow_nan=False))
def test_every_exact_number_is_written_exactly(value):
    read = parse_number(format_payoff(value))
    assert read == Fraction(value)
    assert isinstance(read, int) == (Fraction(value).denominator == 1)
    assert format_payoff(read) == format_payoff(value)


@given(
    st.from_regex(
        r"[+-]?([0-9]{1,4}(\.[0-9]{0,4})?([eE][+-]?[0-9]{1,2})?|\.[0-9]{1,4}|[0-9]{1,4}/[1-9][0-9]?)", fullmatch=True
    )
)
def test_numbers_mean_what_python_reads(text):
    assert parse_number(text) == Fraction(text)


def test_numbers_of_numpy_are_written():
    for payoffs in (np.array([0.1, 2.0]), (np.float32(0.1), np.int64(2)), (np.float64(0.1), np.float32(2))):
        graph = nx.DiGraph()
        graph.add_node(0, payoffs=payoffs)
        tree = GameTree(graph)
        assert fingerprint(check_round_trip(tree)[1]) == fingerprint(tree)
        assert [tuple(map(float, one)) for one in leaves(parse_efg(format_efg(tree)))] == [tuple(map(float, payoffs))]


def test_numbers_that_are_too_long_are_not_written():
    for value in (Fraction(1, 10**MAX_DIGITS * 1000), Decimal("1e-999999999"), Decimal(f"0.{'1' * 700}")):
        graph = nx.DiGraph()
        graph.add_node(0, payoffs=(value,))
        with pytest.raises(InvalidGameError, match=r"has more than 600 digits, which an \.efg file does not support"):
            format_efg(GameTree(graph))
    graph.nodes[0]["payoffs"] = (Decimal("0e-999999999"),)
    assert 't "" 1 "" { 0 }' in format_efg(GameTree(graph))


def chance_file(*probabilities):
    outcomes = " ".join(f'"{i}" {probability}' for i, probability in enumerate(probabilities))
    return f'EFG 2 R "" {{ "a" }}\nc "" 1 "" {{ {outcomes} }} 0{END * len(probabilities)}'


def test_rounded_probabilities_are_divided_by_their_sum():
    for third in ("0.333333", "0.3333333333333333", ".33333"):
        tree = parse_efg(chance_file(third, third, third))
        assert tree.chance_outcomes(0) == [(str(i), Fraction(1, 3)) for i in range(3)]
        assert described_by_gambit(format_efg(tree)) == described(tree)
    with pytest.raises(GameFileError, match=r"^line 2, column 8: the probabilities sum to 0.9999, expected 1$"):
        parse_efg(chance_file("0.3333", "0.3333", "0.3333"))


def test_probabilities_in_floats_are_written_as_fractions_that_sum_to_one():
    graph = nx.DiGraph()
    graph.add_node("root", player=CHANCE)
    for i in range(3):
        graph.add_node(i, payoffs=(i,))
        graph.add_edge("root", i, action=i, prob=1 / 3)
    assert '{ "0" 1/3 "1" 1/3 "2" 1/3 }' in format_efg(GameTree(graph))


def test_definitions_that_differ_only_in_writing_agree():
    first = 'p "" 1 1 "i" { "l" "r" } 1 "o" { 1 0.5 } t "" 1 "o" { 1.0, 1/2 } t "" 01'
    second = ' p "" +1 01 "i"{"l"   "r"}0 t "" 0 t "" 0'
    tree = parse_efg(one_infoset(BOTH + first + second))
    assert leaves(tree)[0] == (2, 1)
    tree = parse_efg(one_infoset(BOTH + 'c "" 1 "" { "x" .5 "y" 2/4 } 0' + END * 3))
    assert tree.chance_outcomes(1) == tree.chance_outcomes(0)


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_backslashes_and_quotes_survive_in_every_order(length):
    for letters in itertools.product('\\"x', repeat=length):
        graph = nx.DiGraph(title="".join(letters))
        graph.add_node(0, payoffs=(1,))
        assert check_round_trip(GameTree(graph))[1].graph.graph["title"] == "".join(letters)


# What is wrong, where, and what the message says.
HEAD = 'EFG 2 R "t" { "a" "b" }\n'
PAIR = HEAD + 'p "" 1 1 "i" { "l" "r" } 0\n'
TOSS = HEAD + 'c "" 1 "e" { "x" 1/2 "y" 1/2 } 1 "o" { 1 2 }\n'
TWICE = TOSS + 'p "" 2 5 "i" { "l" "r" } 0 t "" 0 t "" 0\n'
REFUSED = {
    "nothing": ("", 1, 1, "expected EFG at the beginning of an .efg file, received the end of the file"),
    "blanks": ("\n  \n", 3, 1, "received the end of the file"),
    "another format": ('NFG 1 R "t"', 1, 1, "received NFG"),
    "small letters": ("efg 2 R", 1, 1, "received efg"),
    "another version": ('EFG 3 R "t"', 1, 5, "expected 2, the version of the format, received 3"),
    "another kind": ('EFG 2 X "t"', 1, 7, "expected R or D after the version, received X"),
    "no title": ("EFG 2 R { }", 1, 9, "expected the game's title in quotes, received {"),
    "open title": ('EFG 2 R "t { }', 1, 9, "received a string with no closing quote"),
    "no players": ('EFG 2 R "t"\n t "" 0', 2, 2, "expected { and the players' names, received t"),
    "empty players": ('EFG 2 R "t" { }', 1, 15, "expected a player's name in quotes, received }"),
    "commas between players": ('EFG 2 R "t" { "a", "b" }', 1, 18, "a player's name in quotes, or }, received ,"),
    "no nodes": (HEAD, 2, 1, "expected a node: c (chance), p (a player's decision) or t (terminal), received the end"),
    "two comments": (HEAD + '"one" "two"', 2, 7, 't (terminal), received "two"'),
    "unknown node": (HEAD + 'x "" 0', 2, 1, "expected a node"),
    "capital letter": (HEAD + 'T "" 0', 2, 1, "expected a node"),
    "no name": (HEAD + "t 0", 2, 3, "expected the node's name in quotes, received 0"),
    "no outcome": (HEAD + 't ""', 2, 5, "expected the outcome's number (an integer of at most ten"),
    "fractional outcome": (HEAD + 't "" 1.5', 2, 6, "(an integer of at most ten digits), received 1.5"),
    "enormous outcome": (HEAD + f't "" {10**30}', 2, 6, "at most ten digits), received 1000000000"),
    "enormous infoset": (HEAD + f'p "" 1 {10**30} "" {{ "l" }} 0', 2, 8, "at most ten digits"),
    "unknown outcome": (HEAD + 't "" 7', 2, 6, "outcome 7 is not defined yet; expected its payoffs"),
    "label of outcome 0": (HEAD + 't "" 0 "o" { 1 2 }', 2, 8, "outcome 0 pays nothing and cannot be defined"),
    "payoffs of outcome 0": (HEAD + 't "" 0 { 1 2 }', 2, 8, "outcome 0 pays nothing and cannot be defined"),
    "label without payoffs": (HEAD + 't "" 1 "o"', 2, 6, "outcome 1 is not defined yet; expected its payoffs"),
    "no payoffs": (HEAD + 't "" 1 "o" { }', 2, 14, "expected a payoff, received }"),
    "one payoff": (HEAD + 't "" 1 "o" { 1 }', 2, 11, "outcome 1 has 1 payoffs, expected 2: one per player"),
    "three payoffs": (HEAD + 't "" 1 "o" { 1 2 3 }', 2, 11, "outcome 1 has 3 payoffs, expected 2"),
    "two commas": (HEAD + 't "" 1 "o" { 1,, 2 }', 2, 16, "expected a payoff, or }, received ,"),
    "text for a payoff": (HEAD + 't "" 1 "o" { one 2 }', 2, 14, "expected a payoff, received one"),
    "infinite payoff": (HEAD + 't "" 1 "o" { inf 2 }', 2, 14, "expected a payoff, received inf"),
    "division by zero": (HEAD + 't "" 1 "o" { 1 1/0 }', 2, 16, "payoff 1/0 divides by zero"),
    "enormous exponent": (HEAD + 't "" 1 "o" { 1e999999999 2 }', 2, 14, "payoff 1e999999999 has more than 600 digits"),
    "tiny exponent": (HEAD + 't "" 1 "o" { 1e-99999 2 }', 2, 14, "is a fraction of more than 600 digits"),
    "larger than floats": (HEAD + 't "" 1 "o" { 1 1e309 }', 2, 16, "payoff 1e309 is larger than every float"),
    "two points": (HEAD + 't "" 1 "o" { 1.2.3 2 }', 2, 14, "expected a payoff, received 1.2.3"),
    "half a fraction": (HEAD + 't "" 1/', 2, 6, "(an integer of at most ten digits), received 1/"),
    "half an exponent": (HEAD + 't "" 1EFG', 2, 6, "(an integer of at most ten digits), received 1EFG"),
    "many digits": (HEAD + f't "" 1 "o" {{ {"7" * 100_000} 2 }}', 2, 14, "has more than 600 digits"),
    "open braces": (HEAD + 't "" 1 "o" { 1, 2', 2, 18, "expected a payoff, or }, received the end of the file"),
    "open text": (HEAD + 't "" 1 "o', 2, 8, "label in quotes, received a string with no closing quote"),
    "player too large": (HEAD + 'p "" 3 1 "i" { "l" } 0', 2, 6, "expected a player from 1 to 2, received 3"),
    "player zero": (HEAD + 'p "" 0 1 "i" { "l" } 0', 2, 6, "expected a player from 1 to 2, received 0"),
    "no infoset": (HEAD + 'p "" 1 "i" { "l" } 0', 2, 8, "expected the infoset's number"),
    "unknown infoset": (HEAD + 'p "" 1 4 0', 2, 8, "infoset 4 of player 1 is not defined yet"),
    "unknown chance infoset": (HEAD + 'c "" 4 0', 2, 6, "chance infoset 4 is not defined yet"),
    "no actions": (HEAD + 'p "" 1 1 "i" { } 0', 2, 16, "expected an action's label in quotes, received }"),
    "word for a label": (
        HEAD + 'p "" 1 1 i { "l" } 0',
        2,
        10,
        "the infoset's label in quotes, its actions in braces, or the outcome's",
    ),
    "label without actions": (HEAD + 'p "" 1 1 "i" 0', 2, 8, "infoset 1 of player 1 is not defined yet"),
    "commas between actions": (
        HEAD + 'p "" 1 1 "i" { "l", "r" } 0',
        2,
        19,
        "action's label in quotes, or }, received ,",
    ),
    "no outcome after actions": (PAIR.replace(" 0\n", "\n") + 't "" 0', 3, 1, "expected the outcome's number"),
    "no probability": (HEAD + 'c "" 1 "" { "x" "y" 1 } 0', 2, 17, 'expected the action\'s probability, received "y"'),
    "negative probability": (
        HEAD + 'c "" 1 "" { "7" 3/2 "8" -1/2 } 0',
        2,
        25,
        "probability -1/2, expected a number from 0 to 1",
    ),
    "sum of probabilities": (
        HEAD + 'c "" 1 "" { "x" 1/2 "y" 1/3 } 0',
        2,
        8,
        "the probabilities sum to 0.833333333333, expected 1",
    ),
    "missing node": (PAIR + 't "" 0\n', 4, 1, "the node after 'r' at the node in line 2, received the end"),
    "missing nodes further up": (
        PAIR + 'p "" 2 1 "" { "q" } 0\nt "" 0',
        4,
        7,
        "expected the node after 'r' at the node in line 2",
    ),
    "one node too many": (
        PAIR + 't "" 0 t "" 0\nt "" 0',
        4,
        1,
        "nothing after the complete tree, received t",
    ),
    "zero byte": (HEAD + "\0", 2, 1, r"received \x00"),
    "zero byte at the end": (HEAD + 't "" 0\0', 2, 7, r"nothing after the complete tree, received \x00"),
    "no blank of ASCII": (HEAD + 't\xa0"" 0', 2, 1, r"received t\xa0"),
    "other labels": (
        TWICE + 'p "" 2 5 "j" { "l" "r" } 0',
        4,
        10,
        "infoset 5 of player 2 has 'j' here, expected 'i' as in its def",
    ),
    "other actions": (
        TWICE + 'p "" 2 5 "i" { "l" "s" } 0',
        4,
        10,
        "infoset 5 of player 2 has 'l' 's' here, expected 'l' 'r'",
    ),
    "fewer actions": (TWICE + 'p "" 2 5 "i" { "l" } 0', 4, 10, "infoset 5 of player 2 has 'l' here, expected 'l' 'r'"),
    "other chances": (
        TOSS + 'c "" 1 "e" { "x" 1/3 "y" 2/3 } 0',
        3,
        8,
        "chance infoset 1 has 1/3 2/3 here, expected 1/2 1/2",
    ),
    "other payoffs": (
        TOSS + 't "" 1 "o" { 1 3 }',
        3,
        11,
        "outcome 1 has 1 3 here, expected 1 2 as in its definition",
    ),
    "other outcome label": (
        TOSS + 't "" 1 "O" { 1 2 }',
        3,
        8,
        "outcome 1 has 'O' here, expected 'o' as in its definition",
    ),
    "sum of payoffs": (
        one_infoset('p "" 1 1 "" { "x" } 1 "" { 1e308 0 }\np "" 2 1 "" { "x" } 1 t "" 0'),
        3,
        21,
        "the sum of the payoffs on the path to this outcome is larger than every float",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_where_it_stands(name):
    text, line, column, message = REFUSED[name]
    for newline in ("\n", "\r\n"):
        with pytest.raises(GameFileError) as caught:
            parse_efg(text.replace("\n", newline))
        assert (caught.value.line, caught.value.column) == (line, column)
        assert str(caught.value).startswith(f"line {line}, column {column}: ")
        assert message in str(caught.value)
        check_one_line(caught.value)


def check_one_line(error):
    assert "\n" not in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 1000


def test_a_player_who_forgets_is_refused():
    with pytest.raises(ImperfectRecallError, match=r"^infoset 'i' of player 0 has imperfect recall: .*") as caught:
        parse_efg(PAIR + 'p "" 1 1 0' + END * 3)
    check_one_line(caught.value)


@pytest.mark.parametrize("value", [None, b"EFG", 3, io.StringIO(POKER)])
def test_what_is_no_text_is_refused(value):
    with pytest.raises(GameFileError, match=r"is not the content of an \.efg file"):
        parse_efg(value)
    with pytest.raises(InvalidGameError, match=r"game is .*, expected a Game or a GameTree"):
        format_efg(value)


def test_files_are_read_in_utf_8_or_latin_1(tmp_path):
    path = tmp_path / "game.efg"
    text = POKER.replace("Dealer", "Geb\xe4rende \u8bed")
    for content in (text.encode(), text.encode("utf-8-sig"), text.replace("\n", "\r\n").encode()):
        path.write_bytes(content)
        assert read_efg(path).graph.graph["players"][0] == "Geb\xe4rende \u8bed"
    path.write_bytes(POKER.replace("Dealer", "Geb\xe4rende").encode("latin-1"))
    assert read_efg(str(path)).graph.graph["players"][0] == "Geb\xe4rende"
    path.write_bytes(POKER.encode("utf-16"))
    with pytest.raises(GameFileError, match="the file is in UTF-16, expected UTF-8"):
        read_efg(path)


def test_errors_name_the_file(tmp_path):
    path = tmp_path / "game.efg"
    path.write_bytes(b"\xff\x00\xfe")
    with pytest.raises(GameFileError, match=r"game\.efg: line 1, column 1: expected EFG") as caught:
        read_efg(path)
    assert (caught.value.line, caught.value.column) == (1, 1)
    for missing in (tmp_path / "none.efg", tmp_path):
        with pytest.raises(GameFileError) as caught:
            read_efg(missing)
        check_one_line(caught.value)
        with pytest.raises(GameFileError):
            write_efg(load_game("kuhn").tree, missing / "none" / "there.efg")


HOSTILE = {
    "players without end": 'EFG 2 R "" { ' + '"x" ' * 10**6,
    "depth without end": HEAD + 'p "" 1 1 "" { "l" } 0 ' * 100_000,
    "actions without end": HEAD + 'p "" 1 1 "" { ' + '"l" ' * 200_000,
    "backslashes": HEAD + 't "' + "\\" * 10**6,
    "quotes": HEAD + '"' * 10**6,
    "braces": HEAD + "{" * 10**6,
    "digits": HEAD + 't "" ' + "1" * 10**6,
    "denominators": HEAD + 'c "" 1 "" { ' + " ".join(f'"" 1/{10_000 + i % 99}' for i in range(10_000)) + " } 0",
    "denominators on a path": HEAD
    + "".join(f'p "" 1 {i} "" {{ "x" }} {i} "" {{ 1/{1_000_003 + 2 * i} 0 }} ' for i in range(1, 10_000)),
    "zeros": HEAD + 't "" 1 "" { ' + "0" * 10**6 + " 1 }",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_soon(name):
    begun = time.process_time()
    with pytest.raises(GameFileError) as caught:
        parse_efg(HOSTILE[name])
    check_one_line(caught.value)
    assert time.process_time() - begun < 10.0


def test_deep_and_broad_games_are_read_without_recursion():
    depth = either(3_000, 10_000)
    text = HEAD + "".join(f'p "" 1 {i} "" {{ "stop" "go" }} 0\nt "" 0\n' for i in range(1, depth + 1))
    tree = parse_efg(text + 't "" 1 "" { 1 0 }')
    assert tree.num_nodes == 2 * depth + 1
    assert parse_efg(format_efg(tree)).num_nodes == tree.num_nodes
    assert parse_efg(chance_file(*["1/20000"] * 20_000)).num_nodes == 20_001


TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s"{},]+|[{},]|\s+', re.DOTALL)
SPARE = [
    '"',
    "\\",
    "{",
    "}",
    ",",
    "0",
    "1",
    "-1",
    "1/0",
    "1e5",
    ".",
    "c",
    "p",
    "t",
    '""',
    '"l"',
    "\0",
    "\n",
    "EFG",
    "é",
]


@given(st.sampled_from([*ACCEPTED.values(), POKER, HORSE, STAGES]), st.integers(0, 2**32 - 1), st.booleans())
@examples(600)
def test_mutilated_files_are_read_or_refused_in_one_line(text, seed, by_token):
    source = random.Random(seed)
    parts = TOKEN.findall(text) if by_token else list(text)
    for _ in range(source.randint(1, 3)):
        place, other = source.randrange(len(parts)), source.randrange(len(parts))
        match source.randrange(6):
            case 0:
                del parts[place]
            case 1:
                parts.insert(place, source.choice(SPARE))
            case 2:
                parts[place], parts[other] = parts[other], parts[place]
            case 3:
                parts.insert(place, parts[other])
            case 4:
                parts[place] = source.choice(SPARE)
            case 5:
                del parts[max(place, 1) :]
        parts = parts or [" "]
    mutilated = "".join(parts)
    tree, refusal = None, None
    try:
        tree = parse_efg(mutilated)
    except TreeplexError as error:
        refusal = error
    if tree is not None:
        check_round_trip(tree)
        return
    check_one_line(refusal)
    assert "this node cannot be read" not in str(refusal)  # the message for what no check has found
    if isinstance(refusal, GameFileError):
        assert 1 <= refusal.line <= mutilated.count("\n") + 1
        assert 1 <= refusal.column <= len(mutilated.split("\n")[refusal.line - 1]) + 1


def test_exports_of_openspiel_are_read():
    pyspiel = pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms.gambit import export_gambit

    tree = parse_efg(export_gambit(pyspiel.load_game("kuhn_poker")))
    assert tree.graph.graph["players"] == ("Pl0", "Pl1")
    assert solve(Nash(Game.from_tree(tree))).value == pytest.approx(-1 / 18, abs=1e-9)
    assert solve(Nash(Game.from_tree(parse_efg(pyspiel.get_kuhn_poker_efg_data())))).value == pytest.approx(-1 / 18)


def test_openspiel_reads_what_is_written():
    pyspiel = pytest.importorskip("pyspiel")
    game = pyspiel.load_efg_game(format_efg(load_game("kuhn").tree, title="kuhn"))
    state = game.new_initial_state()
    returns = math.inf
    for action in ("J", "Q", "p", "p"):
        state.apply_action(next(a for a in state.legal_actions() if state.action_to_string(a) == action))
        returns = state.returns()
    assert returns == [-1.0, 1.0]


def without_labels(text, source, share):
    """Leave out labels of infosets and outcomes, and lists that were given before, as OpenSpiel reads files."""
    given = set()
    lines = text.splitlines()
    for place, line in enumerate(lines):
        node = re.fullmatch(r'([cp]) ("[^"]*")((?: \d+)+)(?: ("[^"]*") (\{[^}]*\}))? (\d+)', line)
        outcome = re.fullmatch(r't ("[^"]*") (\d+)(?: ("[^"]*") (\{[^}]*\}))?', line)
        if outcome:
            name, number, label, payoffs = outcome.groups()
            start, event, entries = f"t {name}", ("t", number), [(label, payoffs, "")]
        elif node:
            kind, name, numbers, label, actions, number = node.groups()
            start, event, entries = f"{kind} {name}{numbers}", (kind, numbers), [(label, actions, f" {number}")]
        else:
            continue
        ((label, listed, end),) = entries
        number = f" {event[1]}" if outcome else ""
        keep_list = event not in given or source.random() > share
        given.add(event)
        parts = [label if source.random() > share else None, listed if keep_list else None]
        lines[place] = start + number + "".join(f" {part}" for part in parts if part) + end
    return "\n".join(lines)


def test_labels_and_lists_that_were_given_before_may_be_left_out():
    """By hand: matching pennies is 0 whatever of it is left out, and each infoset goes by its number."""
    game = """EFG 2 R "Matching pennies" { "Even" "Odd" }
    p "" 1 1 { "heads" "tails" } 0
    p "" 2 7 { "heads" "tails" } 0
    t "" 1 { 1, -1 }
    t "" 2 "" { -1, 1 }
    p "" 2 7 0
    t "" 2
    t "" 1 "Even wins"
    """
    tree = parse_efg(game)
    assert [treeplex.infoset_labels for treeplex in tree.enumeration.treeplexes] == [("1",), ("7",)]
    assert float(solve(Nash(Game.from_tree(tree))).value) == pytest.approx(0)
    # A label that comes late is the label of all.
    assert [tree.graph.nodes[leaf].get("outcome") for leaf in (2, 3, 5, 6)] == ["Even wins", None, None, "Even wins"]
    late = parse_efg(game.replace('p "" 2 7 0', 'p "" 2 7 "Odd\'s" 0'))
    assert late.enumeration.treeplexes[1].infoset_labels == ("Odd's",)
    with pytest.raises(
        GameFileError, match=r"infoset 7 of player 2 has 'tails' 'heads' here, expected 'heads' 'tails'"
    ):
        parse_efg(game.replace('p "" 2 7 0', 'p "" 2 7 { "tails" "heads" } 0'))


@pytest.mark.soak
def test_games_with_labels_left_out_are_those_with_labels():
    for seed in range(soaked(12)):
        tree = GameTree(to_graph(seeded_tree(seed, depth=4, size=12)))
        text = format_efg(tree)
        stripped = without_labels(text, random.Random(seed), share=0.5)
        one, other = parse_efg(text), parse_efg(stripped)
        for first, second in zip(one.enumeration.treeplexes, other.enumeration.treeplexes, strict=True):
            assert first.action_labels == second.action_labels
            assert np.array_equal(first.parents, second.parents)
        assert np.array_equal(one.enumeration.leaves.payoffs, other.enumeration.leaves.payoffs)
        assert np.array_equal(one.enumeration.leaves.chance, other.enumeration.leaves.chance)


def test_openspiel_reads_the_same_game_from_files_without_labels():
    pyspiel = pytest.importorskip("pyspiel")
    for name in ("kuhn", "matching_pennies"):
        text = format_efg(load_game(name))
        stripped = re.sub(r'^(p "" \d+ \d+) "[^"]*"', r"\1", text, flags=re.MULTILINE)
        assert stripped.count('"') < text.count('"')
        theirs = load_of_openspiel(pyspiel, stripped)
        assert Game.from_tree(parse_efg(stripped)).sequence_form.num_leaves == theirs[0]
        assert float(solve(Nash(Game.from_tree(parse_efg(stripped)))).value) == pytest.approx(theirs[1], abs=1e-6)


def load_of_openspiel(pyspiel, text):
    """Return the number of leaves of a file's game, and its value by OpenSpiel's own CFR."""
    game = pyspiel.load_efg_game(text)
    leaves, stack = 0, [game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            leaves += 1
        else:
            stack += [state.child(action) for action in state.legal_actions()]
    solver = pyspiel.CFRPlusSolver(game)
    for _ in range(4000):
        solver.evaluate_and_update_policy()
    return leaves, pyspiel.expected_returns(game.new_initial_state(), solver.tabular_average_policy(), -1, True)[0]
