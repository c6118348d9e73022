"""Constrained CFR by samples: every sample's mean, bounds that hold for random games, what solve does with them."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from effort import thorough
from every_sample import Draws, drawing, every_sample, expectation
from random_trees import seeded_tree, to_game
from whole_walks import whole_walk

from treeplex import (
    Checkpoint,
    ConstrainedNash,
    Nash,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.constraints import DistanceConstraint, LinearConstraint, parse_constraint
from treeplex.models.distances import L2Distance
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers import ExternalSamplingCCFR, Options, OutcomeSamplingCCFR
from treeplex.solvers.sampling import constrained_kernel, kernel
from treeplex.solvers.sampling.ccfr_bounds import sampled_ccfr_bounds
from treeplex.solvers.sampling.constrained import PlayerCosts, SampledRows, stepper
from treeplex.solvers.sampling.sampler import Sampler, numbers_of
from treeplex.solvers.sampling.tree import history_tree

KUHN = load_game("kuhn")
METHODS = {
    "external": ExternalSamplingCCFR(averaging="full", costs="sampled"),
    "outcome": OutcomeSamplingCCFR(averaging="full", costs="sampled", baselines="none", exploration=0.5),
    "external, exact costs": ExternalSamplingCCFR(averaging="full", costs="exact"),
    "outcome, exact costs": OutcomeSamplingCCFR(averaging="full", costs="exact", baselines="none"),
}


def random_problem(seed: int, dense: bool, penalty: float | None = 1.5) -> ConstrainedNash:
    """Return a random tree, and two random rows on the plans of each player who has at least two sequences."""
    random = np.random.default_rng(seed)
    game = to_game(seeded_tree(seed, size=14))
    constraints = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        for number in range(2 if treeplex.num_infosets else 0):
            count = treeplex.num_sequences if dense else min(2, treeplex.num_sequences - 1)
            chosen = random.choice(treeplex.num_sequences, count, replace=False)
            terms = dict(zip(chosen.tolist(), random.uniform(-1, 1, count).tolist(), strict=True))
            bound = sum(weight * treeplex.uniform_plan()[place] for place, weight in terms.items()) - 0.05
            constraints.append(LinearConstraint(player, terms, bound, f"{player}, {number}"))
    return ConstrainedNash(game, constraints, penalty=penalty)


def kuhn_problem(*texts: str, penalty: float | None = None) -> ConstrainedNash:
    return ConstrainedNash(KUHN, [one for text in texts for one in parse_constraint(text, KUHN)], penalty=penalty)


class Walks:
    """One player's walks of a method on a problem, in a state in which no probability or multiplier is zero."""

    def __init__(self, problem: ConstrainedNash, method: ExternalSamplingCCFR | OutcomeSamplingCCFR, player: int):
        random = np.random.default_rng(player)
        self.problem, self.player, self.sampler = problem, player, Sampler(history_tree(problem.game))
        self.rule = method.sampling_rule(2)
        self.rows = SampledRows.of(problem, self.sampler.tree, method)
        self.state = self.sampler.initial_state(self.rule)
        self.state.arrays.regrets[:] = random.uniform(0.2, 1.8, len(self.state.arrays.regrets))
        self.multipliers = random.uniform(0.5, 1.5, len(problem.constraints))
        self.plans = [
            treeplex.plan(policy)
            for treeplex, policy in zip(
                problem.game.sequence_form.treeplexes, self.sampler.policies(self.state), strict=True
            )
        ]
        self.own = slice(*self.sampler.tree.bases[player : player + 2].tolist())

    def pay(self, draws: Draws) -> np.ndarray:
        """Return what one walk adds to the player's regrets for its costs, and the values that it finds of rows."""
        tree, count = self.sampler.tree, len(self.multipliers)
        duals = constrained_kernel.MultiplierArrays(
            self.multipliers, np.zeros(count), np.zeros((3, count)), np.zeros(count)
        )
        target, base = np.zeros(tree.num_positions), np.uint64(tree.bases[self.player])
        drawing(constrained_kernel.pay_costs, draws)(
            tree.arrays, self.player, base, numbers_of(self.rule, 1, None), self.state.arrays, target,
            self.sampler.scratch, None, self.rows.arrays, duals,
        )  # fmt: skip
        return np.concatenate([target[self.own], duals.found])

    def play(self, draws: Draws) -> np.ndarray:
        """Return what one walk adds to the player's regrets for its payoffs."""
        tree, state = self.sampler.tree, self.state.arrays
        target, run = np.zeros(tree.num_positions), numbers_of(self.rule, 1, None)
        scratch = self.sampler.scratch
        if self.rule.sampling == "external":
            walk = drawing(kernel.traverse_external, draws)
            walk(tree.arrays, self.player, -np.inf, False, state, target, scratch, None, np.uint64(0))
        else:
            walk = drawing(kernel.traverse_outcome, draws)
            walk(tree.arrays, self.player, run, False, False, state, target, scratch, None, np.uint64(0))
        return target[self.own]


def regrets_of(treeplex, plan, gradient) -> np.ndarray:
    """Return the counterfactual regrets of a plan by a gradient in the space of sequences."""
    behaviour, values = treeplex.behaviour(plan), gradient.copy()
    regrets = np.zeros(treeplex.num_sequences)
    for infoset in range(treeplex.num_infosets - 1, -1, -1):
        own = slice(*treeplex.offsets[infoset : infoset + 2].tolist())
        mean = behaviour[own] @ values[own]
        regrets[own] = values[own] - mean
        values[treeplex.parents[infoset]] += mean
    return regrets


PROBLEMS = {
    "kuhn": kuhn_problem("0/J_:b >= 1/2", "plan(0/Q_pb:b) <= 0.1", "1/bet@all <= 0.4"),
    **{
        f"tree {seed}, {word}": random_problem(seed, word == "dense")
        for seed in (1, 29)
        for word in ("dense", "sparse")
    },
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_costs_and_their_gradients_are_right_on_average_over_every_sample(problem, method):
    for player, treeplex in enumerate(problem.game.sequence_form.treeplexes):
        walks = Walks(problem, method, player)
        gradient, values = np.zeros(treeplex.num_sequences), np.zeros(len(problem.constraints))
        for row, one in enumerate(problem.constraints):
            if one.player == player:
                gradient[one.function.indices] -= walks.multipliers[row] * one.function.coefficients
                values[row] = one.value(walks.plans[player]) - walks.rows.arrays.constants[row]
        found = expectation(walks.pay)
        expected = regrets_of(treeplex, walks.plans[player], gradient)
        np.testing.assert_allclose(found[: -len(values)], expected, atol=1e-12)
        np.testing.assert_allclose(found[-len(values) :], values, atol=1e-12)
        assert player or np.abs(expected).max() > 0.01


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("problem", [PROBLEMS["kuhn"], PROBLEMS["tree 1, dense"]], ids=["kuhn", "tree"])
def test_sampled_payoff_regrets_are_right_on_average_over_every_sample(problem, method):
    for player in range(2):
        walks = Walks(problem, method, player)
        expected = whole_walk(problem.game, walks.sampler.policies(walks.state), player).regrets
        np.testing.assert_allclose(expectation(walks.play), expected, atol=1e-12)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_no_sample_of_a_value_is_outside_its_extent(problem, method):
    for player, treeplex in enumerate(problem.game.sequence_form.treeplexes):
        walks = Walks(problem, method, player)
        least, largest = np.full(len(problem.constraints), np.inf), np.full(len(problem.constraints), -np.inf)
        for choices in itertools.islice(itertools.product(*map(range, treeplex.num_actions.tolist())), 200):
            pure = np.zeros(treeplex.num_sequences)
            pure[treeplex.offsets[:-1] + np.array(choices, dtype=np.int64)] = 1.0
            walks.state.arrays.regrets[walks.own] = pure
            for _, found in every_sample(walks.pay):
                values = found[treeplex.num_sequences :] + walks.rows.arrays.constants
                least, largest = np.minimum(least, values), np.maximum(largest, values)
        for row, one in enumerate(problem.constraints):
            if one.player == player:
                low, high = walks.rows.of_players[player].extent(one)
                assert low - 1e-12 <= least[row] <= largest[row] <= high + 1e-12
                if walks.rule.sampling == "external" and np.prod(treeplex.num_actions.astype(float)) <= 200:
                    np.testing.assert_allclose([least[row], largest[row]], [low, high], atol=1e-12)


def measured(problem: ConstrainedNash, method, iterations: int, seed: int):
    """Return the true regrets of a run, of the players and of the multipliers, and the averages of its plans."""
    options = Options(tol=0.0, max_iterations=iterations, time_limit=np.inf, violation=0.0, seed=seed)
    loop = stepper(method, problem, options)
    loop.next_check = None
    form = problem.game.sequence_form
    gradients = [np.zeros(treeplex.num_sequences) for treeplex in form.treeplexes]
    got, sums = np.zeros(2), [np.zeros_like(each) for each in gradients]
    values, paid = np.zeros(len(problem.constraints)), 0.0
    for _ in range(iterations):
        plans, multipliers = loop.current_plans(), loop.whole.duals.values.copy()
        for player in range(2):
            gradient = form.gradient(player, plans).copy()
            for row, one in enumerate(problem.constraints):
                if one.player == player:
                    gradient[one.function.indices] -= multipliers[row] * one.function.coefficients
                    value = one.value(plans[player])
                    values[row] += value
                    paid += multipliers[row] * value
            gradients[player] += gradient
            got[player] += gradient @ plans[player]
            sums[player] += plans[player]
        loop.step(1)
    regrets = [
        best_response_value(treeplex, gradient) - one
        for treeplex, gradient, one in zip(form.treeplexes, gradients, got, strict=True)
    ]
    return regrets, problem.penalty * np.maximum(values, 0.0).sum() - paid, [each / iterations for each in sums]


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("seed", [1, 5, 29, 22, 26])
def test_law_regrets_of_random_games_are_within_their_bounds(seed, method):
    problem, iterations = random_problem(seed, dense=seed % 2 == 0), 400
    solution = solve(problem, method, tol=0, max_iterations=iterations, seed=seed)
    found = sampled_ccfr_bounds(solution, failure=0.05)
    regrets, of_multipliers, averages = measured(problem, method, iterations, seed)
    assert found.holds, str(found)
    assert {one.measured for one in found.bounds} == {True, False}
    for player, constants in enumerate(found.sampled):
        sampled = found.regrets[player] - found.deviations[player]
        assert regrets[player] <= found.regrets[player]
        assert sampled <= found.infoset_regrets[player] + 1e-9
        assert found.infoset_regrets[player] <= constants.regret_bound(iterations)
        treeplex = problem.game.sequence_form.treeplexes[player]
        for one in problem.of_player(player):
            played = treeplex.plan(treeplex.behaviour(averages[player]))
            assert max(0.0, one.value(played)) == pytest.approx(found.violations[one.name], abs=1e-9)
    assert of_multipliers <= sum(found.multiplier_regrets) + 1e-9
    if "exact" in method.costs:
        assert of_multipliers == pytest.approx(sum(found.multiplier_regrets))
        assert found.multiplier_deviations == (0.0, 0.0)


def test_without_the_term_for_chance_the_bounds_would_fail():
    problem, method, missed = random_problem(1, dense=True), METHODS["external"], 0
    for seed in range(8):
        solution = solve(problem, method, tol=0, max_iterations=50, seed=seed)
        found = sampled_ccfr_bounds(solution)
        regrets, _, _ = measured(problem, method, 50, seed)
        missed += any(
            regret > bound - deviation
            for regret, bound, deviation in zip(regrets, found.regrets, found.deviations, strict=True)
        )
    assert missed >= 1


@pytest.mark.parametrize("method", ["es-ccfr", "os-ccfr", "es-ccfr:costs=sampled", "os-ccfr:averaging=sampled"])
@pytest.mark.parametrize(
    ("texts", "value"),
    [(("0/K_:b <= 0.5", "0/J_:b >= 0.3"), -0.1), (("0/Q_:b >= 0.4", "plan(0/Q_pb:b) <= 0.1"), -7 / 90)],
)
def test_constrained_values_of_kuhn_are_found_and_proven(texts, value, method):
    solution = solve(kuhn_problem(*texts), method, tol=0.02, max_iterations=400_000, seed=1)
    assert solution.status is Status.CONVERGED
    assert solution.violation == 0.0
    assert solution.lower <= value <= solution.upper <= solution.lower + 0.02


@pytest.mark.parametrize("method", ["es-ccfr", "os-ccfr"])
def test_multipliers_come_to_the_prices(method):
    problem = kuhn_problem("0/K_:b <= 0.5 as king", "0/J_:b >= 0.3 as jack")
    solution = solve(problem, method, tol=0, max_iterations=200_000, seed=1)
    assert solution.multipliers["king"] == pytest.approx(1 / 9, abs=0.03)
    assert solution.multipliers["jack"] == pytest.approx(1 / 3, abs=0.03)


def test_multipliers_stay_below_the_penalty():
    solution = solve(kuhn_problem("0/J_:b >= 0.5 as jack", penalty=0.05), "es-ccfr", tol=0.01, seed=1)
    exact = solve(kuhn_problem("0/J_:b >= 0.5 as jack", penalty=0.05))
    assert solution.multipliers["jack"] <= 0.05
    assert solution.lower <= exact.objective <= solution.upper


@thorough
def test_constraints_that_exclude_each_other_are_found_out():
    solution = solve(kuhn_problem("0/J_:b >= 0.7", "0/J_:b <= 0.4"), "es-ccfr", tol=1e-3, max_iterations=2000, seed=1)
    assert solution.status is Status.INFEASIBLE
    assert solution.infeasibility.least_violation == pytest.approx(0.3)


@pytest.mark.parametrize("method", ["es-ccfr", "os-ccfr:costs=sampled"])
def test_a_run_goes_on_where_it_stopped(method, tmp_path):
    problem = PROBLEMS["kuhn"]
    whole = solve(problem, method, tol=0, max_iterations=700, seed=3)
    first = solve(problem, method, tol=0, max_iterations=300, seed=3)
    again = solve(problem, method, tol=0, max_iterations=400, start=first)
    path = tmp_path / "run"
    solve(problem, method, tol=0, max_iterations=300, seed=3, checkpoint=path)
    resumed = solve(problem, method, tol=0, max_iterations=700, seed=3, checkpoint=Checkpoint(path, resume=True))
    for other in (again, resumed):
        assert other.multipliers == whole.multipliers
        for player in range(2):
            np.testing.assert_array_equal(other.profile[player].plan, whole.profile[player].plan)
    assert solve(problem, method, tol=0, max_iterations=700, seed=4).multipliers != whole.multipliers


def test_without_constraints_it_is_monte_carlo_cfr_by_simultaneous_updates():
    for method in ("es-ccfr", "os-ccfr"):
        assert solve(Nash(KUHN), method, tol=0.02, seed=1).status is Status.CONVERGED


def test_few_ways_are_walked_whole_and_many_are_sampled():
    game = load_game("leduc")
    for text, exact in (("raise@all <= 0.1", False), ("0/Ks_:r <= 0.1", True)):
        rows = parse_constraint(text, game)
        assert PlayerCosts(game.sequence_form.treeplexes[0], rows, "auto").exact is exact


def test_what_it_does_not_serve_is_refused():
    ball = DistanceConstraint(L2Distance(Strategy.uniform(KUHN, 0)), 1.0, "ball")
    with pytest.raises(UnsupportedProblemError, match="method es-ccfr cannot solve constrained with constraints that"):
        solve(ConstrainedNash(KUHN, [ball]), "es-ccfr")
    x = KUHN.plan(0)
    with pytest.raises(UnsupportedProblemError, match="constraint 'near' is not a linear function of a plan"):
        solve(ConstrainedNash(KUHN, {"near": cp.norm_inf(x[1:7] - 0.5) <= 0.4}), "es-ccfr")
    largest = ConstrainedNash(KUHN, parse_constraint("0/J_:b >= 0.5", KUHN), penalty=1, penalise="largest")
    with pytest.raises(UnsupportedProblemError, match="es-ccfr bounds each multiplier, but penalise='largest'"):
        solve(largest, "es-ccfr")
    transit = load_game("transit:width=2")
    with pytest.raises(UnsupportedProblemError, match="has no histories"):
        solve(ConstrainedNash(transit, parse_constraint("risk <= 0.1", transit)), "es-ccfr")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("ccfr", "these theorems apply to es-ccfr and os-ccfr, not to ccfr"),
        ("es-ccfr", "averaging=None samples them"),
        ("os-ccfr:averaging=full", "do not cover baselines"),
    ],
)
def test_the_theorems_refuse_runs_that_they_do_not_cover(method, message):
    solution = solve(kuhn_problem("0/J_:b >= 0.5", penalty=1), method, tol=0, max_iterations=10, seed=1)
    with pytest.raises(UnsupportedProblemError, match=message):
        sampled_ccfr_bounds(solution)


def test_the_theorems_need_a_bound_on_multipliers():
    solution = solve(kuhn_problem("0/J_:b >= 0.5"), METHODS["external"], tol=0, max_iterations=500, seed=1)
    with pytest.raises(UnsupportedProblemError, match="the multipliers of this run are unbounded"):
        sampled_ccfr_bounds(solution)
    with pytest.raises(UnsupportedProblemError, match=r"above beta 0\.001: pass a larger beta"):
        sampled_ccfr_bounds(solution, beta=0.001)
    with pytest.raises(UnsupportedProblemError, match="failure is 1"):
        sampled_ccfr_bounds(solution, failure=1, beta=5)
    assert sampled_ccfr_bounds(solution, beta=5).holds
