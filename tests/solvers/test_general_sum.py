"""Games whose payoffs do not sum to zero: what is selected by preferences, and what the joint play is proven to be."""

import numpy as np
import pytest
from effort import either, examples, few
from hypothesis import given
from hypothesis import strategies as st
from random_trees import Decision, Leaf, matrix_game, seeded_tree, to_game

from treeplex import (
    CFR,
    Nash,
    PrefCFR,
    Prefer,
    UnsupportedProblemError,
    expected_payoffs,
    load_game,
    nash_conv,
    solve,
)
from treeplex.models.problems import EpsilonNash
from treeplex.seqform import best_response_values
from treeplex.solvers import CFVFP, EmpiricalRun, ESPrefCFR
from treeplex.solvers.regret.preference_bounds import preference_bound

#: Two want to meet, player 0 rather at the opera and player 1 rather at the match.
SEXES = matrix_game([[2, 0], [0, 1]], [[1, 0], [0, 2]], rows=("opera", "match"), columns=("opera", "match"))
OPERA, MATCH = (2.0, 1.0), (1.0, 2.0)
#: The same; each lists first what it likes best.
OWN_FIRST = matrix_game([[0, 2], [1, 0]], [[0, 1], [2, 0]], rows=("opera", "match"), columns=("match", "opera"))
ITERATIVE = ["cfr", "cfr+", "dcfr", "pcfr+", "cfvfp", "pref-cfr", "es-mccfr", "os-mccfr", "es-pref-cfr"]


def wishes_of_all(game, random, vulnerability):
    return [
        Prefer(
            [actions[random.integers(len(actions))]], 1 + 9 * random.random(), player=player, infosets=[label],
            vulnerability=vulnerability * random.random(),
        )
        for player, treeplex in enumerate(game.sequence_form.treeplexes)
        for label, actions in zip(treeplex.infoset_labels, treeplex.action_labels, strict=True)
        if random.random() < 0.6
    ]  # fmt: skip


# The battle of the sexes


@pytest.mark.parametrize("rule", ["rm", "br"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("action", "paid"), [("opera", OPERA), ("match", MATCH)])
def test_a_preference_of_either_seat_selects_the_equilibrium(rule, player, action, paid):
    method = PrefCFR(f"{player}/{action}:5", rule=rule)
    solution = solve(EpsilonNash(SEXES), method, tol=0, max_iterations=2000)
    assert solution.value == pytest.approx(paid, abs=0.01)
    assert solution.certificate.epsilon < 0.002
    assert all(strategy["_"][action] > 0.99 for strategy in solution.profile)
    run = EmpiricalRun(SEXES, method)
    run.run(2000)
    assert run.play.payoffs == pytest.approx(paid, abs=0.01)
    assert run.play.cce_gap < 0.002


@pytest.mark.parametrize("rule", ["rm", "br"])
def test_of_opposite_preferences_the_stronger_one_decides(rule):
    for first, second, paid in ((5, 2, OPERA), (2, 5, MATCH)):
        method = PrefCFR((f"0/opera:{first}", f"1/match:{second}"), rule=rule)
        assert solve(EpsilonNash(SEXES), method, tol=0, max_iterations=4000).value == pytest.approx(paid, abs=0.01)


def test_samples_are_led_too():
    for prefer, paid in (("0/opera:5", OPERA), ("1/match:5", MATCH)):
        solution = solve(EpsilonNash(SEXES), ESPrefCFR(prefer=prefer), tol=0.01, seed=1)
        assert solution.value == pytest.approx(paid, abs=0.05)


@few
@pytest.mark.parametrize("game", [SEXES, OWN_FIRST], ids=["as told", "own first"])
def test_the_play_by_rm_is_a_coarse_correlated_equilibrium_within_its_bound(game):
    for prefer in ((), "0/opera:5", ("0/opera:5", "1/match:5"), ("0/match:3", "1/opera:8")):
        for iterations in (10, either(300, 3000)):
            method = PrefCFR(prefer)
            bound = preference_bound(solve(EpsilonNash(game), method, tol=0, max_iterations=iterations))
            run = EmpiricalRun(game, method)
            run.run(iterations)
            assert run.play.cce_gap <= bound.cce_gap
            assert (run.play.gains <= bound.regrets).all()
            assert bound.nash_conv is None


def test_by_br_the_play_need_not_be_one_nor_the_averages_an_equilibrium():
    """Counterexample to what the paper says of both rules: players who prefer what they like best never meet."""
    run = EmpiricalRun(OWN_FIRST, PrefCFR(("0/opera:5", "1/match:5"), rule="br"))
    run.run(10_000)
    assert run.play.payoffs == pytest.approx((0.0, 0.0), abs=1e-3)
    assert run.play.gains == pytest.approx((10 / 11, 10 / 11), abs=1e-3)
    assert run.play.nash_conv == pytest.approx(1.3223, abs=1e-3)


def test_averages_may_be_an_equilibrium_of_players_who_never_met():
    run = EmpiricalRun(SEXES, CFVFP(updates="simultaneous"))
    run.run(3000)
    assert run.play.nash_conv < 1e-3
    assert expected_payoffs(SEXES, run.play.average) == pytest.approx((2 / 3, 2 / 3), abs=1e-2)
    assert run.play.payoffs == pytest.approx((0.0, 0.0), abs=1e-2)
    assert run.play.cce_gap == pytest.approx(2 / 3, abs=1e-2)


# Any game


@given(
    st.integers(0, 10**6), st.integers(2, 3), st.sampled_from(["counterfactual", "conditional"]),
    st.sampled_from(["cfr", "cfr+"]), st.sampled_from([1, 30, 300]), st.sampled_from([0.0, 0.2]),
)  # fmt: skip
@examples(60)
def test_gains_over_the_joint_play_are_within_the_bounds(seed, players, units, base, iterations, vulnerability):
    game = to_game(seeded_tree(seed, num_players=players, zero_sum=False))
    method = PrefCFR(wishes_of_all(game, np.random.default_rng(seed), vulnerability), units=units, base=base)
    bound = preference_bound(solve(EpsilonNash(game), method, tol=0, max_iterations=iterations))
    run = EmpiricalRun(game, method)
    run.run(iterations)
    assert (run.play.gains <= np.array(bound.regrets) + 1e-9).all()
    assert run.play.cce_gap <= bound.cce_gap + 1e-9
    # Trees of a single leaf have a constant sum.
    assert (bound.nash_conv is None) == (players > 2 or game.sequence_form.constant_sum is None)


@pytest.mark.parametrize("method", ITERATIVE)
@pytest.mark.parametrize("players", [2, 3])
def test_every_iterative_method_takes_them_and_certifies_what_it_found(method, players):
    game = to_game(seeded_tree(7, num_players=players, zero_sum=False))
    solution = solve(EpsilonNash(game), method, tol=0, max_iterations=200, seed=1)
    best, paid = best_response_values(game, solution.profile), expected_payoffs(game, solution.profile)
    assert solution.regrets == pytest.approx(tuple(np.maximum(best - paid, 0)), abs=1e-12)
    assert solution.certificate.nash_conv == pytest.approx(nash_conv(game, solution.profile), abs=1e-12)
    assert len(solution.value) == players
    run = EmpiricalRun(game, method, seed=1)
    run.run(20)
    assert run.play.num_profiles == 20


def test_zero_sum_games_of_three_are_what_they_are_as_nash():
    game = load_game("kuhn:players=3")
    found, same = (solve(kind(game), "cfr", tol=0, max_iterations=50) for kind in (EpsilonNash, Nash))
    for own, other in zip(found.profile.plans, same.profile.plans, strict=True):
        assert np.array_equal(own, other)
    assert found.certificate.nash_conv == pytest.approx(3 * same.exploitability)
    assert preference_bound(solve(Nash(game), PrefCFR("b:2"), tol=0, max_iterations=50)).nash_conv is None


def test_games_of_one_player_are_refused():
    alone = to_game(Decision(0, "I", (("x", Leaf((1.0,))), ("y", Leaf((0.0,))))))
    with pytest.raises(UnsupportedProblemError, match=r"epsilon-nash needs two players, but .* has 1"):
        solve(EpsilonNash(alone))
    run = EmpiricalRun(to_game(Decision(0, "I", (("x", Leaf((1.0, 1.0))), ("y", Leaf((0.0, 0.0)))))), CFR())
    run.run(200)
    assert run.play.payoffs == pytest.approx((1.0, 1.0), abs=0.01)
