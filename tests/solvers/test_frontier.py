"""The frontier of restricted Nash responses: known breakpoints, laws, and the linear program at single values of p."""

import numpy as np
import pytest
from effort import examples, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_game, trees

from treeplex import (
    BestResponse,
    EpsilonSafeResponse,
    InvalidStrategyError,
    Nash,
    RestrictedNash,
    SolverError,
    Strategy,
    UnknownMethodError,
    gain,
    load_game,
    restricted_nash_frontier,
    solve,
    worst_case,
)
from treeplex.models.constraints import parse_constraint
from treeplex.solvers.opponents.strategies import opponent_strategy
from treeplex.solvers.parametric import frontier as frontier_module


def check_laws(game, opponent, frontier, value, tolerance):
    assert len(frontier.gains) == len(frontier.exploitabilities) == len(frontier.strategies)
    assert len(frontier.gains) == len(frontier.breakpoints) + 1
    assert (np.diff(frontier.breakpoints) > 0).all()
    assert (np.diff(frontier.gains) > 0).all()
    assert (np.diff(frontier.exploitabilities) > 0).all()
    # The bound rises with p, so that it is tightest where a response becomes the best one.
    starts = np.concatenate([[0.0], frontier.breakpoints])
    assert ((1 - starts) * frontier.exploitabilities <= starts * frontier.gains + tolerance).all()
    for strategy, gained, lost in zip(frontier.strategies, frontier.gains, frontier.exploitabilities, strict=True):
        assert gain(game, strategy, opponent, value) == pytest.approx(gained, abs=1e-12)
        assert value - worst_case(game, strategy) == pytest.approx(lost, abs=tolerance)
    assert 0.0 <= frontier.gap <= tolerance
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
        assert solution.lower <= best + frontier.gap + 1e-12


def heights(frontier):
    """Return by how much each response is better than its neighbours where those are worth the same."""
    gains, lost = frontier.gains, frontier.exploitabilities
    rise = lost[2:] - lost[:-2]
    p = rise / (gains[2:] - gains[:-2] + rise)
    return p * (gains[1:-1] - gains[:-2]) - (1 - p) * (lost[1:-1] - lost[:-2])


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
    # Responses are far apart and reach far beyond what is proven of their neighbours: the count is no matter of taste.
    assert len(frontier.breakpoints) == 106
    assert frontier.gap <= 1e-9
    assert np.diff(frontier.gains).min() > 9e-5
    assert heights(frontier).min() > 1e-8
    assert frontier.solves <= 2 * len(frontier.gains) + 40
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


@thorough
def test_player_one_changes_its_response_165_times_in_leduc():
    game = load_game("leduc")
    frontier = restricted_nash_frontier(game, Strategy.uniform(game, 0), -float(game.reference_value))
    assert len(frontier.breakpoints) == 165
    assert frontier.gap <= 1e-9
    assert heights(frontier).min() > 1e-8
    assert np.diff(frontier.breakpoints).min() == pytest.approx(5.85e-6, rel=1e-2)


@examples(25)
@given(trees(), st.integers(0, 1), st.integers(0, 99))
def test_frontiers_of_random_trees_obey_the_laws(root, seat, seed):
    game = to_game(root)
    model = opponent_strategy(f"random:seed={seed}", game, 1 - seat)
    value = solve(Nash(game)).value * (1 - 2 * seat)
    check_laws(game, model, restricted_nash_frontier(game, model, value), value, 1e-7)


def test_a_wrong_free_opponent_proves_less(monkeypatch):
    game = load_game("kuhn")
    model = Strategy.uniform(game, 1)
    bound = frontier_module._Responses.bound

    def uniform_play(self, p, line):
        line.payload.free[:] = 1.0
        return bound(self, p, line)

    monkeypatch.setattr(frontier_module._Responses, "bound", uniform_play)
    assert restricted_nash_frontier(game, model).gap > 0.01


@thorough
def test_fewer_responses_are_looked_for_where_less_accuracy_will_do():
    game = load_game("leduc")
    model, value = Strategy.uniform(game, 1), float(game.reference_value)
    whole, rough = (restricted_nash_frontier(game, model, value, accuracy=accuracy) for accuracy in (0.0, 1e-3))
    assert len(rough.gains) < 40 < len(whole.gains)
    assert rough.solves < whole.solves / 2
    for p in np.linspace(0, 1, 50):
        best, near = (max(p * one.gains - (1 - p) * one.exploitabilities) for one in (whole, rough))
        assert -1e-9 <= best - near <= rough.gap <= 1e-3 + 1e-9
    for accuracy in (-1.0, "much"):
        with pytest.raises(UnknownMethodError, match=r"accuracy is .*, expected a number of at least 0"):
            restricted_nash_frontier(game, model, value, accuracy=accuracy)


def test_a_solver_that_gives_up_is_told_of_in_one_line(monkeypatch):
    def nothing(self, number):
        raise SolverError("the linear program at 0 has no optimum: HiGHS reports unknown")

    monkeypatch.setattr(frontier_module.ParametricProgram, "solve", nothing)
    game = load_game("kuhn")
    with pytest.raises(SolverError, match="found no restricted Nash response for p = 0: the linear") as caught:
        restricted_nash_frontier(game, Strategy.uniform(game, 1), -1 / 18)
    assert "\n" not in str(caught.value)


def test_a_model_of_another_game_is_refused():
    with pytest.raises(InvalidStrategyError):
        restricted_nash_frontier(load_game("leduc"), Strategy.uniform(load_game("kuhn"), 1))


def test_the_picture_is_written(tmp_path):
    pytest.importorskip("matplotlib")
    game = load_game("kuhn")
    frontier = restricted_nash_frontier(game, Strategy.uniform(game, 1))
    frontier.plot(tmp_path / "frontier.svg")
    assert (tmp_path / "frontier.svg").stat().st_size > 1000
    curve, steps = frontier.figure().axes
    assert curve.lines[0].get_xdata().tolist() == frontier.exploitabilities.tolist()
    assert len(steps.patches) == 2


@pytest.mark.parametrize("seat", [0, 1])
def test_evenly_spaced_points_lie_on_the_frontier(seat):
    game = load_game("kuhn")
    model = Strategy.uniform(game, seat)
    whole, some = restricted_nash_frontier(game, model), restricted_nash_frontier(game, model, points=20)
    on_it = np.interp(some.exploitabilities, whole.exploitabilities, whole.gains)
    assert some.gains == pytest.approx(on_it, abs=1e-9)
    assert some.exploitabilities == pytest.approx(np.linspace(0.0, whole.exploitabilities[-1], 20), abs=1e-9)
    assert len(some.strategies) == 20
    for p in np.linspace(0.0, 1.0, 101):  # no response is better by more than the gap
        best = max(p * whole.gains - (1.0 - p) * whole.exploitabilities)
        assert best - max(p * some.gains - (1.0 - p) * some.exploitabilities) <= some.gap + 1e-9
    assert some.gap < 0.01


def test_constraints_stand_for_an_opponent_of_the_frontier():
    game = load_game("kuhn")
    constraints = parse_constraint("1/K_p:b == 0.5", game) + parse_constraint("1/J_b:p <= 0.25", game)
    frontier = restricted_nash_frontier(game, constraints, points=5)
    assert (np.diff(frontier.gains) > 0).all()
    assert (np.diff(frontier.exploitabilities) > 0).all()
    for one, gained, lost in zip(frontier.strategies, frontier.gains, frontier.exploitabilities, strict=True):
        assert lost == pytest.approx(-1 / 18 - worst_case(game, one), abs=1e-9)
        best = solve(EpsilonSafeResponse(game, constraints, epsilon=lost + 1e-9))
        assert gained == pytest.approx(best.gain, abs=1e-6)
    assert frontier.gains[-1] == pytest.approx(solve(BestResponse(game, constraints)).gain, abs=1e-9)
    with pytest.raises(UnknownMethodError, match="points is 1, expected a whole number of at least 2"):
        restricted_nash_frontier(game, constraints, points=1)


def test_a_model_that_cannot_be_exploited_has_one_response():
    game = load_game("rps")
    frontier = restricted_nash_frontier(game, Strategy.uniform(game, 1), points=4)
    assert (len(frontier.strategies), frontier.gains.round(9).tolist()) == (1, [0.0])


@examples(10)
@given(trees(num_players=2, zero_sum=True), st.integers(0, 1), st.integers(2, 5))
def test_no_response_beats_evenly_spaced_ones_by_more_than_the_gap(tree, seat, points):
    game = to_game(tree)
    model = Strategy.uniform(game, seat)
    whole, some = restricted_nash_frontier(game, model), restricted_nash_frontier(game, model, points=points)
    scale = game.sequence_form.payoff_scale
    for p in np.linspace(0.0, 1.0, 41):
        best = max(p * whole.gains - (1.0 - p) * whole.exploitabilities)
        assert best - max(p * some.gains - (1.0 - p) * some.exploitabilities) <= some.gap + 1e-7 * scale
