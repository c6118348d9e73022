"""``treeplex warmup``."""

import json

import pytest

from treeplex.cli import main, warmup
from treeplex.solvers.progress import waiting_for


def test_loops_are_compiled_or_there(capsys):
    assert main(["warmup", "regret", "sampling", "--json", "-"]) == 0
    loops = json.loads(capsys.readouterr().out)["loops"]
    assert [one["name"] for one in loops] == ["regret", "sampling"]
    assert main(["warmup", "regret"]) == 0
    assert "already compiled" in capsys.readouterr().out


@pytest.mark.slow
def test_every_loop_is_run(capsys):
    assert main(["warmup", "--json", "-"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["loops"]] == list(warmup._LOOPS)


def test_what_is_compiled_is_said(capsys, monkeypatch):
    def compiling():
        with waiting_for("compiling, first time only"):
            pass

    monkeypatch.setattr(warmup, "_LOOPS", {"new": compiling, "old": lambda: None})
    assert main(["warmup"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[:2] for line in lines if line[:1] in (["new"], ["old"])] == [["new", "compiled"], ["old", "already"]]


def test_an_unknown_loop_is_refused(capsys):
    assert main(["warmup", "regrets"]) == 2
    assert "did you mean regret?" in capsys.readouterr().err
