"""Sequence forms: two routes to the same arrays, sizes, exact fractions, matrices and fingerprints."""

import copy
import os
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from effort import few

from treeplex import (
    Game,
    InvalidGameError,
    InvalidStrategyError,
    Profile,
    SequenceForm,
    Treeplex,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
)
from treeplex.seqform import bayesian_form
from treeplex.seqform.fingerprint import _digits
from treeplex.seqform.payoffs import LeafTable
from treeplex.seqform.polytope import depths_of
from treeplex.seqform.sequence_form import sequence_form_of

SMALL = [
    "kuhn",
    "kuhn:cards=5",
    "kuhn:players=3",
    "leduc",
    "leduc:merge_suits=true",
    "liars_dice",
    "liars_dice:wild=false",
    "liars_dice:players=3,sides=2",
    "goofspiel",
    "goofspiel:order=random,cards=3",
    "matching_pennies",
    "rps:rock=0.1,paper=1/3",
    "repeated_rps",
    "depth_limited_figure_2",
    "coin",
    "depth_limited_figure_10",
    "gadget_trap_1",
    "gadget_trap_2",
]

# Sequences and infosets of players 0 and 1, leaves, histories, non-zeros of A.
SIZES = [
    ("kuhn", (13, 13), (6, 6), 30, 58, 30),
    ("leduc", (1093, 1093), (468, 468), 5520, 9457, 4920),
    ("leduc:merge_suits=true", (337, 337), (144, 144), 1116, None, None),
    ("liars_dice", (1021, 1021), (512, 512), None, None, None),
    ("goofspiel:cards=5", (2284, 2284), (1062, 1062), None, None, None),
]


def assert_same_arrays(one: SequenceForm, other: SequenceForm) -> None:
    assert one.num_players == other.num_players
    for mine, theirs in zip(one.treeplexes, other.treeplexes, strict=True):
        np.testing.assert_array_equal(mine.parents, theirs.parents)
        np.testing.assert_array_equal(mine.num_actions, theirs.num_actions)
        np.testing.assert_array_equal(mine.offsets, theirs.offsets)
        np.testing.assert_array_equal(mine.E.toarray(), theirs.E.toarray())
        np.testing.assert_array_equal(mine.e, theirs.e)
    if one.num_players == 2:
        for player in (0, 1):
            mine, theirs = one.payoff_matrix(player), other.payoff_matrix(player)
            for name in ("indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


def assert_same(one: SequenceForm, other: SequenceForm) -> None:
    assert_same_arrays(one, other)
    for mine, theirs in zip(one.treeplexes, other.treeplexes, strict=True):
        assert mine.infoset_labels == theirs.infoset_labels
        assert mine.action_labels == theirs.action_labels
    for name in ("sequences", "chance", "payoffs"):
        np.testing.assert_array_equal(getattr(one.leaves, name), getattr(other.leaves, name))
    assert one.num_nodes == other.num_nodes
    assert one.fingerprint == other.fingerprint


@few
@pytest.mark.parametrize("spec", SMALL)
def test_both_routes_give_the_same_arrays(spec):
    game = load_game(spec)
    streamed = SequenceForm.from_rules(game.rules)
    assert_same(streamed, SequenceForm.from_tree(game.tree))
    assert_same(streamed, SequenceForm.from_tree(game.tree.graph))
    assert_same(streamed, Game.from_tree(game.tree).sequence_form)
    assert streamed.num_nodes == game.tree.num_nodes


@few
@pytest.mark.parametrize("spec", SMALL)
def test_exact_numbers_lie_beside_the_same_floats(spec):
    game = load_game(spec)
    exact = game.exact_sequence_form
    assert exact.fingerprint == game.fingerprint
    np.testing.assert_array_equal(exact.leaves.sequences, game.sequence_form.leaves.sequences)
    np.testing.assert_allclose(exact.leaves.chance, game.sequence_form.leaves.chance, rtol=1e-15)
    assert [float(chance) for chance in exact.leaves.exact_chance] == exact.leaves.chance.tolist()
    assert [tuple(map(float, row)) for row in exact.leaves.exact_payoffs] == list(
        map(tuple, exact.leaves.payoffs.tolist())
    )
    assert_same(exact, SequenceForm.from_tree(game.tree, exact=True))
    if game.num_players == 2:
        entries = {key: float(entry) for key, entry in exact.exact_payoffs(0).items() if entry}
        rows, columns = exact.A.nonzero()
        assert dict(zip(zip(rows.tolist(), columns.tolist(), strict=True), exact.A.data, strict=True)) == pytest.approx(
            entries, rel=1e-14
        )


@pytest.mark.parametrize("spec", SMALL)
def test_arrays_are_well_formed(spec):
    for treeplex in load_game(spec).sequence_form.treeplexes:
        owners = treeplex.sequence_infosets
        assert owners[0] == -1
        # Contiguous, and topological: an infoset comes after its parent sequence's.
        assert (np.diff(owners) >= 0).all()
        assert (owners[treeplex.parents] < np.arange(treeplex.num_infosets)).all()
        assert treeplex.E.shape == (treeplex.num_infosets + 1, treeplex.num_sequences)
        assert treeplex.e.tolist() == [1.0] + [0.0] * treeplex.num_infosets
        assert [treeplex.infoset_numbers[label] for label in treeplex.infoset_labels] == list(
            range(treeplex.num_infosets)
        )
        assert treeplex.sequence_label(0) is None
        for sequence in range(1, treeplex.num_sequences):
            infoset = int(owners[sequence])
            action = treeplex.action_labels[infoset][sequence - treeplex.offsets[infoset]]
            assert treeplex.sequence_label(sequence) == (treeplex.infoset_labels[infoset], action)
        levels = treeplex.levels
        assert np.concatenate([level.infosets for level in levels]).tolist() == sorted(
            range(treeplex.num_infosets), key=lambda infoset: (treeplex.depths[infoset], infoset)
        )
        for array in (treeplex.parents, treeplex.num_actions, treeplex.offsets, owners, treeplex.depths, treeplex.e):
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 7


def test_a_parent_is_the_players_own_last_action():
    treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    assert treeplex.infoset_labels == ("J_", "J_pb", "Q_", "Q_pb", "K_", "K_pb")
    assert [treeplex.sequence_label(parent) for parent in treeplex.parents.tolist()] == [
        None,
        ("J_", "p"),
        None,
        ("Q_", "p"),
        None,
        ("K_", "p"),
    ]
    assert treeplex.depths.tolist() == [0, 1, 0, 1, 0, 1]
    assert [level.infosets.tolist() for level in treeplex.levels] == [[0, 2, 4], [1, 3, 5]]


def check_sizes(spec, sequences, infosets, leaves, nodes, nonzeros):
    form = load_game(spec).sequence_form
    assert tuple(treeplex.num_sequences for treeplex in form.treeplexes) == sequences
    assert tuple(treeplex.num_infosets for treeplex in form.treeplexes) == infosets
    assert leaves in (None, form.num_leaves)
    assert nodes in (None, form.num_nodes)
    assert nonzeros in (None, form.A.nnz)
    assert repr(form) == f"SequenceForm(sequences={list(sequences)}, infosets={list(infosets)})"


@pytest.mark.parametrize(("spec", "sequences", "infosets", "leaves", "nodes", "nonzeros"), SIZES)
def test_sizes(spec, sequences, infosets, leaves, nodes, nonzeros):
    check_sizes(spec, sequences, infosets, leaves, nodes, nonzeros)


@pytest.mark.slow
def test_sizes_of_goofspiel_with_six_cards():
    check_sizes("goofspiel:cards=6", (37_039, 37_039), (17_241, 17_241), 518_400, None, 493_608)


# Exact fractions


def test_kuhn_in_fractions():
    form = load_game("kuhn").exact_sequence_form
    entries = form.exact_payoffs(0)
    assert len(entries) == 30
    assert set(entries.values()) == {Fraction(sign * payoff, 6) for sign in (1, -1) for payoff in (1, 2)}
    assert sum(form.leaves.exact_chance) == 30 * Fraction(1, 6)
    for (row, column), entry in entries.items():
        assert form.A[row, column] == pytest.approx(float(entry), rel=1e-15)
    assert form.exact_payoffs(1) == {key: -entry for key, entry in entries.items()}
    halves = [
        [
            Fraction(1) if s == 0 else Fraction(plan).limit_denominator(8)
            for s, plan in enumerate(treeplex.uniform_plan())
        ]
        for treeplex in form.treeplexes
    ]
    value = sum(entry * halves[0][row] * halves[1][column] for (row, column), entry in entries.items())
    assert value == Fraction(1, 8)


def coin(probabilities, payoffs):
    """Chance picks one of several payoffs to player 0."""

    class Coin:
        num_players = 2

        def initial_state(self):
            return None

        def player(self, state):
            return -1 if state is None else -2

        actions = infoset = None

        def chance_outcomes(self, state):
            return list(enumerate(probabilities))

        def child(self, state, action):
            return action

        def payoffs(self, state):
            return (payoffs[state], -payoffs[state])

    return Coin()


@pytest.mark.parametrize(
    ("probabilities", "payoffs", "value"),
    [
        ([Fraction(1, 3)] * 3, [1, 2, 4], Fraction(7, 3)),
        ([1 / 3] * 3, [1, 2, 4], Fraction(7, 3)),  # thirds in floats are scaled to sum to one
        ([0.1, 0.2, 0.7], [1, 1, 1], Fraction(1)),
        ([0.1, 0.9], [0.3, 0.7], Fraction(66, 100)),  # decimals count as written
        ([0.5, Fraction(1, 2)], [Fraction(1, 3), -1], Fraction(-1, 3)),
        ([np.float64(0.5), np.float32(0.5)], [np.int64(2**62), np.int64(2**62)], Fraction(2**62)),
    ],
)
def test_fractions_survive(probabilities, payoffs, value):
    form = SequenceForm.from_rules(coin(probabilities, payoffs), exact=True)
    assert sum(form.leaves.exact_chance) == 1
    assert form.exact_payoffs(0) == {(0, 0): value}
    assert type(form.exact_payoffs(0)[0, 0]) is Fraction
    assert form.A[0, 0] == pytest.approx(float(value), rel=1e-12)


def test_floats_alone_hold_no_fractions():
    for form in (load_game("kuhn").sequence_form, SequenceForm.from_payoff_matrix([[1]])):
        with pytest.raises(InvalidGameError, match="contains only floats: build it with exact=True"):
            form.exact_payoffs()


def test_exact_payoffs_of_three_players():
    game = load_game("kuhn:players=3")
    form = game.exact_sequence_form
    totals = [form.exact_payoffs(player) for player in range(3)]
    assert all(len(key) == 3 for key in totals[0])
    assert all(sum(total[key] for total in totals) == 0 for key in totals[0])
    uniform = Profile.uniform(form)
    for player, total in enumerate(totals):
        value = sum(
            float(entry) * np.prod([plan[sequence] for plan, sequence in zip(uniform.plans, key, strict=True)])
            for key, entry in total.items()
        )
        assert expected_payoffs(game, Profile.uniform(game))[player] == pytest.approx(value, abs=1e-14)


# Matrices


@few
@pytest.mark.parametrize("spec", ["kuhn", "leduc", "liars_dice", "goofspiel", "rps", "repeated_rps"])
@pytest.mark.parametrize("kind", ["dense", "csr", "csc", "coo"])
def test_matrices_round_trip(spec, kind):
    form = load_game(spec).sequence_form
    if kind == "dense" and form.A.nnz > 5_000:
        pytest.skip("too large to be written out")
    convert = {"dense": lambda m: m.toarray(), "csr": sp.csr_array, "csc": sp.csc_array, "coo": sp.coo_array}[kind]
    E, F, A = convert(form.E), convert(form.F), convert(form.A)
    again = SequenceForm.from_matrices(E, form.e, F, form.f, A)
    assert_same_arrays(form, again)
    assert again.is_zero_sum
    assert (again.leaves, again.num_leaves, again.num_nodes) == (None, None, None)
    assert again.fingerprint == SequenceForm.from_matrices(E, form.e, F, form.f, A).fingerprint
    np.testing.assert_allclose(
        expected_payoffs(again, Profile.uniform(again)), expected_payoffs(form, Profile.uniform(form)), atol=1e-15
    )


def test_rows_may_be_permuted_and_negated():
    form = load_game("kuhn").sequence_form
    source = np.random.default_rng(3)
    order = source.permutation(7)
    signs = np.array([-1.0, 1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    E = (signs[:, None] * form.E.toarray())[order]
    assert_same_arrays(SequenceForm.from_matrices(E, (signs * form.e)[order], form.F, form.f, form.A), form)


def test_negated_rows_of_a_single_action_are_read():
    E, F = [[1, 0, 0], [1, -1, 0], [0, 1, -1]], [[1, 0], [-1, 1]]
    form = SequenceForm.from_matrices(E, [1, 0, 0], F, [1, 0], np.ones((3, 2)))
    assert form.treeplexes[0].parents.tolist() == [0, 1]


def test_matrices_are_copied():
    form = load_game("kuhn").sequence_form
    A = sp.csr_array(form.A, copy=True)
    A.data[0] = 0.0  # an explicit zero
    E = sp.coo_array(form.E).tocsr()
    stored = A.nnz
    built = SequenceForm.from_matrices(E, form.e, form.F, form.f, A)
    assert A.nnz == stored
    assert built.A.nnz == stored - 1
    before = built.A.toarray()
    A.data[:] = 99.0
    E.data[:] = 99.0
    np.testing.assert_array_equal(built.A.toarray(), before)


def test_duplicate_entries_are_summed():
    A = sp.coo_array(([1.0, 2.0, -3.0, 5.0], ([1, 1, 2, 2], [1, 1, 2, 2])), shape=(3, 3))
    E = [[1, 0, 0], [-1, 1, 1]]
    form = SequenceForm.from_matrices(E, [1, 0], E, [1, 0], A)
    np.testing.assert_array_equal(form.A.toarray(), [[0, 0, 0], [0, 3, 0], [0, 0, 2]])


E2 = [[1, 0, 0], [-1, 1, 1]]


@pytest.mark.parametrize(
    ("E", "e", "message"),
    [
        ([[1, 0, 0], [-1, 1, 1]], [1, 0, 0], r"e has shape \(3,\), expected \(2,\)"),
        ([[1, 0, 0], [-1, 1, 1]], [1, 1], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0], [-1, 1, 1]], [0, 0], "row 0 of E does not belong to an infoset"),
        ([[1, 0, 0], [-1, 0.5, 0.5]], [1, 0], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0], [-1, 1, -1]], [1, 0], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0], [-2, 1, 1]], [1, 0], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0], [float("nan"), 1, 1]], [1, 0], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0], [0, 0, 0], [-1, 1, 1]], [1, 0, 0], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0], [-1, 0, 0]], [1, 0], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0], [0, 1, 1]], [1, 0], "row 1 of E does not belong to an infoset"),
        ([[1, 0, 0, 0], [-1, 1, 0, 1]], [1, 0], r"row 1 of E has own sequences \[1, 3\] and parent sequence 0"),
        ([[1, 0, 0, 0], [1, -1, 0, -1]], [1, 0], r"row 1 of E has own sequences \[1, 3\] and parent sequence 0"),
        ([[-1, 1, 1]], [0], "E is not the constraint matrix of a treeplex"),
        ([[1, 0, 0], [1, 0, 0], [-1, 1, 1]], [1, 1, 0], "E is not the constraint matrix of a treeplex"),
        ([[1, 0, 0, 0], [-1, 1, 1, 0]], [1, 0], "E is not the constraint matrix of a treeplex"),
        ([[1, 0, 0, 0], [-1, 1, 1, 0], [-1, 0, 1, 1]], [1, 0, 0], "E is not the constraint matrix of a treeplex"),
        ([[1, 0, 0, 0], [0, 1, -1, 0], [-1, 0, 0, 1]], [1, 0, 0], "E"),
        ([1, 0], [1, 0], r"E has shape \(2,\): expected a matrix"),
        ([["a"]], [1], "E is not a matrix of numbers"),
        ([[1, 0, 0], [-1, 1]], [1, 0], "E is not a matrix of numbers"),
        (E2, ["a", 0], "e is not a vector of numbers"),
        (E2, [1, 10**400], "e is not a vector of numbers"),
    ],
)
def test_what_is_no_treeplex_is_refused(E, e, message):
    with pytest.raises(InvalidGameError, match=message) as caught:
        SequenceForm.from_matrices(E, e, E2, [1, 0], np.zeros((3, 3)))
    assert "\n" not in str(caught.value)
    with pytest.raises(InvalidGameError):
        SequenceForm.from_matrices(E2, [1, 0], E, e, np.zeros((3, 3)))


@pytest.mark.parametrize(
    ("A", "B", "message"),
    [
        (np.zeros((3, 2)), None, r"payoff matrix of player 0 has shape \(3, 2\), expected \(3, 3\)"),
        (np.zeros((3, 3)), np.zeros((2, 3)), r"payoff matrix of player 1 has shape \(2, 3\), expected \(3, 3\)"),
        (np.full((3, 3), np.nan), None, "payoff matrix of player 0 contains a number that is not finite"),
        (np.zeros((3, 3)), np.full((3, 3), np.inf), "payoff matrix of player 1 contains a number that is not finite"),
        (np.zeros(3), None, r"A has shape \(3,\): expected a matrix"),
        (np.zeros((3, 3)), [["x"] * 3] * 3, "B is not a matrix of numbers"),
    ],
)
def test_payoffs_that_do_not_fit_are_refused(A, B, message):
    with pytest.raises(InvalidGameError, match=message):
        SequenceForm.from_matrices(E2, [1, 0], E2, [1, 0], A, B)


def test_a_matrix_game():
    form = SequenceForm.from_payoff_matrix([[3, -1, 0], [0, 2, 5]], labels=(("up", "down"), ("l", "m", "r")))
    assert [treeplex.action_labels for treeplex in form.treeplexes] == [(("up", "down"),), (("l", "m", "r"),)]
    np.testing.assert_array_equal(form.A.toarray(), [[0, 0, 0, 0], [0, 3, -1, 0], [0, 0, 2, 5]])
    np.testing.assert_array_equal(form.payoff_matrix(1).toarray(), -form.A.toarray())
    assert form.is_zero_sum
    assert form.payoff_scale == 5.0
    np.testing.assert_allclose(expected_payoffs(form, Profile.uniform(form)), [1.5, -1.5])


def test_a_bimatrix_game():
    form = SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    assert not form.is_zero_sum
    np.testing.assert_allclose(expected_payoffs(form, Profile.uniform(form)), [9 / 4, 9 / 4])
    np.testing.assert_array_equal(form.payoff_matrix(1).toarray()[1:, 1:], [[3, 5], [0, 1]])
    assert form.gradient(0, [None, np.array([1, 0.25, 0.75])]).tolist() == [0, 0.75, 2.0]
    assert form.gradient(1, [np.array([1, 0.25, 0.75]), None]).tolist() == [0, 0.75, 2.0]


@pytest.mark.parametrize(
    ("payoffs", "others", "labels", "message"),
    [
        ([1, 2], None, None, r"shapes \(2,\) and \(2,\)"),
        ([[]], None, None, r"shapes \(1, 0\)"),
        ([[1, 2]], [[1], [2]], None, r"shapes \(1, 2\) and \(2, 1\)"),
        ([[1, 2], [3]], None, None, "not a matrix of numbers"),
        ([["a"]], None, None, "not a matrix of numbers"),
        ([[1, np.nan]], None, None, "player 0 contains a number that is not finite"),
        ([[1, 2]], None, (["a"], ["b"]), "infoset 'column' has 1 action labels for 2 actions"),
        ([[1, 2]], None, (["a"], ["b", "b"]), "infoset 'column' has the same action label twice"),
    ],
)
def test_what_is_no_payoff_matrix_is_refused(payoffs, others, labels, message):
    with pytest.raises(InvalidGameError, match=message):
        SequenceForm.from_payoff_matrix(payoffs, others, labels)


def test_a_sequence_form_needs_payoffs():
    with pytest.raises(InvalidGameError, match="needs exactly one of a leaf table, payoff matrices and factored"):
        SequenceForm([Treeplex([0], [2]), Treeplex([0], [2])])


def test_a_payoff_matrix_needs_two_players():
    form = load_game("kuhn:players=3").sequence_form
    assert form.num_players == 3
    assert form.is_zero_sum
    with pytest.raises(UnsupportedProblemError, match="needs two players, but this game has 3"):
        _ = form.A


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [2]), "num_actions has 1 entries, parents has 2"),
        (([0], [0]), "infoset 0 has 0 actions"),
        (([1], [2]), "infoset 0 has parent sequence 1, expected a number from 0 to 0"),
        (([0, -1], [2, 2]), "infoset 1 has parent sequence -1, expected a number from 0 to 2"),
        (([0, 3], [2, 2]), "infoset 1 has parent sequence 3, expected a number from 0 to 2"),
        (([[0]], [[2]]), r"parents has shape \(1, 1\): expected a vector"),
        (([0], [2], ["a", "b"]), "2 infoset labels and 1 rows of action labels for 1 infosets"),
        (([0], [2], ["a"], [("x",)]), "infoset 'a' has 1 action labels for 2 actions"),
        (([0], [2], ["a"], [("x", "x")]), "infoset 'a' has the same action label twice"),
        (([0, 0], [1, 1], ["a", "a"]), "infoset label 'a' occurs twice"),
    ],
)
def test_what_is_no_treeplex_of_arrays_is_refused(arguments, message):
    with pytest.raises(InvalidGameError, match=message):
        Treeplex(*arguments)


# Games


def test_a_game_of_a_sequence_form_has_no_histories():
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, -1], [-1, 1]]), name="pennies")
    assert (game.num_players, repr(game)) == (2, "Game('pennies')")
    for walk in ("tree", "exact_sequence_form"):
        with pytest.raises(UnsupportedProblemError, match="pennies has no histories to visit"):
            getattr(game, walk)
    with pytest.raises(InvalidGameError, match="game 'nothing' needs rules, a tree or a sequence form"):
        Game("nothing")


def test_a_players_plan_is_always_the_same_variable():
    game = load_game("kuhn")
    assert game.plan(0) is game.plan(0)
    assert game.plan(0) is not game.plan(1)
    assert game.plan(1).shape == (13,)
    assert game.plan(1).is_nonneg()
    for player in (2, -1, "0"):
        with pytest.raises(InvalidGameError, match=r"player is .*, expected a number from 0 to 1"):
            game.plan(player)


# Fingerprints


def test_fingerprints_tell_games_apart():
    specs = [*SMALL, "goofspiel:payoff=win_loss", "goofspiel:order=ascending", "leduc:bet2=5", "leduc:ranks=4", "rps"]
    fingerprints = {spec: load_game(spec).fingerprint for spec in specs}
    assert len(set(fingerprints.values())) == len(specs), fingerprints
    assert all(len(one) == 16 and int(one, 16) >= 0 for one in fingerprints.values())


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([[1, 1], [0, 0]], [[1, 0], [0, 1]]),  # the same entries in other rows
        ([[1, 1], [0, 0]], [[0, 0], [1, 1]]),
        ([[1, 0], [0, 0]], [[0, 1], [0, 0]]),
        ([[1, -1], [-1, 1]], [[2, -2], [-2, 2]]),  # scaled
        ([[1, -1], [-1, 1]], [[-1, 1], [1, -1]]),
        ([[1, 0]], [[1], [0]]),
        ([[1, -1], [-1, 1]], [[1, -1], [-1, 1 - 1e-7]]),
    ],
)
def test_fingerprints_tell_matrices_apart(one, other):
    one, other = SequenceForm.from_payoff_matrix(one), SequenceForm.from_payoff_matrix(other)
    assert one.fingerprint != other.fingerprint


def test_fingerprints_tell_player_1s_payoffs_and_labels_apart():
    A = [[1, -1], [-1, 1]]
    forms = [
        SequenceForm.from_payoff_matrix(A),
        SequenceForm.from_payoff_matrix(A, A),
        SequenceForm.from_payoff_matrix(A, labels=(("h", "t"), ("h", "t"))),
        SequenceForm.from_payoff_matrix(A, labels=(("h", "t"), ("t", "h"))),
    ]
    assert len({form.fingerprint for form in forms}) == len(forms)


def test_fingerprints_do_not_see_round_off():
    A = np.array([[1.0, -1.0], [-1 / 3, 0.0]])
    noise = np.array([[1e-15, 0.0], [-1e-16, 1e-17]])
    forms = [SequenceForm.from_payoff_matrix(A), SequenceForm.from_payoff_matrix(A + noise)]
    assert forms[0].A.nnz != forms[1].A.nnz
    assert forms[0].fingerprint == forms[1].fingerprint


def test_fingerprints_are_the_same_in_every_process():
    code = """
import networkx as nx
from treeplex import Game, load_game
graph = nx.DiGraph()
graph.add_node(0, player=0, infoset=(frozenset({"Ah", "Kd", "2c"}), 1))
for i, action in enumerate([frozenset({"fold", "call"}), "raise"]):
    graph.add_node(1 + i, payoffs=(i, -i))
    graph.add_edge(0, 1 + i, action=action)
print(Game.from_tree(graph).fingerprint, load_game("kuhn").fingerprint, load_game("kuhn:players=3").fingerprint)
"""
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1
    assert load_game("kuhn").fingerprint in found.pop()


# Polytopes


@pytest.mark.parametrize("vector", [np.zeros(12), np.zeros(14), np.zeros((13, 1)), 1.0])
def test_vectors_of_another_length_are_refused(vector):
    treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    for method in (treeplex.plan, treeplex.behaviour, treeplex.residual):
        with pytest.raises(
            InvalidStrategyError, match=r"expected \(13,\): one entry per sequence, the empty one first"
        ):
            method(vector)


def test_residuals_see_every_fault():
    treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    plan = treeplex.uniform_plan()
    assert treeplex.residual(plan) == 0.0
    assert treeplex.residual(plan + 0.25 * (np.arange(13) == 1)) == pytest.approx(0.25)
    assert treeplex.residual(2 * plan) == pytest.approx(1.0)
    plan[1:3] = [1.5, -0.5]
    plan[3:5] = [0.75, 0.75]
    assert treeplex.residual(plan) == pytest.approx(0.5)


def test_behaviour_survives_plans_close_to_zero():
    treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    behaviour = treeplex.uniform_behaviour()
    behaviour[1:3] = [5e-310, 1.0]  # its reciprocal overflows
    behaviour[3:5] = [0.25, 0.75]
    again = treeplex.behaviour(treeplex.plan(behaviour))
    np.testing.assert_allclose(again, behaviour, rtol=1e-9)


# Copies


def stored_and_read(thing):
    return pickle.loads(pickle.dumps(thing))  # noqa: S301


def test_stored_forms_are_small_complete_and_read_only():
    matrices = SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    for form in (load_game("leduc").sequence_form, load_game("kuhn:players=3").exact_sequence_form, matrices):
        before = len(pickle.dumps(form))
        for treeplex in form.treeplexes:
            _ = treeplex.E, treeplex.e, treeplex.levels, treeplex.infoset_numbers
        if form.num_players == 2:
            _ = form.payoff_matrix(0), form.payoff_matrix(1), form.is_zero_sum, form.payoff_scale
        assert form.fingerprint
        assert len(pickle.dumps(form)) < before + 200
        for again in (stored_and_read(form), copy.deepcopy(form)):
            assert_same_arrays(form, again)
            assert again.fingerprint == form.fingerprint
            for array in arrays_of(again):
                assert not array.flags.writeable
    assert_same(form := load_game("leduc").sequence_form, stored_and_read(form))


def arrays_of(form):
    for treeplex in form.treeplexes:
        yield from (treeplex.parents, treeplex.num_actions, treeplex.offsets, treeplex.sequence_infosets, treeplex.e)
        yield from (treeplex.E.data, treeplex.E.indices, treeplex.E.indptr)
    if form.leaves is not None:
        yield from (form.leaves.sequences, form.leaves.chance, form.leaves.payoffs)
    if form.num_players == 2:
        for player in (0, 1):
            matrix = form.payoff_matrix(player)
            yield from (matrix.data, matrix.indices, matrix.indptr)


@pytest.mark.parametrize("spec", ["leduc", "rps"])
def test_arrays_are_read_only_and_scipy_computes_with_them(spec):
    form = load_game(spec).sequence_form
    if spec == "rps":
        form = SequenceForm(form.treeplexes, payoff_matrices=(form.A, form.payoff_matrix(1)))
    for array in arrays_of(form):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    A = form.A
    dense, plan = A.toarray(), form.treeplexes[1].uniform_plan()
    np.testing.assert_allclose(A @ plan, dense @ plan)
    np.testing.assert_allclose(A.T @ plan, dense.T @ plan)
    for one, other in (
        (A + A, 2 * dense),
        (A[:5, 1:4], dense[:5, 1:4]),
        (A.tocsc(), dense),
        (A.T.tocsr(), dense.T),
        (A.copy(), dense),
        (A @ A.T, dense @ dense.T),
        (sp.vstack([A, form.E]), np.vstack([dense, form.E.toarray()])),
    ):
        np.testing.assert_allclose(one.toarray(), other, atol=1e-15)
    assert A[1, 1] == dense[1, 1]


def test_a_game_is_stored_without_its_cvxpy_variables():
    game = load_game("kuhn")
    plan = game.plan(0)
    for again in (stored_and_read(game), copy.deepcopy(game), copy.copy(game)):
        assert again.fingerprint == game.fingerprint
        assert (again.spec, again.rules, again.parameters) == (game.spec, game.rules, game.parameters)
        assert again.plan(0) is again.plan(0)
        assert again.plan(0).id != plan.id
    assert game.plan(0) is plan


def test_a_game_of_another_process_has_variables_of_its_own(tmp_path):
    game = Game.from_tree(load_game("kuhn").tree)
    game.plan(0)
    (tmp_path / "game").write_bytes(pickle.dumps(game))
    code = f"""
import pathlib, pickle
import cvxpy as cp
game = pickle.loads(pathlib.Path({str(tmp_path / "game")!r}).read_bytes())
others = [cp.Variable() for _ in range(100)]
assert game.plan(0).id not in {{other.id for other in others}}
print(game.fingerprint)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == game.fingerprint


def test_given_matrices_are_copied_and_brought_to_one_form():
    treeplexes = [Treeplex([0], [2]), Treeplex([0], [2])]
    A = sp.csr_array((np.array([2.0, 1.0, 0.0, 4.0]), np.array([2, 2, 0, 1]), np.array([0, 0, 3, 4])), shape=(3, 3))
    B = np.zeros((3, 3))
    form = SequenceForm(treeplexes, payoff_matrices=[A, B])
    assert A.nnz == 4
    assert form.A.nnz == 2
    assert form.A.data.tolist() == [3.0, 4.0]
    A.data[:] = B[:] = 9.0
    np.testing.assert_array_equal(form.A.toarray(), [[0, 0, 0], [0, 0, 3], [0, 4, 0]])
    assert form.payoff_matrix(1).nnz == 0
    np.testing.assert_array_equal(form.gradient(0, [None, np.array([1, 0.5, 0.5])]), [0, 1.5, 2])


def test_player_0s_matrix_is_built_without_player_1s():
    form = SequenceForm.from_rules(load_game("kuhn").rules)
    assert form.A.nnz == 30
    assert "_second" not in vars(form.payoffs)
    np.testing.assert_array_equal(form.payoff_matrix(1).toarray(), -form.A.toarray())


# What is no leaf table, and what does not fit


def leaf_table(sequences=((1, 1), (2, 2)), chance=(0.5, 0.5), payoffs=((1.0, -1.0), (0.0, 0.0)), **exact):
    return LeafTable(np.asarray(sequences), np.asarray(chance), np.asarray(payoffs), **exact)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sequences": ((1, 1),)}, r"has sequences of shape \(1, 2\), chance of shape \(2,\)"),
        ({"sequences": (1, 1)}, r"has sequences of shape \(2,\)"),
        ({"sequences": ((1, 1, 1), (2, 2, 2))}, r"has sequences of shape \(2, 3\)"),
        ({"chance": (1.0,)}, r"chance of shape \(1,\)"),
        ({"payoffs": (1.0, 2.0)}, r"payoffs of shape \(2,\), expected"),
        ({"sequences": np.zeros((0, 2), int), "chance": (), "payoffs": np.zeros((0, 2))}, "one leaf and one player"),
        ({"sequences": ((1, 1), (2, 2.5))}, "expected integers"),
        ({"sequences": ((1, 1), (2, 2**32))}, "expected integers of at most 32 bits"),
        ({"payoffs": (("a", 1), (1, 1))}, "payoffs of a leaf table are not an array of numbers"),
        ({"payoffs": ((np.nan, 1), (1, 1))}, r"leaf 0 has payoffs \[nan, 1.0\], expected finite numbers"),
        ({"chance": (0.5, -0.5)}, "leaf 1 has chance -0.5, expected finite non-negative numbers"),
        ({"exact_chance": (Fraction(1),)}, "expected a tuple of 2 entries, one per leaf"),
    ],
)
def test_what_is_no_leaf_table_is_refused(changes, message):
    with pytest.raises(InvalidGameError, match=message) as caught:
        leaf_table(**changes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("sequence", [-1, 3, 2**31 - 1])
def test_sequences_that_a_player_does_not_have_are_refused(players, sequence):
    treeplexes = [Treeplex([0], [2]) for _ in range(players)]
    sequences = np.ones((2, players), dtype=np.int32)
    assert SequenceForm(treeplexes, leaf_table(sequences, payoffs=np.zeros((2, players)))).num_leaves == 2
    sequences[1, -1] = sequence
    with pytest.raises(
        InvalidGameError, match=f"leaf 1 has sequence {sequence} of player {players - 1}, expected a number from 0 to 2"
    ):
        SequenceForm(treeplexes, leaf_table(sequences, payoffs=np.zeros((2, players))))
    with pytest.raises(InvalidGameError, match=f"leaf table has {players} players, but there are 1 treeplexes"):
        SequenceForm(treeplexes[:1], leaf_table(sequences, payoffs=np.zeros((2, players))))


def test_leaf_tables_do_not_follow_the_users_arrays():
    sequences = np.ones((1, 2), dtype=np.int32)
    form = SequenceForm([Treeplex([0], [2])] * 2, LeafTable(sequences, np.ones(1), np.ones((1, 2))))
    sequences[:] = 1_000_000
    assert form.leaves.sequences.max() == 1
    assert sequences.flags.writeable


PENNIES = [Treeplex([0], [2]), Treeplex([0], [2])]
ZEROS = np.zeros((3, 3))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SequenceForm(PENNIES, payoff_matrices=[ZEROS]), "expected two, one per player"),
        (lambda: SequenceForm(PENNIES, payoff_matrices=3), "the payoff matrices are 3, expected two"),
        (lambda: SequenceForm(PENNIES, payoff_matrices=[ZEROS, "x"]), "payoff matrix of player 1 is not a matrix"),
        (lambda: SequenceForm(PENNIES * 2, payoff_matrices=[ZEROS] * 4), "for two players, but there are 4"),
        (lambda: SequenceForm(PENNIES, leaf_table(), [ZEROS, ZEROS]), "exactly one of"),
        (lambda: SequenceForm(PENNIES, leaves=[1]), r"the leaves are \[1\], expected a LeafTable"),
        (lambda: SequenceForm(3, leaf_table()), "the treeplexes are 3, expected"),
        (lambda: SequenceForm([], leaf_table()), r"the treeplexes are \[\], expected"),
        (lambda: SequenceForm([1, 2], leaf_table()), r"the treeplexes are \[1, 2\], expected"),
        (lambda: SequenceForm.from_payoff_matrix([[1]], labels=(["a"],)), "expected a pair of sequences"),
        (lambda: SequenceForm.from_payoff_matrix([[1]], labels=3), "labels is 3, expected a pair of sequences"),
        (lambda: SequenceForm.from_payoff_matrix([[1]], labels=(["a"], 3)), "expected a pair of sequences"),
        (
            lambda: SequenceForm.from_payoff_matrix([[1]], labels=([[]], ["b"])),
            r"label \[\], expected a",
        ),
        (lambda: SequenceForm.from_payoff_matrix([[10**400]]), "not a matrix of numbers"),
        (lambda: SequenceForm.from_matrices(E2, [1, 0], E2, [1, 0], lying_indices()), "A is not a matrix of numbers"),
        (lambda: SequenceForm.from_rules(3), "3 does not define the rules of a game: it has no num_players"),
        (lambda: SequenceForm.from_tree(3), "is not a game tree"),
        (lambda: Game("g", rules=3), "3 does not define the rules of a game"),
        (lambda: Game("g", tree=3), "the tree of game 'g' is 3"),
        (lambda: Game.from_sequence_form(3), "the sequence form of game 'matrices' is 3"),
        (lambda: sequence_form_of("kuhn"), "game is 'kuhn', expected a Game"),
        (lambda: SequenceForm.from_payoff_matrix([[1]]).payoff_matrix(2), "player is 2, expected a number"),
        (lambda: SequenceForm.from_payoff_matrix([[1]]).payoff_matrix(-1), "player is -1, expected a number"),
        (lambda: SequenceForm.from_payoff_matrix([[1]]).gradient(True, []), "player is True, expected a number"),
        (lambda: load_game("kuhn").exact_sequence_form.exact_payoffs("0"), "player is '0', expected a number"),
        (lambda: load_game("kuhn").plan(True), "player is True, expected a number"),
        (lambda: load_game("kuhn").plan(1.0), "player is 1.0, expected a number"),
    ],
)
def test_what_makes_no_game_is_refused(make, message):
    with pytest.raises(InvalidGameError, match=message) as caught:
        make()
    assert "\n" not in str(caught.value)


def lying_indices():
    matrix = sp.csc_array(np.ones((3, 3)))
    matrix.indices[0] = 10**6
    return matrix


# Sums of payoffs


def test_constant_sums():
    assert load_game("kuhn").sequence_form.constant_sum == 0.0
    assert SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[-1, 2], [-3, 1]]).constant_sum == 2.0
    assert SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[-1, 2], [-3, 1.5]]).constant_sum is None


@pytest.mark.parametrize("spec", ["kuhn", "kuhn:players=3", "leduc", "goofspiel:order=random,cards=3"])
def test_constant_sums_of_leaves_and_of_their_matrices(spec):
    form = load_game(spec).sequence_form
    leaves = form.leaves
    shifted = SequenceForm(form.treeplexes, LeafTable(leaves.sequences, leaves.chance, leaves.payoffs + [3.0] + 0.5))
    assert shifted.constant_sum == pytest.approx(3.5 * form.num_players)
    payoffs = leaves.payoffs.copy()
    payoffs[-1, 0] += 0.125
    changed = SequenceForm(form.treeplexes, LeafTable(leaves.sequences, leaves.chance, payoffs))
    assert changed.constant_sum is None
    if form.num_players == 2:
        for one in (shifted, changed):
            matrices = SequenceForm(form.treeplexes, payoff_matrices=[one.payoff_matrix(0), one.payoff_matrix(1)])
            assert matrices.constant_sum == (None if one is changed else pytest.approx(7.0))


# More of fingerprints


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([[1e9, 0, 0], [0, 0.3, -0.3], [0, -0.3, 0.3]], [[1e9, 0, 0], [0, -0.3, 0.3], [0, 0.3, -0.3]]),
        ([[1, 1e-10], [0, 1]], [[1, -1e-10], [0, 1]]),
        ([[1, 2**-10]], [[1, 2**-11]]),
        ([[1, 0.3]], [[1, 0.3 * (1 + 1e-8)]]),
    ],
)
def test_small_payoffs_beside_large_ones_count(one, other):
    assert SequenceForm.from_payoff_matrix(one).fingerprint != SequenceForm.from_payoff_matrix(other).fingerprint


def test_payoffs_behind_unlikely_chance_count():
    def unlikely(sign):
        return SequenceForm.from_rules(Unlikely(sign))

    class Unlikely(type(coin([], []))):
        def __init__(self, sign):
            self.sign = sign

        def player(self, state):
            return {None: -1, "rare": 0, "common": 0}.get(state, -2)

        def actions(self, state):
            return ("l", "r")

        def infoset(self, state):
            return state

        def chance_outcomes(self, state):
            return [("rare", 1e-11), ("common", 1 - 1e-11)]

        def child(self, state, action):
            return action if state is None else (state, action)

        def payoffs(self, state):
            payoff = self.sign * 0.1 if state == ("rare", "r") else 1.0
            return (payoff, -payoff)

    assert unlikely(1).fingerprint == unlikely(1).fingerprint != unlikely(-1).fingerprint


def test_fingerprints_do_not_turn_on_the_last_digit():
    values = sorted(
        {n / d for d in (1, 2, 3, 5, 6, 7, 12, 30, 52, 1326) for n in range(1, 60)} | {2.0**-n for n in range(64)}
    )
    for value in values:
        for one in (value, np.nextafter(value, 9e9), np.nextafter(value, 0), -(-value * 3 / 3)):
            assert np.array_equal(_digits(np.array([one])), _digits(np.array([value]))), value


@pytest.mark.parametrize("spec", ["kuhn", "leduc", "liars_dice", "goofspiel", "rps:rock=0.1,paper=1/3"])
def test_leaves_and_matrices_of_one_game_have_one_fingerprint(spec):
    form = load_game(spec).sequence_form
    other = SequenceForm(form.treeplexes, payoff_matrices=[form.A, form.payoff_matrix(1)])
    assert other.fingerprint == form.fingerprint


def test_sums_that_cancel_to_round_off_do_not_count():
    forms = [
        SequenceForm.from_rules(coin([0.1, 0.2, 0.7], payoffs)) for payoffs in ([3, 2, -1], [3, 2, -1 + 1e-16], [0] * 3)
    ]
    assert forms[0].A.nnz  # round-off
    assert len({form.fingerprint for form in forms}) == 1


class Plain:
    pass


@pytest.mark.parametrize("label", [Plain(), (1, Plain()), frozenset({Plain()}), len.__call__, (lambda: None,)])
def test_labels_shown_by_their_address_have_no_fingerprint(label):
    form = SequenceForm([Treeplex([0], [2], [label]), Treeplex([0], [2])], payoff_matrices=[ZEROS, ZEROS])
    assert Profile.uniform(form)[0][label] == {0: 0.5, 1: 0.5}
    with pytest.raises(InvalidGameError, match="contains a memory address, which differs in every process") as caught:
        _ = form.fingerprint
    assert "\n" not in str(caught.value)


def test_labels_of_many_digits_have_a_fingerprint():
    form = SequenceForm([Treeplex([0], [2], [10**5000]), Treeplex([0], [2])], payoff_matrices=[ZEROS, ZEROS])
    assert len(form.fingerprint) == 16


# More of treeplexes


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a"], [2]), r"parents is \['a'\]: expected a vector of integers"),
        (([2**40], [2]), "of at most 32 bits"),
        (([2**80], [2]), "a vector of integers"),
        (([0.9], [2.7]), r"parents is \[0.9\]: expected a vector of integers"),
        (([True], [2]), "a vector of integers"),
        (([0, [1]], [2]), "expected a vector of integers"),
        (([0], None), r"num_actions has shape \(\)"),
        (([0, 0], [2**31 - 1] * 2), "num_actions sums to 4294967294, expected at most"),
        (([0], [2], [["a"]]), r"label \['a'\], expected a hashable label"),
        (([0], [2], ["a"], [(1, [2])]), r"label \[2\], expected a hashable label"),
        (([0], [2], 3), "infoset_labels are 3"),
        (([0], [2], ["a"], [3]), r"action_labels \[3\]"),
    ],
)
def test_arrays_and_labels_that_make_no_treeplex_are_refused(arguments, message):
    with pytest.raises(InvalidGameError, match=message) as caught:
        Treeplex(*arguments)
    assert "\n" not in str(caught.value)


def test_labels_that_no_infoset_can_have():
    treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    for label in (["K_"], {}, "X"):
        with pytest.raises(InvalidStrategyError, match="there is no infoset"):
            treeplex.sequence(label, "p")
    with pytest.raises(InvalidStrategyError, match=r"has no action \['p'\]"):
        treeplex.sequence("K_", ["p"])
    with pytest.raises(InvalidStrategyError, match="the realization plan is not an array of numbers"):
        treeplex.residual(["a"] * 13)


@pytest.mark.parametrize("seed", range(5))
def test_depths_are_counted_by_doubling(seed):
    source = np.random.default_rng(seed)
    count = 200
    num_actions = source.integers(1, 3, count)
    offsets = 1 + np.append(0, np.cumsum(num_actions))
    reach = 3 if seed else 1  # seed 0: one long chain
    parents = np.maximum(offsets[:-1] - source.integers(1, reach + 1, count), 0)
    treeplex = Treeplex(parents, num_actions)
    depths = []
    for owner in treeplex.sequence_infosets[parents].tolist():
        depths.append(depths[owner] + 1 if owner >= 0 else 0)
    assert depths_of(treeplex.parents.astype(np.int64), treeplex.sequence_infosets).tolist() == depths
    assert treeplex.depths.tolist() == depths


def test_types_have_an_infoset_each_and_payoffs_weighted_by_their_probabilities():
    rng = np.random.default_rng(0)
    first, second = rng.integers(-3, 4, size=(2, 2, 3, 4)).astype(float)
    form = bayesian_form(first, second, [0.25, 0.75])
    assert [tree.num_infosets for tree in form.treeplexes] == [1, 2]
    assert form.payoff_matrix(1).toarray()[1:, 1:5].tolist() == (0.25 * second[0]).tolist()
    assert form.A.toarray()[1:, 5:].tolist() == (0.75 * first[1]).tolist()


@pytest.mark.parametrize(
    ("payoffs", "others", "shares", "said"),
    [
        ([[1, 2]], [[1, 2]], [1.0], r"shapes \(1, 2\) and \(1, 2\): expected equal shapes \(types, rows, columns\)"),
        ([[[1, 2]]], [[[1]]], [1.0], "expected equal shapes"),
        ([[[1, 2]]], [[[1, 2]]], [0.5], "expected 1 non-negative numbers that sum to 1"),
        ([[[1]], [[2]]], [[[1]], [[2]]], [1.5, -0.5], "expected 2 non-negative numbers that sum to 1"),
        ([[["a"]]], [[[1]]], [1.0], "the payoffs are not one matrix of numbers per type"),
    ],
)
def test_types_that_do_not_fit_are_refused(payoffs, others, shares, said):
    with pytest.raises(InvalidGameError, match=said):
        bayesian_form(payoffs, others, shares)
