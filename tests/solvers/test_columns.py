"""Column generation: against linear programs of flows and of joint routes, under limits, and stopped runs."""

import itertools

import networkx as nx
import numpy as np
import pytest
from patrol_oracle import random_patrol
from scipy.optimize import linprog

from treeplex import (
    Checkpoint,
    ConstrainedNash,
    InvalidGameError,
    Nash,
    UnsupportedProblemError,
    load_game,
    parse_constraint,
    solve,
)
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers import Columns, Status
from treeplex.solvers.patrols import solve_patrol

EXACT = 1e-9


def town(seed, units=2, steps=6):
    """Return a patrol on a random street grid of up to 20 nodes, with two types of attackers."""
    rng = np.random.default_rng(seed)
    while True:
        roads = nx.DiGraph()
        for row, column in itertools.product(range(4), range(5)):
            for other in ((row + 1, column), (row, column + 1)):
                if other[0] < 4 and other[1] < 5 and rng.random() < 0.9:
                    ways = [((row, column), other), (other, (row, column))]
                    for one, two in ways if rng.random() < 0.8 else ways[:1]:
                        roads.add_edge("{}.{}".format(*one), "{}.{}".format(*two), steps=int(rng.integers(1, 3)))
        part = sorted(max(nx.strongly_connected_components(roads), key=len))
        names = [str(name) for name in rng.permutation(part)]
        try:
            return PatrolGame(
                roads.subgraph(part),
                steps=steps,
                units=[
                    Unit(base=base, detection=chance)
                    for base, chance in zip(names[3 : 3 + units], (0.8, 0.5, 1.0)[:units], strict=True)
                ],
                attackers=[
                    Attacker({names[0]: (0, 2), names[1]: (0, 1)}, {names[2]: 3.0, names[3]: 2.0}, probability=0.6),
                    Attacker([names[4]], {names[2]: 1.0, names[5]: 2.5}, probability=0.4),
                ],
            )
        except InvalidGameError:  # no route leads to a goal in time
            continue


def maps(count):
    """Yield random patrols: in turn towns, and tiny ones with all kinds of declarations, half of them with failures."""
    for seed in range(count):
        yield random_patrol(1000 + seed, failing=seed % 4 == 1)[0] if seed % 2 else town(seed)


def check_same(problem, exact, **how):
    """Check a solution by column generation against one by a linear program."""
    found = solve(problem, "columns", tol=EXACT * problem.game.stakes, **how)
    assert found.lower <= found.upper
    assert found.value == pytest.approx(exact.value, abs=1e-6)
    assert found.lower - 1e-6 <= exact.value <= found.upper + 1e-6
    assert found.upper - found.lower <= 1e-6
    return found


@pytest.mark.parametrize("part", range(25))
def test_equals_the_flow_program(part):
    for number, game in enumerate(maps(100)):
        if number % 25 == part:
            check_same(Nash(game), solve(Nash(game), "highs-simplex"))


@pytest.mark.parametrize("seed", range(20))
def test_limits(seed):
    game = town(2 * seed)
    texts = ["risk(unit 1) <= 0.2", "travel <= 5", f"visits({game.patrol.map.nodes[-1]}) >= 0.1"]
    limits = [limit for text in texts for limit in parse_constraint(text, game, player=1)]
    problem = ConstrainedNash(game, limits)
    exact = solve(problem, "highs-simplex")
    if exact.infeasibility is not None:
        assert solve(problem, "columns").status is Status.INFEASIBLE
        return
    found = check_same(problem, exact)
    assert found.violation <= 1e-8
    assert all(price >= 0.0 for price in found.multipliers.values())


@pytest.mark.parametrize("seed", range(6))
def test_starts_from_regrets(seed):
    game = town(seed, units=3, steps=7)
    check_same(Nash(game), solve(Nash(game), "highs-simplex"))
    found = solve(Nash(game), Columns(direct=0, first=0.05), tol=1e-7)
    assert found.status is Status.CONVERGED
    assert found.value == pytest.approx(solve(Nash(game), "highs-simplex").value, abs=1e-6)
    limited = ConstrainedNash(game, parse_constraint("travel <= 4", game, player=1))
    found = solve(limited, Columns(direct=0, first=0.05), tol=1e-7)
    assert found.value == pytest.approx(solve(limited, "highs-simplex").value, abs=1e-6)


def joint_routes_value(game):
    """Return the value by the program of all joint routes, from pure plans that are enumerated walk by walk."""
    form = game.sequence_form

    def pure(treeplex):
        plans = [np.eye(1, treeplex.num_sequences)[0]]
        for infoset in range(treeplex.num_infosets):
            grown = []
            for plan in plans:
                reached = treeplex.inflow[[infoset]] @ plan
                if not reached[0]:
                    grown.append(plan)
                    continue
                for sequence in range(treeplex.offsets[infoset], treeplex.offsets[infoset + 1]):
                    more = plan.copy()
                    more[sequence] = reached[0]
                    grown.append(more)
            plans = grown
        return np.array(plans)

    rows, columns = (pure(treeplex) for treeplex in form.treeplexes)
    table = rows @ (form.factored.left @ (form.factored.right @ columns.T))
    count = table.shape[1]
    found = linprog(
        np.append(np.zeros(count), 1.0),
        A_ub=np.column_stack([table, -np.ones(len(table))]),
        b_ub=np.zeros(len(table)),
        A_eq=[np.append(np.ones(count), 0.0)],
        b_eq=[1.0],
        bounds=[(0, None)] * count + [(None, None)],
    )
    return found.fun


@pytest.mark.parametrize("seed", range(50))
def test_equals_the_program_of_joint_routes(seed):
    game, _ = random_patrol(seed, most=400)
    found = solve(Nash(game), "columns", tol=EXACT)
    assert found.value == pytest.approx(joint_routes_value(game), abs=1e-6)


def test_stopped_runs_keep_their_bounds():
    game = town(0, units=3, steps=8)
    value = solve(Nash(game), "highs-simplex").value
    gaps = []
    for rounds in (1, 4, 8):
        found = solve(Nash(game), Columns(direct=0, first=1.0), tol=1e-9, max_iterations=rounds)
        assert found.lower - 1e-8 <= value <= found.upper + 1e-8
        form = game.sequence_form
        x, y = found.profile.plans
        assert found.upper == pytest.approx(best_response_value(form.treeplexes[0], form.gradient(0, [x, y])))
        assert found.lower == pytest.approx(-best_response_value(form.treeplexes[1], form.gradient(1, [x, y])))
        gaps.append(found.gap)
    assert gaps == sorted(gaps, reverse=True)
    stopped = solve(Nash(game), "columns", tol=1e-9, callback=lambda report: report.iterations >= 3)
    assert stopped.status is Status.INTERRUPTED
    assert stopped.lower - 1e-8 <= value <= stopped.upper + 1e-8


def test_checkpoint_and_start(tmp_path):
    game = town(4, units=3)
    path = tmp_path / "run.npz"
    first = solve(Nash(game), "columns", tol=1e-9, max_iterations=3, checkpoint=path)
    again = solve(Nash(game), "columns", tol=1e-9, checkpoint=Checkpoint(path, resume=True))
    whole = solve(Nash(game), "columns", tol=1e-9)
    assert first.iterations == 3
    assert again.value == pytest.approx(whole.value, abs=1e-7)
    assert again.iterations == whole.iterations
    started = solve(Nash(game), "columns", tol=1e-8, start=whole)
    assert started.iterations <= 3
    assert started.value == pytest.approx(whole.value, abs=1e-7)


def test_impossible_limits():
    game = town(0)
    problem = ConstrainedNash(game, parse_constraint("travel >= 1000", game, player=1))
    assert solve(problem, "columns").status is Status.INFEASIBLE


def test_limits_that_are_not_linear():
    game = town(0)
    problem = ConstrainedNash(game, parse_constraint("spread(workload) <= 0.5", game, player=1))
    with pytest.raises(UnsupportedProblemError, match=r"spread.*not linear in the plan: use highs or cvxpy"):
        solve(problem, "columns")


def test_names_and_messages():
    game = town(0)
    found = solve_patrol(game, "columns")
    assert found.method.name == "columns"
    assert "the last program has" in found.message
    assert solve(Nash(load_game("kuhn")), "columns").value == pytest.approx(-1 / 18)
