"""Time limits hold in all parts of a solve."""

import dataclasses
import time

import pytest

from treeplex import ConstrainedNash, EpsilonSafeResponse, Nash, Status, Strategy, TimeLimitError, load_game, solve
from treeplex.seqform.limits import finishing, time_limited, uncounted
from treeplex.solvers.infeasibility import find_infeasibility
from treeplex.solvers.opponents.strategies import opponent_strategy


def test_the_time_limit_of_a_solve_is_that_of_all_its_parts():
    with time_limited(-1.0), pytest.raises(TimeLimitError, match=r"^the time limit came while the game was built"):
        _ = load_game("leduc").sequence_form
    game = load_game("leduc")
    _ = game.sequence_form
    with pytest.raises(TimeLimitError, match=r"while the value of leduc, which epsilon-safe needs, was sought; raise"):
        solve(EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0.1), time_limit=0.0)
    with time_limited(0.2), pytest.raises(TimeLimitError, match=r"while nash was solved on leduc; raise it$"):
        opponent_strategy("cfr:iterations=1e15", game, 1)
    solution = solve(Nash(game), "cfr", tol=0, max_iterations=40)  # a limit is over with its block
    assert solution.status is Status.ITERATION_LIMIT


def test_constraints_that_cannot_be_met_are_not_explained_when_the_time_is_over():
    game = load_game("leduc")
    bounds = {"often": game.plan(0)[1] >= 0.7, "seldom": game.plan(0)[1] <= 0.4}
    problem = ConstrainedNash(game, bounds)
    with time_limited(-1.0), pytest.raises(TimeLimitError):
        find_infeasibility(problem)
    found = find_infeasibility(problem)
    assert found.conflict == ("often", "seldom")
    assert "the constraints exclude each other" in str(dataclasses.replace(found, conflict=()))


def test_time_that_does_not_count_is_added_to_every_deadline():
    with time_limited(5.0) as outer, time_limited(4.0) as inner:
        before = outer.at, inner.at
        with uncounted():
            assert outer.finishing == inner.finishing == 1
            time.sleep(0.05)
        assert outer.finishing == inner.finishing == 0
        assert outer.at - before[0] == pytest.approx(inner.at - before[1])
        assert inner.at - before[1] >= 0.05
        with finishing():
            assert outer.finishing == inner.finishing == 1
