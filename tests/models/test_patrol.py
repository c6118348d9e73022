"""Patrols on maps: against every history of tiny ones, and the transit game as a special case."""

import dataclasses
import itertools
import pickle

import networkx as nx
import numpy as np
import pytest
from effort import either, thorough
from patrol_oracle import Histories, random_patrol
from random_profiles import random_profile
from scipy.optimize import linprog

from treeplex import (
    ConstrainedNash,
    Game,
    Nash,
    Profile,
    Status,
    Strategy,
    expected_payoffs,
    load_game,
    solve,
)
from treeplex.models.constraints import parse_constraint
from treeplex.models.games.patrol import (
    Attacker,
    CaughtOnce,
    PatrolGame,
    PatrolPlan,
    Sensor,
    Unit,
    likely_routes,
    patrol_meetings,
    patrol_occupancy,
)
from treeplex.models.games.transit import Grid
from treeplex.seqform.polytope import best_response_value


@pytest.mark.parametrize("seed", range(either(20, 150)))
def test_payoffs_and_values_are_those_of_the_tree_of_histories(seed):
    failing = seed % 3 == 0
    game, oracle = random_patrol(seed, failing=failing, most=either(600, 3000))
    profile = random_profile(game, seed)
    assert expected_payoffs(game, profile)[0] == pytest.approx(oracle.expected(game, profile), abs=1e-12)
    tree = Game("histories", rules=Histories(oracle))
    assert solve(Nash(game)).value == pytest.approx(solve(Nash(tree)).value, abs=1e-7)


def counted(oracle, game, strategy, number, count):
    """What is expected of a count over walks of a unit."""
    return sum(chance * count(walk) for walk, chance in oracle.weighted(game, 1, number, strategy))


@pytest.mark.parametrize("seed", range(either(15, 150)))
def test_functionals_are_what_is_counted_along_walks(seed):
    game, oracle = random_patrol(1000 + seed, failing=seed % 2 == 0, most=3000)
    profile = random_profile(game, seed)
    patrol, steps = game.patrol, game.patrol.steps
    rng = np.random.default_rng(seed)
    places = [str(name) for name in rng.choice(patrol.map.nodes, 2, replace=False)]
    first, last = sorted(map(int, rng.integers(0, steps + 1, 2)))
    edge = (patrol.map.nodes[patrol.map.sources[0]], patrol.map.nodes[patrol.map.targets[0]])
    where = patrol_occupancy(game, profile[1])

    def at(walk, node, time):
        return (walk[0].source == node and walk[0].begins == time) or any(
            leg.target == node and leg.ends == time for leg in walk
        )

    for number, unit in enumerate(patrol.units):
        counts = {
            "risk({unit})": lambda walk, unit=unit: walk[-1].target != unit.base,
            f"visits({', '.join(places)}, {first}..{last}, {{unit}})": lambda walk: sum(
                leg.target in places and leg.source not in places and first <= leg.ends <= last for leg in walk
            ),
            f"visits({edge[0]} -> {edge[1]}, {{unit}})": lambda walk: sum(
                (leg.source, leg.target) == edge for leg in walk
            ),
            f"coverage({places[0]}, {first}..{last}, {{unit}})": lambda walk: (
                sum(at(walk, places[0], time) for time in range(first, last + 1)) / (last - first + 1)
            ),
            "travel({unit})": lambda walk: sum(leg.ends - leg.begins for leg in walk if leg.source != leg.target),
            f"travel({first}..{last}, {{unit}})": lambda walk: sum(
                leg.begins <= time < leg.ends for leg in walk for time in range(first, last) if leg.source != leg.target
            ),
            "workload({unit})": lambda walk, unit=unit: sum(
                leg.ends - leg.begins for leg in walk if not leg.source == leg.target == unit.base
            ),
        }
        for text, count in counts.items():
            value = game.functionals[text.format(unit=unit.name)].value(profile)
            assert value == pytest.approx(counted(oracle, game, profile[1], number, count), abs=1e-12), text
        for time in range(steps + 1):
            for node, name in enumerate(patrol.map.nodes):
                expected = counted(
                    oracle, game, profile[1], number, lambda walk, name=name, time=time: at(walk, name, time)
                )
                assert where[number].standing[time, node] == pytest.approx(expected, abs=1e-12)
        assert where[number].moving.sum() == pytest.approx(game.functionals[f"travel({unit.name})"].value(profile))
    total = game.functionals["risk"].value(profile)
    assert total == pytest.approx(sum(game.functionals[f"risk({unit.name})"].value(profile) for unit in patrol.units))


@pytest.mark.parametrize("seed", range(either(8, 100)))
def test_meetings_are_what_attackers_pay_for(seed):
    game, _ = random_patrol(2000 + seed, failing=seed % 2 == 0)
    patrol = game.patrol
    free = PatrolGame(dataclasses.replace(patrol, meeting=0.0, attackers=attackers_that_come(patrol, 0.0)))
    profile = random_profile(game, seed)
    met = patrol_meetings(game, profile)
    assert free.sequence_form.treeplexes[0].infoset_labels == game.sequence_form.treeplexes[0].infoset_labels
    plain = Profile(Strategy(free, player, profile[player].behaviour) for player in (0, 1))
    paid = expected_payoffs(game, profile)[0] - expected_payoffs(free, plain)[0]
    assert paid == pytest.approx(-met.total, abs=1e-12)
    walking = Profile([Strategy.uniform(game, 0), profile[1]])
    found = patrol_meetings(game, walking)
    assert game.functionals["meetings"].value(profile) == pytest.approx(found.total - found.sensed, abs=1e-12)
    named = [f"meetings({name})" for name in patrol.map.nodes]
    at_nodes = sum(game.functionals[text].value(profile) for text in named)
    assert at_nodes == pytest.approx(found.standing.sum(), abs=1e-12)


def attackers_that_come(patrol, meeting):
    return [dataclasses.replace(one, meeting=meeting) for one in patrol.attackers]


def routes(oracle, game):
    """Every route of every attacker, and every combination of the units' routes."""
    walks = [[tuple(leg for _, leg in walk) for walk, _ in each] for each in oracle.all_walks()]
    own = len(oracle.of["attackers"])
    return walks[:own], list(itertools.product(*walks[own:]))


@pytest.mark.parametrize("seed", range(either(12, 150)))
def test_values_under_limits_are_those_of_all_routes(seed):
    """A linear program over all combinations of routes, each of which counts what the limit counts."""
    game, oracle = random_patrol(3000 + seed, most=400)
    attacking, units = routes(oracle, game)
    unit, number = game.patrol.units[0], seed % 3
    target = game.patrol.map.nodes[-1]
    text, count, bound = [
        ("risk(unit 1) <= 0.4", lambda walk: walk[-1].target != unit.base, 0.4),
        (
            "travel(unit 1) <= 0.7",
            lambda walk: sum(leg.ends - leg.begins for leg in walk if leg.source != leg.target),
            0.7,
        ),
        (
            f"visits({target}, unit 1) <= 0.3",
            lambda walk: sum(leg.target == target != leg.source for leg in walk),
            0.3,
        ),
    ][number]
    # min Σ_k p_k v_k over distributions of routes, v_k at least what each route of attacker k gets.
    share = 1.0 / len(attacking)
    rows, lower = [], []
    for kind, (attacker, walks) in enumerate(zip(game.patrol.attackers, attacking, strict=True)):
        for walk in walks:
            paid = [oracle.pays(attacker, walk, others) for others in units]
            rows.append([*paid, *(-float(kind == each) for each in range(len(attacking)))])
        lower.append((0.0 if attacker.may_stay_away else None, None))
    limit = [float(count(others[0])) for others in units] + [0.0] * len(attacking)
    found = linprog(
        [0.0] * len(units) + [share] * len(attacking),
        A_ub=[*rows, limit],
        b_ub=[0.0] * len(rows) + [bound],
        A_eq=[[1.0] * len(units) + [0.0] * len(attacking)],
        b_eq=[1.0],
        bounds=[(0.0, None)] * len(units) + lower,
    )
    solution = solve(ConstrainedNash(game, parse_constraint(text, game)))
    if found.status == 2:
        assert solution.status is Status.INFEASIBLE
    else:
        assert solution.value == pytest.approx(found.fun, abs=1e-7)


@pytest.mark.parametrize("width", [2, 3])
def test_transit_is_a_patrol(width):
    """The paper's game, declared as a patrol: its value, and its value and price under a bound on the risk."""
    grid, transit = Grid(width), load_game("transit", width=width)
    roads = nx.Graph(
        (grid.label(cell), grid.label(target))
        for cell in range(grid.num_cells)
        for target in grid.steps(cell).values()
        if target != cell
    )
    east = [grid.label(cell) for cell in range(grid.num_cells) if grid.in_east(cell)]
    # Whoever escapes does not pay for the step in which it does.
    evader = Attacker(
        [grid.label(row * grid.columns) for row in range(width)], dict.fromkeys(east, 1.02), may_stay_away=False
    )
    game = PatrolGame(
        roads, steps=2 * width + 4, units=[Unit(base=f"r0c{width - 1}")], attackers=[evader], step=-0.02, failure=0.1
    )
    form, same = game.sequence_form, transit.sequence_form
    assert [each.num_sequences for each in form.treeplexes] == [each.num_sequences for each in same.treeplexes]
    assert solve(Nash(game)).value == pytest.approx(transit.reference_value, abs=1e-8)
    bounded, expected = (
        solve(ConstrainedNash(each, parse_constraint("risk <= 0.1 as risk", each))) for each in (game, transit)
    )
    assert bounded.value == pytest.approx(expected.value, abs=1e-8)
    assert bounded.multipliers["risk"] == pytest.approx(expected.multipliers["risk"], abs=1e-6)
    learned = solve(ConstrainedNash(game, parse_constraint("risk <= 0.1", game)), "ccfr", tol=0.02)
    assert learned.lower - 1e-9 <= expected.value <= learned.upper + 0.02


def test_regret_minimisation_solves_patrols_that_are_trees():
    """Without a node that two ways lead to at one time, plans need no flow."""
    road = nx.path_graph(["gate", "mill", "bank"], create_using=nx.DiGraph)
    game = PatrolGame(
        road,
        steps=2,
        units=[Unit(start="gate"), Unit(start="mill", shift=(1, 2))],
        attackers=[Attacker(["gate"], {"bank": 1.0})],
    )
    exact = solve(Nash(game)).value
    assert solve(Nash(game), "cfr+", tol=1e-4).value == pytest.approx(exact, abs=1e-4)


@thorough
@pytest.mark.parametrize("failure", [0.0, 0.2])
def test_without_units_attackers_gain_what_their_best_way_pays(failure, tmp_path):
    """What patrols are compared with: sensors alone cost attackers something."""
    game, _ = random_patrol(7)
    declared = dataclasses.replace(game.patrol, units=[], sensors=[Sensor("n1", 0.5)], failure=failure)
    alone = PatrolGame(declared)
    payoff = -alone.sequence_form.treeplexes[0].uniform_plan() * 0.0
    for number, (walker, share) in enumerate(zip(declared.attacking.walkers, declared.probabilities, strict=True)):
        payoff[walker.sequences] = share * declared.rewards(number)
    best = best_response_value(alone.sequence_form.treeplexes[0], payoff)
    solution = solve(Nash(alone))
    assert solution.value == pytest.approx(best, abs=1e-9)
    assert (
        solution.value >= solve(Nash(PatrolGame(dataclasses.replace(declared, units=game.patrol.units)))).value - 1e-9
    )
    assert solve(Nash(alone), "cfr+", tol=1e-2).value == pytest.approx(best, abs=2e-2)
    assert alone.functionals["worst"].value(solution.profile) >= best - 1e-9
    assert patrol_occupancy(alone, solution.profile[1]) == ()
    assert patrol_meetings(alone, solution.profile).total == patrol_meetings(alone, solution.profile).sensed
    PatrolPlan(alone, solution.profile).save(tmp_path / "plan.npz")
    assert PatrolPlan.load(tmp_path / "plan.npz").game.fingerprint == alone.fingerprint
    if not failure:
        caught = solve(CaughtOnce(PatrolGame(dataclasses.replace(declared, sensors=[]))))
        assert caught.value == pytest.approx(solve(Nash(PatrolGame(dataclasses.replace(declared, sensors=[])))).value)


def test_the_likeliest_routes_come_first():
    """Whoever waits at each place half of the time has many small routes beside the quick one."""
    roads = nx.grid_2d_graph(9, 9)
    roads.add_edge((8, 8), "near")
    attacker = Attacker([(0, 0), "near"], {(8, 8): 1.0})
    game = PatrolGame(roads, steps=20, units=[], attackers=[attacker])
    routes = likely_routes(game, Strategy.uniform(game, 0))
    assert [route.probability for route in routes[:3]] == pytest.approx([1 / 6, 1 / 12, 1 / 24])
    assert [route.stops[-1][0] for route in routes[:3]] == [1, 2, 3]


def test_patrols_are_stored_and_read_back(tmp_path):
    game, _ = random_patrol(5)
    again = pickle.loads(pickle.dumps(game))  # noqa: S301
    assert again.fingerprint == game.fingerprint
    solution = solve(Nash(again))
    solution.profile.save(tmp_path / "plan.npz")
    assert Profile.load(tmp_path / "plan.npz", game)[1].plan == pytest.approx(solution.profile[1].plan)
