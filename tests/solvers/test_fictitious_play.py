"""Regret minimisation as generalised weakened fictitious play, and how fast it approaches what nobody regrets."""

import math

import numpy as np
import pytest
from effort import examples
from hypothesis import given
from hypothesis import strategies as st
from random_trees import matrix_game, seeded_tree, to_game

from treeplex import (
    CFR,
    DCFR,
    CFRPlus,
    Game,
    Nash,
    PrefCFR,
    Prefer,
    SequenceForm,
    UnknownMethodError,
    UnsupportedProblemError,
    load_game,
    nash_conv,
    solve,
)
from treeplex.models.problems import EpsilonNash
from treeplex.seqform.polytope import best_response_value
from treeplex.solvers import CFVFP
from treeplex.solvers.regret.fictitious_play import FictitiousPlay, fictitious_play
from treeplex.solvers.regret.preference_bounds import approach, preference_bound

KUHN = load_game("kuhn")
AT_ONCE = CFR(updates="simultaneous")


def random_wishes(game, seed, vulnerable=False):
    """Prefer an action at some of the infosets."""
    random = np.random.default_rng(seed)
    return [
        Prefer(
            [actions[random.integers(len(actions))]], 1 + 9 * random.random(), player=player, infosets=[label],
            vulnerability=0.1 * random.random() if vulnerable else 0.0,
        )
        for player, treeplex in enumerate(game.sequence_form.treeplexes)
        for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)
        if random.random() < 0.7
    ]  # fmt: skip


def random_matrices(seed):
    random = np.random.default_rng(seed)
    shape = random.integers(2, 7, size=2)
    first = random.uniform(-1, 1, shape)
    return first, -first if seed % 2 else random.uniform(-1, 1, shape)


# Steps, best responses and perturbations


@given(st.integers(0, 10**6), st.sampled_from(["rm", "br", "cfvfp"]), st.integers(2, 3), st.booleans())
@examples(60)
def test_each_plan_is_a_best_response_up_to_the_regret_so_far(seed, rule, players, zero_sum):
    game = to_game(seeded_tree(seed, num_players=players, zero_sum=zero_sum))
    at_once = CFVFP(updates="simultaneous")
    method = at_once if rule == "cfvfp" else PrefCFR(random_wishes(game, seed), rule=rule)
    found = fictitious_play(game, method, 60)
    assert (found.epsilons >= -1e-12).all()
    assert (found.epsilons <= found.regrets + 1e-12).all()
    np.testing.assert_allclose(found.steps, 1 / np.arange(2, 62))
    assert np.abs(found.perturbations).max() < 1e-11


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0]))
@examples(20)
def test_first_regrets_add_no_more_than_themselves_at_each_infoset(seed, first):
    game = to_game(seeded_tree(seed))
    found = fictitious_play(game, CFR(updates="simultaneous", initial_regrets=first), 60, seed=seed)
    visits = [
        best_response_value(one, one.inflow.T @ np.ones(one.num_infosets)) for one in game.sequence_form.treeplexes
    ]
    allowed = found.regrets + first * np.array(visits) / np.arange(1, 61)[:, None]
    assert (found.epsilons <= allowed + 1e-12).all()


@given(st.integers(0, 10**6))
@examples(20)
def test_equation_41_in_normal_form(seed):
    """ε is by how much regrets fall short of the largest one, on average over the next play."""
    first, second = random_matrices(seed)
    found = fictitious_play(matrix_game(first, second), AT_ONCE, 30)
    regrets = [np.zeros(len(first)), np.zeros(first.shape[1])]
    for t in range(31):
        positive = [np.maximum(each, 0) for each in regrets]
        plans = [each / each.sum() if each.any() else np.full(len(each), 1 / len(each)) for each in positive]
        if t:
            expected = [plan @ (each.max() - each) / t for plan, each in zip(plans, regrets, strict=True)]
            np.testing.assert_allclose(found.epsilons[t - 1], expected, atol=1e-12)
        values = first @ plans[1], plans[0] @ second
        regrets = [each + own - own @ plan for each, own, plan in zip(regrets, values, plans, strict=True)]


@pytest.mark.parametrize("method", [AT_ONCE, PrefCFR("0/b@first:5"), PrefCFR("0/b@first:5", rule="br"), "cfr+"])
def test_all_that_has_to_vanish_does_in_kuhn(method):
    found = fictitious_play(KUHN, method, 1500)
    late = found.epsilons[-100:].max()
    assert late < 0.01
    assert late < 0.2 * found.epsilons[:30].max() + 0.003
    assert found.steps[-1] < 0.002
    assert found.steps.sum() > math.log(1500) - 1.0
    assert found.drift(1.0).max() < 1e-10


@pytest.mark.parametrize("degree", [2, 10])
def test_the_rate_of_regret_is_one_of_the_best_responses_too(degree):
    method = PrefCFR(f"b@first:{degree}")
    found = fictitious_play(KUHN, method, 400)
    for t in (10, 50, 400):
        bound = preference_bound(solve(Nash(KUHN), method, tol=0, max_iterations=t))
        assert (found.epsilons[t - 1] <= bound.regrets).all()


def test_samples_perturb_averages_less_and_less():
    found = fictitious_play(KUHN, "es-mccfr", 3000, seed=4)
    assert np.abs(found.perturbations).max() > 0.1  # one by one they stay
    drift = found.drift(math.log(2))
    assert drift[1000] < 0.3 * drift[10]
    assert drift[1000] < 0.1


def test_weights_are_in_the_steps():
    for method, power in ((CFRPlus(), 1), (DCFR(updates="simultaneous"), 2)):
        found = fictitious_play(KUHN, method, 40)
        weights = np.arange(1.0, 42.0) ** power
        np.testing.assert_allclose(found.steps, (weights / np.cumsum(weights))[1:])
        assert np.abs(found.perturbations).max() < 1e-10


def test_drift_is_the_supremum_of_its_definition():
    random = np.random.default_rng(1)
    steps, noise = 1 / np.arange(2, 14), random.normal(size=(12, 3))
    found = FictitiousPlay(steps, np.zeros((12, 2)), np.zeros((12, 2)), noise)
    for span in (0.3, 1.0, 50.0):
        expected = [
            max(
                np.abs((steps[t:k, None] * noise[t:k]).sum(axis=0)).max()
                for k in range(t, 13)
                if steps[t:k].sum() <= span
            )
            for t in range(12)
        ]
        np.testing.assert_allclose(found.drift(span), expected, atol=1e-12)


def test_vulnerabilities_leave_plans_that_are_no_best_responses():
    """With a vulnerability the players' plans need not become best responses, nor averages an equilibrium."""
    found = fictitious_play(KUHN, PrefCFR("0/b@first:5", vulnerability=0.05), 2000)
    assert (found.epsilons > found.regrets + 1e-3).any()


# How fast regrets approach those that nobody has


@given(st.integers(0, 10**6), st.sampled_from([1, 10, 300]), st.floats(1.0, 50.0))
@examples(60)
def test_equation_26_holds_in_normal_form_by_the_rule_rm(seed, iterations, degree):
    first, second = random_matrices(seed)
    game = matrix_game(first, second)
    prefer = [Prefer(["a"], degree, player=0), Prefer(["b"], 1 + degree / 2, player=1)]
    solution = solve(EpsilonNash(game), PrefCFR(prefer), tol=0, max_iterations=iterations)
    found = approach(solution)
    paid = game.sequence_form.leaves.payoffs
    for player, degrees in enumerate((degree, 1 + degree / 2)):
        rate = np.ptp(paid[:, player]) * first.shape[player] * degrees / math.sqrt(iterations)
        assert found.rates[player] == pytest.approx([rate])
        assert found.distances[player] <= found.bounds[player] + 1e-12
        assert found.bounds[player] <= found.rates[player] + 1e-12


@given(st.integers(0, 10**6), st.sampled_from([1, 20, 200]), st.sampled_from(["counterfactual", "conditional"]))
@examples(40)
def test_it_holds_at_each_infoset_with_vulnerabilities(seed, iterations, units):
    game = to_game(seeded_tree(seed, num_players=2 + seed % 2, zero_sum=seed % 3 > 0))
    method = PrefCFR(random_wishes(game, seed, vulnerable=True), units=units)
    found = approach(solve(EpsilonNash(game), method, tol=0, max_iterations=iterations))
    for distances, bounds, rates in zip(found.distances, found.bounds, found.rates, strict=True):
        assert (distances <= bounds + 1e-12).all()
        assert (bounds <= rates + 1e-12).all()


def test_it_fails_by_the_rule_br_where_players_who_want_to_meet_never_do():
    """Battle of the sexes: both prefer what they like best, and try it first."""
    game = matrix_game(
        [[0, 2], [1, 0]], [[0, 1], [2, 0]], rows=("opera", "football"), columns=("football", "opera")
    )  # fmt: skip
    prefer = ("0/opera:5", "1/football:5")
    solution = solve(EpsilonNash(game), PrefCFR(prefer, rule="br"), tol=0, max_iterations=40_000)
    found = approach(solution)
    for player in (0, 1):
        # The regrets of the two actions are 10 / 11 and 2 / 11.
        assert found.distances[player] == pytest.approx([math.sqrt(104) / 11], abs=1e-3)
        assert found.rates[player] == pytest.approx([0.1])
    assert nash_conv(game, solution.profile) > 1.3
    proven = approach(solve(EpsilonNash(game), PrefCFR(prefer), tol=0, max_iterations=40_000))
    assert max(each.max() for each in proven.distances) < 0.1


def test_what_cannot_be_read_is_refused():
    with pytest.raises(UnknownMethodError, match="returns its last iterate"):
        fictitious_play(KUHN, CFR(iterate="last"), 10)
    with pytest.raises(UnknownMethodError, match="iterations is 0"):
        fictitious_play(KUHN, AT_ONCE, 0)
    with pytest.raises(UnknownMethodError, match="span is -1"):
        fictitious_play(KUHN, AT_ONCE, 3).drift(-1)
    for method in (CFR(), PrefCFR("b:5", base="cfr+"), PrefCFR("b:5", initial_regrets=1.0)):
        with pytest.raises(UnsupportedProblemError, match="averaged regrets need pref-cfr with base cfr"):
            approach(solve(Nash(KUHN), method, tol=0, max_iterations=5))
    matrices = Game.from_sequence_form(SequenceForm.from_payoff_matrix([[1, 2], [3, 0]]))
    solution = solve(Nash(matrices), PrefCFR(), tol=0, max_iterations=5)
    with pytest.raises(UnsupportedProblemError, match="expected a game with a table of leaves"):
        approach(solution)
