"""Smooth regret matching+: its projection, its steps as the paper writes them down, and that last iterates converge."""

from itertools import pairwise

import numpy as np
import pytest
from effort import thorough

from treeplex import Game, Nash, load_game, solve
from treeplex.seqform import SequenceForm
from treeplex.seqform.polytope import Treeplex
from treeplex.solvers import SmoothCFRPlus
from treeplex.solvers.regret.smooth import kept_away, lipschitz

#: Player 0 minimises over rows; the equilibrium is unique, (1, 1, 10) / 12 and (4, 5, 3) / 12, and worth 1/4.
A = np.array([[3.0, 0.0, -3.0], [0.0, 3.0, -4.0], [0.0, 0.0, 1.0]])
PROBLEM = Nash(Game.from_sequence_form(SequenceForm.from_payoff_matrix(-A)))


def project(values):
    """Return the nearest point that is not negative and adds up to 1 at the least, by bisection."""
    if np.maximum(values, 0).sum() >= 1:
        return np.maximum(values, 0)
    low, high = values.max() - 1, values.max()
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(values - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(values - low, 0)


def test_projection():
    random = np.random.default_rng(3)
    counts = random.integers(1, 7, 40)
    offsets = np.append(1, 1 + np.cumsum(counts))
    parents = [int(random.integers(0, first)) for first in offsets[:-1]]
    regrets = random.normal(size=offsets[-1]) * random.choice([0.1, 1, 10], size=offsets[-1])
    found = kept_away(Treeplex(parents, counts), regrets)
    for first, last in pairwise(offsets):
        assert found[first:last] == pytest.approx(project(regrets[first:last]), abs=1e-12)


@pytest.mark.parametrize("gradients", ["predictive", "extragradient"])
def test_steps_are_those_of_the_paper(gradients):
    def gains(z):
        x, y = z[0] / z[0].sum(), z[1] / z[1].sum()
        return -A @ y + x @ A @ y, A.T @ x - x @ A @ y

    rate = 1 / (18**0.5 * np.linalg.norm(A, 2))
    w = [np.full(3, 1 / 3), np.full(3, 1 / 3)]
    last = (np.zeros(3), np.zeros(3))
    for count in range(1, 30):
        forecast = gains(w) if gradients == "extragradient" else last
        z = [project(own + rate * each) for own, each in zip(w, forecast, strict=True)]
        last = gains(z)
        w = [project(own + rate * each) for own, each in zip(w, last, strict=True)]
        method = SmoothCFRPlus(gradients, restarts=False)
        solution = solve(PROBLEM, method, tol=0, max_iterations=count)
        for strategy, each in zip(solution.profile, z, strict=True):
            assert strategy.plan[1:] == pytest.approx(each / each.sum(), abs=1e-6)  # ‖A‖ is found by iterating


def test_lipschitz_constant():
    assert lipschitz(SequenceForm.from_payoff_matrix(-A)) == pytest.approx(18**0.5 * np.linalg.norm(A, 2), rel=1e-6)
    assert lipschitz(SequenceForm.from_payoff_matrix(np.zeros((2, 2)))) == 0


@thorough
def test_last_plans_converge_where_those_of_others_do_not():
    # Cai et al., figure 1.
    for method in ("cfr+", "pcfr+"):
        for count in (3_000, 4_000):
            found = solve(PROBLEM, f"{method}:updates=simultaneous,iterate=last", tol=0, max_iterations=count)
            assert found.exploitability > 0.01
    for gradients in ("predictive", "extragradient"):
        assert solve(PROBLEM, SmoothCFRPlus(gradients), tol=0, max_iterations=3_000).exploitability < 1e-9
    # Without restarts they do too, if more slowly.
    assert 1e-9 < solve(PROBLEM, SmoothCFRPlus(restarts=False), tol=0, max_iterations=3_000).exploitability < 1e-3
    equilibrium = solve(PROBLEM, SmoothCFRPlus(), tol=1e-10).profile
    assert equilibrium[0].plan[1:] == pytest.approx(np.array([1, 1, 10]) / 12, abs=1e-6)
    assert equilibrium[1].plan[1:] == pytest.approx(np.array([4, 5, 3]) / 12, abs=1e-6)


@pytest.mark.parametrize(("game", "tolerance"), [("kuhn", 1e-8), ("transit:width=2", 0.1), ("coin", 1e-6)])
def test_trees_and_flows(game, tolerance):
    loaded = load_game(game)
    solution = solve(Nash(loaded), "smooth-cfr+", tol=tolerance)
    assert solution.status.is_success
    exact = solve(Nash(loaded), "highs")
    assert solution.lower - 1e-9 <= exact.value <= solution.upper + 1e-9


def test_averages_are_uniform():
    last = [solve(PROBLEM, "smooth-cfr+", tol=0, max_iterations=count).profile for count in (1, 2, 3)]
    mean = solve(PROBLEM, "smooth-cfr+:iterate=average", tol=0, max_iterations=3).profile
    for player in (0, 1):
        expected = np.mean([profile[player].plan for profile in last], axis=0)
        assert mean[player].plan == pytest.approx(expected, abs=1e-12)
