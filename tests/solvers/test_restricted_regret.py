"""Restricted Nash responses by regret minimisation, held against linear programs."""

import itertools

import numpy as np
import pytest
from effort import few, some

from treeplex import (
    CFR,
    InvalidStrategyError,
    RestrictedNash,
    Status,
    Strategy,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.solvers.opponents.strategies import opponent_strategy

METHODS = ["cfr", "cfr+", "dcfr", "pcfr+"]


GAMES = ["kuhn", "goofspiel:cards=4", "transit:width=2", "rps:rock=3"]


@few
@pytest.mark.parametrize(
    ("spec", "p", "player", "method"), some(itertools.product(GAMES, [0, 0.25, 0.75, 1], [0, 1], METHODS), 3)
)
def test_objectives_are_those_of_the_linear_program(spec, p, player, method):
    game = load_game(spec)
    problem = RestrictedNash(game, opponent_strategy("random:seed=2", game, 1 - player), p=p)
    exact = solve(problem)
    tolerance = 1e-2 * game.sequence_form.payoff_scale
    solution = solve(problem, method, tol=tolerance)
    assert solution.status is Status.CONVERGED
    assert solution.gap <= tolerance
    assert solution.lower - 1e-9 <= exact.objective <= solution.upper + 1e-9
    assert solution.gain >= -tolerance / max(p, 0.1)


def test_leduc_in_single_precision_and_at_once():
    game = load_game("leduc")
    problem = RestrictedNash(game, Strategy.uniform(game, 1), p=0.5)
    for method in (CFR(updates="simultaneous"), CFR(precision="single")):
        solution = solve(problem, method, tol=0.05)
        assert solution.status is Status.CONVERGED
        assert solution.lower <= 0.4924512 <= solution.upper


def test_limits_and_listeners(clock):
    game = load_game("leduc")
    problem = RestrictedNash(game, Strategy.uniform(game, 1), p=0.5, game_value=-0.0856064)
    exactly = solve(problem, "cfr+", tol=0, max_iterations=77)
    assert (exactly.iterations, exactly.status) == (77, Status.ITERATION_LIMIT)
    assert exactly.history.iterations[-1] == 77
    assert solve(problem, "cfr+", tol=1e-12, time_limit=20).status is Status.TIME_LIMIT
    assert solve(problem, "cfr+", tol=1e-12, callback=lambda progress: True).status is Status.INTERRUPTED


@pytest.mark.parametrize("method", METHODS)
def test_a_run_in_parts_is_the_run_in_one(method):
    game = load_game("kuhn")
    problem = RestrictedNash(game, Strategy.uniform(game, 1), p=0.5)
    straight, solution = solve(problem, method, tol=0, max_iterations=75), None
    for part in (1, 24, 0, 50):
        solution = solve(problem, method, tol=0, max_iterations=part, start=solution)
    assert solution.iterations == 75
    for mine, theirs in zip(solution.profile, straight.profile, strict=True):
        np.testing.assert_array_equal(mine.plan, theirs.plan)
    # What was learned at another p is a profile to start from, and no more.
    other = solve(
        RestrictedNash(game, Strategy.uniform(game, 1), p=0.6), method, tol=0, max_iterations=9, start=straight
    )
    assert other.iterations == 9


def test_what_cannot_be_done_is_one_line():
    game = load_game("kuhn")
    problem = RestrictedNash(game, Strategy.uniform(game, 1), p=0.5)
    with pytest.raises(InvalidStrategyError, match="expected a Profile or a Solution"):
        solve(problem, "cfr", start=0)
    with pytest.raises(UnsupportedProblemError, match="method pref-cfr cannot solve rnr"):
        solve(problem, "pref-cfr")
