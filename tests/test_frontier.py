"""The frontier of restricted Nash responses: known breakpoints, laws, and the linear program at single values of p."""

import numpy as np
import pytest

from treeplex import RestrictedNash, Strategy, load_game, solve, worst_case
from treeplex.solvers.frontier import restricted_nash_frontier
from treeplex.solvers.opponents import opponent_strategy


def check_laws(game, opponent, frontier, value, tolerance):
    assert len(frontier.gains) == len(frontier.exploitabilities) == len(frontier.strategies)
    assert len(frontier.gains) == len(frontier.breakpoints) + 1
    assert (np.diff(frontier.breakpoints) > 0).all()
    assert (np.diff(frontier.gains) > 0).all()
    assert (np.diff(frontier.exploitabilities) > 0).all()
    for p, gained, lost in zip(frontier.breakpoints, frontier.gains, frontier.exploitabilities, strict=False):
        assert lost <= p / (1 - p) * gained + tolerance
    # Neighbouring responses are worth the same where they change places.
    objectives = [
        frontier.breakpoints * gained - (1 - frontier.breakpoints) * lost
        for gained, lost in (
            (frontier.gains[:-1], frontier.exploitabilities[:-1]),
            (frontier.gains[1:], frontier.exploitabilities[1:]),
        )
    ]
    np.testing.assert_allclose(*objectives, atol=tolerance)
    for p in np.random.default_rng(0).uniform(size=4):
        best = (p * frontier.gains - (1 - p) * frontier.exploitabilities).max() + value
        solution = solve(RestrictedNash(game, opponent, p=float(p), game_value=value))
        assert solution.objective == pytest.approx(best, abs=tolerance)


def test_kuhn_against_uniform_play_changes_twice():
    game = load_game("kuhn")
    model = Strategy.uniform(game, 1)
    frontier = restricted_nash_frontier(game, model)
    np.testing.assert_allclose(frontier.breakpoints, [1 / 5, 2 / 3], atol=1e-9)
    np.testing.assert_allclose(frontier.gains, [2 / 9, 4 / 9, 5 / 9], atol=1e-9)
    np.testing.assert_allclose(frontier.exploitabilities, [0.0, 1 / 18, 5 / 18], atol=1e-9)
    check_laws(game, model, frontier, -1 / 18, 1e-9)


@pytest.mark.parametrize("name", ["gadget_trap_1", "gadget_trap_2"])
def test_gadget_traps_take_all_five_actions(name):
    game = load_game(name)
    model = Strategy.from_dict(game, 1, game.rules.model)
    frontier = restricted_nash_frontier(game, model, game_value=0.0)
    np.testing.assert_allclose(frontier.breakpoints, [4 / 9, 1 / 2, 6 / 11, 8 / 13], atol=1e-9)
    np.testing.assert_allclose(frontier.gains, [5, 10, 15, 20, 25], atol=1e-9)
    np.testing.assert_allclose(frontier.exploitabilities, [0, 4, 9, 15, 23], atol=1e-9)


def test_the_frontier_of_leduc_obeys_the_laws():
    game = load_game("leduc")
    model = Strategy.uniform(game, 1)
    frontier = restricted_nash_frontier(game, model)
    assert frontier.gains[0] == pytest.approx(0.7076862403, abs=1e-8)  # the best equilibrium strategy
    assert frontier.gains[-1] == pytest.approx(2.1731064, abs=1e-6)  # the best response
    # The first change is where a slack on the value of the game counts (1 - p) / p, some 4,400 times.
    assert (1 - frontier.breakpoints[0]) / frontier.breakpoints[0] == pytest.approx(4400.73, rel=1e-3)
    assert frontier.solves <= 2 * len(frontier.gains) + 1
    check_laws(game, model, frontier, float(game.reference_value), 1e-7)
    assert worst_case(game, frontier.strategies[0]) == pytest.approx(float(game.reference_value), abs=1e-9)


@pytest.mark.parametrize("seat", [0, 1])
def test_either_seat_responds(seat):
    game = load_game("liars_dice:sides=3")
    model = opponent_strategy("random:seed=5", game, 1 - seat)
    value = solve(RestrictedNash(game, model, p=0.5)).game_value
    check_laws(game, model, restricted_nash_frontier(game, model), value, 1e-7)


def test_a_model_that_plays_an_equilibrium_has_one_response():
    game = load_game("matching_pennies")
    frontier = restricted_nash_frontier(game, Strategy.uniform(game, 1))
    assert frontier.gains.shape[0] <= 2  # every strategy earns the same against it
    assert abs(frontier.gains).max() <= 1e-9
