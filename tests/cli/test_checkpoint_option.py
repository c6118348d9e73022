"""``--checkpoint`` and ``--resume``, stated once for all commands that run long."""

import inspect
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from effort import PATIENCE, thorough

from treeplex.cli import main
from treeplex.cli.application import COMMANDS, function_of
from treeplex.cli.options import Checkpointing, with_groups

SOLVE = ("solve", "kuhn", "--method", "cfr", "--tol", "0")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def record(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> dict[str, object]:
    capsys.readouterr()
    assert main([*arguments, "--json", "-"]) == status
    found = json.loads(capsys.readouterr().out)
    (found.get("history") or {}).pop("seconds", None)
    return {name: value for name, value in found.items() if "seconds" not in name and name != "time"}


@pytest.mark.parametrize(
    ("command", "part", "whole"),
    [
        (SOLVE, ("--max-iterations", "300"), ("--max-iterations", "500")),
        (("sample", "kuhn"), ("--max-iterations", "300"), ("--max-iterations", "500")),
        (("fit", "log", "--game", "kuhn", "--seat", "0", "--method", "ccfr", "--tol", "0"),
         ("--max-iterations", "300"), ("--max-iterations", "500")),
        (("style", "kuhn", "--target", "b@first >= 0.3", "--max-loss", "0.02", "--method", "pref-cfr"), (), ()),
    ],
    ids=lambda each: each[0] if each and not each[0].startswith("-") else "",
)  # fmt: skip
def test_a_command_goes_on(
    command: tuple[str, ...], part: tuple[str, ...], whole: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["play", "kuhn", "--seat0", "uniform", "--seat1", "uniform", "--games", "500", "--out", "log"])
    expected = record(capsys, *command, *whole)
    assert record(capsys, *command, *part, "--checkpoint", "run:every=10s") != {}
    assert record(capsys, *command, *whole, "--resume", "run") == expected
    Path("run").unlink()
    Path("run.previous").unlink(missing_ok=True)
    again = ("--checkpoint", "run", "--resume", "run")  # begins, and goes on
    assert record(capsys, *command, *part, *again) != {}
    assert record(capsys, *command, *whole, *again) == expected


def test_checks_go_on(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from treeplex.validation import Case, Suite, bank, papers

    figure = papers.CCFRFigure2a(2, (0.1, 0.5), 1_000)
    monkeypatch.setattr(papers.CCFRFigure2a, "quick", classmethod(lambda cls: figure))
    cases = Case("kuhn", "highs", 1e-9, "exact"), Case("kuhn", "pcfr+", 1e-4)
    monkeypatch.setitem(bank.SUITES._things, "quick", Suite("two", "an example", cases))
    # So few iterations leave claims of the paper open.
    for status, command in enumerate((("validate",), ("reproduce", "ccfr-figure-2a"))):
        first = record(capsys, *command, "--checkpoint", command[0], status=status)
        assert record(capsys, *command, "--resume", command[0], status=status) == first


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*SOLVE, "--resume", "none"), "--resume: none: no such file; --checkpoint writes one"),
        ((*SOLVE, "--checkpoint", "a:every=x"), "--checkpoint a:every=x: every = x, expected a number of seconds"),
        ((*SOLVE, "--checkpoint", "a:every=-1"), "--checkpoint a:every=-1: every = -1, expected a number of seconds"),
        ((*SOLVE, "--checkpoint", "a", "--resume", "b"), "--checkpoint a and --resume b name two files"),
        ((*SOLVE, "--checkpoint", "none/a"), "--checkpoint: cannot write 'none/a': no such file or directory"),
        ((*SOLVE, "--checkpoint", "a", "--json", "a"), "--json and --checkpoint name the same file, a"),
        (("solve", "kuhn", "--checkpoint", "a"), "highs does not support checkpoints, expected an iterative method"),
        (("style", "kuhn", "--target", "b@first >= 0.3", "--checkpoint", "a"), "--checkpoint is for --method pref-cfr"),
        (("reproduce", "--list", "--checkpoint", "a"), "--list (or no NAME) only lists figures and tables"),
    ],
)
def test_what_makes_no_sense_is_one_line(
    arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(list(arguments)) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err
    assert not list(Path.cwd().iterdir())


def test_a_run_that_is_there_is_refused_and_a_damaged_one_noted(capsys: pytest.CaptureFixture[str]) -> None:
    for end in ("100", "200"):
        assert main([*SOLVE, "--max-iterations", end, "--checkpoint", "run", "--resume", "run"]) == 0
    capsys.readouterr()
    assert main([*SOLVE, "--checkpoint", "run"]) == 2
    assert "run already contains a run: resume it (--resume, or resume=True)" in capsys.readouterr().err
    Path("run").write_bytes(b"")
    assert main([*SOLVE, "--max-iterations", "200", "--resume", "run"]) == 0
    assert capsys.readouterr().err.startswith("note: run is not a checkpoint, or is damaged: ")


def test_the_file_and_the_seconds_are_told_apart() -> None:
    assert Checkpointing().read() is None
    assert Checkpointing("C:\\runs\\a:every=5s").files == {"checkpoint": "C:\\runs\\a", "resume": None}
    found = Checkpointing("a:b:every=2.5", "a:b").read()
    assert found is not None
    assert (found.path, found.every, found.resume) == ("a:b", 2.5, True)


def test_options_are_the_same_everywhere() -> None:
    found = {name: inspect.signature(with_groups(function_of(name))).parameters for name in COMMANDS}
    takers = {name: options for name, options in found.items() if "checkpoint" in options}
    assert set(takers) == {
        *("solve", "style", "sample", "fit", "tune", "portfolio", "evaluate", "validate", "reproduce")
    }
    for name in ("checkpoint", "resume"):
        assert len({repr(options[name].annotation) for options in takers.values()}) == 1


@thorough
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_command_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    command = (
        "solve",
        "leduc",
        "--method",
        "cfr+",
        "--tol",
        "0",
        "--max-iterations",
        "20000",
        "--checkpoint",
        "run:every=0.2",
    )
    with subprocess.Popen([sys.executable, "-P", "-m", "treeplex", *command]) as running:
        deadline = time.monotonic() + PATIENCE
        while not Path("run").exists():
            assert time.monotonic() < deadline
            assert running.poll() is None
            time.sleep(0.01)
        os.kill(running.pid, signal.SIGKILL)
    assert record(capsys, *command, "--resume", "run") == record(capsys, *command[:-2])
