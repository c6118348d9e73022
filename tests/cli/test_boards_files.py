"""``treeplex sweep`` over boards: one spot on many boards, with resume, reports and mistakes."""

import csv
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from effort import PATIENCE, either, thorough

from treeplex.cli import main
from treeplex.cli.boards import jobs_within_budget
from treeplex.cli.sweep import _Where
from treeplex.models.games.holdem.board_sets import BoardsFile

RIVERS = [f"Td9d6hQc{rank}{suit}" for rank in "2347A" for suit in "cdhs"]
SPOT = """
pot = 100
stack = 300

[ranges]
oop = "99+, AQs+, JTs"
ip = "QQ-77, AKs, T9s, 87s"

[bets]
bet = "66%"
raise = "a"
"""
#: The tables that scroll sideways, in JavaScript.
SCROLLING = """[...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.innerText)"""
LOCKS = ("locks", "unlocked_ev", "lock_gain", "lock_risk", "lock_intervals", "interval_cost", "likely_from")
SOLVE = """
[solve]
at = ["check", "check, bet 66"]
"""


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("boards.toml").write_text(f"boards = {json.dumps(RIVERS)}{SPOT}{SOLVE}")
    return "boards.toml"


def lines_of(folder: str) -> list[bytes]:
    file = Path(folder, "results.jsonl")
    return file.read_bytes().split(b"\n")[:-1] if file.exists() else []


def swept(file: str, capsys, *words: str) -> dict:
    assert main(["sweep", file, "--out", "out", "--jobs", "1", "--json", "-", *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_boards_are_resumed_and_equal_single_solves(file, capsys):
    count, kept = either((4, 2), (20, 12))
    Path(file).write_text(Path(file).read_text().replace(json.dumps(RIVERS), json.dumps(RIVERS[:count])))
    first = swept(file, capsys)
    lines = lines_of("out")
    assert len(lines) == count
    # As a kill leaves the folder: whole lines, and a part of one.
    Path("out/results.jsonl").write_bytes(b"\n".join(lines[:kept]) + b"\n" + lines[kept][:50])
    again = swept(file, capsys)
    assert lines_of("out")[:kept] == lines[:kept]
    assert len(lines_of("out")) == count
    for one, other in zip(first["rows"], again["rows"], strict=True):
        assert one["board"] == other["board"]
        assert one["result"]["ev"] == pytest.approx(other["result"]["ev"])
    for row in (again["rows"][0], again["rows"][kept + 1]):
        Path("one.toml").write_text(f'board = "{row["board"]}"{SPOT}')
        assert main(["solve", "one.toml", "--at", "check, bet 66", "--json", "-"]) == 0
        single, result = json.loads(capsys.readouterr().out), row["result"]
        within = 2 * (single["exploitability"] + result["exploitability"]) + 1e-9
        for seat in (0, 1):
            assert result["ev"][seat] == pytest.approx(single["ev"][seat], abs=within)
            assert result["equity"][seat] == pytest.approx(single["equity"][seat])
        assert result["root"] == pytest.approx(single["root"], abs=1e-6)
        node, mean = result["lines"]["check, bet 66"], single["at"]["averages"]
        assert node["probability"] == pytest.approx(single["at"]["probability"], abs=1e-6)
        assert node["actions"] == pytest.approx({name: mean[name] for name in node["actions"]}, abs=1e-6)
        assert {*single} - {"history", "at", "question", *LOCKS} <= {*result}


def test_averages_weight_boards_with_their_number_pairs_of_hands_and_lines(file, capsys):
    Path(file).write_text(f'boards = ["Td9d6hQc2s:3", "Td9d6hQcAs"]{SPOT}{SOLVE}')
    record = swept(file, capsys)
    rows, pairs = record["rows"], BoardsFile.read(file).boards.reach.tolist()
    shares = [row["share"] for row in rows]
    assert shares == pytest.approx([3 * pairs[0] / (3 * pairs[0] + pairs[1]), pairs[1] / (3 * pairs[0] + pairs[1])])
    mean = record["averages"][0]
    assert (mean["texture"], mean["boards"]) == ("all", 2)
    assert mean["oop_ev"] == pytest.approx(
        sum(of * row["result"]["ev"][0] for of, row in zip(shares, rows, strict=True))
    )
    assert mean["oop_ev"] + mean["ip_ev"] == pytest.approx(100)
    nodes = [row["result"]["lines"]["check, bet 66"] for row in rows]
    reached = [of * node["probability"] for of, node in zip(shares, nodes, strict=True)]
    folds = sum(of * node["actions"]["fold"] for of, node in zip(reached, nodes, strict=True)) / sum(reached)
    assert mean["check, bet 66: fold"] == pytest.approx(folds)
    assert mean["check, bet 66: probability"] == pytest.approx(sum(reached))
    by_high_card = {row["value"]: row for row in record["averages"] if row["texture"] == "high_card"}
    assert list(by_high_card) == ["A", "Q"]
    assert by_high_card["A"]["oop_ev"] == pytest.approx(rows[1]["result"]["ev"][0])
    table, averages = (
        list(csv.DictReader(Path("out", name).read_text().splitlines())) for name in ("results.csv", "averages.csv")
    )
    assert [(row["board"], row["weight"], row["high_card"]) for row in table] == [
        ("Td9d6hQc2s", "3.0", "Q"), ("Td9d6hQcAs", "1.0", "A")
    ]  # fmt: skip
    assert float(table[0]["check, bet 66: fold"]) == nodes[0]["actions"]["fold"]
    assert [row["value"] for row in averages] == [row["value"] for row in record["averages"]]


def test_a_failing_board_does_not_stop_the_others(file, capsys):
    locked = '[[locks]]\nseat = "ip"\nat = "check"\nhands = "JsTs, 8h7h"\nstrategy = { check = 1 }\n'
    Path(file).write_text(f'boards = ["Td9d6hQc8h", "Td9d6hQc2s"]{SPOT}{locked.replace("JsTs, ", "")}')
    assert main(["sweep", file, "--out", "out", "--jobs", "1", "--json", "-", "--html", "a.html"]) == 1
    record = json.loads(capsys.readouterr().out)
    assert [bool(row["failure"]) for row in record["rows"]] == [True, False]
    assert record["averages"][0]["boards"] == 1
    page = Path("a.html").read_text()
    assert "1 of 2 boards done, 1 failed" in page
    assert "Td9d6hQc8h" in page


def test_boards_that_a_range_cannot_reach_are_named_and_not_solved(file, capsys):
    Path(file).write_text(f'boards = ["Td9d6hQc2s", "AsAhAdAcKs"]{SPOT}'.replace("99+, AQs+, JTs", "AA"))
    Path(file).write_text(Path(file).read_text().replace('"Td9d6hQc2s", "AsAhAdAcKs"', '"Td9d6h2c2s", "AsAhAdKcKs"'))
    assert main(["sweep", file, "--out", "out", "--jobs", "1"]) == 0
    shown = capsys.readouterr().out
    assert "1 of 1 board done" in shown
    assert "; 1 not reached by the ranges" in shown


def test_results_do_not_depend_on_comments_or_on_other_boards(file, capsys):
    swept(file, capsys)
    kept = Path("out/results.jsonl").read_bytes()
    text = Path(file).read_text().replace("pot = 100", "# chips\npot = 100").replace('"Td9d6hQc2c", ', "")
    Path(file).write_text(text)
    assert len(swept(file, capsys)["rows"]) == 19
    assert Path("out/results.jsonl").read_bytes() == kept
    fewer = text.replace(json.dumps(RIVERS[1:]), '["Td9d6hQc2d"]')
    Path(file).write_text(fewer.replace("pot = 100", "pot = 101").replace("bet 66", "bet 67"))
    assert len(swept(file, capsys)["rows"]) == 1
    assert Path("out/results.jsonl").read_bytes() != kept


def test_solved_spots_are_kept_on_request(file, capsys):
    Path(file).write_text(f'boards = ["Td9d6hQc2s"]{SPOT}[solve]\nkeep = true\n')
    (row,) = swept(file, capsys)["rows"]
    assert main(["show", f"out/{row['strategies']}", "--json", "-"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["board"] == "Td9d6hQc2s"
    assert shown["ev"] == pytest.approx(row["result"]["ev"], abs=1e-3)


def test_a_rake_is_taken(file, capsys):
    Path(file).write_text(f'boards = ["Td9d6hQc2s"]{SPOT}[rake]\nrate = 0.05\n[solve]\nmax_iterations = 200\n')
    result = swept(file, capsys)["rows"][0]["result"]
    assert result["problem"] == "epsilon-nash"
    assert sum(result["ev"]) + result["rake"] == pytest.approx(100)


def test_limits_may_be_numbers_or_strings_as_on_the_command_line(file, capsys):
    Path(file).write_text(
        f'boards = ["Td9d6hQc2s"]{SPOT}[solve]\nmethod = "dcfr"\ntol = 0\nmax_iterations = 1e1\ntime_limit = "60"\n'
    )
    result = swept(file, capsys)["rows"][0]["result"]
    assert (result["iterations"], result["method"], result["status"]) == (10, "dcfr", "iteration_limit")


def test_boards_are_listed_without_being_solved(file, capsys):
    assert main(["sweep", file, "--list"]) == 0
    shown = capsys.readouterr().out
    assert "20 listed boards" in shown
    assert "flush possible" in shown
    assert list(Path().iterdir()) == [Path(file)]


@pytest.mark.parametrize(("times", "boards"), [(0.5, 1), (2.9, 2), (3.1, 3)])
def test_the_memory_budget_limits_the_number_of_boards_at_once(times, boards, file, monkeypatch, capsys):
    read = BoardsFile.read(file).boards
    needed = max(read.on(board).size.total_bytes for board in RIVERS)
    monkeypatch.setenv("TREEPLEX_MEMORY", str(int(times * needed)))
    assert jobs_within_budget(read, 3) == boards
    assert (f"note: {boards} of 3 boards at once: a board takes about" in capsys.readouterr().err) == (boards < 3)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("boards = [", "baords = [", "line 1: unknown key 'baords' (did you mean boards?)"),
        ("at = [", "att = [", "boards.toml: [solve]: unknown key 'att' (did you mean at?); expected one of tol,"),
        ("[solve]", '[solve]\ntol = "few"', "boards.toml: [solve]: invalid value for '--tol': few, expected a number"),
        ("[solve]", '[solve]\nmethod = "dcfrr"', "unknown method 'dcfrr' (did you mean dcfr?)"),
        ("[solve]", "[solve]\nmethod = 3", "unknown method '3'"),
        ("[solve]", "[solve]\ntol = []", "boards.toml: [solve]: tol is [], expected one value"),
        ("[solve]", "[solve]\nkeep = 1", "[solve]: keep is 1, expected true or false"),
        ('"check", ', '"chek", ', "[solve]: at: there is no 'chek' at the root (did you mean check?)"),
        ('"check", ', "3, ", "[solve]: at is [3, 'check, bet 66'], expected lines, such as"),
        ("99+, AQs+, JTs", "AsAh", "boards: none of them leaves both ranges hands"),
    ],
)  # fmt: skip
def test_mistakes_in_the_file_are_one_line_before_anything_is_solved(before, after, expected, file, capsys):
    text = Path(file).read_text().replace(before, after, 1)
    if "AsAh" in after:
        text = text.replace(json.dumps(RIVERS), json.dumps([one for one in RIVERS if "As" in one]))
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
        (["sweep", "boards.toml"], "--out is missing, expected a folder"),
        (["sweep", "boards.toml", "--out", "out", "--plot", "a.svg"], "--plot draws a result against a setting"),
        (["sweep", "boards.toml", "--out", "out", "--on", "locl:2"], "--on locl:2 (did you mean local?): exp"),
        (["sweep", "boards.toml", "--out", "out", "--on", "local:0"], "--on local:0: expected local:N, dask://HOST:P"),
        (["sweep", "boards.toml", "--out", "out", "--on", "local:2", "--jobs", "3"], "--on local:2 and --jobs: exp"),
        (["sweep", "boards.toml", "--out", "out", "--on", "ray://a:1", "--backend", "dask"], "and --backend: expected"),
        (["sweep", "one.toml", "--out", "out"], "line 1: it has one board: run treeplex solve one.toml, or write"),
        (["solve", "boards.toml"], "line 1: boards: run treeplex sweep boards.toml --out DIR, or give one board"),
    ],
)  # fmt: skip
def test_mistakes_on_the_command_line_are_one_line(words, expected, file, capsys):
    Path("one.toml").write_text(f'board = "Td9d6hQc2s"{SPOT}')
    assert main(words) == 2
    shown = capsys.readouterr()
    assert expected in shown.err
    assert shown.err.count("\n") == 1


def test_the_place_of_workers_can_be_given_in_one_option():
    plain = {"backend": "processes", "address": None, "jobs": None, "retry": False}
    assert _Where().arguments() == _Where(on="local").arguments() == plain
    assert _Where(on="local:3").arguments() == plain | {"jobs": 3}
    assert _Where(on="local", jobs=2).arguments() == plain | {"jobs": 2}
    assert _Where(on="dask://host:8786").arguments() == plain | {"backend": "dask", "address": "tcp://host:8786"}
    assert _Where(on="dask://", jobs=2).arguments() == plain | {"backend": "dask", "jobs": 2}
    assert _Where(on="ray://host:10001").arguments() == plain | {"backend": "ray", "address": "ray://host:10001"}
    assert _Where(on="ray://auto").arguments() == plain | {"backend": "ray", "address": "auto"}


# The page


@thorough
def test_filters_choose_boards_and_change_the_means(file, capsys, chromium):
    from chromium import opened

    record = swept(file, capsys, "--html", "a.html")
    with opened(chromium, Path("a.html").resolve()) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 1280
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        assert page.evaluate(SCROLLING) == []
        mean = page.locator("tr.mean").first
        assert mean.inner_text().split("\t")[0] == "mean of 20"
        page.locator(".filters").first.locator("select").nth(2).select_option("A")
        cells = mean.inner_text().split("\t")
        (aces,) = (row for row in record["averages"] if (row["texture"], row["value"]) == ("high_card", "A"))
        assert cells[0] == "mean of 4"
        shares = [aces[name] for name in ("check", "bet 66", "oop_ev", "ip_ev", "oop_equity", "share")]
        assert [float(cell) for cell in cells[1:7]] == pytest.approx(shares, abs=5.1e-3)
        shown = page.locator("table.sortable").first.locator("tbody tr:visible")
        assert shown.count() == 4
        after = page.locator("tr.mean").nth(2)
        page.locator(".filters").nth(2).locator("select").nth(2).select_option("A")
        folds = float(after.inner_text().split("\t")[2])
        assert folds == pytest.approx(aces["check, bet 66: fold"], abs=3e-4)
    with opened(chromium, Path("a.html").resolve(), 390) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 390
        assert page.evaluate(SCROLLING) != []
        page.evaluate("document.querySelectorAll('.scroll').forEach((one) => { one.scrollLeft = 9999 })")
        board = page.locator("table.sortable").first.locator("tbody td").first
        assert board.bounding_box()["x"] == page.locator("h1").bounding_box()["x"]


# Interruptions and clusters


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_after_a_kill_the_other_boards_are_solved(number, file, capsys):
    Path(file).write_text(Path(file).read_text() + 'method = "dcfr"\ntol = 0\nmax_iterations = 20000\n')
    command = [sys.executable, "-P", "-m", "treeplex", "sweep", file, "--out", "out", "--on", "local:2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + PATIENCE
    while len(lines_of("out")) < 2:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), out + err
    before = b"\n".join(lines_of("out"))
    assert len(before.split(b"\n")) < 20
    assert subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE).returncode == 0
    after = Path("out/results.jsonl").read_bytes()
    assert after.startswith(before)
    assert len(lines_of("out")) == 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of theirs
def test_a_dask_cluster_finds_the_same_numbers(file, capsys):
    distributed = pytest.importorskip("distributed")
    here = swept(file, capsys)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        place = f"dask://{cluster.scheduler_address.removeprefix('tcp://')}"
        assert main(["sweep", file, "--out", "there", "--on", place, "--json", "-"]) == 0
    there = json.loads(capsys.readouterr().out)
    for name in ("oop_ev", "ip_ev", "oop_equity", "check", "bet 66", "check, bet 66: fold"):
        assert [row[name] for row in there["averages"]] == pytest.approx([row[name] for row in here["averages"]])
