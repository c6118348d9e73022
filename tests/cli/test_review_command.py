"""``treeplex review``: tables, files, and one line for each mistake."""

import csv
import io
import sys
from pathlib import Path

import pytest
from command_line import json_of, refusal

from treeplex.cli import main
from treeplex.models.games.holdem import HoldemSpot

pytest.importorskip("pokerkit")
from reviewed_hands import river, written


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with hands of a player who folds too often, and the solved spot."""
    found = tmp_path_factory.mktemp("review")
    (found / "hands.phhs").write_text(written(500, 1, overfolds=0.6))
    river().save(found / "river.npz")
    river().spot.to_toml(found / "river.toml")
    return found


def test_a_planted_leak_comes_first(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hands, spot = str(folder / "hands.phhs"), str(folder / "river.npz")
    table, page = tmp_path / "d.csv", tmp_path / "r.html"
    arguments = ["review", hands, "--hero", "hero", "--against", spot]
    assert main([*arguments, "--csv", str(table), "--html", str(page)]) == 0
    printed = capsys.readouterr().out
    first = printed[printed.index("costliest habits") :].splitlines()[2]
    assert first.startswith("river   facing a")
    assert "fold" in first
    record = json_of(capsys, *arguments, "--top", "3")
    assert record["habits"][0]["kind"] == "fold"
    assert record["hands"] == record["read"] == 500
    assert len(record["habits"]) == len(record["costliest"]) == 3
    assert record["adjusted"]["upper"] - record["adjusted"]["lower"] < 2 * record["result"]["upper"]
    assert record["lost"]["lower"] < record["lost"]["mean"] < record["lost"]["upper"]
    assert record["costliest"][0]["loss"] >= record["costliest"][0]["lower"] > 0
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == record["decisions"]
    assert sum(float(row["loss"]) for row in rows) == pytest.approx(5 * record["lost"]["mean"])
    assert "Habits" in page.read_text()


def test_hands_from_standard_input_and_a_spot_that_is_solved(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "hands.phhs").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    record = json_of(capsys, "review", "-", "--hero", "hero", "--against", str(folder / "river.toml"), "--seat", "0")
    assert record["habits"][0]["kind"] == "fold"


def test_the_spot_of_a_hand(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Hand 2 is played with blinds of 3 and 6: its pot of 10 big blinds has 1,000 chips."""
    hands = str(folder / "hands.phhs")
    assert main(["review", hands, "--hero", "hero", "--spot", "2:river", "--oop", "AA, KK", "--ip", "QQ+"]) == 0
    spot = HoldemSpot.from_toml(capsys.readouterr().out)
    assert (spot.board, spot.pot, spot.stack) == ("Ks9d4c7h2s", 1000, 2000)


@pytest.mark.slow
def test_equilibria_before_the_flop_and_on_rivers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hands = str(folder / "hands.phhs")
    record = json_of(capsys, "review", hands, "--hero", "hero", "--top", "100")
    streets = {habit["street"] for habit in record["habits"]}
    assert streets == {"preflop", "river"}
    assert len(record["games"]) > 1
    assert all(one["lower"] is None for one in record["costliest"] if one["street"] == "river")
    few = json_of(capsys, "review", hands, "--hero", "hero", "--spots", "0", "--oop", "22+", "--ip", "22+")
    assert few["left_out"]["rivers beyond the first 0 (--spots)"] == 500
    alone = json_of(capsys, "review", hands, "--hero", "hero", "--streets", "preflop")
    assert alone["decisions"] == few["decisions"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["--hero", "heros"], "has no player named 'heros' (did you mean hero?)"),
        (["--against", "equilibrum"], "--against 'equilibrum' (did you mean equilibrium?): expected equilibrium"),
        (["--against", "river.npz"], "--against river.npz: no such file"),
        (["--streets", "rivr"], "'rivr' (did you mean river?), expected preflop or river"),
        (["--spot", "3:rver"], "--spot '3:rver' (did you mean river?): expected the number of a hand"),
        (["--spot", "9999:river"], "--spot 9999:river: expected a hand from 1 to 500"),
        (["--spot", "3:river", "--oop", "AA", "--ip", "A"], "--ip: range at character 1, 'A': expected AA"),
        (["--oop", "22+,A2z+"], "--oop: range at character 5, 'A2z+': expected AA"),
        (["--bets", "33"], "--bets: bets at character 1: '33', expected 60%"),
        (["--csv", "decisions.txt"], "--csv decisions.txt: expected a file name that ends with .csv"),
        (["--seat", "2"], "expected 0 or 1"),
        (["--heroe", "x"], "no such option: --heroe (did you mean --hero?)"),
    ],
)
def test_mistakes_get_one_line(
    changes: list[str], said: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    given = [] if "--hero" in changes else ["--hero", "hero"]
    assert said in refusal(capsys, "review", str(folder / "hands.phhs"), *given, *changes)


def test_hands_of_another_board_are_counted(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.phhs"
    other.write_text((folder / "hands.phhs").read_text().replace("'d db 2s'", "'d db 3s'"))
    error = refusal(capsys, "review", str(other), "--hero", "hero", "--against", str(folder / "river.npz"))
    assert "no decision of hero was reviewed; left out: 500 other boards" in error
