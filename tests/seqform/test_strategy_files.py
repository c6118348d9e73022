"""Strategies in the formats of the library, of OpenSpiel and of Gambit."""

import csv
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest

from treeplex import InvalidStrategyError, Profile, Strategy, exploitability, load_game
from treeplex.seqform.interchange import policy_from_strategies, profile_from_gambit, write_efg
from treeplex.seqform.strategy_files import game_of, read_strategies


def random_profile(game, seed=0):
    rng = np.random.default_rng(seed)
    strategies = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        weights = rng.exponential(size=treeplex.num_sequences)
        strategies.append(Strategy(game, player, treeplex.behaviour(treeplex.plan(treeplex.behaviour(weights)))))
    return Profile(strategies)


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
    with pytest.raises(InvalidStrategyError, match="'b' as well as another name for that action"):
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


def as_printed(profile, number="{}"):
    """Return a profile as pygambit prints it."""
    behaviours = [[list(played.values()) for played in each.to_dict().values()] for each in profile]
    return re.sub(r"[\d.e-]+", lambda found: number.format(found[0]), str(behaviours))


@pytest.mark.parametrize("number", ["{}", "np.float64({})", "Fraction('{}')"])
def test_profiles_that_pygambit_prints_are_read(number, kuhn, tmp_path):
    profile = random_profile(kuhn)
    (tmp_path / "profile.txt").write_text(as_printed(profile, number))
    for mine, theirs in zip(profile, Profile.load(tmp_path / "profile.txt", kuhn), strict=True):
        np.testing.assert_array_equal(mine.behaviour, theirs.behaviour)
    labelled = {f"Player {each.player}": list(each.to_dict().values()) for each in profile}
    (tmp_path / "profile.txt").write_text(str(labelled))
    for mine, theirs in zip(profile, Profile.load(tmp_path / "profile.txt", kuhn), strict=True):
        np.testing.assert_array_equal(mine.behaviour, theirs.behaviour)


def test_fractions_are_read_as_pygambit_and_python_print_them(kuhn, tmp_path):
    for half, third in (("1/2", "1/3"), ("Rational(1, 2)", "Rational(1, 3)"), ("Fraction(1, 2)", "Fraction(1, 3)")):
        rest = ", ".join([f"[{half}, {half}]"] * 5)
        (tmp_path / "profile.txt").write_text(f"[[[{third}, 1 - 0], {rest}], [[1, 0], {rest}]]".replace("1 - 0", "2/3"))
        profile = Profile.load(tmp_path / "profile.txt", kuhn)
        assert list(profile[0]["J_"].values()) == [1 / 3, 2 / 3]


class Dealt:
    """What pygambit 16 gives: players with infosets with actions, and a profile of these actions."""

    def __init__(self, profile):
        self.numbers, self.players = {}, []
        for strategy in profile:
            infosets = []
            for place, played in enumerate(strategy.to_dict().values()):
                actions = [(strategy.player, place, number) for number in range(len(played))]
                self.numbers.update(zip(actions, played.values(), strict=True))
                infosets.append(SimpleNamespace(actions=actions))
            self.players.append(SimpleNamespace(infosets=infosets))
        self.game = self

    def __getitem__(self, action):
        return self.numbers[action]


class Labelled(list):
    """What pygambit 17 gives: behaviours of infosets and mixed actions, and players by their labels."""

    game = SimpleNamespace(players=["Alice", "Bob"])


def test_profiles_of_pygambit_are_taken(kuhn):
    profile = random_profile(kuhn)
    later = Labelled([(object(), list(played.items())) for played in each.to_dict().values()] for each in profile)
    for given in (Dealt(profile), later):
        for mine, theirs in zip(profile, profile_from_gambit(kuhn, given), strict=True):
            np.testing.assert_array_equal(mine.behaviour, theirs.behaviour)
    with pytest.raises(InvalidStrategyError, match="is not a pygambit behaviour profile"):
        profile_from_gambit(kuhn, 3)


def test_play_where_a_mixed_strategy_of_pygambit_never_leads_is_uniform(kuhn):
    played = [each.to_dict() for each in random_profile(kuhn)]
    played[0] |= {"J_": {"p": 0.0, "b": 1.0}, "J_pb": {"p": 0.0, "b": 0.0}}  # by as_behavior()
    found = profile_from_gambit(kuhn, Labelled([(None, list(each.items())) for each in one.values()] for one in played))
    assert found[0].to_dict() == played[0] | {"J_pb": {"p": 0.5, "b": 0.5}}
    played[0]["J_"] = {"p": 0.5, "b": 0.5}
    with pytest.raises(InvalidStrategyError, match=r"'J_pb' has probabilities \[0.0, 0.0\]"):
        profile_from_gambit(kuhn, Labelled([(None, list(each.items())) for each in one.values()] for one in played))


def test_lines_of_gambit_may_hold_several_equilibria(kuhn, tmp_path):
    profiles = [random_profile(kuhn, seed) for seed in range(3)]
    lines = [",".join(["NE", *(repr(p) for each in one for p in each.behaviour[1:].tolist())]) for one in profiles]
    path = tmp_path / "kuhn.ne"
    path.write_text("\n".join(lines) + "\n")
    assert read_strategies(path, kuhn).equilibria == 3
    for number, one in enumerate(profiles, start=1):
        np.testing.assert_allclose(Profile.load(f"{path}:{number}", kuhn)[1].behaviour, one[1].behaviour, atol=1e-15)
    np.testing.assert_array_equal(Profile.load(path, kuhn)[0].behaviour, Profile.load(f"{path}:1", kuhn)[0].behaviour)
    with pytest.raises(InvalidStrategyError, match=r"kuhn\.ne: equilibrium 4 was requested, expected 1 to 3"):
        Profile.load(f"{path}:4", kuhn)
    with pytest.raises(InvalidStrategyError, match=r"no\.ne: no such file"):
        Profile.load(tmp_path / "no.ne:2", kuhn)
    Profile.uniform(kuhn).save(tmp_path / "one.json")
    with pytest.raises(InvalidStrategyError, match=r"one\.json: equilibrium 2 was requested, but only Gambit's NE,"):
        Profile.load(f"{tmp_path / 'one.json'}:2", kuhn)


def test_rounded_probabilities_are_normalised_if_asked_for(kuhn, tmp_path):
    path = tmp_path / "rounded.json"
    path.write_text('{"1": {"Q_b": {"p": 0.667, "b": 0.334}, "K_b": {"p": 0, "b": 1}}, "0": {}}')
    with pytest.raises(InvalidStrategyError) as caught:
        Strategy.load(path, kuhn, 1)
    said = "rounded.json: player 1: infoset 'Q_b' has probabilities [0.667, 0.334], expected non-negative numbers that"
    assert said in str(caught.value)
    assert str(caught.value).endswith("if they are rounded, normalise=True (--normalise) divides them by their sum")
    strategy = Strategy.load(path, kuhn, 1, normalise=True)
    assert strategy["Q_b"] == pytest.approx({"p": 0.667 / 1.001, "b": 0.334 / 1.001})
    assert read_strategies(path, kuhn, normalise=True).corrected == pytest.approx(0.001)
    for wrong in ('{"p": 0, "b": 0}', '{"p": -0.1, "b": 1.1}'):
        path.write_text(f'{{"1": {{"Q_b": {wrong}}}}}')
        with pytest.raises(InvalidStrategyError, match=r"rounded.json: player 1: infoset 'Q_b' has probabilities \["):
            Strategy.load(path, kuhn, 1, normalise=True)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker"])
def test_tables_that_openspiel_makes_in_python_are_read(name, tmp_path):
    """They have all actions of the game, also those that are not legal at an infoset."""
    pyspiel = pytest.importorskip("pyspiel")
    policies = pytest.importorskip("open_spiel.python.policy")
    game = load_game(f"openspiel:{name}")
    profile = random_profile(game, seed=4)
    table = policy_from_strategies(profile)
    assert isinstance(table, policies.TabularPolicy)
    written = {"text": str(table.to_dict()), "json": json.dumps(table.to_dict(), default=float)}
    written["table"] = json.dumps(policies.python_policy_to_pyspiel_policy(table).policy_table())
    for each, text in written.items():
        (tmp_path / each).write_text(text)
        for mine, theirs in zip(profile, Profile.load(tmp_path / each, game), strict=True):
            np.testing.assert_allclose(mine.behaviour, theirs.behaviour, rtol=0, atol=1e-12)
    if name == "leduc_poker":
        wrong = str(table.to_dict()).replace("(0, np.float64(0.0))", "(0, np.float64(0.5))", 1)
        (tmp_path / "text").write_text(wrong)
        with pytest.raises(InvalidStrategyError, match=r"has a probability for action 0, expected \[1, 2\]"):
            Profile.load(tmp_path / "text", game)
    assert pyspiel.load_game(name).num_players() == 2


def test_equilibria_of_gambit_are_read(tmp_path, kuhn):
    gambit = pytest.importorskip("pygambit")
    write_efg(kuhn, tmp_path / "kuhn.efg")
    other = gambit.read_efg(str(tmp_path / "kuhn.efg"))
    solved = gambit.nash.lp_solve(other, rational=True, use_strategic=False)
    if hasattr(solved, "equilibrium"):  # since Gambit 17, profiles are iterated over
        line = [str(chance) for mixed in solved.equilibrium for _, each in mixed for _, chance in each]
    else:
        (found,), players = solved.equilibria, other.players
        line = [str(found[action]) for player in players for infoset in player.infosets for action in infoset.actions]
    (tmp_path / "kuhn.ne").write_text(f"NE,{','.join(line)}\n")
    game = load_game(str(tmp_path / "kuhn.efg"))
    assert exploitability(game, Profile.load(tmp_path / "kuhn.ne", game)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not a strategy file, or is damaged: line 1, column 2: not JSON"),
        ("3", "its first line is '3', expected a table with the columns player, infoset, action, probability"),
        ("[]", "contains no strategy"),
        ('{"J": {"p": 1}}', "no player has an infoset 'J'"),
        ('{"0": {"J": {"p": 1}}}', "player 0 has no infoset 'J'"),
        ('{"0": {"J_": {"x": 1}}}', "infoset 'J_' has no action 'x', expected one of ['p', 'b']"),
        ('{"0": {"J_": {"p": "one"}}}', "infoset 'J_' has the probability 'one', expected a number"),
        (
            '{"0": {"J_": {"p": 0.3}}}',
            "wrong.txt: player 0: infoset 'J_' has probabilities [0.3, 0.0], expected non-negative numbers",
        ),
        ('{"0": {"J_": [[0, 1]]}}', "or one pair (number, probability) for each of its 2 actions"),
        (
            '{"format": "x", "version": 1}',
            "the file has format 'x' version 1, expected 'treeplex strategies' version 1",
        ),
        ("player,infoset,action,probability\n7,J_,p,1\n", "player is 7, expected 0 to 1"),
        (
            "player,infoset,action,probability\nx,J_,p,1\n",
            "line 2: player is 'x', expected a whole number of at least 0",
        ),
        ("player,infoset,action,probability\n0,J_,p,1\n0,J_,p,1\n", "line 3: action 'p' of infoset 'J_' occurs twice"),
        ("player,infoset,action,probability\n0,J_\n", "infoset 'J_' has no action None"),
        ("NE,1,0", "an equilibrium has 2 probabilities, expected 24: one per action and infoset"),
        ("NE,1,0\nconvex-1", "line 2 is 'convex-1', expected NE,… in each line"),
        ("{'0': [(0, open('x')), (1, 1)]}", "neither JSON nor printed Python: open('x'), expected a number"),
        ("[[[0.5, 0.5]], [[1, 0]], [[1, 0]]]", "it contains lists of 3 players, expected 2"),
        ("[[[0.5, 0.5, 0]], []]", "infoset 'J_' has 3 probabilities, expected 2"),
        ("[[" + "[1, 0]," * 6 + "[1, 0]], []]", "player 0 has only 6 infosets"),
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
    with pytest.raises(InvalidStrategyError, match=r"expected a name that ends in \.npz, \.json or \.csv"):
        Profile.uniform(kuhn).save(tmp_path / "profile.xlsx")
    assert not list(tmp_path.iterdir())


def test_a_file_of_another_game_is_refused(kuhn, tmp_path):
    Profile.uniform(kuhn).save(tmp_path / "kuhn.json")
    with pytest.raises(InvalidStrategyError, match=r"of another game \(kuhn\)"):
        Profile.load(tmp_path / "kuhn.json", load_game("kuhn:cards=4"))
