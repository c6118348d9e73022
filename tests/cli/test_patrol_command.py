"""``treeplex patrol`` and ``treeplex patrol schedule``: what they find, write and refuse, and the page in a browser."""

import csv
import io
import json
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from chromium import opened, overflows
from effort import thorough

from treeplex.cli import main
from treeplex.models.games.patrol.plan_file import PatrolPlan

ROADS = "gate,mill\nmill,inn\nmill,bank\ninn,bank\ngate,inn\n"
DECLARED = """map = "roads.csv"
steps = 5
[[limits]]
text = "risk(unit 1) <= 1/4"
[[units]]
base = "mill"
[[attackers]]
entries = ["gate"]
goals = { bank = 2.0 }
window = [0, 2]
"""
MAP = ["--entry", "gate", "--goal", "bank=2", "--unit", "base=mill", "--steps", "5", "--window", "0..2"]
LIMIT = ["--limit", "risk(unit 1) <= 1/4"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("roads.csv").write_text(ROADS)
    Path("town.toml").write_text(DECLARED)
    Path("closed.toml").write_text(f'{DECLARED}[[closures]]\nat = "inn"\n')
    return tmp_path


def found(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict:
    assert main([*arguments, "--json", "-"]) == status
    said = capsys.readouterr()
    assert all(line.startswith("note: ") for line in said.err.splitlines())
    return json.loads(said.out)


def rows_of(path: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(Path(path).read_text())))


def test_options_and_a_file_declare_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    by_options = found(capsys, "patrol", "roads.csv", *MAP, *LIMIT)
    by_file = found(capsys, "patrol", "town.toml")
    as_game = found(capsys, "solve", "town.toml")
    assert by_options["status"] == "optimal"
    assert by_options["value"] == pytest.approx(by_file["value"], abs=1e-7)
    assert as_game["value"] == pytest.approx(by_file["value"], abs=1e-7)
    assert by_file["question"].startswith("Where should unit 1 be, and when, so that attackers from gate to bank")
    assert by_file["multipliers"].keys() == {"risk(unit 1) <= 1/4"}
    for route in by_file["routes"]:
        assert 0.0 < route["probability"] <= 1.0 + 1e-9
        assert route["stops"][0] in [[0, "mill"], [0, "gate"], [1, "gate"], [2, "gate"]]


def test_a_plan_its_schedule_and_its_pictures(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    assert main(["patrol", "town.toml", "--out", "plan.npz", "--plot", "plan.svg", "--html", "plan.html"]) == 0
    said = capsys.readouterr().out
    assert "risk(unit 1) <= 1/4" in said
    assert all(name in said for name in ("plan.npz", "plan.svg", "plan.html"))
    assert main(["patrol", "town.toml", "--plot", "plan.gif"]) == 0
    assert Path("plan.gif").read_bytes()[:3] == b"GIF"
    assert main(["evaluate", "town.toml", "--strategy", "plan.npz", "--tol", "1"]) == 0

    month = ["patrol", "schedule", "plan.npz", "--days", "400", "--seed", "7"]
    capsys.readouterr()
    record = found(capsys, *month, "--out", "month.csv")
    assert record["agrees"]
    (limit,) = record["limits"]
    assert limit["expected"] <= 0.25 + 1e-6
    rows = rows_of("month.csv")
    assert {row["day"] for row in rows} == {str(day) for day in range(1, 401)}
    drawn = [found(capsys, "patrol", "schedule", "plan.npz")["seed"] for _ in range(2)]
    assert drawn[0] != drawn[1]
    one = found(capsys, *month, "--day", "3", "--out", "day.csv")
    assert one["limits"] == record["limits"]  # of the month, of which no more is told
    assert rows_of("day.csv") == [row for row in rows if row["day"] == "3"]
    assert main([*month, "--day", "3", "--out", "day.ics", "--begin", "2026-05-04T08:00", "--minutes", "5"]) == 0
    calendar = Path("day.ics").read_text()
    assert "DTSTART:20260506T080000" in calendar
    assert calendar.count("BEGIN:VEVENT") == 1


def test_what_if(capsys: pytest.CaptureFixture[str]) -> None:
    changes = [("units",), ("close mill -- bank",), ("risk(unit 1) <= 1",)]
    asked = [word for (change,) in changes for word in ("--what-if", change)]
    rows = {row["change"]: row for row in found(capsys, "patrol", "town.toml", *asked)["what_if"]}
    assert list(rows) == ["unit mill", "without unit 1", "close mill -- bank", "risk(unit 1) <= 1"]
    assert rows["unit mill"]["worth"] > 0.1
    assert rows["without unit 1"]["value"] == pytest.approx(2.0)  # what the bank is worth
    assert rows["risk(unit 1) <= 1"]["worth"] >= -1e-8
    assert main(["patrol", "town.toml", "--what-if", "units"]) == 0
    assert "worth to the units" in capsys.readouterr().out


def test_limits_that_exclude_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--limit", "visits(bank) >= 6 as often", "--out", "plan.npz", "--html", "plan.html"]
    record = found(capsys, "patrol", "town.toml", *arguments, status=1)
    assert record["status"] == "infeasible"
    assert "often" in record["conflict"]
    often = {one["constraint"]: one for one in record["relaxations"]}["often"]
    assert often["bound"] == 6.0
    assert often["together"] == pytest.approx(6.0 - often["loosen"])
    most = f"visits(bank) >= {often['together'] - 1e-6} as often"
    assert found(capsys, "patrol", "town.toml", "--limit", most)["status"] == "optimal"
    assert record["routes"] is None
    assert not Path("plan.npz").exists()
    page = Path("plan.html").read_text()
    assert "There is no such strategy" in page
    assert "loosen it alone by" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["roads.csv"], "--entry is missing, expected one such as --entry 'west gate'"),
        (
            ["roads.csv", *MAP, "--unit", "base=mil"],
            "--unit 2: base is 'mil', which is not a node of the map (did you mean mill?)",
        ),
        (["roads.csv", *MAP, "--unit", "bse=mill"], "unknown key 'bse' (did you mean base?); expected base"),
        (["roads.csv", *MAP, "--unit", "mill"], "--unit 'mill': expected base=NODE"),
        (["roads.csv", *MAP, "--entry", "gat"], "--entry is 'gat', which is not a node of the map (did you mean gate"),
        (["roads.csv", *MAP, "--goal", "bank=much"], "--goal bank: much, expected a number"),
        (["roads.csv", *MAP, "--window", "3..9"], "--window is (3, 9), expected a first and a last time"),
        (["roads.csv", *MAP, "--window", "3"], "--window: '3', expected a first and a last time, such as 3..8"),
        (["roads.csv", *MAP, "--close", "bank -- gate"], "--close 1 is 'bank -- gate', but no edge leads"),
        (["roads.csv", *MAP, "--limit", "risk(unit 2) <= 1"], "unit 2"),
        (["roads.csv", *MAP, "--what-if", "without unit 2"], "which is not a unit (did you mean unit 1?)"),
        (["roads.csv", *MAP, "--what-if", "risc <= 1"], "names no functional 'risc' (did you mean risk?)"),
        (["roads.csv", *MAP, "--what-if", "more"], "what if: 'more', expected unit NODE, without UNIT, close PLACE"),
        (
            ["closed.toml", "--close", "bnak"],
            "--close 1 is 'bnak', which is not a node of the map (did you mean bank?)",
        ),
        (["town.toml", "--entry", "gate"], "--entry is for a map, but town.toml declares a patrol"),
        (["town.toml", "--out", "plan.json"], "a profile is written as .npz"),
        (["none.csv", *MAP], "none.csv: no such file"),
        (["schedule", "roads.csv"], "roads.csv is not the plan of a patrol"),
        (["schedule", "none.npz"], "none.npz: no such file"),
        (["schedule", "roads.csv", "--day", "31"], "--day is 31, expected a day from 1 to 30"),
        (["schedule", "roads.csv", "--out", "days.pdf"], "expected a file name that ends with .csv or .ics"),
        (
            ["schedule", "roads.csv", "--begin", "noon"],
            "--begin 'noon': expected a local time such as 2026-05-04T08:00",
        ),
        (["schedule", "roads.csv", "--begin", "2026-05-04T08:00Z"], "expected a local time such as 2026-05-04T08:00"),
        (["schedule", "roads.csv", "--dayz", "3"], "did you mean --day"),
        (
            ["lern", "log.csv"],
            "'lern' is neither a file nor a command of treeplex patrol (did you mean treeplex patrol learn?)",
        ),
        (["rooster", "plan.npz"], "did you mean treeplex patrol roster?"),
        (["town", *MAP], "the suffix of the map is ''"),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patrol", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    errors = [line for line in shown.err.splitlines() if not line.startswith("note: ")]
    assert len(errors) == 1
    assert errors[0].startswith("error: ")
    assert said in errors[0]


@thorough
def test_the_page_in_a_browser(folder: Path, chromium: Any) -> None:
    assert main(["patrol", "town.toml", "--out", "plan.npz", "--html", "plan.html", "--what-if", "unit inn"]) == 0
    assert (folder / "plan.html").stat().st_size < 200_000
    with opened(chromium, folder / "plan.html") as page:
        slider, said = page.locator(".patrol input[type=range]"), page.locator(".patrol output")
        rows = page.locator(".patrol tbody tr")
        assert said.inner_text() == "step 0 of 5"
        assert rows.first.inner_text().split("\t")[1].startswith("mill 100.0 %")
        slider.focus()
        page.keyboard.press("ArrowRight")
        assert said.inner_text() == "step 1 of 5"
        assert page.locator(".patrol svg g.layers g").first.locator("circle").count() >= 1
        slider.fill("5")
        assert said.inner_text() == "step 5 of 5"
        plan = PatrolPlan.load(folder / "plan.npz")
        risk = plan.game.functionals["risk(unit 1)"].value(plan.profile)
        assert f"mill {100 * (1 - risk):.1f} %" in rows.first.inner_text()
        page.get_by_label("the whole day").check()
        assert said.inner_text() == "the whole day"
        page.get_by_label("unit 1", exact=True).uncheck()
        assert rows.first.is_hidden()
        page.get_by_label("all names").check()
        assert page.locator(".patrol text.minor").first.is_visible()
        play = page.locator(".patrol button")
        play.click()
        assert play.inner_text() == "Pause"
        page.wait_for_function("document.querySelector('.patrol output').textContent !== 'step 5 of 5'")
        play.click()
        assert "unit inn" in page.locator("table", has_text="worth to the units").inner_text()
        assert page.locator("h1").inner_text().endswith("?")
    with opened(chromium, folder / "plan.html", 390, color_scheme="dark") as page:
        assert not overflows(page)


def test_the_town_is_what_the_example_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples"))
    import networkx as nx
    import town

    shipped = resources.files("treeplex.models.games.patrol").joinpath("town.graphml").read_text(encoding="utf-8")
    graph = nx.parse_graphml(shipped)
    assert (len(graph), graph.number_of_edges()) == (50, 80)
    assert nx.is_connected(graph)
    assert len({name for *_, name in graph.edges(data="name")}) == 80
    made = town.town()
    assert set(made) == set(graph)
    for one, other, street in made.edges(data=True):
        assert graph.edges[one, other] == street


def test_plans_are_exported_and_the_best_attacks_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["patrol", "town.toml", "--out", "plan.npz", "--json", "found.json"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    found = json.loads(Path("found.json").read_text())
    assert "the best attack on each goal, the most profitable first who goal earns detections" in said
    (attack,) = found["attacks"]
    assert attack["earns"] == pytest.approx(found["value"])
    assert [attack["who"], attack["goal"], attack["stops"][-1][1]] == ["attacker 1", "bank", "bank"]
    assert main(["patrol", "export", "plan.npz", "plan.csv", "--json", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["streets"] == 5
    assert Path("plan.csv").read_text().startswith("what,place,kind,step,amount")
    for words, reason in (
        (["plan.npz", "plan.geojson"], "the map has no positions, expected x and y or lon and lat of every node"),
        (["plan.npz", "plan.kml"], "plan.kml: a plan with suffix '.kml', expected .geojson, .gpkg or .csv"),
        (["plan.npz", "plan.npz"], "PLAN and FILE name the same file, plan.npz"),
        (["none.npz", "plan.csv"], "none.npz: no such file"),
    ):
        assert main(["patrol", "export", *words]) == 2
        assert reason in capsys.readouterr().err
