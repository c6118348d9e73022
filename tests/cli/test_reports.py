"""``--html``: every command's report says what the command found, works in a browser, and stays a file of its own."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chromium import opened, overflows
from effort import thorough

from treeplex import Strategy, load_game
from treeplex.cli import main
from treeplex.validation import Report, Row
from treeplex.validation.html_page import html_page

COMMANDS = {
    "solve": ["solve", "kuhn", "--problem", "rnr", "--opponent", "uniform", "--p", "0.5"],
    "frontier": ["solve", "kuhn", "--problem", "rnr", "--opponent", "uniform", "--frontier"],
    "sensitivity": [
        *("solve", "kuhn", "--problem", "constrained", "--constrain", "0/J_:b >= 0.3 as jack"),
        *("--sensitivity", "jack=0:1"),
    ],
    "transit": ["solve", "transit:width=2", "--problem", "constrained", "--constrain", "risk <= 1/10"],
    "style": ["style", "kuhn", "--target", "b@first >= 0.6", "--max-loss", "0.05", "--curve"],
    "evaluate": ["evaluate", "kuhn", "--strategy", "uniform", "--constrain", "0/K_:b <= 0.4", "--tol", "1"],
    "evaluate one": ["evaluate", "kuhn", "--strategy", "one.json"],
    "compare": ["compare", "one.json", "nash", "--game", "kuhn"],
    "sample": ["sample", "kuhn", "--max-iterations", "200", "--games", "50"],
    "sweep": ["sweep", "sweep.toml", "--out", "swept", "--jobs", "1"],
    "fit": ["fit", "log.jsonl", "--game", "kuhn", "--seat", "0", "--confidence", "0.95"],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Strategy.from_dict(load_game("kuhn"), 0, {"K_": {"p": 0.0, "b": 1.0}}).save("one.json")
    (tmp_path / "sweep.toml").write_text(
        'command = "solve"\n[grid]\ngame = ["kuhn", "rps"]\nmethod = ["highs", "cfr+"]'
    )
    return tmp_path


@pytest.mark.slow
def test_every_report(folder: Path, chromium: Any, capsys: pytest.CaptureFixture[str]) -> None:
    log = ["play", "kuhn", "--seat0", "nash", "--seat1", "uniform", "--games", "300", "--seed", "1"]
    assert main([*log, "--out", "log.jsonl"]) == 0
    for name, arguments in COMMANDS.items():
        path = folder / "report.html"
        assert main([*arguments, "--html", "report.html"]) == 0, name
        assert re.search(r"^report in +report.html$", capsys.readouterr().out, re.MULTILINE), name
        with opened(chromium, path, 390) as page:
            assert not overflows(page), name
            assert page.locator("h1").inner_text().endswith("?"), name
            assert "To cite:" in page.locator("footer").inner_text()
            again = page.locator("pre").inner_text()
            assert again.startswith(f"treeplex {arguments[0]} ")
            assert again.endswith("--html report.html")
            for slider in page.locator(".slider input[type=range]").all():
                before = page.locator(".slider").first.inner_text()
                slider.fill(slider.get_attribute("min"))
                assert page.locator(".slider").first.inner_text() != before, name


@thorough
def test_report_of_a_suite(folder: Path, chromium: Any) -> None:
    rows = [
        Row("rps", "nash", "cfr", 0.0, 0.0, 0.0, 0.0, 0.0, 1e-3, 5, 0.1, failure=failure) for failure in ("", "a<b")
    ]
    html_page(Report("quick", tuple(rows), 1.0), "treeplex validate --html report.html").save("report.html")
    for width in (390, 1280):
        with opened(chromium, folder / "report.html", width) as page:
            assert not overflows(page)
            assert page.locator("tr.bad").inner_text() == "a<b"
            assert page.locator("pre").inner_text() == "treeplex validate --html report.html"


def test_reports_say_what_json_says(folder: Path) -> None:
    assert main([*COMMANDS["solve"], "--html", "a.html", "--json", "a.json"]) == 0
    found, html = json.loads(Path("a.json").read_text()), Path("a.html").read_text()
    assert f"<dd>{found['lower']:.10f} to {found['upper']:.10f}</dd>" in html
    assert f"{found['gain']:.6g} more than the value of the game" in html
    assert main([*COMMANDS["style"], "--html", "b.html", "--json", "b.json"]) == 0
    assert f"<b>{json.loads(Path('b.json').read_text())['least_loss']:.6g}</b>" in Path("b.html").read_text()


def test_infeasible_constraints_have_a_report(folder: Path) -> None:
    constraints = ["--constrain", "0/J_:b >= 0.7 as often", "--constrain", "0/J_:b <= 0.4 as seldom"]
    assert main(["solve", "kuhn", "--problem", "constrained", *constraints, "--html", "a.html"]) == 1
    assert "exclude each other" in Path("a.html").read_text()


def test_options_are_called_as_on_the_command_line(folder: Path) -> None:
    assert main(["solve", "kuhn", "--method", "cfr", "--max-iterations", "5", "--html", "a.html"]) == 0
    assert "raise --max-iterations, loosen --tol" in Path("a.html").read_text()


@pytest.mark.parametrize("name", ["solve", "style", "evaluate", "compare", "sample", "fit"])
def test_a_report_has_a_file_of_its_own(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("log.jsonl").touch()
    assert main([*COMMANDS[name], "--html", "same", "--json", "same"]) == 2
    assert re.search("--(html|json) and --(html|json) name the same file, same", capsys.readouterr().err)
    assert not Path("same").exists()


def test_a_report_is_never_written_to_standard_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMANDS["compare"], "--html", "-"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "error: --html: a page cannot be written to standard output; give a file name\n"
    assert not Path("-").exists()
