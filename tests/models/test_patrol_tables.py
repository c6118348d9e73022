"""Tables of detections, and prices by place: against what plans say by other ways."""

import json
from collections import defaultdict
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from patrol_oracle import random_patrol
from random_profiles import random_profile

from treeplex import InvalidStrategyError, UnsupportedProblemError
from treeplex.cli import main
from treeplex.models.games.patrol import (
    Attacker,
    Clock,
    PatrolGame,
    Sensor,
    Unit,
    attacks,
    detection_table,
    plan_features,
    schedule,
)
from treeplex.solvers import solve_patrol

TOWN = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
nx.set_node_attributes(TOWN, {name: {"x": n % 2, "y": n // 2} for n, name in enumerate(TOWN)})
nx.set_edge_attributes(TOWN, 2, "steps")


def patrol(**changes):
    declared = {
        "steps": 8,
        "units": [Unit("mill", detection=0.6), Unit("inn")],
        "attackers": [Attacker(["gate"], {"bank": 2.0, "inn": 1.0})],
        "sensors": [Sensor("bank", 0.3), Sensor("gate -- inn", 0.2)],
        "limits": ["travel <= 3", "coverage(inn, 2..6) >= 0.3"],
        "clock": Clock("22:00", "20 min"),
    }
    return PatrolGame(TOWN, **(declared | changes))


@pytest.fixture(scope="module")
def solved():
    return solve_patrol(patrol())


@pytest.mark.parametrize("seed", range(6))
def test_detections_add_up_to_those_of_the_attack(seed):
    game, _ = random_patrol(seed, most=2000)
    profile = random_profile(game, seed)
    sums = defaultdict(float)
    for one in detection_table(game, profile):
        assert 0.0 < one.probability <= min(1.0, one.detections) + 1e-12
        sums[one.goal, one.who] += one.detections
    for one in attacks(game, profile):
        if one.route is not None:
            assert sums[one.goal, one.who] == pytest.approx(one.detections, abs=1e-9)


def test_probabilities_are_the_shares_of_days_on_which_someone_is_there():
    game = patrol(sensors=[], units=[Unit("mill"), Unit("inn")])
    profile = random_profile(game, 1)
    days = 3000
    there = defaultdict(set)
    for row in schedule(game, profile, days=days, seed=2).rows():
        stays = row["from"] == row["to"]
        for time in range(row["leaves"] + 1, row["arrives"] + 1) if stays else [row["arrives"]]:
            there[row["to"], time].add(row["day"])
    found = [one for one in detection_table(game, profile) if one.kind == "place"]
    assert found
    for one in found:
        (time,) = [step for step in range(9) if game.patrol.shown_time(step) == one.time]
        share = len(there[one.place, time]) / days
        error = np.sqrt(one.probability * (1.0 - one.probability) / days)
        assert abs(share - one.probability) <= 5.0 * error + 1e-9


def test_tables_by_hour_as_csv_and_as_frames(solved):
    table = detection_table(solved.problem.game, solved.profile)
    total = sum(one.detections for one in table)
    by_hour = table.by("goal", "hour")
    assert sum(row["detections"] for row in by_hour) == pytest.approx(total)
    assert {row["hour"] for row in by_hour} <= {"22:00", "23:00", "00:00"}
    lines = table.to_csv().splitlines()
    assert lines[0] == "goal,who,place,kind,time,hour,probability,detections"
    assert len(lines) == 1 + len(table.contacts)
    assert str(table).splitlines()[0].split() == ["time", "place", "probability", "detections", "goal", "who"]
    frame = pytest.importorskip("pandas") and table.to_pandas()
    assert frame.detections.sum() == pytest.approx(total)
    with pytest.raises(InvalidStrategyError, match="by: 'our', expected one of goal, who, place"):
        table.by("our")


def test_tables_need_fixed_routes(solved):
    game = patrol(failure=0.1, limits=[])
    with pytest.raises(UnsupportedProblemError, match=r"moves fail with probability 0\.1, but a table"):
        detection_table(game, random_profile(game, 0))
    with pytest.raises(InvalidStrategyError, match="strategy of the attackers"):
        detection_table(solved.problem.game, solved.profile[0])


def test_prices_by_place_add_up_to_price_times_use(solved):
    game, prices = solved.problem.game, solved.multipliers
    assert max(prices.values()) > 0.0
    found = plan_features(game, solved.profile, game.constraints, prices)["features"]
    by_kind = defaultdict(float)
    for one in found:
        by_kind[one["properties"]["feature"]] += one["properties"].get("price", 0.0)
    plan = solved.profile[1].plan
    total = sum(prices[one.name] * (one.coefficients @ plan[one.indices]) for one in game.constraints)
    assert by_kind["place"] == pytest.approx(total, abs=1e-6)
    road = next(one for one in game.constraints if one.name == "travel <= 3")
    # Only travel has terms on streets here.
    moving = sum(
        plan[walker.sequences[walker.moved]] @ walker.durations[walker.moved]
        for walker in game.patrol.patrolling.walkers
    )
    assert road.coefficients @ plan[road.indices] == pytest.approx(moving)
    assert "price" not in plan_features(game, solved.profile)["features"][0]["properties"]


def test_commands_write_both(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    nx.write_graphml(TOWN, "roads.graphml")
    command = ["--entry", "gate", "--goal", "bank=2", "--unit", "base=mill", "--steps", "8", "--limit", "travel <= 1"]
    assert main(["patrol", "roads.graphml", *command, "--out", "plan.npz", "--html", "plan.html"]) == 0
    assert "Where and when attackers are detected" in Path("plan.html").read_text()
    assert main(["patrol", "export", "plan.npz", "seen.csv", "--detections"]) == 0
    assert Path("seen.csv").read_text().startswith("goal,who,place")
    assert main(["patrol", "export", "plan.npz", "plan.geojson"]) == 0
    found = json.loads(Path("plan.geojson").read_text())["features"]
    assert max(one["properties"].get("price", 0.0) for one in found if one["properties"]["feature"] == "street") > 0.0
    capsys.readouterr()
    assert main(["patrol", "export", "plan.npz", "plan.geojson", "--detections"]) == 2
    assert "expected a file name that ends with .csv for --detections" in capsys.readouterr().err
