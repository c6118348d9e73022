"""What ``--help`` shows, and ``treeplex problems``, ``methods`` and ``games`` of one name."""

import json
import re
import shlex
from pathlib import Path

import pytest
from command_line import json_of

from treeplex import load_game
from treeplex.cli import main
from treeplex.cli.application import COMMANDS, GROUPS, application
from treeplex.models.games import GAMES
from treeplex.models.problems import PROBLEMS
from treeplex.solvers.methods import METHODS, find_method, method_parameters, methods_for

_PATROL = """map = "roads.csv"
steps = 3
[[units]]
base = "b"
[[attackers]]
entries = ["a"]
goals = { c = 1.0 }
"""


@pytest.mark.parametrize("command", ["solve", *COMMANDS, "fit"])
def test_help_fits_a_screen(command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What it leaves out is under ``--help-all``, to which it points."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main([*command.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 60
    assert max(map(len, lines)) <= 80
    assert main([*command.split(), "--help-all"]) == 0
    everything = capsys.readouterr().out
    options = {option for each in application(command).commands[command].params for option in each.opts}
    assert {option for option in options if option.startswith("--")} <= set(re.findall(r"--[\w-]+", everything))
    assert (lines == everything.splitlines()) == (f"  treeplex {command} --help-all  Show all options." not in lines)


def test_help_of_solve_shows_the_twelve_options_that_everyone_needs(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["solve", "--help"], ["solve", "kuhn", "--updates", "--help"], ["--", "solve", "-h"]):
        assert main(arguments) == 0
        shown = re.findall(r"^  (--[\w-]+)", capsys.readouterr().out, re.MULTILINE)
        limits, files = ["--tol", "--max-iterations", "--time-limit"], ["--out", "--plot", "--html", "--json"]
        assert shown == ["--problem", "--opponent", "--player", "--constrain", "--method", *limits, *files]


def test_help_groups_commands_by_what_they_are_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert re.findall(r"^(\w.*):$", shown, re.MULTILINE) == [*GROUPS, "More"]
    assert re.findall(r"^  (\w+(?: \w+)?)  +[A-Z]", shown, re.MULTILINE) == list(COMMANDS)


# One problem, method or game


@pytest.mark.parametrize("name", [*PROBLEMS, "rnr"])
def test_examples_of_problems_run(
    name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (record,) = json_of(capsys, "problems", name)["problems"]
    assert main(["problems", name]) == 0
    shown = capsys.readouterr().out
    assert f"{record['example']}\n" in shown
    for each in record["parameters"]:
        default = "required" if each["required"] else each["default_text"]
        assert re.search(
            rf"^{re.escape(each['usage'])} +{each['type']} +{re.escape(default.split()[0])} .*\w", shown, re.MULTILINE
        )
    assert record["methods"] == methods_for(PROBLEMS[name].always_needs)
    program, *words = shlex.split(record["example"])
    assert (program, words[0]) == ("treeplex", "solve")
    if words[1] == "patrol.toml":
        Path("patrol.toml").write_text(_PATROL)
        Path("roads.csv").write_text("from,to\na,b\nb,c\nc,d\nd,a\n")
    if name != "epsilon-nash":  # a loop to compile
        assert main([*words, "--json", "-"]) == 0
        assert json.loads(capsys.readouterr().out)["problem"] == name


@pytest.mark.parametrize("name", ["dcfr", *METHODS, "lp"])
def test_examples_of_methods_name_a_method_and_its_defaults(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = json_of(capsys, "methods", name)["methods"]
    text = shlex.split(record["example"])[-1] if "--method" in record["example"] else name
    assert find_method(text) == find_method(name)
    if name == "dcfr":
        assert text == "dcfr:alpha=1.5,beta=0.0"
    assert {each["name"] for each in record["parameters"]} <= {each.name for each in method_parameters(name)}


@pytest.mark.parametrize("name", ["leduc", *GAMES, "coin"])
def test_examples_of_games_are_the_games(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (record,) = json_of(capsys, "games", name)["games"]
    assert load_game(record["example"].removeprefix("treeplex solve ")).parameters == load_game(name).parameters


@pytest.mark.parametrize(
    ("arguments", "meant"), [("problems rrn", "rnr"), ("methods dcrf", "dcfr"), ("games ledcu", "leduc")]
)
def test_names_that_are_misspelt_are_told_what_was_meant(
    arguments: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments.split()) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"(did you mean {meant}?)" in shown.err
