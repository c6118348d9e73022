"""The theorems on constrained CFR hold of convex constraints: balls, norms, squares, entropies and maxima."""

import math

import cvxpy as cp
import numpy as np
import pytest
from constrained_cases import KUHN, random_plan
from effort import examples, few, thorough
from hypothesis import given
from hypothesis import strategies as st
from observed_games import opponent_of, versus
from plain_regrets import match_regrets
from random_flows import random_flow
from random_trees import to_game, trees

from treeplex import (
    CCFR,
    ConstrainedNash,
    Game,
    Profile,
    SequenceForm,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import LinearConstraint, collect_constraints, distance_bound
from treeplex.models.distances import KLDistance, L1Distance, L2Distance
from treeplex.models.observations import observed_events
from treeplex.seqform.evaluate import best_response_values, expected_payoffs
from treeplex.seqform.observer import observer_tree
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers.constrained_exploitability import constrained_exploitability, least_violation
from treeplex.solvers.regret.ccfr_bounds import MeasuredRun, best_step, ccfr_bounds
from treeplex.solvers.regret.ccfr_theorems import bound_constants, function_extent
from treeplex.solvers.regret.constraints import KernelConstraints
from treeplex.solvers.regret.kernel import kernel_of

STEPS, TANGENTS = st.sampled_from(["constant", "decreasing"]), st.sampled_from(["iterate", "average"])
DISTANCES = {"l1": L1Distance, "l2": L2Distance, "kl": KLDistance}
SMOOTH = ["l2", "kl", "norm", "squares", "form"]
KINKED = ["l1", "largest", "maximum"]


def run(game, constraints, beta, iterations, steps="constant", tangents="iterate", step=0.1):
    method = CCFR(base="cfr", updates="simultaneous", steps=steps, step=step, tangents=tangents)
    return solve(ConstrainedNash(game, constraints, penalty=beta), method, tol=0, max_iterations=iterations)


def random_strategy(game, player, rng):
    return Strategy(game, player, random_plan(game.sequence_form.treeplexes[player], rng))


def drawn(game, player, kind, rng, room, name, met=None):
    """Return a random convex constraint that a plan meets with so much room; with room below 0 it may not."""
    met = random_strategy(game, player, rng) if met is None else met
    if kind in DISTANCES:
        distance = DISTANCES[kind](random_strategy(game, player, rng))
        return distance_bound(distance, at_most=max(float(distance.value(met)) + room, 0.02), name=name)
    plan = game.plan(player)
    matrix, shifts = rng.normal(size=(3, plan.size)) / math.sqrt(plan.size), rng.normal(size=3) / 2
    arguments, at = matrix @ plan - shifts, matrix @ met.plan - shifts
    functions = {
        "norm": (cp.norm(arguments), np.linalg.norm(at)),
        "squares": (cp.sum_squares(arguments), at @ at),
        "form": (cp.quad_form(plan, matrix.T @ matrix + np.eye(plan.size) / 4), None),
        "largest": (cp.norm_inf(arguments), np.abs(at).max()),
        "maximum": (cp.max(arguments), at.max()),
    }
    function, value = functions[kind]
    if value is None:
        value = met.plan @ (matrix.T @ matrix + np.eye(plan.size) / 4) @ met.plan
    (constraint,) = collect_constraints({name: function <= max(value + room, 0.02)}, game)
    return constraint


@st.composite
def convex_programs(draw, kinds=(*SMOOTH, *KINKED), flows=False, room=(0.01, 0.1, 1.0)):
    """Return a random game and up to three random constraints, convex ones and perhaps a linear one.

    With room above 0 some plans meet them all.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    if flows:
        polytopes = [random_flow(rng, int(rng.integers(1, 4))) for _ in range(2)]
        payoffs = rng.normal(size=[one.num_sequences for one in polytopes])
        game = Game.from_sequence_form(SequenceForm(polytopes, payoff_matrices=[payoffs, -payoffs]))
    else:
        game = to_game(draw(trees(size=10)))
    constraints, met = [], [random_strategy(game, player, rng) for player in range(2)]
    for player in draw(st.sampled_from([(0,), (1,), (0, 1), (0, 0)])):
        if game.sequence_form.treeplexes[player].num_infosets:
            kind, spare = draw(st.sampled_from(kinds)), draw(st.sampled_from(room))
            constraints.append(drawn(game, player, kind, rng, spare, f"{kind} {len(constraints)}", met[player]))
    if draw(st.booleans()):
        slope = rng.normal(size=len(met[0].plan))
        constraints.append(LinearConstraint(0, dict(enumerate(slope.tolist())), slope @ met[0].plan + 0.1, "linear"))
    return game, constraints


# --- every bound holds ------------------------------------------------------------------------------------------------


@thorough
@examples(40)
@given(convex_programs(), st.floats(0.02, 20.0), st.integers(1, 300), STEPS, TANGENTS, st.floats(0.01, 3.0))
def test_all_bounds_hold_where_constraints_can_be_met(posed, beta, iterations, steps, tangents, step):
    game, constraints = posed
    found = ccfr_bounds(run(game, constraints, beta, iterations, steps, tangents, step))
    assert found.holds, str(found)
    names = {one.name for one in found.bounds if one.measured}
    assert {"theorem 1", "lemma 3"} <= names
    assert ("theorem 2" in names) == bool(constraints)
    assert "theorem 5" not in names


@examples(30)
@given(convex_programs(room=(-0.5, -0.1, 0.0)), st.floats(0.02, 20.0), st.integers(1, 300), STEPS, TANGENTS)
def test_all_bounds_hold_whether_or_not_constraints_can_be_met(posed, beta, iterations, steps, tangents):
    game, constraints = posed
    found = ccfr_bounds(run(game, constraints, beta, iterations, steps, tangents))
    assert found.holds, str(found)


@thorough
@examples(20)
@given(convex_programs(flows=True), st.floats(0.02, 20.0), st.integers(1, 200), STEPS, TANGENTS)
def test_all_bounds_hold_in_flows(posed, beta, iterations, steps, tangents):
    game, constraints = posed
    found = ccfr_bounds(run(game, constraints, beta, iterations, steps, tangents))
    assert found.holds, str(found)


@pytest.mark.parametrize("tangents", ["iterate", "average"])
def test_all_bounds_hold_where_balls_exclude_each_other(tangents):
    """Two disjoint balls: theorem 5, and its least violation, in place of theorems 1 and 2."""
    kings, jacks = (Strategy.from_dict(KUHN, 0, {card: {"b": 0.9, "p": 0.1}}) for card in ("K_", "J_"))
    constraints = [
        distance_bound(L2Distance(kings), at_most=0.1, name="kings"),
        distance_bound(L2Distance(jacks), at_most=0.1, name="jacks"),
    ]
    found = ccfr_bounds(run(KUHN, constraints, 2.0, 2000, tangents=tangents))
    assert found.holds, str(found)
    assert {"theorem 5"} == {one.name for one in found.bounds if one.name in ("theorem 1", "theorem 2", "theorem 5")}
    least = least_violation(ConstrainedNash(KUHN, constraints), 0)
    assert sum(found.violations.values()) == pytest.approx(least, abs=0.05)
    assert least > 0.1


@few
@pytest.mark.parametrize("tangents", ["iterate", "average"])
@pytest.mark.parametrize("kind", [*SMOOTH, *KINKED])
def test_measured_bounds_are_close_in_kuhn_poker(kind, tangents):
    constraints = [drawn(KUHN, 0, kind, np.random.default_rng(5), 0.05, "near")]
    solution = run(KUHN, constraints, 2.0, 3000, tangents=tangents)
    found = ccfr_bounds(solution)
    assert found.holds, str(found)
    assert max(found.exploitability, solution.gap) <= found.total_regret + 1e-9
    assert found.total_regret <= 0.1


# --- what was measured ------------------------------------------------------------------------------------------------


def plain_run(game, constraints, beta, iterations, tangents, step):
    """Return x_t, y_t, λ_t and the tangents of all iterations, straight from the definition."""
    form = game.sequence_form
    units = KernelConstraints.of(ConstrainedNash(game, constraints).canonical, kernel_of(form).layout).units
    regrets = [np.zeros(treeplex.num_sequences) for treeplex in form.treeplexes]
    behaviours = [treeplex.uniform_behaviour() for treeplex in form.treeplexes]
    multipliers, iterates, totals = np.zeros(len(constraints)), [], [0.0, 0.0]
    for _ in range(iterations):
        plans = [treeplex.plan(behaviour) for treeplex, behaviour in zip(form.treeplexes, behaviours, strict=True)]
        totals = [total + plan for total, plan in zip(totals, plans, strict=True)]
        at = plans if tangents == "iterate" else [total / (len(iterates) + 1) for total in totals]
        slopes = [one.function.minorant(at[one.player]) for one in constraints]
        iterates.append((plans, multipliers.copy(), slopes))
        for player, treeplex in enumerate(form.treeplexes):
            values = form.gradient(player, plans).copy()
            for one, multiplier, (slope, _) in zip(constraints, multipliers, slopes, strict=True):
                if one.player == player:
                    values -= multiplier * slope
            match_regrets(treeplex, values, regrets[player], behaviours[player])
        charged = [slope @ plans[one.player] + c for one, (slope, c) in zip(constraints, slopes, strict=True)]
        pace = step * form.payoff_scale / units**2
        multipliers = np.clip(multipliers + pace * np.array(charged), 0.0, beta)
    return iterates


@pytest.mark.parametrize("tangents", ["iterate", "average"])
@pytest.mark.parametrize("spec", ["kuhn", "leduc:suits=1,raises=1"])
def test_measured_regrets_are_those_of_all_iterates(spec, tangents):
    game, beta, iterations, rng = load_game(spec), 0.4, 40, np.random.default_rng(3)
    form = game.sequence_form
    # Of entropies many tangents are tight where a plan does not go, so iterates differ; averages go everywhere.
    kinds = [(0, "l2"), (0, "squares"), (1, "norm" if tangents == "iterate" else "kl"), (1, "form")]
    constraints = [drawn(game, player, kind, rng, -0.05, kind) for player, kind in kinds]
    found = MeasuredRun(run(game, constraints, beta, iterations, tangents=tangents))
    iterates = plain_run(game, constraints, beta, iterations, tangents, 0.1)
    for player, treeplex in enumerate(form.treeplexes):
        total, got, of_multipliers = np.zeros(treeplex.num_sequences), 0.0, 0.0
        own = [place for place, one in enumerate(constraints) if one.player == player]
        for plans, multipliers, slopes in iterates:
            gradient = form.gradient(player, plans) - sum(multipliers[place] * slopes[place][0] for place in own)
            total += gradient
            got += gradient @ plans[player]
        assert found.regret(player) == pytest.approx(best_response_value(treeplex, total) - got, abs=1e-6)
        average = np.mean([plans[player] for plans, *_ in iterates], axis=0)
        for place in own:
            values = [slopes[place][0] @ plans[player] + slopes[place][1] for plans, _, slopes in iterates]
            # No tangent is above the function, and together they are not below it at the average.
            assert sum(values) >= iterations * constraints[place].value(average) - 1e-6
            charged = sum(m[place] * value for (_, m, _), value in zip(iterates, values, strict=True))
            of_multipliers += max(0.0, beta * sum(values)) - charged
        assert found.multiplier_regret(player) == pytest.approx(of_multipliers, abs=1e-6)


# --- constants and conic programs -------------------------------------------------------------------------------------


@examples(30)
@given(convex_programs(), st.integers(0, 2**32))
def test_constants_bound_values_and_tangents(posed, seed):
    (game, constraints), rng = posed, np.random.default_rng(seed)
    for one in constraints:
        treeplex = game.sequence_form.treeplexes[one.player]
        least, largest, spread = function_extent(one, treeplex)
        plans = [treeplex.plan(random_plan(treeplex, rng)) for _ in range(10)]
        for plan in plans:
            assert least - 1e-9 <= one.value(plan) <= largest + 1e-9
            slope, _ = one.function.minorant(plan)
            changes = [slope @ (other - plan) for other in plans]
            assert max(changes) <= spread + 1e-9


def test_subgradients_of_entropies_have_no_bound():
    """Unlike the paper's footnote 3 says: x log x is continuous, and its slope at 0 is not bounded."""
    near = distance_bound(KLDistance(Strategy.uniform(KUHN, 0)), at_most=0.3, name="near")
    constants = bound_constants(ConstrainedNash(KUHN, [near]))
    assert constants.slope == math.inf
    # The divergence itself is at most log 2 at each infoset that a plan comes to.
    assert 3 * math.log(2) - 0.3 <= constants.largest <= 6 * math.log(2)
    found = ccfr_bounds(run(KUHN, [near], 2.0, 100))
    assert found.to_dict()["constants"]["slope"] is None
    by_constants = {(one.name, one.quantity) for one in found.bounds if not one.measured}
    assert by_constants == {("theorem 4", "regret of player 1"), ("corollary 3.1", "regret of multipliers 0")}
    assert best_step(ConstrainedNash(KUHN, [near]), 2.0, 100) > 0.0


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@examples(12)
@given(convex_programs(kinds=["l2", "squares", "form"], room=(-0.3, 0.05, 0.5)))
def test_constrained_exploitability_is_that_of_conic_programs(posed):
    game, constraints = posed
    problem, profile = ConstrainedNash(game, constraints), Profile.uniform(game)
    form, total = game.sequence_form, 0.0
    for player, treeplex in enumerate(form.treeplexes):
        plan, own = cp.Variable(treeplex.num_sequences, nonneg=True), problem.of_player(player)
        flow = [treeplex.E @ plan == treeplex.e]
        values = [one.function.to_cvxpy(plan) for one in own]
        excess = sum((cp.pos(value) for value in values), cp.Constant(0.0))
        allowed = max(0.0, cp.Problem(cp.Minimize(excess), flow).solve(solver="CLARABEL")) + 1e-7
        best = cp.Problem(cp.Maximize(form.gradient(player, profile.plans) @ plan), [*flow, excess <= allowed])
        total += best.solve(solver="CLARABEL")
    # The hair that is allowed gains its square root where a ball is met at one plan alone.
    found = constrained_exploitability(problem, profile)
    assert found >= total - 5e-3
    if all(least_violation(problem, player) == 0.0 for player in range(2)):
        assert found <= total + 1e-3


# --- lemma 5 and theorem 6 --------------------------------------------------------------------------------------------


@few
@pytest.mark.parametrize("radius", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("spec", ["kuhn", "kuhn:cards=4"])
def test_what_is_earned_approaches_a_best_response_as_a_ball_of_events_closes(spec, player, radius):
    """With probabilities of events within a ball around the opponent's, lemma 5 bounds what the ball can cost.

    Payoffs are linear in the probabilities, so two opponents that differ by ε in them differ by K ε in payoff.
    """
    game = load_game(spec)
    opponent = opponent_of(game, player, "random:seed=3")
    treeplexes = game.sequence_form.treeplexes
    events = observed_events(observer_tree(game, player), treeplexes[1 - player]).matrix
    near = cp.norm(events @ (game.plan(1 - player) - opponent.plan)) <= radius
    solution = solve(ConstrainedNash(game, {"near": near}), CCFR(tangents="iterate"), tol=1e-4)
    answer = solution.profile[player]
    pair = versus(answer, opponent)
    best = float(best_response_values(game, pair)[player])
    payoffs = game.sequence_form.A if player == 0 else -game.sequence_form.A.T
    known = np.vstack([events.toarray(), treeplexes[1 - player].E.toarray()])
    combined = np.linalg.lstsq(known.T, payoffs.toarray().T, rcond=None)[0]
    assert known.T @ combined == pytest.approx(payoffs.toarray().T, abs=1e-9)  # lemma 5
    # The answer and the best response each lose K ε at most between the opponent and any other in the ball.
    lipschitz = max(
        np.linalg.norm(combined[: events.shape[0]] @ plan)
        for plan in (answer.plan, *(treeplexes[player].plan(row) for row in _pure(treeplexes[player])))
    )
    earned = float(expected_payoffs(game, pair)[player])
    assert best - earned <= 2.0 * lipschitz * (radius + solution.violation) + solution.gap
    if radius <= 0.001:
        assert earned == pytest.approx(best, abs=0.02)


def _pure(treeplex):
    """Return some pure behaviours."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        behaviour = np.zeros(treeplex.num_sequences)
        behaviour[[0, *rng.integers(treeplex.offsets[:-1], treeplex.offsets[1:])]] = 1.0
        yield behaviour


# --- what is refused --------------------------------------------------------------------------------------------------


def test_functions_that_cvxpy_alone_knows_are_refused():
    plan = KUHN.plan(0)
    solution = run(KUHN, {"near": cp.log_sum_exp(plan) <= 2.9}, 1.0, 5)
    with pytest.raises(UnsupportedProblemError, match="constraint 'near' has a function that only cvxpy") as raised:
        ccfr_bounds(solution)
    assert "\n" not in str(raised.value)
