"""The command ``treeplex match``: its JSON, its errors, the hands that it writes, and what Ctrl-C leaves."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from command_line import json_of
from effort import PATIENCE

from treeplex.cli import main

pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")

pokerkit = pytest.importorskip("pokerkit")


def test_json_and_table(capsys):
    arguments = ("call", "random", "--hands", "40", "--duplicate", "--seed", "3", "--stack", "2000")
    record = json_of(capsys, "match", *arguments)
    low, high = record["confidence_interval"]
    assert low < record["mbb_per_hand"] < high
    assert (record["hands"], record["deals"], record["forfeits"], record["interrupted"]) == (40, 20, 0, False)
    assert record["table"] == {"seats": 2, "stack": 2000, "small_blind": 50, "big_blind": 100}
    assert record["results"][0]["mbb_per_hand"] == -record["results"][1]["mbb_per_hand"]
    saved = record["variance"]["saved"]
    assert set(saved) == {"equity", "duplicate", "both", "luck_free"}
    assert saved["luck_free"] > 0.5
    for kind in ("raw", "luck_free"):
        first, second = (each[kind]["mbb_per_hand"] for each in record["results"])
        ends = record["results"][0][kind]["confidence_interval"]
        assert first == pytest.approx(-second)
        assert ends[0] < first < ends[1]
    assert main(["match", *arguments]) == 0
    shown = capsys.readouterr().out
    assert "40 (20 deals in all rotations)" in shown
    assert f"{record['mbb_per_hand']:+.1f} mBB/hand in [{low:+.1f}, {high:+.1f}]" in shown
    assert f"first bot, luck-free  {record['results'][0]['luck_free']['mbb_per_hand']:+.1f} mBB/hand" in shown


def test_without_duplicate_every_hand_is_a_deal(capsys):
    record = json_of(capsys, "match", "call", "fold", "call", "--hands", "10", "--blinds", "10/25")
    assert (record["hands"], record["deals"], record["duplicate"]) == (10, 10, False)
    assert record["table"]["big_blind"] == 25
    assert record["variance"]["saved"]["duplicate"] is None
    assert record["results"][0]["luck_free"] is None  # three seats


def test_forfeits_are_counted_and_listed(capsys, tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Bad:\n    def act(self, view, rng):\n        print('thinking')\n        return 'bluff'\n"
    )
    bots = ("call", "python:module=mine.py,object=Bad")
    record = json_of(capsys, "match", *bots, "--hands", "4", "--duplicate", quiet=False)
    assert record["forfeits"] == 4
    assert [each["forfeits"] for each in record["results"]] == [0, 4]
    assert record["forfeit_log"][0]["reason"].startswith("IllegalActionError: the action is 'bluff', expected fold")
    assert record["mbb_per_hand"] == 750.0
    assert main(["match", *bots, "--hands", "4"]) == 0
    assert "4 forfeited" in capsys.readouterr().out


def test_failures_at_the_end_are_no_forfeits(capsys, tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Bad:\n    def act(self, view, rng):\n        return 'call' if view.price else 'check'\n"
        "    def end(self, result):\n        raise ValueError('no paper')\n"
    )
    bots = ("call", "python:module=mine.py,object=Bad")
    record = json_of(capsys, "match", *bots, "--hands", "4")
    assert record["forfeits"] == 0
    assert [(each["forfeits"], each["failures"]) for each in record["results"]] == [(0, 0), (0, 4)]
    assert not record["forfeit_log"][0]["folded"]
    assert main(["match", *bots, "--hands", "4"]) == 0
    shown = capsys.readouterr().out
    assert "failed at the end of 4" in shown
    assert "ValueError: no paper" in shown


def test_hands_are_written_for_others_to_read(capsys, tmp_path):
    record = json_of(capsys, "match", "random", "random", "--hands", "6", "--out", "hands.phhs")
    assert record["out"] == "hands.phhs"
    with (tmp_path / "hands.phhs").open("rb") as file:
        histories = list(pokerkit.HandHistory.load_all(file))
    assert [history.players for history in histories[:2]] == [["random #1", "random #2"], ["random #2", "random #1"]]


MISTAKES = {
    "one bot": (["call", "--hands", "4"], "one bot is given, expected 2 to 6"),
    "seven bots": (["call"] * 7 + ["--hands", "4"], "7 bots are given, expected 2 to 6"),
    "an unknown bot": (["call", "cal", "--hands", "4"], "unknown bot 'cal' (did you mean call?)"),
    "an unknown bot and no hands": (["call", "cal"], "error: unknown bot 'cal' (did you mean call?)"),
    "no hands": (["call", "call"], "number of hands"),
    "zero hands": (["call", "call", "--hands", "0"], "0, expected a whole number"),
    "hands below zero": (["call", "call", "--hands", "-3"], "'--hands': -3, expected a whole"),
    "games": (["call", "call", "--games", "10"], "did you mean --hands?"),
    "blinds": (
        ["call", "call", "--hands", "4", "--blinds", "100"],
        "expected two whole numbers of chips, at least 1, such as 50/100",
    ),
    "blinds turned round": (
        ["call", "call", "--hands", "4", "--blinds", "100/50"],
        "'--blinds': 100/50, expected a small blind of at most",
    ),
    "no blinds": (["call", "call", "--hands", "4", "--blinds", "0/100"], "0/100, expected two whole numbers"),
    "a short stack": (["call", "call", "--hands", "4", "--stack", "99"], "--stack is 99, expected at least"),
    "no time": (["call", "call", "--hands", "4", "--time-limit", "0"], "'--time-limit': 0, expected a number"),
    "no jobs": (["call", "call", "--hands", "4", "--jobs", "0"], "'--jobs': 0, expected a whole number of at least 1"),
    "no command": (["call", "json:command=", "--hands", "4"], "bot json: command has no value"),
    "jobs": (["call", "call", "--hands", "4", "--jobs", "two"], "two, expected a whole number"),
    "standard output": (
        ["call", "call", "--hands", "4", "--out", "-"],
        "hand histories cannot be written to standard output",
    ),
    "no folder": (["call", "call", "--hands", "4", "--out", "no/such/folder.phhs"], "--out: cannot write"),
    "no module": (["call", "python:module=nope,object=Bot", "--hands", "4"], "ModuleNotFoundError"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered_in_one_line(capsys, name):
    arguments, message = MISTAKES[name]
    assert main(["match", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err


def test_without_pokerkit_it_says_what_to_install(capsys, monkeypatch):
    for name in [name for name in sys.modules if name.startswith("pokerkit") or name.endswith("matches.rules")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pokerkit", None)
    assert main(["match", "call", "call", "--hands", "4"]) == 2
    assert capsys.readouterr().err == (
        "error: matches and hand histories of hold'em need pokerkit: pip install 'treeplex[holdem]'\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored")
def test_ctrl_c_keeps_what_was_played(tmp_path):
    command = [sys.executable, "-P", "-m", "treeplex", "match", "call", "random", "--hands", "1000000", "--duplicate"]
    command += ["--out", "hands.phhs", "--json", "record.json"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    passing = []
    for _ in range(int(PATIENCE / 0.1)):
        passing = [each for each in tmp_path.iterdir() if each.stat().st_size > 10_000]
        if passing:
            break
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130, errors
    assert "interrupted" in errors
    assert "Traceback" not in errors
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["interrupted"]
    assert record["hands"] == 2 * record["deals"] > 0
    with (tmp_path / "hands.phhs").open("rb") as file:
        # A deal of which one hand was played does not count, nor does a hand that was written as Ctrl-C came.
        assert len(list(pokerkit.HandHistory.load_all(file))) - record["hands"] in (0, 1, 2)
