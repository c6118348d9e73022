"""``treeplex patrol roster``: its files, its JSON and the input that it rejects."""

import csv
import json
from pathlib import Path

import pytest

from treeplex.cli import main

MAP = ["--entry", "gate", "--goal", "bank=2", "--unit", "base=mill", "--unit", "base=inn", "--steps", "5"]


@pytest.fixture(autouse=True)
def plan(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("roads.csv").write_text("gate,mill\nmill,inn\nmill,bank\ninn,bank\ngate,inn\n")
    assert main(["patrol", "roads.csv", *MAP, "--out", "plan.npz"]) == 0
    capsys.readouterr()


def test_a_roster_in_files_and_as_json(capsys):
    year = ["patrol", "roster", "plan.npz", "--days", "70", "--crews", "red, green, blue", "--seed", "7"]
    assert main([*year, "--shifts-per-week", "5", "--out", "year.csv", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["crews"] == ["red", "green", "blue"]
    assert record["deviation"] < 1
    assert [work["name"] for work in record["work"]] == ["shifts", "travel"]
    assert all(work["difference"] == work["bound"] for work in record["work"])
    assert 0 <= record["foresight"]["yesterday"] < 0.2
    rows = list(csv.DictReader(Path("year.csv").read_text().splitlines()))
    assert {row["crew"] for row in rows} == {"red", "green", "blue"}
    assert main([*year, "--shifts-per-week", "5", "--crew", "red", "--out", "red.csv"]) == 0
    shown = capsys.readouterr().out
    assert "red.csv" in shown
    assert "proven least difference" in shown
    own = list(csv.DictReader(Path("red.csv").read_text().splitlines()))
    assert own == [row for row in rows if row["crew"] == "red"]
    assert main([*year, "--out", "year.html", "--begin", "2027-01-01T08:00"]) == 0
    assert "Fri 2027-01-01" in Path("year.html").read_text()


def test_streets_that_are_repeated(capsys):
    two = ["patrol", "roster", "plan.npz", "--days", "20", "--crews", "2", "--seed", "7", "--stratify", "none"]
    capsys.readouterr()
    assert main([*two, "--same-street", "2"]) in (0, 1)
    assert "runs of 2 days with one street" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--out", "year.pdf"], "--out year.pdf: expected a file name that ends with .csv, .ics or .html"),
        (["--out", "-"], "cannot be written to standard output"),
        (["--stratify", "weekly"], "--stratify is 'weekly', expected one of all, month, week, none"),
        (["--crews", "1"], "--crews has 1 for 2 units, expected at least 2"),
        (["--crew", "red"], "--crew is 'red', expected one of crew 1, crew 2"),
        (["--fair", "trvel"], "did you mean travel?"),
        (["--days", "0"], "--days is 0, expected a whole number from 1"),
        (["--shifts-per-week", "3"], "--shifts-per-week is 3, but 14 shifts in 7 days need at least 7"),
        (["--begin", "noon"], "expected a local time such as 2026-05-04T08:00"),
        (["--stratfy", "all"], "did you mean --stratify?"),
    ],
)
def test_input_that_is_rejected(arguments, said, capsys):
    assert main(["patrol", "roster", "plan.npz", "--seed", "1", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
