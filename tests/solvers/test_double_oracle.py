"""Caught at least once: double oracle against every pair of walks of tiny patrols."""

import itertools

import networkx as nx
import numpy as np
import pytest
from effort import either
from patrol_oracle import random_patrol
from scipy.optimize import linprog

from treeplex import Nash, Profile, Status, UnsupportedProblemError, load_game, solve
from treeplex.models.games.patrol import Attacker, PatrolGame, Sensor, Unit
from treeplex.models.problems import CaughtOnce
from treeplex.models.problems.caught_once import ROUTES, taken_apart


def escape(oracle, walk, others):
    """The probability that nobody detects a walk, from where bodies are."""
    chance = 1.0
    for leg in walk:
        for sensor in oracle.of["sensors"]:
            chance *= 1.0 - oracle.sensed(sensor, leg)
    for unit, other in zip(oracle.of["units"], others, strict=True):
        for mine, theirs in itertools.product(walk, other):
            for detected in oracle.met(unit, mine, theirs):
                chance *= 1.0 - detected
    return chance


def tables(oracle, forfeits):
    """What each type's walks are paid against every joint walk of the units."""
    walks = list(oracle.all_walks())
    count = len(oracle.of["attackers"])
    joint = list(itertools.product(*([tuple(made for _, made in walk) for walk, _ in each] for each in walks[count:])))
    found = []
    for attacker, own in zip(oracle.of["attackers"], walks[:count], strict=True):
        rows = [[0.0] * len(joint)] if attacker.may_stay_away else []
        for walk, _ in own:
            legs = tuple(made for _, made in walk)
            ways = sum(
                attacker.goals.get(leg.target, 0.0) + oracle.of["step"] * (leg.ends - leg.begins) for leg in legs
            )
            free = np.array([escape(oracle, legs, others) for others in joint])
            kept = free if forfeits else 1.0
            rows.append(ways * kept + oracle.of["meeting"] * (1.0 - free))
        found.append(np.array(rows))
    return found


def enumerated(found):
    """The value of the game between all walks."""
    share, width = 1.0 / len(found), found[0].shape[1]
    rows = [np.hstack([table, -np.eye(len(found))[[number] * len(table)]]) for number, table in enumerate(found)]
    costs = np.concatenate([np.zeros(width), np.full(len(found), share)])
    bounds = [(0, None)] * width + [(None, None)] * len(found)
    total = np.concatenate([np.ones(width), np.zeros(len(found))])[None]
    stacked = np.vstack(rows)
    return linprog(costs, A_ub=stacked, b_ub=np.zeros(len(stacked)), A_eq=total, b_eq=[1.0], bounds=bounds).fun


@pytest.mark.parametrize("seed", range(either(4, 100)))
def test_the_value_is_that_of_all_pairs_of_walks(seed):
    game, oracle = random_patrol(seed, most=either(300, 3000))
    for forfeits in (False, True):
        try:
            problem = CaughtOnce(game, forfeits=forfeits)
        except UnsupportedProblemError:
            assert forfeits  # some way costs more than being caught
            continue
        exact = enumerated(tables(oracle, forfeits))
        solution = solve(problem, tol=1e-7)
        assert solution.status is Status.CONVERGED
        assert solution.value == pytest.approx(exact, abs=1e-6)
        assert solution.lower - 1e-7 <= exact <= solution.upper + 1e-7
        if not forfeits:  # whoever is caught once is met once at least
            assert exact >= solve(Nash(game)).value - 1e-7


def city(detection=1.0, size=4, **changes):
    graph = nx.grid_2d_graph(size, size)
    graph = nx.relabel_nodes(graph, {node: f"{node[0]}.{node[1]}" for node in graph})
    last = size - 1
    declared = {
        "steps": 2 * size - 2,
        "units": [Unit(base="1.1", detection=detection), Unit(base=f"{last - 1}.{last}", detection=detection)],
        "attackers": [Attacker(["0.0", f"0.{last}"], {f"{last}.{last}": 1.5, f"{last}.0": 1.0})],
        "sensors": [Sensor("1.2", 0.2), Sensor("1.2", 0.5)],
        "step": -0.01,
    }
    return PatrolGame(graph, **(declared | changes))


@pytest.fixture(scope="module", params=[(0.6, 3), (1.0, 4)], ids=str)
def solved(request):
    problem = CaughtOnce(city(*request.param))
    return problem, solve(problem, tol=1e-3)


def test_the_certificate_is_computed_anew_from_the_mixtures(solved):
    problem, solution = solved
    state = solution.state
    assert solution.status is Status.CONVERGED
    assert solution.gap <= 2e-3
    saved = dict(zip(ROUTES, (state.attackers.saved(), state.units.saved()), strict=True))
    anew = problem.certify(solution.profile, dual_certificate=saved)
    # Both mixtures may have been best at different times, and proven with a gap left.
    assert anew.value[0] == pytest.approx(solution.value, abs=1e-12)
    assert solution.lower - 1e-6 <= anew.lower <= anew.value[0] + 1e-9
    assert anew.value[0] - 1e-9 <= anew.upper <= solution.upper + 1e-6
    for player, mixture in enumerate((state.attackers, state.units)):
        assert np.allclose(mixture.plan, solution.profile[player].plan, atol=1e-9)
    for start in (solution, solution.profile):
        second = solve(problem, tol=0.05, start=start)
        assert second.status is Status.CONVERGED
        assert solution.lower - 1e-6 <= second.upper


def test_mixtures_that_are_worse_prove_less(solved):
    problem, good = solved
    poor = problem.certify(Profile.uniform(problem.game))
    assert poor.lower <= good.upper
    assert poor.upper >= good.lower
    assert poor.exploitability > good.exploitability


def test_flows_are_taken_apart_into_routes_with_the_same_marginals():
    problem = CaughtOnce(city())
    profile = solve(Nash(problem.game)).profile
    for player in (0, 1):
        mixture = taken_apart(problem, player, profile[player].plan)
        assert np.allclose(mixture.plan, profile[player].plan, atol=1e-8)


def test_a_run_that_is_stopped_keeps_bounds(solved):
    problem, good = solved
    stopped = solve(problem, tol=0.0, callback=lambda progress: True)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.lower <= good.upper
    assert stopped.upper >= good.lower
    late = solve(problem, tol=1e-9, time_limit=0.0)
    assert late.status is Status.TIME_LIMIT
    assert late.lower <= late.upper


def test_what_has_no_routes_is_refused():
    with pytest.raises(UnsupportedProblemError, match="caught-once needs a PatrolGame, and kuhn is none"):
        CaughtOnce(load_game("kuhn"))
    for changes, message in (
        ({"failure": 0.1}, r"failure is 0\.1, expected 0"),
        ({"meeting": 0.5}, r"attackers\[1\]\.meeting is 0\.5, expected at most 0"),
    ):
        with pytest.raises(UnsupportedProblemError, match=message):
            CaughtOnce(city(**changes))
