"""Caught at least once: double oracle against every pair of walks of tiny patrols."""

import itertools

import networkx as nx
import numpy as np
import pytest
from effort import either, few
from patrol_oracle import random_patrol
from scipy.optimize import linprog

from treeplex import InvalidStrategyError, Nash, Profile, Status, UnsupportedProblemError, load_game, solve
from treeplex.models.games.patrol import Attacker, CaughtOnce, PatrolGame, Sensor, Unit
from treeplex.models.games.patrol.caught_once import ROUTES, taken_apart
from treeplex.models.games.patrol.encounters import routes_matrix
from treeplex.models.games.patrol.route_responses import best_joint_route
from treeplex.models.games.patrol.route_search import Search
from treeplex.models.programs.integer_program import IntegerProgram


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


@few
@pytest.mark.parametrize("seed", range(either(3, 40)))
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


@pytest.mark.parametrize("forfeits", [False, True])
def test_integer_programs_find_routes_where_there_are_too_many_labels(monkeypatch, forfeits):
    game, _ = random_patrol(0, most=300)
    problem = CaughtOnce(game, forfeits=forfeits)
    by_labels = solve(problem, tol=1e-7)
    monkeypatch.setattr(Search, "best", lambda self, least: None)
    solution = solve(problem, tol=1e-7)
    assert solution.status is Status.CONVERGED
    assert solution.value == pytest.approx(by_labels.value, abs=1e-6)


def routes_of(treeplex, body):
    """All routes of a body whose moves do not fail."""

    def onward(infoset):
        for sequence in range(*treeplex.offsets[infoset : infoset + 2].tolist()):
            below = treeplex.inflow.tocsc()[:, [sequence]].tocoo().coords[0]
            yield from ((sequence, *rest) for rest in (onward(below[0]) if len(below) else [()]))

    return list(onward(int(treeplex.sequence_infosets[body.start])))


def test_best_joint_routes_are_those_of_all(monkeypatch):
    """Where detection differs from place to place it takes several programs, each with more inequalities."""
    grid = nx.relabel_nodes(nx.grid_2d_graph(2, 3), "{0[0]}.{0[1]}".format)
    programs, solve_one = [], IntegerProgram.solve
    monkeypatch.setattr(
        IntegerProgram, "solve", lambda self, *how, **more: programs.append(self) or solve_one(self, *how, **more)
    )
    seeds = either([2, 16, 23], range(60))
    for seed in seeds:
        rng = np.random.default_rng(seed)
        units = [
            Unit(base=base, detection={node: float(rng.choice([0.1, 0.5, 0.9])) for node in grid})
            for base in ("0.1", "1.1")
        ]
        game = PatrolGame(grid, steps=4, units=units, attackers=[Attacker(["0.0", "1.0"], {"0.2": 2.0, "1.2": 1.0})])
        meetings = CaughtOnce(game).encounters
        own, other = game.sequence_form.treeplexes
        attackers = taken_apart(CaughtOnce(game), 0, own.plan(np.append(1.0, rng.random(own.num_sequences - 1))))
        joint = [
            (0, *first, *second)
            for first, second in itertools.product(*(routes_of(other, body) for body in meetings.bodies[1]))
        ]
        paid = attackers.probabilities @ meetings.payoffs(
            0, attackers.matrix, routes_matrix([np.array(one) for one in joint], other.num_sequences)
        )
        found = best_joint_route(meetings, attackers)
        assert found.value == pytest.approx(paid.min(), abs=1e-8)
        assert paid.min() - 1e-7 <= found.bound <= paid.min() + 1e-9
    assert len(programs) > len(seeds)


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


@few
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
    for start in (solution.profile, *either((), (solution,))):
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


def test_starts_of_other_games_are_refused(solved):
    problem, solution = solved
    other = CaughtOnce(city(units=[Unit(base="1.1")]))
    for start in (solution, solution.profile):
        with pytest.raises(InvalidStrategyError, match="belongs to another game"):
            solve(other, start=start)
    with pytest.raises(InvalidStrategyError, match="start is 3, expected a Profile or a Solution"):
        solve(problem, start=3)


def test_what_has_no_routes_is_refused():
    with pytest.raises(UnsupportedProblemError, match="caught-once needs a PatrolGame, but kuhn is not one"):
        CaughtOnce(load_game("kuhn"))
    for changes, message in (
        ({"failure": 0.1}, r"failure is 0\.1, expected 0"),
        ({"meeting": 0.5}, r"attackers\[1\]\.meeting is 0\.5, expected at most 0"),
    ):
        with pytest.raises(UnsupportedProblemError, match=message):
            solve(CaughtOnce(city(**changes)))
