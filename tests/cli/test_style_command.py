"""``treeplex style``: from targets to a strategy, what is printed, and what is refused."""

import json
from pathlib import Path

import pytest
from command_line import json_of
from effort import thorough

from treeplex import Profile, frequency, load_game, worst_case
from treeplex.cli import main
from treeplex.cli.style import KEYS


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    capsys.readouterr()
    assert main(["style", *arguments]) == status
    shown = capsys.readouterr()
    assert shown.err == ""
    return shown.out


@thorough
def test_large_linear_programs_are_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["style", "preflop:stack=2,continuations=1", "--target", "all-in>=0.1"]
    assert main([*arguments, "--max-loss", "0.05"]) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("treeplex.cli.style.is_large", lambda game: True)
    assert main([*arguments, "--max-loss", "0.05"]) == 0
    said = capsys.readouterr().err
    assert "note: linear programs of preflop:stack=2,continuations=1 may take many minutes; treeplex solve" in said
    assert "--problem constrained --constrain 'all-in>=0.1' needs none" in said


def test_a_style_that_can_be_had(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "bold.npz")
    record = json_of(capsys, "style", "leduc", "--target", "raise@first>=0.6", "--max-loss", "0.05", "--out", out)
    assert (record["status"], record["feasible"], record["player"], record["max_loss"]) == ("optimal", True, 0, 0.05)
    assert record["least_loss"] == pytest.approx(0.0066056, abs=1e-6)
    assert record["least_loss_lower"] <= record["least_loss"] <= record["least_loss_upper"]
    assert record["exploitability"] == pytest.approx(record["least_loss"], abs=1e-9)
    (target,) = record["targets"]
    assert (target["target"], target["sense"], target["asked"]) == ("raise@first>=0.6", ">=", 0.6)
    assert (target["low"], target["high"]) == pytest.approx((0.0, 0.72620), abs=1e-5)
    assert record["multipliers"]["raise@first>=0.6"] > 0.0
    game = load_game("leduc")
    strategy = Profile.load(out, game)[0]
    assert frequency(game, 0, "r", first=True).value(strategy) == pytest.approx(target["reached"])
    assert record["value"] == pytest.approx(worst_case(game, strategy))
    # The strategy is an opponent and a start for other commands.
    assert main(["solve", "leduc", "--problem", "best-response", "--opponent", out, "--player", "1"]) == 0


def test_a_style_that_cannot_be_had_is_answered_by_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("leduc", "--target", "raise@first >= 0.9", "--max-loss", "1/20")
    record = json_of(capsys, "style", *asked, status=1)
    assert (record["status"], record["feasible"], record["conflict"]) == ("infeasible", False, None)
    assert record["least_loss_lower"] > 0.05
    assert record["targets"][0]["reached"] == pytest.approx(0.72620, abs=1e-5)
    assert record["least_violation"] == pytest.approx(record["violation"]) == pytest.approx(0.17380, abs=1e-5)
    text = printed(capsys, *asked, status=1)
    assert "raise@first >= 0.9 costs 0.131893, more than 0.05, which allows 0.726203" in text
    assert "0 to 0.726203" in text


def test_contradictory_targets_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("kuhn", "--target", "bet@first>=0.6", "--target", "bet@first<=0.3")
    record = json_of(capsys, "style", *asked, status=1)
    assert record["conflict"] == ["bet@first>=0.6", "bet@first<=0.3"]
    assert (record["least_loss"], record["multipliers"]) == (None, {})
    assert "exclude each other, whatever the loss" in printed(capsys, *asked, status=1)


def test_the_whole_trade_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("kuhn", "--target", "bet@first>=0.4", "--curve")
    record = json_of(capsys, "style", *asked)
    curve = record["trade_off"]
    assert [piece["slope"] for piece in curve["pieces"]] == pytest.approx([0, 1 / 6, 1])
    assert curve["free"] == pytest.approx([0, 4 / 9])
    assert curve["pieces"][-1]["loss_to"] == pytest.approx(5 / 18)
    assert json_of(capsys, "style", *asked[:3])["trade_off"] is None
    assert "0.4444444444  0.7777777778  0.0000000000  0.0555555556  0.1666666667" in printed(capsys, *asked)
    pytest.importorskip("matplotlib")
    picture = tmp_path / "curve.svg"
    assert "picture in" in printed(capsys, *asked[:3], "--plot", str(picture))
    assert picture.stat().st_size > 1000


def test_fractions_the_other_seat_and_another_reference(capsys: pytest.CaptureFixture[str]) -> None:
    exact = json_of(
        capsys, "style", "kuhn", "--target", "bet@first>=3/5", "--max-loss", "1/50", "--method", "rational", status=1
    )
    assert exact["least_loss_exact"] == "7/270"
    asked = ("kuhn", "--target", "bet@first>=0.5", "--player", "1", "--max-loss", "1")
    seat = json_of(capsys, "style", *asked)
    named = json_of(capsys, "style", "kuhn", "--target", "1/bet@first>=0.5", "--max-loss", "1")
    assert (seat["player"], named["player"]) == (1, 1)
    assert seat["least_loss"] == named["least_loss"]
    other = json_of(capsys, "style", *asked, "--reference", "random:seed=1")
    assert other["least_loss"] != pytest.approx(seat["least_loss"], abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kuhn"], "style needs --target, such as"),
        (["kuhn", "--target", "bte@first>=0.6"], "has no action 'bte' (did you mean bet?)"),
        (["kuhn", "--target", "bet@first"], "expected +, <=, >= or =="),
        (["kuhn", "--target", "bet@first>=0.6", "--max-loss", "little"], "little, expected a number"),
        (["kuhn", "--target", "bet@first>=0.6", "--max-loss=-1"], "-1, expected a number of at least 0"),
        (["kuhn", "--target", "bet@first>=0.6", "--player", "2"], "expected a number from 0 to 1"),
        (["kuhn:players=3", "--target", "bet@first>=0.6"], "--method pref-cfr takes any number"),
        (
            ["kuhn:players=3", "--target", "bet@first>=0.6", "--method", "pref-cfr", "--reference", "nash"],
            "leave it out",
        ),
        (["kuhn", "--target", "cvar@5>=-1"], "a level above 0 and at most 1"),
        (["kuhn", "--target", "cvar@0.5>=-1", "--curve"], "has no trade-off curve"),
        (["kuhn", "--target", "bet@first>=0.6", "--method", "cfr"], "--method cfr is not for style"),
        (["kuhn", "--target", "bet@first>=0.6", "--method", "hihgs"], "unknown method 'hihgs' (did you mean highs?)"),
        (["kuhn", "--target", "bet@first>=0.6", "--out", "-"], "a profile is binary"),
        (["kuhn", "--target", "bet@first>=0.6", "--out", "a.json"], "a profile is written as .npz"),
        (["kuhn", "--target", "bet@first>=0.6", "--plot", "a.gif"], "expected a file name that ends with .svg"),
        (["kuhn", "--target", "bet@first>=1/2", "--target", "bet@J_<=0", "--curve"], "--curve takes a single target"),
        (["kuhn", "--target", "0/J_pb:b>=1/2", "--curve"], "has no trade-off curve"),
        (["kuhn", "--target", "bet@first>=0.6", "--reference", "nobody"], "nobody"),
        (["transit:width=2", "--target", "stay@first>=0.6"], "are unknown in transit:width=2"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["style", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err


def test_a_picture_without_a_curve_is_refused_before_anything_is_solved(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "curve.svg"
    assert main(["style", "kuhn", "--target", "0/J_pb:b>=1/2", "--plot", str(picture)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "'0/J_pb:b>=1/2' is a probability" in shown.err
    assert not picture.exists()


def test_an_interrupted_search_has_all_keys(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("treeplex.solvers.style.targets.reach_style", stop)
    assert main(["style", "kuhn", "--target", "bet@first>=0.6", "--json", "-"]) == 130
    record = json.loads(capsys.readouterr().out)
    assert record["status"] == "interrupted"
    monkeypatch.undo()
    assert (
        set(record)
        == set(json_of(capsys, "style", "kuhn", "--target", "bet@first>=0.4"))
        == {"schema", "version", *KEYS}
    )


@thorough
def test_a_search_for_three_players_says_epsilon_and_keeps_to_the_time(capsys: pytest.CaptureFixture[str]) -> None:
    search = ["--method", "pref-cfr", "--max-iterations", "500"]
    asked = ["kuhn:players=3", "--target", "2/bet@first >= 0.34", "--max-loss", "0.05", *search]
    shown = printed(capsys, *asked, "--time-limit", "1000")
    row = next(line for line in shown.splitlines() if line.startswith("epsilon"))
    assert "at most of 0.05 allowed" in row
    assert not any(line.startswith("loss") for line in shown.splitlines())
    record = json_of(capsys, "style", *asked)
    assert record["epsilon"] == max(record["regrets"])
    assert record["preference"].get("precision", "double") == "double"
    assert main(["style", "kuhn", "--target", "bet@first>=0.4", "--time-limit", "5"]) == 2
    assert "--time-limit is for --method pref-cfr only" in capsys.readouterr().err


def test_terms_work_in_solve(capsys: pytest.CaptureFixture[str]) -> None:
    def objective(*arguments: str) -> float:
        capsys.readouterr()
        assert main(["solve", "leduc", *arguments, "--json", "-"]) == 0
        return float(json.loads(capsys.readouterr().out)["objective"])

    style = ("--problem", "style", "--epsilon", "0.05", "--method", "highs-simplex")
    assert objective(*style, "--maximise", "raise@first") == pytest.approx(0.72620, abs=1e-5)
    assert objective(*style, "--minimise", "raise@first") == pytest.approx(0.0, abs=1e-9)
    seat = objective(*style, "--maximise", "raise@first", "--player", "1")
    assert seat == pytest.approx(objective(*style, "--maximise", "1/raise@first"))
    bound = objective("--problem", "constrained", "--constrain", "raise@first >= 0.6")
    assert bound == pytest.approx(-0.0856064241 - 0.0066056, abs=1e-6)
