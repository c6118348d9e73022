"""Bucket abstractions: merged games, the way back, and the buckets of Leduc poker."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_game, trees

from treeplex import (
    Game,
    ImperfectRecallError,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Profile,
    SequenceForm,
    Strategy,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    nash_conv,
    solve,
)
from treeplex.models.opponents import Abstraction, leduc_buckets
from treeplex.seqform import best_response_values
from treeplex.solvers.opponents.strategies import abstraction_profile

KUHN = load_game("kuhn")
MERGED = load_game("leduc:merge_suits=true")
LEDUC = load_game("leduc")
TARGET = "JQ.K/pair.nopair"


def random_strategy(game, player, seed):
    treeplex = game.sequence_form.treeplexes[player]
    rng = np.random.default_rng(seed)
    drawn = [rng.dirichlet(np.ones(count)) for count in treeplex.num_actions.tolist()]
    return Strategy(game, player, np.concatenate([[1.0], *drawn]))


def leduc_abstraction(game, text=TARGET):
    return Abstraction(game, leduc_buckets(text, game))


# --- in general -------------------------------------------------------------------------------------------------------


@given(trees(), st.integers(0, 2**32 - 1))
def test_buckets_of_one_infoset_each_change_nothing(tree, seed):
    game = to_game(tree)
    found = Abstraction(game, lambda player, label: ("own", label))
    form, abstract = game.sequence_form, found.abstract_game.sequence_form
    assert [t.num_sequences for t in abstract.treeplexes] == [t.num_sequences for t in form.treeplexes]
    for player in range(form.num_players):
        strategy = random_strategy(found.abstract_game, player, seed)
        np.testing.assert_allclose(found.lift(strategy).plan, strategy.plan)


@pytest.mark.parametrize("game", [MERGED, LEDUC, load_game("leduc:players=3,ranks=3,suits=2,merge_suits=true")])
@pytest.mark.parametrize("seed", [0, 1])
def test_lifted_profiles_earn_what_they_earn_in_the_abstract_game(game, seed):
    found = leduc_abstraction(game)
    profile = Profile([random_strategy(found.abstract_game, player, seed) for player in range(game.num_players)])
    np.testing.assert_allclose(
        expected_payoffs(game, found.lift_profile(profile)), expected_payoffs(found.abstract_game, profile), atol=1e-12
    )


def test_an_abstract_best_response_is_no_better_than_one_in_the_full_game():
    found = leduc_abstraction(MERGED)
    profile = Profile([random_strategy(found.abstract_game, player, 3) for player in (0, 1)])
    full = best_response_values(MERGED, found.lift_profile(profile))
    abstract = best_response_values(found.abstract_game, profile)
    assert (np.asarray(full) >= np.asarray(abstract) - 1e-12).all()
    assert (np.asarray(full) > np.asarray(abstract) + 1e-3).any()


def test_one_player_alone_may_be_abstracted():
    found = Abstraction(KUHN, {1: {"J_p": "low_p", "Q_p": "low_p", "J_b": "low_b", "Q_b": "low_b"}})
    assert [t.num_infosets for t in found.abstract_game.sequence_form.treeplexes] == [6, 4]
    value = solve(Nash(found.abstract_game)).value
    assert value > -1 / 18 + 1e-3  # whoever knows less earns less
    lifted = found.lift(solve(Nash(found.abstract_game)).profile[1])
    assert lifted["J_p"] == lifted["Q_p"]
    np.testing.assert_array_equal(found.sequences[0], np.arange(13))


def test_a_game_of_matrices_can_be_abstracted():
    form = KUHN.sequence_form
    treeplexes = form.treeplexes
    matrices = Game.from_sequence_form(
        SequenceForm(treeplexes, payoff_matrices=[form.payoff_matrix(player) for player in (0, 1)])
    )
    buckets = {0: {"J_": "low_", "Q_": "low_", "J_pb": "low_pb", "Q_pb": "low_pb"}}
    expected = solve(Nash(Abstraction(KUHN, buckets).abstract_game)).value
    assert solve(Nash(Abstraction(matrices, buckets).abstract_game)).value == pytest.approx(expected, abs=1e-9)
    assert expected == pytest.approx(-1 / 9, abs=1e-9)


def test_actions_in_another_order_are_matched_by_their_labels():
    from treeplex import Treeplex

    rows = Treeplex([0, 0], [2, 2], ["a", "b"], [("left", "right"), ("right", "left")])
    columns = Treeplex([0], [1], ["only"], [("stay",)])
    payoff = np.zeros((5, 2))
    payoff[1:, 1] = [1.0, 2.0, 20.0, 10.0]
    game = Game.from_sequence_form(SequenceForm([rows, columns], payoff_matrices=[payoff, -payoff]))
    found = Abstraction(game, {0: {"b": "a"}})
    assert found.sequences[0].tolist() == [0, 1, 2, 2, 1]
    assert solve(Nash(found.abstract_game)).value == pytest.approx(22.0)
    lifted = found.lift(Strategy.from_dict(found.abstract_game, 0, {"a": {"left": 1}}))
    assert lifted["b"] == {"right": 0.0, "left": 1.0}


@pytest.mark.parametrize(
    ("buckets", "kind", "message"),
    [
        (lambda player, label: "all", ImperfectRecallError, "'J_' and 'J_pb' of player 0 .* no move yet and 'p' in"),
        (lambda player, label: label[1:], None, ""),
        ({0: {"J_pb": "x", "Q_": "x"}}, ImperfectRecallError, "bucket 'x', but different past actions"),
        ({1: {"J_p": "x", "J_b": "x"}}, None, ""),
        (lambda player, label: [label], InvalidGameError, "has bucket .* expected a hashable one"),
        ({2: {}}, InvalidGameError, "buckets for player 2: kuhn has players 0 to 1"),
        ({"one": {}}, InvalidGameError, "buckets for player 'one'"),
        ({0: {"X_": "J_"}}, InvalidGameError, "no infoset 'X_'"),
        ({0: "JQ"}, InvalidGameError, "the buckets of player 0 are 'JQ'"),
        ("JQ.K", InvalidGameError, "the buckets are 'JQ.K'"),
    ],
)
def test_buckets_that_make_no_game_are_refused_in_one_line(buckets, kind, message):
    if kind is None:
        Abstraction(KUHN, buckets)
        return
    with pytest.raises(kind, match=message) as refused:
        Abstraction(KUHN, buckets)
    assert "\n" not in str(refused.value)


def test_infosets_with_different_actions_do_not_merge():
    with pytest.raises(
        InvalidGameError, match=r"the same bucket 'J_c', but actions \('c', 'r'\) and \('f', 'c', 'r'\)"
    ):
        Abstraction(MERGED, {1: {"J_r": "J_c"}})


def test_what_is_no_game_or_no_tree_cannot_be_abstracted():
    with pytest.raises(InvalidGameError, match=r"game is .*, expected a Game"):
        Abstraction(KUHN.sequence_form, lambda player, label: label)
    with pytest.raises(UnsupportedProblemError, match="needs a tree"):
        Abstraction(load_game("transit:width=2"), lambda player, label: label)


def test_only_strategies_of_the_abstract_game_are_lifted():
    found = leduc_abstraction(MERGED)
    with pytest.raises(InvalidStrategyError, match="belongs to another game"):
        found.lift(Strategy.uniform(MERGED, 0))
    with pytest.raises(InvalidStrategyError, match="expected a Profile"):
        found.lift_profile("uniform")


# --- Leduc poker ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", [MERGED, LEDUC], ids=["ranks", "suits"])
def test_the_abstraction_of_the_literature_has_its_sizes_and_value(game):
    found = leduc_abstraction(game)
    form = found.abstract_game.sequence_form
    assert [t.num_sequences for t in form.treeplexes] == [155, 155]
    assert [t.num_infosets for t in form.treeplexes] == [66, 66]
    assert solve(Nash(found.abstract_game), "highs").value == pytest.approx(-0.1074308, abs=5e-8)


def test_equilibria_of_the_abstract_game_differ_in_what_they_lose():
    found = leduc_abstraction(MERGED)
    vertex = found.lift_profile(solve(Nash(found.abstract_game), "highs-simplex").profile)
    target = abstraction_profile(TARGET, MERGED)
    for profile in (vertex, target):
        first, second = best_response_values(MERGED, profile)
        assert second == pytest.approx(0.629933, abs=1e-5)
        assert 0.4898 - 1e-4 <= (first + second) / 2 <= 0.9


def test_the_target_is_an_equilibrium_that_rounding_does_not_move():
    found = leduc_abstraction(MERGED)
    target = abstraction_profile(TARGET, MERGED)
    assert expected_payoffs(MERGED, target)[0] == pytest.approx(-0.1074308, abs=5e-7)
    assert best_response_values(MERGED, target) == pytest.approx([0.3602148, 0.6299327], abs=1e-6)
    form = found.abstract_game.sequence_form
    noise = 1 + 1e-14 * np.random.default_rng(0).standard_normal(form.payoff_matrix(0).nnz)
    shaken = form.payoff_matrix(0).copy()
    shaken.data = shaken.data * noise
    again = Game.from_sequence_form(SequenceForm(form.treeplexes, payoff_matrices=[shaken, -shaken]))
    profile = solve(Nash(again), "pcfr+", tol=0, max_iterations=10_000).profile
    assert nash_conv(again, profile) < 1e-6
    for player in (0, 1):
        lifted = Strategy(MERGED, player, profile[player].behaviour[found.sequences[player]])
        np.testing.assert_allclose(lifted.plan, target[player].plan, atol=1e-8)


def test_suits_do_not_matter_to_the_target():
    by_rank, by_card = abstraction_profile(TARGET, MERGED), abstraction_profile(TARGET, LEDUC)
    assert best_response_values(MERGED, by_rank) == pytest.approx(best_response_values(LEDUC, by_card), abs=1e-6)
    assert by_card[0]["Ks_rc_Qh_"] == pytest.approx(by_rank[0]["K_rc_Q_"], abs=1e-6)
    assert by_card[0]["Js_"] == by_card[0]["Qh_"] != by_card[0]["Ks_"]


def test_buckets_of_single_ranks_are_the_game_itself():
    found = leduc_abstraction(LEDUC, "J.Q.K/J.Q.K")
    assert [t.num_sequences for t in found.abstract_game.sequence_form.treeplexes] == [337, 337]
    assert solve(Nash(found.abstract_game)).value == pytest.approx(-0.0856064240780, abs=1e-8)


@pytest.mark.parametrize(
    ("game", "text", "label", "bucket"),
    [
        ("leduc", "JQ.K/pair.nopair", "Qs_cr", "JQ_cr"),
        ("leduc", "JQ.K/pair.nopair", "Qs_cc_Qh_cr", "JQ_cc_pair_cr"),
        ("leduc", "JQ.K/nopair.pair", "Qs_cc_Jh_cr", "JQ_cc_nopair_cr"),
        ("leduc", "J.Q-K/pair.JQ.K", "Ks_cc_Qh_", "Q-K_cc_JQ_"),
        ("leduc", "J.Q-K/pair.JQ.K", "Ks_cc_Kh_", "Q-K_cc_pair_"),
        ("leduc:merge_suits=true", " JQ . K / JQK ", "K_cc_K_", "K_cc_JQK_"),
        ("leduc:ranks=13,merge_suits=true", "2-8+A.9-K/pair.nopair", "A_", "2-8+A_"),
        ("leduc:ranks=14,merge_suits=true", "1-7+9.8+10-14/pair.nopair", "12_cc_12_", "8+10-14_cc_pair_"),
    ],
)
def test_buckets_are_named_as_they_are_written(game, text, label, bucket):
    assert leduc_buckets(text, load_game(game))(0, label) == bucket


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has 1 round, expected two separated by /, such as JQ.K/pair.nopair"),
        ("JQ.K", "has 1 round"),
        ("JQ.K/pair.nopair/x", "has 3 rounds"),
        ("JQ.JK/pair.nopair", "rank J appears twice in the first round"),
        ("J.K/pair.nopair", "rank Q is missing in the first round, expected each of J, Q, K"),
        ("JX.QK/pair.nopair", "unknown rank 'X' in bucket 'JX' of the first round; expected J, Q, K"),
        ("JQ..K/pair.nopair", "the first round has an empty bucket"),
        ("K-J.Q/pair.nopair", "received 'K-J', expected the lower rank first"),
        ("J-.QK/pair.nopair", "unknown rank ''"),
        ("JQ+.K/pair.nopair", "unknown rank ''"),
        ("JQ.K/pair", "the second round has only pair, expected pair.nopair"),
        ("JQ.K/nopair", "nopair can only be combined with pair"),
        ("JQ.K/par.nopair", r"did you mean pair\?"),
        ("JQ.K/pair.nopiar", r"did you mean nopair\?"),
        ("JQ.K/pair.pair", "the second round has pair twice"),
        ("JQ.K/pair.JQ", "rank K is missing in the second round"),
    ],
)
def test_texts_that_are_no_abstraction_are_refused_in_one_line(text, message):
    with pytest.raises(InvalidStrategyError, match=message) as refused:
        leduc_buckets(text, LEDUC)
    assert "\n" not in str(refused.value)


def test_the_abstraction_is_of_leduc_alone():
    with pytest.raises(InvalidStrategyError, match="is for leduc, not for kuhn"):
        leduc_buckets(TARGET, KUHN)
