"""What four kinds of users do from beginning to end, on the command line; the student's notebook is among the docs."""

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from treeplex import Profile, Strategy, expected_payoffs, load_game
from treeplex.cli import main
from treeplex.solvers.opponents.strategies import opponent_strategy


def says(text: str, number: float) -> bool:
    """Whether a text has a number, rounded to four digits or more."""
    found = re.findall(r"[-\N{MINUS SIGN}]?\d+\.\d+(?:e-\d+)?", text)
    return any(abs(float(each.replace("\N{MINUS SIGN}", "-")) - number) < 1e-4 * abs(number) for each in found)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def record_of(name: str) -> dict:
    return json.loads(Path(name).read_text())


def words_of(name: str) -> str:
    """Return the text of a report that needs no other file, and is small enough to be sent."""
    page = Path(name).read_text(encoding="utf-8")
    assert len(page) < 2_000_000
    assert not re.search(r"<(link|img|script|iframe)[^>]+(src|href)=\"(?!data:)", page)
    return " ".join(re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def test_the_player_answers_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    game, opponent = "leduc:merge_suits=true", "cfr:iterations=3"
    play = ["play", game, "--seat0", "uniform:without=f", "--seat1", opponent, "--games", "5000", "--seed", "1"]
    assert main([*play, "--out", "games.jsonl"]) == 0
    fit = ["fit", "games.jsonl", "--game", game, "--seat", "0", "--confidence", "0.99"]
    assert main([*fit, "--out", "answer.npz", "--html", "answer.html", "--json", "answer.json"]) == 0
    found = record_of("answer.json")
    assert found["guaranteed"] > found["mean_result"] > found["game_value"]

    # What to play, beside an equilibrium, and in a table for other programs.
    capsys.readouterr()
    assert main(["show", "answer.npz", "--player", "0", "--against", "nash", "--out", "answer.csv"]) == 0
    shown = capsys.readouterr().out
    assert "nash" in shown
    assert shown.count("K") > 5

    # Against the opponent itself it earns more than the log did, and than the guarantee.
    leduc = load_game(game)
    mine = Strategy.load("answer.csv", leduc, 0)
    earned = expected_payoffs(leduc, Profile([mine, opponent_strategy(opponent, leduc, 1)]))[0]
    assert earned > found["guaranteed"]

    said = words_of("answer.html")
    assert says(said, found["guaranteed"])
    assert "treeplex fit games.jsonl" in said
    assert "5,000 games" in said


#: A known equilibrium of Kuhn poker: player 0 bluffs with one jack in three.
FIRST = {"J_": ("2/3", "1/3"), "Q_": (1, 0), "K_": (0, 1), "J_pb": (1, 0), "Q_pb": ("1/3", "2/3"), "K_pb": (0, 1)}
SECOND = {"J_p": ("2/3", "1/3"), "Q_p": (1, 0), "K_p": (0, 1), "J_b": (1, 0), "Q_b": ("2/3", "1/3"), "K_b": (0, 1)}


def as_json(*strategies: dict) -> str:
    said = {
        str(player): {infoset: {"pass": shares[0], "bet": shares[1]} for infoset, shares in strategy.items()}
        for player, strategy in enumerate(strategies)
    }
    return json.dumps(said)


def as_table(*strategies: dict) -> str:
    lines = [
        f"{player},{infoset},{action},{float(Fraction(share))!r}"
        for player, strategy in enumerate(strategies)
        for infoset, shares in strategy.items()
        for action, share in zip("pb", shares, strict=True)
    ]
    return "\n".join(["player,infoset,action,probability", *lines, ""])


def as_openspiel(*strategies: dict) -> str:
    cards = {"J": "0", "Q": "1", "K": "2"}
    said = {
        cards[infoset[0]] + infoset[2:]: [[number, float(Fraction(share))] for number, share in enumerate(shares)]
        for strategy in strategies
        for infoset, shares in strategy.items()
    }
    return json.dumps(said)


def as_gambit(*strategies: dict) -> str:
    kuhn = load_game("kuhn")
    shares = [
        str(share)
        for player, strategy in enumerate(strategies)
        for infoset in kuhn.sequence_form.treeplexes[player].infoset_labels
        for share in strategy[str(infoset)]
    ]
    return f"NE,{','.join(shares)}\n"


FORMS = {
    "kuhn answer.json": as_json,
    "kuhn answer.csv": as_table,
    "openspiel:kuhn_poker policy.json": as_openspiel,
    "kuhn.efg answer.ne": as_gambit,
}


@pytest.mark.parametrize("form", FORMS)
def test_the_researcher_certifies_a_foreign_strategy(form: str) -> None:
    game, file = form.split()
    if game.startswith("openspiel"):
        pytest.importorskip("pyspiel")
    if game.endswith(".efg"):
        assert main(["export", "kuhn", "--out", game]) == 0
    judge = ["evaluate", game, "--strategy", file, "--tol", "1e-9", "--html", "judged.html", "--json", "judged.json"]
    Path(file).write_text(FORMS[form](FIRST, SECOND))
    assert main(judge) == 0
    found = record_of("judged.json")
    assert found["lower"] == pytest.approx(-1 / 18, abs=1e-12)
    assert found["upper"] == pytest.approx(-1 / 18, abs=1e-12)
    assert found["left_out"] == [0, 0]
    said = words_of("judged.html")
    assert f"treeplex evaluate {game} --strategy {file}" in said
    assert says(said, -1 / 18)

    # The same with a jack that always bluffs: it is no equilibrium, and the exit status says so.
    Path(file).write_text(FORMS[form](FIRST | {"J_": (0, 1)}, SECOND))
    assert main(judge) == 1
    found = record_of("judged.json")
    assert not found["passed"]
    assert found["exploitability"] == pytest.approx(found["nash_conv"] / 2)
    assert found["exploitability"] > 0.01
    assert found["lower"] < -1 / 18 < found["upper"] + 1e-12
    first = found["repairs"][0]
    assert (first["player"], first["infoset"]) == (0, "0" if game.startswith("openspiel") else "J_")
    assert first["repair"] == pytest.approx(found["nash_conv"])  # player 1's strategy is an equilibrium's
    assert says(words_of("judged.html"), found["exploitability"])


def test_the_analyst_reports_what_a_risk_limit_costs() -> None:
    game, limit = "transit:width=2", "risk <= 1/10 as risk"
    solve = ["solve", game, "--problem", "constrained", "--constrain", limit]
    assert main([*solve, "--out", "patrol.npz", "--html", "patrol.html", "--json", "patrol.json"]) == 0
    found = record_of("patrol.json")
    assert found["status"] == "optimal"
    assert found["violation"] <= 1e-8
    assert found["multipliers"]["risk"] > 0
    said = words_of("patrol.html")
    assert "risk" in said
    assert says(said, found["value"])
    assert says(said, found["multipliers"]["risk"])
    assert "treeplex solve transit:width=2" in said

    # Where the patrol is at each time, and how the answer moves with the limit.
    assert main(["export", game, "--strategy", "patrol.npz", "--out", "patrol.svg"]) == 0
    assert "<svg" in Path("patrol.svg").read_text()
    limits = ["1/20", "1/10", "1/5", "1/2"]
    listed = ", ".join(f'["risk <= {each} as risk"]' for each in limits)
    Path("limits.toml").write_text(
        f'command = "solve"\ngame = "{game}"\nproblem = "constrained"\n[grid]\nconstrain = [{listed}]\n'
    )
    assert (
        main(["sweep", "limits.toml", "--out", "limits", "--jobs", "1", "--html", "limits.html", "--json", "l.json"])
        == 0
    )
    rows = record_of("l.json")["rows"]
    values = [row["result"]["value"] for row in rows]
    assert values == sorted(values, reverse=True)  # looser limits leave the evader less
    assert values[1] == pytest.approx(found["value"])
    assert "risk <= 1/20 as risk" in words_of("limits.html").replace("&lt;", "<")
