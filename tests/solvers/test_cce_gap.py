"""How far empirical play is from a coarse correlated equilibrium, and from Nash."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game, trees

from treeplex import (
    CFR,
    DCFR,
    TERMINAL,
    CFRPlus,
    Game,
    InvalidStrategyError,
    Nash,
    Profile,
    Strategy,
    UnknownMethodError,
    expected_payoffs,
    load_game,
    nash_conv,
    solve,
)
from treeplex.seqform import EmpiricalPlay, best_response_values, cce_gap
from treeplex.seqform.polytope import best_response_plan, best_response_value
from treeplex.solvers import EmpiricalRun, ESPrefCFR, ExternalSamplingMCCFR
from treeplex.solvers.sampling.sampler import Sampler, SamplingRule
from treeplex.solvers.sampling.tree import history_tree

KUHN, THREE, LEDUC = load_game("kuhn"), load_game("kuhn:players=3"), load_game("leduc")


def random_profile(game, rng):
    """Return behaviours drawn at random, some actions left out."""
    strategies = []
    for player, treeplex in enumerate(game.sequence_form.treeplexes):
        weights = rng.exponential(size=treeplex.num_sequences) * (rng.random(treeplex.num_sequences) < 0.8) + 1e-12
        totals = np.add.reduceat(weights, treeplex.offsets[:-1]) if treeplex.num_infosets else np.zeros(0)
        weights[1:] /= np.repeat(totals, treeplex.num_actions)
        strategies.append(Strategy(game, player, weights))
    return Profile(strategies)


class Shapley:
    """Shapley's game, which players of best responses and better ones circle in, and a third player who pays for it."""

    num_players = 3
    wins = np.array([[[0.01, 0, 1], [1, 0, 0], [0, 1, 0]], [[0, 1, 0], [0, 0, 1], [1, 0, 0]]], dtype=float)

    def initial_state(self):
        return ()

    def player(self, state):
        return TERMINAL if len(state) == 2 else len(state)

    def actions(self, state):
        return ("a", "b", "c")

    def chance_outcomes(self, state):
        return ()

    def child(self, state, action):
        return (*state, "abc".index(action))

    def infoset(self, state):
        return "_"

    def payoffs(self, state):
        first, second = self.wins[:, *state].tolist()
        return first, second, -first - second


@given(trees(num_players=2), st.integers(0, 10_000))
def test_gains_of_two_players_add_up_to_nash_conv_of_the_average(root, seed):
    game, rng = to_game(root), np.random.default_rng(seed)
    if not game.sequence_form.is_zero_sum:
        return
    play = EmpiricalPlay(game)
    for _ in range(5):
        play.add(random_profile(game, rng), rng.uniform(0.5, 2.0))
    assert play.gains.sum() == pytest.approx(play.nash_conv, abs=1e-9)
    assert play.nash_conv == pytest.approx(nash_conv(game, play.average), abs=1e-9)


def test_the_gap_of_leduc_lies_below_nash_conv_and_not_below_exploitability():
    run = EmpiricalRun(LEDUC, CFR(updates="simultaneous"))
    run.run(60)
    assert run.play.gains.sum() == pytest.approx(run.play.nash_conv)
    assert run.play.nash_conv / 2 <= run.play.cce_gap <= run.play.nash_conv


@given(trees(num_players=3), st.integers(0, 10_000))
def test_gains_are_those_of_deviations_from_the_mixture(root, seed):
    game, rng = to_game(root), np.random.default_rng(seed)
    profiles, weights = [random_profile(game, rng) for _ in range(4)], [1.0, 2.0, 0.5, 1.0]
    play = EmpiricalPlay(game)
    for profile, weight in zip(profiles, weights, strict=True):
        play.add(profile, weight)
    shares = np.array(weights) / sum(weights)
    payoffs = shares @ [expected_payoffs(game, profile) for profile in profiles]
    np.testing.assert_allclose(play.payoffs, payoffs, atol=1e-9)

    def gain(player, deviation):
        deviating = [Profile([deviation if p == player else s for p, s in enumerate(each)]) for each in profiles]
        return shares @ [expected_payoffs(game, each)[player] for each in deviating] - payoffs[player]

    for player in range(3):
        for _ in range(3):
            assert gain(player, random_profile(game, rng)[player]) <= play.gains[player] + 1e-9
        # The best one attains it.
        treeplex = game.sequence_form.treeplexes[player]
        gradients = [game.sequence_form.gradient(player, profile.plans) for profile in profiles]
        best = best_response_plan(treeplex, shares @ gradients)
        assert gain(player, Strategy(game, player, best.behaviour)) == pytest.approx(play.gains[player], abs=1e-9)
    assert cce_gap(game, profiles, weights) == pytest.approx(max(play.gains.max(), 0.0))


def test_a_single_profile_gains_what_best_responses_gain():
    profile = random_profile(THREE, np.random.default_rng(1))
    gains = best_response_values(THREE, profile) - expected_payoffs(THREE, profile)
    assert cce_gap(THREE, [profile]) == pytest.approx(gains.max())
    play = EmpiricalPlay(THREE)
    play.add(profile)
    assert play.nash_conv == pytest.approx(gains.sum())


def test_what_a_run_records_averages_to_what_the_method_returns():
    for method in (CFR(), CFRPlus(), DCFR(updates="simultaneous")):
        run = EmpiricalRun(LEDUC, method)
        run.run(12)
        run.run(13)
        solution = solve(Nash(LEDUC), method, tol=0, max_iterations=25)
        for one, other in zip(run.play.average, solution.profile, strict=True):
            np.testing.assert_allclose(one.plan, other.plan, atol=1e-10)
        assert (run.iterations, run.play.num_profiles) == (25, 25)


def test_what_a_sampling_run_records_is_what_full_averages_average():
    run = EmpiricalRun(KUHN, "es-mccfr", seed=5)
    run.run(40)
    sampler, rule = Sampler(history_tree(KUHN)), SamplingRule()
    state = sampler.initial_state(rule, 5)
    sums = [np.zeros(13), np.zeros(13)]
    for _ in range(40):
        for player, behaviour in enumerate(sampler.policies(state)):
            sums[player] += KUHN.sequence_form.treeplexes[player].plan(behaviour) / 40
        sampler.run(state, rule, 1)
    for one, other in zip(run.play.average, sums, strict=True):
        np.testing.assert_allclose(one.plan, other, atol=1e-12)
    sparse = EmpiricalRun(KUHN, ExternalSamplingMCCFR(), seed=5)
    sparse.run(35, every=10)
    sparse.run(5, every=10)
    assert (sparse.iterations, sparse.play.num_profiles) == (40, 4)


def test_gains_are_the_regrets_of_simultaneous_cfr():
    """Cumulative counterfactual regrets, which the loop keeps, give the same numbers by a pass over the infosets."""
    run = EmpiricalRun(THREE, CFR(updates="simultaneous"))
    run.run(50)
    kernel, state = run._stepper.kernel, run._stepper.state
    for player, treeplex in enumerate(THREE.sequence_form.treeplexes):
        regrets = np.array(kernel.layout.to_user(player, state.arrays.regrets)) * kernel.layout.unit / 50
        regrets[0] = 0.0
        assert run.play.gains[player] == pytest.approx(best_response_value(treeplex, regrets), abs=1e-9)


@pytest.mark.parametrize("game", [THREE, to_game(seeded_tree(3, 3))], ids=["kuhn of three", "tree"])
def test_the_gap_of_three_players_goes_to_zero_with_cfr(game):
    run = EmpiricalRun(game, CFR(updates="simultaneous"))
    gaps = []
    for _ in range(3):
        run.run(150)
        gaps.append(run.play.cce_gap)
    assert gaps[-1] < 0.02 * game.sequence_form.payoff_scale
    assert gaps[-1] < gaps[0]


def test_nash_conv_of_three_players_need_not_go_to_zero():
    run = EmpiricalRun(Game("shapley", rules=Shapley()), CFR(updates="simultaneous"))
    run.run(4000)
    assert run.play.cce_gap < 0.005
    assert run.play.nash_conv > 0.25


def test_sampling_has_a_gap_that_falls_too():
    gaps = []
    for iterations in (200, 5000):
        run = EmpiricalRun(THREE, "es-mccfr", seed=1)
        run.run(iterations, every=iterations // 100)
        gaps.append(run.play.cce_gap)
    assert gaps[1] < 0.5 * gaps[0]


def test_preferences_move_the_play():
    bets = []
    for prefer in ("0/b:5", ()):
        run = EmpiricalRun(THREE, ESPrefCFR(prefer=prefer, rule="br"), seed=1)
        run.run(3000, every=10)
        bets.append(run.play.average[0].behaviour[2::2].sum())
    assert bets[0] > bets[1]


def test_what_makes_no_sense_is_refused():
    profile = Profile.uniform(KUHN)
    with pytest.raises(InvalidStrategyError, match="no profile has been added yet: add one first"):
        _ = EmpiricalPlay(KUHN).cce_gap
    with pytest.raises(InvalidStrategyError, match="belongs to another game"):
        cce_gap(LEDUC, [profile])
    with pytest.raises(InvalidStrategyError, match=r"profile is .*, expected a Profile"):
        cce_gap(KUHN, [profile[0]])
    for weight in (0.0, -1.0, float("nan"), float("inf"), True, "1"):
        with pytest.raises(InvalidStrategyError, match=r"the weight of a profile is .*, expected a number above 0"):
            cce_gap(KUHN, [profile], [weight])
    with pytest.raises(InvalidStrategyError, match="expected one weight per profile"):
        cce_gap(KUHN, [profile], [1.0, 1.0])
    with pytest.raises(UnknownMethodError, match="expected an iterative method"):
        EmpiricalRun(KUHN, "highs")
    with pytest.raises(UnknownMethodError, match="every is 0, expected a whole number"):
        EmpiricalRun(KUHN).run(5, every=0)
    with pytest.raises(UnknownMethodError, match="iterations is -1, expected a whole number"):
        EmpiricalRun(KUHN).run(-1)
