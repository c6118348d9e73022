"""Tuning of threshold automata: exact and by matches, resumed and interrupted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treeplex import (
    Checkpoint,
    CheckpointError,
    Nash,
    Profile,
    UnsupportedProblemError,
    load_game,
    solve,
)
from treeplex.models.games.holdem import HoldemSpot
from treeplex.models.matches import Table, match
from treeplex.models.opponents import Threshold, ThresholdRound
from treeplex.models.play import DuplicateDeals
from treeplex.solvers.matches.bots import find_bot
from treeplex.solvers.opponents.tuning import Annealing, AtTable, ExactJudge, MatchJudge, Score, Seats, TuningStep, tune

LEDUC = load_game("leduc:merge_suits=true")
HAND_MADE = Threshold(Threshold().rounds[:2])
#: Who continues with pairs and kings alone.
TIMID = Threshold((ThresholdRound(0.3, 0.9, 0.95, (2, 0, 0, 0), (2, 0, 0, 0)), *HAND_MADE.rounds[1:]))
SHORT = Annealing(rounds=1, steps=6)


def exact(automaton: Threshold, against: Profile) -> float:
    return ExactJudge(Seats(LEDUC, against)).score(automaton, automaton, [0]).mean


def test_duplicate_deals_are_fair_and_agree_with_expectations() -> None:
    bot, other = HAND_MADE.profile(LEDUC), Profile.uniform(LEDUC)
    deals = DuplicateDeals(LEDUC)
    assert not deals.play(bot, bot, 500, np.random.default_rng(1)).any()
    paid = deals.play(bot, other, 40_000, np.random.default_rng(2))
    expected = exact(HAND_MADE, other)
    assert abs(paid.mean() - expected) < 4 * paid.std() / 200


def test_games_that_deal_by_what_players_do_are_refused() -> None:
    with pytest.raises(UnsupportedProblemError, match="not a two-player game with rules"):
        DuplicateDeals(load_game("kuhn:players=3"))
    with pytest.raises(UnsupportedProblemError, match="does not describe its betting"):
        Seats(load_game("goofspiel:cards=3"))


def test_tuning_improves_on_what_is_made_by_hand() -> None:
    uniform, nash = Profile.uniform(LEDUC), solve(Nash(LEDUC), "highs-simplex").profile
    for start, against in ((HAND_MADE, uniform), (TIMID, uniform), (TIMID, nash)):
        found = tune(ExactJudge(Seats(LEDUC, against)), start, SHORT, seed=1)
        assert exact(found.automaton, against) > exact(start, against) + 0.05
        assert found.rounds[0].gain == Score(exact(found.automaton, against) - exact(start, against))
    assert exact(HAND_MADE, nash) == pytest.approx(0.0, abs=1e-9)  # nothing is left to improve


def test_spots_are_tuned_too() -> None:
    spot = HoldemSpot("QcJc9c3d2d", ["AcKc, 8h7h, KhKd", "QdQh, JdTd"], pot=100, stack=100, bets="100%")
    judge = ExactJudge(Seats(spot.game, Profile.uniform(spot.game)))
    found = tune(judge, Threshold(TIMID.rounds[:1]), Annealing(rounds=1, steps=6), seed=2)
    assert found.rounds[0].gain.mean > 5.0


def test_automata_are_judged_at_a_table_of_holdem() -> None:
    pytest.importorskip("pokerkit")
    bots = [find_bot(text, Table()) for text in ("threshold", "random")]
    assert not match(bots, hands=20, seed=1).forfeits
    judge = MatchJudge(AtTable(), matches=3, deals=4)
    assert judge.score(Threshold(), Threshold(), (1,)) == Score(0.0)
    tight = Threshold.from_numbers(Threshold().numbers + np.tile([0.2, *[0] * 10], 4))
    assert judge.score(tight, Threshold(), (1,)).error > 0


def test_best_responses_beat_what_they_respond_to() -> None:
    found = tune(ExactJudge(Seats(LEDUC)), HAND_MADE, Annealing(rounds=2, steps=6), seed=1)
    assert all(one.gain.mean > 0.1 and one.kept for one in found.rounds)
    assert exact(found.rounds[0].found, HAND_MADE.profile(LEDUC)) == pytest.approx(found.rounds[0].gain.mean)


def test_matches_are_judged_with_their_error() -> None:
    judge = MatchJudge(Seats(LEDUC, Profile.uniform(LEDUC)), matches=5, deals=400)
    scores = [judge.score(HAND_MADE, HAND_MADE, (seed,)) for seed in range(60)]
    expected = exact(HAND_MADE, Profile.uniform(LEDUC))
    off = np.array([(one.mean - expected) / one.error for one in scores])
    assert abs(off.mean()) < 0.6  # the middle of the matches is nearly the mean of all of them here
    assert 0.7 < off.std() < 1.6
    assert judge.score(HAND_MADE, HAND_MADE, (3,)) == scores[3]


@pytest.mark.slow
def test_parallel_matches_are_the_same() -> None:
    scores = [
        MatchJudge(Seats(LEDUC, Profile.uniform(LEDUC)), matches=3, deals=50, jobs=jobs).score(TIMID, TIMID, (1, 2))
        for jobs in (1, 2)
    ]
    assert scores[0] == scores[1]


def test_noisy_tuning_has_errors_at_every_step() -> None:
    steps: list[TuningStep] = []
    judge = MatchJudge(Seats(LEDUC, Profile.uniform(LEDUC)), matches=3, deals=100)
    found = tune(judge, HAND_MADE, Annealing(rounds=1, steps=2), seed=4, on_step=steps.append)
    assert found.steps == tuple(steps)
    assert len(steps) == 44
    assert all(one.rise.error > 0 for one in steps)
    assert sorted({one.number for one in steps}) == list(range(22))


def test_runs_are_the_same_again_and_resumed(tmp_path: Path) -> None:
    judge = MatchJudge(Seats(LEDUC, Profile.uniform(LEDUC)), matches=3, deals=50)
    settings = Annealing(rounds=2, steps=2)
    whole = tune(judge, HAND_MADE, settings, seed=5)
    path, count = tmp_path / "tuning.npz", 0

    def stop(step: TuningStep) -> None:
        nonlocal count
        count += 1
        if count == 30:
            raise KeyboardInterrupt

    partial = tune(judge, HAND_MADE, settings, seed=5, on_step=stop, checkpoint=path)
    assert partial.interrupted
    assert len(partial.rounds) == 1
    resumed: list[TuningStep] = []
    again = tune(judge, HAND_MADE, settings, seed=5, on_step=resumed.append, checkpoint=Checkpoint(path, resume=True))
    assert (again.automaton, again.rounds, again.steps) == (whole.automaton, whole.rounds, whole.steps)
    assert len(resumed) < len(whole.steps)
    with pytest.raises(CheckpointError):
        tune(judge, HAND_MADE, settings, seed=6, checkpoint=Checkpoint(path, resume=True))


def test_wrong_settings_are_refused() -> None:
    seats = Seats(LEDUC)
    for wrong in ({"matches": 2}, {"trim": -1}, {"deals": 1}):
        with pytest.raises(UnsupportedProblemError):
            MatchJudge(seats, **wrong)  # type: ignore[arg-type]
    bad: Any
    for bad in ({"steps": 0}, {"temperature": 0}, {"cooling": -1}):
        with pytest.raises(UnsupportedProblemError):
            Annealing(**bad)
