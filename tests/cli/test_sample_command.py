"""``treeplex sample``, and the options of methods that sample in ``treeplex solve``."""

import json

import numpy as np
import pytest

from treeplex import StreamedMCCFR, load_game
from treeplex.cli import main
from treeplex.solvers import StreamedProfile, averaged_runs, estimate_exploitability, independent_runs
from treeplex.solvers.sampling import averaging

LARGE = "goofspiel:cards=13"


def test_a_game_too_large_to_enumerate_is_run(tmp_path, capsys):
    out = str(tmp_path / "strategies.jsonl")
    arguments = ["sample", LARGE, "--method", "os-mccfr", "--max-iterations", "30", "--seed", "3", "--out", out]
    assert main([*arguments, "--games", "200", "--respond", "0.2", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["stopped"], record["iterations"], record["touched"]) == ("iterations", 30, 1500)
    for found in (record["payoffs"], record["gains"]):
        assert len(found) == 2
        assert all(each["lower"] < each["mean"] < each["upper"] for each in found)
    sampler = StreamedMCCFR(load_game(LARGE), "os-mccfr", seed=3)
    sampler.run(30)
    assert record["infosets"] == list(sampler.infosets)
    for one, other in zip(StreamedProfile.load(out), sampler.profile, strict=True):
        assert dict(one) == dict(other)


def test_runs_are_averaged_and_judged_by_local_best_responses(tmp_path, capsys):
    out = str(tmp_path / "mean.jsonl")
    arguments = ["sample", "kuhn", "--max-iterations", "200", "--seed", "3", "--runs", "2", "--out", out]
    arguments += ["--local-best-response", "400"]
    assert main([*arguments, "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    runs = independent_runs(load_game("kuhn"), runs=2, iterations=200, seed=3)
    mean = averaged_runs(runs)
    for one, other in zip(StreamedProfile.load(out), mean, strict=True):
        assert dict(one) == dict(other)
    assert [run["seed"] for run in record["runs"]] == [3, 4]
    assert [run["touched"] for run in record["runs"]] == [run.touched for run in runs]
    assert (record["iterations"], record["touched"]) == (400, sum(run.touched for run in runs))
    assert record["infosets"] == [6, 6]
    found = estimate_exploitability(load_game("kuhn"), mean, 400, seed=3)
    judged = record["local_best_response"]
    assert (judged["mean"], judged["lower"], judged["games"]) == (found.mean, found.lower, 400)
    expected = np.mean([run.regret_estimates() for run in runs], axis=0)
    assert record["regret_estimates"] == pytest.approx(list(expected))
    assert main(arguments) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "runs 2, averaged stopped all requested iterations were run iterations 400" in printed
    assert "gain of local best responses" in printed


def test_ctrl_c_keeps_the_runs_that_have_ended(tmp_path, capsys, monkeypatch):
    made = averaging._one_run

    def interrupted(game, method, seed, limits):
        if seed == 2:
            raise KeyboardInterrupt
        return made(game, method, seed, limits)

    monkeypatch.setattr(averaging, "_one_run", interrupted)
    out = str(tmp_path / "mean.jsonl")
    assert main(["sample", "kuhn", "--max-iterations", "50", "--runs", "4", "--out", out, "--json", "-"]) == 130
    record = json.loads(capsys.readouterr().out)
    assert (record["stopped"], len(record["runs"]), record["iterations"]) == ("interrupted", 2, 100)
    assert record["message"] == "interrupted after 2 of 4 runs, which are averaged"
    mean = averaged_runs(independent_runs(load_game("kuhn"), runs=2, iterations=50, seed=0))
    for one, other in zip(StreamedProfile.load(out), mean, strict=True):
        assert dict(one) == dict(other)


def test_what_is_found_is_printed(capsys):
    arguments = ["sample", "leduc", "--method", "es-pref-cfr", "--prefer", "0/r@first:5", "--prefer", "x:2"]
    assert main([*arguments, "--rule", "br", "--vulnerability", "0.05", "--max-iterations", "20"]) == 0
    printed = capsys.readouterr().out
    assert "all requested iterations were run" in printed
    assert "preference x:2" in printed
    assert "histories" in printed


def test_estimates_that_payoffs_do_not_allow_are_not_told(tmp_path, capsys):
    arguments = ["sample", LARGE, "--max-iterations", "20", "--json", "-", "--method"]
    assert main([*arguments, "os-mccfr"]) == 0
    assert json.loads(capsys.readouterr().out)["regret_estimates"] == [None, None]
    page = tmp_path / "page.html"
    assert main([*arguments[:4], "--method", "os-mccfr", "--html", str(page)]) == 0
    assert "unknown, unknown; unknown where there are too few samples" in " ".join(capsys.readouterr().out.split())
    assert "unknown, unknown" in page.read_text(encoding="utf-8")
    assert main(["sample", "kuhn", "--max-iterations", "500", "--json", "-"]) == 0
    assert all(0.0 < each < 1.0 for each in json.loads(capsys.readouterr().out)["regret_estimates"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kuhn"], "a run without --max-iterations or --time-limit never ends"),
        (["kuhn", "--method", "cfr", "--time-limit", "1"], "--method cfr is not for sample; expected one of es-mccfr"),
        (["kuhn", "--exploration", "1", "--time-limit", "1"], "--exploration is for --method os-mccfr"),
        (["kuhn", "--averaging", "full", "--time-limit", "1"], "full averages need the whole game"),
        (["kuhn", "--time-limit", "1", "--out", "-"], "strategies cannot be written to standard output"),
        (["nowhere", "--time-limit", "1"], "unknown game"),
        (["kuhn", "--time-limit", "1", "--jobs", "2"], "--jobs is the number of processes of --runs; give --runs N"),
        (["kuhn", "--time-limit", "1", "--runs", "2", "--folder", "x"], "--folder is for a single run; leave out"),
        (["kuhn", "--time-limit", "1", "--runs", "2", "--checkpoint", "x"], "--checkpoint is for a single run"),
        (["kuhn", "--time-limit", "1", "--runs", "0"], "0, expected a whole number from 1 to 1000"),
        (["kuhn:players=3", "--time-limit", "1", "--local-best-response", "9"], "is for two-player games, but"),
        (["kuhn", "--time-limit", "1", "--folder", ""], "folder is '', expected the name of a folder"),
        (["kuhn", "--time-limit", "1", "--folder", __file__], "is a file, expected a folder"),
        (["kuhn", "--method", "es-pref-cfr", "--prefer", "b:0", "--time-limit", "1"], "expected 1 or more"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_makes_no_sense_is_refused_in_one_line(arguments, message, capsys):
    assert main(["sample", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_solve_takes_the_options_of_methods_that_sample(capsys):
    options = ["--baselines", "infoset", "--exploration", "0.4", "--baseline-rate", "0.3"]
    arguments = ["solve", "kuhn", "--method", "os-mccfr", "--max-iterations", "2000", "--tol", "0", "--json", "-"]
    assert main([*arguments, *options, "--local-rule", "regret-matching+"]) == 0
    with_options = json.loads(capsys.readouterr().out)
    assert with_options["iterations"] == 2000
    assert main(arguments) == 0
    assert json.loads(capsys.readouterr().out)["exploitability"] != with_options["exploitability"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["os-mccfr", "--exploration", "2"], "--exploration 2: expected a number above 0 and at most 1"),
        (["os-mccfr", "--baseline-rate", "0"], "--baseline-rate 0: expected a number above 0"),
        (
            ["es-mccfr", "--baselines", "none"],
            "--baselines is for --method os-mccfr",
        ),
        (
            ["cfr", "--local-rule", "regret-matching"],
            "--local-rule is for --method es-mccfr, os-mccfr",
        ),
        (["es-mccfr", "--local-rule", "hedge"], "--local-rule hedge: expected one of regret-matching"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_solve_refuses_options_of_other_methods(arguments, message, capsys):
    assert main(["solve", "kuhn", "--method", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_constraints_are_kept_to_and_told(tmp_path, capsys):
    arguments = ["sample", "leduc:ranks=13,suits=4", "--method", "es-ccfr", "--max-iterations", "60", "--seed", "1"]
    for text in ("raise@first <= 0.2 as calm", "0/Ks_:r >= 0.3", "plan(0/nowhere:r) <= 1/2"):
        arguments += ["--constrain", text]
    page = tmp_path / "page.html"
    assert main([*arguments, "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    assert "violation, estimated; multiplier" in printed
    assert "constraint plan(0/nowhere:r) <= 1/2  names an infoset that no walk has reached" in printed
    assert "constraint calm" in page.read_text(encoding="utf-8")
    assert main([*arguments, "--json", "-"]) == 0
    calm, king, nowhere = json.loads(capsys.readouterr().out)["constraints"]
    assert (calm["name"], calm["is_estimate"], king["is_estimate"], nowhere["value"]) == ("calm", True, False, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--method", "es-mccfr", "--constrain", "0/J_:b >= 1/2"],
            "es-mccfr does not support constraints, expected es-ccfr",
        ),
        (["--method", "es-ccfr", "--constrain", "risk <= 1/2"], "column 6: received '<=' after 'risk', expected SEAT"),
        (
            ["--method", "os-ccfr", "--constrain", "0/J_:c >= 1/2"],
            "names action 'c' at infoset 'J_', expected one of p",
        ),
        (
            ["--method", "os-ccfr", "--penalty", "-1"],
            "invalid value for '--penalty': -1, expected a number of at least 0",
        ),
    ],
)
def test_constraints_that_do_not_fit_are_refused(arguments, message, capsys):
    assert main(["sample", "kuhn", *arguments, "--max-iterations", "50"]) == 2
    assert message in capsys.readouterr().err
