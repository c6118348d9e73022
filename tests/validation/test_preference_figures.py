"""Figures of Preference-CFR: what their rows say, that wrong ones fail, and how much of a style was found."""

import dataclasses
from functools import cache

import numpy as np
import pytest
from effort import examples, thorough
from figures import reproduced
from hypothesis import given
from hypothesis import strategies as st
from random_trees import seeded_tree, to_game

from treeplex import (
    CFR,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    PrefCFR,
    UnsupportedProblemError,
    frequency,
    load_game,
    nash_conv,
    solve,
    style_range,
    trade_off,
    worst_case,
)
from treeplex.seqform.functional import Functional
from treeplex.solvers import ESPrefCFR, style_efficiency
from treeplex.solvers.style.efficiency import efficiency_at, share_of_way
from treeplex.validation.papers import (
    PrefCFREfficiency,
    PrefCFRFigure1,
    PrefCFRFigure2,
    PrefCFRFigure3,
    PrefCFRFigure4,
    preference_leduc,
    reproduce,
)
from treeplex.validation.papers.preference_kuhn import BLUFF, GAME, SETTINGS, bluff_row, off_table
from treeplex.validation.papers.preference_leduc import CALLS, GAMES, MERGED, RAISES, Style, style_row
from treeplex.validation.papers.preference_runs import Band, exact_range, full_run, points_up_to, sampled_run, share_of

# --- how much of a style was found ------------------------------------------------------------------------------------


@thorough
@given(st.integers(0, 10**6), st.sampled_from([1.0, 5.0]), st.sampled_from([0.0, 0.1]), st.sampled_from(["rm", "br"]))
@examples(10)
def test_ratios_are_between_zero_and_one(seed, degree, beta, rule):
    game = to_game(seeded_tree(seed))
    random = np.random.default_rng(seed)
    player = int(random.integers(2))
    treeplex = game.sequence_form.treeplexes[player]
    if treeplex.num_sequences < 3:
        return
    style = Functional(player, np.append(0.0, random.random(treeplex.num_sequences - 1)), "a style")
    action = treeplex.action_labels[0][0]
    method = PrefCFR(f"{player}/{action}:{degree}", vulnerability=beta, rule=rule)
    solution = solve(Nash(game), method, tol=0, max_iterations=200)
    for towards in (None, "high", "low"):
        found = style_efficiency(solution, style, towards=towards)
        assert found.excess <= 1e-7
        assert found.allowed[0] - 1e-7 <= found.allowed_by_loss[0] <= found.achieved + 1e-7
        assert found.achieved <= found.allowed_by_loss[1] + 1e-7 <= found.allowed[1] + 2e-7
        assert found.loss <= found.nash_conv + 1e-12
        for ratio in (found.ratio, found.ratio_by_loss):
            assert ratio is None or 0.0 <= ratio <= 1.0
        if found.ratio and found.ratio_by_loss:
            assert found.ratio <= found.ratio_by_loss + 1e-6


def test_ratios_are_those_of_single_linear_programs():
    game = load_game("leduc:merge_suits=true")
    raises = frequency(game, 0, "r", first=True)
    solution = solve(Nash(game), PrefCFR("0/r@first:5", vulnerability=0.1), tol=0, max_iterations=3_000)
    found = style_efficiency(solution, raises)
    value = float(game.reference_value)
    assert found.nash_conv == nash_conv(game, solution.profile)
    assert found.loss == pytest.approx(value - worst_case(game, solution.profile[0]), abs=1e-9)
    assert found.equilibrium == pytest.approx((0.52204, 0.52204), abs=1e-5)
    for loss, allowed in ((found.nash_conv, found.allowed), (found.loss, found.allowed_by_loss)):
        one = style_range(game, raises, loss, game_value=value)
        assert allowed == pytest.approx((one.low, one.high), abs=1e-6)
    assert found.towards == "high"
    assert found.ratio == pytest.approx((found.achieved - 0.52204) / (found.allowed[1] - 0.52204), abs=1e-4)
    assert 0.3 < found.ratio < found.ratio_by_loss < 1.0


def test_what_went_the_other_way_has_ratio_zero_and_no_way_has_none():
    curve = exact_range(MERGED[6], *RAISES)
    high, low = (efficiency_at(curve, 0.5, 0.02, 0.01, towards) for towards in ("high", "low"))
    assert high.ratio == 0.0
    assert 0.0 < low.ratio < low.ratio_by_loss < 1.0
    assert efficiency_at(curve, 0.9, 0.02, 0.01).excess == pytest.approx(0.9 - high.bound_by_loss)
    assert share_of_way(0.5, 0.3, 0.3) is None
    assert share_of_way(0.5, 0.3, 0.7) == pytest.approx(0.5)


def test_questions_that_make_no_sense_are_refused():
    game = load_game("kuhn")
    solution = solve(Nash(game), CFR(), tol=0, max_iterations=10)
    bets = frequency(game, 0, "b", first=True)
    with pytest.raises(UnsupportedProblemError, match="towards is 'up', expected high or low"):
        style_efficiency(solution, bets, towards="up")
    other = trade_off(game, frequency(game, 1, "b"))
    with pytest.raises(InvalidStrategyError, match="the curve belongs to player 1, expected player 0"):
        style_efficiency(solution, bets, curve=other)
    with pytest.raises(InvalidGameError, match="never holds A"):
        share_of("kuhn", "b", "A")


# --- runs -------------------------------------------------------------------------------------------------------------


def test_points_rise_by_equal_factors_and_end_with_the_last():
    assert points_up_to(1_000, 10, 2) == [10, 32, 100, 316, 1_000]
    assert points_up_to(5, 10, 2) == [5]
    assert points_up_to(10_000, 10, 8)[-1] == 10_000


def test_a_run_that_is_looked_at_is_the_run_in_one():
    method = SETTINGS[0].method
    looked = full_run(GAME, method, (BLUFF,), points_up_to(2_000, 10, 8), seed=4)
    whole = solve(Nash(load_game(GAME)), method, tol=0, max_iterations=2_000, seed=4)
    assert np.array_equal(looked.behaviour, whole.profile[0].behaviour)
    assert looked.values[0][-1] == whole.profile[0]["J_"]["b"]
    assert looked.nash_convs[-1] == pytest.approx(2 * whole.exploitability)
    assert (np.diff(looked.work) > 0).all()


@thorough
def test_sampled_runs_come_near_their_points():
    points = points_up_to(200_000, 10_000, 4)
    run = sampled_run(GAMES[6], ESPrefCFR(prefer="0/r@first:5"), (RAISES, CALLS), points, seed=1)
    assert run.work == pytest.approx(points, rel=0.06)
    assert run.values.shape == (2, len(points))
    again = sampled_run(GAMES[6], ESPrefCFR(prefer="0/r@first:5"), (RAISES, CALLS), points, seed=1)
    assert np.array_equal(run.values, again.values)


@thorough
def test_suits_do_not_matter_to_what_is_allowed():
    game = load_game(GAMES[6])
    for share in (RAISES, CALLS):
        apart = share_of(GAMES[6], *share)
        for loss in (0.02, 0.1):
            one = style_range(game, apart, loss, game_value=float(game.reference_value))
            assert exact_range(MERGED[6], *share).range(loss) == pytest.approx((one.low, one.high), abs=1e-6)


def test_bands_hold_nine_runs_of_ten():
    band = Band.of(np.arange(101.0)[:, None])
    assert (band.mean, band.low, band.high) == ((50.0,), (5.0,), (95.0,))


# --- Kuhn -------------------------------------------------------------------------------------------------------------


@cache
def settings_of_kuhn():
    return {row.setting: row for row in reproduced("pref-cfr-figure-2").rows}


@thorough
def test_settings_of_figure_2_are_in_order_and_within_their_ranges():
    rows = settings_of_kuhn()
    assert [row.failure for row in rows.values()] == [""] * 7
    means = [rows[name].bluff.end for name in ("(1)", "(2)", "CFR", "(4)", "(5)", "(6)")]
    assert means == sorted(means, reverse=True)
    for row in rows.values():
        assert row.excess <= 1e-7
        assert row.allowed.high[-1] == pytest.approx(1 / 3 + 3 * 2 * row.exploitability.end, abs=1e-6)
        assert row.off_table < 0.05
        assert len(row.points) == len(row.bluff.mean) == len(row.allowed.low)
    assert rows["CFR"].efficiency is None
    assert rows["(1)"].efficiency > rows["(3)"].efficiency > 0.0


def test_a_setting_that_misses_its_range_or_its_place_fails():
    runs = [full_run(GAME, SETTINGS[3].method, (BLUFF,), [100, 10_000], seed) for seed in range(2)]
    assert bluff_row(SETTINGS[3], runs).passed
    row = bluff_row(SETTINGS[6], runs)
    assert not row.passed
    assert row.failure.startswith("alpha 0.2")
    assert "is not within 0.02 of 0.03 to 0.11" in row.failure
    short = bluff_row(SETTINGS[3], [full_run(GAME, SETTINGS[3].method, (BLUFF,), [10], 0)])
    assert "expected below 0.005" in short.failure
    wrong = [dataclasses.replace(run, values=run.values + 0.3) for run in runs]
    assert "outside the range of the linear program" in bluff_row(SETTINGS[3], wrong).failure
    assert not reproduce(PrefCFRFigure2(runs=1, iterations=20)).rows_passed


def test_the_full_size_of_figure_2_is_the_papers_and_ends_below_its_exploitability():
    full = PrefCFRFigure2.full()
    nodes = load_game(GAME).sequence_form.num_nodes
    assert (full.iterations - 1) * nodes < 10**7 <= full.iterations * nodes
    runs = [full_run(GAME, SETTINGS[0].method, (BLUFF,), [full.iterations], seed) for seed in range(2)]
    row = bluff_row(SETTINGS[0], runs, full.exploitability)
    assert row.passed
    assert row.worst_exploitability < 0.001
    assert "expected below 0.0001" in bluff_row(SETTINGS[0], runs, 0.0001).failure


@thorough
def test_where_cfr_ends_depends_on_where_it_starts():
    found = reproduced("pref-cfr-figure-1")
    rows = found.rows
    assert [row.failure for row in rows] == [""] * 4
    near, far = rows[0], rows[1]
    assert 0.18 < near.bluff_least < near.bluff_most < 0.22
    assert far.bluff_most - far.bluff_least > 0.15
    assert found.claims[0].measured == "0 to 0.333333"


def test_table_1_is_met_by_an_equilibrium_and_not_by_uniform_play():
    run = full_run(GAME, CFR(), (BLUFF,), [50_000], seed=0)
    assert off_table(run) < 0.01
    assert off_table(dataclasses.replace(run, behaviour=np.full(13, 0.5))) == pytest.approx(0.5)


# --- Leduc ------------------------------------------------------------------------------------------------------------


@thorough
def test_more_vulnerability_is_more_raises_in_figure_4():
    rows = reproduced("pref-cfr-figure-4").rows
    assert [row.failure for row in rows] == [""] * 5
    raises = [row.raises.end for row in rows[:4]]
    assert raises == sorted(raises, reverse=True)
    calls = [row.calls.end for row in rows]
    assert calls[0] < calls[2] < calls[4]
    assert all(row.raises.end <= row.allowed_raises.high[-1] for row in rows)
    assert rows[0].equilibrium_raises == pytest.approx(0.52204, abs=1e-5)
    assert rows[0].equilibrium_calls == pytest.approx(1 - 0.75191, abs=1e-4)


@thorough
def test_styles_that_go_the_wrong_way_fail():
    points = [10_000, 100_000, 1_000_000]
    style = Style("offensive", 5, 0.2)
    runs = [sampled_run(GAMES[6], style.method("rm"), (RAISES, CALLS), points, seed) for seed in range(2)]
    good = style_row(6, "rm", style, points, runs)
    assert good.passed
    experiment = PrefCFRFigure3((6,), ("rm",))
    less = dataclasses.replace(good, vulnerability=0.5, raises=Band.of(np.array([[good.raises.end - 0.1]])))
    assert "with beta 0.2" in experiment._out_of_order(less, [good])[0]
    assert not experiment._out_of_order(dataclasses.replace(less, raises=Band.of(np.ones((1, 1)))), [good])
    assert not experiment._out_of_order(dataclasses.replace(less, vulnerability=0.0), [good])
    leaving = np.array([[0.5, 0.5, 0.9], [0.2, 0.2, 0.2]])
    free = [dataclasses.replace(run, values=leaving) for run in runs]
    row = style_row(6, "rm", Style("normal"), points, free)
    assert row.failure == "raises 0.9000, no nearer to 0.5220 than 0.5000"
    settled = [dataclasses.replace(run, nash_convs=run.nash_convs * 0, guarantees=run.guarantees * 0) for run in runs]
    assert "outside the range of the linear program" in style_row(6, "rm", style, points, settled).failure


def test_efficiency_rows_are_ordered_by_vulnerability():
    experiment = PrefCFREfficiency((5.0,), (0.0, 0.1, 0.3), ("offensive", "defensive"), ("rm",), iterations=2_000)
    ran = reproduce(experiment)
    assert ran.rows_passed
    assert len(ran.rows) == experiment.num_rows == 6
    for row in ran.rows:
        assert 0.0 <= row.efficiency <= row.efficiency_by_loss <= 1.0
        assert row.excess <= 1e-7
    first, second = ran.rows[:2]
    wrong = dataclasses.replace(second, raises=first.raises - 0.01)
    assert preference_leduc._against_vulnerability(wrong, first).startswith("raises")
    assert preference_leduc._against_vulnerability(wrong, None) == ""


@pytest.mark.parametrize(
    "settings",
    [
        lambda: PrefCFRFigure1(runs=0),
        lambda: PrefCFRFigure1(starts=()),
        lambda: PrefCFRFigure1(starts=(-1.0,)),
        lambda: PrefCFRFigure2(iterations=0),
        lambda: PrefCFRFigure2(seed=-1),
        lambda: PrefCFRFigure3(cards=(7,)),
        lambda: PrefCFRFigure3(rules=()),
        lambda: PrefCFRFigure3(rules=("best",)),
        lambda: PrefCFRFigure4(histories=0.5),
        lambda: PrefCFREfficiency(degrees=(0.5,)),
        lambda: PrefCFREfficiency(styles=("normal",)),
        lambda: PrefCFREfficiency(cards=8),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(UnsupportedProblemError, match="expected"):
        settings()
