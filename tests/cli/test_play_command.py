"""The command ``treeplex play``: its log, its JSON, its errors and what Ctrl-C leaves."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from command_line import json_of, refusal
from effort import PATIENCE, either, few

from treeplex import Profile, Strategy, expected_payoffs, load_game, read_play_log, simulate, write_play_log
from treeplex import observer_tree as view_of
from treeplex.cli import main
from treeplex.solvers.opponents.strategies import opponent_strategy

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")

UNIFORM = ("--seat0", "uniform", "--seat1", "uniform")


def test_the_log_holds_the_games_of_the_seed(capsys):
    arguments = ["leduc", "--seat0", "random:seed=4", "--seat1", "uniform", "--games", "2000", "--seed", "9"]
    game = load_game("leduc")
    profile = Profile([opponent_strategy("random:seed=4", game, 0), Strategy.uniform(game, 1)])
    games = np.concatenate(list(simulate(profile, 2000, seed=9)))
    for seat in (0, 1):
        assert main(["play", *arguments, "--observer", str(seat), "--out", f"seat{seat}.jsonl"]) == 0
        view = view_of(game, seat)
        write_play_log("expected.jsonl", game, view, [games])
        with open(f"seat{seat}.jsonl", "rb") as log, open("expected.jsonl", "rb") as expected:  # noqa: PTH123
            assert log.read() == expected.read()
        log = read_play_log(f"seat{seat}.jsonl", game, seat)
        assert log.ended.tolist() == np.bincount(view.leaf_classes[games], minlength=view.num_classes).tolist()
    shown = capsys.readouterr().out
    assert re.search(r"games +2,000\n", shown)
    assert "seat1.jsonl, of seat 1" in shown
    assert f"expected {expected_payoffs(game, profile)[0]:.6f}" in shown


def test_without_a_file_the_log_goes_to_standard_output(capsys):
    assert main(["play", "kuhn", *UNIFORM, "--games", "3"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert lines[0] == {"treeplex_log": 1, "game": "kuhn", "parameters": {"players": 2, "cards": 3}}
    assert [line["seat"] for line in lines[1:]] == [0, 0, 0]
    assert main(["play", "kuhn", *UNIFORM, "--games", "3", "--out", "-", "--json", "results.json"]) == 0
    assert capsys.readouterr().out == shown.out
    with open("results.json", encoding="utf-8") as results:  # noqa: PTH123
        assert json.load(results)["games"] == 3


def test_json_holds_the_results(capsys):
    record = json_of(
        capsys, "play", "leduc:merge_suits=true", "--seat0", "nash", "--seat1", "uniform", "--games", "2e5"
    )
    assert record["game"] == "leduc:merge_suits=true"
    assert record["parameters"]["ranks"] == 3
    assert (record["seats"], record["games"], record["seed"]) == (["nash", "uniform"], 200_000, 0)
    assert (record["log"], record["observer"], record["interrupted"]) == (None, 0, False)
    game = load_game("leduc:merge_suits=true")
    profile = Profile([opponent_strategy("nash", game, 0), Strategy.uniform(game, 1)])
    assert record["expected"] == pytest.approx(expected_payoffs(game, profile).tolist())
    assert record["confidence"] == 0.95
    for mean, (lower, upper), expected in zip(record["mean"], record["interval"], record["expected"], strict=True):
        assert lower < mean < upper
        assert lower < expected < upper
    assert record["games_per_second"] == pytest.approx(record["games"] / record["seconds"])
    assert record["games_per_second"] > 1_000_000 / 60


def test_no_games_have_no_mean(capsys):
    record = json_of(capsys, "play", "kuhn", *UNIFORM, "--games", "0", "--out", "none.jsonl")
    assert (record["games"], record["mean"], record["interval"]) == (0, [None, None], [None, None])
    assert record["expected"] == [0.12500000000000003, -0.12500000000000003]
    assert main(["play", "kuhn", *UNIFORM, "--games", "0", "--out", "none.jsonl"]) == 0
    assert "expected 0.125000" in capsys.readouterr().out


def test_the_largest_seed_is_one(capsys):
    assert json_of(capsys, "play", "kuhn", *UNIFORM, "--games", "1", "--seed", str(2**53))["seed"] == 2**53


def test_results_need_no_observer(capsys):
    assert json_of(capsys, "play", "coin", *UNIFORM, "--games", "10")["games"] == 10
    assert "coin does not define what players observe" in refusal(capsys, "play", "coin", *UNIFORM, "--games", "10")


def test_a_strategy_file_plays(capsys):
    game = load_game("kuhn")
    Profile([Strategy.from_dict(game, 0, {"K_": {"p": 1.0}}), Strategy.uniform(game, 1)]).save("slow.npz")
    assert main(["play", "kuhn", "--seat0", "slow.npz", "--seat1", "uniform", "--games", "500", "--out", "log"]) == 0
    log = read_play_log("log", game, 0)
    kings = [number for number in range(log.view.num_classes) if log.view.name(number) == "'K', b"]
    assert log.passed[kings].tolist() == [0]
    assert log.num_games == 500
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kuhn", "--seat0", "uniform", "--games", "1"], "missing option '--seat1': the player in seat 1, i"),
        (["kuhn", *UNIFORM], "missing option '--games': number of games (see treeplex play --help)"),
        (["kuhn", *UNIFORM, "--games", "-1"], "-1, expected a whole number from 0 to 2^53, such as 1000"),
        (["kuhn", *UNIFORM, "--games", "many"], "many, expected a whole number"),
        (["kuhn", *UNIFORM, "--games", "1", "--seed", "x"], "x, expected a whole number"),
        (["kuhn", *UNIFORM, "--games", "1", "--seed", "9007199254740993"], "whole number from 0 to 2^53"),
        (["kuhn", *UNIFORM, "--games", "1", "--observer", "2"], "2, expected 0 or 1"),
        (["kuhn:players=3", *UNIFORM, "--games", "1"], "kuhn:players=3 has 3 players: play needs two players"),
        (["transit:width=2", *UNIFORM, "--games", "1"], "transit:width=2 has no histories, so it cannot be played"),
        (["kuhn", "--seat0", "unifrom", "--seat1", "nash", "--games", "1"], "unknown opponent 'unifrom' (did you mean"),
        (["kuhn", "--seat0", "no.npz", "--seat1", "nash", "--games", "1"], "no.npz: no such file"),
        (["khun", *UNIFORM, "--games", "1"], "unknown game 'khun' (did you mean kuhn?)"),
        (
            ["kuhn", *UNIFORM, "--games", "1", "--out", "no/log"],
            "--out: cannot write 'no/log': no such file or directory",
        ),
        (["kuhn", *UNIFORM, "--games", "1", "--out", ""], "--out: the file name is empty"),
        (["kuhn", *UNIFORM, "--games", "1", "--out", "a", "--json", "a"], "--out and --json name the same file, a"),
        (
            ["kuhn", *UNIFORM, "--games", "1", "--out", "-", "--json", "-"],
            "--out and --json cannot both go to standard",
        ),
        (
            ["kuhn", "--seat0", "p.npz", "--seat1", "nash", "--games", "1", "--out", "p.npz"],
            "--seat0 and --out name the same file, p.npz",
        ),
    ],
)
def test_bad_input_is_one_line(arguments, message, capsys):
    assert message in refusal(capsys, "play", *arguments)
    assert not os.listdir()  # noqa: PTH208


@few
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored")
@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_after_ctrl_c_the_log_holds_whole_lines(name):
    command = [sys.executable, "-P", "-m", "treeplex", "play", "leduc", *UNIFORM, "--games", "1e8"]
    running = subprocess.Popen(
        [*command, "--out", name, "--json", "results.json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while not any(each.stat().st_size > 100_000 for each in Path.cwd().glob(".log*.treeplex-*")):
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=PATIENCE)
    finally:
        running.kill()
        running.wait()
    assert (running.returncode, err) == (130, "error: interrupted\n")
    log = read_play_log(name, load_game("leduc"), 0)
    assert log.num_games > 0
    with open("results.json", encoding="utf-8") as results:  # noqa: PTH123
        record = json.load(results)
    assert (record["games"], record["interrupted"]) == (log.num_games, True)
    assert f"{log.num_games:,}" in out


def test_ctrl_c_before_the_first_game_leaves_no_log(monkeypatch, capsys):
    def interrupted(spec, game, player):
        raise KeyboardInterrupt

    monkeypatch.setattr("treeplex.solvers.opponents.strategies.opponent_strategy", interrupted)
    assert main(["play", "kuhn", *UNIFORM, "--games", "5", "--out", "log", "--json", "-"]) == 130
    shown = capsys.readouterr()
    assert shown.err == "error: interrupted\n"
    record = json.loads(shown.out)
    assert (record["game"], record["games"], record["interrupted"]) == ("kuhn", 0, True)
    assert (record["mean"], record["expected"], record["seconds"]) == (None, None, None)
    assert not os.listdir()  # noqa: PTH208


def test_a_reader_that_goes_ends_the_games():
    command = f"{shlex.quote(sys.executable)} -P -m treeplex play kuhn {' '.join(UNIFORM)} --games 1e9"
    ran = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} | head -n 3"],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (ran.returncode, ran.stderr, ran.stdout.count("\n")) == (141, "", 3)


def test_results_without_luck_are_close_to_the_expectation(capsys):
    seats = ("--seat0", "random:seed=4", "--seat1", "uniform")
    record = json_of(capsys, "play", "leduc", *seats, "--games", "5000", "--seed", "2")
    for found, mean, expected in zip(record["luck_free"], record["mean"], record["expected"], strict=True):
        assert (found["games"], found["confidence"], found["luck"]) == (5000, 0.95, None)
        assert found["raw_mean"] == pytest.approx(mean)
        assert found["interval"][0] < expected < found["interval"][1]
        assert found["reduction"] == pytest.approx(found["raw_standard_error"] / found["standard_error"])
        assert found["reduction"] > 1.5
    preflop = json_of(capsys, "play", "preflop:stack=4,continuations=0", *seats, "--games", "500")
    assert all(found["reduction"] > 1.2 for found in preflop["luck_free"])
    single = json_of(capsys, "play", "kuhn", *UNIFORM, "--games", "1")
    assert single["luck_free"][0]["standard_error"] is None
    assert main(["play", "kuhn", *UNIFORM, "--games", "50", "--out", "log.jsonl"]) == 0
    assert re.search(r"seat 1 without luck +-?\d\.\d+, standard error \d\.\d+, \d", capsys.readouterr().out)


def test_evaluate_removes_luck_from_a_log(capsys):
    games = either(2000, 5000)
    game = load_game("leduc")
    profile = Profile([opponent_strategy("random:seed=4", game, 0), Strategy.uniform(game, 1)])
    profile[0].save("mine.json")
    for seat in (0, 1):
        write_play_log(f"seat{seat}.jsonl", game, view_of(game, seat), simulate(profile, games, seed=9))
    found = {}
    for seat, option in ((0, ()), (1, ("--observer", "1"))):
        log = f"seat{seat}.jsonl"
        arguments = ("evaluate", "leduc", "--strategy", "mine.json", "--strategy", "uniform", "--log", log, *option)
        found[seat] = json_of(capsys, *arguments)["log"]
        assert (found[seat]["file"], found[seat]["observer"], found[seat]["player"]) == (log, seat, 0)
        assert found[seat]["games"] == games
        low, high = found[seat]["interval"]
        assert low < expected_payoffs(game, profile)[0] < high
    luck = sum(found[1]["luck"].values())
    assert found[1]["raw_mean"] - luck == pytest.approx(found[1]["mean"])
    assert found[0]["luck"] is None
    assert found[0]["raw_mean"] == pytest.approx(found[1]["raw_mean"])
    assert found[1]["standard_error"] < 0.9 * found[0]["standard_error"] < 0.9 * found[0]["raw_standard_error"]
    assert main(["evaluate", "leduc", "--strategy", "mine.json", "--log", "seat0.jsonl", "--top", "1"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"without luck +\S+ in \[.*\] per game, paid to player 0\n", shown)
    assert "times smaller without luck" in shown
    assert "line 2: seat is 1" in refusal(
        capsys, "evaluate", "leduc", "--strategy", "mine.json", "--log", "seat1.jsonl"
    )
    assert "--log FILE" in refusal(capsys, "evaluate", "leduc", "--strategy", "mine.json", "--observer", "1")
    Strategy.from_dict(game, 0, {"Ks_": {"c": 1.0}}).save("other.json")
    impossible = refusal(capsys, "evaluate", "leduc", "--strategy", "other.json", "--log", "seat0.jsonl")
    assert "is impossible with the known strategy of seat 0" in impossible


SPOT = """
board = "Ks9d4c7h"
pot = 40
stack = 60

[ranges]
oop = "AcKc, QhQd, JhJd, 9s9c, 8c6c"
ip = "AhKh, KcQc, JsJh, 8h6h, Ac9c"

[bets]
bet = "50%, a"
"""


def test_hands_of_a_spot_are_written_for_review(capsys):
    histories = pytest.importorskip("pokerkit").HandHistory
    Path("spot.toml").write_text(SPOT, encoding="utf-8")
    played = json_of(capsys, "play", "spot.toml", *UNIFORM, "--games", "200", "--out", "hands.phhs")
    found = json_of(capsys, "review", "hands.phhs", "--hero", "ip", "--against", "spot.toml")
    assert (found["read"], found["hands"], found["left_out"], found["mapped"]) == (200, 200, {}, 0)
    assert found["streets"] is None
    # Payoffs average the river after an all-in; the hands deal one.
    with Path("hands.phhs").open("rb") as file:
        hands = list(histories.load_all(file))
    finals = [list(hand)[-1].stacks for hand in hands]
    assert [list(stacks) for stacks in finals] == [list(hand.finishing_stacks) for hand in hands]
    assert found["result"]["mean"] == pytest.approx(np.mean([stacks[1] - 160 for stacks in finals]) / 4 * 100)
    assert found["result"]["mean"] / 100 * 2 == pytest.approx(played["mean"][1], abs=3)


def test_hands_are_written_only_where_rooms_have_such_hands(capsys):
    Path("raked.toml").write_text(SPOT + "[rake]\nrate = 0.05\n", encoding="utf-8")
    Path("spot.toml").write_text(SPOT, encoding="utf-8")
    common = (*UNIFORM, "--games", "2")
    assert refusal(capsys, "play", "raked.toml", *common, "--out", "a.phhs") == (
        "--out: hands are written only for spots without a rake; leave it out"
    )
    assert "give a file name for hand histories (.phhs)" in refusal(capsys, "play", "spot.toml", *common, "--out", "-")
    assert not Path("a.phhs").exists()
