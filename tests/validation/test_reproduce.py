"""Figures of papers: tiny versions meet their criteria, wrong answers do not, and the command writes what it says."""

import csv
import dataclasses
import io
import itertools
import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from constrained_cases import BOUNDS, TRANSIT
from effort import few, some, thorough
from figures import TINY, reproduced

from treeplex import GameFileError, Nash, Profile, SolverError, Status, UnsupportedProblemError, load_game, solve
from treeplex.cli import main
from treeplex.validation.papers import (
    EXPERIMENTS,
    CCFRFigure2a,
    CCFRFigure2b,
    CCFRFigure2c,
    CCFRFigure3,
    Reproduction,
    ccfr_figure_3,
    find_experiment,
    reproduce,
)
from treeplex.validation.papers import ccfr_transit as transit
from treeplex.validation.papers import (
    experiment as kit,
)
from treeplex.validation.papers.ccfr_transit import ConvergenceRow, band, settled
from treeplex.validation.papers.experiment import sweep


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command makes tiny versions."""
    for name, experiment in TINY.items():
        monkeypatch.setattr(EXPERIMENTS[name], "quick", classmethod(lambda kind, tiny=experiment: tiny))


# --- the figures ------------------------------------------------------------------------------------------------------


def test_every_experiment_is_tested() -> None:
    assert set(TINY) == set(EXPERIMENTS)


@few
@pytest.mark.parametrize("name", TINY)
def test_a_tiny_version_meets_its_criterion(name: str) -> None:
    assert [row.failure for row in reproduced(name).rows] == [""] * TINY[name].num_rows
    assert reproduced(name).rows_passed


@pytest.mark.parametrize("name", TINY)
def test_quick_and_full_are_of_different_sizes(name: str) -> None:
    quick, full = find_experiment(name).quick(), find_experiment(name).full()
    assert quick != full
    assert quick.num_rows <= full.num_rows
    assert json.loads(json.dumps(full.settings())) == full.settings()


def test_the_frontier_is_that_of_the_values_on_record() -> None:
    values = dict(zip(BOUNDS, TRANSIT["B", 2][0], strict=True))
    free = solve(Nash(load_game("transit:width=2"))).value
    rows = reproduced("ccfr-figure-2a").rows
    assert [(row.risk_bound, row.recipe) for row in rows] == list(
        itertools.product((0.05, 0.1, 0.5), ("default", "paper"))
    )
    assert [row.frontier_exploitability for row in rows] == pytest.approx(
        [values[row.risk_bound] - free for row in rows], abs=1e-6
    )
    assert [row.price for row in rows if row.risk_bound == 0.1] == pytest.approx([TRANSIT["B", 2][1]] * 2, abs=1e-4)


def test_the_exact_frontier_lies_in_the_band() -> None:
    rows = reproduced("ccfr-figure-2a").rows
    bounds, least, most = band(rows)
    for found, alone in zip((bounds, least, most), band(rows[::2]), strict=True):  # rows of one bound are one point
        assert found.tolist() == alone.tolist()
    assert (least <= most + 1e-9).all()
    assert np.interp([row.risk_bound for row in rows], bounds, least) == pytest.approx(
        [row.frontier_exploitability for row in rows], abs=1e-9
    )
    for between in (0.07, 0.2, 0.35):
        exact = transit.best_evader(solve(transit.risk_problem(2, between))) - transit.unconstrained_value(2)
        assert np.interp(between, bounds, least) - 1e-8 <= exact <= np.interp(between, bounds, most) + 1e-8


def test_a_band_of_one_point_is_that_point() -> None:
    row = reproduced("ccfr-figure-2a").rows[0]
    bounds, least, most = band([row])
    assert bounds.tolist() == [row.risk_bound]
    assert least.tolist() == pytest.approx([row.frontier_exploitability])
    assert most.tolist() == [row.frontier_exploitability]


def test_a_bound_that_does_not_bind_costs_nothing() -> None:
    row, paper = reproduce(CCFRFigure2a(2, (1.0,), 3_000)).rows
    assert row.passed
    assert row.price == pytest.approx(0.0, abs=1e-9)
    assert row.exploitability == pytest.approx(0.0, abs=1e-3)
    assert paper.exploitability == pytest.approx(0.0, abs=5e-3)


def test_too_few_iterations_fail() -> None:
    ran = reproduce(CCFRFigure2a(2, (0.1,), 3))
    assert not ran.rows_passed
    assert "from the exact one" in ran.rows[0].failure
    assert ran.rows[1].passed  # the paper's recipe is shown, and not held to the criterion
    ran = reproduce(CCFRFigure2b(2, 12))
    assert not ran.rows_passed
    assert [row.recipe for row in ran.rows if not row.passed] == ["default"]
    assert "at the end" in next(row.failure for row in ran.rows if not row.passed)


def test_a_time_limit_that_comes_first_fails_and_has_no_ratio() -> None:
    ran = reproduce(CCFRFigure2c((3,), precisions=(1e-6,), time_limit=0.0))
    assert not ran.rows_passed
    exact, default, paper = ran.rows
    assert (exact.recipe, default.recipe, default.status, default.ratio) == ("exact", "default", "time_limit", None)
    assert default.failure.startswith("time_limit after")
    assert (paper.recipe, paper.status, paper.ratio, paper.failure) == ("paper", "time_limit", None, "")


@pytest.mark.parametrize(("seconds", "status"), [(100.0, "not met"), (1.0, "open")])
def test_a_solve_that_stops_at_a_limit_bounds_the_ratio(seconds: float, status: str) -> None:
    exact = transit.TimeRow(10, 9, 0.1, "exact", None, "optimal", 90, 50.0, None, 0.0, 0.0, 0.0, 0.1)
    paper = dataclasses.replace(
        exact, recipe="paper", precision=1e-4, status="iteration_limit", iterations=1_000, seconds=seconds
    )
    claim = next(one for one in CCFRFigure2c((10,)).claims([exact, paper]) if one.paper and one.measured is not None)
    assert (claim.measured, str(claim.status)) == (f"below {50.0 / seconds:.3g}", status)
    assert claim.reason.startswith("constrained CFR stopped after 1,000 iterations")


@thorough
def test_counter_profiles_earn_ever_more_of_a_best_response() -> None:
    both = reproduced("ccfr-figure-3").rows
    rows = {(row.games, row.confidence): row for row in both if row.recipe == "default"}
    low, high = rows[1_000, 0.5], rows[1_000, 0.99]
    assert rows[20, 0.5].expected < low.expected < low.best_response
    assert high.equilibrium < high.expected < low.expected
    assert high.best_response == pytest.approx((0.3602148 + 0.6299327) / 2, abs=1e-5)
    assert high.equilibrium == pytest.approx((-0.0265513 + 0.1367931) / 2, abs=1e-5)
    # The frequency model never sees a fold, and is as wrong after many games as after few.
    assert low.naive < high.equilibrium
    assert low.naive == high.naive
    for row in rows.values():
        assert row.worst <= row.low <= row.expected <= row.high <= row.best_response + 1e-9
        assert row.exact == pytest.approx(row.expected, abs=0.1)
        assert (row.excluding == 0.0) == (row.violation == 0.0)
    assert low.excluding == 1.0
    for row in both:
        if row.recipe == "paper":
            assert row.expected == pytest.approx(rows[row.games, row.confidence].expected, abs=0.1)
            assert rows[row.games, row.confidence].gap < row.gap  # the paper's steps need more iterations


def test_logs_of_figure_3_grow_and_are_drawn_by_the_probabilities() -> None:
    few, many = (ccfr_figure_3.observed(1, games, 5, 2, known_probe=True) for games in (100, 20_000))
    assert (few.num_games, many.num_games) == (100, 20_000)
    assert (few.counts <= many.counts).all()
    assert not np.array_equal(few.counts, ccfr_figure_3.observed(1, 100, 5, 3, known_probe=True).counts)
    profile = Profile([ccfr_figure_3.target_profile()[0], ccfr_figure_3.probe(1)])
    probabilities = np.where(many.view.terminal, many.view.probabilities(profile.plans), 0.0)
    assert probabilities.sum() == pytest.approx(1.0)
    spread = np.sqrt(probabilities * (1.0 - probabilities) / many.num_games)
    assert (np.abs(many.counts / many.num_games - probabilities) <= 5.0 * spread + 1e-3).all()
    assert many.own_plan is ccfr_figure_3.probe(1).plan


def test_a_counter_profile_that_falls_short_fails() -> None:
    answer = ccfr_figure_3.Answer(0.0, 0.0, 0.0, 0.0, 0.0, 1, 0.0)
    experiment = CCFRFigure3((10, 50, 1_000, 100_000), (0.5, 0.99))
    better = dataclasses.replace(answer, iterative=0.4)

    def failures(games: int, low: ccfr_figure_3.Answer, high: ccfr_figure_3.Answer) -> list[str]:
        found = {(0.5, "default"): [low], (0.99, "default"): [high]}
        return [row.failure for row in experiment._judged(games, found, 0.05, 0.41)]

    assert failures(10, answer, better) == ["", ""]
    assert failures(10, better, answer)[0].startswith("the lowest confidence earns no less than the highest")
    assert failures(50, answer, answer)[1].startswith("the highest confidence earns no more than the equilibrium")
    assert failures(1_000, answer, better)[0].startswith("the lowest confidence earns no more than the highest")
    assert failures(100_000, better, better) == ["", ""]
    assert "0.0% of a best response" in failures(100_000, answer, better)[0]
    cases = [(confidence, recipe) for confidence in (0.5, 0.99) for recipe in ("default", "paper")]
    shown = dict(zip(cases, ([better], [answer], [better], [answer]), strict=True))
    rows = list(experiment._judged(100_000, shown, 0.05, 0.41))
    assert [(row.confidence, row.recipe, row.failure) for row in rows] == [(*case, "") for case in cases]
    apart = dataclasses.replace(better, difference=0.03)
    assert failures(50, apart, better)[0] == "objectives are 3.0e-02 apart, expected at most 2.6e-02"


def test_a_wrong_exact_answer_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = transit.risk_problem(2, 0.1)
    uniform = dataclasses.replace(solve(problem, "ccfr", tol=0, max_iterations=2), status=Status.OPTIMAL)
    lying = dataclasses.replace(uniform, multipliers={"risk": 0.1}, tolerance=1e-8)
    run = kit.solve

    def wrong(asked, method, **limits):
        return lying if method == "highs" else run(asked, method, **limits)

    monkeypatch.setattr(kit, "solve", wrong)
    for experiment in (CCFRFigure2b(2, 1_000), CCFRFigure2c((2,), precisions=(1e-3,))):
        ran = reproduce(experiment)
        assert not ran.rows_passed
        assert any("the difference" in row.failure for row in ran.rows)


def test_stages_of_convergence_go_on_where_the_last_one_stopped() -> None:
    experiment, rows = TINY["ccfr-figure-2b"], reproduced("ccfr-figure-2b").rows
    assert experiment.stages == sorted(set(experiment.stages))
    assert experiment.stages[-1] == 2_000
    assert CCFRFigure2b(2, 7).stages == [7]
    for recipe in ("default", "paper"):
        own = [row for row in rows if row.recipe == recipe]
        assert [row.iterations for row in own] == experiment.stages
        assert all(before.seconds < after.seconds for before, after in itertools.pairwise(own))
    whole = solve(transit.risk_problem(2, 0.1), "ccfr", tol=0, max_iterations=2_000)
    last = next(row for row in rows if row.recipe == "default" and row.iterations == 2_000)
    assert last.risk == pytest.approx(transit.risk_of(whole), abs=1e-9)
    assert last.gap == pytest.approx(whole.gap, abs=1e-9)


def test_settled_means_for_good() -> None:
    def rows(*errors: float) -> list[ConvergenceRow]:
        blank = ConvergenceRow(2, 0.1, "default", "ccfr", 1, 0.0, 0.1, 0.0, 0.0, 0.0)
        return [
            dataclasses.replace(blank, seconds=float(place), difference=error) for place, error in enumerate(errors)
        ]

    assert settled(rows(1.0, 0.1, 1.0, 0.1, 0.01), 0.1) == 3.0
    assert settled(rows(1.0, 0.1, 1.0), 0.1) is None
    assert settled(rows(-0.5, -0.05), 0.1) == 1.0
    assert settled([dataclasses.replace(row, violation=0.2) for row in rows(0.0)], 0.1) is None
    assert settled([], 0.1) is None


@thorough
def test_ratios_are_of_the_times() -> None:
    rows = reproduced("ccfr-figure-2c").rows
    exact = rows[0].seconds
    assert [row.recipe for row in rows] == ["exact", "default", "default", "paper", "paper", "default", "default"]
    assert [row.ratio for row in rows] == [None, *(exact / row.seconds for row in rows[1:5]), None, None]
    assert [row.precision for row in rows] == [None, 1e-2, 1e-3, 1e-2, 1e-3, 1e-2, 1e-3]
    for row in rows[1:]:
        assert max(row.gap, row.violation) <= row.precision
    assert rows[-1].difference is None


def test_local_responses_gain_less_than_best_ones() -> None:
    figure = reproduced("cdrnr-figure-6")
    gains = {(row.opponent, row.method): row.gain for row in figure.rows}
    for opponent in ("cfr:iterations=3", "random:seed=1"):
        assert 0.0 < gains[opponent, "LBR"] < gains[opponent, "best response"]
    shares = {claim.quantity: claim.measured for claim in figure.claims}
    lbr = gains["random:seed=1", "LBR"] / gains["random:seed=1", "best response"]
    assert shares["LBR: gain over a best response's, mean over random opponents"] == pytest.approx(lbr)
    few = next(claim for claim in figure.claims if claim.quantity.startswith("gain of LBR against"))
    assert (few.measured, str(few.status), few.reason) == (None, "open", "the run has no opponent of 34 iterations")


def test_the_paper_stands_beside_what_was_measured() -> None:
    distances = reproduced("ccfr-figure-2a").claims[2::2]
    for recipe, distance in zip(("default", "paper"), distances, strict=True):
        own = [row for row in reproduced("ccfr-figure-2a").rows if row.recipe == recipe]
        assert distance.paper == 1e-3
        assert distance.measured == max(abs(row.difference) for row in own)
    for name, experiment in TINY.items():
        assert all(claim.measured is None for claim in experiment.claims([])), name


@pytest.mark.parametrize(
    "settings",
    [
        lambda: CCFRFigure2a(1, (0.1,)),
        lambda: CCFRFigure2a(2, ()),
        lambda: CCFRFigure2a(2, (-0.1,)),
        lambda: CCFRFigure2a(2, (float("nan"),)),
        lambda: CCFRFigure2b(2.5),
        lambda: CCFRFigure2b(2, 0),
        lambda: CCFRFigure2c((2,), precisions=(0.0,)),
        lambda: CCFRFigure2c((True,)),
        lambda: CCFRFigure3(()),
        lambda: CCFRFigure3((0,)),
        lambda: CCFRFigure3((10,), (1.0,)),
        lambda: CCFRFigure3((10,), (0.0,)),
        lambda: CCFRFigure3((10,), repetitions=0),
        lambda: CCFRFigure3((10,), seed=-1),
        lambda: CCFRFigure3((10,), paper_repetitions=-1),
        lambda: CCFRFigure3((10,), precision=0.0),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings) -> None:
    with pytest.raises(UnsupportedProblemError, match="expected"):
        settings()


def test_a_value_that_is_not_proven_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    doubtful = dataclasses.replace(solve(Nash(load_game("transit:width=2"))), status=Status.UNCERTIFIED)
    monkeypatch.setattr(kit, "solve", lambda *arguments, **limits: doubtful)
    transit.unconstrained_value.cache_clear()
    with pytest.raises(SolverError, match="was not found"):
        transit.unconstrained_value(2)


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(UnsupportedProblemError, match=r"did you mean ccfr-figure-2"):
        find_experiment("ccfr-figure-2d")


@pytest.mark.slow
def test_processes_find_the_same() -> None:
    assert list(sweep(pow, [(2, 3), (3, 2), (2, 5)], jobs=2)) == [8, 9, 32]
    alone = reproduce(dataclasses.replace(TINY["ccfr-figure-2a"], iterations=200)).rows
    shared = reproduce(dataclasses.replace(TINY["ccfr-figure-2a"], iterations=200, jobs=2)).rows
    assert [row.risk for row in shared] == [row.risk for row in alone]


# --- pictures and files -----------------------------------------------------------------------------------------------


@few
@pytest.mark.parametrize("name", some(TINY, 10))
def test_files_hold_the_data_and_the_picture(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    folder = tmp_path / "a new" / "folder"
    written = reproduced(name).write(folder)
    assert sorted(written) == sorted(folder.iterdir())
    record = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    assert record == reproduced(name).to_dict()
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [list(line) for line in lines] == [list(row) for row in record["rows"]]
    for line, row in zip(lines, record["rows"], strict=True):
        assert line == {key: "" if value is None else str(value) for key, value in row.items()}
    assert ET.fromstring((folder / f"{name}.svg").read_bytes()).tag.endswith("svg")
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")


@few
@pytest.mark.parametrize("name", TINY)
def test_pictures_say_what_their_axes_are(name: str) -> None:
    pytest.importorskip("matplotlib")
    drawn = reproduced(name).draw().axes
    if not any(axes.get_lines() for axes in drawn):  # charts of hands and tables
        assert all(axes.get_title() and (axes.patches or axes.images) for axes in drawn)
        return
    for axes in drawn:
        assert axes.get_xlabel()
        assert len(axes.get_lines()) >= 2
    assert drawn[0].get_ylabel()


@few
@pytest.mark.parametrize("name", some(TINY, 10))
def test_what_was_interrupted_early_can_be_drawn_and_written(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    stopped = Reproduction(TINY[name], (), 1.0, interrupted=True)
    stopped.write(tmp_path)
    assert not stopped.passed
    assert stopped.summary == "interrupted before the first row"
    assert json.loads((tmp_path / f"{name}.json").read_text(encoding="utf-8"))["rows"] == []


def test_a_folder_that_cannot_be_written_is_one_error(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("", encoding="utf-8")
    with pytest.raises(GameFileError, match="cannot be written"):
        reproduced("ccfr-figure-2b").write(taken)


# --- the command ------------------------------------------------------------------------------------------------------


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


def show_computed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the command show the rows of a tiny version without computing them again."""
    rows = reproduced(name).rows
    monkeypatch.setattr(EXPERIMENTS[name], "rows", lambda experiment, tell: iter(rows))


@few
@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("name", TINY)
def test_reproduce_in_json(name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    show_computed(name, monkeypatch)
    passed = reproduced(name).passed
    assert main(["reproduce", name, "--quick", "--json", "-"]) == (0 if passed else 1)
    shown = capsys.readouterr()
    assert shown.err == ""
    record = json.loads(shown.out, parse_constant=refuse_constant)
    assert set(record) >= {"name", "rows", "paper", "passed"}
    assert (record["name"], record["rows_passed"], record["passed"]) == (name, True, passed)
    assert len(record["rows"]) == TINY[name].num_rows
    assert set(record["paper"]) == {"citation", "url", "figure", "claims"}
    for claim in record["paper"]["claims"]:
        assert set(claim) == {"quantity", "paper", "measured", "status", "reason", "counterexample"}
    first = list(record["rows"][0])
    assert first[-2:] == ["passed", "failure"]
    assert all(list(row) == first for row in record["rows"])


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("columns", [80, 120])
def test_reproduce_prints_a_line_a_row(
    columns: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    show_computed("ccfr-figure-2a", monkeypatch)
    assert main(["reproduce", "ccfr-figure-2a"]) == 1  # by the paper's recipe so few iterations leave claims open
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = shown.out.splitlines()
    rows = [line for line in lines if line.endswith(" pass")]
    assert len(rows) == 6
    assert max(map(len, rows)) <= 80
    assert "exploitability" in lines[2]
    assert lines[-1].startswith("6 rows: all passed, in ")


@pytest.mark.usefixtures("tiny")
def test_reproduce_writes_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    show_computed("ccfr-figure-2a", monkeypatch)
    record = tmp_path / "new" / "record.json"
    assert main(["reproduce", "ccfr-figure-2a", "--out", str(tmp_path / "new"), "--json", str(record)]) == 1
    assert "JSON in " in capsys.readouterr().out
    names = {f"ccfr-figure-2a.{suffix}" for suffix in ("json", "csv", "svg", "png")}
    assert {file.name for file in (tmp_path / "new").iterdir()} == names | {"record.json"}
    assert json.loads(record.read_text(encoding="utf-8"))["rows_passed"] is True


def test_reproduce_without_a_name_lists(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce"]) == 0
    bare = capsys.readouterr().out
    assert main(["reproduce", "--list"]) == 0
    assert capsys.readouterr().out == bare
    assert all(name in bare for name in EXPERIMENTS)
    assert main(["reproduce", "--list", "--json", "-"]) == 0
    entries = json.loads(capsys.readouterr().out)["experiments"]
    assert [entry["name"] for entry in entries] == list(EXPERIMENTS)
    assert all(set(entry) == {"name", "title", "paper", "figure"} for entry in entries)


BAD = {
    "unknown name": (["ccfr-figure-2x"], "unknown experiment 'ccfr-figure-2x' (did you mean ccfr-figure-2"),
    "nothing like it": (["zzz"], "unknown experiment 'zzz'; expected one of ccfr-figure-2a, "),
    "two names": (["ccfr-figure-2a", "ccfr-figure-2b"], "unexpected extra argument"),
    "name and list": (["ccfr-figure-2a", "--list"], "leave the other arguments out"),
    "full without a name": (["--full"], "leave the other arguments out"),
    "folder that is a file": (["ccfr-figure-2a", "--out", "FILE"], "expected a folder, got the file"),
    "folder in a file": (["ccfr-figure-2a", "--out", "FILE/in"], "--out: cannot write"),
    "no folder": (["ccfr-figure-2a", "--out", ""], "--out: the folder name is empty"),
    "JSON in a file": (["ccfr-figure-2a", "--json", "FILE/in"], "--json: cannot write"),
    "one place for two": (["ccfr-figure-2a", "--json", "one", "--out", "one"], "name the same file"),
    "unknown option": (["ccfr-figure-2a", "--fast"], "no such option: --fast"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("kept", encoding="utf-8")
    arguments, expected = BAD[case]
    given = [argument.replace("FILE", str(tmp_path / "file")) for argument in arguments]
    assert main(["reproduce", *given]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert shown.err.startswith("error: ")
    assert expected in shown.err
    assert (tmp_path / "file").read_text(encoding="utf-8") == "kept"


def test_pictures_need_matplotlib(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["reproduce", "ccfr-figure-2a", "--out", str(tmp_path / "new")]) == 2
    assert "pip install 'treeplex[plot]'" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("tiny")
def test_a_row_that_fails_exits_1(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CCFRFigure2a, "quick", classmethod(lambda kind: kind(2, (0.1,), 3)))
    assert main(["reproduce", "ccfr-figure-2a"]) == 1
    shown = capsys.readouterr().out
    assert "FAIL" in shown
    assert "1 failed" in shown


@pytest.mark.usefixtures("tiny")
def test_interrupted_reproduce_keeps_its_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    solving, calls = kit.solve, []

    def impatient(*arguments, **limits):
        calls.append(arguments)
        # As Ctrl-C ends an iterative solve: with the strategies so far.
        ended = {"max_iterations": 0, "callback": lambda report: True} if len(calls) == 5 else {}
        solution = solving(*arguments, **limits | ended)
        return dataclasses.replace(solution, status=Status.INTERRUPTED) if ended else solution

    transit.unconstrained_value.cache_clear()
    monkeypatch.setattr(kit, "solve", impatient)
    assert main(["reproduce", "ccfr-figure-2a", "--json", "-", "--out", str(tmp_path)]) == 130
    shown = capsys.readouterr()
    assert shown.err == "error: interrupted\n"
    record = json.loads(shown.out)
    assert record["passed"] is False
    assert [row["passed"] for row in record["rows"]] == [True, True]
    written = io.StringIO((tmp_path / "ccfr-figure-2a.csv").read_text(encoding="utf-8"))
    assert len(list(csv.DictReader(written))) == 2
    assert (tmp_path / "ccfr-figure-2a.png").exists()
