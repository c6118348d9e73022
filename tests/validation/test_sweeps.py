"""Sweeps: which settings there are, what is kept of each, and that nothing is computed twice."""

import json
import os
import signal
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from treeplex import (
    GameFileError,
    MissingExtraError,
    Nash,
    Profile,
    SolverError,
    UnsupportedProblemError,
    load_game,
    solve,
    sweep,
)
from treeplex.cli.application import run_command
from treeplex.seqform.calls import calls
from treeplex.solvers.distributed.clusters import ray_cluster
from treeplex.validation.sweep_settings import MAX_SETTINGS, expand, flat, keys_of, read_settings, varied_names


def squared(place: Path, number: float, offset: float = 0.0) -> dict:
    """Note each call in a file, so that a test can count them."""
    with (Path(place) / "calls").open("a") as calls:
        calls.write(f"{number}\n")
    if number < 0:
        raise ValueError("it is\nnegative")
    return {"square": number**2 + offset, "parts": {"half": number / 2}, "many": [1, 2]}


def solved(game: str, method: str):
    return solve(Nash(load_game(game)), method, tol=1e-3)


def calls_in(folder: Path) -> list[float]:
    return [float(line) for line in (folder / "calls").read_text().splitlines()]


# Settings


def test_a_list_is_combined_with_a_grid_the_last_name_of_which_runs_fastest():
    found = expand({"game": "kuhn"}, {"p": [0, 1], "q": ["a", "b"]}, [{"m": 1}, {"m": 2, "t": True}])
    assert [(one["m"], one["p"], one["q"]) for one in found] == [
        (m, p, q) for m in (1, 2) for p in (0, 1) for q in ("a", "b")
    ]
    assert [one.get("t") for one in found] == [None] * 4 + [True] * 4
    assert varied_names(found) == ["m", "p", "q", "t"]
    assert varied_names(expand({"game": "kuhn"})) == []


def test_spans_end_where_they_are_told_to_and_decimals_stay_short():
    assert expand(grid={"p": {"from": 0, "to": 1, "steps": 11}})[3]["p"] == 0.3
    assert [one["p"] for one in expand(grid={"p": {"from": 10, "to": 12, "steps": 3}})] == [10, 11, 12]
    ratios = [one["t"] for one in expand(grid={"t": {"from": 1e-4, "to": 1, "steps": 5, "scale": "log"}})]
    assert ratios == pytest.approx([1e-4, 1e-3, 1e-2, 1e-1, 1])
    assert (ratios[0], ratios[-1]) == (1e-4, 1)
    assert [one["t"] for one in expand(grid={"t": np.arange(3)})] == [0, 1, 2]


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        ({"p": 0.5}, "grid.p is 0.5, expected several values, such as"),
        ({"p": "0.5"}, "grid.p is '0.5', expected several values"),
        ({"p": []}, "grid.p is empty"),
        ({"p": [float("nan")]}, "grid.p is nan, expected a finite number"),
        ({"p": [10**5000]}, "expected a finite number"),
        ({"p": [{"a": 1}]}, "expected a finite number, a string, true or false"),
        ({"p": {"from": 0, "to": 1}}, "grid.p: steps is missing"),
        ({"p": {"from": 0, "to": 1, "step": 3}}, "unknown key 'step' (did you mean steps?)"),
        ({"p": {"from": 0, "to": 1, "steps": 1}}, "grid.p.steps is 1, expected a whole number from 2"),
        ({"p": {"from": "0", "to": 1, "steps": 2}}, "grid.p.from is '0', expected a finite number"),
        ({"p": {"from": 0, "to": 1, "steps": 2, "scale": "log"}}, "grid.p.from is 0, expected a number above 0"),
        ({"p": {"from": 0, "to": 1, "steps": 2, "scale": "lin"}}, "grid.p.scale is 'lin', expected one of linear, log"),
        ({"game": [1]}, "grid.game: a fixed setting also sets game"),
        ({"m": [1]}, "grid.m: the list also sets m"),
        ({"p": range(400), "q": range(400)}, f"160,000 settings, expected at most {MAX_SETTINGS:,}"),
    ],
)
def test_wrong_grids_are_refused_by_name(grid, expected):
    with pytest.raises(UnsupportedProblemError) as raised:
        expand({"game": "kuhn"}, grid, [{"m": 1}])
    assert expected in str(raised.value)
    assert len(str(raised.value)) < 250


def test_results_are_told_apart_by_what_was_asked(tmp_path, monkeypatch):
    (tmp_path / "log").write_text("one")
    monkeypatch.chdir(tmp_path)
    (key,) = keys_of("run", [{"log": "log", "p": 1, "q": [0.5]}])
    assert keys_of("run", [{"q": [0.5], "p": 1.0, "log": "log"}]) == [key]
    others = keys_of("run", [{"log": "log", "p": 2, "q": [0.5]}, {"log": "log", "p": 1, "q": 0.5}, {"log": "log"}])
    assert len({key, *others, *keys_of("other", [{"log": "log", "p": 1, "q": [0.5]}])}) == 5
    (tmp_path / "log").write_text("two")
    assert keys_of("run", [{"log": "log", "p": 1, "q": [0.5]}]) != [key]
    monkeypatch.setattr("treeplex.__version__", "99")
    (tmp_path / "log").write_text("one")
    assert keys_of("run", [{"log": "log", "p": 1, "q": [0.5]}]) != [key]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p = ", "not valid TOML: Invalid value at its end"),
        ("p = 1979-05-27", "p is datetime.date(1979, 5, 27), expected a finite number"),
        ("[gird]\np = [1]", "line 1: unknown table 'gird' (did you mean grid?); expected [grid] and [[list]]"),
        ("grid = 3", "line 1: grid is 3, expected a table, such as [grid]"),
        ("[list]\np = 1", "line 1: list is {'p': 1}, expected tables, such as [[list]]"),
        ("list = []", "list is empty"),
        ("[[list]]\np = {a = 1}", "list, setting 1: p is {'a': 1}, expected"),
        ("a = " + "[" * 5000, "not valid TOML"),
    ],
)
def test_wrong_files_are_refused_in_one_line(text, expected, tmp_path):
    path = tmp_path / "sweep.toml"
    path.write_text(text)
    with pytest.raises(GameFileError) as raised:
        read_settings(path)
    assert str(raised.value).startswith(f"{path}: ")
    assert expected in str(raised.value)
    assert str(raised.value).isprintable()


def test_results_are_flat_by_dotted_names():
    result = {
        "value": [0.5, 1],
        "sizes": {"leaves": 3},
        "rows": [{"a": 1}],
        "long": list(range(100)),
        "history": {"seconds": [1.0]},
    }
    assert flat(result) == {"value.0": 0.5, "value.1": 1, "sizes.leaves": 3}


# Sweeps of a function


def test_what_is_there_is_not_computed_again(tmp_path):
    seen = []
    fixed = {"place": str(tmp_path)}
    first = sweep(squared, tmp_path / "out", fixed=fixed, grid={"number": [1, 2, 3]})
    assert [row.result["square"] for row in first.rows] == [1, 4, 9]
    again = sweep(squared, tmp_path / "out", fixed=fixed, grid={"number": [2, 4, 2, 1]}, on_row=seen.append)
    assert calls_in(tmp_path) == [1, 2, 3, 4]
    assert [row.result["square"] for row in again.rows] == [4, 16, 4, 1]
    assert sorted(row.number for row in seen) == [1, 2, 4]  # the third is the first
    lines = [json.loads(line) for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert [line["setting"]["number"] for line in lines] == [1, 2, 3, 4]
    assert len({line["key"] for line in lines}) == 4


def test_failures_are_kept_and_tried_again_only_on_request(tmp_path):
    asked = {"fixed": {"place": str(tmp_path)}, "grid": {"number": [1, -1]}}
    found = sweep(squared, tmp_path / "out", **asked)
    assert not found.passed
    assert [row.failure for row in found.rows] == ["", "ValueError: it is\\nnegative"]
    assert found.summary.startswith("1 of 2 settings done, 1 failed")
    assert sweep(squared, tmp_path / "out", **asked).rows == found.rows
    assert calls_in(tmp_path) == [1, -1]
    sweep(squared, tmp_path / "out", **asked, retry=True)
    assert calls_in(tmp_path) == [1, -1, -1]
    assert [one["square"] for one in found.records()] == [1, None]


def test_a_line_that_a_kill_cut_off_is_computed_again(tmp_path):
    asked = {"fixed": {"place": str(tmp_path)}, "grid": {"number": [1, 2, 3]}}
    whole = sweep(squared, tmp_path / "out", **asked)
    file = tmp_path / "out" / "results.jsonl"
    file.write_bytes(file.read_bytes()[:-5])
    again = sweep(squared, tmp_path / "out", **asked)
    assert calls_in(tmp_path) == [1, 2, 3, 3]
    assert [row.result for row in again.rows] == [row.result for row in whole.rows]
    assert file.read_bytes().count(b"\n") == 3


@pytest.mark.parametrize(
    "line", ["{}", "[1]", "nonsense", '{"key": 3, "strategies": null, "failure": "", "seconds": 1}']
)
def test_a_damaged_file_of_results_is_refused(line, tmp_path):
    asked = {"fixed": {"place": str(tmp_path)}, "grid": {"number": [1]}}
    sweep(squared, tmp_path / "out", **asked)
    file = tmp_path / "out" / "results.jsonl"
    file.write_text(f"{file.read_text()}{line}\n")
    with pytest.raises(GameFileError, match=r"results\.jsonl, line 2: not a result"):
        sweep(squared, tmp_path / "out", **asked)


def test_two_sweeps_do_not_write_to_one_folder(tmp_path):
    pytest.importorskip("fcntl")
    asked = {"fixed": {"place": str(tmp_path)}, "grid": {"number": [1]}}

    def within(row) -> None:
        with pytest.raises(GameFileError, match="another sweep is writing there"):
            sweep(squared, tmp_path / "out", **asked)

    assert sweep(squared, tmp_path / "out", **asked, on_row=within).passed


def test_solutions_are_kept_with_their_strategies(tmp_path):
    found = sweep(solved, tmp_path, fixed={"game": "kuhn"}, grid={"method": ["highs", "cfr+"]})
    assert [row.result["status"] for row in found.rows] == ["optimal", "converged"]
    for row in found.rows:
        profile = Profile.load(tmp_path / row.strategies, load_game("kuhn"))
        assert row.strategies == f"strategies/{row.key}.npz"
        assert len(profile) == 2
    (tmp_path / found.rows[0].strategies).unlink()
    assert sweep(solved, tmp_path, fixed={"game": "kuhn"}, grid={"method": ["highs", "cfr+"]}).passed
    assert (tmp_path / found.rows[0].strategies).is_file()


@pytest.mark.slow
def test_a_worker_that_dies_leaves_what_is_done(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(SolverError, match=r"the workers ended with 2 settings left: .* finished results are kept"):
            sweep(os._exit, tmp_path, grid={"status": [1, 2]}, backend="processes", jobs=2)


@pytest.mark.parametrize(
    ("how", "error", "expected"),
    [
        ({"backend": "cluster"}, UnsupportedProblemError, "backend is 'cluster', expected one of processes, dask, ray"),
        ({"address": "tcp://a:1"}, UnsupportedProblemError, "backend is not dask or ray"),
        ({"jobs": 0}, UnsupportedProblemError, "jobs is 0, expected a whole number of at least 1"),
        ({"settings": []}, UnsupportedProblemError, "list is empty"),
    ],
)
def test_wrong_ways_to_run_are_refused(how, error, expected):
    with pytest.raises(error, match=expected):
        sweep(squared, **how)


def test_what_is_run_must_be_a_function_that_returns_a_result():
    with pytest.raises(UnsupportedProblemError, match="run is 'solve', expected a function"):
        sweep("solve")
    found = sweep(Fraction, fixed={"numerator": 3})
    assert found.rows[0].failure == "the function returned Fraction(3, 1), expected a dict or a Solution"


def test_rows_as_frame_and_csv(tmp_path):
    pandas = pytest.importorskip("pandas")
    found = sweep(squared, fixed={"place": str(tmp_path)}, grid={"number": [1, 2]})
    frame = found.to_frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == [
        *("place", "number", "failure", "strategies", "square", "parts.half", "many.0", "many.1")
    ]
    assert frame["square"].tolist() == [1, 4]
    lines = found.to_csv().splitlines()
    assert lines[0].split(",")[:2] == ["place", "number"]
    assert len(lines) == 3


# The picture and the report


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    return sweep(squared, fixed={"place": str(folder)}, grid={"number": [1, 2, 3], "offset": [0, 5]})


def test_a_picture_has_a_line_for_each_other_setting(found):
    pytest.importorskip("matplotlib")
    (axes,) = found.figure(y="square").axes
    lines = {line.get_label(): line.get_xydata().tolist() for line in axes.lines}
    assert lines == {"offset=0": [[1, 1], [2, 4], [3, 9]], "offset=5": [[1, 6], [2, 9], [3, 14]]}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("number", "square")
    (axes,) = found.figure("offset", "parts.half").axes
    assert len(axes.lines) == 3


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            {"x": "nummer"},
            r"x is 'nummer' \(did you mean number\?\), expected one of the varied settings: number, offset",
        ),
        ({"y": "squares"}, r"y is 'squares' \(did you mean square\?\), expected a numeric result"),
    ],
)
def test_a_picture_of_what_is_not_there_is_refused(asked, expected, found):
    with pytest.raises(UnsupportedProblemError, match=expected):
        found.figure(**asked)


def test_too_many_lines_are_refused(tmp_path):
    pytest.importorskip("matplotlib")
    many = sweep(squared, fixed={"place": str(tmp_path)}, grid={"number": [1, 2], "offset": list(range(13))})
    with pytest.raises(UnsupportedProblemError, match="13 lines, one for each of offset; expected at most 12"):
        many.figure()


def test_a_report_has_every_result_and_every_failure(tmp_path):
    found = sweep(squared, fixed={"place": "<b>"}, grid={"number": [1, -1]})  # neither can write there
    page = found.report().to_html()
    assert page.count("&lt;b&gt;") >= 1
    assert "<b>" not in page.replace("<b>treeplex", "")
    assert "2 failed" in page
    found = sweep(squared, fixed={"place": str(tmp_path)}, grid={"number": [7, -1]})
    page = found.report(command="treeplex sweep 'a b.toml'").to_html()
    assert "ValueError: it is\\nnegative" in page
    assert "treeplex sweep 'a b.toml'" in page
    assert "49" in page
    with pytest.raises(UnsupportedProblemError):
        found.report(y="nothing")


# Clusters

#: With a tolerance, when a method stops depends on the clock.
ASKED = {
    "fixed": {"command": "solve", "game": "kuhn", "seed": 1},
    "settings": [
        {"method": "highs"},
        *({"method": method, "tol": 0, "max_iterations": 200} for method in ("cfr+", "es-mccfr")),
        {"method": "none-such"},
    ],
}


def results(found) -> list:
    timed = ("seconds", "build_seconds", "time", "history")
    return [
        (row.setting, row.failure, {name: value for name, value in (row.result or {}).items() if name not in timed})
        for row in found.rows
    ]


@pytest.fixture(scope="module")
def here():
    return results(sweep(run_command, **ASKED))


@pytest.mark.slow
def test_processes_find_what_one_process_finds(here, tmp_path):
    assert results(sweep(run_command, tmp_path, **ASKED, backend="processes", jobs=2)) == here
    assert here[-1][1].startswith("unknown method 'none-such'")


@pytest.mark.slow
def test_processes_are_where_the_sweep_is_though_they_were_begun_elsewhere(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        found = [str(path) for path in calls(os.getcwd, [()] * 3, 2)]
        assert found == [str(tmp_path / name)] * 3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of theirs
def test_a_dask_cluster_finds_what_processes_find(here, tmp_path):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        found = sweep(run_command, tmp_path, **ASKED, backend="dask", address=cluster.scheduler_address)
        assert results(found) == here
        assert all((tmp_path / row.strategies).is_file() for row in found.rows if row.passed)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_dask_workers_with_several_threads_find_the_same(here):
    pytest.importorskip("distributed")
    from distributed import Client, LocalCluster
    from joblib import parallel_config

    with (
        LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        Client(cluster),
        parallel_config("dask", n_jobs=-1),
    ):
        assert results(sweep(run_command, **ASKED)) == here


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_finds_what_processes_find(here, tmp_path):
    pytest.importorskip("ray")
    assert results(sweep(run_command, tmp_path, **ASKED, backend="ray", jobs=2)) == here


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ray_does_not_take_over_the_signal_that_ends_a_run():
    pytest.importorskip("ray")
    before = signal.signal(signal.SIGTERM, own := lambda number, frame: None)
    try:
        with ray_cluster(None, 1):
            assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize(("backend", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_a_missing_cluster_is_said(backend, module, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"the backend {backend} needs .*treeplex\[{backend}\]"):
        sweep(run_command, **ASKED, backend=backend)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_an_address_where_nobody_answers_is_one_line():
    pytest.importorskip("distributed")
    with pytest.raises(SolverError, match=r"no Dask scheduler answers at tcp://127.0.0.1:1: "):
        sweep(run_command, **ASKED, backend="dask", address="tcp://127.0.0.1:1")
