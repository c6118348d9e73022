"""Strategies in the formats of the library, of OpenSpiel and of Gambit."""

import csv
import json

import numpy as np
import pytest

from treeplex import InvalidStrategyError, Profile, Strategy, exploitability, load_game
from treeplex.seqform.interchange import write_efg
from treeplex.seqform.strategy_files import game_of, read_strategies


def random_profile(game, seed=0):
    rng = np.random.default_rng(seed)
    strategies = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        weights = rng.exponential(size=treeplex.num_sequences)
        strategies.append(Strategy(game, player, treeplex.behaviour(treeplex.plan(treeplex.behaviour(weights)))))
    return Profile(strategies)


@pytest.fixture(scope="module")
def kuhn():
    return load_game("kuhn")


@pytest.mark.parametrize("suffix", [".npz", ".json", ".csv", ".JSON"])
@pytest.mark.parametrize("spec", ["kuhn", "kuhn:players=3", "liars_dice", "goofspiel:cards=3"])
def test_what_is_written_is_read_bit_by_bit(spec, suffix, tmp_path):
    game = load_game(spec)
    profile = random_profile(game)
    profile.save(tmp_path / f"profile{suffix}")
    again = Profile.load(tmp_path / f"profile{suffix}", game)
    for mine, theirs in zip(profile, again, strict=True):
        np.testing.assert_array_equal(mine.behaviour, theirs.behaviour)
    assert game_of(tmp_path / f"profile{suffix}") == ("" if suffix == ".csv" else spec)


def test_a_profile_goes_through_json_and_dictionaries(kuhn):
    profile = random_profile(kuhn)
    for again in (Profile.from_json(kuhn, profile.to_json()), Profile.from_dict(kuhn, profile.to_dict())):
        for mine, theirs in zip(profile, again, strict=True):
            np.testing.assert_array_equal(mine.behaviour, theirs.behaviour)
    assert Profile.from_dict(kuhn, [{"J_": {"p": 1}}, {}])[0]["J_"] == {"p": 1.0, "b": 0.0}


def test_a_profile_is_a_frame(kuhn):
    pytest.importorskip("pandas")
    profile = random_profile(kuhn)
    frame = profile.to_frame()
    assert list(frame.columns) == ["player", "infoset", "action", "probability", "realization"]
    row = frame[(frame.player == 1) & (frame.infoset == "K_b") & (frame.action == "b")]
    assert row.probability.item() == profile[1]["K_b"]["b"]


def test_words_name_actions_in_files(kuhn):
    profile = random_profile(kuhn)
    words = profile.to_json().replace('"p":', '"pass":').replace('"b":', '"bet":')
    for mine, theirs in zip(profile, Profile.from_json(kuhn, words), strict=True):
        np.testing.assert_array_equal(mine.behaviour, theirs.behaviour)
    with pytest.raises(InvalidStrategyError, match="'b' beside another name of that action"):
        Profile.from_json(kuhn, '{"0": {"K_": {"bet": 0.5, "b": 0.5}}}')


def test_a_plain_mapping_is_read_and_fractions_are_numbers(kuhn, tmp_path):
    (tmp_path / "mine.json").write_text('{"1": {"K_b": {"b": 1}, "Q_b": {"p": "2/3", "b": "1/3"}}}')
    found = read_strategies(tmp_path / "mine.json", kuhn.sequence_form)
    assert found.left_out == {1: 4}
    strategy = Strategy.load(tmp_path / "mine.json", kuhn)
    assert strategy.player == 1
    assert strategy["Q_b"] == {"p": pytest.approx(2 / 3), "b": pytest.approx(1 / 3)}
    assert strategy["K_b"] == {"p": 0.0, "b": 1.0}
    assert strategy["J_b"] == {"p": 0.5, "b": 0.5}


def test_a_table_may_have_more_columns_in_any_order(kuhn, tmp_path):
    profile = random_profile(kuhn)
    with (tmp_path / "table.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, ["probability", "note", "action", "infoset", "player"])
        table.writeheader()
        for row in profile.to_frame().to_dict("records"):
            row.pop("realization")
            table.writerow(row | {"note": "x"})
    again = Profile.load(tmp_path / "table.csv", kuhn)
    np.testing.assert_array_equal(again[0].behaviour, profile[0].behaviour)


def test_tables_by_the_numbers_of_actions_are_read(kuhn, tmp_path):
    profile = random_profile(kuhn)
    content = {
        infoset: [[number, share] for number, share in enumerate(played.values())][::-1]
        for strategy in profile
        for infoset, played in strategy.to_dict().items()
    }
    (tmp_path / "policy.json").write_text(json.dumps(content))
    again = Profile.load(tmp_path / "policy.json", kuhn)
    np.testing.assert_array_equal(again[1].behaviour, profile[1].behaviour)


def test_policies_of_openspiel_are_read(tmp_path):
    pyspiel = pytest.importorskip("pyspiel")
    spiel = pyspiel.load_game("kuhn_poker")
    solver = pyspiel.CFRSolver(spiel)
    for _ in range(50):
        solver.evaluate_and_update_policy()
    average = solver.tabular_average_policy()
    (tmp_path / "policy.json").write_text(json.dumps(average.policy_table()))
    game = load_game("openspiel:kuhn_poker")
    profile = Profile.load(tmp_path / "policy.json", game)
    assert exploitability(game, profile) == pytest.approx(pyspiel.exploitability(spiel, average), abs=1e-12)


def test_equilibria_of_gambit_are_read(tmp_path, kuhn):
    gambit = pytest.importorskip("pygambit")
    write_efg(kuhn, tmp_path / "kuhn.efg")
    other = gambit.read_efg(str(tmp_path / "kuhn.efg"))
    (found,) = gambit.nash.lp_solve(other, rational=True, use_strategic=False).equilibria
    line = [str(found[action]) for player in other.players for infoset in player.infosets for action in infoset.actions]
    (tmp_path / "kuhn.ne").write_text(f"NE,{','.join(line)}\n")
    game = load_game(str(tmp_path / "kuhn.efg"))
    assert exploitability(game, Profile.load(tmp_path / "kuhn.ne", game)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a strategy file, or a damaged one: line 1, column 2: not JSON"),
        ("3", "its first line is '3', expected a table with the columns player, infoset, action, probability"),
        ("[]", "holds no strategy"),
        ('{"J": {"p": 1}}', "no player has an infoset 'J'"),
        ('{"0": {"J": {"p": 1}}}', "player 0 has no infoset 'J'"),
        ('{"0": {"J_": {"x": 1}}}', "infoset 'J_' has no action 'x', but ['p', 'b']"),
        ('{"0": {"J_": {"p": "one"}}}', "infoset 'J_' has the probability 'one', expected a number"),
        ('{"0": {"J_": {"p": 0.3}}}', "infoset 'J_' has probabilities [0.3, 0.0], expected non-negative numbers"),
        ('{"0": {"J_": [[0, 1]]}}', "a pair of number and probability for each of its 2 actions"),
        ('{"format": "x", "version": 1}', "a file of format 'x' version 1, expected 'treeplex strategies' version 1"),
        ("player,infoset,action,probability\n7,J_,p,1\n", "player is 7, expected 0 to 1"),
        ("player,infoset,action,probability\nx,J_,p,1\n", "line 2: player is 'x', expected a number from 0 on"),
        ("player,infoset,action,probability\n0,J_,p,1\n0,J_,p,1\n", "line 3: action 'p' of infoset 'J_' again"),
        ("player,infoset,action,probability\n0,J_\n", "infoset 'J_' has no action None"),
        ("NE,1,0", "1 lines, the first with 2 probabilities; expected one line"),
        ("NE,1/0" + ",0" * 23, "Gambit's line has the probability '1/0', expected a number"),
    ],
)
def test_what_is_no_strategy_is_said_in_one_line(content, message, kuhn, tmp_path):
    path = tmp_path / "wrong.txt"
    path.write_text(content)
    with pytest.raises(InvalidStrategyError) as caught:
        Profile.load(path, kuhn)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_endings_that_are_not_written_are_refused(kuhn, tmp_path):
    with pytest.raises(InvalidStrategyError, match=r"expected a name that ends with \.npz, \.json or \.csv"):
        Profile.uniform(kuhn).save(tmp_path / "profile.xlsx")
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_game_is_refused(kuhn, tmp_path):
    Profile.uniform(kuhn).save(tmp_path / "kuhn.json")
    with pytest.raises(InvalidStrategyError, match=r"of another game \(kuhn\)"):
        Profile.load(tmp_path / "kuhn.json", load_game("kuhn:cards=4"))
