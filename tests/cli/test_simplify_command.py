"""``treeplex simplify``: simple strategies, what they lose, and what is refused."""

import re
from pathlib import Path

import pytest
from command_line import json_of, refusal
from effort import thorough

from treeplex import Profile, load_game
from treeplex.cli import main
from treeplex.cli.simplify import GRIDS, KEYS
from treeplex.models.games.holdem import SolvedSpot
from treeplex.seqform.evaluate import worst_case
from treeplex.seqform.sheet import at_least

RIVER = """\
board = "QcJc9c3d2d"
pot = 100
stack = 100
[ranges]
oop = "AcKc, 8h7h, AsAh"
ip = "QdQh, KsKh, JsTs"
[bets]
bet = "50%, 100%"
raise = "a"
"""


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "river.toml").write_text(RIVER, encoding="utf-8")
    (tmp_path / "raked.toml").write_text(RIVER + "[rake]\nrate = 0.05\n", encoding="utf-8")


def test_a_simple_strategy_is_written_and_loses_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "simplify", "kuhn", "--player", "1", "--steps", "1", "--out", "simple.npz")
    assert set(KEYS) <= set(record)
    assert (record["status"], record["method"], record["player"]) == ("optimal", "branch-and-bound", 1)
    assert record["exploitability"] == pytest.approx(2 / 9)
    assert record["complexity"] == {
        "infosets": 6,
        "mixed": 0,
        "off_grid": 0.0,
        "sizes": 0,
        "unlike": 0.0,
        "disorder": 0.0,
        "steps": 1,
    }
    assert record["loss_share"] is None
    game = load_game("kuhn")
    strategy = Profile.load("simple.npz", game)[1]
    assert worst_case(game, strategy) == pytest.approx(record["lower"])
    assert set(strategy.behaviour.tolist()) == {0.0, 1.0}


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simplify", "kuhn", "--steps", "3", "--html", "page.html"]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "problem simplify --player 0 --steps 3 on kuhn" in lines
    assert "loss 0.0000000000 at most, against the value of the game" in lines
    assert "mixed 2 of 5 infosets with several actions" in lines
    assert "<html" in Path("page.html").read_text(encoding="utf-8")


def test_a_loss_that_cannot_be_met_ends_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "simplify", "kuhn", "--steps", "1", "--loss", "0.001", status=1)
    assert record["status"] == "infeasible"
    assert record["message"].startswith("according to HiGHS there is no strategy within the limits that loses at most")


def test_the_frontier(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "simplify", "kuhn", "--frontier", "--html", "page.html")
    assert [row["steps"] for row in record["frontier"]] == list(GRIDS)
    assert record["frontier"][0]["loss"] == pytest.approx(1 / 9)
    assert record["frontier"][2]["loss"] == pytest.approx(0.0, abs=1e-9)
    assert main(["simplify", "kuhn", "--frontier"]) == 0
    assert "1/20" in capsys.readouterr().out
    assert "What" not in Path("page.html").read_text(encoding="utf-8")[:15]


def test_a_spot(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("phevaluator")
    record = json_of(capsys, "simplify", "river.toml", "--seat", "ip", "--steps", "4", "--out", "spot.npz")
    assert (record["player"], record["method"], record["status"]) == (1, "rounding", "converged")
    assert record["loss_share"] == pytest.approx(record["exploitability"] / 100.0)
    profile = SolvedSpot.load("spot.npz").profile
    assert -profile.best_response_values[0] == pytest.approx(record["lower"], abs=1e-4)
    # On the terminal, payoffs are EVs from the pot of 100.
    assert main(["simplify", "river.toml", "--seat", "ip", "--steps", "4"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "pot 100, 100 behind, river QcJc9c3d2d seat ip guaranteed" in printed
    assert f"guaranteed {at_least(record['lower'] + 50)} chips, the EV of ip against any opponent" in printed
    assert f"loss {record['exploitability']:.10f} chips at most, against an equilibrium" in printed
    # A solved spot's file names its game.
    assert main(["compare", "spot.npz", "spot.npz"]) == 0
    assert "plays the same at every infoset" in capsys.readouterr().out


def test_results_of_play_on_a_spot_are_evs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("phevaluator")
    seats = ["--seat0", "uniform", "--seat1", "uniform", "--games", "50"]
    record = json_of(capsys, "play", "river.toml", *seats)
    assert main(["play", "river.toml", *seats]) == 0
    printed = capsys.readouterr().out
    for place, seat in enumerate(("oop", "ip")):
        mean = record["mean"][place] + 50
        assert re.search(
            rf"EV of {seat} +{mean:.4g} in \[.*\], expected {record['expected'][place] + 50:.2f}\n", printed
        )
        assert re.search(rf"{seat} without luck +{record['luck_free'][place]['mean'] + 50:.10f}", printed)
    assert "log" not in printed


def test_limits_between_hands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("phevaluator")
    for name, few in (("_TIED", 40), ("_TIED_AGAIN", 10), ("_MOVES", 60)):
        monkeypatch.setattr(f"treeplex.solvers.public.simplification.{name}", few)
    words = ["--steps", "4", "--mixed", "3", "--classes", "ranks", "--monotone", "fold"]
    assert main(["simplify", "river.toml", *words]) == 0
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "classes ranks play alike" in lines
    assert "monotone fold falls with strength" in lines
    assert any(line.startswith("mixed ") and line.endswith("infosets with several actions") for line in lines)


def test_menus(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("phevaluator")
    record = json_of(capsys, "simplify", "river.toml", "--seat", "oop", "--menus", "50%; 50%, 100%; 100%")
    one, both, other = record["menus"]
    assert [each["menu"] for each in record["menus"]] == ["50%", "50%, 100%", "100%"]
    assert (record["player"], both["is_largest"], both["share_lower"], both["share_upper"]) == (0, True, 1.0, 1.0)
    for each in (one, other):
        assert each["ev_lower"] <= each["ev_upper"] <= each["ev_lower"] + 0.1
        assert each["ev_lower"] <= both["ev_upper"]
        assert each["share_lower"] == pytest.approx(each["ev_lower"] / both["ev_upper"])
        assert each["share_upper"] == pytest.approx(each["ev_upper"] / both["ev_lower"])
    assert main(["simplify", "river.toml", "--menus", "50%;100%", "--html", "menus.html"]) == 0
    assert "share at least" in capsys.readouterr().out
    assert "Nothing is proven about sizes" in Path("menus.html").read_text(encoding="utf-8")


@thorough
def test_the_frontier_and_the_loss_of_a_spot(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("phevaluator")
    record = json_of(capsys, "simplify", "river.toml", "--frontier")
    assert len(record["frontier"]) == len(GRIDS)
    assert all(row["loss_share"] == pytest.approx(row["loss"] / 100.0) for row in record["frontier"])
    record = json_of(capsys, "simplify", "river.toml", "--loss", "2%")
    assert record["exploitability"] <= 2.0
    assert record["complexity"]["steps"] in (1, 2, 3, 4, 5, 8, 10, 20)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("kuhn", "simplify needs --steps, --mixed, --sizes, --classes, --monotone, --loss, --frontier or --menus"),
        ("kuhn --steps 0", "invalid value for '--steps': 0, expected an integer of at least 1"),
        ("kuhn --mixed -1", "invalid value for '--mixed': -1, expected an integer of at least 0"),
        ("kuhn --loss -1", "invalid value for '--loss': -1, expected a number of at least 0"),
        ("kuhn --loss 1%", "--loss 1%: a percentage refers to the pot of a spot, but GAME is kuhn"),
        ("kuhn --loss 0.1 --mixed 1", "simplify: loss minimises the number of mixed infosets"),
        ("kuhn --steps 2 --frontier", "--steps cannot be combined with --frontier; leave it out"),
        ("kuhn --frontier --out a.npz", "--out cannot be combined with --frontier; leave it out"),
        ("kuhn --player 2 --steps 1", "invalid value for '--player' / '--seat': '2' is not 0, 1, oop or ip"),
        ("kuhn --menus 33%;75%", "--menus is for hold'em spots, but GAME is kuhn"),
        ("kuhn --menus 33%;75% --steps 4", "--steps cannot be combined with --menus; leave it out"),
        ("kuhn --steps 2 --monotone b", "simplify: monotone needs the strength of the infosets of kuhn"),
        ("kuhn --steps 2 --classes ranks", "simplify: kuhn has no classes named 'ranks'"),
        ("river.toml --classes rank", "simplify: river.toml has no classes named 'rank' (did you mean ranks?)"),
        ("river.toml --monotone flod", "simplify: monotone names 'flod' (did you mean fold?)"),
        ("river.toml --menus 33%", "--menus '33%': expected two or more different menus of sizes"),
        ("river.toml --menus 33%;x", "--menus: bets at character 1: 'x', expected 60%, 120c, e or a"),
        ("raked.toml --steps 4", "simplify: raked.toml has a rake, and losses are proven only without one; leave it"),
        ("kuhn --step 1", "no such option: --step (did you mean --steps?)"),
        ("kuhn --steps 2 --method dcfr", "method dcfr cannot solve simplify: use branch-and-bound, rounding"),
        ("leduc --steps 4 --time-limit 0", "time limit reached: 0 s passed"),
    ],
)
def test_bad_input_is_refused_in_one_line(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = 1 if "--time-limit" in words else 2
    assert refusal(capsys, "simplify", *words.split(), status=status).startswith(said)


def test_the_same_option_is_for_the_problem_or_for_the_method(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "solve", "kuhn", "--problem", "simplify", "--steps", "3", "--player", "1")
    assert (record["status"], record["question"]) == ("optimal", "simplify --player 1 --steps 3")
    limited = ("--problem", "constrained", "--constrain", "0/K_:b <= 1/2", "--method", "ccfr", "--steps", "constant")
    record = json_of(capsys, "solve", "kuhn", *limited, "--max-iterations", "10")
    assert record["options"]["steps"] == "constant"
    said = refusal(capsys, "solve", "kuhn", "--steps", "3")
    assert said.startswith("--steps")


def test_a_simple_strategy_plays_and_loses_no_more_than_is_certified(capsys: pytest.CaptureFixture[str]) -> None:
    """Against the equilibrium strategy of the same file, which the certificate compares it with."""
    game, limits = load_game("leduc:merge_suits=true"), ("--steps", "4", "--method", "rounding")
    record = json_of(capsys, "simplify", game.spec, "--player", "1", *limits, "--out", "simple.npz")
    seats = ("--seat0", "simple.npz", "--seat1", "simple.npz", "--games", "20000")
    played = json_of(capsys, "play", game.spec, *seats)
    (lower, upper), expected, value = played["interval"][1], played["expected"][1], -float(game.reference_value)
    assert lower < expected < upper
    assert -1e-9 <= value - expected <= record["exploitability"] + 1e-9
    assert lower < value < upper  # 20,000 games do not tell the two strategies apart
