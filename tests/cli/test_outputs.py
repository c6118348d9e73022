"""What a command found is not lost with an output that fails, nor for a signal."""

import errno
import json
import signal
import threading
from pathlib import Path

import pytest

from treeplex import Profile, load_game
from treeplex.cli import main, outputs
from treeplex.cli.application import COMMANDS, application
from treeplex.seqform import limits

#: Options that name a file which is written, in the order in which they are.
_OPTIONS = {"--json": "found.json", "--out": "out.npz", "--html": "page.html", "--plot": "plot.svg", "--chart": "c.svg"}
_SPOT = 'board = "Ks8d4h7c2s"\npot = 60\nstack = 60\n[ranges]\noop = "AA,22"\nip = "KK,33"\n[bets]\nbet = "a"\n'
_SWEEP = 'command = "solve"\ngame = "kuhn"\n[grid]\nmethod = ["highs"]\n'
#: What each command is given besides, and of which options it takes fewer.
_CALLS = {
    "games": [],
    "problems": [],
    "methods": [],
    "info": ["kuhn"],
    "solve": ["kuhn"],
    "style": ["kuhn", "--target", "b@all >= 0.3", "--max-loss", "0.1", "--curve"],
    "sample": ["kuhn", "--max-iterations", "100"],
    "play": ["kuhn", "--seat0", "uniform", "--seat1", "uniform", "--games", "20"],
    "match": ["call", "random", "--hands", "4"],
    "patrol": ["roads.csv", "--entry", "a", "--goal", "c=1", "--unit", "base=b", "--steps", "3"],
    "patrol schedule": ["plan.npz", "--days", "2", "--seed", "1"],
    "fit": ["games.jsonl", "--game", "kuhn", "--seat", "0"],
    "show": ["kuhn.npz"],
    "evaluate": ["kuhn", "--strategy", "kuhn.npz"],
    "compare": ["kuhn.npz", "kuhn.npz"],
    "sweep": ["sweep.toml"],
    "validate": [],
    "reproduce": ["kuhn-family"],
    "export": ["kuhn"],
    "doctor": [],
    "warmup": ["regret"],
}
#: Those of a single output, and those that take minutes.
_ALONE = {"games", "problems", "methods", "info", "export", "doctor", "warmup"}
_LONG = {"validate", "reproduce"}
_FAST = ("solve", "show", "evaluate")


def options_of(name: str) -> list[str]:
    """Return the options of a command that name a file, as the application has them."""
    command = application(name).commands[name]
    known = {option for each in command.params for option in each.opts}
    return [option for option in _OPTIONS if option in known]


def _path(name: str, option: str) -> str:
    ends = {"play": "log.jsonl", "match": "hands.phhs", "patrol schedule": "routes.csv", "sample": "found.jsonl"}
    ends |= {"sweep": "results", "export": "kuhn.efg", "show": "copy.json"}
    return ends.get(name, _OPTIONS[option]) if option == "--out" else _OPTIONS[option]


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    """A folder with the files that commands read."""
    monkeypatch.chdir(tmp_path)
    Path("sweep.toml").write_text(_SWEEP)
    Path("spot.toml").write_text(_SPOT)
    Path("roads.csv").write_text("from,to\na,b\nb,c\nc,d\nd,a\n")
    assert main(["solve", "kuhn", "--out", "kuhn.npz"]) == 0
    capsys.readouterr()
    return tmp_path


def fill_the_disk(monkeypatch, path: str) -> None:
    """Let every write of a file fail at its end, as on a full disk."""
    replace, full = Path.replace, Path(path).resolve()

    def fail(self, target):
        if Path(target).resolve() == full or full in Path(target).resolve().parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", fail)


def test_every_command_with_outputs_is_tried():
    names = {each.__name__.replace("_", " ") for each in COMMANDS}
    assert {name for name in names if options_of(name)} == set(_CALLS)


def _lose_the_last(name, arguments, monkeypatch, capsys):
    of_spots = {"--chart", "--html"} if name == "show" else {"--chart"}
    chosen = [option for option in options_of(name) if option not in of_spots]
    if name == "style" or name == "solve":
        assert chosen == ["--json", "--out", "--html", "--plot"]
    words = [word for option in chosen for word in (option, _path(name, option))]
    kept, lost = [_path(name, option) for option in chosen[:-1]], _path(name, chosen[-1])
    Path(lost).write_text("precious") if name != "sweep" else None
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
    assert Path(lost).read_text() == "precious" if name != "sweep" else True
    assert not list(Path().glob(".*treeplex-*"))  # nothing half written is left


@pytest.mark.parametrize("name", _FAST)
def test_an_output_that_fails_leaves_the_others(name, place, monkeypatch, capsys):
    _lose_the_last(name, _CALLS[name], monkeypatch, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in _CALLS if name not in {*_FAST, *_ALONE, *_LONG}])
def test_an_output_of_any_command_that_fails_leaves_the_others(name, place, monkeypatch, capsys):
    if name == "patrol schedule":
        assert main(["patrol", *_CALLS["patrol"], "--out", "plan.npz"]) == 0
    if name == "fit":
        seats = ["--seat0", "uniform", "--seat1", "uniform"]
        assert main(["play", "kuhn", *seats, "--games", "50", "--out", "games.jsonl"]) == 0
    capsys.readouterr()
    if name in ("play", "match"):  # their --out is written while they play: the JSON comes last
        fill_the_disk(monkeypatch, "found.json")
        status = main([name, *_CALLS[name], "--out", _path(name, "--out"), "--json", "found.json"])
        shown = capsys.readouterr()
        assert (status, bool(shown.out)) == (1, True)
        assert Path(_path(name, "--out")).stat().st_size
        return
    if name == "patrol schedule":
        name_of_last = _path(name, "--out")
        fill_the_disk(monkeypatch, name_of_last)
        status = main(["patrol", "schedule", *_CALLS[name], "--out", name_of_last, "--json", "found.json"])
        assert status == 1
        assert json.loads(Path("found.json").read_text())["days"] == 2
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


class _Clock:
    """A clock that the main thread moves on by reading it, and that raises a signal at one of the readings."""

    def __init__(self, monkeypatch, number=None, at=-1):
        self.time, self.readings, self.number, self.at = 0.0, 0, number, at
        self.delivering = self.delivered = None
        began, deliver = outputs.Outputs.__init__, outputs.Outputs.deliver

        def begin(made, record):
            self.delivering = self.readings if self.delivering is None else self.delivering
            began(made, record)

        def end(*given):
            status = deliver(*given)
            self.delivered = self.readings
            return status

        monkeypatch.setattr(outputs.Outputs, "__init__", begin)
        monkeypatch.setattr(outputs.Outputs, "deliver", end)
        monkeypatch.setattr(limits, "_read", self.read)

    def read(self):
        if threading.current_thread() is threading.main_thread():
            self.time += 1e-3
            self.readings += 1
            if self.readings == self.at:
                signal.raise_signal(self.number)
        return self.time


_FILES = ["--json", "found.json", "--out", "out.npz", "--html", "page.html"]


def _interrupted(number, at, monkeypatch, capsys):
    """Run a solve that a signal comes to, and check what is left."""
    for name in ("found.json", "out.npz", "page.html"):
        Path(name).unlink(missing_ok=True)
    with monkeypatch.context() as patched:
        clock = _Clock(patched, number, at)
        status = main(["solve", "kuhn", "--method", "cfr+", "--tol", "1e-3", *_FILES])
    shown = capsys.readouterr()
    assert status == 128 + number, (at, shown.err)
    if clock.delivering is None:  # there was no answer yet, and the record says so where there was one
        if Path("found.json").exists():
            assert json.loads(Path("found.json").read_text())["status"] == "interrupted"
        return False
    assert "proven bounds" in shown.out, at
    record = json.loads(Path("found.json").read_text())
    assert record["lower"] <= -1 / 18 <= record["upper"]
    Profile.load("out.npz", load_game("kuhn"))
    return True


def _readings(monkeypatch):
    with monkeypatch.context() as patched:
        clock = _Clock(patched)
        assert main(["solve", "kuhn", "--method", "cfr+", "--tol", "1e-3", *_FILES]) == 0
    return clock.delivering, clock.delivered


signals = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["INT", "TERM"])


@signals
def test_a_signal_does_not_take_away_what_is_known(number, place, monkeypatch, capsys):
    _readings(monkeypatch)  # imports
    begun, ended = _readings(monkeypatch)
    for at in (begun + 1, (begun + ended) // 2, ended):
        assert _interrupted(number, at, monkeypatch, capsys)


@pytest.mark.slow
@signals
def test_a_signal_at_any_moment_does_not_take_away_what_is_known(number, place, monkeypatch, capsys):
    _readings(monkeypatch)
    begun, ended = _readings(monkeypatch)
    for at in range(1, ended + 1, max(1, ended // 40)):
        assert _interrupted(number, at, monkeypatch, capsys) or at <= begun
