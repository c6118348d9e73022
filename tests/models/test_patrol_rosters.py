"""Rosters: marginals by enumeration, counts over a year, equal work of crews, rules, predictions and files."""

import csv
import io
from fractions import Fraction
from itertools import pairwise, permutations

import networkx as nx
import numpy as np
import pytest
from random_profiles import random_profile

from treeplex import GameFileError, InvalidStrategyError, Strategy, UnsupportedProblemError
from treeplex.models.games.patrol import Attacker, Clock, PatrolGame, Unit, roster
from treeplex.models.games.patrol.crews import assigned_crews, least_difference, repetitions
from treeplex.models.games.patrol.flow_rounding import PARTS, dealt_routes, flow_in_parts, rounded_flow
from treeplex.models.games.patrol.rosters import _bits, _in_progress, _yesterday

TOWN = nx.Graph([("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn")])
THIEF = [Attacker(["gate"], {"bank": 2.0}, window=(0, 2))]


def patrol(steps=8, failure=0.0, **how):
    units = [Unit(base="mill"), Unit(base="bank", shift=(1, steps - 1), name="the car")]
    return PatrolGame(TOWN, steps=steps, units=units, attackers=THIEF, failure=failure, **how)


@pytest.fixture(scope="module")
def game():
    return patrol()


def outcomes(run):
    """Yield the probability and the result of each course of a random computation: ``run(pick)``."""
    open_ends = [()]
    while open_ends:
        prefix, chance, made = open_ends.pop(), Fraction(1), []

        def pick(weights, prefix=prefix, made=made):
            nonlocal chance
            place = prefix[len(made)] if len(made) < len(prefix) else 0
            if len(made) >= len(prefix):
                open_ends.extend((*made, other) for other in range(1, len(weights)))
            made.append(place)
            chance *= weights[place]
            return place

        result = run(pick)
        yield chance, result


class Shuffler:
    """Enumerates the permutations that a generator draws."""

    def __init__(self, pick):
        self.pick = pick

    def permutation(self, items):
        orders = sorted(set(permutations(items.tolist())))
        return np.array(orders[self.pick([Fraction(1, len(orders))] * len(orders))])


@pytest.mark.parametrize(("days", "seed"), [(2, 0), (3, 1), (2, 2), (3, 3), (2, 4), (3, 5)])
def test_every_day_has_the_marginals_of_the_plan_by_enumeration(days, seed):
    road = nx.Graph([("a", "b"), ("b", "c"), ("a", "c")]) if seed % 2 else nx.path_graph(3)
    start, entry, goal = road
    game = PatrolGame(road, steps=2, units=[Unit(base=start)], attackers=[Attacker([entry], {goal: 1})])
    (walker,) = game.patrol.patrolling.walkers
    strategy = random_profile(game, seed, 0.5)[1]
    parts = flow_in_parts(walker, strategy.behaviour, days)
    assert np.abs(parts / PARTS - days * strategy.plan[walker.sequences]).max() < 1e-10
    low, high = parts // PARTS, -(-parts // PARTS)

    def rounded(pick):
        return rounded_flow(walker, parts, lambda a, b: not pick([Fraction(a, b), 1 - Fraction(a, b)]))

    mean, total = [Fraction(0)] * len(parts), Fraction(0)
    for chance, counts in outcomes(rounded):
        assert ((low <= counts) & (counts <= high)).all()
        total += chance
        mean = [each + chance * int(count) for each, count in zip(mean, counts, strict=True)]
    assert total == 1
    assert mean == [Fraction(int(part), PARTS) for part in parts]

    def dealt(pick):
        counts = rounded(pick)
        moves = dealt_routes(walker, counts, days, Shuffler(pick))
        assert (np.bincount(moves[moves >= 0], minlength=len(counts)) == counts).all()
        return moves

    by_day = np.zeros((days, len(parts)), dtype=object)
    both = np.zeros((len(parts), len(parts)), dtype=object)
    for chance, moves in outcomes(dealt):
        for day, route in enumerate(moves):
            by_day[day, route[route >= 0]] += chance
        both[np.ix_(moves[0][moves[0] >= 0], moves[1][moves[1] >= 0])] += chance
    exact = [Fraction(int(part), days * PARTS) for part in parts]
    assert all(row.tolist() == exact for row in by_day)

    # The distance of today's moves from the plan, on average over yesterday's routes, is at most as said.
    during = _in_progress(walker)
    plan = np.array(exact, dtype=float)
    for step in range(walker.body.last):
        own = np.flatnonzero(during.toarray()[step])
        distance = 0.5 * np.abs(both[np.ix_(own, own)].astype(float) - np.outer(plan[own], plan[own])).sum()
        assert distance <= _yesterday(plan, during, days) + 1e-12
        joint = both[np.ix_(own, own)].astype(float)
        alone = np.outer(plan[own], plan[own])
        known = joint > 0.0
        information = float(joint[known] @ np.log2(joint[known] / alone[known]))
        assert -1e-12 <= information <= _bits(plan, during, days) + 1e-12


@pytest.mark.parametrize("stratify", ["all", "month", "week"])
def test_counts_of_moves_and_places_in_each_block(game, stratify):
    strategy = random_profile(game, 3, 0.5)[1]
    drawn = roster(game, strategy, days=80, crews=3, seed=5, stratify=stratify)
    sizes = {"all": [80], "month": [30, 30, 20], "week": [7] * 10 + [10]}[stratify]
    for walks in drawn.walks:
        walker, begins = walks.walker, 0
        plan = strategy.plan[walker.sequences]
        for size in sizes:
            moves = walks.moves[begins : begins + size]
            counts = np.bincount(moves[moves >= 0], minlength=len(plan))
            assert (np.abs(counts - size * plan) < 1 + 1e-9).all()
            places = walker.times * 10 + walker.sources
            assert (np.abs(np.bincount(places, counts) - np.bincount(places, size * plan)) < 1 + 1e-9).all()
            begins += size
    assert drawn.deviation < len(sizes) + 1e-9
    again = roster(game, strategy, days=80, crews=3, seed=5, stratify=stratify)
    assert again.to_csv() == drawn.to_csv() != roster(game, strategy, days=80, crews=3, seed=6).to_csv()


def test_routes_keep_the_rules_of_their_unit():
    units = [Unit(base="mill", no_return=2)]
    game = PatrolGame(TOWN, steps=8, units=units, attackers=THIEF)
    (walks,) = roster(game, random_profile(game, 3, 0.5)[1], days=60, seed=1).walks
    walker = walks.walker
    for day in walks.moves:
        legs = [(int(walker.sources[move]), int(walker.targets[move])) for move in day[day >= 0]]
        for near in (1, 2):
            assert not any(
                one != one[::-1] and one == other[::-1] for one, other in zip(legs, legs[near:], strict=False)
            )
    counts = np.bincount(walks.moves[walks.moves >= 0], minlength=len(walker.moves))
    plan = random_profile(game, 3, 0.5)[1].plan[walker.sequences]
    assert (np.abs(counts - 60 * plan) < 1 + 1e-9).all()


def test_a_year_in_the_town():
    from importlib.resources import files

    from treeplex.solvers import solve_patrol

    town = nx.read_graphml(files("treeplex.models.games.patrol") / "town.graphml")
    robbers = Attacker(["west gate", "east gate", "south gate"], {"bank": 3, "jeweller": 2, "museum": 2}, window=(4, 8))
    limits = ["risk(unit 1) <= 0.05", "visits(museum) >= 3"]
    units = [Unit(base="police"), Unit(base="depot")]
    game = PatrolGame(town, steps=15, units=units, attackers=[robbers], meeting=-2, limits=limits)
    profile = solve_patrol(game).profile
    year = roster(game, profile, days=365, crews=6, seed=7, fair=["travel", "visits(museum)"], shifts_per_week=3)
    expected = 365 * profile[1].plan
    for walks in year.walks:
        counts = np.bincount(walks.walker.sequences[walks.moves[walks.moves >= 0]], minlength=len(expected))
        own = walks.walker.sequences
        assert (counts[own] >= np.floor(expected[own] - 1e-8)).all()
        assert (counts[own] <= np.ceil(expected[own] + 1e-8)).all()
    # 730 shifts, travel and visits do not divide by 6, so that a difference of 1 is the least.
    assert (year.work[0].name, year.work[0].bound) == ("shifts", 1.0)
    assert all(one.difference == one.bound for one in year.work)
    for crew in range(6):
        worked = (year.taken == crew).sum(axis=1)
        assert worked.max() == 1
        assert np.convolve(worked, np.ones(7)).max() <= 3
    seen = year.foresight
    assert seen.yesterday < 0.01
    assert (np.diff(seen.distances[[0, 100, 200, 300, 364]]) > 0).all()
    assert seen.earnings.mean() > seen.planned


def test_the_same_street_and_the_week(game):
    strategy = random_profile(game, 1, 0.5)[1]
    free = roster(game, strategy, days=60, crews=["red", "green", "blue"], seed=2)
    bound = roster(game, strategy, days=60, crews=["red", "green", "blue"], seed=2, same_street=2, shifts_per_week=5)
    assert [walks.moves.tolist() for walks in free.walks] == [walks.moves.tolist() for walks in bound.walks]
    assert bound.repeated == 0
    rows = list(csv.DictReader(io.StringIO(bound.to_csv())))
    driven = {}
    for row in rows:
        if row["street"] != "waits":
            key = (row["crew"], row["unit"], int(row["day"]))
            driven.setdefault(key, set()).add(frozenset((row["from"], row["to"])))
    for (crew, unit, day), streets in driven.items():
        assert not streets & driven.get((crew, unit, day + 1), set())
    for crew in ("red", "green", "blue"):
        days = {int(row["day"]) for row in rows if row["crew"] == crew}
        assert all(len(days & set(range(first, first + 7))) <= 5 for first in range(1, 55))


def test_two_crews_that_cannot_change_repeat_streets():
    rng = np.random.default_rng(0)
    forbidden = np.ones((9, 1), dtype=bool)
    taken = assigned_crews(np.ones((10, 1, 1)), 1, rng, repeated=forbidden)
    assert repetitions(taken, forbidden) == 9
    taken = assigned_crews(np.ones((10, 1, 1)), 2, rng, repeated=forbidden)
    assert repetitions(taken, forbidden) == 0


@pytest.mark.parametrize("seed", range(8))
def test_work_is_as_equal_as_the_best_assignment_of_few_shifts(seed):
    """Compared with all assignments: the exchange of shifts need not be optimal, but the bound never exceeds it."""
    rng = np.random.default_rng(seed)
    work = rng.integers(1, 9, (5, 1, 1)).astype(float)
    taken = assigned_crews(work, 2, rng)
    loads = np.bincount(taken.ravel(), work.ravel(), 2)
    orders = [work.ravel()[list(order)] for order in permutations(range(5))]
    best = min(abs(order[:3].sum() - order[3:].sum()) for order in orders)
    assert least_difference(work, 2) <= best <= loads.max() - loads.min()
    assert sorted(np.bincount(taken.ravel()).tolist()) == [2, 3]


def test_the_bound_of_the_difference():
    assert least_difference(np.array([3.0, 3.0, 3.0]), 2) == 3.0
    assert least_difference(np.array([2.0, 4.0]), 3) == 0.0
    assert least_difference(np.array([0.5, 1.0]), 2) == 0.0
    assert least_difference(np.zeros(4), 3) == 0.0


def test_what_earlier_days_tell(game):
    strategy = random_profile(game, 1, 0.5)[1]
    alone = roster(game, strategy, days=30, crews=2, seed=1, stratify="none").foresight
    assert alone.yesterday == alone.distances.max() == 0.0
    together = roster(game, strategy, days=30, crews=2, seed=1)
    seen = together.foresight
    assert alone.planned == seen.planned
    assert 0.0 < seen.yesterday < roster(game, strategy, days=30, crews=2, seed=1, stratify="week").foresight.yesterday
    # The last day is known: the distance of its route from the plan.
    last = max(
        0.5 * (_in_progress(walks.walker) @ np.abs(made - strategy.plan[walks.walker.sequences])).max()
        for walks in together.walks
        for made in [np.bincount(walks.moves[-1][walks.moves[-1] >= 0], minlength=len(walks.walker.moves))]
    )
    assert seen.distances[-1] == pytest.approx(last, abs=1e-9)


def test_nights_and_dates():
    game = patrol(clock=Clock("20:00", "1 h"))
    night = roster(game, random_profile(game, 1, 0.5)[1], days=9, crews=3, seed=1, fair="nights")
    assert night.work[1].name == "nights"
    assert sum(night.work[1].amounts) == 9 * (6 + 5)  # from 22:00 to 4:00, and to 3:00
    page = night.page(night.clock(None, None)[0]).to_html()
    assert "Sat 2000-01-01" in page
    assert "20:00" in page
    longest = max(night._shifts("crew 1", lambda place: [str(place)]), key=lambda row: len(row[-1].text))[-1].text
    assert longest in page  # routes are not shortened


def test_files_of_all_crews_and_of_one(game, tmp_path):
    drawn = roster(game, random_profile(game, 1, 0.5)[1], days=20, crews=4, seed=1)
    for suffix in ("csv", "ics", "html"):
        drawn.save(tmp_path / f"all.{suffix}")
        drawn.of("crew 2").save(tmp_path / f"one.{suffix}")
    texts = [(tmp_path / f"{name}.csv").read_text() for name in ("all", "one")]
    rows, one = (list(csv.DictReader(io.StringIO(text))) for text in texts)
    assert one == [row for row in rows if row["crew"] == "crew 2"]
    for row, after in pairwise(one):
        if (row["day"], row["unit"]) == (after["day"], after["unit"]):
            assert (row["arrives"], row["to"]) == (after["leaves"], after["from"])
    calendar, own = ((tmp_path / f"{name}.ics").read_text() for name in ("all", "one"))
    assert calendar.count("BEGIN:VEVENT") == 40
    assert own.count("BEGIN:VEVENT") == own.count("SUMMARY:crew 2: ") == 10
    assert "crew 3" in (tmp_path / "all.html").read_text()
    assert "crew 3" not in (tmp_path / "one.html").read_text()
    assert "<table>" in drawn._repr_html_()
    with pytest.raises(GameFileError, match=r"a roster with suffix '.pdf', expected .csv, .ics or .html"):
        drawn.save(tmp_path / "year.pdf")


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"days": 0}, "days is 0, expected"),
        ({"crews": 1}, "crews has 1 for 2 units, expected at least 2"),
        ({"crews": ["a", "a"]}, "crews has a twice"),
        ({"crews": 2.5}, "crews is 2.5, expected a number or a list of names"),
        ({"stratify": "weeks"}, "stratify is 'weeks', expected one of all, month, week, none"),
        ({"fair": "nights"}, "fair has nights, but the patrol has no clock"),
        ({"fair": "worst"}, "fair has 'worst', expected nights or a linear functional"),
        ({"fair": "travl"}, r"fair: .*did you mean travel"),
        ({"shifts_per_week": 3, "crews": 4}, "shifts_per_week is 3, but 14 shifts in 7 days need at least 4"),
        ({"same_street": 1}, "same_street is 1, expected"),
    ],
)
def test_arguments_that_are_refused(game, how, said):
    with pytest.raises(InvalidStrategyError, match=said):
        roster(game, Strategy.uniform(game, 1), **{"seed": 1, "crews": 4} | how)


def test_moves_that_fail_have_no_roster():
    risky = patrol(failure=0.1)
    with pytest.raises(UnsupportedProblemError, match=r"moves fail with probability 0.1, so a unit has no fixed route"):
        roster(risky, Strategy.uniform(risky, 1), seed=1)


def test_a_crew_that_does_not_exist(game):
    with pytest.raises(InvalidStrategyError, match="crew is 'crew 9', expected one of crew 1, crew 2"):
        roster(game, Strategy.uniform(game, 1), days=2, crews=2, seed=1).of("crew 9")
