"""Threads that walk on shared regrets: what is exact, what the races may lose, and what is refused."""

import numpy as np
import pytest
from effort import few

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
    np.testing.assert_array_equal(beside.arrays.regrets, alone.arrays.regrets)
    np.testing.assert_array_equal(beside.arrays.sums, alone.arrays.sums)
    assert (beside.iterations, beside.touched) == (100, alone.touched)
    assert beside.streams[1, 2] == alone.arrays.clock[2]
    assert beside.streams[0, 2] == first_random_state(4, 0)


@few
@pytest.mark.parametrize("threads", [2, 3, 5])
def test_every_walk_is_done_and_almost_all_are_counted(threads):
    rule, walks = SamplingRule(threads=threads), 30_001
    sampler = Sampler(history_tree(LEDUC))
    state = sampler.initial_state(rule, 2, preference_of(LocalBias("0/r@first:5", 0.05), LEDUC))
    sampler.run(state, rule, walks)
    assert state.iterations == walks
    counted = state.arrays.counts[sampler.tree.infosets[:, 0]][sampler.tree.infosets[:, 2] == 0].sum()
    # Each walk of player 0 counts once at a first decision. Unless it is lost, when two threads count at once.
    assert 0.8 * walks < counted <= walks


def test_threads_stop_at_a_number_of_histories():
    rule = SamplingRule(threads=2)
    sampler = Sampler(history_tree(LEDUC))
    state = sampler.initial_state(rule, 2)
    sampler.run(state, rule, 10**9, touched=50_000)
    sampler.run(state, rule, 10**9, touched=90_001)
    assert 90_001 <= state.touched < 90_001 + 2 * 1000  # an iteration of each thread


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


def test_a_solution_continues_with_the_random_numbers_of_its_threads():
    problem, method = Nash(LEDUC), ExternalSamplingMCCFR(threads=2)
    half = solve(problem, method, tol=0, max_iterations=1000, seed=4)
    before = half.state.state.streams.copy()
    rest = solve(problem, method, tol=0, max_iterations=500, start=half)
    assert rest.iterations == 1500
    np.testing.assert_array_equal(half.state.state.streams, before)  # the half is not changed
    assert not np.array_equal(rest.state.state.streams[:, 2], before[:, 2])


def test_threads_exclude_batches_and_walks_over_rules():
    with pytest.raises(InvalidOptionError, match="batch=4 and threads=2, expected one of them"):
        ExternalSamplingMCCFR(batch=4, threads=2)
    with pytest.raises(InvalidOptionError, match="threads=2, expected 1: walks over rules run in one thread"):
        StreamedMCCFR(KUHN, "es-mccfr:threads=2")
