"""Targets met by degrees and vulnerabilities of Preference-CFR alone, held to what linear programs say."""

import itertools
import json
import math

import numpy as np
import pytest
from clocks import Clock
from effort import few, thorough

from treeplex import (
    TERMINAL,
    Game,
    InvalidConstraintError,
    InvalidGameError,
    InvalidStrategyError,
    Nash,
    PrefCFR,
    Status,
    Strategy,
    TimeLimitError,
    UnsupportedProblemError,
    expected_payoffs,
    frequency,
    load_game,
    reach_style,
    solve,
    worst_case,
)
from treeplex.cli import main
from treeplex.models.constraints import functional_bound, parse_constraint
from treeplex.models.preferences import PreferStrategy, preference_on
from treeplex.seqform.evaluate import best_response_values
from treeplex.seqform.functional import reach_of_others
from treeplex.seqform.joint_form import JointForm, JointLeaves
from treeplex.solvers import calibrate_style
from treeplex.solvers.style.preferences import preferences_for

KUHN, LEDUC, GOOFSPIEL = load_game("kuhn"), load_game("leduc"), load_game("goofspiel:cards=5")


@few
@pytest.mark.parametrize(
    ("game", "target", "max_loss"),
    [
        (KUHN, "bet@first >= 0.4", 0.001),
        pytest.param(GOOFSPIEL, "top@first >= 0.95", 0.05, marks=thorough),
        pytest.param(GOOFSPIEL, "top@first <= 0.5", 0.05, marks=thorough),  # out of reach
        pytest.param(LEDUC, "raise@first >= 0.6", 0.05, marks=thorough),
        (LEDUC, "raise@first >= 0.9", 0.05),  # out of reach
        (LEDUC, "1/raise@first <= 0.3", 0.05),
        (GOOFSPIEL, "top@first >= 0.5", 0.05),
    ],
)
def test_targets_are_met_as_far_as_linear_programs_say(game, target, max_loss):
    exact = reach_style(game, target, max_loss)
    found = calibrate_style(game, target, max_loss)
    outcome = exact.targets[0]
    (reached,) = found.best.reached
    mine = found.targets[0]
    assert (found.player, mine.name, mine.sense) == (exact.player, outcome.name, outcome.sense)
    assert (mine.asked, mine.reached, mine.low, mine.high) == (outcome.asked, reached, None, None)
    assert (found.status is Status.CONVERGED) is exact.is_feasible
    nearest = min(outcome.high, outcome.asked) if outcome.sense == ">=" else max(outcome.low, outcome.asked)
    short = nearest - reached if outcome.sense == ">=" else reached - nearest
    assert short <= 0.03
    # What it says of the strategy is so: the loss is an upper bound on the true one, and not a loose one.
    value = float(game.reference_value) * (1 if found.player == 0 else -1)
    true_loss = value - worst_case(game, found.strategy)
    assert -1e-9 <= found.best.loss - true_loss <= 0.1 * max_loss + 1e-9
    assert found.best.loss <= max_loss
    assert found.game_value[0] - 1e-9 <= value <= found.game_value[1] + 1e-9
    assert found.game_value[1] - found.game_value[0] <= 0.1 * max_loss
    assert reached == pytest.approx(outcome.functional.value(found.strategy))
    # No strategy can do better than the linear program does for as much of the target.
    bound = {"at_least" if outcome.sense == ">=" else "at_most": reached}
    assert reach_style(game, functional_bound(outcome.functional, **bound)).least_loss <= true_loss + 1e-9


def test_the_method_that_is_found_does_it_again():
    found = calibrate_style(LEDUC, "raise@first >= 0.6", 0.05)
    assert isinstance(found.method, PrefCFR)
    assert [str(one) for one in found.prefer] == ["0/r@first:10"]
    assert found.best.vulnerabilities == (found.method.vulnerability,)
    assert found.method.vulnerability > 0.0
    again = solve(Nash(LEDUC), found.method, tol=0.0, max_iterations=found.best.iterations)
    assert again.lower == found.best.solution.lower
    seen = []
    calibrate_style(LEDUC, "raise@first >= 0.6", 0.05, progress=seen.append)
    assert [run.vulnerabilities for run in seen] == [run.vulnerabilities for run in found.runs]


@thorough
def test_hyper_parameters_and_limits_are_kept():
    method = PrefCFR(rule="br", units="counterfactual")
    found = calibrate_style(KUHN, "bet@first >= 0.6", 0.1, method=method, degree=5, max_iterations=3_000)
    assert (found.method.rule, found.method.units, found.method.base) == ("br", "counterfactual", "cfr")
    assert max(run.iterations for run in found.runs) <= 3_000
    assert {run.degree for run in found.runs} == {1.0, 5.0}
    for most in (1, 3):
        assert len(calibrate_style(LEDUC, "raise@first >= 0.9", 0.05, max_runs=most).runs) == most
    # Runs too short for the loss are made longer.
    hasty = calibrate_style(LEDUC, "raise@first >= 0.53", 0.005, degree=10_000, iterations=300)
    assert len({run.iterations for run in hasty.runs if run.degree > 1.0}) == 3
    nothing = calibrate_style(KUHN, "bet@first >= 0", 0, max_runs=3, max_iterations=2_000)
    assert "is met, but no run is proven to lose at most 0" in nothing.message


def test_probabilities_at_infosets_are_targets_too():
    found = calibrate_style(LEDUC, "0/Ks_cr:call >= 0.9", 0.05)
    assert (found.status, found.targets[0].asked) == (Status.CONVERGED, 0.9)
    (reached,) = found.best.reached
    assert reached == pytest.approx(found.strategy["Ks_cr"]["c"])
    assert reached >= 0.9


def test_preferred_actions_are_those_that_help():
    uniform = Strategy.uniform(KUHN, 0)

    def texts(game, text, player=0):
        return [str(one) for one in preferences_for(game, parse_constraint(text, game), 4, uniform_of(game, player))]

    def uniform_of(game, player):
        return Strategy.uniform(game, player)

    assert texts(KUHN, "bet@first >= 0.6") == ["0/b@first:4"]
    assert texts(KUHN, "bet@all <= 0.6") == ["0/p:4"]
    assert texts(KUHN, "bet@K_ >= 1/4") == ["0/K_:b:4"]
    assert texts(KUHN, "plan(0/J_:b) + plan(0/K_:p) <= 1") == ["0/J_:p:4", "0/K_:b:4"]
    assert texts(KUHN, "0/J_pb:b <= 1/2") == ["0/J_pb:p:4"]
    # Facing a raise, a player that is not to raise calls and folds as the given strategy does.
    targets = parse_constraint("1/raise@first <= 0.3", LEDUC)
    careful = Strategy.from_dict(LEDUC, 1, {"Ks_r": {"f": 0.0, "c": 0.75, "r": 0.25}})
    (wish,) = preferences_for(LEDUC, targets, 10, careful)
    shares = wish.strategy["Ks_r"]
    assert (shares["r"], shares["c"]) == (0.0, pytest.approx(1.0, abs=1e-5))
    assert wish.strategy["Ks_c"]["c"] == 1.0
    assert wish.strength == 9.0
    with pytest.raises(InvalidConstraintError, match="does not depend on any choice"):
        preferences_for(KUHN, parse_constraint("bet@first + pass@first >= 0.6", KUHN), 10, uniform)


@few
@pytest.mark.parametrize(
    ("game", "targets", "max_loss", "met"),
    [
        (LEDUC, ["1/call@first + 1/raise@first <= 0.8", "1/raise@first >= 0.5"], 0.1, True),
        (load_game("goofspiel:cards=4"), ["top@first >= 0.8", "1@first >= 0.1"], 0.1, True),
        # Both ends of a range pull at the same infosets.
        (LEDUC, ["raise@first >= 0.55", "raise@first <= 0.6"], 0.05, True),
        (KUHN, ["bet@first >= 0.5", "bet@J_ <= 0.1"], 0.05, True),
        pytest.param(LEDUC, ["raise@first >= 0.6", "fold@all <= 0.2"], 0.05, False, marks=thorough),
    ],
)
def test_several_targets_are_met_at_once(game, targets, max_loss, met):
    exact = reach_style(game, targets, max_loss)
    found = calibrate_style(game, targets, max_loss)
    assert exact.is_feasible is met
    assert found.status is (Status.CONVERGED if met else Status.UNCERTIFIED)
    assert [one.name for one in found.targets] == [one.name for one in exact.targets]
    for place, outcome in enumerate(exact.targets):
        value = outcome.functional.value(found.strategy)
        assert found.best.reached[place] == found.targets[place].reached == pytest.approx(value)
        missed = value - outcome.asked if outcome.sense == "<=" else outcome.asked - value
        assert found.best.missed_by[place] == pytest.approx(max(0.0, missed), abs=1e-12)
    assert found.best.is_met is met
    value = float(game.reference_value) * (1 if found.player == 0 else -1)
    true_loss = value - worst_case(game, found.strategy)
    assert true_loss - 1e-9 <= found.best.loss <= max_loss
    # Nobody does better than the linear program: for nothing less, or nearer.
    if met:
        assert exact.least_loss <= true_loss + 1e-9
    else:
        assert sum(found.best.missed_by) >= sum(one.missed_by for one in exact.targets) - 1e-9
        assert sum(found.best.missed_by) <= sum(one.missed_by for one in exact.targets) + 0.06
    # What the method is given is what was found, and does it again.
    again = solve(Nash(game), found.method, tol=0.0, max_iterations=found.best.iterations)
    assert again.lower == found.best.solution.lower


def test_each_target_has_its_own_vulnerability():
    targets = parse_constraint("raise@first >= 0.6", LEDUC) + parse_constraint("0/Ks_cr:call >= 0.9", LEDUC)
    uniform = Strategy.uniform(LEDUC, 0)
    wishes = preferences_for(LEDUC, targets, 10, uniform, (0.3, 0.05))
    assert [(str(wish), wish.vulnerability) for wish in wishes] == [("0/r@first:10", 0.3), ("0/Ks_cr:c:10", 0.05)]
    # Where both are about an infoset vulnerabilities add up, and each has its part of what is preferred.
    targets = parse_constraint("bet@first >= 0.5", KUHN) + parse_constraint("bet@J_ <= 0.05", KUHN)
    wishes = preferences_for(KUHN, targets, 5, Strategy.uniform(KUHN, 0), (0.1, 0.3))
    (shared,) = [wish for wish in wishes if isinstance(wish, PreferStrategy)]
    assert shared.strategy["J_"]["b"] == pytest.approx(0.25, abs=1e-5)
    labels, betas = KUHN.sequence_form.treeplexes[0].infoset_labels, preference_on(KUHN, wishes).vulnerability[0]
    rows = dict(zip(labels, betas, strict=True))
    assert rows == {"J_": pytest.approx(0.4), "Q_": 0.1, "K_": 0.1, "J_pb": 0.0, "Q_pb": 0.0, "K_pb": 0.0}
    # Targets that pull alike in opposite directions still give something up.
    even = preferences_for(KUHN, targets, 5, Strategy.uniform(KUHN, 0), (0.2, 0.2))
    assert preference_on(KUHN, even).vulnerability[0][0] == pytest.approx(0.4)
    targets = [
        one
        for text in ("0/K_:bet >= 0.05", "bet@all <= 0.3", "0/K_:bet >= 0.7")
        for one in parse_constraint(text, KUHN)
    ]
    even = preferences_for(KUHN, targets, 5, Strategy.uniform(KUHN, 0), (0.0, 0.2, 0.2))
    assert preference_on(KUHN, even).vulnerability[0].max() == pytest.approx(0.4)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"targets": "bet@first == 0.4"}, InvalidConstraintError, "is an equation, which no run meets"),
        ({"targets": []}, InvalidConstraintError, "there is no target"),
        ({"targets": ["bet@first >= 0.4", "1/bet@Q_p >= 0.1"]}, InvalidConstraintError, "expected one player's"),
        ({"max_loss": -1}, InvalidGameError, "max_loss is -1"),
        ({"degree": 1}, InvalidGameError, "degree is 1, expected a number above 1"),
        ({"degree": "much"}, InvalidGameError, "degree is 'much', expected a number above 1"),
        ({"iterations": 0}, InvalidGameError, "iterations is 0, expected a whole number of at least 1"),
        ({"max_runs": 1.5}, InvalidGameError, "max_runs is 1.5, expected a whole number"),
        ({"accuracy": math.nan}, InvalidGameError, "accuracy is nan"),
        ({"method": "pref-cfr"}, UnsupportedProblemError, "expected a PrefCFR"),
        ({"game": load_game("kuhn:players=3"), "player": 3}, InvalidStrategyError, "expected a number from 0 to 2"),
        ({"game": "kuhn"}, InvalidGameError, "needs a Game"),
    ],
)
def test_what_cannot_be_calibrated_is_refused(given, error, message):
    arguments = {"game": KUHN, "targets": "bet@first >= 0.4", "max_loss": 0.1} | given
    with pytest.raises(error, match=message):
        calibrate_style(**arguments)


def test_unknown_arguments_are_refused_by_name():
    with pytest.raises(TypeError, match=r"calibrate_style\(\) got an unexpected keyword argument 'max_run'"):
        calibrate_style(KUHN, "bet@first >= 0.4", 0.1, max_run=3)


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
        *("--updates", "alternating", "--vulnerability", repr(record["preference"]["vulnerabilities"][0])),
        *("--max-iterations", str(record["preference"]["iterations"]), "--json", "-"),
    ]
    assert main(again) == 0
    assert json.loads(capsys.readouterr().out)["lower"] == pytest.approx(
        record["game_value"] - record["exploitability"], abs=0.01
    )
    assert main([*asked, "--degree", "5"]) == 0
    assert "repeat with" in capsys.readouterr().out
    assert main([*asked[:-3], "0.01", "--method", "pref-cfr", "--max-iterations", "4000"]) == 1
    shown = capsys.readouterr().out
    assert "was not met within 0.01" in shown
    assert "not known" in shown
    for more, message in (
        (["--curve"], "--curve cannot be combined with --method pref-cfr"),
        (["--degree", "1"], "1, expected a number above 1"),
    ):
        assert main([*asked, *more]) == 2
        assert message in capsys.readouterr().err
    assert main([*asked, "--target", "bet@J_<=0.2", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["target"] for one in record["targets"]] == ["bet@first>=0.7", "bet@J_<=0.2"]
    assert record["violation"] == 0.0
    assert len(record["preference"]["vulnerabilities"]) == len(record["runs"][-1]["reached"]) == 2
    assert main([*asked, "--target", "bet@J_<=0.2"]) == 0
    shown = capsys.readouterr().out
    assert "bet@first>=0.7, bet@J_<=0.2 are met" in shown
    assert "repeat with" not in shown
    assert main([*asked[:-2], "--degree", "5"]) == 2
    assert "--degree is for --method pref-cfr only" in capsys.readouterr().err


# Three players


@thorough
@few
@pytest.mark.parametrize(("target", "max_loss"), [("2/bet@first >= 0.34", 0.02), ("cvar@0.5 >= -1.02", 0.1)])
def test_three_players_have_a_style_within_an_epsilon(target, max_loss):
    game = load_game("kuhn:players=3")
    found = calibrate_style(game, target, max_loss, max_iterations=4_000, max_runs=12)
    regrets = best_response_values(game, found.profile) - expected_payoffs(game, found.profile)
    assert found.best.loss == pytest.approx(max(regrets), abs=1e-12)
    assert found.best.loss <= max_loss
    plain, styled = found.runs[0].reached[0], found.targets[0].reached
    assert plain < styled
    assert found.status is Status.CONVERGED
    assert found.to_dict()["game_value"] is None


def _three_guesses():
    """Return a game of three players in public form: whoever guesses alone takes one from each of the others."""
    guesses = np.array(list(itertools.product((0, 1), repeat=3)))
    alone = guesses != np.roll(guesses, 1, axis=1)
    alone &= guesses != np.roll(guesses, 2, axis=1)
    amounts = np.where(alone, 2.0, np.where(alone.any(axis=1, keepdims=True), -1.0, 0.0)).T
    leaves = JointLeaves(np.arange(7, 15), amounts, np.ones((1, 1, 1)))
    players, parents = [0, 1, 1, 2, 2, 2, 2] + [TERMINAL] * 8, [-1, *np.repeat(range(7), 2).tolist()]
    form = JointForm(players, parents, ["", *"HTHTHTHTHTHTHT"], [["-"]] * 3, [leaves], np.ones((1, 1, 1)), 2.0)
    return Game("three guesses", sequence_form=form.sequence_form())


def test_where_payoffs_are_an_operator_runs_are_few_and_short_and_in_single_precision():
    found = calibrate_style(_three_guesses(), "H@first >= 0.9", 0.3)
    assert {run.iterations for run in found.runs} <= {64, 128}
    assert 2 <= len(found.runs) <= 8
    assert {run.solution.method.precision for run in found.runs} == {"single"}
    regrets = best_response_values(found.game, found.profile) - expected_payoffs(found.game, found.profile)
    assert found.best.loss == pytest.approx(max(regrets), abs=1e-9)
    asked = calibrate_style(_three_guesses(), "H@first >= 0.9", 0.3, iterations=20, max_iterations=20, max_runs=1)
    assert [run.iterations for run in asked.runs] == [20]


@thorough
def test_styles_before_the_flop_with_three_players():
    game = load_game("three_handed:stack=4")
    found = calibrate_style(game, "call@first >= 0.99", 0.05, iterations=2, max_iterations=2, max_runs=2)
    regrets = best_response_values(game, found.profile) - expected_payoffs(game, found.profile)
    assert found.best.loss == pytest.approx(max(regrets), abs=1e-9)
    assert found.status is Status.UNCERTIFIED


@few
@pytest.mark.parametrize("runs", [2, 1])
def test_at_the_time_limit_the_best_run_is_the_answer(runs, monkeypatch):
    clock, ended = Clock(step=0.0).install(monkeypatch), []

    def late(run):
        ended.append(run)
        clock.now += 100.0 if len(ended) == runs else 0.0

    found = calibrate_style(KUHN, "bet@first >= 0.99", 0.05, time_limit=50.0, max_iterations=2_000, progress=late)
    assert found.status is Status.TIME_LIMIT
    assert found.message.startswith(f"stopped at the time limit after {runs} run{'s' * (runs > 1)}; so far bet@first")
    assert len(found.runs) == len(ended) == runs
    assert found.best.loss <= 0.05
    clock.now += 1_000.0
    with pytest.raises(TimeLimitError):
        calibrate_style(KUHN, "bet@first >= 0.99", 0.05, time_limit=0.0)


@thorough
def test_how_often_three_players_act_before_the_flop_is_counted_by_the_deal():
    game = load_game("three_handed:stack=4")
    own = game.sequence_form.treeplexes[0]
    first = reach_of_others(game, 0)[np.flatnonzero(own.parents == 0)]
    # The button decides once at first, a pair holds 6 of 1,326 hands, and suited and offsuit hands 4 and 12.
    assert first.sum() == pytest.approx(1.0)
    assert sorted(set((1326 * first).round(6).tolist())) == [4.0, 6.0, 12.0]
    assert frequency(game, 0, "fold", first=True).value(Strategy.uniform(game, 0)) == pytest.approx(0.2)
