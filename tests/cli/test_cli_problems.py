"""``treeplex solve`` for constraints, styles, responses and frontiers, as somebody uses it who makes mistakes."""

import importlib
import json
import re
import shlex
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from command_line import json_of

from treeplex import ConstrainedNash, Profile, Strategy, load_game, restricted_nash_frontier, solve
from treeplex.cli import main
from treeplex.cli.solution import print_solution
from treeplex.cli.solve import KEYS
from treeplex.models.constraints import parse_constraint
from treeplex.solvers.opponents.strategies import opponent_strategy

solve_command = importlib.import_module("treeplex.cli.solve")

CONSTRAINED = ("solve", "kuhn", "--problem", "constrained")
STYLE = ("solve", "kuhn", "--problem", "style")
RNR = ("solve", "kuhn", "--problem", "rnr", "--opponent", "uniform")
KING_AND_JACK = ("--constrain", "0/K_:b <= 0.5", "--constrain", "0/J_:b >= 3/10 as jack")
INFEASIBLE = ("--constrain", "0/J_:b>=0.7 as often", "--constrain", "0/J_:b<=0.4 as seldom", "--constrain", "0/K_:b<=1")


def printed(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> str:
    assert main(list(arguments)) == status
    shown = capsys.readouterr()
    assert shown.err == ""
    assert not [line for line in shown.out.splitlines() if line != line.rstrip()]
    return shown.out


# Constraints


def test_constraints_and_their_prices_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, *CONSTRAINED, *KING_AND_JACK)
    assert (record["problem"], record["status"], record["player"]) == ("constrained", "optimal", None)
    assert record["value"] == pytest.approx(-0.1)
    assert record["objective"] == pytest.approx(-0.1)
    assert record["multipliers"] == {"0/K_:b <= 0.5": pytest.approx(1 / 9), "jack": pytest.approx(1 / 3)}
    assert record["violations"] == {"0/K_:b <= 0.5": pytest.approx(0), "jack": pytest.approx(0)}
    assert (record["least_violation"], record["conflict"], record["relaxations"]) == (None, None, None)
    shown = printed(capsys, *CONSTRAINED, *KING_AND_JACK)
    assert [line.split()[-4:] for line in shown.splitlines()[-3:]] == [
        ["constraint", "player", "violation", "price"],
        ["0.5", "0", "0", "0.1111111111"],
        ["jack", "0", "0", "0.3333333333"],
    ]
    assert "at most the tolerance" in next(line for line in shown.splitlines() if line.startswith("gap"))


def test_risk_of_the_transit_game(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(
        capsys, "solve", "transit:width=2", "--problem", "constrained", "--constrain", "risk<=0.1", "--method", "cvxpy"
    )
    assert record["value"] == pytest.approx(0.020351, abs=5e-7)
    assert record["multipliers"]["risk<=0.1"] == pytest.approx(0.1552, abs=5e-5)


def test_the_table_says_whose_a_constraint_is_and_who_is_paid(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("solve", "transit:width=2", "--problem", "constrained", "--constrain", "risk<=0.1 as r")
    shown = printed(capsys, *arguments, "--sensitivity", "r=0:0.2")
    assert "r                1          0  0.1551763994" in shown
    assert (
        "paid to player 0, as a function of the bound of r; price: what loosening the bound by one unit earns player 1;"
        in shown
    )
    assert " 10101010.1010" in shown  # a price of eighteen digits, of which the last six mean nothing


def test_an_equality_is_shown_as_two(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, *CONSTRAINED, "--constrain", "0/J_:b == 1/2 as jack")
    assert record["value"] == pytest.approx(-1 / 9)
    assert set(record["multipliers"]) == {"jack (at most)", "jack (at least)"}
    assert record["multipliers"]["jack (at least)"] == pytest.approx(1 / 3)


def test_constraints_that_cannot_be_met_exit_1_and_say_which(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, *CONSTRAINED, *INFEASIBLE, status=1)
    assert record["status"] == "infeasible"
    assert record["least_violation"] == pytest.approx(0.3)
    assert set(record["conflict"]) == {"often", "seldom"}
    for key in ("value", "objective", "lower", "upper", "gap", "exploitability"):
        assert record[key] is None
    shown = printed(capsys, *CONSTRAINED, *INFEASIBLE, status=1)
    rows = dict(line.split("  ", 1) for line in shown.splitlines() if "  " in line and line[0] != " ")
    assert rows["least violation"].strip() == "0.3 in total, at most 0.15 for one constraint"
    assert rows["conflict"].strip() == "often, seldom"
    assert "value" not in rows
    *_, heading, often, seldom = shown.splitlines()
    assert heading.split("  ")[0] == "constraint"
    assert heading.endswith("loosen it alone by  or all by")
    assert often.split() == ["often", "0.7", "1", "0.4", "0.3", "0.3"]
    assert seldom.split() == ["seldom", "0.4", "0", "0.7", "0.3", "0"]
    assert ["constraint", "player", "violation"] in map(str.split, shown.splitlines())


def test_with_a_penalty_constraints_may_be_broken(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*CONSTRAINED, *INFEASIBLE, "--penalty", "1/20")
    record = json_of(capsys, *arguments)
    assert record["status"] == "optimal"
    assert record["violation"] > 0.1
    assert max(record["multipliers"].values()) <= 0.05 + 1e-9
    assert record["lower"] - 1e-9 <= record["objective"] <= record["upper"] + 1e-9
    assert record["objective"] < record["value"]
    shown = printed(capsys, *arguments)
    assert "0.05 per unit of violation" in shown
    assert "the value with penalties" in shown


def test_a_profile_is_written_of_constrained_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "play.npz"
    assert "play.npz" in printed(capsys, *CONSTRAINED, *KING_AND_JACK, "--out", str(out))
    play = Profile.load(out, load_game("kuhn"))
    assert play[0]["K_"]["b"] <= 0.5 + 1e-9
    assert play[0]["J_"]["b"] >= 0.3 - 1e-9


def test_what_a_bound_is_worth(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*CONSTRAINED, "--constrain", "0/J_:b>=1/2", "--sensitivity", "0/J_:b>=1/2=0:1")
    record = json_of(capsys, *arguments)
    found = record["sensitivity"]
    assert (found["constraint"], found["lower"], found["upper"]) == ("0/J_:b>=1/2", 0, 1)
    flat, rest = found["pieces"][:2]
    assert flat["slope"] == pytest.approx(0, abs=1e-9)
    assert flat["to"] == pytest.approx(1 / 3)
    assert flat["objective_to"] == pytest.approx(-1 / 18)
    assert rest["slope"] == pytest.approx(-1 / 3)
    assert abs(found["gap"]) <= 1e-9
    shown = printed(capsys, *arguments)
    assert "bound of 0/J_:b>=1/2" in shown
    assert " 0.3333333333\n" in shown
    assert "what loosening the bound by one unit earns player 0" in shown


def test_bounds_that_cannot_be_met_are_said(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*CONSTRAINED, "--constrain", "0/J_:b>=0.7", "--constrain", "0/J_:b<=1 as most")
    shown = printed(capsys, *arguments, "--sensitivity", "most=0:1")
    assert "no strategy meets the constraints if the bound is outside 0.7 to 1" in shown


def test_an_infeasible_problem_may_be_feasible_with_another_bound(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, *CONSTRAINED, *INFEASIBLE, "--sensitivity", "seldom=0:1", status=1)
    assert record["status"] == "infeasible"
    assert record["sensitivity"]["feasible"] == pytest.approx([0.7, 1.0])
    record = json_of(capsys, *CONSTRAINED, *INFEASIBLE, "--sensitivity", "seldom=0:0.5", status=1)
    assert (record["status"], record["sensitivity"]) == ("infeasible", None)


# Styles


@pytest.mark.parametrize(
    ("arguments", "objective"),
    [
        (("--maximise", "0/J_:b"), Fraction(1, 3)),
        (("--maximise", "0/J_:b", "--epsilon", "0.05"), Fraction(29, 60)),
        (("--maximise", "0/J_:b", "--epsilon", "1/20", "--player", "0"), Fraction(29, 60)),
        (("--minimise", "0/J_:b"), Fraction(0)),
        (("--minimise", "0/J_:b + 0/K_:b + 0/Q_:b"), Fraction(0)),
        (("--maximise", "plan(1/J_p:b)"), Fraction(1, 3)),
    ],
)
def test_styles(arguments: tuple[str, ...], objective: Fraction, capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, *STYLE, *arguments)
    assert record["objective"] == pytest.approx(float(objective), abs=1e-9)
    assert record["player"] == (1 if "plan(1/J_p:b)" in arguments else 0)
    assert (record["problem"], record["status"]) == ("style", "optimal")
    assert record["game_value"] == pytest.approx(-1 / 18 * (1 - 2 * record["player"]))
    assert "safety" in record["multipliers"]


def test_the_table_of_a_style_says_what_is_large(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, *STYLE, "--maximise", "0/J_:b", "--epsilon", "0.01")
    assert "0.3633333333, the largest attainable value of 0/J_:b" in shown
    assert "price of safety" in shown


# Responses


def test_best_equilibrium_strategies_have_a_slack(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("solve", "kuhn", "--problem", "best-nash", "--opponent", "uniform")
    record = json_of(capsys, *arguments)
    assert record["objective"] == pytest.approx(1 / 6)
    assert 0 <= record["slack"] <= 1e-9
    assert "because of round-off" in printed(capsys, *arguments)
    other = json_of(capsys, *arguments, "--player", "1")
    assert (other["player"], other["objective"]) == (1, pytest.approx(1 / 6))


def test_fractions_reach_exact_methods(capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, *RNR, "--p", "1/2", "--method", "rational")
    assert record["status"] == "optimal"
    assert Fraction(record["value_exact"]).denominator < 1000
    assert record["objective"] == 5 / 36
    shown = printed(capsys, *RNR, "--p", "1/2", "--method", "rational")
    assert "5/36 = 0.1388888889" in shown
    assert "-1/18 = -0.0555555556 to player 0" in printed(capsys, "solve", "kuhn", "--method", "rational")


@pytest.mark.parametrize("player", [0, 1])
def test_frontier_lists_every_response(player: int, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = (*RNR, "--frontier", "--player", str(player))
    record = json_of(capsys, *arguments)
    game = load_game("kuhn")
    expected = restricted_nash_frontier(game, opponent_strategy("uniform", game, 1 - player))
    pieces = record["frontier"]
    assert [piece["gain"] for piece in pieces] == pytest.approx(expected.gains.tolist())
    assert [piece["exploitability"] for piece in pieces] == pytest.approx(expected.exploitabilities.tolist())
    assert [piece["p_from"] for piece in pieces] == pytest.approx([0.0, *expected.breakpoints])
    assert [piece["p_to"] for piece in pieces] == pytest.approx([*expected.breakpoints, 1.0])
    assert set(record) == {"schema", "version", *KEYS, "frontier"}
    assert (record["status"], record["method"], record["player"]) == ("optimal", "highs-simplex", player)
    assert record["game_value"] == pytest.approx(-1 / 18 * (1 - 2 * player))
    assert 0 <= record["gap"] + 1e-12 <= 1e-9
    assert record["iterations"] == expected.solves
    for key in ("value", "objective", "lower", "upper", "gain", "exploitability", "opponent_value"):
        assert record[key] is None
    shown = printed(capsys, *arguments)
    lines = shown.splitlines()
    assert lines[-1 - len(pieces)].split() == ["p", "from", "p", "to", "gain", "exploitability"]
    assert lines[-1].split()[1] == "1.0000000000"


def test_frontier_is_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "frontier.json"
    assert "frontier.json" in printed(capsys, *RNR, "--frontier", "--json", str(path))
    assert len(json.loads(path.read_text())["frontier"]) == 3


# Validate


def test_validate_shows_what_a_row_asks(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    bank = importlib.import_module("treeplex.validation.bank")
    questions = (
        ("constrained", {"constrain": ("0/K_:b<=0.5", "0/J_:b>=0.3")}, -0.1),
        ("rnr", {"opponent": "uniform", "p": "1/2"}, 5 / 36),
    )
    cases = [
        bank.Case("kuhn", "highs", 1e-9, "exact", problem=problem, question=question, reference=known)
        for problem, question, known in questions
    ]
    monkeypatch.setitem(bank.SUITES._things, "quick", bank.Suite("small", "for tests", tuple(cases)))
    shown = printed(capsys, "validate")
    assert "kuhn  constrained --constrain '0/K_:b<=0.5' --constrain '0/J_:b>=0.3'  known value -0.1" in shown
    assert "kuhn  rnr --opponent uniform --p 1/2  known value 0.138888888889" in shown
    record = json_of(capsys, "validate")
    assert record["passed"] is True
    assert [row["question"] for row in record["rows"]] == [case.asked for case in cases]
    assert record["rows"][1]["value"] == pytest.approx(5 / 36)
    # What a row asks can be asked again.
    for row in record["rows"]:
        again = json_of(capsys, "solve", row["game"], "--problem", *shlex.split(row["question"]))
        assert again["objective"] == pytest.approx(row["value"])


# Mistakes

MISTAKES = {
    "a picture of no kind": (
        ("solve", "kuhn", "--problem", "rnr", "--opponent", "uniform", "--frontier", "--plot", "x.txt"),
        "--plot x.txt: expected a file name that ends with .svg, .png or .pdf",
    ),
    "a base without constraints": (
        ("solve", "kuhn", "--method", "cfr", "--base", "dcfr"),
        "--base is for --method exact, ccfr, pref-cfr, but --method is cfr",
    ),
    "a base of an exact method": (
        (*CONSTRAINED, "--constrain", "0/K_:b<=1", "--method", "highs", "--base", "dcfr"),
        "--base is for --method exact, ccfr, pref-cfr, but --method is highs",
    ),
    "steps of no multipliers": (
        ("solve", "kuhn", "--method", "cfr+", "--step", "1"),
        "--step is for --method ccfr, es-ccfr, os-ccfr, but --method is cfr+",
    ),
    "steps of an unknown kind": (
        (*CONSTRAINED, "--constrain", "0/K_:b<=1", "--method", "ccfr", "--steps", "large"),
        "--steps large: expected one of optimistic, constant, decreasing",
    ),
    "steps of nothing": (
        (*CONSTRAINED, "--constrain", "0/K_:b<=1", "--method", "ccfr", "--step", "0"),
        "--step 0: expected a number above 0",
    ),
    "a bound of multipliers that are not there": (
        ("solve", "kuhn", "--method", "dcfr", "--beta", "1"),
        "--beta is for --method ccfr, but --method is dcfr",
    ),
    "a bound of multipliers of nothing": (
        (*CONSTRAINED, "--constrain", "0/K_:b<=1", "--method", "ccfr", "--beta", "0"),
        "--beta 0: expected a number above 0",
    ),
    "a bound of multipliers beside a penalty": (
        (*CONSTRAINED, "--constrain", "0/K_:b<=1", "--method", "ccfr", "--beta", "1", "--penalty", "2"),
        "omit one of the two",
    ),
    "no constraint": ((*CONSTRAINED,), "constrained needs --constrain"),
    "a constraint of an equilibrium": (("solve", "kuhn", "--constrain", "0/K_:b<=1"), "--constrain is not for nash"),
    "a penalty of a response": ((*RNR, "--p", "1", "--penalty", "1"), "--penalty is not for rnr"),
    "a seat under constraints": (
        (*CONSTRAINED, *KING_AND_JACK, "--player", "0"),
        "--player is not for constrained",
    ),
    "a wrong infoset": ((*CONSTRAINED, "--constrain", "0/A_:b<=1"), "column 3: player 0 has no infoset 'A_'"),
    "a wrong action": ((*CONSTRAINED, "--constrain", "0/K_:c<=1"), "infoset 0/K_ has no action 'c'; expected p, b"),
    "a wrong functional": (
        ("solve", "transit:width=2", "--problem", "constrained", "--constrain", "risc<=0.1"),
        "no functional 'risc' (did you mean risk?)",
    ),
    "a wrong comparison": (
        (*CONSTRAINED, "--constrain", "0/K_:b=<1"),
        "received '=' (did you mean <=?), expected +, <=, >= or ==",
    ),
    "a constraint twice": (
        (*CONSTRAINED, "--constrain", "0/K_:b<=1", "--constrain", "0/K_:b<=1"),
        "two constraints are named '0/K_:b<=1'",
    ),
    "a name twice": (
        (*CONSTRAINED, "--constrain", "0/K_:b<=1 as x", "--constrain", "0/J_:b<=1 as x"),
        "two constraints are named 'x'",
    ),
    "an empty constraint": ((*CONSTRAINED, "--constrain", ""), "received the end, expected a term"),
    "both players in one": ((*CONSTRAINED, "--constrain", "0/K_:b+1/K_p:b<=1"), "terms of players 1 and 0 are"),
    "a constraint that is not linear": (
        (*CONSTRAINED, "--constrain", "0/K_pb:b+0/J_pb:b<=1"),
        "may be used only alone or in a sum over its actions; expected a realization, plan(…)",
    ),
    "an iterative method": ((*CONSTRAINED, *KING_AND_JACK, "--method", "cfr+"), "method cfr+ cannot solve constrained"),
    "a negative penalty": ((*CONSTRAINED, *KING_AND_JACK, "--penalty", "-1"), "--penalty -1: expected a number of"),
    "a penalty in words": ((*CONSTRAINED, *KING_AND_JACK, "--penalty", "much"), "--penalty much: expected a number"),
    "three players": (
        ("solve", "kuhn:players=3", "--problem", "constrained", "--constrain", "0/K_:b<=1"),
        "constrained needs two players",
    ),
    "no style": ((*STYLE,), "style needs one of --maximise and --minimise, got none"),
    "two styles": (
        (*STYLE, "--maximise", "0/J_:b", "--minimise", "0/K_:b"),
        "style needs one of --maximise and --minimise, got --maximise and --minimise",
    ),
    "a style of an equilibrium": (("solve", "kuhn", "--maximise", "0/J_:b"), "--maximise is not for nash"),
    "a style that is no term": ((*STYLE, "--maximise", "0/J_:b<=1"), "term '0/J_:b<=1', column 7: received '<='"),
    "a style that is not linear": ((*STYLE, "--maximise", "0/J_pb:b"), "may be used only in a constraint"),
    "a style of the other seat": (
        (*STYLE, "--maximise", "0/J_:b", "--player", "1"),
        "style: player is 1, but maximise is about player 0",
    ),
    "a negative epsilon": (
        (*STYLE, "--maximise", "0/J_:b", "--epsilon", "-0.1"),
        "--epsilon -0.1: expected a number of at least 0",
    ),
    "an opponent of a style": (
        (*STYLE, "--maximise", "0/J_:b", "--opponent", "uniform"),
        "--opponent is not for style",
    ),
    "no opponent": (("solve", "kuhn", "--problem", "best-nash"), "best-nash needs --opponent"),
    "p above one": ((*RNR, "--p", "3/2"), "--p 3/2: expected a number from 0 to 1"),
    "p of many digits": (
        (*RNR, "--p", "1e999999999"),
        "--p 1e999999999 (too large for a float): expected a number from 0 to 1",
    ),
    "a frontier of an equilibrium": (("solve", "kuhn", "--frontier"), "--frontier is for rnr, but --problem is nash"),
    "a frontier at one p": ((*RNR, "--frontier", "--p", "0.5"), "--frontier finds the responses for all p"),
    "a frontier without an opponent": (("solve", "kuhn", "--problem", "rnr", "--frontier"), "rnr needs --opponent"),
    "a frontier by an interior point": (
        (*RNR, "--frontier", "--method", "highs-ipm"),
        "--frontier uses highs-simplex, but --method is highs-ipm",
    ),
    "a frontier as a profile": ((*RNR, "--frontier", "--out", "x.npz"), "--out cannot be combined with --frontier"),
    "a frontier at a node": ((*RNR, "--frontier", "--at", "check"), "--at cannot be combined with --frontier"),
    "a frontier to a tolerance": ((*RNR, "--frontier", "--tol", "1e-3"), "--tol cannot be combined with --frontier"),
    "a frontier in time": (
        (*RNR, "--frontier", "--time-limit", "1"),
        "--time-limit cannot be combined with --frontier",
    ),
    "a sensitivity of an equilibrium": (
        ("solve", "kuhn", "--sensitivity", "x=0:1"),
        "--sensitivity is for constrained and epsilon-safe, but --problem is nash",
    ),
    "a sensitivity of a best equilibrium": (
        ("solve", "kuhn", "--problem", "best-nash", "--opponent", "uniform", "--sensitivity", "safety=0:1"),
        "--sensitivity is for constrained and epsilon-safe",
    ),
    "a sensitivity of safety to something else": (
        (
            "solve",
            "kuhn",
            "--problem",
            "epsilon-safe",
            "--opponent",
            "uniform",
            "--epsilon",
            "0",
            "--sensitivity",
            "x=0:1",
        ),
        "epsilon-safe has no constraint 'x'; it has safety",
    ),
    "a sensitivity to nothing": (
        (*CONSTRAINED, *KING_AND_JACK, "--sensitivity", "queen=0:1"),
        "constrained has no constraint 'queen'; it has 0/K_:b <= 0.5, jack",
    ),
    "a sensitivity without bounds": ((*CONSTRAINED, *KING_AND_JACK, "--sensitivity", "jack"), "expected NAME=LOW:HIGH"),
    "bounds that fall": ((*CONSTRAINED, *KING_AND_JACK, "--sensitivity", "jack=1:0"), "expected NAME=LOW:HIGH"),
    "a bound that cannot be moved": (
        (*CONSTRAINED, "--constrain", "0/J_pb:b<=0.5 as call", "--sensitivity", "call=0:1"),
        "the bound of 'call' cannot be changed",
    ),
    "an option that is none": ((*CONSTRAINED, "--constraint", "0/K_:b<=1"), "no such option: --constraint"),
    "a constraint without text": ((*CONSTRAINED, "--constrain"), "--constrain: the value is missing"),
}


@pytest.mark.parametrize(("arguments", "message"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("json_too", [False, True])
def test_mistakes_are_one_line(
    arguments: tuple[str, ...],
    message: str,
    json_too: bool,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*arguments[:2], *(["--json", "-"] if json_too else []), *arguments[2:]]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error: ")
    assert shown.err.endswith("\n")
    assert shown.err.count("\n") == 1
    assert shown.err[:-1].isprintable()
    assert message in shown.err
    assert not list(tmp_path.iterdir())


def test_options_are_checked_before_the_game_is_loaded(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeplex.models.games.load_game", None)
    for arguments in (
        (*STYLE,),
        (*RNR, "--p", "2"),
        (*RNR, "--frontier", "--p", "0"),
        ("solve", "kuhn", "--sensitivity", "x=0:1"),
        (*CONSTRAINED, *KING_AND_JACK, "--sensitivity", "jack"),
    ):
        assert main(list(arguments)) == 2
        assert capsys.readouterr().err.startswith("error: ")


def test_constraints_are_read_before_anything_is_solved(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("treeplex.solvers.solve", None)
    assert main([*CONSTRAINED, "--constrain", "0/A_:b<=1"]) == 2
    assert "no infoset 'A_'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        (*RNR, "--frontier"),
        (*CONSTRAINED, "--constrain", "0/K_:b <= 0.5 as a king bets", "--sensitivity", "a king bets=0:1"),
    ],
)
def test_numbers_are_whole_on_narrow_terminals(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = printed(capsys, *arguments).splitlines()
    monkeypatch.setenv("COLUMNS", "30")
    narrow = printed(capsys, *arguments).splitlines()
    assert "…" not in "".join(narrow)
    assert narrow[-1].split() == wide[-1].split()


def test_bounds_that_cannot_be_met_are_not_passed_over(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, *CONSTRAINED, "--constrain", "0/K_:b <= -1 as a", "--sensitivity", "a=-3:-2", status=1)
    assert shown.endswith("no strategy meets the constraints with a bound of a from -3 to -2\n")


def test_missing_and_misplaced_options_say_what_is_right(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (RNR, "rnr needs --p; expected a number from 0 to 1"),
        (
            ("solve", "kuhn", "--refine", "propper"),
            "--refine propper (did you mean proper?): expected one of undominated",
        ),
        (("solve", "kuhn", "--problem", "rnr", "--refine", "proper"), "a --problem that takes it: nash, best-nash"),
        (("solve", "kuhn", "--refine", "proper", "--method", "highs"), "a refined equilibrium: use rational"),
        (("solve", "kuhn:players=3", "--refine", "proper"), "nash with refine=proper needs two players"),
        (("solve", "kuhn", "--problem", "qre"), "qre needs --rationality; expected a number of at least 0"),
        (("solve", "kuhn", "--problem", "qre", "--rationality", "-1"), "expected a number of at least 0"),
        (CONSTRAINED, 'constrained needs --constrain; expected "TERM <= NUMBER"'),
        (("solve", "kuhn", "--p", "1/2"), "a --problem that takes it: rnr, data-biased"),
        ((*RNR, "--player", "one"), "--player one: expected 0 or 1"),
        ((*STYLE, "--eps", "1"), "no such option: --eps (did you mean --epsilon?)"),
    ):
        assert main(list(arguments)) == 2
        assert words in capsys.readouterr().err


def test_what_was_asked_is_part_of_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    assert json_of(capsys, "solve", "kuhn")["question"] == "nash"
    assert json_of(capsys, *RNR, "--p", "1/2")["question"] == "rnr --opponent uniform --p 1/2"
    assert json_of(capsys, *RNR, "--frontier")["question"] == "rnr --opponent uniform --frontier"
    record = json_of(capsys, *CONSTRAINED, "--constrain", "0/J_:b >= 1/2 as jack")
    assert record["question"] == "constrained --constrain '0/J_:b >= 1/2 as jack'"
    assert "rnr --opponent uniform --p 1/2 on kuhn" in printed(capsys, *RNR, "--p", "1/2")


def test_numbers_say_what_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    shown = printed(capsys, *RNR, "--p", "1/2", "--method", "rational", "--player", "0")
    assert "7/18 = 0.3888888889 to player 0, against the model" in shown
    assert (
        "5/36 = 0.1388888889 to player 0, against the model with probability 1/2, otherwise in the worst case" in shown
    )
    assert "1/18 = 0.0555555556 below the value of the game at worst" in shown
    shown = printed(capsys, *STYLE, "--maximise", "0/J_:b", "--epsilon", "1/50", "--method", "rational")
    assert "-17/225 = -0.0755555556 to player 0, in the worst case" in shown
    assert "violation        0\n" in shown  # 6.9e-17 in floats


def test_interrupted_frontier_has_the_usual_keys(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("treeplex.solvers.parametric.frontier.restricted_nash_frontier", interrupted)
    assert main([*RNR, "--frontier", "--json", "-"]) == 130
    shown = capsys.readouterr()
    assert shown.err == "error: interrupted\n"
    assert json.loads(shown.out)["status"] == "interrupted"


def test_curves_are_drawn(capsys, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "frontier.svg"
    printed(capsys, "solve", "kuhn", "--problem", "rnr", "--opponent", "uniform", "--frontier", "--plot", str(picture))
    assert picture.read_text(encoding="utf-8").startswith("<?xml")
    picture = tmp_path / "bound.png"
    printed(
        capsys, *CONSTRAINED, "--constrain", "0/K_:b<=1/2 as king", "--sensitivity", "king=0:1", "--plot", str(picture)
    )
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_constrained_cfr_by_name(capsys):
    record = json_of(capsys, *CONSTRAINED, *KING_AND_JACK, "--method", "ccfr", "--base", "pcfr+", "--tol", "1e-4")
    assert (record["method"], record["status"], record["options"]["base"]) == ("ccfr", "converged", "pcfr+")
    assert record["objective"] == pytest.approx(-0.1, abs=1e-3)


def test_multipliers_move_as_asked(capsys):
    asked = (*CONSTRAINED, *KING_AND_JACK, "--method", "ccfr", "--steps", "constant", "--step", "1")
    options = json_of(capsys, *asked, "--tangents", "iterate", "--step-unit", "plain")["options"]
    assert (options["steps"], options["step"], options["tangents"]) == ("constant", 1.0, "iterate")
    assert options["step_unit"] == "plain"


def test_multipliers_are_bounded_by_name(capsys):
    asked = (*CONSTRAINED, *KING_AND_JACK, "--method", "ccfr", "--beta", "0.05")
    record = json_of(capsys, *asked)
    assert (record["status"], record["options"]["beta"]) == ("converged", 0.05)
    assert record["multiplier_bound"] > 1 / 3
    assert f"price bound     {record['multiplier_bound']:g} at the end" in printed(capsys, *asked)


@pytest.mark.parametrize("method", ["highs", "cvxpy", "rational", "ccfr"])
def test_what_cannot_be_met_is_shown_by_every_method(capsys, method):
    bounds = ("--constrain", "0/J_:b>=0.7 as often", "--constrain", "0/J_:b<=0.4 as seldom")
    assert main([*CONSTRAINED, *bounds, "--method", method]) == 1
    shown = capsys.readouterr().out
    assert "often, seldom" in shown
    assert ("3/10 in total, at most 3/20 for one constraint" if method == "rational" else "0.3 in total") in shown


def test_a_gap_within_the_tolerance_is_called_so_whatever_is_violated(capsys: pytest.CaptureFixture[str]) -> None:
    game = load_game("kuhn")
    found = solve(ConstrainedNash(game, parse_constraint("0/J_:b >= 1/2 as jack", game)), "ccfr", tol=1e-2)
    assert found.status == "converged"
    print_solution(found, "constrained")
    within = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("gap"))
    assert within.endswith("at most the tolerance of 0.01")
    print_solution(replace(found, certificate=replace(found.certificate, violations={"jack": 0.5})), "constrained")
    lines = capsys.readouterr().out.splitlines()
    assert within in lines
    assert any(line.split() == ["violation", "0.5"] for line in lines)


# What reports say of players and of tolerances

#: By hand (von Stengel and Zamir): who commits to half of each row is paid 7/2, since the other then takes the second
#: column; without, the first row is better whatever the other does, and pays 2.
COMMITMENT = """EFG 2 R "lead" { "one" "two" }
""
p "" 1 1 "row" { "top" "bottom" } 0
p "" 2 1 "column" { "left" "right" } 0
t "" 1 "" { 2, 1 }
t "" 2 "" { 4, 0 }
p "" 2 1 "column" { "left" "right" } 0
t "" 3 "" { 1, 0 }
t "" 4 "" { 3, 1 }
"""


@pytest.mark.parametrize("leader", [0, 1])
def test_a_commitment_names_who_leads_and_who_follows(
    leader: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("lead.efg").write_text(COMMITMENT)
    asked = ("solve", "lead.efg", "--problem", f"stackelberg:leader={leader}")
    # The column player cannot do better than with the equilibrium: the row player takes the first row anyway.
    paid = {0: (3.5, 0.5), 1: (2.0, 1.0)}[leader]
    record = json_of(capsys, *asked)
    assert record["values"] == pytest.approx(paid)
    assert (record["value"], record["objective"]) == pytest.approx((paid[0], paid[leader]))
    assert main([*asked, "--html", "page.html"]) == 0
    printed = capsys.readouterr().out
    follower = 1 - leader
    assert re.search(rf"^leader's payoff +{paid[leader]:.10f} to player {leader}$", printed, re.MULTILINE)
    assert re.search(rf"^follower's payoff +{paid[follower]:.10f} to player {follower}$", printed, re.MULTILINE)
    assert "value" not in [line.split()[0] for line in printed.splitlines() if line.strip()]
    page = re.sub(r"<[^>]+>", "", Path("page.html").read_text(encoding="utf-8"))
    told = f"the leader, player {leader}, is paid {paid[leader]:g} and"
    assert told in page or f"the follower, player {follower}, is paid {paid[follower]:g} and" in page


@pytest.mark.parametrize("problem", ["efce", "efcce", "nfcce"])
def test_a_correlated_equilibrium_is_written_with_its_recommendations(
    problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("solve", "battleship", "--problem", problem, "--maximise", "welfare")
    record = json_of(capsys, *asked)
    assert record["objective"] == pytest.approx({"nfcce": 0.0}.get(problem, -13 / 18), abs=1e-9)
    assert record["lower"] <= record["upper"] <= record["lower"] + 1e-8
    assert max(record["regrets"]) == record["epsilon"] <= 1e-9
    assert sum(one["probability"] for one in record["recommendations"]) == pytest.approx(1.0)
    assert main([*asked, "--html", "page.html", "--out", "marginal.npz"]) == 0
    printed = capsys.readouterr().out
    assert re.search(rf"^ε-{problem.upper()} +ε ", printed, re.MULTILINE)
    assert re.search(r"^proven bounds .* on the sum of payoffs$", printed, re.MULTILINE)
    page = re.sub(r"<[^>]+>", "", Path("page.html").read_text(encoding="utf-8"))
    assert "pairs of plans, one of which the mediator draws in secret" in page
    assert "is an ε-Nash equilibrium" not in page


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("leduc", "--problem", "efce"), "correlated equilibria: the infosets 'Js_' and 'Qs_' of player 0"),
        (("leduc", "--problem", "nfce"), "correlated equilibria of whole plans: the players have about 10^"),
        (("kuhn", "--problem", "nfec"), "unknown problem 'nfec' (did you mean nfce?)"),
        (("kuhn:players=3", "--problem", "nfcce"), "nfcce needs two players, but kuhn:players=3 has 3"),
        (("kuhn", "--problem", "efce", "--maximise", "2"), "--maximise 2: expected one of welfare, 0, 1"),
        (("kuhn", "--problem", "efce", "--method", "dcfr"), "method dcfr cannot solve efce: use highs"),
        (("kuhn", "--problem", "efec"), "unknown problem 'efec' (did you mean efce?)"),
        (("transit:width=2", "--problem", "efcce"), "correlated equilibria need perfect recall"),
        (("battleship:shots=9",), "battleship: shots is 9, expected at most 3"),
    ],
)
def test_games_and_words_that_do_not_fit_a_correlated_equilibrium(
    asked: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", *asked]) == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert said in printed.err
    assert len(printed.err.strip().splitlines()) == 1


PATROL = """\
map = "lanes.csv"
steps = 5
speed = 60

[[units]]
name = "car"
base = "south"
detection = 0.6

[[attackers]]
name = "thief"
entries = { west = [0, 1] }
goals = { depot = 2, kiosk = 1 }

[payoffs]
meeting = -1
step = -0.05
"""
LANES = "from,to,length\nwest,depot,1\ndepot,south,1\nsouth,kiosk,1\nkiosk,west,1\ndepot,kiosk,2\n"
JUDGED = re.compile(
    r"^ *(\S.*?)  +(?:ε )?(-?[\d.e+-]+)[^\n]*, (at most|above) the tolerance of ([\d.e+-]+)$", re.MULTILINE
)


@pytest.mark.parametrize(
    "asked",
    [
        ("patrol.toml", "--problem", "caught-once"),
        ("patrol.toml", "--problem", "caught-once", "--tol", "1e-9"),
        ("kuhn", "--method", "cfr", "--max-iterations", "20"),
        ("kuhn", "--method", "dcfr", "--tol", "0.01"),
        ("kuhn", "--problem", "rnr", "--opponent", "uniform", "--p", "0.5", "--method", "cfr+", "--tol", "0.02"),
        ("kuhn", "--problem", "cdrnr", "--opponent", "uniform", "--p", "0.5", "--lookahead", "1", "--method", "cfr+"),
        ("lead.efg", "--problem", "epsilon-nash", "--method", "dcfr", "--max-iterations", "5"),
        ("lead.efg", "--problem", "stackelberg:leader=0"),
        ("lead.efg", "--problem", "efce"),
    ],
    ids=" ".join,
)
def test_what_is_held_against_the_tolerance_is_what_stands_beside_it(
    asked: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gap of twice the exploitability was said to be at most a tolerance below it."""
    monkeypatch.chdir(tmp_path)
    Path("lanes.csv").write_text(LANES)
    Path("patrol.toml").write_text(PATROL)
    Path("lead.efg").write_text(COMMITMENT)
    assert main(["solve", *asked]) in (0, 1)
    printed = capsys.readouterr().out
    judged = JUDGED.findall(printed)
    assert len(judged) == 1 or "at the level of round-off" in printed, printed
    for name, number, relation, tolerance in judged:
        assert (float(number) <= float(tolerance)) == (relation == "at most"), (name, printed)


# Payoffs that sum to a constant

#: By hand: five are shared. Player 0 mixes its rows 1 to 3, player 1 its columns evenly, and they are paid 3/2 and 7/2.
SHARED = """EFG 2 R "shared" { "one" "two" }
""
p "" 1 1 "row" { "u" "d" } 0
p "" 2 1 "column" { "l" "r" } 0
t "" 1 "" { 3, 2 }
t "" 2 "" { 0, 5 }
p "" 2 1 "column" { "l" "r" } 0
t "" 3 "" { 1, 4 }
t "" 4 "" { 2, 3 }
"""


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("shared.efg").write_text(SHARED)
    return "shared.efg"


def test_both_players_values_are_told(shared: str, capsys: pytest.CaptureFixture[str]) -> None:
    record = json_of(capsys, "solve", shared)
    assert (record["value"], record["values"]) == (pytest.approx(1.5), pytest.approx([1.5, 3.5]))
    assert main(["solve", shared, "--out", "found.npz", "--html", "page.html"]) == 0
    assert "1.5000000000 to player 0, 3.5000000000 to player 1" in capsys.readouterr().out
    assert "and player 1 3.5" in re.sub(r"<[^>]+>", "", Path("page.html").read_text(encoding="utf-8"))
    judged = json_of(capsys, "evaluate", shared, "--strategy", "found.npz")
    assert judged["payoffs"] == judged["best_response_values"] == pytest.approx([1.5, 3.5])
    assert (judged["lower"], judged["upper"]) == pytest.approx((1.5, 1.5))
    # Against player 1, half and half, nobody is paid more than 3/2; player 0 would lose 1/2 by halves.
    for player, bounds, loss in ((1, (None, 1.5), 0.0), (0, (1.0, None), 0.5)):
        strategy = Strategy.uniform(load_game(shared), player)
        strategy.save("halves.npz")
        judged = json_of(capsys, "evaluate", shared, "--strategy", "halves.npz")
        assert (judged["lower"], judged["upper"], judged["exploitability"]) == pytest.approx((*bounds, loss), abs=1e-9)


def test_styles_and_frontiers_of_player_1_are_in_its_payoffs(shared: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By hand: with its first column at 7/10 player 1 is paid 5 - 21/10, which is 6/10 less than the value."""
    assert main(["style", shared, "--target", "l@first >= 0.7", "--max-loss", "1", "--player", "1"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^game value +3\.5000000000 to player 1$", printed, re.MULTILINE)
    assert re.search(r"^least loss +0\.6000000000", printed, re.MULTILINE)
    frontier = ("solve", shared, "--problem", "rnr", "--opponent", "uniform", "--player", "1", "--frontier")
    record = json_of(capsys, *frontier)
    assert record["game_value"] == pytest.approx(3.5)
    assert record["frontier"][-1]["gain"] == pytest.approx(0.5)  # the second column is paid 4 by halves


@pytest.mark.parametrize("name", ["shared.json", "shared.graphml", "shared.npz", "again.efg"])
def test_files_keep_what_is_shared(name: str, shared: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", shared, "--out", name]) == 0
    capsys.readouterr()
    assert json_of(capsys, "solve", name)["values"] == pytest.approx([1.5, 3.5])


def test_the_exported_linear_program_has_the_value_of_player_0(shared: str, capsys: pytest.CaptureFixture[str]) -> None:
    highspy = pytest.importorskip("highspy")
    assert main(["export", shared, "--out", "shared.mps"]) == 0
    capsys.readouterr()
    model = highspy.Highs()
    model.silent()
    model.readModel("shared.mps")
    model.run()
    assert abs(model.getObjectiveValue()) == pytest.approx(1.5)
