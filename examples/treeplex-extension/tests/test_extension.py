"""Tests that the package works as documented, in Python and on the command line."""

import json
from fractions import Fraction

import pytest
from treeplex_extension.blotto import Blotto
from treeplex_extension.bonus import BonusResponse
from treeplex_extension.fictitious_play import FictitiousPlay

from treeplex import Game, Nash, families, frequency, load_game, solve
from treeplex.cli import main
from treeplex.models.problems import find_problem
from treeplex.seqform.extensions import extensions
from treeplex.solvers import find_method
from treeplex.validation import run_suite


def json_of(capsys, *arguments):
    assert main([*arguments, "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def test_everything_is_found_by_its_name():
    assert load_game("blotto:fields=2").rules == Blotto(fields=2)
    assert "blotto" in [family.name for family in families()]
    assert find_problem("bonus") is BonusResponse
    assert extensions()["treeplex-extension 0.1"] == [
        "maniac",
        "blotto",
        "fictitious-play",
        "stubborn",
        "bonus",
        "extension",
    ]
    assert find_method("fictitious-play:power=1") == FictitiousPlay(power=1)


def test_blotto_is_symmetric():
    game = Game("blotto", rules=Blotto(soldiers=3, fields=3))
    assert game.sequence_form.treeplexes[0].num_sequences == 11
    assert solve(Nash(game)).value == pytest.approx(0, abs=1e-9)


def test_a_bonus_of_nothing_is_an_equilibrium_and_one_that_is_large_decides():
    game = load_game("kuhn")
    bets = frequency(game, 0, "b", first=True)
    assert solve(BonusResponse(game, bets, bonus=0), "rational").exact.objective == Fraction(-1, 18)
    paid = solve(BonusResponse(game, bets, bonus=100))
    assert bets.value(paid.profile[0]) == pytest.approx(1)
    assert paid.objective == pytest.approx(100 + paid.value)


@pytest.mark.parametrize("power", [0, 1])
def test_fictitious_play_converges(power):
    solution = solve(Nash(load_game("kuhn")), FictitiousPlay(power=power), tol=0.01)
    assert solution.status == "converged"
    assert solution.exploitability <= 0.01


def test_an_opponent_is_known_wherever_one_is_named(capsys):
    rnr = ("solve", "kuhn", "--problem", "rnr", "--p", "1")
    found = json_of(capsys, *rnr, "--opponent", "mixture:1/2*stubborn:b+1/2*uniform")
    assert found["objective"] > found["game_value"]
    assert main([*rnr, "--opponent", "stubborn"]) == 2
    assert "opponent stubborn needs action; expected stubborn:ACTION" in capsys.readouterr().err


def test_a_bot_is_known_to_matches(capsys):
    pytest.importorskip("pokerkit")
    found = json_of(capsys, "match", "maniac:share=1", "call", "--hands", "4", "--duplicate", "--stack", "1000")
    assert (found["hands"], found["mbb_per_hand"], found["forfeits"]) == (4, 0.0, 0)


def test_suite_passes():
    assert run_suite("extension").passed


def test_commands_list_them(capsys):
    for command, name in (("games", "blotto"), ("problems", "bonus"), ("methods", "fictitious-play")):
        (found,) = (each for each in json_of(capsys, command)[command] if each["name"] == name)
        assert found["package"] == "treeplex-extension"
        assert main([command]) == 0
        shown = capsys.readouterr()
        assert "from the package treeplex-extension" in shown.out
        assert shown.err == ""


def test_help_of_solve_has_their_options(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    assert main(["solve", "--help-all"]) == 0
    shown = capsys.readouterr().out
    assert all(word in shown for word in ("--reward", "--bonus", "--power", "fictitious-play", "(bonus)"))


def test_commands_take_them(capsys, tmp_path):
    found = json_of(capsys, "info", "blotto:soldiers=3")
    assert found["parameters"] == {"soldiers": 3, "fields": 3}
    profile = str(tmp_path / "profile.npz")
    play = ("--method", "fictitious-play", "--power", "1", "--out", profile)
    found = json_of(capsys, "solve", "blotto:soldiers=3", "--tol", "0.05", *play)
    assert found["status"] == "converged"
    assert found["options"] == {"power": 1.0}
    assert json_of(capsys, "evaluate", "blotto:soldiers=3", "--strategy", profile)["exploitability"] <= 0.05
    found = json_of(capsys, "solve", "kuhn", "--problem", "bonus", "--reward", "0/K_:b", "--bonus", "1/10")
    assert found["question"] == "bonus --reward 0/K_:b --bonus 1/10"
    assert found["lower"] == pytest.approx(found["objective"])
    assert main(["solve", "kuhn", "--problem", "bonus:reward=0/K_:b"]) == 2
    assert "bonus needs --bonus; expected a number of at least 0" in capsys.readouterr().err
    assert main(["solve", "kuhn", "--problem", "bonus:reward=0/K_:b,bonus=1", "--method", "fictitious-play"]) == 2
    assert "method fictitious-play cannot solve bonus" in capsys.readouterr().err
