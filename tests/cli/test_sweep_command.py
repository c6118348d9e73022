"""``treeplex sweep``."""

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from effort import PATIENCE

from treeplex import Profile, load_game
from treeplex.cli import main
from treeplex.cli.application import check_command, run_command
from treeplex.cli.errors import CommandLineError

SETTINGS = """
command = "solve"
game = "kuhn"
problem = "rnr"
opponent = "uniform"

[grid]
p = { from = 0, to = 1, steps = 3 }
method = ["highs", "rational"]
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("sweep.toml").write_text(SETTINGS)
    return "sweep.toml"


def lines_of(folder: Path) -> list[dict]:
    file = folder / "results.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_a_sweep_is_computed_once_and_shown_as_often_as_one_likes(file, capsys):
    assert main(["sweep", file, "--out", "out", "--jobs", "1", "--json", "first.json"]) == 0
    shown = capsys.readouterr().out
    assert "p=0.5 method=rational" in shown
    assert "6 of 6 settings done" in shown
    kept = Path("out/results.jsonl").read_bytes()
    assert main(["sweep", file, "--out", "out", "--json", "-", "--plot", "p.svg", "--html", "p.html"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert Path("out/results.jsonl").read_bytes() == kept
    assert record["rows"] == json.loads(Path("first.json").read_text())["rows"]
    assert record["fixed"] == {"command": "solve", "game": "kuhn", "problem": "rnr", "opponent": "uniform"}
    assert record["varied"] == ["p", "method"]
    exact = [row["result"]["objective_exact"] for row in record["rows"]]
    assert exact == [None, "-1/18", None, "5/36", None, "1/2"]
    assert [row["result"]["objective"] for row in record["rows"]] == pytest.approx(
        [float(Fraction(text)) for text in exact[1::2] for _ in range(2)]
    )
    for row in record["rows"]:
        assert len(Profile.load(Path("out") / row["strategies"], load_game("kuhn"))) == 2
    assert (
        Path("out/results.csv").read_text().splitlines()[0].startswith("command,game,problem,opponent,p,method,failure")
    )
    page = Path("p.html").read_text()
    assert "treeplex sweep sweep.toml --out out" in page
    assert "rational" in page
    assert "<svg" in Path("p.svg").read_text()


def test_settings_are_listed_without_being_computed(file, capsys):
    assert main(["sweep", file, "--list"]) == 0
    shown = capsys.readouterr().out
    assert "6 settings" in shown
    assert shown.splitlines()[-1].split() == ["6", "1", "rational"]
    assert main(["sweep", file, "--list", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert len(record["settings"]) == 6
    assert record["settings"][2] == {
        "command": "solve", "game": "kuhn", "problem": "rnr", "opponent": "uniform", "p": 0.5, "method": "highs"
    }  # fmt: skip
    assert list(Path().iterdir()) == [Path(file)]


def test_a_setting_that_fails_is_kept_with_its_message(file, capsys):
    Path(file).write_text('command = "solve"\n[grid]\ngame = ["rps", "kuhn:cards=1"]')
    assert main(["sweep", file, "--out", "out", "--jobs", "1"]) == 1
    shown = capsys.readouterr()
    assert "kuhn: cards = 1; expected an integer from 2 to 1000" in shown.out
    assert "1 of 2 settings done, 1 failed" in shown.out
    assert main(["sweep", file, "--out", "out", "--jobs", "1", "--retry", "--html", "a.html"]) == 1
    assert [line["failure"] != "" for line in lines_of(Path("out"))] == [False, True, True]
    assert "cards = 1" in Path("a.html").read_text()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 'sweep.toml: command is missing, expected a name such as "solve"'),
        ("command = 3", "sweep.toml: command is 3, expected a name"),
        ('command = "slove"', "sweep.toml: unknown command 'slove' (did you mean solve?); expected one of solve,"),
        ('command = "export"\ngame = "kuhn"', "unknown command 'export'"),
        ('command = "solve"', "sweep.toml: missing argument 'GAME'"),
        ('command = "solve"\ngame = "kuhn"\ntol = "few"', "sweep.toml: invalid value for '--tol': few, expected"),
        (
            'command = "solve"\ngame = "kuhn"\n[grid]\nmetod = ["cfr"]',
            "metod: solve has no such option (did you mean method?)",
        ),
        (
            'command = "solve"\ngame = "kuhn"\nout = "a.npz"',
            "sweep.toml: out: leave it out, because a sweep stores the results",
        ),
        (
            'command = "solve"\ngame = ["kuhn", "rps"]',
            "game is ['kuhn', 'rps'], expected one value; put a list of values",
        ),
        ('command = "solve"\ngame = "kuhn"\nfrontier = 3', "frontier is 3, expected true or false"),
        ('command = "solve"\ngame = "kuhn"\n[grid]\np = 1', "grid.p is 1, expected several values"),
        (
            'command = "solve"\ngame = "kuhn"\n[grid]\ntol = [1, -1]',
            "sweep.toml, tol=-1: invalid value for '--tol': -1, exp",
        ),
    ],
)
def test_mistakes_in_the_file_are_one_line_before_anything_is_computed(text, expected, file, capsys):
    Path(file).write_text(text)
    assert main(["sweep", file, "--out", "out"]) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], "--out is missing, expected a folder for the results"),
        (["--out", "out", "--backend", "slurm"], "--backend slurm: expected one of processes, dask, ray"),
        (["--out", "out", "--address", "here"], "--address here requires --backend dask or ray"),
        (["--out", "out", "--y", "value"], "--x and --y choose the axes of --plot and --html"),
        (["--out", "out", "--plot", "a.svg", "--x", "q"], "--x q: expected one of the varied settings: p, method"),
        (["--out", "sweep.toml"], "--out: expected a folder, got the file 'sweep.toml'"),
        (["--out", "out", "--jobs", "0"], "invalid value for '--jobs': 0, expected"),
    ],
)
def test_mistakes_on_the_command_line_are_one_line(words, expected, file, capsys):
    assert main(["sweep", file, *words]) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.count("\n") == 1
    assert not shown.out


def test_every_command_with_a_result_can_be_swept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    main(["play", "kuhn", "--seat0", "uniform", "--seat1", "uniform", "--games", "2000", "--out", "log.jsonl"])
    swept = {
        "info": {"game": "kuhn"},
        "solve": {"game": "kuhn", "problem": "constrained", "constrain": ["0/J_:b >= 1/2", "0/K_:b >= 1/2"]},
        "style": {"game": "kuhn", "target": ["0/K_:b >= 1/2"], "max-loss": 0.01},
        "sample": {"game": "kuhn", "max_iterations": 100, "seed": 3},
        "fit": {"log": "log.jsonl", "game": "kuhn", "seat": 0},
        "evaluate": {"game": "kuhn", "strategy": ["uniform"]},
        "reproduce": {"list": True},
    }
    found = {name: run_command(name, **setting) for name, setting in swept.items()}
    assert found["solve"].result["multipliers"].keys() == {"0/J_:b >= 1/2", "0/K_:b >= 1/2"}
    assert [name for name, one in found.items() if one.strategies] == ["solve", "style", "sample", "fit"]
    assert found["sample"].suffix == ".jsonl"
    assert found["evaluate"].result["players"] == [0, 1]
    frontier = run_command("solve", game="kuhn", problem="rnr", opponent="uniform", frontier=True)
    assert frontier.result["frontier"]
    assert frontier.strategies is None


def test_a_time_limit_of_a_setting_ends_that_setting_alone(tmp_path, monkeypatch, capsys, clock):
    monkeypatch.chdir(tmp_path)
    clock.reader = "iteration.py"
    Path("s.toml").write_text(
        'command = "solve"\ngame = "leduc"\nmethod = "cfr"\ntol = 0\nmax_iterations = 1e9\n[grid]\ntime_limit=[0, 30]'
    )
    main(["sweep", "s.toml", "--out", "out", "--jobs", "1", "--json", "-"])
    ended, reached = json.loads(capsys.readouterr().out)["rows"]
    assert ended["failure"].startswith("the time limit") or ended["result"]["status"] == "time_limit"
    assert reached["result"]["status"] == "time_limit"


def test_commands_and_their_options_are_checked_by_name():
    check_command("solve", game="kuhn", max_iterations=10)
    with pytest.raises(CommandLineError, match="unknown command 'sweep'"):
        run_command("sweep", file="a.toml")
    with pytest.raises(CommandLineError, match="frontier is"):
        run_command("solve", game="kuhn", frontier="yes")


# Kills

SLOW = """
command = "solve"
game = "leduc"
method = "es-mccfr"
tol = 0
max_iterations = 50000
[grid]
seed = [0, 1, 2, 3, 4, 5, 6, 7]
"""


def begun(*words: str) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "treeplex", "sweep", "sweep.toml", "--out", "out", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(count: int, process: subprocess.Popen, folder: Path) -> None:
    end = time.monotonic() + PATIENCE
    while len(lines_of_whole(folder)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def lines_of_whole(folder: Path) -> list[bytes]:
    file = folder / "results.jsonl"
    return file.read_bytes().split(b"\n")[:-1] if file.exists() else []


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "kill") or sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_after_a_kill_the_rest_is_computed_and_nothing_twice(jobs, number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(SLOW)
    process = begun("--jobs", jobs)
    wait_for(2, process, Path("out"))
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), out + err
    before = b"\n".join(lines_of_whole(Path("out")))
    assert len(before.split(b"\n")) < 8
    process = begun("--jobs", jobs, "--json", "found.json")
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, out + err
    after = Path("out/results.jsonl").read_bytes()
    assert after.startswith(before)
    keys = [json.loads(line)["key"] for line in after.splitlines()]
    assert len(keys) == len(set(keys)) == 8
    rows = json.loads(Path("found.json").read_text())["rows"]
    assert [row["setting"]["seed"] for row in rows] == list(range(8))
    assert {row["result"]["iterations"] for row in rows} == {50_000}
    assert sorted(path.stem for path in Path("out/strategies").iterdir()) == sorted(keys)
