"""Matches of portfolios: the same as live play, known regret, resumed to the bit, and the command."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treeplex import Checkpoint, CheckpointError, InvalidStrategyError
from treeplex.cli import main
from treeplex.models.matches import Table, match
from treeplex.models.opponents import UCB1, Portfolio
from treeplex.models.opponents.portfolio import LEARNERS, make_learner
from treeplex.solvers.matches.bots import find_bot
from treeplex.solvers.matches.portfolios import PortfolioMatch, play_portfolio

pytest.importorskip("pokerkit")
TABLE = Table(stack=2_000)
BOTS = ["fold", "call", "raise:pots=1/2"]


def played(learner: str = "ucb1", hands: int = 120, bots: list[str] = BOTS, **how: Any) -> PortfolioMatch:
    made = make_learner(learner, len(bots), hands, explore=10)
    return play_portfolio(bots, "random", made, TABLE, hands, seed=3, **how)


def same(one: PortfolioMatch, other: PortfolioMatch) -> bool:
    names = ("choices", "won", "expected", "asked", "payoffs")
    return all((getattr(one, name) == getattr(other, name)).all() for name in names)


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_match_is_what_the_bot_plays_live(learner: str) -> None:
    found = played(learner)
    live = Portfolio([find_bot(text, TABLE) for text in BOTS], make_learner(learner, 3, 120, 10), -20, 20)
    won = match([live, find_bot("random", TABLE)], TABLE, 120, False, 3)
    assert (won.expected[:, 0, 0] / 100 == found.gained).all()
    assert live.learner.counts.tolist() == found.learner.counts.tolist()
    assert live.learner.totals.tolist() == found.learner.totals.tolist()
    assert len(set(found.choices.tolist())) == 3


def test_regret_is_what_the_best_bot_would_have_won_more() -> None:
    found = played()
    alone = [match([find_bot(text, TABLE), find_bot("random", TABLE)], TABLE, 120, False, 3) for text in BOTS]
    sums = [one.expected[:, 0, 0].sum() / 100 for one in alone]
    assert found.expected.sum(axis=0) == pytest.approx(sums)
    assert found.regret == pytest.approx(max(sums) - found.gained.sum())
    assert BOTS[found.best] == BOTS[int(np.argmax(sums))]
    assert not found.asked.all()  # in the big blind it is not asked after a fold
    assert 0 < found.bound <= 40 * found.learner.counts.sum()


def test_explore_then_commit_explores_and_commits() -> None:
    found = played("explore-then-commit")
    chosen = found.choices[found.asked.all(axis=1)]
    assert np.bincount(chosen[:30]).tolist() == [10, 10, 10]
    assert len(set(chosen[30:].tolist())) == 1


@pytest.mark.parametrize("bots", [BOTS, ["call", "portfolio:fold+call"]], ids=["forgetful", "learning"])
def test_runs_are_resumed_to_the_bit(bots: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("treeplex.solvers.matches.portfolios._BLOCK", 50)
    whole, path, told = played(bots=bots), tmp_path / "run.npz", list[int]()

    def stop(done: int) -> None:
        told.append(done)
        if done >= 170:
            raise KeyboardInterrupt

    partial = played(bots=bots, each=stop, checkpoint=path)
    assert partial.interrupted
    assert len(partial.choices) < 120
    assert (partial.won == whole.won[: len(partial.won)]).all()
    again: list[int] = []
    resumed = played(bots=bots, each=again.append, checkpoint=Checkpoint(path, resume=True))
    assert same(resumed, whole)
    assert again[-1] == 120 * len(bots)
    assert len(again) < sum(120 // 16 + 4 for _ in bots) + len(told)
    with pytest.raises(CheckpointError):
        played(bots=bots, hands=130, checkpoint=Checkpoint(path, resume=True))


@pytest.mark.slow
def test_processes_change_nothing() -> None:
    assert same(played(jobs=2), played())


def test_what_does_not_fit_is_refused() -> None:
    for wrong, words in (
        ({"learner": UCB1(3)}, "2 bots but 3 learner arms"),
        ({"learner": UCB1(2), "table": Table(3)}, "expected 2: a portfolio plays one opponent"),
        ({"learner": UCB1(2), "cut": 0}, "cut is 0"),
    ):
        with pytest.raises(InvalidStrategyError, match=words):
            play_portfolio(["call", "fold"], "random", **wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidStrategyError, match="learner is 'ucb', expected one of ucb1"):
        make_learner("ucb", 2, 10)


def test_the_command_reports_regret(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    command = ["portfolio", *BOTS, "--opponent", "random", "--hands", "60", "--seed", "3", "--stack", "2000"]
    kept = ["--checkpoint", str(tmp_path / "run.npz"), "--resume", str(tmp_path / "run.npz")]
    assert main([*command, *kept, "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    found = played(hands=60)
    assert record["regret"] == pytest.approx(found.regret)
    assert record["learner_regret"] == pytest.approx(found.learner_regret)
    assert [one["played"] for one in record["results"]] == np.bincount(found.choices, minlength=3).tolist()
    assert sum(one["played"] for one in record["results"]) == record["hands"] == 60
    assert record["best"] == BOTS[found.best]
    low, high = record["confidence_interval"]
    assert low < record["mbb_per_hand"] < high
    assert main([*command, *kept]) == 0
    shown = capsys.readouterr().out
    assert f"{record['regret_mbb_per_hand']:.1f} mBB/hand, compared with always choosing {record['best']}" in shown


MISTAKES = {
    "one bot": (["call", "--opponent", "call", "--hands", "4"], "one bot is given, expected two or more"),
    "nobody": (["call", "fold", "--hands", "4"], "missing option '--opponent': the bot that they play against"),
    "a misspelt learner": (
        ["call", "fold", "--opponent", "call", "--hands", "4", "--learner", "exp2"],
        "exp2 (did you mean exp3?), expected ucb1, exp3 or explore-then-commit",
    ),
    "a misspelt bot": (["call", "flod", "--opponent", "call", "--hands", "4"], "unknown bot 'flod' (did you mean fold"),
    "explore": (
        ["call", "fold", "--opponent", "call", "--hands", "4", "--explore", "4"],
        "--explore is for --learner explore-then-commit only",
    ),
    "against": (["call", "fold", "--against", "call", "--hands", "4"], "did you mean --opponent?"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_answered_in_one_line(capsys: pytest.CaptureFixture[str], name: str) -> None:
    arguments, message = MISTAKES[name]
    assert main(["portfolio", *arguments]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert message in shown.err
