"""Threads that walk side by side: the changes that they add up, the same bits on any cores, and what is refused."""

import numpy as np
import pytest
from effort import few
from random_trees import matrix_game

from treeplex import InvalidOptionError, Nash, StreamedMCCFR, load_game, solve
from treeplex.solvers import ESPrefCFR, ExternalSamplingMCCFR
from treeplex.solvers.methods.rules import LocalBias, SamplingRule
from treeplex.solvers.sampling.sampler import Sampler, preference_of
from treeplex.solvers.sampling.splitmix import first_random_state
from treeplex.solvers.sampling.tree import history_tree

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")


@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=["kuhn", "leduc"])
def test_a_thread_walks_as_a_run_on_one_thread_does(game):
    sampler = Sampler(history_tree(game))
    alone, beside = sampler.initial_state(SamplingRule(), 4), sampler.initial_state(SamplingRule(threads=2), 4)
    alone.arrays.clock[2] = first_random_state(4, 1)
    for _ in range(100):  # of one iteration, the second thread does all
        sampler.run(beside, SamplingRule(threads=2), 1)
    sampler.run(alone, SamplingRule(), 100)
    np.testing.assert_allclose(beside.arrays.regrets, alone.arrays.regrets, atol=1e-12)
    np.testing.assert_allclose(beside.sums, alone.arrays.sums, atol=1e-12)
    assert (beside.iterations, beside.touched) == (100, alone.touched)
    assert beside.streams[1, 2] == alone.arrays.clock[2]
    assert beside.streams[0, 2] == first_random_state(4, 0)


RULES = [
    (LEDUC, SamplingRule(threads=2), None),
    (LEDUC, SamplingRule(threads=3, floor=0.0), None),
    (LEDUC, SamplingRule(threads=4), LocalBias("0/r@first:5", 0.05)),
    (load_game("kuhn:players=3"), SamplingRule(threads=2, averaging="sampled"), None),
    (KUHN, SamplingRule(threads=5, averaging="full"), LocalBias("0/b@first:5", 0.1, "counterfactual")),
]


@pytest.mark.parametrize(("game", "rule", "bias"), RULES)
def test_cores_and_calls_do_not_change_any_bit(game, rule, bias):
    tree, walks = history_tree(game), 3_000
    found = []
    for cores, calls in [(1, 1), (2, 1), (2, 9), (7, 4)]:
        sampler = Sampler(tree, cores)
        state = sampler.initial_state(rule, 3, preference_of(bias, game))
        for call in range(1, calls + 1):
            least = walks * call // calls - state.iterations
            sampler.run(state, rule, max(0, least), limit=walks - state.iterations)
            state = state.copy() if call % 2 else state
        assert state.iterations == walks
        found.append(b"".join(array.tobytes() for array in state.changing.values()))
    assert len(set(found)) == 1


#: Regrets of an infoset are in more than two blocks.
PAYOFFS = np.random.default_rng(1).normal(size=(60, 70))
WIDE = matrix_game(PAYOFFS, -PAYOFFS, range(60), range(70))


@pytest.mark.parametrize(
    "game", [KUHN, LEDUC, load_game("goofspiel:cards=3"), WIDE], ids=["kuhn", "leduc", "goofspiel", "wide"]
)
def test_a_phase_adds_the_changes_of_walks_on_equal_copies(game):
    rule, alone = SamplingRule(threads=3), SamplingRule()
    sampler = Sampler(history_tree(game))
    state = sampler.initial_state(rule, 5)
    regrets, clocks = np.zeros(sampler.tree.num_positions), state.streams.copy()
    for _ in range(4):
        done = state.iterations
        sampler.run(state, rule, 1, limit=10**6)  # one round
        walks = state.iterations - done
        for player in range(2):
            after = regrets.copy()
            for thread in range(3):
                own = sampler.initial_state(alone)
                own.arrays.regrets[:], own.arrays.clock[2] = regrets, clocks[thread, 2]
                number = walks * (thread + 1) // 3 - walks * thread // 3
                sampler._run(own, alone, own.arrays.regrets, number, None, player)
                after += own.arrays.regrets - regrets
                clocks[thread, 2] = own.arrays.clock[2]
            regrets = after
    assert walks > 3
    np.testing.assert_allclose(state.arrays.regrets, regrets, atol=1e-9)
    np.testing.assert_array_equal(state.streams[:, 2], clocks[:, 2])


@pytest.mark.parametrize("threads", [2, 3, 5])
def test_every_walk_is_counted(threads):
    rule, walks = SamplingRule(threads=threads), 30_001
    sampler = Sampler(history_tree(LEDUC))
    state = sampler.initial_state(rule, 2, preference_of(LocalBias("0/r@first:5", 0.05), LEDUC))
    sampler.run(state, rule, walks)
    assert state.iterations == walks
    first_decisions = sampler.tree.infosets[sampler.tree.infosets[:, 2] == 0, 0]
    counts = state.arrays.counts
    assert counts[first_decisions].sum() == counts[0] == counts[sampler.tree.bases[1]] == walks


def test_threads_stop_at_a_number_of_histories_and_at_a_limit_below_the_iterations():
    rule = SamplingRule(threads=2)
    sampler = Sampler(history_tree(LEDUC))
    state = sampler.initial_state(rule, 2)
    sampler.run(state, rule, 100, limit=10)
    assert state.iterations == 10
    sampler.run(state, rule, 10**9, touched=50_000)
    sampler.run(state, rule, 10**9, touched=90_001)
    assert 90_001 <= state.touched < 90_001 + 4 * 1000  # a phase of each thread for each player


@few
@pytest.mark.parametrize(
    "method", [ExternalSamplingMCCFR(threads=2), ESPrefCFR(threads=2, rule="br"), ExternalSamplingMCCFR(threads=4)]
)
def test_threads_find_equilibria_in_as_many_walks(method):
    walks = 200_000
    one = solve(Nash(LEDUC), type(method)(), tol=0, max_iterations=walks, seed=1)
    many = solve(Nash(LEDUC), method, tol=0, max_iterations=walks, seed=1)
    assert many.iterations == walks
    assert many.history.touched[-1] == pytest.approx(one.history.touched[-1], rel=0.05)
    assert many.exploitability < 2.5 * one.exploitability


def test_a_solution_continues_with_the_random_numbers_and_sums_of_its_threads():
    problem, method = Nash(LEDUC), ExternalSamplingMCCFR(threads=2)
    half = solve(problem, method, tol=0, max_iterations=1000, seed=4)
    before = {name: array.copy() for name, array in half.state.state.changing.items()}
    rest = [solve(problem, method, tol=0, max_iterations=500, start=half) for _ in range(2)]
    assert [each.iterations for each in rest] == [1500, 1500]
    for name, array in half.state.state.changing.items():
        np.testing.assert_array_equal(array, before[name])  # the half is not changed
    for name, array in rest[0].state.state.changing.items():
        np.testing.assert_array_equal(array, rest[1].state.state.changing[name])
    assert not np.array_equal(rest[0].state.state.streams[:, 2], before["streams"][:, 2])
    assert rest[0].exploitability < half.exploitability


def test_threads_start_from_a_profile():
    exact = solve(Nash(KUHN))
    run = solve(Nash(KUHN), ExternalSamplingMCCFR(threads=2), tol=0, max_iterations=200, seed=4, start=exact.profile)
    assert run.exploitability < 0.1 < solve(Nash(KUHN), "es-mccfr:threads=2", tol=0, max_iterations=200).exploitability


def test_threads_exclude_batches_and_walks_over_rules():
    with pytest.raises(InvalidOptionError, match="batch=4 and threads=2, expected one of them"):
        ExternalSamplingMCCFR(batch=4, threads=2)
    with pytest.raises(InvalidOptionError, match="threads=2, expected 1: walks over rules run in one thread"):
        StreamedMCCFR(KUHN, "es-mccfr:threads=2")
