"""``treeplex solve`` for depth-limited responses, as somebody uses it who makes mistakes."""

from pathlib import Path

import pytest
from command_line import json_of
from effort import some, thorough

from treeplex import Profile, Strategy, load_game
from treeplex.cli import main
from treeplex.solvers import LinearValue

CDBR = ("solve", "leduc", "--problem", "cdbr", "--opponent", "uniform")
CDRNR = ("solve", "leduc", "--problem", "cdrnr", "--opponent", "uniform", "--p", "0.5")


def test_steps_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, *CDRNR, "--lookahead", "3", "--gadget", "full", "--method", "lp")
    assert (record["status"], record["method"], record["player"]) == ("optimal", "lp", 0)
    assert record["question"] == "cdrnr --opponent uniform --lookahead 3 --p 0.5 --gadget full"
    assert record["gain"] == pytest.approx(1.5824, abs=1e-4)
    assert record["exploitability"] == pytest.approx(0.5381, abs=1e-4)
    assert record["safety_bound"] == pytest.approx(record["gain"])
    assert record["step_levels"] == [0, 2, 3, 4, 5, 6, 7]
    assert record["steps"] == sorted(record["steps"])
    assert record["steps"][-1] == pytest.approx(record["objective"])
    assert max(record["step_gaps"]) <= 1e-6


def test_the_method_need_not_be_said(capsys: pytest.CaptureFixture[str]) -> None:
    for problem in ("cdbr", "cdbr-ne", "cdrnr", "ses", "lbr"):
        sure = () if problem in ("cdbr", "lbr") else ("--p", "1/2")
        far = () if problem in ("ses", "lbr") else ("--lookahead", "1")
        arguments = ("solve", "leduc:merge_suits=true", "--problem", problem, "--opponent", "uniform", *sure, *far)
        record = json_of(capsys, *arguments, "--player", "1")
        assert (record["method"], record["status"], record["player"]) == ("lp", "optimal", 1)
        assert record["gain"] > 0.5
        assert record["steps"]


def test_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*CDRNR, "--lookahead", "1"]) == 0
    shown = capsys.readouterr().out
    lines = {line.split("  ")[0]: line for line in shown.splitlines()}
    assert lines["steps"].split()[1:3] == ["7,", "worth"]
    assert "at most the tolerance" in lines["largest gap"]
    assert "1.28878" in lines["safety bound"]
    assert ", against the model with probability 1/2, otherwise in the worst case" in lines["objective"]
    assert main([*CDBR, "--lookahead", "1"]) == 0
    assert "safety bound" not in capsys.readouterr().out


@thorough
def test_gadgets_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    lost = {
        gadget: json_of(capsys, *CDRNR, "--lookahead", "1", "--gadget", gadget)["exploitability"]
        for gadget in ("full", "none", "resolving", "max-margin")
    }
    assert len({round(number, 6) for number in lost.values()}) == 4
    assert lost["none"] > 1.0


def test_along_a_path_one_gadget_has_a_bound(capsys: pytest.CaptureFixture[str]) -> None:
    path = ("solve", "kuhn", *CDRNR[2:], "--lookahead", "1", "--along", "path")
    record = json_of(capsys, *path)
    assert record["question"] == "cdrnr --opponent uniform --lookahead 1 --along path --p 0.5"
    assert record["safety_bound"] is None
    safe = json_of(capsys, *path, "--gadget", "reach-resolving")
    assert safe["exploitability"] <= safe["safety_bound"]
    assert json_of(capsys, *CDBR, "--lookahead", "1", "--along", "path")["step_levels"].count(0) == 1


def test_levels_at_which_subgames_begin(capsys: pytest.CaptureFixture[str]) -> None:
    for level, levels in some({"chance": [0, 3], "3": [0, 3], "2+5": [0, 2, 5]}.items(), 2):
        record = json_of(capsys, *CDRNR, "--level", level)
        assert record["step_levels"] == levels
        assert record["exploitability"] <= record["safety_bound"]
    search = ("solve", "leduc", "--problem", "ses", "--opponent", "uniform", "--p", "0.5")
    assert json_of(capsys, *search)["steps"] == json_of(capsys, *search, "--level", "chance")["steps"]


def test_the_response_is_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "response.npz"
    assert main([*CDBR, "--lookahead", "5", "--out", str(path)]) == 0
    profile = Profile.load(path, load_game("leduc"))
    assert (profile[1].plan == Strategy.uniform(load_game("leduc"), 1).plan).all()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((*CDBR, "--lookahead", "0"), "--lookahead 0: expected an integer of at least 1"),
        ((*CDBR, "--lookahead", "two"), "--lookahead two: expected an integer of at least 1"),
        ((*CDBR, "--lookahead", "9" * 5000), "--lookahead 999"),
        (CDBR, "cdbr needs one of --lookahead and --level, got none"),
        ((*CDBR, "--lookahead", "1", "--level", "3"), "cdbr needs one of --lookahead and --level, got --lookahead and"),
        ((*CDRNR, "--level", "chanc"), "cdrnr: level is 'chanc', expected one from 0 to 8, several as 2+5, or chance"),
        ((*CDRNR, "--level", "3+40"), "cdrnr: level is 40, expected one from 0 to 8"),
        (("solve", "leduc", "--problem", "lbr", "--opponent", "uniform", "--level", "3"), "--level is not for lbr"),
        ((*CDBR, "--lookahead", "1", "--p", "0.5"), "--p is not for cdbr"),
        ((*CDBR, "--lookahead", "1", "--method", "ccfr"), "method ccfr cannot solve cdbr: use lp"),
        ((*CDBR, "--lookahead", "1", "--method", "lp", "--start", "x.npz"), "--start is for --method highs-ipm, "),
        ((*CDRNR, "--lookahead", "1", "--along", "paths"), "--along paths (did you mean path?): expected one of level"),
        ((*CDRNR, "--lookahead", "1", "--gadget", "ful"), "--gadget ful (did you mean full?): expected one of full"),
        ((*CDRNR[:-1], "1", "--lookahead", "1", "--epsilon", "0.1"), "--epsilon is not for cdrnr"),
        ((*CDRNR[:-1], "2", "--lookahead", "1"), "--p 2: expected a number from 0 to 1"),
        (("solve", "kuhn", "--problem", "ses", "--opponent", "uniform", "--p", "0"), "kuhn has no public chance event"),
        (("solve", "goofspiel", "--problem", "lbr", "--opponent", "uniform"), "lbr and checkdown need a poker game"),
        (("solve", "kuhn", "--method", "lp"), "method lp cannot solve nash: use highs"),
        (("solve", "kuhn", "--lookahead", "1"), "--lookahead is not for nash"),
        (("solve", "transit:width=2", *CDBR[2:], "--lookahead", "1"), "has no histories to visit"),
        (("reproduce", "cdrnr-table-3"), "unknown experiment 'cdrnr-table-3' (did you mean cdrnr-table-"),
    ],
)  # fmt: skip
def test_mistakes_are_answered_in_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--json", "-"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert len(shown.err.splitlines()) == 1
    assert len(shown.err) < 500


def test_a_strategy_of_another_game_is_no_opponent(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "kuhn.npz"
    Strategy.uniform(load_game("kuhn"), 1).save(path)
    assert main(["solve", "leduc", "--problem", "cdbr", "--opponent", str(path), "--lookahead", "1"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert "another game" in shown.err


def test_a_value_function_below_the_limit(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = ("solve", "kuhn", "--problem", "cdrnr", "--opponent", "uniform", "--p", "0.5", "--lookahead", "1")
    limits = ("--tol", "0", "--max-iterations", "100")
    record = json_of(capsys, *asked, *limits, "--method", "pcfr+", "--value", "cfr+:iterations=50")
    assert (record["status"], record["method"]) == ("iteration_limit", "pcfr+ with value cfr+:iterations=50")
    assert record["steps"][0] == pytest.approx(5 / 36, abs=0.01)
    assert 0.0 < record["value_errors"][0] < 0.05
    assert record["value_errors"][1] == 0.0
    exact = json_of(capsys, *asked, *limits, "--method", "pcfr+", "--value", "exact")
    assert (exact["method"], exact["value_errors"]) == ("pcfr+", None)
    path = str(tmp_path / "value.npz")
    LinearValue.train(load_game("kuhn"), 1, examples=100, iterations=50).save(path)
    record = json_of(capsys, *asked, *limits, "--method", "cfr+", "--value", path)
    assert (record["method"], record["value_errors"]) == ("cfr+ with value linear", [None, 0.0])
    assert record["steps"][0] == pytest.approx(5 / 36, abs=0.1)
    for value, said in (("cfr+:iterations=9", "per step on average"), (path, "not measured; gaps are")):
        assert main([*asked, *limits, "--method", "cfr+", "--value", value]) == 0
        line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("value errors"))
        assert said in line
    blueprint = str(tmp_path / "blueprint.npz")
    assert main(["solve", "kuhn", "--out", blueprint]) == 0
    capsys.readouterr()
    for value, name in (("checkdown", "checkdown"), (blueprint, "blueprint")):
        record = json_of(capsys, *asked, *limits, "--method", "cfr+", "--value", value)
        assert (record["method"], record["value_errors"]) == (f"cfr+ with value {name}", [None, 0.0])
        assert record["exploitability"] <= record["safety_bound"]
    cdbr = ("solve", "kuhn", "--problem", "cdbr", "--opponent", "uniform", "--lookahead", "1")
    cdrnr = (*cdbr[:3], "cdrnr", *cdbr[4:], "--p", "0.5")
    for arguments, message in [
        ((*cdbr, "--value", "cfr+"), "--value cfr+ is for --method cfr, cfr+, dcfr, pcfr+, but --method is lp"),
        (("solve", "kuhn", "--method", "cfr+", "--value", "cfr+"), "--value is for --problem cdbr, cdbr-ne, cdrnr"),
        (
            (*cdbr, "--method", "cfr+", "--value", "cfr+:iterations=0"),
            "--value cfr+: iterations = 0; expected an integer of at least 1",
        ),
        (
            (*cdbr, "--method", "cfr+", "--value", "none"),
            "unknown value function 'none'; expected one of exact, checkdown, cfr, cfr+",
        ),
        ((*cdbr, "--method", "cfr+", "--value", "none.npz"), "none.npz: no such file"),
        ((*cdbr, "--method", "cfr+", "--value", "none.json"), "none.json: no such file"),
        (
            ("solve", "coin", *cdbr[2:], "--method", "cfr+", "--value", "checkdown"),
            "lbr and checkdown need a poker game",
        ),
        ((*cdbr, "--method", "cfr+", "--iterate", "last", "--value", "cfr+"), "expected average or best"),
        ((*cdbr, "--method", "cfr+", "--precision", "single", "--value", "cfr+"), "got precision='single'"),
        (("solve", "kuhn", "--method", "cfr+", "--iterate", "best"), "expected average or last for nash"),
        (
            (*cdrnr, "--method", "cfr+", "--iterate", "best", "--value", "cfr+"),
            "iterate is best, expected average: with best, the opponent must be held to the model",
        ),
    ]:
        assert main(list(arguments)) == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert message in shown.err
        assert shown.err.count("\n") == 1


def test_a_street_of_a_spot(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    head = 'board = "9d8d7h6c"\ndeck = "short"\npot = 100\nstack = 100\n'
    text = head + 'ranges = {{ oop = "9c9s, AdKd", ip = "KhKs, {}" }}\n'
    spot, coarse, other = (tmp_path / f"{name}.toml" for name in ("turn", "coarse", "other"))
    spot.write_text(text.format("8c8s") + '[bets]\nbet = "50%"\nraise = ""\n')
    coarse.write_text(text.format("8c8s") + '[bets]\nbet = "50%"\nraise = ""\n[bets.river]\nbet = ""\n')
    other.write_text(text.format("8c8h") + '[bets]\nbet = "50%"\nraise = ""\n')
    for path in (coarse, other):
        assert main(["solve", str(path), "--out", str(path.with_suffix(".npz")), "--tol", "5"]) == 0
    capsys.readouterr()
    cdrnr = ("solve", str(spot), "--problem", "cdrnr", "--opponent", "uniform", "--p", "0.3", "--level", "chance")
    asked = (*cdrnr, "--gadget", "reach-resolving", "--along", "path", "--method", "cfr+", "--max-iterations", "20")
    record = json_of(capsys, *asked, "--tol", "0", "--value", str(coarse.with_suffix(".npz")))
    assert record["method"] == "cfr+ with value blueprint"
    assert len(record["steps"]) == 97
    assert record["exploitability"] <= record["safety_bound"]
    assert main([*asked, "--tol", "50", "--value", "checkdown"]) == 0
    rows = capsys.readouterr().out
    for words in ("gain            ", "safety bound    ", "in one of 97 steps, ", "beyond the value of the game"):
        assert words in rows
    assert main([*asked, "--value", str(other.with_suffix(".npz"))]) == 2
    assert "with the same ranges, pot, stacks and rake" in capsys.readouterr().err
