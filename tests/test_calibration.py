"""Targets met by degrees and vulnerabilities of Preference-CFR alone, held to what linear programs say."""

import json
import math

import pytest

from treeplex import (
    InvalidConstraintError,
    InvalidGameError,
    Nash,
    PrefCFR,
    Status,
    Strategy,
    UnsupportedProblemError,
    calibrate_style,
    load_game,
    reach_style,
    solve,
    worst_case,
)
from treeplex.models.constraints import functional_bound, parse_constraint
from treeplex.solvers.preferred_actions import preference_for
from treeplex.validation.cli import main

KUHN, LEDUC, GOOFSPIEL = load_game("kuhn"), load_game("leduc"), load_game("goofspiel:cards=5")


@pytest.mark.parametrize(
    ("game", "target", "max_loss"),
    [
        (GOOFSPIEL, "top@first >= 0.5", 0.05),
        pytest.param(GOOFSPIEL, "top@first >= 0.95", 0.05, marks=pytest.mark.slow),
        (GOOFSPIEL, "top@first <= 0.5", 0.05),  # out of reach
        (LEDUC, "raise@first >= 0.6", 0.05),
        (LEDUC, "raise@first >= 0.9", 0.05),  # out of reach
        (LEDUC, "1/raise@first <= 0.3", 0.05),
        (KUHN, "bet@first >= 0.4", 0.001),
    ],
)
def test_targets_are_met_as_far_as_linear_programs_say(game, target, max_loss):
    exact = reach_style(game, target, max_loss)
    found = calibrate_style(game, target, max_loss)
    outcome = exact.targets[0]
    assert (found.player, found.sense, found.asked) == (exact.player, outcome.sense, outcome.asked)
    assert (found.status is Status.CONVERGED) is exact.is_feasible
    nearest = min(outcome.high, outcome.asked) if outcome.sense == ">=" else max(outcome.low, outcome.asked)
    short = nearest - found.best.reached if outcome.sense == ">=" else found.best.reached - nearest
    assert short <= 0.03
    # What it says of the strategy is so: the loss is an upper bound on the true one, and not a loose one.
    value = float(game.reference_value) * (1 if found.player == 0 else -1)
    true_loss = value - worst_case(game, found.strategy)
    assert -1e-9 <= found.best.loss - true_loss <= 0.1 * max_loss + 1e-9
    assert found.best.loss <= max_loss
    assert found.game_value[0] - 1e-9 <= value <= found.game_value[1] + 1e-9
    assert found.game_value[1] - found.game_value[0] <= 0.1 * max_loss
    assert found.best.reached == pytest.approx(outcome.functional.value(found.strategy))
    # No strategy can do better than the linear program does for as much of the target.
    bound = {"at_least" if outcome.sense == ">=" else "at_most": found.best.reached}
    assert reach_style(game, functional_bound(outcome.functional, **bound)).least_loss <= true_loss + 1e-9


def test_the_method_that_is_found_does_it_again():
    found = calibrate_style(LEDUC, "raise@first >= 0.6", 0.05)
    assert isinstance(found.method, PrefCFR)
    assert [str(one) for one in found.prefer] == ["0/r@first:10"]
    assert found.method.vulnerability == found.best.vulnerability > 0.0
    again = solve(Nash(LEDUC), found.method, tol=0.0, max_iterations=found.best.iterations)
    assert again.lower == found.best.solution.lower
    seen = []
    calibrate_style(LEDUC, "raise@first >= 0.6", 0.05, progress=seen.append)
    assert [run.vulnerability for run in seen] == [run.vulnerability for run in found.runs]


def test_hyper_parameters_and_limits_are_kept():
    method = PrefCFR(rule="br", units="counterfactual")
    found = calibrate_style(KUHN, "bet@first >= 0.6", 0.1, method=method, degree=5, max_iterations=3_000)
    assert (found.method.rule, found.method.units, found.method.base) == ("br", "counterfactual", "cfr")
    assert max(run.iterations for run in found.runs) <= 3_000
    assert {run.degree for run in found.runs} == {1.0, 5.0}
    short = calibrate_style(LEDUC, "raise@first >= 0.9", 0.05, max_runs=3)
    assert len(short.runs) == 3


def test_probabilities_at_infosets_are_targets_too():
    found = calibrate_style(LEDUC, "0/Ks_cr:call >= 0.9", 0.05)
    assert (found.status, found.asked) == (Status.CONVERGED, 0.9)
    assert found.best.reached == pytest.approx(found.strategy["Ks_cr"]["c"])
    assert found.best.reached >= 0.9


def test_preferred_actions_are_those_that_help():
    uniform = Strategy.uniform(KUHN, 0)

    def texts(game, text, player=0):
        return [str(one) for one in preference_for(game, parse_constraint(text, game)[0], 4, uniform_of(game, player))]

    def uniform_of(game, player):
        return Strategy.uniform(game, player)

    assert texts(KUHN, "bet@first >= 0.6") == ["0/b@first:4"]
    assert texts(KUHN, "bet@all <= 0.6") == ["0/p:4"]
    assert texts(KUHN, "bet@K_ >= 1/4") == ["0/K_:b:4"]
    assert texts(KUHN, "plan(0/J_:b) + plan(0/K_:p) <= 1") == ["0/J_:p:4", "0/K_:b:4"]
    assert texts(KUHN, "0/J_pb:b <= 1/2") == ["0/J_pb:p:4"]
    # Facing a raise, a player that is not to raise calls and folds as the given strategy does.
    target = parse_constraint("1/raise@first <= 0.3", LEDUC)[0]
    careful = Strategy.from_dict(LEDUC, 1, {"Ks_r": {"f": 0.0, "c": 0.75, "r": 0.25}})
    (wish,) = preference_for(LEDUC, target, 10, careful)
    shares = wish.strategy["Ks_r"]
    assert (shares["r"], shares["c"]) == (0.0, pytest.approx(1.0, abs=1e-5))
    assert wish.strategy["Ks_c"]["c"] == 1.0
    assert wish.strength == 9.0
    with pytest.raises(InvalidConstraintError, match="depends on no choice"):
        preference_for(KUHN, parse_constraint("bet@first + pass@first >= 0.6", KUHN)[0], 10, uniform)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"target": "bet@first == 0.4"}, InvalidConstraintError, "is 2 bounds: calibration is to one"),
        ({"target": ["bet@first >= 0.4", "bet@J_ <= 0.1"]}, InvalidConstraintError, "is 2 bounds"),
        ({"max_loss": -1}, InvalidGameError, "max_loss is -1"),
        ({"degree": 1}, InvalidGameError, "degree is 1, expected a number above 1"),
        ({"degree": "much"}, InvalidGameError, "degree is 'much', expected a finite number"),
        ({"iterations": 0}, InvalidGameError, "iterations is 0, expected a whole number from 1 on"),
        ({"max_runs": 1.5}, InvalidGameError, "max_runs is 1.5, expected a whole number"),
        ({"accuracy": math.nan}, InvalidGameError, "accuracy is nan"),
        ({"method": "pref-cfr"}, UnsupportedProblemError, "expected a PrefCFR"),
        ({"game": load_game("kuhn:players=3")}, UnsupportedProblemError, "needs two players"),
        ({"game": "kuhn"}, InvalidGameError, "needs a Game"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(given, error, message):
    arguments = {"game": KUHN, "target": "bet@first >= 0.4", "max_loss": 0.1} | given
    with pytest.raises(error, match=message):
        calibrate_style(**arguments)


def test_the_command(tmp_path, capsys):
    out = tmp_path / "bold.npz"
    asked = ["style", "kuhn", "--target", "bet@first>=0.7", "--max-loss", "0.1", "--method", "pref-cfr"]
    assert main([*asked, "--degree", "5", "--out", str(out), "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["status"], record["feasible"], record["least_loss"]) == ("converged", True, None)
    assert record["preference"]["prefer"] == ["0/b@first:5"]
    assert record["runs"][0]["degree"] == 1.0
    assert record["targets"][0]["reached"] >= 0.7
    assert record["exploitability"] <= 0.1
    assert out.exists()
    again = [
        *("solve", "kuhn", "--method", "pref-cfr", "--prefer", "0/b@first:5", "--base", "dcfr", "--tol", "0"),
        *("--updates", "alternating", "--vulnerability", repr(record["preference"]["vulnerability"])),
        *("--max-iterations", str(record["preference"]["iterations"]), "--json", "-"),
    ]
    assert main(again) == 0
    assert json.loads(capsys.readouterr().out)["lower"] == pytest.approx(
        record["game_value"] - record["exploitability"], abs=0.01
    )
    assert main([*asked, "--degree", "5"]) == 0
    assert "again by" in capsys.readouterr().out
    assert main([*asked[:-3], "0.01", "--method", "pref-cfr", "--max-iterations", "4000"]) == 1
    shown = capsys.readouterr().out
    assert "was not met within 0.01" in shown
    assert "not known" in shown
    for more, message in (
        (["--curve"], "--curve does not go with --method pref-cfr"),
        (["--target", "bet@J_>=0.1"], "more than one --target does not go with"),
        (["--degree", "1"], "--degree '1': expected a number above 1"),
    ):
        assert main([*asked, *more]) == 2
        assert message in capsys.readouterr().err
    assert main([*asked[:-2], "--degree", "5"]) == 2
    assert "--degree is for --method pref-cfr alone" in capsys.readouterr().err
