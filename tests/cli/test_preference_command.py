"""``treeplex solve`` with preferences."""

import pytest
from command_line import json_of

from treeplex import InvalidPreferenceError, Prefer, Profile, Strategy, load_game
from treeplex.cli import main
from treeplex.models.preferences import PreferStrategy, parse_preference, preference_on
from treeplex.solvers.style.preferences import preferred_shares

QUICK = ("--tol", "0", "--max-iterations", "500")


def share(record):
    return record["preference"]["shares"][0]["share"]


def test_a_preference_is_solved_for(capsys):
    solve = ("solve", "leduc", "--method", "pref-cfr", *QUICK)
    record = json_of(capsys, *solve, "--prefer", "raise:5", "--vulnerability", "0.05")
    assert record["method"] == "pref-cfr"
    assert record["options"]["prefer"] == ["r:5"] or record["options"]["prefer"] == ["raise:5"]
    assert [each["player"] for each in record["preference"]["shares"]] == [0, 1]
    bounds = record["preference"]["vulnerability_bounds"]
    assert all(0.05 <= bound <= 0.2 for bound in bounds)
    assert record["preference"]["nash_conv_bound"] == pytest.approx(
        sum(bounds) + sum(record["preference"]["finite_run_bounds"])
    )
    assert 2 * record["exploitability"] <= record["preference"]["nash_conv_bound"]


def test_the_player_of_a_preference(capsys):
    solve = ("solve", "leduc", "--method", "pref-cfr", *QUICK)
    own = json_of(capsys, *solve, "--prefer", "raise@first:9", "--player", "1", "--vulnerability", "0.2")
    assert [each["player"] for each in own["preference"]["shares"]] == [1]
    said = json_of(capsys, *solve, "--prefer", "1/raise@first:9", "--vulnerability", "0.2")
    assert said["value"] == own["value"]
    other = json_of(capsys, *solve, "--prefer", "1/call@first:9", "--vulnerability", "0.2")
    assert share(own) > 1 - share(other) + 0.1


@pytest.mark.parametrize("method", ["pref-cfr", "es-pref-cfr"])
def test_rules_and_units(method, capsys):
    solve = ("solve", "kuhn", "--method", method, "--prefer", "0/bet@first:5", *QUICK)
    plain = json_of(capsys, *solve)
    best = json_of(capsys, *solve, "--rule", "br")
    assert best["value"] != plain["value"]
    assert best["preference"]["nash_conv_bound"] is None
    counterfactual = json_of(capsys, *solve, "--vulnerability", "0.1", "--units", "counterfactual")
    conditional = json_of(capsys, *solve, "--vulnerability", "0.1", "--units", "conditional")
    assert counterfactual["value"] != conditional["value"]
    assert json_of(capsys, "solve", "kuhn")["preference"] is None


def test_random_starts(capsys):
    solve = ("solve", "kuhn", "--method", "cfr", "--initial-regrets", "1", *QUICK)
    values = [json_of(capsys, *solve, "--seed", seed)["value"] for seed in ("1", "1", "2")]
    assert values[0] == values[1] != values[2]


def test_of_other_payoffs_the_bound_is_of_the_joint_play(capsys, tmp_path):
    file = tmp_path / "sexes.efg"
    file.write_text(
        'EFG 2 R "battle of the sexes" { "Ann" "Bob" }\n'
        'p "" 1 1 "" { "opera" "match" } 0\n'
        'p "" 2 1 "" { "opera" "match" } 0\nt "" 1 "" { 2, 1 }\nt "" 2 "" { 0, 0 }\n'
        'p "" 2 1 "" { "opera" "match" } 0\nt "" 3 "" { 0, 0 }\nt "" 4 "" { 1, 2 }\n'
    )
    arguments = ("--problem", "epsilon-nash", "--method", "pref-cfr", "--prefer", "1/opera:5", *QUICK)
    record = json_of(capsys, "solve", str(file), *arguments)
    assert record["value"] == pytest.approx([2, 1], abs=0.1)
    assert record["preference"]["nash_conv_bound"] is None
    assert record["preference"]["cce_gap_bound"] == max(record["preference"]["finite_run_bounds"])
    assert main(["solve", str(file), *arguments]) == 0
    assert "CCE gap bound" in capsys.readouterr().out


def test_the_table_says_what_became_of_preferences(capsys):
    arguments = ("--prefer", "0/bet@first:5", "--vulnerability", "0.02", "--units", "counterfactual", *QUICK)
    assert main(["solve", "kuhn", "--method", "pref-cfr", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "of the time" in shown
    assert "NashConv bound" in shown
    assert "0.06 in the limit" in shown
    assert "after this many iterations" in shown
    assert main(["solve", "kuhn", "--method", "pref-cfr", *arguments, "--updates", "alternating"]) == 0
    assert "0.06 in the limit, not proven with these options" in capsys.readouterr().out


MISTAKES = {
    "a degree below one": (("--prefer", "bet:0.5"), "received the degree 0.5, expected 1 or more"),
    "no degree": (("--prefer", "bet"), "expected ACTION:DELTA, such as raise:5"),
    "a degree that is none": (("--prefer", "bet:much"), "received 'much', expected a degree, such as 5"),
    "an action that is not there": (("--prefer", "raise:5"), "no player of kuhn has action 'raise'"),
    "an action nearly there": (("--prefer", "0/bett:5"), "player 0 of kuhn has no action 'bett' (did you mean bet?)"),
    "an infoset that is not there": (("--prefer", "0/X_:bet:5"), "has no infoset 'X_' with that action"),
    "a seat that is not there": (("--prefer", "2/bet:5"), "is for player 2, expected a seat from 0 to 1"),
    "a seat that is none": (("--prefer", "x/bet:5"), "received the seat 'x', expected a number, such as 0"),
    "a contradiction": (("--prefer", "bet:5", "--prefer", "bet:6"), "contradict each other"),
    "a vulnerability below zero": (("--prefer", "bet:5", "--vulnerability", "-1"), "expected a number of at least 0"),
    "a vulnerability of nothing": (("--vulnerability", "0.1"), "vulnerability = 0.1 without a preference"),
    "an unknown rule": (
        ("--prefer", "bet:5", "--rule", "rmm"),
        "--rule rmm (did you mean rm?): expected one of",
    ),
    "unknown units": (("--prefer", "bet:5", "--units", "chips"), "--units chips: expected one of"),
    "another method": (("--prefer", "bet:5", "--method", "dcfr"), "--prefer is for --method pref-cfr, es-pref-cfr"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes_are_one_line(arguments, message, capsys):
    assert main(["solve", "kuhn", "--method", "pref-cfr", *arguments, "--json", "-"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err


def test_later_preferences_count():
    preference = preference_on(load_game("kuhn"), ["bet:5", "0/J_:bet:9"], 0.1)
    treeplex = load_game("kuhn").sequence_form.treeplexes[0]
    assert preference.degrees[0][treeplex.sequence("J_", "b")] == 9.0
    assert preference.degrees[0][treeplex.sequence("Q_", "b")] == 5.0


def test_predicates_and_own_vulnerabilities():
    game = load_game("kuhn")
    wish = Prefer(
        "b", 3, infosets=lambda player, label, actions: player == 1 and label.startswith("K"), vulnerability=0.5
    )
    preference = preference_on(game, wish, 0.1)
    assert not preference.about[0].any()
    assert preference.about[1].sum() == 2
    assert preference.vulnerability[1].tolist() == [0.5 * about for about in preference.about[1]]


def test_texts_are_read_as_they_are_written():
    for text in ("raise:5", "1/raise:5", "0/J_:b:2.5", "b@first:10"):
        assert str(parse_preference(text)) == text
    with pytest.raises(InvalidPreferenceError, match="expected a string such as 'raise:5'"):
        parse_preference("  ")
    with pytest.raises(InvalidPreferenceError, match="expected a Prefer, a PreferStrategy or a string"):
        preference_on(load_game("kuhn"), [3])


def test_shares_are_of_the_occasions():
    game = load_game("kuhn")
    # Player 0 never checks, so that it is never asked whether to call.
    bold = Strategy.from_dict(game, 0, {f"{card}_": {"p": 0, "b": 1} for card in "JQK"})
    profile = Profile([bold, Strategy.uniform(game, 1)])
    shares = preferred_shares(game, ["0/b@first:5", Prefer("b", 5, player=0, infosets=["J_pb"])], profile)
    assert [each.share for each in shares] == [1.0, None]
    leaning = preferred_shares(game, PreferStrategy(bold, 4), profile)
    assert leaning[0].share == 1.0
