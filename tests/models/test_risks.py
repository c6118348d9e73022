"""Tails, worst cases and spreads, against formulations of their own in cvxpy, and against differences."""

import cvxpy as cp
import networkx as nx
import numpy as np
import pytest
from effort import either

from treeplex import (
    ConstrainedNash,
    EpsilonSafeStyle,
    Functional,
    InvalidConstraintError,
    InvalidStrategyError,
    Nash,
    Status,
    Strategy,
    frequency,
    load_game,
    solve,
)
from treeplex.models.constraints import parse_constraint, risk_bound
from treeplex.models.games.patrol import Attacker, PatrolGame, Unit
from treeplex.models.risks import spread, tail
from treeplex.seqform.polytope import best_response_value


@pytest.fixture(scope="module")
def town():
    graph = nx.cycle_graph(["gate", "mill", "bank", "inn", "port"])
    graph.add_edge("mill", "inn")
    return PatrolGame(
        graph,
        steps=4,
        units=[Unit(base="mill"), Unit(base="inn", detection=0.5)],
        attackers=[
            Attacker(["gate"], {"bank": 3.0, "inn": 1.0}, probability=0.7),
            Attacker(["port"], {"bank": 2.0, "mill": 2.5}, probability=0.3, step=-0.1),
        ],
    )


def random_losses(game, seed, count=4):
    rng = np.random.default_rng(seed)
    size = game.sequence_form.treeplexes[0].num_sequences
    losses = [
        Functional(0, rng.normal(size=size), f"loss {number}", float(rng.normal()), game.fingerprint)
        for number in range(count)
    ]
    return losses, rng.dirichlet(np.ones(count))


def nash_in_cvxpy(game, constraints):
    """max over x of the least that any reply leaves, under constraints on x."""
    form = game.sequence_form
    own, other = form.treeplexes
    x, q = cp.Variable(own.num_sequences, nonneg=True), cp.Variable(other.num_infosets + 1)
    rows = [own.E @ x == own.e, other.E.T @ q <= form.A.T @ x, *constraints(x)]
    return cp.Problem(cp.Maximize(q[0]), rows).solve(solver="CLARABEL")


@pytest.mark.parametrize("seed", range(either(1, 30)))
@pytest.mark.parametrize("level", [0.0, 0.6, 0.9, 1.0])
def test_tails_are_those_of_rockafellar_and_uryasev(seed, level):
    game = load_game("kuhn")
    losses, chances = random_losses(game, seed)
    risk = tail(losses, level, chances)
    rows = np.array([one.coefficients for one in losses])
    constants = np.array([one.constant for one in losses])

    def by_definition(x):
        values = rows @ x + constants
        if level == 1.0:
            return cp.max(values)
        tau = cp.Variable()
        return tau + chances @ cp.pos(values - tau) / (1.0 - level)

    treeplex = game.sequence_form.treeplexes[0]
    x = cp.Variable(treeplex.num_sequences, nonneg=True)
    least = cp.Problem(cp.Minimize(by_definition(x)), [treeplex.E @ x == treeplex.e]).solve(solver="CLARABEL")
    uniform = Strategy.uniform(game, 0)
    given = cp.Problem(cp.Minimize(by_definition(x)), [x == uniform.plan]).solve(solver="CLARABEL")
    assert risk.value(uniform) == pytest.approx(given, abs=1e-6)
    bound = 0.5 * (least + risk.value(uniform))
    constraint = risk_bound(risk, at_most=bound, name="tail")
    exact = nash_in_cvxpy(game, lambda x: [by_definition(x) <= bound])
    for method in ("highs", "cvxpy"):
        solution = solve(ConstrainedNash(game, [constraint]), method)
        assert solution.status.is_success
        assert solution.value == pytest.approx(exact, abs=1e-6)
        assert solution.gap <= 1e-7
    slopes, constant = risk.function.minorant(uniform.plan)
    other = Strategy.from_dict(game, 0, {"J_": {"b": 1.0}, "Q_": {"p": 0.8, "b": 0.2}})
    assert slopes @ uniform.plan + constant == pytest.approx(risk.value(uniform), abs=1e-12)
    assert slopes @ other.plan + constant <= risk.value(other) + 1e-12
    # Whatever slopes are given, what they prove holds.
    wild = np.random.default_rng(seed).normal(size=risk.function.size)
    slopes, constant = risk.function.minorant(uniform.plan, wild)
    assert slopes @ other.plan + constant <= risk.value(other) + 1e-12


@pytest.mark.parametrize("norm", [1, 2, np.inf])
def test_spreads_are_norms_of_what_differs_from_the_mean(norm):
    game = load_game("kuhn")
    losses, _ = random_losses(game, 7)
    rows = np.array([one.coefficients for one in losses])
    constants = np.array([one.constant for one in losses])
    risk = spread(losses, norm)

    def by_definition(x):
        values = rows @ x + constants
        return cp.norm(values - cp.sum(values) / len(losses), "inf" if norm == np.inf else norm)

    treeplex = game.sequence_form.treeplexes[0]
    x = cp.Variable(treeplex.num_sequences, nonneg=True)
    least = cp.Problem(cp.Minimize(by_definition(x)), [treeplex.E @ x == treeplex.e]).solve(solver="CLARABEL")
    bound = 0.5 * (least + risk.value(Strategy.uniform(game, 0)))
    solution = solve(ConstrainedNash(game, [risk_bound(risk, at_most=bound)]), "cvxpy")
    assert solution.status.is_success
    assert solution.value == pytest.approx(nash_in_cvxpy(game, lambda x: [by_definition(x) <= bound]), abs=1e-5)


def losses_of(game, strategy, by_goal):
    """What each type earns at best by going for each goal alone, or for any, from games with one type and goal."""
    found, chances = [], []
    patrol = game.patrol
    for one in patrol.attackers:
        for goal in one.goals if by_goal else [None]:
            values = {name: value if goal in (None, name) else 0.0 for name, value in one.goals.items()}
            alone = Attacker(one.entries, values, step=one.step)
            again = PatrolGame(patrol.map, steps=patrol.steps, units=patrol.units, attackers=[alone])
            form = again.sequence_form
            found.append(best_response_value(form.treeplexes[0], form.gradient(0, [strategy.plan] * 2)))
            chances.append(one.probability / (len(one.goals) if by_goal else 1))
    return np.array(found), np.array(chances)


@pytest.mark.parametrize("seed", range(either(1, 20)))
def test_losses_of_a_patrol_are_best_routes_to_each_goal(town, seed):
    rng = np.random.default_rng(seed)
    treeplex = town.sequence_form.treeplexes[1]
    behaviour = np.concatenate([[1.0], *(rng.dirichlet(np.ones(k)) for k in treeplex.num_actions)])
    strategy = Strategy(town, 1, behaviour)
    values, chances = losses_of(town, strategy, by_goal=True)
    worst = np.argsort(-values)
    for level in (0.0, 0.5, 0.9):
        left = np.clip(
            np.minimum(np.cumsum(chances[worst]), 1 - level) - np.append(0, np.cumsum(chances[worst]))[:-1], 0, None
        )
        expected = left @ values[worst] / (1.0 - level)
        assert town.functionals[f"cvar({level})"].value(strategy) == pytest.approx(expected, abs=1e-9)
    assert town.functionals["worst"].value(strategy) == pytest.approx(
        losses_of(town, strategy, False)[0].max(), abs=1e-9
    )
    work = [town.functionals[f"workload(unit {number})"].value(strategy) for number in (1, 2)]
    for norm, expected in (("1", abs(work[0] - work[1])), ("inf", abs(work[0] - work[1]) / 2)):
        assert town.functionals[f"spread(workload, {norm})"].value(strategy) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "step"), [("cvar(0.8) <= 1.4 as limit", 1e-3), ("spread(workload) <= 0.2 as limit", 1e-3)]
)
def test_prices_are_differences(town, text, step):
    (constraint,) = parse_constraint(text, town, player=1)
    problem = ConstrainedNash(town, [constraint])
    solution = solve(problem)
    assert solution.status.is_success
    assert constraint.name == "limit"
    values = [solve(problem.with_bound("limit", constraint.bound + each)).value for each in (-step, step)]
    # Attackers gain where the limit is tighter; at a kink the price lies between the slopes.
    slopes = (values[0] - solution.value) / step, (solution.value - values[1]) / step
    assert min(slopes) - 1e-5 <= solution.multipliers["limit"] <= max(slopes) + 1e-5


def test_limits_that_cannot_be_met_name_what_excludes_them(town):
    texts = ("cvar(0.9) <= 1 as tail", "workload(unit 1) <= 0.1 as rest", "risk(unit 2) <= 1 as idle")
    constraints = [each for text in texts for each in parse_constraint(text, town, player=1)]
    solution = solve(ConstrainedNash(town, constraints))
    assert solution.status is Status.INFEASIBLE
    assert "tail" in solution.infeasibility.conflict
    assert "idle" not in solution.infeasibility.conflict


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cvar(2) <= 1", "the level is '2', expected cvar"),
        ("cvar(0.9) >= 1", "follows a convex measure, expected <="),
        ("cvar(0.9) + risk <= 1", "received a convex measure"),
        ("spread(workload, 3) <= 1", "the norm is '3', expected 1, 2 or inf"),
        ("spread(worklod) <= 1", "did you mean workload"),
        ("worst(1) <= 1", ", expected 'worst' without arguments"),
    ],
)
def test_texts_that_cannot_be_read(town, text, message):
    with pytest.raises(InvalidConstraintError, match=message):
        parse_constraint(text, town, player=1)


def test_the_least_risk_of_strategies_that_give_little_up(town):
    value = -solve(Nash(town)).value
    for text, epsilon in (("cvar(0.9)", 0.05), ("spread(workload)", 0.1)):
        risk = town.functionals[text]
        solution = solve(EpsilonSafeStyle(town, epsilon=epsilon, minimise=risk))
        assert solution.status.is_success
        assert solution.objective == pytest.approx(risk.value(solution.strategy), abs=1e-9)
        assert solution.exploitability <= epsilon + 1e-7
        # As a limit, what was found is worth what was given up.
        bound = risk_bound(risk, at_most=solution.objective + 1e-9, name="limit")
        limited = solve(ConstrainedNash(town, [bound]))
        assert -limited.value >= value - epsilon - 1e-6


@pytest.mark.parametrize(("level", "worth"), [(0.0, 2.0), (0.5, 3.0), (1.0, 3.0)])
def test_losses_without_a_probability_do_not_count(level, worth):
    game = load_game("kuhn")
    size = game.sequence_form.treeplexes[0].num_sequences
    losses = [Functional(0, np.zeros(size), "constant", constant) for constant in (1.0, 3.0, 9.0)]
    risk = tail(losses, level, [0.5, 0.5, 0.0])
    assert risk.value(Strategy.uniform(game, 0)) == pytest.approx(worth, abs=1e-12)
    for method in ("highs", "cvxpy"):
        solution = solve(ConstrainedNash(game, [risk_bound(risk, at_most=worth + 0.1)]), method)
        assert solution.value == pytest.approx(-1 / 18, abs=1e-6)
        assert solve(ConstrainedNash(game, [risk_bound(risk, at_most=worth - 0.1)]), method).status is Status.INFEASIBLE


def test_what_is_no_measure_of_one_plan_is_refused():
    game = load_game("kuhn")
    bet, call = (frequency(game, player, "b", infosets=[label]) for player, label in ((0, "K_"), (1, "K_b")))
    elsewhere = frequency(load_game("leduc"), 0, "r", first=True)
    for other in (call, elsewhere):
        with pytest.raises(InvalidConstraintError, match="expected all to belong to one player and one game"):
            tail([bet, other], 0.5)
        with pytest.raises(InvalidConstraintError, match="expected all to belong to one player and one game"):
            spread([bet, other])
    for given in ([], [1, bet]):
        with pytest.raises(InvalidConstraintError, match="expected one or more functionals"):
            tail(given, 0.5)
    for chances in (["a"], [0.5], [np.nan]):
        with pytest.raises(InvalidConstraintError, match="expected 1 that sum to 1"):
            tail([bet], 0.5, chances)
    with pytest.raises(InvalidConstraintError, match="the bound is 'x', expected a finite number"):
        risk_bound(spread([bet]), at_most="x")
    for wrong in (3, Strategy.uniform(game, 1), Strategy.uniform(load_game("leduc"), 0)):
        with pytest.raises(InvalidStrategyError, match="expected"):
            spread([bet]).value(wrong)


@pytest.mark.parametrize("constant", [-1.0, -3.0, 0.3, -0.1])
@pytest.mark.parametrize("method", ["highs", "cvxpy"])
def test_a_measure_below_0_is_minimised_too(method, constant):
    game = load_game("kuhn")
    parts = [frequency(game, 0, "p", infosets=[infoset]) for infoset in ("J_", "Q_", "K_", "J_pb", "K_pb")]
    moved = [Functional(0, part.coefficients, "", constant=part.constant + constant) for part in parts]
    found = [
        solve(EpsilonSafeStyle(game, epsilon=0.001, minimise=tail(each, 0.4)), method, tol=1e-7).certificate
        for each in (parts, moved)
    ]
    assert found[0].objective > 0.1
    for name in ("objective", "lower", "upper"):
        assert getattr(found[1], name) == pytest.approx(getattr(found[0], name) + constant, abs=1e-5)
