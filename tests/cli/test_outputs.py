"""What a command found is not lost with an output that fails, nor for a signal."""

import dataclasses
import errno
import json
import re
import shutil
import signal
import time
from pathlib import Path

import pytest
from clocks import Clock, needs_ctrl_c
from effort import either, few
from interruptions import Moment
from reviewed_hands import river, written

from treeplex import Profile
from treeplex.cli import checking, files, main
from treeplex.cli.application import COMMANDS, application
from treeplex.seqform import limits
from treeplex.solvers import iteration
from treeplex.validation import bank
from treeplex.validation.papers import CDRNRFigure4

#: Options that name a file which is written, in the order in which they are.
_OPTIONS = {"--json": "found.json", "--out": "out.npz", "--html": "page.html", "--plot": "plot.svg", "--chart": "c.svg"}
_SPOT = 'board = "Ks8d4h7c2s"\npot = 60\nstack = 60\n[ranges]\noop = "AA,22"\nip = "KK,33"\n[bets]\nbet = "a"\n'
_BOT = "samples = 10\n[[rounds]]\nx = -0.2\ny = 0.1\nz = 0.5\np = [3, 10, 0, 40]\nq = [2.5, 1, 0, 0]\n"
_SWEEP = 'command = "solve"\ngame = "kuhn"\n[grid]\nmethod = ["highs"]\n'
_PATROL = (
    'map = "roads.csv"\nsteps = 3\n[[units]]\nbase = "b"\n[[attackers]]\nentries = ["a"]\ngoals = { c = 1, d = 1 }\n'
)
#: What each command is given besides, and of which options it takes fewer.
_CALLS = {
    "games": [],
    "problems": [],
    "methods": [],
    "info": ["kuhn"],
    "solve": ["kuhn"],
    "style": ["kuhn", "--target", "b@all >= 0.3", "--max-loss", "0.1", "--curve"],
    "simplify": ["kuhn", "--steps", "3"],
    "sample": ["kuhn", "--max-iterations", "100"],
    "play": ["kuhn", "--seat0", "uniform", "--seat1", "uniform", "--games", "20"],
    "match": ["call", "random", "--hands", "4"],
    "tune": ["tiny.toml", *("--opponent", "call", "--steps", "1", "--matches", "3", "--hands", "4")],
    "portfolio": ["call", "fold", "--opponent", "call", "--hands", "4"],
    "patrol": ["roads.csv", "--entry", "a", "--goal", "c=1", "--unit", "base=b", "--steps", "3"],
    "patrol schedule": ["plan.npz", "--days", "2", "--seed", "1"],
    "patrol roster": ["plan.npz", "--days", "2", "--seed", "1"],
    "patrol evaluate": ["plan.npz"],
    "patrol learn": ["incidents.csv", "--map", "patrol.toml"],
    "patrol export": ["plan.npz", "plan.csv"],
    "fit": ["games.jsonl", "--game", "kuhn", "--seat", "0"],
    "review": ["hands.phhs", "--hero", "hero", "--against", "river.toml"],
    "show": ["kuhn.npz"],
    "evaluate": ["kuhn", "--strategy", "kuhn.npz"],
    "compare": ["kuhn.npz", "kuhn.npz"],
    "sweep": ["sweep.toml"],
    "validate": [],
    "reproduce": ["cdrnr-figure-4"],
    "export": ["kuhn"],
    "doctor": [],
    "warmup": ["regret"],
}
#: Those of a single output, and those whose output is a folder.
_ALONE = {"games", "problems", "methods", "info", "export", "patrol export", "doctor", "warmup"}
_FOLDERS = {"sweep", "reproduce"}
_FAST = ("solve", "show", "evaluate")


def options_of(name: str) -> list[str]:
    """Return the options of a command that name a file, as the application has them."""
    command = application(name).commands[name]
    known = {option for each in command.params for option in each.opts}
    return [option for option in _OPTIONS if option in known]


def _path(name: str, option: str) -> str:
    ends = {"play": "log.jsonl", "match": "hands.phhs", "patrol schedule": "routes.csv", "sample": "found.jsonl"}
    ends |= {"patrol learn": "learned.toml"}
    ends |= {"tune": "tuned.toml", "sweep": "results", "export": "kuhn.efg", "show": "copy.json"}
    ends |= {"patrol roster": "year.csv", "patrol evaluate": "hours.csv"}
    return ends.get(name, _OPTIONS[option]) if option == "--out" else _OPTIONS[option]


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    """A folder with the files that commands read."""
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(_SWEEP)
    Path("spot.toml").write_text(_SPOT)
    Path("tiny.toml").write_text(_BOT)
    Path("roads.csv").write_text("from,to\na,b\nb,c\nc,d\nd,a\n")
    Path("patrol.toml").write_text(_PATROL)
    Path("incidents.csv").write_text("target\nc\nd\nc\n")
    assert main(["solve", "kuhn", "--out", "kuhn.npz"]) == 0
    capsys.readouterr()
    return tmp_path


@pytest.fixture
def inputs(place, capsys, monkeypatch):
    """What all commands read, and suites of a few cases."""
    assert main(["patrol", *_CALLS["patrol"], "--out", "plan.npz"]) == 0
    Path("hands.phhs").write_text(written(20, 1, overfolds=0.6))
    river().spot.to_toml("river.toml")
    seats = ["--seat0", "uniform", "--seat1", "uniform"]
    assert main(["play", "kuhn", *seats, "--games", "50", "--out", "games.jsonl"]) == 0
    capsys.readouterr()
    cases = tuple(case for case in bank.QUICK.cases if case.method == "highs-simplex")[:2]
    monkeypatch.setattr(bank, "find_suite", lambda name: dataclasses.replace(bank.QUICK, cases=cases))
    monkeypatch.setattr(CDRNRFigure4, "quick_settings", {"points": 2, "halvings": 1})


def fill_the_disk(monkeypatch, path: str) -> None:
    """Let every write of a file fail at its end, as on a full disk."""
    replace, full = Path.replace, Path(path).resolve()

    def fail(self, target):
        if Path(target).resolve() == full or full in Path(target).resolve().parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)


def test_every_command_with_outputs_is_tried():
    assert {name for name in COMMANDS if options_of(name)} == set(_CALLS)


def _lose_the_last(name, arguments, monkeypatch, capsys):
    of_spots = {"--chart", "--html"} if name == "show" else {"--chart"}
    chosen = [option for option in options_of(name) if option not in of_spots]
    if name == "style" or name == "solve":
        assert chosen == ["--json", "--out", "--html", "--plot"]
    words = [word for option in chosen for word in (option, _path(name, option))]
    kept, lost = [_path(name, option) for option in chosen[:-1]], _path(name, chosen[-1])
    Path(lost).write_text("precious") if name not in _FOLDERS else None
    fill_the_disk(monkeypatch, lost)
    status = main([*name.split(), *arguments, *words])
    shown = capsys.readouterr()
    assert status not in (0, 2)
    assert shown.out
    assert [line for line in shown.err.splitlines() if line.startswith(f"error: {chosen[-1]}")]
    for path in kept:
        assert Path(path).exists(), path
    if "--json" in chosen[:-1]:
        json.loads(Path(_path(name, "--json")).read_text())
    assert name in _FOLDERS or Path(lost).read_text() == "precious"
    assert not list(Path().glob(".*treeplex-*"))  # nothing half written is left


@pytest.mark.parametrize("name", _FAST)
def test_an_output_that_fails_leaves_the_others(name, place, monkeypatch, capsys):
    _lose_the_last(name, _CALLS[name], monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in _CALLS if name not in {*_FAST, *_ALONE}])
def test_an_output_of_any_command_that_fails_leaves_the_others(name, inputs, monkeypatch, capsys):
    if name in ("play", "match"):  # their --out is written while they play: the JSON comes last
        fill_the_disk(monkeypatch, "found.json")
        status = main([name, *_CALLS[name], "--out", _path(name, "--out"), "--json", "found.json"])
        shown = capsys.readouterr()
        assert (status, bool(shown.out)) == (1, True)
        assert Path(_path(name, "--out")).stat().st_size
        return
    if name in ("patrol schedule", "patrol roster", "patrol evaluate"):
        name_of_last = _path(name, "--out")
        fill_the_disk(monkeypatch, name_of_last)
        status = main([*name.split(), *_CALLS[name], "--out", name_of_last, "--json", "found.json"])
        assert status == 1
        assert json.loads(Path("found.json").read_text())["plan"] == "plan.npz"
        return
    _lose_the_last(name, _CALLS[name], monkeypatch, capsys)


def test_a_spot_is_kept_when_its_chart_fails(place, monkeypatch, capsys):
    fill_the_disk(monkeypatch, "c.svg")
    files = ["--json", "found.json", "--out", "spot.npz", "--html", "spot.html", "--chart", "c.svg"]
    assert main(["solve", "spot.toml", *files]) == 1
    assert "EV" in capsys.readouterr().out
    assert json.loads(Path("found.json").read_text())["ev"]
    assert all(Path(name).exists() for name in ("spot.npz", "spot.html"))


def test_the_page_of_a_spot_needs_no_sequence_form(place, monkeypatch, capsys):
    from treeplex.models.games.holdem.spot import HoldemGame

    def refuse(self):
        raise AssertionError("the sequence form was built")

    monkeypatch.setattr(HoldemGame, "_form", refuse)
    assert (
        main(
            ["solve", "spot.toml", "--method", "dcfr", "--html", "spot.html", "--plot", "plot.svg", "--out", "spot.npz"]
        )
        == 0
    )
    assert main(["show", "spot.npz", "--html", "shown.html"]) == 0
    assert capsys.readouterr().err == ""


# Signals

#: What is sent a signal: by name a command and its arguments, and a key of its JSON that holds the answer.
_TIMED = {
    "solve": ("solve", ["kuhn"], "lower"),
    "solve iteratively": ("solve", ["kuhn", "--method", "cfr+", "--tol", "1e-3"], "lower"),
    "solve from regrets": ("solve", ["kuhn", "--method", "exact:direct=0"], "lower"),
    "solve in steps": ("solve", ["kuhn", "--problem", "cdbr:opponent=uniform,lookahead=1"], "objective"),
    "solve with prices": ("solve", ["kuhn", "--problem", "constrained", "--constrain", "0/K_:b <= 0.5"], "lower"),
    "solve a spot": ("solve", ["spot.toml", "--method", "dcfr"], "lower"),
    "solve a locked spot": ("solve", ["spot.toml", "--lock", 'ip at "check": check 50%'], "lower"),
    "frontier": ("solve", ["kuhn", "--problem", "rnr", "--opponent", "uniform", "--frontier"], "frontier"),
    "style": ("style", _CALLS["style"], "least_loss"),
    "style by runs": ("style", [*_CALLS["style"][:-1], "--method", "pref-cfr"], "exploitability"),
    "simplify": ("simplify", _CALLS["simplify"], "lower"),
    "simplify on grids": ("simplify", ["kuhn", "--frontier"], "frontier"),
    "simplify a spot": ("simplify", ["spot.toml", "--steps", "2"], "lower"),
    "sample": ("sample", _CALLS["sample"], "iterations"),
    "play": ("play", _CALLS["play"], "expected"),
    "match": ("match", _CALLS["match"], "hands"),
    "tune": ("tune", _CALLS["tune"], "numbers"),
    "portfolio": ("portfolio", _CALLS["portfolio"], "hands"),
    "patrol": ("patrol", _CALLS["patrol"], "lower"),
    "patrol schedule": ("patrol schedule", _CALLS["patrol schedule"], "agrees"),
    "patrol roster": ("patrol roster", _CALLS["patrol roster"], "work"),
    "patrol evaluate": ("patrol evaluate", _CALLS["patrol evaluate"], "earns"),
    "fit": ("fit", _CALLS["fit"], "guaranteed"),
    "review": ("review", _CALLS["review"], "habits"),
    "evaluate": ("evaluate", _CALLS["evaluate"], "exploitability"),
    "compare": ("compare", _CALLS["compare"], "players"),
    "sweep": ("sweep", _CALLS["sweep"], "rows"),
    "validate": ("validate", _CALLS["validate"], "rows"),
    "reproduce": ("reproduce", _CALLS["reproduce"], "rows"),
}
#: Those of which some interrupted moments have a part of the answer: from the end of the first step on.
_STEPPING = {"solve iteratively", "solve a spot"}
#: Those that write what they have by then, without a status.
_PARTS = ("play", "match", "tune", "portfolio", "sweep", "validate", "reproduce", "sample")
_BRIEF = ("solve", "solve iteratively", "match", "sweep")


class _Witness:
    """Sees from which line on there is an answer that an interrupt must not take away, and what is kept meanwhile."""

    def __init__(self, name, moment, monkeypatch):
        self.known, self.rows, self.ended = False, 0, False
        taking, keep, chunk = files.taking, checking._print_row, iteration._next_chunk

        def taken(take):
            def note():
                self.known = True
                take()

            return taking(note)

        def kept(*row):
            self.rows += moment.lines <= moment.at
            return keep(*row)

        def stepped(*chunks):
            self.known |= name in _STEPPING and moment.lines <= moment.at
            return chunk(*chunks)

        monkeypatch.setattr(files, "taking", taken)
        monkeypatch.setattr(checking, "_print_row", kept)
        monkeypatch.setattr(iteration, "_next_chunk", stepped)


def _run(name, moment, monkeypatch, capsys):
    """Run a command in an empty place for what it writes; return its status, the witness and what it printed."""
    command, arguments, _ = _TIMED[name]
    frontier = "--frontier" in arguments
    options = [each for each in options_of(command) if each != "--chart" and not (frontier and each == "--out")]
    if name != "solve":  # drawing is slow where lines are counted
        options = [each for each in options if each != "--plot" and (command != "reproduce" or each != "--out")]
    words = [word for option in options for word in (option, _path(command, option))]
    for option in options:
        path = Path(_path(command, option))
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(limits, "_read", Clock(1e-3))
        witness = _Witness(name, moment, patched)
        with moment.counting(whole=True):
            status = main([*command.split(), *arguments, *words])
            moment.at = -1
    return status, witness, capsys.readouterr()


def _sent_at(name, number, share, lines, monkeypatch, capsys):
    """Send a signal at a share of the lines that a command runs; nothing that was known by then is lost."""
    command, _, key = _TIMED[name]
    at = round(share * (lines - 1))
    status, witness, shown = _run(name, Moment(at, number.name.removeprefix("SIG")), monkeypatch, capsys)
    where = (name, number.name, at, lines, status, shown.err)
    finished = int(name == "reproduce")  # so small it does not meet its criteria
    assert status in (finished, 128 + number), where
    assert "unexpected" not in shown.err, where
    assert "Traceback" not in shown.err, where
    if status == 128 + number:  # an answer that a loop ended with says so itself
        said = shown.err.splitlines().count("error: interrupted")
        assert said == 1 or (not said and re.search("interrupted|stopped by the user", shown.out)), where
    path = Path("found.json")
    record = json.loads(path.read_text()) if path.exists() else {}
    if status and record and command not in _PARTS:
        assert record.get(key) is not None or record["status"] == "interrupted", where
    if witness.known or status == finished:
        assert record[key] is not None, where
        assert shown.out, where
        if "--out" in options_of(command) and name not in ("frontier", "simplify on grids", "reproduce"):
            assert Path(_path(command, "--out")).exists(), where
    if key == "lower" and command == "solve" and record.get(key) is not None and "spot" not in name:
        value = 0.0 if "prices" in name else -1 / 18
        assert record["lower"] - 1e-9 <= record["upper"], where
        assert "prices" in name or record["lower"] - 1e-9 <= value <= record["upper"] + 1e-9, where
    if key == "rows" and witness.rows:
        assert len(record["rows"]) >= witness.rows, where
    if command == "play" and record.get(key) is not None:
        log = Path("log.jsonl").read_text().splitlines()
        assert len([line for line in log if "result" in line]) == record["games"], where


signals = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])


#: How many lines of the library a command runs, by its name: the same in every run but the first.
_LINES = {}


def _counted(name, monkeypatch, capsys):
    if name not in _LINES:
        for _ in range(2):  # the first imports and compiles
            moment = Moment()
            status, *_ = _run(name, moment, monkeypatch, capsys)
            assert status == int(name == "reproduce")  # so small it does not meet its criteria
        _LINES[name] = moment.lines
    return _LINES[name]


@few
@needs_ctrl_c
@signals
@pytest.mark.parametrize("name", _BRIEF)
def test_a_signal_does_not_take_away_what_is_known(name, number, place, monkeypatch, capsys):
    lines = _counted(name, monkeypatch, capsys)
    for share in either((0.8,), (0.5, 0.8, 0.97)):
        _sent_at(name, number, share, lines, monkeypatch, capsys)


@pytest.mark.slow
@needs_ctrl_c
@signals
@pytest.mark.parametrize("name", _TIMED)
def test_a_signal_at_ten_moments_does_not_take_away_what_is_known(name, number, inputs, monkeypatch, capsys):
    lines = _counted(name, monkeypatch, capsys)
    for moment in range(10):
        _sent_at(name, number, (moment + 0.5) / 10, lines, monkeypatch, capsys)


def test_every_command_that_takes_time_is_sent_signals():
    brief = {
        "games",
        "problems",
        "methods",
        "info",
        "show",
        "export",
        "patrol export",
        "patrol learn",
        "doctor",
        "warmup",
    }
    assert {command for command, *_ in _TIMED.values()} == set(_CALLS) - brief


def test_a_time_limit_does_not_take_away_a_file_with_the_answer(tmp_path, monkeypatch, capsys):
    save = Profile.save

    def slowly(self, path):
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            pass
        save(self, path)

    monkeypatch.setattr("treeplex.cli.outputs.LATE", 0.0)
    monkeypatch.setattr(Profile, "save", slowly)
    out = tmp_path / "x.npz"
    options = ["--method", "cfr", "--tol", "0", "--max-iterations", "999999999", "--time-limit", "0.2"]
    assert main(["solve", "kuhn", *options, "--out", str(out)]) == 0, capsys.readouterr().err
    assert out.is_file()
