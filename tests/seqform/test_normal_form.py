"""Games in normal form: Gambit's .nfg files, tables of payoffs and declarations."""

import itertools
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from effort import few
from random_trees import count_pure_strategies, seeded_tree, to_game

from treeplex import (
    Game,
    GameFileError,
    GameTooLargeError,
    Nash,
    Profile,
    SequenceForm,
    expected_payoffs,
    load_game,
    solve,
)
from treeplex.seqform.interchange import format_nfg, parse_nfg, read_nfg, write_nfg

BY_PAYOFFS = 'NFG 1 R "t" { "Ann" "Bob" } { 3 2 }\n\n1 10 2 20 3 30 4 40 5 50 6 60\n'
BY_OUTCOMES = """NFG 1 R "t" { "Ann" "Bob" }
{ { "1" "2" "3" }
{ "1" "2" } }
"a comment"
{
{ "one" 1, 10 }
{ "two" 2, 20 }
{ "" 3 30 }
{ "four" 4.0, 40 }
{ "five" 5, 5e1 }
{ "six" 12/2, 60 } }
1 2 3 4 5 6
"""


def table_of(tree):
    """Return the payoffs by actions."""
    return {tree.action_path(node): tree.payoffs(node) for node in tree.graph.nodes if not tree.graph.out_degree(node)}


def test_both_forms():
    first, second = parse_nfg(BY_PAYOFFS), parse_nfg(BY_OUTCOMES)
    # Ann's strategy changes fastest.
    expected = {(str(1 + i % 3), str(1 + i // 3)): (1 + i, 10 + 10 * i) for i in range(6)}
    assert table_of(first) == table_of(second) == expected
    assert first.graph.graph["players"] == ("Ann", "Bob")
    assert second.graph.graph["comment"] == "a comment"
    assert first.enumeration.treeplexes[1].infoset_labels == ("Bob",)


def test_the_outcome_zero_pays_nothing():
    tree = parse_nfg('NFG 1 R "" { "a" "b" } { { "x" } { "y" "z" } } "" { { "" 1, 1/3 } } 0 1')
    assert table_of(tree) == {("x", "y"): (0, 0), ("x", "z"): (1, Fraction(1, 3))}


WRONG = {
    "another format": ('EFG 2 R "t"', "line 1, column 1: expected NFG at the beginning of an .nfg file, received EFG"),
    "version": ('NFG 2 R "t"', "column 5: expected 1, the version"),
    "no players": ('NFG 1 R "t" { }', "expected a player's name in quotes, received }"),
    "too few strategies": ('NFG 1 R "t" { "a" "b" } { 2 }', "column 29: expected a player's number of strategies"),
    "too many strategies": ('NFG 1 R "t" { "a" "b" } { 2 2 2 }', "expected } after the strategies of 2 players"),
    "none": ('NFG 1 R "t" { "a" "b" } { 0 2 }', "a player has 0 strategies"),
    "too few payoffs": ('NFG 1 R "t" { "a" "b" } { 1 2 }\n1 2 3', "payoff of player 2 in combination 2 of 2"),
    "too many payoffs": ('NFG 1 R "t" { "a" "b" } { 1 1 }\n1 2 3', "line 2, column 5: expected the end of the file"),
    "a word": ('NFG 1 R "t" { "a" "b" } { 1 1 }\n1 x', "expected the payoff of player 2 in combination 1 of 1"),
    "division": ('NFG 1 R "t" { "a" "b" } { 1 1 }\n1 1/0', "1/0 divides by zero"),
    "no outcome": ('NFG 1 R "t" { "a" } { 1 }\n{ { "" 1 } } 2', "there is no outcome 2, expected at most 1"),
    "short outcome": ('NFG 1 R "t" { "a" "b" } { 1 1 }\n{ { "" 1 } } 1', "payoff of player 2 in outcome 1"),
    "empty": ("", "received the end of the file"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named_with_its_place(name, tmp_path: Path):
    text, message = WRONG[name]
    path = tmp_path / "wrong.nfg"
    path.write_text(text)
    with pytest.raises(GameFileError, match=re.escape(message)) as caught:
        load_game(str(path))
    assert str(caught.value).startswith(f"{path}: line ")
    assert "\n" not in str(caught.value)


def test_a_count_that_would_fill_the_memory():
    with pytest.raises(GameTooLargeError):
        parse_nfg('NFG 1 R "t" { "a" "b" } { 999999 999999 } 1')


@few
@pytest.mark.parametrize("seed", range(40))
def test_the_reduced_normal_form_pays_what_the_tree_pays(seed):
    drawn = next(
        tree
        for tree in (seeded_tree(attempt, zero_sum=False, depth=4, size=12) for attempt in itertools.count(100 * seed))
        if all(count_pure_strategies(tree, player) <= 12 for player in (0, 1))
    )
    game = to_game(drawn)
    written = Game.from_tree(parse_nfg(format_nfg(game)))
    sizes = [treeplex.num_sequences - 1 for treeplex in written.sequence_form.treeplexes]
    assert sizes == [max(1, count_pure_strategies(drawn, player)) for player in (0, 1)]
    assert pure_payoffs(written) == pytest.approx(pure_payoffs(game), abs=1e-12)


def pure_payoffs(game):
    """Return the payoffs of all pairs of pure strategies, sorted by player."""
    form = game.sequence_form
    rows, columns = (pure_plans(treeplex) for treeplex in form.treeplexes)
    return np.concatenate(
        [np.sort((rows @ form.payoff_matrix(player).toarray() @ columns.T).ravel()) for player in (0, 1)]
    )


def pure_plans(treeplex):
    """Return every pure plan as a row."""
    actions = [range(count) for count in treeplex.num_actions.tolist()]
    plans = set()
    for chosen in itertools.product(*actions):
        behaviour = np.zeros(treeplex.num_sequences)
        behaviour[0] = 1.0
        for infoset, action in enumerate(chosen):
            behaviour[treeplex.offsets[infoset] + action] = 1.0
        plans.add(tuple(treeplex.plan(behaviour).tolist()))
    return np.array(sorted(plans))


def test_writing_and_reading_again():
    for spec in ("rps", "matching_pennies", "kuhn"):
        text = format_nfg(load_game(spec))
        again = Game.from_tree(parse_nfg(text))
        assert format_nfg(again, title=spec) == text
        assert solve(Nash(again)).value == pytest.approx(solve(Nash(load_game(spec))).value, abs=1e-9)
    three = parse_nfg('NFG 1 R "t" { "a" "b" "c" } { 2 1 2 } 1 2 3 4 5 6 7 8 9 1/3 -1 0.5')
    assert table_of(parse_nfg(format_nfg(three))) == table_of(three)
    uniform = Profile.uniform(Game.from_tree(three))
    assert expected_payoffs(Game.from_tree(three), uniform)[0] == pytest.approx((1 + 4 + 7 + 1 / 3) / 4)
    matrices = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, 0.1]], [[2, 3]]))
    assert format_nfg(matrices).splitlines()[-2:] == ["1 2", "0.1 3"]


def test_a_normal_form_that_is_too_large_is_refused():
    with pytest.raises(GameTooLargeError, match=r"leduc has more than 100,000 combinations .* write it as \.efg"):
        format_nfg(load_game("leduc"))


def test_gambit_reads_the_same_payoffs(tmp_path: Path):
    pygambit = pytest.importorskip("pygambit")
    for number, text in enumerate((BY_PAYOFFS, BY_OUTCOMES, format_nfg(load_game("kuhn")))):
        path = tmp_path / f"{number}.nfg"
        path.write_text(text)
        first, second = pygambit.read_nfg(str(path)).to_arrays(dtype=float)
        write_nfg(load_game(str(path)), tmp_path / "again.nfg")
        for tree in (read_nfg(path), read_nfg(tmp_path / "again.nfg")):
            paid = np.array(list(table_of(tree).values()), dtype=float).reshape(*first.shape, 2)
            assert np.allclose(paid, np.stack([first.astype(float), second.astype(float)], axis=-1))


# Tables and declarations


def test_a_table_and_a_declaration_are_the_same_game(tmp_path: Path):
    (tmp_path / "sexes.csv").write_text("the sexes,opera,match\nopera,2 1,0;0\n\nmatch,0 0,1 2.0\n")
    (tmp_path / "sexes.toml").write_text(
        'rows = ["opera", "match"]\ncolumns = ["opera", "match"]\npayoffs = [[2, 0], ["0/3", 1.0]]\n'
        "column_payoffs = [[1, 0], [0, 2]]\n"
    )
    table, declared = (load_game(str(tmp_path / f"sexes.{suffix}")) for suffix in ("csv", "toml"))
    assert table.fingerprint == declared.fingerprint
    assert table_of(table.tree) == table_of(declared.tree)
    assert table_of(table.tree)["match", "match"] == (1, 2)
    assert solve(Nash(table)).regrets == (0.0, 0.0)


def test_a_single_matrix_is_zero_sum(tmp_path: Path):
    (tmp_path / "one.csv").write_text(",L,R\nT,1/3,-1\nB,-1,1\n")
    (tmp_path / "one.toml").write_text("payoffs = [['1/3', -1], [-1, 1]]\n")
    for suffix in ("csv", "toml"):
        solution = solve(Nash(load_game(str(tmp_path / f"one.{suffix}"))), "rational")
        assert solution.value == Fraction(-1, 5)


DECLARED = {
    "payoffs = [[1, 2], [3]]": "line 1: payoffs: row 2 has 1 entries, expected 2",
    "payoffs = 3": "payoffs is 3, expected the rows of a matrix",
    "payoffs = [[true]]": "payoffs: True in row 1 is not a number",
    "payoffs = [['x']]": "payoffs: 'x' in row 1 is not a number",
    "payoffs = [[nan]]": "payoffs: nan in row 1 is not a number",
    "payoffs = [['1/0']]": "payoffs: divides by zero",
    "payoffs = [[1]]\ncolumn_payoffs = [[1], [2]]": "line 2: column_payoffs has 2 rows, expected 1, as many as payoffs",
    "payoffs = [[1]]\nrow = ['a']": "line 2: unknown key 'row' (did you mean rows?)",
    "payoffs = [[1]]\nrows = ['a', 'b']": "line 2: rows is ['a', 'b'], expected a list of 1 names",
}


@pytest.mark.parametrize("text", DECLARED)
def test_wrong_declarations(text, tmp_path: Path):
    (tmp_path / "wrong.toml").write_text(text)
    with pytest.raises(GameFileError, match=re.escape(DECLARED[text])):
        load_game(str(tmp_path / "wrong.toml"))


TABLES = {
    "": "line 1: it has no table of payoffs",
    ",a,b\nc,1 2\n": "line 2: the row has 2 cells, expected 3",
    ",a\nc,1 2 3\n": "line 2: cell 2 is '1 2 3', expected the payoffs of both players, such as '2 1'",
    ",a\nc,x\n": "line 2: cell 2 is 'x'",
    ",a\nc,1/0 1\n": "line 2: cell 2: 1/0 1 divides by zero",
}


@pytest.mark.parametrize("text", TABLES)
def test_wrong_tables(text, tmp_path: Path):
    (tmp_path / "wrong.csv").write_text(text)
    with pytest.raises(GameFileError, match=re.escape(TABLES[text])):
        load_game(str(tmp_path / "wrong.csv"))
