"""Strong Stackelberg equilibria by branch and bound against a program for every reply of tiny patrols and matrices."""

import itertools
from dataclasses import replace
from importlib.resources import files

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from commitment_oracle import weak_value
from effort import either
from patrol_oracle import random_patrol
from scipy.optimize import linprog

from treeplex import Game, Nash, Profile, SequenceForm, Status, UnsupportedProblemError, load_game, solve
from treeplex.models.games.patrol import Attacker, Commitment, PatrolGame, Unit, units_payoff
from treeplex.models.problems import Stackelberg, stackelberg
from treeplex.models.programs.integer_program import IntegerProgram
from treeplex.seqform.errors import TimeLimitError
from treeplex.solvers import commitment_outcome
from treeplex.solvers.exact import commitment, commitment_proofs
from treeplex.solvers.exact.integer_answers import Strategies
from treeplex.solvers.patrols import patrol_problem


@pytest.fixture(autouse=True)
def many_replies(monkeypatch):
    """Solve small games like those whose replies are too many to be tried one by one."""
    monkeypatch.setattr(stackelberg, "pure_plans", lambda *_: None)


def best_commitment(theirs, mine, limits=()):
    """The most that a leader's mixture earns, given tables of each follower's replies by the leader's pure plans.

    Limits are pairs of coefficients by the leader's pure plans and an upper bound.
    """
    width, best = theirs[0].shape[1], -np.inf
    for replies in itertools.product(*(range(len(table)) for table in theirs)):
        rows = np.vstack([table - table[reply] for table, reply in zip(theirs, replies, strict=True)])
        most = np.concatenate([np.zeros(len(rows)), [bound for _, bound in limits]])
        rows = np.vstack([rows, *(row for row, _ in limits)])
        worth = sum(table[reply] for table, reply in zip(mine, replies, strict=True))
        found = linprog(-worth, A_ub=rows, b_ub=most, A_eq=np.ones((1, width)), b_eq=[1.0])
        if found.status == 0:
            best = max(best, -found.fun)
    return best


def walks_paid(oracle, goals, meeting):
    """What each type's walks, and staying away, are worth to it and to the units, by joint walks of the units."""
    walks = [[tuple(made for _, made in walk) for walk, _ in each] for each in oracle.all_walks()]
    count = len(oracle.of["attackers"])
    joint = list(itertools.product(*walks[count:]))
    theirs, mine = [], []
    for attacker, own in zip(oracle.of["attackers"], walks[:count], strict=True):
        away = [np.zeros(len(joint))] if attacker.may_stay_away else []
        other = type(oracle)(oracle.graph, oracle.of | {"meeting": meeting, "step": 0.0})
        units = replace(attacker, goals={goal: goals[goal] for goal in attacker.goals})
        theirs.append(
            np.array(away + [np.array([oracle.pays(attacker, walk, each) for each in joint]) for walk in own])
        )
        mine.append(np.array(away + [np.array([other.pays(units, walk, each) for each in joint]) for walk in own]))
    share = 1.0 / count
    return [share * table for table in theirs], [share * table for table in mine]


@pytest.mark.parametrize("seed", range(either(6, 60)))
def test_patrols_against_every_route(seed):
    game, oracle = random_patrol(seed, most=either(300, 1000))
    rng = np.random.default_rng(seed)
    goals, meeting = (
        {goal: float(rng.uniform(-5, 1)) for goal in oracle.of["attackers"][0].goals},
        float(rng.uniform(0, 3)),
    )
    theirs, mine = walks_paid(oracle, goals, meeting)
    problem = Stackelberg(game, payoff=units_payoff(game.patrol, goals, meeting))
    solution = solve(problem)
    assert solution.status is Status.OPTIMAL
    assert solution.exploitability <= 1e-8
    assert solution.objective == pytest.approx(best_commitment(theirs, mine), abs=1e-6)
    assert solution.state.bound == pytest.approx(solution.objective, abs=1e-6)
    assert solution.lower <= solution.upper <= solution.lower + 1e-6
    # What detections pay is opposed, so that the program is not about their products with replies.
    theirs, mine = problem.payoffs
    _, rest = mine.opposed_to(theirs)
    least, most = rest.quantities
    assert not rest.left[:, most > least].nnz
    # Opposed, a commitment is worth the value of the game.
    opposed = solve(Stackelberg(game))
    assert opposed.objective == pytest.approx(-solve(Nash(game), "highs-simplex").value, abs=1e-9)


@pytest.mark.parametrize("seed", range(either(3, 30)))
def test_weak_ties_of_patrols_against_every_route(seed, monkeypatch):
    monkeypatch.undo()
    game, oracle = random_patrol(seed, most=60)
    rng = np.random.default_rng(seed)
    goals = {goal: float(rng.integers(-5, 2)) for goal in oracle.of["attackers"][0].goals}
    theirs, mine = (
        np.array([sum(one) for one in itertools.product(*tables)]) for tables in walks_paid(oracle, goals, 1.0)
    )
    supremum = weak_value(theirs, mine)
    declared = Commitment(goals, meeting=1.0, ties="weak")
    weak = solve(patrol_problem(PatrolGame(replace(game.patrol, commitment=declared))))
    assert weak.status is Status.OPTIMAL
    assert weak.exploitability <= 1e-9
    for number in (weak.lower, weak.upper):
        assert number == pytest.approx(supremum, abs=1e-8)
    assert supremum - 1e-4 <= weak.objective <= supremum + 1e-8
    outcome = commitment_outcome(weak)
    assert (outcome.ties, outcome.to_dict()["ties"]) == ("weak", "weak")
    assert outcome.opposed <= supremum + 1e-6


def grid_patrol(seed):
    """A unit and two types of attackers at random nodes of a grid, and random losses of the units."""
    rng = np.random.default_rng(seed)
    town = nx.relabel_nodes(nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4)), "n{}".format)
    types, own = [], []
    for share in (0.4, 0.6):
        drawn = rng.permutation(16)[:5]
        types.append(
            Attacker([f"n{one}" for one in drawn[:2]], {f"n{one}": rng.uniform(1, 8) for one in drawn[2:]}, share)
        )
        own.append({goal: -rng.uniform(1, 15) for goal in types[-1].goals})
    units = [Unit(base=f"n{rng.integers(16)}")]
    return PatrolGame(town, steps=5, units=units, attackers=types, meeting=-2.0, commitment=Commitment(own, 1.0))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_random_grids_with_two_types_are_proven(seed):
    solution = solve(patrol_problem(grid_patrol(seed)), time_limit=120)
    assert solution.status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("steps", "meeting"), [(6, 0.0), (7, 5.0), *(pytest.param(12, each, marks=pytest.mark.slow) for each in (0.0, 5.0))]
)
def test_two_types_on_the_map_of_the_tutorial(steps, meeting):
    town = nx.read_graphml(files("treeplex.models.games.patrol") / "town.graphml")
    types = [
        Attacker(["west gate", "east gate"], {"bank": 3, "jeweller": 2}, name="gang", probability=0.4),
        Attacker(["south gate"], {"museum": 2, "jeweller": 1.5}, name="thief", probability=0.6),
    ]
    own = Commitment({"bank": -10.0, "jeweller": -3.0, "museum": -1.0}, meeting=meeting)
    units = [Unit(base="police"), Unit(base="depot")]
    game = PatrolGame(town, steps=steps, units=units, attackers=types, meeting=-2, commitment=own)
    problem = patrol_problem(game)
    solution = solve(problem, time_limit=200)
    assert solution.status is Status.OPTIMAL
    assert solution.exploitability <= 1e-8
    assert solution.state.bound == pytest.approx(solution.objective, abs=1e-6)
    assert solution.objective > commitment_outcome(solution).opposed - 1e-6


@pytest.mark.parametrize("seed", range(either(3, 40)))
@pytest.mark.parametrize("leader", [0, 1])
def test_matrix_games_against_every_reply(seed, leader):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(-5, 6, size=(2, 3, 4)).astype(float)
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(first, second))
    tables = (second.T, first.T) if leader == 0 else (first, second)
    solution = solve(Stackelberg(game, leader=leader))
    assert solution.objective == pytest.approx(best_commitment([tables[0]], [tables[1]]), abs=1e-7)
    assert solution.certificate.value[leader] == solution.objective


@pytest.mark.parametrize("leader", [0, 1])
def test_opposed_trees_give_the_value(leader):
    game = load_game("leduc:ranks=2,suits=2") if leader else load_game("kuhn")
    solution = solve(Stackelberg(game, leader=leader))
    exact = solve(Nash(game), "highs-simplex").value
    assert solution.objective == pytest.approx(exact if leader == 0 else -exact, abs=1e-9)


def test_a_wrong_reply_is_found_out():
    game = load_game("kuhn")
    certificate = Stackelberg(game, leader=0).certify(Profile.uniform(game))
    assert certificate.exploitability == pytest.approx(0.541666667)
    assert certificate.upper is None


def test_committing_pays_where_values_are_not_opposed():
    town = nx.Graph([("gate", "mill"), ("gate", "bank"), ("inn", "mill"), ("inn", "bank")])
    thieves = [Attacker(["gate"], {"bank": 3.0, "mill": 1.0}), Attacker(["gate"], {"bank": 1.0, "mill": 3.0})]
    game = PatrolGame(town, steps=1, units=[Unit(start="inn")], attackers=thieves)
    payoff = units_payoff(game.patrol, [{"bank": -10.0}, {"mill": -10.0}], meeting=1.0)
    solution = solve(Stackelberg(game, payoff=payoff))
    equilibrium = Stackelberg(game, payoff=payoff).certify(solve(Nash(game)).profile)
    assert solution.objective >= equilibrium.objective - 1e-9


@pytest.mark.parametrize("seed", range(either(8, 200)))
def test_units_of_either_player_change_nothing(seed):
    """The follower's payoffs may be a million million times the leader's."""
    rng = np.random.default_rng(seed)
    theirs, mine = rng.integers(-3, 4, size=(2, 4, 4)).astype(float)
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(1e6 * theirs, 1e-6 * mine))
    solution = solve(Stackelberg(game))
    assert solution.status is Status.OPTIMAL
    best = best_commitment([theirs], [mine])
    assert 1e6 * solution.objective == pytest.approx(best, abs=1e-7)
    assert 1e6 * solution.state.bound == pytest.approx(best, abs=1e-6)


@pytest.fixture
def example():
    """Conitzer and Sandholm 2006, figure 1."""
    return Game.from_sequence_form(SequenceForm.from_payoff_matrix([[2, 4], [1, 3]], [[1, 0], [0, 1]]))


@pytest.mark.parametrize(
    ("ending", "status"),
    [(TimeLimitError("it is late"), Status.TIME_LIMIT), (KeyboardInterrupt(), Status.INTERRUPTED)],
)
def test_what_ends_the_branch_and_bound_keeps_the_best_so_far(example, monkeypatch, ending, status):
    solve_whole = IntegerProgram.solve
    monkeypatch.setattr(
        IntegerProgram, "solve", lambda self, *how, **more: replace(solve_whole(self, *how, **more), ending=ending)
    )
    solution = solve(Stackelberg(example, leader=0))
    assert solution.status is status
    assert solution.objective == pytest.approx(3.5)
    assert solution.state.bound == pytest.approx(3.5)


def test_a_commitment_that_misses_the_bound_is_not_called_optimal(example, monkeypatch):
    reply = solve(Stackelberg(example, leader=0)).profile[1].plan
    worse = Strategies((np.array([1.0, 0.0, 1.0]), reply))
    monkeypatch.setattr(commitment, "_committed", lambda *arguments: worse)
    solution = solve(Stackelberg(example, leader=0))
    assert solution.status is Status.UNCERTIFIED
    assert "the objective is 0.5 below the bound" in solution.message


def test_parts_prove_the_optimum_only_if_they_are_all_plans(example):
    problem = Stackelberg(example, leader=0)
    solution = solve(problem)
    assert solution.upper == pytest.approx(3.5, abs=1e-6)
    assert "not certified" not in solution.message
    program, rng = problem.integer_program().program, np.random.default_rng(0)
    parts = np.array([[-1.0, 0.0, -1.0], [-1.0, 1.0, 0.0], [-1.0, 1.0, 1.0]])
    for _ in range(20):  # any multipliers prove a bound
        proof = {"relaxation": rng.normal(size=(3, program.shape[0])), "fixed": parts}
        assert problem.certify(solution.profile, dual_certificate=proof).upper >= 3.5 - 1e-6
    for wrong in (parts[:2], parts[[0, 2]], np.array([[-1.0, 0.0, -1.0], [-1.0, -1.0, 1.0]])):
        proof = {"relaxation": np.zeros((len(wrong), program.shape[0])), "fixed": wrong}
        assert problem.certify(solution.profile, dual_certificate=proof).upper is None
    proof = {"relaxation": np.zeros((2, program.shape[0])), "fixed": parts}
    assert problem.certify(solution.profile, dual_certificate=proof).upper is None


def test_what_the_numbers_are_is_said(example, monkeypatch):
    monkeypatch.setattr(commitment_proofs, "_MOST_PROGRAMS", 0)
    solution = solve(Stackelberg(example, leader=0))
    assert "optimal according to the solver (not certified)" in solution.message
    assert solution.upper >= 3.5
    assert "found no commitment that pays more than 3.5" in solution.message
    html = solution.report().to_html()
    assert "gained by the follower" in html
    assert "of the value of the game" not in html


def test_what_does_not_fit_is_refused():
    game = load_game("kuhn")
    with pytest.raises(UnsupportedProblemError, match=r"payoff has shape \(2, 2\), expected \(13, 13\)"):
        solve(Stackelberg(game, payoff=np.eye(2)))
    with pytest.raises(UnsupportedProblemError, match="leader is 2, expected a whole number from 0 to 1"):
        Stackelberg(game, leader=2)
    with pytest.raises(UnsupportedProblemError, match="payoff contains a number that is not finite"):
        Stackelberg(game, payoff=np.full((13, 13), np.nan))
    with pytest.raises(UnsupportedProblemError, match="may fail"):
        solve(Stackelberg(load_game("transit:width=2")))


@pytest.mark.parametrize("seed", range(either(8, 200)))
def test_constraints_on_the_leader_against_every_reply(seed):
    rng = np.random.default_rng(seed)
    theirs, mine = rng.integers(-3, 4, size=(2, 4, 5)).astype(float)
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(theirs, mine))
    limits = [(rng.integers(-2, 3, size=5).astype(float), float(rng.uniform(0.0, 0.6))) for _ in range(2)]
    y = game.plan(1)
    problem = Stackelberg(game, constraints={f"c{n}": row @ y[1:] <= most for n, (row, most) in enumerate(limits)})
    best = best_commitment([theirs], [mine], limits)
    solution = solve(problem)
    if not np.isfinite(best):
        assert solution.status is Status.INFEASIBLE
        return
    assert solution.status is Status.OPTIMAL
    assert solution.objective == pytest.approx(best, abs=1e-6)
    assert solution.state.bound == pytest.approx(best, abs=1e-6)
    assert solution.violation < 1e-8


def test_limits_of_a_patrol_hold_under_commitment():
    town = nx.Graph([("gate", "mill"), ("gate", "bank"), ("inn", "mill"), ("inn", "bank")])
    thief = Attacker(["gate"], {"bank": 3.0, "mill": 1.0})
    patrol = {"steps": 1, "units": [Unit(start="inn")], "attackers": [thief], "meeting": -4.0}
    game = PatrolGame(town, **patrol, limits=["coverage(bank) <= 0.3"])
    payoff = units_payoff(game.patrol, {"bank": -10.0, "mill": -1.0}, meeting=5.0)
    free, bound = (solve(Stackelberg(game, payoff=payoff, constraints=some)) for some in ((), game.constraints))
    covered = game.constraints[0]
    assert covered.value(free.profile[1].plan) > 0.01
    assert covered.value(bound.profile[1].plan) == pytest.approx(0.0, abs=1e-8)
    assert bound.objective < free.objective - 0.01
    steps = [PatrolGame(town, **patrol, limits=[f"coverage(bank) <= {share}"]) for share in (0.299, 0.301)]
    less, more = (
        solve(
            Stackelberg(
                one,
                payoff=units_payoff(one.patrol, {"bank": -10.0, "mill": -1.0}, meeting=5.0),
                constraints=one.constraints,
            )
        ).objective
        for one in steps
    )
    assert (more - less) / 0.002 == pytest.approx(bound.multipliers[covered.name], abs=1e-4)


def test_a_violated_constraint_is_in_the_certificate(example):
    x = example.plan(0)
    problem = Stackelberg(example, leader=0, constraints={"first": x[1] <= 0.25})
    assert problem.certify(Profile.uniform(example)).violations == {"first": 0.25}


def test_constraints_that_do_not_fit_are_refused():
    game = load_game("kuhn")
    x, y = game.plan(0), game.plan(1)
    with pytest.raises(UnsupportedProblemError, match="constraint 'other' is on player 0, expected a linear"):
        Stackelberg(game, constraints={"other": x[1] <= 0.5})
    with pytest.raises(UnsupportedProblemError, match="constraint 'round' is not linear, expected a linear"):
        Stackelberg(game, constraints={"round": cp.sum_squares(y) <= 3.0})
