"""Intervals learned from logs of incidents: their coverage by enumeration, what counts, and what is refused."""

import datetime as dt
import json
import math
from dataclasses import replace
from itertools import product
from pathlib import Path

import networkx as nx
import pytest

from treeplex import GameFileError, InvalidGameError, load_game
from treeplex.cli import main
from treeplex.models.games.patrol import Attacker, Clock, Patrol, PatrolGame, Unit, read_incidents
from treeplex.solvers import solve_robust

GATES = ("north", "south", "east")
TOWN = """map = "roads.csv"
steps = 4
[[units]]
base = "mill"
[[attackers]]
entries = ["north", "south", "east"]
goals = { bank = 3.0, inn = 1.0 }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("roads.csv").write_text("north,mill\nsouth,mill\neast,inn\nmill,bank\ninn,bank\n")
    Path("town.toml").write_text(TOWN)
    return tmp_path


def patrol(gates=GATES, **declared):
    roads = nx.Graph([*((gate, "mill") for gate in gates), ("mill", "bank"), ("mill", "inn")])
    return Patrol(roads, 6, [Unit(base="mill")], [Attacker(list(gates), {"bank": 3.0, "inn": 1.0})], **declared)


def written(*rows):
    Path("log.csv").write_text("\n".join(rows) + "\n")
    return "log.csv"


@pytest.mark.parametrize("gates", [GATES[:2], GATES])
@pytest.mark.parametrize("number", [1, 6])
def test_intervals_hold_jointly_with_their_confidence(gates, number):
    """Every possible log of a few incidents, with its probability: the box contains the shares often enough."""
    place = patrol(gates)
    counts = [each for each in product(range(number + 1), repeat=len(gates)) if sum(each) == number]
    boxes = []
    for each in counts:
        rows = [gate for gate, many in zip(gates, each, strict=True) for _ in range(many)]
        boxes.append([(one.lower, one.upper) for one in read_incidents(written("entry", *rows), place, 0.8).learned])
    grid = [[n / 10 for n in each] for each in product(range(11), repeat=len(gates)) if sum(each) == 10]
    for shares in grid:
        covered = sum(
            math.factorial(number) * math.prod(s**n / math.factorial(n) for s, n in zip(shares, each, strict=True))
            for each, box in zip(counts, boxes, strict=True)
            if all(low <= s <= high for s, (low, high) in zip(shares, box, strict=True))
        )
        assert covered >= 0.8 - 1e-12
    assert any(box != [(0.0, 1.0)] * len(gates) for box in boxes)  # some logs say something


def test_more_incidents_make_intervals_narrower_and_plans_better():
    place, values = patrol(GATES[:2]), []
    for number in (5, 50, 500):
        log = read_incidents(written("entry", *(["north"] * 4 * number), *(["south"] * number)), place)
        values.append(solve_robust(PatrolGame(replace(place, uncertainty=log.uncertainty))).value)
        assert {one.name: one.count for one in log.learned} == {"north": 4 * number, "south": number}
    assert values[0] >= values[1] - 1e-9
    assert values[1] >= values[2] - 1e-9


def test_dates_times_and_empty_cells_decide_what_counts():
    night = patrol(clock=Clock("22:00", "30 min"))  # until 01:00
    rows = ["date;time;Goal;from", "2026-01-05;22:10;bank;north", "2026-01-06;03:00;bank;south"]
    rows += ["2026-02-01;0:30;inn;", "2025-12-31;23:00;inn;east", "2026-01-07;;bank;east"]
    log = read_incidents(written(*rows), night, since=dt.date(2026, 1, 1), until=dt.date(2026, 2, 1))
    assert log.incidents == 3
    assert log.skipped == {"times outside the patrol": 1, "other dates": 1}
    assert {one.name: one.count for one in log.learned} == {"north": 1, "south": 0, "east": 1, "bank": 2, "inn": 1}
    moments = written("time,entry", "2026-01-05T22:10,north", "2026-01-05 12:00:30,north")
    assert read_incidents(moments, night).skipped == {"times outside the patrol": 1}
    assert read_incidents(moments, patrol()).incidents == 2


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (["entri", "north"], "line 1: the header is 'entri' (did you mean entry?); expected a column type"),
        (["entry", "nort"], "line 2: entry is 'nort' (did you mean north?), expected north, south or east"),
        (["entry", "bank"], "line 2: entry is 'bank', expected north, south or east"),
        (["type", "gang"], "the patrol has a single type of attackers, so its probability is 1"),
        (["entry,from", "north,north"], "line 1: two columns are called entry or from"),
        (["entry,date", "north"], "line 2: the row has 1 cells, expected 2"),
        (["entry,date", "north,May"], "line 2: the moment is 'May', expected a date such as 2026-05-04"),
        (["entry,time", "north,25:10"], "line 2: the moment is '25:10', expected a date"),
        ([""], "line 1: the header is ''"),
    ],
)
def test_wrong_logs_are_refused(rows, words):
    with pytest.raises(GameFileError) as error:
        read_incidents(written(*rows), patrol())
    assert str(error.value).startswith("log.csv: ")
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_other_wrong_calls_are_refused():
    with pytest.raises(InvalidGameError, match="confidence is 1"):
        read_incidents(written("entry", "north"), patrol(), 1)
    with pytest.raises(GameFileError, match="has no date"):
        read_incidents(written("entry", "north"), patrol(), since=dt.date(2026, 1, 1))
    with pytest.raises(GameFileError, match=r"none\.csv: "):
        read_incidents("none.csv", patrol())


def test_the_command_writes_a_declaration(capsys):
    rows = ["entry,goal", *["north,bank"] * 9, *["east,inn"] * 4, "pier,bank"]
    learn = ["patrol", "learn", written(*rows), "--map", "town.toml"]
    assert main(learn) != 0
    assert "entry is 'pier'" in capsys.readouterr().err
    learn.append("--skip-unknown")
    assert main(learn) == 0
    printed = capsys.readouterr()
    assert "1 of 14 incidents do not count: names that the patrol does not have" in printed.err
    assert main([*learn, "--out", "learned.toml", "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["incidents"] == 13
    assert Path("learned.toml").read_text().removeprefix(TOWN.rstrip() + "\n\n") in printed.out
    game = load_game("learned.toml")
    for one in found["intervals"]:
        assert getattr(game.patrol.uncertainty, one["table"])[one["name"]] == [one["lower"], one["upper"]]
    assert main(["patrol", "learned.toml", "--robust", "worst", "--json", "-"]) == 0
    solved = json.loads(capsys.readouterr().out)
    assert solved["value"] == pytest.approx(solve_robust(game).value, abs=1e-9)
    # Attackers who choose freely gain at least as much.
    assert main(["patrol", "town.toml", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["value"] >= solved["value"] - 1e-7


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "--map is missing"),
        (["--map", "town.toml", "--out", "other/learned.toml"], "expected a file in the folder of town.toml"),
        (["--map", "town.toml", "--out", "learned.json"], "expected a file name that ends with .toml"),
        (["--map", "town.toml", "--out", "town.toml"], "name the same file"),
        (["--map", "town.toml", "--since", "May"], "--since 'May': expected a date"),
        (["--map", "town.toml", "--confidence", "95"], "expected a number between 0 and 1"),
        (["--map", "known.toml", "--out", "learned.toml"], "known.toml already has uncertainty.entries"),
    ],
)
def test_wrong_commands_are_refused(capsys, arguments, words):
    Path("known.toml").write_text(f"{TOWN}[uncertainty]\nentries = {{ north = [0.1, 0.9] }}\n")
    Path("other").mkdir()
    assert main(["patrol", "learn", written("entry", "north"), *arguments]) != 0
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: ")
    assert words in error


def test_columns_with_names_like_known_ones_are_noted(capsys):
    log = read_incidents(written("entry,tarqet,weather", "north,bank,rain"), patrol())
    assert log.notes == ("the column 'tarqet' is not read (did you mean target?)",)
    assert main(["patrol", "learn", written("entry"), "--map", "town.toml"]) == 0
    assert "no incident counts: the intervals say nothing" in capsys.readouterr().err
