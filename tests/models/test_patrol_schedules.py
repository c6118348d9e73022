"""Schedules of patrols: frequencies and impossible moves, single days, limits, tables, calendars and files of plans."""

import csv
import datetime as dt
import io
import re
from itertools import pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from random_profiles import random_profile

from treeplex import (
    GameFileError,
    GameTooLargeError,
    InvalidStrategyError,
    Profile,
    Strategy,
    UnsupportedProblemError,
    load_game,
)
from treeplex.models.games.patrol import Attacker, Closure, PatrolGame, RoadMap, Sensor, Unit
from treeplex.models.games.patrol.plan_file import PatrolPlan
from treeplex.models.games.patrol.sampling import sampled_walks
from treeplex.models.games.patrol.schedules import schedule

DAYS = 10_000


def roads():
    town = nx.Graph()
    town.add_edge("gate", "mill", steps=1, name="Mill Lane")
    town.add_edge("mill", "bank, old", steps=2)
    town.add_edge("mill", "inn", steps=1, name="Inn Row; east")
    town.add_edge("inn", "bank, old", steps=1)
    return town


@pytest.fixture(scope="module")
def game():
    return PatrolGame(
        roads(),
        steps=6,
        units=[Unit(base="mill"), Unit(start="inn", base="bank, old", shift=(1, 5), speed=2.0, name="the car")],
        attackers=[Attacker(["gate"], {"bank, old": 2.0}, window=(0, 2))],
        failure=0.2,
        closures=[Closure("inn -- bank, old", times=(2, 3))],
        limits=["risk(unit 1) <= 1/2", "visits(inn) >= 1/10"],
    )


def test_frequencies_over_many_days_are_those_of_the_plan(game):
    profile = random_profile(game, 3, 0.5)
    plan, treeplex = profile[1].plan, profile[1].treeplex
    walks = sampled_walks(game.patrol.patrolling, profile[1].behaviour, range(1, DAYS + 1), seed=7)
    found = np.zeros(len(plan))
    for each in walks:
        made = each.moves[each.moves >= 0]
        found += np.bincount(each.walker.sequences[made], minlength=len(plan))
        # Each move begins where and when the one before it ended, and the last ends with the shift.
        times, nodes = np.full(DAYS, each.walker.entry_times[0]), np.full(DAYS, each.walker.entry_nodes[0])
        for moves, failed in zip(each.moves.T, each.failed.T, strict=True):
            on = moves >= 0
            move = moves[on]
            assert np.array_equal(each.walker.times[move], times[on])
            assert np.array_equal(each.walker.sources[move], nodes[on])
            times[on] += np.where(failed[on], 1, each.walker.durations[move])
            nodes[on] = np.where(failed[on], nodes[on], each.walker.targets[move])
        assert (times == each.walker.body.last).all()
        assert each.failed.any()
    errors = np.sqrt(plan * (1.0 - plan) / DAYS)
    assert found[1:][plan[1:] == 0.0].sum() == 0.0
    # Of some hundred sequences hardly any is off by three standard errors, and none by five.
    off = np.abs(found / DAYS - plan)[1:]
    assert (off <= 5.0 * errors[1:] + 1e-12).all()
    assert (off > 3.0 * errors[1:] + 1e-12).mean() < 0.02
    assert treeplex.num_sequences > 50


def test_moves_of_no_probability_are_never_drawn(game):
    """Whatever the number drawn, the one just below 1 among them."""
    treeplex = game.sequence_form.treeplexes[1]
    rng = np.random.default_rng(0)
    pure = np.concatenate([[1.0], *(rng.permutation(np.eye(1, k)[0]) for k in treeplex.num_actions)])
    strategy = Strategy(game, 1, pure)
    for each in sampled_walks(game.patrol.patrolling, strategy.behaviour, range(1, 200), seed=1):
        assert (strategy.plan[each.walker.sequences[each.moves[each.moves >= 0]]] > 0.0).all()


def test_a_day_is_the_same_with_and_without_the_others(game):
    profile = random_profile(game, 4, 0.5)
    month = schedule(game, profile, days=30, seed=7)
    rows = list(csv.DictReader(io.StringIO(month.to_csv())))
    assert {row["day"] for row in rows} == {str(day) for day in range(1, 31)}
    one = list(csv.DictReader(io.StringIO(schedule(game, profile, days=30, seed=7, day=12).to_csv())))
    assert one == [row for row in rows if row["day"] == "12"]
    assert schedule(game, profile[1], days=30, seed=7).to_csv() == month.to_csv()
    assert schedule(game, profile, days=30, seed=8).to_csv() != month.to_csv()
    for row, after in pairwise(rows):
        if (row["day"], row["unit"]) == (after["day"], after["unit"]):
            assert row["arrives"] == after["leaves"]
            assert row["to"] == after["from"]
    assert {"Mill Lane", "waits", "held up", "mill -- bank, old"} <= {row["street"] for row in rows}


def test_limits_are_compared_with_the_days(game):
    profile = random_profile(game, 5, 0.5)
    found = schedule(game, profile, days=4000, seed=2).check(game.constraints)
    assert [one.name for one in found] == ["risk(unit 1) <= 1/2", "visits(inn) >= 1/10"]
    for one in found:
        functional = game.functionals[one.name.split(" <")[0].split(" >")[0]]
        assert one.expected == pytest.approx(functional.value(profile))
        assert one.agrees
        assert one.mean == pytest.approx(one.expected, abs=0.06)
        assert one.met == (one.mean <= 0.5 if one.sense == "<=" else one.mean >= 0.1)
    # Days that were drawn from another plan are not as this one has it.
    other = schedule(game, Strategy.uniform(game, 1), days=4000, seed=2)
    wrong = type(other)(game, profile[1], other.days, other.seed, other.walks).check(game.constraints)
    assert any(one.verdict == "not as planned" for one in wrong)


def test_limits_that_are_not_linear_are_compared_by_their_tangents():
    ring = nx.cycle_graph(["gate", "mill", "bank", "inn", "port"])
    thieves = [Attacker(["gate"], {"bank": 3.0, "inn": 1.0}), Attacker(["port"], {"bank": 2.0, "mill": 2.5})]
    limits = ["cvar(0.8) <= 1.9 as tail", "spread(workload, 2) <= 1", "risk >= 0.3"]
    units = [Unit(base="mill"), Unit(base="inn", detection=0.5)]
    game = PatrolGame(ring, steps=4, units=units, attackers=thieves, limits=limits)
    profile = random_profile(game, 1, 0.5)
    measures = [game.functionals[name] for name in ("cvar(0.8)", "spread(workload, 2)", "risk")]
    days = schedule(game, profile, days=4000, seed=5)
    for one, measure in zip(days.check(game.constraints), measures, strict=True):
        assert one.expected == pytest.approx(measure.value(profile), abs=1e-9)
        assert one.mean == pytest.approx(one.expected, abs=0.05)
        assert one.agrees
        assert one.upper - one.lower < 0.4
    other = schedule(game, Strategy.uniform(game, 1), days=4000, seed=5)
    wrong = type(other)(game, profile[1], other.days, other.seed, other.walks).check(game.constraints)
    assert [one.agrees for one in wrong] == [False, False, False]


def test_days_are_the_same_however_many_are_drawn_at_once(game, monkeypatch):
    strategy = random_profile(game, 4, 0.5)[1]
    whole = sampled_walks(game.patrol.patrolling, strategy.behaviour, range(1, 30), seed=7)
    monkeypatch.setattr("treeplex.models.games.patrol.sampling._CHUNK", 60)
    for one, other in zip(
        whole, sampled_walks(game.patrol.patrolling, strategy.behaviour, range(1, 30), seed=7), strict=True
    ):
        assert (one.moves == other.moves).all()
        assert (one.failed == other.failed).all()
    monkeypatch.setenv("TREEPLEX_MEMORY", "10kB")
    with pytest.raises(GameTooLargeError, match="1,000 days of routes would take about"):
        schedule(game, strategy, days=1000, seed=1)


def test_a_calendar(game):
    text = schedule(game, random_profile(game, 4, 0.5), days=3, seed=7).to_ics(dt.datetime(2026, 5, 4, 8), minutes=10)
    assert text.startswith("BEGIN:VCALENDAR\r\nVERSION:2.0\r\n")
    assert text.endswith("END:VCALENDAR\r\n")
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    whole = text.replace("\r\n ", "")
    assert whole.count("BEGIN:VEVENT") == whole.count("END:VEVENT") == 6
    assert "DTSTART:20260505T080000\r\nDTEND:20260505T090000\r\nSUMMARY:unit 1\\, day 2" in whole
    assert "DTSTART:20260506T081000\r\nDTEND:20260506T085000\r\nSUMMARY:the car\\, day 3" in whole
    assert len(set(re.findall("UID:(.*)\r", whole))) == 6
    assert "Inn Row\\; east" in whole
    with pytest.raises(InvalidStrategyError, match="expected a day that keeps all days in years 1000 to 9999"):
        schedule(game, random_profile(game, 4, 0.5), days=3, seed=7).to_ics(dt.datetime(9999, 12, 30))


def test_schedules_in_files(game, tmp_path):
    month = schedule(game, random_profile(game, 4, 0.5), days=2, seed=7)
    for suffix in ("csv", "ics"):
        month.save(tmp_path / f"month.{suffix}")
        assert (tmp_path / f"month.{suffix}").stat().st_size > 300
    with pytest.raises(GameFileError, match=r"a schedule with suffix '.pdf', expected .csv or .ics"):
        month.save(tmp_path / "month.pdf")
    assert "<table>" in month._repr_html_()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"days": 0}, r"days is 0, expected"),
        ({"days": 5, "day": 6}, r"day is 6, expected"),
        ({"seed": -1}, r"seed is -1, expected"),
    ],
)
def test_numbers_out_of_their_ranges(game, how, said):
    with pytest.raises(InvalidStrategyError, match=said):
        schedule(game, Strategy.uniform(game, 1), **{"seed": 1} | how)


def test_plans_and_games_that_have_no_schedule(game):
    with pytest.raises(InvalidStrategyError, match="expected a strategy of the units"):
        schedule(game, Strategy.uniform(game, 0), seed=1)
    kuhn = load_game("kuhn")
    with pytest.raises(UnsupportedProblemError, match="kuhn is not a patrol"):
        schedule(kuhn, Profile.uniform(kuhn), seed=1)


def test_a_plan_in_a_file(game, tmp_path):
    town = nx.relabel_nodes(roads(), {"gate": 1})
    more = PatrolGame(
        RoadMap.from_graph(town),
        steps=5,
        units=[Unit(base="mill", detection={("mill", "inn"): 0.5}, no_go=["inn"], ends=["mill", "bank, old"])],
        attackers=[
            Attacker({1: (0, 1)}, {"bank, old": 2.0}, probability=0.25, step=-0.1),
            Attacker([1], {"inn": 1.0}, probability=0.75, may_stay_away=False),
        ],
        sensors=[Sensor(("mill", "inn"), 0.5, (1, 3))],
        areas={"east": ["inn", "bank, old"]},
    )
    path = tmp_path / "plan.npz"
    for one in (game, more):
        profile = random_profile(one, 1, 0.5)
        PatrolPlan(one, profile, {"method": "highs", "lower": 1.5}).save(path)
        read = PatrolPlan.load(path)
        assert read.game.fingerprint == one.fingerprint
        assert (Profile.load(path, one)[1].plan == profile[1].plan).all()
        assert read.certificate == {"method": "highs", "lower": 1.5}
        assert [(each.plan == other.plan).all() for each, other in zip(read.profile, profile, strict=True)] == [
            True,
            True,
        ]
        assert [each.name for each in read.game.constraints] == [each.name for each in one.constraints]
        assert schedule(read.game, read.profile, seed=3).to_csv() == schedule(one, profile, seed=3).to_csv()


def test_files_that_are_no_plans(game, tmp_path):
    path = tmp_path / "plan.npz"
    with pytest.raises(GameFileError, match="a plan can only be written as"):
        PatrolPlan(game, Profile.uniform(game)).save(tmp_path / "plan.json")
    PatrolPlan(game, Profile.uniform(game)).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(GameFileError, match="is not the plan of a patrol, or is damaged"):
        PatrolPlan.load(path)
    Profile.uniform(load_game("kuhn")).save(path)
    with pytest.raises(GameFileError, match="expected the plan of a patrol"):
        PatrolPlan.load(path)
    with pytest.raises(GameFileError, match="plan"):
        PatrolPlan.load(Path(tmp_path / "none" / "plan.npz"))
