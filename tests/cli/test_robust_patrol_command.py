"""``treeplex patrol --robust``: what it prints and writes, and what it refuses."""

import json
from pathlib import Path

import pytest

from treeplex import load_game
from treeplex.cli import main
from treeplex.models.games.patrol import PatrolPlan
from treeplex.solvers import case_outcomes, solve_patrol, solve_robust

DECLARED = """map = "roads.csv"
steps = 5
[[units]]
base = "mill"
[[limits]]
text = "risk(unit 1) <= 1/4"
[[attackers]]
entries = ["gate"]
goals = { bank = 2.0, inn = 1.0 }
window = [0, 2]
"""
UNCERTAIN = """[uncertainty]
goals = { bank = [1.0, 3.0] }
[[scenarios]]
name = "usual"
probability = 0.8
[[scenarios]]
name = "market day"
probability = 0.2
goals = { inn = 4.0 }
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")
    Path("roads.csv").write_text("gate,mill\nmill,inn\nmill,bank\ninn,bank\ngate,inn\n")
    Path("town.toml").write_text(DECLARED + UNCERTAIN)
    Path("known.toml").write_text(DECLARED)


def found(capsys, *arguments, status=0):
    assert main(["patrol", *arguments, "--json", "-"]) == status
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("robust", ["worst", "cvar:0.6", "regret"])
def test_the_command_solves_what_python_solves(capsys, robust):
    pytest.importorskip("matplotlib")
    record = found(capsys, "town.toml", "--robust", robust, "--out", "plan.npz", "--plot", "plan.svg")
    plan = solve_robust(load_game("town.toml"), robust)
    assert record["robust"] == robust
    assert record["value"] == pytest.approx(plan.value, abs=1e-9)
    assert record["lower"] <= record["value"] + 1e-9
    assert record["worst_case"] == max(record["cases"], key=lambda one: one["regret"] or one["earns"])["case"]
    assert [one["case"] for one in record["cases"]] == [one.case for one in plan.outcomes]
    assert "risk(unit 1) <= 1/4" in record["multipliers"]
    saved = PatrolPlan.load("plan.npz")
    outcomes = case_outcomes(saved.game, saved.profile, "regret" if robust == "regret" else "worst")
    assert [one.earns for one in outcomes] == pytest.approx([one["earns"] for one in record["cases"]], abs=1e-7)
    assert main(["patrol", "schedule", "plan.npz", "--days", "3", "--seed", "1"]) in (0, 1)


def test_the_measure_of_the_file_is_used_unless_another_is_given(capsys):
    Path("town.toml").write_text(DECLARED + UNCERTAIN.replace("[uncertainty]", '[uncertainty]\nrobust = "regret"'))
    assert found(capsys, "town.toml")["robust"] == "regret"
    assert found(capsys, "town.toml", "--robust", "worst")["robust"] == "worst"


def test_without_a_measure_the_plan_is_for_the_declared_values(capsys):
    record = found(capsys, "town.toml")
    assert record["robust"] is record["worst_case"] is record["cases"] is None
    assert record["value"] == pytest.approx(solve_patrol(load_game("known.toml")).value, abs=1e-9)
    assert record["notes"][-1].startswith("the plan is for the declared values")


def test_the_report_and_the_page_name_the_cases(capsys):
    changes = ["--what-if", "unit inn"]
    assert main(["patrol", "town.toml", "--robust", "cvar:0.5", *changes, "--html", "page.html"]) == 0
    printed, page = capsys.readouterr().out, Path("page.html").read_text()
    for text in ("attackers earn in each scenario", "market day", "weight(market day) <= 0.4", "unit inn"):
        assert text in printed
    assert "In the worst scenarios, whose total probability is 0.5," in page
    assert "The cases" in page
    assert "Changes and their worth" in page
    assert main(["patrol", "town.toml", "--robust", "regret", "--html", "page.html"]) == 0
    assert "more than against the best plan for this case" in Path("page.html").read_text()


def test_limits_that_cannot_be_met_are_named(capsys):
    for robust in ("worst", "regret"):
        record = found(capsys, "town.toml", "--robust", robust, "--limit", "visits(bank) >= 9", status=1)
        assert record["status"] == "infeasible"
        assert record["cases"] == []
        assert record["attacks"] is None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["town.toml", "--robust", "wurst"], "--robust is 'wurst' (did you mean worst?), expected worst, cvar:LEVEL"),
        (["town.toml", "--robust", "cvar:9"], "expected cvar:LEVEL with a level from 0 to 1"),
        (["known.toml", "--robust", "worst"], "--robust is for a file (.toml) with [uncertainty] or [[scenarios]]"),
        (["town.toml", "--robust", "regret", "--what-if", "unit inn"], "--what-if compares what attackers earn"),
        (["typo.toml"], "typo.toml: line 12: uncertainty: unknown key 'goal' (did you mean goals?); expected goals"),
        (["node.toml"], "node.toml: line 12: uncertainty.goals.bnk is 'bnk', which is not a node of the map"),
        (["ends.toml"], "ends.toml: line 12: uncertainty.goals: bank is [1.0, 1.5], which does not contain"),
        (["sum.toml"], "sum.toml: line 15: the probabilities of scenarios sum to 1.1, expected 1"),
        (["name.toml"], "name.toml: line 17: scenarios[2]: unknown key 'nam' (did you mean name?)"),
        (["list.toml"], "list.toml: line 1: uncertainty is 3, expected a table"),
    ],
)
def test_mistakes_are_told_in_a_line(capsys, arguments, words):
    whole = DECLARED + UNCERTAIN
    Path("typo.toml").write_text(whole.replace("goals = { bank = [", "goal = { bank = ["))
    Path("node.toml").write_text(whole.replace("bank = [", "bnk = ["))
    Path("ends.toml").write_text(whole.replace("3.0]", "1.5]"))
    Path("sum.toml").write_text(whole.replace("0.8", "0.9"))
    Path("name.toml").write_text(whole.replace('name = "market', 'nam = "market'))
    Path("list.toml").write_text("uncertainty = 3\n" + DECLARED)
    assert main(["patrol", *arguments]) != 0
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert error.startswith("error: ")
    assert words in error
