"""``treeplex doctor``."""

import json

import numba
import pytest

from treeplex.cli import doctor, main
from treeplex.solvers.distributed import examination


def test_everything_works_here(capsys):
    assert main(["doctor", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert all(test["passed"] for test in record["tests"])
    assert len(record["tests"]) == 5
    assert record["memory"] > 0


def test_what_fails_is_said(capsys, monkeypatch):
    def broken():
        raise ImportError("no such library")

    monkeypatch.setattr(doctor, "_TESTS", {"broken": broken, "wrong": lambda: 1.0, "right": lambda: 0.0})
    assert main(["doctor"]) == 1
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if line.startswith("broken")]
    assert "FAILED" in line
    assert "no such library" in line
    assert [line.split()[1] for line in lines if line.startswith(("wrong", "right"))] == ["FAILED", "passed"]


def test_loops_that_are_not_compiled_are_said(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_TESTS", {})
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert main(["doctor"]) == 0
    assert "not compiled: NUMBA_DISABLE_JIT is set" in " ".join(capsys.readouterr().out.split())


def test_without_a_command_help_is_shown(capsys):
    assert main([]) == 0
    assert "doctor" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["docter"], ["doctor", "kuhn"]])
def test_mistakes_are_one_line(words, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_workers_are_examined(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_TESTS", {})
    assert main(["doctor", "--on", "local:2", "--json", "-"]) == 0
    cluster = json.loads(capsys.readouterr().out)["cluster"]
    assert cluster["verdict"].startswith("ready: 2 workers on local:2, ")
    assert len({worker["process"] for worker in cluster["workers"]}) == 2
    assert all(0 < worker["available"] < worker["memory"] for worker in cluster["workers"])
    assert not any(worker["differences"] for worker in cluster["workers"])


def test_other_versions_are_said(capsys, monkeypatch):
    monkeypatch.setattr(doctor, "_TESTS", {})
    here = examination.describe()
    monkeypatch.setattr(examination, "describe", lambda: here | {"numpy": "1.0"})
    assert main(["doctor", "--on", "local:1"]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "not ready: 1 worker on local:1" in shown
    assert f"numpy {here['numpy']} (here 1.0)" in shown


def test_a_place_that_is_none_is_one_line(capsys):
    assert main(["doctor", "--on", "daks://host:8786"]) == 2
    assert "--on daks://host:8786 (did you mean dask?): expected local:N" in capsys.readouterr().err
