"""Walks in batches: what they add up, without bias, and the same bits for any number of threads."""

import numpy as np
import pytest
from effort import few
from random_trees import Chance, Decision, Leaf, to_game
from whole_walks import least_p_value, whole_walk

from treeplex import Nash, Status, StreamedMCCFR, UnknownMethodError, load_game, solve
from treeplex.solvers import ESPrefCFR, ExternalSamplingMCCFR
from treeplex.solvers.methods.rules import LocalBias
from treeplex.solvers.sampling.sampler import Sampler, SamplingRule, preference_of
from treeplex.solvers.sampling.tree import history_tree

KUHN, THREE, LEDUC = load_game("kuhn"), load_game("kuhn:players=3"), load_game("leduc")
#: The probability that a test of samples fails though there is no bias.
FALSE_ALARMS = 1e-6
RULES = {
    "simple": SamplingRule(batch=100),
    "sampled, regret matching+": SamplingRule(averaging="sampled", floor=0.0, batch=100),
    "full": SamplingRule(averaging="full", batch=64),
}


def after(game, rule, iterations, seed=3, bias=None, threads=0):
    sampler = Sampler(history_tree(game), threads)
    state = sampler.initial_state(rule, seed, preference_of(bias, game))
    sampler.run(state, rule, iterations)
    return sampler, state


def bits(state):
    return {name: array.tobytes() for name, array in state.changing.items()}


@few
@pytest.mark.parametrize("bias", [None, LocalBias("0/r@first:5", 0.05)], ids=["regrets", "preference"])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("game", [LEDUC, THREE], ids=["leduc", "kuhn of three"])
def test_any_number_of_threads_does_the_same_bit_for_bit(game, rule, bias):
    if bias is not None and game is THREE:
        bias = LocalBias("0/b@first:5", 0.05)
    found = []
    for threads in (1, 2, 4, 7):
        state = after(game, rule, 60, bias=bias, threads=threads)[1]
        found.append(bits(state))
        assert state.iterations == 60
        lanes = state.lanes
        assert not any(array.any() for array in (lanes.regrets, lanes.sums, lanes.visits, lanes.places, lanes.taken))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("floor", [-np.inf, 0.0], ids=["regret matching", "regret matching+"])
@pytest.mark.parametrize("game", [KUHN, THREE, LEDUC], ids=["kuhn", "kuhn of three", "leduc"])
def test_a_lane_walks_as_walks_do_that_leave_the_policies_alone(game, floor):
    rule = SamplingRule(floor=floor, batch=7)  # one lane
    sampler = Sampler(history_tree(game))
    state, slow = sampler.initial_state(rule, 5), sampler.initial_state(SamplingRule(), 5)
    slow.arrays.clock[2] = state.lanes.clock[0, 2]
    for _ in range(50):
        for player in range(game.num_players):
            target, before = np.zeros(sampler.tree.num_positions), slow.iterations
            sampler._run(slow, SamplingRule(), target, 7, None, player)
            slow.arrays.clock[0] = before
            slow.arrays.regrets[:] = np.maximum(slow.arrays.regrets + target, floor)
        sampler.run(state, rule, 1)
        np.testing.assert_array_equal(state.arrays.regrets, slow.arrays.regrets)
    assert state.touched == slow.touched
    assert state.lanes.clock[0, 2] == slow.arrays.clock[2]
    assert (state.arrays.regrets.min() < 0.0) == (floor < 0.0)


def test_batches_are_unbiased_and_average_what_is_played():
    rule, regrets, sums = SamplingRule(batch=400), [], []
    sampler = Sampler(history_tree(KUHN))
    start = np.random.default_rng(0).uniform(0.5, 1.5, sampler.tree.num_positions)
    for seed in range(200):
        state = sampler.initial_state(rule, seed)
        state.arrays.regrets[:] = start
        sampler.run(state, rule, 1)
        regrets.append((state.arrays.regrets - start) / rule.batch)
        sums.append(state.arrays.sums / rule.batch)
    state.arrays.regrets[:] = start
    policies = sampler.policies(state)
    middle = sampler.tree.bases[1]
    # The first player walks by these policies; the second then meets another first player.
    expected = whole_walk(KUHN, policies, 0).regrets
    assert least_p_value(np.array(regrets)[:, :middle], expected) > FALSE_ALARMS
    assert least_p_value(np.array(regrets)[:, 1:middle], expected[1:] + 0.02) < FALSE_ALARMS  # it could fail
    plan = KUHN.sequence_form.treeplexes[1].plan(policies[1])
    plan[1:] *= np.repeat(whole_walk(KUHN, policies, 1).by_chance, KUHN.sequence_form.treeplexes[1].num_actions)
    plan[0] = 0.0
    assert least_p_value(np.array(sums)[:, middle:], plan) > FALSE_ALARMS


def test_every_walk_of_a_batch_is_done_and_draws_its_own_numbers():
    game = to_game(Chance(tuple((f"c{i}", 0.125, Leaf((1.0, -1.0))) for i in range(8))))
    rule = SamplingRule(batch=77)
    sampler = Sampler(history_tree(game))
    state = sampler.initial_state(rule, 3)
    before = state.lanes.clock[:, 2].copy()
    sampler.run(state, rule, 5)
    assert len(set(before.tolist())) == len(before) == 77 // 16
    step, pairs = 0x9E3779B97F4A7C15, zip(state.lanes.clock[:, 2].tolist(), before.tolist(), strict=True)
    steps = [(now - then) * pow(step, -1, 2**64) % 2**64 for now, then in pairs]
    assert sum(steps) == 5 * 2 * 77  # players and walks, one number each
    assert state.touched == 5 * 2 * 77 * 2


@few
@pytest.mark.parametrize("method", [ExternalSamplingMCCFR(batch=64), ESPrefCFR("0/r@first:5", 0.05, batch=64)], ids=str)
def test_a_solution_goes_on_exactly_where_it_stopped(method):
    problem = Nash(LEDUC)
    whole = solve(problem, method, tol=0, max_iterations=300, seed=4)
    half = solve(problem, method, tol=0, max_iterations=180, seed=4)
    for _ in range(2):  # the half is not changed
        rest = solve(problem, method, tol=0, max_iterations=120, start=half)
        assert rest.iterations == 300
        for player in range(2):
            np.testing.assert_array_equal(rest.profile[player].plan, whole.profile[player].plan)


@pytest.mark.parametrize("batch", [16, 64, 256])
def test_batches_find_equilibria_in_as_many_walks(batch):
    walks = 200_000
    one = solve(Nash(LEDUC), "es-mccfr", tol=0, max_iterations=walks, seed=1)
    many = solve(Nash(LEDUC), f"es-mccfr:batch={batch}", tol=0, max_iterations=walks // batch, seed=1)
    assert many.history.touched[-1] == pytest.approx(one.history.touched[-1], rel=0.05)
    assert many.exploitability < 1.5 * one.exploitability


def test_deep_infosets_are_written_down_too():
    def chain(depth):
        if depth == 40:
            return Leaf((0.0, 0.0))
        who = depth % 2
        return Decision(
            who, f"i{depth}", (("on", chain(depth + 1)), ("stop", Leaf((float(depth % 5), -float(depth % 5)))))
        )

    game = to_game(chain(0))
    solution = solve(Nash(game), "es-mccfr:batch=48", tol=0.01, seed=1)
    assert solution.status is Status.CONVERGED


def test_a_copy_goes_on_by_itself():
    rule = RULES["simple"]
    sampler, state = after(LEDUC, rule, 10)
    copy, before = state.copy(), bits(state)
    sampler.run(copy, rule, 10)
    assert bits(state) == before
    sampler.run(state, rule, 10)
    assert bits(state) == bits(copy)


def test_rules_are_not_walked_in_batches():
    with pytest.raises(UnknownMethodError, match="batch=4, expected 1: walks over rules run one by one"):
        StreamedMCCFR(KUHN, "es-mccfr:batch=4")
