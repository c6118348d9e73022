"""Speeds that change by the hour: against every walk of tiny patrols, and through files, schedules and rules."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from effort import either, few
from patrol_oracle import Histories, Leg, Oracle, random_patrol
from random_profiles import random_profile

from treeplex import Game, Nash, expected_payoffs, load_game, solve
from treeplex.models.games.patrol import (
    Attacker,
    Clock,
    PatrolGame,
    PatrolPlan,
    RoadMap,
    Traffic,
    Unit,
    likely_routes,
    roster,
    schedule,
)
from treeplex.seqform.errors import GameFileError, InvalidGameError
from treeplex.solvers import solve_patrol

FILE = """
map = "roads.csv"
begin = "06:00"
end = "10:00"
step = "15 min"
speed = "20 km/h"
[[units]]
start = "mill"
name = "van"
[[units]]
start = "mill"
name = "bike"
speed = 0.5
[[attackers]]
entries = ["gate"]
goals = { bank = 2.0 }
window = ["06:00", "08:00"]
[[traffic]]
times = ["07:00", "09:00"]
speed = 0.5
side = ["van", "attackers"]
"""


class Slowed(Oracle):
    """The walks of a patrol whose speeds change: lengths covered step by step, in fractions."""

    def rate(self, side, body, leg, time):
        factor = Fraction(1)
        for one in self.of["traffic"]:
            first, last = one.times or (0, self.steps)
            names = [one.side] if isinstance(one.side, str) else one.side
            places = [one.at] if isinstance(one.at, str) else one.at
            here = places is None or any({*at.split(" -- ")} == {leg.source, leg.target} for at in places)
            if first <= time < last and here and {"all", side, body.name} & {*names}:
                factor *= Fraction(one.speed)
        return factor

    def open_legs(self, side, body, node, time):
        for target in [node, *self.graph[node]]:
            leg, now = Leg(node, target, time, time + 1), time
            if target != node:
                left = Fraction(self.graph[node][target]["steps"])
                while left > 0 and now <= self.steps:
                    left -= self.rate(side, body, leg, now) * Fraction(body.speed)
                    now += 1
                leg = Leg(node, target, time, now)
            shut = any(self.closes(leg, at, None) for at in body.no_go)
            if not shut and not any(
                one.side in ("all", side) and self.closes(leg, one.at, one.times) for one in self.of["closures"]
            ):
                yield leg


def slowed_patrol(seed):
    """A random tiny patrol with random speeds, and its walks."""
    rng = np.random.default_rng(seed)
    while True:
        _, plain = random_patrol(int(rng.integers(2**31)), most=400)
        graph, declared = plain.graph, dict(plain.of)
        edges = [f"{first} -- {second}" for first, second in nx.Graph(graph).edges]
        declared["units"] = [replace(one, name=f"unit {n}") for n, one in enumerate(declared["units"], 1)]
        declared["attackers"] = [replace(one, name=f"attacker {n}") for n, one in enumerate(declared["attackers"], 1)]
        declared["traffic"] = []
        for _ in range(int(rng.integers(1, 4))):
            first = int(rng.integers(0, declared["steps"]))
            declared["traffic"].append(
                Traffic(
                    float(rng.choice([0.5, 0.25, 2.0])),
                    (first, int(rng.integers(first + 1, declared["steps"] + 1))) if rng.random() < 0.8 else None,
                    None if rng.random() < 0.5 else [str(edge) for edge in rng.choice(edges, 1)],
                    str(rng.choice(["all", "units", "attackers", "unit 1", "attacker 1"])),
                )
            )
        oracle = Slowed(graph, declared)
        try:
            return PatrolGame(graph, **declared), oracle
        except InvalidGameError:
            pass  # no way leads where it has to


@few
@pytest.mark.parametrize("seed", range(either(3, 80)))
def test_values_and_payoffs_are_those_of_all_walks(seed):
    game, oracle = slowed_patrol(seed)
    tree = Game("histories", rules=Histories(oracle))
    assert solve(Nash(game)).value == pytest.approx(solve(Nash(tree)).value, abs=1e-7)
    profile = random_profile(game, seed)
    assert expected_payoffs(game, profile)[0] == pytest.approx(oracle.expected(game, profile), abs=1e-10)


def test_a_move_covers_its_length_at_the_speeds_on_its_way_and_none_overtakes_a_later_one():
    rng = np.random.default_rng(3)
    road = RoadMap.from_graph(nx.path_graph(["a", "b", "c"], create_using=nx.Graph), speed=None)
    object.__setattr__(road, "times", rng.uniform(0.5, 4.0, len(road.times)))
    rates = rng.choice([0.25, 0.5, 1.0, 2.0], (30, len(road.times)))
    found = road.durations_at(rates)
    assert (np.diff(found + np.arange(30)[:, None], axis=0) >= 0).all()
    for time, move in np.ndindex(*found.shape):
        covered = np.cumsum(rates[time:, move])
        expected = int(np.argmax(covered >= road.times[move] - 1e-9)) + 1 if covered[-1] >= road.times[move] else None
        assert found[time, move] == (30 - time + 1 if expected is None else expected)
    assert (road.durations_at(np.ones((30, len(road.times))))[0] == road.durations()).all()


def town(tmp_path: Path, text: str = FILE):
    roads = [("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")]
    lines = "\n".join(f"{first},{second},5000" for first, second in roads)
    (tmp_path / "roads.csv").write_text(f"source,target,length\n{lines}\n")
    (tmp_path / "town.toml").write_text(text)
    return tmp_path / "town.toml"


def test_a_file_speaks_clock_and_schedules_have_the_times_of_the_rush_hour(tmp_path: Path):
    game = load_game(str(town(tmp_path)))
    van, bike = game.patrol.patrolling.walkers
    # 5 km at 20 km/h take one quarter of an hour, at half the speed two.
    assert {int(d) for t, d in zip(van.times[van.moved], van.durations[van.moved], strict=True) if t < 3} == {1}
    assert {int(d) for t, d in zip(van.times[van.moved], van.durations[van.moved], strict=True) if 4 <= t < 11} == {2}
    assert set(bike.durations[bike.moved].tolist()) == {2}
    plan = solve_patrol(game)
    PatrolPlan(game, plan.profile).save(tmp_path / "plan.npz")
    loaded = PatrolPlan.load(tmp_path / "plan.npz")
    assert loaded.game.fingerprint == game.fingerprint
    month = schedule(loaded.game, random_profile(loaded.game, 1), days=60, seed=1)
    rows = [row for row in month.rows() if row["from"] != row["to"] and row["unit"] == "van"]
    for row in rows:
        lasts = row["arrives"] - row["leaves"]
        assert lasts == (2 if 4 <= row["leaves"] < 12 else 1)
        assert Clock("06:00", "15 min").at(row["arrives"]) == row["arrives_at"]
    assert any(4 <= row["leaves"] < 12 for row in rows)
    assert "BEGIN:VEVENT" in month.to_ics()
    assert roster(game, plan.profile, days=30, crews=2, seed=1).deviation < 1
    assert all(len(route.times) == len(route.stops) for route in likely_routes(game, plan.profile[1]))
    assert game.patrol.size().sequences == tuple(each.num_sequences for each in game.sequence_form.treeplexes)


def test_rules_of_units_count_the_time_that_moves_take():
    ring = nx.cycle_graph(["mill", "bank", "inn", "port"])
    gang = [Attacker(["port"], {"bank": 2.0})]
    rush = [Traffic(0.5, (2, 6))]
    for rule in ({"max_shift": 4}, {"refuel": {"at": "mill", "every": 4}}):
        game = PatrolGame(ring, steps=8, units=[Unit("mill", **rule)], attackers=gang, traffic=rush)
        by_day: dict[int, list] = {}
        for row in schedule(game, random_profile(game, 2), days=300, seed=1).rows():
            by_day.setdefault(row["day"], []).append(row)
        lengths = set()
        for rows in by_day.values():
            lengths |= {row["arrives"] - row["leaves"] for row in rows if row["from"] != row["to"]}
            away = [row for row in rows if row["from"] != "mill" or row["to"] != "mill"]
            if "max_shift" in rule and away:
                assert away[-1]["arrives"] - away[0]["leaves"] <= 4
                assert away[-1]["to"] == "mill" or away[-1]["arrives"] == 8
            if "refuel" in rule:  # there is no longer stretch without being at the mill
                there = {time for row in rows if row["to"] == "mill" for time in (row["arrives"],)}
                there |= {
                    time
                    for row in rows
                    if row["from"] == row["to"] == "mill"
                    for time in range(row["leaves"], 9)
                    if time <= row["arrives"]
                }
                assert np.diff([0, *sorted(there - {0}), 8]).max() <= 4
        assert lengths == {1, 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"speed": 0.0}, r"traffic\[1\]\.speed is 0.*expected"),
        ({"times": (3, 3)}, r"traffic\[1\]\.times is \(3, 3\), expected at least one step"),
        ({"times": (3, 99)}, r"traffic\[1\]\.times is \(3, 99\), expected a first and a last time"),
        ({"at": "mill"}, r"traffic\[1\]\.at is 'mill', a node; expected an edge or a street"),
        ({"side": "unti 1"}, r"traffic\[1\]\.side is 'unti 1', expected .*did you mean unit 1"),
    ],
)
def test_wrong_speeds_are_refused_in_one_line(changes, message):
    ring = nx.cycle_graph(["mill", "bank", "inn", "port"])
    declared = Traffic(**({"speed": 0.5} | changes))
    with pytest.raises(InvalidGameError, match=message):
        PatrolGame(ring, steps=6, units=[Unit("mill")], attackers=[Attacker(["port"], {"bank": 1})], traffic=[declared])


def test_wrong_keys_of_files_name_their_line(tmp_path: Path):
    path = town(tmp_path, FILE.replace("speed = 0.5\nside", "sped = 0.5\nside"))
    with pytest.raises(
        GameFileError, match=r"town\.toml: line \d+: traffic.1.: unknown key 'sped' .*did you mean speed"
    ):
        load_game(str(path))
