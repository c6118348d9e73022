"""Averages of independent runs: means of plans, with the bound on NashConv that convexity gives."""

import re

import numpy as np
import pytest
from effort import few
from joblib.externals.loky import get_reusable_executor

from treeplex import (
    InvalidOptionError,
    InvalidStrategyError,
    Nash,
    Profile,
    StreamedMCCFR,
    exploitability,
    load_game,
    solve,
)
from treeplex.solvers import averaged_profile, averaged_runs, independent_runs

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")


@pytest.fixture(scope="module", autouse=True)
def _no_processes_stay():
    """End joblib's workers, which wait for more calls: other tests count the processes that remain."""
    yield
    get_reusable_executor().shutdown(wait=True)


def sampled(game, iterations, seed, method="es-mccfr"):
    sampler = StreamedMCCFR(game, method, seed=seed)
    sampler.run(iterations)
    return sampler


@few
@pytest.mark.parametrize(
    ("game", "lengths"), [(KUHN, (300, 100, 7)), (LEDUC, (60, 20, 3)), (load_game("leduc:ranks=4"), (10, 40))]
)
def test_the_average_of_runs_is_the_mean_of_their_plans(game, lengths):
    runs = [sampled(game, length, seed) for seed, length in enumerate(lengths)]
    weights = np.array(lengths) / sum(lengths)
    profiles = [run.profile.to_profile(game) for run in runs]
    found = averaged_runs(runs).to_profile(game)
    for player in range(2):
        expected = sum(weight * profile[player].plan for weight, profile in zip(weights, profiles, strict=True))
        np.testing.assert_allclose(found[player].plan, expected, rtol=0, atol=1e-12)
    mean = sum(weight * exploitability(game, profile) for weight, profile in zip(weights, profiles, strict=True))
    assert exploitability(game, found) <= mean + 1e-12
    whole = averaged_profile(profiles, list(lengths))
    np.testing.assert_allclose(whole[1].plan, found[1].plan, rtol=0, atol=1e-12)


def test_averages_of_runs_are_better_than_their_parts():
    runs = [solve(Nash(LEDUC), "es-mccfr", tol=0, max_iterations=20_000, seed=seed) for seed in range(4)]
    mean = averaged_profile([run.profile for run in runs])
    assert exploitability(LEDUC, mean) < 0.75 * min(run.exploitability for run in runs)


@few
@pytest.mark.parametrize("method", ["es-mccfr", "os-mccfr"])
@pytest.mark.parametrize("jobs", [None, 2])
def test_independent_runs_are_runs_with_consecutive_seeds(method, jobs):
    runs = independent_runs(KUHN, method, runs=2, iterations=50, seed=5, jobs=jobs)
    for seed, run in zip((5, 6), runs, strict=True):
        alone = sampled(KUHN, 50, seed, method)
        assert (run.seed, run.iterations, run.touched) == (seed, 50, alone.touched)
        assert dict(run.strategy(0)) == dict(alone.strategy(0))
    run.run(10)  # it continues where it stopped
    alone.run(10)
    assert dict(run.strategy(0)) == dict(alone.strategy(0))


def test_averages_refuse_what_is_not_of_one_game():
    kuhn, leduc = sampled(KUHN, 5, 0), sampled(LEDUC, 2, 0)
    three, four = sampled(load_game("kuhn:players=3"), 2, 0), sampled(load_game("kuhn:cards=4"), 5, 0)
    for wrong, said in [
        (lambda: averaged_runs([]), "there is no run to average"),
        (lambda: averaged_runs([kuhn], [1, 2]), "there are 2 weights, expected 1, one per run"),
        (lambda: averaged_runs([kuhn, kuhn], [0, 0]), "expected at least one above 0"),
        (lambda: averaged_runs([kuhn, kuhn], [1, -1]), "a weight is -1"),
        (lambda: averaged_runs([kuhn, three]), "different numbers of players"),
        (lambda: averaged_runs([kuhn, "run.npz"]), "expected StreamedMCCFR"),
        (lambda: averaged_profile([Profile.uniform(KUHN), Profile.uniform(LEDUC)]), "game"),
        (lambda: averaged_profile(["a"]), "expected profiles of one game"),
    ]:
        with pytest.raises(InvalidStrategyError, match=re.escape(said)):
            wrong()
    assert len(averaged_runs([kuhn, four])[0]) >= 6  # the labels of one game contain those of the other
    menus = leduc._tables[0].menus
    leduc._tables[0].menus = [menu[::-1] for menu in menus]
    with pytest.raises(InvalidStrategyError, match="other actions or another past in another run"):
        averaged_runs([leduc, sampled(LEDUC, 5, 0)])
    with pytest.raises(InvalidOptionError, match="no limit"):
        independent_runs(KUHN, runs=1)
    with pytest.raises(InvalidOptionError, match="runs"):
        independent_runs(KUHN, runs=0, iterations=1)
    with pytest.raises(InvalidOptionError, match="jobs is 0, expected a whole number of at least 1"):
        independent_runs(KUHN, runs=1, iterations=1, jobs=0)
