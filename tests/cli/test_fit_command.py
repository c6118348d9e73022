"""``treeplex fit``: from a log to a strategy, and what it says of logs that it cannot read."""

import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from command_line import json_of, refusal
from effort import some, thorough

from treeplex import Profile, Strategy, load_game, read_play_log
from treeplex.cli import main
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.observations import logit_response
from treeplex.seqform import best_response_values
from treeplex.solvers.opponents.strategies import opponent_strategy


def played(
    folder: Path, games: int = 3000, *, seat: int = 0, spec: str = "kuhn", opponent: str = "random:seed=1"
) -> str:
    """Write a log of uniform play in one seat against an opponent in the other."""
    path = str(folder / f"seat{seat}.jsonl")
    seats = ["uniform", opponent] if seat == 0 else [opponent, "uniform"]
    arguments = ["play", spec, "--seat0", seats[0], "--seat1", seats[1], "--games", str(games), "--seed", "7"]
    assert main([*arguments, "--observer", str(seat), "--out", path]) == 0
    return path


@pytest.mark.parametrize("seat", [0, 1])
def test_from_a_log_to_a_strategy_and_back_to_solve(
    seat: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, out = played(tmp_path, seat=seat), str(tmp_path / "strategy.npz")
    record = json_of(capsys, "fit", log, "--game", "kuhn", "--seat", str(seat), "--confidence", "0.99", "--out", out)
    assert (record["status"], record["games"], record["seat"]) == ("optimal", 3000, seat)
    game = load_game("kuhn")
    profile = Profile.load(out, game)
    earned = game.sequence_form.expected_payoffs(profile.plans)[seat]
    assert record["guaranteed"] == pytest.approx(earned)
    opponent = opponent_strategy("random:seed=1", game, 1 - seat)
    best = float(
        best_response_values(game, Profile(sorted([profile[seat], opponent], key=lambda one: one.player)))[seat]
    )
    assert record["game_value"] < record["guaranteed"] < best
    assert record["guaranteed"] <= record["expected"]
    for problem, more in (("best-response", ()), ("rnr", ("--p", "1/2"))):
        question = [
            "solve",
            "kuhn",
            "--problem",
            problem,
            "--opponent",
            out,
            "--player",
            str(seat),
            *more,
            "--json",
            "-",
        ]
        assert main(question) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["status"] == "optimal"
        if problem == "best-response":
            assert answer["objective"] == pytest.approx(record["guaranteed"])


def test_what_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = played(tmp_path), str(tmp_path / "strategy.npz")
    capsys.readouterr()
    assert main(["fit", log, "--game", "kuhn", "--seat", "0", "--confidence", "0.99", "--out", out]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    lines = shown.out.splitlines()
    for name in ("guaranteed", "expected", "game value", "exploitability", "status", "profile in", "probe"):
        assert any(line.startswith(name) for line in lines), name
    heading = next(number for number, line in enumerate(lines) if line.startswith("observation"))
    rows = lines[heading + 1 : lines.index("", heading)]  # the names of files follow
    assert 0 < len(rows) <= 10
    worths = [float(row.split()[-1]) for row in rows]
    assert worths == sorted(worths, reverse=True)
    assert all(" reaches " in row and (" at most " in row or " at least " in row) for row in rows)


def test_few_games_recommend_an_equilibrium_and_say_how_many_would_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ("--game", "kuhn", "--seat", "0", "--bonferroni")
    few, many = played(tmp_path, 3), played(tmp_path, 20_000, seat=1)
    record = json_of(capsys, "fit", few, *asked)
    assert record["guaranteed"] == pytest.approx(record["game_value"], abs=1e-9)
    assert record["recommended"] == "equilibrium"
    needed = record["games_needed"]
    assert 3 < needed <= 3 * 4**6
    assert main(["fit", few, *asked]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("recommended an equilibrium (treeplex solve): these games do not prove that")
    assert f"would take about {needed:,} games" in told
    record = json_of(capsys, "fit", many, "--game", "kuhn", "--seat", "1", "--bonferroni")
    assert record["guaranteed"] > record["game_value"]
    assert (record["recommended"], record["games_needed"]) == ("response", None)
    hedged = record["hedged"]
    gain = hedged["guaranteed"] - record["game_value"]
    assert hedged["p"] == 0.95
    assert hedged["mean_gain"] == pytest.approx(0.95 * gain - 0.05 * hedged["exploitability"])
    restricted = json_of(capsys, "fit", many, "--game", "kuhn", "--seat", "1", "--bonferroni", "--p", "0.95")
    assert restricted["guaranteed"] == pytest.approx(hedged["guaranteed"], abs=1e-9)
    assert (restricted["recommended"], restricted["hedged"]) == ("response", None)
    assert main(["fit", many, "--game", "kuhn", "--seat", "1", "--bonferroni"]) == 0
    assert "recommended" not in capsys.readouterr().out
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text("")
    record = json_of(capsys, "fit", str(nothing), *asked)
    assert (record["recommended"], record["games_needed"]) == ("equilibrium", None)
    assert main(["fit", str(nothing), *asked]) == 0
    assert "the number of games needed is not known" in " ".join(capsys.readouterr().out.split())


def test_both_methods_both_intervals_and_a_known_probe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = (played(tmp_path), "--game", "kuhn", "--seat", "0", "--confidence", "0.999")
    exact = json_of(capsys, "fit", *asked)
    iterative = json_of(capsys, "fit", *asked, "--method", "ccfr", "--tol", "1e-4")
    assert iterative["status"] == "converged"
    assert iterative["objective"] == pytest.approx(exact["objective"], abs=4e-3)
    fractions = json_of(capsys, "fit", *asked, "--method", "rational")
    assert fractions["objective"] == pytest.approx(exact["objective"])
    wider = json_of(capsys, "fit", *asked, "--bonferroni")
    assert (exact["interval"], wider["interval"]) == ("wilson", "clopper-pearson")
    assert wider["guaranteed"] < exact["guaranteed"]
    known = json_of(capsys, "fit", *asked, "--probe", "uniform")
    assert known["guaranteed"] == pytest.approx(exact["guaranteed"], abs=0.1)
    assert known["guaranteed"] != exact["guaranteed"]
    assert main(["fit", *asked, "--bonferroni", "--interval", "wilson"]) == 2
    assert "expected clopper-pearson" in capsys.readouterr().err
    for more, said in (
        ((), "wilson, confidence about 0.999 for each"),
        (("--bonferroni",), "clopper-pearson, confidence about 0.999 for all of them together"),
        (("--bonferroni", "--probe", "uniform"), "clopper-pearson, confidence at least 0.999 for all of them together"),
    ):
        assert main(["fit", *asked, *more]) == 0
        assert said in capsys.readouterr().out
    assert (known["probe"], exact["probe"]) == ("uniform", None)


def test_observations_that_exclude_each_other(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = (played(tmp_path, 200), "--game", "kuhn", "--seat", "0", "--confidence", "0.3")
    record = json_of(capsys, "fit", *asked)
    assert record["status"] == "optimal"
    assert record["least_violation"] > 1e-4
    assert record["penalty"] == 200.0
    assert len(record["conflict"]) >= 1
    assert json_of(capsys, "fit", *asked, "--penalty", "50")["penalty"] == 50.0
    assert main(["fit", *asked]) == 0
    shown = capsys.readouterr().out
    assert "no opponent fits all observations" in shown
    assert "those that fit best" in shown


def test_an_empty_log_gives_an_equilibrium(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_bytes(b"")
    record = json_of(capsys, "fit", str(empty), "--game", "kuhn", "--seat", "1")
    assert (record["games"], record["constraints"], record["informative"]) == (0, 0, [])
    assert record["guaranteed"] == pytest.approx(1 / 18)
    assert record["mean_result"] is None
    assert json_of(capsys, "fit", str(empty), "--game", "kuhn", "--seat", "1", "--p", "1/2")["p"] is None
    assert main(["fit", str(empty), "--game", "kuhn", "--seat", "1"]) == 0
    assert "there are too few games" in capsys.readouterr().out


def test_bad_lines_are_errors_or_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Path(played(tmp_path, 100))
    with log.open("ab") as file:
        file.write(b'{"seat": 0\n{"seat":0,"private":"J","public":["p","b","x"],"shown":{},"result":1}\n')
    asked = (str(log), "--game", "kuhn", "--seat", "0")
    assert "line 102" in refusal(capsys, "fit", *asked)
    record = json_of(capsys, "fit", *asked, "--skip-bad")
    assert (record["games"], record["lines"]) == (100, 103)
    assert sum(bad["count"] for bad in record["skipped"]) == 2
    assert {bad["line"] for bad in record["skipped"]} == {102, 103}
    assert main(["fit", *asked, "--skip-bad"]) == 0
    assert "first in line 102" in " ".join(capsys.readouterr().out.split())


def test_standard_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    content = Path(played(tmp_path, 50)).read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    assert json_of(capsys, "fit", "-", "--game", "kuhn", "--seat", "0")["games"] == 50


def test_games_of_the_log_are_counted_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = played(tmp_path, 500, spec="leduc:merge_suits=true")
    game = load_game("leduc:merge_suits=true")
    record = json_of(capsys, "fit", log, "--game", "leduc:merge_suits=true", "--seat", "0")
    found = read_play_log(log, game, 0)
    assert record["mean_result"] == pytest.approx(found.mean_result)
    for one in record["informative"]:
        assert one["frequency"] == one["count"] / 500
        assert one["lower"] <= one["frequency"] <= one["upper"]
        assert one["name"].startswith(one["event"])
    assert np.isfinite(record["guaranteed"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--game", "kuhn"), "--seat"),
        (("--seat", "0"), "--game"),
        (("--game", "kuhn", "--seat", "2"), "expected 0 or 1"),
        (("--game", "kuhn", "--seat", "0", "--confidence", "95"), "expected a number between 0 and 1"),
        (("--game", "kuhn", "--seat", "0", "--confidence", "nan"), "expected a number between 0 and 1"),
        (("--game", "kuhn", "--seat", "0", "--interval", "wald"), "unknown interval 'wald'"),
        (("--game", "kuhn", "--seat", "0", "--method", "cfr"), "is not for fit"),
        (("--game", "kuhn", "--seat", "0", "--method", "hihgs"), "unknown method 'hihgs'"),
        (("--game", "kuhn", "--seat", "0", "--penalty", "-1"), "expected a number of at least 0"),
        (("--game", "kuhn", "--seat", "0", "--out", "-"), "cannot be written to standard output"),
        (("--game", "kuhn", "--seat", "0", "--out", "strategy.txt"), "a profile is written as .npz"),
        (("--game", "kuhn", "--seat", "0", "--probe", "unifrom"), "unknown opponent"),
        (("--game", "kuhn", "--seat", "1"), "seat"),
        (("--game", "rps", "--seat", "0"), "the header is for the game 'kuhn'"),
        (("--game", "kuhn:cards=4", "--seat", "0"), "cards"),
        (("--game", "kuhn:cards=4", "--seat", "0", "--skip-bad"), "the header has cards = 3"),
        (("--game", "kuhn:players=3", "--seat", "0"), "two players"),
        (("--game", "coin", "--seat", "0"), "does not define what players observe"),
        (("--game", "khun", "--seat", "0"), "did you mean kuhn"),
        (("--game", "kuhn", "--seat", "0", "--probe", "nash"), "which the probe never does"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refusal(capsys, "fit", played(tmp_path, 300), *arguments)


def test_a_log_that_is_not_there_and_files_that_are_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refusal(capsys, "fit", str(tmp_path / "none.jsonl"), "--game", "kuhn", "--seat", "0")
    log = played(tmp_path, 10)
    assert "LOG and --json name the same file" in refusal(
        capsys, "fit", log, "--game", "kuhn", "--seat", "0", "--json", log
    )


def test_an_interruption_leaves_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = played(tmp_path, 10)

    def interrupted(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("treeplex.models.play.read_play_log", interrupted)
    record = json_of(capsys, "fit", log, "--game", "kuhn", "--seat", "0", status=130, quiet=False)
    assert (record["status"], record["games"], record["guaranteed"]) == ("interrupted", None, None)
    assert set(record) == set(json_of_uninterrupted(log, capsys, monkeypatch))


def json_of_uninterrupted(log: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> dict:
    monkeypatch.undo()
    return json_of(capsys, "fit", log, "--game", "kuhn", "--seat", "0")


HAND = """[{number}]
variant = 'NT'
antes = [0, 0]
blinds_or_straddles = [1, 2]
min_bet = 2
starting_stacks = [4, 4]
actions = {actions}
players = ['them', 'us']
"""
PREFLOP = ("--game", "preflop:stack=2,continuations=0,raises=1", "--seat", "0", "--method", "dcfr")


def histories(folder: Path, folds: int = 90, calls: int = 10) -> str:
    """Write hands in which we are all-in before the flop, and they mostly fold."""
    called = ["p1 cc", "p2 sm 2c2d", "p1 sm -", "d db 3c4d5h", "d db 9s", "d db Ts"]
    ends = [["p1 f"]] * folds + [called] * calls
    hands = [
        HAND.format(number=number, actions=["d dh p1 ????", "d dh p2 2c2d", "p2 cbr 4", *end])
        for number, end in enumerate(ends, 1)
    ]
    path = folder / "hands.phhs"
    path.write_text("\n".join(hands))
    return str(path)


def test_hand_histories_of_players_without_a_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = Path(histories(tmp_path, folds=9, calls=1))
    log.write_text(log.read_text().replace("'them'", "' '"))
    for names in some((("--player", "us"), ("--against", "p1"), ("--player", "us", "--against", "p1")), 2):
        record = json_of(capsys, "fit", str(log), *PREFLOP, *names, "--max-iterations", "10")
        assert (record["games"], record["left_out"]) == (10, {})
    assert "has no player named 'p2'" in refusal(capsys, "fit", str(log), *PREFLOP, "--player", "us", "--against", "p2")
    assert "a name is empty, expected the name of a player" in refusal(
        capsys, "fit", str(log), *PREFLOP, "--against", ""
    )


def test_hand_histories_become_a_strategy_before_the_flop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, out = histories(tmp_path), str(tmp_path / "strategy.npz")
    asked = (log, *PREFLOP, "--player", "us", "--max-iterations", "2000", "--bonferroni", "--out", out)
    record = json_of(capsys, "fit", *asked)
    assert (record["games"], record["player"], record["against"], record["left_out"]) == (100, "us", None, {})
    assert record["mean_result"] is None
    assert record["game_value"] < record["guaranteed"] <= record["upper"]
    assert {one["event"] for one in record["informative"]} <= {
        "opponent takes the line all-in, fold",
        "opponent takes the line all-in, call",
    }
    Profile.load(out, load_game(PREFLOP[1]))
    shown = json_of(capsys, "show", out, "--at", "all-in", "--csv", str(tmp_path / "them.csv"))
    assert (shown["game"], shown["at"]["mover"]) == (PREFLOP[1], "bb")
    folds = sum(row["weight"] * (row["fold"] or 0.0) for row in shown["at"]["classes"]["bb"])
    assert folds == pytest.approx(shown["at"]["averages"]["fold"])
    assert len((tmp_path / "them.csv").read_text().splitlines()) == 170
    with Path(log).open("a") as file:
        file.write("[101]\nvariant = 'PO'\n")
    assert "blinds_or_straddles is missing" in refusal(capsys, "fit", *asked)
    capsys.readouterr()
    assert main(["fit", *asked, "--skip-bad"]) == 0
    shown = capsys.readouterr().out
    assert "1 malformed, first in line" in shown
    assert "100 games, seen from seat 0" in shown


@thorough
def test_bounds_may_be_trusted_in_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = (histories(tmp_path), *PREFLOP, "--player", "us", "--bonferroni", "--tol", "1e-3")
    whole, part = json_of(capsys, "fit", *asked), json_of(capsys, "fit", *asked, "--p", "1/2")
    assert (whole["p"], part["p"]) == (None, 0.5)
    gain, most = (one["guaranteed"] - one["game_value"] for one in (part, whole))
    assert 0.0 < gain <= most + 2e-3
    assert part["exploitability"] <= gain + 4e-3  # p / (1 - p) of it, and the gap / (1 - p)
    assert "--penalty cannot be combined with --p" in refusal(capsys, "fit", *asked, "--p", "1/2", "--penalty", "3")
    assert "'--p': 2, expected a number from 0 to 1" in refusal(capsys, "fit", *asked, "--p", "2")
    misspelt = (*asked[:-5], "--player", "su", *asked[-3:])
    assert "has no player named 'su'" in refusal(capsys, "fit", *misspelt)


def test_lines_of_a_spot_are_counted_as_locks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "spot.toml"
    spot = HoldemSpot("KhQd4c", ["22+, A2+", "22+, K2+"], pot=2, stack=19, bets="50%, 100%")
    spot.to_toml(path)
    hand = HAND.replace("[4, 4]", "[40, 40]")
    start = ["d dh p1 ????", "d dh p2 2c2d", "p2 cc", "p1 cc", "d db As9h3c"]
    ends = [["p1 cc", "p2 cbr 4", "p1 f"]] * 90 + [["p1 cc", "p2 cbr 4", "p1 cbr 20", "p2 f"]] * 10
    texts = [hand.format(number=number, actions=[*start, *end]) for number, end in enumerate(ends, 1)]
    log = tmp_path / "hands.phhs"
    log.write_text("\n".join(texts))
    asked = (str(log), "--game", str(path), "--seat", "1", "--against", "them")
    record = json_of(capsys, "fit", *asked)
    found = {(one["at"], one["action"]): (one["count"], one["times"]) for one in record["frequencies"]}
    assert found["", "check"] == (100, 100)
    assert found["check, bet 2", "fold"] == (90, 100)
    assert any(lock.startswith('oop at "check, bet 2": fold >= ') for lock in record["locks"])
    assert replace(spot, bets=None, locks=tuple(record["locks"])).locks
    capsys.readouterr()
    assert main(["fit", *asked]) == 0
    shown = capsys.readouterr().out
    assert "played by them, oop, on boards of the class unpaired, 1 of a suit" in shown
    assert f"treeplex solve {path} --lock" in shown
    assert (record["interval"], record["bonferroni"], record["method"]) == ("clopper-pearson", True, None)
    assert "need --against NAME" in refusal(capsys, "fit", *asked[:-2])
    assert "has no player named 'then'" in refusal(capsys, "fit", *asked[:-1], "then")
    for option in (["--out", "x.npz"], ["--interval", "wilson"], ["--player", "us"], ["--max-iterations", "9"]):
        assert re.search(f"{option[0]} (is not for|does not apply to)", refusal(capsys, "fit", *asked, *option))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (PREFLOP, "--player NAME or --against NAME"),
        (("--game", "kuhn", "--seat", "0", "--player", "us"), "--player is for hand histories"),
        (("--game", "kuhn", "--seat", "0"), "it looks like hand histories"),
    ],
)
def test_whose_hand_histories_they_are_must_be_said(
    arguments: tuple[str, ...], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in refusal(capsys, "fit", histories(tmp_path, 2, 0), *arguments)


@pytest.mark.parametrize("seat", [0, 1])
def test_a_quantal_response_opponent_is_fitted_and_answered(
    seat: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = load_game("kuhn")
    logit, out = str(tmp_path / "logit.json"), str(tmp_path / "out.npz")
    logit_response(game, Strategy.uniform(game, seat), 2.0).save(logit)
    log = played(tmp_path, seat=seat, opponent=logit)
    capsys.readouterr()
    asked = ("fit", log, "--game", "kuhn", "--seat", str(seat))
    record = json_of(capsys, *asked, "--quantal", "uniform", "--out", out)
    found = record["quantal"]
    assert found["interval"][0] < 2.0 < found["interval"][1]
    assert found["log_likelihood"] > found["uniform_log_likelihood"]
    assert found["precision"] == pytest.approx(2.0, abs=4 * found["standard_error"])
    assert record["lower"] <= record["objective"] <= record["expected"]
    assert (record["interval"], record["constraints"]) == (None, None)
    profile = Profile.load(out, game)
    assert game.sequence_form.expected_payoffs(profile.plans)[seat] == pytest.approx(record["expected"])
    fitted = logit_response(game, Strategy.uniform(game, seat), found["precision"])
    assert profile[1 - seat].behaviour == pytest.approx(fitted.behaviour)
    page = tmp_path / "page.html"
    assert main([*asked, "--quantal", "probe", "--p", "1/2", "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    assert f"player {1 - seat} believes that seat {seat} plays as in the log" in printed
    assert "standard error" in printed
    assert "with probability 0.5; otherwise the opponent may play anything" in printed
    assert "quantal-response opponent fitted to 3,000 games" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("game", "why"),
    [
        ('"private":"J","public":["b","b"],"shown":{"0":"J","1":"K"},"result":-2', "the likelihood is flat there"),
        ('"private":"J","public":["p","p"],"shown":{"0":"J","1":"K"},"result":-1', "it is the least"),
    ],
)
def test_a_precision_without_a_standard_error_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], game: str, why: str
) -> None:
    """A king that always calls is the best response at any large precision; one that never bets is none."""
    (tmp_path / "log.jsonl").write_text(f'{{"seat":0,{game}}}\n' * 50)
    assert main(["fit", str(tmp_path / "log.jsonl"), "--game", "kuhn", "--seat", "0", "--quantal", "uniform"]) == 0
    assert f"which has no standard error: {why}" in " ".join(capsys.readouterr().out.split())


def test_quantal_options_that_do_not_fit_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = played(tmp_path, games=20)
    capsys.readouterr()
    asked = ("fit", log, "--game", "kuhn", "--seat", "0", "--quantal")
    for more in (("--bonferroni",), ("--penalty", "3"), ("--interval", "wilson")):
        refused = f"{more[0]} cannot be combined with --quantal; leave one of them out"
        assert refused in refusal(capsys, *asked, "probe", *more)
    assert "unknown opponent 'unform' (did you mean uniform?)" in refusal(capsys, *asked, "unform")
