"""Pref-CFR on external samples: its local rule, what it is averaged over, and that nothing in it is biased."""

import numpy as np
import pytest
from effort import few, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game
from whole_walks import least_p_value, sampled, whole_walk

from treeplex import Nash, Prefer, Status, UnknownMethodError, exploitability, load_game, nash_conv, solve
from treeplex.seqform.errors import InvalidPreferenceError
from treeplex.solvers import ESPrefCFR, ExternalSamplingMCCFR
from treeplex.solvers.sampling.sampler import LocalPreference, Sampler, SamplingRule
from treeplex.solvers.sampling.tree import history_tree

KUHN, THREE, LEDUC = load_game("kuhn"), load_game("kuhn:players=3"), load_game("leduc")
#: The probability that a test of samples fails though there is no bias: by seeds, in fact, it fails always or never.
FALSE_ALARMS = 1e-6
EXTERNAL, OUTCOME = SamplingRule(), SamplingRule("outcome", exploration=0.5, rate=0.3)
RULES = {"rm": False, "br": True}
UNITS = {"counterfactual": False, "conditional": True}


def some_preference(game, greedy=False, conditional=False, seed=0, most=0.05):
    """Return degrees of up to 6 and vulnerabilities, of which about half are 1 and 0."""
    rng = np.random.default_rng(seed)
    degrees, betas = [], []
    for treeplex in game.sequence_form.treeplexes:
        delta = np.where(rng.random(treeplex.num_sequences) < 0.5, 1.0, rng.uniform(1.0, 6.0, treeplex.num_sequences))
        delta[0] = 1.0
        degrees.append(delta)
        betas.append(rng.uniform(0.0, most, treeplex.num_infosets) * (rng.random(treeplex.num_infosets) < 0.5))
    return LocalPreference(degrees, betas, greedy, conditional)


def by_hand(game, sampler, state, preference):
    """Return the policies that a preference makes of a state's regrets, infoset by infoset from the formula."""
    policies = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        base = int(sampler.tree.bases[player])
        behaviour = np.ones(treeplex.num_sequences)
        for infoset in range(treeplex.num_infosets):
            start, stop = treeplex.offsets[infoset : infoset + 2].tolist()
            counted = state.arrays.counts[base + start if preference.conditional else base]
            delta = preference.degrees[player][start:stop]
            regrets = state.arrays.regrets[base + start : base + stop]
            # The average is above β just where the sum is above β times the number.
            above = delta * np.maximum(regrets - preference.vulnerability[player][infoset] * counted, 0.0)
            if above.sum() == 0.0:
                above = delta - 1.0 if (delta > 1.0).any() else np.ones(len(delta))
            elif preference.greedy:
                above = np.eye(len(delta))[int(np.argmax(above))]
            behaviour[start:stop] = above / above.sum()
        policies.append(behaviour)
    return policies


@given(seed=st.integers(0, 10_000), greedy=st.booleans(), conditional=st.booleans(), sampling=st.sampled_from("eo"))
def test_policies_are_those_of_the_formula(seed, greedy, conditional, sampling):
    game = to_game(seeded_tree(seed % 50, 2 + seed % 2))
    rule = SamplingRule("external" if sampling == "e" else "outcome", "full", exploration=0.5)
    sampler, preference = Sampler(history_tree(game)), some_preference(game, greedy, conditional, seed)
    state = sampler.initial_state(rule, seed, preference)
    for _ in range(4):
        expected = by_hand(game, sampler, state, preference)
        for own, other in zip(sampler.policies(state), expected, strict=True):
            np.testing.assert_allclose(own, other, atol=1e-12)
        # The compiled walk plays the same: player 0 averages its whole plan before it learns.
        state.arrays.sums[:] = 0.0
        sampler.run(state, rule, 1)
        plan = game.sequence_form.treeplexes[0].plan(expected[0])
        np.testing.assert_allclose(state.arrays.sums[1 : len(plan)], plan[1:], atol=1e-12)


@few
@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("averaging", ["simple", "sampled", "full"])
@pytest.mark.parametrize("game", [KUHN, THREE, LEDUC], ids=["kuhn", "kuhn of three", "leduc"])
def test_without_preferences_it_is_external_sampling_bit_for_bit(game, averaging, units):
    plain = solve(Nash(game), ExternalSamplingMCCFR(averaging=averaging), tol=0, max_iterations=500, seed=3)
    method = ESPrefCFR(averaging=averaging, units=units)
    preferring = solve(Nash(game), method, tol=0, max_iterations=500, seed=3)
    for one, other in zip(plain.profile, preferring.profile, strict=True):
        np.testing.assert_array_equal(one.behaviour, other.behaviour)
    np.testing.assert_array_equal(plain.history.touched, preferring.history.touched)


@few
@pytest.mark.parametrize("rule", [EXTERNAL, OUTCOME], ids=["external", "outcome"])
@pytest.mark.parametrize("game", [KUHN, THREE, to_game(seeded_tree(11, 3))], ids=["kuhn", "kuhn of three", "tree"])
def test_visits_estimate_how_often_the_others_allow_an_infoset(game, rule):
    sampler, preference = Sampler(history_tree(game)), some_preference(game)
    state = sampler.initial_state(rule, 0, preference)
    state.arrays.regrets[:] = np.random.default_rng(0).uniform(0.5, 1.5, len(state.arrays.regrets))
    policies = sampler.policies(state)
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        firsts = sampler.tree.bases[player] + treeplex.offsets[:-1]
        batches = np.array([sampled(sampler, state, rule, player, 1000)[1][firsts] for _ in range(100)])
        expected = whole_walk(game, policies, player).by_others
        assert least_p_value(batches, expected) > FALSE_ALARMS / game.num_players
    assert not state.arrays.counts.any()


@few
@pytest.mark.parametrize(
    ("game", "rule", "units"),
    [
        (KUHN, "rm", "counterfactual"),
        pytest.param(KUHN, "br", "conditional", marks=thorough),
        pytest.param(THREE, "rm", "counterfactual", marks=thorough),
        (THREE, "br", "conditional"),
    ],
)
def test_averaged_sampled_regrets_match_those_of_whole_walks(game, rule, units):
    """Over runs, what is added up differs from whole regrets of the same policies by noise of mean 0 alone."""
    sampler = Sampler(history_tree(game))
    preference = some_preference(game, RULES[rule], UNITS[units], seed=2)
    players = range(game.num_players)
    runs, iterations = (120, 6) if game is KUHN else (25, 4)
    differences, visits = [], []
    for seed in range(runs):
        state = sampler.initial_state(EXTERNAL, seed, preference)
        whole, allowed = np.zeros(sampler.tree.num_positions), np.zeros(sampler.tree.num_positions)
        for _ in range(iterations):
            for player in players:
                walk = whole_walk(game, sampler.policies(state), player)
                base, stop = sampler.tree.bases[player : player + 2]
                whole[base:stop] += walk.regrets
                allowed[base + game.sequence_form.treeplexes[player].offsets[:-1]] += walk.by_others
                sampler._run(state, EXTERNAL, state.arrays.regrets, 1, None, player)
        differences.append((state.arrays.regrets - whole) / iterations)
        visits.append((state.arrays.counts - allowed) / iterations)
        assert (state.arrays.counts[sampler.tree.bases[:-1]] == iterations).all()
    firsts = sampler.tree.infosets[:, 0]
    assert least_p_value(np.array(differences), np.zeros(sampler.tree.num_positions)) > FALSE_ALARMS / 2
    assert least_p_value(np.array(visits)[:, firsts], np.zeros(len(firsts))) > FALSE_ALARMS / 2
    assert np.abs(differences).max() > 0.1  # a single run is noisy


@thorough
@pytest.mark.parametrize(("rule", "least"), [("rm", 0.03), ("br", 0.12)])
def test_preferred_actions_are_played_more_at_no_loss(rule, least):
    # In Kuhn poker's equilibria player 0 bets the jack with any probability from 0 to 1/3.
    played = {"0/b@first:10": [], "0/p@first:10": []}
    for prefer, bets in played.items():
        for seed in range(12):
            solution = solve(Nash(KUHN), ESPrefCFR(prefer=prefer, rule=rule), tol=0, max_iterations=30_000, seed=seed)
            assert exploitability(KUHN, solution.profile) < 0.015
            bets.append(solution.profile[0]["J_"]["b"])
    assert np.mean(played["0/b@first:10"]) - np.mean(played["0/p@first:10"]) > least


@pytest.mark.parametrize(("units", "bound"), [("conditional", 0.05), ("counterfactual", 0.15)])
def test_what_vulnerability_costs_is_bounded_by_what_thresholds_let_through(units, bound):
    # Player 0's first decisions alone: in conditional units β in all, in counterfactual ones β at each of three cards.
    method = ESPrefCFR(prefer="0/b@first:5", vulnerability=0.05, units=units)
    solution = solve(Nash(KUHN), method, tol=0, max_iterations=200_000, seed=2)
    assert nash_conv(KUHN, solution.profile) < bound + 0.01
    assert nash_conv(KUHN, solution.profile) > bound / 2  # the preference takes what it may
    assert solution.profile[0]["K_"]["b"] > 0.95


def test_three_players_may_all_have_preferences():
    prefer = [Prefer("b", 5, player=player) for player in range(3)]
    bold = solve(Nash(THREE), ESPrefCFR(prefer=prefer), tol=0.01, max_iterations=300_000, seed=1)
    plain = solve(Nash(THREE), "es-mccfr", tol=0.01, max_iterations=300_000, seed=1)
    assert bold.status is Status.CONVERGED
    assert sum(s.behaviour[2::2].sum() for s in bold.profile) > sum(s.behaviour[2::2].sum() for s in plain.profile)


@pytest.mark.parametrize("units", UNITS)
def test_a_solution_goes_on_exactly_where_it_stopped(units):
    problem = Nash(LEDUC)
    method = ESPrefCFR(prefer="0/r@first:5", vulnerability=0.1, units=units)
    whole = solve(problem, method, tol=0, max_iterations=1500, seed=4)
    half = solve(problem, method, tol=0, max_iterations=900, seed=4)
    rest = solve(problem, method, tol=0, max_iterations=600, start=half)
    np.testing.assert_array_equal(rest.profile[0].behaviour, whole.profile[0].behaviour)
    again = solve(problem, method, tol=0, max_iterations=600, start=half)
    np.testing.assert_array_equal(again.profile[1].behaviour, whole.profile[1].behaviour)


def test_any_profile_is_a_start():
    exact = solve(Nash(LEDUC))
    method = ESPrefCFR(prefer="0/r@first:5")
    begun = solve(Nash(LEDUC), method, start=exact.profile, tol=0, max_iterations=0)
    assert begun.exploitability < 1e-9
    np.testing.assert_allclose(begun.profile[0].plan, exact.profile[0].plan, atol=1e-12)


def test_options_that_make_no_sense_are_refused():
    with pytest.raises(UnknownMethodError, match=r"es-pref-cfr: local_rule = regret-matching\+ .*; expected one of"):
        ESPrefCFR(local_rule="regret-matching+")
    with pytest.raises(UnknownMethodError, match="es-pref-cfr: rule = argmax; expected one of rm, br"):
        ESPrefCFR(rule="argmax")
    with pytest.raises(UnknownMethodError, match="expected one of conditional, counterfactual"):
        ESPrefCFR(units="cumulative")
    with pytest.raises(UnknownMethodError, match="vulnerability = -1; expected a number of at least 0"):
        ESPrefCFR(vulnerability=-1)
    with pytest.raises(InvalidPreferenceError, match="expected 1 or more"):
        ESPrefCFR(prefer="b:0.5")
    with pytest.raises(InvalidPreferenceError, match="has action 'raise'"):
        solve(Nash(KUHN), ESPrefCFR(prefer="raise:5"))
