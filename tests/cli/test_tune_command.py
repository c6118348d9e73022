"""The command ``treeplex tune``: its JSON, the bot that it writes, its errors, and runs that go on."""

import json
from pathlib import Path

import pytest
from effort import thorough

from treeplex import Checkpoint
from treeplex.cli import main
from treeplex.models.matches import Table, match
from treeplex.models.opponents import Threshold, ThresholdBot
from treeplex.solvers.matches.bots import find_bot
from treeplex.solvers.opponents.tuning import Annealing, AtTable, MatchJudge, Tuned, TuningStep, improvement, tune

pytest.importorskip("pokerkit")
#: Who bets little, and is easy to improve on against who always calls.
SHY = "[[rounds]]\nx = -0.16\ny = 0.1\nz = 0.45\np = [3, 10, 0, 40]\nq = [2.5, 1, 0, 0]\n"
SHORT = ("--opponent", "call", "--steps", "1", "--matches", "3", "--hands", "20", "--samples", "100")


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("shy.toml").write_text(SHY)


@thorough
def test_the_bot_that_is_written_earns_what_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "shy.toml", *SHORT, "--out", "tuned.toml", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    made = ThresholdBot.from_file("tuned.toml")
    assert made.automaton.numbers.tolist() == record["numbers"]
    assert made.samples == record["samples"] == 100
    assert (record["tried"], record["checked_hands"], record["opponents"]) == (11, 240, ["call"])
    low, high = record["confidence_interval"]
    assert low < record["mbb_per_hand"] < high
    assert record["mbb_per_hand"] > 0
    # On deals of its own, it is better as well.
    won = [
        match([bot, find_bot("call", Table())], hands=200, seed=9).mbb_per_hand
        for bot in (made, find_bot("shy.toml", Table()))
    ]
    assert won[0] > won[1]
    assert main(["tune", "shy.toml", *SHORT]) == 0
    shown = capsys.readouterr().out
    assert f"{record['mbb_per_hand']:+.1f} mBB/hand in [{low:+.1f}, {high:+.1f}] over shy.toml, in 240 hands" in shown


def search(path: str | None = None, stop: int | None = None, resume: bool = False) -> tuple[Tuned, int]:
    """Tune in the same way, and count the values that were judged."""
    judge = MatchJudge(AtTable(Table(stack=2000), ("fold", "call"), 50), 3, 4)
    told: list[TuningStep] = []

    def tell(step: TuningStep) -> None:
        assert step.before == (told[-1].before + 1 if told else step.before)
        told.append(step)
        if len(told) == stop:
            raise KeyboardInterrupt

    kept = None if path is None else Checkpoint(path, every=0.0, resume=resume)
    start = Threshold(Threshold().rounds[:1])
    return tune(judge, start, Annealing(rounds=1, steps=4), seed=1, on_step=tell, checkpoint=kept), len(told)


@thorough
def test_runs_go_on_to_the_bit_wherever_they_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, of_all = search()
    judged, score = [0], MatchJudge.score

    def counted(self: MatchJudge, *arguments: object) -> object:
        judged[0] += 1
        return score(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(MatchJudge, "score", counted)
    assert search("run.npz", stop=14)[0].interrupted
    assert judged[0] == 4 + 14 + 2  # 14 values in four numbers, and what was found beside what stood
    found, count = search("run.npz", resume=True)
    assert (found.automaton, found.rounds, found.steps) == (whole.automaton, whole.rounds, whole.steps)
    assert count < of_all == 44
    # Nothing is judged again but what the interruption had judged of a part of the run.
    assert judged[0] == 20 + (11 * 5 + 2) - 18


def test_improvement_is_by_the_same_deals() -> None:
    play, shy = AtTable(Table(), ("fold",), 50), Threshold.from_file("shy.toml")
    none = improvement(play, shy, shy, 10, (1,))
    assert (none.mean, none.lower, none.upper) == (0.0, 0.0, 0.0)
    found = improvement(play, Threshold(), shy, 20, (1,))
    paid = play(Threshold(), shy, 20, (1,)) - play(shy, shy, 20, (1,))
    assert found.mean == pytest.approx(paid.mean())
    assert found.lower < found.mean < found.upper


def test_several_opponents_share_the_hands() -> None:
    both = AtTable(Table(), ("fold", "call"), 50)(Threshold(), Threshold(), 4, (1,))
    each = [AtTable(Table(), (text,), 50)(Threshold(), Threshold(), 4, (1,)) for text in ("fold", "call")]
    assert both == pytest.approx((each[0] + each[1]) / 2)


MISTAKES = {
    "another bot": (["call"], "BOT is call, expected a threshold automaton: threshold, or a bot file with [[rounds]]"),
    "an opponent": (["shy.toml", "--opponent", "cal"], "unknown bot 'cal' (did you mean call?)"),
    "a misspelt option": (["shy.toml", "--oponent", "call"], "did you mean --opponent?"),
    "too few matches": (["shy.toml", "--matches", "2"], "2, expected a whole number of at least 3"),
    "samples": (["shy.toml", "--samples", "0"], "0, expected a whole number from 1 to 1,000,000"),
    "what is written": (["shy.toml", "--out", "tuned.txt"], "expected a file name that ends with .toml"),
    "the file itself": (["shy.toml", "--out", "shy.toml"], "BOT and --out name the same file"),
    "no checkpoint": (["shy.toml", "--resume", "no.npz"], "--resume: no.npz: no such file"),
    "a file": (["no.toml"], "no.toml: no such file"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered_in_one_line(capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments, message = MISTAKES[name]
    assert main(["tune", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err
