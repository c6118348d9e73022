"""Figures on depth-limited responses: what they show, what theory says of it, and that wrong answers fail."""

import dataclasses
import math

import pytest
from effort import thorough
from figures import reproduced

from treeplex import (
    CDRNR,
    RestrictedNash,
    Strategy,
    UnsupportedProblemError,
    load_game,
    restricted_nash_frontier,
    solve,
)
from treeplex.validation.papers import (
    CDRNRFigure4,
    CDRNRFigure5,
    CDRNRFigure6,
    CDRNRFigure15,
    CDRNRSafety,
    RecoveryRow,
    reproduce,
)
from treeplex.validation.papers import cdrnr_figure_4 as figure_4
from treeplex.validation.papers.cdrnr_responses import (
    SECOND_ONLY,
    ResponseRow,
    above_frontier,
    attainable,
    below,
    failures_of,
    judged_by_gain,
    judged_robust,
    response_row,
)
from treeplex.validation.papers.cdrnr_safety import judged


@pytest.fixture(scope="module")
def traps():
    return reproduced("cdrnr-figure-4")


@pytest.fixture(scope="module")
def leduc():
    return reproduced("cdrnr-figure-5")


@pytest.fixture(scope="module")
def rounds():
    return reproduced("cdrnr-figure-15")


def point(gain, exploitability, method="RNR", p=None):
    return ResponseRow("game", "uniform", method, p, gain, exploitability, None, 0.0)


@thorough
def test_every_row_meets_its_criterion(traps, leduc, rounds):
    for found in (traps, leduc, rounds):
        assert [row.failure for row in found.rows if row.failure] == []
        assert found.rows_passed
        assert len(found.rows) == found.experiment.num_rows


# Figures 4 and 9


def test_the_actions_that_gadgets_play_are_those_on_the_envelope_of_worths(traps):
    found = reproduced("cdrnr-figure-9")
    assert found.rows_passed
    assert [claim.status.name for claim in found.claims] == ["MET"] * 6
    played = {(row.game, row.gadget, row.action): (row.least_p, row.most_p) for row in traps.rows}
    for row in found.rows:
        least, most = played[row.game, row.gadget, row.action]
        assert row.is_best == (least is not None)
        if row.is_best and row.gadget != "full":  # both by the gadget's own program
            assert (row.from_p, row.to_p) == pytest.approx((least, most), abs=traps.experiment.accuracy)


def test_the_full_gadget_recovers_five_actions_and_the_others_two(traps):
    counts = {claim.quantity: (claim.paper, claim.measured) for claim in traps.claims}
    for game in figure_4.GAMES:
        assert counts[f"{game}, full: actions recovered"] == (5, 5)
        for gadget in ("resolving", "max-margin"):
            assert counts[f"{game}, {gadget}: actions recovered"] == (2, 2)
    over = {row.gadget: row.share_of_bound for row in traps.rows if row.game == "gadget_trap_2" and row.action == "a5"}
    assert over["full"] <= 1.0 < over["max-margin"]


def test_actions_change_where_the_games_payoffs_say(traps):
    starts = [row.least_p for row in traps.rows if (row.game, row.gadget) == ("gadget_trap_1", "full")]
    assert starts == pytest.approx([0, 4 / 9, 1 / 2, 6 / 11, 8 / 13], abs=traps.experiment.accuracy)
    (change,) = [
        row.least_p for row in traps.rows if (row.game, row.gadget, row.action) == ("gadget_trap_1", "max-margin", "a5")
    ]
    assert change == pytest.approx(27 / 47, abs=traps.experiment.accuracy)


def test_an_action_too_many_or_at_another_p_fails(monkeypatch):
    experiment = CDRNRFigure4(points=24, halvings=4)

    def judge(game, gadget, action, worth, played, best):
        return experiment.judged(RecoveryRow(game, gadget, action, *worth, *(played or (None, None)), *best))

    assert judge("gadget_trap_1", "full", "a3", (15, 9), (0.5, 0.54), (0.5, 0.54)).passed
    assert not judge("gadget_trap_1", "full", "a3", (15, 9), None, (0.5, 0.54)).passed
    assert not judge("gadget_trap_1", "full", "a3", (15, 9), (0.45, 0.54), (0.5, 0.54)).passed
    assert not judge("gadget_trap_1", "resolving", "a3", (15, 9), (0.5, 0.54), (0.5, 0.54)).passed
    monkeypatch.setattr(figure_4, "RECOVERED", dict.fromkeys(figure_4.RECOVERED, ("a1",)))
    assert not judge("gadget_trap_1", "full", "a3", (15, 9), (0.5, 0.54), (0.5, 0.54)).passed


# Figure 5


@thorough
def test_a_curve_has_an_inexact_value_function(leduc):
    rows = {row.p: row for row in leduc.rows if row.method == "CDRNR1, value"}
    exact = {row.p: row for row in leduc.rows if row.method == "CDRNR1"}
    assert rows.keys() == exact.keys() == set(leduc.experiment.ps)
    assert all(row.gain != exact[p].gain for p, row in rows.items())
    assert rows[0.3].bound > exact[0.3].bound  # gaps of steps are in it
    assert any("inexact value function" in claim.quantity for claim in leduc.claims)
    with pytest.raises(UnsupportedProblemError, match="value_iterations has 1 numbers, expected two or none"):
        CDRNRFigure5(value_iterations=(5,))


def test_goofspiel_has_no_local_best_response_and_with_6_cards_one_opponent():
    found = reproduce(CDRNRFigure6((3,), (1,), ("IIGS5",)))
    assert found.rows_passed
    assert len(found.rows) == found.experiment.num_rows == 8
    assert "LBR" not in {row.method for row in found.rows}
    assert CDRNRFigure6((3, 10), (1,), ("IIGS6",)).num_rows == 4
    row = ResponseRow("IIGS6", "cfr:iterations=3", "CDBR1", None, 0.5, 1.0, None, 0.0)
    best = dataclasses.replace(row, method="best response", gain=1.0)
    claims = {claim.quantity: claim for claim in CDRNRFigure6((3,), (1,), ("IIGS6",)).claims([best, row])}
    table = claims["IIGS6: CDBR1 against cfr:iterations=3, percent of a best response's gain (table 1)"]
    assert (table.paper, table.measured, str(table.status)) == (90.7, 50.0, "not met")


@thorough
def test_robust_responses_obey_their_bound_and_beat_the_mixture(leduc):
    rows = {(row.method, row.p): row for row in leduc.rows}
    for method in ("RNR", "CDRNR3"):
        row = rows[method, 0.3]
        assert row.bound == pytest.approx(3 / 7 * row.gain)
        assert row.exploitability <= row.bound
    assert rows["SES", 0.3].exploitability < 0.1
    assert rows["SES", 0.3].gain < 1.1 * rows["BNE", None].gain
    assert rows["RNR", 1.0].bound is None
    assert rows["BNE", None].exploitability == pytest.approx(0.0, abs=1e-6)
    continual = [row for row in leduc.rows if row.method == "CDRNR3"]
    mixed = rows["CDBR3-NE", 0.3]
    assert attainable(continual, mixed.exploitability) > mixed.gain


def test_rows_are_those_of_the_solved_problems(leduc):
    game = load_game("leduc")
    row = next(row for row in leduc.rows if (row.method, row.p) == ("RNR", 0.3))
    from treeplex.solvers.opponents.strategies import opponent_strategy

    solution = solve(RestrictedNash(game, opponent_strategy("random:seed=1", game, 1), p=0.3))
    assert 0.3 * row.gain - 0.7 * row.exploitability == pytest.approx(
        0.3 * solution.gain - 0.7 * solution.exploitability, abs=1e-8
    )


def test_responses_that_break_a_theorem_fail():
    game = load_game("kuhn")
    model = Strategy.uniform(game, 1)
    solution = solve(RestrictedNash(game, model, p=0.5))
    right = response_row("kuhn", "uniform", "RNR", 0.5, solution)
    assert failures_of(right, [right]) == []
    assert "above its bound" in failures_of(dataclasses.replace(right, exploitability=right.bound + 0.01), [])[0]
    better = dataclasses.replace(right, gain=right.gain + 0.01)
    assert above_frontier(better, [right]) == pytest.approx(0.005)
    assert "above the frontier" in failures_of(better, [right])[0]


# Figure 15


def test_who_exploits_how_much_in_two_rounds(rounds):
    gains = {claim.quantity.partition(":")[0]: claim.measured for claim in rounds.claims if "largest" in claim.quantity}
    assert gains["SES"] == pytest.approx(0.0, abs=1e-9)
    assert gains[SECOND_ONLY] == pytest.approx(0.5)
    assert all(gains[method] == pytest.approx(1.0) for method in ("full", "none", "resolving", "CDBR-NE"))


def test_the_full_gadget_is_nearest_to_the_frontier_and_the_mixture_farthest(rounds):
    missing = {claim.quantity.partition(":")[0]: claim.measured for claim in rounds.claims if "below" in claim.quantity}
    assert missing["full"] == min(missing.values())
    assert missing["CDBR-NE"] == max(missing.values())
    assert all(one >= -1e-9 for one in missing.values())


def test_the_rows_of_the_frontier_are_on_it(rounds):
    game = load_game("repeated_rps:rock=1/2,paper=1/4,scissors=1/20,rounds=2")
    frontier = restricted_nash_frontier(game, Strategy.uniform(game, 1))
    exact = [
        point(float(gain), float(loss)) for gain, loss in zip(frontier.gains, frontier.exploitabilities, strict=True)
    ]
    for row in rounds.rows:
        assert row.gain <= attainable(exact, row.exploitability) + 1e-7
        if row.method == "RNR":
            assert row.gain == pytest.approx(attainable(exact, row.exploitability), abs=1e-7)


# The theorem on exploitability


def test_the_theorem_holds_by_levels_and_by_reach_resolving_and_not_by_paths():
    found = reproduced("cdrnr-safety")
    assert found.passed
    shares = {row.way: row.share for row in found.rows}
    assert shares["level"] < 1 < shares["path"]
    assert shares["reach-resolving"] < 1
    claims = {claim.quantity: (claim.paper, claim.measured) for claim in found.claims}
    assert claims["Leduc, seat 0, path: settings of 1 that violate the theorem"] == (0, 1)
    assert claims["Leduc, seat 0, reach-resolving: settings of 1 that violate the theorem"] == (0, 0)
    assert 0.7 < claims["Leduc, seat 0, reach-resolving: gain over that by levels, mean"][1] < 1


def test_a_row_that_breaks_the_theorem_fails_where_it_is_proven():
    game = load_game("kuhn")
    problem = CDRNR(game, Strategy.uniform(game, 1), p=0.5, lookahead=1, game_value=-1 / 18)
    right = solve(problem)
    wrong = dataclasses.replace(right, certificate=dataclasses.replace(right.certificate, exploitability=2.0))
    assert judged("kuhn", 0, "level", right).failure == ""
    for way in ("level", "reach-resolving"):
        assert "2.000000 is above the bound 0.444444" in judged("kuhn", 0, way, wrong).failure
    assert judged("kuhn", 0, "path", wrong).failure == ""


# What mixtures attain


def test_mixtures_attain_the_upper_hull():
    rows = [point(0.0, 0.0), point(1.0, 1.0), point(0.4, 1.5), point(1.5, 3.0), point(0.2, 0.5)]
    assert attainable(rows, 0.5) == pytest.approx(0.5)
    assert attainable(rows, 1.5) == pytest.approx(1.125)
    assert attainable(rows, 9.0) == pytest.approx(1.5)
    assert math.isnan(attainable(rows[1:2], 0.5))
    assert math.isnan(attainable([], 0.5))
    best = [point(0.0, 0.0), point(2.0, 1.0)]
    assert below(best, best) == pytest.approx(0.0)
    assert below(best, [point(0.0, 0.0), point(1.0, 1.0)]) == pytest.approx(0.5)
    assert below(best, [point(2.0, 1.0)]) == pytest.approx(1.0, abs=0.01)


# Settings and pictures


@pytest.mark.parametrize(
    "make",
    [
        lambda: CDRNRFigure4(points=1, halvings=0),
        lambda: CDRNRFigure4(points=5, halvings=-1),
        lambda: CDRNRFigure5(games=("Leducc",)),
        lambda: CDRNRFigure5(opponents=()),
        lambda: CDRNRFigure5(ps=(0.0,)),
        lambda: CDRNRFigure6(iterations=(0,)),
        lambda: CDRNRFigure15(points=1),
        lambda: CDRNRSafety(ps=(1.0,)),
    ],
)
def test_wrong_settings_are_refused_in_one_line(make):
    with pytest.raises(UnsupportedProblemError) as caught:
        make()
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value)


def test_pictures_are_drawn_of_all_rows_and_of_some(traps, leduc, rounds):
    pytest.importorskip("matplotlib")
    for found in (traps, leduc, rounds):
        for rows in (found.rows, found.rows[:3], ()):
            assert found.experiment.draw(rows).axes
    figure = leduc.experiment.draw(leduc.rows)
    assert [axes.get_xlabel() for axes in figure.axes] == [
        "p, a probability",
        "p, a probability",
        "exploitability, payoff units",
    ]
    assert [claim.measured for claim in leduc.experiment.claims(leduc.rows[:2])]
    assert rounds.experiment.claims(rounds.rows[:5]) == []


def test_a_mixture_above_the_robust_responses_fails():
    robust = [point(1.0, 0.0, "CDRNR3", 0.1), point(2.0, 1.0, "CDRNR3", 1.0)]
    assert judged_robust(point(1.5, 0.5, "CDBR3-NE", 0.5), [], robust).passed
    assert "CDRNR3 gains less" in judged_robust(point(1.6, 0.5, "CDBR3-NE", 0.5), [], robust).failure
    assert judged_robust(point(1.6, 0.5, "CDBR3-NE", 0.5), [], robust[:1]).passed  # too little is known


# Figure 6


def test_a_gain_that_cannot_be_fails():
    assert judged_by_gain(point(1.0, 0.0, "LBR"), 1.0).passed
    assert judged_by_gain(point(-0.5, 0.0, "LBR"), 1.0).passed
    assert "a best response gains 1.0" in judged_by_gain(point(1.1, 0.0, "LBR"), 1.0).failure
    assert "is negative" in judged_by_gain(point(-0.1, 0.0, "CDBR1"), 1.0).failure
