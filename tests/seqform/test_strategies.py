"""Strategies and profiles: round trips, files, and everything that is not a strategy of this player in this game."""

import copy
import json
import pickle
import random
import zipfile

import numpy as np
import pytest

from treeplex import (
    Game,
    InvalidGameError,
    InvalidStrategyError,
    MissingExtraError,
    Profile,
    SequenceForm,
    Strategy,
    Treeplex,
    best_response,
    expected_payoffs,
    exploitability,
    gain,
    load_game,
    nash_conv,
)
from treeplex.seqform.evaluate import best_response_values, worst_case
from treeplex.seqform.polytope import best_response_plan

GAMES = ["kuhn", "kuhn:players=3", "leduc", "liars_dice", "repeated_rps", "goofspiel:cards=3"]


def random_strategy(game, player, seed=0, zeros=0.3):
    """Return a strategy in which about three actions in ten are never played."""
    source = np.random.default_rng(seed)
    treeplex = game.sequence_form.treeplexes[player]
    weights = source.random(treeplex.num_sequences) * (source.random(treeplex.num_sequences) > zeros)
    weights[treeplex.offsets[:-1] + source.integers(treeplex.num_actions)] += 0.1
    totals = np.add.reduceat(weights, treeplex.offsets[:-1])
    weights[1:] /= np.repeat(totals, treeplex.num_actions)
    return Strategy(game, player, weights)


def random_profile(game, seed=0):
    return Profile([random_strategy(game, player, seed + player) for player in range(game.num_players)])


# Round trips


@pytest.mark.parametrize("spec", GAMES)
def test_plan_and_behaviour(spec):
    game = load_game(spec)
    for strategy in random_profile(game):
        treeplex = strategy.treeplex
        assert treeplex.residual(strategy.plan) <= 1e-15
        again = Strategy.from_plan(game, strategy.player, strategy.plan)
        np.testing.assert_allclose(again.plan, strategy.plan, rtol=1e-13, atol=0)
        reached = np.repeat(strategy.plan[treeplex.parents] > 0, treeplex.num_actions)
        assert (~reached).any() or spec not in {"leduc", "liars_dice"}
        np.testing.assert_allclose(again.behaviour[1:][reached], strategy.behaviour[1:][reached], rtol=1e-12, atol=0)
        uniform = treeplex.uniform_behaviour()[1:]
        np.testing.assert_array_equal(again.behaviour[1:][~reached], uniform[~reached])


@pytest.mark.parametrize("spec", GAMES)
def test_dictionaries(spec):
    game = load_game(spec)
    for strategy in random_profile(game):
        written = strategy.to_dict()
        assert list(written) == list(strategy.treeplex.infoset_labels)
        assert all(strategy[label] == written[label] for label in written)
        again = Strategy.from_dict(game, strategy.player, written)
        np.testing.assert_array_equal(again.behaviour, strategy.behaviour)
        np.testing.assert_array_equal(again.plan, strategy.plan)


def test_dictionaries_may_leave_out_infosets_and_impossible_actions(kuhn):
    strategy = Strategy.from_dict(kuhn, 0, {"K_": {"b": 1}})
    assert strategy["K_"] == {"p": 0.0, "b": 1.0}
    assert strategy["J_"] == {"p": 0.5, "b": 0.5}


def test_a_behaviour_is_normalised_once(kuhn):
    behaviour = np.full(13, 0.5) * (1 + 4e-7)
    strategy = Strategy(kuhn, 0, behaviour)
    np.testing.assert_allclose(strategy.behaviour[1:], 0.5, rtol=1e-15)
    np.testing.assert_array_equal(Strategy(kuhn, 0, strategy.behaviour).behaviour, strategy.behaviour)
    negative = np.array([1.0] + [1.0, -1e-9] * 6)
    assert Strategy(kuhn, 0, negative).behaviour.min() == 0.0


def test_strategies_are_their_own_and_read_only(kuhn):
    behaviour = kuhn.sequence_form.treeplexes[0].uniform_behaviour()
    strategy = Strategy(kuhn, 0, behaviour)
    behaviour[:] = 7.0
    assert strategy["J_"] == {"p": 0.5, "b": 0.5}
    for array in (strategy.behaviour, strategy.plan):
        with pytest.raises(ValueError, match="read-only"):
            array[1] = 1.0


def test_tables(kuhn):
    strategy = Strategy.from_dict(kuhn, 0, {"J_": {"p": 0.75, "b": 0.25}, "J_pb": {"p": 1.0}})
    lines = strategy.table(3).splitlines()
    assert lines[0].split() == ["infoset", "reach", "p", "b"]
    assert lines[1].split() == ["J_", "1.000", "0.750", "0.250"]
    assert lines[2].split() == ["J_pb", "0.750", "1.000", "0.000"]
    assert len(lines) == 7
    assert len({len(line) for line in lines}) == 1


def test_tables_leave_blank_what_an_infoset_does_not_have():
    game = load_game("leduc")
    lines = Strategy.uniform(game, 1).table().splitlines()
    assert len(lines) == 469
    actions = lines[0].split()[2:]
    assert all(2 + 1 <= len(line.split()) <= 2 + len(actions) for line in lines[1:])


def test_frames(kuhn):
    pytest.importorskip("pandas")
    strategy = random_strategy(kuhn, 1)
    frame = strategy.to_frame()
    assert list(frame.columns) == ["infoset", "action", "probability", "realization"]
    assert len(frame) == 12
    for label, part in frame.groupby("infoset"):
        assert dict(zip(part["action"], part["probability"], strict=True)) == strategy[label]
    np.testing.assert_array_equal(frame["realization"], strategy.plan[1:])


def test_frames_need_pandas(kuhn, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"needs pandas: pip install 'treeplex\[frames\]'") as caught:
        Strategy.uniform(kuhn, 0).to_frame()
    assert isinstance(caught.value, ImportError)


@pytest.mark.parametrize("spec", GAMES)
def test_files(spec, tmp_path):
    game = load_game(spec)
    profile = random_profile(game)
    profile.save(tmp_path / "profile.npz")
    again = Profile.load(tmp_path / "profile.npz", load_game(spec))
    for mine, theirs in zip(profile, again, strict=True):
        np.testing.assert_array_equal(mine.behaviour, theirs.behaviour)
        np.testing.assert_array_equal(mine.plan, theirs.plan)
        assert theirs.game_name == spec
    last = game.num_players - 1
    profile[last].save(str(tmp_path / "one"))  # the name is taken as it is, without a suffix
    one = Strategy.load(tmp_path / "one", game)
    assert one.player == last
    np.testing.assert_array_equal(one.behaviour, profile[last].behaviour)
    np.testing.assert_array_equal(
        Strategy.load(tmp_path / "profile.npz", game, player=last).behaviour, profile[last].behaviour
    )


def test_files_are_plain(kuhn, tmp_path):
    path = tmp_path / "strategy.npz"
    Strategy.uniform(kuhn, np.int64(1)).save(path)
    with np.load(path, allow_pickle=False) as archive:
        assert set(archive.files) == {"metadata", "behaviour_1"}
        assert json.loads(str(archive["metadata"][()])) == {
            "format": "treeplex strategies",
            "version": 1,
            "game": "kuhn",
            "fingerprint": kuhn.fingerprint,
            "players": [1],
        }
        assert archive["behaviour_1"].dtype == np.float64


def test_a_game_of_another_route_reads_the_file(kuhn, tmp_path):
    profile = random_profile(kuhn)
    profile.save(tmp_path / "profile.npz")
    for other in (Game.from_tree(kuhn.tree), SequenceForm.from_rules(kuhn.rules)):
        again = Profile.load(tmp_path / "profile.npz", other)
        assert exploitability(kuhn, again) == exploitability(other, profile) == exploitability(kuhn, profile)


def test_everything_is_deterministic(tmp_path):
    first, second = (random_profile(load_game("leduc")) for _ in range(2))
    for mine, theirs in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine.plan, theirs.plan)
        assert mine.fingerprint == theirs.fingerprint
    assert nash_conv(load_game("leduc"), first) == nash_conv(load_game("leduc"), second)


# Refusals


@pytest.mark.parametrize("player", [2, -1, 1.0, "0", None, np.int64(5), True, False, [0]])
def test_players_that_are_not_there(kuhn, player, tmp_path):
    behaviour = kuhn.sequence_form.treeplexes[0].uniform_behaviour()
    profile = Profile.uniform(kuhn)
    for make in (
        lambda: Strategy(kuhn, player, behaviour),
        lambda: Strategy.uniform(kuhn, player),
        lambda: Strategy.from_plan(kuhn, player, behaviour),
        lambda: Strategy.from_dict(kuhn, player, {}),
        lambda: best_response(kuhn, profile, player),
    ):
        with pytest.raises(InvalidStrategyError, match=r"player is .*, expected a number from 0 to 1"):
            make()


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        (np.full(12, 0.5), r"shape \(12,\), expected \(13,\)"),
        (np.full((13, 1), 0.5), r"shape \(13, 1\), expected \(13,\)"),
        (0.5, r"shape \(\), expected \(13,\)"),
        ([0.5] * 5 + [np.nan] + [0.5] * 7, "contains a number that is not finite"),
        ([0.5] * 5 + [np.inf] + [0.5] * 7, "contains a number that is not finite"),
        (["half"] * 13, "is not an array of numbers"),
        ([[1], [1, 2]], "is not an array of numbers"),
        (None, r"shape \(\), expected \(13,\)"),
        ([1] + [0.5, 0.5] * 2 + [0.5, 0.4] + [0.5, 0.5] * 3, r"infoset 'Q_' has probabilities \[0.5, 0.4\], expected"),
        ([1] + [1.5, -0.5] + [0.5, 0.5] * 5, r"infoset 'J_' has probabilities \[1.5, -0.5\], expected non-negative"),
        ([1] + [0.0, 0.0] * 6, r"infoset 'J_' has probabilities \[0.0, 0.0\]"),
        ([1] + [1 + 2e-6, 0.0] * 6, "infoset 'J_' has probabilities"),
    ],
)
def test_what_is_no_behaviour(kuhn, behaviour, message):
    for make in (Strategy, Strategy.from_behaviour):
        with pytest.raises(InvalidStrategyError, match=message) as caught:
            make(kuhn, 0, behaviour)
        assert "\n" not in str(caught.value)


def test_plans_have_a_tolerance(kuhn):
    plan = Strategy.uniform(kuhn, 0).plan.copy()
    plan[1] += 5e-7
    plan[3] -= 2e-7
    taken = Strategy.from_plan(kuhn, 0, plan)
    assert taken.treeplex.residual(taken.plan) <= 1e-15
    np.testing.assert_allclose(taken.plan, plan, atol=1e-6)
    with pytest.raises(
        InvalidStrategyError, match=r"not a realization plan of player 0: .* is 7e-07, expected at most 1e-09"
    ):
        Strategy.from_plan(kuhn, 0, plan, tolerance=1e-9)
    plan[5] += 2e-6
    with pytest.raises(InvalidStrategyError, match="expected at most 1e-06"):
        Strategy.from_plan(kuhn, 0, plan)
    assert Strategy.from_plan(kuhn, 0, plan, tolerance=1e-2).player == 0


def test_a_slightly_negative_plan_is_cut_off(kuhn):
    plan = Strategy.from_dict(kuhn, 0, {"J_": {"p": 1.0}, "K_": {"b": 1.0}}).plan.copy()
    plan[2] = -1e-9
    taken = Strategy.from_plan(kuhn, 0, plan)
    assert taken["J_"] == {"p": 1.0, "b": 0.0}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (np.zeros(13), "its largest residual of E x = e and x >= 0 is 1, expected at most 1e-06"),
        (np.full(13, 0.5), "its largest residual"),
        (-np.ones(13), "its largest residual"),
        (np.full(13, np.nan), "contains a number that is not finite"),
        (np.ones(12), r"shape \(12,\), expected \(13,\)"),
    ],
)
def test_what_is_no_plan(kuhn, plan, message):
    with pytest.raises(InvalidStrategyError, match=message):
        Strategy.from_plan(kuhn, 0, plan)


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ({"X_": {"p": 1}}, "player 0 has no infoset 'X_'"),
        ({"J_p": {"p": 1}}, "player 0 has no infoset 'J_p'"),  # player 1's
        ({"J_": {"call": 1}}, r"infoset 'J_' has no action 'call'; expected p, b, pass or bet"),
        ({"J_": {"p": 0.9}}, r"infoset 'J_' has probabilities \[0.9, 0.0\], expected non-negative"),
        ({"J_": {}}, r"infoset 'J_' has probabilities \[0.0, 0.0\]"),
        ({"J_": {"p": "1/2", "b": 0.5}}, "infoset 'J_' has probabilities {'p': '1/2', 'b': 0.5}, expected numbers"),
        ({"J_": {"p": [1], "b": 0.5}}, "infoset 'J_' has probabilities"),
        ({"J_": {"p": float("nan"), "b": 0.5}}, "not finite"),
        ({"J_": [0.5, 0.5]}, r"infoset 'J_' has \[0.5, 0.5\], expected a mapping"),
        ({"J_": None}, "infoset 'J_' has None, expected a mapping"),
        ({"J_": {"p": 10**400}}, "infoset 'J_' has probabilities"),
        ([1], r"the behaviour of player 0 is \[1\], expected a mapping of infosets"),
        (None, "the behaviour of player 0 is None, expected a mapping of infosets"),
    ],
)
def test_what_is_no_dictionary_of_behaviour(kuhn, behaviour, message):
    with pytest.raises(InvalidStrategyError, match=message):
        Strategy.from_dict(kuhn, 0, behaviour)


def test_infosets_that_are_not_there(kuhn):
    with pytest.raises(InvalidStrategyError, match="player 1 has no infoset 'J_'"):
        Strategy.uniform(kuhn, 1)["J_"]
    with pytest.raises(InvalidStrategyError, match=r"player 1 has no infoset \['a'\]"):
        Strategy.uniform(kuhn, 1)[["a"]]


def test_half_a_profile_is_refused(kuhn):
    first, second = Profile.uniform(kuhn)
    for strategies, message in (
        ([first], r"strategies of players \[0, 1\] in this order, received players \[0\]"),
        ([second], r"received players \[1\]"),
        ([second, first], r"received players \[1, 0\]"),
        ([first, first], r"received players \[0, 0\]"),
        ([first, second, second], r"received players \[0, 1, 1\]"),
        ([], "a profile needs one Strategy per player"),
        ([first, second.plan], "a profile needs one Strategy per player"),
        ([first, None], "a profile needs one Strategy per player"),
        (3, "a profile needs one Strategy per player, received 3"),
    ):
        with pytest.raises(InvalidStrategyError, match=message):
            Profile(strategies)
    for evaluate in (expected_payoffs, exploitability, nash_conv, best_response_values):
        for half in (first, [first, second], (first.plan, second.plan), None):
            with pytest.raises(InvalidStrategyError, match=r"profile is .*, expected a Profile"):
                evaluate(kuhn, half)


def test_strategies_of_another_game_are_refused(kuhn, tmp_path):
    # The same shape, other cards: nothing but the fingerprint tells them apart.
    other = load_game("kuhn:cards=3", players=2)
    assert other.fingerprint == kuhn.fingerprint
    foreign = Game.from_sequence_form(
        SequenceForm(
            kuhn.sequence_form.treeplexes, payoff_matrices=[kuhn.sequence_form.A * 2, kuhn.sequence_form.A * -2]
        )
    )
    strategy = Strategy.uniform(foreign, 1)
    message = f"its fingerprint is {foreign.fingerprint}, expected {kuhn.fingerprint}"
    with pytest.raises(InvalidStrategyError, match=message):
        Profile([Strategy.uniform(kuhn, 0), strategy])
    for evaluate in (expected_payoffs, exploitability, nash_conv, best_response_values):
        with pytest.raises(InvalidStrategyError, match=message):
            evaluate(kuhn, Profile.uniform(foreign))
    with pytest.raises(InvalidStrategyError, match=message):
        worst_case(kuhn, strategy)
    with pytest.raises(InvalidStrategyError):
        gain(kuhn, Strategy.uniform(kuhn, 0), strategy, 0.0)
    Profile.uniform(foreign).save(tmp_path / "foreign.npz")
    for load in (Profile.load, Strategy.load):
        with pytest.raises(InvalidStrategyError, match="contains strategies of another game"):
            load(tmp_path / "foreign.npz", kuhn)


def test_a_worst_case_needs_two_players_and_zero_sum():
    three = load_game("kuhn:players=3")
    dilemma = SequenceForm.from_payoff_matrix([[3, 0], [5, 1]], [[3, 5], [0, 1]])
    for game in (three, dilemma):
        with pytest.raises(InvalidStrategyError, match="a two-player game whose payoffs have a constant sum"):
            worst_case(game, Strategy.uniform(game, 0))


def test_a_gain_needs_two_players_strategies(kuhn):
    first, second = Profile.uniform(kuhn)
    assert gain(kuhn, first, second, -1 / 18) == pytest.approx(1 / 8 + 1 / 18)
    assert gain(kuhn, second, first, 1 / 18) == pytest.approx(-1 / 8 - 1 / 18)
    with pytest.raises(InvalidStrategyError, match=r"received players \[0, 0\]"):
        gain(kuhn, first, first, 0.0)


def test_a_best_response_takes_the_first_of_equally_good_actions():
    treeplex = Treeplex([0, 0, 1], [3, 2, 2])
    found = best_response_plan(treeplex, np.array([1.0, 0, 2, 2, 5, 5, 2, 2]))
    assert found.plan.tolist() == [1, 1, 0, 0, 1, 0, 1, 0]
    assert found.value == 1 + 2 + 5
    assert found.behaviour.tolist() == [1, 1, 0, 0, 1, 0, 1, 0]
    with pytest.raises(InvalidStrategyError, match=r"the gradient has shape \(7,\), expected \(8,\)"):
        best_response_plan(treeplex, np.zeros(7))


def test_a_best_response_is_pure_where_it_does_not_go(kuhn):
    for game in (kuhn, load_game("leduc"), load_game("kuhn:players=3")):
        profile = Profile.uniform(game)
        for player in range(game.num_players):
            response = best_response(game, profile, player)
            assert set(response.behaviour.tolist()) == {0.0, 1.0}
    # Below the actions that are not taken it is a best response too: what it bets on J it calls on Q.
    treeplex = Treeplex([0, 1], [2, 2])
    found = best_response_plan(treeplex, np.array([0.0, 0, 9, 1, 2]))
    assert found.plan.tolist() == [1, 0, 1, 0, 0]
    assert found.behaviour.tolist() == [1, 0, 1, 0, 1]


def test_what_is_no_game_is_refused(kuhn):
    first, second = profile = Profile.uniform(kuhn)
    for other in ("kuhn", None, 3, kuhn.rules, profile):
        for make in (
            lambda other: Strategy(other, 0, UNIFORM),
            lambda other: Strategy.uniform(other, 0),
            lambda other: Strategy.from_plan(other, 0, UNIFORM),
            lambda other: Strategy.from_dict(other, 0, {}),
            lambda other: Strategy.load("x", other),
            lambda other: Profile.load("x", other),
            Profile.uniform,
            lambda other: best_response(other, profile, 0),
            lambda other: expected_payoffs(other, profile),
            lambda other: exploitability(other, profile),
            lambda other: nash_conv(other, profile),
            lambda other: best_response_values(other, profile),
            lambda other: worst_case(other, first),
            lambda other: gain(other, first, second, 0.0),
        ):
            with pytest.raises(InvalidGameError, match=r"game is .*, expected a Game .* or a SequenceForm") as caught:
                make(other)
            assert "\n" not in str(caught.value)


def test_what_is_no_strategy_is_refused(kuhn):
    first, second = Profile.uniform(kuhn)
    for other in (None, 3, first.plan):
        for make in (
            lambda other: worst_case(kuhn, other),
            lambda other: gain(kuhn, other, second, 0.0),
            lambda other: gain(kuhn, first, other, 0.0),
        ):
            with pytest.raises(InvalidStrategyError, match=r"strategy is .*, expected a Strategy"):
                make(other)
    with pytest.raises(InvalidGameError, match="game_value is None, expected a number"):
        gain(kuhn, first, second, None)


def test_stored_strategies_stay_read_only(kuhn):
    strategy = Strategy.uniform(kuhn, 0)
    for again in (pickle.loads(pickle.dumps(strategy)), copy.deepcopy(strategy)):  # noqa: S301
        np.testing.assert_array_equal(again.plan, strategy.plan)
        assert exploitability(kuhn, Profile([again, Strategy.uniform(kuhn, 1)])) > 0
        for array in (again.plan, again.behaviour):
            with pytest.raises(ValueError, match="read-only"):
                array[1] = 1.0


def test_a_strategy_is_made_without_another(kuhn, monkeypatch):
    behaviour = kuhn.sequence_form.treeplexes[0].uniform_behaviour()
    plan = kuhn.sequence_form.treeplexes[0].plan(behaviour)
    monkeypatch.setattr(Strategy, "uniform", None)
    assert Strategy.from_plan(kuhn, 0, plan).player == 0
    assert Strategy.from_dict(kuhn, np.int64(0), {}).player == 0


def test_files_that_cannot_be_written(kuhn, tmp_path):
    strategy = Strategy.uniform(kuhn, 0)
    for path, reason in (
        (tmp_path / "absent" / "x.npz", r"absent.x\.npz cannot be written: no such file or directory"),
        (tmp_path, "cannot be written: "),
        (tmp_path / "two\nlines" / "x", r"two\\nlines.x cannot be written"),
        (str(tmp_path / "zero\0byte"), "cannot be written: "),
        (3, "3 cannot be written: "),
    ):
        with pytest.raises(InvalidStrategyError, match=reason) as caught:
            strategy.save(path)
        assert "\n" not in str(caught.value)
        with pytest.raises(InvalidStrategyError) as caught:
            Strategy.load(path, kuhn)
        assert "\n" not in str(caught.value)
    Profile.uniform(kuhn).save(tmp_path / "profile")
    for player in (True, 1.0, [0], "0"):
        with pytest.raises(InvalidStrategyError, match="has no strategy of player"):
            Strategy.load(tmp_path / "profile", kuhn, player)


# Files that are none


def written(path, **arrays):
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    return path


def metadata(kuhn, **changes):
    entries = {
        "format": "treeplex strategies",
        "version": 1,
        "game": "kuhn",
        "fingerprint": kuhn.fingerprint,
        "players": [0, 1],
    } | changes
    return np.array(json.dumps({key: entry for key, entry in entries.items() if entry is not ...}))


UNIFORM = np.array([1.0] + [0.5] * 12)


@pytest.mark.parametrize(
    ("changes", "arrays", "message"),
    [
        ({"format": "numpy"}, {}, ": the file has format 'numpy' version 1, expected 'treeplex strategies' version 1"),
        ({"version": 2}, {}, "version 2, expected 'treeplex strategies' version 1"),
        ({"format": ...}, {}, "is not a strategy file, or is damaged: 'format'"),
        ({"version": ...}, {}, "is not a strategy file, or is damaged: 'version'"),
        ({"fingerprint": ...}, {}, "is not a strategy file, or is damaged: 'fingerprint'"),
        ({"game": ...}, {}, "is not a strategy file, or is damaged: 'game'"),
        ({"players": ...}, {}, "is not a strategy file, or is damaged: 'players'"),
        ({"players": None}, {}, "is not a strategy file, or is damaged"),
        ({"players": 0}, {}, "is not a strategy file, or is damaged"),
        ({"players": ["first"]}, {}, "is not a strategy file, or is damaged"),
        ({"players": []}, {}, "contains no strategy"),
        ({"players": [0, 1, 2]}, {}, "is not a strategy file, or is damaged: 'behaviour_2"),
        ({"players": [0, 5]}, {"behaviour_5": UNIFORM}, "player is 5, expected a number from 0 to 1"),
        ({"players": [0]}, {}, "is not a complete profile: it contains no strategy of player 1"),
        (
            {"fingerprint": "0" * 16},
            {},
            "contains strategies of another game (kuhn): its fingerprint is 0000000000000000",
        ),
        ({"fingerprint": None, "game": None}, {}, "contains strategies of another game"),
        ({}, {"behaviour_1": UNIFORM[:-1]}, "shape (12,), expected (13,)"),
        ({}, {"behaviour_1": UNIFORM * np.nan}, "not finite"),
        ({}, {"behaviour_1": UNIFORM * 2}, "has probabilities [1.0, 1.0], expected non-negative numbers that sum to 1"),
        ({}, {"behaviour_1": np.array(["a"] * 13)}, "is not an array of numbers"),
        ({}, {"metadata": np.array("{")}, "is not a strategy file, or is damaged"),
        ({}, {"metadata": np.array("[]")}, "is not a strategy file, or is damaged"),
        ({}, {"metadata": np.arange(3)}, "is not a strategy file, or is damaged"),
        ({}, {"metadata": UNIFORM}, "is not a strategy file, or is damaged"),
    ],
)
def test_archives_of_something_else(kuhn, tmp_path, changes, arrays, message):
    contents = {"metadata": metadata(kuhn, **changes), "behaviour_0": UNIFORM, "behaviour_1": UNIFORM} | arrays
    path = written(tmp_path / "odd.npz", **contents)
    with pytest.raises(InvalidStrategyError) as caught:
        Profile.load(path, kuhn)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_a_profile_needs_the_player_to_be_named(kuhn, tmp_path):
    Profile.uniform(kuhn).save(tmp_path / "profile.npz")
    with pytest.raises(InvalidStrategyError, match=r"has strategies of players \[0, 1\]: choose one"):
        Strategy.load(tmp_path / "profile.npz", kuhn)
    with pytest.raises(InvalidStrategyError, match=r"has no strategy of player 2, only of \[0, 1\]"):
        Strategy.load(tmp_path / "profile.npz", kuhn, player=2)


class Trap:
    """A pickle of it creates a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_nothing_is_ever_unpickled(kuhn, tmp_path):
    sprung = tmp_path / "sprung"
    trap = np.array([Trap(sprung)] * 13, dtype=object)
    for index, contents in enumerate(
        (
            {"metadata": metadata(kuhn), "behaviour_0": trap, "behaviour_1": trap},
            {"metadata": trap[:1].reshape(()), "behaviour_0": UNIFORM, "behaviour_1": UNIFORM},
        )
    ):
        path = written(tmp_path / f"{index}.npz", **contents)
        with pytest.raises(InvalidStrategyError, match="is not a strategy file, or is damaged"):
            Profile.load(path, kuhn)
    (tmp_path / "bare.npz").write_bytes(pickle.dumps(Trap(sprung)))
    with pytest.raises(InvalidStrategyError, match=r"is not a strategy file, or is damaged|is a pickle of Python"):
        Profile.load(tmp_path / "bare.npz", kuhn)
    assert not sprung.exists()


def test_files_of_other_kinds(kuhn, tmp_path):
    np.save(tmp_path / "one.npy", UNIFORM)
    with pytest.raises(InvalidStrategyError, match=r"one\.npy: it is a single array of numpy \(\.npy\)"):
        Profile.load(tmp_path / "one.npy", kuhn)
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "text.npz").write_text("J_ p 0.5\n")
    (tmp_path / "folder.npz").mkdir()
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as archive:
        archive.writestr("metadata.npy", "no array")
    for name in ("empty.npz", "text.npz", "folder.npz", "zip.npz"):
        with pytest.raises(InvalidStrategyError, match="is not a strategy file, or is damaged") as caught:
            Profile.load(tmp_path / name, kuhn)
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidStrategyError, match=r"absent\.npz: no such file"):
        Strategy.load(tmp_path / "absent.npz", kuhn)


def test_damaged_files_are_refused_or_read_aright(kuhn, tmp_path):
    """Cut the file off anywhere and turn bits anywhere: the outcome is one exception, or the strategy."""
    profile = random_profile(kuhn)
    path = tmp_path / "profile.npz"
    profile.save(path)
    whole = path.read_bytes()
    source = random.Random(1)
    damaged = [whole[:length] for length in range(0, len(whole), 37)]
    for _ in range(400):
        changed = bytearray(whole)
        changed[source.randrange(len(whole))] ^= 1 << source.randrange(8)
        damaged.append(bytes(changed))
    refused = 0
    for contents in damaged:
        path.write_bytes(contents)
        try:
            again = Profile.load(path, kuhn)
        except InvalidStrategyError:
            refused += 1
        else:
            np.testing.assert_array_equal(np.concatenate(again.plans), np.concatenate(profile.plans))
    assert refused > 200
