"""Models of opponents by name, and responses to them on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from treeplex import InvalidStrategyError, Nash, Strategy, exploitability, load_game, solve, worst_case
from treeplex.solvers.opponents import opponent_strategy
from treeplex.validation.cli import main

LEDUC = load_game("leduc")


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


def test_files_are_opponents_too(tmp_path: Path):
    solution = solve(Nash(LEDUC), "cfr+", tol=1e-2)
    solution.profile.save(tmp_path / "profile.npz")
    loaded = opponent_strategy(str(tmp_path / "profile.npz"), LEDUC, 1)
    np.testing.assert_allclose(loaded.plan, solution.profile[1].plan)
    assert exploitability(LEDUC, solution.profile) <= 1e-2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("unifrm", r"unknown opponent 'unifrm' \(did you mean uniform\?\); expected uniform, random:seed=S"),
        ("uniform:seed=1", "opponent uniform: unknown parameter 'seed'; expected none"),
        ("random", "opponent random needs seed; expected random:seed=S"),
        ("random:seed=x", "opponent random: seed = 'x'; expected a whole number"),
        ("random:seed", "opponent random: 'seed' is no parameter; expected key=value"),
        ("cfr:iterations=-3", "opponent cfr: iterations = '-3'; expected a whole number"),
        ("cfr:iterations=3,updates=both", "opponent cfr: updates = 'both'; expected alternating or simultaneous"),
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
        (["--player", "1"], "--player 1: nash solves for all players at once"),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "much"], "--p 'much': expected a number"),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "1/0"], "--p '1/0': expected a number"),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "1.5"], "p is 1.5, expected a number from 0 to 1"),
        (["--problem", "rnr", "--opponent", "unifrm", "--p", "1"], "did you mean uniform?"),
        (
            ["--problem", "rnr", "--opponent", "uniform", "--p", "1", "--player", "2"],
            "'--player': '2', expected 0 or 1",
        ),
        (["--problem", "rnr", "--opponent", "uniform", "--p", "1", "--method", "cfr+"], "rnr"),
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
