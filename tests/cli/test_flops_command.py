"""Hold'em from the blinds to the river on the command line: strategies before the flop, evaluated again."""

import json
from pathlib import Path

import pytest

from treeplex.cli import main

GAME = """
flops = ["AsAhAd:4"]
deck = "short"
stack = 4
raises = 1
openings = [2]
limps = false
[ranges]
sb = "KK, T9s"
bb = "QQ, J9s"
[bets]
bet = "100%"
raise = "a"
[bets.turn]
bet = ""
[bets.river]
bet = ""
"""


def test_strategies_are_certified_again_and_on_other_flops(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("game.toml").write_text(GAME, encoding="utf-8")
    solving = ["solve", "game.toml", "--method", "dcfr", "--tol", "0.001", "--out", "game.npz", "--json", "-"]
    assert main(solving) == 0
    solved = json.loads(capsys.readouterr().out)

    def evaluated(*options, status=0):
        assert main(["evaluate", "game.toml", "--strategy", "game.npz", *options, "--json", "own.json"]) == status
        assert "whatever the play after the flop" in capsys.readouterr().out
        return json.loads(Path("own.json").read_text(encoding="utf-8"))

    own = evaluated()
    assert own["least_exploitability"] <= solved["exploitability"]
    assert own["lower"] < solved["upper"]
    assert own["upper"] > solved["lower"]
    assert (own["status"], own["flops"], own["losses"]) == ("converged", ["AsAhAd:4"], None)
    other = evaluated("--other-flops", "6s6h6d", "--tol", "0.01", "--max-iterations", "9", status=1)
    assert other["flops"] == ["6s6h6d:1"]
    assert 0.05 < other["least_exploitability"] <= other["exploitability"] < 0.2
    assert other["bounds"][0][0] == other["lower"]
    assert not other["passed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kuhn", "--strategy", "uniform", "--other-flops", "3"], "--other-flops: expected hold'em from the blinds"),
        (["game.toml", "--strategy", "uniform", "--seed", "3"], "--seed 3 is for random flops"),
        (["game.toml", "--strategy", "uniform", "--log", "game.toml"], "--log: not for strategies that have only"),
        (["game.toml", "--strategy", "uniform", "--other-flops", "0"], "0 flops, expected from 1 to 7,140"),
    ],
)
def test_options_that_do_not_fit_are_named(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("game.toml").write_text(GAME, encoding="utf-8")
    assert main(["evaluate", *arguments]) == 2
    assert message in capsys.readouterr().err
