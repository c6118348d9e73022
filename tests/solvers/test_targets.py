"""Automatic preference: what a style costs, strategies that meet targets, and proofs that there are none."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from effort import examples, few, thorough
from hypothesis import given
from hypothesis import strategies as st
from random_trees import to_graph, trees
from scipy.optimize import linprog

from treeplex import (
    ConstrainedNash,
    Functional,
    Game,
    InvalidConstraintError,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    Status,
    Strategy,
    UnsupportedProblemError,
    frequency,
    load_game,
    reach_style,
    solve,
    style_range,
    trade_off,
    worst_case,
)
from treeplex.models.constraints import LinearConstraint, functional_bound, parse_constraint
from treeplex.models.problems import FeasibilityRelaxation

KUHN, LEDUC = load_game("kuhn"), load_game("leduc")
SIX_RANKS = load_game("leduc:ranks=6,merge_suits=true")


@few
@pytest.mark.parametrize(
    ("game", "target", "max_loss", "status", "least_loss", "reached"),
    [
        (KUHN, "bet@first >= 0.4", 0, Status.OPTIMAL, 0.0, 0.4),
        # Up to 7/9 each further bet costs a sixth, from 4/9 on.
        (KUHN, "bet@first >= 0.6", 0.02, Status.INFEASIBLE, (0.6 - 4 / 9) / 6, 4 / 9 + 6 * 0.02),
        (LEDUC, "raise@first >= 0.6", 0.05, Status.OPTIMAL, 0.0066056, 0.6),
        (LEDUC, "raise@first >= 0.9", 0.05, Status.INFEASIBLE, 0.1318934, 0.72620),
        (SIX_RANKS, "raise@first <= 0.3", 0.02, Status.OPTIMAL, 0.0, None),
        (LEDUC, "raise@first == 0.1", 0.01, Status.INFEASIBLE, 0.0232453, 0.25605),
        (LEDUC, "1/raise@first >= 0.6", 0.01, Status.OPTIMAL, 0.0044754, 0.6),
    ],
)
def test_targets_are_met_or_proven_out_of_reach(game, target, max_loss, status, least_loss, reached):
    answer = reach_style(game, target, max_loss)
    outcome, strategy = answer.targets[0], answer.strategy
    assert answer.status is status
    assert answer.is_feasible is (status is Status.OPTIMAL)
    assert answer.least_loss == pytest.approx(least_loss, abs=1e-6)
    assert answer.least_loss_upper - answer.least_loss_lower < 1e-9
    assert (answer.least_loss_lower > max_loss) is (status is Status.INFEASIBLE)
    # What is said of the strategy is measured on it.
    value = solve(Nash(game)).value * (1 if answer.player == 0 else -1)
    assert answer.loss == pytest.approx(value - worst_case(game, strategy), abs=1e-9)
    assert answer.loss <= max_loss + 1e-9
    assert outcome.reached == pytest.approx(outcome.functional.value(strategy))
    if reached is not None:
        assert outcome.reached == pytest.approx(reached, abs=1e-5)
    if answer.is_feasible:
        assert answer.loss == pytest.approx(least_loss, abs=1e-6)  # it does not spend what is left
        assert outcome.missed_by <= 1e-9


@pytest.mark.slow
def test_twelve_cards_with_suits():
    answer = reach_style(load_game("leduc:ranks=6"), "raise@first<=0.3", 0.02)
    assert (answer.status, answer.targets[0].reached) == (Status.OPTIMAL, pytest.approx(0.1965147, abs=1e-6))


def test_fractions_decide_exactly_at_the_edge():
    edge = Fraction(4, 9) + 6 * Fraction(1, 50)
    for step, status in ((Fraction(0), Status.OPTIMAL), (Fraction(1, 10**30), Status.INFEASIBLE)):
        answer = reach_style(KUHN, f"bet@first >= {edge + step}", "0.02", method="rational")
        assert answer.status is status
        assert answer.least_loss_exact == Fraction(1, 50) + step / 6


@thorough
def test_targets_that_exclude_each_other_are_named():
    for targets, conflict in (
        (["raise@first >= 0.6", "raise@first <= 0.3", "fold@all <= 1"], {"raise@first >= 0.6", "raise@first <= 0.3"}),
        (["raise@first >= 0.6", "call@first >= 0.6"], {"raise@first >= 0.6", "call@first >= 0.6"}),
        (["raise@first >= 1.2"], {"raise@first >= 1.2"}),
    ):
        answer = reach_style(LEDUC, targets, 0.05)
        assert answer.status is Status.INFEASIBLE
        assert answer.least_loss is None
        assert set(answer.conflict) == conflict
        assert "whatever the loss" in answer.message
        assert answer.loss <= 0.05 + 1e-9


@thorough
def test_the_nearest_to_several_targets_misses_least_and_then_loses_least():
    answer = reach_style(LEDUC, ["raise@first >= 0.6", "raise@first <= 0.3"], 0.05)
    assert answer.least_violation == pytest.approx(0.3)
    # Missing either wholly is as near as can be; nothing more of the loss is spent than that costs.
    assert answer.targets[0].reached in (pytest.approx(0.3), pytest.approx(0.6))
    assert answer.loss < 0.008
    tight = reach_style(LEDUC, ["raise@first >= 0.7", "raise@Js_ <= 0.01"], 0.02)
    assert tight.status is Status.INFEASIBLE
    assert tight.conflict == ()
    assert tight.loss == pytest.approx(0.02, abs=1e-9)
    assert [outcome.is_within_reach for outcome in tight.targets] == [False, True]


def test_prices_are_what_a_little_more_costs():
    here, there = (reach_style(LEDUC, f"raise@first >= {bound}", 0.05) for bound in ("0.6", "0.6001"))
    assert here.targets[0].price == pytest.approx((there.least_loss - here.least_loss) / 1e-4, rel=1e-6)


def test_probabilities_at_infosets_that_plans_reach_differently_are_targets_too():
    answer = reach_style(LEDUC, "0/Ks_cr:call >= 0.5", 0.01)
    outcome = answer.targets[0]
    assert (outcome.asked, outcome.low, outcome.functional) == (0.5, None, None)
    assert outcome.reached == pytest.approx(answer.strategy["Ks_cr"]["c"])
    assert outcome.reached >= 0.5 - 1e-9
    with pytest.raises(InvalidConstraintError, match="has no trade-off curve"):
        answer.trade_off()
    # Betting always, one never comes to answer a bet: the probability there is not defined.
    always = ["bet@first >= 1", "0/J_pb:b <= 1/2"]
    assert reach_style(KUHN, always, 1).targets[1].reached is None


def test_constraints_are_targets_and_names_are_kept():
    bets = functional_bound(frequency(KUHN, 0, "b", first=True), at_least=0.4, name="aggression")
    assert reach_style(KUHN, [bets, "0/J_:b <= 1/10 as few bluffs"], 0.1).targets[1].name == "few bluffs"
    assert reach_style(KUHN, bets).message == "aggression costs nothing"


def test_the_reference_says_how_often_decisions_come():
    maniac = Strategy.from_dict(KUHN, 0, {card: {"b": 1.0} for card in ("J_", "Q_", "K_")})
    # All second decisions are then answers to a bet.
    answer = reach_style(KUHN, "bet@first >= 0.5", 0.1, player=1, others=maniac)
    calls = [answer.strategy[f"{card}_b"]["b"] for card in "JQK"]
    assert np.mean(calls) == pytest.approx(answer.targets[0].reached)


@pytest.mark.parametrize(
    ("targets", "max_loss", "error", "message"),
    [
        ([], 0, InvalidConstraintError, "there is no target: expected at least one"),
        (3, 0, InvalidConstraintError, "the targets are 3, expected strings such as"),
        (["bet@first >= 0.4", "1/bet@first >= 0.4"], 0, InvalidConstraintError, "is about player 1, and"),
        (["bet@first >= 0.4", "bet@first >= 0.4"], 0, InvalidConstraintError, "names must be distinct"),
        ("bet@first >= 0.4", -1, InvalidGameError, "max_loss is -1, expected a number of at least 0"),
        ("bet@first >= 0.4", float("nan"), InvalidGameError, "max_loss is nan, expected a number"),
        ("bet@first >= 0.4", "a lot", InvalidGameError, "max_loss is 'a lot', expected a number"),
    ],
)
def test_what_is_no_target_is_refused_in_one_line(targets, max_loss, error, message):
    with pytest.raises(error, match=message) as refused:
        reach_style(KUHN, targets, max_loss)
    assert str(refused.value).isprintable()


def test_games_of_three_and_other_games_are_refused():
    with pytest.raises(UnsupportedProblemError, match="needs two players"):
        reach_style(load_game("kuhn:players=3"), "bet@first >= 0.4")
    with pytest.raises(InvalidGameError, match="targets need a Game"):
        reach_style("kuhn", "bet@first >= 0.4")
    with pytest.raises(InvalidStrategyError, match="player"):
        reach_style(KUHN, "bet@first >= 0.4", player=2)
    curved = KUHN.plan(0)[2] ** 2 <= 0.5
    with pytest.raises(InvalidConstraintError, match="is not linear"):
        reach_style(KUHN, [curved])


# The whole trade-off


@cache
def raises_of_leduc(player):
    """How often a player raises first, and what that costs."""
    raises = frequency(LEDUC, player, "r", first=True)
    return raises, trade_off(LEDUC, raises)


@thorough
@pytest.mark.parametrize("player", [0, pytest.param(1, marks=thorough)])
def test_the_trade_off_of_leduc_is_convex_and_agrees_with_ranges(player):
    raises, curve = raises_of_leduc(player)
    assert curve.knots[[0, -1]].tolist() == pytest.approx([0.0, 1.0])
    assert (np.diff(curve.slopes) > 0.0).all()
    assert curve.losses.min() == pytest.approx(0.0, abs=1e-9)
    assert curve.gap < 1e-8
    for epsilon in (0.0, 0.01, 0.05):
        found = style_range(LEDUC, raises, epsilon)
        assert curve.range(epsilon) == pytest.approx((found.low, found.high), abs=1e-5)
    if player == 0:
        assert curve.free == pytest.approx((0.52204, 0.52204), abs=1e-5)
        assert curve.range(0.05)[1] == pytest.approx(0.72620, abs=1e-5)


@thorough
def test_a_trade_off_knows_its_ends_and_its_accuracy():
    bets = frequency(KUHN, 0, "b", first=True)
    curve = trade_off(KUHN, bets)
    np.testing.assert_allclose(curve.knots, [0, 4 / 9, 7 / 9, 1], atol=1e-12)
    np.testing.assert_allclose(curve.slopes, [0, 1 / 6, 1], atol=1e-9)
    assert curve.range(10.0) == pytest.approx((0.0, 1.0))
    assert curve.loss(1.0) == pytest.approx(5 / 18)
    for wrong in (1.1, -0.1, float("nan"), None, True):
        with pytest.raises(InvalidConstraintError, match="expected a number from 0 to 1"):
            curve.loss(wrong)
    raises, fine = raises_of_leduc(0)
    coarse = trade_off(LEDUC, raises, accuracy=1e-3)
    assert len(coarse.slopes) < len(fine.slopes)
    assert abs(coarse.loss(0.65) - fine.loss(0.65)) <= 1e-3
    with pytest.raises(InvalidConstraintError, match="is 1 for every strategy"):
        trade_off(KUHN, frequency(KUHN, 0, ["b", "p"], first=True))
    shifted = Functional(0, 2.0 * bets.coefficients, "twice, and one", constant=1.0)
    np.testing.assert_allclose(trade_off(KUHN, shifted).knots, 1 + 2 * curve.knots, atol=1e-9)


def test_trade_offs_are_drawn_with_what_was_asked(tmp_path):
    pytest.importorskip("matplotlib")
    answer = reach_style(KUHN, "bet@first >= 0.6", 0.02)
    axes = answer.figure().axes[0]
    assert axes.get_xlabel() == "bet@first, expected per game"
    assert any(np.allclose(line.get_xdata(), 0.6) for line in axes.lines)
    assert any(np.allclose(line.get_ydata(), 0.02) for line in axes.lines)
    answer.plot(tmp_path / "curve.svg")
    trade_off(KUHN, answer.targets[0].functional).plot(tmp_path / "bare.svg")
    assert (tmp_path / "curve.svg").stat().st_size > 1000
    with pytest.raises(InvalidConstraintError, match="the 2 targets bound several functionals"):
        reach_style(KUHN, ["bet@first >= 0.4", "bet@J_ <= 0.2"]).figure()


@examples(25)
@given(trees(num_players=2), st.integers(0, 1), st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.floats(0.0, 0.5))
def test_random_games_agree_with_their_trade_offs(tree, player, seed, place, share):
    game = Game.from_tree(to_graph(tree))
    form = game.sequence_form
    scale = form.payoff_scale
    functional = Functional(player, np.random.default_rng(seed).normal(size=form.treeplexes[player].num_sequences), "x")
    try:
        curve = trade_off(game, functional)
    except InvalidConstraintError:
        assert (form.treeplexes[player].num_actions == 1).all()  # there is no choice
        return
    except UnsupportedProblemError:
        assert not form.is_zero_sum
        return
    low, high = curve.knots[[0, -1]].tolist()
    asked = low + place * (high - low)
    # The loss at one value is that of an equation.
    both = [functional_bound(functional, name=name, **{name: asked}) for name in ("at_most", "at_least")]
    value = solve(ConstrainedNash(game, both), "highs-simplex").value * (1 if player == 0 else -1)
    assert curve.loss(asked) == pytest.approx(curve.game_value - value, abs=1e-6 * scale)
    answer = reach_style(game, both[1], share * scale)
    needed = curve.loss(max(asked, curve.free[0])) if asked > curve.free[1] else 0.0
    assert answer.least_loss == pytest.approx(needed, abs=1e-6 * scale)
    assert answer.loss <= share * scale + 1e-7 * scale
    if abs(needed - share * scale) > 1e-6 * scale:
        assert answer.is_feasible is (needed < share * scale)
    if not answer.is_feasible:
        assert answer.targets[0].reached == pytest.approx(curve.range(share * scale)[1], abs=1e-5 * (high - low))


# Least violations above a floor


def least_by_linprog(game, player, constraints, floor):
    """Minimise the sum of misses over the safe strategies, written from the sequence form alone."""
    form = game.sequence_form
    own, other = (form.E, form.F) if player == 0 else (form.F, form.E)
    payoff = (form.A.toarray() if player == 0 else -form.A.toarray().T) + 0.0
    own, other = own.toarray(), other.toarray()
    columns, rows, count = own.shape[1], len(other), len(constraints)
    misses = np.zeros((count, columns))
    for row, one in enumerate(constraints):
        misses[row, one.indices] = one.coefficients
    return linprog(
        np.concatenate([np.zeros(columns + rows), np.ones(count)]),
        A_ub=np.block(
            [
                [-payoff.T, other.T, np.zeros((payoff.shape[1], count))],
                [misses, np.zeros((count, rows)), -np.eye(count)],
            ]
        ),
        b_ub=np.concatenate([np.zeros(payoff.shape[1]), [one.limit for one in constraints]]),
        A_eq=np.hstack([own, np.zeros((len(own), rows + count))]),
        b_eq=np.eye(len(own))[0],
        bounds=[(0, None)] * columns + [(floor, None)] + [(None, None)] * (rows - 1) + [(0, None)] * count,
    ).fun


@pytest.mark.parametrize("method", ["highs", "highs-simplex", "cvxpy", "rational"])
@pytest.mark.parametrize("player", [0, 1])
def test_least_violations_above_a_floor(player, method):
    value = Fraction(-1, 18) if player == 0 else Fraction(1, 18)
    texts = [f"{player}/bet@first >= 0.7", f"{player}/bet@all <= 0.5"]
    targets = [one for text in texts for one in parse_constraint(text, KUHN)]
    for loss in (Fraction(0), Fraction(1, 20), Fraction(1)):
        problem = FeasibilityRelaxation(KUHN, player, targets, floor=value - loss)
        solution = solve(problem, method)
        expected = least_by_linprog(KUHN, player, targets, float(value - loss))
        assert solution.status is Status.OPTIMAL
        assert solution.objective == pytest.approx(expected, abs=1e-6)
        assert solution.lower == pytest.approx(expected, abs=1e-5)
        assert worst_case(KUHN, solution.strategy) >= float(value - loss) - 1e-6
        assert solution.certificate.violations["safety"] <= 1e-6


def test_a_floor_that_is_missed_shows_in_the_error():
    targets = parse_constraint("bet@first >= 0.4", KUHN)
    problem = FeasibilityRelaxation(KUHN, 0, targets, floor=-1 / 18)
    always = Strategy.from_dict(KUHN, 0, {card: {"b": 1.0} for card in ("J_", "Q_", "K_")})
    profile = solve(Nash(KUHN)).profile
    certificate = problem.certify(type(profile)([always, profile[1]]))
    assert certificate.objective == 0.0
    assert problem.error(certificate) == pytest.approx(-1 / 18 - worst_case(KUHN, always))
    with pytest.raises(InvalidConstraintError, match="is named safety"):
        FeasibilityRelaxation(KUHN, 0, [LinearConstraint(0, {2: 1}, 0.5, "safety")], floor=0.0)
    with pytest.raises(InvalidGameError, match="floor is 'high', expected"):
        FeasibilityRelaxation(KUHN, 0, targets, floor="high")
