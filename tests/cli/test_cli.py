"""The command line: what it prints where, its JSON, its files and its exit statuses."""

import importlib
import math
import os
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import pytest
import typer
from clocks import Clock
from command_line import json_of, read_json
from effort import PATIENCE, either, few, thorough

import treeplex
from treeplex import Profile, exploitability, load_game
from treeplex.cli import main
from treeplex.cli.application import COMMANDS, UsageError, function_of
from treeplex.cli.errors import exit_status
from treeplex.cli.options import with_groups
from treeplex.models.problems import PROBLEMS
from treeplex.seqform.interchange import write_json
from treeplex.solvers import method_names
from treeplex.solvers.outcome import Status

solve_command = importlib.import_module("treeplex.cli.solve")
bank = importlib.import_module("treeplex.validation.bank")
suites = importlib.import_module("treeplex.validation.suites")

SOLVE_KEYS = {
    *("schema", "version", "game", "parameters", "problem", "method", "player", "status", "message", "objective"),
    *("value", "value_exact", "lower", "upper", "gap", "exploitability", "gain", "opponent_value", "game_value"),
    *("violation", "violations", "multipliers", "steps", "iterations", "seconds", "build_seconds", "sizes"),
}
ROW_KEYS = {
    *(
        "game",
        "problem",
        "method",
        "value",
        "exact_value",
        "difference",
        "error",
        "failure",
        "exploitability",
        "violation",
        "tolerance",
    ),
    *("iterations", "seconds", "passed", "question"),
}


def process(*arguments: str, **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "treeplex", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False, **options
    )


# Help and version


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr()
    assert all(command in shown.out for command in ("games", "info", "solve", "validate"))
    assert shown.err == ""
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"treeplex {treeplex.__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_lists_a_command_by_the_first_sentence_of_its_own(command: str) -> None:
    own = str(function_of(command).__doc__).partition("\n")[0]
    assert COMMANDS[command][1] == own


def test_a_command_after_two_dashes_is_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not what the first argument names, and so only listed until it is found to be what runs."""
    assert main(["--", "info", "kuhn", "--public"]) == 0
    assert "4 public states" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["games", "info", "solve", "validate", "reproduce"])
def test_help_of_each_command(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["info"], ["solve"], ["validate"], ["reproduce"]])
def test_help_shows_no_types(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*arguments, "--help"]) == 0
    shown = capsys.readouterr().out
    assert not any(name in shown for name in ("<bool>", "<str>", "BOOLEAN", "TEXT"))


def test_help_names_every_problem_and_method(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["solve", "--help-all"]) == 0
    words = set(re.findall(r"[\w+-]+", capsys.readouterr().out))
    assert {*PROBLEMS, *method_names()} <= words


@dataclass(frozen=True)
class Range:
    """A group of options, of which one is required."""

    upper: Annotated[int, typer.Option(metavar="N")]
    lower: Annotated[int, typer.Option("--from", metavar="N")] = 3


def test_a_group_of_options_stands_for_its_fields() -> None:
    def count(name: Annotated[str, typer.Argument()], *, lower: Range, twice: bool = False) -> tuple[object, ...]:
        return name, lower, twice

    app = typer.Typer()
    app.command()(with_groups(count))
    command = typer.main.get_command(app)
    assert [each.name for each in command.params][:4] == ["name", "upper", "lower", "twice"]
    for arguments, found in (
        (["a", "--upper", "5"], ("a", Range(5), False)),
        (["--from", "4", "--twice", "--upper", "5", "b"], ("b", Range(5, 4), True)),
    ):
        assert command.main(arguments, standalone_mode=False) == found
    with pytest.raises(UsageError, match="upper"):
        command.main(["a"], standalone_mode=False)


@pytest.mark.parametrize("columns", ["0", "1", "7", "99999999999", "9" * 5000, "\N{SUPERSCRIPT TWO}"])
@pytest.mark.parametrize("arguments", ["--help", "games", "info kuhn --infosets", "solve rps"])
def test_no_width_of_a_terminal_is_too_small_or_too_large(
    arguments: str, columns: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert main(arguments.split()) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert len(re.findall(r"\w", shown.out)) > 100
    assert max(map(len, shown.out.splitlines())) <= 1000


# Games and info


def test_games_lists_the_registry(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "games")
    assert [game["name"] for game in record["games"]] == [family.name for family in treeplex.families()]
    leduc = next(game for game in record["games"] if game["name"] == "leduc")
    assert [parameter["name"] for parameter in leduc["parameters"]] == [
        "players",
        "ranks",
        "suits",
        "merge_suits",
        "bet1",
        "bet2",
        "raises",
        "ties",
    ]
    assert {parameter["name"]: parameter["default"] for parameter in leduc["parameters"]}["merge_suits"] is False
    assert "Southey" in leduc["citation"]
    assert main(["games"]) == 0
    shown = capsys.readouterr().out
    assert "cards=players+1" in shown
    assert "merge_suits=false" in shown
    assert not [line for line in shown.splitlines() if line != line.rstrip()]


def test_info_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "info", "kuhn")
    assert record["sequences"] == [13, 13]
    assert record["infosets"] == [6, 6]
    assert record["levels"] == [2, 1]
    assert (record["players"], record["leaves"], record["nnz"], record["zero_sum"]) == (2, 30, 30, True)
    assert Fraction(record["value_exact"]) == Fraction(-1, 18)
    assert math.isclose(record["value"], -1 / 18)
    assert record["build_seconds"] >= 0.0
    assert "infoset_list" not in record


def test_long_parameters_wrap(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    spec = "leduc:ranks=4,suits=3,merge_suits=true,bet1=1,bet2=3,raises=1"
    for arguments in (["info", spec], ["solve", spec]):
        assert main(arguments) == 0
        shown = capsys.readouterr().out
        assert "…" not in shown
        assert max(map(len, shown.splitlines())) <= 60
        assert spec in "".join(line.split("  ")[-1].strip() for line in shown.splitlines())
    assert main(["info", "leduc"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["parameters", "players=2,", "ranks=3,", "suits=2,"]
    assert lines[2].split() == ["merge_suits=false,", "bet1=2,", "bet2=4,", "raises=2,"]
    assert lines[3].split() == ["ties=split"]


@pytest.mark.parametrize(
    ("spec", "leaves", "histories"),
    [
        # By hand: (n!)² leaves, and the sum over k < n - 1 of (n!/(n-k)!)² (1 + n - k) histories before them.
        ("goofspiel:cards=7", 25_401_600, 47_506_635),
        ("goofspiel:cards=9", 131_681_894_400, 246_274_396_579),
    ],
)
def test_info_has_the_sizes_of_a_large_game_by_its_formula(
    spec: str, leaves: int, histories: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeplex.seqform.sequence_form.enumerate_game", None)  # nothing is walked
    record = json_of(capsys, "info", spec)
    assert (record["leaves"], record["nodes"]) == (leaves, histories)
    assert record["fingerprint"] is record["build_seconds"] is None
    assert record["memory"].endswith("B")
    assert main(["info", spec]) == 0
    shown = capsys.readouterr().out
    assert f"{histories:,}, {leaves:,} of them leaves" in shown
    assert "the sizes come from a formula" in shown


@pytest.mark.parametrize(
    "spec",
    [
        "goofspiel:cards=4",
        "kuhn:players=3",
        "leduc:ranks=3",
        "liars_dice:sides=3",
        "repeated_rps:rounds=2",
        "transit:width=2,horizon=2,form=histories",
    ],
)
def test_info_says_the_same_by_formula_and_by_the_walk(
    spec: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = json_of(capsys, "info", spec)
    monkeypatch.setattr("treeplex.cli.info._BUILT", 0)
    known = json_of(capsys, "info", spec)
    assert walked["fingerprint"] != known["fingerprint"] is None
    for key in ("nodes", "leaves", "sequences", "infosets", "players", "parameters", "value_exact", "action_words"):
        assert known[key] == walked[key], key
    assert set(known) == set(walked) | {"memory"}


def test_info_says_how_far_a_count_without_a_formula_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("treeplex.cli.info._FIRST_WORD", 0.0)
    path = tmp_path / "leduc.json"
    write_json(load_game("leduc"), path)
    assert main(["info", str(path)]) == 0
    assert "leduc.json: still counting, " in capsys.readouterr().err


def test_info_of_three_players(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "info", "kuhn:players=3")
    assert record["sequences"] == [33, 33, 33]
    assert record["nnz"] is None
    assert record["value"] is None
    assert main(["info", "kuhn:players=3"]) == 0
    assert "not known" in capsys.readouterr().out


def test_info_shows_a_few_of_many_functionals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "preflop:stack=10,continuations=1", "--json", str(tmp_path / "info.json")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) < 25
    [first] = [line for line in lines if line.startswith("functionals")]
    assert "in all, listed by --json -, such as fold (player 0): how often sb" in first
    functionals = read_json((tmp_path / "info.json").read_text())["functionals"]
    assert f"functionals     {len(functionals)} in all" in first
    # The big blind raises after a call, and what it chooses at the flop is no bet.
    assert "call, raise" in functionals
    assert not [name for name in functionals if name.endswith(", bet")]


def test_info_names_infosets_as_constraints_do(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "info", "kuhn", "--infosets")
    first, second = record["infoset_list"]
    assert {one["infoset"] for one in first} == {"0/J_", "0/Q_", "0/K_", "0/J_pb", "0/Q_pb", "0/K_pb"}
    assert next(one for one in first if one["infoset"] == "0/J_pb") == {
        "infoset": "0/J_pb",
        "actions": ["p", "b"],
        "parent": "0/J_:p",
    }
    assert all(one["parent"] is None for one in second)
    assert main(["info", "kuhn", "--infosets"]) == 0
    assert any(line.split() == ["0/J_pb", "p", "b", "0/J_:p"] for line in capsys.readouterr().out.splitlines())


# Solve


@pytest.mark.parametrize(
    "method", ["highs", "highs-ipm", "cvxpy", "cfr", "cfr+", "dcfr", "pcfr+", "es-mccfr", "os-mccfr"]
)
def test_solve_in_json(method: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "solve", "kuhn", "--problem", "nash", "--method", method, "--tol", "1e-3")
    assert set(record) >= SOLVE_KEYS
    assert record["schema"] == 1
    assert (record["game"], record["problem"], record["method"]) == ("kuhn", "nash", method)
    assert record["player"] is None
    assert record["status"] in {"optimal", "converged"}
    assert abs(record["value"] + 1 / 18) <= 2e-3
    assert record["lower"] <= -1 / 18 + 1e-9
    assert record["upper"] >= -1 / 18 - 1e-9
    assert math.isclose(record["gap"], 2 * record["exploitability"], abs_tol=1e-12)
    assert record["exploitability"] <= 1e-3
    assert record["sizes"] == {"sequences": [13, 13], "infosets": [6, 6], "leaves": 30, "nnz": 30}


def test_solve_with_defaults_is_exact(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "solve", "kuhn")
    assert (record["problem"], record["method"], record["status"]) == ("nash", "highs", "optimal")


def test_solve_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "kuhn", "--method", "dcfr", "--tol", "1e-3"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    for words in ("nash on kuhn", "converged", "proven bounds", "exploitability", "at most the tolerance of 0.001"):
        assert words in shown.out


def test_values_of_three_players_are_a_list(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("solve", "kuhn:players=3", "--tol", "1e-3")
    record = json_of(capsys, *arguments)
    assert record["method"] == "cfr+"
    assert len(record["value"]) == 3
    assert record["lower"] is None
    assert main(list(arguments)) == 0
    assert "values" in capsys.readouterr().out


def test_tolerance_zero_runs_exactly_the_iterations_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("solve", "kuhn", "--method", "cfr", "--tol", "0", "--max-iterations", "17")
    record = json_of(capsys, *arguments)
    assert record["iterations"] == 17
    assert record["status"] == "iteration_limit"
    assert record["message"] == "all requested iterations have been run"
    assert main(list(arguments)) == 0
    shown = capsys.readouterr().out
    assert "all requested iterations have been run" in shown
    assert "tolerance" not in shown


def test_exact_method_below_round_off(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "kuhn", "--tol", "1e-99"]) == 0
    shown = capsys.readouterr().out
    error = next(line for line in shown.splitlines() if line.startswith("exploitability"))
    assert error.endswith(("at the level of round-off", "at most the tolerance of 1e-99"))
    assert "above" not in shown


def test_advice_names_options_of_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("solve", "kuhn", "--method", "cfr", "--tol", "1e-9", "--max-iterations", "17")
    advice = "raise --max-iterations, loosen --tol or try another method"
    assert advice in json_of(capsys, *arguments)["message"]
    assert main(list(arguments)) == 0
    assert advice in capsys.readouterr().out


def test_limits_are_results(capsys: pytest.CaptureFixture[str], clock: Clock) -> None:
    clock.reader = "iteration.py"
    arguments = ("solve", "leduc", "--method", "cfr", "--tol", "1e-9", "--time-limit", "20")
    assert json_of(capsys, *arguments)["status"] == "time_limit"


def test_options_reach_the_method(capsys: pytest.CaptureFixture[str]) -> None:
    plain = ("solve", "kuhn", "--method", "cfr+", "--tol", "0", "--max-iterations", "50")
    seen = {json_of(capsys, *plain)["exploitability"]}
    for option in (("--updates", "simultaneous"), ("--averaging", "uniform"), ("--iterate", "last")):
        seen.add(json_of(capsys, *plain, *option)["exploitability"])
    assert len(seen) == 4


def test_profile_is_written_and_read_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, record_file = tmp_path / "profile.npz", tmp_path / "result.json"
    assert main(["solve", "kuhn", "--out", str(out), "--json", str(record_file)]) == 0
    shown = capsys.readouterr().out
    assert "profile.npz" in shown
    record = read_json(record_file.read_text(encoding="utf-8"))
    game = load_game("kuhn")
    assert math.isclose(exploitability(game, Profile.load(out, game)), record["exploitability"], abs_tol=1e-9)
    first = ("--max-iterations", "1", "--tol", "0")
    cold = json_of(capsys, "solve", "kuhn", "--method", "cfr", *first)
    warm = json_of(capsys, "solve", "kuhn", "--method", "cfr", *first, "--start", str(out))
    assert warm["exploitability"] < cold["exploitability"] / 100
    again = ("--method", "cfr", "--tol", "1e-4", "--start", str(out), "--out", str(out))
    assert main(["solve", "kuhn", *again]) == 0


def test_result_that_proves_too_little_exits_1(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "solve", "kuhn", "--method", "highs-pdlp", "--tol", "1e-13", status=1)
    assert record["status"] == "uncertified"


def test_exit_status_of_every_status() -> None:
    failing = {Status.INFEASIBLE, Status.UNBOUNDED, Status.UNCERTIFIED}
    for status in Status:
        expected = 1 if status in failing else 130 if status is Status.INTERRUPTED else 0
        assert exit_status(status) == expected


# Bad input

BAD_INPUT = {
    "unknown command": (["slove", "kuhn"], "did you mean solve?"),
    "unknown option": (["solve", "kuhn", "--methd", "cfr"], "no such option: --methd"),
    "unknown option before the command": (["--fast", "solve", "kuhn"], "no such option: --fast"),
    "no game": (["solve"], "missing argument 'GAME'"),
    "two games": (["solve", "kuhn", "leduc"], "unexpected extra argument"),
    "option without value": (
        ["solve", "kuhn", "--start"],
        "--start: the value is missing, expected FILE (see treeplex",
    ),
    "JSON without a file": (
        ["solve", "kuhn", "--json"],
        "--json: the value is missing, expected FILE, or - for standard output (see treeplex solve --help)",
    ),
    "profile to standard output": (
        ["solve", "kuhn", "--out", "-"],
        "--out: a profile is binary and cannot be written to",
    ),
    "word for a number": (["solve", "kuhn", "--tol", "small"], "small, expected a number of at least 0"),
    "negative number": (["solve", "kuhn", "--tol", "-1e-3"], "expected a number of at least 0"),
    "NaN": (["solve", "kuhn", "--tol", "nan"], "expected a number of at least 0"),
    "infinity": (["solve", "kuhn", "--time-limit", "inf"], "expected a number of seconds of at least 0, such as 60"),
    "broken count": (["solve", "kuhn", "--max-iterations", "1.5"], "expected a whole number"),
    "negative count": (["solve", "kuhn", "--max-iterations", "-5"], "expected a whole number"),
    "huge count": (["solve", "kuhn", "--max-iterations", "9" * 400], "expected a whole number"),
    "bad seed": (["solve", "kuhn", "--seed", "x"], "expected a whole number"),
    "unknown game": (["solve", "kuhm"], "did you mean kuhn?"),
    "unknown game in info": (["info", "chess"], "unknown game 'chess'"),
    "unknown parameter": (["info", "kuhn:card=3"], "did you mean cards?"),
    "bad parameter": (["info", "leduc:ranks=many"], "expected an integer"),
    "game of two lines": (["info", "two\nlines\x1b[31m"], "unknown game"),
    "unknown problem": (["solve", "kuhn", "--problem", "nahs"], "did you mean nash?"),
    "problem in capitals": (["solve", "kuhn", "--problem", "NASH"], "did you mean nash?"),
    "unknown method": (["solve", "kuhn", "--method", "cfrr"], "did you mean cfr"),
    "method in capitals": (["solve", "kuhn", "--method", "HiGHS"], "did you mean highs?"),
    "method with plus as a word": (["solve", "kuhn", "--method", "PCFR-plus"], "did you mean pcfr+?"),
    "option of another method": (
        ["solve", "kuhn", "--averaging", "linear"],
        "--averaging is for --method cfr, cfr+, dcfr, pcfr+, hs-dcfr, hs-pcfr+, pdcfr+, sapcfr+, restarted-cfr, ccfr,",
    ),
    "unknown updates": (
        ["solve", "kuhn", "--method", "cfr", "--updates", "both"],
        "--updates both: expected one of alternating",
    ),
    "unknown averaging": (["solve", "kuhn", "--method", "cfr", "--averaging", "best"], "expected one of uniform"),
    "unknown iterate": (["solve", "kuhn", "--method", "cfr", "--iterate", "first"], "expected one of average, last"),
    "player of a profile": (["solve", "kuhn", "--player", "0"], "--player is not for nash; leave it out"),
    "start of an exact method": (
        ["solve", "kuhn", "--start", "missing.npz"],
        "--start is for --method highs-ipm, highs-ipm-crossover, columns, double-oracle, rounding, cfr, cfr+, dcfr, ",
    ),
    "text as start": (
        ["solve", "kuhn", "--method", "cfr", "--start", __file__],
        f"--start: {__file__} is not a strategy file (.npz); --out writes one",
    ),
    "folder as start": (["solve", "kuhn", "--method", "cfr", "--start", "/"], "--start: cannot read '/'"),
    "unknown OpenSpiel game": (["solve", "openspiel:kuhn_pokr"], "OpenSpiel"),
    "game file": (["info", "kuhn.json"], "kuhn.json: no such file"),
    "game file in a folder": (["solve", "games/kuhn"], "games/kuhn: the name has no suffix; expected one of .efg"),
    "missing start": (["solve", "kuhn", "--method", "cfr", "--start", "missing.npz"], "no such file"),
    "three players exactly": (
        ["solve", "kuhn:players=3", "--method", "highs"],
        "method highs cannot solve nash with more than two players: use cfr",
    ),
    "three players without histories": (
        ["solve", "three_handed", "--method", "highs"],
        "use cfr, cfr+, dcfr, pcfr+, hs-dcfr, hs-pcfr+, pdcfr+, sapcfr+, cfvfp, pref-cfr\n",
    ),
    "unknown suite": (["validate", "--suite", "fll"], "did you mean full?"),
    "one file twice": (["solve", "kuhn", "--out", "same", "--json", "same"], "name the same file"),
    "empty file name": (["games", "--json", ""], "file name is empty"),
}


@pytest.mark.parametrize(("arguments", "words"), BAD_INPUT.values(), ids=BAD_INPUT)
def test_bad_input_is_one_line(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.endswith("\n")
    assert len(shown.err.splitlines()) == 1
    assert shown.err[:-1].isprintable()
    assert words in shown.err
    assert not list(tmp_path.iterdir())


UNWRITABLE = {
    "games": ["games", "--json"],
    "info": ["info", "kuhn", "--json"],
    "solve to JSON": ["solve", "kuhn", "--json"],
    "solve to a profile": ["solve", "kuhn", "--out"],
    "validate to JSON": ["validate", "--json"],
    "validate to HTML": ["validate", "--html"],
}


@pytest.mark.parametrize("place", ["", "missing/result", "folder/"])
@pytest.mark.parametrize("arguments", UNWRITABLE.values(), ids=UNWRITABLE)
def test_unwritable_files_are_noticed_before_anything_is_computed(
    arguments: list[str],
    place: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("treeplex.models.games.load_game", None)
    monkeypatch.setattr(suites, "run_suite", None)
    assert main([*arguments, f"{tmp_path}/{place}"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: {arguments[-1]}: cannot write ")
    assert len(shown.err.splitlines()) == 1


def test_bad_input_leaves_files_as_they_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tmp_path / "kept.json"
    kept.write_text("precious", encoding="utf-8")
    assert main(["solve", "kuhn", "--method", "none", "--json", str(kept)]) == 2
    assert kept.read_text(encoding="utf-8") == "precious"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_full_disk_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "kuhn", "--json", "/dev/full"]) == 1
    shown = capsys.readouterr()
    assert "proven bounds" in shown.out  # the answer is not lost with the file
    assert len(shown.err.splitlines()) == 1


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    resource = pytest.importorskip("resource")
    kept = tmp_path / "kept.json"
    kept.write_text("precious", encoding="utf-8")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        assert main(["games", "--json", str(kept)]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "--json: cannot write" in capsys.readouterr().err
    assert [path.read_text(encoding="utf-8") for path in tmp_path.iterdir()] == ["precious"]


def test_start_of_another_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "kuhn.npz"
    Profile.uniform(load_game("kuhn")).save(out)
    assert main(["solve", "rps", "--method", "cfr", "--start", str(out)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "another game" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_unexpected_error_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(spec: str) -> None:
        raise ZeroDivisionError("a bug\nof two lines")

    monkeypatch.setattr("treeplex.models.games.load_game", broken)
    monkeypatch.delenv("TREEPLEX_DEBUG", raising=False)
    assert main(["info", "kuhn"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "error: unexpected ZeroDivisionError: a bug of two lines (set TREEPLEX_DEBUG=1 to see where)\n"
    monkeypatch.setenv("TREEPLEX_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main(["info", "kuhn"])


# Interruption and closed pipes


def test_interrupted_solve_returns_the_best_so_far(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solving = treeplex.solve

    def impatient(*arguments, **options):
        return solving(*arguments, **options | {"callback": lambda report: True})

    monkeypatch.setattr("treeplex.solvers.solve", impatient)
    record = json_of(capsys, "solve", "leduc", "--method", "cfr", "--tol", "1e-12", status=130)
    assert record["status"] == "interrupted"
    assert record["exploitability"] > 0


def interrupted(*arguments, **options) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("place", ["treeplex.solvers.solve", "treeplex.seqform.sequence_form.SequenceForm.from_rules"])
def test_interrupted_before_there_are_strategies(
    place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, interrupted)
    assert main(["solve", "kuhn:cards=4", "--method", "cfr", "--json", "-"]) == 130
    shown = capsys.readouterr()
    record = read_json(shown.out)
    assert shown.err == "error: interrupted\n"
    assert set(record) >= SOLVE_KEYS | {"tolerance", "options"}
    assert (record["status"], record["method"], record["value"]) == ("interrupted", "cfr", None)
    assert (record["game"], record["parameters"]) == ("kuhn:cards=4", {"players": 2, "cards": 4})


def test_an_interrupted_run_that_is_kept_says_how_to_continue(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("treeplex.solvers.solve", interrupted)
    command = ["solve", "kuhn", "--method", "cfr", "--checkpoint", "a run"]
    assert main(command) == 130
    told = "error: interrupted\nnote: to continue, run: treeplex solve kuhn --method cfr --checkpoint 'a run'"
    assert capsys.readouterr().err == f"{told} --resume 'a run'\n"
    assert main([*command, "--resume", "a run"]) == 130
    assert capsys.readouterr().err == f"{told} --resume 'a run'\n"
    assert main(["solve", "kuhn", "--method", "cfr"]) == 130  # keeps nothing
    assert capsys.readouterr().err == "error: interrupted\n"


def test_keys_are_those_of_a_solution(capsys: pytest.CaptureFixture[str]) -> None:
    assert {"schema", "version", *solve_command.KEYS} == set(json_of(capsys, "solve", "kuhn"))


def test_interrupted_info_says_so(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeplex.models.games.load_game", interrupted)
    assert main(["info", "kuhn"]) == 130
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "error: interrupted\n")


INTERRUPTED_IMPORT = """
import signal, sys
from treeplex.cli import main

class Impatient:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:  # Ctrl-C, as this module is about to be imported
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

impatient = Impatient()
sys.meta_path.insert(0, impatient)
status = main(sys.argv[2:])
sys.exit("the module was not imported" if impatient in sys.meta_path else status)
"""


@thorough
@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored")
@pytest.mark.parametrize(
    ("module", "recorded"),
    [
        *[("numpy.linalg", True), ("scipy.sparse", True), ("highspy", True), ("treeplex.solvers.solve", True)],
        ("treeplex.cli.solve", False),  # before the arguments are read
    ],
)
def test_ctrl_c_while_the_library_is_imported(module: str, *, recorded: bool) -> None:
    # numpy fails when it is imported again after that.
    arguments = [sys.executable, "-P", "-c", INTERRUPTED_IMPORT, module, "solve", "kuhn", "--json", "-"]
    ended = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "error: interrupted\n")
    assert ("" if not ended.stdout else read_json(ended.stdout)["status"]) == ("interrupted" if recorded else "")


LONG = ("solve", "leduc", "--method", "cfr", "--tol", "0", "--time-limit", "1e6", "--checkpoint", "run:every=0.01")


def wait_till_it_iterates(process: "subprocess.Popen[str]", folder: Path) -> None:
    """Wait until a process that runs in a folder has written its checkpoint."""
    while process.poll() is None and not (folder / "run").exists():
        time.sleep(0.05)


@thorough
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
@pytest.mark.parametrize(
    ("name", "ignored"),
    [("SIGTERM", "trap '' INT;"), *either([], [("SIGTERM", ""), ("SIGHUP", ""), ("SIGQUIT", "")])],
)
def test_other_signals_write_what_ctrl_c_writes(name: str, ignored: str, tmp_path: Path) -> None:
    number = signal.Signals[name]
    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip(f"started with {name} ignored")
    arguments = [sys.executable, "-P", "-m", "treeplex", *LONG, "--json", "solve.json", "--out", "solve.npz"]
    shell = ["sh", "-c", f'{ignored} exec "$@"', "sh", *arguments]
    with subprocess.Popen(shell, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as running:
        wait_till_it_iterates(running, tmp_path)
        running.send_signal(number)
        running.send_signal(number)  # as timeout does
        running.communicate(timeout=PATIENCE)
    assert running.returncode == 128 + number
    record = read_json((tmp_path / "solve.json").read_text(encoding="utf-8"))
    assert (record["status"], record["exploitability"] > 0.0) == ("interrupted", True)
    assert Profile.load(tmp_path / "solve.npz", load_game("leduc"))


@thorough
@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("handler", ["SIG_DFL", "SIG_IGN"])
def test_a_terminal_that_is_closed_loses_nothing(tmp_path: Path, handler: str) -> None:
    """Whoever has hung up ends a command, unless it ignores that, as under nohup."""
    import pty

    leader, terminal = pty.openpty()
    script = (
        f"import fcntl, signal, termios; signal.signal(signal.SIGHUP, signal.{handler}); "
        "fcntl.ioctl(0, termios.TIOCSCTTY, 0); from treeplex.cli import main; main()"
    )
    limit = "1e6" if handler == "SIG_DFL" else "12"
    arguments = [sys.executable, "-P", "-c", script, *LONG, "--time-limit", limit, "--json", "solve.json"]
    with subprocess.Popen(
        arguments, cwd=tmp_path, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, text=True
    ) as running:
        os.close(terminal)
        while running.poll() is None and not (tmp_path / "run").exists():
            time.sleep(0.05)
            os.read(leader, 10_000) if select.select([leader], [], [], 0)[0] else None
        os.close(leader)
        running.wait(timeout=PATIENCE)
    status = read_json((tmp_path / "solve.json").read_text(encoding="utf-8"))["status"]
    assert status in (["interrupted"] if handler == "SIG_DFL" else ["iteration_limit", "time_limit"])


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to another process")
@pytest.mark.skipif(signal.getsignal(signal.SIGINT) is signal.SIG_IGN, reason="started with SIGINT ignored")
def test_ctrl_c_in_a_process(tmp_path: Path) -> None:
    arguments = (*LONG, "--json", "-")
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "treeplex", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as running:
        wait_till_it_iterates(running, tmp_path)
        running.send_signal(signal.SIGINT)
        shown, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    assert errors == ""
    assert read_json(shown)["status"] == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors of a shell")
def test_closed_streams() -> None:
    command = f"'{sys.executable}' -P -m treeplex solve kuhn --json -"
    ended = subprocess.run(["sh", "-c", f"{command} 2>&-"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert read_json(ended.stdout)["status"] == "optimal"
    ended = subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (2, "error: cannot write to standard output: it is closed\n")


@few
@pytest.mark.skipif(sys.platform == "win32", reason="pipes of a shell")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["games"], marks=thorough),
        ["info", "leduc", "--infosets"],
        pytest.param(["solve", "kuhn", "--json", "-"], marks=thorough),
    ],
)
def test_closed_pipe_is_quiet(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        command = [sys.executable, "-P", "-m", "treeplex", *arguments]
        ran = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", [["games"], pytest.param(["solve", "kuhn", "--json", "-"], marks=thorough)])
def test_full_standard_output_is_one_line(arguments: list[str]) -> None:
    command = [sys.executable, "-P", "-m", "treeplex", *arguments]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 2
    assert ran.stderr == "error: cannot write to standard output: no space left on device\n"


def test_bad_input_in_a_process() -> None:
    ran = process("solve", "kuhm")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert len(ran.stderr.splitlines()) == 1


def test_ascii_terminal_shows_everything() -> None:
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "COLUMNS": "80"}
    for arguments in (["games"], ["solve", "--help"]):
        ran = process(*arguments, env=environment)
        assert (ran.returncode, ran.stderr) == (0, "")


# Validate

SMALL = bank.Suite(
    "small",
    "for tests",
    (
        bank.Case("kuhn", "highs", 1e-9, "exact"),
        bank.Case("kuhn", "dcfr", 1e-3),
        bank.Case("kuhn", "cfr+", 1e-3, options={"updates": "simultaneous"}),
        bank.Case("kuhn:players=3", "pcfr+", 1e-3, "alone"),
    ),
)


@pytest.fixture
def small_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bank.SUITES._things, "quick", SMALL)


@pytest.fixture
def failing_suite(monkeypatch: pytest.MonkeyPatch) -> None:
    """A suite whose first row is held to a value that is not the game's."""
    monkeypatch.setattr(suites, "compare_with_value", compare_with_wrong_value)
    monkeypatch.setitem(bank.SUITES._things, "quick", SMALL)


compare_with_value = suites.compare_with_value


def compare_with_wrong_value(solution: object, value: float, tolerance: float, digits: float) -> object:
    return compare_with_value(solution, value + 0.01, tolerance, digits)


@pytest.mark.usefixtures("small_suite")
def test_validate_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "validate")
    assert set(record) >= {"passed", "suite", "rows"}
    assert record["passed"] is True
    assert [set(row) for row in record["rows"]] == [ROW_KEYS] * 4
    assert [row["method"] for row in record["rows"]] == ["highs", "dcfr", "cfr+ simultaneous", "pcfr+"]
    assert record["rows"][3]["exact_value"] is None


@pytest.mark.usefixtures("small_suite")
@pytest.mark.parametrize("columns", [80, 120])
def test_validate_prints_a_line_a_row(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["validate"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = shown.out.splitlines()
    assert max(map(len, lines)) <= columns
    assert sum(line.endswith(" pass") for line in lines) == 4
    assert lines[-1].startswith("4 rows on 2 games: all passed")


@pytest.mark.usefixtures("small_suite")
def test_interrupted_validate_keeps_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    solving, calls = suites.solve, []

    def impatient(*arguments, **options):
        calls.append(arguments)
        return interrupted() if len(calls) % 3 == 0 else solving(*arguments, **options)

    monkeypatch.setattr(suites, "solve", impatient)
    assert main(["validate", "--json", "-"]) == 130
    shown = capsys.readouterr()
    record = read_json(shown.out)
    assert shown.err == "error: interrupted\n"
    assert record["passed"] is False
    assert [row["passed"] for row in record["rows"]] == [True, True]
    page = tmp_path / "page.html"
    assert main(["validate", "--html", str(page)]) == 130
    assert "2 rows on 1 game: all passed, interrupted after" in capsys.readouterr().out
    assert '<span class="bad">2 rows' in page.read_text(encoding="utf-8")


@pytest.mark.usefixtures("failing_suite")
def test_failed_row_exits_1(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["validate", "--html", str(page)]) == 1
    shown = capsys.readouterr().out
    assert "FAIL" in shown
    assert "1 failed" in shown
    assert "FAIL" in page.read_text(encoding="utf-8")
    assert json_of(capsys, "validate", status=1)["passed"] is False


@pytest.mark.usefixtures("small_suite")
def test_page_needs_no_other_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, record_file = tmp_path / "page.html", tmp_path / "rows.json"
    assert main(["validate", "--html", str(page), "--json", str(record_file)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert not any(word in text for word in ("http:", "https:", "src=", "@import", "<link"))
    assert text.count('<span class="good">pass') == len(read_json(record_file.read_text(encoding="utf-8"))["rows"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "kuhn", "--out", "kuhn.json"], "--out kuhn.json: a profile is written as .npz"),
        (["solve", "game.efg", "--json", "game.efg"], "GAME and --json name the same file, game.efg"),
        (["solve", "game.npz", "--out", "game.npz"], "GAME and --out name the same file, game.npz"),
        (["export", "game.efg", "--out", "game.efg"], "GAME and --out name the same file, game.efg"),
        (["export", "kuhn", "--format", "json", "--out", "kuhn.efg"], "--format json and --out kuhn.efg disagree"),
    ],
)
def test_no_file_is_written_over_the_game_or_under_a_misleading_name(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("game.efg", "game.npz"):
        Path(name).write_text("as it was")
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(
        ("game.efg", "game.npz"), "as it was"
    )


@pytest.mark.parametrize("option", ["--out", "--json"])
@pytest.mark.parametrize("name", ["sub/../game.npz", "link.npz", "hard.npz", "sub/link.npz", "folder/game.npz"])
def test_the_game_is_not_written_over_under_another_name(
    option: str, name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", "kuhn", "--out", "game.npz"]) == 0
    before = Path("game.npz").read_bytes()
    Path("sub").mkdir()
    Path("sub/link.npz").symlink_to("../link.npz")
    Path("link.npz").symlink_to("game.npz")
    Path("folder").symlink_to(".")
    Path("hard.npz").hardlink_to("game.npz")
    capsys.readouterr()
    assert main(["solve", "game.npz", option, name]) == 2
    assert capsys.readouterr().err == f"error: GAME and {option} name the same file, game.npz and {name}\n"
    assert Path("game.npz").read_bytes() == before


def test_files_that_are_not_there_yet_are_compared_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("link.npz").symlink_to("new.npz")
    assert main(["solve", "kuhn", "--out", "new.npz", "--json", "link.npz"]) == 2
    assert "--out and --json name the same file, new.npz and link.npz" in capsys.readouterr().err
