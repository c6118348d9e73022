"""Run commands in this process: the JSON that they print, or the line with which they refuse."""

import json

import pytest

from treeplex.cli import main


def read_json(text: str) -> dict:
    """Return a JSON object, in which NaN and Infinity do not appear."""
    record = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert isinstance(record, dict)
    return record


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0, quiet: bool = True) -> dict:
    """Run a command with ``--json -`` and return what it prints; if `quiet`, it says nothing else."""
    capsys.readouterr()
    assert main([*arguments, "--json", "-"]) == status
    shown = capsys.readouterr()
    assert not quiet or shown.err == ""
    return read_json(shown.out)


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 2) -> str:
    """Run a command that refuses, and return the one line that it says, without "error: "."""
    capsys.readouterr()
    assert main(list(arguments)) == status
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err.removeprefix("error: ").strip()
