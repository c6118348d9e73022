"""Caught once under limits: against the linear program between all routes, and through declarations and commands."""

import itertools
import json
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from effort import either, few
from patrol_oracle import random_patrol
from scipy.optimize import linprog

from treeplex import Status, UnsupportedProblemError, parse_constraint, solve
from treeplex.cli import main
from treeplex.models.games.patrol import (
    Attacker,
    CaughtOnce,
    Commitment,
    PatrolGame,
    PatrolPlan,
    Unit,
    attacks,
    caught_attacks,
    roster,
    schedule,
)
from treeplex.models.games.patrol.detection_tables import detection_table
from treeplex.models.games.patrol.encounters import routes_matrix
from treeplex.seqform.errors import InvalidGameError
from treeplex.solvers import carry_plan, solve_patrol

TOWN = nx.Graph(
    [("gate", "mill"), ("gate", "inn"), ("mill", "bank"), ("inn", "bank"), ("mill", "inn"), ("bank", "port")]
)
GANG = Attacker({"gate": (0, 1)}, {"bank": 2.0, "port": 1.0})
UNITS = [Unit(start="mill", detection=0.7), Unit(start="inn", detection=0.5)]
LIMITS = ["coverage(inn, 1..2) >= 0.4", "travel <= 1.5"]
FILE = """
map = "roads.csv"
steps = 3
[payoffs]
detections = "once"
[[units]]
start = "mill"
detection = 0.7
[[units]]
start = "inn"
detection = 0.5
[[attackers]]
entries = { gate = [0, 1] }
goals = { bank = 2.0, port = 1.0 }
[[limits]]
text = "coverage(inn, 1..2) >= 0.4"
[[limits]]
text = "travel <= 1.5"
"""


def patrol(**changes):
    declared = {"steps": 3, "units": UNITS, "attackers": [GANG], "limits": LIMITS, "detections": "once"}
    return PatrolGame(TOWN, **(declared | changes))


@pytest.fixture(scope="module")
def solved():
    return solve_patrol(patrol(), tol=1e-6)


def routes_of(treeplex, body):
    """All routes of a body whose moves do not fail."""

    def onward(infoset):
        for sequence in range(*treeplex.offsets[infoset : infoset + 2].tolist()):
            below = treeplex.inflow.tocsc()[:, [sequence]].tocoo().coords[0]
            yield from ((sequence, *rest) for rest in (onward(below[0]) if len(below) else [()]))

    return list(onward(int(treeplex.sequence_infosets[body.start])))


def enumerated(problem):
    """The value by one linear program over all routes and joint routes; none if no mixture meets the limits."""
    meetings, (own, other) = problem.encounters, problem.game.sequence_form.treeplexes
    joint = routes_matrix(
        [
            np.array((0, *itertools.chain(*parts)))
            for parts in itertools.product(*(routes_of(other, body) for body in meetings.bodies[1]))
        ],
        other.num_sequences,
    )
    count, types = joint.shape[0], len(meetings.shares)
    rows, bounds = [], []
    for body, part in enumerate(meetings.bodies[0]):
        ways = routes_matrix([np.array(route) for route in routes_of(own, part)], own.num_sequences)
        table = meetings.payoffs(body, ways, joint)
        rows.append(np.hstack([table, -np.eye(types)[[body] * len(table)]]))
        bounds += [0.0] * len(table)
    for one in problem.constraints:
        weights = np.zeros(other.num_sequences)
        weights[one.indices] = one.coefficients
        rows.append(np.append(joint @ weights, np.zeros(types))[None])
        bounds.append(one.limit)
    found = linprog(
        np.append(np.zeros(count), meetings.shares),
        A_ub=np.vstack(rows),
        b_ub=bounds,
        A_eq=[np.append(np.ones(count), np.zeros(types))],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)] * types,
    )
    return None if found.status == 2 else found.fun


@few
@pytest.mark.parametrize("seed", [4, 7, 10, *range(20, either(20, 45))])
def test_the_value_is_that_of_all_routes_that_meet_the_limits(seed):
    game, _ = random_patrol(seed, most=300)
    last = game.patrol.map.nodes[-1]
    for forfeits in (False, True):
        limits = parse_constraint(f"visits({last}) >= 0.3", game, player=1)
        limits += parse_constraint("travel <= 1", game, player=1)
        problem = CaughtOnce(game, constraints=limits, forfeits=forfeits)
        try:
            exact = enumerated(problem)
        except UnsupportedProblemError:
            assert forfeits  # some way costs more than being caught
            continue
        solution = solve(problem, tol=1e-7)
        if exact is None:
            assert solution.status is Status.INFEASIBLE
            assert solution.infeasibility.relaxations
            continue
        assert solution.status is Status.CONVERGED
        assert solution.value == pytest.approx(exact, abs=1e-6)
        assert solution.lower - 1e-9 <= exact <= solution.upper + 1e-9
        assert max(solution.certificate.violations.values()) <= 1e-9
        assert solution.value >= solve(CaughtOnce(game, forfeits=forfeits), tol=1e-7).value - 1e-6


def test_multipliers_are_prices_and_prove_the_lower_bound(solved):
    problem, state = solved.problem, solved.state
    free = problem.proven(state.attackers, state.units, {})
    proven = problem.proven(state.attackers, state.units, solved.multipliers)
    assert free.lower < proven.lower <= solved.value + 1e-9
    assert proven.lower == pytest.approx(solved.lower, abs=1e-6)
    name, step = "travel <= 1.5", 0.01
    games = [patrol(limits=[LIMITS[0], f"travel <= {1.5 + by}"]) for by in (-step, step)]
    less, more = (enumerated(CaughtOnce(game, constraints=game.constraints)) for game in games)
    price = solved.multipliers[name]
    assert (solved.value - more) / step - 1e-5 <= price <= (less - solved.value) / step + 1e-5


def test_a_mixture_that_misses_a_limit_proves_no_upper_bound(solved):
    free = solve(CaughtOnce(solved.problem.game), tol=1e-6)
    assert solved.problem.proven(free.state.attackers, free.state.units, {}).upper == np.inf


def test_a_start_that_misses_the_limits_is_mended(solved):
    free = solve(CaughtOnce(solved.problem.game), tol=1e-6)
    for start in (free.profile, *either((), (solved,))):
        again = solve(solved.problem, tol=1e-6, start=start)
        assert again.value == pytest.approx(solved.value, abs=1e-5)


def test_days_are_drawn_from_the_joint_routes(solved, tmp_path: Path):
    game, mixture = solved.problem.game, solved.state.units
    PatrolPlan(game, solved.profile, routes=mixture).save(tmp_path / "plan.npz")
    plan = PatrolPlan.load(tmp_path / "plan.npz")
    month = schedule(plan.game, plan.profile, days=4000, seed=5, routes=plan.routes)
    walkers = game.patrol.patrolling.walkers
    days = np.zeros((4000, mixture.num_sequences))
    for walker, walks in zip(walkers, month.walks, strict=True):
        for day, moves in enumerate(walks.moves):
            days[day, walker.sequences[moves[moves >= 0]]] = 1.0
    days[:, 0] = 1.0
    known = {tuple(row): chance for row, chance in zip(mixture.matrix.toarray(), mixture.probabilities, strict=True)}
    rows, counts = np.unique(days, axis=0, return_counts=True)
    for row, count in zip(rows, counts, strict=True):
        chance = known[tuple(row)]  # every day is one of the joint routes
        assert abs(count / 4000 - chance) <= 5 * np.sqrt(chance * (1 - chance) / 4000) + 1e-9
    assert all(check.agrees for check in month.check(game.constraints))
    again = schedule(plan.game, plan.profile, days=4000, seed=5, day=77, routes=plan.routes)
    assert list(again.rows()) == [row for row in month.rows() if row["day"] == 77]


def test_the_best_attacks_are_those_of_all_routes(solved):
    problem, units = solved.problem, solved.state.units
    found = {one.goal: one for one in caught_attacks(problem, units)}
    own, meetings = problem.game.sequence_form.treeplexes[0], problem.encounters
    (walker,), patrolled = problem.game.patrol.attacking.walkers, problem.game.patrol
    for goal, worth in (("bank", 2.0), ("port", 1.0)):
        best = 0.0
        for route in routes_of(own, meetings.bodies[0][0]):
            ends = [walker.targets[each - walker.sequences[0]] for each in route if each >= walker.sequences[0]]
            arrives = bool(ends) and patrolled.map.nodes[ends[-1]] == goal
            way = routes_matrix([np.array(route)], own.num_sequences)
            caught = 1.0 - float((meetings.survival(way, units.matrix) @ units.probabilities)[0])
            best = max(best, worth * arrives - caught)
        assert found[goal].earns == pytest.approx(best, abs=1e-9)
        assert 0.0 <= found[goal].detections <= 1.0


def test_what_does_not_go_with_one_detection_is_refused(solved):
    game = solved.problem.game
    for changes, message in (
        ({"detections": "first"}, "detections is 'first', expected every or once|detections is 'first'"),
        ({"detections": "every", "forfeits": True}, 'forfeits is for detections = "once"'),
        ({"failure": 0.1}, r'failure is 0\.1 together with detections = "once"'),
        ({"meeting": 0.5}, r"meeting is 0\.5, expected at most 0: being caught must not pay"),
        ({"commitment": Commitment({"bank": -1.0})}, 'commitment is given together with detections = "once"'),
    ):
        with pytest.raises(InvalidGameError, match=message):
            patrol(**changes)
    with pytest.raises(UnsupportedProblemError, match="is not linear, expected a linear constraint on the units"):
        solve_patrol(patrol(limits=["spread(workload) <= 1"]))
    with pytest.raises(UnsupportedProblemError, match="expected caught_attacks"):
        attacks(game, solved.profile)
    with pytest.raises(UnsupportedProblemError, match=r"expected routes=solution\.state\.units, or plan\.routes"):
        schedule(game, solved.profile, days=2, seed=1)
    with pytest.raises(UnsupportedProblemError, match=r"expected schedule\(…, routes=plan\.routes\)"):
        roster(game, solved.profile, days=2, seed=1)
    with pytest.raises(UnsupportedProblemError, match=r'expected detections = "every", or caught_attacks\('):
        detection_table(game, solved.profile)
    with pytest.raises(UnsupportedProblemError, match="joint routes, which are not carried to another map"):
        carry_plan(PatrolPlan(game, solved.profile), game)


def test_files_and_commands(solved, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("roads.csv").write_text("\n".join(",".join(edge) for edge in TOWN.edges))
    Path("town.toml").write_text(FILE)
    command = ["patrol", "town.toml", "--json", "a.json", "--out", "plan.npz", "--html", "plan.html"]
    assert main([*command, "--what-if", "without unit 2"]) == 0
    printed = capsys.readouterr().out
    assert "caught-once on town.toml" in printed
    assert "caught  route, with times of arrival" in printed
    said = json.loads(Path("a.json").read_text())
    assert said["value"] == pytest.approx(solved.value, abs=1e-5)
    assert sum(one["probability"] for one in said["joint_routes"]) == pytest.approx(1.0, abs=1e-9)
    assert next([one["who"] for one in each["routes"]] for each in said["joint_routes"]) == ["unit 1", "unit 2"]
    assert said["what_if"][0]["worth"] < 0.0
    assert "one line is drawn each day" in Path("plan.html").read_text()
    assert main(["patrol", "schedule", "plan.npz", "--seed", "3", "--out", "month.csv"]) == 0
    assert main(["solve", "town.toml", "--problem", "caught-once", "--json", "b.json"]) == 0
    assert json.loads(Path("b.json").read_text())["value"] == pytest.approx(solved.value, abs=1e-5)
    Path("adds.toml").write_text(FILE.replace('detections = "once"', ""))
    assert main(["patrol", "adds.toml", "--caught-once", "--json", "c.json"]) == 0
    assert json.loads(Path("c.json").read_text())["value"] == pytest.approx(solved.value, abs=1e-5)
    Path("wrong.toml").write_text(FILE.replace('"once"', '"onec"'))
    capsys.readouterr()
    assert main(["patrol", "wrong.toml"]) == 2
    assert "wrong.toml: line 5: detections is 'onec'" in capsys.readouterr().err
    assert main(["patrol", "town.toml", "--caught-once", "--limit", "visits(bank) >= 9"]) == 1
    Path("failing.toml").write_text(
        FILE.replace('detections = "once"', "").replace("steps = 3", "steps = 3\nfailure = 0.1")
    )
    assert main(["patrol", "failing.toml", "--caught-once"]) == 2
    assert "failure is 0.1 together with" in capsys.readouterr().err
