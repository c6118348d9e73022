"""Value functions of a constraint's bound: cold solves at random bounds, slopes, infeasible bounds, and refusals."""

import math

import numpy as np
import pytest
from effort import either, examples, thorough
from hypothesis import assume, given
from hypothesis import strategies as st
from random_trees import to_game, trees

from treeplex import (
    ConstrainedNash,
    EpsilonSafeResponse,
    EpsilonSafeStyle,
    Game,
    GameFileError,
    InvalidConstraintError,
    InvalidGameError,
    Nash,
    SequenceForm,
    Status,
    Strategy,
    UnsupportedProblemError,
    frequency,
    load_game,
    parametric_value,
    restricted_nash_frontier,
    solve,
)
from treeplex.models.constraints import LinearConstraint
from treeplex.solvers.opponents.strategies import opponent_strategy

KUHN = load_game("kuhn")


def bound_on(game, player, sequence, bound=0.0, sense="<=", name="moved"):
    return LinearConstraint(player, {sequence: 1}, bound, name=name, sense=sense)


def sequence(player, infoset, action):
    return KUHN.sequence_form.treeplexes[player].sequence(infoset, action)


def check_against_cold_solves(problem, function, places, tolerance):
    """Compare with single solves, and the slopes with differences of values away from breakpoints."""
    for part in places:
        bound = function.lower + part * (function.upper - function.lower)
        solution = solve(problem.with_bound(function.name, bound))
        if not function.is_feasible(bound):
            distance = max(function.feasible[0] - bound, bound - function.feasible[1])
            assert distance < 1e-7 or solution.status is Status.INFEASIBLE
            assert math.isinf(function.at(bound))
            assert math.isnan(function.price(bound))
            continue
        assert solution.status is Status.OPTIMAL
        assert function.at(bound) == pytest.approx(solution.objective, abs=tolerance)
        step = 1e-6
        apart = np.abs(function.knots - bound).min() > 2 * step
        if apart:
            slope = (function.at(bound + step) - function.at(bound - step)) / (2 * step)
            assert function.price(bound) == pytest.approx(abs(slope), rel=1e-6, abs=1e-6)
            assert function.price(bound) == pytest.approx(solution.multipliers[function.name], abs=1e-6)


def check_shape(function, concave):
    steps = np.diff(function.slopes)
    assert (steps < 0).all() if concave else (steps > 0).all()
    assert (np.diff(function.knots) > 0).all()
    assert len(function.values) == len(function.knots) == len(function.prices) + 1 == len(function.breakpoints) + 2
    np.testing.assert_allclose(np.diff(function.values), function.slopes * np.diff(function.knots), atol=1e-9)


def test_kuhn_pays_four_for_the_first_bit_of_safety():
    problem = EpsilonSafeResponse(KUHN, Strategy.uniform(KUHN, 1), epsilon=0.1)
    function = parametric_value(problem, "safety", 0, 1)
    np.testing.assert_allclose(function.breakpoints, [1 / 18, 5 / 18], atol=1e-9)
    np.testing.assert_allclose(function.prices, [4.0, 0.5, 0.0], atol=1e-9)
    np.testing.assert_allclose(function.values, [3 / 18, 7 / 18, 1 / 2, 1 / 2], atol=1e-9)
    assert (function.price(1 / 36), function.price(float(function.breakpoints[0]))) == pytest.approx((4.0, 0.5))
    assert function.gap <= 1e-12
    check_against_cold_solves(problem, function, (0.01, 0.2, 0.7), 1e-9)


@thorough
@pytest.mark.parametrize(("seat", "changes"), [(0, 106), pytest.param(1, 165, marks=thorough)])
def test_the_price_of_safety_in_leduc_changes_where_the_restricted_response_does(seat, changes):
    game = load_game("leduc")
    model = Strategy.uniform(game, 1 - seat)
    value = float(game.reference_value) * (1 - 2 * seat)
    frontier = restricted_nash_frontier(game, model, value)
    problem = EpsilonSafeResponse(game, model, epsilon=0, game_value=value)
    function = parametric_value(problem, "safety", 0, 8)
    assert len(function.breakpoints) == len(frontier.breakpoints) == changes
    # κ = (1 − p) / p, and nothing to gain beyond the best response.
    np.testing.assert_allclose(function.prices[:-1], 1 / frontier.breakpoints - 1, rtol=1e-6)
    assert function.prices[-1] == 0.0
    # Where prices hardly change, round-off moves the place where they do.
    np.testing.assert_allclose(function.breakpoints, frontier.exploitabilities[1:], atol=1e-6)
    for lost, gained in zip(frontier.exploitabilities, frontier.gains, strict=True):
        assert function.at(float(lost)) - value == pytest.approx(gained, abs=1e-8)
    assert max(function.gap, function.violation) <= 1e-9
    check_shape(function, concave=True)


@examples(20)
@given(trees(), st.data())
def test_safe_responses_agree_with_cold_solves(root, data):
    game = to_game(root)
    seat = data.draw(st.integers(0, 1))
    model = opponent_strategy(f"random:seed={data.draw(st.integers(0, 99))}", game, 1 - seat)
    problem = EpsilonSafeResponse(game, model, epsilon=0)
    problem = problem.with_game_value(solve(Nash(game)).value * (1 - 2 * seat))
    function = parametric_value(problem, "safety", 0, 6)
    check_shape(function, concave=True)
    assert function.gap <= 1e-8
    check_against_cold_solves(problem, function, data.draw(st.lists(st.floats(0.01, 1), min_size=3, max_size=3)), 1e-7)


@examples(30)
@given(trees(), st.data())
def test_constrained_equilibria_of_either_player_agree_with_cold_solves(root, data):
    game = to_game(root)
    player = data.draw(st.integers(0, 1))
    size = game.sequence_form.treeplexes[player].num_sequences
    assume(size > 2)
    one, other = (data.draw(st.integers(1, size - 1)) for _ in range(2))
    sense = data.draw(st.sampled_from(["<=", ">="]))
    fixed = bound_on(game, player, other, 0.25, name="fixed")
    problem = ConstrainedNash(game, [bound_on(game, player, one, sense=sense), fixed])
    assume(solve(problem.with_bound("moved", 9.0 if sense == "<=" else -9.0)).status is Status.OPTIMAL)
    function = parametric_value(problem, "moved", -0.5, 1.5)
    check_shape(function, concave=player == 0)
    assert max(function.gap, function.violation) <= 1e-8
    # Loosening helps the constraint's own player.
    helped = function.slopes * (1 if sense == "<=" else -1) * (1 - 2 * player)
    assert (helped >= 0).all()
    assert (helped == function.prices).all()
    assert (function.player, function.payee) == (player, 0)
    check_against_cold_solves(problem, function, data.draw(st.lists(st.floats(0, 1), min_size=3, max_size=3)), 1e-7)


@thorough
def test_fewer_pieces_are_looked_for_where_less_accuracy_will_do():
    game = load_game(either(quick="leduc:merge_suits=true", thorough="leduc"))
    problem = EpsilonSafeResponse(game, Strategy.uniform(game, 1), epsilon=0, game_value=float(game.reference_value))
    whole, rough = (parametric_value(problem, "safety", 0, 4, accuracy=accuracy) for accuracy in (0.0, 1e-3))
    assert len(rough.prices) < len(whole.prices) / 2
    assert rough.gap <= 1e-3 + 1e-9
    for bound in np.linspace(0, 4, 50).tolist():
        # The lines of the pieces are bounds on the optimum, from above where it is concave.
        assert -1e-9 <= rough.at(bound) - whole.at(bound) <= rough.gap + 1e-9


@pytest.mark.parametrize("player", [0, 1])
def test_bounds_that_cannot_be_met_are_told(player):
    infoset = ("K_", "K_p")[player]
    # Kings bet at least 0.25 of the time; the bound that moves is on the same sequence from above.
    bet = sequence(player, infoset, "b")
    least = bound_on(KUHN, player, bet, 0.25, sense=">=", name="least")
    function = parametric_value(ConstrainedNash(KUHN, [bound_on(KUHN, player, bet), least]), "moved", -1, 2)
    assert function.feasible == pytest.approx((0.25, 2.0), abs=1e-9)
    assert function.at(0.2) == (-math.inf, math.inf)[player]
    assert math.isnan(function.price(0.2))
    assert not function.is_feasible(0.2)
    assert function.is_feasible(0.3)
    assert math.isfinite(function.at(0.3))
    assert function.gap <= 1e-9


def test_a_bound_with_one_feasible_place_has_one_value():
    bet = sequence(0, "K_", "b")
    most, least = bound_on(KUHN, 0, bet, 0.25, name="most"), bound_on(KUHN, 0, bet, sense=">=")
    function = parametric_value(ConstrainedNash(KUHN, [most, least]), "moved", 0.25, 3)
    assert function.feasible == pytest.approx((0.25, 0.25), abs=1e-9)
    expected = solve(ConstrainedNash(KUHN, [most, least.with_bound(0.25)])).objective
    assert function.at(function.feasible[0]) == pytest.approx(expected, abs=1e-9)


def test_what_cannot_be_asked_is_refused_in_one_line():
    bet = sequence(0, "K_", "b")
    problem = ConstrainedNash(KUHN, [bound_on(KUHN, 0, bet)])
    safe = EpsilonSafeResponse(KUHN, Strategy.uniform(KUHN, 1), epsilon=0)
    for error, match, arguments in (
        (UnsupportedProblemError, "nash has no bound to change", (Nash(KUHN), "moved", 0, 1)),
        (InvalidConstraintError, "no constraint 'jack'", (problem, "jack", 0, 1)),
        (InvalidConstraintError, "no constraint 'jack'", (safe, "jack", 0, 1)),
        (InvalidConstraintError, "the lower one first", (problem, "moved", 1, 1)),
        (InvalidConstraintError, "lower is 'a', expected a finite number", (problem, "moved", "a", 1)),
        (InvalidConstraintError, "upper is inf, expected a finite number", (problem, "moved", 0, math.inf)),
        (InvalidConstraintError, "cannot be met .* from -2 to -1", (problem, "moved", -2, -1)),
        (InvalidGameError, "epsilon is -1.0", (safe, "safety", -1, 1)),
    ):
        with pytest.raises(error, match=match) as caught:
            parametric_value(*arguments)
        assert "\n" not in str(caught.value)
    function = parametric_value(problem, "moved", 0, 1)
    for bound in (-0.1, 1.1, math.nan, "half", None):
        with pytest.raises(InvalidConstraintError, match="expected a number from 0 to 1"):
            function.at(bound)


def test_pictures_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    bet = sequence(0, "K_", "b")
    function = parametric_value(ConstrainedNash(KUHN, [bound_on(KUHN, 0, bet)]), "moved", -0.5, 1)
    for name in ("one.png", "two.svg"):
        function.plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000
    assert "infeasible" in [text.get_text() for text in function.figure().axes[0].texts]
    with pytest.raises(GameFileError, match=r"expected \.svg, \.png or \.pdf"):
        function.plot(tmp_path / "three.gif")


@pytest.mark.parametrize("unit", [1e-10, 1.0, 1e9])
def test_feasible_bounds_do_not_hang_on_the_unit_of_payoffs(unit):
    game = Game.from_sequence_form(SequenceForm.from_payoff_matrix(unit * np.array([[1.0, -1.0], [-1.0, 1.0]])))
    for player in (0, 1):
        problem = ConstrainedNash(game, [bound_on(game, player, 1, sense=">=")])
        function = parametric_value(problem, "moved", -0.2, 3.0)
        assert function.feasible == pytest.approx((-0.2, 1.0))
        assert function.breakpoints == pytest.approx([0.5])
        assert np.abs(function.prices) / unit == pytest.approx([0.0, 2.0])


@pytest.mark.parametrize("sense", ["maximise", "minimise"])
def test_style_for_every_epsilon(sense: str) -> None:
    game = load_game("kuhn")
    bets = frequency(game, 1, "b", first=True)
    function = parametric_value(EpsilonSafeStyle(game, epsilon=0, **{sense: bets}), "safety", 0.0, 0.3)
    assert function.gap < 1e-9
    for epsilon in (0.0, 0.01, 0.1, 0.25):
        found = solve(EpsilonSafeStyle(game, epsilon=epsilon, **{sense: bets}))
        assert function.at(epsilon) == pytest.approx(found.objective, abs=1e-9)
    with pytest.raises(InvalidConstraintError, match="it has safety"):
        parametric_value(EpsilonSafeStyle(game, epsilon=0, **{sense: bets}), "floor", 0.0, 0.3)
