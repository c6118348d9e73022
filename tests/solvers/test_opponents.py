"""Models of opponents by name, and responses to them on the command line."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from treeplex import (
    InvalidStrategyError,
    Nash,
    Profile,
    Strategy,
    expected_payoffs,
    exploitability,
    load_game,
    solve,
    worst_case,
)
from treeplex.cli import main
from treeplex.models.opponents import mixture, perturbed, uniform_without
from treeplex.solvers.opponents.strategies import abstraction_profile, opponent_strategy

LEDUC = load_game("leduc")
KUHN = load_game("kuhn")


def test_random_opponents_are_drawn_infoset_by_infoset():
    rng = np.random.default_rng(7)
    treeplex = LEDUC.sequence_form.treeplexes[1]
    drawn = opponent_strategy("random:seed=7", LEDUC, 1)
    for infoset in range(treeplex.num_infosets):
        own = slice(treeplex.offsets[infoset], treeplex.offsets[infoset + 1])
        np.testing.assert_allclose(drawn.behaviour[own], rng.dirichlet(np.ones(treeplex.num_actions[infoset])))
    assert not np.array_equal(drawn.behaviour, opponent_strategy("random:seed=8", LEDUC, 1).behaviour)


@pytest.mark.parametrize("updates", ["alternating", "simultaneous"])
def test_cfr_opponents_are_the_uniform_average(updates):
    found = opponent_strategy(f"cfr:iterations=34,updates={updates}", LEDUC, 0)
    profile = solve(Nash(LEDUC), "cfr", tol=0, max_iterations=34)
    if updates == "alternating":
        np.testing.assert_array_equal(found.plan, profile.profile[0].plan)
    else:
        assert not np.array_equal(found.plan, profile.profile[0].plan)
    # Exploitability of one seat is at most NashConv; published NashConv: 0.6746 (simultaneous), 0.5556 (alternating).
    assert 0.0 < -0.0856064 - worst_case(LEDUC, found) < 0.68


def test_nash_opponents_cannot_be_exploited():
    assert worst_case(LEDUC, opponent_strategy("nash", LEDUC, 1)) == pytest.approx(0.0856064240780, abs=1e-9)


def test_abstractions_are_played_in_the_full_game():
    target = abstraction_profile("JQ.K/pair.nopair", LEDUC)
    for player in (0, 1):
        found = opponent_strategy("abstraction:JQ.K/pair.nopair", LEDUC, player)
        np.testing.assert_array_equal(found.plan, target[player].plan)
    short = opponent_strategy("abstraction:JQ.K/pair.nopair,iterations=1e1", LEDUC, 0)
    assert abs(short.plan - target[0].plan).max() > 1e-2


def test_uniform_play_may_leave_an_action_out():
    probe = opponent_strategy("uniform:without=f", LEDUC, 1)
    assert probe["Js_r"] == {"f": 0.0, "c": 0.5, "r": 0.5}
    assert probe["Js_crr"] == {"f": 0.0, "c": 1.0}
    assert probe["Js_c"] == {"c": 0.5, "r": 0.5}
    only = load_game("goofspiel:cards=2")
    label = only.sequence_form.treeplexes[0].action_labels[0][0]
    assert uniform_without(only, 0, label).behaviour.min() == 0.0


def test_mixtures_earn_the_mean():
    parts = [opponent_strategy(text, LEDUC, 0) for text in ("uniform", "random:seed=1", "cfr:iterations=3")]
    found = opponent_strategy("mixture:0.5*uniform+1/4*random:seed=1+0.25*(cfr:iterations=3)", LEDUC, 0)
    other = opponent_strategy("random:seed=2", LEDUC, 1)
    payoffs = [expected_payoffs(LEDUC, Profile([part, other]))[0] for part in parts]
    assert expected_payoffs(LEDUC, Profile([found, other]))[0] == pytest.approx(np.dot([0.5, 0.25, 0.25], payoffs))
    assert found.game_name == "leduc"


def test_mixtures_play_the_mean_behaviour_where_none_of_their_strategies_goes():
    first = Strategy.from_dict(KUHN, 0, {"K_": {"b": 1}, "K_pb": {"p": 1}})
    second = Strategy.from_dict(KUHN, 0, {"K_": {"b": 1}, "K_pb": {"b": 1}})
    found = mixture([first, second], [Fraction(1, 4), 0.75])
    assert (found["K_"], found["K_pb"]) == ({"p": 0.0, "b": 1.0}, {"p": 0.25, "b": 0.75})


@given(st.integers(0, 10**6), st.floats(0.0, 1.0))
def test_trembles_are_uniform_and_draws_stay_in_the_support(seed, epsilon):
    strategy = Strategy.from_dict(KUHN, 1, {"K_b": {"b": 1}, "K_p": {"b": 1}})
    trembling = perturbed(strategy, epsilon)
    np.testing.assert_allclose(trembling.behaviour, (1 - epsilon) * strategy.behaviour + epsilon * 0.5 * _UNIT)
    drawn = perturbed(strategy, concentration=3.0, seed=seed)
    assert drawn["K_b"] == {"p": 0.0, "b": 1.0}
    np.testing.assert_array_equal(drawn.plan, perturbed(strategy, concentration=3.0, seed=seed).plan)


_UNIT = np.array([2.0, *np.ones(12)])


def test_draws_have_the_mean_and_the_variance_that_are_promised():
    strategy = Strategy(KUHN, 1, [1.0] + 6 * [0.2, 0.8])
    drawn = [perturbed(strategy, concentration=9.0, seed=seed).behaviour[2::2] for seed in range(700)]
    sample = np.concatenate(drawn)
    assert sample.mean() == pytest.approx(0.8, abs=4 * np.sqrt(0.016 / 4_200))
    assert sample.var() == pytest.approx(0.8 * 0.2 / 10, rel=0.15)
    assert np.abs(perturbed(strategy, concentration=1e12, seed=1).behaviour - strategy.behaviour).max() < 1e-5


def test_a_tiny_concentration_draws_one_action_for_certain():
    strategy = Strategy.from_dict(KUHN, 1, {"K_b": {"p": 0.2, "b": 0.8}})
    sample = np.array([perturbed(strategy, concentration=1e-9, seed=seed)["K_b"]["b"] for seed in range(500)])
    assert set(sample) == {0.0, 1.0}
    assert sample.mean() == pytest.approx(0.8, abs=0.08)


def test_opponents_stand_within_each_other():
    found = opponent_strategy("perturbed:(mixture:0.5*uniform+0.5*(random:seed=1)),epsilon=1/10", KUHN, 1)
    mixed = mixture([Strategy.uniform(KUHN, 1), opponent_strategy("random:seed=1", KUHN, 1)], [0.5, 0.5])
    np.testing.assert_array_equal(found.plan, perturbed(mixed, 0.1).plan)


def test_whole_numbers_may_be_powers_of_ten():
    assert worst_case(KUHN, opponent_strategy("cfr:iterations=1e2", KUHN, 0)) == worst_case(
        KUHN, opponent_strategy("cfr:iterations=100", KUHN, 0)
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mixture([], []), "a mixture of 0 strategies with 0 weights"),
        (lambda: mixture([Strategy.uniform(KUHN, 0)], [0.5, 0.5]), "1 strategies with 2 weights"),
        (lambda: mixture(["uniform"], [1]), "a part of the mixture is 'uniform', expected a Strategy"),
        (lambda: mixture([Strategy.uniform(KUHN, 0), Strategy.uniform(KUHN, 1)], [0.5, 0.5]), "of players 0 and 1"),
        (lambda: mixture([Strategy.uniform(KUHN, 0), Strategy.uniform(LEDUC, 0)], [0.5, 0.5]), "of another game"),
        (lambda: mixture([Strategy.uniform(KUHN, 0)], [float("nan")]), "expected probabilities that sum to 1"),
        (lambda: mixture([Strategy.uniform(KUHN, 0)] * 2, [1.5, -0.5]), "expected probabilities that sum to 1"),
        (lambda: mixture([Strategy.uniform(KUHN, 0)], ["1"]), "expected probabilities that sum to 1"),
        (lambda: perturbed("uniform"), "strategy is 'uniform', expected a Strategy"),
        (lambda: perturbed(Strategy.uniform(KUHN, 0), epsilon="1"), "epsilon is '1', expected a number from 0 to 1"),
        (lambda: perturbed(Strategy.uniform(KUHN, 0), concentration=float("inf"), seed=1), "concentration is inf"),
        (lambda: perturbed(Strategy.uniform(KUHN, 0), concentration=1.0, seed=1.5), "seed of a concentration is 1.5"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(call, message):
    with pytest.raises(InvalidStrategyError, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_files_are_opponents_too(tmp_path: Path):
    solution = solve(Nash(LEDUC), "cfr+", tol=1e-2)
    solution.profile.save(tmp_path / "profile.npz")
    loaded = opponent_strategy(str(tmp_path / "profile.npz"), LEDUC, 1)
    np.testing.assert_allclose(loaded.plan, solution.profile[1].plan)
    assert exploitability(LEDUC, solution.profile) <= 1e-2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "unifrm",
            r"unknown opponent 'unifrm' \(did you mean uniform\?\); expected one of uniform\[:without=ACTION\], ",
        ),
        ("uniform:seed=1", "opponent uniform: unknown parameter 'seed'; expected without"),
        (
            "uniform:without=flod",
            r"player 1 of leduc has no action 'flod'.*did you mean fold.*; expected one of bet, c, call,",
        ),
        ("random", "opponent random needs seed; expected random:seed=S"),
        ("random:seed=x", "opponent random: seed = x; expected an integer of at least 0"),
        ("random:seed", "opponent random: expected key=value at character 8, got 'seed'"),
        ("cfr:iterations=-3", "opponent cfr: iterations = -3; expected an integer of at least 0"),
        ("cfr:iterations=3,updates=both", "opponent cfr: updates = both; expected one of alternating, simultaneous"),
        (
            "cfr:iterations=1.5",
            "opponent cfr: iterations = 1.5; expected an integer of at least 0",
        ),
        ("cfr:iterations=3,iterations=4", "opponent cfr: iterations is given twice"),
        ("cfr:iteration=3", r"unknown parameter 'iteration' \(did you mean iterations\?\)"),
        ("abstraction", "opponent abstraction needs buckets; expected abstraction:JQ.K/pair.nopair"),
        ("abstraction:JQ.K", "abstraction 'JQ.K' has 1 round"),
        (
            "abstraction:JQ.K/pair.nopair,seed=1",
            "opponent abstraction: unknown parameter 'seed'; expected iterations",
        ),
        ("mixture:", "opponent mixture needs terms; expected mixture:W"),
        ("mixture:nash", "opponent mixture: expected a weight, .* got 'nash'"),
        ("mixture:0.5*nash+", "opponent mixture: expected a weight, .* got ''"),
        ("mixture:0.5*nash", "opponent mixture: weights 0.5 sum to 0.5; expected probabilities that sum to 1"),
        ("mixture:1.5*nash+-0.5*uniform", "weight = 1.5; expected a number from 0 to 1"),
        ("mixture:half*nash", "opponent mixture: weight = half; expected a number"),
        ("mixture:0.5*(nash+0.5*uniform", "the parenthesis at character 13 is not closed"),
        ("mixture:0.5*nash)+0.5*uniform", "the parenthesis at character 17 was never opened"),
        ("mixture:1*" * 20 + "nash", "opponents are nested more than 8 deep"),
        ("(" * 5000 + "nash" + ")" * 5000, "unknown opponent"),
        ("perturbed", "opponent perturbed needs opponent; expected perturbed:O"),
        ("perturbed:nash", "opponent perturbed needs noise"),
        ("perturbed:nsh,epsilon=0.1", r"unknown opponent 'nsh' \(did you mean nash\?\)"),
        ("perturbed:uniform,epsilon=2", "opponent perturbed: epsilon = 2; expected a number from 0 to 1"),
        ("perturbed:uniform,seed=2", "opponent perturbed: concentration and seed go together"),
        (
            "perturbed:uniform,concentration=0,seed=2",
            "opponent perturbed: concentration = 0; expected a number above 0",
        ),
        ("perturbed:uniform,concentration=3", "opponent perturbed: concentration and seed go together"),
        ("absent.npz", "absent.npz"),
    ],
)
def test_what_is_no_opponent_is_refused_in_one_line(spec, message):
    with pytest.raises(InvalidStrategyError, match=message) as refused:
        opponent_strategy(spec, LEDUC, 1)
    assert "\n" not in str(refused.value)


# The command line


def test_responses_are_solved_and_reported(capsys):
    arguments = ["solve", "leduc", "--problem", "rnr", "--opponent", "uniform", "--p", "1/2", "--json", "-"]
    assert main(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["objective"] == pytest.approx(0.492451, abs=1e-6)
    assert (record["problem"], record["player"], record["status"]) == ("rnr", 0, "optimal")
    assert record["gain"] == pytest.approx(1.673986, abs=1e-6)
    assert record["exploitability"] == pytest.approx(0.517871, abs=1e-6)
    assert record["game_value"] == pytest.approx(-0.0856064, abs=1e-7)


def test_seat_one_responds_safely_and_the_price_of_safety_is_shown(capsys, tmp_path):
    out = tmp_path / "response.npz"
    arguments = ["solve", "leduc", "--problem", "epsilon-safe", "--opponent", "random:seed=1", "--epsilon", "0.1"]
    assert main([*arguments, "--player", "1", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    assert "price of safety" in shown
    saved = Strategy.load(out, LEDUC, 1)
    assert worst_case(LEDUC, saved) >= 0.0856064 - 0.1 - 1e-7


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--problem", "rnr", "--opponent", "uniform"], "rnr needs --p"),
        (["--problem", "rnr", "--p", "0.5"], "rnr needs --opponent"),
        (["--problem", "best-response", "--opponent", "uniform", "--p", "1"], "--p is not for best-response"),
        (["--problem", "nash", "--epsilon", "1"], "--epsilon is not for nash"),
        (["--player", "1"], "--player is not for nash; leave it out"),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "much"], "--p much: expected a number"),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "1/0"], "--p 1/0: expected a number"),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "1.5"], "--p 1.5: expected a number from 0 to 1"),
        (["--problem", "rnr", "--opponent", "unifrm", "--p", "1"], "did you mean uniform?"),
        (
            ["--problem", "rnr", "--opponent", "uniform", "--p", "1", "--player", "2"],
            "--player 2: expected 0 or 1",
        ),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "1", "--method", "cfvfp"], "cannot solve rnr"),
        (["--problem", "rmr"], "did you mean rnr?"),
    ],
)
def test_bad_questions_are_one_line(arguments, message, capsys):
    assert main(["solve", "kuhn", *arguments]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err


def test_responses_need_two_players_and_a_zero_sum_game(capsys):
    arguments = ["--problem", "best-response", "--opponent", "uniform"]
    assert main(["solve", "kuhn:players=3", *arguments]) == 2
    assert "best-response needs two players" in capsys.readouterr().err
