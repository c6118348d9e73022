"""``treeplex patrol evaluate``: old plans on the same map, on changed ones and beside other plans."""

import csv
import json
from pathlib import Path

import pytest

from treeplex.cli import main

ROADS = "gate,mill\nmill,inn\nmill,bank\ninn,bank\ngate,inn\n"
DECLARED = """map = "roads.csv"
steps = 5
units = [{ base = "mill" }]
[[limits]]
text = "risk(unit 1) <= 1/4"
[[attackers]]
entries = ["gate"]
goals = { bank = 2.0 }
window = [0, 2]
"""


@pytest.fixture(autouse=True)
def plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("roads.csv").write_text(ROADS)
    Path("town.toml").write_text(DECLARED)
    Path("new.csv").write_text(ROADS.replace("mill,bank\n", ""))
    assert main(["patrol", "town.toml", "--out", "plan.npz"]) == 0
    capsys.readouterr()


def found(capsys, *arguments, status=0):
    assert main(["patrol", "evaluate", "plan.npz", *arguments, "--json", "-"]) == status
    return json.loads(capsys.readouterr().out)


def test_the_same_map(capsys):
    for how in ([], ["--map", "town.toml"], ["--map", "roads.csv"], ["--against", "plan.npz"]):
        record = found(capsys, *how)
        assert record["lost"] == []
        assert record["earns"] == pytest.approx(record["upper"], abs=1e-6)
        assert all(row["earns"] == pytest.approx(row["other_earns"], abs=1e-6) for row in record["targets"])


def test_a_closed_and_a_missing_street(capsys):
    closed = main(["patrol", "evaluate", "plan.npz", "--close", "mill -- bank", "--out", "hours.csv"])
    shown = capsys.readouterr().out
    assert closed in (0, 1)
    assert "moves that are not the same" in shown
    assert "the best attack on each goal, beside the best plan" in shown
    rows = list(csv.DictReader(Path("hours.csv").read_text().splitlines()))
    assert [row["from"] for row in rows] == [str(time) for time in range(6)]
    record = found(capsys, "--close", "mill -- bank", status=closed)
    assert record["lower"] <= record["upper"] <= 2.0
    assert (max(record["violations"].values()) > 1e-6) == (closed == 1)
    changed = found(capsys, "--map", "new.csv", status=closed)
    assert {one["reason"] for one in changed["lost"]} >= {"no street"}
    assert changed["earns"] == pytest.approx(record["earns"], abs=1e-9)  # no street is the same as a closed one


def test_a_changed_map_is_read_like_that_of_the_plan(capsys):
    lengths = {"gate,mill": 120, "mill,inn": 80, "mill,bank": 250, "inn,bank": 90, "gate,inn": 40}
    roads = "".join(f"{edge},{length}\n" for edge, length in lengths.items())
    Path("roads.csv").write_text("source,target,metres\n" + roads)
    Path("town.toml").write_text('speed = 100\nlength = "metres"\n' + DECLARED)
    assert main(["patrol", "town.toml", "--out", "plan.npz"]) == 0
    capsys.readouterr()
    assert found(capsys, "--map", "roads.csv")["lost"] == []
    Path("new.csv").write_text("source,target,metres\n" + roads.replace("90", "190"))
    Path("new.toml").write_text(Path("town.toml").read_text().replace("roads.csv", "new.csv"))
    changed, declared = (found(capsys, "--map", name, status=1) for name in ("new.csv", "new.toml"))
    assert "takes 2 instead of 1 steps" in {one["reason"] for one in changed["lost"]}
    assert changed | {"map": "new.toml"} == declared


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--close", "mill -- bnk"], "--close 1 is 'bnk', which is not a node of the map (did you mean bank?)"),
        (["--map", "none.toml"], "none.toml: no such file"),
        (["--against", "none.npz"], "none.npz: no such file"),
        (["--out", "hours.pdf"], "--out hours.pdf: expected a file name that ends with .csv"),
        (["--mpa", "town.toml"], "did you mean --map?"),
    ],
)
def test_input_that_is_rejected(arguments, said, capsys):
    assert main(["patrol", "evaluate", "plan.npz", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_other_units(capsys):
    other = DECLARED.replace('base = "mill"', 'base = "mill", name = "the car"').replace("unit 1", "the car")
    Path("other.toml").write_text(other)
    assert main(["patrol", "evaluate", "plan.npz", "--map", "other.toml"]) == 2
    assert "the plan is for unit 1, but the new patrol has the car" in capsys.readouterr().err


def test_a_street_is_closed_between_times_of_day(capsys):
    clocked = DECLARED.replace("steps = 5", 'begin = "22:00"\nend = "22:25"\nstep = "5 min"')
    Path("night.toml").write_text(clocked)
    assert main(["patrol", "night.toml", "--out", "plan.npz"]) == 0
    capsys.readouterr()
    whole = found(capsys, "--close", "mill -- bank", status=1)
    assert found(capsys, "--close", "mill -- bank@22:00..22:25", status=1)["lost"] == whole["lost"]
    early = found(capsys, "--close", "mill -- bank@22:05-22:10")
    late = found(capsys, "--close", "mill -- bank@22:20-22:25", status=1)
    assert early == found(capsys, "--close", "mill -- bank@1..2")
    assert early["lost"] != late["lost"]
    assert main(["patrol", "night.toml", "--close", "mill -- bank@22:01-22:05"]) == 2
    assert "22:01, which is not a whole number of steps of 5 min after 22:00" in capsys.readouterr().err
    assert main(["patrol", "town.toml", "--close", "mill -- bank@22:00-22:05"]) == 2
    assert "but the patrol has no clock" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--out", "days.ics", "--begin", "2026-12-01T09:30"], 2, "begins at 09:30, but the patrol at 22:00"),
        (["--out", "days.ics", "--minutes", "7"], 2, "minutes is 7, but the patrol has steps of 5 min"),
        (["--out", "days.csv", "--minutes", "5"], 0, "--minutes changes nothing in days.csv"),
        (["--minutes", "5"], 0, "--minutes changes nothing without --out"),
    ],
)
def test_times_that_contradict_the_clock(arguments, status, said, capsys):
    Path("night.toml").write_text(DECLARED.replace("steps = 5", 'begin = "22:00"\nend = "22:25"\nstep = "5 min"'))
    assert main(["patrol", "night.toml", "--out", "plan.npz"]) == 0
    capsys.readouterr()
    assert main(["patrol", "schedule", "plan.npz", "--days", "2", "--seed", "1", *arguments]) == status
    assert said in capsys.readouterr().err
