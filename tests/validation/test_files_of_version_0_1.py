"""Files that version 0.1.0 wrote are read, and mean what they meant; what has one text only is written as it was."""

import json
from pathlib import Path

import highspy
import numpy as np
import pytest
from effort import thorough

from treeplex import (
    CDRNR,
    Nash,
    Profile,
    Strategy,
    StreamedMCCFR,
    expected_payoffs,
    exploitability,
    load_game,
    read_play_log,
    solve,
    worst_case,
)
from treeplex.seqform.interchange import write_efg, write_json
from treeplex.seqform.interchange.graphml import write_graphml
from treeplex.seqform.interchange.matrix_file import write_matrices
from treeplex.solvers import DepthLimitedCFR, StreamedProfile
from treeplex.solvers.depth_limited.learned_values import load_value

FILES = Path(__file__).parents[1] / "stored" / "files_0_1_0"
NUMBERS = json.loads((FILES / "numbers.json").read_text())
KUHN = load_game("kuhn")


def test_strategy_files():
    profile = Profile.load(FILES / "profile.npz", KUHN)
    assert exploitability(KUHN, profile) == pytest.approx(NUMBERS["exploitability"], abs=1e-12)
    assert expected_payoffs(KUHN, profile) == pytest.approx(NUMBERS["payoffs"], abs=1e-12)
    strategy = Strategy.load(FILES / "strategy.npz", KUHN)
    assert strategy.player == 1
    assert strategy["K_p"]["b"] == 0.75
    assert worst_case(KUHN, strategy) == pytest.approx(NUMBERS["worst case"], abs=1e-12)


def test_streamed_strategies_and_a_run_that_goes_on():
    streamed = StreamedProfile.load(FILES / "streamed.jsonl").to_profile(KUHN)
    assert exploitability(KUHN, streamed) == pytest.approx(NUMBERS["streamed exploitability"], abs=1e-12)
    run = StreamedMCCFR.load(FILES / "streamed_run.npz", KUHN, "es-mccfr")
    assert exploitability(KUHN, run.profile.to_profile(KUHN)) == pytest.approx(
        NUMBERS["streamed exploitability"], abs=1e-12
    )
    fresh = StreamedMCCFR(KUHN, "es-mccfr", seed=3)
    fresh.run(300)
    run.run(100)
    for player in range(2):
        assert run.regrets(player) == fresh.regrets(player)


def test_play_logs():
    log = read_play_log(FILES / "games.jsonl", KUHN, 0)
    assert log.num_games == NUMBERS["log"]["num_games"]
    assert log.ended.tolist() == NUMBERS["log"]["ended"]
    assert read_play_log(FILES / "games.jsonl.gz", KUHN, 0).num_games == 5


@thorough
@pytest.mark.parametrize("kind", ["linear", "network"])
def test_learned_value_functions(kind):
    value = load_value(FILES / f"{kind}_value.npz", KUHN)
    assert value.mean_error == NUMBERS[kind]["mean error"]
    problem = CDRNR(KUHN, Strategy.uniform(KUHN, 1), p=0.3, lookahead=1, game_value=-1 / 18)
    solution = solve(problem, DepthLimitedCFR("cfr+", value), max_iterations=7, tol=0)
    # The file's second step went on from the regrets of the first one, which steps no longer do.
    assert solution.steps[0] == pytest.approx(NUMBERS[kind]["steps"][0], abs=1e-9)


@pytest.mark.parametrize("suffix", ["efg", "graphml", "json", "npz"])
def test_game_files(suffix, tmp_path):
    assert KUHN.fingerprint == NUMBERS["kuhn fingerprint"]
    game = load_game(FILES / f"kuhn.{suffix}")
    assert solve(Nash(game)).value == pytest.approx(-1 / 18, abs=1e-12)
    if suffix != "efg":  # has no place for labels as they are
        assert game.fingerprint == KUHN.fingerprint
    path = tmp_path / f"kuhn.{suffix}"
    {"efg": write_efg, "graphml": write_graphml, "json": write_json, "npz": write_matrices}[suffix](KUHN, path)
    if suffix != "npz":
        assert path.read_text() == (FILES / f"kuhn.{suffix}").read_text()
        return
    with np.load(path) as written, np.load(FILES / "kuhn.npz") as before:
        assert sorted(written) == sorted(before)
        for name in written:
            np.testing.assert_array_equal(written[name], before[name])


def test_matrices_of_flow_polytopes_and_factored_payoffs():
    game = load_game(FILES / "transit.npz")
    assert solve(Nash(game)).value == pytest.approx(NUMBERS["transit"], abs=1e-9)


@pytest.mark.parametrize("suffix", ["mps", "lp"])
def test_linear_programs(suffix, tmp_path):
    path = tmp_path / f"kuhn.{suffix}"
    Nash(KUHN).linear_program().write(path)
    for file in (FILES / f"kuhn.{suffix}", path):
        solver = highspy.Highs()
        solver.silent()
        solver.readModel(str(file))
        solver.run()
        assert solver.getObjectiveValue() == pytest.approx(-1 / 18, abs=1e-9)
