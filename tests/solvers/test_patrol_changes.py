"""Old plans on changed maps: identical maps, closed streets, renamed nodes and other travel times."""

from dataclasses import replace

import networkx as nx
import pytest
from random_profiles import random_profile

from treeplex import InvalidStrategyError
from treeplex.models.games.patrol import Attacker, Clock, Closure, PatrolGame, PatrolPlan, Unit
from treeplex.solvers import carry_plan, solve_patrol

STREETS = [("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")]


def patrol(streets=STREETS, **how):
    town = nx.Graph(streets)
    units = [Unit(base="mill"), Unit(base="bank", detection=0.5, name="the car")]
    thieves = [Attacker(["gate"], {"bank": 2.0, "inn": 0.5}, window=(0, 2))]
    declared = {"steps": 5, "units": units, "attackers": thieves, "limits": ["risk(unit 1) <= 0.2"]}
    return PatrolGame(town, **declared | how)


@pytest.fixture(scope="module")
def plan():
    game = patrol()
    return PatrolPlan(game, solve_patrol(game).profile)


def test_on_the_same_map_nothing_changes(plan):
    same = carry_plan(plan, patrol())
    assert same.lost == ()
    assert same.strategy.plan == pytest.approx(plan.profile[1].plan, abs=1e-12)
    assert same.earns == pytest.approx(same.best.value, abs=1e-7)
    assert same.violations == {"risk(unit 1) <= 0.2": pytest.approx(0.0, abs=1e-8)}
    for row in same.targets(plan.profile[1] if plan.game is same.game else same.strategy):
        assert row["earns"] == row["other_earns"]


def test_a_closed_street(plan):
    closed = PatrolGame(replace(plan.patrol, closures=[Closure("mill -- bank")], limits=()))
    here = carry_plan(plan, closed)
    closed_moves = [one for one in here.lost if one.reason == "closed"]
    assert {frozenset((one.source, one.target)) for one in closed_moves} == {frozenset(("mill", "bank"))}
    assert {one.reason for one in here.lost} <= {"closed", "out of reach at these times"}
    # The frequency is that of all moves along the street.
    passes = plan.game.functionals["visits(mill -- bank)"]
    made = passes.value(plan.profile)
    along = [one for one in here.lost if {one.source, one.target} == {"mill", "bank"}]
    assert sum(one.frequency for one in along) == pytest.approx(made, abs=1e-7)
    assert here.earns >= here.best.lower - 1e-9
    goals = list(here.targets(here.best.profile[1]))
    assert {row["goal"] for row in goals} == {"bank", "inn"}
    assert max(row["earns"] for row in goals) == pytest.approx(here.earns, abs=1e-9)
    hours = list(here.hours(here.best.profile[1]))
    assert len(hours) == 2 * 6
    assert all(0.0 <= row["units"] <= 2.0 for row in hours)


def test_a_renamed_node_and_a_missing_street(plan):
    renamed = [tuple("tavern" if name == "inn" else name for name in street) for street in STREETS]
    game = patrol(renamed, attackers=[Attacker(["gate"], {"bank": 2.0})])
    here = carry_plan(plan, game)
    assert {one.reason for one in here.lost} <= {"inn is not on the map"}
    assert here.lost
    fewer = carry_plan(plan, patrol([street for street in STREETS if street != ("mill", "bank")]))
    assert {"no street"} <= {one.reason for one in fewer.lost} <= {"no street", "out of reach at these times"}


def test_a_move_of_another_duration(plan):
    town = nx.Graph(STREETS)
    nx.set_edge_attributes(town, 1, "steps")
    town.edges["mill", "bank"]["steps"] = 2
    game = PatrolGame(town, steps=5, units=plan.patrol.units, attackers=plan.patrol.attackers)
    reasons = {one.reason for one in carry_plan(plan, game).lost}
    assert "takes 2 instead of 1 steps" in reasons


def test_a_violated_limit_in_its_own_unit(plan):
    game = patrol(limits=["risk(unit 1) <= 0.05 as home", "visits(bank) >= 10 as often"])
    profile = random_profile(plan.game, 1, 0.5)
    here = carry_plan(PatrolPlan(plan.game, profile), game)
    risk, visits = (game.functionals[name].value(here.strategy) for name in ("risk(unit 1)", "visits(bank)"))
    assert here.violations == {"home": pytest.approx(risk - 0.05), "often": pytest.approx(10 - visits)}


def test_hours_of_a_clock(plan):
    clock = Clock("22:00", "30 min")
    game = patrol(clock=clock)
    here = carry_plan(PatrolPlan(game, random_profile(game, 1, 0.5)), game)
    rows = [row for row in here.hours(here.strategy) if row["goal"] == "bank"]
    assert [(row["from"], row["to"]) for row in rows] == [("22:00", "22:30"), ("23:00", "23:30"), ("00:00", "00:30")]
    assert all(row["units"] == row["other_units"] for row in rows)


def test_other_units_and_clocks_are_refused(plan):
    with pytest.raises(InvalidStrategyError, match="the plan is for unit 1 or the car, but the new patrol has unit 1"):
        carry_plan(plan, patrol(units=[Unit(base="mill")]))
    with pytest.raises(
        InvalidStrategyError, match="the plan has no clock, but the new patrol has steps of 30 min from 22:00"
    ):
        carry_plan(plan, patrol(clock=Clock("22:00", "30 min")))
